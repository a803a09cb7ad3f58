"""What will be measured of a model on private rows, and what that costs: frozen before a row is read.

Proof of the guarantee: docs/proofs/evaluation.md.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from prepriv._arguments import integer, numbers, shown
from prepriv.domain import Domain
from prepriv.guarantees.guarantee import GaussianEvent, Guarantee
from prepriv.guarantees.notes import notes_on
from prepriv.mechanisms._counts import COUNT_BITS, count_sensitivity
from prepriv.mechanisms.lattice import noise_scale
from prepriv.mechanisms.session import check_room
from prepriv.pipeline.checks import check_budget
from prepriv.pipeline.plan import budget
from prepriv.release.model import Model

MEASURES = ("accuracy", "confusion", "scores", "log_loss")
LOSS_BOUND = 4.0  # the largest log loss of a row: that of a true class whose probability is 1.8 %
EDGES = (
    0.02,
    0.05,
    0.12,
    0.27,
    0.5,
    0.73,
    0.88,
    0.95,
    0.98,
)  # scores crowd at both ends: even steps in log odds
MOST_CELLS = 10_000


@dataclass(frozen=True)
class EvaluationPlan:
    """What will be measured, at what noise, and what is claimed of it. Made by `plan_evaluation`.

    domain: of the model, with n the declared number of test rows. measures: some of MEASURES, each with an equal part of
    the budget. edges: of the bins of the scores. model: SHA-256 of the model's file; None for one that is trained first.
    """

    domain: Domain
    epsilon: float
    delta: float
    measures: tuple[str, ...]
    edges: tuple[float, ...]
    model: str | None = None

    @property
    def n(self) -> int:
        """The declared number of test rows."""
        assert self.domain.n is not None
        return self.domain.n

    @property
    def noise_multiplier(self) -> float:
        """Noise over sensitivity, the same for each measure."""
        return math.sqrt(len(self.measures)) / budget(self.epsilon, self.delta) * (1 + 1e-12)

    @property
    def noise(self) -> float:
        """Standard deviation of the noise on one count, in rows."""
        return self.noise_multiplier * count_sensitivity(self.domain.adjacency) * 2.0**-COUNT_BITS

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is claimed of all that leaves, for the people of the test rows: from the releases that are made."""
        events = [GaussianEvent(name, self.noise_multiplier) for name in self.measures]
        made = Guarantee.of_gaussians(events, self.domain.adjacency)
        weak = notes_on(made.epsilon(self.delta), self.delta, self.n, math.inf)  # no model is made here
        return dataclasses.replace(made, notes=weak)

    def to_json(self) -> dict[str, Any]:
        """Plain data: what was declared and decided."""
        return {
            "evaluation": list(self.measures),
            "model": self.model,
            "domain": self.domain.to_json(),
            "n": self.n,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "edges": list(self.edges),
            "loss_bound": LOSS_BOUND,
            "noise_multiplier": self.noise_multiplier,
            "guarantee": self.guarantee.to_json(self.delta),
        }

    @property
    def what(self) -> str:
        """In a few words, for the ledger: the measures, and of which model."""
        return f"evaluate: {', '.join(self.measures)}" + (f", model {self.model[:12]}" if self.model else "")

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON, for the ledger."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def plan_evaluation(
    model: Model | Domain,
    *,
    n: int,
    epsilon: float = 0.1,
    delta: float = 1e-5,
    measures: str | Sequence[str] = MEASURES,
    bins: int | Sequence[float] = EDGES,
) -> EvaluationPlan:
    """Freeze and price the evaluation of a model on n private rows. Reads no row.

    model: or the domain of one that is still to be trained. measures: one or some of "accuracy", "confusion" (balanced
    accuracy, recall and precision of each class), "scores" (calibration and, for two classes, AUC), "log_loss"; fewer of
    them have less noise. bins: of the probability of the second class, or of the predicted one where there are more
    than two: their number, for equal widths, or their inner edges, increasing in (0, 1). Raises ValueError with one sentence.

    >>> import prepriv
    >>> plan = plan_evaluation(prepriv.Domain.box(0, 1, features=2, classes=[0, 1]), n=5000, epsilon=0.1)
    >>> round(plan.guarantee.epsilon(1e-5), 3), round(plan.noise)
    (0.1, 87)
    """
    epsilon, delta = check_budget(epsilon, delta)
    if not math.isfinite(epsilon):
        raise ValueError("epsilon must be finite: rows that are public need no noise, see `score`")
    asked = (measures,) if isinstance(measures, str) else tuple(measures)
    if not asked or any(name not in MEASURES for name in asked) or len(set(asked)) < len(asked):
        raise ValueError(f"measures must be some of {', '.join(MEASURES)}, each once; got {shown(measures)}")
    domain = (model if isinstance(model, Domain) else model.domain).with_n(integer("n", n))
    edges = _edges(bins)
    if domain.target is not None:
        raise ValueError("only models of classes are evaluated in private: a declared target is not")
    if max(len(domain.classes) ** 2, 2 * len(edges) + 2) > MOST_CELLS:
        raise ValueError(
            f"a table of more than {MOST_CELLS} counts would be noise alone; got more classes or bins"
        )
    known = None if isinstance(model, Domain) else hashlib.sha256(model.text().encode()).hexdigest()
    plan = EvaluationPlan(domain, epsilon, delta, tuple(m for m in MEASURES if m in asked), edges, known)
    sensitivity = count_sensitivity(domain.adjacency)
    noise_scale(sensitivity, plan.noise_multiplier)  # refused now, and not when it is charged
    check_room("counts", sensitivity, plan.noise_multiplier, 2 * plan.n << COUNT_BITS)
    if plan.guarantee.epsilon(delta) > epsilon:
        raise ValueError("calibration went above the budget; please report this plan")
    return plan


def _edges(bins: Any) -> tuple[float, ...]:
    if np.ndim(bins) == 0:
        count = integer("bins", bins, at_least=2, at_most=MOST_CELLS)
        return tuple(k / count for k in range(1, count))
    edges = tuple(float(e) for e in numbers("bins", bins, above=0.0, below=1.0).ravel())
    if not edges or any(a >= b for a, b in itertools.pairwise(edges)):
        raise ValueError(
            f"bins must be a number, 2 or more, or increasing edges in (0, 1); got {shown(bins)}"
        )
    return edges
