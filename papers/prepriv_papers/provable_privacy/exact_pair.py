"""Sampled SGD of Tables 1 and 2 without a lemma on moments: its pair by quadrature, a shift of all rows by the law of a batch."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr, logsumexp
from scipy.stats import hypergeom

from prepriv.guarantees import RenyiCurve, zcdp

POINTS = 20_001


def sampled_curve(shift: float, rate: float, steps: int) -> RenyiCurve:
    """`steps` batches drawn without replacement, one record replaced. shift: distance of two batch sums, over the noise.

    H_γ ≤ q H_γ′(N(m) ‖ N(0)), γ′ = 1 + (γ − 1)/q, in both orders for γ ≥ 1 (docs/proofs/subsampling.md, 3), and a divergence
    ∫ F″(γ) (H_γ − (1 − γ)_+) dγ of F = γ^α is at most what these give: with γ = e^t, t > 0,
    E ≤ 1 + α(α − 1) ∫ (e^((α−1)t) + e^(−αt)) H dt. The integrand has one peak; trapezoids of its
    logarithm. Beyond order 512 the divergence without sampling is taken, which is larger.

    >>> round(sampled_curve(0.1, 0.1, 100)(11.0), 4)
    0.0592
    """
    whole = zcdp(0.5 * steps * shift * shift)

    def curve(order: float) -> float:
        if order > 512.0 or shift == 0.0:
            return whole.function(order)
        top = order * shift * shift + 40.0 * shift + math.log1p(1.0 / rate)
        t = np.concatenate(
            [np.linspace(0.0, min(top, rate * 20 * shift), POINTS), np.linspace(0.0, top, POINTS)[1:]]
        )
        t = np.unique(t)
        far = np.log1p(np.expm1(t) / rate)
        gained, lost = log_ndtr(0.5 * shift - far / shift), far + log_ndtr(-0.5 * shift - far / shift)
        stick = math.log(rate) + gained + np.log1p(-np.exp(np.minimum(lost - gained, -1e-15)))
        logs = np.logaddexp((order - 1.0) * t, -order * t) + stick
        widths = np.diff(t)
        pieces = np.logaddexp(logs[1:], logs[:-1]) + np.log(0.5 * widths)
        moment = math.log(order * (order - 1.0)) + float(logsumexp(pieces))
        value = float(np.logaddexp(0.0, moment)) / (order - 1.0)
        return min(steps * value * (1.0 + 1e-6), whole.function(order))

    return RenyiCurve(curve)


def shifted_curve(per_row: float, total: float, n: int, batch: int, steps: int, noise: float) -> RenyiCurve:
    """`steps` batches without replacement of n rows that move by at most `per_row` each and `total` in all; sum over a batch.

    A batch B moves by at most D_B = Σ_B d_i, with one law of B on both sides, so the moment of order α is at most
    E exp(α(α − 1) D_B²/(2σ²)) (joint convexity). That is convex in (d_1, …, d_n), so it is largest at an extreme point of
    0 ≤ d_i ≤ per_row, Σ d_i ≤ total: rows that move by per_row, at most ⌈total/per_row⌉ of them. The number
    drawn is hypergeometric. Never more than a batch that moves by min(batch · per_row, total).
    """
    if total == 0.0:
        return zcdp(0.0)
    rows = min(n, math.ceil(total / per_row * (1 - 1e-12)))
    drawn = np.arange(max(0, batch - (n - rows)), min(batch, rows) + 1)
    chance = hypergeom.logpmf(drawn, n, rows, batch)
    moves = np.minimum(drawn * per_row, total) / noise
    worst = zcdp(0.5 * steps * float(moves[-1]) ** 2)

    def curve(order: float) -> float:
        if math.isinf(order):
            return worst.function(order)
        moment = float(logsumexp(chance + 0.5 * order * (order - 1.0) * moves**2))
        return min(steps * max(moment, 0.0) / (order - 1.0) * (1.0 + 1e-9), worst.function(order))

    return RenyiCurve(curve)
