"""The instance-optimal mean: accurate where rows sit close together, private through exact counts and sums."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prepriv.audit.replay import Neighbour, Recorder, replay
from prepriv.mechanisms.instance_optimal_mean import (
    MeanShares,
    Rotation,
    binary_search_rounds,
    instance_optimal_mean,
    noisy_search,
)
from prepriv.mechanisms.mean import gaussian_sum
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession

WILD = [
    [1e308, 0, 0, 0, 0],
    [np.nan, 1, 1, 1, 1],
    [-1e9, 1e9, 0, 0, 0],
    [5e-324, 0, 0, 0, 0],
    [np.inf, 0, 0, 0, 0],
    [0, 0, 0, 0, 10.0],
    [-4.5, -4.5, -4.5, -4.5, -4.5],
]


def options(**more):
    return {"name": "m", "d": 5, "radius": 10.0, "n": 50, "adjacency": "replace-one", **more}


def test_rotation_is_orthogonal_and_row_by_row(rng):
    for d in (1, 2, 5, 64, 100):
        rotation = Rotation(d, NoiseSource.for_tests(d))
        x = rng.standard_normal((30, d))
        y = rotation.forward(x)
        assert np.allclose(y @ y.T, x @ x.T) and np.allclose(rotation.back(y[7]), x[7])
        assert (rotation.forward(x[7:9].copy()) == y[7:9]).all()


def test_search_without_noise_finds_the_quantile(rng):
    x = rng.uniform(-1, 1, (999, 2))
    got = noisy_search(
        [x[:500], x[500:]],
        name="s",
        dim=2,
        low=-1,
        high=1,
        above=99.5,
        rounds=30,
        n=999,
        noise_multiplier=0.0,
        session=ExactSession(),
    )
    wanted = np.sort(x, axis=0)[-100:-98]
    assert (got >= wanted[0] - 1e-6).all() and (got <= wanted[1] + 1e-6).all()


def test_without_noise_it_is_the_mean_of_all_but_the_far_rows(rng):
    x = 0.1 * rng.standard_normal((50, 5)) + 3
    got = instance_optimal_mean([x], **options(), noise_multiplier=0.0, session=ExactSession(), outliers=0.0)
    assert np.allclose(got, x.mean(axis=0), atol=1e-4)


def test_error_follows_the_diameter_and_not_the_declared_radius(rng):
    n, d, radius, mu = 20_000, 16, 1000.0, 0.5
    x = 500 / math.sqrt(d) + 0.01 * rng.standard_normal((n, d))
    shared = {"name": "m", "n": n, "noise_multiplier": 1 / mu}
    ours, plain = [], []
    for seed in range(2):
        got = instance_optimal_mean(
            [x],
            **shared,
            d=d,
            radius=radius,
            adjacency="add-or-remove-one",
            session=NoisySession(NoiseSource.for_tests(seed)),
            precision=1e-4,
        )
        total = gaussian_sum(
            [x],
            **shared,
            dim=d,
            radius=radius,
            shift=radius,
            moved=0,
            session=NoisySession(NoiseSource.for_tests(seed)),
        )
        ours.append(np.linalg.norm(got - x.mean(axis=0)))
        plain.append(np.linalg.norm(total / n - x.mean(axis=0)))
    assert max(ours) < 1e-3 < 0.1 * min(plain)


@pytest.mark.parametrize("adjacency", ["add-or-remove-one", "replace-one"])
def test_no_neighbour_moves_a_count_or_sum_further_than_declared(adjacency, rng):
    base = rng.standard_normal((49, 5)) * 0.3 + 2

    def run(rows, session):
        mean = instance_optimal_mean(
            [rows[:20], rows[20:]],
            **options(adjacency=adjacency),
            noise_multiplier=1.0,
            session=session,
            precision=0.01,
        )
        return {"mean": mean.tobytes().hex()}

    far = np.vstack([base, np.full((1, 5), 4.4)])
    others = [base] if adjacency == "add-or-remove-one" else [np.vstack([base, [w]]) for w in WILD]
    result = replay(run, far, [Neighbour(f"pair {k}", rows) for k, rows in enumerate(others)])
    assert result.findings == [] and result.pairs == len(others)
    assert result.reach["m (distance)"] == 1.0
    assert result.reach["m (center)"] > 0.5
    assert result.reach["m (clipped mean)"] > (0.9 if adjacency == "add-or-remove-one" else 0.45)


def test_the_parts_cost_what_is_declared():
    session = Recorder()
    x = np.full((50, 5), 1.0)
    instance_optimal_mean([x], **options(), noise_multiplier=2.0, session=session)
    cost = sum(r.mechanism.cost.mu_squared for r in session.releases)
    assert cost <= 0.25 and cost == pytest.approx(0.25)
    names = [r.name for r in session.releases]
    fine = 10.0 / 50**2
    assert names.count("m (center)") == binary_search_rounds(10.0, fine / math.sqrt(8))
    assert names.count("m (distance)") == binary_search_rounds(10.0, fine)


def test_result_stays_in_the_declared_ball():
    got = instance_optimal_mean(
        [np.zeros((1, 5))],
        **options(),
        noise_multiplier=1e4,
        session=NoisySession(NoiseSource.for_tests(1)),
    )
    assert np.linalg.norm(got) <= 10.0 * (1 + 1e-12)


def test_bad_arguments():
    with pytest.raises(ValueError, match="add up to 1"):
        MeanShares(0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match="n must be"):
        instance_optimal_mean([], **options(n=0), noise_multiplier=1.0, session=ExactSession())
