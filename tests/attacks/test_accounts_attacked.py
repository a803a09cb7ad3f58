"""What an audit found in the accounts of existing pipelines: each pair or call here broke a printed claim."""

from __future__ import annotations

import numpy as np
import pytest

from prepriv import Domain, Sensitivity, account
from prepriv import preprocessing as pre
from prepriv.learners.base import Setting
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.gradient_sum import GradientSum, QuantizedRows
from prepriv.learners.losses import Logistic
from prepriv.learners.stochastic import FixedBatchSGD
from prepriv.pipeline.account import DIRECT, SMOOTH
from prepriv.preprocessing.base import Sensitivity as Shift

FULL = GradientDescent(Logistic(), steps=2, weight_bound=2.0, learning_rate=20.0)
SOFT = pre.SoftPCA(0.05, payment=Sensitivity())

# ------------------------------------------------------------------------ C1: the grid is in every route


@pytest.mark.parametrize(
    "learner", [FULL, FixedBatchSGD(Logistic(), batch_size=1000, weight_bound=2.0, steps=2)]
)
def test_the_smooth_route_counts_what_the_grid_adds_to_rows_that_hardly_move(learner):
    """n - 1 rows that move by 1e-12 across a grid step: their gradients jump, all the same way."""
    n, z, tiny = 1000, 10.0, 1e-12
    setting = Setting(1.0, 2, 1, n, "replace-one", Shift(n - 1, tiny, (n - 1) * tiny))
    grid = learner.grid(1.0, n, setting.incoming)
    edge = 2.0**-grid.x_bits / (1 - 2.0**-40) * 1000
    weights = np.full((3, 1), 0.3)

    def gradient(x):
        rows = QuantizedRows(grid, 1, 2, learner.bias)
        rows.fill(0, np.array([[x, 0.0]]), np.array([1]))
        with GradientSum(rows, learner.loss, threads=1) as total:
            return total(weights).astype(np.float64) * 2.0**grid.exponent

    jump = (n - 1) * float(np.linalg.norm(gradient(edge + tiny / 2) - gradient(edge - tiny / 2)))
    assert jump > 1e3 * setting.incoming.total_shift  # a real pair of data sets
    claimed = learner.smooth(z, setting).smooth.at(setting.incoming.total_shift)
    truth = learner.steps * (jump / (z * learner.clip(1.0))) ** 2 / 2
    assert claimed(2.0) >= 2 * truth
    assert claimed(2.0) < 2 * truth * 1e4


def test_no_route_of_a_full_batch_is_below_the_direct_one():
    """Before: smooth RDP printed ε = 0.93 for 10^7 rows, and the true δ there was 1."""
    result = account([SOFT], FULL, domain=Domain.ball(2, [0, 1]), n=10**7, noise_multiplier=28.0)
    direct, smooth = (result.by_route[r].epsilon(1e-5) for r in (DIRECT, SMOOTH))
    assert result.epsilon(1e-5) == direct <= smooth and direct > 1000
