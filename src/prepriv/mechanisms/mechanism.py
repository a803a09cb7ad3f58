"""What a mechanism is: one release, declared before it runs. A `Session` performs it; nothing else can."""

from __future__ import annotations

import abc
import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from prepriv.mechanisms.noise import NoiseSource


@dataclass(frozen=True)
class Cost:
    """What one release takes from a budget, exactly.

    Parameters
    ----------
    mu_squared : Fraction
        The square of the parameter of Gaussian differential privacy. Squares of several releases add up.
    delta : Fraction, default 0
        The chance that the release shows a value that only one record has.

    Raises
    ------
    ValueError
        For a number below 0, which would refund what other releases have spent, and for a delta above 1.

    Examples
    --------
    >>> from prepriv.mechanisms.mechanism import Cost
    >>> Cost.of_noise(noise_multiplier=4.0)
    Cost(mu_squared=Fraction(1, 16), delta=Fraction(0, 1))
    """

    mu_squared: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not (isinstance(self.mu_squared, Fraction) and self.mu_squared >= 0):
            raise ValueError(
                "mu_squared of a Cost must be a Fraction, 0 or more: a release gives nothing back"
            )
        if not (isinstance(self.delta, Fraction) and 0 <= self.delta <= 1):
            raise ValueError("delta of a Cost must be a Fraction in [0, 1]")

    @classmethod
    def of_noise(cls, noise_multiplier: float, delta: float = 0.0) -> Cost | None:
        """The cost of Gaussian noise with this multiplier. None without noise, which no budget pays for."""
        return cls(1 / Fraction(noise_multiplier) ** 2, Fraction(delta)) if noise_multiplier > 0 else None


class Mechanism(abc.ABC):
    """One declared release: a frozen value in which nothing depends on a record.

    A subclass says what it costs (`cost`), how far apart the private values of neighbours can be (`reach`), and how
    it is drawn (`perform`). It may say what it is without noise (`noiseless`).

    Notes
    -----
    The session that draws it, the meter that counts it and the audit that attacks it all use this one object. Proof:
    docs/proofs/composition.md. The smallest one is in examples/smallest.py.

    Examples
    --------
    >>> from prepriv.mechanisms import GaussianSum, Mechanism
    >>> release = GaussianSum(sensitivity=1024, noise_multiplier=2.0, exponent=-10, largest=2**30, coordinates=3)
    >>> isinstance(release, Mechanism), float(release.cost.mu_squared)
    (True, 0.25)
    """

    @property
    @abc.abstractmethod
    def cost(self) -> Cost | None:
        """What it takes from a budget of Gaussian releases. None: no such budget pays for it."""

    @property
    @abc.abstractmethod
    def reach(self) -> int:
        """Its sensitivity: the most that the private values of neighbours are apart, in the units of `moved_squared`."""

    def check(self, name: str) -> None:  # noqa: B027  most are checked when they are made
        """ValueError, before any charge, if public numbers show that it cannot be drawn."""

    @abc.abstractmethod
    def perform(self, exact: Any, source: NoiseSource) -> Any:
        """Draw it: the noisy value that may be released."""

    def noiseless(self, exact: Any) -> Any:
        """What a run without privacy releases in its place. TypeError if there is nothing."""
        raise TypeError(f"{type(self).__name__} has no answer without noise")

    def recorded(self, exact: Any) -> Any:
        """The private value as an audit keeps it: a copy, in the units of `reach`."""
        return copy.copy(exact)

    def moved_squared(self, one: Any, two: Any) -> int:
        """The exact square of the distance between two recorded values, for audits."""
        return squared_distance(one, two)


def squared_distance(one: Any, two: Any) -> int:
    """Squared L2 distance of two integer arrays, exact. Sums live modulo 2^64 (docs/proofs/lattice.md). TypeError for others."""
    try:
        difference = np.subtract(one, two).ravel()
    except TypeError:
        difference = np.array([""])  # of no numbers at all
    if difference.dtype.kind not in "iuO":
        raise TypeError(
            "distances are exact of integers alone: override `recorded`, to give the private value as integers in whole units of "
            "`reach`, or override `moved_squared`"
        )
    small = difference.min(initial=0) > -(2**24) and difference.max(initial=0) < 2**24
    if small and difference.size < 2**14:
        return int(difference @ difference)
    return sum(v * v for v in difference.tolist())
