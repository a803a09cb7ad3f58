"""Roots column by column: the declared space, no cliff in what is declared, the same bits in any block."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from prepriv import Budget, Categorical, Domain, Model, Numeric, PrivateClassifier
from prepriv import preprocessing as pre
from prepriv.preprocessing.root_columns import STRAIGHT, RootColumns
from prepriv.space import Space

MIXED = Domain(
    {
        "a": Numeric(0, 10),
        "b": Numeric(3, 10),
        "c": Numeric(-4, 10),
        "d": Numeric(-10, 10),
        "e": Categorical(("x", "y")),
    },
    (0, 1),
)


def images(column, at):
    """Where declared values `at` of a column end up, after encoding and its root."""
    domain = Domain({"a": column}, (0, 1))
    u = (np.asarray(at, dtype=float) - column.low) / (column.high - column.low)
    return RootColumns.of(domain).free(domain.space).transform(u[:, None])[:, 0]


def test_a_column_from_zero_gets_its_root_and_one_about_zero_stays():
    np.testing.assert_allclose(images(Numeric(0, 100), [0, 1, 25, 100]), [0, 0.1, 0.5, 1])
    np.testing.assert_allclose(images(Numeric(-7, 7), [-7, 0, 7]), [0, 0.5, 1], atol=1e-8)
    np.testing.assert_allclose(images(Numeric(-9, 3), [-9, -3, 3]), [0, 0.5, 1], atol=1e-8)
    roots = np.sqrt([4, 9, 16])  # from 4 on: the root of the value itself
    np.testing.assert_allclose(images(Numeric(4, 16), [4, 9, 16]), (roots - 2) / 2)


@pytest.mark.parametrize("low", [0.0, 1.0, -5.0, -99.0, -100.0, -250.0])
def test_a_bound_declared_a_little_differently_changes_little(low):
    """Three columns declared from 1 instead of 0 cost 10 to 15 points, when it was all columns or none."""
    at = np.linspace(max(low, 0.0) + 2, 100, 50)
    here = images(Numeric(low, 100), at)
    for step in (1e-9, 1e-3):
        np.testing.assert_allclose(images(Numeric(low - step, 100), at), here, atol=30 * step**0.5)


@pytest.mark.parametrize("start", [(), (0.0, 0.3, 2.0, STRAIGHT)])
@pytest.mark.parametrize(
    "space", [Domain.box(0, 1, 4, [0, 1]).space, dataclasses.replace(MIXED.space.within(1.1))]
)
def test_rows_land_in_the_declared_space(space, start, rng):
    start = start and (*start, *([STRAIGHT] * (space.d - 4)))
    x = rng.random((20_000, space.d)) ** rng.integers(1, 9, (20_000, 1))
    x[0], x[1] = 1.0, 0.5
    x *= np.minimum(1, space.radius / np.linalg.norm(x, axis=1, keepdims=True))
    step = RootColumns(start)
    out, after = step.free(space).transform(x), step.output(space)
    assert (out >= after.low).all() and (out <= after.high).all()
    assert np.linalg.norm(out, axis=1).max() <= after.radius


def test_the_radius_is_reached_by_the_worst_of_rows():
    """One-hot blocks have norm one, which the corner of the box does not know: the bound is R^2 + k/4."""
    space = Space(np.zeros(9), np.ones(9), 1.5, np.zeros(9, bool))
    step = RootColumns((0.0,) * 4 + (STRAIGHT,) * 5)
    rest = math.sqrt((1.5**2 - 4 * 0.25) / 5)
    worst = np.array([[0.5] * 4 + [rest] * 5])
    assert np.linalg.norm(worst) == pytest.approx(1.5)
    assert np.linalg.norm(step.free(space).transform(worst)) == pytest.approx(
        step.output(space).radius, rel=1e-6
    )


def test_it_works_row_by_row_and_leaves_gaps(rng):
    fitted = RootColumns.of(MIXED).free(MIXED.space)
    x = rng.random((301, MIXED.space.d))
    assert (fitted.transform(x[17:23].copy()) == fitted.transform(x)[17:23]).all()
    x[5, 0] = np.nan
    assert np.isnan(fitted.transform(x)).sum() == 1


@pytest.mark.parametrize("bad", [(-1.0,), (math.nan,), (math.inf,), ("a",), (True,), 3, "ab"])
def test_a_start_is_numbers(bad):
    with pytest.raises(ValueError, match=r"start: .* numbers in 0"):
        RootColumns(bad)


def test_features_that_may_be_negative_or_are_too_many_are_refused():
    for space in (Space.ball(2, 1.0), MIXED.space):
        with pytest.raises(ValueError, match="features that are not negative"):
            RootColumns((0.0, 1.0)).output(space)
    with pytest.raises(ValueError, match="free"):
        RootColumns(payment=Budget(0.1))


def test_it_is_saved_with_the_model(tmp_path, rng):
    domain = Domain.box(0, 1, 3, [0, 1])
    steps = [RootColumns((0.0, 1.0, STRAIGHT)), pre.ShrunkCenter(payment=Budget(0.1))]
    x = rng.random((200, 3))
    clf = PrivateClassifier(domain, steps=steps, epsilon=5.0).fit(x, (x[:, 0] > 0.5).astype(int))
    path = clf.model_.save(tmp_path / "model")
    assert (Model.load(path).scores(x) == clf.model_.scores(x)).all()
