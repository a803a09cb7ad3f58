"""A released linear model as one of scikit-learn's, its weights in the units of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from prepriv._arrays import Floats
from prepriv.columns import Numeric, Text
from prepriv.domain import Domain, ascending
from prepriv.integrations.linear import raw_units
from prepriv.placed.rows import Mapped
from prepriv.preprocessing.base import ReleasedMap
from prepriv.preprocessing.impute_caps import FillReleased
from prepriv.tables.encoding import encode
from prepriv.tables.inspect import check_new_rows


def to_sklearn(model: Any, names: Sequence[str] | None = None) -> Any:
    """`Model.to_sklearn`. names: of the features of mapped rows, where they have any."""
    domain = model.domain
    kept = tuple(
        m for m in model.maps if not isinstance(m, FillReleased)
    )  # rows of scikit-learn have no gaps
    flat = replace(model, maps=kept).flattened()
    if flat.class_weight is not None:
        raise ValueError(
            "class_weight and threshold weigh calibrated probabilities, which the model of scikit-learn does not have: use to_onnx()"
        )
    texts = any(isinstance(c, Text) for c in domain.columns.values())
    if flat.maps or texts:
        numbered = tuple(f"mapped{j}" for j in range(len(model.weights) - 1))
        mapped = FunctionTransformer(
            mapped_rows,
            kw_args={"maps": model.maps, "domain": domain},
            feature_names_out=_Names(tuple(names or numbered)),
        )
        return Pipeline(
            [("mapped", mapped), ("linear", _linear(model.weights[:-1], model.weights[-1], domain))]
        )
    made = _linear(*raw_units(flat.weights, domain), domain)
    if not domain.is_ball:
        linear = made.regressor_ if isinstance(made, TransformedTargetRegressor) else made
        linear.feature_names_in_ = made.feature_names_in_ = np.array(domain.feature_names, dtype=object)
    return made


@dataclass(frozen=True)
class _Names:
    """The features of mapped rows, for `get_feature_names_out`: numbered where the maps mix columns."""

    names: tuple[str, ...]

    def __call__(self, transformer: Any, columns: Any) -> tuple[str, ...]:
        return self.names


def mapped_rows(table: Any, maps: Sequence[ReleasedMap], domain: Domain) -> Floats:
    """Raw rows of a declared table after the maps of a model, (n, d)."""
    check_new_rows(table, domain)
    with np.errstate(all="ignore"):
        return np.vstack([*Mapped(encode(table, domain), maps)])


def _linear(weights: Floats, bias: Floats, domain: Domain) -> Any:
    """Weights (d, K) and a bias (K,) as a model of scikit-learn."""
    if domain.target is not None:  # the score -1 to 1 is the declared range
        target = domain.target
        low, high = target.log_ends if target.log else (target.low, target.high)
        half = (high - low) / 2
        made: Any = LinearRegression()
        made.coef_, made.intercept_ = weights[:, 0] * half, float(low + half * (bias[0] + 1))
    else:
        made = LogisticRegression()
        if weights.shape[1] == 2:  # one score, the log odds of the second class
            weights, bias = weights[:, 1:] - weights[:, :1], bias[1:] - bias[:1]
        order = ascending(domain.classes)  # scorers and ensembles of scikit-learn rely on it
        if weights.shape[1] > 1:
            weights, bias = weights[:, order], bias[order]
        elif order != [0, 1]:
            weights, bias = -weights, -bias
        made.coef_, made.intercept_, made.classes_ = (
            np.ascontiguousarray(weights.T),
            bias,
            domain.labels[order],
        )
    made.n_features_in_ = len(weights)
    return made if domain.target is None else _within(made, domain.target)


def _within(linear: LinearRegression, target: Numeric) -> TransformedTargetRegressor:
    """A fitted model whose predictions stay within the declared bounds, of numbers or of their logarithms."""
    low, high = target.log_ends if target.log else (target.low, target.high)
    cut = {"a_min": low, "a_max": high}
    back: Any = FunctionTransformer(inverse_func=np.clip, inv_kw_args=cut, check_inverse=False)
    if target.log:
        func, inverse = (np.log1p, np.expm1) if target.added == 1 else (np.log, np.exp)
        back = make_pipeline(FunctionTransformer(func, inverse, check_inverse=False), back)
    made = TransformedTargetRegressor(LinearRegression(), transformer=back)
    made.regressor_, made._training_dim, made.transformer_ = linear, 1, back
    return made
