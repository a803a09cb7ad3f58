"""Gaussian differential privacy: the certified curve of N(0, 1) against N(mu, 1), and calibration.

delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) (Balle and Wang 2018,
Dong, Roth and Su 2022). Its two terms cancel; with the Mills ratio R(x) = Phi(-x)/phi(x) it is
phi(x) (R(x) - R(x + mu)), x = epsilon/mu - mu/2. Rounding: docs/proofs/families.md.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, ndtr, ndtri

from prepriv._arguments import number, numbers
from prepriv._arrays import Floats
from prepriv.guarantees.lines import ULP
from prepriv.guarantees.solve import largest_below, smallest_epsilon

SMALLEST = 1e-300  # a positive delta below this is reported as this
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


def delta_upper(mu: npt.ArrayLike, epsilon: npt.ArrayLike) -> Floats:
    """Upper bound of the Gaussian delta for mu >= 0, epsilon >= 0 (arrays that broadcast)."""
    scale, at = np.asarray(mu, np.float64), np.asarray(epsilon, np.float64)
    m = np.maximum(scale, 1e-290)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        ratio = np.minimum(at / m, 1e300)
        # shift x down by its rounding error: the same as a smaller epsilon, hence a larger delta
        x = ratio - 0.5 * m - 2.0 * ULP * (ratio + m)
        far = np.minimum(np.maximum(x + m, 0.0), 1e200)
        near = np.minimum(np.maximum(x, -8.0), 1e200)
        mills_near, mills_far = _mills(near), _mills(far)
        square = near * near
        gap = mills_near - mills_far + 16.0 * ULP * mills_near
        log_density = -0.5 * square - _LOG_SQRT_2PI
        tail = np.exp(np.maximum(log_density + np.log(np.maximum(gap, 5e-324)), -745.0))
        tail *= 1.0 + ULP * (16.0 + 4.0 * np.minimum(square, 1500.0))
        value = np.minimum(tail, 1.0)
        deep = x < -8.0
        if deep.any():  # deep in the bulk the first term is 1 to within 1e-15
            bulk_square = np.minimum(x * x, 1500.0)
            held = np.exp(-0.5 * bulk_square - _LOG_SQRT_2PI) * mills_far
            held = np.where(x * x < 1500.0, held * (1.0 - ULP * (16.0 + 4.0 * bulk_square)), 0.0)
            value = np.where(deep, 1.0 - held + ULP, value)
    return np.where(scale == 0.0, 0.0, np.minimum(np.maximum(value, SMALLEST), 1.0))


def beta_lower(mu: float, alpha: Floats) -> Floats:
    """Lower bound of Phi(Phi^{-1}(1 - alpha) - mu), alpha in [0, 1]."""
    if mu == 0.0:
        return 1.0 - alpha  # one correctly rounded operation; nothing lies above it by more than 1/2 ulp
    with np.errstate(over="ignore", invalid="ignore"):
        point = -ndtri(alpha)
        inside = np.isfinite(point)
        point = np.where(inside, point, 0.0)
        shifted = point - mu - 16.0 * ULP * (np.abs(point) + mu + 1.0)
        square = np.minimum(shifted * shifted, 1500.0)
        value = ndtr(shifted) * (1.0 - ULP * (32.0 + 8.0 * square)) - 1e-307
    ends = np.where(alpha == 0.0, 1.0, 0.0)
    return np.where(inside, np.clip(value, 0.0, 1.0), ends)


@lru_cache(4096)
def epsilon_upper(mu: float, delta: float) -> float:
    """Smallest certified epsilon >= 0 of the Gaussian curve at delta. A plan, its report and its prices ask for few, often."""
    if mu == 0.0:
        return 0.0
    return smallest_epsilon(lambda epsilon: delta_upper(mu, epsilon), delta)


def _mills(x: Floats) -> Floats:
    return math.sqrt(math.pi / 2.0) * erfcx(x / math.sqrt(2.0))


# ---- public calibration -----------------------------------------------------------------------------
@overload
def gdp_delta(mu: float, epsilon: float) -> float: ...
@overload
def gdp_delta(mu: npt.ArrayLike, epsilon: npt.ArrayLike) -> Any: ...
def gdp_delta(mu: npt.ArrayLike, epsilon: npt.ArrayLike) -> Any:
    """Give the delta at which mu-GDP gives (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    mu, epsilon : float or array
        Not negative; arrays broadcast.

    Returns
    -------
    float or array

    Raises
    ------
    ValueError
        For an argument out of range.

    Notes
    -----
    Rounding: docs/proofs/families.md.

    Examples
    --------
    >>> from prepriv.guarantees import gdp_delta
    >>> round(gdp_delta(1.0, 1.0), 6)
    0.126937
    """
    m, e = numbers("mu", mu, at_least=0.0), numbers("epsilon", epsilon, at_least=0.0)
    value = delta_upper(m, e)
    return float(value) if value.ndim == 0 else value


def gdp_epsilon(mu: float, delta: float) -> float:
    """Find the smallest certified epsilon at which mu-GDP gives (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    mu : float
        Not negative.
    delta : float
        In (0, 1).

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For an argument out of range.

    Notes
    -----
    Rounding: docs/proofs/families.md.

    Examples
    --------
    >>> from prepriv.guarantees import gdp_epsilon
    >>> round(gdp_epsilon(1.0, 1e-5), 4)
    4.3772
    """
    return epsilon_upper(number("mu", mu, at_least=0.0), number("delta", delta, above=0.0, below=1.0))


def gdp_mu(epsilon: float, delta: float) -> float:
    """Find the largest mu for which mu-GDP is certified to give (epsilon, delta)-DP, rounded down.

    Parameters
    ----------
    epsilon : float
        Not negative.
    delta : float
        In [1e-300, 1).

    Returns
    -------
    float
        mu. A mean of sensitivity s needs Gaussian noise of standard deviation s / mu.

    Raises
    ------
    ValueError
        For an argument out of range.

    References
    ----------
    Balle and Wang (2018); Dong, Roth and Su (2022). Rounding: docs/proofs/families.md.

    Examples
    --------
    >>> from prepriv.guarantees import gdp_delta, gdp_mu
    >>> mu = gdp_mu(1.0, 1e-5)
    >>> gdp_delta(mu, 1.0) <= 1e-5, round(mu, 4)
    (True, 0.2681)
    """
    return _largest_mu(
        number("epsilon", epsilon, at_least=0.0), number("delta", delta, at_least=SMALLEST, below=1.0)
    )


@lru_cache(1024)
def _largest_mu(epsilon: float, delta: float) -> float:
    """`gdp_mu`: a plan and its prices ask for few budgets, often."""

    def good(mu: float) -> bool:
        return bool(delta_upper(mu, epsilon) <= delta)

    high = 1.0
    while good(high):
        high *= 2.0
    low = high / 2.0
    while not good(low):
        low /= 2.0
    return largest_below(good, low, high)
