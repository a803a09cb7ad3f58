"""A bar of the steps of a frozen plan: never of times or data."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def progress_bar(*, shown: bool | None = None) -> Iterator[Callable[[str, int, int], Any] | None]:
    """A bar on standard error, nothing else. shown: None: on a terminal only."""
    if not (sys.stderr.isatty() if shown is None and sys.stderr is not None else shown):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description:<15}"), BarColumn(40), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        tasks: dict[str, Any] = {}

        def update(stage: str, done: int, of: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=of or None)  # 0: of how many is not said
            bar.update(tasks[stage], completed=done)

        yield update


@contextlib.contextmanager
def waiting(stage: str) -> Iterator[None]:
    """A bar of a stage whose length is not told, on a terminal: it says this word and moves with the clock alone."""
    with progress_bar() as progress:
        if progress is not None:
            progress(stage, 0, 0)
        yield
