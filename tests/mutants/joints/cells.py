"""Planted bugs: odd cells in every container."""

from __future__ import annotations

from mutant import Mutant

MUTANTS: tuple[Mutant, ...] = ()
