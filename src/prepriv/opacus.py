"""A private model of Opacus (or jax-privacy) after the steps of a pipeline: one budget, one guarantee, a checked DataLoader.

Opacus accounts for training alone, and for the sampler that it assumes. `calibrate` looks at the DataLoader that will be
used, finds the noise with which steps and training together keep a target ε, and says what is claimed; `Calibrated.check`
compares it with what was made, and with what ran. Neither torch nor Opacus is imported: loaders are read by their attributes.
Proofs: docs/proofs/account.md, docs/proofs/subsampling.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prepriv._arguments import integer, length, truth
from prepriv._rounding import UP
from prepriv.accounts.account import rests_on, steps_of, zero_rows
from prepriv.accounts.other_libraries import COIN, PoissonBatches, ShuffledBatches
from prepriv.accounts.ran import what_ran
from prepriv.accounts.settings import whole
from prepriv.accounts.torch_loaders import (
    check_loader,
    check_optimizer,
    check_poisson,
    check_sampler,
    counted,
    lengths,
    secure_generator,
)
from prepriv.domain import Domain
from prepriv.guarantees import gdp_epsilon, gdp_mu
from prepriv.guarantees.drafts import check_drafts, with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.notes import notes_on
from prepriv.guarantees.printed import down, up
from prepriv.learners.learner import Learner
from prepriv.learners.losses import AnyModel
from prepriv.payment import Sketch
from prepriv.placed.checks import check_budget
from prepriv.placed.raw_units import RawUnits
from prepriv.plans.claim import claim
from prepriv.plans.plan import budget, decide
from prepriv.preprocessing.base import Step
from prepriv.rehearsals.rehearsal import rehearse
from prepriv.transformer import PrivateTransformer

_DIGITS = 6  # of a noise multiplier, rounded up
_NOTES = (
    "Opacus adds noise in floating point from a pseudo-random generator: use secure_mode=True, whose floats no account covers; "
    "without it a seed that is known, as of torch.manual_seed(0), makes the noise known",
    "holds only if each place of the dataset is one record, made from that record alone, and no optimizer but the private one "
    "trains on it",
    "what else was chosen on the private rows (clip, rate, epochs) is not covered",
)


@dataclass(frozen=True)
class Calibrated:
    """What to run after the steps, and the guarantee of it. Made by `calibrate`.

    Parameters
    ----------
    noise_multiplier : float
        The standard deviation of the noise on the sum of clipped gradients, divided by max_grad_norm.
    guarantee : Guarantee
        The guarantee of steps and training together, and of a private draft of the domain if there is one. The target
        does not include the draft.
    max_grad_norm : float
        The clip norm.
    n : int
        Rows of the DataLoader, one per record.
    epochs : int
        How often the DataLoader is run through.
    steps : int
        The largest number of batches in all.
    sample_rate : float or None
        The chance of a record to be in a Poisson batch. None if batches are shuffled.
    transformer : PrivateTransformer or None
        Fits the steps that are paid for by budget, with their part of it. None if there are none.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.opacus import Calibrated
    >>> from prepriv.guarantees.guarantee import GaussianEvent
    >>> claim = prepriv.Guarantee.of_gaussians([GaussianEvent("training", 2.0)], "replace-one")
    >>> Calibrated(2.0, claim, 1.0, n=2000, epochs=1, steps=20, sample_rate=0.05, transformer=None).opacus["noise_multiplier"]
    2.0
    """

    noise_multiplier: float
    guarantee: Guarantee
    max_grad_norm: float
    n: int
    epochs: int
    steps: int
    sample_rate: float | None
    transformer: PrivateTransformer | None

    @property
    def opacus(self) -> dict[str, Any]:
        """Arguments for `PrivacyEngine.make_private`, in addition to module, optimizer and data_loader."""
        return {
            "noise_multiplier": self.noise_multiplier,
            "max_grad_norm": self.max_grad_norm,
            "poisson_sampling": self.sample_rate is not None,
            "batch_first": True,  # of shuffled batches nothing that `check` sees says it
        }

    @property
    def jax_privacy(self) -> dict[str, Any]:
        """The same run under the names of jax_privacy: arguments of `clipped_grad`, `batch_selection.CyclicPoissonSampling` and
        `noise_addition.gaussian_privatizer`. stddev is for the sum of clipped gradients, which `clipped_grad` returns
        if normalize_by is 1. Take the mean after the noise, and divide by a fixed number, never by the size of the
        batch that was drawn.

        Raises ValueError for shuffled batches.
        """
        if self.sample_rate is None:
            raise ValueError(
                "jax-privacy's numbers are for Poisson batches: calibrate with poisson_sampling true"
            )
        return {
            "clipped_grad": {"l2_clip_norm": self.max_grad_norm},
            "CyclicPoissonSampling": {"sampling_prob": self.sample_rate, "iterations": self.steps},
            "gaussian_privatizer": {"stddev": float(up(self.noise_multiplier * self.max_grad_norm, _DIGITS))},
        }

    def check(self, optimizer: Any = None, data_loader: Any = None, history: Iterable[Any] = ()) -> None:
        """ValueError if what `make_private` returned, or what ran, cost more than was claimed.

        optimizer, data_loader: as returned by `make_private`. history: `privacy_engine.accountant.history` after
        training. Give at least one of them. Otherwise ValueError, because a check that looked at nothing must not
        pass.
        """
        ran, batches = list(history), self.steps // self.epochs
        # Of a DataLoader the rate itself is compared, and Opacus says one over its length.
        most = 1 / (batches if data_loader is None else counted(batches)) * UP
        if optimizer is None and data_loader is None and not ran:
            raise ValueError(
                "nothing was given to check: give optimizer, data_loader or a history of batches that ran"
            )
        if optimizer is not None:
            check_optimizer(optimizer, self.noise_multiplier, self.max_grad_norm, n=self.n, batches=batches)
        if data_loader is not None:
            self._check_loader(data_loader, optimizer)
        if not all(isinstance(entry, tuple | list) and len(entry) == 3 and _counts(*entry) for entry in ran):
            raise ValueError(
                "history must be that of Opacus' accountant: numbers (noise, rate, batches) of what ran, batches a whole number"
            )
        if not sum(steps for *_, steps in ran) <= self.steps or any(steps < 0 for *_, steps in ran):
            raise ValueError(
                f"{sum(steps for *_, steps in ran)} batches ran; the guarantee is of {self.steps}"
            )
        if not all(noise >= self.noise_multiplier for noise, *_ in ran):
            raise ValueError(f"a batch ran with less noise than {self.noise_multiplier}")
        if not all(
            rate <= most for _, rate, _ in ran
        ):  # larger shuffled batches: more epochs in as many steps
            raise ValueError(f"a batch was drawn at a rate above {self.epochs / self.steps:g}")

    def _check_loader(self, loader: Any, optimizer: Any) -> None:
        poisson, batches = self.sample_rate is not None, self.steps // self.epochs
        if hasattr(getattr(loader, "batch_sampler", None), "sample_rate") != poisson:
            said = "Poisson batches" if poisson else "shuffled batches"
            raise ValueError(f"the guarantee is of {said}: give the DataLoader that make_private returned")
        n, length = lengths(loader)
        if n != self.n:
            raise ValueError(
                f"the DataLoader holds {n:,} rows; the guarantee is of {self.n:,}, each record in one of them"
            )
        if poisson:
            rate = check_poisson(loader, n, secure_generator(optimizer))
        else:
            rate = 1 / max(length, 1)
        check_sampler(loader)
        if not rate <= 1 / batches * UP:
            raise ValueError(f"the DataLoader draws at rate {rate:g}; the guarantee is of {1 / batches:g}")
        if length > batches:
            raise ValueError(f"the DataLoader has {length} batches per epoch; the guarantee is of {batches}")


def calibrate(
    steps: Sequence[Step] | Any,
    data_loader: Any,
    run: Mapping[str, Any],
    *,
    domain: Domain,
    epsilon: float,
    delta: float,
) -> Calibrated:
    """Find the noise for a training with Opacus, so that pre-processing and training together keep one budget.

    Parameters
    ----------
    steps : sequence of steps, or pipeline of scikit-learn
        Pre-processing, each step with its payment. A pipeline of scikit-learn counts as fitted on the private rows.
    data_loader : DataLoader
        The DataLoader of the prepared rows, as it is given to `make_private`. Opacus takes the sample rate from its
        length. Only its attributes are read, and torch is not imported.
    run : mapping
        epochs, and optionally max_grad_norm (default 1.0) and poisson_sampling (default True).
    domain : Domain
        What is declared about the raw rows, under replace-one, where the number of rows is public.
    epsilon : float
        The budget of everything together, positive and finite.
    delta : float
        In (0, 1), well below 1 / n.

    Returns
    -------
    Calibrated
        With `opacus` (the arguments of `make_private`), `guarantee`, `transformer` (which fits the steps) and `check`
        (for after the training).

    Raises
    ------
    ValueError
        Where the DataLoader is not what an account covers, or no noise keeps the budget.

    References
    ----------
    docs/proofs/account.md, docs/proofs/subsampling.md

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.opacus import calibrate
    >>> class Rows:  # stands for a DataLoader over 2,000 rows, 20 batches an epoch
    ...     dataset, batch_size, drop_last = range(2000), 100, False
    ...
    ...     def __len__(self):
    ...         return 20
    >>> domain = prepriv.Domain.box(0, 1, features=3, classes=[0, 1])
    >>> run = {"epochs": 2, "poisson_sampling": False}
    >>> found = calibrate([], Rows(), run, domain=domain, epsilon=2.0, delta=1e-5)
    >>> found.guarantee.epsilon(1e-5) <= 2.0, found.opacus["max_grad_norm"]
    (True, 1.0)
    """
    epsilon, delta = check_budget(epsilon, delta)
    if not math.isfinite(epsilon):
        raise ValueError("epsilon must be finite: without noise there is nothing to calibrate")
    steps, read = steps_of(steps, domain)
    unknown = sorted(map(str, set(run) - {"epochs", "max_grad_norm", "poisson_sampling"}))
    if unknown or "epochs" not in run:
        raise ValueError(
            f"run must give epochs, and may give max_grad_norm and poisson_sampling; got {', '.join(sorted(map(str, run)))}"
        )
    epochs, clip = integer("epochs", run["epochs"]), length("max_grad_norm", run.get("max_grad_norm", 1.0))
    poisson = truth("poisson_sampling", run.get("poisson_sampling", True))
    n, batches = check_loader(data_loader, domain, poisson=poisson)
    domain = domain.with_n(n)
    check_drafts(domain, delta)
    learner: Learner
    if poisson:  # whole records, at or above the rate at which float32 coins fall
        drawn = min(n, math.ceil(n * (1 / batches + COIN)))
        learner = PoissonBatches(
            AnyModel(), batch_size=drawn, steps=epochs * batches, clip_norm=clip, records=n
        )
    else:
        learner = ShuffledBatches(AnyModel(), steps=epochs, clip_norm=clip, records=n)
    if any(step.way == Sketch.way for step in steps):
        raise ValueError(
            "a sketch of the table pays for transformers of scikit-learn in a run of prepriv: use PrivateClassifier, or steps of "
            "prepriv paid by Budget"
        )
    placed, setting, multiplier = decide(domain, steps, learner, epsilon=epsilon, delta=delta, release=False)
    for p in placed.steps:
        rehearse(p, domain, n, private=True, release=False)
    noise = float(up(learner.unit(setting) * multiplier / clip, _DIGITS))
    made = claim(placed, learner, setting, noise * clip / learner.unit(setting), delta)
    ran, real = what_ran(learner, noise, setting.radius), float(made.epsilon(delta))
    notes = (*read, *made.notes, *rests_on(steps), *ran.premise(setting), *_NOTES)
    weak = notes_on(real, delta, n, gdp_mu(real, delta))
    conditions = (*made.conditions, *zero_rows(steps, ran, n))
    whole = with_drafts(replace(made, conditions=conditions, notes=(*notes, *weak)), domain, delta, n)
    assert whole is not None
    return Calibrated(
        noise,
        whole,
        clip,
        n,
        epochs,
        epochs * batches,
        1 / batches if poisson else None,
        _transformer(steps, domain, epsilon, delta),
    )


def _counts(noise: Any, rate: Any, batches: Any) -> bool:
    """Whether an entry of a history is numbers, the batches of it whole ones."""
    return all(isinstance(number, int | float | np.number) for number in (noise, rate)) and whole(batches)


def _transformer(
    steps: Sequence[Step], domain: Domain, epsilon: float, delta: float
) -> PrivateTransformer | None:
    """For the steps whose maps may leave, with the part of the budget that `decide` gives them."""
    share = sum(step.paid.share for step in steps)
    read = any(isinstance(step, RawUnits) for step in steps)  # of a pipeline that was fitted elsewhere
    if not steps or read or not all(step.paid.leaves for step in steps):
        return None
    mu = budget(epsilon, delta) * math.sqrt(share)
    spent = float(down(float(gdp_epsilon(mu, delta)), _DIGITS)) if share else 1.0
    return PrivateTransformer(domain, list(steps), epsilon=spent, delta=delta)
