"""Which events a released claim is made of, for another accountant. Proof: docs/proofs/second_account.md."""

from __future__ import annotations

from typing import Any

from prepriv._kinds import is_ours
from prepriv.guarantees.second_account import (
    Event,
    Events,
    Leak,
    NoEvents,
    SecondAccount,
    dp_accounting_account,
)
from prepriv.plans.plan import Plan
from prepriv.release.reported import Reported
from prepriv.runs.chosen import TRIALS, Chosen


def events_of_plan(plan: Plan) -> Events:
    """What a plan releases, step after step, and its training.

    Parameters
    ----------
    plan : Plan
        Private.

    Returns
    -------
    tuple of events

    Raises
    ------
    NoEvents
        Where something that runs has no event: why, in words.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> from prepriv.release.both_accounts import events_of_plan
    >>> domain = prepriv.Domain.ball(2, classes=[0, 1], n=1000)
    >>> plan = prepriv.make_plan(domain, [], GradientDescent(Logistic(), steps=5), epsilon=1.0, delta=1e-5)
    >>> [(event.name, event.count) for event in events_of_plan(plan)]
    [('GradientDescent', 5)]
    """
    if plan.chain.tested:
        raise NoEvents(
            "caps are tested by propose-test-release, and what follows runs only if the test passes: dp-accounting has no event for that"
        )
    if not is_ours(type(plan.learner)):
        raise NoEvents(f"{plan.learner.name} is a third-party learner, whose events nobody said")
    steps = tuple(Event(e.name, e.noise_multiplier, e.count) for p in plan.steps for e in p.events)
    return (*steps, *plan.learner.events(plan.learner_noise_multiplier, plan.setting))


def events_of(report: Reported) -> tuple[Events, ...]:
    """What one record can meet of all that a report claims: of one of these, each with what drafts of the domain released.

    Parameters
    ----------
    report : Report
        With a claim.

    Returns
    -------
    tuple of tuples of events

    Raises
    ------
    NoEvents
        As `events_of_plan`; for a choice among candidates; for a report without a claim.
    """
    if not report.private:
        raise NoEvents("nothing is claimed")
    choice = None if report.model is None else report.model.choice
    parts = (events_of_plan(report.plan),) if choice is None else _of_choice(choice)
    if report.measured is not None and report.measured.whole is not None:  # on rows that no training saw
        parts += (report.measured.events,)
    drafts: Events = ()
    for drafted in report.plan.domain.drafts:
        drafts += (Event("draft of the schema", 1 / drafted.mu),)
        drafts += (Leak("draft of the schema", drafted.leak),) if drafted.leak else ()
    return tuple((*part, *drafts) for part in parts)


def _of_choice(choice: Chosen) -> tuple[Events, ...]:
    if choice.method == TRIALS:
        raise NoEvents(
            "the model was chosen by a random number of trials: dp-accounting has no event for that"
        )
    raise NoEvents(
        "the model was chosen by an exponential mechanism, which we account for as a Gaussian one: dp-accounting has no event for that"
    )


def second_account(report: Reported) -> SecondAccount:
    """Account for the claim of a report with dp-accounting.

    Parameters
    ----------
    report : Report
        With a claim.

    Returns
    -------
    SecondAccount

    Raises
    ------
    NoEvents
        Where dp-accounting does not know an event for something that ran, or only for a larger delta.
    ImportError
        Without dp-accounting (`prepriv[interop]`).
    """
    events, delta = events_of(report), report.plan.delta
    assert report.guarantee is not None
    return dp_accounting_account(events, report.guarantee.adjacency, delta, report.guarantee.epsilon(delta))


def said_of(report: Reported) -> dict[str, Any]:
    """What a report states of the other accountant, as plain data: the events, or why there are none."""
    try:
        return {"events": [[event.to_json() for event in part] for part in events_of(report)]}
    except NoEvents as why:
        return {"events": None, "why": str(why)}
