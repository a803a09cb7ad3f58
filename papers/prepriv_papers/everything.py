"""`prepriv reproduce all` and `prepriv reproduce list`: every reproduction in turn, and what decides about each item."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prepriv.commands.printing import console, print_table
from prepriv_papers.verdicts import Item, items_of, print_found

Command = Callable[..., None]


def run_all(
    commands: Mapping[str, Command], folders: Mapping[str, Path | None], out: Path, small: bool
) -> None:
    """Each command with what it takes of --data and --features (`folders`), --out (a folder of its own under OUT) and --small."""
    begun = time.monotonic()
    for number, (name, command) in enumerate(commands.items(), 1):
        takes = inspect.signature(command).parameters
        given: dict[str, Any] = {**folders, "out": out / name, "small": small}
        lacks = [
            option
            for option, folder in folders.items()
            if folder is None and option in takes and takes[option].default is inspect.Parameter.empty
        ]
        if lacks:
            why = f"it needs --{lacks[0]}"
            console.print(f"\n({number} of {len(commands)}) {name}: not run, {why}", style="bold")
            print_found([item.not_run(why) for item in items_of(command)])
            continue
        console.print(f"\n({number} of {len(commands)}) {name}", style="bold")
        command(**{key: value for key, value in given.items() if key in takes})
    console.print(f"all of it: {time.monotonic() - begun:.0f} s")


def listed(commands: Mapping[str, Command]) -> list[tuple[str, Item]]:
    """Every item with the name of its command."""
    return [(name, item) for name, command in commands.items() for item in items_of(command)]


def print_list(entries: Sequence[tuple[str, Item]]) -> None:
    """Paper, item, command, what the paper says, and which verdict follows from which facts; nothing is computed."""
    for paper in dict.fromkeys(item.paper for _, item in entries):
        rows = [
            (item.item, f"reproduce {name}", item.theirs, item.asks())
            for name, item in entries
            if item.paper == paper
        ]
        print_table(paper, ("item", "command", "paper", "verdict, if"), rows)
