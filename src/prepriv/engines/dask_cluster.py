"""A Dask cluster: integers live on its workers, each pass sends weights and gets integer sums back.

Lost rows are made again from what the scheduler knows of them, each part counts once by its number, noise is drawn here
only. Nothing raises on a worker, so that no log and no message of the cluster can quote a record.
"""

from __future__ import annotations

import hashlib
import ipaddress
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prepriv._quiet import silent
from prepriv.engines.engine import Block, EngineError, NoRoom, Portable, Sums
from prepriv.engines.local import memory_shown, rows_size
from prepriv.exact.gradient_sum import QuantizedRows, ScoreLoss
from prepriv.exact.grid import IntegerGrid
from prepriv.exact.unit_sum import UnitRows

_ROWS = 256  # of a block of a table: parts are whole blocks
_PART = 2**28  # bytes of integers in a part, about, at most
_SHARE = 0.7  # of a worker's memory that rows may take: it stops work at 0.8
_RUNS = itertools.count()


@dataclass(frozen=True, eq=False)
class Dask:
    """The workers of a Dask client (`pip install prepriv[dask]`), one task a worker and pass.

    Before the charge, EngineError: no scheduler or worker, connections that are open to others (TLS, or one machine),
    workers that write what they hold to disk, lack prepriv, have another version or compute other bits, or have no space left.
    """

    client: Any

    def __deepcopy__(self, memo: Any) -> Dask:  # clones of an estimator use one client
        return self

    def room(self, grid: IntegerGrid, n: int, d: int) -> DaskRoom:
        """Memory on the workers for n declared rows of d features."""
        client = self.client
        if getattr(client, "status", None) != "running":
            raise EngineError("the Dask client has no connection to a scheduler")
        with _withheld():
            workers = list(client.nthreads())
        if not workers:
            raise EngineError("the Dask cluster has no workers")
        if not all(is_closed(address) for address in (client.scheduler.address, *workers)):
            raise EngineError(
                "connections of the Dask cluster can be read by others: private rows need TLS (tls://), or one machine"
            )
        _check_versions(client)
        facts = _on_all(client, _facts)
        if any(fact is None for fact in facts):
            raise EngineError("prepriv does not run on a worker: install the same version there")
        if not all(fact["holds"] for fact in facts):
            raise EngineError(
                "a worker would write private rows to its disk: start workers with spilling off "
                "(distributed.worker.memory.spill and .target: false)"
            )
        if any(fact["bits"] != _bits() for fact in facts):
            raise EngineError(
                "the last bits of a worker's numbers differ from those of this machine: use the same NumPy and kind of processor"
            )
        size, room = rows_size(grid, n, d), sum(fact["memory"] or sys.maxsize for fact in facts)
        if size > _SHARE * room:
            raise NoRoom(
                f"the rows need {memory_shown(size)} on the workers, which have {memory_shown(room)} and keep "
                f"{1 - _SHARE:.0%} free: use more workers"
            )
        return DaskRoom(client, grid, d)


@dataclass(frozen=True, eq=False)
class DaskRoom:
    """Memory on the workers. memory: 0, since whatever can be read again is read there, not kept here."""

    client: Any
    grid: IntegerGrid
    d: int
    note: str | None = None
    memory: int = 0

    def check(self, seen: Callable[[], Any]) -> None:
        """EngineError unless every worker sees what is seen here."""
        here = seen()
        if any(there != here for there in _on_all(self.client, _quietly, seen)):
            raise EngineError(
                "a worker does not see the files as they are seen here: put them where all machines read them"
            )

    def load(self, blocks: Iterable[Block], n: int, bias: float) -> DaskRows:
        """Parts of the rows to the workers: read there from where they lie, else made here and sent as integers."""
        each = -(-self._rows_each(n) // _ROWS) * _ROWS
        cuts = [*range(0, n, each), n]
        return self._sent(self._parts(blocks, cuts, bias), cuts)

    def load_units(self, blocks: Iterable[Block], sizes: NDArray[np.int64], bias: float) -> DaskRows:
        """Rows that stand unit by unit, made here and sent as integers, units as a whole; sizes: (units,) rows of each."""
        ends = np.cumsum(sizes)
        first = np.flatnonzero(np.diff((ends - sizes) // self._rows_each(int(sizes.sum())), prepend=-1))
        cuts = [*map(int, first), len(sizes)]  # of units: each part holds those that begin in so many rows
        parts = (UnitRows(self.grid, sizes[a:b], self.d, bias) for a, b in itertools.pairwise(cuts))
        return self._sent(_kept(parts, blocks), cuts)

    def _rows_each(self, n: int) -> int:
        """Rows of a part, about: one for each worker, or more where they would be too large to send."""
        with _withheld():
            workers = len(self.client.nthreads())
        return max(1, min(-(-n // max(workers, 1)), n * _PART // rows_size(self.grid, n, self.d)))

    def _sent(self, parts: Iterable[_Made], cuts: list[int]) -> DaskRows:
        import dask

        client, run = self.client, f"prepriv-{self.client.id}-{next(_RUNS)}"
        with _withheld():
            workers = sorted(client.nthreads())
        made = []
        for k, (task, arguments) in enumerate(parts):
            with _withheld(), dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
                made.append(
                    client.submit(
                        task, k, _bits(), *arguments, key=f"{run}-rows-{k}",
                        workers=workers[k % max(len(workers), 1) :][:1] or None, allow_other_workers=True,
                    )
                )  # fmt: skip
        return DaskRows(client, run, self.grid, (cuts[-1], self.d + 1), made, cuts)

    def _parts(self, blocks: Iterable[Block], cuts: Sequence[int], bias: float) -> Iterator[_Made]:
        """What makes each part: a task and its arguments."""
        spans = list(itertools.pairwise(cuts))
        shapes = [(self.grid, stop - first, self.d, bias) for first, stop in spans]
        parts = [blocks.part(*span) if isinstance(blocks, Portable) else None for span in spans]
        for part, (first, _), shape in zip(parts, spans, shapes):
            if part is not None:
                yield _load, (part, first, shape)
        if None in parts:  # the same for all of them
            yield from _kept((QuantizedRows(*shape) for shape in shapes), blocks)


_Made: TypeAlias = tuple[Callable[..., "_Part"], tuple[Any, ...]]


def _kept(parts: Iterable[QuantizedRows], blocks: Iterable[Block]) -> Iterator[_Made]:
    """Parts filled from blocks, one after the other, wherever these are cut."""
    walk, x, targets = iter(blocks), np.zeros((0, 0)), np.zeros(0)
    for rows in parts:
        at, n = 0, len(rows.x)
        while at < n:
            if not len(x):
                x, targets, _ = next(walk)
            rows.fill(at, x[: n - at], targets[: n - at])
            at, x, targets = at + len(x[: n - at]), x[n - at :], targets[n - at :]
        yield _keep, (rows,)
    for _ in walk:
        raise EngineError("the table has more rows than were counted")


@dataclass(frozen=True)
class _Part:
    """A numbered part of the rows on a worker; None where they could not be read."""

    number: int
    rows: QuantizedRows | None


@np.errstate(all="ignore")
def _load(number: int, bits: str, blocks: Iterable[Block], first: int, shape: tuple[Any, ...]) -> _Part:
    """Runs on a worker."""
    try:
        rows = QuantizedRows(*shape)
        with silent():
            for x, targets, start in blocks:
                rows.fill(start - first, x, targets)
        return _keep(number, bits, rows)
    except Exception:  # whatever it says may quote a cell
        return _Part(number, None)


def _keep(number: int, bits: str, rows: QuantizedRows) -> _Part:
    """Runs on a worker, one that came later and was never asked perhaps."""
    from distributed import get_worker

    fit = type(get_worker().data) is dict and _bits() == bits
    return _Part(number, rows if fit else None)


Partial = tuple[str, tuple[int, ...], "NDArray[np.int64] | None"]


def _partial(
    parts: Sequence[_Part],
    weights: NDArray[np.float64],
    loss: ScoreLoss,
    index: Mapping[int, NDArray[np.intp]] | None,
) -> Partial:
    """Runs on a worker: (its address, the numbers of the parts, the sum over their rows)."""
    from distributed import get_worker

    worker = get_worker()
    total, numbers = np.zeros(weights.shape, np.int64), tuple(part.number for part in parts)
    try:
        for part in parts:
            assert part.rows is not None
            with part.rows.gradient_sum(loss, threads=worker.state.nthreads) as gradient_sum:
                total += gradient_sum(weights, None if index is None else index[part.number])
        return worker.address, numbers, total
    except Exception:
        return worker.address, numbers, None


class DaskRows:
    """Rows on workers, in numbered parts; parts k holds the rows cuts[k] to cuts[k + 1]."""

    def __init__(
        self,
        client: Any,
        run: str,
        grid: IntegerGrid,
        shape: tuple[int, int],
        made: Sequence[Any],
        cuts: Sequence[int],
    ) -> None:
        self.client, self.grid, self.shape, self._run = client, grid, shape, run
        self._made, self._cuts, self._pass = made, np.asarray(cuts), itertools.count()
        self._groups: dict[str, list[int]] | None = None

    def gradient_sum(self, loss: ScoreLoss) -> AbstractContextManager[Sums]:
        """What adds up clipped gradients of this loss."""
        return nullcontext(lambda weights, index=None: self._sum(loss, weights, index))

    def _sum(
        self, loss: ScoreLoss, weights: NDArray[np.float64], index: NDArray[np.intp] | None
    ) -> NDArray[np.int64]:
        chosen = None if index is None else self._by_part(index)
        wanted = range(len(self._made)) if chosen is None else sorted(chosen)
        total, counted = np.zeros(weights.shape, np.int64), list[int]()
        for numbers, part in self._partials(loss, weights, chosen):
            if not (isinstance(part, np.ndarray) and part.dtype == np.int64 and part.shape == total.shape):
                raise EngineError("a worker did not give back a sum of the shape and type that was asked for")
            counted += numbers
            total += part
        if sorted(counted) != list(wanted):
            raise EngineError("the cluster added up some rows twice, or not at all")
        return total

    def _partials(
        self, loss: ScoreLoss, weights: NDArray[np.float64], chosen: Mapping[int, NDArray[np.intp]] | None
    ) -> Iterator[tuple[tuple[int, ...], NDArray[np.int64]]]:
        """One task for each worker, over the parts it holds."""
        at = f"{self._run}-sum-{next(self._pass)}"
        with _withheld():
            groups = self._held_by() if self._groups is None else self._groups
            tasks: dict[str, Any] = {}
            for worker, numbers in groups.items():
                if chosen is not None:
                    numbers = [k for k in numbers if k in chosen]
                if numbers:
                    tasks[worker] = self.client.submit(
                        _partial, [self._made[k] for k in numbers], weights, loss,
                        None if chosen is None else {k: chosen[k] for k in numbers},
                        key=f"{at}-{len(tasks)}", workers=[worker], allow_other_workers=True,
                    )  # fmt: skip
            found = self.client.gather(tasks)
        moved = any(worker != address for worker, (address, _, _) in found.items())
        self._groups = None if moved else groups
        for _, numbers, part in found.values():
            if part is None:
                raise EngineError(
                    "a worker could not read its part of the table (gone, changed or with other columns), or came later and "
                    "is unfit; what it says is withheld"
                )
            yield numbers, part

    def _held_by(self) -> dict[str, list[int]]:
        """The parts that each worker holds; one that is lost goes to whoever is there."""
        from distributed import wait

        with self.client.as_current():
            wait(self._made)
        holders, groups = self.client.who_has(self._made), dict[str, list[int]]()
        there = itertools.cycle(sorted(self.client.nthreads()))
        for number, future in enumerate(self._made):
            holder = next(iter(holders.get(future.key) or ()), None) or next(there)
            groups.setdefault(holder, []).append(number)
        return groups

    def _by_part(self, index: NDArray[np.intp]) -> dict[int, NDArray[np.intp]]:
        """The chosen rows of each part that has any, numbered within it."""
        rows = np.sort(index)
        at = np.searchsorted(rows, self._cuts)
        return {
            k: rows[low:high] - self._cuts[k]
            for k, (low, high) in enumerate(itertools.pairwise(at))
            if high > low
        }


@contextmanager
def _withheld() -> Iterator[None]:
    """What the cluster says about a failure stays here."""
    try:
        yield
    except Exception:
        raise EngineError("the Dask cluster failed or is gone; what it says is withheld") from None


def is_closed(address: str) -> bool:
    """Whether nobody beyond a machine can read what is sent to an address."""
    kind, _, place = address.partition("://")
    if kind in ("tls", "inproc"):
        return True
    host = place.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_versions(client: Any) -> None:
    """EngineError unless every worker has this prepriv and NumPy."""
    with _withheld():
        found = client.get_versions(packages=["prepriv", "numpy"])
    for name in ("prepriv", "numpy"):
        here = found["client"]["packages"][name]
        there = {worker["packages"].get(name) for worker in found["workers"].values()}
        if None in there - {here}:
            raise EngineError(f"a worker has no {name}: install version {here} there")
        if there != {here}:
            raise EngineError(
                f"a worker has {name} {min(there - {here})}, this machine {here}: install one version"
            )


def _on_all(client: Any, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What a function of prepriv returns on each worker; None where it cannot run."""
    with _withheld():
        found = client.run(function, *arguments, on_error="return").values()
    return [None if isinstance(there, BaseException) else there for there in found]


def _quietly(function: Callable[[], Any]) -> Any:
    """Runs on a worker."""
    try:
        return function()
    except Exception:
        return None


def _facts(dask_worker: Any) -> dict[str, Any]:
    """Runs on a worker: whether rows stay in memory, its size, the last bits of what it computes."""
    held, size = type(dask_worker.data) is dict, dask_worker.memory_manager.memory_limit
    return {"holds": held, "memory": size, "bits": _bits()}


@cache
def _bits() -> str:
    """A digest of float functions and products whose last bits differ between versions and processors."""
    x = (np.arange(256 * 300).reshape(256, 300) * 7919 % 10007 - 5003) / 977
    small = x[:24] @ x[24:48].T  # products too small to be shared among threads, which changes last bits
    parts = [np.exp(x), np.log(np.abs(x) + 1), np.tanh(x), np.sin(x), small]
    parts += [np.sqrt(np.abs(x)), np.asarray(np.linalg.norm(x[0])), x.sum(axis=0)]
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()
