"""Workers killed with -9: their rows are made again, each part counts once, and no bit changes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time

import pandas as pd
import pytest

from engines.clusters import DOMAIN, cluster, released
from prepriv.engines import Threads
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.plans.plan import make_plan


def killing(at):
    """Progress that kills a worker with -9 before some of the passes."""
    killed = []

    def progress(stage, done, of):
        if stage == "training" and done in at:
            process = max(process.pid for process in multiprocessing.active_children())
            os.kill(process, signal.SIGKILL)
            killed.append(process)

    return progress, killed


def plan_of(n, steps=9):
    return make_plan(DOMAIN, [], GradientDescent(Logistic(), steps=steps), epsilon=1.0, delta=1e-5, n=n)


def test_a_worker_killed_in_the_middle_of_three_passes_changes_no_bit(folder):
    plan = plan_of(1500)
    want = released(plan, folder / "parts", Threads(1))
    with cluster(2, processes=True) as engine:
        progress, killed = killing((2, 4, 7))
        assert released(plan, folder / "parts", engine, progress) == want
        assert len(set(killed)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 3])
def test_workers_killed_while_they_add_up_change_no_bit(folder, workers, rng):
    """Of rows that were sent, too, and at any moment."""
    plan = plan_of(1500, steps=40)
    for data in (folder / "parts", folder / "t.csv"):
        if data.suffix:
            pd.read_parquet(folder / "parts").to_csv(data, index=False)
        want = released(plan, data, Threads(1))
        with cluster(
            workers, processes=True, config={"distributed.scheduler.allowed-failures": 99}
        ) as engine:
            over, began = threading.Event(), threading.Event()  # before, the cluster is asked what it is

            def kill(over=over, began=began):
                began.wait(60)
                for _ in range(5):
                    if over.wait(0.3 + rng.random()):
                        return
                    for process in multiprocessing.active_children()[:1]:
                        os.kill(process.pid, signal.SIGKILL)

            killer = threading.Thread(target=kill)
            killer.start()
            try:
                assert (
                    released(plan, data, engine, lambda *_, began=began: began.set() or time.sleep(0.05))
                    == want
                )
            finally:
                over.set()
                began.set()
                killer.join()
