"""Pairs of columns: normal scores of codes within a class, exact sums of their products, and correlations of the noisy sums."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from prepriv._arrays import Floats
from prepriv._rounding import FAR_DOWN
from prepriv.exact.lattice import Lattice
from prepriv.sketches.tables import SketchShape

Codes = NDArray[np.int64]
MOST_SCORE = 4.0
_SPREAD = 1e-9  # of a score: a column with one code has none


def order_of(given: Floats, classes: Floats, numeric: bool) -> Codes:
    """The codes of one column in order, the last one (missing) left out: bins as they are, categories by the first axis of
    p(y | x) - p(y)."""
    codes = np.arange(len(given) - 1)
    if numeric or given.shape[1] == 1:
        return codes
    joint = given[:-1] * classes
    alone = joint.sum(axis=1, keepdims=True)
    apart = np.where(alone > 0, joint / np.where(alone > 0, alone, 1.0) - classes, 0.0) * np.sqrt(alone)
    axis = np.linalg.svd(apart, full_matrices=False)[2][0]
    place = (apart @ axis) / np.where(alone[:, 0] > 0, np.sqrt(alone[:, 0]), 1.0)
    return np.argsort(np.round(place * (1 if axis[np.argmax(np.abs(axis))] > 0 else -1), 9), kind="stable")


def score_tables(shape: SketchShape, orders: Sequence[Codes]) -> list[Floats]:
    """Of each column the score of each code within each class, (S, K): mean 0 and variance 1 within the class; missing is 0."""
    found = []
    for given, order in zip(shape.given, orders):
        table = np.zeros(given.shape)
        for y in range(given.shape[1]):
            p = given[order, y]
            whole = p.sum()
            if whole <= 0:
                continue
            p = p / whole
            z = ndtri(np.clip(np.cumsum(p) - p / 2, 1e-6, 1 - 1e-6))
            z = z - p @ z
            spread = math.sqrt(float(p @ z**2))
            if spread > _SPREAD:
                table[order, y] = np.clip(z / spread, -MOST_SCORE, MOST_SCORE)
        found.append(table)
    return found


def integer_tables(scores: Sequence[Floats], grid: Lattice) -> list[Codes]:
    """The same in grid steps: from here on all of a row is integers, until its products are."""
    return [np.trunc(np.ldexp(table, -grid.exponent)).astype(np.int64) for table in scores]


def integer_scores(
    codes: Codes, labels: NDArray[np.integer], tables: Sequence[Codes], grid: Lattice
) -> Codes:
    """The scores of rows in grid steps, (b, d), each row of norm at most grid.sensitivity; a row without a declared class is
    zeros. Row by row: a function of the row alone, bit by bit."""
    there = labels >= 0
    y = np.where(there, labels, 0)
    z = np.column_stack([table[codes[:, i], y] for i, table in enumerate(tables)])
    z[~there] = 0
    square = (z * z).sum(axis=1)  # below 2^62: |z| <= 4 steps of 2^-22 of the radius, at most 500 columns
    long = square > grid.sensitivity**2
    if long.any():
        factor = grid.sensitivity * FAR_DOWN / np.sqrt(square[long].astype(np.float64))
        z[long] = np.trunc(z[long] * factor[:, None]).astype(np.int64)
    return grid.certify(z)


def product_sum(z: Codes) -> Codes:
    """Sums of z_i z_j over the rows, (d, d), exact: in chunks whose products floats hold."""
    total = np.zeros((z.shape[1], z.shape[1]), dtype=np.int64)
    if len(z) == 0:
        return total
    most = int(np.abs(z).max(initial=0))
    chunk = max(1, (1 << 53) // max(1, most * most))
    for start in range(0, len(z), chunk):
        part = z[start : start + chunk].astype(np.float64)
        total += (part.T @ part).astype(np.int64)
    return total


def correlations(noisy: Floats, noise: float, shape: SketchShape) -> Floats:
    """(d, d), positive definite with a diagonal of ones. noisy: (d (d - 1) / 2,) sums of z_i z_j, i < j; noise: of one."""
    d = len(shape.given)
    there = np.array([float((1 - given[-1]) @ shape.classes) for given in shape.given])
    first, second = np.triu_indices(d, 1)
    found = noisy / shape.n / np.maximum(there[first] * there[second], 0.05)
    typical = float(np.mean(found**2)) if len(found) else 0.0
    shrink = max(0.0, 1 - (noise / shape.n) ** 2 / typical) if typical > 0 else 0.0
    matrix = np.eye(d)
    matrix[first, second] = matrix[second, first] = np.clip(shrink * found, -0.98, 0.98)
    values, vectors = np.linalg.eigh(matrix)
    matrix = (vectors * np.maximum(values, 0.02)) @ vectors.T
    scale = 1 / np.sqrt(np.diag(matrix))
    return np.asarray(matrix * scale[:, None] * scale[None, :])
