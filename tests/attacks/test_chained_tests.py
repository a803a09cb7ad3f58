"""One test over several conditional steps: the least of their distances, never below 0, 1-Lipschitz in all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from prepriv import Budget, Domain, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.audit.replay import Recorder
from prepriv.domain import as_space
from prepriv.guarantees.premise import Premise
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.mechanisms.propose_test_release import GaussianTest
from prepriv.preprocessing.base import ConfidentialMap, RowShift
from prepriv.runs.run import Refused, execute
from prepriv.tables.encoding import encode, encode_labels

LEARNER = GradientDescent(Logistic(), steps=2, weight_bound=5.0)
BALL = Domain.ball(3, (0, 1), n=40)


@dataclass(frozen=True)
class Above(Premise):
    """Some made-up premise."""

    least: float

    def holds(self, rows, n):
        return self.least > 0

    @property
    def says(self):
        return f"something is above {self.least}"


class Same(ConfidentialMap):
    def transform(self, x):
        return x


@dataclass(frozen=True)
class Conditional(pre.Step):
    """A step with a distance of its own, that moves a row by a little."""

    room: float = 1.0

    ways: ClassVar[tuple[str, ...]] = ("sensitivity",)
    at_prediction: ClassVar[bool] = False

    def output(self, space):
        return space

    def sensitivity(self, domain, n, incoming=None):
        return (incoming or RowShift()).plus(
            RowShift(1, 0.1, 0.1, 0, (Above(self.room, reading=as_space(domain).reading),)), n=n
        )

    def distance(self, rows, space, n, incoming=None):
        return self.room

    def fit_confidential(self, rows, space, n):
        return Same()


def conditional(room, test=0.1):
    return Conditional(room, payment=Sensitivity(test=test))


def run(steps):
    plan = make_plan(BALL, steps, LEARNER, epsilon=3.0, delta=1e-4)
    session, rng = Recorder(), np.random.default_rng(0)
    x = rng.normal(size=(40, 3)) / 4
    execute(plan, encode(x, BALL), encode_labels([0, 1] * 20, (0, 1)), session)
    return plan, [(c.name, int(c.exact[0])) for c in session.calls if "test" in c.name]


@pytest.mark.parametrize(
    ("rooms", "least"), [((3.0, 7.0), 3.0), ((7.0, 3.0), 3.0), ((5.0, -4.0), 0.0), ((-1.0, math.inf), 0.0)]
)
def test_the_least_distance_is_tested_once_at_the_last_step(rooms, least):
    plan, tests = run([conditional(r) for r in rooms])
    (only,) = tests
    assert only[0] == "Conditional + Conditional (test)"
    assert only[1] / 2**20 == pytest.approx(least - 1e-3, abs=1e-5) and plan.guarantee.conditions == ()
    assert [p.test is not None for p in plan.steps] == [False, True] and plan.steps[1].covers == (0, 1)
    shares = plan.steps[1].test.mu ** 2 + 2 / plan.learner_noise_multiplier**2
    assert plan.steps[1].test.mu ** 2 / shares == pytest.approx(0.2, rel=1e-6)


def test_a_distance_that_is_no_number_counts_as_a_failed_condition():
    _, tests = run([conditional(math.nan), conditional(9.0)])
    assert tests[0][1] <= 0


def test_a_release_needs_the_test_before_it_and_an_untested_condition_stays_printed():
    plan, tests = run(
        [conditional(2.0, 0.0), conditional(5.0), pre.Center(payment=Budget(0.1)), conditional(4.0)]
    )
    assert [name for name, _ in tests] == ["Conditional (test)", "Conditional (test)"]
    (printed,) = plan.guarantee.conditions
    assert printed.startswith("something is above 2.0, where rows are as encoded (")
    assert [p.covers for p in plan.steps] == [(), (1,), (), (3,)]


def test_a_premise_of_rows_after_a_noisy_map_is_refused_unless_it_is_tested():
    """It would be a premise of each map that noise can make: nobody can check it, and a claim would hold of none."""
    noisy = pre.Center(payment=Budget(0.1))
    with pytest.raises(ValueError, match=r"premise of rows .* Center"):
        run([noisy, conditional(2.0, 0.0)])
    run([noisy, conditional(2.0)])
    run([conditional(2.0, 0.0), noisy])


def test_a_refusal_names_all_steps_it_was_about():
    class No(Recorder):
        def _perform(self, name, mechanism, exact):
            answer = super()._perform(name, mechanism, exact)
            return False if isinstance(mechanism, GaussianTest) else answer

    plan = make_plan(BALL, [conditional(5.0), conditional(9.0)], LEARNER, epsilon=3.0, delta=1e-4)
    with pytest.raises(Refused, match=r"caps of Conditional, Conditional$"):
        execute(plan, encode(np.zeros((40, 3)), BALL), encode_labels([0] * 40, (0, 1)), No())
