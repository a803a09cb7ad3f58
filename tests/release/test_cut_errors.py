"""How much better than the mean a single number can be by cut errors: docs/proofs/evaluation.md, "A single number"."""

from __future__ import annotations

import numpy as np
import pytest

from prepriv.release.cut_errors import single_number


def reached(y, w, bound, at):
    """(cut error of the number at, R² beside it of the best number)."""

    def error(c):
        return float(np.minimum((y - c) ** 2, bound**2) @ w)

    best = min(map(error, np.concatenate([y, np.linspace(y.min(), y.max(), 300)])))
    return error(at) ** 0.5, 1 - best / error(at)


def laws(rng, count):
    """Laws of two to four targets in [0, 1], often with a rare one at an end."""
    for _ in range(count):
        y = np.sort(rng.random(rng.integers(2, 5)))
        y[-1] = 1.0 if rng.random() < 0.6 else y[-1]
        y[0] = 0.0 if rng.random() < 0.3 else y[0]
        y = 1 - y if rng.random() < 0.5 else y
        yield (
            y,
            rng.dirichlet(np.full(len(y), rng.choice([0.2, 1.0]))),
            rng.choice([0.02, 0.05, 0.1, 0.25, 0.5]),
        )


@pytest.mark.parametrize("off", [0.0, 0.03])
def test_no_single_number_exceeds_it_and_one_attains_it(rng, off):
    nearest = 0.0
    for y, w, bound in laws(rng, 3000):
        at = float(np.clip(y @ w + off * rng.uniform(-1, 1), 0, 1))
        error, r2 = reached(y, w, bound, at)
        if error < 1e-6:
            continue
        most = single_number(error, bound, (at, off), (0.0, 1.0))
        assert r2 <= most + 1e-9
        nearest = max(nearest, r2 / most if r2 > 0.05 else 0.0)
    assert nearest > (0.999 if off == 0.0 else 0.9)


def test_errors_that_are_not_cut_leave_nothing_to_a_single_number():
    assert single_number(0.1, 1.0, (0.5, 0.0), (0.0, 1.0)) < 0.02  # a distance of 1 is never cut
    assert single_number(0.0, 0.25, (0.5, 0.0), (0.0, 1.0)) == 1.0
    known, roughly = (single_number(0.2, 0.25, (0.2, off), (0.0, 1.0)) for off in (0.0, 0.1))
    assert known < roughly
