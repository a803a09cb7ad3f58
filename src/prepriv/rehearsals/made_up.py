"""Made-up rows of a declared space, what a fit on them sees, and whether code treats every row by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.domain import TARGET_STEPS, Domain
from prepriv.exact.ball import row_norms
from prepriv.mechanisms.handle import Mechanisms
from prepriv.mechanisms.session import MadeUpSession, Session
from prepriv.placed.chain import PlannedStep
from prepriv.placed.handed import handed, mechanisms_of, singly
from prepriv.placed.rows import OpenRows
from prepriv.preprocessing.base import Rows
from prepriv.space import Space

FEW, SOME, MORE = (
    8,
    64,
    256,
)  # made-up rows; more where few are the reason that code fails, or hide what it does
CELLS = 2**20
MISTAKES = (TypeError, NameError, AttributeError, NotImplementedError, ImportError, AssertionError)
ROUNDING = 1e-9  # of what is made of a row in blocks of other sizes


_ROWS = np.arange(FEW)
OTHERS = [
    (mine, np.where(mine, _ROWS, other))
    for mine in (_ROWS % 2 == 0, _ROWS % 2 == 1, _ROWS % 3 == 0, _ROWS % 3 == 1, _ROWS < 4, _ROWS >= 4)
    for other in (0, FEW - 1)
]
"""Which of a few rows stay, and which row stands in each place where all others are one and the same."""


def told(error: Exception) -> str:
    """An error on made-up rows, which say nothing about a record."""
    return f"{type(error).__name__}: {error}"


@dataclass(frozen=True, eq=False)
class MadeUp(OpenRows):
    """The same in two blocks, since a run has many."""

    def __iter__(self) -> Iterator[Floats]:
        half = self.n // 2 + 1
        yield self.x[:half].copy()
        yield self.x[half:].copy()


def made_up(space: Space, domain: Domain, n: int) -> MadeUp:
    """Rows along the diagonal of a space, those after the first few off it, the cells of every other row missing where they may
    be; with labels of every class."""
    x = np.linspace(space.low, space.high, n)
    off = np.modf(np.outer(np.arange(n - FEW), np.sqrt(np.arange(space.d) + 0.5)))[0]
    x[FEW:] = space.low + off * space.widths
    x *= np.minimum(1.0, space.radius / np.maximum(row_norms(x), space.radius))
    x[::2] = np.where(space.may_miss, np.nan, x[::2])
    return MadeUp(x, targets_of(domain, n))


def targets_of(domain: Domain, n: int) -> NDArray[np.int32]:
    """Labels of every class, or targets between the declared bounds."""
    if domain.target is not None:
        return np.linspace(0, TARGET_STEPS, n).astype(np.int32)
    return (np.arange(n) % max(len(domain.classes), 1)).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What a fit on made-up rows sees (`payment.Access`): with the limits of the run, and without its noise.

    seen: what its mechanisms are handed, block by block.
    """

    planned: PlannedStep
    domain: Domain
    records: int
    noisy: bool
    rows: MadeUp
    session: Session = field(default_factory=MadeUpSession)
    seen: list[Floats] = field(default_factory=list)

    @property
    def n(self) -> int:
        return self.rows.n

    @cached_property
    def handed(self) -> Rows:
        return handed(self.rows, self.planned.step, singly(self.planned, self.domain))

    def public(self, data: Any) -> tuple[Rows, int]:
        return self.handed, self.n

    def private(self) -> Rows:
        return self.handed

    def sketch(self) -> Any:
        raise TypeError("a sketch is for the transformers of scikit-learn, which are not rehearsed here")

    def mechanisms(self) -> Mechanisms:
        plain = mechanisms_of(
            self.planned,
            self.domain,
            self.records,
            self.noisy,
            self.session,
            self.handed,
            self.rows.n,
            self.rows.labels,
        )
        return _Watched(**{f.name: getattr(plain, f.name) for f in fields(plain)}, seen=self.seen)


@dataclass(frozen=True)
class _Watched(Mechanisms):
    """Mechanisms that keep a copy of what they are handed."""

    seen: list[Floats]

    def floats(self, values: Any) -> Floats:
        made = super().floats(values)
        self.seen.append(made.copy())
        return made


def array_of(said: str, made: Any) -> Floats:
    """What a map gives for rows, if it is an array of floats."""
    if not isinstance(made, np.ndarray) or made.dtype.kind != "f" or made.ndim != 2:
        raise ValueError(f"{said} must make an array of floats (rows, features); got {type(made).__name__}")
    return made


def check_each_row(said: str, make: Callable[..., NDArray[Any]], x: Floats, *beside: NDArray[Any]) -> None:
    """ValueError unless `make` gives the same result for a row whatever the other rows are, wherever it stands, and each time.

    Bit for bit in a block of one size; up to rounding in others. beside: other arrays of one entry a row.
    """
    rows = (x, *beside)

    def made(choose: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
        return make(*(np.array(choose(a), order="C") for a in rows)).copy()  # it may use its array again

    whole = made(lambda a: a)
    same = np.array_equal(whole, made(lambda a: a), equal_nan=True)
    for mine, at in OTHERS:
        same = same and np.array_equal(whole[mine], made(lambda a, at=at: a[at])[mine], equal_nan=True)  # type: ignore[misc]
    alone = np.concatenate([made(lambda a, i=i: a[i : i + 1]) for i in range(len(x))])  # type: ignore[misc]
    size = np.nanmax(np.abs(whole), initial=0.0)
    for again in (alone, made(lambda a: a[::-1])[::-1]):
        same = same and np.allclose(whole, again, rtol=ROUNDING, atol=ROUNDING * size, equal_nan=True)
    if not same:
        raise ValueError(
            f"{said} must treat every row by itself: what it gives for a row depends on the other rows of its block, or on rows "
            "that it met before, so one record could move them all"
        )
