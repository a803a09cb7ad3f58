"""What a choice among trained candidates costs: the claim of the winner, computed from all plans and the mechanism.

Proof: docs/proofs/choose.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from prepriv._arguments import choice
from prepriv.domain import Adjacency
from prepriv.guarantees.disjoint import disjoint
from prepriv.guarantees.families import gaussian
from prepriv.guarantees.guarantee import Guarantee
from prepriv.mechanisms.exponential import ExponentialMechanism
from prepriv.pipeline.odometer import composed
from prepriv.pipeline.plan import Plan
from prepriv.pipeline.stored import plan_from_json

_LARGEST_MU = 20.0  # of a choice: beyond, it is as good as exact
METHODS = ("same rows", "own rows")
SCORE_RANGE = {
    "replace-one": 2,
    "add-or-remove-one": 1,
}  # of numbers of right labels, of which a record moves each by one


def choice_epsilon(mu: float, adjacency: Adjacency) -> float:
    """The epsilon of a mechanism that chooses for mu-GDP."""
    return ExponentialMechanism.of_gdp(min(mu, _LARGEST_MU), SCORE_RANGE[adjacency]).epsilon


@dataclass(frozen=True)
class Chosen:
    """Candidates that were trained, and how one of them was chosen on records that none of them was trained on.

    method: "same rows" if all candidates were trained on the same records, "own rows" if each on its own. plans: of all
    candidates. epsilon: of the exponential mechanism.
    """

    method: str
    plans: tuple[Plan, ...]
    epsilon: float

    def __post_init__(self) -> None:
        choice("method", self.method, METHODS)

    @property
    def mechanism(self) -> ExponentialMechanism:
        """It chooses by the number of right labels, which one record moves by one."""
        return ExponentialMechanism(self.epsilon, SCORE_RANGE[self.plans[0].domain.adjacency])

    @cached_property
    def guarantee(self) -> Guarantee | None:
        """What holds for the winner and the choice together; None if a plan is without privacy."""
        each = [plan.guarantee for plan in self.plans]
        private = [g for g in each if g is not None]
        if len(private) < len(each):
            return None
        parts = [composed(private)] if self.method == "same rows" else private
        mu = self.mechanism.mu
        return disjoint([*parts, Guarantee(gaussian(mu), private[0].adjacency, mu=mu)])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"method": self.method, "epsilon": self.epsilon, "plans": [p.to_json() for p in self.plans]}

    @staticmethod
    def from_json(data: Mapping[str, Any], largest: int) -> Chosen:
        """Inverse of `to_json`; each plan is read and checked as `plan_from_json` does."""
        if data.keys() != {"method", "epsilon", "plans"} or not data["plans"] or len(data["plans"]) > 1000:
            raise ValueError
        plans = tuple(plan_from_json(plan, largest) for plan in data["plans"])
        return Chosen(data["method"], plans, float(data["epsilon"]))
