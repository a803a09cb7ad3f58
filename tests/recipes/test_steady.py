"""Passes in which no step overshoots: a larger budget, or none at all, is never the worse model."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv.learners import GradientDescent, Logistic, Softmax
from prepriv.recipes.automatic import MANY, recipe
from prepriv.recipes.fast import curvature, steady

RNG = np.random.default_rng(7)
X = RNG.random((9000, 2))
SCORE = X[:, 0] + 0.3 * RNG.normal(size=9000)
LABELS = {2: (SCORE > 0.5) * 1, 3: (SCORE > 0.5) * 1 + (SCORE > 0.95)}
LINE = make_pipeline(StandardScaler(), LogisticRegression())


def overshoot(learner, radius=5.0):
    """Rate times curvature, over the largest for which descent with momentum settles. The curvature is that of clipped gradients."""
    m = learner.momentum
    return learner.learning_rate * curvature(learner, radius) * (1 + 2 * m) / (2 + 2 * m)


@pytest.mark.parametrize("classes", [2, 3])
def test_more_budget_is_never_the_worse_model_and_without_noise_it_is_the_exact_fit(classes):
    """Two columns, 6000 rows. While a step was as long as a rate of 1, log loss was .58 for .48, and 1.4 for .75."""
    y, domain = LABELS[classes], Domain.box(0, 1, 2, tuple(range(classes)))
    exact = log_loss(y[6000:], LINE.fit(X[:6000], y[:6000]).predict_proba(X[6000:]))
    for epsilon, within in ((30.0, 0.02), (math.inf, 0.01)):
        for model in (
            prepriv.private(LINE, domain, epsilon=epsilon),
            prepriv.PrivateClassifier(domain, epsilon=epsilon, steps="linear"),
        ):
            p = model.fit(X[:6000], y[:6000]).predict_proba(X[6000:])
            assert log_loss(y[6000:], p) < exact + within


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("n", [1000, 30_000, MANY, 10**7])
def test_no_step_overshoots_whatever_the_rows(classes, n):
    domain = Domain({f"x{j}": Numeric(0, 1) for j in range(3)}, tuple(range(classes)))
    for epsilon in (0.1, 1.0, 10.0, 1000.0, math.inf):
        steps, named = recipe(domain, n=n, epsilon=epsilon, delta=1e-6)
        _, learner = recipe(domain, n=n, epsilon=epsilon, delta=1e-6, steps=list(steps))
        assert overshoot(learner) <= 1.0
        if n >= MANY or epsilon >= 1000.0:
            assert overshoot(named) <= 1.0 or n * epsilon <= 10**6


@pytest.mark.parametrize("learned", ["auto", "fast"])
@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("n", [300, 1000, 4000, 15_000, 100_000, MANY, 10**7])
def test_no_step_of_an_additive_model_overshoots_whatever_the_rows(classes, n, learned):
    """Found by a newcomer: log loss .55 at ε = .3, .61 at 1 and .53 at 1.2. Codes of bins and categories are not centred, so that nothing
    says how little rows have in common: passes for 7 of 26 in one direction were too few."""
    columns = {"age": Numeric(0, 1), "job": Categorical(tuple("abc")), "sex": Categorical(("f", "m"))}
    domain, last = Domain(columns, tuple(range(classes))), 0
    for epsilon in (0.01, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.1, 1.2, 2.0, 10.0, 100.0, 1000.0):
        options = {"n": n, "epsilon": epsilon, "delta": 1e-6, "steps": "additive"}
        learner = recipe(domain, learner=learned, **options)[1]
        assert overshoot(learner) <= 1.0
        of_old = recipe(domain, **{**options, "steps": "additive-0.2"})[1]
        if n < MANY:  # above, of batches
            assert learner.steps >= last  # more budget, more passes
            last = learner.steps
        assert of_old.steps in range(100, 401)  # names of 0.2 keep theirs


@pytest.mark.parametrize("epsilon", [2.0, 4.0])
def test_more_budget_is_not_the_worse_additive_model(epsilon):
    """Twelve columns that are mostly one category and labels that are hard to tell: half of a row is the same in all rows."""
    rng = np.random.default_rng(5)
    rows = pd.DataFrame({f"c{j}": np.where(rng.random(5000) < 0.06, "rare", "usual") for j in range(12)})
    score = 1.5 * (rows["c0"] == "rare") - 1.0 * (rows["c1"] == "rare") - 0.4
    y = (rng.random(5000) < 1 / (1 + np.exp(-score))).astype(int)
    domain = Domain({c: Categorical(("usual", "rare")) for c in rows}, (0, 1))
    made = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=1e-5, steps="additive", threads=1)
    p = made.fit(rows[:3000], y[:3000]).predict_proba(rows[3000:])
    right = 1 / (1 + np.exp(-score[3000:]))
    truth = log_loss(y[3000:], np.column_stack([1 - right, right]))
    assert log_loss(y[3000:], p) < truth + 0.03


def test_steps_that_were_short_enough_stay_to_the_bit_and_others_go_as_far():
    for loss, limit in ((Logistic(), 0.181), (Softmax(), 0.0905)):
        short, long = (GradientDescent(loss, learning_rate=r * limit, clip_norm=math.inf) for r in (0.99, 2))
        made = steady(long, 5.0)
        assert steady(short, 5.0) is short and made.steps > 100
        assert made.response(0.0)[1] == pytest.approx(long.response(0.0)[1])
        assert overshoot(made) < 1.0 < overshoot(steady(long, 5.0, 0.25))


def test_rows_of_any_norm_settle_without_noise():
    for radius in (1.0, 28.0):
        domain = Domain.ball(4, (0, 1), radius=radius)
        _, learner = recipe(domain, n=1000, epsilon=math.inf, delta=1e-6, steps=[])
        assert overshoot(learner, radius) == pytest.approx(0.97, abs=0.03)
