"""Steps, and a learner, that follow from the number of records and the budget, which an estimator knows only when it plans."""

from __future__ import annotations

import abc
from dataclasses import replace
from typing import Any

from prepriv.domain import Domain
from prepriv.learners.learner import Learner
from prepriv.preprocessing.base import Step


class StepRule(abc.ABC):
    """Stands for `steps` of an estimator until a plan is made."""

    @abc.abstractmethod
    def steps_for(self, domain: Domain, *, n: int, epsilon: float, delta: float) -> tuple[Step, ...]:
        """The steps, from declared facts alone; ValueError where there are none."""

    @abc.abstractmethod
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Its settings, as an estimator of scikit-learn has them: those of the estimator that it stands in are named steps__way and so on."""

    def with_params(self, **settings: Any) -> StepRule:
        """The same rule with other settings. ValueError for a name that is none, or a value that is refused."""
        known = self.get_params()
        for name in settings:
            if name not in known:
                raise ValueError(
                    f"steps__{name} is not a setting here; {', '.join(f'steps__{k}' for k in known)} are"
                )
        return replace(self, **settings)  # type: ignore[type-var]

    def __sklearn_clone__(self) -> StepRule:
        """Itself: nobody can change it."""
        return self


class LearnerRule(abc.ABC):
    """Stands for `learner` of an estimator until a plan is made."""

    @abc.abstractmethod
    def learner_for(self, automatic: Learner) -> Learner:
        """The learner, from that of gradient steps which the recipe takes for these records, this budget and these steps."""
