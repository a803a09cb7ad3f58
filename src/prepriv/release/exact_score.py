"""The exact score of a model, for whoever holds the rows and their labels: no account covers it, and no report holds it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._callers import callers_level
from prepriv.domain import Domain
from prepriv.tables.encoding import encode_targets, target_numbers


def exact_score(
    domain: Domain, predict: Callable[[Any], NDArray[Any]], X: Any, y: Any, weights: Any = None
) -> float:
    """Accuracy, or R² of a target, on the rows that have a label, as a measurement counts them. NaN, with a warning, if none has one.

    ValueError unless there are as many labels, and as many weights, as rows.
    """
    predicted, codes = predict(X), encode_targets(y, domain)
    if len(predicted) != len(codes):
        counts = f": {len(predicted):,} and {len(codes):,}" if domain.n_is_public else ""
        raise ValueError(f"X and y have different numbers of rows{counts}")
    try:
        shares = None if weights is None else np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):  # whose message would hold a cell
        shares = np.empty(0)
    if shares is not None and shares.shape != (len(codes),):
        raise ValueError("sample_weight must have one number for each row of X")
    there = (codes >= 0) & (True if shares is None else shares != 0)
    if not there.any():
        kind = "a declared class as its label" if domain.target is None else "a number as its target"
        warnings.warn(f"score is NaN: no row has {kind}", UserWarning, stacklevel=callers_level())
        return math.nan
    predicted = predicted[there]
    of_these = None if shares is None else shares[there]
    if domain.target is None:
        return float(np.average(encode_targets(predicted, domain) == codes[there], weights=of_these))
    from sklearn.metrics import r2_score

    return float(r2_score(target_numbers(y, domain.target)[there], predicted, sample_weight=of_these))
