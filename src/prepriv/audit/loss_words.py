"""An attack on the words of a third-party loss: its residual, at random rows and weights, against the constants that it states."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from prepriv._arrays import Floats
from prepriv._kinds import is_ours
from prepriv.audit.sensitivity_draws import Draws
from prepriv.domain import TARGET_STEPS
from prepriv.guarantees.printed import down

_PAIRS, _WIDTH, _FAR = 4000, 4, 100.0  # of rows; their columns; weights where nothing bounds them


def loss_lies(learner: Any, radius: float, classes: int, seed: int) -> Iterator[str]:
    """What beats `gradient_norm`, `input_lipschitz` or `smoothness` of the learner's loss, if it is third-party (docs/proofs/losses.md).

    classes: 0 for a target.
    """
    loss = getattr(learner, "loss", None)
    if loss is None or is_ours(type(loss)):
        return
    norm, bound, draws = learner.row_norm(radius), learner.weight_bound, Draws(seed)
    said = {
        "gradient_norm": loss.gradient_norm(norm, bound),
        "input_lipschitz": loss.input_lipschitz(norm, bound),
        "smoothness": loss.smoothness(norm),
    }
    found = dict.fromkeys(said, 0.0)
    far, k = min(bound, _FAR / norm), loss.outputs(classes)
    for turn in range(_PAIRS):
        weights = draws.normal(_WIDTH, k)
        weights *= far * (1.0 if turn % 2 else float(draws.uniform(1)[0])) / np.linalg.norm(weights)
        rows = _near(draws, turn, norm, weights[:, 0])
        targets = np.full(2, draws.below(classes or TARGET_STEPS + 1))
        one, two = _gradients(loss, rows @ weights, targets, rows)
        other = weights + 10.0 ** (-1 - turn % 3) * far * draws.normal(_WIDTH, k) / _WIDTH
        turned = _gradients(loss, rows @ other, targets, rows)[0]
        for name, size in (
            ("gradient_norm", max(np.linalg.norm(one), np.linalg.norm(two))),
            ("input_lipschitz", np.linalg.norm(one - two) / np.linalg.norm(rows[0] - rows[1])),
            ("smoothness", np.linalg.norm(one - turned) / np.linalg.norm(weights - other)),
        ):
            found[name] = max(found[name], float(size))
    for name, limit in said.items():
        if math.isfinite(limit) and found[name] > limit * (1 + 1e-6):
            yield f"of the loss {type(loss).__name__}: {name} declared {limit:.6g}, found {down(found[name], 4)}"


def _near(draws: Draws, turn: int, norm: float, along: Floats) -> Floats:
    """Two rows, (2, d), that are close to each other."""
    one = draws.normal(_WIDTH)
    one *= norm * float(draws.uniform(1)[0]) / np.linalg.norm(one)
    if turn % 3 == 0:  # a score near 0, where a residual is steep
        one = one - along * (one @ along) / (along @ along)
    along = along if turn % 4 < 2 else draws.normal(_WIDTH)
    two: Floats = one + 10.0 ** (-1 - turn % 3) * norm * along / np.linalg.norm(along)
    return np.array([one, two * min(1.0, norm / float(np.linalg.norm(two)))])


def _gradients(loss: Any, scores: Floats, targets: Any, rows: Floats) -> Floats:
    """Of each record, (2, outputs, d)."""
    return np.asarray(np.array(loss.residual(scores, targets))[:, :, None] * rows[:, None, :])
