"""Estimators that are not taken: a line each in docs/your-pipeline.md, as the code has them, and each choice can be planned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sklearn.experimental.enable_halving_search_cv
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import all_estimators

import prepriv
from prepriv.private_pipeline import private, reading
from prepriv.recipes.sklearn_estimators import CLASSIFIERS, REGRESSORS, read_estimator
from prepriv.recipes.sklearn_nearest import NEAREST, nearest_to

PAGE = (Path(__file__).parents[2] / "docs" / "your-pipeline.md").read_text(encoding="utf-8")
NAMES = dict(all_estimators())
BOX = prepriv.Domain.box(0, 1, features=3, classes=[0, 1], n=5000)
TARGET = prepriv.Domain.box(0, 1, features=3, target=prepriv.Numeric(0, 1), n=5000)
KINDS = {name: kind for kind in ("classifier", "regressor") for name, _ in all_estimators(kind)}


def test_every_estimator_of_scikit_learn_is_taken_or_has_a_nearest_choice():
    assert sklearn.experimental is not None
    searching = {name for name in KINDS if name.endswith("CV") and name[:-2] in (*CLASSIFIERS, *REGRESSORS)}
    assert set(KINDS) - searching <= {*NEAREST, *CLASSIFIERS, *REGRESSORS}
    assert not set(NEAREST) & {*CLASSIFIERS, *REGRESSORS}


def test_the_page_lists_them_as_the_code_has_them():
    part = PAGE.partition("### Estimators that are not taken")[2].partition("\n### ")[0]
    listed = {}
    for line in part.splitlines():
        if line.startswith("| ") and not line.startswith("| estimator"):
            names, instead, differs = (cell.strip() for cell in line.strip("|").split(" | "))
            listed |= dict.fromkeys(names.split(", "), (instead, differs))
    assert listed == dict(NEAREST)


@pytest.mark.parametrize("name", [n for n in NEAREST if n in KINDS])
def test_each_is_refused_with_its_line(name):
    domain = TARGET if KINDS[name] == "regressor" else BOX
    instead, differs = nearest_to(name, "PrivateRegressor" if domain is TARGET else "PrivateClassifier")
    with pytest.raises(ValueError) as told:
        read_estimator(object.__new__(NAMES[name]), domain)
    assert str(told.value).startswith(f"{name}: it has no private learner")
    assert instead in str(told.value) and differs in str(told.value)


def test_a_search_around_a_pipeline_names_the_pipeline():
    inner = make_pipeline(StandardScaler(), NAMES["LogisticRegression"]())
    with pytest.raises(ValueError, match="the pipeline inside of it"):
        reading(GridSearchCV(inner, {}), BOX)
    calibrated = make_pipeline(StandardScaler(), CalibratedClassifierCV(NAMES["LogisticRegression"]()))
    with pytest.raises(ValueError, match="its estimator alone"):
        reading(calibrated, BOX)


CHOICES = sorted({(instead, KINDS.get(name)) for name, (instead, _) in NEAREST.items()}, key=str)


@pytest.mark.parametrize("instead, kind", CHOICES, ids=str)
def test_each_choice_that_is_code_can_be_planned(instead, kind):
    domain = TARGET if kind == "regressor" else BOX
    default = "PrivateRegressor" if domain is TARGET else "PrivateClassifier"
    written = instead.format(default=default)
    if written.startswith("prepriv.Private"):
        assert eval(written, {"prepriv": prepriv, "domain": domain}).plan().guarantee.epsilon(1e-5) <= 1.0
        return
    parts = [part for part in written.split(", then ") if re.fullmatch(r"\w+\(.*\)", part)]
    if not parts:
        assert not re.search(r"\w\(\w*[=\d]", written) or "threshold=" in written
        return
    made = [eval(part, {**NAMES, "n_components": 2}) for part in parts]
    plan = private(make_pipeline(StandardScaler(), *made), domain).plan()
    assert plan.guarantee.epsilon(1e-5) <= 1.0
