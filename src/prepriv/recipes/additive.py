"""Steps of an additive model, `steps="additive"`: a function of each column, learned as a weight for each of its bins."""

from __future__ import annotations

import math

from prepriv import payment as pay
from prepriv.columns import Numeric, Text
from prepriv.domain import Domain
from prepriv.preprocessing.base import Step, walk
from prepriv.preprocessing.bins import QuantileBins
from prepriv.preprocessing.normalize import Rescale
from prepriv.preprocessing.root_columns import STRAIGHT, RootColumns

_BINS, _CELLS = 32, 4096  # of a column; of all columns, about
REACH = 2.0  # of what a value says about its neighbours, in widths of the column
EDGES_SHARE = 0.05


def additive_steps(domain: Domain, scale: float) -> list[Step]:
    """Square roots where columns begin at zero, private edges, rows of norm `scale` at most. Missing cells have cells of their own.

    Raises ValueError for domains without columns of their own: balls, images and texts.
    """
    if (
        domain.is_ball
        or domain.image is not None
        or any(isinstance(c, Text) for c in domain.columns.values())
    ):
        raise ValueError(
            "steps='additive' is for columns of numbers and categories, each with a function of its own"
        )
    numeric = tuple(name for name, column in domain.columns.items() if isinstance(column, Numeric))
    if not numeric:
        return [Rescale(scale)]
    roots = RootColumns.of(domain)
    bins = max(4, min(_BINS, _CELLS // len(numeric)))
    made = QuantileBins(bins, numeric, math.exp(-1 / (REACH * bins)), payment=pay.Budget(EDGES_SHARE))
    steps: list[Step] = [*([roots] if min(roots.start) < STRAIGHT else []), made]
    *_, (_, _, after) = walk(steps, domain.space)
    # A row is as long as the root of the number of columns at most; the space, a box, knows less of categories.
    return [*steps, Rescale(scale * after.radius / math.sqrt(len(domain.columns)))]
