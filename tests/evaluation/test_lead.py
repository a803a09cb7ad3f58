"""Whether a model beats the commonest class is decided on the difference, of the same counts.

Two intervals that overlap hid leads of 1.4 to 4.4 standard errors: records that are right either way are in both.
"""

from dataclasses import replace

import numpy as np
import pytest

import prepriv
from prepriv import Domain
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.evaluation.measured_quality import lead_of, quality_of
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.release.advice import to_do
from prepriv.release.quality import Quality
from prepriv.release.shares import Share

RUNS = 600


def measured(cells, n, epsilon, runs=RUNS, seed=0):
    """The quality of measurements of people who are in these cells (true, predicted) with these shares: drawn again, with fresh noise."""
    cells = np.asarray(cells, float)
    rng = np.random.default_rng(seed)
    domain = Domain.box(0, 1, features=1, classes=list(range(len(cells))))
    plan = plan_evaluation(domain, n=n, epsilon=epsilon, delta=1e-5, measures="confusion")
    for _ in range(runs):
        counts = rng.multinomial(n, cells.ravel()).reshape(cells.shape)
        noisy = counts + plan.noise * rng.normal(size=cells.shape)
        yield quality_of(PrivateEvaluation(plan, {"confusion": noisy}, True))


GOOD, WORTHLESS = [[0.25, 0.15], [0.15, 0.45]], [[0.2, 0.2], [0.2, 0.4]]
PEOPLE = [
    GOOD,
    WORTHLESS,
    [[0.0, 0.4], [0.0, 0.6]],  # always the commonest
    [[0.05, 0.02], [0.02, 0.91]],
    [[0.025, 0.025], [0.025, 0.925]],
    [[0.25, 0.25], [0.25, 0.25]],
    np.full((3, 3), 1 / 9),
    np.full((10, 10), 1 / 100),
]


@pytest.mark.parametrize("n, epsilon", [(80, 10.0), (373, 1.5), (5000, 0.3), (2000, 1e3)])
@pytest.mark.parametrize("cells", PEOPLE, ids=range(len(PEOPLE)))
def test_the_interval_holds_the_lead_and_chance_shows_none(cells, n, epsilon):
    """Of the class with the most noisy records alone, which noise chooses, three equal classes were held in 95 %, and ten in fewer."""
    cells = np.asarray(cells, float)
    lead = float(np.trace(cells) - cells.sum(axis=1).max())
    made = [q for q in measured(cells, n, epsilon) if q.lead.value is not None]
    held = np.mean([q.lead.low - 1e-12 <= lead <= q.lead.high + 1e-12 for q in made]) if made else 1.0
    assert held >= 0.955
    if lead < 1e-9:
        assert np.mean([q.beats_the_commonest for q in made]) <= 0.03
        assert np.mean([q.below_the_commonest for q in made]) <= 0.03


def test_a_lead_is_shown_more_often_than_by_two_intervals():
    """373 records, ε = 1.5, ten more of 100 right: two intervals show it in a third of the runs, the difference in seven of ten."""
    made = list(measured(GOOD, 373, 1.5))
    apart = np.mean([replace(q, lead=None).beats_the_commonest for q in made])
    shown = np.mean([q.beats_the_commonest for q in made])
    assert apart < 0.4 and shown > 0.65


def test_a_lead_is_no_further_from_0_than_both_shares_allow():
    """65 (57 to 72) of 100 and 52 (40 to 64) stood beside "15 (0 to 51)": with three classes and accuracy counted by itself."""
    rng = np.random.default_rng(3)
    cells = np.array([[0.2, 0.06, 0.04], [0.06, 0.42, 0.04], [0.08, 0.06, 0.04]])
    domain = Domain.box(0, 1, features=1, classes=["a", "b", "c"])
    plan = plan_evaluation(domain, n=380, epsilon=1.0, delta=1e-5, measures=("accuracy", "confusion"))
    for _ in range(20):
        counts = rng.multinomial(380, cells.ravel() / cells.sum()).reshape(3, 3)
        right = np.array([np.trace(counts), 380 - np.trace(counts), 0.0]) + plan.noise * rng.normal(size=3)
        noisy = {"accuracy": right, "confusion": counts + plan.noise * rng.normal(size=(3, 3))}
        found = quality_of(PrivateEvaluation(plan, noisy, True))
        if found.lead.value is not None:
            assert found.lead.low >= found.right.low - found.commonest.high - 1e-12
            assert found.lead.high <= found.right.high - found.commonest.low + 1e-12


def test_what_was_not_measured_has_no_lead():
    domain = Domain.box(0, 1, features=1, classes=["a", "b"])
    alone = plan_evaluation(domain, n=400, epsilon=1.0, delta=1e-5, measures="accuracy")
    made = PrivateEvaluation(alone, {"accuracy": np.array([300.0, 100.0, 0.0])}, True)
    assert lead_of(made.all_rows) is None and "more_right" not in str(made.quality.to_json())
    few = plan_evaluation(domain, n=400, epsilon=1.0, delta=1e-5, measures="confusion")
    refused = PrivateEvaluation(few, {"confusion": np.full((2, 2), 1.0)}, True).quality
    assert refused.lead.value is None and not refused.beats_the_commonest


def test_the_page_says_by_how_much():
    found = Quality(
        "rows", Share("right", 0.68, 0.60, 0.76), Share("b", 0.57, 0.47, 0.67), lead=Share("lead", 0.11, 0.04, 0.18)
    )  # fmt: skip
    good = " ".join(found.good())
    assert found.beats_the_commonest and "by 4 to 18 in 100" in good and "does not beat" not in good
    assert not any("always predicting" in said for said in to_do(found, weighed=False, weak=False))
    below = replace(found, lead=Share("lead", -0.11, -0.18, -0.04))
    assert below.below_the_commonest and "right less often" in (said := " ".join(below.good()))
    assert "by 4 to 18 in 100" in said
    open_ = replace(found, lead=Share("lead", 0.11, -0.01, 0.18))
    assert not open_.beats_the_commonest and "does not beat" in " ".join(open_.good())
    assert found.to_json()["more_right_than_the_commonest_class"]["low"] == 0.04


def test_probabilities_are_compared_with_the_shares_of_the_classes():
    """Log loss stood beside nothing: whether probabilities say more than the shares of the classes was not known."""
    rng = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    x, y = rng.uniform(0, 1, (6000, 2)), rng.choice(4, 6000, p=shares)
    x[:, 0] = (y + x[:, 0]) / 4  # the columns tell the classes
    clf = prepriv.PrivateClassifier(prepriv.Domain.box(0, 1, 2, classes=(0, 1, 2, 3)), epsilon=4)
    clf.fit(x[:3000], y[:3000])
    held, exact = 0, float(-shares @ np.log(shares))
    for _ in range(30):
        new = rng.choice(4, 3000, p=shares)
        rows = np.column_stack([(new + rng.uniform(0, 1, 3000)) / 4, rng.uniform(0, 1, 3000)])
        found = clf.evaluate(rows, new, epsilon=1).quality
        assert " better than the share of each class" in " ".join(found.good())
        held += found.loss_of_shares[1] <= exact <= found.loss_of_shares[2]
    assert held >= 26  # of 95 in 100
    worse = clf.evaluate(x[3000:], rng.permutation(y[3000:]), epsilon=1).quality
    assert " worse than the share of each class" in " ".join(worse.good())
    other = rng.choice(4, 3000, p=shares[::-1])  # rows and labels whose classes have other shares
    _, low, high = clf.evaluate(x[3000:], other, epsilon=4).quality.loss_of_shares
    assert low <= exact <= high and high - low < 0.2
    few = clf.evaluate(x[3000:3300], y[3000:3300], epsilon=0.3).quality
    assert few.loss_of_shares is None and "share of each class" not in " ".join(few.good())


def test_a_commonest_class_that_noise_may_have_chosen_is_called_perhaps_the_commonest():
    """A reader: of seven classes noise named the wrong one in 9 of 20 measurements, as a fact."""
    alike, apart = np.full((5, 5), 1 / 25), np.diag([0.6, 0.1, 0.1, 0.1, 0.1])
    for cells, said in ((alike, True), (apart, False)):
        for quality in measured(cells, 3000, 1.0, runs=20):
            assert said == ("perhaps the commonest class" in " ".join(quality.good()))
