"""Sufficient statistics: exact sums, the bound on what a record moves and its attack, ridge regression on them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from training import train

from prepriv.domain import TARGET_STEPS
from prepriv.exact.gradient_sum import QuantizedRows
from prepriv.exact.unit_sum import UnitRows
from prepriv.learners.learner import Run, Setting
from prepriv.learners.sufficient_statistics import SufficientStatistics, ridge_regression
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession
from prepriv.preprocessing.base import UNTOUCHED, RowShift

BIASES = (0.0, 0.5, 1.0)


def held(learner, x, y, n=None, radius=1.0, incoming=UNTOUCHED):
    rows = QuantizedRows(learner.grid(radius, n or len(x), incoming), len(x), x.shape[1], learner.bias)
    rows.fill(0, x, y)
    return rows


class Seen(ExactSession):
    """Keeps the exact total and the stated sensitivity."""

    def _perform(self, name, mechanism, exact):
        self.total, self.sensitivity = exact.copy(), mechanism.sensitivity
        return super()._perform(name, mechanism, exact)


def asked(learner, x, y, n=100, incoming=UNTOUCHED, adjacency="replace-one"):
    session, setting = Seen(), Setting(1.0, x.shape[1], 1, n, adjacency, incoming)
    learner.train(held(learner, x, y, n, incoming=incoming), setting, Run(session, 1.0))
    return session.total, session.sensitivity


def test_the_sum_is_the_one_python_integers_give():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((300, 5))
    x *= 0.9 / np.linalg.norm(x, axis=1, keepdims=True)
    y = rng.integers(-1, TARGET_STEPS, 300, endpoint=True)
    y[::7] = -1
    learner = SufficientStatistics(bias=0.5)
    total, _ = asked(learner, x, y, 300)
    rows = held(learner, x, y)
    grid, shift = rows.grid, rows.grid.r_bits - rows.grid.x_bits
    exact = [[0] * 7 for _ in range(6)]
    norm = learner.row_norm(1.0)
    for row, code in zip(rows.x.astype(int).tolist(), y.tolist()):
        if code < 0:
            continue
        label = math.trunc(norm * (code * (2.0 / TARGET_STEPS) - 1.0) * 2.0**grid.r_bits)
        for i, j in itertools.product(range(6), range(7)):
            exact[i][j] += row[i] * (row[j] << shift if j < 6 else label)
    assert total.tolist() == exact


def test_long_rows_weigh_less_and_a_linear_truth_stays_what_it_is():
    """Products of rows beyond `longest` as NumPy scales them; without noise the weights of an exact line come back."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((300, 3))
    x *= rng.choice([0.2, 0.9], (300, 1)) / np.linalg.norm(x, axis=1, keepdims=True)
    truth = x @ np.array([0.5, -0.3, 0.2]) + 0.1
    y = np.rint((truth + 1) / 2 * TARGET_STEPS).astype(np.int64)
    learner = SufficientStatistics(bias=0.2, longest=0.5)
    total, _ = asked(learner, x, y, 300)
    rows = np.column_stack([x, np.full(300, 0.2)])
    products = rows[:, :, None] * np.column_stack([rows, 0.5 * truth])[:, None]
    size = np.linalg.norm(products, axis=(1, 2))
    weight = np.minimum(1, math.sqrt(2) * 0.25 / size)
    assert 50 < (weight < 0.5).sum() < 250
    found = total * 2.0 ** learner.grid(1.0, 300, UNTOUCHED).exponent
    assert found == pytest.approx((weight[:, None, None] * products).sum(axis=0), abs=0.02)
    made = ridge_regression(found[:, :4], found[:, 4:] / 0.5, 0.0, 0.0)
    assert made[:, 0] == pytest.approx([0.5, -0.3, 0.2, 0.5], abs=2e-3)


def worst_pair(bias, radius=1.0):
    """Two rows at 120 degrees with their bias, targets at one bound: 4.5 R^4 apart, squared."""
    norm = math.hypot(bias, radius)
    angle = math.acos(max(-1.0, (-0.5 * norm**2 - bias**2) / radius**2))
    x = np.array([[radius, 0.0, 0.0], [radius * math.cos(angle), radius * math.sin(angle), 0.0]])
    return x, np.array([TARGET_STEPS, TARGET_STEPS])


@pytest.mark.parametrize(("bias", "longest"), [*((b, math.inf) for b in BIASES), (0.0, 0.6), (0.2, 0.5)])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
def test_no_record_moves_the_sum_by_more_than_stated(bias, longest, adjacency):
    """Rows of every length and direction, wild ones, targets at the bounds and between; and the worst pair attains it."""
    learner, rng = SufficientStatistics(bias=bias, longest=longest), np.random.default_rng(2)
    x = rng.standard_normal((4000, 3)) * rng.choice([0.1, 0.3, 1.0, 1e6], size=(4000, 1))
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0)
    x[:4] = np.array([math.nan, math.inf, 1e308, 5.0])[
        :, None
    ]  # beyond what was declared: they count as nothing
    y = rng.choice([-1, 0, 1, TARGET_STEPS // 2, TARGET_STEPS], 4000)
    worst_x, worst_y = worst_pair(bias, math.sqrt(learner.scale(1.0) ** 2 - bias**2))
    x, y = np.vstack([worst_x, x]), np.concatenate([worst_y, y])
    each = np.array([asked(learner, x[i : i + 1], y[i : i + 1])[0].ravel() for i in range(400)], float)
    _, stated = asked(learner, x[:1], y[:1], adjacency=adjacency)
    if adjacency == "add-or-remove-one":
        sizes = np.linalg.norm(each, axis=1)
        assert sizes.max() <= stated and sizes.max() >= 0.999 * stated
        return
    squares = (each**2).sum(axis=1)
    apart = np.sqrt(np.maximum(squares[:, None] + squares[None] - 2 * each @ each.T, 0.0))
    assert apart.max() <= stated
    if bias < 1.0:  # with a longer bias feature no two rows are at 120 degrees
        assert apart[0, 1] >= 0.999 * stated


@pytest.mark.parametrize("longest", [math.inf, 0.5])
def test_no_unit_moves_the_sum_by_more_than_a_record(longest):
    """Units of one to three rows, long, short and opposite ones: what is stated for two of them holds."""
    rng, learner = np.random.default_rng(8), SufficientStatistics(bias=0.0, longest=longest)
    setting = Setting(1.0, 2, 1, 9, "replace-one", rows=3)
    each = []
    for k in range(300):
        size = 1 + k % 3
        x = rng.standard_normal((size, 2)) * 0.1
        x *= rng.choice([0.3, 0.5, 0.999], (size, 1)) / np.linalg.norm(x, axis=1, keepdims=True)
        rows = UnitRows(learner.grid(1.0, 9, UNTOUCHED), np.array([size]), 2, 0.0)
        rows.fill(0, x, rng.choice([0, TARGET_STEPS], size))
        seen = Seen()
        learner.train(rows, setting, Run(seen, 1.0))
        each.append(seen.total.ravel().astype(float))
    apart = np.linalg.norm(np.array(each)[:, None] - np.array(each), axis=2)
    assert 0.9 * seen.sensitivity < apart.max() <= seen.sensitivity


@pytest.mark.parametrize(("bias", "longest"), [*((b, math.inf) for b in BIASES), (0.0, 0.9), (0.5, 0.6)])
def test_moved_and_dropped_rows_are_paid_for(bias, longest):
    learner, rng = SufficientStatistics(bias=bias, longest=longest), np.random.default_rng(3)
    for step in (1e-4, 1e-2, 0.5):
        a = rng.standard_normal((20, 3))
        a /= np.linalg.norm(a, axis=1, keepdims=True)
        b = a * (1 - step)  # inwards: what moves the products furthest
        y = rng.choice([0, TARGET_STEPS], 20)
        gone = y.copy()
        gone[:3] = -1
        shift = RowShift(20, step, 20 * step * (1 + 1e-9), 3.0, ())
        first, stated = asked(learner, a, y, incoming=shift)
        second, _ = asked(learner, b, gone, incoming=shift)
        assert np.linalg.norm((first - second).astype(float)) <= stated
        record = asked(learner, a, y)[1] * 2.0 ** learner.grid(1.0, 100, UNTOUCHED).exponent
        more = stated * 2.0 ** learner.grid(1.0, 100, shift).exponent - record
        one, _ = asked(learner, a[:1], y[:1], incoming=shift)
        two, _ = asked(learner, b[:1], y[:1], incoming=shift)
        moved = np.linalg.norm((one - two).astype(float)) * 2.0 ** learner.grid(1.0, 100, shift).exponent
        assert 20 * moved + 3 * learner.clip(1.0) * (1 - 1e-3) <= more


def test_ridge_regression_is_that_of_the_normal_equations():
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((50, 4)), rng.standard_normal((50, 1))
    noise = rng.standard_normal((4, 4))
    moment = x.T @ x + noise - noise.T  # the part that is not symmetric says nothing
    found = ridge_regression(moment, x.T @ y, 2.0, 0.5)
    level = 0.5 * math.sqrt(8) * 2.0
    assert found == pytest.approx(np.linalg.solve(x.T @ x + level * np.eye(4), x.T @ y))
    hopeless = ridge_regression(-np.eye(4), x.T @ y, 0.0, 1.0)
    assert np.isfinite(hopeless).all()


def test_one_release_with_the_noise_of_the_plan():
    learner = SufficientStatistics(bias=1.0)
    rows, session = held(learner, np.zeros((4, 150)), np.full(4, -1)), NoisySession(NoiseSource.for_tests(5))
    seen = []
    release = session.release
    session.release = lambda *asked: seen.append(release(*asked)) or seen[-1]
    train(learner, rows, 1, n=4, noise_multiplier=3.0, session=session)
    assert [(r.name, r.mechanism.noise_multiplier, r.mechanism.coordinates) for r in session.releases] == [
        ("gradient", 3.0, 151 * 152)
    ]
    unit = learner.unit(Setting(1.0, 150, 1, 4, "replace-one"))
    assert np.std(seen[0]) == pytest.approx(3.0 * unit, rel=0.02)
    assert unit == pytest.approx(math.sqrt(4.5) * 2.0, rel=1e-3)
