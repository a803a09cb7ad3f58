"""The guarantee a user reads: one trade-off function, its adjacency, its conditions, and what each part cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from prepriv._arguments import instance, integer, length, settle, shown
from prepriv._rounding import CLOSE_UP, FAR_DOWN
from prepriv.adjacency import Adjacency, check_adjacency
from prepriv.guarantees.families import gaussian
from prepriv.guarantees.gaussian import gdp_mu
from prepriv.guarantees.loss_distribution import compose
from prepriv.guarantees.printed import plain, up
from prepriv.guarantees.tradeoff import TradeoffFunction

SHOWN_DELTA = 1e-5  # where a guarantee is shown that no plan gives a delta


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
        return self.count / self.noise_multiplier**2 * CLOSE_UP


@dataclass(frozen=True, repr=False)
class Guarantee:
    """The guarantee for every byte that leaves a run: a trade-off function between stated neighbours, under stated conditions.

    Plans, models and reports have one. `Guarantee.of_gaussians` computes one from events.

    Parameters
    ----------
    tradeoff : TradeoffFunction
        A certified lower bound of the trade-off function between neighbouring data sets.
    adjacency : {"replace-one", "add-or-remove-one"}
        What neighbouring data sets are.
    conditions : tuple of str, default ()
        What must hold of the data, in words. Empty: the claim is unconditional.
    breakdown : tuple of (str, float), default ()
        The share of the budget, in mu squared, that each part takes, in order. nan if the whole has no mu.
    mu : float, optional
        The parameter of Gaussian differential privacy, if the claim is exactly that. None: the claim is another
        curve.
    notes : tuple of str, default ()
        What has to stay secret and what has to have run ("holds only ..."), and what makes the claim weak ("weak ...").
    unit : str, optional
        The column that says whose row it is, where neighbours differ in one unit with all its rows (docs/units.md).
        None: they differ in one record.

    Raises
    ------
    ValueError
        If `tradeoff` is not a trade-off function of `prepriv.guarantees`, or `adjacency` is neither of the two.

    References
    ----------
    Dong, Roth and Su, Gaussian Differential Privacy (2022). Proofs: docs/proofs/tradeoff.md, docs/proofs/composition.md.

    Examples
    --------
    >>> from prepriv import Guarantee
    >>> from prepriv.guarantees.guarantee import GaussianEvent
    >>> events = [GaussianEvent("mean", noise_multiplier=20.0), GaussianEvent("training", 8.0, count=16)]
    >>> made = Guarantee.of_gaussians(events, "replace-one")
    >>> round(made.epsilon(1e-5), 3), round(made.mu, 4)
    (2.004, 0.5025)
    >>> print(made)
    0.5025-GDP, replace-one; .epsilon(delta) gives its ε at a δ
    """

    tradeoff: TradeoffFunction
    adjacency: Adjacency
    conditions: tuple[str, ...] = ()
    breakdown: tuple[tuple[str, float], ...] = ()
    mu: float | None = None
    notes: tuple[str, ...] = field(default=())
    unit: str | None = None

    def __post_init__(self) -> None:
        instance("tradeoff", self.tradeoff, TradeoffFunction, "a trade-off function of prepriv.guarantees")
        check_adjacency(self.adjacency)

    def __repr__(self) -> str:
        from prepriv.guarantees.in_words import short

        return f"{type(self).__name__}({short(self, SHOWN_DELTA)})"

    def _repr_html_(self) -> str:
        from prepriv.guarantees.in_words import claim_in_html

        return claim_in_html(self, SHOWN_DELTA, type(self).__name__)

    @staticmethod
    def of_gaussians(
        events: Sequence[GaussianEvent],
        adjacency: Adjacency,
        conditions: Sequence[str] = (),
        unit: str | None = None,
    ) -> Guarantee:
        """Compose Gaussian mechanisms, chosen adaptively. The result is exactly GDP, without any loss by conversion.

        Parameters
        ----------
        events : sequence of GaussianEvent
            The mechanisms, with their noise over their sensitivity.
        adjacency : {"replace-one", "add-or-remove-one"}
            What neighbouring data sets are.
        conditions : sequence of str, default ()
            What must hold of the data, in words.
        unit : str, optional
            The column that says whose row it is. None: neighbours differ in one record.

        Returns
        -------
        Guarantee
            The guarantee, with mu and the share of each event.
        """
        total = sum(e.mu_squared for e in events)
        mu = math.sqrt(total) * CLOSE_UP
        shares = tuple((e.name, e.mu_squared / total) for e in events) if total > 0 else ()
        return Guarantee(gaussian(mu), adjacency, tuple(conditions), shares, mu, unit=unit)

    @property
    def neighbours(self) -> str:
        """What neighbouring data sets are, in words. Only guarantees between the same neighbours compose."""
        return self.adjacency + ("" if self.unit is None else f" of one unit, all rows of one `{self.unit}`")

    @property
    def weak(self) -> tuple[str, ...]:
        """The notes that say how little the claim, or the model, may be worth."""
        return tuple(note for note in self.notes if note.startswith("weak"))

    @property
    def premises(self) -> tuple[str, ...]:
        """The notes that the claim rests on: what has to stay secret, and what must have run. All of them begin with "holds only"."""
        return tuple(note for note in self.notes if note.startswith("holds only"))

    def epsilon(self, delta: float) -> float:
        """Give the smallest certified epsilon.

        Parameters
        ----------
        delta : float
            In [0, 1). At 0 the answer is that of pure differential privacy.

        Returns
        -------
        float
            The epsilon, rounded up. inf where none holds.

        Raises
        ------
        ValueError
            For a delta out of range, or too small for the curve to be computed there.
        """
        if delta == 0:
            return float(self.tradeoff._pure_epsilon())
        return float(self.tradeoff.epsilon(delta))

    def delta(self, epsilon: float) -> float:
        """Give the smallest certified delta.

        Parameters
        ----------
        epsilon : float
            Any finite number.

        Returns
        -------
        float
            The delta, in [0, 1], rounded up.
        """
        return float(self.tradeoff.delta(epsilon))

    def compose(self, *others: Guarantee) -> Guarantee:
        """Compose this guarantee with others, all of them fixed in advance.

        Parameters
        ----------
        *others : Guarantee
            Guarantees of releases about the same records, between the same neighbours.

        Returns
        -------
        Guarantee
            What holds for all of them together, with every condition and note.

        Raises
        ------
        ValueError
            For a guarantee under another adjacency or of another unit.

        Notes
        -----
        A mechanism may be chosen after seeing earlier outputs, as long as its guarantee is the one given here in
        every case. If the guarantee itself is chosen after seeing an output, the result is false: the whole can be
        worse than either choice. Proof: docs/proofs/composition.md.
        """
        from prepriv.guarantees.algebra import then

        return then((self, *others))

    def remaining(self, epsilon: float, delta: float) -> float:
        """Give the largest µ of a Gaussian release that may follow within a budget.

        Parameters
        ----------
        epsilon, delta : float
            The budget of this guarantee and of what follows, together.

        Returns
        -------
        float
            µ, rounded down by at most one part in a thousand. k releases of noise multiplier z spend µ = sqrt(k) / z.

        Raises
        ------
        ValueError
            If nothing is left.

        Notes
        -----
        Use it for planning. This guarantee and that µ must be fixed before anything is released (see `compose`).
        """
        whole = gdp_mu(epsilon, delta) * FAR_DOWN
        if self.mu is not None:
            left = whole**2 - self.mu**2
            if left > 1e-12 * whole**2:
                return math.sqrt(left) * FAR_DOWN
        elif self.epsilon(delta) < epsilon:
            low, high = 0.0, whole
            while high - low > 1e-3 * high and high > 1e-6 * whole:
                middle = (low + high) / 2
                spent = compose([(self.tradeoff, 1), (gaussian(middle), 1)]).symmetrized()
                low, high = (middle, high) if spent.epsilon(delta) <= epsilon else (low, middle)
            if low > 0:
                return low
        raise ValueError(
            f"nothing is left of ε = {epsilon:g} at δ = {delta:g}: {up(self.epsilon(delta), 4)} is spent"
        )

    def to_dp_event(self) -> Any:
        """The same as a GaussianDpEvent of dp-accounting.

        ValueError if the claim is another curve, or rests on conditions, a unit or premises, which an event cannot
        hold (`prepriv.guarantees.dp_events`).
        """
        from prepriv.guarantees.dp_events import to_dp_event

        return to_dp_event(self)

    @staticmethod
    def from_dp_event(event: Any, adjacency: Adjacency) -> Guarantee:
        """Make a guarantee from a DpEvent of dp-accounting.

        Parameters
        ----------
        event : DpEvent
            As `prepriv.guarantees.dp_events` reads it.
        adjacency : {"replace-one", "add-or-remove-one"}
            What neighbouring data sets are.

        Returns
        -------
        Guarantee
        """
        from prepriv.guarantees.dp_events import from_dp_event

        return from_dp_event(event, adjacency)

    def to_json(self, delta: float) -> dict[str, Any]:
        """Write it as plain data that is valid JSON. An infinite number becomes the text "inf".

        Parameters
        ----------
        delta : float
            The delta that the user chose, at which epsilon is computed.

        Returns
        -------
        dict
        """
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
        } | ({} if self.unit is None else {"unit": self.unit})

    def __str__(self) -> str:
        """What it states without a delta, and what gives its epsilon at one."""
        return f"{self.stated}; .epsilon(delta) gives its ε at a δ"

    @property
    def stated(self) -> str:
        """What it states without a delta."""
        parts = [f"{up(self.mu, 4)}-GDP" if self.mu is not None else "f-DP", self.neighbours]
        if self.conditions:
            parts.append("if " + " and ".join(self.conditions))
        return "; ".join([", ".join(parts), *self.premises, *self.weak])
