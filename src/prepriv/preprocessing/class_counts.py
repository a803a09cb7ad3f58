"""How many records each class has, by budget: rows stay as they are. Proof: docs/proofs/class_weight.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from prepriv._arguments import integer, settle
from prepriv._arrays import Floats
from prepriv.adjacency import Adjacency
from prepriv.mechanisms._counts import COUNT_BITS, count_sensitivity
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing.base import ReleasedMap, Rows, RowShift, Step
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space

_FAILURE = 0.05  # of an interval of a share


@dataclass(frozen=True, eq=False)
class CountedClasses(StoredMap):
    """x -> x. counts: (K,), above 0: noisy numbers of records of each class, which predictions may weigh."""

    written_as: ClassVar[str] = "class_counts"

    counts: Floats

    def __post_init__(self) -> None:
        if self.counts.ndim != 1 or not (np.isfinite(self.counts) & (self.counts > 0)).all():
            raise ValueError("counts must be finite numbers above 0")

    def transform(self, x: Floats) -> Floats:
        return x


def share_among(counts: Floats, noise: float, at: int) -> tuple[float, float]:
    """(low, high) of the share of one class among the records of declared classes, from counts as `ClassCounts` releases them, with noise of this deviation.

    It holds with probability 95 % or more over the noise, whichever class is chosen by the counts. Proof: docs/proofs/class_weight.md.
    """
    far = float(ndtri(1 - _FAILURE / (2 * len(counts)))) * noise
    low = np.maximum(counts - far, 0.0) * (counts > _least(noise))  # a raised count can be of 0 records
    high, others = counts + far, np.arange(len(counts)) != at
    return (
        float(low[at] / (low[at] + high[others].sum())),
        float(high[at] / (high[at] + low[others].sum())),
    )


def _least(noise: float) -> float:
    """To which counts are raised."""
    return max(1.0, noise)


@dataclass(frozen=True)
class ClassCounts(Step):
    """Count the records of each class, for predictions that weigh rare ones like common ones. Rows are not changed.

    Parameters
    ----------
    classes : int, default 2
        How many classes the domain declares, at least two.
    payment : Budget
        How the counts are paid for.

    Raises
    ------
    ValueError
        For fewer classes, or another payment.

    Notes
    -----
    A label that is not a declared class is not counted. A count below the standard deviation of its noise is raised
    to that deviation, and to at least 1. Proof: docs/proofs/class_weight.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import ClassCounts
    >>> ClassCounts(3, payment=prepriv.Budget(0.01)).counts_classes
    3
    """

    classes: int = 2

    ways: ClassVar[tuple[str, ...]] = ("budget",)
    why_not: ClassVar[dict[str, str]] = {
        "public": "declare class_weight instead: known counts are free",
        "sensitivity": "the model needs the counts on new rows, so they have to be released",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, classes=integer("classes", self.classes, at_least=2))

    @property
    def counts_classes(self) -> int:
        return self.classes

    def output(self, space: Space) -> Space:
        return space

    def lipschitz(self, space: Space) -> float:
        return 1.0

    def l2_sensitivity(self, space: Space, adjacency: Adjacency, incoming: RowShift) -> float:
        """The L2 sensitivity of the counts: a record is in one of them, and a replaced record changes two. Steps change no label."""
        return count_sensitivity(adjacency) / 2.0**COUNT_BITS

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        counts = mechanisms.class_counts(self.classes)
        return CountedClasses(
            np.maximum(counts, _least(mechanisms.noise_multiplier * mechanisms.l2_sensitivity))
        )
