"""PILLAR: the recommended dimension, the recipe, public tables refused before any charge, and the theory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import prepriv
from prepriv import payment as pay
from prepriv.guarantees import gdp_mu
from prepriv.learners.losses import Hinge
from prepriv.learners.noisy_sgd import NoisySGD
from prepriv.learners.stochastic import PoissonSGD
from prepriv.plans.plan import make_plan
from prepriv.preprocessing import PCA, Center, Normalize
from prepriv.recipes.pillar import pillar, recommend_k
from prepriv.release.model import Model
from prepriv.runs.public import check_public, check_public_steps

D, N, CLASSES = 12, 4000, 3
DOMAIN = prepriv.Domain.ball(D, range(CLASSES), n=N)


def rows(n: int, seed: int, rank: int = D) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = np.zeros((CLASSES, D))
    centres[:, :CLASSES] = np.eye(CLASSES)
    y = rng.integers(CLASSES, size=n)
    noise = rng.normal(size=(n, D)) * 0.15 / np.sqrt(1 + np.arange(D))
    noise[:, rank:] = 0
    x = centres[y] + noise
    return x / np.linalg.norm(x, axis=1, keepdims=True), y


PUBLIC = rows(300, 0)[0]
X, Y = rows(N, 1)


def fit(**options: Any) -> prepriv.PrivateClassifier:
    steps, learner = pillar(DOMAIN, PUBLIC, epsilon=1.0, delta=1e-5, **options)
    clf = prepriv.PrivateClassifier(DOMAIN, epsilon=1.0, delta=1e-5, steps=steps, learner=learner, threads=1)
    return clf.fit(X, Y)


# ------------------------------------------------------------------------------------------ recommended k


def test_recommended_k_is_the_minimum_over_every_k() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        values = np.sort(rng.exponential(size=9))[::-1] ** 3
        n, epsilon = int(rng.integers(50, 5000)), float(rng.uniform(0.1, 2))
        classes = int(rng.integers(2, 5))
        found = recommend_k(rng.permutation(values), n=n, epsilon=epsilon, delta=1e-5, classes=classes)
        level = 0.4 * math.sqrt(classes) * 2 / (n * gdp_mu(epsilon, 1e-5))
        cost = [
            values[k:].sum() / values.sum() + level * k if k >= classes - 1 else math.inf
            for k in range(1, 10)
        ]
        assert min(cost) == pytest.approx(cost[found.k - 1], rel=1e-9)
        assert found.tail + found.noise == pytest.approx(min(cost), rel=1e-9)


def test_recommended_k_grows_with_data_and_budget_and_is_the_rank_without_privacy() -> None:
    values = 1 / (1 + np.arange(50.0)) ** 1.5
    ks = [recommend_k(values, n=n, epsilon=0.5, delta=1e-5).k for n in (100, 1000, 10_000, 100_000)]
    assert ks == sorted(ks) and ks[0] < ks[-1]
    by_epsilon = [recommend_k(values, n=2000, epsilon=e, delta=1e-5).k for e in (0.1, 0.7, 3.0)]
    assert by_epsilon == sorted(by_epsilon) and by_epsilon[0] < by_epsilon[-1]
    assert recommend_k([*values, 0, 0], n=10, epsilon=math.inf, delta=1e-5).k == 50
    assert recommend_k(values, n=10, epsilon=math.inf, delta=1e-5, public_rows=7).k == 7


def test_recommended_k_does_not_depend_on_units() -> None:
    values = 1 / (1 + np.arange(50.0)) ** 1.5
    one, other = (recommend_k(c * values, n=2000, epsilon=0.5, delta=1e-5).k for c in (1, 1e6))
    assert one == other


@pytest.mark.parametrize("bad", [[], [0.0, 0.0], [1.0, -0.5], [math.nan, 1.0]])
def test_a_spectrum_that_is_none_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="spectrum"):
        recommend_k(bad, n=10, epsilon=1.0, delta=1e-5)


# ------------------------------------------------------------------------------------------------ recipe


@pytest.mark.parametrize(
    "options",
    [{}, {"loss": "Hinge"}, {"learner": "NoisySGD", "k": 3}, {"learner": "PoissonSGD", "k": 3}],
    ids=["softmax", "hinge", "noisy-sgd", "poisson-sgd"],
)
def test_every_learner_of_the_recipe_learns_within_its_budget(options: dict[str, Any]) -> None:
    clf = fit(**options)
    assert clf.guarantee_ is not None and clf.guarantee_.epsilon(1e-5) <= 1.0
    assert clf.score(X, Y) > 0.8


def test_the_recipe_names_its_learners() -> None:
    kwargs: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "k": 3}
    assert isinstance(pillar(DOMAIN, PUBLIC, learner="NoisySGD", **kwargs)[1], NoisySGD)
    assert isinstance(pillar(DOMAIN, PUBLIC, learner="PoissonSGD", **kwargs)[1], PoissonSGD)
    hinge = pillar(DOMAIN, PUBLIC, loss="hinge", zeta=0.2, **kwargs)[1].loss
    assert isinstance(hinge, Hinge) and hinge.margin == pytest.approx(1.0)  # 0.2 for rows of norm 5
    for wrong in ({"loss": "logistic"}, {"loss": "square"}, {"learner": "adam"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            pillar(DOMAIN, PUBLIC, **{**kwargs, **wrong})


def test_the_model_without_projection_predicts_the_same_from_raw_rows() -> None:
    clf = fit(k=4)
    flat = clf.model_.flattened()
    assert not any(type(m).__name__ in ("Project", "Multiply") for m in flat.maps)
    assert flat.weights.shape == (D + 1, CLASSES)
    np.testing.assert_allclose(flat.scores(X), clf.model_.scores(X), atol=1e-7)
    assert flat.private == clf.model_.private and flat.plan == clf.model_.plan


def test_a_flattened_model_without_row_norms_needs_no_map_at_all(tmp_path: Any) -> None:
    steps = [Center(payment=pay.Public(PUBLIC)), PCA(3, payment=pay.Public(PUBLIC))]
    clf = prepriv.PrivateClassifier(DOMAIN, steps=steps, threads=1).fit(X, Y)
    flat = clf.model_.flattened()
    assert flat.maps == ()
    np.testing.assert_allclose(X @ flat.weights[:-1] + flat.weights[-1], clf.model_.scores(X), atol=1e-7)
    flat.save(tmp_path)
    np.testing.assert_array_equal(Model.load(tmp_path).scores(X), flat.scores(X))


# ----------------------------------------------------------------------------------------- public tables


@pytest.mark.parametrize(
    "public",
    [PUBLIC[:-1], PUBLIC[::-1], np.vstack([PUBLIC, X[:5]]), 0.5 + 0.0 * PUBLIC + PUBLIC[:1], rows(80, 9)[0]],
    ids=["one row less", "another order", "private rows in it", "shifted", "others"],
)
def test_no_public_row_changes_a_private_charge(public: np.ndarray) -> None:
    def plan(table: np.ndarray) -> Any:
        steps, learner = pillar(DOMAIN, PUBLIC, epsilon=0.7, delta=1e-5, k=4)
        paid = [type(s)(**{**vars(s), "payment": pay.Public(table)}) if s.ways else s for s in steps]
        return make_plan(DOMAIN, paid, learner, epsilon=0.7, delta=1e-5, n=N)

    one, other = plan(PUBLIC), plan(public)
    assert one.guarantee.to_json(1e-5) == other.guarantee.to_json(1e-5)
    assert (one.learner_noise, one.hash) == (other.learner_noise, other.hash)
    assert all(p.events == [] for p in one.steps)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fixed", [None, 4], ids=["k recommended", "k given"])
def test_the_whole_recipe_on_other_public_rows_charges_the_same(seed: int, fixed: int | None) -> None:
    """k, the scale and the directions follow the public rows; noise, charge and guarantee do not."""
    plans = []
    for table in (PUBLIC, rows(60 + 40 * seed, seed + 20)[0]):
        steps, learner = pillar(DOMAIN, table, epsilon=0.05, delta=1e-5, k=fixed)
        plans.append(make_plan(DOMAIN, steps, learner, epsilon=0.05, delta=1e-5, n=N))
    one, other = plans
    assert one.guarantee.to_json(1e-5) == other.guarantee.to_json(1e-5)
    assert one.learner_noise == other.learner_noise
    assert all(p.events == [] for plan in plans for p in plan.steps)


@pytest.mark.parametrize(
    ("public", "words"),
    [
        (PUBLIC[:3], "at least 4 public rows"),
        (PUBLIC[:, :-1], "features|columns"),
        (np.repeat(PUBLIC[:2], 40, axis=0), "vary in [12] directions"),
        (rows(300, 0, rank=3)[0], "vary in 3 directions"),
        (np.zeros((0, D)), "no rows"),
        (None, "needs the public table"),
    ],
    ids=["too few rows", "columns", "repeated", "constant features", "empty", "none"],
)
def test_a_bad_public_table_is_refused_with_the_step_named(public: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"PCA.*({words})"):
        check_public_steps(DOMAIN, [Normalize(1.0), PCA(4, payment=pay.Public(public))])


def test_a_public_table_behind_a_private_step_is_still_checked() -> None:
    steps = [Center(payment=pay.Budget(0.02)), PCA(4, payment=pay.Public(PUBLIC[:3]))]
    plan = make_plan(
        DOMAIN, steps, pillar(DOMAIN, PUBLIC, epsilon=1, delta=1e-5, k=4)[1], epsilon=1, delta=1e-5
    )
    with pytest.raises(ValueError, match="PCA, the public table: k=4"):
        check_public(plan)
