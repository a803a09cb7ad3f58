"""A session performs what a mechanism declares, and a meter pays for what the same object says it costs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from prepriv.mechanisms import (
    ExactSession,
    ExponentialMechanism,
    GaussianSum,
    GaussianTest,
    LaplaceSum,
    LaplaceTest,
    Metered,
    NoiseSource,
    NoisySession,
    Scores,
    SpentError,
    StabilityHistogram,
)
from prepriv.mechanisms.in_groups import ChoiceInGroups
from prepriv.mechanisms.mechanism import Mechanism
from whole_package import import_all

GAUSSIAN = GaussianSum(
    sensitivity=1 << 16, noise_multiplier=2.0, exponent=-16, largest=1 << 40, coordinates=3
)
ASKED = {
    "sum": (GAUSSIAN, np.arange(3) << 16, 0.25),
    "choice": (ExponentialMechanism.of_gdp(0.5, 2), Scores.single(np.arange(5)), 0.25),
    "choices in groups": (
        ChoiceInGroups(ExponentialMechanism.of_gdp(0.5, 2), moved=2),
        [Scores.single(np.arange(5))] * 3,
        0.5,
    ),
    "test": (GaussianTest(mu=0.5, delta=1e-5), 100.0, 0.25),
    "names": (
        StabilityHistogram(noise_multiplier=2.0, delta=1e-6, adjacency="replace-one"),
        {"a": 100},
        0.25,
    ),
    "whole numbers": (LaplaceSum(1, 1.0, 1 << 20, 2), np.arange(2), None),
    "Laplace test": (LaplaceTest(epsilon=1.0, delta=1e-5), 100.0, None),
}


def subclasses(kind):
    return {s for c in kind.__subclasses__() for s in {c, *subclasses(c)}}


def test_every_mechanism_is_asked_here():
    import_all()
    concrete = {k for k in subclasses(Mechanism) if not k.__abstractmethods__ and k.__module__ != __name__}
    assert {type(m) for m, _, _ in ASKED.values()} >= {
        k
        for k in concrete
        if k.__module__.startswith("prepriv.mechanisms.") and not k.__name__.startswith("_")
    }


@pytest.mark.parametrize("name", ASKED)
def test_what_is_drawn_is_what_is_counted(name):
    mechanism, exact, square = ASKED[name]
    session = NoisySession(NoiseSource.for_tests(1))
    enough = Metered(session, "step", square or 100.0, 1e-6)
    if square is None:
        with pytest.raises(SpentError, match="share of a Gaussian budget"):
            enough.release(name, mechanism, exact)
        assert session.releases == []
        return
    assert mechanism.cost is not None and float(mechanism.cost.mu_squared) <= square * (1 + 1e-9)
    enough.release(name, mechanism, exact)
    assert [(r.name, r.mechanism) for r in session.releases] == [(name, mechanism)]
    with pytest.raises(SpentError, match="more releases"):
        enough.release(name, mechanism, exact)
    little = Metered(session, "step", square * 0.99, 1e-6)
    with pytest.raises(SpentError, match="more releases"):
        little.release(name, mechanism, exact)


def test_a_sum_without_noise_is_paid_for_by_nothing():
    quiet = GaussianSum(1 << 16, 0.0, -16, 1 << 40, 3)
    assert quiet.cost is None
    with pytest.raises(SpentError):
        Metered(NoisySession(), "step", 1e9).release("sum", quiet, np.arange(3))


@pytest.mark.parametrize("session", [NoisySession(), ExactSession()])
def test_a_sum_of_another_size_is_refused(session):
    with pytest.raises(ValueError, match="sum of 3 numbers"):
        session.release("sum", GAUSSIAN, np.arange(4))


def test_a_run_without_privacy_says_so_where_a_mechanism_has_no_answer():
    with pytest.raises(TypeError, match="no answer without noise"):
        ExactSession().release("names", *ASKED["names"][:2])


def test_the_noise_of_a_sum_is_that_of_its_cost():
    session = NoisySession(NoiseSource.for_tests(3))
    wide = GaussianSum(1 << 16, 2.0, -16, 1 << 40, 4000)
    noise = session.release("sum", wide, np.zeros(4000, np.int64))
    assert wide.cost is not None and wide.cost.mu_squared == Fraction(1, 4)
    assert np.std(noise) == pytest.approx(1 / math.sqrt(wide.cost.mu_squared), rel=0.05)
