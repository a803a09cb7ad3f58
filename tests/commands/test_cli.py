"""The command line, as a user types it: what works, and every mistake as one line and exit code 2."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from prepriv import Domain, Numeric, PrivateClassifier
from prepriv.cli import run
from prepriv.release.model import Model
from prepriv.schemas.schema import load_schema

SCHEMA = """
label: {name: income, classes: [low, high]}
columns:
  age: {type: numeric, low: 0, high: 100, missing: impute}
  job: {type: categorical, categories: [clerk, smith]}
steps:
  - {step: MeanImputer, pay: sensitivity, missing: {age: 0.1}}
  - {step: Center, pay: budget, share: 0.05}
  - {step: Rescale, radius: 10}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    age = rng.integers(0, 100, 600).astype(float)
    table = pd.DataFrame({"job": rng.choice(["clerk", "smith", "SECRET-JOB"], 600), "age": age})
    table["income"] = np.where(age > 50, "high", "low")
    table.loc[::40, "age"] = np.nan
    table.loc[1, "age"] = 987654.0
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "s.yaml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("table", ["t.csv", "t.parquet"])
def test_train_predict_report(folder, capsys, table):
    assert (
        run(["train", table, "--schema", "s.yaml", "--label", "income", "--epsilon", "3", "--delta", "1e-4"])
        == 0
    )
    out = capsys.readouterr().out
    assert "replace-one" in out and "MeanImputer" in out and "rests on: at most 60 of the 600" in out
    report = json.loads((folder / "run/report.json").read_text())
    assert report["guarantee"]["epsilon"] <= 9 and len(report["prices"]) == 6
    assert (folder / "run/report.html").is_file()
    model = Model.load("run/model")
    assert model.private
    assert run(["predict", "run/model", table, "--out", "p/predictions.csv", "--proba"]) == 0
    lines = (folder / "p/predictions.csv").read_text().splitlines()
    assert lines[0] == "prediction,p(high),p(low)" and len(lines) == 601
    rows = pd.read_csv(folder / "t.csv")
    predicted = np.array([line.split(",")[0] for line in lines[1:]])
    assert (predicted == model.predict(rows)).all()
    assert np.mean(predicted == rows.income) > 0.55  # 0.69 to 0.97 in sixty runs: few rows, much noise
    capsys.readouterr()
    assert run(["report", "run/model"]) == 0
    assert "rests on: at most 60" in capsys.readouterr().out


def test_predict_needs_the_model_and_nothing_else(folder, capsys):
    assert run(["train", "t.csv", "--schema", "s.yaml"]) == 0
    (folder / "s.yaml").unlink()
    pd.read_csv("t.csv").drop(columns="income").to_csv("raw.csv", index=False)
    capsys.readouterr()
    assert run(["predict", "run/model", "raw.csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 601


def test_plan_reads_no_data_and_prices_three_ways(folder, capsys):
    (folder / "t.csv").unlink()
    assert run(["plan", "s.yaml", "--rows", "600", "--epsilon", "1", "--delta", "1e-5"]) == 0
    out = capsys.readouterr().out
    for word in (
        "public data",
        "privacy budget",
        "sensitivity",
        "not available",
        "paid",
        "MeanImputer",
        "Center",
    ):
        assert word in out


def test_public_step_from_a_table_beside_the_schema(folder, capsys):
    (folder / "public.csv").write_text("age,job\n" + "10,clerk\n90,smith\n" * 20)
    steps = "steps:\n  - {step: MeanImputer, pay: public, data: public.csv}\n  - {step: PCA, k: 2, pay: public, data: public.csv}\n"
    (folder / "s.yaml").write_text(SCHEMA.split("steps:")[0] + steps)
    assert run(["train", "t.csv", "--schema", "s.yaml"]) == 0
    assert Model.load("run/model").weights.shape == (3, 1)


def test_scoring_on_a_table_declared_public(folder, capsys):
    assert run(["train", "t.csv", "--schema", "s.yaml", "--epsilon", "3", "--public-test", "t.parquet"]) == 0
    assert "declared public" in capsys.readouterr().out
    assert "evaluation_on_public_table" in json.loads((folder / "run/report.json").read_text())


def test_schema_init_drafts_and_warns_loudly(folder, capsys):
    assert run(["schema", "init", "t.csv", "--label", "income", "--out", "draft.yaml"]) == 0
    assert "leaks" in capsys.readouterr().err
    text = (folder / "draft.yaml").read_text()
    assert text.startswith("# This draft reads bounds") and "OFF THE DATA" in text
    assert run(["train", "t.csv", "--schema", "draft.yaml"]) == 2
    assert "is a draft" in capsys.readouterr().err
    (folder / "draft.yaml").write_text(text.replace("draft: true", "draft: false"))
    assert run(["train", "t.csv", "--schema", "draft.yaml"]) == 0


def test_ledger_is_charged_before_the_data_is_opened_and_stops_the_second_run(folder, capsys):
    assert run(["ledger", "create", "l.db", "--dataset", "d", "--epsilon", "1.5", "--delta", "1e-4"]) == 0
    train = ["train", "t.csv", "--schema", "s.yaml", "--rows", "600", "--ledger", "l.db"]
    assert run(train) == 0
    capsys.readouterr()
    assert run([*train, "--out", "run2"]) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (folder / "run2" / "model").exists()
    assert run(["ledger", "verify", "l.db"]) == 0


@pytest.mark.parametrize(
    "cap, told",
    [
        (["--epsilon", "6", "--delta", "1e-3"], ["99.8 times", "hardly limits anything"]),
        (["--epsilon", "1", "--delta", "1e-5"], ["two versions of one record", "73.2 times"]),
        (["--mu", "1", "--unit", "gdp"], ["69.2 times"]),
        (["--rho", "0.5", "--unit", "zcdp"], []),
        (
            [
                "--epsilon",
                "2",
                "--delta",
                "1e-5",
                "--periods",
                "month:at",
                "--adjacency",
                "add-or-remove-one",
            ],
            ["of one month", "is there"],
        ),
    ],
)
def test_a_new_ledger_says_what_its_cap_lets_an_attacker_do(folder, capsys, cap, told):
    """A cap of epsilon 6 was created without a word; the first page said that it hardly limits anything."""
    assert run(["ledger", "create", "l.db", "--dataset", "d", *cap]) == 0
    said = [one for one in capsys.readouterr().out.splitlines() if one.startswith("an attacker")]
    assert len(said) == bool(told) and all(one in said[0] for one in told)
    assert ("hardly limits" in "".join(said)) == ("hardly limits anything" in told)


def test_account_tells_the_real_epsilon(folder, capsys):
    (folder / "p.yaml").write_text(
        "rows: 10000\ndomain: {features: 10, radius: 1.0}\n"
        "steps:\n  - {step: SoftPCA, strength: 0.05, pay: sensitivity}\n"
        "learner: {kind: dp-gd, noise_multiplier: 40, steps: 100, weight_bound: 2.0}\n"
    )
    assert run(["account", "p.yaml"]) == 0
    out = capsys.readouterr().out
    for word in ("training alone claims", "really has", "direct", "smooth RDP", "group privacy", "+ SoftPCA"):
        assert word in out
    for text, says in [
        ("rows: 5\n", "learner"),
        ("rows: 5\nlearner: {kind: dp-gd}\ndomain: {features: 2, radius: 1}\n", "steps or epochs"),
        ("rows: 5\nlearner: {kind: sgd}\n", "kind"),
        ("rows: 5\nlearner: {kind: laplace, epsilon: 1}\n", "domain"),
        ("[", "YAML"),
    ]:
        (folder / "p.yaml").write_text(text)
        assert run(["account", "p.yaml"]) == 2
        err = capsys.readouterr().err
        assert says in err and len(err.splitlines()) == 1


def test_shuffle_and_reproduce_are_there(folder, capsys):
    assert run(["shuffle", "--epsilon0", "4.444", "--n", "10000", "--delta", "1e-6"]) == 0
    assert "exact" in capsys.readouterr().out
    assert run(["reproduce", "--help"]) == 0
    assert run(["shuffle", "--epsilon0", "-1", "--n", "10", "--delta", "1e-6"]) == 2


def test_a_refused_test_is_a_charged_outcome_with_its_own_exit_code(folder, capsys):
    (folder / "s.yaml").write_text(SCHEMA.replace("missing: {age: 0.1}", "missing: {age: 0.0}, test: 0.1"))
    assert run(["ledger", "create", "l.db", "--dataset", "d", "--epsilon", "2", "--delta", "1e-4"]) == 0
    assert run(["train", "t.csv", "--schema", "s.yaml", "--rows", "600", "--ledger", "l.db"]) == 7
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1 and "refused" in err
    assert not (folder / "run" / "model").exists()
    assert (
        run(["train", "t.csv", "--schema", "s.yaml", "--rows", "600", "--ledger", "l.db", "--epsilon", "1.5"])
        == 3
    )


def test_validate_is_for_the_curator(folder, capsys):
    assert run(["validate", "t.csv", "--schema", "s.yaml"]) == 0
    out = capsys.readouterr().out
    assert "curator only" in out and "unknown" in out


def test_validate_ends_with_1_where_classes_are_misspelled(folder, capsys):
    """One line looks before it trains: `prepriv validate ... && prepriv train ...`."""
    for classes, said in (("[Low, High]", "NOT ONE label"), ("[Low, high]", "'Low'")):
        Path("wrong.yaml").write_text(SCHEMA.replace("[low, high]", classes))
        assert run(["validate", "t.csv", "--schema", "wrong.yaml"]) == 1
        told = capsys.readouterr()
        assert said in told.out and "before anything is charged" in told.err
    labels = pd.read_csv("t.csv")["income"].where(
        np.arange(600) % 9 > 0, "High "
    )  # and some in another spelling
    pd.read_csv("t.csv").assign(income=labels).to_csv("some.csv", index=False)
    assert (
        run(["validate", "some.csv", "--schema", "s.yaml"]) == 0
    )  # one record must not decide whether a run takes place
    assert "67 labels differ from 'high' in capitals" in capsys.readouterr().out
    assert run(["plan", "s.yaml", "--rows", "600"]) == 0
    assert "prepriv validate DATA --schema s.yaml" in capsys.readouterr().out


def test_validate_takes_the_label_that_a_model_does_not_name(folder, capsys):
    frame = pd.read_csv("t.csv")
    domain = Domain({"age": Numeric(0, 100)}, classes=["high", "low"])
    fitted = PrivateClassifier(domain, steps=[], epsilon=8.0).fit(frame[["age"]], frame["income"])
    fitted.model_.save("unnamed")
    asked = ["validate", "t.csv", "--model", "unnamed"]
    assert run(asked) == 2
    assert "--label" in capsys.readouterr().err
    assert run([*asked, "--label", "income"]) == 0
    assert "2 classes" in capsys.readouterr().out
    assert run([*asked, "--label", "age"]) == 2
    assert run([*asked, "--label", "income", "--no-labels"]) == 2
    assert run(["validate", "t.csv", "--schema", "s.yaml", "--label", "income"]) == 0
    assert run(["validate", "t.csv", "--schema", "s.yaml", "--label", "age"]) == 2


BAD = {
    "missing file": ["train", "nothing.csv", "--schema", "s.yaml", "--rows", "600"],
    "missing file, rows counted": ["train", "nothing.csv", "--schema", "s.yaml"],
    "missing schema": ["train", "t.csv", "--schema", "nothing.yaml"],
    "epsilon 0": ["train", "t.csv", "--schema", "s.yaml", "--epsilon", "0"],
    "epsilon negative": ["train", "t.csv", "--schema", "s.yaml", "--epsilon", "-1"],
    "epsilon text": ["train", "t.csv", "--schema", "s.yaml", "--epsilon", "one"],
    "epsilon nan": ["train", "t.csv", "--schema", "s.yaml", "--epsilon", "nan"],
    "delta 1": ["train", "t.csv", "--schema", "s.yaml", "--delta", "1"],
    "delta 0": ["train", "t.csv", "--schema", "s.yaml", "--delta", "0"],
    "unknown option": ["train", "t.csv", "--schema", "s.yaml", "--epsilonn", "1"],
    "unknown command": ["trian"],
    "no schema": ["train", "t.csv"],
    "wrong label": ["train", "t.csv", "--schema", "s.yaml", "--label", "age"],
    "wrong column": ["train", "wrong.csv", "--schema", "s.yaml"],
    "wrong rows": ["train", "t.csv", "--schema", "s.yaml", "--rows", "599"],
    "rows 0": ["train", "t.csv", "--schema", "s.yaml", "--rows", "0"],
    "empty table": ["train", "empty.csv", "--schema", "s.yaml"],
    "empty file": ["train", "blank.csv", "--schema", "s.yaml"],
    "no table": ["train", "s.yaml", "--schema", "s.yaml"],
    "wrong adjacency": ["train", "t.csv", "--schema", "s.yaml", "--adjacency", "swap"],
    "add-or-remove needs rows": ["train", "t.csv", "--schema", "s.yaml", "--adjacency", "add-or-remove-one"],
    "sensitivity needs replace-one": ["plan", "s.yaml", "--rows", "600", "--adjacency", "add-or-remove-one"],
    "plan without rows": ["plan", "s.yaml"],
    "schema: unknown key": ["plan", "k.yaml", "--rows", "5"],
    "schema: bounds": ["plan", "b.yaml", "--rows", "5"],
    "schema: step": ["plan", "p.yaml", "--rows", "5"],
    "schema: no yaml": ["plan", "n.yaml", "--rows", "5"],
    "no model": ["predict", "nothing", "t.csv"],
    "no ledger with unknown rows": ["train", "t.csv", "--schema", "s.yaml", "--ledger", "l.db"],
    "demo epsilon": ["demo", "--epsilon", "0"],
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(folder, capsys, name):
    (folder / "wrong.csv").write_text("age,income\n1,low\n")
    (folder / "empty.csv").write_text("age,job,income\n")
    (folder / "blank.csv").write_text("")
    (folder / "k.yaml").write_text(SCHEMA + "colour: red\n")
    (folder / "b.yaml").write_text(SCHEMA.replace("high: 100", "high: -100"))
    (folder / "p.yaml").write_text(SCHEMA.replace("MeanImputer", "Scaler"))
    (folder / "n.yaml").write_text("a: [")
    before = sorted(p.name for p in folder.rglob("*"))
    assert run(BAD[name]) == 2
    err = capsys.readouterr().err
    assert err.startswith("prepriv: ") and len(err.splitlines()) == 1, err
    assert "SECRET" not in err and "987654" not in err and "Traceback" not in err
    assert sorted(p.name for p in folder.rglob("*")) in (before, sorted([*before, "run"]))
    assert not list(folder.glob("run/*"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("{name: income, classes: [low, high]}", "income", "label: must be keys and values"),
        ("type: numeric, ", "", "columns.age: needs a 'type'"),
        ("type: numeric", "type: number", "columns.age: 'type' must be one of 'numeric', 'categorical'"),
        ("high: 100", "hgh: 100", "columns.age.numeric.high: is missing"),
        ("missing: impute", "missing: impute, mean: 3", "columns.age.numeric.mean: no such key"),
        ("[low, high]", "[low, high, ' low']", "' low' and 'low' are the same one"),
        ("[low, high]", "[low]", "label.classes: needs at least 2 entries"),
        ("high: 100", "high: -100", "columns.age: bounds must be finite with low < high"),
        ("{name: income", "{name: age", "the label 'age' must not be one of the columns"),
        (
            "  job:",
            "  age: {type: numeric, low: 0, high: 1}\n  job:",
            "line 5: not valid YAML, 'age' stands twice",
        ),
        ("label: {name: income", "label: {name: income]", "s.yaml, line 2: not valid YAML"),
        (
            "classes: [low, high]",
            "classes: [low, high], 1: a, 1: b",
            "line 2: not valid YAML, '1' stands twice",
        ),
        ("classes: [low, high]", "classes: [low, !!bool maybe]", "s.yaml is not valid YAML"),
        ("classes: [low, high]", "classes: !!python/tuple [low, high]", "line 2: not valid YAML"),
    ],
)
def test_a_mistake_in_a_schema_is_a_sentence(folder, capsys, old, new, says):
    assert SCHEMA.count(old) == 1
    (folder / "s.yaml").write_text(SCHEMA.replace(old, new))
    assert run(["plan", "s.yaml", "--rows", "600", "--epsilon", "1", "--delta", "1e-4"]) == 2
    assert says in capsys.readouterr().err


def test_words_and_codes_in_a_schema_are_what_they_look_like(tmp_path):
    """Version 1.1 of YAML reads yes as true, 010 as eight and 2020-01-31 as a date: no cell would be one."""
    (tmp_path / "s.yaml").write_text(
        "label: {name: l, classes: [yes, no]}\ncolumns:\n"
        "  a: {type: categorical, categories: [yes, Off, 010, 007, 8, 2020-01-31, 1_000, 12:30, true]}\n"
        "  b: {type: numeric, low: -1e-3, high: +.5E1}\n"
    )
    domain = load_schema(tmp_path / "s.yaml").domain()
    assert domain.classes == ("no", "yes")
    assert domain.columns["a"].categories == (
        *("yes", "Off", "010", "007", "8", "2020-01-31", "1_000", "12:30", "True"),
    )
    assert (domain.columns["b"].low, domain.columns["b"].high) == (-0.001, 5.0)
    (tmp_path / "s.yaml").write_text(SCHEMA.replace("steps:", "steps: liner\nx:"))
    assert run(["plan", str(tmp_path / "s.yaml"), "--rows", "10"]) == 2


def test_a_weak_delta_is_called_weak(folder, capsys):
    for delta, weak in (("0.01", True), ("1e-4", False)):
        assert run(["plan", "s.yaml", "--rows", "600", "--delta", delta]) == 0
        out, err = capsys.readouterr()
        assert out.count("should be well below 1/n") == weak
        assert [line[:33] for line in err.splitlines()] == ["WARNING: No step of the list scal"]


def test_the_model_is_found_in_the_folder_of_its_run(folder, capsys):
    assert run(["train", "t.csv", "--schema", "s.yaml", "--out", "here"]) == 0
    for place in ("here", "here/model", "here/model/model.json"):
        assert run(["predict", place, "t.csv", "--out", "p.csv"]) == 0
    assert "wrote p.csv" in capsys.readouterr().out
    assert run(["--version"]) == 0 and run([]) == 2


def test_no_message_holds_a_value_of_a_record(folder, capsys, monkeypatch):
    """Whatever breaks after the data is open, only one fixed sentence leaves."""
    from prepriv.runs import train as module

    def explode(plan, table, *_args, **_kwargs):
        raise RuntimeError(f"oops: {table.block(0, 2)} SECRET-JOB")

    monkeypatch.setattr(module, "execute", explode)
    assert run(["train", "t.csv", "--schema", "s.yaml"]) == 70
    captured = capsys.readouterr()
    assert "SECRET" not in captured.err + captured.out and len(captured.err.splitlines()) == 1


@pytest.mark.parametrize(
    "command", ["", "train", "plan", "predict", "demo", "schema", "ledger", "validate", "report"]
)
def test_help(command, capsys):
    assert run([*command.split(), "--help"]) == 0
    assert "Usage" in capsys.readouterr().out


def test_demo_as_a_process(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "prepriv", "demo", "--out", str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for word in ("ε = ", "add-or-remove-one", "What was paid for what", "without privacy"):
        assert word in done.stdout
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == ["model", "report.html", "report.json"]
    assert pq is not None


def test_weights_of_predictions_are_free_after_training_too(folder, capsys):
    assert run(["train", "t.csv", "--schema", "s.yaml", "--epsilon", "3"]) == 0
    never = ["predict", "run/model", "t.csv", "--class-weight"]
    capsys.readouterr()
    for one in Model.load("run/model").domain.classes:
        assert run([*never, f"{{{one!r}: 1e9}}"]) == 0
        assert {line.split(",")[0] for line in capsys.readouterr().out.split("\n")[1:-1]} == {str(one)}
    assert run([*never, "balanced"]) == 2 and "part of ε" in capsys.readouterr().err
    assert run([*never, "{nobody: 3}"]) == 2 and "not a declared class" in capsys.readouterr().err
    for nothing in ("", "null", "5"):
        assert run([*never, nothing]) == 2 and "weights of classes" in capsys.readouterr().err


def test_a_key_stands_beside_each_prediction_where_it_is_asked_for(folder, capsys):
    assert run(["train", "t.csv", "--schema", "s.yaml"]) == 0
    table = pd.read_csv("t.csv")
    table.assign(key=[f"k{i}" for i in range(len(table))]).to_csv("keyed.csv", index=False)
    made = ["predict", "run/model", "keyed.csv", "--keep", "key"]
    for more in ([], ["--proba"]):
        assert run([*made, *more, "--out", "p.csv"]) == 0
        assert pd.read_csv("p.csv").key.tolist() == [f"k{i}" for i in range(len(table))]
    assert (
        run(["predict", "run/model", "keyed.csv", "--out", "p.csv"]) == 2
    )  # one of its columns is not written by predict
    assert "--keep" in capsys.readouterr().err
    assert run([*made, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["key"][:2] == ["k0", "k1"]
    assert run(["predict", "run/model", "keyed.csv", "--keep", "kye"]) == 2
    assert "'kye'" in capsys.readouterr().err
    assert run(["predict", "run/model", "sqlite:///t.db"]) == 2
    assert "a query" in capsys.readouterr().err


def test_cells_that_the_model_cannot_read_are_named_beside_the_predictions(folder, capsys):
    """The same loan with decimal commas was "good" where it was "bad", without a word."""
    assert run(["train", "t.csv", "--schema", "s.yaml"]) == 0
    table = pd.read_csv("t.csv", dtype=str)
    assert run(["predict", "run/model", "t.csv"]) == 0
    capsys.readouterr()
    table.loc[:2, "age"] = "forty"
    table.to_csv("odd.csv", index=False)
    assert run(["predict", "run/model", "odd.csv"]) == 0
    told = capsys.readouterr().err
    assert "3 of 600 in 'age'" in told and "`prepriv validate odd.csv --model run/model --no-labels`" in told
    assert run(["validate", "odd.csv", "--model", "run/model", "--no-labels", "--json"]) == 0
    age = next(line for line in json.loads(capsys.readouterr().out)["columns"] if line["column"] == "age")
    assert (int(age["missing"]), int(age["no number"])) == (14, 3)  # of 15 gaps one was overwritten
    assert (
        run(["validate", "t.csv", "--model", "run/model"]) == 0
    )  # with the labels, by their name in the model
    assert "income" in capsys.readouterr().out
    for which in ([], ["--model", "run/model", "--schema", "s.yaml"]):
        assert run(["validate", "t.csv", *which]) == 2
        assert "--schema or --model" in capsys.readouterr().err
    Path("semi.csv").write_text(Path("t.csv").read_text().replace(",", ";"))
    assert run(["predict", "run/model", "semi.csv", "--keep", "key"]) == 2
    assert "separated by ';'" in capsys.readouterr().err


def test_numbers_outside_their_bounds_are_counted_beside_the_predictions(folder, capsys):
    """200 of 200 heights in cm where the schema declares metres were cut without a word, and 38 predictions changed."""
    assert run(["train", "t.csv", "--schema", "s.yaml"]) == 0
    table = pd.read_csv("t.csv").fillna({"age": 50.0})
    n = len(table)
    capsys.readouterr()
    for changed, loud in ((n, True), (n // 4, True), (2, False)):
        odd = table.copy()
        odd.loc[: changed - 1, "age"] = 9999.0
        odd.to_csv("odd.csv", index=False)
        assert run(["predict", "run/model", "odd.csv"]) == 0
        told = capsys.readouterr().err
        assert f"{changed:,} of {n:,} in 'age'" in told and ("WARNING" in told) == loud
        assert "in 'job'" in told  # other kinds are said as well
    assert run(["predict", "run/model", "t.csv", "--out", "p.csv"]) == 0
    told = capsys.readouterr().err
    assert "1 of 585" in told and "WARNING" not in told and "private rows" in told


def test_categories_in_another_spelling_are_a_warning(folder, capsys):
    """190 of 199 cells said No where the schema declares no."""
    assert run(["train", "t.csv", "--schema", "s.yaml"]) == 0
    table = pd.read_csv("t.csv").fillna({"age": 50.0})
    for job, loud in (("Clerk", True), ("clerk", False)):
        table.assign(job=[job] * 595 + ["other"] * 5).to_csv("odd.csv", index=False)
        capsys.readouterr()
        assert run(["predict", "run/model", "odd.csv"]) == 0
        told = capsys.readouterr().err
        assert ("WARNING: cells that are not as declared: 595 of 600 in 'job'" in told) == loud
        assert ("adds for `other` and `missing` is noise alone" in told) == loud
    table.assign(job="clerk").to_csv("odd.csv", index=False)
    assert run(["predict", "run/model", "odd.csv"]) == 0
    assert "is noise alone" not in capsys.readouterr().err


def test_empty_cells_are_counted_beside_the_predictions(folder, capsys):
    """Incomes that were empty in all 100 rows were read as 95,000, and a column of "NA" as its middle, without a word."""
    imputed = "  - {step: MeanImputer, pay: sensitivity, missing: {age: 0.1}}\n"
    Path("s.yaml").write_text(SCHEMA.replace(", missing: impute", "").replace(imputed, ""))
    assert run(["train", "t.csv", "--schema", "s.yaml"]) == 0
    table = pd.read_csv("t.csv", dtype=str).fillna({"age": "50"})
    for cell in ("", "NA"):
        odd = table.assign(age=cell, job=[cell] * 7 + ["clerk"] * 593)
        odd.to_csv("odd.csv", index=False)
        capsys.readouterr()
        assert run(["predict", "run/model", "odd.csv", "--json"]) == 0
        told, err = capsys.readouterr()
        loud, quiet = err.splitlines()[:2]
        assert loud.startswith("WARNING") and "600 of 600 in 'age' (read as 50)" in loud and "job" not in loud
        assert "WARNING" not in quiet and "7 of 600 in 'job' (read as missing)" in quiet
        cells = json.loads(told)["cells_read_otherwise"]
        assert [(c["column"], c["count"], c["warn"]) for c in cells] == [
            ("age", 600, True),
            ("job", 7, False),
        ]
    table.assign(job="clerk").to_csv("odd.csv", index=False)
    assert run(["predict", "run/model", "odd.csv", "--json"]) == 0
    assert [c["kind"] for c in json.loads(capsys.readouterr().out)["cells_read_otherwise"]] == [
        "numbers outside their declared bounds are read as the nearest bound"
    ]


def test_gaps_that_are_declared_are_no_warning_and_no_column_with_many_is_hidden(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    names = [f"x{j}" for j in range(9)]
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.random((60, 9)), columns=names).assign(y=["a", "b"] * 30)
    table.to_csv("t.csv", index=False)
    columns = {name: Numeric(0, 1, missing="impute" if name == "x0" else "midpoint") for name in names}
    model = PrivateClassifier(Domain(columns, classes=["a", "b"]), epsilon=5, delta=1e-4).fit(
        table[names], table["y"]
    )
    model.model_.save("m")
    table.loc[:39, "x0"] = np.nan  # two in three, where gaps are declared
    for j in range(1, 8):
        table.loc[: 10 + j, f"x{j}"] = np.nan
    table.loc[:2, "x8"] = np.nan
    table.to_csv("t.csv", index=False)
    assert run(["predict", "m", "t.csv"]) == 0
    loud, quiet, *_ = capsys.readouterr().err.splitlines()
    assert loud.startswith("WARNING") and loud.index("'x7'") < loud.index("'x3'") < loud.index("'x2'")
    assert "'x1'" not in loud  # 12 of 60 are not above one in five
    assert quiet.index("'x0'") < quiet.index("'x1'") < quiet.index("'x8'") and "WARNING" not in quiet


def test_predictions_replace_earlier_ones_and_nothing_else(folder, capsys):
    """They once replaced the table, a model that a ledger was charged for, and the ledger itself."""
    assert run(["train", "t.csv", "--schema", "s.yaml"]) == 0
    assert run(["predict", "run/model", "t.csv", "--out", "p.csv"]) == 0
    assert run(["predict", "run/model", "t.csv", "--out", "p.csv", "--proba"]) == 0
    (folder / "L.db").write_bytes(b"SQLite format 3\0")
    capsys.readouterr()
    for precious in ("t.csv", "t.parquet", "run/model/model.json", "L.db", "s.yaml"):
        before = (folder / precious).read_bytes()
        assert run(["predict", "run/model", "t.csv", "--out", precious]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and ("not overwritten" in err or "plain CSV" in err), err
        assert (folder / precious).read_bytes() == before
    for name in ("q.csv.gz", "q.parquet", "q.tsv"):
        assert run(["predict", "run/model", "t.csv", "--out", name]) == 2
        assert "plain CSV" in capsys.readouterr().err and not (folder / name).exists()


def test_a_file_of_another_name_is_refused_before_the_charge(folder, capsys):
    (folder / "t.txt").write_bytes((folder / "t.csv").read_bytes())
    ledger = ["ledger", "create", "L.db", "--dataset", "d", "--epsilon", "9", "--delta", "1e-3"]
    assert run(ledger) == 0
    charged = ["--schema", "s.yaml", "--rows", "600", "--ledger", "L.db", "--delta", "1e-4"]
    assert run(["train", "t.txt", *charged]) == 2
    assert "the name must end in .csv" in capsys.readouterr().err
    assert run(["ledger", "show", "L.db"]) == 0
    assert "charged" not in capsys.readouterr().out and not (folder / "run").exists()
