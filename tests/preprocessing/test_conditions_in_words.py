"""A condition that a person reads implies the one that the proof uses: it is never rounded to a weaker one."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv.columns import Numeric
from prepriv.domain import Domain
from prepriv.preprocessing._crowd import cluster_grid
from prepriv.space import Space

N = 1000


def column(missing: bool) -> Space:
    """(p, age): two columns of width 1, the second one perhaps missing."""
    return Space(np.zeros(2), np.ones(2), 2.0, np.array([False, missing]), ("p", "age"))


def paid(**caps: float) -> pay.Sensitivity:
    return pay.Sensitivity(caps)


def number(step: pre.Step, words: str, space: Space) -> float:
    """The number after `words` in the one condition that has them."""
    found = [re.search(words + r" (\S+?),?(?:$| )", str(c)) for c in step.sensitivity(space, N).conditions]
    (match,) = [m for m in found if m]
    return float(match[1])


SHARE = st.floats(0.01, 0.4)


@given(SHARE)
@example(0.12345649)
@example(1 / 3)
@example(0.05)
def test_at_most_is_rounded_down_and_at_least_up(share: float) -> None:
    missing, filled = column(True), column(False)
    gap = number(pre.MedianImputer(payment=paid(missing=0.1, gap=share)), r"bounds\) are at most", missing)
    spread = number(
        pre.TrimmedMeanImputer(0.05, payment=paid(missing=0.1, spread=share)),
        "from the top is at most",
        missing,
    )
    assert share * (1 - 1e-11) <= gap <= share and share * (1 - 1e-11) <= spread <= share
    curved = pre.RegressionImputer(payment=paid(missing=0.1, curvature=share))
    least = number(curved, "is at least", missing)
    narrow = pre.StandardScaler(share, "none", columns=("age",), payment=pay.Sensitivity())
    floor = number(narrow, "is at least", filled)
    assert share <= least <= share * (1 + 1e-11) and share <= floor <= share * (1 + 1e-11)
    for step in (
        pre.Deduplicate(share, payment=paid(max_neighbors=3)),
        pre.Quantize(share, payment=paid(max_neighbors=3)),
    ):
        radius, hidden = number(step, "records within", filled), 2 * 2**0.5 * cluster_grid(2.0).step
        assert 4 * share + hidden <= radius <= (4 * share + hidden) * (1 + 2e-9)
    rank = pre.RankReduction(1, payment=paid(gap=share))
    assert number(rank, "is at least", filled) == share


@pytest.mark.parametrize("gap", [0.1234565, 0.1234575, 0.12345651, 0.9999996])
def test_no_data_set_within_the_printed_gap_fails_the_test_of_the_gap(gap: float) -> None:
    """Six digits were printed once: at 0.1234565 data within "0.123457" broke what the proof uses."""
    space = Space(np.array([0.0]), np.array([1.0]), 1.0, np.array([True]), ("age",))
    step = pre.MedianImputer(payment=paid(missing=0.5, gap=gap))
    printed = number(step, r"bounds\) are at most", space)
    cells = np.array([0.0, 0.0, 0.0, 0.0, printed, 1.0, 1.0, *[np.nan] * 4])
    assert step.distance([cells[:, None]], space, len(cells)) > 0
    assert step.distance([np.where(cells == printed, gap * (1 + 1e-9), cells)[:, None]], space, 11) <= 0


def test_a_condition_names_the_units_it_is_in() -> None:
    """A raw column from 0 to 0.001 always spans at most 0.01; what the proof needs is 1 % of its range."""
    domain = Domain({"p": Numeric(0, 1), "b": Numeric(0, 0.001, "impute")}, (0, 1), n=N)
    for step in (
        pre.MedianImputer(payment=paid(missing=0.1, gap=0.01)),
        pre.TrimmedMeanImputer(0.05, payment=paid(missing=0.1, spread=0.01)),
    ):
        said = str(step.sensitivity(domain, N).conditions[-1])
        assert (
            " 0.01 " in said
            and "in units in which the declared bounds of 'b' are 0..1, where a value beyond" in said
        )
    shrunk = pre.Rescale(0.001).output(Space.ball(2, 1.0))
    for step in (
        pre.Deduplicate(0.01, payment=paid(max_neighbors=6)),
        pre.Quantize(0.01, payment=paid(max_neighbors=6)),
    ):
        said = str(step.sensitivity(shrunk, N).conditions[-1])
        assert (
            "in units in which the declared bound on the norm of a row is 0.001, where rows are as encoded"
            in said
        )
    wide = Space(np.array([-2.5]), np.array([5.0]), 5.0, np.array([False]), ("age",))
    floor = pre.StandardScaler(0.1, "none", payment=pay.Sensitivity())
    said = str(floor.sensitivity(wide, N).conditions[-1])
    assert (
        "is at least 0.75, in units in which the declared bounds of 'age' are -2.5..5, where rows are as encoded"
        in said
    )
    curved = pre.RegressionImputer(payment=paid(missing=0.1, curvature=0.05))
    said = str(curved.sensitivity(domain, N).conditions[-1])
    assert (
        "z = (the columns that are never missing less the midpoints of their declared bounds, over 0.7071067811865476, "
        "and the constant 1 / sqrt 2), where rows are as encoded (numbers are cut at their declared bounds, which become 0 and 1; "
        in said
    )
