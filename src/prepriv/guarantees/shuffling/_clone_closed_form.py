"""The closed form of Feldman, McMillan and Talwar (2023, Theorem 3.2): the baseline to beat.

For epsilon0 <= log(n / (8 log(2/delta)) - 1), shuffling n reports is (epsilon, delta)-DP with
epsilon = log(1 + (e^epsilon0 - 1) (4 sqrt(2 log(4/delta)) / sqrt((e^epsilon0 + 1) n) + 4/n)).
Where the condition fails it says nothing, and only epsilon0-DP is left. docs/proofs/shuffling.md.
"""

from __future__ import annotations

import math

import numpy as np

from prepriv._arrays import Floats
from prepriv._rounding import CLOSE_UP


def closed_form_epsilon(epsilon0: float, n: int, delta: float) -> float:
    """epsilon of the theorem at delta, rounded up and at most epsilon0; epsilon0 where it says nothing."""
    if not _applies(epsilon0, n, delta):
        return epsilon0
    grow = math.exp(epsilon0)  # the condition keeps epsilon0 below log n
    share = 4.0 * math.sqrt(2.0 * math.log(4.0 / delta) / ((grow + 1.0) * n)) + 4.0 / n
    return min(math.log1p(math.expm1(epsilon0) * share) * CLOSE_UP, epsilon0)


def closed_form_delta(epsilon0: float, n: int, epsilon: Floats) -> Floats:
    """The smallest delta that the theorem gives at each epsilon >= 0, rounded up."""
    inside = np.minimum(epsilon, epsilon0)
    # what every epsilon0-DP mechanism satisfies: (e^eps0 - e^eps) / (e^eps0 + 1)
    pure = np.minimum(-np.expm1(inside - epsilon0) / (1.0 + math.exp(-epsilon0)) * CLOSE_UP, 1.0)
    if epsilon0 == 0.0 or epsilon0 > math.log(n) + 1.0:
        return pure
    grow = math.exp(epsilon0)
    share = np.maximum(np.expm1(inside) / math.expm1(epsilon0) - 4.0 / n, 0.0)
    level = share * share * ((grow + 1.0) * n / 32.0)
    value = 4.0 * np.exp(-np.minimum(level, 1500.0)) * (1.0 + 1e-13 * (1.0 + level))
    # the condition of the theorem, solved for delta
    least = 2.0 * math.exp(-min(n / (8.0 * (grow + 1.0)), 700.0)) * CLOSE_UP
    value = np.maximum(value, max(least, 1e-300))
    return np.where(value <= 1.0, np.minimum(value, pure), pure)


def _applies(epsilon0: float, n: int, delta: float) -> bool:
    room = n / (8.0 * math.log(2.0 / delta)) - 1.0
    return room > 0.0 and epsilon0 <= math.log(room) - 1e-13
