"""Single questions: pure, charged, counted, and moved by no record further than declared."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy.stats import binom

import prepriv
from prepriv.audit.replay import Neighbour, replay
from prepriv.description.estimates import bin_edges, bin_numbers
from prepriv.description.questions import unit_of
from prepriv.ledger import Ledger
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession

N = 2000
ADJACENCIES = ["replace-one", "add-or-remove-one"]
VALUES = np.random.default_rng(0).integers(0, 101, N).astype(float)

ASK = {
    "count": lambda x, **o: prepriv.count(np.asarray(x, float) > 40, **o),
    "mean": lambda x, **o: prepriv.mean(x, 0, 100, **o),
    "histogram": lambda x, **o: prepriv.histogram(x, 0, 100, bins=7, **o),
    "sum": lambda x, **o: prepriv.sum(x, 0, 100, **o),
    "variance": lambda x, **o: prepriv.variance(x, 0, 100, **o),
    "covariance": lambda x, **o: prepriv.covariance(x, x, [(0, 100), (0, 100)], **o),
    "crosstab": lambda x, **o: prepriv.crosstab(x, x, [[0, 100], [0, 5]], **o),
    "quantiles": lambda x, **o: prepriv.quantiles(x, [0.25, 0.5], 0, 100, **o),
}


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("ask", ASK)
def test_replay(ask, adjacency):
    def run(values, session):
        return {"answer": repr(ASK[ask](values, epsilon=1.0, n=N, adjacency=adjacency, session=session))}

    neighbours = []
    for value in (math.nan, math.inf, -math.inf, -5.0, 0.0, 100.0, 1e300):
        other = VALUES.copy()
        other[np.argmax(VALUES == 0)] = value
        neighbours.append(Neighbour(str(value), other))
    if adjacency != "replace-one":
        neighbours = [Neighbour("less", VALUES[1:]), Neighbour("more", np.append(VALUES, 100.0))]
    result = replay(run, VALUES, neighbours)
    assert result.findings == [] and result.pairs == len(neighbours)
    assert max(result.reach.values()) > 0.49


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_bars_hold(adjacency):
    gaps = np.where(np.arange(N) % 10 == 0, np.nan, VALUES)
    truth = {
        "mean": np.nanmean(gaps),
        "count": (VALUES > 40).sum(),
        "bin": ((VALUES >= 0) & (VALUES < 100 / 7)).sum(),
    }
    held, runs = dict.fromkeys(truth, 0), 200
    for seed in range(runs):
        o = {
            "epsilon": 0.5,
            "n": N,
            "adjacency": adjacency,
            "session": NoisySession(NoiseSource.for_tests(seed)),
        }
        said = {"mean": ASK["mean"](gaps, **o), "count": ASK["count"](VALUES, **o)}
        said["bin"] = ASK["histogram"](VALUES, **o).counts[0]
        for name, e in said.items():
            held[name] += e.low <= truth[name] <= e.high
    assert min(held.values()) >= binom.ppf(1e-5, runs, 0.95), held


def test_a_rank_is_off_as_said():
    found = prepriv.quantiles(VALUES, [0.1, 0.5, 0.9], 0, 100, epsilon=3.0)
    for q, answer in found.items():
        under, upto = (float(answer) > VALUES).sum(), (float(answer) + 0.1 >= VALUES).sum()
        assert under - answer.ranks <= q * N <= upto + answer.ranks


def test_pure_and_added_up(tmp_path):
    Ledger.create(tmp_path / "L.db", "people", epsilon=1, delta=0)
    before = len(prepriv.spent().fits)
    prepriv.mean(VALUES, 0, 100, epsilon=0.3, ledger=tmp_path / "L.db")
    prepriv.count(VALUES > 3, epsilon=0.2, ledger=tmp_path / "L.db")
    assert Ledger.open(tmp_path / "L.db").remaining().epsilon == pytest.approx(0.5)
    fits = prepriv.spent().fits[before:]
    assert [fit.delta for fit in fits] == [0.0, 0.0] and fits[0].guarantee.epsilon(0.0) == 0.3
    assert "private run" in str(prepriv.spent(delta=1e-6))


@pytest.mark.parametrize(
    "column", [list(VALUES), pd.Series(VALUES), pl.Series(VALUES), [str(v) for v in VALUES]]
)
def test_any_column(column):
    assert float(prepriv.mean(column, 0, 100, epsilon=20.0)) == pytest.approx(VALUES.mean(), abs=1)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_quantile_leaves_gaps_out_and_its_rank_needs_no_public_number(adjacency):
    """Gaps counted as the middle of the bounds, so the 0.9-quantile of a column with 60 % gaps was the middle."""
    gaps = np.where(np.arange(N) % 5 < 3, math.nan, VALUES)
    there = gaps[~np.isnan(gaps)]
    for n in (N, N // 2)[: 2 if adjacency == "add-or-remove-one" else 1]:
        o = {
            "epsilon": 3.0,
            "n": n,
            "adjacency": adjacency,
            "session": NoisySession(NoiseSource.for_tests(n)),
        }
        for q, answer in prepriv.quantiles(gaps, [0.1, 0.5, 0.9], 0, 1000, **o).items():
            under, upto = (float(answer) > there).sum(), (float(answer) + 1 >= there).sum()
            assert under - answer.ranks <= q * len(there) <= upto + answer.ranks


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_bars_of_a_mean_hold_the_rounding_of_each_cell(adjacency):
    ones = np.ones(600_000)  # of bounds 0 to 3: u = -1/3, between two steps
    for seed in range(4):
        found = prepriv.mean(
            ones,
            0,
            3,
            epsilon=100.0,
            n=len(ones),
            adjacency=adjacency,
            session=NoisySession(NoiseSource.for_tests(seed)),
        )
        assert found.low <= 1.0 <= found.high and found.high - found.low < 1e-5


def test_too_few_to_say():
    assert str(prepriv.mean([math.nan] * 50, 0, 1, epsilon=1.0)) == "too few to say"


@pytest.mark.parametrize(
    "ask",
    [
        lambda: prepriv.mean(VALUES, 1, 0, epsilon=1.0),
        lambda: prepriv.mean(VALUES, 0, 1, epsilon=math.inf),
        lambda: prepriv.mean(VALUES.reshape(-1, 2), 0, 1, epsilon=1.0),
        lambda: prepriv.count(VALUES.reshape(-1, 2), epsilon=1.0),
        lambda: prepriv.count("age > 40", epsilon=1.0),
        lambda: prepriv.count({"age": True}, epsilon=1.0),
        lambda: prepriv.count(3, epsilon=1.0),
        lambda: prepriv.count(VALUES > 1, epsilon=1.0, adjacency="add-or-remove-one"),
        lambda: prepriv.count(VALUES > 1, epsilon=1.0, n=3),
        lambda: prepriv.quantiles(VALUES, [], 0, 1, epsilon=1.0),
        lambda: prepriv.quantiles(VALUES, [2], 0, 1, epsilon=1.0),
        lambda: prepriv.histogram(VALUES, 0, 1, epsilon=1.0, bins=0),
        lambda: prepriv.mean(VALUES, 0, 1, epsilon=1.0, ledger=3),
        lambda: prepriv.variance(VALUES, 0, 1, epsilon=1.0, n=2**40, adjacency="add-or-remove-one"),
        lambda: prepriv.covariance(
            VALUES, VALUES, [(0, 1)] * 2, epsilon=1.0, n=2**40, adjacency="add-or-remove-one"
        ),
    ],
)
def test_mistakes_are_sentences_and_cost_nothing(ask):
    before = len(prepriv.spent().fits)
    with pytest.raises(ValueError):
        ask()
    assert len(prepriv.spent().fits) == before


AGES = [30, 50, 70] * 20
MASKS = {
    "list": lambda v: [None if x is None else x > 40 for x in v],
    "iterator": lambda v: (x is not None and x > 40 for x in v),
    "numpy of objects": lambda v: np.array([None if x is None else x > 40 for x in v], dtype=object),
    "numpy of floats": lambda v: np.array([math.nan if x is None else float(x > 40) for x in v]),
    "pandas": lambda v: pd.Series(v) > 40,
    "pandas of objects": lambda v: pd.Series([None if x is None else x > 40 for x in v]),
    "pandas boolean": lambda v: pd.Series(v, dtype="Int64") > 40,
    "pandas array": lambda v: (pd.Series(v, dtype="Int64") > 40).array,
    "pandas of arrow": lambda v: pd.Series(v, dtype="int64[pyarrow]") > 40,
    "polars": lambda v: pl.Series(v) > 40,
    "polars frame": lambda v: pl.DataFrame({"age": v}).select(pl.col("age") > 40),
    "arrow": lambda v: pc.greater(pa.array(v), 40),
    "arrow chunked": lambda v: pc.greater(pa.chunked_array([v[:7], v[7:]]), 40),
}


@pytest.mark.parametrize("mask", MASKS)
def test_one_missing_cell_is_not_met_and_decides_nothing(mask):
    """Once `count` answered or raised by whether one age was missing."""
    for ages, met in ((AGES, 40), ([*AGES[:-1], None], 39)):
        source = NoisySession(NoiseSource.for_tests(1))
        said = prepriv.count(MASKS[mask](ages), epsilon=100.0, session=source)
        assert float(said) == met, mask


@pytest.mark.parametrize("ask", ["mean", "histogram", "quantiles"])
def test_a_text_that_is_not_utf8_decides_nothing(ask):
    for last in (b"3", b"\xff"):
        column = pa.chunked_array([pa.array([b"1", b"2", last] * 20, pa.binary()).view(pa.string())])
        assert ASK[ask](column, epsilon=1.0) is not None


def test_a_whole_number_on_an_edge_is_in_the_bin_above_it_and_edges_are_whole():
    """0.29 * 100 is less than 29: a reader who counted again by the released edges had other counts."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        low, width, bins = int(rng.integers(-200, 2000)), int(rng.integers(1, 40)), int(rng.integers(1, 120))
        bounds = prepriv.Numeric(low, low + width * bins)
        edges = low + width * np.arange(bins)
        assert bin_numbers(unit_of(edges.astype(float), bounds), bins).tolist() == list(range(bins))
        assert bin_edges(bounds.low, bounds.high, bins) == (*edges.astype(float).tolist(), bounds.high)
    found = prepriv.histogram(np.arange(100.0), 0, 100, epsilon=100.0, bins=100)
    assert found.edges[29] == 29.0 and all(float(count) == 1 for count in found.counts)
    again = np.histogram(np.arange(100.0), found.edges)[0]
    assert again[29] == again[28] == 1
