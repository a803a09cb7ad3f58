"""Scattering of images: averages of wavelet amplitudes, and of wavelet amplitudes of those. Data-independent, hence free.

Proof: docs/proofs/scattering.md. A fixed transform (Bruna and Mallat 2013, "Invariant Scattering Convolution Networks"); a private
linear model after it is strong (Tramèr and Boneh, "Differentially Private Learning Needs Better Features (or Much More Data)").
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer, number, settle
from prepriv._arrays import Floats
from prepriv._rounding import rounded_up
from prepriv.preprocessing._wavelets import (
    PIXEL,
    Bank,
    Singles,
    frame_bound,
    gaussian_filter,
    modulus,
    morlet,
)
from prepriv.preprocessing.base import RowShift, Step, need_filled
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space

GROUP = 3  # channels that are normalised together
LARGEST_J, LARGEST_L, LARGEST_SIDE, LARGEST_FEATURES = 4, 16, 256, 1 << 17
_CHUNK = 64  # images at a time


@functools.lru_cache(maxsize=64)
def _bank(scale: int | None, angles: int, width: int, stride: int) -> Bank:
    """Wavelets of a scale; None: the Gaussian that stands for `stride` pixels."""
    taps = gaussian_filter(stride.bit_length() - 2) if scale is None else morlet(scale, angles)
    return Bank.of(taps, width, stride)


@dataclass(frozen=True)
class Scatter(StoredMap):
    """Rows (b, height * width * channels) in [0, 1], pixel by pixel, to (b, d') of norm at most 1 (up to rounding).

    Each group of three maps of one image is v -> (v - mean) / sqrt(variance + floor^2), all of it over sqrt(d').
    """

    written_as: ClassVar[str] = "scattering"

    height: int
    width: int
    channels: int
    J: int
    L: int
    floor: float

    def __post_init__(self) -> None:
        for name in ("height", "width", "channels"):
            settle(self, **{name: integer(name, getattr(self, name), at_most=LARGEST_SIDE)})
        settle(self, J=integer("J", self.J, at_most=LARGEST_J), L=integer("L", self.L, at_most=LARGEST_L))
        settle(self, floor=number("floor", self.floor, at_least=1e-4, at_most=1e4))
        if min(self.height, self.width) < 2**self.J:
            raise ValueError(f"J = {self.J} needs images of at least {2**self.J} x {2**self.J} pixels")
        if self.d > LARGEST_FEATURES:
            raise ValueError(f"scattering would make {self.d} features of an image, above {LARGEST_FEATURES}")

    @property
    def maps(self) -> int:
        """Maps of one channel: the average, amplitudes of J * L wavelets, and pairs of a finer and a coarser one."""
        return 1 + self.J * self.L + self.L**2 * (self.J * (self.J - 1) // 2)

    @property
    def cells(self) -> int:
        """Numbers in one map."""
        return -(-self.height // 2**self.J) * -(-self.width // 2**self.J)

    @property
    def d(self) -> int:
        """Features of one image."""
        return self.channels * self.maps * self.cells

    @property
    def steps(self) -> float:
        """Averages are whole multiples of one over this: their squares add up exactly over a group."""
        return 2.0 ** min(23, (52 - math.ceil(math.log2(GROUP * self.cells))) // 2)

    def transform(self, x: Floats) -> Floats:
        out = np.empty((len(x), self.d))
        for start in range(0, len(x), _CHUNK):
            part = slice(start, start + _CHUNK)
            out[part] = self._normalised(self._averages(x[part]))
        return out

    def _averages(self, x: Floats) -> Floats:
        """The unnormalised maps, (b, channels * maps * cells), whole numbers in steps of 1 / self.steps."""
        shape = (len(x), self.height, self.width, self.channels)
        pixels = np.rint(np.clip(x, 0.0, 1.0) * PIXEL).astype(np.float32).reshape(shape)
        images = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)).reshape(-1, self.height, self.width)
        first, second = [], []
        for j in range(self.J):
            inner = modulus(_bank(j, self.L, self.width, 2**j).apply(images))
            first.append(self._smoothed(inner, j, len(images)))
            for k in range(j + 1, self.J):
                bank = _bank(k - j, self.L, inner.shape[2], 2 ** (k - j))
                second.append(self._smoothed(modulus(bank.apply(inner)), k, len(images)))
        made = np.concatenate([self._smoothed(images, 0, len(images)), *first, *second], axis=1)
        return np.rint(made.reshape(len(x), -1) * (self.steps / 2.0**23))

    def _smoothed(self, maps: Singles, scale: int, images: int) -> Floats:
        """Averages over 2^J pixels of maps that hold every 2^scale-th, (images, maps * cells), in steps of 2^-23."""
        bank = _bank(None, self.L, maps.shape[2], 2 ** (self.J - scale))
        return bank.apply(maps).reshape(images, -1).astype(np.float64)

    def _normalised(self, v: Floats) -> Floats:
        starts, counts = self._groups
        total, square = np.add.reduceat(v, starts, axis=1), np.add.reduceat(v * v, starts, axis=1)
        mean = total / counts
        variance = np.maximum((square - total * mean) / counts, 0.0)
        factor = 1 / (np.sqrt(variance + (self.floor * self.steps) ** 2) * math.sqrt(self.d))
        which = np.repeat(np.arange(len(starts)), counts)
        return np.asarray((v - mean[:, which]) * factor[:, which])

    @property
    def _groups(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where each group begins, and how many numbers it has; none spans two channels."""
        ends = [*range(GROUP, self.maps, GROUP), self.maps]
        sizes = np.diff([0, *ends]) * self.cells
        counts = np.tile(sizes, self.channels)
        return np.concatenate([[0], np.cumsum(counts)[:-1]]), counts

    @property
    def lipschitz(self) -> float:
        """Of the map without its rounding, in the norm of rows."""
        return rounded_up(self._before / (self.floor * math.sqrt(self.d)))

    @property
    def _before(self) -> float:
        """Of the averages, from the pixels on: two layers of wavelets and the last averages."""
        return rounded_up(math.sqrt(frame_bound(self.J, self.L)) * self._after)

    @property
    def _after(self) -> float:
        """The same from the first amplitudes on."""
        return max(1.0, *(frame_bound(octaves + 1, self.L) for octaves in range(self.J)))

    @property
    def slop(self) -> float:
        """How far rounding moves one row, at most."""
        pixels = self.height * self.width * self.channels
        first, second = self.J * self.L, self.L**2 * (self.J * (self.J - 1) // 2)  # amplitudes of one pixel
        step = 0.501 / PIXEL  # half of one, and what float32 adds
        moved = step * math.sqrt(pixels) * (
            self._before + self._after * (math.sqrt(first) + math.sqrt(second))
        ) + math.sqrt(self.d) / self.steps  # fmt: skip
        return rounded_up(moved / (self.floor * math.sqrt(self.d)) + 1e-6)


@dataclass(frozen=True)
class Scattering(Step):
    """Fixed wavelet features of images (`Domain.images`), (b, pixels) -> (b, d') in the unit ball. Free.

    Parameters
    ----------
    J : int, default 2
        Number of octaves. Each halves the side of the maps.
    L : int, default 8
        Number of angles.
    floor : float, default 0.001
        Added to the standard deviation by which each group of maps is divided, in units of intensity. It makes the
        map Lipschitz.
    payment : None
        The step depends on no data.

    Raises
    ------
    ValueError
        For a setting out of range. In a plan: for rows that are not images, and images with a side below 2^J pixels.

    Notes
    -----
    28 x 28 pixels with J = 2, L = 8 become 81 maps of 7 x 7. Proof: docs/proofs/scattering.md.

    Examples
    --------
    >>> from prepriv import Domain
    >>> from prepriv.preprocessing import Scattering
    >>> Scattering(J=2, L=8).output(Domain.images(28, 28, 1, range(10)).space).d
    3969
    """

    J: int = 2
    L: int = 8
    floor: float = 0.001

    def __post_init__(self) -> None:
        super().__post_init__()
        made = Scatter(2**LARGEST_J, 2**LARGEST_J, 1, self.J, self.L, self.floor)  # checks all three
        settle(self, J=made.J, L=made.L, floor=made.floor)

    def output(self, space: Space) -> Space:
        return Space.ball(self.free(space).d, 1.0)

    def lipschitz(self, space: Space) -> float:
        return self.free(space).lipschitz

    def propagate(self, space: Space, incoming: RowShift) -> RowShift:
        """As for any fixed map, with both results rounded."""
        if incoming.rows_moved == 0:
            return incoming
        fitted, diameter = self.free(space), self.output(space).diameter
        passed = incoming.through(fitted.lipschitz)
        row, total = (
            passed.row_shift + 2 * fitted.slop,
            passed.total_shift + 2 * fitted.slop * passed.rows_moved,
        )
        return RowShift(
            passed.rows_moved,
            rounded_up(row),
            rounded_up(total),
            passed.rows_dropped,
            passed.conditions,
            passed.any_order,
        ).within(diameter)

    def free(self, space: Space) -> Scatter:
        need_filled(self.name, space)
        if space.image is None:
            raise ValueError(
                f"{self.name} needs images as they were declared: Domain.images, and no step before it"
            )
        return Scatter(*space.image, self.J, self.L, self.floor)


def image_features(image: tuple[int, int, int]) -> Scattering:
    """As many octaves as leave maps of about seven cells a side or more, at most four."""
    return Scattering(min(LARGEST_J, max(1, (min(image[:2]) // 7).bit_length() - 1)))
