"""The mean of the rows that a descent sees, released once, and what is made of its noisy gradients. Proof: docs/proofs/gradient_descent.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats

ALONG = 0.3  # of the second moment along the mean row: what is above it is taken out


@dataclass(frozen=True)
class RowSum:
    """In place of a loss: the gradient of a record is its row times `factor`, whatever its target. Engines clip it as any other."""

    factor: float

    def residual(
        self, scores: NDArray[np.float64], targets: NDArray[np.int32], out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        out = np.empty_like(scores) if out is None else out
        out[...] = self.factor
        return out


def gain(square: float) -> float:
    """What a gradient is multiplied by along a mean row of this squared norm: steps there are as long as elsewhere."""
    return ALONG / square if square > ALONG else 1.0


def flattener(mean: Floats) -> Callable[[Floats], Floats]:
    """Gradients (d + 1, K) with less of them along the mean row (d + 1, 1), as it was released: post-processing of both."""
    square = float(np.sum(mean * mean))
    if not math.isfinite(square):  # noise so large that nothing is known of the mean
        return lambda gradient: gradient
    kept = gain(square)
    along = mean / math.sqrt(square) if kept < 1.0 else np.zeros_like(mean)
    return lambda gradient: gradient - (1.0 - kept) * along @ (along.T @ gradient)
