"""Fit transformers of scikit-learn on rows that are public, and turn what they learned into operations on columns.

Each leaf is fitted by scikit-learn itself; what its `transform` then does is written as operations (`preprocessing.compiled`),
and compared with it on the rows it was fitted on. Parameters are read by that comparison: one that changes what `transform` does
in a way that is not written is refused. What such a map may do to private rows: docs/proofs/fitted.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from prepriv.preprocessing.compiled import MOST_TURNS, RawColumns, run_compiled
from prepriv.preprocessing.sklearn_spec import made_of

CLOSE = 1e-6  # relative, between what scikit-learn and the operations make of a row
_ROUNDING = 1e-12  # of the largest number that it makes: a column of less is rounding, which no two ways to compute have alike
MOST_FEATURES, _MOST_QUANTILES, MOST_STORED, _FEW = 4096, 2000, 2000, 100
_BOUND = 1e-7 - np.spacing(1)  # of QuantileTransformer
Ops = list[dict[str, Any]]
Kind = tuple[Any, ...] | None
"""Of a column: what its codes stand for, in order, NaN for a missing cell; None for a column of numbers."""

PAIRS = frozenset(
    [
        "PCA",
        "CCA",
        "PLSCanonical",
        "PLSSVD",
        "NeighborhoodComponentsAnalysis",
        "IncrementalPCA",
        "TruncatedSVD",
        "FastICA",
        "FactorAnalysis",
        "LinearDiscriminantAnalysis",
        "SparsePCA",
        "MiniBatchSparsePCA",
        "PLSRegression",
        "IterativeImputer",
        "SelectFromModel",
        "RFE",
        "RFECV",
        "SequentialFeatureSelector",
        "KMeans",
        "MiniBatchKMeans",
        "BisectingKMeans",
        "Nystroem",
        "KNNImputer",
        "NMF",
    ]
)
_ALONE = frozenset(["NMF"])  # whose transform stops by what all rows hold: one row at a time here
LABELS = frozenset(
    [
        "SelectKBest",
        "SelectPercentile",
        "SelectFpr",
        "SelectFdr",
        "SelectFwe",
        "GenericUnivariateSelect",
        "TargetEncoder",
    ]
)


@dataclass
class Fitting:
    """Columns of public rows as they reach a transformer. kinds: of each; labels: (n,) of the rows. dry: whether the rows are made
    up, before anything is charged: what could be refused is refused then."""

    columns: RawColumns
    kinds: list[Kind]
    labels: NDArray[Any]
    dry: bool = False

    def after(self, ops: Ops, kinds: Sequence[Kind] | None = None) -> Fitting:
        """The same after operations."""
        with np.errstate(all="ignore"):
            made = run_compiled(ops, self.columns)
        if len(made) > MOST_FEATURES:
            raise ValueError(f"the pipeline makes {len(made)} columns; at most {MOST_FEATURES} are compiled")
        return Fitting(made, list(kinds) if kinds is not None else [None] * len(made), self.labels, self.dry)

    def some(self, at: Sequence[int]) -> Fitting:
        """Some of the columns."""
        if any(not 0 <= i < len(self.columns) for i in at):
            raise ValueError("a ColumnTransformer takes a column that does not reach it")
        return Fitting([self.columns[i] for i in at], [self.kinds[i] for i in at], self.labels, self.dry)

    def matrix(self) -> NDArray[Any]:
        """What scikit-learn is handed: floats, or objects where a column has categories; its own to write to."""
        if not self.columns:
            return np.empty((len(self.labels), 0))
        if all(kind is None for kind in self.kinds):
            return np.column_stack([np.array(c, dtype=np.float64) for c in self.columns])
        out = np.empty((len(self.labels), len(self.columns)), dtype=object)
        for j, (column, kind) in enumerate(zip(self.columns, self.kinds)):
            out[:, j] = column if kind is None else as_values(column, kind)
        return out


def as_values(codes: NDArray[Any], kind: tuple[Any, ...]) -> NDArray[Any]:
    """Categories of codes."""
    values = np.empty(len(kind), dtype=object)
    values[:] = list(kind)
    return values[codes.astype(np.intp)]


class FitFailed(RuntimeError):
    """A transformer could not be fitted on the rows that were drawn from a sketch: it is paid for, and nothing else leaves.

    It names the transformer alone.
    """

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} could not be fitted on the rows that were drawn from the sketch, so there is no model (a charge, if any, stays): leave "
            "it out, or put it before what selects columns"
        )


def fitted_ops(spec: Mapping[str, Any], rows: Fitting) -> tuple[Ops, Fitting]:
    """(operations, rows after them) of a pipeline as plain data, fitted part by part on public rows."""
    name = str(spec["kind"]).rpartition(".")[2]
    if name == "Pipeline":
        ops: Ops = []
        for part in spec["steps"]:
            more, rows = fitted_ops(part, rows)
            ops += more
        return ops, rows
    if name in ("ColumnTransformer", "FeatureUnion"):
        return _beside(spec, rows)
    return _leaf(spec, name, rows)


def _beside(spec: Mapping[str, Any], rows: Fitting) -> tuple[Ops, Fitting]:
    ops, kinds = list[Ops](), list[Kind]()
    for own, some in _each_part(spec, rows):
        if own is not None:
            ops.append(own)
            kinds += some.kinds
    if not ops:
        raise ValueError("the pipeline keeps no column")
    made: Ops = [{"do": "beside", "parts": ops}]
    return made, rows.after(made, kinds)


def parts_made(spec: Mapping[str, Any], rows: Fitting) -> list[RawColumns]:
    """The columns that each part of a ColumnTransformer makes, the remainder last; none where it drops them."""
    return [[] if own is None else some.columns for own, some in _each_part(spec, rows)]


def _each_part(spec: Mapping[str, Any], rows: Fitting) -> Iterator[tuple[Ops | None, Fitting]]:
    """(operations, columns after them) of each part of a container; operations None where it keeps nothing."""
    every = list(range(len(rows.columns)))
    for mask in (p["width"] for p in spec["parts"] if "width" in p):
        if mask != len(every):
            raise ValueError(f"a ColumnTransformer has a mask of {mask} columns, and {len(every)} reach it")
    parts = [(p["part"], p.get("of", every), p["weight"]) for p in spec["parts"]]
    if "remainder" in spec:
        taken = {i for _, of, _ in parts for i in of}
        parts.append((spec["remainder"], [i for i in every if i not in taken], 1.0))
    for part, of, weight in parts:
        if part == "drop" or not of:
            yield None, rows
            continue
        own: Ops = [{"do": "take", "of": list(of)}]
        some = rows.some(of)
        if part != "passthrough":
            more, some = fitted_ops(part, some)
            own += more
        if weight != 1.0:
            own.append(_affine([weight] * len(some.columns)))
        yield own, some


def _leaf(spec: Mapping[str, Any], name: str, rows: Fitting) -> tuple[Ops, Fitting]:
    if name not in _COMPILED:
        raise ValueError(
            f"{name} is not taken: it has no form as plain operations here ({', '.join(taken())} have)"
        )
    if not rows.columns:  # a selection before it kept none
        if rows.dry:
            raise ValueError(f"no column reaches {name}")
        return [], rows
    x, labels = rows.matrix(), rows.labels
    if declared_codes(spec, name) and all(kind is not None for kind in rows.kinds):
        x = _every_value(rows.kinds)
        labels = np.zeros(len(x))
    from sklearn import (
        config_context,  # the heaviest of all imports: a command without transformers does without
    )

    with warnings.catch_warnings(), np.errstate(all="ignore"), config_context(**_PLAIN_CONFIG):
        warnings.simplefilter("ignore")
        try:
            estimator = made_of(spec if rows.dry else _as_many_as_there_are(spec, name, len(rows.columns)))
            try:
                estimator.fit(x, labels)
            except ValueError:
                if rows.dry or not hasattr(
                    estimator, "variances_"
                ):  # a threshold that no drawn column meets keeps none
                    raise
            ops, kinds = _COMPILED[name](estimator, rows)
            after = rows.after(ops, kinds)
            wanted = _by_scikit_learn(estimator, name, rows.matrix()) if rows.dry else None
        except Exception as error:
            if not rows.dry:
                raise FitFailed(name) from None
            if isinstance(error, ValueError) and str(error).startswith(name):
                raise
            told = (str(error).splitlines() or [""])[0]
            if "unknown categories" in told:
                given = "'use_encoded_value', unknown_value=-1" if name == "OrdinalEncoder" else "'ignore'"
                told = (
                    f"cells may hold other values than the listed ones, or none; give handle_unknown={given}"
                )
            elif ("non-numeric" in told or "could not convert" in told) and any(rows.kinds):
                few = next(kind for kind in rows.kinds if kind)[:3]
                told = (
                    f"it computes with numbers, and a categorical column reaches it (one with {', '.join(map(str, few))}): give it numeric "
                    "columns alone, in a ColumnTransformer"
                )
            elif "contains NaN" in told:
                told = "cells can be missing, so fill them before it, as by SimpleImputer"
            raise ValueError(f"{name} cannot be fitted on rows of this domain: {told}") from None
    if wanted is not None and not _same(name, wanted, after):
        raise ValueError(f"{name} {_why_not(estimator, rows, after)}")
    return ops, after


def _by_scikit_learn(estimator: Any, name: str, x: NDArray[Any]) -> Any:
    """What its own transform gives for rows; of the first ones, each by itself, where all of them decide together."""
    if name not in _ALONE:
        return estimator.transform(x)
    return np.vstack([estimator.transform(x[i : i + 1]) for i in range(min(len(x), _FEW))])


def _same(name: str, wanted: Any, after: Fitting) -> bool:
    """Whether the operations make what `transform` makes."""
    dense = wanted.toarray() if hasattr(wanted, "toarray") else np.asarray(wanted)
    if name in _ALONE:
        few = [column[: len(dense)] for column in after.columns]
        after = Fitting(few, after.kinds, after.labels[: len(dense)], after.dry)
    if dense.shape != (len(after.labels), len(after.columns)):
        raise ValueError(
            f"{name} makes {dense.shape[1:]} columns in a way that is not compiled: leave its unusual parameters out"
        )
    made = after.matrix()
    numbers = [j for j, kind in enumerate(after.kinds) if kind is None]
    rounding = _ROUNDING * _size(dense[:, numbers])
    for j, kind in enumerate(after.kinds):
        one, two = dense[:, j], made[:, j]
        if kind is not None:
            same = all(a == b or (a != a and b != b) for a, b in zip(one, two))
        else:
            one, two = one.astype(np.float64), two.astype(np.float64)
            near = CLOSE * _size(one) + rounding
            same = bool(np.allclose(one, two, rtol=CLOSE, atol=near, equal_nan=True))
        if not same:
            return False
    return True


def _why_not(estimator: Any, rows: Fitting, after: Fitting) -> str:
    """Why operations and `transform` part on made-up rows, and what cures it."""
    params = estimator.get_params(deep=False)
    if type(estimator).__name__ in PAIRS - {"Nystroem"} and "n_components" in params:
        x = rows.matrix()
        if (most := int(np.linalg.matrix_rank(x - x.mean(axis=0)))) < len(after.columns):
            return (
                f"makes {len(after.columns)} columns, and rows vary in {most} directions only, as where the cells of a one-hot code add up to one: of "
                f"the others it makes large numbers out of rounding. Give it n_components of at most {most}"
            )
    usual = signature(type(estimator)).parameters
    if changed := [key for key in params if repr(params[key]) != repr(usual[key].default)]:
        return f"treats rows in a way that is not compiled, by one of these parameters: leave out {', '.join(changed)}"
    return "treats these columns in a way that is not compiled, whatever its parameters: give it other columns, or leave it out"


def _size(values: NDArray[Any]) -> float:
    """The largest of these numbers, signs aside; 0 where there is none."""
    values = values.astype(np.float64)
    return float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))


_PLAIN_CONFIG: dict[str, Any] = {
    "transform_output": "default",
    "assume_finite": False,
    "enable_metadata_routing": False,
    "array_api_dispatch": False,
}
"""Of scikit-learn: what a program sets for itself changes no fit here."""


def declared_codes(spec: Mapping[str, Any], name: str) -> bool:
    """Whether it encodes the categories that are declared, however often each is met."""
    params = spec["params"]
    return (
        name in ("OneHotEncoder", "OrdinalEncoder")
        and params["min_frequency"] is params["max_categories"] is None
    )


def _every_value(kinds: Sequence[Kind]) -> NDArray[Any]:
    """Rows in which each value of each column is met."""
    many = max(len(kind or ()) for kind in kinds)
    return np.column_stack(
        [as_values(np.arange(many) % len(kind), kind) for kind in kinds if kind is not None]
    )


def _as_many_as_there_are(spec: Mapping[str, Any], name: str, columns: int) -> Mapping[str, Any]:
    """The same, with at most as many components as columns: a selection before it may keep fewer than on made-up rows."""
    asked = spec["params"].get("n_components")
    if name not in PAIRS - {"Nystroem"} or not isinstance(asked, int) or asked <= columns:
        return spec
    return {**spec, "params": {**spec["params"], "n_components": columns}}


def taken() -> list[str]:
    """The transformers that are compiled."""
    return sorted(_COMPILED)


def _check_width(name: str, columns: int) -> None:
    if columns > MOST_FEATURES:
        raise ValueError(f"{name} makes {columns} columns; at most {MOST_FEATURES} are compiled")


def _numbers(rows: Fitting, name: str) -> int:
    if any(kind is not None for kind in rows.kinds):
        raise ValueError(f"{name} takes numbers, and a column of categories reaches it: encode it first")
    return len(rows.columns)


def _affine(times: Any, minus: Any = None, plus: Any = None) -> dict[str, Any]:
    times = [float(t) for t in times]
    zero = [0.0] * len(times)
    return {
        "do": "affine",
        "minus": zero if minus is None else [float(m) for m in minus],
        "times": times,
        "plus": zero if plus is None else [float(p) for p in plus],
    }


Compiled = tuple[Ops, Sequence[Kind] | None]
Compiler = Callable[[Any, Fitting], Compiled]


def _standard(e: Any, rows: Fitting) -> Compiled:
    d = _numbers(rows, "StandardScaler")
    scale = np.ones(d) if e.scale_ is None else e.scale_
    return [_affine(1 / scale, None if e.mean_ is None or not e.with_mean else e.mean_)], None


def _min_max(e: Any, rows: Fitting) -> Compiled:
    d = _numbers(rows, "MinMaxScaler")
    ops: Ops = [_affine(e.scale_, None, e.min_)]
    if e.clip:
        low, high = e.feature_range
        ops.append({"do": "clip", "low": [float(low)] * d, "high": [float(high)] * d})
    return ops, None


def _max_abs(e: Any, rows: Fitting) -> Compiled:
    _numbers(rows, "MaxAbsScaler")
    return [_affine(1 / e.scale_)], None


def _robust(e: Any, rows: Fitting) -> Compiled:
    d = _numbers(rows, "RobustScaler")
    scale = np.ones(d) if e.scale_ is None else e.scale_
    return [_affine(1 / scale, e.center_)], None


def _selection(e: Any, rows: Fitting) -> Compiled:
    at = np.flatnonzero(e.get_support()).tolist()
    if not at and rows.dry:
        raise ValueError(f"{type(e).__name__} keeps no column of such rows")
    return [{"do": "take", "of": at}], [rows.kinds[i] for i in at]


def _probed(e: Any, rows: Fitting, widths: Sequence[int]) -> Compiled:
    """A column-wise encoder of categories, asked what it gives for each value of each column; zeros where it refuses one."""
    name = type(e).__name__
    if any(kind is None for kind in rows.kinds):
        return _probed_numbers(e, rows, widths)
    first = [next(v for v in kind) for kind in rows.kinds if kind is not None]
    for j in range(len(first)):  # a value that it knows
        known = [v for v in e.categories_[j] if v == v]
        first[j] = known[0] if known else np.nan
    of, values, at = list[int](), list[list[float]](), 0
    for j, (kind, width) in enumerate(zip(rows.kinds, widths)):
        assert kind is not None
        made = []
        for value in kind:
            row = np.empty((1, len(first)), dtype=object)
            row[0] = first
            row[0, j] = value
            try:
                out = e.transform(row)
                out = out.toarray() if hasattr(out, "toarray") else np.asarray(out)
                made.append(out[0, at : at + width].astype(np.float64))
            except ValueError:
                made.append(np.zeros(width))
        for column in np.array(made).T:
            of.append(j)
            values.append([None if v != v else float(v) for v in column])  # type: ignore[misc]
        at += width
    if at != len(e.get_feature_names_out()):
        raise ValueError(f"{name} makes columns in a way that is not compiled")
    return [{"do": "table", "of": of, "values": values}], None


def _probed_numbers(e: Any, rows: Fitting, widths: Sequence[int]) -> Compiled:
    raise ValueError(
        f"{type(e).__name__} takes categories, and a column of numbers reaches it: bin it, or declare its categories"
    )


def _one_hot(e: Any, rows: Fitting) -> Compiled:
    return _probed(e, rows, list(e._n_features_outs))


def _ordinal(e: Any, rows: Fitting) -> Compiled:
    return _probed(e, rows, [1] * len(rows.kinds))


def _target(e: Any, rows: Fitting) -> Compiled:
    # "binary" for two classes (sklearn_labels.py), so this is a numeric target. A sketch has its correlations, along the declared order.
    if rows.dry and e.target_type == "continuous" and any(len(k) > 4 for k in rows.kinds if k is not None):
        raise ValueError(
            "TargetEncoder learns the mean target of each category, and a sketch keeps only whether a numeric target rises along the declared "
            "order of the categories: for a column of more than two write OneHotEncoder(handle_unknown='ignore'). With many categories, StandardScaler() after it can tell more (docs/regression.md, Columns of categories)"
        )
    per = len(e.classes_) if e.target_type_ == "multiclass" else 1
    return _probed(e, rows, [per] * len(rows.kinds))


def _simple_imputer(e: Any, rows: Fitting) -> Compiled:
    coded = [kind is not None for kind in rows.kinds]
    statistics = list(e.statistics_)
    if not any(coded):
        _only_nan(e)
        kept = [j for j, v in enumerate(statistics) if v == v]
        ops: Ops = [{"do": "fill", "with": [float(v) if v == v else 0.0 for v in statistics]}]
        if len(kept) < len(statistics):
            ops.append({"do": "take", "of": kept})
        return _with_indicator(e, ops, len(kept), rows), None
    if not all(coded):
        raise ValueError("SimpleImputer takes columns of one kind: give numbers and categories one each")
    if e.add_indicator:
        raise ValueError(
            "SimpleImputer(add_indicator=True) of categories is not compiled: use MissingIndicator"
        )
    _only_nan(e)
    values: list[list[float]] = []
    kinds: list[Kind] = []
    for kind, v in zip(rows.kinds, statistics):
        assert kind is not None
        known = kind if v in kind else (*kind[:-1], v, kind[-1])
        fill = known.index(v)
        values.append([float(known.index(c)) if c == c else float(fill) for c in kind])
        kinds.append(known)
    return [{"do": "table", "of": list(range(len(values))), "values": values}], kinds


def _only_nan(e: Any) -> None:
    if e.missing_values == e.missing_values:
        raise ValueError(
            f"{type(e).__name__} takes NaN for a missing cell, as prepriv hands it: leave missing_values out"
        )


def _with_indicator(e: Any, ops: Ops, kept: int, rows: Fitting) -> Ops:
    if not e.add_indicator:
        return ops
    gaps: Ops = [{"do": "gaps"}, {"do": "take", "of": [int(i) for i in e.indicator_.features_]}]
    return [{"do": "beside", "parts": [ops, gaps]}]


def _indicator(e: Any, rows: Fitting) -> Compiled:
    _only_nan(e)
    at = [int(i) for i in e.features_]
    if all(kind is None for kind in rows.kinds):
        return [{"do": "gaps"}, {"do": "take", "of": at}], None
    values = []
    for i in at:
        kind = rows.kinds[i]
        if kind is None:
            raise ValueError(
                "MissingIndicator takes columns of one kind: give numbers and categories one each"
            )
        values.append([float(v != v) for v in kind])
    return [{"do": "table", "of": at, "values": values}], None


def _iterative(e: Any, rows: Fitting) -> Compiled:
    d = _numbers(rows, "IterativeImputer")
    _only_nan(e)
    if e.sample_posterior or e.skip_complete:
        raise ValueError(
            "IterativeImputer(sample_posterior=True, skip_complete=True) treat rows by what others hold: leave them out"
        )
    start = np.asarray(e.initial_imputer_.statistics_, dtype=np.float64)
    if len(start) != d or (start != start).any():
        raise ValueError("IterativeImputer drops a column without a number")
    turns = []
    for turn in e.imputation_sequence_:
        model = turn.estimator
        if not hasattr(model, "coef_") or np.ndim(model.coef_) != 1:
            raise ValueError("IterativeImputer is compiled for linear estimators: leave estimator= out")
        turns.append(
            {
                "at": int(turn.feat_idx),
                "of": [int(i) for i in turn.neighbor_feat_idx],
                "weights": [float(w) for w in model.coef_],
                "plus": float(model.intercept_),
            }
        )
    low, high = (np.broadcast_to(ends, d).astype(float).tolist() for ends in (e._min_value, e._max_value))
    low, high = [max(v, -1e300) for v in low], [min(v, 1e300) for v in high]
    ops: Ops = [{"do": "chained", "with": start.tolist(), "turns": turns, "low": low, "high": high}]
    return _with_indicator(e, ops, d, rows), None


def _bins(e: Any, rows: Fitting) -> Compiled:
    _numbers(rows, "KBinsDiscretizer")
    inner = [[float(v) for v in edges[1:-1]] for edges in e.bin_edges_]
    ops: Ops = [{"do": "cut", "edges": inner}]
    if e.encode == "ordinal":
        return ops, None
    counts = [int(n) for n in e.n_bins_]
    of = [j for j, n in enumerate(counts) for _ in range(n)]
    values = [[float(i == b) for i in range(n)] for n in counts for b in range(n)]
    return [*ops, {"do": "table", "of": of, "values": values}], None


def _quantile(e: Any, rows: Fitting) -> Compiled:
    """The mean of both directions of interpolation: where knots are alike, half of their jump."""
    d = _numbers(rows, "QuantileTransformer")
    if e.n_quantiles > _MOST_QUANTILES:
        raise ValueError(f"QuantileTransformer is compiled for n_quantiles of at most {_MOST_QUANTILES}")
    op: dict[str, Any] = {"do": "interp", "at": [], "out": [], "into": [], "on": []}
    for knots in np.asarray(e.quantiles_, dtype=np.float64).T:
        at, first = np.unique(knots, return_index=True)
        last = len(knots) - 1 - np.unique(knots[::-1], return_index=True)[1]
        into, out = e.references_[first], e.references_[last]
        on = (into + out) / 2
        on[-1] = 1.0
        on[0] = 0.0
        for key, values in (("at", at), ("out", out), ("into", into), ("on", on)):
            op[key].append([float(v) for v in values])
    ops: Ops = [op]
    if e.output_distribution == "normal":
        ends = [float(ndtri(_BOUND)), float(-ndtri(_BOUND))]
        ops += [
            {"do": "function", "name": "ndtri"},
            {"do": "clip", "low": [ends[0]] * d, "high": [ends[1]] * d},
        ]
    return ops, None


def _power(e: Any, rows: Fitting) -> Compiled:
    _numbers(rows, "PowerTransformer")
    ops: Ops = [{"do": "power", "method": e.method, "powers": [float(v) for v in e.lambdas_]}]
    if e.standardize:
        ops.append(_affine(1 / e._scaler.scale_, e._scaler.mean_))
    return ops, None


def _spline(e: Any, rows: Fitting) -> Compiled:
    from scipy.interpolate import BSpline, PPoly

    _numbers(rows, "SplineTransformer")
    _check_width("SplineTransformer", e.n_features_out_)
    if e.extrapolation != "constant":
        raise ValueError("SplineTransformer is compiled for extrapolation='constant'")
    of, breaks, pieces = list[int](), list[list[float]](), list[list[list[float]]]()
    for j, basis in enumerate(e.bsplines_):
        low, high = float(basis.t[basis.k]), float(basis.t[-basis.k - 1])
        at_end = basis(high)  # where knots coincide, not what the piece before it comes to
        for b in range(basis.c.shape[1] - (0 if e.include_bias else 1)):
            starts, c = [high], np.zeros((1, 0))
            if low < high:  # else a column of one value
                one = PPoly.from_spline(BSpline(basis.t, basis.c[:, b], basis.k))
                inside = (one.x[:-1] >= low - 1e-12) & (one.x[1:] <= high + 1e-12) & (np.diff(one.x) > 0)
                starts, c = [*one.x[:-1][inside].tolist(), high], one.c[:, inside]
            last = np.zeros((len(c), 1))
            last[-1] = at_end[b]
            of.append(j)
            breaks.append([*starts, high + 1.0])
            pieces.append(np.hstack([c, last]).tolist())
    return [{"do": "polynomial", "of": of, "breaks": breaks, "pieces": pieces}], None


def _polynomial(e: Any, rows: Fitting) -> Compiled:
    _numbers(rows, "PolynomialFeatures")
    _check_width("PolynomialFeatures", e.n_output_features_)
    return [{"do": "products", "powers": [[int(p) for p in row] for row in e.powers_]}], None


def _normalizer(e: Any, rows: Fitting) -> Compiled:
    _numbers(rows, "Normalizer")
    return [{"do": "unit", "norm": e.norm}], None


def _binarizer(e: Any, rows: Fitting) -> Compiled:
    _numbers(rows, "Binarizer")
    return [{"do": "more", "than": float(e.threshold)}], None


def _function(e: Any, rows: Fitting) -> Compiled:
    if e.func is None:
        return [], rows.kinds
    _numbers(rows, "FunctionTransformer")
    if not isinstance(e.func, np.ufunc) or e.kw_args:
        raise ValueError(
            "FunctionTransformer is compiled for functions of NumPy of one number each, without kw_args"
        )
    if rows.dry:
        with np.errstate(all="ignore"):
            none = [c[np.isfinite(c) & ~np.isfinite(e.func(c))] for c in rows.columns]
        if at := [float(cells[0]) for cells in none if len(cells)]:
            raise ValueError(
                f"FunctionTransformer({e.func.__name__}) gives no number for {at[0]:.4g}, and cells between the declared bounds "
                "can be that: declare bounds within which it gives one, or take another function, such as log1p for log"
            )
    return [{"do": "function", "name": e.func.__name__}], None


def _matrix(weights: Any, minus: Any = None, plus: Any = None) -> Ops:
    weights = np.asarray(weights, dtype=np.float64)
    zero = np.zeros(weights.shape[1])
    out = np.zeros(len(weights)) if plus is None else np.broadcast_to(plus, len(weights))
    return [
        {
            "do": "matrix",
            "weights": weights.tolist(),
            "minus": (zero if minus is None else np.asarray(minus, dtype=np.float64)).tolist(),
            "plus": np.asarray(out, dtype=np.float64).tolist(),
        }
    ]


def _linear(e: Any, rows: Fitting) -> Compiled:
    """A transform that is x W + b: found by asking it, of zeros and of each unit vector."""
    name = type(e).__name__
    d = _numbers(rows, name)
    middle = np.array([np.mean(c) for c in rows.columns])
    scale = np.array([max(float(np.std(c)), 1e-12) for c in rows.columns])
    points = np.vstack([middle, middle + np.diag(scale)])
    out = np.asarray(e.transform(points), dtype=np.float64)
    weights = (out[1:] - out[0]).T / scale
    if weights.shape[1] != d:
        raise ValueError(f"{name} is not compiled for these rows")
    return _matrix(weights, middle, out[0]), None


def _pca(e: Any, rows: Fitting) -> Compiled:
    _numbers(rows, type(e).__name__)
    scale = np.sqrt(np.maximum(e.explained_variance_, np.finfo(float).eps)) if e.whiten else 1.0
    return _matrix(e.components_ / np.reshape(scale, (-1, 1)), e.mean_), None


def _svd(e: Any, rows: Fitting) -> Compiled:
    _numbers(rows, "TruncatedSVD")
    return _matrix(e.components_), None


def _projection(e: Any, rows: Fitting) -> Compiled:
    _numbers(rows, type(e).__name__)
    components = e.components_
    return _matrix(components.toarray() if hasattr(components, "toarray") else components), None


def _kitchen_sinks(e: Any, rows: Fitting) -> Compiled:
    _numbers(rows, "RBFSampler")
    many = len(e.random_offset_)
    return [
        *_matrix(e.random_weights_.T, None, e.random_offset_),
        {"do": "function", "name": "cos"},
        _affine([np.sqrt(2.0 / many)] * many),
    ], None


def _nystroem(e: Any, rows: Fitting) -> Compiled:
    d = _numbers(rows, "Nystroem")
    if e.kernel != "rbf":
        raise ValueError("Nystroem is compiled for kernel='rbf'")
    centres = np.asarray(e.components_, dtype=np.float64)
    gamma = 1 / d if e.gamma is None else e.gamma
    return [
        {"do": "distances", "centres": centres.tolist()},
        {"do": "function", "name": "square"},
        _affine([-gamma] * len(centres)),
        {"do": "function", "name": "exp"},
        *_matrix(e.normalization_),
    ], None


def _clusters(e: Any, rows: Fitting) -> Compiled:
    _numbers(rows, type(e).__name__)
    return [{"do": "distances", "centres": np.asarray(e.cluster_centers_, dtype=np.float64).tolist()}], None


def _neighbours(e: Any, rows: Fitting) -> Compiled:
    """The rows it was fitted on are drawn ones, which may be shown: they are the map."""
    _numbers(rows, "KNNImputer")
    _only_nan(e)
    if e.metric != "nan_euclidean" or e.weights not in ("uniform", "distance"):
        raise ValueError(
            "KNNImputer is compiled for metric='nan_euclidean' and weights 'uniform' or 'distance'"
        )
    stored = np.asarray(e._fit_X, dtype=np.float64)
    if len(stored) > MOST_STORED:
        raise ValueError(f"KNNImputer is compiled for at most {MOST_STORED} stored rows")
    valid = np.flatnonzero(e._valid_mask).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        means = np.nan_to_num(np.nanmean(stored, axis=0))
    op = {
        "do": "nearest",
        "rows": [[None if v != v else float(v) for v in row] for row in stored],
        "most": int(e.n_neighbors),
        "by": e.weights,
        "means": means.tolist(),
    }
    ops: Ops = [op]
    if len(valid) < stored.shape[1] and not e.keep_empty_features:
        ops.append({"do": "take", "of": valid})
    return _with_indicator(e, ops, len(valid), rows), None


def _factorised(e: Any, rows: Fitting) -> Compiled:
    d = _numbers(rows, "NMF")
    if e.solver != "cd" or e.shuffle:
        raise ValueError(
            "NMF is compiled for solver='cd' and shuffle=False: the others are not row-wise, or draw numbers"
        )
    if e.n_components_ * e.max_iter > MOST_TURNS:
        raise ValueError(f"NMF is compiled for n_components * max_iter of at most {MOST_TURNS}")
    less = d * e.alpha_W * e.l1_ratio
    gram = e.components_ @ e.components_.T
    gram[np.diag_indices(len(gram))] += d * e.alpha_W * (1.0 - e.l1_ratio)
    return [
        {
            "do": "nonnegative",
            "weights": np.asarray(e.components_, dtype=np.float64).tolist(),
            "gram": gram.tolist(),
            "less": float(less),
            "turns": int(e.max_iter),
            "tol": float(e.tol),
        }
    ], None


_COMPILED: dict[str, Compiler] = {
    "Binarizer": _binarizer,
    "BisectingKMeans": _clusters,
    "CCA": _linear,
    "FactorAnalysis": _linear,
    "FastICA": _linear,
    "FunctionTransformer": _function,
    "GaussianRandomProjection": _projection,
    "GenericUnivariateSelect": _selection,
    "IncrementalPCA": _pca,
    "IterativeImputer": _iterative,
    "KBinsDiscretizer": _bins,
    "KMeans": _clusters,
    "KNNImputer": _neighbours,
    "LinearDiscriminantAnalysis": _linear,
    "MaxAbsScaler": _max_abs,
    "MinMaxScaler": _min_max,
    "MiniBatchKMeans": _clusters,
    "MiniBatchSparsePCA": _linear,
    "MissingIndicator": _indicator,
    "NMF": _factorised,
    "NeighborhoodComponentsAnalysis": _linear,
    "Normalizer": _normalizer,
    "Nystroem": _nystroem,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "PCA": _pca,
    "PLSCanonical": _linear,
    "PLSRegression": _linear,
    "PLSSVD": _linear,
    "PolynomialFeatures": _polynomial,
    "PowerTransformer": _power,
    "QuantileTransformer": _quantile,
    "RBFSampler": _kitchen_sinks,
    "RFE": _selection,
    "RFECV": _selection,
    "RobustScaler": _robust,
    "SelectFdr": _selection,
    "SelectFpr": _selection,
    "SelectFromModel": _selection,
    "SelectFwe": _selection,
    "SelectKBest": _selection,
    "SelectPercentile": _selection,
    "SequentialFeatureSelector": _selection,
    "SimpleImputer": _simple_imputer,
    "SparsePCA": _linear,
    "SparseRandomProjection": _projection,
    "SplineTransformer": _spline,
    "StandardScaler": _standard,
    "TargetEncoder": _target,
    "TruncatedSVD": _svd,
    "VarianceThreshold": _selection,
}
