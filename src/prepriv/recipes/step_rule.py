"""Steps, and a learner, that follow from the number of records and the budget, which an estimator knows only when it plans."""

from __future__ import annotations

import abc

from prepriv.domain import Domain
from prepriv.learners.learner import Learner
from prepriv.preprocessing.base import Step


class StepRule(abc.ABC):
    """Stands for `steps` of an estimator until a plan is made."""

    @abc.abstractmethod
    def steps_for(self, domain: Domain, *, n: int, epsilon: float, delta: float) -> tuple[Step, ...]:
        """The steps, from declared facts alone; ValueError where there are none."""


class LearnerRule(abc.ABC):
    """Stands for `learner` of an estimator until a plan is made."""

    @abc.abstractmethod
    def learner_for(self, automatic: Learner) -> Learner:
        """The learner, from the one that the recipe takes for these records, this budget and these steps."""
