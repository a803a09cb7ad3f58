"""How many records a private draft needs: said, and refused where there are too few, before anything is charged or read.

All of it follows from the priced plan, whose noise is known. Proof of the thresholds: docs/proofs/stability_histogram.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.special import ndtri

from prepriv.adjacency import rows_changed
from prepriv.description.look import Look, multiplier
from prepriv.guarantees.less_noise import MOST_NAMED, larger_epsilon, less_noise
from prepriv.guarantees.printed import exact
from prepriv.mechanisms.quantile import Grid, QuantileRelease
from prepriv.mechanisms.stability_histogram import StabilityHistogram

_MOSTLY = float(ndtri(0.95))  # what is that many deviations above a threshold passes it 95 times in 100


@dataclass(frozen=True)
class DraftNeeds:
    """How many records a draft needs to see each thing, 95 times in 100.

    epsilon: of the draft. a_class, a_category: records with one value; a_class is None where the classes are declared. numbers: records with a number of one sign and power of two.
    beyond: how many records a drafted bound is aimed to leave outside, where the whole range is seen; beyond_one_size: how many lie
    beyond a quantile from which a bound of numbers of one power of two is estimated. counted: records or units.
    """

    epsilon: float
    a_class: int | None
    a_category: int
    numbers: int
    beyond: int
    beyond_one_size: int
    counted: str = "records"

    def __str__(self) -> str:
        return (
            f"at ε = {exact(self.epsilon)}, a draft needs about "
            + ("" if self.a_class is None else f"{self.a_class:,} {self.counted} to see a class and ")
            + f"{self.a_category:,} {f'{self.counted} ' if self.a_class is None else ''}to see a category. A range such as 4 to 8 or 64 to 128 is seen only if about {self.numbers:,} {self.counted} lie in it. Each bound is "
            f"aimed at {self.beyond:,} {self.counted} outside it, and more lie outside where part of the range is not seen. "
            f"Bounds of dates, and of numbers of one such range, as years are, are estimated from quantiles aimed at up to {self.beyond_one_size:,} {self.counted} beyond each"
        )


def needs_of(
    look: Look,
    *,
    seen: float,
    first_round: float,
    beyond: float,
    most: float,
    points: int,
    beyond_one_size: float,
    most_of_one_size: float,
) -> DraftNeeds:
    """Of a priced draft of at least one column. seen: the deviations of noise that a count of the first round needs.

    The others are as the draft has them.
    """
    kinds = multiplier(look["first 0"]) * math.sqrt(rows_changed(look.adjacency))
    release = QuantileRelease.of_gdp(
        look["second 0"].mu * math.sqrt(1 - first_round) / math.sqrt(2) * (1 - 1e-9), Grid(0.0, 1.0, points)
    )
    inside = min(most * look.n, beyond * 2 / release.mechanism.epsilon)
    again = QuantileRelease.of_gdp(
        look["second 0"].mu * math.sqrt(first_round) / math.sqrt(2) * (1 - 1e-9), Grid(0.0, 1.0, points)
    )
    inside_one_size = min(most_of_one_size * look.n, beyond_one_size * 2 / again.mechanism.epsilon)
    return DraftNeeds(
        look.epsilon,
        _a_class(look) if _reads_label(look) else None,
        _to_see(look, "second 0"),
        math.ceil((seen + _MOSTLY) * kinds),
        round(inside),
        round(inside_one_size),
        look.counted,
    )


def hopeless(look: Look, with_epsilon: Callable[[float], Look]) -> str:
    """Why a draft of so few records is not worth its charge, or nothing. with_epsilon: the same draft, priced at another ε.

    Two classes of half the records each would both be seen at most once in four drafts, and classes of other sizes less often.
    """
    name, what = ("label", "class") if _reads_label(look) else ("second 0", "category")
    if look.n / 2 >= _threshold(look, name):
        return ""

    def epsilon(times: float) -> float:
        return larger_epsilon(times, look.epsilon, look.delta)

    def ends(times: float) -> bool:
        return epsilon(times) > MOST_NAMED or _to_see(with_epsilon(epsilon(times)), name) <= look.n / 2

    enough = epsilon(less_noise(ends))
    larger = f"Draft with epsilon = {enough:.2g} or more, or declare" if enough <= MOST_NAMED else "Declare"
    of_number = (
        ". If the label is a number, declare its range, too (`--target LOW,HIGH`): to see one takes more than that"
        if name == "label"
        else ""
    )
    return (
        f"{look.n:,} {look.counted} are too few for a private draft at this epsilon, which needs about {_to_see(look, name):,} to see a {what}: "
        f"even one of half of the {look.counted} is not likely to be seen. {larger} the schema by hand{of_number}. Nothing was charged"
    )


def _reads_label(look: Look) -> bool:
    """Whether the classes are drafted, and not declared."""
    return any(part.name == "label" for part in look.parts)


def _a_class(look: Look) -> int:
    return _to_see(look, "label")


def _to_see(look: Look, name: str) -> int:
    return math.ceil(_threshold(look, name) + _MOSTLY * _deviation(look, name))


def as_often_as_not(look: Look, name: str) -> int:
    """How many records a value has that is listed as often as not. name: of the part that pays."""
    return round(_threshold(look, name))


def _threshold(look: Look, name: str) -> float:
    part = look[name]
    return StabilityHistogram(
        noise_multiplier=multiplier(part), delta=part.delta, adjacency=look.adjacency
    ).least


def _deviation(look: Look, name: str) -> float:
    return multiplier(look[name]) * math.sqrt(rows_changed(look.adjacency))
