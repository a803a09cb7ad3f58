"""Amplification by iteration: the taut string, attained chains, and the paper's Lemma 4 refuted."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from prepriv import guarantees as g
from prepriv.guarantees.iteration import last_iterate_mu, random_stopping, taut_string


def chain_mu(gains, shifts):
    """m of the last iterate of x' = gain·x + shift + N(0, 1), exactly: mean gap over deviation."""
    gap, variance = 0.0, 0.0
    for gain, shift in zip(gains, shifts):
        gap, variance = abs(gain) * gap + shift, gain * gain * variance + 1.0
    return gap / math.sqrt(variance)


def test_taut_string_is_the_least_norm_under_the_prefix_sums():
    rng = np.random.default_rng(0)
    for _ in range(30):
        s = rng.random(6) * rng.choice([0.0, 1.0, 5.0], size=6)
        a = taut_string(s)
        assert (np.cumsum(a) <= np.cumsum(s) + 1e-12).all() and a.sum() == pytest.approx(s.sum())
        assert (np.diff(a) >= -1e-12).all()
        best = minimize(
            lambda v: v @ v,
            s,
            jac=lambda v: 2 * v,
            constraints=[
                {"type": "ineq", "fun": lambda v, s=s: np.cumsum(s) - np.cumsum(v)},
                {"type": "eq", "fun": lambda v, s=s: v.sum() - s.sum()},
            ],
            bounds=[(0, None)] * 6,
        )
        assert a @ a <= best.fun * (1 + 1e-5) + 1e-9


def test_no_chain_of_contractions_beats_the_string():
    """Linear chains of gains in [−1, 1]: exact distance of the last iterates, hill-climbed over the gains."""
    rng = np.random.default_rng(1)
    best = 0.0
    for _ in range(300):
        steps = int(rng.integers(1, 8))
        s = rng.random(steps) * rng.choice([0.0, 1.0, 3.0], size=steps)
        if not s.any():
            continue
        bound = last_iterate_mu(s)
        for gains in [*rng.uniform(-1, 1, (10, steps)), np.ones(steps)]:
            assert chain_mu(gains, s) <= bound
        for cut in range(steps):  # forget everything before a step, then the identity
            gains = np.ones(steps)
            gains[cut] = 0.0
            assert chain_mu(gains, s) <= bound
            best = max(best, chain_mu(gains, s) / bound)
    assert best > 1 - 1e-9


def test_one_moved_step_is_attained_at_every_position():
    for steps, r in itertools.product((1, 4, 9), range(9)):
        if r >= steps:
            continue
        s = np.zeros(steps)
        s[r] = 2.0
        gains = np.ones(steps)
        gains[r] = 0.0
        assert last_iterate_mu(s) == pytest.approx(2.0 / math.sqrt(steps - r))
        assert chain_mu(gains, s) == pytest.approx(last_iterate_mu(s))


def test_paper_000_lemma_4_is_false_when_the_shift_comes_last():
    """κ differing rows with d = (0, …, 0, τ): claim 2αµ²τ²/(σ²κ) against αµ²τ²/(2σ²), 25 times too small at κ = 100."""
    kappa, tau = 100, 1.0
    s = np.zeros(kappa)
    s[-1] = tau
    attained = chain_mu(np.zeros(kappa), s) ** 2 / 2  # Rényi divergence over α
    claim = 2 * tau**2 / kappa
    assert attained / claim == pytest.approx(25.0)
    assert last_iterate_mu(s) ** 2 / 2 >= attained


@pytest.mark.parametrize(
    "total,step,rounding", [(0.0, 0.0, 0.0), (0.0, 0.0, 0.1), (0.6, 0.2, 0.0), (0.6, 5.0, 0.001)]
)
def test_random_stopping_holds_for_every_position_and_arrangement(total, step, rounding):
    """δ of each arrangement is the mean of δ_G over stops, each by its own taut string; M = 12."""
    rng = np.random.default_rng(2)
    m, record = 12, 0.9
    f = random_stopping(m, record, total=total, step=step, rounding=rounding)
    epsilon = np.array([0.0, 0.2, 1.0])
    bound, worst = f.delta(epsilon), 0.0
    per = min(step, total)
    for trial in range(200):
        s = np.full(m, rounding)
        if total:
            rows = round(total / per)
            where = rng.choice(m, rows, replace=per >= total)
            s[where] += per
            if trial % 3 == 0:
                s = np.sort(s)
        r = int(rng.integers(m)) if trial % 2 else 0
        s[r] += record
        mus = [last_iterate_mu(s[:t]) for t in range(1, m + 1)]
        delta = np.mean([g.gaussian(mu).delta(epsilon) for mu in mus], axis=0)
        assert (delta <= bound * (1 + 1e-9)).all()
        worst = max(worst, float(np.max(delta / bound)))
    assert worst > (0.999 if not total and not rounding else 0.5)


def test_random_stopping_groups_long_runs_upwards():
    for steps in (700, 5000):
        w = np.arange(1, steps + 1)
        epsilon = np.array([0.0, 0.05, 0.3])
        exact = np.mean([g.gaussian(0.5 / math.sqrt(k)).delta(epsilon) for k in w], axis=0)
        grouped = random_stopping(steps, 0.5).delta(epsilon)
        assert (grouped >= exact).all()
        assert grouped == pytest.approx(exact, rel=0.02)


def test_random_stopping_amplifies():
    alone = g.gaussian(0.5).epsilon(1e-5)
    assert random_stopping(1, 0.5).epsilon(1e-5) == pytest.approx(alone, rel=1e-9)
    assert random_stopping(60_000, 0.5).epsilon(1e-5) < alone / 10


def test_refusals():
    with pytest.raises(ValueError, match="steps"):
        random_stopping(0, 1.0)
    with pytest.raises(ValueError, match="shifts"):
        taut_string(np.array([-1.0]))
