"""Groups of rows, each measured by itself, and how they differ: functions of the noisy counts and of nothing else.

A row is in one group, so counts of all groups are one histogram: at the noise of one (docs/proofs/evaluation.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from prepriv._arrays import Floats
from prepriv.adjacency import n_is_public
from prepriv.evaluation import intervals
from prepriv.evaluation.evaluation_plan import EvaluationPlan
from prepriv.evaluation.figures import Measured, mean_of_all
from prepriv.evaluation.intervals import Figure

TOO_FEW = "nothing else about it stands out of the noise"
MOST_COMPARED = 8  # groups, each pair of which is compared; of more, each with the first

_WHOLE = ("accuracy", "log_loss", "absolute_error", "squared_error")  # a row is in one of two counts


@dataclass(frozen=True, eq=False, repr=False)
class Group(Measured):
    """One group of rows. name: its declared category, "other" or "missing". share: of all rows.

    A figure is refused where the noisy number of the group's rows is below four deviations of its noise: a rule of released
    numbers alone.
    """

    name: str
    share: Figure

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """Its share of all rows; the figures, by name, and how many predictions are right where classes were counted; and the share of each class that is predicted."""
        found = [self.share, *self._found()]
        if "confusion" in self.counts and "accuracy" not in self.counts:
            found.insert(1, self._right_by_class())
        if "confusion" in self.counts:
            counts = self.counts["confusion"]
            for k, name in enumerate(self.plan.domain.classes):
                rest = np.delete(counts, k, axis=1).ravel()
                found.append(intervals.share(f"share predicted {name}", counts[:, k], rest, self.noise))
        return {figure.name: figure for figure in found}

    @property
    def answered(self) -> bool:
        """Whether anything but its share is said about it."""
        return any(f.value is not None for f in self.figures.values() if f is not self.share)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"group": self.name, "figures": [vars(figure) for figure in self.figures.values()]}


@dataclass(frozen=True)
class Difference:
    """A figure of one group less that of another."""

    of: str
    one: str
    two: str
    figure: Figure

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.of}, {self.one} less {self.two}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        told = {name: value for name, value in vars(self.figure).items() if name != "name"}
        return {"figure": self.of, "group": self.one, "less": self.two} | told


def groups_of(plan: EvaluationPlan, counts: Mapping[str, Floats]) -> dict[str, Group]:
    """Each group of a plan, by name; none of a plan without."""
    # Of the releases that hold each row, or each with a declared label, the one of the fewest cells has the least noise.
    sizes = {name: (name not in _WHOLE, c[0].size) for name, c in counts.items()}
    each = counts[min(sizes, key=lambda name: sizes[name])].reshape(max(1, len(plan.groups)), -1)
    mean = mean_of_all(plan, counts["target"]) if "target" in counts else None
    found = {}
    for g, name in enumerate(plan.groups):
        own = {release: c[g] for release, c in counts.items()}
        found[name] = Group(plan, own, plan.noise, False, name, _share(plan, each, g), mean=mean)
    return found


def _share(plan: EvaluationPlan, counts: Floats, g: int) -> Figure:
    """Of all rows; where only rows with a declared label are counted, of those."""
    of_all = any(name in plan.releases for name in _WHOLE)
    name = "share of rows" if of_all else "share of rows with a label"
    if of_all and n_is_public(plan.domain.adjacency):
        return intervals.share_of_known(name, counts[g], plan.n, plan.noise)
    return intervals.share(name, counts[g], np.delete(counts, g, axis=0).ravel(), plan.noise)


def differences_of(groups: Mapping[str, Group]) -> tuple[Difference, ...]:
    """Of every figure but the share of rows, between all pairs of groups that have it; of many groups, each with the first."""
    answered = [group for group in groups.values() if group.answered]
    pairs = [*combinations(answered, 2)]
    if len(answered) > MOST_COMPARED:
        pairs = [(answered[0], other) for other in answered[1:]]
    found = [
        Difference(name, one.name, two.name, intervals.difference(name, figure, _compared(two)[name]))
        for one, two in pairs
        for name, figure in _compared(one).items()
    ]
    named = {name: place for place, name in enumerate(_compared(answered[0]))} if answered else {}
    return tuple(sorted((d for d in found if d.figure.value is not None), key=lambda d: named[d.of]))


def _compared(group: Group) -> dict[str, Figure]:
    """What of it is compared with other groups: all but its share of the rows, and of two classes the share of one that is predicted, as both add up to all."""
    classes = group.plan.domain.classes
    found = {name: figure for name, figure in group.figures.items() if figure is not group.share}
    if len(classes) == 2:
        found.pop(f"share predicted {classes[0]}", None)
    return found
