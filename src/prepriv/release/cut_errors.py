"""How much better than the mean a single number can be, by errors that are cut. Proof: docs/proofs/evaluation.md, "A single number".

Where large errors lie on one side and are cut, a number nearer to the other records has smaller cut errors than the mean has. So a model can be
better than the mean by cut errors alone, and say the same for every record.
"""

from __future__ import annotations

import numpy as np

_GRID = 4000  # distances from the mean that are tried


def single_number(error: float, bound: float, mean: tuple[float, float], ends: tuple[float, float]) -> float:
    """R² beside the mean that no single number exceeds, of errors cut at `bound`.

    Parameters
    ----------
    error : float
        Root mean squared error of always predicting the mean, cut alike, in the unit of the target, or more.
    bound : float
        Errors beyond it count as it.
    mean : (float, float)
        The number that is called the mean, and how far the exact mean of the records may be from it.
    ends : (float, float)
        Between which all targets lie.

    Returns
    -------
    float
        In [0, 1].
    """
    if error <= 0.0:
        return 1.0
    found, (at, off) = 0.0, mean
    for end, other in (ends, ends[::-1]):  # a number on the side of `end`; the far errors are on the other
        near, far = abs(at - end), abs(other - at)
        d = np.linspace(0.0, near, _GRID + 1)[1:] if near > 0 else np.zeros(0)
        if not len(d):
            continue
        step = d[0]  # between two distances the bound is not below that of a longer step (see the proof)
        k = bound**2 / (2 * d * far + d**2)
        gain = (error**2 - k * np.square(d - step) + 2 * k * d * off) / (1 + k)
        alone = 2 * d * off - np.square(d - step)
        found = max(found, float(np.maximum(gain, alone).max()))
    return min(1.0, found / error**2)
