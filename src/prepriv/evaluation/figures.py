"""Every figure that follows from the noisy counts of one group of rows, or of all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np

from prepriv._arrays import Floats
from prepriv.adjacency import n_is_public
from prepriv.evaluation import intervals
from prepriv.evaluation.evaluation_plan import ERROR_OF_MEAN, LOSS_BOUND, MEAN_RESIDUAL, EvaluationPlan
from prepriv.evaluation.intervals import Figure

ACCURACY = "accuracy, from the counts of each class"
"""Its name where it was not measured by itself."""
_WORTH_NAMING = 0.95  # of the length of an interval: what makes it no shorter is not named
TABLES = ("confusion", "scores", "residuals")  # of rows with a label alone


@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    """Noisy counts of some rows, and all that is computed of them for nothing.

    counts: of each release of the plan: "confusion" (true, predicted), "scores" (bin, hit), "residuals" (bin,), of any
    other (3,): its sum, what is left of one for each row, rows without a label. noise: the standard deviation of that of one count. known: whether the plan's number of rows is theirs. mean: of all targets,
    where these are the rows of one group; None: that of these rows.
    """

    plan: EvaluationPlan
    counts: Mapping[str, Floats]
    noise: float
    known: bool
    mean: Figure | None = field(default=None, kw_only=True)

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """The figures by name, each with its interval; each holds by itself, with probability 95 % or more."""
        return {figure.name: figure for figure in self._found()}

    def _found(self) -> list[Figure]:
        return [figure for measure in self.plan.measures for figure in getattr(self, f"_{measure}")()]

    def __getitem__(self, name: str) -> Figure:
        return self.figures[name]

    @cached_property
    def beside_absolute_error(self) -> Measured | None:
        """About what the same budget would have given with the mean absolute error among the measures, if the errors are normally distributed;
        None where it is among them, or no R² was measured."""
        asked = self.plan.measures
        if "r2" not in asked or "absolute_error" in asked:
            return None
        squared = self._pair("mean squared error", "squared_error")
        if squared.value is None:
            return None
        rows = max(0.0, self.labelled[0])
        hits = rows * min(1.0, math.sqrt(2 / math.pi * squared.value))
        counts = {**self.counts, "absolute_error": np.array([hits, rows - hits, self.plan.n - rows])}
        plan = replace(self.plan, measures=("absolute_error", *asked))
        noise = self.noise * plan.noise / self.plan.noise
        return Measured(plan, counts, noise, self.known, mean=self.mean)

    @cached_property
    def narrower_beside_absolute_error(self) -> bool:
        """Whether the interval of R² would then be shorter by what is worth naming, in spite of the noise of one more measure."""
        then, now = self.beside_absolute_error, self.figures.get("R2")
        if then is None or now is None or now.value is None:
            return False
        length = then["R2"].length
        return length is not None and length < _WORTH_NAMING * (now.length or 0.0)

    @cached_property
    def labelled(self) -> tuple[float, float]:
        """(the noisy number of rows that have a declared label, the deviation of its noise), by the release of the fewest cells."""
        name = min(self.counts, key=lambda one: (one in TABLES, self.counts[one].size))
        counts = self.counts[name]
        if name in TABLES:
            return float(counts.sum()), self.noise * math.sqrt(counts.size)
        if not self.known:
            return float(counts[:2].sum()), self.noise * math.sqrt(2)
        return float(counts[:2].sum() - 2 * (counts.sum() - self.plan.n) / 3), self.noise * math.sqrt(2 / 3)

    @cached_property
    def unlabelled(self) -> tuple[float, float]:
        """(the noisy number of rows without one, the deviation of its noise), which is infinite where nothing that was released tells them
        from rows that were declared and are not there."""
        if self.known:
            return self.plan.n - self.labelled[0], self.labelled[1]
        counted = next((c for name, c in self.counts.items() if name not in TABLES), None)
        return (0.0, math.inf) if counted is None else (float(counted[2]), self.noise)

    @property
    def confusion(self) -> Floats:
        """Noisy counts (true, predicted) in the order of the domain's classes. Raises KeyError if not measured."""
        return self.counts["confusion"]

    @cached_property
    def right(self) -> Figure | None:
        """The share of predictions that are right: as measured, or by the counts of each class; None where neither was measured."""
        if "accuracy" in self.counts or "confusion" not in self.counts:
            return self.figures.get("accuracy")
        return self._right_by_class()

    def _right_by_class(self) -> Figure:
        """The share of predictions that are right, by the counts of each class."""
        counts = self.counts["confusion"]
        wrong = counts[~np.eye(len(counts), dtype=bool)]
        return intervals.share(ACCURACY, counts.diagonal(), wrong, self.noise)

    @cached_property
    def reliability(self) -> tuple[tuple[float, float, Figure], ...]:
        """(low, high, rate of hits) of each bin of the scores; none if not measured."""
        ends = pairwise((0.0, *self.plan.edges, 1.0))
        rows = self.counts.get("scores", np.zeros((0, 2)))
        return tuple(
            (low, high, intervals.share(f"bin {low:g} to {high:g}", [hit], [miss], self.noise))
            for (low, high), (miss, hit) in zip(ends, rows)
        )

    @cached_property
    def roc(self) -> tuple[tuple[float, Figure, Figure], ...]:
        """(edge, false positive rate, true positive rate) of "score above this edge", for two classes."""
        if len(self.plan.domain.classes) > 2 or "scores" not in self.counts:
            return ()
        miss, hit = self.counts["scores"].T
        return tuple(
            (
                edge,
                intervals.share("false positive rate", miss[k + 1 :], miss[: k + 1], self.noise),
                intervals.share("true positive rate", hit[k + 1 :], hit[: k + 1], self.noise),
            )
            for k, edge in enumerate(self.plan.edges)
        )

    @cached_property
    def residuals(self) -> tuple[tuple[float, float, float], ...]:
        """(low, high, noisy number of rows) of each bin of target less prediction, in the target's unit; none if not measured.

        The first and the last one hold what lies beyond them, too.
        """
        bound = self.plan.error_bound or 0.0
        ends = pairwise(bound * (2 * e - 1) for e in (0.0, *self.plan.edges, 1.0))
        return tuple((low, high, float(c)) for (low, high), c in zip(ends, self.counts.get("residuals", ())))

    def _pair(self, name: str, release: str, inside: float = 0.0, *, signed: bool = False) -> Figure:
        plan, counts = self.plan, self.counts[release]
        if self.known:
            return intervals.share_of_n(name, counts, plan.n, self.noise, inside=inside, signed=signed)
        return intervals.share(name, counts[:1], counts[1:2], self.noise, inside=inside, signed=signed)

    @cached_property
    def _inside(self) -> tuple[float, float]:
        """`intervals.inside_of_errors`, where both errors were measured."""
        if not {"absolute_error", "squared_error"} <= self.counts.keys():
            return 0.0, 0.0
        return intervals.inside_of_errors(*(self._pair(e, e) for e in ("absolute_error", "squared_error")))

    @property
    def squared_error_of_mean(self) -> Figure:
        """The mean squared error of always predicting the released mean, in parts of the squared error bound. Raises KeyError if R² was not measured."""
        return self._pair("mean squared error of the mean", ERROR_OF_MEAN)

    def _accuracy(self) -> list[Figure]:
        return [self._pair("accuracy", "accuracy")]

    def _log_loss(self) -> list[Figure]:
        return [intervals.scaled(self._pair("log loss", "log_loss"), LOSS_BOUND)]

    def _absolute_error(self) -> list[Figure]:
        return [
            intervals.scaled(
                self._pair("mean absolute error", "absolute_error", self._inside[0]),
                self.plan.error_bound or 0.0,
            )
        ]

    def _squared_error(self) -> list[Figure]:
        squared = self._pair("root mean squared error", "squared_error", self._inside[1])
        if "absolute_error" in self.counts:
            absolute = self._pair("mean absolute error", "absolute_error", self._inside[0])
            squared = intervals.beside_absolute(squared, absolute, self.labelled[0])
        return [intervals.scaled(intervals.root(squared), self.plan.error_bound or 0.0)]

    def _r2(self) -> list[Figure]:
        return [self._determination()]

    @cached_property
    def noise_hides_r2(self) -> bool:
        """Whether R² would be shown to be above 0 without noise, its value being the true one; what is refused could be. Raises KeyError if
        R² was not measured."""
        quiet = self._determination(without_noise=True)
        return quiet.low is None or quiet.low > 0

    @cached_property
    def least_r2(self) -> float | None:
        """About the least R² that so many rows show to be above 0, whatever ε: chance alone hides less. In steps of .01. None: none, or R² was refused."""
        shown = (
            t / 100
            for t in range(1, 100)
            if (self._determination(without_noise=True, r2=t / 100).low or -1.0) > 0.0
        )
        return next(shown, None)

    def _determination(self, *, without_noise: bool = False, r2: float | None = None) -> Figure:
        """r2: what it would be in place of what was measured."""
        error, target, baseline = (
            self._pair(name, name) for name in ("squared_error", "target", ERROR_OF_MEAN)
        )
        if r2 is not None and baseline.value is not None:
            error = replace(error, value=(1 - r2) * baseline.value)
        rows = max(1.0, self.labelled[0])
        mean, share = self.mean or target, self.plan.error_share
        limits: dict[str, Any] = {"own_mean": self.mean is None, "inside": self._inside[1]}
        return intervals.determination(
            "R2", error, baseline, mean, share, rows, **limits, without_noise=without_noise
        )

    def _residuals(self) -> list[Figure]:
        mean = self._pair("mean residual", MEAN_RESIDUAL, self._inside_of_residuals, signed=True)
        return [intervals.around_zero(mean, self.plan.error_bound or 0.0)]

    @property
    def _inside_of_residuals(self) -> float:
        """A number that the mean of v (1 - v) is not below, v = (1 + r) / 2 and r a residual over the largest that counts: (1 - E r^2) / 4.

        E r^2 is that of the squared errors, or of the far edge of each bin, and one deviation of its noise more.
        """
        if "squared_error" in self.counts:
            squared = self._pair("mean squared error", "squared_error")
            most = None if squared.value is None else squared.value + (squared.noise or 0.0)
        else:
            counts, ends = self.counts["residuals"], 2 * np.array([0.0, *self.plan.edges, 1.0]) - 1
            far = np.maximum(ends[:-1] ** 2, ends[1:] ** 2)
            rows = self.labelled[0]
            above = float(np.maximum(counts, 0.0) @ far) + self.noise * math.sqrt(float(far @ far))
            most = above / rows if rows > 0 else None
        return 0.0 if most is None else max(0.0, 1 - most) / 4

    def _confusion(self) -> list[Figure]:
        counts = self.counts["confusion"]
        noise, others = self.noise, ~np.eye(len(counts), dtype=bool)
        names = self.plan.domain.classes
        recall = [
            intervals.share(f"recall of {c}", counts[k, k : k + 1], counts[k, others[k]], noise)
            for k, c in enumerate(names)
        ]
        precision = [
            intervals.share(f"precision of {c}", counts[k, k : k + 1], counts[others[k], k], noise)
            for k, c in enumerate(names)
        ]
        rest = counts[others].reshape(len(counts), -1)
        return [
            intervals.mean_of_shares("balanced accuracy", counts.diagonal(), rest, noise),
            *chain.from_iterable(zip(recall, precision)),
        ]

    def _scores(self) -> list[Figure]:
        counts = self.counts["scores"]
        ends = np.array([0.0, *self.plan.edges, 1.0])
        middles = (ends[:-1] + ends[1:]) / 2
        values = np.stack([-middles, 1 - middles], axis=1).ravel()
        gap = intervals.mean_of("calibration gap", counts.ravel(), values, self.noise)
        if len(self.plan.domain.classes) > 2:
            return [gap]
        return [intervals.area("AUC", counts[:, 1], counts[:, 0], self.noise), gap]


def mean_of_all(plan: EvaluationPlan, released: Floats) -> Figure:
    """Mean place of all targets between their bounds, from the noisy sums that were released: (3,), of groups (groups, 3)."""
    groups = max(1, len(plan.groups))
    sums, noise = released.reshape(groups, 3).sum(axis=0), plan.noise * math.sqrt(groups)
    if n_is_public(plan.domain.adjacency):
        return intervals.share_of_n("mean", sums, plan.n, noise)
    return intervals.share("mean", sums[:1], sums[1:2], noise)


def mean_place(plan: EvaluationPlan, released: Floats) -> float:
    """Its value; the middle where there were too few rows beside the noise."""
    value = mean_of_all(plan, released).value
    return 0.5 if value is None else value
