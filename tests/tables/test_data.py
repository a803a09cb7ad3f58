"""Encoding: a declared rule for every bad cell; no record can abort or change how another is read."""

from __future__ import annotations

import gzip
import math

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prepriv.columns import Categorical, Numeric
from prepriv.domain import Domain
from prepriv.tables.encoding import encode, encode_labels
from prepriv.tables.inspect import counted_columns, counted_labels
from prepriv.tables.readers import BadData, read_table

DOMAIN = Domain(
    {"age": Numeric(0, 10, "impute"), "job": Categorical(("x", "7")), "score": Numeric(-1, 1)},
    ("no", "yes"),
    label="l",
)
WEIRD = [
    None, float("nan"), math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 10**400, -(2**63), "", " 3 ", "1e400", "abc",
    b"\xff\xfe", True, [1], {"a": 1}, object, "7", 7, 7.0, "x", "x ", "other", "NaN", "?", complex(1, 1), float,
]  # fmt: skip


@pytest.mark.parametrize("value", WEIRD, ids=range(len(WEIRD)))
@pytest.mark.parametrize("column", range(3))
def test_any_cell_is_encoded_and_leaves_the_other_rows_alone(value, column):
    rows = np.array([[1, "x", 0.5], [2, "7", -0.5], [3, "z", 0.0]], dtype=object)
    before = encode(rows, DOMAIN).block(0, 3)
    odd = rows.copy()
    odd[1, column] = value
    after = encode(odd, DOMAIN).block(0, 3)
    assert after.shape == before.shape
    assert (after[[0, 2]] == before[[0, 2]]).all()
    row = after[1]
    assert ((row >= 0) & (row <= 1))[~np.isnan(row)].all()
    assert not np.isnan(row[1:]).any()
    assert np.linalg.norm(np.nan_to_num(row)) <= DOMAIN.space.radius


def test_pandas_polars_arrow_and_numpy_agree():
    columns = {"age": [1.0, None, 20.0], "job": ["x", "q", None], "score": [0.0, -5.0, None]}
    want = encode(pd.DataFrame(columns), DOMAIN).block(0, 3)
    assert want[0].tolist() == [0.1, 1, 0, 0, 0, 0.5]
    assert np.isnan(want[1, 0]) and want[1, 1:].tolist() == [0, 0, 1, 0, 0.0]
    assert want[2].tolist() == [1.0, 0, 0, 0, 1, 0.5]
    for table in (
        pl.DataFrame(columns),
        pa.table(columns),
        np.array(list(zip(*columns.values())), dtype=object),
        pd.DataFrame(columns)[["score", "job", "age"]],  # any order
        pd.DataFrame({**columns, "extra": [1, 2, 3]}),
        pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in columns.items()}),
        pl.DataFrame({**columns, "job": pl.Series(columns["job"], dtype=pl.Categorical)}),
    ):
        assert np.array_equal(encode(table, DOMAIN).block(0, 3), want, equal_nan=True)


def test_categories_are_compared_by_one_spelling():
    table = pa.table({"age": [1, 1, 1], "job": [7.0, 7.5, None], "score": [0, 0, 0]})
    assert encode(table, DOMAIN).block(0, 3)[:, 1:5].tolist() == [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize(
    "labels", [[0, 1, 2, 7], ["0", "1", "2", "x"], [0.0, 1.0, 2.0, math.nan], [0, "1", 2.0, None]]
)
def test_labels_outside_the_declared_classes_are_minus_one(labels):
    assert encode_labels(labels, [0, 1, 2]).tolist() == [0, 1, 2, -1]
    if len({type(v) for v in labels}) == 1:
        assert encode_labels(pd.Series(labels), [0, 1, 2]).tolist() == [0, 1, 2, -1]
        assert encode_labels(pl.Series(labels), [0, 1, 2]).tolist() == [0, 1, 2, -1]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(), st.text(), st.floats()), min_size=1, max_size=20), st.randoms())
def test_rows_are_encoded_one_by_one(rows, random):
    table = np.array([list(r) for r in rows], dtype=object)
    whole = encode(table, DOMAIN).block(0, len(rows))
    i = random.randrange(len(rows))
    assert np.array_equal(encode(table[i : i + 1], DOMAIN).block(0, 1)[0], whole[i], equal_nan=True)


def test_ball_pulls_rows_back_and_zeroes_what_is_not_finite():
    domain = Domain.ball(2, [0, 1], radius=1.0)
    x = encode(np.array([[3.0, 4.0], [0.3, 0.4], [np.nan, 0], [1e308, 1e308], [np.inf, 0]]), domain).block(
        0, 5
    )
    assert np.allclose(x, [[0.6, 0.8], [0.3, 0.4], [0, 0], [0.5**0.5, 0.5**0.5], [0, 0]])


CSV = 'age,job,score,l\n1,x,0.5,yes\n 12 ,q,,no\n"3",7,"NaN",yes\n'


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv"])
def test_csv_is_read_cell_by_cell(tmp_path, name):
    text = CSV.replace(",", "\t") if name.endswith("tsv") else CSV
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    table = read_table(path, [*DOMAIN.columns, "l"])
    x = encode(table.select(list(DOMAIN.columns)), DOMAIN).block(0, 3)
    assert x.tolist() == [[0.1, 1, 0, 0, 0, 0.75], [1.0, 0, 0, 1, 0, 0.5], [0.3, 0, 1, 0, 0, 0.5]]
    assert encode_labels(table["l"], DOMAIN.classes).tolist() == [1, 0, 1]


def test_one_odd_row_does_not_change_how_others_are_read(tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "b.csv").write_bytes(
        b"\xef\xbb\xbf" + (CSV + "\xff\xfe,1e400,,\ntoo,few\n").encode("latin-1")
    )
    a, b = (encode(read_table(tmp_path / f, list(DOMAIN.columns)), DOMAIN) for f in ("a.csv", "b.csv"))
    assert (a.block(0, 3) == b.block(0, 3)).all()


def test_parquet(tmp_path):
    pq.write_table(
        pa.table({"age": [1, None], "job": ["x", None], "score": [0.5, 2.0]}), tmp_path / "t.parquet"
    )
    table = read_table(tmp_path / "t.parquet", list(DOMAIN.columns))
    assert np.isnan(encode(table, DOMAIN).block(0, 2)[1, 0])


@pytest.mark.parametrize(
    "write, says",
    [
        (None, "no such file"),
        ("", "empty"),
        ("age,job\n1,x\n", "no column 'score'"),
    ],
)
def test_a_bad_table_is_one_sentence(tmp_path, write, says):
    path = tmp_path / "t.csv"
    if write is not None:
        path.write_text(write)
    with pytest.raises(BadData, match=says):
        read_table(path, list(DOMAIN.columns))


def test_shapes_and_types_that_do_not_fit():
    domain = Domain.box(0, 1, 3, [0, 1])
    for bad, says in [
        (np.zeros((2, 4)), "4 features"),
        (np.zeros(3), "2-dimensional"),
        (np.zeros((2, 0)), "0 feature"),
        (b"text", "expected a matrix"),
        ("text", "no such file"),
        (pd.DataFrame({"a": [1]}), "no column"),
    ]:
        with pytest.raises(BadData, match=says):
            encode(bad, domain)


def test_a_complex_number_without_imaginary_part_is_a_number_and_one_with_is_unreadable():
    """One such cell makes a matrix or a frame complex: no ground to refuse it, or to read the others otherwise."""
    x = np.array([[1.0, 2.0, 0.5], [1j, 0.0, -1.0]])
    domain = Domain.box(0, 1, 3, [0, 1])
    want = [[1.0, 1.0, 0.5], [0.5, 0.0, 0.0]]
    for table in (x, pd.DataFrame(x), pd.DataFrame(x).astype(object), x.tolist(), x.astype(np.complex64)):
        assert encode(table, domain).block(0, 2).tolist() == want


def test_masked_cells_are_missing():
    x = np.ma.masked_array([[0.25, 0.5], [0.75, 1.0]], [[True, False], [False, False]])
    for dtype in (float, complex, object):
        assert encode(x.astype(dtype), Domain.box(0, 1, 2, [0, 1])).block(0, 2).tolist() == [
            [0.5, 0.5],
            [0.75, 1.0],
        ]
    days = np.ma.masked_array(np.array(["2020-01-01", "2020-01-02"], "M8[ns]"), [True, False])
    assert encode_labels(days, ["2020-01-01", "2020-01-02"]).tolist() == [-1, 1]


def test_names_that_are_one_value_in_two_spellings_cannot_be_declared():
    """Before anything is planned, let alone charged."""
    with pytest.raises(ValueError, match="distinct values"):
        Categorical(("1", "1.0"))
    with pytest.raises(ValueError, match="distinct values"):
        Domain.box(0, 1, 2, ["true", 1, 2])


def test_curator_counts(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    table = read_table(tmp_path / "t.csv")
    faults = {counted.name: counted.faults for counted in counted_columns(table, DOMAIN)}
    assert faults["age"] == (0, 0, 1, 0) and faults["job"] == (0, 0, 0, 1)
    assert counted_labels(table["l"], DOMAIN).faults == (0, 0, 0, 0)
    assert nw is not None
