"""What a bound assumes of private rows: one object that holds the check and makes the sentence.

Plans, reports, ledgers and `prepriv validate` print the sentence; `validate`, the replay and the attacks evaluate
the check; the proof of the step is for exactly the data that pass it (docs/proofs/chaining.md, "Conditions").
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

from prepriv.guarantees.printed import CONDITION_DIGITS, down, exact, up

if TYPE_CHECKING:
    from prepriv.preprocessing.base import Rows


class Condition(abc.ABC):
    """A declared fact about the rows as they reach a step, before the step rounds or cuts anything.

    A claim that rests on it holds for two neighbours that both meet it. Subclasses are frozen dataclasses of
    declared numbers, from which both methods are made.
    """

    @abc.abstractmethod
    def holds(self, rows: Rows, n: int) -> bool:
        """Whether the n rows meet it. The answer is private: for the curator and for attacks, never released."""

    @property
    @abc.abstractmethod
    def sentence(self) -> str:
        """The same in words, with units: whoever reads it can check it."""

    def __str__(self) -> str:
        return self.sentence


def behind_steps(steps: tuple[str, ...]) -> str:
    """Where the rows are that a condition speaks of: as they reach a step, not as anybody has them in a table."""
    return f" as they are behind {', '.join(steps)}" if steps else ""


def radius_units(radius: float) -> str:
    """The units of a condition on whole rows: those of their declared norm. No row is made any longer or shorter."""
    return f"in units in which the declared bound on the norm of a row is {exact(radius)}"


def at_most(x: float) -> float:
    """The limit of a condition "at most x": a number of few digits, not above x, so that print and check agree."""
    return float(down(x, CONDITION_DIGITS))


def at_least(x: float) -> float:
    """The limit of a condition "at least x", not below x."""
    return float(up(x, CONDITION_DIGITS))
