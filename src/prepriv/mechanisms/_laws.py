"""The two noise laws of the library: a Gaussian rounded to the nearest integer, and the discrete Laplace law.

The float error of either fast path, in units of the standardised variable, is bounded by `BAND` with a
margin of more than three orders of magnitude (docs/proofs/noise.md, P5); the margin is re-measured by the
tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, ndtri_exp

BAND = 1e-11
# Below this prefix the width of the interval of p, 2^-63, is no longer small against p: always exact.
SMALL_PREFIX = 2**40


@dataclass(frozen=True)
class RoundedGaussian:
    """round(N(0, scale^2)), scale in grid steps: P(|K| >= m) = erfc((m - 1/2) / (scale sqrt 2))."""

    scale: float

    def fast(self, prefix: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        # q = p / 2 is the lower tail, where ndtri keeps its relative accuracy.
        q = prefix.astype(np.float64)
        q += 0.5
        q *= 2.0**-64
        small = q < SMALL_PREFIX * 2.0**-64
        x = ndtri(q, out=q)
        x *= -self.scale
        magnitude = np.rint(x)
        x -= magnitude
        np.abs(x, out=x)
        unsure = x >= 0.5 - self.scale * BAND
        unsure |= small
        return magnitude, unsure

    def guess(self, log_p: float) -> int:
        return max(0, round(-self.scale * float(ndtri_exp(log_p - math.log(2.0)))))

    def survival(self, m: int, context: Any) -> Any:
        return context.erfc((context.mpf(m) - 0.5) / (context.mpf(self.scale) * context.sqrt(2)))


@dataclass(frozen=True)
class DiscreteLaplace:
    """P(K = k) proportional to exp(-|k| / scale): P(|K| >= m) = 2 t^m / (1 + t) with t = exp(-1 / scale)."""

    scale: float

    def fast(self, prefix: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        p = prefix.astype(np.float64)
        p += 0.5
        p *= 2.0**-63
        small = p < SMALL_PREFIX * 2.0**-63
        # p < 2 t^m / (1 + t)  <=>  m < scale * (log(2 / (1 + t)) - log p)
        x = np.log(p, out=p)
        x -= self._log_centre()
        x *= -self.scale
        magnitude = np.floor(x)
        x -= np.rint(x)
        np.abs(x, out=x)
        unsure = x <= self.scale * BAND
        unsure |= small
        return magnitude, unsure

    def guess(self, log_p: float) -> int:
        return max(0, math.floor(self.scale * (self._log_centre() - log_p)))

    def survival(self, m: int, context: Any) -> Any:
        inverse = 1 / context.mpf(self.scale)
        return 2 * context.exp(-m * inverse) / (1 + context.exp(-inverse))

    def _log_centre(self) -> float:
        """log(2 / (1 + t)), without cancellation for t near 1."""
        return -math.log1p(math.expm1(-1.0 / self.scale) / 2.0)
