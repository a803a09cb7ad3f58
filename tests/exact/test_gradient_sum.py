"""The clipped gradient sum: exact, order-independent, and never longer than promised."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from prepriv.exact.ball import row_sum
from prepriv.exact.gradient_sum import GradientSum, QuantizedRows, _parts, block_rows
from prepriv.exact.grid import _BLOCK, IntegerGrid
from prepriv.learners.loss_arrays import row_max
from prepriv.learners.losses import (
    Hinge,
    HuberisedHinge,
    LeastSquares,
    Logistic,
    Softmax,
    SquaredHinge,
)


def filled(x, targets, radius, clip, *, fine=False, bias=1.0, block=256, declared=None):
    n, d = x.shape
    rows = QuantizedRows(IntegerGrid.of(math.hypot(radius, bias), clip, declared or n, fine=fine), n, d, bias)
    for start in range(0, n, block):
        rows.fill(start, x[start : start + block], targets[start : start + block])
    return rows


def ball(rng, n, d, radius):
    x = rng.standard_normal((n, d))
    return x * (radius * rng.random((n, 1)) / np.linalg.norm(x, axis=1, keepdims=True))


@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("clip", [0.3, 1.0])
def test_sum_agrees_with_a_plain_float_reference(rng, fine, clip):
    n, d, k = 3000, 20, 4
    x, y, w = ball(rng, n, d, 5.0), rng.integers(0, k, n), rng.standard_normal((d + 1, k))
    rows = filled(x, y, 5.0, clip, fine=fine)
    with GradientSum(rows, Softmax()) as gradient:
        got = gradient(w) * 2.0**rows.grid.exponent
    with_bias = np.column_stack([x, np.ones(n)])
    residual = Softmax().residual(with_bias @ w, y)
    norms = np.linalg.norm(residual, axis=1) * np.linalg.norm(with_bias, axis=1)
    want = with_bias.T @ (residual * np.minimum(1, clip / norms)[:, None])
    assert np.abs(got - want).max() < n * (1e-5 if fine else 5e-4)


@pytest.mark.parametrize(
    ("n", "d", "k"), [(2 * _BLOCK + 37, 30, 3), (241, 784, 10), (333, 700, 11), (65, 9999, 40)]
)
def test_sum_is_bitwise_equal_under_permutations_blocks_and_threads(rng, n, d, k):
    """The shapes leave a single row in the last block, or several products to a block."""
    x, y, w = ball(rng, n, d, 5.0), rng.integers(0, k, n), rng.standard_normal((d + 1, k))
    with GradientSum(filled(x, y, 5.0, 1.0), Softmax(), threads=1) as gradient:
        reference = gradient(w)
    for trial in range(40 if d < 100 else 8):
        order = rng.permutation(n)
        rows = filled(x[order], y[order], 5.0, 1.0, block=int(rng.integers(1, 600)))
        with GradientSum(rows, Softmax(), threads=1 + trial % 16) as gradient:
            assert (gradient(w) == reference).all()


@pytest.mark.parametrize("fine", [False, True])
def test_one_record_moves_the_sum_by_at_most_the_clip_in_exact_integers(rng, fine):
    d, k = 6, 3
    base = ball(rng, 64, d, 5.0)
    y = rng.integers(0, k, 64)
    for trial in range(300):
        row = ball(rng, 1, d, 5.0) if trial % 3 else base[:1] * 1e6
        if trial % 7 == 0:
            row[0, 0] = [np.nan, np.inf, -np.inf, 1e308, 5e-324][trial // 7 % 5]
        w = rng.standard_normal((d + 1, k)) * 10.0 ** rng.uniform(-3, 3)
        added = filled(np.vstack([base, row]), np.append(y, trial % k), 5.0, 0.7, fine=fine, declared=64)
        removed = filled(base, y, 5.0, 0.7, fine=fine, declared=64)
        with GradientSum(added, Softmax()) as a, GradientSum(removed, Softmax()) as b:
            difference = (a(w) - b(w)).astype(object)
        moved = sum(int(v) ** 2 for v in difference.ravel())
        assert moved <= added.grid.clip**2
        assert Fraction(added.grid.clip) * Fraction(2) ** added.grid.exponent <= Fraction(0.7)


def test_unknown_label_and_bad_rows_contribute_nothing(rng):
    x = ball(rng, 4, 3, 5.0)
    x[1, 0], x[2, 1] = np.nan, np.inf
    rows = filled(x, np.array([-1, 0, 1, -1]), 5.0, 1.0)
    with GradientSum(rows, Softmax()) as gradient:
        assert (gradient(np.ones((4, 2))) == 0).all()


def test_grid_leaves_room_for_every_sum():
    for n in (1, 10, 60_000, 10**7, 10**9):
        for radius, clip in ((0.1, 1e-3), (5.1, 1.0), (1e4, 30.0)):
            for fine in (False, True):
                grid = IntegerGrid.of(radius, clip, n, fine=fine)
                assert grid.block * grid.clip <= 2**53
                assert (n + 1) * grid.clip < 2**62
                assert grid.norm <= (2**24 if fine else 2**15 - 1)
                assert grid.clip * Fraction(2) ** grid.exponent <= Fraction(clip)


def test_rounding_slack_covers_rows_that_move_a_little(rng):
    """Rows that move by almost nothing can still be cut to the grid differently: the slack pays for it."""
    n, d, k, radius = 200, 8, 3, 5.0
    x, y = ball(rng, n, d, 4.9), rng.integers(0, k, n)
    w = rng.standard_normal((d + 1, k))
    w *= 2.0 / np.linalg.norm(w)
    for shift in (0.0, 1e-9, 1e-4):
        direction = rng.standard_normal((n, d))
        moved = x + shift * direction / np.linalg.norm(direction, axis=1, keepdims=True)
        a, b = (filled(v, y, radius, 1.0, fine=True) for v in (x, moved))
        mu = Softmax().input_lipschitz(math.hypot(radius, 1.0), 2.0)
        with GradientSum(a, Softmax()) as ga, GradientSum(b, Softmax()) as gb:
            distance = float(np.linalg.norm((ga(w) - gb(w)) * 2.0**a.grid.exponent))
        assert distance <= mu * n * shift + a.grid.rounding(n, d + 1, k, math.hypot(radius, 1.0), mu)


@pytest.mark.parametrize("d, least", [(1, 0.7), (2, 0.98), (3, 0.95), (5, 0.9)])
def test_the_jump_of_a_rounded_norm_costs_no_more_than_one_coordinate(rng, d, least):
    """Neighbours on the grid, clipped by their norms rounded up: sqrt(d) steps are beaten, sqrt(d + 1) are not."""
    n, h = 200_000, 2.0**-10
    a = rng.integers(-60, 61, (n, d))
    b = np.clip(a + rng.integers(-1, 2, (n, d)), -60, 60)
    grid = IntegerGrid(x_bits=10, r_bits=40, norm=2**15, clip=2**15, fine=True)
    held = []
    for ints in (a, b):
        rows = QuantizedRows(grid, n, d, 0.0)
        rows.fill(0, ints * h * (1 + 1e-9), np.zeros(n))
        assert (rows.x[:, :-1] == ints).all()
        held.append(rows.norms * h)
    worst = 0.0
    for clip in (0.999999 * held[0], 0.999999 * np.minimum(*held), np.linalg.norm(a, axis=1) * h):
        # residual 1, the largest there is for a loss with this Lipschitz constant
        ga, gb = (x * h * np.minimum(1.0, clip / norm)[:, None] for x, norm in zip((a, b), held))
        worst = max(worst, float(np.linalg.norm(ga - gb, axis=1).max()))
    charged = grid.rounding(1, d + 1, 1, 0.0, 1.0)
    assert least * charged <= worst <= charged
    assert d == 1 or worst > math.sqrt(d) * h


@pytest.mark.parametrize(
    "loss",
    [Logistic(), Softmax(), Hinge(), SquaredHinge(), HuberisedHinge(), LeastSquares(0.0), LeastSquares(3.0)],
    ids=str,
)
def test_a_gradient_is_as_steep_as_the_largest_residual(loss):
    """The proof of the jump needs it."""
    for radius in (0.1, 1.0, 20.0):
        for bound in (1e-3, 0.1, 1.0, 50.0):
            assert loss.input_lipschitz(radius, bound) * radius >= loss.gradient_norm(radius, bound)


def test_subset_of_rows_is_the_sum_over_those_rows(rng):
    x, y, w = ball(rng, 700, 5, 5.0), rng.integers(0, 2, 700), rng.standard_normal((6, 1))
    rows = filled(x, y, 5.0, 1.0)
    index = np.flatnonzero(rng.random(700) < 0.5)
    rest = np.setdiff1d(np.arange(700), index)
    with GradientSum(rows, Logistic()) as gradient:
        assert (gradient(w, index) + gradient(w, rest) == gradient(w)).all()


def test_too_many_records_are_refused():
    with pytest.raises(ValueError, match="too many"):
        IntegerGrid.of(5.0, 1.0, 10**16, fine=True)


@pytest.mark.parametrize("outputs", [1, 2, 9, 33, 100])
def test_a_row_has_the_same_bits_in_any_block_and_memory_order(rng, outputs):
    scores = rng.standard_normal((70, outputs)) * 10.0 ** rng.integers(-8, 9, (70, outputs))
    wanted = [row_sum(scores[i : i + 1])[0] for i in range(70)]
    assert wanted == [sum(r[1:].tolist(), float(r[0])) for r in scores]
    for size in (2, 3, 7, 16, 69, 70):
        for order in ("C", "F"):
            got = [row_sum(np.array(scores[i : i + size], order=order)) for i in range(0, 70, size)]
            assert np.concatenate(got).tolist() == wanted
            top = [row_max(np.array(scores[i : i + size], order=order)) for i in range(0, 70, size)]
            assert np.concatenate(top).tolist() == scores.max(axis=1).tolist()


def test_blocks_stay_within_what_adds_up_exactly():
    for d in (1, 10, 100, 785, 5000, 10**5):
        for fine in (False, True):
            largest = IntegerGrid.of(5.0, 1.0, 1000, fine=fine).block
            for rows, threads in ((0, 1), (300, 2), (10_000, 8), (10**6, 2)):
                assert 64 <= block_rows(d, largest, rows, threads) <= largest


@pytest.mark.parametrize("features", [1, 49, 785, 10**5])
@pytest.mark.parametrize("outputs", [1, 10, 100])
def test_parts_of_a_block_are_its_rows_in_order_and_a_sum_of_many_parts_is_exact(features, outputs, rng):
    for rows in (1, 17, 2048):
        parts = _parts(rows, outputs, features)
        assert [i for p in parts for i in range(rows)[p]] == list(range(rows))
    if features == 785 and outputs == 10:
        x, y = ball(rng, 400, features - 1, 1.0), rng.integers(0, outputs, 400)
        held, weights = filled(x, y, 1.0, 0.5), rng.standard_normal((features, outputs))
        assert len(_parts(400, outputs, features)) > 1
        with GradientSum(held, Softmax(), threads=1) as whole:
            one = [whole(weights, np.array([i])) for i in range(400)]
            assert (whole(weights) == np.sum(one, axis=0)).all()


def test_absurd_declarations_do_not_overflow(rng):
    """Rows of norm 1e300, weights of norm 1e150: scores out of range are cut, nothing warns, nothing leaves."""
    x = ball(rng, 8, 3, 1e300)
    rows = filled(x, np.arange(8) % 2, 1e300, 1.0)
    with GradientSum(rows, Softmax()) as gradient:
        total = gradient(np.full((4, 2), 1e150))
    assert np.abs(total).max() <= 8 * rows.grid.clip


@pytest.mark.parametrize("weight", [math.inf, -math.inf, math.nan, 1e300, 1e155])
def test_absurd_weights_end_in_a_sum_and_not_in_an_error(weight, rng):
    rows = QuantizedRows(IntegerGrid.of(1.5, 1.0, 50, fine=False), 50, 3, 1.0)
    rows.fill(0, rng.standard_normal((50, 3)) / 4, rng.integers(0, 2, 50))
    weights = np.zeros((4, 2))
    weights[1, 0] = weight
    with GradientSum(rows, Softmax()) as gradient:
        total = gradient(weights)
    assert np.abs(total).max() <= 50 * rows.grid.clip
