"""The report: what was promised, to whom, and what each step cost, as JSON and as one HTML page.

Every number is a function of the frozen plan (or of a table the user declared public, and then says so).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._text import printable
from prepriv._version import own_version
from prepriv.guarantees.drafts import claims, with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.in_words import claim_in_html, short
from prepriv.guarantees.one_run import OneRun
from prepriv.guarantees.printed import percent, up
from prepriv.plans.plan import Plan
from prepriv.plans.price import Price, prices
from prepriv.preprocessing.base import RowShift
from prepriv.release.audited import audit_json
from prepriv.release.both_accounts import said_of
from prepriv.release.model import FILE, Model
from prepriv.release.proofs import proofs_of_report
from prepriv.release.quality import RARE_BESIDE, Quality
from prepriv.release.reported import Measurement
from prepriv.release.review import review
from prepriv.release.shares import Share
from prepriv.release.summary import ReportSummary
from prepriv.release.writing import write_atomically

TITLES = {
    "public": "public data",
    "budget": "privacy budget",
    "sensitivity": "sensitivity",
    "sketch": "a sketch of the table",
    "free": "free",
}  # of the ways to pay


@dataclass(frozen=True)
class Evaluation:
    """Accuracies on a table the user declared public; not part of the private release.

    by_epsilon: (ε, accuracy) of other runs on the same public data. commonest: the commonest class of the table, and its share.
    recalls: of each class that the table has, the share of its rows that are recognised. alarms: of each class that has at most RARE_BESIDE times
    as many rows as the commonest one, the share of its predictions that are right. without: rows whose label is not a declared class, which
    no figure is about.
    """

    rows: int
    accuracy: float
    accuracy_without_privacy: float | None = None
    table: str = "a table declared public"
    by_epsilon: tuple[tuple[float, float], ...] = ()
    commonest: tuple[str, float] | None = None
    recalls: tuple[tuple[str, float], ...] = ()
    alarms: tuple[tuple[str, float | None], ...] = ()
    without: int = 0

    def __str__(self) -> str:
        beside = ""
        if self.commonest is not None:
            beside = f"; always {printable(self.commonest[0])!r}, the commonest class: {100 * self.commonest[1]:.2f} %"
        return f"accuracy on {self.table} (declared public): {100 * self.accuracy:.2f} %{beside}"

    @staticmethod
    def of(predicted: NDArray[Any], true: NDArray[Any], classes: Sequence[Any], table: str) -> Evaluation:
        """Of the classes that were predicted and that were there, (n,), as indices of `classes`; -1: none of them."""
        known = true >= 0
        predicted, true, without = predicted[known], true[known], int((~known).sum())
        right, counts = predicted == true, np.bincount(true, minlength=len(classes))
        there = [(k, str(name)) for k, name in enumerate(classes) if counts[k]]
        most = (str(classes[int(counts.argmax())]), float(counts.max() / len(true)))
        recalls = tuple((name, float(right[true == k].mean())) for k, name in there)
        rare = [(k, name) for k, name in there if counts[k] <= RARE_BESIDE * counts.max()]
        alarms = tuple((name, _mean(right[predicted == k])) for k, name in rare)
        return Evaluation(
            len(true),
            float(right.mean()),
            table=table,
            commonest=most,
            recalls=recalls,
            alarms=alarms,
            without=without,
        )

    @property
    def quality(self) -> Quality:
        """In plain words."""
        return Quality(
            _public_rows(self.rows, self.without, self.table),
            Share("right", self.accuracy),
            None if self.commonest is None else Share(*self.commonest),
            tuple(Share(*one) for one in self.recalls),
            rare=tuple(name for name, _ in self.alarms),
            alarms=tuple(Share(*one) for one in self.alarms),
            balanced=_balanced(self.recalls),
            apart=self._apart,
        )

    @property
    def _apart(self) -> str | None:
        """Balanced accuracy where it lies above chance: of these rows, without an interval."""
        found = _balanced(self.recalls)
        above = found is not None and found.floor > 1 / len(self.recalls)
        return f"balanced accuracy {found.value:.3f} on these rows" if above and found is not None else None


def _public_rows(rows: int, without: int, table: str) -> str:
    more = f" ({without:,} more have no declared label)" if without else ""
    return f"{rows:,} rows of {table}{more}, declared public"


def _mean(right: NDArray[Any]) -> float | None:
    return float(right.mean()) if len(right) else None


def _balanced(recalls: tuple[tuple[str, float], ...]) -> Share | None:
    return Share("balanced accuracy", sum(r for _, r in recalls) / len(recalls)) if len(recalls) > 1 else None


@dataclass(frozen=True)
class Errors:
    """How far predictions of a number are off on a table the user declared public; not part of the private release.

    r2: 1 less the mean squared error over the variance of the targets. error: root mean squared, in the target's unit. without: rows whose
    target is not a number, which no figure is about.
    """

    rows: int
    r2: float
    error: float
    table: str = "a table declared public"
    without: int = 0

    def __str__(self) -> str:
        mean = self.quality.mean_error
        beside = "" if mean is None else f", that of the mean {mean:.4g}"
        return f"R² on {self.table} (declared public): {self.r2:.3f}, root mean squared error {self.error:.4g}{beside}"

    @property
    def quality(self) -> Quality:
        """In plain words."""
        mean = self.error / math.sqrt(1 - self.r2) if self.r2 < 1 else None
        where = _public_rows(self.rows, self.without, self.table)
        return Quality(where, of_number=True, error=self.error, mean_error=mean, beats_mean=self.r2 > 0)

    @staticmethod
    def of(model: Model, rows: Any, targets: Floats, table: str) -> Errors:
        """Of a model on rows with finite targets (n,), which is all that is compared."""
        known = np.isfinite(targets)
        there = targets[known]
        square = float(np.square(model.predict(rows)[known] - there).mean())
        spread = float(there.var())
        r2 = 1 - square / spread if spread else 0.0
        return Errors(int(known.sum()), r2, math.sqrt(square), table, int((~known).sum()))


@dataclass(frozen=True, repr=False)
class Report:
    """What a run promises, to whom, and what each step cost, as JSON and as one HTML page.

    `PrivateClassifier.report_` is one. `Report.of` makes one from a plan.

    Parameters
    ----------
    plan : Plan
        What was done.
    private : bool
        Whether the run really used noise from the operating system. False: no guarantee is stated.
    prices : tuple of Price
        What each step would cost in each way of payment.
    evaluation : Evaluation or Errors, optional
        What was measured on a table that you declared public. None: nothing.
    paid : tuple of (str, str, str), default ()
        (step, way, cost in words) of every step and of training.
    receipt : mapping, optional
        The receipt of the charge in a ledger. None: no ledger was charged.
    measured : PrivateEvaluation, optional
        What was measured privately, on rows set aside. None: nothing.
    model : Model, optional
        The released model, if the report shows it. None: it does not.
    audited : OneRun, optional
        What the canaries of the run showed. None: the run had none.

    See Also
    --------
    Model : What the report is about.

    Notes
    -----
    Every number is a function of the frozen plan, or of a table that was declared public. The report says which.

    Examples
    --------
    >>> import tempfile, prepriv
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> from prepriv.preprocessing import Normalize
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1], n=1000)
    >>> plan = prepriv.make_plan(domain, [Normalize()], GradientDescent(Logistic()), epsilon=1.0, delta=1e-5)
    >>> report = prepriv.Report.of(plan, private=True)
    >>> report.paid
    (('Normalize', 'free', 'depends on no data'), ('GradientDescent (100 steps)', 'budget', '100% of the budget'))
    >>> report.save(f"{tempfile.mkdtemp()}/report.html").name
    'report.html'
    """

    plan: Plan
    private: bool
    prices: tuple[Price, ...]
    evaluation: Evaluation | Errors | None = None
    paid: tuple[tuple[str, str, str], ...] = field(default=())
    receipt: Mapping[str, Any] | None = None
    measured: Measurement | None = None
    model: Model | None = None
    audited: OneRun | None = None

    def __repr__(self) -> str:
        return f"Report({short(self.guarantee, self.plan.delta)}; save it as .html or .json)"

    def _repr_html_(self) -> str:
        return self.summary.to_html() + claim_in_html(self.guarantee, self.plan.delta, "Report")

    @cached_property
    def summary(self) -> ReportSummary:
        """The first part of the report: what is predicted, how well, for whom it fails, what to do about it, and the promise."""
        return ReportSummary.of(self)

    @cached_property
    def guarantee(self) -> Guarantee | None:
        """What is claimed for everything that the page shows: the model, how it was chosen, how it was measured, and
        the draft of its domain."""
        return with_drafts(self.part, self.plan.domain, self.plan.delta, self.plan.n)

    @property
    def part(self) -> Guarantee | None:
        """The same without the drafts of the domain."""
        if not self.private:
            return None
        if self.measured is not None and self.measured.whole is not None:
            return self.measured.whole
        return self.plan.guarantee if self.model is None else self.model.part

    @cached_property
    def artifact(self) -> dict[str, str] | None:
        """The name and the SHA-256 of the model's file, as a ledger and `sha256sum` give it. None without a model."""
        if self.model is None:
            return None
        return {"file": FILE, "sha256": hashlib.sha256(self.model.text().encode()).hexdigest()}

    @property
    def claims(self) -> dict[str, Any] | None:
        """The parts that the claim adds up: this run and each draft. None if the domain was declared."""
        return claims(self.part, self.plan.domain, self.plan.delta)

    @staticmethod
    def of(
        plan: Plan,
        *,
        private: bool,
        evaluation: Evaluation | Errors | None = None,
        receipt: Mapping[str, Any] | None = None,
        measured: Measurement | None = None,
        model: Model | None = None,
        audited: OneRun | None = None,
    ) -> Report:
        """Make the report of a plan, with the price of every other way to pay.

        Parameters
        ----------
        plan : Plan
            What was done, or will be.
        private : bool
            Whether the run really used noise from the operating system.
        evaluation, receipt, measured, model, audited : optional
            As for `Report`.

        Returns
        -------
        Report
        """
        table: Sequence[Price] = ()
        if plan.private:
            steps = [p.step for p in plan.steps]
            table = prices(steps, plan.domain, plan.learner, epsilon=plan.epsilon, delta=plan.delta, n=plan.n)
        private = private and plan.private
        return Report(
            plan, private, tuple(table), evaluation, tuple(paid_for(plan)), receipt, measured, model, audited
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        out: dict[str, Any] = {
            "summary": self.summary.to_json(),
            "version": own_version(),
            "private": self.private,
            "guarantee": self.guarantee.to_json(self.plan.delta) if self.guarantee else None,
            "paid": [{"step": s, "way": w, "cost": c} for s, w, c in self.paid],
            "prices": [_finite(asdict(p)) for p in self.prices],
            "plan": self.plan.to_json(claimed=self.private),
            "plan_hash": self.plan.hash,
        }
        if self.guarantee is not None:
            out["second_accountant"] = said_of(self)
            out["proofs"] = proofs_of_report(self)
            out["review"] = [{"question": q, "answer": a} for q, a in review(self)]
        if self.claims is not None:
            out["claims"] = self.claims
        if self.artifact is not None:
            out["artifact"] = self.artifact
        if self.receipt is not None:
            out["ledger"] = dict(self.receipt)
        if self.evaluation is not None:
            out["evaluation_on_public_table"] = asdict(self.evaluation)
        if self.measured is not None:
            out["measured_in_private"] = self.measured.to_json()
        if self.audited is not None:
            out["self_audit"] = audit_json(self.plan, self.audited)
        return out

    def text(self) -> str:
        """`to_json` as text."""
        return as_text(self.to_json())

    def to_html(self) -> str:
        """One self-contained page: no script, nothing loaded from elsewhere."""
        from prepriv.release.page import page  # Jinja, which a fit does without

        return page(self)

    def save(self, path: str | Path, *, overwrite: bool = True) -> Path:
        """Write it as .html or .json, by the ending of the name.

        Parameters
        ----------
        path : path
            The path of the file. Its folder is made if it does not exist.
        overwrite : bool, default True
            Whether an earlier file is replaced. A report can be made again from its model, so it is by default. (A model, which
            was paid for, is not: `Model.save`.)

        Returns
        -------
        Path
            The path of the file.

        Raises
        ------
        ValueError
            For another ending, and without `overwrite` if the file is there.
        """
        path = Path(path)
        if path.suffix not in (".html", ".json"):
            raise ValueError(f"a report is saved as .html or .json; got {path.suffix or 'no ending'}")
        if not overwrite and path.exists():
            raise ValueError(f"{path} exists: choose another name, or leave out overwrite=False")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, self.to_html() if path.suffix == ".html" else self.text())
        return path


def as_text(data: Mapping[str, Any]) -> str:
    """Data of a report, as they are saved."""
    ordered = {key: json.loads(json.dumps(data[key], sort_keys=True)) for key in sorted(data, key=_place)}
    return json.dumps(ordered, indent=1, allow_nan=False) + "\n"


# In the order of the page; what is not named stands between the claim and the plan, by its name.
_FIRST = ("version", "summary", "private", "guarantee", "claims", "ledger", "artifact", "paid")
_LAST = ("plan", "plan_hash")


def _place(key: str) -> tuple[int, str]:
    if key in _FIRST:
        return _FIRST.index(key), key
    return len(_FIRST) + (key in _LAST), key


def _finite(data: Mapping[str, Any]) -> dict[str, Any]:
    return {k: (None if isinstance(v, float) and not math.isfinite(v) else v) for k, v in data.items()}


def paid_for(plan: Plan) -> list[tuple[str, str, str]]:
    """(step, way, cost in words) of every step and of training."""
    table = []
    for planned in plan.steps:
        step, way = planned.step, planned.step.way
        cost = {"free": "depends on no data", "public": "nothing"}.get(way, "")
        if way in ("budget", "sketch"):
            cost = f"{percent(step.paid.share)} of the budget"
        if way == "sensitivity":
            cost = _shifted(planned.outgoing)
            if planned.test is not None:
                cost += f"; {percent(step.paid.test)} of the budget on a test of the caps"
        kept = getattr(step, "settings", ())  # of `Fitted`, which a report does not import
        table.append((step.name + (f" ({', '.join(kept)})" if kept else ""), way, cost))
    if plan.guarantee is not None:
        share = dict(plan.guarantee.breakdown)[plan.learner.name]
        if math.isnan(share):
            cost = "the rest of the budget"
        else:
            cost = f"{percent(share)} of the budget"
        table.append((f"{plan.learner.name} ({plan.learner.steps} steps)", "budget", cost))
        for once in plan.learner.once(plan.learner_noise_multiplier, plan.setting):
            share = dict(plan.guarantee.breakdown)[once.name]
            part = "a part of the rest" if math.isnan(share) else f"{percent(share)} of the budget"
            table.append((once.name, "budget", part))
    return table


def _shifted(shift: RowShift) -> str:
    """What a record changes of the other rows, in words: each way that a later sum pays for."""
    said = []
    if shift.rows_moved > 0:
        said.append(f"common rows move by at most {up(shift.total_shift, 4)} in total")
    if shift.rows_dropped > 0:
        said.append(f"at most {up(shift.rows_dropped)} common rows are dropped in one of two neighbours only")
    return "; ".join([*said, "noise grows"] if said else ["no common row moves or is dropped"])
