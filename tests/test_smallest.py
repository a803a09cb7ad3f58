"""examples/smallest.py is accepted as it stands, keeps its word under attack, and without any one of its names it is refused."""

import dataclasses
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import prepriv
from prepriv.audit import replay_plan
from prepriv.learners import GradientDescent, Logistic
from prepriv.mechanisms.mechanism import Cost, Mechanism, squared_distance
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import Metered, NoisySession, SpentError
from prepriv.preprocessing import Step

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import smallest

DOMAIN = prepriv.Domain.box(0, 1, features=2, classes=[0, 1], n=200)
STEPS = {
    "free": (smallest.Halve, None),
    "public": (smallest.NoisyMean, prepriv.Public(np.zeros((5, 2)))),
    "budget": (smallest.NoisyMean, prepriv.Budget(0.1)),
    "sensitivity": (smallest.ExactMean, prepriv.Sensitivity()),
}
SAYS = {
    "free": {"output", "free"},
    "public": {"ways", "output", "fit_public"},
    "budget": {"ways", "output", "fit_budget"},
    "sensitivity": {"ways", "at_prediction", "output", "sensitivity", "fit_confidential"},
}


def said(cls):
    return {name for name in vars(cls) if not name.startswith("_")} - {"payment", "noise_multiplier"}


def plan(cls, payment):
    return prepriv.make_plan(
        DOMAIN, [cls(payment=payment)], GradientDescent(Logistic(), steps=3), epsilon=1.0, delta=1e-5
    )


def fitted(cls, payment):
    rows = np.random.default_rng(0).random((200, 2))
    model = prepriv.PrivateClassifier(
        dataclasses.replace(DOMAIN, n=None),
        steps=[cls(payment=payment)],
        learner=GradientDescent(Logistic(), steps=3),
    )
    return model.fit(rows, (rows[:, 0] > 0.5).astype(int))


@pytest.mark.parametrize("way", STEPS)
def test_it_is_accepted_and_its_claim_is_kept(way):
    cls, payment = STEPS[way]
    assert fitted(cls, payment).guarantee_.epsilon(1e-5) <= 1.0
    assert said(cls) | {"fit_public", "fit_budget"} >= SAYS[way]


@pytest.mark.parametrize(("way", "name"), [(w, name) for w, names in SAYS.items() for name in sorted(names)])
def test_nothing_can_be_left_out(way, name):
    cls, payment = STEPS[way]
    body = {k: v for k, v in vars(cls).items() if k in said(cls) - {name}}
    less = dataclasses.dataclass(frozen=True)(type(cls.__name__, (Step,), body | {"__module__": __name__}))
    with pytest.raises((ValueError, TypeError), match=r"."):
        plan(less, payment)


@pytest.mark.parametrize("way", ["budget", "sensitivity"])
def test_replay_finds_nothing(way):
    cls, payment = STEPS[way]
    found = replay_plan(plan(cls, payment), pairs=8, bases=2)
    assert not found.findings


def test_the_smallest_mechanism_is_drawn_counted_and_attacked_as_ours_are():
    count = smallest.NoisyCount(noise_multiplier=2.0)
    source = NoiseSource.for_tests(1)
    noisy = [float(np.squeeze(count.perform(100, source))) for _ in range(400)]
    assert abs(np.mean(noisy) - 100) < 0.5 and 1.8 < np.std(noisy) < 2.2
    session = Metered(NoisySession(), "counts", 1 / 4, 0.0)
    assert abs(float(np.squeeze(session.release("count", count, 100))) - 100) < 30
    with pytest.raises(SpentError):
        session.release("count", count, 100)


@pytest.mark.parametrize("name", ["cost", "reach", "perform"])
def test_a_mechanism_says_three_things_and_no_less(name):
    kind = smallest.NoisyCount
    assert said(kind) == {"cost", "reach", "perform"} == Mechanism.__abstractmethods__
    body = {k: v for k, v in vars(kind).items() if k in said(kind) - {name}}
    with pytest.raises(TypeError, match=name):
        type("Less", (Mechanism,), body)()


@pytest.mark.parametrize(
    "bad",
    [{"mu_squared": Fraction(-1)}, {"mu_squared": 0.25}, {"mu_squared": Fraction(1), "delta": Fraction(2)}],
)
def test_a_cost_gives_nothing_back(bad):
    """A negative cost refilled the meter: a share of 1 became 6."""
    with pytest.raises(ValueError, match="of a Cost must be"):
        Cost(**bad)


def test_a_subclass_of_a_cost_is_not_counted():
    class Cheap(Cost):
        pass

    class Dear(smallest.NoisyCount):
        @property
        def cost(self):
            return Cheap(Fraction(1, 100))

    with pytest.raises(SpentError, match="must be a Cost"):
        Metered(NoisySession(), "counts", 1.0).release("count", Dear(noise_multiplier=2.0), 3)


def test_distances_of_floats_are_refused_and_a_count_is_recorded():
    """Float rows 0.9 apart counted as 0."""
    with pytest.raises(TypeError, match="integers alone"):
        squared_distance(np.array([0.0]), np.array([0.9]))
    count = smallest.NoisyCount(noise_multiplier=2.0)
    assert count.moved_squared(count.recorded(7), count.recorded(8)) == 1
