"""Commands on a query to a database, and on a reader from outside: one place opens them all."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from prepriv.cli import run
from prepriv.commands.data import opened
from prepriv.commands.exits import Stop
from prepriv.ledger import Ledger
from prepriv.tables.outside import ArrowReaders
from prepriv.tables.stream import Files

DB = "sqlite:///people.db"
SAID = 'a record is a row of the query "SELECT a, job, y FROM people", which no cell makes fail'
SCHEMA = """
label: {name: y, classes: [no, yes]}
columns:
  a: {type: numeric, low: 0, high: 1}
  job: {type: categorical, categories: [clerk, smith]}
steps: linear
learner: {kind: GradientDescent, steps: 2}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """600 rows in a database, queries, a schema and a ledger."""
    monkeypatch.chdir(tmp_path)
    rows = [
        (float(a), ["clerk", "smith"][i % 2], "yes" if a > 0.5 else "no")
        for i, a in enumerate(np.random.default_rng(3).random(600))
    ]
    with closing(sqlite3.connect("people.db")) as made:
        made.execute("CREATE TABLE people (a, job, y)")
        made.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
        made.commit()
    Path("q.sql").write_text("-- all\nSELECT a, job, y\nFROM people;\n")
    Path("two.sql").write_text("SELECT a, job, y FROM people; DELETE FROM people")
    Path("writes.sql").write_text("DELETE FROM people")
    Path("lacks.sql").write_text("SELECT a, y FROM people")
    Path("no.sql").write_bytes(b"SELECT '\xff'")
    Path("S.yaml").write_text(SCHEMA)
    Ledger.create("L.db", "people", epsilon=12, delta=1e-2)
    return tmp_path


def charges():
    return [entry.note for entry in Ledger.open("L.db").entries() if entry.kind == "charged"]


@pytest.mark.slow  # a share always runs: train and schema init below, every release in tests/tables/test_queries.py
def test_every_command_takes_a_query_and_says_what_a_record_is(folder, capsys):
    paid = ("--ledger", "L.db", "--rows", "600")
    for command in (
        ("train", DB, "--query", "q.sql", "--schema", "S.yaml", *paid),
        ("evaluate", "run", DB, "--query", "q.sql", *paid, "--epsilon", "1"),
        ("describe", DB, "--query", "q.sql", "--schema", "S.yaml", *paid, "--out", "d.html"),
        ("ask", DB, "mean(a)", "--query", "q.sql", "--schema", "S.yaml", *paid, "--out", "a.json"),
        ("sketch", DB, "--query", "q.sql", "--schema", "S.yaml", *paid, "--epsilon", "2", "--out", "s"),
        ("schema", "init", DB, "--query", "q.sql", *paid, "--epsilon", "2", "--out", "drafted.yaml"),
    ):
        assert run(list(command)) == 0, command
        err = capsys.readouterr().err
        assert "people.db" not in err
    assert len(charges()) == 6 and all(SAID in note for note in charges())
    assert SAID in json.loads(Path("run/report.json").read_text())["plan"]["guarantee"]["conditions"]
    assert SAID.split(" of ", 1)[1] in Path("drafted.yaml").read_text().replace("\n", " ").replace("  ", " ")
    assert run(["validate", DB, "--query", "q.sql", "--schema", "S.yaml"]) == 0
    assert "records: 600" in capsys.readouterr().out
    assert run(["schema", "init", DB, "--query", "q.sql"]) == 0  # the draft that leaks


@pytest.mark.parametrize(
    "data, query, why",
    [
        (DB, "two.sql", "one statement"),
        (DB, "writes.sql", "must be one that reads"),
        (DB, "lacks.sql", "no column 'job'"),
        (DB, "no.sql", "not UTF-8"),
        (DB, "gone.sql", "cannot read gone.sql"),
        (DB, None, "--query"),
        ("people.db", "q.sql", "--query goes with a database"),
        ("sqlite:///gone.db", "q.sql", "no such file"),
        ("reader:no_such_module:rows", None, "PYTHONPATH"),
        ("reader:json:nothing", None, "has no function 'nothing'"),
    ],
)
def test_bad_input_is_refused_with_nothing_charged(folder, capsys, data, query, why):
    options = [] if query is None else ["--query", query]
    assert run(["train", data, *options, "--schema", "S.yaml", "--rows", "600", "--ledger", "L.db"]) == 2
    assert why in " ".join(capsys.readouterr().err.split()) and not charges() and not Path("run").exists()


def test_a_reader_from_outside(folder, monkeypatch, capsys):
    Path("mine_of_a_test.py").write_text(
        "import sqlite3, pyarrow as pa\n"
        "def people():\n"
        "    rows = sqlite3.connect('people.db').execute('SELECT a, job, y FROM people').fetchall()\n"
        "    return pa.table(dict(zip(['a', 'job', 'y'], map(list, zip(*rows))))).to_reader(100)\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    assert run(["train", "reader:mine_of_a_test:people", "--schema", "S.yaml"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "a record is a row of the reader that mine_of_a_test:people gives" in out
    sys.modules.pop("mine_of_a_test", None)


def test_what_data_is(folder):
    Path("parts").mkdir()
    for i in range(2):
        Path(f"parts/{i}.csv").write_text("a,job,y\n" + "0.5,clerk,no\n0.25,smith,yes\n" * 50)
    assert run(["schema", "init", "parts"]) == 0  # every command takes a folder, too
    Path("t.csv").write_text("a,job,y\n")
    assert isinstance(opened("t.csv"), Files) and isinstance(opened("reader:json:loads"), ArrowReaders)
    with pytest.raises(Stop, match="--query"):
        opened("t.csv", Path("q.sql"))
