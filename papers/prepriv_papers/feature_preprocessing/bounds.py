"""What The Importance of Feature Preprocessing proves about utility: Lemma 1, Theorems 1 to 3, with the constants of its proofs.

No guarantee rests on any of it. theta_norm is the norm of the least minimiser (w, b), rank that of the rows (x, 1),
lipschitz the constant G of the loss, at_zero its value phi(0). Errata: docs/errata.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtr


@dataclass(frozen=True)
class Problem:
    """A data set and a loss, as far as the bounds look at them. norm R and diameter are of the features x, (n, d)."""

    n: int
    norm: float
    diameter: float
    rank: int
    theta_norm: float
    lipschitz: float = 1.0
    at_zero: float = 1.0

    def __post_init__(self) -> None:
        if self.n < 2 or self.rank < 1:
            raise ValueError(f"n must be at least 2 and rank at least 1; got {self.n} and {self.rank}")
        for name in ("norm", "diameter", "theta_norm", "lipschitz", "at_zero"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be finite and at least 0; got {value}")


def _budget(epsilon: float, delta: float) -> None:
    if not (math.isfinite(epsilon) and epsilon > 0 and 0 < delta < 1):
        raise ValueError(f"epsilon must be positive and delta inside (0, 1); got {epsilon:g} and {delta:g}")


def two_cluster_problem(n: int, mu: float) -> Problem:
    """Section 4: rows (mu, 1) and (mu, -1), hinge loss; w = (0, 1) loses nothing. (x, 1) has rank 2."""
    return Problem(n, math.hypot(mu, 1.0), 2.0, 2, 1.0)


def lemma_1(p: Problem, epsilon: float, delta: float, *, mended: bool = True) -> float:
    """Excess loss of DPSGD at most: 2 G theta R sqrt(rank log(1/delta)) / (n epsilon).

    Gradients of a loss with a bias have norm G sqrt(R^2 + 1), as the text below the lemma says; the printed R
    promises perfect learning where all features are zero. mended: sqrt(R^2 + 1) for R.

    >>> round(lemma_1(two_cluster_problem(4000, 10.0), 1.0, 1e-5), 4)
    0.0242
    """
    _budget(epsilon, delta)
    reach = math.hypot(p.norm, 1.0) if mended else p.norm
    root = math.sqrt(p.rank * math.log(1 / delta))
    return 2 * p.lipschitz * p.theta_norm * reach * root / (p.n * epsilon)


def theorem_1(p: Problem, epsilon: float, delta: float) -> float:
    """Excess loss of DPSGD-F at most, with the constants of its proof (Appendix B.5).

    60 sqrt2 G theta (diam + R/n^2) sqrt(rank log(3/delta))/(n epsilon) for descent, 500 G theta log n
    (2 diam + 2R/n^2)/(n epsilon) for rows that are clipped, 125 phi(0) log n/(n epsilon) on the way back. Above
    phi(0) it says nothing: zero weights lose no more.

    >>> theorem_1(two_cluster_problem(4000, 1e4), 1.0, 1e-5) > 1.0 > theorem_1(two_cluster_problem(10**6, 1e4), 1.0, 1e-5)
    True
    """
    _budget(epsilon, delta)
    rest, logarithm = p.norm / p.n**2, math.log(p.n)
    descent = 60 * math.sqrt(2) * (p.diameter + rest) * math.sqrt(p.rank * math.log(3 / delta))
    clipped = 500 * logarithm * (2 * p.diameter + 2 * rest)
    scale = p.lipschitz * p.theta_norm
    return (scale * (descent + clipped) + 125 * logarithm * p.at_zero) / (p.n * epsilon)


def theorem_2_order(p: Problem, epsilon: float) -> float:
    """What no algorithm beats on some data set of this size, up to a constant that the paper hides.

    G diam min(1, theta sqrt(rank)/(n epsilon)). Compare sizes with it; it bounds none.
    """
    _budget(epsilon, 0.5)
    error = p.theta_norm * math.sqrt(p.rank) / (p.n * epsilon)
    return p.lipschitz * p.diameter * min(1.0, error)


def theorem_3(
    n: int, mu: float, epsilon: float, delta: float, *, steps: int = 1, noise: float | None = None
) -> float:
    """Excess loss of DPSGD on the worse of the two cluster data sets at least, whatever rate and clip.

    Phi(-m/s): from a start that is right for neither, the mean iterate's second weight is at most a multiple of a
    Gaussian of mean m = C/sqrt(mu^2 + 1) and deviation s = sigma sqrt(2 (2T + 1)/(3 T (T + 1))), so it is negative
    at least that often (Lemmas 2 and 8; the appendix prints the inequality the wrong way round). For a random start:
    half of it. noise: sigma/C of one averaged gradient; None: that of Algorithm 1.

    >>> round(theorem_3(4000, 4000.0, 1.0, 1e-5), 3)
    0.459
    """
    _budget(epsilon, delta)
    if n < 1 or steps < 1 or not (math.isfinite(mu) and mu >= 0):
        raise ValueError(f"n and steps must be at least 1 and mu finite; got {n}, {steps} and {mu}")
    sigma = algorithm_1_noise(n, steps, epsilon, delta) if noise is None else noise
    deviation = sigma * math.sqrt(2 * (2 * steps + 1) / (3 * steps * (steps + 1)))
    return float(ndtr(-1 / (math.hypot(mu, 1.0) * deviation))) if deviation > 0 else 0.0


def algorithm_1_noise(n: int, steps: int, epsilon: float, delta: float) -> float:
    """sigma/C of Algorithm 1: sqrt(8 T log(1/delta))/(n epsilon), of an averaged gradient."""
    _budget(epsilon, delta)
    return math.sqrt(8 * steps * math.log(1 / delta)) / (n * epsilon)
