"""The noise beside float noise: time for a million values, and how often one output gives its input away.

    python benchmarks/noise.py

Times are the best of several runs on one thread. A "proof" is a single output y of x + noise, at x = 0 and
sigma = 1, that cannot come from x = 1:
  low bits   y is no multiple of 2^-53, as every rounded 1 + n is;
  reach      no noise the generator could draw turns 1 into y (for float noise: no float n at all).
The four-sum, (n1 + n2 + n3 + n4) / 2, is the "secure mode" of some DP-SGD libraries.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from prepriv._arrays import Floats
from prepriv.mechanisms.noise import NoiseSource

SIZE = 1_000_000
STEP = 2.0**-20

generator = np.random.default_rng()
source = NoiseSource()


def four_sum(size: int) -> Floats:
    return generator.normal(size=(4, size)).sum(axis=0) / 2


def box_muller(size: int) -> Floats:
    """Float normals from a ChaCha20 key stream: a secure generator without a grid."""
    half = -(-size // 2)
    words = source.uint64(2 * half)
    u = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    radius, angle = np.sqrt(-2 * np.log(u[:half])), 2 * np.pi * u[half:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:size]


def lattice(scale: float) -> Callable[[int], Floats]:
    return lambda size: source.rounded_gaussian(scale, size).astype(np.float64) / scale


def laplace(scale: float) -> Callable[[int], Floats]:
    return lambda size: source.discrete_laplace(scale, size).astype(np.float64) / scale


def best_time(draw: Callable[[int], object], repeats: int = 7) -> float:
    """Seconds for SIZE values."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        draw(SIZE)
        times.append(time.perf_counter() - start)
    return min(times)


def low_bits(y: Floats) -> float:
    return float(np.mean(np.mod(np.abs(y) * 2.0**53, 1.0) != 0.0))


def reach(y: Floats, step: float | None) -> float:
    n = y - 1.0
    if step is None:
        candidates = [n, np.nextafter(n, np.inf), np.nextafter(n, -np.inf)]
    else:  # every multiple of the step is a possible noise
        candidates = [np.round(n / step) * step]
    return 1.0 - float(np.mean(np.logical_or.reduce([1.0 + candidate == y for candidate in candidates])))


def main() -> None:
    reference = best_time(lambda size: generator.normal(size=size))
    rows: list[tuple[str, Callable[[int], object]]] = [
        ("numpy normal (PCG64)", lambda size: generator.normal(size=size)),
        ("four-sum of numpy normals", four_sum),
        ("ChaCha20 key stream alone", source.uint64),
        ("ChaCha20, float Box-Muller", box_muller),
        *((f"rounded Gaussian, s = 2^{b}", lattice(2.0**b)) for b in (4, 10, 20, 24, 28, 31)),
        *((f"discrete Laplace, s = 2^{b}", laplace(2.0**b)) for b in (4, 20)),
    ]
    print(f"{'one million values':32}{'ms':>8}{'ns each':>9}{'x numpy':>9}")
    for name, draw in rows:
        seconds = best_time(draw)
        print(f"{name:32}{seconds * 1e3:8.1f}{seconds / SIZE * 1e9:9.1f}{seconds / reference:9.2f}")

    print(f"\n{'single outputs that prove x != 1':32}{'low bits':>10}{'reach':>10}")
    outputs: list[tuple[str, Floats, float | None]] = [
        ("numpy normal (PCG64)", generator.normal(size=SIZE), None),
        ("four-sum of numpy normals", four_sum(SIZE), None),
        ("ChaCha20, float Box-Muller", box_muller(SIZE), None),
        ("rounded Gaussian on a grid", source.rounded_gaussian(1 / STEP, SIZE) * STEP, STEP),
    ]
    for name, y, step in outputs:
        print(f"{name:32}{low_bits(y):10.2%}{reach(y, step):10.2%}")


if __name__ == "__main__":
    main()
