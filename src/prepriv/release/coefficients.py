"""The weights of a model that has one per column, as scikit-learn's `coef_`: in raw units where every map is affine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from prepriv._arrays import Floats
from prepriv.columns import Text
from prepriv.integrations.linear import raw_units
from prepriv.preprocessing.base import ReleasedMap
from prepriv.preprocessing.class_counts import CountedClasses
from prepriv.preprocessing.homogenize import HomogeneousRows
from prepriv.preprocessing.impute_caps import FillReleased
from prepriv.preprocessing.maps import write_map
from prepriv.preprocessing.random_features import AddRandomFeatures
from prepriv.preprocessing.scattering import Scatter
from prepriv.space import Space

if TYPE_CHECKING:
    from prepriv.release.model import Model

CONSTANT = "(constant)"
"""The name of the feature that `Homogenize` adds to a row."""
# Maps that keep columns apart: after these alone a weight is that of a column.
APART = frozenset(
    [
        "fill",
        "roots",
        "signed_root",
        "ranks",
        "clip_features",
        "scale",
        "subtract",
        "homogeneous_rows",
        "multiply",
        "scale_rows",
        "identity",
    ]
)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """weights: (d, K). bias: (K,). classes: (K,), whose score each column of weights adds to; where one score stands for two classes
    the second alone, of a target none. names: (d,), of the weights, "(constant)" of a feature that is the
    same number in every row, which scores have beside the bias; () where the rows have none.

    after: the steps after which rows are meant; (): raw rows, numbers in the units of their columns and between the declared
    bounds, a category as 0 or 1. Steps are named where one of them is not affine.
    """

    weights: Floats
    bias: Floats
    names: tuple[str, ...]
    after: tuple[str, ...]
    classes: tuple[Any, ...] = ()


def coefficients(model: Model) -> Coefficients:
    """Those of a model. Raises ValueError where rows get features of their own (random, wavelets, a network): no weight is a column's."""
    from prepriv.preprocessing.encoder import Encoded

    if any(isinstance(m, AddRandomFeatures | Scatter | Encoded) for m in model.maps):
        raise ValueError(
            "the model does not have one weight per column: its rows have random features, wavelets or those of a network (steps='linear' has none)"
        )
    kept = tuple(m for m in model.maps if not isinstance(m, FillReleased | CountedClasses))
    flat = replace(model, maps=kept).flattened()
    left = flat.maps
    texts = [c for c in model.domain.columns.values() if isinstance(c, Text)]
    if left:
        last = max(i for i, m in enumerate(model.maps) if m is left[-1])
        after = tuple(s.step.name for s in model.declared.steps[: last + 1])
        spaces = [*(s.before for s in model.declared.steps), model.declared.space]
        found = Coefficients(flat.weights[:-1], flat.weights[-1], _names(spaces[: last + 2], left), after)
        return replace(found, classes=_scored(model))
    weights, bias = raw_units(flat.weights, flat.domain)
    return Coefficients(
        weights,
        bias,
        model.domain.space.names,
        tuple(dict.fromkeys(_READ[bool(c.encoder)] for c in texts)),
        _scored(model),
    )


def _scored(model: Model) -> tuple[Any, ...]:
    """The class of each score, in the order of the domain."""
    classes = tuple(model.domain.classes)
    return classes[1:] if model.weights.shape[1] == 1 else classes


_READ = ("hashing of texts", "a network of texts")


def _names(spaces: Sequence[Space], maps: Sequence[ReleasedMap]) -> tuple[str, ...]:
    """Names of the features after these maps; () where a map mixes columns."""
    if spaces[-1].names or not {str(write_map(m)["map"]) for m in maps} <= APART:
        return spaces[-1].names
    names = next((space.names for space in reversed(spaces) if space.names), ())
    added = tuple(CONSTANT for m in maps if isinstance(m, HomogeneousRows))
    return (*names, *added) if len(names) + len(added) == spaces[-1].d else ()
