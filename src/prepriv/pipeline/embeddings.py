"""Embeddings in: a matrix from NumPy or Arrow, one row a record, and the ball they are declared to lie in.

The extractor must be fixed without private records (trained elsewhere, or on public rows): then a record's embedding
depends on that record alone, and neighbouring tables stay neighbours (docs/proofs/pillar.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from prepriv.preprocessing.base import Floats


def embedding_matrix(data: Any, column: str | None = None) -> Floats:
    """(n, d) floats from what embeddings come in.

    data: a NumPy matrix or a list of vectors; an Arrow table, whose `column` holds vectors (a list or fixed-size list
    a cell), or, with column None, one number a cell in every column; an Arrow array of vectors. All vectors have the
    same length. Declare them with `Domain.ball(d, classes, radius=...)`: longer rows are pulled back to the ball, rows
    with a missing number count as zero.

    Raises ValueError for another shape; no message holds a value.

    >>> embedding_matrix(pa.table({"e": [[0.0, 1.0], [1.0, 0.0], [0.6, 0.8]]}), "e").shape
    (3, 2)
    """
    if isinstance(data, pa.Table):
        data = _of_table(data, column)
    elif column is not None:
        raise ValueError(f"column is for Arrow tables; got {type(data).__name__}")
    if isinstance(data, pa.ChunkedArray | pa.Array):
        data = _of_vectors(data)
    try:
        matrix = np.array(data, dtype=np.float64)
    except (ValueError, TypeError):
        raise ValueError("embeddings must be numbers, the same count for every record") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"embeddings must be a matrix with rows and columns; got shape {matrix.shape}")
    return matrix


def _of_table(table: pa.Table, column: str | None) -> Any:
    if column is None:
        return (
            np.column_stack([c.to_numpy() for c in table.columns]) if table.num_columns else np.empty((0, 0))
        )
    if column not in table.column_names:
        raise ValueError(f"the table has no column {column!r}")
    return table[column]


def _of_vectors(cells: pa.ChunkedArray | pa.Array) -> Any:
    kind = cells.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise ValueError(f"an Arrow column of embeddings must hold lists of numbers; got {kind}")
    if cells.null_count:
        raise ValueError("an Arrow column of embeddings must hold a vector in every row")
    return cells.to_pylist()
