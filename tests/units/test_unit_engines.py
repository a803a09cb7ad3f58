"""Units on every engine: rows of one stay together, and the integers are those of one thread."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from engines.clusters import cluster, released
from prepriv.columns import Numeric
from prepriv.domain import Domain
from prepriv.engines import Threads, Torch
from prepriv.exact.grid import IntegerGrid
from prepriv.learners import GradientDescent, Logistic, PoissonSGD, SufficientStatistics
from prepriv.learners.losses import Softmax
from prepriv.plans.plan import make_plan

D, K = 5, 3


@pytest.fixture(scope="module")
def engines():
    """Beside one thread: a disk, torch where it is installed, clusters of one and of three workers where Dask is."""
    found = [Threads(2, 1), *([Torch("cpu")] if find_spec("torch") else [])]
    if not find_spec("distributed"):
        yield found
        return
    with cluster(1) as one, cluster(3) as three:
        yield [*found, one, three]


@pytest.mark.parametrize("part", [2**28, 300 * 20, 1])
def test_the_sums_of_units_are_those_of_one_thread(engines, rng, part, monkeypatch):
    monkeypatch.setattr("prepriv.engines.dask_cluster._PART", part)  # of one row each: 1
    monkeypatch.setattr("prepriv.engines.torch_device._CHUNK", part)
    sizes = rng.integers(0, 9, 200)
    sizes[[0, 50, -1]] = 0, 100, 0
    n = int(sizes.sum())
    grid = IntegerGrid.of(5.1, 2.0, len(sizes), fine=False)
    x, y = 2 * rng.standard_normal((n, D)), rng.integers(-1, K, n)
    blocks = [(x[at : at + 256], y[at : at + 256], at) for at in range(0, n, 256)]
    weights, index = rng.standard_normal((D + 1, K)), rng.permutation(len(sizes))[:70]
    want = None
    for engine in (Threads(1), *engines):
        rows = engine.room(grid, n, D).load_units(blocks, sizes, 1.0)
        assert rows.shape == (200, D + 1)
        with rows.gradient_sum(Softmax()) as total:
            got = [
                total(weights),
                total(weights, index),
                total(weights, index[:1]),
                total(weights, index[:0]),
            ]
        want = want or got
        assert all((a == b).all() and a.dtype == np.int64 for a, b in zip(want, got)), engine
    assert np.abs(want[0]).max() > 2**20


@pytest.mark.parametrize(
    "learner",
    [GradientDescent(Logistic(), steps=4), PoissonSGD(Logistic(), batch_size=30, steps=4), SufficientStatistics()],
    ids=lambda learner: learner.name,
)  # fmt: skip
def test_one_hash_of_all_that_is_released(engines, learner):
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(150), rng.integers(1, 8, 150))
    rows = pd.DataFrame({"a": rng.random(len(who)), "b": rng.random(len(who)), "who": who})
    learned = {"target": Numeric(0, 1)} if learner.name == "SufficientStatistics" else {"classes": [0, 1]}
    columns = {"a": Numeric(0, 1), "b": Numeric(0, 1)}
    domain = Domain(columns, n=150, unit="who", rows_per_unit=5, **learned)
    labels = (rows["a"] > rows["b"]).astype(int).to_numpy()
    plan = make_plan(domain, [], learner, epsilon=1.0, delta=1e-5)
    want = released(plan, rows, Threads(1), labels=labels)
    assert want != released(plan, rows, Threads(1), labels=1 - labels)
    for engine in engines:
        assert released(plan, rows, engine, labels=labels) == want, engine
