"""What `choose` can choose among: recipes, steps, learners, losses, or grids of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from prepriv._arguments import shown
from prepriv.domain import Domain
from prepriv.learners.learner import Learner
from prepriv.learners.losses import Loss
from prepriv.plans.plan import Plan, make_plan
from prepriv.preprocessing.base import Step
from prepriv.recipes.automatic import recipe

_KEYS = ("steps", "learner", "loss")
_MOST = 1000


@dataclass(frozen=True)
class Candidate:
    """One pipeline: steps and learner as for `PrivateClassifier`, and a loss in place of the learner's, if any."""

    steps: str | Sequence[Step] = "auto"
    learner: str | Learner = "auto"
    loss: Loss | None = None

    def plan(self, domain: Domain, *, n: int, epsilon: float, delta: float) -> Plan:
        """Its plan for n records at a budget."""
        steps, learner = recipe(
            domain, n=n, epsilon=epsilon, delta=delta, steps=self.steps, learner=self.learner
        )
        if self.loss is not None:
            learner = replace(learner, loss=self.loss)  # type: ignore[type-var]
        return make_plan(domain, steps, learner, epsilon=epsilon, delta=delta, n=n)


def candidates_of(given: Any) -> tuple[Candidate, ...]:
    """The candidates that are meant; ValueError, with one sentence, for anything else.

    given: a list of recipes ("auto", "linear"), learners, losses, lists of steps, and mappings of "steps", "learner" and
    "loss" to one of those or a list of them (a grid, as in scikit-learn); or one such mapping.
    """
    if isinstance(given, str) or not isinstance(given, Mapping | Iterable):
        raise ValueError(f"candidates must be a list of two or more, or a grid; got {shown(given)}")
    listed = [given] if isinstance(given, Mapping) else list(given)
    found = tuple(itertools.chain.from_iterable(_of(one) for one in listed))
    if not 2 <= len(found) <= _MOST:
        raise ValueError(f"candidates: between 2 and {_MOST} are needed to choose one; got {len(found)}")
    return found


def _of(one: Any) -> Iterable[Candidate]:
    if isinstance(one, Candidate):
        return [one]
    if isinstance(one, Mapping):
        if not one or any(key not in _KEYS for key in one):
            raise ValueError(f"a candidate is declared by {', '.join(_KEYS)}; got {shown(list(one))}")
        options = [_options(key, value) for key, value in one.items()]
        return [Candidate(**dict(zip(one, values))) for values in itertools.product(*options)]
    if isinstance(one, Learner):
        return [Candidate(learner=one)]
    if isinstance(one, Loss):
        return [Candidate(loss=one)]
    if isinstance(one, str) or _are_steps(one):
        return [Candidate(steps=one)]
    if hasattr(one, "steps"):
        raise ValueError(
            'a candidate is not a pipeline or a model: give {"steps": model.steps, "learner": model.learner} of '
            "model = prepriv.private(pipeline, domain), and model.domain as the domain"
        )
    raise ValueError(
        f"a candidate is a recipe, a list of steps, a learner, a loss or a mapping of them; got {shown(one)}"
    )


def _options(key: str, value: Any) -> list[Any]:
    several = isinstance(value, list | tuple) and not (key == "steps" and _are_steps(value))
    return list(value) if several else [value]


def _are_steps(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(step, Step) for step in value)
