"""What products of int8 would gain over a pass in float64. `python benchmarks/integer_kernels.py [--data FOLDER]`.

One thread, processor time, so that busy cores say little. 60000 x 784 x 10. At the bits of today rows are two limbs of 8 bits, weights of 37 bits five,
residuals of 27 bits four: products alone, by torch (`_int_mm`) and ONNX Runtime (`MatMulInteger`), whichever is there. Then a whole pass in ONNX Runtime on
another grid, the coarsest that could be thought of: rows of 8 bits, weights of four limbs, residuals of two; its integers are compared with NumPy's.

--data: what rows of 8 bits cost in accuracy, with the same noise: FOLDER holds mnist.npz and adult.csv.gz. An entry is capped at so many times
norm / sqrt(d), and 127 steps lie within the cap.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from prepriv.engines import Threads
from prepriv.exact.gradient_sum import QuantizedRows, clipped_residuals
from prepriv.exact.grid import IntegerGrid
from prepriv.learners.losses import Softmax

N, D, K = 60_000, 784, 10
BLOCK = 4096


def seconds(work, repeat: int = 15) -> str:
    """Median and least processor time of some runs, in ms."""
    work()
    took = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        took.append(1e3 * (time.process_time() - start))
    return f"{np.median(took):.0f} ms (least {min(took):.0f})"


def bytes_of(rng, rows: int, columns: int) -> np.ndarray:
    return rng.integers(-128, 128, (rows, columns)).astype(np.int8)


def integer_product():
    """(a, b) -> (a - 128) @ b of uint8 and int8, in int32, by ONNX Runtime with one thread: it has fast kernels for no other pair of types."""
    import onnxruntime
    from onnx import TensorProto, helper

    node = helper.make_node("MatMulInteger", ["a", "b"], ["c"])
    tensors = [
        helper.make_tensor_value_info(name, kind, [None, None])
        for name, kind in (("a", TensorProto.UINT8), ("b", TensorProto.INT8), ("c", TensorProto.INT32))
    ]
    graph = helper.make_graph([node], "product", tensors[:2], tensors[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return lambda a, b, sums: session.run(None, {"a": a, "b": b})[0] - 128 * sums


def limbs_of(integers: np.ndarray, count: int) -> np.ndarray:
    """Integers (rows, columns) as `count` int8 matrices beside each other, the lowest first: i = sum of limb * 2^(8 * place)."""
    parts, rest = [], integers.astype(np.int64)
    for _ in range(count):
        low = ((rest + 128) & 255) - 128
        parts.append(low.astype(np.int8))
        rest = (rest - low) >> 8
    return np.concatenate(parts, axis=1)


def put_together(product: np.ndarray, count: int) -> np.ndarray:
    """What the product with limbs beside each other is worth, in float64."""
    width = product.shape[1] // count
    return sum(product[:, j * width : (j + 1) * width] * 2.0 ** (8 * j) for j in range(count))


def coarse_pass(rng, product):
    """A pass over rows of 8 bits by a way to multiply: (a, b, sums of the columns of b) -> (a - 128) @ b. Rows are held twice, as its two types."""
    x = np.clip(rng.standard_normal((N, D)) * 21, -127, 127).astype(np.int8)
    norms = np.ceil(np.linalg.norm(x.astype(np.float64), axis=1)).astype(np.float32)
    targets, weights = rng.integers(0, K, N), rng.integers(-(2**30), 2**30, (D, K))
    across, shifted = limbs_of(weights, 4), x.view(np.uint8) ^ 128
    sums = [x[at : at + BLOCK].sum(axis=0, dtype=np.int32) for at in range(0, N, BLOCK)]
    grid = replace(IntegerGrid.of(5.1, 1.0, N, fine=False), x_bits=7, r_bits=12, norm=600, clip=2**14)

    def once() -> np.ndarray:
        total, down = np.zeros((D, K)), across.sum(axis=0, dtype=np.int32)
        for at, of_columns in zip(range(0, N, BLOCK), sums):
            rows = x[at : at + BLOCK]
            mine = slice(at, at + len(rows))
            scores = put_together(product(shifted[mine], across, down), 4)
            residual = clipped_residuals(
                np.ascontiguousarray(scores.T), targets[mine], norms[mine], grid, 30, Softmax()
            )
            both = limbs_of(residual.T, 2)
            across_rows = np.ascontiguousarray(both.T).view(np.uint8) ^ 128
            total += put_together(product(across_rows, rows, of_columns).T, 2)
        return total

    return once


def in_numpy(a, b, sums) -> np.ndarray:
    """What `integer_product` is held against."""
    return (a.astype(np.float64) - 128) @ b.astype(np.float64)


def kernels() -> None:
    rng = np.random.default_rng(0)
    x, across, residuals = bytes_of(rng, N, D), bytes_of(rng, D, 5 * K), bytes_of(rng, 4 * K, N)
    if find_spec("torch"):
        import torch

        torch.set_num_threads(1)
        a, b, c = (torch.from_numpy(m) for m in (x, np.pad(across, ((0, 0), (0, 6))), residuals))
        print("torch: scores, for each limb of the rows:", seconds(lambda: torch._int_mm(a, b)))
        print("torch: gradient, for each limb of the rows:", seconds(lambda: torch._int_mm(c, a)))
    if find_spec("onnxruntime") and find_spec("onnx"):
        product = integer_product()
        unsigned, high = x.view(np.uint8), residuals.view(np.uint8)
        print(
            "ONNX Runtime: scores, for each limb of the rows:", seconds(lambda: product(unsigned, across, 0))
        )
        print("ONNX Runtime: gradient, for each limb of the rows:", seconds(lambda: product(high, x, 0)))
        plain = coarse_pass(np.random.default_rng(1), in_numpy)
        fast = coarse_pass(np.random.default_rng(1), product)
        print(
            "ONNX Runtime: a whole pass over rows of 8 bits:",
            seconds(fast),
            "- as NumPy:",
            bool((fast() == plain()).all()),
        )
    rows = rng.standard_normal((N, D))
    rows *= 5 / np.linalg.norm(rows, axis=1, keepdims=True)
    blocks = [(rows[at : at + 4096], rng.integers(0, K, min(4096, N - at)), at) for at in range(0, N, 4096)]
    held = Threads(1).room(IntegerGrid.of(5.1, 1.0, N, fine=False), N, D).load(blocks, N, 1.0)
    at = 0.1 * rng.standard_normal((D + 1, K))
    with held.gradient_sum(Softmax()) as total:
        print("a whole pass as it is:", seconds(lambda: total(at)), flush=True)


def accuracies(folder: Path, caps: list[float], runs: int) -> None:
    """Of the recipe and of the linear one, on rows as they are and on coarser ones, each with the same noise."""
    from training_end import adult

    import prepriv
    from prepriv.mechanisms.noise import NoiseSource
    from prepriv.mechanisms.session import NoisySession

    fill = QuantizedRows.fill
    with np.load(folder / "mnist.npz") as held:
        x, y, xt, yt = (
            held[k].reshape(len(held[k]), -1).squeeze() for k in ("x_train", "y_train", "x_test", "y_test")
        )
    train, test = adult().load(folder / "adult.csv.gz")
    tables = {
        "adult": (adult().domain(len(train)), train, train["label"], test, test["label"]),
        "mnist": (prepriv.Domain.box(0, 255, 784, range(10), n=len(x)), x, y, xt, yt),
    }
    for name, (domain, *given) in tables.items():
        for steps in ("linear", "auto"):
            for cap in [None, *caps]:

                def coarse(rows, start, x, targets, cap=cap):
                    norm = 5.0  # of a row without its bias
                    step = cap * norm / np.sqrt(x.shape[1]) / 127
                    fill(rows, start, np.clip(np.trunc(x / step), -127, 127) * step, targets)

                QuantizedRows.fill = fill if cap is None else coarse
                found = []
                for seed in range(runs):
                    made = prepriv.PrivateClassifier(domain, epsilon=1.0, delta=1e-5, steps=steps, threads=1)
                    made._session = lambda plan, seed=seed: NoisySession(NoiseSource.for_tests(seed))
                    found.append(100 * made.fit(*given[:2]).score(*given[2:]))
                shown = "as they are" if cap is None else f"8 bits, cap {cap:g} norms / sqrt(d)"
                print(f"{name}, {steps}, rows {shown}: {np.mean(found):.2f} %", flush=True)
    QuantizedRows.fill = fill


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--caps", type=float, nargs="+", default=[3.0, 6.0, 12.0])
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    if options.data is None:
        kernels()
    else:
        accuracies(options.data, options.caps, options.runs)


if __name__ == "__main__":
    main()
