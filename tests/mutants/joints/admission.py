"""Planted bugs: what happens before a private cell is read."""

from __future__ import annotations

from mutant import Mutant

MUTANTS: tuple[Mutant, ...] = ()
