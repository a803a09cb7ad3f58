"""Random initialisation: quadrature, the paper's Figure 2, data sets that try to beat the claim."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from prepriv import guarantees as g


def gaussian_delta(mu: float, epsilon: float) -> float:
    if mu <= 0.0:
        return 0.0
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def by_quadrature(shift, turns: list[float], epsilon: float) -> float:
    edges = sorted({-13.0, 13.0, *[t for t in turns if -13.0 < t < 13.0]})
    parts = [
        quad(
            lambda i: gaussian_delta(shift(i), epsilon) * norm.pdf(i),
            a,
            b,
            epsabs=1e-15,
            epsrel=1e-11,
            limit=300,
        )[0]
        for a, b in itertools.pairwise(edges)
    ]
    return math.fsum(parts)


@pytest.mark.parametrize(
    "clip, target, noise",
    [(0.5, 1.0, 1.0), (2.0, 1.0, 1.0), (2.0, 0.0, 0.5), (5.0, -2.0, 3.0), (math.inf, 1.0, 1.0)],
)
def test_instance_agrees_with_quadrature(clip: float, target: float, noise: float) -> None:
    f = g.random_initialization(clip, target, noise)
    for epsilon in (0.0, 0.1, 1.0, 3.0):
        truth = by_quadrature(
            lambda i: min(clip, abs(target - i)) / noise, [target, target - clip, target + clip], epsilon
        )
        found = f.bounds(epsilon)
        assert found.lower <= truth * (1 + 1e-9) and truth <= found.upper * (1 + 1e-9)
        assert found.upper <= truth * (1 + 3e-5)


@pytest.mark.parametrize("adjacency", ["add-or-remove-one", "replace-one"])
def test_bounded_agrees_with_quadrature(adjacency: str) -> None:
    clip, target, noise = 1.5, 0.7, 1.2
    more = target if adjacency == "replace-one" else 0.0
    f = g.random_initialization(clip, target, noise, claim="bounded", adjacency=adjacency)
    for epsilon in (0.0, 0.5, 2.0):
        truth = by_quadrature(
            lambda i: (min(clip, target + abs(i)) + more) / noise,
            [0.0, clip - target, target - clip],
            epsilon,
        )
        assert truth <= f.delta(epsilon) * (1 + 1e-9)
        assert f.delta(epsilon) <= truth * (1 + 1e-5)


def test_figure_2_of_the_paper() -> None:
    for clip, expected, plain in [(0.5, 0.7929, 0.7828), (1.0, 0.6769, 0.6109), (2.0, 0.5551, 0.2362)]:
        f = g.random_initialization(clip)
        assert f(0.1) == pytest.approx(expected, abs=6e-5)
        assert g.gaussian(clip)(0.1) == pytest.approx(plain, abs=6e-5)
        for alpha in np.linspace(0.001, 0.999, 40):
            assert f(float(alpha)) >= g.gaussian(clip)(float(alpha)) - 1e-6


def test_theorem_51_alpha_and_beta_at_one_threshold_lie_on_the_curve() -> None:
    # alpha(t) = E Phi(t/mu - mu/2), beta(t) = alpha(-t); the dual and the primal form agree
    f = g.random_initialization(2.0)

    def alpha(t: float) -> float:
        def inside(i: float) -> float:
            mu = min(2.0, abs(1.0 - i))
            return float(norm.cdf(t / mu - mu / 2)) if mu > 0 else float(t > 0)

        edges = [-13.0, -1.0, 1.0, 3.0, 13.0]
        return math.fsum(
            quad(lambda i: inside(i) * norm.pdf(i), a, b, limit=300)[0] for a, b in itertools.pairwise(edges)
        )

    for t in (-2.0, -0.3, 0.4, 1.5):
        truth = alpha(-t)
        assert truth - 2e-5 <= f(alpha(t)) <= truth + 1e-9


def test_composition_of_the_mixture_is_not_that_of_its_average_gaussian() -> None:
    f = g.random_initialization(1.0)
    composed = f.compose(2)
    # two independent starts: E over both shifts of delta at sqrt(mu1^2 + mu2^2)
    points = np.linspace(-8.0, 8.0, 801)
    weight = norm.pdf(points) * (points[1] - points[0])
    mu = np.minimum(1.0, np.abs(1.0 - points))
    truth = 0.0
    for m, w in zip(mu, weight):
        truth += w * float(np.sum(weight * g.gdp_delta(np.sqrt(m * m + mu * mu), 1.0)))
    assert composed.delta(1.0) == pytest.approx(truth, rel=2e-3)
    assert composed.delta(1.0) >= truth * (1 - 1e-3)


def test_no_data_set_beats_the_bounded_claim() -> None:
    # the released (theta_1, I): given I the shift is the difference of clipped gradients of the two data sets
    rng = np.random.default_rng(5)
    start = rng.standard_normal(4000)
    for adjacency in ("add-or-remove-one", "replace-one"):
        for clip, bound in [(1.0, 0.5), (3.0, 1.0), (0.4, 2.0)]:
            worst = np.minimum(clip, bound + np.abs(start))
            if adjacency == "replace-one":
                worst = worst + min(clip, bound)
            for _ in range(200):
                x, y = rng.uniform(-1, 1, 2), rng.uniform(-bound, bound, 2)
                if rng.random() < 0.5:
                    x, y = np.sign(x), bound * np.sign(y)
                gradients = [np.clip((y[j] - start * x[j]) * -x[j], -clip, clip) for j in (0, 1)]
                moved = gradients[0] - gradients[1] if adjacency == "replace-one" else gradients[0]
                assert np.all(np.abs(moved) <= worst + 1e-12)


def test_instance_shift_is_that_of_the_papers_example() -> None:
    start = np.random.default_rng(6).standard_normal(1000)
    for x in (1.0, -1.0):
        gradient = np.clip((2.5 * x - start * x) * -x, -0.8, 0.8)
        assert np.allclose(np.abs(gradient), np.minimum(0.8, np.abs(2.5 - start)))


def test_hiding_the_start_is_safer_still() -> None:
    # exact T(theta(D0), theta(D1)) with I hidden: the bound must lie below it (c = 2, n = 1: 0.6128)
    rng = np.random.default_rng(7)
    start = rng.standard_normal(400_000)
    grid = np.linspace(-8.0, 8.0, 321)
    clipped = np.clip(-(1.0 - start), -2.0, 2.0)
    with_record, without = start - clipped, start
    noise = rng.standard_normal(len(start))
    p = np.histogram(with_record + noise, grid)[0] / len(start)
    q = np.histogram(without + noise, grid)[0] / len(start)
    order = np.argsort(-(q + 1e-9) / (p + 1e-9))
    alpha, power = np.cumsum(p[order]), np.cumsum(q[order])
    beta = 1.0 - np.interp(0.1, alpha, power)
    assert beta == pytest.approx(0.6128, abs=0.01)
    assert g.random_initialization(2.0)(0.1) == pytest.approx(0.5551, abs=1e-4)


def test_unclipped_renyi_divergence_is_infinite_and_where() -> None:
    f = g.random_initialization(math.inf)
    golden = 0.5 + math.sqrt(1.25)  # order (order - 1) = noise^2
    for order in (golden, 2.0, 8.0):
        assert f.divergence("renyi", order=order) == math.inf
    for order in (1.0001, 1.3, 1.6):
        t = order * (order - 1) / 2
        truth = (t / (1 - 2 * t) - 0.5 * math.log(1 - 2 * t)) / (order - 1)
        assert truth <= f.divergence("renyi", order=order) <= truth * (1 + 1e-6)
    assert f.divergence("kl") == pytest.approx(1.0, rel=1e-9)
    assert f.delta(1.0) < 0.23  # and yet delta is finite: what Renyi cannot say
    assert f.epsilon(1e-3) < 30.0


def test_e10_which_renyi_divergence_of_the_two_gaussians_is_infinite() -> None:
    def renyi(order: float, top: float, bottom: float) -> mp.mpf:
        # integral of N(0, top)^order N(0, bottom)^(1 - order) over a growing range
        return [
            mp.quad(
                lambda x: (
                    mp.npdf(x, 0, mp.sqrt(top)) ** order * mp.npdf(x, 0, mp.sqrt(bottom)) ** (1 - order)
                ),
                mp.linspace(-reach, reach, 9),
            )
            for reach in (20, 40)
        ]

    for order in (2.0, 5.0, 50.0):
        near, far = renyi(order, 1.0, 2.0)  # the paper's: finite for every order
        assert far == pytest.approx(near, rel=1e-9)
    near, far = renyi(2.5, 2.0, 1.0)
    assert far > 1e6 * near  # the other one: infinite from order 2 on


@pytest.mark.parametrize("clip", [0.5, 2.0, 60.0])
def test_clipped_renyi_divergence_is_finite_and_an_upper_bound(clip: float) -> None:
    f = g.random_initialization(clip)
    for order in (1.2, 1.5):
        rate = order * (order - 1) / 2
        edges = sorted(
            {-13.0, 1.0 - clip, 1.0, 1.0 + clip, 13.0}
            & set(np.clip([-13.0, 1 - clip, 1, 1 + clip, 13], -13, 13))
        )
        moment = math.fsum(
            quad(
                lambda i, rate=rate: math.exp(rate * min(clip, abs(1 - i)) ** 2) * norm.pdf(i),
                a,
                b,
                limit=200,
            )[0]
            for a, b in itertools.pairwise(edges)
        )
        truth = math.log(moment) / (order - 1)
        assert truth * (1 - 1e-9) <= f.divergence("renyi", order=order) <= truth * (1 + 1e-3)
    assert f.divergence("renyi", order=40.0) <= 20.0 * clip * clip * (1 + 1e-9)
    assert math.isfinite(f.divergence("renyi", order=40.0))


def test_unrestricted_data_gain_nothing() -> None:
    f = g.random_initialization(1.3, claim="unrestricted")
    plain = g.gaussian(1.3)
    for epsilon in (0.0, 1.0, 4.0):
        assert f.delta(epsilon) == pytest.approx(plain.delta(epsilon), rel=1e-9)
        assert f.delta(epsilon) >= plain.delta(epsilon) * (1 - 1e-15)
    double = g.random_initialization(1.3, claim="unrestricted", adjacency="replace-one")
    assert double.delta(1.0) == pytest.approx(g.gaussian(2.6).delta(1.0), rel=1e-9)


def test_the_object_says_what_it_claims() -> None:
    assert "no other data" in g.random_initialization(1.0).claim
    assert "|y| <= 2" in g.random_initialization(1.0, 2.0, claim="bounded").claim
    assert "gains nothing" in g.random_initialization(1.0, claim="unrestricted").claim
    assert g.random_initialization(1.0).adjacency == "add-or-remove-one"


def test_supplied_law_of_the_shift() -> None:
    supplied = g.initialization_mixture(
        lambda m: np.where(m >= 2.0, 1.0, norm.cdf(1 + m) - norm.cdf(1 - m)), 2.0, claim="ours"
    )
    exact = g.random_initialization(2.0)
    for epsilon in (0.0, 1.0, 3.0):
        assert exact.bounds(epsilon).lower <= supplied.delta(epsilon) <= exact.delta(epsilon) * 1.01
    assert supplied.claim == "ours"


@pytest.mark.parametrize(
    "arguments, options, name",
    [
        ((0.0,), {}, "clip"),
        ((-1.0,), {}, "clip"),
        ((math.nan,), {}, "clip"),
        ((1.0, math.nan), {}, "target"),
        ((1.0, -1.0), {"claim": "bounded"}, "target"),
        ((1.0, 1.0, 0.0), {}, "noise_std"),
        ((1.0, 1.0, -2.0), {}, "noise_std"),
        ((1.0,), {"claim": "all"}, "claim"),
        ((1.0,), {"adjacency": "both"}, "adjacency"),
        ((1.0,), {"adjacency": "replace-one"}, "adjacency"),
        ((math.inf,), {"claim": "unrestricted"}, "clip"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple, options: dict, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must"):
        g.random_initialization(*arguments, **options)


def test_bad_law_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^shift_cdf must"):
        g.initialization_mixture(lambda m: 1.0 - m / 3.0, 2.0, claim="falling")
    with pytest.raises(ValueError, match=r"^largest must"):
        g.initialization_mixture(lambda m: m, math.inf, claim="no end")
