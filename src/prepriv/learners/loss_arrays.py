"""Array helpers of the losses: total in the targets, and the same bits for a row wherever it stands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats


def as_matrix(scores: Floats, outputs: int | None = None) -> Floats:
    """Scores as a float64 matrix in column order: what is done to one output of all rows is one vector operation."""
    matrix = np.asfortranarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or (outputs is not None and matrix.shape[1] != outputs):
        wanted = "K" if outputs is None else outputs
        raise ValueError(f"scores: must have shape (b, {wanted}), got {matrix.shape}")
    return matrix


def class_indices(targets: NDArray[Any], n_classes: int) -> tuple[NDArray[np.intp], NDArray[np.bool_] | None]:
    """Targets as indices in range, and which were (None: all of them). Never fails on a record's value."""
    targets = np.asarray(targets)
    if targets.ndim != 1 or targets.dtype.kind not in "iub":
        raise ValueError(
            f"targets: must be integers of shape (b,), got {targets.dtype} of shape {targets.shape}"
        )
    index = targets.astype(np.intp, copy=False)
    if index.size == 0 or (index.min() >= 0 and index.max() < n_classes):
        return index, None
    valid = (index >= 0) & (index < n_classes)
    return np.where(valid, index, 0), valid


def class_signs(targets: NDArray[Any], outputs: int) -> Floats:
    """(b, K): +1 where the output's class is the target, −1 elsewhere; a row of 0 for a target out of range.

    With one output, class 1 is +1 and class 0 is −1.
    """
    index, valid = class_indices(targets, max(outputs, 2))
    if outputs == 1:
        signs: Floats = np.where(index == 1, 1.0, -1.0)[:, None]
    else:
        signs = np.full((len(index), outputs), -1.0, order="F")
        signs[np.arange(len(index)), index] = 1.0
    if valid is not None:
        signs[~valid] = 0.0
    return signs


def row_max(matrix: Floats) -> Floats:
    """Largest entry of each row."""
    return np.asarray(np.maximum.reduce(np.asfortranarray(matrix), axis=1))
