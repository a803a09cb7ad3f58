"""What the private runs of this process add up to: kept without being asked, shown by `prepriv.spent()`.

A guarantee is that of one run. Whoever trains twice on the same people (a second `fit`, a grid search, cross-validation)
has spent twice, and no `guarantee_` says so. Nothing here depends on a record: plans alone are counted.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from prepriv._callers import callers_level
from prepriv._rounding import UP
from prepriv.adjacency import Adjacency
from prepriv.guarantees.algebra import smallest, then
from prepriv.guarantees.families import approximate_dp
from prepriv.guarantees.gaussian import gdp_mu
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.notes import notes_on
from prepriv.guarantees.printed import epsilon_at
from prepriv.placed.checks import check_budget
from prepriv.plans.priced import Priced

# What a total rests on, printed wherever it is: a split by labels moves other people's rows, too (docs/scikit-learn.md).
_FAR = 1.1  # times the composed ε: the sum in a ledger is then another number
_IF = (
    "if all read the same people, and no record decides which rows a fit reads (as labels do in StratifiedKFold, "
    "the cv=5 of scikit-learn)"
)


_PURE = 1e-9  # where pure fits are added up: at δ = 0 nothing better than their plain sum is known


class CompositionWarning(UserWarning):
    """A warning: several private fits ran in one process, and no ledger adds them up. It is given once per process, at the second fit.

    Notes
    -----
    Each `guarantee_` is that of one fit. `prepriv.spent` shows what all of them cost together. If every fit is
    charged to a ledger, its cap holds for all, and no warning is given.
    """


@dataclass(frozen=True, eq=False)
class PrivateFit:
    """One run of a plan on private rows, counted from its start: an error or a refusal after that gives nothing back.

    n: records, of the plan. delta: as declared for this run. receipt: of its charge in a ledger (`Model.receipt`).
    """

    plan_hash: str
    adjacency: Adjacency
    n: int
    delta: float
    guarantee: Guarantee
    receipt: Mapping[str, Any] | None = None


class _PerKind(dict[str, float]):
    """A number for each kind of neighbours, which reads as a number where there is one kind."""

    def __float__(self) -> float:
        if len(self) > 1:
            raise TypeError(
                f"there is one epsilon for each kind of neighbours, and they do not add up: take one, such as spent().epsilon[{next(iter(self))!r}]"
            )
        return next(iter(self.values()), 0.0)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __round__(self, digits: int | None = None) -> float:
        return round(float(self), digits)

    def __lt__(self, other: Any) -> bool:
        return float(self) < float(other)

    def __le__(self, other: Any) -> bool:
        return float(self) <= float(other)

    def __gt__(self, other: Any) -> bool:
        return float(self) > float(other)

    def __ge__(self, other: Any) -> bool:
        return float(self) >= float(other)


@dataclass(frozen=True, eq=False)
class Spent:
    """What the private fits of this process cost together: see `spent`.

    Parameters
    ----------
    delta : float
        The delta at which `epsilon` is computed.
    fits : tuple of PrivateFit
        Every fit, in order.
    without_privacy : int, default 0
        Number of fits without noise from the operating system (epsilon = inf). They are in no total.

    Examples
    --------
    >>> import prepriv
    >>> spent = prepriv.spent(1e-6)
    >>> len(spent.totals) <= len(spent.fits), sorted(spent.epsilon) == sorted(spent.totals)
    (True, True)
    """

    delta: float
    fits: tuple[PrivateFit, ...]
    without_privacy: int = 0

    @cached_property
    def totals(self) -> dict[str, Guarantee]:
        """The composed guarantee of the fits, for each kind of neighbours (`Guarantee.neighbours`). Different kinds do not add up."""
        kinds = dict.fromkeys(fit.guarantee.neighbours for fit in self.fits)
        return {kind: self._total(kind) for kind in kinds}

    def _total(self, kind: str) -> Guarantee:
        fits = [fit for fit in self.fits if fit.guarantee.neighbours == kind]
        total, (epsilon, delta) = then([fit.guarantee for fit in fits]), self._sum(kind)
        if total.mu is None and math.isfinite(epsilon) and delta < 1:  # one µ is never above the plain sum
            total = smallest([total, replace(total, tradeoff=approximate_dp(epsilon, delta))])
        real = _answer(total, self.delta, delta, epsilon)
        mu = gdp_mu(min(max(real, 1e-6), 1e6), self.delta)
        weak = notes_on(real, self.delta, max(fit.n for fit in fits), mu)
        kept = [note for note in total.notes if note not in total.weak]  # what is weak of one is not of all
        return replace(total, notes=(*kept, *weak))

    def _sum(self, kind: str) -> tuple[float, float]:
        """What the declared (ε, δ) of the fits add up to: basic composition."""
        count = Counter(fit.plan_hash for fit in self.fits if fit.guarantee.neighbours == kind)
        each = {fit.plan_hash: fit for fit in self.fits}
        epsilons = [k * _answer(each[h].guarantee, each[h].delta) for h, k in count.items()]
        deltas = [k * each[h].delta for h, k in count.items()]
        return math.fsum(epsilons) * UP, math.fsum(deltas) * UP

    @cached_property
    def epsilon(self) -> dict[str, float]:
        """The composed ε at `delta`, for each kind of neighbours. inf if `delta` is too small for the computation.

        A dict that also reads as a number, `float(spent().epsilon)` and `spent().epsilon <= 1`, where the fits have one kind of neighbours;
        0 where there was no fit. TypeError with several kinds, whose ε do not add up.
        """
        return _PerKind(
            (kind, _answer(total, self.delta, *reversed(self._sum(kind))))
            for kind, total in self.totals.items()
        )

    @cached_property
    def above_the_sum(self) -> bool:
        """Whether `delta` is so small that the plain sum of the fits' ε, which holds at the sum of their δ, is smaller."""
        return any(self.epsilon[kind] > self._sum(kind)[0] for kind in self.totals)

    def __str__(self) -> str:
        count = len(self.fits)
        text = f"{count or 'no'} private run{'s' * (count != 1)} in this process (fits, measurements and answers)"
        if count:
            charged = sum(fit.receipt is not None for fit in self.fits)
            if charged:
                text += f", {charged} of them charged to a ledger"
            text += f"; {_IF}: {self._sums()}{self._in_a_ledger}"
        if self.without_privacy:
            text += f"; and {self.without_privacy} without privacy (ε = inf), in no total"
        return text

    __repr__ = __str__

    @property
    def _in_a_ledger(self) -> str:
        """What a ledger of ε books for the same runs, where that is far more."""
        more = [
            f"ε = {self._sum(kind)[0]:.4g}"
            for kind in self.totals
            if self._sum(kind)[0] > _FAR * self.epsilon[kind]
        ]
        if not more:
            return ""
        return (
            f"; a ledger of ε books {' and '.join(more)} for them or a little more, since it adds the whole ε of each run "
            '(one of unit="gdp" adds µ², which comes near this total)'
        )

    def _sums(self) -> str:
        sums = [
            f"{epsilon_at(self.epsilon[kind], self.delta)}, {total}" for kind, total in self.totals.items()
        ]
        return "; separately, as guarantees for other neighbours do not add up: ".join(sums)


def _answer(
    guarantee: Guarantee, delta: float, sum_delta: float = math.inf, sum_epsilon: float = math.inf
) -> float:
    """Its ε at delta; where that is too small to compute at, the plain sum if it holds there, else inf."""
    try:
        return guarantee.epsilon(delta)
    except ValueError:
        return sum_epsilon if delta >= sum_delta else math.inf


@dataclass(eq=False)
class Odometer:
    """Only goes up: there is no reset. Safe between threads; a forked process goes on from what its parent had."""

    _fits: list[PrivateFit] = field(default_factory=list)
    _unprotected: list[None] = field(default_factory=list)
    _guarantees: dict[str, Guarantee] = field(default_factory=dict)
    _said: threading.Lock = field(default_factory=threading.Lock)  # taken for good by the one who warns

    def record(self, plan: Priced, private: bool, receipt: Mapping[str, Any] | None = None) -> None:
        """Count a run of `plan`, before it reads a row.

        private: whether noise of the operating system protects it. receipt: of its charge, if a ledger adds it up: then
        nothing here stops the run. Without one a warning that a filter makes an error does, and nothing is counted.
        """
        guarantee = plan.guarantee
        if guarantee is None or not private:
            self._unprotected.append(None)
            return
        if receipt is None:
            self.announce(plan)
        else:
            with suppress(Exception):  # said before the charge, if it can be said
                self.announce(plan, charged=True)
        self._fits.append(self._fit(plan, guarantee, receipt))

    def _fit(self, plan: Priced, guarantee: Guarantee, receipt: Mapping[str, Any] | None) -> PrivateFit:
        # Equal plans share one curve: it composes faster, and a long search does not hold thousands of them.
        digest = plan.hash
        shared = self._guarantees.setdefault(digest, guarantee)
        return PrivateFit(digest, guarantee.adjacency, plan.n, plan.delta, shared, receipt)

    def announce(self, plan: Priced, charged: bool = False) -> None:
        """Warn, once, if a private run of `plan` is not the first and no ledger adds them all up: before its charge.

        charged: whether a ledger will hold it. Raises what a filter of the user gives for the warning, each time.
        """
        fits = tuple(self._fits)
        if plan.guarantee is None or not fits or (charged and all(fit.receipt for fit in fits)):
            return
        if not self._said.acquire(blocking=False):
            return
        try:
            fits = (*fits, self._fit(plan, plan.guarantee, None))
            total = Spent(max(fit.delta for fit in fits) or _PURE, fits)
            if total.above_the_sum:
                total = Spent(min(math.fsum(fit.delta for fit in fits) * UP or _PURE, 0.999), fits)
            warnings.warn(
                f"private run {len(fits)} of this process (fits, measurements and answers count), and no ledger adds them up. Each guarantee_ is for one run only. Together they "
                f"have {total._sums()}, {_IF}. prepriv.spent() shows the sum for this process, without joblib's workers and other runs. "
                "With ledger=, every run is charged to one cap, wherever it runs. This warning is given once",
                CompositionWarning,
                stacklevel=callers_level(),
            )
        except BaseException:
            self._said.release()
            raise

    def spent(self, delta: float) -> Spent:
        """What was recorded so far."""
        _, at = check_budget(math.inf, delta)
        return Spent(at, tuple(self._fits), len(self._unprotected))


_PROCESS = Odometer()


def announce(plan: Priced, charged: bool) -> None:
    """Say what a run of `plan` adds up to, before it is charged or counted: `Odometer.announce`."""
    _PROCESS.announce(plan, charged)


def record(plan: Priced, private: bool, receipt: Mapping[str, Any] | None = None) -> None:
    """Count a run of `plan` in this process: `Odometer.record`."""
    _PROCESS.record(plan, private, receipt)


def spent(delta: float = 1e-5) -> Spent:
    """Add up what all private runs of this process cost together *if* they read the same people.

    Fits, choices, measurements by `evaluate` and answers count alike, each as one of `fits`.

    Parameters
    ----------
    delta : float, default 1e-5
        In (0, 1). The composed ε is computed at this delta.

    Returns
    -------
    Spent
        `.epsilon` and `.totals` hold one total for each kind of neighbours. With one kind, `float(spent().epsilon)` is that ε. `.fits` holds every fit, so that you can
        leave out fits on other people's data.

    Raises
    ------
    ValueError
        For a delta outside (0, 1).

    Notes
    -----
    It is an upper bound on what those people pay, with these limits:

    - The odometer cannot tell whose rows a fit read. Every fit counts in full, even on a part of the rows.
    - *Which* rows a fit reads must not depend on a record. Otherwise the sum can be too small. Under replace-one
      KFold's parts depend on n alone; StratifiedKFold's (`cv=5` of a classifier) depend on every label
      (docs/scikit-learn.md).
    - Other processes are not seen: a grid search with n_jobs fits in joblib's workers. A ledger sees them all.
    - It is a sum for settings that were fixed beforehand. For settings chosen after seeing what earlier fits released,
      a cap fixed beforehand is what holds: that of a ledger (docs/proofs/ledger.md).

    Examples
    --------
    >>> import prepriv
    >>> prepriv.spent(delta=1e-6).delta
    1e-06
    """
    return _PROCESS.spent(delta)
