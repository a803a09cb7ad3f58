"""Total functions on records: no cell, row or line can fail, or change how another record is read."""

from __future__ import annotations

import csv
import io
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prepriv.audit.replay_neighbours import HOSTILE
from prepriv.columns import Categorical, Numeric
from prepriv.domain import Domain
from prepriv.tables import csv as _csv
from prepriv.tables.encoding import encode, encode_labels
from prepriv.tables.readers import read_table

DOMAIN = Domain(
    {"a": Numeric(0, 1, "impute"), "b": Numeric(-5, 10), "c": Categorical(("u", "v", "1"))}, ("no", "yes", 3)
)
ROWS = [[0.5, 1, "u"], [0.25, 2.0, "1"], [0.75, -3.5, "v"], [1.0, 7, 1]]
LABELS = ["no", 3, "yes", 3.0]


def frames(rows):
    """The same rows in every container that can hold any object."""
    cells = np.empty((len(rows), 3), dtype=object)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            cells[i, j] = cell
    return {
        "matrix": cells,
        "lists": [list(row) for row in rows],
        "pandas": pd.DataFrame(
            {c: pd.Series(cells[:, j].tolist(), dtype=object) for j, c in enumerate("abc")}
        ),
        "polars": pl.DataFrame(
            {c: pl.Series(cells[:, j].tolist(), dtype=pl.Object) for j, c in enumerate("abc")}
        ),
    }


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_cell_is_encoded_and_leaves_every_other_record_alone(name):
    before = {form: encode(table, DOMAIN).block(0, 4) for form, table in frames(ROWS).items()}
    for column in (0, 1, 2, None):
        odd = [list(row) for row in ROWS]
        odd[1] = [HOSTILE[name] if column in (j, None) else cell for j, cell in enumerate(odd[1])]
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a warning about a record would leave
            for form, table in frames(odd).items():
                after = encode(table, DOMAIN).block(0, 4)
                assert np.array_equal(after[[0, 2, 3]], before[form][[0, 2, 3]]), (form, column)
                assert ((after[1] >= 0) & (after[1] <= 1) | np.isnan(after[1]) & (np.arange(7) == 0)).all()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_label_leaves_every_other_label_alone(name):
    for other in (HOSTILE[name], "text", 1.5, True, np.float32(1), np.array([1.0, 2.0])):
        odd = [LABELS[0], HOSTILE[name], other, *LABELS[2:]]
        objects = np.empty(len(odd), dtype=object)
        objects[:] = odd
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for labels in (odd, tuple(odd), objects, pd.Series(odd, dtype=object)):
                assert encode_labels(labels, DOMAIN.classes)[[0, 3, 4]].tolist() == [0, 1, 2]


def test_one_odd_label_does_not_set_the_type_of_all():
    """numpy would make texts "1.0" of the first, integers of the second, one array of arrays of the third."""
    assert encode_labels([1.0, 0.0, "x"], [0, 1]).tolist() == [1, 0, -1]
    assert encode_labels([True, False, 5], [True, False]).tolist() == [0, 1, -1]
    assert encode_labels([1, 0, [1, 2]], [0, 1]).tolist() == [1, 0, -1]


def test_one_odd_cell_of_a_list_does_not_set_the_type_of_all():
    domain = Domain({"a": Categorical(("1", "0"))}, (0, 1))
    plain = encode([[1.0], [0.0], [1.0]], domain).block(0, 3)
    for odd in ("x", None, [1], b"1", 1j):
        assert (encode([[1.0], [0.0], [odd]], domain).block(0, 3)[:2] == plain[:2]).all()


def test_a_row_of_another_length_is_a_row_of_missing_cells():
    domain = Domain.box(0, 1, 2, (0, 1))
    for odd in ([0.1], [0.1, 0.2, 0.3], [], 7, None, "ab"):
        assert encode([[0.1, 0.2], odd, [0.3, 0.4]], domain).block(0, 3).tolist() == [
            [0.1, 0.2],
            [0.5, 0.5],
            [0.3, 0.4],
        ]
    assert encode([[1], 2, [3]], domain).block(0, 3).tolist() == [[0.5, 0.5]] * 3  # whatever the others are


def test_decimals_and_dates_are_not_brought_to_a_common_type():
    from datetime import date, datetime
    from decimal import Decimal

    domain = Domain({"a": Categorical(("1", "2020-01-01"))}, (0, 1))
    for odd in (Decimal("1.10"), datetime(2020, 1, 1, 12), 2**70):
        frame = pd.DataFrame({"a": pd.Series([1, date(2020, 1, 1), odd], dtype=object)})
        assert encode(frame, domain).block(0, 3)[:2].tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]


def test_a_date_beyond_the_calendar_is_a_category_that_is_not_declared():
    import pyarrow as pa

    table = pa.table({"a": pa.array([0, -(2**63) + 1], pa.timestamp("s"))})
    domain = Domain({"a": Categorical(("x", "y"))}, (0, 1))
    assert encode(table, domain).block(0, 2).tolist() == [[0, 0, 1, 0]] * 2


# ------------------------------------------------------------------------------------------------- CSV

BITS = [
    b"a",
    b"1",
    b",",
    b",",
    b"\n",
    b"\r\n",
    b" ",
    b"\0",
    b"\xff",
    b'"',
    b'"',
    b',"',
    b'",',
    b'"\n"',
    b"\r",
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(BITS), max_size=25).map(b"".join), st.integers(1, 3))
def test_every_reader_reads_a_line_alike_and_none_fails(body, width):
    names = ["x", "y", "z"][:width]
    by_hand = _csv._by_hand(body, b",", names)
    for fast in (_csv._by_arrow if b'"' not in body else _csv._by_module,):
        table = fast(body, ",", names)
        assert table is None or table.equals(by_hand)
    assert _csv.parse(b"x,y,z"[: 2 * width - 1] + b"\n" + body, ",").equals(by_hand)


PLAIN = st.text(st.sampled_from('ab1 "\n,é'), max_size=6)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(PLAIN, min_size=2, max_size=2), min_size=1, max_size=6),
    st.lists(PLAIN, min_size=0, max_size=4),
    st.integers(0, 5),
)
def test_one_record_of_a_correct_writer_changes_one_row(rows, odd, at):
    """Also if it has too many or too few cells: it stays in its place, with every cell missing."""
    i = at % len(rows)

    def read(records):
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([["x", "y"], *records])
        return _csv.parse(text.getvalue().encode(), ",").to_pylist()

    one, two = read(rows), read([*rows[:i], odd, *rows[i + 1 :]])
    assert [list(r.values()) for r in one] == [[c.encode() for c in row] for row in rows]
    assert len(two) == len(one) and two[:i] == one[:i] and two[i + 1 :] == one[i + 1 :]
    if len(odd) != 2:
        assert set(two[i].values()) == {None}


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60))
def test_no_bytes_can_stop_the_reader(tmp_path_factory, body):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(b"a,b,c\n" + body)
    table = read_table(path, ["a", "c"])
    assert encode(table.rename_columns(["x0", "x1"]), Domain.box(0, 1, 2, (0, 1))).n == table.num_rows


@pytest.mark.parametrize("quote", [b"", b'"'])
def test_a_line_longer_than_any_buffer_is_one_record(quote):
    """A reader that reads in blocks fails here: one record would stop the run."""
    big = quote + b"x" * 3_000_000 + quote
    table = _csv.parse(b"a,b\n1," + big + b"\n2,3\n", ",")
    assert table.num_rows == 2 and table["a"].to_pylist() == [b"1", b"2"]


def test_a_quote_never_closed_is_a_character_and_a_blank_line_a_record():
    assert _csv.parse(b'a,b\n1,2\n"3,4\n5,6\n', ",").to_pylist() == [
        {"a": b"1", "b": b"2"},
        {"a": b'"3', "b": b"4"},
        {"a": b"5", "b": b"6"},
    ]
    blank = _csv.parse(b"a,b\n1,2\n\n5,6\n", ",").to_pylist()
    assert blank[1] == {"a": None, "b": None} and len(blank) == 3
    assert _csv.parse(b"a\n1\n\n2\n", ",")["a"].to_pylist() == [b"1", b"", b"2"]
