"""What each step costs in each of the three ways, from declared facts alone: no record is read.

The currency is noise: how many times larger the noise of training becomes, at the same (epsilon, delta),
than if the step cost nothing; and what epsilon the pipeline would really have had if that had been ignored: an
account of all that would run, by the learner's own composition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from prepriv import payment as pay
from prepriv.domain import Domain
from prepriv.learners.learner import Learner, Setting
from prepriv.placed.chain import Chain
from prepriv.plans.claim import cost
from prepriv.plans.plan import decide
from prepriv.preprocessing.base import RowShift, Step
from prepriv.space import Space

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
        Noise of training over the noise if the step were free; inf where the way is not available.
    epsilon : float or None
        What the pipeline costs, its releases included, if training uses the noise of a free step. None for public data,
        which changes nothing, and where the way is not available.
    chosen : bool
        Whether the pipeline pays this way.
    note : str
        Terms, or the reason why the way is not available.

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

    def propagate(self, space: Space, incoming: RowShift) -> RowShift:
        """As the step does with a map that is known; what comes in where it does not say, since no claim is made of this."""
        assert self.inner is not None
        try:
            return self.inner.propagate(space, incoming)
        except ValueError:
            return incoming


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
    """Price every step that depends on data in all three ways, the other steps as they are. No record is read.

    Parameters
    ----------
    steps : sequence of steps
        Pre-processing, each step with its payment.
    domain : Domain
        What is declared of the raw rows.
    learner : Learner
        What is trained after them; its noise is calibrated.
    epsilon : float
        The budget of everything together.
    delta : float
        In (0, 1).
    n : int
        Number of records.
    release : bool, default True
        False prices a pipeline whose model does not have to leave with its fitted steps. A step that the model needs on
        new rows has a price by sensitivity all the same; its note says that no model could leave.

    Returns
    -------
    list of Price
        For each such step and each way: `factor`, how many times larger the noise of training becomes than if the step
        cost nothing (inf where the way is not available), and `epsilon`, what the pipeline would cost if that were ignored.

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

    def decided(variant: Sequence[Step], leaves: bool) -> tuple[Chain, Setting, float, float]:
        at = decide(domain, variant, learner, epsilon=epsilon, delta=delta, release=leaves)
        return *at, learner.unit(at[1])

    table: list[Price] = []
    for i, step in enumerate(steps):
        if not step.ways:
            continue
        _, _, free, unmoved = decided([*steps[:i], Costless(inner=step), *steps[i + 1 :]], release)
        for way in (*pay.WAYS, *(way for way in step.ways if way not in pay.WAYS)):
            chosen = step.way == way
            try:
                variant = step.paid_by(way)
                inside = way == pay.Sensitivity.way and step.at_prediction
                placed, setting, multiplier, shift = decided(
                    [*steps[:i], variant, *steps[i + 1 :]], release and not inside
                )
                real = None
                if way != pay.Public.way:  # the same noise, over what a sum now moves by
                    real = cost(placed, learner, setting, free * (unmoved / shift), delta)
            except ValueError as closed:
                table.append(Price(step.name, way, math.inf, None, False, str(closed)))
                continue
            terms = variant.paid.terms() + (f"; {_INSIDE}" if inside and release else "")
            table.append(Price(step.name, way, multiplier / free * (shift / unmoved), real, chosen, terms))
    return table

    return ""
