"""What will be measured of a model on private rows, and what that costs: frozen before a row is read.

Proof of the guarantee: docs/proofs/evaluation.md.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from prepriv._arguments import integer, number, numbers, shown
from prepriv._rounding import UP
from prepriv.columns import AS_CATEGORICAL, MISSING, OTHER, Categorical, Numeric, Text
from prepriv.domain import Domain
from prepriv.guarantees.drafts import check_drafts
from prepriv.guarantees.gaussian import gdp_epsilon
from prepriv.guarantees.guarantee import GaussianEvent, Guarantee
from prepriv.guarantees.printed import USELESS, up
from prepriv.mechanisms._counts import COUNT_BITS, count_sensitivity
from prepriv.mechanisms.gaussian_sum import check_room
from prepriv.mechanisms.lattice_noise import noise_scale
from prepriv.periods import Periods
from prepriv.placed.checks import check_budget
from prepriv.plans.decision import decision
from prepriv.plans.plan import budget
from prepriv.plans.priced import Priced
from prepriv.release.model import Model

MEASURES = ("accuracy", "confusion", "scores", "log_loss")
TARGET_MEASURES = ("absolute_error", "squared_error", "r2", "residuals")
_TOLD_BY = {  # other names of figures, and the measure that tells them
    **dict.fromkeys(("auc", "roc_auc", "calibration"), "scores"),
    **dict.fromkeys(("recall", "precision", "balanced_accuracy"), "confusion"),
    **dict.fromkeys(("mae", "mean_absolute_error"), "absolute_error"),
    **dict.fromkeys(("mse", "rmse", "mean_squared_error"), "squared_error"),
}
_ONLY_ASKED = "residuals"  # not among those that are meant where none is named
ERROR_OF_MEAN = "squared_error_of_mean"
MEAN_RESIDUAL = "mean_residual"
_R2 = (
    "squared_error",
    "target",
    ERROR_OF_MEAN,
)  # what R² is computed from; the mean before what is off from it
_RELEASED = {"r2": _R2, "residuals": ("residuals", MEAN_RESIDUAL)}  # where a measure is not one release
_ERROR_SHARE = 0.25  # of the distance of the bounds: the largest error that counts, if none is declared
_AS_PRINTED = 1.001  # of that distance: what four digits of it, rounded up, are at most
LOSS_BOUND = 4.0  # the largest log loss of a row: that of a true class whose probability is 1.8 %
EDGES = (
    0.02,
    0.05,
    0.12,
    0.27,
    0.5,
    0.73,
    0.88,
    0.95,
    0.98,
)  # scores crowd at both ends: even steps in log odds
RESIDUAL_BINS = 20  # where none are declared: few enough to stand out of the noise
_MOST_CELLS = 10_000
_DROWNED, _CLEAR = (
    0.65,
    0.06,
)  # noise of a count over all rows: an interval of the whole scale; one of about 0.1 on both sides


@dataclass(frozen=True)
class EvaluationPlan(Priced):
    """What will be measured, at what noise, and what is claimed of it. Made by `plan_evaluation`.

    domain: of the model, with n the declared number of test rows. measures: some of MEASURES, or of TARGET_MEASURES where
    the domain has a target. edges: of the bins of the scores, or of signed
    errors, from 0 at -error_bound to 1 at error_bound. model: SHA-256 of the model's file; None for one that is
    trained first. error_bound: the largest error of a number that counts, in its unit; None for classes. by: the column
    whose groups are measured one by one; None: all rows are one group. own: its categories, where the domain does not
    declare it: the model then does not see it. class_weight: the weight of each declared class in the predictions that are
    measured; none: those of the model.
    """

    domain: Domain
    epsilon: float
    delta: float
    measures: tuple[str, ...]
    edges: tuple[float, ...]
    model: str | None = None
    error_bound: float | None = None
    by: str | None = None
    own: tuple[str, ...] = ()
    class_weight: tuple[float, ...] = ()

    @property
    def reads(self) -> Domain:
        """What is read of the test rows: what the model reads, and the column of the groups."""
        if self.by is None or not self.own:
            return self.domain
        return replace(self.domain, columns={**self.domain.columns, self.by: Categorical(self.own)})

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups: the declared categories, "other" and "missing", so that a row is in one; none without `by`."""
        if self.by is None:
            return ()
        column = self.reads.columns[self.by]
        assert isinstance(column, Categorical)
        return (*map(str, column.categories), OTHER, MISSING)

    @property
    def releases(self) -> tuple[str, ...]:
        """What is counted with noise, each with an equal part of the budget: the measures, for R² what it follows from, and for residuals
        the sum of them beside their bins, whose middles do not give a mean."""
        names = [r for m in self.measures for r in _RELEASED.get(m, (m,))]
        return tuple(dict.fromkeys(names))

    @property
    def error_share(self) -> float:
        """The largest error that counts, as a share of the distance of the target's bounds."""
        target = self.domain.target
        assert target is not None and self.error_bound is not None
        return self.error_bound / (target.high - target.low)

    @property
    def n(self) -> int:
        """The declared number of test rows."""
        assert self.domain.n is not None
        return self.domain.n

    @cached_property
    def noise_multiplier(self) -> float:
        """Noise over sensitivity, the same for each release."""
        return math.sqrt(len(self.releases)) / budget(self.epsilon, self.delta) * UP

    @property
    def noise(self) -> float:
        """Standard deviation of the noise on one count, in rows."""
        return self.noise_multiplier * count_sensitivity(self.domain.adjacency) * 2.0**-COUNT_BITS

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is claimed of all that leaves, for the people of the test rows: from the releases that are made."""
        events = [GaussianEvent(name, self.noise_multiplier) for name in self.releases]
        made = Guarantee.of_gaussians(events, self.domain.adjacency, unit=self.domain.protected)
        return self._stated(made, rows=self.domain.declared_rows)

    @property
    def periods(self) -> Periods | None:
        """The periods of the domain."""
        return self.domain.periods

    def to_json(self) -> dict[str, Any]:
        """Plain data: what was declared and decided."""
        groups: dict[str, Any] = {} if self.by is None else {"by": self.by}
        if self.own:
            groups["groups"] = list(self.own)
        if self.class_weight:
            groups["class_weight"] = list(self.class_weight)
        return groups | {
            "evaluation": list(self.measures),
            "model": self.model,
            "domain": self.domain.to_json(),
            "n": self.n,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "edges": list(self.edges),
            "loss_bound": LOSS_BOUND,
            "error_bound": self.error_bound,
            "noise_multiplier": self.noise_multiplier,
            "guarantee": self.guarantee.to_json(self.delta),
        }

    @property
    def what(self) -> str:
        """In a few words, for the ledger: of which model, in front, where no note is cut (`condition_note`), and the measures."""
        groups = "" if self.by is None else f", in {len(self.groups)} groups"
        model = f" model {self.model[:12]}" if self.model else ""
        weighed = ", with declared class weights" if self.class_weight else ""
        return f"evaluate{model}: {', '.join(self.measures)}{groups}{weighed}"


def plan_evaluation(
    model: Model | Domain,
    *,
    n: int,
    epsilon: float = 0.1,
    delta: float = 1e-5,
    measures: str | Sequence[str] | None = None,
    bins: int | Sequence[float] | None = None,
    error_bound: float | None = None,
    by: str | None = None,
    groups: Sequence[Hashable] | None = None,
    read: Sequence[str] = (),
    source: str | None = None,
    class_weight: Mapping[Any, float] | None = None,
) -> EvaluationPlan:
    """Freeze and price the evaluation of a model on n private rows. Reads no row.

    model: or the domain of one that is still to be trained. measures: one or some of "accuracy", "confusion" (balanced
    accuracy, recall and precision of each class), "scores" (calibration and, for two classes, AUC), "log_loss"; fewer of
    them have less noise. bins: of the probability of the second class, or of the predicted one where there are more
    than two: their number, for equal widths, or their inner edges, increasing in (0, 1).

    Of a model of a number: some of "absolute_error", "squared_error", "r2", and, only if it is named, "residuals", how many
    rows have which signed error. error_bound: the largest error that counts, in the target's unit; larger ones are cut to
    it, and noise grows with it (default: a quarter of the distance of the bounds). That distance is the largest, also written
    up to a thousandth above it, since sentences name it rounded. bins: the number of bins of equal width between -error_bound
    and error_bound (default: 20).

    by: a declared categorical column. Its categories, "other" and "missing" are groups; each is measured by itself, at the
    noise of one measurement, since a row is in one group. Figures of all rows are of the sums over g groups, whose noise is
    the square root of g times as large. groups: the categories, where the model reads no such column and the domain does not
    declare it.

    read: of a domain with periods those whose test rows are read (default: its own).
    source: what gives the test rows of a model, as in `prepriv.domain.Domain.source`; a domain says that itself.
    class_weight: weights of the classes in the predictions that are measured, in place of the model's; 1 for a class left out.
    They are declared, and the model stays as it is.
    Raises ValueError with one sentence.

    >>> import prepriv
    >>> plan = plan_evaluation(prepriv.Domain.box(0, 1, features=2, classes=[0, 1]), n=5000, epsilon=0.1)
    >>> round(plan.guarantee.epsilon(1e-5), 3), round(plan.noise)
    (0.1, 87)
    """
    epsilon, delta = check_budget(epsilon, delta)
    if not math.isfinite(epsilon):
        raise ValueError("epsilon must be finite: rows that are public need no noise, see `score`")
    if isinstance(model, Domain) and source is not None:
        raise ValueError("source is declared in the domain: leave it out")
    declared = model if isinstance(model, Domain) else replace(model.domain, source=source)
    domain = declared.with_n(integer("n", n))
    if read:
        if domain.periods is None:
            raise ValueError(
                "the model was not trained by periods, so its test rows are not read by periods either"
            )
        domain = replace(domain, periods=replace(domain.periods, read=tuple(read)))
    if domain.target is None and not domain.classes:
        raise ValueError(
            "the domain declares nothing to learn, so nothing is measured: give classes= or target="
        )
    asked = check_measures(measures, domain)
    edges, bound = _edges(bins, domain), _error_bound(error_bound, domain)
    own = _own_groups(by, groups, domain)
    known = None if isinstance(model, Domain) else model_hash(model)
    if isinstance(class_weight, str):
        raise ValueError(
            "class_weight of a measurement maps classes to positive numbers: counting the classes of the test rows would cost part of ε"
        )
    _, weights = decision(domain, class_weight)
    plan = EvaluationPlan(domain, epsilon, delta, asked, edges, known, bound, by, own, weights)
    if max(len(domain.classes) ** 2, 2 * len(edges) + 2) * max(1, len(plan.groups)) > _MOST_CELLS:
        raise ValueError(
            f"a table of more than {_MOST_CELLS} counts would be noise alone; got more classes, bins or groups"
        )
    check_drafts(domain, delta)
    sensitivity = count_sensitivity(domain.adjacency)
    noise_scale(sensitivity, plan.noise_multiplier)  # refused now, and not when it is charged
    check_room("counts", sensitivity, plan.noise_multiplier, 2 * plan.n << COUNT_BITS)
    if plan.guarantee.epsilon(delta) > epsilon:
        raise ValueError("calibration went above the budget; please report this plan")
    return plan


def drowned(plan: EvaluationPlan) -> str:
    """Why a measurement of so few rows says nothing, or nothing: even a share of all rows would have an interval from 0 to 1."""
    if plan.noise <= _DROWNED * plan.n:
        return ""
    enough = gdp_epsilon(budget(plan.epsilon, plan.delta) * plan.noise / (_CLEAR * plan.n), plan.delta)
    told = f"at least epsilon = {up(enough, 2)}" if enough < USELESS else "far more records"
    return (
        f"{plan.n:,} rows are too few to measure anything at this epsilon: the noise of a count is {plan.noise:.3g} rows. "
        f"It needs {told}, or fewer measures"
    )


def as_trained(plan: EvaluationPlan, model: Model) -> str:
    """A sentence where the test rows may hold those of the training, by declared numbers alone, or nothing.

    A run with a holdout declares the whole table, and its model fewer records than that: only fewer test rows than those say nothing.
    """
    return _as_many(plan.n, model)


def _as_many(n: int, model: Model) -> str:
    trained, what, tested = model.declared.n, "records", "test rows"
    if model.domain.unit is not None:
        what, tested = "units", "test units"
    if n < trained:
        return ""
    if n > trained:
        drafted = any(drafted.rows == n for drafted in model.domain.drafts)
        whole = ", as many as the schema was drafted from" if drafted else ""
        return (
            f"the model was trained on {trained:,} declared {what}, and {n:,} {tested} are declared{whole}. If they hold those {what}, as "
            f"the file of a run with --holdout does, the score says little about new {what}, and they are paid for twice. The score of a "
            f"holdout is about {what} that were set aside, and stands in the report of the run"
        )
    return (
        f"the model was trained on {n:,} declared {what}, and as many {tested} are declared. If they are the same, the score says nothing "
        f"about new {what}, and they are paid for twice: train with --holdout 0.2 (in Python holdout=0.2) instead"
    )


NOT_KNOWN = "Which records these are is not known to prepriv: if the model was trained on them, the score is too good."
"""What is known of test rows where declared numbers show nothing."""


WHICH_ROWS = "which-rows"
"""The class of the paragraph of a page that says it."""


def which_rows(plan: EvaluationPlan, model: Model) -> str:
    """One or more sentences about whose rows a score of a released model is measured on, as far as declared numbers show; "" of a model that is trained first."""
    return "" if plan.model is None else whose_rows_in_words(plan.n, model)


def whose_rows_in_words(n: int, model: Model) -> str:
    """The same of n declared test rows of a released model."""
    said = _as_many(n, model)
    return f"{said[0].upper()}{said[1:]}." if said else NOT_KNOWN


_AS_GROUPS = f"{AS_CATEGORICAL}, before a model is trained. Otherwise add a column of bands to the table, which the model does not read, and declare its groups"


def _own_groups(by: Any, groups: Any, domain: Domain) -> tuple[str, ...]:
    """The groups that are declared beside the domain. ValueError unless `by` is a column whose groups are declared once."""
    if by is None:
        if groups is not None:
            raise ValueError("groups are those of a column: give by, too")
        return ()
    if groups is not None:
        if isinstance(by, str) and isinstance(domain.columns.get(by), Numeric):
            raise ValueError(
                f"groups are for a column that the domain does not declare; {shown(by)} is declared there as a number, which has no groups. {_AS_GROUPS}"
            )
        if not isinstance(by, str) or by in domain.columns or by in (domain.label, domain.unit):
            raise ValueError(
                f"groups are for a column that the domain does not declare; {shown(by)} is declared there: leave out groups"
            )
        if domain.is_ball:
            raise ValueError("groups: a table of a ball has no other columns")
        return Categorical(groups).categories
    if not isinstance(by, str) or not isinstance(domain.columns.get(by), Categorical):
        named = [name for name, column in domain.columns.items() if isinstance(column, Categorical)]
        listed = f"one of {', '.join(map(shown, named[:20]))}" if named else "which this domain has none of"
        way = "for a column that the model does not read declare groups, in a measurement after the training (`prepriv evaluate --group`, evaluate(groups=))"
        if isinstance(by, str) and by in domain.columns:
            texts = isinstance(domain.columns[by], Text)
            way = (
                "of a column of texts no groups are declared: declare it as categorical, with its values, before a model is trained"
                if texts
                else f"numbers have no groups. {_AS_GROUPS}"
            )
        raise ValueError(f"by must be a declared categorical column, {listed}; got {shown(by)}; {way}")
    return ()


def model_hash(model: Model) -> str:
    """SHA-256 of what its file holds."""
    return hashlib.sha256(model.text().encode()).hexdigest()


def check_measures(measures: str | Sequence[str] | None, domain: Domain) -> tuple[str, ...]:
    """The measures that are meant, in order; None: all that the domain has but _ONLY_ASKED. Raises ValueError."""
    known = MEASURES if domain.target is None else TARGET_MEASURES
    if measures is None:
        return tuple(m for m in known if m != _ONLY_ASKED)
    asked = (measures,) if isinstance(measures, str) else tuple(measures)
    if not asked or any(name not in known for name in asked) or len(set(asked)) < len(asked):
        told = {
            _TOLD_BY[name]: name for name in asked if isinstance(name, str) and _TOLD_BY.get(name) in known
        }
        hint = "".join(f"; {measure!r} tells {name}" for measure, name in told.items())
        raise ValueError(
            f"measures must be some of {', '.join(known)}, each once; got {shown(measures)}{hint}"
        )
    return tuple(m for m in known if m in asked)


def _error_bound(given: float | None, domain: Domain) -> float | None:
    if domain.target is None:
        if given is not None:
            raise ValueError("error_bound is for a declared target; the model is one of classes")
        return None
    width = domain.target.high - domain.target.low
    if isinstance(given, int | float) and width < given <= width * _AS_PRINTED:
        given = width  # as a sentence names it
    return number("error_bound", _ERROR_SHARE * width if given is None else given, above=0.0, at_most=width)


def _edges(bins: Any, domain: Domain) -> tuple[float, ...]:
    if bins is None:
        bins = EDGES if domain.target is None else RESIDUAL_BINS
    if np.ndim(bins) == 0 or domain.target is not None:
        count = integer("bins", bins, at_least=2, at_most=_MOST_CELLS)
        return tuple(k / count for k in range(1, count))
    edges = tuple(float(e) for e in numbers("bins", bins, above=0.0, below=1.0).ravel())
    if not edges or any(a >= b for a, b in itertools.pairwise(edges)):
        raise ValueError(
            f"bins must be a number, 2 or more, or increasing edges in (0, 1); got {shown(bins)}"
        )
    return edges
