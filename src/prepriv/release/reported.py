"""What a report holds that is said about beside it: its proofs, and the words of another accountant."""

from __future__ import annotations

from typing import Any, Protocol

from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.second_account import Events
from prepriv.plans.plan import Plan
from prepriv.release.model import Model
from prepriv.release.quality import Quality


class Measurement(Protocol):
    """What was measured privately of the model (`prepriv.evaluation`)."""

    @property
    def whole(self) -> Guarantee | None:
        """Of training and measurement together."""

    @property
    def events(self) -> Events:
        """What was released, in the words of another accountant."""

    @property
    def quality(self) -> Quality:
        """How good the model is, in plain words."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""

    def fragment(self) -> str:
        """Its part of the page, as HTML."""


class Reported(Protocol):
    """A `prepriv.release.report.Report`, as far as those who import nothing of it ask it."""

    @property
    def plan(self) -> Plan:
        """What was done."""

    @property
    def private(self) -> bool:
        """Whether the run really used noise."""

    @property
    def guarantee(self) -> Guarantee | None:
        """What is claimed of all that the page shows."""

    @property
    def measured(self) -> Measurement | None:
        """What was measured privately."""

    @property
    def model(self) -> Model | None:
        """What left."""
