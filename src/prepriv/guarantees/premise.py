"""What a claim assumes of private rows: one object that holds the check and makes the sentence.

Plans, reports, ledgers and `prepriv validate` print the sentence; `validate`, the replay and the attacks evaluate
the check; a holdout and a choice ask whether every part of the rows inherits it; the proof of the step is for exactly the
data that pass it (docs/proofs/chaining.md, "Premises").
"""

from __future__ import annotations

import abc
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from prepriv.guarantees.printed import CONDITION_DIGITS, down, exact, up
from prepriv.space import Reading


@dataclass(frozen=True)
class Premise(abc.ABC):
    """A declared fact about the rows as they reach a step, before the step rounds or clips anything.

    A claim that rests on it holds for any two neighbours that both satisfy it. Subclasses are frozen dataclasses of
    declared numbers. The check (`holds`) and the sentence (`says`) are made from these numbers.

    Parameters
    ----------
    reading : Reading
        Which rows it is about, and how their unusual cells count: `space.reading` of the step's input.

    Attributes
    ----------
    inherited : bool
        A class attribute: whether every subset of the rows satisfies it with the same numbers if all rows do. True
        for "at most m". False for a share, a distance or a moment. Default False.
    of_gaps : bool
        A class attribute: whether it is about missing cells alone, which no earlier step of this package creates or
        fills. Default False.

    Notes
    -----
    docs/proofs/chaining.md, "Premises".

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from prepriv.guarantees.premise import Premise
    >>> from prepriv.space import Reading
    >>> @dataclass(frozen=True)
    ... class AtMost(Premise):
    ...     limit: float
    ...
    ...     def holds(self, rows, n):
    ...         return all(block.max() <= self.limit for block in rows)
    ...
    ...     @property
    ...     def says(self):
    ...         return f"no cell is above {self.limit}"
    >>> print(AtMost(0.5, reading=Reading()))
    no cell is above 0.5, where rows are as encoded
    """

    reading: Reading = field(kw_only=True)

    inherited: ClassVar[bool] = False
    of_gaps: ClassVar[bool] = False
    _words: ClassVar[tuple[str, ...]] = ("says", "inherited", "of_gaps", "read")

    @abc.abstractmethod
    def holds(self, rows: Iterable[Any], n: int) -> bool:
        """Whether the n rows satisfy it. The answer is private. It is for the curator and for attacks, and is never released."""

    @property
    @abc.abstractmethod
    def says(self) -> str:
        """What it says, with units, about rows that are read as `read` describes."""

    @property
    def read(self) -> str:
        """Which rows it is about, and how their unusual cells count, in words."""
        return self.reading.words

    @property
    def sentence(self) -> str:
        """The whole premise in words, so that a reader can check it on the raw table."""
        return f"{self.says}, where {self.read}"

    def __str__(self) -> str:
        return self.sentence


def radius_units(radius: float) -> str:
    """The units of a premise on whole rows: those of their declared norm. No row is made any longer or shorter."""
    return f"in units in which the declared bound on the norm of a row is {exact(radius)}"


def at_most(x: float) -> float:
    """The limit of a premise "at most x": a number of few digits, not above x, so that print and check agree."""
    return float(down(x, CONDITION_DIGITS))


def at_least(x: float) -> float:
    """The limit of a premise "at least x", not below x."""
    return float(up(x, CONDITION_DIGITS))
