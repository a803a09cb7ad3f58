"""Encoded rows of a stream that is read once: part by part in a file without a name, from which each pass reads them again.

What a query or a reader gives a second time may be other rows, or the same in another order. So it is asked once: the table
that a release is of is what that one reading gave (docs/proofs/one_table.md).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from prepriv.columns import Categorical, Column, Numeric, Text
from prepriv.domain import Domain
from prepriv.engines.engine import NoRoom
from prepriv.engines.local import memory_shown, reserve, scratch_folder
from prepriv.tables.sentences import SENTENCE_WIDTH
from prepriv.tables.table import Table

_CELL = {Numeric: 8, Categorical: 4}  # bytes; of a text, what a short one takes
_TEXT = 32


def cells_size(domain: Domain) -> int:
    """Bytes of an encoded row, texts taken to be short."""
    if domain.is_ball:
        return 8 * domain.ball_features
    texts = domain.encoded_texts * (4 * SENTENCE_WIDTH - _TEXT)
    return texts + sum(_CELL.get(type(column), _TEXT) for column in domain.columns.values())


class Spool:
    """A file of mode 0600 that has no name, in the folder that TMPDIR names (else /var/tmp): it ends with the process.

    size: bytes that are reserved now, so that a full disk is found before a charge. NoRoom where there is no place for them.
    """

    def __init__(self, domain: Domain, size: int = 0) -> None:
        self.domain, self.n, folder = domain, 0, scratch_folder()
        self._parts: list[tuple[int, int]] = []
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed with this object
            if size:
                reserve(self._file.fileno(), size)
        except OSError as error:
            raise NoRoom(
                f"the rows need {memory_shown(max(size, 1))} of disk in {folder}, which has no room for them "
                f"({os.strerror(error.errno or 0)}); set TMPDIR to another folder, or allow more memory"
            ) from None

    def add(self, part: Table) -> None:
        """Hold one more part of encoded rows."""
        try:
            self._parts.append((self._file.tell(), part.n))
            for array in part.columns if part.matrix is None else (np.asarray(part.matrix),):
                _write(self._file, array)
            self._file.flush()
        except OSError:
            raise NoRoom(
                "the rows could not be held on disk; why is withheld, since it may be private"
            ) from None
        self.n += part.n

    def parts(self) -> Iterator[Table]:
        """All parts, in the order in which they came."""
        for at, n in self._parts:
            self._file.seek(at)
            if self.domain.is_ball:
                yield Table(self.domain, n, np.load(self._file, allow_pickle=False))
            else:
                columns = [_read(self._file, column) for column in self.domain.columns.values()]
                yield Table(self.domain, n, None, tuple(columns))


def _write(file: IO[bytes], array: NDArray[Any]) -> None:
    if array.dtype != object:
        np.save(file, array, allow_pickle=False)
        return
    said = [text.encode("utf-8", "surrogatepass") for text in array]
    np.save(file, np.array([len(text) for text in said], dtype=np.int64), allow_pickle=False)
    file.write(b"".join(said))


def _read(file: IO[bytes], column: Column) -> NDArray[Any]:
    array: NDArray[Any] = np.load(file, allow_pickle=False)
    if not isinstance(column, Text) or column.encoder:
        return array
    texts = [file.read(length).decode("utf-8", "surrogatepass") for length in array.tolist()]
    return np.array([*texts, None], dtype=object)[:-1]
