"""Standard scaling: the map, the bounds against structured worst cases, and the paper's bounds that are false."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from neighbouring import Summing, after_shift_and_drops, box, measure

from prepriv import payment as pay
from prepriv.domain import Domain
from prepriv.learners import GradientDescent, Logistic
from prepriv.plans.plan import make_plan
from prepriv.plans.stored import plan_from_json
from prepriv.preprocessing._sums import SUM_ERROR
from prepriv.preprocessing.base import RowShift
from prepriv.preprocessing.scale import StandardScaler
from prepriv.space import Space

PAID = pay.Sensitivity()


def scaler(*args, **options):
    return StandardScaler(*args, payment=PAID, **options)


def shifts(step, space, x, y):
    """How far the rows 1, 2, ... are apart after a fit on each data set."""
    out = [step.fit_confidential([v], space, len(v)).transform(v)[1:] for v in (x, y)]
    return np.linalg.norm(out[0] - out[1], axis=1)


# ------------------------------------------------------------------------------------------ the algorithm


@pytest.mark.parametrize("center", ["mean", "midpoint"])
@pytest.mark.parametrize("rule", ["max", "root", "none"])
def test_map_equals_its_definition(center, rule):
    rng = np.random.default_rng(0)
    x = np.clip(0.3 + rng.normal(size=(400, 3)) * [0.2, 0.05, 0.15], 0, 1)
    step = scaler(0.1, rule, center, 100.0)
    got = step.fit_confidential([x[:123], x[123:]], box(3), 400).transform(x)
    c = x.mean(axis=0) if center == "mean" else np.full(3, 0.5)
    sigma = np.sqrt(np.mean((x - c) ** 2, axis=0))
    divisor = {"max": np.maximum(sigma, 0.1), "root": np.hypot(sigma, 0.1), "none": sigma}[rule]
    reach = 10 if center == "mean" else 5
    assert got == pytest.approx(np.clip((x - c) / divisor, -reach, reach), abs=1e-12)


def test_rows_are_pulled_back_to_the_declared_radius():
    x = np.random.default_rng(1).random((50, 4))
    step = scaler(0.1, radius=1.5)
    y = step.fit_confidential([x], box(4), 50).transform(x)
    assert np.linalg.norm(y, axis=1).max() <= 1.5 * (1 + 1e-12)
    assert step.output(box(4)).radius == 1.5


def test_only_the_named_columns_are_scaled():
    x = np.random.default_rng(2).random((50, 3))
    step = scaler(0.1, radius=50.0, columns=["x1"])
    y = step.fit_confidential([x], box(3), 50).transform(x)
    assert (y[:, [0, 2]] == x[:, [0, 2]]).all()
    assert y[:, 1].mean() == pytest.approx(0, abs=1e-12)
    after = step.output(box(3))
    assert after.low[1] == -10 and after.low[0] == 0
    assert scaler(0.1, radius=50.0, columns=["x1"]).lipschitz(box(3)) == 10


def test_output_space_holds_the_rows():
    rng = np.random.default_rng(3)
    for center in ("mean", "midpoint"):
        for rule in ("max", "root", "none"):
            x = np.round(rng.random((30, 2)) ** 4, 1)
            step, space = scaler(0.05, rule, center), box(2)
            y, after = step.fit_confidential([x], space, 30).transform(x), step.output(space)
            assert (y >= after.low - 1e-12).all() and (y <= after.high + 1e-12).all()
            assert np.linalg.norm(y, axis=1).max() <= after.radius * (1 + 1e-12)


def test_a_column_without_spread_is_no_division_by_zero():
    x = np.full((10, 1), 0.25)
    for rule in ("max", "root", "none"):
        assert np.isfinite(scaler(0.1, rule).fit_confidential([x], box(1), 10).transform(x)).all()


# --------------------------------------------------------------------------------------- the sensitivity


def test_closed_forms():
    """Box side w, floor s: (w/s) sqrt(1 + w^2/(4 s^2)); the ball of radius R: (2R/s) sqrt(1 + R^2/s^2)."""
    ratio = 10.0
    line = scaler(0.1).sensitivity(box(1), 10**4)
    assert line.total_shift == pytest.approx(ratio * math.sqrt(1 + ratio**2 / 4), rel=1e-4)
    assert line.rows_moved == 9999
    radius, s = 1.0, 0.2
    ball = scaler(0.1, radius=1e3).sensitivity(Space.ball(30, radius), 10**5)
    assert ball.total_shift == pytest.approx(2 * radius / s * math.sqrt(1 + (radius / s) ** 2), rel=1e-4)
    midpoint = scaler(0.1, center="midpoint").sensitivity(box(1), 10**4)
    assert midpoint.total_shift == pytest.approx(ratio**2 / 8, rel=1e-4)
    both = scaler(0.1, "root", "midpoint").sensitivity(box(1), 10**4)
    assert both.total_shift == pytest.approx(ratio**2 / 4 / (3 * math.sqrt(3)), rel=1e-4)


@pytest.mark.parametrize("floor", [0.02, 0.05, 0.1, 0.3, 0.5])
def test_root_bound_is_the_maximum_it_claims(floor):
    """The closed form against a fine grid of variances."""
    v = np.linspace(0, 0.25, 200_001)
    w, s2 = 1.0, floor**2
    largest = np.sqrt((w**4 * v / (4 * (v + s2) ** 3) + w**2 / (v + s2)).max())
    step = scaler(floor, "root", radius=1e6)
    assert step.sensitivity(box(1), 1000).total_shift == pytest.approx(largest, rel=1e-5)
    assert step.sensitivity(box(1), 1000).total_shift >= largest


def test_columns_add_up_in_squares():
    one, four = (scaler(0.1, radius=1e6).sensitivity(box(d), 1000).total_shift for d in (1, 4))
    assert four == pytest.approx(2 * one, rel=1e-6)


def test_a_declared_radius_caps_what_stretches():
    """100 columns pulled back to norm 1: 150 in place of 510."""
    free = scaler(0.1, radius=1e6).sensitivity(box(100), 10**4).total_shift
    tight = scaler(0.1, radius=1.0).sensitivity(box(100), 10**4).total_shift
    assert free == pytest.approx(510, abs=1)
    assert tight == pytest.approx(0.5 * 100 + 10 * 10, abs=1)


def edge_rows(n, s, share=0.5, width=1.0):
    """Rows at two values by the edge, standard deviation s; the record leaps from their mean to the far end."""
    up = np.arange(1, n) < 1 + share * (n - 1)
    x = np.empty((n, 1))
    a, b = math.sqrt((1 - share) / share), math.sqrt(share / (1 - share))
    x[1:, 0] = b * s + s * np.where(up, a, -b)
    x[0] = x[1:].mean()
    y = x.copy()
    y[0] = width
    return x, y


def test_bound_is_nearly_reached_for_a_small_floor():
    """0.77 of it at s = w/10, 0.95 at s = w/50: no bound of this shape can be much smaller."""
    for floor, least in ((0.1, 0.76), (0.02, 0.94)):
        x, y = edge_rows(400_001, floor)
        step = scaler(floor, radius=1e6)
        found = shifts(step, box(1), x, y).sum()
        declared = step.sensitivity(box(1), len(x)).total_shift
        assert least * declared <= found <= declared


def test_midpoint_bounds_are_reached():
    n = 20_001
    for rule, s in (("max", 0.1), ("root", 0.1 / math.sqrt(2))):
        s *= math.sqrt(n / (n - 1))  # the record itself has no spread
        x = 0.5 + s * np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
        x[0] = 0.5
        y = x.copy()
        y[0] = 1.0
        step = scaler(0.1, rule, "midpoint", 1e6)
        found, declared = shifts(step, box(1), x, y).sum(), step.sensitivity(box(1), n).total_shift
        assert 0.99 * declared <= found <= declared


def test_bound_after_a_shift_is_nearly_reached():
    """Twenty far rows move further out: the variance, every row and they themselves, all at once."""
    n, far = 40_001, 20
    x = 0.5 + 0.1 * np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    x[1 : 1 + far], x[0] = 0.9, 0.5
    y = x.copy()
    y[1 : 1 + far] = y[0] = 1.0
    step, came = scaler(0.1, "max", "midpoint", 1e6), RowShift(far, 0.1, 0.1 * far)
    found = shifts(step, box(1), x, y).sum()
    declared = step.sensitivity(box(1), n, came).total_shift
    assert 0.9 * declared <= found <= declared
    assert found > declared - came.total_shift * step.lipschitz(box(1))  # no term can be left out


@pytest.mark.parametrize(("center", "place"), [("midpoint", 0.5), ("mean", 0.9)])
def test_bound_after_drops_is_nearly_reached(center, place):
    """Dropped rows arrive as zeros: each counts as one more record."""
    n, drops = 40_001, 4
    x = place + 0.1 * np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    x[: 1 + drops] = place
    y = x.copy()
    y[0] = 1.0 if center == "midpoint" else 0.0
    y[1 : 1 + drops] = 0.0
    step, came = scaler(0.1, "max", center, 1e6), RowShift(rows_dropped=drops)
    found = shifts(step, box(1), x, y)[drops:].sum()
    declared = step.sensitivity(box(1), n, came).total_shift
    assert 0.6 * declared <= found <= declared


@pytest.mark.parametrize("center", ["mean", "midpoint"])
def test_dropped_rows_may_stand_far_outside_the_box(center):
    """Bounds [2, 3]: a dropped row arrives as a zero, two widths away from all others."""
    n = 40_001
    x = 2.5 + 0.1 * np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    x[:3] = 2.5
    y = x.copy()
    y[1] = 0.0
    step, space = scaler(0.1, "max", center, 1e6), box(1, 2.0, 3.0)
    found = shifts(step, space, x, y)[1:].sum()
    assert found > 4 * step.sensitivity(space, n).total_shift
    assert found <= step.sensitivity(space, n, RowShift(rows_dropped=1)).total_shift


@pytest.mark.parametrize("center", ["mean", "midpoint"])
@pytest.mark.parametrize("rule", ["max", "root"])
@pytest.mark.parametrize("radius", [0.5, 2.0, 100.0])
def test_random_pairs_after_shift_and_drops_stay_within_the_bound(center, rule, radius):
    rng = np.random.default_rng(4)
    space, n = box(2, -1.0, 2.0), 40
    step = scaler(0.15, rule, center, radius)
    for _ in range(60):
        x = np.clip(rng.normal(size=(n, 2)) * rng.random(2) * 0.7 + rng.random(2), -1, 2)
        y = np.clip(x + (rng.random((n, 1)) < 0.3) * rng.normal(size=(n, 2)) * 0.2, -1, 2)
        x[0], y[0] = rng.choice([-1.0, 2.0], 2), rng.choice([-1.0, 2.0], 2)
        moved, declared, gone = after_shift_and_drops(step, space, x, y, rng)
        assert moved.max() <= declared.row_shift
        assert moved.sum() <= declared.total_shift
        assert declared.rows_dropped == gone


def test_sensitivity_carries_what_came_in():
    came = RowShift(2, 0.1, 0.2, 1, ("a cap",), any_order=True)
    out = scaler(0.1, "none").sensitivity(box(2), 50, came)
    assert [str(c) for c in out.conditions] == [
        "a cap",
        "the standard deviation of 'x0', over all records, is at least 0.1, in units in which the declared bounds of "
        "'x0' are 0..1, where rows are as encoded",
        "the standard deviation of 'x1', over all records, is at least 0.1, in units in which the declared bounds of "
        "'x1' are 0..1, where rows are as encoded",
    ]
    assert out.rows_dropped == 1 and out.any_order


def test_distance_is_one_lipschitz_and_says_whether_the_floor_holds():
    rng = np.random.default_rng(5)
    for center in ("mean", "midpoint"):
        step, space, n = scaler(0.1, "none", center), box(2), 30
        for _ in range(300):
            x = np.round(rng.random((n, 2)) ** rng.integers(1, 6), 1)
            y = x.copy()
            y[rng.integers(n)] = rng.integers(0, 2, 2)
            here, there = (step.distance([v], space, n) for v in (x, y))
            assert abs(here - there) <= 1 + 1e-6
            c = x.mean(axis=0) if center == "mean" else 0.5
            if here > 0:
                assert np.sqrt(np.mean((x - c) ** 2, axis=0)).min() >= 0.1
    assert scaler(0.1).distance([x], space, n) == math.inf


@pytest.mark.parametrize("n", [1000, 2 * 10**9, 10**11, 10**13])
@pytest.mark.parametrize("center, share", [("mean", 0.75), ("midpoint", 0.25)])
def test_distance_holds_for_the_variances_as_computed_whatever_n(monkeypatch, center, share, n):
    """Above 2e9 records the rounding of a variance alone was more than the error a test allows for."""
    step, space, wrong = scaler(0.1, "none", center), box(1), share * SUM_ERROR
    record = (1.0 if center == "mean" else 0.25) / n  # the most that one record moves the variance by

    def seen(variance):
        monkeypatch.setattr(StandardScaler, "_moments", lambda *_: (np.zeros(1), np.array([variance])))
        return step.distance([], space, n)

    assert seen(0.01 + wrong) <= 0
    for true in (0.02, 0.2):
        assert abs(seen(true + record + wrong) - seen(true - wrong)) <= 1 + 1e-6
    assert seen(0.02) > 0.5 / (record + 4 * SUM_ERROR) * 0.01


# ----------------------------------------------------------------------------------- the other two routes


def test_a_pipeline_that_pays_by_sensitivity_is_priced_but_not_released():
    domain = Domain.box(0, 1, 2, ("a", "b"))
    assert scaler(0.1).sensitivity(domain, 1000).total_shift > 0
    with pytest.raises(ValueError, match="fitted state may not leave"):
        make_plan(domain, [scaler(0.1)], GradientDescent(Logistic()), epsilon=1, delta=1e-5, n=1000)


@pytest.mark.parametrize("center", ["mean", "midpoint"])
@pytest.mark.parametrize("space", [box(1), box(3, -1, 2), Space.ball(4, 2.0), Space.ball(40, 1.0)])
def test_budget_powers_move_by_no_more_than_declared(center, space):
    rng = np.random.default_rng(6)
    step = StandardScaler(center=center, payment=pay.Budget())
    x = space.low + space.widths * np.round(rng.random((300, space.d)) * 2) / 2
    signs = rng.choice([-1.0, 1.0], (300, space.d)) * (rng.random((300, space.d)) < 3 / space.d)
    if space.radius < np.linalg.norm(space.high) - 1e-9:  # a ball
        x = space.radius * signs / np.maximum(np.linalg.norm(signs, axis=1, keepdims=True), 1e-12)
        d45 = np.zeros((2, space.d))  # where sqrt(4.5) is reached
        d45[0, :2], d45[1, :2] = (
            (math.sqrt(14 / 15), math.sqrt(1 / 15)),
            (-math.sqrt(1 / 15), -math.sqrt(14 / 15)),
        )
        x = np.vstack([x, d45 * space.radius])
    seen = []

    def look(rows, *, dim, radius):
        seen.append(np.vstack(list(rows)))
        assert seen[-1].shape[1] == dim
        assert np.linalg.norm(seen[-1], axis=1).max() <= radius * (1 + 1e-12)
        return seen[-1].sum(axis=0)

    step.fit_budget([x], space, len(x), Summing(look))
    powers = seen[0]
    far = np.linalg.norm(powers[:, None] - powers[None], axis=2).max()
    declared = step.l2_sensitivity(space, "replace-one", RowShift())
    assert 0.9 * declared <= far <= declared
    y = np.clip(x + 0.02 * rng.normal(size=x.shape) * space.widths.max(), space.low, space.high)
    y *= np.minimum(1.0, space.radius / np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1e-12))
    step.fit_budget([y], space, len(x), Summing(look))
    came = RowShift(len(x), 1.0, float(np.linalg.norm(x - y, axis=1).sum()))
    extra = step.l2_sensitivity(space, "replace-one", came) - declared
    assert np.linalg.norm(seen[0] - seen[1], axis=1).sum() <= extra
    assert step.l2_sensitivity(space, "add-or-remove-one", RowShift()) >= np.linalg.norm(powers, axis=1).max()


@pytest.mark.parametrize("center", ["mean", "midpoint"])
@pytest.mark.parametrize("rule", ["max", "root", "none"])
@pytest.mark.parametrize("space", [box(3, -1, 2), Space.ball(30, 1.0)])
def test_budget_without_noise_equals_the_public_fit(center, rule, space):
    rng = np.random.default_rng(7)
    x = np.clip(rng.normal(size=(500, space.d)) * 0.3, space.low, space.high)
    x *= np.minimum(1, space.radius / np.linalg.norm(x, axis=1, keepdims=True))
    exact = lambda rows, *, dim, radius: np.vstack(list(rows)).sum(axis=0)  # noqa: E731
    private = StandardScaler(0.05, rule, center, payment=pay.Budget()).fit_budget(
        [x], space, 500, Summing(exact)
    )
    public = StandardScaler(0.05, rule, center, payment=pay.Public()).fit_public([x], space, 500)
    assert private.transform(x) == pytest.approx(public.transform(x), abs=1e-9)
    assert json.loads(json.dumps(public.to_json()))["map"] == "scale"


BOXES = {"box": box(6, -1, 3), "ball": Space.ball(40, 1.0)}


def shrunk_and_not(space, sums, noise):
    """The centres of both maps from the same released mean of powers; noise: of one of its cells."""
    said = Summing(lambda rows, *, dim, radius: 100 * sums, noise_multiplier=50 * noise, l2_sensitivity=2.0)
    steps = [StandardScaler(0.05, shrink=shrink, payment=pay.Budget()) for shrink in (True, False)]
    return [step.fit_budget([], space, 100, said).affine for step in steps]


@pytest.mark.parametrize("space", BOXES.values(), ids=BOXES)
@pytest.mark.parametrize("signal", [0.0, 0.3, 3.0])
def test_a_mean_that_noise_outweighs_is_drawn_to_the_midpoint_and_is_nearer_in_the_mean(space, signal):
    """Against the mean as released, in 2000 draws; James and Stein, from five columns on: never further in the mean square."""
    rng, k, sd = np.random.default_rng(0), space.d, 0.01
    centre, unit, level, _, _ = StandardScaler(payment=pay.Budget())._frame(space)
    true = np.full(k, signal * sd)
    errors = np.zeros(2)
    for _ in range(2000):
        noisy = np.concatenate([true, np.full(k, 0.3 - level)]) + rng.normal(0, sd, 2 * k)
        centres = [(made.offset - centre) / unit for made in shrunk_and_not(space, noisy, sd)]
        errors += [np.sum((c - true) ** 2) / 2000 for c in centres]
    assert errors[1] == pytest.approx(k * sd**2, rel=0.05)
    assert errors[0] < {0.0: 0.3, 0.3: 0.35, 3.0: 0.99}[signal] * errors[1]


@pytest.mark.parametrize("space", BOXES.values(), ids=BOXES)
def test_the_drawn_mean_is_its_formula_and_leaves_the_deviations_as_they_are(space):
    rng, k = np.random.default_rng(1), space.d
    centre, unit, _, _, _ = StandardScaler(payment=pay.Budget())._frame(space)
    for noise in (0.0, 0.02, 0.1, 10.0):
        sums = rng.normal(0, 0.05, 2 * k)
        drawn, plain = shrunk_and_not(space, sums, noise)
        c = max(0.0, 1 - k * noise**2 / np.sum(sums[:k] ** 2))
        assert drawn.offset == pytest.approx(centre + c * (plain.offset - centre), abs=1e-12)
        assert (drawn.factor == plain.factor).all()
        # No mean is moved by more than the length that its noise has in the root mean square.
        assert np.linalg.norm((drawn.offset - plain.offset) / unit) <= math.sqrt(k) * noise * (1 + 1e-9)


def test_the_drawn_mean_reads_no_record_but_through_the_released_sums():
    """The attack: tables as far apart as there are, and the same released sums, have one map."""
    space, sums = box(3), np.array([0.02, -0.01, 0.03, 0.1, 0.1, 0.1])
    said = Summing(lambda rows, *, dim, radius: 9 * sums, noise_multiplier=0.1, l2_sensitivity=2.0)
    step = StandardScaler(0.05, shrink=True, payment=pay.Budget())
    tables = (np.zeros((9, 3)), np.ones((9, 3)), np.eye(9, 3), np.full((9, 3), 0.5))
    maps = [json.dumps(step.fit_budget([x], space, 9, said).to_json()) for x in tables]
    assert len(set(maps)) == 1


def test_a_drawn_mean_is_priced_as_a_released_one_and_the_option_is_in_the_plan():
    drawn, plain = (StandardScaler(0.05, shrink=s, payment=pay.Budget(0.1)) for s in (True, False))
    domain = Domain.box(0, 1, 6, (0, 1), n=1000)
    one, two = (
        make_plan(domain, [step], GradientDescent(Logistic()), epsilon=1.0, delta=1e-5)
        for step in (drawn, plain)
    )
    assert one.steps[0].noise_multiplier == two.steps[0].noise_multiplier
    assert one.steps[0].shift == two.steps[0].shift and one.guarantee == two.guarantee
    assert one.to_json()["steps"][0]["shrink"] is True and "shrink" not in two.to_json()["steps"][0]
    assert [plan_from_json(p.to_json()).steps[0].step for p in (one, two)] == [drawn, plain]


def test_released_map_is_as_steep_as_declared_whatever_the_noise():
    rng = np.random.default_rng(8)
    space = box(2)
    for noise in (-1e6, 0.0, 1e6):
        step = StandardScaler(0.1, payment=pay.Budget())
        fitted = step.fit_budget(
            [rng.random((10, 2))],
            space,
            10,
            Summing(lambda rows, *, dim, radius, noise=noise: np.full(dim, noise)),
        )
        a, b = rng.random((200, 2)), rng.random((200, 2))
        after = np.linalg.norm(fitted.transform(a) - fitted.transform(b), axis=1)
        assert (after <= step.lipschitz(space) * np.linalg.norm(a - b, axis=1) + 1e-9).all()
        assert np.isfinite(fitted.transform(a)).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"floor": 0.0}, r"floor must lie in \(0, 0.5\]"),
        ({"floor": 0.7}, r"floor must lie in \(0, 0.5\]"),
        ({"rule": "mad"}, "rule must be 'max', 'root' or 'none'"),
        ({"center": "median"}, "center must be 'mean' or 'midpoint'"),
        ({"radius": -1.0}, "radius must be a finite positive number"),
        ({"columns": ("age",)}, "columns name 'age', which is not a feature here"),
        ({"columns": ()}, "columns must name at least one feature"),
        ({"shrink": 1}, "shrink must be True or False"),
        ({"shrink": True}, "shrink draws a mean with noise to the midpoint"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        scaler(**options).output(box(2))


def test_missing_cells_are_refused():
    space = Space(np.zeros(1), np.ones(1), 1.0, np.ones(1, dtype=bool))
    with pytest.raises(ValueError, match="impute first"):
        scaler().sensitivity(space, 10)


# -------------------------------------------------------------------------------------------------- errata


def test_paper_variance_bound_is_beaten_by_two_records():
    """Proposition 6 takes 2/n for the variance of data in [-1, 1]; it is up to 4(n-1)/n^2 (n = 2: 1 and 2/... )."""
    for n, least in ((2, 1.0), (50, 3.9)):
        x = np.full(n, -1.0)
        y = x.copy()
        y[0] = 1.0
        change = abs(y.var() - x.var())
        assert change == pytest.approx(4 * (n - 1) / n**2)
        assert change * n >= least
        if n > 2:
            assert change > 2 / n
    uncorrected = [np.var(v, ddof=1) for v in ([-1.0, -1.0], [-1.0, 1.0])]
    assert uncorrected[1] - uncorrected[0] == 2.0  # the paper allows 2/n = 1


def test_paper_deviation_bound_is_beaten():
    """1/(n s) for the standard deviation; 1.887/(n s) at n = 1001, s = 0.3 is reached."""
    n, s = 1001, 0.3
    x = np.full(n, -1.0)
    x[1:25] = 1.0  # as many as make the deviation 0.3
    y = x.copy()
    y[0] = 1.0
    least = min(x.std(), y.std())
    assert least >= s
    assert abs(y.std() - x.std()) * n * least > 1.85


def test_paper_row_shift_of_standard_scaling_is_beaten():
    """2/(n s^3) + 2/(n s) of Proposition 6 at n = 4001, s = 0.2: beaten 1.8 times; ours holds."""
    n, s = 4001, 0.2
    rare = math.ceil(n * s**2 / 4 / (1 - s**2 / 4))
    x = np.full((n, 1), -1.0)
    x[1 : 1 + rare] = 1.0
    y = x.copy()
    y[0] = 1.0
    least = min(x.std(), y.std())
    assert least >= s * 0.999
    step = scaler(0.0999, "none", radius=1e6)
    found = shifts(step, box(1, -1, 1), x, y)
    assert found.max() > 1.8 * (2 / (n * least**3) + 2 / (n * least))
    declared = step.sensitivity(box(1, -1, 1), n)
    assert found.max() <= declared.row_shift and found.sum() <= declared.total_shift


def test_paper_table_2_contradicts_its_own_proposition():
    """tau = 2/s + 2/s^3, so the Gaussian cell is 1.05 (1 + tau^2), not 1.05 (1 + 4/s^3): 421 and not 35 at s = 1/2."""
    s = 0.5
    printed, own = 1.05 * (1 + 4 / s**3), 1.05 * (1 + (2 / s + 2 / s**3) ** 2)
    assert printed == pytest.approx(34.65)
    assert own == pytest.approx(421.05)


def test_real_pairs_cost_more_than_table_2_prints():
    """s = 0.1: a total shift of 169 is reached (n = 4001), so a factor (1 + 169)^2 / 2 > 1.05 (1 + 4/s^3) = 4201."""
    x, y = edge_rows(4001, 0.1, width=2.0)
    found = shifts(scaler(0.05, "none", radius=1e6), box(1, -1, 1), x - 1, y - 1).sum()
    assert found > 165
    assert (1 + found) ** 2 / 2 > 1.05 * (1 + 4 / 0.1**3)


def test_data_maximum_as_radius_would_leak():
    """Appendix F clips at the data's largest norm: one record then moves every row. Ours is declared."""
    x = np.full((10, 1), 0.1)
    y = x.copy()
    y[0] = 1.0
    paper = [v / np.abs(v).max() for v in (x, y)]
    assert np.abs(paper[0] - paper[1])[1:].min() > 0.8
    step = scaler(0.5, center="midpoint")
    assert [step.fit_confidential([v], box(1), 10).affine.radius for v in (x, y)] == [1.0, 1.0]


def test_a_divisor_lies_between_the_floor_and_the_largest_deviation():
    """Two rows: the other one leaves the edge, sigma falls below the floor. A floor that none exceeds: no shift."""
    space, n = box(1), 2
    step = scaler(0.4, center="midpoint")
    s1, s2 = np.array([[1.0], [1.0]]), np.array([[0.5], [1.0]])
    found, claim = measure(step, space, s1, s2), step.sensitivity(space, n)
    assert found.row_shift == pytest.approx(0.25) and found.within(claim)
    assert claim.row_shift == pytest.approx(1.25 * math.log(1.25), rel=1e-6)
    assert scaler(0.5, center="midpoint").sensitivity(space, 1000).total_shift < 1e-6
