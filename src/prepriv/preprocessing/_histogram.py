"""Private quantiles of bounded columns from one noisy sum: histograms whose cells overlap linearly.

A value x lies between two nodes and is shared between them in proportion, so a row that moves a little
changes the histogram a little: the map is Lipschitz, where a plain histogram jumps.
Proof: docs/proofs/scale.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._rounding import FAR_UP
from prepriv.adjacency import Adjacency, n_is_public
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing.base import Rows, RowShift
from prepriv.space import Space

_CELLS = 64


@dataclass(frozen=True, eq=False)
class _Shares:
    """Rows (b, k * (CELLS + 1)): each observed cell shared between its two nodes; missing cells are zero."""

    rows: Rows
    columns: NDArray[np.intp]
    low: Floats
    width: Floats

    def __iter__(self) -> Iterator[Floats]:
        k = len(self.columns)
        for block in self.rows:
            x = (block[:, self.columns] - self.low) / self.width * _CELLS
            seen = ~np.isnan(x)
            x = np.clip(np.where(seen, x, 0.0), 0.0, _CELLS)
            node = np.minimum(x.astype(np.intp), _CELLS - 1)
            out = np.zeros((len(block), k, _CELLS + 1))
            i, j = np.ogrid[: len(block), :k]
            out[i, j, node] = np.where(seen, 1 - (x - node), 0.0)
            out[i, j, node + 1] = np.where(seen, x - node, 0.0)
            yield out.reshape(len(block), -1)


def histogram_shift(
    space: Space, columns: NDArray[np.intp], adjacency: Adjacency, incoming: RowShift
) -> float:
    """L2 sensitivity of the sum of shares: sqrt(2) (replace-one) or 1 a column; moved rows by their shift."""
    k = max(1, len(columns))
    jump = math.sqrt(2 * k)
    record = jump if n_is_public(adjacency) else math.sqrt(k)
    moved = 0.0
    if incoming.rows_moved > 0 and len(columns):
        per_unit = math.sqrt(2) * _CELLS / float(space.widths[columns].min())
        moved = min(incoming.rows_moved * jump, incoming.total_shift * per_unit)
    return (record + moved + jump * incoming.rows_dropped) * FAR_UP


def noise_of_median_rank(noise: float) -> float:
    """Standard deviation of the noise in how many observed cells lie below the released median, in records. noise: that of each node.

    The nodes below the median count half of it for, those above half of it against.
    """
    return noise * math.sqrt(_CELLS + 1) / 2


def noisy_quantiles(
    rows: Rows, space: Space, columns: NDArray[np.intp], levels: tuple[float, ...], mechanisms: Mechanisms
) -> Floats:
    """(levels, k) quantiles of the observed cells, inside the declared bounds; one call of the mechanism."""
    low, width, k = space.low[columns], space.widths[columns], len(columns)
    shares = mechanisms.sum(_Shares(rows, columns, low, width), dim=k * (_CELLS + 1), radius=math.sqrt(k))
    # Node i stands for the cell of values nearest to it: between it and its neighbours half way.
    edges = np.concatenate([[0.0], np.arange(_CELLS) + 0.5, [float(_CELLS)]]) / _CELLS
    out = np.empty((len(levels), k))
    for j, mass in enumerate(shares.reshape(k, _CELLS + 1)):
        below = np.concatenate([[0.0], np.maximum.accumulate(np.maximum(np.cumsum(mass), 0.0))])
        below += (
            np.arange(len(below)) * 1e-12 * max(below[-1], 1.0)
        )  # strictly increasing, so that interp is defined
        out[:, j] = low[j] + width[j] * np.interp(np.array(levels) * below[-1], below, edges)
    return out
