"""The tables that `prepriv sketch` writes beside its sketch.json, against what that file gives: noisy counts, and rows drawn with a public seed. docs/learn/auditing.md."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from prepriv._version import own_version
from prepriv.commands.exits import reason
from prepriv.commands.judged import Judged
from prepriv.commands.receipts import OTHER_ENDS, data_in
from prepriv.description.sketch_tables import (
    COUNTS_FILE,
    DATA_FILE,
    MOST_IN_FILE,
    ROWS_FILE,
    count_lines,
    row_lines,
)
from prepriv.plans.stored import same
from prepriv.sketches.tablesketch import TableSketch

_MOST_CELLS = 3 * 10**7  # that are drawn again: what is held at once
_LONGER = 8  # times as long as a line may be: the last digits of its numbers can be others
_NOT_RELEASED = "it follows from {data}, which was not given, or not found to be what was released. Give both, with their ledger"
_UNKNOWN_DRAW = (
    "{data} does not say how many rows were drawn, and with which seed: an earlier version wrote it"
)
_TOO_MANY = "{data} says that so many rows were drawn that they are not drawn again"
_LAST_DIGITS = "last digits"
_OTHER_DIGITS = (
    "its numbers are those that {data} gives up to their last digits, which another machine can round otherwise, and which can hold anything. "
    "Pass on a file that is drawn again from {data}, or that holds the same characters"
)


def with_sketches(
    left: Mapping[str, str], judged: Mapping[str, Judged]
) -> tuple[dict[str, Judged], dict[str, str]]:
    """(Of the files that were not compared those that follow from a sketch.json beside them which was released; the others, and why each was not compared).

    left: files without a receipt. judged: all others."""
    found, others = dict[str, Judged](), dict[str, str]()
    places = {os.path.abspath(name): name for name in judged}
    for name, why in left.items():
        file = Path(name)
        data = file.with_name(DATA_FILE)
        if file.name not in (COUNTS_FILE, ROWS_FILE) or not file.is_file() or not data.is_file():
            others[name] = why
            continue
        given = places.get(os.path.abspath(data))
        if given is None or judged[given].wrong or judged[given].undecided:
            others[name] = _NOT_RELEASED.format(data=data)
        elif not isinstance(one := _compared(file, data), str):
            one.charges = judged[given].charges
            found[name] = one
        else:
            others[name] = one or why
    return found, others


def _compared(file: Path, data: Path) -> Judged | str:
    """Compare a file with what the released sketch.json gives: what was found, or why it was not compared; "" if that file holds no sketch."""
    held = data_in(data)
    drawn = held.get("drawn")
    drawn = drawn if isinstance(drawn, Mapping) else {}
    try:
        sketch = TableSketch.from_json(held.get("sketch", {}))
    except ValueError:
        return ""
    lines = count_lines(sketch)
    if file.name == ROWS_FILE:
        rows, seed = drawn.get("rows"), drawn.get("seed")
        if type(rows) is not int or type(seed) is not int or rows < 1 or seed < 0:
            return _UNKNOWN_DRAW.format(data=data)
        if rows > MOST_IN_FILE or rows * (sketch.plan.d + 1) > _MOST_CELLS:
            return _TOO_MANY.format(data=data)
        lines = row_lines(sketch, rows, seed)
    try:
        apart = first_apart(file, lines)
    except OSError as error:
        return f"it cannot be read: {reason(error)}"
    except (ValueError, ArithmeticError, IndexError):  # of numbers that no sketch has
        return ""
    if not apart:
        return Judged("", [], remarks=[f"every line is what {data} gives"])
    if apart == OTHER_ENDS:
        return Judged("", [f"it is {OTHER_ENDS}"])
    if apart == _LAST_DIGITS:
        return Judged("", [], [_OTHER_DIGITS.format(data=data)])
    wrong = f"it is not what {data} gives: {apart}"
    if drawn.get("version") == own_version():
        return Judged("", [wrong])
    return Judged("", [], [f"{wrong}. Another version wrote it, and can have written it otherwise"])


def first_apart(file: Path, lines: Iterable[str]) -> str:
    """Find where a file first differs from these lines, in words; "" where it does not. `OTHER_ENDS`: in line endings alone. `_LAST_DIGITS`: in the last
    digits of numbers. What stands there is not said: it can be anything.

    Of the file no more is held than the next line."""
    at, other_ends, other_digits = 0, False, False
    with file.open("rb") as given:
        for at, line in enumerate(lines, 1):
            made = line.encode("utf-8")
            said = given.readline(_LONGER * len(made))
            if said == made:
                continue
            if not said:
                return f"it ends before line {at:,}"
            bare = said.removesuffix(b"\n").removesuffix(b"\r")
            other_ends |= said != bare + b"\n"
            if bare != made.removesuffix(b"\n"):
                if not _alike(bare, made):
                    return f"line {at:,} is another one"
                other_digits = True
        if given.read(1):
            return f"it goes on after line {at:,}, the last one"
    return _LAST_DIGITS if other_digits else OTHER_ENDS if other_ends else ""


def _alike(said: bytes, made: bytes) -> bool:
    """Whether two lines have the same cells, numbers up to rounding: another machine can round the last digit otherwise."""
    try:
        one, two = (_cells(line) for line in (said, made))
    except (ValueError, csv.Error):
        return False
    return len(one) == len(two) and all(a == b or _numbers_alike(a, b) for a, b in zip(one, two, strict=True))


def _cells(line: bytes) -> list[str]:
    return next(csv.reader([line.decode("utf-8")], strict=True), [])


def _numbers_alike(a: str, b: str) -> bool:
    """Whether both are written as prepriv writes a number, and are the same one up to rounding."""
    try:
        one, two = float(a), float(b)
    except ValueError:
        return False
    return (repr(one), repr(two)) == (a, b) and same(one, two)
