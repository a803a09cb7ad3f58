"""What the weights of binned columns are called: "age=bin 2 of 4 (30 to 40)", where a step itself counts its cells from 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from prepriv._arrays import Floats
from prepriv.columns import Numeric
from prepriv.preprocessing.base import Identity, ReleasedMap
from prepriv.preprocessing.bins import BinCodes
from prepriv.preprocessing.class_counts import CountedClasses
from prepriv.preprocessing.impute_caps import FillReleased
from prepriv.preprocessing.root_columns import Roots
from prepriv.release.shapes import raw_edges, shapes

if TYPE_CHECKING:
    from prepriv.release.model import Model
    from prepriv.space import Space

_OF_CODES = 'The weight of a "part 1 of {} of its code" is not the effect of a bin: every bin has some of each part, so only all weights of a column together show one.'
_SHAPES = " `model_.shapes()`, or `shapes()` of a loaded model, has the effects of each column."


def names_of_bins(model: Model, names: Sequence[str]) -> tuple[str, ...]:
    """These names of features, those that a step of bins has made in words: which of how many, and from where to where in units of the column, if
    nothing but roots came before. Of smooth codes no feature is a bin, so they are parts."""
    said: dict[str, str] = {}
    for at, released in enumerate(model.maps):
        if isinstance(released, BinCodes):
            said |= _said(model, at, released)
    count = Counter(names)
    return tuple(said.get(name, name) if count[name] == 1 else name for name in names)


def note_of_codes(model: Model) -> str:
    """What to know before weights of smooth codes are read; "" of a model without them."""
    smooth = next((m for m in model.maps if isinstance(m, BinCodes) and m.smooth is not None), None)
    if smooth is None:
        return ""
    said = _OF_CODES.format(int(smooth.counts[0]) + 1)
    try:
        shapes(model)
    except ValueError:  # no sum of functions of its columns
        return said
    return said + _SHAPES


def _said(model: Model, at: int, released: BinCodes) -> Iterator[tuple[str, str]]:
    """(the name that the step gives a cell, that in words), of map number `at`."""
    known = _features(model.declared.steps[at].before)
    for j, edges in zip(released.columns, released.split()):
        bins = len(edges) + 1
        ends = None if released.smooth is not None else _ends(model, at, known[j], edges)
        for i in range(bins):
            if released.smooth is not None:
                words = f"part {i + 1} of {bins} of its code"
            else:
                words = f"bin {i + 1} of {bins}" + ("" if ends is None else f" ({ends[i]})")
            yield f"{known[j]}={i}", f"{known[j]}={words}"


def _ends(model: Model, at: int, name: str, edges: Floats) -> list[str] | None:
    """From where to where each bin goes, in units of the column; None where the feature is not a column of the domain any more, or other steps moved it."""
    column = {str(name): c for name, c in model.domain.columns.items()}.get(name)
    before = model.maps[:at]
    roots = [
        (_features(planned.before), m)
        for planned, m in zip(model.declared.steps, before)
        if isinstance(m, Roots)
    ]
    if not isinstance(column, Numeric) or column.log or len(roots) > 1 or not all(map(_keeps, before)):
        return None
    place, root = (roots[0][0].index(name), roots[0][1]) if roots else (0, None)
    return [f"{low:.6g} to {high:.6g}" for low, high in pairwise(raw_edges(edges, column, place, root))]


def _features(space: Space) -> list[str]:
    return list(space.names) or [f"x{j}" for j in range(space.d)]


def _keeps(released: ReleasedMap) -> bool:
    """Whether a number that the map leaves in its place is in the same units, or a root of them."""
    return isinstance(released, BinCodes | CountedClasses | FillReleased | Identity | Roots)
