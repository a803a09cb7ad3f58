"""Numbers of a claim as a person reads them: rounded towards less privacy, so what is printed still holds.

An epsilon, mu or delta that a run claims is an upper bound: print it with `up`. A lower bound, as an attack
measures it, is printed with `down`. What a user typed is printed with `exact`. In a condition, "at most" goes
`down` and "at least" `up`: what is printed then implies what the proof uses. A measured number and its interval are
printed with `measured`.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

_QUOTED = re.compile(r"""('[^']*'|`[^`]*`|"[^"]*")""")
_COUNT = re.compile(r"(?<![\w.,-])[0-9]{4,}(?= (?:of|records|rows|units|common|cells)\b)")
USELESS = 1000.0  # an ε from here on promises nothing
BY_CHANCE = "Each interval holds by itself, so among many differences some exclude zero by chance"
CONDITION_DIGITS = 12  # of a number in a condition: what a user declared is printed as it was written


def up(x: float, digits: int = 6) -> str:
    """The least decimal of `digits` significant digits that is not below x. Trailing zeros are left out.

    float(up(x, digits)) >= x always: a number that its shortest exact decimal writes in fewer digits is that.

        >>> up(3.351e-5, 2), up(1.00000001, 4), up(0.3, 4), up(123456.7, 4)
        ('3.4e-05', '1.001', '0.3', '1.235e+05')
    """
    return _text(x, digits, ROUND_CEILING)


def down(x: float, digits: int = 6) -> str:
    """The greatest decimal of `digits` significant digits that is not above x: float(down(x)) <= x.

    >>> down(0.99999, 4), down(0.3, 4)
    ('0.9999', '0.3')
    """
    return _text(x, digits, ROUND_FLOOR)


def useful(epsilon: float, lead: str = "ε = ") -> str:
    """An epsilon of a claim, four digits, rounded up. From 1000 on it is not a useful bound, and no digits are shown.

    >>> useful(1.69994), useful(2066124376400.7397)
    ('ε = 1.7', 'no useful bound')
    """
    return lead + up(epsilon, 4) if epsilon < USELESS else "no useful bound"


def epsilon_at(epsilon: float, delta: float) -> str:
    """A claim as every page, message and command prints it: ε as in `useful`, δ as it was declared.

    >>> epsilon_at(0.76543211, 1e-6), epsilon_at(2066124376400.7397, 1e-5)
    ('ε = 0.7655 at δ = 1e-06', 'no useful bound at δ = 1e-05')
    """
    return f"{useful(epsilon)} at δ = {exact(delta)}"


def exact(x: float) -> str:
    """The shortest decimal that reads back as x: for what a user typed.

    >>> exact(1e-5), exact(1.0), exact(1.2345678e-6)
    ('1e-05', '1', '1.2345678e-06')
    """
    return _text(x, 17, ROUND_CEILING)


def places(x: float, after: int = 4) -> str:
    """The least decimal with so many places that is not below x: a column of numbers. '1.0001' for 1.00001."""
    if not math.isfinite(x):
        return repr(x)
    return f"{Decimal(repr(float(x))).quantize(Decimal(1).scaleb(-after), ROUND_CEILING):f}"


def measured(
    value: float, low: float, high: float, *deviations: float, digits: int = 2, shift: int = 0
) -> tuple[str, ...]:
    """A measured number, the ends of its interval and its standard deviations, to two digits of half the interval's width.

    The ends are rounded outward, but not to 0, and deviations up. digits: one for those who read a sentence, not a table. shift: 2 for percentages.

    >>> measured(0.510812, 0.17463, 0.84671), measured(48211.7, 47950.2, 48480.9)
    (('0.51', '0.17', '0.85'), ('48,210', '47,950', '48,490'))
    >>> measured(-0.001, -0.11, 0.11)
    ('0.00', '-0.11', '0.11')
    >>> measured(-0.098, -0.197, -0.00047)
    ('-0.098', '-0.197', '-0.0004')
    >>> measured(0.835, 0.811, 0.8573, digits=1, shift=2)
    ('84', '81', '86')
    >>> measured(3932.99, -345.352, 6640.91, float("inf"))
    ('3,900', '-400', '6,700', 'inf')
    >>> measured(0.0, 0.0, 0.213, digits=1, shift=2)
    ('0', '0', '22')
    """
    half, largest = (high - low) / 2, max(abs(x) for x in (value, low, high))
    if not (1e-9 < half < math.inf and largest < 1e12):  # nothing is left out of a number without an error
        ends = down(low * 10**shift), up(high * 10**shift), *(up(x * 10**shift) for x in deviations)
        return f"{value * 10**shift:,.6g}", *map(_with_thousands, ends)
    unit = Decimal(1).scaleb(math.floor(math.log10(half)) - digits + 1)
    if shift:  # whole points of a percentage stay: 21.3 is not rounded up to 30
        unit = min(unit, Decimal(1).scaleb(-shift))
    modes = ((value, ROUND_HALF_EVEN), (low, ROUND_FLOOR), (high, ROUND_CEILING))
    rounded = [Decimal(repr(float(x))).quantize(unit, mode).scaleb(shift) + 0 for x, mode in modes]  # no -0
    if not shift and low > 0 and not rounded[1]:  # an end that is not 0 is not printed as 0
        rounded[1] = Decimal(down(low, 1))
    if not shift and high < 0 and not rounded[2]:
        rounded[2] = Decimal(up(high, 1))
    beside = [
        f"{Decimal(repr(float(x))).quantize(unit, ROUND_CEILING).scaleb(shift):,f}"
        if x < 1e12
        else up(x * 10**shift)
        for x in deviations
    ]  # one that is not known is infinite, or nearly so
    return (*(f"{x:,f}" for x in rounded), *beside)


def _with_thousands(written: str) -> str:
    """The same decimal with separators of thousands, where it has no exponent."""
    whole, point, rest = written.partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.isdecimal() and "e" not in rest else written


def measured_alone(x: float, digits: int = 3) -> str:
    """A measured number without an interval, as `measured` writes numbers: thousands are separated, and no exponent stands for them.

    >>> measured_alone(4011.3), measured_alone(0.0123456), measured_alone(9350.0, 4)
    ('4,010', '0.0123', '9,350')
    """
    if not (x and 1e-9 < abs(x) < 1e12):
        return f"{x:.{digits}g}"
    return f"{Context(prec=digits).create_decimal(repr(float(x))).normalize():,f}"


def separated(condition: str) -> str:
    """A condition as a person reads it: counts with separators of thousands. The words of a stored claim have none, and stay.

    >>> separated("at most 977 of the 39073 records miss 'y2024', sum is at least 0.12345 over 1000 records")
    "at most 977 of the 39,073 records miss 'y2024', sum is at least 0.12345 over 1,000 records"
    """
    parts = _QUOTED.split(condition)  # every second one is a name
    parts[::2] = [_COUNT.sub(lambda found: f"{int(found[0]):,}", part) for part in parts[::2]]
    return "".join(parts)


def plain(x: float | None) -> float | str | None:
    """A number as JSON can hold it: "inf" for infinity, null for what is not a number.

    >>> plain(0.5), plain(math.inf), plain(math.nan), plain(None)
    (0.5, 'inf', None, None)
    """
    if x is None or math.isnan(x):
        return None
    return x if math.isfinite(x) else repr(x)


def percent(share: float, digits: int = 3) -> str:
    """A share as the least percentage of so many significant digits that is not below it.

    >>> percent(0.07), percent(0.004), percent(0.12345)
    ('7%', '0.4%', '12.4%')
    """
    hundredfold = Decimal(repr(float(share))).scaleb(2)
    return f"{Context(prec=digits, rounding=ROUND_CEILING).create_decimal(hundredfold).normalize():f}%"


def _text(x: float, digits: int, rounding: str) -> str:
    if digits < 1:
        raise ValueError(f"digits must be at least 1; got {digits}")
    x = float(x)
    if not math.isfinite(x):
        return repr(x)
    if x == 0.0:
        return "0"
    number = Context(prec=digits, rounding=rounding).create_decimal(Decimal(repr(x)))
    sign, figures, exponent = number.as_tuple()
    assert isinstance(exponent, int)  # finite
    shown = "".join(map(str, figures)).rstrip("0")
    power = len(figures) + exponent - 1
    if -5 < power < digits:
        return ("-" if sign else "") + _plain(shown, power)
    point = shown[0] + ("." + shown[1:] if len(shown) > 1 else "")
    return f"{'-' if sign else ''}{point}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _plain(shown: str, power: int) -> str:
    """Figures d1 d2 ... times 10^power, without an exponent."""
    if power < 0:
        return "0." + "0" * (-power - 1) + shown
    whole, rest = shown[: power + 1].ljust(power + 1, "0"), shown[power + 1 :]
    return whole + ("." + rest if rest else "")
