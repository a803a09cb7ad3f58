"""Whether the noisy sums that a training released look like noise alone. Proof: docs/proofs/gradient_descent.md.

A record whose label is not a declared class adds zero to every sum. Where that is so of all records, the sums are noise whose
deviation the plan states. No record, no label and no exact sum is read here: only the plan, released maps and noisy sums.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from prepriv._arrays import Floats
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Momentum
from prepriv.learners.stochastic import FixedBatchSGD, PoissonSGD
from prepriv.mechanisms.gaussian_sum import coarse_steps
from prepriv.plans.plan import Plan
from prepriv.plans.shrink import typical_rows
from prepriv.preprocessing.base import ReleasedMap

_MISSED = (
    0.05  # of trainings on noise alone, so many look like more; with fewer, it is said of more useful models
)
_MEAN, _STEPS, _CLEAR = (
    0.2,
    4,
    0.01,
)  # a mean gradient of so many clip norms in so many steps has to stand out at this level, or nothing is said
_LEARNERS = (GradientDescent, PoissonSGD, FixedBatchSGD)  # whose accounts are about every sum, released


class NoisySums:
    """The noisy sums of one training, as they are released.

    Added up they are compared with noise after 1, 2, 4, ... and all steps: early sums say most where descent converges, and
    many together say most where it does not. Two numbers are compared: the squared norm, and what the sum does to made-up rows.
    Nothing is said where the noise of the plan hides the norm of useful gradients, too.
    """

    def __init__(self, plan: Plan, rows: Callable[[], Floats | None] | None) -> None:
        """rows: gives made-up ones as they reach the learner, (k, d), or nothing. None: the norm alone is compared."""
        self._plan, self._rows, self._steps = plan, rows, plan.learner.steps
        numbers = (plan.space.d + 1) * plan.outputs
        self._looks = {self._steps, *(1 << i for i in range(self._steps.bit_length()))}
        comparisons = len(self._looks) * (1 if rows is None else 2)
        self._missed = _MISSED / comparisons
        self._longest = _quantile(numbers, numbers, numbers, self._missed)
        self._noise = plan.learner_noise * (1 + coarse_steps(numbers))
        assert isinstance(plan.learner, Momentum)  # each of `_LEARNERS`
        mean = _MEAN * plan.learner.clip(plan.space.radius) * plan.learner.seen(plan.n) * plan.n / self._noise
        clear = _quantile(numbers, numbers, numbers, _CLEAR / comparisons)
        self._told = min(_STEPS, self._steps) * mean**2 >= clear - numbers
        self._sum, self._count = np.zeros((plan.space.d + 1, plan.outputs)), 0
        self._seen: list[Floats] = []

    @staticmethod
    def of(plan: Plan, maps: Sequence[ReleasedMap]) -> NoisySums | None:
        """None for a numeric target, without privacy, and for a learner whose account may be about less than every sum."""
        if not plan.private or plan.domain.target is not None or type(plan.learner) not in _LEARNERS:
            return None
        spread = plan.space.d > plan.domain.space.d and plan.domain.image is None  # images take longer to map
        return NoisySums(plan, partial(typical_rows, plan, maps) if spread else None)

    def __call__(self, noisy: Floats) -> None:
        """One more sum was released."""
        self._count += 1
        if self._told:
            self._sum += noisy
            if self._count in self._looks:
                self._seen.append(self._sum / (self._noise * math.sqrt(self._count)))

    def alone(self) -> bool:
        """Whether all sums together look like noise alone, and would not if the rows said much."""
        if not self._told or self._count != self._steps:
            return False
        if any(float(np.square(scaled).sum()) > self._longest for scaled in self._seen):
            return False
        return self._rows is None or not self._moves(self._rows())

    def _moves(self, rows: Floats | None) -> bool:
        """Whether what the sums do to made-up rows is more than noise does."""
        if rows is None:
            return False
        made, outputs = (
            np.hstack([rows, np.full((len(rows), 1), self._plan.learner.bias)]),
            self._plan.outputs,
        )
        size = float(np.linalg.norm(made))
        if not 0 < size < math.inf:
            return False
        made /= size
        gram = made @ made.T  # its eigenvalues weigh independent squares of noise
        two, three = float((gram**2).sum()), float(((gram @ gram) * gram).sum())
        most = _quantile(outputs, outputs * two, outputs * three, self._missed)
        return any(float(np.square(made @ scaled).sum()) > most for scaled in self._seen)


def _quantile(one: float, two: float, three: float, beyond: float) -> float:
    """What a sum of squares of independent normal numbers exceeds with this probability, about.

    one, two, three: the sums of its weights, their squares and cubes. A chi-square law of the same three moments, and for that
    the cube root of Wilson and Hilferty.
    """
    freedom = two**3 / three**2
    root = 1 - 2 / (9 * freedom) + statistics.NormalDist().inv_cdf(1 - beyond) * math.sqrt(2 / (9 * freedom))
    return one + math.sqrt(two / freedom) * freedom * (root**3 - 1)
