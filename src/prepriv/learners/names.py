"""The names of learners and losses in files and arguments; those of version 0.1.0 are still read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prepriv._arguments import choice

OLD_NAMES = {  # of 0.1.0, still read
    "dp-gd": "GradientDescent",
    "gd": "GradientDescent",
    "dp-sgd": "PoissonSGD",
    "poisson-sgd": "PoissonSGD",
    "dp-sgd-fixed-batch": "FixedBatchSGD",
    "one-pass": "OnePassSGD",
    "noisy-sgd": "NoisySGD",
    "logistic": "Logistic",
    "softmax": "Softmax",
    "hinge": "Hinge",
    "squared-hinge": "SquaredHinge",
    "huberised-hinge": "HuberisedHinge",
    "least-squares": "LeastSquares",
}


def current_name(what: str, name: Any, allowed: Sequence[str]) -> str:
    """One of some names, or the name of 0.1.0 of one. ValueError otherwise."""
    return choice(what, OLD_NAMES.get(name, name) if isinstance(name, str) else name, allowed)
