"""Two neighbours that standard scaling drives further apart than Table 2 of the paper allows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv._arrays import Floats
from prepriv_papers.provable_privacy.imputations import box_space


def scaling_attack(n: int = 4001, sigma: float = 0.1) -> list[dict[str, Any]]:
    """Two neighbours in [-1, 1], both of standard deviation at least sigma, that standard scaling drives apart.

    Half of the common records at -1, half so far above that the spread is sigma; the record between them
    becomes +1. The statistic sum_i g(z_i), g a triangle wave of slope and range 1, realises the shift.
    """
    one, two = scaling_pair(n, sigma)
    moved = np.abs(_standardised(one)[1:] - _standardised(two)[1:])
    step = pre.StandardScaler(floor=sigma / 2, rule="none", radius=2 / sigma, payment=pay.Sensitivity())
    total = math.fsum(moved)
    return [
        {
            "n": n,
            "sigma": sigma,
            "total_shift": total,
            "bound": step.sensitivity(box_space(1), n).total_shift,
            "factor": (1 + total) ** 2 / 2,
            "printed": 1.05 * (1 + 4 / sigma**3),
            "largest_row_shift": float(moved.max()),
            "paper_row_shift": (2 / sigma**3 + 2 / sigma) / n,
        }
    ]


def scaling_pair(n: int, sigma: float) -> tuple[Floats, Floats]:
    """The data sets of `scaling_attack`, (n,) each; the first record differs."""
    half = sigma * math.sqrt(n / (n - 1)) * (1 + 1e-12)
    one = np.full(n, -1.0)
    one[1 : 1 + (n - 1) // 2] += 2 * half
    one[0] = one[1:].mean()
    two = one.copy()
    two[0] = 1.0
    return one, two


def _standardised(x: Floats) -> Floats:
    return np.asarray((x - x.mean()) / x.std())
