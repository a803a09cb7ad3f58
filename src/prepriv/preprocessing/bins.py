"""Numbers to codes of the bins they fall into, for models that are sums of a function of each column.

One-hot cells, or smooth codes, in which neighbouring bins are near each other: then what is learned of one bin says something
of its neighbours, and noise moves them together. Proof: docs/proofs/bins.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import Frozen, integer, names, number, numbers, settle, shown, truth
from prepriv._arrays import Floats
from prepriv._rounding import FAR_UP, UP
from prepriv.adjacency import Adjacency
from prepriv.columns import MISSING
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing._columns import sorted_columns
from prepriv.preprocessing._histogram import histogram_shift, noisy_quantiles
from prepriv.preprocessing.base import ReleasedMap, Rows, RowShift, Step
from prepriv.preprocessing.scale_map import rest_radius
from prepriv.space import Space

_MOST_BINS, _MOST_CELLS = 1024, 1 << 17  # of a feature, of all: each is a cell of every row


@functools.lru_cache(maxsize=256)
def codes(bins: int, smooth: float | None) -> Floats:
    """The codes of so many bins, (bins, bins), of norm 1 at most: one-hot cells for None.

    Else unit rows whose inner products are smooth^|i - j|, less their mean, divided by the largest norm. They are those of a
    stationary autoregressive process: code i is smooth times code i - 1 plus sqrt(1 - smooth^2) times unit vector i.
    """
    out = np.eye(bins)
    if smooth is not None:
        for i in range(1, bins):
            out[i] = smooth * out[i - 1]
            out[i, i] = math.sqrt(1 - smooth * smooth)
        out = out - out.mean(axis=0)
        out = np.asarray(out / np.sqrt((out * out).sum(axis=1)).max())
    out.flags.writeable = False
    return out


def _diameter(bins: int, smooth: float | None, gap: bool) -> float:
    """Largest distance of two codes, that of a missing cell included."""
    if smooth is None:
        return math.sqrt(2.0)
    first, last = codes(bins, smooth)[[0, -1]]
    return max(math.sqrt(2.0) if gap else 0.0, float(np.linalg.norm(first - last)))


def _checked(smooth: Any) -> float | None:
    return None if smooth is None else number("smooth", smooth, at_least=0.0, at_most=0.9999)


@dataclass(frozen=True, eq=False)
class BinCodes(ReleasedMap):
    """Features `columns`, (k,), to the codes of their bins, after the other features; beside: after all features.

    counts: (k,) inner edges of each. edges: all of them, ascending within each. gaps: (k,), 1 where a missing cell has a
    cell of its own, the last. A value on an edge is in the bin above it.
    """

    columns: NDArray[np.intp]
    counts: NDArray[np.intp]
    edges: Floats
    gaps: NDArray[np.intp]
    smooth: float | None
    beside: bool = False

    def __post_init__(self) -> None:
        k = len(self.columns)
        fits = self.columns.shape == self.counts.shape == self.gaps.shape == (k,)
        if (
            not fits
            or (self.columns < 0).any()
            or (self.counts < 0).any()
            or (self.counts >= _MOST_BINS).any()
        ):
            raise ValueError("columns, counts and gaps do not fit together")
        if self.edges.shape != (int(self.counts.sum()),) or _checked(self.smooth) != self.smooth:
            raise ValueError("edges and counts do not fit together")
        if any(not np.isfinite(e).all() or (np.diff(e) < 0).any() for e in self.split()):
            raise ValueError("edges must be finite and ascending")

    def split(self) -> list[Floats]:
        """The inner edges of each column."""
        return np.split(self.edges, np.cumsum(self.counts)[:-1])

    def transform(self, x: Floats) -> Floats:
        rest = np.ones(x.shape[1], dtype=bool)
        rest[self.columns] = self.beside
        groups = [x[:, rest]]
        for j, edges, gap in zip(self.columns, self.split(), self.gaps):
            missing = np.isnan(x[:, j])
            code = codes(len(edges) + 1, self.smooth)[
                np.searchsorted(edges, x[:, j], "right").clip(0, len(edges))
            ]
            code[missing] = 0.0
            groups.append(code)
            if gap:
                groups.append(missing[:, None].astype(np.float64))
        return np.hstack(groups)

    def to_json(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).tolist() for name in ("columns", "counts", "edges", "gaps")}
        return {"map": "bins", "smooth": self.smooth, **arrays} | ({"beside": True} if self.beside else {})


@dataclass(frozen=True)
class _Binned(Step):
    """What bins of declared and of found edges share."""

    def _columns(self, space: Space) -> NDArray[np.intp]:
        raise NotImplementedError

    def _smooth(self) -> float | None:
        raise NotImplementedError

    def _counts(self, space: Space) -> list[int]:
        """Inner edges of each column."""
        raise NotImplementedError

    def _beside(self) -> bool:
        """Whether codes stand beside the numbers, not in their place."""
        return False

    def _map(self, space: Space, edges: Sequence[Floats]) -> ReleasedMap:
        columns = self._columns(space)
        counts = np.array([len(e) for e in edges], dtype=np.intp)
        gaps = space.may_miss[columns].astype(np.intp)
        every = np.concatenate([*edges, np.zeros(0)])
        return BinCodes(columns, counts, every, gaps, self._smooth(), self._beside())

    def output(self, space: Space) -> Space:
        columns = self._columns(space)
        rest = np.ones(space.d, dtype=bool)
        rest[columns] = self._beside()
        known = list(space.names) or [f"x{j}" for j in range(space.d)]
        found = [known[j] for j in np.flatnonzero(rest)]
        for j, count in zip(columns, self._counts(space)):
            cells = [*range(count + 1), *([MISSING] if space.may_miss[j] else [])]
            found += [f"{known[j]}={c}" for c in cells]
        new = len(found) - int(rest.sum())
        if new > _MOST_CELLS:
            raise ValueError(
                f"{self.name} would make {new} cells, more than {_MOST_CELLS}: fewer bins, or fewer columns"
            )
        return Space(
            np.concatenate([space.low[rest], np.full(new, 0.0 if self._smooth() is None else -1.0)]),
            np.concatenate([space.high[rest], np.ones(new)]),
            math.hypot(rest_radius(space, np.flatnonzero(~rest)), math.sqrt(len(columns))) * UP,
            np.concatenate([space.may_miss[rest], np.zeros(new, dtype=bool)]),
            tuple(found),
        )

    def lipschitz(self, space: Space) -> float:
        """None: a code jumps at an edge. See `propagate`."""
        return math.inf

    def propagate(self, space: Space, incoming: RowShift) -> RowShift:
        """A moved row changes each of its codes, by their diameter at most; its other features move as before."""
        ways = zip(self._columns(space), self._counts(space))
        wide = [_diameter(count + 1, self._smooth(), bool(space.may_miss[j])) for j, count in ways]
        jump = math.hypot(*wide) * FAR_UP
        return incoming.jumped(jump)


def _named(step: str, given: Sequence[str], space: Space) -> NDArray[np.intp]:
    known = list(space.names) or [f"x{j}" for j in range(space.d)]
    for name in given:
        if name not in known:
            raise ValueError(f"{step}: {name!r} is not a feature here")
    at = np.array([known.index(name) for name in given], dtype=np.intp)
    if (space.widths[at] <= 0).any():
        raise ValueError(f"{step}: a column has declared bounds without width; leave it out")
    return at


@dataclass(frozen=True)
class Bins(_Binned):
    """Replace each named feature by the code of its bin, with declared edges. Free.

    Parameters
    ----------
    edges : mapping of str to sequence of float, or to int
        Feature name -> inner edges, ascending, in the units of the rows as they reach the step (0 to 1 for a number
        that was just encoded). Or the number of bins, which are then evenly spread over the declared bounds.
    smooth : float, optional
        In [0, 0.9999]: how alike the codes of neighbouring bins are (`codes`). None: one-hot.
    beside : bool, default False
        Whether the number itself stays as a feature beside the code.
    payment : None
        The step depends on no data.

    Raises
    ------
    ValueError
        For anything else.

    Notes
    -----
    Missing values have a bin of their own. Proof: docs/proofs/bins.md.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> from prepriv.preprocessing import Bins
    >>> space = prepriv.Domain.box(0, 100, 2, [0, 1]).space
    >>> Bins({"x1": [0.25, 0.5]}).free(space).transform(np.array([[0.1, 0.3]])).tolist()
    [[0.1, 0.0, 1.0, 0.0]]
    """

    edges: Mapping[str, Any] = field(default_factory=dict)
    smooth: float | None = None
    beside: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, smooth=_checked(self.smooth), beside=truth("beside", self.beside))
        if not isinstance(self.edges, Mapping) or not self.edges:
            raise ValueError("edges must map at least one feature name to edges or a number of bins")
        checked: dict[str, Any] = {}
        for name, given in self.edges.items():
            if not isinstance(name, str):
                raise ValueError(f"edges: {shown(name)} is not the name of a feature")
            if isinstance(given, Sequence) and not isinstance(given, str):
                found = numbers(f"edges of {name!r}", given)
                if found.ndim != 1 or not 0 < len(found) < _MOST_BINS or (np.diff(found) <= 0).any():
                    raise ValueError(
                        f"edges of {name!r} must be 1 to {_MOST_BINS - 1} ascending numbers; got {shown(given)}"
                    )
                checked[name] = tuple(found.tolist())
            else:
                checked[name] = integer(f"edges of {name!r}", given, at_least=2, at_most=_MOST_BINS)
        settle(self, edges=Frozen.of(checked))

    def _columns(self, space: Space) -> NDArray[np.intp]:
        return _named(self.name, list(self.edges), space)

    def _smooth(self) -> float | None:
        return self.smooth

    def _beside(self) -> bool:
        return self.beside

    def _counts(self, space: Space) -> list[int]:
        return [e - 1 if isinstance(e, int) else len(e) for e in self.edges.values()]

    def free(self, space: Space) -> ReleasedMap:
        edges = []
        for j, given in zip(self._columns(space), self.edges.values()):
            low, high = float(space.low[j]), float(space.high[j])
            edges.append(
                np.linspace(low, high, given + 1)[1:-1] if isinstance(given, int) else np.array(given)
            )
        return self._map(space, edges)


@dataclass(frozen=True)
class QuantileBins(_Binned):
    """Replace each named feature by the code of its bin. The edges lie half by rank and half evenly.

    Parameters
    ----------
    bins : int, default 32
        How many bins each feature has.
    columns : sequence of str, optional
        Names of the features. None: all of them.
    smooth : float, optional
        In [0, 0.9999]: how alike the codes of neighbouring bins are (`codes`). None: one-hot.
    payment : Public or Budget
        How the edges are paid for. By budget they come from one noisy histogram of all columns.

    Raises
    ------
    ValueError
        For a setting outside these ranges, or another payment.

    Notes
    -----
    The edges are quantiles of an equal mixture of the rows and the uniform distribution. Missing values have a bin of
    their own. Proof: docs/proofs/bins.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import QuantileBins
    >>> space = prepriv.Domain.box(0, 100, 2, [0, 1]).space
    >>> QuantileBins(bins=8, payment=prepriv.Budget()).output(space).d
    16
    """

    bins: int = 32
    columns: tuple[str, ...] | None = None
    smooth: float | None = None

    ways: ClassVar[tuple[str, ...]] = ("public", "budget")
    why_not: ClassVar[dict[str, str]] = {
        "sensitivity": "the model needs the edges on new rows, so they have to be released"
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, bins=integer("bins", self.bins, at_least=2, at_most=_MOST_BINS))
        settle(self, smooth=_checked(self.smooth))
        if self.columns is not None:
            settle(self, columns=names("columns", self.columns))

    def _columns(self, space: Space) -> NDArray[np.intp]:
        known = list(space.names) or [f"x{j}" for j in range(space.d)]
        return _named(self.name, known if self.columns is None else self.columns, space)

    def _smooth(self) -> float | None:
        return self.smooth

    def _counts(self, space: Space) -> list[int]:
        return [self.bins - 1] * len(self._columns(space))

    def _levels(self) -> Floats:
        return np.linspace(0.0, 1.0, 4 * self.bins + 1)

    def _mixed(self, space: Space, quantiles: Floats) -> ReleasedMap:
        """Edges from quantiles, (levels, k): where half the rank plus half the share of the width is j / bins."""
        columns, edges = self._columns(space), []
        for j, found in zip(columns, np.maximum.accumulate(quantiles, axis=0).T):
            low, high = float(space.low[j]), float(space.high[j])
            found = np.clip(found, low, high)
            mass = self._levels() / 2 + (found - low) / (high - low) / 2
            at = np.concatenate([[low], found, [high]])
            edges.append(
                np.interp(np.arange(1, self.bins) / self.bins, np.concatenate([[0.0], mass, [1.0]]), at)
            )
        return self._map(space, edges)

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        columns = self._columns(space)
        found = np.empty((len(self._levels()), len(columns)))
        for at, (j, cells) in enumerate(sorted_columns(rows, columns, n)):
            some = cells if len(cells) else np.array([space.low[j], space.high[j]])
            found[:, at] = np.quantile(some, self._levels())
        return self._mixed(space, found)

    def l2_sensitivity(self, space: Space, adjacency: Adjacency, incoming: RowShift) -> float:
        return histogram_shift(space, self._columns(space), adjacency, incoming)

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        columns = self._columns(space)
        found = noisy_quantiles(rows, space, columns, tuple(self._levels()), mechanisms)
        return self._mixed(space, found)
