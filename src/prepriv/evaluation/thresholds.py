"""What the rarer of two classes would have of each threshold on its probability: recall and precision, from counts that were released.

Free: a function of the noisy counts of the scores (docs/proofs/evaluation.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prepriv._text import printable
from prepriv.evaluation import intervals
from prepriv.evaluation.figures import Measured
from prepriv.evaluation.intervals import Figure

THRESHOLDS_ARE_FREE = (
    "They follow from the counts of the scores, so a choice among them is free: `prepriv predict --class-weight` takes the weight, and in Python "
    "`predict_proba` gives the probabilities. "
    "These counts have a noise of their own, so recall and precision can differ from those above. How groups fare at other weights is not in them: "
    "`prepriv evaluate --class-weight` measures a weight, with `--by` also in each group."
)


@dataclass(frozen=True)
class DecisionThreshold:
    """A class is predicted where its probability is above `above`, which is what `weight` does beside a weight of 1 for the other class."""

    of: str
    above: float
    recall: Figure
    precision: Figure

    @property
    def weight(self) -> float:
        """The same decision as a weight of this class: w p > 1 - p where p > 1 / (1 + w)."""
        return (1 - self.above) / self.above

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """(threshold, weight, recall, precision) as texts."""
        return f"{self.above:.3g}", f"{self.weight:.3g}", self.recall.interval, self.precision.interval

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        figures = {"recall": vars(self.recall), "precision": vars(self.precision)}
        return {"class": self.of, "above": self.above, "weight": self.weight} | figures


class ThresholdTable(tuple[DecisionThreshold, ...]):
    """Those of one evaluation, in order; printed as a table with the weight of each."""

    why = "no thresholds: the scores of two classes were not measured"
    """Why it is empty."""

    def __str__(self) -> str:
        if not self:
            return self.why
        lines = [threshold_heads(printable(self[0].of)), *(one.cells for one in self)]
        widths = [max(map(len, column)) for column in zip(*lines)]
        told = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in lines]
        return "\n".join([*told, THRESHOLDS_ARE_FREE])

    __repr__ = __str__


NO_THRESHOLDS = (
    "Thresholds: no table. The scores were measured, and there is no threshold at which recall and precision of the rarer class both stand out of "
    "the noise"
)


def threshold_heads(of: str) -> tuple[str, str, str, str]:
    """Names of the cells."""
    return f"probability of {of} above", f"as a weight of {of}", "recall", "precision"


def thresholds_of(rows: Measured) -> ThresholdTable:
    """Of each edge of the scores at which recall and precision are known; none unless scores of two classes were measured."""
    classes = [str(c) for c in rows.plan.domain.classes]
    if len(classes) != 2 or "scores" not in rows.counts:
        table = ThresholdTable()
        if len(classes) != 2:
            table.why = "no thresholds: they are for models of two classes"
        return table
    other, own = rows.counts["scores"].T  # by the probability of the second class, ascending
    of, edges = classes[1], list(rows.plan.edges)
    if own.sum() > other.sum():
        of, edges = classes[0], [1 - edge for edge in reversed(edges)]
        other, own = own[::-1], other[::-1]
    found = [
        DecisionThreshold(
            of,
            edge,
            intervals.share("recall", own[k + 1 :], own[: k + 1], rows.noise),
            intervals.share("precision", own[k + 1 :], other[k + 1 :], rows.noise),
        )
        for k, edge in enumerate(edges)
    ]
    table = ThresholdTable(t for t in found if t.recall.value is not None and t.precision.value is not None)
    if not table:
        table.why = NO_THRESHOLDS
    return table
