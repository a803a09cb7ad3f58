"""An attack on the words of a third-party loss: its residual, at random rows and weights, against the constants that it states."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from prepriv._kinds import is_ours
from prepriv.audit.sensitivity_draws import Draws
from prepriv.guarantees.printed import down

_PAIRS, _WIDTH, _FAR = 4000, 4, 100.0  # of rows; their columns; weights where nothing bounds them


def loss_lies(learner: Any, radius: float, classes: int, seed: int) -> Iterator[str]:
    """What beats `gradient_norm` or `input_lipschitz` of the learner's loss, if it is third-party and of classes (docs/proofs/losses.md)."""
    loss = getattr(learner, "loss", None)
    if loss is None or is_ours(type(loss)) or classes < 2:
        return
    norm, bound, draws = learner.row_norm(radius), learner.weight_bound, Draws(seed)
    k, far = loss.outputs(classes), min(bound, _FAR / learner.row_norm(radius))
    size, slope = loss.gradient_norm(norm, bound), loss.input_lipschitz(norm, bound)
    longest = steepest = 0.0
    for turn in range(_PAIRS):
        weights = draws.normal(_WIDTH, k)
        weights *= far * (1.0 if turn % 2 else float(draws.uniform(1)[0])) / np.linalg.norm(weights)
        one = draws.normal(_WIDTH)
        one *= norm * float(draws.uniform(1)[0]) / np.linalg.norm(one)
        if turn % 3 == 0:  # a score near 0, where a residual is steep
            one = one - weights[:, 0] * (one @ weights[:, 0]) / (weights[:, 0] @ weights[:, 0])
        along = weights[:, 0] if turn % 4 < 2 else draws.normal(_WIDTH)
        two = one + 10.0 ** (-1 - turn % 3) * norm * along / np.linalg.norm(along)
        two *= min(1.0, norm / np.linalg.norm(two))
        rows = np.array([one, two])
        residual = loss.residual(rows @ weights, np.full(2, draws.below(classes)))
        made = residual[:, :, None] * rows[:, None, :]
        longest = max(longest, *np.linalg.norm(made.reshape(2, -1), axis=1))
        steepest = max(steepest, float(np.linalg.norm(made[0] - made[1]) / np.linalg.norm(one - two)))
    for name, found, said in (("gradient_norm", longest, size), ("input_lipschitz", steepest, slope)):
        if math.isfinite(said) and found > said * (1 + 1e-6):
            yield f"of the loss {type(loss).__name__}: {name} declared {said:.6g}, found {down(found, 4)}"
