"""A fitted pipeline of transformers as plain operations on columns: a row-wise map with the same bits whatever the batch.

Each operation is elementwise along the rows, or adds columns one after the other: nothing of a row depends on another. Plain
data alone: no object of scikit-learn is kept. Proof: docs/proofs/fitted.md.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from prepriv._arrays import Floats
from prepriv.preprocessing.stored_map import StoredMap

RawColumns = list[Floats]
Op = Mapping[str, Any]
ALWAYS_ZERO = "(always 0)"
"""What the name of a feature begins with that no operation makes: an encoder has fewer categories than may be declared."""
MOST_OPS, MOST_CELLS, _MOST_COLUMNS, _MOST_POWER = 4096, 2**25, 2**16, 64
_NO_DATA = "these data do not describe a compiled pipeline"


@dataclass(frozen=True, eq=False)
class CompiledMap(StoredMap):
    """Rows of the encoded space of declared columns (b, d) to (b, features), each number in [-1, 1].

    columns: the declared columns as JSON text (`Domain.to_json`). ops: the operations, as JSON text. features: how many numbers a
    row becomes; those that no operation makes are 0. check: what the sketch that it was fitted on says about itself.
    """

    written_as: ClassVar[str] = "compiled"

    columns: str
    ops: str
    features: int
    check: str = ""

    def __post_init__(self) -> None:
        if len(self.ops) > MOST_CELLS or len(self.check) > 500 or not 1 <= self.features <= 2**20:
            raise ValueError(_NO_DATA)
        try:
            if _count(self._ops) > MOST_OPS:
                raise ValueError
            self.transform(np.zeros((1, sum(map(_width, self._kinds)))))
        except Exception:  # of a file that someone made: whatever it is, one sentence
            raise ValueError(_NO_DATA) from None

    @cached_property
    def _ops(self) -> list[Op]:
        return prepared(json.loads(self.ops))

    @cached_property
    def _kinds(self) -> list[Mapping[str, Any]]:
        return list(json.loads(self.columns))

    def names(self) -> tuple[str, ...] | None:
        """The column, or the category or bin of a column, that each feature is of, or a product of them; "(several columns)" and a number, of one
        that is made of several columns beside others that are not. None where all are.

        Features that would have the same name, such as splines of one column, have numbers, too; of a column of categories these do not
        look like one. A feature that no operation makes, or that stands for no value, is "(always 0)", with a number.
        """
        ends = [
            (*map(str, k["categories"]), "other", "missing") if "categories" in k else () for k in self._kinds
        ]
        first = [_Named.of(str(k["name"]), end) for k, end in zip(self._kinds, ends)]
        found = _named(self._ops, first)
        if found is None or all(column.name == _SEVERAL for column in found):
            return None
        made = [column.in_full for column in found[: self.features]]
        made += [ALWAYS_ZERO] * (self.features - len(made))
        coded = {str(kind["name"]) for kind in self._kinds if kind["type"] != "numeric"}
        often, seen, apart = Counter(made), Counter[str](), list[str]()
        for name in made:
            seen[name] += 1
            if name == ALWAYS_ZERO:
                apart.append(f"{name} {seen[name]}")
            elif often[name] == 1:
                apart.append(name)
            else:
                more = f"feature {seen[name]} of {often[name]}" if name in coded else str(seen[name])
                apart.append(f"{name} ({more})")
        return tuple(apart) if len(set(apart)) == len(apart) else None

    def mixes(self) -> str:
        """What makes features of several columns first, in words; "" where nothing does."""
        return _mixes(self._ops)

    def last_affine(self) -> tuple[Floats, Floats] | None:
        """(minus, times), (features,) each, of (x - minus) * times, which bounds what the pipeline itself makes; None where that is not
        the last operation."""
        last = self._ops[-1] if self._ops else {}
        if last.get("do") != "affine" or any(last["plus"]) or len(last["minus"]) > self.features:
            return None
        more = self.features - len(last["minus"])
        return np.append(last["minus"], np.zeros(more)), np.append(last["times"], np.ones(more))

    def transform(self, x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            made = run_compiled(self._ops, compiled_columns(x, self._kinds))
        out = np.zeros((len(x), self.features))
        for j, column in enumerate(made[: self.features]):
            out[:, j] = np.where(np.isfinite(column), np.clip(column, -1.0, 1.0), 0.0)
        return out


_EACH = frozenset(["affine", "chained", "clip", "fill", "function", "interp", "more", "power"])
"""Operations that make one column of each."""
_SEVERAL = "(several columns)"
_MOST_LISTED = 3  # values that the name of a feature of several has


@dataclass(frozen=True)
class _Named:
    """What a column is of. values: those that a cell of it may have, each the number `codes` now; (): numbers."""

    name: str
    values: tuple[str, ...] = ()
    codes: tuple[float, ...] = ()

    @classmethod
    def of(cls, name: str, values: tuple[str, ...]) -> _Named:
        return cls(name, values, tuple(map(float, range(len(values)))))

    def after_table(self, table: Floats) -> _Named:
        """The same after `_table`. Missing cells that were filled before it are cells of the value that they were filled by."""
        values, codes = self.values, self.codes
        if values and values[-1] == "missing" and codes[-1] in codes[:-1]:
            values, codes = values[:-1], codes[:-1]
        at = np.clip(np.nan_to_num(np.array(codes), nan=len(table) - 1.0), 0, len(table) - 1)
        return _Named(self.name, values, tuple(table[at.astype(np.intp)].tolist()))

    @property
    def in_full(self) -> str:
        """Its name, with the values for which it is 1, of one that is 0 for all others."""
        if len(set(self.codes)) == 1:
            return ALWAYS_ZERO  # a number that is the same in all rows: its mean is taken from it
        if not self.values or set(self.codes) != {0.0, 1.0}:
            return self.name
        there = [value for value, one in zip(self.values, self.codes) if one == 1.0]
        few = len(there) <= _MOST_LISTED
        return f"{self.name}={' or '.join(there) if few else f'one of {len(there)} values'}"


def _named(ops: Sequence[Op], columns: list[_Named]) -> list[_Named] | None:
    """What the columns are of after these operations; None after one that mixes them, or that is not known here to keep them apart."""
    for op in ops:
        if op["do"] == "beside":
            parts = [_named(part, columns) or _several(part, len(columns)) for part in op["parts"]]
            columns = [one for part in parts for one in part]
        elif op["do"] == "take":
            columns = [columns[i] for i in op["of"]]
        elif op["do"] == "products":
            columns = [_product(columns, powers) for powers in op["powers"]]
        elif op["do"] == "table":
            columns = [columns[j].after_table(np.asarray(v)) for j, v in zip(op["of"], op["values"])]
        elif op["do"] == "polynomial":
            columns = [_Named(columns[i].in_full) for i in op["of"]]
        elif op["do"] == "cut":
            ends = [len(edges) + 1 for edges in op["edges"]]
            columns = [_Named.of(column.in_full, _bins(end)) for column, end in zip(columns, ends)]
        elif op["do"] == "gaps":
            columns = [_Named(f"{column.in_full} is missing") for column in columns]
        elif op["do"] in _EACH:
            columns = [_Named(column.in_full) for column in columns]
        else:
            return None
    return columns


def _several(ops: Sequence[Op], columns: int) -> list[_Named]:
    """What operations make that mix so many columns."""
    return [_Named(_SEVERAL)] * len(run_compiled(ops, [np.zeros(1)] * columns))


def _product(columns: Sequence[_Named], powers: Sequence[int]) -> _Named:
    if sum(powers) == 1:
        return columns[list(powers).index(1)]
    parts = [
        column.in_full if power == 1 else f"{column.in_full}^{power}"
        for column, power in zip(columns, powers)
        if power
    ]
    if any(column.name == _SEVERAL for column, power in zip(columns, powers) if power):
        return _Named(_SEVERAL)
    return _Named("*".join(parts) if parts else ALWAYS_ZERO)  # a constant: its mean is taken from it


_MIXING = {
    "distances": "a transformer that measures distances from centres",
    "matrix": "a transformer that projects rows, such as PCA,",
    "nearest": "KNNImputer",
    "nonnegative": "NMF",
    "unit": "Normalizer",
}
"""Operations on several columns, and what makes them."""


def _mixes(ops: Sequence[Op]) -> str:
    for op in ops:
        found = next(filter(None, map(_mixes, op.get("parts", ()))), _MIXING.get(op["do"], ""))
        if found:
            return found
    return ""


def _bins(count: int) -> tuple[str, ...]:
    return tuple(f"bin {i + 1} of {count}" for i in range(count))


def compiled_columns(x: Floats, kinds: Sequence[Mapping[str, Any]]) -> RawColumns:
    """Numbers in their units, and the codes of categories, of encoded rows."""
    found, at = [], 0
    for kind in kinds:
        if kind["type"] == "numeric":
            found.append(kind["low"] + (kind["high"] - kind["low"]) * x[:, at])
            at += 1
        else:
            width = len(kind["categories"]) + 2
            found.append(x[:, at : at + width].argmax(axis=1).astype(np.float64))
            at += width
    return found


_AT_ONCE = 64  # rows with gaps whose distances are held at once
_ARRAYS = ("at", "breaks", "edges", "into", "on", "out", "pieces", "values")


def prepared(ops: Sequence[Op]) -> list[Op]:
    """The same operations, their lists of numbers as arrays."""
    found: list[Op] = []
    for op in ops:
        made: dict[str, Any] = {k: [np.array(v, dtype=np.float64) for v in op[k]] for k in _ARRAYS if k in op}
        made |= {
            k: np.array(op[k], dtype=np.float64) for k in ("weights", "centres", "rows", "gram") if k in op
        }
        if "parts" in op:
            made["parts"] = [prepared(part) for part in op["parts"]]
        found.append({**op, **made})
    return found


def run_compiled(ops: Sequence[Op], columns: RawColumns) -> RawColumns:
    """The columns that the operations make, one after the other."""
    for op in ops:
        columns = _DO[op["do"]](op, columns)
        if len(columns) > _MOST_COLUMNS:
            raise ValueError(f"a compiled pipeline makes at most {_MOST_COLUMNS} columns")
    return columns


def _width(kind: Mapping[str, Any]) -> int:
    return 1 if kind["type"] == "numeric" else len(kind["categories"]) + 2


MOST_TURNS = 20_000  # of a descent, over all its outputs


def _count(ops: Sequence[Op]) -> int:
    if not all(op["do"] in _DO for op in ops):
        raise ValueError("these data do not describe a compiled pipeline: no such operation")
    if any(op["do"] == "nonnegative" and op["turns"] * len(op["gram"]) > MOST_TURNS for op in ops):
        raise ValueError(_NO_DATA)
    return sum(1 + sum(_count(part) for part in op.get("parts", ())) for op in ops)


def _beside(op: Op, columns: RawColumns) -> RawColumns:
    return [made for part in op["parts"] for made in run_compiled(part, columns)]


def _take(op: Op, columns: RawColumns) -> RawColumns:
    return [columns[i] for i in op["of"]]


def _affine(op: Op, columns: RawColumns) -> RawColumns:
    return [(x - m) * t + p for x, m, t, p in zip(columns, op["minus"], op["times"], op["plus"])]


def _clip(op: Op, columns: RawColumns) -> RawColumns:
    return [np.clip(x, low, high) for x, low, high in zip(columns, op["low"], op["high"])]


def _fill(op: Op, columns: RawColumns) -> RawColumns:
    return [np.where(np.isnan(x), v, x) for x, v in zip(columns, op["with"])]


def _gaps(op: Op, columns: RawColumns) -> RawColumns:
    return [np.isnan(x).astype(np.float64) for x in columns]


def _table(op: Op, columns: RawColumns) -> RawColumns:
    """of: places of code columns; values: what each code becomes."""
    found = []
    for i, values in zip(op["of"], op["values"]):
        table = np.asarray(values, dtype=np.float64)  # None is NaN
        codes = np.clip(np.nan_to_num(columns[i], nan=len(table) - 1.0), 0, len(table) - 1)
        found.append(table[codes.astype(np.intp)])
    return found


def _cut(op: Op, columns: RawColumns) -> RawColumns:
    """The bin of each number between inner edges: at an edge that of above."""
    return [
        np.searchsorted(np.asarray(edges), x, side="right").astype(np.float64)
        for x, edges in zip(columns, op["edges"])
    ]


def _interp(op: Op, columns: RawColumns) -> RawColumns:
    """Straight from `out` of a knot `at` to `into` of the next one, `on` at a knot itself, constant beyond the last ones."""
    found = []
    for x, *lists in zip(columns, op["at"], op["out"], op["into"], op["on"]):
        at, out, into, on = map(np.asarray, lists)
        inside = np.clip(np.nan_to_num(x, nan=at[0]), at[0], at[-1])
        i = np.searchsorted(at, inside, side="right") - 1
        following = np.minimum(i + 1, len(at) - 1)
        width = at[following] - at[i]
        part = (inside - at[i]) / np.where(width > 0, width, 1.0)
        y = np.where(inside == at[i], on[i], out[i] + part * (into[following] - out[i]))
        found.append(np.where(np.isnan(x), np.nan, y))
    return found


def _matrix(op: Op, columns: RawColumns) -> RawColumns:
    """plus + sum of (x_j - minus_j) weights_j, added up column by column: the same order for every row."""
    weights = np.asarray(op["weights"])  # (outputs, inputs)
    total = np.repeat(np.asarray(op["plus"])[None, :], len(columns[0]), axis=0)
    for j, (x, m) in enumerate(zip(columns, op["minus"])):
        total = total + (x - m)[:, None] * weights[None, :, j]
    return list(total.T)


def _distances(op: Op, columns: RawColumns) -> RawColumns:
    centres = np.asarray(op["centres"])
    total = np.zeros((len(columns[0]), len(centres)))
    for j, x in enumerate(columns):
        apart = x[:, None] - centres[None, :, j]
        total = total + apart * apart
    return list(np.sqrt(np.ascontiguousarray(total.T)))


def _products(op: Op, columns: RawColumns) -> RawColumns:
    found = []
    for powers in op["powers"]:
        total = np.ones(len(columns[0]) if columns else 0)
        if max(powers, default=0) > _MOST_POWER:
            raise ValueError(f"a compiled pipeline takes powers of at most {_MOST_POWER}")
        for x, power in zip(columns, powers):
            for _ in range(power):
                total = total * x
        found.append(total)
    return found


def _unit(op: Op, columns: RawColumns) -> RawColumns:
    size = np.zeros(len(columns[0]))
    for x in columns:
        if op["norm"] == "max":
            size = np.maximum(size, np.abs(x))
        else:
            size = size + (x * x if op["norm"] == "l2" else np.abs(x))
    size = np.sqrt(size) if op["norm"] == "l2" else size
    return [x / np.where(size > 0, size, 1.0) for x in columns]


_FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "absolute": np.abs,
    "arctan": np.arctan,
    "cbrt": np.cbrt,
    "cos": np.cos,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "ndtri": ndtri,
    "negative": np.negative,
    "reciprocal": np.reciprocal,
    "sign": np.sign,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "square": np.square,
    "tanh": np.tanh,
}


def _function(op: Op, columns: RawColumns) -> RawColumns:
    return [_FUNCTIONS[op["name"]](np.ascontiguousarray(x)) for x in columns]


def _power(op: Op, columns: RawColumns) -> RawColumns:
    made = _yeo_johnson if op["method"] == "yeo-johnson" else _box_cox
    return [made(np.ascontiguousarray(x), power) for x, power in zip(columns, op["powers"])]


def _yeo_johnson(x: Floats, power: float) -> Floats:
    positive, negative = np.maximum(x, 0.0), np.maximum(-x, 0.0)
    up = np.log1p(positive) if power == 0 else (np.exp(power * np.log1p(positive)) - 1) / power
    rest = 2 - power
    down = np.log1p(negative) if rest == 0 else (np.exp(rest * np.log1p(negative)) - 1) / rest
    return np.where(x >= 0, up, -down)


def _box_cox(x: Floats, power: float) -> Floats:
    return np.log(x) if power == 0 else (np.exp(power * np.log(x)) - 1) / power


def _more(op: Op, columns: RawColumns) -> RawColumns:
    return [np.where(np.isnan(x), np.nan, (x > op["than"]).astype(np.float64)) for x in columns]


def _chained(op: Op, columns: RawColumns) -> RawColumns:
    """Gaps filled, then again one column after the other, each by a linear function of others, within bounds."""
    gaps = [np.isnan(x) for x in columns]
    now = [np.where(gap, v, x) for x, gap, v in zip(columns, gaps, op["with"])]
    for turn in op["turns"]:
        total = np.full(len(now[0]), turn["plus"])
        for i, w in zip(turn["of"], turn["weights"]):
            total = total + now[i] * w
        at = turn["at"]
        now[at] = np.where(gaps[at], np.clip(total, op["low"][at], op["high"][at]), now[at])
    return now


def _polynomial(op: Op, columns: RawColumns) -> RawColumns:
    """Piecewise polynomials of one column each: between breaks a polynomial in the distance from the lower one."""
    found = []
    for i, breaks, pieces in zip(op["of"], op["breaks"], op["pieces"]):
        knots, c = np.asarray(breaks), np.asarray(pieces)
        x = np.clip(columns[i], knots[0], knots[-1])
        at = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
        step, y = x - knots[at], c[0][at]
        for power in range(1, len(c)):
            y = y * step + c[power][at]
        found.append(y)
    return found


def _nearest(op: Op, columns: RawColumns) -> RawColumns:
    """Gaps filled by a mean of the nearest stored rows that have the cell, (S, d): by distances over the cells that both have, equal ones
    in their order; by the mean of all of them where no cell is shared."""
    stored = np.asarray(op["rows"], dtype=np.float64)  # None is NaN
    there, found = ~np.isnan(stored), [np.array(x) for x in columns]
    gaps = np.isnan(np.array(columns))
    rows = np.flatnonzero(gaps.any(axis=0))
    for start in range(0, len(rows), _AT_ONCE):
        at = rows[start : start + _AT_ONCE]
        total, seen = np.zeros((len(at), len(stored))), np.zeros((len(at), len(stored)))
        for j, x in enumerate(columns):
            both = ~gaps[j, at][:, None] & there[None, :, j]
            apart = np.where(both, x[at][:, None] - stored[None, :, j], 0.0)
            total, seen = total + apart * apart, seen + both
        far = np.where(seen > 0, np.sqrt(total / np.maximum(seen, 1.0)), np.inf)
        for j in map(int, np.flatnonzero(gaps[:, at].any(axis=1))):
            donors = np.flatnonzero(there[:, j])
            order = np.argsort(far[:, donors], axis=1, kind="stable")[:, : int(op["most"])]
            near = np.take_along_axis(far[:, donors], order, axis=1)
            values, own = stored[donors, j][order], np.isfinite(near)
            if op["by"] == "distance":
                same = (near == 0).any(axis=1)[:, None]
                own = np.where(same, near == 0, np.where(own, 1 / np.where(near > 0, near, 1.0), 0.0))
            top, below = np.zeros(len(at)), np.zeros(len(at))
            for i in range(order.shape[1]):
                top, below = top + own[:, i] * values[:, i], below + own[:, i]
            filled = np.where(below > 0, top / np.where(below > 0, below, 1.0), op["means"][j])
            found[j][at] = np.where(gaps[j, at], filled, found[j][at])
    return found


def _nonnegative(op: Op, columns: RawColumns) -> RawColumns:
    """Weights of at least 0 with which fixed parts make up a row, by descent along one of them after another. Each row ends by itself."""
    parts, gram, outputs = np.asarray(op["weights"]), np.asarray(op["gram"]), len(op["gram"])
    rows = len(columns[0])
    given = [np.zeros(rows) - op["less"] for _ in range(outputs)]
    for j, x in enumerate(columns):
        given = [total + x * parts[t, j] for t, total in enumerate(given)]
    now = [np.zeros(rows) for _ in range(outputs)]
    first, open_ = np.zeros(rows), np.ones(rows, dtype=bool)
    for turn in range(int(op["turns"])):
        broken = np.zeros(rows)
        for t in range(outputs):
            slope = -given[t]
            for r in range(outputs):
                slope = slope + gram[t, r] * now[r]
            broken = broken + np.abs(np.where(now[t] == 0, np.minimum(slope, 0.0), slope))
            if gram[t, t] != 0:
                now[t] = np.where(open_, np.maximum(now[t] - slope / gram[t, t], 0.0), now[t])
        first = broken if turn == 0 else first
        open_ = open_ & (first > 0) & ~(broken / np.where(first > 0, first, 1.0) <= op["tol"])
        if not open_.any():
            break
    return now


_DO: dict[str, Callable[[Op, RawColumns], RawColumns]] = {
    "affine": _affine,
    "beside": _beside,
    "chained": _chained,
    "clip": _clip,
    "cut": _cut,
    "distances": _distances,
    "fill": _fill,
    "function": _function,
    "gaps": _gaps,
    "interp": _interp,
    "matrix": _matrix,
    "more": _more,
    "nearest": _nearest,
    "nonnegative": _nonnegative,
    "polynomial": _polynomial,
    "power": _power,
    "products": _products,
    "table": _table,
    "take": _take,
    "unit": _unit,
}
