"""Rows whose label is empty, or none that was declared: figures are about the others, and it is said how many those are.

They counted as wrong, and not among those that the commonest class was compared with: a model of 97.7 % was "right less often than
always answering no" where 15 % of the labels were empty, and a group with more empty labels was treated worse.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv.evaluation.cells import row_entries
from prepriv.evaluation.evaluate import release
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.release.quality import Quality
from prepriv.tables.encoding import encode, encode_labels, encode_targets

BOTH = prepriv.domain.ADJACENCIES
N = 12_000
COLUMNS = {"x": prepriv.Numeric(0, 1), "g": prepriv.Categorical(["a", "b"])}


def rows(seed, gaps):
    """(table, labels with gaps, whether there is a gap); gaps: shares of groups a and b."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"x": rng.random(N), "g": rng.choice(["a", "b"], N)})
    label = np.where((table.x > 0.8) ^ (rng.random(N) < 0.03), "yes", "no").astype(object)
    gone = rng.random(N) < np.where(table.g == "a", *gaps)
    return table, np.where(gone, None, label), gone


def measured(model, table, targets, seed, **options):
    plan = plan_evaluation(model, n=len(table), epsilon=1.0, **options)
    counts = release(
        plan,
        row_entries(plan, model, encode(table, model.domain), targets),
        NoisySession(NoiseSource.for_tests(seed)),
    )
    return PrivateEvaluation(plan, counts, True)


@pytest.fixture(scope="module", params=BOTH)
def classifier(request):
    domain = prepriv.Domain(COLUMNS, ["no", "yes"], label="y", adjacency=request.param, n=N)
    table, label, _ = rows(0, (0.0, 0.0))
    return prepriv.PrivateClassifier(domain, epsilon=float("inf"), steps="linear").fit(table, label)


def inside(figure, truth):
    return figure.low <= truth <= figure.high


@pytest.mark.parametrize("gaps", [(0.0, 0.0), (0.02, 0.25), (0.6, 0.6)])
def test_figures_are_those_of_the_rows_with_a_label(classifier, gaps):
    model, held, seen = classifier.model_, 0, 0
    for seed in range(1, 5):
        table, label, gone = rows(seed, gaps)
        made = measured(model, table, encode_labels(label, model.domain.classes), seed, by="g")
        right = (classifier.predict(table) == label)[~gone]
        truth = {"accuracy": right.mean()}
        for name in ("a", "b"):
            held += inside(made.groups[name]["accuracy"], right[(table.g == name)[~gone]].mean())
        held += inside(made["accuracy"], truth["accuracy"])
        seen += 3
        labelled, noise = made.all_rows.labelled
        assert abs(labelled - (~gone).sum()) < 5 * noise
    assert held >= seen - 1, (held, seen)


def test_the_summary_says_how_many_rows_it_is_about(classifier):
    model = classifier.model_
    table, label, _ = rows(9, (0.02, 0.25))
    made = measured(model, table, encode_labels(label, model.domain.classes), 9, by="g")
    told: Quality = made.quality
    assert told.beats_the_commonest and "have a declared class as their label" in told.where
    assert not any(
        "it is right for" in one for one in told.between
    )  # empty labels are not a group treated worse
    full = measured(model, table, encode_labels(rows(9, (0.0, 0.0))[1], model.domain.classes), 9)
    assert "as their label" not in full.quality.where and full.quality.warning is None
    other = measured(
        model, table, np.full(N, -1, np.int32), 9
    )  # true and false where "yes" and "no" were declared
    assert (
        other.quality.right.value is None and "WARNING" in str(other) and "Nothing in these" not in str(other)
    )
    few = measured(
        model, *rows(9, (0.6, 0.6))[:1], encode_labels(rows(9, (0.6, 0.6))[1], model.domain.classes), 9
    )
    assert "Where labels are truly missing, nothing has to be corrected" in str(few)
    assert "Unless labels are truly missing, correct" in str(few)


@pytest.mark.parametrize("adjacency", BOTH)
def test_numbers_that_are_missing_make_no_error(adjacency):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"x": rng.random(N), "g": rng.choice(["a", "b"], N)})
    y = 10 * table.x.to_numpy() + rng.normal(0, 1, N)
    domain = prepriv.Domain(COLUMNS, target=prepriv.Numeric(-5, 15), label="y", adjacency=adjacency, n=N)
    reg = prepriv.PrivateRegressor(domain, epsilon=float("inf"), steps="linear").fit(table, y)
    off = reg.predict(table) - np.clip(y, -5, 15)
    gone = rng.random(N) < 0.3
    made = measured(reg.model_, table, encode_targets(np.where(gone, np.nan, y), domain), 4, error_bound=20.0)
    left = off[~gone]
    r2 = 1 - (left**2).sum() / ((y[~gone] - y[~gone].mean()) ** 2).sum()
    for name, truth in (
        ("mean absolute error", np.abs(left).mean()),
        ("root mean squared error", np.sqrt((left**2).mean())),
        ("R2", r2),
    ):
        assert inside(made[name], truth), (name, truth, str(made[name]))
    assert "have a declared number as their label" in made.quality.where


def test_rows_that_were_declared_and_are_not_there_are_not_called_unlabelled():
    """Under add-or-remove-one the declared number need not be the true one: rows that do not exist have no label to miss."""
    domain = prepriv.Domain(COLUMNS, ["no", "yes"], label="y", adjacency=BOTH[1], n=N)
    table, label, _ = rows(2, (0.0, 0.0))
    model = prepriv.PrivateClassifier(domain, epsilon=float("inf"), steps="linear").fit(table, label).model_
    for measures in (None, "confusion"):
        plan = plan_evaluation(model, n=round(1.2 * N), epsilon=1.0, measures=measures)
        of = row_entries(plan, model, encode(table, domain), encode_labels(label, domain.classes))
        made = PrivateEvaluation(plan, release(plan, of, NoisySession(NoiseSource.for_tests(1))), True)
        assert "as their label" not in made.quality.where and made.quality.warning is None


@pytest.mark.parametrize("deviations", [-4.2, -6.0])
def test_noise_alone_is_not_said_to_be_missing_labels(deviations):
    """An analyst with 378 rows, five groups and ε = 0.1 was told that "only about 0 of the 378" have a label. All had."""
    domain = prepriv.Domain(
        {"x": prepriv.Numeric(0, 1), "g": COLUMNS["g"]}, target=prepriv.Numeric(0, 1), label="y", n=378
    )
    table = pd.DataFrame({"x": np.linspace(0, 1, 378), "g": ["a", "b"] * 189})
    model = prepriv.PrivateRegressor(domain, epsilon=float("inf"), steps="linear").fit(table, table.x).model_
    plan = plan_evaluation(model, n=378, epsilon=0.1, measures=("r2",), by="g")
    counts = np.zeros((len(plan.groups), 3))
    counts[0, 0] = 378 + 3 * deviations * plan.noise * np.sqrt(len(plan.groups) * 2 / 3)
    made = PrivateEvaluation(plan, {name: counts for name in plan.releases}, True)
    labelled, noise = made.all_rows.labelled
    assert (labelled - 378) / noise == pytest.approx(deviations) and labelled < 0
    assert (made.quality.warning is not None) == (deviations < -5)
