"""Pre-processing alone, under a guarantee of its own: a frozen plan without a learner, and its run.

Proof: docs/proofs/composition.md. What is trained after it on the prepared private rows is not covered, and costs what it costs.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from prepriv._arguments import integer
from prepriv._copies import copied
from prepriv.domain import Domain
from prepriv.guarantees.drafts import check_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.mechanisms.session import Session
from prepriv.payment import Sketch
from prepriv.placed.chain import Chain, PlannedStep, chain
from prepriv.placed.checks import check_budget, check_domain, check_steps
from prepriv.placed.rows import PrivateTable
from prepriv.plans.plan import budget, check_noise, step_json
from prepriv.plans.priced import Priced
from prepriv.preprocessing.base import ReleasedMap, Step
from prepriv.rehearsals.rehearsal import rehearse
from prepriv.runs.admit import admit
from prepriv.runs.run import check_run, prepare
from prepriv.space import Space
from prepriv.tables.encoding import Table


@dataclass(frozen=True)
class Preparation(Priced):
    """Steps that are free, public or paid for by budget, and what they cost together. Made by `make_preparation`.

    domain: with n. epsilon, delta: the budget, which the Budget steps share in the proportion of their shares.
    """

    domain: Domain
    epsilon: float
    delta: float
    pipeline: tuple[Step, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "pipeline", tuple(copied(step) for step in self.pipeline))

    @property
    def n(self) -> int:
        """The declared number of records."""
        assert self.domain.n is not None
        return self.domain.n

    @cached_property
    def chain(self) -> Chain:
        """The steps in their places."""
        shares = sum(step.paid.share for step in self.pipeline)
        mu = budget(self.epsilon, self.delta) / math.sqrt(shares) if shares else math.inf
        return chain(self.pipeline, self.domain, self.n, mu)

    @property
    def steps(self) -> tuple[PlannedStep, ...]:
        """Each step with its spaces and its mechanism."""
        return self.chain.steps

    @property
    def what(self) -> str:
        """In a few words, for the ledger: the steps and how each is paid for."""
        return f"prepare: {', '.join(self.chain.said)}"

    @property
    def space(self) -> Space:
        """The declared space of the prepared rows."""
        return self.chain.space

    @cached_property
    def guarantee(self) -> Guarantee | None:
        """Of the maps that leave, from the events that run; None without privacy."""
        if not self.private:
            return None
        events = [event for planned in self.steps for event in planned.events]
        made = Guarantee.of_gaussians(events, self.domain.adjacency, unit=self.domain.unit)
        made = replace(made, notes=self.chain.notes)
        return self._stated(made, made.mu or math.inf, self.domain.declared_rows)

    def to_json(self) -> dict[str, Any]:
        """Plain data: what was declared and decided, written once. The same preparation gives the same bytes."""
        return copy.deepcopy(self._written)

    @cached_property
    def _written(self) -> dict[str, Any]:
        return {
            "domain": self.domain.to_json(),
            "n": self.n,
            "epsilon": self.epsilon if self.private else "inf",
            "delta": self.delta,
            "steps": [step_json(planned) for planned in self.steps],
            "guarantee": self.guarantee.to_json(self.delta) if self.guarantee else None,
        }


def make_preparation(
    domain: Domain, steps: Sequence[Step], *, epsilon: float, delta: float, n: int | None = None
) -> Preparation:
    """Freeze and price pre-processing alone. Reads no data.

    Raises ValueError for a step paid for by sensitivity: its map may not leave, and only noise of a learner pays for it; and
    for one that reads labels, which there are none of.
    """
    epsilon, delta = check_budget(epsilon, delta)
    check_domain(domain)
    check_steps(steps)
    n = domain.n if n is None else n
    if n is None:
        raise ValueError("n, the number of records, must be declared")
    for step in steps:
        if not step.paid.leaves:
            raise ValueError(
                f"{step.name} is paid for by sensitivity, which the noise of a learner pays: here there is none; pay for it by "
                "public data or by budget, or train with PrivateClassifier"
            )
        if step.way == Sketch.way:
            raise ValueError(
                f"{step.name} is paid for by a sketch, which a training pays: train with PrivateClassifier"
            )
        if step.reads_labels or step.counts_classes is not None:
            raise ValueError(
                f"{step.name} reads labels, and pre-processing alone is handed none: train with PrivateClassifier"
            )
    plan = Preparation(domain.with_n(integer("n", n)), epsilon, delta, tuple(steps))
    for p in plan.steps:
        if p.noise_multiplier is not None:
            p.step.check_release(p.before, plan.n, domain.adjacency, p.incoming, p.noise_multiplier)
        rehearse(p, plan.domain, plan.n, plan.private)
    check_noise(plan.steps if plan.private else ())
    check_drafts(domain, delta)
    plan.to_json()  # as it stands now
    return plan


def run_preparation(
    plan: Preparation,
    rows: Any,
    *,
    ledger: str | os.PathLike[str] | None = None,
    session: Session | None = None,
) -> tuple[Table, tuple[ReleasedMap, ...], Mapping[str, Any] | None]:
    """(the encoded rows, the maps that leave in order, the receipt of the charge). Charged before a cell is read.

    Raises as `prepriv.runs.train.train` does.
    """
    unread = PrivateTable(rows, None, plan.domain, plan.n, learned=False)
    paid = admit(plan, unread, fits=[plan], ledger=ledger, session=session)
    table, labels = paid.rows
    check_run(plan, table, paid.session)
    _, maps = prepare(plan, table, labels, paid.session)
    return table, maps, paid.receipt
