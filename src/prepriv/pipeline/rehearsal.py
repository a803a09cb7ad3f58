"""A rehearsal of third-party code on made-up rows, before any charge: mistakes, and what no claim covers.

A row is mapped, kept and learned from by itself: what a map or a loss makes of a row may depend on no other row, on no row
before it, and on its place only where places are public.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._copies import copied, nothing_noted
from prepriv._kinds import check_class, is_ours
from prepriv.domain import TARGET_STEPS, Domain
from prepriv.exact.ball import row_norms
from prepriv.mechanisms.handle import Mechanisms, NotCovered
from prepriv.mechanisms.session import MadeUpSession, Session, SpentError
from prepriv.pipeline.chain import PlannedStep
from prepriv.pipeline.handed import Inside, check_fitted, handed, mechanisms_of, placeless, singly
from prepriv.pipeline.rows import OpenRows
from prepriv.preprocessing.base import FittedMap, Floats, ReleasedMap, Rows
from prepriv.preprocessing.said import has_places, unplaced
from prepriv.space import Space
from prepriv.tables.table import BLOCK

FEW, MORE = 8, 256  # made-up rows; more where few are the reason that code fails
CELLS = 2**20
MISTAKES = (TypeError, NameError, AttributeError, NotImplementedError, ImportError, AssertionError)
ROUNDING = 1e-9  # of what is made of a row in blocks of other sizes
_STARTS = (*range(0, 2**14, BLOCK), 2**16, 2**20, 2**30)  # of blocks


_ROWS = np.arange(FEW)
_OTHERS = [
    (mine, np.where(mine, _ROWS, other))
    for mine in (_ROWS % 2 == 0, _ROWS % 2 == 1, _ROWS % 3 == 0, _ROWS % 3 == 1, _ROWS < 4, _ROWS >= 4)
    for other in (0, FEW - 1)
]
"""Which of a few rows stay, and which row stands in each place where all others are one and the same."""


@np.errstate(all="ignore")
def rehearse(planned: PlannedStep, domain: Domain, n: int, private: bool) -> None:
    """ValueError for a third-party step that a run would refuse, or whose map no claim covers: it is fitted on made-up rows.

    What its mechanisms refuse (`Mechanisms`), mistakes of its code, maps of the wrong kind, that no file could hold, that do not
    treat every row by itself, or whose rows are not where the step declares them.
    """
    step, space = planned.step, planned.before
    if is_ours(type(step)):
        return
    rows = made_up(space, domain, FEW)
    with nothing_noted(step):
        try:
            training, prediction = _fitted(planned, domain, n, private, rows)
        except _FewRows:
            more = made_up(space, domain, max(FEW, min(n, MORE, CELLS // space.d)))
            training, prediction = _fitted(planned, domain, n, private, more, enough=True)
        if not step.paid.leaves:
            _check_forgets(planned, domain, n, private, rows, prediction)
        if step.paid.test > 0:
            _check_distance(planned, domain, n, rows)
    with nothing_noted(training, prediction):
        _check_maps(planned, domain, rows, training, prediction)


def _check_maps(
    planned: PlannedStep, domain: Domain, rows: OpenRows, training: FittedMap, prediction: ReleasedMap
) -> None:
    """ValueError for maps of a third-party step that no claim covers."""
    step, space = planned.step, planned.before
    said = f"the map of {step.name}"
    x = _mapped(said, training, rows.x, planned.step.output(space))
    if not np.allclose(
        x, Inside(step.output(space)).transform(x), rtol=1e-6, atol=1e-6 * space.radius, equal_nan=True
    ):
        raise ValueError(f"{said} leaves the space that `output` declares of its rows")
    check_each_row(said, lambda x: array_of(said, training.transform(x)), rows.x)
    _check_kept(said, training, rows.x)
    if not has_places(domain, planned.incoming):
        _check_placeless(said, training, made_up(space, domain, BLOCK).x, unplaced(domain))
    new = f"{said} for new rows"
    _mapped(new, prediction, rows.x, planned.step.output(space))
    check_each_row(new, lambda x: array_of(new, prediction.transform(x)), rows.x)
    _check_written(said, prediction, rows.x)


def _check_distance(planned: PlannedStep, domain: Domain, n: int, rows: OpenRows) -> None:
    """ValueError unless the distance to data that break the caps is a number."""
    step = planned.step
    seen = handed(rows, step, singly(planned, domain))
    try:
        distance: Any = copied(step).distance(seen, planned.before, n, planned.incoming)
    except Exception as error:
        raise ValueError(f"the distance of {step.name} fails on made-up rows: {told(error)}") from None
    if isinstance(distance, bool) or not isinstance(distance, int | float | np.integer | np.floating):
        raise ValueError(
            f"the distance of {step.name} must be a number of records; got {type(distance).__name__}"
        )


def _check_forgets(
    planned: PlannedStep, domain: Domain, n: int, private: bool, rows: OpenRows, prediction: ReleasedMap
) -> None:
    """ValueError where the map for new rows of a step paid for by sensitivity follows from rows that it was fitted on before."""
    step, others = planned.step, OpenRows(np.repeat(rows.x[-1:], rows.n, axis=0), rows.labels)
    with suppress(ValueError, _FewRows):
        _fitted(planned, domain, n, private, others)
    if _written(copied(step).prediction_map(planned.before)) != _written(prediction):
        raise ValueError(
            f"the map of {step.name} for new rows follows from the rows of an earlier fit, which leave with it: make it of the "
            "declared space alone"
        )


def _written(released: ReleasedMap) -> str:
    from prepriv.release.maps import write_map

    return json.dumps(write_map(released), sort_keys=True, allow_nan=False)


class _FewRows(Exception):
    """A fit failed, perhaps for want of rows."""


def _fitted(
    planned: PlannedStep, domain: Domain, n: int, private: bool, rows: OpenRows, enough: bool = False
) -> tuple[FittedMap, ReleasedMap]:
    """The maps that a copy of the step makes of made-up rows, of the kinds that it must make. enough: no error is excused."""
    step, access = planned.step, _Rehearsal(planned, domain, n, private, rows)
    try:
        made = step.paid.fit(copied(step), planned.before, access)
    except (NotCovered, SpentError) as refused:
        raise ValueError(str(refused)) from None
    except Exception as error:
        if enough or isinstance(error, MISTAKES):
            raise ValueError(
                f"the fit of {step.name} fails on {rows.n} made-up rows: {told(error)}"
            ) from None
        raise _FewRows from None
    check_fitted(step, *made, access.session)
    check_class(type(made[1]))
    return made[0], copied(made[1])


def told(error: Exception) -> str:
    """An error on made-up rows, which say nothing of a record."""
    return f"{type(error).__name__}: {error}"


def made_up(space: Space, domain: Domain, n: int) -> OpenRows:
    """Rows along the diagonal of a space, those after the first few off it, the cells of every other row missing where they may
    be; with labels of every class."""
    x = np.linspace(space.low, space.high, n)
    off = np.modf(np.outer(np.arange(n - FEW), np.sqrt(np.arange(space.d) + 0.5)))[0]
    x[FEW:] = space.low + off * space.widths
    x *= np.minimum(1.0, space.radius / np.maximum(row_norms(x), space.radius))
    x[::2] = np.where(space.may_miss, np.nan, x[::2])
    return OpenRows(x, targets_of(domain, n))


def targets_of(domain: Domain, n: int) -> NDArray[np.int32]:
    """Labels of every class, or targets between the declared bounds."""
    if domain.target is not None:
        return np.linspace(0, TARGET_STEPS, n).astype(np.int32)
    return (np.arange(n) % max(len(domain.classes), 1)).astype(np.int32)


@dataclass(frozen=True, eq=False)
class _Rehearsal:
    """What a fit on made-up rows sees (`payment.Access`): with the limits of the run, and without its noise."""

    planned: PlannedStep
    domain: Domain
    records: int
    noisy: bool
    rows: OpenRows
    session: Session = field(default_factory=MadeUpSession)

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

    def mechanisms(self) -> Mechanisms:
        return mechanisms_of(
            self.planned,
            self.domain,
            self.records,
            self.noisy,
            self.session,
            self.handed,
            self.rows.n,
            self.rows.labels,
        )


def array_of(said: str, made: Any) -> Floats:
    """What a map makes of rows, if it is an array of floats."""
    if not isinstance(made, np.ndarray) or made.dtype.kind != "f" or made.ndim != 2:
        raise ValueError(f"{said} must make an array of floats (rows, features); got {type(made).__name__}")
    return made


def _mapped(said: str, fitted: FittedMap, x: Floats, after: Space) -> Floats:
    """Made-up rows after a map; ValueError unless each gives one row of the declared width."""
    try:
        made = fitted.transform(x.copy())
    except Exception as error:
        raise ValueError(f"{said} fails on made-up rows of the declared space: {told(error)}") from None
    if array_of(said, made).shape != (len(x), after.d):
        raise ValueError(
            f"{said} must make one row of {after.d} numbers for each row, as the step declares, whatever the rows are (rows are "
            "dropped by `keep`)"
        )
    return made


def check_each_row(said: str, make: Callable[..., NDArray[Any]], x: Floats, *beside: NDArray[Any]) -> None:
    """ValueError unless `make` makes the same of a row whatever the other rows are, wherever it stands, and each time.

    Bit for bit in a block of one size; up to rounding in others. beside: other arrays of one entry a row.
    """
    rows = (x, *beside)

    def made(choose: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
        return make(*(np.array(choose(a), order="C") for a in rows))

    whole = made(lambda a: a)
    same = np.array_equal(whole, made(lambda a: a), equal_nan=True)
    for mine, at in _OTHERS:
        same = same and np.array_equal(whole[mine], made(lambda a, at=at: a[at])[mine], equal_nan=True)  # type: ignore[misc]
    alone = np.concatenate([made(lambda a, i=i: a[i : i + 1]) for i in range(len(x))])  # type: ignore[misc]
    size = np.nanmax(np.abs(whole), initial=0.0)
    for again in (alone, made(lambda a: a[::-1])[::-1]):
        same = same and np.allclose(whole, again, rtol=ROUNDING, atol=ROUNDING * size, equal_nan=True)
    if not same:
        raise ValueError(
            f"{said} must treat every row by itself: what it makes of a row depends on the other rows of its block, or on rows "
            "that it met before, so one record could move them all"
        )


def _kept(said: str, training: FittedMap, x: Floats, start: int) -> NDArray[np.bool_]:
    """Which made-up rows a map keeps, if it says that as it must."""
    try:
        made: Any = training.keep(x.copy(), start)
    except Exception as error:
        raise ValueError(f"`keep` of {said} fails on made-up rows: {told(error)}") from None
    if made is None:
        return np.ones(len(x), dtype=bool)
    if not isinstance(made, np.ndarray) or made.dtype != np.bool_ or made.shape != (len(x),):
        raise ValueError(
            f"`keep` of {said} must give None or an array of one truth value a row; got {type(made).__name__}"
        )
    return made


def _check_placeless(said: str, training: FittedMap, x: Floats, why: str) -> None:
    """ValueError unless a map makes of a row the same bits, and keeps it or not, in each place of a block.

    Where places are not public a run shows it no other blocks (`placeless`), whatever their places in the table.
    """
    shown = placeless(training)
    made, kept = shown.transform(x.copy()), _kept(said, shown, x, 0)
    for by in (1, 5, 128):
        turned = np.roll(x, by, axis=0)
        if not np.array_equal(np.roll(made, by, axis=0), shown.transform(turned.copy()), equal_nan=True):
            raise ValueError(
                f"{said} makes other bits of a row in other places of its block, and {why}: let it sum along each row, not by a "
                "product of matrices"
            )
    rows = [np.repeat(x[i : i + 1], BLOCK, axis=0) for i in range(FEW)]
    same = all((_kept(said, shown, row, 0) == kept[i]).all() for i, row in enumerate(rows))
    if not same or any((_kept(said, training, x, start) != kept).any() for start in _STARTS):
        raise ValueError(f"{said} keeps rows by their places, and {why}: keep them by their cells")


def _check_kept(said: str, training: FittedMap, x: Floats) -> None:
    """ValueError unless a map keeps a row whatever the other rows are."""

    def kept(x: Floats, start: int) -> NDArray[np.bool_]:
        return _kept(said, training, x, start)

    whole = kept(x, 0)
    check_each_row(
        said,
        lambda x, at: np.concatenate([kept(x[i : i + 1], int(at[i])) for i in range(len(x))]),
        x,
        np.arange(len(x)),
    )
    if any((kept(x[at], 0) != whole)[mine].any() for mine, at in _OTHERS):
        raise ValueError(
            f"{said} must keep every row by itself: whether it does depends on the other rows of its block"
        )


def _check_written(said: str, prediction: ReleasedMap, x: Floats) -> None:
    """ValueError unless a model file gives the map back: now, and not when a model that was paid for is saved."""
    from prepriv.release.maps import read_map

    try:
        text = _written(prediction)
        back = read_map(json.loads(text))
        same = text == _written(back)
        same = same and np.array_equal(
            copied(prediction).transform(x.copy()), back.transform(x.copy()), equal_nan=True
        )
        same = same and text == _written(prediction)  # a copy of it mapped rows: nothing but a copy may know
    except Exception as error:
        raise ValueError(f"{said} cannot be written to a model and read back: {told(error)}") from None
    if not same:
        raise ValueError(
            f"{said} is another one after it was written to a model and read back: see to_json and from_json"
        )
