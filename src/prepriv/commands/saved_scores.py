"""A score that was measured after its model was released, .html or .json: all that it says follows from its plan and its noisy counts, and is computed again. docs/learn/auditing.md."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from prepriv._version import own_version
from prepriv.commands.verify import digits_apart, digits_in_words, other_lines, places_apart
from prepriv.domain import Domain
from prepriv.evaluation.evaluation_plan import EvaluationPlan, which_rows, whose_rows_in_words
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.ledger import Entry
from prepriv.release.model import Model, checked_receipt
from prepriv.release.page import data_of

_LARGEST = 100_000_000  # bytes of a score that is read
_STATED_ROWS = re.compile(r"\bn = ([\d,]+) test (?:rows|units)\b")
_NO_ROWS = "Its number of test rows could not be read, so declared numbers show nothing."
_BEFORE = "its words were not compared with its numbers: {why}, so they are stated by the file alone"


@dataclass
class SavedScore:
    """What a score says otherwise than its own numbers and its model give; why its words were not compared; and what declared numbers show about whose rows these were."""

    wrong: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    rows: str = _NO_ROWS


def read_score(file: Path, model: Model, paid: Entry) -> SavedScore:
    """Compute a saved score again. Nothing is taken from its words: a row of a ledger holds the hash of whatever was written, also of words that were edited first.

    model: that was measured. paid: the charge for the score.
    """
    try:
        if file.stat().st_size > _LARGEST:
            raise ValueError
        text = file.read_bytes().decode("utf-8")
    except (OSError, ValueError):
        return SavedScore(undecided=[_BEFORE.format(why="it cannot be read")])
    data: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        data = data_of(text)
    if not isinstance(data, Mapping) or data.get("version") != own_version():
        stated = _STATED_ROWS.search(text)
        rows = int(stated[1].replace(",", "")) if stated else _declared(data)
        made_by = data.get("version") if isinstance(data, Mapping) else None
        why = (
            f"version {made_by} made it"
            if made_by
            else "it holds none that can be read: an earlier version wrote scores without them, or they were cut out"
        )
        said = _NO_ROWS if rows is None else whose_rows_in_words(rows, model)
        return SavedScore(undecided=[_BEFORE.format(why=why)], rows=said)
    try:
        made = _made(data, model)
        here = made.data()
    except Exception:
        return SavedScore(["its plan and its counts are not those of a measurement"])
    found = SavedScore(rows=made.which_rows)
    if made.plan.hash != paid.plan_hash:
        found.wrong.append(f"its plan is not the one that row {paid.sequence} paid for")
    if apart := places_apart(here, dict(data), "data"):
        found.wrong.append(
            f"its plan, its counts and its model do not give what it states at {'; '.join(apart[:5])}"
        )
    elif digits := digits_apart(here, dict(data)):
        found.undecided.append(
            f"{digits_in_words(digits)}. The person who measured it can verify it on the machine that wrote it"
        )
    is_page = file.suffix.lower() in (".html", ".htm")
    found.wrong += [
        f"it is not what its own numbers and its model give: {line}"
        for line in (other_lines(text, made, dict(data), is_page, alike=not apart) if is_page else [])
    ]
    return found


def _declared(data: Any) -> int | None:
    """The number of test rows in the data of a score."""
    plan = data.get("plan") if isinstance(data, Mapping) else None
    rows = plan.get("n") if isinstance(plan, Mapping) else None
    return rows if type(rows) is int else None


def _made(data: Mapping[str, Any], model: Model) -> PrivateEvaluation:
    """The score that its plan, its counts and its model give. Raises for data of anything else."""
    said = data["plan"]
    plan = EvaluationPlan(
        Domain.from_json(said["domain"]).with_n(said["n"]),
        said["epsilon"],
        said["delta"],
        tuple(said["evaluation"]),
        tuple(said["edges"]),
        said["model"],
        said["error_bound"],
        said.get("by"),
        tuple(said.get("groups", ())),
        tuple(said.get("class_weight", ())),
    )
    counts = {name: np.array(data["counts"][name], dtype=float) for name in plan.releases}
    weighed = model.class_weight is not None or bool(plan.class_weight)
    return PrivateEvaluation(
        plan,
        counts,
        bool(data["private"]),
        checked_receipt(data.get("ledger")),
        weighed=weighed,
        which_rows=which_rows(plan, model),
    )
