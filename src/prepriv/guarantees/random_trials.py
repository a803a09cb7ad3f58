"""The best of a random number of trials, of which only that one leaves. Proof: docs/proofs/choose.md."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from prepriv._arguments import number
from prepriv.guarantees.renyi import RenyiCurve

_STEPS = np.linspace(-9.0, 9.0, 9217)  # of the quantiles at which a trial is the best: cells of 2^-9
_ROUNDING = 1e-12
LEAST_STOP = 2.0**-11  # a float above it is a multiple of 2^-64: the coin is the accounted one


def random_trials(mu: float, stop: float) -> RenyiCurve:
    """Trials that are mu-GDP each and order their outputs; after each, a coin of chance `stop` ends them; the best leaves.

    mu: of one trial, above 0. stop: in [2^-11, 1]. The number of trials has mean 1 / stop, and stays secret. Source: Liu
    and Talwar (2019), Papernot and Steinke (2022), Lemma 7, here with the trade-off function of a trial.

    >>> round(random_trials(0.2, 1 / 12).epsilon(1e-5), 2)  # twelve trials on average; one alone has 0.72
    1.22
    """
    mu, stop = number("mu", mu, above=0.0), number("stop", stop, at_least=LEAST_STOP, at_most=1.0)
    with np.errstate(under="ignore"):
        here = np.concatenate([[0.0], ndtr(_STEPS)])  # chance s of a better output, least of the cell
        there = np.concatenate([ndtr(_STEPS + mu), [1.0]])  # the same on the other side, largest of the cell
    one, two = (np.log(stop + (1 - stop) * s) for s in (here, there))
    at, slope = _envelope(math.log(stop) - 2 * one, 2 * (two - one))

    def divergence(order: float) -> float:
        if math.isinf(order):
            return math.inf
        t = order - 1
        worst = float(np.max(at + t * slope))
        return (order * mu * mu / 2 + max(worst, 0.0) / t) * (1 + _ROUNDING) + _ROUNDING * (1 + 1 / t)

    return RenyiCurve(divergence)


def _envelope(
    at: NDArray[np.float64], slope: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The lines at + t slope that are largest for some t > 0."""
    order = np.lexsort((slope, at))[::-1]
    kept: list[tuple[float, float]] = []
    for a, b in zip(at[order].tolist(), slope[order].tolist()):
        if kept and b <= kept[-1][1]:
            continue
        while len(kept) > 1:
            (a1, b1), (a2, b2) = kept[-2:]
            if (a1 - a2) * (b - b1) < (a1 - a) * (b2 - b1):  # the last line is the largest somewhere between
                break
            kept.pop()
        kept.append((a, b))
    lines = np.array(kept)
    return lines[:, 0], lines[:, 1]
