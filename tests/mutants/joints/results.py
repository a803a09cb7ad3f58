"""Planted bugs: intervals and drafts."""

from __future__ import annotations

from mutant import Mutant

MUTANTS: tuple[Mutant, ...] = ()
