"""Released maps as nodes of an ONNX graph in double precision: they cut and round as here, so that labels are the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from prepriv.integrations.onnx_compiled import compiled_graph
from prepriv.preprocessing._cells import Cells
from prepriv.preprocessing._wavelets import PIXEL, TAP, gaussian_filter, morlet
from prepriv.preprocessing.augment_by_distance import ROOT2, Augment
from prepriv.preprocessing.base import Identity
from prepriv.preprocessing.bins import BinCodes, codes
from prepriv.preprocessing.center import Subtract
from prepriv.preprocessing.class_counts import CountedClasses
from prepriv.preprocessing.compiled import CompiledMap
from prepriv.preprocessing.encode import ClipMap, OneHotMap
from prepriv.preprocessing.homogenize import HomogeneousRows
from prepriv.preprocessing.impute_caps import FillReleased
from prepriv.preprocessing.impute_regression import RegressionReleased
from prepriv.preprocessing.normalize import Multiply, ScaleRows
from prepriv.preprocessing.pca import _COMPONENT_BITS, Project
from prepriv.preprocessing.quantile_transform import Ranks
from prepriv.preprocessing.random_features import (
    _DEVIATION,
    _EXACT_BITS,
    _MEAN,
    AddRandomFeatures,
    directions,
)
from prepriv.preprocessing.root_columns import Roots
from prepriv.preprocessing.scale_map import ScaleReleased
from prepriv.preprocessing.scattering import GROUP, Scatter
from prepriv.preprocessing.square_root import SignedRoot

_POWERS = 1021  # of two, either way, that are told apart


class Graph:
    """Nodes as they are made; every value is named by a text."""

    def __init__(self) -> None:
        from onnx import helper, numpy_helper

        self.helper, self.numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """A constant; text stays text."""
        name = f"c{len(self.constants)}"
        self.constants.append(self.numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def __call__(
        self, kind: str, *values: Any, out: str | None = None, domain: str = "", **options: Any
    ) -> str:
        """One node; numbers among its values become constants."""
        names = [v if isinstance(v, str) else self.constant(v) for v in values]
        out = out or f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, names, [out], domain=domain, **options))
        return out

    def cast(self, x: str, dtype: Any) -> str:
        return self("Cast", x, to=self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def over_rows(self, kind: str, x: str) -> str:
        """A reduction along each row, (n, 1)."""
        return self(kind, x, self.constant([1], np.int64), keepdims=1)

    def columns(self, x: str, chosen: Any) -> str:
        return self("Gather", x, self.constant(chosen, np.int64), axis=1)

    def concat(self, *parts: str) -> str:
        return self("Concat", *parts, axis=1)

    def constant_column(self, x: str, value: float) -> str:
        """(n, 1) of one number, as many as x has rows."""
        zero = self("Mul", self.columns(self.finite(x), [0]), 0.0)
        return self("Add", zero, value)

    def finite(self, x: str) -> str:
        return self("Where", self("IsNaN", x), 0.0, x)

    def clip(self, x: str, low: Any, high: Any) -> str:
        """Clipped; NaN stays, which Min and Max need not keep."""
        inside = self("Min", self("Max", self.finite(x), low), high)
        return self("Where", self("IsNaN", x), x, inside)

    def trunc(self, x: str) -> str:
        return self.cast(self.cast(x, np.int64), np.float64)

    def norms(self, x: str) -> str:
        biggest = self("Max", self.over_rows("ReduceMax", self("Abs", x)), 1e-150)
        return self("Mul", biggest, self("Sqrt", self.over_rows("ReduceSumSquare", self("Div", x, biggest))))

    def into_ball(self, x: str, radius: float) -> str:
        return self("Mul", x, self("Div", radius, self("Max", self.norms(self.finite(x)), radius)))

    def exponent(self, x: str) -> str:
        """That of the largest cell of each row, (n, 1) whole numbers: as frexp gives it, from 2^-900 on."""
        most = self("Max", self.over_rows("ReduceMax", self("Abs", x)), 2.0**-900)
        guess = self("Add", self("Floor", self("Div", self("Log", most), math.log(2.0))), 1.0)
        over = self.cast(self("GreaterOrEqual", most, self.power(guess)), np.float64)
        under = self.cast(self("Less", most, self.power(self("Sub", guess, 1.0))), np.float64)
        return self("Sub", self("Add", guess, over), under)

    def power(self, e: str) -> str:
        """2^e, exact."""
        at = self.cast(self("Add", e, float(_POWERS)), np.int64)
        return self("Gather", 2.0 ** np.arange(-_POWERS, _POWERS + 1), at)


def _scale(g: Graph, x: str, d: int, m: ScaleReleased) -> str:
    a = m.affine
    y = g.clip(g("Mul", g("Sub", x, a.offset), a.factor), a.low, a.high)
    return g.into_ball(y, a.radius)


def _homogeneous(g: Graph, x: str, d: int, m: HomogeneousRows) -> str:
    x = g.concat(x, g.constant_column(x, m.level))
    x = g("Mul", x, g("Div", m.radius, g.norms(x)))
    return g("Sub", x, np.append(np.zeros(d), m.center)) if m.center else x


def _augment(g: Graph, x: str, d: int, m: Augment) -> str:
    x = g.concat(g("Mul", x, 1 / m.tau), g.constant_column(x, 1.0))
    return g("Mul", x, g("Div", ROOT2 * (1 - 2.0**-40), g("Max", g.norms(x), ROOT2)))


def _roots(g: Graph, x: str, d: int, m: Roots) -> str:
    root = np.sqrt(m.start)
    below = g("Add", g("Sqrt", g("Max", g("Add", g.finite(x), m.start), 0.0)), root)
    return g("Mul", g("Div", x, g("Max", below, 1e-150)), np.sqrt(1 + m.start) + root)


def _signed_root(g: Graph, x: str, d: int, m: SignedRoot) -> str:
    return g("Mul", g("Sign", x), g("Sqrt", g("Abs", x)))


def _ranks(g: Graph, x: str, d: int, m: Ranks) -> str:
    made = {j: g.columns(x, [j]) for j in range(d)}
    for j, knots in zip(m.columns.tolist(), m.knots):
        v, last = made[j], len(knots) - 1.0
        left = g.over_rows("ReduceSum", g.cast(g("Greater", v, knots), np.float64))
        right = g.over_rows("ReduceSum", g.cast(g("GreaterOrEqual", v, knots), np.float64))
        a, b = g.clip(g("Sub", left, 1.0), 0.0, last), g.clip(left, 0.0, last)
        below, above = (g("Gather", knots, g.cast(at, np.int64)) for at in (a, b))
        width = g("Sub", above, below)
        width = g("Where", g("Greater", width, 0.0), width, 1.0)
        share = g.clip(g("Div", g("Sub", v, below), width), 0.0, 1.0)
        middle = g("Div", g("Sub", g("Add", left, right), 1.0), 2.0)
        rank = g("Where", g("Greater", right, left), middle, g("Add", a, share))
        rank = g("Where", g("Greater", v, float(knots[-1])), last, rank)
        made[j] = g("Div", g("Where", g("Less", v, float(knots[0])), 0.0, rank), last)
    return g.concat(*made.values())


def _cells(g: Graph, x: str, d: int, m: Cells) -> str:
    if m.side == 0:
        return x
    place = g("Round", g("Div", g("Sub", x, m.offset), m.side))
    return g.into_ball(g.clip(g("Add", g("Mul", place, m.side), m.offset), m.low, m.high), m.radius)


def _one_hot(g: Graph, x: str, d: int, m: OneHotMap) -> str:
    groups = [g.columns(x, [j for j in range(d) if j not in m.columns])]
    for j, count, low, width in zip(m.columns.tolist(), m.counts.tolist(), m.low, m.width):
        v = g.columns(x, [j])
        code = g("Round", g("Mul", g.clip(g("Div", g("Sub", v, low), width), 0.0, 1.0), count - 1.0))
        code = g("Where", g("IsNaN", v), float(count), code)
        groups.append(g.cast(g("Equal", code, np.arange(count + 1.0)), np.float64))
    return g.concat(*groups)


def _bins(g: Graph, x: str, d: int, m: BinCodes) -> str:
    groups = [g.columns(x, [j for j in range(d) if m.beside or j not in m.columns])]
    for j, edges, gap in zip(m.columns.tolist(), m.split(), m.gaps.tolist()):
        v, table = g.columns(x, [j]), codes(len(edges) + 1, m.smooth)
        missing = g("IsNaN", v)
        above = g.cast(g("LessOrEqual", g.constant(edges[None]), v), np.float64)  # none where v is missing
        at = g.over_rows("ReduceSum", above)
        cells = g("MatMul", g.cast(g("Equal", at, np.arange(len(edges) + 1.0)), np.float64), table)
        groups.append(g("Where", missing, 0.0, cells))
        if gap:
            groups.append(g.cast(missing, np.float64))
    return g.concat(*groups)


def _fill_regression(g: Graph, x: str, d: int, m: RegressionReleased) -> str:
    f = m.frame
    z = g("Sub", g.columns(x, f.predictors), f.centre)
    z = g("Div", g.concat(z, g.constant_column(z, f.radius / math.sqrt(2))), f.radius)
    z = g("Div", z, g("Max", g.norms(z), 1.0))
    guess = g("Add", f.middle, g("Mul", f.half, g.clip(g("MatMul", z, m.weights.T), -1.0, 1.0)))
    cells = g.columns(x, f.targets)
    filled = g("Where", g("IsNaN", cells), guess, cells)
    rest = [j for j in range(d) if j not in f.targets]
    order = np.argsort([*rest, *f.targets.tolist()])
    return g.columns(g.concat(g.columns(x, rest), filled), order)


def _project(g: Graph, x: str, d: int, m: Project) -> str:
    bits = _COMPONENT_BITS - math.ceil(math.log2(d) / 2)
    whole, e = np.trunc(m.components * 2.0**_COMPONENT_BITS), g.exponent(x)
    scaled = g("Mul", x, g.power(g("Sub", float(bits), e)))
    high = g.trunc(scaled)
    low = g.trunc(g("Mul", g("Sub", scaled, high), 2.0**bits))
    y = g("Add", g("Mul", g("MatMul", low, whole), 2.0**-bits), g("MatMul", high, whole))
    return g("Mul", y, g.power(g("Sub", e, float(bits + _COMPONENT_BITS))))


def _random_features(g: Graph, x: str, d: int, m: AddRandomFeatures) -> str:
    bits, e = _EXACT_BITS - math.ceil(math.log2(max(d * m.signs, 1))), g.exponent(x)
    cut = g.cast(g.trunc(g("Mul", x, g.power(g("Sub", float(bits), e)))), np.float32)
    seen = g("Abs", g("MatMul", cut, g.constant(directions(d, m.features, m.signs), np.float32)))
    added = g("Mul", g.cast(seen, np.float64), g.power(g("Sub", e, float(bits))))
    added = g("Sub", added, g("Mul", _MEAN, g.norms(x)))
    added = g("Mul", added, m.weight / (_DEVIATION * math.sqrt(m.features)))
    return g.into_ball(g("Mul", g.concat(x, added), 1 / math.sqrt(1 + m.weight**2)), m.radius)


def _scale_rows(g: Graph, x: str, d: int, m: ScaleRows) -> str:
    least = max(m.floor, 1e-300 * max(1.0, m.factor))
    return g("Mul", x, g("Div", m.factor, g("Max", g.norms(x), least)))


def _scatter(g: Graph, x: str, d: int, m: Scatter) -> str:
    """Convolutions in float32 whose sums are whole numbers below 2^24: exact in any order."""

    def side(scale: int) -> tuple[int, int]:
        return -(-m.height // 2**scale), -(-m.width // 2**scale)

    def shaped(y: str, *shape: int) -> str:
        return g("Reshape", y, g.constant(shape, np.int64))

    def seen(maps: str, taps: Any, stride: int) -> str:
        weights = g.constant(taps[:, None], np.float32)
        return g("Conv", maps, weights, strides=[stride] * 2, pads=[taps.shape[1] // 2] * 4)

    def smooth(maps: str, scale: int, many: int) -> str:
        """Averages of `many` maps an image, (images, many * cells)."""
        y = seen(maps, gaussian_filter(m.J - scale - 1), 2 ** (m.J - scale))
        return g.cast(shaped(y, -1, many * m.cells), np.float64)

    def amplitudes(maps: str, finer: int, scale: int) -> str:
        waves = seen(maps, morlet(scale - finer, m.L), 2 ** (scale - finer))
        waves = g("Mul", waves, g.constant(1 / TAP, np.float32))
        parts = [g.columns(waves, np.arange(m.L) + start) for start in (0, m.L)]
        size = g("Sqrt", g("Add", *(g("Mul", part, part) for part in parts)))
        return shaped(g("Min", g("Round", size), g.constant(PIXEL, np.float32)), -1, 1, *side(scale))

    pixels = g.cast(g("Round", g("Mul", g.clip(x, 0.0, 1.0), PIXEL)), np.float32)
    images = g("Transpose", shaped(pixels, -1, m.height, m.width, m.channels), perm=[0, 3, 1, 2])
    images = shaped(images, -1, 1, m.height, m.width)
    first, second = [], []
    for j in range(m.J):
        inner = amplitudes(images, 0, j)
        first.append(smooth(inner, j, m.L))
        second += [smooth(amplitudes(inner, j, k), k, m.L**2) for k in range(j + 1, m.J)]
    made = g.concat(smooth(images, 0, 1), *first, *second)
    v, whole = g("Round", g("Mul", made, m.steps / 2.0**23)), m.maps // GROUP * GROUP
    parts = []
    for start, stop, size in ((0, whole, GROUP), (whole, m.maps, m.maps - whole)):
        if start < stop:
            part = g.columns(v, np.arange(start * m.cells, stop * m.cells))
            parts.append(_standardised(g, shaped(part, -1, size * m.cells), size * m.cells, m))
            parts[-1] = shaped(parts[-1], -1, (stop - start) * m.cells)
    return shaped(g.concat(*parts), -1, m.d)


def _standardised(g: Graph, v: str, size: int, m: Scatter) -> str:
    total, square = g.over_rows("ReduceSum", v), g.over_rows("ReduceSumSquare", v)
    mean = g("Div", total, float(size))
    variance = g("Div", g("Sub", square, g("Mul", total, mean)), float(size))
    spread = g("Sqrt", g("Add", g("Max", variance, 0.0), (m.floor * m.steps) ** 2))
    return g("Mul", g("Sub", v, mean), g("Div", 1.0, g("Mul", spread, math.sqrt(m.d))))


MAPS: Mapping[type, Callable[[Graph, str, int, Any], str]] = {
    Identity: lambda g, x, d, m: x,
    CountedClasses: lambda g, x, d, m: x,
    SignedRoot: _signed_root,
    Roots: _roots,
    Augment: _augment,
    ScaleRows: _scale_rows,
    HomogeneousRows: _homogeneous,
    Multiply: lambda g, x, d, m: g("Mul", x, m.factor),
    AddRandomFeatures: _random_features,
    Scatter: _scatter,
    Subtract: lambda g, x, d, m: g("Sub", x, m.offset),
    FillReleased: lambda g, x, d, m: g("Where", g("IsNaN", x), m.fill, x),
    RegressionReleased: _fill_regression,
    Project: _project,
    Ranks: _ranks,
    ScaleReleased: _scale,
    ClipMap: lambda g, x, d, m: g.clip(x, m.low, m.high),
    OneHotMap: _one_hot,
    BinCodes: _bins,
    Cells: _cells,
    CompiledMap: compiled_graph,
}
