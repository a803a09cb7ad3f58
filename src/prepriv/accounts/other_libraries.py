"""Runs of other libraries by their own names: what ran, in the terms of `prepriv.account`. Proof: docs/proofs/account.md.

Opacus, jax-privacy and TensorFlow Privacy clip each record's gradient and add Gaussian noise to the sum of a batch, whatever
the model is; diffprivlib's models are pure mechanisms. How batches are drawn decides which account holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from prepriv._arguments import integer, length, number, shown, truth
from prepriv._rounding import DOWN, UP
from prepriv.accounts.diffprivlib_models import pure_model
from prepriv.accounts.library_settings import NAMES, SETTINGS
from prepriv.accounts.ran import Ran
from prepriv.accounts.settings import unread
from prepriv.adjacency import n_is_public
from prepriv.guarantees.loss_distribution import Part
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Learner, Setting
from prepriv.learners.losses import AnyModel, Loss
from prepriv.learners.stochastic import PoissonSGD

LIBRARIES = tuple(SETTINGS)
OPACUS_ROWS = "Opacus takes its rate, its normaliser and its number of batches from the number of rows"
COIN = 2.0**-24  # a float32 coin, Opacus', falls below a rate that much more often


class _OfRecords(Learner):
    """A run whose batches were derived for so many records: of another number it is another run.

    records: the number; None: any. rows_public: what of the run another number of rows changes, which replace-one alone makes
    public; "" where nothing does.
    """

    records: int | None
    rows_public: str

    def _check(self, setting: Setting) -> None:
        if self.records not in (None, setting.n):
            raise ValueError(
                f"the run was read for n={self.records} records; the account is for n={setting.n}"
            )
        if self.rows_public and not n_is_public(setting.adjacency):
            raise ValueError(
                f"{self.rows_public}: a record that is there or not changes more than its own gradient; the account is for "
                "adjacency replace-one"
            )

    def unit(self, setting: Setting) -> float:
        self._check(setting)
        return super().unit(setting)  # type: ignore[safe-super]

    def parts(self, noise_multiplier: float, setting: Setting, *, delta: float = 1e-6) -> tuple[Part, ...]:
        self._check(setting)
        return super().parts(noise_multiplier, setting, delta=delta)  # type: ignore[safe-super]


@dataclass(frozen=True)
class PoissonBatches(_OfRecords, PoissonSGD):
    """Fresh Poisson samples, drawn by another library."""

    records: int | None = None
    rows_public: str = ""


@dataclass(frozen=True)
class ShuffledBatches(_OfRecords, GradientDescent):
    """Epochs over batches that are cut from shuffled records, with noise on every batch: `steps` counts epochs.

    A record is in one batch an epoch, so an epoch costs one release, and no amplification by sampling is claimed. Under
    replace-one alone: where a record is taken away, another one moves into its batch.
    """

    counted: ClassVar[str] = "epochs"
    records: int | None = None
    rows_public: str = "the number of rows decides how shuffled records are cut into batches"

    def premise(self, n: int) -> str:
        return f"every epoch cuts the {n} records into batches in an order that depends on none of them, each record in one batch"

    def smooth(self, noise: float, setting: Setting) -> None:
        """None: the two curves are of a sum over all records."""


def ran_elsewhere(
    library: str, settings: Mapping[str, Any], n: int, loss: Loss | None = None
) -> tuple[Learner | Ran, float | None]:
    """Read a run of another library, in the terms of `prepriv.account`.

    Parameters
    ----------
    library : {"Opacus", "TF-Privacy", "jax-privacy", "diffprivlib"}
        Which one it was.
    settings : mapping
        Settings under the library's own names: noise_multiplier, max_grad_norm, sample_rate or batch_size, epochs or
        steps, poisson_sampling. For diffprivlib: model (the name of the class) and epsilon. Any other setting of the
        run may stand here, too: it is read, or refused by name (`library_settings`). poisson_sampling may be left out
        for Opacus alone, where true is the default. Without drop_last of the DataLoader, the worse of its two values
        counts.
    n : int
        Number of records.
    loss : Loss, optional
        The loss of the model, if it is one of `prepriv.learners`. None: nothing is assumed about it (`AnyModel`).

    Returns
    -------
    ran : Learner or Ran
        What ran: the `learner` of `prepriv.account`.
    noise_multiplier : float or None
        Its noise, if it is a learner.

    Raises
    ------
    ValueError
        For a setting that is not known, contradicts another one, or has no account.

    References
    ----------
    docs/proofs/account.md

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.accounts.other_libraries import ran_elsewhere
    >>> settings = {"noise_multiplier": 2.0, "max_grad_norm": 1.0, "batch_size": 100, "epochs": 2}
    >>> ran, noise = ran_elsewhere("Opacus", settings, n=10_000)
    >>> domain = prepriv.Domain.ball(512, classes=[0, 1], n=10_000)
    >>> prepriv.account([], ran, domain=domain, noise_multiplier=noise).epsilon(1e-5) < 1
    True
    """
    if library not in LIBRARIES:
        raise ValueError(f"library must be one of {', '.join(LIBRARIES)}; got {shown(library)}")
    names = NAMES[library]
    given = {names.get(name, name): value for name, value in settings.items()}
    if len(given) < len(settings):
        raise ValueError(f"{library}: two settings mean the same: {', '.join(sorted(settings))}")
    if library == "diffprivlib":
        if loss is not None:
            raise ValueError("diffprivlib: loss is for a library that clips gradients: leave it out")
        return pure_model(given), None
    for _, why in unread(given, SETTINGS[library]):
        raise ValueError(f"{library}: {why}")
    needed: tuple[str, ...] = ("clip_norm", "noise_multiplier")
    if library in ("TF-Privacy", "jax-privacy"):
        needed += ("poisson_sampling",)
    for name in needed:
        if names.get(name, name) not in given:
            raise ValueError(f"{library}: {name} must be given")
    return _clipped(library, given, n, loss or AnyModel())


def _clipped(library: str, given: Mapping[str, Any], n: int, loss: Loss) -> tuple[Learner, float]:
    """A run of clipped gradients with noise on every batch."""
    for one, other in (("sample_rate", "batch_size"), ("epochs", "steps")):
        if (one in given) == (other in given):
            raise ValueError(f"{library}: give {one} or {other}, one of the two")
    n = integer("n", n)
    if integer("number_of_examples", given.get("number_of_examples", n)) != n:
        raise ValueError(
            f"{library}: number_of_examples must be n, {n}; got {shown(given['number_of_examples'])}"
        )
    rate, fewest, most = _batches(library, given, n)
    bounds: dict[str, Any] = {
        name: length(name, given[name]) for name in ("clip_norm", "weight_bound") if name in given
    } | {"records": n}
    noise = number("noise_multiplier", given["noise_multiplier"], above=0.0)
    steps = integer("steps", given.get("steps", 1))
    epochs = number("epochs", given["epochs"], above=0.0, at_most=1e9) if "epochs" in given else None
    if truth("poisson_sampling", given.get("poisson", True)):
        if library == "TF-Privacy":
            raise ValueError(
                "TF-Privacy: poisson_sampling must be false: its optimizers divide the noisy sum by the size of the batch that was "
                "drawn, which no account of Poisson batches covers; shuffle, or run Opacus"
            )
        size = min(n, math.ceil(rate * n))
        made = steps if epochs is None else math.ceil(epochs * most)
        public = OPACUS_ROWS if library == "Opacus" else ""
        return PoissonBatches(loss, batch_size=size, steps=made, rows_public=public, **bounds), noise
    rounds = -(-steps // fewest) if epochs is None else math.ceil(epochs)
    return ShuffledBatches(loss, steps=rounds, **bounds), noise


def _batches(library: str, given: Mapping[str, Any], n: int) -> tuple[float, int, int]:
    """(a record's chance to be in a batch, at most; the fewest and the most batches of an epoch)."""
    coin = COIN if library == "Opacus" else 0.0
    dropped = given.get("drop_last")
    if "sample_rate" in given:
        if dropped is not None:
            raise ValueError(f"{library}: drop_last goes with batch_size; sample_rate is what it leads to")
        rate = number("sample_rate", given["sample_rate"], above=0.0, at_most=1.0)
        if "num_microbatches" in given and given["num_microbatches"] is not None:
            raise ValueError(f"{library}: num_microbatches goes with batch_size, which it must be")
        # One over a rate that is one over a whole number is that number, but for the last bit.
        return rate + coin, max(1, math.floor(1 / rate * UP)), math.ceil(1 / rate * DOWN)
    batch = integer("batch_size", given["batch_size"])
    if batch > n:
        raise ValueError(f"{library}: batch_size {batch} is larger than the number of records, {n}")
    if given.get("num_microbatches") not in (None, batch):
        raise ValueError(
            f"{library}: num_microbatches must be None or batch_size, {batch}; got {shown(given['num_microbatches'])}: a "
            "gradient of several records moves further than one of a single record"
        )
    fewest = n // batch if dropped in (None, True) else -(-n // batch)
    most = n // batch if dropped else -(-n // batch)
    return (1 / fewest + coin if library == "Opacus" else batch / n), fewest, most
