"""The best of several candidates, chosen on private records: one price for the winner and the choice.

Candidates are trained on some records and compared on others by the exponential mechanism; the losers and their scores
never leave. Proof: docs/proofs/choose.md.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import choice as one_of
from prepriv._arguments import number
from prepriv.domain import Domain
from prepriv.evaluation.candidates import Candidate, candidates_of
from prepriv.evaluation.cells import predicted
from prepriv.guarantees import gdp_epsilon, gdp_mu
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.notes import notes_on
from prepriv.guarantees.printed import exact, up
from prepriv.mechanisms.coins import record_coins
from prepriv.mechanisms.session import NoisySession, Session
from prepriv.pipeline import odometer
from prepriv.pipeline.apart import check_apart
from prepriv.pipeline.charge import charge, check_ledger
from prepriv.pipeline.checks import check_budget, check_domain
from prepriv.pipeline.chosen import METHODS, Chosen, choice_epsilon
from prepriv.pipeline.plan import budget
from prepriv.pipeline.public import check_public
from prepriv.pipeline.run import execute
from prepriv.release.model import Model
from prepriv.tables.encode import count_rows, encode, encode_labels
from prepriv.tables.readers import BadData
from prepriv.tables.table import Table

_SHRINK = 0.97


@dataclass(frozen=True, eq=False)
class ChoicePlan:
    """All candidates' plans and the mechanism that chooses, priced before a record is read.

    parts: of each record, 0 to be compared on, else the number of the training part; None: drawn when the rows are there,
    since their number is private. signals: of each method that can be carried out, µ times the records a candidate is
    trained on; the method with the largest is taken.
    """

    chosen: Chosen
    n: int
    epsilon: float
    delta: float
    holdout: float
    signals: Mapping[str, float]
    parts: NDArray[np.int64] | None = None

    @property
    def guarantee(self) -> Guarantee:
        """What holds for the winner and the choice."""
        made = self.chosen.guarantee
        assert made is not None
        weak = notes_on(made.epsilon(self.delta), self.delta, self.n, math.inf)
        return replace(made, notes=tuple(dict.fromkeys((*made.notes, *weak))))

    @property
    def what(self) -> str:
        """What was charged, in a few words: how many candidates, and how."""
        return f"choose 1 of {len(self.chosen.plans)}, {self.chosen.method}, hold out {self.holdout:g}"

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON, for the ledger."""
        said = {"choice": self.chosen.to_json(), "n": self.n, "holdout": self.holdout}
        return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Choice:
    """The winner. number, candidate: which it is. model_: its model, whose claim is that of all candidates and the choice."""

    plan: ChoicePlan
    number: int
    candidate: Candidate
    model_: Model
    private: bool

    @property
    def guarantee_(self) -> Guarantee | None:
        """What holds for the winner and the choice together."""
        return self.plan.guarantee if self.private else None

    def __str__(self) -> str:
        plan = self.plan
        claim = (
            f"ε = {up(plan.guarantee.epsilon(plan.delta))} at δ = {exact(plan.delta)}"
            if self.private
            else "no claim"
        )
        return f"candidate {self.number} of {len(plan.chosen.plans)}: {self.candidate}; {plan.chosen.method}, {claim}"


def choose(
    candidates: Any,
    X: Any,
    y: Any,
    domain: Domain,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    holdout: float = 0.2,
    method: str | None = None,
    ledger: str | os.PathLike[str] | None = None,
    session: Session | None = None,
) -> Choice:
    """Train every candidate on private rows X with labels y, (n,), and release the one that labels most of the others right.

    candidates: as `prepriv.evaluation.candidates.candidates_of` takes them. holdout: share of the records, each set aside by
    a coin, on which they are compared. method: "same rows" (all on the same records, composed), "own rows" (each on its
    own, none composed); None: the one that leaves training more signal. epsilon, delta: of everything together.

    Raises ValueError, with nothing charged, for what is wrong with the settings or the form of X and y; a LedgerError, with
    no cell read, where no charge is granted; `Refused` where a candidate's test does not pass.

    >>> import numpy as np, prepriv
    >>> X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 500, axis=0); y = np.repeat([0, 1], 500)
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1])
    >>> best = prepriv.choose(["auto", "linear"], X, y, domain, epsilon=2.0)
    >>> best.guarantee_.epsilon(1e-5) <= 2.0, best.plan.chosen.method
    (True, 'same rows')
    """
    check_ledger(ledger)
    check_domain(domain)
    if domain.target is not None:
        raise ValueError("only models of classes are compared in private: the domain declares a target")
    entrants = candidates_of(candidates)
    n = count_rows(X, y, domain)
    if domain.adjacency != "replace-one":
        if domain.n is None:
            raise ValueError(
                "n, the number of records, must be declared in the domain: the true one is private"
            )
        n = domain.n
    elif domain.n not in (None, n):
        raise ValueError(f"the domain declares n={domain.n} records, not {n}")
    session = session or NoisySession()
    plan = plan_choice(
        entrants,
        replace(domain, n=None),
        n,
        (epsilon, delta),
        holdout=holdout,
        method=method,
        session=session,
    )
    for each in plan.chosen.plans:
        check_apart(each.pipeline, X, y)
        check_public(each)
    receipt = charge(ledger, plan) if ledger is not None else None
    odometer.record(plan, session.private, receipt)
    number, model = _run(plan, encode(X, domain), encode_labels(y, domain.classes), session)
    won = replace(model, receipt=receipt, choice=plan.chosen)
    return Choice(plan, number, entrants[number], won, session.private)


def plan_choice(
    candidates: Sequence[Candidate],
    domain: Domain,
    n: int,
    spend: tuple[float, float],
    *,
    holdout: float,
    method: str | None,
    session: Session,
) -> ChoicePlan:
    """Price every method, take the one with the most signal, freeze it. spend: (epsilon, delta). Reads no row."""
    epsilon, delta = check_budget(*spend)
    if not math.isfinite(epsilon):
        raise ValueError("epsilon must be finite: without privacy choose by exact scores")
    holdout = number("holdout", holdout, above=0.0, below=1.0)
    asked = METHODS if method is None else (one_of("method", method, METHODS),)
    expected, signals, why = {}, {}, ValueError("no method can be carried out")
    for way in asked:
        sizes = _sizes(way, n, holdout, len(candidates))
        try:
            expected[way], signals[way] = _priced(way, candidates, domain, sizes, epsilon, delta)
        except ValueError as error:
            why = error
    if not signals:
        raise why
    best = max(signals, key=signals.__getitem__)
    parts, sizes = None, _sizes(best, n, holdout, len(candidates))
    chosen = expected[best]
    if domain.adjacency == "replace-one":
        parts = _parts(best, n, holdout, len(candidates), session)
        counts = np.bincount(parts, minlength=_count(best, len(candidates)) + 1)
        if counts.min() == 0:
            raise ValueError(f"{n} records are too few: a part of them is empty")
        sizes = [int(c) for c in counts[1:]]
        chosen, _ = _priced(best, candidates, domain, sizes, epsilon, delta)
    return ChoicePlan(chosen, n, epsilon, delta, holdout, signals, parts)


def _count(way: str, candidates: int) -> int:
    """How many training parts there are."""
    return 1 if way == "same rows" else candidates


def _sizes(way: str, n: int, holdout: float, candidates: int) -> list[int]:
    """How many records each training part is expected to have."""
    parts = _count(way, candidates)
    size = round((1 - holdout) * n / parts)
    if size < 1 or round(holdout * n) < 1:
        raise ValueError(f"{n} records are too few: a part of them is empty")
    return [size] * parts


def _parts(way: str, n: int, holdout: float, candidates: int, session: Session) -> NDArray[np.int64]:
    """0 to be compared on, else the number of the training part: of each record by coins of its own."""
    parts = np.where(record_coins(n, holdout, session), 0, 1)
    count = _count(way, candidates)
    for part in range(1, count):  # stays in the part with probability 1 / (those that are left)
        moves = ~record_coins(n, 1 / (count - part + 1), session)
        parts = np.where((parts == part) & moves, part + 1, parts)
    return parts


def _priced(
    way: str,
    candidates: Sequence[Candidate],
    domain: Domain,
    sizes: Sequence[int],
    epsilon: float,
    delta: float,
) -> tuple[Chosen, float]:
    """(the plans and the mechanism within the budget, the signal of a candidate: its µ times its records)."""
    whole = budget(epsilon, delta)
    choice = choice_epsilon(whole, domain.adjacency)
    share = 1 / math.sqrt(len(candidates)) if way == "same rows" else 1.0
    for _ in range(80):
        each = min(epsilon, gdp_epsilon(whole * share, delta))
        plans = tuple(
            c.plan(domain, n=sizes[min(k, len(sizes) - 1)], epsilon=each, delta=delta)
            for k, c in enumerate(candidates)
        )
        chosen = Chosen(way, plans, choice)
        made = chosen.guarantee
        if made is not None and _within(made, epsilon, delta):
            return chosen, gdp_mu(each, delta) * min(sizes)
        share *= _SHRINK
    raise ValueError(
        f"{len(candidates)} candidates on the same rows cannot be kept within the budget; use own rows"
    )


def _within(made: Guarantee, epsilon: float, delta: float) -> bool:
    try:
        return made.epsilon(delta) <= epsilon
    except ValueError:  # delta is too small for what is composed
        return False


def _run(plan: ChoicePlan, table: Table, targets: NDArray[np.int32], session: Session) -> tuple[int, Model]:
    """(the winner's number, its model). Everything of the others ends here."""
    chosen, k = plan.chosen, len(plan.chosen.plans)
    parts = plan.parts
    if parts is None:
        parts = _parts(chosen.method, table.n, plan.holdout, k, session)
    if len(parts) != table.n:
        raise BadData(f"the plan is for {plan.n} records, which is not what the table has")
    test, truth = table.some(parts == 0), targets[parts == 0]
    models, right = [], np.zeros(k, dtype=np.int64)
    for j, each in enumerate(chosen.plans):
        mine = parts == (1 if chosen.method == "same rows" else j + 1)
        model = Model.of(execute(each, table.some(mine), targets[mine], session, counted=False))
        with np.errstate(all="ignore"):
            right[j] = int((predicted(model, test) == truth).sum())
        models.append(model)
    number = session.choose("choice", chosen.mechanism, right)
    return number, models[number]
