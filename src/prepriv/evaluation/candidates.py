"""What `choose` can choose among: recipes, steps, learners, losses, grids of them, or estimators that are not fitted."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from prepriv._arguments import shown
from prepriv._kinds import is_ours
from prepriv.columns import Column, Numeric
from prepriv.domain import Domain
from prepriv.learners.learner import Learner
from prepriv.learners.losses import Loss
from prepriv.learners.targets import Quantile, SquaredError
from prepriv.plans.decision import decision, warn_of_weights
from prepriv.plans.plan import Plan, make_plan
from prepriv.preprocessing.base import Step, walk
from prepriv.recipes.automatic import recipe
from prepriv.recipes.pipeline_ways import PipelineWays
from prepriv.recipes.regression import quantile_clip
from prepriv.recipes.sklearn_estimators import OtherLoss
from prepriv.recipes.step_rule import LearnerRule, StepRule

_QUANTILE_RATE = 0.2
_KEYS = ("steps", "learner", "loss", "class_weight", "threshold")
_OF_MODEL = ("steps", "learner", "class_weight", "threshold")
"""Settings of an estimator that a candidate keeps; its domain is compared with that of the choice."""
_MOST = 1000


@dataclass(frozen=True)
class Candidate:
    """One pipeline: settings as for `PrivateClassifier`, and a loss in place of the learner's, if any. domain: that of the estimator
    which was given, None without one."""

    steps: str | Sequence[Step] | StepRule = "auto"
    learner: str | Learner | LearnerRule = "auto"
    loss: Loss | None = None
    class_weight: Any = None
    threshold: float | None = None
    domain: Domain | None = field(default=None, repr=False)

    def __str__(self) -> str:
        """The settings that are not at their defaults."""
        told = [
            f"{one.name}={value!r}"
            for one in fields(self)
            if one.repr and not ((value := getattr(self, one.name)) is None or value == one.default)
        ]
        return ", ".join(told) or "the default recipe"

    def plan(self, domain: Domain, *, n: int, epsilon: float, delta: float) -> Plan:
        """Its plan for n records at a budget."""
        own = self.learner == "auto" and self.loss is not None and type(self.loss) is not SquaredError
        rule = OtherLoss(self.loss) if own else self.learner
        steps, learner = recipe(domain, n=n, epsilon=epsilon, delta=delta, steps=self.steps, learner=rule)
        if isinstance(self.loss, Quantile) and own:
            learner = _at_its_level(learner, domain, steps, self.loss.level)
        if self.loss is not None and not own:
            learner = replace(learner, loss=self.loss)  # type: ignore[type-var]
        more, weights = decision(domain, self.class_weight, self.threshold)
        plan = make_plan(domain, (*steps, *more), learner, epsilon=epsilon, delta=delta, n=n)
        if more or weights:
            warn_of_weights(plan)
        return replace(plan, class_weight=weights) if weights else plan


def _at_its_level(learner: Any, domain: Domain, steps: Sequence[Step], level: float) -> Any:
    """The recipe's descent with a clip and a rate at which it reaches the level of a quantile (docs/regression.md, Quantiles)."""
    *_, last = (domain.space, *(after for _, _, after in walk(steps, domain.space)))
    enough = quantile_clip(domain, steps, last.radius, level, learner.bias)
    return replace(
        learner,
        clip_norm=max(learner.clip_norm, enough),
        learning_rate=min(learner.learning_rate, _QUANTILE_RATE),
    )


def candidates_of(given: Any, **asked: Any) -> tuple[Candidate, ...]:
    """The candidates that are meant; ValueError, with one sentence, for anything else.

    given: a list of recipes ("auto", "linear"), learners, losses, lists of steps, estimators that are not fitted, and mappings
    of settings to a value or a list of them (a grid, as in scikit-learn); or one such mapping. asked: settings of the choice.
    An estimator may repeat them.
    """
    if isinstance(given, str) or not isinstance(given, Mapping | Iterable):
        raise ValueError(f"candidates must be a list of two or more, or a grid; got {shown(given)}")
    listed = [given] if isinstance(given, Mapping) else list(given)
    found = tuple(itertools.chain.from_iterable(_of(one, i + 1, asked) for i, one in enumerate(listed)))
    if not 2 <= len(found) <= _MOST:
        raise ValueError(f"candidates: between 2 and {_MOST} are needed to choose one; got {len(found)}")
    return found


def with_gaps_alike(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The same; where one estimator keeps gaps and another does not, those that fill none read the middle in their place, which they become in each way."""
    columns = [one.domain.columns for one in candidates if one.domain is not None]
    if all(each == columns[0] for each in columns):
        return tuple(candidates)
    return tuple(_with_the_middle(one) for one in candidates)


def _with_the_middle(one: Candidate) -> Candidate:
    other = one.steps.with_the_middle if isinstance(one.steps, PipelineWays) else None
    if other is None or one.domain is None:
        return one
    ways, domain = other
    return replace(one, steps=ways, domain=replace(domain, n=one.domain.n))


def domain_of(candidates: Sequence[Candidate], domain: Domain) -> Domain:
    """The domain of the choice: that of the estimators among the candidates, with the declared n, else the given one.

    ValueError where two estimators have other columns, since all candidates read one encoded table, or where the given
    domain is not the one that they were made from.
    """
    made = [(k, one.domain) for k, one in enumerate(candidates, 1) if one.domain is not None]
    if not made:
        return domain
    (first, wanted), *others = made
    for k, other in others:
        if wanted.target != other.target:
            raise ValueError(
                f"the targets of candidates {first} and {k} are declared differently ({_target(wanted)} and {_target(other)}), and a choice "
                "compares errors on one scale. Fit each, and compare them by evaluate on rows that were set aside: each costs its ε"
            )
        if told := _apart(wanted, other, first, k):
            raise ValueError(
                f"candidates {first} and {k} read a table differently ({told}), and a choice reads it once. Two pipelines need the same columns. Where "
                "one takes gaps both must: begin both with a SimpleImputer. Where one is not a pipeline, declare the column as Numeric(low, high, "
                'missing="impute") in the domain of both'
            )
    if any(_differ(column, domain.columns.get(name)) for name, column in wanted.columns.items()) or (
        replace(domain, n=None, columns=wanted.columns) != replace(wanted, n=None)
    ):
        raise ValueError(
            f"candidate {first} was made for another domain: give the domain that its pipeline was read with, or model.domain"
        )
    numbers = {one.n for one in (domain, *(other for _, other in made)) if one.n is not None}
    if len(numbers) > 1:
        raise ValueError(f"the domains declare several numbers of records: {sorted(numbers)}")
    return replace(wanted, n=next(iter(numbers), None))


def _target(domain: Domain) -> str:
    """How the target is declared."""
    return "classes" if domain.target is None else repr(domain.target)


def _apart(one: Domain, two: Domain, first: int, second: int) -> str:
    """What two domains say differently, which are of the candidates of these numbers; "" if nothing."""
    for name in (*one.columns, *two.columns):
        if (name in one.columns) != (name in two.columns):
            return f"{name!r} is dropped by one of them"
        if one.columns[name] != two.columns[name]:
            kept = [
                k
                for k, d in ((first, one), (second, two))
                if getattr(d.columns[name], "missing", "") == "impute"
            ]
            if len(kept) == 1:
                return f"only candidate {kept[0]} takes gaps in {name!r}, which its steps fill or let through"
            return f"{name!r} is declared differently"
    same = replace(one, n=None) == replace(two, n=None) and list(one.columns) == list(two.columns)
    return "" if same else "their domains are not the same"


def _differ(column: Column, declared: Column | None) -> bool:
    """Whether a column is not the declared one, up to what becomes of its gaps."""
    if isinstance(column, Numeric) and isinstance(declared, Numeric):
        return column != replace(declared, missing=column.missing)
    return column != declared


def _of(one: Any, place: int, asked: Mapping[str, Any]) -> Iterable[Candidate]:
    if isinstance(one, Candidate):
        return [one]
    if isinstance(one, Mapping):
        if not one or any(key not in _KEYS for key in one):
            raise ValueError(f"a candidate is declared by {', '.join(_KEYS)}; got {shown(list(one))}")
        options = [_options(key, value) for key, value in one.items()]
        if any(isinstance(value, StepRule) for value in itertools.chain(*options)):
            raise ValueError(_ALONE)
        return [Candidate(**dict(zip(one, values))) for values in itertools.product(*options)]
    if isinstance(one, StepRule):
        raise ValueError(_ALONE)
    if isinstance(one, Learner):
        return [Candidate(learner=one)]
    if isinstance(one, Loss):
        return [Candidate(loss=one)]
    if isinstance(one, str) or _are_steps(one):
        return [Candidate(steps=one)]
    if isinstance(getattr(one, "domain", None), Domain) and hasattr(one, "learner"):
        return [_of_estimator(one, place, asked)]
    if hasattr(one, "steps"):
        raise ValueError(
            f"candidate {place} is not private yet: give prepriv.private(pipeline, domain) for each pipeline"
        )
    raise ValueError(
        f"a candidate is a private model that is not fitted, a recipe, a list of steps, a learner, a loss or a mapping of settings; got {shown(one)}"
    )


_ALONE = (
    "model.steps of a candidate leaves out the estimator and the class weights of the pipeline: give the models themselves, "
    "choose([model, other], ...)"
)


def _of_estimator(one: Any, place: int, asked: Mapping[str, Any]) -> Candidate:
    """Every setting is read or at its default, or it repeats one of the choice. ValueError, by name, for any other."""
    if not is_ours(type(one)):
        raise ValueError(
            f"candidate {place}: {type(one).__name__} may plan in its own way, which choose would not read"
        )
    settings, usual = one.get_params(deep=False), type(one)().get_params(deep=False)
    for name, value in settings.items():
        if name in (*_OF_MODEL, "domain") or value is usual[name] or value == usual[name]:
            continue
        if name in asked and value == asked[name]:
            continue
        told = (
            f"{name}= of the choice holds for all candidates" if name in asked else "choose does not read it"
        )
        raise ValueError(f"candidate {place} has {name}={shown(value)}: {told}, so leave it out of the model")
    return Candidate(**{name: settings[name] for name in _OF_MODEL if name in settings}, domain=one.domain)


def _options(key: str, value: Any) -> list[Any]:
    several = isinstance(value, list | tuple) and not (key == "steps" and _are_steps(value))
    return list(value) if several else [value]


def _are_steps(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(step, Step) for step in value)
