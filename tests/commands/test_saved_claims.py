"""What answers, descriptions and sketches claim: `prepriv ledger verify` computes it again from their parts and from the row that paid. docs/learn/auditing.md."""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from forged_ledger import made_again

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv.cli import run
from prepriv.description.description_page import json_text, to_html
from prepriv.description.sketch_page import json_text as sketch_text
from prepriv.description.sketch_page import to_html as sketch_html
from prepriv.drafted import Drafted
from prepriv.guarantees import gaussian
from prepriv.guarantees.drafts import with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.ledger import Ledger

N = 4000
TABLE = pd.DataFrame(
    {
        "age": 20 + np.arange(N) % 60,
        "job": np.where(np.arange(N) % 3 == 0, "a", "b"),
        "town": np.where(np.arange(N) % 2 == 0, "x", "y"),
        "who": np.arange(N) // 2,
        "y": np.where(np.arange(N) % 5 < 2, "no", "yes"),
    }
)
COLUMNS = {"age": Numeric(0, 100), "job": Categorical(["a", "b"])}
ASKED = ["mean(age) by job", "quantile(age, 0.9)", "count by job"]


def declared(**more):
    return Domain(COLUMNS, classes=["no", "yes"], label="y", **more)


def drafted(book, edited=False, **more):
    table = TABLE if "unit" in more else TABLE.drop(columns="who")
    table = table.assign(y=np.arange(N) % 2 * 0.5) if "target" in more else table
    n = N // 2 if "unit" in more else N
    domain = Domain.draft(table, label="y", epsilon=2.0, n=n, ledger=book, **more)
    return replace(domain, columns={**domain.columns, "age": Numeric(0, 99)}) if edited else domain


GENUINE = {
    "by hand": (declared(), {}),
    "somebody answers for it": (declared(declared_by="the board. Not me"), {}),
    "a unit": (declared(unit="who", rows_per_unit=2, n=N // 2), {}),
    "a unit and added records": (
        declared(unit="who", rows_per_unit=1, n=N // 2, adjacency="add-or-remove-one"),
        {},
    ),
    "added records": (declared(adjacency="add-or-remove-one", n=N), {}),
    "mu": (declared(), {"unit": "gdp", "mu": 2}),
    "rho": (declared(), {"unit": "zcdp", "rho": 2}),
    "a target": (Domain(COLUMNS, target=Numeric(0, 1), label="y"), {}),
    "rows of a query": (declared(source="select * from t", n=N), {}),
    "weak": (declared(n=N), {"epsilon": 4.5, "delta": 1e-2}),
    "a draft": (None, {}),
    "a draft with declared classes": (None, {"classes": ["no", "yes"]}),
    "a draft with a unit": (None, {"unit": "who", "rows_per_unit": 2}),
    "a draft of a target": (None, {"target": Numeric(0, 1)}),
    "an edited draft": (None, {"edited": True}),
}


def files_of(domain, book, folder, epsilon=0.5, delta=1e-6):
    """Answers, descriptions and a sketch as the commands write them. They are charged, and not yet released."""
    folder.mkdir()
    spent = {"epsilon": epsilon, "delta": delta, "ledger": book}
    table = TABLE.assign(y=np.arange(N) % 2 * 0.5) if domain.target is not None else TABLE
    (folder / "answers.json").write_text(prepriv.ask(table, domain, ASKED, **spent).json_text())
    for name, more in (("plain", {}), ("groups", {"by": "job"}), ("pairs", {"correlations": True})):
        if name != "pairs" or domain.target is not None:  # one number has no correlation
            found = prepriv.describe(table, domain, **spent, **more)
            (folder / f"{name}.json").write_text(json_text(found))
            (folder / f"{name}.html").write_text(to_html(found))
    if domain.target is None:
        found = prepriv.sketch(table, domain, **spent)
        (folder / "sketch.json").write_text(sketch_text(found))
        (folder / "sketch.html").write_text(sketch_html(found))


def release(book, folder):
    """Write the hash of each file beside its charge."""
    for file in sorted(folder.glob("*.json")):
        page = file.with_suffix(".html")
        uid = re.findall(r'"plan_uid": "(\w+)"', file.read_text())[-1]
        note = f"page {digest(page)}" if page.exists() else ""
        Ledger.open(book).released(uid, digest(file), note=note)


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", GENUINE)
def test_a_genuine_file_of_any_kind_passes(tmp_path, name, capsys):
    domain, cap = GENUINE[name]
    book = tmp_path / "L.db"
    adjacency = "replace-one" if domain is None else domain.adjacency
    usual = {"epsilon": 4.5, "delta": 1e-5}
    Ledger.create(book, "people", adjacency=adjacency, **((domain and cap) or usual))
    domain = domain or drafted(book, **cap)
    files_of(domain, book, tmp_path / "out", delta=1e-3 if name == "weak" else 1e-6)
    release(book, tmp_path / "out")
    edited = (
        8 if name == "an edited draft" else 0
    )  # it was "ok", beside a model of the same schema that was asked about
    assert run(["ledger", "verify", str(book), str(tmp_path / "out")]) == edited, capsys.readouterr().out
    said = capsys.readouterr().out
    files = len([*(tmp_path / "out").iterdir()])
    if edited:
        assert said.count(": ASK, see below, charge") == files and "who edited columns, bounds" in said
        return
    assert said.count(": ok, charge") == files and "ASK" not in said
    assert "only a head shows that someone kept (--receipt)" in said.splitlines()[-1]
    last = Ledger.open(book).entries()[-1]
    head = f"{last.sequence}:{last.head}"
    assert run(["ledger", "verify", str(book), str(tmp_path / "out"), "--receipt", head]) == 0
    assert "only a head shows" not in capsys.readouterr().out


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Files that rest on a private draft, and their ledger."""
    folder = tmp_path_factory.mktemp("package")
    Ledger.create(folder / "L.db", "people", epsilon=4.5, delta=1e-5)
    files_of(drafted(folder / "L.db"), folder / "L.db", folder / "out")
    return folder


def edited(package, folder, name, edit, noted=None):
    """A copy of the package in which the data of a file, and of its page, were edited before all were released; the line that verifies both. noted: what becomes of each note, in a ledger that is written again."""
    shutil.copytree(package, folder)
    if noted is not None:
        made_again(folder / "L.db", noted, folder / "out")
    file = folder / "out" / f"{name}.json"
    page, before = file.with_suffix(".html"), file.read_text()
    told = json.loads(before)
    edit(told)
    file.write_text(json.dumps(told, indent=1) + "\n")
    if page.exists():
        held = re.search(r"<pre>(.*?)</pre>", page.read_text(), re.S)[1]
        assert json.loads(html.unescape(held)) == json.loads(before)
        page.write_text(page.read_text().replace(held, html.escape(file.read_text())))
    release(folder / "L.db", folder / "out")
    return ["ledger", "verify", str(folder / "L.db"), *map(str, (file, page) if page.exists() else (file,))]


def put(*path, to):
    def edit(data):
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = to

    return edit


LOWERED = {
    "the sum": ("guarantee.epsilon", put("guarantee", "epsilon", to=2.0)),
    "the sum, almost what it is": ("guarantee.epsilon", None),
    "this run": ("claims.this run.epsilon", put("claims", "this run", "epsilon", to=0.05)),
    "µ of this run": ("claims.this run.epsilon", put("claims", "this run", "mu", to=0.01)),
    "δ of this run": ("claims.this run.delta", put("claims", "this run", "delta", to=1e-9)),
    "neighbours of this run": (
        "claims.this run.adjacency",
        put("claims", "this run", "adjacency", to="add-or-remove-one"),
    ),
    "the draft": (
        r"drafts\[0\].guarantee.epsilon",
        put("claims", "drafts", 0, "guarantee", "epsilon", to=0.1),
    ),
    "no draft": ("guarantee.epsilon", put("claims", "drafts", to=[])),
    "a sum without parts": ("this file|wrote", put("claims", to={})),
}


@pytest.mark.parametrize("name", ["answers", "plain", "groups", "sketch"])
@pytest.mark.parametrize("what", LOWERED)
def test_a_claim_that_its_parts_do_not_give_is_wrong(package, tmp_path, capsys, what, name):
    """An officer's: the total ε of answers that rest on a draft was lowered, the file released again, and it was ok as long as the total stayed above the run's own."""
    place, edit = LOWERED[what]

    def almost(data):
        data["guarantee"]["epsilon"] *= 1 - 1e-4

    line = edited(package, tmp_path / "copy", name, edit or almost)
    assert run(line) == 5
    said = capsys.readouterr().out
    assert said.count("WRONG: it") >= len(line) - 3 and re.search(place, said)


NOTED = {"answers": "questions", "plain": "description", "groups": "description", "sketch": "sketch"}


@pytest.mark.parametrize("name", NOTED)
@pytest.mark.parametrize("by", ["people", "people, train: Center"])
def test_a_note_that_was_written_again_hides_no_claim(package, tmp_path, capsys, name, by):
    """An officer's: without the word of its kind in the note of its charge, a file was not compared, and ok whatever it claimed."""
    place, edit = LOWERED["this run"]

    def without_word(note):
        return re.sub("questions|description|sketch", by, note)

    line = edited(package, tmp_path / "copy", name, edit, without_word)
    assert run(line) == 5
    said = capsys.readouterr().out
    assert re.search(place, said) and f'"{NOTED[name]}" does not stand in its note' in said
    line = edited(package, tmp_path / "words", name, lambda data: None, without_word)
    assert run(line) == 5 and re.search("does not stand in its note", capsys.readouterr().out)
    line = edited(package, tmp_path / "same", name, lambda data: None, lambda note: note)
    assert (
        run(line) == 8
    )  # its other files are asked for, and only a kept head shows that it was written again
    assert capsys.readouterr().out.count(": ok, charges") == len(line) - 3


@pytest.mark.parametrize("name", NOTED)
@pytest.mark.parametrize("path", [("unit",), ("ledger", "signed_by")])
def test_what_no_file_of_prepriv_states_is_wrong(package, tmp_path, capsys, name, path):
    """An officer's: "unit": "patient", "epsilon": 0.1 and a signature beside the true claim were ok once the file was released again."""
    line = edited(package, tmp_path / "copy", name, put(*path, to="patient"))
    assert run(line) == 5
    said = capsys.readouterr().out
    assert said.count(f"WRONG: it states what no file of prepriv does: {'.'.join(path)}\n") == len(line) - 3
    other = edited(
        package, tmp_path / "other", name, lambda data: data.update(version="0.2.0", unit="patient")
    )
    assert run(other) == 8 and "NOT DECIDED" in capsys.readouterr().out


def test_a_file_of_no_kind_is_not_called_ok(package, tmp_path, capsys):
    line = edited(package, tmp_path / "copy", "answers", lambda data: data.pop("releases"))
    assert run(line) == 8 and "none of the files that prepriv writes" in capsys.readouterr().out


def test_the_noise_that_answers_state_is_that_of_their_claim(package, tmp_path, capsys):
    line = edited(package, tmp_path / "copy", "answers", put("releases", 0, "noise_multiplier", to=1.0))
    assert run(line) == 5 and "releases.share" in capsys.readouterr().out


def test_a_claim_that_adds_up_and_was_not_paid_for_is_wrong(package, tmp_path, capsys):
    """All of it follows from a µ of its run that is half of what was charged."""
    domain = drafted_in(package)

    def half(data):
        run_ = data["claims"]["this run"]
        mu = run_["mu"] / 2
        part = Guarantee(gaussian(mu), domain.adjacency, mu=mu)
        whole = with_drafts(part, domain, 1e-6, N)
        run_ |= {"mu": mu, "epsilon": part.epsilon(1e-6)}
        data["guarantee"]["epsilon"] = whole.epsilon(1e-6)

    line = edited(package, tmp_path / "copy", "plain", half)
    assert run(line) == 5
    said = capsys.readouterr().out
    assert said.count("WRONG: its run costs") == 2 and "does not claim" not in said


def drafted_in(package):
    told = json.loads((package / "out" / "plain.json").read_text())["claims"]["drafts"][0]
    del told["guarantee"]
    return Domain(COLUMNS, drafts=(Drafted.from_json(told),))


def test_answers_of_texts_whose_values_may_be_seen_pass(tmp_path, capsys):
    """Their claim is no Gaussian curve and states no µ: it follows from the noise of each release."""
    book, columns = tmp_path / "L.db", {"job": prepriv.Text(), "age": Numeric(0, 100)}
    Ledger.create(book, "people", epsilon=4, delta=1e-4)
    (tmp_path / "out").mkdir()
    found = prepriv.ask(TABLE, columns, ["count by job", "mean(age)"], epsilon=1.0, delta=1e-5, ledger=book)
    (tmp_path / "out" / "answers.json").write_text(found.json_text())
    assert json.loads(found.json_text())["guarantee"]["mu"] is None
    edited(tmp_path, tmp_path / "copy", "answers", put("releases", 0, "share", to=0.4))
    line = ["ledger", "verify", str(tmp_path / "copy" / "L.db"), str(tmp_path / "copy" / "out")]
    assert run(line) == 5 and "releases.share" in capsys.readouterr().out
    release(book, tmp_path / "out")
    assert run(["ledger", "verify", str(book), str(tmp_path / "out")]) == 0


@pytest.fixture(scope="module")
def of_persons(tmp_path_factory):
    """Files about persons, of two rows each at most."""
    folder = tmp_path_factory.mktemp("persons")
    Ledger.create(folder / "L.db", "people", epsilon=4.5, delta=1e-5)
    files_of(declared(unit="who", rows_per_unit=2, n=N // 2), folder / "L.db", folder / "out")
    return folder


def renamed(to):
    def edit(data):
        text = json.dumps(data).replace("`who`", f"`{to}`").replace(': "who"', f': "{to}"')
        data.clear()
        data.update(json.loads(text))

    return edit


def without_unit(data):
    for part in ("guarantee", "one_row_of_each"):
        data.pop(part) if part == "one_row_of_each" else data[part].pop("unit")


def a_unit(data):
    data["guarantee"]["unit"] = data["claims"]["this run"]["unit"] = data["one_row_of_each"] = "household"


@pytest.mark.parametrize("name", ["answers", "plain"])
@pytest.mark.parametrize("edit", [renamed("family"), without_unit, a_unit])
def test_a_unit_that_is_not_that_of_the_charge_is_wrong(package, of_persons, tmp_path, capsys, edit, name):
    """An officer's: a claim about records was sold as one about households, and one about a person as one about a family."""
    line = edited(package if edit is a_unit else of_persons, tmp_path / "copy", name, edit)
    assert run(line) == 5
    said = capsys.readouterr().out
    assert re.search("WRONG: the unit that it states .* is not that of row", said)


WORDS = {
    "chances": ("promise", lambda data: words(data, r"at most [\d.]+ times", "at most 50.1 times")),
    "cap": ("promise", lambda data: words(data, r"at most epsilon [\d.]+", "at most epsilon 1")),
    "neighbours": ("promise", lambda data: words(data, "one record|all rows of one `who`", "one country")),
    "who declared it": (
        "promise",
        lambda data: words(data, r"They are as drafted.* answers", "The board answers"),
    ),
    "more": ("promise", lambda data: data["promise"].append("No other use of these data was made.")),
    "what adds up": ("notes", lambda data: data["guarantee"]["notes"].pop(0)),
    "a weak claim": ("notes", put("claims", "this run", "notes", to=["weak: nothing"])),
    "a condition": ("conditions", put("claims", "this run", "conditions", to=["all is well"])),
    "whose rows": ("notes", lambda data: data["notes"].append("One row of each `household` is read.")),
}


def words(data, pattern, by):
    data["promise"] = [re.sub(pattern, by, one) for one in data["promise"]]


@pytest.mark.parametrize("name", ["answers", "groups", "sketch"])
@pytest.mark.parametrize("what", WORDS)
def test_words_that_the_claim_does_not_give_are_wrong(package, tmp_path, capsys, what, name):
    """An officer's: "52.3 times in 100" was "50.3" in the promise of answers, and the cap another one."""
    place, edit = WORDS[what]
    if (what, name) == ("whose rows", "sketch"):
        edit = put("notes", to=["One row of each `household` is read."])
    line = edited(package, tmp_path / "copy", name, edit)
    assert run(line) == 5
    said = capsys.readouterr().out
    assert "WRONG: it" in said and place in said


def test_words_of_another_version_are_not_decided(package, tmp_path, capsys):
    def old(data):
        del data["version"]
        words(data, "They are right", "Such a person is right")

    assert run(edited(package, tmp_path / "copy", "answers", old)) == 8
    said = capsys.readouterr().out
    assert "NOT DECIDED" in said and "promise" in said

    def as_now(data):
        del data["version"]

    def without_n(data):
        del data["version"], data["n"]

    assert run(edited(package, tmp_path / "first", "answers", without_n)) == 8
    assert "NOT DECIDED" in capsys.readouterr().out
    line = edited(package, tmp_path / "other", "answers", as_now)
    run(line)
    assert "answers.json: ok, charge" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["plain", "sketch"])
@pytest.mark.parametrize(
    ("pattern", "by"),
    [
        (r"<p>ε = [\d.]+", "<p>ε = 0.1145"),
        ("of two versions of one record", "of two versions of one household"),
        (r"(</h1>\n)(.*?)(<p class)", r"\1<!--\2--><p>ε = 0.1</p>\3"),
        (r"(<main>\n)", r"\1<h1>Nothing</h1>\n"),
        (
            r"<body>\n(<main>\n<h1>.*?)</h1>(.*?)(<p class)",
            r"<!--<body>\n\1</h1>\2--><body>\n<main><h2>A table</h2><p>ε = 0.1</p>\3",
        ),
    ],
)
def test_a_page_states_the_claim_of_its_data(package, tmp_path, capsys, name, pattern, by):
    """An officer's: "ε = 0.5145" was "0.1145" on the page of a description, beside data that said the true one."""
    shutil.copytree(package, tmp_path / "copy")
    page = tmp_path / "copy" / "out" / f"{name}.html"
    before, data = page.read_text().split("<details>")
    page.write_text("<details>".join([re.sub(pattern, by, before, count=1, flags=re.S), data]))
    release(tmp_path / "copy" / "L.db", page.parent)
    assert run(["ledger", "verify", str(tmp_path / "copy" / "L.db"), str(page)]) == 5
    assert re.search("WRONG: its words are not .* paragraphs of the page", capsys.readouterr().out)


@pytest.mark.parametrize("name", ["answers", "plain"])
@pytest.mark.parametrize("where", ['{\n "guarantee": {', '"guarantee": {'])
def test_a_name_that_stands_twice_is_wrong(package, tmp_path, capsys, name, where):
    """An officer's: a first guarantee of ε = 0.1 stood before the true one, and readers that take the first one saw it."""
    shutil.copytree(package, tmp_path / "copy")
    file = tmp_path / "copy" / "out" / f"{name}.json"
    more = '"guarantee": {"epsilon": 0.1}, ' if where[0] == "{" else '"epsilon": 0.1, '
    at = len(where) if where[0] != "{" else 2
    file.write_text(file.read_text().replace(where, where[:at] + more + where[at:], 1))
    release(tmp_path / "copy" / "L.db", file.parent)
    assert run(["ledger", "verify", str(tmp_path / "copy" / "L.db"), str(file)]) == 5
    assert "stands twice" in capsys.readouterr().out


def test_a_second_run_of_the_same_plan_is_named(tmp_path, capsys):
    """An officer's: answers of a second run lay beside the ledger of the first, and nothing said that the questions were the same."""
    book, file = tmp_path / "L.db", tmp_path / "answers.json"
    Ledger.create(book, "people", epsilon=4.5, delta=1e-5)
    asked = {"epsilon": 0.5, "delta": 1e-6, "n": N}
    for _ in range(2):
        kept = book.read_bytes()
        file.write_text(prepriv.ask(TABLE, declared(), ["mean(age)"], ledger=book, **asked).json_text())
    other = prepriv.ask(TABLE, declared(), ["mean(age) by job"], ledger=book, **asked).json_text()
    book.write_bytes(kept)
    assert run(["ledger", "verify", str(book), str(file)]) == 5
    assert "its plan is that of row 1, so the same was run once more" in capsys.readouterr().out
    own = json.loads(file.read_text())
    own["ledger"] |= {"plan_uid": Ledger.open(book).entries()[0].plan_uid}  # not a second run: its own
    for text in (other, json.dumps(own)):
        file.write_text(text)
        assert run(["ledger", "verify", str(book), str(file)]) == 5
        said = capsys.readouterr().out
        assert "WRONG: " in said and "once more" not in said


def test_a_draft_whose_note_was_written_again_is_still_one(tmp_path, capsys):
    """A model that hides its draft is known by what was drafted, whatever the note of that row says."""
    book = tmp_path / "L.db"
    Ledger.create(book, "people", epsilon=4.5, delta=1e-4)
    hidden = replace(drafted(book), drafts=())
    clf = prepriv.PrivateClassifier(hidden, epsilon=0.5, delta=1e-6, ledger=book)
    clf.fit(TABLE.drop(columns="who"), None).model_.save(tmp_path / "m", ledger=book)
    line = ["ledger", "verify", str(book), str(tmp_path / "m")]
    assert run(line) == 5
    assert "exactly those of the schema draft of row 1" in capsys.readouterr().out
    made_again(book, lambda note: note.replace("schema draft", "people"), tmp_path / "m")
    assert run(line) == 5
    assert "exactly those of the schema draft of row 1" in capsys.readouterr().out


@pytest.mark.parametrize("order", ["draft first", "draft last"])
def test_files_that_claim_no_draft_are_asked_about_in_a_ledger_that_holds_one(tmp_path, order, capsys):
    """A model without the lines of its draft was asked about; answers of the same schema were `ok`, and their claim was too small by what the draft cost."""
    book, out = tmp_path / "L.db", tmp_path / "out"
    Ledger.create(book, "people", epsilon=6.5, delta=1e-4)
    if order == "draft first":
        domain = replace(drafted(book), drafts=())
        files_of(domain, book, out)
    else:
        files_of(declared(), book, out)
        drafted(book)
    release(book, out)
    asked = order == "draft first"
    run(["ledger", "verify", str(book), str(out)])
    said = capsys.readouterr().out
    (line,) = [one for one in said.splitlines() if "which it does not claim" in one] if asked else ["x"]
    files = [*out.iterdir()]
    assert ("which it does not claim" in said) == asked and all(
        not asked or one.name in line for one in files
    )
    assert said.count(": ok, charge") == (0 if asked else len(files))
