"""Train on some records and measure on the others, which a coin each set aside: one price for both.

The parts are disjoint and no record decides another's part, so a pair of neighbours pays for one of them. Proof, under
both adjacencies: docs/proofs/holdout.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import number, settle
from prepriv.adjacency import n_is_public
from prepriv.domain import Domain
from prepriv.drafted import Drafted
from prepriv.engines.engine import Room
from prepriv.evaluation.cells import row_entries
from prepriv.evaluation.evaluate import release
from prepriv.evaluation.evaluation_plan import EvaluationPlan, plan_evaluation
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.guarantees.algebra import beside
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.printed import exact
from prepriv.guarantees.training_part import TrainingPart, training_on
from prepriv.mechanisms.coins import record_coins
from prepriv.mechanisms.session import NoisySession, Session
from prepriv.periods import Periods
from prepriv.placed.rows import PrivateTable
from prepriv.plans.plan import Plan
from prepriv.plans.priced import Priced
from prepriv.release.model import Model
from prepriv.runs.admit import admit
from prepriv.runs.premises import of_part
from prepriv.runs.run import Progress, Trained, execute, room_for
from prepriv.runs.self_audit import check_audit


@dataclass(frozen=True)
class Holdout:
    """A share of the records to measure on, each set aside by a coin, and the ε of that measurement (None: that of
    training, which costs nothing more, since nobody is in both parts).

    >>> Holdout(0.2, epsilon=0.1)
    Holdout(share=0.2, epsilon=0.1, measures=None, by=None, error_bound=None)
    """

    share: float
    epsilon: float | None = None
    measures: str | Sequence[str] | None = None  # all
    by: str | None = None  # a declared categorical column, whose groups are measured by themselves, too
    error_bound: float | None = None  # of a number: the largest error that counts

    def __post_init__(self) -> None:
        settle(self, share=number("holdout", self.share, above=0.0, below=1.0))
        plan_evaluation(
            Domain.box(0, 1, 1, (0, 1)), n=10**6, epsilon=1.0 if self.epsilon is None else self.epsilon
        )  # wrong now, or never


@dataclass(frozen=True, eq=False)
class HoldoutPlan(Priced):
    """A plan for each part of the records. Made by `plan_holdout`.

    n: all records, as declared. coins: of each record, drawn before the plan, which knows how many came up (replace-one);
    None: drawn when the rows are there, since their number is private.
    """

    training: Plan
    evaluation: EvaluationPlan
    holdout: Holdout
    n: int
    coins: NDArray[np.bool_] | None = field(default=None, repr=False)

    @property
    def drafts(self) -> tuple[Drafted, ...]:
        """Those of both parts."""
        return self.training.drafts

    @property
    def periods(self) -> Periods | None:
        """Those of both parts."""
        return self.training.periods

    @property
    def epsilon(self) -> float:
        """That of the training part."""
        return self.training.epsilon

    @property
    def delta(self) -> float:
        """That of both parts."""
        return self.training.delta

    @cached_property
    def guarantee(self) -> Guarantee | None:
        """What holds for all that leaves of both parts."""
        if self.training.guarantee is None:
            return None
        return beside([self.training.guarantee, self.evaluation.guarantee])

    def to_json(self) -> dict[str, Any]:
        """Plain data: both plans and the share."""
        return {
            "holdout": self.holdout.share,
            "n": self.n,
            "training": self.training.to_json(),
            "evaluation": self.evaluation.to_json(),
        }

    @property
    def what(self) -> str:
        """In a few words, for the ledger: both plans, the shorter one first."""
        return f"hold out {exact(self.holdout.share)}, {self.evaluation.what}, {self.training.what}"


def plan_holdout(
    holdout: Holdout, make: Callable[[int], Plan], n: int, domain: Domain, session: Session | None = None
) -> HoldoutPlan:
    """Freeze and price both parts. make: the plan of training for so many records. Reads no row.

    Under replace-one the coins of all n records are drawn here. Raises ValueError where a part is left without records, and
    for a step that rests on a premise that a part of the records need not inherit (`prepriv.runs.premises.of_part`).
    """
    coins = None
    test = round(holdout.share * n)
    if n_is_public(domain.adjacency):
        coins = record_coins(n, holdout.share, session or NoisySession())
        test = int(coins.sum())
    if not 0 < test < n:
        raise ValueError(
            f"a holdout of {holdout.share:g} of {n:,} records leaves a part without any; use more records"
        )
    with training_on(TrainingPart(n, holdout.share)):
        training = make(n - test)
    if training.guarantee is None:
        raise ValueError("holdout: without privacy no noise is needed; split the rows yourself")
    training = of_part(training, n)
    epsilon = training.epsilon if holdout.epsilon is None else holdout.epsilon
    evaluation = plan_evaluation(
        domain,
        n=test,
        epsilon=epsilon,
        delta=training.delta,
        measures=holdout.measures,
        by=holdout.by,
        error_bound=holdout.error_bound,
    )
    return HoldoutPlan(training, evaluation, holdout, n, coins)


def train_and_evaluate(
    plan: HoldoutPlan,
    rows: Any,
    labels: Any = None,
    *,
    ledger: str | os.PathLike[str] | None = None,
    session: Session | None = None,
    room: Room | None = None,
    progress: Progress | None = None,
    reached: Callable[[str], Any] | None = None,
    audit: int | None = None,
) -> tuple[Trained, PrivateEvaluation]:
    """Carry out both plans on private rows and labels, as `prepriv.runs.train.train` does; one charge for both.

    Raises as that does; where a test of the training refuses, nothing is measured either.
    """
    training = plan.training
    if audit is not None:
        check_audit(training, audit)
    unread = rows if isinstance(rows, PrivateTable) else PrivateTable(rows, labels, training.domain, plan.n)
    paid = admit(
        plan,
        unread,
        fits=[training],
        room=lambda: room or room_for(training),
        ledger=ledger,
        session=session,
        reached=reached,
    )
    (table, targets), session = paid.rows, paid.session
    coins = plan.coins if plan.coins is not None else record_coins(table.n, plan.holdout.share, session)
    trained = execute(
        training,
        table.some(~coins),
        targets[~coins],
        session,
        room=paid.room,
        progress=progress,
        receipt=paid.receipt,
        audit=audit,
    )
    model = Model.of(trained)
    of = row_entries(plan.evaluation, model, table.some(coins), targets[coins])
    counts = release(plan.evaluation, of, session)
    private = trained.private and session.private
    weighed = model.class_weight is not None
    return trained, PrivateEvaluation(plan.evaluation, counts, private, paid.receipt, plan.guarantee, weighed)
