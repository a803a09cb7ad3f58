"""Scaling and soft PCA as maps of whole data sets: Lipschitz in Frobenius norm, attained, and what chains gain."""

from __future__ import annotations

import math

import numpy as np
import pytest
from neighbouring import blocks

from prepriv.payment import Sensitivity as Paid
from prepriv.preprocessing._whole import square_shift, whole_shift, worst_drop
from prepriv.preprocessing.base import RowShift
from prepriv.preprocessing.scale import StandardScaler
from prepriv.preprocessing.soft_pca import SoftPCA, whole_constant
from prepriv.space import Space

WIDE = 1e3  # a ball that no row reaches: nothing is pulled back


def image(step, x, space):
    return step.fit_confidential(blocks(x), space, len(x)).transform(x)


def pairs(rng, n, d, centre):
    """Two data sets, near or far, with spreads from far below to far above the floor or lambda."""
    size = 10.0 ** rng.uniform(-2, 1)
    x = centre + size * rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, d)
    y = x + size * 10.0 ** rng.uniform(-3, 1) * rng.normal(size=(n, d)) * (rng.random((n, 1)) < rng.random())
    if rng.random() < 0.3:
        y = centre + (x - centre) * rng.uniform(0.2, 2.0)
    return x, y


@pytest.mark.parametrize("rule", ["max", "root"])
@pytest.mark.parametrize("center", ["mean", "midpoint"])
def test_scaling_a_whole_data_set_is_lipschitz_with_one_over_the_floor(rule, center):
    rng, best = np.random.default_rng(1), 0.0
    side = np.full(2, WIDE)
    space = Space(-side, side, 2 * WIDE, np.zeros(2, dtype=bool))
    step = StandardScaler(1 / (2 * WIDE), rule, center, radius=1e9, payment=Paid())  # a floor of one
    for _ in range(400):
        x, y = pairs(rng, int(rng.integers(2, 30)), 2, rng.choice([0.0, 3.0]))
        found = np.linalg.norm(image(step, x, space) - image(step, y, space))
        allowed = np.linalg.norm(x - y) * step.lipschitz(space)
        assert found <= allowed * (1 + 1e-9)
        best = max(best, found / max(allowed, 1e-300))
    assert best > 0.9


def soft_oracle(x, strength):
    """sigma^3 / (sigma^2 + lambda), by singular values."""
    u, s, v = np.linalg.svd(x / math.sqrt(len(x)), full_matrices=False)
    return (u * (s**3 / (s**2 + strength))) @ v * math.sqrt(len(x))


@pytest.mark.parametrize("centred", [False, True])
def test_soft_pca_of_a_whole_data_set_is_lipschitz(centred):
    rng, best = np.random.default_rng(2), 0.0
    for _ in range(400):
        n, d = int(rng.integers(2, 30)), int(rng.integers(1, 4))
        x, y = pairs(rng, n, d, 0.0)
        radius = float(max(np.linalg.norm(x, axis=1).max(), np.linalg.norm(y, axis=1).max()))
        strength = radius**2 * 10.0 ** rng.uniform(-3, 2)
        step, space = SoftPCA(strength, centred, payment=Paid()), Space.ball(d, radius)
        steep = whole_constant(radius, strength)
        steep = max(1.0, steep) if centred else steep
        one, two = image(step, x, space), image(step, y, space)
        if not centred:
            assert np.abs(one - soft_oracle(x, strength)).max() < 1e-5 * radius
        allowed = steep * np.linalg.norm(x - y)
        assert np.linalg.norm(one - two) <= allowed + 1e-5 * radius
        if np.linalg.norm(x - y) > 1e-2 * radius:
            best = max(best, np.linalg.norm(one - two) / allowed)
    assert best > 0.75


def test_the_constant_of_soft_pca_is_attained_at_three_lambda():
    """All rows in one direction, the singular value around sqrt(3 lambda): slope 9/8. A constant of one is beaten."""
    strength, n = 0.03, 50
    step, space = SoftPCA(strength, payment=Paid()), Space.ball(1, 1.0)
    x = np.full((n, 1), math.sqrt(3 * strength))
    moved = np.linalg.norm(image(step, x * 1.005, space) - image(step, x * 0.995, space))
    assert 0.999 * 9 / 8 <= moved / np.linalg.norm(0.01 * x) <= 9 / 8 * (1 + 1e-3)
    assert whole_constant(1.0, strength) == 9 / 8
    slopes = [(t * t + 3 * t) / (1 + t) ** 2 for t in np.linspace(0, 100, 10_001)]
    assert max(slopes) <= 9 / 8
    assert whole_constant(1.0, 4.0) == pytest.approx((0.25**2 + 0.75) / 1.25**2)


def test_what_is_dropped_is_not_kept():
    """The worst number of dropped rows, against all of them one by one."""

    def total(kept, dropped):
        return min((1 + dropped) * 3.0, 0.2 * kept, whole_shift(kept, 1.0, dropped))

    for n, most in ((40, 39), (40, 3), (5000, 3000)):
        every = max(total(n - 1 - k, k) for k in range(most + 1))
        found = worst_drop(n, RowShift(rows_dropped=most), total)
        assert every <= found <= every * 1.01
    assert worst_drop(9, RowShift(rows_dropped=20), lambda kept, dropped: kept) == 8
    assert worst_drop(9, RowShift(), lambda kept, dropped: 10 * kept + dropped) == 80
    assert square_shift(RowShift(4, 0.5, 1.0), 2, 3.0) == 18.5


@pytest.mark.parametrize("rule", ["max", "root"])
def test_rows_that_all_moved_a_little_cost_their_shift_over_the_floor(rule):
    """n rows by rho each: tau / s and the record, where the linear bound has eleven times as much."""
    n, rho, s = 10_000, 0.01, 0.1
    space = Space(np.zeros(1), np.ones(1), 1.0, np.zeros(1, dtype=bool))
    came = RowShift(n - 1, rho, (n - 1) * rho)
    step = StandardScaler(s, rule, radius=1e9, payment=Paid())
    alone, claim = step.sensitivity(space, n), step.sensitivity(space, n, came)
    assert claim.total_shift == pytest.approx(alone.total_shift + (n - 1) * rho / s, rel=1e-3)
    x = np.repeat([[0.5 - s], [0.5 + s]], n // 2, axis=0)
    out = x + np.where(x > 0.5, rho, -rho)
    found = np.abs(image(step, x, space) - image(step, out, space)).sum()
    assert found <= claim.total_shift


def test_chains_hold_for_neighbours_with_many_moved_and_dropped_rows():
    """Random neighbours far beyond small shifts, against the declared totals."""
    rng, best = np.random.default_rng(3), {}
    for _ in range(300):
        n, d = int(rng.integers(3, 25)), int(rng.integers(1, 4))
        x = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1.5, 0.5)
        x /= max(1.0, float(np.linalg.norm(x, axis=1).max()))
        y = x + rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 0) * (rng.random((n, 1)) < 0.7)
        y /= np.maximum(1.0, np.linalg.norm(y, axis=1, keepdims=True))
        gone = rng.random(n) < rng.choice([0.0, 0.3, 0.8])
        gone[0] = False
        y[gone] = 0.0
        common = ~gone
        common[0] = False
        far = np.linalg.norm(x - y, axis=1)[common]
        if not common.any():
            continue
        came = RowShift(
            float(common.sum()), far.max() * (1 + 1e-9), far.sum() * (1 + 1e-9), float(gone.sum())
        )
        space = Space.ball(d, 1.0)
        for step in (
            StandardScaler(0.1, payment=Paid()),
            StandardScaler(0.3, "root", "midpoint", payment=Paid()),
            SoftPCA(0.05, payment=Paid()),
            SoftPCA(0.05, True, payment=Paid()),
        ):
            claim = step.sensitivity(space, n, came)
            moved = np.linalg.norm(image(step, x, space) - image(step, y, space), axis=1)[common]
            assert moved.sum() <= claim.total_shift and moved.max() <= claim.row_shift
            best[str(step)] = max(best.get(str(step), 0.0), moved.sum() / claim.total_shift)
    assert min(best.values()) > 0.2
