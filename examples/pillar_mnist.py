"""MNIST or Fashion-MNIST pixels at epsilon = 0.1, where a tenth of the training rows is public and unlabelled.

Prints the recommended dimension, the guarantee and the accuracy. The projection is folded into the weights of the
model, so predicting with it needs no public data.

    python examples/pillar_mnist.py PATH/mnist.npz [PRIVATE_ROWS]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import prepriv
from prepriv.recipes.pillar import pillar


def main(path: Path, rows: int = 5400) -> float:
    """Train on `rows` private rows and return the test accuracy."""
    with np.load(path) as z:
        x, y = z["x_train"].reshape(len(z["x_train"]), -1), z["y_train"]
        test, answers = z["x_test"].reshape(len(z["x_test"]), -1)[:2000], z["y_test"][:2000]
    tenth = len(x) // 10
    public, private, labels = x[:tenth], x[tenth : tenth + rows], y[tenth : tenth + rows]
    domain = prepriv.Domain.box(0, 255, x.shape[1], classes=range(10), n=len(private))
    steps, learner = pillar(domain, public, epsilon=0.1, delta=1e-5)
    clf = prepriv.PrivateClassifier(domain, epsilon=0.1, delta=1e-5, steps=steps, learner=learner)
    clf.fit(private, labels)
    flat = clf.model_.flattened()
    guess = flat.predict_index(test)
    same = bool((guess == clf.model_.predict_index(test)).all())
    accuracy = float((guess == answers).mean())
    k = next(s.k for s in steps if hasattr(s, "k"))
    print(f"k = {k}, epsilon = {clf.guarantee_.epsilon(1e-5):.3g}, weights {flat.weights.shape}")
    print(
        f"test accuracy {accuracy:.3f}; predictions without the projection the same: {'yes' if same else 'no'}"
    )
    return accuracy


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
