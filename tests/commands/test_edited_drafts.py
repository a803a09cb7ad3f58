"""What a drafted schema states of its own draft is believed nowhere: it follows from its budget, and is what the ledger booked.

A data protection officer set mu 1e-6 and leak 1e-13 under `drafted:` and trained. The page said ε = 0.5, and its ledger "verified, charged".
"""

import dataclasses
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import prepriv
from prepriv.cli import run
from prepriv.commands.charged import charge_problems
from prepriv.description.look import price
from prepriv.drafted import Drafted
from prepriv.guarantees.drafts import leak_and_mu, of_draft
from prepriv.ledger import Ledger
from prepriv.release.model import Model
from prepriv.runs.booked import booked_otherwise, cannot_show
from prepriv.schemas.schema import load_schema

N = 2000
RNG = np.random.default_rng(4)
TABLE = pd.DataFrame({"a": RNG.random(N), "c": np.tile(["p", "q"], N // 2)})
TABLE["y"] = np.where(TABLE["a"] > 0.5, "yes", "no")
TRAIN = ["--epsilon", "0.5", "--rows", str(N), "--learner", "{kind: GradientDescent, steps: 2}"]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A ledger that holds a draft and a model of it, as they are given out."""
    folder = tmp_path_factory.mktemp("package")
    TABLE.to_csv(folder / "t.csv", index=False)
    table, ledger, schema = (str(folder / name) for name in ("t.csv", "L.db", "S.yaml"))
    Ledger.create(ledger, "people", epsilon=4, delta=1e-4)
    draft = ["--label", "y", "--classes", "no,yes", "--epsilon", "2", "--rows", str(N), "--out", schema]
    assert run(["schema", "init", table, *draft, "--ledger", ledger]) == 0
    out = ["--ledger", ledger, "--out", str(folder / "run")]
    assert run(["train", table, "--schema", schema, *TRAIN, *out]) == 0
    return folder


@pytest.fixture
def copy(package, tmp_path, monkeypatch, capsys):
    shutil.copytree(package, tmp_path / "p")
    monkeypatch.chdir(tmp_path / "p")
    (tmp_path / "t.csv").write_bytes(Path("t.csv").read_bytes())
    Path("t.csv").unlink()
    capsys.readouterr()
    return tmp_path / "p"


def edited(**changed):
    """S.yaml with other lines under `drafted:`."""
    schema = yaml.safe_load(Path("S.yaml").read_text())
    schema["drafted"][0] |= changed
    Path("S.yaml").write_text(yaml.safe_dump(schema, sort_keys=False))


def smaller(epsilon, delta):
    """All that a cheaper draft states of its cost."""
    leak, mu = leak_and_mu(epsilon, delta)
    return {"epsilon": epsilon, "delta": delta, "mu": mu * (1 - 1e-9), "leak": leak}


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"mu": 1e-6}, "spends all of its budget"),
        ({"leak": 1e-13}, "spends all of its budget"),
        ({"mu": 1e-6, "leak": 1e-13, "delta": 1e-12, "epsilon": 0.001}, "spends all of its budget"),
        (smaller(0.001, 1e-6), "booked more (epsilon 2, delta 0.000001) than"),
        (smaller(2, 1e-12), "booked more (epsilon 2, delta 0.000001) than"),
        (smaller(3, 1e-6), "booked less than"),
        ({"rows": 100}, "states something else"),
        ({"declared_label": False}, "states something else"),
        ({"source": "select * from t"}, "states something else"),
        ({"plan": "0" * 64}, "the charge of a plan that is not the one"),
        ({"content": "0" * 64}, "drafted other bounds or classes"),
        ({"adjacency": "add-or-remove-one"}, "drafted under add-or-remove-one"),
        ({"ledger": "head"}, "its receipt is not that of the charge"),
    ],
)
def test_an_edited_draft_pays_for_no_run_of_its_ledger(copy, capsys, changed, said):
    if "ledger" in changed:
        receipt = yaml.safe_load(Path("S.yaml").read_text())["drafted"][0]["ledger"]
        changed = {"ledger": receipt | {"head": "0" * 64}}
    edited(**changed)
    before = len(Ledger.open("L.db").entries())
    line = ["train", "../t.csv", "--schema", "S.yaml", *TRAIN, "--out", "forged", "--ledger", "L.db"]
    assert run(line) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert len(Ledger.open("L.db").entries()) == before and not Path("forged").exists()


@pytest.mark.parametrize(
    "change, said",
    [
        ("nothing", None),
        ("drafted", "WARNING: bounds and classes are exactly those of the schema draft of row 1"),
        ("and a bound", "this ledger paid for a private draft of a schema, and this schema names none"),
    ],
)
def test_a_draft_that_the_schema_does_not_name_is_said_before_the_charge(copy, capsys, change, said):
    """Trained on the very ledger that paid for the draft, and charged without a word: only `ledger verify` found it."""
    schema = yaml.safe_load(Path("S.yaml").read_text())
    if change != "nothing":
        del schema["drafted"]
    if change == "and a bound":
        schema["columns"]["a"]["high"] = 2.0
    Path("S.yaml").write_text(yaml.safe_dump(schema))
    Ledger.create("M.db", "people", epsilon=4, delta=1e-4)  # another one holds no draft
    for ledger in ("L.db", "M.db"):
        line = ["train", "../t.csv", "--schema", "S.yaml", *TRAIN, "--out", ledger[0], "--ledger", ledger]
        assert run(line) == 0
        err = " ".join(capsys.readouterr().err.split())
        assert ("`drafted:`" in err) == (said is not None and ledger == "L.db")
        assert said is None or ledger == "M.db" or said in err


@pytest.mark.parametrize("command", ["describe", "ask", "evaluate", "sketch"])
def test_nothing_else_is_charged_beside_an_edited_draft(copy, capsys, command):
    edited(rows=100)
    more = {
        "describe": ["../t.csv", "--schema", "S.yaml"],
        "ask": ["../t.csv", "mean(a)", "--schema", "S.yaml", "--epsilon", "0.1"],
        "sketch": ["../t.csv", "--schema", "S.yaml", "--out", "sketched"],
        "evaluate": ["run", "../t.csv"],
    }[command]
    if command == "evaluate":
        data = json.loads(Path("run/model/model.json").read_text())
        for domain in (data["domain"], data["plan"]["domain"]):
            domain["drafts"][0]["rows"] = 100
        Path("run/model/model.json").write_text(json.dumps(data))
    before = len(Ledger.open("L.db").entries())
    assert run([command, *more, "--rows", str(N), "--ledger", "L.db"]) == 2
    assert "states something else" in " ".join(capsys.readouterr().err.split())
    assert len(Ledger.open("L.db").entries()) == before


def test_a_model_whose_draft_was_edited_by_a_changed_library_is_found_out(copy, monkeypatch, capsys):
    """The check before the charge is the curator's; `report --ledger` is the officer's."""
    true = load_schema("S.yaml").domain()
    (draft,) = true.drafts
    book = Ledger.open("L.db")
    assert booked_otherwise(book.header, book.entries(), draft, "it") == []
    assert cannot_show(book.entries(), draft) == []
    monkeypatch.setattr("prepriv.runs.booked.check_drafts_booked", lambda *_: None)
    for i, (changed, said) in enumerate(
        [
            (smaller(0.001, 1e-6), "booked more (epsilon 2, delta 0.000001)"),
            ({"rows": 100}, "states something else"),
            ({"declared_label": False}, "states something else"),
        ]
    ):
        forged = dataclasses.replace(true, n=N, drafts=(dataclasses.replace(draft, **changed),))
        # a recipe: of 100 drafts about 2 see gaps in the noise, which a step has to fill
        clf = prepriv.PrivateClassifier(forged, epsilon=0.5, steps="linear", ledger="L.db")
        clf.fit(TABLE[["a", "c"]], TABLE["y"]).model_.save(f"m{i}", ledger="L.db")
        assert run(["report", f"m{i}", "--ledger", "L.db"]) == 1
        out = capsys.readouterr().out
        assert (
            "not charged: row 1 booked" in out and said in out and "charged: the ledger is sound" not in out
        )
        assert run(["ledger", "verify", "L.db", f"m{i}"]) == 5
        assert said in capsys.readouterr().out


def test_what_an_earlier_version_booked_is_judged_as_far_as_it_goes(copy, tmp_path):
    """It booked the hash of what was drafted alone. The cost is compared, and what cannot be is said."""
    old = Ledger.create(tmp_path / "old.db", "people", epsilon=4, delta=1e-4)
    true = load_schema("S.yaml").domain()
    (draft,) = true.drafts
    spent = of_draft(draft, true).epsilon(draft.delta)
    made = old.charge("u", draft.plan, adjacency="replace-one", epsilon=spent, delta=draft.delta)
    old.released("u", draft.content)
    receipt = {"plan_uid": "u", "sequence": made.sequence, "head": made.head}
    mine = dataclasses.replace(draft, ledger=receipt)
    rows = old.entries()
    assert booked_otherwise(old.header, rows, mine, "it") == []
    assert len(cannot_show(rows, mine)) == 1 and "of an earlier version" in cannot_show(rows, mine)[0]
    cheap = dataclasses.replace(mine, **smaller(0.001, 1e-6))
    assert "booked more" in booked_otherwise(old.header, rows, cheap, "it")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = prepriv.PrivateClassifier(
            dataclasses.replace(true, n=N, drafts=(mine,)), epsilon=0.5, steps="linear", ledger=old.path
        ).fit(TABLE[["a", "c"]], TABLE["y"])
    path = clf.model_.save(tmp_path / "m", ledger=old.path)
    wrong, unchecked = charge_problems(str(old.path), Model.load(path), path.read_bytes())
    assert wrong == [] and len(unchecked) == 1


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 30])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1])
@pytest.mark.parametrize("columns", [1, 40])
def test_every_draft_spends_what_its_budget_gives(epsilon, delta, columns):
    """What `of_draft` holds a draft to is what `price` gives it, whatever the table is."""
    weights = dict.fromkeys(map(str, range(columns)), 1.0)
    look = price(
        "schema draft", weights, n=9, adjacency="replace-one", epsilon=epsilon, delta=delta, lone=["0"]
    )
    drafted = Drafted(epsilon, delta, look.mu, look.leak, "replace-one", 9, look.hash)
    domain = prepriv.Domain({"a": prepriv.Numeric(0, 1)}, classes=[0, 1], n=9, drafts=(drafted,))
    assert of_draft(drafted, domain).epsilon(delta) <= epsilon
    for less in ({"mu": look.mu * (1 - 1e-5)}, {"leak": look.leak * (1 - 1e-5)}):
        with pytest.raises(ValueError, match="spends all of its budget"):
            of_draft(dataclasses.replace(drafted, **less), domain)


# ------------------------------------------------------------------------------------------ what the ledger says of files

SCHEMA = ["ledger", "verify", "L.db", "S.yaml"]
FOLDER = ["ledger", "verify", "L.db", "."]
MODEL = [*SCHEMA, "run/model"]


def changed(old, new, file="S.yaml"):
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))


def printed(capsys, line):
    code = run(line)
    return code, capsys.readouterr().out


def test_a_drafted_schema_is_ok_where_its_bytes_are_those_of_its_release(copy, capsys):
    code, out = printed(capsys, FOLDER)
    assert code == 0 and "S.yaml: ok, charge 1" in out and "ASK" not in out
    code, out = printed(capsys, SCHEMA)
    assert code == 8 and "S.yaml: ok, charge 1" in out and out.count("ASK") == 1
    assert "ASK BEFORE YOU SIGN: what L.db paid for beside these files: row 3, a model" in out


def test_a_schema_to_which_a_name_alone_was_added_says_so(copy, capsys):
    """The page advises that line, and the question was the same as of a record in a comment."""
    changed("label:\n", "declared_by: the ethics board\nlabel:\n")
    code, out = printed(capsys, SCHEMA)
    assert code == 8 and "S.yaml: the line `declared_by:` was added since the draft, and nothing else" in out


@pytest.mark.parametrize(
    "old, new",
    [
        ("# DECLARED by hand", "# Declared by hand"),
        ("label:\n", "# row 17: a=0.31, c=p, yes\nlabel:\n"),
        ("label:\n", "declared_by: the ethics board\nlabel: \n"),
        ("label:\n", "declared_by: the ethics\n  board\nlabel:\n"),
        ("label:\n", "steps: linear\nlabel:\n"),
        ("rows: 2000\ncolumns", "rows: 1900\ncolumns"),
        ("label:\n", "label: \n"),
    ],
)
def test_a_schema_with_other_lines_is_not_ok(copy, capsys, old, new):
    """`A.yaml: ok, charge 1` was said of all of these."""
    changed(old, new)
    code, out = printed(capsys, SCHEMA)
    assert code == 8 and "S.yaml: ok" not in out
    assert "S.yaml: the file was edited since it was drafted" in out and "ASK BEFORE YOU SIGN" in out


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("  epsilon: 2.0\n", "  epsilon: 0.1\n", "more than the budget it states"),
        ("  delta: 1.0e-06\n", "  delta: 1.0e-09\n", "more than"),
        ("  mu: ", "  mu: 0.0000001 # ", "spends all of its budget"),
        ("  rows: 2000\n  content", "  rows: 100\n  content", "states something else"),
        ("  declared_label: true", "  declared_label: false", "states something else"),
        ("  plan: ", "  plan: " + "0" * 64 + " # ", "a plan that is not the one"),
        ("  content: ", "  content: " + "0" * 64 + " # ", "drafted other bounds or classes"),
    ],
)
def test_a_schema_that_states_another_draft_is_wrong(copy, capsys, old, new, said):
    changed(old, new)
    code, out = printed(capsys, SCHEMA)
    assert code == 5 and said in out and "S.yaml: ok" not in out


def test_an_edited_bound_is_not_ok_above_its_own_question(copy, capsys):
    schema = yaml.safe_load(Path("S.yaml").read_text())
    schema["columns"]["a"]["high"] = 7.0
    Path("S.yaml").write_text(yaml.safe_dump(schema))
    code, out = printed(capsys, MODEL)
    assert code == 8 and "S.yaml: ok" not in out and "S.yaml: NOT DECIDED, charge 1" in out
    assert "ASK BEFORE YOU SIGN: S.yaml: columns, bounds" in out
    assert "it is not the schema of a model that was given" in out
    assert run(["train", "../t.csv", "--schema", "S.yaml", *TRAIN, "--out", "e", "--ledger", "L.db"]) == 0
    capsys.readouterr()
    for line in (["report", "e"], ["report", "e", "--verify", "e/report.html", "--ledger", "L.db"]):
        code, out = printed(capsys, line)
        assert code == 8 and out.count("ASK BEFORE YOU SIGN: who edited columns, bounds") == 1


def test_a_draft_that_was_taken_out_of_its_schema_is_found_by_what_it_drafted(copy, capsys):
    """Of a file whose first line said "Drafted privately" the command said "declared by hand", and ended with 0."""
    schema = yaml.safe_load(Path("S.yaml").read_text())
    del schema["drafted"]
    Path("S.yaml").write_text(yaml.safe_dump(schema))
    for line in (SCHEMA, FOLDER):
        code, out = printed(capsys, line)
        assert (
            code == 5
            and "S.yaml: WRONG: bounds and classes are exactly those of the schema draft of row 1" in out
        )
    schema["columns"]["a"]["high"] = 7.0  # and a bound with it
    Path("S.yaml").write_text(yaml.safe_dump(schema))
    code, out = printed(capsys, SCHEMA)
    assert code == 8 and "S.yaml: NOT DECIDED, a schema declared by hand" in out
    assert "the schema draft of row 1, which the schema does not claim" in out
    code, out = printed(capsys, MODEL)
    assert code == 8 and "it is not the schema of a model that was given: that of run/model/model.json" in out


def test_a_hidden_draft_is_asked_about_in_whatever_order_ledgers_are_given(copy, capsys):
    """`verify Z.db L.db E.yaml` said "declared by hand", and ended with 0, where `verify L.db Z.db E.yaml` asked."""
    Ledger.create("Z.db", "another table", epsilon=4, delta=1e-4)
    schema = yaml.safe_load(Path("S.yaml").read_text())
    del schema["drafted"]
    schema["columns"]["a"]["high"] = 7.0
    Path("E.yaml").write_text(yaml.safe_dump(schema))
    said = set()
    for ledgers in (["L.db", "Z.db"], ["Z.db", "L.db"]):
        code, out = printed(capsys, ["ledger", "verify", *ledgers, "E.yaml"])
        said.add(next(line for line in out.splitlines() if line.startswith("ASK BEFORE YOU SIGN: E.yaml")))
        asked = "E.yaml: whether bounds or classes come from the schema draft of row 1 of L.db"
        assert code == 8 and f"ASK BEFORE YOU SIGN: {asked}" in out
        assert "if that ledger is of the same people" in out  # it can be of other ones
        code, out = printed(capsys, ["ledger", "verify", *ledgers, "E.yaml", "--json"])
        assert code == 8 and list(json.loads(out)["ask_before_you_sign"]) == ["E.yaml"]
    assert len(said) == 1  # a schema names no ledger, so none of them is its own


def by_hand(name, columns, table):
    """A model of a schema that was declared by hand, charged to a ledger of a data set with another name."""
    label = {"name": "y", "classes": ["no", "yes"]}
    declared = {"label": label, "adjacency": "replace-one", "rows": N, "columns": columns}
    Path(f"{name}.yaml").write_text(yaml.safe_dump(declared))
    Ledger.create(f"{name}.db", "people in 1977", epsilon=4, delta=1e-4)
    line = ["train", table, "--schema", f"{name}.yaml", *TRAIN, "--out", name, "--ledger", f"{name}.db"]
    assert run(line) == 0
    return f"{name}.db"


def test_a_draft_in_a_ledger_of_another_name_is_asked_about(copy, capsys):
    """Left out of what was given, a schema by hand took its question with it: exit code 0 for "care-survey" and "care-survey-1977"."""
    columns = yaml.safe_load(Path("S.yaml").read_text())["columns"]
    other = by_hand("hand", {**columns, "a": {"type": "numeric", "low": -1, "high": 9}}, "../t.csv")
    asked = 'the schema draft of row 1 of L.db, of the data set "people", which the model does not claim: if that ledger is of the same people'
    capsys.readouterr()
    for line in (
        ["report", "hand", "--verify", "hand/report.html", "--ledger", other, "--ledger", "L.db"],
        ["ledger", "verify", "L.db", other, "hand/model", "hand/report.html"],
        ["ledger", "verify", other, "L.db", "hand", "hand.yaml", "run"],
    ):
        code, out = printed(capsys, line)
        assert code == 8 and asked in out
    # the model that claims the draft shows that the other one has none of its columns
    table = pd.read_csv("../t.csv").rename(columns={name: f"{name}_2" for name in columns})
    table.to_csv("u.csv", index=False)
    alien = by_hand("alien", {f"{name}_2": column for name, column in columns.items()}, "u.csv")
    capsys.readouterr()
    code, out = printed(capsys, ["ledger", "verify", "L.db", alien, "alien", "run"])
    assert "which the model does not claim" not in out
    code, out = printed(capsys, ["ledger", "verify", "L.db", alien, "alien"])
    assert code == 8 and asked in out


def test_a_schema_of_a_model_whose_draft_it_does_not_name_is_wrong(copy, capsys):
    schema = yaml.safe_load(Path("S.yaml").read_text())
    schema["columns"]["a"]["high"] = 7.0
    Path("S.yaml").write_text(yaml.safe_dump(schema))
    out = ["--out", "e", "--ledger", "L.db"]
    assert run(["train", "../t.csv", "--schema", "S.yaml", *TRAIN, *out]) == 0
    del schema["drafted"]
    Path("S.yaml").write_text(yaml.safe_dump(schema))
    code, out = printed(capsys, ["ledger", "verify", "L.db", "S.yaml", "e/model"])
    assert code == 5 and "does not name the private draft that the model claims" in out


def test_a_schema_by_hand_is_the_same_alone_and_in_a_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Ledger.create("L.db", "people", epsilon=4, delta=1e-4)
    Path("S.yaml").write_text(
        "label: {name: y, classes: [a, b]}\ncolumns: {x: {type: numeric, low: 0, high: 1}}\nrows: 9\n"
    )
    for line in (SCHEMA, FOLDER):
        code, out = printed(capsys, line)
        assert code == 8 and "S.yaml: NOT DECIDED, a schema declared by hand, for which no ledger" in out
        assert "no model was given with it" in out
        code, out = printed(capsys, [*line, "--json"])
        assert code == 8 and json.loads(out)["declared_by_hand"] == ["S.yaml"]


def test_all_that_was_found_is_printed_and_the_worst_ends_the_command(copy, capsys):
    """No question was asked where anything was wrong, so that a hidden draft was lost behind a forged page."""
    schema = yaml.safe_load(Path("S.yaml").read_text())
    del schema["drafted"]
    schema["columns"]["a"]["high"] = 7.0
    Path("S.yaml").write_text(yaml.safe_dump(schema))
    out = ["--out", "e", "--ledger", "L.db"]
    assert run(["train", "../t.csv", "--schema", "S.yaml", *TRAIN, *out]) == 0
    changed("ε = 0.5", "ε = 0.1", "e/report.html")
    capsys.readouterr()
    hidden = "from the schema draft of row 1, which the model does not claim"
    code, out = printed(capsys, ["ledger", "verify", "L.db", "e"])
    assert code == 5 and "e/report.html: WRONG: it is not the page" in out and hidden in out
    code, out = printed(capsys, ["report", "e", "--verify", "e/report.html", "--ledger", "L.db"])
    assert code == 1 and "differs: line" in out and hidden in out and "charged: the ledger" in out
    assert "verified:" not in out
    data = json.loads(Path("e/model/model.json").read_text())
    data["ledger"]["head"] = "0" * 64
    Path("e/model/model.json").write_text(json.dumps(data))
    code, out = printed(capsys, ["report", "e", "--ledger", "L.db"])
    said = "not charged: the receipt of the model was edited, or L.db was made again: a part of it is that of row 5 of L.db"
    assert code == 1 and said in out and hidden in out


def test_a_page_may_be_named_htm(copy, capsys):
    """An honest page was said to differ in its first line."""
    shutil.copy("run/report.html", "PAGE.HTM")
    code, out = printed(capsys, ["report", "run", "--verify", "PAGE.HTM"])
    assert code == 0 and "verified: " in out
    code, out = printed(capsys, ["ledger", "verify", "L.db", "PAGE.HTM", "run/model"])
    assert code == 0 and "PAGE.HTM: ok" in out


def test_other_files_beside_a_model_are_named(copy, capsys):
    verify = ["report", "run", "--verify", "run/report.html", "--ledger", "L.db"]
    assert printed(capsys, verify)[0] == 0
    Path("run/model/patients.csv").write_text("name\nhusby\n")
    code, out = printed(capsys, verify)
    assert code == 8 and "ASK BEFORE YOU SIGN: what else lies in the folder of the model" in out
    assert "patients.csv" in out and "husby" not in out


def test_predictions_in_a_folder_are_named_as_what_no_claim_covers(copy, capsys):
    assert run(["predict", "run", "../t.csv", "--out", "p.csv", "--proba", "--keep", "a"]) == 0
    capsys.readouterr()
    assert run(["predict", "run", "../t.csv", "--json"]) == 0
    Path("p.json").write_text(capsys.readouterr().out)
    code, out = printed(capsys, FOLDER)
    for name in ("p.csv", "p.json"):
        (line,) = [one for one in out.split("\n") if one.startswith(f"{name}: ")]
        assert "NOT DECIDED, not compared: predictions" in line and "No claim covers" in line
    assert code == 8


@pytest.mark.parametrize("header", ["job_city,prediction,probability", "predicted", "id,Predictions"])
def test_a_table_with_a_column_of_predictions_may_be_one_of_private_rows(copy, capsys, header):
    Path("o.csv").write_text(f"{header}\n")
    Path("q.csv").write_text("id,predicted_by\n")
    code, out = printed(capsys, FOLDER)
    assert code == 8 and "o.csv: NOT DECIDED, not compared: by its header it may hold predictions" in out
    assert "q.csv: NOT DECIDED, not compared: this kind of file" in out


def test_a_cap_that_is_hardly_a_limit_is_called_that(tmp_path, capsys):
    domain = prepriv.Domain({"a": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=N)
    for cap, said in ((2, 0), (200, 1)):
        ledger = tmp_path / f"{cap}.db"
        Ledger.create(ledger, "people", epsilon=cap, delta=1e-4)
        clf = prepriv.PrivateClassifier(domain, epsilon=0.5, steps=[], ledger=ledger)
        clf.fit(TABLE[["a"]], TABLE["y"]).model_.save(tmp_path / f"m{cap}", ledger=ledger)
        assert ("That cap hardly limits anything" in clf.report_.to_html()) == bool(said)
        assert run(["report", str(tmp_path / f"m{cap}"), "--ledger", str(ledger)]) == 8 * said
        assert capsys.readouterr().out.count(f"why the cap of {ledger} is so high") == said


def test_names_that_differ_by_dots_may_be_one_data_set(tmp_path, capsys):
    for name in ("people-1993", "people.1993"):
        Ledger.create(tmp_path / f"{name}.db", name, epsilon=1, delta=1e-4)
    names = [str(tmp_path / f"{name}.db") for name in ("people-1993", "people.1993")]
    code, out = printed(capsys, ["ledger", "verify", *names])
    assert code == 8 and "are the same data set" in out


def test_a_record_states_nothing_that_a_ledger_leaves_open(copy, capsys):
    """It said "declared beforehand" of a table with a hidden draft, and "all charges on these data" of one ledger of two."""
    assert run(["report", "run", "--ledger", "L.db", "--record", "r.yaml"]) == 0
    text = Path("r.yaml").read_text()
    assert "drafted privately from the rows;" in text and "declared beforehand" not in text
    assert "all charges" not in text and "of a ledger, which adds up what is charged to it" in text
    assert "publication_date: '1900-01-01'  # QUESTION: when was it first published?" in text
    yaml.safe_load(text)
    Path("run/model/other.txt").write_text("")  # a question of the officer, and not of the registry
    assert run(["report", "run", "--ledger", "L.db", "--record", "s.yaml"]) == 8
    assert Path("s.yaml").read_text() == text


def test_a_record_of_a_ledger_with_other_charges_says_many_releases(copy, capsys):
    """It said "One release" beside a ledger that had paid for answers, too."""
    run(["report", "run", "--ledger", "L.db", "--record", "one.yaml"])
    answers = ["ask", "../t.csv", "share(y)", "--schema", "S.yaml", "--epsilon", "0.1", "--ledger", "L.db"]
    assert run([*answers, "--out", "answers.json"]) == 0
    for name, said in (("a.yaml", "L.db paid for beside this model: row 5, answers"), ("b.yaml", "")):
        assert run(["report", "run", "--ledger", "L.db", "--record", name]) == (8 if said else 0)
        record = yaml.safe_load(Path(name).read_text())["deployment"]
        kind = record["deployment_model"]
        assert kind["release_type"] == "Many releases" and said in kind["release_type_details"]
        assert (
            "leaves questions open" not in record["implementation"]["preprocessing_and_hyperparameter_tuning"]
        )
        shutil.copy("answers.json", "run/answers.json")
    record = yaml.safe_load(Path("one.yaml").read_text())["deployment"]
    assert record["deployment_model"]["release_type"] == "One release"


def test_a_record_of_a_ledger_with_a_later_score_says_many_releases(copy, capsys):
    """It said "One release" of a model whose later score was charged and not at hand."""
    rows = str(len(pd.read_csv("../t.csv")))
    score = ["evaluate", "run", "../t.csv", "--ledger", "L.db", "--epsilon", "0.1", "--rows", rows]
    assert run([*score, "--out", "../score.json"]) == 0
    run(["report", "run", "--ledger", "L.db", "--record", "one.yaml"])
    record = yaml.safe_load(Path("one.yaml").read_text())["deployment"]
    assert record["deployment_model"]["release_type"] == "Many releases"


def test_a_draft_that_was_charged_after_the_model_is_no_question(copy, capsys):
    """The chain shows that the model was released before, and it was asked whether its bounds come from that draft."""
    draft = ["schema", "init", "../t.csv", "--label", "y", "--classes", "no,yes", "--epsilon", "0.3"]
    assert run([*draft, "--rows", str(N), "--ledger", "L.db", "--out", "later.yaml"]) == 0
    for line in (["report", "run", "--ledger", "L.db"], ["ledger", "verify", "L.db", "run", "S.yaml"]):
        code, out = printed(capsys, line)
        assert code == 8 and out.count("ASK BEFORE") == 1 and "row 5, a schema draft (epsilon 0.3" in out
    assert printed(capsys, FOLDER)[0] == 0


def test_a_page_asks_where_predictions_of_the_private_rows_are(copy):
    assert "Were predictions of the private rows given out?" in Path("run/report.html").read_text()


def test_an_empty_folder_is_named_because_its_name_can_say_anything(copy, capsys):
    """An officer's: folders named after people lay in a package of which "nothing wrong was found"."""
    assert printed(capsys, FOLDER)[0] == 0
    Path("run/Anna Svensson/57000 EUR").mkdir(parents=True)
    code, out = printed(capsys, FOLDER)
    assert code == 8 and "run/Anna Svensson/57000 EUR: NOT DECIDED, not compared: an empty folder" in out
