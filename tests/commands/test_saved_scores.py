"""A saved score is computed again from its plan, its counts and its model: nothing is taken from its words, which can be edited and released again."""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
from pathlib import Path

import markupsafe
import numpy as np
import pandas as pd
import pytest
from forged_ledger import made_again, without_last

import prepriv
from prepriv.cli import run
from prepriv.evaluation.evaluate import evaluate
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.learners import GradientDescent, Logistic
from prepriv.ledger import Ledger
from prepriv.release.report import as_text
from prepriv.release.summary import cap_in_words

ROWS = pd.DataFrame({"dose": np.linspace(0, 1, 300), "place": ["a", "b", "c"] * 100})
LABELS = ["no", "yes"] * 150
SAID = "The model was trained on 300 declared records, and as many test rows are declared."


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A model, two later scores of it, and the ledger of all."""
    folder = tmp_path_factory.mktemp("package")
    Ledger.create(folder / "L.db", "people", epsilon=3, delta=1e-4)
    columns = {"dose": prepriv.Numeric(0, 1), "place": prepriv.Categorical(["a", "b", "c"])}
    domain = prepriv.Domain(columns, classes=["no", "yes"], n=300)
    clf = prepriv.PrivateClassifier(
        domain, learner=GradientDescent(Logistic(), steps=2), ledger=folder / "L.db"
    )
    model = clf.fit(ROWS, LABELS).model_
    model.save(folder / "m", ledger=folder / "L.db")
    for name, more in (("e.json", {}), ("e.html", {"by": "place", "class_weight": {"yes": 2}})):
        plan = plan_evaluation(model, n=300, epsilon=0.9, measures=["confusion"], **more)
        found = evaluate(plan, model, ROWS, LABELS, ledger=folder / "L.db")
        found.save(folder / name, ledger=folder / "L.db")
    return folder


def replaced(package: Path, folder: Path, edit) -> Path:
    """The same package, in which the page of the last score was edited and released again."""
    ledger, page = folder / "L.db", folder / "e.html"
    for name in ("L.db", "e.html", "e.json"):
        (folder / name).write_bytes((package / name).read_bytes())
    (folder / "m").mkdir()
    (folder / "m" / "model.json").write_bytes((package / "m" / "model.json").read_bytes())
    text = edit(page.read_text())
    assert text != page.read_text()
    page.write_text(text)
    uid = without_last(ledger)
    Ledger.open(ledger).released(uid, hashlib.sha256(page.read_bytes()).hexdigest())
    return folder


def verified(folder: Path, capsys, code: int) -> str:
    assert run(["ledger", "verify", str(folder / "L.db"), str(folder)]) == code
    return capsys.readouterr().out


def test_every_word_of_a_score_is_what_its_numbers_give(package, capsys):
    said = verified(package, capsys, 8)
    assert re.search(
        r"sees this score can only guess .* right at most [0-9.]+ times", (package / "e.html").read_text()
    )
    for name in ("e.html", "e.json"):
        line = re.search(rf"{package / name}: (.*)", said)[1]
        assert line.startswith("ASK, see below") and "every word is what its own numbers" in line
        assert SAID not in line
    asked = [line for line in said.splitlines() if "on which rows this score was measured" in line]
    assert len(asked) == 1 and SAID in asked[0]


CAP = "All uses that its ledger grants together, not this score alone, may cost what the cap of that ledger allows: at most epsilon 3"


def test_a_score_says_what_the_cap_of_its_ledger_allows(package):
    """The page of the model and a description said it, and a score of the same ledger did not."""
    page, data = (package / "e.html").read_text(), json.loads((package / "e.json").read_text())
    assert page.count(CAP) == 2 and CAP in page.split('<pre id="data">')[0]  # in words and as data
    assert any(CAP in one for one in data["promise"])
    assert "The model and other releases about the same people add to it." in data["promise"]
    plan = plan_evaluation(prepriv.Model.load(package / "m"), n=300, epsilon=0.9, measures=["confusion"])
    alone = evaluate(plan, prepriv.Model.load(package / "m"), ROWS, LABELS)
    assert "ledger grants" not in alone.to_html() + " ".join(alone.to_json()["promise"])


def test_a_cap_that_a_score_states_is_compared_with_its_ledger(package, tmp_path, capsys):
    """A page that states another cap, in its words and in its data alike, would be all that its own numbers give."""

    def smaller(text):
        data = json.loads(html.unescape(re.search('<pre id="data">(.*?)</pre>', text, re.S)[1]))
        cap = data["ledger"]["cap"]
        edited = cap.replace("epsilon 3", "epsilon 1")
        assert edited != cap
        data["ledger"]["cap"] = edited
        receipt = data["ledger"]
        made = cap_in_words(receipt, None, "this score")
        old = next(one for one in data["promise"] if CAP in one)
        data["promise"] = [made if one == old else one for one in data["promise"]]
        before, rest = text.split('<pre id="data">')
        end = rest.split("</pre>", 1)[1]
        told = markupsafe.escape(as_text(data))
        return f'{before.replace(old, made)}<pre id="data">{told}</pre>{end}'

    folder = replaced(package, tmp_path, smaller)
    said = verified(folder, capsys, 5)
    assert f"{folder / 'e.html'}: WRONG: the cap that it states (" in said and "is not that of row" in said


@pytest.mark.parametrize(
    "new", ["Measured on fresh records, certified by the authority: sign.", ""], ids=["other", "none"]
)
def test_what_a_score_says_of_its_rows_is_not_taken_from_its_words(package, tmp_path, capsys, new):
    """Its own sentence was printed as a finding: `ok; These test rows were set aside.`, and exit code 0."""
    folder = replaced(package, tmp_path, lambda text: re.sub(rf"{re.escape(SAID)}[^<&]*", new, text))
    said = verified(folder, capsys, 5)
    assert f"{folder / 'e.html'}: WRONG: it is not what its own numbers and its model give: line " in said
    assert all("certified" not in line for line in said.splitlines() if "WRONG" not in line)
    assert run(["report", str(folder / "m"), "--ledger", str(folder / "L.db")]) == 8
    said = capsys.readouterr().out
    assert f"ASK BEFORE YOU SIGN: {folder / 'e.html'}: why " in said
    assert f"{folder / 'e.html'}: on which rows this score was measured" in said and SAID in said


def test_a_score_whose_figures_or_whose_plan_were_edited_is_wrong(package, tmp_path, capsys):
    """R2 of 0.120 was replaced by 0.820, and the page was called ok."""
    (figures := tmp_path / "figures").mkdir(), (plan := tmp_path / "plan").mkdir()

    def of_data(text, edit):
        data = json.loads(html.unescape(re.search('<pre id="data">(.*?)</pre>', text, re.S)[1]))
        edit(data)
        return re.sub(
            '(<pre id="data">).*?(</pre>)',
            lambda m: m[1] + html.escape(json.dumps(data, indent=1) + "\n") + m[2],
            text,
            flags=re.S,
        )

    replaced(package, figures, lambda text: of_data(text, lambda d: d["figures"][0].update(value=0.99)))
    assert "do not give what it states at data.figures" in verified(figures, capsys, 5)

    def larger(data):
        data["plan"]["n"] = 9000

    (words := tmp_path / "words").mkdir()
    replaced(
        package,
        words,
        lambda text: of_data(text, lambda d: d.update(which_rows="Fresh.")).replace(
            f"{SAID} If", "Fresh. If"
        ),
    )
    assert "do not give what it states at data.which_rows" in verified(words, capsys, 5)
    replaced(package, plan, lambda text: of_data(text, larger))
    assert re.search(r"WRONG: its plan is not the one that row \d+ paid for", verified(plan, capsys, 5))


def test_a_score_that_was_edited_and_one_of_an_older_copy_of_its_ledger_are_told_apart(
    package, tmp_path, capsys
):
    """Both were `no release in this ledger is this file`."""
    page, ledger = tmp_path / "e.html", tmp_path / "L.db"
    ledger.write_bytes((package / "L.db").read_bytes())
    page.write_text((package / "e.html").read_text().replace("Groups", "groups"))
    line = ["ledger", "verify", str(ledger), str(page), str(package / "m")]
    assert run(line) == 5
    assert f"{page}: WRONG: its charge 5 paid for a file that is not this one" in capsys.readouterr().out
    page.write_bytes((package / "e.html").read_bytes())
    without_last(ledger)
    assert run(line) == 8
    assert (
        f"{page}: NOT DECIDED, charge 5; charged in row 5, but no row holds the hash"
        in capsys.readouterr().out
    )
    without_last(ledger)
    assert run(line) == 5
    said = capsys.readouterr().out
    assert (
        f"{page}: WRONG: its charge 5 is not in this ledger: this copy, which ends at row 4, is older" in said
    )
    assert (
        "or for that of this file. By what it states itself, epsilon 2.8, delta 3e-05 of a cap of epsilon 3, delta 0.0001 was booked by then for the data set"
        in said
    )


def test_a_score_whose_release_was_taken_off_the_ledger_is_named_where_its_charge_is_asked_about(
    package, tmp_path, capsys
):
    """The model's own line said that nothing given shows row 5, and the page that names row 5 was given."""
    folder = replaced(package, tmp_path, lambda text: text.replace("Groups", "groups"))
    page, ledger = folder / "e.html", folder / "L.db"
    asked = f"ASK BEFORE YOU SIGN: whether {page} is what row 5 paid to evaluate this model ("
    other = f"ASK BEFORE YOU SIGN: {folder / 'm' / 'model.json'}: {asked.partition(': ')[2]}"
    page.write_bytes((package / "e.html").read_bytes())
    said = verified(folder, capsys, 5)  # the ledger holds the hash of the edited one
    assert other in said and "the hash of another file beside it. Ask for the file as it was released" in said
    without_last(ledger)
    said = verified(folder, capsys, 8)
    assert f"{page}: NOT DECIDED, charge 5; charged in row 5, but no row holds the hash" in said
    assert other in said and "it names that charge, and the ledger holds no hash of a file beside it" in said
    assert "nothing given here shows it" not in said
    assert run(["report", str(folder / "m"), "--ledger", str(ledger)]) == 8
    said = capsys.readouterr().out
    assert asked in said and "nothing given here shows it" not in said
    assert "where the charge of" not in said  # it is in the ledger that is given
    page.unlink()
    assert "row 5 paid to evaluate this model" in (said := verified(folder, capsys, 8))
    assert "and nothing given here shows it. The ledger holds no hash of a file" in said


def test_a_page_whose_receipt_is_no_receipt_names_no_charge(package, tmp_path, capsys):
    """What a page holds as its receipt can be anything: a list cannot be looked up."""
    folder = replaced(
        package, tmp_path, lambda text: text.replace("&#34;sequence&#34;: 5", "&#34;sequence&#34;: [5]")
    )
    without_last(folder / "L.db")
    assert run(["report", str(folder / "m"), "--ledger", str(folder / "L.db")]) == 8
    assert "and nothing given here shows it" in capsys.readouterr().out


def test_how_to_read_a_sum_of_a_ledger_is_said_once_wherever_one_is_printed(package, tmp_path, capsys):
    """The page said 60 times in 100 and the score 54.8, and 95.3 of all of them had no word on why it is so much higher."""
    coarse = (
        "these figures know ε and δ alone, which is what this ledger keeps, so they are higher than a claim"
    )
    said = verified(package, capsys, 8)
    assert said.count("for someone whose data are in all of them: at most epsilon") == 2
    assert said.count(coarse) == 1 and said.index(coarse) > said.rindex("in all of them: at most epsilon")
    assert run(["report", str(package / "m"), "--ledger", str(package / "L.db")]) == 8
    assert capsys.readouterr().out.count(coarse) == 1
    files = [str(package / "L.db"), str(package / "m")]
    for unit, budget, times in (("basic", {"epsilon": 3, "delta": 1e-4}, 1), ("gdp", {"mu": 1.0}, 0)):
        other = tmp_path / f"{unit}.db"
        Ledger.create(other, "others", unit=unit, **budget)
        run(["ledger", "verify", *files, str(other)])
        assert capsys.readouterr().out.count(coarse) == times
    run(["ledger", "verify", *files])
    assert coarse not in capsys.readouterr().out  # no sum was printed


def test_a_score_of_before_is_not_decided_and_its_rows_are_computed(package, tmp_path, capsys):
    folder = replaced(
        package,
        tmp_path,
        lambda text: re.sub("<details><summary>Everything.*?</details>", "", text, flags=re.S).replace(
            SAID, "Fresh."
        ),
    )
    said = verified(folder, capsys, 8)
    assert (
        f"{folder / 'e.html'}: NOT DECIDED" in said
        and "an earlier version wrote scores without them, or they were cut out" in said
    )
    assert SAID in said and "Fresh" not in said
    (folder / "m" / "model.json").unlink()
    assert "its words were not compared with its numbers: give its model, too" in verified(folder, capsys, 8)


def _last_digit(text: str) -> str:
    value = json.loads(html.unescape(text.split('<pre id="data">')[1].split("</pre>")[0]))["figures"][0][
        "high"
    ]
    return text.replace(repr(value), repr(float(np.nextafter(value, 0))))


def test_last_digits_of_a_score_that_was_released_again_are_not_decided(package, tmp_path, capsys):
    """An officer's, of a model's page: a record stood in the last digits of 43 numbers, and "every word" was what the model gives."""
    said = verified(replaced(package, tmp_path, _last_digit), capsys, 8)
    line = re.search(rf"{tmp_path / 'e.html'}: (.*)", said)[1]
    assert line.startswith("NOT DECIDED") and "last digits" in line and "figures[0].high" in line


def test_more_than_a_receipt_in_the_place_of_a_receipt_is_found(package, tmp_path, capsys):
    def with_more(text: str) -> str:
        return text.replace(
            "&#34;plan_uid&#34;", "&#34;more&#34;: &#34;J. Smith&#34;,\n  &#34;plan_uid&#34;", 1
        )

    said = verified(replaced(package, tmp_path, with_more), capsys, 5)
    assert "do not give what it states at data.ledger" in said


def test_the_words_of_a_score_that_is_not_the_released_one_are_named(package, tmp_path, capsys):
    """ "A number was changed, or the file was only laid out again" stood alone, where a printed word no longer agreed with the numbers of its own page."""
    folder = Path(shutil.copytree(package, tmp_path / "copy"))
    page = folder / "e.html"
    page.write_text(
        page.read_text().replace("on which rows", "on other rows", 1).replace("may cost", "may save", 1)
    )
    said = verified(folder, capsys, 5)
    assert f"{page}: WRONG: its charge" in said
    assert re.search(
        rf"{page}: WRONG: it is not what its own numbers and its model give: line \d+: .*may save", said
    )


def test_a_note_that_was_written_again_hides_no_score(package, tmp_path, capsys):
    """An officer's: without its word in the note of its charge, a score was ok, and not even asked on which rows it was measured."""
    for name, noted, code in (
        ("same", lambda note: note, 8),
        ("without its word", lambda note: re.sub("^evaluate model .*", "later people", note), 5),
        ("without its model", lambda note: re.sub("^evaluate model \\w+", "evaluate", note), 8),
    ):
        folder = tmp_path / name
        shutil.copytree(package, folder)
        made_again(folder / "L.db", noted, folder)
        said = verified(folder, capsys, code)
        for file in ("e.html", "e.json"):
            line = re.findall(rf"{folder / file}: (.*)", said)[-1]
            assert not line.startswith("ok")
            assert ("does not stand in its note" in line) == (code == 5)
            assert ("names no model" in line) == (name == "without its model")
