"""OpenDP, recorded and played: run by outside_peers.py. It needs polars (1.36.1 for OpenDP 0.16.0), pyarrow and scikit-learn.

A measurement of OpenDP is a transformation of the records, then noise. Recorded is what the transformation hands to the noise; it may move as
far as the library's own map says of so many changed records. Queries on frames run as a whole, with noise of scale 1e-9; their map is
in units of that scale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import opendp.prelude as dp
import polars as pl
from opendp.extras.numpy._make_np_sscp import then_np_sscp
from opendp.extras.sklearn._make_eigenvalues import then_eigenvalues
from opendp.extras.sklearn.linear_model._make_private_theil_sen import (
    make_pairwise_predict,
    make_select_column,
)
from outside_peers import Differs, compare

dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
SCALE = 1e-9
FOUR = np.array([[0.0, 1.0], [0.1, 0.9], [0.9, 0.1], [0.25, 0.0]])
Work = tuple[Callable[[Any, Any], Any], Any, Callable[[Any, Any], float], Callable[[int], float]]


def _l1(a: Any, b: Any) -> float:
    return float(np.abs(np.asarray(a, float) - np.asarray(b, float)).sum())


def _most(a: Any, b: Any) -> float:
    return float(np.abs(np.asarray(a, float) - np.asarray(b, float)).max())


def _rows(a: Any, b: Any) -> float:
    """Rows to add and to remove."""
    of = [Counter(map(tuple, np.round(np.asarray(side, float), 9))) for side in (a, b)]
    return float(((of[0] - of[1]) + (of[1] - of[0])).total())


def _numbers(then: Any, distance: Callable[[Any, Any], float] = _l1) -> Work:
    """Of the first column, floats that may be missing."""
    space = dp.vector_domain(dp.atom_domain(T=float, nan=True)), dp.symmetric_distance()
    made = then(space >> dp.t.then_impute_constant(0.5))
    return (lambda x, y: [float(v) for v in x[:, 0]]), made, distance, made.map


def _labels(then: Any) -> Work:
    """Of the classes, integers."""
    made = then((dp.vector_domain(dp.atom_domain(T="i64")), dp.symmetric_distance()))
    return (lambda x, y: [int(v) for v in y]), made, _l1, made.map


def _matrix(made: Any) -> Work:
    return (lambda x, y: np.ascontiguousarray(x)), made, _l1, made.map


def _theil_sen(then: Any, distance: Callable[[Any, Any], float]) -> Work:
    """Of five records, the one that changes first. OpenDP leaves out the last of an odd number; the pairs of the others are drawn, and have one
    prediction of 0 or none, however they are drawn.
    """
    made = then(make_pairwise_predict(np.array([0.25, 0.75])))
    return (lambda x, y: np.vstack([x[59:], FOUR])), made, distance, made.map


def _frame(query: Any) -> Work:
    """A query on a frame, with noise that is too small to see."""
    number = dp.series_domain("x", dp.option_domain(dp.atom_domain(T=float, nan=True)))
    domain = dp.lazyframe_domain([number, dp.series_domain("y", dp.atom_domain(T="i64"))])
    domain = dp.with_margin(domain, dp.polars.Margin(by=[], max_length=1000))
    plan = query(pl.LazyFrame(schema={"x": pl.Float64, "y": pl.Int64}))
    made = dp.m.make_private_lazyframe(domain, dp.symmetric_distance(), dp.max_divergence(), plan)

    def exact(x: Any, y: Any) -> Any:
        return pl.LazyFrame({"x": x[:, 0], "y": y}, schema={"x": pl.Float64, "y": pl.Int64})

    return (
        exact,
        lambda frame: made(frame).collect().to_numpy(),
        _l1,
        lambda changed: made.map(changed) * SCALE,
    )


def run(work: Work, x: Any, y: Any, played: list[Any] | None = None, changed: int = 0) -> list[Any]:
    """One run: what is handed to the noise."""
    read, made, distance, bound = work
    now = made(read(x, y))
    if played is not None:
        moved, declared = distance(played[0], now), bound(changed)
        if not moved <= declared * (1 + 1e-9) + 1e-6:
            raise Differs(f"its input moves by {moved:.4g}, declared {declared:.4g}")
    return [now]


CLIPPED = pl.col("x").fill_nan(0.5).fill_null(0.5)
BOX = (0.0, 1.0)
PAIRS = dp.numpy.array2_domain(num_columns=2, size=60, T=float), dp.symmetric_distance()
NORM = PAIRS >> dp.numpy.then_np_clamp(1.5, p=2, origin=np.zeros(2))
EDGES = [0.2, 0.4, 0.6, 0.8]


def _binned(at: Any) -> Any:
    return at >> dp.t.then_find_bin(EDGES) >> dp.t.then_count_by_categories(categories=list(range(5)))


def _scored(pairs: Any) -> Any:
    numbers = pairs >> make_select_column(0) >> dp.t.then_drop_null()
    return numbers >> dp.t.then_quantile_score_candidates(list(np.linspace(0, 1, 100)), alpha=0.5)


WORK: dict[str, Work] = {
    "then_count": _numbers(lambda at: at >> dp.t.then_count()),
    "then_count_distinct": _labels(lambda at: at >> dp.t.then_count_distinct()),
    "then_count_by_categories": _labels(lambda at: at >> dp.t.then_count_by_categories(categories=[0, 1])),
    "then_sum, of integers": _labels(lambda at: at >> dp.t.then_clamp((0, 2)) >> dp.t.then_sum()),
    "then_sum, of floats": _numbers(lambda at: at >> dp.t.then_clamp(BOX) >> dp.t.then_sum()),
    "then_mean": _numbers(
        lambda at: at >> dp.t.then_clamp(BOX) >> dp.t.then_resize(60, 0.5) >> dp.t.then_mean()
    ),
    "then_variance": _numbers(
        lambda at: at >> dp.t.then_clamp(BOX) >> dp.t.then_resize(60, 0.5) >> dp.t.then_variance()
    ),
    "then_find_bin, counted": _numbers(_binned),
    "then_b_ary_tree": _numbers(
        lambda at: _binned(at) >> dp.t.then_b_ary_tree(leaf_count=6, branching_factor=2)
    ),
    "then_quantile_score_candidates": _numbers(
        lambda at: at >> dp.t.then_quantile_score_candidates(EDGES, alpha=0.5), _most
    ),
    "sklearn: the pairs of Theil-Sen": _theil_sen(lambda at: at, _rows),
    "sklearn: the scores of Theil-Sen": _theil_sen(_scored, _most),
    "sklearn: the eigenvalues of PCA": _matrix(NORM >> then_np_sscp() >> then_eigenvalues()),
    "polars: len": _frame(lambda at: at.select(dp.len(scale=SCALE, signed=True))),
    "polars: sum": _frame(lambda at: at.select(CLIPPED.dp.sum(BOX, scale=SCALE))),
}

if __name__ == "__main__":
    compare(f"OpenDP {dp.__version__}", WORK, run, fewer=True)
