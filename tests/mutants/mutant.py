"""One planted bug."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A bug. file: in src/prepriv; old occurs there exactly once. tests: what to run, as arguments of pytest."""

    name: str
    published: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
