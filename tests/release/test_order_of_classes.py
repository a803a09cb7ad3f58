"""Columns of probabilities: ascending classes wherever a model is read, and the order of the file in models of earlier versions."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

from prepriv import Domain, Model, Numeric, PrivateClassifier, choose
from prepriv.domain import drafted_content
from prepriv.integrations.onnx_model import onnx_rows

DECLARED = [("good", "bad"), ("c", "a", "b"), (2, 1), (True, False)]


def rows(classes, n=300):
    x = np.random.default_rng(0).uniform(-1, 1, (n, 2))
    edges = [0.0] if len(classes) == 2 else [-0.3, 0.3]
    return x, np.array(classes)[np.digitize(x[:, 0], edges)]


def kept(classes):
    """A domain as files of earlier versions hold it."""
    plain = Domain.box(-1, 1, 2, sorted(classes)).to_json()
    return Domain.from_json(plain | {"classes": list(classes)})


def in_onnx(model, x):
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    return session.run(["probabilities"], onnx_rows(x, model.domain))[0]


@pytest.mark.parametrize("classes", DECLARED, ids=str)
def test_columns_are_ascending_classes_wherever_a_model_is_read(classes, tmp_path):
    x, y = rows(classes)
    domain = Domain.box(-1, 1, 2, classes, n=len(x))
    assert list(domain.classes) == sorted(classes)
    clf = PrivateClassifier(domain, epsilon=30.0, steps="linear").fit(x, y)
    chosen = choose(["linear", "auto-0.2"], x, y, domain, epsilon=30.0)
    for k, made in enumerate((clf.model_, chosen.model_)):
        loaded = Model.load(made.save(tmp_path / str(k)))
        assert made.classes_.tolist() == loaded.classes_.tolist() == sorted(classes)
        theirs = made.to_sklearn()
        assert theirs.classes_.tolist() == sorted(classes)
        p = made.predict_proba(x)
        assert (loaded.predict_proba(x) == p).all()
        np.testing.assert_allclose(in_onnx(made, x), p, atol=1e-9)
        assert (np.array(sorted(classes))[p.argmax(axis=1)] == y).mean() > 0.8
        assert (theirs.predict_proba(x).argmax(axis=1) == p.argmax(axis=1)).mean() > 0.95
    assert clf.classes_.tolist() == sorted(classes)
    assert (clf.predict_proba(x) == clf.model_.predict_proba(x)).all()


@pytest.mark.parametrize("classes", DECLARED, ids=str)
def test_a_domain_of_an_earlier_file_keeps_its_order_and_an_estimator_turns_it(classes, tmp_path):
    domain = kept(classes)
    for same in (
        domain,
        domain.with_n(5),
        replace(domain, label="y"),
        copy.deepcopy(domain),
        pickle.loads(pickle.dumps(domain)),
    ):
        assert same.classes == classes
    x, y = rows(classes)
    clf = PrivateClassifier(domain, epsilon=30.0, steps="linear").fit(x, y)
    loaded = Model.load(clf.model_.save(tmp_path))
    assert loaded.classes_.tolist() == list(classes) == list(loaded.domain.classes)
    assert clf.classes_.tolist() == loaded.to_sklearn().classes_.tolist() == sorted(classes)
    turn = [classes.index(value) for value in sorted(classes)]
    assert (clf.predict_proba(x) == loaded.predict_proba(x)[:, turn]).all()
    assert (clf.predict(x) == loaded.predict(x)).all() and (loaded.predict(x) == y).mean() > 0.8


def test_a_pickle_of_an_earlier_version_keeps_its_order():
    """Its classes are a plain tuple, which `replace` would sort away from the outputs of its model."""
    domain = Domain.box(0, 1, 1, ("a", "b"))
    domain.__dict__["classes"] = ("b", "a")
    assert pickle.loads(pickle.dumps(domain)).with_n(5).classes == ("b", "a")


def test_classes_of_a_draft_are_the_same_as_texts_and_as_numbers():
    """Texts and numbers have different ascending orders."""
    columns = {"a": Numeric(0, 1)}
    assert drafted_content(columns, ("10", "9"), None) == drafted_content(columns, (9, 10), None)


def test_classes_that_cannot_be_compared_stay_as_declared():
    assert Domain.box(0, 1, 1, ("b", 1)).classes == ("b", 1)
