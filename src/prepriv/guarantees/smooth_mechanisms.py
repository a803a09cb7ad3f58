"""The mechanisms of Table 1 of Provable Privacy with Non-Private Pre-Processing, each with its RDP and its smooth RDP.

Curves of the paper's Table 1 with the errors taken out. Proofs and errata: docs/proofs/smooth_renyi.md.
"""

from __future__ import annotations

import math

import numpy as np

from prepriv._arguments import integer, number
from prepriv.guarantees.lines import ULP
from prepriv.guarantees.renyi import RenyiCurve, bounded_range_renyi, pure_renyi, zcdp
from prepriv.guarantees.smooth_renyi import SmoothMechanism, SmoothRenyiCurve


def _quadratic(per_unit: float, rounding: float = 0.0) -> SmoothRenyiCurve:
    # shift tau moves a Gaussian mean by per_unit * tau + rounding standard deviations
    return SmoothRenyiCurve(lambda shift: zcdp(0.5 * (per_unit * shift + rounding) ** 2 * (1.0 + 16.0 * ULP)))


def gaussian_mechanism(epsilon: float, *, lipschitz: float, sensitivity: float) -> SmoothMechanism:
    """Smooth RDP of the Gaussian mechanism on a statistic of rows.

    Parameters
    ----------
    epsilon : float
        At least 0; the noise is N(0, (sensitivity/epsilon)^2).
    lipschitz : float
        Lipschitz constant of the statistic in the rows: it moves by at most this per unit of total shift.
    sensitivity : float
        How far the statistic moves if one record is replaced, above 0.

    Returns
    -------
    SmoothMechanism
        RDP and smooth RDP.

    Raises
    ------
    ValueError
        For a number out of range.

    Notes
    -----
    Theorem 10: order eps^2/2, and order (L tau eps / sensitivity)^2 / 2. Proof: docs/proofs/smooth_renyi.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> made = g.gaussian_mechanism(0.5, lipschitz=1.0, sensitivity=1.0)
    >>> round(made.renyi(2.0), 6), round(made.smooth(2.0, 0.1), 6)
    (0.25, 0.0025)
    """
    e, rate = number("epsilon", epsilon, at_least=0.0), _rate(lipschitz, sensitivity)
    return SmoothMechanism(zcdp(0.5 * e * e * (1.0 + 4.0 * ULP)), _quadratic(e * rate))


def laplace_mechanism(epsilon: float, *, lipschitz: float, sensitivity: float) -> SmoothMechanism:
    """Smooth RDP of the Laplace mechanism on a statistic of rows.

    Parameters
    ----------
    epsilon : float
        At least 0; the noise is Laplace of scale sensitivity/epsilon.
    lipschitz : float
        Lipschitz constant of the statistic in the rows: it moves by at most this per unit of total shift.
    sensitivity : float
        How far the statistic moves if one record is replaced, above 0.

    Returns
    -------
    SmoothMechanism
        RDP and smooth RDP.

    Raises
    ------
    ValueError
        For a number out of range.

    Notes
    -----
    Theorem 11: pure eps, and pure L tau eps / sensitivity. Proof: docs/proofs/smooth_renyi.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> made = g.laplace_mechanism(0.5, lipschitz=1.0, sensitivity=1.0)
    >>> round(made.smooth(float("inf"), 0.1), 6)
    0.05
    """
    e, rate = number("epsilon", epsilon, at_least=0.0), _rate(lipschitz, sensitivity)
    return SmoothMechanism(pure_renyi(e), SmoothRenyiCurve(lambda shift: pure_renyi(e * rate * shift)))


def exponential_mechanism(epsilon: float, *, lipschitz: float, sensitivity: float) -> SmoothMechanism:
    """Smooth RDP of the exponential mechanism with a score of rows.

    Parameters
    ----------
    epsilon : float
        At least 0. The output is drawn with weights exp(epsilon Q/(2 sensitivity)), where Q is the score.
    lipschitz : float
        Lipschitz constant of the score in the rows: the score moves by at most this per unit of total shift.
    sensitivity : float
        How far the score moves if one record is replaced, above 0.

    Returns
    -------
    SmoothMechanism
        RDP and smooth RDP.

    Raises
    ------
    ValueError
        For a number out of range.

    Notes
    -----
    Theorem 12, by the bounded range of the mechanism: eps, and L tau eps / sensitivity. Proof: docs/proofs/smooth_renyi.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> made = g.exponential_mechanism(0.5, lipschitz=1.0, sensitivity=1.0)
    >>> made.smooth(2.0, 0.1) < made.renyi(2.0) < 0.5
    True
    """
    e, rate = number("epsilon", epsilon, at_least=0.0), _rate(lipschitz, sensitivity)
    return SmoothMechanism(
        bounded_range_renyi(e), SmoothRenyiCurve(lambda shift: bounded_range_renyi(e * rate * shift))
    )


def full_batch_gradient(
    *, lipschitz: float, smoothness: float, noise: float, n: int, steps: int, rounding: float = 0.0
) -> SmoothMechanism:
    """Smooth RDP of full-batch gradient descent with noise on the mean gradient.

    Parameters
    ----------
    lipschitz : float
        L, a bound on the norm of a record's gradient.
    smoothness : float
        mu: how far a record's gradient moves when its row moves by one unit.
    noise : float
        Deviation of the noise on the *mean* gradient, above 0.
    n : int
        Number of records.
    steps : int
        T, iterations.
    rounding : float, optional
        What the number grid of an implementation adds to the shift mu tau of the *sum*. 0 for real numbers.

    Returns
    -------
    SmoothMechanism
        RDP and smooth RDP.

    Raises
    ------
    ValueError
        For a number out of range.

    Notes
    -----
    m = 2L sqrt(T)/(n noise) for a replaced record and mu tau sqrt(T)/(n noise) for a shift; order
    m^2/2 each. (The paper's Theorem 13 has a quarter of the first; its Table 1 is right.) Proof:
    docs/proofs/smooth_renyi.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> made = g.full_batch_gradient(lipschitz=1.0, smoothness=1.0, noise=0.1, n=1000, steps=100)
    >>> round(made.renyi(2.0), 6), round(made.smooth(2.0, 5.0), 6)
    (0.04, 0.25)
    """
    bound, mu = number("lipschitz", lipschitz, at_least=0.0), number("smoothness", smoothness, at_least=0.0)
    unit = math.sqrt(integer("steps", steps)) / (integer("n", n) * number("noise", noise, above=0.0))
    added = number("rounding", rounding, at_least=0.0)
    return SmoothMechanism(
        zcdp(0.5 * (2.0 * bound * unit) ** 2 * (1.0 + 16.0 * ULP)), _quadratic(mu * unit, added * unit)
    )


def sampled_gradient(
    *,
    lipschitz: float,
    smoothness: float,
    noise: float,
    n: int,
    batch: int,
    steps: int,
    row_shift: float,
    rounding: float = 0.0,
) -> SmoothMechanism:
    """Smooth RDP of descent on batches drawn without replacement, with noise on the sum over a batch.

    Parameters
    ----------
    lipschitz : float
        L, a bound on the norm of a record's gradient.
    smoothness : float
        mu: how far a record's gradient moves when its row moves by one unit.
    noise : float
        Deviation of the noise on the *sum* over a batch, above 0.
    n : int
        Number of records. One of them is replaced.
    batch : int
        Records in a batch, at most n.
    steps : int
        T, batches.
    row_shift : float
        How far one row moves at most.
    rounding : float, optional
        What the number grid of an implementation adds to the shift of a batch, for all its rows together. 0 for real
        numbers.

    Returns
    -------
    SmoothMechanism
        RDP and smooth RDP.

    Raises
    ------
    ValueError
        For a number out of range.

    Notes
    -----
    RDP: amplification of Wang, Balle and Kasiviswanathan (2019), Theorem 9, for a Gaussian of shift
    2L/noise. Smooth RDP: couple the batches; at most min(batch * row_shift, tau) of shift is drawn.
    With row_shift = tau * gamma / n this is the paper's entry (Definition 7); its "Omega(.)" noise
    and gamma = 1 for PCA are not usable as printed. Proof: docs/proofs/smooth_renyi.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> made = g.sampled_gradient(lipschitz=1.0, smoothness=1.0, noise=20.0, n=1000, batch=100, steps=10, row_shift=0.01)
    >>> made.renyi(4.0) < 4 * 10 * (2 / 20) ** 2 / 2
    True
    """
    bound, mu = number("lipschitz", lipschitz, at_least=0.0), number("smoothness", smoothness, at_least=0.0)
    std, times = number("noise", noise, above=0.0), integer("steps", steps)
    size, drawn = integer("n", n), integer("batch", batch)
    if drawn > size:
        raise ValueError(f"batch must be at most n = {size}; got {drawn}")
    cap, added = number("row_shift", row_shift, at_least=0.0), number("rounding", rounding, at_least=0.0)
    base = zcdp(0.5 * (2.0 * bound / std) ** 2 * (1.0 + 8.0 * ULP))

    def smooth(shift: float) -> RenyiCurve:
        return zcdp(0.5 * times * ((mu * min(drawn * cap, shift) + added) / std) ** 2 * (1.0 + 16.0 * ULP))

    return SmoothMechanism(
        subsampled_without_replacement(base, drawn / size).compose(times), SmoothRenyiCurve(smooth)
    )


def one_pass_gradient(
    *, lipschitz: float, smoothness: float, noise: float, last: int, row_shift: float = math.inf
) -> SmoothMechanism:
    """Smooth RDP of one pass over the records, stopped at a step drawn from {1, ..., last}.

    Parameters
    ----------
    lipschitz : float
        L, a bound on the norm of a record's gradient.
    smoothness : float
        mu: how far a record's gradient moves when its row moves by one unit.
    noise : float
        Deviation of the noise on each gradient, above 0.
    last : int
        The latest step at which the run can stop.
    row_shift : float, optional
        How far one row moves at most.

    Returns
    -------
    SmoothMechanism
        RDP and smooth RDP.

    Raises
    ------
    ValueError
        For a number out of range.

    Notes
    -----
    Convex losses, steps at most 2/beta (each update then does not expand). A record of gradient shift
    g met m - 1 steps before the stop costs order g^2/(2 noise^2 m) (Feldman et al. 2018, Theorem 22);
    averaging e^{(order-1) D} over the stop bounds the divergence, with g = 2L for a replaced record
    and, by convexity, g = mu tau for any moved records wherever they are. row_shift, if finite, also
    bounds the smooth part by order mu^2 row_shift tau / (2 noise^2). Replaces the paper's Lemma 4,
    which is false, and its missing eps^2. Proof: docs/proofs/smooth_renyi.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> made = g.one_pass_gradient(lipschitz=1.0, smoothness=1.0, noise=20.0, last=500)
    >>> made.renyi(2.0) < 2 * (2 / 20) ** 2 / 2
    True
    """
    bound, mu = number("lipschitz", lipschitz, at_least=0.0), number("smoothness", smoothness, at_least=0.0)
    std, steps = number("noise", noise, above=0.0), integer("last", last)
    cap = math.inf if row_shift == math.inf else number("row_shift", row_shift, at_least=0.0)

    def smooth(shift: float) -> RenyiCurve:
        spread = random_stop_renyi(mu * shift / std, steps)
        if math.isinf(cap):
            return spread
        capped = 0.5 * mu * mu * min(cap, shift) * shift / (std * std) * (1.0 + 16.0 * ULP)
        return RenyiCurve(lambda order: min(spread.function(order), capped * order if capped else 0.0))

    return SmoothMechanism(random_stop_renyi(2.0 * bound / std, steps), SmoothRenyiCurve(smooth))


def random_stop_renyi(shift: float, last: int) -> RenyiCurve:
    """log of the mean over m = 1..last of exp(a (a-1) shift^2 / (2m)), over (a - 1)."""
    size, steps = number("shift", shift, at_least=0.0), integer("last", last)
    starts, counts = _blocks(steps)

    def curve(order: float) -> float:
        if size == 0.0:
            return 0.0
        if math.isinf(order):
            return math.inf
        exponents = 0.5 * order * (order - 1.0) * size * size / starts * (1.0 + 8.0 * ULP)
        top = float(exponents[0])
        if top < 1.0:
            mean = math.fsum(counts * np.expm1(exponents)) / steps
            value = math.log1p(mean)
        else:
            value = top + math.log(math.fsum(counts * np.exp(exponents - top)) / steps)
        return (value + 64.0 * ULP * (1.0 + top) * min(1.0, top)) / (order - 1.0)

    return RenyiCurve(curve)


def subsampled_without_replacement(base: RenyiCurve, rate: float) -> RenyiCurve:
    """RDP of a mechanism on a batch of a fixed fraction `rate` of the records, replace-one.

    Theorem 9 of Wang, Balle and Kasiviswanathan (2019) at whole orders; between them (order - 1)
    times the divergence is convex, hence below its chord.
    """
    q = number("rate", rate, at_least=0.0, at_most=1.0)

    def log_moment(order: int) -> float:
        if order == 1 or q == 0.0:
            return 0.0
        plain = (order - 1.0) * base.function(float(order))
        two = base.function(2.0)
        factor = min(math.log(4.0) + _log_expm1(two), math.log(2.0) + two)
        logs = [0.0, 2.0 * math.log(q) + math.log(math.comb(order, 2)) + factor]
        for j in range(3, order + 1):
            choose = math.lgamma(order + 1) - math.lgamma(j + 1) - math.lgamma(order - j + 1)
            logs.append(j * math.log(q) + choose + math.log(2.0) + (j - 1.0) * base.function(float(j)))
        total = float(np.logaddexp.reduce(logs))
        return min(plain, total + 1e-13 * (1.0 + order + abs(total)))

    def curve(order: float) -> float:
        if math.isinf(order) or order > 4096.0:
            return base.function(order)
        low = math.floor(order)
        part = order - low
        value = log_moment(low) * (1.0 - part) + (log_moment(low + 1) * part if part > 0.0 else 0.0)
        return min(value / (order - 1.0) * (1.0 + 8.0 * ULP), base.function(order))

    return RenyiCurve(curve)


# ---- helpers ---------------------------------------------------------------------------------------
def _rate(lipschitz: float, sensitivity: float) -> float:
    return number("lipschitz", lipschitz, at_least=0.0) / number("sensitivity", sensitivity, above=0.0)


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x)) if x > 0.0 else -math.inf


def _blocks(steps: int) -> tuple[np.ndarray, np.ndarray]:
    # m = 1..steps in blocks, each read at its smallest m (where the summand is largest)
    exact = min(steps, 4096)
    far = np.floor(np.geomspace(exact, steps, 4096))
    edges = np.unique(np.concatenate([np.arange(1.0, exact + 1.0), far]))
    edges = edges[edges <= steps]
    return edges, np.diff(np.append(edges, steps + 1.0))
