"""The best of several candidates, chosen on private records: one price for the winner and the choice.

Candidates are trained on some records and compared on others: all of them, by the exponential mechanism, or some that are
drawn at random, a secret number of times, by noisy scores. The losers and their scores never leave. Proof: docs/proofs/choose.md.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import choice as one_of
from prepriv._arguments import number
from prepriv._arrays import Floats
from prepriv._callers import callers_level
from prepriv._rounding import UP
from prepriv.adjacency import n_is_public
from prepriv.domain import Domain
from prepriv.drafted import Drafted
from prepriv.evaluation.candidates import Candidate, candidates_of, domain_of, with_gaps_alike
from prepriv.evaluation.cells import predicted, residuals, row_scores, target_errors
from prepriv.evaluation.how_far_apart import apart_in_words, far_apart_in_words
from prepriv.guarantees import gdp_epsilon, gdp_mu
from prepriv.guarantees.drafts import with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.printed import epsilon_at
from prepriv.guarantees.random_trials import random_trials
from prepriv.guarantees.training_part import TrainingPart, training_on
from prepriv.mechanisms._counts import COUNT_BITS
from prepriv.mechanisms.coins import record_coins, trial_numbers
from prepriv.mechanisms.exponential import Scores
from prepriv.mechanisms.gaussian_sum import GaussianSum
from prepriv.mechanisms.session import NoisySession, Session
from prepriv.placed.checks import check_budget, check_domain
from prepriv.placed.rows import PrivateTable
from prepriv.plans.plan import Plan, budget
from prepriv.plans.priced import Priced
from prepriv.release.advice import quantile_of, warn_of_noise
from prepriv.release.model import Model
from prepriv.runs.admit import admit
from prepriv.runs.charge import check_ledger
from prepriv.runs.chosen import (
    DIFFERENCE_SHARE,
    ERROR_SHARE,
    METHODS,
    TRIALS,
    Chosen,
    choice_epsilon,
    score_steps,
    trials_stop,
    tried,
)
from prepriv.runs.premises import of_part
from prepriv.runs.run import execute, room_for
from prepriv.tables.encoding import count_rows
from prepriv.tables.readers import BadData
from prepriv.tables.table import Table

_SHRINK = 0.97


@dataclass(frozen=True, eq=False)
class ChoicePlan(Priced):
    """All candidates' plans and the mechanism that chooses, priced before a record is read.

    It does not hold the coins, and nothing hands them back: units stand in the order of their names, and one that is
    replaced turns the coins of all others (docs/proofs/units.md). signals: of each method that can be carried out, µ times the records a candidate is
    trained on, times the chance that a candidate is tried; the method with the largest is taken.
    """

    chosen: Chosen
    n: int
    epsilon: float
    delta: float
    holdout: float
    signals: Mapping[str, float]

    @property
    def drafts(self) -> tuple[Drafted, ...]:
        """Of the domain of all candidates."""
        return self.chosen.domain.drafts

    @property
    def guarantee(self) -> Guarantee:
        """What holds for the winner and the choice."""
        made = self.chosen.guarantee
        assert made is not None
        return self._stated(made)

    @property
    def what(self) -> str:
        """What was charged, in a few words: how many candidates, and how."""
        return f"choose 1 of {len(self.chosen.plans)}, {self.chosen.method}, hold out {self.holdout:g}"

    @property
    def apart(self) -> str:
        """How far apart two candidates have to be for the better one to be chosen nearly always, in words."""
        return apart_in_words(self.chosen, self.n, self.holdout)

    def to_json(self) -> dict[str, Any]:
        """Plain data: all candidates, how one is chosen, on which share of how many records."""
        return {"choice": self.chosen.to_json(), "n": self.n, "holdout": self.holdout}


@dataclass(frozen=True, eq=False)
class Choice:
    """The winner of `choose`, with its claim.

    Parameters
    ----------
    plan : ChoicePlan
        The plans of all candidates, and how one was chosen.
    number : int
        Place of the winner among the candidates, from 0.
    candidate : Candidate
        The winner, as it was given.
    model_ : Model
        The winner's model. Its claim is that of all candidates and the choice.
    private : bool
        Whether noise from the operating system protected the run.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 100, axis=0); y = np.repeat([0, 1], 100)
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1])
    >>> learners = [GradientDescent(Logistic(), steps=k) for k in (2, 4)]
    >>> found = prepriv.choose([{"steps": "linear", "learner": learners}], X, y, domain, epsilon=2.0)
    >>> found.number in (0, 1), found.model_.guarantee.epsilon(1e-5) <= 2.0
    (True, True)
    """

    plan: ChoicePlan
    number: int
    candidate: Candidate
    model_: Model
    private: bool

    @property
    def guarantee_(self) -> Guarantee | None:
        """What holds for the winner and the choice together."""
        plan = self.plan
        return with_drafts(plan.guarantee, plan.chosen.domain, plan.delta, plan.n) if self.private else None

    def __str__(self) -> str:
        plan, made = self.plan, self.guarantee_
        claim = "no claim"
        if made is not None:
            claim = f"{epsilon_at(made.epsilon(plan.delta), plan.delta)}: {made.stated}"
        place = f"candidate {self.number + 1} of {len(plan.chosen.plans)} (number={self.number})"
        won = plan.chosen.plans[self.number]
        steps = [p.step.name for p in won.steps]
        trained = f"{won.learner.name} with {won.learner.loss.name}"
        made_of = f"{', '.join(steps)}, then {trained}" if steps else trained
        return f"{place}: {self.candidate} ({made_of}); {plan.chosen.method}, {claim}. {plan.apart}"


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
    """Train candidates on private rows and release the best one, at one price for training and choice together.

    The best candidate is right on most of the records that were set aside, or has the smallest mean absolute error on
    them; among quantiles (`Quantile`) the smallest pinball loss. On a record an error of a number counts by how much
    it is larger than the least of all candidates' errors, up to a sixteenth of the distance of the bounds; with "random trials" by itself, up to a quarter. How far apart two candidates
    have to be for the noise to leave the better one is said by `print` of the result (`plan.apart`), and in a warning before
    the charge where that is far. The other candidates and all scores are never released.

    Parameters
    ----------
    candidates : list or mapping
        Two or more candidates. Each is a model (of `private`, or a `PrivateClassifier`; its own fit is not used), a recipe
        ("auto", "linear"), a learner, a loss, a list of steps, or a mapping of "steps", "learner", "loss",
        "class_weight" and "threshold" to one value or to a list of them (a grid, as in scikit-learn). Or one such
        mapping alone. A setting of a model that is not read here, such as holdout, is refused by name.
    X : array or table, (n, columns)
        The private rows, as `PrivateClassifier.fit` takes them.
    y : array, (n,)
        Their labels.
    domain : Domain
        What is declared about them. If candidates are models: the domain that they were made from, or that of one.
    epsilon : float, default 1.0
        The budget of everything together, positive and finite.
    delta : float, default 1e-5
        In (0, 1), well below 1 / n.
    holdout : float, default 0.2
        Share of the records, in (0, 1), that is set aside at random, record by record. Candidates are compared on
        them.
    method : {"same rows", "own rows", "random trials"}, optional
        "same rows" trains all k candidates on the same records, and their costs compose. "own rows" trains each on
        records of its own, and nothing composes. "random trials" draws a candidate at random, trains and scores it,
        and repeats this until a coin ends it. Each candidate is tried with a chance of 80 %, and 4 (k - 1) models are
        trained on average. The time it takes then reveals how many trials there were, so it must not be observed.
        None: the method that leaves more signal for training.
    ledger : path or URL, optional
        Charged once, before a cell is read. None: no cap holds.
    session : Session, optional
        Where noise comes from, for tests. None: the operating system.

    Returns
    -------
    Choice
        The winner, with `model_`, `candidate` and `guarantee_`.

    Raises
    ------
    ValueError
        For what is wrong with the settings or the form of X and y. Nothing is charged.
    LedgerError
        Where no charge is granted. No record is read.
    Refused
        Where the propose-test-release of a candidate's caps does not pass.

    References
    ----------
    docs/proofs/choose.md

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 500, axis=0); y = np.repeat([0, 1], 500)
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1])
    >>> best = prepriv.choose(["auto", "linear"], X, y, domain, epsilon=2.0)
    >>> best.guarantee_.epsilon(1e-5) <= 2.0, best.plan.chosen.method
    (True, 'same rows')
    """
    check_ledger(ledger)
    check_domain(domain)
    entrants = with_gaps_alike(candidates_of(candidates, epsilon=epsilon, delta=delta, ledger=ledger))
    domain = domain_of(entrants, domain)
    n = count_rows(X, y, domain)
    if not domain.n_is_public:
        if domain.n is None:
            raise ValueError(
                "n, the number of records or units, must be declared in the domain: the true one is private"
            )
        n = domain.n
    else:
        domain.check_n(n)
    session = session or NoisySession()
    plan, parts = plan_choice(
        entrants,
        replace(domain, n=None),
        n,
        (epsilon, delta),
        holdout=holdout,
        method=method,
        session=session,
    )
    paid = admit(
        plan,
        PrivateTable(X, y, domain, n),
        fits=plan.chosen.plans,
        room=lambda: _room_for_each(plan.chosen.plans),
        ledger=ledger,
        session=session,
    )
    number, model = carry_out(plan, *paid.rows, session, parts)
    won = replace(model, receipt=paid.receipt, choice=plan.chosen)
    part = _part(plan.chosen.method, n, plan.holdout, len(entrants), plan.epsilon)
    asked = METHODS if method is None else (method,)
    with training_on(
        _with_leaves(
            part, asked, entrants, replace(domain, n=None), plan.chosen.method, plan.delta, plan.holdout
        )
    ):
        warn_of_noise(won)  # of the winner: what the others met is not released
    return Choice(plan, number, entrants[number], won, session.private)


def _room_for_each(plans: Sequence[Plan]) -> None:
    """EngineError unless each could be carried out, one after the other; none is held for a run."""
    for plan in plans:
        room_for(plan)


def plan_choice(
    candidates: Sequence[Candidate],
    domain: Domain,
    n: int,
    spend: tuple[float, float],
    *,
    holdout: float,
    method: str | None,
    session: Session,
) -> tuple[ChoicePlan, NDArray[np.int64] | None]:
    """Price every method, take the one with the most signal, freeze it. spend: (epsilon, delta). Reads no row.

    Beside the plan, for `carry_out` alone: of each record 0 to be compared on, else the number of the training part; None: drawn
    when the rows are there, since their number is private.

    Raises ValueError, too, for a candidate that rests on a premise that a part of the records need not inherit.
    """
    epsilon, delta = check_budget(*spend)
    if not math.isfinite(epsilon):
        raise ValueError("epsilon must be finite: without privacy choose by exact scores")
    holdout = number("holdout", holdout, above=0.0, below=1.0)
    asked = METHODS if method is None else (one_of("method", method, METHODS),)

    expected, signals = _expected(asked, candidates, domain, n, (epsilon, delta), holdout)
    _one_error(expected.plans)
    chosen, best, parts = expected, expected.method, None
    part = _part(best, n, holdout, len(candidates), epsilon)
    if n_is_public(domain.adjacency):
        parts = _parts(best, n, holdout, len(candidates), session)
        counts = np.bincount(parts, minlength=_count(best, len(candidates)) + 1)
        if counts.min() == 0:
            raise ValueError(f"{n:,} records are too few: a part of them is empty")
        sizes = [int(c) for c in counts[1:]]
        with training_on(part):
            chosen, _ = _priced(best, candidates, domain, n, sizes, epsilon, delta)
    with training_on(_with_leaves(part, asked, candidates, domain, best, delta, holdout)):
        _look_at(candidates, domain, expected.plans[0])
    if far := far_apart_in_words(expected, n, holdout):
        warnings.warn(far, UserWarning, stacklevel=callers_level())
    return ChoicePlan(chosen, n, epsilon, delta, holdout, signals), parts


def _count(way: str, candidates: int) -> int:
    """How many training parts there are."""
    return candidates if way == "own rows" else 1


def _part(way: str, n: int, holdout: float, candidates: int, epsilon: float) -> TrainingPart:
    """What is expected to train a candidate. Forecasts about it name no number."""
    parts = _count(way, candidates)
    if round((1 - holdout) * n / parts) < 1 or round(holdout * n) < 1:
        raise ValueError(f"{n:,} records are too few: a part of them is empty")
    return TrainingPart(n, 1 - (1 - holdout) / parts, whole=epsilon)


def _with_leaves(
    part: TrainingPart,
    asked: Sequence[str],
    candidates: Sequence[Candidate],
    domain: Domain,
    way: str,
    delta: float,
    holdout: float,
) -> TrainingPart:
    """The same, with what this method leaves a candidate of another ε and of other numbers of records."""

    @cache
    def leaves(epsilon: float, n: int) -> float:
        with suppress(ValueError):
            other, _ = _expected(asked, candidates, domain, n, (epsilon, delta), holdout)
            return other.plans[0].epsilon if other.method == way else 0.0
        return 0.0

    return replace(part, leaves=leaves)


def _expected(
    asked: Sequence[str],
    candidates: Sequence[Candidate],
    domain: Domain,
    n: int,
    spend: tuple[float, float],
    holdout: float,
) -> tuple[Chosen, dict[str, float]]:
    """(the method with the most signal, for as many records as are expected; the signal of each that can be carried out)."""
    found, signals, why = {}, {}, ValueError("no method can be carried out")
    for way in asked:
        part = _part(way, n, holdout, len(candidates), spend[0])
        sizes = [part.trains] * _count(way, len(candidates))
        try:
            with training_on(part):
                found[way], signals[way] = _priced(way, candidates, domain, n, sizes, *spend)
        except ValueError as error:
            why = error
    if not signals:
        raise why
    return found[max(signals, key=signals.__getitem__)], signals


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
    n: int,
    sizes: Sequence[int],
    epsilon: float,
    delta: float,
) -> tuple[Chosen, float]:
    """(the plans and the mechanism within the budget, the signal of a candidate: its µ times its records)."""
    whole, stop, seen = budget(epsilon, delta), None, 1.0
    share = 1 / math.sqrt(len(candidates)) if way == "same rows" else 1.0
    choice = choice_epsilon(whole, domain)
    if way == TRIALS:
        stop, seen = trials_stop(len(candidates)), tried(len(candidates))
        choice = _trial_mu(whole, stop, epsilon, delta)
        share = choice / whole
    for _ in range(80):
        each = min(epsilon, gdp_epsilon(whole * share, delta))
        plans = tuple(
            of_part(_planned(k, c, domain, sizes[min(k, len(sizes) - 1)], each, delta)[0], n)
            for k, c in enumerate(candidates)
        )
        chosen = Chosen(way, plans, choice, stop)
        made = chosen.guarantee
        if made is not None and _within(made, epsilon, delta):
            return chosen, gdp_mu(each, delta) * min(sizes) * seen
        share *= _SHRINK
    raise ValueError(
        f"{len(candidates)} candidates on the same rows cannot be kept within the budget; use own rows"
    )


def _planned(
    k: int, candidate: Candidate, domain: Domain, n: int, epsilon: float, delta: float
) -> tuple[Plan, list[warnings.WarningMessage]]:
    """(the plan of candidate k, what it warns of). ValueError with the place of a candidate that cannot be planned, from 1."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            return candidate.plan(domain, n=n, epsilon=epsilon, delta=delta), told
        except ValueError as error:
            raise ValueError(f"candidate {k + 1}: {error}") from None


def _look_at(candidates: Sequence[Candidate], domain: Domain, like: Plan) -> None:
    """Warn once of what a plan warns of, with the candidate's place. ValueError for two with the same plan. like: one of the plans that are expected, so
    coins change neither."""
    if len({repr((c.class_weight, c.threshold)) for c in candidates}) > 1:
        warnings.warn(
            "candidates differ in class_weight or threshold, and accuracy decides, which weights for a rare class lower: the one without them "
            "wins as a rule. Choose among candidates with the same weights, or without; weights in the predictions of the winner are free",
            UserWarning,
            stacklevel=callers_level(),
        )
    seen: dict[Any, int] = {}
    plans = []  # kept: what is compared of a public table is which one it is
    for k, candidate in enumerate(candidates):
        plan, told = _planned(k, candidate, domain, like.n, like.epsilon, like.delta)
        for message in told:
            warnings.warn(
                f"candidate {k + 1}: {message.message}", message.category, stacklevel=callers_level()
            )
        plans.append(plan)
        public = tuple(id(planned.step.paid.data) for planned in plan.steps)
        first = seen.setdefault((json.dumps(plan.to_json(), sort_keys=True, default=str), public), k)
        if first != k:
            raise ValueError(
                f"candidates {first + 1} and {k + 1} are the same plan for these records and this budget, so the choice would pay twice for one: leave one out"
            )


@lru_cache(64)
def _trial_mu(whole: float, stop: float, epsilon: float, delta: float) -> float:
    """The largest µ of one trial, within a fraction of a percent."""
    low, high = whole * 1e-3, whole
    for _ in range(16):
        middle = math.sqrt(low * high)
        fits = random_trials(middle, stop).epsilon(delta) <= 0.997 * epsilon  # a curve is made of lines
        low, high = (middle, high) if fits else (low, middle)
    return low


def _within(made: Guarantee, epsilon: float, delta: float) -> bool:
    try:
        return made.epsilon(delta) <= epsilon
    except ValueError:  # delta is too small for what is composed
        return False


def carry_out(
    plan: ChoicePlan,
    table: Table,
    targets: NDArray[np.int32],
    session: Session,
    parts: NDArray[np.int64] | None,
) -> tuple[int, Model]:
    """(the winner's number, its model). Everything of the others ends here. parts: of `plan_choice`."""
    chosen, k = plan.chosen, len(plan.chosen.plans)
    if parts is None:
        parts = _parts(chosen.method, table.n, plan.holdout, k, session)
    if len(parts) != table.n:
        raise BadData(f"the plan is for {plan.n:,} records, and the table has another number")
    test, truth = table.some(parts == 0), targets[parts == 0]

    def trained(j: int) -> Model:
        mine = parts == (j + 1 if chosen.method == "own rows" else 1)
        return Model.of(execute(chosen.plans[j], table.some(mine), targets[mine], session))

    def scored(j: int) -> tuple[Model, int]:
        return (model := trained(j)), _score(model, test, truth)

    if chosen.stop is not None:
        return _best_of_trials(plan, chosen.stop, scored, session)
    models = [trained(j) for j in range(k)]
    scores = np.array(_scores_beside(models, test, truth), dtype=np.int64)
    number = session.release("choice", chosen.mechanism, Scores.single(scores))
    return number, models[number]


def _score(model: Model, test: Table, truth: NDArray[np.int32]) -> int:
    """How good a model is by itself on these records: a sum over them, of 0 to `score_steps` each."""
    with np.errstate(all="ignore"):
        if model.domain.target is None:
            return int((predicted(model, test) == truth).sum())
        return _sum_of(1 - _cut(_errors(model, test, truth), ERROR_SHARE), model.domain)


def _scores_beside(models: Sequence[Model], test: Table, truth: NDArray[np.int32]) -> list[int]:
    """How good each is beside the others: the same sums. Of a number an error counts by how much it is larger than the least of them on that record. So
    what all of them miss moves no score."""
    target = models[0].domain.target
    with np.errstate(all="ignore"):
        if target is None:
            return [_score(model, test, truth) for model in models]
        errors = [_errors(model, test, truth) for model in models]
        least = np.minimum.reduce(errors)
        return [_sum_of(1 - _cut(one - least, DIFFERENCE_SHARE), models[0].domain) for one in errors]


def _errors(model: Model, test: Table, truth: NDArray[np.int32]) -> Floats:
    """The error on each record, as a share of the distance of the bounds. A quantile counts by its pinball loss, which is at most its error. None is NaN."""
    target, level = model.domain.target, quantile_of(model.declared)
    assert target is not None
    scores = row_scores(model, test)[0]
    if level in (None, 0.5):
        return target_errors(scores, truth, target)
    assert level is not None
    off = residuals(scores, truth, target)
    loss = np.where(off > 0, level * off, (level - 1) * off)
    return np.where(loss <= 1.0, loss, 1.0)


def _one_error(plans: Sequence[Plan]) -> None:
    """ValueError for candidates of which no one error is the right one."""
    levels = {quantile_of(plan) for plan in plans}
    if len(levels) > 1 and levels - {None, 0.5}:
        told = " and ".join(sorted("means" if one is None else f"{one:g} quantiles" for one in levels))
        raise ValueError(
            f"the candidates predict {told}, and a choice compares them by one error: give all the same loss, such as Quantile of one level"
        )


def _cut(errors: Floats, largest: float) -> Floats:
    """As shares of the largest that counts, 0 to 1."""
    return np.minimum(errors / largest, 1.0)


def _sum_of(near: Floats, domain: Domain) -> int:
    """Of shares, one for each record, in whole steps."""
    return int(np.floor(score_steps(domain) * near).astype(np.int64).sum())


def _best_of_trials(
    plan: ChoicePlan, stop: float, trained: Callable[[int], tuple[Model, int]], session: Session
) -> tuple[int, Model]:
    """(the number of the best trial's candidate, its model); the first of equals."""
    best: tuple[float, int, Model] | None = None
    before = len(session.releases)
    steps = score_steps(plan.chosen.domain) << COUNT_BITS  # how far a record moves a score
    for j in trial_numbers(len(plan.chosen.plans), stop, session):
        model, score = trained(j)
        noisy = session.release(
            "score",
            GaussianSum(
                sensitivity=steps,
                noise_multiplier=1 / plan.chosen.epsilon * UP,
                exponent=-COUNT_BITS,
                largest=2 * plan.n * steps,
                coordinates=1,
            ),
            np.array([score << COUNT_BITS], dtype=np.int64),
        )
        if best is None or float(noisy[0]) > best[0]:
            best = (float(noisy[0]), j, model)
    assert best is not None
    if session.private:
        del session.releases[before:]  # how many there were is secret
    return best[1:]
