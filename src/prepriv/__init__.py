"""Differential privacy for the whole pipeline: pre-processing, training, release."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prepriv import guarantees, preprocessing
    from prepriv.accounts.account import account
    from prepriv.accounts.from_sklearn import from_sklearn
    from prepriv.columns import Categorical, Numeric, Text
    from prepriv.description.ask import ask
    from prepriv.description.describe import describe
    from prepriv.description.questions import count, histogram, mean, quantiles
    from prepriv.description.sketch import sketch
    from prepriv.description.sums import covariance, crosstab, sum, variance
    from prepriv.domain import Domain
    from prepriv.estimators import PrivateClassifier
    from prepriv.evaluation.choose import choose
    from prepriv.guarantees.guarantee import Guarantee
    from prepriv.payment import Budget, Public, Sensitivity, Sketch
    from prepriv.plans.plan import Plan, make_plan
    from prepriv.private_pipeline import private
    from prepriv.regressor import PrivateRegressor
    from prepriv.release.model import Model
    from prepriv.release.report import Report
    from prepriv.runs.odometer import CompositionWarning, spent
    from prepriv.runs.validate import Validation, validate
    from prepriv.tables.query import Query
    from prepriv.transformer import PrivateTransformer

    __version__: str

__all__ = [
    "Budget",
    "Categorical",
    "CompositionWarning",
    "Domain",
    "Guarantee",
    "Model",
    "Numeric",
    "Plan",
    "PrivateClassifier",
    "PrivateRegressor",
    "PrivateTransformer",
    "Public",
    "Query",
    "Report",
    "Sensitivity",
    "Sketch",
    "Text",
    "Validation",
    "account",
    "ask",
    "choose",
    "count",
    "covariance",
    "crosstab",
    "describe",
    "from_sklearn",
    "guarantees",
    "histogram",
    "make_plan",
    "mean",
    "preprocessing",
    "private",
    "quantiles",
    "sketch",
    "spent",
    "sum",
    "validate",
    "variance",
]


_HOMES = {
    "Budget": "payment",
    "Categorical": "domain",
    "Text": "domain",
    "CompositionWarning": "runs.odometer",
    "Domain": "domain",
    "Guarantee": "guarantees.guarantee",
    "Model": "release.model",
    "Numeric": "domain",
    "Plan": "plans.plan",
    "PrivateClassifier": "estimators",
    "PrivateRegressor": "regressor",
    "PrivateTransformer": "transformer",
    "Public": "payment",
    "Query": "tables.query",
    "Report": "release.report",
    "Sensitivity": "payment",
    "Sketch": "payment",
    "account": "accounts.account",
    "ask": "description.ask",
    "choose": "evaluation.choose",
    "count": "description.questions",
    "describe": "description.describe",
    "histogram": "description.questions",
    "covariance": "description.sums",
    "crosstab": "description.sums",
    "mean": "description.questions",
    "sum": "description.sums",
    "variance": "description.sums",
    "quantiles": "description.questions",
    "sketch": "description.sketch",
    "from_sklearn": "accounts.from_sklearn",
    "private": "private_pipeline",
    "make_plan": "plans.plan",
    "spent": "runs.odometer",
    "Validation": "runs.validate",
    "validate": "runs.validate",
}
_ASKED_BELOW = {  # of layers that may not import it: `Domain.draft`, `Model.evaluate`
    "draft_domain": "description.draft",
    "measure_model": "evaluation.evaluate",
}


def __dir__() -> list[str]:
    rooms = ("accounts", "estimators", "learners", "ledger", "plans", "recipes", "schemas")
    return [*__all__, "__version__", *rooms]


def __getattr__(name: str) -> Any:
    # Imported when they are asked for: the command line has to see to Ctrl-C before a second of imports begins,
    # and does without scikit-learn, by far the heaviest.
    if name == "__version__":
        from prepriv._version import own_version

        value: Any = own_version()
    elif home := _HOMES.get(name) or _ASKED_BELOW.get(name):
        value = getattr(import_module(f"prepriv.{home}"), name)
    else:
        value = _submodule(name)
    globals()[name] = value
    return value


def _submodule(name: str) -> Any:
    full = f"prepriv.{name}"
    try:
        if not name.startswith("_"):
            return import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
    raise AttributeError(f"module 'prepriv' has no attribute {name!r}")
