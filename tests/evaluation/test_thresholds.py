"""The table of thresholds: what the released counts of the scores say, and the weight that decides as the threshold does."""

from __future__ import annotations

import re

import numpy as np
import pytest

from prepriv import Domain
from prepriv.commands.printing import console, print_measured
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.plans.decision import decision
from prepriv.release.advice import to_do

SCORES = np.array(
    [[3000.0, 20.0], [500.0, 60.0], [200.0, 120.0], [60.0, 300.0]]
)  # (bin, miss or hit) of the second class


def made_of(scores, classes=("alive", "dead"), measures="scores"):
    domain = Domain.box(0, 1, 2, list(classes), n=4260)
    plan = plan_evaluation(domain, n=4260, epsilon=4.0, measures=measures, bins=[0.1, 0.3, 0.6])
    return PrivateEvaluation(plan, {name: np.asarray(scores) for name in plan.releases}, True)


def test_recall_and_precision_are_those_of_the_counts():
    found = made_of(SCORES).thresholds
    assert [t.above for t in found] == [0.1, 0.3, 0.6] and {t.of for t in found} == {"dead"}
    for k, t in enumerate(found):
        hits, alarms = SCORES[k + 1 :, 1].sum(), SCORES[k + 1 :].sum()
        assert t.recall.value == pytest.approx(hits / 500) and t.recall.low < t.recall.value < t.recall.high
        assert t.precision.value == pytest.approx(hits / alarms, abs=1e-9)


def test_the_rarer_class_is_told_where_it_comes_first_too():
    turned = SCORES[::-1, ::-1]  # the same model, its classes named the other way round
    one, two = made_of(SCORES).thresholds, made_of(turned, ("died", "survived")).thresholds
    assert {t.of for t in two} == {"died"} and [t.above for t in two] == pytest.approx([0.4, 0.7, 0.9])
    assert [t.recall.value for t in two] == [t.recall.value for t in one]
    assert [t.precision.value for t in two] == [t.precision.value for t in one]


def test_the_weight_decides_as_the_threshold_does():
    p = np.linspace(0, 1, 1001)
    for t in made_of(SCORES).thresholds:
        _, weights = decision(Domain.box(0, 1, 2, ["alive", "dead"]), {"dead": t.weight})
        apart = np.abs(p - t.above) > 1e-9
        assert np.array_equal((weights[1] * p > weights[0] * (1 - p))[apart], (p > t.above)[apart])


def test_lines_without_enough_rows_and_models_of_more_classes_have_none():
    few = SCORES.copy()
    few[3] = [2, 1]
    assert [t.above for t in made_of(few).thresholds] == [0.1, 0.3]
    assert made_of(np.zeros((4, 2)), ("a", "b", "c")).thresholds == ()
    assert "thresholds" not in made_of([[1000, 10], [10, 3240]], measures="confusion").to_json()


def test_where_noise_hides_all_of_them_one_line_says_why_there_is_no_table(capsys):
    """docs/imbalance.md promises a table: 8 % injuries among 939 records had none, without a word."""
    made = made_of(np.array([[400.0, 2.0], [30.0, 3.0], [9.0, 1.0], [3.0, 4.0]]))
    assert made.thresholds == () and made.no_thresholds in made.fragment()
    print_measured(made)
    assert "Thresholds: no table" in " ".join(capsys.readouterr().out.split())
    for has in (made_of(SCORES), made_of(np.zeros((4, 2)), ("a", "b", "c"))):
        assert has.no_thresholds == "" and "no table" not in has.fragment()


@pytest.mark.parametrize(("rare", "named"), [(75, True), (40, False), (300, False)])
def test_scores_alone_are_advised_where_they_would_be_enough_for_the_auc(rare, named):
    """8 % injuries at an epsilon of 1: AUC was refused beside three other measures, and alone it is given."""
    domain = Domain.box(0, 1, 2, ["0", "1"], n=939)
    plan = plan_evaluation(domain, n=939, epsilon=1.0, delta=1e-5)
    right = np.array([864.0 + 75 - rare, 0.0, 0.0])
    scores = np.tile([(939 - rare) / 10, rare / 10], (10, 1))
    confusion = np.array([[939.0 - rare, 0.0], [rare, 0.0]])
    counts = {"accuracy": right, "confusion": confusion, "scores": scores, "log_loss": right}
    for aside in (None, plan.guarantee):
        found = PrivateEvaluation(plan, counts, True, whole=aside).quality
        told = next((t for t in to_do(found, weighed=False, weak=False) if t.startswith("AUC")), "")
        assert ("--measure scores" in told) == named and ("about 75 measured records" in told) == named
        assert ("costs its whole ε again" in told) == (named and aside is not None)
        assert ("costs its ε again" in told) == (named and aside is None)
    alone = plan_evaluation(domain, n=939, epsilon=1.0, delta=1e-5, measures="scores")
    given = PrivateEvaluation(alone, {"scores": scores}, True).figures["AUC"].value is not None
    assert given == (rare >= 75)


def test_page_print_and_data_have_the_same_lines(capsys):
    made = made_of(SCORES)
    page, data = made.to_html(), made.to_json()["thresholds"]
    print_measured(made)
    printed = capsys.readouterr().out
    assert not console.quiet
    for t, one in zip(made.thresholds, data):
        assert all(f"<td>{cell}</td>" in page for cell in t.cells)
        assert re.search(r".*".join(map(re.escape, t.cells)), printed)
        assert one["recall"]["value"] == t.recall.value and one["class"] == "dead" and one["above"] == t.above
