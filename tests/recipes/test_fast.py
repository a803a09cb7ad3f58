"""learner="fast": the recipe in fewer passes, as far, by declared numbers alone."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import prepriv
from prepriv.learners import PoissonSGD
from prepriv.recipes.automatic import MANY, auto_learner, recipe
from prepriv.recipes.fast import ONE_OUTPUT, SEVERAL, fast, step_length
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
    assert (learner.clip_norm, learner.average, learner.bias) == (old.clip_norm, old.average, old.bias)


class _Silent:
    def done(self, step, steps):
        pass


@pytest.mark.parametrize("rule", [ONE_OUTPUT, SEVERAL])
def test_long_steps_take_more_passes_and_the_longest_stay_as_they_were(rule):
    base = auto_learner(domain(), n=5000, epsilon=1.0, delta=1e-5)
    unit = step_length(base, 5.0)
    found = []
    for limit, *_ in rule:
        for long in (limit * (1 - 1e-6), limit * (1 + 1e-6)):
            longer = dataclasses.replace(base, learning_rate=base.learning_rate * long / unit)
            made = fast(longer, 5.0, rule)
            found.append((made.steps, made.flatten))
    rows = [(passes, share) for _, passes, share in rule]
    assert found == [rows[0], *(row for row in rows[1:] for _ in range(2)), (base.steps, 0.0)]


def test_the_default_takes_fewer_passes_without_a_mean_row_alone_and_on_columns_alone():
    for n, times in ((5000, 25), (15_000, 40), (40_000, 100)):
        made, old = taken(n, 1.0, "auto")
        assert (made.steps, made.flatten) == (times, 0.0) and (times < 100 or made == old)
    assert taken(40_000, 1.0)[0].flatten > 0  # "fast" goes on
    steps = recipe(domain(), n=5000, epsilon=1.0, delta=1e-5)[0]
    texts = prepriv.Domain({"t": prepriv.Text(64)}, classes=(0, 1))
    ball = prepriv.Domain.ball(8, classes=(0, 1))
    persons = domain(unit="p", rows_per_unit=3)
    for rows, more in ((domain(), {"steps": steps}), (texts, {}), (ball, {}), (persons, {})):
        assert recipe(rows, n=5000, epsilon=1.0, delta=1e-5, **more)[1].steps == 100


def test_where_it_was_not_measured_it_is_the_recipe():
    for n, epsilon in ((MANY, 1.0), (1000, math.inf), (200_000, 20.0)):
        learner, old = taken(n, epsilon)
        assert learner == old and (n < MANY or isinstance(learner, PoissonSGD))
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
