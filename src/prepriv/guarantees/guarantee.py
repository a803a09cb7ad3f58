"""The guarantee a user reads: one trade-off function, its adjacency, its conditions, and what each part cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from prepriv._arguments import instance, integer, length, settle, shown
from prepriv.domain import Adjacency, check_adjacency
from prepriv.guarantees.families import gaussian
from prepriv.guarantees.printed import plain, up
from prepriv.guarantees.tradeoff import TradeoffFunction


@dataclass(frozen=True)
class GaussianEvent:
    """`count` adaptive uses of the Gaussian mechanism at one noise multiplier (noise over sensitivity)."""

    name: str
    noise_multiplier: float
    count: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ValueError(f"name must be a text; got {shown(self.name)}")
        settle(self, noise_multiplier=length("noise_multiplier", self.noise_multiplier))
        object.__setattr__(self, "count", integer("count", self.count))

    @property
    def mu_squared(self) -> float:
        """The GDP parameter squared, rounded up: squares of Gaussian mechanisms add (Dong, Roth and Su)."""
        return self.count / self.noise_multiplier**2 * (1 + 1e-13)


@dataclass(frozen=True)
class Guarantee:
    """What holds for every byte that leaves a run. Compute it from events with `Guarantee.of_gaussians`.

    tradeoff: certified lower bound of the trade-off function between neighbouring data sets.
    adjacency: what "neighbouring" means. conditions: what must hold of the data, in words; empty means the
    claim is unconditional. breakdown: share of the budget (in mu squared) of each part, in order; nan where the
    whole has no mu.
    """

    tradeoff: TradeoffFunction
    adjacency: Adjacency
    conditions: tuple[str, ...] = ()
    breakdown: tuple[tuple[str, float], ...] = ()
    mu: float | None = None
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        instance("tradeoff", self.tradeoff, TradeoffFunction, "a trade-off function of prepriv.guarantees")
        check_adjacency(self.adjacency)

    @staticmethod
    def of_gaussians(
        events: Sequence[GaussianEvent], adjacency: Adjacency, conditions: Sequence[str] = ()
    ) -> Guarantee:
        """Adaptive composition of Gaussian mechanisms: exactly GDP, no conversion loss."""
        total = sum(e.mu_squared for e in events)
        mu = math.sqrt(total) * (1 + 1e-13)
        shares = tuple((e.name, e.mu_squared / total) for e in events) if total > 0 else ()
        return Guarantee(gaussian(mu), adjacency, tuple(conditions), shares, mu)

    @property
    def weak(self) -> tuple[str, ...]:
        """The notes that say how little the claim, or the model, may be worth."""
        return tuple(note for note in self.notes if note.startswith("weak"))

    @property
    def premises(self) -> tuple[str, ...]:
        """The notes without which the claim is another: what has to stay secret, and what has to have run."""
        return tuple(note for note in self.notes if note.startswith("holds only while"))

    def epsilon(self, delta: float) -> float:
        """Smallest certified epsilon at this delta; at 0, that of pure differential privacy."""
        if delta == 0:
            return float(self.tradeoff._pure_epsilon())
        return float(self.tradeoff.epsilon(delta))

    def delta(self, epsilon: float) -> float:
        """Smallest certified delta at this epsilon."""
        return float(self.tradeoff.delta(epsilon))

    def to_json(self, delta: float) -> dict[str, Any]:
        """Plain data, at the delta the user chose: valid JSON, an infinite number is the text "inf"."""
        return {
            "epsilon": plain(self.epsilon(delta)),
            "delta": float(delta),
            "mu": plain(self.mu),
            "adjacency": self.adjacency,
            "conditions": list(self.conditions),
            "notes": list(self.notes),
            "breakdown": [
                {"part": name, "share_of_mu_squared": plain(share)} for name, share in self.breakdown
            ],
        }

    def __str__(self) -> str:
        parts = [f"{up(self.mu, 4)}-GDP" if self.mu is not None else "f-DP", self.adjacency]
        if self.conditions:
            parts.append("if " + " and ".join(self.conditions))
        return "; ".join([", ".join(parts), *self.premises, *self.weak])
