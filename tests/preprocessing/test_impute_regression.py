"""Regression imputation: the solver against another, strong convexity against random pairs."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from neighbouring import Summing
from scipy.optimize import minimize

from prepriv import payment as pay
from prepriv.columns import Numeric
from prepriv.domain import Domain
from prepriv.preprocessing import impute_regression
from prepriv.preprocessing._sums import SUM_ERROR
from prepriv.preprocessing.base import RowShift
from prepriv.preprocessing.impute_caps import MissingCaps
from prepriv.preprocessing.impute_regression import (
    Frame,
    RegressionImputer,
    gradient_diameter,
    solve_in_ball,
)
from prepriv.space import Space

NAN = math.nan


def box(d, *missing):
    gaps = np.zeros(d, dtype=bool)
    gaps[list(missing)] = True
    return Space(np.zeros(d), np.ones(d), math.sqrt(d), gaps)


def imputer(ridge=0.1, bound=1.0, **caps):
    return RegressionImputer(ridge, bound, payment=pay.Sensitivity(caps))


def table(rng, n, d, share=0.1):
    """Rows whose last column follows the first two, some of its cells missing."""
    x = rng.random((n, d))
    x[:, -1] = np.clip(0.7 * x[:, 0] + 0.3 * x[:, 1], 0, 1)
    x[rng.random(n) < share, -1] = NAN
    return x


@pytest.mark.parametrize("bound", [0.2, 1.0, 50.0])
def test_solver_agrees_with_a_general_one(bound):
    rng = np.random.default_rng(0)
    for _ in range(5):
        m = rng.normal(size=(4, 3))
        a, b = m.T @ m + 0.1 * np.eye(3), rng.normal(size=3)
        other = minimize(
            lambda w, a=a, b=b: w @ a @ w / 2 - b @ w,
            np.zeros(3),
            jac=lambda w, a=a, b=b: a @ w - b,
            constraints={"type": "ineq", "fun": lambda w: bound**2 - w @ w, "jac": lambda w: -2 * w},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        ).x
        w = solve_in_ball(a, b, bound)
        assert np.linalg.norm(w) <= bound * (1 + 1e-12)
        assert w == pytest.approx(other, abs=2e-4)
        assert w @ a @ w / 2 - b @ w <= other @ a @ other / 2 - b @ other + 1e-9


def test_predicts_better_than_the_mean():
    rng = np.random.default_rng(1)
    x = table(rng, 2000, 4)
    truth = np.clip(0.7 * x[:, 0] + 0.3 * x[:, 1], 0, 1)
    gaps = np.isnan(x[:, 3])
    filled = (
        imputer(0.001, 3.0, missing=0.2).fit_confidential([x[:900], x[900:]], box(4, 3), 2000).transform(x)
    )
    error = np.sqrt(np.mean((filled[gaps, 3] - truth[gaps]) ** 2))
    assert error < 0.3 * truth.std()
    assert (filled[~gaps] == x[~gaps]).all()


def test_price_of_one_column_by_hand():
    """The diameter of the gradients, at B = 1 1.5 sqrt 3, half the width, over ridge times n: p D / (2 ridge n) in all."""
    s = imputer(0.1, 1.0, missing=0.05).sensitivity(box(3, 2), 1000)
    apart = 1.5 * math.sqrt(3)
    assert s.total_shift == pytest.approx(50 * apart / 200, rel=1e-6)
    assert s.row_shift == pytest.approx(apart / 200, rel=1e-6)
    curved = imputer(0.1, 1.0, missing=0.05, curvature=0.1).sensitivity(box(3, 2), 1000)
    assert curved.total_shift == pytest.approx(50 * apart / 400, rel=1e-6)
    assert "records in which 'x2' is not missing, sum zz' / (all records) is at least 0.1" in str(
        curved.conditions[1]
    )
    assert imputer(missing=0.05, fade=0.1).sensitivity(box(3, 2), 1000).conditions == ()


@pytest.mark.parametrize("bound", [0.5, 2.0])
def test_random_pairs_with_any_mask_stay_within_the_bound(bound):
    rng = np.random.default_rng(2)
    space, n = box(3, 1, 2), 12
    step = imputer(0.05, bound, missing=0.4)
    declared = step.sensitivity(space, n)
    for _ in range(400):
        x = np.round(rng.random((n, 3)) * rng.integers(1, 4)) / 3
        x[rng.random((n, 3)) < 0.25] = NAN
        x[:, 0] = np.nan_to_num(x[:, 0])
        y = x.copy()
        y[0, 0] = rng.integers(0, 2)
        y[0, 1:] = rng.choice([0.0, 1.0, NAN], 2)
        if min(step.distance([x], space, n), step.distance([y], space, n)) <= 0:
            continue
        out = [step.fit_confidential([v], space, n).transform(v)[1:] for v in (x, y)]
        far = np.linalg.norm(out[0] - out[1], axis=1)
        assert (far > 0).sum() <= declared.rows_moved
        assert far.max() <= declared.row_shift
        assert far.sum() <= declared.total_shift


def test_map_is_as_steep_as_declared():
    rng = np.random.default_rng(3)
    space = box(3, 1, 2)
    step = imputer(0.001, 2.0, missing=0.6)
    x = table(rng, 200, 3)
    x[::3, 1] = NAN
    fitted = step.fit_confidential([x], space, 200)
    a = np.clip(rng.random((500, 3)), 0, 1)
    b = np.clip(a + 0.05 * rng.normal(size=a.shape), 0, 1)
    gaps = rng.random(a.shape) < 0.5
    gaps[:, 0] = False
    a[gaps] = b[gaps] = NAN
    before = np.linalg.norm(np.nan_to_num(a - b), axis=1)
    after = np.linalg.norm(fitted.transform(a) - fitted.transform(b), axis=1)
    assert (after <= step.lipschitz(space) * before + 1e-12).all()


def test_distance_is_one_lipschitz_and_bounds_the_curvature():
    rng = np.random.default_rng(4)
    space, n = box(3, 2), 15
    step = imputer(0.1, 1.0, missing=0.4, curvature=0.05)
    frame = Frame.of(space)
    for _ in range(200):
        x = table(rng, n, 3, 0.2)
        y = x.copy()
        y[rng.integers(n)] = np.append(np.round(rng.random(2)), rng.choice([0.0, 1.0, NAN]))
        here, there = (step.distance([v], space, n) for v in (x, y))
        assert abs(here - there) <= 1 + 1e-9
        z = frame.z(x[~np.isnan(x[:, 2])])
        if here > 0:
            assert np.linalg.eigvalsh(z.T @ z)[0] >= 0.05 * n


def test_budget_products_move_by_no_more_than_declared():
    rng = np.random.default_rng(5)
    space, step = box(4, 2, 3), RegressionImputer(payment=pay.Budget())
    seen = []

    def look(rows, *, dim, radius):
        seen.append(np.vstack(list(rows)))
        assert seen[-1].shape[1] == dim
        assert np.linalg.norm(seen[-1], axis=1).max() <= radius * (1 + 1e-12)
        return seen[-1].sum(axis=0)

    x = np.round(rng.random((300, 4)) * 2) / 2
    x[rng.random(300) < 0.2, 2] = NAN
    step.fit_budget([x], space, 300, Summing(look))
    far = np.linalg.norm(seen[0][:, None] - seen[0][None], axis=2).max()
    assert far <= step.l2_sensitivity(space, "replace-one", RowShift())
    y = np.clip(x + 0.01 * rng.normal(size=x.shape), 0, 1)
    step.fit_budget([y], space, 300, Summing(look))
    moved = np.linalg.norm(np.nan_to_num(x - y), axis=1).sum()
    came = RowShift(300, 1.0, float(moved))
    extra = step.l2_sensitivity(space, "replace-one", came) - step.l2_sensitivity(
        space, "replace-one", RowShift()
    )
    assert np.linalg.norm(seen[0].sum(axis=0) - seen[1].sum(axis=0)) <= extra


def products(space, *records):
    """What each record adds to the sum of a fit by budget."""
    seen = []

    def look(rows, *, dim, radius):
        seen.append(np.vstack(list(rows)))
        assert seen[-1].shape[1] == dim and np.linalg.norm(seen[-1], axis=1).max() <= radius * (1 + 1e-12)
        return seen[-1].sum(axis=0)

    RegressionImputer(payment=pay.Budget()).fit_budget(
        [np.array(records)], space, len(records), Summing(look)
    )
    return seen[0]


@pytest.mark.parametrize("targets", [1, 2, 4])
def test_budget_products_move_as_far_as_declared(targets):
    """Two rows at an angle of sixty degrees, all targets at opposite bounds; one row more that has all of them."""
    d = 2 + targets
    space = Space(-np.ones(d), np.ones(d), math.sqrt(d), np.arange(d) >= 2)
    one, two = np.ones(d), np.append([1.0, -1.0], -np.ones(targets))
    there = products(space, one, two)
    step = RegressionImputer(payment=pay.Budget())
    apart = step.l2_sensitivity(space, "replace-one", RowShift())
    assert np.linalg.norm(there[0] - there[1]) == pytest.approx(apart)
    alone = step.l2_sensitivity(space, "add-or-remove-one", RowShift())
    assert np.linalg.norm(there[0]) == pytest.approx(alone)


def test_budget_products_of_a_dropped_row_are_no_further_away():
    """It arrives as zeros, here four half widths from the midpoint of its target."""
    space = Space(np.array([0.0, 1.5]), np.array([1.0, 2.5]), 3.0, np.array([False, True]))
    step = RegressionImputer(payment=pay.Budget())
    came = RowShift(0, 0.0, 0.0, 1)
    none = step.l2_sensitivity(space, "replace-one", RowShift())
    extra = step.l2_sensitivity(space, "replace-one", came) - none
    zeros, *others = products(space, [0.0, 0.0], [0.0, 2.5], [1.0, 2.5], [0.0, NAN])
    assert max(np.linalg.norm(zeros - other) for other in others) <= extra


def test_budget_products_come_in_blocks_of_bounded_size(monkeypatch):
    rng, space = np.random.default_rng(8), box(4, 2, 3)
    x = rng.random((50, 4))
    x[rng.random(50) < 0.5, 3] = NAN
    whole = products(space, *x)
    monkeypatch.setattr(impute_regression, "_PRODUCTS", 100)
    assert products(space, *x) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.6, 0.95])
def test_budget_fit_without_noise_is_close_to_the_public_one(share):
    """The squares were those of all records: with three fifths missing, predictions were two fifths of what they should be."""
    x = table(np.random.default_rng(6), 3000, 3, share)
    space = box(3, 2)
    public = RegressionImputer(0.01, 2.0, payment=pay.Public()).fit_public([x], space, 3000)
    private = RegressionImputer(0.01, 2.0, payment=pay.Budget()).fit_budget(
        [x], space, 3000, Summing(lambda rows, *, dim, radius: np.vstack(list(rows)).sum(axis=0))
    )
    assert private.weights == pytest.approx(public.weights, rel=1e-6)
    assert json.dumps(public.to_json())


def test_needs_a_complete_column():
    domain = Domain({"a": Numeric(0, 1, "impute")}, (0, 1))
    with pytest.raises(ValueError, match=r"a column .* never missing"):
        imputer(missing=0.1).sensitivity(domain, 100)
    assert imputer().sensitivity(box(2), 10) == RowShift()


def test_moved_rows_move_their_predictions_too():
    """Only rows that miss their cell moved: the fit is the same, and each goes further than it came."""
    n, gaps = 20_000, 10
    space, step = box(2, 1), imputer(0.01, 2.0, missing=gaps / n)
    x = np.repeat(np.linspace(0, 1, n)[:, None], 2, axis=1)
    x[:gaps, 1] = NAN
    x[:gaps, 0] = 0.2
    y = x.copy()
    y[1:gaps, 0] += 0.3
    came = RowShift(gaps - 1, 0.3, 0.3 * (gaps - 1))
    out = [step.fit_confidential([v], space, n).transform(v)[1:] for v in (x, y)]
    moved = np.linalg.norm(out[0] - out[1], axis=1).sum()
    assert moved > 1.3 * came.total_shift
    assert moved <= step.sensitivity(space, n, came).total_shift
    own = step.sensitivity(space, n).total_shift
    assert moved > came.total_shift + 2 * own  # so the lipschitz of the map has to be in the bound


@pytest.mark.parametrize("n", [1000, 2 * 10**9, 10**12])
def test_distance_holds_for_the_moments_as_computed_whatever_n(monkeypatch, n):
    """Two sums of n products may be off by 2^-41 n each: more than the error of a test from 1e9 records on."""
    step = RegressionImputer(payment=pay.Sensitivity({"missing": 0.5, "curvature": 0.1}))
    space, wrong = Space(np.zeros(2), np.ones(2), 2.0, np.array([False, True])), 2 * SUM_ERROR * n
    monkeypatch.setattr(MissingCaps, "distance", lambda *_: math.inf)

    def seen(least):
        moments = np.array([np.diag([0.5 * n, least])])
        monkeypatch.setattr(RegressionImputer, "_moments", staticmethod(lambda *_: (moments, None, None)))
        return step.distance([], space, n)

    assert seen(0.1 * n + wrong) <= 0
    for true in (0.2, 0.4):
        assert abs(seen(true * n + 1 + wrong) - seen(true * n - wrong)) <= 1 + 1e-6


@pytest.mark.parametrize("bound", [0.1, 0.25, 0.6, 1.0, 2.0, 3.0, 10.0])
def test_two_gradients_are_apart_by_the_diameter_and_no_more(bound):
    """Against all pairs of a fine set of records in space, for weights of any length up to the bound."""
    rng, declared = np.random.default_rng(7), gradient_diameter(bound)
    for length in (bound, 0.7 * bound, 0.2 * bound, 0.0):
        angle = np.concatenate([np.linspace(0, np.pi, 181), rng.uniform(0, np.pi, 200)])
        turn, r = rng.choice([0.0, np.pi, 1.0], len(angle)), np.sqrt(rng.random(len(angle)))
        r[:181] = 1.0
        sides = np.sin(angle) * np.cos(turn), np.sin(angle) * np.sin(turn)
        z = r[:, None] * np.column_stack([np.cos(angle), *sides])
        z = np.concatenate([z, z * [1, -1, -1]])
        for t in (np.ones(len(z)), -np.ones(len(z)), rng.uniform(-1, 1, len(z))):
            g = (length * z[:, :1] - t[:, None]) * z
            far = np.sqrt(((g[:, None] - g[None]) ** 2).sum(axis=2).max())
            assert far <= declared
    c = 2 * bound / (1 + math.sqrt(1 + 8 * bound**2))
    one, two = (np.array([c, s * math.sqrt(1 - c * c)]) for s in (1, -1))
    reached = np.linalg.norm((bound * c + 1) * one - (bound * c + 1) * two)
    assert reached == pytest.approx(declared, rel=1e-11) and declared <= 2 * (1 + bound)
    every = np.linspace(0, 1, 100_001)
    assert declared == pytest.approx((2 * (1 + bound * every) * np.sqrt(1 - every**2)).max(), rel=1e-8)
