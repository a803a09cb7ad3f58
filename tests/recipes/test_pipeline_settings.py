"""What a pipeline of scikit-learn asks for: values that scikit-learn knows, settings that are read, columns that the domain decides."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
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
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from prepriv import Categorical, Domain, Numeric, PrivateClassifier
from prepriv.preprocessing.sklearn_spec import spec_of
from prepriv.private_pipeline import private, reading
from prepriv.recipes.sklearn_estimators import _FOR_ROWS, CLASSIFIERS, REGRESSORS, read_estimator

N = 5000
BOX = Domain.box(0, 1, features=3, classes=[0, 1], n=N)
TARGET = Domain.box(0, 1, features=3, target=Numeric(0, 1), n=N)
MIXED = Domain(
    {"a": Numeric(0, 10), "b": Categorical(["x", "y"]), "c": Numeric(-3, 3)}, classes=["no", "yes"], n=N
)
FILLED = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())
ESTIMATORS = [
    LogisticRegression(),
    SGDClassifier(),
    LinearSVC(),
    RidgeClassifier(),
    LinearRegression(),
    Ridge(),
    HuberRegressor(),
]


class Nothing:
    """A value that no parameter takes."""


@pytest.mark.parametrize("made", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_value_that_scikit_learn_would_refuse_is_refused(made):
    domain = TARGET if type(made).__name__ in REGRESSORS else BOX
    assert type(made).__name__ in (*CLASSIFIERS, *REGRESSORS)
    read_estimator(made, domain)
    x, refused = np.column_stack([np.arange(40) % 7, np.arange(40) % 5]) / 7, set()
    for name in made.get_params():
        for odd in (Nothing(), "no such choice", -1.5):
            asked = clone(made).set_params(**{name: odd})
            try:
                clone(asked).fit(x, np.arange(40) % 2)
            except Exception:
                refused.add(name)
                with pytest.raises(ValueError):
                    read_estimator(asked, domain)
    assert refused == set(made.get_params())


@pytest.mark.parametrize(
    "made",
    [
        LinearSVC(loss="log_loss"),
        LinearSVC(loss="hinge", dual=False),
        LogisticRegression(solver="newton-cholesky", dual=True),
        LogisticRegression(class_weight="other"),
        SGDClassifier(learning_rate="constant", eta0=0),
    ],
    ids=str,
)
def test_settings_that_do_not_go_together_are_refused_without_a_record(made):
    with pytest.raises(ValueError, match=type(made).__name__):
        read_estimator(made, BOX)


@pytest.mark.parametrize(
    "made",
    [LogisticRegression(C=1), LogisticRegression(C=np.float64(1)), LogisticRegression(penalty="l2")]
    + [LinearSVC(C=1), LinearSVC(fit_intercept=np.True_), Ridge(alpha=1)],
    ids=repr,
)
def test_a_default_in_another_type_is_the_default(made):
    read_estimator(made, TARGET if isinstance(made, Ridge) else BOX)


def test_what_is_not_the_default_names_how_to_set_it():
    nested = Pipeline([("prep", StandardScaler()), ("end", Pipeline([("clf", LogisticRegression(C=2))]))])
    with pytest.raises(ValueError, match=r"set_params\(end__clf__C=1.0\)"):
        reading(nested, BOX)
    reading(nested.set_params(end__clf__C=1.0), BOX)
    for odd in (
        LogisticRegression(C=True),
        LinearSVC(C=np.nextafter(1, 2)),
    ):
        with pytest.raises(ValueError, match=r"set_params\(C=1.0\)"):
            read_estimator(odd, BOX)


def test_made_up_rows_are_fitted_in_a_moment_and_leave_the_estimator_as_it_is():
    long = SGDClassifier(max_iter=10**9, tol=None, n_jobs=2, verbose=1)
    read_estimator(long, BOX)
    assert not hasattr(long, "coef_") and long.max_iter == 10**9 and set(_FOR_ROWS) >= {"max_iter", "n_jobs"}


@pytest.mark.parametrize(
    "made", [StandardScaler(copy="maybe"), OneHotEncoder(drop="no"), SimpleImputer(strategy="no")], ids=str
)
def test_values_of_transformers_are_those_that_scikit_learn_knows(made):
    with pytest.raises(ValueError, match="parameter of"):
        spec_of(made)


def test_a_cap_that_nobody_would_read_is_refused():
    for asked in ({"way": "budget"}, {"way": "sketch"}, {"share": 0.1}):
        with pytest.raises(ValueError, match="leave missing out"):
            reading(FILLED, BOX, missing=0.01, **asked)
        model = private(FILLED, BOX, **asked)
        with pytest.raises(ValueError, match="would not be read"):
            model.set_params(steps__missing=0.01)
    for way in ("auto", "sensitivity"):
        assert reading(FILLED, BOX, missing=0.001, way=way).ways.missing == 0.001


def test_way_share_and_missing_are_parameters_that_clones_keep():
    model = private(FILLED, BOX, way="sensitivity", missing=0.01)
    same = clone(model)
    for one in (model, same):
        asked = {key: value for key, value in one.get_params().items() if key.startswith("steps__")}
        assert asked == {"steps__way": "sensitivity", "steps__missing": 0.01, "steps__share": "auto"}
    assert same.plan().hash == model.plan().hash
    same.set_params(steps__way="sketch", steps__missing=None, steps__share=0.3, epsilon=2.0)
    assert same.plan().steps[0].step.paid.share == 0.3 and same.epsilon == 2.0
    assert model.get_params()["steps__way"] == "sensitivity"  # a clone of its own
    for setting, said in (({"steps__no": 1}, "is not a setting"), ({"steps__way": "gift"}, "way must be")):
        with pytest.raises(ValueError, match=said):
            model.set_params(**setting)
    with pytest.raises(ValueError, match="these steps are others"):
        PrivateClassifier(BOX).set_params(steps__way="sketch")


def test_another_loss_follows_the_plan_where_second_moments_would_be_taken():
    huber = make_pipeline(StandardScaler(), HuberRegressor())
    plain = make_pipeline(StandardScaler(), Ridge())
    found = {}
    for n in (5000, 1_000_000):
        taken = private(plain, TARGET, epsilon=1.0, way="budget").set_params(domain=TARGET.with_n(n)).plan()
        assert (type(taken.learner).__name__ == "SufficientStatistics") == (n > 5000)
        model = private(huber, TARGET, epsilon=1.0, way="budget").set_params(domain=TARGET.with_n(n))
        found[n] = model.plan().learner
        assert type(found[n].loss).__name__ == "Huber" and found[n].bias == 0.5
    assert found[1_000_000].learning_rate > found[5000].learning_rate


BY = {
    "names": (["a", "c"], ["b"]),
    "places": ([0, 2], [1]),
    "from the end": ([-1, -3], [-2]),
    "masks": ([True, False, True], np.array([False, True, False])),
    "types": (make_column_selector(dtype_include="number"), make_column_selector(dtype_include=object)),
    "other types": (
        make_column_selector(dtype_exclude=["object", "category"]),
        make_column_selector(dtype_include=["category"]),
    ),
    "patterns": (make_column_selector(pattern="a|c"), make_column_selector(pattern="^b")),
}


def by(numbers, words, **options):
    first = ColumnTransformer([("n", StandardScaler(), numbers), ("w", OneHotEncoder(), words)], **options)
    return make_pipeline(first, LogisticRegression())


@pytest.mark.parametrize("name", BY)
def test_columns_that_the_domain_decides_are_taken_as_scikit_learn_takes_them(name):
    """Both ways to pay, and what scikit-learn takes of a frame with these columns."""
    rows = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": [0.5, 0.25]})
    numbers, words = BY[name]
    first = by(numbers, words)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name != "other types":  # of a frame that stores words as categories
            first.fit(rows)
            theirs = {
                label: list(rows.columns[at]) for label, at in first._transformer_to_input_indices.items()
            }
            assert [sorted(theirs[label]) for label in "nw"] == [["a", "c"], ["b"]]
    spec = spec_of(by(numbers, words)[0], MIXED.columns)
    assert [sorted(part["of"]) for part in spec["parts"]] == [[0, 2], [1]]
    for way in ("budget", "sketch"):
        read = reading(by(numbers, words), MIXED, way=way)
        told = [says for says in read.says if says.startswith("columns by place or by type")]
        assert len(told) == (name != "names")
        if told:
            assert "w takes b" in told[0]
        if way == "budget":
            assert read.taken.steps[1].columns == ("a", "c")


@pytest.mark.parametrize("place", [0, np.int64(0), [np.int64(0)], np.array([True, False, False])], ids=repr)
def test_a_place_may_be_a_number_of_numpy(place):
    read = reading(
        make_pipeline(ColumnTransformer([("n", StandardScaler(), place)]), LogisticRegression()), BOX
    )
    assert any("n takes x0" in says for says in read.says)


def test_slices_are_of_places_or_of_declared_names():
    names = {"b": Categorical(["x", "y"]), "a": Numeric(0, 10), "c": Numeric(-3, 3)}
    domain = Domain(names, classes=[0, 1], n=N)
    for numbers, words in ((slice(1, 3), slice(0, 1)), (slice("a", "c"), slice(None, "b"))):
        spec = spec_of(by(numbers, words)[0], domain.columns)
        assert [part["of"] for part in spec["parts"]] == [[1, 2], [0]]
        assert reading(by(numbers, words), domain, way="budget").taken.steps[1].columns == ("a", "c")


@pytest.mark.parametrize("numbers", [[0], ["a"], slice(0, 1), [True, False, False], 0, "a"], ids=str)
def test_columns_that_are_dropped_by_any_choice_leave_the_domain(numbers):
    one = make_pipeline(ColumnTransformer([("n", StandardScaler(), numbers)]), LogisticRegression())
    assert list(reading(one, MIXED).domain.columns) == ["a"]
    assert reading(one, MIXED, way="budget").taken.steps[1].name == "StandardScaler"


@pytest.mark.parametrize(
    "numbers, said",
    [
        (lambda frame: ["a"], "by a function"),
        (make_column_selector(dtype_include="int64"), "tells whole numbers from others"),
        ([0.0, 2.0], "whole numbers, a slice"),
        ([True, False], "a mask of 2 columns, and 3 are declared"),
        (slice("a", "z"), "both have to be declared"),
        ([7], "column 7, which does not reach it"),
        (["z"], "'z', which does not reach it"),
    ],
    ids=lambda one: (
        one if isinstance(one, str) else type(one).__name__
    ),  # an address differs between processes
)
def test_columns_that_the_domain_does_not_decide_are_refused(numbers, said):
    with pytest.raises(ValueError, match=said):
        reading(by(numbers, ["b"]), MIXED)


def test_two_selectors_that_only_a_frame_could_tell_apart_are_refused():
    text, category = (make_column_selector(dtype_include=kind) for kind in ("object", "category"))
    first = ColumnTransformer([("t", OneHotEncoder(), text), ("c", OneHotEncoder(), category)])
    with pytest.raises(ValueError, match="selectors by type take 'b'"):
        reading(make_pipeline(first, LogisticRegression()), MIXED)


def test_a_mask_after_another_transformer_is_about_all_that_reach_it():
    for mask in ([True, False, True], [True, False]):
        inner = ColumnTransformer([("n", StandardScaler(), mask)])
        whole = make_pipeline(StandardScaler(), inner, LogisticRegression())
        if len(mask) == 3:
            assert reading(whole, BOX).parts
            continue
        with pytest.raises(ValueError, match="and 3 reach it"):
            reading(whole, BOX)
