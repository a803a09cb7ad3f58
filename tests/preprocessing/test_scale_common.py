"""One mean and one deviation of all columns: the map, and both bounds against the worst neighbours there are."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from neighbouring import Summing, after_shift_and_drops, box

from prepriv import payment as pay
from prepriv.domain import Domain
from prepriv.learners import GradientDescent, Logistic
from prepriv.plans.plan import make_plan
from prepriv.plans.stored import plan_from_json
from prepriv.preprocessing.base import RowShift
from prepriv.preprocessing.maps import read_map, text_of_map
from prepriv.preprocessing.scale import StandardScaler
from prepriv.space import Space

CENTERS = pytest.mark.parametrize("center", ["mean", "midpoint"])


def paid(*args, payment=None, **options):
    return StandardScaler(*args, common=True, payment=payment or pay.Sensitivity(), **options)


def powers_of(step, space, x):
    """The rows that a budget's sum is of, and the radius they are said to have."""
    seen = []

    def look(rows, *, dim, radius):
        seen.extend((np.vstack(list(rows)), dim, radius))
        return seen[0].sum(axis=0)

    step.fit_budget([x], space, len(x), Summing(look))
    return seen


@CENTERS
@pytest.mark.parametrize("rule", ["max", "root"])
def test_the_map_is_its_definition_in_every_way_to_pay(center, rule):
    rng = np.random.default_rng(0)
    x = np.clip(0.3 + rng.normal(size=(400, 3)) * [0.2, 0.05, 0.15] + [0.1, 0.0, 0.2], 0, 1)
    space, blocks = box(3), [x[:123], x[123:]]
    c = x.mean() if center == "mean" else 0.5
    sigma = math.sqrt(np.mean((x - c) ** 2))
    divisor = {"max": max(sigma, 0.1), "root": math.hypot(sigma, 0.1)}[rule]

    exact = Summing(lambda rows, *, dim, radius: np.vstack(list(rows)).sum(axis=0))
    fits = (
        paid(0.1, rule, center, 100.0).fit_confidential(blocks, space, 400),
        paid(0.1, rule, center, 100.0, payment=pay.Public(x)).fit_public(blocks, space, 400),
        paid(0.1, rule, center, 100.0, payment=pay.Budget()).fit_budget(blocks, space, 400, exact),
    )
    for fitted in fits:
        assert fitted.transform(x) == pytest.approx((x - c) / divisor, abs=1e-10)


def test_one_mean_for_each_channel_is_one_step_for_each():
    x = np.random.default_rng(1).random((50, 4)) * [1.0, 1.0, 0.3, 0.3]
    space = box(4)
    for channel in (["x0", "x1"], ["x2", "x3"]):
        step = paid(0.01, radius=1e3, columns=channel)
        y, at = step.fit_confidential([x], space, 50).transform(x), [int(name[1]) for name in channel]
        assert y[:, at].mean() == pytest.approx(0, abs=1e-12) and y[:, at].std() == pytest.approx(1)
        assert np.delete(y, at, axis=1) == pytest.approx(np.delete(x, at, axis=1))


@CENTERS
@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("low, high", [(0.0, 1.0), (-1.0, 3.0)])
def test_the_worst_records_are_as_far_apart_as_declared(center, k, low, high):
    """Every record whose cells lie on a grid of five, against every other: the bound of one column, whatever k is."""
    space, step = box(k, low, high), paid(center=center, payment=pay.Budget())
    cells = low + (high - low) * (np.arange(5) / 4 if k < 5 else np.array([0.0, 0.5, 1.0]))
    x = np.array(list(itertools.product(cells, repeat=k)))
    powers, dim, radius = powers_of(step, space, x)
    assert powers.shape == (len(x), dim) and dim == (2 if center == "mean" else 1)
    gaps = np.linalg.norm(powers[:, None] - powers[None], axis=2)
    for adjacency, found in (("replace-one", gaps), ("add-or-remove-one", np.linalg.norm(powers, axis=1))):
        declared = step.l2_sensitivity(space, adjacency, RowShift())
        assert 0.999 * declared <= found.max() <= declared
        one = StandardScaler(center=center, payment=pay.Budget()).l2_sensitivity(
            box(1, low, high), adjacency, RowShift()
        )
        assert declared == one
    assert np.linalg.norm(powers, axis=1).max() <= radius * (1 + 1e-12)


@CENTERS
@pytest.mark.parametrize("k", [1, 4, 30])
def test_rows_that_moved_and_rows_that_were_dropped_move_the_sum_as_far_as_declared(center, k):
    rng = np.random.default_rng(2)
    space, step, n = box(k, -1.0, 2.0), paid(center=center, payment=pay.Budget()), 200
    alone = step.l2_sensitivity(space, "replace-one", RowShift())
    x = np.clip(rng.normal(0.5, 1.0, (n, k)), -1, 2)
    y = np.clip(x + rng.normal(0, 0.05, (n, k)), -1, 2)
    edge, nearly = np.full((n, k), 2.0), np.full((n, k), 1.995)  # the steepest: all cells at the bound
    worst = 0.0
    for a, b in ((x, y), (edge, nearly)):
        came = RowShift(n, 10.0, float(np.linalg.norm(a - b, axis=1).sum()))
        moved = np.linalg.norm((powers_of(step, space, a)[0] - powers_of(step, space, b)[0]).sum(axis=0))
        room = step.l2_sensitivity(space, "replace-one", came) - alone
        worst = max(worst, moved / room)
    # About the midpoint there are squares alone, and sqrt(5) is 2 for them.
    assert (0.99 if center == "mean" else 0.99 * 2 / math.sqrt(5)) <= worst <= 1
    gone = np.linalg.norm(powers_of(step, space, x)[0] - powers_of(step, space, 0 * x)[0], axis=1).max()
    assert gone <= step.l2_sensitivity(space, "replace-one", RowShift(rows_dropped=1)) - alone


def test_the_bound_by_sensitivity_is_nearly_reached_for_any_number_of_columns():
    """The worst data of one column (test_scale.py), the same in each: 0.95 of the bound at s = w/50."""
    n, s, floor = 100_001, 0.02, 0.02
    up = np.arange(1, n) < 1 + (n - 1) // 2
    for k in (1, 3):
        x = np.empty((n, k))
        x[1:] = (s + s * np.where(up, 1.0, -1.0))[:, None]
        x[0] = x[1:].mean()
        y = x.copy()
        y[0] = 1.0
        step, space = paid(floor, radius=1e6), box(k)
        out = [step.fit_confidential([v], space, n).transform(v)[1:] for v in (x, y)]
        found, declared = (
            np.linalg.norm(out[0] - out[1], axis=1).sum(),
            step.sensitivity(space, n).total_shift,
        )
        assert 0.93 * declared <= found <= declared


@CENTERS
@pytest.mark.parametrize("rule", ["max", "root"])
@pytest.mark.parametrize("radius", [0.5, 100.0])
def test_random_pairs_after_shift_and_drops_stay_within_the_bound(center, rule, radius):
    rng = np.random.default_rng(4)
    space, n = box(2, -1.0, 2.0), 40
    step = paid(0.15, rule, center, radius)
    for _ in range(60):
        x = np.clip(rng.normal(size=(n, 2)) * rng.random() * 0.7 + rng.random(2), -1, 2)
        y = np.clip(x + (rng.random((n, 1)) < 0.3) * rng.normal(size=(n, 2)) * 0.2, -1, 2)
        x[0], y[0] = rng.choice([-1.0, 0.5, 2.0], 2), rng.choice([-1.0, 0.5, 2.0], 2)
        moved, declared, _ = after_shift_and_drops(step, space, x, y, rng)
        assert moved.max() <= declared.row_shift and moved.sum() <= declared.total_shift


def test_the_variance_moves_by_no_more_than_one_columns_would():
    """The lemma of the proof, by brute force: n records of k cells on a grid, one of them replaced, n |dv| <= w^2 (n-1)/n."""
    grid = np.array(list(itertools.product([0.0, 0.5, 1.0], repeat=2)))
    for n in (2, 3):
        found = 0.0
        for others in itertools.combinations_with_replacement(grid, n - 1):
            v = [np.var(np.vstack([*others, record])) for record in grid]
            found = max(found, n * (max(v) - min(v)))
        assert found == pytest.approx((n - 1) / n)


@CENTERS
def test_a_released_map_is_as_steep_as_declared_whatever_the_noise(center):
    rng = np.random.default_rng(8)
    space, step = box(3, 0.0, 2.0), paid(0.1, center=center, payment=pay.Budget())
    after = step.output(space)
    for noise in (-1e6, 0.0, 1e6):
        noisy = Summing(lambda rows, *, dim, radius, noise=noise: np.full(dim, noise))
        fitted = step.fit_budget([rng.random((10, 3))], space, 10, noisy)
        assert len(set(fitted.affine.factor)) == len(set(fitted.affine.offset)) == 1
        a, b = 2 * rng.random((200, 3)), 2 * rng.random((200, 3))
        moved = np.linalg.norm(fitted.transform(a) - fitted.transform(b), axis=1)
        assert (moved <= step.lipschitz(space) * np.linalg.norm(a - b, axis=1) + 1e-9).all()
        assert np.linalg.norm(fitted.transform(a), axis=1).max() <= after.radius * (1 + 1e-12)
        again = read_map(json.loads(text_of_map(fitted)))
        assert (again.transform(a) == fitted.transform(a)).all()


def test_the_option_is_in_the_plan_and_buys_less_noise_on_a_mean():
    common, each = (StandardScaler(common=c, payment=pay.Budget(0.1)) for c in (True, False))
    domain = Domain.box(0, 255, 16, (0, 1), n=1000)
    one, two = (
        make_plan(domain, [step], GradientDescent(Logistic()), epsilon=1.0, delta=1e-5)
        for step in (common, each)
    )
    assert one.steps[0].noise_multiplier == two.steps[0].noise_multiplier
    assert one.steps[0].shift == pytest.approx(two.steps[0].shift / 4)
    assert one.hash != two.hash
    assert one.to_json()["steps"][0]["common"] is True and "common" not in two.to_json()["steps"][0]
    assert [plan_from_json(p.to_json()).steps[0].step for p in (one, two)] == [common, each]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"common": 1}, "common must be True or False"),
        ({"shrink": True, "payment": pay.Budget()}, "common=True has one mean"),
        ({"rule": "none"}, "common=True has one deviation"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        StandardScaler(**{"common": True, "payment": pay.Sensitivity(), **options})


def test_columns_with_other_bounds_and_missing_cells_are_refused():
    space = Space(np.zeros(3), np.array([1.0, 1.0, 2.0]), 3.0, np.zeros(3, dtype=bool))
    for ask in (paid().output, lambda s: paid().sensitivity(s, 10), paid().lipschitz):
        with pytest.raises(ValueError, match="with the same bounds"):
            ask(space)
    assert paid(columns=["x0", "x1"]).output(space).d == 3
    with pytest.raises(ValueError, match="impute first"):
        paid().sensitivity(Space(np.zeros(1), np.ones(1), 1.0, np.ones(1, dtype=bool)), 10)
