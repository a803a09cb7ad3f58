"""Which label a transformer of scikit-learn that reads labels is fitted to: classes or a number, as the domain declares, never as rows look.

scikit-learn guesses it from the labels that it meets. Drawn rows hold a target as whole steps between its bounds, which look like many classes.
This file states no bound: docs/proofs/fitted.md proves what the transformers that are taken may do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prepriv.domain import Domain
from prepriv.preprocessing.sklearn_spec import made_of

_OF_CLASSES = {  # scores and transformers that read a label as classes, and what reads it as a number
    "f_classif": "f_regression",
    "chi2": "f_regression",
    "mutual_info_classif": "mutual_info_regression",
    "LinearDiscriminantAnalysis": "PLSRegression, or PCA",
    "NeighborhoodComponentsAnalysis": "PLSRegression, or PCA",
}


def with_labels_declared(spec: Mapping[str, Any], domain: Domain) -> dict[str, Any]:
    """The same pipeline as plain data, with nothing left that its labels decide. ValueError for what reads a label of the other kind."""
    return {
        key: (
            _with_label(str(spec["kind"]).rpartition(".")[2], value, domain)
            if key == "params"
            else [_inside(part, domain) for part in value]
            if key in ("steps", "parts")
            else _inside(value, domain)
        )
        for key, value in spec.items()
    }


def _inside(part: Any, domain: Domain) -> Any:
    if not isinstance(part, Mapping):
        return part
    if "kind" in part:
        return with_labels_declared(part, domain)
    return {**part, "part": _inside(part["part"], domain)} if "part" in part else part


def _with_label(name: str, params: Mapping[str, Any], domain: Domain) -> dict[str, Any]:
    made = dict(params)
    if name == "TargetEncoder":
        made["target_type"] = _target_type(str(params["target_type"]), domain)
    if domain.target is None:
        return made
    if name in _OF_CLASSES:
        raise ValueError(f"{name} reads classes, {_NUMBER}: use {_OF_CLASSES[name]}")
    for key, value in params.items():
        if not isinstance(value, Mapping):
            continue
        if (score := value.get("score")) in _OF_CLASSES:
            default = " (its default)" if score == "f_classif" else ""
            raise ValueError(
                f"{name} scores columns by {score}{default}, which reads classes, {_NUMBER}: write {key}={_OF_CLASSES[score]}"
            )
        if "estimator" in value:
            _check_regressor(name, key, made_of(value["estimator"]))
    return made


_NUMBER = "and the domain declares a numeric target"


def _target_type(asked: str, domain: Domain) -> str:
    """Of classes "auto" stays: drawn rows have each declared class at least twice, so it finds the same."""
    many = len(domain.classes)
    own = "continuous" if domain.target is not None else "binary" if many <= 2 else "multiclass"
    same = asked == "continuous" and own == "binary"  # the mean of the codes 0 and 1
    if asked not in ("auto", own) and not same:
        what = "a numeric target" if domain.target is not None else f"{many} classes"
        raise ValueError(
            f"TargetEncoder has target_type={asked!r}, and the domain declares {what}: write target_type={own!r}, or leave it out"
        )
    return "auto" if asked == "auto" and own != "continuous" else own


def _check_regressor(name: str, key: str, estimator: Any) -> None:
    from sklearn.base import is_classifier

    if is_classifier(estimator):
        raise ValueError(
            f"{name} has {key}={type(estimator).__name__}, which is fitted to classes, {_NUMBER}: give it a regressor, such as Ridge()"
        )
