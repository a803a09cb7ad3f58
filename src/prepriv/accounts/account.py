"""What an existing pipeline really costs: non-private steps, then a private learner with given noise.

Several routes lead from the shift of the common rows to a guarantee; each is valid by itself and the smallest
is reported (docs/proofs/account.md):

- direct: the learner's own noise against the replaced record *and* the shift of the others;
- smooth RDP: Theorem 2 of Provable Privacy with Non-Private Pre-Processing, corrected, with its order and constant optimised;
- group privacy: every row that can move counts as a record of its own.

Beside them stands what is usually reported: training alone, as if the steps had been fitted on public data.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from prepriv import payment as pay
from prepriv._kinds import is_ours
from prepriv.accounts.from_sklearn import from_sklearn, is_sklearn
from prepriv.accounts.ran import Ran, what_ran
from prepriv.adjacency import Adjacency, check_adjacency, n_is_public
from prepriv.domain import Domain
from prepriv.guarantees import gaussian, gdp_mu
from prepriv.guarantees.drafts import check_drafts, with_drafts
from prepriv.guarantees.guarantee import SHOWN_DELTA, Guarantee
from prepriv.guarantees.in_words import attacker
from prepriv.guarantees.loss_distribution import compose
from prepriv.guarantees.notes import notes_on
from prepriv.guarantees.printed import epsilon_at, percent, plain, separated, up
from prepriv.guarantees.smallest import RenyiBound, smallest
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.learners.learner import Learner, Setting
from prepriv.placed.chain import Chain, chain
from prepriv.placed.checks import check_domain, check_records, check_steps, records_of
from prepriv.placed.raw_units import RawUnits
from prepriv.plans.price import each_way
from prepriv.preprocessing.base import UNTOUCHED, RowShift, Step
from prepriv.rehearsals.rehearsal import rehearse
from prepriv.space import Space
from prepriv.tables.sentences import HOLDS_ONLY

DIRECT, SMOOTH, _GROUP = "direct", "smooth RDP", "group privacy"
LARGEST_GROUP = 10**6
_NO_LEARNER = (
    "learner: give the private learner that trained after the steps, with its noise_multiplier. A learner without noise, such as one of "
    "scikit-learn, has no finite ε; prepriv.private(pipeline, domain) keeps the pipeline and makes it private"
)


@dataclass(frozen=True, repr=False)
class Account(Guarantee):
    """The guarantee of a pipeline that already exists. Made by `account`.

    Parameters
    ----------
    tradeoff, adjacency, conditions, breakdown, mu, notes, unit
        As for `Guarantee`. The conditions are those of the steps, and what is assumed about dropped rows. The notes
        say what has to stay secret, what must have run, and what makes the guarantee weak.
    by_route : mapping of str to TradeoffFunction
        What each valid route claims, by the name of the route. The guarantee is the tightest of them. It also counts
        what a private draft of the domain cost (`Domain.draft`), which no field below does.
    training_alone : TradeoffFunction, optional
        What would be claimed if the steps were ignored.
    shift : RowShift
        How far the common rows of two neighbours are apart at the learner.
    steps : tuple of (str, float, RowShift)
        (step, epsilon of the pipeline up to it, its shift), in order. The epsilon is nan where the learner could not
        follow that step.
    alternatives : tuple of (str, str, float or None, str)
        (step, way, epsilon, terms): what the whole pipeline would cost at the same noise if that step were paid for
        in that way. The epsilon is None where the way is not available.
    at_delta : float
        The delta at which routes were compared and all these epsilons were computed.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import AnyModel, GradientDescent
    >>> domain = prepriv.Domain.ball(3, classes=[0, 1], n=1000)
    >>> found = prepriv.account([], GradientDescent(AnyModel()), domain=domain, noise_multiplier=50.0)
    >>> found.training_alone.epsilon(1e-5) <= found.epsilon(1e-5), found.steps
    (True, ())
    """

    by_route: Mapping[str, TradeoffFunction] = field(default_factory=dict)
    training_alone: TradeoffFunction | None = None
    shift: RowShift = UNTOUCHED
    steps: tuple[tuple[str, float, RowShift], ...] = ()
    alternatives: tuple[tuple[str, str, float | None, str], ...] = ()
    at_delta: float = math.nan

    def __str__(self) -> str:
        at = self.at_delta if 0 < self.at_delta < 1 else SHOWN_DELTA
        alone = self.training_alone
        claimed = (
            "" if alone is None else f"; training alone claims {epsilon_at(float(alone.epsilon(at)), at)}"
        )
        lines = [f"{epsilon_at(float(self.epsilon(at)), at)}, {self.neighbours}{claimed}"]
        lines += [f"  rests on: {separated(condition)}" for condition in self.conditions]
        return "\n".join([*lines, *(f"  {said}" for said in (*self.premises, *self.weak))])

    def __repr__(self) -> str:
        return f"Account({self})"

    def _repr_html_(self) -> str:
        first, *rests = (escape(line.strip()) for line in str(self).splitlines())
        words = "".join(f"<br>{escape(said)}" for said in attacker(self))
        return (
            f"<p><b>Account: {first}</b>{words}</p><ul>{''.join(f'<li>{line}</li>' for line in rests)}</ul>"
        )

    def to_json(self, delta: float) -> dict[str, Any]:
        """The guarantee and what it is made of, as plain data that is valid JSON (see `Guarantee.to_json`)."""
        alone = self.training_alone
        shifts = ("rows_moved", "row_shift", "total_shift", "rows_dropped")
        return super().to_json(delta) | {
            "training_alone": None if alone is None else plain(float(alone.epsilon(delta))),
            "by_route": {name: plain(float(f.epsilon(delta))) for name, f in self.by_route.items()},
            "at_delta": plain(self.at_delta),
            "steps": [
                {"step": name, "epsilon": plain(epsilon)}
                | {key: plain(getattr(moved, key)) for key in shifts}
                for name, epsilon, moved in self.steps
            ],
            "alternatives": [
                {"step": step, "way": way, "epsilon": plain(epsilon), "note": note}
                for step, way, epsilon, note in self.alternatives
            ],
        }


def rests_on(steps: Sequence[Step]) -> tuple[str, ...]:
    """A note for each step fitted without noise: what has to stay secret, and what it costs if it does not; or that it saw public
    records alone; or what the step rests on itself.
    """
    public = tuple(
        step.holds_only
        or f"holds only if {step.name} was fitted on public records alone, none of which is one of the private records"
        for step in steps
        if step.holds_only or (step.ways and step.way == pay.Public.way)
    )
    return public + tuple(
        f"holds only while the {step.fitted_state} of {step.name} stay secret: fitted on the private records without noise"
        + (
            ", and needed on new rows. Once they leave, in an artifact or through its predictions, no finite ε holds at "
            "any δ < 1; fit the step on public data or by budget"
            if step.at_prediction
            else "; the model does not need them on new rows, and no finite ε holds at any δ < 1 if they leave"
        )
        for step in steps
        if not step.paid.leaves
    )


def zero_rows(steps: Sequence[Step], ran: Ran, n: int) -> tuple[str, ...]:
    """What an account assumes of rows that steps drop: a condition, or none (docs/proofs/account.md)."""
    names = ", ".join(s.name for s in steps if s.drops)
    if not names:
        return ()
    return (f"rows that {names} drops stay in their places as rows of zeros: {ran.over_zeros(n)}",)


def steps_of(steps: Sequence[Step] | Any, domain: Domain) -> tuple[Sequence[Step], tuple[str, ...]]:
    """(steps with their payments, notes on how they were read) of steps or a pipeline of scikit-learn. ValueError for others."""
    check_domain(domain)
    check_records(domain)
    if is_sklearn(steps):
        steps = from_sklearn(steps, domain)
    check_steps(steps)
    notes = (note for step in steps if isinstance(step, RawUnits) for note in step.notes)
    return steps, tuple(dict.fromkeys(notes))


def account(
    steps: Sequence[Step] | Any,
    learner: Learner | Ran | None = None,
    *,
    domain: Domain | None = None,
    n: int | None = None,
    adjacency: str | None = None,
    noise_multiplier: float | None = None,
    delta: float = 1e-5,
) -> Account:
    """Compute the real guarantee of a pipeline that already exists.

    Parameters
    ----------
    steps : sequence of steps, or pipeline of scikit-learn
        Pre-processing as it was fitted: free, Public, or Sensitivity(caps) for what was fitted on the private records
        without noise. A pipeline of scikit-learn is read by `from_sklearn`, which takes what has to be declared about
        missing cells and deviations.
    learner : Learner or Ran
        Always needed: what trained after the steps. A learner of `prepriv.learners`; or a ReleasedStatistic (or another `Ran`), which carries its own noise.
        `ran_elsewhere` reads runs of other libraries.
    domain : Domain
        What is declared about the raw rows.
    n : int, optional
        Number of records. None: the domain's. If both declare it, the two must agree.
    adjacency : {"replace-one", "add-or-remove-one"}, optional
        None: the domain's. It must be replace-one if any step was fitted without noise.
    noise_multiplier : float, optional
        For a learner: the standard deviation of the noise on the gradient sum, divided by the declared clip_norm
        (what Opacus calls noise_multiplier), or by the loss's own bound where clip_norm is inf. None for a `Ran`.
    delta : float, default 1e-5
        In (0, 1). Routes are compared, and the ε after each step is listed, at this delta.

    Returns
    -------
    Account
        A Guarantee, with every valid route to it, the ε after each step, and what each other payment would cost.

    Raises
    ------
    ValueError
        For anything that cannot be accounted for, with the reason.

    See Also
    --------
    prepriv.accounts.way_out.ways_out : Payments that keep a budget.

    Notes
    -----
    What is assumed about the run is a note (`Ran.premise`). What is assumed about rows that a step drops is a
    condition.

    References
    ----------
    Provable Privacy with Non-Private Pre-Processing, corrected: docs/proofs/account.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> from prepriv.preprocessing import Normalize
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1], n=1000)
    >>> found = prepriv.account([Normalize()], GradientDescent(Logistic()), domain=domain, noise_multiplier=50.0)
    >>> round(found.epsilon(1e-5), 3), list(found.by_route)
    (1.555, ['direct'])
    """
    if learner is None or (is_sklearn(learner) and not is_ours(type(learner))):
        raise ValueError(_NO_LEARNER)
    check_domain(domain)
    assert domain is not None
    steps, read = steps_of(steps, domain)
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1); got {delta}")
    n = records_of(domain, n)
    chosen: Adjacency = check_adjacency(adjacency) if adjacency is not None else domain.adjacency
    domain = dataclasses.replace(domain, n=n, adjacency=chosen)
    check_drafts(domain, delta)
    if any(s.paid.share or s.paid.test for s in steps):
        raise ValueError(
            "steps of an existing pipeline are free, public or fitted without noise (Sensitivity)"
        )
    placed = _placed(steps, domain)
    planned, space, incoming = placed.steps, placed.space, placed.incoming
    for p in planned:
        rehearse(p, domain, n, private=True, release=False)
    ran = what_ran(learner, noise_multiplier, space.radius)
    outputs = ran.outputs(len(domain.classes))

    def setting(at: RowShift, where: Space) -> Setting:
        return Setting(where.radius, where.d, outputs, n, chosen, at)

    alone = ran.direct(setting(UNTOUCHED, space), delta)
    by_route = _routes(ran, setting(incoming, space), alone, delta)
    curve = smallest(list(by_route.values()))
    listed = []
    for p in planned:
        try:
            part = float(ran.direct(setting(p.outgoing, p.after), delta).epsilon(delta))
        except ValueError:  # the learner could not stand here, and does not: it stands behind the last step
            part = math.nan
        listed.append((p.step.name, part, p.outgoing))
    real = float(curve.epsilon(delta))
    ways = _alternatives(
        steps,
        lambda at: setting(at.incoming, at.space),
        ran,
        domain,
        real,
        float(alone.epsilon(delta)),
        delta,
    )
    notes = (
        *read,
        *((HOLDS_ONLY,) if domain.encoded_texts else ()),
        *rests_on(steps),
        *ran.premise(setting(incoming, space)),
        *notes_on(real, delta, n, gdp_mu(min(max(real, 1e-6), 1e6), delta)),
    )
    conditions = (*(str(c) for c in incoming.conditions), *zero_rows(steps, ran, n))
    whole = with_drafts(Guarantee(curve, chosen, conditions, notes=notes), domain, delta, n)
    assert whole is not None
    return Account(
        whole.tradeoff,
        chosen,
        whole.conditions,
        notes=whole.notes,
        by_route=by_route,
        training_alone=alone,
        shift=incoming,
        steps=tuple(listed),
        alternatives=tuple(ways),
        at_delta=delta,
    )


def _placed(steps: Sequence[Step], domain: Domain) -> Chain:
    """The steps in their places: nothing adds noise, and no model has to leave with them. domain: with n."""
    assert domain.n is not None
    return chain(steps, domain, domain.n, math.inf, release=False)


def _alternatives(
    steps: Sequence[Step],
    setting: Callable[[Chain], Setting],
    ran: Ran,
    domain: Domain,
    real: float,
    before: float,
    delta: float,
) -> Iterator[tuple[str, str, float | None, str]]:
    """What each step would cost if it were paid for otherwise, the noise and the other steps as they are."""
    assert domain.n is not None
    share = pay.Budget().share
    mu = math.sqrt(share) * gdp_mu(min(max(before, 1e-6), 1e6), delta)
    fit = f"a private fit of {up(mu, 3)}-GDP ({percent(share)} of training alone); may be released"

    def pricing(at: int) -> Callable[[Step, list[Step]], tuple[float, str]]:
        def price(paid: Step, variant: list[Step]) -> tuple[float, str]:
            if paid is steps[at]:
                return real, "as it is"
            if not paid.paid.leaves:
                raise ValueError("not the way it was fitted")
            # One map for both of two neighbours.
            without = ran.direct(setting(_placed(variant, domain)), delta)
            if paid.way == pay.Public.way:
                return float(without.epsilon(delta)), "a public table with the same columns"
            return float(compose([(without, 1), (gaussian(mu), 1)]).epsilon(delta)), fit

        return price

    for step, way, found in each_way(steps, pricing):
        if way in pay.WAYS:
            yield step.name, way, *((None, found) if isinstance(found, str) else found)


def _routes(ran: Ran, setting: Setting, alone: TradeoffFunction, delta: float) -> dict[str, TradeoffFunction]:
    routes = {DIRECT: ran.direct(setting, delta)}
    incoming = setting.incoming
    if incoming.is_zero or not n_is_public(setting.adjacency):
        return routes
    smooth = ran.smooth(setting) if incoming.rows_dropped == 0 else None
    if smooth is not None:
        curve = smooth.preprocessed(incoming.total_shift)
        if math.isfinite(curve.epsilon(delta)):
            routes[SMOOTH] = RenyiBound(curve)
    # Every moved or dropped row is one more replaced record (a dropped one is replaced by nothing).
    size = math.ceil(incoming.records)
    group = ran.group(size, alone) if size <= LARGEST_GROUP else None
    if group is not None:
        routes[_GROUP] = group
    return routes
