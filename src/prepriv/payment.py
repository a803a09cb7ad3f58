"""The three ways to pay for a pre-processing step that depends on data. There is no fourth.

A step that does not depend on data (clip, one-hot by declared categories, a fixed grid) is free and takes
no payment.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Public:
    """Fit on public records: costs nothing. `data`: a table or matrix with the columns of the private one.

    That the table is public, and holds no private record, is the user's claim. Refused before any charge: the private
    table itself, its memory (a view, a slice, a frame over it) or its file. A copy passes: no cell is compared.
    """

    way: ClassVar[str] = "public"
    data: Any = None


@dataclass(frozen=True)
class Budget:
    """Fit by a differentially private mechanism; the result may be released.

    share: the part of the whole budget (in mu squared, the quantity that adds up under composition) in (0, 1).
    """

    way: ClassVar[str] = "budget"
    share: float = 0.02

    def __post_init__(self) -> None:
        if not (isinstance(self.share, int | float) and 0 < self.share < 1):
            raise ValueError(f"share must lie in (0, 1); got {self.share}")


@dataclass(frozen=True)
class Sensitivity:
    """Fit on the private records without noise; every later mechanism adds more noise instead.

    caps: what is declared so that the sensitivity is bounded, by name (each step documents its own).
    test: a share of the budget (in mu squared) for a propose-test-release of the caps: the guarantee is then
    unconditional, and a data set too close to breaking them is refused, which is charged in full. 0: no test,
    and the guarantee is conditional on the caps. The fitted state never leaves: it dies with the run.
    """

    way: ClassVar[str] = "sensitivity"
    caps: Mapping[str, Any] = field(default_factory=dict)
    test: float = 0.0

    def __post_init__(self) -> None:
        if not (isinstance(self.test, int | float) and 0 <= self.test < 1):
            raise ValueError(f"test, a share of the budget, must lie in [0, 1); got {self.test}")


Payment: TypeAlias = Public | Budget | Sensitivity
WAYS: tuple[str, ...] = (Public.way, Budget.way, Sensitivity.way)


def check_payment(step: str, payment: Any) -> None:
    """ValueError unless it is None or an instance of one of the three: of no subclass, which could say anything."""
    if payment is None or type(payment) in (Public, Budget, Sensitivity):
        return
    if isinstance(payment, type):
        got = f"the class {payment.__name__}: call it, as in {payment.__name__}()"
    else:
        got = type(payment).__name__
    raise ValueError(
        f"payment of {step} must be Public(data), Budget(share) or Sensitivity(caps), from prepriv; got {got}"
    )


def check_fraction(name: str, value: float) -> float:
    """A number in [0, 1], or ValueError."""
    if not (isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= 1):
        raise ValueError(f"{name} must lie in [0, 1]; got {value}")
    return float(value)


Matrix: TypeAlias = NDArray[Any]
