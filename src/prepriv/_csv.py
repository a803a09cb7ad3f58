"""CSV bytes to an Arrow table of byte cells: one record is what a correct CSV writer makes of one row.

Total: no content of a record can fail, hide another record or change how another one is read. A record with
too few or too many cells is kept, with every cell missing; a quote that is never closed is an ordinary
character; a blank line is a record of one empty cell. Cells are never typed here.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.csv

_BOM = b"\xef\xbb\xbf"


def parse(content: bytes, delimiter: str) -> pa.Table:
    """Every column as binary cells; a missing cell is null. ValueError without a header line."""
    comma = delimiter.encode("ascii")
    content = content[len(_BOM) :] if content.startswith(_BOM) else content
    header, end = _first(content, comma)
    if header in ([], [b""]):
        raise ValueError("no header line")
    names = [name.decode("utf-8", "replace") for name in header]
    body = content[end:]
    fast = _by_arrow(body, delimiter, names) if b'"' not in body else _by_module(body, delimiter, names)
    return _by_hand(body, comma, names) if fast is None else fast


def _pattern(comma: bytes) -> re.Pattern[bytes]:
    c = re.escape(comma)
    # A quoted cell (a doubled quote is a quote) and whatever stands behind it, or a plain cell; then its end.
    return re.compile(rb'(?:"([^"]*(?:""[^"]*)*)"([^%b\n]*)|([^%b\n]*))(%b|\n|\Z)' % (c, c, c))


def _records(content: bytes, comma: bytes) -> Iterator[tuple[list[bytes], int]]:
    """(cells, offset behind it) of each record."""
    cells: list[bytes] = []
    position = 0
    for match in _pattern(comma).finditer(content):
        if match.start() == len(content) and not cells and match.start() == position:
            return  # behind the last line break
        quoted, behind, plain, end = match.groups()
        rest = plain if quoted is None else behind
        if end != comma and rest.endswith(b"\r"):
            rest = rest[:-1]
        cells.append(rest if quoted is None else quoted.replace(b'""', b'"') + rest)
        if end != comma:
            position = match.end()
            yield cells, position
            cells = []
            if position == len(content):
                return


def _first(content: bytes, comma: bytes) -> tuple[list[bytes], int]:
    return next(_records(content, comma), ([], 0))


def _by_arrow(body: bytes, delimiter: str, names: list[str]) -> pa.Table | None:
    """The fast reader, for a body without quotes; None unless it certainly reads each line as `_by_hand` does."""
    if body.startswith(b"\xef\xbb\xbf"):
        return None  # the fast reader would take it for a byte-order mark and drop it
    lines = body.count(b"\n") + (not body.endswith(b"\n") and bool(body))
    if not lines or body.count(b"\r") != body.count(b"\r\n") or body.endswith(b"\r"):
        return None
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(pa.py_buffer(body)),
            read_options=pa.csv.ReadOptions(column_names=names),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, quote_char=False),
            convert_options=pa.csv.ConvertOptions(
                check_utf8=False,
                column_types={name: pa.binary() for name in names},
                strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, ValueError):
        return None
    return table if table.num_rows == lines else None


def _by_module(body: bytes, delimiter: str, names: list[str]) -> pa.Table | None:
    """The standard library's reader; None unless every quote is where a correct writer puts it."""
    if b"\0" in body or body.count(b"\r") != body.count(b"\r\n") or body.endswith(b"\r"):
        return None
    limit = csv.field_size_limit(sys.maxsize)
    try:
        lines = io.StringIO(body.decode("latin-1"), newline="")
        rows = [row or [""] for row in csv.reader(lines, delimiter=delimiter, strict=True)]
    except csv.Error:
        return None
    finally:
        csv.field_size_limit(limit)
    return _table(rows, names)


def _by_hand(body: bytes, comma: bytes, names: list[str]) -> pa.Table:
    return _table([cells for cells, _ in _records(body, comma)], names)


def _table(rows: Sequence[Sequence[str | bytes]], names: list[str]) -> pa.Table:
    """Columns of cells (texts stand for latin-1 bytes); nulls where a row has not one cell a name."""
    nothing = [None] * len(names)
    columns = list(zip(*(row if len(row) == len(names) else nothing for row in rows)))
    return pa.table([_column(cells) for cells in columns or [()] * len(names)], names=names)


def _column(cells: Sequence[str | bytes | None]) -> pa.Array:
    return pa.array([c.encode("latin-1") if isinstance(c, str) else c for c in cells], pa.binary())
