"""Files, ids, images and vectors in the forms that they come in: found by a second look at what a user can hand over."""

from __future__ import annotations

import bz2
import decimal
import fractions
import hashlib
import os
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from prepriv import Budget, Domain, Numeric, PrivateTransformer
from prepriv.cli import run
from prepriv.ledger import Ledger
from prepriv.preprocessing import StandardScaler
from prepriv.tables import csv as _csv
from prepriv.tables.column import codes_by
from prepriv.tables.containers import column_of
from prepriv.tables.embeddings import embedding_matrix
from prepriv.tables.encoding import encode
from prepriv.tables.inspect import check_new_rows
from prepriv.tables.readers import BadData, column_names, read_table
from prepriv.tables.stream import as_stream
from prepriv.tables.units import as_frame, counted_units, id_of

SCHEMA = "label: {name: y, classes: [0, 1]}\nrows: 40\ncolumns:\n  x: {type: numeric, low: 0, high: 1}\n"
ROWS = [f"0.{i % 10},{i % 2}" for i in range(40)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts").mkdir()
    pq.write_table(pa.table({"x": np.arange(40) / 40, "y": np.arange(40) % 2}), "parts/a.parquet")
    (tmp_path / "s.yaml").write_text(SCHEMA)
    Ledger.create("l.db", "d", epsilon=10.0, delta=1e-3)
    return tmp_path


def train(data, *more):
    return run(["train", str(data), "--schema", "s.yaml", "--out", "o", *more])


def charges():
    return len(Ledger.open("l.db").entries())


# --------------------------------------------------------------------------------------- one file, read twice


def test_a_file_that_a_glob_names_twice_is_read_once(folder):
    for pattern in ("**/**/*.parquet", "**/parts/**/*.parquet", "parts/*"):
        assert as_stream(pattern).rows == 40, pattern


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_file_with_two_names_is_refused_before_the_charge(folder, link, capsys):
    link(folder / "parts" / "a.parquet", folder / "parts" / "latest.parquet")
    for data in (folder / "parts", "parts/*.parquet", "**/*.parquet"):
        with pytest.raises(BadData, match="would count twice"):
            as_stream(data)
        assert train(data, "--ledger", "l.db") == 2
    assert "name it once" in capsys.readouterr().err and charges() == 0


def test_a_dataset_that_reads_a_file_twice_is_refused(folder):
    path, one = str(folder / "parts" / "a.parquet"), ds.dataset("parts/a.parquet")
    os.symlink(path, "b.parquet")
    assert as_stream(one).names == ["x", "y"]
    for twice in (
        ds.dataset([path, path]),
        ds.dataset([path, str(folder / "b.parquet")]),
        ds.dataset([one, one]),
        ds.dataset([ds.dataset([one]), ds.dataset(path)]),
    ):
        with pytest.raises(BadData, match="would count twice"):
            as_stream(twice)
    other = ds.dataset(pa.table({"x": [0.5], "y": [1]}))
    assert as_stream(ds.dataset([one, other])).count() == 41


# -------------------------------------------------------------------------------------------- the header line

ODD_RECORDS = [
    "0.5,1",
    "0.5,1,7",
    "0.5,\xe9",
    "0.5," + ";" * 300,
    '"0.5",1',
    '"0\n5",1',
    "0.5\n,1",
    "x" * 3000,
]


def refusal(path, text):
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadData) as told:
        column_names(path)
    with pytest.raises(BadData) as again:
        read_table(path, ["x"])
    assert str(told.value) == str(again.value)
    return str(told.value)


@pytest.mark.parametrize("header", ["x,y", '"x","y"', "x"])
def test_lines_that_end_in_cr_alone_are_refused_whatever_a_record_holds(header, tmp_path, monkeypatch):
    """All of the file was its header line, and the refusal counted its cells and classified their bytes."""
    said = set()
    for odd in ODD_RECORDS:
        for least in (2**24, 200):
            monkeypatch.setattr(_csv, "_HEADER", least)
            lines = [header, *ROWS[:20], odd, *ROWS[20:]]
            said |= {refusal(tmp_path / "t.csv", "\r".join(lines) + end) for end in ("\r", "", "\n")}
    assert len(said) == 1 and "line ends" in said.pop()


@pytest.mark.parametrize("header", ['x,"y', '"x\nz",y', 'x,"y\nz"', 'x,"y""'])
def test_the_names_are_those_of_the_first_line_whatever_a_record_holds(header, tmp_path):
    """A quote that the header line left open was closed by that of a record, and all between them were no records."""
    said = {refusal(tmp_path / "t.csv", "\n".join([header, *ROWS, odd, ""])) for odd in ODD_RECORDS}
    assert len(said) == 1 and "is not closed there" in said.pop()


def test_header_lines_that_are_read(tmp_path):
    path = tmp_path / "t.csv"
    for header in ("x,y\n", "x,y\r\n", '"x","y"\r\n', "\ufeffx,y\n", "x,y"):
        path.write_text(header + "0.5,1\n" * header.endswith("\n"), newline="")
        assert column_names(path) == ["x", "y"] == read_table(path).column_names, header
        assert len(read_table(path)) == header.endswith("\n")
    path.write_text('5" pipe,"a ""b"""\n1,2\n')
    assert column_names(path) == ['5" pipe', 'a "b"']


# --------------------------------------------------------------------------------------- names that are refused


@pytest.mark.parametrize("name", ["t.csv.bz2", "t.csv.xz", "t.csv.zip", "t.parquet.gz", "t.csv.bak", "t.gz"])
def test_a_name_that_says_that_nothing_reads_it_is_refused_before_the_charge(folder, name, capsys):
    (folder / name).write_bytes(bz2.compress("\n".join(["x,y", *ROWS]).encode()))
    assert train(name, "--ledger", "l.db") == 2 and charges() == 0
    assert "must end in" in capsys.readouterr().err


def test_the_last_ending_says_what_a_file_is(tmp_path):
    for name, text in (
        ("a.parquet.csv", "x,y\n1,2\n"),
        ("a.tsv.csv", "x,y\n1,2\n"),
        ("a.csv.TSV", "x\ty\n1\t2\n"),
    ):
        (tmp_path / name).write_text(text)
        assert column_names(tmp_path / name) == ["x", "y"], name
        assert read_table(tmp_path / name).to_pylist() == [{"x": b"1", "y": b"2"}]
        assert [len(part) for part in as_stream(tmp_path / name).parts(["y"])] == [1]


def test_what_types_texts_by_their_first_cells_is_refused_wherever_it_stands(folder):
    (folder / "t.csv").write_text("\n".join(["x,y", *ROWS]))
    (folder / "t.ndjson").write_text('{"x": 0.5, "y": 1}\n')
    csv, parquet = ds.dataset("t.csv", format="csv"), ds.dataset("parts/a.parquet")
    query = pl.scan_csv("t.csv")
    for data in (
        csv,
        ds.dataset([csv]),
        ds.dataset([parquet, ds.dataset([csv])]),
        pyarrow.csv.open_csv("t.csv"),
        query,
        query.filter(pl.col("x") > 0).select("x", "y").sort("x"),
        pl.concat([pl.scan_parquet("parts/a.parquet"), query]),
        pl.scan_ndjson("t.ndjson"),
    ):
        with pytest.raises(BadData, match="columns by their first cells"):
            as_stream(data)
    assert len(as_stream(pl.scan_parquet("parts/*.parquet")).names) == 2
    assert as_stream(pl.DataFrame({"csv scan": [1]}).lazy()).count() == 1


# ------------------------------------------------------------------------------------------------ ids of units

UNITS = Domain({"x": Numeric(0, 1)}, classes=[0, 1], unit="id", rows_per_unit=5)
HASHES = [hashlib.md5(str(i).encode()).digest() for i in range(20)] * 2
LONG = [decimal.Decimal(1234567890123456789 + i) for i in range(20)] * 2
FORMS = {
    "fixed_size_binary": lambda: pa.array(HASHES, pa.binary(16)),
    "binary": lambda: pa.array(HASHES, pa.binary()),
    "binary_view": lambda: pa.array(HASHES, pa.binary_view()),
    "dictionary of binary": lambda: pa.array(HASHES).dictionary_encode(),
    "dictionary of binary_view": lambda: dictionary(HASHES, pa.binary_view()),
    "dictionary of string_view": lambda: dictionary([h.hex() for h in HASHES], pa.string_view()),
    "decimal128": lambda: pa.array(LONG, pa.decimal128(38, 0)),
    "dictionary of decimals": lambda: pa.array(LONG, pa.decimal128(38, 0)).dictionary_encode(),
    "pandas bytes": lambda: pd.Series(HASHES),
    "pandas bytearrays": lambda: pd.Series([bytearray(h) for h in HASHES], dtype=object),
    "pandas decimals": lambda: pd.Series(LONG, dtype=object),
    "pandas fractions": lambda: pd.Series([fractions.Fraction(one) for one in LONG], dtype=object),
    "pandas spans": lambda: pd.Series([np.timedelta64(i % 20, "s") for i in range(40)], dtype=object),
    "polars bytes": lambda: pl.Series(HASHES),
    "polars decimals": lambda: pl.Series(LONG),
}


def dictionary(values, kind):
    return pa.DictionaryArray.from_arrays(pa.array([i % 20 for i in range(40)]), pa.array(values[:20], kind))


def table_of(ids):
    x = np.zeros(40)
    if isinstance(ids, pd.Series):
        return pd.DataFrame({"id": ids, "x": x})
    return (pl.DataFrame if isinstance(ids, pl.Series) else pa.table)({"id": ids, "x": x})


@pytest.mark.parametrize("form", FORMS)
def test_ids_in_the_types_that_files_have_for_them_are_ids(form):
    """All of these rows were nobody's, in silence, and the model was noise."""
    assert counted_units(table_of(FORMS[form]()), UNITS) == (20, 0, 0)


def test_the_name_of_bytes_is_that_of_no_text():
    odd = b"\xff" + b"x" * 15
    assert id_of(odd) == id_of(bytearray(odd)) == id_of(np.void(odd)) != id_of(odd.hex()) == odd.hex()
    assert id_of(" " + odd.hex()) == odd.hex() != id_of(odd)
    assert id_of(decimal.Decimal("7.00")) == id_of(fractions.Fraction(14, 2)) == id_of(7) == "7"
    for nobody in ("1e999999999", "NaN", "sNaN", "-Infinity", "1.5"):
        assert id_of(decimal.Decimal(nobody)) is None, nobody
    gap = pa.DictionaryArray.from_arrays(pa.array([0, None, 1]), pa.array(["a", None], pa.string_view()))
    assert codes_by(as_frame(pa.table({"id": gap}))["id"], id_of)[0].tolist() == [0, -1, -1]


@pytest.mark.parametrize("kind", [pl.Date, pl.Datetime("us"), pl.Duration("ms"), pl.List(pl.Date)], ids=str)
def test_a_cell_of_polars_out_of_range_tells_nothing_on_stderr(kind, capfd):
    storage, far = (
        (pl.Int32, 2**31 - 1) if "Date)" in f"{kind})" and "time" not in str(kind) else (pl.Int64, 2**62)
    )
    cells = pl.Series([1, far, 2], dtype=storage)
    cells = (
        cells.cast(pl.Date).implode().explode().reshape((3, 1)).cast(kind)
        if "List" in str(kind)
        else cells.cast(kind)
    )
    codes, names = codes_by(as_frame(pl.DataFrame({"id": cells}))["id"], id_of)
    if "List" not in str(kind):
        assert codes[0] == 0 and codes[2] == codes.max() and len(names) >= 2
    out = capfd.readouterr()
    assert out.err == "" == out.out


# ------------------------------------------------------------------------------------- matrices, images, vectors

BALL = Domain.ball(3, [0, 1], radius=10)


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("odd", [None, "x", 2**70, "2", 1j])
def test_a_sparse_cell_that_sets_the_type_of_all_is_one_cell(odd, form):
    """A None or a text makes objects or texts of all cells: the table was refused for it, its neighbour was fitted."""
    cells = np.array([1.0, odd, 3.0]) if isinstance(odd, str) else np.array([1.0, odd, 3.0], dtype=object)
    plain = np.concatenate(list(encode(sp.csr_array(np.diag([1.0, 2.0, 3.0])), BALL)))
    made = sp.csr_array(np.diag([1.0, 2.0, 3.0])).asformat(form)
    if form == "lil":
        made.dtype, made.data[1] = np.dtype(object), [odd]
    elif form == "dok":
        made.dtype, made._dict[1, 1] = np.dtype(object), odd
    else:
        made.data = cells.reshape(made.data.shape)
    assert made.dtype == object or made.dtype.kind == "U"
    found = np.concatenate(list(encode(made, BALL)))
    assert np.array_equal(found[[0, 2]], plain[[0, 2]]), found
    assert np.array_equal(found[1], {"2": [0, 2, 0], 2**70: [0, 10, 0]}.get(odd, [0, 0, 0]))
    check_new_rows(made, BALL)


IMAGES = np.random.default_rng(0).integers(0, 256, (5, 4, 3), dtype=np.uint8)


class Picture:
    """As libraries of images have them: an array on demand."""

    def __init__(self, pixels):
        self.pixels = pixels

    def __array__(self, dtype=None, copy=None):
        return self.pixels


LISTS = {
    "arrays": list,
    "a tuple of arrays": tuple,
    "arrays with their channel": lambda x: [one[..., None] for one in x],
    "flat arrays": lambda x: [one.ravel() for one in x],
    "nested lists": lambda x: x.tolist(),
    "nested lists with their channel": lambda x: x[..., None].tolist(),
    "lists of arrays": lambda x: [list(one) for one in x],
    "pictures": lambda x: [Picture(one) for one in x],
}


@pytest.mark.parametrize("form", LISTS)
def test_images_in_a_list_are_those_of_the_array(form):
    """Each was a row of missing cells, in silence, and paid for."""
    domain = Domain.images(4, 3, 1, classes=[0, 1])
    want = np.concatenate(list(encode(IMAGES, domain)))
    assert np.array_equal(np.concatenate(list(encode(LISTS[form](IMAGES), domain))), want)
    check_new_rows(LISTS[form](IMAGES) if form != "pictures" else list(IMAGES), domain)
    for odd in (None, IMAGES[0].T, "x", [[1, 2, 3]] * 3, [[None] * 3] * 4, np.ma.masked):
        rows = list(LISTS[form](IMAGES))
        rows[1] = odd
        found = np.concatenate(list(encode(rows, domain)))
        assert np.array_equal(found[[0, 2, 3, 4]], want[[0, 2, 3, 4]]) and (found[1] == 0.5).all(), odd


def test_colours_of_images_in_a_list():
    domain = Domain.images(2, 2, 3, classes=[0, 1])
    images = np.arange(24, dtype=np.uint8).reshape(2, 2, 2, 3)
    for rows in (list(images), images.tolist()):
        assert np.array_equal(np.concatenate(list(encode(rows, domain))), images.reshape(2, 12) / 255)


VECTORS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
TYPES = {
    "fixed_shape_tensor": lambda: pa.FixedShapeTensorArray.from_numpy_ndarray(np.array(VECTORS)),
    "list_view": lambda: pa.array(VECTORS, pa.list_view(pa.float64())),
    "large_list_view": lambda: pa.array(VECTORS, pa.large_list_view(pa.float64())),
    "dictionary": lambda: pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(VECTORS)),
}


@pytest.mark.parametrize("d", [2, None])
@pytest.mark.parametrize("form", TYPES)
def test_vectors_in_the_types_that_arrow_has_for_them(form, d):
    """With d declared they were zeros, in silence."""
    cells = TYPES[form]()
    for part, want in (
        (cells, VECTORS),
        (cells.slice(1), VECTORS[1:]),
        (pa.chunked_array([cells, cells]), VECTORS * 2),
    ):
        assert embedding_matrix(pa.table({"e": part}), "e", d=d).tolist() == want


def test_a_gap_among_vectors_in_views_is_a_row_of_zeros():
    cells = pa.array([VECTORS[0], None, [1.0], VECTORS[2]], pa.list_view(pa.float64()))
    assert embedding_matrix(pa.table({"e": cells}), "e", d=2).tolist() == [
        VECTORS[0],
        [0, 0],
        [0, 0],
        VECTORS[2],
    ]


# ------------------------------------------------------------------------------------------------ transformers


def test_a_transformer_takes_no_length_of_a_path_for_a_number_of_records(folder):
    """The charge stood, and then the plan was for 10 records: the letters of the path."""
    (folder / "people.csv").write_text("x0,x1\n" + "0.5,0.25\n" * 40)
    pq.write_table(pa.table({"x0": [0.5] * 40, "x1": [0.25] * 40}), "people.parquet")
    steps, box = [StandardScaler(payment=Budget())], Domain.box(0, 1, features=2, classes=[0, 1])
    private = PrivateTransformer(box, steps, epsilon=0.5, delta=1e-5, ledger="l.db")
    for path in ("people.csv", folder / "people.csv"):
        with pytest.raises(ValueError, match="number of records, must"):
            private.fit(path)
    assert charges() == 0
    assert private.fit("people.parquet").plan_.n == 40 and charges() == 1
    assert PrivateTransformer(Domain.box(0, 1, 2, [0, 1], n=40), steps).fit("people.csv").plan_.n == 40


# ----------------------------------------------------------------------------------------------- what a record costs


@pytest.mark.parametrize("odd", [b'"",' * 2**16, b'"' + b'""' * 2**17 + b'"', b'"\n",' * 2**16])
@pytest.mark.parametrize("first", [b"1,2", b"1,\r2"])  # read by the module, and by hand
def test_a_record_of_quotes_costs_no_more_memory_than_another(odd, first, tmp_path, monkeypatch):
    """The pattern for one record remembered each of its quoted cells, and the one for a cell each of its quotes."""
    monkeypatch.setattr(_csv, "_AT_ONCE", 2**12)
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\n" + first + b"\n" + odd + b"\n3,4\n")
    tracemalloc.start()
    rows = read_table(path).to_pylist()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows[-1] == {"x": b"3", "y": b"4"} and len(rows) == 3
    assert peak < 6 * 2**20, peak


def test_a_record_longer_than_the_pattern_is_matched_with_is_one_record(monkeypatch):
    content = b'x,y\n1,"a\n""b"\n"c,\nd",2\n,"3"\n4,5\n'
    want = _csv.parse(content, ",").to_pylist()
    for most in range(1, 14):
        for name, size in (("_AT_ONCE", most), ("_READ", most), ("_BLOCK", 1)):
            monkeypatch.setattr(_csv, name, size)
        assert _csv.parse(content, ",").to_pylist() == want
    assert len(want) == 4 and want[0]["y"] == b'a\n"b'


def test_an_id_that_no_text_can_hold_is_nobodys_and_stops_no_other():
    """Python turns no whole number of more than 4,300 digits into a text: it raises."""
    codes, distinct = codes_by(column_of(["a", 10**5000, "b", "a"], "ids"), id_of)
    assert [None if code < 0 else distinct[code] for code in codes] == ["a", None, "b", "a"]
