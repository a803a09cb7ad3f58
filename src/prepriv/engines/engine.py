"""What an engine is: where quantised rows live and who adds them up.

Sums are integers, so every engine gives the same bits, in any order and in any number of parts
(docs/proofs/gradient_sum.md). An engine is asked for memory before anything is charged and holds integers only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from prepriv.exact.gradient_sum import ScoreLoss
from prepriv.exact.grid import IntegerGrid

Block: TypeAlias = tuple[NDArray[np.float64], NDArray[Any], int]
"""Rows (b, d), their class indices (b,), -1 for one that contributes nothing, and the number of the first."""


@runtime_checkable
class Portable(Protocol):
    """Blocks of which a part can be read elsewhere, too."""

    def part(self, start: int, stop: int) -> Iterable[Block] | None:
        """The blocks of these rows, `start` a multiple of 256, as something that can be sent; None where only this
        process has them."""


@runtime_checkable
class Separable(Protocol):
    """Blocks that can be made by several threads, each by itself."""

    def apart(self) -> Iterator[Callable[[], Block]] | None:
        """What makes each block, in any thread and any order; None where they come one after the other."""


class EngineError(ValueError):
    """An engine cannot take in rows, or can no longer add them up. Its message holds nothing of a record."""


class NoRoom(EngineError):
    """There is no room for the rows where they were to live; found from declared numbers alone."""


class Sums(Protocol):
    """Adds up the clipped gradients of the rows that an engine holds."""

    def __call__(
        self, weights: NDArray[np.float64], index: NDArray[np.intp] | None = None
    ) -> NDArray[np.int64]:
        """int64 (d + 1, K), in grid steps, at weights (d + 1, K); over the rows `index`, each once, if given."""


class Held(Protocol):
    """Rows that an engine holds, as a learner sees them."""

    grid: IntegerGrid

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d + 1)."""

    def gradient_sum(self, loss: ScoreLoss) -> AbstractContextManager[Sums]:
        """What adds up clipped gradients of this loss."""


class Room(Protocol):
    """Room for the rows of one run."""

    @property
    def note(self) -> str | None:
        """Where they are to live, in a sentence, if not in memory."""

    @property
    def memory(self) -> int:
        """Bytes that are left for the encoded table."""

    def check(self, seen: Callable[[], Any]) -> None:
        """EngineError unless `seen`, of the table's files, is the same wherever rows are read; before the charge."""

    def load(self, blocks: Iterable[Block], n: int, bias: float) -> Held:
        """Take in all blocks of n rows."""

    def load_units(self, blocks: Iterable[Block], sizes: NDArray[np.int64], bias: float) -> Held:
        """Take in rows that stand unit by unit; sizes: (units,) how many each has. Of it a learner sees units."""


class Engine(Protocol):
    """Asked once for each run, before its charge."""

    def room(self, grid: IntegerGrid, n: int, d: int) -> Room:
        """Room for n declared rows of d features. EngineError, NoRoom among them, where there is none."""
