"""A declared column that a table does not have is refused before anything is charged or read, by every command and in Python, for every
container that knows the names of its columns.

Names are public by the schema. One line names the missing column and the closest one that is there. No cell of a file without a header
line is told.
"""

from __future__ import annotations

import dataclasses
import os
import sqlite3
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import yaml

import prepriv
from prepriv import Budget, Domain, Numeric, PrivateClassifier, PrivateRegressor, PrivateTransformer
from prepriv import preprocessing as pre
from prepriv.cli import run
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.learners.targets import SquaredError
from prepriv.ledger import Ledger
from prepriv.runs import odometer
from prepriv.runs.odometer import Odometer
from prepriv.tables.readers import BadData, closest, lacks, no_label, not_declared
from prepriv.tables.stream import Files

duckdb = pytest.importorskip("duckdb")

N = 60
X = np.random.default_rng(8).random((N, 3))
Y = (X[:, 0] > 0.5).astype(int)
GOOD = pa.table({"height": X[:, 0], "weight": X[:, 1], "waist": X[:, 2], "income": Y})
WRONG = {  # the names of the table, and what is missing, with its closest
    "a letter": (["height", "wieght", "waist", "income"], "weight", "wieght"),
    "capitals and a space": ([" Height", "WEIGHT", "Waist", "Income"], "height", " Height"),
    "the label": (["height", "weight", "waist", "incomes"], "income", "incomes"),
}
COLUMNS = {name: Numeric(0, 1) for name in ("height", "weight", "waist")}
DOMAIN = Domain(COLUMNS, classes=[0, 1], label="income", n=N)
TARGET = Domain(COLUMNS, target=Numeric(0, 1), label="income", n=N)
DESCENT = GradientDescent(Logistic(), steps=3, learning_rate=0.5, clip_norm=1.0)
SQUARES = GradientDescent(SquaredError(), steps=3, learning_rate=0.5, clip_norm=1.0)
SCHEMA = yaml.safe_dump(
    {
        "label": {"name": "income", "classes": ["0", "1"]},
        "columns": {name: {"type": "numeric", "low": 0, "high": 1} for name in COLUMNS},
        "steps": [],
        "learner": {"kind": "GradientDescent", "steps": 3, "clip_norm": 1.0},
    }
)


@pytest.fixture(scope="module")
def fitted():
    return PrivateClassifier(DOMAIN, steps=(), learner=DESCENT).fit(GOOD.drop_columns(["income"]), Y)


@pytest.fixture
def folder(tmp_path, monkeypatch, fitted):
    """A ledger, a model and a schema, where reading a record of a file fails the test."""

    def read(*_):
        raise AssertionError("a record was read")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Files, "parts", read)
    monkeypatch.setattr(odometer, "_PROCESS", Odometer())
    Ledger.create("L.db", "people", epsilon=1000, delta=0.9)
    Path("S.yaml").write_text(SCHEMA)
    fitted.model_.save("run/model")
    return tmp_path


def nothing_charged():
    return Ledger.open("L.db").entries() == () and prepriv.spent().fits == ()


def csv(table):
    pa.csv.write_csv(table, "t.csv")
    return "t.csv"


def parquet(table):
    pq.write_table(table, "t.parquet")
    return "t.parquet"


def two_files(table):
    """The second one alone lacks the column."""
    Path("t").mkdir()
    pa.csv.write_csv(GOOD, "t/1.csv")
    pa.csv.write_csv(table, "t/2.csv")
    return "t"


def dataset(table):
    return ds.dataset(parquet(table))


IN_MEMORY = {"arrow": lambda t: t, "pandas": lambda t: t.to_pandas(), "polars": pl.from_arrow}
STREAMS = {
    "csv": csv,
    "parquet": parquet,
    "two files": two_files,
    "dataset": dataset,
    "reader": lambda t: pa.RecordBatchReader.from_batches(t.schema, t.to_batches()),
    "function": lambda t: lambda: t.to_reader(),
    "lazy": lambda t: pl.from_arrow(t).lazy(),
    "duckdb": lambda t: duckdb.from_arrow(t),
}
TRAINED = {
    "classifier": lambda x, y, **o: PrivateClassifier(DOMAIN, steps=(), learner=DESCENT, **o).fit(x, y),
    "holdout": lambda x, y, **o: PrivateClassifier(DOMAIN, steps=(), learner=DESCENT, holdout=0.3, **o).fit(
        x, y
    ),
    "regressor": lambda x, y, **o: PrivateRegressor(TARGET, steps=(), learner=SQUARES, **o).fit(x, y),
    "transformer": lambda x, y, **o: PrivateTransformer(DOMAIN, [pre.Center(payment=Budget())], **o).fit(x),
    "choose": lambda x, y, **o: prepriv.choose(
        [DESCENT, dataclasses.replace(DESCENT, steps=4)], x, y, DOMAIN, **o
    ),
}
DESCRIBED = {
    "describe": lambda t, **o: prepriv.describe(t, DOMAIN, **o),
    "ask": lambda t, **o: prepriv.ask(t, DOMAIN, ["mean(height)", "mean(weight)", "mean(waist)"], **o),
}


def refused(call, missing, near):
    with pytest.raises(ValueError) as told:
        call()
    said = str(told.value)
    assert repr(missing) in said and "\n" not in said
    assert near is None or repr(near) in said
    assert nothing_charged()


@pytest.mark.parametrize(
    ("container", "wrong"),
    [(name, "a letter") for name in IN_MEMORY | STREAMS]
    + [(name, "capitals and a space") for name in ("csv", "pandas")],
)
@pytest.mark.parametrize("entry", [*TRAINED, "evaluate", *DESCRIBED])
def test_in_python_nothing_is_charged_or_read(entry, container, wrong, folder, fitted):
    names, missing, near = WRONG[wrong]
    made = (IN_MEMORY | STREAMS)[container]
    if entry in DESCRIBED:
        data = made(GOOD.rename_columns(names))
        call = lambda: DESCRIBED[entry](data, epsilon=1.0, delta=1e-6, ledger="L.db")  # noqa: E731
    elif entry == "choose" and container not in IN_MEMORY:
        pytest.skip("candidates are fitted on tables in memory")
    else:
        table = GOOD.rename_columns([*names[:3], "income"])
        held = container in IN_MEMORY
        data, y = made(table.drop_columns(["income"]) if held else table), Y if held else "income"
        fit = fitted.evaluate if entry == "evaluate" else TRAINED[entry]
        more = {"n": N} if entry == "evaluate" else {}
        call = lambda: fit(data, y, epsilon=1.0, delta=1e-6, ledger="L.db", **more)  # noqa: E731
    refused(call, missing, near)


@pytest.mark.parametrize("container", STREAMS)
def test_a_label_that_is_not_there_is_found_before_too(container, folder):
    names, missing, near = WRONG["the label"]
    data = STREAMS[container](GOOD.rename_columns(names))
    refused(lambda: TRAINED["classifier"](data, "income", ledger="L.db"), missing, near)


def test_a_sketch_and_a_draft(folder):
    names, missing, near = WRONG["a letter"]
    table = GOOD.rename_columns(names)
    refused(lambda: prepriv.sketch(table, DOMAIN, epsilon=30.0, ledger="L.db"), missing, near)
    table = GOOD.rename_columns(WRONG["the label"][0])
    refused(lambda: prepriv.sketch(table, DOMAIN, epsilon=30.0, ledger="L.db"), "income", "incomes")
    refused(lambda: Domain.draft(table, epsilon=30.0, label="Incomes", ledger="L.db"), "Incomes", "incomes")


def database(table):
    with duckdb.connect("t.duckdb") as opened:
        opened.from_arrow(table).create("t")
    Path("q.sql").write_text("SELECT * FROM t")
    return "duckdb:///t.duckdb", "--query", "q.sql"


def sqlite(table):
    opened = sqlite3.connect("t.db")
    names = ", ".join(f'"{name}" REAL' for name in table.column_names)
    opened.execute(f"CREATE TABLE t ({names})")
    opened.commit()
    opened.close()
    Path("q.sql").write_text("SELECT * FROM t")
    return "sqlite:///t.db", "--query", "q.sql"


def reader(table):
    Path("my_reader.py").write_text(
        f"import pyarrow as pa\nSCHEMA = pa.schema([(n, pa.float64()) for n in {table.column_names}])\n"
        "def rows():\n    return pa.RecordBatchReader.from_batches(SCHEMA, iter(()))\n"
    )
    sys.modules.pop("my_reader", None)
    return ("reader:my_reader:rows",)


NAMED = {
    "csv": lambda t: (csv(t),),
    "parquet": lambda t: (parquet(t),),
    "two files": lambda t: (two_files(t),),
    "duckdb": database,
    "sqlite": sqlite,
    "reader": reader,
}
COMMANDS = {
    "train": (["train"], ["--schema", "S.yaml", "--out", "new"]),
    "train --holdout": (["train"], ["--schema", "S.yaml", "--out", "new", "--holdout", "0.3"]),
    "describe": (["describe"], ["--schema", "S.yaml"]),
    "ask": (
        ["ask"],
        ["mean(height)", "mean(weight)", "mean(waist)", "count by income", "--schema", "S.yaml"],
    ),
    "evaluate": (["evaluate", "run/model"], []),
    "sketch": (["sketch"], ["--schema", "S.yaml", "--out", "sketched"]),
}


@pytest.mark.parametrize(
    ("container", "wrong"),
    [(name, "a letter") for name in NAMED]
    + [("csv", "the label"), ("csv", "capitals and a space"), ("duckdb", "the label")],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_ends_with_bad_input_and_one_line(command, container, wrong, folder, capsys, monkeypatch):
    monkeypatch.syspath_prepend(os.getcwd())
    names, missing, near = WRONG[wrong]
    before, after = COMMANDS[command]
    data, *query = NAMED[container](GOOD.rename_columns(names))
    spend = ["--epsilon", "100", "--delta", "1e-6", "--rows", str(N), "--ledger", "L.db"]
    assert run([*before, data, *after, *query, *spend]) == 2  # 70 once it is charged
    last = capsys.readouterr().err.splitlines()[-1]
    assert repr(missing) in last and repr(near) in last
    assert nothing_charged()


@pytest.mark.parametrize("command", COMMANDS)
def test_no_cell_of_a_file_without_a_header_line_is_told(command, folder, capsys):
    before, after = COMMANDS[command]
    Path("t.csv").write_text("heights,weighty,waists,incomes\n" + ".5,.5,.5,1\n" * N)
    spend = ["--epsilon", "100", "--delta", "1e-6", "--rows", str(N), "--ledger", "L.db"]
    assert run([*before, "t.csv", *after, *spend]) == 2
    said = "".join(capsys.readouterr())
    assert not [cell for cell in ("heights", "weighty", "waists", "incomes") if cell in said]
    assert nothing_charged()


def test_predict_names_the_closest_column(fitted):
    names, missing, near = WRONG["a letter"]
    with pytest.raises(BadData, match=f"{missing!r}.*{near!r}"):
        fitted.predict(GOOD.rename_columns(names).to_pandas())


def test_what_is_closest():
    assert closest("hours_per_week", ["age", "Hours per week"]) == "Hours per week"
    assert closest("age", ["wage", "stage", "x"]) == "wage"
    assert closest("age", ["race", "x"]) is None
    wanted = ["age1", "age2", "pay"]
    said = lacks("the table", "age2", wanted, ["age1", "pay", "age_2", "other"])
    assert "'age_2'" in said and "'age1'" not in said
    assert "'payd'" not in lacks("the table", "pay", wanted, ["payd", "x", "y"])  # it may be a cell
    assert closest("f1", [f"feature {j}" for j in range(10**4)]) is None


@pytest.mark.parametrize(
    ("wanted", "cells"),
    [
        (["0", "1", "2", "10", "label"], ["0", "1", "2", "107", "no"]),
        (["0", "1", "2", "10"], ["0", "1", "2", "-10"]),
        (["0", "10", "age"], ["0", "1.0", "35"]),
        (["0", "1", "2", "city"], ["0", "1", "2", "citya"]),
    ],
)
def test_no_cell_is_told_by_numbers_of_a_file_without_a_header_line(wanted, cells):
    """Declared names that are numbers are cells of many records, so they do not show that there is a header line."""
    missing = next(name for name in wanted if name not in cells)
    said = lacks("the table", missing, wanted, cells).replace(repr(missing), "")
    assert "closest name there is" not in said
    assert not [cell for cell in cells if repr(cell) in said]


def test_a_number_is_no_name_of_a_label():
    assert "'-10'" not in no_label("10", ["0", "1", "-10"])
    assert "'state'" in no_label("State", ["age", "state"])


def test_where_no_name_is_close_those_of_a_header_line_are_listed(folder, capsys):
    """`price` for `monthly_price`: the answer was "`prepriv validate` tells", from `validate` itself, too."""
    names = ["height", "weight", "w", "income", *(f"x{j}" for j in range(12))]
    table = pa.table({name: X[:, 0] for name in names[:3]} | {"income": Y} | {n: Y for n in names[4:]})
    with pytest.raises(BadData) as found:
        PrivateClassifier(DOMAIN, steps=(), learner=DESCENT).fit(table.drop_columns(["income"]), Y)
    assert "'w', 'x0'" in str(found.value) and "'x9'" not in str(found.value) and "3 more" in str(found.value)
    assert run(["validate", csv(table), "--schema", "S.yaml"]) == 2
    said = capsys.readouterr().err
    assert "'w', 'x0'" in said and "prepriv validate" not in said
    Path("t.csv").write_text("1,2,3,4\n" + ".5,.5,.5,1\n" * N)
    assert run(["validate", "t.csv", "--schema", "S.yaml"]) == 2
    said = capsys.readouterr().err
    assert "header line" in said and "prepriv validate" not in said and "'2'" not in said
    assert closest("weight", ["w"]) is None and "all the columns" in not_declared([])
    assert "'y'" not in lacks(
        "the table", "income", ["height", "income"], ["height", "x", "y"]
    )  # one name may be a cell
    assert "'w'" not in lacks(
        "the table", "income", ["height", "weight", "income"], ["height", "weight", "9", "w"]
    )
