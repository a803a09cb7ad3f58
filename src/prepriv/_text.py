"""Texts that other people chose (labels, names of columns, paths), made harmless where they are shown."""

from __future__ import annotations

import re

# What acts where a text is shown, first and last of each range: control characters (escape sequences begin with one),
# separators of lines with overrides and embeddings of the direction of text, halves of characters, isolates of direction.
ACTING = ((0, 0x1F), (0x7F, 0x9F), (0x2028, 0x202E), (0xD800, 0xDFFF), (0x2066, 0x2069))
_ACTS = re.compile("[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ACTING) + "]")
_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?(?:inf|nan)")


def printable(text: str, keep: str = "") -> str:
    """The text for a terminal, a page or a file: what would act there (`ACTING`) instead of being read is written as its code.

    keep: characters that stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return _ACTS.sub(
        lambda found: found[0] if found[0] in keep else found[0].encode("unicode_escape").decode(), text
    )


def csv_cell(value: object) -> str:
    """The value as a cell of a CSV file: a text that a spreadsheet would compute begins with an apostrophe.

    Numbers stay as they are, also negative ones.
    """
    text = printable(str(value))
    start = text.lstrip()[:1]
    return f"'{text}" if start in _FORMULA and start and not _NUMBER.fullmatch(text) else text
