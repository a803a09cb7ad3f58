"""What a guarantee keeps an attacker from, in plain sentences: computed from its trade-off function, rounded up."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from html import escape

from prepriv._rounding import UP
from prepriv.guarantees.families import approximate_dp, gaussian
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.printed import USELESS, down, epsilon_at, exact, percent, up
from prepriv.guarantees.tradeoff import TradeoffFunction

FALSE_ALARMS = 0.01
_NEARLY_ALWAYS = 0.99  # of guesses
AMOUNT = re.compile(r"(epsilon|delta|rho|mu\^2) ([0-9]+(?:\.[0-9]+)?)")
"""An amount as a ledger writes it."""
COVERED = "all that this claim covers"
"""What an attacker sees, where no page says what that is: other releases about the same people add to it."""


ONE_GUESSED = "one record (one unit, where units are counted)"
"""Whom a guess is about that an amount of a ledger bounds."""


def right_guesses(guarantee: Guarantee) -> float:
    """Give the largest chance of guessing right which of two equally likely neighbours was used: (1 + δ(0)) / 2.

    Parameters
    ----------
    guarantee : Guarantee
        What is claimed.

    Returns
    -------
    float
        Between 0.5 and 1.

    Notes
    -----
    The best test errs with probability min over α of (α + f(α)) / 2, and δ(0) = 1 - min over α of (α + f(α)) is the
    total variation (Dong, Roth and Su, Gaussian Differential Privacy, Proposition 2.12).

    Examples
    --------
    >>> from prepriv.guarantees.guarantee import GaussianEvent
    >>> round(right_guesses(Guarantee.of_gaussians([GaussianEvent("sum", 1.0)], "replace-one")), 4)
    0.6915
    """
    return min(1.0, math.nextafter((1.0 + guarantee.delta(0.0)) / 2.0, math.inf))


def true_alarms(guarantee: Guarantee, false_alarms: float = FALSE_ALARMS) -> float:
    """Give the largest rate of true alarms of a test with a given rate of false alarms: 1 - f(α).

    Parameters
    ----------
    guarantee : Guarantee
        What is claimed.
    false_alarms : float, default 0.01
        α, in [0, 1].

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For a rate outside [0, 1].

    Examples
    --------
    >>> from prepriv.guarantees.guarantee import GaussianEvent
    >>> round(true_alarms(Guarantee.of_gaussians([GaussianEvent("sum", 1.0)], "replace-one")), 4)
    0.0924
    """
    return min(1.0, math.nextafter(1.0 - float(guarantee.tradeoff(false_alarms)), math.inf))


def promise(guarantee: Guarantee, seen: str = COVERED) -> str:
    """State the claim in words that anyone can understand at first reading.

    Parameters
    ----------
    guarantee : Guarantee
        What is claimed.
    seen : str, default "all that this claim covers"
        What the attacker sees, which is all that the claim covers.

    Returns
    -------
    str
        The promise, for the best attacker, who considers both cases equally likely.

    Examples
    --------
    >>> from prepriv.guarantees.guarantee import GaussianEvent
    >>> print(promise(Guarantee.of_gaussians([GaussianEvent("sum", 4.0)], "replace-one")))
    Even someone who knows every other record and sees all that this claim covers can only guess which of two versions of one record was used. They are right at most 55 times in 100. A coin is right 50 times.
    """
    right = right_guesses(guarantee)
    others = "every other record" if guarantee.unit is None else f"the rows of every other `{guarantee.unit}`"
    return (
        f"Even someone who knows {others} and sees {seen} can only guess {_secret(guarantee)}. "
        f"They are right at most {percent(right)[:-1]} times in 100. A coin is right 50 times."
        f"{' So this promises next to nothing.' if _says_nothing(right) else ''}"
    )


def _secret(guarantee: Guarantee) -> str:
    """What the attacker wants to know."""
    whose = "one record" if guarantee.unit is None else f"all rows of one `{guarantee.unit}`"
    return {
        "replace-one": f"which of two versions of {whose} was used",
        "add-or-remove-one": f"whether {whose} {'was' if guarantee.unit is None else 'were'} there",
    }.get(guarantee.adjacency, f"which of two neighbours ({guarantee.adjacency}) was used")


def guesses_in_words(amounts: str, whose: str = ONE_GUESSED) -> str:
    """Say what a cap, or a sum, of a ledger allows: its amounts, and how often the best attacker guesses right.

    Parameters
    ----------
    amounts : str
        As a ledger writes them: "epsilon 2, delta 0.0001", "mu^2 0.25" or "rho 0.1".
    whose : str, optional
        What is guessed about. By default one record, or one unit, because a ledger does not hold what its runs count.

    Returns
    -------
    str
        The sentence, with amounts rounded up. For rho, the amounts alone, because it does not determine one curve. ""
        for words without amounts.

    Examples
    --------
    >>> guesses_in_words("epsilon 1.199999999, delta 0.000011")
    'at most epsilon 1.2 at delta 1.1e-05, and guesses about one record (one unit, where units are counted) are right at most 76.9 times in 100'
    """
    found, right = _amounts(amounts), right_at_most(amounts)
    if right is None:
        return f"at most rho {up(found['rho'], 4)}" if {*found} == {"rho"} else ""
    said = (
        f"at most {up(math.sqrt(found['mu^2']), 4)}-GDP"
        if "mu^2" in found
        else f"at most epsilon {up(found['epsilon'], 4)} at delta {up(found['delta'], 4)}"
    )
    nothing = ", which promises next to nothing" if _says_nothing(right) else ""
    return f"{said}, and guesses about {whose} are right at most {percent(right)[:-1]} times in 100{nothing}"


def _says_nothing(right: float) -> bool:
    """Whether so many right guesses are printed as all of them."""
    return percent(right) == "100%"


def right_at_most(amounts: str) -> float | None:
    """Bound the share of guesses of the best attacker that are right.

    Parameters
    ----------
    amounts : str
        As for `guesses_in_words`.

    Returns
    -------
    float or None
        Between 0.5 and 1. None for rho, because it does not determine one curve, and for words without amounts.

    Examples
    --------
    >>> round(right_at_most("mu^2 1"), 4)
    0.6915
    """
    curve = curve_of(amounts)
    if curve is not None:
        return _right(curve)
    return 1.0 if {*_amounts(amounts)} == {"epsilon", "delta"} else None


def curve_of(amounts: str) -> TradeoffFunction | None:
    """Give the trade-off function that amounts of a ledger mean, rounded down.

    Parameters
    ----------
    amounts : str
        As for `guesses_in_words`.

    Returns
    -------
    TradeoffFunction or None
        None for rho, which does not determine one curve, for words without amounts, and where the amounts allow everything.

    Examples
    --------
    >>> round(curve_of("mu^2 1").mu, 6)
    1.0
    """
    found = _amounts(amounts)
    if {*found} == {"epsilon", "delta"}:
        epsilon, delta = (math.nextafter(found[name], math.inf) for name in ("epsilon", "delta"))
        return None if delta >= 1 or epsilon >= USELESS else approximate_dp(epsilon, delta)
    return gaussian(math.sqrt(found["mu^2"]) * UP) if {*found} == {"mu^2"} else None


def hardly_limits(amounts: str) -> bool:
    """Tell whether a cap lets the best attacker be right nearly always: 99 times in 100 or more.

    Parameters
    ----------
    amounts : str
        As for `guesses_in_words`.

    Returns
    -------
    bool
        False for words without amounts. For rho, which does not determine one curve, whether a Gaussian mechanism of that rho
        lets it.

    Examples
    --------
    >>> hardly_limits("epsilon 6, delta 0.0001"), hardly_limits("epsilon 4, delta 0.00005"), hardly_limits("rho 12")
    (True, False, True)
    """
    right, rho = right_at_most(amounts), _amounts(amounts).get("rho")
    if right is None and rho is not None:
        right = _right(gaussian(math.sqrt(2 * rho)))  # one that the cap allows
    return (right or 0.0) >= _NEARLY_ALWAYS


def _amounts(amounts: str) -> dict[str, float]:
    return {name: float(amount) for name, amount in AMOUNT.findall(amounts)}


def _right(curve: TradeoffFunction) -> float:
    return right_guesses(Guarantee(curve, "replace-one"))


def rounded_amounts(amounts: str, *, left: bool = False) -> str:
    """Round amounts as a ledger writes them to four digits: up, or down if they are what is left.

    Parameters
    ----------
    amounts : str
        As for `guesses_in_words`.
    left : bool, default False
        Whether they are what is left.

    Returns
    -------
    str

    Examples
    --------
    >>> rounded_amounts("epsilon 1.199999999, delta 0.000011")
    'epsilon 1.2, delta 1.1e-05'
    """
    way = down if left else up
    return AMOUNT.sub(lambda found: f"{found[1]} {way(float(found[2]), 4)}", amounts)


def attacker(guarantee: Guarantee, seen: str = COVERED) -> tuple[str, str]:
    """Say what the best attacker can achieve: one sentence on guesses, one on alarms.

    Parameters
    ----------
    guarantee : Guarantee
        What is claimed.
    seen : str, default "all that this claim covers"
        What the attacker sees, which is all that the claim covers.

    Returns
    -------
    (str, str)

    Examples
    --------
    >>> from prepriv.guarantees.guarantee import GaussianEvent
    >>> len(attacker(Guarantee.of_gaussians([GaussianEvent("sum", 1.0)], "replace-one")))
    2
    """
    secret = _secret(guarantee)
    return (
        f"Suppose that someone knows all the data except {secret}, and that both seem equally likely to them. After "
        f"seeing {seen}, they guess right at most {percent(right_guesses(guarantee))} of the "
        "time, instead of 50%.",
        f"A test that raises a false alarm in {percent(FALSE_ALARMS)} of all cases raises a true one in at most "
        f"{percent(true_alarms(guarantee))}.",
    )


def delta_in_words(delta: float, n: int, whose: str = "record") -> str:
    """Say what δ is, beside one in the number of records.

    Parameters
    ----------
    delta : float
        The delta of a claim.
    n : int
        The declared number of records.
    whose : str, default "record"
        What is counted.

    Returns
    -------
    str
        "" for δ = 0.

    Examples
    --------
    >>> delta_in_words(1e-5, 18437).split(". ")[0]
    'δ = 1e-05 is what ε leaves out: an outcome may be likelier than ε allows by 1 in 100,000'
    """
    if delta <= 0:
        return ""
    one_in = int(1 / Decimal(repr(delta)))
    beside = "smaller" if delta * n < 1 else "NOT smaller"
    return (
        f"δ = {exact(delta)} is what ε leaves out: an outcome may be likelier than ε allows by 1 in {one_in:,}. Publishing one whole "
        f"{whose} at random would need δ = 1/n, which is 1 in {n:,}. This δ is {beside}."
    )


def short(guarantee: Guarantee | None, delta: float) -> str:
    """State the claim in one line, ε first.

    Parameters
    ----------
    guarantee : Guarantee or None
        What is claimed; None: nothing.
    delta : float
        The delta at which ε is computed.

    Returns
    -------
    str

    Examples
    --------
    >>> from prepriv.guarantees.guarantee import GaussianEvent
    >>> short(Guarantee.of_gaussians([GaussianEvent("sum", 4.0)], "replace-one"), 1e-5)
    'ε = 0.9264 at δ = 1e-05; 0.2501-GDP, replace-one'
    """
    if guarantee is None:
        return "no privacy is claimed"
    return f"{epsilon_at(guarantee.epsilon(delta), delta)}; {guarantee.stated}"


def claim_in_html(guarantee: Guarantee | None, delta: float, title: str) -> str:
    """State the claim for a notebook: in one line, then in words.

    Parameters
    ----------
    guarantee : Guarantee or None
        What is claimed; None: nothing.
    delta : float
        The delta at which ε is computed.
    title : str
        The name of the object that makes the claim.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> claim_in_html(None, 1e-5, "Model").startswith("<")
    True
    """
    words = "".join(f"<br>{escape(s)}" for s in attacker(guarantee)) if guarantee is not None else ""
    return f"<p><b>{escape(title)}: {escape(short(guarantee, delta))}</b>{words}</p>"
