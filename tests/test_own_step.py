"""The exercise of examples/winsorize.py: a user's step in one file outside the package, paid for in all three ways."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from prepriv import Budget, Domain, Model, PrivateClassifier, Public, Sensitivity, make_plan
from prepriv.audit.replay_pipeline import replay_plan
from prepriv.cli import run
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.space import Reading

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


SCHEMA = """
columns: {a: {type: numeric, low: 0, high: 1}, b: {type: numeric, low: 0, high: 1}}
label: {name: y, classes: [0, 1]}
steps: [{step: winsorize.Winsorize, tail: 0.1, PAY}]
"""


@pytest.mark.parametrize(
    "paid", ["pay: sensitivity, gap: 0.3", "pay: budget, share: 0.2", "pay: public, data: p.csv"]
)
def test_named_in_a_schema_by_its_import_path(paid, tmp_path, capsys):
    table = np.column_stack([X, Y])
    for name in ("d.csv", "p.csv"):
        np.savetxt(tmp_path / name, table, delimiter=",", header="a,b,y", comments="", fmt="%.6f")
    schema = tmp_path / "s.yaml"
    schema.write_text(SCHEMA.replace("PAY", paid))
    args = ["--schema", str(schema), "--epsilon", "20", "--out", str(tmp_path / "run")]
    assert run(["train", str(tmp_path / "d.csv"), *args]) == 0
    assert "Winsorize" in capsys.readouterr().out
    assert Model.load(tmp_path / "run").private
    schema.write_text(SCHEMA.replace("PAY", paid).replace("winsorize.W", "no_such_module.W"))
    assert run(["plan", str(schema), "--rows", "400"]) == 2
    assert "import path" in capsys.readouterr().err


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
        tail = float(rng.uniform(0.05, 0.4))
        x = np.round(rng.random((n, 1)), int(rng.integers(1, 4)))
        y = x.copy()
        y[0] = rng.choice([0.0, 1.0, rng.random()])
        near = NearEnds(tail, gap, (0.0,), (1.0,), reading=Reading())
        if not (near.holds([x], n) and near.holds([y], n)):
            continue
        tried += 1
        bound = Winsorize(tail, payment=Sensitivity({"gap": gap})).sensitivity(
            Domain.box(0, 1, 1, (0, 1), n=n), n
        )
        moved = abs(np.clip(x, *ends(x, tail)) - np.clip(y, *ends(y, tail)))[1:]
        assert moved.max() <= bound.row_shift and moved.sum() <= bound.total_shift
        assert (moved > 0).sum() <= bound.rows_moved
        found = max(found, moved.max() / bound.row_shift)
    assert tried > 300 and found > 0.9
