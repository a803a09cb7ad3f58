"""Fixed Morlet wavelets and a Gaussian in whole numbers, and correlations with them that are exact.

Exact: pixels are whole multiples of 2^-11, coefficients of 2^-12, and all partial sums of their products stay within
2^24, so that float32 holds them in any order: the same bits in any block (docs/proofs/scattering.md).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv._rounding import FAR_UP, rounded_up

Singles = NDArray[np.float32]
PIXEL, TAP = 2.0**11, 2.0**12  # steps in one
_EXACT = 2.0**24
_SIGMA, _FREQUENCY = 0.8, 0.75 * math.pi  # of the finest wavelet: width in pixels, radians a pixel
_GRID = 512  # frequencies on an axis where the frame bound is evaluated


@functools.lru_cache(maxsize=64)
def morlet(scale: int, angles: int) -> Singles:
    """Wavelets at `angles` angles over half a turn, real parts and then imaginary ones, (2 * angles, w, w), w odd.

    In steps of 1 / TAP. exp(i xi u) - kappa under an elongated Gaussian, sum zero, absolute values that add up to one.
    """
    half = 3 * 2**scale + 1
    y, x = np.mgrid[-half : half + 1, -half : half + 1].astype(np.float64)
    waves = []
    for turn in range(angles):
        theta = math.pi * turn / angles
        u = x * math.cos(theta) + y * math.sin(theta)
        v = y * math.cos(theta) - x * math.sin(theta)
        envelope = np.exp(-(u**2 + (4 / angles * v) ** 2) / (2 * (_SIGMA * 2**scale) ** 2))
        wave = np.exp(1j * _FREQUENCY / 2**scale * u) * envelope
        wave -= envelope * (wave.sum() / envelope.sum())
        waves.append(wave / np.abs(wave).sum())
    made = np.array(waves)
    return _whole(np.concatenate([made.real, made.imag]))


@functools.lru_cache(maxsize=16)
def gaussian_filter(scale: int) -> Singles:
    """The low-pass filter, (1, w, w), in steps of 1 / TAP; sum one before rounding."""
    half = math.ceil(3 * _SIGMA * 2**scale)
    along = np.exp(-(np.arange(-half, half + 1.0) ** 2) / (2 * (_SIGMA * 2**scale) ** 2))
    made = np.outer(along, along)
    return _whole(made[None] / made.sum())


def _whole(taps: NDArray[np.float64]) -> Singles:
    whole = np.rint(taps * TAP)
    if np.abs(whole).sum(axis=(1, 2)).max() * PIXEL > _EXACT:
        raise ArithmeticError("a filter is too heavy for exact sums")
    return whole.astype(np.float32)


@functools.lru_cache(maxsize=16)
def frame_bound(octaves: int, angles: int) -> float:
    """An upper bound of norm(x * gaussian)^2 + sum of norm(x * wavelet)^2 over norm(x)^2, for real images x.

    The supremum over frequencies of a trigonometric polynomial of degree at most D on each axis, from its largest value on
    a grid of N: at most that over cos(pi D / N)^2. Rounded up.
    """
    total, degree = np.zeros((_GRID, _GRID)), 0
    banks = [gaussian_filter(octaves - 1), *(morlet(scale, angles) for scale in range(octaves))]
    for taps in banks:
        # |psi^(w)|^2, averaged over w and -w, is the sum of those of its real and its imaginary part.
        for tap in taps:
            total += np.abs(np.fft.fft2(tap / TAP, (_GRID, _GRID))) ** 2
        degree = max(degree, taps.shape[1] - 1)
    return rounded_up(float(total.max()) / math.cos(math.pi * degree / _GRID) ** 2 * FAR_UP)


@dataclass(frozen=True, eq=False)
class Bank:
    """Filters at every `stride`-th pixel of maps of a given width, zero outside; as matrices over rows of pixels.

    matrix: (w * width, filters * columns of the output).
    """

    matrix: Singles
    half: int
    stride: int
    filters: int

    @staticmethod
    def of(taps: Singles, width: int, stride: int) -> Bank:
        """From taps (filters, w, w)."""
        filters, w, _ = taps.shape
        half, columns = w // 2, -(-width // stride)
        matrix = np.zeros((w, width, filters, columns), np.float32)
        for column in range(columns):
            left = column * stride - half
            for x in range(max(left, 0), min(left + w, width)):
                matrix[:, x, :, column] = taps[:, :, x - left].T
        return Bank(matrix.reshape(w * width, filters * columns), half, stride, filters)

    def apply(self, maps: Singles) -> Singles:
        """(b, height, width) whole numbers of at most PIXEL to (b, filters, rows, columns), exact."""
        b, height, width = maps.shape
        padded = np.zeros((b, (height + 2 * self.half) * width), np.float32)
        padded[:, self.half * width : (self.half + height) * width] = maps.reshape(b, -1)
        rows = -(-height // self.stride)
        out = np.empty((rows, b, self.matrix.shape[1]), np.float32)
        for row in range(rows):
            start = row * self.stride * width
            np.matmul(padded[:, start : start + len(self.matrix)], self.matrix, out=out[row])
        return out.reshape(rows, b, self.filters, -1).transpose(1, 2, 0, 3)


def modulus(waves: Singles) -> Singles:
    """(b, 2 * angles, rows, columns) in steps of 1 / (PIXEL * TAP) to (b * angles, rows, columns) in those of a pixel."""
    angles = waves.shape[1] // 2
    square = waves[:, :angles] * np.float32(1 / TAP)  # a power of two: exact
    other = waves[:, angles:] * np.float32(1 / TAP)
    square *= square
    other *= other
    square += other
    np.rint(np.sqrt(square, out=square), out=square)
    np.minimum(square, np.float32(PIXEL), out=square)
    return np.ascontiguousarray(square).reshape(-1, *waves.shape[2:])
