"""Bins of numeric columns: a fine grid that is found without the table, and bins made of its noisy counts.

Cells are those of the encoded column: its bounds are 0 and 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._rounding import DOWN
from prepriv.columns import Column, Numeric


def cells_of(column: Column) -> Floats:
    """The edges of the fine cells, from 0 to 1: 32 equal ones, finer towards both bounds and around zero."""
    assert isinstance(column, Numeric)
    edges = {i / 32 for i in range(33)}
    edges |= {2.0**-j for j in range(6, 13)} | {1 - 2.0**-j for j in range(6, 9)}
    zero = -column.low / (column.high - column.low)
    if 0 < zero < 1:
        edges |= {zero + side * 2.0**-j for j in range(6, 13) for side in (-1, 1)}
    return np.array(sorted(edge for edge in edges if 0 <= edge <= 1))


def cell_codes(unit: Floats, edges: Floats) -> NDArray[np.int64]:
    """The cell of each value, (n,); -1 for a missing one. A value at an edge is in the cell above it, 1 in the last one."""
    inside = np.clip(np.searchsorted(edges, unit, side="right") - 1, 0, len(edges) - 2)
    return np.where(np.isnan(unit), -1, inside)


def masses(noisy: Floats, edges: Floats, sigma: float) -> tuple[Floats, Floats]:
    """How much of a column each fine cell holds, (cells,): for its bins, and for values within a bin. Never zero.

    noisy: counts with noise of standard deviation sigma. A count within the noise is none. Where that leaves little, the width
    of a cell decides: for bins more of it, so that noise alone makes no narrow ones.
    """
    total = max(float(noisy.sum()), 1.0)
    counts = np.where(noisy < 1.5 * sigma, 0.0, noisy)
    spread = total * np.diff(edges)
    return counts + max(min(1.0, 6 * sigma / total), 1e-9) * spread, counts + 1e-9 * spread


def mass_bins(mass: Floats, edges: Floats, bins: int) -> Floats:
    """The edges of at most 2 bins + 1 bins, from 0 to 1, of about the same mass; a cell that holds as much alone is a bin."""
    enough = float(mass.sum()) / bins
    cuts, held = [0.0], 0.0
    for cell, own in enumerate(mass.tolist()):
        if own >= enough and held > 0:
            cuts.append(float(edges[cell]))
            held = 0.0
        held += own
        if held >= enough * DOWN:
            cuts.append(float(edges[cell + 1]))
            held = 0.0
    if cuts[-1] < 1.0:
        cuts.append(1.0)
    return np.array(cuts)
