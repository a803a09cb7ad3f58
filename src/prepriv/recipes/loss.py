"""The loss that recipes of classes begin with."""

from __future__ import annotations

from prepriv.domain import Domain
from prepriv.learners.losses import Logistic, Loss, Softmax


def auto_loss(domain: Domain) -> Loss:
    """Logistic for two classes, softmax for more."""
    return Logistic() if len(domain.classes) == 2 else Softmax()
