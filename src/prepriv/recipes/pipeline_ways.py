"""The ways to pay for a pipeline of scikit-learn, and which of them is taken: from declared facts, before a record is read.

A pipeline that learns nothing is free. Else each way that keeps its meaning is priced by what it does to the noise of training: private fits
of its own by budget, the same with gaps filled by sensitivity where a cap is declared, one sketch for all. docs/your-pipeline.md.
"""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from prepriv._arguments import choice, number
from prepriv._callers import callers_level
from prepriv.columns import Numeric
from prepriv.domain import Domain, what_n_counts
from prepriv.guarantees.less_noise import MOST_NAMED, larger_epsilon, less_noise
from prepriv.guarantees.printed import up
from prepriv.guarantees.training_part import (
    LEAVES_MORE,
    candidate_has,
    divided,
    forecast_n,
    leaves_as_much,
    names_none,
    price_now,
    price_of,
    table_now,
    table_of,
    trains_of,
)
from prepriv.payment import Sketch
from prepriv.plans.plan import budget, settled, signal
from prepriv.plans.price import joint_factor
from prepriv.preprocessing.base import Step, walk
from prepriv.preprocessing.fitted import Fitted
from prepriv.preprocessing.homogenize import Homogenize
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.normalize import ClipNorm, Rescale
from prepriv.recipes.automatic import WeakSignal, at_scale, recipe
from prepriv.recipes.own_fits import NOISY_MEANS, OwnFits
from prepriv.recipes.regression import even_rows
from prepriv.recipes.step_rule import StepRule
from prepriv.recipes.unscaled import unscaled_pipeline_in_words, warn_of_no_scaler
from prepriv.recipes.weak import RECIPE_LEVEL, center_of_columns, constant_center
from prepriv.sketches.signal import Signal, signal_of

PaidWay = Literal["auto", "budget", "sensitivity", "sketch"]
PAID_WAYS: tuple[PaidWay, ...] = ("auto", "budget", "sensitivity", "sketch")
EVEN_LEVEL = 0.6  # the constant feature after outputs that are divided by their width, about half of RECIPE_LEVEL (docs/sketch.md)
_SQUARE, _SQUARE_OF_CODES = (
    0.06,
    0.45,
)  # about the squared length of such an output: of a number, of the codes of a category
# Of rows in units of their bounds, for a target: where they are cut, in norms of a row of ones, and the norm of that (docs/sketch.md).
_TARGET_CUT, _TARGET_SCALE = 0.35, 2.5
_BETTER_WITHOUT = frozenset(["PCA"])
"""Steps without which a model is better where their noise is too large. On 453 patients at ε = 1, twelve fits each, which no command repeats: accuracy
0.64 without PCA and 0.49 with it (two classes: 0.63 and 0.60), but 0.55 without a scaler: numbers weigh by their units then. Others were not measured."""
_LOST_B = 25.0  # of a sketch in place of a PCA that is little but noise: its signal b (docs/sketch.md)
_OPEN = (
    "which way pays depends on n, the number of records, so give n: steps of prepriv with private fits, which differ as said here, or the "
    "transformers as they are on a private sketch"
)
_OTHER_WAY = "The other way is way='sketch', which fits the transformers on rows drawn from a private sketch"
_ITS_OWN = "The other way, way='sketch', has a warning of its own at this epsilon: either can be the more accurate one"
_STILL_MORE = "It is taken because the noise of PCA as a step of prepriv would be larger still"
_BY = {"sketch": "By a sketch", "budget": "By steps of prepriv"}
_SCALED = "their outputs are cut at their 0.5 % and 99.5 % quantiles, centred and scaled"
_SAYS = {
    "free": "its transformers learn nothing from rows beyond what is declared, so they cost nothing: their outputs are centred and scaled by made-up rows of the domain",
    "sketch": f"its transformers are fitted on rows drawn from a private sketch of the table, not on the table: {_SCALED}",
    "budget": "its transformers are steps of prepriv, each with a private fit of its own",
    "sensitivity": "its transformers are steps of prepriv: gaps are filled by the true means at training, and by the middle of the bounds in predictions, since those means never leave",
}


@dataclass(frozen=True)
class PaidOption:
    """A way to pay for the whole pipeline. way: its name, or "free". steps: empty where it is not available. factor: noise of training over that
    if the pipeline cost nothing. enough: whether noise leaves it the meaning that it has. why: why it is not available, or what noise does.
    lost: whether noise leaves little of it, as measured (docs/sketch.md)."""

    way: str
    steps: tuple[Step, ...]
    factor: float
    enough: bool
    why: str = ""
    lost: bool = False

    @property
    def open(self) -> bool:
        """Whether it can be taken."""
        return bool(self.steps)

    @property
    def shares(self) -> tuple[tuple[str, str, float], ...]:
        """(step, way, share of the budget) of each step that is paid for."""
        return tuple((s.name, s.way, s.paid.share) for s in self.steps if s.way != "free")


@dataclass(frozen=True, repr=False)
class PipelineWays(StepRule):
    """The transformers of a pipeline in each way. fitted: as they are, on a sketch or free. own: as steps of prepriv. way: the one that was
    asked for. missing: the declared share of records that miss a cell, None: not declared. share: of the sketch; a number asks for one.
    target: whether a number is learned. declared: the same for columns whose gaps become the middle before it, and these columns, where it would fill
    no gap and gaps become the middle anyway."""

    fitted: Fitted
    own: OwnFits
    way: PaidWay = "auto"
    missing: float | None = None
    share: float | str = "auto"
    target: bool = False
    declared: tuple[PipelineWays, Domain] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        choice("way", self.way, PAID_WAYS)
        _ = Sketch(self.share)
        if self.share != "auto" and self.way not in ("auto", "sketch"):
            raise ValueError(f"share is that of a sketch, and way={self.way!r}: leave share out")
        if self.share != "auto" and self.free:
            raise ValueError(
                f"share={self.share!r}: nothing here learns from rows, so there is nothing to pay for: leave share out"
            )
        if self.missing is not None:
            number("missing", self.missing, at_least=0.0, at_most=1.0)
        imputes = any(isinstance(step, MeanImputer) for step in self.own.templates)
        if self.missing is not None and (self.own.closed or not imputes):
            raise ValueError(
                "missing is read where a SimpleImputer fills means and each part has a step of prepriv: leave it out"
                + (f" ({self.own.closed})" if self.own.closed else "")
            )
        if self.missing is not None and self.asked in ("budget", "sketch"):
            asked = f"way={self.way!r}" if self.way != "auto" else f"share={self.share!r}"
            raise ValueError(
                f"{asked} fills no gap under a cap, so missing={self.missing!r} would not be read: leave missing out, or take way='sensitivity'"
            )
        if self.way != "auto" and self.free:
            raise ValueError(
                f"way={self.way!r}: nothing here learns from rows, so there is nothing to pay for: leave way out"
            )
        if self.way in ("budget", "sensitivity") and self.own.closed:
            raise ValueError(f"way={self.way!r} needs a step of prepriv for each part: {self.own.closed}")
        if self.way == "sensitivity" and self.missing is None:
            raise ValueError(
                "way='sensitivity' fills means under a cap, which is never assumed: declare missing=, a share of the records"
            )

    def __repr__(self) -> str:
        return f"PipelineWays({', '.join(self.fitted.settings)}; way={self.way!r})"

    @property
    def asked(self) -> PaidWay:
        """The way that was asked for; a share asks for a sketch."""
        return self.way if self.share == "auto" else "sketch"

    @property
    def with_the_middle(self) -> tuple[PipelineWays, Domain] | None:
        """`declared`, with the settings of now."""
        if self.declared is None:
            return None
        ways, domain = self.declared
        return replace(ways, way=self.way, missing=self.missing, share=self.share), domain

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"missing": self.missing, "share": self.share, "way": self.way}

    @property
    def free(self) -> bool:
        """Whether nothing is paid."""
        return self.fitted.way == "free"

    def kept(self, domain: Domain, s: float) -> tuple[Step, ...]:
        """The steps as the pipeline has them, shares left open. s: the signal, of which the centre of the constant feature follows."""
        fitted = self.fitted if self.free else replace(self.fitted, payment=Sketch(self.share))
        if self.target:
            return (fitted, *_rows_of_target(fitted.features))
        return (fitted, *_even(EVEN_LEVEL, constant_center(EVEN_LEVEL, _square(domain), s)))

    @property
    def sure(self) -> str | None:
        """The way that is taken whatever n is; None: n decides."""
        if self.free:
            return "free"
        return self.asked if self.asked != "auto" else "sketch" if self.own.closed else None

    def says(self, way: str | None) -> tuple[str, ...]:
        """How another answer the transformers give when they are paid for in this way; None: n decides which one."""
        if way is None:
            return (_OPEN, *self.own.differs)
        own = self.own.differs if way in ("budget", "sensitivity") else ()
        true_means = way == "sensitivity"
        return (_SAYS[way], *(told for told in own if not (true_means and told == NOISY_MEANS)))

    def options(self, domain: Domain, *, n: int, epsilon: float, delta: float) -> tuple[PaidOption, ...]:
        """Every way, the one that is taken first. Nothing is refused here; `chosen` does."""
        if self.free:
            s = signal(domain, n=n, epsilon=epsilon, delta=delta)
            return (PaidOption("free", self.kept(domain, s), 1.0, True),)
        sketch = self._sketch(domain, n, epsilon, delta)
        own = [self._own(domain, way, n, epsilon, delta) for way in ("budget", "sensitivity")]
        if sketch.open:
            other = _OTHER_WAY if sketch.enough else _ITS_OWN
            own = [replace(o, why=f"{o.why}. {other}") if o.open and o.why else o for o in own]
            if sketch.why and own[0].lost and not sketch.lost:
                sketch = replace(sketch, why=f"{sketch.why} {_STILL_MORE}")
        found = [*own, sketch]
        finer = self.own.coarser or (self.target and self.own.unscaled)  # what a sketch makes

        def rank(option: PaidOption) -> tuple[bool, bool, bool, bool, bool, float]:
            """First what was asked for, then what noise leaves its meaning, or some of it, then fits of its own, which are more accurate
            as a rule (docs/sketch.md)."""
            return (
                not option.open,
                option.way != self.asked,
                not option.enough,
                option.lost,
                (option.way == "sketch") != finer,
                option.factor,
            )

        return tuple(sorted(found, key=rank))

    def chosen(self, domain: Domain, *, n: int, epsilon: float, delta: float) -> PaidOption:
        """The way that is taken: the least noise among those with enough signal. ValueError where none is available."""
        found = self.options(domain, n=n, epsilon=epsilon, delta=delta)
        asked = [option for option in found if self.asked in ("auto", option.way)] or list(found)
        if (self.free or not any(option.open for option in asked)) and not self.fitted.made_for(domain):
            raise ValueError(
                "these steps were read by prepriv.private for the columns of its model, in which gaps are kept and columns that the pipeline "
                "drops are left out: use model.domain as the domain"
            )
        if not any(option.open for option in asked):
            told = {option.way: option.why for option in asked}
            lines = [f"{_BY[way]}: {told[way]}" for way in ("sketch", "budget") if way in told]
            if not lines:
                raise ValueError(told["sensitivity"])
            raise ValueError(f"{self._who} cannot be paid for. {' '.join(lines)}{self._without}")
        return next(option for option in asked if option.open)

    def steps_for(self, domain: Domain, *, n: int, epsilon: float, delta: float) -> tuple[Step, ...]:
        found = self.chosen(domain, n=forecast_n(n), epsilon=epsilon, delta=delta)
        if not found.enough and found.way != "sketch":  # of a sketch the plan says it
            warnings.warn(found.why, WeakSignal, stacklevel=callers_level())
        if found.way != "sketch":  # which scales what comes out
            warn_of_no_scaler(unscaled_pipeline_in_words(domain, self.fitted.transformer), epsilon)
        return found.steps

    def _own(self, domain: Domain, way: str, n: int, epsilon: float, delta: float) -> PaidOption:
        """By private fits of its own, and gaps by sensitivity where that is the way."""
        missing = self.missing if way == "sensitivity" else None
        if why := self.own.closed or (self._no_sensitivity if way == "sensitivity" else ""):
            return PaidOption(way, (), math.inf, False, why)
        try:
            made = self.own.at(domain, n=n, mu=budget(epsilon, delta), missing=missing)
            *_, last = (domain.space, *(after for _, _, after in walk(made.steps, domain.space)))
            numbers = domain.target is not None
            level, s = self.own.level or RECIPE_LEVEL, signal(domain, n=n, epsilon=epsilon, delta=delta)
            # A longer bias would make rows that a record moves more expensive.
            center = 0.0 if missing is not None else center_of_columns(level, len(domain.columns), s)
            if not numbers:
                even = _even(level, center)
            elif self.own.in_bounds:
                even = _rows_of_target(last.d)
            else:
                even = even_rows(last, len(domain.columns))
            steps = (*made.steps, *even)
            factor = _factor(steps, domain, n, epsilon, delta)
        except ValueError as closed:
            other = ". Another way pays for it: leave way out" if way == "sensitivity" else ""
            return PaidOption(way, (), math.inf, False, f"{closed}{other}")
        rough = self._rough(made.rough, domain, missing, n, epsilon, delta) if made.rough else ""
        return PaidOption(way, steps, factor, not made.rough, rough, made.lost and not numbers)

    def _rough(
        self,
        names: tuple[str, ...],
        domain: Domain,
        missing: float | None,
        n: int,
        epsilon: float,
        delta: float,
    ) -> str:
        """That noise is too large for these steps, and what would be enough, by themselves or by a sketch that is taken then. Rounded up."""
        mu = budget(epsilon, delta)

        def own(rows: int, mu: float) -> bool:
            return not self.own.at(domain, n=rows, mu=mu, missing=missing).rough

        def clear(rows: int, mu: float) -> bool:
            return own(rows, mu) or (self.asked == "auto" and self._by_sketch(domain, rows, mu))

        def way(said: str, rows: int, mu: float) -> list[str]:
            return [said + ("" if own(rows, mu) else " (by a sketch)")] if clear(rows, mu) else []

        whose = what_n_counts(domain)
        large = f"the noise of {', '.join(names)} is larger than such steps tolerate, with so few {whose}"
        if clear(n, mu):  # "epsilon = 0.3 in place of 0.3" was named
            return f"{large}, and a sketch has enough signal"
        if names_none():
            return f"{large}. {LEAVES_MORE}"
        needed = larger_epsilon(less_noise(lambda t: clear(n, mu * t)), epsilon, delta)
        ways, larger = list[str](), price_of(needed)
        if larger <= MOST_NAMED:
            said = f"epsilon = {larger:g} in place of {price_now(epsilon):g}"
            ways = way(said, n, budget(candidate_has(larger), delta))
        if (more := less_noise(lambda t: clear(math.ceil(n * t), mu))) < math.inf:
            rows = int(float(up(table_of(math.ceil(n * more)), 2)))
            if leaves_as_much(rows):
                ways += way(f"{rows:,} {whose} in place of {table_now(n)}", trains_of(rows), mu)
        if _BETTER_WITHOUT.issuperset(names):
            ways.append(f"a pipeline without {' and '.join(names)}")
        none = "" if needed <= MOST_NAMED else f". No epsilon up to {MOST_NAMED:g} is enough"
        if not ways and divided():
            return f"{large}. {LEAVES_MORE}{none}"
        if len(ways) < 2:
            return f"{large}{''.join(f'. This would be enough: {one}' for one in ways)}{none}"
        return f"{large}. Any one of these would be enough: {'; '.join(ways)}{none}"

    def _by_sketch(self, domain: Domain, n: int, mu: float) -> bool:
        """Whether a sketch would carry enough."""
        with suppress(ValueError):
            steps = settled(self.kept(domain, math.inf), domain.with_n(n), mu)  # the sketch alone is asked
            return self._signal(steps, domain, n, mu).enough
        return False

    @property
    def _without(self) -> str:
        """What leaving them out would do."""
        lacking = dict.fromkeys(part.name for part in self.own.parts if part.why)
        if not lacking or self.own.why or self.asked != "auto":
            return ""
        if len(lacking) == len({part.name for part in self.own.parts}):
            return f". Without {', '.join(lacking)} nothing is left to keep: use prepriv.Private{'Regressor' if self.target else 'Classifier'}(domain)"
        return f". Without {', '.join(lacking)}, steps of prepriv pay for the rest"

    @property
    def _who(self) -> str:
        """What stands in the way of a fit by steps, or the pipeline."""
        lacking = dict.fromkeys(part.name for part in self.own.parts if part.why)
        return ", ".join(lacking) if lacking and self.asked == "auto" else "this pipeline"

    @property
    def _no_sensitivity(self) -> str:
        if not any(isinstance(step, MeanImputer) for step in self.own.templates):
            return "predictions need all that its steps find, so that has to be released"
        return (
            "it rests on a cap, which is never assumed: declare missing=, the largest share of records that miss a cell"
            if self.missing is None
            else ""
        )

    def _sketch(self, domain: Domain, n: int, epsilon: float, delta: float) -> PaidOption:
        mu = budget(epsilon, delta)
        try:
            s = signal(domain, n=n, epsilon=epsilon, delta=delta)
            steps = settled(self.kept(domain, s), domain.with_n(n), mu)
            enough, why, lost = True, "", False
            if mu < math.inf:
                carried = self._signal(steps, domain, n, mu, (epsilon, delta))
                if carried.verdict == "too little":
                    return PaidOption("sketch", (), math.inf, False, carried.sentence)
                enough = carried.enough
                why = "" if enough else carried.sentence
                lost = carried.b < _LOST_B
            return PaidOption("sketch", steps, _factor(steps, domain, n, epsilon, delta), enough, why, lost)
        except ValueError as closed:
            return PaidOption("sketch", (), math.inf, False, str(closed))

    @staticmethod
    def _signal(
        steps: tuple[Step, ...], domain: Domain, n: int, mu: float, price: tuple[float, float] | None = None
    ) -> Signal:
        """What the sketch of such steps carries."""
        paid = steps[0].paid
        return signal_of(paid.sketch_of(steps[0], domain.with_n(n), mu * math.sqrt(paid.share), True), price)


def _square(domain: Domain) -> float:
    """About the squared length of a row after a pipeline, centred and divided by its widths (docs/sketch.md)."""
    codes = sum(not isinstance(column, Numeric) for column in domain.columns.values())
    return (
        _SQUARE * (max(domain.space.d, 1) if domain.is_ball else len(domain.columns) - codes)
        + _SQUARE_OF_CODES * codes
    )


def _rows_of_target(d: int) -> tuple[Step, ...]:
    """Rows of d features in units of their bounds, for a target: cut where they are far out, and long enough for descent."""
    return ClipNorm(_TARGET_CUT * math.sqrt(d)), Rescale(_TARGET_SCALE)


def _even(level: float, center: float) -> tuple[Step, ...]:
    """Rows of one norm, for the learner, but for the mean of the constant feature."""
    constant = Homogenize(level, center=center)
    return constant, at_scale(constant)


def _factor(steps: tuple[Step, ...], domain: Domain, n: int, epsilon: float, delta: float) -> float:
    """What these steps do to the noise of the learner that the recipe takes after them."""
    with warnings.catch_warnings():  # the plan says again what is weak
        warnings.simplefilter("ignore")
        _, learner = recipe(domain, n=n, epsilon=epsilon, delta=delta, steps=steps)
        return joint_factor(steps, domain, learner, epsilon=epsilon, delta=delta, n=n)
