"""The instance-optimal private mean of Huang, Liang and Yi 2021: error in proportion to the diameter of the data.

The Importance of Feature Preprocessing, Lemma 3, uses it to centre rows before training. Three parts, each a Gaussian mechanism:
  1. rotate at random, then find every coordinate's median by one noisy binary search for all coordinates;
  2. find by a noisy binary search the distance from that centre which only a few records exceed;
  3. pull the rows to that distance from the centre, and add noise in proportion to it to their sum.
Proof: docs/proofs/instance_optimal_mean.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from prepriv._arguments import integer, number
from prepriv._arrays import Floats
from prepriv._rounding import UP
from prepriv.adjacency import Adjacency, rows_changed
from prepriv.exact.ball import into_ball, plain_norms
from prepriv.mechanisms.gaussian_sum import GaussianSum
from prepriv.mechanisms.mean import gaussian_sum
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import Session

COUNT_BITS = 16  # a count is 2^16 grid steps, so that noise below one record is still drawn exactly
_MOST_ROUNDS = 60


@dataclass(frozen=True)
class MeanShares:
    """How the budget of an instance-optimal mean, in mu squared, is split: center, distance, clipped mean.

    Raises ValueError unless each is above 0 and they add up to 1.
    """

    center: float = 0.25
    distance: float = 0.25
    mean: float = 0.5

    def __post_init__(self) -> None:
        for name in ("center", "distance", "mean"):
            number(name, getattr(self, name), above=0.0)
        if not math.isclose(self.center + self.distance + self.mean, 1.0, abs_tol=1e-12):
            raise ValueError("center, distance and mean must add up to 1")


class Rotation:
    """A random rotation that costs d log d: x -> H S x / sqrt(D), S random signs, H Hadamard, D the power of
    two at or above d. Public: drawn without looking at data. (b, d) -> (b, D), and back.
    """

    def __init__(self, d: int, source: NoiseSource) -> None:
        self.d = integer("d", d)
        self.width = 1 << (self.d - 1).bit_length()
        bits = np.unpackbits(source.uint64(-(-self.width // 64)).view(np.uint8))[: self.width]
        self._signs = 1.0 - 2.0 * bits

    def forward(self, x: Floats) -> Floats:
        """Rows (b, d) rotated, (b, D). Sums in a fixed order: the same bits for a row in any block."""
        padded = np.zeros((len(x), self.width))
        padded[:, : self.d] = x
        return self._hadamard(padded * self._signs)

    def back(self, y: Floats) -> Floats:
        """The inverse, (D,) -> (d,)."""
        return np.asarray((self._hadamard(y[None, :]) * self._signs)[0, : self.d])

    def _hadamard(self, x: Floats) -> Floats:
        b, half = len(x), 1
        while half < self.width:
            pairs = x.reshape(b, -1, 2, half)
            x = np.concatenate([pairs[:, :, :1] + pairs[:, :, 1:], pairs[:, :, :1] - pairs[:, :, 1:]], axis=2)
            x = x.reshape(b, self.width)
            half *= 2
        return x / math.sqrt(self.width)


def binary_search_rounds(radius: float, precision: float) -> int:
    """Rounds of a binary search over [-radius, radius] to `precision`."""
    return min(_MOST_ROUNDS, max(1, math.ceil(math.log2(2 * radius / precision))))


def noisy_search(
    rows: Iterable[Floats],
    *,
    name: str,
    dim: int,
    low: float,
    high: float,
    above: float,
    rounds: int,
    n: int,
    noise_multiplier: float,
    session: Session,
) -> Floats:
    """For each coordinate a point above which about `above` values lie: a binary search on noisy counts; (dim,).

    rows: blocks (b, dim), read once a round; NaN counts as below. low, high, above, rounds, n: declared. One
    record moves each of the dim counts of a round by at most one, whether it is added, removed or replaced:
    each round is a Gaussian mechanism of L2 sensitivity sqrt(dim). All rounds together are
    (1 / noise_multiplier)-GDP. Below `low` or above `high` the search ends at the nearer end.
    """
    integer("rounds", rounds, at_least=1)
    sensitivity = math.isqrt((dim << 2 * COUNT_BITS) - 1) + 1  # sqrt(dim) counts, rounded up
    lower, upper = np.full(dim, float(low)), np.full(dim, float(high))
    for _ in range(rounds):
        middle = 0.5 * (lower + upper)
        counts = np.zeros(dim, dtype=np.int64)
        for block in rows:
            counts += (block > middle).sum(axis=0)
        noisy = session.release(
            name,
            GaussianSum(
                sensitivity=sensitivity,
                noise_multiplier=noise_multiplier * math.sqrt(rounds) * UP,
                exponent=-COUNT_BITS,
                largest=2 * max(n, 1) << COUNT_BITS,
                coordinates=dim,
            ),
            counts << COUNT_BITS,
        )
        more = noisy > above
        lower, upper = np.where(more, middle, lower), np.where(more, upper, middle)
    return 0.5 * (lower + upper)


@dataclass(frozen=True, eq=False)
class _Rotated:
    """Finite rows pulled into the ball, rotated; rows that are not finite become zero."""

    rows: Iterable[Floats]
    rotation: Rotation
    radius: float

    def __iter__(self) -> Iterator[Floats]:
        for block in self.rows:
            with np.errstate(all="ignore"):  # a warning about a record would leave
                norms = plain_norms(block)
                inside = into_ball(block, self.radius, norms)
                yield self.rotation.forward(np.where(np.isfinite(norms), inside, 0.0))


@dataclass(frozen=True, eq=False)
class _From:
    """Rows minus a released centre (distances=False), or their distances from it, (b, 1)."""

    rows: _Rotated
    center: Floats
    distances: bool

    def __iter__(self) -> Iterator[Floats]:
        for block in self.rows:
            moved = block - self.center
            yield plain_norms(moved) if self.distances else moved


def instance_optimal_mean(
    rows: Iterable[Floats],
    *,
    name: str,
    d: int,
    radius: float,
    n: int,
    adjacency: Adjacency,
    noise_multiplier: float,
    session: Session,
    shares: MeanShares = MeanShares(),
    precision: float | None = None,
    outliers: float | None = None,
) -> Floats:
    """A mean with error about sqrt(d) / (n mu) times the diameter of the data, not the declared radius; (d,).

    rows: blocks (b, d), re-readable; rows longer than `radius` are pulled back to it. n: the declared number
    of records. precision: of the centre and the distance, default radius / n^2 after the paper (at most 60
    rounds). outliers: records beyond the clipping distance; default what balances their bias with the noise.
    The release is (1 / noise_multiplier)-GDP as a whole. Use it where rows are known to sit close together
    far from the origin; where the declared radius is close to the diameter, a plain Gaussian mean is better.
    """
    integer("n", n)
    number("radius", radius, above=0.0)
    rotation = Rotation(d, session.batch_source())
    turned = _Rotated(rows, rotation, float(radius))
    fine = radius / n**2 if precision is None else number("precision", precision, above=0.0)
    parts = [noise_multiplier / math.sqrt(s) * UP for s in (shares.center, shares.distance, shares.mean)]
    center = noisy_search(
        turned,
        name=f"{name} (center)",
        dim=rotation.width,
        low=-radius,
        high=radius,
        above=n / 2,
        # The centre's distance is what counts: its coordinates are found finer by sqrt(D).
        rounds=binary_search_rounds(radius, fine / math.sqrt(rotation.width)),
        n=n,
        noise_multiplier=parts[0],
        session=session,
    )
    rounds = binary_search_rounds(radius, fine)
    if outliers is None:  # the clipped mean's noise, and what the search cannot tell from zero
        surely = math.sqrt(2.0 * math.log(1e4 * rounds))  # no round of the search goes wrong: 99.99 %
        outliers = min(n / 2, math.sqrt(d) * parts[2] + surely * math.sqrt(rounds) * parts[1])
    longest = radius + float(np.linalg.norm(center))
    distance = noisy_search(
        _From(turned, center, distances=True),
        name=f"{name} (distance)",
        dim=1,
        low=0.0,
        high=longest,
        above=number("outliers", outliers, at_least=0.0),
        rounds=rounds,
        n=n,
        noise_multiplier=parts[1],
        session=session,
    )
    clip = max(float(distance[0]), fine)
    total = gaussian_sum(
        _From(turned, center, distances=False),
        name=f"{name} (clipped mean)",
        dim=rotation.width,
        radius=clip,
        shift=rows_changed(adjacency) * clip * UP,
        moved=0.0,
        n=n,
        noise_multiplier=parts[2],
        session=session,
    )
    mean = rotation.back(center + total / n)
    norm = float(np.linalg.norm(mean))
    return mean if norm <= radius else mean * (radius / norm)
