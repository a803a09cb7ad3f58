"""A released linear model as one of scikit-learn's, its weights in the units of the columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

from prepriv.columns import Text
from prepriv.integrations.linear import raw_units
from prepriv.preprocessing.impute_caps import FillReleased
from prepriv.preprocessing.maps import write_map


def to_sklearn(model: Any) -> Any:
    """`Model.to_sklearn`."""
    domain = model.domain
    kept = tuple(
        m for m in model.maps if not isinstance(m, FillReleased)
    )  # rows of scikit-learn have no gaps
    flat = replace(model, maps=kept).flattened()
    if flat.class_weight is not None:
        raise ValueError(
            "class_weight and threshold weigh calibrated probabilities, which scikit-learn's has not: use to_onnx()"
        )
    if flat.maps:
        raise ValueError(
            f"the map {write_map(flat.maps[-1])['map']} is not linear: use to_onnx(), or the scorer of one page (examples/score.py)"
        )
    if any(isinstance(c, Text) for c in domain.columns.values()):
        raise ValueError(
            "scikit-learn has no columns of hashed texts: use the one-page scorer (examples/score.py)"
        )
    weights, bias = raw_units(flat.weights, domain)
    if domain.target is not None:  # the score -1 to 1 is the declared range
        half = (domain.target.high - domain.target.low) / 2
        made: Any = LinearRegression()
        made.coef_, made.intercept_ = weights[:, 0] * half, float(domain.target.low + half * (bias[0] + 1))
    else:
        made = LogisticRegression()
        if weights.shape[1] == 2:  # one score, the log odds of the second class
            weights, bias = weights[:, 1:] - weights[:, :1], bias[1:] - bias[:1]
        made.coef_, made.intercept_, made.classes_ = np.ascontiguousarray(weights.T), bias, domain.labels
    made.n_features_in_ = len(weights)
    if not domain.is_ball:
        made.feature_names_in_ = np.array(domain.feature_names, dtype=object)
    return made
