"""Private directions: the exponential mechanism has the law its density says, and Analyze-Gauss finds what there is."""

from __future__ import annotations

import numpy as np
import pytest

from prepriv._arrays import Floats
from prepriv_papers.provable_privacy import dp_pca


def normalised_weights(exponent: Floats) -> Floats:
    weights = np.exp(exponent - exponent.max())
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("epsilon", [1.0, 30.0])
def test_one_direction_has_the_mean_that_a_grid_on_the_sphere_finds(epsilon: float) -> None:
    """k = 1, d = 3, by summing over 10^6 directions: an oracle that samples nothing."""
    squares = np.array([0.4, 0.15])
    z, turn = np.meshgrid(
        np.linspace(-1, 1, 1001)[:-1] + 1e-3, np.linspace(0, 2 * np.pi, 1000, endpoint=False)
    )
    x, y = np.sqrt(1 - z**2) * np.cos(turn), np.sqrt(1 - z**2) * np.sin(turn)
    weights = normalised_weights(epsilon / 2 * (squares[0] * x**2 + squares[1] * y**2))
    drawn = np.array(
        [dp_pca.exponential_directions(np.eye(3)[:, :2], squares, 1, epsilon)[:, 0] for _ in range(800)]
    )
    for i, coordinate in enumerate((x, y, z)):
        true, spread = float((weights * coordinate**2).sum()), float((drawn[:, i] ** 2).std() / np.sqrt(800))
        assert abs((drawn[:, i] ** 2).mean() - true) < 5 * spread


def test_two_directions_in_three_dimensions_have_the_law_of_the_one_they_leave_out() -> None:
    """tr V'KV = tr K - u'Ku with u the normal of the plane: k = 2 is k = 1 of -K, by weighting uniform normals."""
    epsilon, squares = 12.0, np.array([0.6, 0.2])
    normals = np.random.default_rng(0).normal(size=(400_000, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    weights = normalised_weights(
        -epsilon / 2 * (squares[0] * normals[:, 0] ** 2 + squares[1] * normals[:, 1] ** 2)
    )
    kept = [dp_pca.exponential_directions(np.eye(3)[:, :2], squares, 2, epsilon) for _ in range(800)]
    overlap = np.array([(v**2).sum(axis=1) for v in kept])
    for i in range(3):
        true = 1 - float((weights * normals[:, i] ** 2).sum())
        assert abs(overlap[:, i].mean() - true) < 5 * overlap[:, i].std() / np.sqrt(800) + 2e-3


def test_directions_are_orthonormal_and_know_little_at_a_small_budget_in_many_dimensions() -> None:
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(1000, 20)))[0]
    v = dp_pca.exponential_directions(basis, np.full(20, 10.0), 5, 1.0)
    assert np.abs(v.T @ v - np.eye(5)).max() < 1e-12
    assert np.linalg.norm(basis.T @ v) ** 2 / 5 < 0.1  # 20 / 1000 by chance; 1 if they were found


def test_analyze_gauss_finds_the_directions_when_noise_is_small_and_loses_them_when_not() -> None:
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(300, 10)))[0]
    moment = (basis * np.linspace(3.0, 1.0, 10)) @ basis.T
    clear = dp_pca.analyze_gauss(moment, 200, 10, 2e3)
    assert np.linalg.norm(clear.T @ clear - np.eye(10)) < 1e-9
    assert np.linalg.norm(basis.T @ clear) ** 2 == pytest.approx(10, abs=0.2)
    noisy = dp_pca.analyze_gauss(moment, 200, 10, 0.05)
    assert np.linalg.norm(basis.T @ noisy) ** 2 < 3
