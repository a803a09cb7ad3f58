"""Intervals of predictions from paid counts of errors: they hold as many rows as they say, or are refused."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from prepriv import Domain, Numeric, PrivateRegressor
from prepriv.evaluation.error_band import _excluded, _open, band_of, error_band
from prepriv.evaluation.evaluation_plan import MEAN_RESIDUAL, plan_evaluation
from prepriv.evaluation.expected import hardly_measured
from prepriv.evaluation.result import PrivateEvaluation

DOMAIN = Domain.box(0, 1, features=2, target=Numeric(-4, 4))


def rows(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, (n, 2))
    return x, 2 * x[:, 0] - x[:, 1] + 0.3 * rng.standard_gamma(2.0, n)


def test_intervals_hold_at_least_their_level_of_new_rows_in_95_runs_of_100():
    reg = PrivateRegressor(DOMAIN, epsilon=4.0, steps="linear").fit(*rows(2000, 0))
    new, truth = rows(20_000, 1)
    for n, epsilon, level, most in ((1500, 0.3, 0.8, 1.0), (20_000, 2.0, 0.8, 0.93)):
        covered = []
        for seed in range(10):
            of = reg.evaluate(
                *rows(n, 100 + seed), epsilon=epsilon, measures="residuals", error_bound=1.5, bins=40
            )
            try:
                low, high = reg.predict_interval(new, level, evaluation=of).T
            except ValueError:  # refused, beside so much noise
                continue
            covered.append(((low <= truth) & (truth <= high)).mean())
        assert np.min(covered, initial=1.0) >= level and np.mean([*covered, level]) < most, covered


def test_a_band_of_noisy_counts_holds_in_95_draws_of_100():
    """Two bumps far apart, so that a tail which noise made small costs a whole bump; noise that stands beside the rows."""
    share, edges = np.array([0.06, 0.0, 0.0, 0.0, 0.88, 0.0, 0.0, 0.0, 0.06]), np.arange(8.0)
    rng, missed = np.random.default_rng(0), {25.0: 0, 60.0: 0}
    for noise in 400 * list(missed):
        counts = rng.multinomial(2000, share) + rng.normal(0, noise, len(share))
        low, high = band_of(counts, edges, noise, 0.9)
        held = 1.0 - (share[: np.searchsorted(edges, low) + 1].sum() if low > -np.inf else 0.0)
        held -= share[np.searchsorted(edges, high) + 1 :].sum() if high < np.inf else 0.0
        missed[noise] += held < 0.9
    assert max(missed.values()) <= 20, missed


def test_the_holdout_of_a_fit_gives_them_and_they_stay_within_the_bounds():
    x, y = rows(6000, 2)
    reg = PrivateRegressor(
        DOMAIN, epsilon=2.0, holdout=0.3, evaluate_epsilon=2.0, evaluate_measures=("r2", "residuals")
    )
    made = reg.fit(x, y).predict_interval(x[:50])
    assert made.shape == (50, 2) and (made[:, 0] < made[:, 1]).all() and np.ptp(made[:, 1] - made[:, 0]) < 8
    assert made.min() >= -4 and made.max() <= 4
    wide = reg.predict_interval(x[:50], 0.95)
    assert (wide[:, 0] <= made[:, 0]).all() and (wide[:, 1] >= made[:, 1]).all()


def test_what_does_not_support_an_interval_is_refused():
    x, y = rows(500, 3)
    reg = PrivateRegressor(DOMAIN, epsilon=1.0, steps="linear").fit(x, y)
    with pytest.raises(ValueError, match="measured on other rows"):
        reg.predict_interval(x)
    with pytest.raises(ValueError, match="counted by size"):
        reg.predict_interval(x, evaluation=reg.evaluate(x, y, epsilon=1.0, measures="r2"))
    counted = reg.evaluate(x, y, epsilon=1.0, measures="residuals")
    with pytest.raises(ValueError, match="level"):
        reg.predict_interval(x, 1.0, evaluation=counted)
    with pytest.raises(ValueError, match="too few rows"):
        reg.predict_interval(x, 0.999, evaluation=counted)
    short = reg.evaluate(x, y, epsilon=8.0, measures="residuals", error_bound=0.2)
    with pytest.raises(ValueError, match=r"errors beyond error_bound=0\.2 .* larger .*error_bound=0\.[3-8]"):
        reg.predict_interval(x, 0.8, evaluation=short)
    other = PrivateRegressor(DOMAIN, epsilon=1.0, steps="linear").fit(x, y)
    with pytest.raises(ValueError, match="did not measure this model"):
        other.predict_interval(x, 0.5, evaluation=counted)
    assert error_band(counted, 0.5) == error_band(counted, 0.5)


def test_a_refusal_counts_units_where_units_are_measured():
    columns = {"x0": Numeric(0, 1), "x1": Numeric(0, 1)}
    domain = Domain(columns, target=Numeric(-4, 4), label="y", unit="who", rows_per_unit=2, n=300)
    x, y = rows(600, 3)
    table = pd.DataFrame({"x0": x[:, 0], "x1": x[:, 1], "y": y, "who": np.repeat(np.arange(300), 2)})
    reg = PrivateRegressor(domain, epsilon=1.0, steps="linear").fit(table, table["y"])
    with pytest.raises(ValueError, match=r"number of units .* must be given"):
        reg.evaluate(table, table["y"], epsilon=2.0, measures="residuals")
    with pytest.warns(UserWarning, match="as many test units"):
        counted = reg.evaluate(table, table["y"], n=300, epsilon=2.0, measures="residuals")
    with pytest.raises(ValueError, match=r"too few units were measured.* with about [\d,]+ units") as caught:
        reg.predict_interval(table, 0.95, evaluation=counted)
    assert "rows" not in str(caught.value)


def test_an_interval_of_which_an_end_is_a_declared_bound_for_every_row_is_refused():
    """Targets near the low bound with a long tail: where the high end was open, intervals were the whole range."""
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 1, (6000, 2))
    y = 3 * x[:, 0] + np.where(
        rng.uniform(size=6000) < 0.045, rng.uniform(20, 50, 6000), rng.uniform(0, 3, 6000)
    )
    reg = PrivateRegressor(Domain.box(0, 1, features=2, target=Numeric(0, 60)), epsilon=8.0, steps="linear")
    reg.fit(x[:4000], y[:4000])

    def counted(rows=slice(4000, None), epsilon=8.0, **more):
        return reg.evaluate(x[rows], y[rows], epsilon=epsilon, measures="residuals", **more)

    for level, said in ((0.9, r"too few rows .* error_bound=\d"), (0.95, "last bars hold more")):
        with pytest.raises(ValueError, match=said):
            reg.predict_interval(x, level, evaluation=counted())
    low, high = reg.predict_interval(x, 0.9, evaluation=counted(error_bound=60)).T
    assert (high < 60).all() and ((low <= y) & (y <= high)).mean() >= 0.9
    # no error is beyond these: a larger bound does not help
    few, coarse = counted(slice(4000, 4150), 2.0, error_bound=60), counted(error_bound=60, bins=2)
    for of, level, said in ((few, 0.95, "too few rows were measured"), (coarse, 0.3, "larger bins=")):
        with pytest.raises(ValueError, match=said):
            reg.predict_interval(x, level, evaluation=of)


def test_an_interval_that_reaches_the_bounds_from_either_of_them_is_refused():
    """Both ends are told, and yet it is the range: 1 % of errors at each end of it."""
    x, y = rows(500, 3)
    reg = PrivateRegressor(DOMAIN, epsilon=1.0, steps="linear").fit(x, y)
    made = reg.evaluate(x, y, epsilon=8.0, measures="residuals", error_bound=8)
    of = replace(made, counts={"residuals": np.array([0.0, 60, *[0] * 7, 1440, 1440, *[0] * 7, 60, 0])})
    assert reg.predict_interval(x, 0.9, evaluation=of).shape == (500, 2)  # within 0.8 on either side
    with pytest.raises(ValueError, match="too few rows"):
        reg.predict_interval(x, 0.97, evaluation=of)


def test_an_interval_that_is_the_range_for_most_predictions_is_refused():
    """One side was the whole range and the other three quarters of it: in 3 of 15 runs that was the range for every row."""
    plan = plan_evaluation(DOMAIN, n=500, epsilon=1.0, measures="residuals")
    for low, high, refused in (
        (-8, 6, 1),
        (-6, 9, 1),
        (-7, 7, 1),
        (-8, 5, 0),
        (-6.5, 6.5, 0),
        (-1, math.inf, 1),
    ):
        spread = np.linspace(-4, 4, 1001)
        share = ((spread + low <= -4) & (spread + high >= 4)).mean()
        assert _open(plan, low, high) == bool(refused) == (share >= 0.7 or math.isinf(high))


def test_the_holdout_of_another_fit_is_another_model():
    """It names no model, because it was planned before the fit."""
    x, y = rows(2000, 4)
    held = {
        "epsilon": 2.0,
        "holdout": 0.3,
        "evaluate_epsilon": 2.0,
        "evaluate_measures": "residuals",
        "steps": "linear",
    }
    mine, other = (PrivateRegressor(DOMAIN, **held).fit(x, y) for _ in range(2))
    assert np.array_equal(
        mine.predict_interval(x[:5], 0.5), mine.predict_interval(x[:5], 0.5, evaluation=mine.evaluation_)
    )
    with pytest.raises(ValueError, match="did not measure this model"):
        mine.predict_interval(x, 0.5, evaluation=other.evaluation_)


@pytest.mark.parametrize(("count", "n"), [(0, 50), (3, 200), (40, 400)])
def test_the_largest_share_is_one_that_so_few_rows_would_rarely_have(count, n):
    """Chernoff's bound against the binomial law itself."""

    def excluded(count, n, share, failure):
        return bool(_excluded(np.array([count]), n, share, failure)[0])

    p = next(share for share in np.linspace(0, 1, 20_001)[1:-1] if excluded(float(count), n, share, 0.01))
    logs = [
        math.lgamma(n + 1)
        - math.lgamma(k + 1)
        - math.lgamma(n - k + 1)
        + k * math.log(p)
        + (n - k) * math.log1p(-p)
        for k in range(count + 1)
    ]
    assert sum(map(math.exp, logs)) <= 0.01 + 1e-9 and count / n < p < count / n + 5 * math.sqrt(
        (count + 3) / n**2
    )
    assert not any(excluded(*few, 0.99, 0.1) for few in ((5.0, 5), (0.0, 0), (0.0, -3)))


ERRORS = {
    "narrow": lambda rng, n: rng.normal(0, 0.4, n),
    "wide": lambda rng, n: rng.normal(0, 1.5, n),
    "skewed": lambda rng, n: 0.5 * (rng.lognormal(0, 0.9, n) - 1.5),
    "heavy": lambda rng, n: 0.4 * rng.standard_t(2, n),
    "one in twenty far off": lambda rng, n: np.where(
        rng.random(n) < 0.05, rng.normal(4.5, 0.3, n), rng.normal(0, 0.5, n)
    ),
}
PLANS = (  # rows, ε, level, measures, the share of rows without a label
    (400, 1.0, 0.8, ("r2", "residuals"), 0.0),
    (400, 2.0, 0.9, ("r2", "residuals"), 0.0),
    (1500, 1.0, 0.9, "residuals", 0.4),
    (3000, 1.0, 0.9, "residuals", 0.4),
    (1500, 3.0, 0.9, "residuals", 0.4),
    (250, 3.0, 0.8, "residuals", 0.0),
    (3000, 0.3, 0.8, "residuals", 0.0),
    (600, 1.0, 0.7, "residuals", 0.2),
    (6000, 1.0, 0.9, "residuals", 0.4),
)


def measured(rng, kind, n, epsilon, measures, missing, **more):
    """An evaluation of rows that have these errors, without a model."""
    plan = plan_evaluation(DOMAIN, n=n, epsilon=epsilon, measures=measures, **more)
    labelled, edges = rng.binomial(n, 1 - missing), plan.error_bound * (2 * np.array(plan.edges) - 1)
    bars = np.searchsorted(edges, np.clip(ERRORS[kind](rng, labelled), -8, 8), side="right")
    counts = np.bincount(bars, minlength=len(edges) + 1) + rng.normal(0, plan.noise, len(edges) + 1)
    mean = np.array([labelled / 2, labelled / 2, n - labelled]) + rng.normal(0, plan.noise, 3)
    return PrivateEvaluation(plan, {"residuals": counts, MEAN_RESIDUAL: mean}, True)


def why_not(of, level):
    try:
        error_band(of, level)
    except ValueError as refused:
        return str(refused)
    return ""


def named_by(told, n, epsilon):
    """What a refusal names: (which, rows, ε, other arguments)."""
    for way in re.split(r" with ", told.rpartition("in most runs")[2].partition(", as in")[0])[1:]:
        rows, larger, bound = (
            re.search(rf"{name}([\d,.]*\d)", way) for name in ("about ", "epsilon=", "error_bound=")
        )
        assert rows or larger or bound, told
        yield (
            "".join(name for name, at in (("rows", rows), ("ε", larger), ("bound", bound)) if at),
            int(rows[1].replace(",", "")) if rows else n,
            float(larger[1]) if larger else epsilon,
            {"error_bound": float(bound[1])} if bound else {},
        )


def test_what_is_named_for_a_refused_interval_gives_it():
    """What was named where the noise had been kind failed 102 of 109 times, a larger error bound 59 of 60. Each try was paid for. Refusals are made first, and each
    is followed: so what noise chose is among them."""
    rng, tried, refused, told_none = np.random.default_rng(0), {}, 0, 0
    for kind in ERRORS:
        for n, epsilon, level, measures, missing in PLANS:
            for _ in range(5):
                first = measured(rng, kind, n, epsilon, measures, missing)
                if not (told := why_not(first, level)):
                    continue
                refused += 1
                ways = list(named_by(told, n, epsilon))
                told_none += not ways
                assert bool(ways) != ("is not shown by these counts" in told), told
                if smaller := re.search(r"Level (0\.\d+) is given", told):
                    assert error_band(first, float(smaller[1]))
                    assert smaller.start() < told.index(
                        "in most runs" if ways else "is not shown by these counts"
                    )
                for which, rows, larger, more in ways:
                    assert larger == epsilon or larger >= 1.1 * epsilon, told
                    assert rows == n or rows >= 1.2 * n, told
                    again = measured(rng, kind, rows, larger, measures, missing, **more)
                    tried.setdefault(which, []).append(not why_not(again, level))
    assert {"rows", "ε", "rowsbound", "bound"} == set(tried) and refused > 2 * told_none
    for which, given in tried.items():
        assert np.mean(given) >= 0.95 and len(given) >= 5, (which, np.mean(given), len(given))


def test_where_a_tail_holds_too_much_for_any_number_of_rows_hardly_anything_is_named():
    """6 % of errors at each end of a level of 0.9: noise can hide some of them, and more rows do not help."""
    rng, named = np.random.default_rng(1), 0
    for _ in range(300):
        plan = plan_evaluation(DOMAIN, n=1000, epsilon=1.0, measures="residuals", error_bound=8)
        counts = rng.normal(0, plan.noise, 20)
        counts[[0, 10, 19]] += 60, 880, 60
        of = PrivateEvaluation(plan, {"residuals": counts, MEAN_RESIDUAL: np.array([500.0, 500, 0])}, True)
        named += bool(list(named_by(why_not(of, 0.9), 1000, 1.0)))
    assert named <= 15, named


@pytest.mark.parametrize(("n", "epsilon"), ((150, 1.0), (60, 8.0), (400, 0.3), (600, 1.0), (3000, 1.0)))
def test_a_plan_says_before_the_charge_whether_intervals_will_probably_be_refused(n, epsilon):
    """Of errors near 0, which give them as often as any."""
    plan = plan_evaluation(DOMAIN, n=n, epsilon=epsilon, measures="residuals")
    edges, rng, given = plan.error_bound * (2 * np.array(plan.edges) - 1), np.random.default_rng(0), 0
    for _ in range(200):
        counts = rng.normal(0, plan.noise, len(edges) + 1)
        counts[len(edges) // 2] += n
        given += all(map(math.isfinite, band_of(counts, edges, plan.noise, 0.9)))
    told = "predict_interval" in hardly_measured(plan)
    assert told == (given < 120), (given, hardly_measured(plan))


@pytest.mark.parametrize(("n", "epsilon"), ((120, 1.0), (300, 1.0), (2000, 0.3)))
def test_rows_that_a_forecast_of_intervals_names_are_enough_and_half_of_them_are_not(n, epsilon):
    def told(rows):
        return hardly_measured(plan_evaluation(DOMAIN, n=rows, epsilon=epsilon, measures="residuals"))

    named = int(re.findall(r"about ([\d,]+) rows", told(n))[0].replace(",", ""))
    assert "predict_interval" not in told(named) and "predict_interval" in told(named // 2), (
        named,
        told(named),
    )


def test_a_larger_error_bound_is_named_only_where_so_many_rows_can_give_an_interval():
    """It was named at 234 rows, where noise and chance alone refuse one at any bound, and where 234 of 3,000 had a label."""
    rng, said = np.random.default_rng(6), []
    for n, labelled, epsilon in ((234, 234, 1.0), (234, 234, 4.0), (3000, 234, 4.0), (3000, 3000, 4.0)):
        plan = plan_evaluation(DOMAIN, n=n, epsilon=epsilon, measures="residuals", error_bound=1.0)
        for _ in range(20):
            counts = rng.normal(0, plan.noise, len(plan.edges) + 1)
            counts[[0, len(plan.edges) // 2, -1]] += 0.06 * labelled, 0.88 * labelled, 0.06 * labelled
            mean = np.array([labelled / 2, labelled / 2, n - labelled])
            told = why_not(PrivateEvaluation(plan, {"residuals": counts, MEAN_RESIDUAL: mean}, True), 0.9)
            said.append("bound" in [which for which, *_ in named_by(told, n, epsilon)])
    assert not any(said[:60]) and all(said[60:]), said


@pytest.mark.parametrize(("bins", "refused"), ((2, True), (3, False), (4, False)))
def test_a_forecast_knows_that_one_edge_has_no_two_ends(bins, refused):
    plan = plan_evaluation(DOMAIN, n=100_000, epsilon=1.0, measures="residuals", bins=bins)
    assert ("predict_interval" in hardly_measured(plan)) is refused


@pytest.mark.parametrize(
    ("band", "said"),
    [
        ((-30.0, 30.0), "the whole declared range"),
        ((-30.0, 1.0), "the lower end of most"),
        ((-1.0, 30.0), "the upper end of most"),
        ((-1.0, 1.0), None),
    ],
)
def test_intervals_that_end_at_declared_bounds_are_warned_of(band, said, monkeypatch):
    """A reader followed the level that a refusal names: the interval was the whole declared range for most people in 7 of 12 fits, in silence."""
    x, y = rows(600, 0)
    domain = Domain.box(0, 1, x.shape[1], target=Numeric(-15, 15))
    reg = PrivateRegressor(domain, epsilon=2.0, holdout=0.3, evaluate_measures=("r2", "residuals")).fit(x, y)
    monkeypatch.setattr("prepriv.regressor.error_band", lambda made, level: band)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reg.predict_interval(x[:50])
        assert len(reg.predict_interval(x[:0])) == 0
    found = [
        str(w.message)
        for w in caught
        if "of these intervals" in str(w.message) or "of most of these" in str(w.message)
    ]
    assert len(found) == (said is not None) and all(said in one for one in found)
