"""The frozen plan: what is declared and decided of a pipeline before a record is read, and all that follows from it.

A plan holds declared facts, the noise of training and the delta of tests. Spaces, shifts, mechanisms, the guarantee
and the hash are computed from them, so no plan can claim what its noise does not keep. `run.execute` carries it out.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any, ClassVar

import numpy as np

from prepriv._arguments import integer
from prepriv._callers import callers_level
from prepriv._copies import copied
from prepriv._kinds import is_ours, kind_of
from prepriv.adjacency import rows_changed
from prepriv.domain import Domain
from prepriv.guarantees import gdp_mu
from prepriv.guarantees.drafts import check_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.in_words import claim_in_html, short
from prepriv.guarantees.training_part import forecast_n
from prepriv.learners.learner import Learner, Setting
from prepriv.payment import check_payment
from prepriv.periods import Periods
from prepriv.placed.chain import Chain, PlannedStep, chain, spent_shares
from prepriv.placed.checks import (
    check_budget,
    check_counts,
    check_domain,
    check_learner,
    check_loss,
    check_steps,
    check_takes_units,
)
from prepriv.plans.claim import LESS, calibrated_noise, claim, with_best_tests
from prepriv.plans.decision import checked
from prepriv.plans.priced import Priced
from prepriv.preprocessing.base import RowShift, Step
from prepriv.sketches.signal import Signal, signal_of
from prepriv.space import Space

_LARGEST_MULTIPLIER = 2.0**25  # of a step's own release, whose sensitivity is below 2^30 grid steps


@dataclass(frozen=True, repr=False)
class Plan(Priced):
    """What will be done, what it will cost, and what will be claimed. Made by `make_plan`.

    Parameters
    ----------
    domain : Domain
        What is declared about the raw rows, with n.
    epsilon : float
        The privacy budget. inf: no noise and no claim.
    delta : float
        In (0, 1).
    pipeline : tuple of steps
        Pre-processing, each step with its payment.
    learner : Learner
        What is trained after it.
    learner_noise_multiplier : float
        The standard deviation of the noise of training, divided by `learner_shift`.
    test_delta : float
        Bound on the chance that a test of caps passes where they do not hold. 0 without tests.
    class_weight : tuple of float, default ()
        The weight of each declared class in predictions. Empty: all classes weigh the same.

    Raises
    ------
    ValueError
        For parts that do not fit together, or a noise multiplier that is not finite and positive.

    Notes
    -----
    Everything else is computed from these, and `to_json` writes it down. Third-party steps, learners and losses are
    copied, and no run changes the copies.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> from prepriv.preprocessing import Normalize
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1], n=1000)
    >>> plan = prepriv.make_plan(domain, [Normalize()], GradientDescent(Logistic()), epsilon=1.0, delta=1e-5)
    >>> plan.guarantee.epsilon(1e-5) <= 1.0, plan.what, len(plan.hash)
    (True, 'train: Normalize, GradientDescent', 64)
    """

    domain: Domain
    epsilon: float
    delta: float
    pipeline: tuple[Step, ...]
    learner: Learner
    learner_noise_multiplier: float
    test_delta: float
    class_weight: tuple[float, ...] = ()

    releases: ClassVar[bool] = True  # a model, which is used on new rows

    def __post_init__(self) -> None:
        check_domain(self.domain, trained=True)
        check_steps(self.pipeline)
        check_learner(self.learner)
        check_takes_units(self.learner, self.domain)
        if not self.learner.loss.trains:
            raise ValueError(f"{type(self.learner.loss).__name__} is for accounts: it trains nothing")
        check_counts(self.pipeline, self.domain)
        object.__setattr__(self, "pipeline", tuple(copied(step) for step in self.pipeline))
        object.__setattr__(self, "learner", copied(self.learner, self.learner.loss))
        object.__setattr__(self, "class_weight", checked(self.class_weight, self.domain))
        z = self.learner_noise_multiplier
        if self.private and not (math.isfinite(z) and z > 0):
            raise ValueError(
                f"learner_noise_multiplier of a private plan must be finite and positive; got {z}"
            )

    def __repr__(self) -> str:
        return f"Plan({short(self.guarantee, self.delta)}; {self._counted}; {self.what})"

    @property
    def _counted(self) -> str:
        """n, and whose it is where units are counted."""
        return (
            f"n = {self.n:,}"
            if self.domain.unit is None
            else f"n = {self.n:,} different {self.domain.unit!r}"
        )

    def _repr_html_(self) -> str:
        steps = escape(" → ".join([*self.chain.said, self.learner.name]))
        return claim_in_html(self.guarantee, self.delta, "Plan") + f"<p>{escape(self._counted)}: {steps}</p>"

    @property
    def n(self) -> int:
        """The declared number of records."""
        assert self.domain.n is not None
        return self.domain.n

    @property
    def outputs(self) -> int:
        """Columns of the weight matrix."""
        return self.learner.loss.outputs(len(self.domain.classes))

    @cached_property
    def chain(self) -> Chain:
        """The steps in their places."""
        mu = budget(self.epsilon, self.delta)
        return chain(
            self.pipeline, self.domain, self.n, mu, test_delta=self.test_delta, release=self.releases
        )

    @property
    def steps(self) -> tuple[PlannedStep, ...]:
        """Each step with its spaces, shifts, conditions, mechanism and test."""
        return self.chain.steps

    @property
    def space(self) -> Space:
        """The declared space of the rows that reach the learner."""
        return self.chain.space

    @property
    def incoming(self) -> RowShift:
        """How far the common rows of two neighbours are apart at the learner."""
        return self.chain.incoming

    @property
    def setting(self) -> Setting:
        """What is declared about the rows that reach the learner."""
        return setting_of(self.chain, self.learner, self.domain)

    @cached_property
    def learner_shift(self) -> float:
        """The shift that the noise multiplier of training multiplies, in gradient units."""
        return self.learner.unit(self.setting)

    @property
    def learner_noise(self) -> float:
        """Standard deviation of the noise on one gradient sum, in gradient units."""
        return self.learner_noise_multiplier * self.learner_shift

    @cached_property
    def guarantee(self) -> Guarantee | None:
        """What is claimed, computed from the events that this plan runs and from no others. None without privacy."""
        if not self.private:
            return None
        made = claim(self.chain, self.learner, self.setting, self.learner_noise_multiplier, self.delta)
        epsilon = made.epsilon(self.delta)
        mu = made.mu if made.mu is not None else gdp_mu(min(epsilon, 1e6), self.delta)
        made = dataclasses.replace(made, unit=self.domain.protected)
        return self._stated(made, mu, self.domain.declared_rows)

    @property
    def periods(self) -> Periods | None:
        """The periods of the domain."""
        return self.domain.periods

    def to_json(self, claimed: bool = True) -> dict[str, Any]:
        """Write what was declared and decided as plain data. The same plan gives the same bytes.

        Parameters
        ----------
        claimed : bool, default True
            False for a run whose noise protects nobody. No guarantee is then stated.

        Returns
        -------
        dict
        """
        return copy.deepcopy(self._written) | ({} if claimed else {"guarantee": None})

    @cached_property
    def _written(self) -> dict[str, Any]:
        loss, learner = self.learner.loss, _options(self.learner, leave="loss")
        options = dataclasses.asdict(loss)  # type: ignore[call-overload]
        learner["loss"] = {"name": kind_of(type(loss)), **{k: _plain(v) for k, v in options.items()}}
        weighed = {"class_weight": list(self.class_weight)} if self.class_weight else {}
        return weighed | {
            "domain": self.domain.to_json(),
            "n": self.n,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else "inf",
            "delta": self.delta,
            "steps": [step_json(s) for s in self.steps],
            "test_delta": self.test_delta,
            "learner": {
                "name": kind_of(type(self.learner)),
                **learner,
                "shift": self.learner_shift,
                "noise_multiplier": self.learner_noise_multiplier,
            },
            "guarantee": self.guarantee.to_json(self.delta) if self.guarantee else None,
        }

    @property
    def what(self) -> str:
        """A few words for the ledger: the steps, how each is paid for, and the learner."""
        return f"train: {', '.join([*self.chain.said, self.learner.name])}"

    @property
    def signal(self) -> float:
        """How strong the signal of its records is at this budget (`signal`)."""
        return signal(self.domain, n=self.n, epsilon=self.epsilon, delta=self.delta)


def _plain(value: Any) -> Any:
    """An option as plain data, so that every one of them is in the plan's hash."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else str(value)
    if isinstance(value, int | float | str | bool | type(None)):
        return value
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    raise ValueError(
        f"an option must be a number, a text, or a list or mapping of those; got {type(value).__name__}"
    )


def _options(part: Any, leave: str) -> dict[str, Any]:
    """The fields of a step or learner but one as plain data, without what is left out while it has its default."""
    fields = [f for f in dataclasses.fields(part) if f.name != leave]
    kept = [f for f in fields if not (f.metadata.get("omitted") and getattr(part, f.name) == f.default)]
    return {f.name: _plain(getattr(part, f.name)) for f in kept}


def step_json(planned: PlannedStep) -> dict[str, Any]:
    """A step in its place as plain data."""
    step = planned.step
    out: dict[str, Any] = {"step": kind_of(type(step)), "way": step.way, **_options(step, leave="payment")}
    if planned.shift is not None:
        out |= {
            "share": step.paid.share,
            "shift": planned.shift,
            "noise_multiplier": planned.noise_multiplier,
        }
    if not step.paid.leaves:
        out |= {"caps": _plain(step.paid.caps)} | ({"test_share": step.paid.test} if step.paid.test else {})
        moved = {f.name: getattr(planned.outgoing, f.name) for f in dataclasses.fields(planned.outgoing)}
        out |= {"shift_of_common_rows": moved | {"conditions": [str(c) for c in planned.outgoing.conditions]}}
    if planned.test is not None:
        covers = [number + 1 for number in planned.covers]
        out |= {"test": {"mu": planned.test.mu, "delta": planned.test.delta, "covers_steps": covers}}
    return out


def signal(domain: Domain, *, n: int, epsilon: float, delta: float) -> float:
    """s = n mu / r: the number of records over the noise that one sum over them would get from the whole budget.

    r: how far one record moves a sum of rows of norm one, 2 under replace-one, else 1.
    """
    record = rows_changed(domain.adjacency)
    return n * gdp_mu(epsilon, delta) / record if math.isfinite(epsilon) else math.inf


def budget(epsilon: float, delta: float) -> float:
    """The whole budget as mu of GDP, a little inside it; inf without privacy."""
    return gdp_mu(epsilon, delta) * LESS if math.isfinite(epsilon) else math.inf


def setting_of(steps: Chain, learner: Learner, domain: Domain) -> Setting:
    """What is declared about the rows that reach a learner after these steps; domain: with n."""
    assert domain.n is not None
    outputs = learner.loss.outputs(len(domain.classes))
    if steps.incoming.any_order and not (is_ours(type(learner)) or learner.takes_units):
        raise ValueError(
            f"{learner.name} does not say that its account is one of records in any order (takes_units), and an earlier step has rows "
            "matched by content"
        )
    rows = domain.rows_per_unit or 1
    return Setting(
        steps.space.radius, steps.space.d, outputs, domain.n, domain.adjacency, steps.incoming, rows
    )


AUTO = (0.01, 0.25)  # least and largest share that "auto" buys
_MORE = 1.15


def settled(steps: Sequence[Step], domain: Domain, mu: float) -> tuple[Step, ...]:
    """The steps with a number for each share that was left to the plan: as much as is enough (`sketches.signal`)."""
    for step in steps:
        check_payment(step.name, step.payment)
    return tuple(
        replace(step, payment=replace(step.payment, share=_auto(step, domain, mu)))  # type: ignore[type-var]
        if step.paid.left_open
        else step
        for step in steps
    )


def _auto(step: Step, domain: Domain, mu: float) -> float:
    least, most = AUTO
    if math.isinf(mu):
        return least
    share = least
    while share < most:
        sketch = step.paid.sketch_of(step, domain, mu * math.sqrt(share), True)
        if signal_of(sketch).enough:
            return share
        share *= _MORE
    return most


def check_signal(signal: Signal) -> None:
    """ValueError where a sketch would carry too little for its steps, from public numbers alone; a warning where little."""
    if signal.verdict == "too little":
        raise ValueError(signal.sentence)
    if signal.verdict == "coarse":
        warnings.warn(signal.sentence, UserWarning, stacklevel=callers_level())


def decide(
    domain: Domain,
    steps: Sequence[Step],
    learner: Learner,
    *,
    epsilon: float,
    delta: float,
    release: bool = True,
) -> tuple[Chain, Setting, float]:
    """(the steps in their places, the learner's setting, its noise multiplier) for one budget; domain: with n."""
    assert domain.n is not None
    mu = budget(epsilon, delta)
    steps = settled(steps, domain, mu)
    left = mu * math.sqrt(1 - spent_shares(steps))
    placed = chain(steps, domain, domain.n, mu, test_delta=min(delta, 0.25) / 2, release=release)
    if math.isfinite(mu):
        placed = with_best_tests(placed, left, epsilon, delta)
    setting = setting_of(placed, learner, domain)
    learner.unit(setting)  # a gradient without a bound is refused first
    return placed, setting, calibrated_noise(learner, setting, placed, epsilon, delta, left)


def make_plan(
    domain: Domain,
    steps: Sequence[Step],
    learner: Learner,
    *,
    epsilon: float,
    delta: float,
    n: int | None = None,
) -> Plan:
    """Freeze and price a pipeline. Reads no data.

    Parameters
    ----------
    domain : Domain
        What is declared about the raw rows.
    steps : sequence of steps
        Pre-processing, in order, each step with its payment (`prepriv.preprocessing`).
    learner : Learner
        What is trained after the steps, with its loss (`prepriv.learners`). Its noise is calibrated.
    epsilon : float
        The budget of everything together, positive. math.inf: no noise and no claim.
    delta : float
        In (0, 1), well below 1 / n.
    n : int, optional
        The declared number of records. None: the domain's.

    Returns
    -------
    Plan
        The plan, with the guarantee, the noise and the cost of each part.

    Raises
    ------
    ValueError
        If no plan can be made, with a sentence that says what to change.

    References
    ----------
    docs/proofs/whole.md, docs/proofs/composition.md

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> from prepriv.preprocessing import Center, Normalize
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1], n=1000)
    >>> steps = [Center(payment=prepriv.Budget(0.1)), Normalize()]
    >>> plan = prepriv.make_plan(domain, steps, GradientDescent(Logistic()), epsilon=1.0, delta=1e-5)
    >>> [(name, round(share, 3)) for name, share in plan.guarantee.breakdown]
    [('Center', 0.1), ('GradientDescent', 0.9)]
    """
    epsilon, delta = check_budget(epsilon, delta)
    check_domain(domain, trained=True)
    check_steps(steps)
    check_learner(learner)
    check_takes_units(learner, domain)
    check_loss(learner, domain)
    n = domain.n if n is None else n
    if n is None:
        raise ValueError("n, the number of records, must be declared")
    n = integer("n", n)
    domain.check_n(n)
    domain = domain.with_n(n)
    check_drafts(domain, delta)
    seen = domain.with_n(forecast_n(n))
    steps = settled(steps, seen, budget(epsilon, delta))
    placed, _, multiplier = decide(domain, steps, learner, epsilon=epsilon, delta=delta)
    test_delta = max((p.test.delta for p in placed.steps if p.test is not None), default=0.0)
    plan = Plan(domain, epsilon, delta, tuple(steps), learner, multiplier, test_delta)
    _check_written(plan)
    for p in plan.steps:
        if p.sketch is not None and plan.private:
            check_signal(signal_of(replace(p.sketch, domain=seen), (epsilon, delta)))
        if p.noise_multiplier is not None:
            p.step.check_release(p.before, n, domain.adjacency, p.incoming, p.noise_multiplier)
    _rehearse(plan)
    if plan.guarantee is not None:
        if plan.guarantee.epsilon(delta) > epsilon:
            raise ValueError(
                "the test of the caps leaves nothing for training: lower its share or raise epsilon"
                if placed.tested
                else "calibration went above the budget; please report this plan"
            )
        check_noise(plan.steps)
        plan.learner.check_room(plan.learner_noise_multiplier, plan.setting)
    return plan


def _rehearse(plan: Plan) -> None:
    """ValueError for third-party code that a run would refuse, or that no claim covers."""
    if not all(is_ours(type(p.step)) for p in plan.steps):
        from prepriv.rehearsals.rehearsal import rehearse

        for p in plan.steps:
            rehearse(p, plan.domain, plan.n, plan.private)
    if not (is_ours(type(plan.learner)) and is_ours(type(plan.learner.loss))):
        from prepriv.rehearsals.rehearsal_training import rehearse_training

        rehearse_training(
            plan.learner, plan.setting, plan.domain, plan.learner_noise_multiplier, plan.private
        )


def _check_written(plan: Plan) -> None:
    """ValueError for a plan that could not be written down and read back: now, and not when a model is saved."""
    said = plan.to_json()
    try:
        text = json.dumps(said["domain"], allow_nan=False)
        back = json.dumps(Domain.from_json(json.loads(text)).to_json())
    except (TypeError, ValueError, KeyError):
        back = text = ""
    if not text or back != text:
        raise ValueError("domain: a model of it could not be read back; declare texts and numbers only")


def check_noise(steps: Sequence[PlannedStep]) -> None:
    """ValueError if the noise of a step is too large to be drawn: now, and not in a run that was charged already."""
    for name, factor in [(p.step.name, p.noise_multiplier) for p in steps if p.noise_multiplier]:
        if factor > _LARGEST_MULTIPLIER:
            raise ValueError(
                f"the noise of {name} could overflow 64 bits, because its share of epsilon is too small: give a larger epsilon, or a larger share if it has one"
            )
