"""One record replaced by anything: every other row of the table is encoded to the same bits, and nothing raises.

Tables are built as users build them, by libraries that type a column by all its cells. A library that has
changed the *values* of other records while it made the table (CHANGES_VALUES) is out of reach: only what the
table then holds can be read.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import random
import uuid
import warnings
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prepriv.columns import Categorical, Numeric
from prepriv.domain import Domain
from prepriv.tables import column as _column
from prepriv.tables.cell import UNREADABLE, cell_of, number_of, text_of
from prepriv.tables.encoding import encode, encode_labels
from prepriv.tables.readers import BadData, read_table

os.environ["RUST_BACKTRACE"] = "0"  # polars panics on some of these cells: its traces take seconds each


class Raises:
    """An object none of whose methods works."""

    def _no(self, *_):
        raise RuntimeError("secret of the record")

    __str__ = __repr__ = __float__ = __eq__ = __hash__ = __bool__ = __index__ = __len__ = _no
    __class__ = property(_no)


class Unordered(float):
    """A number whose own methods do not work."""

    def _no(self, *_):
        raise RuntimeError("secret of the record")

    __str__ = __repr__ = __float__ = __add__ = __lt__ = _no


class Text(str):
    """A text that shows another one."""

    def __str__(self):
        return "b"


class Kind(str, Enum):
    A = "a"


class Whole(int):
    def __str__(self):
        return "0"


DIGITS = -(10**5000)
HOSTILE = [
    None, math.nan, math.inf, -math.inf, 1e308, -0.0, 5e-324, 2.5, 1e16, 2**53 + 1, 2**63, 2**64, -(2**63), 10**400,
    DIGITS, True, False, "abc", "", "1_000", " 1 ", "nan", "1e400", "True", "\0", "a\0b", "\ud800", "x" * 100_000,
    b"1", b"\xff", bytearray(b"1"), 1j, complex(1, 0), complex(1, math.nan), np.complex64(2), Decimal("1.0"),
    Decimal("sNaN"), Decimal("NaN"), Decimal("1e-400"), Decimal("9" * 70), Fraction(1, 3), Fraction(10**400),
    date(1, 1, 1), date(2020, 1, 1), datetime(2020, 1, 1), datetime(9999, 12, 31, 23), time(5), time(5, tzinfo=timezone.utc),
    datetime(2020, 1, 1, tzinfo=timezone.utc), datetime(2020, 1, 1, 5, tzinfo=timezone(timedelta(hours=5))),
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))), timedelta(1), timedelta.max, timedelta(microseconds=-1),
    pd.Timestamp("2020-01-01", tz="Europe/Berlin"), pd.Timestamp("2020-01-01T00:00:00.000000001"), pd.Timedelta(1, "ns"),
    pd.NaT, pd.NA, np.float16(0.1), np.float32(0.1), np.int8(3), np.int64(3), np.uint64(2**63), np.bool_(True),
    np.longdouble(1), np.datetime64("2020-01-01"), np.datetime64("2020-01-01T00:00:00.000000001"), np.datetime64(2**62, "s"),
    np.datetime64("NaT"), np.timedelta64(5, "s"), np.timedelta64(2**60, "D"), np.str_("1"), np.bytes_(b"1"),
    [1, 2], [], (1,), {"a": 1}, {1}, frozenset(), range(3), np.array([1, 2]), np.array(7), [datetime(1, 1, 1)], object(),
    type, uuid.UUID(int=1), pd.Interval(0, 1), pd.Period("2020-01"), Raises(), Unordered(1), Text("a"), Kind.A, Whole(7),
]  # fmt: skip

BASES = {
    "floats": [0.5, 1.0, 2.0, 1e16, 0.1, -0.0, 1e-7],
    "floats with gaps": [0.5, math.nan, 2.0, 1e300],
    "infinite": [math.inf, -math.inf, 1.0],
    "integers": [1, 2, 3, 0, -7],
    "great integers": [2**53 + 1, 1, 2**62 + 1, -(2**63)],
    "unsigned": [2**63 + 5, 1, 2**64 - 1],
    "huge integers": [2**70, 2**71, 1, 2],
    "truth": [True, False, True],
    "truth with gaps": [True, None, False],
    "texts": ["1", "b", " c", "2.0", "True", "1e5", "01", "2020-01-01", "None", "nan"],
    "texts with gaps": ["a", None, "b"],
    "anything": [1, "b", 2.0, True, None, date(2020, 1, 1)],
    "bytes": [b"1", b"b", b"\xff", b"2.0"],
    "dates": [date(2020, 1, i + 1) for i in range(4)],
    "times": [datetime(2020, 1, 1, i, 0, 0, 5 * i) for i in range(4)],
    "midnights": [datetime(2020, 1, i + 1) for i in range(4)],
    "zoned": [pd.Timestamp(2020, 1, i + 1, tz="Europe/Berlin") for i in range(4)],
    "utc": [datetime(2020, 1, i + 1, tzinfo=timezone.utc) for i in range(4)],
    "nanoseconds": [pd.Timestamp("2020-01-01") + pd.Timedelta(i, "ns") for i in range(4)],
    "spans": [timedelta(i, 5 * i) for i in range(4)],
    "pandas spans": [pd.Timedelta(i, "ns") for i in range(4)],
    "clock": [time(i) for i in range(4)],
    "decimals": [Decimal(s) for s in ("1.0", "2.00", "3", "0.5", "1E+2")],
    "fractions": [Fraction(1, 2), Fraction(3), Fraction(1, 4)],
    "numpy integers": [np.int64(2**53 + 1), np.int64(1), np.int8(2)],
    "numpy floats": [np.float32(0.1), np.float32(0.5), np.float64(2.0), np.float16(3)],
    "numpy truth": [np.True_, np.False_],
    "numpy dates": [np.datetime64("2020-01-01"), np.datetime64("2020-01-02")],
    "numpy instants": [np.datetime64("2020-01-01T05", "ns"), np.datetime64("2020-01-02", "ns")],
    "numpy spans": [np.timedelta64(1, "D"), np.timedelta64(2, "D")],
    "complex": [1 + 0j, 2 + 0j, 1j],
    "lists": [[1], [2, 3], []],
    "members": [Kind.A, Kind.A],
    "identifiers": [uuid.UUID(int=1), uuid.UUID(int=2)],
    "intervals": [pd.Interval(0, 1), pd.Interval(1, 2)],
    "periods": [pd.Period("2020-01"), pd.Period("2020-02")],
    "nothing": [None, None],
}  # fmt: skip


def objects(values, shape):
    cells = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        cells[i] = value
    return cells.reshape(shape)


def of_parquet(table):
    file = io.BytesIO()
    pq.write_table(table, file)
    return pq.read_table(io.BytesIO(file.getvalue()))


def of_csv(tmp_path, values):
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="utf-8", errors="surrogatepass") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["c"], *([str(value)] for value in values)])
    return read_table(path)


WAYS = {
    "numpy array of a list": lambda v: np.array([[x] for x in v]),
    "numpy objects": lambda v: objects(v, (-1, 1)),
    "lists": lambda v: [[x] for x in v],
    "tuples": lambda v: tuple((x,) for x in v),
    "pandas": lambda v: pd.DataFrame({"c": pd.Series(v)}),
    "pandas of records": lambda v: pd.DataFrame([{"c": x} for x in v]),
    "pandas converted": lambda v: pd.DataFrame({"c": pd.Series(v)}).convert_dtypes(),
    "pandas converted to arrow": lambda v: pd.DataFrame({"c": v}).convert_dtypes(dtype_backend="pyarrow"),
    "pandas inferred": lambda v: pd.DataFrame({"c": pd.Series(v, dtype=object)}).infer_objects(),
    "pandas categories": lambda v: pd.DataFrame({"c": pd.Series(v).astype("category")}),
    "pandas concat": lambda v: pd.concat([pd.DataFrame({"c": [x]}) for x in v], ignore_index=True),
    "pandas concat of two": lambda v: pd.concat(
        [pd.DataFrame({"c": v[:-1]}), pd.DataFrame({"c": v[-1:]})], ignore_index=True
    ),
    "pandas of numpy": lambda v: pd.DataFrame(np.array([[x] for x in v]), columns=["c"]),
    "polars": lambda v: pl.DataFrame({"c": v}, strict=False),
    "polars of records": lambda v: pl.DataFrame([{"c": x} for x in v], strict=False),
    "polars of all records": lambda v: pl.from_dicts([{"c": x} for x in v], infer_schema_length=None),
    "polars objects": lambda v: pl.DataFrame({"c": pl.Series(v, dtype=pl.Object)}),
    "polars of pandas": lambda v: pl.from_pandas(pd.DataFrame({"c": v})),
    "arrow": lambda v: pa.table({"c": v}),
    "arrow of records": lambda v: pa.Table.from_pylist([{"c": x} for x in v]),
    "arrow of pandas": lambda v: pa.Table.from_pandas(pd.DataFrame({"c": v})),
    "arrow dictionary": lambda v: pa.table({"c": pa.array(v).dictionary_encode()}),
    "arrow in chunks": lambda v: pa.table({"c": pa.chunked_array([pa.array(v)[:2], pa.array(v)[2:]])}),
    "arrow of another type": lambda v: pa.table({"c": pa.array(v, pa.array(v[:-1]).type)}),
    "parquet": lambda v: of_parquet(pa.table({"c": v})),
    "parquet of pandas": lambda v: of_parquet(pa.Table.from_pandas(pd.DataFrame({"c": v}))),
}  # fmt: skip
POLARS = ("polars", "polars of records", "polars of all records")


def changes_values(way, base, odd, table, reference):
    """Whether the library has put other values in the place of other records' values, so that none can tell."""
    cells = [v for v in base if v is not None]
    temporal = any(isinstance(v, date | timedelta | time | np.datetime64 | np.timedelta64) for v in cells)
    if way in POLARS:
        now, was = table["c"].dtype, reference["c"].dtype
        if now == was:  # one span too great for microseconds makes milliseconds of all instants
            return temporal and not table["c"][: len(base)].equals(reference["c"][: len(base)])
        if (
            temporal
        ):  # days or microseconds, midnights of another time zone, "1d"; nanoseconds are lost before
            dates = all(type(v) is date for v in cells)
            naive = now == pl.Datetime("us") or now in (pl.String, pl.Object)
            return not (naive if dates else now == pl.Object and not any(hasattr(v, "asm8") for v in cells))
        if now.is_nested() or was.is_nested():
            return True  # gaps
        if any(isinstance(v, Fraction | complex) for v in cells):
            return now == pl.String  # "1/2"
        return now == pl.Binary and any(not isinstance(v, bytes | str) for v in cells)  # gaps
    if any(w in way for w in ("arrow", "parquet", "polars of pandas")) and any(
        hasattr(v, "asm8") for v in cells
    ):
        return True  # Arrow makes microseconds of pandas' nanoseconds among other objects
    if way in ("numpy array of a list", "pandas of numpy"):
        kind, was = (
            np.array([[v] for v in values]).dtype.kind for values in ([*base, odd], [*base, base[0]])
        )
        if kind in "US" and any(type(v) in (np.float32, np.float16, np.longdouble) for v in cells):
            return True  # the shortest text of a float32 is no text of its value
        return kind != was and (
            kind in "mM" or (was == "U" and Kind.A in cells)
        )  # 5 becomes 5 days, "Kind.A" "a"
    return False


NUMBERS = Domain({"c": Numeric(-10, 10, "impute")}, (0, 1))


def categories(base):
    names = dict.fromkeys(text_of(v) for v in base)
    return tuple(t for t in names if t and t not in ("other", "missing", "nan", UNREADABLE))[:6] or ("a",)


def built(way, values):
    """The table, or None where the library itself refuses it."""
    if any(issubclass(type(v), (np.generic, Raises)) for v in values) and any(
        w in way for w in ("arrow", "parquet", "of pandas")
    ):
        return None  # pyarrow 26 takes such cells for what they are not, or ends the process
    shown = type(values[-1]) not in (Raises, Unordered) and values[-1] is not DIGITS  # 5000 digits
    if not shown and way in POLARS:
        return None  # polars drops its errors where Python can only report them
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return WAYS[way](values)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic of polars is no Exception
        return None


def column_of(table):
    if isinstance(table, list | tuple):
        return [row[0] for row in table]
    return table[:, 0] if isinstance(table, np.ndarray) else table["c"]


def bits(x):
    return np.where(np.isnan(x), 777.0, x).tobytes()


def readings(table, names, n):
    """Each of the n first rows, as a number, as a category and as a label."""
    domain = Domain({"c": Categorical(names)}, (0, 1))
    labels = encode_labels(column_of(table), names if len(names) > 1 else (*names, "other"))
    return [bits(encode(table, d).block(0, n + 1)[:n]) for d in (NUMBERS, domain)] + [labels[:n].tolist()]


def violations(way, name, odd_cells):
    base = BASES[name]
    names = categories(base)
    reference = built(way, [*base, base[0]])
    if reference is None:
        return 0, []
    want, found, tried = readings(reference, names, len(base)), [], 0
    for odd in odd_cells:
        values = [*base, odd]
        table = built(way, values)
        if table is None or changes_values(way, base, odd, table, reference):
            continue
        tried += 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                if readings(table, names, len(base)) != want:
                    found.append(("differs", way, name, type(odd).__name__))
            except Exception as error:
                found.append((repr(error)[:100], way, name, type(odd).__name__))
    return tried, found


@pytest.mark.parametrize("way", WAYS)
def test_one_cell_of_any_kind_leaves_every_other_row_alone(way):
    """A fifth of the bases and of the cells, drawn anew in each run; all of them: the next test."""
    draw, tried = random.Random(), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in draw.sample(list(BASES), len(BASES) // 5):
            count, found = violations(way, name, draw.sample(HOSTILE, len(HOSTILE) // 5))
            assert not found, found[:5]
            tried += count
    assert tried or "records" in way or "parquet" in way or "arrow" in way


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_one_cell_of_any_kind_leaves_every_other_row_alone_at_length(way):
    tried = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in BASES:
            count, found = violations(way, name, HOSTILE)
            assert not found, found[:5]
            tried += count
    assert tried > 100


# ----------------------------------------------------------------------- Arrow types Python cannot hold


def int64(last):
    return pa.array([0, 0, 0, last], pa.int64())


def bad_utf8(last):
    data = pa.py_buffer(b"aaa" + last)
    return pa.Array.from_buffers(
        pa.string(), 4, [None, pa.py_buffer(np.arange(5, dtype=np.int32).tobytes()), data]
    )


NESTED = {
    "plain": lambda a: a,
    "list": lambda a: pa.ListArray.from_arrays([0, 1, 2, 3, 4], a),
    "struct": lambda a: pa.StructArray.from_arrays([a], ["z"]),
    "fixed": lambda a: pa.FixedSizeListArray.from_arrays(a, 1),
    "map": lambda a: pa.MapArray.from_arrays([0, 1, 2, 3, 4], pa.array(list("abcd")), a),
    "dictionary": lambda a: pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3]), a),
    "runs": lambda a: pa.RunEndEncodedArray.from_arrays([1, 2, 3, 4], a),
    "union": lambda a: pa.UnionArray.from_sparse(pa.array([0] * 4, pa.int8()), [a]),
}
ODD_ARROW = {
    **{f"timestamp {u}": lambda v, u=u: int64(v * 2**62).cast(pa.timestamp(u)) for u in ("s", "ms", "us", "ns")},
    **{f"zoned {u}": lambda v, u=u: int64(v * 2**62).cast(pa.timestamp(u, "Europe/Berlin")) for u in ("s", "us")},
    **{f"duration {u}": lambda v, u=u: int64(v * 2**62).cast(pa.duration(u)) for u in ("s", "ms", "us", "ns")},
    "date64": lambda v: int64(v * 2**62).view(pa.date64()),
    "date32": lambda v: pa.array([0, 0, 0, v * (2**31 - 1)], pa.int32()).view(pa.date32()),
    "time64": lambda v: int64(v * 2**62).view(pa.time64("us")),
    "time32": lambda v: pa.array([0, 0, 0, v * (2**31 - 1)], pa.int32()).view(pa.time32("s")),
    "text": lambda v: bad_utf8(b"\xff" if v else b"a"),
}  # fmt: skip


@pytest.mark.parametrize("nesting", NESTED)
@pytest.mark.parametrize("kind", ODD_ARROW)
def test_an_arrow_value_no_python_object_can_hold_leaves_every_other_row_alone(nesting, kind):
    try:
        plain, odd = (pa.table({"c": NESTED[nesting](ODD_ARROW[kind](v))}) for v in (0, 1))
    except (pa.ArrowException, NotImplementedError):
        pytest.skip("pyarrow cannot make it")
    names = ("a", "1970-01-01", "0:00:00", "1970-01-01 00:00:00+00:00")
    assert readings(odd, names, 3) == readings(plain, names, 3)


# ------------------------------------------------------------------------------ short cuts and the definition

VALUES = [0, 1, -1, 2**53 + 1, -(2**53) - 3, 2**62 + 1, 2**63 - 1, -(2**63), 127, 20_000]
FLOATS = [0.0, -0.0, 0.1, 1e16, 1e308, 5e-324, math.nan, math.inf, -math.inf, 2**53 + 2.0, 1 / 3]
DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g", "F", "D"]


def columns_of_every_type():
    with np.errstate(all="ignore"):
        for dtype in DTYPES:
            array = np.array(VALUES if dtype[0] in "iu" else FLOATS).astype(dtype)
            yield f"numpy {dtype}", array
            yield f"pandas {dtype}", pd.Series(array)
            if dtype not in "gFD?f2":
                yield f"pandas category {dtype}", pd.Series(array).astype("category")
                yield f"polars {dtype}", pl.Series(array)
                yield f"arrow {dtype}", pa.chunked_array([pa.array(array)])
                yield f"arrow {dtype} gaps", pa.chunked_array([pa.array(array, mask=array == array[1])])
    for name in (
        "Int8",
        "Int64",
        "UInt64",
        "Float32",
        "Float64",
        "boolean",
        "string",
        "str",
        "int64[pyarrow]",
    ):
        with contextlib.suppress(Exception):
            yield f"pandas {name}", pd.Series([1, 0, 1, None], dtype=name)
    yield "pandas Int64 great", pd.Series([2**53 + 1, None, 2**63 - 1], dtype="Int64")
    yield "pandas double[pyarrow]", pd.Series(FLOATS, dtype="double[pyarrow]")
    yield "pandas sparse", pd.Series(pd.arrays.SparseArray([0.0, 1.0, math.nan]))
    for unit in ("s", "ms", "us", "ns"):
        moments = np.array([0, 1, -1, 86_400_000_000_000, 2**60, -(2**63)]).astype(f"M8[{unit}]")
        yield f"numpy {unit}", moments
        yield f"numpy span {unit}", moments.view(f"m8[{unit}]")
        with contextlib.suppress(Exception):
            yield f"pandas {unit}", pd.Series(moments[:4])
            yield (
                f"pandas zoned {unit}",
                pd.Series(moments[:4]).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
            )
            yield f"pandas span {unit}", pd.Series(moments[:4].view(f"m8[{unit}]"))
            yield f"pandas category {unit}", pd.Series(moments[:4]).astype("category")
        yield (
            f"arrow {unit}",
            pa.chunked_array([pa.array([0, 1, -1, None, 86_400_000], pa.int64()).cast(pa.timestamp(unit))]),
        )
    texts = ["1.0", " a", "True", "2020-01-01", "", "é", "1e400", None]
    for kind in (
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.binary_view(),
    ):
        yield f"arrow {kind}", pa.chunked_array([pa.array(texts, pa.string()).cast(kind)])
    yield "arrow dictionary", pa.chunked_array([pa.array(texts).dictionary_encode()])
    yield (
        "arrow decimal",
        pa.chunked_array([pa.array([Decimal("1.10"), None, Decimal("1e20")], pa.decimal128(38, 2))]),
    )
    yield "polars texts", pl.Series(texts)
    yield "polars categories", pl.Series(texts, dtype=pl.Categorical)
    yield "polars int128", pl.Series([2**70, 1, None], dtype=pl.Int128)
    yield "polars dates", pl.Series([date(2020, 1, 1), date(1, 1, 1), None])
    yield "polars times", pl.Series([time(5), time(0, 0, 0, 7), None])
    yield "pandas texts", pd.Series(texts)
    yield "pandas categories of texts", pd.Series(texts, dtype="category")
    yield "numpy texts", np.array(texts[:-1])
    yield "numpy bytes", np.array([b"1", b"\xff", b"a"])
    yield "pandas periods", pd.Series([pd.Period("2020-01"), pd.NaT])
    yield "pandas intervals", pd.Series([pd.Interval(0, 1), pd.Interval(1, 2.5), None])
    yield "pandas anything", pd.Series([1, "a", None, b"1", 2.5], dtype=object)


@pytest.mark.filterwarnings("ignore")
def test_every_short_cut_says_what_one_cell_says_by_itself():
    seen = 0
    for name, native in columns_of_every_type():
        column = native if isinstance(native, np.ndarray) else nw.from_native(native, series_only=True)
        quick, slow = _column.cells(column), _column.cells_one_by_one(column)
        said = [[None if c < 0 else distinct[c] for c in codes] for codes, distinct in (quick, slow)]
        assert said[0] == said[1], name
        values = native.to_pylist() if isinstance(native, pa.ChunkedArray) else list(native)
        assert said[0] == [cell_of(v) for v in values], name
        got, want = _column.numbers_in(column), np.array([number_of(v) for v in values])
        assert bits(got) == bits(want) == bits(_column.numbers_one_by_one(column)), name
        seen += 1
    assert seen > 100


def test_a_failing_short_cut_is_no_error(monkeypatch):
    def fails(*_):
        raise BaseException("panic")  # as polars' panics are

    column = nw.from_native(pd.Series([1.5, 2.0]), series_only=True)
    for name in ("_cells_at_once", "_numbers_at_once", "_arrow_cells_at_once"):
        monkeypatch.setattr(_column, name, fails)
    assert _column.numbers_in(column).tolist() == [1.5, 2.0]
    assert _column.cells(column)[1] == [1.5, 2.0]


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.text(max_size=12), st.floats(), st.integers(), st.datetimes(), st.timedeltas(), st.decimals()
    )
)
def test_the_text_of_a_cell_is_its_own_text(value):
    assert text_of(text_of(value)) == text_of(value)
    assert cell_of(str(value) if isinstance(value, float) else text_of(value)) in (
        cell_of(value),
        text_of(value),
    )


@settings(max_examples=200, deadline=None)
@given(st.datetimes(), st.timedeltas(timedelta(-90_000), timedelta(90_000)))
def test_moments_and_spans_are_read_alike_in_every_type_and_spelling(moment, span):
    assert len({text_of(v) for v in (moment, str(moment), moment.isoformat(), np.datetime64(moment))}) == 1
    assert (
        len(
            {
                text_of(v)
                for v in (span, str(span), pd.Timedelta(span), str(pd.Timedelta(span)), np.timedelta64(span))
            }
        )
        == 1
    )
    aware = moment.replace(year=2020, tzinfo=timezone(timedelta(hours=-5)))
    assert (
        len({text_of(v) for v in (aware, str(aware), pd.Timestamp(aware), aware.astimezone(timezone.utc))})
        == 1
    )


def test_of_csv_every_cell_is_read_by_itself(tmp_path):
    base = ["0.5", "1", "True", "a", ""]
    want = readings(of_csv(tmp_path, [*base, "1"]), ("0.5", "1", "a"), 5)
    for odd in HOSTILE:
        with contextlib.suppress(RuntimeError, ValueError):  # the writer's
            table = of_csv(tmp_path, [*base, odd])
            assert readings(table, ("0.5", "1", "a"), 5) == want


def test_hostile_labels_in_a_frame_of_one_column():
    frame = pl.DataFrame({"y": [0, 1, 2**64]}, strict=False)
    with pytest.raises(BadData):
        encode(frame, Domain({"z": Numeric(0, 1)}, (0, 1), label="y"))
    assert encode_labels(frame, (0, 1)).tolist() == [0, 1, -1]
