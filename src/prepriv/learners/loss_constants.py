"""How far one record's gradient moves with the record: constants as functions of the reach κ = B·R.

Logistic and softmax have no closed form; their suprema over one and two variables are bounded from above
by branch and bound, so what is returned is never below the supremum. Proofs: docs/proofs/losses.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from prepriv._arrays import Floats

Boxes = Callable[[Floats, Floats], Floats]


def certified_supremum(
    upper: Boxes, low: list[float], high: list[float], tolerance: float = 3e-4, rounds: int = 60
) -> float:
    """An upper bound of sup f over a box, at most about ``tolerance`` (relative) above it.

    ``upper(a, b)`` takes corners of boxes, two (m, d) arrays, and returns (m,) upper bounds of f on them;
    with a = b it must return f itself, or −inf for a point that is not feasible. Splits the boxes whose
    bound is still above the best value seen; stopping early, after ``rounds``, costs tightness alone.
    """
    a, b = np.array([low], dtype=np.float64), np.array([high], dtype=np.float64)
    best = settled = -math.inf
    for step in range(rounds):
        bounds = upper(a, b)
        best = max(best, float(np.max(upper((a + b) / 2, (a + b) / 2), initial=-math.inf)))
        unsettled = bounds > best + tolerance * abs(best)
        settled = max(settled, float(np.max(bounds[~unsettled], initial=-math.inf)))
        if not unsettled.any():
            return settled
        a, b, bounds = a[unsettled], b[unsettled], bounds[unsettled]
        if len(a) > 100_000 or step == rounds - 1:
            break
        # Halve each box along its longest side: the two halves share all other corners.
        rows, side = np.arange(len(a)), np.argmax(b - a, axis=1)
        middle = (a[rows, side] + b[rows, side]) / 2
        left_b, right_a = b.copy(), a.copy()
        left_b[rows, side] = right_a[rows, side] = middle
        a, b = np.concatenate([a, right_a]), np.concatenate([left_b, b])
    return max(settled, float(np.max(bounds, initial=-math.inf)))


def direction_bound(curvature: float, reach: float, drift: float) -> float:
    """½(jκ + √(j²κ² + 4q)): Lemma 1 for ‖J‖ ≤ j and r·(r + J s) ≤ q, q ≥ 0."""
    slope = curvature * reach
    return 0.5 * (slope + math.sqrt(slope * slope + 4.0 * drift))


@lru_cache(maxsize=256)
def logistic_input_lipschitz(reach: float) -> float:
    """Supremum over the margin −t of ½p(qκ + √(q²κ² + 4 + 4qt)), p = σ(t), q = σ(−t), 0 ≤ t ≤ κ."""
    if math.isinf(reach):
        return math.inf

    def upper(a: Floats, b: Floats) -> Floats:
        t, t_high = a[:, 0], b[:, 0]
        p, q = 1 / (1 + np.exp(-t_high)), np.exp(-t) / (1 + np.exp(-t))
        # tσ(−t) < 0.2785 everywhere.
        twist = np.minimum(q * t_high, 0.2785)
        slope = q * reach
        return np.asarray(0.5 * p * (slope + np.sqrt(slope * slope + 4 + 4 * twist)))

    return certified_supremum(upper, [0.0], [reach])


def softmax_residual_norm(reach: float) -> float:
    """Largest ‖p − e_y‖ over scores of norm at most κ and any number of classes; below √2."""
    gap = math.sqrt(2.0) * reach
    if gap >= math.log(3.0):
        return math.sqrt(2.0) / (1.0 + math.exp(-gap))
    if gap == 0.0:
        return 1.0
    # max over β of (1 − βc)(1 + β(1 − c)), c = exp(−gap): concave in β.
    c = math.exp(-gap)
    beta = min(max((1 - 2 * c) / (2 * c * (1 - c)), 0.0), 1 / (1 + c))
    return math.sqrt((1 - beta * c) * (1 + beta * (1 - c)))


def softmax_cell(a: Floats, b: Floats, gap: float) -> tuple[Floats, Floats]:
    """Lemmas 2 and 3 on boxes of (p1, x), p2 = x·p1: bounds of ‖J‖ and of r·(r + J s), (m,) each.

    a, b: (m, 2) low and high corners. gap: largest difference of two scores.
    """
    p, x, p_high, x_high = a[:, 0], a[:, 1], b[:, 0], b[:, 1]
    rest = np.maximum(1 - p * (1 + x), 0.0)
    # ‖J‖ ≤ p1(1 − p1 + p2) = p1 − p1²(1 − x): concave in p1, increasing in x.
    lean = 1 - x_high
    top = np.clip(0.5 / np.maximum(lean, 1e-9), p, p_high)
    curvature = top - top * top * lean
    # Σp² ≤ p1² + p2(1 − p1) = p1x + p1²(1 − x), increasing in both; −x log x peaks at 1/e.
    square = p_high * x_high + p_high * p_high * lean
    peak = np.clip(math.exp(-1), x, x_high)
    entropy = -peak * np.log(np.maximum(peak, 1e-300))
    return curvature, 1.044 + square * (1 + rest * gap) + p_high**3 * entropy * (1 - x)


@lru_cache(maxsize=256)
def softmax_input_lipschitz(reach: float) -> float:
    """Upper bound for any number of classes, from the two largest probabilities p1 and p2 = x·p1."""
    if math.isinf(reach):
        return math.inf

    def upper(a: Floats, b: Floats) -> Floats:
        curvature, drift = softmax_cell(a, b, math.sqrt(2.0) * reach)
        slope = curvature * reach
        bound = 0.5 * (slope + np.sqrt(slope * slope + 4 * drift))
        return np.asarray(np.where(a[:, 0] * (1 + a[:, 1]) <= 1, bound, -np.inf))

    simple = 0.5 * reach + softmax_residual_norm(reach)
    return min(simple, certified_supremum(upper, [0.0, 0.0], [1.0, 1.0]))
