"""Rows on disk: a nameless private file, reserved before the charge; the same bits as in memory."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import gc
import os
import stat
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv.engines import local
from prepriv.engines.local import MappedZeros, NoRoom, Threads, free_memory, memory_bytes
from prepriv.estimators import RowsOnDisk
from prepriv.exact.gradient_sum import GradientSum, QuantizedRows
from prepriv.exact.grid import IntegerGrid
from prepriv.learners.losses import Softmax
from prepriv.ledger import Ledger

GRID = IntegerGrid.of(5.1, 0.7, 10**4, fine=False)


def open_files():
    """(name, mode) of the files this process has open or mapped, of those that were temporary."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.append((os.readlink(entry), stat.S_IMODE(entry.stat().st_mode)))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("fine", [False, True])
def test_rows_in_a_file_give_the_bits_of_rows_in_memory(rng, fine, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    n, d = 5000, 7
    grid = IntegerGrid.of(5.1, 0.7, n, fine=fine)
    x, y = rng.standard_normal((n, d)), rng.integers(-1, 3, n)
    blocks = [(x[at : at + 256], y[at : at + 256], at) for at in range(0, n, 256)]
    sums = []
    for memory in ("1GB", 1):
        room = Threads(2, memory).room(grid, n, d)
        assert (room.note is None) == (memory == "1GB")
        rows = room.load(blocks, n, 1.0)
        with rows.gradient_sum(Softmax()) as total:
            sums.append(total(rng.__class__(np.random.PCG64(1)).standard_normal((d + 1, 3))))
            sums.append(total(np.ones((d + 1, 3)), np.arange(0, n, 3)))
    assert (sums[0] == sums[2]).all() and (sums[1] == sums[3]).all() and np.abs(sums[0]).max() > 2**20


def test_sums_of_parts_add_up_to_the_sum_whatever_the_parts(rng):
    """What an engine is: load a part, add its gradients up, add the parts; in any order, any part twice tried."""
    n, d = 4000, 5
    x, y = rng.standard_normal((n, d)), rng.integers(0, 3, n)
    weights = rng.standard_normal((d + 1, 3))

    def partial(low, high):
        rows = QuantizedRows(GRID, high - low, d, 1.0, threads=1)
        rows.fill(0, x[low:high], y[low:high])
        with GradientSum(rows, Softmax(), threads=1) as total:
            return total(weights)

    want = partial(0, n)
    for parts in (1, 2, 3, 7, 40):
        cuts = np.concatenate([[0], np.sort(rng.choice(np.arange(1, n), parts - 1, replace=False)), [n]])
        order = rng.permutation(parts)
        assert (sum(partial(cuts[i], cuts[i + 1]) for i in order) == want).all()


def test_the_file_has_no_name_a_private_mode_and_integers_only(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    held = os.umask(0)
    try:
        file = MappedZeros(2**20)
    finally:
        os.umask(held)
    assert os.listdir(tmp_path) == []
    mapped = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(tmp_path) in line]
    assert len(mapped) == 1 and "(deleted)" in mapped[0]
    modes = [mode for name, mode in open_files() if name.startswith(str(tmp_path))]
    assert set(modes) == {0o600}  # it is open, so that it can be extended, and mapped
    array = file.empty((16, 4), np.int16)
    other = file.empty(3, np.int32)
    assert (array == 0).all() and (other == 0).all() and not np.shares_memory(array, other)
    array[:] = 7
    assert (other == 0).all()
    del file, array, other
    gc.collect()
    assert not any(str(tmp_path) in line for line in Path("/proc/self/maps").read_text().splitlines())


def data(n=300):
    x = np.random.default_rng(1).random((n, 3))
    return x, (x[:, 0] > 0.5).astype(int)


DOMAIN = prepriv.Domain.box(0, 1, features=3, classes=[0, 1])


def test_a_full_disk_is_one_sentence_and_nothing_is_charged(tmp_path, monkeypatch):
    Ledger.create(tmp_path / "L.db", "people", epsilon=2, delta=1e-4)

    def full(*_):
        raise OSError(errno.ENOSPC, "SECRET")

    monkeypatch.setattr(os, "posix_fallocate", full)
    clf = prepriv.PrivateClassifier(DOMAIN, ledger=tmp_path / "L.db", memory=1000)
    with pytest.raises(NoRoom, match=r"disk in .*\(No space left") as told:
        clf.fit(*data())
    assert "SECRET" not in str(told.value)
    assert Ledger.open(tmp_path / "L.db").entries() == ()


def test_a_fit_on_disk_says_so_and_one_in_memory_does_not():
    with pytest.warns(RowsOnDisk, match=r"rows .* on disk: .*\(memory: 1 KB\)"):
        prepriv.PrivateClassifier(DOMAIN, memory="1KB", steps="linear").fit(*data())
    with warnings.catch_warnings():
        warnings.simplefilter("error", RowsOnDisk)
        prepriv.PrivateClassifier(DOMAIN, steps="linear").fit(*data())


def test_where_files_cannot_be_reserved_zeros_are_written(monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    assert not MappedZeros(2**20 + 3).empty(2**20 + 3, np.uint8).any()


def test_a_disk_that_is_full_for_more_rows_than_declared_tells_no_number(rng, monkeypatch):
    room = Threads(1, 1).room(GRID, 10, 3)

    def full(*_):
        raise OSError(errno.ENOSPC, "")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(NoRoom, match="disk; why is withheld") as told:
        room.load([], 123_456, 1.0)
    assert not any(character.isdigit() for character in str(told.value))


def test_more_rows_than_declared_are_held_in_the_same_file(rng, monkeypatch):
    """A second file beside the first would need twice the disk as soon as there is one row more than declared."""
    room = Threads(1, 1).room(GRID, 10, 3)
    files = []
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: files.append(1))
    x, y = rng.standard_normal((1000, 3)), rng.integers(0, 3, 1000)
    rows = room.load([(x, y, 0)], 1000, 1.0)
    assert rows.shape == (1000, 4) and (rows.norms > 0).all() and not files


PRIVATE = dataclasses.replace(DOMAIN, adjacency="add-or-remove-one", n=2000)


def reserved_and_shown(rows, monkeypatch, file=None):
    """(bytes that each reservation asked for, what the bar was told) of a fit of so many rows where 2000 are declared."""
    asked, shown = [], []
    reserve = os.posix_fallocate
    monkeypatch.setattr(os, "posix_fallocate", lambda *a: asked.append(a[2]) or reserve(*a))

    @contextlib.contextmanager
    def bar(**_):
        yield lambda *told: shown.append(told)

    monkeypatch.setattr("prepriv.estimators.progress_bar", bar)
    x = np.random.default_rng(0).random((rows, 3))
    y = (x[:, 0] > 0.5).astype(int)
    clf = prepriv.PrivateClassifier(PRIVATE, memory=1000, steps="linear")
    if file is None:
        clf.fit(x, y)
    else:
        frame = pd.DataFrame(x, columns=["x0", "x1", "x2"]).assign(y=y)
        frame.to_csv(file, index=False, float_format="%.17g")
        clf.fit(str(file), "y")
    monkeypatch.setattr(os, "posix_fallocate", reserve)
    return asked, shown


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("streamed", [False, True])
def test_one_record_more_than_declared_decides_neither_the_disk_nor_the_bar(monkeypatch, tmp_path, streamed):
    """Before: a second whole file for the row that was too many, and the bytes of the private file on the bar."""
    runs = [
        reserved_and_shown(rows, monkeypatch, tmp_path / "d.csv" if streamed else None)
        for rows in (1999, 2000, 2001, 2400)
    ]
    assert runs[0] == runs[1] == runs[2] == runs[3] and len(runs[0][0]) == 1
    assert {told for told in runs[0][1] if told[0] == "reading"} == {("reading", 0, 0)}


@pytest.mark.parametrize(
    "memory, size",
    [("2GB", 2 * 10**9), ("500 mb", 5 * 10**8), (123, 123), ("1.5KB", 1500), ("64", 64), (" 1tb ", 10**12)],
)
def test_memory_is_bytes_or_a_text(memory, size):
    assert memory_bytes(memory) == size


@pytest.mark.parametrize("memory", [0, -1, True, "GB", "0GB", "2 apples", 1.5, "1e9", b"2GB", [], "-3MB"])
def test_memory_of_another_kind_is_one_sentence(memory):
    with pytest.raises(ValueError, match="memory must be None"):
        memory_bytes(memory)
    with pytest.raises(ValueError, match="memory must be None"):
        prepriv.PrivateClassifier(DOMAIN, memory=memory).fit(*data())


def test_half_of_what_is_free_is_taken():
    assert free_memory() >= 2**26 and abs(memory_bytes(None) - free_memory() // 2) < 2**30


def test_rows_behind_a_confidential_map_are_read_nowhere_else(folder):
    """Its state dies with the run, in this process."""
    from prepriv.placed.rows import Mapped
    from prepriv.preprocessing.base import ConfidentialMap, ReleasedMap
    from prepriv.runs.run import Labelled
    from prepriv.tables.encoding import encode

    class Secret(ConfidentialMap):
        def transform(self, x):
            return x

    class Open(ReleasedMap):
        def transform(self, x):
            return x

        def to_json(self):
            return {}

    domain = prepriv.Domain({"a": prepriv.Numeric(0, 1), "b": prepriv.Numeric(0, 1)}, [0, 1], label="y")
    table, labels = encode(folder / "parts", domain), np.zeros(1500, np.int32)
    for maps, portable in (([], True), ([Open()], True), ([Secret()], False), ([Open(), Secret()], False)):
        part = Labelled(Mapped(table, maps, labels)).part(256, 700)
        assert (part is not None) is portable
    rows = [block for block in Labelled(Mapped(table, [], labels)) if 256 <= block[2] < 700]
    part = list(Labelled(Mapped(table, [], labels)).part(256, 700))
    assert [at for *_, at in part] == [at for *_, at in rows] == [256, 512]
    assert (part[0][0] == rows[0][0]).all() and len(part[1][0]) == 188


def test_a_batch_asks_for_its_rows_where_no_cache_holds_the_file(rng, monkeypatch):
    """Each row once, before it is read; the bits are those of rows in memory. A pass over all of them asks for none."""
    n, d, asked = 5000, 7, []
    x, y = rng.standard_normal((n, d)), rng.integers(0, 3, n)
    blocks = [(x[at : at + 256], y[at : at + 256], at) for at in range(0, n, 256)]
    monkeypatch.setattr(local, "free_memory", lambda: 1)
    monkeypatch.setattr(os, "posix_fadvise", lambda *a: asked.append(a))
    grid, weights = IntegerGrid.of(5.1, 0.7, n, fine=False), rng.standard_normal((d + 1, 3))
    batch = np.flatnonzero(rng.random(n) < 0.5)
    rows = Threads(2, 1).room(grid, n, d).load(blocks, n, 1.0)
    whole = Threads(2, "1GB").room(grid, n, d).load(blocks, n, 1.0)
    with rows.gradient_sum(Softmax()) as total, whole.gradient_sum(Softmax()) as same:
        assert (total(weights) == same(weights)).all() and not asked
        assert (total(weights, batch) == same(weights, batch)).all()
    size = rows.x.strides[0]
    assert {length for _, _, length, _ in asked} == {size}
    assert sorted(first for _, first, _, _ in asked) == [size * row for row in batch.tolist()]
    monkeypatch.setattr(local, "free_memory", lambda: 10**12)
    assert Threads(2, 1).room(grid, n, d).load(blocks, n, 1.0).soon is None
