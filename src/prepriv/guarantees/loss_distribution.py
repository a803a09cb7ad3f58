"""Composition through privacy loss distributions, and the bridge to dp-accounting.

Composing f with g means adding independent privacy losses. Gaussian parts compose in closed form;
anything else goes through `convolution`. Proof: docs/proofs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from prepriv._arguments import instance, integer, number, shown
from prepriv._arrays import Floats
from prepriv.guarantees.convolution import composed_deltas, discretize
from prepriv.guarantees.families import ApproximateDP, Gaussian
from prepriv.guarantees.lines import ULP, LossAtoms, SupportLines, adaptive_lines, support_lines
from prepriv.guarantees.tradeoff import TradeoffFunction

SMALLEST_DELTA = 1e-12  # below it a composed answer is refused
STEPS_PER_DEVIATION = 400  # grid points to one standard deviation of a typical part's loss
LARGEST_GRID = 2**22

Part = tuple[TradeoffFunction, int]


def compose(parts: Sequence[Part], *, interval: float | None = None) -> TradeoffFunction:
    """Compose mechanisms, each of them adaptive.

    Parameters
    ----------
    parts : sequence of (TradeoffFunction, int)
        The mechanisms, each with its number of uses.
    interval : float, optional
        Width of the loss grid, 1e-12 to 100. A finer grid gives a smaller epsilon and takes longer. None: 1/400 of the
        typical spread of a part's loss (wider where the grid would pass 4 million points).

    Returns
    -------
    TradeoffFunction

    Raises
    ------
    ValueError
        For an argument out of range.

    Notes
    -----
    Proof: docs/proofs/composition.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> f = g.compose([(g.laplace(0.1), 10), (g.gaussian(0.2), 1)])
    >>> 0.8 < f.epsilon(1e-5) < 1.9
    True
    """
    if interval is not None:
        interval = number("interval", interval, at_least=1e-12, at_most=100.0)
    instance("parts", parts, Sequence, "a list of pairs (trade-off function, number of uses)")
    for part in parts:
        if not (isinstance(part, tuple | list) and len(part) == 2 and isinstance(part[0], TradeoffFunction)):
            raise ValueError(f"parts must be pairs (trade-off function, number of uses); got {shown(part)}")
    flat: list[Part] = []
    square = 0.0
    for function, count in parts:
        times = integer("k", count)
        inner = function.parts if isinstance(function, Composition) else ((function, 1),)
        for base, uses in inner:
            if isinstance(base, Gaussian):
                square += times * uses * base.mu * base.mu * (1.0 + 4.0 * ULP)
            else:
                flat.append((base, times * uses))
    merged: list[Part] = []
    for base, uses in flat:
        known = next((i for i, (other, _) in enumerate(merged) if other is base or other == base), None)
        if known is None:
            merged.append((base, uses))
        else:
            merged[known] = (base, merged[known][1] + uses)
    if square > 0.0 or not merged:
        merged.append((Gaussian(math.sqrt(square) * (1.0 + 4.0 * ULP)), 1))
    if len(merged) == 1 and merged[0][1] == 1:
        return merged[0][0]
    return Composition(tuple(merged), interval)


@dataclass(frozen=True, eq=False)
class Composition(TradeoffFunction):
    """Parts used one after another, each possibly chosen after seeing what came before."""

    parts: tuple[Part, ...]
    interval: float | None = field(default=None)

    def _delta(self, epsilon: Floats) -> Floats:
        if self._told is not None:
            chance, rest = self._told
            return _or_told(chance, rest._delta(epsilon))
        return np.where(epsilon >= self._pure_epsilon(), 0.0, self._curve.delta(epsilon))

    @cached_property
    def _told(self) -> tuple[float, TradeoffFunction] | None:
        """Where one part is used once and all others are (0, delta): the chance that one of those tells all, and that part."""
        told = [(base.delta0, uses) for base, uses in self.parts if _is_all_or_nothing(base)]
        rest = [(base, uses) for base, uses in self.parts if not _is_all_or_nothing(base)]
        if len(rest) != 1 or rest[0][1] != 1:
            return None
        missed = math.fsum(uses * math.log1p(-chance) for chance, uses in told)
        return -math.expm1(missed) * (1.0 + 8.0 * ULP), rest[0][0]

    def inverse(self) -> Composition:
        """T(Q, P)."""
        if all(base.symmetric for base, _ in self.parts):
            return self
        return self._inverse

    @cached_property
    def _inverse(self) -> Composition:
        return Composition(tuple((base.inverse(), uses) for base, uses in self.parts), self.interval)

    def _pure_epsilon(self) -> float:
        return math.fsum(uses * base._pure_epsilon() for base, uses in self.parts) * (1.0 + 2.0 * ULP)

    def _epsilon(self, delta: float) -> float:
        if delta < SMALLEST_DELTA:
            raise ValueError(
                f"delta must be at least {SMALLEST_DELTA:g} after composition (it is computed in floating "
                f"point); got {delta!r}"
            )
        return super()._epsilon(delta)

    def _renyi(self, order: float) -> float:
        return math.fsum(uses * base._renyi(order) for base, uses in self.parts) * (1.0 + 2.0 * ULP)

    @cached_property
    def _curve(self) -> SupportLines:
        atoms = [(loss_atoms(base), uses) for base, uses in self.parts]
        width = self.interval if self.interval is not None else _interval(atoms)
        grids = [discretize(law, width, LARGEST_GRID) for law, _ in atoms]
        epsilons, deltas = composed_deltas(grids, [uses for _, uses in atoms])
        return SupportLines(epsilons, deltas)

    @cached_property
    def _lines(self) -> SupportLines:
        if self._told is not None:
            chance, rest = self._told
            lines = rest.lines()
            return support_lines(lines.slopes, _or_told(chance, lines.deltas))

        def delta(epsilon: Floats) -> Floats:
            return self._signed_delta(epsilon)

        high = float(self._curve.slopes[-1])
        low = -min(float(self.inverse()._curve.slopes[-1]), 36.0)
        scale = max(float(self._delta(np.zeros(1))[0]), 1e-12)
        return adaptive_lines(delta, low, min(high, 600.0), tolerance=4e-6 * scale, budget=self.line_budget)


def _is_all_or_nothing(function: TradeoffFunction) -> TypeGuard[ApproximateDP]:
    return isinstance(function, ApproximateDP) and function.epsilon0 == 0.0


def _or_told(chance: float, deltas: Floats) -> Floats:
    """What deltas become if all is told with a chance, rounded up (docs/proofs/composition.md, 8)."""
    return np.minimum((chance + (1.0 - chance) * deltas) * (1.0 + 4.0 * ULP), 1.0)


def loss_atoms(function: TradeoffFunction) -> LossAtoms:
    """Atoms of log(dQ/dP) under Q for a pair at least as far apart as f says."""
    law = function._loss_atoms()
    if law is not None:
        return law
    coarse = function.lines()  # dense where f is curved; the tails of a composition want even spacing
    even = np.linspace(float(coarse.slopes[0]), float(coarse.slopes[-1]), 2 * function.line_budget + 1)
    slopes = np.union1d(even, coarse.slopes[[0, -1]])
    return support_lines(slopes, function._signed_delta(slopes)).atoms()


def _interval(atoms: Sequence[tuple[LossAtoms, int]]) -> float:
    variance, uses, bound, widest = 0.0, 0, 0.0, 0.0
    for law, count in atoms:
        mass = math.fsum(law.masses)
        mean = float(law.masses @ law.losses) / max(mass, 1e-300)
        variance += count * float(law.masses @ (law.losses - mean) ** 2) / max(mass, 1e-300)
        uses += count
        top = float(np.max(np.abs(law.losses), initial=0.0))
        bound = max(bound, top)
        widest = max(widest, float(np.ptp(law.losses)))
    typical = math.sqrt(variance / uses)
    if typical == 0.0:
        return max(bound, 1.0) / STEPS_PER_DEVIATION
    width = max(
        typical / STEPS_PER_DEVIATION, 40.0 * math.sqrt(variance) / LARGEST_GRID, widest / LARGEST_GRID
    )
    return bound / math.ceil(bound / width)  # the extreme losses of bounded parts then lie on the grid


# ---- dp-accounting ------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class LossDistribution(TradeoffFunction):
    """T(P, Q) known through the atoms of its privacy loss in both orders."""

    forward: LossAtoms
    backward: LossAtoms = field(repr=False)

    @cached_property
    def _sorted(self) -> tuple[Floats, Floats, Floats]:
        order = np.argsort(self.forward.losses)
        losses, masses = self.forward.losses[order], self.forward.masses[order]
        tail = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
        return losses, masses, tail

    def _delta(self, epsilon: Floats) -> Floats:
        losses, masses, _ = self._sorted
        flat = np.atleast_1d(epsilon).ravel()
        value = np.array([float(masses @ -np.expm1(np.minimum(e - losses, 0.0))) for e in flat])
        value = value * (1.0 + 4.0 * ULP * (len(masses) + 4.0)) + self.forward.infinite_mass
        return np.minimum(value, 1.0).reshape(np.shape(epsilon))

    def inverse(self) -> TradeoffFunction:
        """T(Q, P)."""
        return self if self.backward is self.forward else LossDistribution(self.backward, self.forward)

    def _loss_atoms(self) -> LossAtoms:
        return self.forward


def from_dp_accounting(distribution: Any) -> LossDistribution:
    """Read a PrivacyLossDistribution of dp_accounting (pessimistic estimates only).

    Parameters
    ----------
    distribution : PrivacyLossDistribution
        The distribution. Its "remove" order becomes delta of f, and its "add" order becomes delta of the inverse.

    Returns
    -------
    LossDistribution
        For a claim about both orders, take `.symmetrized()` of it.

    Raises
    ------
    ValueError
        For another object, or an optimistic estimate.

    Examples
    --------
    >>> from dp_accounting.pld import privacy_loss_distribution as pld
    >>> from prepriv import guarantees as g
    >>> f = g.from_dp_accounting(pld.from_gaussian_mechanism(2.0, value_discretization_interval=0.01))
    >>> 1.8 < f.epsilon(1e-5) < 2.3
    True
    """
    pmfs = [distribution._pmf_remove.to_dense_pmf()]
    if not distribution._symmetric:
        pmfs.append(distribution._pmf_add.to_dense_pmf())
    atoms = []
    for pmf in pmfs:
        if not pmf._pessimistic_estimate:
            raise ValueError("distribution must be a pessimistic estimate; got an optimistic one")
        losses = (np.arange(pmf.size) + pmf._lower_loss) * pmf._discretization
        masses = np.maximum(np.asarray(pmf._probs, dtype=np.float64), 0.0)
        atoms.append(LossAtoms(losses, masses, min(1.0, float(pmf._infinity_mass))))
    return LossDistribution(atoms[0], atoms[-1])


def to_dp_accounting(function: TradeoffFunction, interval: float = 1e-4) -> Any:
    """Make a PrivacyLossDistribution of dp_accounting that is at least as pessimistic.

    Parameters
    ----------
    function : TradeoffFunction
        The claim that is converted.
    interval : float, default 1e-4
        The width of its grid of losses.

    Returns
    -------
    PrivacyLossDistribution

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> g.to_dp_accounting(g.gaussian(0.5), 0.01).get_epsilon_for_delta(1e-5) >= 1.9
    True
    """
    from dp_accounting.pld.pld_pmf import DensePLDPmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    width = number("interval", interval, above=0.0)
    orders = [function] if function.symmetric else [function, function.inverse()]
    pmfs = []
    for one in orders:
        grid = discretize(loss_atoms(one), width, LARGEST_GRID)
        pmfs.append(DensePLDPmf(width, grid.first, grid.masses, grid.infinite_mass, True))
    return PrivacyLossDistribution(*pmfs)
