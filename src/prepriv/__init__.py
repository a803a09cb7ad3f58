"""Differential privacy for the whole pipeline: pre-processing, training, release."""

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from prepriv import guarantees, preprocessing
from prepriv.domain import Categorical, Domain, Numeric
from prepriv.guarantees.guarantee import Guarantee
from prepriv.payment import Budget, Public, Sensitivity
from prepriv.pipeline.account import account
from prepriv.pipeline.plan import Plan, make_plan
from prepriv.release.model import Model
from prepriv.release.report import Report

if TYPE_CHECKING:
    from prepriv.estimators import PrivateClassifier

try:
    __version__ = version("prepriv")
except PackageNotFoundError:  # running from a source tree that is not installed
    __version__ = "0"

__all__ = [
    "Budget",
    "Categorical",
    "Domain",
    "Guarantee",
    "Model",
    "Numeric",
    "Plan",
    "PrivateClassifier",
    "Public",
    "Report",
    "Sensitivity",
    "account",
    "guarantees",
    "make_plan",
    "preprocessing",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    # scikit-learn is by far the heaviest import; the command line does without it.
    if name == "PrivateClassifier":
        from prepriv.estimators import PrivateClassifier

        return PrivateClassifier
    raise AttributeError(f"module 'prepriv' has no attribute {name!r}")
