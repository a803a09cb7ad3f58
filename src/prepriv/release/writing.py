"""A file is all there or not there, also after a crash."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


def write_atomically(target: Path, text: str, mode: int = 0o644) -> None:
    """Write text to a file so that it is either all there or not there, also after a crash. Raises OSError."""
    with told_of(target):
        _write_atomically(target, text, mode)


@contextlib.contextmanager
def told_of(target: Path) -> Iterator[None]:
    """An OSError says what could not be written, and keeps its class."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(
            error.errno, f"cannot write the file ({os.strerror(error.errno)})", str(target)
        ) from None


def _write_atomically(target: Path, text: str, mode: int) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".tmp-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable: a release is recorded in the ledger only after it."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
