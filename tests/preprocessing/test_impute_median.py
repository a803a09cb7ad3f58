"""Median imputation: the exact distance to a wide gap, and the paper's entry."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbouring import Summing

from prepriv import payment as pay
from prepriv.preprocessing.base import RowShift
from prepriv.preprocessing.impute_median import MedianImputer, lower_median, median_distance
from prepriv.space import Space

NAN = math.nan
LINE = Space(np.zeros(1), np.ones(1), 1.0, np.ones(1, dtype=bool))


def imputer(**caps):
    return MedianImputer(payment=pay.Sensitivity(caps))


def gap_by_hand(cells, low=0.0, high=1.0):
    """The largest step from the median to a neighbour in rank, the bounds beyond the ends."""
    x = sorted(cells)
    h = math.ceil(len(x) / 2)
    padded = [low, *x, high]
    steps = [padded[h + 1] - padded[h]]
    if h > 0:
        steps.append(padded[h] - padded[h - 1])
    return max(steps)


def median_by_hand(cells):
    x = sorted(cells)
    return x[math.ceil(len(x) / 2) - 1] if x else 0.5


def test_lower_median():
    assert lower_median(np.array([1.0, 2.0, 3.0]), 0.0) == 2.0
    assert lower_median(np.array([1.0, 2.0, 3.0, 4.0]), 0.0) == 2.0
    assert lower_median(np.array([]), 0.5) == 0.5


@pytest.mark.parametrize("gap", [0.3, 0.4, 0.7])
def test_distance_is_exact_by_enumeration(gap):
    """All tables of four cells, each missing or one of four values: breadth-first over replaced records."""
    values = (None, 0.0, 1 / 3, 2 / 3, 1.0)
    tables = list(itertools.product(values, repeat=4))
    bad = {t for t in tables if gap_by_hand([v for v in t if v is not None]) > gap}
    distance = dict.fromkeys(bad, 0)
    edge, step = bad, 0
    while edge:
        step += 1
        near = {t[:i] + (v,) + t[i + 1 :] for t in edge for i in range(4) for v in values}
        edge = {t for t in near if t not in distance}
        distance |= dict.fromkeys(edge, step)
    for t in tables:
        cells = np.sort(np.array([v for v in t if v is not None], dtype=float))
        assert median_distance(cells, 0.0, 1.0, gap) == distance[t], t


def test_a_gap_of_the_whole_width_never_fails():
    assert median_distance(np.array([0.0, 1.0]), 0.0, 1.0, 1.0) == math.inf


def test_distance_is_fast_on_a_long_column():
    x = np.sort(np.random.default_rng(0).random(100_000))
    q = median_distance(x, 0.0, 1.0, 0.01)
    assert 900 < q < 1100


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(st.just(NAN), st.floats(0, 1)), min_size=3, max_size=9),
    st.one_of(st.just(NAN), st.floats(0, 1)),
    st.one_of(st.just(NAN), st.floats(0, 1)),
    st.sampled_from([0.1, 0.3, 0.6]),
)
def test_no_pair_beats_the_gap(common, a, b, gap):
    """The condition has to hold of one of the two only; any change of mask."""
    seen = [[v for v in [*common, z] if not math.isnan(v)] for z in (a, b)]
    if all(gap_by_hand(s) > gap for s in seen):
        return
    assert abs(median_by_hand(seen[0]) - median_by_hand(seen[1])) <= gap + 1e-15


def test_price_and_conditions():
    s = imputer(missing=0.1, gap=0.02).sensitivity(LINE, 100)
    assert (s.rows_moved, s.row_shift) == (10, pytest.approx(0.02))
    assert s.total_shift == pytest.approx(0.2)
    assert "are at most 0.02 from the one between" in str(s.conditions[1])
    after = imputer(missing=0.1, gap=0.02).sensitivity(LINE, 100, RowShift(5, 0.01, 0.03))
    assert after.total_shift == pytest.approx(0.03 + 10 * 0.03)


def test_a_gap_must_be_declared():
    with pytest.raises(ValueError, match="needs a declared cap: gap"):
        imputer(missing=0.1).sensitivity(LINE, 100)


def test_fit_equals_numpy_and_blocks_do_not_matter():
    rng = np.random.default_rng(1)
    x = rng.random((101, 2))
    x[rng.random((101, 2)) < 0.1] = NAN
    space = Space(np.zeros(2), np.ones(2), 2.0, np.ones(2, dtype=bool))
    fitted = imputer(missing=0.3, gap=0.5).fit_confidential([x[:40], x[40:]], space, 101)
    for j in range(2):
        seen = np.sort(x[~np.isnan(x[:, j]), j])
        assert fitted.fill[j] == seen[(len(seen) + 1) // 2 - 1]


def test_one_column_at_a_time_gives_the_same(monkeypatch):
    from prepriv.preprocessing import _columns

    x = np.random.default_rng(2).random((50, 5))
    space = Space(np.zeros(5), np.ones(5), 3.0, np.ones(5, dtype=bool))
    step = imputer(missing=0.3, gap=0.5)
    whole = step.fit_confidential([x], space, 50).fill
    monkeypatch.setattr(_columns, "_CELLS", 60)
    assert (step.fit_confidential([x], space, 50).fill == whole).all()


def test_public_and_budget_medians():
    x = np.random.default_rng(3).beta(2, 5, (4000, 1))
    public = MedianImputer(payment=pay.Public()).fit_public([x], LINE, 4000)
    assert public.fill[0] == np.sort(x[:, 0])[1999]

    def exact(rows, *, dim, radius):
        return np.vstack(list(rows)).sum(axis=0)

    private = MedianImputer(payment=pay.Budget()).fit_budget([x], LINE, 4000, Summing(exact))
    assert private.fill[0] == pytest.approx(np.median(x), abs=0.01)


def test_global_sensitivity_is_the_whole_width():
    """Table 3's bound is a gap over all data sets; without a declared gap a median jumps from end to end."""
    low, high = np.array([0.0, 0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    assert abs(lower_median(low, 0.5) - lower_median(high, 0.5)) == 1.0
    assert median_distance(low, 0.0, 1.0, 0.9) == 0


def test_paper_entry_is_a_width_and_not_a_gap():
    """Table 3: largest x_((n+1)/2) minus least x_(n/2) over the collection, which is no local quantity.

    Two pairs of neighbours, one around 0 and one around 1, in one collection: it says 1, and a median of this
    collection moves by 0.01.
    """
    collection = [np.array([c, c, c + 0.01]) for c in (0.0, 0.9)]
    collection += [np.array([c, c + 0.01, c + 0.01]) for c in (0.0, 0.9)]
    paper = max(x[1] for x in collection) - min(x[0] for x in collection)
    assert paper > 0.9
    assert all(gap_by_hand(x, x[0], x[-1]) <= 0.0100001 for x in collection)
