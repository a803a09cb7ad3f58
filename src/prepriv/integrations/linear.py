"""The weights of a linear model in the units of its columns."""

from __future__ import annotations

import numpy as np

from prepriv._arrays import Floats
from prepriv.columns import Numeric
from prepriv.domain import Domain


def raw_units(scaled: Floats, domain: Domain) -> tuple[Floats, Floats]:
    """(weights (d, K), bias (K,)) of a model without maps, for numbers in the units of their columns; its own: (d + 1, K)."""
    low, width, at = np.zeros(domain.space.d), np.ones(domain.space.d), 0
    for column in domain.columns.values():
        if isinstance(column, Numeric):
            low[at], width[at] = column.low, column.high - column.low
        at += column.width
    weights = scaled[:-1] / width[:, None]
    return weights, scaled[-1] - low @ weights
