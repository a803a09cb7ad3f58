"""Learners of linear models, one file each with its own account, and their losses; by these names in files, too."""

from typing import TYPE_CHECKING

from prepriv._asked import when_asked

if TYPE_CHECKING:
    from prepriv.learners.gradient_descent import GradientDescent
    from prepriv.learners.learner import Learner, Run, Setting
    from prepriv.learners.losses import (
        AnyModel,
        Hinge,
        HuberisedHinge,
        LeastSquares,
        Logistic,
        Loss,
        Softmax,
        SquaredHinge,
    )
    from prepriv.learners.noisy_sgd import NoisySGD
    from prepriv.learners.one_pass import CyclicSGD, OnePassSGD
    from prepriv.learners.stochastic import FixedBatchSGD, PoissonSGD
    from prepriv.learners.sufficient_statistics import SufficientStatistics
    from prepriv.learners.targets import Huber, Quantile, SquaredError

__all__ = [
    "AnyModel",
    "CyclicSGD",
    "FixedBatchSGD",
    "GradientDescent",
    "Hinge",
    "Huber",
    "HuberisedHinge",
    "Learner",
    "LeastSquares",
    "Logistic",
    "Loss",
    "NoisySGD",
    "OnePassSGD",
    "PoissonSGD",
    "Quantile",
    "Run",
    "Setting",
    "Softmax",
    "SquaredError",
    "SquaredHinge",
    "SufficientStatistics",
]

__getattr__, __dir__ = when_asked(
    __name__,
    {
        "AnyModel": "losses",
        "CyclicSGD": "one_pass",
        "FixedBatchSGD": "stochastic",
        "GradientDescent": "gradient_descent",
        "Hinge": "losses",
        "Huber": "targets",
        "HuberisedHinge": "losses",
        "Learner": "learner",
        "LeastSquares": "losses",
        "Logistic": "losses",
        "Loss": "losses",
        "NoisySGD": "noisy_sgd",
        "OnePassSGD": "one_pass",
        "PoissonSGD": "stochastic",
        "Quantile": "targets",
        "Run": "learner",
        "Setting": "learner",
        "Softmax": "losses",
        "SquaredError": "targets",
        "SquaredHinge": "losses",
        "SufficientStatistics": "sufficient_statistics",
    },
)
