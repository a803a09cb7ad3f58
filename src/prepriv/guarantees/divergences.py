"""F-divergences read off a trade-off function (Proposition 3.3 of Unified Enhancement of Privacy Bounds, with its boundary terms).

For f = T(P, Q), a piece of f with slope -e^s over a width p is an atom with P-mass p and Q-mass
e^s p. A lower bound of f gives an upper bound of the divergence. Where f reaches 0 before alpha = 1,
P has mass on which Q has none: KL, Renyi and chi-square of P from Q are infinite, and said to be so.
Proof: docs/proofs/tradeoff.md.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

from prepriv.guarantees.lines import ULP, SupportLines


def renyi_of_lines(lines: SupportLines, order: float, floor: float | None = None) -> float:
    """Upper bound of the Renyi divergence D_order(P || Q) of the envelope of `lines`; order 1 is KL.

    floor: a number below which log(dQ/dP) is known not to fall (minus a pure epsilon of T(Q, P));
    P-mass that the lines leave undecided is put there. Without it that mass makes the answer inf.
    """
    knots = np.minimum(lines.knots * (1.0 + 16.0 * ULP), 1.0)
    widths = knots - np.append(knots[1:], 0.0)
    losses = lines.slopes
    missing = 1.0 - float(knots[0])
    if missing > 0.0:
        if floor is None:
            return math.inf
        widths, losses = np.append(widths, missing), np.append(losses, floor)
    inside = widths > 0.0
    widths, losses = widths[inside], losses[inside]
    if order == 1.0:
        size = float(np.sum(widths * np.abs(losses)))
        return max(0.0, -float(np.sum(widths * losses)) + 1e-13 * (size + 1e-3))
    log_moment = float(logsumexp(np.log(widths) - (order - 1.0) * losses))
    slack = 1e-13 * (1.0 + order * float(np.max(np.abs(losses))))
    return max(0.0, (log_moment + slack) / (order - 1.0))
