"""Shared pieces of the suite."""

from __future__ import annotations

import gc
import hashlib
import itertools
import os
import threading

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:  # a core for each: no threads of BLAS
    for setting in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(setting, "1")

import numpy as np

from prepriv.runs import odometer

SEED = os.environ.get("PREPRIV_TEST_SEED", "20261121")
"""Seed of the noise keys of the suite's own process; `random` leaves them to the operating system."""


def pytest_collection_finish():
    """Thousands of collected tests are not looked through again each time that garbage is."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261121)


@pytest.fixture(autouse=True)
def _an_odometer_for_each_test(monkeypatch):
    """One that has warned already: how many fits other tests made changes no test."""
    said = threading.Lock()
    said.acquire()
    monkeypatch.setattr(odometer, "_PROCESS", odometer.Odometer(_said=said))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Each test, with its fixtures, draws the same noise keys in each run, so that a failure can be
    repeated. A forked child and another process draw keys of their own; the library has no such switch."""
    if SEED == "random":
        return (yield)
    suite, calls = os.getpid(), itertools.count()

    def urandom(size: int) -> bytes:
        process = "suite" if os.getpid() == suite else f"child {os.getpid()}"
        return hashlib.shake_256(f"{SEED} {item.nodeid} {process} {next(calls)}".encode()).digest(size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", urandom)
        return (yield)
