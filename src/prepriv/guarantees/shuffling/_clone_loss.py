"""The privacy loss of the clone pair as finitely many atoms, for composition and Renyi divergences.

Given C = c the loss depends on one coordinate, L = 2 artanh(tanh(eps0/2) (2 x - N)/N), N = c + 1,
x ~ almost Bin(N, 1/2). A pair with fewer clones dominates one with more (the missing ones can be
added as noise), so a block of clone counts is replaced by its smallest count.
Proof: docs/proofs/shuffling.md, section 5.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from prepriv._arrays import Floats
from prepriv.guarantees.lines import ULP, LossAtoms
from prepriv.guarantees.shuffling._binomial import Binomial, half_pmf
from prepriv.guarantees.shuffling._clone_pair import PAIR_SLACK

_RELATIVE_WIDTH = 2e-4  # of a block of clone counts: costs half of that, relative, in epsilon
_DEVIATIONS = 9.8  # of the first coordinate kept; what is left out has mass below 4 e^-48
_TAIL = 1e-25  # mass of clone counts put at the ends of the window
_LARGEST_COUNT = 10**10  # clone counts beyond it are replaced by it


def clone_loss(epsilon0: float, clones: Binomial) -> LossAtoms:
    """Dominating atoms of log(dQ/dP) under Q, by symmetry also of log(dP/dQ) under P.

    What was left out (below 1e-20) is the infinite mass; its loss is in truth at most epsilon0.
    """
    log_tail = math.log(_TAIL)
    low, high = clones.window(log_tail, log_tail)
    low, high = min(low, _LARGEST_COUNT), min(high, _LARGEST_COUNT)
    width = max(1, int(low * _RELATIVE_WIDTH))
    while (high - low) // width > 1 << 17:
        width *= 2
    starts = np.arange(low, high + 1, width)
    weights = _block_masses(clones, low, high, starts)
    losses, masses, left = [], [], 0.0
    if low > 0:
        left += math.exp(log_tail)
    for count, weight in zip(starts.tolist(), weights.tolist()):
        loss, mass, rest = _one_count(epsilon0, count)
        losses.append(loss)
        masses.append(weight * mass)
        left += weight * rest
    return LossAtoms(
        np.concatenate(losses), np.concatenate(masses) * (1.0 + PAIR_SLACK), left * (1.0 + PAIR_SLACK)
    )


def _block_masses(clones: Binomial, low: int, high: int, starts: npt.NDArray[np.int64]) -> Floats:
    # P[C in block] for each block; the last one takes everything above as well
    if clones.trials == 0 or low == high:
        return np.ones(len(starts))
    if high - low > 1 << 22:
        # too many to list: everything at the smallest count of the window
        return np.append(1.0, np.zeros(len(starts) - 1))
    blocks = np.add.reduceat(clones.pmf(low, high), starts - low)
    blocks[-1] += _TAIL
    return blocks


def _one_count(epsilon0: float, count: int) -> tuple[Floats, Floats, float]:
    """Losses and masses given C = count, and a bound of the mass left out."""
    size = float(count + 1)
    reach = 0.5 * _DEVIATIONS * math.sqrt(size) + 1.0
    first, last = max(0.0, math.ceil(0.5 * size - reach)), min(size, math.floor(0.5 * size + reach))
    x = np.arange(first, last + 1.0)
    y = size - x
    shrink = math.exp(-epsilon0)
    # P[x | c] = C(N, x) 2^-N (2/N) ((1-w) x + w y), w = 1/(1 + e^eps0)
    mass = half_pmf(np.full(1, size), x) * (x + shrink * y) * (2.0 / size / (1.0 + shrink))
    ratio = math.tanh(0.5 * epsilon0) * (x - y) / size
    small = np.abs(ratio) < 0.5
    near = 2.0 * np.arctanh(np.where(small, ratio, 0.0))
    one = np.where(small, 1.0, x + shrink * y)
    two = np.where(small, 1.0, y + shrink * x)
    far = np.log(np.maximum(one, 1e-300) / np.where(y == 0.0, 1.0, two))
    loss = np.where(small, near, np.where(y == 0.0, epsilon0, np.where(x == 0.0, -epsilon0, far)))
    loss = np.minimum(loss + 16.0 * ULP * np.abs(loss), epsilon0)
    rest = 4.0 * math.exp(-2.0 * reach * reach / size) if first > 0.0 else 0.0
    return np.asarray(loss), np.asarray(mass), rest
