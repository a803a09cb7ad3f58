"""Learners of linear models, one file each with its own account, and their losses; by these names in files, too."""

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
