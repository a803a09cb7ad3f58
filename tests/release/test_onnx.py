"""Models as ONNX, run by onnxruntime, against the library: raw rows in, identical labels."""

from __future__ import annotations

import numpy as np
import pytest
from exported_models import CASES, MAPS, fitted, with_map

from prepriv import Categorical, Domain, PrivateClassifier
from prepriv.integrations.onnx_model import NotExportable, onnx_rows

pytest.importorskip("onnx", reason="ONNX is not installed: pip install 'prepriv[onnx]'")
runtime = pytest.importorskip(
    "onnxruntime", reason="onnxruntime is not installed: pip install 'prepriv[onnx]'"
)


def run(model, table):
    session = runtime.InferenceSession(
        model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    made = session.run(None, onnx_rows(table, model.domain))
    return dict(zip([o.name for o in session.get_outputs()], made))


def agree(model, table) -> None:
    made = run(model, table)
    if model.domain.target is not None:
        np.testing.assert_allclose(made["prediction"][:, 0], model.predict(table), rtol=1e-12)
        return
    assert made["label"].tolist() == model.predict(table).tolist()
    np.testing.assert_allclose(made["probabilities"], model.predict_proba(table), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", MAPS)
def test_each_map_is_a_graph(kind):
    agree(*with_map(kind))


@pytest.mark.parametrize("case", [c for c in CASES if c != "texts"])
def test_each_kind_of_model_is_a_graph(case):
    agree(*fitted(case))


@pytest.mark.parametrize("declared", [["u", "v"], ["u", "nan"], ["u", "?", "nUll"]])
def test_gaps_in_any_spelling_and_texts_that_are_none_have_the_same_labels(declared):
    cells = [
        "u",
        "v",
        "nan",
        "NaN",
        "nUll",
        "n/A",
        "nA",
        "null",
        "?",
        None,
        "\ud800",
        "u\udfff",
        "u\0",
        "other",
    ]
    rng = np.random.default_rng(0)
    names = np.array([*declared, None, "other"], dtype=object)[rng.integers(0, len(declared) + 2, 400)]
    domain = Domain({"c": Categorical(declared)}, classes=[0, 1])
    model = PrivateClassifier(domain, epsilon=50.0).fit(names[:, None], names == declared[-1]).model_
    agree(model, np.array(cells, dtype=object)[:, None])


def test_rows_at_the_border_have_the_same_labels():
    """Within about 1e-8 of it."""
    model, x = fitted("linear")
    zero, one = x[model.predict(x) == 0], x[model.predict(x) == 1]
    few = min(len(zero), len(one))
    zero, one = zero[:few], one[:few]
    for _ in range(30):
        middle = (zero + one) / 2
        right = (model.predict(middle) == 1)[:, None]
        zero, one = np.where(right, zero, middle), np.where(right, middle, one)
    near = np.concatenate([zero, one])
    assert run(model, near)["label"].tolist() == model.predict(near).tolist()


def test_what_onnx_has_no_form_for_is_refused_with_a_sentence():
    with pytest.raises(NotExportable, match="is a text, whose hashing"):
        fitted("texts")[0].to_onnx()
    domain = Domain.box(0, 1, 1, ["a", 1])
    model = PrivateClassifier(domain).fit([[0.0], [1.0]] * 50, ["a", 1] * 50).model_
    with pytest.raises(NotExportable, match="classes of several types"):
        model.to_onnx()
