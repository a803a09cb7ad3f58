"""Products in torch, on a processor or a GPU: the same integers, in float64, and so the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import shown
from prepriv.engines.engine import Block, EngineError, Sums
from prepriv.engines.local import LocalRoom, Threads
from prepriv.exact.gradient_sum import GradientSum, QuantizedRows, ScoreLoss, weights_to_grid
from prepriv.exact.grid import IntegerGrid

_CHUNK = 2**25  # bytes of float64 rows that are multiplied at a time, at least one block


@dataclass(frozen=True)
class Torch:
    """Rows and products on a device of torch (`pip install prepriv[torch]`): "cpu", "cuda" or "cuda:1".

    Products of integers below 2^53 are exact in float64 on any device, which is tried out before the charge; residuals
    are computed in NumPy, whose exp is not torch's. memory: as for `Threads`, of this machine, through which rows go.
    EngineError without torch, without the device, or where its products are not exact.
    """

    device: str = "cpu"
    memory: int | str | None = None

    def room(self, grid: IntegerGrid, n: int, d: int) -> TorchRoom:
        """Memory on this machine, and a device that multiplies without rounding."""
        place = _device(self.device)
        if not _is_exact(place):
            raise EngineError(
                f"products of float64 are not exact on {self.device}, as this engine needs them"
            )
        return TorchRoom(Threads(memory=self.memory).room(grid, n, d), place)


@dataclass(frozen=True, eq=False)
class TorchRoom:
    """Memory on this machine, from where rows go to the device."""

    local: LocalRoom
    device: Any

    @property
    def note(self) -> str | None:
        """Where rows live, if not in memory."""
        return self.local.note

    @property
    def memory(self) -> int:
        """Bytes that are left for the encoded table."""
        return self.local.memory

    def check(self, seen: Callable[[], Any]) -> None:
        """This process reads all rows."""

    def load(self, blocks: Iterable[Block], n: int, bias: float) -> TorchRows:
        """Rows as integers on the device. EngineError where it has no room for them."""
        return self._moved(self.local.load(blocks, n, bias))

    def load_units(self, blocks: Iterable[Block], sizes: NDArray[np.int64], bias: float) -> TorchRows:
        """The same of rows that stand unit by unit; sizes: (units,) how many each has."""
        return self._moved(self.local.load_units(blocks, sizes, bias))

    def _moved(self, rows: QuantizedRows) -> TorchRows:
        import torch

        try:
            return TorchRows(rows, torch.from_numpy(rows.x).to(self.device))
        except RuntimeError:
            raise EngineError(f"the rows do not fit into the memory of {self.device}") from None


class TorchRows:
    """Rows (n, d + 1) as integers on a device; labels and norms stay here."""

    def __init__(self, rows: QuantizedRows, x: Any) -> None:
        self.rows, self.x, self.grid = rows, x, rows.grid

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d + 1), n of units where rows are theirs."""
        return self.rows.shape

    def gradient_sum(self, loss: ScoreLoss) -> AbstractContextManager[Sums]:
        """What adds up clipped gradients of this loss."""
        return nullcontext(_TorchSum(self, self.rows.gradient_sum(loss)))


@dataclass(frozen=True, eq=False)
class _TorchSum:
    """Chunks of rows, in blocks: within a block float64 adds up exactly, across blocks int64 does.

    local: which rows stand together, and what is made of their scores; it adds up nothing here.
    """

    held: TorchRows
    local: GradientSum

    @np.errstate(all="ignore")
    def __call__(
        self, weights: NDArray[np.float64], index: NDArray[np.intp] | None = None
    ) -> NDArray[np.int64]:
        import torch

        held, local, grid = self.held, self.local, self.held.grid
        ints, bits = weights_to_grid(weights, grid)
        device = held.x.device
        across = torch.from_numpy(np.ascontiguousarray(ints)).to(device)
        total = torch.zeros(weights.shape, dtype=torch.int64, device=device)
        size = max(1, _CHUNK // (8 * len(weights) * grid.block)) * grid.block
        for at in local.blocks(index, len(weights), size):
            numbers = isinstance(at, np.ndarray)
            of = held.x[torch.from_numpy(np.ascontiguousarray(at)).to(device) if numbers else at]
            x = torch.zeros(
                (-(-len(of) // grid.block) * grid.block, len(weights)), dtype=torch.float64, device=device
            )
            x[: len(of)] = of
            scores = (x @ across)[: len(of)].T.contiguous().cpu().numpy()
            residual = np.zeros((weights.shape[1], len(x)))
            residual[:, : len(of)] = local.residuals(scores, held.rows.targets[at], at, bits)
            blocks = torch.from_numpy(residual).to(device).T.reshape(-1, grid.block, weights.shape[1])
            sums = torch.bmm(x.view(-1, grid.block, len(weights)).transpose(1, 2), blocks)
            total += sums.to(torch.int64).sum(dim=0)
        return np.asarray(total.cpu().numpy())


def _device(name: str) -> Any:
    if find_spec("torch") is None:
        raise EngineError("this engine needs torch: pip install 'prepriv[torch]'")
    import torch

    try:
        device = torch.device(name)
        torch.zeros(1, dtype=torch.float64, device=device).cpu()
    except (RuntimeError, AssertionError, TypeError, ValueError, NotImplementedError):
        raise EngineError(f"torch has no device {shown(name)} here that knows float64") from None
    return device


def _is_exact(device: Any) -> bool:
    """Whether products of up to 51 bits lose nothing, whatever kernel they run through."""
    import torch

    x = np.arange(480 * 120).reshape(480, 120) * 48_271 % 65_521 - 32_760
    y = np.arange(120 * 17).reshape(120, 17) * 69_621_123_457 % 2**30 - 2**29
    product = torch.from_numpy(x * 1.0).to(device) @ torch.from_numpy(y * 1.0).to(device)
    return bool((product.cpu().numpy() == x @ y).all())
