"""Two private ways to the leading directions: by the exponential mechanism, and by noise on the second moment.

Experiments on synthetic data: both draw their noise from a session, but compute in floating point.
"""

from __future__ import annotations

import math

import numpy as np

from prepriv._arrays import Floats
from prepriv.mechanisms.gaussian_sum import GaussianSum
from prepriv.mechanisms.session import NoisySession

BITS = 30  # of the grid on which second moments and normal numbers are drawn


def exponential_directions(basis: Floats, squares: Floats, k: int, epsilon: float) -> Floats:
    """DP-PCA of Chaudhuri, Sarwate and Sinha (2012): V (d, k) with density in exp(ε/2 tr V' X'X V), epsilon-DP.

    X'X = basis diag(squares) basis', basis (d, r), of rows X in the unit ball: one replaced row moves the score by at
    most 1. They sample by Gibbs steps, which reach that law in the limit; here it is drawn by rejection from the law
    |V'ΩV|^(-d/2), Ω = I + 2B/b, which polar factors of Gaussian matrices have (Kent, Ganeiban and Mardia 2018),
    B = κI - K, K = ε/2 X'X, κ its largest eigenvalue: with W = V'ΩV,

        log acceptance = d/2 log det W - b/2 tr W - k d/2 (log(d/b) - 1) <= 0.
    """
    d, right = basis.shape[0], basis.T
    score = epsilon / 2 * squares
    below = np.append(score.max() - score, score.max())  # B, its value off the span of the rows last
    many = np.append(np.ones(len(score)), d - len(score))
    b = _root(below, many, d)
    omega = 1 + 2 * below / b
    inside, outside = omega[:-1], omega[-1]
    while True:
        drawn = normal_numbers(d * k + 1)
        y = drawn[:-1].reshape(d, k)
        y = y / math.sqrt(outside) + right.T @ ((inside**-0.5 - outside**-0.5)[:, None] * (right @ y))
        v = np.linalg.qr(y)[0] @ _polar(y)
        part = right @ v
        w = outside * np.eye(k) + part.T @ ((inside - outside)[:, None] * part)
        log_det = float(np.linalg.slogdet(w)[1])
        accept = d / 2 * log_det - b / 2 * float(np.trace(w)) - k * d / 2 * (math.log(d / b) - 1)
        if math.log(0.5 * math.erfc(drawn[-1] / math.sqrt(2))) < accept:
            return np.asarray(v)


def _polar(y: Floats) -> Floats:
    """R (R'R)^(-1/2) of y = QR: an orthogonal matrix, so Q times it is the polar factor of y."""
    left, _, right = np.linalg.svd(np.linalg.qr(y)[1])
    return np.asarray(left @ right)


def _root(below: Floats, many: Floats, d: int) -> float:
    """b with sum many / (b + 2 below) = 1: the best for k = 1. Any b in (0, d] gives the right law."""
    low, high = 0.0, float(d)
    for _ in range(200):
        b = (low + high) / 2
        low, high = (b, high) if float(np.sum(many / (b + 2 * below))) > 1 else (low, b)
    return high


def normal_numbers(count: int) -> Floats:
    """Standard normal numbers on a grid of 2^-30, from a session."""
    zeros = np.zeros(count, dtype=np.int64)
    return NoisySession().release("normal", GaussianSum(2**BITS, 1.0, -BITS, 2**BITS, count), zeros)


def analyze_gauss(moment: Floats, n: int, k: int, mu: float) -> Floats:
    """k leading directions (d, k) of the second moment with Gaussian noise on its upper triangle, mu-GDP.

    moment: sum x x^T of n rows, (d, d). A replaced record in the unit ball moves the triangle (off the diagonal times sqrt2) by sqrt2; rounding to
    the grid by one step an entry. Eigenvectors by block power iteration: post-processing. Dwork et al. (2014).
    """
    d = len(moment)
    at = np.triu_indices(d)
    weight = np.where(at[0] == at[1], 1.0, math.sqrt(2.0))
    total = moment[at] * weight
    sensitivity = math.ceil(math.sqrt(2.0) * 2.0**BITS * (1 + 1e-9) + math.sqrt(len(total)))
    noisy = NoisySession().release(
        "second moment",
        GaussianSum(sensitivity, 1 / mu, -BITS, largest=2 * n * 2**BITS, coordinates=len(total)),
        np.rint(total * 2.0**BITS).astype(np.int64),
    )
    matrix = np.zeros((d, d))
    matrix[at] = noisy / weight
    matrix += np.triu(matrix, 1).T
    block = matrix[:, : k + 10]
    for _ in range(6):
        block = matrix @ np.linalg.qr(block)[0]
    directions, _ = np.linalg.qr(block)
    values, inner = np.linalg.eigh(directions.T @ matrix @ directions)
    return np.asarray(directions @ inner[:, np.argsort(values)[::-1][:k]])
