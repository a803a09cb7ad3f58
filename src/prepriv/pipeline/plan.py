"""The frozen plan: every step, its payment, its noise and its price, fixed before a record is read.

A plan is a function of declared facts alone (domain, n, steps, learner, epsilon, delta). `run.execute`
carries it out; the guarantee printed is computed here, from the events of the plan.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from prepriv import payment as pay
from prepriv.domain import Domain, Space
from prepriv.guarantees import gdp_mu
from prepriv.guarantees.guarantee import GaussianEvent, Guarantee
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.preprocessing.base import UNTOUCHED, Sensitivity, Step

_LESS = 1 - 1e-9  # calibrate a little inside the budget; the printed epsilon is computed from the events


@dataclass(frozen=True)
class PlannedStep:
    """One step with everything that was decided for it.

    before, after: declared spaces around it. incoming, outgoing: how far neighbours are apart around it.
    shift: L2 sensitivity of its mechanism; noise_multiplier: noise over that (Budget only).
    """

    step: Step
    before: Space
    after: Space
    incoming: Sensitivity
    outgoing: Sensitivity
    shift: float | None = None
    noise_multiplier: float | None = None


@dataclass(frozen=True)
class Plan:
    """What will be done, what it will cost, and what will be claimed. Immutable; made by `make_plan`."""

    domain: Domain
    n: int
    epsilon: float
    delta: float
    steps: tuple[PlannedStep, ...]
    learner: GradientDescent
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
        learner["loss"] = self.learner.loss.name
        learner = {k: ("inf" if v == math.inf else v) for k, v in learner.items()}
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


def _step_json(planned: PlannedStep) -> dict[str, Any]:
    step = planned.step
    options = {
        f.name: getattr(step, f.name)
        for f in dataclasses.fields(step)
        if f.name != "payment" and isinstance(getattr(step, f.name), int | float | str | bool | type(None))
    }
    out: dict[str, Any] = {"step": step.name, "way": step.way, **options}
    if isinstance(step.payment, pay.Budget):
        out |= {
            "share": step.payment.share,
            "shift": planned.shift,
            "noise_multiplier": planned.noise_multiplier,
        }
    if isinstance(step.payment, pay.Sensitivity):
        caps = step.payment.caps
        out |= {"caps": {str(k): dict(v) if isinstance(v, dict) else v for k, v in caps.items()}}
        moved = dataclasses.asdict(planned.outgoing)
        out |= {"shift_of_common_rows": {**moved, "conditions": list(moved["conditions"])}}
    return out


def check_budget(epsilon: float, delta: float) -> None:
    """ValueError unless epsilon > 0 (inf allowed: no privacy) and 0 < delta < 1."""
    if not (isinstance(epsilon, int | float) and not isinstance(epsilon, bool) and epsilon > 0):
        raise ValueError(f"epsilon must be positive; got {epsilon}")
    if not (isinstance(delta, int | float) and 0 < delta < 1):
        raise ValueError(f"delta must lie in (0, 1); got {delta}")


def spent_shares(steps: Sequence[Step]) -> float:
    """The part of mu squared that Budget steps take."""
    total = sum(s.payment.share for s in steps if isinstance(s.payment, pay.Budget))
    if total >= 1:
        raise ValueError(f"budget shares add up to {total}: they must leave something for training")
    return total


def chain(
    steps: Sequence[Step], domain: Domain, n: int, mu: float, *, release: bool = True
) -> tuple[list[PlannedStep], Space, Sensitivity]:
    """Follow the declared space and the shift of the common rows through the steps (docs/proofs/chaining.md)."""
    space, incoming = domain.space, UNTOUCHED
    planned: list[PlannedStep] = []
    for step in steps:
        after = step.output(space)
        shift = multiplier = None
        if isinstance(step.payment, pay.Sensitivity):
            if domain.adjacency != "replace-one":
                raise ValueError(f"{step.name} is paid for by sensitivity, which needs adjacency replace-one")
            if step.at_prediction and release:
                raise ValueError(
                    f"{step.name} is paid for by sensitivity, but the model needs it on new rows and its fitted "
                    "state may not leave; pay for it by public data or by budget"
                )
            outgoing = step.sensitivity(space, n, incoming)
        else:
            stretch = step.stretch(space)
            if incoming.rows_moved > 0 and math.isinf(stretch):
                raise ValueError(
                    f"{step.name} is no Lipschitz map, so it cannot follow a step paid for by sensitivity; "
                    "give it a floor, or use ClipNorm"
                )
            outgoing = incoming.through(stretch)
            if isinstance(step.payment, pay.Budget):
                shift = step.record_shift(space, domain.adjacency, incoming)
                multiplier = 1 / (mu * math.sqrt(step.payment.share)) * (1 + 1e-12) if mu < math.inf else 0.0
        planned.append(PlannedStep(step, space, after, incoming, outgoing, shift, multiplier))
        space, incoming = after, outgoing
    if space.may_miss.any():
        names = [space.names[j] if space.names else f"x{j}" for j in space.may_miss.nonzero()[0][:3]]
        raise ValueError(
            f"columns {', '.join(names)} are declared missing: impute, but no step imputes them; "
            "add MeanImputer, or declare missing: midpoint"
        )
    return planned, space, incoming


def make_plan(
    domain: Domain,
    steps: Sequence[Step],
    learner: GradientDescent,
    *,
    epsilon: float,
    delta: float,
    n: int | None = None,
) -> Plan:
    """Freeze and price a pipeline. Reads no data. Raises ValueError with a sentence that says what to change."""
    check_budget(epsilon, delta)
    n = domain.n if n is None else n
    if n is None:
        raise ValueError("n, the number of records, must be declared")
    if domain.n is not None and n != domain.n:
        raise ValueError(f"the domain declares n={domain.n} records, not {n}")
    domain = domain.with_n(n)
    mu = gdp_mu(epsilon, delta) * _LESS if math.isfinite(epsilon) else math.inf
    planned, space, incoming = chain(steps, domain, n, mu)
    outputs = learner.loss.outputs(len(domain.classes))
    shift = learner.shift(space.radius, space.d, outputs, n, domain.adjacency, incoming)
    if not math.isfinite(shift):
        raise ValueError("the gradient has no finite bound: give the learner a clip_norm or a weight_bound")
    guarantee, multiplier = None, 0.0
    if math.isfinite(epsilon):
        left = mu * math.sqrt(1 - spent_shares(steps))
        multiplier = math.sqrt(learner.steps) / left * (1 + 1e-12)
        guarantee = Guarantee.of_gaussians(
            _events(planned, learner, multiplier), domain.adjacency, incoming.conditions
        )
        if guarantee.epsilon(delta) > epsilon:
            raise AssertionError("calibration went above the budget")  # a bug of ours, never of the user's
    return Plan(
        domain,
        n,
        float(epsilon),
        float(delta),
        tuple(planned),
        learner,
        space,
        incoming,
        shift,
        multiplier,
        guarantee,
    )


def _events(
    planned: Sequence[PlannedStep], learner: GradientDescent, multiplier: float
) -> list[GaussianEvent]:
    events = [GaussianEvent(p.step.name, p.noise_multiplier) for p in planned if p.noise_multiplier]
    return [*events, GaussianEvent(learner.name, multiplier, learner.steps)]
