"""A cell of any length costs a bounded amount of memory, is read as a gap or as another category, and hides no other record."""

from __future__ import annotations

import io
import tracemalloc
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prepriv import Categorical, Domain, Numeric
from prepriv.tables import csv as _csv
from prepriv.tables.cell import LONGEST, UNREADABLE, cell_of, number_of
from prepriv.tables.encoding import encode, encode_labels
from prepriv.tables.readers import read_table

BITS = [b"a", b"bb", b",", b",", b"\n", b"\n", b"\r\n", b'"', b'"', b'""', b',"', b'",', b'"\n', b"\xff"]


def small_limits(patch, limit, read, block, width):
    patch.setattr(_csv, "RECORD", limit - 1024 * width)
    patch.setattr(_csv, "_READ", read)
    patch.setattr(_csv, "_BLOCK", block)
    patch.setattr(_csv, "_AT_ONCE", block)


@settings(max_examples=300, deadline=None)
@example(b'aaaa,"\n,","', 1, 10, 1, 1)  # a quote that nothing closes behind one that is closed
@given(
    st.lists(st.sampled_from(BITS), max_size=40).map(b"".join),
    *(st.integers(1, 2), st.integers(1, 12), st.integers(1, 12), st.integers(1, 30)),
)
def test_a_file_in_blocks_is_the_file_as_a_whole_but_for_records_too_long(body, width, limit, read, block):
    ends = [0, *(end for _, end in _csv._records(body, b","))]
    records = [body[a:b] for a, b in pairwise(ends)]
    kept = [b"\n" if len(r.removesuffix(b"\n")) > limit else r for r in records]
    names = ["x", "y"][:width]
    want = pa.concat_tables([_csv._by_hand(record, b",", names) for record in kept or [b""]])
    header = b"x,y"[: 2 * width - 1] + b"\n"
    with pytest.MonkeyPatch.context() as patch:
        small_limits(patch, limit, min(read, limit), block, width)
        assert _csv.parse(header + body, ",").to_pylist() == want.to_pylist()


class Stream(io.RawIOBase):
    """A file of a header, one record, a giant cell and one more record, made while it is read."""

    def __init__(self, giant: bytes, times: int, close: bytes):
        self.parts = iter([b'x,y\n1,2\n3,"', *[giant] * times, close + b"\n5,6\n"])
        self.left, self.at = b"", 0

    def read(self, size=-1):
        while len(self.left) < size and (part := next(self.parts, b"")):
            self.left += part
        found, self.left = self.left[:size], self.left[size:]
        self.at += len(found)
        return found

    def tell(self):
        return self.at


@pytest.mark.parametrize("giant", [b"x", b'""', b"x,\n", b",", b"\n"])
def test_memory_does_not_depend_on_the_longest_cell(giant, monkeypatch):
    """Found by an audit: one cell of 200 MB took 2 GB, and ended a run under a memory limit with 70."""
    small_limits(monkeypatch, 2**12, 2**12, 2**14, 2)
    peaks = []
    for times in (40, 400):
        tracemalloc.start()
        table = _csv.read(lambda times=times: Stream(giant * (2**11 // len(giant)), times, b'"'), ",")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert table.to_pylist() == [
            {"x": b"1", "y": b"2"},
            {"x": None, "y": None},
            {"x": b"5", "y": b"6"},
        ]
    assert peaks[1] < 1.1 * peaks[0] + 2**16


def test_a_giant_cell_opened_by_a_quote_that_nothing_closes_swallows_no_other_record(monkeypatch):
    small_limits(monkeypatch, 2**14, 2**14, 2**16, 2)
    for close, rows in ((b'"', 3), (b"", 3), (b'""', 3)):
        assert _csv.read(lambda close=close: Stream(b"x" * 2**14, 4, close), ",").num_rows == rows
    lines = _csv.read(lambda: Stream(b"7,8\n" * 2**12, 4, b""), ",").to_pylist()
    assert len(lines) == 2 + 4 * 2**12 + 1 and lines[1]["x"] is None and lines[2]["y"] == b"8"


def written(way, cells, folder):
    if way == "csv":
        (folder / "t.csv").write_text("x,l\n" + "".join(f'"{c}",1\n' for c in cells))
    if way in ("csv", "parquet"):
        pq.write_table(pa.table({"x": cells}), folder / "t.parquet")
        return read_table(folder / f"t.{way}")
    return WAYS[way](cells)


WAYS = {
    "pandas": lambda cells: pd.DataFrame({"x": cells}),
    "pandas objects": lambda cells: pd.DataFrame({"x": pd.Series(cells, dtype=object)}),
    "polars": lambda cells: pl.DataFrame({"x": cells}),
    "arrow": lambda cells: pa.table({"x": cells}),
    "arrow bytes": lambda cells: pa.table({"x": pa.array([c.encode() for c in cells])}),
    "lists": lambda cells: [[c] for c in cells],
    "csv": None,
    "parquet": None,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "giant", ["x" * 2_000_000, "1" + "0" * LONGEST, " " * LONGEST + "1", "é" * LONGEST, "a,\n" * LONGEST]
)
def test_a_giant_cell_is_one_unreadable_cell_in_every_container(way, giant, tmp_path):
    number, kind = (
        Domain({"x": Numeric(-1, 3, "impute")}, (0, 1)),
        Domain({"x": Categorical(("1", "b"))}, (0, 1)),
    )
    table = written(way, ["1", giant, "b"], tmp_path)
    assert np.isnan(encode(table, number).block(0, 3)[1:]).all() and encode(table, number).block(0, 1) == 0.5
    places = encode(table, kind).block(0, 3).argmax(axis=1).tolist()
    assert places[0] == 0 and places[2] == 1 and places[1] in (2, 3)
    labels = [row[0] for row in table] if isinstance(table, list) else table["x"]
    assert encode_labels(labels, ("1", "b")).tolist() == [0, -1, 1]


def test_the_longest_cell_that_is_read():
    for value in ("x" * LONGEST, "é" * (LONGEST // 2), "x" * LONGEST + "\0" * 9):
        assert cell_of(value) == cell_of(value.encode()) == value.rstrip("\0")
        assert cell_of(value.rstrip("\0") + "y") == cell_of(value.rstrip("\0").encode() + b"y") == UNREADABLE
    assert number_of("1" + "0" * (LONGEST - 1)) == float("inf")


def test_a_list_of_texts_is_no_array_of_the_longest_one(monkeypatch):
    """An array of fixed width would take the length of the longest text for each of n cells."""
    made = []
    asarray = np.asarray
    monkeypatch.setattr(np, "asarray", lambda *a, **k: made.append(asarray(*a, **k)) or made[-1])
    rows = [["0.5"] for _ in range(50)] + [["x" * 100_000]]
    assert encode(rows, Domain.box(0, 1, 1, (0, 1), missing="impute")).block(0, 50).tolist() == [[0.5]] * 50
    assert all(array.nbytes < 10**6 for array in made)
