"""Structured worst cases: data sets that proofs and counter-examples are made of, with every size drawn.

Each maker returns rows (n, d), row 0 being the record, and what the record becomes, (d,). They need not lie
in the declared space: `inside` puts them there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from prepriv._arrays import Floats
from prepriv.audit.sensitivity_draws import Draws
from prepriv.space import Space

Hints = Mapping[str, float]
Maker = Callable[[Space, int, Draws, Hints], tuple[Floats, Floats]]


def inside(x: Floats, space: Space) -> Floats:
    """Rows pulled into the declared box and ball; missing cells count as the cell's nearest value to zero."""
    nearest = np.clip(0.0, space.low, space.high)
    gap = np.where(np.isnan(x), 0.0, np.clip(x, space.low, space.high) - nearest)
    outside = np.linalg.norm(nearest + gap, axis=-1, keepdims=True) > space.radius
    room = space.radius * (1 - 1e-15) - float(np.linalg.norm(nearest))
    shrink = np.where(outside, room / np.maximum(np.linalg.norm(gap, axis=-1, keepdims=True), 1e-300), 1.0)
    return np.asarray(np.where(np.isnan(x), np.nan, np.clip(nearest + gap * shrink, space.low, space.high)))


def corner(space: Space, draws: Draws) -> Floats:
    """A corner of the box, or a point on the ball along an axis or any direction."""
    if draws.chance(0.5):
        return np.where(draws.uniform(space.d) < 0.5, space.low, space.high)
    return draws.direction(space.d) * min(space.radius, 1e6)


def point(space: Space, draws: Draws) -> Floats:
    """A point of some kind: a corner, the middle, the origin, anywhere, or any part of the way to the sphere."""
    kind = draws.below(5)
    if kind == 0:
        return corner(space, draws)
    if kind == 1:
        return np.asarray((space.low + space.high) / 2)
    if kind == 2:
        return np.clip(np.zeros(space.d), space.low, space.high)
    if kind == 3:
        return draws.direction(space.d) * min(space.radius, 1e6) * float(draws.uniform(1)[0])
    return np.asarray(space.low + space.widths * draws.uniform(space.d))


def _scale(space: Space, draws: Draws, hints: Hints) -> float:
    if "scale" in hints:
        return hints["scale"]
    return draws.size(1e-3, 1.0) * float(space.widths.max()) / 4


def constant(space: Space, n: int, draws: Draws, hints: Hints) -> tuple[Floats, Floats]:
    """All rows in one place; the record somewhere else."""
    rows = np.tile(point(space, draws), (n, 1))
    rows[0] = point(space, draws)
    return rows, point(space, draws)


def cloud(space: Space, n: int, draws: Draws, hints: Hints) -> tuple[Floats, Floats]:
    """Rows spread around a point, normal or uniform, by any amount; records at corners."""
    spread = draws.size(1e-3, 2.0) * space.widths
    noise = draws.normal(n, space.d) if draws.chance(0.5) else draws.uniform(n, space.d) - 0.5
    rows = point(space, draws) + spread * noise
    rows[0] = corner(space, draws)
    return rows, corner(space, draws)


def levels(space: Space, n: int, draws: Draws, hints: Hints) -> tuple[Floats, Floats]:
    """Every cell at one of a few evenly spread values."""
    k = 2 + draws.below(4)
    cells = np.floor(draws.uniform(n + 1, space.d) * k) / (k - 1)
    rows = space.low + space.widths * np.minimum(cells, 1.0)
    return rows[:n], rows[n]


def edge_pair(space: Space, n: int, draws: Draws, hints: Hints) -> tuple[Floats, Floats]:
    """Rows at two nearby values by the edge of the box, the floor's deviation apart; the record leaps away.

    The worst case of standard scaling: the shift is then the same for every row.
    """
    spread = hints.get("spread", 0.1) * draws.pick((1.0, 1.1, draws.size(0.5, 2.0))) * space.widths
    rare = hints.get("spread", 0.1) ** 2  # that few rows at the other end make up all of the deviation
    share = draws.pick((0.5, rare, 0.05 + 0.9 * float(draws.uniform(1)[0])))
    up = np.zeros(n, dtype=bool)
    up[1 + np.argsort(draws.uniform(n - 1), kind="stable")[: round(share * (n - 1))]] = True
    side = np.where(draws.uniform(space.d) < 0.5, 1.0, -1.0)
    if draws.chance(0.5):
        side = np.ones(space.d)
    a, b = math.sqrt((1 - share) / share), math.sqrt(share / (1 - share))  # mean 0, deviation 1
    z = np.where(up[:, None], a, -b)
    start = np.where(side > 0, space.low + b * spread, space.high - b * spread)
    if draws.chance(0.3):
        start = np.clip(point(space, draws), space.low, space.high)
    if draws.chance(0.4):  # only one feature varies, but the record leaps in all
        z = z * (np.arange(space.d) == draws.below(space.d))
    rows = start + side * spread * z
    rows[0] = start
    far = np.where(side > 0, space.high, space.low)
    if n > 2 and draws.chance(0.3):  # a few common rows far out move furthest
        rows[1 : 2 + draws.below(1 + n // 100)] = far
    return rows, far


def symmetric_pair(space: Space, n: int, draws: Draws, hints: Hints) -> tuple[Floats, Floats]:
    """Rows at plus and minus a little about the midpoint: the worst case of scaling about a midpoint."""
    middle = (space.low + space.high) / 2
    spread = hints.get("spread", 0.1) * draws.size(0.5, 2.0) * space.widths
    sign = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)[:, None]
    rows = middle + sign * spread
    rows[0] = middle
    return rows, corner(space, draws)


def hub(space: Space, n: int, draws: Draws, hints: Hints) -> tuple[Floats, Floats]:
    """Tight clusters around one or two empty centres, a little under three radii away; there it lands.

    With eta the radius, five clusters 72 degrees apart at 2.9 to 2.99 eta are good clusters, all of which the
    record at the centre un-makes (docs/errata.md: 95 rows move where the paper allows 40).
    """
    eta = _scale(space, draws, hints)
    reach = draws.pick((0.5, 0.999, 1.0, 1.999, 2.0, 2.9, 2.99, 2.99, 2.999, 3.0, 3.999)) * eta
    spokes = 2 if space.d == 1 else draws.pick((5, 5, 5, 2, 3, 4, 6))
    hubs = draws.pick((1, 1, 2))
    middle = np.clip(np.zeros(space.d), space.low, space.high) if draws.chance(0.8) else point(space, draws)
    away = np.zeros(space.d)
    away[draws.below(space.d)] = 12 * eta
    centres = [middle, middle + away if np.all(middle + away <= space.high) else middle - away]
    tips = draws.pick(((0.0,), (0.0,), (0.0, 0.999, -0.999), (0.0, 0.9, -0.9, 0.999, -0.999)))
    places = []
    for c in centres[:hubs]:
        for s in range(spokes):
            out = np.zeros(space.d)
            angle = 2 * math.pi * s / spokes
            out[: min(2, space.d)] = [math.cos(angle), math.sin(angle)][: space.d]
            places += [c + (reach + tip * eta) * out for tip in tips]
    rows = np.array([places[i % len(places)] for i in range(n)])
    if draws.chance(0.3):
        rows = rows + 1e-9 * eta * draws.normal(n, space.d)
    rows[0] = centres[1] if hubs == 2 else corner(space, draws)
    return rows, centres[0]


def lens(space: Space, n: int, draws: Draws, hints: Hints) -> tuple[Floats, Floats]:
    """One cluster that two records, one radius away on opposite sides, pull into their own: ties and tips."""
    eta = _scale(space, draws, hints)
    x = np.clip(np.zeros(space.d), space.low, space.high) if draws.chance(0.5) else point(space, draws)
    u = draws.direction(space.d)
    v = draws.normal(space.d)
    v -= (v @ u) * u
    length = float(np.linalg.norm(v))
    v = v / length if length > 1e-9 else 0 * v
    high = draws.pick((0.0, 0.5, math.sqrt(3) / 2 * 0.9999)) * eta
    near = draws.pick((0.5, 0.999, 1.0)) * eta
    sign = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)[:, None]
    rows = x + sign * high * v
    rows[0] = x - near * u
    return rows, x + near * u


def tie(space: Space, n: int, draws: Draws, hints: Hints) -> tuple[Floats, Floats]:
    """All rows in one place part of the way to the sphere, the record a radius before it, then a radius past it.

    Both records are good centres: where the order of content prefers them, every row goes from one to the other,
    and what follows feels all of it (quantize, soft PCA, scale).
    """
    eta = 0.999 * _scale(space, draws, hints)
    out = draws.direction(space.d)
    x = out * min(space.radius, 1e6) * float(draws.uniform(1)[0]) * draws.pick((1.0, 0.5))
    along = out if draws.chance(0.7) else draws.direction(space.d)
    rows = np.tile(x, (n, 1))
    if draws.chance(0.3):  # of several clusters, this is the one that moves
        rows[1 + draws.below(n) :] = corner(space, draws)
    rows[0] = x - eta * along
    return rows, x + eta * along


def path(space: Space, n: int, draws: Draws, hints: Hints) -> tuple[Floats, Floats]:
    """Rows in a line, evenly apart: chains of near duplicates, and order statistics with even gaps."""
    step = _scale(space, draws, hints) * draws.pick((0.25, 0.5, 0.999, 1.0, 1.001, 2.0, 3.0))
    along = draws.direction(space.d)
    rows = point(space, draws) + step * along * np.arange(n)[:, None]
    if draws.chance(0.5):  # a line from corner to corner
        rows = space.low + space.widths * (np.arange(n)[:, None] / max(n - 1, 1))
    rows[0] = corner(space, draws)
    return rows, corner(space, draws)


def two_sides(space: Space, n: int, draws: Draws, hints: Hints) -> tuple[Floats, Floats]:
    """Half the rows at one end and half at the other, the record deciding: medians, and wide gaps."""
    low, high = point(space, draws), corner(space, draws)
    half = np.arange(n) % 2 == 0
    rows = np.where(half[:, None], low, high)
    rows[0] = low
    return rows, high


def leverage(space: Space, n: int, draws: Draws, hints: Hints) -> tuple[Floats, Floats]:
    """Most rows in the middle or at a corner; the last ones and the record out at the opposite one."""
    out = corner(space, draws)
    base = (space.low + space.high) / 2 if draws.chance(0.5) else space.low + space.high - out
    rows = np.tile(base, (n, 1))
    rows[n - math.ceil(hints.get("missing", 0.3) * n) :] = out
    opposite = space.low + space.high - out
    rows[0] = np.where(draws.uniform(space.d) < 0.5, out, opposite)
    if draws.chance(0.6):  # the record differs in one feature, the one to predict perhaps
        rows[0] = out
        return rows, np.where(np.arange(space.d) == draws.below(space.d), opposite, out)
    return rows, np.where(draws.uniform(space.d) < 0.5, out, opposite)


def one_cell(space: Space, n: int, draws: Draws, hints: Hints) -> tuple[Floats, Floats]:
    """Row i has feature i mod d alone, all at the same end; the record has every feature, or none."""
    have = (np.arange(n)[:, None] % space.d == np.arange(space.d)) | ~space.may_miss
    rows = np.where(have, space.low, np.nan)
    record = np.clip(np.full(space.d, space.radius / math.sqrt(space.d)), space.low, space.high)
    rows[0] = record
    return rows, np.where(space.may_miss, np.nan, record)


def axes(space: Space, n: int, draws: Draws, hints: Hints) -> tuple[Floats, Floats]:
    """Rows along the axes with weights drawn, two weights nearly equal: spectra with a small gap."""
    d = space.d
    weight = draws.uniform(d) ** draws.pick((1, 3))
    if d > 1 and draws.chance(0.7):
        i = draws.below(d - 1)
        weight[i + 1] = weight[i] * draws.size(0.5, 1.0)
    place = np.searchsorted(np.cumsum(weight) / weight.sum(), draws.uniform(n))
    rows = np.zeros((n, d))
    length = min(space.radius, 1e6) * draws.pick((1.0, 1.0, 0.5, 0.1))
    rows[np.arange(n), np.minimum(place, d - 1)] = length * np.where(draws.uniform(n) < 0.5, 1.0, -1.0)
    i, j = draws.below(d), draws.below(d)
    e, f = np.zeros(d), np.zeros(d)
    e[i], f[j] = 1.0, 1.0 if draws.chance(0.5) else -1.0
    rows[0] = (e + f) * space.radius / max(float(np.linalg.norm(e + f)), 1e-9)
    return rows, (e - f) * space.radius / max(float(np.linalg.norm(e - f)), 1e-9)


MAKERS: tuple[Maker, ...] = (
    hub,
    edge_pair,
    constant,
    cloud,
    levels,
    tie,
    symmetric_pair,
    hub,
    lens,
    path,
    two_sides,
    leverage,
    one_cell,
    axes,
    tie,
)
