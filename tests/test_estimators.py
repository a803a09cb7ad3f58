"""scikit-learn's conventions, and every exception with its reason."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from prepriv import Budget, Domain, PrivateClassifier
from prepriv import preprocessing as pre


class DeclaredForTheCheck(PrivateClassifier):
    """scikit-learn's checks bring their own data and declare nothing: this reads the domain off it.

    Exactly what the library refuses to do on private data; here the data is scikit-learn's.
    """

    def fit(self, X, y):
        x, labels = np.asarray(X), np.asarray(y, dtype=object).ravel() if y is not None else np.array([])
        features = x.shape[1] if x.ndim == 2 and x.shape[1] else 1
        classes = sorted(set(labels.tolist()), key=str)
        self._read_off = Domain.box(-20, 20, features, classes if len(classes) > 1 else [0, 1])
        return super().fit(X, y)

    def _domain(self):
        return self._read_off


EXPECTED_TO_FAIL = {
    "check_complex_data": "one complex cell makes a whole matrix complex: it is encoded by the declared rule",
    "check_dtype_object": "a cell of an odd type is encoded by the declared rule (missing): no record can abort a run",
    "check_classifiers_regression_target": "a label outside the declared classes counts as nothing, for the same reason",
    "check_supervised_y_no_nan": "a missing label counts as nothing, for the same reason",
}
TWO_FITS_DIFFER = {
    "check_classifier_data_not_an_array": "it compares two fits, which draw different noise",
    "check_supervised_y_2d": "it compares two fits, which draw different noise",
    "check_fit_idempotent": "it compares two fits, which draw different noise: that is what privacy is",
}


def failures(epsilon, excused):
    results = check_estimator(
        DeclaredForTheCheck(epsilon=epsilon, delta=0.01), expected_failed_checks=excused, on_fail=None
    )
    failed = [f"{r['check_name']}: {r['exception']!r}"[:300] for r in results if r["status"] == "failed"]
    return failed, {r["check_name"] for r in results if r["status"] == "xfail"}, len(results)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_without_noise_so_that_every_exception_is_needed():
    failed, excused, run = failures(math.inf, EXPECTED_TO_FAIL)
    assert not failed, "\n".join(failed)
    assert excused == set(EXPECTED_TO_FAIL) and run >= 40


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_with_noise():
    failed, _, _ = failures(10.0, {**EXPECTED_TO_FAIL, **TWO_FITS_DIFFER})
    assert not failed, "\n".join(failed)


@pytest.fixture
def data(rng):
    x = rng.random((400, 3))
    return x, (x[:, 0] > x[:, 1]).astype(int)


DOMAIN = Domain.box(0, 1, 3, [0, 1])


def test_get_params_set_params_clone():
    classifier = PrivateClassifier(DOMAIN, epsilon=2.0, steps=[pre.Center(payment=Budget(0.1))])
    copy = clone(classifier)
    assert copy.get_params()["epsilon"] == 2.0 and copy.domain.to_json() == DOMAIN.to_json()
    assert copy.set_params(epsilon=3.0).epsilon == 3.0
    assert not hasattr(classifier, "plan_")


def test_in_a_pipeline_and_cross_validation(data):
    x, y = data
    model = make_pipeline(FunctionTransformer(), PrivateClassifier(DOMAIN, epsilon=8.0))
    assert cross_val_score(model, x, y, cv=3).shape == (3,)


@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        pd.DataFrame,
        lambda x: pl.DataFrame(x),
        lambda x: pa.table(pd.DataFrame(x).rename(columns=str)),
    ],
)
def test_matrix_pandas_polars_arrow(data, make):
    x, y = data
    table = make(x)
    classifier = PrivateClassifier(DOMAIN, epsilon=8.0).fit(table, y)
    assert set(classifier.predict(table)) <= {0, 1}
    assert classifier.predict_proba(table).sum(axis=1) == pytest.approx(np.ones(400))
    assert np.array_equal(classifier.predict(x), classifier.predict(table))
    assert classifier.guarantee_.epsilon(1e-5) <= 8.0


def test_classes_are_the_declared_ones_whatever_the_data_holds(data):
    x, y = data
    domain = Domain.box(0, 1, 3, ["a", "b", "c"])
    labels = np.array(["a", "b"])[y]
    classifier = PrivateClassifier(domain).fit(x, labels)
    assert classifier.classes_.tolist() == ["a", "b", "c"] and classifier.predict_proba(x).shape == (400, 3)
    other = labels.astype(object)
    other[0] = "z"
    assert PrivateClassifier(domain).fit(x, other).classes_.tolist() == ["a", "b", "c"]


def test_plan_without_data():
    plan = PrivateClassifier(DOMAIN, epsilon=1.0).plan(n=1000)
    assert plan.guarantee.epsilon(1e-5) <= 1.0


@pytest.mark.parametrize(
    "options, says",
    [
        ({"domain": None}, "domain must be declared"),
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"epsilon": math.nan}, "epsilon must be positive"),
        ({"delta": 1.0}, "delta must lie"),
        ({"steps": "best"}, "steps must be"),
        ({"learner": "sgd"}, "learner must be"),
        ({"domain": Domain.box(0, 1, 2, [0, 1])}, "2 features"),
        ({"domain": Domain.box(0, 1, 3, [0, 1], adjacency="add-or-remove-one")}, "n, the number of records"),
    ],
)
def test_mistakes_are_sentences(data, options, says):
    with pytest.raises(ValueError, match=says):
        PrivateClassifier(**{"domain": DOMAIN, **options}).fit(*data)


def test_not_fitted(data):
    with pytest.raises(NotFittedError):
        PrivateClassifier(DOMAIN).predict(data[0])
