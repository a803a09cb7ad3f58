"""Composition against enumeration, closed forms, exact binomials and dp-accounting."""

import math
from dataclasses import dataclass
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.fft import irfft, rfft
from tests.guarantees.oracles import hockey_stick, product_pairs

from prepriv import guarantees as g
from prepriv.guarantees import convolution
from prepriv.guarantees.lines import LossAtoms
from prepriv.guarantees.subsampling import PoissonAdd, PoissonRemove
from prepriv.guarantees.tradeoff import TradeoffFunction

EPSILONS = np.array([0.0, 0.05, 0.3, 1.0, 2.2, 4.0])


@dataclass(frozen=True)
class Plain(TradeoffFunction):
    """A Gaussian that composition does not know to be one; with or without its own atoms."""

    mu: float
    own_atoms: bool

    def _delta(self, epsilon):
        return g.gaussian(self.mu)._delta(epsilon)

    def inverse(self):
        return self

    def _loss_atoms(self):
        return g.gaussian(self.mu)._loss_atoms() if self.own_atoms else None


def binomial_delta(epsilon0: float, k: int, epsilon: float) -> mp.mpf:
    """k-fold randomized response, exactly."""
    with mp.workdps(40):
        e0 = mp.mpf(epsilon0)
        total = mp.mpf(0)
        term = (1 + mp.exp(-e0)) ** -k  # all k answers truthful
        for lies in range(k + 1):
            loss = (k - 2 * lies) * e0
            if loss <= epsilon:
                break
            total += term * (1 - mp.exp(mp.mpf(epsilon) - loss))
            term *= mp.exp(-e0) * (k - lies) / (lies + 1)
        return total


def test_gaussian_parts_compose_in_closed_form():
    f = g.gaussian(0.3).compose(7)
    assert f.mu == pytest.approx(0.3 * math.sqrt(7), rel=1e-14) and f.mu**2 >= 7 * 0.3**2
    assert g.gaussian(3.0).compose(g.gaussian(4.0)).mu == pytest.approx(5.0, rel=1e-14)
    nested = g.gaussian(3.0).compose(g.laplace(1.0)).compose(g.gaussian(4.0))
    assert sorted(type(part).__name__ for part, _ in nested.parts) == ["Gaussian", "Laplace"]
    again = g.laplace(0.1).compose(g.gaussian(1.0)).compose(4)
    assert dict((type(part).__name__, (part, uses)) for part, uses in again.parts)["Laplace"][1] == 4
    assert next(part for part, _ in again.parts if hasattr(part, "mu")).mu == pytest.approx(2.0, rel=1e-14)
    assert g.laplace(0.5).compose(1) is not None and g.laplace(0.5).compose(1).epsilon0 == 0.5


@pytest.mark.parametrize("mu, k", [(1.0, 2), (1.0, 10), (0.05, 1000), (0.01, 10_000), (5.0, 3)])
@pytest.mark.parametrize("own_atoms", [True, False])
def test_grid_composition_of_gaussians_is_above_the_closed_form_and_close(mu, k, own_atoms):
    composed, exact = Plain(mu, own_atoms).compose(k), g.gaussian(mu * math.sqrt(k))
    for delta in (0.1, 1e-3, 1e-6, 1e-9, 1e-12):
        truth = exact.epsilon(delta)
        assert truth * (1 - 1e-9) <= composed.epsilon(delta) <= truth * (1 + 3e-5) + 1e-9
    epsilons = EPSILONS * exact.mu
    assert np.all(composed.delta(epsilons) >= exact.delta(epsilons) * (1 - 1e-9))
    alphas = np.linspace(0, 1, 21)
    assert np.all(composed(alphas) <= exact(alphas) + 1e-12)
    assert np.max(exact(alphas) - composed(alphas)) < 2e-5


def test_losses_beyond_the_range_of_exp_compose():
    """mu = 40 has losses up to 1,160: knots of the lines underflow unless they are kept as logarithms."""
    composed, exact = Plain(40.0, True).compose(2), g.gaussian(40.0 * math.sqrt(2))
    for delta in (0.1, 1e-6, 1e-10):
        assert exact.epsilon(delta) <= composed.epsilon(delta) <= exact.epsilon(delta) * (1 + 1e-4)


@pytest.mark.parametrize("epsilon0, k", [(0.1, 1000), (1.0, 20), (3.0, 4), (0.01, 3000)])
def test_randomized_response_composes_to_a_binomial(epsilon0, k):
    f = g.randomized_response(epsilon0).compose(k)
    spread = epsilon0 * math.sqrt(k)
    for epsilon in (0.0, 0.4 * spread, spread, 2.5 * spread, 4.0 * spread):
        truth = binomial_delta(epsilon0, k, epsilon)
        assert f.delta(epsilon) >= truth
        assert f.delta(epsilon) <= float(truth) * (1 + 1e-5) + 1e-15
    assert f.delta(k * epsilon0 * 1.0000001) == 0.0


def test_asymmetric_pairs_against_enumeration_in_both_orders():
    rng = np.random.default_rng(2)
    for trial in range(4):
        pairs = [tuple(rng.dirichlet(np.full(3, 0.8), 2)) for _ in range(3)]
        if trial % 2:  # outcomes that only one of the two can produce
            pairs[0] = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.6, 0.4])
        f, h, l = (g.discrete_pair(*pair) for pair in pairs)
        for parts, members in (
            ([(f, 2)], [0, 0]),
            ([(f, 3)], [0] * 3),
            ([(f, 1), (h, 2), (l, 1)], [0, 1, 1, 2]),
        ):
            composed = g.compose(parts, interval=1e-3)
            p, q = product_pairs([pairs[i] for i in members])
            for epsilon in (*EPSILONS, -0.7):
                truth, back = hockey_stick(q, p, epsilon), hockey_stick(p, q, epsilon)
                assert truth - 1e-15 <= composed.delta(epsilon) <= truth + 5e-5
                assert back - 1e-15 <= composed.inverse().delta(epsilon) <= back + 5e-5
            assert composed.delta(0.3) == g.compose(parts, interval=1e-3).delta(0.3)


@pytest.mark.parametrize("chances", [[(1e-6, 1)], [(0.03, 1), (0.1, 3)]], ids=str)
@pytest.mark.parametrize("base", [g.gaussian(0.7), g.laplace(0.5), g.approximate_dp(1.0, 0.01)], ids=repr)
def test_a_chance_that_all_is_told_beside_one_part(base, chances, monkeypatch):
    parts = [(base, 1), *((g.approximate_dp(0.0, chance), uses) for chance, uses in chances)]
    closed = g.compose(parts)
    told = float(1 - math.prod((1 - Fraction(chance)) ** uses for chance, uses in chances))
    at = np.array([0.0, 0.1, 0.4, 1.0, 3.0])
    exact = told + (1 - told) * base.delta(at)
    assert np.all(exact * (1 - 1e-15) <= closed.delta(at)) and np.all(closed.delta(at) <= exact * (1 + 1e-9))
    alpha = np.linspace(0.001, 0.999, 9)
    kept = np.minimum(alpha / (1 - told), 1.0)
    curve = (1 - told) * base(kept)
    assert np.all(closed(alpha) <= curve + 1e-12) and np.all(closed(alpha) >= curve - 1e-4)
    assert np.all(closed.inverse()(alpha) <= curve + 1e-12)
    monkeypatch.setattr(type(closed), "_told", None)  # by the grid: larger, and hardly
    grid = g.compose(parts)
    assert np.all(closed.delta(at) <= grid.delta(at)) and np.all(grid.delta(at) <= exact * (1 + 1e-3) + 1e-9)


def test_mass_at_infinity_is_carried():
    """(eps, delta) claims: 1 - (1 - delta)^k is lost for certain."""
    e, d = 0.4, 1e-3
    a, b = (1 - d) / (1 + math.exp(-e)), (1 - d) / (1 + math.exp(e))
    p, q = product_pairs([(np.array([0.0, b, a, d]), np.array([d, a, b, 0.0]))] * 4)
    f = g.approximate_dp(e, d).compose(4)
    for epsilon in EPSILONS:
        truth = hockey_stick(q, p, epsilon)
        assert truth <= f.delta(epsilon) <= truth + 1e-6
    assert f.epsilon(1 - (1 - d) ** 4 - 1e-5) == math.inf
    assert f.divergence("kl") == math.inf


def test_mixed_parts_lie_in_the_bracket_of_dp_accounting():
    """Both codes are pessimistic on their grids; an optimistic estimate is a lower bound for both."""
    f = g.laplace(0.2).compose(30).compose(g.gaussian(0.5))
    brackets = []
    for pessimistic in (True, False):
        laplace = pld.from_laplace_mechanism(
            5.0, pessimistic_estimate=pessimistic, value_discretization_interval=1e-4
        )
        normal = pld.from_gaussian_mechanism(
            2.0, pessimistic_estimate=pessimistic, value_discretization_interval=1e-4
        )
        brackets.append(laplace.self_compose(30).compose(normal))
    for delta in (1e-2, 1e-5, 1e-8):
        high, low = (x.get_epsilon_for_delta(delta) for x in brackets)
        assert low <= f.epsilon(delta) <= high * (1 + 1e-5)


def test_mixtures_and_symmetrised_functions_compose():
    pair = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])
    f = g.mixture([g.discrete_pair(*pair), g.approximate_dp(0.5, 0.01)], [0.4, 0.6])
    r = 0.99 * math.exp(0.5) / (1 + math.exp(0.5))
    claim = np.array([0.0, 0.99 - r, r, 0.01]), np.array([0.01, r, 0.99 - r, 0.0])
    p, q = product_pairs([tuple(np.concatenate([0.4 * x, 0.6 * y]) for x, y in zip(pair, claim))] * 3)
    composed = g.compose([(f, 3)], interval=1e-4)
    for epsilon in EPSILONS:
        truth = hockey_stick(q, p, epsilon)
        assert truth * (1 - 1e-14) <= composed.delta(epsilon) <= truth + 3e-5
    both = g.discrete_pair(*pair).symmetrized()
    assert both.compose(5).epsilon(1e-3) >= g.discrete_pair(*pair).compose(5).epsilon(1e-3) * (1 - 1e-9)


def test_nested_composition_is_flat_and_equal():
    f = g.randomized_response(0.2)
    assert f.compose(6).compose(5).parts == ((f, 30),)
    assert f.compose(10).compose(g.laplace(0.1)).compose(g.randomized_response(0.2)).parts[0] == (f, 11)


def test_renyi_divergences_add():
    f = g.laplace(0.3)
    assert f.compose(7).divergence("renyi", order=4.0) == pytest.approx(7 * f._renyi(4.0), rel=1e-12)
    assert f.compose(g.gaussian(1.0)).divergence("kl") == pytest.approx(f._renyi(1.0) + 0.5, rel=1e-12)


@pytest.mark.parametrize("k, spacing", [(3, 50), (100, 20), (2000, 20)])
def test_fft_noise_stays_below_what_is_allowed_for_it(k, spacing):
    """Exact masses (binomials over 256): the error of each mass and of the tail sums, in both tilts."""
    base = np.zeros(8 * spacing + 1)
    base[::spacing] = [math.comb(8, i) / 256 for i in range(9)]
    interval = 1.0 / (math.sqrt(2.0 * k) * spacing)
    grid = convolution.LossGrid(interval, -4 * spacing, base, 0.0)
    scale = convolution._Cumulants([grid], [k])
    low, high = (math.floor(x / interval) for x in scale.window())
    for theta in (0.0, *map(scale.tilt, convolution.EXPONENTS)):
        tilted = convolution._tilted_sum([grid], [k], theta, low, high)
        losses = np.arange(low, high + 1) * interval
        back, known = tilted.untilt(losses)
        assert known.all()
        masses = tilted.masses * back
        assert 0 < tilted.noise < 1e-9
        for z in (0, 1, 2, 4, 6):
            j = int(z * spacing * math.sqrt(2.0 * k))
            if j >= high:
                continue
            i = j // spacing + 4 * k + 1
            term, truth = mp.binomial(8 * k, i) * mp.mpf(2) ** (-8 * k), mp.mpf(0)
            first = (i - 4 * k) * spacing - low
            assert term - masses[first] < tilted.noise * back[first]
            while i <= 8 * k and (truth == 0 or term > truth * mp.mpf(10) ** -22):
                truth += term * (1 - mp.exp(-(spacing * (i - 4 * k) - j) * mp.mpf(interval)))
                term, i = term * (8 * k - i) / (i + 1), i + 1
            beyond = masses[j - low + 1 :]
            tail = math.fsum(beyond * -np.expm1(-interval * np.arange(1, len(beyond) + 1)))
            assert truth <= tail + tilted.noise * tilted.weight_beyond(interval) * back[j - low]


@pytest.mark.parametrize(
    ("parts", "interval"),
    [
        ([(g.randomized_response(8.0), 1), (PoissonRemove(0.2, 0.02), 30)], None),
        ([(g.randomized_response(12.0), 1), (PoissonRemove(0.2, 0.01), 30)], None),
        ([(g.discrete_pair([0.99, 0.01], [1e-9, 1 - 1e-9]), 2)], None),
        ([(g.randomized_response(6.0), 5)], 0.1),
        ([(g.randomized_response(5.0), 10)], 0.3),
        ([(g.laplace(15.0), 2)], 0.3),
        ([(PoissonAdd(0.1, 0.5), 2)], 0.01),
        ([(g.approximate_dp(1.0, 0.5), 60)], None),
        ([(g.approximate_dp(1.0, 0.01), 4000)], None),
    ],
)
def test_a_composition_is_no_more_private_than_each_of_its_parts(parts, interval):
    """Steep tilts overflow where losses are large; an audit found epsilon = 0 for the first line."""
    f = g.compose(parts, interval=interval)
    for one in (f, f.inverse()):
        for base, _ in parts:
            single = base if one is f else base.inverse()
            for epsilon in (0.0, 0.1, 1.0, 3.0, 7.0, 11.0, 18.0):
                assert one.delta(epsilon) >= single.delta(epsilon) * (1 - 1e-12)


def test_a_grid_that_no_memory_holds_is_refused(monkeypatch):
    monkeypatch.setattr(convolution, "MOST_POINTS", 1000)
    with pytest.raises(ValueError, match="interval must be larger"):
        g.laplace(0.1).compose(10, interval=1e-4).delta(1.0)


@pytest.mark.parametrize("epsilon0, k", [(3.0, 4), (6.0, 5), (10.0, 3), (20.0, 3)])
@pytest.mark.parametrize("interval", [None, 0.1])
def test_strong_randomized_response_composes_to_a_binomial(epsilon0, k, interval):
    single = g.randomized_response(epsilon0)
    f = g.compose([(single, k)], interval=interval)
    for epsilon in np.linspace(0.0, 0.999 * k * epsilon0, 11):
        assert f.delta(epsilon) >= binomial_delta(epsilon0, k, epsilon)
    for epsilon in (0.0, 0.1, 1.0, 3.0, 7.0, 11.0, 18.0):  # as of each composition above
        assert f.delta(epsilon) >= single.delta(epsilon) * (1 - 1e-12)


@pytest.mark.parametrize("theta", [0.02, 0.3, 20.0])
def test_the_weight_beyond_a_point_is_the_sum_of_its_terms(theta):
    h, d = 0.01, np.arange(1, 400_000)
    tilted = convolution._Tilted(np.zeros(10**7), 0.0, theta, 0.0, 0.0)
    terms = np.exp(-theta * h * d) * -np.expm1(-h * d)
    assert math.fsum(terms) == pytest.approx(tilted.weight_beyond(h), rel=1e-12)
    assert math.fsum(terms) <= tilted.weight_beyond(h) * (1 + 1e-14)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="needs a wider float as the oracle")
@pytest.mark.parametrize("size", [8, 27, 125, 1000, 6561, 15_625, 131_072, 3**11, 500_000])
def test_a_transform_rounds_less_than_is_allowed_for_it(size):
    """Per entry, in units of ulp * log2(size) * (sum of what goes in); worst seen 0.40, proved 4.2, used 8."""
    rng = np.random.default_rng(size)
    inputs = [np.eye(1, size, k)[0] for k in (0, 1, size // 3, size - 1, *rng.integers(size, size=4))]
    inputs += [rng.random(size), np.ones(size), np.arange(size) % 2.0, rng.random(size) ** 40]
    for x in inputs:
        spectrum = rfft(x)
        unit = 2.0**-52 * math.log2(size) * float(x.sum())
        error = np.abs(spectrum.astype(np.clongdouble) - rfft(x.astype(np.longdouble))).max()
        assert error <= convolution.TRANSFORM / 8.0 * unit
        unit = 2.0**-52 * math.log2(size) * 2.0 * float(np.abs(spectrum).sum()) / size
        error = np.abs(irfft(spectrum, size) - irfft(spectrum.astype(np.clongdouble), size)).max()
        assert error <= convolution.TRANSFORM / 8.0 * unit


def test_tail_sums_over_a_long_grid_are_rounded_up():
    """e^{-h} is rounded once and raised to the power 10^5: the error must go to the safe side."""
    rng = np.random.default_rng(11)
    for interval in (1e-5, 1.3e-4, 0.9):
        masses = rng.uniform(size=100_000)
        tail = convolution._tail_excess(masses, interval)
        for j in (0, 31_000, 99_000, 99_999):
            steps = np.arange(1, len(masses) - j)
            truth = math.fsum(masses[j + 1 :] * -np.expm1(-interval * steps))
            assert truth * (1 - 1e-15) <= tail[j] <= truth * (1 + 1e-9)


def test_splitting_an_atom_keeps_both_masses_and_raises_every_delta():
    rng = np.random.default_rng(4)
    losses, masses = rng.uniform(-1, 1, 50), rng.dirichlet(np.ones(50)) * 0.99
    grid = convolution.discretize(LossAtoms(losses, masses, 0.01), 0.07, 10_000)
    points = grid.losses()
    assert grid.masses.sum() == pytest.approx(0.99, rel=1e-13)
    assert grid.masses @ np.exp(-points) == pytest.approx(masses @ np.exp(-losses), rel=1e-12)
    for epsilon in np.linspace(-1.2, 1.2, 97):
        before = masses @ np.maximum(0, -np.expm1(epsilon - losses))
        assert grid.masses @ np.maximum(0, -np.expm1(epsilon - points)) >= before - 1e-16
    small = convolution.discretize(LossAtoms(losses, masses, 0.01), 0.07, 12)  # low losses are raised
    assert len(small.masses) <= 13 and small.masses.sum() == pytest.approx(0.99, rel=1e-13)
    for epsilon in np.linspace(-1.2, 1.2, 97):
        raised = small.masses @ np.maximum(0, -np.expm1(epsilon - small.losses()))
        assert raised >= masses @ np.maximum(0, -np.expm1(epsilon - losses)) - 1e-16


def test_a_coarser_grid_is_safe_and_looser():
    f, truth = g.laplace(0.5), g.laplace(0.5).compose(50).epsilon(1e-6)
    coarse = f.compose(50, interval=0.02).epsilon(1e-6)
    assert truth <= coarse <= 1.1 * truth
    assert f.compose(50, interval=0.002).epsilon(1e-6) <= coarse


def test_bridge_to_dp_accounting_and_back():
    f = g.discrete_pair([0.5, 0.3, 0.2], [0.1, 0.3, 0.6])
    there = g.to_dp_accounting(f, interval=1e-3)
    back = g.from_dp_accounting(there)
    for epsilon in EPSILONS:
        assert back.delta(epsilon) >= f.delta(epsilon) * (1 - 1e-12)
        assert back.delta(epsilon) == pytest.approx(f.delta(epsilon), abs=1e-4)
        assert back.inverse().delta(epsilon) == pytest.approx(f.inverse().delta(epsilon), abs=1e-4)
    composed = back.compose(20).symmetrized()
    theirs = there.self_compose(20)
    assert composed.epsilon(1e-4) == pytest.approx(theirs.get_epsilon_for_delta(1e-4), rel=1e-4)
    optimistic = pld.from_laplace_mechanism(1.0, pessimistic_estimate=False)
    with pytest.raises(ValueError, match="distribution must be a pessimistic"):
        g.from_dp_accounting(optimistic)


def test_subsampled_gaussian_of_dp_accounting_composes_here():
    """What DP-SGD needs: their replace-one pair, our composition."""
    step = pld.from_gaussian_mechanism(
        2.0,
        sampling_prob=0.05,
        neighboring_relation=pld.NeighborRel.REPLACE_ONE,
        value_discretization_interval=1e-4,
    )
    ours = g.from_dp_accounting(step).compose(200).symmetrized()
    assert ours.epsilon(1e-5) == pytest.approx(step.self_compose(200).get_epsilon_for_delta(1e-5), rel=1e-4)


def test_small_deltas_are_refused_after_composition():
    f = g.laplace(0.1).compose(100)
    with pytest.raises(ValueError, match=r"delta must .* 1e-12 after composition"):
        f.epsilon(1e-13)
    assert g.laplace(0.1).epsilon(1e-13) > 0
    assert g.gaussian(0.1).compose(100).epsilon(1e-13) > 0


@pytest.mark.parametrize("interval", [0.0, -1.0, math.nan])
def test_bad_interval(interval):
    with pytest.raises(ValueError, match=r"^interval must"):
        g.laplace(0.1).compose(3, interval=interval)
