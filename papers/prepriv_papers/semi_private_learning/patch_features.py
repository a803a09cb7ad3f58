"""Features of images by a fixed extractor made of PUBLIC images: whitened patches, k-means filters, pooling.

The single-layer features of Coates, Lee and Ng (2011), in place of a network trained on public images. Nothing in it is
drawn and nothing private is read: an image's features depend on that image and on public ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Images = NDArray[np.float32]
SIDE, POOL = 6, 4  # pixels of a patch; pools along each side of the image
RIDGE, FLAT, THRESHOLD, ROUNDS = 0.1, 0.01, 1.0, 5
PATCHES = 40_000
BLOCK = 200


@dataclass(frozen=True, eq=False)
class PatchFeatures:
    """centre (36,): of contrast-normalised public patches. filters (36, K): whitening times k-means directions."""

    centre: Images
    filters: Images

    @staticmethod
    def of(public: Images, filters: int = 100) -> PatchFeatures:
        """From public images (n, height, width) with values in [0, 1], 9 pixels or more on a side."""
        if min(public.shape[1:]) < SIDE + POOL - 1:
            raise ValueError(f"images must have at least {SIDE + POOL - 1} pixels on a side")
        windows = sliding_window_view(public, (SIDE, SIDE), axis=(1, 2))
        n, high, wide = windows.shape[:3]
        at = np.arange(PATCHES)  # spread over images and places by steps that share no factor
        patches = windows[at * 7919 % n, at * 104_729 % high, at * 1_299_709 % wide].reshape(PATCHES, -1)
        patches = patches[patches.std(axis=1) > 0.05]
        if len(patches) < filters:
            raise ValueError("the public images hold too few patches that are not flat")
        patches = _contrast(patches)
        centre = patches.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov((patches - centre).T))
        whiten = ((vectors / np.sqrt(values + RIDGE)) @ vectors.T).astype(np.float32)
        white = (patches - centre) @ whiten
        found = _unit(white[:: len(white) // filters][:filters])
        for _ in range(ROUNDS):
            nearest = (white @ found.T).argmax(axis=1)
            sums = np.zeros_like(found)
            np.add.at(sums, nearest, white)
            found = np.where(np.abs(sums).sum(axis=1, keepdims=True) > 0, _unit(sums), found)
        return PatchFeatures(centre.astype(np.float32), (whiten @ found.T).astype(np.float32))

    def __call__(self, images: Images) -> NDArray[np.float64]:
        """(n, 16 K) means of thresholded filter responses in 4 x 4 pools."""
        return np.concatenate(list(self._blocks(images)))

    def _blocks(self, images: Images) -> Iterator[NDArray[np.float64]]:
        for start in range(0, len(images), BLOCK):
            windows = sliding_window_view(images[start : start + BLOCK], (SIDE, SIDE), axis=(1, 2))
            n, high, wide = windows.shape[:3]
            patches = _contrast(windows.reshape(n * high * wide, -1)) - self.centre
            response = np.maximum(patches @ self.filters - THRESHOLD, 0).reshape(n, high, wide, -1)
            rows, columns = (np.linspace(0, side, POOL + 1).astype(int) for side in (high, wide))
            pools = [
                response[:, rows[i] : rows[i + 1], columns[j] : columns[j + 1]].mean(axis=(1, 2))
                for i in range(POOL)
                for j in range(POOL)
            ]
            yield np.stack(pools, axis=1).reshape(n, -1).astype(np.float64)


def _contrast(patches: Images) -> Images:
    deviation = np.sqrt(patches.var(axis=1, keepdims=True) + FLAT)
    return np.asarray((patches - patches.mean(axis=1, keepdims=True)) / deviation, dtype=np.float32)


def _unit(rows: Images) -> Images:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), dtype=np.float32)
