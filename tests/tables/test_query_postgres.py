"""A query to a PostgreSQL server: the cells of a table in memory, in a transaction that cannot write."""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd
import pytest

import prepriv
from ledger.postgres_server import Server
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.plans.plan import make_plan
from prepriv.runs.train import train
from prepriv.tables import query
from prepriv.tables.encoding import encode_stream, with_source
from prepriv.tables.readers import BadData
from prepriv.tables.stream import as_stream

pytestmark = (
    pytest.mark.slow
)  # a server is started; the same reading of cells, from SQLite, is in test_queries.py
N = 300
DOMAIN = prepriv.Domain(
    {
        "b": prepriv.Numeric(-1, 1),
        "sure": prepriv.Numeric(0, 1),
        "day": prepriv.Categorical(["2020-01-02", "2021-03-04"]),
    },
    ["no", "yes"],
    label="y",
    n=N,
)


@pytest.fixture(scope="module")
def server():
    made = Server()
    yield made
    made.close()


@pytest.fixture(scope="module")
def url(server):
    return server.url().partition("&ledger")[0]


@pytest.fixture(scope="module")
def frame(url):
    import psycopg

    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "b": rng.normal(size=N),
            "sure": rng.random(N) < 0.5,
            "day": pd.to_datetime(rng.choice(["2020-01-02", "2021-03-04"], N)).date,
            "y": rng.choice(["no", "yes"], N),
        }
    )
    with psycopg.connect(url) as made:
        made.execute("CREATE TABLE t (b double precision, sure boolean, day date, y text)")
        with made.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO t VALUES (%s, %s, %s, %s)",
                [(float(b), bool(s), d, y) for b, s, d, y in frame.itertuples(index=False)],
            )
    return frame


def released(data, labels):
    domain = with_source(DOMAIN, data)
    plan = make_plan(domain, [], GradientDescent(Logistic(), steps=3), epsilon=1.0, delta=1e-5, n=N)
    out = train(plan, data, labels, session=NoisySession(NoiseSource.for_tests(11)), counted=False)
    return hashlib.sha256(out.weights.tobytes()).hexdigest()


def test_one_hash_of_a_server_and_of_memory(frame, url, monkeypatch):
    monkeypatch.setattr(query, "_AT_ONCE", 64)
    rows = prepriv.Query(url, "SELECT b, sure, day, y FROM t ORDER BY random()")
    assert released(rows, "y") == released(frame.drop(columns="y"), frame["y"])
    kinds = prepriv.Domain(
        {k: prepriv.Categorical(["2020-01-02 00:00:00+00:00", "x"]) for k in ("at", "bytes")}
        | {"d": prepriv.Numeric(0, 1)},
        [0, 1],
        label="y",
    )
    sql = "SELECT timestamptz '2020-01-02 01:00+01' AS at, '\\x78'::bytea AS bytes, 0.1::numeric AS d, 1 AS y"
    table, labels = encode_stream(as_stream(prepriv.Query(url, sql)), kinds, "y", keep=True)
    assert table.block(0, 1).tolist() == [[1, 0, 0, 0, 0, 1, 0, 0, 0.1]] and labels.tolist() == [1]


def test_bad_queries_are_refused_before_a_row_is_read(frame, url):
    for sql, why in [
        ("SELECT gone FROM t", 'column "gone" does not exist'),
        ("SELECT b, b FROM t", "same name"),
        ("SELECT b FROM t; DELETE FROM t", "one statement"),
    ]:
        with pytest.raises(BadData, match=why):
            _ = prepriv.Query(url, sql).names
    with pytest.raises(BadData, match="cannot be reached"):
        _ = prepriv.Query("postgresql://nobody@/postgres?host=/nowhere", "SELECT b FROM t").names


def test_nothing_is_written_and_no_cell_is_shown(frame, url):
    import psycopg

    with psycopg.connect(url) as made:
        made.execute(
            "CREATE OR REPLACE FUNCTION gone() RETURNS int LANGUAGE sql AS 'DELETE FROM t RETURNING 1'"
        )
    for sql in (
        "SELECT gone() AS b FROM t",
        "WITH v AS (DELETE FROM t RETURNING b) SELECT b FROM v",
        "SELECT (y || 'SECRET')::int AS b FROM t",
    ):
        with pytest.raises(BadData, match="withheld") as told:
            prepriv.Query(url, sql).count()
        assert "SECRET" not in str(told.value) and told.value.__cause__ is None
    assert prepriv.Query(url, "SELECT b FROM t").count() == N


def test_a_server_that_dies_in_the_middle_ends_the_reading(frame, url, server, monkeypatch):
    monkeypatch.setattr(query, "_AT_ONCE", 16)
    parts = prepriv.Query(url, "SELECT b FROM t").parts(["b"])
    assert len(next(parts)) == 16
    server.kill()
    with pytest.raises(BadData, match="withheld"):
        list(parts)
    server.start()
