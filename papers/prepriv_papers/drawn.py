"""Pictures of the reproductions, drawn where matplotlib is installed. The numbers of a run do not need them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, ParamSpec

from prepriv.commands.printing import console

P = ParamSpec("P")


def new_figure(width: float, height: float) -> Any:
    """An empty picture, in inches, that needs no screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def drawn(draw: Callable[P, None]) -> Callable[P, None]:
    """A function that draws, or says once that nothing is drawn because matplotlib is not installed."""

    @functools.wraps(draw)
    def drawing(*arguments: P.args, **named: P.kwargs) -> None:
        if find_spec("matplotlib") is None:
            _say_once()
        else:
            draw(*arguments, **named)

    return drawing


@functools.cache
def _say_once() -> None:
    console.print("matplotlib is not installed: no picture is drawn, every number is there all the same")
