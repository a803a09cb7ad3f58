"""The recipe on what a network made: few random features, and the directions of public rows where there are some."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

import prepriv
from networks import layer
from prepriv import Domain, PrivateClassifier, PrivateRegressor, Public
from prepriv.learners import GradientDescent
from prepriv.plans.plan import signal
from prepriv.preprocessing import Encode
from prepriv.recipes.automatic import (
    AFTER_NETWORK,
    EMBEDDED_AVERAGE,
    LEAST_WEIGHT,
    MOST_AFTER_NETWORK,
    WIDE,
    auto_learner,
    feature_weight,
    recipe,
)
from prepriv.recipes.pillar import pillar
from prepriv.recipes.public_directions import MANY_DIRECTIONS
from prepriv.recipes.weak import late_share

X, Y = load_digits(return_X_y=True)
PUBLIC, ROWS, LABELS, TEST, ANSWERS = X[:400], X[400:1400], Y[400:1400], X[1400:], Y[1400:]
BALL = Domain.ball(64, range(10), radius=80.0, n=1000)
BUDGET: dict[str, Any] = {"n": 1000, "epsilon": 1.0, "delta": 1e-5}


def step_names(steps: Any) -> list[str]:
    return [step.name for step in steps]


@pytest.mark.parametrize("n, weight", [(1000, None), (100_000, LEAST_WEIGHT), (10**7, MOST_AFTER_NETWORK)])
def test_a_wide_ball_gets_few_random_features_and_a_narrow_one_as_many_as_before(
    n: int, weight: float | None
) -> None:
    wide, narrow = (Domain.ball(d, (0, 1)) for d in (WIDE, WIDE - 1))
    s = signal(wide, n=n, epsilon=1.0, delta=1e-5)
    assert feature_weight(wide, s) == min(s / AFTER_NETWORK, MOST_AFTER_NETWORK)
    assert feature_weight(narrow, s) > 3 * feature_weight(wide, s)
    assert feature_weight(wide, s, old=True) > 3 * feature_weight(wide, s)
    assert "RandomFeatures" in step_names(recipe(wide, n=n, epsilon=1.0, delta=1e-5, steps="auto-0.2")[0])
    found = "RandomFeatures" in step_names(recipe(wide, n=n, epsilon=1.0, delta=1e-5)[0])
    assert found == (weight is not None) == (feature_weight(wide, s) >= LEAST_WEIGHT)


@pytest.mark.parametrize("n", [500, 1000, 100_000])
def test_late_iterates_of_embeddings_are_averaged_and_go_as_far(n: int) -> None:
    """In the directions of public rows, too. Columns, a narrow ball and "auto-0.2" keep their share."""
    asked: dict[str, Any] = {"n": n, "epsilon": 1.0, "delta": 1e-5}
    ball, narrow, columns = (
        Domain.ball(64, range(10)),
        Domain.ball(63, range(10)),
        Domain.box(0, 1, 64, range(10)),
    )
    late = late_share(signal(ball, **asked))
    assert late > 0.08 and EMBEDDED_AVERAGE == 0.12
    other = auto_learner(narrow, **asked)
    for steps in ("linear", [Public(PUBLIC), "linear"], [Public(PUBLIC), "auto"]):
        learner = recipe(ball, **asked, steps=steps)[1]
        assert isinstance(learner, GradientDescent)
        assert learner.average == min(0.12, late) and learner.clip_norm == other.clip_norm
        assert learner.response(0.0)[1] == pytest.approx(other.response(0.0)[1])
    assert [auto_learner(d, **asked).average for d in (narrow, columns)] == [late, late]
    assert auto_learner(ball, **asked, old=True).average == 0.5


def test_with_public_rows_it_learns_in_their_directions_for_nothing() -> None:
    steps, learner = recipe(BALL, steps=[Public(PUBLIC), "auto"], **BUDGET)
    few, _ = recipe(BALL, steps=[Public(PUBLIC), "linear"], **(BUDGET | {"epsilon": 0.1}))
    assert step_names(steps) == ["Normalize", "Center", "Normalize", "PCA", "Normalize", "Rescale"]
    assert step_names(few) == ["Normalize", "Center", "Normalize", "PCA", "Rescale"]
    theirs = [
        [s.k for s in p if s.name == "PCA"]
        for p in (pillar(BALL, PUBLIC, epsilon=e, delta=1e-5)[0] for e in (1.0, 0.1))
    ]
    assert [[s.k for s in p if s.name == "PCA"] for p in (steps, few)] == theirs
    assert theirs[0][0] >= MANY_DIRECTIONS > theirs[1][0]
    plan = prepriv.make_plan(BALL, steps, learner, **BUDGET)
    bare = prepriv.make_plan(Domain.ball(theirs[0][0], range(10), n=1000), [], learner, **BUDGET)
    assert not any(s.paid.private for s in steps) and plan.guarantee.mu == bare.guarantee.mu


def test_few_private_rows_are_learned_far_better_beside_public_ones() -> None:
    scores = []
    for steps in ("auto", [Public(PUBLIC), "auto"]):
        clf = PrivateClassifier(BALL, epsilon=0.3, delta=1e-5, steps=steps, threads=1).fit(ROWS, LABELS)
        scores.append(clf.score(TEST, ANSWERS))
    assert scores[1] > scores[0] + 0.1, scores


def test_public_rows_go_through_the_network_too() -> None:
    network = layer(64, 70, seed=3).SerializeToString()
    domain = Domain.box(0, 16, 64, range(10), n=1000)
    steps, _ = recipe(domain, steps=[Encode(network), Public(PUBLIC), "auto"], **BUDGET)
    assert step_names(steps)[:2] == ["Encode", "Normalize"]
    rows = Encode(network).free(domain.space).transform(PUBLIC)
    inside, _ = recipe(Domain.ball(70, range(10), n=1000), steps=[Public(rows), "auto"], **BUDGET)
    assert step_names(steps[1:]) == step_names(inside)
    assert [s.k for s in steps if s.name == "PCA"] == [s.k for s in inside if s.name == "PCA"]
    clf = PrivateClassifier(domain, epsilon=1.0, delta=1e-5, steps=[Encode(network), Public(PUBLIC), "auto"])
    assert clf.fit(ROWS, LABELS).score(TEST, ANSWERS) > 0.5
    assert any("no private record had a part" in p for p in clf.guarantee_.premises)


def test_without_privacy_every_direction_is_kept() -> None:
    (_, _, _, pca, *_), _ = recipe(BALL, steps=[Public(PUBLIC), "auto"], n=1000, epsilon=math.inf, delta=1e-5)
    assert pca.k == np.linalg.matrix_rank(PUBLIC - PUBLIC.mean(axis=0))


@pytest.mark.parametrize(
    "given, match",
    [
        ([Public(PUBLIC), "dpsgd-f"], "'dpsgd-f' does not: leave them out"),
        ([Public(PUBLIC[:, :9]), "auto"], "64"),
        ([Public(), "auto"], "needs the public table"),
        ([Public(PUBLIC), Public(PUBLIC), "auto"], r"steps\[0\] must be a step"),
        ([Public(np.ones((40, 64))), "auto"], "no energy|finite eigenvalues"),
    ],
)
def test_what_public_rows_cannot_be_is_refused(given: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        recipe(BALL, steps=given, **BUDGET)


def test_a_target_is_learned_without_public_rows(rng: np.random.Generator) -> None:
    domain = Domain.ball(64, target=prepriv.Numeric(0, 1), n=1000)
    with pytest.raises(ValueError, match="are for classes"):
        PrivateRegressor(domain, epsilon=1.0, delta=1e-5, steps=[Public(PUBLIC), "auto"]).plan()
