"""Soft PCA: unconditional, tight to first order, exact per row."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from neighbouring import apply, blocks, claim_chain, incoming_shift, into_ball, measure, measure_chain
from test_deduplicate import crowd_of

from prepriv.domain import Domain
from prepriv.payment import Budget, Public, Sensitivity
from prepriv.preprocessing import base
from prepriv.preprocessing.deduplicate import Deduplicate
from prepriv.preprocessing.normalize import ClipNorm
from prepriv.preprocessing.pca import RankReduction
from prepriv.preprocessing.quantize import Quantize, QuantizeCells
from prepriv.preprocessing.soft_pca import SoftPCA, map_shift, weighted_shift
from prepriv.space import Space

BALL = Space.ball(3, 1.0)


def soft(strength, **options):
    return SoftPCA(strength, payment=Sensitivity(), **options)


def aligned_pair(n, strength):
    """Common rows at +-sqrt(lambda) e2, and a record that turns (e1 + e2)/sqrt2 into (e2 - e1)/sqrt2."""
    s1 = np.zeros((n, 3))
    s1[:, 1] = math.sqrt(strength) * np.where(np.arange(n) % 2, 1, -1)
    s2 = s1.copy()
    s1[0], s2[0] = [0.7071, 0.7071, 0], [-0.7071, 0.7071, 0]
    return s1, s2


@pytest.mark.parametrize("strength, design, ours", [(0.1, 2.2, 1.7), (0.03, 4.1, 3.1), (0.01, 7.1, 5.7)])
def test_price_on_the_papers_experiment(strength, design, ours):
    """1000 rows in the unit ball; R^2 / sqrt(2 lambda) is 2.2, 4.1, 7.1."""
    assert round(1 / math.sqrt(2 * strength), 1) == design
    assert soft(strength).sensitivity(Space.ball(6000, 1.0), n=1000).total_shift <= ours


@pytest.mark.parametrize("n", [10, 100, 1000, 10**6])
@pytest.mark.parametrize("strength", [1e-5, 1e-3, 0.1, 1.0, 30.0])
def test_never_above_the_bounds_of_the_design(n, strength):
    claim = soft(strength).sensitivity(BALL, n)
    assert claim.row_shift <= 1 / (n * strength + 1) * (1 + 1e-8) + 1e-7
    assert claim.total_shift <= min(1 / math.sqrt(2 * strength), 1 / strength) * (1 + 1e-6) + 1e-6
    assert claim.conditions == () and claim.rows_dropped == 0


@pytest.mark.parametrize("strength, least", [(0.1, 0.99), (0.03, 0.99), (0.01, 0.98), (0.001, 0.9)])
def test_total_shift_is_attained_to_first_order(strength, least):
    n = 20_000
    s1, s2 = aligned_pair(n, strength)
    claim = soft(strength).sensitivity(BALL, n)
    found = measure(soft(strength), BALL, s1, s2)
    assert found.within(claim) and found.total_shift >= least * claim.total_shift


@pytest.mark.parametrize("strength, least", [(0.03, 0.64), (0.01, 0.7)])
def test_centred_total_shift_is_nearly_attained(strength, least):
    """Common rows near one pole, spread by sqrt(lambda); the record crosses the ball."""
    n, best = 20_000, 0.0
    space, step = Space.ball(2, 1.0), soft(strength, centred=True)
    claim = step.sensitivity(space, n)
    for angle in (0.0, 0.1, 0.3, 0.7):
        spread = np.where(np.arange(n) % 2, 1, -1)[:, None] * math.sqrt(strength)
        pole = np.array([-1.0, 0.0])
        s1 = into_ball(spread * [math.cos(angle), math.sin(angle)] + pole)
        s2 = s1.copy()
        s1[0], s2[0] = [1, 0], pole
        found = measure(step, space, s1, s2)
        assert found.within(claim)
        best = max(best, found.total_shift / claim.total_shift)
    assert best > least


def test_map_shift_is_attained():
    """Nothing else in the direction of the record: one rank-one term of norm t / (n + t), t = R^2 / lambda."""
    n, strength = 50, 0.02
    z, other = np.diag([1.0, 0.0]) / n, np.diag([0.0, 0.5])
    f = lambda m: m @ np.linalg.inv(m + strength * np.eye(2))  # noqa: E731
    found = np.linalg.norm(f(other + z) - f(other), 2)
    assert found == pytest.approx(map_shift(1.0, strength, n, base.UNTOUCHED, centred=False), rel=1e-9)


def random_pair(rng, n, d, moved):
    """Neighbours whose common rows are moved a little, or not at all."""
    scale = np.exp(-rng.uniform(0, 4) * np.arange(d))
    s1 = into_ball(rng.normal(size=(n, d)) * scale * rng.choice([0.2, 1.0, 5.0]))
    if rng.random() < 0.3:
        s1 = s1[rng.integers(0, 2, n)]  # two sites only
    s2 = s1.copy()
    if moved:
        some = rng.random(n) < rng.random()
        s2 = into_ball(s2 + some[:, None] * rng.normal(size=(n, d)) * rng.choice([1e-3, 0.1, 1.0]))
    s1[0], s2[0] = into_ball(rng.normal(size=(2, d)) * 3)
    if rng.random() < 0.5:
        s2[0] = s1[0] * rng.choice([-1, 1], d)
    return s1, s2


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("moved", [False, True])
def test_random_neighbours_never_beat_it(centred, moved):
    rng = np.random.default_rng(5)
    best = 0.0
    for _ in range(250):
        n, d = int(rng.integers(2, 40)), int(rng.integers(1, 5))
        step, space = soft(10 ** rng.uniform(-4, 1), centred=centred), Space.ball(d, 1.0)
        s1, s2 = random_pair(rng, n, d, moved)
        claim = step.sensitivity(space, n, incoming_shift(s1, s2))
        found = measure(step, space, s1, s2)
        assert found.within(claim)
        best = max(best, found.total_shift / claim.total_shift)
    assert best > 0.15  # the attack is not asleep


def climb(rng, score, start, rounds):
    """Hill-climbing on an array of rows in the unit ball."""
    best, x, scale = score(start), start, 0.5
    for _ in range(rounds):
        trial = into_ball(x + scale * rng.normal(size=x.shape) * (rng.random(x.shape) < 0.3))
        value = score(trial)
        x, best, scale = (trial, value, scale * 1.2) if value > best else (x, best, max(scale * 0.97, 1e-3))
    return best


@pytest.mark.parametrize("centred", [False, True])
def test_hill_climbing_never_beats_it(centred):
    """Rows 0 and 1 are the two records; in exact arithmetic, against the bound without its rounding."""
    rng = np.random.default_rng(6)

    def maps(x):
        m = x.mean(axis=0) if centred else np.zeros(x.shape[1])
        moment = x.T @ x / len(x) - np.outer(m, m)
        return moment @ np.linalg.inv(moment + strength * np.eye(x.shape[1])), m

    def score(x):
        s1, s2 = x[1:], np.vstack([x[:1], x[2:]])
        (g1, m1), (g2, m2) = maps(s1), maps(s2)
        far = np.linalg.norm((x[2:] - m1) @ g1 + m1 - (x[2:] - m2) @ g2 - m2, axis=1)
        return (
            far.sum() / soft(strength, centred=centred).sensitivity(Space.ball(2, 1.0), len(s1)).total_shift
        )

    worst = 0.0
    for _ in range(6):
        strength = 10 ** rng.uniform(-2, 0)
        n = int(rng.integers(4, 60))
        worst = max(worst, climb(rng, score, into_ball(rng.normal(size=(n + 1, 2))), 250))
    assert 0.3 < worst <= 1.0


def test_a_planted_bug_would_be_found(monkeypatch):
    """With the weight of the second bound halved, the aligned pair beats the claim."""
    from prepriv.preprocessing import soft_pca

    monkeypatch.setattr(soft_pca, "weighted_shift", lambda *a: 0.9 * weighted_shift(*a))
    s1, s2 = aligned_pair(20_000, 0.01)
    assert not measure(soft(0.01), BALL, s1, s2).within(soft(0.01).sensitivity(BALL, 20_000))


def test_dropped_rows_count_as_zero_rows():
    rng = np.random.default_rng(7)
    for _ in range(100):
        n, strength = 12, 10 ** rng.uniform(-3, 0)
        s1 = into_ball(rng.normal(size=(n, 2)) * 2)
        s2 = s1.copy()
        s2[0] = into_ball(rng.normal(size=(1, 2)) * 3)[0]
        s2[1:4] = 0.0  # three rows that an earlier step dropped in one data set only
        for centred in (False, True):
            step = soft(strength, centred=centred)
            claim = step.sensitivity(Space.ball(2, 1.0), n, base.RowShift(rows_dropped=3.0))
            y1, _ = apply(step.fit_confidential(blocks(s1), Space.ball(2, 1.0), n), s1)
            y2, _ = apply(step.fit_confidential(blocks(s2), Space.ball(2, 1.0), n), s2)
            assert np.linalg.norm(y1 - y2, axis=1)[4:].sum() <= claim.total_shift
            assert claim.rows_dropped == 3.0


def clustered(m):
    return Sensitivity({"max_neighbors": m})


CHAINS = {
    "quantize, soft": lambda m, n: (Quantize(0.05, payment=clustered(m)), soft(0.05)),
    "deduplicate, soft": lambda m, n: (Deduplicate(0.05, payment=clustered(m)), soft(0.05)),
    "deduplicate, soft centred": lambda m, n: (
        Deduplicate(0.05, payment=clustered(m)),
        soft(0.05, centred=True),
    ),
    "soft, soft": lambda m, n: (soft(0.05), soft(0.5)),
    "soft, rank": lambda m, n: (soft(0.05), RankReduction(1, payment=Sensitivity())),
    "soft, cells, clip": lambda m, n: (soft(0.05), QuantizeCells(0.02), ClipNorm(0.4)),
    "quantize, deduplicate": lambda m, n: (
        Quantize(0.05, payment=clustered(m)),
        Deduplicate(0.001, payment=clustered(n)),
    ),
    "quantize, soft, soft": lambda m, n: (Quantize(0.05, "mean", payment=clustered(m)), soft(0.1), soft(0.1)),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains_never_beat_what_they_declare(name):
    """Clusters beside single rows; the record comes and goes between them."""
    rng = np.random.default_rng(11)
    best = 0.0
    for _ in range(120):
        n = int(rng.integers(6, 40))
        sites = into_ball(rng.normal(size=(4, 2)))
        s1 = into_ball(
            sites[rng.integers(0, 4, n)] + rng.normal(size=(n, 2)) * rng.choice([0, 0.01, 0.03, 0.3])
        )
        s2 = s1.copy()
        s1[0], s2[0] = into_ball(rng.normal(size=(2, 2)) * 3)
        if rng.random() < 0.5:
            s2[0] = into_ball(s1[1] + rng.normal(size=2) * 0.1)
        steps = CHAINS[name](max(crowd_of(s, Space.ball(2, 1.0), 0.05) for s in (s1, s2)), n)
        claim, found = (
            claim_chain(steps, Space.ball(2, 1.0), n),
            measure_chain(steps, Space.ball(2, 1.0), s1, s2),
        )
        assert found.within(claim)
        best = max(best, found.total_shift / max(claim.total_shift, 1e-9), found.rows_dropped / n)
    assert best > 0.02


def test_fit_agrees_with_fifty_digits():
    rng = np.random.default_rng(8)
    x = np.trunc(into_ball(rng.normal(size=(30, 4)) * 0.4) * 2**20) / 2**20  # on the grid: no cut
    strength = 1e-4
    with mpmath.workdps(50):
        rows = mpmath.matrix(x.tolist())
        moment = rows.T * rows / 30
        exact = moment * mpmath.inverse(moment + mpmath.mpf(strength) * mpmath.eye(4))
        expected = np.array((rows * exact.T).tolist(), dtype=float)
    fitted = soft(strength).fit_confidential(blocks(x), Space.ball(4, 1.0), 30)
    allowed = 8 * 8 * 2.0**-52 * 4 * (1 + 1 / strength)
    assert np.abs(apply(fitted, x)[0] - expected).max() <= allowed


@pytest.mark.parametrize("centred", [False, True])
def test_a_row_has_the_same_bits_in_any_block(centred):
    rng = np.random.default_rng(9)
    x = into_ball(rng.normal(size=(300, 40)))
    space = Space.ball(40, 1.0)
    fitted = soft(0.01, centred=centred).fit_confidential([x], space, 300)
    again = soft(0.01, centred=centred).fit_confidential(blocks(x[::-1], 11), space, 300)
    whole = fitted.transform(x)
    order = rng.permutation(300)
    assert (fitted.transform(x[order]) == whole[order]).all()
    assert (np.vstack([fitted.transform(row[None]) for row in x]) == whole).all()
    assert (fitted.transform(np.asfortranarray(x)[3:50]) == whole[3:50]).all()
    assert (again.transform(x) == whole).all()  # the sums are exact: no order of rows changes the fit


def test_output_stays_in_the_declared_space():
    rng = np.random.default_rng(10)
    x = into_ball(rng.normal(size=(50, 3)) * 4) * 2.0
    space = Space.ball(3, 2.0)
    for centred in (False, True):
        step = soft(0.5, centred=centred)
        y = step.fit_confidential([x], space, 50).transform(x)
        assert np.linalg.norm(y, axis=1).max() <= step.output(space).radius * (1 + 1e-12)
    assert soft(0.5).output(space).radius == pytest.approx(2.0 * 4 / 4.5)


def test_scale_of_the_data_does_not_matter():
    one = soft(0.01).sensitivity(Space.ball(3, 1.0), 500)
    ten = soft(1.0).sensitivity(Space.ball(3, 10.0), 500)
    assert ten.total_shift == pytest.approx(10 * one.total_shift, rel=1e-9)
    assert ten.row_shift == pytest.approx(10 * one.row_shift, rel=1e-9)


def test_refusals():
    for strength in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="strength"):
            soft(strength)
    for payment in (Public(), Budget()):
        with pytest.raises(ValueError, match="PCA"):
            SoftPCA(0.1, payment=payment)
    missing = Domain.box(0, 1, 3, [0, 1], missing="impute").space
    with pytest.raises(ValueError, match="imputation"):
        soft(0.1).sensitivity(missing, 10)


def test_a_row_that_does_not_fit_counts_as_zero_and_fails_nothing():
    x = np.array([[0.5, 0.5], [np.nan, 0.0], [np.inf, 1.0], [3.0, 4.0]])
    y = soft(0.1).fit_confidential([x], Space.ball(2, 1.0), 4).transform(x)
    assert np.isfinite(y).all() and (y[1:] == 0).all() and (y[0] != 0).all()
