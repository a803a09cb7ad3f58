"""Events of dp-accounting in and out: what a mechanism was, in the words that other libraries account with (`prepriv[interop]`).

Curves that are not events go in and out as privacy loss distributions: `from_dp_accounting`, `to_dp_accounting`.
"""

from __future__ import annotations

from typing import Any

from prepriv._arguments import integer, kind, length, number
from prepriv._rounding import DOWN, UP
from prepriv.adjacency import Adjacency, check_adjacency, n_is_public
from prepriv.guarantees.families import gaussian, laplace
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.loss_distribution import Part, compose
from prepriv.guarantees.subsampling import LEAST_RATE, PoissonRemove

_FIELDS = {
    "NoOpDpEvent": (),
    "ComposedDpEvent": ("events",),
    "SelfComposedDpEvent": ("event", "count"),
    "GaussianDpEvent": ("noise_multiplier",),
    "LaplaceDpEvent": ("noise_multiplier",),
    "PoissonSampledDpEvent": ("sampling_probability", "event"),
}
"""All that an event of each kind says: one with another field says something that is not read here."""


def to_dp_event(guarantee: Guarantee) -> Any:
    """The GaussianDpEvent that a guarantee of µ-GDP is: noise multiplier 1/µ over the sensitivity under its adjacency.

    Raises ValueError for a guarantee without µ, which is not a single event, and for one that rests on more than its curve:
    an event has no place for conditions, a unit or premises.
    """
    from dp_accounting import dp_event

    if apart := _apart(guarantee):
        raise ValueError(
            f"this guarantee also has {' and '.join(apart)}, which no event can hold: hand on its curve, "
            "to_dp_accounting(guarantee.tradeoff), and the words of the guarantee beside it"
        )
    if guarantee.mu is None:
        raise ValueError(
            "this guarantee is not a Gaussian event: pass its trade-off function instead, to_dp_accounting(guarantee.tradeoff)"
        )
    if guarantee.mu == 0:
        return dp_event.NoOpDpEvent()
    return dp_event.GaussianDpEvent(1 / guarantee.mu * DOWN)


def _apart(guarantee: Guarantee) -> list[str]:
    """What a guarantee says beside its curve and its adjacency, in words."""
    said = [
        f"{len(words)} {what}{'' if len(words) == 1 else 's'}"
        for what, words in (("condition", guarantee.conditions), ("premise", guarantee.premises))
        if words
    ]
    return said + ([] if guarantee.unit is None else [f"the unit {guarantee.unit!r}"])


def from_dp_event(event: Any, adjacency: Adjacency) -> Guarantee:
    """The guarantee of a DpEvent of dp-accounting: Gaussian, Laplace, zCDP-free sums of them, and Poisson samples.

    adjacency: the one its noise multipliers are for, over the sensitivity under it. Poisson samples need
    add-or-remove-one, in which dp-accounting writes them.

    Raises ValueError for an event that has no exact trade-off function here, and for a field that is not what such an
    event can hold: a count that is not a whole number, a noise multiplier that is not a positive number.
    """
    check_adjacency(adjacency)
    try:
        parts = _parts(event, adjacency, 1)
    except RecursionError:
        raise ValueError("the event holds events within events too deep to be read") from None
    if all(isinstance(f, type(gaussian(1.0))) for f, _ in parts):
        return _gaussians(parts, adjacency)
    return Guarantee(compose(parts).symmetrized(), adjacency)


def _gaussians(parts: list[Part], adjacency: Adjacency) -> Guarantee:
    mu = sum(count * f.mu**2 for f, count in parts) ** 0.5 * UP  # type: ignore[attr-defined]
    return Guarantee(gaussian(mu), adjacency, mu=mu)


def _kind(event: Any) -> str:
    """The kind of an event that says nothing but what is read here, or ValueError."""
    from dp_accounting import dp_event

    name = type(event).__name__
    if name not in _FIELDS or type(event) is not getattr(dp_event, name):
        raise ValueError(
            f"{kind(event)} has no trade-off function here: Gaussian, Laplace, Poisson samples and sums of them have"
        )
    unread = sorted({f.name for f in type(event).__attrs_attrs__} - {*_FIELDS[name]})
    if unread:
        raise ValueError(
            f"{name} has a field {unread[0]!r} that is not read here: use the dp-accounting this was written for"
        )
    return name


def _scale(event: Any) -> float:
    """The scale of the mechanism's curve: sensitivity over noise, rounded up."""
    return 1 / length(f"noise_multiplier of a {type(event).__name__}", event.noise_multiplier) * UP


def _parts(event: Any, adjacency: Adjacency, count: int) -> list[Part]:
    name = _kind(event)
    if name == "NoOpDpEvent" or count == 0:
        return []
    if name == "ComposedDpEvent":
        return [part for inner in event.events for part in _parts(inner, adjacency, count)]
    if name == "SelfComposedDpEvent":
        times = integer("count of a SelfComposedDpEvent", event.count, at_least=0)
        return _parts(event.event, adjacency, count * times)
    if name == "GaussianDpEvent":
        return [(gaussian(_scale(event)), count)]
    if name == "LaplaceDpEvent":
        return [(laplace(_scale(event)), count)]
    if _kind(event.event) != "GaussianDpEvent":
        raise ValueError(
            f"{kind(event)} of a {type(event.event).__name__} has no trade-off function here: Poisson samples of a Gaussian have"
        )
    if n_is_public(adjacency):
        raise ValueError("a PoissonSampledDpEvent is for adjacency add-or-remove-one")
    rate = number("sampling_probability", event.sampling_probability, at_least=0.0, at_most=1.0)
    scale = _scale(event.event)
    return [(PoissonRemove(scale, max(rate, LEAST_RATE)), count)] if rate else []  # a sample of nobody
