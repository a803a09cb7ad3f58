"""Which class is predicted of calibrated probabilities: that of the largest weight times probability.

Weights are declared, or 1 over noisy counts of the classes (`ClassCounts`). Either is done with what was released: free
beyond that count, and the same for every learner whose loss has probabilities (docs/proofs/class_weight.md).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from prepriv._arguments import number, shown
from prepriv._callers import callers_level
from prepriv._text import printable
from prepriv.domain import Domain, ascending, what_n_counts
from prepriv.guarantees.less_noise import MOST_NAMED, larger_epsilon
from prepriv.guarantees.printed import up
from prepriv.guarantees.training_part import (
    LEAVES_MORE,
    forecast_n,
    leaves_as_much,
    names_none,
    price_now,
    price_of,
    table_now,
    table_of,
)
from prepriv.learners.losses import is_likelihood
from prepriv.payment import Budget
from prepriv.preprocessing.base import Step
from prepriv.preprocessing.class_counts import ClassCounts
from prepriv.tables.cell import text_of

if TYPE_CHECKING:  # which are made with a decision
    from prepriv.plans.plan import Plan

_OF_EVEN = 0.2  # of an equal share of the records: with so much noise of a count weights are said to be noisy
_NAMED = 12  # classes by name in a sentence
COUNT_SHARE = 0.01  # of the budget: the noise of a count is then 7 / s of the records


def warn_of_weights(plan: Plan) -> None:
    """Warn where weights are to multiply what is not a probability, and where noise decides them."""
    loss, told = plan.learner.loss, hardly_counted(plan)
    uncalibrated = (
        f"class_weight and threshold weigh probabilities, and those of the loss {loss.name} are not calibrated: a rare class is "
        "predicted too often or too rarely. Take Logistic or Softmax, the recipe's losses"
    )
    for why in filter(None, ("" if is_likelihood(loss) else uncalibrated, told)):
        warnings.warn(why, UserWarning, stacklevel=callers_level())


def hardly_counted(plan: Plan) -> str:
    """What has to be said before the charge where weights are 1 over counts with so much noise, or nothing. No record is read."""
    counted = [planned for planned in plan.steps if isinstance(planned.step, ClassCounts)]
    if not counted or not plan.private:
        return ""
    half = 1.96 * (counted[0].noise_multiplier or 0.0) * (counted[0].shift or 0.0)
    n, whose = forecast_n(plan.n), what_n_counts(plan.domain)
    factor = half * len(plan.domain.classes) / (_OF_EVEN * n)
    if factor <= 1:
        return ""
    told = (
        f"class_weight='balanced' counts each class with noise of up to about {float(up(half, 2)):,.0f}, of {table_now(n, whose)}: a rare class can get nearly any weight. "
        "Weights that you know without the table are free and have no noise, such as class_weight={'yes': 5} for one yes in six"
    )
    if names_none():
        return f"{told}. {LEAVES_MORE}"
    larger = price_of(larger_epsilon(factor, plan.epsilon, plan.delta))
    ways = [f"epsilon = {larger:g} in place of {price_now(plan.epsilon):g}"] * (larger <= MOST_NAMED)
    rows = int(float(up(table_of(math.ceil(n * factor)), 2)))
    ways += [f"{rows:,} {whose} in place of {table_now(n)}"] * leaves_as_much(rows)
    return f"{told}. Enough for the counts: {', or '.join(ways)}" if ways else f"{told}. {LEAVES_MORE}"


def decision(
    domain: Domain, class_weight: Any = None, threshold: Any = None
) -> tuple[tuple[Step, ...], tuple[float, ...]]:
    """(steps to run after the others, weight of each declared class): ((), ()) where neither is given.

    class_weight: "balanced", or a mapping from classes to positive numbers, 1 for those left out. threshold: of two
    classes the one that comes second in ascending order (`ascending`) is predicted where its probability is above it.
    Raises ValueError for anything else, for both at once, and for a domain with a target.
    """
    if class_weight is None and threshold is None:
        return (), ()
    if domain.target is not None:
        raise ValueError("class_weight and threshold are for classes; the domain declares a target")
    if threshold is not None:
        if class_weight is not None:
            raise ValueError("give class_weight or threshold, not both")
        if len(domain.classes) != 2:
            raise ValueError(
                f"threshold is for two classes; the domain declares {len(domain.classes)}: give class_weight"
            )
        t = number("threshold", threshold, above=0.0, below=1.0)
        first, second = ascending(domain.classes)
        return (), tuple({first: t, second: 1 - t}[k] for k in (0, 1))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return (ClassCounts(len(domain.classes), payment=Budget(COUNT_SHARE)),), ()
    if not isinstance(class_weight, Mapping) or not class_weight:
        raise ValueError(
            f"class_weight must be 'balanced' or map classes to positive numbers; got {shown(class_weight)}"
        )
    places = {text_of(value): k for k, value in enumerate(domain.classes)}
    weights = [1.0] * len(places)
    if len({text_of(value) for value in class_weight}) < len(class_weight):
        raise ValueError("class_weight names one class twice, in two spellings: name each once")
    for value, weight in class_weight.items():
        if text_of(value) not in places:
            raise ValueError(f"class_weight names {shown(value)}, which is not a declared class")
        weights[places[text_of(value)]] = number(f"class_weight of {shown(value)}", weight, above=0.0)
    return (), checked(weights, domain)


def checked(weights: Any, domain: Domain) -> tuple[float, ...]:
    """Weights of the declared classes in their order, or none. ValueError for anything else."""
    if len(weights) not in (0, len(domain.classes)):
        raise ValueError(f"class_weight must have a number for each of the {len(domain.classes)} classes")
    return tuple(number("class_weight", w, at_least=1e-30, at_most=1e30) for w in weights)


def decision_in_words(weights: Sequence[float], classes: Sequence[Any]) -> str | None:
    """The sentence on declared weights, of two classes as a threshold on the probability of the second in ascending order; None: no weights."""
    if not weights:
        return None
    order, names = ascending(classes), [f'"{printable(str(c))}"' for c in classes]
    if len(order) == 2:
        first, second = order
        above = weights[first] / (weights[first] + weights[second])
        return (
            f"It predicts {names[second]} above a probability of {above:.6g}, and {names[first]} otherwise."
        )
    said = ", ".join(f"{names[k]} {weights[k]:.6g}" for k in order[:_NAMED])
    more = f" and {len(order) - _NAMED} more" if len(order) > _NAMED else ""
    return f"Probabilities are weighed before the largest is predicted: {said}{more}."
