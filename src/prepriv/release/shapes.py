"""What an additive model says about each column: its shape function, and how far noise alone moves it. docs/additive.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from prepriv._arrays import Floats
from prepriv.columns import Categorical, Numeric
from prepriv.preprocessing.base import Identity, ReleasedMap
from prepriv.preprocessing.bins import BinCodes, codes
from prepriv.preprocessing.class_counts import CountedClasses
from prepriv.preprocessing.impute_caps import FillReleased
from prepriv.preprocessing.normalize import Multiply
from prepriv.preprocessing.root_columns import Roots

if TYPE_CHECKING:
    from prepriv.plans.plan import Plan
    from prepriv.release.model import Model

DEVIATIONS = 2.0  # of the noise: half the width of a band
# (s up to which, median height of the highest curve beside that without privacy, in percent): benchmarks/curve_heights.py
_OF_NUMBERS = ((100, 6), (300, 26), (1000, 41), (3000, 44), (math.inf, 69))
_OF_CLASSES = ((100, 1), (300, 8), (1000, 16), (3000, 26), (math.inf, 43))


@dataclass(frozen=True, eq=False)
class Shape:
    """What one column adds to the score.

    Parameters
    ----------
    column : str
        Its name.
    edges : array, (bins + 1,), or None
        The edges for a column of numbers, in its units, with the declared bounds at the ends. None for categories.
    names : tuple of str
        One name per value: categories ("other" and "missing" last) or intervals.
    values : array, (values, K)
        What each bin or category adds to the score, with mean zero over them, and what a missing cell adds.
    band : array, (values,), or None
        Two standard deviations of what the noise of training alone does to each value, at most (docs/additive.md). None unless the learner is
        `GradientDescent`. It does not cover errors by sampling or by the model.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv.release.shapes import Shape
    >>> Shape("job", None, ("clerk", "other", "missing"), np.zeros((3, 1)), None).names[0]
    'clerk'
    """

    column: str
    edges: Floats | None
    names: tuple[str, ...]
    values: Floats
    band: Floats | None


def shapes(model: Model) -> list[Shape]:
    """The shape functions of an additive model, in the order of its columns. Raises ValueError for another model."""
    flat = model.flattened()
    maps = [m for m in flat.maps if not isinstance(m, CountedClasses | FillReleased | Identity)]
    roots = next((m for m in maps[:-1] if isinstance(m, Roots)), None)
    binned = next((m for m in maps[-1:] if isinstance(m, BinCodes)), None)
    columns = model.domain.columns
    kept = (
        binned is not None and binned.beside
    )  # a number beside its code is a part of the sum that no bin shows
    if len(maps) != (roots is not None) + (binned is not None) or not columns or kept:
        raise ValueError("the model is not a sum of functions of its columns: train it with steps='additive'")
    deviation = _deviation(model.declared, model.maps)
    places = _places(binned, model.domain.space.d)
    out, at = [], 0
    for name, column in columns.items():
        if isinstance(column, Categorical):
            basis, start, edges = np.eye(column.width), places[at][0], None
            names = tuple(model.domain.feature_names[at : at + column.width])
            names = tuple(n.removeprefix(f"{name}=") for n in names)
            free = column.width
        elif isinstance(column, Numeric) and binned is not None and at in binned.columns:
            start, k = places[at]
            edges = raw_edges(binned.split()[k], column, at, roots)
            free = len(edges) - 1
            gap = int(binned.gaps[k])
            basis = np.zeros((free + gap, free + gap))
            basis[:free, :free], basis[free:, free:] = codes(free, binned.smooth), np.eye(gap)
            names = tuple(f"{a:.6g} to {b:.6g}" for a, b in pairwise(edges)) + ("missing",) * gap
        else:
            raise ValueError(f"the model is not a sum of functions of its columns: {name!r} has no bins")
        basis = basis - basis[:free].mean(axis=0)
        values = basis @ flat.weights[start : start + len(basis)]
        band = None if deviation is None else DEVIATIONS * deviation * np.sqrt((basis * basis).sum(axis=1))
        out.append(Shape(name, edges, names, values, band))
        at += column.width
    return out


def flat_in_words(plan: Plan) -> str:
    """That curves are lower than without privacy, and by how much; empty without privacy."""
    if not plan.private:
        return ""
    learned, kinds = ("two classes", _OF_CLASSES) if plan.domain.target is None else ("numbers", _OF_NUMBERS)
    height = next(height for most, height in kinds if plan.signal < most)
    return (
        f"Training ends before curves reach their height, so that noise stays small. They are therefore too flat, by more than the band shows: in models of {learned} that we measured, with as much signal as here, "
        f"the highest curve of a number had {height} % of its height without privacy in the median. Read where a curve rises and falls, not by how much."
    )


def _places(binned: BinCodes | None, d: int) -> dict[int, tuple[int, int]]:
    """Encoded feature -> (where its cells begin after the bins, its number among the binned ones)."""
    if binned is None:
        return {j: (j, -1) for j in range(d)}
    rest = [j for j in range(d) if j not in binned.columns]
    places = {j: (at, -1) for at, j in enumerate(rest)}
    starts = len(rest) + np.concatenate([[0], np.cumsum(binned.counts + 1 + binned.gaps)])
    return places | {int(j): (int(starts[k]), k) for k, j in enumerate(binned.columns)}


def raw_edges(edges: Floats, column: Numeric, at: int, roots: Roots | None) -> Floats:
    """Inner edges in the column's own units, its bounds around them."""
    if roots is not None:  # x = y D (y D + 2 sqrt(b)), D = 1 / (sqrt(1 + b) + sqrt(b))
        root = math.sqrt(roots.start[at])
        step = edges / (math.sqrt(1 + roots.start[at]) + root)
        edges = step * (step + 2 * root)
    inner = np.clip(column.low + (column.high - column.low) * edges, column.low, column.high)
    return np.concatenate([[column.low], inner, [column.high]])


def _deviation(plan: Plan, maps: tuple[ReleasedMap, ...]) -> float | None:
    """Standard deviation of the noise in one weight of a cell."""
    noise = plan.learner.weight_noise(plan.learner_noise, plan.n) if plan.private else None
    return None if noise is None else noise * math.prod(m.factor for m in maps if isinstance(m, Multiply))
