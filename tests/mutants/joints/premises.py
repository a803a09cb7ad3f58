"""Planted bugs: what a claim rests on, and of which rows."""

from __future__ import annotations

from mutant import Mutant

MUTANTS: tuple[Mutant, ...] = ()
