"""The guarantee of a pipeline, from the events that run, and the learner's noise that meets a budget.

What draws the noise and what is claimed come from the same numbers: a plan stores neither a guarantee nor a
sensitivity, it computes them here. Proofs: docs/proofs/composition.md, docs/proofs/propose_test_release.md.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace

from prepriv.guarantees import gaussian
from prepriv.guarantees.guarantee import GaussianEvent, Guarantee
from prepriv.guarantees.loss_distribution import Part, compose
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.stochastic import Setting, StochasticLearner, smallest_noise
from prepriv.mechanisms.propose_test_release import LARGEST_TEST_DELTA
from prepriv.pipeline.chain import Chain, Stages
from prepriv.pipeline.checks import Learner
from prepriv.preprocessing.base import UNTOUCHED

LESS = 1 - 1e-9  # calibrate a little inside the budget; the printed epsilon is computed from the events
TEST_SHARES = (0.5, 0.2, 0.1, 0.05, 0.02)  # of delta, tried for tests behind a release
HOPELESS = 50.0  # a batch that can move by this many noise scales is not worth a loss distribution
_TOLERANCE = 1e-3  # relative, of a budget that is found by search


def learner_shift(learner: Learner, setting: Setting) -> float:
    """What the learner's noise multiplier multiplies: the move of a gradient sum, or the clip norm of a batch."""
    if isinstance(learner, StochasticLearner):
        return learner.clip(setting.radius)
    shift = learner.shift(
        setting.radius, setting.d, setting.outputs, setting.n, setting.adjacency, setting.incoming
    )
    if not math.isfinite(shift):
        raise ValueError("the gradient has no finite bound: give the learner a clip_norm or a weight_bound")
    return shift


def training_parts(learner: Learner, multiplier: float, setting: Setting, delta: float) -> tuple[Part, ...]:
    """What training costs, as parts to compose: the learner's own account."""
    if isinstance(learner, GradientDescent):
        return ((gaussian(math.sqrt(learner.steps) / multiplier * (1 + 1e-12)), 1),)
    return learner.parts(multiplier, setting, delta=delta)


def training_accounts(
    learner: Learner, multiplier: float, setting: Setting, delta: float
) -> list[tuple[Part, ...]]:
    """Every valid account of training, each as parts to compose. multiplier: noise over `learner_shift`."""
    if isinstance(learner, GradientDescent):
        return [training_parts(learner, multiplier, setting, delta)]
    moved = learner.moved_rows(setting)
    # Whatever the batches are, one sum moves by at most the record and all that moved: no amplification.
    record = 2.0 if setting.adjacency == "replace-one" else 1.0
    most = record + min(moved.total, moved.count * moved.each) + moved.dropped + moved.rounding
    plain: tuple[Part, ...] = ((gaussian(most / multiplier * math.sqrt(learner.steps) * (1 + 1e-12)), 1),)
    if most - record > HOPELESS * multiplier:
        unmoved = replace(UNTOUCHED, any_order=setting.incoming.any_order)
        learner.parts(multiplier, replace(setting, incoming=unmoved), delta=delta)  # refuses what cannot run
        return [plain]
    return [learner.parts(multiplier, setting, delta=delta), plain]


def cost(steps: Chain, learner: Learner, setting: Setting, multiplier: float, delta: float) -> float:
    """The least certified epsilon at delta of all that runs, if training has this noise over `learner_shift`."""
    accounts = training_accounts(learner, multiplier, setting, delta)
    return min(composed(steps.stages, parts).epsilon(delta) for parts in accounts)


def composed(stages: Stages, training: tuple[Part, ...]) -> TradeoffFunction:
    """Training and all that the steps release, composed in the order in which it runs.

    Behind a test stands what runs only if it passes; before it what runs in any case, on whose output the case of
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
    if isinstance(learner, GradientDescent):
        events.append(GaussianEvent(learner.name, multiplier, learner.steps))
        exact = Guarantee.of_gaussians(events, adjacency, conditions)
        if not steps.tested:
            return exact
        breakdown = exact.breakdown
    else:
        breakdown = tuple(
            (name, math.nan) for name in (*(e.name for e in events), learner.name)
        )  # no µ in all
    curve = composed(steps.stages, training_parts(learner, multiplier, setting, delta))
    notes = tuple(
        f"{', '.join(steps.steps[i].step.name for i in p.covers)}: caps tested by propose-test-release; a refusal "
        "is charged in full"
        for p in steps.steps
        if p.test is not None
    )
    return Guarantee(curve, adjacency, conditions, breakdown, notes=notes)


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
        return composed(tried, ((gaussian(mu), 1),)).epsilon(delta) / epsilon * needed

    return min((share * min(delta, LARGEST_TEST_DELTA) / tests for share in TEST_SHARES), key=product)


def calibrate(
    learner: Learner, setting: Setting, steps: Chain, epsilon: float, delta: float, mu: float
) -> float:
    """The learner's noise multiplier for its part of the budget: the least, to a tolerance from above.

    mu: what is left of the budget for training, as GDP (inf: no noise). Raises ValueError where none is enough.
    """
    if isinstance(learner, StochasticLearner):
        if not math.isfinite(epsilon):
            raise ValueError(f"{learner.name} has no run without privacy; use GradientDescent")
        if not steps.tested:
            others = [(gaussian(1 / e.noise_multiplier), e.count) for p in steps.steps for e in p.events]
            return learner.calibrate(epsilon * LESS, delta, setting, others=others)
        return smallest_noise(
            lambda z: composed(steps.stages, learner.parts(z, setting, delta=delta)).epsilon(delta),
            epsilon * LESS,
            1e-3,
        )
    if not math.isfinite(mu):
        return 0.0
    left = _training_mu(steps.stages, mu, epsilon, delta) if steps.tested else mu
    return math.sqrt(learner.steps) / left * (1 + 1e-12)


@functools.lru_cache(256)
def _training_mu(stages: Stages, mu: float, epsilon: float, delta: float) -> float:
    """What training may spend as GDP beside tested stages, at most mu: all of it, to a tolerance from below.

    The answer was itself checked; guesses follow epsilon as a power of mu.
    """

    def cost(spent: float) -> float:
        return composed(stages, ((gaussian(spent), 1),)).epsilon(delta)

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
        raise ValueError("the test of the caps leaves no room: lower its share or raise epsilon")
    return found
