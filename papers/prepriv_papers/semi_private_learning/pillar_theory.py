"""What How to Make Semi-Private Learning Effective proves about PILLAR, with the constants it gives, and what its proofs give when they are mended.

gamma: margin of the best halfspace w* (rows and w* of norm one). xi_k = 1 - norm(A_k^T w*), A_k the top k
directions. Delta_k: gap between the k-th and the next eigenvalue of the second moment. Utility only: privacy
rests on none of it. Proofs and errata: docs/proofs/pillar.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.mechanisms.noise import NoiseSource


def _check(name: str, value: float, low: float, high: float) -> float:
    if not (math.isfinite(value) and low <= value <= high):
        raise ValueError(f"{name} must lie in [{low:g}, {high:g}]; got {value}")
    return float(value)


def _positive(name: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a finite positive number; got {value}")
    return float(value)


def paper_zeta(gamma: float, xi: float, *, eta: float = 0.0, gap: float = 1.0) -> float:
    """Theorems 1 to 3 as printed: gamma (1 - xi - gamma/10 - 7 eta/gap). Not a margin: see `projected_margin`."""
    gamma, xi = _check("gamma", gamma, 0, 1), _check("xi", xi, 0, 1)
    return gamma * (1 - xi - gamma / 10 - 7 * _check("eta", eta, 0, 1) / _positive("gap", gap))


def projected_margin(gamma: float, xi: float, error: float = 0.0) -> float:
    """A margin every row keeps after projection: cos(arccos gamma + arcsin s), s = sqrt(1-(1-xi)^2) + error.

    error: spectral distance of the projector used from that of the population. May be negative: no margin is
    promised then. The paper's gamma (1 - xi - error) drops the part of P w* that is orthogonal to w*, which a row
    can meet with either sign; this bound is attained (docs/proofs/pillar.md).
    """
    gamma, xi = _check("gamma", gamma, 0, 1), _check("xi", xi, 0, 1)
    sine = min(1.0, math.sqrt(1 - (1 - xi) ** 2) + _check("error", error, 0, 1))
    return gamma * math.sqrt(1 - sine**2) - math.sqrt(1 - gamma**2) * sine


def unlabelled_size(gamma: float, gap: float, beta: float, *, error: float | None = None) -> int:
    """Public rows with which the empirical projector is within `error` (gamma/10) with probability 1 - beta/2.

    16 (1 + sqrt(log(2/beta)/2))^2 / (error gap)^2: equation (4), 1600 in place of 16 for gamma/10. Zero-mean rows
    of norm at most 1.
    """
    gap, beta = _positive("gap", gap), _check("beta", beta, 1e-300, 1)
    error = _positive("gamma", gamma) / 10 if error is None else _positive("error", error)
    root = 4 * (1 + math.sqrt(math.log(2 / beta) / 2)) / (min(error, 1.0) * gap)
    return math.ceil(root**2)


def labelled_order(k: int, alpha: float, epsilon: float, zeta: float) -> float:
    """sqrt(k) / (alpha epsilon zeta): the labelled size of Theorems 1 to 3 without the logarithms and the constant
    that the paper hides in its O~. Compare sizes with it; it promises none."""
    for name, value in (("k", k), ("alpha", alpha), ("epsilon", epsilon), ("zeta", zeta)):
        _positive(name, value)
    return math.sqrt(k) / (alpha * epsilon * zeta)


def generalisation_size(k: int, alpha: float, beta: float) -> int:
    """Labelled rows with which no halfspace in k dimensions errs by more than twice its training error + alpha/2,
    with probability 1 - beta/4: 4 ((2n)^(k+1) + 1) exp(-alpha n/16) <= beta/4 (Lemma 6 with its zeta = 1)."""
    k, alpha, beta = int(_positive("k", k)), _check("alpha", alpha, 1e-12, 1), _check("beta", beta, 1e-300, 1)

    def enough(n: int) -> bool:
        growth = np.logaddexp(0.0, (k + 1) * math.log(2 * n))
        return bool(math.log(16 / beta) + growth <= alpha * n / 16)

    low = max(1, math.floor(16 * (k + 1) / alpha))  # the left side over the right falls from here on
    high = low
    while not enough(high):
        high *= 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def paper_tolerance(gamma: float, xi: float, gap: float) -> float:
    """The total variation at which Theorem 3's zeta, as printed, reaches 0: gap (1 - xi - gamma/10) / 7."""
    return max(0.0, _positive("gap", gap) * paper_zeta(gamma, xi) / (7 * _positive("gamma", gamma)))


def tolerance(gamma: float, xi: float, gap: float, *, error: float | None = None) -> float:
    """Total variation between public and private rows up to which a positive margin is proved; 0 if none is.

    Second moments of rows of norm at most 1 differ by at most eta (no third moment is needed), projectors by
    2 eta/gap if eta <= gap/4 (Lemma 2); so eta = gap/2 (sin(arccos... )): the sines may add up to gamma.
    error: of the empirical projector, by default gamma/10.
    """
    gamma, gap = _check("gamma", gamma, 0, 1), _positive("gap", gap)
    error = gamma / 10 if error is None else _check("error", error, 0, 1)
    room = gamma - math.sqrt(1 - (1 - _check("xi", xi, 0, 1)) ** 2) - error
    return max(0.0, min(gap / 2 * room, gap / 4))


# --------------------------------------------------------------------------------------------- estimators


@dataclass(frozen=True, eq=False)
class Estimate:
    """gamma: margin that the share `share` of the labelled public rows keeps. xi: (d,), xi_k for k = 1..d.
    gaps: (d,), Delta_k, the last one lambda_d. accuracy: of w* on the rows it was fitted on."""

    gamma: float
    xi: Floats
    gaps: Floats
    accuracy: float


def estimate(
    x: Floats, y: NDArray[np.bool_], *, share: float = 1.0, unlabelled: Floats | None = None
) -> Estimate:
    """gamma, xi_k and Delta_k of PUBLIC labelled rows x (n, d) and classes y (n,), as in the paper's appendix A.

    w* is a linear SVM through the origin on rows of norm one; directions are those of `unlabelled` rows, or of x.
    For public data only: the result is not private.
    """
    from sklearn.svm import LinearSVC

    x, y = _unit(np.asarray(x, dtype=np.float64)), np.asarray(y, dtype=bool)
    if x.ndim != 2 or len(x) != len(y) or not (0 < y.sum() < len(y)):
        raise ValueError("x must be (n, d), and y (n,) must hold both classes")
    w = LinearSVC(dual=False, fit_intercept=False, C=100.0, max_iter=5000).fit(x, y).coef_[0]
    w = w / np.linalg.norm(w)
    margins = (x @ w) * np.where(y, 1.0, -1.0)
    rows = x if unlabelled is None else _unit(np.asarray(unlabelled, dtype=np.float64))
    values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
    return Estimate(
        gamma=float(np.quantile(margins, 1 - _check("share", share, 0, 1), method="lower")),
        xi=xi_of(w, vectors[:, ::-1]),
        gaps=-np.diff(np.append(np.maximum(values[::-1], 0.0), 0.0)),
        accuracy=float((margins > 0).mean()),
    )


def xi_of(w: Floats, directions: Floats) -> Floats:
    """xi_k = 1 - norm(A_k^T w)/norm(w), (d,), for the first k of orthonormal directions (d, d), k = 1..d."""
    captured = np.sqrt(np.cumsum((directions.T @ w) ** 2)) / np.linalg.norm(w)
    return np.asarray(np.clip(1 - captured, 0.0, 1.0))


def _unit(x: Floats) -> Floats:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-300))


# -------------------------------------------------------------------------------------- Gaussian mixtures


@dataclass(frozen=True)
class GaussianMixture:
    """Definition 5: y = +1 or -1 with equal chance, X | y normal with mean mu y, covariance theta w w^T + sigma2 I.

    mu = first, w = second axis, both of norm one; d >= 2. The class is told by mu: the best halfspace is mu
    itself, and k = 1 direction holds it (the paper calls w, which is orthogonal to mu, the separator).
    """

    d: int
    theta: float
    sigma2: float

    def __post_init__(self) -> None:
        if isinstance(self.d, bool) or int(self.d) != self.d or self.d < 2:
            raise ValueError(f"d must be a whole number >= 2; got {self.d}")
        _check("theta", self.theta, 0, 1e6)
        _positive("sigma2", self.sigma2)

    def draw(self, n: int, source: NoiseSource) -> tuple[Floats, NDArray[np.int64]]:
        """n rows (n, d) and classes 0 or 1, (n,)."""
        from scipy.special import ndtri

        y = source.uniform_below(2, n)
        bits = 2**50
        x: Floats = ndtri((source.uniform_below(bits, n * self.d) + 0.5) / bits).reshape(n, self.d)
        x *= math.sqrt(self.sigma2)
        x[:, 1] *= math.sqrt((self.sigma2 + self.theta) / self.sigma2)
        x[:, 0] += 2.0 * y - 1.0
        return x, y

    def reach(self, n: int, beta: float) -> float:
        """How far from its mean one of n rows lies at most, with probability 1 - beta (Lemma 7, mended: square
        roots of the variances): sqrt(sigma2) (sqrt d + t) + sqrt(theta) t, t = sqrt(2 log(2n/beta))."""
        t = math.sqrt(2 * math.log(2 * _positive("n", n) / _check("beta", beta, 1e-300, 1)))
        return math.sqrt(self.sigma2) * (math.sqrt(self.d) + t) + math.sqrt(self.theta) * t

    def paper_reach(self, n: int, beta: float) -> float:
        """Corollary 6 as printed: (4 sqrt d + 2 sqrt(log(2n/beta))) (sigma2 + theta); too small where these are."""
        return (4 * math.sqrt(self.d) + 2 * math.sqrt(math.log(2 * n / beta))) * (self.sigma2 + self.theta)

    def paper_margin(self, n: int, beta: float) -> tuple[float, float]:
        """(gamma, L) of Corollary 6: 1 - reach and 1 + reach."""
        reach = self.paper_reach(n, beta)
        return 1 - reach, 1 + reach

    def paper_sizes(
        self, n: int, alpha: float, beta: float, epsilon: float, k: int = 2
    ) -> tuple[float, float]:
        """(unlabelled, labelled) of Corollaries 5 (k = 1) and 6, without the hidden constants and logarithms:
        log(2/beta)/(gamma theta)^2 and L sqrt(k)/(alpha epsilon gamma (1 - gamma/10)). ValueError: no margin."""
        gamma, length = self.paper_margin(n, beta)
        if gamma <= 0 or self.theta <= 0:
            raise ValueError("theta and sigma2 leave no margin, or theta is 0")
        unlabelled = math.log(2 / beta) / (gamma * self.theta) ** 2
        return unlabelled, length * math.sqrt(k) / (alpha * epsilon * gamma * (1 - gamma / 10))
