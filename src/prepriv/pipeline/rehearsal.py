"""A rehearsal of third-party code on made-up rows, before any charge: mistakes, and what no claim covers.

A row is mapped, kept and learned from by itself: what a map or a loss makes of a row may depend on no other row, on no row
before it, and on its place only where places are public.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._copies import copied
from prepriv._kinds import check_class, is_ours
from prepriv.domain import TARGET_STEPS, Domain
from prepriv.engines.local import THREADS
from prepriv.exact.ball import row_norms
from prepriv.learners.base import Learner, Run, Setting
from prepriv.learners.losses import Loss
from prepriv.mechanisms.handle import Mechanisms, NotCovered
from prepriv.mechanisms.session import ExactSession, Metered, Session, SpentError
from prepriv.pipeline.chain import PlannedStep
from prepriv.pipeline.handed import Inside, check_fitted, handed, mechanisms_of
from prepriv.pipeline.rows import OpenRows
from prepriv.preprocessing.base import FittedMap, Floats, ReleasedMap, Rows
from prepriv.space import Space

_FEW, _MORE = 8, 256  # made-up rows; more where few are the reason that code fails
_CELLS = 2**20
_MISTAKES = (TypeError, NameError, AttributeError, NotImplementedError, ImportError, AssertionError)
_ROUNDING = 1e-9  # of what is made of a row in blocks of other sizes
_STARTS = (*range(65), 99, 100, 127, 128, 255, 256, 999, 1000, 1023, 1024, 4096, 10**4, 10**5, 10**6, 10**9)


_ROWS = np.arange(_FEW)
_OTHERS = [
    (mine, np.where(mine, _ROWS, other))
    for mine in (_ROWS % 2 == 0, _ROWS % 2 == 1, _ROWS % 3 == 0, _ROWS % 3 == 1, _ROWS < 4, _ROWS >= 4)
    for other in (0, _FEW - 1)
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
    rows = _made_up(space, domain, _FEW)
    try:
        training, prediction = _fitted(planned, domain, n, private, rows)
    except _FewRows:
        more = _made_up(space, domain, max(_FEW, min(n, _MORE, _CELLS // space.d)))
        training, prediction = _fitted(planned, domain, n, private, more, enough=True)
    said = f"the map of {step.name}"
    x = _mapped(said, training, rows.x, planned.step.output(space))
    if not np.allclose(
        x, Inside(step.output(space)).transform(x), rtol=1e-6, atol=1e-6 * space.radius, equal_nan=True
    ):
        raise ValueError(f"{said} leaves the space that `output` declares of its rows")
    _check_each_row(said, lambda x: _array(said, training.transform(x)), rows.x)
    _check_kept(said, training, rows.x, domain)
    _mapped(f"{said} for new rows", prediction, rows.x, planned.step.output(space))
    _check_written(said, prediction, rows.x)


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
        if enough or isinstance(error, _MISTAKES):
            raise ValueError(
                f"the fit of {step.name} fails on {rows.n} made-up rows: {_told(error)}"
            ) from None
        raise _FewRows from None
    check_fitted(step, *made, access.session)
    check_class(type(made[1]))
    return made[0], copied(made[1])


def _told(error: Exception) -> str:
    """An error on made-up rows, which say nothing of a record."""
    return f"{type(error).__name__}: {error}"


def _made_up(space: Space, domain: Domain, n: int) -> OpenRows:
    """Rows along the diagonal of a space, those after the first few off it, the cells of every other row missing where they may
    be; with labels of every class."""
    x = np.linspace(space.low, space.high, n)
    off = np.modf(np.outer(np.arange(n - _FEW), np.sqrt(np.arange(space.d) + 0.5)))[0]
    x[_FEW:] = space.low + off * space.widths
    x *= np.minimum(1.0, space.radius / np.maximum(row_norms(x), space.radius))
    x[::2] = np.where(space.may_miss, np.nan, x[::2])
    return OpenRows(x, _targets(domain, n))


def _targets(domain: Domain, n: int) -> NDArray[np.int32]:
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
    session: Session = field(default_factory=ExactSession)

    @property
    def n(self) -> int:
        return self.rows.n

    @cached_property
    def handed(self) -> Rows:
        return handed(self.rows, self.planned.step)

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


def _array(said: str, made: Any) -> Floats:
    """What a map makes of rows, if it is an array of floats."""
    if not isinstance(made, np.ndarray) or made.dtype.kind != "f" or made.ndim != 2:
        raise ValueError(f"{said} must make an array of floats (rows, features); got {type(made).__name__}")
    return made


def _mapped(said: str, fitted: FittedMap, x: Floats, after: Space) -> Floats:
    """Made-up rows after a map; ValueError unless each gives one row of the declared width."""
    try:
        made = fitted.transform(x.copy())
    except Exception as error:
        raise ValueError(f"{said} fails on made-up rows of the declared space: {_told(error)}") from None
    if _array(said, made).shape != (len(x), after.d):
        raise ValueError(
            f"{said} must make one row of {after.d} numbers for each row, as the step declares, whatever the rows are (rows are "
            "dropped by `keep`)"
        )
    return made


def _check_each_row(said: str, make: Callable[..., NDArray[Any]], x: Floats, *beside: NDArray[Any]) -> None:
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
        same = same and np.allclose(whole, again, rtol=_ROUNDING, atol=_ROUNDING * size, equal_nan=True)
    if not same:
        raise ValueError(
            f"{said} must treat every row by itself: what it makes of a row depends on the other rows of its block, or on rows "
            "that it met before, so one record could move them all"
        )


def _check_kept(said: str, training: FittedMap, x: Floats, domain: Domain) -> None:
    """ValueError unless a map keeps a row whatever the other rows are, and wherever it stands if no place is public."""

    def kept(x: Floats, start: int) -> NDArray[np.bool_]:
        try:
            made: Any = training.keep(x.copy(), start)
        except Exception as error:
            raise ValueError(f"`keep` of {said} fails on made-up rows: {_told(error)}") from None
        if made is None:
            return np.ones(len(x), dtype=bool)
        if not isinstance(made, np.ndarray) or made.dtype != np.bool_ or made.shape != (len(x),):
            raise ValueError(
                f"`keep` of {said} must give None or an array of one truth value a row; got {type(made).__name__}"
            )
        return made

    whole = kept(x, 0)
    if domain.adjacency != "replace-one" and any((kept(x, start) != whole).any() for start in _STARTS):
        raise ValueError(
            f"{said} keeps rows by their places, and under {domain.adjacency} one record moves every place after it: keep them by "
            "their cells, or declare adjacency replace-one"
        )
    _check_each_row(
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
    from prepriv.release.maps import read_map, write_map

    try:
        text = json.dumps(write_map(prediction), sort_keys=True, allow_nan=False)
        back = read_map(json.loads(text))
        same = text == json.dumps(write_map(back), sort_keys=True, allow_nan=False)
        same = same and np.array_equal(
            prediction.transform(x.copy()), back.transform(x.copy()), equal_nan=True
        )
    except Exception as error:
        raise ValueError(f"{said} cannot be written to a model and read back: {_told(error)}") from None
    if not same:
        raise ValueError(
            f"{said} is another one after it was written to a model and read back: see to_json and from_json"
        )


@np.errstate(all="ignore")
def rehearse_training(
    learner: Learner, setting: Setting, domain: Domain, noise_multiplier: float, private: bool
) -> None:
    """ValueError for a third-party loss or learner that a run would refuse, or that no claim covers: it learns made-up rows."""
    if not is_ours(type(learner.loss)):
        _check_residual(learner.loss, setting, domain)
    if is_ours(type(learner)):
        return
    n = min(setting.n, max(_FEW, min(_MORE, _CELLS // setting.d)))
    rows = _made_up(Space.ball(setting.d, setting.radius), domain, max(n, _FEW))
    session: Session = ExactSession()
    if private:
        session = Metered(session, learner.name, learner.steps / noise_multiplier**2)
    try:
        room = THREADS.room(learner.grid(setting.radius, setting.n, setting.incoming), n, setting.d)
        blocks = [(rows.x[:n], rows.labels[:n], 0)]
        held = (
            room.load(blocks, n, learner.bias)
            if domain.unit is None
            else room.load_units(blocks, np.ones(n, np.int64), learner.bias)
        )
        run = Run(session, noise_multiplier)
        weights: Any = copied(learner, learner.loss).train(held, dataclasses.replace(setting, n=n), run)
    except (NotCovered, SpentError) as refused:
        raise ValueError(str(refused)) from None
    except Exception as error:
        if n == setting.n or isinstance(error, _MISTAKES):
            raise ValueError(f"{learner.name} fails on {n} made-up rows: {_told(error)}") from None
        return  # its batches, say, are larger
    shape = (setting.d + 1, setting.outputs)
    good = isinstance(weights, np.ndarray) and weights.dtype.kind == "f" and weights.shape == shape
    if not (good and np.isfinite(weights).all()):
        raise ValueError(
            f"{learner.name} must hand back weights as an array of finite floats of shape {shape}, the bias last; it does not on "
            "made-up rows"
        )


def _check_residual(loss: Loss, setting: Setting, domain: Domain) -> None:
    """ValueError unless the residual of a record is made of its own scores and target alone."""
    mine, said = copied(loss), f"the residual of {type(loss).__name__}"

    def residual(scores: Floats, targets: NDArray[Any]) -> NDArray[Any]:
        buffer = np.asfortranarray(scores)  # as in a run
        return _array(said, mine.residual(buffer, targets, out=buffer))

    scores = np.outer(np.linspace(-3.0, 3.0, _FEW), np.linspace(1.0, 2.0, setting.outputs))
    try:
        shape = residual(scores.copy(), _targets(domain, _FEW)).shape
    except Exception as error:
        raise ValueError(f"{said} fails on made-up scores: {_told(error)}") from None
    if shape != scores.shape:
        raise ValueError(f"{said} must have the shape of its scores, {scores.shape}; got {shape}")
    _check_each_row(said, residual, scores, _targets(domain, _FEW))
