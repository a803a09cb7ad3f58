"""Planted bugs: ledgers in containers and on servers."""

from __future__ import annotations

from mutant import Mutant

MUTANTS: tuple[Mutant, ...] = ()
