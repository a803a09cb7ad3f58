"""A rehearsal of third-party code on made-up rows, before any charge: mistakes, and what no claim covers.

A row is mapped, kept and learned from by itself: what a map or a loss gives for a row may depend on no other row, on no row
before it, and on its place only where places are public.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._copies import copied, nothing_noted
from prepriv._kinds import check_class, is_ours
from prepriv.domain import Domain
from prepriv.mechanisms.handle import NotCovered
from prepriv.mechanisms.session import SpentError
from prepriv.placed.chain import PlannedStep
from prepriv.placed.handed import Inside, check_fitted, placeless
from prepriv.placed.rows import OpenRows
from prepriv.preprocessing.base import FittedMap, ReleasedMap
from prepriv.preprocessing.maps import read_map, text_of_map
from prepriv.preprocessing.said import has_places, unplaced
from prepriv.rehearsals.made_up import (
    CELLS,
    FEW,
    MISTAKES,
    MORE,
    OTHERS,
    ROUNDING,
    SOME,
    MadeUp,
    Rehearsal,
    array_of,
    check_each_row,
    made_up,
    told,
)
from prepriv.rehearsals.tested import check_distance
from prepriv.space import Space
from prepriv.tables.table import BLOCK

_STARTS = (*range(0, 2**14, BLOCK), 2**16, 2**20, 2**30)  # of blocks


@np.errstate(all="ignore")
def rehearse(planned: PlannedStep, domain: Domain, n: int, private: bool, release: bool = True) -> None:
    """ValueError for a third-party step that a run would refuse, or whose map no claim covers: it is fitted on made-up rows.

    What its mechanisms refuse (`Mechanisms`), mistakes of its code, maps of the wrong kind, that no file could hold, that do not
    treat every row by itself, or whose rows are not where the step declares them. release: whether its map for new rows leaves.
    """
    step, space = planned.step, planned.before
    if is_ours(type(step)):
        return
    if step.name == "gradient" or step.name.endswith("(test)"):
        raise ValueError(
            f"{step.name!r} is what releases of training, or of a test, are called: name the step otherwise"
        )
    rows = few = made_up(space, domain, FEW)
    with nothing_noted(step):
        try:
            training, prediction = _fitted(planned, domain, n, private, rows)
        except _FewRows:
            rows = made_up(space, domain, max(FEW, min(n, MORE, CELLS // space.d)))
            training, prediction = _fitted(planned, domain, n, private, rows, enough=True)
        if step.paid.share > 0:
            _check_one_row_a_record(planned, domain, n, private, rows)
            if rows.n < (more := max(FEW, min(n, SOME))):  # code that changes what it does after some rows
                _check_one_row_a_record(planned, domain, n, private, made_up(space, domain, more))
        if not step.paid.leaves and release:
            _check_forgets(planned, domain, n, private, few, prediction)
        if step.paid.test > 0:
            check_distance(planned, domain, n)
    with nothing_noted(training, prediction):
        _check_maps(planned, domain, few, training, prediction if release else None)


def _check_one_row_a_record(
    planned: PlannedStep, domain: Domain, n: int, private: bool, rows: MadeUp
) -> None:
    """ValueError unless what a Budget step hands its mechanisms is made row by row: another record changes its own row alone,
    and where rows have no places, those in another order are the same rows."""
    step = planned.step

    def handed_over(at: NDArray[Any]) -> Floats:
        access = Rehearsal(planned, domain, n, private, MadeUp(rows.x[at], rows.labels[at]))
        _fitted(planned, domain, n, private, access.rows, enough=True, access=access)
        return (
            np.concatenate([x.reshape(len(x), -1) for x in access.seen]) if access.seen else np.zeros((0, 1))
        )

    def same(one: Floats, two: Floats, but: int | None = None) -> bool:
        others = np.arange(len(one)) % rows.n != (-1 if but is None else but)
        return one.shape == two.shape and np.allclose(
            one[others], two[others], rtol=ROUNDING, atol=ROUNDING * planned.before.radius, equal_nan=True
        )

    places = np.arange(rows.n)
    whole = handed_over(places)
    for j in (0, rows.n // 2 - 1, rows.n - 1):
        if not same(whole, handed_over(np.where(places == j, rows.n - 1 - j, places)), j):
            raise ValueError(
                f"{step.name} hands its mechanism rows that are not made row by row: another record changes more of them than its "
                "own, and could move a sum by all of them"
            )
    turned = whole.reshape(-1, rows.n, whole.shape[1])[:, np.roll(places, 1)].reshape(whole.shape)
    if not has_places(domain, planned.incoming) and not same(turned, handed_over(np.roll(places, 1))):
        raise ValueError(
            f"{step.name} says that it takes rows in any order (takes_any_order), and what it hands its mechanism depends on their "
            f"places; {unplaced(domain)}"
        )


def check_released(maps: Sequence[ReleasedMap], domain: Domain) -> None:
    """ValueError for a third-party map of a model that does not treat every row by itself: before it counts private rows."""
    x = made_up(domain.space, domain, FEW).x
    for released in map(copied, maps):
        if not is_ours(type(released)):
            said = f"the map {type(released).__name__}"
            with nothing_noted(released):
                check_each_row(said, partial(_made, said, released), x)
        x = released.transform(x)


def _made(said: str, fitted: FittedMap, x: Floats) -> Floats:
    return array_of(said, fitted.transform(x))


def _check_maps(
    planned: PlannedStep, domain: Domain, rows: OpenRows, training: FittedMap, prediction: ReleasedMap | None
) -> None:
    """ValueError for maps of a third-party step that no claim covers."""
    step, space = planned.step, planned.before
    said = f"the map of {step.name}"
    x = _mapped(said, training, rows.x, planned.step.output(space))
    if not np.allclose(
        x, Inside(step.output(space)).transform(x), rtol=1e-6, atol=1e-6 * space.radius, equal_nan=True
    ):
        raise ValueError(f"{said} leaves the space that `output` declares of its rows")
    check_each_row(said, partial(_made, said, training), rows.x)
    _check_kept(said, training, rows.x)
    if not has_places(domain, planned.incoming):
        _check_placeless(said, training, made_up(space, domain, BLOCK).x, unplaced(domain))
    if prediction is not None:
        new = f"{said} for new rows"
        _mapped(new, prediction, rows.x, planned.step.output(space))
        check_each_row(new, partial(_made, new, prediction), rows.x)
        _check_written(said, prediction, rows.x)


def _check_forgets(
    planned: PlannedStep, domain: Domain, n: int, private: bool, rows: OpenRows, prediction: ReleasedMap
) -> None:
    """ValueError where the map for new rows of a step paid for by sensitivity follows from rows that it was fitted on before."""
    step, others = planned.step, MadeUp(np.repeat(rows.x[-1:], rows.n, axis=0), rows.labels)
    with suppress(ValueError, _FewRows):
        _fitted(planned, domain, n, private, others)
    if text_of_map(copied(step).prediction_map(planned.before)) != text_of_map(prediction):
        raise ValueError(
            f"the map of {step.name} for new rows follows from the rows of an earlier fit, which leave with it: make it of the "
            "declared space alone"
        )


class _FewRows(Exception):
    """A fit failed, perhaps for want of rows."""


def _fitted(
    planned: PlannedStep,
    domain: Domain,
    n: int,
    private: bool,
    rows: MadeUp,
    enough: bool = False,
    access: Rehearsal | None = None,
) -> tuple[FittedMap, ReleasedMap]:
    """The maps that a copy of the step gives for made-up rows, of the kinds that it must make. enough: no error is excused."""
    step, access = planned.step, access or Rehearsal(planned, domain, n, private, rows)
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
            f"`keep` of {said} must give None or an array of one truth value per row; got {type(made).__name__}"
        )
    return made


def _check_placeless(said: str, training: FittedMap, x: Floats, why: str) -> None:
    """ValueError unless a map gives for a row the same bits, and keeps it or not, in each place of a block.

    Where places are not public a run shows it no other blocks (`placeless`), whatever their places in the table.
    """
    shown = placeless(training)
    made, kept = shown.transform(x.copy()), _kept(said, shown, x, 0)
    for by in (1, 5, 128):
        turned = np.roll(x, by, axis=0)
        if not np.array_equal(np.roll(made, by, axis=0), shown.transform(turned.copy()), equal_nan=True):
            raise ValueError(
                f"{said} gives a row other bits at another place of its block, and {why}: let it sum along each row, not by a "
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
    if any((kept(x[at], 0) != whole)[mine].any() for mine, at in OTHERS):
        raise ValueError(
            f"{said} must keep every row by itself: whether it does depends on the other rows of its block"
        )


def _check_written(said: str, prediction: ReleasedMap, x: Floats) -> None:
    """ValueError unless a model file gives the map back: now, and not when a model that was paid for is saved."""
    try:
        text = text_of_map(prediction)
        back = read_map(json.loads(text))
        same = text == text_of_map(back)
        same = same and np.array_equal(
            copied(prediction).transform(x.copy()), back.transform(x.copy()), equal_nan=True
        )
        same = same and text == text_of_map(
            prediction
        )  # a copy of it mapped rows: nothing but a copy may know
    except Exception as error:
        raise ValueError(f"{said} cannot be written to a model and read back: {told(error)}") from None
    if not same:
        raise ValueError(
            f"{said} changes when it is written to a model and read back: see to_json and from_json"
        )
