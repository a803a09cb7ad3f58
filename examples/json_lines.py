"""A reader of another format: JSON lines. It is one file outside the package, with its folder on PYTHONPATH.

    prepriv train reader:json_lines:people --schema people.yaml --rows 3000

A reader is a function that gives a fresh Arrow reader each time it is called. Each line is one record: none is dropped, repeated
or split because of what it holds, since that is what the claim counts. A line that cannot be read is a record without
cells. Cells are text, so no record decides the type of a column; the schema does.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator

import pyarrow as pa

FILE = "people.jsonl"
SCHEMA = pa.schema([(name, pa.string()) for name in ("age", "job", "income")])
PART = 1000  # lines that are in memory at a time
NESTED = 100  # brackets of a line


def cells(line: str) -> list[str | None]:
    """The cells of one record, as text."""
    record = None
    if line.count("[") + line.count("{") <= NESTED:  # deeper ones exhaust the stack of the parser
        with contextlib.suppress(ValueError):
            record = json.loads(line)
    held = record if isinstance(record, dict) else {}
    found = [None if held.get(name) is None else str(held[name]) for name in SCHEMA.names]
    # half a pair of UTF-16 is not a text
    return [cell and cell.encode(errors="replace").decode() for cell in found]


def parts() -> Iterator[pa.RecordBatch]:
    """The lines of the file, some at a time."""
    with open(FILE, encoding="utf-8", errors="replace", newline="\n") as lines:
        while part := [cells(line) for line in itertools.islice(lines, PART)]:
            yield pa.RecordBatch.from_arrays([pa.array(c, pa.string()) for c in zip(*part)], schema=SCHEMA)


def people() -> pa.RecordBatchReader:
    """A fresh reader of all records."""
    return pa.RecordBatchReader.from_batches(SCHEMA, parts())
