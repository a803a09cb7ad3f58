"""A target whose logarithm is learned: each number by itself, predicted and measured in its own unit, wherever the model goes."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import yaml

from prepriv import Domain, Numeric, PrivateRegressor
from prepriv.description.asked import plan_questions
from prepriv.description.describe import plan_description
from prepriv.domain import TARGET_STEPS
from prepriv.evaluation.cells import row_entries
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.release.model import Model
from prepriv.schemas.declared_file import BadSchema
from prepriv.schemas.schema import load_schema
from prepriv.tables.encoding import encode, encode_target, encode_targets

PRICE, COUNT = Numeric(2, 5000, log=True), Numeric(0, 300, log=True)
TARGETS = pytest.mark.parametrize(
    "target", [PRICE, COUNT, Numeric(1e-9, 1e9, log=True), Numeric(0, 1e-6, log=True)]
)


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random((n, 3))
    return x, np.exp(5 * x[:, 0] - 2 * x[:, 1] + 2 + 0.3 * rng.normal(size=n))


def fitted(target=PRICE, **settings):
    x, y = table()
    domain = Domain.box(0, 1, 3, target=target, n=len(y))
    return PrivateRegressor(domain, **{"epsilon": math.inf} | settings).fit(x, y), x, y


@TARGETS
def test_a_number_stands_where_its_logarithm_does(target):
    inside = np.geomspace(max(target.low, target.high * 1e-9), target.high, 500)
    numbers = np.concatenate([[target.low, target.high], inside])
    a, b = (math.log(Fraction(end) + int(target.low == 0)) for end in (target.low, target.high))
    expected = [(math.log(Fraction(v) + int(target.low == 0)) - a) / (b - a) for v in numbers]
    steps = encode_target(numbers, target)
    assert np.abs(steps - np.array(expected) * TARGET_STEPS).max() < 1.01
    assert steps[:2].tolist() == [0, TARGET_STEPS] and (np.diff(steps[2:]) >= 0).all()
    back = target.numbers(steps / TARGET_STEPS)
    added = target.added
    np.testing.assert_allclose(
        back + added, numbers + added, rtol=math.log((b - a) / TARGET_STEPS + 1) * 2 + 1e-5
    )


def test_cells_beyond_the_bounds_are_cut_and_what_is_no_number_counts_as_nothing():
    said = ["-5", "0", "1", "1e9", "x", None, math.nan, "inf", "7"]
    steps = encode_target(said, PRICE)
    assert steps[[0, 1, 2]].tolist() == [0, 0, 0] and steps[3] == TARGET_STEPS
    assert (steps[4:7] == -1).all() and 0 < steps[8] < TARGET_STEPS


def test_a_cell_has_the_same_bits_wherever_it_stands():
    numbers = np.random.default_rng(0).uniform(2, 5000, 333)
    whole = encode_target(numbers, PRICE)
    assert [int(encode_target([v], PRICE)[0]) for v in numbers] == whole.tolist()
    shares = whole / TARGET_STEPS
    assert [PRICE.numbers(shares[i : i + 1])[0] for i in range(len(shares))] == PRICE.numbers(shares).tolist()


@pytest.mark.parametrize("target", [PRICE, COUNT])
def test_it_is_a_regression_of_logarithms_that_predicts_numbers(target):
    reg, x, y = fitted(target)
    low, high = target.log_ends
    logs = PrivateRegressor(Domain.box(0, 1, 3, target=Numeric(low, high), n=len(y)), epsilon=math.inf).fit(
        x, np.log(np.clip(y, target.low, target.high) + target.added)
    )
    np.testing.assert_allclose(reg.predict(x), np.exp(logs.predict(x)) - target.added, rtol=1e-6)
    assert 1 - np.square(reg.predict(x) - y).mean() / y.var() > 0.5


@pytest.mark.parametrize("target", [PRICE, COUNT])
def test_every_way_out_predicts_the_same_numbers(target, tmp_path):
    reg, x, _ = fitted(target)
    model, predicted = reg.model_, reg.predict(x)
    model.save(tmp_path / "model")
    assert (Model.load(tmp_path / "model").predict(x) == predicted).all()
    theirs = model.to_sklearn()
    np.testing.assert_allclose(np.clip(theirs.predict(x), target.low, target.high), predicted, rtol=1e-9)
    onnxruntime = pytest.importorskip("onnxruntime")
    from prepriv.integrations.onnx_model import onnx_rows

    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    (found,) = session.run(None, onnx_rows(x, model.domain))
    np.testing.assert_allclose(found[:, 0], predicted, rtol=1e-12)


def test_scikit_learn_has_the_names_of_columns():
    reg, x, _ = fitted(steps=[])
    rows = pd.DataFrame(x, columns=["x0", "x1", "x2"])
    theirs = reg.model_.to_sklearn()
    assert theirs.regressor_.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    np.testing.assert_allclose(np.clip(theirs.predict(rows), 2, 5000), reg.predict(x), rtol=1e-9)


def test_an_evaluation_measures_in_the_unit_of_the_number():
    reg, x, y = fitted()
    y = np.clip(y, 2, 5000)
    plan = plan_evaluation(reg.model_, n=len(y), epsilon=1.0, error_bound=500.0, measures=("r2", "residuals"))
    found = row_entries(plan, reg.model_, encode(x, reg.model_.domain), encode_targets(y, reg.model_.domain))
    error = y - reg.predict(x)
    np.testing.assert_allclose(found["absolute_error"], np.minimum(np.abs(error) / 500, 1), atol=1e-5)
    np.testing.assert_allclose(found["target"], (y - 2) / 4998, atol=1e-5)
    edges = (2 * np.array(plan.edges) - 1) * 500
    clear = np.abs(error[:, None] - edges).min(axis=1) > 0.01
    assert (found["residuals"] == np.searchsorted(edges, error, side="right"))[clear].all()
    np.testing.assert_allclose(found["mean_residual"], (np.clip(error / 500, -1, 1) + 1) / 2, atol=1e-5)


def test_a_domain_and_a_schema_keep_it(tmp_path):
    domain = Domain({"a": Numeric(0, 1)}, target=PRICE)
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain
    assert "log" not in json.dumps(Domain({"a": Numeric(0, 1)}, target=Numeric(2, 5000)).to_json())
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(schema := {
        "columns": {"a": {"type": "numeric", "low": 0, "high": 1}},
        "label": {"name": "price", "low": 2, "high": 5000, "log": True},
    }))  # fmt: skip
    assert load_schema(tmp_path / "s.yaml").domain().target == PRICE
    schema["label"] = {"name": "price", "classes": ["a", "b"], "log": True}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(schema))
    with pytest.raises(BadSchema, match="beside classes"):
        load_schema(tmp_path / "s.yaml")


def test_what_has_no_logarithm_is_refused():
    with pytest.raises(ValueError, match="0 or above"):
        Numeric(-1, 5, log=True)
    with pytest.raises(ValueError, match="date"):
        Numeric("2000-01-01", "2001-01-01", written="date", log=True)
    with pytest.raises(ValueError, match="log must be"):
        Numeric(1, 5, log="yes")
    with pytest.raises(ValueError, match="for a target"):
        Domain({"a": PRICE}, ("x", "y"))


def test_a_description_takes_the_target_as_the_number_it_is():
    domain = Domain({"a": Numeric(0, 1)}, target=PRICE, label="price", n=100)
    assert plan_description(domain, epsilon=1.0).domain.columns["price"] == Numeric(2, 5000)
    asked = plan_questions(domain, ["mean(price)"], epsilon=1.0)
    assert asked.domain.columns["price"] == Numeric(2, 5000, "impute")


@pytest.mark.parametrize("ends", [(0.0, 1e-20), (1e10, 1e10 + 1e-5)])
def test_bounds_whose_logarithms_are_one_number_are_refused(ends):
    """Every target was outside of them, and the fit was charged."""
    with pytest.raises(ValueError, match=r"log=True tells .* apart by less"):
        Numeric(*ends, log=True)
