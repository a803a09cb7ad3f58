"""Embeddings in: a matrix from NumPy or Arrow, one row per record, and the ball they are declared to lie in.

The extractor must be fixed without private records (trained elsewhere, or on public rows): then a record's embedding
depends on that record alone, and neighbouring tables stay neighbours (docs/proofs/pillar.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer
from prepriv.tables.containers import vectors


def embedding_matrix(data: Any, column: str | None = None, *, d: int | None = None) -> NDArray[np.float64]:
    """Make a matrix of the embeddings in an array, a table or a list, one row per record.

    Parameters
    ----------
    data : matrix, list of vectors, Arrow array or table, or data frame
        A NumPy matrix, a list of vectors, or an Arrow array of vectors. Or an Arrow table or data frame: its `column`
        holds one vector per cell (a list or fixed-size list), or with column None every column holds one number per
        cell.
    column : str, optional
        Name of the column that holds vectors.
    d : int, optional
        The declared length of a vector. None: the number of columns, or the length that most vectors have. If two
        lengths are equally frequent, one record decides, so declare d if the rows are private.

    Returns
    -------
    array, (n, d)
        The rows. A record without a vector, or with a vector of another length, is a row of zeros. A cell that is not
        a number is NaN.

    Raises
    ------
    ValueError
        For another shape. No message holds a value. A column without any vector is refused if d is None. If d is
        declared it becomes zeros, because a single record can set the type of a column whose other cells are missing.

    Notes
    -----
    Declare the rows with `Domain.ball(d, classes, radius=...)`. Longer rows are pulled back to the ball, and rows
    with a missing number count as zero. The model that makes the embeddings must not depend on private records
    (docs/proofs/pillar.md).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from prepriv.tables.embeddings import embedding_matrix
    >>> embedding_matrix(pa.table({"e": [[0.0, 1.0], [1.0, 0.0], None]}), "e").tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
    """
    matrix = vectors(data, column, None if d is None else integer("d", d))
    if not matrix.shape[1] or (d is None and not len(matrix)):
        raise ValueError(f"embeddings must be a matrix with rows and columns; got shape {matrix.shape}")
    return matrix
