"""The sum of units: what a plain count says it is, and never more of one unit than of one record."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from prepriv.exact.gradient_sum import QuantizedRows
from prepriv.exact.grid import IntegerGrid
from prepriv.exact.unit_sum import UnitRows, _unit_norms
from prepriv.learners.losses import Hinge, Softmax
from prepriv.learners.sufficient_statistics import _Products

K = 3  # classes


def held(x, labels, sizes, clip, radius=5.0, threads=1):
    grid = IntegerGrid.of(math.hypot(radius, 1.0), clip, max(len(sizes), 1), fine=False)
    rows = UnitRows(grid, np.asarray(sizes, dtype=np.int64), x.shape[1], 1.0, threads=threads)
    rows.fill(0, x, labels)
    return rows


def total(rows, weights, loss=None, units=None):
    with rows.gradient_sum(loss or Softmax()) as gradient_sum:
        return gradient_sum(weights, units)


def people(rng, sizes, d=6, radius=5.0):
    n = int(np.sum(sizes))
    x = rng.standard_normal((n, d))
    x *= radius * rng.random((n, 1)) / np.linalg.norm(x, axis=1, keepdims=True)
    return x, rng.integers(0, K, n), rng.standard_normal((d + 1, K))


def test_the_sum_is_that_of_clipped_sums_of_each_unit_in_plain_floats(rng):
    sizes = rng.integers(0, 9, 300)
    x, y, w = people(rng, sizes)
    rows = held(x, y, sizes, clip=4.0)
    with_bias = np.column_stack([x, np.ones(len(x))])
    residual = Softmax().residual(with_bias @ w, y)
    want, stop, cut = np.zeros(w.shape), 0, 0
    for size in sizes:
        at, stop = slice(stop, stop + size), stop + size
        each = [np.outer(a, r) for a, r in zip(with_bias[at], residual[at])]
        each = [g * min(1.0, 4.0 / np.linalg.norm(g)) for g in each]
        unit = sum(each, np.zeros(w.shape))
        cut += np.linalg.norm(unit) > 4.0
        want += unit * min(1.0, 4.0 / max(np.linalg.norm(unit), 1e-9))
    assert 50 < cut < 290  # some units are cut and some are not
    assert np.abs(total(rows, w) * 2.0**rows.grid.exponent - want).max() < 0.02 * np.sqrt(len(sizes))


def exact_norm_squared(integers):
    return sum(Fraction(int(v)) ** 2 for v in integers.ravel())


@pytest.mark.parametrize("kind", ["copies", "opposites", "spread", "tiny", "corner", "huge weights"])
def test_no_unit_contributes_more_than_one_record_may(rng, kind):
    """In exact integers, for units made to be as long as they can be: what the noise is calibrated to."""
    for size in (1, 2, 7, 100):
        for clip in (0.05, 1.0, 7.3):
            x, y, w = people(rng, [size])
            if kind == "copies":
                x[:], y[:] = x[:1] / np.linalg.norm(x[0]) * 5.0, y[0]
            elif kind == "opposites":
                x[1::2] = -x[: len(x[1::2])]
            elif kind == "tiny":
                x *= 1e-6
            elif kind == "corner":
                x[:] = 5.0 / math.sqrt(x.shape[1])
            elif kind == "huge weights":
                w *= 1e12
            for loss, weights in ((Softmax(), w), (Hinge(), w[:, :1])):
                rows = held(x, y % 2 if weights.shape[1] == 1 else y, [size], clip)
                found = total(rows, weights, loss)
                assert exact_norm_squared(found) <= rows.grid.clip**2


def test_a_unit_counts_the_same_bits_wherever_it_stands_and_whoever_stands_beside_it(rng):
    sizes = np.array([3, 0, 50, 1, 7, 100, 2, 2])
    x, y, w = people(rng, sizes)
    starts = np.cumsum(sizes) - sizes
    rows = held(x, y, sizes, clip=1.0)
    alone = []
    for start, size in zip(starts, sizes):
        one = UnitRows(rows.grid, np.array([size]), x.shape[1], 1.0)
        one.fill(0, x[start : start + size], y[start : start + size])
        alone.append(total(one, w))
    assert (total(rows, w) == sum(alone)).all()
    some = np.array([5, 0, 4], dtype=np.intp)
    assert (total(rows, w, units=some) == alone[5] + alone[0] + alone[4]).all()
    order = rng.permutation(len(sizes))
    at = np.concatenate([np.arange(starts[u], starts[u] + sizes[u]) for u in order])
    turned = UnitRows(rows.grid, sizes[order], x.shape[1], 1.0, threads=3)
    turned.fill(0, x[at], y[at])
    assert (total(turned, w) == total(rows, w)).all()


def test_many_blocks_and_their_borders_change_no_bit(rng):
    sizes = rng.integers(0, 101, 120)
    x, y, w = people(rng, sizes, d=300)
    rows = held(x, y, sizes, clip=1.0)
    half = sizes.copy()
    half[60:] = 0
    cut = int(half.sum())
    parts = []
    for lot, at in ((half, slice(0, cut)), (sizes - half, slice(cut, None))):
        one = UnitRows(rows.grid, lot, x.shape[1], 1.0)
        one.fill(0, x[at], y[at])
        parts.append(total(one, w))
    assert (total(rows, w) == parts[0] + parts[1]).all()


def test_a_unit_of_one_row_is_a_record(rng):
    x, y, w = people(rng, [40])
    rows = held(x, y, np.ones(40), clip=1.0)
    plain = QuantizedRows(rows.grid, 40, x.shape[1], 1.0)
    plain.fill(0, x, y)
    assert (total(rows, w) == total(plain, w)).all()


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e308])
def test_bad_rows_and_unknown_labels_count_as_nothing_of_their_unit(rng, bad):
    x, y, w = people(rng, [2, 3])
    good = total(held(np.delete(x, 1, 0), np.delete(y, 1), [1, 3], clip=1.0), w)
    x[1] = bad
    assert (total(held(x, y, [2, 3], clip=1.0), w) == good).all()
    x[1], y[1] = 0.1, -1
    assert (total(held(x, y, [2, 3], clip=1.0), w) == good).all()


def test_products_of_a_unit_are_averaged_and_stay_within_what_two_records_differ_by(rng):
    """The special bound of replaced products, sqrt(4.5) R², holds between means of rows as between rows."""
    radius, d = 2.0, 3
    norm = math.hypot(radius, 1.0)
    worst = 0.0
    for _ in range(60):
        found = []
        for _ in range(2):
            size = int(rng.integers(1, 6))
            x = rng.standard_normal((size, d))
            x *= radius / np.linalg.norm(x, axis=1, keepdims=True)
            y = rng.choice([0, 2**24], size)  # both ends of the target
            rows = held(x, y, [size], clip=math.sqrt(2) * norm**2, radius=radius)
            found.append(total(rows, np.eye(d + 1, d + 2), _Products(norm)) * 2.0**rows.grid.exponent)
        worst = max(worst, float(np.linalg.norm(found[0] - found[1])))
    assert 1.2 * norm**2 < worst <= math.sqrt(4.5) * norm**2 * (1 + 1e-3)


@pytest.mark.parametrize("m", [1, 2, 100])
def test_the_norm_of_a_unit_has_room_for_the_roundings_of_all_its_pairs(m):
    """Its m (m + 1) / 2 pairs are added up one after another, each term of the m² at most clip²."""
    own, units = np.arange(m, 0, -1), np.zeros(m, dtype=np.int64)
    products = np.zeros(m * (m + 1) // 2)
    norm = _unit_norms(np.zeros((m, K)), own, units, products, np.array([m]), clip=1 << 20)
    roundings = K + m * (m + 1) / 2 + 8
    assert norm[0] ** 2 >= roundings * m**2 * 2.0**-53 * float(1 << 20) ** 2
    assert norm[0] < 2.0 ** (20 - 12)  # and no more than it needs
