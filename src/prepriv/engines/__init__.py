"""Where the integers of rows live and who adds them up: the same sums, to the bit, on every engine. docs/large.md."""

from typing import TYPE_CHECKING

from prepriv._asked import when_asked
from prepriv.engines.named import named

if TYPE_CHECKING:
    from prepriv.engines.dask_cluster import Dask
    from prepriv.engines.engine import Engine, EngineError, NoRoom
    from prepriv.engines.local import Threads
    from prepriv.engines.torch_device import Torch

__all__ = ["Dask", "Engine", "EngineError", "NoRoom", "Threads", "Torch", "named"]

__getattr__, __dir__ = when_asked(
    __name__,
    {
        "Dask": "dask_cluster",
        "Engine": "engine",
        "EngineError": "engine",
        "NoRoom": "engine",
        "Threads": "local",
        "Torch": "torch_device",
    },
)
