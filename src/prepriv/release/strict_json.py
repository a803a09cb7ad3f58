"""JSON of an unknown sender, read within bounds: strict, printable ASCII, nothing twice, nothing infinite."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

LARGEST_FILE = 2**26  # bytes: eight million numbers would be more
_MOST_PARTS = (
    400_000  # commas, braces and brackets: each can cost a hundred bytes of memory; arrays have none
)
_PRINTABLE = bytes(range(32, 127)) + b"\n"
_LARGEST = 2**63


class OtherEnds(ValueError):
    """Of a file with carriage returns, and nothing else that is not printable."""


def read_strictly(path: Path) -> tuple[dict[str, Any], int]:
    """The one object that the file holds, and the length of the file in bytes. Raises OSError or ValueError."""
    data, parts = bytearray(), 0
    with path.open("rb") as file:
        while block := file.read(2**20):
            parts += sum(map(block.count, (b",", b"{", b"[")))
            if len(data) + len(block) > LARGEST_FILE or parts > _MOST_PARTS:
                raise ValueError("too large")
            if odd := block.translate(None, _PRINTABLE):
                raise ValueError("not printable ASCII") if odd.strip(b"\r") else OtherEnds("line endings")
            data += block
    length, text = len(data), data.decode("ascii")
    del data
    found = parsed(text)
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found, length


def parsed(text: str) -> Any:
    """What JSON holds in which no name stands twice and each number is finite. Raises ValueError."""
    return json.loads(
        text, object_pairs_hook=_once, parse_float=_finite, parse_int=_whole, parse_constant=_no_number
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError("not finite")
    return value


def _whole(text: str) -> int:
    if len(text) > 20 or not -_LARGEST <= (value := int(text)) < _LARGEST:
        raise ValueError("too large")
    return value


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number")
