"""Models as ONNX, run by onnxruntime, against the library: raw rows in, identical labels."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from exported_models import CASES, MAPS, fitted, with_map
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectFpr, VarianceThreshold
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from prepriv import Categorical, Domain, PrivateClassifier
from prepriv.integrations.onnx_maps import MAPS as GRAPHS
from prepriv.integrations.onnx_maps import Graph
from prepriv.integrations.onnx_model import IR, OPSET, NotExportable, onnx_rows
from prepriv.preprocessing.compiled import CompiledMap
from prepriv.preprocessing.fitted import Fitted
from prepriv.preprocessing.sklearn_spec import UFUNCS
from transformers import CASES as COMPILED
from transformers import NUMBERS, name_of, rows_of

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


def check_compiled(case):
    """The graph of a compiled pipeline against the map: equal bits, but where a logarithm or a root is another one."""
    transformer, domain = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_graph(Fitted.of(transformer, domain).fit_drawn(*rows_of(domain, 150)), domain)


def check_graph(made, domain):
    x, g = rows_of(domain, 40, seed=2)[0], Graph()
    g("Identity", GRAPHS[type(made)](g, "x", x.shape[1], made), out="y")
    given, found = (
        g.helper.make_tensor_value_info(name, g.helper.TensorProto.DOUBLE, shape)
        for name, shape in (("x", ["n", x.shape[1]]), ("y", ["n", made.features]))
    )
    graph = g.helper.make_graph(g.nodes, "map", [given], [found], g.constants)
    proto = g.helper.make_model(graph, opset_imports=[g.helper.make_opsetid("", OPSET)], ir_version=IR)
    session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"x": x})[0], made.transform(x), rtol=0, atol=1e-14)


SOME = {
    "SimpleImputer",
    "OneHotEncoder",
    "StandardScaler",
    "QuantileTransformer",
    "KBinsDiscretizer",
    "Normalizer",
    "KMeans",
    "PolynomialFeatures",
}
FUNCTIONS = [
    (FunctionTransformer(getattr(np, name)), NUMBERS)
    for name in UFUNCS
    if name not in ("arctan", "reciprocal")
]


NO_GRAPH = {"KNNImputer", "NMF"}


@pytest.mark.parametrize("case", [c for c in COMPILED if type(c[0]).__name__ in SOME], ids=name_of)
def test_a_compiled_pipeline_is_a_graph(case):
    check_compiled(case)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [*(c for c in COMPILED if type(c[0]).__name__ not in NO_GRAPH), *FUNCTIONS], ids=name_of
)
def test_every_compiled_pipeline_is_a_graph(case):
    check_compiled(case)


@pytest.mark.parametrize("name", sorted(NO_GRAPH))
def test_what_has_no_graph_says_what_reads_it(name):
    case = next(c for c in COMPILED if type(c[0]).__name__ == name)
    with pytest.raises(ValueError, match=r"examples/score\.py"):
        check_compiled(case)


def test_parts_side_by_side_and_none_kept_are_a_graph():
    scaled = make_pipeline(SelectFpr(alpha=0.9), StandardScaler())
    check_compiled((FeatureUnion([("a", scaled), ("b", PCA(2))], transformer_weights={"b": 2.0}), NUMBERS))
    step = Fitted.of(VarianceThreshold(0.5), NUMBERS)
    check_graph(CompiledMap(step.columns, '[{"do": "take", "of": []}]', 3), NUMBERS)
    with pytest.raises(ValueError, match="arctan of double numbers"):
        check_compiled((FunctionTransformer(np.arctan), NUMBERS))


def test_the_metadata_name_the_columns_of_probabilities():
    model, _ = fitted("linear")
    turned = replace(
        model, domain=Domain.from_json(model.domain.to_json() | {"classes": ["yes", "no"]})
    )  # of an earlier version
    assert turned.domain.classes == ("yes", "no")
    for made in (model, turned):
        said = {prop.key: prop.value for prop in made.to_onnx().metadata_props}
        assert json.loads(said["classes"]) == list(made.domain.classes)


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
