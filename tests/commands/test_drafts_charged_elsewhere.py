"""Every file that a command writes with a receipt, where the draft of its schema was charged to another ledger than the run: `ledger verify` says the same of each kind."""

from __future__ import annotations

import html
import json
import re
import warnings
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest
import typer

import prepriv
from prepriv.cli import run
from prepriv.commands.app import app
from prepriv.commands.judged import Judged, _claimed_drafts
from prepriv.commands.receipts import Given, collected
from prepriv.drafted import Drafted
from prepriv.learners import GradientDescent, Logistic
from prepriv.ledger import Ledger
from prepriv.schemas.schema import load_schema

ROWS = 1500
USED = ["--schema", "S.yaml", "--ledger", "M.db", "--epsilon"]
LINES = {
    "schema init": ["t.csv", "--label", "y", "--rows", str(ROWS), "--ledger", "D.db", "--out", "S.yaml"],
    "ask": ["t.csv", "mean(a)", *USED, "0.2", "--out", "answers.json"],
    "describe": ["t.csv", *USED, "0.4", "--out", "description.html"],
    "sketch": ["t.csv", *USED, "1", "--out", "sketch"],
    "train": ["t.csv", *USED, "1", "--out", "run"],
    "evaluate": ["run", "t.csv", "--ledger", "M.db", "--rows", str(ROWS), "--epsilon", "0.5"],
}
"""A line for each command that charges a ledger and writes what was paid for."""
WITHOUT = {"t.csv", "sketch/tables.csv", "sketch/rows-with-these-marginals-only.csv"}
"""Files that hold no receipt."""
FILES = (
    "S.yaml",
    "answers.json",
    "chosen/model.json",
    "description.html",
    "description.json",
    "run/model/model.json",
    "run/report.html",
    "run/report.json",
    "score.html",
    "score.json",
    "sketch/sketch.html",
    "sketch/sketch.json",
)
OTHERS = [name for name in FILES if name != "S.yaml"]
DRAFT = "the private draft (ε = 0.4 at δ = 1e-06)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A draft that was charged to D.db, and all that can be released with it, charged to M.db."""
    folder = tmp_path_factory.mktemp("elsewhere")
    level = np.random.default_rng(0).random(ROWS)
    table = pd.DataFrame({"a": level.round(3), "y": np.where(level > 0.5, "yes", "no")})
    table.to_csv(folder / "t.csv", index=False)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.chdir(folder)
        warnings.simplefilter("ignore")
        for name in "DM":
            Ledger.create(f"{name}.db", f"data of {name}", epsilon=9, delta=1e-3)
        for command, line in LINES.items():
            more = {"schema init": [["--epsilon", "0.4", "--delta", "1e-6"]]}
            more["evaluate"] = [["--out", "score.html"], ["--out", "score.json"]]
            for rest in more.get(command, [[]]):
                assert run([*command.split(), *line, *rest]) == 0
        domain = load_schema("S.yaml", drafts=True).domain()
        candidates = [{"steps": [], "learner": GradientDescent(Logistic(), steps=k)} for k in (2, 3)]
        chosen = prepriv.choose(candidates, table[["a"]], table["y"], domain, epsilon=1.0, ledger="M.db")
        chosen.model_.save("chosen", ledger="M.db")
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def verified(capsys, *line: object) -> tuple[int, str]:
    capsys.readouterr()
    return run(["ledger", "verify", *map(str, line)]), capsys.readouterr().out


def about(out: str, file: object) -> list[str]:
    return [line for line in out.splitlines() if line.startswith(f"{file}: ")]


def commands(of: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, set[str]]]:
    """Each command with its options."""
    if hasattr(of, "list_commands"):
        context = click.Context(of)
        for name in of.list_commands(context):
            yield from commands(of.get_command(context, name), (*path, name))
    else:
        yield " ".join(path), {name for option in of.params for name in option.opts}


def test_no_kind_of_file_is_left_out(folder):
    """A command that is new, or writes a file more, has to come in here."""
    writes = {
        name for name, options in commands(typer.main.get_command(app)) if {"--ledger", "--out"} <= options
    }
    assert writes == {*LINES}
    made = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert {name for name in made if not name.endswith(".db")} == {*FILES} | WITHOUT
    with_receipts = collected([str(folder)], [str(folder / f"{name}.db") for name in "DM"]).given
    assert {str(Path(name).relative_to(folder)) for name in with_receipts} == {*FILES}


@pytest.mark.parametrize("file", FILES)
def test_every_file_says_that_its_draft_was_charged_elsewhere(file, capsys):
    """Descriptions said that their ledger was made again. Answers and pages of descriptions and scores were `ok`."""
    code, out = verified(capsys, "M.db", file)
    (line,) = about(out, file)
    held = Ledger.open("D.db").entries()[0].head[:12]
    assert code == 5
    if file == "S.yaml":
        assert line.startswith(f"{file}: WRONG: {DRAFT} is not in this ledger: it was charged to another one")
    else:
        own = f"{file}: WRONG: its charge [0-9]+ is in M.db, and {re.escape(DRAFT)} is not in this ledger, which can pay for what the run alone claims. "
        assert re.match(own, line) and "made again" not in line
    assert line.endswith(f"Give the ledger to which the draft was charged: its receipt there is 1:{held}")


@pytest.mark.parametrize("file", FILES)
def test_both_ledgers_name_both_charges(file, capsys):
    _, out = verified(capsys, "M.db", "D.db", file)
    line = about(out, file)[0]
    both = r"charge 1 of D\.db" if file == "S.yaml" else r"charge \d+ of M\.db and charge 1 of D\.db"
    assert "WRONG" not in out and re.search(rf": (ok|ASK, see below|NOT DECIDED), {both}\b", line)
    assert "what D.db paid for beside these files" not in out


@pytest.mark.parametrize("file", ["run", "chosen"])
def test_report_names_the_receipt_of_the_draft(file, capsys):
    """`not charged: the private draft` came without a receipt, by which its ledger is found."""
    capsys.readouterr()
    assert run(["report", file, "--ledger", "M.db"]) == 1
    held = Ledger.open("D.db").entries()[0].head[:12]
    said = f"not charged: {DRAFT} is not in this ledger, which can pay for what the run alone claims. Give the ledger to which the draft was charged: its receipt there is 1:{held}\n"
    assert said in capsys.readouterr().out


@pytest.fixture
def released_again(folder, tmp_path):
    """A function that edits a file and releases it again. It returns the new file and its ledger. Anyone who holds the ledger can do this."""

    def again(name: str, edit: Any) -> tuple[Path, Path]:
        text = Path(name).read_text()
        found = re.search("(<summary>Everything, as data</summary><pre>)(.*?)(</pre>)", text, re.S)
        data = json.loads(html.unescape(found[2]) if found else text)
        ledger, file = tmp_path / "new.db", tmp_path / Path(name).name
        Ledger.create(ledger, "data of M", epsilon=9, delta=1e-3)
        row = next(one for one in Ledger.open("M.db").entries() if one.sequence == data["ledger"]["sequence"])
        paid = {"adjacency": "replace-one", "epsilon": row.cost.main / 1e9, "delta": row.cost.delta / 1e18}
        charge = Ledger.open(ledger).charge(row.plan_uid, row.plan_hash, note=row.note, **paid)
        data["ledger"] |= {"sequence": charge.sequence, "head": charge.head}
        delta = Decimal(row.cost.delta).scaleb(-18).normalize()
        total = f"epsilon {row.cost.main / 1e9:.9g}, delta {delta:f}"
        data["ledger"] |= {"total": total}
        edit(data)
        made = json.dumps(data, indent=1) + "\n"
        file.write_text(text.replace(found[0], f"{found[1]}{html.escape(made)}{found[3]}") if found else made)
        Ledger.open(ledger).released(row.plan_uid, _sha(file))
        return file, ledger

    return again


def _sha(file: Path) -> str:
    from prepriv.commands.receipts import sha256_of

    return sha256_of(file)


@pytest.mark.parametrize("file", ["answers.json", "description.html"])
def test_a_claim_with_a_draft_that_the_file_does_not_name_is_not_decided(file, released_again, capsys):
    """Answers of an earlier version state an ε in all, and hold no receipt of the draft: they were `ok`, with exit code 0."""
    made, ledger = released_again(file, lambda data: data.pop("claims"))
    for places in ([ledger], [ledger, "D.db"]):
        code, out = verified(capsys, *places, made)
        said = about(out, made)[0]
        assert code == 8 and said.startswith(f"{made}: NOT DECIDED, charge 1")
        assert "its claim includes a private draft that it does not name" in said
        assert "which private draft its claim includes, and to which ledger the draft was charged" in out


@pytest.mark.parametrize("file", ["answers.json", "description.html", "score.json"])
def test_a_draft_that_no_ledger_was_charged_for_is_missed(file, released_again, capsys):
    def uncharged(data):
        del data["claims"]["drafts"][0]["ledger"]
        for draft in data["plan"]["domain"]["drafts"] if "plan" in data else ():
            del draft["ledger"]

    made, ledger = released_again(file, uncharged)
    code, out = verified(capsys, ledger, made)
    said = f"{made}: WRONG: {DRAFT} is not in this ledger, which can pay for what the run alone claims. The file itself says that no ledger was charged for the draft"
    assert code == 5 and about(out, made)[0] == said


@pytest.mark.parametrize("file", ["answers.json", "description.html"])
def test_a_draft_that_its_ledger_booked_otherwise_is_wrong(file, released_again, capsys):
    def fewer(data):
        data["claims"]["drafts"][0]["rows"] = 10**6

    made, ledger = released_again(file, fewer)
    code, out = verified(capsys, ledger, "D.db", made)
    assert code == 5 and "row 1 booked a draft that states something else" in about(out, made)[0]
    assert "the file was edited" in about(out, made)[0]


def test_numbers_that_no_draft_has_are_a_finding():
    draft = Drafted(0.4, 1e-300, 1e300, 1e-300, "replace-one", 9, "0" * 64)
    found = Judged("", [])
    _claimed_drafts(found, Given((), None, (), "other", uncharged=(draft,)), {"L.db": ()})
    assert len(found.wrong) == 1


def test_a_page_beside_an_edited_model_says_that_its_model_was_not_given(tmp_path, capsys):
    """It said `give its model, too`, and a model was given."""
    edited = tmp_path / "model.json"
    edited.write_text(Path("run/model/model.json").read_text().replace('"bias"', '"Bias"') + " ")
    page = tmp_path / "report.html"
    page.write_bytes(Path("run/report.html").read_bytes())
    code, out = verified(capsys, "M.db", "D.db", page)
    assert code == 8 and "give its model, too" in about(out, page)[0]
    code, out = verified(capsys, "M.db", "D.db", page, edited)
    assert code == 5 and "the model that it names (" in about(out, page)[0]
    assert "is not among those that were given" in about(out, page)[0] and "too" not in about(out, page)[0]


@pytest.mark.parametrize("file", ["answers.json", "run/model/model.json"])
def test_another_layout_is_named_among_the_causes(file, tmp_path, capsys):
    """Answers that a program wrote again with other blanks were called another file, and nothing more."""
    again = tmp_path / Path(file).name
    again.write_text(json.dumps(json.loads(Path(file).read_text()), indent=4))
    code, out = verified(capsys, "M.db", "D.db", again)
    assert (
        code == 5
        and "a file that is not this one (a number was changed, or the file was only laid out again" in out
    )
