"""Smooth Renyi DP: Table 1 of Provable Privacy with Non-Private Pre-Processing corrected, its lemmas and Theorem 2, attacked."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from scipy.integrate import trapezoid

from prepriv import guarantees as g
from prepriv.guarantees import smooth_mechanisms as mechanisms
from prepriv.guarantees import smooth_renyi as smooth
from prepriv.guarantees.renyi import RenyiCurve

ORDERS = (1.3, 2.0, 5.0, 20.0)


def normal_renyi(weights_p, means_p, weights_q, means_q, order):
    """Renyi divergence of two unit Gaussian mixtures by quadrature on a fine grid."""
    x = np.linspace(-14, 14 + max(*means_p, *means_q), 60_001)
    log_p = np.logaddexp.reduce(
        [np.log(w) - 0.5 * (x - m) ** 2 for w, m in zip(weights_p, means_p) if w], axis=0
    )
    log_q = np.logaddexp.reduce(
        [np.log(w) - 0.5 * (x - m) ** 2 for w, m in zip(weights_q, means_q) if w], axis=0
    )
    moment = trapezoid(np.exp(order * log_p + (1 - order) * log_q), x) / math.sqrt(2 * math.pi)
    return math.log(moment) / (order - 1)


# ---- Table 1 ------------------------------------------------------------------------------------------
def test_gaussian_row():
    m = mechanisms.gaussian_mechanism(0.4, lipschitz=3.0, sensitivity=2.0)
    assert m.renyi(7.0) == pytest.approx(7 * 0.4**2 / 2, rel=1e-12)
    assert m.smooth(7.0, 0.5) == pytest.approx(7 * (3.0 * 0.5 * 0.4 / 2.0) ** 2 / 2, rel=1e-12)


def test_laplace_and_exponential_rows_are_below_the_paper_and_above_the_truth():
    laplace = mechanisms.laplace_mechanism(0.8, lipschitz=1.0, sensitivity=2.0)
    choice = mechanisms.exponential_mechanism(0.8, lipschitz=1.0, sensitivity=2.0)
    for order in ORDERS:
        assert g.laplace(0.8)._renyi(order) <= laplace.renyi(order) <= 0.8
        assert g.laplace(0.2)._renyi(order) <= laplace.smooth(order, 0.5) <= 0.2
        assert choice.renyi(order) <= 0.8 and choice.smooth(order, 0.5) <= min(
            0.2, 0.2**2 * order / 8 * 1.001
        )
        assert choice.smooth(order, 0.5) <= 0.2**2 * order / 8 * 1.001
    assert laplace.smooth(math.inf, 0.5) == pytest.approx(0.2)


def test_full_batch_row_is_table_1_and_four_times_theorem_13():
    """n = 100, T = 50, L = 1, eps = 0.7: linear losses attain 0.98 alpha; Theorem 13 says 0.245 alpha."""
    n, steps, epsilon, mu = 100, 50, 0.7, 2.0
    noise = math.sqrt(steps) / (epsilon * n)
    m = mechanisms.full_batch_gradient(lipschitz=1.0, smoothness=mu, noise=noise, n=n, steps=steps)
    attained = steps * (2.0 / n) ** 2 / (2 * noise**2)  # gradients +1 and -1, order 1
    assert attained == pytest.approx(0.98)
    assert m.renyi(1.0000001) == pytest.approx(attained, rel=1e-6)
    assert epsilon**2 / 2 == pytest.approx(0.245)
    assert m.smooth(3.0, 0.6) == pytest.approx(3 * mu**2 * 0.6**2 * epsilon**2 / 2, rel=1e-12)


def test_sampled_row_against_dp_accounting_and_in_the_papers_terms():
    q, orders = 0.02, [2.0, 3.0, 8.0, 32.0]
    m = mechanisms.sampled_gradient(
        lipschitz=0.5, smoothness=2.0, noise=1.5, n=1000, batch=20, steps=1, row_shift=0.01
    )
    theirs = rdp_privacy_accountant._compute_rdp_sample_wor_gaussian(q, 1.5, orders)
    ratio = np.array([m.renyi(a) for a in orders]) / theirs  # theirs adds a refinement of the same theorem
    assert np.all(ratio >= 1 - 1e-9) and np.all(ratio < 1.02)
    assert m.smooth(3.0, 1.0) == pytest.approx(
        3 * (2.0 * 20 * 0.01 / 1.5) ** 2 / 2, rel=1e-12
    )  # a full batch
    assert m.smooth(3.0, 0.1) == pytest.approx(3 * (2.0 * 0.1 / 1.5) ** 2 / 2, rel=1e-12)  # all that moves
    # gamma = n/k, row_shift = tau gamma / n, one record a batch, noise = L sqrt(T)/(eps n)
    n, steps, epsilon, tau, gamma = 500, 40, 0.9, 2.0, 4.0
    noise = math.sqrt(steps) / (epsilon * n)
    one = mechanisms.sampled_gradient(
        lipschitz=1.0, smoothness=1.5, noise=noise, n=n, batch=1, steps=steps, row_shift=tau * gamma / n
    )
    assert one.smooth(5.0, tau) == pytest.approx(5 * 1.5**2 * tau**2 * epsilon**2 * gamma**2 / 2, rel=1e-9)


def test_sampling_bound_is_above_the_mixture_a_sample_makes():
    """One step, one record replaced: (1-q) N(0) + q N(+L) against (1-q) N(0) + q N(-L)."""
    for q, shift in ((0.1, 0.5), (0.3, 1.0)):
        curve = mechanisms.subsampled_without_replacement(g.zcdp(0.5 * (2 * shift) ** 2), q)
        for order in (1.5, 2.0, 3.5, 6.0):
            truth = normal_renyi([1 - q, q], [0.0, shift], [1 - q, q], [0.0, -shift], order)
            assert truth <= curve(order)
            assert curve(order) <= g.zcdp(2 * shift**2)(order) * (1 + 1e-12)


# ---- one pass with a random stop ----------------------------------------------------------------------
def chain_moments(contraction, moved, mu, std):
    """Exact m_T for theta -> c theta + eta mu x_t + eta N(0, std^2), at every stop T."""
    shift = variance = 0.0
    result = []
    for d in moved:
        shift = contraction * shift + mu * d
        variance = contraction**2 * variance + std**2
        result.append(abs(shift) / math.sqrt(variance))
    return np.array(result)


def test_lemma_4_of_the_paper_is_false_and_ours_is_not():
    """kappa = 100 differing rows, the whole shift on the last: 25 times the paper's claim."""
    kappa, mu, std, tau = 100, 1.0, 5.0, 1.0
    moved = np.zeros(kappa)
    moved[-1] = tau
    order = 2.0
    attained = order * chain_moments(0.0, moved, mu, std)[-1] ** 2 / 2  # eta = 1/mu: the past is forgotten
    printed = 2 * order * mu**2 * tau**2 / (std**2 * kappa)
    assert attained / printed == pytest.approx(25.0)
    m = mechanisms.one_pass_gradient(lipschitz=1.0, smoothness=mu, noise=std, last=1, row_shift=tau)
    assert m.smooth(order, tau) >= attained * (1 - 1e-12)


def test_one_pass_bound_survives_an_attack_on_linear_chains():
    """Any contraction, any spread of the shift (hill-climbing), stop revealed: never above the bound."""
    rng = np.random.default_rng(3)
    mu, std, last = 1.0, 2.0, 12
    best = 0.0
    for order, tau in itertools.product((1.5, 3.0), (0.5, 3.0)):
        m = mechanisms.one_pass_gradient(lipschitz=1.0, smoothness=mu, noise=std, last=last)

        def attained(contraction, weights, a=order, t=tau):
            moments = chain_moments(contraction, t * weights / weights.sum(), mu, std)
            return math.log(np.mean(np.exp(0.5 * a * (a - 1) * moments**2))) / (a - 1)

        for _ in range(12):
            weights, contraction = rng.dirichlet(np.full(last, 0.3)), float(rng.choice([0.0, 0.6, 1.0, -1.0]))
            value = attained(contraction, weights)
            for _ in range(80):
                trial = np.abs(weights * np.exp(0.5 * rng.normal(size=last))) + 1e-6 * rng.uniform(size=last)
                moved = float(np.clip(contraction + 0.1 * rng.normal(), -1, 1))
                if attained(moved, trial) > value:
                    weights, contraction, value = trial, moved, attained(moved, trial)
            assert value <= m.smooth(order, tau) * (1 + 1e-12)
            best = max(best, value / m.smooth(order, tau))
    assert best > 0.95  # one row moved at the first step of a translation attains it


def test_one_pass_row_cap_and_replaced_record():
    m = mechanisms.one_pass_gradient(lipschitz=1.0, smoothness=2.0, noise=4.0, last=50, row_shift=0.01)
    free = mechanisms.one_pass_gradient(lipschitz=1.0, smoothness=2.0, noise=4.0, last=50)
    assert m.smooth(3.0, 1.0) == pytest.approx(3 * 4 * 0.01 / (2 * 16), rel=1e-9)
    assert m.smooth(3.0, 1.0) < free.smooth(3.0, 1.0)
    stops = np.arange(1, 51)
    truth = math.log(np.mean(np.exp(0.5 * 3 * 2 * (2 / 4.0) ** 2 / stops))) / 2
    assert m.renyi(3.0) == pytest.approx(truth, rel=1e-9) and m.renyi(3.0) >= truth
    assert m.renyi(math.inf) == math.inf and m.smooth(2.0, 0.0) == 0.0


def test_random_stop_in_blocks_is_above_the_sum_and_close():
    last, size = 30_000, 1.3
    terms = 0.5 * 2.5 * 1.5 * size**2 / np.arange(1, last + 1)
    truth = math.log1p(math.fsum(np.expm1(terms)) / last) / 1.5
    assert truth <= mechanisms.random_stop_renyi(size, last)(2.5) <= truth * 1.001


# ---- lemmas and definitions -----------------------------------------------------------------------------
def test_lemma_1_composition_adds():
    one = mechanisms.gaussian_mechanism(0.5, lipschitz=1.0, sensitivity=1.0).smooth
    two = mechanisms.laplace_mechanism(0.5, lipschitz=1.0, sensitivity=1.0).smooth
    assert one.compose(3)(2.0, 0.4) == pytest.approx(3 * one(2.0, 0.4))
    assert one.compose(two)(2.0, 0.4) == pytest.approx(one(2.0, 0.4) + two(2.0, 0.4))


@pytest.mark.parametrize("n, batch", [(6, 1), (5, 2), (40, 3), (1, 2)])
def test_lemma_3_against_the_exact_mixture_with_replacement(n, batch):
    """One record moves by tau and may be drawn several times; the sum is released with noise 1."""
    curve = mechanisms.gaussian_mechanism(1.0, lipschitz=1.0, sensitivity=1.0).smooth.subsampled(n, batch)
    counts = np.arange(batch + 1)
    chance = np.array([math.comb(batch, int(c)) * (1 / n) ** c * (1 - 1 / n) ** (batch - c) for c in counts])
    for tau, order in itertools.product((0.1, 0.4), (1.5, 2.0, 4.0)):
        forth = normal_renyi(chance, counts * tau, [1.0], [0.0], order)
        back = normal_renyi([1.0], [0.0], chance, counts * tau, order)
        assert max(forth, back) <= curve(order, tau) * (1 + 1e-9)


def test_lemma_3_gains_for_many_records_and_never_loses_to_the_worst_batch():
    base = mechanisms.gaussian_mechanism(1.0, lipschitz=1.0, sensitivity=1.0).smooth
    assert base.subsampled(10_000, 1)(2.0, 0.5) < 0.1 * base(2.0, 0.5)
    assert base.subsampled(3, 3)(2.0, 0.5) <= base(2.0, 1.5) * (1 + 1e-12)
    assert base.subsampled(10_000, 1)(2.0, 50.0) == base(2.0, 50.0)  # too large for weak convexity


def test_remark_1_the_weaker_lemma_costs_a_power_of_n():
    """Per step at noise L sqrt(T)/(eps n): Lemma 3 is far above Definition 7 with gamma = 1."""
    n, tau = 10_000, 1e-3
    per_record = mechanisms.gaussian_mechanism(n * 0.01, lipschitz=1.0, sensitivity=1.0)
    strong = per_record.smooth(2.0, tau / n)
    weak = per_record.smooth.subsampled(n, 1)(2.0, tau)
    assert weak > 100 * strong


def test_definition_7():
    assert smooth.inverse_pointwise_distance([1.0, 1.0, 1.0, 1.0]) == 1.0
    assert smooth.inverse_pointwise_distance([0.0, 2.0, 0.0, 0.0]) == 4.0
    assert smooth.inverse_pointwise_distance([0.0, 0.0]) == 1.0
    assert smooth.inverse_pointwise_distance([1.0, 0.5, 0.5, 0.0]) == 2.0
    with pytest.raises(ValueError, match="shifts must be a list"):
        smooth.inverse_pointwise_distance([[1.0]])


def test_definition_8():
    pairs = [[0.1, 0.1, 0.1], [2.0, 2.0, 2.0, 2.0], [0.0, 0.5, 0.0]]
    assert smooth.largest_distance(pairs, 1.0) == 3
    assert smooth.largest_distance(pairs, 0.05) == 0
    assert smooth.largest_distance(pairs, 100.0) == 4


# ---- Theorem 2 ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("a, b", [(1.0, 1.0), (0.3, 2.0), (2.0, 0.01)])
def test_theorem_2_closed_form_is_the_least_over_c_and_is_attained(a, b):
    plain, shifted = g.gaussian_renyi(a), g.gaussian_renyi(b)
    closed = smooth.with_preprocessing(plain, shifted)
    hidden = smooth.with_preprocessing(RenyiCurve(plain.function), RenyiCurve(shifted.function))
    for order in ORDERS:
        attained = order * (a + b) ** 2 / 2  # N(0), N(b), N(a + b) on a line
        assert closed(order) == pytest.approx(attained, rel=1e-12) and closed(order) >= attained
        assert attained <= hidden(order) <= attained * (1 + 1e-6)
        for c in (1.01, 1.3, 2.0, 7.0, 100.0):
            assert smooth.with_preprocessing(plain, shifted, c=c)(order) >= attained * (1 - 1e-12)


def test_the_papers_c_is_loose_and_its_constant_needs_order_11():
    plain, shifted = g.gaussian_renyi(1.0), g.gaussian_renyi(1.0)
    fixed = smooth.with_preprocessing(plain, shifted, c=2.0)
    for order in (11.0, 30.0):
        assert fixed(order) <= 1.05 * order * 2 * (1 + 1e-12)
    printed = smooth.paper_theorem_2(plain, g.zcdp(0.0))(5.0)
    assert printed == pytest.approx(1.125 * 5.0) and printed > 1.05 * 5.0
    for order in ORDERS:
        assert smooth.paper_theorem_2(plain, shifted)(order) >= fixed(order)
    small = g.gaussian_renyi(0.1)
    loose = smooth.with_preprocessing(plain, small, c=2.0)(11.0)
    assert loose / smooth.with_preprocessing(plain, small)(11.0) > 1.5


def test_theorem_2_for_laplace_noise_is_above_the_truth_and_ends_at_the_sum():
    m = mechanisms.laplace_mechanism(1.0, lipschitz=1.0, sensitivity=1.0)
    both = m.preprocessed(0.5)
    for order in ORDERS:
        assert g.laplace(1.5)._renyi(order) <= both(order) <= 1.5
    assert both(math.inf) == pytest.approx(1.5)
    assert g.laplace(1.5).epsilon(1e-5) <= both.epsilon(1e-5) <= 1.5 * (1 + 1e-9)


def test_theorem_2_beats_group_privacy_when_shifts_are_small():
    m = mechanisms.full_batch_gradient(lipschitz=1.0, smoothness=1.0, noise=0.1, n=1000, steps=100)
    moved, shift = 200, 2.0
    route, group = m.preprocessed(shift), m.renyi.group(moved + 1)
    assert route.epsilon(1e-5) < 0.1 * group.epsilon(1e-5)
    # and the direct analysis, sum of both shifts as one Gaussian, is never above the route
    direct = g.gdp_epsilon(math.sqrt(100) * (2.0 + shift) / (1000 * 0.1), 1e-5)
    assert direct <= route.epsilon(1e-5)


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: mechanisms.gaussian_mechanism(1.0, lipschitz=1.0, sensitivity=0.0), "sensitivity"),
        (lambda: mechanisms.full_batch_gradient(lipschitz=1, smoothness=1, noise=0.0, n=1, steps=1), "noise"),
        (lambda: mechanisms.full_batch_gradient(lipschitz=1, smoothness=1, noise=1.0, n=0, steps=1), "n "),
        (
            lambda: mechanisms.sampled_gradient(
                lipschitz=1, smoothness=1, noise=1, n=5, batch=6, steps=1, row_shift=1
            ),
            "batch",
        ),
        (lambda: smooth.with_preprocessing(g.zcdp(1), g.zcdp(1), c=1.0), "c "),
        (lambda: mechanisms.laplace_mechanism(1, lipschitz=1, sensitivity=1).preprocessed(-1.0), "shift"),
        (lambda: mechanisms.subsampled_without_replacement(g.zcdp(1), 1.5), "rate"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value).startswith(name)
