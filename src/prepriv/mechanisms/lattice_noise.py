"""Gaussian noise on exact integer sums: ``total + round(N(0, s^2)) = round(total + N(0, s^2))``.

Post-processing of the Gaussian mechanism. Proof: docs/proofs/lattice.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from prepriv._rounding import round_up
from prepriv.exact.lattice import check_sensitivity, is_finite, is_int
from prepriv.mechanisms.noise import LARGEST_SCALE, SMALLEST_GAUSSIAN_SCALE, NoiseSource

CAPACITY = 2**62  # |sum| + 40 noise scales stay below it
NOISE_REACH = 40  # P(|N(0, 1)| > 40) < 2^-1150


def gaussian_sum_release(
    sum_int64: NDArray[np.int64],
    sensitivity_int: int,
    noise_multiplier: float,
    source: NoiseSource,
    *,
    exponent: int = 0,
    bits: int = 64,
) -> NDArray[np.float64]:
    """Add rounded Gaussian noise to an exact integer sum: (sum + round(N(0, s^2 I))) * 2^exponent.

    Parameters
    ----------
    sum_int64 : array of int64, any shape
        The exact sum. Between neighbouring data sets it moves by at most `sensitivity_int` in L2 norm.
    sensitivity_int : int
        The L2 sensitivity, in grid steps.
    noise_multiplier : float
        s divided by the sensitivity, rounded up.
    source : NoiseSource
        Where the noise comes from.
    exponent : int, default 0
        The grid step is 2^exponent.
    bits : int, default 64
        With fewer bits, the sum stands for a residue modulo 2^bits alone, because it was coarsened and may have
        wrapped before. It is released as such a residue.

    Returns
    -------
    array of float64, of the same shape
        Multiples of 2^exponent. The release is (1 / noise_multiplier)-GDP.

    Raises
    ------
    ValueError
        If the noise multiplier is not positive and finite, or the noise is below 16 grid steps or above 2^50. Nothing
        is drawn.

    Notes
    -----
    An overflow would wrap modulo 2^64, which is post-processing. A mechanism's `check` excludes it by public numbers
    alone. Proof: docs/proofs/lattice.md.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv.mechanisms import NoiseSource
    >>> from prepriv.mechanisms.lattice_noise import gaussian_sum_release
    >>> counts = np.array([300, 200]) * 256
    >>> gaussian_sum_release(counts, 256, 4.0, NoiseSource(), exponent=-8).shape
    (2,)
    """
    scale = noise_scale(sensitivity_int, noise_multiplier)
    total = np.asarray(sum_int64)
    if total.dtype != np.int64:
        raise ValueError(f"sum_int64: got dtype {total.dtype}, need int64")
    noise = source.rounded_gaussian(scale, total.size).reshape(total.shape)
    noisy = np.asarray(total + noise)
    if bits < 64:  # the residue nearest to zero, by sign extension
        noisy = (noisy << np.int64(64 - bits)) >> np.int64(64 - bits)
    return np.ldexp(noisy.astype(np.float64), exponent)


def noise_scale(sensitivity_int: int, noise_multiplier: float) -> float:
    """noise_multiplier * sensitivity_int in grid steps, rounded up; ValueError if out of range."""
    check_sensitivity(sensitivity_int)
    if not is_finite(noise_multiplier) or not noise_multiplier > 0:
        raise ValueError(f"noise_multiplier: got {noise_multiplier!r}, need a positive finite number")
    exact = Fraction(float(noise_multiplier)) * int(sensitivity_int)
    if not SMALLEST_GAUSSIAN_SCALE <= exact <= LARGEST_SCALE:
        raise ValueError(
            f"noise_multiplier: got {noise_multiplier!r} at sensitivity {sensitivity_int}, so the "
            f"noise is {float(exact):g} steps; need at least 16 (choose a finer grid) and at most 2^50"
        )
    return round_up(exact)


def laplace_scale(sensitivity_int: int, epsilon: float) -> float:
    """sensitivity_int / epsilon rounded up: the scale at which discrete Laplace noise is epsilon-DP."""
    check_sensitivity(sensitivity_int)
    if not is_finite(epsilon) or not epsilon > 0:
        raise ValueError(f"epsilon: got {epsilon!r}, need a positive finite number")
    return round_up(int(sensitivity_int) / Fraction(float(epsilon)))


def poisson_threshold(sampling_rate: float) -> int:
    """The k of `NoiseSource.bernoulli_mask` for a rate: the least k with k / 2^64 >= sampling_rate."""
    if not is_finite(sampling_rate) or not 0 <= sampling_rate <= 1:
        raise ValueError(f"sampling_rate: got {sampling_rate!r}, need a number in [0, 1]")
    return math.ceil(Fraction(float(sampling_rate)) * 2**64)


def poisson_rate(threshold_k: int) -> float:
    """The rate to account for, threshold_k / 2^64 rounded up to a float."""
    if not is_int(threshold_k) or not 0 <= threshold_k <= 2**64:
        raise ValueError(f"threshold_k: got {threshold_k!r}, need an integer in [0, 2^64]")
    return round_up(Fraction(int(threshold_k), 2**64))
