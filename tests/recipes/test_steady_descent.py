"""No data make the descent of a target's recipe swing: its rate times the largest curvature of rows is at most 1.

Theorem and oracle: docs/proofs/gradient_descent.md, "Rates at which nothing swings".
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from prepriv import Budget, Categorical, Domain, Numeric, PrivateRegressor, Public
from prepriv import preprocessing as pre
from prepriv.learners import GradientDescent, SquaredError
from prepriv.learners.learner import Run
from prepriv.mechanisms.session import ExactSession
from prepriv.recipes.automatic import recipe
from prepriv.recipes.regression import mean_square, regression_descent
from prepriv.tables.encoding import encode

N = 400
COLUMNS = {
    "sex": Categorical(("f", "m")),
    "age": Numeric(18, 70),
    "region": Categorical(("n", "e", "s", "w")),
    "years": Numeric(0, 20),
}
MIXED = Domain(COLUMNS, target=Numeric(0, 80))
NUMBERS = Domain.box(0, 1, features=5, target=Numeric(0, 80))
CATEGORIES = Domain({k: COLUMNS[k] for k in ("sex", "region")}, target=Numeric(0, 80))
BALL = Domain.ball(6, target=Numeric(-1, 1))

#: Rows of the columns, each all that a data set can hold: one row, one direction, tails, and rows at random.
_TABLES = {
    "one row": lambda r: dict(sex="m", region="n", age=70, years=20),
    "one direction": lambda r: (
        lambda z: dict(
            sex=np.where(z > 0, "m", "f"),
            region=np.where(z > 0, "n", "w"),
            age=44 + 26 * z,
            years=10 + 10 * z,
        )
    )(r.choice([-1, 1], N)),
    "tails": lambda r: dict(
        sex="f", region="e", age=18 + 52 * (r.random(N) < 0.02), years=20 * (r.random(N) < 0.02)
    ),
    "random": lambda r: dict(
        sex=r.choice(["f", "m"], N),
        region=r.choice(["n", "e", "s", "w"], N),
        age=r.uniform(18, 70, N),
        years=r.uniform(0, 20, N),
    ),
}
OWN = {
    "no step": [],
    "rescaled": [pre.Rescale(1.0)],
    "cut": [pre.ClipNorm(1.5), pre.Rescale(3.0)],
    "normalized": [pre.Normalize(2.0)],
    "standard scores": [pre.StandardScaler(payment=Budget(0.05))],
    "standard scores, a wide radius": [pre.StandardScaler(radius=100.0, payment=Budget(0.05))],
    "centred": [pre.Center(payment=Budget(0.05)), pre.Rescale(2.0)],
    "random features": [pre.RandomFeatures(8)],
}


def longest(reg, table):
    """The largest curvature of the rows as the learner has seen them, their bias feature included."""
    rows = np.vstack([block for _, block in encode(table, reg.model_.domain).blocks()])
    for released in reg.model_.maps:
        rows = released.transform(rows)
    norm, plan = np.linalg.norm(rows, axis=1, keepdims=True), reg.plan_
    rows = rows * np.minimum(1.0, plan.space.radius / np.maximum(norm, 1e-300))
    rows = np.column_stack([rows, np.full(len(rows), plan.learner.bias)])
    return float(np.linalg.eigvalsh(rows.T @ rows / len(rows))[-1])


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.7, 0.9, 0.96])
def test_where_nesterovs_momentum_begins_to_swing(momentum):
    """Not at 2 (1 + m) over the curvature, as the heavy ball does, but at 2 (1 + m) / (1 + 2 m): 1.36 for .9, not 3.8."""
    limit = 2 * (1 + momentum) / (1 + 2 * momentum)
    for rate, swings in ((0.999 * limit, False), (1.001 * limit, True)):
        q = 1 - rate
        moves = np.array([[q * (1 + momentum), -q * momentum], [1.0, 0.0]])
        assert (np.abs(np.linalg.eigvals(moves)).max() > 1) == swings
    assert limit > 1


@pytest.mark.parametrize("clip", [0.05, 0.25, math.inf])
@pytest.mark.parametrize("momentum, bound", [(0.0, math.inf), (0.9, math.inf), (0.9, 0.5), (0.98, math.inf)])
def test_at_that_rate_the_energy_of_clipped_descent_never_rises(momentum, bound, clip):
    """Rows in one direction, far and near, with targets that no weights reach: the loss of clipped gradients plus velocity² / (2 rate)."""
    rng = np.random.default_rng(0)
    x = (
        np.where(rng.random((300, 1)) < 0.5, 3.0, 0.1)
        * np.sign(rng.normal(size=(300, 1)))
        * [[1.0, 0.2, 0.5]]
    )
    y = np.sign(x[:, 0]) * rng.choice([-1.0, 1.0, 5.0], 300)
    width = clip / np.linalg.norm(x, axis=1)
    rate = 1.0 / float(np.linalg.eigvalsh(x.T @ x / len(x))[-1])

    def loss(w):
        e = np.abs(x @ w[:, 0] - y)
        inside = np.minimum(e, width)
        return (
            float((0.5 * inside**2 + np.where(e > width, width, 0) * np.maximum(e - width, 0)).mean())
            if clip < math.inf
            else float((0.5 * e**2).mean())
        )

    seen = []

    def gradient(w):
        seen.append(w.copy())
        return x.T @ np.clip(x @ w[:, 0] - y, -width, width)[:, None] / len(x)

    learner = GradientDescent(
        SquaredError(), learning_rate=rate, momentum=momentum, weight_bound=bound, average=1e-9
    )
    points = [np.zeros((3, 1))]
    for count in range(1, 40):  # the average of the last iterate alone
        points.append(replace(learner, steps=count).descend((3, 1), gradient, Run(ExactSession(), 1.0)))
    energy = [loss(b) + float(np.square(b - a).sum()) / (2 * rate) for a, b in itertools.pairwise(points)]
    assert (np.diff([loss(points[0]), *energy]) <= 1e-9).all()
    assert loss(points[-1]) < loss(points[0])


@pytest.mark.parametrize("kind", _TABLES)
@pytest.mark.parametrize("steps", ["auto", "additive", *OWN])
def test_no_rows_are_curved_more_than_the_rate_allows(steps, kind):
    """The steps run, on data that suit the attacker, and with so much signal that the rate is the longest."""
    table = pd.DataFrame(_TABLES[kind](np.random.default_rng(1)), index=range(N))
    reg = PrivateRegressor(MIXED, epsilon=2000.0, steps=OWN.get(steps, steps), threads=1)
    learner = recipe(MIXED, n=N, epsilon=2000.0, delta=1e-5, steps=OWN.get(steps, steps))[1]
    if not isinstance(learner, GradientDescent):  # second moments, but descent with another loss
        found, _ = recipe(MIXED, n=N, epsilon=2000.0, delta=1e-5, steps=OWN.get(steps, steps))
        learner = regression_descent(MIXED, found, 1e6)
    rate = learner.learning_rate
    reg.set_params(learner=replace(learner, steps=2)).fit(table, table["age"])
    scored = "standard" in steps or steps == "auto"
    assert rate * longest(reg, table) <= (1.02 if scored else 1 + 1e-9)  # the noise of released deviations


@pytest.mark.parametrize(
    "domain", [MIXED, NUMBERS, CATEGORIES, BALL], ids=["mixed", "numbers", "categories", "ball"]
)
@pytest.mark.parametrize("n", [100, 10**4, 10**6, 10**8])
def test_every_plan_has_a_rate_at_which_nothing_swings(domain, n):
    """By declared facts, in every plan of descent: what rows can be at most, and the intercept."""
    ways = ["auto", "linear", "curves", *OWN.values()] + ([] if domain.is_ball else ["additive"])
    for steps in ways:
        if (
            isinstance(steps, list)
            and domain.is_ball
            and any(isinstance(s, pre.StandardScaler) for s in steps)
        ):
            continue
        for epsilon in (0.01, 0.1, 0.3, 1.0, 4.0, 16.0, 100.0):
            made, learner = recipe(domain, n=n, epsilon=epsilon, delta=1e-9, steps=steps)
            if isinstance(steps, list):
                learner = regression_descent(domain, made, n * epsilon)
            if not isinstance(learner, GradientDescent):
                continue
            square = (
                {"additive": 1.0}.get(steps, 0.64) if isinstance(steps, str) else mean_square(domain, made)
            )
            whole = max(square, learner.bias**2) if square == 0.64 else square + learner.bias**2
            assert learner.learning_rate * whole <= 1 + 1e-9, (steps, epsilon)
            many = any(
                isinstance(c, Categorical) for c in domain.columns.values()
            )  # cells, to be reached in more passes
            assert learner.steps <= (400 if many else 280)


def test_the_mean_square_of_rows_is_what_steps_say_and_no_less():
    """A scaler of other rows, and one that follows features of others, say nothing."""
    scaler = [pre.StandardScaler(radius=20.0, payment=Budget(0.05))]
    public = [pre.StandardScaler(radius=20.0, payment=Public(None))]
    assert mean_square(NUMBERS, scaler) == 5.0
    assert mean_square(NUMBERS, [*scaler, pre.Rescale(2.0)]) == pytest.approx(0.05)
    assert mean_square(NUMBERS, public) == pytest.approx(400.0)
    assert mean_square(MIXED, []) == 4.0
    assert mean_square(MIXED, [pre.Normalize(3.0)]) == pytest.approx(9.0)
    assert mean_square(BALL, [pre.ClipNorm(0.5)]) == pytest.approx(0.25)


@pytest.mark.parametrize("epsilon", [4.0, 10.0])
def test_the_intercept_of_rows_far_shorter_than_their_radius_does_not_swing(epsilon):
    """R² was -16: a bias feature of 50 at a rate of .7."""
    rng, n = np.random.default_rng(2), 1000
    x = rng.uniform(0, 0.8, (n, 5))
    y = 30 + 20 * x[:, 0] - 10 * x[:, 1] + rng.normal(size=n)
    steps = [pre.StandardScaler(radius=100.0, payment=Budget(0.05))]
    learner = recipe(NUMBERS, n=n, epsilon=epsilon, delta=1e-5, steps=steps)[1]
    assert isinstance(learner, GradientDescent)
    assert PrivateRegressor(NUMBERS, epsilon=epsilon, steps=steps, threads=1).fit(x, y).score(x, y) > 0.8
