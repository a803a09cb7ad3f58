"""One odd cell in a file that a table library reads: it changes the type of its column, and the reading of no other row.

Each way to read a table is tried on spellings of one value a column, with one cell replaced by each odd one. What
a library changes before prepriv sees the table is listed in `OUT_OF_REACH`, and in docs/trust.md.
"""

from __future__ import annotations

import array
import collections
import io
import itertools
import math
import warnings

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from prepriv import Categorical, Domain, Numeric, PrivateClassifier, Public
from prepriv.preprocessing import StandardScaler
from prepriv.runs.apart import check_apart
from prepriv.tables.cell import UNREADABLE, cell_of, number_of, text_of
from prepriv.tables.column import cells, cells_one_by_one, codes_by, numbers_in, numbers_one_by_one
from prepriv.tables.containers import column_of
from prepriv.tables.encoding import count_rows, encode, encode_labels
from prepriv.tables.readers import read_table

NUMBERS = [
    "1", "+1", "-1", "01234", "-007", "-0", ".5", "1.", "1.50", "1e5", "1E-3", "1e400", "1e-400", "inf", "Infinity",
    "-inf", "+Infinity", "1_000", " 1", "1 ", "١٢", "9007199254740993", "18446744073709551617", "0x1F",
    "0xffffffffffffffff", "True", "true", "FALSE",
]  # fmt: skip
GAPS = ["nan", "NaN", "-nan", "NA", "N/A", "null", "None", "#N/A", "<NA>", "-1.#IND", "?", "-", ""]
TEXTS = [
    "abc",
    "tRuE",
    "1d5",
    "0b1",
    "0x1.8p1",
    "1%",
    "yes",
    "2020-01",
    "5:00",
    "24:00",
    "(1+0j)",
    "none",
    "na",
]
TIMES = [
    "2020-01-01", "2020-01-01 12:30", "2020-01-01 12", "2020-01-01T12:30:00", "2020-01-01 12:30:00.5", "12:30",
    "2020-01-01T00:00:00Z", "2020-01-01T00:00:00+02:00", "9999-12-31 23:59:59", "12:30:00", "05:00", "2020/01/01",
]  # fmt: skip
SPELLINGS = NUMBERS + GAPS + TEXTS + TIMES
ODD = [
    "",
    "1",
    "1.5",
    "x",
    "True",
    "2020-01-01",
    "2020-01-01 12:30:00.5",
    "NA",
    "0x1F",
    "2020-01-01T00:00:00Z",
    "?",
]
BESIDE = [None, "0.5", ""]

# A way to read, then the spellings that its library changes in other rows. Only ways that ask for more than float().
OUT_OF_REACH = {
    "polars, dates parsed": {"5:00", "2020/01/01"},  # a date or a time beside dates, a text beside a text
}

# Spellings that a library refuses a whole file for, whatever the other rows are.
REFUSED = {"polars": "١٢", "polars, dates parsed": "١٢", "Parquet of pandas": "18446744073709551617"}


def _pandas(**how):
    return lambda text, _: pd.read_csv(io.StringIO(text), **how)


def _polars(**how):
    return lambda text, _: pl.read_csv(io.StringIO(text), **how)


def _arrow(text, _):
    return pc.read_csv(pa.BufferReader(text.encode()))


def _csv(text, folder):
    (folder / "t.csv").write_text(text, encoding="utf-8")
    return read_table(folder / "t.csv")


def _parquet(read):
    def through(text, folder):
        table = read(text, folder)
        table = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table)
        pq.write_table(table, folder / "t.parquet")
        return read_table(folder / "t.parquet")

    return through


WAYS = {
    "pandas": _pandas(),
    "pandas, texts": _pandas(dtype=str),
    "pandas by Arrow": _pandas(engine="pyarrow"),
    "polars": _polars(infer_schema_length=None),
    "polars, dates parsed": _polars(infer_schema_length=None, try_parse_dates=True),
    "Arrow": _arrow,
    "CSV by path": _csv,
    "Parquet of pandas": _parquet(_pandas()),
    "Parquet of Arrow": _parquet(_arrow),
}
COLUMNS = {f"c{j}": spelling for j, spelling in enumerate(SPELLINGS)}
CATEGORIES = {name: (spelling or "q", "zz") for name, spelling in COLUMNS.items()}
DOMAINS = (
    Domain({name: Numeric(-1e30, 1e30, "impute") for name in COLUMNS}, (0, 1)),
    Domain({name: Categorical(names) for name, names in CATEGORIES.items()}, (0, 1)),
)


def _readings(table, n):
    """(n, columns, 5): each of the first n cells as a number (777: none) and as one of its categories."""
    numbers, places = (encode(table, domain).block(0, n) for domain in DOMAINS)
    return np.dstack([np.nan_to_num(numbers, nan=777), places.reshape(n, len(COLUMNS), 4)])


def _file(way, beside, odd):
    spellings = ["1" if s == REFUSED.get(way) else s for s in SPELLINGS]
    rows = [[s if cell is None else cell for s in spellings] for cell in (None, None, beside, odd)]
    return "\n".join(",".join(row) for row in [list(COLUMNS), *rows]) + "\n"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", WAYS)
def test_one_odd_cell_of_a_file_changes_no_other_row(way, tmp_path):
    """The third row is of the same spelling, or another, which sets the type with it."""
    changed = set()
    references = {beside: _readings(WAYS[way](_file(way, beside, None), tmp_path), 3) for beside in BESIDE}
    for odd, beside in zip(ODD, itertools.cycle(BESIDE)):
        found = _readings(WAYS[way](_file(way, beside, odd), tmp_path), 3)
        changed |= {SPELLINGS[j] for j in np.flatnonzero((found != references[beside]).any(axis=(0, 2)))}
    assert changed == OUT_OF_REACH.get(way, set())


@pytest.mark.parametrize("spelling", [*NUMBERS, *GAPS, *TEXTS, *TIMES, "+inf", "1__0", "1e", "--1", "0x"])
def test_every_text_that_float_reads_is_that_number(spelling):
    try:
        want = float(spelling) + 0.0
    except ValueError:
        want = {"true": 1.0, "false": 0.0}.get(spelling.lower(), math.nan)
        if spelling.lower().startswith("0x") and spelling[2:].isalnum():
            want = {31: 31.0, 2**64 - 1: -1.0}[int(spelling, 16)]
        want = 1.0 if spelling == "(1+0j)" else want
    for value in (spelling, spelling.encode(), np.str_(spelling), f" {spelling}\0"):
        got = number_of(value)
        assert got == want or (math.isnan(got) and math.isnan(want))
    if not math.isnan(want):
        assert text_of(spelling) == text_of(want) == text_of(text_of(spelling))


@pytest.mark.parametrize("way", WAYS)
def test_one_odd_label_does_not_decide_how_the_others_are_read(way, tmp_path):
    """Found by an audit: labels +1 and -1, and one record "?": 248 of 300 models were another one, against 0 of 300."""
    for odd in ("+1", "?"):
        table = WAYS[way]("x,y\n" + "0.5,+1\n0.5,-1\n" * 50 + f"0.5,{odd}\n", tmp_path)
        assert encode_labels(table["y"], [-1, 1])[:100].tolist() == [1, 0] * 50


def test_a_category_that_is_a_number_is_that_number_in_every_column(tmp_path):
    """The odd cell makes floats or texts of whole numbers: "1" is 1, 1.0 and "01"."""
    for odd in ("2", "2.5", "", "x"):
        for name, way in WAYS.items():
            table = way(f"c,d\n01,1\n1,1\n1.0,1\n{odd},1\n", tmp_path)
            for declared in ("1", 1, 1.0, "01", True):
                place = encode(table, Domain({"c": Categorical((declared, "zz"))}, (0, 1))).block(0, 3)
                assert place[:, 0].tolist() == [1, 1, 1], (name, odd, declared)


def test_what_readers_take_for_a_gap_is_one():
    """Arrow reads NA as a gap among numbers only: as a text it must be the same category."""
    read = pd.io.parsers.readers.STR_NA_VALUES if hasattr(pd.io.parsers.readers, "STR_NA_VALUES") else set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for gap in {*pc.ConvertOptions().null_values, *read} - {""}:
            assert cell_of(gap) is None, gap


def test_no_cell_decides_how_many_records_there_are():
    """Rows with empty cells stay, so that n, which is printed, does not tell of them; `dropna` would make it so."""
    domain, labels = Domain({"a": Numeric(0, 1)}, (0, 1)), [0, 1, 1, 0]
    for cell in (0.5, math.nan, None, "x", math.inf):
        table = pd.DataFrame({"a": [0.1, 0.2, 0.3, cell]})
        assert count_rows(table, labels, domain) == encode(table, domain).n == 4
    assert "dropna" in Domain.__doc__ and "dropna" in PrivateClassifier.fit.__doc__


def _batch(odd):
    """Two named columns in another order than declared; the last cells are `odd`, a whole number or None and bytes."""
    whole, text = odd
    texts = pa.array([b"u", b"v", text], pa.binary()).view(pa.string())
    return pa.record_batch({"b": texts, "a": pa.array([2**53 + 1, 2, whole])})


@pytest.mark.parametrize("odd", [(3, b"\xff"), (None, b"u")])
@pytest.mark.parametrize("paid", [None, StandardScaler(payment=Public(_batch((3, b"u"))))])
def test_a_record_batch_is_a_table_whatever_one_cell_holds(odd, paid):
    domain = Domain({"a": Categorical([2**53 + 1, 2]), "b": Categorical(["u", "v"])}, (0, 1))
    plain, other = (encode(_batch(cells), domain) for cells in ((3, b"u"), odd))
    assert [[*map(int, c[:2])] for c in plain.columns] == [[0, 1], [0, 1]]
    assert [[*c[:2]] for c in other.columns] == [[*c[:2]] for c in plain.columns]
    assert count_rows(_batch(odd), [0, 1, 0], domain) == 3
    check_apart([] if paid is None else [paid], _batch(odd))


# --------------------------------------------------------------------------------- rows and cells of odd classes


class _Raises(list):
    """A record whose own methods raise."""

    def __len__(self):
        raise RuntimeError("secret")


class _NoHash(type):
    __hash__ = None


class _Compares(type):
    def __eq__(self, other):
        raise RuntimeError("secret")

    def __hash__(self):
        return hash(float)


_ROWS = {
    "list": list,
    "tuple": tuple,
    "array": lambda row: np.array(row),
    "array.array": lambda row: array.array("d", row) if None not in row and "x" not in row else list(row),
    "deque": collections.deque,
    "pandas": pd.Series,
    "pandas index": pd.Index,
    "polars": lambda row: pl.Series(row, strict=False),
    "arrow": lambda row: pa.array(row) if "x" not in row else list(row),
    "masked": lambda row: np.ma.array(row, mask=[False, row[0] == 3.0]),
    "numpy matrix": lambda row: np.matrix(row),
}
_BOX = Domain({"a": Numeric(0, 10), "b": Numeric(0, 10)}, (0, 1))
_BALL = Domain.ball(2, (0, 1), radius=10)


def _encoded(rows, domain):
    return np.concatenate([*encode(rows, domain)])


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("domain", [_BOX, _BALL], ids=["box", "ball"])
@pytest.mark.parametrize("kind", _ROWS)
def test_one_odd_row_of_a_list_changes_no_other(kind, domain):
    """Once a series was a row beside numbers only: one gap made missing cells of all other rows."""
    made = _ROWS[kind]
    others = [made([1.0, 2.0]), made([3.0, 4.0])]
    plain = _encoded([*others, made([5.0, 6.0])], domain)[:2]
    if kind != "numpy matrix":  # a row of two dimensions is none
        assert (plain[0] == _encoded([[1.0, 2.0]], domain)[0]).all()
    for odd in (made([5.0, None]), made([5.0, "x"]), [5.0], None, {1.0, 2.0}, _Raises([5.0, 6.0]), 10**400):
        assert (_encoded([*others, odd], domain)[:2] == plain).all(), odd


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("domain", [_BOX, _BALL], ids=["box", "ball"])
def test_one_odd_cell_of_an_np_matrix_changes_no_other_row(domain):
    plain = _encoded(np.matrix([[1.0, 2.0], [3.0, 4.0]]), domain)
    for odd in (None, "x"):
        cells = np.matrix([[1.0, 2.0], [3.0, odd]], dtype=object)
        assert (_encoded(cells, domain)[0] == plain[0]).all()
        assert (_encoded(np.ma.MaskedArray(cells), domain)[0] == plain[0]).all()


def _sparse(index, kind=scipy.sparse.csr_array):
    """Record 0 has a cell in the column `index`, of two; nobody has looked at it."""
    cells = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    if kind is scipy.sparse.coo_array:
        made = kind((cells, ([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1])), shape=(3, 2))
        made.coords[1][1] = index
        return made
    if kind is scipy.sparse.csc_array:  # by columns: what is written wrongly is the record's number
        made = kind((cells, [0, 1, 2, 0, 1, 2], [0, 3, 6]), shape=(3, 2))
        made.indices[3] = index
        return made
    held = cells if kind is scipy.sparse.csr_array else cells.reshape(-1, 1, 1)
    return kind((held, [0, index, 0, 1, 0, 1], [0, 2, 4, 6]), shape=(3, 2))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("index", [3, 5, 400, -2])
def test_a_sparse_cell_outside_of_the_features_lands_in_no_other_row(index, kind):
    kind = getattr(scipy.sparse, f"{kind}_array")
    plain = _encoded(_sparse(0 if kind is scipy.sparse.csc_array else 1, kind), _BALL)
    assert (_encoded(_sparse(index, kind), _BALL)[1:] == plain[1:]).all()


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_a_complex_sparse_cell_is_no_number_by_itself(kind):
    cells = np.array([[1, 2], [3, 1j], [3, 4]])
    found = _encoded(getattr(scipy.sparse, f"{kind}_array")(cells), _BALL)
    assert found.tolist() == [[1, 2], [0, 0], [3, 4]]


@pytest.mark.parametrize("meta", [_NoHash, _Compares])
def test_a_cell_whose_class_cannot_be_hashed_or_compared_is_no_cell(meta):
    odd = meta("Odd", (), {})()
    assert cell_of(odd) == UNREADABLE
    for column in ([1.0, 0.0, odd], np.array([1.0, 0.0, odd], dtype=object), pd.Series([1.0, 0.0, odd])):
        assert numbers_in(column_of(column))[:2].tolist() == [1.0, 0.0]
        assert math.isnan(numbers_in(column_of(column))[2])


def test_a_cell_that_says_a_text_of_its_own_class_is_not_read():
    class Text(str):
        def __hash__(self):
            return hash(1.0)

        def __eq__(self, other):
            raise RuntimeError("secret")

        def rstrip(self, *_):
            return self

        strip = rstrip

    class Odd:
        def __str__(self):
            return Text("a")

    assert numbers_one_by_one([1.0, Odd()])[0] == 1.0


@pytest.mark.parametrize(
    "values",
    [[1.0, None, 3.0], ["a", None, "b"], [2**63 - 1, None, 1]],
    ids=["floats", "texts", "ids"],
)
@pytest.mark.parametrize("encoding", ["plain", "dictionary", "view"])
def test_run_end_encoded_columns_are_read_as_what_they_say(values, encoding):
    held = pa.array(values)
    if encoding == "view":
        held = held.cast(pa.string_view()) if isinstance(values[0], str) else held
    runs = pa.array([2, 3, 6], pa.int32())
    column = pa.RunEndEncodedArray.from_arrays(
        runs, held.dictionary_encode() if encoding == "dictionary" else held
    )
    plain = [values[0]] * 2 + [values[1]] + [values[2]] * 3
    table = pa.table({"a": pa.chunked_array([column, column.slice(1, 4)])})
    read = column_of(table)
    want = [*map(cell_of, plain + plain[1:5])]
    for codes, distinct in (cells(read), cells_one_by_one(read), cells(nw.from_native(table)["a"])):
        assert [None if c < 0 else distinct[c] for c in codes] == want
    codes, names = codes_by(
        read, lambda v: None if v is None else v.decode() if isinstance(v, bytes) else str(v)
    )
    assert [None if c < 0 else names[c] for c in codes][:6] == [None if v is None else str(v) for v in plain]


def test_a_masked_cell_of_a_list_is_a_gap():
    for gone in (np.ma.masked, np.ma.array(5.0, mask=True)):
        assert cell_of(gone) is None
        assert np.isnan(numbers_in(column_of([1.0, gone]))[1])
        assert _encoded([[1.0, 2.0], [3.0, gone]], _BOX).tolist() == [[0.1, 0.2], [0.3, 0.5]]
    assert cell_of(np.ma.array(5.0)) == 5.0


def test_a_complex_cell_beside_them_makes_no_other_text_of_numbers():
    for number in (1, 0, 2, -0.0, 2.5, 1e16, math.inf):
        assert number_of(str(complex(number))) == number
    texts = pd.Series([1, 0, 2, 1j]).astype(str)
    assert numbers_in(column_of(texts))[:3].tolist() == [1, 0, 2]
