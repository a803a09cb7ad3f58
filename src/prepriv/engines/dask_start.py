"""Dask clusters by their names: workers of this machine, or those of a scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from prepriv.engines.dask_cluster import Dask, is_closed
from prepriv.engines.engine import EngineError

_PATIENCE = "10s"
CLOSED: dict[str, Any] = {
    "distributed.worker.memory.target": False,  # nothing on disk
    "distributed.worker.memory.spill": False,
    "distributed.scheduler.http.routes": [],  # no pages
    "distributed.worker.http.routes": [],
}


@contextmanager
def local_cluster() -> Iterator[Dask]:
    """Workers of this machine, one a core, until the block ends."""
    distributed = _distributed()
    import dask

    with (
        dask.config.set(CLOSED),
        distributed.LocalCluster(  # others on this machine can connect to its ports, too
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},  # it asks for no login; without it that port has no page
            security=True,
            protocol="tls",
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield Dask(client)


@contextmanager
def scheduler_at(address: str) -> Iterator[Dask]:
    """The cluster of HOST:PORT, over TLS unless that is this machine. EngineError where nobody answers."""
    distributed = _distributed()
    security = distributed.Security()
    secure = security.tls_ca_file is not None
    if not secure and not is_closed(f"tcp://{address}"):
        raise EngineError(
            "a cluster beyond this machine needs TLS: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, "
            "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT and DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY"
        )
    try:
        kind = "tls" if secure else "tcp"
        client = distributed.Client(
            f"{kind}://{address}", security=security, timeout=_PATIENCE, set_as_default=False
        )
    except Exception:
        raise EngineError(f"no Dask scheduler answers at {address}") from None
    with client:
        yield Dask(client)


def _distributed() -> Any:
    if find_spec("distributed") is None:
        raise EngineError("this engine needs Dask: pip install 'prepriv[dask]'")
    import distributed

    return distributed
