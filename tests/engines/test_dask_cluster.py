"""Rows on the workers of a cluster: the integers of one machine, lost workers or not; refusals before the charge."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import logging
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import prepriv
from engines.clusters import DOMAIN, charges, cluster, released
from prepriv.audit.replay import replay
from prepriv.audit.replay_neighbours import neighbours, synthetic
from prepriv.audit.replay_pipeline import PlanRun
from prepriv.audit.sensitivity_draws import Draws
from prepriv.engines import Dask, EngineError, NoRoom, Threads
from prepriv.engines import dask_cluster as module
from prepriv.exact.gradient_sum import QuantizedRows
from prepriv.exact.grid import IntegerGrid
from prepriv.learners import Huber, SufficientStatistics
from prepriv.learners.losses import Softmax
from prepriv.learners.stochastic import FixedBatchSGD
from prepriv.plans.plan import make_plan

N, D = 5000, 7
GRID = IntegerGrid.of(5.1, 0.7, N, fine=False)


@pytest.fixture(scope="module")
def two():
    with cluster(2) as engine:
        yield engine


def classifier(folder, engine, **settings):
    return prepriv.PrivateClassifier(
        dataclasses.replace(DOMAIN, n=1500),
        steps="linear",
        ledger=folder / "L.db",
        engine=engine,
        **settings,
    )


def blocks(rng, n=N):
    x, y = 2 * rng.standard_normal((n, D)), rng.integers(-1, 3, n)
    x[::97] = np.nan
    return [(x[at : at + 256], y[at : at + 256], at) for at in range(0, n, 256)]


@pytest.mark.parametrize("part", [2**28, 7 * 24 * 256, 1])
def test_the_workers_give_the_integers_of_one_machine(two, rng, part, monkeypatch):
    monkeypatch.setattr(module, "_PART", part)
    given = blocks(rng)
    held = [engine.room(GRID, N, D).load(given, N, 1.0) for engine in (Threads(1), two)]
    assert held[1].shape == held[0].shape and len(held[1]._made) == {2**28: 2, 7 * 24 * 256: 3, 1: 20}[part]
    index = rng.permutation(np.flatnonzero(rng.random(N) < 0.3))
    with held[0].gradient_sum(Softmax()) as here, held[1].gradient_sum(Softmax()) as there:
        for scale in (0.0, 1.0, 1e6):
            weights = scale * rng.standard_normal((D + 1, 3))
            assert (here(weights) == there(weights)).all()
            assert (here(weights, index) == there(weights, index)).all()
        assert (there(weights, index[:0]) == 0).all()
        assert (here(weights, index[:1]) == there(weights, index[:1])).all()


@pytest.mark.parametrize(
    "learner", [SufficientStatistics(), FixedBatchSGD(Huber(), batch_size=90, steps=4)], ids=lambda l: l.name
)
def test_a_number_is_learned_from_the_same_sums(two, learner):
    domain = prepriv.Domain.box(0, 1, features=3, target=prepriv.Numeric(-3, 4), n=700)
    x = np.random.default_rng(1).random((700, 3))
    plan = make_plan(domain, [], learner, epsilon=1.0, delta=1e-5)
    assert released(plan, x, two, labels=x @ [3, -2, 1]) == released(
        plan, x, Threads(1), labels=x @ [3, -2, 1]
    )


@pytest.mark.parametrize("n", [0, 1, 256, 257])
def test_any_number_of_rows_is_held(two, rng, n):
    here, there = (engine.room(GRID, N, D).load(blocks(rng, n), n, 1.0) for engine in (Threads(1), two))
    weights = rng.standard_normal((D + 1, 3))
    with here.gradient_sum(Softmax()) as a, there.gradient_sum(Softmax()) as b:
        assert there.shape == (n, D + 1) and (n == 0 or (a(weights) == a(weights)).all())
        assert b(weights).shape == (D + 1, 3) and b(weights).dtype == np.int64


def parted(*cuts):
    """Rows in parts that no cluster holds."""
    return module.DaskRows(None, "run", GRID, (cuts[-1], D + 1), [None] * (len(cuts) - 1), cuts)


@pytest.mark.parametrize(
    "numbers", [[(0,), (1,)], [(0, 1), (2,), (1,)], [(0, 2), (0, 1)], [(0, 1, 2, 3)], []]
)
def test_a_part_left_out_or_counted_twice_is_refused(numbers, monkeypatch):
    """After a lost worker the scheduler may hand in a part anew, whatever it did with the first one."""
    rows, weights = parted(0, 256, 512, 600), np.ones((D + 1, 3))
    monkeypatch.setattr(
        rows, "_partials", lambda *_: [(part, np.ones((D + 1, 3), np.int64)) for part in numbers]
    )
    with pytest.raises(EngineError, match="twice, or not at all"), rows.gradient_sum(Softmax()) as total:
        total(weights)
    monkeypatch.setattr(
        rows, "_partials", lambda *_: [((2, 0), weights.astype(int)), ((1,), weights.astype(int))]
    )
    with rows.gradient_sum(Softmax()) as total:
        assert (total(weights) == 2).all()


@pytest.mark.parametrize(
    "wrong",
    [np.ones((8, 2), np.int64), np.ones((1, 3), np.int64), np.ones((8, 3)), np.ones((8, 3), np.int32), 1, [[1] * 3] * 8],
)  # fmt: skip
def test_a_sum_of_another_shape_or_type_is_refused(wrong, monkeypatch):
    """One of them would be added to every row, and a float one be cut, without a word."""
    rows = parted(0, 256)
    monkeypatch.setattr(rows, "_partials", lambda *_: [((0,), wrong)])
    with (
        pytest.raises(EngineError, match="not give back a sum"),
        rows.gradient_sum(Softmax()) as total,
    ):
        total(np.ones((D + 1, 3)))


def test_chosen_rows_go_to_the_part_that_holds_them(rng):
    rows = parted(0, 256, 512, 512, 600)
    for index in (
        rng.permutation(600)[:50],
        np.arange(600),
        np.array([255, 256]),
        np.array([599]),
        np.zeros(0, int),
    ):
        found = rows._by_part(index)
        back = [local + rows._cuts[k] for k, local in found.items()]
        assert sorted(np.concatenate([*back, np.zeros(0, int)])) == sorted(index)
        assert all(
            len(local) and local.max() < rows._cuts[k + 1] - rows._cuts[k] for k, local in found.items()
        )


def test_a_part_that_cannot_be_read_raises_nothing_on_a_worker(capfd):
    def fails():
        raise ValueError("SECRET")
        yield

    assert module._load(3, "", fails(), 0, (GRID, 5, D, 1.0)) == module._Part(3, None)
    assert module._quietly(fails().__next__) is None
    out = capfd.readouterr()
    assert out.out + out.err == ""


def test_what_a_worker_says_stays_there(two, rng, monkeypatch, caplog, capfd):
    def fails(*_):
        raise ValueError("SECRET")

    caplog.set_level(logging.DEBUG)
    for name, target in (("residual", Softmax), ("fill", QuantizedRows)):
        rows = two.room(GRID, N, D).load(blocks(rng), N, 1.0) if name == "residual" else None
        with monkeypatch.context() as patched:
            patched.setattr(target, name, fails)
            if rows is None:  # read on the workers, as files are
                rows = two.room(GRID, N, D).load(Anywhere(blocks(rng)), N, 1.0)
            with (
                rows.gradient_sum(Softmax()) as total,
                pytest.raises(EngineError, match="what it says is withheld") as told,
            ):
                total(np.zeros((D + 1, 3)))
        assert told.value.__cause__ is None and "SECRET" not in str(told.value)
    out = capfd.readouterr()
    assert "SECRET" not in caplog.text + out.out + out.err


class Anywhere(list):
    """Blocks that can be read anywhere."""

    def part(self, start, stop):
        return [block for block in self if start <= block[2] < stop]


def test_files_train_and_a_part_that_vanishes_is_one_sentence(two, folder, monkeypatch):
    clf = classifier(folder, two).fit(folder / "parts", "y")
    assert charges(folder) == 1 and clf.guarantee_ is not None
    held = classifier(folder, two, holdout=0.3).fit(folder / "parts", "y")
    assert held.evaluation_ is not None
    assert copy.deepcopy(two) is two  # clones of scikit-learn
    load = module.DaskRoom.load

    class Vanishing:
        """Gone before the worker that is to read the last part looks for it."""

        def __init__(self, given):
            self.given = given

        def part(self, start, stop):
            part = self.given.part(start, stop)
            if stop == 1500:
                (folder / "parts" / "2.parquet").unlink()
            return part

        def __iter__(self):
            return iter(self.given)

    monkeypatch.setattr(
        module.DaskRoom, "load", lambda room, given, *rest: load(room, Vanishing(given), *rest)
    )
    with pytest.raises(EngineError, match="its part of the table"):
        classifier(folder, two).fit(folder / "parts", "y")


def test_parts_with_other_columns_are_refused_before_the_charge(two, folder):
    pd.DataFrame({"a": [0.5], "y": [1]}).to_parquet(folder / "parts" / "9.parquet")
    with pytest.raises(ValueError, match="no column 'b'"):
        classifier(folder, two).fit(folder / "parts", "y")
    assert charges(folder) == 0


def refused(folder, engine, match, kind=EngineError):
    with pytest.raises(kind, match=match):
        classifier(folder, engine).fit(folder / "parts", "y")
    assert charges(folder) == 0


def test_a_cluster_that_cannot_be_used_is_one_sentence_before_the_charge(two, folder, monkeypatch):
    with cluster(0) as empty:
        refused(folder, empty, "no workers")
    refused(folder, empty, "no connection to a scheduler")
    refused(folder, Dask(None), "no connection to a scheduler")
    with monkeypatch.context() as patched:
        patched.setattr(module, "is_closed", lambda address: False)
        refused(folder, two, "private rows need TLS")
    versions = two.client.get_versions(packages=["prepriv", "numpy"])
    for name, there, match in (
        ("prepriv", None, "a worker has no prepriv: install version 1"),
        ("prepriv", "0.1", "a worker has prepriv 0.1, this machine 1"),
        ("numpy", "1.9", "a worker has numpy 1.9, this machine 1"),
    ):
        found = copy.deepcopy(versions)
        for at in (found["client"], *found["workers"].values()):
            at["packages"] |= {"prepriv": "1", "numpy": "1"}
        next(iter(found["workers"].values()))["packages"][name] = there
        with monkeypatch.context() as patched:
            patched.setattr(two.client, "get_versions", lambda packages, found=found: found)
            refused(folder, two, match)
    facts = module._facts
    for change, match, kind in (
        ({"holds": False}, "write private rows to its disk", EngineError),
        ({"bits": "other"}, "last bits of a worker's", EngineError),
        ({"memory": 100}, "the rows need .* on the workers, which have 200 B", NoRoom),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(
                module, "_on_all", lambda client, function, *a, change=change: [facts(Worker()) | change] * 2
            )
            refused(folder, two, match, kind)
    with monkeypatch.context() as patched:
        patched.setattr(module, "_on_all", lambda client, function, *a: [None])
        refused(folder, two, "prepriv does not run on a worker")
    with monkeypatch.context() as patched:
        patched.setattr(module, "_quietly", lambda seen: [])
        refused(folder, two, "does not see the files")


class Worker:
    """What is asked of one."""

    data: ClassVar[dict[str, object]] = {}

    class memory_manager:
        memory_limit = 10**9


def test_a_worker_that_was_never_asked_holds_no_rows_if_it_is_unfit(two, rng, monkeypatch):
    """One that comes later, and is handed a lost part."""
    turns = itertools.count()
    monkeypatch.setattr(module, "_bits", lambda: f"{next(turns)}")
    rows = module.DaskRoom(two.client, GRID, D).load(blocks(rng), N, 1.0)
    with pytest.raises(EngineError, match="is unfit"), rows.gradient_sum(Softmax()) as total:
        total(np.zeros((D + 1, 3)))


def test_workers_that_spill_are_refused(folder):
    with cluster(1, config={"distributed.worker.memory.spill": 0.7}) as engine:
        refused(folder, engine, "write private rows to its disk")


@pytest.mark.parametrize(
    "address, closed",
    [
        ("tls://10.0.0.1:8786", True),
        ("tcp://127.0.0.1:8786", True),
        ("tcp://localhost:8786", True),
        ("tcp://[::1]:8786", True),
        ("inproc://192.0.2.2/1/1", True),
        ("tcp://10.0.0.1:8786", False),
        ("tcp://localhost.example:8786", False),
        ("ws://10.0.0.1:8786", False),
        ("ucx://10.0.0.1:8786", False),
        ("10.0.0.1:8786", False),
        ("", False),
    ],
)
def test_only_tls_or_one_machine_is_closed(address, closed):
    assert module.is_closed(address) is closed


def test_a_cluster_over_tls_trains(folder):
    with cluster(2, security=True, protocol="tls") as engine:
        assert all(a.startswith("tls://") for a in engine.client.nthreads())
        classifier(folder, engine).fit(folder / "parts", "y")


@pytest.mark.parametrize("name", ["mean, budget, replace-one", "Poisson SGD, add or remove"])
def test_nothing_but_mechanisms_depends_on_a_record_on_a_cluster(two, name, tmp_path, monkeypatch):
    """Recorded on one machine and replayed on a cluster, in parts of another size each time, read there or sent."""
    from audit.pipelines import pipelines

    pipeline = pipelines()[name]
    pipeline = dataclasses.replace(pipeline, domain=dataclasses.replace(pipeline.domain, n=700))
    plan, draws = pipeline.plan(), Draws(3)
    runs = [PlanRun(plan), *(PlanRun(plan, engine=two) for _ in range(4))]
    turn = itertools.cycle(runs)

    def run(table, session):
        at = next(turn)
        monkeypatch.setattr(module, "_PART", 256 * 24 * (1 + runs.index(at)))
        surfaces = at(table, session)
        return surfaces | {"log": ""}  # Dask's own words on connections: what it says of rows is tested above

    first = synthetic(plan.domain, plan.n, draws)
    near = neighbours(first, plan.domain, draws, 6, at_end=plan.learner.samples)
    result = replay(run, first, near, holds=lambda: all(r.holds() for r in runs), allowance=runs[0].allowance)
    assert result.findings == [] and result.pairs >= 4 and result.calls > 15


def test_a_local_cluster_has_no_dashboard(monkeypatch):
    """Where bokeh is installed it would show names, memory and logs to everybody on this machine."""
    import distributed

    from prepriv.engines.dask_start import local_cluster

    class Asked(Exception):
        pass

    def ask(**options):
        raise Asked(options["scheduler_kwargs"].get("dashboard"), options.get("worker_dashboard_address"))

    monkeypatch.setattr(distributed, "LocalCluster", ask)
    with pytest.raises(Asked) as asked, local_cluster():
        pass
    assert asked.value.args == (False, None)
