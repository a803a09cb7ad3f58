"""Amplification by random initialisation: one noisy full-batch gradient step from a random start.

theta_1 = I - g(I, D) + N(0, noise_std^2) with I drawn without looking at the data. Given I the pair is
Gaussian with shift mu_I = |g(I, D1) - g(I, D0)| / noise_std, and delta(eps) = E delta_GDP(mu_I; eps)
bounds the release of (theta_1, I) (Theorem 5.1 of Unified Enhancement of Privacy Bounds in its dual form). The expectation is
bounded cell by cell: delta_GDP is convex in mu up to sqrt(2 eps) and concave beyond.
Proof and corrections of the paper: docs/proofs/random_initialization.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr

from prepriv._arguments import number
from prepriv._arrays import Floats
from prepriv._rounding import DOWN, UP
from prepriv.adjacency import Adjacency, n_is_public
from prepriv.guarantees.gaussian import delta_upper
from prepriv.guarantees.printed import exact
from prepriv.guarantees.shuffling._clone_pair import DeltaBounds
from prepriv.guarantees.tradeoff import TradeoffFunction

_CLAIMS = ("instance", "bounded", "unrestricted")
_CELLS = 1536  # where the shift has its mass; gap of delta about 1e-7
_FAR_CELLS = 256  # beyond
_SLACK = 1e-11  # relative rounding of cell masses and means
_LARGEST = 1e150


@dataclass(frozen=True, eq=False)
class ShiftLaw:
    """A law of the shift mu in cells: mass (k,), left <= mean <= right (k,), all in units of the noise.

    beyond: mass above the last cell, where nothing is claimed.
    """

    mass: Floats
    left: Floats
    mean: Floats
    right: Floats
    beyond: float = 0.0


@dataclass(frozen=True)
class UnclippedShift:
    """mu = (base + |I|) / noise, or |base - I| / noise, I ~ N(0, 1): its Gaussian moments in closed form."""

    base: float
    noise: float
    added: bool

    def log_moment(self, rate: float) -> float:
        """log E e^{rate mu^2}, inf from rate = noise^2 / 2 on; for rate = 0 see `second`."""
        scaled = rate / (self.noise * self.noise)
        rest = 1.0 - 2.0 * scaled
        if rest <= 1e-12:
            return math.inf
        value = scaled * self.base * self.base / rest - 0.5 * math.log(rest)
        if self.added:
            value += math.log(2.0) + float(log_ndtr(2.0 * scaled * self.base / math.sqrt(rest)))
        return value + 1e-10 * (1.0 + abs(value))

    def second(self) -> float:
        """E mu^2."""
        cross = 2.0 * self.base * math.sqrt(2.0 / math.pi) if self.added else 0.0
        return (self.base * self.base + cross + 1.0) / (self.noise * self.noise) * UP


@dataclass(frozen=True, eq=False)
class RandomInitialization(TradeoffFunction):
    """A mixture of Gaussian pairs over the law of the shift; `claim` says for which data it holds."""

    law: ShiftLaw = field(repr=False)
    claim: str
    adjacency: str
    shift_limit: float = math.inf  # the shift never exceeds it
    line_budget: ClassVar[int] = 512
    unclipped: UnclippedShift | None = None  # a law above that of the shift, where cells do not reach

    def inverse(self) -> RandomInitialization:
        """Each Gaussian pair is symmetric, so the mixture is, too (Proposition 3.2)."""
        return self

    def bounds(self, epsilon: float) -> DeltaBounds:
        """Certified lower <= delta <= upper of the mixture at epsilon >= 0, and the mass left out."""
        point = number("epsilon", epsilon, at_least=0.0)
        lower, upper = self._two_sided(point)
        return DeltaBounds(lower, upper, self.law.beyond)

    def _delta(self, epsilon: Floats) -> Floats:
        flat = [self._two_sided(e)[1] for e in epsilon.ravel().tolist()]
        return np.array(flat).reshape(epsilon.shape)

    def _pure_epsilon(self) -> float:
        return 0.0 if self.shift_limit == 0.0 else math.inf

    def _two_sided(self, epsilon: float) -> tuple[float, float]:
        law = self.law
        if self.shift_limit == 0.0:
            return 0.0, 0.0
        at_left, at_mean, at_right = (
            delta_upper(mu, np.float64(epsilon)) for mu in (law.left, law.mean, law.right)
        )
        width = law.right - law.left
        share = np.where(width > 0.0, (law.mean - law.left) / np.where(width > 0.0, width, 1.0), 1.0)
        chord = at_left + (at_right - at_left) * np.clip(share, 0.0, 1.0)
        turn = math.sqrt(2.0 * epsilon)
        convex, concave = law.right <= turn * DOWN, law.left >= turn * UP
        above = np.where(convex, chord, np.where(concave, at_mean, at_right))
        below = np.where(convex, at_mean, np.where(concave, chord, at_left))
        upper = float(np.sum(law.mass * above)) * UP + law.beyond
        return float(np.sum(law.mass * below)) * (1.0 - 1e-8), min(upper, 1.0)

    def _renyi(self, order: float) -> float:
        # E e^{order (order - 1) mu^2 / 2} is a mean of convex functions of mu: chords bound it
        rate = 0.5 * order * (order - 1.0)
        if self.unclipped is not None:
            far = 0.5 * order * self.shift_limit**2
            if order == 1.0:
                return min(0.5 * self.unclipped.second(), far)
            return min(max(0.0, self.unclipped.log_moment(rate) / (order - 1.0)), far)
        law = self.law
        width = np.where(law.right > law.left, law.right - law.left, 1.0)
        share = np.where(law.right > law.left, np.clip((law.mean - law.left) / width, 0.0, 1.0), 1.0)
        if order == 1.0:
            half = 0.5 * (law.left**2 * (1.0 - share) + law.right**2 * share)
            return float(np.sum(law.mass * half)) * (1.0 + 1e-10)
        with np.errstate(divide="ignore"):
            log_mass = np.log(law.mass)
            ends = [rate * law.left**2 + np.log1p(-share), rate * law.right**2 + np.log(share)]
        total = float(logsumexp(log_mass + np.logaddexp(ends[0], ends[1])))
        return max(0.0, (total + 1e-10) / (order - 1.0))


def random_initialization(
    clip: float,
    target: float = 1.0,
    noise_std: float = 1.0,
    *,
    claim: str = "instance",
    adjacency: Adjacency = "add-or-remove-one",
) -> RandomInitialization:
    """Bound one noisy step of linear regression y ~ theta x from theta = I ~ N(0, 1), step size 1.

    Parameters
    ----------
    clip : float
        Each record's gradient (y - theta x)(-x) is clipped to this norm, > 0. math.inf: it is not clipped.
    target : float, default 1.0
        The declared bound of |y|, which must not be read off the data.
    noise_std : float, default 1.0
        Standard deviation of the Gaussian noise that is added to the sum, > 0.
    claim : {"instance", "bounded", "unrestricted"}, default "instance"
        For which data it holds. "instance", Theorem 5.1: the given data set y = target x, x = +-1, and any one record
        removed; mu_I = min(clip, |target - I|). It says nothing about other data. "bounded": every data set with |x| <= 1,
        |y| <= target; mu_I = min(clip, target + |I|); with adjacency="replace-one",
        min(clip, target + |I|) + min(clip, target). "unrestricted": every data set: the shift is clip (replace-one:
        2 clip), initialisation gains nothing.
    adjacency : {"add-or-remove-one", "replace-one"}, default "add-or-remove-one"
        What neighbouring data sets are.

    Returns
    -------
    RandomInitialization

    Raises
    ------
    ValueError
        For an argument out of range.

    Notes
    -----
    The bound also holds if I is published. It is for one step, with I independent of the data. It claims nothing for
    more steps, for a start from pretraining or from earlier models, or for hiding I. Proof:
    docs/proofs/random_initialization.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> f = g.random_initialization(clip=1.0)
    >>> round(f(0.1), 4), round(g.gaussian(1.0)(0.1), 4)
    (0.6769, 0.6109)
    """
    if claim not in _CLAIMS:
        raise ValueError(f"claim must be one of {', '.join(_CLAIMS)}; got {claim!r}")
    replace = n_is_public(adjacency)
    cap = clip if clip == math.inf else number("clip", clip, above=0.0, at_most=_LARGEST)
    centre = number("target", target, at_least=0.0 if claim == "bounded" else None, at_most=_LARGEST)
    noise = number("noise_std", noise_std, above=1e-150, at_most=_LARGEST)
    if claim == "instance":
        if replace:
            raise ValueError('adjacency must be add-or-remove-one for claim="instance"; got replace-one')
        text = f"the data set y = {exact(centre)} x with x = +-1 and any one of its records removed; no other data"
        return _folded(0.0, cap, abs(centre), noise, text, adjacency)
    if claim == "bounded":
        sure = min(cap, centre)
        text = f"every data set with |x| <= 1 and |y| <= {exact(centre)}"
        return _folded(2.0 * sure if replace else sure, cap - sure, 0.0, noise, text, adjacency)
    if cap == math.inf:
        raise ValueError('clip must be finite for claim="unrestricted"; got inf')
    text = "every data set (initialisation gains nothing here)"
    return _folded(2.0 * cap if replace else cap, 0.0, 0.0, noise, text, adjacency)


def initialization_mixture(
    shift_cdf: Callable[[Floats], Floats], largest: float, *, claim: str, cells: int = 4096
) -> RandomInitialization:
    """Bound one noisy step of any model from the distribution of the worst shift over neighbouring data.

    Parameters
    ----------
    shift_cdf : callable
        P[mu <= m] for m of shape (k,), or a lower bound of it, where mu(I) is the supremum over neighbouring data of the l2
        distance of the gradients at I, in units of the noise.
    largest : float
        A number that mu never exceeds, > 0 and finite.
    claim : str
        What the supremum was taken over, in words. It is kept unchanged.
    cells : int, default 4096
        Number of cells of the distribution. Shifts are rounded up to the end of their cell, so the result is too
        large by about largest/cells.

    Returns
    -------
    RandomInitialization

    Raises
    ------
    ValueError
        For an argument out of range.

    Notes
    -----
    Proof: docs/proofs/random_initialization.md.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv import guarantees as g
    >>> f = g.initialization_mixture(lambda m: np.clip(m, 0, 1), 1.0, claim="uniform shifts", cells=64)
    >>> f.delta(1.0) < g.gaussian(1.0).delta(1.0)
    True
    """
    top = number("largest", largest, above=0.0, at_most=_LARGEST)
    edges = np.linspace(0.0, top, cells + 1)
    below = np.asarray(shift_cdf(edges), dtype=np.float64)
    if (
        below.shape != edges.shape
        or not np.all((below >= 0.0) & (below <= 1.0))
        or np.any(np.diff(below) < 0.0)
    ):
        raise ValueError("shift_cdf must return a non-decreasing array of probabilities, one for each point")
    below[-1] = 1.0
    mass = np.diff(below, prepend=0.0)
    law = ShiftLaw(mass * (1.0 + _SLACK), edges, edges, edges)
    return RandomInitialization(law, claim, "as in the supplied law", shift_limit=top)


def _folded(
    offset: float, cap: float, centre: float, noise: float, claim: str, adjacency: str
) -> RandomInitialization:
    """The shift (offset + min(cap, |I - centre|)) / noise for I ~ N(0, 1)."""
    reach = min(cap, centre + 38.0)
    near = min(reach, centre + 8.5)
    edges = np.linspace(0.0, near, _CELLS + 1)
    if reach > near:
        edges = np.append(edges, np.linspace(near, reach, _FAR_CELLS + 1)[1:])
    left, right = edges[:-1], edges[1:]
    # |I - centre| has density phi(m - centre) + phi(m + centre): mass and mean of each cell
    mass, moment = np.zeros(len(left)), np.zeros(len(left))
    for shift in (-centre, centre):
        part = _between(left + shift, right + shift)
        mass += part
        moment += _density(left + shift) - _density(right + shift) - shift * part
    mean = np.where(mass > 0.0, moment / np.maximum(mass, 1e-320), right)
    mean += 4e-16 * (1.0 + centre + right) / np.maximum(mass, 1e-320)
    mean = np.clip(np.where(np.isfinite(mean), mean, right), left, right)
    mass *= 1.0 + _SLACK
    beyond = float(ndtr(centre - reach) + ndtr(-centre - reach)) * (1.0 + 1e-10)
    shift_limit, unclipped = (offset + cap) / noise, None
    if cap <= reach:  # clipped: an atom at the cap
        mass, left, mean, right = (
            np.append(a, b) for a, b in ((mass, beyond), (left, cap), (mean, cap), (right, cap))
        )
        beyond = 0.0
    else:
        unclipped = UnclippedShift(offset + centre, noise, added=offset > 0.0)
    up = 1.0 + 1e-15
    left, mean, right = ((offset + part) / noise * up for part in (left, mean, right))
    law = ShiftLaw(mass, left, mean, right, beyond)
    return RandomInitialization(law, claim, adjacency, shift_limit, unclipped)


def _between(low: Floats, high: Floats) -> Floats:
    # Phi(high) - Phi(low) in the tail where it does not cancel
    flip = low > 0.0
    return ndtr(np.where(flip, -low, high)) - ndtr(np.where(flip, -high, low))


def _density(x: Floats) -> Floats:
    return np.exp(-0.5 * np.minimum(x * x, 1400.0)) / math.sqrt(2.0 * math.pi)
