"""What a reproduction says in the end of each table and figure of its paper, and long runs that go on where they stopped.

A module that backs a command of `prepriv reproduce` has `ITEMS`, which lists the items before anything is computed, and
prints the same items with its numbers by `print_items`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from prepriv.commands.common import console, print_table
from prepriv.commands.exits import Stop

Verdict = Literal["same", "paper is wrong", "not reproducible", "setting differs"]
QUIET = 10.0  # seconds between two lines of progress


@dataclass(frozen=True)
class Item:
    """One table, figure or bound of a paper beside ours.

    paper: its title. item: "Table 2". setting: in which the paper has `theirs`. theirs, ours: numbers, as texts.
    why: the reason for the verdict; which erratum, what is missing, what differs.

    >>> Item("A Paper", "Table 1", "n = 10", "0.5", "0.5", "same", "to all digits").verdict
    'same'
    """

    paper: str
    item: str
    setting: str
    theirs: str
    ours: str
    verdict: Verdict
    why: str

    def __post_init__(self) -> None:
        if not self.why:
            raise ValueError(f"{self.item}: a verdict needs its reason")

    def found(self, ours: str, **changes: Any) -> Item:
        """The same item with the number of this run (and its verdict and reason, if the run decides them)."""
        return replace(self, ours=ours, **changes)


_collected: ContextVar[list[Item] | None] = ContextVar("collected", default=None)


@contextmanager
def collected() -> Iterator[list[Item]]:
    """The items that are printed while it is open, in their order: what `--json` prints in the end."""
    items: list[Item] = []
    before = _collected.set(items)
    try:
        yield items
    finally:
        _collected.reset(before)


def print_items(items: Sequence[Item]) -> None:
    """One table a paper: item, the paper's number and setting, ours, verdict and reason."""
    found = _collected.get()
    if found is not None:
        found.extend(items)
    for paper in dict.fromkeys(i.paper for i in items):
        rows = [
            (i.item, i.setting, i.theirs, i.ours, f"{i.verdict}: {i.why}") for i in items if i.paper == paper
        ]
        print_table(f"{paper}: verdicts", ("item", "setting", "paper", "ours", "verdict"), rows)


def items_of(command: Callable[..., None]) -> tuple[Item, ...]:
    """The items of a reproduction, from `ITEMS` of the module its function stands in, or its own part of `ITEMS_OF`,
    by the function's name, where a module backs several commands. Raises AttributeError."""
    module = import_module(command.__module__)
    found: tuple[Item, ...] = getattr(module, "ITEMS_OF", {}).get(command.__name__, module.ITEMS)
    return found


class Resume:
    """Rows of a long run, one JSON line each, written as they come; a second run starts behind the last of them.

    setting: what the rows depend on, the first line of the file; another setting is refused. total: rows in all, for
    the progress that is printed now and then, on a terminal and off it (0: none is printed).

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> Resume(file, {"n": 3}).row("a", lambda: {"loss": 0.5})
    {'loss': 0.5}
    >>> Resume(file, {"n": 3}).row("a", lambda: {"loss": 1 / 0})  # there already
    {'loss': 0.5}
    """

    def __init__(self, path: Path, setting: Mapping[str, Any], total: int = 0) -> None:
        self._path, self._total, self._begun, self._said = path, total, time.monotonic(), time.monotonic()
        first = json.dumps({"setting": setting}, ensure_ascii=False, sort_keys=True)
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        lines = text[: text.rfind("\n") + 1].splitlines()  # a line cut short by a kill is computed again
        if lines and lines[0] != first:
            raise Stop(f"{path} holds rows of another setting: remove it, or choose another --out")
        self._rows = {line["key"]: line["row"] for line in map(json.loads, lines[1:])}
        path.write_text("".join(f"{line}\n" for line in lines or [first]), encoding="utf-8")
        if self._rows and total:
            console.print(f"{path}: goes on behind {len(self._rows)} rows")

    def row(self, key: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The row of this name: read, or computed and written."""
        if key not in self._rows:
            row = compute()
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "row": row}, ensure_ascii=False) + "\n")
            self._rows[key] = row
            if self._total and time.monotonic() - self._said > QUIET:
                self._said = time.monotonic()
                seconds = self._said - self._begun
                console.print(f"  {len(self._rows)} of {self._total} rows, {seconds:.0f} s: {key}")
        return self._rows[key]
