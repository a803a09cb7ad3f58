"""Dask clusters for tests: in this process unless asked otherwise, and nothing is written to disk by them."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

import prepriv
from prepriv.engines import Dask
from prepriv.engines.dask_start import CLOSED
from prepriv.ledger import Ledger
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.runs.run import room_for
from prepriv.runs.train import train

DOMAIN = prepriv.Domain({"a": prepriv.Numeric(0, 1), "b": prepriv.Numeric(0, 1)}, [0, 1], label="y")


@contextmanager
def cluster(workers=2, **options):
    """A `Dask` engine. options: of LocalCluster."""
    distributed = pytest.importorskip(
        "distributed", reason="Dask is not installed: pip install prepriv[dask]"
    )
    import dask

    options = {"processes": False, "memory_limit": "2GB"} | options
    with (
        dask.config.set(CLOSED | options.pop("config", {})),
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", **options
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        yield Dask(client)


def charges(folder):
    return sum(entry.kind == "charged" for entry in Ledger.open(folder / "L.db").entries())


class Seeded(NoisySession):
    def batch_source(self):
        return self._source


def released(plan, data, engine, progress=None, labels=None):
    session = Seeded(NoiseSource.for_tests(5))
    out = train(
        plan, data, labels, session=session, room=room_for(plan, engine), counted=False, progress=progress
    )
    return out.weights.tobytes()
