"""From a raw table to rows of the declared space: encoding, and one declared rule for every bad cell.

Nothing here aborts on a record: an unreadable number is missing, a number out of bounds is clamped, an
unknown category is "other", an unknown label marks the record as contributing nothing. What does raise
(ValueError) is what does not depend on any record: a missing file or column, a wrong shape.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import instance, kind
from prepriv._quiet import silent
from prepriv.columns import Categorical, Column, Numeric, Text
from prepriv.domain import TARGET_STEPS, Domain
from prepriv.tables.cell import Cell, text, text_of
from prepriv.tables.column import cells, numbers_in
from prepriv.tables.containers import column_of, tabled
from prepriv.tables.hashed_text import text_cell
from prepriv.tables.images import images_at_once, images_in_turn, of_no_subclass
from prepriv.tables.lists import columns_of_lists, matrix_of_lists
from prepriv.tables.readers import BadData, lacks
from prepriv.tables.sentences import embedded
from prepriv.tables.sparse import is_sparse, sparse_rows
from prepriv.tables.spool import Spool
from prepriv.tables.stream import Files, Stream, as_stream
from prepriv.tables.table import BLOCK, Streamed, Table, joined

__all__ = [
    "BLOCK",
    "Table",
    "count_rows",
    "encode",
    "encode_labels",
    "encode_stream",
    "encode_targets",
    "label_of",
]
MISSING_TEXT = frozenset({"", "?", "na", "n/a", "nan", "null", "none", "missing", "<na>", "nat"})
SURELY_MISSING = MISSING_TEXT - {"none"}
"""What a draft takes for a gap: "none" is an answer as often."""


def _lookup(codes: NDArray[np.int64], table: NDArray[Any], empty: Any) -> NDArray[Any]:
    return np.asarray(np.append(table, np.asarray(empty, dtype=table.dtype))[codes])


def _encode_numeric(raw: NDArray[np.float64], column: Numeric) -> NDArray[np.float64]:
    """Where x stands between the bounds, clamped to [0, 1]; NaN stays if it has to be imputed, else one half."""
    with np.errstate(over="ignore", invalid="ignore"):
        inside = np.clip(raw, column.low, column.high)  # NaN stays NaN
        unit = np.clip(column.shares(inside), 0.0, 1.0)
    return unit if column.missing == "impute" else np.where(np.isnan(unit), 0.5, unit)


def _positions(names: Sequence[Hashable]) -> dict[str, int]:
    """Where each declared name stands; the domain has seen to it that no two are one value."""
    return {text_of(name): i for i, name in enumerate(names)}


def categorical_cells(series: Any, column: Categorical) -> NDArray[np.int32]:
    """Position in (categories..., other, missing) of each cell."""
    position = _positions(column.categories)
    other, missing = len(column.categories), len(column.categories) + 1

    def place(cell: Cell) -> int:
        name = text(cell)
        return position.get(name, missing if name.lower() in MISSING_TEXT else other)

    codes, distinct = cells(series)
    return _lookup(codes, np.array([place(v) for v in distinct], dtype=np.int32), place(None))


def _texts(series: Any, made: Callable[[NDArray[np.object_]], NDArray[Any]] | None) -> NDArray[Any]:
    """What each cell says as a text, (n,), the empty one for an empty cell; or what is made of it, (n, features) in single precision."""
    codes, distinct = cells(series)
    texts = np.array([*(text_cell(v) for v in distinct), ""], dtype=object)
    found = texts if made is None else made(texts)
    return found[codes]  # -1, of an empty cell, is the last


def encode_labels(labels: Any, classes: Sequence[Hashable]) -> NDArray[np.int32]:
    """Index of each label among the declared classes, (n,); -1 for one that is not declared."""
    instance("classes", classes, Sequence, "a list of label values")
    if labels is None or isinstance(labels, str | bytes | int | float | Mapping):
        raise BadData(f"labels must be a column of them, one for each row; got {type(labels).__name__}")
    position = _positions(classes)
    with silent():
        codes, distinct = cells(label_column(labels))
    at = np.array([position.get(text(v), -1) for v in distinct], dtype=np.int32)
    return _lookup(codes, at, position.get(text(None), -1))


def _numbers(labels: Any, target: Numeric) -> NDArray[np.float64]:
    with silent():
        cells = numbers_in(label_column(labels), target.written)
    return cells


def encode_target(labels: Any, target: Numeric) -> NDArray[np.int32]:
    """Where each label stands between the declared bounds, 0 to TARGET_STEPS, (n,); -1 where it is not a number."""
    cells = _numbers(labels, target)
    unit = _encode_numeric(cells, replace(target, missing="impute"))  # NaN stays
    return np.where(np.isnan(unit), -1, np.rint(np.nan_to_num(unit) * TARGET_STEPS)).astype(np.int32)


def target_numbers(labels: Any, target: Numeric) -> NDArray[np.float64]:
    """The numbers of a target as they are written, (n,), NaN where there is none; one beyond all numbers is a declared bound."""
    found = _numbers(labels, target)
    return np.where(np.isinf(found), np.clip(found, target.low, target.high), found)


def encode_targets(labels: Any, domain: Domain) -> NDArray[np.int32]:
    """What a domain declares to be learned, as whole numbers (n,), -1 for a record that contributes nothing."""
    if domain.target is not None:
        return encode_target(labels, domain.target)
    return encode_labels(labels, domain.classes)


def label_column(labels: Any) -> Any:
    """The labels as one column, of any container; one that stands alone in a list is that label. BadData for what can be read
    only once, since they are counted before they are read.
    """
    if isinstance(labels, Iterator):
        raise BadData(
            f"labels must be a column of them; got {kind(labels)}, which can be read only once: give a list"
        )
    if isinstance(labels, list | tuple):
        return [_alone(label) for label in labels]
    return column_of(labels.reshape(-1) if isinstance(labels, np.ndarray) else labels, "labels")


def _alone(label: Any) -> Any:
    plain = type(label) is list or type(label) is tuple or (type(label) is np.ndarray and label.ndim == 1)
    return label[0] if plain and len(label) == 1 else label


def encode(data: Any, domain: Domain, spool: Spool | None = None) -> Table:
    """Bind a table (NumPy matrix, pandas, polars, Arrow, or a stream: stream.py) to a domain. BadData if it does not fit.

    spool: where a stream that is not a file is held, which is read once; None: one that is made here.
    """
    instance("domain", domain, Domain, "a prepriv.Domain")
    if isinstance(data, Table):
        if data.domain.shape_of_rows() != domain.shape_of_rows():
            raise BadData("the encoded table belongs to another domain: encode the raw rows again")
        return data
    if (stream := as_stream(data)) is not None:
        columns = check_stream(stream, domain)
        if isinstance(stream, Files):
            return _streamed(stream, columns, domain)
        spool = spool or Spool(domain)
        for part in _parts(stream, columns, domain):
            spool.add(part)
        return _spooled(spool)
    with silent():
        if domain.is_ball and is_sparse(data):
            return _from_sparse(data, domain)
        raw = _raw(data, domain)
        return Table(domain, len(raw), raw) if isinstance(raw, np.ndarray) else _from_series(raw, domain)


def encode_stream(
    stream: Stream, domain: Domain, label: str, *, keep: bool, spool: Spool | None = None
) -> tuple[Table, NDArray[np.int32]]:
    """Rows and class indices (-1 where the label is not declared) of a stream, by one pass over it.

    keep: whether encoded rows stay in memory. Otherwise each later pass reads files again; what is not a file, and could be another
    table by then, is read no second time: its encoded rows are held in `spool`, or in one that is made here.
    """
    *columns, label = check_stream(stream, domain, label)
    kept: list[Table] = []
    targets = [np.zeros(0, np.int32)]
    anew = isinstance(stream, Files) and not keep
    held = None if keep or anew else spool or Spool(domain)
    for part in stream.parts([label] if anew else [*columns, label]):
        frame = as_frame(part)
        targets.append(encode_targets(frame[label], domain))
        if not anew:
            rows = encode(frame.select(columns).to_native(), domain)
            kept.append(rows) if held is None else held.add(rows)
    found = np.concatenate(targets)
    if isinstance(stream, Files) and not kept:
        return _streamed(stream, columns, domain, len(found)), found
    return joined(kept) if kept else _spooled(held or Spool(domain)), found


def _spooled(spool: Spool) -> Streamed:
    return Streamed(domain=spool.domain, n=spool.n, parts=spool.parts)


def label_of(labels: Any, domain: Domain) -> str:
    """The name of a stream's label column: as given, else the domain's. ValueError where a domain could not have it as label: it is declared as
    a column, the unit or the column of the periods."""
    name = domain.label if labels is None else labels
    if not isinstance(name, str):
        raise BadData("the labels of a stream are one of its columns: give its name")
    if name != domain.label:
        replace(domain, label=name)  # refused before anything is charged
    return name


def read_whole(stream: Stream, names: Sequence[str]) -> Any:
    """These columns of a stream as one table in memory, read once. BadData where its parts are not of one form."""
    stream.check(names)
    frames = [as_frame(part) for part in stream.parts(list(names))]
    if not frames:
        frames = [nw.from_dict({name: [] for name in names}, backend="pyarrow")]
    try:
        return frames[0].to_native() if len(frames) == 1 else nw.concat(frames).to_native()
    except Exception:  # of types, which a library may quote with a cell
        pass
    raise BadData(
        "a column has different types in different parts of the table, which is read as a whole here"
    )


def with_source(domain: Domain, table: Any) -> Domain:
    """The domain, which says what gives the rows where that is a query or a reader (`Domain.source`)."""
    stream = as_stream(table)
    return domain if stream is None or stream.source is None else replace(domain, source=stream.source)


def check_source_of(stream: Stream, said: str | None) -> None:
    """BadData unless what a plan says about its rows is true of these: its claim names the query, and rests on no order."""
    if stream.source not in (None, said):
        raise BadData(
            f"the plan does not say that its rows are those of {stream.source}: declare it in the domain, as source="
        )


def check_stream(stream: Stream, domain: Domain, *label: str) -> list[str]:
    """The columns a domain reads of a stream, and its label. BadData where one is not there; reads no record."""
    names = [name for name in stream.names if name not in (domain.label, *label)]
    named = isinstance(stream, Files) and not domain.is_ball and not unnamed(domain)
    used = domain.columns if named else (names[c] if isinstance(c, int) else c for c in _used(names, domain))
    stream.check(columns := [*used, *label])
    return columns


def _parts(stream: Stream, columns: Sequence[str], domain: Domain) -> Iterator[Table]:
    return (encode(part, domain) for part in stream.parts(columns))


def _streamed(stream: Stream, columns: Sequence[str], domain: Domain, n: int | None = None) -> Streamed:
    n = stream.count() if n is None else n

    def between(start: int, stop: int) -> Streamed:
        assert isinstance(stream, Files)
        return _streamed(stream.between(start, stop), columns, domain, stop - start)

    return Streamed(
        domain=domain,
        n=n,
        parts=partial(_parts, stream, columns, domain),
        between=between if isinstance(stream, Files) and stream.parquet else None,
    )


def count_rows(data: Any, labels: Any, domain: Domain) -> int:
    """How many rows a table and its labels have. Their form is checked as `encode` does, and no cell is read.

    Raises BadData: before anything is charged that `encode` could then refuse. For a stream, too, which is not read.
    """
    if as_stream(data) is not None:
        raise BadData("a stream cannot be used here: read it into a frame first")
    with silent():
        n = rows_of(data, domain)
        if (other := len(label_column(labels))) != n:
            counts = f": {n:,} and {other:,}" if domain.n_is_public else ""
            raise BadData(f"X and y have different numbers of rows{counts}")
    return n


def rows_of(data: Any, domain: Domain) -> int:
    """How many rows a table in memory has; BadData, as `encode` says it, where it does not fit. No cell is read."""
    if isinstance(data, list | tuple):  # fits any domain: a row of another length is a row of missing cells
        return len(data)
    array = data
    if not isinstance(data, np.ndarray):
        frame = as_frame(data)
        if isinstance(frame, nw.DataFrame):
            _used(frame.columns, domain)
            return len(frame)
        if domain.is_ball and is_sparse(data):
            return _sparse_count(data, domain)
        array = _arrayed(data) if hasattr(data, "__array__") else data
    if not (isinstance(array, np.ndarray) and array.ndim):
        return encode(data, domain).n  # encoded already, or refused
    encode(array[:0], domain)
    return len(array)


def columns_of(data: Any, domain: Domain) -> list[Any]:
    """The declared columns of a table (those of a ball, too) as they are. Raises BadData as `encode` does."""
    with silent():
        if domain.is_ball and is_sparse(data):
            columns = _from_sparse(data, domain).matrix.tocsc()
            return [columns[:, [j]].toarray()[:, 0] for j in range(columns.shape[1])]
        raw = _raw(data, domain)
    return [raw[:, j] for j in range(raw.shape[1])] if isinstance(raw, np.ndarray) else raw


def _from_sparse(data: Any, domain: Domain) -> Table:
    """Sparse rows of a ball; a block of them is dense only while it is read."""
    return Table(domain, _sparse_count(data, domain), sparse_rows(data))


def _sparse_count(data: Any, domain: Domain) -> int:
    """How many rows there are; BadData where they do not have the declared features. A cell sets the type, which says nothing."""
    if data.ndim != 2 or data.shape[1] != domain.ball_features:
        raise BadData(
            f"expected a sparse matrix of {domain.ball_features} features; got one of {data.ndim} dimension(s), "
            f"the last of {data.shape[-1]}"
        )
    return int(data.shape[0])


def _raw(data: Any, domain: Domain) -> NDArray[Any] | list[Any]:
    """A matrix of numbers, or one series a column."""
    numeric_only = domain.is_ball or all(
        isinstance(c, Numeric) and c.written == "number" for c in domain.columns.values()
    )
    if isinstance(data, list | tuple):
        data = images_in_turn(data, domain.image)
        matrix = matrix_of_lists(data, domain.n_inputs) if numeric_only else None
        if matrix is None:
            return columns_of_lists(data, domain)
        data = matrix
    if isinstance(data, np.ndarray):
        return _from_array(data, domain, numeric_only)
    if is_sparse(data):
        raise BadData(
            "sparse matrices are for rows of a ball (Domain.ball): pass a dense matrix or a data frame"
        )
    frame = as_frame(data)
    if not isinstance(frame, nw.DataFrame):
        if hasattr(data, "__array__"):
            return _from_array(_arrayed(data), domain, numeric_only)
        raise BadData(
            f"expected a matrix or a pandas, polars or Arrow table; got {type(data).__name__}"
        ) from None
    return [frame[:, c] for c in _used(frame.columns, domain)]


def _arrayed(data: Any) -> NDArray[Any]:
    """What says that it is an array; BadData for a column, since how that becomes one depends on its cells."""
    arrow = sys.modules.get("pyarrow")
    column = nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(column, nw.Series) or (arrow is not None and isinstance(data, arrow.Array)):
        raise BadData(f"expected a matrix or a pandas, polars or Arrow table; got {kind(data)}, one column")
    return np.asanyarray(data)


def as_frame(data: Any) -> Any:
    """A frame of any library, as narwhals gives it; what is none stays as it is. BadData where two names are one.

    No name is told: where a file has no header line, its first record is one.
    """
    try:
        frame = nw.from_native(tabled(data), eager_only=True, pass_through=True)
        unique = not isinstance(frame, nw.DataFrame) or len(set(frame.columns)) == len(frame.columns)
    except (nw.exceptions.NarwhalsError, ValueError):
        unique = False
    if not unique:
        raise BadData(
            "two columns of the table have the same name (or its header line is missing): rename one"
        )
    return frame


def _used(have: Sequence[str], domain: Domain) -> Sequence[Any]:
    """The declared columns of those a table has, by name or position. Raises BadData if they are not there."""
    if domain.is_ball:
        if len(have) != domain.ball_features:
            raise BadData(f"the domain declares {domain.ball_features} features; the table has {len(have)}")
        return range(len(have))
    known = frozenset(have)
    missing = next((name for name in domain.columns if name not in known), None)
    if missing is None:
        return list(domain.columns)
    # A domain built without names (x0, x1, ...) takes a frame's columns in order.
    if not unnamed(domain) or len(have) != len(domain.columns):
        raise BadData(lacks("the table", missing, list(domain.columns), have))
    return range(len(have))


def unnamed(domain: Domain) -> bool:
    """Whether the columns have the names x0, x1, ... of a domain without any: a frame's are then taken in order."""
    return all(name == f"x{j}" for j, name in enumerate(domain.columns))


def _from_array(array: NDArray[Any], domain: Domain, numeric_only: bool) -> NDArray[Any] | list[Any]:
    array = of_no_subclass(array)
    if domain.image is not None and array.ndim > 2:
        array = images_at_once(array, domain.image)
    if array.ndim != 2:
        raise BadData(
            f"expected a 2-dimensional matrix of shape (n, {domain.n_inputs}); got {array.ndim} dimension(s). "
            "Reshape your data: one row per record"
        )
    if array.shape[1] == 0:
        raise BadData("0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    if array.shape[1] != domain.n_inputs:
        raise BadData(
            f"X has {array.shape[1]} features, but Domain is expecting {domain.n_inputs} features as input"
        )
    if array.dtype.kind in "iufb" and numeric_only and not isinstance(array, np.ma.MaskedArray):
        return array
    return [array[:, j] for j in range(array.shape[1])]


def _from_series(series: Sequence[Any], domain: Domain) -> Table:
    n = len(series[0])
    if domain.is_ball:
        return Table(domain, n, np.column_stack([numbers_in(s) for s in series]))
    return Table(
        domain, n, None, tuple(_encoded(c, kind) for kind, c in zip(domain.columns.values(), series))
    )


def _encoded(cells: Any, kind: Column) -> NDArray[Any]:
    if isinstance(kind, Numeric):
        return _encode_numeric(numbers_in(cells, kind.written), kind)
    if isinstance(kind, Text):
        return _texts(cells, embedded if kind.encoder else None)
    return categorical_cells(cells, kind)
