"""What a pass of a fit costs and what the rest of it does: `PYTHONPATH=SRC python benchmarks/one_fit.py`, SRC of any version.

60,000 made-up rows of 784 columns in ten classes; fits of one step and of 41, the faster of two each.
"""

import time
import warnings

import numpy as np

import prepriv
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Softmax

warnings.simplefilter("ignore")
x = np.random.default_rng(0).random((60_000, 784)).astype(np.float32)
y = np.arange(len(x)) % 10
domain = prepriv.Domain.box(0, 1, 784, range(10), n=len(x), adjacency="add-or-remove-one")


def seconds(steps: int) -> float:
    """Of one fit."""
    start = time.perf_counter()
    learner = GradientDescent(Softmax(), steps=steps)
    prepriv.PrivateClassifier(domain, steps="linear", learner=learner, epsilon=1.0, delta=1e-5).fit(x, y)
    return time.perf_counter() - start


seconds(1)  # imports
few, many = (min(seconds(steps) for _ in range(2)) for steps in (1, 41))
print(f"{1000 * (many - few) / 40:.1f} ms a pass, {few:.2f} s for one pass and the rest")
