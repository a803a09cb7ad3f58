"""The best of a secret number of trials: its claim by enumeration, against the strongest attack known, and as it is drawn."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import prepriv
from evaluation.test_choose import CHEAP, DOMAIN, X, Y
from evaluation.test_holdout import hockey_stick
from prepriv.audit.replay import Recorder
from prepriv.domain import ADJACENCIES
from prepriv.evaluation import choose as of_choose
from prepriv.evaluation.candidates import candidates_of
from prepriv.evaluation.choose import choose, plan_choice
from prepriv.guarantees import gaussian
from prepriv.guarantees.random_trials import LEAST_STOP, random_trials
from prepriv.learners import Logistic, SquaredError
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.mechanisms.coins import trial_numbers
from prepriv.mechanisms.session import NoisySession
from prepriv.release.model import Model
from prepriv.runs.chosen import TRIALS, Chosen, score_steps, tried

MANY = [GradientDescent(Logistic(), steps=s) for s in range(2, 10)]


def best(law, stop):
    """The exact law of the best, summed over the number of trials; outputs are ordered by their place in `law`."""
    below = np.concatenate([[0.0], np.cumsum(law)])
    k = np.arange(1, round(40 / stop))
    return stop * (1 - stop) ** (k - 1) @ np.diff(below ** k[:, None])


def gdp_of(p, q):
    """The least µ of two laws, over all their likelihood ratios and both orders."""

    def fits(mu):
        for one, two in ((p, q), (q, p)):
            for ratio in two / one:
                exact = np.maximum(0.0, two - ratio * one).sum()
                if exact > gaussian(mu).symmetrized().delta(max(math.log(ratio), 0.0)) + 1e-12 and ratio >= 1:
                    return False
        return True

    low, high = 1e-3, 10.0
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


@pytest.mark.parametrize("seed", range(8))
def test_random_outputs_in_any_order_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(5)) * 0.9 + 0.02
    q = p * np.exp(rng.normal(scale=0.4, size=5))
    q /= q.sum()
    mu, stop = gdp_of(p, q), float(rng.choice([0.5, 0.1, 1 / 28]))
    claim = random_trials(mu, stop)
    for _ in range(12):
        order = rng.permutation(5)
        one, two = (dict(enumerate(best(law[order], stop))) for law in (p, q))
        for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0):
            for a, b in ((one, two), (two, one)):
                assert hockey_stick(a, b, math.exp(epsilon)) <= claim.delta(epsilon) + 1e-12


def middle_set(mu, stop, delta):
    """ε of the attack of docs/proofs/choose.md: an output that speaks for one side is best unless one for the other comes."""

    def top(s):
        return s / (stop + (1 - stop) * s)

    t, x = np.meshgrid(np.r_[-40.0, np.linspace(-4.5, 2.5, 160)], np.linspace(-2.0, 6.0, 160))
    ahead, other = norm.cdf(t - mu), norm.cdf(t)
    mine, theirs = norm.sf(x - mu), norm.sf(x)
    a = np.where(x > t, top(ahead + mine) - top(ahead), 0.0)
    b = np.where(x > t, top(other + theirs) - top(other), 1.0)
    return brentq(lambda e: (a - math.exp(e) * b).max() - delta, 1e-3, 60)


@pytest.mark.parametrize(
    "mu, stop", [(0.17, 1 / 12), (0.1, 1 / 28), (0.6, 1 / 4), (1.5, 1 / 60), (0.05, 1 / 400)]
)
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_the_claim_is_above_the_attack_and_near(mu, stop, delta):
    claimed = random_trials(mu, stop).epsilon(delta)
    attacked = middle_set(mu, stop, delta)
    assert attacked <= claimed <= 1.25 * attacked, (attacked, claimed)
    curve = random_trials(mu, stop).tradeoff()
    assert claimed <= curve.epsilon(delta) * (1 + 1e-9) <= 1.01 * claimed


@pytest.mark.parametrize(
    "mu, stop, reached", [(2.0, 1 / 2000, 0.95), (5.0, 1 / 20, 0.95), (1.5, 1 / 60, 0.8), (0.3, 1 / 400, 0.3)]
)
def test_no_order_of_gaussian_outputs_beats_the_claim(mu, stop, reached):
    """Sixty cells of N(0, 1) and N(µ, 1), in any order: climbed by swaps, turns and moves, from orders and their ends."""
    rng, cells = np.random.default_rng(0), 60
    edges = np.r_[-np.inf, np.linspace(-5, 5 + mu, cells - 1), np.inf]
    laws = [np.diff(norm.cdf(edges - m)) for m in (0.0, mu)]

    def delta(order, epsilon):
        ends = []
        for law in laws:  # the best is among the first cells with chance top(their mass)
            ahead = np.r_[0.0, np.cumsum(law[order])]
            ends.append(np.diff(ahead / (stop + (1 - stop) * ahead)))
        return max(np.maximum(a - math.exp(epsilon) * b, 0.0).sum() for a, b in (ends, ends[::-1]))

    best, middle = 0.0, np.abs(np.arange(cells) - cells / 2)
    for epsilon in (0.2, 1.0, 3.0, 6.0):
        bound = float(random_trials(mu, stop).delta(epsilon))
        for order in (np.arange(cells), np.argsort(middle), np.argsort(-middle)):
            found = delta(order, epsilon)
            for _ in range(250):
                i, j = sorted(rng.integers(0, cells, 2))
                turned = np.r_[order[:i], order[i:j][::-1], order[j:]]
                moved = np.r_[order[:i], order[j:], order[i:j]]
                for other in (turned, moved):
                    if (value := delta(other, epsilon)) > found:
                        order, found = other, value
            assert found <= bound * (1 + 1e-9)
            best = max(best, found / bound)
    assert best > reached


def test_one_trial_is_one_trial():
    assert random_trials(0.3, 1.0).epsilon(1e-5) == pytest.approx(
        gaussian(0.3).epsilon(1e-5), rel=0.15
    )  # the conversion loses that
    for bad in ({"mu": 0.0, "stop": 0.5}, {"mu": 1.0, "stop": 0.0}, {"mu": 1.0, "stop": LEAST_STOP / 2}):
        with pytest.raises(ValueError, match=r"mu|stop"):
            random_trials(**bad)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_the_claim_is_an_account_of_its_own(adjacency, epsilon):
    domain = prepriv.Domain.box(0, 1, 3, [0, 1], adjacency=adjacency)
    options = {"holdout": 0.3, "method": None, "session": NoisySession()}
    plan, _ = plan_choice(candidates_of(MANY), domain, 900, (epsilon, 1e-5), **options)
    assert plan.chosen.method == TRIALS and plan.chosen.stop == 1 / 28
    each = [math.sqrt(p.learner.steps) / p.learner_noise_multiplier for p in plan.chosen.plans]
    one = max(*each, plan.chosen.epsilon)
    claimed = random_trials(one, 1 / 28).epsilon(1e-5)
    assert plan.guarantee.mu is None and claimed <= plan.guarantee.epsilon(1e-5) <= epsilon
    assert plan.guarantee.epsilon(1e-5) >= 0.99 * epsilon > 0.99 * middle_set(one, 1 / 28, 1e-5)
    said = plan.chosen.to_json()
    assert Chosen.from_json(said, 10**6).guarantee.epsilon(1e-5) == pytest.approx(
        plan.guarantee.epsilon(1e-5)
    )
    assert plan.signals[TRIALS] > 1.15 * plan.signals["same rows"]
    with pytest.raises(ValueError, match="stop"):
        Chosen.from_json(said | {"stop": 0.0}, 10**6)
    with pytest.raises(ValueError, match="stop by a coin"):
        Chosen.from_json(said | {"method": "same rows"}, 10**6)


def test_trials_are_drawn_by_their_law():
    drawn = [trial_numbers(3, 0.125, NoisySession()) for _ in range(4000)]
    lengths = np.array([len(d) for d in drawn])
    assert abs(lengths.mean() - 8) < 6 * math.sqrt(56 / 4000)
    assert abs((lengths == 1).mean() - 0.125) < 6 * math.sqrt(0.125 / 4000)
    numbers = Counter(j for d in drawn for j in d)
    assert set(numbers) == {0, 1, 2} and min(numbers.values()) > 0.3 * sum(numbers.values())
    assert abs(np.mean([2 in d for d in drawn]) - 1 / (1 + 0.125 * 2)) < 0.05 and tried(8) == pytest.approx(
        0.8
    )


def test_the_best_trial_leaves_and_no_other(monkeypatch):
    monkeypatch.setattr(of_choose, "trial_numbers", lambda *_: [1, 0, 1])
    seen = []
    inner = of_choose._score
    monkeypatch.setattr(
        of_choose, "_score", lambda m, t, y: (seen.append((m, inner(m, t, y))), seen[-1][1])[1]
    )
    made = choose(CHEAP, X, Y, DOMAIN, epsilon=40.0, delta=1e-3, method=TRIALS)
    top = max(score for _, score in seen)
    assert len(seen) == 3 and any(
        np.array_equal(made.model_.weights, m.weights) and score >= top - 10 for m, score in seen
    )
    assert (
        made.number
        == [1, 0, 1][[np.array_equal(made.model_.weights, m.weights) for m, _ in seen].index(True)]
    )


def test_the_winner_of_trials_carries_the_whole_claim(tmp_path):
    made = choose(CHEAP, X, Y, DOMAIN, epsilon=2.0, method=TRIALS)
    made.model_.save(tmp_path / "run")
    again = Model.load(tmp_path / "run")
    assert again.guarantee.epsilon(1e-5) == pytest.approx(made.guarantee_.epsilon(1e-5))
    assert again.declared.guarantee.epsilon(1e-5) < 0.8 * again.guarantee.epsilon(1e-5) <= 1.6
    assert prepriv.spent().epsilon["replace-one"] <= 2.0


@pytest.mark.parametrize("method", ["same rows", TRIALS])
def test_models_of_targets_are_chosen_by_their_errors(method, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.random((3000, 2))
    domain = prepriv.Domain.box(0, 1, 2, target=prepriv.Numeric(-10, 10))
    good, bad = (GradientDescent(SquaredError(), steps=s, learning_rate=r) for s, r in ((30, 2.0), (2, 1e-3)))
    if method == TRIALS:
        monkeypatch.setattr(of_choose, "trial_numbers", lambda *_: [1, 0, 1, 0])
    made = choose([bad, good], X, 16 * X[:, 0] - 8, domain, epsilon=8.0, method=method)
    assert made.number == 1 and made.model_.predict(X).shape == (3000,)
    assert (
        made.plan.chosen.mechanism.score_range == 2 * score_steps(domain) == 2048
        if method != TRIALS
        else True
    )
    recorder = Recorder()
    choose([bad, good], X[:300], X[:300, 0], domain, epsilon=8.0, method=method, session=recorder)
    asked = [r for r in recorder.releases if r.name == "score"]
    worth = {call.sensitivity for call in recorder.calls if call.name == "score"}
    assert (len(asked) == 4 and worth == {1024 << 16}) if method == TRIALS else not asked
