"""A model measured with weights that were declared after training, as `prepriv predict --class-weight` predicts with them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

import prepriv
from prepriv.cli import run
from prepriv.evaluation.evaluate import evaluate
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.plans.decision import decision

DOMAIN = prepriv.Domain.box(0, 1, 2, ["no", "yes"])
WEIGHTS = {"yes": 7.33}


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=3000) > 0.95, "yes", "no")
    return prepriv.PrivateClassifier(DOMAIN, epsilon=50.0, delta=1e-6).fit(X, y), X, y


def test_what_is_counted_are_the_predictions_with_these_weights(fitted):
    estimator, X, y = fitted
    model, before = estimator.model_, estimator.model_.text()
    p = model.predict_proba(X) * np.array(decision(DOMAIN, WEIGHTS)[1])
    wanted = confusion_matrix(y, np.array(["no", "yes"])[p.argmax(axis=1)])
    own = confusion_matrix(y, model.predict(X))
    assert np.abs(wanted - own).sum() > 500
    asked = {"epsilon": 1e5, "measures": ["confusion", "scores"]}
    with pytest.warns(UserWarning, match="as many test rows"):
        made = model.evaluate(X, y, class_weight=WEIGHTS, **asked)
    with pytest.warns(UserWarning, match="as many test rows"):
        plain = estimator.evaluate(X, y, **asked)
    assert np.abs(made.confusion - wanted).max() < 1 and np.abs(plain.confusion - own).max() < 1
    assert made["AUC"].value == pytest.approx(
        plain["AUC"].value, abs=1e-3
    )  # of the scores, which weights leave
    assert made.weighed and not plain.weighed and model.text() == before


def test_the_score_is_the_probability_of_the_class_that_the_weights_predict():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 2))
    s = X[:, 0] + 0.3 * rng.normal(size=3000)
    y = np.where(s > 0.95, "c", np.where(s > 0.5, "b", "a"))
    domain = prepriv.Domain.box(0, 1, 2, ["a", "b", "c"])
    fitted = prepriv.PrivateClassifier(domain, epsilon=50.0, delta=1e-6, class_weight={"c": 6}).fit(X, y)
    p, said = fitted.predict_proba(X), fitted.predict(X)
    its_own = p[np.arange(3000), np.searchsorted(["a", "b", "c"], said)]
    edges = np.linspace(0, 1, 401)[1:-1]
    asked = {"epsilon": 1e5, "measures": "scores", "bins": list(edges)}
    with pytest.warns(UserWarning, match="as many test rows"):
        gap = fitted.evaluate(X, y, **asked)["calibration gap"].value
    exact, of_largest = (said == y).mean() - its_own.mean(), (said == y).mean() - p.max(axis=1).mean()
    assert gap == pytest.approx(exact, abs=0.00125 + 1e-4) and abs(exact - of_largest) > 0.05


def test_the_plan_its_hash_and_all_that_is_read_of_it_say_the_weights(fitted):
    estimator, X, y = fitted
    model = estimator.model_
    plain, other = (plan_evaluation(model, n=len(X), class_weight=w) for w in (None, WEIGHTS))
    assert plain.hash != other.hash and plain.model == other.model
    assert "class_weight" not in plain.to_json() and other.to_json()["class_weight"] == [1.0, 7.33]
    assert "declared class weights" in other.what and "weights" not in plain.what
    assert other.guarantee.epsilon(1e-5) == plain.guarantee.epsilon(1e-5)
    made = evaluate(other, model, X, y)
    told = 'predicts "yes" above a probability of 0.120048'
    assert told in str(made) and told.replace('"', "&quot;") in made.to_html()
    assert json.loads(json.dumps(made.to_json()))["plan"]["class_weight"] == [1.0, 7.33]
    assert "class weights" not in str(evaluate(plain, model, X, y))


@pytest.mark.parametrize("given", ["balanced", {"maybe": 2}, {"yes": -1.0}, {}])
def test_what_is_not_declared_weights_is_refused(fitted, given):
    with pytest.raises(ValueError, match="class_weight"):
        plan_evaluation(fitted[0].model_, n=3000, class_weight=given)


def test_a_target_has_no_weights():
    domain = prepriv.Domain.box(0, 1, 2, target=prepriv.Numeric(0, 1))
    with pytest.raises(ValueError, match="class_weight"):
        plan_evaluation(domain, n=3000, class_weight=WEIGHTS)


def test_on_the_command_line(fitted, tmp_path, monkeypatch, capsys):
    estimator, X, y = fitted
    monkeypatch.chdir(tmp_path)
    estimator.model_.save("m.json")
    names = list(estimator.model_.domain.columns)
    rows = [f"{a},{b},{c}" for (a, b), c in zip(X[:2000], y)]
    (tmp_path / "t.csv").write_text("\n".join([",".join([*map(str, names), "y"]), *rows]) + "\n")
    asked = ["evaluate", "m.json", "t.csv", "--label", "y", "--epsilon", "100", "--out", "e.json"]
    assert run([*asked, "--class-weight", "balanced"]) == 2 and "counts classes" in capsys.readouterr().err
    assert run([*asked, "--class-weight", "{yes: 7.33}"]) == 0
    assert 'predicts "yes" above a probability of 0.12' in " ".join(capsys.readouterr().out.split())
    assert json.loads((tmp_path / "e.json").read_text())["plan"]["class_weight"] == [1.0, 7.33]
    assert run(["predict", "m.json", "t.csv", "--class-weight", "{yes: 7.33}"]) == 0
    assert "not about these weights" in capsys.readouterr().err
    assert run(["predict", "m.json", "t.csv"]) == 0
    assert "these weights" not in capsys.readouterr().err
