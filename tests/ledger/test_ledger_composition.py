"""The sums a ledger keeps are valid when plans are chosen adaptively; the PLD crossing is not.

The other half of docs/proofs/ledger.md: exact enumeration of adaptive games, independent of the proofs.
"""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

Pair = list[tuple[float, float]]  # (probability under S, under S') of every outcome


def worst_pair(epsilon: float, delta: float) -> Pair:
    """The dominating pair of (epsilon, delta)-DP (Kairouz, Oh and Viswanath 2015)."""
    e = math.exp(epsilon)
    high, low = (1 - delta) * e / (1 + e), (1 - delta) / (1 + e)
    return [(delta, 0.0), (high, low), (low, high), (0.0, delta)]


def play(strategy, budget, p=1.0, q=1.0) -> Pair:
    """Every transcript of an adversary who picks the next cost from the transcript so far.

    strategy(p, q, budget) -> (epsilon, delta) within budget, or None to stop.
    """
    step = strategy(p, q, budget)
    if step is None:
        return [(p, q)]
    left = (budget[0] - step[0], budget[1] - step[1])
    return [leaf for a, b in worst_pair(*step) for leaf in play(strategy, left, p * a, q * b)]


def hockey_stick(pair: Pair, epsilon: float) -> float:
    return sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in pair)


def test_the_basic_sum_covers_every_adaptive_game():
    draw, tightest = random.Random(1), 0.0
    for _ in range(400):
        cap = (draw.uniform(0.1, 3.0), draw.uniform(0.0, 0.3))
        habits = [draw.uniform(-1, 1) for _ in range(4)]

        def strategy(p, q, budget, cap=cap, habits=habits):
            loss = math.copysign(9, p - q) if min(p, q) == 0 else math.log(p / q)
            if budget[0] < 0.1 * cap[0] or loss * habits[0] > 1:
                return None
            share = 1 / (1 + math.exp(habits[1] + habits[2] * loss))
            return (budget[0] * max(share, 0.3), budget[1] * (share if habits[3] * loss > 0 else 0.5))

        pair = play(strategy, cap)
        assert sum(p for p, _ in pair) == pytest.approx(1)
        assert hockey_stick(pair, cap[0]) <= cap[1] + 1e-12
        assert hockey_stick([(q, p) for p, q in pair], cap[0]) <= cap[1] + 1e-12
        tightest = max(tightest, hockey_stick(pair, cap[0] * 0.8))
    assert tightest > 0.05, "the games are too weak to break anything"


def test_the_zcdp_sum_covers_adaptive_games_at_every_order():
    """Randomized response with epsilon is epsilon^2/2-zCDP (Bun and Steinke 2016, Proposition 1.4)."""
    draw = random.Random(2)
    for _ in range(200):
        cap, habit = draw.uniform(0.05, 1.0), draw.uniform(-2, 2)

        def transcripts(left, p, q, depth, habit=habit):
            loss = math.log(p / q)
            if depth == 0 or loss * habit > 2:
                return [(p, q)]
            rho = left / (1 + math.exp(habit * loss))
            leaves = [(a, b) for a, b in worst_pair(math.sqrt(2 * rho), 0.0) if a > 0]
            return [leaf for a, b in leaves for leaf in transcripts(left - rho, p * a, q * b, depth - 1)]

        pair = np.array(transcripts(cap, 1.0, 1.0, 5))
        for order in (1.1, 2.0, 8.0, 40.0):
            moment = np.log(np.sum(pair[:, 0] ** order * pair[:, 1] ** (1 - order))) / (order - 1)
            assert moment <= order * cap + 1e-9


def gaussian_delta(mu, epsilon):
    """delta(epsilon) of mu-GDP, for any real epsilon (Dong, Roth and Su 2022, Corollary 2.13)."""
    if np.ndim(mu) == 0 and mu == 0:
        return max(0.0, 1 - math.exp(epsilon))
    return norm.cdf(-epsilon / mu + mu / 2) - np.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)


@pytest.mark.parametrize("second", ["all that is left", "only when it looks bad", "more when it looks bad"])
def test_the_gdp_sum_covers_a_second_mechanism_chosen_from_the_first(second):
    """First x ~ N(0 or m, 1), then a Gaussian of mu(x) with m^2 + mu(x)^2 <= cap^2; integrated over x."""
    cap, m = 1.2, 0.7
    left = math.sqrt(cap**2 - m**2)
    x = np.linspace(-12, 13, 200_001)
    loss = m * x - m * m / 2
    mu = {
        "all that is left": np.full_like(x, left),
        "only when it looks bad": np.where(loss > 0, left, 1e-9),
        "more when it looks bad": np.clip(left / (1 + np.exp(-3 * loss)), 1e-9, left),
    }[second]
    for epsilon in (0.0, 0.5, 1.0, 2.0, 4.0):
        adaptive = trapezoid(norm.pdf(x, loc=m) * gaussian_delta(mu, epsilon - loss), x)
        bound = gaussian_delta(cap, epsilon)
        assert adaptive <= bound + 1e-9
        if second == "all that is left":
            assert adaptive == pytest.approx(bound, abs=1e-7)


def test_a_pld_crossing_filter_is_broken_by_an_adaptive_choice():
    """Each branch composes to delta, and the adaptive whole has 4/3 delta: why "pld" is no ledger unit.

    Exact rationals, at epsilon = log 4. First: randomized response with e^epsilon = 2. If it says yes: a
    randomized response with e^epsilon = 8, run with probability t. If no: a full leak with probability delta.
    """
    delta = Fraction(1, 1000)
    t = delta * 9 / 4
    first = [(Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3))]
    after_yes = [(t * 8 / 9, t / 9), (t / 9, t * 8 / 9), (1 - t, 1 - t)]
    after_no = [(delta, Fraction(0)), (Fraction(0), delta), (1 - delta, 1 - delta)]

    def delta_at_log_4(pair):
        both = pair, [(q, p) for p, q in pair]
        return max(sum(max(p - 4 * q, Fraction(0)) for p, q in one) for one in both)

    def product(one, other):
        return [(a * c, b * d) for a, b in one for c, d in other]

    assert delta_at_log_4(product(first, after_yes)) == delta
    assert delta_at_log_4(product(first, after_no)) == delta
    adaptive = product(first[:1], after_yes) + product(first[1:], after_no)
    assert delta_at_log_4(adaptive) == delta * 4 / 3
