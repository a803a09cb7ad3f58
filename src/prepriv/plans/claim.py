"""The guarantee of a pipeline, from the events that run, and the learner's noise that meets a budget.

What draws the noise and what is claimed come from the same numbers: a plan stores neither a guarantee nor a
sensitivity, it computes them here. Proofs: docs/proofs/composition.md, docs/proofs/propose_test_release.md.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace

from prepriv._rounding import UP
from prepriv.guarantees import gaussian
from prepriv.guarantees.guarantee import GaussianEvent, Guarantee
from prepriv.guarantees.loss_distribution import Part, compose
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.learners.learner import Learner, Setting, allowance
from prepriv.learners.stochastic import smallest_noise
from prepriv.mechanisms.propose_test_release import LARGEST_TEST_DELTA
from prepriv.placed.chain import Chain, Stages

LESS = 1 - 1e-9  # calibrate a little inside the budget; the printed epsilon is computed from the events
TEST_SHARES = (0.5, 0.2, 0.1, 0.05, 0.02)  # of delta, tried for tests behind a release
_TOLERANCE = 1e-3  # relative, of a budget that is found by search


def cost(steps: Chain, learner: Learner, setting: Setting, multiplier: float, delta: float) -> float:
    """The least certified epsilon at delta of all that runs, if training has this noise over its unit."""
    accounts = learner.accounts(multiplier, setting, delta)
    return min(composed_stages(steps.stages, parts).epsilon(delta) for parts in accounts)


def composed_stages(stages: Stages, training: tuple[Part, ...]) -> TradeoffFunction:
    """Training and all that the steps release, composed in the order in which it runs.

    What runs only if a test passes stands after it; what runs in any case stands before it, on whose output the case of
    the test may depend: so the two cases are joined first and what ran before is composed with the lower of them.
    """
    parts: list[Part] = list(training)
    for test, multiplier in reversed(stages):
        if multiplier is not None:
            parts.append((gaussian(1 / multiplier), 1))
        if test is not None:
            parts = [(test.combined(compose(parts).symmetrized()), 1)]
    return compose(parts).symmetrized()


def claim(steps: Chain, learner: Learner, setting: Setting, multiplier: float, delta: float) -> Guarantee:
    """The guarantee of a plan's events: GDP where all are Gaussian and nothing is tested, a composed curve elsewhere."""
    events = [e for p in steps.steps for e in p.events]
    adjacency, conditions = setting.adjacency, tuple(str(c) for c in setting.incoming.conditions)
    if learner.exact:
        events.append(GaussianEvent(learner.name, multiplier, learner.steps))
        events += learner.once(multiplier, setting)
        exact = Guarantee.of_gaussians(events, adjacency, conditions)
        if not steps.tested:
            return replace(exact, notes=steps.notes)
        breakdown = exact.breakdown
    else:
        once = learner.once(multiplier, setting)
        names = (*(e.name for e in events), learner.name, *(e.name for e in once))
        breakdown = tuple((name, math.nan) for name in names)  # no µ in all
    curve = composed_stages(steps.stages, learner.parts(multiplier, setting, delta=delta))
    return Guarantee(curve, adjacency, conditions, breakdown, notes=steps.notes)


def with_best_tests(steps: Chain, mu: float, epsilon: float, delta: float) -> Chain:
    """The chain with the delta of its tests chosen together with the noise of training (`_best_test_delta`)."""
    if not steps.tested:
        return steps
    return steps.with_test_delta(_best_test_delta(steps.stages, mu, epsilon, delta))


@functools.lru_cache(256)
def _best_test_delta(stages: Stages, mu: float, epsilon: float, delta: float) -> float:
    """Bound on the false pass of each test; mu: of training, counted as one Gaussian release.

    Where nothing is released before a single test its delta costs nothing, and it takes all of it. Elsewhere a
    larger one lowers the distance that a data set needs and raises the noise: of some shares of delta the one with
    the least product of the two is taken.
    """
    tests = sum(test is not None for test, _ in stages)
    if tests == 1 and stages[0][0] is not None:
        return min(delta * LESS, LARGEST_TEST_DELTA)

    def product(each: float) -> float:
        tried = tuple((test and replace(test, delta=each), multiplier) for test, multiplier in stages)
        needed = max(test.threshold for test, _ in tried if test is not None)
        return composed_stages(tried, ((gaussian(mu), 1),)).epsilon(delta) / epsilon * needed

    return min((share * min(delta, LARGEST_TEST_DELTA) / tests for share in TEST_SHARES), key=product)


def calibrated_noise(
    learner: Learner, setting: Setting, steps: Chain, epsilon: float, delta: float, mu: float
) -> float:
    """The learner's noise multiplier for its part of the budget: the least, to a tolerance from above.

    mu: what is left of the budget for training, as GDP (inf: no noise). Raises ValueError where none is enough.
    """
    if learner.exact:
        if not math.isfinite(mu):
            return 0.0
        left = _training_mu(steps.stages, mu, epsilon, delta) if steps.tested else mu
        return math.sqrt(allowance(learner, 1.0, setting)) / left * UP
    if not math.isfinite(epsilon):
        raise ValueError(f"{learner.name} has no run without privacy; use GradientDescent")
    try:
        hash(learner)
    except TypeError:  # a learner of one's own that holds a list or an array: searched for each time
        return _least_noise.__wrapped__(learner, setting, steps.stages, epsilon, delta)
    return _least_noise(learner, setting, steps.stages, epsilon, delta)


@functools.lru_cache(256)
def _least_noise(learner: Learner, setting: Setting, stages: Stages, epsilon: float, delta: float) -> float:
    """The search that `calibrate` makes; a report prices the way that its plan has chosen once more."""
    return smallest_noise(
        lambda z: composed_stages(stages, learner.parts(z, setting, delta=delta)).epsilon(delta),
        epsilon * LESS,
        _TOLERANCE,
    )


@functools.lru_cache(256)
def _training_mu(stages: Stages, mu: float, epsilon: float, delta: float) -> float:
    """What training may spend as GDP beside tested stages, at most mu: all of it, to a tolerance from below.

    The answer was itself checked; guesses follow epsilon as a power of mu.
    """

    def cost(spent: float) -> float:
        return composed_stages(stages, ((gaussian(spent), 1),)).epsilon(delta)

    goal, found, power = epsilon * LESS, 0.0, 1.25
    spent, value = mu * LESS, cost(mu * LESS)
    if value <= goal:
        return spent
    for _ in range(40):
        guess = spent * max(0.5, (goal * (1 - _TOLERANCE / 2) / value) ** (1 / power))
        if guess < mu / 64 or not math.isfinite(value):
            break
        new = cost(guess)
        if new <= goal:
            found = max(found, guess)
        if found and (new > goal or new >= goal * (1 - _TOLERANCE)):
            return found
        if guess != spent and new > 0 and new != value:
            power = min(4.0, max(0.5, math.log(value / new) / math.log(spent / guess)))
        spent, value = guess, new
    if not found:
        raise ValueError("the test of the caps leaves nothing for training: lower its share or raise epsilon")
    return found
