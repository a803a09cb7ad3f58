"""Trimmed-mean imputation, and the paper's entry for it, which is negative."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prepriv import payment as pay
from prepriv.preprocessing.base import RowShift
from prepriv.preprocessing.impute_trimmed_mean import TrimmedMeanImputer, trimmed_distance
from prepriv.space import Space

NAN = math.nan
LINE = Space(np.zeros(1), np.ones(1), 1.0, np.ones(1, dtype=bool))


def imputer(trim=0.1, **caps):
    return TrimmedMeanImputer(trim, payment=pay.Sensitivity(caps))


def fill_by_hand(x, m, least):
    """Mean of what is left, taken from one half, over at least `least` cells."""
    left = sorted(v for v in x if not math.isnan(v))[m:]
    left = left[: len(left) - m] if m else left
    return 0.5 + sum(v - 0.5 for v in left) / max(len(left), least)


def test_fills_with_the_mean_without_extremes():
    x = np.array([0.0, 0.2, 0.3, 0.4, 1.0, NAN])[:, None]
    fitted = imputer(1 / 6, missing=0.2).fit_confidential([x[:2], x[2:]], LINE, 6)
    assert fitted.fill[0] == pytest.approx(0.3)


def test_price_is_unconditional_but_for_the_caps():
    s = imputer(0.05, missing=0.05).sensitivity(LINE, 100)
    assert s.row_shift == pytest.approx(1 / 85)
    assert s.total_shift == pytest.approx(5 / 85)
    narrow = imputer(0.05, missing=0.05, spread=0.2).sensitivity(LINE, 100)
    assert narrow.total_shift == pytest.approx(0.2 * 5 / 85)
    assert "of rank 5 from the top is at most 0.2 above the one of rank 5 from the bottom" in str(
        narrow.conditions[1]
    )
    fading = imputer(0.05, missing=0.05, fade=0.1).sensitivity(LINE, 100)
    assert fading.conditions == ()


def test_nothing_left_to_average_is_refused():
    with pytest.raises(ValueError, match="leave nothing of 10 records"):
        imputer(0.4, missing=0.3).sensitivity(LINE, 10)
    with pytest.raises(ValueError, match=r"trim must .* \(0, 0.5\)"):
        imputer(0.5)
    with pytest.raises(ValueError, match=r"paid for by budget: .*MedianImputer"):
        TrimmedMeanImputer(payment=pay.Budget())


cells = st.one_of(st.just(NAN), st.floats(0, 1), st.sampled_from([0.0, 1.0]))


@settings(max_examples=300, deadline=None)
@given(st.lists(cells, min_size=5, max_size=10), cells, cells, st.sampled_from([None, 0.5]))
def test_no_pair_beats_the_bound(common, a, b, spread):
    n, both = len(common) + 1, [np.array([*common, v]) for v in (a, b)]
    caps = {"missing": 0.3} | ({"spread": spread} if spread else {})
    step = imputer(0.12, **caps)
    if any(step.distance([x[:, None]], LINE, n) <= 0 for x in both):
        return
    m, least = math.ceil(0.12 * n), n - math.ceil(0.3 * n) - 2 * math.ceil(0.12 * n)
    if least < 1:
        return
    fills = [fill_by_hand(x, m, least) for x in both]
    got = [step.fit_confidential([x[:, None]], LINE, n).fill[0] for x in both]
    assert got == pytest.approx(fills, abs=1e-12)
    moved = int(np.isnan(common).sum()) * abs(fills[0] - fills[1])
    assert moved <= step.sensitivity(LINE, n).total_shift + 1e-12


def test_shifted_rows_move_the_fill_by_their_share():
    x = np.append(np.linspace(0, 0.9, 20), [NAN, NAN])[:, None]
    y = x + 0.1
    step = imputer(0.1, missing=0.1)
    came = RowShift(19, 0.1, 1.9)
    bound = step.sensitivity(LINE, 22, came)
    out = [step.fit_confidential([v], LINE, 22).transform(v)[1:, 0] for v in (x, y)]
    assert np.abs(out[0] - out[1]).sum() <= bound.total_shift


def test_distance_is_one_lipschitz_by_enumeration():
    """All tables of five cells, each missing or one of three values, and all their neighbours."""
    values = (None, 0.0, 0.5, 1.0)
    tables = list(itertools.product(values, repeat=5))

    def distance(t):
        cells = np.sort(np.array([v for v in t if v is not None], dtype=float))
        return trimmed_distance(cells, 1, 0.0, 1.0, 0.6)

    known = {t: distance(t) for t in tables}
    for t in tables:
        seen = sorted(v for v in t if v is not None)
        if known[t] > 0 and len(seen) > 2:
            assert seen[len(seen) - 1] - seen[0] <= 0.6  # x_(N-m+1) - x_(m) with m = 1
        for i in range(5):
            for v in values:
                assert abs(known[t] - known[t[:i] + (v,) + t[i + 1 :]]) <= 1


def test_public_trimmed_mean():
    x = np.array([0.0, 0.2, 0.3, 0.4, 1.0, NAN])[:, None]
    fitted = TrimmedMeanImputer(1 / 6, payment=pay.Public()).fit_public([x], LINE, 6)
    assert fitted.fill[0] == pytest.approx(0.3)


def test_paper_numerator_is_negative():
    """Table 3: (x_(m)^max - x_(n-m)^min) / (n - 2m - p): on an even grid it is below zero, the change is not."""
    x = np.linspace(-1, 1, 21)
    n, m = len(x), 2
    paper = (x[m - 1] - x[n - m - 1]) / (n - 2 * m)
    assert paper < 0
    y = x.copy()
    y[0] = 1.0
    trimmed = [float(np.sort(v)[m : n - m].mean()) for v in (x, y)]
    assert abs(trimmed[0] - trimmed[1]) > 0.09
