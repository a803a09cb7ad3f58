"""The steps of PILLAR on real and mixed tables: public whitening and ranks, missing cells, scale, reach, flat models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

import prepriv
from prepriv import payment as pay
from prepriv.domain import Domain
from prepriv.guarantees import gdp_mu
from prepriv.placed.rows import public_rows
from prepriv.plans.plan import make_plan
from prepriv.preprocessing import PCA, Center, Normalize, QuantileTransform, Rescale, StandardScaler
from prepriv.preprocessing.base import Step
from prepriv.recipes.pillar import pillar
from prepriv.runs.public import check_public_steps, follow

X, Y = load_digits(return_X_y=True)
PUBLIC, ROWS, LABELS, TEST, ANSWERS = X[:400], X[400:1400], Y[400:1400], X[1400:], Y[1400:]
DIGITS = Domain.box(0, 16, 64, classes=range(10), n=1000)
CELLS, KIND = load_breast_cancer(return_X_y=True)
CANCER = Domain(
    {
        f"c{j}": prepriv.Numeric(0.0, float(2 ** math.ceil(math.log2(h))))
        for j, h in enumerate(CELLS.max(axis=0))
    },
    (0, 1),
    400,
)


def cells(rows: slice) -> pa.Table:
    return pa.table({f"c{j}": CELLS[rows, j] for j in range(CELLS.shape[1])})


def after(domain: Domain, steps: Any, rows: Any) -> np.ndarray:
    _, maps = follow(domain, steps, rows)
    return np.vstack(list(public_rows(rows, domain, maps)))


def fit(domain: Domain, steps: Any, learner: Any, rows: Any, labels: Any) -> prepriv.PrivateClassifier:
    clf = prepriv.PrivateClassifier(domain, epsilon=4.0, delta=1e-5, steps=steps, learner=learner, threads=1)
    return clf.fit(rows, labels)


# ---------------------------------------------------------------------------------------------- public steps


def test_public_pca_and_scaling_whiten_real_rows() -> None:
    """Mean 0, second moment the identity on the public rows themselves; near it on private ones."""
    paid = pay.Public(PUBLIC)
    before = [Normalize(1.0), Center(payment=paid), Normalize(1.0)]
    steps: list[Step] = [*before, PCA(10, payment=paid), StandardScaler(1e-4, payment=paid)]
    check_public_steps(DIGITS, steps)
    white = after(DIGITS, steps, PUBLIC)
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose((white.T @ white / len(white)), np.eye(10), atol=0.05)
    private = after(DIGITS, steps, ROWS)
    assert private.shape == (1000, 10)
    full = [*steps, Normalize(1.0), Rescale(5.0)]
    learner = pillar(DIGITS, PUBLIC, epsilon=4.0, delta=1e-5, k=10)[1]
    clf = fit(DIGITS, full, learner, ROWS, LABELS)
    assert clf.score(TEST, ANSWERS) > 0.6 and clf.guarantee_.epsilon(1e-5) <= 4.0
    plan = make_plan(DIGITS, full, learner, epsilon=4.0, delta=1e-5, n=1000)
    assert all(p.events == [] for p in plan.steps)


def test_public_ranks_on_real_rows_with_units_of_their_own() -> None:
    public = cells(slice(0, 100))
    steps: list[Step] = [
        QuantileTransform(20, payment=pay.Public(public)),
        Center(payment=pay.Public(public)),
        Rescale(5.0),
    ]
    check_public_steps(CANCER, steps)
    ranks = after(CANCER, steps[:1], public)
    np.testing.assert_allclose(ranks.mean(axis=0), 0.5, atol=0.03)
    learner = pillar(CANCER, public, epsilon=4.0, delta=1e-5, standardize=True)[1]
    clf = fit(CANCER, steps, learner, cells(slice(100, 500)), KIND[100:500])
    assert clf.score(cells(slice(500, None)), KIND[500:]) > 0.85


def test_a_constant_public_column_is_refused_by_ranks_with_the_step_and_the_column_named() -> None:
    public = cells(slice(0, 50))
    public = public.set_column(3, "c3", pa.array(np.full(50, 7.0)))
    with pytest.raises(ValueError, match="public table: 'c3' is constant"):
        check_public_steps(CANCER, [QuantileTransform(payment=pay.Public(public))])


# --------------------------------------------------------------------------------------------------- recipe


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("k", [3, 30])
def test_flat_models_of_the_recipe_predict_the_same(standardize: bool, k: int) -> None:
    public = cells(slice(0, 100))
    steps, learner = pillar(CANCER, public, epsilon=4.0, delta=1e-5, k=k, standardize=standardize)
    model = fit(CANCER, steps, learner, cells(slice(100, 500)), KIND[100:500]).model_
    flat, test = model.flattened(), cells(slice(500, None))
    assert not any(type(m).__name__ in ("Project", "Multiply") for m in flat.maps)
    np.testing.assert_allclose(flat.scores(test), model.scores(test), atol=1e-7)
    np.testing.assert_array_equal(flat.predict_index(test), model.predict_index(test))


def test_standard_scores_gain_where_columns_have_units_of_their_own() -> None:
    public, rows, test = cells(slice(0, 100)), cells(slice(100, 500)), cells(slice(500, None))
    steps, learner = pillar(CANCER, public, epsilon=4.0, delta=1e-5, standardize=True)
    assert fit(CANCER, steps, learner, rows, KIND[100:500]).score(test, KIND[500:]) > 0.9


@pytest.mark.parametrize("k", [2, 10, 40])
def test_projected_public_rows_have_norm_5_in_the_mean_square(k: int) -> None:
    steps, _ = pillar(DIGITS, PUBLIC, epsilon=1.0, delta=1e-5, k=k)
    rows = after(DIGITS, steps, PUBLIC)
    assert math.sqrt((rows**2).sum(axis=1).mean()) == pytest.approx(5.0, rel=1e-3)


def test_the_reach_is_that_of_the_budget_and_does_not_grow_as_k_shrinks() -> None:
    learners = [pillar(DIGITS, PUBLIC, epsilon=0.5, delta=1e-5, k=k)[1] for k in (2, 30)]
    reaches = [one.steps * one.learning_rate for one in learners]
    assert reaches[0] == reaches[1] == pytest.approx(1000 * gdp_mu(0.5, 1e-5) / 2 / 28)


def test_missing_cells_and_categories_go_through_public_means() -> None:
    domain = Domain(
        {
            "a": prepriv.Numeric(0, 1, missing="impute"),
            "b": prepriv.Numeric(0, 1),
            "c": prepriv.Categorical(("u", "v", "w")),
        },
        ("no", "yes"),
        2000,
    )
    rng = np.random.default_rng(0)

    def table(n: int) -> tuple[pa.Table, np.ndarray]:
        a, b, c = rng.uniform(size=n), rng.uniform(size=n), rng.choice(["u", "v", "w"], size=n)
        yes = np.where(a + (c == "u") > 0.8, "yes", "no")
        missing = rng.uniform(size=n) < 0.05
        return pa.table({"a": pa.array(a, mask=missing), "b": b, "c": c}), yes

    public, (rows, yes) = table(200)[0], table(2000)
    steps, learner = pillar(domain, public, epsilon=4.0, delta=1e-5)
    assert [s.way for s in steps] == ["public", "free", "public", "free", "public", "free"]
    assert fit(domain, steps, learner, rows, yes).score(rows, yes) > 0.8


def test_without_privacy_k_is_the_rank_and_fewer_dimensions_do_not_help() -> None:
    scores = {}
    for k in (None, 5, 15):
        steps, learner = pillar(DIGITS, PUBLIC, epsilon=math.inf, delta=1e-5, k=k)
        clf = prepriv.PrivateClassifier(DIGITS, epsilon=math.inf, steps=steps, learner=learner, threads=1)
        scores[k] = clf.fit(ROWS, LABELS).score(TEST, ANSWERS)
    assert scores[None] >= max(scores.values()) - 0.01 > 0.85
