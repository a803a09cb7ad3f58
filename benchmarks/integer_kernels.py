"""What products of int8 would gain over a pass in float64, at the same bits. `python benchmarks/integer_kernels.py`.

One thread, processor time, so that busy cores say little. 60000 x 784 x 10. Rows of 16 bits are two limbs, weights of 37 bits five, residuals of
27 bits four; what a pass does beside products (softmax, clipping, putting limbs together) is not in the products below.
"""

from __future__ import annotations

import time

import numpy as np
import torch

from prepriv.engines import Threads
from prepriv.exact.grid import Grid
from prepriv.learners.losses import Softmax

N, D, K = 60_000, 784, 10


def seconds(work, repeat: int = 15) -> str:
    """Median and least processor time of some runs, in ms."""
    work()
    took = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        took.append(1e3 * (time.process_time() - start))
    return f"{np.median(took):.0f} ms (least {min(took):.0f})"


def main() -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)

    def limbs(rows: int, columns: int) -> torch.Tensor:
        return torch.from_numpy(rng.integers(-128, 128, (rows, columns)).astype(np.int8))

    x = limbs(N, D)
    weights, residuals = limbs(D, -(-5 * K // 8) * 8), limbs(-(-4 * K // 8) * 8, N)
    print("scores, for each limb of the rows:", seconds(lambda: torch._int_mm(x, weights)))
    print("gradient, for each limb of the rows:", seconds(lambda: torch._int_mm(residuals, x)))
    rows = rng.standard_normal((N, D))
    rows *= 5 / np.linalg.norm(rows, axis=1, keepdims=True)
    blocks = [(rows[at : at + 4096], rng.integers(0, K, min(4096, N - at)), at) for at in range(0, N, 4096)]
    held = Threads(1).room(Grid.of(5.1, 1.0, N, fine=False), N, D).load(blocks, N, 1.0)
    at = 0.1 * rng.standard_normal((D + 1, K))
    with held.gradient_sum(Softmax()) as total:
        print("a whole pass as it is:", seconds(lambda: total(at)))


if __name__ == "__main__":
    main()
