"""Whether the noisy sums that a training released look like noise alone. Proof: docs/proofs/gradient_descent.md.

A record whose label is not a declared class adds zero to every sum. Where that is so of all records, the sums are noise whose
deviation the plan states. No record, no label and no exact sum is read here: only the plan, released maps and noisy sums.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np

from prepriv._arrays import Floats
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Momentum
from prepriv.learners.stochastic import FixedBatchSGD, PoissonSGD
from prepriv.mechanisms.gaussian_sum import coarse_steps
from prepriv.plans.plan import Plan
from prepriv.plans.shrink import typical_rows
from prepriv.preprocessing.base import ReleasedMap

_MISSED = 0.01  # of trainings on noise alone, so many look like more
_MEAN, _STEPS = (
    0.2,
    4,
)  # a mean gradient of so many clip norms in so many steps has to stand out, or nothing is said
_LEARNERS = (GradientDescent, PoissonSGD, FixedBatchSGD)  # whose accounts are about every sum, released


class NoisySums:
    """The noisy sums of one training, as they are released.

    Added up they are compared with noise after 1, 2, 4, ... and all steps: early sums say most where descent converges, and
    many together say most where it does not. Two numbers are compared: the squared norm, and what the sum does to made-up rows.
    Nothing is said where the noise of the plan hides the norm of useful gradients, too.
    """

    def __init__(self, plan: Plan, rows: Floats | None) -> None:
        """rows: made-up ones as they reach the learner, (k, d). None: the norm alone is compared."""
        self._steps, outputs = plan.learner.steps, plan.outputs
        numbers = (plan.space.d + 1) * outputs
        self._looks = {self._steps, *(1 << i for i in range(self._steps.bit_length()))}
        missed = _MISSED / (len(self._looks) * (1 if rows is None else 2))
        self._longest, self._rows, self._most = _quantile(numbers, numbers, numbers, missed), None, math.inf
        if rows is not None:
            made = np.hstack([rows, np.full((len(rows), 1), plan.learner.bias)])
            size = float(np.linalg.norm(made))
            if 0 < size < math.inf:
                self._rows = made / size
                gram = self._rows @ self._rows.T  # its eigenvalues weigh independent squares of noise
                two, three = float((gram**2).sum()), float(((gram @ gram) * gram).sum())
                self._most = _quantile(outputs, outputs * two, outputs * three, missed)
        self._noise = plan.learner_noise * (1 + coarse_steps(numbers))
        assert isinstance(plan.learner, Momentum)  # each of `_LEARNERS`
        mean = _MEAN * plan.learner.clip(plan.space.radius) * plan.learner.seen(plan.n) * plan.n / self._noise
        self._told = min(_STEPS, self._steps) * mean**2 >= self._longest - numbers
        self._sum, self._count, self._apart = np.zeros((plan.space.d + 1, outputs)), 0, False

    @staticmethod
    def of(plan: Plan, maps: Sequence[ReleasedMap]) -> NoisySums | None:
        """None for a numeric target, without privacy, and for a learner whose account may be about less than every sum."""
        if not plan.private or plan.domain.target is not None or type(plan.learner) not in _LEARNERS:
            return None
        spread = plan.space.d > plan.domain.space.d and plan.domain.image is None  # images take longer to map
        return NoisySums(plan, typical_rows(plan, maps) if spread else None)

    def __call__(self, noisy: Floats) -> None:
        """One more sum was released."""
        self._count += 1
        self._sum += noisy
        if self._count in self._looks and not self._apart:
            scaled = self._sum / (self._noise * math.sqrt(self._count))
            on_rows = 0.0 if self._rows is None else float(np.square(self._rows @ scaled).sum())
            self._apart = float(np.square(scaled).sum()) > self._longest or on_rows > self._most

    @property
    def alone(self) -> bool:
        """Whether all sums together look like noise alone, and would not if the rows said much."""
        return self._told and self._count == self._steps and not self._apart


def _quantile(one: float, two: float, three: float, beyond: float) -> float:
    """What a sum of squares of independent normal numbers exceeds with this probability, about.

    one, two, three: the sums of its weights, their squares and cubes. A chi-square law of the same three moments, and for that
    the cube root of Wilson and Hilferty.
    """
    freedom = two**3 / three**2
    root = 1 - 2 / (9 * freedom) + statistics.NormalDist().inv_cdf(1 - beyond) * math.sqrt(2 / (9 * freedom))
    return one + math.sqrt(two / freedom) * freedom * (root**3 - 1)
