"""What a guarantee keeps an attacker from, in plain sentences: computed from its trade-off function, rounded up."""

from __future__ import annotations

import math
from html import escape

from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.printed import exact, percent, useful

FALSE_ALARMS = 0.01


def right_guesses(guarantee: Guarantee) -> float:
    """Give the largest chance to guess right which of two neighbours, each as likely, was used: (1 + δ(0)) / 2.

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
    """Give the largest rate of true alarms of a test with a given rate of false ones, 1 - f(α).

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


def promise(guarantee: Guarantee) -> str:
    """Say the claim so that anyone reads it once.

    Parameters
    ----------
    guarantee : Guarantee
        What is claimed.

    Returns
    -------
    str
        As of the best attacker, who considers both cases equally likely.

    Examples
    --------
    >>> from prepriv.guarantees.guarantee import GaussianEvent
    >>> print(promise(Guarantee.of_gaussians([GaussianEvent("sum", 4.0)], "replace-one")))
    Even someone who knows every other record and sees all that was released can only guess which of two versions of one record was used. They are right at most 55 times in 100. A coin is right 50 times.
    """
    others = "every other record" if guarantee.unit is None else f"the rows of every other `{guarantee.unit}`"
    return (
        f"Even someone who knows {others} and sees all that was released can only guess {_secret(guarantee)}. "
        f"They are right at most {percent(right_guesses(guarantee))[:-1]} times in 100. A coin is right 50 times."
    )


def _secret(guarantee: Guarantee) -> str:
    """What the attacker wants to know."""
    whose = "one record" if guarantee.unit is None else f"all rows of one `{guarantee.unit}`"
    return {
        "replace-one": f"which of two versions of {whose} was used",
        "add-or-remove-one": f"whether {whose} {'was' if guarantee.unit is None else 'were'} there",
    }.get(guarantee.adjacency, f"which of two neighbours ({guarantee.adjacency}) was used")


def attacker(guarantee: Guarantee) -> tuple[str, str]:
    """Say what the best attacker reaches: one sentence on guesses, one on alarms.

    Parameters
    ----------
    guarantee : Guarantee
        What is claimed.

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
        f"seeing everything that was released, they guess right at most {percent(right_guesses(guarantee))} of the "
        "time, instead of 50%.",
        f"A test that raises a false alarm in {percent(FALSE_ALARMS)} of all cases raises a true one in at most "
        f"{percent(true_alarms(guarantee))}.",
    )


def short(guarantee: Guarantee | None, delta: float) -> str:
    """Say the claim in one line, ε first.

    Parameters
    ----------
    guarantee : Guarantee or None
        What is claimed; None: nothing.
    delta : float
        Where ε is computed.

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
    return f"{useful(guarantee.epsilon(delta))} at δ = {exact(delta)}; {guarantee}"


def claim_in_html(guarantee: Guarantee | None, delta: float, title: str) -> str:
    """Say the claim for a notebook: in one line, then in words.

    Parameters
    ----------
    guarantee : Guarantee or None
        What is claimed; None: nothing.
    delta : float
        Where ε is computed.
    title : str
        Of the object that makes it.

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
