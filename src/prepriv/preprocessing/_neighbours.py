"""Who is near whom, exactly: distances of integer rows, an index of boxes, no pair ever stored.

Rows are integers of norm <= 2^24 held as float32, which is exact. A block of squared distances is one matrix
product of integers in float64, exact in any order, so a decision at a distance of exactly eta is the same on
every machine, for every pair, whatever other rows there are (docs/proofs/deduplicate.md, "Exactness").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._blas import one_blas_thread
from prepriv.exact.gradient_sum import cores
from prepriv.preprocessing._grid import RowGrid
from prepriv.preprocessing.base import Rows

Ints = NDArray[np.int64]
Points = NDArray[np.float32]
Work = Callable[[int, Ints, Ints, "NDArray[np.bool_] | None"], None]

CROWD_BITS = 24
_LEAF = 128  # points compared with their candidates in one product
_CANDIDATES = 2048  # at a time: a block of distances of 2 MB
_ALONE = 4096  # fewer points than this are not worth threads
_MARGIN = 2.0**-40  # of the float roots of exact squares
_SOME, _NONE, _ALL = 0, 1, 2
_SAMPLE = 512  # points looked at to choose where to cut; any choice is exact


def squared_steps(grid: RowGrid, radius: float, times: int = 1) -> int:
    """The largest integer t with t steps^2 <= (times * radius)^2, without rounding."""
    return math.floor((times * Fraction(radius) / Fraction(grid.step)) ** 2)


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct rows of a data set on a grid.

    points: (u, d), in an order that depends on their content only. count: (u,), how
    often each occurs. inverse: (n,), which point each row is. first: (u,), its first row.
    """

    points: NDArray[Any]
    count: Ints
    inverse: Ints
    first: Ints

    @staticmethod
    def of(x: NDArray[Any]) -> Distinct:
        """Of the rows (n, d) of an array without negative zeros."""
        keys = as_keys(x)
        order = np.argsort(keys, kind="stable")
        ranked = keys[order]
        starts = np.ones(len(x), dtype=bool)
        starts[1:] = ranked[1:] != ranked[:-1]
        del keys, ranked
        inverse = np.empty(len(x), dtype=np.int64)
        inverse[order] = np.cumsum(starts) - 1
        first = order[starts]
        return Distinct(x[first], np.bincount(inverse, minlength=len(first)), inverse, first)


def as_keys(x: NDArray[Any]) -> NDArray[Any]:
    """Each row (n, d) as one opaque value that compares by its bytes, (n,)."""
    x = np.ascontiguousarray(x)
    return x.view(np.dtype((np.void, x.dtype.itemsize * x.shape[1]))).ravel()


def read_points(rows: Rows, grid: RowGrid, d: int, n: int) -> Points:
    """All rows on the grid, (n, d) integers."""
    x, at = np.zeros((n, d), dtype=np.float32), 0
    for block in rows:
        x[at : at + len(block)] = grid.ints(block)
        at += len(block)
    return x[:at]


def count_within(points: Points, weight: Ints, squares: Sequence[int]) -> list[Ints]:
    """For each bound, (u,): the total weight of the points within it of each point, itself included."""
    found = [np.zeros(len(points), dtype=np.int64) for _ in squares]
    single = bool((weight == 1).all())

    def work(bound: int, leaf: Ints, near: Ints, close: NDArray[np.bool_] | None) -> None:
        if close is None:
            found[bound][leaf] += weight[near].sum()
        else:
            found[bound][leaf] += (
                np.add.reduce(close, axis=1, dtype=np.int32) if single else close @ weight[near]
            )

    _for_blocks(points, np.arange(len(points)), squares, work)
    return found


def first_within(points: Points, chosen: Ints, square: int) -> Ints:
    """(u,): the smallest index among `chosen` within the bound of each point, else len(points)."""
    out = np.full(len(points), len(points), dtype=np.int64)

    def work(bound: int, leaf: Ints, near: Ints, close: NDArray[np.bool_] | None) -> None:
        first = near.min() if close is None else np.where(close, near, len(points)).min(axis=1)
        out[leaf] = np.minimum(out[leaf], first)

    if len(chosen):
        _for_blocks(points, chosen, [square], work)
    return out


def _for_blocks(points: Points, candidates: Ints, squares: Sequence[int], work: Work) -> None:
    """work(number of the bound, points of a leaf, some candidates, which pairs are within it), no pair missed.

    None for the pairs: all are. Every point is in one leaf and a leaf stays in one thread, so no two write to
    the same place.
    """
    norms = np.einsum("ij,ij->i", points, points, dtype=np.float64)
    leaves = _leaves(points, np.arange(len(points)), candidates, math.isqrt(max(squares)) + 1)
    turn = Lock()

    def loop() -> None:
        while True:
            with turn:
                task = next(leaves, None)
            if task is None:
                return
            _one_leaf(points, norms, *task, squares, work)

    if len(points) <= _ALONE:
        loop()
        return
    threads = cores()
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(loop) for _ in range(threads)]:
            done.result()


def _one_leaf(
    points: Points, norms: NDArray[np.float64], leaf: Ints, near: Ints, squares: Sequence[int], work: Work
) -> None:
    """All pairs of a leaf and its candidates: by the triangle inequality where that decides, by a product elsewhere."""
    decided, q = _decided(points, norms, leaf, near, squares), points[leaf]
    # q.q - 2 q.c + c.c <= t  <=>  2 q.c - c.c >= q.q - t: integers below 2^51 throughout.
    left = np.column_stack([2.0 * q, np.full(len(leaf), -1.0)])
    own = norms[leaf][:, None]
    for pattern in np.unique(decided):
        alike = near[decided == pattern]
        open_bounds = []
        for i, t in enumerate(squares):
            how = pattern // 3**i % 3
            if how == _ALL:
                work(i, leaf, alike, None)
            elif how == _SOME:
                open_bounds.append((i, t))
        for start in range(0, len(alike) if open_bounds else 0, _CANDIDATES):
            part = alike[start : start + _CANDIDATES]
            product = left @ np.column_stack([points[part], norms[part]]).T
            for i, t in open_bounds:
                work(i, leaf, part, product >= own - t)


def _decided(
    points: Points, norms: NDArray[np.float64], leaf: Ints, near: Ints, squares: Sequence[int]
) -> NDArray[np.int64]:
    """For each candidate and bound, base 3: is it within the bound of all points of the leaf, of none, or of some?

    With m the leaf's middle on the grid and r its radius: dist(c, m) + r bounds all distances from above,
    dist(c, m) - r from below. Squares are exact integers; the roots get a margin of 2^-40.
    """
    middle = np.rint(points[leaf].mean(axis=0, dtype=np.float64))
    offset = points[leaf] - middle
    reach = math.sqrt(np.einsum("ij,ij->i", offset, offset).max())
    far = np.empty(len(near))
    for start in range(0, len(near), _CANDIDATES):
        part = near[start : start + _CANDIDATES]
        far[start : start + _CANDIDATES] = norms[part] - 2 * (points[part] @ middle)
    far = np.sqrt(np.maximum(far + middle @ middle, 0.0))
    out = np.zeros(len(near), dtype=np.int64)
    for i, t in enumerate(squares):
        bound = math.sqrt(t)
        everyone = (far + reach) * (1 + _MARGIN) <= bound * (1 - _MARGIN)
        nobody = far * (1 - _MARGIN) - reach * (1 + _MARGIN) > bound * (1 + _MARGIN)
        out += 3**i * np.where(everyone, _ALL, np.where(nobody, _NONE, _SOME))
    return out


def _leaves(points: Points, queries: Ints, candidates: Ints, reach: int) -> Iterator[tuple[Ints, Ints]]:
    """Halve the queries along their widest feature; a half keeps the candidates within reach of its box."""
    stack = [(queries, candidates)]
    while stack:
        here, near = stack.pop()
        if len(here) == 0 or len(near) == 0:
            continue
        if len(here) <= _LEAF:
            yield here, near
            continue
        axis = int(np.argmax(np.ptp(points[here[:: len(here) // _SAMPLE + 1]], axis=0)))
        column = points[here, axis].astype(np.float64)
        middle = np.partition(column, len(here) // 2)[len(here) // 2]
        lower = column < middle
        if not lower.any():  # at least half are equal here: the rest, if any, goes to the other side
            lower = column <= middle
        other = points[near, axis].astype(np.float64)
        if lower.all():  # equal along the sampled widest feature: halve by position
            half = len(here) // 2
            stack += [(here[:half], near), (here[half:], near)]
            continue
        stack.append((here[lower], near[_inside(other, column[lower], reach)]))
        stack.append((here[~lower], near[_inside(other, column[~lower], reach)]))


def _inside(values: NDArray[np.float64], column: NDArray[np.float64], reach: int) -> NDArray[np.bool_]:
    return np.asarray((values >= column.min() - reach) & (values <= column.max() + reach))


@dataclass(frozen=True, eq=False)
class Clusters:
    """The good clusters of a data set: c is a good centre if every row within 3 eta of it is within eta.

    representative: (u,), for each distinct row the first good centre within eta of it in the order of
    `rows.points`, or u where there is none. Two good centres are within eta of each other, and then of the
    same cluster, or more than 3 eta apart.
    """

    rows: Distinct
    representative: Ints

    @staticmethod
    def of(x: Points, grid: RowGrid, eta: float) -> Clusters:
        """Of integer rows (n, d) on a grid."""
        rows, near = Distinct.of(x), squared_steps(grid, eta)
        close, around = count_within(rows.points, rows.count, [near, squared_steps(grid, eta, 3)])
        good = close == around
        representative = np.full(len(good), len(good), dtype=np.int64)
        # A good centre with nobody else around stands for itself; only the others are searched.
        alone = np.flatnonzero(good & (close == rows.count))
        representative[alone] = alone
        centres, batch = np.flatnonzero(good & (close > rows.count)), 256
        while len(centres):
            # In order of content, so the first centre found is the one to keep; its cluster needs no other.
            first = first_within(rows.points, centres[:batch], near)
            representative = np.minimum(representative, first)
            centres = centres[batch:][representative[centres[batch:]] == len(good)]
            batch *= 4
        return Clusters(rows, representative)


def h_index(counts: Ints, weight: Ints) -> int:
    """The largest k such that rows of total weight >= k have a count >= k."""
    order = np.argsort(-counts, kind="stable")
    return int(np.minimum(counts[order], np.cumsum(weight[order])).max(initial=0))
