"""Rows, labels and folders in forms that were read as nothing, or twice, without a word: found by a second look."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from prepriv import (
    Domain,
    Numeric,
    PrivateClassifier,
    PrivateTransformer,
    Public,
    Text,
    choose,
    quantiles,
    validate,
)
from prepriv.plans.decision import decision
from prepriv.preprocessing import StandardScaler
from prepriv.tables.embeddings import embedding_matrix
from prepriv.tables.encoding import encode, encode_labels, rows_of
from prepriv.tables.inspect import check_new_rows
from prepriv.tables.readers import BadData
from prepriv.tables.stream import as_stream

BOX = Domain.box(0, 10, 2, [0, 1])
NAMED = Domain({"a": Numeric(0, 10), "b": Numeric(0, 10)}, [0, 1])
ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def read(data, domain):
    return np.concatenate(list(encode(data, domain)))


class Refusing:
    """As a tensor that has a gradient, or lies on another device."""

    def __init__(self, cells):
        self.cells = np.array(cells)
        self.ndim, self.shape = self.cells.ndim, self.cells.shape

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("SECRET")

    def __len__(self):
        return len(self.cells)

    def __iter__(self):
        return (Refusing(cell) for cell in self.cells)

    def item(self):
        return self.cells.item()


def records(rows):
    return list(np.array([tuple(row) for row in rows], dtype=[("a", "f8"), ("b", "f8")]))


FORMS = {
    "mappings": lambda rows: [dict(zip("ab", row)) for row in rows],
    "mappings in another order": lambda rows: [dict(zip("ba", row[::-1])) for row in rows],
    "records of NumPy": records,
    "columns": lambda rows: [np.array(row)[:, None] for row in rows],
    "lines": lambda rows: [np.array(row)[None] for row in rows],
    "matrices": lambda rows: [np.matrix(row) for row in rows],
    "tensors": lambda rows: [Refusing(row) for row in rows],
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_a_list_are_read_by_their_cells(form):
    """Each was a row of missing cells, in silence, and paid for."""
    rows = FORMS[form](ROWS)
    assert np.array_equal(read(rows, NAMED), np.array(ROWS) / 10)
    for odd in (None, "x", {"a": 1}, {"c": 1}, np.zeros((2, 2)), Refusing([1, 2, 3]), [1]):
        found = read([rows[0], odd, rows[2]], NAMED)
        assert np.array_equal(found[[0, 2]], np.array(ROWS)[[0, 2]] / 10) and found[1, 1] == 0.5
    check_new_rows(rows, NAMED)


def test_vectors_in_a_list_that_refuse_to_be_arrays():
    assert embedding_matrix([Refusing(row) for row in ROWS], d=2).tolist() == ROWS
    images = np.arange(12.0).reshape(2, 2, 3)
    domain = Domain.images(2, 3, 1, classes=[0, 1])
    assert np.array_equal(read([Refusing(one) for one in images], domain), read(images, domain))


def test_a_flat_list_is_a_column_where_one_is_declared():
    """Texts as vectorizers of scikit-learn take them: accuracy .31 for 1.00, and the same claim."""
    texts, words = Domain({"t": Text()}, [0, 1]), ["a b", "c", "dd"]
    assert np.array_equal(read(words, texts), read([[w] for w in words], texts))
    check_new_rows(words, texts)
    one = Domain.box(0, 10, 1, [0, 1])
    for flat in ([1.0, 2, 3], (np.float64(1), np.array(2), np.int8(3)), ["1", b"2", [3]]):
        assert np.allclose(read(flat, one).ravel(), [0.1, 0.2, 0.3])
        check_new_rows(flat, one)
    assert np.allclose(read([1.0, None, "x", [], [1, 2], 3], one).ravel(), [0.1, 0.5, 0.5, 0.5, 0.5, 0.3])


@pytest.mark.parametrize(
    "each", [lambda y: [y], lambda y: (y,), lambda y: np.array([y])], ids=["list", "tuple", "array"]
)
def test_labels_in_lists_of_one_are_labels(each):
    assert encode_labels([each(y) for y in (1, 0, 1)], [0, 1]).tolist() == [1, 0, 1]
    assert encode_labels([each(1), [0, 0], [], None, 0], [0, 1]).tolist() == [1, -1, -1, -1, 0]


def test_labels_that_can_be_read_once_are_refused():
    """They were counted before the charge, and empty after it."""
    y = [0, 1] * 50
    rows = np.arange(200.0).reshape(100, 2)
    for once in (map(int, y), (label for label in y), zip(y), iter(y)):
        for use in (
            lambda once: PrivateClassifier(BOX).fit(rows, once),
            lambda once: validate(BOX, rows, once),
            lambda once: choose(["linear", "auto"], rows, once, BOX),
        ):
            with pytest.raises(BadData, match="read only once"):
                use(once)
    assert encode_labels(dict(enumerate(range(2))).values(), [0, 1]).tolist() == [0, 1]


def test_a_column_is_no_table_whatever_its_cells_are():
    odd = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    )
    structs = [[{"a": 1.0, "b": 2}], [{"a": [1], "b": 2}], [{"a": 1.0, "b": 2, "c": 3}], [None]]
    columns = [pa.array(["a"]), odd, pa.chunked_array([odd]), pd.Series([1.0])]
    said = set()
    for column in [*columns, *(pl.Series(cells, strict=False) for cells in structs)]:
        for use in (encode, rows_of):
            with pytest.raises(BadData, match="one column") as told:
                use(column, BOX)
            said.add(str(told.value))
    assert len(said) <= 3  # by the class


# --------------------------------------------------------------------------------------------------- sparse


@pytest.mark.parametrize(
    "places, cells", [([0, None], [1.0, 2.0]), ([0], [1.0, 2.0]), ([], [1.0]), ([9, 1], [1, "x"])]
)
@pytest.mark.parametrize("dtype", [float, object])
def test_the_lists_of_one_sparse_row_say_nothing_of_another(places, cells, dtype):
    """Lists of two lengths moved the cells of all rows after them."""
    ball, dense = Domain.ball(3, [0, 1], radius=10), np.arange(12.0).reshape(4, 3) / 10
    made = sp.lil_matrix(dense)
    made.dtype = np.dtype(dtype)
    made.rows[1], made.data[1] = places, cells
    assert np.array_equal(read(made, ball)[[0, 2, 3]], dense[[0, 2, 3]])


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
@pytest.mark.parametrize("dtype", [complex, object])
def test_a_cell_outside_of_a_matrix_of_any_type_lands_in_no_row(form, dtype):
    ball, dense = Domain.ball(3, [0, 1], radius=10), np.arange(12.0).reshape(4, 3) / 10
    for at in (7, -1):
        made = sp.csr_matrix(dense).asformat(form)
        made.data = made.data.astype(dtype)
        places = made.col if form == "coo" else made.indices
        places[4] = at
        found = read(made, ball)
        assert (found != dense).sum() == 1 and found.ravel()[(found != dense).ravel()] == 0


def test_validate_reads_a_sparse_table():
    ball = Domain.ball(3, [0, 1], radius=10)
    found = validate(ball, sp.csr_matrix(np.eye(3)), [0, 1, 1])
    assert found.rows == 3 and len(found.columns) == 3 and found.clean


# --------------------------------------------------------------------------------------------------- folders


def test_a_table_in_two_formats_is_refused(tmp_path):
    """`gzip -k` leaves the file: each record was two."""
    text = "x,y\n0.5,1\n"
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv").write_text(text)
    assert len(as_stream(tmp_path).paths) == 2
    for name, content in (
        ("a.csv.gz", gzip.compress(text.encode())),
        ("a.tsv", b"x\ty\n"),
        ("a.PARQUET", b""),
    ):
        (tmp_path / name).write_bytes(content)
        for data in (tmp_path, str(tmp_path / "*")):
            with pytest.raises(BadData, match="in two formats"):
                as_stream(data)
        (tmp_path / name).unlink()


@pytest.mark.parametrize("log", ["_delta_log", ".hoodie", "metadata/v2.metadata.json"])
def test_a_table_that_keeps_its_earlier_versions_is_refused(tmp_path, log):
    for part in ("0", "1"):
        (tmp_path / "t" / f"day={part}").mkdir(parents=True)
        pq.write_table(pa.table({"x": [0.5], "y": [1]}), tmp_path / "t" / f"day={part}" / f"{part}.parquet")
    every = str(tmp_path / "t" / "**" / "*.parquet")
    files = [str(path) for path in as_stream(every).paths]
    assert as_stream(ds.dataset(files)).count() == 2
    (tmp_path / "t" / log).mkdir(parents=True)
    for data in (every, ds.dataset(files)):
        with pytest.raises(BadData, match="earlier versions"):
            as_stream(data)


# -------------------------------------------------------------------------------------------------- settings


def test_what_is_named_twice_is_refused():
    for weights in ({0: 2.0, "0": 5.0}, {1: 2.0, "1.0": 3.0}):
        with pytest.raises(ValueError, match="one class twice"):
            decision(BOX, weights)
    with pytest.raises(ValueError, match="one quantile twice"):
        quantiles([0.5] * 100, [0.5, 0.25, 0.5], 0, 1, epsilon=1.0)


def test_a_dataset_of_the_private_files_is_no_public_table(folder_of_one):
    """In a union, or where both were datasets, it was taken."""
    steps = [StandardScaler(payment=Public(folder_of_one[1]))]
    private = PrivateTransformer(Domain.box(0, 1, 2, [0, 1], n=40), steps, epsilon=1.0)
    with pytest.raises(ValueError, match="public table is the private"):
        private.fit(folder_of_one[0])


@pytest.fixture(params=[(i, j) for i in range(3) for j in range(1, 3)])
def folder_of_one(tmp_path, request):
    pq.write_table(pa.table({"x0": np.arange(40) / 40, "x1": np.arange(40) / 40}), tmp_path / "a.parquet")
    one = ds.dataset(tmp_path / "a.parquet")
    forms = (tmp_path / "a.parquet", one, ds.dataset([one]))
    return [forms[k] for k in request.param]
