"""A ledger in a file: the SQLite settings that make a commit durable, and what counts as failure.

Every operation opens its own connection and closes it again. That costs under a millisecond, is safe under
threads and fork, and leaves one self-contained file at rest, since closing the last connection folds the
write-ahead log back into it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from prepriv.ledger import sql_rows, sql_schema
from prepriv.ledger.errors import LedgerCorrupt, LedgerUnavailable
from prepriv.ledger.hash_chain import Header
from prepriv.ledger.mounts import refuse_unsafe_place

# FULL: fsync at every commit (NORMAL would lose the last charges at a power cut); the other two: fsync that
# reaches the platter on macOS.
DURABLE = {"synchronous": ("FULL", 2), "fullfsync": ("ON", 1), "checkpoint_fullfsync": ("ON", 1)}
HARDENED = {"trusted_schema": "OFF", "cell_size_check": "ON"}
SIDE_FILES = ("-wal", "-shm", "-journal")

# Held by every transaction, and while the process forks: a child inherits what SQLite believes to have locked, and no lock.
_FORKING = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_FORKING.acquire, after_in_parent=_FORKING.release, after_in_child=_FORKING.release
    )


@dataclass(frozen=True)
class File:
    """The store (`rows.Store`) of a ledger file; its methods are the functions below."""

    path: Path
    timeout: float

    @property
    def name(self) -> str:
        """Its last part."""
        return self.path.name

    def create(self, header: Header) -> None:
        """`create`."""
        create(self.path, header, timeout=self.timeout)

    def transaction(self, *, write: bool) -> AbstractContextManager[sqlite3.Connection]:
        """`transaction`."""
        return transaction(self.path, timeout=self.timeout, write=write)

    def problems(self, db: Any) -> list[str]:
        """`schema.problems`."""
        return sql_schema.problems(db)

    def damage(self, db: Any) -> list[str]:
        """What SQLite's own check of the file finds."""
        found = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
        return [f"SQLite: {line}" for line in found if line != "ok"]


@contextmanager
def transaction(path: Path, *, timeout: float, write: bool) -> Iterator[sqlite3.Connection]:
    """A transaction on the ledger file: committed to disk on a normal end of a `write`, else rolled back.

    timeout: seconds to wait for other processes.

    Raises
    ------
    LedgerUnavailable, LedgerCorrupt
        See errors.py; also for every SQLite error inside the block.
    """
    with _FORKING, _translated(path), ExitStack() as stack:
        file = _identity(path)
        db = _begin(stack, path, timeout, write)
        yield db
        db.execute("COMMIT" if write else "ROLLBACK")
        if write and _identity(path) != file:  # the charge went into a file that nobody will look at
            raise LedgerUnavailable(f"{path.name}: was replaced while in use; nothing was granted")


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file has this name: its device and number. None: no file has it."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def create(path: Path, header: Header, *, timeout: float) -> None:
    """Write a new ledger file: on any failure nothing is left at `path`.

    Raises
    ------
    ValueError
        If a file is there already, or remains of one that was (its log would be replayed).
    LedgerUnavailable
        If the directory is missing, read-only, full, or on a file system that is not taken.
    """
    if path.is_dir():
        raise ValueError(f"{path.name} is a folder; a ledger is a file")
    if path.name.endswith(SIDE_FILES):  # a look at the other ledger would take it for its log
        raise ValueError(
            f"{path.name}: SQLite keeps files of such names beside a ledger; choose another name"
        )
    if not path.parent.is_dir():
        what = "is not a folder" if path.parent.exists() else "does not exist"
        raise LedgerUnavailable(f"{path.name}: the folder {path.parent} {what}; nothing was created")
    for other in (path, *side_files(path)):
        if os.path.lexists(other):
            raise ValueError(f"a ledger is never overwritten, and {other.name} exists; choose another path")
    made: list[int] = []
    try:
        with _translated(path):
            made.append(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            os.close(made[0])
            _create_tables(path, header, timeout)
            _sync_directory(path.parent)
    except BaseException:
        for file in (path, *side_files(path)) if made else ():
            file.unlink(missing_ok=True)
        raise


def side_files(path: Path) -> tuple[Path, ...]:
    """The files SQLite keeps beside an open ledger; none of them exists at rest."""
    return tuple(path.with_name(path.name + suffix) for suffix in SIDE_FILES)


_WAL_MAGIC = (0x377F0682, 0x377F0683)
_SHM_VERSION = 3007000  # of the index of a log, in the order of this machine's bytes


def foreign_side_files(path: Path) -> tuple[Path, ...]:
    """Which of the files beside a ledger are not those that SQLite leaves there. A look never opens the ledger in a way that replays or deletes them.

    A ledger is in write-ahead mode, so it never has a journal. A log begins with a header of 32 bytes that holds its checksum; without
    one SQLite takes the log for empty and deletes it. So it does with one that holds no commit: without an index beside it no process uses it, and it is foreign, too.
    """
    wal, shm, journal = side_files(path)
    own = {wal: _is_log, shm: _is_index}
    foreign = [
        one for one in (wal, shm, journal) if os.path.lexists(one) and not (one in own and own[one](one))
    ]
    if wal not in foreign and not os.path.lexists(shm) and _head(wal, 1) and not _holds_a_commit(wal):
        foreign.insert(0, wal)
    return tuple(foreign)


def files_of_a_run(path: Path) -> tuple[Path, ...]:
    """The log and its index beside a ledger, as a process leaves them that uses it or was killed, where they hold anything. Opening the ledger deletes them."""
    wal, shm, _ = side_files(path)
    foreign = foreign_side_files(path)
    return tuple(one for one in (wal, shm) if one not in foreign and _head(one, 1))


def _head(file: Path, length: int) -> bytes | None:
    """How it begins; None of what is not a plain file."""
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            return None
        with file.open("rb") as opened:
            return opened.read(length)
    except OSError:  # folded back by another process, or not for this user: SQLite says so
        return b""


def _is_empty(file: Path, head: bytes) -> bool:
    """Whether it was made, and not written yet."""
    return not head.strip(b"\0") and not (_head(file, 2**26) or b"").strip(b"\0")


def _is_log(file: Path) -> bool:
    head = _head(file, 32)
    if head is None or _is_empty(file, head):
        return head is not None
    if len(head) < 32 or int.from_bytes(head[:4], "big") not in _WAL_MAGIC:
        return False
    return _written(_summed(head[:24], head, (0, 0))) == head[24:]


def _summed(content: bytes, head: bytes, since: tuple[int, int]) -> tuple[int, int]:
    """The checksum of a log, whose header says in which order bytes are read, after so much more. https://www.sqlite.org/fileformat2.html#checksum_algorithm"""
    order: Literal["big", "little"] = "big" if head[3] & 1 else "little"
    words = [int.from_bytes(content[at : at + 4], order) for at in range(0, len(content), 4)]
    first, second = since
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) % 2**32
        second = (second + other + first) % 2**32
    return first, second


def _written(checksum: tuple[int, int]) -> bytes:
    return b"".join(one.to_bytes(4, "big") for one in checksum)


def _holds_a_commit(log: Path) -> bool:
    """Whether one of its frames ends a transaction, which a process committed: those up to it have the salt of the header, and their checksums."""
    try:
        opened = log.open("rb")
    except OSError:  # folded back by another process, or not for this user
        return True
    with opened:
        head = opened.read(32)
        size, checksum = int.from_bytes(head[8:12], "big"), _summed(head[:24], head, (0, 0))
        while 512 <= size <= 65536 and len(frame := opened.read(24 + size)) == 24 + size:
            checksum = _summed(frame[:8] + frame[24:], head, checksum)
            if frame[8:16] != head[16:24] or frame[16:24] != _written(checksum):
                return False
            if any(frame[4:8]):  # pages of the file after the commit
                return True
    return False


def _is_index(file: Path) -> bool:
    head = _head(file, 4)
    return head is not None and (int.from_bytes(head, sys.byteorder) == _SHM_VERSION or _is_empty(file, head))


def _begin(stack: ExitStack, path: Path, timeout: float, write: bool) -> sqlite3.Connection:
    # the busy handler does not cover every moment (recovery, last close), hence the loop
    deadline = time.monotonic() + timeout
    while True:
        try:
            frozen = _frozen(path, write)
            db = _connect(stack, path, max(0.0, deadline - time.monotonic()), write, frozen)
            if not frozen and db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                raise LedgerCorrupt(f"{path.name}: is not in write-ahead mode, or not a ledger")
            db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()  # takes the snapshot
            return db
        except sqlite3.OperationalError as error:
            stack.close()
            if not _is_busy(error) or time.monotonic() >= deadline:
                raise
            time.sleep(0.002)


def _connect(
    stack: ExitStack, path: Path, timeout: float, write: bool, frozen: bool = False
) -> sqlite3.Connection:
    if path.is_dir():
        raise LedgerUnavailable(f"{path.name}: is a folder; a ledger is a file")
    if not path.is_file():
        raise LedgerUnavailable(
            f"{path.name}: no such ledger file. Check its path. For a data set that has none, `prepriv ledger create` makes it"
        )
    uri = f"{path.as_uri()}?{'immutable=1' if frozen else 'mode=rw'}"
    db = sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None)
    stack.callback(_abandon, db)
    refuse_unsafe_place(path)  # SQLite has the file open, and no log yet
    # a damaged text is to reach the hash check, not to stop on its encoding
    db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    for name, value in HARDENED.items():
        db.execute(f"PRAGMA {name} = {value}")
    for name, (value, code) in DURABLE.items():
        db.execute(f"PRAGMA {name} = {value}")
        if db.execute(f"PRAGMA {name}").fetchone() != (code,):
            raise LedgerUnavailable(f"SQLite does not take {name} = {value}: commits would not be durable")
    if not write:
        db.execute("PRAGMA query_only = ON")
    return db


def _abandon(db: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        if db.in_transaction:
            db.execute("ROLLBACK")
    db.close()


def _frozen(path: Path, write: bool) -> bool:
    # A published copy may lie in a directory where SQLite cannot place its shared-memory file. Without a
    # log beside it there is no writer, and it can be read as it is. Who may not write the file would leave there
    # a log that the owner cannot write.
    if write:
        return False
    if foreign := foreign_side_files(path):
        log = side_files(path)[0]
        if log not in foreign and _head(
            log, 1
        ):  # it may hold charges, and reading it would delete the others
            raise LedgerUnavailable(
                f"{path.name}: SQLite did not make {' and '.join(one.name for one in foreign)}, and {log.name} may hold charges: move what is "
                "not SQLite's to another folder; nothing was read or changed"
            )
        return True
    may_write = os.access(path.parent, os.W_OK) and os.access(path, os.W_OK)
    return not (may_write or any(map(os.path.lexists, side_files(path))))


def _create_tables(path: Path, header: Header, timeout: float) -> None:
    with _FORKING, ExitStack() as stack:
        db = _connect(stack, path, timeout, write=True)
        if db.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise LedgerUnavailable(f"{path.name}: SQLite cannot keep a write-ahead log here")
        db.execute("BEGIN IMMEDIATE")
        sql_schema.create_tables(db, bool(header.periods))
        sql_rows.append_header(db, header)
        db.execute("COMMIT")


def _sync_directory(directory: Path) -> None:
    if os.name != "posix":  # elsewhere a directory cannot be opened
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_busy(error: sqlite3.Error) -> bool:
    return any(word in str(error) for word in ("locked", "busy", "locking protocol"))


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    # by class and message: error codes are not in Python 3.10's sqlite3
    try:
        yield
    except sqlite3.OperationalError as error:
        raise LedgerUnavailable(f"{path.name}: {error}; nothing was granted") from error
    except (sqlite3.Error, UnicodeError, MemoryError, OverflowError) as error:
        # UnicodeError: an error message that quotes damaged bytes
        raise LedgerCorrupt(f"{path.name}: {error}; nothing was granted") from error
    except FileExistsError:
        raise ValueError(
            f"a ledger is never overwritten, and {path.name} exists; choose another path"
        ) from None
    except OSError as error:
        raise LedgerUnavailable(f"{path.name}: {error.strerror}; nothing was granted") from error
