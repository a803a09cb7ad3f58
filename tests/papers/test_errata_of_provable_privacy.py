"""Counter-examples to Provable Privacy with Non-Private Pre-Processing by its own definitions. Imports nothing of prepriv."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

Rows = np.ndarray


# ---- I1: Corollary 4, mean imputation -------------------------------------------------------------------
def feature_means(data: Rows) -> Rows:
    """Its mean imputation: a missing cell of feature j becomes the mean of the available data of feature j."""
    return np.array([column[~np.isnan(column)].mean() for column in data.T])


def test_i1_mean_imputation_moves_a_row_by_more_than_2_over_n_minus_p() -> None:
    """p the L-infinity sensitivity, as Corollary 4 and Table 2 have it: data points that imputation changes."""
    d, complete, each = 100, 100, 50
    common = np.full((complete + d * each, d), np.nan)
    common[:complete] = 0.0
    for j in range(d):
        common[complete + j * each : complete + (j + 1) * each, j] = -1.0
    full, empty = np.full((1, d), 0.1), np.full((1, d), np.nan)
    one, two = np.vstack([common, full]), np.vstack([common, empty])
    n = len(one)
    for data in (one, two):  # the instance space is the unit ball
        assert np.linalg.norm(np.nan_to_num(data), axis=1).max() <= 1 + 1e-12
    p = max(int(np.isnan(data).any(axis=1).sum()) for data in (one, two))
    filled = [np.where(np.isnan(common), feature_means(data), common) for data in (one, two)]
    distances = np.linalg.norm(filled[0] - filled[1], axis=1)
    assert (distances > 0).sum() == d * each <= p and n - p == complete
    moved = distances.max()
    assert moved == pytest.approx(0.02855, abs=1e-5)
    assert moved > 1.4 * 2 / (n - p)


# ---- P1: Proposition 3, in the setting of our Table 2 ---------------------------------------------------
def good(centre: Rows, data: Rows, eta: float) -> bool:
    """B(x, η; S) = B(x, 3η; S)."""
    distances = np.linalg.norm(data - centre, axis=1)
    return bool((distances <= eta).sum() == (distances <= 3 * eta).sum())


def test_p1_one_record_unmakes_64_good_clusters_of_ten_in_ten_dimensions() -> None:
    eta, size = 0.05, 10
    generator = np.array(
        [[1, 0, 0, 0, 0, 0, 1, 1, 0, 0], [0, 1, 0, 0, 0, 0, 1, 0, 1, 0], [0, 0, 1, 0, 0, 0, 1, 0, 0, 1]]
        + [[0, 0, 0, 1, 0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 1, 0, 0, 1, 0, 1], [0, 0, 0, 0, 0, 1, 0, 0, 1, 1]]
    )  # a code of 64 words, any two of which differ in three places at least
    words = np.array([np.mod(np.array(bits) @ generator, 2) for bits in itertools.product((0, 1), repeat=6)])
    sites = (1 - 2 * words) / math.sqrt(10) * 2.99 * eta
    data = np.repeat(sites, size, axis=0)
    assert all(good(site, data, eta) for site in sites)
    largest = max(int((np.linalg.norm(data - site, axis=1) <= eta).sum()) for site in sites)
    assert largest == size  # so the paper allows 2 * 10 rows to change
    joined = np.vstack([data, np.zeros((1, 10))])
    far = np.vstack([data, np.eye(10)[:1]])  # the neighbour: the record stands far away
    assert all(good(site, far, eta) for site in sites)
    assert not any(good(site, joined, eta) for site in sites)
    # deduplication keeps one of ten rows of each cluster of the one, and all rows of the other
    assert len(data) == 640 > 20


# ---- L18: Proposition 9 ---------------------------------------------------------------------------------
def test_l18_the_excess_risk_of_a_projection_is_the_root_of_lambda() -> None:
    """Centred rows (±.9, ±.1), the label the sign of the second; hinge loss, 1-Lipschitz; weights in the unit ball."""
    n, k, epsilon, delta = 10**6, 1, 1.0, 1e-5
    rows = np.array([[a, b] for a in (0.9, -0.9) for b in (0.1, -0.1)])
    labels = np.sign(rows[:, 1])
    assert np.abs(rows.mean(axis=0)).max() < 1e-15 and np.linalg.norm(rows, axis=1).max() < 1
    values, vectors = np.linalg.eigh(rows.T @ rows / 4)
    tail = float(values[0])
    projected = rows @ np.outer(vectors[:, 1], vectors[:, 1])
    assert tail == pytest.approx(0.01) and np.linalg.norm(rows - projected, axis=1).mean() == pytest.approx(
        math.sqrt(tail)
    )

    def loss(theta: Rows, data: Rows) -> float:
        return float(np.maximum(0, 1 - labels * (data @ theta)).mean())

    turn = np.linspace(0, 2 * np.pi, 721)
    ball = [r * np.array([math.cos(t), math.sin(t)]) for r in (0.3, 1.0) for t in turn]
    # What is trained on the projected rows sees no label at all: every weight loses the same, so its gradient is zero
    # and the output of DP-GD is noise, symmetric in the second coordinate, in which the loss on the rows is linear.
    assert all(loss(theta, projected) == pytest.approx(1.0) for theta in ball)
    assert all(loss(theta, rows) == pytest.approx(1 - 0.1 * theta[1]) for theta in ball)
    excess = 1.0 - min(loss(theta, rows) for theta in ball)
    learning = math.sqrt(1 + k * math.log(1 / delta)) / (epsilon * n)
    assert excess == pytest.approx(0.1)
    assert excess > 1000 * learning + 2 * tail  # whatever constant up to 1000 the O(·) hides; n can grow
    assert excess <= 2 * math.sqrt(tail)


# ---- P11 and L20: Figure 3 ------------------------------------------------------------------------------
@pytest.mark.slow
def test_l20_the_price_of_figure_3_is_more_than_moving_every_row_across_the_ball() -> None:
    """Its data: make_classification, 1000 x 6000, 50 informative columns; here 50 noise columns make the tail positive."""
    from sklearn.datasets import make_classification

    n, k = 1000, 50
    rows, _ = make_classification(
        n, 6000, n_informative=k, n_redundant=5900, n_clusters_per_class=1, random_state=0
    )
    unscaled = np.linalg.eigvalsh(rows @ rows.T / n)[::-1]
    largest = float(np.linalg.norm(rows, axis=1).max())
    gap = float(unscaled[k - 1] - unscaled[k]) / largest**2
    assert unscaled[k] / largest**2 > 1e-8  # the tail is positive
    assert gap < 1 / n  # what one record can move the second moment by
    assert 12.2 / gap > 7 * 2 * (n - 1)
    assert (
        12.2 / (gap * largest**2) < 0.005
    )  # what the formula gives if the rows are not scaled to its unit ball


# ---- L21, withdrawn: Table 4 ----------------------------------------------------------------------------
def test_l21_entries_of_table_4_rise_with_epsilon_as_accuracies_do_and_losses_do_not() -> None:
    table = np.array(
        [[0.84, 0.89, 0.88, 0.89], [0.84, 0.89, 0.89, 0.89], [0.85, 0.90, 0.90, 0.90]]
    )  # ε = 1, 2, 5
    assert (np.diff(table, axis=0) >= 0).all() and (table[-1] > table[0]).all()
