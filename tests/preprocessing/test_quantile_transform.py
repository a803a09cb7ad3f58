"""Ranks by public quantiles: against counting, the same bits everywhere, never private, refused where undefined."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
from neighbouring import box

import prepriv
from prepriv import payment as pay
from prepriv.preprocessing import Center, QuantileTransform
from prepriv.preprocessing.quantile_transform import Ranks
from prepriv.release.model import BadArtifact, Model


def by_counting(x: float, knots: np.ndarray) -> float:
    """The middle of the ranks at which a piecewise linear quantile function takes the value x."""
    last = len(knots) - 1
    at = [i for i, k in enumerate(knots) if k == x]
    if at:
        return (at[0] + at[-1]) / 2 / last
    below = sum(k < x for k in knots)
    if below in (0, last + 1):
        return float(below > 0)
    i = below - 1
    return (i + (x - knots[i]) / (knots[i + 1] - knots[i])) / last


def test_ranks_against_counting_with_ties_and_values_beyond_the_ends() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        public = rng.integers(0, 6, size=(int(rng.integers(2, 30)), 1)) / 5.0
        if public.min() == public.max():
            continue
        levels = int(rng.integers(1, 9))
        fitted = QuantileTransform(levels, payment=pay.Public()).fit_public([public], box(1), len(public))
        knots = np.maximum.accumulate(np.quantile(public[:, 0], np.linspace(0, 1, levels + 1)))
        x = np.concatenate([rng.uniform(size=30), knots, [0.0, 1.0]])
        want = [by_counting(v, knots) for v in x]
        np.testing.assert_allclose(fitted.transform(x[:, None])[:, 0], want, atol=1e-12)


def test_ranks_are_monotone_and_a_row_has_the_same_bits_wherever_it_stands() -> None:
    rng = np.random.default_rng(1)
    public, x = rng.exponential(size=(500, 3)) / 20, rng.exponential(size=(2000, 3)) / 20
    step = QuantileTransform(payment=pay.Public())
    fitted = step.fit_public([public[:100], public[100:]], box(3), 500)
    y = fitted.transform(x)
    order = np.argsort(x[:, 0])
    assert (np.diff(y[order, 0]) >= 0).all() and (y >= 0).all() and (y <= 1).all()
    assert abs(y.mean() - 0.5) < 0.05
    np.testing.assert_array_equal(np.vstack([fitted.transform(row[None]) for row in x[:50]]), y[:50])
    after = step.output(box(3))
    assert (after.low == 0).all() and (after.high == 1).all()
    assert after.radius == pytest.approx(math.sqrt(3)) and (np.linalg.norm(y, axis=1) <= after.radius).all()


def test_only_the_named_columns_change() -> None:
    space = dataclasses.replace(box(2, -1.0), names=("a", "b"))
    step = QuantileTransform(4, columns=("b",), payment=pay.Public())
    x = np.array([[-1.0, -1.0], [0.5, 0.0], [1.0, 1.0]])
    y = step.fit_public([x], space, 3).transform(x)
    np.testing.assert_allclose(y, [[-1.0, 0.0], [0.5, 0.5], [1.0, 1.0]])
    assert step.output(space).low.tolist() == [-1.0, 0.0]


def test_a_constant_column_goes_to_the_middle() -> None:
    """A run must not fail on public rows: behind a private fit nobody knew them before the charge."""
    public = np.array([[0.1, 0.5], [0.2, 0.5]])
    fitted = QuantileTransform(4, payment=pay.Public()).fit_public([public], box(2), 2)
    y = fitted.transform(np.array([[0.1, 0.5], [0.2, 0.4], [0.15, 0.6]]))
    np.testing.assert_allclose(y, [[0.0, 0.5], [1.0, 0.0], [0.5, 1.0]])


@pytest.mark.parametrize("payment", [pay.Budget(), pay.Sensitivity()], ids=["budget", "sensitivity"])
def test_private_rows_cannot_pay_for_it(payment: Any) -> None:
    with pytest.raises(ValueError, match="QuantileTransform cannot be paid"):
        QuantileTransform(payment=payment)
    with pytest.raises(ValueError, match="levels"):
        QuantileTransform(0, payment=pay.Public())


def test_it_cannot_follow_a_step_paid_for_by_sensitivity() -> None:
    assert math.isinf(QuantileTransform(payment=pay.Public()).lipschitz(box(2)))


def test_a_model_with_ranks_is_saved_loaded_and_never_trusted(tmp_path: Any) -> None:
    rng = np.random.default_rng(2)
    x = np.minimum(rng.exponential(size=(400, 2)) / 5, 1.0)
    y = (x[:, 0] > x[:, 1]).astype(int)
    domain = prepriv.Domain.box(0, 1, 2, classes=[0, 1], n=300)
    public = pay.Public(x[300:])
    steps = [QuantileTransform(payment=public), Center(payment=public)]
    clf = prepriv.PrivateClassifier(domain, epsilon=2.0, steps=steps, threads=1).fit(x[:300], y[:300])
    assert clf.score(x, y) > 0.8 and clf.guarantee_.epsilon(1e-5) <= 2.0
    path = clf.model_.save(tmp_path)
    np.testing.assert_array_equal(Model.load(tmp_path).scores(x), clf.model_.scores(x))
    text = json.loads(path.read_text(encoding="utf-8"))
    ranks = next(m for m in text["maps"] if m["map"] == "ranks")
    ranks["columns"] = Model.load(tmp_path).maps[0].columns.tolist()  # a list where packed arrays stand
    path.write_text(json.dumps(text), encoding="utf-8")
    with pytest.raises(BadArtifact):
        Model.load(tmp_path)


@pytest.mark.parametrize(
    ("columns", "knots"),
    [
        ([-1], [[0.0, 1.0]]),
        ([0, 1], [[0.0, 1.0]]),
        ([0], [[1.0, 0.0]]),
        ([0], [[0.0, math.nan]]),
        ([0], [[0.0]]),
    ],
)
def test_knots_that_are_none_are_refused(columns: list[int], knots: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="knots"):
        Ranks(np.array(columns), np.array(knots))
