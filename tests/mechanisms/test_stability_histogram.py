"""The stability histogram: its claim against numeric integration over worst pairs, its threshold against the law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import Metered, NoisySession, SpentError
from prepriv.mechanisms.stability_histogram import StabilityHistogram

ADJACENCIES = ["replace-one", "add-or-remove-one"]


def mechanism(adjacency="replace-one", z=2.0, delta=0.01):
    return StabilityHistogram(noise_multiplier=z, delta=delta, adjacency=adjacency)


def hockey_stick(epsilon, distance, seen_here, seen_there):
    """H of (shifted normal) x (a lone value seen) by integration: here against there, apart from both curves."""
    far = math.exp(epsilon)
    common = quad(
        lambda x: max(0.0, (1 - seen_here) * norm.pdf(x - distance) - far * (1 - seen_there) * norm.pdf(x)),
        -12,
        12 + distance,
        limit=400,
    )[0]
    return common + seen_here


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0, 2.0])
def test_no_pair_of_neighbours_beats_the_claim(adjacency, epsilon):
    m = mechanism(adjacency)
    r = math.sqrt(2) if adjacency == "replace-one" else 1.0
    deviation = m.noise_multiplier * r  # of one count
    lone = float(norm.sf((m.least - 1) / deviation))
    assert lone <= m.delta
    pairs = [(math.sqrt(r * r) / deviation, 0.0, 0.0), (math.sqrt(r * r - 1) / deviation, lone, 0.0)]
    pairs += [(math.sqrt(r * r - 1) / deviation, 0.0, lone), (0.0, lone, lone if r > 1 else 0.0)]
    worst = max(hockey_stick(epsilon, *pair) for pair in pairs)
    claimed = m.tradeoff.delta(epsilon)
    assert worst <= claimed + 1e-9
    assert claimed <= m.delta + (1 - m.delta) * hockey_stick(epsilon, 1 / m.noise_multiplier, 0, 0) + 1e-4


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_lone_value_is_seen_as_rarely_as_said(adjacency, rng):
    m = mechanism(adjacency, delta=0.05)
    source = NoiseSource.for_tests(int(rng.integers(2**31)))
    lone = {f"v{i}": 1 for i in range(20_000)}
    seen = len(m.release(lone, source))
    assert 0.044 * len(lone) < seen < 0.056 * len(lone)


def test_names_leave_in_their_own_order_with_honest_counts():
    counts = {name: 10_000 + i for i, name in enumerate(["z", "b", "emoji 🙂", "a"])}
    seen = mechanism().release(counts | {"never": 0}, NoiseSource.for_tests(3))
    assert list(seen) == sorted(counts)
    assert all(abs(seen[name] - counts[name]) < 20 for name in counts)
    assert np.std([seen[n] - counts[n] for n in counts]) > 0


def test_neighbours_differ_by_the_sensitivity_at_most():
    m = mechanism()
    assert 2 * 2**32 < m.sensitivity**2 < 2 * 2**32 + 2**19
    assert mechanism("add-or-remove-one").sensitivity == 2**16


def test_it_is_paid_for_with_mu_and_delta():
    m = mechanism(z=2.0, delta=0.01)
    session = Metered(NoisySession(NoiseSource.for_tests(1)), "x", 0.5, 0.01)
    assert list(session.release("x", m, {"a": 1000})) == ["a"]
    with pytest.raises(SpentError):
        session.release("x", m, {"a": 1000})  # mu is left, delta is not
    assert isinstance(session.releases[0].mechanism, StabilityHistogram)


@pytest.mark.parametrize("bad", [{"z": 0.0}, {"delta": 0.0}, {"delta": 0.3}, {"adjacency": "none"}])
def test_mistakes_are_sentences(bad):
    with pytest.raises(ValueError, match=r"noise_multiplier|delta|adjacency"):
        mechanism(**bad)
