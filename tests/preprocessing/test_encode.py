"""One-hot codes and clipped features: free, and what they do to rows that moved before."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from prepriv import payment as pay
from prepriv.columns import Numeric
from prepriv.domain import Domain
from prepriv.preprocessing.base import RowShift
from prepriv.preprocessing.encode import ClipFeatures, OneHot
from prepriv.space import Space

NAN = math.nan


def test_codes_of_a_declared_column():
    domain = Domain({"kind": Numeric(0, 2, "impute"), "age": Numeric(0, 10)}, ("a", "b"))
    step = OneHot({"kind": 3})
    x = np.array([[0.0, 0.1], [0.5, 0.2], [1.0, 0.3], [NAN, 0.4]])
    y = step.free(domain.space).transform(x)
    assert (y[:, 0] == x[:, 1]).all()
    assert (y[:, 1:] == np.eye(4)).all()
    after = step.output(domain.space)
    assert after.names == ("age", "kind=0", "kind=1", "kind=2", "kind=missing")
    assert not after.may_miss.any()
    assert after.radius == pytest.approx(math.sqrt(2))
    assert json.loads(json.dumps(step.free(domain.space).to_json()))["counts"] == [3]


def test_values_between_codes_count_as_the_nearest():
    space = Space(np.array([-1.0]), np.array([1.0]), 1.0, np.zeros(1, dtype=bool))
    y = OneHot({"x0": 2}).free(space).transform(np.array([[-1.0], [-0.2], [0.2], [1.0]]))
    assert y.argmax(axis=1).tolist() == [0, 0, 1, 1]


def test_every_row_stays_in_the_declared_space():
    rng = np.random.default_rng(0)
    space = Space(np.full(3, -1.0), np.full(3, 2.0), 2.0, np.array([True, False, False]))
    x = np.clip(rng.normal(size=(200, 3)), -1, 2)
    x *= np.minimum(1, 2 / np.linalg.norm(x, axis=1, keepdims=True))
    x[::5, 0] = NAN
    step = OneHot({"x0": 4, "x2": 2})
    y, after = step.free(space).transform(x), step.output(space)
    assert y.shape[1] == after.d == 1 + 5 + 3
    assert (y >= after.low).all() and (y <= after.high).all()
    assert np.linalg.norm(y, axis=1).max() <= after.radius


def test_a_moved_row_changes_its_codes_at_most():
    space = Space(np.zeros(2), np.ones(2), 2.0, np.zeros(2, dtype=bool))
    step = OneHot({"x0": 3})
    out = step.propagate(space, RowShift(4, 0.1, 0.3))
    assert out.rows_moved == 4
    assert out.row_shift == pytest.approx(math.hypot(0.1, math.sqrt(2)))
    assert out.total_shift == pytest.approx(0.3 + 4 * math.sqrt(2))
    assert step.propagate(space, RowShift()) == RowShift()
    f = step.free(space)
    a, b = np.array([[0.24, 0.0]]), np.array([[0.26, 0.05]])
    assert np.linalg.norm(f.transform(a) - f.transform(b)) == pytest.approx(math.hypot(0.05, math.sqrt(2)))


@pytest.mark.parametrize(
    ("categories", "words"),
    [
        ({}, "at least one feature"),
        ({"x0": 1}, "whole number >= 2"),
        ({"age": 3}, "'age', which is not a feature"),
    ],
)
def test_wrong_categories_are_named(categories, words):
    with pytest.raises(ValueError, match=words):
        OneHot(categories).output(Space.ball(2, 1.0))


def test_both_are_free_and_take_no_payment():
    for kind in (lambda p: OneHot({"x0": 2}, payment=p), lambda p: ClipFeatures(payment=p)):
        assert kind(None).way == "free"
        with pytest.raises(ValueError, match="depends on no data"):
            kind(pay.Budget())


@pytest.mark.parametrize("radius", [0.2, 1.5])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.3, 0.8), (-0.9, -0.4), (-0.2, 0.7)])
def test_clipped_features_stay_in_the_declared_space(bounds, radius):
    rng = np.random.default_rng(1)
    space = Space.ball(4, radius)
    x = rng.normal(size=(500, 4))
    x *= radius * rng.random((500, 1)) / np.linalg.norm(x, axis=1, keepdims=True)
    step = ClipFeatures(*bounds)
    y, after = step.free(space).transform(x), step.output(space)
    assert (y == np.clip(x, *bounds)).all()
    assert (y >= after.low).all() and (y <= after.high).all()
    assert np.linalg.norm(y, axis=1).max() <= after.radius
    moved = np.linalg.norm(y[1:] - y[:-1], axis=1) <= np.linalg.norm(x[1:] - x[:-1], axis=1) + 1e-15
    assert moved.all() and step.lipschitz(space) == 1.0


def test_clipping_keeps_missing_cells_and_bounds_are_checked():
    space = Space(np.zeros(1), np.ones(1), 1.0, np.ones(1, dtype=bool))
    assert np.isnan(ClipFeatures(0, 0.5).free(space).transform(np.array([[NAN]]))).all()
    with pytest.raises(ValueError, match="high must lie in"):
        ClipFeatures(1.0, 0.0)
