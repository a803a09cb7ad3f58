"""Histogram and second moment: exact without noise, declared sensitivities attained and never exceeded."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prepriv.audit.replay import Recorder
from prepriv.mechanisms.covariance import Apart, private_second_moment, second_moment_grid
from prepriv.mechanisms.histogram import private_histogram
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession

HISTOGRAM = {"name": "h", "bins": 4, "n": 6, "noise_multiplier": 1.0}
MOMENT = {"name": "m", "d": 3, "radius": 2.0, "n": 40, "noise_multiplier": 1.0}
ODD = [[1e308, 0, 0], [np.nan, 1, 1], [-1e9, 1e9, 0], [5e-324, 0, 0], [0, 0, 2.0], [0, 0, 0]]


def call(function, data, options, adjacency):
    session = Recorder()
    function(data, **options, adjacency=adjacency, session=session)
    return session.calls[0]


def test_histogram_counts_declared_bins_only():
    indices = np.array([0, 1, 1, 3, 4, -1, 2**62])
    got = private_histogram(indices, **HISTOGRAM, adjacency="replace-one", session=ExactSession())
    assert got.tolist() == [1, 2, 0, 1]


def test_histogram_moves_by_its_sensitivity_and_no_more():
    for a in range(-1, 5):
        base = np.array([0, 1, 1, 3, 2])
        for b in (*range(-1, 5), None):
            adjacency = "add-or-remove-one" if b is None else "replace-one"
            other = base if b is None else np.append(base, b)
            one = call(private_histogram, np.append(base, a), HISTOGRAM, adjacency)
            two = call(private_histogram, other, HISTOGRAM, adjacency)
            share = math.sqrt(one.moved_squared(two)) / one.sensitivity
            assert share <= 1
            if b is None:
                assert share == (1 if 0 <= a < 4 else 0)
            elif a != b and min(a, b) >= 0 and max(a, b) < 4:
                assert share >= 1 - 2**-15


def test_histogram_noise_has_the_declared_scale():
    draws = [
        private_histogram(
            np.zeros(3, np.int64),
            **HISTOGRAM | {"noise_multiplier": 0.5},
            adjacency="add-or-remove-one",
            session=NoisySession(NoiseSource.for_tests(s)),
        )
        for s in range(500)
    ]
    assert np.std(draws, axis=0).mean() == pytest.approx(0.5, rel=0.06)
    assert np.mean(draws, axis=0) == pytest.approx([3, 0, 0, 0], abs=0.1)


def test_second_moment_without_noise(rng):
    x = rng.standard_normal((40, 3))
    inside = x * np.minimum(1, 2 / np.linalg.norm(x, axis=1))[:, None]
    got = private_second_moment([x[:7], x[7:]], **MOMENT, adjacency="replace-one", session=ExactSession())
    assert np.allclose(got, inside.T @ inside / 40, atol=1e-5) and (got == got.T).all()


@pytest.mark.parametrize("adjacency", ["add-or-remove-one", "replace-one"])
def test_second_moment_stays_within_its_sensitivity_and_attains_it(adjacency, rng):
    x = rng.standard_normal((39, 3))
    reached = 0.0
    for a in ODD:
        for b in ODD if adjacency == "replace-one" else [None]:
            other = x if b is None else np.vstack([x, [b]])
            one = call(private_second_moment, [np.vstack([x, [a]])], MOMENT, adjacency)
            two = call(private_second_moment, [other], MOMENT, adjacency)
            share = math.sqrt(one.moved_squared(two)) / one.sensitivity
            reached = max(reached, share)
            assert share <= 1
    assert reached > 0.999


def test_second_moment_of_rows_that_earlier_steps_moved_and_dropped(rng):
    """In exact integers: the record, rows that moved outwards at the sphere, rows that became zero."""
    reached = 0.0
    for trial in range(300):
        n, d, radius = 40, int(rng.choice([1, 2, 5])), float(rng.choice([1.0, 2.0, 0.3]))
        moved, dropped = int(rng.integers(0, 9)), int(rng.integers(0, 4))
        x = rng.standard_normal((n, d)) * radius
        x *= np.minimum(1, radius / np.linalg.norm(x, axis=1))[:, None] * (
            1 if trial % 2 else rng.random((n, 1))
        )
        y = x.copy()
        y[n - moved :] *= 1 - float(rng.choice([1e-9, 1e-3, 0.2]))
        y[1 : 1 + dropped] = 0.0
        x[0], y[0] = np.eye(d)[0] * radius, np.eye(d)[-1] * radius
        far = np.linalg.norm(x - y, axis=1)[n - moved :].sum()
        session, other = Recorder(), Recorder()
        options = {
            "name": "m",
            "d": d,
            "radius": radius,
            "n": n,
            "noise_multiplier": 1.0,
            "adjacency": "replace-one",
        }
        apart = Apart(float(far), moved, dropped)
        private_second_moment([x], **options, session=session, apart=apart)
        private_second_moment([y], **options, session=other, apart=apart)
        (one,), (two,) = session.calls, other.calls
        assert one.declared == two.declared
        share = math.sqrt(one.moved_squared(two)) / one.sensitivity
        assert share <= 1
        reached = max(reached, share if moved + dropped else 0.0)
    assert reached > 0.7


def test_second_moment_is_bit_for_bit_the_same_in_any_blocks_and_order(rng):
    x = rng.standard_normal((700, 9))
    options = MOMENT | {"d": 9, "n": 700, "adjacency": "replace-one", "session": ExactSession()}
    whole = private_second_moment([x], **options)
    parts = private_second_moment([np.asfortranarray(x[::-1][:300]), x[::-1][300:]], **options)
    assert (whole == parts).all()


def test_the_integer_matrix_is_exact_whatever_the_number_of_rows(rng):
    """20,000 rows on the sphere: 2^57 grid steps squared, where floats have lost the last bits."""
    n, x = 20_000, rng.standard_normal((20_000, 3))
    x *= 2 / np.linalg.norm(x, axis=1, keepdims=True)
    whole = call(private_second_moment, [x], MOMENT | {"n": n}, "replace-one").exact
    parts = [
        call(private_second_moment, [p], MOMENT | {"n": n}, "replace-one").exact for p in np.split(x, 400)
    ]
    assert (whole == sum(parts)).all() and np.abs(whole).max() > 2**53


@pytest.mark.parametrize("apart", [Apart(), Apart(50.0, 200, 3)])
@pytest.mark.parametrize("n, multiplier", [(40, 0.01), (40, 2.0**25), (10**9, 1.0), (10**6, 1e5)])
def test_the_grid_leaves_room_for_the_noise_that_was_asked_for(n, multiplier, apart):
    """Whatever the plan allows can be drawn: a coarser grid, and no refusal after the charge."""
    grid, sensitivity = second_moment_grid(1.0, n, 50, "replace-one", multiplier, apart)
    assert 2 * n * grid.sensitivity**2 + 40 * multiplier * sensitivity < 2**62
    small = {"d": 50, "radius": 1.0, "n": n, "noise_multiplier": multiplier, "apart": apart}
    session = NoisySession(NoiseSource.for_tests(1))
    got = private_second_moment([np.eye(50)[:3]], name="m", **small, adjacency="replace-one", session=session)
    assert np.isfinite(got).all() and session.releases[0].mechanism.noise_multiplier == multiplier


def test_no_noise_is_drawn_where_there_is_no_room_and_no_matrix_made_that_is_too_large():
    with pytest.raises(ValueError, match="not fit into 64 bits"):
        second_moment_grid(1.0, 10**9, 5, "replace-one", 1e18, Apart())
    with pytest.raises(ValueError, match="at most 16000"):
        call(private_second_moment, [], MOMENT | {"d": 16_001}, "replace-one")


def test_second_moment_noise_is_symmetric_with_the_declared_scale():
    draws = np.array(
        [
            private_second_moment(
                [np.zeros((1, 3))],
                **MOMENT,
                adjacency="add-or-remove-one",
                session=NoisySession(NoiseSource.for_tests(s)),
            )
            for s in range(400)
        ]
    )
    sigma = 4.0 / 40
    assert np.std(draws[:, range(3), range(3)]) == pytest.approx(sigma, rel=0.06)
    assert np.std(draws[:, [0, 0, 1], [1, 2, 2]]) == pytest.approx(sigma / math.sqrt(2), rel=0.06)


def test_bad_arguments():
    with pytest.raises(ValueError, match="indices must be integers"):
        private_histogram(np.zeros(3), **HISTOGRAM, adjacency="replace-one", session=ExactSession())
    with pytest.raises(ValueError, match="adjacency must be"):
        private_histogram(np.zeros(3, int), **HISTOGRAM, adjacency="both", session=ExactSession())
    with pytest.raises(ValueError, match="radius must lie"):
        private_second_moment([], **MOMENT | {"radius": 0}, adjacency="replace-one", session=ExactSession())
