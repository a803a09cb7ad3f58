"""MNIST or Fashion-MNIST pixels, epsilon = 0.1: a tenth of the training rows is public and unlabelled.

Prints the recommended dimension, the guarantee, and the accuracy of the model with the projection folded into its
weights: predicting with it needs no public data.

    python examples/pillar_mnist.py PATH/mnist.npz [PRIVATE_ROWS]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import prepriv
from prepriv.pipeline.pillar import pillar


def main(path: Path, rows: int = 5400) -> float:
    """Train on `rows` private rows and return the test accuracy."""
    with np.load(path) as z:
        x, y = z["x_train"].reshape(60_000, -1), z["y_train"]
        test, answers = z["x_test"].reshape(10_000, -1)[:2000], z["y_test"][:2000]
    public, private, labels = x[:6000], x[6000 : 6000 + rows], y[6000 : 6000 + rows]
    domain = prepriv.Domain.box(0, 255, 784, classes=range(10), n=len(private))
    steps, learner = pillar(domain, public, epsilon=0.1, delta=1e-5)
    clf = prepriv.PrivateClassifier(domain, epsilon=0.1, delta=1e-5, steps=steps, learner=learner)
    clf.fit(private, labels)
    flat = clf.model_.flattened()
    accuracy = float((flat.predict_index(test) == answers).mean())
    k = next(s.k for s in steps if hasattr(s, "k"))
    print(f"k = {k}, epsilon = {clf.guarantee_.epsilon(1e-5):.3g}, weights {flat.weights.shape}")
    print(f"test accuracy {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
