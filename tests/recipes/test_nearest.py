"""Estimators that are not taken: a line each in docs/your-pipeline.md, as the code has them, and each choice can be planned."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn.experimental.enable_halving_search_cv
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import f_regression
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


CHOICES = sorted({(*line, KINDS.get(name)) for name, line in NEAREST.items()}, key=str)


ROWS = 5000
MADE_UP = np.random.default_rng(5).random((ROWS, 3))
OTHER_FIELDS = {
    "prepriv": prepriv,
    "Numeric": prepriv.Numeric,
    "low": 1.0,
    "high": 9.0,
    "f_regression": f_regression,
    "n_components": 2,
}


FITTED: tuple[set[str], set[str]] = (
    set(),
    set(),
)  # parts of hints that were fitted: several estimators have the same


def _models(text, domain):
    """Each expression of a hint that looks like Python, as a private model; those of a chain stand in one pipeline."""
    given = {**NAMES, **OTHER_FIELDS, "domain": domain}
    default = "PrivateRegressor" if domain is TARGET else "PrivateClassifier"
    for part in re.split(r"\. |; |, (?!then |[^()]*\))", text.format(default=default)):
        code = re.findall(r"(?:prepriv\.)?[A-Z]\w*\([^()]*\)", part)
        made = [
            eval(one.replace("SelectKBest(f_regression)", "SelectKBest(f_regression, k=2)"), given)
            for one in code
        ]
        made = [one for one in made if not isinstance(one, prepriv.Numeric)]
        if any(hasattr(one, "plan") for one in made):
            assert len(made) == 1
            yield part, made[0]
        elif made:
            made += (
                []
                if hasattr(made[-1], "predict")
                else [NAMES["Ridge" if domain is TARGET else "LogisticRegression"]()]
            )
            yield part, private(make_pipeline(StandardScaler(), *made), domain)


@pytest.mark.parametrize("instead, differs, kind", CHOICES, ids=str)
def test_each_hint_that_is_code_exists_and_is_fitted(instead, differs, kind):
    domain = TARGET if kind == "regressor" else BOX
    y = MADE_UP[:, 0] if domain is TARGET else (MADE_UP[:, 0] > 0.5).astype(int)
    models = [*_models(instead, domain), *_models(differs, domain)]
    for part, model in models:
        assert model.plan(ROWS).guarantee.epsilon(1e-5) <= 1.0, part
        if part not in FITTED[domain is TARGET]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                told = clone(model).fit(MADE_UP, y).predict(MADE_UP[:5])
            assert np.isfinite(np.asarray(told, dtype=float)).all()
            FITTED[domain is TARGET].add(part)
    for name in re.findall(r"prepriv\.(\w+)", instead):
        assert hasattr(prepriv, name)
    if not models:
        assert not re.search(r"\w\(\w*[=\d]", instead) or "threshold=" in instead or "log=True" in instead


@pytest.mark.parametrize("instead, differs, kind", CHOICES, ids=str)
def test_a_hint_that_promises_random_features_has_them_in_its_plan(instead, differs, kind):
    """`PrivateRegressor(domain)` was named for KNeighborsRegressor with random features, which its recipe does not have."""
    domain = TARGET if kind == "regressor" else BOX
    if "random features" not in f"{instead} {differs}" or "RBFSampler" in instead:
        return
    (_, model), *_ = _models(instead, domain)
    assert "RandomFeatures" in {type(one.step).__name__ for one in model.plan().steps}


@pytest.mark.parametrize("name", ["OrdinalEncoder", "OneHotEncoder"])
def test_an_encoder_of_listed_categories_is_told_what_scikit_learn_takes(name):
    domain = prepriv.Domain({"a": prepriv.Categorical(["x", "y", "z"])}, target=prepriv.Numeric(0, 1), n=500)
    make = lambda text="": eval(f"{name}(categories=[['x', 'y', 'z']]{text})", NAMES)  # noqa: E731
    with pytest.raises(ValueError) as told:
        private(make_pipeline(make(), NAMES["Ridge"]()), domain).plan()
    given = re.search(r"give (handle_unknown=.*)$", str(told.value))
    assert given is not None
    assert private(make_pipeline(make(", " + given[1]), NAMES["Ridge"]()), domain).plan().n == 500


def test_targets_that_differ_are_said_to_differ():
    raw = prepriv.Domain.box(1, 9, features=2, target=prepriv.Numeric(1, 9), n=500)
    log = prepriv.Domain.box(1, 9, features=2, target=prepriv.Numeric(1, 9, log=True), n=500)
    with pytest.raises(ValueError, match="targets of candidates 1 and"):
        prepriv.choose(
            [prepriv.PrivateRegressor(raw), prepriv.PrivateRegressor(log)],
            MADE_UP[:500, :2],
            MADE_UP[:500, 0],
            raw,
        )


def test_with_more_than_two_classes_the_hint_for_a_kernel_is_true():
    """LinearSVC is for two classes: the hint names LogisticRegression for more."""
    three = prepriv.Domain.box(0, 1, features=3, classes=[0, 1, 2], n=5000)
    start = StandardScaler(), NAMES["RBFSampler"](gamma="scale", n_components=20)
    with pytest.raises(ValueError, match="separates two classes"):
        private(make_pipeline(*start, NAMES["LinearSVC"]()), three).plan()
    assert private(make_pipeline(*start, NAMES["LogisticRegression"]()), three).plan().n == 5000
