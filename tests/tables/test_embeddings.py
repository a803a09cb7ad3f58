"""Embeddings from NumPy and Arrow: the same matrix, and errors without values."""

from __future__ import annotations

import math
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import prepriv
from prepriv.tables.embeddings import embedding_matrix

X = np.random.default_rng(0).normal(size=(7, 3))
LISTS = X.tolist()


@pytest.mark.parametrize(
    ("data", "column"),
    [
        (X, None),
        (LISTS, None),
        (X.astype(np.float32).astype(np.float64), None),
        (pa.table({"e": LISTS}), "e"),
        (pa.table({"id": range(7), "e": pa.array(LISTS, pa.list_(pa.float64(), 3))}), "e"),
        (pa.table({f"x{j}": X[:, j] for j in range(3)}), None),
        (pa.chunked_array([LISTS[:2], LISTS[2:]]), None),
        (pa.array(LISTS, pa.large_list(pa.float64())), None),
    ],
    ids=[
        "numpy",
        "lists",
        "float32",
        "list column",
        "fixed size",
        "a column a feature",
        "chunks",
        "large lists",
    ],
)
def test_every_form_gives_the_same_matrix(data: Any, column: str | None) -> None:
    np.testing.assert_allclose(embedding_matrix(data, column), X, atol=1e-6)


@pytest.mark.parametrize(
    ("data", "column", "words"),
    [
        (X[0], None, "shape"),
        (X[:0], None, "shape"),
        (pa.table({"e": LISTS}), "f", "no column 'f'"),
        (X, "e", "for Arrow tables"),
        (pa.table({"e": ["a", "b"]}), "e", "lists of numbers"),
        ([1.25, 3.75], None, "shape"),
        ("1.25", None, "got str"),
        (pa.table({}), None, "shape"),
    ],
)
def test_what_is_no_matrix_is_refused_without_a_value(data: Any, column: str | None, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        embedding_matrix(data, column)
    assert "1.25" not in str(caught.value) and "3.75" not in str(caught.value)


ODD = [[1.25], [0.0, 1.0], [1.0, 0.0], None, [1.0, 2.0, 3.0], [2.0, None], [], [0.5, 2.0]]
READ = [[0, 0], [0, 1], [1, 0], [0, 0], [0, 0], [2, math.nan], [0, 0], [0.5, 2]]


@pytest.mark.parametrize("d", [None, 2])
@pytest.mark.parametrize(
    "data",
    [
        ODD,
        tuple(ODD),
        pd.Series(ODD),
        pl.Series(ODD),
        pa.array(ODD),
        pa.chunked_array([ODD[:3], ODD[3:]]),
        pa.array(ODD, pa.large_list(pa.float32())),
        pd.Series(ODD, dtype=pd.ArrowDtype(pa.list_(pa.float64()))),
        [*ODD[:5], np.array([2.0, np.nan]), "a text", np.array([0.5, 2.0])],
        [*ODD[:5], (2, "no number"), b"\xff", ("0.5", 2)],
        [*ODD[:5], [2.0, "x"], 7, pd.Series([0.5, 2.0])],
    ],
    ids=lambda data: type(data).__name__,
)
def test_a_record_without_a_vector_is_zeros_and_decides_nothing(data: Any, d: int | None) -> None:
    np.testing.assert_array_equal(embedding_matrix(data, d=d), np.array(READ, float))


def test_vectors_of_fixed_size_and_texts_that_are_not_utf8() -> None:
    fixed = pa.array([[0.0, 1.0], None, [1.0, None]], pa.list_(pa.float64(), 2))
    np.testing.assert_array_equal(embedding_matrix(fixed), [[0, 1], [0, 0], [1, np.nan]])
    texts = pa.array([b"1", b"2", b"\xff", b"4"]).view(pa.string())
    bad = pa.ListArray.from_arrays(pa.array([0, 2, 4], pa.int32()), texts)
    np.testing.assert_array_equal(embedding_matrix(pa.table({"e": bad}), "e"), [[1, 2], [np.nan, 4]])
    np.testing.assert_array_equal(embedding_matrix([None, "x", [1.0]], d=2), np.zeros((3, 2)))


OTHERS = [
    [5.0, 6.0],
    [5.0, "x"],
    [5.0, None],
    [5],
    None,
    "a text",
    {0: 1.0, 1: 2.0},
    {5.0, 6.0},
    [10**400, 1],
    7,
]


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: str(other)[:20])
@pytest.mark.parametrize(
    "row",
    [
        np.ma.array([1.0, 2.0], mask=[False, True]),
        pd.Series([1.0, 2.0]),
        {0: 1.0, 1: 2.0},
        {1.0, 2.0},
        memoryview(np.array([1.0, 2.0])),
        [1, 2**70],
        (True, -0.0),
        np.array([1.0, 2.0], np.float32),
        np.array([[1.0, 2.0]]),
        ["1", 2],
    ],
    ids=lambda row: f"{type(row).__name__} {list(row)}"[:30],
)
def test_what_a_vector_says_does_not_hang_on_another_record(row: Any, other: Any) -> None:
    alone = embedding_matrix([row, row], d=2)[0]
    np.testing.assert_array_equal(embedding_matrix([row, other, row], d=2)[[0, 2]], [alone, alone])
    if isinstance(row, np.ma.MaskedArray):
        np.testing.assert_array_equal(alone, [1, np.nan])
    if isinstance(row, dict | set):
        np.testing.assert_array_equal(alone, [0, 0])  # no vector: values decide how long a set is


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: str(other)[:20])
def test_the_type_of_a_pandas_column_of_vectors_is_not_guessed_from_its_cells(other: Any) -> None:
    for cells in ([None] * 99 + [other] + [[1.0, 2.0]] * 20, [None] * 5 + [other]):
        frame = pd.DataFrame({"e": pd.Series(cells, dtype=object)})
        expected = embedding_matrix(cells, d=2)
        np.testing.assert_array_equal(embedding_matrix(frame, "e", d=2), expected)
        np.testing.assert_array_equal(embedding_matrix(frame["e"], d=2), expected)


@pytest.mark.parametrize("other", [None, 7, 1.5, "a text", [3.0, 4.0]], ids=str)
def test_the_only_cell_of_a_column_does_not_stop_all(other: Any) -> None:
    for make in (pd.Series, pl.Series, pa.array):  # each guesses its type from that cell
        expected = [[0, 0]] * 5 + [other if isinstance(other, list) else [0, 0]]
        np.testing.assert_array_equal(embedding_matrix(make([None] * 5 + [other]), d=2), expected)


def test_a_long_text_sets_the_size_of_no_other_cell() -> None:
    def peak(cell: Any) -> int:
        rows = [[float(i), 1.0, 2.0, 3.0] for i in range(500)] + [[1.0, 2.0, 3.0, cell]]
        tracemalloc.start()
        embedding_matrix(rows, d=4)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak("x" * 5000) < peak(4.0) + 10**6  # as one array: 40 MB


def test_a_matrix_of_numpy_is_an_array() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cells in ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[1.0, 2.0], [3.0, None], [5.0, 6.0]]):
            found = embedding_matrix(np.matrix(cells), d=2)
            np.testing.assert_array_equal(found, np.array(cells, float))
            masked = np.ma.array(np.matrix(cells), mask=[[1, 0], [0, 0], [0, 0]])
            assert np.isnan(embedding_matrix(masked, d=2)[0, 0])


@pytest.mark.parametrize(
    "none",
    [
        [],
        np.ones((0, 2)),
        np.ones(0, object),
        pa.array([], pa.list_(pa.float64())),
        pd.DataFrame({"a": [], "b": []}),
        pd.Series([], dtype=object),
    ],
    ids=lambda data: type(data).__name__,
)
def test_none_of_the_rows_is_a_table_where_d_is_declared(none: Any) -> None:
    assert embedding_matrix(none, d=2).shape == (0, 2)
    with pytest.raises(ValueError, match="rows and columns"):
        embedding_matrix(none)


@pytest.mark.parametrize(
    "values", [{1.0, 0.0}, frozenset([1.0]), {1.0: 2.0}.keys()], ids=lambda values: type(values).__name__
)
def test_a_set_is_not_a_column(values: Any) -> None:
    with pytest.raises(ValueError, match="must be one column"):
        prepriv.count(values, epsilon=1.0)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_a_feature_is_read_cell_by_cell(make: Any) -> None:
    found = embedding_matrix(make({"a": ["1", "x", None], "b": [1.0, 2.0, None]}))
    np.testing.assert_array_equal(found, [[1, 1], [np.nan, 2], [np.nan, np.nan]])


def test_embeddings_are_trained_on_in_their_declared_ball() -> None:
    x = embedding_matrix(pa.table({"e": LISTS * 60}), "e")
    y = (x[:, 0] > 0).astype(int)
    domain = prepriv.Domain.ball(3, [0, 1], radius=4.0, n=len(x))
    clf = prepriv.PrivateClassifier(domain, epsilon=3.0, delta=1e-5, threads=1).fit(x, y)
    assert clf.score(x, y) > 0.7
