"""Tables in databases and readers of other libraries: one hash wherever a table lives, one reading, nothing written."""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
import stat
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prepriv
from prepriv.domain import Domain
from prepriv.engines import Threads
from prepriv.engines.engine import NoRoom
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.learners.one_pass import OnePassSGD
from prepriv.ledger import Ledger
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.plans.plan import make_plan
from prepriv.plans.stored import plan_from_json
from prepriv.recipes.automatic import recipe
from prepriv.runs.run import room_for
from prepriv.runs.train import train
from prepriv.tables import spool as spools
from prepriv.tables.encoding import encode_stream, with_source
from prepriv.tables.readers import BadData
from prepriv.tables.stream import as_stream

N = 400
SQL = "SELECT a, b, job, note, y FROM t"
COLUMNS = {
    "a": prepriv.Numeric(0, 1, missing="impute"),
    "b": prepriv.Numeric(-1, 1),
    "job": prepriv.Categorical(["clerk", "smith"]),
    "note": prepriv.Text(16),
}
DOMAIN = Domain(COLUMNS, ["no", "yes"], label="y", n=N)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(7)
    a = rng.random(N)
    a[::101] = np.nan
    job = rng.choice(["clerk", "smith", None], N)
    label = np.where(np.nan_to_num(a) + (job == "smith") > 0.9, "yes", "no")
    note = rng.choice(["left early", "", "naïve \U0001f600", None], N)
    return pd.DataFrame({"a": a, "b": rng.normal(size=N), "job": job, "note": note, "y": label})


@pytest.fixture
def sqlite(frame, tmp_path):
    with closing(sqlite3.connect(tmp_path / "t.db")) as made:
        frame.to_sql("t", made, index=False)
        made.commit()
    return f"sqlite:///{tmp_path}/t.db"


@pytest.fixture
def duckdb_file(frame, tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb: pip install prepriv[duckdb]")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as made:
        made.execute("CREATE TABLE t AS SELECT * FROM frame")
    return f"duckdb:///{tmp_path}/t.duckdb"


def plan_of(data, domain=DOMAIN):
    domain = with_source(domain, data)
    learner = GradientDescent(Logistic(), steps=3)
    made = recipe(domain, n=domain.n, epsilon=1.0, delta=1e-5, steps="linear", learner=learner)
    return make_plan(domain, *made, epsilon=1.0, delta=1e-5, n=domain.n)


def released(data, labels="y", memory=1):
    """The hash of the weights, under a test's noise; with a byte of memory rows are held on disk."""
    plan = plan_of(data)
    session = NoisySession(NoiseSource.for_tests(11))
    room = room_for(plan, Threads(1, memory))
    out = train(plan, data, labels, session=session, room=room, counted=False)
    return hashlib.sha256(out.weights.tobytes()).hexdigest()


def classifier(domain=DOMAIN, **options):
    learner = GradientDescent(Logistic(), steps=2)
    return prepriv.PrivateClassifier(domain, epsilon=1.0, steps="linear", learner=learner, **options)


# --------------------------------------------------------------------------------------------- one hash


class Exported:
    """What has a stream of Arrow and nothing else, as data frames of many libraries do."""

    def __init__(self, table):
        self.table, self.asked = table, 0

    def __arrow_c_stream__(self, requested_schema=None):
        self.asked += 1
        return self.table.__arrow_c_stream__(requested_schema)


def test_one_hash_wherever_a_table_lives_in_whatever_order(frame, sqlite, tmp_path):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table, tmp_path / "t.parquet")
    want = released(frame.drop(columns="y"), frame["y"])
    assert released(tmp_path / "t.parquet") == want
    query = prepriv.Query(sqlite, SQL)
    for data, memory in [
        (query, 1),
        (prepriv.Query(sqlite, SQL + " ORDER BY note, b"), 1),
        (lambda: table.to_reader(max_chunksize=99), 1),
        (Exported(table), 1),
        (Exported(table.take(np.random.default_rng(3).permutation(N))), None),
    ]:
        assert released(data, "y", memory) == want, data
    assert released(prepriv.Query(sqlite, SQL.replace(" b,", " b + 1 AS b,")), "y") != want


def test_the_same_from_duckdb(frame, duckdb_file, tmp_path):
    import duckdb

    want = released(frame.drop(columns="y"), frame["y"])
    assert released(prepriv.Query(duckdb_file, SQL + " ORDER BY hash(b)")) == want
    with duckdb.connect(str(tmp_path / "t.duckdb"), read_only=True) as opened:
        relation = opened.sql(SQL)
        for data in (relation, relation.filter("b > -99"), lambda: opened.sql(SQL).to_arrow_reader(100)):
            assert released(data) == want
        assert released(relation, "y", None) == want  # asked again


@pytest.mark.slow
def test_the_same_from_an_expression_of_ibis(frame, sqlite):
    ibis = pytest.importorskip("ibis", reason="needs ibis: pip install 'ibis-framework[sqlite]'")
    rows = ibis.sqlite.connect(sqlite.removeprefix("sqlite:///")).table("t").filter(ibis._.b > -99)
    assert released(rows) == released(frame.drop(columns="y"), frame["y"])
    assert as_stream(rows).source == "the ibis expression that was given"


def test_rows_of_units_come_in_any_order(frame, sqlite, tmp_path):
    whose = frame.assign(who=np.arange(N) // 3)
    with closing(sqlite3.connect(tmp_path / "t.db")) as made:
        whose.to_sql("u", made, index=False)
    domain = Domain(COLUMNS, ["no", "yes"], label="y", n=150, unit="who", rows_per_unit=2)
    hashes = set()
    for data in (whose.drop(columns="y"), prepriv.Query(sqlite, "SELECT * FROM u ORDER BY b")):
        plan = plan_of(data, domain)
        y = whose["y"] if isinstance(data, pd.DataFrame) else "y"
        out = train(plan, data, y, session=NoisySession(NoiseSource.for_tests(11)), counted=False)
        hashes.add(out.weights.tobytes())
    assert len(hashes) == 1 and plan.guarantee.conditions[0].startswith(
        "each row of a unit is a row of the query"
    )


# ------------------------------------------------------------------------------------------- read once


def test_a_source_is_read_once_however_many_passes_there_are(frame, sqlite):
    """Rows that change from one reading to the next are never half of a table: no second reading is asked for."""
    readings = []

    def rows():
        readings.append(len(readings))
        part = frame.assign(b=frame["b"] * (1 + len(readings)))[:: 1 if len(readings) == 1 else -1]
        return pa.Table.from_pandas(part, preserve_index=False).to_reader(max_chunksize=64)

    plan = plan_of(rows)
    assert any(planned.step.paid.share for planned in plan.steps)  # fitted by passes of their own
    train(plan, rows, "y", room=room_for(plan, Threads(1, 1)), counted=False)
    assert readings == [0]


def test_rows_that_change_after_they_were_counted_are_refused_and_nothing_is_released(
    sqlite, tmp_path, monkeypatch
):
    made, original = [], prepriv.Query.parts

    def changing(self, columns):
        yield from original(self, columns)
        if not made:
            with closing(sqlite3.connect(tmp_path / "t.db")) as other:
                other.execute("DELETE FROM t WHERE rowid = 5")
                other.commit()
        made.append(columns)

    monkeypatch.setattr(prepriv.Query, "parts", changing)
    clf = classifier(Domain(COLUMNS, ["no", "yes"], label="y"))
    with pytest.raises(BadData, match="the table has another number"):
        clf.fit(prepriv.Query(sqlite, SQL), "y")
    assert len(made) == 2 and not hasattr(clf, "model_")


def test_a_reader_that_breaks_off_is_one_sentence_without_a_cell(frame, tmp_path):
    table = pa.Table.from_pandas(frame, preserve_index=False)

    def drops():
        def batches():
            yield from table.to_batches(max_chunksize=100)[:3]
            raise ConnectionError("the server left while it sent SECRET")

        return pa.RecordBatchReader.from_batches(table.schema, batches())

    Ledger.create(tmp_path / "L.db", "people", epsilon=2.0, delta=1e-3)
    clf = classifier(ledger=tmp_path / "L.db")
    with pytest.raises(BadData, match="withheld") as told:
        clf.fit(drops, "y")
    assert "SECRET" not in str(told.value) and told.value.__cause__ is None and not hasattr(clf, "model_")
    assert [e.kind for e in Ledger.open(tmp_path / "L.db").entries()].count(
        "charged"
    ) == 1  # a spent event is spent


def test_what_can_be_read_once_is_not_counted_by_reading_it(frame):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    given, clf = Exported(table), classifier(Domain(COLUMNS, ["no", "yes"], label="y"))
    with pytest.raises(BadData, match="declare n"):
        clf.fit(given, "y")
    stream = as_stream(given)
    assert sum(map(len, stream.parts(["a"]))) == N
    with pytest.raises(BadData, match="only once"):
        list(stream.parts(["a"]))
    reader = table.to_reader()
    stream = as_stream(lambda: reader)
    assert stream.count() == N
    with pytest.raises(BadData, match="a fresh one"):
        stream.count()
    with pytest.raises(BadData, match="must give a reader"):
        _ = as_stream(lambda: 7).names
    for data in (table, frame, frame["a"], table["a"], [1], np.zeros(3), dict, None):
        assert as_stream(data) is None


# --------------------------------------------------------------------------------------------- on disk


def test_held_rows_have_no_name_and_nobody_else_can_read_them(frame, tmp_path, monkeypatch):
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    made = spools.Spool(DOMAIN, 10_000)
    found = os.fstat(made._file.fileno())
    assert stat.S_IMODE(found.st_mode) == 0o600 and found.st_nlink == 0 and found.st_size == 10_000
    table = pa.Table.from_pandas(frame, preserve_index=False)
    rows, _ = encode_stream(
        as_stream(lambda: table.to_reader(max_chunksize=90)), DOMAIN, "y", keep=False, spool=made
    )
    whole, _ = encode_stream(as_stream(lambda: table.to_reader()), DOMAIN, "y", keep=True)
    for _ in range(2):
        assert np.concatenate(list(rows)).tobytes() == np.concatenate(list(whole)).tobytes()
    assert os.listdir(tmp_path / "scratch") == []


def test_a_full_disk_is_found_before_the_charge(sqlite, tmp_path, monkeypatch):
    Ledger.create(tmp_path / "L.db", "people", epsilon=2.0, delta=1e-3)
    room, asked = room_for(plan_of(prepriv.Query(sqlite, SQL)), Threads(1, 1)), []

    def full(file, start, size):
        asked.append(size)
        raise OSError(errno.ENOSPC, "")

    monkeypatch.setattr(os, "posix_fallocate", full)
    query = prepriv.Query(sqlite, SQL)
    with pytest.raises(NoRoom, match="has no room for them"):
        train(plan_of(query), query, "y", room=room, ledger=tmp_path / "L.db")
    assert asked == [N * (8 + 8 + 4 + 32)]
    assert all(entry.kind != "charged" for entry in Ledger.open(tmp_path / "L.db").entries())


# ---------------------------------------------------------------------------------------- what is said


def test_the_text_of_the_query_is_part_of_the_plan_and_of_the_claim(sqlite):
    one = plan_of(prepriv.Query(sqlite, "SELECT a, b, job, note, y -- all\nFROM t"))
    other = plan_of(prepriv.Query(sqlite, SQL + " LIMIT 400"))
    assert one.guarantee.conditions == (f'a record is a row of the query "{SQL}", which no cell makes fail',)
    assert "LIMIT: a row of it can depend on several rows" in other.guarantee.conditions[0]
    assert len({one.hash, other.hash, plan_of(None).hash}) == 3
    assert plan_from_json(one.to_json()).hash == one.hash
    assert Domain.from_json(one.domain.to_json()) == one.domain
    with pytest.raises(ValueError, match="printable"):
        Domain(COLUMNS, ["no", "yes"], source="a\x1b[2J")


def test_every_release_of_a_query_says_so(sqlite):
    query, said = (
        prepriv.Query(sqlite, SQL),
        f'a record is a row of the query "{SQL}", which no cell makes fail',
    )
    clf = classifier().fit(query, "y")
    assert clf.guarantee_.conditions[0] == said and said.replace('"', "&#34;") in clf.report_.to_html()
    assert clf.model_.guarantee.conditions[0] == said
    measured = clf.evaluate(prepriv.Query(sqlite, SQL + " LIMIT 300"), "y", n=300)
    assert "LIMIT 300" in measured.plan.guarantee.conditions[0]
    few = Domain({k: v for k, v in COLUMNS.items() if k != "note"}, ["no", "yes"], label="y", n=N)
    described = prepriv.describe(query, few, epsilon=1.0)
    assert described.guarantee_.conditions[0] == said
    asked = prepriv.ask(query, {"b": prepriv.Numeric(-1, 1)}, ["mean(b)"], epsilon=1.0)
    assert asked.guarantee_.conditions[0] == said
    drafted = Domain.draft(query, epsilon=10.0, label="y")
    assert drafted.drafts[0].source == query.source
    steps = [prepriv.preprocessing.MeanImputer(payment=prepriv.Budget(0.5))]
    assert prepriv.PrivateTransformer(DOMAIN, steps, epsilon=1.0).fit(query).guarantee_.conditions[0] == said


def test_a_draft_of_a_query_says_so_beside_a_table_that_is_none(sqlite, frame):
    drafted = Domain.draft(prepriv.Query(sqlite, SQL), epsilon=10.0, label="y")
    clf = classifier(drafted).fit(frame[list(drafted.columns)], frame["y"])
    assert any("a row of the query" in said for said in clf.guarantee_.conditions)
    assert all("a row of the query" not in said for said in clf.plan_.guarantee.conditions)


def test_a_plan_that_needs_an_order_is_refused_before_the_charge(sqlite, frame):
    """Nothing fixes the order of a query's rows, and one record that is replaced may move all others."""
    learner = OnePassSGD(Logistic(), batch_size=10, steps=40, learning_rate=0.1, weight_bound=1.0)
    clf = prepriv.PrivateClassifier(Domain.box(-1, 1, 1, [0, 1], n=N), epsilon=1.0, steps=[], learner=learner)
    clf.fit(frame[["b"]].to_numpy(), (frame["y"] == "yes").astype(int))
    query = prepriv.Query(sqlite, "SELECT b AS x0, y = 'yes' AS y FROM t")
    with pytest.raises(ValueError, match="order of the rows"):
        clf.fit(query, "y")


def test_a_plan_that_does_not_name_the_query_is_not_carried_out_on_it(sqlite, frame):
    with pytest.raises(BadData, match=r"does not say .* the query"):
        train(plan_of(None), prepriv.Query(sqlite, SQL), "y")


# ------------------------------------------------------------------------------------------- bad input


def test_what_can_be_known_before_the_charge_is_refused_before_it(sqlite, tmp_path):
    Ledger.create(tmp_path / "L.db", "people", epsilon=2.0, delta=1e-3)
    clf = classifier(ledger=tmp_path / "L.db")
    for sql, why in [
        ("SELECT a, b, job, y FROM t", "no column 'note'"),
        ("SELECT a, b, job, note, y, gone FROM t", "no such column: gone"),
        ("SELECT * FROM elsewhere", "no such table"),
        ("SELECT a, b, job, note, y FROM t; DELETE FROM t", "one statement"),
    ]:
        with pytest.raises(BadData, match=why):
            clf.fit(prepriv.Query(sqlite, sql), "y")
    for url in (
        f"sqlite:///{tmp_path}/gone.db",
        f"sqlite:///{tmp_path}",
        f"sqlite://{tmp_path}/t.db",
        "mysql:///x",
        7,
    ):
        with pytest.raises(BadData):
            prepriv.Query(url, SQL)
    assert not (tmp_path / "gone.db").exists()
    assert all(entry.kind != "charged" for entry in Ledger.open(tmp_path / "L.db").entries())


def test_nothing_can_be_written_by_a_query(sqlite, tmp_path):
    before = (tmp_path / "t.db").read_bytes()
    for sql in (
        "WITH v AS (SELECT 1) DELETE FROM t RETURNING a, b, job, note, y",
        "WITH v AS (SELECT 1) INSERT INTO t SELECT * FROM t RETURNING a, b, job, note, y",
        "SELECT load_extension('x')",
    ):
        with pytest.raises(BadData):
            prepriv.Query(sqlite, sql).count()
    from prepriv.tables.query import _SQLite

    with _SQLite(tmp_path / "t.db")._open() as opened:
        for sql in (
            f"ATTACH '{tmp_path}/new.db' AS new",
            "DELETE FROM t",
            "PRAGMA journal_mode = WAL",
            "CREATE TEMP TABLE x(a)",
        ):
            with pytest.raises(sqlite3.DatabaseError):
                opened.execute(sql)
        opened.set_authorizer(None)  # the file itself is open for reading alone
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            opened.execute("DELETE FROM t")
    assert (tmp_path / "t.db").read_bytes() == before and not (tmp_path / "new.db").exists()


def test_nothing_can_be_written_or_reached_by_a_query_of_duckdb(duckdb_file, frame, tmp_path):
    frame.to_csv(tmp_path / "other.csv")
    variable = frame  # noqa: F841 - which a query of DuckDB would find by its name
    before = (tmp_path / "t.duckdb").read_bytes()
    for sql in (
        f"FROM '{tmp_path}/other.csv'",
        "SELECT * FROM variable",
        "SELECT gone FROM t",
        "FROM t; DROP TABLE t",
        "WITH v AS (SELECT 1) INSERT INTO t SELECT * FROM t",
        "WITH v AS (SELECT 1) DELETE FROM t RETURNING *",
    ):
        with pytest.raises(BadData):
            prepriv.Query(duckdb_file, sql).count()
    assert (tmp_path / "t.duckdb").read_bytes() == before
    (tmp_path / "text.duckdb").write_text("no database")
    with pytest.raises(BadData, match="cannot be opened by DuckDB"):
        _ = prepriv.Query(f"duckdb:///{tmp_path}/text.duckdb", SQL).names


def test_a_cell_that_makes_a_query_fail_is_not_shown(frame, sqlite, tmp_path):
    with closing(sqlite3.connect(tmp_path / "t.db")) as made:
        made.execute("""UPDATE t SET note = '{"SECRET' WHERE rowid = 300""")
        made.commit()
    query = prepriv.Query(sqlite, "SELECT a, b, job, json(note) AS note, y FROM t WHERE note LIKE '{%'")
    with pytest.raises(BadData, match="withheld") as told:
        query.count()
    assert "SECRET" not in repr(told.value) and told.value.__cause__ is None


def test_odd_cells_of_sqlite_change_no_other_cell(frame, sqlite, tmp_path):
    """Its columns have no types: each cell is read by itself, a text that is not UTF-8, too."""
    odd = [None, b"\xff\xfe", "x", 2**80, float("inf"), "", 1e-320, b"x" * 100_000, "1e3"]
    want, _ = encode_stream(as_stream(prepriv.Query(sqlite, SQL)), DOMAIN, "y", keep=True)
    with closing(sqlite3.connect(tmp_path / "t.db")) as made:
        for i, cell in enumerate(odd):
            cell = str(cell) if cell == 2**80 else cell
            made.execute("UPDATE t SET a = ?, job = ?, note = ?, y = ? WHERE rowid = ?", [cell] * 4 + [i + 1])
        made.execute("UPDATE t SET note = CAST(x'ff' AS TEXT) WHERE rowid = 1")
        made.commit()
    got, _ = encode_stream(as_stream(prepriv.Query(sqlite, SQL)), DOMAIN, "y", keep=True)
    assert np.concatenate(list(got))[len(odd) :].tobytes() == np.concatenate(list(want))[len(odd) :].tobytes()
    assert got.n == N


def test_a_table_of_nothing_but_gaps_and_one_without_rows(sqlite):
    gaps = prepriv.Query(sqlite, "SELECT NULL AS a, NULL AS b, NULL AS job, NULL AS note, NULL AS y FROM t")
    assert classifier().fit(gaps, "y").guarantee_.epsilon(1e-5) <= 1.0
    none = prepriv.Query(sqlite, SQL + " WHERE b > 99")
    assert none.count() == 0
    with pytest.raises(BadData, match="empty"):
        classifier(Domain(COLUMNS, ["no", "yes"], label="y")).fit(none, "y")
    with pytest.raises(BadData, match="the table has another number"):
        classifier().fit(none, "y")
    with pytest.raises(BadData, match="the table has another number"):
        prepriv.describe(none, Domain({"b": COLUMNS["b"]}, ["no", "yes"], label="y", n=N), epsilon=1.0)


def test_a_password_is_refused_and_not_shown():
    with pytest.raises(BadData, match="password") as told:
        prepriv.Query("postgresql://me:hunter2@host/db", SQL)
    assert "hunter2" not in str(told.value) and "ledger" not in str(told.value)
