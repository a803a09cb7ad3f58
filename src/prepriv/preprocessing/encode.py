"""One-hot codes and clipped features by declared facts: data-independent, so free.

Proof: docs/proofs/encode.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import LARGEST, Frozen, number, settle, shown
from prepriv._arrays import Floats
from prepriv._rounding import UP
from prepriv.columns import MISSING
from prepriv.preprocessing.base import ReleasedMap, RowShift, Step
from prepriv.preprocessing.scale_map import rest_radius
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space

MOST_CODES = 1 << 16  # of a feature: each is a cell of every row


@dataclass(frozen=True, eq=False)
class OneHotMap(StoredMap):
    """Feature columns[i], with counts[i] codes evenly spread over width[i] from low[i] on, to one-hot cells.

    The cells stand after the other features, the last of each group for a missing code.
    """

    written_as: ClassVar[str] = "one_hot"

    columns: NDArray[np.intp]
    counts: NDArray[np.intp]
    low: Floats
    width: Floats

    def transform(self, x: Floats) -> Floats:
        rest = np.ones(x.shape[1], dtype=bool)
        rest[self.columns] = False
        groups = [x[:, rest]]
        for j, count, low, width in zip(self.columns, self.counts, self.low, self.width):
            place = np.clip((x[:, j] - low) / width, 0.0, 1.0) * (count - 1)
            code = np.where(np.isnan(place), count, np.rint(np.nan_to_num(place))).astype(np.intp)
            groups.append((code[:, None] == np.arange(count + 1)).astype(np.float64))
        return np.hstack(groups)


@dataclass(frozen=True)
class OneHot(Step):
    """Turn numeric codes into one-hot cells, with a declared number of codes per feature and one more for missing. Free.

    Parameters
    ----------
    categories : mapping of str to int
        Feature name -> number k >= 2 of codes. The codes are evenly spread over the declared bounds of the feature
        (0, 1, ..., k - 1 in a column declared as Numeric(0, k - 1)). A value counts as the nearest code, so the step
        can also cut a feature into k bins.
    payment : None
        The step depends on no data.

    Raises
    ------
    ValueError
        For anything else.

    Notes
    -----
    Categories of a table do not need this step: declare them in the domain. Each feature becomes k + 1 cells at the
    end of the row. Proof: docs/proofs/encode.md.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> from prepriv.preprocessing import OneHot
    >>> space = prepriv.Domain.box(0, 2, features=1, classes=[0, 1]).space
    >>> OneHot({"x0": 3}).free(space).transform(np.array([[0.5]])).tolist()
    [[0.0, 1.0, 0.0, 0.0]]
    """

    categories: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.categories, Mapping) or not self.categories:
            raise ValueError("categories must map at least one feature name to its number of codes")
        for name, k in self.categories.items():
            if not isinstance(name, str) or isinstance(k, bool) or not isinstance(k, int) or k < 2:
                raise ValueError(
                    f"categories: {shown(name)} needs a whole number >= 2 of codes; got {shown(k)}"
                )
            if k > MOST_CODES:
                raise ValueError(f"categories: {shown(name)} may have {MOST_CODES} codes at most; got {k}")
        settle(self, categories=Frozen.of(self.categories))

    def _columns(self, space: Space) -> NDArray[np.intp]:
        names = list(space.names) or [f"x{j}" for j in range(space.d)]
        for name in self.categories:
            if name not in names:
                raise ValueError(f"OneHot: categories name {name!r}, which is not a feature here")
        return np.array([names.index(name) for name in self.categories], dtype=np.intp)

    def output(self, space: Space) -> Space:
        columns = self._columns(space)
        rest = np.ones(space.d, dtype=bool)
        rest[columns] = False
        cells = sum(self.categories.values()) + len(columns)
        names = [space.names[j] if space.names else f"x{j}" for j in np.flatnonzero(rest)]
        for name, k in self.categories.items():
            names += [f"{name}={c}" for c in [*range(k), MISSING]]
        return Space(
            np.concatenate([space.low[rest], np.zeros(cells)]),
            np.concatenate([space.high[rest], np.ones(cells)]),
            math.hypot(rest_radius(space, columns), math.sqrt(len(columns))),
            np.concatenate([space.may_miss[rest], np.zeros(cells, dtype=bool)]),
            tuple(names),
        )

    def lipschitz(self, space: Space) -> float:
        """Infinite, because a code jumps at the border between two values. See `propagate`."""
        return math.inf

    def propagate(self, space: Space, incoming: RowShift) -> RowShift:
        """In a moved row each code changes by at most sqrt(2). Its other features move as before."""
        return incoming.jumped(math.sqrt(2 * len(self.categories)) * UP)

    def free(self, space: Space) -> ReleasedMap:
        columns = self._columns(space)
        width = np.where(space.widths[columns] > 0, space.widths[columns], 1.0)
        counts = np.array(list(self.categories.values()), dtype=np.intp)
        return OneHotMap(columns, counts, space.low[columns].copy(), width)


@dataclass(frozen=True, eq=False)
class ClipMap(StoredMap):
    """Each feature clipped to [low, high], (d,); a missing cell stays missing."""

    written_as: ClassVar[str] = "clip_features"

    low: Floats
    high: Floats

    def transform(self, x: Floats) -> Floats:
        return np.asarray(np.clip(x, self.low, self.high))


@dataclass(frozen=True)
class ClipFeatures(Step):
    """Clip each feature to declared bounds. No two rows move apart, and the step is free.

    Parameters
    ----------
    low, high : float, default 0.0 and 1.0
        Bounds of every feature, in the units of the encoded matrix, low < high.
    payment : None
        The step depends on no data.

    Raises
    ------
    ValueError
        For bounds the wrong way round.

    Notes
    -----
    Proof: docs/proofs/encode.md.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> from prepriv.preprocessing import ClipFeatures
    >>> space = prepriv.Domain.box(0, 1, features=2, classes=[0, 1]).space
    >>> ClipFeatures(0.25, 0.75).free(space).transform(np.array([[0.0, 0.5]])).tolist()
    [[0.25, 0.5]]
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        low = number("low", self.low, at_least=-LARGEST, at_most=LARGEST)
        high = number("high", self.high, above=low, at_most=LARGEST)
        settle(self, low=low, high=high)

    def output(self, space: Space) -> Space:
        low, high = np.clip(space.low, self.low, self.high), np.clip(space.high, self.low, self.high)
        corner = float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high))))
        # A cell grows only where zero is clipped away, and then to the nearer bound at most.
        pushed = math.sqrt(space.d) * max(0.0, self.low, -self.high)
        radius = min(math.hypot(space.radius, pushed), corner)
        return Space(low, high, max(radius, 1e-12), space.may_miss, space.names)

    def lipschitz(self, space: Space) -> float:
        return 1.0

    def free(self, space: Space) -> ReleasedMap:
        after = self.output(space)
        return ClipMap(after.low, after.high)
