"""Mean imputation: what it fills, how far one record moves it, and what the paper says about that."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbouring import Summing

from prepriv import payment as pay
from prepriv.columns import Numeric
from prepriv.domain import Domain
from prepriv.mechanisms.covariance import Apart
from prepriv.mechanisms.handle import Mechanisms
from prepriv.mechanisms.session import ExactSession, NoisySession
from prepriv.preprocessing.base import RowShift
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.impute_caps import FillReleased
from prepriv.preprocessing.impute_median import MedianImputer
from prepriv.preprocessing.impute_regression import RegressionImputer
from prepriv.preprocessing.impute_trimmed_mean import TrimmedMeanImputer
from prepriv.preprocessing.scale import StandardScaler
from prepriv.space import Space

NAN = math.nan


def box(d, *missing, low=0.0, high=1.0):
    gaps = np.zeros(d, dtype=bool)
    gaps[list(missing)] = True
    corner = np.full(d, max(abs(low), abs(high)))
    return Space(np.full(d, low), np.full(d, high), float(np.linalg.norm(corner)), gaps)


def imputer(**caps):
    return MeanImputer(payment=pay.Sensitivity(caps))


def exact_sum(rows, *, dim, radius):
    """The mechanism without noise: rows beyond the radius are pulled back to it."""
    x = np.vstack(list(rows))
    assert x.shape[1] == dim
    return (x * np.minimum(1, radius / np.maximum(np.linalg.norm(x, axis=1), radius))[:, None]).sum(axis=0)


# ------------------------------------------------------------------------------------------ the algorithm


def test_fills_with_the_mean_of_the_observed_cells():
    x = np.array([[0.2, NAN], [0.4, 0.5], [0.9, 0.1], [0.1, NAN]])
    fitted = imputer(missing=0.5).fit_confidential([x[:1], x[1:]], box(2, 1), 4)
    assert fitted.transform(x)[:, 1] == pytest.approx([0.3, 0.5, 0.1, 0.3])
    assert (fitted.transform(x)[:, 0] == x[:, 0]).all()


def test_too_few_observed_cells_flatten_the_fill():
    x = np.full((10, 1), NAN)
    x[0] = 1.0  # one of ten is observed, at least eight are declared to be
    assert imputer(missing=0.2).fit_confidential([x], box(1, 0), 10).transform(x)[1, 0] == 0.5 + 0.5 / 8


def test_blocks_do_not_matter():
    rng = np.random.default_rng(0)
    x = np.where(rng.random((500, 3)) < 0.04, NAN, rng.random((500, 3)))
    one = imputer().fit_confidential([x], box(3, 0, 1, 2), 500)
    many = imputer().fit_confidential([x[i : i + 7] for i in range(0, 500, 7)], box(3, 0, 1, 2), 500)
    assert many.fill == pytest.approx(one.fill, rel=1e-14)


def test_fill_is_released_only_from_public_rows_or_a_mechanism():
    x = np.array([[0.2, NAN], [0.4, 0.5], [0.9, 0.1]])
    space = box(2, 0, 1)
    public = MeanImputer(payment=pay.Public()).fit_public([x], space, 3)
    assert public.to_json()["fill"] == pytest.approx([0.5, 0.3])
    private = MeanImputer(payment=pay.Budget()).fit_budget([x], space, 3, Summing(exact_sum))
    assert private.fill == pytest.approx([0.5, 0.3])  # of the two cells that are there
    with pytest.raises(TypeError, match="cannot be stored"):
        imputer(missing=0.5).fit_confidential([x], space, 3).__reduce__()
    assert isinstance(imputer().prediction_map(space), FillReleased)
    assert (imputer().prediction_map(space).fill == 0.5).all()


def test_budget_fill_stays_within_the_bounds_whatever_the_noise():
    fitted = MeanImputer(payment=pay.Budget()).fit_budget(
        [np.zeros((3, 1))], box(1, 0), 3, Summing(lambda rows, *, dim, radius: np.array([1e9, 1.0]))
    )
    assert fitted.fill == 1.0


BUDGET = MeanImputer(payment=pay.Budget())
WIDE = Space(np.array([0.0, -3.0, 2.0, 5.0]), np.array([1.0, 1.0, 12.0, 5.0]), 14.0, np.array([True] * 4))


def with_gaps(n, shares, space=WIDE):
    """Cells in the lowest tenth of the bounds, far from the midpoint, of which a share is missing in each column."""
    rng = np.random.default_rng(0)
    x = space.low + 0.1 * space.widths * rng.random((n, space.d))
    for j, share in enumerate(shares):
        x[rng.permutation(n)[: round(share * n)], j] = NAN
    return x


def by_budget(x, z, space=WIDE, adjacency="replace-one"):
    """The fill with the noise of the mechanism itself, z times the sensitivity that the step says; 0: without."""
    moves = BUDGET.l2_sensitivity(space, adjacency, RowShift())
    session, none = NoisySession() if z else ExactSession(), np.zeros(len(x), dtype=int)
    handle = Mechanisms(
        "it", len(x), adjacency, Apart(), moves, True, z, session, [x], math.inf, len(x), none
    )
    return BUDGET.fit_budget([x], space, len(x), handle).fill


@pytest.mark.parametrize("shares", [(0, 0, 0, 0), (0.1, 0.6, 0.9, 0.5), (0.99, 0.995, 0, 0.6)])
def test_budget_without_noise_fills_with_the_mean_of_the_observed_cells(shares):
    """Divided by all records, a column with three in five gaps was filled three fifths of the way to its midpoint."""
    x = with_gaps(1000, shares)
    assert by_budget(x, 0.0) == pytest.approx(np.nanmean(x, axis=0), abs=1e-4 * WIDE.widths.max())


def test_a_column_of_gaps_alone_is_filled_at_the_midpoint():
    assert by_budget(with_gaps(50, (1, 1, 0, 1)), 0.0)[[0, 1, 3]] == pytest.approx([0.5, -1.0, 5.0])


@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
def test_budget_fills_with_that_mean_but_for_the_noise_of_a_ratio(adjacency):
    """An error in the sum and one in the count, which counts as far as the mean is from the midpoint, over the observed records."""
    x = with_gaps(4000, (0.6, 0.8, 0.1, 0))
    noise, mean = 3.0 * BUDGET.l2_sensitivity(WIDE, adjacency, RowShift()), np.nanmean(x, axis=0)
    off = (mean - (WIDE.low + WIDE.high) / 2)[:3] / (WIDE.widths[:3] / 2)
    expected = noise * np.sqrt(1 + off**2) / (~np.isnan(x)).sum(axis=0)[:3]
    found = np.array([by_budget(x, 3.0, adjacency=adjacency)[:3] for _ in range(60)]) - mean[:3]
    ratio = np.sqrt((found**2).mean(axis=0)) / expected
    assert (ratio > 0.6).all() and (ratio < 1.5).all(), ratio


def test_a_fill_of_few_records_is_drawn_to_the_midpoint_by_the_noise_of_their_number():
    """Ten records at the bound, the noise of their number is that of forty, and the sums come out as they are."""
    x = np.full((100, 1), NAN)
    x[:10] = 0.0
    handle = Summing(exact_sum, noise_multiplier=20.0, l2_sensitivity=1.0)
    fill = BUDGET.fit_budget([x], box(1, 0), 100, handle).fill[0]
    assert fill == pytest.approx(0.5 - 0.5 * 10**2 / (10**2 + 2 * 40**2))
    many = Summing(lambda rows, *, dim, radius: np.array([-5.0, 60.0]), 20.0, 1.0)  # more gaps than records
    assert BUDGET.fit_budget([x], box(1, 0), 100, many).fill[0] == 0.5
    none = Summing(lambda rows, *, dim, radius: np.array([-50.0, -30.0]))  # fewer gaps than none
    assert BUDGET.fit_budget([x], box(1, 0), 100, none).fill[0] == 0.0


# --------------------------------------------------------------------------------------- the sensitivity


def test_price_of_one_column_by_hand():
    s = imputer(missing=0.05).sensitivity(box(1, 0), 100)
    assert (s.rows_moved, s.rows_dropped) == (5, 0)
    assert s.row_shift == pytest.approx(1 / 95, rel=1e-9)
    assert s.total_shift == pytest.approx(5 / 95, rel=1e-9)
    assert [str(c) for c in s.conditions] == [
        "at most 5 of the 100 records miss 'x0', where a cell in which `prepriv validate` finds no number counts as missing"
    ]


def test_bound_is_reached():
    n, p = 20, 4
    x = np.ones((n, 1))
    x[-p:] = NAN
    y = x.copy()
    y[0] = 0.0
    step, space = imputer(missing=0.2), box(1, 0)
    fills = [step.fit_confidential([data], space, n).fill[0] for data in (x, y)]
    assert abs(fills[0] - fills[1]) * p == pytest.approx(step.sensitivity(space, n).total_shift, rel=1e-9)


def test_no_imputable_column_costs_nothing():
    came = RowShift(3, 0.1, 0.2)
    assert imputer().sensitivity(box(2), 10, came) == came
    assert imputer().sensitivity(box(2), 10) == RowShift()


def test_dropped_rows_are_refused():
    with pytest.raises(ValueError, match="impute first"):
        imputer().sensitivity(box(1, 0), 10, RowShift(rows_dropped=1))


@pytest.mark.parametrize(
    ("caps", "words"),
    [
        ({"missing": 1.5}, r"missing cap must lie in \[0, 1\]"),
        ({"missing": {"age": 0.1}}, "missing caps name 'age', which is not a column"),
        ({"missing": [0.1]}, "must be a number or a dict"),
        ({"fade": -0.1}, r"fade cap must lie in \[0, 1\]"),
    ],
)
def test_caps_out_of_range_are_named(caps, words):
    with pytest.raises(ValueError, match=words):
        imputer(**caps).sensitivity(box(2, 0, 1), 10)


@pytest.mark.parametrize(
    "kind",
    [MeanImputer, MedianImputer, TrimmedMeanImputer, RegressionImputer, StandardScaler],
    ids=lambda k: k.__name__,
)
def test_a_cap_that_does_not_exist_is_an_error(kind):
    """A typo would otherwise leave the default cap in force."""
    with pytest.raises(ValueError, match=f"{kind.__name__} has no cap 'mising'"):
        kind(payment=pay.Sensitivity({"mising": 0.01}))


def test_caps_by_column_name():
    domain = Domain({"age": Numeric(0, 1, "impute"), "hours": Numeric(0, 1, "impute")}, ("a", "b"))
    s = imputer(missing={"age": 0.1, "hours": 0.02}).sensitivity(domain, 100)
    assert s.rows_moved == 12
    assert s.total_shift == pytest.approx(10 / 90 + 2 / 98)


def fill_by_hand(x, n, p, m):
    """An independent reading of the definition, one column in [0, 1]."""
    seen = x[~np.isnan(x)]
    missing = n - len(seen)
    weight = 1.0 if m == 0 else min(1.0, max(0.0, (p + m - missing) / m))
    return 0.5 + weight * sum(v - 0.5 for v in seen) / max(len(seen), n - p - m, 1)


cells = st.one_of(st.just(NAN), st.floats(0, 1), st.sampled_from([0.0, 1.0]))


@settings(max_examples=400, deadline=None)
@given(st.lists(cells, min_size=3, max_size=9), cells, cells, st.integers(0, 4), st.integers(0, 4))
def test_no_pair_beats_the_bound_one_column(common, a, b, p, m):
    """Replace-one with any change of mask; with a fade, whatever is missing."""
    n = len(common) + 1
    common = np.array(common)
    both = [np.append(common, v) for v in (a, b)]
    share = {"missing": max(0.0, (p - 0.5) / n), "fade": max(0.0, (m - 0.5) / n)}
    step, space = imputer(**share), box(1, 0)
    caps = step.missing(space, n)
    p = int(caps.full[0])
    if m == 0 and any(np.isnan(x).sum() > p for x in both):
        return
    fills = [fill_by_hand(x, n, p, m) for x in both]
    got = [step.fit_confidential([x[:, None]], space, n).fill[0] for x in both]
    assert got == pytest.approx(fills, abs=1e-12)
    moved = int(np.isnan(common).sum()) * abs(fills[0] - fills[1])
    assert moved <= step.sensitivity(space, n).total_shift + 1e-12


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(3, 7), st.integers(1, 3))
def test_no_pair_beats_the_bound_after_a_shift(data, n, d):
    """Common rows differ by a drawn shift; several columns; the record as it likes."""
    space, step = box(d, *range(d)), imputer(missing=0.5)
    grid = st.sampled_from([0.0, 0.25, 0.5, 1.0, NAN])
    rows = st.lists(grid, min_size=d, max_size=d)
    x = np.array([data.draw(rows) for _ in range(n)], dtype=float)
    y = x + np.array(
        data.draw(st.lists(st.sampled_from([0.0, 0.25, -0.25]), min_size=n * d, max_size=n * d))
    ).reshape(n, d)
    y = np.clip(y, 0, 1)
    y[0] = data.draw(rows)
    if step.distance([x], space, n) <= 0 or step.distance([y], space, n) <= 0:
        return
    gap = np.linalg.norm(np.nan_to_num(x - y)[1:], axis=1)
    came = RowShift(float((gap > 0).sum()), float(gap.max()), float(gap.sum()))
    bound = step.sensitivity(space, n, came)
    out = [step.fit_confidential([v], space, n).transform(v)[1:] for v in (x, y)]
    far = np.linalg.norm(out[0] - out[1], axis=1)
    assert (far > 1e-12).sum() <= bound.rows_moved
    assert far.max() <= bound.row_shift + 1e-12
    assert far.sum() <= bound.total_shift + 1e-12


def test_bound_after_a_shift_is_reached():
    """All observed cells move up together, and the record's too: the fill follows, in every row that misses it."""
    n, p = 20, 10
    x = np.full((n, 1), 0.0)
    x[-p:] = NAN
    y = x + 0.5
    y[0] = 1.0
    step, space = imputer(missing=0.5), box(1, 0)
    came = RowShift(n - p - 1, 0.5, 0.5 * (n - p - 1))
    out = [step.fit_confidential([v], space, n).transform(v)[1:, 0] for v in (x, y)]
    found = np.abs(out[0] - out[1]).sum()
    assert found == pytest.approx(step.sensitivity(space, n, came).total_shift, rel=1e-9)


def test_a_fade_makes_the_claim_unconditional_for_less_than_one_record():
    """Five per cent missing, fading over thirty: 0.6 of a record's width, and no condition."""
    s = imputer(missing=0.05, fade=0.3).sensitivity(box(1, 0), 1000)
    assert s.conditions == ()
    assert s.total_shift == pytest.approx(349 / 600)


def test_full_rows_by_enumeration():
    for p in range(0, 8):
        for m in range(1, 9):
            payment = pay.Sensitivity({"missing": p / 40, "fade": m / 40})
            caps = MeanImputer(payment=payment).missing(box(1, 0), 40)
            most = max(c * float(caps.weight(np.array([c]))[0]) for c in range(40))
            assert most <= caps.full_rows[0] <= most + 0.26  # the peak may lie between two counts


# ----------------------------------------------------------------------------------- the other two routes


def summed(record, space):
    """What one record adds to the sum, which is not pulled back here, and is in the ball that the mechanism is told of."""

    def look(rows, *, dim, radius):
        (row,) = np.vstack(list(rows))
        assert row.shape == (dim,) and np.linalg.norm(row) <= radius * (1 + 1e-12)
        seen.append(row)
        return row

    seen = []
    BUDGET.fit_budget([np.array([record])], space, 1, Summing(look))
    return seen[0]


@settings(max_examples=200, deadline=None)
@given(st.lists(cells, min_size=4, max_size=4), st.lists(cells, min_size=4, max_size=4))
def test_budget_sum_moves_by_no_more_than_declared(a, b):
    one, two = (summed(WIDE.low + WIDE.widths * np.array(cells), WIDE) for cells in (a, b))
    assert np.linalg.norm(one - two) <= BUDGET.l2_sensitivity(WIDE, "replace-one", RowShift())
    assert np.linalg.norm(one) <= BUDGET.l2_sensitivity(WIDE, "add-or-remove-one", RowShift())


def test_budget_sum_moves_as_far_as_declared():
    ends = np.linalg.norm(summed(WIDE.low, WIDE) - summed(WIDE.high, WIDE))
    assert ends == pytest.approx(BUDGET.l2_sensitivity(WIDE, "replace-one", RowShift()))
    gaps = np.linalg.norm(summed(np.full(4, NAN), WIDE))
    assert gaps == pytest.approx(BUDGET.l2_sensitivity(WIDE, "add-or-remove-one", RowShift()))


@settings(max_examples=100, deadline=None)
@given(st.lists(cells, min_size=4, max_size=4), st.lists(st.floats(-0.3, 0.3), min_size=4, max_size=4))
def test_budget_sum_follows_a_row_that_keeps_its_gaps(a, shift):
    row = WIDE.low + WIDE.widths * np.array(a)
    moved = np.clip(row + shift, WIDE.low, WIDE.high)
    far = float(np.linalg.norm(np.nan_to_num(moved - row)))
    assert np.linalg.norm(summed(row, WIDE) - summed(moved, WIDE)) <= far + 1e-12


def test_budget_counts_a_dropped_row_twice():
    """It arrives as a row of zeros, which is as far from the midpoints as any: the record's whole diagonal."""
    step, space = MeanImputer(payment=pay.Budget()), box(1, 0)
    seen = []

    def look(rows, *, dim, radius):
        seen.append(exact_sum(rows, dim=dim, radius=radius))
        return seen[-1]

    for kept in (1.0, 0.0):
        step.fit_budget([np.array([[kept], [0.5]])], space, 2, Summing(look))
    one = step.l2_sensitivity(space, "replace-one", RowShift(rows_dropped=1)) - step.l2_sensitivity(
        space, "replace-one", RowShift()
    )
    assert abs(seen[0] - seen[1])[0] == pytest.approx(1.0)
    assert one >= 1.0


# --------------------------------------------------------------------------- the condition, and its distance


@settings(max_examples=100, deadline=None)
@given(st.lists(cells, min_size=6, max_size=6), cells, st.integers(0, 5))
def test_distance_is_one_lipschitz_and_says_whether_the_cap_holds(column, value, i):
    step, space = imputer(missing=0.5), box(1, 0)
    x = np.array(column)[:, None]
    y = x.copy()
    y[i] = value
    here, there = (step.distance([v], space, 6) for v in (x, y))
    assert abs(here - there) <= 1
    assert (here > 0) == (np.isnan(x).sum() <= 3)


def test_distance_of_an_unconditional_claim_is_infinite():
    assert imputer(missing=0.1, fade=0.1).distance([np.full((10, 1), NAN)], box(1, 0), 10) == math.inf


# -------------------------------------------------------------------------------------------------- errata


def test_paper_bound_of_mean_imputation_is_beaten_by_a_record_that_loses_its_cells():
    """Corollary 4 says 2/(n - p), p the rows that imputation changes: here 0.02, and 0.0287 happens. Ours holds.

    100 features, 100 complete rows at zero, 50 rows with each feature alone; the record has all or none. By the paper's
    definitions alone: tests/papers/test_errata_of_provable_privacy.py.
    """
    d, complete, each = 100, 100, 50
    rows = np.full((complete + d * each, d), NAN)
    rows[:complete] = 0.0
    for j in range(d):
        rows[complete + j * each : complete + (j + 1) * each, j] = -1.0
    with_it, without = np.vstack([rows, np.full((1, d), 0.1)]), np.vstack([rows, np.full((1, d), NAN)])
    n, least = len(with_it), complete + each
    space = Space(np.full(d, -1.0), np.ones(d), 10.0, np.ones(d, dtype=bool))
    step = imputer(missing=1 - least / n)
    fills = [step.fit_confidential([x], space, n).fill for x in (with_it, without)]
    shift = float(np.linalg.norm(fills[0] - fills[1]))
    assert shift == pytest.approx(0.028698, abs=1e-6) and 2 / complete == 0.02
    assert shift <= step.sensitivity(space, n).row_shift


def test_imputed_rows_leave_the_ball():
    """The paper imputes (1, ?) with a mean of 1 in the unit ball: a row of norm sqrt 2."""
    x = np.array([[1.0, NAN], [0.0, 1.0], [0.0, 1.0]])
    space = Space(np.full(2, -1.0), np.ones(2), math.sqrt(2), np.array([False, True]))
    filled = imputer(missing=0.4).fit_confidential([x], space, 3).transform(x)
    assert np.linalg.norm(filled[0]) > 1.2
    assert np.linalg.norm(filled, axis=1).max() <= imputer().output(space).radius


def test_a_share_of_the_budget_for_no_column_is_refused_by_the_plan():
    """The plan was made and charged, and the run then ended: the step asked for no mechanism."""
    for kind in (MeanImputer, MedianImputer, RegressionImputer):
        with pytest.raises(ValueError, match=f"{kind.__name__} .* column to impute"):
            kind(payment=pay.Budget(0.1)).output(box(2))
