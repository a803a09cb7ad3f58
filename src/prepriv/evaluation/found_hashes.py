"""Hashes of what a run found and no model gives again: noisy counts of a score, guessed canaries, what a public table showed. A ledger holds them beside the release.

A page states these numbers. Its words follow from them and from the model, so an edit of the numbers that changes all words with
them is found by their hash alone. They were released under the charge that the row belongs to, so their hash costs nothing more.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from prepriv.evaluation.result import PrivateEvaluation
from prepriv.guarantees.one_run import OneRun

if TYPE_CHECKING:
    from prepriv.release.report import Errors, Evaluation

OnPublic: TypeAlias = "Evaluation | Errors"
SCORE, CANARIES, PUBLIC = "score", "canaries", "public"
SAID = {
    SCORE: "the noisy counts, and what was measured of them",
    CANARIES: "how many canaries were guessed, and the noise that was found",
    PUBLIC: "what was measured on a table that was declared public",
}
"""What follows from no model, by what a ledger may hold a hash of."""
_NOTED = re.compile(rf"({SCORE}|{CANARIES}|{PUBLIC}) ([0-9a-f]{{40,64}})")
_DIGITS = {SCORE: 64, CANARIES: 64, PUBLIC: 40}  # so that a note of a ledger, 200 characters, holds all three


def found_hashes(
    measured: PrivateEvaluation | None, audited: OneRun | None, public: OnPublic | None = None
) -> dict[str, str]:
    """The hash of each, by its name; nothing for what a run did not do."""
    found: dict[str, Any] = {}
    if measured is not None:
        counts = {name: np.asarray(values, dtype=float).tolist() for name, values in measured.counts.items()}
        found[SCORE] = {"plan": measured.plan.hash, "counts": counts}
    if audited is not None:
        found[CANARIES] = [audited.canaries, audited.correct, audited.noise]
    if public is not None:
        found[PUBLIC] = asdict(public)
    return {
        name: hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[: _DIGITS[name]]
        for name, data in found.items()
    }


def found_note(
    measured: PrivateEvaluation | None, audited: OneRun | None, public: OnPublic | None = None
) -> str:
    """The same as the note of a release in a ledger."""
    return ", ".join(f"{name} {digest}" for name, digest in found_hashes(measured, audited, public).items())


def found_in(note: str) -> dict[str, str]:
    """What such a note holds."""
    return dict(_NOTED.findall(note))
