"""`Model.noise_alone`: a function of what was released, true of fits on noise alone, false where there is something to learn."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import VotingClassifier

import prepriv
from prepriv import make_plan
from prepriv.audit import Recorder
from prepriv.engines.local import Threads
from prepriv.learners import CyclicSGD, FixedBatchSGD, GradientDescent, Logistic, PoissonSGD, Softmax
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.preprocessing import RandomFeatures, Rescale
from prepriv.release.advice import NoiseAlone, noise_in_words
from prepriv.release.model import BadArtifact, Model
from prepriv.release.quality import Quality
from prepriv.release.shares import Share
from prepriv.runs.noise_alone import NoisySums, _quantile
from prepriv.runs.run import execute, room_for
from prepriv.tables.encoding import encode, encode_labels

N, DOMAIN = 400, prepriv.Domain.box(0, 1, features=4, classes=["no", "yes"], n=400)
LEARNERS = (
    GradientDescent(Logistic(), steps=12, flatten=0.1, warm_up=0.2),
    GradientDescent(Softmax(), steps=7, weight_bound=3.0),
    PoissonSGD(Logistic(), batch_size=200, steps=10),
    FixedBatchSGD(Softmax(), batch_size=200, steps=10),
)
CANDIDATES = [GradientDescent(Logistic(), steps=k) for k in (5, 9)]
MADE = (RandomFeatures(40), Rescale(2.0))


@pytest.fixture(scope="module")
def table():
    """Rows and labels with something to learn."""
    x = np.random.default_rng(1).random((N, 4))
    return x, np.where(x[:, 0] + x[:, 1] > 1, "yes", "no")


def planned(learner, steps=(), epsilon=4.0, domain=DOMAIN):
    return make_plan(domain, steps, learner, epsilon=epsilon, delta=1e-5)


def ran(plan, x, labels, session, **options):
    return execute(
        plan, encode(x, plan.domain), encode_labels(labels, plan.domain.classes), session, **options
    )


def drawn(seed):
    return NoisySession(NoiseSource.for_tests(seed))


@pytest.mark.parametrize("steps", [(), MADE], ids=["rows", "made features"])
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: f"{learner.name} {learner.loss.name}")
def test_numbered_labels_look_like_noise_and_declared_ones_do_not(table, learner, steps):
    x, y = table
    plan, numbers = planned(learner, steps), (y == "yes").astype(int)
    assert sum(ran(plan, x, numbers, drawn(seed)).noise_alone for seed in range(24)) >= 20
    assert not any(ran(plan, x, y, drawn(seed)).noise_alone for seed in range(3))


@pytest.mark.parametrize("learner", LEARNERS[::2], ids=lambda learner: learner.name)
def test_no_label_reaches_it_but_through_a_noisy_sum(table, learner):
    x, y = table
    plan = planned(learner, MADE)
    for first, second in (("01", "no yes"), ("no yes", "01")):
        labels = {"01": (y == "yes").astype(int), "no yes": y}
        asked = Recorder(seed=3)
        told = Model.of(ran(plan, x, labels[first], asked))
        replayed = Model.of(ran(plan, x, labels[second], Recorder(asked.outputs)))
        assert told.text() == replayed.text()
        assert told.noise_alone is (first == "01")


def test_an_undeclared_label_adds_an_exact_zero_to_every_sum(table):
    x, y = table
    for learner in LEARNERS:
        asked = Recorder(seed=0)
        ran(planned(learner), x, (y == "yes").astype(int), asked)
        sums = [call.exact for call in asked.calls if call.name == "gradient"]
        assert len(sums) == learner.steps and not any(np.any(total) for total in sums)


@pytest.mark.parametrize("length", [0.0, 1e-170, 1e120, 1e250])
def test_made_up_rows_of_any_length_cost_no_run(length):
    learner = GradientDescent(Logistic(), steps=3, bias=0.0)
    with np.errstate(all="ignore"):  # as in a run
        sums = NoisySums(planned(learner), lambda: np.full((5, 4), length))
        for _ in range(3):
            sums(np.zeros((5, 1)))
        assert sums.alone()


def test_it_is_the_same_on_any_number_of_threads(table):
    x, y = table
    plan = planned(LEARNERS[0], MADE, epsilon=0.3)
    told = [
        [ran(plan, x, y, drawn(seed), room=room_for(plan, Threads(k))).noise_alone for seed in range(8)]
        for k in (1, 3)
    ]
    assert told[0] == told[1]


def test_where_iterates_are_hidden_nothing_is_private_or_a_number_is_learned_it_is_not_said(table):
    x, y = table
    numbers = (y == "yes").astype(int)
    hidden = CyclicSGD(Logistic(), batch_size=100, steps=8, weight_bound=2.0)
    assert not ran(planned(hidden), x, numbers, drawn(0)).noise_alone

    class Own(GradientDescent):
        """A third-party learner: its account may be about fewer sums."""

    class Planned:
        private, domain, learner = True, DOMAIN, Own(Logistic())

    assert NoisySums.of(Planned, ()) is None
    free = prepriv.PrivateClassifier(DOMAIN.with_n(None), epsilon=math.inf, threads=1).fit(x, numbers)
    assert not free.model_.noise_alone
    target = prepriv.Domain.box(0, 1, features=4, target=prepriv.Numeric(5, 6), n=N)
    regressor = prepriv.PrivateRegressor(target, threads=1).fit(x, np.full(N, np.nan))
    assert not regressor.model_.noise_alone


def test_a_tool_that_numbers_the_classes_is_warned_about_and_the_report_says_it(table, tmp_path):
    x, y = table
    member = prepriv.PrivateClassifier(DOMAIN.with_n(None), epsilon=4.0, threads=1)
    with pytest.warns(NoiseAlone) as told:
        vote = VotingClassifier([("a", member)]).fit(x, y)
    said = str(next(w.message for w in told if w.category is NoiseAlone))
    assert '("no", "yes")' in said and "list(range(2))" in said and "prepriv.validate" in said
    fitted = vote.estimators_[0]
    shown = noise_in_words(("no", "yes"))  # the same without tools that a reader of a report may not have
    assert fitted.report_.summary.to_do[0] == shown and said.startswith(shown.partition(". `")[0])
    assert shown in json.dumps(fitted.report_.to_json()["summary"], ensure_ascii=False).replace('\\"', '"')
    read = Model.load(fitted.model_.save(tmp_path))
    assert read.noise_alone and read.text() == fitted.model_.text()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        good = member.fit(x, y)
    assert not any(w.category is NoiseAlone for w in told)
    assert "noise_alone" not in good.model_.to_json() and shown not in good.report_.summary.to_do
    numbered = prepriv.PrivateClassifier(prepriv.Domain.box(0, 1, features=4, classes=[0, 1]), threads=1)
    with pytest.warns(NoiseAlone) as told:
        numbered.fit(x, y)
    assert not any("range" in str(w.message) for w in told)


def test_beside_what_was_measured_it_says_what_holds_of_both(table, monkeypatch):
    """A page with a score said "measure it before you use it", and so did the warning of its training."""
    monkeypatch.setattr(NoisySums, "alone", lambda _: True)
    x, y = table
    clf = prepriv.PrivateClassifier(DOMAIN.with_n(None), holdout=0.5, evaluate_epsilon=8.0, threads=1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = clf.fit(x, np.random.default_rng(0).permutation(y))
    said = noise_in_words(DOMAIN.classes, made.evaluation_.quality, in_python=True)
    shown = [str(w.message) for w in told if w.category is NoiseAlone]
    assert made.model_.noise_alone and shown == [said] * bool(said)
    assert made.report_.summary.to_do[:1] == (said,) or not said
    assert "measure it before" not in said + " ".join(made.report_.summary.to_do)


RIGHT = Share("right", 0.6, 0.55, 0.65)
MEASURED = Quality("", RIGHT, Share("no", 0.6, 0.55, 0.65), set_aside=True, measures=("confusion", "scores"))
SUSPECTS = ', or no label is a declared class ("no", "yes"). `prepriv.validate'


@pytest.mark.parametrize(
    "found, said",
    [
        (
            {"apart": "balanced accuracy 0.62, 0.51 to 0.73"},
            "The measurement shows that it tells the classes",
        ),
        (
            {"apart": "AUC 0.62, 0.51 to 0.73"},
            "The measurement shows that its probabilities tell the classes",
        ),
        (
            {"apart": "balanced accuracy 0.503 on these rows", "measures": ()},
            "On the rows that were measured it tells the classes apart.",
        ),
        ({}, "noise, nor does what was measured. The rows may say too little at this ε."),
        ({"by": "site"}, "noise, nor does what was measured of all records. The rows may say"),
        (
            {"set_aside": False},
            f"nor does what was measured. The rows may say too little at this ε{SUSPECTS}",
        ),
        ({"right": Share("right")}, f"what was measured. The rows may say too little at this ε{SUSPECTS}"),
        (
            {"right": Share("right", 0.0, 0.0, 0.3), "warning": "few labels"},
            f"the model is more than noise. The rows may say too little at this ε{SUSPECTS}",
        ),
        ({"commonest": Share("no", 0.4, 0.35, 0.45)}, ""),
    ],
)
def test_what_is_said_of_each_measurement(found, said):
    """The labels are suspected only where no prediction for rows of the same table is shown to be right."""
    told = noise_in_words(("no", "yes"), replace(MEASURED, **found))
    assert said in told and bool(said) == bool(told) and "measure it" not in told
    assert ("validate" in told) == (SUSPECTS in said)


def test_a_filter_that_makes_it_an_error_does_not_cost_what_was_paid_for(table):
    x, y = table
    numbers, domain = (y == "yes").astype(int), DOMAIN.with_n(None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoiseAlone)
        assert prepriv.PrivateClassifier(domain, epsilon=4.0, threads=1).fit(x, numbers).model_.noise_alone
        assert prepriv.choose(CANDIDATES, x, numbers, domain, session=drawn(1)).model_.noise_alone


@pytest.mark.parametrize("forged", [False, 1, None, "true"])
def test_a_model_that_says_it_in_another_way_is_refused(table, tmp_path, forged):
    x, y = table
    data = Model.of(ran(planned(LEARNERS[0]), x, y, drawn(0))).to_json() | {"noise_alone": forged}
    (tmp_path / "model.json").write_text(json.dumps(data))
    with pytest.raises(BadArtifact):
        Model.load(tmp_path)


def test_choose_says_it_of_the_winner_and_of_no_other(table):
    x, y = table
    domain, numbers = DOMAIN.with_n(None), (y == "yes").astype(int)
    with pytest.warns(NoiseAlone) as told:
        won = prepriv.choose(CANDIDATES, x, numbers, domain, method="same rows", session=drawn(1))
    assert won.model_.noise_alone and sum(w.category is NoiseAlone for w in told) == 1


@pytest.mark.parametrize("beyond", [0.01, 1e-3])
def test_the_quantiles_are_those_of_sums_of_squares(beyond):
    for freedom in (3, 50, 8000):
        assert stats.chi2.sf(_quantile(freedom, freedom, freedom, beyond), freedom) == pytest.approx(
            beyond, rel=0.2
        )
    weights = 0.8 ** np.arange(60)
    found = np.square(np.random.default_rng(0).standard_normal((200_000, 12))) @ weights[:12]
    most = _quantile(*(float((weights[:12] ** k).sum()) for k in (1, 2, 3)), beyond)
    assert (found > most).mean() == pytest.approx(beyond, rel=0.25)


def test_a_regression_that_answers_one_number_says_so_in_every_place():
    """A finding: slopes were drawn to 0, all predictions were equal, and no word about it; its weights were printed as -0."""
    rng = np.random.default_rng(0)
    x, n = rng.random((500, 20)), 500
    domain = prepriv.Domain.box(0, 1, features=20, target=prepriv.Numeric(100, 300))

    def fit(epsilon, y):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            made = prepriv.PrivateRegressor(domain, epsilon=epsilon, steps="linear", threads=1).fit(x, y)
        return made, [str(w.message) for w in told if w.category is NoiseAlone]

    noise = rng.random(n) + 199.5
    weak, said = next(one for one in (fit(0.05, noise) for _ in range(40)) if not one[0].coef_.any())
    (number,) = set(weak.predict(x).tolist())
    (words,) = said
    assert "one number for every row" in words and f"{number:.4g}" in words
    summary = weak.report_.summary
    assert summary.good[0].startswith("The model answers one number") and summary.to_do[0] == words
    assert weak.coefficients_.kept == 0 and not weak.coefficients_.noise.any()
    assert "drawn to 0" in str(weak.coefficients_) and "x0" not in str(weak.coefficients_)
    good, said = fit(50.0, 100 + 200 * x[:, 0])
    assert not said and "one number" not in " ".join(
        (*good.report_.summary.good, *good.report_.summary.to_do)
    )
    assert 0 < good.coefficients_.kept <= 1 and "drawn to 0" not in str(good.coefficients_)
