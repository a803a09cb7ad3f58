"""One hash of all that is released, under a test's noise: on every engine, from every kind of stream."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from contextlib import ExitStack
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import prepriv
from engines.clusters import cluster
from prepriv import preprocessing as pre
from prepriv.columns import Categorical, Numeric
from prepriv.domain import Domain
from prepriv.engines import Threads, Torch
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.learners.stochastic import PoissonSGD
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.plans.plan import make_plan
from prepriv.recipes.automatic import recipe
from prepriv.runs.run import room_for
from prepriv.runs.train import train

N = 1300
DESCENT = GradientDescent(Logistic(), steps=8, weight_bound=2.0)
SENSITIVITY, BUDGET = prepriv.Sensitivity, prepriv.Budget


class Seeded(NoisySession):
    def batch_source(self):
        return self._source


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(7)
    a = rng.random(N)
    a[::101] = np.nan
    job = rng.choice(["clerk", "smith"], N)
    label = np.where(np.nan_to_num(a) + (job == "smith") > 0.9, "yes", "no")
    return pd.DataFrame({"a": a, "b": rng.normal(size=N), "job": job, "y": label})


def domain(adjacency="replace-one"):
    columns = {
        "a": Numeric(0, 1, missing="impute"),
        "b": Numeric(-1, 1),
        "job": Categorical(["clerk", "smith"]),
    }
    return Domain(columns, ["no", "yes"], label="y", adjacency=adjacency, n=N)


def plans():
    scaled = [
        pre.MeanImputer(payment=SENSITIVITY({"missing": 0.03})),
        pre.Center(payment=BUDGET(0.05)),
        pre.Rescale(5.0),
    ]
    linear = [
        pre.MeanImputer(payment=BUDGET(0.05)),
        pre.StandardScaler(payment=BUDGET(0.05)),
        pre.Homogenize(1.0),
    ]
    for name, adjacency, steps, learner in [
        ("the recipe", "replace-one", "auto", "auto"),
        ("the recipe, n private", "add-or-remove-one", "auto", "auto"),
        ("paid by sensitivity", "replace-one", scaled, DESCENT),
        ("Poisson batches", "add-or-remove-one", linear, PoissonSGD(Logistic(), batch_size=60, steps=8)),
    ]:
        yield pytest.param(adjacency, steps, learner, id=name)


def released(plan, rows, labels, engine):
    session = Seeded(NoiseSource.for_tests(11))
    out = train(plan, rows, labels, session=session, room=room_for(plan, engine), counted=False)
    maps = json.dumps([m.to_json() for m in out.maps], default=lambda a: a.tolist())
    return hashlib.sha256(out.weights.tobytes() + maps.encode()).hexdigest()


@pytest.fixture(scope="module")
def clusters():
    """In-process clusters of 1, 2 and 4 workers; none where Dask is not installed."""
    with ExitStack() as stack:
        found = find_spec("distributed")
        yield [stack.enter_context(cluster(k)) for k in (1, 2, 4)] if found else []


@pytest.mark.parametrize("adjacency, steps, learner", list(plans()))
def test_one_hash_on_a_cluster(frame, adjacency, steps, learner, tmp_path, clusters, monkeypatch):
    """Of rows that workers read themselves, held out or not, and of rows that are sent to them."""
    if not clusters:
        pytest.skip("Dask is not installed: pip install prepriv[dask]")
    monkeypatch.setattr("prepriv.engines.dask_cluster._PART", 500 * 20)
    d = domain(adjacency)
    made = recipe(d, n=N, epsilon=1.0, delta=1e-5, steps=steps, learner=learner)
    if made[1].steps > 8:
        made = (made[0], dataclasses.replace(made[1], steps=8))
    plan = make_plan(d, *made, epsilon=1.0, delta=1e-5, n=N)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for i, start in enumerate(range(0, N, 300)):
        pq.write_table(table.slice(start, 300), tmp_path / f"{i}.parquet", row_group_size=100)
    columns, labels = frame.drop(columns="y"), frame["y"]
    want = released(plan, columns, labels, Threads(1))
    for engine in clusters if learner == "auto" and adjacency == "replace-one" else clusters[1:2]:
        assert released(plan, tmp_path, None, engine) == want, engine
    assert released(plan, columns, labels, clusters[1]) == want


def partitions(frame):
    """A Dask DataFrame, where Dask is installed."""
    if find_spec("dask"):
        import dask.dataframe as dd

        yield dd.from_pandas(frame, npartitions=5)


@pytest.mark.parametrize("adjacency, steps, learner", list(plans()))
def test_one_hash_of_all_that_is_released(frame, adjacency, steps, learner, tmp_path):
    d = domain(adjacency)
    made = recipe(d, n=N, epsilon=1.0, delta=1e-5, steps=steps, learner=learner)
    plan = make_plan(d, *made, epsilon=1.0, delta=1e-5, n=N)
    columns, labels = frame.drop(columns="y"), frame["y"]
    want = released(plan, columns, labels, Threads(1))
    assert want != released(plan, columns, labels[::-1], Threads(1))  # the hash sees the labels
    torch = (
        [Torch("cpu"), Torch("cpu", 1)] if find_spec("torch") else []
    )  # skipped with a line in its own tests
    for engine in (Threads(2), Threads(3, "1GB"), Threads(1, 1), Threads(2, 1), *torch):
        assert released(plan, columns, labels, engine) == want, engine
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for cut in (100, 255, 700):
        (tmp_path / str(cut)).mkdir()
        for i, start in enumerate(range(0, N, max(cut, 300))):
            part = table.slice(start, max(cut, 300))
            pq.write_table(part, tmp_path / str(cut) / f"{i:03}.parquet", row_group_size=cut)
        for memory in (None, 1):  # an encoded table that is kept, and one that is read anew for each pass
            assert released(plan, tmp_path / str(cut), None, Threads(2, memory)) == want, (cut, memory)
    frame.to_csv(tmp_path / "t.csv", index=False)
    for data in (
        tmp_path / "t.csv",
        ds.dataset(tmp_path / "255", format="parquet"),
        table.to_reader(max_chunksize=99),
        pl.from_pandas(frame).lazy(),
        *partitions(frame),
    ):
        assert released(plan, data, "y", Threads(1, 1)) == want, data


@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
def test_progress_tells_of_rows_only_where_their_number_is_public(frame, adjacency, tmp_path, monkeypatch):
    """Elsewhere it says that rows are read, and no number: that of bytes is of private files."""
    monkeypatch.setattr("prepriv.runs.run._TOLD", 256)
    for i, start in enumerate(range(0, N, 500)):
        part = pa.Table.from_pandas(frame[start : start + 500], preserve_index=False)
        pq.write_table(part, tmp_path / f"{i}.parquet")
    made = recipe(domain(adjacency), n=N, epsilon=1.0, delta=1e-5, steps="linear")
    plan = make_plan(domain(adjacency), *made, epsilon=1.0, delta=1e-5, n=N)
    told = []
    for rows, labels in ((tmp_path, None), (frame.drop(columns="y"), frame["y"])):
        session = Seeded(NoiseSource.for_tests(11))
        room = room_for(plan, Threads(1, 1))
        train(
            plan,
            rows,
            labels,
            session=session,
            room=room,
            counted=False,
            progress=lambda *word: told.append(word),
        )
    reading = {word[1:] for word in told if word[0] == "reading"}
    if adjacency == "replace-one":
        assert reading == {(min(at + 256, N), N) for at in range(0, N, 256)}
    else:
        assert reading == {(0, 0)}
