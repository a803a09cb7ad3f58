"""What each step costs in each way to pay, from declared facts alone: no record is read.

`each_way` puts every step into each of its ways. `prices` says what that costs before a run, `account` after one, and
`ways_out` tries all choices together.

The currency of `prices` is noise: how many times larger the noise of training becomes, at the same (epsilon, delta),
than if the step cost nothing; and the epsilon of all that would run if that noise were left out of the training, by
the learner's own composition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from prepriv import payment as pay
from prepriv.domain import Domain
from prepriv.learners.learner import Learner, Setting
from prepriv.placed.chain import Chain
from prepriv.plans.claim import cost
from prepriv.plans.plan import decide
from prepriv.preprocessing.base import RowShift, Step
from prepriv.space import Space

T = TypeVar("T")
_INSIDE = "a price only: the model needs the step on new rows and could not leave"


@dataclass(frozen=True)
class Price:
    """One way to pay for one step, and what it costs.

    Parameters
    ----------
    step : str
        Its name.
    way : {"public", "budget", "sensitivity", "sketch"}
        How it is paid for.
    factor : float
        The noise of training, divided by the noise if the step were free. inf if the way is not available.
    epsilon : float or None
        What the pipeline costs, its releases included, if training uses the noise that would be enough for a free
        step. None for public data, which changes nothing, and if the way is not available.
    chosen : bool
        Whether the pipeline pays this way.
    note : str
        The terms, or the reason why the way is not available.

    Examples
    --------
    >>> from prepriv.plans.price import Price
    >>> Price("Center", "budget", 1.05, 1.02, True, "10% of the budget").open
    True
    """

    step: str
    way: str
    factor: float
    epsilon: float | None
    chosen: bool
    note: str

    @property
    def open(self) -> bool:
        """Whether this way exists."""
        return math.isfinite(self.factor)


@dataclass(frozen=True)
class Costless(Step):
    """A step as if it were free: the yardstick of the prices."""

    inner: Step | None = None

    def output(self, space: Space) -> Space:
        assert self.inner is not None
        return self.inner.output(space)

    @property
    def drops(self) -> bool:
        assert self.inner is not None
        return self.inner.drops

    @property
    def keeps_cells(self) -> bool:
        assert self.inner is not None
        return self.inner.keeps_cells

    def propagate(self, space: Space, incoming: RowShift) -> RowShift:
        """As the step does with a map that is known; what comes in where it does not say, since no claim is made of this."""
        assert self.inner is not None
        try:
            return self.inner.propagate(space, incoming)
        except ValueError:
            return incoming


def offers(step: Step, **options: Any) -> list[tuple[str, Step | str]]:
    """(way, the step as it is where it is paid for in that way, or why it cannot be): the three ways, and what else the step has; none for a free step.

    options: of the step, wherever its payment is not the one that it has.
    """
    found: list[tuple[str, Step | str]] = []
    for way in dict.fromkeys((*pay.WAYS, *step.ways)) if step.ways else ():
        try:
            found.append((way, step.paid_by(way, **options)))
        except ValueError as closed:
            found.append((way, str(closed)))
    return found


def instead(steps: Sequence[Step], at: int, step: Step) -> list[Step]:
    """The steps with another one in one place."""
    return [*steps[:at], step, *steps[at + 1 :]]


def each_way(
    steps: Sequence[Step], pricing: Callable[[int], Callable[[Step, list[Step]], T]]
) -> Iterator[tuple[Step, str, T | str]]:
    """(step, way, what all the steps then cost, or why that way is not available), each step in each way, the others as they are.

    pricing: of a step's number makes what says the cost of that step as it is then paid for, and of all the steps with it. A
    ValueError of that is the reason why the way is not available.
    """
    for at, step in enumerate(steps):
        if not step.ways:
            continue
        price = pricing(at)
        for way, paid in offers(step):
            found: T | str
            try:
                found = paid if isinstance(paid, str) else price(paid, instead(steps, at, paid))
            except ValueError as closed:
                found = str(closed)
            yield step, way, found


def calibrated(
    domain: Domain, steps: Sequence[Step], learner: Learner, epsilon: float, delta: float, release: bool
) -> tuple[Chain, Setting, float, float]:
    """(the steps in their places, the learner's setting, its noise multiplier, what that multiplies) for one budget."""
    placed, setting, multiplier = decide(
        domain, steps, learner, epsilon=epsilon, delta=delta, release=release
    )
    return placed, setting, multiplier, learner.unit(setting)


def prices(
    steps: Sequence[Step],
    domain: Domain,
    learner: Learner,
    *,
    epsilon: float,
    delta: float,
    n: int,
    release: bool = True,
) -> list[Price]:
    """Price every step that depends on data in each way to pay, with the other steps as they are. No record is read.

    Parameters
    ----------
    steps : sequence of steps
        Pre-processing, each step with its payment.
    domain : Domain
        What is declared about the raw rows.
    learner : Learner
        What is trained after the steps. Its noise is calibrated.
    epsilon : float
        The budget of everything together.
    delta : float
        In (0, 1).
    n : int
        Number of records.
    release : bool, default True
        Whether the model will be released with its fitted steps. If False, a step that the model needs on new rows
        has a price by sensitivity, too, and its note says that no model could be released.

    Returns
    -------
    list of Price
        One for each such step and each way. `factor` says how many times larger the noise of training is than if the
        step were free (inf if the way is not available). `epsilon` says what the pipeline would cost if that were
        ignored.

    Raises
    ------
    ValueError
        Where the pipeline could not run even if the step were free.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> from prepriv.plans.price import prices
    >>> from prepriv.preprocessing import Center
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1])
    >>> steps, learner = [Center(payment=prepriv.Budget(0.1))], GradientDescent(Logistic())
    >>> for price in prices(steps, domain, learner, epsilon=1.0, delta=1e-5, n=1000):
    ...     print(price.way, round(price.factor, 2))
    public 1.0
    budget 1.05
    sensitivity inf
    """
    domain = domain.with_n(n)

    def pricing(at: int) -> Callable[[Step, list[Step]], tuple[float, float | None, str]]:
        yardstick = instead(steps, at, Costless(inner=steps[at]))
        _, _, free, unmoved = calibrated(domain, yardstick, learner, epsilon, delta, release)

        def price(paid: Step, variant: list[Step]) -> tuple[float, float | None, str]:
            inside = paid.way == pay.Sensitivity.way and paid.at_prediction
            placed, setting, multiplier, shift = calibrated(
                domain, variant, learner, epsilon, delta, release and not inside
            )
            real = None
            if paid.way != pay.Public.way:  # the same noise, over what a sum now moves by
                real = cost(placed, learner, setting, free * (unmoved / shift), delta)
            terms = paid.paid.terms() + (f"; {_INSIDE}" if inside and release else "")
            return multiplier / free * (shift / unmoved), real, terms

        return price

    table: list[Price] = []
    for step, way, found in each_way(steps, pricing):
        if isinstance(found, str):
            table.append(Price(step.name, way, math.inf, None, False, found))
        else:
            factor, real, terms = found
            table.append(Price(step.name, way, factor, real, step.way == way, terms))
    return table


def joint_factor(
    steps: Sequence[Step], domain: Domain, learner: Learner, *, epsilon: float, delta: float, n: int
) -> float:
    """Price all steps together: the noise of training, over the noise if every step were free. No record is read.

    Parameters
    ----------
    steps : sequence of steps
        Pre-processing, each step with its payment.
    domain : Domain
        What is declared about the raw rows.
    learner : Learner
        What is trained after them; its noise is calibrated twice.
    epsilon : float
        The budget of everything together.
    delta : float
        In (0, 1).
    n : int
        Number of records.

    Returns
    -------
    float
        1 where nothing is paid, or without privacy.

    Raises
    ------
    ValueError
        Where the pipeline could not run.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> from prepriv.plans.price import joint_factor
    >>> from prepriv.preprocessing import Center
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1])
    >>> steps, learner = [Center(payment=prepriv.Budget(0.1))], GradientDescent(Logistic())
    >>> round(joint_factor(steps, domain, learner, epsilon=1.0, delta=1e-5, n=1000), 2)
    1.05
    """
    domain = domain.with_n(n)

    def noise(variant: Sequence[Step]) -> float:
        _, _, multiplier, shift = calibrated(domain, variant, learner, epsilon, delta, True)
        return multiplier * shift

    if math.isinf(epsilon):
        return 1.0
    return noise(steps) / noise([step if step.way == "free" else Costless(inner=step) for step in steps])
