"""The exercise of examples/winsorize.py: a user's step in one file outside the package, paid for in all three ways."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from prepriv import Budget, Domain, Model, PrivateClassifier, Public, Sensitivity, make_plan
from prepriv.audit.replay_pipeline import replay_plan
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic

EXAMPLES = str(Path(__file__).parents[1] / "examples")
sys.path.insert(0, EXAMPLES)
from winsorize import NearEnds, Winsorize, Winsorized, ends  # noqa: E402

N = 60
LEARNER = GradientDescent(Logistic(), steps=3, weight_bound=2.0)
DOMAIN = Domain.box(0, 1, 2, (0, 1), n=N)
RNG = np.random.default_rng(0)
X = RNG.random((400, 2)) ** 2
Y = (X[:, 0] > 0.2).astype(int)
WAYS = {
    "public": Public(RNG.random((50, 2))),
    "budget": Budget(0.2),
    "sensitivity": Sensitivity({"gap": 0.3}),
}


@pytest.mark.parametrize("way", WAYS)
def test_trained_saved_loaded_and_predicted(way, tmp_path):
    domain = Domain.box(0, 1, 2, (0, 1))
    model = PrivateClassifier(
        domain, epsilon=20.0, steps=[Winsorize(0.1, payment=WAYS[way])], learner=LEARNER
    )
    model.fit(X, Y)
    model.model_.save(tmp_path)
    again = Model.load(tmp_path)
    assert (again.predict(X) == model.predict(X)).all()
    assert again.guarantee.epsilon(1e-5) == model.guarantee_.epsilon(1e-5) <= 20.0
    assert any("Winsorize" in c for c in model.guarantee_.conditions) == (way == "sensitivity")
    assert any(isinstance(m, Winsorized) for m in again.maps) == (way != "sensitivity")


@pytest.mark.parametrize("way", WAYS)
def test_replayed(way):
    plan = make_plan(DOMAIN, [Winsorize(0.1, payment=WAYS[way])], LEARNER, epsilon=3.0, delta=1e-4)
    result = replay_plan(plan, pairs=40, bases=4)
    assert not result.findings and result.pairs >= 20


def test_attacked():
    """Pairs of small tables that meet the condition on both sides never move further than declared."""
    rng, found, tried = np.random.default_rng(1), 0.0, 0
    for _ in range(4000):
        n, gap = int(rng.integers(5, 12)), float(rng.uniform(0.05, 0.5))
        share = float(rng.uniform(0.05, 0.4))
        x = np.round(rng.random((n, 1)), int(rng.integers(1, 4)))
        y = x.copy()
        y[0] = rng.choice([0.0, 1.0, rng.random()])
        near = NearEnds(share, gap, (0.0,), (1.0,))
        if not (near.holds([x], n) and near.holds([y], n)):
            continue
        tried += 1
        bound = Winsorize(share, payment=Sensitivity({"gap": gap})).sensitivity(
            Domain.box(0, 1, 1, (0, 1), n=n), n
        )
        moved = abs(np.clip(x, *ends(x, share)) - np.clip(y, *ends(y, share)))[1:]
        assert moved.max() <= bound.row_shift and moved.sum() <= bound.total_shift
        assert (moved > 0).sum() <= bound.rows_moved
        found = max(found, moved.max() / bound.row_shift)
    assert tried > 300 and found > 0.9
