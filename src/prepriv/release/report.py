"""The report: what was promised, to whom, and what each step cost, as JSON and as one HTML page.

Every number is a function of the frozen plan (or of a table the user declared public, and then says so).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

import jinja2
import numpy as np
from markupsafe import Markup

from prepriv._text import shown
from prepriv.guarantees.printed import exact, percent, places, up
from prepriv.pipeline.plan import Plan
from prepriv.pipeline.price import Price, prices
from prepriv.preprocessing.base import Floats
from prepriv.release import pictures
from prepriv.release.model import Model, write_atomically

TITLES = {"public": "public data", "budget": "privacy budget", "sensitivity": "sensitivity", "free": "free"}


@dataclass(frozen=True)
class Evaluation:
    """Accuracies on a table the user declared public; not part of the private release."""

    rows: int
    accuracy: float
    accuracy_without_privacy: float | None = None
    table: str = "a table declared public"

    def __str__(self) -> str:
        return f"accuracy on {self.table} (declared public): {100 * self.accuracy:.2f} %"


@dataclass(frozen=True)
class Errors:
    """How far predictions of a number are off on a table the user declared public; not part of the private release.

    r2: 1 less the mean squared error over the variance of the targets. error: root mean squared, in the target's unit.
    """

    rows: int
    r2: float
    error: float
    table: str = "a table declared public"

    def __str__(self) -> str:
        return (
            f"R² on {self.table} (declared public): {self.r2:.3f}, root mean squared error {self.error:.4g}"
        )

    @staticmethod
    def of(model: Model, rows: Any, targets: Floats, table: str) -> Errors:
        """Of a model on rows with finite targets (n,), which is all that is compared."""
        known = np.isfinite(targets)
        there = targets[known]
        square = float(np.square(model.predict(rows)[known] - there).mean())
        spread = float(there.var())
        return Errors(int(known.sum()), 1 - square / spread if spread else 0.0, math.sqrt(square), table)


class Measured(Protocol):
    """What was measured in private of the model (`prepriv.evaluation`)."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""

    def fragment(self) -> str:
        """Its part of the page, as HTML."""


@dataclass(frozen=True)
class Report:
    """What a run promises. `save("report.html")` or `save("report.json")`."""

    plan: Plan
    private: bool
    prices: tuple[Price, ...]
    evaluation: Evaluation | Errors | None = None
    paid: tuple[tuple[str, str, str], ...] = field(default=())
    receipt: Mapping[str, Any] | None = None
    measured: Measured | None = None

    def __repr__(self) -> str:
        claim = self.plan.guarantee if self.private else None
        return f"Report({claim or 'no privacy'}; save it as .html or .json)"

    @staticmethod
    def of(
        plan: Plan,
        *,
        private: bool,
        evaluation: Evaluation | Errors | None = None,
        receipt: Mapping[str, Any] | None = None,
        measured: Measured | None = None,
    ) -> Report:
        """The report of a plan. private: whether the run really used noise from the operating system.

        receipt: of the charge in a ledger (`Model.receipt`). measured: on rows set aside.
        """
        table: Sequence[Price] = ()
        if plan.private:
            steps = [p.step for p in plan.steps]
            table = prices(steps, plan.domain, plan.learner, epsilon=plan.epsilon, delta=plan.delta, n=plan.n)
        return Report(
            plan, private and plan.private, tuple(table), evaluation, tuple(paid_for(plan)), receipt, measured
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        out: dict[str, Any] = {
            "private": self.private,
            "guarantee": self.plan.guarantee.to_json(self.plan.delta)
            if self.private and self.plan.guarantee
            else None,
            "paid": [{"step": s, "way": w, "cost": c} for s, w, c in self.paid],
            "prices": [_finite(asdict(p)) for p in self.prices],
            "plan": self.plan.to_json(claimed=self.private),
            "plan_hash": self.plan.hash,
        }
        if self.receipt is not None:
            out["ledger"] = dict(self.receipt)
        if self.evaluation is not None:
            out["evaluation_on_public_table"] = asdict(self.evaluation)
        if self.measured is not None:
            out["measured_in_private"] = self.measured.to_json()
        return out

    def to_html(self) -> str:
        """One self-contained page."""
        source = resources.files("prepriv.release").joinpath("report.html.j2").read_text(encoding="utf-8")
        page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, finalize=_as_text)
        template = page.from_string(source)
        guarantee = self.plan.guarantee if self.private else None
        return template.render(
            up=up,
            places=places,
            exact=exact,
            plan=self.plan,
            guarantee=guarantee,
            epsilon=guarantee.epsilon(self.plan.delta) if guarantee else None,
            paid=self.paid,
            prices=self.prices,
            titles=TITLES,
            evaluation=self.evaluation,
            curve=Markup(pictures.curve(guarantee.tradeoff)) if guarantee else "",
            measured=Markup(self.measured.fragment()) if self.measured is not None else "",
            bars=Markup(pictures.bars(self.prices)) if self.prices else "",
            json=json.dumps(self.to_json(), sort_keys=True, indent=1, allow_nan=False),
        )

    def save(self, path: str | Path) -> Path:
        """Write .html or .json, by the name's ending."""
        path = Path(path)
        if path.suffix not in (".html", ".json"):
            raise ValueError(f"a report is saved as .html or .json; got {path.suffix or 'no ending'}")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (
            self.to_html()
            if path.suffix == ".html"
            else json.dumps(self.to_json(), sort_keys=True, indent=1, allow_nan=False) + "\n"
        )
        write_atomically(path, text)
        return path


def _as_text(value: Any) -> Any:
    plain = isinstance(value, str) and not isinstance(value, Markup)  # our own pictures are markup
    return shown(value, keep="\n") if plain else value


def _finite(data: Mapping[str, Any]) -> dict[str, Any]:
    return {k: (None if isinstance(v, float) and not math.isfinite(v) else v) for k, v in data.items()}


def paid_for(plan: Plan) -> list[tuple[str, str, str]]:
    """(step, way, cost in words) of every step and of training."""
    table = []
    for planned in plan.steps:
        step, way = planned.step, planned.step.way
        cost = {"free": "depends on no data", "public": "nothing"}.get(way, "")
        if way == "budget":
            cost = f"{percent(step.paid.share)} of the budget"
        if way == "sensitivity":
            common = planned.outgoing.total_shift
            cost = f"common rows move by at most {up(common, 4)} in total; noise grows"
            if planned.test is not None:
                cost += f"; {percent(step.paid.test)} of the budget on a test of the caps"
        table.append((step.name, way, cost))
    if plan.guarantee is not None:
        share = dict(plan.guarantee.breakdown)[plan.learner.name]
        if math.isnan(share):
            cost = "the rest of the budget"
        else:
            cost = f"{percent(share)} of the budget"
        table.append((f"{plan.learner.name} ({plan.learner.steps} steps)", "budget", cost))
    return table
