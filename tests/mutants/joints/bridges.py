"""Planted bugs: pipelines and runs of other libraries."""

from __future__ import annotations

from mutant import Mutant

MUTANTS: tuple[Mutant, ...] = ()
