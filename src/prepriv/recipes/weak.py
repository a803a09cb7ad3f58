"""Rules of the recipe for little signal s = n mu / r, all from declared numbers. How they were chosen: docs/recipe.md."""

from __future__ import annotations

import math

RECIPE_LEVEL, _LEAST_LEVEL = 1.25, 0.6  # of a table: the constant feature
_FULL_LEVEL, _WIDEST = 25.0, 36  # signal over level and the root of the number of columns, up to so many
LATE, _LATEST = 0.5, 0.05  # of the iterates that are averaged
_AVERAGED = 800.0  # signal over that share
WAVELET_CLIP, _CLIPPED = 0.3, 120.0  # of images: clip over that of others; signal over it, where that is more
CENTRED = 60.0  # signal from which on the constant feature is centred; below, strong effects lose by it
_UNSCALED = 90.0  # signal at which half of the squared length of a row is left, because columns are divided by more than their deviation
_ENOUGH = 4.0  # signal over the root of the number of columns from which on a mean of categories is worth its budget


def late_share(s: float) -> float:
    """The last share of the iterates that is averaged: where noise is most of a gradient, an average of many iterates gives
    the late gradients hardly any weight, so that part of what was paid for is lost."""
    return min(LATE, max(_LATEST, s / _AVERAGED))


def level(s: float, d: int) -> float:
    """The constant feature of d columns: with little signal columns are divided by more than their deviation, and rows are
    shorter. In few columns the constant is much of what a row says."""
    return min(RECIPE_LEVEL, max(_LEAST_LEVEL, s / (_FULL_LEVEL * math.sqrt(min(d, _WIDEST)))))


def constant_center(level: float, square: float, s: float) -> float:
    """About the mean of the constant feature in rows of norm one that had this squared length without it; 0 with too little signal for it."""
    return round(level / math.hypot(level, math.sqrt(square)), 4) if s >= CENTRED else 0.0


def center_of_columns(level: float, columns: int, s: float) -> float:
    """The same of columns that have deviation one, or less, because they are divided by more."""
    return constant_center(level, columns / (1.0 + _UNSCALED / s), s)


def means_pay(s: float, d: int) -> bool:
    """Whether a private mean of categories says more than its noise."""
    return s >= _ENOUGH * math.sqrt(d)


def wavelet_clip(s: float) -> float:
    """Of images after wavelets, clip over that of other rows: with much signal short clips leave more weight to rows that are
    still wrong; with little, no row is right yet, and a clip only shortens what it tells."""
    return min(1.0, max(WAVELET_CLIP, _CLIPPED / s))
