"""The noisy sum: exact integers, declared sensitivity, every call written down."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prepriv.mechanisms.gaussian_sum import RELEASE_BITS, GaussianSum, coarsen
from prepriv.mechanisms.mean import gaussian_sum, sum_grid
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession

OPTIONS = {"name": "sum", "dim": 3, "radius": 1.0, "shift": 2.0, "moved": 0.0, "n": 100}


def test_noise_has_the_declared_scale(rng):
    outs = [
        gaussian_sum(
            [np.zeros((4, 3))],
            **OPTIONS,
            noise_multiplier=3.0,
            session=NoisySession(NoiseSource.for_tests(s)),
        )
        for s in range(700)
    ]
    assert np.std(outs) == pytest.approx(6.0, rel=0.05) and abs(np.mean(outs)) < 0.6


def test_without_noise_it_is_the_sum(rng):
    x = rng.standard_normal((50, 3)) * 0.3
    got = gaussian_sum([x[:20], x[20:]], **OPTIONS, noise_multiplier=0.0, session=ExactSession())
    inside = x * np.minimum(1, 1 / np.linalg.norm(x, axis=1))[:, None]
    assert np.allclose(got, inside.sum(axis=0), atol=1e-5)


class Spy(ExactSession):
    def _perform(self, name, mechanism, exact):
        self.total = exact
        return super()._perform(name, mechanism, exact)


@pytest.mark.parametrize("moved", [0, 5, 99])
def test_replacing_one_record_and_moving_others_stays_within_the_sensitivity(rng, moved):
    """Records of any size and kind; common rows that move by less than a grid step can still flip a digit."""
    for trial in range(60):
        x = rng.standard_normal((100, 3))
        x2 = x.copy()
        x2[0] = [[1e308, 0, 0], [np.nan, 1, 1], [-1e9, 1e9, 0], [5e-324, 0, 0]][trial % 4]
        x[0] = [1e9, -1e9, 0]
        nudge = 1e-9 if trial % 2 else 1e-3
        x2[1 : 1 + moved] += nudge * rng.choice([-1, 1], (moved, 3)) / math.sqrt(3)
        options = {**OPTIONS, "shift": 2.0 + moved * nudge, "moved": moved}
        one, two = Spy(), Spy()
        with np.errstate(over="ignore"):
            gaussian_sum([x], **options, noise_multiplier=1.0, session=one)
            gaussian_sum([x2], **options, noise_multiplier=1.0, session=two)
        distance = sum(int(v) ** 2 for v in (one.total - two.total).tolist())
        assert distance <= one.releases[0].mechanism.sensitivity ** 2


def test_coarsening_keeps_a_certified_sensitivity(rng):
    for _ in range(300):
        size = int(rng.integers(1, 400))
        sensitivity = int(2 ** rng.uniform(1, 45))
        a = rng.integers(-(2**50), 2**50, size)
        direction = rng.standard_normal(size)
        b = a + np.trunc(direction / np.linalg.norm(direction) * (sensitivity - 1)).astype(np.int64)
        (ca, grown, shift), (cb, _, _) = coarsen(a, sensitivity), coarsen(b, sensitivity)
        assert sum(int(v) ** 2 for v in (ca - cb).tolist()) <= grown**2
        assert grown <= 2**RELEASE_BITS + math.isqrt(size) + 2
        assert np.abs(ca * 2.0**shift - a).max() <= 2.0**shift


def test_sums_that_could_overflow_are_refused_before_noise():
    session = NoisySession(NoiseSource.for_tests(0))
    with pytest.raises(ValueError, match="overflow"):
        session.release("x", GaussianSum(2**20, 1.0, 0, 2**62, 2), np.zeros(2, np.int64))
    assert session.releases == []
    with pytest.raises(ValueError, match="too many"):
        sum_grid(10, 1.0, 2**60)
