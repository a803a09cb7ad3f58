"""Opacus, recorded and played: run by outside_peers.py. It needs PyTorch.

Three steps of DP-SGD, with batches of all records. Recorded is each tensor that the optimizer hands to `_generate_noise`, and the scale
of its noise. With the same outputs handed back, all scales and divisors must be the same, and the tensors of a step, each in
units of its scale, may together move by 1/noise multiplier for each record added or removed: what the accountant takes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import opacus
import torch
from opacus.layers import DPLSTM, DPMultiheadAttention
from opacus.optimizers import adaclipoptimizer, optimizer, optimizer_fast_gradient_clipping
from outside_peers import Differs, compare
from torch import nn

STEPS = 3
PLACES = (
    optimizer,
    adaclipoptimizer,
    optimizer_fast_gradient_clipping,
)  # where the function of the noise is called by name
Call = tuple[float, int, Any, Any]  # scale, divisor, input, output
Work = tuple[Callable[[], nn.Module], dict[str, Any]]


class Attention(nn.Module):
    """A column is a word; attention over the two, then a line."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.attention, self.out = nn.Linear(1, 4), DPMultiheadAttention(4, 2), nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        """Of shape (records, 2)."""
        words = self.wide(x.T[:, :, None])  # the second dimension is that of the records
        return self.out(self.attention(words, words, words)[0].mean(0, keepdim=True))[0]


class Recurrent(nn.Module):
    """A column is a time."""

    def __init__(self) -> None:
        super().__init__()
        self.cells, self.out = DPLSTM(1, 4, batch_first=True), nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        """Of shape (records, 2)."""
        return self.out(self.cells(x[:, :, None])[0][:, -1])


class Words(nn.Module):
    """Ten bins of the first column, embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(10, 3)

    def forward(self, x: Any) -> Any:
        """Of shape (records, 2)."""
        return self.rows((x[:, 0].nan_to_num(0.5) * 10).clamp(0, 9).long())


def _line() -> nn.Module:
    return nn.Linear(2, 3)


def _deep(norm: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    return lambda: nn.Sequential(nn.Linear(2, 8), norm(), nn.ReLU(), nn.Linear(8, 3))


def _picture() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 2)), nn.Conv1d(1, 4, 2, padding=1), nn.Flatten(), nn.Linear(12, 3)
    )


def divided_by(descent: Any) -> int:
    """What a noisy sum is divided by."""
    return int(descent.expected_batch_size) if descent.loss_reduction == "mean" else 1


def run(work: Work, x: Any, y: Any, played: list[Call] | None = None, changed: int = 0) -> list[Call]:
    """One training."""
    torch.manual_seed(1)
    make, options = work
    data = torch.utils.data.TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))
    engine, model = opacus.PrivacyEngine(), make()
    got = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), 0.1),
        data_loader=torch.utils.data.DataLoader(data, batch_size=len(data)),
        criterion=nn.CrossEntropyLoss(reduction=options.get("loss_reduction", "mean")),
        noise_multiplier=2.0,
        max_grad_norm=options.get("max_grad_norm", 1.0),
        **{key: value for key, value in options.items() if key != "max_grad_norm"},
    )
    model, descent, loader = got[0], got[1], got[-1]
    criterion = (
        got[2] if len(got) == 4 else nn.CrossEntropyLoss(reduction=options.get("loss_reduction", "mean"))
    )
    calls: list[Call] = []
    honest = optimizer._generate_noise

    def noise(std: float, reference: Any, **rest: Any) -> Any:
        scale, size, was = float(std), divided_by(descent), reference.detach().clone()
        output = was + honest(std=std, reference=reference, **rest)
        if played is not None:
            if len(calls) >= len(played):
                raise Differs("a call more")
            had = played[len(calls)]
            if had[0] != scale:
                raise Differs(f"the scale of the noise is {had[0]:.4g} and {scale:.4g}")
            if had[1] != size:
                raise Differs(f"its sum is divided by {had[1]} and {size}")
            output = had[3]
        calls.append((scale, size, was, output))
        return output - reference

    for place in PLACES:
        place._generate_noise = noise  # type: ignore[attr-defined]
    try:
        ends = []
        for batch, labels in itertools.islice(itertools.cycle(loader), STEPS):
            descent.zero_grad()
            criterion(model(batch), labels).backward()
            descent.step()
            ends.append(len(calls))
            if played is not None:
                _within(played, calls, ends, changed / 2.0)
    finally:
        for place in PLACES:
            place._generate_noise = honest  # type: ignore[attr-defined]
    return calls


def _within(played: list[Call], calls: list[Call], ends: list[int], declared: float) -> None:
    """Refuse a step whose input moves further than declared."""
    step = slice(ends[-2] if len(ends) > 1 else 0, ends[-1])
    moved = math.sqrt(
        sum(
            float((a[2] - b[2]).double().norm()) ** 2 / a[0] ** 2
            for a, b in zip(played[step], calls[step], strict=True)
        )
    )
    if not moved <= declared * (1 + 1e-5):
        raise Differs(
            f"in step {len(ends)} its input moves by {moved:.4g} of the noise, declared {declared:.4g}"
        )


SUM = {"loss_reduction": "sum"}
ADAPTIVE = {
    "clipping": "adaptive",
    "target_unclipped_quantile": 0.5,
    "clipbound_learning_rate": 0.2,
    "max_clipbound": 10.0,
    "min_clipbound": 0.01,
    "unclipped_num_std": 3.0,
}
WORK: dict[str, Work] = {
    "Linear, the loss a mean (the default)": (_line, {}),
    "Linear": (_line, SUM),
    "Linear, LayerNorm": (_deep(lambda: nn.LayerNorm(8)), SUM),
    "Linear, GroupNorm": (_deep(lambda: nn.GroupNorm(2, 8)), SUM),
    "Conv1d": (_picture, SUM),
    "Embedding": (Words, SUM),
    "DPLSTM": (Recurrent, SUM),
    "DPMultiheadAttention": (Attention, SUM | {"batch_first": False}),
    "two layers, functorch": (_deep(nn.Identity), SUM | {"grad_sample_mode": "functorch"}),
    "two layers, ghost clipping": (_deep(nn.Identity), SUM | {"grad_sample_mode": "ghost"}),
    "two layers, clipped per layer": (
        _deep(nn.Identity),
        SUM | {"clipping": "per_layer", "max_grad_norm": [0.5] * 4},
    ),
    "two layers, adaptive clipping from 1": (_deep(nn.Identity), SUM | ADAPTIVE),
    "two layers, adaptive clipping from 1.1": (_deep(nn.Identity), SUM | ADAPTIVE | {"max_grad_norm": 1.1}),
}

if __name__ == "__main__":
    compare(f"Opacus {opacus.__version__}", WORK, run, fewer=True)
