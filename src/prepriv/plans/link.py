"""Scores to probabilities where training clipped gradients. Proof: docs/proofs/calibrated_probabilities.md.

Descent on clipped gradients does not end at the probabilities: softmax of its scores is too sure of itself. What it
ends at is known, so the probabilities are found by going back. The way back reads no record and costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.learners.losses import is_likelihood
from prepriv.plans.plan import Plan


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


def raw_share(classes: int) -> float:
    """Share of softmax itself beside the exact inverse, which presumes that training has converged.

    It tells classes apart where the inverse has a plateau; and many classes are mostly such as separate, so that training
    stops far from its end.
    """
    return min(1.0, max(0.25, (classes - 4) / 6))


@dataclass(frozen=True)
class Link:
    """The link of a model whose training clipped the gradient of a row x to norm `clip`.

    bias: value of the bias feature, which counts in the norm of a row. shrink: what scores are multiplied by, for their
    noise. norm: the norm of every row, bias and all; None: each row's own.
    """

    clip: float
    bias: float
    shrink: float
    norm: float | None = None

    @staticmethod
    def of(plan: Plan) -> Link | None:
        """The link that a plan gives; None: its loss is not a log-likelihood."""
        learner = plan.learner
        if not is_likelihood(learner.loss):
            return None
        shrink = math.sqrt(1 / (1 + little(len(plan.domain.classes)) / plan.signal))
        return Link(learner.clip(plan.space.radius), learner.bias, shrink)

    def for_norm(self, radius: float) -> Link:
        """The same where rows are not at hand: each counts as one of the largest norm."""
        return replace(self, norm=math.hypot(radius, self.bias))

    def probabilities(self, scores: Floats, norms: Floats) -> Floats:
        """(b, classes) of scores (b, K) and norms (b,) of the rows without the bias feature.

        The largest is that of the largest score, always.
        """
        q, top = softmax(self.shrink * scores), winners(scores)
        norm = np.hypot(norms, self.bias) if self.norm is None else np.full(len(q), self.norm)
        raw = raw_share(q.shape[1])
        p = raw * q + (1 - raw) * inverse(q, self.clip / norm, one=scores.shape[1] == 1)
        lost = np.flatnonzero(p.argmax(axis=1) != top)  # by rounding, or a tie that a score tells apart
        p[lost, top[lost]] = np.nextafter(p[lost].max(axis=1), 2.0)
        return p

    def to_json(self) -> dict[str, float]:
        """Plain data: declared facts, which the plan gives, too."""
        facts = {"clip": self.clip, "bias": self.bias, "shrink": self.shrink}
        return facts | ({} if self.norm is None else {"norm": self.norm})


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
