"""What ran after the steps of an existing pipeline, with the noise it had: a learner, or one released statistic.

`account` asks both the same questions (docs/proofs/account.md).
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any

from prepriv._arguments import number, real, shown
from prepriv._rounding import UP
from prepriv.guarantees import approximate_dp, gaussian, laplace
from prepriv.guarantees.families import Gaussian
from prepriv.guarantees.loss_distribution import compose
from prepriv.guarantees.printed import CONDITION_DIGITS, down, exact, up
from prepriv.guarantees.renyi import bounded_range_renyi
from prepriv.guarantees.smallest import RenyiBound, smallest
from prepriv.guarantees.smooth_mechanisms import exponential_mechanism, gaussian_mechanism, laplace_mechanism
from prepriv.guarantees.smooth_renyi import SmoothMechanism
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.learners.learner import Learner, Setting
from prepriv.placed.checks import check_learner

LARGEST_NOISE = 1e9  # noise over the clip norm: with more, nothing is learnt of a million records


class Ran(abc.ABC):
    """What reads the rows after the steps, and what is known of its noise."""

    @abc.abstractmethod
    def outputs(self, classes: int) -> int:
        """Columns of what is released for each feature."""

    @abc.abstractmethod
    def direct(self, setting: Setting, delta: float) -> TradeoffFunction:
        """Its own noise against the replaced record and the shift of the others."""

    @abc.abstractmethod
    def smooth(self, setting: Setting) -> SmoothMechanism | None:
        """Its two Renyi curves, where the paper (corrected) has them."""

    @abc.abstractmethod
    def group(self, size: int, alone: TradeoffFunction) -> TradeoffFunction | None:
        """`size` replaced records, where that has a closed form; alone: one of them."""

    @abc.abstractmethod
    def over_zeros(self, n: int) -> str:
        """What is assumed of rows of zeros, which stand where rows were dropped."""

    @abc.abstractmethod
    def premise(self, setting: Setting) -> tuple[str, ...]:
        """What is assumed of the run: its sampler, its bounds and its noise, in one note at most."""


@dataclass(frozen=True)
class ReleasedStatistic(Ran):
    """A mechanism in place of a learner: kind "gaussian", "laplace" or "exponential", epsilon its parameter.

    lipschitz: L, the statistic moves by at most L times the total shift of the rows. sensitivity: how far one replaced
    record moves it. Noise scale: sensitivity / epsilon ("Provable Privacy with Non-Private Pre-Processing", Table 1).
    """

    kind: str
    epsilon: float
    lipschitz: float = 1.0
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in ("gaussian", "laplace", "exponential"):
            raise ValueError(f"kind must be gaussian, laplace or exponential; got {self.kind!r}")
        for name in ("epsilon", "lipschitz", "sensitivity"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be finite and positive; got {value}")

    @property
    def name(self) -> str:
        """The mechanism's name in reports."""
        return f"{self.kind} mechanism"

    def outputs(self, classes: int) -> int:
        return 1

    def direct(self, setting: Setting, delta: float) -> TradeoffFunction:
        """The mechanism at epsilon (1 + L tau / sensitivity); a dropped row counts as a replaced record."""
        incoming = setting.incoming
        grown = 1 + self.lipschitz * incoming.total_shift / self.sensitivity + incoming.rows_dropped
        epsilon = self.epsilon * grown * UP
        if self.kind == "gaussian":
            return gaussian(epsilon)
        if self.kind == "laplace":
            return laplace(epsilon)
        return smallest([approximate_dp(epsilon, 0.0), RenyiBound(bounded_range_renyi(epsilon))])

    def smooth(self, setting: Setting) -> SmoothMechanism:
        make = {
            "gaussian": gaussian_mechanism,
            "laplace": laplace_mechanism,
            "exponential": exponential_mechanism,
        }
        return make[self.kind](self.epsilon, lipschitz=self.lipschitz, sensitivity=self.sensitivity)

    def group(self, size: int, alone: TradeoffFunction) -> TradeoffFunction | None:
        epsilon = size * self.epsilon
        if self.kind == "gaussian":
            return gaussian(epsilon * UP)
        return approximate_dp(epsilon * UP, 0.0) if epsilon < 500 else None

    def over_zeros(self, n: int) -> str:
        return (
            f"the statistic is computed from all {n} places and divides by {n}, never by the number of rows that are left, "
            "and its sensitivity and Lipschitz constant hold for rows of zeros, too"
        )

    def premise(self, setting: Setting) -> tuple[str, ...]:
        return (
            f"holds only while one replaced record moves the statistic by at most {exact(self.sensitivity)}, rows that move in all "
            f"by t move it by at most {exact(self.lipschitz)} t, and the noise of the {self.name} has the scale "
            f"{exact(self.sensitivity)} / {exact(self.epsilon)}",
        )


@dataclass(frozen=True)
class NoisyLearner(Ran):
    """A learner and the standard deviation of its noise on a gradient sum."""

    learner: Learner
    deviation: float

    def outputs(self, classes: int) -> int:
        return self.learner.loss.outputs(classes)

    def direct(self, setting: Setting, delta: float) -> TradeoffFunction:
        multiplier = self.deviation / self.learner.unit(setting)
        if self.learner.once(multiplier, setting):
            errors = getattr(self.learner, "mean_error", 0.0)
            option, of = ("mean_error", "the errors") if errors else ("flatten", "the rows")
            raise ValueError(
                f"{self.learner.name} with {option} releases the sum of {of}, too, of whose noise an account of what ran elsewhere "
                f"knows nothing: give {option}=0, and add the guarantee of that sum"
            )
        accounts = self.learner.accounts(multiplier, setting, delta)
        return smallest([compose(parts).symmetrized() for parts in accounts])

    def smooth(self, setting: Setting) -> SmoothMechanism | None:
        return self.learner.smooth(self.deviation / self.learner.clip(setting.radius), setting)

    def group(self, size: int, alone: TradeoffFunction) -> TradeoffFunction | None:
        if not self.learner.exact:
            return None
        assert isinstance(alone, Gaussian)
        return gaussian(size * alone.mu * UP)

    def over_zeros(self, n: int) -> str:
        seen = f"every batch is drawn from all {n}" if self.learner.samples else f"every sum is over all {n}"
        return (
            f"{seen} places, a row of zeros adds a gradient of zero, and sums are divided by {n} or the declared batch size; "
            "a library that is handed only the rows that are left has another n, another rate and another ε"
        )

    def premise(self, setting: Setting) -> tuple[str, ...]:
        longest = down(self.learner.clip(setting.radius), CONDITION_DIGITS)
        bound = self.learner.weight_bound
        ball = f" and is taken at weights of norm at most {exact(bound)}" if math.isfinite(bound) else ""
        loss = self.learner.loss
        linear = f"that of {loss!r} for a linear model with a constant feature of {exact(self.learner.bias)}"
        return (
            f"holds only while {self.learner.premise(setting.n)}; each gradient is {linear + ', ' if loss.trains else ''}a function of one "
            f"record and of the weights alone (no batch normalisation, no loss over several records), no record's gradient is longer than {longest}{ball}, and "
            f"every sum of them has Gaussian noise of standard deviation {up(self.deviation, CONDITION_DIGITS)} or more; nothing "
            f"else that reads the rows leaves (losses, statistics of layers); at most {self.learner.steps} {self.learner.counted} ran",
        )


@dataclass(frozen=True)
class PureMechanism(Ran):
    """Anything that is epsilon-DP for one record, of which nothing else is known: moved rows count whole.

    notes: what else is printed. adjacency: the only one that it is for; "" for either.
    """

    epsilon: float
    notes: tuple[str, ...] = ()
    adjacency: str = ""

    def __post_init__(self) -> None:
        number("epsilon", self.epsilon, above=0.0)

    def outputs(self, classes: int) -> int:
        return 1

    def direct(self, setting: Setting, delta: float) -> TradeoffFunction:
        """Group privacy over the record, the moved and the dropped rows."""
        if self.adjacency not in ("", setting.adjacency):
            raise ValueError(
                f"what ran takes the number of rows for public: the account is for adjacency {self.adjacency}; got {setting.adjacency}"
            )
        return approximate_dp(self.epsilon * math.ceil(setting.incoming.records) * UP, 0.0)

    def smooth(self, setting: Setting) -> SmoothMechanism | None:
        return None

    def group(self, size: int, alone: TradeoffFunction) -> TradeoffFunction | None:
        return None

    def over_zeros(self, n: int) -> str:
        return f"the mechanism reads all {n} places, and is private for rows of zeros, too"

    def premise(self, setting: Setting) -> tuple[str, ...]:
        return (
            f"holds only while what ran is {exact(self.epsilon)}-differentially private under {setting.adjacency} for the rows "
            "that reach it, norms and bounds that it was told included, and nothing of it leaves but its parameters and predictions",
            *self.notes,
        )


def what_ran(learner: Any, noise_multiplier: float | None, radius: float) -> Ran:
    """A learner with its noise (a multiplier of the declared clip_norm), or a statistic, which carries its own.

    radius: norm bound of the rows. Raises ValueError for anything else.
    """
    if isinstance(learner, Ran):
        if noise_multiplier is not None:
            raise ValueError("noise_multiplier must be given for a learner, and only for a learner")
        return learner
    check_learner(learner)
    if noise_multiplier is None:
        raise ValueError("noise_multiplier must be given for a learner, and only for a learner")
    if not 0 < real(noise_multiplier) <= LARGEST_NOISE:
        raise ValueError(
            f"noise_multiplier must be finite and positive, at most {LARGEST_NOISE:g}; got {shown(noise_multiplier)}"
        )
    # The declared clip_norm, not a smaller bound of the loss, is what other libraries multiply.
    bound = learner.clip_norm if math.isfinite(learner.clip_norm) else learner.clip(radius)
    if not math.isfinite(bound):
        raise ValueError("the gradient has no finite bound: give the learner a clip_norm or a weight_bound")
    return NoisyLearner(learner, noise_multiplier * bound)
