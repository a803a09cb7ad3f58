"""What a step has to say about itself in its place in a chain, and what of it can be checked before a record is read.

A third-party step is code that nobody here has seen. What it says about itself is believed where it says it of its own code
(`_said.check_said`); what it does not say is refused wherever a guarantee needs it.
"""

from __future__ import annotations

from collections.abc import Sequence

from prepriv._kinds import is_ours
from prepriv._rounding import FAR_UP
from prepriv._said import check_said, says
from prepriv.adjacency import n_is_public
from prepriv.domain import Domain
from prepriv.guarantees.premise import Premise
from prepriv.preprocessing.base import UNTOUCHED, RowShift, Step
from prepriv.space import Space

MAKES = {
    "free": "free",
    "public": "fit_public",
    "budget": "fit_budget",
    "sensitivity": "fit_confidential",
    "sketch": "fit_drawn",
}
"""By way to pay: the method that makes the map of the rows, which every word of a step is about."""


def says_its_sum(step: Step) -> bool:
    """Whether the step says itself how far the sum that it asks for moves between neighbours."""
    return says(type(step), Step, "l2_sensitivity", (MAKES["budget"],))


def has_places(domain: Domain, incoming: RowShift) -> bool:
    """Whether neighbours have their common rows in the same places: not where a record comes or goes, where rows stand in the
    order of their units' names, where a query gives them, or where an earlier step has them matched by content."""
    return domain.n_is_public and not incoming.any_order


def unplaced(domain: Domain) -> str:
    """Why they do not, in words."""
    if domain.unit is not None:
        return "rows of units stand in the order of their names, so one unit moves every place after it"
    if not n_is_public(domain.adjacency):
        return f"under {domain.adjacency} one record moves every place after it"
    if domain.source is not None:
        return f"nothing fixes the order of the rows of {domain.source}"
    return "an earlier step has rows matched by content, whatever their places"


def check_placeless(step: Step, domain: Domain, incoming: RowShift) -> None:
    """ValueError for a third-party fit on private rows that have no places, unless the step says that it needs none."""
    if is_ours(type(step)) or not step.paid.private or has_places(domain, incoming):
        return
    check_said(type(step), Step, ("takes_any_order",), (MAKES[step.way],))
    if not step.takes_any_order:
        raise ValueError(
            f"{step.name} does not say that its fit gives the same result for rows in any order, and {unplaced(domain)}: where that is true, "
            "say takes_any_order = True"
        )


def check_words(step: Step, incoming: RowShift) -> None:
    """ValueError unless the step says itself what its place in a chain rests on: of its own code, not of a parent's."""
    Step.__post_init__(step)  # a subclass may have replaced it
    cls, code = type(step), (MAKES[step.way],)
    for name in ("paid", "way"):
        if getattr(cls, name) is not getattr(Step, name):
            raise ValueError(
                f"{step.name} replaces `{name}`: a step is paid for by its payment and nothing else"
            )
    if not step.paid.leaves:
        check_said(cls, Step, ("sensitivity", "conditions"), (*code, "Caps"))
        if incoming.rows_dropped > 0:
            check_said(cls, Step, ("after_drops",), (*code, "sensitivity"))
        if step.paid.test > 0:
            check_said(cls, Step, ("distance",), (*code, "sensitivity", "conditions", "Caps"))
    elif incoming.rows_moved > 0 and cls.propagate is not Step.propagate:
        check_said(cls, Step, ("propagate",), code)
    elif incoming.rows_moved > 0:
        check_said(cls, Step, ("lipschitz",), code)
        if cls.lipschitz is Step.lipschitz:
            raise ValueError(
                f"{step.name} does not say how far apart its map can move two rows, so it cannot follow a step paid for by "
                "sensitivity: override lipschitz with a constant that holds for every two rows that can reach it; if there is none, put it "
                "before such steps"
            )


def shift_after(step: Step, space: Space, n: int, incoming: RowShift) -> RowShift:
    """How far apart the common rows are after a step: what it says, held against what no step can change.

    Raises ValueError where the step does not say it, or does not count what comes in.
    """
    check_words(step, incoming)
    out: RowShift = step.paid.outgoing(step, space, n, incoming)
    if type(out) is not RowShift:  # a subclass could say anything of what it holds
        raise ValueError(f"{step.name} must give a RowShift of what goes out; got {type(out).__name__}")
    _check_numbers(step, out)
    for condition in out.conditions:
        check_said(type(condition), Premise, Premise._words, ("holds",))
    if is_ours(type(step)):
        return out
    if not step.paid.leaves:
        _check_conditions(step, step.conditions(space, n, incoming), out, incoming)
    if incoming.is_zero:
        return out
    lost = out.rows_dropped < incoming.rows_dropped or (incoming.any_order and not out.any_order)
    deaf = incoming.rows_moved > 0 and _numbers(out) == _numbers(
        step.paid.outgoing(step, space, n, UNTOUCHED)
    )
    most = out.rows_moved >= n - 1 and out.row_shift >= step.output(space).diameter
    if lost or (deaf and not most):
        raise ValueError(
            f"{step.name} says the same whatever comes in: what goes out has to count the rows that earlier steps have moved or "
            "dropped, which `incoming` tells (docs/proofs/chaining.md)"
        )
    return out


def _check_conditions(step: Step, said: Sequence[Premise], out: RowShift, incoming: RowShift) -> None:
    """ValueError unless what a step rests on is the same wherever it says so."""
    one, two, came = (
        {(type(c), str(c)) for c in found} for found in (said, out.conditions, incoming.conditions)
    )
    if one | came != two | came:
        raise ValueError(
            f"{step.name} rests on other premises in `conditions` than in the RowShift of its `sensitivity`: a plan claims by the "
            "one and an audit attacks by the other; leave `conditions` out, or give RowShift(..., conditions=self.conditions(...))"
        )


def _check_numbers(step: Step, out: RowShift) -> None:
    """ValueError where a third-party step leaves a number of its shift at 0, or says a total that its rows cannot reach."""
    said = _numbers(out)[:3]
    if is_ours(type(step)) or not any(said):
        return
    if not all(said) or out.total_shift > out.rows_moved * out.row_shift * FAR_UP:
        raise ValueError(
            f"{step.name} gives a RowShift of rows_moved={said[0]:g}, row_shift={said[1]:g}, total_shift={said[2]:g}: give all three "
            "above 0, or none, with a total_shift of at most rows_moved * row_shift; a number left out is 0, which is a claim"
        )


def _numbers(shift: RowShift) -> tuple[float, ...]:
    return shift.rows_moved, shift.row_shift, shift.total_shift, shift.rows_dropped
