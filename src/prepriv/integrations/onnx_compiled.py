"""Operations of a compiled pipeline of scikit-learn as nodes of an ONNX graph: sums in the same order as here, column by column."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from prepriv.preprocessing.compiled import CompiledMap, Op

if TYPE_CHECKING:
    from prepriv.integrations.onnx_maps import Graph


def compiled_graph(g: Graph, x: str, d: int, m: CompiledMap) -> str:
    """Rows of the encoded space to rows in [-1, 1], as `CompiledMap.transform`."""
    parts, at = [], 0
    for kind in json.loads(m.columns):
        if kind["type"] == "numeric":
            parts.append(g("Add", kind["low"], g("Mul", kind["high"] - kind["low"], g.columns(x, [at]))))
            at += 1
        else:
            width = len(kind["categories"]) + 2
            code = g("ArgMax", g.columns(x, range(at, at + width)), axis=1, keepdims=1)
            parts.append(g.cast(code, np.float64))
            at += width
    made, count = _run(g, json.loads(m.ops), g.concat(*parts), len(parts))
    if made is None:
        return g("Expand", 0.0, _shape(g, x, m.features))
    made, count = (made, count) if count <= m.features else (g.columns(made, range(m.features)), m.features)
    broken = g("Or", g("IsNaN", made), g("IsInf", made))
    inside = g("Where", broken, 0.0, g.clip(made, -1.0, 1.0))
    if count == m.features:
        return inside
    return g.concat(inside, g("Expand", 0.0, _shape(g, x, m.features - count)))


def _shape(g: Graph, x: str, columns: int) -> str:
    """(rows of x, columns)."""
    rows = g("Slice", g("Shape", x), *(g.constant([v], np.int64) for v in (0, 1)))
    return g("Concat", rows, g.constant([columns], np.int64), axis=0)


def _run(g: Graph, ops: Sequence[Op], x: str | None, count: int) -> tuple[str | None, int]:
    """(columns side by side, how many) after the operations; None for none."""
    for op in ops:
        if op["do"] == "beside":
            made = [_run(g, part, x, count) for part in op["parts"]]
            there = [name for name, _ in made if name is not None]
            x, count = (g.concat(*there) if there else None), sum(n for _, n in made)
        elif x is None or (op["do"] == "take" and not op["of"]):
            x, count = None, 0
        else:
            x = _DO[op["do"]](g, op, x, count)
            count = _COUNT.get(op["do"], lambda op, n: n)(op, count)
    return x, count


def _each(g: Graph, x: str, count: int) -> list[str]:
    return [g.columns(x, [j]) for j in range(count)]


def _affine(g: Graph, op: Op, x: str, n: int) -> str:
    return g("Add", g("Mul", g("Sub", x, op["minus"]), op["times"]), op["plus"])


def _gather(g: Graph, table: Any, code: str) -> str:
    """Rows of a table (codes, outputs) by codes (n, 1): (n, outputs)."""
    return g("Gather", table, g("Squeeze", g.cast(code, np.int64), g.constant([1], np.int64)), axis=0)


def _table(g: Graph, op: Op, x: str, n: int) -> str:
    parts = []
    for (i, size), some in groupby(zip(op["of"], op["values"]), key=lambda pair: (pair[0], len(pair[1]))):
        values = np.array([value for _, value in some], dtype=np.float64).T  # None is NaN
        code = g.columns(x, [i])
        code = g("Where", g("IsNaN", code), size - 1.0, g.clip(code, 0.0, size - 1.0))
        parts.append(_gather(g, values, code))
    return g.concat(*parts)


def _above(g: Graph, x: str, edges: Any, kind: str = "GreaterOrEqual") -> str:
    """How many edges each number has reached, (n, 1); all of them for NaN."""
    edges = np.asarray(edges, dtype=np.float64)
    if not len(edges):
        return g("Mul", g("Where", g("IsNaN", x), 0.0, g.finite(x)), 0.0)
    reached = g.over_rows("ReduceSum", g.cast(g(kind, x, edges[None]), np.float64))
    return g("Where", g("IsNaN", x), float(len(edges)), reached)


def _cut(g: Graph, op: Op, x: str, n: int) -> str:
    return g.concat(*(_above(g, v, edges) for v, edges in zip(_each(g, x, n), op["edges"])))


def _interp(g: Graph, op: Op, x: str, n: int) -> str:
    found = []
    for v, *lists in zip(_each(g, x, n), *(op[k] for k in ("at", "out", "into", "on"))):
        at, out, into, on = (np.array(values, dtype=np.float64) for values in lists)
        inside = g("Where", g("IsNaN", v), float(at[0]), g.clip(v, float(at[0]), float(at[-1])))
        i = g("Sub", _above(g, inside, at), 1.0)
        following = np.minimum(np.arange(len(at)) + 1, len(at) - 1)
        width = np.where(at[following] > at, at[following] - at, 1.0)
        below, wide, left, rise, here = (
            _gather(g, values[:, None], i) for values in (at, width, out, into[following] - out, on)
        )
        part = g("Div", g("Sub", inside, below), wide)
        y = g("Where", g("Equal", inside, below), here, g("Add", left, g("Mul", part, rise)))
        found.append(g("Where", g("IsNaN", v), math.nan, y))
    return g.concat(*found)


def _matrix(g: Graph, op: Op, x: str, n: int) -> str:
    weights, total = np.array(op["weights"], dtype=np.float64), g.constant([op["plus"]])
    for j, v in enumerate(_each(g, g("Sub", x, op["minus"]), n)):
        total = g("Add", total, g("Mul", v, weights[None, :, j]))
    return total


def _distances(g: Graph, op: Op, x: str, n: int) -> str:
    centres, total = np.array(op["centres"], dtype=np.float64), g.constant(0.0)
    for j, v in enumerate(_each(g, x, n)):
        apart = g("Sub", v, centres[None, :, j])
        total = g("Add", total, g("Mul", apart, apart))
    return g("Sqrt", total)


def _products(g: Graph, op: Op, x: str, n: int) -> str:
    factors = [[j for j, p in enumerate(powers) for _ in range(p)] for powers in op["powers"]]
    with_one, longest = g.concat(x, g.constant_column(x, 1.0)), max(map(len, factors))
    padded = np.array([[*f, *[n] * (longest - len(f))] for f in factors], dtype=np.int64)
    if not longest:
        return g.columns(with_one, [n] * len(factors))
    total = g.columns(with_one, padded[:, 0])
    for place in range(1, longest):
        total = g("Mul", total, g.columns(with_one, padded[:, place]))
    return total


def _unit(g: Graph, op: Op, x: str, n: int) -> str:
    size = g.constant([[0.0]])
    for v in _each(g, x, n):
        if op["norm"] == "max":
            size = g("Max", size, g("Abs", v))
        else:
            size = g("Add", size, g("Mul", v, v) if op["norm"] == "l2" else g("Abs", v))
    size = g("Sqrt", size) if op["norm"] == "l2" else size
    return g("Div", x, g("Where", g("Greater", size, 0.0), size, 1.0))


def _log1p(g: Graph, x: str) -> str:
    return g("Log", g("Add", 1.0, x))


def _expm1(g: Graph, x: str) -> str:
    return g("Sub", g("Exp", x), 1.0)


def _polynomial_in(g: Graph, x: str, coefficients: Sequence[float]) -> str:
    total = g.constant(coefficients[0])
    for c in coefficients[1:]:
        total = g("Add", g("Mul", total, x), c)
    return total


_MIDDLE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457, 13731.693765509461125,
     1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867, 5394.1960214247511077,
     687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
_TAIL = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258, 3.64784832476320460504,
     5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459, 0.68976733498510000455,
     1.6763848301838038494, 2.05319162663775882187, 1.0),
)  # fmt: skip
_FAR = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093, 0.29656057182850489123,
     1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4, 0.0148753612908506148525,
     0.13692988092273580531, 0.59983220655588793769, 1.0),
)  # fmt: skip


def _ndtri(g: Graph, p: str) -> str:
    """The quantile of a standard normal distribution: Wichura's AS 241, to about 1e-16."""

    def ratio(pair: Any, r: str) -> str:
        return g("Div", _polynomial_in(g, r, pair[0]), _polynomial_in(g, r, pair[1]))

    q = g("Sub", p, 0.5)
    middle = g("Mul", q, ratio(_MIDDLE, g("Sub", 0.180625, g("Mul", q, q))))
    r = g("Sqrt", g("Neg", g("Log", g("Min", p, g("Sub", 1.0, p)))))
    tail = g("Where", g("LessOrEqual", r, 5.0), ratio(_TAIL, g("Sub", r, 1.6)), ratio(_FAR, g("Sub", r, 5.0)))
    tail = g("Where", g("IsInf", r), math.inf, tail)
    return g("Where", g("LessOrEqual", g("Abs", q), 0.425), middle, g("Mul", g("Sign", q), tail))


_FUNCTIONS: dict[str, Callable[[Graph, str], str]] = {
    "absolute": lambda g, x: g("Abs", x),
    "cbrt": lambda g, x: g("Mul", g("Sign", x), g("Pow", g("Abs", x), 1 / 3)),
    "cos": lambda g, x: g("Cos", x),
    "exp": lambda g, x: g("Exp", x),
    "expm1": _expm1,
    "log": lambda g, x: g("Log", x),
    "log10": lambda g, x: g("Div", g("Log", x), math.log(10)),
    "log1p": _log1p,
    "log2": lambda g, x: g("Div", g("Log", x), math.log(2)),
    "ndtri": _ndtri,
    "negative": lambda g, x: g("Neg", x),
    "reciprocal": lambda g, x: g("Div", 1.0, x),
    "sign": lambda g, x: g("Sign", x),
    "sin": lambda g, x: g("Sin", x),
    "sqrt": lambda g, x: g("Sqrt", x),
    "square": lambda g, x: g("Mul", x, x),
    "tanh": lambda g, x: g("Tanh", x),
}


def _function(g: Graph, op: Op, x: str, n: int) -> str:
    if op["name"] not in _FUNCTIONS:
        raise ValueError(
            f"ONNX has no {op['name']} of double numbers: use the scorer of one page (examples/score.py)"
        )
    return _FUNCTIONS[op["name"]](g, x)


def _power(g: Graph, op: Op, x: str, n: int) -> str:
    made = _yeo_johnson if op["method"] == "yeo-johnson" else _box_cox
    return g.concat(*(made(g, v, power) for v, power in zip(_each(g, x, n), op["powers"])))


def _yeo_johnson(g: Graph, x: str, power: float) -> str:
    def side(y: str, p: float) -> str:
        log = _log1p(g, g("Max", g.finite(y), 0.0))
        return log if p == 0 else g("Div", g("Sub", g("Exp", g("Mul", p, log)), 1.0), p)

    up, down = side(x, power), g("Neg", side(g("Neg", x), 2 - power))
    return g("Where", g("IsNaN", x), math.nan, g("Where", g("GreaterOrEqual", x, 0.0), up, down))


def _box_cox(g: Graph, x: str, power: float) -> str:
    log = g("Log", x)
    return log if power == 0 else g("Div", g("Sub", g("Exp", g("Mul", power, log)), 1.0), power)


def _more(g: Graph, op: Op, x: str, n: int) -> str:
    return g("Where", g("IsNaN", x), math.nan, g.cast(g("Greater", x, op["than"]), np.float64))


def _chained(g: Graph, op: Op, x: str, n: int) -> str:
    gaps = [g("IsNaN", v) for v in _each(g, x, n)]
    now = _each(g, g("Where", g("IsNaN", x), op["with"], x), n)
    for turn in op["turns"]:
        total, at = g.constant([[turn["plus"]]]), turn["at"]
        for i, w in zip(turn["of"], turn["weights"]):
            total = g("Add", total, g("Mul", now[i], w))
        now[at] = g("Where", gaps[at], g.clip(total, op["low"][at], op["high"][at]), now[at])
    return g.concat(*now)


def _polynomial(g: Graph, op: Op, x: str, n: int) -> str:
    found = []
    for i, breaks, pieces in zip(op["of"], op["breaks"], op["pieces"]):
        knots, c = np.array(breaks, dtype=np.float64), np.array(pieces, dtype=np.float64)
        v = g.clip(g.columns(x, [i]), float(knots[0]), float(knots[-1]))
        at = g.clip(g("Sub", _above(g, v, knots), 1.0), 0.0, len(knots) - 2.0)
        step, y = g("Sub", v, _gather(g, knots[:, None], at)), _gather(g, c[0][:, None], at)
        for power in range(1, len(c)):
            y = g("Add", g("Mul", y, step), _gather(g, c[power][:, None], at))
        found.append(y)
    return g.concat(*found)


def _no_graph(g: Graph, op: Op, x: str, n: int) -> str:
    what = "neighbours among stored rows" if op["do"] == "nearest" else "a descent that ends by itself"
    raise ValueError(f"ONNX graphs here have no {what}: use the scorer of one page (examples/score.py)")


_DO: dict[str, Callable[[Graph, Op, str, int], str]] = {
    "affine": _affine,
    "chained": _chained,
    "clip": lambda g, op, x, n: g.clip(x, op["low"], op["high"]),
    "cut": _cut,
    "distances": _distances,
    "fill": lambda g, op, x, n: g("Where", g("IsNaN", x), op["with"], x),
    "function": _function,
    "gaps": lambda g, op, x, n: g.cast(g("IsNaN", x), np.float64),
    "interp": _interp,
    "matrix": _matrix,
    "more": _more,
    "nearest": _no_graph,
    "nonnegative": _no_graph,
    "polynomial": _polynomial,
    "power": _power,
    "products": _products,
    "table": _table,
    "take": lambda g, op, x, n: g.columns(x, op["of"]),
    "unit": _unit,
}
_COUNT: dict[str, Callable[[Op, int], int]] = {
    "distances": lambda op, n: len(op["centres"]),
    "matrix": lambda op, n: len(op["weights"]),
    "polynomial": lambda op, n: len(op["of"]),
    "products": lambda op, n: len(op["powers"]),
    "table": lambda op, n: len(op["of"]),
    "take": lambda op, n: len(op["of"]),
}
