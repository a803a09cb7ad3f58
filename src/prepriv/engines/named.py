"""An engine by its name, as on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prepriv._arguments import shown
from prepriv.engines.engine import Engine, EngineError
from prepriv.engines.local import Threads


@contextmanager
def named(name: str | None, memory: int | str | None = None) -> Iterator[Engine]:
    """threads (None), torch or torch:DEVICE, dask (workers of this machine) or dask://HOST:PORT; what it starts ends with the block.

    memory: as for `Threads`, for engines that hold rows on this machine. EngineError for another name.
    """
    kind, _, rest = (name or "threads").partition(":")
    if name is None or name == "threads":
        yield Threads(memory=memory)
    elif kind == "torch":
        from prepriv.engines.torch_device import Torch

        yield Torch(rest or "cpu", memory)
    elif name == "dask":
        from prepriv.engines.dask_start import local_cluster

        with local_cluster() as engine:
            yield engine
    elif kind == "dask" and rest.startswith("//"):
        from prepriv.engines.dask_start import scheduler_at

        with scheduler_at(rest[2:]) as engine:
            yield engine
    else:
        raise EngineError(
            f"engine must be threads, torch, torch:cuda, dask or dask://HOST:PORT; got {shown(name)}"
        )
