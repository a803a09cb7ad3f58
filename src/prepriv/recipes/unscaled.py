"""A list of steps that leaves numbers in units of their bounds. It takes the place of the recipe, which scales them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from prepriv._callers import callers_level
from prepriv.columns import Numeric
from prepriv.domain import Domain
from prepriv.preprocessing.base import Step

_EVEN = frozenset((
    "Bins", "Encode", "MinMaxScaler", "QuantileBins", "QuantileTransform", "Quantize", "QuantizeCells", "RandomFeatures", "Scattering", "StandardScaler",
))  # fmt: skip
_MOST_COLUMNS = 60  # of the tables that were measured
# (fits in which the recipe was _NEAR above the commonest class, or the mean; in which it was so above the list; the list gained so much with the
# scaler; lost so much): benchmarks/lists_without_scaler.py
_NEAR = 0.02
_OF_CLASSES, _OF_A_NUMBER = (99, 92, 83, 1), (84, 54, 45, 14)


def no_scaler_in_words(domain: Domain, steps: Sequence[Step]) -> str:
    """What such a list was worth on tables that were measured. Empty of a list with a scaler, and of a domain without numbers or with many columns."""
    columns = domain.columns.values()
    numbers = 0 < len(columns) <= _MOST_COLUMNS and any(isinstance(c, Numeric) for c in columns)
    if not numbers or any(step.name in _EVEN for step in steps):
        return ""
    fits, below, gained, lost = _OF_CLASSES if domain.target is None else _OF_A_NUMBER
    what = "accuracy" if domain.target is None else "R²"
    return (
        f"No step of the list scales numbers, and a list takes the place of the recipe, which does. Of {fits} fits on tables we measured, such lists had an {what} {_NEAR:g} or more below the recipe in {below}. "
        f"StandardScaler(payment=Budget(0.05)) at their end ({{step: StandardScaler, pay: budget, share: 0.05}} in a schema) raised it by as much in {gained} and lowered it in {lost}. After steps that are free the recipe itself can stand: "
        '[YourStep(), "linear"]. None of this holds of a step of your own that brings each column to deviation one.'
    )


def warn_of_no_scaler(domain: Domain, steps: Sequence[Step], epsilon: float) -> None:
    """Warn of it, where training is private."""
    said = no_scaler_in_words(domain, steps) if math.isfinite(epsilon) else ""
    if said:
        warnings.warn(said, UserWarning, stacklevel=callers_level())
