"""Estimators of scikit-learn at the end of a pipeline: the loss that a learner of prepriv minimises in their place, and how it differs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from prepriv.domain import Domain
from prepriv.learners.learner import Learner
from prepriv.learners.losses import Hinge, MarginLoss, SquaredHinge
from prepriv.learners.targets import Huber, SquaredError
from prepriv.preprocessing.sklearn_spec import check_values, class_path
from prepriv.recipes.automatic import SCALE
from prepriv.recipes.own_fits import no_effect
from prepriv.recipes.sklearn_nearest import nearest_to
from prepriv.recipes.step_rule import LearnerRule

CLASSIFIERS, REGRESSORS = (
    ("LogisticRegression", "SGDClassifier", "LinearSVC", "RidgeClassifier"),
    ("LinearRegression", "Ridge", "HuberRegressor"),
)
_MADE_UP, _FEW = 40, 5
_FOR_ROWS: Mapping[str, Any] = {
    "class_weight": None,
    "max_iter": None,
    "n_jobs": None,
    "verbose": 0,
    "random_state": 0,
}
"""Of the fit on made-up rows: settings that no other one forbids."""
_SOLVING = frozenset(
    [
        "dual",
        "intercept_scaling",
        "max_iter",
        "n_jobs",
        "random_state",
        "solver",
        "tol",
        "warm_start",
        "verbose",
        "copy_X",
        "shuffle",
        "learning_rate",
        "eta0",
        "power_t",
        "early_stopping",
        "validation_fraction",
        "n_iter_no_change",
        "average",
        "multi_class",
    ]
)
"""Parameters that say how scikit-learn comes to its answer, not what the answer is: ours comes to it by noisy steps."""
_NO_SETTING = "private descent has no such setting"
_STRENGTH = (
    "{key} is the strength of a penalty, which private training does not have, since its noise and its few steps already keep weights small. "
    "A strength that was tuned without noise would not fit"
)
_WHY: Mapping[str, str] = {
    "C": _STRENGTH,
    "alpha": _STRENGTH,
    "penalty": "private training has no penalty, since its noise and its few steps already keep weights small",
    "l1_ratio": "private training has no penalty, and noise leaves no weight at exactly 0",
    "fit_intercept": "each model of prepriv has a constant, which is learned with the weights; noise moves every weight, so it could not stay 0",
    "positive": "noise can turn the sign of any weight",
}
"""Why a parameter that changes the answer is refused."""
_LOSSES: Mapping[str, Any] = {"log_loss": None, "hinge": Hinge(), "squared_hinge": SquaredHinge()}


@dataclass(frozen=True)
class OtherLoss(LearnerRule):
    """The recipe's descent with another loss, made when the records and the budget are known."""

    loss: Any

    def learner_for(self, automatic: Learner) -> Learner:
        if getattr(automatic, "mean_error", 0.0) and type(self.loss) is not SquaredError:
            automatic = replace(automatic, mean_error=0.0)  # type: ignore[type-var]
        found: Learner = replace(automatic, loss=self.loss)  # type: ignore[type-var]
        if math.isinf(min(found.clip_norm, self.loss.gradient_norm(1.0, found.weight_bound))):
            return replace(found, clip_norm=math.hypot(SCALE, 1))  # type: ignore[type-var]  # as with much signal
        return found


def type_of(domain: Domain) -> str:
    """The estimator of prepriv for a domain, by its name."""
    return "PrivateClassifier" if domain.target is None else "PrivateRegressor"


def nearest(domain: Domain) -> str:
    """The default recipe, as it is written."""
    return f"prepriv.{type_of(domain)}(domain)"


def read_estimator(last: Any, domain: Domain, path: str = "") -> tuple[Any, Any, tuple[str, ...]]:
    """(loss, class_weight, how it differs) of the estimator at the end. Every parameter is read, or refused. path: its name in the
    pipeline for `set_params`, such as "clf__"."""
    name = type(last).__name__
    numbers = domain.target is not None
    open_here = REGRESSORS if numbers else CLASSIFIERS
    if _learns_no_label(last):
        raise ValueError(
            f"{name} does not learn a label, and prepriv has no private form of it. A pipeline here ends in an estimator of a label or a target; "
            "`prepriv.describe` and `prepriv.sketch` describe a table without one"
        )
    of_sklearn = {base.__name__ for base in type(last).__mro__[1:] if base.__module__.startswith("sklearn.")}
    if not type(last).__module__.startswith("sklearn.") and (own := sorted(of_sklearn & {*open_here})):
        raise ValueError(
            f"{name} is a class of your own, whose code is not read: take {own[0]} itself, with the same settings"
        )
    if name not in open_here:
        raise ValueError(_refusal(name, domain, open_here, CLASSIFIERS if numbers else REGRESSORS))
    class_path(type(last))  # that class exactly
    _check_known(last, numbers)
    params, defaults = last.get_params(deep=False), type(last)().get_params(deep=False)
    class_weight = params.pop("class_weight", None)
    loss, says = _loss_of(name, params)
    if isinstance(loss, MarginLoss):
        if len(domain.classes) > 2:
            raise ValueError(
                f"{name} separates two classes here, and the domain declares {len(domain.classes)}: take LogisticRegression, which learns all "
                "of them together"
            )
        if class_weight is not None:
            raise ValueError(
                f"{name}(class_weight={class_weight!r}): class weights weigh predicted probabilities, and those of a hinge loss are not "
                f"calibrated. Take LogisticRegression(class_weight={class_weight!r}) in its place"
            )
        says += (
            "predict_proba orders the records and is not calibrated, since a hinge loss is not a log-likelihood: take LogisticRegression "
            "where a probability or a threshold counts",
        )
    if class_weight is not None:
        says += (
            "class_weight weighs predicted probabilities, not the rows of the training: predict is not always the class with the largest "
            "predict_proba",
        )
    without_effect = []
    for key, value in sorted(params.items()):
        if _without_penalty(key, value):
            says += (
                f"{key}={value!r} asks for no penalty, and private training has none. Its noise and its few steps keep weights smaller than "
                "those of an exact fit",
            )
            continue
        if key == "loss" or _same(key, value, defaults[key]):
            continue
        if key in _SOLVING:
            without_effect.append(key)
            continue
        default = "l2" if key == "penalty" else defaults[key]
        raise ValueError(
            f"{name}({key}={value!r}): {_WHY.get(key, _NO_SETTING).format(key=key)}. "
            f"{'pipeline' if path else 'estimator'}.set_params({path}{key}={default!r}) sets it to its default"
        )
    if without_effect:
        says += (no_effect(name, without_effect),)
    return loss, class_weight, says


def _learns_no_label(last: Any) -> bool:
    from sklearn.base import ClusterMixin, DensityMixin, OutlierMixin

    return isinstance(last, ClusterMixin | DensityMixin | OutlierMixin)


def _refusal(name: str, domain: Domain, open_here: tuple[str, ...], other: tuple[str, ...]) -> str:
    """Why an estimator is not taken, what is nearest, and how its answer differs."""
    if name.endswith("CV") and name[:-2] in open_here:
        return f"{name} chooses its settings by the records: take {name[:-2]}, with its settings at their defaults"
    taken = f"Taken are {', '.join(open_here)}; the default is {nearest(domain)}"
    if name in other:
        return f"{name}: the domain declares {'a number' if domain.target is not None else 'classes'} to be learned. {taken}"
    default = type_of(domain)
    instead, differs = nearest_to(name, default) or (
        f'prepriv.{default}(domain, steps="additive")',
        "one function of each column",
    )
    says = f"{name}: it has no private learner here. Nearest: {instead}. How the answer differs: {differs}"
    return (
        says if "prepriv.choose" in instead else f"{says}. {taken}. Each costs the epsilon that it is given"
    )


def _check_known(last: Any, numbers: bool) -> None:
    """ValueError where scikit-learn itself would not fit with these settings: by its table of allowed values, and on a few made-up rows, for
    those that do not go together."""
    from sklearn.base import clone

    check_values(last)
    for_rows = {key: value for key, value in _FOR_ROWS.items() if key in type(last)().get_params(deep=False)}
    if "max_iter" in for_rows and last.max_iter is not None:
        for_rows["max_iter"] = min(last.max_iter, _FEW)
    tried = clone(last).set_params(**for_rows)
    x = np.column_stack([np.arange(_MADE_UP) % 7, np.arange(_MADE_UP) % 5]) / 7
    y = np.arange(_MADE_UP) % 2
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            tried.fit(x, x[:, 0] if numbers else y)
        except Exception as error:
            told = (str(error).splitlines() or [""])[0]
            raise ValueError(
                f"{type(last).__name__}: scikit-learn does not take these settings: {told}"
            ) from None


def _without_penalty(key: str, value: Any) -> bool:
    """Whether a setting asks for no penalty, as private training has none."""
    if key == "penalty":
        return value is None
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return False
    return (key == "C" and value == math.inf) or (key == "alpha" and value == 0)


def _same(key: str, one: Any, two: Any) -> bool:
    """Whether they mean the same to scikit-learn: 1 and np.float64(1) are 1.0. None of these numbers stands for a bool."""
    if key == "penalty" and one == "l2":
        return True  # what "deprecated" stands for
    if isinstance(one, bool | np.bool_) or isinstance(two, bool):
        return isinstance(one, bool | np.bool_) and isinstance(two, bool) and bool(one) == two
    if isinstance(one, Real) and isinstance(two, Real):
        return bool(one == two)
    return type(one) is type(two) and bool(one == two)


def _loss_of(name: str, params: dict[str, Any]) -> tuple[Any, tuple[str, ...]]:
    steps = "is found by a few noisy gradient steps, in place of a solver and its penalty"
    if name in ("SGDClassifier", "LinearSVC"):
        if params["loss"] not in _LOSSES:
            raise ValueError(
                f"{name}(loss={params['loss']!r}) has no private learner here; take one of {', '.join(_LOSSES)}"
            )
        return _LOSSES[params["loss"]], (f"{name} {steps}",)
    if name == "RidgeClassifier":
        return None, (f"RidgeClassifier {steps}, and minimises logistic loss, not squares of labels",)
    if name == "HuberRegressor":
        return Huber(), (
            f"HuberRegressor {steps}; where its loss turns straight is {Huber().width:g} of half the declared range of the target",
        )
    if name in ("LinearRegression", "Ridge"):
        return None, (
            f"{name} is found from noisy second moments, or by noisy gradient steps where those are too noisy",
        )
    return None, (f"LogisticRegression {steps}",)
