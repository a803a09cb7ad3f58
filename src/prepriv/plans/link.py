"""Scores to probabilities where training clipped gradients. Proof: docs/proofs/calibrated_probabilities.md.

Descent on clipped gradients does not end at the probabilities: softmax of its scores is too sure of itself. What it
ends at is known, so the probabilities are found by going back. How far it came is read off the released weights. Both
read no record and cost nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.columns import Categorical
from prepriv.domain import Domain
from prepriv.learners.losses import is_likelihood
from prepriv.plans.plan import Plan
from prepriv.plans.stored import same


def softmax(scores: Floats) -> Floats:
    """Softmax of the rows of (b, K); one column stands for the log odds of the second of two classes."""
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores[:, 0]])
    with np.errstate(all="ignore"):
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def little(classes: int) -> float:
    """Signal at which half of the variance of a score is taken to be noise: the more classes, the more scores compete."""
    return min(20.0, 3.0 * classes - 4.0)


FEWEST_CLASSES = 5  # from which on the weights say how much of softmax
CONVERGED, FAR = (
    0.2,
    0.6,
)  # length of the weights over the root of their reach: the inverse alone; softmax alone
_LESS_SURE, _PLENTY = (
    0.1,
    3000.0,
)  # less of the scores where classes overlap as a rule; signal from which on ever less is taken
_LEAST = 0.1  # of softmax: it tells classes apart where the inverse has a plateau
_DIGITS = 3


def share_of_classes(classes: int) -> float:
    """Share of softmax itself beside the exact inverse, which presumes that training has converged, where nothing else is known.

    It tells classes apart where the inverse has a plateau; and many classes are mostly such as separate, so that training
    stops far from its end.
    """
    return min(1.0, max(0.25, (classes - 4) / 6))


def overlap(domain: Domain) -> bool:
    """Whether classes overlap as a rule: of five classes and more, where a column is categorical (docs/recipe.md)."""
    return len(domain.classes) >= FEWEST_CLASSES and any(
        isinstance(column, Categorical) for column in domain.columns.values()
    )


def less_sure(plan: Plan) -> float:
    """What scores are multiplied by where classes overlap as a rule; 1 elsewhere."""
    return 1.0 - _LESS_SURE * min(1.0, _PLENTY / plan.signal) if overlap(plan.domain) else 1.0


def share_of_weights(plan: Plan, weights: Floats) -> float | None:
    """The same by released weights (d + 1, K): where classes separate, weights grow as long as training goes on. None: not from so few classes, or
    such a learner.

    The length of the weights is taken without what noise adds to it on average. The less that is known beside the noise, the more the share is that
    of so many classes, or the least where classes overlap as a rule.
    """
    classes, learner = len(plan.domain.classes), plan.learner
    reach = learner.farthest(plan.space.radius)
    if classes < FEWEST_CLASSES or reach is None:
        return None
    noise = learner.weight_noise(plan.learner_noise, plan.n) if plan.private else 0.0
    if noise is None:
        return None
    # The intercepts as they were learned: beside a longer bias feature its weights are that much smaller than what they add to a score.
    learned = [*weights[:-1].ravel().tolist(), *(weights[-1] / (plan.learner.bias or 1.0)).tolist()]
    length = math.fsum(w * w for w in learned) - weights.size * noise**2
    ratio = math.sqrt(max(length, 0.0) / reach)
    share = min(1.0, max(_LEAST, math.log(max(ratio, CONVERGED) / CONVERGED) / math.log(FAR / CONVERGED)))
    half = CONVERGED * FAR * reach  # the length of a share of one half
    chance = noise**2 * math.sqrt(2.0 * weights.size) / half
    known = 1.0 / (1.0 + chance**2)
    usual = _LEAST if overlap(plan.domain) else share_of_classes(classes)
    return round(known * share + (1.0 - known) * usual, _DIGITS)


@dataclass(frozen=True)
class Link:
    """The link of a model whose training clipped the gradient of a row x to norm `clip`.

    bias: value of the bias feature, which counts in the norm of a row. shrink: what scores are multiplied by, for their
    noise. norm: the norm of every row, bias and all; None: each row's own. softmax: its share beside the inverse; None: that
    of so many classes.
    """

    clip: float
    bias: float
    shrink: float
    norm: float | None = None
    softmax: float | None = None

    @staticmethod
    def of(plan: Plan, weights: Floats) -> Link | None:
        """The link of a plan and the weights that it gave; None: its loss is not a log-likelihood."""
        learner = plan.learner
        if not is_likelihood(learner.loss):
            return None
        shrink = math.sqrt(1 / (1 + little(len(plan.domain.classes)) / plan.signal))
        shrink *= less_sure(plan)
        share = share_of_weights(plan, weights)
        # Of a unit the sum over its rows is clipped, which are neither one row nor independent (docs/proofs/calibrated_probabilities.md).
        clip = learner.clip(plan.space.radius) / math.sqrt(plan.domain.rows_per_unit or 1)
        return Link(clip, learner.bias, shrink, softmax=share)

    def for_norm(self, radius: float) -> Link:
        """The same where rows are not at hand: each counts as one of the largest norm."""
        return replace(self, norm=math.hypot(radius, self.bias))

    def share(self, classes: int) -> float:
        """The share of softmax."""
        return share_of_classes(classes) if self.softmax is None else self.softmax

    def probabilities(self, scores: Floats, norms: Floats) -> Floats:
        """(b, classes) of scores (b, K) and norms (b,) of the rows without the bias feature.

        The largest is that of the largest score, always.
        """
        q, top = softmax(self.shrink * scores), winners(scores)
        norm = np.hypot(norms, self.bias) if self.norm is None else np.full(len(q), self.norm)
        raw = self.share(q.shape[1])
        p = raw * q + (1 - raw) * inverse(q, self.clip / norm, one=scores.shape[1] == 1)
        lost = np.flatnonzero(p.argmax(axis=1) != top)  # by rounding, or a tie that a score tells apart
        p[lost, top[lost]] = np.nextafter(p[lost].max(axis=1), 2.0)
        return p

    def to_json(self) -> dict[str, float]:
        """Plain data: what the plan and the weights give, too."""
        facts = {"clip": self.clip, "bias": self.bias, "shrink": self.shrink}
        more = {"norm": self.norm, "softmax": self.softmax}
        return facts | {name: value for name, value in more.items() if value is not None}

    @staticmethod
    def from_json(data: Any, plan: Plan, weights: Floats) -> Link:
        """Of a model file; ValueError for a link that is not that of its plan and weights. A file of 0.2 states no share of softmax, other
        scores where classes overlap as a rule, and of units the clip of rows: it predicts as it did. Where maps are folded into the weights, `norm` is stated, and the share does not follow from them."""
        link = Link.of(plan, weights)
        assert link is not None
        if not isinstance(data, dict):
            raise ValueError("a link")
        if "softmax" in data:
            said, found = data["softmax"], link.softmax
            if type(said) is not float or found is None or not _LEAST <= said <= 1.0:
                raise ValueError("the share of softmax")
            if (
                "norm" not in data and abs(said - found) > 1.5 * 10.0**-_DIGITS
            ):  # another machine may round otherwise
                raise ValueError("the share of softmax is not that of the weights")
        link = replace(link, softmax=data.get("softmax"))
        of_rows = replace(link, clip=plan.learner.clip(plan.space.radius))  # of units, too, before 0.3
        made = [one for each in (link, of_rows) for one in (each, each.for_norm(plan.space.radius))]
        if "softmax" not in data:
            made += [replace(one, shrink=one.shrink / less_sure(plan)) for one in made]
        return next(one for one in made if same(one.to_json(), data))


def inverse(q: Floats, cut: Floats, one: bool) -> Floats:
    """What the probabilities are where descent ends at q, (b, classes), with residuals clipped to `cut`, (b,).

    one: whether the two classes share one output, so that the residual of the label j is 1 - q_j.
    """
    if one:
        residual = q[:, ::-1]  # 1 - q_j, without cancellation
    else:
        others = 1 - np.eye(q.shape[1])
        residual = np.sqrt(
            (q @ others) ** 2 + (q * q) @ others
        )  # norm(q - e_j): 1 - q_j is the sum of the others
    p = q * np.maximum(1.0, residual / cut[:, None])
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def winners(scores: Floats) -> NDArray[np.intp]:
    """Index of the class of the largest score, (b,); of one column: whether it is positive."""
    return np.asarray(scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
