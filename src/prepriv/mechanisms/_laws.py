"""The two noise laws of the library: a Gaussian rounded to the nearest integer, and the discrete Laplace law.

The float error of either, in units of the scale, stays below `BAND` with a margin of more than a thousand
(docs/proofs/noise.md, P5). The tests measure that margin; `check_platform` measures it once in every process.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, ndtri_exp

from prepriv.mechanisms._normal_tail import ERROR, TAIL_BITS, upper_tail
from prepriv.mechanisms._precision import context

BAND = 2.0**-38
_MARGIN = 100  # by which `check_platform` wants the error seen to stay below the band


@dataclass(frozen=True)
class RoundedGaussian:
    """round(N(0, scale^2)), scale in grid steps: P(|K| >= m) = erfc((m - 1/2) / (scale sqrt 2))."""

    scale: float

    @property
    def band(self) -> float:
        return self.scale * BAND

    def continuous(self, prefix: NDArray[np.uint64]) -> NDArray[np.float64]:
        # p / 2 is a lower tail probability, where ndtri keeps its relative accuracy
        y = prefix.astype(np.float64)
        y += 0.5
        y *= 2.0**-64
        ndtri(y, out=y)
        y *= -self.scale
        y += 0.5
        return y

    def guess(self, log_p: float) -> int:
        return max(0, round(-self.scale * float(ndtri_exp(log_p - math.log(2.0)))))

    def side(self, prefix: int, m: int) -> bool | None:
        # in units of 2^-128: p / 2 against Q((m - 1/2) / scale)
        numerator, denominator = self.scale.as_integer_ratio()
        tail = upper_tail((((2 * m - 1) * denominator) << (TAIL_BITS - 1)) // numerator)
        if tail is None:
            return None
        low = prefix << (TAIL_BITS - 64)
        if low + 2 ** (TAIL_BITS - 64) < tail - 2 * ERROR:
            return True
        return False if tail + 2 * ERROR < low else None

    def survival(self, m: int, precise: Any) -> Any:
        return precise.erfc((m - precise.mpf(0.5)) / (precise.mpf(self.scale) * precise.sqrt(2)))


@dataclass(frozen=True)
class DiscreteLaplace:
    """P(K = k) proportional to exp(-|k| / scale): P(|K| >= m) = 2 t^m / (1 + t) with t = exp(-1 / scale)."""

    scale: float

    @property
    def band(self) -> float:
        return self.scale * BAND

    def continuous(self, prefix: NDArray[np.uint64]) -> NDArray[np.float64]:
        # p < 2 t^m / (1 + t)  <=>  m < scale * (log(2 / (1 + t)) - log p)
        y = prefix.astype(np.float64)
        y += 0.5
        y *= 2.0**-63
        np.log(y, out=y)
        y -= self._log_centre()
        y *= -self.scale
        return y

    def guess(self, log_p: float) -> int:
        return max(0, math.floor(self.scale * (self._log_centre() - log_p)))

    def side(self, prefix: int, m: int) -> bool | None:
        return None  # its survival function is cheap enough

    def survival(self, m: int, precise: Any) -> Any:
        inverse = 1 / precise.mpf(self.scale)
        return 2 * precise.exp(-m * inverse) / (1 + precise.exp(-inverse))

    def _log_centre(self) -> float:
        """log(2 / (1 + t)), without cancellation for t near 1."""
        return -math.log1p(math.expm1(-1.0 / self.scale) / 2.0)


@functools.cache
def check_platform() -> None:
    """Raise RuntimeError if this machine's ndtri or log is too inaccurate for `BAND` to be a bound.

    Newton's correction (Q(z) - q) / density(z) in multiple precision measures the error of z = ndtri(q).
    """
    precise = context(100)
    q = 0.5 * 2.0 ** -np.linspace(0.0, 20.0, 48) * (1.0 - 2.0**-30)
    for probability, z, log in zip(q.tolist(), ndtri(q).tolist(), np.log(q).tolist()):
        residual = precise.erfc(-precise.mpf(z) / precise.sqrt(2)) / 2 - precise.mpf(probability)
        density = precise.exp(-(precise.mpf(z) ** 2) / 2) / precise.sqrt(2 * precise.pi)
        error = max(abs(residual / density), abs(precise.log(precise.mpf(probability)) - log))
        if not error * _MARGIN < BAND:
            raise RuntimeError("ndtri or log of this platform is inaccurate; no noise is drawn from it")
