"""Whether a saved report states what its model's plan gives: every number of the claim computed anew, and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prepriv.commands.exits import Stop, reason
from prepriv.domain import Domain
from prepriv.evaluation.plan import EvaluationPlan
from prepriv.guarantees.disjoint import disjoint
from prepriv.guarantees.guarantee import Guarantee
from prepriv.pipeline.stored import same
from prepriv.release.model import Model
from prepriv.release.page import claim, data_of
from prepriv.release.report import Report, paid_for

_LARGEST = 100_000_000  # bytes of a report that is read
_COMPARED = ("private", "guarantee", "paid", "plan", "plan_hash", "ledger")


def differences(path: Path, model: Model) -> list[str]:
    """What a report, .html or .json, states otherwise than the model: one line each; none if it is the model's.

    What was measured of records is not compared, as it stands in no other place; nor is what other ways would have cost.
    """
    text, data = _read(path)
    plan = model.declared
    whole = _whole(data, model)
    paid = tuple(paid_for(plan))
    made = Report(plan, model.private, (), None, paid, model.receipt, whole, model)
    there, here = dict(data), made.to_json()
    wrong = [name for name in _COMPARED if not same(there.get(name), here.get(name))]
    if path.suffix == ".html" and claim(made) not in text:
        wrong.append("the words of the claim")
    return wrong


class _Whole:
    """Stands for a measurement of which only the claim is known."""

    def __init__(self, whole: Guarantee | None) -> None:
        self.whole = whole

    def to_json(self) -> dict[str, Any]:
        return {}

    def fragment(self) -> str:
        return ""


def _whole(data: dict[str, Any], model: Model) -> _Whole | None:
    """Of training and measurement together, computed of both plans, where a report holds a measurement."""
    said = data.get("measured_in_private")
    if said is None or model.guarantee is None or "with_training" not in said:
        return None if said is None else _Whole(None)
    try:
        plan = said["plan"]
        domain = Domain.from_json(plan["domain"]).with_n(plan["n"])
        measures, edges = tuple(plan["evaluation"]), tuple(plan["edges"])
        told = plan["model"], plan["error_bound"]
        stated = EvaluationPlan(domain, plan["epsilon"], plan["delta"], measures, edges, *told)
        if not same(stated.to_json(), plan):
            raise ValueError
        return _Whole(disjoint([model.guarantee, stated.guarantee]))
    except Exception:
        raise Stop("the report holds an evaluation whose plan does not give what it states") from None


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        if path.stat().st_size > _LARGEST:
            raise Stop(f"{path} is too large for a report")
        text = path.read_text(encoding="utf-8")
        data = data_of(text)
        if not isinstance(data, dict):
            raise ValueError
    except OSError as error:
        raise Stop(f"{path} cannot be read: {reason(error)}") from None
    except (ValueError, RecursionError):
        raise Stop(f"{path} is no report of this library, or it is damaged") from None
    return text, data
