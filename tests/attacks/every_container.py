"""Containers as users make them, odd cells, and what is seen of a run: see test_every_container.py."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import scipy.sparse

import prepriv
from prepriv.runs import odometer

os.environ["RUST_BACKTRACE"] = "0"

N = 24
ODD: dict[str, Any] = {
    "null": None,
    "nan": math.nan,
    "text": "x",
    "bad byte": b"\xff",
    "infinity": math.inf,
    "giant": 10**400,
    "out of bounds": 77,
    "odd type": {"a": 1},
    "list": [1, 2],
}

# ------------------------------------------------------------------------------------------------ containers


def utf8(cells: list[Any]) -> Any:
    """Texts of Arrow as a file holds them: nobody has looked whether they are UTF-8."""
    held = [None if c is None else c if isinstance(c, bytes) else str(c).encode() for c in cells]
    return pa.array(held, pa.binary()).view(pa.string())


def objects(cells: list[Any]) -> Any:
    made = np.empty(len(cells), dtype=object)
    made[:] = cells if not any(isinstance(c, list) for c in cells) else [*cells[:-1], None]
    for i, cell in enumerate(cells):
        made[i] = cell
    return made


def of_dtype(dtype: str) -> Callable[[list[Any]], Any]:
    return lambda cells: objects(cells).astype(dtype)


def masked(cells: list[Any]) -> Any:
    gone = [c is None for c in cells]
    return np.ma.array([0 if c is None else c for c in cells], mask=gone)


LISTS = {"list": list, "tuple": tuple}
NUMPY = {
    "numpy": np.array,
    "numpy objects": objects,
    "numpy masked": masked,
    **{
        f"numpy {d}": of_dtype(d)
        for d in ("?", "i1", "u8", "i8", "f2", "f4", "f8", "g", "c16", "U8", "S8", "M8[s]", "m8[s]")
    },
}
PANDAS = {
    "pandas": pd.Series,
    "pandas objects": partial(pd.Series, dtype=object),
    "pandas nullable": lambda v: pd.Series(v, dtype=object).convert_dtypes(),
    "pandas of arrow": lambda v: pd.Series(v, dtype=object).convert_dtypes(dtype_backend="pyarrow"),
    "pandas utf8": lambda v: pd.Series(utf8(v), dtype=pd.ArrowDtype(pa.string())),
    "pandas strings": lambda v: pd.Series([None if c is None else str(c) for c in v], dtype="string"),
    "pandas category": lambda v: pd.Series(v, dtype=object).astype("category"),
    "pandas sparse": lambda v: pd.Series(pd.arrays.SparseArray(v)),
}
PANDAS_ARRAYS = {
    "pandas index": pd.Index,
    "pandas array": lambda v: pd.Series(v, dtype=object).convert_dtypes().array,
    "pandas categorical": pd.Categorical,
}
POLARS = {
    "polars": lambda v: pl.Series(v, strict=False),
    "polars objects": lambda v: pl.Series(v, dtype=pl.Object),
    "polars strings": lambda v: pl.Series([None if c is None else str(c) for c in v]),
    "polars category": lambda v: pl.Series([None if c is None else str(c) for c in v]).cast(pl.Categorical),
}
ARROW = {
    "arrow": pa.array,
    "arrow chunked": lambda v: pa.chunked_array([pa.array(v)[:5], pa.array(v)[5:]]),
    "arrow utf8": utf8,
    "arrow binary": lambda v: utf8(v).view(pa.binary()),
    "arrow dictionary": lambda v: utf8(v).view(pa.binary()).dictionary_encode(),
    "arrow runs": lambda v: pa.RunEndEncodedArray.from_arrays(
        np.arange(1, len(v) + 1, dtype=np.int32), pa.array(v)
    ),
    "arrow view": lambda v: pa.array(v).cast(pa.string_view()),
}
COLUMNS: dict[str, Callable[[list[Any]], Any]] = LISTS | NUMPY | PANDAS | PANDAS_ARRAYS | POLARS | ARROW

Cells = dict[str, list[Any]]


def frame(of: Callable[[Cells], Any], column: Callable[[list[Any]], Any]) -> Callable[[Cells], Any]:
    return lambda cells: of({name: column(held) for name, held in cells.items()})


def rows(cells: Cells) -> list[list[Any]]:
    return [list(row) for row in zip(*cells.values())]


def matrix(cells: Cells) -> Any:
    return np.column_stack([objects(held) for held in cells.values()])


def reader(cells: Cells) -> Any:
    table = pa.table({name: pa.array(held) for name, held in cells.items()})
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(7))


IN_MEMORY: dict[str, Callable[[Cells], Any]] = {
    "rows": rows,
    "rows, one of them a gap": lambda cells: [None if None in row else row for row in rows(cells)],
    "rows, each a series": lambda cells: [*map(pd.Series, rows(cells))],
    "tuples": lambda cells: tuple(map(tuple, rows(cells))),
    "numpy": lambda cells: np.array(rows(cells)),
    "numpy objects": matrix,
    **{f"numpy {d}": partial(lambda d, cells: matrix(cells).astype(d), d) for d in ("f2", "f8", "i4", "U8", "S8")},
    **{name: frame(pd.DataFrame, make) for name, make in PANDAS.items()},
    **{name: frame(pl.DataFrame, make) for name, make in POLARS.items()},
    **{name: frame(pa.table, make) for name, make in ARROW.items()},
}  # fmt: skip
STREAMS: dict[str, Callable[[Cells], Any]] = {
    "dask": lambda cells: dd.from_pandas(pd.DataFrame(cells), npartitions=2),
    "polars lazy": lambda cells: frame(pl.DataFrame, POLARS["polars"])(cells).lazy(),
    "arrow dataset": lambda cells: ds.dataset(pa.table({k: utf8(v) for k, v in cells.items()})),
    "arrow reader": reader,
}
SPARSE: dict[str, Callable[[Cells], Any]] = {
    name: partial(lambda make, cells: make(matrix(cells).astype(float)), make)
    for name, make in {"csr": scipy.sparse.csr_matrix, "csc": scipy.sparse.csc_array}.items()
}

# -------------------------------------------------------------------------------------------------- outcomes

Seen = tuple[Any, ...]


def shape(found: Any) -> Any:
    """What can be seen of a result without its numbers."""
    if isinstance(found, np.ndarray):
        return found.shape, str(found.dtype)
    if isinstance(found, dict):
        return {key: shape(value) for key, value in found.items()}
    return type(found).__name__, len(getattr(found, "counts", ()))


def seen(run: Callable[[], Any]) -> Seen:
    """Exit, shape, charge and warnings of a run."""
    odometer._PROCESS = odometer.Odometer()
    odometer._PROCESS._said.acquire()
    turns = itertools.count()

    def coins(size: int) -> bytes:
        return hashlib.shake_256(f"{next(turns)}".encode()).digest(size)

    with warnings.catch_warnings(record=True) as told, pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("always")
        patch.setattr(os, "urandom", coins)  # the same in each run: how many rows a coin leaves is no finding
        try:
            end = "success", shape(run())
        except Exception as error:
            end = type(error).__name__, str(error)
    ours = sorted({f"{w.category.__name__}: {w.message}" for w in told})
    return *end, [fit.plan_hash for fit in prepriv.spent().fits], ours


def made(make: Callable[[Any], Any], cells: Any) -> Any:
    """The container; None where its library refuses such cells."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make(cells)
        except (Exception, pl.exceptions.PanicException):
            return None


def compare(
    run: Callable[[Any], Any], make: Callable[[Any], Any], base: Any, odd: list[tuple[str, Any]]
) -> int:
    """How many neighbours were compared. base, odd: cells."""
    if made(make, base) is None:
        return 0
    alone = seen(lambda: run(made(make, base)))
    assert alone[0] in ("success", "BadData", "ValueError"), alone
    compared = 0
    for name, cells in odd:
        if made(make, cells) is not None:
            compared += 1
            assert seen(partial(lambda cells: run(made(make, cells)), cells)) == alone, name
    return compared
