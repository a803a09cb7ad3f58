"""Differential privacy for the whole pipeline: pre-processing, training, release."""

from importlib.metadata import PackageNotFoundError, version

from prepriv import guarantees, preprocessing
from prepriv.domain import Categorical, Domain, Numeric
from prepriv.estimators import PrivateClassifier
from prepriv.guarantees.guarantee import Guarantee
from prepriv.payment import Budget, Public, Sensitivity
from prepriv.pipeline.plan import Plan, make_plan
from prepriv.release.model import Model
from prepriv.release.report import Report

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
    "guarantees",
    "make_plan",
    "preprocessing",
]
