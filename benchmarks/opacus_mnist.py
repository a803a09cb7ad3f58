"""An Opacus CNN on MNIST behind private scaling: one budget, claimed, audited from below, beside no pre-processing.

    python benchmarks/opacus_mnist.py FOLDER [--epochs 3] [--epsilon 3] [--canaries 1000]

FOLDER holds mnist.npz (x_train, y_train, x_test, y_test). The scaling (means and deviations of a private release) is
paid by a part of the budget, the CNN by the rest (`prepriv.opacus.calibrate`), and every sum that Opacus makes of it is checked.

The audit is of the run itself (Steinke, Nasr and Jagielski 2023, "Privacy Auditing with One (1) Training Run"): some of the records are
canaries, whose clipped gradient is plus or minus the clip in one coordinate, by a fair coin each; the sign is guessed from all
noisy gradients, and how many guesses are right bounds ε from below.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from opacus import PrivacyEngine
from scipy.stats import binom
from torch import nn
from torch.nn import functional as F

from prepriv import Budget, Domain
from prepriv import preprocessing as pre
from prepriv.opacus import calibrate

DELTA = 1e-5


class CNN(nn.Module):
    """The network of Opacus' own example on MNIST."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 16, 8, 2, padding=3), nn.Conv2d(16, 32, 4, 2)
        self.fc1, self.fc2 = nn.Linear(32 * 4 * 4, 32), nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2, 1)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2, 1)
        return self.fc2(F.relu(self.fc1(x.reshape(len(x), -1))))


class Canaries:
    """Records whose gradient is ± clip in a coordinate of its own, added to the sums that Opacus makes."""

    def __init__(self, optimizer, many: int, rate: float, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.optimizer, self.rate = optimizer, rate
        self.sizes = [p.numel() for p in optimizer.params]
        self.at = self.rng.choice(sum(self.sizes), many, replace=False)
        self.signs = self.rng.choice([-1.0, 1.0], many)
        self.scores = np.zeros(many)
        self.clip, self.noise = optimizer.max_grad_norm, optimizer.noise_multiplier * optimizer.max_grad_norm
        accumulate, add_noise = optimizer.clip_and_accumulate, optimizer.add_noise
        optimizer.clip_and_accumulate = lambda: (accumulate(), self.insert())[0]
        optimizer.add_noise = lambda: (add_noise(), self.look())[0]

    def insert(self) -> None:
        drawn = self.rng.random(len(self.at)) < self.rate
        added = np.zeros(sum(self.sizes))
        added[self.at[drawn]] = self.clip * self.signs[drawn]
        for p, part in zip(self.optimizer.params, np.split(added, np.cumsum(self.sizes)[:-1])):
            p.summed_grad = p.summed_grad + torch.tensor(part, dtype=p.summed_grad.dtype).reshape(p.shape)

    def look(self) -> None:
        """The log likelihood ratio of + and -, as if the other records were silent in that coordinate."""
        seen = torch.cat([p.grad.reshape(-1) for p in self.optimizer.params]).numpy()[self.at].astype(float)
        lean = self.clip / self.noise**2
        half = self.clip**2 / (2 * self.noise**2)
        self.scores += np.log1p(self.rate * np.expm1(lean * seen - half))
        self.scores -= np.log1p(self.rate * np.expm1(-lean * seen - half))

    def epsilon(self, delta: float, confidence: float = 0.95) -> tuple[float, int, int]:
        """(lower bound of ε, guesses, right ones): the surest guesses alone, their number fixed before the run."""
        order = np.argsort(-np.abs(self.scores))
        guesses = len(order) // 5
        right = int((np.sign(self.scores) == self.signs)[order[:guesses]].sum())
        return one_run(len(order), guesses, right, delta, 1 - confidence), guesses, right


def one_run(m: int, r: int, v: int, delta: float, level: float) -> float:
    """Largest ε that v right guesses of r, of m canaries, refute at this level (Theorem 5.2 and its Algorithm 3 of the paper)."""

    def p_value(epsilon: float) -> float:
        q = 1 / (1 + math.exp(-epsilon))
        beta = binom.sf(v - 1, r, q)
        alpha = max(
            (binom.cdf(v - 1, r, q) - binom.cdf(v - 1 - i, r, q)) / i for i in range(1, v + 1)
        ) if v else 0.0  # fmt: skip
        return min(beta + alpha * delta * 2 * m, 1.0)

    low, high = 0.0, 20.0
    if p_value(0.0) > level:
        return 0.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if p_value(middle) < level else (low, middle)
    return low


def run(name: str, arrays, args, scaled: bool) -> dict:
    """One training: its claim, its audit, its accuracy on the test rows."""
    start = time.time()
    x, y, x_test, y_test = arrays
    rows = len(x) + args.canaries
    domain = Domain.box(0, 255, 28 * 28, range(10), n=rows)
    steps = [pre.StandardScaler(rule="none", payment=Budget(args.share))] if scaled else []
    pad = np.full((args.canaries, 784), 127.5)  # the places of the canaries, whose gradient is given
    images = torch.utils.data.TensorDataset(torch.zeros(rows, 1), torch.zeros(rows))
    loader = torch.utils.data.DataLoader(images, batch_size=args.batch, shuffle=True)
    training = {"epochs": args.epochs, "max_grad_norm": 1.0}
    found = calibrate(steps, loader, training, domain=domain, epsilon=args.epsilon, delta=DELTA)
    print(f"{name}: {found.guarantee}", flush=True)
    if scaled:
        prepared = found.transformer.fit(np.concatenate([x, pad]))
        x, x_test = prepared.transform(x), prepared.transform(x_test)
    else:
        x, x_test = x / 255.0, x_test / 255.0
    # Opacus draws the other records; a canary is drawn by a coin of its own, at the same rate.
    torch.manual_seed(args.seed)
    real = torch.utils.data.TensorDataset(
        torch.tensor(x, dtype=torch.float32).reshape(-1, 1, 28, 28), torch.tensor(y)
    )
    loader = torch.utils.data.DataLoader(real, batch_size=math.ceil(len(real) / len(loader)), shuffle=True)
    model = CNN()
    engine = PrivacyEngine()
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=args.rate, momentum=0.5),
        data_loader=loader,
        **found.opacus,
    )
    found.check(optimizer, loader)
    canaries = Canaries(optimizer, args.canaries, found.sample_rate, args.seed)
    for _ in range(args.epochs):
        for rows_, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(rows_), labels.long()).backward()
            optimizer.step()
    found.check(history=engine.accountant.history)
    model.eval()
    with torch.no_grad():
        test = torch.tensor(x_test, dtype=torch.float32).reshape(-1, 1, 28, 28)
        accuracy = float((model(test).argmax(1).numpy() == y_test).mean())
    lower, guesses, right = canaries.epsilon(DELTA)
    opacus_says = engine.get_epsilon(DELTA)
    row = {
        "run": name,
        "claimed": round(float(found.guarantee.epsilon(DELTA)), 4),
        "training alone, by Opacus (one record more or less)": round(opacus_says, 3),
        "noise": found.noise_multiplier,
        "audited, at least": round(lower, 3),
        "right guesses": f"{right} of {guesses}",
        "accuracy": accuracy,
        "seconds": round(time.time() - start),
    }
    print(json.dumps(row), flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--share", type=float, default=0.05, help="of the budget, in µ², for the scaling")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rate", type=float, default=0.5)
    parser.add_argument("--canaries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with np.load(args.folder / "mnist.npz") as data:
        arrays = [data[k] for k in ("x_train", "y_train", "x_test", "y_test")]
    arrays[0], arrays[2] = (a.reshape(len(a), -1).astype(float) for a in (arrays[0], arrays[2]))
    for name, scaled in (("private scaling", True), ("no pre-processing", False)):
        run(name, arrays, args, scaled)


if __name__ == "__main__":
    main()
