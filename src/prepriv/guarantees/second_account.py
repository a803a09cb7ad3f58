"""The same claim by another accountant: the events of a run, and what dp-accounting computes from them (`prepriv[interop]`).

Only arithmetic is shared out: dp-accounting gets noise multipliers, rates and counts, and composes them with its own code. It
sees no sensitivity and no sampler. Its privacy loss distributions come twice, rounded up and rounded down, so its answer is
an interval. Proof: docs/proofs/second_account.md.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from prepriv._arguments import choice, integer, length, number, settle
from prepriv.adjacency import Adjacency, n_is_public

Sampling: TypeAlias = Literal["all", "poisson", "without replacement"]
SMALLEST_DELTA = 1e-10  # below it the digits of dp-accounting, which computes in floating point, run out
_FINE = 1e-3  # of the claimed epsilon, or of the spread of the loss: width of its grid, for one release
_FINEST = 1e-6  # the same, for any number of releases


class NoEvents(ValueError):
    """What runs has no event that dp-accounting knows: why, in words."""


@dataclass(frozen=True)
class Event:
    """Gaussian releases of one kind, each over all records or over a fresh sample of them.

    Parameters
    ----------
    name : str
        Of the step or learner.
    noise_multiplier : float
        Noise over the distance of two neighbouring sums (over all records), or over the most that one record adds (of a sample).
    count : int, default 1
        How many there are.
    sampling : {"all", "poisson", "without replacement"}, default "all"
        Which records a release sees.
    rate : float, default 1.0
        The chance of a record to be in a sample.

    Examples
    --------
    >>> from prepriv.guarantees.second_account import Event
    >>> Event("PoissonSGD", 1.0, 100, "poisson", 0.01).count
    100
    """

    name: str
    noise_multiplier: float
    count: int = 1
    sampling: Sampling = "all"
    rate: float = 1.0

    def __post_init__(self) -> None:
        settle(self, noise_multiplier=length("noise_multiplier", self.noise_multiplier))
        settle(self, count=integer("count", self.count))
        choice("sampling", self.sampling, ("all", "poisson", "without replacement"))
        number("rate", self.rate, above=0.0, at_most=1.0)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Leak:
    """A chance `delta` that a value of one record alone is seen, as `schema init` pays for categories that nobody declared."""

    name: str
    delta: float

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


Events: TypeAlias = tuple[Event | Leak, ...]
"""What one person's record can meet, composed."""


@dataclass(frozen=True)
class SecondAccount:
    """What the other accountant says about a claim.

    Parameters
    ----------
    accountant : str
        Name and version, and how it computed.
    low, high : float
        Its epsilon lies between them: it rounds down for one and up for the other.

    Examples
    --------
    >>> from prepriv.guarantees.second_account import SecondAccount
    >>> SecondAccount("dp-accounting", 0.99, 1.0).contradicts(0.98)
    True
    """

    accountant: str
    low: float
    high: float

    def contradicts(self, epsilon: float) -> bool:
        """Whether a claim is below all that the other accountant allows: one of the two is wrong."""
        return epsilon < self.low


def dp_accounting_account(
    alternatives: Sequence[Events], adjacency: Adjacency, delta: float, epsilon: float
) -> SecondAccount:
    """Account for events with dp-accounting.

    Parameters
    ----------
    alternatives : sequence of events
        A record meets the events of one of them; the largest epsilon counts. More than one where parts of the records are apart.
    adjacency : {"replace-one", "add-or-remove-one"}
        What neighbouring data sets are.
    delta : float
        Where epsilon is computed, at least 1e-10.
    epsilon : float
        The claim, to choose how fine its grid is; it enters no other way.

    Returns
    -------
    SecondAccount

    Raises
    ------
    NoEvents
        For a delta that is too small, or samples without replacement under add-or-remove-one.
    ImportError
        Without dp-accounting.

    Notes
    -----
    Samples without replacement are known to its Rényi accountant alone, which only bounds from above. From below it then
    gets Poisson samples, which are what a batch looks like whose other records add nothing: no account can be smaller.

    Examples
    --------
    >>> from prepriv.guarantees.second_account import Event, dp_accounting_account
    >>> said = dp_accounting_account([(Event("sum", 2.0),)], "replace-one", 1e-5, 2.0)
    >>> said.low <= 1.99309 <= said.high
    True
    """
    if not delta >= SMALLEST_DELTA:
        raise NoEvents(
            f"delta is below {SMALLEST_DELTA:g}, where the floating-point sums of dp-accounting say nothing"
        )
    each = [_one(events, adjacency, delta, epsilon) for events in alternatives]
    version = importlib.metadata.version("dp-accounting")
    how = "privacy loss distributions"
    if any(_without_replacement(events) for events in alternatives):
        how = "privacy loss distributions from below, Rényi divergences from above"
    return SecondAccount(
        f"dp-accounting {version}, {how}", max(low for low, _ in each), max(high for _, high in each)
    )


def _without_replacement(events: Events) -> bool:
    return any(isinstance(e, Event) and e.sampling == "without replacement" for e in events)


def _one(events: Events, adjacency: Adjacency, delta: float, epsilon: float) -> tuple[float, float]:
    if not n_is_public(adjacency) and _without_replacement(events):
        raise NoEvents("samples without replacement have a fixed size, which add-or-remove-one changes")
    releases = [e for e in events if isinstance(e, Event)]
    for leak in (e.delta for e in events if isinstance(e, Leak)):
        delta = (delta - leak) / (1 - leak)  # with probability `leak` all is lost, else nothing is
    if not delta > 0:
        return math.inf, math.inf
    low = _distribution(releases, adjacency, epsilon, rounded_up=False).get_epsilon_for_delta(delta)
    if _without_replacement(events):
        return float(low), _renyi(releases, delta)
    high = _distribution(releases, adjacency, epsilon, rounded_up=True).get_epsilon_for_delta(delta)
    return float(low), float(high)


def _distribution(events: Sequence[Event], adjacency: Adjacency, epsilon: float, *, rounded_up: bool) -> Any:
    """A PrivacyLossDistribution of dp-accounting, of all events."""
    pld = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    relation = importlib.import_module("dp_accounting.privacy_accountant").NeighboringRelation
    samples = sum(e.count for e in events if e.sampling != "all")
    spread = max(e.rate * math.sqrt(e.count) / e.noise_multiplier for e in events)  # about that of the loss
    width = max(epsilon, spread) * max(_FINE / math.sqrt(max(samples, 1)), _FINEST)
    parts = []
    options = {
        "pessimistic_estimate": rounded_up,
        "value_discretization_interval": width,
        "use_connect_dots": rounded_up,
    }
    for event in events:
        if event.sampling == "all":  # noise over the distance of neighbours: that of one record added
            parts.append(
                pld.from_gaussian_mechanism(event.noise_multiplier / math.sqrt(event.count), **options)
            )
        else:
            near = relation.REPLACE_ONE if n_is_public(adjacency) else relation.ADD_OR_REMOVE_ONE
            batch = pld.from_gaussian_mechanism(
                event.noise_multiplier, sampling_prob=event.rate, neighboring_relation=near, **options
            )
            parts.append(batch.self_compose(event.count))
    return functools.reduce(lambda whole, part: whole.compose(part), parts)


def _renyi(events: Sequence[Event], delta: float) -> float:
    """Epsilon of its Rényi accountant, which bounds from above."""
    dp_event = importlib.import_module("dp_accounting.dp_event")
    rdp = importlib.import_module("dp_accounting.rdp.rdp_privacy_accountant")
    relation = importlib.import_module("dp_accounting.privacy_accountant").NeighboringRelation
    accountant = rdp.RdpAccountant(neighboring_relation=relation.REPLACE_ONE)
    size = 2**40  # records, of which a sample is a fraction: only their ratio counts
    for event in events:
        if event.sampling == "all":
            accountant.compose(dp_event.GaussianDpEvent(event.noise_multiplier), event.count)
        elif event.sampling == "without replacement":  # its noise is over the distance of two records
            one = dp_event.GaussianDpEvent(event.noise_multiplier / 2)
            drawn = math.ceil(event.rate * size)
            accountant.compose(dp_event.SampledWithoutReplacementDpEvent(size, drawn, one), event.count)
        else:
            raise NoEvents("its Rényi accountant does not know Poisson samples under replace-one")
    return float(accountant.get_epsilon(delta))
