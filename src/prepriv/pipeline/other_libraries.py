"""Runs of other libraries by their own names: what ran, in the terms of `prepriv.account`. Proof: docs/proofs/account.md.

Opacus, jax-privacy and TensorFlow Privacy clip each record's gradient and add Gaussian noise to the sum of a batch, whatever
the model is; diffprivlib's models are pure mechanisms. How batches are drawn decides which account holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from prepriv._arguments import integer, length, number, shown, truth
from prepriv.learners.base import Learner, Setting
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import AnyModel, Loss
from prepriv.learners.stochastic import PoissonSGD
from prepriv.pipeline.ran import PureMechanism, Ran

LIBRARIES = ("Opacus", "jax-privacy", "TF-Privacy", "diffprivlib")
_NAMES = {  # theirs -> ours
    "max_grad_norm": "clip_norm",
    "l2_norm_clip": "clip_norm",
    "l2_clip_norm": "clip_norm",
    "clipping_norm": "clip_norm",
    "expected_batch_size": "batch_size",
    "num_updates": "steps",
    "num_steps": "steps",
    "iterations": "steps",
    "num_epochs": "epochs",
    "poisson_sampling": "poisson",
}


@dataclass(frozen=True)
class ShuffledBatches(GradientDescent):
    """Epochs over batches that are cut from shuffled records, with noise on every batch: `steps` counts epochs.

    A record is in one batch an epoch, so an epoch costs one release, and no amplification by sampling is claimed.
    """

    def premise(self, n: int) -> str:
        return f"every epoch cuts the {n} records into batches in an order that depends on none of them, each record in one batch"

    def smooth(self, noise: float, setting: Setting) -> None:
        """None: the two curves are of a sum over all records."""


def ran_elsewhere(
    library: str, settings: Mapping[str, Any], n: int, loss: Loss | None = None
) -> tuple[Learner | Ran, float | None]:
    """(what ran, its noise multiplier, if it is a learner), for `prepriv.account(steps, ran, noise_multiplier=...)`.

    library: one of `LIBRARIES`. settings: by the library's names, noise_multiplier, sample_rate or batch_size, max_grad_norm,
    epochs or steps, poisson_sampling (default: true); for diffprivlib epsilon. n: records. loss: of the model, if it is one of
    `prepriv.learners`; otherwise nothing is assumed of it (`AnyModel`).

    Raises ValueError for a setting that is not known, or has no account.
    """
    if library not in LIBRARIES:
        raise ValueError(f"library must be one of {', '.join(LIBRARIES)}; got {shown(library)}")
    given = {_NAMES.get(name, name): value for name, value in settings.items()}
    if len(given) < len(settings):
        raise ValueError(f"{library}: two settings mean the same: {', '.join(sorted(settings))}")
    if library == "diffprivlib":
        _check_known(library, given, {"epsilon"}, {"epsilon"})
        return PureMechanism(given["epsilon"]), None
    known = {
        "noise_multiplier",
        "sample_rate",
        "batch_size",
        "clip_norm",
        "epochs",
        "steps",
        "poisson",
        "weight_bound",
    }
    _check_known(library, given, known, {"noise_multiplier", "clip_norm"})
    for one, other in (("sample_rate", "batch_size"), ("epochs", "steps")):
        if (one in given) == (other in given):
            raise ValueError(f"{library}: give {one} or {other}, one of the two")
    n = integer("n", n)
    batch = (
        integer("batch_size", given["batch_size"])
        if "batch_size" in given
        else math.ceil(number("sample_rate", given["sample_rate"], above=0.0, at_most=1.0) * n)
    )
    if batch > n:
        raise ValueError(f"{library}: batch_size {batch} is larger than the number of records, {n}")
    bounds: dict[str, Any] = {
        name: length(name, given[name]) for name in ("clip_norm", "weight_bound") if name in given
    }
    kind: Callable[..., Learner]
    if truth("poisson_sampling", given.get("poisson", True)):
        kind = PoissonSGD
        bounds["batch_size"] = batch
        steps = _count(given, "steps", "epochs", math.ceil(n / batch))
    else:
        kind = ShuffledBatches
        steps = _count(given, "epochs", "steps", 1 / math.ceil(n / batch))
    return kind(loss or AnyModel(), steps=steps, **bounds), number(
        "noise_multiplier", given["noise_multiplier"], above=0.0
    )


def _count(given: Mapping[str, Any], wanted: str, other: str, factor: float) -> int:
    """The whole number of `wanted`, given itself or as the other one, rounded up."""
    name, scale = (wanted, 1.0) if wanted in given else (other, factor)
    return math.ceil(number(name, given[name], above=0.0, at_most=1e9) * scale - 1e-9)


def _check_known(library: str, given: Mapping[str, Any], known: set[str], needed: set[str]) -> None:
    unknown, missing = sorted(set(given) - known), sorted(needed - set(given))
    if unknown:
        raise ValueError(f"{library}: unknown setting {unknown[0]!r}; known are {', '.join(sorted(known))}")
    if missing:
        raise ValueError(f"{library}: {missing[0]} must be given")
