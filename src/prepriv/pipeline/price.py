"""What each step costs in each of the three ways, from declared facts alone: no record is read.

The currency is noise: how many times larger the noise of training becomes, at the same (epsilon, delta),
than if the step cost nothing; and what epsilon the pipeline would really have had if that had been ignored.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

from prepriv import payment as pay
from prepriv.domain import Domain, Space
from prepriv.guarantees import gdp_epsilon, gdp_mu
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.pipeline.plan import chain, spent_shares
from prepriv.preprocessing.base import Step

_DEFAULTS: dict[str, pay.Payment] = {
    pay.Public.way: pay.Public(),
    pay.Budget.way: pay.Budget(),
    pay.Sensitivity.way: pay.Sensitivity(),
}


@dataclass(frozen=True)
class Price:
    """One way to pay for one step. factor: noise of training over the noise if the step were free (inf: closed).

    epsilon: what the pipeline would cost if training used the noise of a free step (None where that is not
    one number). chosen: whether the pipeline pays this way. note: terms or the reason the way is closed.
    """

    step: str
    way: str
    factor: float
    epsilon: float | None
    chosen: bool
    note: str

    @property
    def open(self) -> bool:
        """Whether this way exists."""
        return math.isfinite(self.factor)


@dataclass(frozen=True)
class _Costless(Step):
    """A step as if it were free: the yardstick of the prices."""

    inner: Step | None = None

    def output(self, space: Space) -> Space:
        assert self.inner is not None
        return self.inner.output(space)

    def stretch(self, space: Space) -> float:
        assert self.inner is not None
        return self.inner.stretch(space)


def training_noise(
    steps: Sequence[Step], domain: Domain, learner: GradientDescent, n: int, mu: float
) -> float:
    """Standard deviation of the noise on one gradient sum for a whole budget of mu (GDP)."""
    _, space, incoming = chain(steps, domain, n, mu)
    outputs = learner.loss.outputs(len(domain.classes))
    shift = learner.shift(space.radius, space.d, outputs, n, domain.adjacency, incoming)
    return shift * math.sqrt(learner.steps / (1 - spent_shares(steps))) / mu


def prices(
    steps: Sequence[Step], domain: Domain, learner: GradientDescent, *, epsilon: float, delta: float, n: int
) -> list[Price]:
    """The price of every step that depends on data, in all three ways, the other steps as they are."""
    mu = gdp_mu(epsilon, delta)
    table: list[Price] = []
    for i, step in enumerate(steps):
        if not step.ways:
            continue
        free = training_noise([*steps[:i], _Costless(inner=step), *steps[i + 1 :]], domain, learner, n, mu)
        for way in pay.WAYS:
            table.append(_price(steps, i, way, free, domain, learner, mu, delta, n))
    return table


def _price(
    steps: Sequence[Step],
    i: int,
    way: str,
    free: float,
    domain: Domain,
    learner: GradientDescent,
    mu: float,
    delta: float,
    n: int,
) -> Price:
    step = steps[i]
    chosen = step.way == way
    try:
        payment = step.payment if chosen else _DEFAULTS[way]
        variant = step if chosen else dataclasses.replace(step, payment=payment)
        factor = training_noise([*steps[:i], variant, *steps[i + 1 :]], domain, learner, n, mu) / free
    except ValueError as closed:
        return Price(step.name, way, math.inf, None, False, step.closed_ways().get(way, str(closed)))
    real = None if way == pay.Public.way else gdp_epsilon(mu * factor, delta)
    return Price(step.name, way, factor, real, chosen, _terms(payment))


def _terms(payment: pay.Payment | None) -> str:
    if isinstance(payment, pay.Public):
        return "a public table with the same columns"
    if isinstance(payment, pay.Budget):
        return f"{payment.share:.0%} of the budget; may be released"
    if isinstance(payment, pay.Sensitivity):
        caps = ", ".join(f"{k} {v}" for k, v in payment.caps.items()) or "default caps"
        return f"{caps}; never released"
    return ""
