"""Steps that leave numbers in units of their bounds: a list, which takes the place of the recipe, and a pipeline of scikit-learn without a scaler."""

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
_EVEN_IN_PIPELINES = (
    "Binarizer", "KBinsDiscretizer", "MaxAbsScaler", "MinMaxScaler", "Normalizer", "Nystroem", "PowerTransformer", "QuantileTransformer", "RBFSampler",
    "RobustScaler", "SplineTransformer", "StandardScaler",
)  # fmt: skip
_MOST_COLUMNS = 60  # of the tables that were measured
# (fits in which the recipe was _NEAR above the commonest class, or the mean; in which it was so above the list; the list gained so much with the
# scaler; lost so much): benchmarks/lists_without_scaler.py
_NEAR = 0.02
_OF_PIPELINES = (34, 15, 2)  # (the same of pipelines; gained; lost)
_OF_CLASSES, _OF_A_NUMBER = (96, 93, 76, 0), (87, 56, 54, 9)


def no_scaler_in_words(domain: Domain, steps: Sequence[Step]) -> str:
    """What such a list was worth on tables that were measured. Empty of a list with a scaler, and of a domain without numbers or with many columns."""
    if not _has_numbers(domain) or any(step.name in _EVEN for step in steps):
        return ""
    fits, below, gained, lost = _OF_CLASSES if domain.target is None else _OF_A_NUMBER
    what = "accuracy" if domain.target is None else "R²"
    return (
        f"No step of the list scales numbers, and a list takes the place of the recipe, which does. Of {fits} fits on tables we measured, in which the recipe learned something, such lists had an {what} {_NEAR:g} or more below the recipe in {below}. "
        f"StandardScaler(payment=Budget(0.05)) at their end ({{step: StandardScaler, pay: budget, share: 0.05}} in a schema) raised it by as much in {gained} and lowered it in {lost or 'none'}. After steps that are free the recipe itself can stand: "
        '[YourStep(), "linear"]. None of this holds of a step of your own that brings each column to deviation one.'
    )


def unscaled_pipeline_in_words(domain: Domain, transformer: str) -> str:
    """What a scaler gained in pipelines without one. Empty of one with a scaler or bins, of a target, and of a domain without numbers or with many columns.

    transformer: the pipeline as plain data (`Fitted.transformer`).
    """
    even = any(f".{name}" in transformer for name in _EVEN_IN_PIPELINES)
    if even or domain.target is not None or not _has_numbers(domain):
        return ""
    fits, gained, lost = _OF_PIPELINES
    return (
        f"The pipeline does not scale its numbers, so they stay in units of their bounds. Of {fits} fits on tables we measured, in which the default recipe learned something, the same pipeline with StandardScaler() for them had an accuracy {_NEAR:g} or more "
        f"higher in {gained} and lower in {lost}. It costs a small share of the budget, which `plan` names"
    )


def _has_numbers(domain: Domain) -> bool:
    columns = domain.columns.values()
    return 0 < len(columns) <= _MOST_COLUMNS and any(isinstance(c, Numeric) for c in columns)


def warn_of_no_scaler(said: str, epsilon: float) -> None:
    """Warn of it, where there is something to say and training is private."""
    if said and math.isfinite(epsilon):
        warnings.warn(said, UserWarning, stacklevel=callers_level())
