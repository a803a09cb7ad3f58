"""A step of your own: winsorising, paid for in any of three ways. It is one file outside the package.

    steps: [{step: winsorize.Winsorize, pay: sensitivity, gap: 0.02}]      # in a schema, with this folder on PYTHONPATH

Every cell is pulled to between two quantiles of its column. This is the statement of its sensitivity, with its proof.
Take n rows of d columns without missing cells, m = floor(tail * n), and columns sorted as x_(1) <= ... <= x_(n).
The ends are x_(m+1) and x_(n-m). If one record is replaced, an end moves by a rank at most. So it moves by at most `gap` if
the values of the ranks next to it are at most `gap` away from it on both data sets (`NearEnds`). A common row that
lies between the ends of both data sets stays. At most m + 1 common rows lie at or beyond one end, and each of these
moves by at most `gap` in that column. Rows that come in moved by s move an end by s at most, and clipping between given ends
expands nothing. So s is added to gap, and what came in is added to what goes out, with every row counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv.domain import as_space
from prepriv.guarantees.premise import Premise
from prepriv.preprocessing.base import UNTOUCHED, ConfidentialMap, Identity, ReleasedMap, need_filled, need_n
from prepriv.space import Space

BINS = 64


def ends(x: np.ndarray, tail: float) -> tuple[np.ndarray, np.ndarray]:
    """The two ends of each column of (n, d) rows."""
    ascending, m = np.sort(x, axis=0), int(tail * len(x))
    return ascending[m], ascending[len(x) - 1 - m]


def whole(rows: Any) -> np.ndarray:
    """All rows, (n, d)."""
    return np.concatenate(list(rows))


@dataclass(frozen=True)
class NearEnds(Premise):
    """The values next to each end, by rank, are at most gap away from it."""

    tail: float
    gap: float
    low: tuple[float, ...]
    high: tuple[float, ...]

    def holds(self, rows: Any, n: int) -> bool:
        x, m = whole(rows), int(self.tail * n)
        padded = np.vstack([self.low, np.sort(x, axis=0), self.high])
        steps = np.diff(padded, axis=0)  # steps[r] is between ranks r and r + 1
        return bool(max(steps[at].max() for at in (m, m + 1, n - m - 1, n - m)) <= self.gap)

    @property
    def says(self) -> str:
        return (
            f"for Winsorize, in each column, the values next in rank to those of rank m + 1 and n - m, "
            f"m = floor({self.tail} n), are at most {self.gap} away from them (beyond the ends, the bounds)"
        )


@dataclass(frozen=True)
class Winsorized(ReleasedMap):
    """x -> x between low and high, column by column."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def transform(self, x: np.ndarray) -> np.ndarray:
        return np.clip(x, self.low, self.high)

    def to_json(self) -> dict[str, Any]:
        return {"map": "winsorized", "low": list(self.low), "high": list(self.high)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Winsorized:
        return cls(tuple(map(float, data["low"])), tuple(map(float, data["high"])))


@dataclass(frozen=True, eq=False)
class WinsorizedInside(ConfidentialMap):
    """The same with ends of private rows: it dies with the run."""

    low: np.ndarray
    high: np.ndarray

    def transform(self, x: np.ndarray) -> np.ndarray:
        return np.clip(x, self.low, self.high)


@dataclass(frozen=True, eq=False)
class WinsorizeCaps(pay.Caps):
    """gap: of the values next to the ends, in the units of the rows as they reach the step, above 0 (0: not declared)."""

    gap: float = 0.0


@dataclass(frozen=True)
class Winsorize(pre.Step):
    """Pull each cell to between two quantiles of its column. tail: share of the rows beyond each end, in (0, 0.5).

    Paid for by sensitivity with the declared cap `gap`, in the units of the rows as they reach the step. Nothing is needed at prediction then.
    """

    tail: float = 0.05

    ways: ClassVar[tuple[str, ...]] = pay.WAYS
    at_prediction: ClassVar[bool] = False
    Caps: ClassVar[type[WinsorizeCaps]] = WinsorizeCaps

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.tail, float) and 0 < self.tail < 0.5):
            raise ValueError(f"tail must lie in (0, 0.5); got {self.tail!r}")

    @property
    def after_drops(self) -> bool:
        return False

    @property
    def takes_any_order(self) -> bool:
        return True

    def output(self, space: Space) -> Space:
        need_filled(self.name, space)
        far = math.hypot(*np.maximum(abs(space.low), abs(space.high)))
        return Space(space.low, space.high, far * (1 + 1e-9), np.zeros(space.d, dtype=bool), space.names)

    def sensitivity(self, domain: Any, n: int, incoming: Any = None) -> pre.RowShift:
        space, n, incoming = as_space(domain), need_n(n), incoming or UNTOUCHED
        gap = self.Caps.of(self.name, self.paid).gap
        if not gap > 0:
            raise ValueError("Winsorize needs a declared cap: gap, in the units of the rows as they reach it")
        m, up = int(self.tail * n), 1 + 1e-9
        came = incoming.row_shift
        beyond = n - 1 if incoming.rows_moved else min(n - 1, 2 * space.d * (m + 1))
        row = math.sqrt(space.d) * (gap + came) * up
        condition = NearEnds(
            self.tail, gap, tuple(space.low.tolist()), tuple(space.high.tolist()), reading=space.reading
        )
        own = pre.RowShift(float(beyond), row, beyond * row * up, conditions=(condition,))
        return incoming.plus(own, n=n)

    def fit_confidential(self, rows: Any, space: Space, n: int) -> WinsorizedInside:
        return WinsorizedInside(*ends(whole(rows), self.tail))

    def fit_public(self, rows: Any, space: Space, n: int) -> Winsorized:
        low, high = ends(whole(rows), self.tail)
        return Winsorized(tuple(low.tolist()), tuple(high.tolist()))

    def l2_sensitivity(self, space: Space, adjacency: str, incoming: Any) -> float:
        """A row counts once in each column: two rows are at most sqrt(2 d) apart."""
        each = math.sqrt((2 if adjacency == "replace-one" else 1) * space.d)
        return each * (1 + incoming.rows_moved + incoming.rows_dropped) * (1 + 1e-9)

    def fit_budget(self, rows: Any, space: Space, n: int, mechanisms: Any) -> Winsorized:
        d, edges = space.d, np.linspace(0, 1, BINS + 1)

        def shares() -> Any:
            for x in rows:
                bins = np.clip(((x - space.low) / space.widths * BINS).astype(int), 0, BINS - 1)
                out = np.zeros((len(x), d, BINS))
                np.put_along_axis(out, bins[:, :, None], 1.0, axis=2)
                yield out.reshape(len(x), d * BINS)

        counts = mechanisms.sum(_Again(shares), dim=d * BINS, radius=math.sqrt(d)).reshape(d, BINS)
        below = np.cumsum(np.maximum(counts, 0.0), axis=1)
        at = below / np.maximum(below[:, -1:], 1e-9)
        low = edges[(at <= self.tail).sum(axis=1)]
        high = edges[np.minimum((at < 1 - self.tail).sum(axis=1) + 1, BINS)]
        return Winsorized(
            tuple((space.low + low * space.widths).tolist()),
            tuple((space.low + high * space.widths).tolist()),
        )

    def prediction_map(self, space: Space) -> ReleasedMap:
        return Identity()


@dataclass(frozen=True)
class _Again:
    """Rows that can be read again and again."""

    blocks: Any

    def __iter__(self) -> Any:
        return iter(self.blocks())
