"""Events of dp-accounting in and out: what a mechanism was, in the words that other libraries account with (`prepriv[interop]`).

Curves that are no events go in and out as privacy loss distributions: `from_dp_accounting`, `to_dp_accounting`.
"""

from __future__ import annotations

from typing import Any

from prepriv._arguments import kind
from prepriv.domain import Adjacency, check_adjacency
from prepriv.guarantees.families import gaussian, laplace
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.loss_distribution import Part, compose
from prepriv.guarantees.subsampling import PoissonRemove


def to_dp_event(guarantee: Guarantee) -> Any:
    """The GaussianDpEvent that a guarantee of µ-GDP is: noise multiplier 1/µ over the sensitivity under its adjacency.

    Raises ValueError for a guarantee without µ, which is no single event.
    """
    from dp_accounting import dp_event

    if guarantee.mu is None:
        raise ValueError(
            "this guarantee is no Gaussian event: hand its trade-off function on, to_dp_accounting(guarantee.tradeoff)"
        )
    if guarantee.mu == 0:
        return dp_event.NoOpDpEvent()
    return dp_event.GaussianDpEvent(1 / guarantee.mu * (1 - 1e-12))


def from_dp_event(event: Any, adjacency: Adjacency) -> Guarantee:
    """The guarantee of a DpEvent of dp-accounting: Gaussian, Laplace, zCDP-free sums of them, and Poisson samples.

    adjacency: the one its noise multipliers are for, over the sensitivity under it. Poisson samples need
    add-or-remove-one, in which dp-accounting writes them.

    Raises ValueError for an event that has no exact trade-off function here.
    """
    check_adjacency(adjacency)
    parts = _parts(event, adjacency, 1)
    if all(isinstance(f, type(gaussian(1.0))) for f, _ in parts):
        return _gaussians(parts, adjacency)
    return Guarantee(compose(parts).symmetrized(), adjacency)


def _gaussians(parts: list[Part], adjacency: Adjacency) -> Guarantee:
    mu = sum(count * f.mu**2 for f, count in parts) ** 0.5 * (1 + 1e-12)  # type: ignore[attr-defined]
    return Guarantee(gaussian(mu), adjacency, mu=mu)


def _parts(event: Any, adjacency: Adjacency, count: int) -> list[Part]:
    name = type(event).__name__
    if name == "NoOpDpEvent":
        return []
    if name == "ComposedDpEvent":
        return [part for inner in event.events for part in _parts(inner, adjacency, count)]
    if name == "SelfComposedDpEvent":
        return _parts(event.event, adjacency, count * int(event.count))
    if name == "GaussianDpEvent":
        return [(gaussian(1 / event.noise_multiplier * (1 + 1e-12)), count)]
    if name == "LaplaceDpEvent":
        return [(laplace(1 / event.noise_multiplier * (1 + 1e-12)), count)]
    if name == "PoissonSampledDpEvent" and type(event.event).__name__ == "GaussianDpEvent":
        if adjacency != "add-or-remove-one":
            raise ValueError("a PoissonSampledDpEvent is for adjacency add-or-remove-one")
        rate, noise = event.sampling_probability, event.event.noise_multiplier
        return [(PoissonRemove(1 / noise * (1 + 1e-12), rate), count)]
    raise ValueError(
        f"{kind(event)} has no trade-off function here: Gaussian, Laplace, Poisson samples and sums of them have"
    )
