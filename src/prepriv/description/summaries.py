"""What is said about one column of a private table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from prepriv.description.estimates import SURE, Estimate


@dataclass(frozen=True)
class NumericSummary:
    """What is said about a numeric column, in its own units. edges: (bins + 1,); counts: one for each bin.

    missing: share of rows. mean, deviation, quantiles: of the cells that are not gaps, clamped to the declared bounds.
    written: how cells say their number.
    """

    missing: Estimate
    mean: Estimate
    deviation: Estimate
    quantiles: dict[float, Estimate]
    edges: tuple[float, ...]
    counts: tuple[Estimate, ...]
    written: str = "number"


@dataclass(frozen=True)
class CategoricalSummary:
    """What is said about a categorical column, or of the label: how many records have each value, "other" and "missing" among them."""

    counts: dict[str, Estimate]


Summary: TypeAlias = NumericSummary | CategoricalSummary


def count_estimate(noisy: float, noise: float, most: float = math.inf) -> Estimate:
    """A noisy count, and the standard deviation of its noise. most: the number of records, where that is public."""
    return Estimate.around(float(noisy), SURE * noise).within(0, most)
