"""Several rows of one person: the bound against closed forms, powers of f itself, and mechanisms that try to beat it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from prepriv import guarantees as g
from prepriv.guarantees.drafts import curve_of
from prepriv.guarantees.guarantee import GaussianEvent, Guarantee
from prepriv.guarantees.in_words import right_guesses
from prepriv.guarantees.several_rows import of_several_rows, rows_in_words, rows_of_one
from prepriv.guarantees.tradeoff import TradeoffFunction

ALPHAS = np.unique(np.concatenate([np.linspace(0, 1, 301), np.geomspace(1e-9, 0.1, 200)]))
EPSILONS = np.linspace(-2, 6, 41)


@dataclass(frozen=True)
class Hidden(TradeoffFunction):
    """A symmetric function that is known by its delta alone."""

    base: TradeoffFunction

    def _delta(self, epsilon):
        return self.base._delta(epsilon)

    def inverse(self):
        return self


@pytest.mark.parametrize("mu", [0.05, 0.27, 1.0])
@pytest.mark.parametrize("rows", [2, 5])
def test_lines_meet_the_closed_form_of_gaussians_from_above(mu, rows):
    exact, found = g.gaussian(rows * mu), of_several_rows(Hidden(g.gaussian(mu)), rows)
    assert np.all(found.delta(EPSILONS) >= exact.delta(EPSILONS))
    assert exact.epsilon(1e-5) <= found.epsilon(1e-5) <= 1.01 * exact.epsilon(1e-5)
    assert exact.delta(0.0) <= found.delta(0.0) <= 1.01 * exact.delta(0.0)
    closed = of_several_rows(g.gaussian(mu), rows)
    assert 0 <= closed.epsilon(1e-5) - exact.epsilon(1e-5) < 1e-9


@pytest.mark.parametrize(
    "f",
    [
        g.laplace(0.5),
        g.approximate_dp(0.4, 1e-4),
        g.randomized_response(0.7),
        g.gaussian(0.3).compose(g.laplace(0.2)),
        g.discrete_pair([0.5, 0.3, 0.2], [0.3, 0.3, 0.4]).symmetrized(),
    ],
    ids=lambda f: type(f).__name__,
)
def test_lines_are_never_above_the_powers_of_the_curve_itself(f):
    """1 - f applied k times, point by point, f from its own delta at 8,001 slopes and where it has kinks."""
    slopes = np.union1d(np.linspace(-8, 8, 8001), f.lines().slopes)
    deltas, rise, power = f.delta(slopes), np.exp(slopes), ALPHAS
    for rows in range(1, 6):
        power = np.minimum(1.0, np.array([(deltas + rise * a).min() for a in power]))
        if rows in (2, 5):
            found = of_several_rows(f, rows)
            assert np.all(found(ALPHAS) <= 1.0 - power + 2e-7)
            assert np.max(1.0 - power - found(ALPHAS)) < 4e-3


def test_a_machine_that_rounds_logarithms_otherwise_finds_the_same(monkeypatch):
    """A page of one processor was "not the report of this model" on another, where the chance differed in its sixth digit."""

    def found():
        draft = g.gaussian(0.62).compose(g.approximate_dp(0.0, 2.5e-7))
        parts = [Guarantee(f, "replace-one") for f in (g.gaussian(0.2), draft, g.laplace(0.3))]
        return [x for one in rows_of_one(parts, 1e-5) for x in (one.right, one.epsilon)]

    rng, here = np.random.default_rng(0), found()

    def otherwise(of, x, *more, **options):
        made = of(x, *more, **options)
        return made * (1 + 2.0**-52 * (rng.random(made.shape) < 0.3)) if np.ndim(made) else made

    for name in ("exp", "log", "log1p", "expm1"):
        monkeypatch.setattr(np, name, partial(otherwise, getattr(np, name)))
    for _ in range(3):
        assert found() == pytest.approx(here, rel=1e-9)


def test_one_epsilon_and_delta_grow_as_by_induction():
    epsilon, delta = 0.5, 1e-6
    for rows in (2, 3, 5):
        grown = delta * sum(math.exp(k * epsilon) for k in range(rows))
        found = of_several_rows(g.approximate_dp(epsilon, delta), rows)
        assert found.delta(rows * epsilon) == pytest.approx(grown, rel=1e-9)
        assert found.delta(rows * epsilon) >= grown


def _worst(p, q, epsilon):
    """The delta of a pair of laws: the event of all outcomes that are likelier."""
    return float(np.maximum(q - math.exp(epsilon) * p, 0.0).sum())


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_randomized_answers_of_each_row_do_not_beat_the_bound(rows):
    keep = math.exp(0.8) / (1 + math.exp(0.8))
    bits = np.array([*itertools.product((0, 1), repeat=rows)])
    ones = bits.sum(axis=1)
    p, q = keep ** (rows - ones) * (1 - keep) ** ones, keep**ones * (1 - keep) ** (rows - ones)
    found = of_several_rows(g.randomized_response(0.8), rows)
    assert all(_worst(p, q, e) <= found.delta(e) for e in EPSILONS)
    assert _worst(p, q, 0.0) > 0.6 * found.delta(0.0)


def test_chains_of_random_laws_do_not_beat_the_bound():
    rng = np.random.default_rng(5)
    for _ in range(20):
        laws = [rng.dirichlet(np.full(6, 2.0))]
        for _ in range(3):  # each step mixes in a little of another law
            laws.append(0.9 * laws[-1] + 0.1 * rng.dirichlet(np.full(6, 0.5)))
        pairs = [pair for a, b in itertools.pairwise(laws) for pair in ((a, b), (b, a))]
        slopes = np.linspace(-3, 3, 121)
        deltas = np.array([max(_worst(p, q, s) for p, q in pairs) for s in slopes])
        found = of_several_rows(g.piecewise_linear(slopes, np.minimum(deltas + 1e-12, 1.0)), 3)
        for p, q in ((laws[0], laws[-1]), (laws[-1], laws[0])):
            assert all(_worst(p, q, e) <= found.delta(e) + 1e-12 for e in EPSILONS)


def test_what_is_said_is_rounded_to_less_privacy_and_left_out_where_a_unit_is_declared():
    events = [GaussianEvent("sum", 3.7)]
    made = Guarantee.of_gaussians(events, "replace-one")
    found = rows_of_one([made], 1e-5)
    for one in found:
        exact = g.gaussian(one.rows * made.mu)
        assert one.epsilon >= exact.epsilon(1e-5)
        assert one.right >= (1 + exact.delta(0.0)) / 2 > right_guesses(made)
    said = rows_in_words(found, 1e-5, conditions=False)
    assert "2 rows" in said and "5 rows" in said and "δ = 1e-05" in said and "conditions" not in said
    assert "conditions" in rows_in_words(found, 1e-5, conditions=True)
    by_unit = Guarantee.of_gaussians(events, "replace-one", unit="patient")
    assert not rows_of_one([by_unit], 1e-5) and not rows_of_one([], 1e-5)
    assert not rows_in_words((), 1e-5, conditions=True)
    useless = [replace(found[0], epsilon=math.inf)]  # "74 times in 100 (no useful bound)": 74 is one
    assert "2 rows (no useful ε at this δ: for several rows δ has to be larger)" in rows_in_words(
        useless, 1e-5, conditions=False
    )


def test_run_and_draft_are_raised_one_by_one_and_then_composed():
    """A draft that tells all with a chance: raised together with the run, that chance is multiplied by the run's ε, too."""
    run, draft = gaussian_of(3.7), Guarantee(curve_of(0.05, 2.5e-7), "replace-one")
    (one,) = rows_of_one([run, draft], 1e-5, told=[1])
    assert one.epsilon == pytest.approx(run.compose(draft).epsilon(1e-5), rel=1e-3)
    two, five = rows_of_one([run, draft], 1e-5)
    for found in (two, five):
        least = g.gaussian(found.rows * math.hypot(run.mu, 0.05))
        assert least.epsilon(1e-5) < found.epsilon < 1.15 * least.epsilon(1e-5)
        assert least.delta(0.0) < 2 * found.right - 1 < 1.01 * least.delta(0.0) + 1e-5


def gaussian_of(noise):
    return Guarantee.of_gaussians([GaussianEvent("sum", noise)], "replace-one")


def test_one_row_is_the_claim_itself_and_none_is_refused():
    f = g.laplace(0.5)
    assert of_several_rows(f, 1) is f
    for wrong in (0, -1, 1.5):
        with pytest.raises(ValueError, match="rows"):
            of_several_rows(f, wrong)
