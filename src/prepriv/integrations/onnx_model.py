"""A released model as an ONNX graph in double precision: raw rows in, labels and probabilities out. Needs `prepriv[onnx]`.

Columns of `probabilities` are in the order of the domain's classes, which the metadata name as JSON under "classes".

One input a declared column, (n, 1): double for numbers, text for categories, spelled as `onnx_rows` spells them. A model over
numbers alone, or a ball, has one input "rows", (n, d). The maps cut and round as they do here, so that labels are the same.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.columns import Categorical, Numeric, Text
from prepriv.domain import Domain
from prepriv.integrations.onnx_maps import MAPS, Graph
from prepriv.plans.link import Link
from prepriv.tables.cell import text, text_of
from prepriv.tables.column import cells, numbers_in
from prepriv.tables.encoding import MISSING_TEXT, columns_of

OPSET, IR = 18, 9


class NotExportable(ValueError):
    """The model has a part that ONNX has no form for here."""


def _by_column(domain: Domain) -> bool:
    """Whether the graph has an input a column, for there are texts among them."""
    return not all(isinstance(c, Numeric) for c in domain.columns.values())


def onnx_rows(data: Any, domain: Domain) -> dict[str, NDArray[Any]]:
    """The inputs of the graph: raw rows of any container, each category spelled as the graph knows it.

    Raises BadData where the rows are not of the domain's form.
    """
    columns = columns_of(data, domain)
    if not _by_column(domain):
        ways = [getattr(kind, "written", "number") for kind in domain.columns.values()] or ["number"] * len(
            columns
        )
        return {"rows": np.column_stack([numbers_in(c, way) for c, way in zip(columns, ways)])}
    made = {}
    for (name, kind), column in zip(domain.columns.items(), columns):
        if isinstance(kind, Numeric):
            made[name] = numbers_in(column, kind.written)[:, None]
            continue
        codes, distinct = cells(column)
        known = {text_of(c) for c in kind.categories} if isinstance(kind, Categorical) else set()
        spelled = [_spelled(text(cell), known) for cell in (*distinct, None)]
        made[name] = np.array(spelled, dtype=object)[codes][:, None]
    return made


def _spelled(name: str, known: set[str]) -> str:
    """A category as the graph knows it: a gap in one way of the many that there are, and what is not UTF-8 as some other text."""
    if name not in known and name.lower() in MISSING_TEXT:
        return next((gap for gap in sorted(MISSING_TEXT) if gap not in known), name)
    return name.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _encoded(g: Graph, domain: Domain) -> tuple[str, list[Any]]:
    """(encoded rows, the inputs)."""
    number = g.helper.TensorProto.DOUBLE
    if not _by_column(domain):
        given = [g.helper.make_tensor_value_info("rows", number, ["n", domain.n_inputs])]
        return _in_ball(g, domain) if domain.is_ball else _numeric(
            g, "rows", [*domain.columns.values()]
        ), given
    given, made = [], []
    for name, column in domain.columns.items():
        if isinstance(column, Text):
            raise NotExportable(
                f"column {name!r} is a text, whose {'cutting into pieces' if column.encoder else 'hashing'} ONNX has no form for"
            )
        kind = number if isinstance(column, Numeric) else g.helper.TensorProto.STRING
        given.append(g.helper.make_tensor_value_info(name, kind, ["n", 1]))
        if isinstance(column, Numeric):
            made.append(_numeric(g, name, [column]))
            continue
        known = {text_of(c): i for i, c in enumerate(column.categories)}
        for gap in MISSING_TEXT:
            for spelled in (gap, gap.upper(), gap.capitalize()):
                known.setdefault(spelled, len(column.categories) + 1)
        options: dict[str, Any] = {
            "keys_strings": [*known],
            "values_int64s": [*known.values()],
            "default_int64": len(column.categories),
        }
        code = g.cast(g("LabelEncoder", name, domain="ai.onnx.ml", **options), np.float64)
        made.append(g.cast(g("Equal", code, np.arange(column.width * 1.0)), np.float64))
    return g.concat(*made), given


def _numeric(g: Graph, x: str, columns: list[Any]) -> str:
    low, high = np.array([[c.low for c in columns], [c.high for c in columns]])
    unit = g.clip(g("Div", g("Sub", g.clip(x, low, high), low), high - low), 0.0, 1.0)
    stays = np.array([c.missing == "impute" for c in columns])
    gap = g("And", g("IsNaN", unit), g.constant(~stays, bool))
    return unit if stays.all() else g("Where", gap, 0.5, unit)


def _in_ball(g: Graph, domain: Domain) -> str:
    broken = g("Or", g("IsNaN", "rows"), g("IsInf", g.cast("rows", np.float64)))
    row = g("Greater", g.over_rows("ReduceMax", g.cast(broken, np.float64)), 0.0)
    assert domain.ball_radius is not None
    return g.into_ball(g("Where", row, 0.0, "rows"), domain.ball_radius)


def _probabilities(g: Graph, scores: str, norms: str, outputs: int, link: Link | None) -> str:
    """As `Link.probabilities` has them."""
    s = scores if link is None else g("Mul", link.shrink, scores)
    q = g("Softmax", g.concat(g.constant_column(s, 0.0), s) if outputs == 1 else s, axis=1)
    if link is None:
        return q
    classes = max(outputs, 2)
    if outputs == 1:
        residual = g.columns(q, [1, 0])
    else:
        others = 1 - np.eye(classes)
        square, rest = g("Mul", q, q), g("MatMul", q, others)
        residual = g("Sqrt", g("Add", g("Mul", rest, rest), g("MatMul", square, others)))
    norm = g.constant([[link.norm]]) if link.norm is not None else g(
        "Sqrt", g("Add", g("Mul", norms, norms), link.bias**2)
    )  # fmt: skip
    p = g("Mul", q, g("Max", g("Div", residual, g("Div", link.clip, norm)), 1.0))
    p, raw = g("Div", p, g.over_rows("ReduceSum", p)), link.share(classes)
    return g("Add", g("Mul", raw, q), g("Mul", 1 - raw, p))


def to_onnx(model: Any) -> Any:
    """`Model.to_onnx`."""
    try:
        import onnx
    except ImportError:
        raise ImportError("to_onnx needs onnx: pip install 'prepriv[onnx]'") from None
    domain, g = model.domain, Graph()
    labels = _labels(domain)
    x, given = _encoded(g, domain)
    d = domain.space.d
    for released in model.maps:
        if type(released) not in MAPS:
            raise NotExportable(
                f"ONNX has no form here for the map {type(released).__name__}: a network takes one row at a time, and steps of a "
                "third party have a form of their own"
            )
        x = MAPS[type(released)](g, x, d, released)
        d = released.transform(np.zeros((1, d))).shape[1]
    scores = g("Add", g("MatMul", x, model.weights[:-1]), model.weights[-1])
    make = g.helper.make_tensor_value_info
    if labels is None:
        target = domain.target
        low, high = target.log_ends if target.log else (target.low, target.high)
        unit = g("Div", g("Add", g.clip(g.columns(scores, [0]), -1.0, 1.0), 1.0), 2.0)
        number = g("Add", low, g("Mul", high - low, unit))
        if target.log:
            number = g.clip(g("Sub", g("Exp", number), target.added), target.low, target.high)
        g("Identity", number, out="prediction")
        made = [make("prediction", g.helper.TensorProto.DOUBLE, ["n", 1])]
    else:
        outputs = model.weights.shape[1]
        p = _probabilities(g, scores, g.norms(x), outputs, model.link)
        best = (
            g("ArgMax", g("Mul", p, model.class_weight[None]), axis=1, keepdims=0)
            if model.class_weight is not None
            else g.cast(g("Greater", g("Squeeze", scores, g.constant([1], np.int64)), 0.0), np.int64)
            if outputs == 1
            else g("ArgMax", scores, axis=1, keepdims=0)
        )
        g("Gather", g.constant(labels, labels.dtype), best, out="label", axis=0)
        g("Identity", p, out="probabilities")
        kind = g.helper.np_dtype_to_tensor_dtype(labels.dtype)
        shape = ["n", len(domain.classes)]
        made = [make("label", kind, ["n"]), make("probabilities", g.helper.TensorProto.DOUBLE, shape)]
    graph = g.helper.make_graph(g.nodes, "prepriv", given, made, g.constants)
    sets = [g.helper.make_opsetid("", OPSET), g.helper.make_opsetid("ai.onnx.ml", 2)]
    proto = g.helper.make_model(graph, opset_imports=sets, ir_version=IR, producer_name="prepriv")
    if labels is not None:
        proto.metadata_props.add(key="classes", value=json.dumps(list(domain.classes), ensure_ascii=False))
    onnx.checker.check_model(proto)
    return proto


def _labels(domain: Domain) -> NDArray[Any] | None:
    """The classes as an array that a graph can hold; None for a target."""
    if domain.target is not None:
        return None
    kinds = {type(c) for c in domain.classes}
    for kind, dtype in ((str, object), (int, np.int64), (float, np.float64), (bool, np.bool_)):
        if kinds == {kind}:
            return np.array(domain.classes, dtype=dtype)
    raise NotExportable(
        "classes of several types have no tensor in ONNX: declare all as texts or all as numbers"
    )
