"""Rows that several threads encode: the same integers as by one thread, and nothing else of a record."""

from __future__ import annotations

import contextlib
import threading
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import threadpoolctl

import prepriv
from prepriv import _blas
from prepriv._blas import one_blas_thread
from prepriv.engines.local import Threads
from prepriv.exact.grid import IntegerGrid
from prepriv.placed.handed import placeless
from prepriv.placed.rows import Mapped
from prepriv.preprocessing import Normalize, RandomFeatures
from prepriv.preprocessing.base import ConfidentialMap, ReleasedMap
from prepriv.preprocessing.homogenize import HomogeneousRows
from prepriv.runs.run import Labelled
from prepriv.tables.encoding import encode

N = 5003  # no multiple of a block
GRID = IntegerGrid.of(5.1, 0.7, N, fine=False)


def rows(*more):
    x = np.random.default_rng(0).random((N, 6))
    x[17] = np.nan
    domain = prepriv.Domain.box(0, 1, 6, [0, 1], n=N)
    maps = [HomogeneousRows(1.0, 1.0), RandomFeatures(40).free(prepriv.Domain.ball(7, [0, 1]).space)]
    maps += [Normalize(5.0).free(domain.space), *more]
    return Labelled(Mapped(encode(x, domain), maps, (np.arange(N) % 2).astype(np.int32)))


def held(labelled, threads):
    d = next(iter(labelled))[0].shape[1]
    return Threads(threads).room(GRID, N, d).load(labelled, N, 1.0)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_fill_in_the_bits_of_one(threads):
    one, several = held(rows(), 1), held(rows(), threads)
    assert np.abs(one.x).max() > 2**10 and set(one.targets.tolist()) >= {0, 1}
    for name in ("x", "norms", "targets"):
        assert (getattr(one, name) == getattr(several, name)).all(), name


def test_rows_that_a_map_drops_are_dropped_at_their_places(monkeypatch):
    def keep(self, x, start):
        return (start + np.arange(len(x))) % 7 != 3

    monkeypatch.setattr(HomogeneousRows, "keep", keep)
    one, several = held(rows(), 1), held(rows(), 2)
    assert (several.targets[3::7] == -1).all() and (several.x[3::7, :-1] == 0).all()
    assert (one.x == several.x).all() and (one.targets == several.targets).all()


@dataclass(frozen=True)
class Doubled(ReleasedMap):
    def transform(self, x):
        return x * 2.0

    def to_json(self):
        return {}


class Kept(ConfidentialMap):
    def transform(self, x):
        return x


@pytest.mark.parametrize("other", [Doubled(), Kept(), placeless(Doubled()), placeless(Kept())])
def test_third_party_maps_see_one_block_after_the_other(other):
    assert rows().apart() is not None
    assert rows(other).apart() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held(rows(other), 2)


def test_a_stream_is_read_in_its_order(tmp_path):
    pd = pytest.importorskip("pandas")
    pd.DataFrame(np.random.default_rng(0).random((N, 6))).add_prefix("c").to_csv(tmp_path / "a.csv")
    columns = {f"c{j}": prepriv.Numeric(0, 1) for j in range(6)}
    domain = prepriv.Domain(columns, (0, 1), N)
    table = encode(str(tmp_path / "a.csv"), domain)
    assert Mapped(table, []).apart() is None


def test_no_warning_of_a_record_leaves_a_thread(monkeypatch):
    def loud(self, x):
        return np.log(x - x) * 0.0 + x

    monkeypatch.setattr(HomogeneousRows, "transform", loud)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        made = Labelled(Mapped(rows().rows.table, [HomogeneousRows(1.0, 1.0)], rows().rows.labels))
        Threads(2).room(GRID, N, 6).load(made, N, 1.0)


def test_what_fails_in_a_thread_ends_the_run():
    broken = rows()
    start = [0]

    def transform(self, x):
        start[0] += 1
        if start[0] > 4:
            raise MemoryError
        return x

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(HomogeneousRows, "transform", transform)
        made = Labelled(Mapped(broken.rows.table, [HomogeneousRows(1.0, 1.0)], broken.rows.labels))
        with pytest.raises(MemoryError):
            Threads(2).room(GRID, N, 6).load(made, N, 1.0)


def test_progress_is_told_in_order():
    seen = []
    told = rows()
    held(Labelled(told.rows, lambda start, more: seen.append((start, more))), 2)
    assert seen and seen == sorted(seen)


@pytest.fixture
def two_threads():
    """Of products, where the suite's own process has one."""
    before = [one.get_num_threads() for one in _blas._libraries()]
    for one in _blas._libraries():
        _blas._set(one, 2)
    yield
    for one, threads in zip(_blas._libraries(), before):
        _blas._set(one, threads)


def test_products_take_one_thread_until_the_last_that_asked_for_it_is_done(two_threads):
    def threads():
        found = threadpoolctl.ThreadpoolController().select(user_api="blas").info()
        return {library["num_threads"] for library in found}

    before = threads()
    assert before <= {2}  # none where the library of products is not one that can be asked
    with one_blas_thread(10):
        assert threads() == before
    first, second = one_blas_thread(), one_blas_thread(10**6)
    with contextlib.ExitStack() as outer:
        outer.enter_context(first)
        inner = contextlib.ExitStack()
        inner.enter_context(second)
        assert threads() <= {1}
        outer.close()  # another thread's fit ends first
        assert threads() <= {1}
        inner.close()
    assert threads() == before
    begun, ended, seen = threading.Event(), threading.Event(), []

    def other():
        with one_blas_thread():
            begun.set()
            ended.wait(60)
            seen.append(threads())

    beside = threading.Thread(target=other)
    with one_blas_thread():
        beside.start()
        begun.wait(60)
    ended.set()
    beside.join(60)
    assert seen[0] <= {1} and threads() == before
