"""The recipe in fewer passes, as far, by declared numbers alone; learner="fast": everywhere."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import prepriv
from prepriv.learners import PoissonSGD
from prepriv.recipes.automatic import MANY, auto_learner, recipe
from prepriv.recipes.fast import SHORT, as_far, curvature, fast, fast_for_any, steady, step_length
from prepriv.schemas.schema import load_schema


def columns(count=3):
    return {f"x{j}": prepriv.Numeric(-1, 1) for j in range(count)}


def domain(**more):
    return prepriv.Domain(columns(), classes=(0, 1), **more)


def taken(n, epsilon, learner="fast"):
    options = {"n": n, "epsilon": epsilon, "delta": 1e-5}
    return recipe(domain(), learner=learner, **options)[1], recipe(domain(), steps="auto-0.2", **options)[1]


def test_a_constant_gradient_gets_as_far_in_fewer_passes():
    learner, old = taken(5000, 1.0)
    assert taken(5000, 1.0, "auto")[0] == learner
    ends = []
    for one in (learner, old):
        plain = dataclasses.replace(one, flatten=0.0)
        ends.append(plain.descend((2, 1), lambda _: np.ones((2, 1)), _Silent()))
    assert np.allclose(*ends, rtol=1e-9) and learner.steps == 25 and old.steps == 100
    assert (learner.clip_norm, learner.average) == (old.clip_norm, old.average)


class _Silent:
    def done(self, step, steps):
        pass


def test_long_steps_take_more_passes():
    base = auto_learner(domain(), n=5000, epsilon=1.0, delta=1e-5)
    unit = step_length(base, math.hypot(5.0, 1.0))

    def made(long, **more):
        longer = dataclasses.replace(base, learning_rate=base.learning_rate * long / unit)
        return longer, fast(longer, 5.0, **more)

    for limit, times in SHORT:
        old, new = made(limit * (1 - 1e-6))
        assert new == as_far(old, times)
        old, new = made(limit * (1 + 1e-6))
        assert (new.steps, new.momentum) == ((40, 0.7) if limit < 1 else (48, pytest.approx(1 - 10 / 48)))
    for long, times in ((2.0, 62), (4.0, 88)):
        old, new = made(long)
        assert (new.steps, new.average, new.warm_up, new.flatten) == (times, 0.55, 0.1, 0.0)
        assert new.steps * (1 - new.momentum) == pytest.approx(10)  # it settles as often
        assert new.response(0.0)[1] == pytest.approx(old.response(0.0)[1], rel=1e-9)
    assert made(6.5)[1].steps > 100  # more than before are needed


@pytest.mark.parametrize("n", [20_000, 40_000, 60_000])
def test_no_direction_overshoots_and_none_has_more_noise(n):
    """Rows of norm 26 squared of which a quarter lies in one direction, and a loss as curved as where nothing is known yet."""
    old = auto_learner(domain(), n=n, epsilon=1.0, delta=1e-5)
    new = fast(old, 5.0)
    assert new.steps < old.steps
    for curved in (0.0, 0.001, 0.01, 0.1, 0.5, 26 / 4 / 4):
        (noise, pull), (before, pulled) = (one.response(curved) for one in (new, old))
        assert pull == pytest.approx(pulled, rel=0.035)
        # Noise of one sum at the same budget grows with the root of their number.
        assert noise * math.sqrt(new.steps) / pull <= 1.025 * before * math.sqrt(old.steps) / pulled


@pytest.mark.parametrize("n", [500, 2000, 6000, 15_000, 40_000, 90_000])
@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_passes_for_any_rows_are_as_few_as_settle_and_go_as_far(classes, n):
    """Beside those that `steady` takes, which are as many or more: no more noise."""
    of = prepriv.Domain(columns(), classes=classes)
    old = auto_learner(of, n=n, epsilon=1.0, delta=1e-5)
    new, slow = fast_for_any(old, 5.0, math.hypot(5.0, 1.0)), steady(old, 5.0)
    assert 25 <= new.steps <= slow.steps
    assert new.response(0.0)[1] == pytest.approx(old.response(0.0)[1], rel=1e-9)
    for share in (0.0, 0.001, 0.01, 0.1, 0.5, 1.0):  # of the largest curvature that such rows have
        (noise, pull), (before, pulled) = (one.response(share * curvature(old, 5.0)) for one in (new, slow))
        assert pull == pytest.approx(pulled, rel=0.06)
        assert noise * math.sqrt(new.steps) / pull <= 1.025 * before * math.sqrt(slow.steps) / pulled


def test_the_default_takes_fewer_passes_on_columns_alone():
    for n, times in ((5000, 25), (15_000, 40), (40_000, 59), (80_000, 83)):
        assert taken(n, 1.0, "auto")[0].steps == times < taken(n, 1.0, "auto")[1].steps
    options = {"n": 40_000, "epsilon": 1.0, "delta": 1e-5}
    assert (
        recipe(domain(), steps="linear", **options)[1].steps == 69
    )  # a constant in three columns is much of a row
    assert recipe(domain(), steps="additive", **options)[1].steps == 124  # for any rows, too
    assert recipe(domain(), **options, steps=recipe(domain(), **options)[0])[1].steps == 130  # for any rows
    steps = recipe(domain(), **options)[0]
    texts = prepriv.Domain({"t": prepriv.Text(64)}, classes=(0, 1))
    ball = prepriv.Domain.ball(8, classes=(0, 1))
    persons = domain(unit="p", rows_per_unit=3)
    for rows, more in ((domain(), {"steps": steps}), (texts, {}), (ball, {}), (persons, {})):
        assert recipe(rows, **options, **more)[1].steps in (100, 130)
        assert recipe(rows, **options, **more, learner="fast")[1].steps < 75  # by name


def test_wide_rows_and_many_classes_take_fewer_passes():
    def steps(width, classes, n=40_000):
        rows = prepriv.Domain(columns(width), classes=tuple(range(classes)))
        return recipe(rows, n=n, epsilon=1.0, delta=1e-5)[1].steps

    few, many = (
        recipe(prepriv.Domain.ball(d, classes=(0, 1)), n=40_000, epsilon=1.0, delta=1e-5, learner="fast")[1]
        for d in (8, 64)
    )
    assert many.steps == 40 < few.steps  # in few columns rows may lie close together, whatever they are
    assert [steps(3, 2), steps(64, 2), steps(3, 10), steps(64, 10)] == [59, 40, 74, 40]


def test_where_it_was_not_measured_it_is_the_recipe():
    for n, epsilon in ((MANY, 1.0), (1000, math.inf)):
        learner = taken(n, epsilon)[0]
        assert learner == taken(n, epsilon, "auto")[0] and (n < MANY or isinstance(learner, PoissonSGD))
    pixels = prepriv.Domain.images(8, 8, 1, classes=range(10))
    options = {"n": 5000, "epsilon": 1.0, "delta": 1e-5}
    assert recipe(pixels, learner="fast", **options) == recipe(pixels, **options)


def test_it_is_named_in_python_and_in_a_schema_and_refused_elsewhere(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (1000, 3))
    made = prepriv.PrivateClassifier(prepriv.Domain.box(-1, 1, 3, (0, 1)), learner="fast", threads=1)
    made.fit(x, (x[:, 0] > 0).astype(int))
    assert made.plan_.learner.steps == 25 and made.score(x, x[:, 0] > 0) > 0.9
    assert made.plan_.guarantee.epsilon(1e-5) <= 1.0
    path = tmp_path / "s.yaml"
    path.write_text(
        "columns: {x: {type: numeric, low: 0, high: 1}}\nlabel: {name: y, classes: [0, 1]}\nlearner: {kind: fast}\n"
    )
    assert load_schema(path).build_learner() == "fast"
    assert load_schema(path).with_options("fast", None, None).build_learner() == "fast"
    for options, says in (
        ({"learner": "quick"}, "learner must be 'auto' or 'fast' or a learner"),
        ({"learner": "fast", "steps": "dpsgd-f"}, "learner 'fast' is of the automatic recipe"),
    ):
        with pytest.raises(ValueError, match=says):
            recipe(domain(), n=5000, epsilon=1.0, delta=1e-5, **options)
    target = prepriv.Domain.box(-1, 1, 3, target=prepriv.Numeric(0, 1))
    with pytest.raises(ValueError, match="learner must be 'auto'"):
        recipe(target, n=5000, epsilon=1.0, delta=1e-5, learner="fast")
