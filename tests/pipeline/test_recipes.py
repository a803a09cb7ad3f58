"""The automatic recipe: a function of declared facts alone, and where it adds random features."""

from __future__ import annotations

import dataclasses
import math

import pytest

from prepriv import Budget, Categorical, Domain, Numeric, PrivateClassifier
from prepriv import preprocessing as pre
from prepriv.pipeline.plan import make_plan
from prepriv.pipeline.recipes import FEATURES, FEWEST_FEATURES, MOST_CELLS, recipe


def names(domain, n, steps="auto"):
    built, _ = recipe(domain, n=n, epsilon=1.0, delta=1e-5, steps=steps)
    return [s.name for s in built]


def features(domain, n):
    built, _ = recipe(domain, n=n, epsilon=1.0, delta=1e-5)
    return [s.features for s in built if isinstance(s, pre.RandomFeatures)]


PLAIN = Domain.box(0, 1, 5, (0, 1))
MIXED = Domain({"a": Numeric(0, 1), "b": Categorical(("x", "y"))}, (0, 1))
GAPS = Domain({"a": Numeric(0, 1, "impute")}, (0, 1))


def test_a_plain_matrix_gets_random_features_and_linear_does_without():
    assert names(PLAIN, 100) == [
        "SquareRoot",
        "Normalize",
        "Center",
        "Normalize",
        "RandomFeatures",
        "Normalize",
        "Rescale",
    ]
    assert names(PLAIN, 100, "linear") == ["SquareRoot", "Normalize", "Center", "Normalize", "Rescale"]
    assert "SquareRoot" not in names(Domain.box(-1, 1, 5, (0, 1)), 100)
    assert "RandomFeatures" not in names(MIXED, 100)  # rows that keep their scale
    assert names(GAPS, 100) == ["MeanImputer", *names(PLAIN, 100)]


@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
def test_imputation_is_paid_by_budget_so_that_the_claim_has_no_condition(adjacency):
    """By sensitivity it cost three times the noise and rested on a cap (a new user found 74 % for 88 %)."""
    domain = dataclasses.replace(GAPS, n=100, adjacency=adjacency)
    steps, learner = recipe(domain, n=100, epsilon=1.0, delta=1e-5)
    assert steps[0].payment == Budget(0.02)
    plan = make_plan(domain, steps, learner, epsilon=1.0, delta=1e-5)
    assert plan.guarantee.conditions == ()


def test_random_features_fit_the_memory():
    assert features(PLAIN, 100) == [FEATURES]
    for n in (10**5, 2 * 10**5):
        [m] = features(PLAIN, n)
        assert FEWEST_FEATURES <= m <= MOST_CELLS / n
    assert features(PLAIN, MOST_CELLS // FEWEST_FEATURES + 1) == []


def test_the_reach_counts_the_columns_that_are_trained_on():
    signal = {}
    for steps in ("auto", "linear", [pre.Center(payment=Budget(0.02)), pre.RandomFeatures(2000)]):
        _, learner = recipe(PLAIN, n=10**4, epsilon=1.0, delta=1e-5, steps=steps)
        width = {"auto": 5 + FEATURES, "linear": 5}.get(steps, 2005) if isinstance(steps, str) else 2005
        signal[width] = learner.learning_rate * learner.steps * math.sqrt(width + 1)
    assert len(signal) == 3 and max(signal.values()) == pytest.approx(min(signal.values()))


def test_a_linear_model_has_a_weight_a_column(rng):
    x = rng.random((300, 5))
    y = (x[:, 0] > x[:, 1]).astype(int)
    for steps, rows in (("linear", 6), ("auto", 6 + FEATURES)):
        clf = PrivateClassifier(PLAIN, epsilon=8.0, delta=1e-5, steps=steps).fit(x, y)
        assert clf.model_.weights.shape == (rows, 1)


@pytest.mark.parametrize("bad", ["Linear", "", "none"])
def test_another_name_is_refused(bad):
    with pytest.raises(ValueError, match="'auto', 'linear'"):
        recipe(PLAIN, n=10, epsilon=1.0, delta=1e-5, steps=bad)
    with pytest.raises(ValueError, match="learner must be"):
        recipe(PLAIN, n=10, epsilon=1.0, delta=1e-5, learner="linear")
