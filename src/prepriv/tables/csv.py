"""A CSV file to an Arrow table of byte cells: one record is what a correct CSV writer writes for one row.

Total: no content of a record can fail, hide another record or change how another one is read. A record with
too few or too many cells is kept, with every cell missing, and so is one too long to be held; a quote that is
never closed is an ordinary character; a blank line is a record of one empty cell. Cells are never typed here.

The file is read in blocks of whole records, each by the fastest reader that reads it right: what one record costs
in memory is bounded, however long it is and whatever stands in it.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.csv

_QUOTES = re.compile(rb'"+')
_BOM = b"\xef\xbb\xbf"
RECORD = 2**22
"""Bytes in the longest record that is read, besides 1 KiB a column."""
_READ = 2**20  # bytes at a time; at most RECORD, so that no record within is too long
_BLOCK = 2**24  # bytes of records that are parsed together
_AT_ONCE = 2**18  # bytes of a record that one pattern is matched with, which remembers each of its cells
_HEADER = 2**24  # bytes in the longest header line


class HeaderLine(ValueError):
    """What is wrong with the header line by its own bytes: a sentence without them."""


class _NeverClosed(Exception):
    """Nothing closes the quote at offset `args[0]`, and what follows is too long to be held."""


def parse(content: bytes, delimiter: str) -> pa.Table:
    """`read` of bytes."""
    return read(lambda: io.BytesIO(content), delimiter)


def read(opened: Callable[[], IO[bytes]], delimiter: str) -> pa.Table:
    """Every column as binary cells; a missing cell is null. ValueError without a header line.

    opened: opens the file at its beginning, maybe twice.
    """
    try:
        return pa.concat_tables(parts(opened, delimiter, sys.maxsize))
    except _NeverClosed as record:  # behind that quote none is left that holds a cell together
        return pa.concat_tables(parts(opened, delimiter, record.args[0]))


def header(opened: Callable[[], IO[bytes]], delimiter: str) -> list[str]:
    """The names in the header line, as `read` has them: by that line alone, no record is parsed."""
    with opened() as file:
        return _names(file, delimiter.encode("ascii"))


def _names(file: IO[bytes], comma: bytes) -> list[str]:
    """Reads the first line of a file. It is one line even where a quote is open at its end: else records, and the quotes in
    them, would decide what the names are.
    """
    line = file.readline(_HEADER + 1).removeprefix(_BOM)
    if b"\r" in line.removesuffix(b"\n").removesuffix(b"\r" if line.endswith(b"\n") else b""):
        raise HeaderLine(
            "its line ends are those of an old Mac (CR alone): save it with LF or CR LF as line ends"
        )
    if len(line) > _HEADER or not line.strip():
        raise ValueError("no header line")
    if not _ends(line.removesuffix(b"\n") + b"\n", comma, sys.maxsize)[0]:
        raise HeaderLine("a quote in its header line is not closed there: write each name on one line")
    return [name.decode("utf-8", "replace") for name in next(_records(line, comma))[0]]


def parts(opened: Callable[[], IO[bytes]], delimiter: str, lines_from: int) -> Iterator[pa.Table]:
    """`read` in parts, at least one. lines_from: offset of a quote that is never closed, by `lines_from`."""
    comma = delimiter.encode("ascii")
    with opened() as file:
        names = _names(file, comma)
        pending: list[bytes] = []
        size = 0
        for block in _blocks(file, comma, lines_from, len(names)):
            pending.append(block)
            size += len(block)
            if size >= _BLOCK:
                yield _parsed(b"".join(pending), delimiter, names)
                pending.clear()
                size = 0
        yield _parsed(b"".join(pending), delimiter, names)


def lines_from(opened: Callable[[], IO[bytes]], delimiter: str) -> int:
    """The offset from which every line is a record, by one pass over the file: after a quote that is never closed."""
    comma = delimiter.encode("ascii")
    with opened() as file:
        try:
            for _ in _blocks(file, comma, sys.maxsize, len(_names(file, comma))):
                pass
        except _NeverClosed as record:
            return int(record.args[0])
    return sys.maxsize


def _parsed(body: bytes, delimiter: str, names: list[str]) -> pa.Table:
    fast = _by_arrow(body, delimiter, names) if b'"' not in body else _by_module(body, delimiter, names)
    return _by_hand(body, delimiter.encode("ascii"), names) if fast is None else fast


# ------------------------------------------------------------------------------------------- whole records


def _blocks(file: IO[bytes], comma: bytes, lines_from: int, columns: int) -> Iterator[bytes]:
    """Whole records, some at a time, of a file that is read up to the first; a record too long is a blank line.

    lines_from: offset of a quote that is never closed: from there on every line end is the end of a record.
    """
    limit = RECORD + 1024 * columns
    held, at = b"", file.tell()  # what is read of records not yet returned; offset of its end
    state, quote = (
        "",
        0,
    )  # where in a record too long we are; offset of the quote that opened its last quoted cell
    while chunk := file.read(min(_READ, lines_from - at) if at < lines_from else _READ):
        at = file.tell()
        if state:
            end, state, opened = _record_end(chunk, comma, state, lines_from - at + len(chunk))
            quote = quote if opened < 0 else at - len(chunk) + opened
            if state:
                continue
            yield b"\n"
            chunk = chunk[end:]
        held += chunk
        first, last = _ends(held, comma, lines_from - at + len(held))
        yield b"\n" + held[first:last] if first - 1 > limit else held[:last]
        held = held[last:]
        if len(held) > limit:
            _, state, opened = _record_end(held, comma, "start", lines_from - at + len(held))
            quote = at - len(held) + opened
            held = b""
    if state == "quoted":
        raise _NeverClosed(quote)
    yield b"\n" if state else held


def _ends(held: bytes, comma: bytes, lines_from: int) -> tuple[int, int]:
    """Offsets after the first and the last whole record; 0 for none."""
    if b'"' not in held:
        return held.find(b"\n") + 1, held.rfind(b"\n") + 1
    record = re.compile(rb"(?:%b%b)*%b\n" % (_cell(comma), re.escape(comma), _cell(comma)))
    first = last = 0
    while last < len(held):
        found = record.match(held, last, last + _AT_ONCE)
        end = found.end() if found else last + _record_end(held[last:], comma, "start", lines_from - last)[0]
        if not last < end <= lines_from:
            break
        last = end
        first = first or last
    if lines_from < len(held) and (end := held.find(b"\n", max(lines_from, last)) + 1):
        return first or end, held.rfind(b"\n") + 1
    return first, last


def _cell(comma: bytes) -> bytes:
    """A pattern: a quoted cell and what stands after its end, or a plain one."""
    return rb'(?:"[^"]*(?:""[^"]*)*"(?!")[^%b\n]*|(?!")[^%b\n]*)' % (re.escape(comma), re.escape(comma))


def _record_end(part: bytes, comma: bytes, state: str, lines_from: int) -> tuple[int, str, int]:
    """(offset after the record's end, "", ...), or (0, state, ...) where it does not end in this part of it.

    state: at the "start" of a cell, in a "plain" or a "quoted" one, or at a quote that may close it ("closing").
    The third is the offset of the last quote that opened a cell; -1 for none.
    """
    if b'"' not in part and state in ("start", "plain"):
        end = part.find(b"\n") + 1
        return end, "" if end else "start" if part.endswith(comma) else "plain", -1
    separator = re.compile(rb"[%b\n]" % re.escape(comma))
    whole = re.compile(rb"(?:%b%b)+" % (_cell(comma), re.escape(comma)))
    at, opened = 0, -1
    while at < min(len(part), lines_from):
        if state == "quoted":
            at, closed = _quoted(part, at)
            state = "closing" if closed else state
        elif state == "start" and (found := whole.match(part, at, min(at + _AT_ONCE, lines_from))):
            at = found.end()
        elif part[at] == ord('"') and state in ("start", "closing"):
            opened = at if state == "start" else opened
            at, state = at + 1, "quoted"
        else:
            found = separator.search(part, at)
            if found is None:
                return 0, "plain", opened
            at, state = found.end(), "start"
            if found[0] == b"\n":
                return at, "", opened
    if at < len(part):  # from here on a quote is a character like any other
        end = part.find(b"\n", at) + 1
        return end, "" if end else "plain", opened
    return 0, state, opened


# ------------------------------------------------------------------------------------------------- parsing


def _records(content: bytes, comma: bytes) -> Iterator[tuple[list[bytes], int]]:
    """(cells, offset after it) of each record."""
    plain = re.compile(rb"([^%b\n]*)(%b|\n|\Z)" % (re.escape(comma), re.escape(comma)))
    cells: list[bytes] = []
    at = 0
    while at < len(content) or cells:
        quoted = b""
        if content.startswith(b'"', at):
            behind, closed = _quoted(content, at + 1)
            if closed:  # one that nothing closes is a character like any other
                quoted, at = content[at + 1 : behind - 1].replace(b'""', b'"'), behind
        rest, end = plain.match(content, at).groups()  # type: ignore[union-attr]
        at += len(rest) + len(end)
        cells.append(quoted + (rest.removesuffix(b"\r") if end != comma else rest))
        if end != comma:
            yield cells, at
            cells = []


def _quoted(content: bytes, at: int) -> tuple[int, bool]:
    """(offset after the quote that closes the quoted cell which `at` is in, True); (the end, False) where none does.

    Remembers no quote: each pair of them stands for one.
    """
    for run in _QUOTES.finditer(content, at):
        if (run.end() - run.start()) % 2:
            return run.end(), True
    return len(content), False


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
    """Columns of cells (texts stand for latin-1 bytes); nulls where a row does not have one cell per name."""
    nothing = [None] * len(names)
    columns = list(zip(*(row if len(row) == len(names) else nothing for row in rows)))
    return pa.table([_column(cells) for cells in columns or [()] * len(names)], names=names)


def _column(cells: Sequence[str | bytes | None]) -> pa.Array:
    held = [c.encode("latin-1") if isinstance(c, str) else c for c in cells]
    ends = np.cumsum([0, *(len(c or b"") for c in held)], dtype=np.int32)  # a block is shorter than 2^31
    there = np.packbits(np.array([c is not None for c in held], bool), bitorder="little")
    buffers = [there, ends, np.frombuffer(b"".join(c or b"" for c in held), np.uint8)]
    # pa.array imports pandas first
    return pa.Array.from_buffers(pa.binary(), len(held), list(map(pa.py_buffer, buffers)))
