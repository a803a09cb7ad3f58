"""Texts that other people chose (labels, names of columns, paths), made harmless where they are shown."""

from __future__ import annotations

import re
import unicodedata

# Overrides, embeddings and isolates of the direction of text: what follows them is shown in another order.
_REORDER = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_HARMFUL = frozenset({"Cc", "Cs", "Zl", "Zp"})
_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?(?:inf|nan)")


def shown(text: str, keep: str = "") -> str:
    """The text for a terminal, a page or a file: what would act there instead of being read is written as its code.

    These are control characters (escape sequences begin with one), separators of lines, halves of characters and
    changes of direction. keep: characters that stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or not _acts(c) else c.encode("unicode_escape").decode() for c in text)


def _acts(character: str) -> bool:
    return character in _REORDER or unicodedata.category(character) in _HARMFUL


def csv_cell(value: object) -> str:
    """The value as a cell of a CSV file: a text that a spreadsheet would compute begins with an apostrophe.

    Numbers stay as they are, also negative ones.
    """
    text = shown(str(value))
    start = text.lstrip()[:1]
    return f"'{text}" if start in _FORMULA and start and not _NUMBER.fullmatch(text) else text
