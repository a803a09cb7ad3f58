"""What a sketch claims is what it keeps: both adjacencies, units, and the trap of the products (docs/proofs/sketch.md)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from sketch_cases import ADJACENCIES, apart, asked, domain, frame, worst_answers, worst_rows

from prepriv.domain import Domain
from prepriv.exact.lattice import Lattice
from prepriv.guarantees.gaussian import gdp_mu
from prepriv.mechanisms._counts import COUNT_BITS
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import Metered, NoisySession, SpentError
from prepriv.sketches.pairs import integer_scores, product_sum
from prepriv.sketches.release import release_sketch
from prepriv.sketches.sketch_plan import SketchPlan, pair_sensitivity

CASES = [(a, k) for a in ADJACENCIES for k in (1, 3)]
both_and_units = pytest.mark.parametrize("adjacency, k", CASES)


def plan_of(adjacency="replace-one", k=1, needs="pairs", mu=0.5, **shape):
    return SketchPlan(domain(adjacency=adjacency, k=k, **shape), mu, needs)


def neighbours(plan, k, adjacency):
    one, two = worst_rows(plan)
    common = frame({name: [0.5, 1.5] if isinstance(v, float) else ["v", "w"] for name, v in one.items()})
    rest = frame({name: [v] * k for name, v in one.items()})
    other = frame({name: [v] * k for name, v in two.items()})

    def table(last, label):
        import pandas as pd

        rows = pd.concat([common, last] if last is not None else [common], ignore_index=True)
        if k > 1:
            rows["who"] = [0, 1] + [2] * (len(rows) - 2)
        return rows, ["a", "b"] + [label] * (len(rows) - 2)

    if adjacency == "replace-one":
        return table(rest, "a"), table(other, "b")
    return table(rest, "a"), table(None, "a")


@both_and_units
def test_a_worst_neighbour_reaches_the_claim(adjacency, k):
    plan = plan_of(adjacency, k, numeric=10, categorical=10)
    one, two = neighbours(plan, k, adjacency)
    moved = apart(plan, one, two, worst_answers(plan))
    reached = math.sqrt(
        math.fsum((moved[name] / m.noise_multiplier) ** 2 for name, m in plan.mechanisms.items())
    )
    assert max(moved.values()) <= 1
    assert 0.95 * plan.mu <= reached <= plan.mu * (1 + 1e-9), moved


@both_and_units
def test_no_neighbour_goes_beyond_the_claim(adjacency, k):
    rng = np.random.default_rng(5)
    plan = plan_of(adjacency, k, numeric=2, categorical=2, n=400)
    most = dict.fromkeys(plan.mechanisms, 0.0)
    for trial in range(24):
        n = 12

        def rows(m):
            numbers = {f"x{i}": rng.choice([-1.0, 0.0, 0.3, 2.9, np.nan], m) for i in range(2)}
            return numbers | {f"c{i}": rng.choice(["u", "v", "w", "?", "z"], m) for i in range(2)}

        have, label = rows(n), rng.choice(["a", "b", "neither"], n)
        changed = {name: np.array(values) for name, values in have.items()}
        other = label.copy()
        fresh = rows(k)
        alike = (
            slice(-1, None) if trial % 2 else slice(None)
        )  # all rows of a unit alike: the furthest that it moves
        for name in changed:
            have[name][-k:], changed[name][-k:] = have[name][-k:][alike], fresh[name][alike]
        label[-k:], other[-k:] = label[-k:][alike], rng.choice(["a", "b", "neither"], k)[alike]
        who = np.repeat(np.arange(n // k), k)
        size = n if adjacency == "replace-one" else n - k
        use = SketchPlan(domain(2, 2, n=n // k, adjacency=adjacency, k=k), 0.5, "pairs")
        one = frame(have, k, who), label
        two = frame(changed, k, who).iloc[:size], other[:size]
        for name, value in apart(use, one, two).items():
            most[name] = max(most[name], value)
    assert max(most.values()) <= 1, most
    assert most["tables"] > 0.8 and most["bins"] > 0.4


def test_the_products_move_by_the_square_of_the_radius_where_a_record_is_replaced():
    # z = (1, 1), w = (1, -1): leaving out the diagonal does not make the sums move less than sqrt2 R^2 / sqrt2
    grid = Lattice.for_norm(math.sqrt(2.0), 22)
    plan = plan_of(numeric=0, categorical=2)
    tables = [np.array([[1 << -grid.exponent, -1 << -grid.exponent]]).T] * 2
    z = integer_scores(np.array([[0, 0]]), np.zeros(1, int), tables, grid)
    w = integer_scores(np.array([[0, 1]]), np.zeros(1, int), tables, grid)
    upper = np.triu_indices(2, 1)
    moved = int(abs(product_sum(z) - product_sum(w))[upper].sum())
    claimed = pair_sensitivity(grid, plan)
    assert moved <= claimed and moved >= 0.999 * claimed
    assert moved == 2 << (2 * -grid.exponent)  # 2 = R^2, not the sqrt2 of the diagonal left out by half


def test_random_rows_never_move_the_products_further():
    rng = np.random.default_rng(1)
    for d in (2, 3, 6):
        plan = plan_of(numeric=0, categorical=d)
        grid = Lattice.for_norm(math.sqrt(1.2 * d), 22)
        z = rng.normal(size=(3000, d))
        z *= (
            math.sqrt(1.2 * d)
            / np.linalg.norm(z, axis=1, keepdims=True)
            * rng.choice([0.3, 1.0, 2.0], (3000, 1))
        )
        ints = np.trunc(np.ldexp(z, -grid.exponent)).astype(np.int64)
        kept = integer_scores(np.zeros((1, d), int), np.zeros(1, int), [np.zeros((1, 1), np.int64)] * d, grid)
        assert not kept.any()
        inside = [
            integer_scores(np.zeros((1, d), int), np.zeros(1, int), [np.array([[v]]) for v in row], grid)
            for row in ints[:300]
        ]
        rows = np.concatenate(inside)
        upper = np.triu_indices(d, 1)
        products = (rows[:, :, None] * rows[:, None, :])[:, upper[0], upper[1]].astype(np.float64)
        claimed = pair_sensitivity(grid, plan)
        added = plan_of("add-or-remove-one", numeric=0, categorical=d)
        assert np.sqrt((products**2).sum(axis=1)).max() <= pair_sensitivity(grid, added)
        gaps = np.sqrt(((products[:150, None] - products[None, 150:]) ** 2).sum(axis=2))
        assert gaps.max() <= claimed


@both_and_units
def test_the_counts_move_as_declared(adjacency, k):
    plan = plan_of(adjacency, k, numeric=3, categorical=4)
    c = math.sqrt(2) if adjacency == "replace-one" else 1.0
    for name, columns in (("bins", 3), ("tables", 7)):
        steps = k * c * math.sqrt(columns) * 2**COUNT_BITS
        assert steps <= plan.mechanisms[name].sensitivity <= steps + 1


@pytest.mark.parametrize("needs", ["columns", "labels", "pairs"])
@pytest.mark.parametrize("numeric", [0, 3])
def test_shares_add_up_to_the_price_and_no_more(needs, numeric):
    plan = plan_of(needs=needs, numeric=numeric, mu=0.37)
    assert plan.mu_squared <= Fraction(0.37) ** 2
    assert plan.mu_squared >= Fraction(0.37) ** 2 * (1 - Fraction(1, 10**9))
    assert math.isclose(sum(plan.shares.values()), 1.0)


@both_and_units
def test_an_independent_account_agrees(adjacency, k):
    """The noise of each event over how far the plan's own neighbours are apart, composed by Google's accountant."""
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution as pld

    plan = plan_of(adjacency, k, mu=gdp_mu(1.0, 1e-5))
    whole = None
    for mechanism in plan.mechanisms.values():
        part = pld.from_gaussian_mechanism(mechanism.noise_multiplier, value_discretization_interval=1e-4)
        whole = part if whole is None else whole.compose(part)
    assert accounting is not None
    assert whole.get_epsilon_for_delta(1e-5) == pytest.approx(1.0, abs=2e-3)


def test_the_noise_is_that_of_the_claim():
    plan = plan_of(numeric=0, categorical=400, needs="labels", n=50)
    rows = frame({name: ["u"] * 50 for name in plan.columns})
    exact, _ = asked(plan, rows, ["a"] * 50)
    private = NoisySession(NoiseSource.for_tests(3))
    mechanism = plan.mechanisms["tables"]
    noisy = private.release("sketch (tables)", mechanism, exact.exact["sketch (tables)"])
    noise = noisy - np.ldexp(exact.exact["sketch (tables)"].astype(float), mechanism.exponent)
    claimed = math.sqrt(2 * 400) / (0.5)  # without numeric columns the tables have all of mu
    assert np.std(noise) == pytest.approx(claimed, rel=0.05)
    assert plan.noise("tables") == pytest.approx(claimed, rel=1e-3) and plan.noise("tables") >= claimed


def test_a_session_that_pays_for_less_releases_nothing_more():
    plan = plan_of(mu=0.5)
    rows = frame({name: [0.5] * 5 if name[0] == "x" else ["u"] * 5 for name in plan.columns})
    from prepriv.placed.rows import PrivateTable

    table = PrivateTable(rows, ["a"] * 5, plan.domain.with_n(5), 5)
    session = NoisySession(NoiseSource.for_tests(0))
    with pytest.raises(SpentError):
        release_sketch(plan, *table.read(0), Metered(session, "sketch", 0.7 * 0.25))
    assert [release.name for release in session.releases] == ["sketch (bins)"]


def test_what_one_record_adds_does_not_depend_on_the_others():
    """Fixed answers: the sums of a table are the sums of its rows, bit by bit."""
    plan = plan_of("add-or-remove-one", numeric=3, categorical=3)
    rng = np.random.default_rng(2)
    rows = frame(
        {
            name: rng.normal(size=300) if name[0] == "x" else rng.choice(["u", "v", "w", ""], 300)
            for name in plan.columns
        }
    )
    labels = rng.choice(["a", "b", "c"], 300)
    whole, _ = asked(plan, rows, labels, worst_answers(plan))
    total = {name: np.zeros_like(exact) for name, exact in whole.exact.items()}
    for start, stop in ((0, 1), (1, 8), (8, 270), (270, 300)):
        part, _ = asked(plan, rows.iloc[start:stop], labels[start:stop], whole.answers)
        for name, exact in part.exact.items():
            total[name] += exact
    for name, exact in whole.exact.items():
        assert (total[name] == exact).all(), name


def test_only_what_the_rows_of_a_unit_say_counts_and_nobodys_rows_do_not():
    plan = plan_of("add-or-remove-one", 3, numeric=1, categorical=1)
    rows = frame({"x0": [0.0] * 6, "c0": ["u"] * 6}, 3, [1, 1, 1, 1, 1, None])  # five of one, one of nobody
    session, _ = asked(plan, rows, ["a"] * 6)
    assert session.exact["sketch (bins)"].sum() == 3 << COUNT_BITS


def test_a_ball_and_texts_have_no_sketch():
    with pytest.raises(ValueError, match="a ball has none"):
        SketchPlan(Domain.ball(3, classes=[0, 1], n=10), 1.0)
    from prepriv import Text

    with pytest.raises(ValueError, match="text"):
        SketchPlan(Domain({"t": Text()}, classes=[0, 1], n=10), 1.0)
