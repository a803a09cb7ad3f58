"""Plain decimals read at once are the numbers that each cell is by itself, to the bit."""

from __future__ import annotations

import narwhals.stable.v1 as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prepriv.tables.column import _arrow_numbers, numbers_in, numbers_one_by_one

NASTY = [
    *[
        "",
        "-",
        "-0",
        "0.0",
        "00.5",
        "-00",
        ".5",
        "5.",
        "+1",
        "1e5",
        "1_000",
        "0x1F",
        " 1",
        "1 ",
        "1\n",
        "\n1",
        "1\0",
        "1\x000",
    ],
    *[
        "NaN",
        "inf",
        "true",
        "9" * 17,
        "9" * 18,
        "0." + "1" * 17,
        "0." + "1" * 18,
        "9007199254740993",
        "9007199254740993.0",
    ],
    *[
        "2020-01-01",
        "1,5",
        "१",
        "１",
        "--1",
        "1.2.3",
        "0.1",
        "123456789.123456789",
        "4503599627370497.5",
        "\ufeff1",
        None,
    ],
]
DECIMALS = st.from_regex(r"-?[0-9]{1,17}(\.[0-9]{1,17})?", fullmatch=True)


def series(values, kind):
    if kind == "polars":
        return nw.from_native(pl.Series(values, dtype=pl.String), series_only=True)
    column = pa.chunked_array([pa.array(values, pa.string()).cast(kind)])
    return nw.from_native(column, series_only=True)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), "polars"], ids=str)
@settings(max_examples=60, deadline=None)
@given(more=st.lists(DECIMALS | st.text(max_size=5).filter(lambda s: s.isprintable()), max_size=20))
def test_every_text_is_the_number_it_is_by_itself(kind, more):
    column = series([*NASTY, *more], kind)
    assert numbers_in(column).tobytes() == numbers_one_by_one(column).tobytes()


def test_the_short_cut_is_taken(rng):
    texts = [repr(float(v)) for v in np.round(rng.normal(size=1000), 12)]
    found = _arrow_numbers([pa.array(texts).cast(pa.binary())])
    assert found.tobytes() == np.array([float(t) for t in texts]).tobytes()
