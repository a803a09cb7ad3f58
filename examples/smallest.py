"""The smallest third-party code that prepriv accepts: a step in each way to pay, and a mechanism.

Nothing can be left out: what a class does not say about itself is refused (tests/test_smallest.py takes each name away). A
step that follows others, drops rows or rests on premises says more: examples/winsorize.py. The proofs are one line each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prepriv.mechanisms.lattice_noise import gaussian_sum_release
from prepriv.mechanisms.mechanism import Cost, Mechanism
from prepriv.preprocessing import RowShift, Step
from prepriv.preprocessing.base import ConfidentialMap, need_untouched
from prepriv.preprocessing.center import Subtract
from prepriv.preprocessing.normalize import Multiply


@dataclass(frozen=True)
class Halve(Step):
    """x -> x / 2. Free: it depends on no data."""

    def output(self, space):
        return replace(space, low=space.low / 2, high=space.high / 2, radius=space.radius / 2)

    def free(self, space):
        return Multiply(0.5)


@dataclass(frozen=True)
class NoisyMean(Step):
    """x -> x - m, where m is a noisy mean. By budget, or public: the noise is for the sum of the rows as they reach the step."""

    ways = ("public", "budget")

    def output(self, space):
        return replace(
            space, low=space.low - space.high, high=space.high - space.low, radius=2 * space.radius
        )

    def fit_public(self, rows, space, n):
        return Subtract(np.clip(np.concatenate(list(rows)).mean(axis=0), space.low, space.high))

    def fit_budget(self, rows, space, n, mechanisms):
        mean = mechanisms.sum(rows, dim=space.d, radius=space.radius) / n
        return Subtract(np.clip(mean, space.low, space.high))


class Less(ConfidentialMap):
    """x -> x - m."""

    def __init__(self, mean):
        self.mean = mean

    def transform(self, x):
        return x - self.mean


@dataclass(frozen=True)
class ExactMean(Step):
    """x -> x - m in training alone, where m is the exact mean. By sensitivity: another record moves m by at most the
    diameter / n, and with it every other row."""

    ways = ("sensitivity",)
    at_prediction = False

    def output(self, space):
        return replace(
            space, low=space.low - space.high, high=space.high - space.low, radius=2 * space.radius
        )

    def sensitivity(self, space, n, incoming=None):
        need_untouched(self, incoming or RowShift())
        space = getattr(space, "space", space)
        each = space.diameter / n * (1 + 1e-9)
        return RowShift(rows_moved=n - 1, row_shift=each, total_shift=(n - 1) * each)

    def fit_confidential(self, rows, space, n):
        return Less(np.concatenate(list(rows)).mean(axis=0))


@dataclass(frozen=True)
class NoisyCount(Mechanism):
    """How many records there are, with Gaussian noise. One record changes it by one."""

    noise_multiplier: float

    @property
    def cost(self) -> Cost | None:
        return Cost.of_noise(self.noise_multiplier)

    @property
    def reach(self) -> int:
        return 1

    def perform(self, exact: Any, source: Any) -> Any:
        steps = 2**8  # of the grid on which noise is drawn, for one record
        count = np.array([exact * steps])
        return gaussian_sum_release(count, steps, self.noise_multiplier, source, exponent=-8, bits=64)
