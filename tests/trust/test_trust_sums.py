"""Exact sums: the same bits for every order and thread count, and no overflow that betrays a record."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prepriv.exact.gradient_sum import GradientSum, QuantizedRows
from prepriv.exact.grid import IntegerGrid
from prepriv.learners.losses import Hinge, HuberisedHinge, LeastSquares, Logistic, Softmax, SquaredHinge
from prepriv.mechanisms.gaussian_sum import GaussianSum, coarsen
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession


def quantized(x, y, radius, clip):
    rows = QuantizedRows(IntegerGrid.of(math.hypot(radius, 1.0), clip, len(x), fine=False), *x.shape, 1.0)
    rows.fill(0, x, y)
    return rows


@pytest.mark.parametrize("loss, outputs", [(Softmax(), 3), (Logistic(), 1)])
def test_the_gradient_sum_is_bitwise_equal_under_1000_permutations_and_1_to_16_threads(rng, loss, outputs):
    """4,400 rows are three blocks, so rows change blocks and threads get different ones."""
    n, d = 4400, 6
    x = rng.standard_normal((n, d))
    x *= 5 / np.linalg.norm(x, axis=1, keepdims=True)
    y = rng.integers(-1, 2 if outputs == 1 else outputs, n)
    weights = rng.standard_normal((d + 1, outputs))
    rows = quantized(x, y, 5.0, 0.7)
    with GradientSum(rows, loss, threads=1) as gradient:
        reference = gradient(weights)
    stored, norms, targets = rows.x.copy(), rows.norms.copy(), rows.targets.copy()
    for threads in range(1, 17):
        with GradientSum(rows, loss, threads=threads) as gradient:
            for _ in range(1000 // 16 + 1):
                order = rng.permutation(n)
                rows.x[:], rows.norms[:], rows.targets[:] = stored[order], norms[order], targets[order]
                assert (gradient(weights) == reference).all()
    assert np.abs(reference).max() > 2**30


def test_a_float32_sum_fails_the_same_test(rng):
    """What the test above is for: ordinary sums depend on the order, by many bits."""
    x = rng.standard_normal((1500, 6)).astype(np.float32)
    assert len({x[rng.permutation(1500)].sum(axis=0).tobytes() for _ in range(20)}) > 1
    assert np.float32(2**24) + np.float32(1) == np.float32(2**24)  # a whole record not noticed


@pytest.mark.parametrize(
    "loss", [Softmax(), Logistic(), Hinge(), SquaredHinge(), HuberisedHinge(), LeastSquares(1.0)]
)
def test_a_record_that_counts_as_nothing_contributes_nothing_under_every_loss(rng, loss):
    """Dropped rows and unknown labels: a loss that takes -1 for a number would let them in through the bias."""
    x = rng.standard_normal((5, 3))
    with GradientSum(quantized(x, np.full(5, -1), 5.0, 0.7), loss) as gradient:
        assert (gradient(rng.standard_normal((4, loss.outputs(2)))) == 0).all()


@pytest.mark.parametrize("sensitivity", [2**22 - 1, 2**30, 2**42])
@pytest.mark.parametrize("edge", [2**63 - 1, 2**63 - 2**41, -(2**63), 2**62, 0])
def test_one_record_at_the_edge_of_overflow_moves_the_release_by_no_more_than_anywhere_else(
    sensitivity, edge
):
    """Under add-or-remove-one the number of records, so the size of a sum, is the adversary's choice.

    A sum lives on a circle: what is released is a residue in [-2^63, 2^63), and neighbours are near on the circle.
    """
    one = np.array([edge], dtype=np.int64)
    with np.errstate(over="ignore"):
        two = one + np.int64(sensitivity)
    _, grown, shift = coarsen(one, sensitivity)
    for seed in range(20):
        a, b = (
            float(
                NoisySession(NoiseSource.for_tests(seed)).release(
                    "sum", GaussianSum(sensitivity, 2.0, 0, 2**50, 1), v
                )[0]
            )
            for v in (one, two)
        )
        assert -(2.0**63) <= a <= 2.0**63 and -(2.0**63) <= b <= 2.0**63
        moved = abs(a - b)
        assert min(moved, 2.0**64 - moved) <= grown * 2.0**shift + 2**12  # floats near 2^63 are 2^11 apart
