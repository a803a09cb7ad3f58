"""Texts as hashed counts of words and of pieces of them: the same for everybody, fitted to nothing.

A text becomes lower-case UTF-8, every digit a 0. Its words and pairs of words are counted in the first half of the features, its pieces of
three to five bytes in the second, each in a place and with a sign that a fixed hash gives (Weinberger et al. 2009, "Feature
Hashing for Large Scale Multitask Learning"). Each half is divided by its norm times the root of two: a text is a row of
norm at most one, and a function of its cell alone, to the bit (docs/proofs/text.md).
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from prepriv.tables.cell import UNREADABLE, Cell, text

_WORD = re.compile(r"\w+|[^\w\s]+")
_PIECES = (3, 4, 5)  # bytes
_DIGITS = bytes.maketrans(b"0123456789", b"0000000000")  # the form of a number says more than its digits
_FNV, _OFFSET = np.uint64(0x100000001B3), np.uint64(0xCBF29CE484222325)


def text_cell(cell: Cell) -> str:
    """What a cell says as a text; nothing for an empty one, and for one that is too long to be read."""
    return "" if cell is None or cell == UNREADABLE else text(cell)


def hashed(texts: NDArray[np.object_], features: int) -> NDArray[np.float64]:
    """(n,) texts to rows (n, features) of norm at most 1; an empty text is the zero row."""
    half = features // 2
    out = np.zeros((len(texts), features))
    for row, one in zip(out, texts):
        raw = one.lower().encode("utf-8", "replace").translate(_DIGITS)
        row[:half] = _counts(_words(raw.decode("utf-8")), half)
        row[half:] = _counts(_pieces(raw), features - half)
    return out


def _words(one: str) -> NDArray[np.uint64]:
    """A hash of each word, and of each pair of neighbours."""
    words = _WORD.findall(one)
    grams = [*words, *(f"{a} {b}" for a, b in pairwise(words))]
    return np.array([_hash(gram.encode("utf-8")) for gram in grams], np.uint64)


def _hash(gram: bytes) -> int:
    """FNV-1a in 64 bits."""
    value = int(_OFFSET)
    for byte in gram:
        value = (value ^ byte) * int(_FNV) & 0xFFFFFFFFFFFFFFFF
    return value


def _pieces(raw: bytes) -> NDArray[np.uint64]:
    """A hash (FNV-1a) of each run of three, four and five bytes, with a blank before and after the text."""
    if not raw:
        return np.zeros(0, np.uint64)
    codes = np.frombuffer(b" " + raw + b" ", np.uint8).astype(np.uint64)
    found = []
    for size in _PIECES:
        value = np.full(max(len(codes) - size + 1, 0), _OFFSET)
        for at in range(size):
            value = (value ^ codes[at : at + len(value)]) * _FNV  # modulo 2^64
        found.append(value)
    return np.concatenate(found)


def _counts(hashes: NDArray[np.uint64], places: int) -> NDArray[np.float64]:
    """Signed counts over their norm and the root of two. Whole numbers until the last division: exact in any order."""
    mixed = (hashes ^ (hashes >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> np.uint64(33)
    place = ((mixed >> np.uint64(1)) % np.uint64(places)).astype(np.intp)
    sign = 1.0 - 2.0 * (mixed & np.uint64(1)).astype(np.float64)
    counted = np.asarray(np.bincount(place, sign, minlength=places), np.float64)
    square = float((counted * counted).sum())
    return counted / math.sqrt(2 * square) if square else counted
