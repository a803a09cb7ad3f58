"""Features of a small network trained on public images, in place of the pre-trained ResNet-50 of the paper's Figure 5."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats


@dataclass(frozen=True, eq=False)
class NetworkFeatures:
    """The hidden layer of a network with one: rows (n, d) to (n, hidden), not below 0."""

    weights: Floats
    bias: Floats

    @staticmethod
    def of(rows: Floats, labels: NDArray[np.int64], hidden: int = 256, epochs: int = 15) -> NetworkFeatures:
        """Trained to tell the labels of public rows; the same features for the same rows."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPClassifier

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            net = MLPClassifier((hidden,), random_state=0, max_iter=epochs).fit(rows, labels)
        return NetworkFeatures(net.coefs_[0], net.intercepts_[0])

    def __call__(self, rows: Floats) -> Floats:
        return np.asarray(np.maximum(rows @ self.weights + self.bias, 0.0))
