"""Exact budget arithmetic: privacy amounts as integers, charges rounded up, caps rounded down.

Every amount is an integer number of quanta, so ten charges of 0.1 are exactly a cap of 1.0:

    unit    sums                 quantum
    basic   epsilon and delta    1e-9 and 1e-18
    zcdp    rho                  1e-12
    gdp     mu squared           1e-12

A float means the decimal Python prints for it (0.1 is one tenth), which is also what a plan and a report
print; the two differ by less than one part in 2^53. `Decimal(x)` charges a float's exact binary value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

Currency = Literal["basic", "zcdp", "gdp"]
CURRENCIES: tuple[Currency, ...] = ("basic", "zcdp", "gdp")
Number: TypeAlias = "int | float | Decimal"
Rounding: TypeAlias = Callable[[Fraction], int]

MAX_QUANTA = 4 * 10**18  # the sum of two amounts still fits SQLite's signed 64-bit integer
DELTA_DIGITS = 18
DELTA_OF_A_FIT = 10**13  # 1e-5, the default of every fit (tests/ledger/test_ledger_plan.py)
_SEVERAL = 5
_CHOSEN_FIRST = '(--delta 1e-6, delta=1e-6 in Python), or take a ledger of unit "gdp", which counts no delta'
_DIGITS: dict[Currency, int] = {"basic": 9, "zcdp": 12, "gdp": 12}
_AMOUNTS: dict[Currency, tuple[str, ...]] = {"basic": ("epsilon", "delta"), "zcdp": ("rho",), "gdp": ("mu",)}


@dataclass(frozen=True)
class Quanta:
    """An exact amount: `main` counts the unit's own quantum, `delta` is 0 unless the unit is basic."""

    main: int
    delta: int = 0

    def __add__(self, other: Quanta) -> Quanta:
        return Quanta(self.main + other.main, self.delta + other.delta)

    def fits(self, cap: Quanta) -> bool:
        """Whether both parts are at most those of `cap`."""
        return self.main <= cap.main and self.delta <= cap.delta


@dataclass(frozen=True)
class Amount:
    """An amount of privacy in one unit; the fields of other units are None.

    Parameters
    ----------
    unit : {"basic", "zcdp", "gdp"}
        What is added up.
    epsilon, delta : float, optional
        In unit "basic".
    rho : float, optional
        In unit "zcdp".
    mu : float, optional
        In unit "gdp".

    Notes
    -----
    The floats are rounded down so that the ledger never counts them as more than the exact amount. So a charge of
    exactly what `Ledger.remaining()` says is granted.

    Examples
    --------
    >>> from prepriv.ledger import Amount
    >>> Amount("gdp", mu=0.5).mu
    0.5
    """

    unit: Currency
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    mu: float | None = None


def check_currency(currency: str) -> Currency:
    """Return `currency`; raise ValueError for any other name, with the reason where it is 'pld'."""
    for known in CURRENCIES:
        if currency == known:
            return known
    if isinstance(currency, str) and currency.lower() in ("pld", "f-dp", "fdp", "rdp", "renyi"):
        raise ValueError(
            f"unit must be one of {', '.join(CURRENCIES)}; got {currency!r}, whose composed curve is not a valid filter "
            "when later plans depend on earlier outputs (docs/proofs/ledger.md); use it inside one plan"
        )
    raise ValueError(f"unit must be one of {', '.join(CURRENCIES)}; got {currency!r}")


def cap(currency: Currency, **amounts: Number | None) -> Quanta:
    """The cap in quanta, rounded down. `amounts` are the currency's own, all of them and no others.

    Raises
    ------
    ValueError
        For an amount of another unit, one missing, or one that is not a finite number of usable size.
    """
    given = sorted(name for name, value in amounts.items() if value is not None)
    if given != sorted(_AMOUNTS[currency]):
        wanted, got = " and ".join(_AMOUNTS[currency]), " and ".join(given) or "none"
        raise ValueError(f"a {currency!r} ledger is capped by {wanted}; got {got}")
    total = _quanta(currency, amounts, math.floor)
    if total.main == 0:  # a delta of zero is left to plans of pure differential privacy
        raise ValueError(f"{_AMOUNTS[currency][0]} of a cap must be above zero: no plan could be charged")
    return total


def cost_in_quanta(currency: Currency, **amounts: Number | None) -> Quanta:
    """The cost of a plan in quanta, rounded up.

    A caller may pass every amount that its plan proves; those of other units are not counted.

    Raises
    ------
    ValueError
        If an amount of this currency is missing or not a finite number of usable size, or the cost is zero. (A plan that
        costs nothing needs no charge; positive costs keep their number finite.)
    """
    missing = [name for name in _AMOUNTS[currency] if amounts[name] is None]
    if missing:
        raise ValueError(
            f"{' and '.join(missing)} must be given: this ledger counts {currency!r}, "
            "and an amount in another unit cannot be converted"
        )
    for name, value in amounts.items():
        if value is not None:
            _check_number(name, value)
    total = _quanta(currency, amounts, math.ceil)
    if total == Quanta(0):
        raise ValueError(f"{' and '.join(_AMOUNTS[currency])} of a charge must not be zero")
    return total


def amount_of(currency: Currency, quanta: Quanta) -> Amount:
    """`quanta` as floats, each rounded down to one whose charge costs at most that (0 stays 0)."""
    root = math.sqrt if currency == "gdp" else float
    main = _largest_float(
        root(quanta.main / 10 ** _DIGITS[currency]), lambda x: _main(currency, x, math.ceil) <= quanta.main
    )
    if currency == "zcdp":
        return Amount(currency, rho=main)
    if currency == "gdp":
        return Amount(currency, mu=main)
    delta = _largest_float(
        quanta.delta / 10**DELTA_DIGITS, lambda x: _round("delta", x, DELTA_DIGITS, math.ceil) <= quanta.delta
    )
    return Amount(currency, epsilon=main, delta=delta)


def decimals(currency: Currency, quanta: Quanta) -> dict[str, str]:
    """`quanta` in exact decimals: {"epsilon": "0.3", "delta": "0.000001"}, {"rho": ...} or {"mu^2": ...}."""
    name = {"basic": "epsilon", "zcdp": "rho", "gdp": "mu^2"}[currency]
    text = {name: _text(quanta.main, _DIGITS[currency])}
    return text | {"delta": _text(quanta.delta, DELTA_DIGITS)} if currency == "basic" else text


def amount_in_words(currency: Currency, quanta: Quanta) -> str:
    """`quanta` in exact decimals, as in "epsilon 0.3, delta 0.000001"."""
    return ", ".join(f"{name} {text}" for name, text in decimals(currency, quanta).items())


def cap_in_amounts(currency: Currency, quanta: Quanta, periods: str) -> str:
    """A cap as a receipt states it: of each period, where the ledger has any."""
    return amount_in_words(currency, quanta) + (" for each period" if periods else "")


def short_amount(currency: Currency, quanta: Quanta, *, left: bool = False) -> str:
    """`quanta` as a person reads them: four significant digits, rounded up; down where they are what is `left`.

    `decimals` has all digits, as `--json` prints them, and what a ledger compares is neither.
    """
    four = Context(prec=4, rounding=ROUND_FLOOR if left else ROUND_CEILING)
    return ", ".join(
        f"{name} {four.create_decimal(text).normalize():,f}"
        for name, text in decimals(currency, quanta).items()
    )


def few_fits(currency: Currency, quanta: Quanta) -> str:
    """For how many fits at the default delta a cap is enough, in words; "" where it is enough for several, or is of pure privacy."""
    fits = quanta.delta // DELTA_OF_A_FIT
    if currency != "basic" or quanta.delta == 0 or fits >= _SEVERAL:
        return ""
    return (
        f"a fit takes delta = 1e-05 unless it is given another: this cap has room for {fits or 'none'}, however little epsilon each "
        f"takes. Give every run a smaller delta from the first on {_CHOSEN_FIRST}"
    )


def no_delta_left() -> str:
    """What can be done where a ledger has no delta for a run."""
    return (
        "What is spent is spent, and another ledger of the same people would be a second cap on top. For the next data set, give "
        f"every run a smaller delta from the first on {_CHOSEN_FIRST}"
    )


def _text(quanta: int, digits: int) -> str:
    whole, part = divmod(quanta, 10**digits)
    return f"{whole}.{part:0{digits}d}".rstrip("0").rstrip(".")


def _largest_float(start: float, allowed: Callable[[float], bool]) -> float:
    # start is within a few ulps of the answer, so this ends after a few steps
    while start > 0 and not allowed(start):
        start = math.nextafter(start, 0.0)
    return start


def _quanta(currency: Currency, amounts: dict[str, Number | None], rounding: Rounding) -> Quanta:
    main = _main(currency, amounts[_AMOUNTS[currency][0]], rounding)
    if currency != "basic":
        return Quanta(main)
    delta = _round("delta", amounts["delta"], DELTA_DIGITS, rounding)
    if delta >= 10**DELTA_DIGITS:
        raise ValueError(f"delta must be below 1; got {amounts['delta']}")
    return Quanta(main, delta)


def _main(currency: Currency, value: Number | None, rounding: Rounding) -> int:
    return _round(
        _AMOUNTS[currency][0], value, _DIGITS[currency], rounding, power=2 if currency == "gdp" else 1
    )


def _round(name: str, value: Number | None, digits: int, rounding: Rounding, power: int = 1) -> int:
    number = _check_number(name, value)
    least, most = Decimal(1).scaleb(-digits), Decimal(MAX_QUANTA).scaleb(-digits)
    if power == 2:
        least, most = least.sqrt(), most.sqrt()
    # refused before the exact fraction is built: that of Decimal("1e999999") would fill the memory
    if number and not least <= number <= most:
        raise ValueError(f"{name} must be 0 or between {least:.0e} and {most:.0e}; got {value}")
    return rounding(Fraction(number) ** power * 10**digits)


def _check_number(name: str, value: Number | None) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise ValueError(f"{name} must be an int, a float or a Decimal; got {type(value).__name__}")
    # float(...) first: subclasses such as numpy's print themselves differently
    number = Decimal(repr(float(value))) if isinstance(value, float) else Decimal(value)
    if not number.is_finite() or number < 0:
        raise ValueError(f"{name} must be a finite number, 0 or more; got {value}")
    return number
