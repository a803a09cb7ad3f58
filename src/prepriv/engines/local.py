"""Threads of this process, over rows in memory or in a file that is mapped into it: the default engine."""

from __future__ import annotations

import mmap
import os
import re
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import shown
from prepriv._blas import one_blas_thread
from prepriv.engines.engine import Block, NoRoom, Separable
from prepriv.exact.gradient_sum import QuantizedRows, cores
from prepriv.exact.grid import IntegerGrid
from prepriv.exact.unit_sum import UnitRows

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_PAGE = 64  # bytes: arrays in a file begin at a multiple


@dataclass(frozen=True)
class Threads:
    """Threads of this process. threads: None for one a core, at most 8.

    memory: bytes the rows may take (an int, or a text such as "2GB"), None for half of what is free; rows that would
    take more are held in a temporary file: of mode 0600, in the folder that TMPDIR names (else /var/tmp), and unlinked
    before a byte is written, so that nothing of it is left when the process ends, however it ends.
    """

    threads: int | None = None
    memory: int | str | None = None

    def room(self, grid: IntegerGrid, n: int, d: int) -> LocalRoom:
        """Space in memory or in a file, which is reserved in full."""
        memory, size = memory_bytes(self.memory), rows_size(grid, n, d)
        if size <= memory:
            return LocalRoom(grid, d, self.threads, memory - size)
        file = MappedZeros(size)
        return LocalRoom(
            grid, d, self.threads, memory, file,
            f"rows are held on disk: {memory_shown(size)} of integers in a nameless file in {file.folder} "
            f"(memory: {memory_shown(memory)})",
        )  # fmt: skip


THREADS = Threads()


@dataclass(frozen=True, eq=False)
class LocalRoom:
    """In memory, or in a file."""

    grid: IntegerGrid
    d: int
    threads: int | None
    memory: int
    file: MappedZeros | None = None
    note: str | None = None

    def check(self, seen: Callable[[], Any]) -> None:
        """This process reads all rows."""

    def load(self, blocks: Iterable[Block], n: int, bias: float) -> QuantizedRows:
        """Rows as integers. NoRoom, which does not say why, where there are far more than declared and the disk is full."""
        empty = self._empty(n)
        rows = QuantizedRows(self.grid, n, self.d, bias, threads=self.threads, empty=empty)
        if self.file is not None and self.file.size > free_memory():
            rows.soon = self.file.reader_ahead(rows.x)
        return _filled(rows, blocks)

    def load_units(self, blocks: Iterable[Block], sizes: NDArray[np.int64], bias: float) -> UnitRows:
        """The same of rows that stand unit by unit; sizes: (units,) how many each has."""
        empty = self._empty(int(sizes.sum()))
        return _filled(UnitRows(self.grid, sizes, self.d, bias, threads=self.threads, empty=empty), blocks)

    def _empty(self, n: int) -> Callable[..., NDArray[Any]]:
        empty: Callable[..., NDArray[Any]] = np.zeros
        if self.file is not None:
            try:
                self.file.grow(rows_size(self.grid, n, self.d))
            except NoRoom:
                raise NoRoom(
                    "the rows could not be held on disk; why is withheld, since it may be private"
                ) from None
            empty = self.file.empty
        return empty


_Rows = TypeVar("_Rows", bound=QuantizedRows)


_LARGEST_KEPT = 2**22 - 2**11  # numbers in the largest array that glibc learns from: nearly 32 MB
_AHEAD = 4  # blocks a thread that wait for it, or for the one before them
_FEW = 2048  # rows that one thread encodes sooner than a pool starts


def _filled(rows: _Rows, blocks: Iterable[Block]) -> _Rows:
    apart = blocks.apart() if isinstance(blocks, Separable) else None
    threads = rows.threads or cores()
    if apart is None or threads < 2 or len(rows.x) < _FEW:
        for x, targets, start in blocks:
            rows.fill(start, x, targets)
        return rows

    def fill(block: Callable[[], Block]) -> None:
        with np.errstate(all="ignore"):  # a thread of its own: no warning may depend on records
            x, targets, start = block()
            rows.fill(start, x, targets)

    fill(next(apart))  # what is made once is made here
    keep_freed_memory()
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[None]] = deque()
        for block in apart:
            waiting.append(pool.submit(fill, block))
            if len(waiting) > _AHEAD * threads:
                waiting.popleft().result()
        for future in waiting:
            future.result()
    return rows


@cache
def keep_freed_memory() -> None:
    """Have the C library keep what a thread frees, for its next block. It gives memory back once more is free than twice the
    largest array that was: then the kernel clears the pages of each block again, which takes a third of the time of encoding.
    """
    np.empty(_LARGEST_KEPT)  # is freed at once, and no page of it is touched


class MappedZeros:
    """Zeros in a file without a name, mapped into memory. Reserved in full: a later write cannot find the disk full."""

    def __init__(self, size: int) -> None:
        self.size, self.folder, self._used = size, scratch_folder(), 0
        try:
            with tempfile.TemporaryFile(dir=self.folder, buffering=0) as file:  # mode 0600, and no name
                self._file = os.dup(file.fileno())
            weakref.finalize(self, os.close, self._file)
            self._map(size)
        except OSError as error:
            raise NoRoom(
                f"the rows need {memory_shown(size)} of disk in {self.folder}, which has no room for them "
                f"({os.strerror(error.errno or 0)}); set TMPDIR to another folder, or allow more memory"
            ) from None

    def grow(self, size: int) -> None:
        """Room for so many bytes in all, before the first array: what is there already is not reserved again."""
        if size <= self.size:
            return
        try:
            self._map(size)
        except OSError as error:
            raise NoRoom(os.strerror(error.errno or 0)) from None
        self.size = size

    def _map(self, size: int) -> None:
        reserve(self._file, size)
        self._bytes = mmap.mmap(self._file, size)

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """The next array of zeros."""
        array: NDArray[Any] = np.ndarray(shape, dtype, self._bytes, self._used)
        self._used += -(-array.nbytes // _PAGE) * _PAGE
        return array

    def reader_ahead(self, x: NDArray[Any]) -> Callable[[NDArray[np.intp]], None] | None:
        """Has the system read rows (by number) of the array x that were made here, and no more; None where it cannot.

        Without that a row that is missing brings the 128 KB about it: of a sixteenth of the rows, the whole file.
        """
        if not hasattr(os, "posix_fadvise"):
            return None
        first = x.ctypes.data - np.frombuffer(self._bytes, np.uint8, 1).ctypes.data

        def read(rows: NDArray[np.intp]) -> None:
            for row in rows.tolist():
                os.posix_fadvise(self._file, first + row * x.strides[0], x.strides[0], os.POSIX_FADV_WILLNEED)

        return read


def memory_bytes(memory: int | str | None) -> int:
    """A declared amount of memory in bytes; None is half of what is free. ValueError for anything else."""
    if memory is None:
        return free_memory() // 2
    found = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,3})?) ?([KMGT]?B)?", str(memory).strip().upper())
    size = (
        0
        if found is None or type(memory) not in (int, str)
        else int(float(found[1]) * _UNITS[found[2] or "B"])
    )
    if size <= 0:
        raise ValueError(f'memory must be None, bytes above 0 or a text such as "2GB"; got {shown(memory)}')
    return size


def free_memory() -> int:
    """Bytes that this process can take without swapping: of the machine, and of its control group."""
    free = []
    with suppress(OSError, ValueError, AttributeError):
        free.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = [int(next(s for s in lines if s.startswith("MemAvailable:")).split()[1]) * 1024]
    for most, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):
            group = Path("/sys/fs/cgroup")
            free.append(int((group / most).read_text()) - int((group / used).read_text()))
    return max(min(free, default=2**32), 2**26)


def reserve(file: int, size: int) -> None:
    """Take so many bytes of disk for an open file."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
        return
    at = os.lseek(file, 0, os.SEEK_END)
    while at < size:
        at += os.write(file, bytes(min(2**20, size - at)))


def scratch_folder() -> str:
    """Where files without a name live: the folder that TMPDIR names, else /var/tmp."""
    for folder in (os.environ.get("TMPDIR", ""), "/var/tmp"):  # /tmp is often memory itself
        if os.path.isdir(folder) and os.access(folder, os.W_OK):
            return folder
    return tempfile.gettempdir()


def rows_size(grid: IntegerGrid, n: int, d: int) -> int:
    """Bytes of n rows of d features, with their norms and labels."""
    return n * ((d + 1) * (4 if grid.fine else 2) + 8) + 3 * _PAGE


def memory_shown(size: int) -> str:
    """Bytes as a text."""
    unit = next(u for u in ("TB", "GB", "MB", "KB", "B") if size >= _UNITS[u] or u == "B")
    return f"{size / _UNITS[unit]:.3g} {unit}"
