"""Weights of classes: argmax of w p, for every learner; counts whose sensitivity no neighbour beats."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import warnings

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

import prepriv
from prepriv import Budget
from prepriv.audit.replay import Recorder
from prepriv.cli import run
from prepriv.evaluation.cells import predicted
from prepriv.learners import GradientDescent, SquaredHinge
from prepriv.plans.decision import decision, decision_in_words
from prepriv.plans.plan import make_plan
from prepriv.preprocessing import ClassCounts
from prepriv.preprocessing.class_counts import CountedClasses, share_among
from prepriv.release.advice import to_do
from prepriv.runs.train import train
from prepriv.tables.encoding import encode

RNG = np.random.default_rng(0)
X = RNG.random((3000, 3))
Y = np.where(X[:, 0] + 0.1 * RNG.normal(size=3000) > 0.9, "yes", "no")
DOMAIN = prepriv.Domain.from_json(  # of an earlier version: not in ascending order
    prepriv.Domain.box(0, 1, 3, ["no", "yes"]).to_json() | {"classes": ["yes", "no"]}
)


def fitted(**options):
    return prepriv.PrivateClassifier(DOMAIN, epsilon=2.0, delta=1e-6, **options).fit(X, Y)


@pytest.fixture(scope="module")
def balanced():
    return fitted(class_weight="balanced")


def test_balanced_weights_find_the_rare_class(balanced):
    assert balanced_accuracy_score(Y, balanced.predict(X)) > 0.85
    assert balanced_accuracy_score(Y, fitted().predict(X)) < 0.8
    counts = (np.array([(Y == "yes").sum(), (Y == "no").sum()])).astype(float)
    np.testing.assert_allclose(balanced.model_.class_weight, counts.min() / counts, rtol=0.2)
    assert balanced.guarantee_.epsilon(1e-6) <= 2.0
    assert [s.step.name for s in balanced.plan_.steps][-1] == "ClassCounts"


def test_a_threshold_is_on_the_second_of_the_classes_in_order():
    made = fitted(threshold=0.2)
    assert list(made.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(made.predict(X) == "yes", made.predict_proba(X)[:, 1] > 0.2)
    assert made.plan_.class_weight == (0.8, 0.2)  # as declared: yes, no
    said = decision_in_words(made.plan_.class_weight, DOMAIN.classes)
    assert said.index('"yes" above a probability of 0.2') < said.index('"no" otherwise')
    assert said in made.report_.summary.predicts
    assert (
        said == decision_in_words((0.8, 0.2), DOMAIN.classes) != decision_in_words((0.2, 0.8), DOMAIN.classes)
    )
    with pytest.warns(UserWarning, match="threshold is read by fit"):
        made.set_params(threshold=0.9)
    np.testing.assert_array_equal(made.predict(X) == "yes", made.predict_proba(X)[:, 1] > 0.2)


def test_weights_hold_for_a_learner_without_a_link_and_through_the_artifact(tmp_path, balanced):
    learner = GradientDescent(SquaredHinge(), steps=20, clip_norm=1.0)
    with pytest.warns(UserWarning, match="loss squared-hinge are not calibrated"):
        hinge = fitted(learner=learner, class_weight={"yes": 9.0})
    p = hinge.model_.predict_proba(X)
    np.testing.assert_array_equal(hinge.predict(X) == "yes", 9 * p[:, 0] >= p[:, 1])
    for made in (hinge, balanced):
        read = prepriv.Model.load(made.model_.save(tmp_path / "m", overwrite=True))
        np.testing.assert_array_equal(read.predict(X), made.predict(X))
        np.testing.assert_array_equal(
            predicted(read, encode(X, DOMAIN)), read.predict_index(X)
        )  # of evaluate and choose
        flat = read.flattened()
        np.testing.assert_array_equal(flat.class_weight, read.class_weight)
        assert (flat.predict(X) == read.predict(X)).mean() > 0.98


def test_weights_are_in_the_hash_and_cost_nothing():
    plain = prepriv.PrivateClassifier(DOMAIN).plan(1000)
    weighed = prepriv.PrivateClassifier(DOMAIN, class_weight={"yes": 3}).plan(1000)
    assert weighed.hash != plain.hash and weighed.learner_noise == plain.learner_noise
    assert weighed.guarantee.epsilon(1e-5) == plain.guarantee.epsilon(1e-5)
    counted = prepriv.PrivateClassifier(DOMAIN, class_weight="balanced").plan(1000)
    assert counted.learner_noise > plain.learner_noise


@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
def test_no_neighbour_moves_the_counts_by_more_than_is_stated(adjacency):
    """Every label of one record by every other, -1 (no declared class) included: the bound is attained, not beaten."""
    n, classes = 6, (0, 1, 2)
    domain = prepriv.Domain.box(0, 1, 2, classes, n=n, adjacency=adjacency)
    step = ClassCounts(3, payment=Budget(0.1))
    plan = make_plan(
        domain, (step,), GradientDescent(steps=1, loss=prepriv.learners.Softmax()), epsilon=1.0, delta=1e-4
    )

    def released(labels):
        session = Recorder()
        train(plan, np.full((len(labels), 2), 0.5), labels, session=session, counted=False)
        call = next(c for c in session.calls if c.name == "ClassCounts")
        return np.asarray(call.exact, float) * 2.0**call.mechanism.exponent, call

    base = [0, 0, 1, 1, 2, 2]
    worst = 0.0
    first, call = released(base)
    for label in (*classes, "unknown"):
        other = [label, *base[1:]] if adjacency == "replace-one" else base[1:]
        worst = max(worst, float(np.linalg.norm(released(other)[0] - first)))
    stated = plan.steps[0].shift
    assert worst <= stated <= worst * 1.001
    assert call.sensitivity * 2.0**call.mechanism.exponent == pytest.approx(stated)
    assert plan.steps[0].noise_multiplier > 0


def test_counts_that_are_mostly_noise_stay_positive():
    domain = prepriv.Domain.box(0, 1, 1, tuple(range(8)))
    made = prepriv.PrivateClassifier(domain, epsilon=0.1, delta=1e-6, class_weight="balanced")
    made.fit(np.full((20, 1), 0.5), np.zeros(20, int))
    weights = made.model_.class_weight
    assert (weights > 0).all() and weights.max() == 1.0
    with pytest.raises(ValueError, match="above 0"):
        CountedClasses(np.array([1.0, 0.0]))


@pytest.mark.parametrize(
    "options, said",
    [
        ({"class_weight": "balance"}, "class_weight must be 'balanced' or map classes"),
        ({"class_weight": {"maybe": 2}}, "names 'maybe', which is not a declared class"),
        ({"class_weight": {"yes": 0}}, "class_weight of 'yes'"),
        ({"class_weight": {"yes": float("inf")}}, "class_weight of 'yes'"),
        ({"class_weight": {}}, "class_weight must be"),
        ({"threshold": 0}, "threshold"),
        ({"threshold": 0.5, "class_weight": "balanced"}, "not both"),
    ],
)
def test_bad_weights_are_one_sentence_before_anything_is_read(options, said):
    with pytest.raises(ValueError, match=said):
        fitted(**options)


def test_a_threshold_needs_two_classes_and_weights_need_classes():
    with pytest.raises(ValueError, match="threshold is for two classes"):
        decision(prepriv.Domain.box(0, 1, 1, (0, 1, 2)), threshold=0.5)
    with pytest.raises(ValueError, match="declares a target"):
        decision(prepriv.Domain.box(0, 1, 1, target=prepriv.Numeric(0, 1)), "balanced")
    with pytest.raises(ValueError, match=r"counts 3 classes; .* 2"):
        make_plan(
            DOMAIN, (ClassCounts(3, payment=Budget(0.1)),), fitted_learner(), epsilon=1, delta=1e-5, n=9
        )
    with pytest.raises(ValueError, match="each of the 2 classes"):
        dataclasses.replace(prepriv.PrivateClassifier(DOMAIN).plan(100), class_weight=(1.0,))


def fitted_learner():
    return GradientDescent(prepriv.learners.Logistic(), steps=2)


def test_an_artifact_with_other_weights_is_refused(tmp_path):
    path = fitted(class_weight={"yes": 3}).model_.save(tmp_path)
    for bad in ([3.0], [3.0, 0.0], [3.0, "x"], {"yes": 3}):
        data = json.loads(path.read_text())
        data["plan"]["class_weight"] = bad
        path.write_text(json.dumps(data))
        with pytest.raises(ValueError):
            prepriv.Model.load(path)


SCHEMA = """label: {{name: y, classes: ["no", "yes"]{}}}
columns:
  a: {{type: numeric, low: 0, high: 1}}
"""


@pytest.mark.parametrize(
    "declared, options, code, said",
    [
        (", threshold: 0.2", [], 0, None),
        ("", ["--class-weight", "{yes: 4}"], 0, None),
        (", class_weight: {yes: 4}", ["--threshold", "0.3"], 0, None),
        ("", ["--class-weight", "balanced", "--learner", "{kind: GradientDescent, steps: 5}"], 0, None),
        (", class_weight: some", [], 2, "class_weight must be"),
        ("", ["--threshold", "1"], 2, "threshold"),
        ("", ["--class-weight", "{ja: 4}"], 2, "not a declared class"),
        ("", ["--learner", "{kind: "], 2, "--learner, line 1"),
        ("", ["--learner", "Foo"], 2, "kind must be one of"),
        ("", ["--learner", "[1]"], 2, "learner"),
    ],
)
def test_the_command_line_says_the_same(tmp_path, monkeypatch, capsys, declared, options, code, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "S.yaml").write_text(SCHEMA.format(declared))
    rows = itertools.islice(zip(X[:, 0], Y), 400)
    (tmp_path / "d.csv").write_text("a,y\n" + "".join(f"{a},{y}\n" for a, y in rows))
    assert run(["train", "d.csv", "--schema", "S.yaml", *options]) == code
    told = capsys.readouterr()
    assert (tmp_path / "run" / "model").exists() == (code == 0)
    if said is not None:
        assert said in told.err and len(told.err.strip().splitlines()) == 1
        return
    model = prepriv.Model.load(tmp_path / "run")
    assert model.class_weight is not None
    (tmp_path / "new.csv").write_text("a\n0.1\n0.95\n")
    assert run(["predict", "run/model", "new.csv"]) == 0
    header, *lines = capsys.readouterr().out.split()
    assert header.startswith("prediction,p(")  # the predicted class need not be the most probable one
    assert [line.split(",")[0] for line in lines] == list(model.predict([[0.1], [0.95]]))


def test_weights_are_doubted_where_a_loss_has_no_probabilities_and_only_there():
    learner = GradientDescent(SquaredHinge(), steps=20, clip_norm=1.0)
    for more in ({"class_weight": "balanced"}, {"threshold": 0.2}):
        with pytest.warns(UserWarning, match="not calibrated"):
            prepriv.PrivateClassifier(DOMAIN, learner=learner, **more).plan(3000)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            prepriv.PrivateClassifier(DOMAIN, learner="auto", **more).plan(3000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepriv.PrivateClassifier(DOMAIN, learner=learner).plan(1000)


def test_an_evaluation_in_python_advises_as_the_command_does(balanced):
    """ "does not beat always answering good", and nothing said that the weights cost that accuracy."""
    for made, weighed in ((balanced, True), (fitted(), False)):
        found = made.evaluate(X[:2000], Y[:2000], epsilon=5.0)
        told = [*to_do(found.quality, weighed=weighed, weak=False)]
        assert found.weighed is weighed and told and all(line in str(found) for line in told)
    held = fitted(class_weight={"yes": 3}, holdout=0.3)
    assert held.evaluation_.weighed


@pytest.mark.parametrize("adjacency", ("replace-one", "add-or-remove-one"))
def test_counts_that_noise_decides_are_told_before_the_charge_and_what_is_named_is_enough(adjacency):
    """602 patients of whom 79 are ill, ε = 1: twenty fits called from 1 % to 80 % of them ill, without a word."""
    domain = prepriv.Domain.box(0, 1, 3, ["no", "yes"], adjacency=adjacency)

    def told(n, epsilon, **weights):
        clf = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=1e-5, steps=[], **weights)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            clf.plan(n)
        return " ".join(str(w.message) for w in caught if "counts each class" in str(w.message))

    said = told(602, 1.0, class_weight="balanced")
    noise = int(re.findall(r"noise of up to about (\d+), of 602 records", said)[0])
    epsilon, records = re.findall(r"epsilon = ([\d.]+) in place of 1, or ([\d,]+) records", said)[0]
    assert not told(602, float(epsilon), class_weight="balanced")
    assert not told(int(records.replace(",", "")), 1.0, class_weight="balanced")
    assert told(602, 0.9 * float(epsilon), class_weight="balanced") and not told(
        602, 1.0, class_weight={"yes": 6.6}
    )
    plan = prepriv.PrivateClassifier(domain, epsilon=1.0, delta=1e-5, steps=[], class_weight="balanced").plan(
        602
    )
    rows = np.random.default_rng(0).random((602, 3))
    labels = np.where(np.arange(602) < 79, "yes", "no")
    off = [
        np.ptp(np.array(fit.model_.maps[-1].counts)) - (602 - 2 * 79)
        for fit in (
            prepriv.PrivateClassifier(
                domain.with_n(602), epsilon=1.0, delta=1e-5, steps=[], class_weight="balanced", threads=1
            ).fit(rows, labels)
            for _ in range(20)
        )
    ]
    assert plan.n == 602 and np.std(off) < np.sqrt(2) * noise / 1.96 * 1.6


def test_the_commonest_class_by_noisy_counts_stands_with_its_interval():
    """72.6 stood there, and 92: the truth was 86.9."""
    domain, held = prepriv.Domain.box(0, 1, 3, ["no", "yes"], n=602), 0
    rows, labels = np.random.default_rng(0).random((602, 3)), np.where(np.arange(602) < 79, "yes", "no")
    for _ in range(10):
        clf = prepriv.PrivateClassifier(
            domain, epsilon=1.0, delta=1e-5, steps=[], class_weight="balanced", threads=1
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told = " ".join(clf.fit(rows, labels).report_.summary.good)
        name, low, high = re.findall(r'predicting "(\w+)".* about \d+ \((\d+) to (\d+)\) times', told)[0]
        held += float(low) <= 100 * (523 if name == "no" else 79) / 602 <= float(high)
    assert held >= 9


@pytest.mark.parametrize("noise", (0.3, 5.0, 15.0, 53.0))
@pytest.mark.parametrize(
    "counts",
    (
        [523, 79],
        [301, 301],
        [590, 12],
        [300, 200, 102],
        [80, 50],
        [60] * 10,
        [500, 40, 30, 20, 12],
        [3, 0, 0],
    ),
)
def test_an_interval_of_share_among_counts_holds_whichever_class_they_choose(counts, noise):
    rng, true, missed, draws = np.random.default_rng(0), np.array(counts, float), 0, 1000
    for _ in range(draws):
        released = np.maximum(true + rng.normal(0, noise, len(true)), max(1.0, noise))
        at = int(released.argmax())
        low, high = share_among(released, noise, at)
        missed += not low <= true[at] / true.sum() <= high
    assert missed <= 0.05 * draws + 3 * np.sqrt(0.05 * 0.95 * draws)


@pytest.mark.parametrize("held", (None, 0.3))
def test_of_a_holdout_noisy_counts_are_told_in_records_of_the_whole_table(held):
    """What was named was about the part that trains, and not the number that a user types."""

    def told(n, epsilon):
        clf = prepriv.PrivateClassifier(
            prepriv.Domain.box(0, 1, 3, ["no", "yes"]),
            epsilon=epsilon,
            delta=1e-5,
            steps=[],
            class_weight="balanced",
            holdout=held,
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            clf.plan(n)
        return " ".join(str(w.message) for w in caught if "counts each class" in str(w.message))

    said = told(602, 1.0)
    assert ("602 records, of which about 421 train" in said) is (held is not None)
    records = int(re.findall(r"or ([\d,]+) records in place of 602", said)[0].replace(",", ""))
    assert not told(records, 1.0) and told(int(0.9 * records), 1.0)


def test_candidates_with_balanced_weights_name_the_budget_of_the_whole_choice():
    rng = np.random.default_rng(0)
    rows, domain = rng.random((602, 3)), prepriv.Domain.box(0, 1, 3, ["no", "yes"])
    labels = np.where(rows[:, 0] > 0.8, "yes", "no")
    found = [{"steps": [[]], "class_weight": ["balanced"], "learner": ["auto"]}, {"steps": ["linear"]}]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        prepriv.choose(found, rows, labels, domain, epsilon=1.0, delta=1e-5)
    said = {str(w.message) for w in caught if "counts each class" in str(w.message)}
    assert said and not any("epsilon =" in one and "in place of 1" not in one for one in said), said
