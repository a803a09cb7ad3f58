"""Embeddings from NumPy and Arrow: the same matrix, and errors without values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import prepriv
from prepriv.pipeline.embeddings import embedding_matrix

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
