"""Rows drawn from a sketch: codes, then values. Neither the seed nor the rows are secret."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from prepriv._arrays import Floats
from prepriv.sketches.pairs import Codes
from prepriv.sketches.public_numbers import PublicNumbers
from prepriv.sketches.tables import SketchShape

_FEWEST = 2  # rows of each class, and gaps of a column that has any


def draw_codes(
    shape: SketchShape,
    rows: int,
    generator: PublicNumbers,
    *,
    orders: Sequence[Codes],
    correlation: Floats | None,
    gaps: Sequence[bool],
) -> tuple[Codes, Codes]:
    """(codes (rows, d), classes (rows,)). gaps: which columns have a gap at least twice. Without correlations the columns
    are drawn one by one within a class."""
    labels = np.repeat(np.arange(len(shape.classes)), _whole(shape.classes, rows))
    codes = np.zeros((len(labels), len(shape.given)), dtype=np.int64)
    for y in range(len(shape.classes)):
        chosen = np.flatnonzero(labels == y)
        joint = None
        if correlation is not None:
            normal = generator.normal(len(chosen), len(shape.given))
            joint = ndtr(normal @ np.linalg.cholesky(correlation).T)
        for i, (given, order) in enumerate(zip(shape.given, orders)):
            places = _even(len(chosen), generator) if joint is None else joint[:, i]
            codes[chosen, i] = _codes(given[:, y], order, places, generator)
    for i, gap in enumerate(gaps):
        missing = len(shape.given[i]) - 1
        short = min(_FEWEST, len(codes)) - int((codes[:, i] == missing).sum())
        if gap and short > 0:
            there = np.flatnonzero(codes[:, i] != missing)
            codes[there[generator.permutation(len(there))[:short]], i] = missing
    for i, order in enumerate(orders):  # a column of gaps alone has nothing to be fitted on
        missing = len(order)
        if len(order) and (codes[:, i] == missing).sum() > len(codes) - _FEWEST:
            codes[:_FEWEST, i] = order[[0, -1]]
    mixed = generator.permutation(len(labels))
    return codes[mixed], labels[mixed]


def values_in_bins(
    codes: Codes, edges: Floats, cells: Floats, mass: Floats, generator: PublicNumbers
) -> Floats:
    """A number in [0, 1] within the bin of each code, as its fine cells are filled; NaN for the code after the last bin.

    edges: of the bins, which are some of those of the cells; mass: of the cells, none zero.
    """
    missing = codes >= len(edges) - 1
    at = np.where(missing, 0, codes)
    below = np.concatenate([[0.0], np.cumsum(mass)])
    ends = below[np.searchsorted(cells, edges)]
    found = np.interp(ends[at] + generator.uniform(len(codes)) * (ends[at + 1] - ends[at]), below, cells)
    return np.where(missing, np.nan, np.clip(found, edges[at], edges[at + 1]))


def _whole(p: Floats, rows: int) -> NDArray[np.int64]:
    """Whole numbers near rows * p that add up to rows, where that leaves each class its few."""
    exact = p * rows
    found = np.floor(exact).astype(np.int64)
    rest = rows - int(found.sum())
    found[np.argsort(found - exact, kind="stable")[:rest]] += 1
    return np.maximum(found, _FEWEST)


def _even(rows: int, generator: PublicNumbers) -> Floats:
    """Numbers in (0, 1), one in each of so many equal parts, mixed: shares of codes are met as well as rows allow."""
    return np.asarray((generator.permutation(rows) + generator.uniform(rows)) / max(rows, 1))


def _codes(p: Floats, order: Codes, places: Floats, generator: PublicNumbers) -> Codes:
    """A code for each place in its ordered distribution; missing, the last code, is drawn by itself."""
    missing = len(p) - 1
    there = np.cumsum(p[order])
    if there[-1] <= 0:
        return np.full(len(places), missing)
    at = np.minimum(np.searchsorted(there / there[-1], places, side="right"), len(order) - 1)
    gap = _even(len(places), generator) >= there[-1] / (there[-1] + p[missing])
    return np.where(gap, missing, order[at])
