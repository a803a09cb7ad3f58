"""What a measurement will be able to say, from its plan alone: no row is read.

Which figures are refused depends on private data: how many rows a class has, how far a target is spread. So nothing is assumed about
them. The condition is stated, with a number from the code that refuses. Above that number every figure is given in 95 of 100 runs or
more, because each denominator is taken as low as noise rarely makes it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from prepriv._arrays import Floats
from prepriv.adjacency import n_is_public
from prepriv.evaluation.error_band import BAND_LEVEL, ever_given
from prepriv.evaluation.evaluation_plan import ERROR_OF_MEAN, LOSS_BOUND, EvaluationPlan, drowned
from prepriv.evaluation.figures import Measured
from prepriv.evaluation.intervals import Figure
from prepriv.guarantees.less_noise import less_noise
from prepriv.guarantees.printed import measured_alone, up
from prepriv.plans.enough import GOES_ON, GOOD_HALF, WIDE_HALF, names_epsilon, what_is_enough

_SURE = 1.96
_REFUSED = (
    0.025  # of the runs, at most, refuse a figure above a number that is named: half of what is promised
)
# What is called enough is so for classes of half of an equal share, and for targets of this deviation, in parts of their bounds or of
# the error bound.
_OF_EQUAL, _OF_BOUNDS, _OF_ERROR_BOUND = 0.5, 0.1, 0.4
# Nothing is said where figures of rarer classes alone are refused, or of targets that deviate by less than this part of the above.
_RARER, _NARROWER = 0.05, 0.3
_ABOUT_HALF = 0.6
_CUTS_FEW = 0.25  # of the error bound: with such a deviation half of it cuts few errors
_SQUARED = "mean squared error"
# Which measure alone is named first: with `confusion` accuracy is compared with the commonest class.
_ALONE = ("confusion", "accuracy", "scores", "log_loss", "r2", "residuals", "absolute_error", "squared_error")
_INTERVAL = f"predict_interval(level={BAND_LEVEL:g})"
_LABELLED = "All numbers are for rows with a label: where some have none, intervals are longer, and a class or group needs so many rows that have one. "


def hardly_measured(plan: EvaluationPlan) -> str:
    """What has to be said before the charge of a measurement with so much noise, or nothing: `drowned`, or else that the main figure's
    interval will be wide, which figures will be refused, and which are unless classes have so many rows, or the target such a deviation."""
    if why := drowned(plan):
        return why
    told = _hardly(plan)
    return told if plan.domain.unit is None else re.sub(r"\brows\b", "units", told)


def _hardly(plan: EvaluationPlan) -> str:
    """The same of a measurement that is not drowned, of rows."""
    now = _Expected(plan, 1.0)
    wide, refusals = now.half > WIDE_HALF, now.refusals()
    if not (wide or refusals):
        return ""
    if not wide and not now.refused(now.aimed):
        return f"At this epsilon {_joined(refusals)}. {now.halved(refusals)} {_LABELLED}{GOES_ON}"
    told = []
    if wide and now.half < math.inf:
        of = "" if plan.error_bound is None and now.name != "log loss" else " of its scale"
        told.append(
            f"{now.measured} will be known to about ± {100 * now.half:.2g} in 100{of} by the noise alone"
        )
    factor = more = less_noise(_good(plan, answered=bool(refusals)))
    by_chance = _INTERVAL in now.refused(now.best)
    if factor == math.inf or by_chance:  # figures are refused by the chance of the rows, too
        more = less_noise(lambda times: _good(_of_rows(plan, times), answered=bool(refusals))(1.0))
    enough = what_is_enough(
        factor,
        more=more,
        n=plan.n,
        epsilon=plan.epsilon,
        delta=plan.delta,
        counted="rows",
        aim=f" by the noise alone ({now.in_parts}){now.aim(refusals) if refusals else ''}",
        cures=_cures(plan, now, answered=bool(refusals)),
        then=_with_drawing(plan, factor, more, answered=bool(refusals)) + _LABELLED,
    )
    return f"{plan.n:,} rows are few for this epsilon: {_joined([*told, *refusals])}. {enough}"


def takes(plan: EvaluationPlan, figure: str) -> float:
    """What this figure takes to be given in nearly all runs of a plan: so many records of each class, or such a standard deviation of the target, in
    its unit. Infinite where it may be refused whatever the data are."""
    now = _Expected(plan, 1.0)
    if figure in now.refused(now.best):
        return math.inf
    return now._least_of(figure) * (plan.n if plan.domain.classes else plan.error_bound or 0.0)


def _good(plan: EvaluationPlan, *, answered: bool) -> Callable[[float], bool]:
    """Whether so many times less noise leaves a narrow main figure, and refuses none under the condition that is named."""

    def good(times: float) -> bool:
        then = _Expected(plan, times)
        return then.half <= GOOD_HALF and not (answered and then.refused(then.aimed))

    return good


def _cures(plan: EvaluationPlan, now: _Expected, *, answered: bool) -> list[str]:
    """What is enough at this ε and number of rows, beside less noise: fewer measures, of which one alone gives what is refused now, or a smaller error
    bound."""
    told, missing = list[str](), {*(now.refused(now.aimed) if answered else [])}
    missing = {_INTERVAL} & missing or missing  # "residuals" alone gives intervals
    for measure in sorted(plan.measures, key=_ALONE.index) if len(plan.measures) > 1 else ():
        alone = replace(plan, measures=(measure,))
        gives = {name.split(" of ")[0] for name in _Expected(alone, 1.0)._made(now.best, 0.0).figures}
        gives |= {_INTERVAL} if measure == "residuals" else set()
        if (not missing or gives & missing) and _good(alone, answered=answered)(1.0):
            told = [f"fewer measures, such as {measure} alone"]
            break
    if now.loose:
        half = replace(plan, error_bound=(plan.error_bound or 0.0) / 2)
        told += ["a smaller error bound"] * _good(half, answered=answered)(1.0)
    return told


def _of_rows(plan: EvaluationPlan, times: float) -> EvaluationPlan:
    """The same of so many times as many rows."""
    return replace(plan, domain=plan.domain.with_n(math.ceil(plan.n * times)))


def _with_drawing(plan: EvaluationPlan, factor: float, more: float, *, answered: bool) -> str:
    """What the interval of the main figure, and of R², will be with so many times less noise, or so many times as many rows: noise is not all that it
    holds. A sentence, or nothing where neither is enough."""
    if names_epsilon(factor, plan.epsilon, plan.delta):
        then, where = _Expected(plan, factor), "at that epsilon"
    elif more < math.inf:
        then, where = _Expected(_of_rows(plan, more), 1.0), "with so many rows"
    else:
        return ""
    told = [*then.known_to(then.aimed if answered else then.best)]
    if not told:
        return ""
    also = "Intervals also hold the chance of which rows were drawn, which no epsilon narrows"
    return f"{also}: {where} {_joined(told)}. {then.narrows}"


@dataclass(frozen=True)
class _Expected:
    """What is refused under a condition, if noise is `factor` times smaller beside the rows. A condition is one number: of classes the
    share of rows that each has at least, which as large a share of predictions names; of a target its deviation in parts of the error bound.

    group: the number of rows of one group, whose figures are then meant; None: those of all rows.
    """

    plan: EvaluationPlan
    factor: float
    group: float | None = None

    @property
    def noise(self) -> float:
        """Of one count."""
        groups = 1 if self.group is not None else max(1, len(self.plan.groups))
        return self.plan.noise * math.sqrt(groups) / self.factor

    @property
    def n(self) -> float:
        """The number of rows."""
        return self.plan.n if self.group is None else self.group

    @property
    def public(self) -> bool:
        """Whether that is known."""
        return self.group is None and n_is_public(self.plan.domain.adjacency)

    @cached_property
    def best(self) -> float:
        """The condition that no data beats."""
        if self.plan.domain.classes:
            return 1 / len(self.plan.domain.classes)
        return min(1.0, 0.5 / self.plan.error_share)

    @cached_property
    def aimed(self) -> float:
        """The condition under which what is called enough is so."""
        if self.plan.domain.classes:
            return _OF_EQUAL * self.best
        return min(_OF_BOUNDS / self.plan.error_share, _OF_ERROR_BOUND)

    @cached_property
    def least(self) -> float:
        """The condition below which nothing is said."""
        return _RARER if self.plan.domain.classes else _NARROWER * self.aimed

    @cached_property
    def _margin(self) -> float:
        """Deviations of its noise by which a denominator falls in so few runs that all of them hold together."""
        return float(ndtri(1 - _REFUSED / len(self._made(self.best, 0.0).figures)))

    @cached_property
    def name(self) -> str:
        """The main figure."""
        return next(iter(self._made(self.best, 0.0).figures))

    @property
    def measured(self) -> str:
        """The same, or what it is made of where that has a scale of its own."""
        return _SQUARED if self.name in ("R2", "root mean squared error") else self.name

    @property
    def in_parts(self) -> str:
        """That, and what ± 5 in 100 of it are parts of."""
        name = self.measured
        if name == "log loss":
            return f"{name}, in parts of {LOSS_BOUND:g}, its largest value"
        if self.plan.error_bound is None:
            return name
        return f"{name}, in parts of the {'squared ' * (name == _SQUARED)}error bound"

    def _main(self, condition: float) -> tuple[Figure, float]:
        """(that figure under a condition, its scale)."""
        made, name = self._made(condition, 0.0), self.measured
        if name == _SQUARED:
            return made._pair(name, "squared_error"), 1.0
        return made[name], LOSS_BOUND if name == "log loss" else self.plan.error_bound or 1.0

    @cached_property
    def half(self) -> float:
        """Half of its interval by the noise alone, in parts of its scale; infinite where it is refused."""
        main, scale = self._main(self.best)
        return math.inf if main.noise is None else _SURE * main.noise / scale

    def known_to(self, condition: float) -> Iterator[str]:
        """How long the interval of the main figure will be in all, and that of R²: parts of a sentence."""
        main, scale = self._main(condition)
        if self.name != "R2" and main.length is not None:
            of = "" if self.plan.error_bound is None and self.name != "log loss" else " of its scale"
            yield f"{self.measured} will be known to about ± {_in_100(main.length / scale / 2)} in 100{of}"
        if "r2" not in self.plan.measures:
            return
        of = "the target's standard deviation"
        halves = []
        for at in self._told:
            if (length := self._with_half(at)["R2"].length) is not None:
                halves.append(f"to about ± {_in_100(length / 2)} in 100 where {of} is {self._by(at)}")
                of = "it"
        if halves:
            yield f"an R2 of 0.5 will be known {_listed(halves)}, and a lower one less well"

    @property
    def _told(self) -> tuple[float, float]:
        """The deviations of a target of which it is told how long the interval of R² will be."""
        return self.aimed, min(2 * self.aimed, self.best)

    @property
    def narrows(self) -> str:
        """What makes the interval of R² shorter, beside the noise: a sentence, or nothing."""
        if "r2" not in self.plan.measures:
            return ""
        ways = ["a smaller error bound"] * (self.aimed <= _CUTS_FEW)
        low, high = (self._with_half(at).narrower_beside_absolute_error for at in self._told)
        least = "" if low else f" (from a standard deviation of about {self._by(self._told[1])} on)"
        ways += [f"`absolute_error` among the measures{least}"] * high
        return f"{_listed(['More rows', *ways])} narrow that of R2. "

    def _with_half(self, condition: float) -> Measured:
        """The figures of an R² of one half, with errors that are normally distributed, of a target of this deviation."""
        made, squared = self._made(condition, 0.0), condition**2 / 2
        counts = {**made.counts, "squared_error": self._pair(squared, 0.0)}
        if "absolute_error" in counts:
            counts["absolute_error"] = self._pair(math.sqrt(2 / math.pi * squared), 0.0)
        return replace(made, counts=counts)

    def refused(self, condition: float, margin: float | None = None) -> list[str]:
        """The figures that are refused in more than so few runs; margin 0: in most."""
        made = self._made(condition, self._margin if margin is None else margin)
        names = [figure.name for figure in made.figures.values() if figure.value is None]
        if (
            "residuals" in self.plan.measures
            and self.group is None
            and not ever_given(self.plan, self.n, self.noise)
        ):
            names.append(_INTERVAL)
        return [*dict.fromkeys(name.split(" of ")[0] for name in names)]

    def refusals(self) -> list[str]:
        """What is refused and when: parts of a sentence."""
        sure, likely = self.refused(self.best, 0.0), self.refused(self.best)
        even = (
            "even if all classes are equally frequent" if self.plan.domain.classes else "whatever the target"
        )
        told = [f"{_listed(sure)} will probably be refused, {even}"] if sure else []
        if some := [name for name in likely if name not in sure]:
            told.append(f"{_listed(some)} may be refused, {even}")
        needs: dict[str, list[str]] = {}
        for name in self.refused(self.least):
            if name not in likely:
                needs.setdefault(self._in_words(self._least_of(name)), []).append(name)
        needs |= {need: [name] for name, need in self._of_groups()}
        for k, (need, names) in enumerate(needs.items()):
            predicted = " and of the predictions" if "precision" in names else ""
            told.append(f"{_listed(names)}{'' if k else ' may be refused'} unless {need}{predicted}")
        return told

    def _least_of(self, name: str) -> float:
        """The condition from which on this figure is given in all but so few runs."""
        low, high = 0.0, self.best
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if name in self.refused(middle) else (low, middle)
        return high

    def _of_groups(self) -> Iterator[tuple[str, str]]:
        """(figure of one group, what the group needs for it), if that is more than what nothing is said about."""
        plan = self.plan
        if not plan.groups:
            return
        whole = replace(self, group=float(plan.n))
        low, high = 0.0, float(plan.n)
        for _ in range(30):
            middle = (low + high) / 2
            given = whole.name not in replace(self, group=middle).refused(self.best)
            low, high = (low, middle) if given else (middle, high)
        if whole.name != "R2" and high > _RARER * plan.n:
            yield f"{whole.name} of a group", f"the group has about {_rows(high)} rows"
        if "confusion" in plan.measures and (rows := whole._least_of("recall") * plan.n) > _RARER * plan.n:
            yield "recall in a group", f"it has about {_rows(rows)} rows of the class"

    def _in_words(self, condition: float) -> str:
        plan = self.plan
        if plan.domain.classes:
            return f"each class has about {_rows(condition * plan.n)} of the {plan.n:,} rows"
        bound = plan.error_bound or 0.0
        cut = "" if plan.error_share >= 1 else f" (distances from the mean cut at {measured_alone(bound)})"
        return f"the target's standard deviation{cut} is {self._deviation(condition)}"

    def _by(self, condition: float) -> str:
        least = condition * (self.plan.error_bound or 0.0)
        return measured_alone(float(up(float(f"{least:.9g}"), 2)))  # 0.1 times 6 is more than 0.6

    def _deviation(self, condition: float) -> str:
        return f"{self._by(condition)} or more, {up(100 * condition * self.plan.error_share, 2)} % of the distance between its bounds"

    def aim(self, refusals: Sequence[str]) -> str:
        """What an answer to these refusals aims at, and under which condition: the end of "for ± 5 in 100"."""
        plan = self.plan
        aim = f" and no figure{' of all rows' * bool(plan.groups)} refused"
        if not {"confusion", "scores", "r2"} & {*plan.measures}:
            return aim
        if not plan.domain.classes:
            named = any("standard deviation" in told for told in refusals)
            condition = f"that is {self._deviation(self.aimed)}" if named else self._in_words(self.aimed)
            return f"{aim} if {condition},"
        predicted = " and of the predictions" * ("confusion" in plan.measures)
        return f"{aim} if each class has {up(100 * self.aimed, 2)} % of the rows{predicted},"

    @property
    def loose(self) -> bool:
        """Whether R² is refused where half the error bound, which cuts few errors of a target as it is aimed at, would help."""
        return "r2" in self.plan.measures and self.aimed <= _CUTS_FEW and bool(self.refused(self.aimed))

    def halved(self, refusals: Sequence[str]) -> str:
        """What makes these conditions milder: a sentence."""
        if not any("standard deviation" in told for told in refusals):
            return "Twice the epsilon about halves such a number."
        half = replace(self.plan, error_bound=(self.plan.error_bound or 0.0) / 2)
        also = takes(half, "R2") <= _ABOUT_HALF * takes(
            self.plan, "R2"
        )  # not where the noise of the mean is most of it
        return f"Four times the epsilon about halves that deviation{', and so does half the error bound' * also}."

    def _made(self, condition: float, margin: float) -> Measured:
        """The figures of rows that just meet a condition, each denominator so many deviations of its noise below its true number."""
        counts = {release: self._counts(release, condition, margin) for release in self.plan.releases}
        made = Measured(self.plan, counts, self.noise, self.public)
        if "r2" not in self.plan.measures:
            return made
        # What the mean's noise adds to its squared error is taken off there: so it is put on here, before the margin.
        mean, error = made._pair("mean", "target"), made._pair("error", ERROR_OF_MEAN)
        of_mean = ((mean.noise or 0.0) / self.plan.error_share) ** 2
        own = math.hypot(error.noise or 0.0, math.sqrt(2) * of_mean)
        counts[ERROR_OF_MEAN] = self._pair(condition**2 + of_mean - margin * own, margin)
        return Measured(self.plan, counts, self.noise, made.known)

    def _counts(self, release: str, condition: float, margin: float) -> Floats:
        """Its counts; what is neither in the condition nor in a denominator is half."""
        n, classes, bins = self.n, len(self.plan.domain.classes), len(self.plan.edges) + 1
        share = np.full(max(classes, 1), (1 - condition) / max(classes - 1, 1))
        share[0] = condition
        if release == "confusion":
            return n * np.outer(share, share) - margin * self.noise / math.sqrt(classes)
        if release == "scores":
            rows = np.resize(share, 2) if classes == 2 else np.full(2, 0.5)
            return np.tile(n * rows / bins, (bins, 1)) - margin * self.noise / math.sqrt(bins)
        if release == "residuals":
            return np.full(bins, n / bins) - margin * self.noise / math.sqrt(bins)
        # The noise of a mean is largest where all targets lie at one bound.
        return self._pair({"target": 0.0, ERROR_OF_MEAN: condition**2}.get(release, 0.5), margin)

    def _pair(self, share: float, margin: float) -> Floats:
        """Counts of hits and misses, whose sum has a margin: under a public n beside rows that are neither."""
        less = margin * self.noise * math.sqrt(2 / 3 if self.public else 2)
        rows = self.n - less
        return np.array([share * rows, (1 - share) * rows, less if self.public else 0.0])


def _rows(least: float) -> str:
    """A number of rows, rounded up."""
    return f"{float(up(least, 2)):,.0f}"


def _joined(parts: Sequence[str]) -> str:
    """Parts of a sentence."""
    *most, last = parts
    return f"{', '.join(most)}, and {last}" if most else last


def _in_100(half: float) -> str:
    return f"{float(f'{100 * half:.2g}'):g}"


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
