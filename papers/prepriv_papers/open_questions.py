"""`prepriv reproduce open-questions`: numbers on what the papers leave open (docs/papers.md, last section). Each is exact, or says runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from scipy import stats

from prepriv import guarantees as g
from prepriv._arrays import Floats
from prepriv.commands.exits import print_json
from prepriv.commands.printing import AsJson, console, print_table
from prepriv_papers.feature_preprocessing import measured
from prepriv_papers.feature_preprocessing.as_printed import unit
from prepriv_papers.folder import reproduction_folder

Line = dict[str, Any]


def gradient_means(runs: int = 40) -> list[Line]:
    """A better mean of gradients in DPSGD, on the two clusters: an oracle that knows the diameter of the gradients for nothing.

    Full batches, 50 steps, zCDP for ε = 1, δ = 1e-5; the noise of a step is that of a mean whose sensitivity is diameter/n,
    best of four rates. Accuracy (%) on the worse data set.
    """
    n, steps, epsilon, delta = 4000, 50, 1.0, 1e-5
    noise = math.sqrt(steps) / g.gdp_mu(epsilon, delta)  # of a sum, over its sensitivity
    rng, lines = np.random.default_rng(0), []
    for mu in (1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0):
        best = 0.0
        for rate in (0.01, 0.1, 1.0, 10.0):
            worse = 1.0
            for sign in (1.0, -1.0):
                x = np.array([[mu, sign], [mu, -sign]])
                y = np.array([1.0, -1.0])
                right = 0.0
                for _ in range(runs):
                    w, total = np.zeros(2), np.zeros(2)
                    for _ in range(steps):
                        active = y * (x @ w) < 1
                        gradients = -(y * active)[:, None] * x
                        reach = float(np.linalg.norm(gradients[0] - gradients[1]))
                        w = w - rate * (gradients.mean(axis=0) + noise * reach / n * rng.normal(size=2))
                        total += w
                    right += float((y * (x @ total) > 0).mean()) / runs
                worse = min(worse, right)
            best = max(best, worse)
        lines.append({"µ": mu, "accuracy with the oracle": 100 * best})
    return lines


def gradient_spread(data: Path) -> list[Line]:
    """After features are centred: mean distance of a gradient from the mean gradient, over its mean norm, softmax regression."""
    lines = []
    for name, title in measured.NAMES.items():
        x, y, _, _ = measured.load(data, name, 4000)
        rows = unit(x).astype(np.float64)
        rows -= rows.mean(axis=0)
        w = np.zeros((rows.shape[1], 10))
        line: Line = {"data": title}
        for step in range(201):
            scores = rows @ w
            residual = np.exp(scores - scores.max(axis=1, keepdims=True))
            residual /= residual.sum(axis=1, keepdims=True)
            residual[np.arange(len(y)), y] -= 1
            mean = rows.T @ residual / len(rows)
            if step in (0, 200):
                norms = (residual**2).sum(axis=1) * (rows**2).sum(axis=1)
                inner = np.einsum("ij,ij->i", rows @ mean, residual)
                away = np.sqrt(np.maximum(norms - 2 * inner + (mean**2).sum(), 0))
                line[f"after {step} steps"] = float(away.mean() / np.sqrt(norms).mean())
            w -= 2.0 * mean
        lines.append(line)
    return lines


def distances(data: Path, rows: int = 2000, runs: int = 2) -> list[Line]:
    """What the mean distance from the mean predicts: gain of DPSGD-F over DPSGD on images, and the same images shifted.

    ε = 1, δ = 1e-5. Shifted: a constant is added to every pixel before rows are brought to norm 1.
    """
    lines = []
    for name, title in measured.NAMES.items():
        x, y, test, answers = measured.load(data, name, rows)
        for shift in (0, 64, 255):
            images = (x.astype(np.float32) + shift, y, test.astype(np.float32) + shift, answers)
            found = measured.concentration(title, images[0])
            got = {
                way: 100
                * np.mean([measured.accuracy(measured.RECIPES[way], 1.0, images) for _ in range(runs)])
                for way in ("DPSGD, full batches", "DPSGD-F")
            }
            lines.append(
                {
                    "data": f"{title} + {shift}",
                    "diameter": found["diameter"],
                    "mean distance": found["mean ‖x − µ‖"],
                    "gain of DPSGD-F": float(got["DPSGD-F"] - got["DPSGD, full batches"]),
                }
            )
    gains = [line["gain of DPSGD-F"] for line in lines]
    for key in ("diameter", "mean distance"):
        rank = stats.spearmanr([line[key] for line in lines], gains).statistic
        console.print(f"  rank correlation of {key} and gain: {rank:.2f}")
    return lines


def extractors(n: int = 200) -> list[Line]:
    """An extractor trained on the private rows: how far the features of the common rows move if one record is another.

    Strongly convex (ridge-regularised logistic regression, one feature wᵀx): at most 2L/λ in all, L = 1. A network of 16 hidden
    units, 300 steps of full-batch descent from one start: the largest over a few records, out of 2 √(n·…) possible.
    """
    from sklearn.datasets import load_digits

    x, labels = load_digits(return_X_y=True)
    x, y = x[:n] / np.linalg.norm(x[:n], axis=1, keepdims=True), np.where(labels[:n] % 2 == 0, 1.0, -1.0)

    def convex(x: Floats, y: Floats, strength: float) -> Floats:
        w = np.zeros(x.shape[1])
        for _ in range(4000):
            pull = y / (1 + np.exp(y * (x @ w)))
            w = w - (strength * w - x.T @ pull / len(x)) / (strength + 0.25)
        return w

    def network(x: Floats, y: Floats) -> Callable[[Floats], Floats]:
        rng = np.random.default_rng(0)
        first, second = rng.normal(size=(x.shape[1], 16)) / 4, rng.normal(size=16) / 4
        for _ in range(300):
            hidden = np.maximum(x @ first, 0)
            pull = y / (1 + np.exp(y * (hidden @ second))) / len(x)
            back = np.outer(pull, second) * (hidden > 0)
            second, first = second + 4.0 * (hidden.T @ pull), first + 4.0 * (x.T @ back)
        return lambda rows: np.maximum(rows @ first, 0)

    lines = []
    for strength in (0.1, 0.01):
        moved, base = 0.0, convex(x, y, strength)
        for record in range(0, n, n // 5):
            other, turned = x.copy(), y.copy()
            other[record], turned[record] = -x[record], y[record]
            w = convex(other, turned, strength)
            moved = max(moved, float(np.abs(np.delete(x, record, 0) @ (w - base)).sum()))
        lines.append(
            {"extractor": f"logistic, λ = {strength:g}", "total shift": moved, "proved": 2 / strength}
        )
    moved, base_map = 0.0, network(x, y)
    largest = float(np.linalg.norm(base_map(x), axis=1).max())
    for record in range(0, n, n // 5):
        other = x.copy()
        other[record] = -x[record]
        rest = np.delete(x, record, 0)
        moved = max(
            moved, float(np.linalg.norm((network(other, y)(rest) - base_map(rest)) / largest, axis=1).sum())
        )
    lines.append({"extractor": "network, 16 hidden units", "total shift": moved, "proved": 2.0 * (n - 1)})
    return lines


def many_steps(n: int = 5, rate: float = 0.1, epsilon: float = 0.5) -> list[Line]:
    """A random start that stays hidden beside one that is shown, after T noisy steps: the linear example of the paper, exactly.

    θ ← θ − η Σ(θ − 1) + N(0, 1) over n records, or n − 1, from N(0, 1), without clipping: both last iterates are Gaussian. Shown:
    the mean over the start of δ, as Theorem 5.1 has it for one step. δ at ε = 0.5, the larger order.
    """
    lines = []
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    for steps in (1, 2, 3, 5, 10, 30):
        laws = []
        for records in (n, n - 1):
            keep = 1 - rate * records
            drift = sum(keep**i for i in range(steps)) * rate * records
            laws.append((keep**steps, drift, sum(keep ** (2 * i) for i in range(steps))))

        def larger(one: tuple[float, float], two: tuple[float, float]) -> float:
            return max(gaussian_delta(one, two, epsilon), gaussian_delta(two, one, epsilon))

        hidden = larger(*((drift, math.sqrt(keep**2 + variance)) for keep, drift, variance in laws))
        shown = [
            larger(*((drift + keep * i, math.sqrt(variance)) for keep, drift, variance in laws))
            for i in nodes
        ]
        mean = float(np.dot(weights, shown) / weights.sum())
        lines.append({"T": steps, "hidden": hidden, "shown": mean, "hidden over shown": hidden / mean})
    return lines


def gaussian_delta(one: tuple[float, float], two: tuple[float, float], epsilon: float) -> float:
    """∫(p − e^ε q)₊ for two Gaussians (mean, deviation), by trapezoids of 20 001 points, 12 deviations out."""
    reach = 12 * max(one[1], two[1])
    x = np.linspace(min(one[0], two[0]) - reach, max(one[0], two[0]) + reach, 20_001)
    excess = np.maximum(stats.norm.pdf(x, *one) - math.exp(epsilon) * stats.norm.pdf(x, *two), 0)
    return float(np.trapezoid(excess, x))


def shuffled_gaussian(epsilon: float = 0.5) -> list[Line]:
    """n reports x_i + N(0, 1), shuffled; all others hold 0, one record is 0 or 1: δ at ε = 0.5, exactly.

    The ratio is the mean of n lognormals exp(y − ½); its law by convolution on a grid of 2^17 points of one lognormal (mass to
    the nearest point; the rest, below 1e-12, is counted as lost). Only these neighbours: a lower bound on δ.
    """
    lines = []
    size, top = 2**17, 400.0
    step = top / size
    edges = np.concatenate([[0.0], (np.arange(size) + 0.5) * step])
    law = np.diff(stats.norm.cdf(np.log(np.maximum(edges, 1e-300)) + 0.5))
    for n in (1, 2, 5, 20, 100):
        mass = np.fft.irfft(np.fft.rfft(law, 2 * size) ** n, 2 * size)[:size] if n > 1 else law
        ratio = np.arange(size) * step / n  # under "all hold 0"
        mass = np.maximum(mass, 0)
        forward = float(mass @ np.maximum(ratio - math.exp(epsilon), 0))
        back = float(mass @ np.maximum(1 - math.exp(epsilon) * ratio, 0))
        gauss = float(g.gaussian(math.sqrt((math.e - 1) / n)).delta(epsilon))
        lines.append({"n": n, "δ": max(forward, back), "of a Gaussian of √((e − 1)/n)": gauss})
    return lines


def compositions() -> list[Line]:
    """Composition of mixtures: k shuffles of n = 1000 reports, ε0 = 1, ε at δ = 1e-6 by loss distributions; beside k times one."""
    one = g.shuffle(1.0, 1000)
    lines = []
    for k in (1, 10, 100):
        lines.append(
            {
                "k": k,
                "ε composed": g.compose([(one, k)]).epsilon(1e-6),
                "k times ε of one": k * one.epsilon(1e-6 / k),
            }
        )
    return lines


QUESTIONS: Mapping[str, tuple[str, Callable[[], list[Line]]]] = {
    "gradient_means": ("A better mean of gradients, by an oracle, two clusters", gradient_means),
    "extractors": ("An extractor trained on the private rows: total shift of 200 rows", extractors),
    "many_steps": ("A random start, hidden and shown, after T steps: δ at ε = 0.5", many_steps),
    "shuffled_gaussian": ("Shuffled Gaussian reports: δ at ε = 0.5, others equal", shuffled_gaussian),
    "compositions": ("Shuffles composed: ε at δ = 1e-6", compositions),
}
ON_DATA: Mapping[str, tuple[str, Callable[[Path], list[Line]]]] = {
    "gradient_spread": (
        "Distance of a gradient from the mean gradient over its norm, centred features",
        gradient_spread,
    ),
    "distances": ("What the mean distance predicts: ε = 1, 2000 rows, two runs", distances),
}


def open_questions(
    data: Annotated[Path | None, typer.Option(help="Folder with mnist.npz and fashion_mnist.npz.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the numbers (JSON).")] = Path("run/open-questions"),
    as_json: AsJson = False,
) -> None:
    """Numbers on what the papers leave open; two of them need --data."""
    reproduction_folder(out)
    jobs: dict[str, tuple[str, Callable[[], list[Line]]]] = dict(QUESTIONS)
    if data is not None:
        jobs |= {name: (title, partial(compute, data)) for name, (title, compute) in ON_DATA.items()}
    numbers = {}
    for name, (title, made) in jobs.items():
        numbers[name] = made()
        cells = [
            [f"{v:.4g}" if isinstance(v, float) else str(v) for v in line.values()] for line in numbers[name]
        ]
        print_table(title, tuple(numbers[name][0]), cells, right=range(1, len(cells[0])))
    text = json.dumps(numbers, indent=1, ensure_ascii=False)
    (out / "numbers.json").write_text(text + "\n", encoding="utf-8")
    console.print(f"wrote {out / 'numbers.json'}")
    if as_json:
        print_json(numbers)
