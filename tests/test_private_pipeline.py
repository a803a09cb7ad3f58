"""A pipeline of scikit-learn in, the same one out, private: what is taken, what is refused, and what it costs."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest, f_classif, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv.accounts.from_sklearn import Unpriced
from prepriv.evaluation.candidates import candidates_of
from prepriv.evaluation.choose import plan_choice
from prepriv.guarantees.training_part import (
    LEAVES_MORE,
    TrainingPart,
    candidate_has,
    leaves_as_much,
    price_now,
    price_of,
    table_now,
    table_of,
    training_on,
    trains_of,
)
from prepriv.ledger import Ledger
from prepriv.mechanisms.session import NoisySession
from prepriv.private_pipeline import reading
from prepriv.recipes.automatic import WeakSignal
from prepriv.recipes.sklearn_estimators import CLASSIFIERS, REGRESSORS
from prepriv.release.report import paid_for

N = 5000
COLUMNS = {"a": Numeric(0, 10), "b": Categorical(["x", "y"]), "c": Numeric(-3, 3)}
DOMAIN = Domain(COLUMNS, classes=["no", "yes"], n=N)
TARGET = Domain(COLUMNS, target=Numeric(-3, 3), n=N)
RNG = np.random.default_rng(0)
SIGN = RNG.integers(0, 2, N)
ROWS = pd.DataFrame(
    {
        "a": np.where(RNG.random(N) < 0.1, np.nan, np.clip(RNG.normal(4 + 2 * SIGN, 1.5), 0, 10)),
        "b": np.where(RNG.random(N) < 0.3 + 0.4 * SIGN, "x", "y"),
        "c": RNG.normal(size=N) * 0.9 + SIGN * 0.3,
    }
)
LABELS = np.array(["no", "yes"])[SIGN]
NUMBERS = np.clip(SIGN + 0.5 * ROWS["c"] + 0.3 * RNG.normal(size=N), -3, 3)


def transformers():
    return make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["a", "c"]),
        (OneHotEncoder(handle_unknown="ignore"), ["b"]),
    )


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        LogisticRegression(class_weight="balanced"),
        SGDClassifier(),
        SGDClassifier(loss="log_loss"),
        LinearSVC(),
        RidgeClassifier(),
    ],
    ids=str,
)
def test_classifiers_come_near_the_pipeline_without_privacy(estimator):
    pipeline = make_pipeline(transformers(), PCA(3), estimator)
    model = prepriv.private(pipeline, DOMAIN, epsilon=2.0).fit(ROWS, LABELS)
    assert model.score(ROWS, LABELS) > pipeline.fit(ROWS, LABELS).score(ROWS, LABELS) - 0.03
    assert model.guarantee_.epsilon(1e-5) <= 2.0


@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(), HuberRegressor()], ids=str)
def test_regressors_learn(estimator):
    model = prepriv.private(make_pipeline(transformers(), estimator), TARGET, epsilon=4.0).fit(ROWS, NUMBERS)
    assert model.score(ROWS, NUMBERS) > 0.3


def test_every_estimator_that_is_taken_is_tried():
    tried = {"LogisticRegression", "SGDClassifier", "LinearSVC", "RidgeClassifier"}
    assert tried == set(CLASSIFIERS) and {"LinearRegression", "Ridge", "HuberRegressor"} == set(REGRESSORS)


def test_the_pipeline_takes_gaps_where_it_fills_them():
    with_imputer = reading(make_pipeline(transformers(), LogisticRegression()), DOMAIN)
    assert with_imputer.domain.columns["a"].missing == "impute"
    plain = make_pipeline(make_column_transformer((PCA(1), ["a", "c"])), LogisticRegression())
    assert reading(plain, DOMAIN).domain.columns["a"].missing == "midpoint"


def test_it_says_how_the_answer_differs():
    says = " ".join(reading(make_pipeline(transformers(), LogisticRegression()), DOMAIN, way="sketch").says)
    assert "rows drawn from a private sketch" in says and "penalty" in says


def test_what_products_and_a_choice_of_columns_lose_is_said():
    """Both were taken without a word on what noise does to them."""
    products = make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression())
    says = " ".join(reading(products, NUMBERS_ALONE, n=N).says)
    assert (
        "PolynomialFeatures makes more features" in says
        and "centred" not in says.split("PolynomialFeatures makes")[1]
    )
    chosen = make_pipeline(StandardScaler(), SelectKBest(k=1), LogisticRegression())
    assert "SelectKBest chooses columns" in " ".join(reading(chosen, NUMBERS_ALONE, n=N).says)
    assert "chooses columns" not in " ".join(reading(SCALED, NUMBERS_ALONE, n=N).says)


@pytest.mark.parametrize("estimator", [LinearSVC, SGDClassifier])
def test_a_hinge_loss_has_no_probabilities_that_class_weights_could_weigh(estimator):
    assert any("is not calibrated" in said for said in reading(_scaled(estimator()), DOMAIN).says)
    with pytest.raises(ValueError, match=r"Take LogisticRegression\(class_weight='balanced'\)"):
        prepriv.private(_scaled(estimator(class_weight="balanced")), DOMAIN)
    taken = reading(_scaled(LogisticRegression(class_weight="balanced")), DOMAIN)
    assert not any("is not calibrated" in said for said in taken.says)


@pytest.mark.parametrize("estimator", [LinearSVC, SGDClassifier])
def test_a_hinge_loss_of_three_classes_is_refused_before_a_fit(estimator):
    three = Domain(dict(DOMAIN.columns), ["a", "b", "c"], n=DOMAIN.n)
    with pytest.raises(ValueError, match="declares 3: take LogisticRegression"):
        prepriv.private(_scaled(estimator()), three)
    assert reading(_scaled(LogisticRegression()), three).says


@pytest.mark.parametrize("estimator", [KMeans(2), EllipticEnvelope()])
def test_what_learns_no_label_is_not_sent_to_a_classifier(estimator):
    with pytest.raises(ValueError, match="does not learn a label") as refused:
        prepriv.private(_scaled(estimator), DOMAIN)
    assert "PrivateClassifier" not in str(refused.value)


def test_without_n_it_says_that_n_decides():
    pipeline = make_pipeline(transformers(), LogisticRegression())
    open_domain = DOMAIN.with_n(None)
    assert "depends on n" in reading(pipeline, open_domain).says[0]
    for way in ("auto", "budget"):  # the steps of a sketch stood there
        with pytest.raises(ValueError, match="give n"):
            _ = reading(pipeline, open_domain, way=way).steps
    assert "private fit of its own" in reading(pipeline, DOMAIN).says[0]
    assert "private sketch" in reading(pipeline, open_domain, way="sketch").says[0]


def test_noise_above_what_a_step_tolerates_is_said_before_the_charge(tmp_path):
    box = Domain.box(0, 1, features=30, classes=[0, 1])
    pipeline = make_pipeline(StandardScaler(), PCA(5), LinearSVC())
    read = reading(pipeline, box, n=569)
    assert "PCA" in read.taken.why and read.taken.why in read.says
    model = prepriv.private(pipeline, box)
    with pytest.warns(WeakSignal, match="noise of .*PCA is larger"):
        model.plan(569)
    Ledger.create(tmp_path / "L.db", dataset_id="people", epsilon=5, delta=1e-4)
    model.set_params(ledger=tmp_path / "L.db")
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakSignal)
        with pytest.raises(WeakSignal):
            model.fit(np.zeros((569, 30)), np.zeros(569, int))
        assert Ledger.open(tmp_path / "L.db").entries() == ()
        model.plan(10**6)


@pytest.mark.parametrize(
    ("columns", "n", "epsilon", "way"),
    [
        (30, 569, 1.0, "auto"),
        (18, 3406, 1.0, "auto"),
        (18, 3406, 1.0, "budget"),
        (10, 3000, 0.3, "auto"),
        (60, 500, 0.3, "budget"),
    ],
)
def test_what_the_noise_of_a_step_needs_is_named_and_is_enough(columns, n, epsilon, way):
    """It said "the other way is way='sketch'", which warned itself: a larger ε and more records cure, and a sketch where it does."""
    box = Domain.box(0, 1, features=columns, classes=[0, 1])
    pipeline = make_pipeline(StandardScaler(), PCA(8), LogisticRegression())

    def told(n, epsilon):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            prepriv.private(pipeline, box, epsilon=epsilon, way=way).plan(n)
        return " ".join(str(w.message) for w in said if "δ" not in str(w.message))  # of many records

    said = told(n, epsilon)
    assert ("way='sketch', has a warning of its own" in said) is bool(_sketch_says(pipeline, box, n, epsilon))
    if found := re.search(r"epsilon = ([\d.]+) in place of", said):
        assert epsilon < float(found[1]) <= 10 and told(n, float(found[1])) == ""
        assert told(n, max(epsilon, 0.85 * float(found[1])))
    else:
        assert "No epsilon up to 10 is enough" in said and told(n, 10.0)
    rows = int(re.search(r"([\d,]+) records in place of", said)[1].replace(",", ""))
    assert rows > n and told(rows, epsilon) == "" and told(int(0.85 * rows), epsilon)


def _told(pipeline, domain, n, epsilon=1.0, **options):
    """What its plan warns of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        prepriv.private(pipeline, domain, epsilon=epsilon).set_params(**options).plan(n)
    return " ".join(str(w.message) for w in said if "δ" not in str(w.message))


def test_a_step_is_left_out_as_a_cure_only_where_the_model_is_better_without_it():
    """ "a pipeline without StandardScaler" was named: 0.56 right in place of 0.66. Without PCA more are right."""
    box = Domain.box(0, 1, features=13, classes=[0, 1])
    both = make_pipeline(StandardScaler(), PCA(5), LogisticRegression())
    for pipeline in (both, make_pipeline(StandardScaler(), LogisticRegression())):
        said = _told(pipeline, box, 150)
        assert "noise of StandardScaler" in said and "in place of 150" in said and "without" not in said
    said = _told(both, Domain.box(0, 1, features=18, classes=[0, 1]), 3406)
    assert "noise of PCA is" in said and "; a pipeline without PCA" in said


def test_what_is_enough_of_units_is_said_of_units():
    """ "180 records in place of 94" was said of 94 persons with 463 records."""
    unit = Domain(COLUMNS, classes=["no", "yes"], unit="who", rows_per_unit=13)
    said = _told(
        make_pipeline(make_column_transformer((StandardScaler(), ["a", "c"])), LogisticRegression()), unit, 94
    )
    assert re.search(r"[\d,]+ units in place of 94", said) and "so few units" in said and "record" not in said
    with pytest.warns(WeakSignal, match=r"weak signal: 20 units .* More units or"):
        prepriv.PrivateClassifier(unit).plan(20)


def test_the_step_that_relates_columns_is_named():
    """ "Leave out the steps that relate columns, such as PCA" was said of a pipeline without PCA."""
    columns = {f"x{i}": Numeric(0, 1) for i in range(19)}
    kept = SelectFromModel(LogisticRegression(), threshold="median")
    said = _told(
        make_pipeline(StandardScaler(), kept, LogisticRegression()), Domain(columns, classes=[0, 1]), 453, 4.0
    )
    assert "Leave out SelectFromModel." in said and "PCA" not in said
    target = Domain(columns, target=Numeric(0, 1))
    said = _told(make_pipeline(SelectKBest(f_regression, k=5), Ridge()), target, 453, 4.0)
    assert "Leave out SelectKBest." in said and "PCA" not in said


HELD = Domain({f"x{i}": Numeric(0, 1) for i in range(6)}, classes=[0, 1])


@pytest.mark.parametrize(
    "model",
    [
        prepriv.private(make_pipeline(StandardScaler(), LogisticRegression()), HELD, epsilon=2.0),
        prepriv.private(make_pipeline(SelectKBest(f_classif, k=3), LogisticRegression()), HELD, epsilon=4.0),
    ],
    ids=["steps", "sketch"],
)
def test_a_plan_with_a_holdout_names_what_is_enough_for_the_part_that_trains(model):
    """`plan(453)` was about all 453, and `fit`, which trains on about 311, warned of other numbers; followed, it warned again."""

    def told(do, n, epsilon):
        one = clone(model).set_params(holdout=0.3, epsilon=epsilon)
        one.domain = one.domain.with_n(n)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            do(one, n)
        return [said for w in said if "in place of" in (said := str(w.message))]

    def planned(one, n):
        one.plan(n)

    def fitted(one, n):
        one.fit(np.zeros((n, 6)), np.arange(n) % 2)

    n = 240
    [said] = told(planned, n, model.epsilon)
    assert "in place of 240, of which about 168 train" in said
    assert (
        told(fitted, n, model.epsilon) == [said] == told(fitted, n, model.epsilon)
    )  # whatever number coins chose
    rows = int(re.search(r"([\d,]+) (?:rows|records) in place", said)[1].replace(",", ""))
    epsilon = re.search(r"(?:epsilon|ε) = ([\d.]+) in place", said)
    for much in [(rows, model.epsilon)] + ([(n, float(epsilon[1]))] if epsilon else []):
        assert told(planned, *much) == [] == told(fitted, *much) == told(fitted, *much)


def test_a_plan_with_a_holdout_is_that_of_the_part_and_units_are_warned_of_once():
    """A fit of units warned twice: of all of them, and of those that coins chose."""
    unit = Domain({"a": Numeric(0, 1)}, classes=[0, 1], n=94, unit="who", rows_per_unit=2)
    table = pd.DataFrame({"a": np.zeros(188), "who": np.repeat(np.arange(94), 2)})
    for model in (
        prepriv.private(make_pipeline(StandardScaler(), LogisticRegression()), unit),
        prepriv.PrivateClassifier(unit, epsilon=0.1),
        prepriv.PrivateClassifier(unit, epsilon=0.1).set_params(holdout=0.3),
        prepriv.private(make_pipeline(StandardScaler(), LogisticRegression()), unit).set_params(holdout=0.3),
    ):
        said = []
        for do in (model.plan, lambda model=model: model.fit(table, np.arange(188) % 2)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                do()
            said.append([str(w.message) for w in caught if w.category is WeakSignal])
        assert said[0] == said[1] and len(set(said[0])) == len(said[0]) > 0
        part = ", of which about 66 train" if model.holdout else ""
        assert all(f"94{part}" in one or f"94 units{part}" in one for one in said[0])
        assert model.plan(94).n == (66 if model.holdout else 94)
    numbers = prepriv.PrivateRegressor(Domain({"a": Numeric(0, 1)}, target=Numeric(0, 1), n=453), holdout=0.3)
    assert numbers.plan().n == 317
    for wrong in (0.0, 1.0, "x"):
        with pytest.raises((ValueError, TypeError), match="holdout"):
            numbers.set_params(holdout=wrong).plan()


CHOICES = {
    "steps": [
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(), LinearSVC()),
    ],
    "sketch": [
        make_pipeline(SelectKBest(f_classif, k=2), LogisticRegression()),
        make_pipeline(SelectKBest(f_classif, k=3), LogisticRegression()),
    ],
}


def _choice_says(pipelines, n, epsilon, method):
    """What a choice among them warns of, of the last one."""
    made = [prepriv.private(one, HELD) for one in pipelines]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        plan, _ = plan_choice(
            candidates_of(made, epsilon=epsilon, delta=1e-5, ledger=None),
            made[0].domain,
            n,
            (epsilon, 1e-5),
            holdout=0.3,
            method=method,
            session=NoisySession(),
        )
    assert method in (None, plan.chosen.method)
    return [str(w.message) for w in said if f"candidate {len(made)}: " in str(w.message)]


@pytest.mark.parametrize("method", [None, "own rows", "random trials"])
@pytest.mark.parametrize(("of", "epsilon", "n"), [("steps", 2.0, 700), ("sketch", 4.0, 1200)])
def test_a_choice_names_what_is_enough_of_the_whole_budget_and_the_whole_table(of, epsilon, n, method):
    """ "8,823 rows in place of 4,775; ε = 2.2 in place of 1.08857", of one candidate's part: with choose(epsilon=2.2) the same warning came again."""
    if (method, of) == ("own rows", "sketch"):
        n *= 2
    [said] = _choice_says(CHOICES[of], n, epsilon, method)
    train = round(0.7 * n / (2 if method == "own rows" else 1))
    assert f" in place of {n:,}, of which about {train:,} train" in said
    assert _choice_says(CHOICES[of], n, epsilon, method) == [said]  # whatever coins chose
    rows = int(re.search(r"([\d,]+) (?:rows|records) in place", said)[1].replace(",", ""))
    larger = float(re.search(rf"(?:epsilon|ε) = ([\d.]+) in place of {epsilon:g}(?![\d.]*\d)", said)[1])
    for much in ((rows, epsilon), (n, larger)):
        assert _choice_says(CHOICES[of], *much, method) == []
    assert _choice_says(CHOICES[of], n, 0.8 * larger, method) != []  # no more than that is named


def test_a_candidate_that_is_refused_names_no_number_of_its_part():
    with pytest.raises(ValueError, match=f"candidate 1: .* 40 is enough, .*{LEAVES_MORE}") as refused:
        _choice_says(CHOICES["sketch"], 200, 0.5, "same rows")
    assert "in place of" not in str(refused.value)


def test_a_choice_names_no_epsilon_where_another_one_would_divide_otherwise():
    with training_on(
        TrainingPart(
            1000, 0.2, whole=2.0, leaves=lambda epsilon, n: 1.0 if (epsilon, n) == (2.0, 1000) else 0.0
        )
    ):
        assert price_of(1.2) == math.inf and not leaves_as_much(1500) and price_now(1.0) == 2.0
    with training_on(TrainingPart(1000, 0.2, whole=2.0, leaves=lambda epsilon, n: 0.5 * epsilon**0.9)):
        assert 0.5 * price_of(1.2) ** 0.9 >= 1.2 > 0.5 * (price_of(1.2) - 0.1) ** 0.9 and leaves_as_much(1500)
        assert price_of(6.0) == math.inf  # none above 10
    assert price_of(1.2) == candidate_has(1.2) == price_now(1.2) == 1.2 and leaves_as_much(1)


def test_a_weak_signal_of_a_choice_is_said_of_the_whole():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        prepriv.choose(
            ["auto", "additive"], np.zeros((40, 6)), np.arange(40) % 2, HELD, epsilon=0.2, holdout=0.3
        )
    told = [str(w.message) for w in said if w.category is WeakSignal]
    assert len(told) == 2
    for one in told:
        assert "40 records, of which about 28 train at epsilon 0.2 for all candidates are" in one


@pytest.mark.parametrize("held", [0.01, 0.3, 0.5, 0.9, 0.999])
def test_so_many_of_the_table_leave_so_many_that_train(held):
    with training_on(TrainingPart(100, held)):
        for n in (1, 2, 7, 311, 10**6):
            assert trains_of(table_of(n)) >= n and (n == 1 or trains_of(table_of(n) - 1) < n)
    assert table_of(7) == trains_of(7) == 7 and table_now(7, "units") == "7 units"


def _sketch_says(pipeline, domain, n, epsilon):
    """What a sketch would warn of, None where it is refused."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            prepriv.private(pipeline, domain, epsilon=epsilon, way="sketch").plan(n)
        except ValueError:
            return None
    return [str(w.message) for w in said]


def test_settings_of_a_pipeline_are_chosen_with_the_domain_of_the_model():
    gaps = make_column_transformer((make_pipeline(SimpleImputer(), StandardScaler()), ["a", "c"]))
    kept = SelectKBest(f_classif, k=1)
    made = [
        prepriv.private(make_pipeline(gaps, kept.set_params(k=k), LogisticRegression()), DOMAIN)
        for k in (1, 2)
    ]
    for domain in (
        DOMAIN,
        made[0].domain,
        made[0].domain.with_n(len(LABELS)),
    ):  # what they were made from, or theirs
        best = prepriv.choose(made, ROWS, LABELS, domain, epsilon=2.0)
        assert f"SelectKBest(k={best.number + 1})" in repr(best.candidate.steps)
    assert f"candidate {best.number + 1} of 2 (number={best.number})" in str(best)
    assert (
        f"SelectKBest(k={best.number + 1})" in paid_for(made[best.number].plan(N))[0][0]
    )  # a report names the transformers
    best.model_.predict(ROWS)


def _scaled(estimator=None, *columns):
    filled = make_pipeline(SimpleImputer(), StandardScaler())
    return make_pipeline(
        make_column_transformer((filled, list(columns or ("a", "c")))), estimator or LogisticRegression()
    )


def test_a_choice_reads_every_setting_of_a_model_or_refuses_it_by_name():
    weighed = prepriv.private(_scaled(LogisticRegression(class_weight="balanced")), DOMAIN)
    margin = prepriv.private(_scaled(LinearSVC()), DOMAIN)
    late = prepriv.private(_scaled(), DOMAIN).set_params(threshold=0.25)
    plain = prepriv.private(_scaled(), DOMAIN, epsilon=2.0)
    with pytest.warns(UserWarning, match="class_weight.*accuracy decides"):
        plans = prepriv.choose(
            [plain, weighed, margin, late], ROWS, LABELS, DOMAIN, epsilon=2.0
        ).plan.chosen.plans
    assert [p.pipeline[-1].name for p in plans].count("ClassCounts") == 1 and plans[1].pipeline[
        -1
    ].name == "ClassCounts"
    assert [type(p.learner.loss).__name__ for p in plans] == [
        "Logistic",
        "Logistic",
        "SquaredHinge",
        "Logistic",
    ]
    assert [p.class_weight for p in plans] == [(), (), (), (0.25, 0.75)]
    for name, value in (
        ("holdout", 0.2),
        ("threads", 2),
        ("ledger", "L.db"),
        ("epsilon", 3.0),
        ("audit", 10),
    ):
        odd = prepriv.private(_scaled(), DOMAIN).set_params(**{name: value})
        with pytest.raises(ValueError, match=f"candidate 2 has {name}="):
            prepriv.choose([plain, odd], ROWS, LABELS, DOMAIN, epsilon=2.0)

    class Own(prepriv.PrivateClassifier):
        pass

    with pytest.raises(ValueError, match="candidate 2: Own"):
        prepriv.choose([plain, Own(plain.domain)], ROWS, LABELS, DOMAIN, epsilon=2.0)


def test_a_choice_compares_plans_that_differ_in_their_public_tables_alone():
    rng = np.random.default_rng(0)
    rows, tables = rng.random((200, 3)), [rng.random((50, 3)) for _ in range(2)]
    box = prepriv.Domain.box(0, 1, features=3, classes=[0, 1])
    one, other = (prepriv.PrivateClassifier(box, steps=[prepriv.Public(table), "auto"]) for table in tables)
    labels = (rows[:, 0] > 0.5).astype(int)
    assert prepriv.choose([one, other], rows, labels, box, epsilon=9.0).number in (0, 1)
    with pytest.raises(ValueError, match="candidates 1 and 3"):
        prepriv.choose([one, other, one], rows, labels, box, epsilon=9.0)


def test_a_choice_refuses_what_would_compare_one_thing_with_itself_or_two_tables():
    one, other = prepriv.private(_scaled(), DOMAIN), prepriv.private(_scaled(LinearSVC()), DOMAIN)
    for alone in ({"steps": one.steps, "learner": other.learner}, {"steps": [one.steps, "auto"]}, one.steps):
        with pytest.raises(ValueError, match="the models themselves"):  # they lack the estimator
            prepriv.choose([alone, other], ROWS, LABELS, one.domain)
    with pytest.raises(ValueError, match="candidates 2 and 3"):
        prepriv.choose([one, other, other], ROWS, LABELS, DOMAIN)
    fewer = prepriv.private(_scaled(None, "a"), DOMAIN)
    with pytest.raises(ValueError, match=r"candidates 1 and 2 .*'c' is dropped"):
        prepriv.choose([one, fewer], ROWS, LABELS, DOMAIN)
    no_gaps = make_pipeline(make_column_transformer((PCA(1), ["a", "c"])), LogisticRegression())
    with pytest.raises(ValueError, match=r"candidates 1 and 2 .*takes gaps in 'a'.*SimpleImputer"):
        prepriv.choose([one, prepriv.private(no_gaps, DOMAIN)], ROWS, LABELS, DOMAIN)
    wider = replace(DOMAIN, columns={**DOMAIN.columns, "a": prepriv.Numeric(-9, 99)})
    with pytest.raises(ValueError, match="another domain"):
        prepriv.choose([one, other], ROWS, LABELS, wider)
    with pytest.raises(ValueError, match="candidate 1 is not private"):
        prepriv.choose([_scaled(), one], ROWS, LABELS, DOMAIN)
    with pytest.raises(ValueError, match="a candidate is"):
        prepriv.choose([StandardScaler(), one], ROWS, LABELS, DOMAIN)


def test_a_choice_warns_once_for_each_candidate_and_names_it():
    rows = Domain.box(0, 1, features=30, classes=[0, 1])
    made = [
        prepriv.private(make_pipeline(StandardScaler(), PCA(k), LogisticRegression()), rows, way="budget")
        for k in (2, 3)
    ]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        prepriv.choose(made, np.zeros((500, 30)), np.arange(500) % 2, rows, epsilon=0.5)
    said = [str(w.message) for w in told if issubclass(w.category, WeakSignal) and "PCA" in str(w.message)]
    assert [one.partition(":")[0] for one in said] == ["candidate 1", "candidate 2"]


def test_a_coarse_sketch_is_taken_where_pca_as_a_step_is_little_but_noise_and_the_other_way_is_named():
    wide = {f"c{i}": Categorical([f"v{j}" for j in range(20)]) for i in range(5)} | {
        f"x{i}": Numeric(0, 1) for i in range(8)
    }
    asked = make_pipeline(
        make_column_transformer(
            (StandardScaler(), [name for name in wide if name[0] == "x"]),
            (OneHotEncoder(handle_unknown="ignore"), [name for name in wide if name[0] == "c"]),
        ),
        PCA(5),
        LogisticRegression(),
    )
    domain = Domain(wide, classes=["no", "yes"])
    taken = {}
    for n in (1000, 3000):  # b is 18 and 54
        read = reading(asked, domain, n=n)
        ways = {option.way: option for option in read.options}
        assert not ways["budget"].enough and not ways["sketch"].enough and ways["sketch"].open
        assert "way='sketch'" in ways["budget"].why
        taken[n] = read.taken.way
    assert taken == {1000: "budget", 3000: "sketch"}
    assert any("PCA as a step" in said for said in read.says)
    few = Domain({name: wide[name] for name in ("c0", "x0", "x1")}, classes=["no", "yes"], n=1000)
    small = make_pipeline(
        make_column_transformer(
            (StandardScaler(), ["x0", "x1"]), (OneHotEncoder(handle_unknown="ignore"), ["c0"])
        ),
        PCA(2),
        LogisticRegression(),
    )
    read = reading(small, few, epsilon=0.6)
    assert read.taken.way == "budget" and "way='sketch'" in read.taken.why  # rough, and not lost
    numbers = replace(domain, classes=(), target=Numeric(0, 1))  # not measured with a numeric target
    asked.set_params(logisticregression=Ridge())
    assert reading(asked, numbers, n=3000).taken.way == "budget"


def test_gaps_that_the_pipeline_does_not_fill_and_parts_that_alone_learn_are_said():
    bare = make_pipeline(make_column_transformer((StandardScaler(), ["a", "c"])), LogisticRegression())
    filled = make_pipeline(
        make_column_transformer((make_pipeline(SimpleImputer(), StandardScaler()), ["a", "c"])),
        LogisticRegression(),
    )
    for pipeline, silent in ((bare, False), (filled, True)):
        read = reading(pipeline, DOMAIN, way="budget")
        assert silent is not any("middle of the declared bounds" in said for said in read.says)
        assert silent is not (read.steps[0].name == "ConstantImputer")
    few = Domain.box(0, 1, features=200, classes=[0, 1], n=60)
    alone = make_pipeline(SelectKBest(f_classif, k=2), LogisticRegression())
    with pytest.raises(ValueError, match=r"PrivateClassifier\(domain\)") as told:
        prepriv.private(alone, few, epsilon=0.1).plan()
    assert "pay for the rest" not in str(told.value)


class Counts(LogisticRegression):
    """Of a third party."""


REFUSED = {
    "trees": (RandomForestClassifier(), 'no private learner here.*steps="additive".*PrivateClassifier'),
    "a number for classes": (LinearRegression(), "declares classes"),
    "a penalty": (LogisticRegression(C=0.1), r"set_params\(logisticregression__C=1.0\)"),
    "no constant": (LogisticRegression(fit_intercept=False), r"a constant.*__fit_intercept=True\)"),
    "another loss": (SGDClassifier(loss="modified_huber"), "modified_huber"),
    "a subclass": (
        Counts(),
        "Counts is a class of your own, whose code is not read: take LogisticRegression itself",
    ),
    "a weight of a class that is not declared": (
        LogisticRegression(class_weight={"maybe": 2}),
        "not a declared class",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_taken_is_refused_by_name_before_anything_is_paid(name, tmp_path):
    estimator, said = REFUSED[name]
    Ledger.create(tmp_path / "L.db", dataset_id="people", epsilon=5, delta=1e-4)
    with pytest.raises(ValueError, match=said):
        prepriv.private(make_pipeline(transformers(), estimator), DOMAIN, ledger=tmp_path / "L.db").plan(N)
    assert Ledger.open(tmp_path / "L.db").entries() == ()


def test_shapes_of_pipelines_that_are_not_taken():
    with pytest.raises(ValueError, match="must end in an estimator"):
        prepriv.private(transformers(), DOMAIN)
    with pytest.raises(ValueError, match="no transformers to keep"):
        prepriv.private(LogisticRegression(), DOMAIN)
    cached = Pipeline([("t", transformers()), ("m", LogisticRegression())], memory="cache")
    with pytest.raises(ValueError, match="memory="):
        prepriv.private(cached, DOMAIN)
    with pytest.raises(ValueError, match="declared columns"):
        prepriv.private(make_pipeline(StandardScaler(), LogisticRegression()), Domain.ball(3, [0, 1]))


def test_a_fit_before_and_settings_beside_parameters_change_nothing():
    pipeline = make_pipeline(transformers(), LogisticRegression())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fresh = prepriv.private(pipeline, DOMAIN).plan(N)
        pipeline.set_output(transform="default").fit(ROWS, LABELS)
        pipeline[-1].coef_[:] = math.nan
        used = prepriv.private(pipeline, DOMAIN).plan(N)
    assert fresh.hash == used.hash


def test_the_account_of_a_pipeline_names_the_sketch_as_a_way_out():
    pipeline = make_pipeline(StandardScaler(), PCA(2))
    with pytest.raises(Unpriced, match=r"PCA has no price.*stay .*prepriv\.private"):
        prepriv.from_sklearn(pipeline, Domain.box(0, 1, features=3, classes=[0, 1]), deviation=0.1)


NUMBERS_ALONE = Domain.box(0, 1, features=3, classes=[0, 1])
SCALED = make_pipeline(StandardScaler(), LogisticRegression())


def test_an_option_that_is_not_of_private_says_what_to_write():
    for option in ({"threshold": 0.2}, {"class_weight": "balanced"}, {"holdout": 0.2}):
        (name,) = option
        with pytest.raises(TypeError, match=rf"no {name}.*set_params\({name}="):
            prepriv.private(SCALED, NUMBERS_ALONE, **option)
        assert prepriv.private(SCALED, NUMBERS_ALONE).set_params(**option).get_params()[name] == option[name]
    with pytest.raises(TypeError, match="seed of the noise"):
        prepriv.private(SCALED, NUMBERS_ALONE, random_state=0)
    with pytest.raises(TypeError, match=r"no C: .*epsilon.*ledger"):
        prepriv.private(SCALED, NUMBERS_ALONE, C=1.0)
    with pytest.raises(TypeError, match=r"needs the domain.*prepriv\.Domain"):
        prepriv.private(SCALED, epsilon=1.0)


def test_n_is_declared_as_in_the_domain():
    model = prepriv.private(SCALED, NUMBERS_ALONE, n=5000)
    assert model.domain.n == 5000 and model.plan().n == 5000
    with pytest.raises(ValueError, match=r"declares n=5,000 records, not 10.*model\.domain\.with_n\(None\)"):
        model.fit(np.zeros((10, 3)), np.zeros(10, int))
    with pytest.raises(ValueError, match="declares n=4,999 records, not 5,000"):
        prepriv.private(SCALED, NUMBERS_ALONE.with_n(4999), n=5000)


def test_the_learner_follows_the_budget_and_the_records_of_the_plan():
    """Of a loss that the recipe does not take by itself; no n is needed before the plan."""
    hinge = make_pipeline(StandardScaler(), LinearSVC())
    model = prepriv.private(hinge, NUMBERS_ALONE, epsilon=4.0)
    first = model.plan(5000).learner
    later = model.set_params(epsilon=0.1).plan(5000).learner
    assert later == prepriv.private(hinge, NUMBERS_ALONE, epsilon=0.1, n=5000).plan().learner
    assert later.loss == first.loss and later.learning_rate < first.learning_rate
    assert prepriv.private(hinge, NUMBERS_ALONE, epsilon=4.0).plan(500).learner != first


def test_a_share_is_refused_where_nothing_learns():
    free = make_pipeline(Normalizer(), LogisticRegression())
    for asked in ({"share": 0.9}, {"way": "sketch"}):
        with pytest.raises(ValueError, match="nothing to pay for"):
            prepriv.private(free, NUMBERS_ALONE, **asked)
    read = reading(SCALED, NUMBERS_ALONE, n=5000, share=0.3)
    assert read.ways.kept(read.domain, math.inf)[0].paid.share == 0.3


def test_settings_of_solvers_are_said_to_have_no_effect():
    seeded = make_pipeline(
        StandardScaler(), PCA(2, svd_solver="full"), LogisticRegression(max_iter=7, random_state=3)
    )
    says = " ".join(reading(seeded, NUMBERS_ALONE, n=50_000, way="budget").says)
    assert "settings of PCA without effect here, where scikit-learn fits nothing: svd_solver" in says
    assert "of LogisticRegression without effect here" in says and "nothing: max_iter, random_state" in says
    on_a_sketch = " ".join(reading(seeded, NUMBERS_ALONE, n=50_000, way="sketch").says)
    assert "of PCA without effect" not in on_a_sketch  # scikit-learn's own PCA is fitted there
    assert "without effect" not in " ".join(reading(SCALED, NUMBERS_ALONE, n=50_000).says)
    for part, unread in (
        (RobustScaler(quantile_range=(5, 95)), "quantile_range"),
        (KBinsDiscretizer(3, strategy="quantile", subsample=500, random_state=3), "random_state, subsample"),
    ):
        asked = reading(make_pipeline(part, LogisticRegression()), NUMBERS_ALONE, n=50_000, way="budget")
        assert f"without effect here, where scikit-learn fits nothing: {unread}" in " ".join(asked.says)


@pytest.mark.parametrize("estimator", [LinearSVC(), LinearSVC(loss="hinge"), HuberRegressor()], ids=str)
def test_without_privacy_a_loss_without_a_bound_is_clipped_as_with_much_signal(estimator):
    domain = TARGET if isinstance(estimator, HuberRegressor) else DOMAIN
    plan = prepriv.private(make_pipeline(transformers(), estimator), domain, epsilon=math.inf).plan()
    assert math.isinf(plan.learner.clip_norm) == (estimator.get_params().get("loss") != "squared_hinge")


def test_means_by_sensitivity_are_not_called_noisy():
    filled = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())
    by = {
        way: " ".join(reading(filled, NUMBERS_ALONE, n=50_000, missing=missing, way=way).says)
        for way, missing in (("budget", None), ("sensitivity", 0.001))
    }
    assert "noisy means" in by["budget"] and "true means" not in by["budget"]
    assert "true means" in by["sensitivity"] and "noisy means" not in by["sensitivity"]


def test_a_setting_of_the_pipeline_is_not_one_of_the_model_and_says_where_it_is_set():
    model = prepriv.private(
        make_pipeline(StandardScaler(), LogisticRegression()), Domain.box(0, 1, 2, [0, 1])
    )
    with pytest.raises(ValueError, match=r"logisticregression__C=.*prepriv\.choose"):
        model.set_params(logisticregression__C=0.1)
    assert model.set_params(steps__way="sketch").get_params()["steps__way"] == "sketch"


def test_a_column_of_words_that_reaches_a_median_is_named_by_its_categories():
    words = [name for name, column in DOMAIN.columns.items() if isinstance(column, Categorical)]
    with pytest.raises(ValueError, match="SimpleImputer") as told:
        prepriv.private(make_pipeline(SimpleImputer(strategy="median"), LogisticRegression()), DOMAIN)
    assert str(DOMAIN.columns[words[0]].categories[0]) in str(told.value) and not str(told.value).endswith(
        ":"
    )
