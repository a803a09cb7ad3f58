"""What a choice among trained candidates costs: the claim of the winner, computed from all plans and the mechanism.

Proof: docs/proofs/choose.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from prepriv._arguments import choice, number
from prepriv.adjacency import rows_changed
from prepriv.domain import Domain
from prepriv.guarantees.algebra import beside, best_of, then
from prepriv.guarantees.families import gaussian
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.random_trials import LEAST_STOP
from prepriv.mechanisms.exponential import ExponentialMechanism
from prepriv.plans.plan import Plan
from prepriv.plans.stored import plan_from_json

_LARGEST_MU = 12.0  # of a choice: beyond, it is as good as exact
METHODS = ("same rows", "random trials", "own rows")
TRIALS = METHODS[1]
ERROR_SHARE = 0.25  # of the distance of the bounds: the largest error of a number that counts, where a model is scored alone
DIFFERENCE_SHARE = (
    0.0625  # where all are scored beside each other: the largest difference of errors (benchmarks/choose.py)
)
_TRIALS_EACH = 4  # trials on average for each candidate but one: each is tried with a chance of 80 %


def choice_epsilon(mu: float, domain: Domain) -> float:
    """The epsilon of a mechanism that chooses for mu-GDP."""
    return ExponentialMechanism.of_gdp(min(mu, _LARGEST_MU), _score_range(domain)).epsilon


def score_steps(domain: Domain) -> int:
    """The largest score of one record, the least being 0: a right label is 1, a number as good as it is near."""
    return 1 if domain.target is None else 1024


def _score_range(domain: Domain) -> int:
    return rows_changed(domain.adjacency) * score_steps(domain)  # up or down, or one way only


def trials_stop(candidates: int) -> float:
    """The chance to stop after each trial."""
    return max(1 / (_TRIALS_EACH * (candidates - 1)), LEAST_STOP)


def tried(candidates: int) -> float:
    """The chance that a candidate is tried at least once."""
    stop = trials_stop(candidates)
    return 1 / (1 + stop * (candidates - 1))


@dataclass(frozen=True)
class Chosen:
    """Candidates that were trained, and how one of them was chosen on records that none of them was trained on.

    method: "same rows" if all candidates were trained on the same records, "own rows" if each on its own, "random trials"
    if one drawn at random was, a secret number of times. plans: of all candidates. epsilon: of the exponential mechanism
    that chose; for random trials mu of the noise on each score, and stop, the chance that a trial was the last.
    """

    method: str
    plans: tuple[Plan, ...]
    epsilon: float
    stop: float | None = None

    def __post_init__(self) -> None:
        choice("method", self.method, METHODS)
        if (self.method == TRIALS) != (self.stop is not None):
            raise ValueError("random trials, and they alone, stop by a coin")
        if self.stop is not None:
            number("stop", self.stop, at_least=LEAST_STOP, at_most=1.0)
            number("epsilon", self.epsilon, above=0.0)

    @property
    def domain(self) -> Domain:
        """Of all plans."""
        return self.plans[0].domain

    @property
    def mechanism(self) -> ExponentialMechanism:
        """It chooses by the number of right labels, which one record moves by one."""
        return ExponentialMechanism(self.epsilon, _score_range(self.domain))

    @cached_property
    def guarantee(self) -> Guarantee | None:
        """What holds for the winner and the choice together; None if a plan is without privacy."""
        each = [plan.guarantee for plan in self.plans]
        private = [g for g in each if g is not None]
        if len(private) < len(each):
            return None
        if self.stop is not None:  # a model is trained on one part and scored on the other: one trial
            return best_of(beside([*private, _gaussian(self.epsilon, private[0])]), self.stop)
        parts = [then(private)] if self.method == "same rows" else private
        return beside([*parts, _gaussian(self.mechanism.mu, private[0])])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        said = {"method": self.method, "epsilon": self.epsilon, "plans": [p.to_json() for p in self.plans]}
        return said | ({} if self.stop is None else {"stop": self.stop})

    @staticmethod
    def from_json(data: Mapping[str, Any], largest: int) -> Chosen:
        """Inverse of `to_json`; each plan is read and checked as `plan_from_json` does."""
        stop = data.get("stop")
        if data.keys() - {"stop"} != {"method", "epsilon", "plans"} or not 0 < len(data["plans"]) <= 1000:
            raise ValueError
        plans = tuple(plan_from_json(plan, largest) for plan in data["plans"])
        return Chosen(data["method"], plans, float(data["epsilon"]), None if stop is None else float(stop))


def _gaussian(mu: float, beside: Guarantee) -> Guarantee:
    """Of a Gaussian curve, for the neighbours of another guarantee."""
    return Guarantee(gaussian(mu), beside.adjacency, mu=mu, unit=beside.unit)
