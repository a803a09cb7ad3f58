"""The frozen plan: every step, its payment, its noise and its price, fixed before a record is read.

A plan is a function of declared facts alone (domain, n, steps, learner, epsilon, delta). `run.execute`
carries it out; the guarantee printed is computed here, from the events of the plan.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prepriv import payment as pay
from prepriv.domain import Domain, Space
from prepriv.guarantees import gaussian, gdp_mu
from prepriv.guarantees.guarantee import GaussianEvent, Guarantee
from prepriv.guarantees.loss_distribution import compose
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.one_pass import OnePassSGD
from prepriv.learners.stochastic import Setting, StochasticLearner
from prepriv.mechanisms.propose_test_release import GaussianTest
from prepriv.mechanisms.session import check_room
from prepriv.pipeline.checks import Learner, check_budget, check_domain, check_learner, check_steps
from prepriv.preprocessing.base import UNTOUCHED, Sensitivity, Step, walk

_LESS = 1 - 1e-9  # calibrate a little inside the budget; the printed epsilon is computed from the events
_TEST_ERROR = 1e-3  # bound on the float error of a distance, in records
_LARGEST_MULTIPLIER = 2.0**25  # of a step's own release, whose sensitivity is below 2^30 grid steps
_TEST_DELTA = 0.5  # part of delta that bounds a test's false pass


@dataclass(frozen=True)
class PlannedStep:
    """One step with everything that was decided for it.

    before, after: declared spaces around it. incoming, outgoing: how far neighbours are apart around it.
    shift: L2 sensitivity of its mechanism; noise_multiplier: noise over that (Budget only). test: the
    propose-test-release of its conditions, if it has one.
    """

    step: Step
    before: Space
    after: Space
    incoming: Sensitivity
    outgoing: Sensitivity
    shift: float | None = None
    noise_multiplier: float | None = None
    test: GaussianTest | None = None

    @property
    def events(self) -> list[GaussianEvent]:
        """What its mechanisms release."""
        out = []
        if self.test is not None:
            out.append(GaussianEvent(f"{self.step.name} (test)", 1 / self.test.mu))
        if self.noise_multiplier:
            out.append(GaussianEvent(self.step.name, self.noise_multiplier))
        return out


@dataclass(frozen=True)
class Plan:
    """What will be done, what it will cost, and what will be claimed. Immutable; made by `make_plan`."""

    domain: Domain
    n: int
    epsilon: float
    delta: float
    steps: tuple[PlannedStep, ...]
    learner: Learner
    space: Space
    incoming: Sensitivity
    learner_shift: float
    learner_noise_multiplier: float
    guarantee: Guarantee | None

    @property
    def private(self) -> bool:
        """False for epsilon = inf: no noise, no clip, no claim."""
        return self.guarantee is not None

    @property
    def outputs(self) -> int:
        """Columns of the weight matrix."""
        return self.learner.loss.outputs(len(self.domain.classes))

    @property
    def learner_noise(self) -> float:
        """Standard deviation of the noise on one gradient sum, in gradient units."""
        return self.learner_noise_multiplier * self.learner_shift

    def to_json(self) -> dict[str, Any]:
        """Plain data: what was declared and decided. The same plan gives the same bytes."""
        learner = {f.name: getattr(self.learner, f.name) for f in dataclasses.fields(self.learner)}
        loss = self.learner.loss
        learner = {k: _plain(v) for k, v in learner.items() if k != "loss"}
        learner["loss"] = {"name": loss.name, **{k: _plain(v) for k, v in dataclasses.asdict(loss).items()}}  # type: ignore[call-overload]
        return {
            "domain": self.domain.to_json(),
            "n": self.n,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else "inf",
            "delta": self.delta,
            "steps": [_step_json(s) for s in self.steps],
            "learner": {
                "name": self.learner.name,
                **learner,
                "shift": self.learner_shift,
                "noise_multiplier": self.learner_noise_multiplier,
            },
            "guarantee": self.guarantee.to_json(self.delta) if self.guarantee else None,
        }

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON, for the ledger and the artifact."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """An option as plain data, so that every one of them is in the plan's hash."""
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else str(value)
    if isinstance(value, int | float | str | bool | type(None)):
        return value
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return str(value)


def _step_json(planned: PlannedStep) -> dict[str, Any]:
    step = planned.step
    options = {f.name: _plain(getattr(step, f.name)) for f in dataclasses.fields(step) if f.name != "payment"}
    out: dict[str, Any] = {"step": step.name, "way": step.way, **options}
    if isinstance(step.payment, pay.Budget):
        out |= {
            "share": step.payment.share,
            "shift": planned.shift,
            "noise_multiplier": planned.noise_multiplier,
        }
    if isinstance(step.payment, pay.Sensitivity):
        caps = step.payment.caps
        out |= {"caps": _plain(caps)}
        moved = dataclasses.asdict(planned.outgoing)
        out |= {"shift_of_common_rows": {**moved, "conditions": list(moved["conditions"])}}
    if planned.test is not None:
        out |= {"test": {"mu": planned.test.mu, "delta": planned.test.delta}}
    return out


def spent_shares(steps: Sequence[Step]) -> float:
    """The part of mu squared that Budget steps and tests take."""
    total = sum(s.payment.share for s in steps if isinstance(s.payment, pay.Budget))
    total += sum(s.payment.test for s in steps if isinstance(s.payment, pay.Sensitivity))
    if total >= 1:
        raise ValueError(f"budget shares add up to {total}: they must leave something for training")
    return total


def chain(
    steps: Sequence[Step], domain: Domain, n: int, mu: float, delta: float, *, release: bool = True
) -> tuple[list[PlannedStep], Space, Sensitivity]:
    """Follow the declared space and the shift of the common rows through the steps (docs/proofs/chaining.md).

    mu: the whole budget (GDP). release: whether a model is to leave, so that no step paid for by sensitivity
    may be needed on new rows (False when an existing pipeline is accounted for).
    """
    space, incoming = domain.space, UNTOUCHED
    planned: list[PlannedStep] = []
    for step, before, after in walk(steps, domain.space):
        shift = multiplier = test = None
        if isinstance(step.payment, pay.Sensitivity):
            if domain.adjacency != "replace-one":
                raise ValueError(f"{step.name} is paid for by sensitivity, which needs adjacency replace-one")
            if step.at_prediction and release:
                raise ValueError(
                    f"{step.name} is paid for by sensitivity, but the model needs it on new rows and its fitted "
                    "state may not leave; pay for it by public data or by budget"
                )
            outgoing = step.sensitivity(before, n, incoming)
            if step.payment.test > 0:
                test = _test(step, step.payment.test, incoming, planned, mu, delta)
                if outgoing.conditions and type(step).distance is Step.distance:
                    raise ValueError(
                        f"{step.name} cannot be tested: it has no distance to data that break its caps"
                    )
                outgoing = dataclasses.replace(outgoing, conditions=incoming.conditions)
        else:
            outgoing = step.carry(before, incoming)
            if isinstance(step.payment, pay.Budget):
                shift = step.record_shift(before, domain.adjacency, incoming)
                share = mu * math.sqrt(step.payment.share)
                multiplier = (1 + 1e-12) / share if mu < math.inf else 0.0
        planned.append(PlannedStep(step, before, after, incoming, outgoing, shift, multiplier, test))
        space, incoming = after, outgoing
    if space.may_miss.any():
        names = [space.names[j] if space.names else f"x{j}" for j in space.may_miss.nonzero()[0][:3]]
        raise ValueError(
            f"columns {', '.join(names)} are declared missing: impute, but no step imputes them; "
            "add MeanImputer, or declare missing: midpoint"
        )
    return planned, space, incoming


def _test(
    step: Step, share: float, incoming: Sensitivity, before: Sequence[PlannedStep], mu: float, delta: float
) -> GaussianTest | None:
    if not incoming.is_zero:
        raise ValueError(
            f"{step.name} cannot be tested behind a step paid for by sensitivity: its distance is Lipschitz "
            "only on rows that no earlier step has moved; test the first such step, or declare the caps"
        )
    if any(p.test is not None for p in before):
        raise ValueError("only one step of a pipeline can be tested")
    return (
        GaussianTest(mu=mu * math.sqrt(share), delta=_TEST_DELTA * delta, error=_TEST_ERROR)
        if mu < math.inf
        else None
    )


def make_plan(
    domain: Domain,
    steps: Sequence[Step],
    learner: Learner,
    *,
    epsilon: float,
    delta: float,
    n: int | None = None,
) -> Plan:
    """Freeze and price a pipeline. Reads no data. Raises ValueError with a sentence that says what to change."""
    epsilon, delta = check_budget(epsilon, delta)
    check_domain(domain)
    check_steps(steps)
    check_learner(learner)
    n = domain.n if n is None else n
    if n is None:
        raise ValueError("n, the number of records, must be declared")
    if domain.n is not None and n != domain.n:
        raise ValueError(f"the domain declares n={domain.n} records, not {n}")
    domain = domain.with_n(n)
    mu = gdp_mu(epsilon, delta) * _LESS if math.isfinite(epsilon) else math.inf
    planned, space, incoming = chain(steps, domain, n, mu, delta)
    outputs = learner.loss.outputs(len(domain.classes))
    setting = Setting(space.radius, space.d, outputs, n, domain.adjacency, incoming)
    shift, multiplier = calibrate(learner, setting, planned, epsilon, delta, mu, spent_shares(steps))
    guarantee = None
    if math.isfinite(epsilon):
        guarantee = claim(planned, learner, setting, multiplier, delta)
        if guarantee.epsilon(delta) > epsilon:
            raise ValueError(
                "the test of the caps leaves no room: lower its share or raise epsilon"
                if any(p.test for p in planned)
                else "calibration went above the budget; please report this plan"
            )
        _check_room(planned, learner, setting, shift, multiplier)
    return Plan(
        domain, n, epsilon, delta, tuple(planned), learner, space, incoming, shift, multiplier, guarantee
    )  # fmt: skip


def _check_room(
    planned: Sequence[PlannedStep], learner: Learner, setting: Setting, shift: float, multiplier: float
) -> None:
    """ValueError if some noise is too large to be drawn: now, and not in a run that was charged already."""
    for name, factor in [(p.step.name, p.noise_multiplier) for p in planned if p.noise_multiplier]:
        if factor > _LARGEST_MULTIPLIER:
            raise ValueError(f"the noise of {name} could overflow 64 bits; use a larger share or epsilon")
    if not isinstance(learner, OnePassSGD):  # whose sums are iterates, on a grid of their own
        grid = learner.grid(setting.radius, setting.n, setting.incoming)
        steps = math.ceil(shift * 2.0**-grid.exponent * (1 + 1e-9))
        check_room(learner.name, steps, multiplier, 2 * max(setting.n, 1) * grid.clip)


def calibrate(
    learner: Learner,
    setting: Setting,
    planned: Sequence[PlannedStep],
    epsilon: float,
    delta: float,
    mu: float,
    spent: float,
) -> tuple[float, float]:
    """(what the noise multiplier multiplies, the multiplier) for the learner's part of the budget."""
    if isinstance(learner, StochasticLearner):
        clip = learner.clip(setting.radius)
        if not math.isfinite(epsilon):
            raise ValueError(f"{learner.name} has no run without privacy; use GradientDescent")
        others = [(gaussian(1 / e.noise_multiplier), e.count) for p in planned for e in p.events]
        return clip, learner.calibrate(epsilon * (1 - 1e-9), delta, setting, others=others)
    shift = learner.shift(
        setting.radius, setting.d, setting.outputs, setting.n, setting.adjacency, setting.incoming
    )
    if not math.isfinite(shift):
        raise ValueError("the gradient has no finite bound: give the learner a clip_norm or a weight_bound")
    if not math.isfinite(mu):
        return shift, 0.0
    return shift, math.sqrt(learner.steps) / (mu * math.sqrt(1 - spent)) * (1 + 1e-12)


def claim(
    planned: Sequence[PlannedStep], learner: Learner, setting: Setting, multiplier: float, delta: float
) -> Guarantee:
    """The guarantee of a plan's events: GDP where all are Gaussian, a composed curve elsewhere."""
    at = next((i for i, p in enumerate(planned) if p.test is not None), None)
    events = [e for p in planned for e in p.events]
    adjacency, conditions = setting.adjacency, setting.incoming.conditions
    if isinstance(learner, GradientDescent):
        events.append(GaussianEvent(learner.name, multiplier, learner.steps))
        exact = Guarantee.of_gaussians(events, adjacency, conditions)
        if at is None:
            return exact
        training: TradeoffFunction = gaussian(1 / multiplier * math.sqrt(learner.steps) * (1 + 1e-12))
        breakdown = exact.breakdown
    else:
        training = compose(learner.parts(multiplier, setting, delta=delta))
        breakdown = tuple((e.name, e.mu_squared) for e in events) + ((learner.name, math.nan),)
    before = [_curve(p) for p in planned[: len(planned) if at is None else at] if p.events]
    if at is None:
        curve = compose([(f, 1) for f in (*before, training)]).symmetrized()
        return Guarantee(curve, adjacency, conditions, breakdown)
    # What runs only if the test passes; what ran before it does so in any case (docs/proofs/propose_test_release.md).
    test = planned[at].test
    assert test is not None
    after = compose([(f, 1) for f in (*(_curve(p) for p in planned[at + 1 :] if p.events), training)])
    always = compose([(f, 1) for f in before]) if before else None
    note = f"{planned[at].step.name}: caps tested by propose-test-release; a refusal is charged in full"
    curve = test.combined(after.symmetrized(), always)
    return Guarantee(curve, adjacency, conditions, breakdown, notes=(note,))


def _curve(planned: PlannedStep) -> TradeoffFunction:
    return compose([(gaussian(1 / e.noise_multiplier), e.count) for e in planned.events])
