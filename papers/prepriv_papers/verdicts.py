"""What a reproduction says in the end of each item of its paper, and long runs that go on where they stopped.

A module that backs a command of `prepriv reproduce` has `ITEMS`: what the paper says, and the facts about the numbers of
a run that decide the verdict. Nothing here knows a verdict before it has seen numbers.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from prepriv.commands.exits import Stop
from prepriv.commands.printing import console, print_table

Verdict = Literal[
    "same",
    "paper is wrong",
    "not reproducible",
    "setting differs",
    "no claim",
    "not confirmed",
    "not decided at this size",
    "not run",
]
Numbers = Mapping[str, Any]
QUIET = 10.0  # seconds between two lines of progress
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,  # StopIteration inside a generator
    StopIteration,
    TypeError,
    ValueError,
)


@dataclass(frozen=True)
class Fact:
    """A number of a run that must lie between two bounds, and why they are where they are.

    says: what the number is. value: reads it from the numbers of a run; what cannot be read is no number, and no number lies
    between bounds.

    >>> Fact("δ", lambda numbers: numbers["delta"], 2.5e-6, 3.5e-6, "one digit is printed").holds({"delta": 3e-6})
    True
    """

    says: str
    value: Callable[[Numbers], float]
    low: float
    high: float
    because: str

    def read(self, numbers: Numbers) -> float:
        """The number, or nan."""
        try:
            with np.errstate(all="ignore"):
                return float(self.value(numbers))
        except UNREADABLE:
            return math.nan

    def holds(self, numbers: Numbers) -> bool:
        """Whether it lies between the bounds."""
        return self.low <= self.read(numbers) <= self.high

    @property
    def bounds(self) -> str:
        """The two bounds, in words."""
        if self.low == self.high:
            return f"{self.low:.6g}"
        if self.low == -math.inf:
            return f"at most {self.high:.6g}"
        return f"at least {self.low:.6g}" if self.high == math.inf else f"{self.low:.6g} … {self.high:.6g}"

    @property
    def asked(self) -> str:
        """What is asked of the number."""
        return f"{self.says} is {self.bounds}"

    def told(self, numbers: Numbers) -> str:
        """The number, its bounds and their reason, in one line."""
        return f"{self.says}: {self.read(numbers):.6g} (asked: {self.bounds}; {self.because})"


@dataclass(frozen=True)
class Case:
    """A verdict, its reason, and the facts that all have to hold for it."""

    verdict: Verdict
    why: str
    facts: tuple[Fact, ...] = ()

    def __post_init__(self) -> None:
        if not self.why:
            raise ValueError(f"{self.verdict}: a verdict needs its reason")
        if not self.facts and self.verdict != "no claim":
            raise ValueError(f"{self.verdict}: a verdict needs a fact that decides it")


@dataclass(frozen=True)
class Found:
    """An item beside the numbers of a run: what is printed and written."""

    paper: str
    item: str
    setting: str
    theirs: str
    ours: str
    verdict: Verdict
    why: str
    decided_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """One statement, table or figure of a paper, and what decides about it.

    paper: its title. item: "Table 2". setting: in which the paper has `theirs`. cases: the first whose facts all hold is the
    verdict; if none is, the item is not confirmed. ours: the numbers of a run, as a text. needs: parts of the numbers
    without which the item was not run. noisy: a small run decides nothing of it. call: what does it on one's own
    data, as an import path. where: file of the repository that holds it.
    """

    paper: str
    item: str
    setting: str
    theirs: str
    cases: tuple[Case, ...]
    ours: Callable[[Numbers], str]
    needs: tuple[str, ...] = ()
    noisy: bool = False
    call: str = ""
    where: str = ""

    def found(self, numbers: Numbers, *, small: bool = False) -> Found:
        """What the numbers of a run decide. small: it was a run of the small size."""
        missing = [name for name in self.needs if not _at(numbers, name)]
        if missing:
            return self.not_run(f"this run has no {', '.join(missing)}")
        try:
            ours = self.ours(numbers)
        except UNREADABLE:
            ours = "-" if small else "unreadable"
        case = next((c for c in self.cases if all(f.holds(numbers) for f in c.facts)), None)
        if case is not None and case.verdict == "no claim":
            return self._as(ours, "no claim", case.why)
        if self.noisy and small:
            why = "it depends on noise, and on rows that a small run does not have"
            return self._as(ours, "not decided at this size", why)
        if case is None:
            first = self.cases[0].facts
            failed = [f.told(numbers) for f in first if not f.holds(numbers)]
            return self._as(ours, "not confirmed", f"not so: {failed[0]}", *(f.told(numbers) for f in first))
        return self._as(ours, case.verdict, case.why, *(f.told(numbers) for f in case.facts))

    def not_run(self, why: str) -> Found:
        """What is said of it if nothing was computed."""
        return self._as("-", "not run", why)

    def asks(self) -> str:
        """Each verdict that it can get, and the facts that it rests on."""
        return "; ".join(
            f"{c.verdict}, if {' and '.join(f.asked for f in c.facts)}" if c.facts else c.verdict
            for c in self.cases
        )

    def _as(self, ours: str, verdict: Verdict, why: str, *facts: str) -> Found:
        return Found(self.paper, self.item, self.setting, self.theirs, ours, verdict, why, facts)


def _at(numbers: Any, name: str) -> Any:
    """What stands at "a.b" of the numbers, or None."""
    for part in name.split("."):
        numbers = numbers.get(part) if isinstance(numbers, Mapping) else None
    return numbers


def entry(name: str) -> Callable[[Numbers], float]:
    """Reads "a.b.c" of the numbers.

    >>> entry("a.b")({"a": {"b": 2.0}})
    2.0
    """

    def read(numbers: Numbers) -> float:
        held: Any = numbers
        for part in name.split("."):
            held = held[part]
        return float(held)

    return read


_collected: ContextVar[list[Found] | None] = ContextVar("collected", default=None)


@contextmanager
def collected() -> Iterator[list[Found]]:
    """The items that are printed while it is open, in their order: what `--json` prints in the end."""
    items: list[Found] = []
    before = _collected.set(items)
    try:
        yield items
    finally:
        _collected.reset(before)


def decide(items: Sequence[Item], numbers: Numbers, *, small: bool = False) -> list[Found]:
    """What a run decides of each item, printed: one table a paper, and under it what decided."""
    found = [item.found(numbers, small=small) for item in items]
    print_found(found)
    return found


def print_found(items: Sequence[Found]) -> None:
    """Item, the paper's number and setting, ours, verdict and reason; then the facts that decided."""
    kept = _collected.get()
    if kept is not None:
        kept.extend(items)
    for paper in dict.fromkeys(i.paper for i in items):
        mine = [i for i in items if i.paper == paper]
        rows = [(i.item, i.setting, i.theirs, i.ours, f"{i.verdict}: {i.why}") for i in mine]
        print_table(f"{paper}: verdicts", ("item", "setting", "paper", "ours", "verdict"), rows)
        for i in mine:
            for fact in i.decided_by:
                console.print(f"  {i.item}: {fact}")


def items_of(command: Callable[..., None]) -> tuple[Item, ...]:
    """The items of a reproduction, from `ITEMS` of the module its function stands in, or its own part of `ITEMS_OF`,
    by the function's name, where a module backs several commands. Raises AttributeError."""
    module = import_module(command.__module__)
    found: tuple[Item, ...] = getattr(module, "ITEMS_OF", {}).get(command.__name__, module.ITEMS)
    return found


class Resume:
    """Rows of a long run, one JSON line each, written as they come; a second run starts after the last of them.

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
            console.print(f"{path}: goes on after {len(self._rows)} rows")

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
