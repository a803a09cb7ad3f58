"""What answers, descriptions and sketches claim: `prepriv ledger verify` computes it again from their parts and from the row that paid. docs/learn/auditing.md."""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest

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


def drafted(book):
    return Domain.draft(TABLE.drop(columns="who"), label="y", epsilon=2.0, n=N, ledger=book)


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
    "a draft": (None, {}),
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
    Ledger.create(book, "people", adjacency=adjacency, **(cap or {"epsilon": 4.5, "delta": 1e-5}))
    domain = domain or drafted(book)
    files_of(domain, book, tmp_path / "out")
    release(book, tmp_path / "out")
    assert run(["ledger", "verify", str(book), str(tmp_path / "out")]) == 0, capsys.readouterr().out
    said = capsys.readouterr().out
    assert said.count(": ok, charge") == len([*(tmp_path / "out").iterdir()])


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Files that rest on a private draft, and their ledger."""
    folder = tmp_path_factory.mktemp("package")
    Ledger.create(folder / "L.db", "people", epsilon=4.5, delta=1e-5)
    files_of(drafted(folder / "L.db"), folder / "L.db", folder / "out")
    return folder


def edited(package, folder, name, edit):
    """A copy of the package in which the data of a file, and of its page, were edited before all were released; the line that verifies both."""
    shutil.copytree(package, folder)
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
    assert said.count("WRONG: its run costs") == 2 and "claims something else" not in said


def drafted_in(package):
    told = json.loads((package / "out" / "plain.json").read_text())["claims"]["drafts"][0]
    del told["guarantee"]
    return Domain(COLUMNS, drafts=(Drafted.from_json(told),))
