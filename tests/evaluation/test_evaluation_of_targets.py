"""A model of a number on private rows: errors and R² as noisy sums, with intervals that cover."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import prepriv
from evaluation.test_evaluation import moved_squared
from prepriv.audit.replay import Recorder
from prepriv.cli import run
from prepriv.domain import ADJACENCIES
from prepriv.evaluation.cells import cells
from prepriv.evaluation.evaluate import evaluate, release
from prepriv.evaluation.plan import TARGET_MEASURES, plan_evaluation
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.ledger import Ledger
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession
from prepriv.release.model import Model
from prepriv.tables.encode import encode, encode_targets

RELEASES = ("absolute_error", "squared_error", "target", "target_square")


def trained(adjacency="replace-one", n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((2 * n, 3))
    y = 20 * X[:, 0] - 10 * X[:, 1] + 2 * rng.normal(size=2 * n)
    domain = prepriv.Domain.box(0, 1, 3, target=prepriv.Numeric(-20, 30), adjacency=adjacency, n=n)
    return prepriv.PrivateRegressor(domain, epsilon=5.0).fit(X[:n], y[:n]), X[n:], y[n:]


REG, X, Y = trained()


@pytest.fixture(autouse=True)
def _apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def measured(plan, X, y, session, private=False, model=REG.model_):
    of = cells(plan, model, encode(X, model.domain), encode_targets(y, model.domain))
    return PrivateEvaluation(plan, release(plan, of, session), private)


def test_without_noise_the_figures_are_those_of_scikit_learn():
    plan = plan_evaluation(REG.model_, n=len(Y), epsilon=1e4)
    made, predicted = measured(plan, X, Y, ExactSession()), REG.predict(X)
    assert made["mean absolute error"].value == pytest.approx(
        metrics.mean_absolute_error(Y, predicted), abs=1e-3
    )
    root = math.sqrt(metrics.mean_squared_error(Y, predicted))
    assert made["root mean squared error"].value == pytest.approx(root, abs=1e-2)
    assert made["R2"].value == pytest.approx(metrics.r2_score(Y, predicted), abs=1e-3)
    assert "errors above 12.5 count as 12.5" in str(made)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_no_row_moves_the_sums_further_than_declared_and_some_as_far(adjacency):
    domain = prepriv.Domain.box(0, 1, 1, target=prepriv.Numeric(0, 1), adjacency=adjacency)
    plan = plan_evaluation(domain, n=3, epsilon=1.0)
    assert plan.releases == RELEASES
    kinds = [(e, e * e, u, (2 * u - 1) ** 2) for e in (0.0, 0.4, 1.0) for u in (0.0, 0.3, 0.5, 1.0)]

    def counted(rows):
        recorder = Recorder()
        release(plan, dict(zip(RELEASES, map(np.array, zip(*rows)))), recorder)
        return recorder.calls

    farthest = dict.fromkeys(RELEASES, 0.0)
    pairs = itertools.combinations(kinds, 2) if adjacency == "replace-one" else ((k, None) for k in kinds)
    for a, b in pairs:
        for one, two in zip(counted([kinds[0], a]), counted([kinds[0], b] if b else [kinds[0]])):
            share = math.sqrt(moved_squared(one.exact, two.exact)) / one.sensitivity
            farthest[one.name] = max(farthest[one.name], share)
    assert all(1 - 2**-15 < share <= 1 for share in farthest.values()), farthest


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("measures", [None, "absolute_error", ("r2",)])
def test_the_claim_is_that_of_the_noise_that_is_drawn(adjacency, measures):
    domain = REG.model_.domain.with_n(100)
    domain = prepriv.Domain.box(0, 1, 3, target=domain.target, adjacency=adjacency)
    plan = plan_evaluation(domain, n=len(Y), epsilon=0.5, measures=measures)
    recorder = Recorder()
    measured(plan, X, Y, recorder)
    mu = math.sqrt(sum(r.noise_multiplier**-2 for r in recorder.releases))
    assert plan.guarantee.mu == pytest.approx(mu, rel=1e-9) and plan.guarantee.mu >= mu
    assert plan.guarantee.epsilon(1e-5) <= 0.5


@pytest.mark.parametrize(
    "adjacency, repetitions",
    [
        *((a, 60) for a in ADJACENCIES),
        *(pytest.param(a, 1000, marks=pytest.mark.slow) for a in ADJACENCIES),
    ],
)
def test_intervals_cover(adjacency, repetitions):
    reg, X, Y = (REG, *trained()[1:]) if adjacency == "replace-one" else trained(adjacency)
    n, rng = 2000, np.random.default_rng(5)
    for epsilon in (0.3, 5.0):
        plan = plan_evaluation(reg.model_, n=n, epsilon=epsilon)
        of = cells(plan, reg.model_, encode(X, reg.domain), encode_targets(Y, reg.domain))
        exact = plan_evaluation(reg.model_, n=len(Y), epsilon=epsilon)
        truth = PrivateEvaluation(exact, release(exact, of, ExactSession()), False).figures
        missed = dict.fromkeys(truth, 0)
        for k in range(repetitions):
            rows = rng.integers(0, len(Y), n)
            part = {name: column[rows] for name, column in of.items()}
            session = NoisySession(NoiseSource.for_tests(k))
            made = PrivateEvaluation(plan, release(plan, part, session), False)
            for name, figure in made.figures.items():
                if figure.value is not None:
                    missed[name] += not figure.low <= truth[name].value <= figure.high
        assert max(missed.values()) <= (6 if repetitions == 60 else 50), (epsilon, missed)


def test_the_same_in_python_with_a_holdout_and_on_the_command_line(tmp_path, capsys):
    Ledger.create("L.db", "people", epsilon=3, delta=1e-4)
    made = REG.evaluate(X, Y, epsilon=1.0, ledger="L.db")
    assert 0.5 < made["R2"].value < 1 and made.guarantee_.epsilon(1e-5) <= 1.0
    assert Ledger.open("L.db").entries()[0].note.startswith("evaluate: absolute_error, squared_error, r2")
    page = made.save("e.html").read_text()
    assert "errors above 12.5" in page and json.loads(made.save("e.json").read_text())["figures"]
    again = prepriv.PrivateRegressor(REG.domain.with_n(len(Y)), holdout=0.3, evaluate_epsilon=1.0).fit(X, Y)
    assert set(again.evaluation_.figures) == set(made.figures)
    assert again.guarantee_.epsilon(1e-5) <= 1.0 + 1e-9

    REG.model_.save("run/model")
    names = ["x0", "x1", "x2", "y"]
    rows = np.column_stack([X, Y])[:900]
    np.savetxt("test.csv", rows, delimiter=",", header=",".join(names), comments="")
    line = ["evaluate", "run/model", "test.csv", "--epsilon", "1", "--error-bound", "8", "--label", "y"]
    assert Model.load("run/model").domain.target is not None
    assert run([*line, "--measure", "r2", "--measure", "absolute_error"]) == 0
    out = capsys.readouterr().out
    assert "R2" in out and "errors above 8 count as 8" in out.replace("\n", " ")
    assert "mean absolute error" in out and "root mean" not in out


def test_what_is_no_number_has_the_largest_error_and_aborts_nothing():
    plan = plan_evaluation(REG.model_, n=3, epsilon=1.0, delta=1e-3)
    made = measured(plan, X[:3], ["many", "nan", None], ExactSession())
    assert made["mean absolute error"].value == pytest.approx(12.5)
    beyond = measured(plan, X[:3], [1e300, -1e300, math.inf], ExactSession())
    assert beyond["mean absolute error"].value <= 12.5


@pytest.mark.parametrize(
    "options, says",
    [
        ({"measures": "accuracy"}, "some of absolute_error, squared_error, r2"),
        ({"error_bound": 0}, "error_bound must lie in"),
        ({"error_bound": 51}, "error_bound must"),
        ({"epsilon": math.inf}, "epsilon must be finite"),
    ],
)
def test_bad_settings_are_one_sentence(options, says):
    with pytest.raises(ValueError, match=says) as caught:
        plan_evaluation(REG.model_, **{"n": 100, **options})
    assert "\n" not in str(caught.value)
    classes = prepriv.Domain.box(0, 1, 1, [0, 1])
    with pytest.raises(ValueError, match="declared target"):
        plan_evaluation(classes, n=10, error_bound=1.0)
    with pytest.raises(ValueError, match="some of accuracy"):
        plan_evaluation(classes, n=10, measures=TARGET_MEASURES)


def test_files_are_evaluated_part_by_part_to_the_same_counts(tmp_path):
    domain = prepriv.Domain(
        {f"x{j}": prepriv.Numeric(0, 1) for j in range(3)}, target=prepriv.Numeric(-20, 30), label="y"
    )
    frame = pd.DataFrame(X, columns=list(domain.columns)).assign(y=Y)
    reg = prepriv.PrivateRegressor(domain, epsilon=5.0).fit(frame.drop(columns="y"), Y)
    (tmp_path / "parts").mkdir()
    frame[:1500].to_parquet(tmp_path / "parts" / "a.parquet")
    frame[1500:].to_parquet(tmp_path / "parts" / "b.parquet")
    plan = plan_evaluation(reg.model_, n=len(Y), epsilon=1.0)
    parts = str(tmp_path / "parts")
    whole = evaluate(plan, reg.model_, frame.drop(columns="y"), Y, session=Recorder())
    streamed = evaluate(plan, reg.model_, parts, "y", session=Recorder())
    assert all(np.array_equal(whole.counts[name], streamed.counts[name]) for name in RELEASES)
    assert set(reg.evaluate(parts, "y", epsilon=1.0).figures) == set(whole.figures)
    frame.to_csv(tmp_path / "all.csv", index=False)
    with pytest.raises(ValueError, match="must be given"):
        reg.evaluate(str(tmp_path / "all.csv"), "y", epsilon=1.0)
    with pytest.raises(ValueError, match="not what the table has"):
        reg.evaluate(str(tmp_path / "all.csv"), "y", epsilon=1.0, n=7)
