"""Files that are written over, models that never load, outputs that cannot be printed: found by an audit."""

from __future__ import annotations

import copy
import datetime
import hashlib
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from prepriv import Categorical, Domain, Numeric, PrivateClassifier, Public
from prepriv.cli import run
from prepriv.commands.exits import Stop
from prepriv.commands.outputs import reserved_run
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.ledger import Ledger
from prepriv.preprocessing import Center
from prepriv.release.model import Model
from prepriv.tables.readers import BadData
from prepriv_papers.folder import reproduction_folder

X = np.random.default_rng(0).uniform(size=(80, 2))
Y = (X[:, 0] > 0.5).astype(int)
GD = GradientDescent(Logistic(), steps=3, weight_bound=5.0)
SCHEMA = """label: {name: y, classes: [no, "yes"]}
columns:
  a: {type: numeric, low: 0, high: 1}
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{x:.3f},{'yes' if y else 'no'}" for x, y in zip(X[:, 0], Y)]
    (tmp_path / "d.csv").write_text("\n".join(["a,y", *lines]) + "\n")
    (tmp_path / "s.yaml").write_text(SCHEMA)
    Ledger.create("l.db", "d", epsilon=10.0, delta=1e-3)
    return tmp_path


def train(*more):
    return run(["train", "d.csv", "--schema", "s.yaml", "--rows", "80", *more])


def charges():
    return len(Ledger.open("l.db").entries())


def test_an_output_that_has_no_character_for_a_text_gets_its_code(table):
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "OMP_NUM_THREADS": "1"}
    command = ["train", "d.csv", "--schema", "s.yaml", "--rows", "80", "--ledger", "l.db", "--out", "o"]
    done = subprocess.run([sys.executable, "-m", "prepriv", *command], env=env, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert rb"\u03b5 = " in done.stdout or b"= " in done.stdout
    assert charges() > 0 and Model.load("o").private


def test_an_error_behind_the_charge_is_no_bad_input(table, monkeypatch, capsys):
    def fail(*_, **__):
        raise UnicodeEncodeError("ascii", "\u03b5", 0, 1, "no")

    monkeypatch.setattr("prepriv.commands.train.print_guarantee", fail)
    assert train("--ledger", "l.db", "--out", "o") == 70
    assert "charge" in capsys.readouterr().err


@pytest.mark.parametrize(
    "classes",
    [[2**63, 1], [-(2**63) - 1, 1], [float("inf"), 1], [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]]
    + [
        [np.datetime64("2020-01-01"), np.datetime64("2021-01-01", "ns")],
        [b"a", b"b"],
        [(1,), (2,)],
        [None, 1],
    ],
)
def test_classes_that_no_model_could_be_loaded_with_are_refused(classes):
    with pytest.raises(ValueError, match="classes must"):
        Domain.box(0, 1, features=2, classes=classes)


def test_names_of_columns_are_texts():
    with pytest.raises(ValueError, match="columns must be texts"):
        Domain({0: Numeric(0, 1), 1: Numeric(0, 1)}, classes=[0, 1])


@pytest.mark.parametrize(
    "classes",
    [np.unique(Y), list(np.unique(Y)), np.array([False, True]), np.array(["a", "b"]), [np.float32(0.1), 2]]
    + [[True, False], ["a", 1], [2**63 - 1, -(2**63)]],
)
def test_classes_of_numpy_are_those_of_python_and_a_model_loads(classes, tmp_path):
    domain = Domain.box(0, 1, features=2, classes=classes)
    clf = PrivateClassifier(domain, steps=[], learner=GD).fit(X, np.array(domain.classes, object)[Y])
    loaded = Model.load(clf.model_.save(tmp_path))
    assert loaded.domain.classes == domain.classes
    assert not any(isinstance(c, np.generic) for c in domain.classes)


def test_categories_of_numpy_are_those_of_python(tmp_path):
    column = Categorical(np.array([1, 2]))
    assert column.categories == (1, 2) and type(column.categories[0]) is int
    domain = Domain({"a": Numeric(0, 1), "b": column}, classes=[0, 1])
    rows = [[x, y + 1] for x, y in zip(X[:, 0], Y)]
    clf = PrivateClassifier(domain, steps=[], learner=GD).fit(rows, Y)
    assert Model.load(clf.model_.save(tmp_path)).domain == domain.with_n(len(Y))


def test_a_public_test_without_rows_is_refused_before_the_charge(table, capsys):
    (table / "e.csv").write_text("a,y\n")
    assert train("--ledger", "l.db", "--out", "o", "--public-test", "e.csv") == 2
    assert "e.csv has no rows" in capsys.readouterr().err
    assert charges() == 0 and not (table / "o").exists()


def test_the_ledger_books_the_bytes_that_were_written(table):
    assert train("--ledger", "l.db", "--out", "o") == 0
    digest = hashlib.sha256((table / "o/model/model.json").read_bytes()).hexdigest()
    assert digest in (table / "l.db").read_bytes().decode("latin-1")


def test_the_table_of_an_audit_replaces_only_such_a_table(table, capsys):
    command = ["audit", "sensitivity", "Center", "--seconds", "0.01", "--table"]
    for mine in ("l.db", "d.csv"):
        before = (table / mine).read_bytes()
        assert run([*command, mine]) == 2
        assert "is not overwritten" in capsys.readouterr().err and (table / mine).read_bytes() == before
    assert run([*command, "t.md"]) == run([*command, "t.md"]) == 0


@pytest.mark.parametrize(
    "name", ["mixture-tables", "preprocessing-tables", "preprocessing-figures", "dpsgd-f"]
)
def test_a_reproduction_replaces_no_file_of_somebody_else_s(table, name, capsys):
    (table / "o").mkdir()
    (table / "o/table_1.csv").write_text("mine")
    assert run(["reproduce", name, "--out", "o"]) == 2
    assert "not overwritten" in capsys.readouterr().err
    assert [p.name for p in (table / "o").iterdir()] == ["table_1.csv"]


def test_a_reproduction_replaces_its_own_files(table):
    (table / "other").write_text("")
    with pytest.raises(Stop):
        reproduction_folder(table / "other")
    out = reproduction_folder(table / "o")
    (out / "numbers.json").write_text("{}")
    assert reproduction_folder(out) == out


def test_a_folder_in_which_a_run_is_under_way_is_refused_before_the_charge(table, capsys):
    with reserved_run(table / "o", True):
        assert train("--ledger", "l.db", "--out", "o", "--overwrite") == 2
        assert "another run is writing" in capsys.readouterr().err
    assert charges() == 0 and not (table / "o").exists()
    assert train("--ledger", "l.db", "--out", "o") == 0
    assert sorted(p.name for p in (table / "o").iterdir()) == ["model", "report.html", "report.json"]


def test_the_report_of_a_paid_run_is_protected_without_its_model(table, capsys):
    assert train("--out", "o") == 0
    (table / "o/model").rename(table / "kept")
    before = (table / "o/report.json").read_bytes()
    assert train("--out", "o", "--epsilon", "inf") == 2
    assert "--overwrite" in capsys.readouterr().err and (table / "o/report.json").read_bytes() == before
    assert train("--out", "o", "--epsilon", "inf", "--overwrite") == 0
    assert train("--out", "o", "--epsilon", "inf") == 0  # nothing was paid for that one


def test_a_clone_keeps_the_public_table_it_was_declared_with():
    clf = PrivateClassifier(Domain.box(0, 1, features=2, classes=[0, 1]), steps=[Center(payment=Public(X))])
    for copied in (clone(clf), copy.deepcopy(clf), copy.copy(clf)):
        with pytest.raises(ValueError, match="private"):
            copied.fit(X, Y)


def test_two_columns_of_one_name_are_a_sentence_without_the_name(table, capsys):
    (table / "h.csv").write_text("4711,4711,high\n17,18,low\n")
    assert run(["schema", "init", "h.csv"]) == 2
    err = capsys.readouterr().err
    assert "same name" in err and "4711" not in err and len(err.splitlines()) == 1
    frame = pd.DataFrame(np.c_[X, Y], columns=["x0", "4711", "4711"])
    clf = PrivateClassifier(Domain.box(0, 1, features=3, classes=[0, 1]), steps=[], learner=GD)
    with pytest.raises(BadData, match="same name") as caught:
        clf.fit(frame, Y)
    assert "4711" not in str(caught.value)


def test_a_draft_loads(table, capsys):
    (table / "o.csv").write_text("age,job,big,y\n1,other,1,0\n2,a,1e31,1\n3,b,2,0\n")
    assert run(["schema", "init", "o.csv", "--out", "o.yaml"]) == 0
    assert "'big': left out" in capsys.readouterr().err
    assert run(["validate", "o.csv", "--schema", "o.yaml"]) == 0


@pytest.mark.parametrize(
    "text", ["a,y\n1,0\n2,0\n", "a,y\n1e31,0\n1,1\n", "job,job=a,y\na,1,0\nb,2,1\n", "a,y\n1,\n2,\n"]
)
def test_a_draft_that_would_not_load_is_refused_at_init(table, capsys, text):
    (table / "o.csv").write_text(text)
    assert run(["schema", "init", "o.csv", "--out", "o.yaml"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1 and not (table / "o.yaml").exists()


@pytest.mark.parametrize(
    "step", ["{step: [Center], pay: budget}", f"{{step: Center, pay: budget, share: {'9' * 400}}}"]
)
def test_a_step_of_a_wrong_type_is_bad_input(table, capsys, step):
    (table / "f.yaml").write_text(SCHEMA + f"steps:\n  - {step}\n")
    assert run(["plan", "f.yaml", "--rows", "80"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("program", ["def f(:", "import sys; sys.exit(0)", "1 / 0", "raise OSError('x')"])
def test_a_program_that_ends_early_is_bad_input(table, capsys, program):
    (table / "p.py").write_text(program)
    assert run(["audit", "replay", "p.py"]) == 2
    assert "does not run to its end" in capsys.readouterr().err


def test_a_replay_says_what_is_wrong_with_its_arguments(table, capsys):
    (table / "n.csv").write_text("b,y\n1,no\n")
    for more in (["--data", "n.csv"], ["--missing", "nan"], ["--missing", "5"], ["--missing", "-1"]):
        assert run(["audit", "replay", "s.yaml", "--pairs", "2", *more]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_predictions_need_somewhere_to_go(table, capsys, monkeypatch):
    assert train("--out", "o") == 0
    monkeypatch.setattr(sys, "stdout", None)
    assert run(["predict", "o", "d.csv"]) == 2


@pytest.mark.parametrize(
    "old, new", [("label:", "rows: true\nlabel:"), ("low: 0", "low: true"), ("high: 1", "high: true")]
)
def test_a_truth_value_is_no_number_of_a_schema(table, capsys, old, new):
    (table / "t.yaml").write_text(SCHEMA.replace(old, new))
    assert run(["plan", "t.yaml", *([] if "rows" in new else ["--rows", "80"])]) == 2
    assert "must be a number; got true" in capsys.readouterr().err
