"""Embeddings from NumPy and Arrow: the same matrix, and errors without values."""

from __future__ import annotations

from typing import Any

import numpy as np
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
        ([[1.25, 2.5], [3.75]], None, "same count"),
        (pa.table({"e": LISTS}), "f", "no column 'f'"),
        (X, "e", "Arrow tables"),
        (pa.table({"e": ["a", "b"]}), "e", "lists of numbers"),
        (pa.array([[1.25], None]), None, "a vector in every row"),
        (pa.array([["1.25z"]]), None, "must be numbers"),
        (pa.table({}), None, "shape"),
    ],
)
def test_what_is_no_matrix_is_refused_without_a_value(data: Any, column: str | None, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        embedding_matrix(data, column)
    assert "1.25" not in str(caught.value) and "3.75" not in str(caught.value)


def test_embeddings_are_trained_on_in_their_declared_ball() -> None:
    x = embedding_matrix(pa.table({"e": LISTS * 60}), "e")
    y = (x[:, 0] > 0).astype(int)
    domain = prepriv.Domain.ball(3, [0, 1], radius=4.0, n=len(x))
    clf = prepriv.PrivateClassifier(domain, epsilon=3.0, delta=1e-5, threads=1).fit(x, y)
    assert clf.score(x, y) > 0.7
