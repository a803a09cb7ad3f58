"""The attack: it finds what is false, within a small budget, and does not beat what is declared."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from prepriv import payment as pay
from prepriv.audit.sensitivity_case import Case, Pair
from prepriv.audit.sensitivity_cases import cases, paid, unit_box
from prepriv.audit.sensitivity_draws import Draws
from prepriv.audit.sensitivity_paper import good_clusters
from prepriv.audit.sensitivity_search import search
from prepriv.audit.sensitivity_worst import MAKERS, inside
from prepriv.preprocessing.base import ConfidentialMap, RowShift, Step
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.normalize import Normalize
from prepriv.preprocessing.scale import StandardScaler
from prepriv.space import Space

CASES = cases()


@pytest.mark.parametrize("name", sorted(CASES))
def test_no_declared_bound_is_beaten(name):
    """Every step and chain, a small budget; `prepriv audit sensitivity` does the same at length."""
    result = search(CASES[name], seed=1, pairs=60)
    assert result.pairs > 0
    assert result.holds, (result.found, result.bound)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CASES))
def test_no_declared_bound_is_beaten_at_length(name):
    for seed in range(2, 5):
        result = search(CASES[name], seed=seed, pairs=4000)
        assert result.holds, (result.found, result.bound)


_SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("Deduplicate/paper", "Quantize/paper")]


@pytest.mark.parametrize("name", ["MeanImputer/paper", "StandardScaler/paper", *_SLOW])
def test_the_search_finds_the_papers_false_bounds(name):
    result = search(CASES[name], seed=0, pairs=1200)
    assert result.paper_factor > 1.2
    assert result.beaten is not None
    assert result.holds


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("MeanImputer", 0.9),
        ("MeanImputer/fading", 0.9),
        ("TrimmedMeanImputer", 0.9),
        ("StandardScaler/midpoint root", 0.9),
        ("ClipNorm/after a shift", 0.99),
        ("Normalize/after a shift", 0.95),
    ],
)
def test_the_search_reaches_tight_bounds(name, least):
    assert search(CASES[name], seed=0, pairs=800).ratio("total_shift") > least


# ------------------------------------------------------------------------- planted bugs have to be found


@dataclasses.dataclass(frozen=True)
class _HalfPrice(MeanImputer):
    """A bound that forgets half."""

    def sensitivity(self, domain, n, incoming=None):
        s = super().sensitivity(domain, n, incoming)
        return dataclasses.replace(s, row_shift=s.row_shift / 2, total_shift=s.total_shift / 2)


@dataclasses.dataclass(frozen=True)
class _DeafToShifts(StandardScaler):
    """A step that prices neighbours only, whatever comes in."""

    def sensitivity(self, domain, n, incoming=None):
        came = incoming or RowShift()
        own = super().sensitivity(domain, n)
        return dataclasses.replace(own, rows_dropped=came.rows_dropped, total_shift=min(own.total_shift, 3.0))


@dataclasses.dataclass(frozen=True)
class _NoLipschitz(Normalize):
    """Plain row normalisation that claims to be non-expansive."""

    def lipschitz(self, space):
        return 1.0


@pytest.mark.parametrize(
    ("case", "pairs"),
    [
        (
            Case(
                "half", (_HalfPrice(payment=paid(missing=0.2)),), unit_box(1, 0), 20, hints={"missing": 0.2}
            ),
            300,
        ),
        (Case("steep", (_NoLipschitz(1.0, 0.1),), Space.ball(2, 1.0), 12, RowShift(3, 0.2, 0.5)), 300),
    ],
)
def test_planted_bugs_are_found(case, pairs):
    assert not search(case, seed=0, pairs=pairs).holds


def test_a_step_that_is_deaf_to_what_comes_in_is_refused_before_any_search():
    """In 0.2.0 the search had to find it."""
    steps = (MeanImputer(payment=paid(missing=0.2)), _DeafToShifts(0.3, payment=pay.Sensitivity()))
    case = Case("deaf", steps, unit_box(2, 1), 20, hints={"missing": 0.2, "spread": 0.3})
    with pytest.raises(ValueError, match="says the same"):
        search(case, seed=0, pairs=1)


# -------------------------------------------------- the paper's five clusters, with an algorithm of our own


class _Kept(ConfidentialMap):
    def __init__(self, kept):
        self.kept = kept

    def transform(self, x):
        return x

    def keep(self, x, start):
        return self.kept[start : start + len(x)]


@dataclasses.dataclass(frozen=True)
class _PaperDedup(Step):
    """Good-cluster deduplication by brute force, straight from the paper's definition."""

    eta: float = 1.0
    ways = ("sensitivity",)

    def output(self, space):
        return space

    def sensitivity(self, domain, n, incoming=None):
        return RowShift(rows_dropped=n - 1)

    def fit_confidential(self, rows, space, n):
        x = np.vstack(list(rows))
        far = np.linalg.norm(x[:, None] - x[None], axis=2)
        near, wide = far <= self.eta, far <= 3 * self.eta
        good = near.sum(axis=1) == wide.sum(axis=1)
        kept = np.ones(len(x), dtype=bool)
        done = np.zeros(len(x), dtype=bool)
        for c in np.flatnonzero(good):
            if not done[c]:
                kept[near[c]] = False
                kept[c] = True
                done |= near[c]
        return _Kept(kept)


def five_clusters(hubs):
    """Five clusters of 20 equal rows 72 degrees apart at 2.99 around each hub; the record leaves or changes hub."""
    angle = 2 * np.pi * np.arange(5) / 5
    ring = 2.99 * np.column_stack([np.cos(angle), np.sin(angle)])
    centres = [np.zeros(2), np.array([12.0, 0.0])][:hubs]
    rows = np.vstack([np.repeat(c + ring, 20, axis=0) for c in centres])
    away = np.array([0.0, 14.0])
    first, second = (np.vstack([z, rows]) for z in (centres[0], centres[1] if hubs == 2 else away))
    gone = np.zeros(len(first), dtype=bool)
    return Pair(first, second, gone, np.zeros((2, len(first)), dtype=np.int64))


@pytest.mark.parametrize(("hubs", "changed"), [(1, 95), (2, 190)])
def test_paper_bound_is_beaten_by_five_clusters(hubs, changed):
    """Proposition 3 allows 2 * 20 rows to change; a record between five clusters changes 95, or 190."""
    pair = five_clusters(hubs)
    case = Case("five", (_PaperDedup(payment=paid()),), Space.ball(2, 20.0), pair.n)
    found = case.measure(pair)
    assert found is not None and found.rows_dropped == changed
    assert good_clusters(1.0)(pair).rows_moved == 40


def test_the_search_finds_five_clusters_by_itself():
    paper = good_clusters(1.0)
    case = Case(
        "five", (_PaperDedup(payment=paid()),), Space.ball(2, 16.0), 101, hints={"scale": 1.0}, paper=paper
    )
    result = search(case, seed=0, pairs=700)
    assert result.paper_factor > 2
    assert result.found.rows_dropped >= 90


# --------------------------------------------------------------------------------------- the search itself


def test_same_seed_same_search():
    a, b, other = (search(CASES["MedianImputer"], seed=s, pairs=150) for s in (3, 3, 4))
    assert a.found == b.found and a.pairs == b.pairs
    assert (a.found, a.pairs) != (other.found, other.pairs)


def test_a_budget_is_needed():
    with pytest.raises(ValueError, match="budget: pairs, or seconds"):
        search(CASES["MeanImputer"])


def test_a_budget_of_seconds_ends():
    assert search(CASES["MeanImputer"], seconds=0.05).pairs > 0


@pytest.mark.parametrize("maker", MAKERS, ids=lambda m: m.__name__)
def test_makers_stay_in_the_declared_space(maker):
    draws = Draws(0)
    for space in (unit_box(1), unit_box(3, 1), Space.ball(2, 3.0), Space.ball(5, 1.0)):
        for _ in range(20):
            rows, record = maker(space, 15, draws, {"scale": 0.5, "spread": 0.2})
            x = inside(np.vstack([rows, record]), space)
            filled = np.nan_to_num(x)
            assert x.shape == (16, space.d)
            assert (filled >= space.low).all() and (filled <= space.high).all()
            assert np.linalg.norm(filled, axis=1).max() <= space.radius


def test_pairs_differ_by_no_more_than_may_come_in():
    """The identity as a step: what is measured is what came in."""
    came = RowShift(5, 0.2, 0.6, 2)
    case = Case("identity", (), unit_box(3, 1), 14, came, {"missing": 0.3})
    result = search(case, seed=0, pairs=800)
    assert result.holds
    assert result.ratio("total_shift") > 0.999 and result.ratio("rows_dropped") == 1


def test_draws_are_uniform_and_reproducible():
    a, b = Draws(7), Draws(7)
    u = a.uniform(20_000)
    assert (u == b.uniform(20_000)).all()
    assert u.min() > 0 and u.max() < 1
    assert abs(u.mean() - 0.5) < 0.01 and abs(np.var(u) - 1 / 12) < 0.003
    assert abs(Draws(8).normal(20_000).std() - 1) < 0.02
    assert {Draws(i).below(3) for i in range(20)} == {0, 1, 2}
    assert math.isclose(float(np.linalg.norm(Draws(9).direction(5))), 1.0)
