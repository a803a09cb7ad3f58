"""Evaluation on private rows: what is claimed, charged and counted; no row moves it further; nothing else leaves."""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm
from sklearn import metrics

import prepriv
from prepriv.audit.replay import Recorder, replay
from prepriv.audit.replay_neighbours import neighbours, synthetic
from prepriv.audit.sensitivity_draws import Draws
from prepriv.evaluation import cells as of_rows
from prepriv.evaluation.cells import row_entries, row_scores
from prepriv.evaluation.evaluate import evaluate, release
from prepriv.evaluation.evaluation_plan import (
    EDGES,
    LOSS_BOUND,
    MEASURES,
    as_trained,
    plan_evaluation,
    which_rows,
)
from prepriv.evaluation.intervals import share_of_n
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.ledger import BudgetExceeded, Ledger
from prepriv.mechanisms.session import ExactSession
from prepriv.mechanisms.split import private_split
from prepriv.tables.encoding import encode, encode_labels
from prepriv.tables.readers import BadData

ROOT = Path(__file__).parents[2]


def trained(classes=2, adjacency="replace-one", n=400, seed=0):
    """(estimator, rows, labels): half of made-up rows are trained on, the other half is left."""
    rng = np.random.default_rng(seed)
    X = rng.random((2 * n, 4))
    y = ((X[:, 0] + X[:, 1] + 0.2 * rng.normal(size=2 * n)) * classes / 2).astype(int).clip(0, classes - 1)
    domain = prepriv.Domain.box(0, 1, 4, list(range(classes)), adjacency=adjacency, n=n)
    clf = prepriv.PrivateClassifier(domain, epsilon=5.0, steps="linear").fit(X[:n], y[:n])
    return clf, X[n:], y[n:]


CLF, X, Y = trained()


def test_a_plan_is_for_the_model_that_it_names(tmp_path):
    other, plan = trained(seed=1)[0].model_, plan_evaluation(CLF.model_, n=len(X), epsilon=1.0)
    CLF.model_.save(tmp_path / "model")
    evaluate(plan, prepriv.Model.load(tmp_path / "model"), X, Y)
    with pytest.raises(ValueError, match="for another model"):
        evaluate(plan, other, X, Y)
    wider = plan_evaluation(prepriv.Domain.box(0, 2, 4, [0, 1]), n=len(X), epsilon=1.0)
    with pytest.raises(ValueError, match=r"other columns, .* other bounds"):
        evaluate(wider, CLF.model_, X, Y)


@pytest.mark.parametrize("adjacency", prepriv.domain.ADJACENCIES)
@pytest.mark.parametrize("measures", [MEASURES, ("accuracy",), ("scores", "log_loss")])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0])
def test_the_claim_is_that_of_the_noise_that_is_drawn(adjacency, measures, epsilon):
    domain = prepriv.Domain.box(0, 1, 4, [0, 1], adjacency=adjacency)
    plan = plan_evaluation(domain, n=400, epsilon=epsilon, delta=1e-6, measures=measures)
    recorder = Recorder()
    release(plan, row_entries(plan, CLF.model_, encode(X, domain), Y.astype(np.int32)), recorder)
    assert [r.name for r in recorder.releases] == [m for m in MEASURES if m in measures]
    mu = math.sqrt(sum(r.mechanism.cost.mu_squared for r in recorder.releases))  # an account of its own
    delta = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert 0.999e-6 < delta <= 1e-6 * (1 + 1e-9)
    assert plan.guarantee.mu == pytest.approx(mu, rel=1e-9) and plan.guarantee.mu >= mu
    assert plan.guarantee.adjacency == adjacency and not plan.guarantee.conditions


@pytest.mark.parametrize("classes", [2, 3])
def test_no_row_moves_the_counts_further_than_declared_and_some_move_them_as_far(classes):
    """Every pair of kinds of rows, replaced, added and removed, for each measure."""
    domain = prepriv.Domain.box(0, 1, 1, list(range(classes)))
    kinds = [
        (float(t == p), t * classes + p, 2 * b + h, loss)
        for t, p, b, h, loss in itertools.product(
            range(classes), range(classes), (0, 9), (0, 1), (0.0, 0.3, 1.0)
        )
    ] + [(math.nan, -1, -1, math.nan)]
    for adjacency in prepriv.domain.ADJACENCIES:
        plan = plan_evaluation(
            prepriv.Domain.box(0, 1, 1, domain.classes, adjacency=adjacency), n=3, epsilon=1
        )
        farthest = dict.fromkeys(MEASURES, 0.0)
        recorded = {kind: counted(plan, [kinds[0], kind]) for kind in kinds} | {
            None: counted(plan, kinds[:1])
        }
        pairs = itertools.combinations(kinds, 2) if adjacency == "replace-one" else ((k, None) for k in kinds)
        for a, b in pairs:
            for one, two in zip(recorded[a], recorded[b]):
                share = math.sqrt(one.moved_squared(two)) / one.sensitivity
                farthest[one.name] = max(farthest[one.name], share)
        assert all(1 - 2**-15 < share <= 1 for share in farthest.values()), farthest


def counted(plan, rows):
    recorder = Recorder()
    release(plan, dict(zip(MEASURES, map(np.array, zip(*rows)))), recorder)
    return recorder.calls


@pytest.mark.parametrize("classes", [2, 4])
def test_without_noise_the_figures_are_those_of_scikit_learn(classes):
    clf, X, y = trained(classes)
    plan = plan_evaluation(clf.model_, n=len(y), epsilon=1e5)
    of = row_entries(plan, clf.model_, encode(X, clf.domain), encode_labels(y, clf.domain.classes))
    made = PrivateEvaluation(plan, release(plan, of, ExactSession()), False)
    p, predicted = clf.predict_proba(X), clf.predict(X)
    assert made["accuracy"].value == pytest.approx(metrics.accuracy_score(y, predicted), abs=1e-9)
    assert made.confusion.tolist() == metrics.confusion_matrix(y, predicted).tolist()
    balanced = metrics.balanced_accuracy_score(y, predicted)
    assert made["balanced accuracy"].value == pytest.approx(balanced, abs=1e-7)  # less a bias of σ² / rows²
    loss = np.minimum(LOSS_BOUND, -np.log(p[np.arange(len(y)), y])).mean()
    assert made["log loss"].value == pytest.approx(loss, abs=1e-4)
    if classes == 2:
        binned = metrics.roc_auc_score(y, np.digitize(p[:, 1], EDGES))
        assert made["AUC"].value == pytest.approx(binned, abs=1e-9)
    hit = y == 1 if classes == 2 else y == predicted
    score = p[:, 1] if classes == 2 else p.max(axis=1)
    ends = np.array([0, *EDGES, 1])
    gap = (hit - ((ends[1:] + ends[:-1]) / 2)[np.digitize(score, EDGES)]).mean()
    assert made["calibration gap"].value == pytest.approx(gap, abs=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_row_has_the_same_bits_wherever_it_stands(classes):
    """Under add-or-remove-one a row moves all that follow it: theirs must be the same cells."""
    rng = np.random.default_rng(3)
    domain = prepriv.Domain.box(0, 1, 70, range(classes))
    X = rng.random((700, 70))
    model = prepriv.PrivateClassifier(domain, epsilon=10.0).fit(X, rng.integers(0, classes, 700)).model_
    whole, norms = row_scores(model, encode(X, domain))
    p = of_rows._probabilities(model, whole, norms)
    assert np.abs(whole - model.scores(X)).max() < 1e-9 * np.abs(whole).max()
    assert np.abs(p - model.predict_proba(X)).max() < 1e-9 and model.link is not None
    for start in (1, 2, 3, 5, 100, 255, 256, 257, 699):
        some, some_norms = row_scores(model, encode(X[start:], domain))
        assert np.array_equal(some, whole[start:]) and np.array_equal(some_norms, norms[start:])
        assert np.array_equal(of_rows._probabilities(model, some, some_norms), p[start:])
    alone = [of_rows._probabilities(model, whole[i : i + 1], norms[i : i + 1])[0] for i in range(700)]
    assert np.array_equal(alone, p)


@pytest.mark.parametrize("adjacency", prepriv.domain.ADJACENCIES)
@pytest.mark.parametrize("classes", [2, 3])
def test_nothing_but_mechanism_outputs_leaves(adjacency, classes):
    """Replay on hostile neighbours, as for training."""
    clf, _, _ = trained(classes, adjacency)
    plan = plan_evaluation(clf.model_, n=20, epsilon=1.0, delta=1e-3)

    def run(table, session):
        made = evaluate(plan, clf.model_, table.rows, list(table.labels), session=session, counted=False)
        return {"json": json.dumps(made.to_json()), "html": made.to_html(), "text": str(made)}

    draws = Draws(5)
    base = synthetic(clf.domain.with_n(20), 20, draws)
    pairs = list(itertools.islice(neighbours(base, clf.domain.with_n(20), draws, 40), 40))
    result = replay(run, base, pairs)
    assert result.pairs == 40 and not result.findings
    assert max(result.reach.values()) > 0.6


def test_a_ledger_is_charged_before_a_cell_is_read_and_refuses(tmp_path, monkeypatch):
    path = tmp_path / "L.db"
    Ledger.create(path, "people", epsilon=0.15, delta=1e-3)
    monkeypatch.setattr("prepriv.placed.rows.PrivateTable.read", lambda *_: pytest.fail("a cell was read"))
    with pytest.raises(pytest.fail.Exception):
        CLF.evaluate(X, Y, ledger=path)
    assert Ledger.open(path).remaining().epsilon == pytest.approx(0.05)  # it stays
    with pytest.raises(BudgetExceeded):
        CLF.evaluate(X, Y, ledger=path)


@pytest.mark.parametrize(
    ("rows", "epsilon", "said"),
    [
        (400, 1.0, "trained on 400 declared records"),
        (390, 0.05, "accuracy will be known to about"),
        (12, 0.1, "too few to measure"),
    ],
)
def test_the_estimator_warns_before_the_charge(tmp_path, rows, epsilon, said):
    Ledger.create(tmp_path / "L.db", dataset_id="people", epsilon=5, delta=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(UserWarning, match=said):
            CLF.evaluate(X[:rows], Y[:rows], epsilon=epsilon, ledger=tmp_path / "L.db", measures="accuracy")
        CLF.evaluate(X[:390], Y[:390], epsilon=1.0, measures="accuracy")
    assert Ledger.open(tmp_path / "L.db").entries() == ()


def test_the_ledger_of_the_estimator_is_charged_and_the_odometer_counts(tmp_path, monkeypatch):
    path = tmp_path / "L.db"
    Ledger.create(path, "people", epsilon=6, delta=1e-3)
    clf = prepriv.PrivateClassifier(CLF.domain, epsilon=5.0, steps="linear", ledger=path).fit(X, Y)
    made = clf.evaluate(X, Y, epsilon=0.5)
    assert Ledger.open(path).remaining().epsilon == pytest.approx(0.5)
    assert made.receipt["sequence"] == 2 and made.private
    spent = prepriv.spent()
    assert len(spent.fits) == 2 and spent.fits[1].guarantee is made.plan.guarantee
    assert made.guarantee_.epsilon(1e-5) <= 0.5 < spent.epsilon["replace-one"]


@pytest.mark.parametrize(
    "options, says",
    [
        ({"epsilon": math.inf}, "epsilon must be finite"),
        ({"epsilon": -1}, "epsilon must be a positive number"),
        ({"delta": 1}, "delta must be a number"),
        ({"measures": ("accuracy", "f1")}, "measures must be some of"),
        ({"measures": ("accuracy", "auc")}, "'scores' tells auc"),
        ({"measures": ()}, "measures must be some of"),
        ({"measures": ("accuracy", "accuracy")}, "measures must be some of"),
        ({"bins": 1}, "bins must be a whole number, 2 or more"),
        ({"bins": [0.5, 0.5]}, "increasing edges"),
        ({"bins": [0.0, 0.5]}, "bins must lie in"),
        ({"bins": 10**6}, "at most"),
        ({"n": 399}, "the plan is for n=399 test rows, the table has 400"),
        ({"n": 0}, "n must be a whole number"),
        ({"n": 2**60}, "overflow"),
        ({"ledger": 3}, "ledger must be None or the path"),
    ],
)
def test_bad_input_is_one_sentence_and_costs_nothing(options, says, tmp_path):
    path = tmp_path / "L.db"
    Ledger.create(path, "people", epsilon=1, delta=1e-3)
    with pytest.raises(ValueError, match=re.escape(says)) as caught:
        CLF.evaluate(X, Y, **{"ledger": path} | options)
    assert "\n" not in str(caught.value)
    assert Ledger.open(path).remaining().epsilon == 1 and not prepriv.spent().fits


@pytest.mark.parametrize(
    "rows, labels", [(X[:, :3], Y), (X, Y[:-1]), (X[0], Y), ("text", Y), (X, None)], ids=range(5)
)
def test_rows_of_another_form_cost_nothing(rows, labels):
    with pytest.raises((BadData, ValueError, TypeError)):
        CLF.evaluate(rows, labels)
    assert not prepriv.spent().fits


def test_under_add_or_remove_one_the_number_of_rows_is_declared_and_never_shown():
    clf, rows, labels = trained(adjacency="add-or-remove-one")
    with pytest.raises(ValueError, match="must be given"):
        clf.evaluate(rows, labels)
    made = clf.evaluate(rows[:-1], labels[:-1], epsilon=5.0, n=400)
    assert "399" not in json.dumps(made.to_json()["plan"]) and made["accuracy"].value > 0.5


def test_a_label_that_nobody_declared_is_counted_and_in_no_cell():
    plan = plan_evaluation(CLF.model_, n=3, epsilon=1.0, delta=1e-3)
    of = row_entries(plan, CLF.model_, encode(X[:3], CLF.domain), np.array([-1, -1, -1], np.int32))
    assert np.isnan(of["accuracy"]).all() and (of["confusion"] == -1).all()
    assert (of["scores"] == -1).all() and np.isnan(of["log_loss"]).all()


def test_scores_that_are_no_numbers_abort_nothing():
    for classes in (2, 3):
        p = np.array([[math.nan] * classes, [math.inf] * classes, [0.0] * classes])
        with np.errstate(all="ignore"):
            of = of_rows._cells(np.array([0, 1, 1]), p, np.array([0, 1, 1]), EDGES)
        loss = of["log_loss"]
        assert ((loss >= 0) & (loss <= 1)).all() and (of["scores"] < 2 * len(EDGES) + 2).all()


def test_a_split_takes_any_number_for_a_share():
    odd = np.array([math.nan, -1.0, 2.0, 0.5, math.inf, -math.inf])
    options = {"name": "s", "n": 6, "noise_multiplier": 1.0, "session": ExactSession()}
    assert private_split(odd, adjacency="replace-one", **options).tolist() == [2.5, 2.5, 1.0]


def test_pages_and_files_say_the_same(tmp_path):
    made = CLF.evaluate(X, Y, epsilon=2.0)
    data = json.loads(made.save(tmp_path / "e.json").read_text())
    page = made.save(tmp_path / "e.html").read_text()
    assert data["guarantee"]["epsilon"] <= 2.0 and made["accuracy"].cells[2] in page
    assert page.count("<svg") == 3 and {f["name"] for f in data["figures"]} == set(made.figures)
    with pytest.raises(ValueError, match="html"):
        made.save(tmp_path / "e.txt")


def test_a_count_that_is_all_noise_is_refused():
    made = CLF.evaluate(X[:30], Y[:30], epsilon=0.01)
    assert made["AUC"].value is None and "refused" in str(made["AUC"])
    assert made["accuracy"].value is None  # nor is it known how many rows have a label


# ------------------------------------------------------------------------------------------------- coverage


def benchmark():
    spec = importlib.util.spec_from_file_location(
        "evaluation_benchmark", ROOT / "benchmarks" / "evaluation.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def everybody():
    """A model and the cells of everybody, made once for all budgets: that takes longer than the repetitions."""
    return cache(benchmark().everybody)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_intervals_cover(everybody, epsilon):
    covered(everybody, 2, "replace-one", epsilon, 150, 0.91)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("adjacency", prepriv.domain.ADJACENCIES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_intervals_cover_95_percent_of_a_thousand(everybody, classes, adjacency, epsilon):
    covered(everybody, classes, adjacency, epsilon, 1000, 0.95)


def covered(everybody, classes, adjacency, epsilon, repetitions, least):
    shared = benchmark()
    model, of = everybody(classes, adjacency)
    truth, found = shared.repetitions(model, of, plan_evaluation(model, n=5000, epsilon=epsilon), repetitions)
    shares = {name: line[0] for name, line in shared.summary(truth, found).items()}
    assert min(shares.values()) >= least, shares


def test_the_whole_table_of_a_holdout_is_named_too():
    """A model with a holdout was trained on fewer records than its run declared: both numbers warn, fewer test rows do not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = prepriv.PrivateClassifier(CLF.domain, epsilon=5.0, steps="linear", holdout=0.2).fit(X, Y)
    trained = clf.model_.declared.n
    assert trained < len(X)
    for n, told in ((len(X), f"{trained:,} declared"), (trained, f"{trained:,} declared"), (trained - 1, "")):
        warned = as_trained(plan_evaluation(clf.model_, n=n), clf.model_)
        assert told in warned and bool(warned) == bool(told)
    assert f"{len(X):,} test rows" in as_trained(plan_evaluation(clf.model_, n=len(X)), clf.model_)


@pytest.mark.parametrize(("fewer", "told"), [(0, "no change only if"), (1, "Nothing in these numbers asks")])
def test_nothing_to_change_does_not_stand_under_rows_that_may_be_those_of_the_training(fewer, told):
    """Under "the score says nothing about new records" the page said that nothing in its numbers asked for a change."""
    model, n = CLF.model_, CLF.model_.declared.n - fewer
    plan = plan_evaluation(model, n=n, epsilon=5.0, measures=("accuracy", "confusion"))
    right, wrong = 0.45 * n, 0.05 * n
    counts = {
        "accuracy": np.array([2 * right, 2 * wrong, 0.0]),
        "confusion": np.array([[right, wrong], [wrong, right]]),
    }
    made = PrivateEvaluation(plan, counts, True, which_rows=which_rows(plan, model))
    assert ("paid for twice" in str(made)) == (not fewer)
    for said in (str(made), made.to_html()):
        assert [one for one in ("no change only if", "Nothing in these numbers asks") if one in said] == [
            told
        ]


@pytest.mark.parametrize(("pair", "end"), [((-2000.0, 3000.0, 0.0), 0.0), ((3000.0, -2000.0, 0.0), 1.0)])
def test_a_share_that_noise_took_out_of_its_range_is_no_certainty(pair, end):
    """A count of -9 deviations was printed as 0 [0, 0]. The interval keeps one deviation of the noise, which only widens it."""
    found = share_of_n("share", np.array(pair), 1000, 300.0)
    assert found.value == end and found.low < found.high and found.high - found.low >= found.noise
    inside = share_of_n("share", np.array([500.0, 500.0, 0.0]), 1000, 30.0)
    assert inside.low < 0.5 < inside.high


def test_a_loaded_model_is_measured_as_its_estimator_is(tmp_path):
    loaded = prepriv.Model.load(CLF.model_.save(tmp_path))
    Ledger.create(tmp_path / "L.db", "test", epsilon=5, delta=1e-4)
    made = loaded.evaluate(X, Y, epsilon=2.0, measures="accuracy", ledger=tmp_path / "L.db")
    assert made.plan.delta == CLF.delta and [*made.figures] == ["accuracy"]
    assert made.plan.hash == CLF.evaluate(X, Y, epsilon=2.0, measures="accuracy").plan.hash
    assert len(Ledger.open(tmp_path / "L.db").entries()) == 1


def _of_right_scores(p, hit):
    """A measurement, nearly without noise, of probabilities that are right."""
    domain = prepriv.Domain.box(0, 1, features=1, classes=[0, 1])
    plan = plan_evaluation(domain, n=len(p), epsilon=1e4, measures="scores")
    cells = 2 * np.searchsorted(plan.edges, p, side="right") + hit
    return PrivateEvaluation(plan, release(plan, {"scores": cells}, ExactSession()), False)


@pytest.mark.parametrize(
    ("spread", "lower"),
    [
        (0.15, (0.01, 0.045)),
        (0.3, (0.02, 0.055)),
        (0.5, (0.025, 0.04)),
        (1, (0.015, 0.022)),
        (2, (0.007, 0.01)),
        (3, (0.004, 0.006)),
    ],
)
@pytest.mark.parametrize("share", [0.05, 0.2, 0.35, 0.5])
def test_the_auc_of_bins_is_below_that_of_scores_and_the_print_says_by_how_much(spread, lower, share):
    """Readers compared it with the AUC of the scores. docs/evaluate.md has the numbers; the print did not say it."""
    roc_auc_score = pytest.importorskip("sklearn.metrics").roc_auc_score
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(-np.log(share / (1 - share)) - spread * rng.normal(size=100_000)))
    hit = (rng.random(len(p)) < p).astype(int)
    made = _of_right_scores(p, hit)
    assert lower[0] < roc_auc_score(hit, p) - made["AUC"].value < lower[1]
    assert any("in 10 bins" in note and "AUC" in note for note in made.notes)
    assert "AUC" in made and "accuracy" not in made  # `in` fell through to [0], a KeyError


def test_the_calibration_gap_is_beside_the_middles_of_bins_and_not_beside_the_scores():
    """Probabilities that are right: the gap is -0.011 where most of them lie in the lower halves of wide bins. docs/evaluate.md says so."""
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(1 - 0.5 * rng.normal(size=100_000)))
    hit = (rng.random(len(p)) < p).astype(int)
    made = _of_right_scores(p, hit)
    assert abs((hit - p).mean()) < 0.003 and -0.014 < made["calibration gap"].value < -0.008
