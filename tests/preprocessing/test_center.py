"""Centring by budget and by public data."""

from __future__ import annotations

import numpy as np
import pytest
from neighbouring import Summing

from prepriv.domain import Domain
from prepriv.payment import Budget, Public
from prepriv.preprocessing import Center, ShrunkCenter
from prepriv.preprocessing.base import RowShift
from prepriv.space import Space


def exact(rows, *, dim, radius):
    return sum(b.sum(axis=0) for b in rows)


def test_both_ways_subtract_the_mean(rng):
    x = rng.random((500, 3))
    space = Domain.box(0, 1, 3, [0, 1]).space
    blocks = [x[:100], x[100:]]
    by_budget = Center(payment=Budget(0.1)).fit_budget(blocks, space, 500, Summing(exact))
    by_public = Center(payment=Public(x)).fit_public(blocks, space, 500)
    for fitted in (by_budget, by_public):
        assert np.allclose(fitted.transform(x).mean(axis=0), 0)


def test_a_wild_noisy_mean_is_pulled_back_into_the_declared_space(rng):
    space = Domain.box(0, 1, 3, [0, 1]).space
    step = Center(payment=Budget(0.1))
    after = step.output(space)
    for size in (1e3, 1e9):
        fitted = step.fit_budget(
            [], space, 1, Summing(lambda rows, *, dim, radius, s=size: rng.standard_normal(dim) * s)
        )
        rows = fitted.transform(rng.random((100, 3)))
        assert np.linalg.norm(rows, axis=1).max() <= after.radius * (1 + 1e-12)
        assert (rows >= after.low).all() and (rows <= after.high).all()


def test_divides_by_the_declared_n():
    space = Space.ball(2, 1.0)
    fitted = Center(payment=Budget(0.1)).fit_budget([np.full((5, 2), 0.5)], space, 10, Summing(exact))
    assert fitted.offset.tolist() == [0.25, 0.25]


@pytest.mark.parametrize("kind", [Center, ShrunkCenter])
def test_a_gap_counts_as_the_midpoint_and_the_rest_of_its_row_as_it_is(kind):
    """A row with a gap was a row of zeros: with half of them, all columns had half of their mean."""
    nan = float("nan")
    x = np.array([[0.9, 0.8, 1.0], [0.7, nan, 1.0], [0.5, 0.8, nan], [0.3, nan, nan]])
    space = Space(np.zeros(3), np.ones(3), 3**0.5, np.array([False, True, True]))
    fitted = kind(payment=Budget(0.1)).fit_budget([x[:3], x[3:]], space, 4, Summing(exact))
    assert fitted.offset == pytest.approx([0.6, 0.65, 0.75])


@pytest.mark.parametrize("kind", [Center, ShrunkCenter])
def test_the_sum_of_rows_with_gaps_moves_by_no_more_than_declared(kind, rng):
    """Away from the origin, so that the gap is neither zero nor an end of its bounds."""
    seen = []

    def look(rows, *, dim, radius):
        seen.append(np.vstack(list(rows))[0])
        return seen[-1]

    low, high = np.array([0.9, -0.4, 1.0]), np.array([1.9, 0.6, 1.5])
    x = np.where(rng.random((60, 3)) < 0.5, low, high)
    x[:, 1:][rng.random((60, 2)) < 0.4] = np.nan
    space = Space(low, high, float(np.linalg.norm(high)), np.array([False, True, True]))
    step = kind(payment=Budget(0.1))
    for row in x:
        step.fit_budget([row[None]], space, 1, Summing(look))
    apart = max(np.linalg.norm(a - b) for a in seen for b in seen)
    assert apart <= step.l2_sensitivity(space, "replace-one", RowShift())
    assert max(np.linalg.norm(a) for a in seen) <= step.l2_sensitivity(space, "add-or-remove-one", RowShift())


def test_radius_after_centring_is_attained():
    space = Space.ball(1, 1.0)
    fitted = Center(payment=Budget(0.1)).fit_budget([np.array([[1.0]])], space, 1, Summing(exact))
    assert abs(fitted.transform(np.array([[-1.0]]))[0, 0]) == pytest.approx(
        Center(payment=Budget(0.1)).output(space).radius
    )


@pytest.mark.parametrize("signal", [0.0, 0.3, 3.0])
def test_a_mean_that_noise_outweighs_is_drawn_to_zero_and_is_nearer_in_the_mean(signal):
    """Against the mean as released, in 2000 draws; James and Stein: never further in the mean square."""
    rng, d, sd = np.random.default_rng(0), 50, 0.01
    space, true = Space.ball(d, 1.0), np.full(d, signal * 0.01)
    errors = {Center: 0.0, ShrunkCenter: 0.0}
    for _ in range(2000):
        noisy = true + rng.normal(0, sd, d)
        said = Summing(
            lambda rows, *, dim, radius, v=noisy: 100 * v, noise_multiplier=0.5, l2_sensitivity=2.0
        )
        for kind in errors:
            offset = kind(payment=Budget(0.1)).fit_budget([], space, 100, said).offset
            errors[kind] += np.sum((offset - true) ** 2) / 2000
    expected = d * sd**2
    assert errors[Center] == pytest.approx(expected, rel=0.05)
    assert errors[ShrunkCenter] < {0.0: 0.05, 0.3: 0.2, 3.0: 0.97}[signal] * expected
