"""Every parameter of every transformer that scikit-learn has: read, or refused by name.

Finding: `SimpleImputer(missing_values=0)`, `OneHotEncoder(min_frequency=10)` and `transformer_weights` were priced at nothing.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn import preprocessing as sk
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import all_estimators

from prepriv import Categorical, Domain, Numeric, Public, Text, account, from_sklearn
from prepriv import preprocessing as pre
from prepriv.accounts.from_sklearn import Unpriced
from prepriv.accounts.sklearn_settings import _MADE, HOMES, SETTINGS, unread_settings
from prepriv.accounts.way_out import ways_out
from prepriv.guarantees.dp_events import to_dp_event
from prepriv.guarantees.guarantee import Guarantee
from prepriv.learners import AnyModel, GradientDescent, Logistic

BOX = Domain.box(-2.0, 6.0, features=3, classes=[0, 1], n=400)
GAPS = Domain.box(-2.0, 6.0, features=3, classes=[0, 1], n=400, missing="impute")
WORDS = Domain({"work": Categorical(("u", "v", "w"))}, (0, 1), n=400)
CODES = Domain({"work": Numeric(0, 2)}, (0, 1), n=400)
CATEGORIES = [["u", "v", "w"]]
CONSTANT = {"strategy": "constant", "keep_empty_features": True}
BASES = {
    "Pipeline": (Pipeline([("a", sk.StandardScaler())]), BOX),
    "ColumnTransformer": (
        ColumnTransformer([("a", sk.StandardScaler(), ["x0"])], remainder="passthrough"),
        BOX,
    ),
    "StandardScaler": (sk.StandardScaler(), BOX),
    "SimpleImputer": (SimpleImputer(), GAPS),
    "SimpleImputer, a constant": (SimpleImputer(**CONSTANT), GAPS),
    "OneHotEncoder": (sk.OneHotEncoder(categories=CATEGORIES), WORDS),
    "OrdinalEncoder": (sk.OrdinalEncoder(categories=CATEGORIES), CODES),
    "Normalizer": (sk.Normalizer(), BOX),
}
TEXTS = [
    "x",
    "auto",
    "deprecated",
    "drop",
    "passthrough",
    "concat",
    "error",
    "ignore",
    "warn",
    "infrequent_if_exist",
    "use_encoded_value",
    "first",
    "if_binary",
    "mean",
    "median",
    "most_frequent",
    "constant",
    "l1",
    "l2",
    "max",
    "missing_value",
    "pandas",
]
VALUES = (None, True, False, 0, 1, 2, -1, 10, 0.0, 0.3, 2.5, 1e6, float("nan"), float("inf"), np.True_, np.int64(3), np.str_("l2"),
          *TEXTS, np.float32, np.float16, np.int8, np.int64, object, bool, np.dtype("float64"), {}, {"a": 100.0}, [], ["u"], [["u", "v"]],
          [["w", "v", "u"]], np.zeros(2), len, object(), sk.Normalizer(), sk.MinMaxScaler())  # fmt: skip
KEPT = {  # values that change nothing of the steps, and why they do not
    "Pipeline": {"verbose": [True, False]},  # it prints times
    "ColumnTransformer": {
        "remainder": ["drop", "passthrough"],  # a column that is dropped and stays makes a bound larger
        "sparse_threshold": [0, 1, 2, -1, 10, 0.0, 0.3, 2.5, 1e6, 3],  # the form of the rows, not what they hold
        "n_jobs": [None, 0, 1, 2, -1, 10, 3],
        "verbose": [True, False],
        "verbose_feature_names_out": [True, False],
        "force_int_remainder_cols": [True, False, "deprecated"],
    },
    "StandardScaler": {"with_mean": [True], "with_std": [True]},
    "SimpleImputer": {"keep_empty_features": [True, False], "strategy": ["mean"]},  # the cap: no column is empty
    "SimpleImputer, a constant": {"strategy": ["constant"], "keep_empty_features": [True], "fill_value": [None, 0.0]},
    "OneHotEncoder": {
        "categories": [[["w", "v", "u"]]],
        "drop": [None, "first", "if_binary"],  # of declared categories: a fixed column is left out
        "sparse_output": [True, False],
        "dtype": [np.int64, np.dtype("float64")],
        "handle_unknown": ["error", "ignore"],  # there are none: a printed premise
        "feature_name_combiner": ["concat"],
    },
    "OrdinalEncoder": {"categories": [[["w", "v", "u"]]], "dtype": [np.int64, np.dtype("float64")], "handle_unknown": ["error"]},
    "Normalizer": {"norm": ["l2"]},
}  # fmt: skip


def priced(part, domain):
    steps = from_sklearn(part, domain, missing=0.05, deviation=0.1)
    return repr([step for step in steps[1:] if step.name != "RawUnits"])


@pytest.mark.parametrize("base", BASES)
def test_every_parameter_of_a_priced_transformer_is_read_or_refused_by_name(base):
    part, domain = BASES[base]
    name, usual, kept = base.split(",")[0], priced(part, domain), {}
    for parameter in part.get_params(deep=False):
        for value in VALUES:
            changed = clone(part)
            setattr(changed, parameter, value)
            try:
                same = priced(changed, domain) == usual
            except ValueError as error:
                told = str(error)
                assert parameter in told or name in told or "MinMaxScaler" in told, told
                assert "\n" not in told, told
            else:
                if same:
                    kept.setdefault(parameter, []).append(value)
    neutral = (
        "copy",
        "missing_values",
        "encoded_missing_value",
        "add_indicator",
        "memory",
        "transform_input",
    )
    neutral += ("min_frequency", "max_categories", "unknown_value", "transformer_weights", "fill_value")
    for parameter, values in kept.items():
        told = [repr(v).removeprefix("np.int64(").rstrip(")") for v in values]
        wanted = [repr(v).removeprefix("np.int64(").rstrip(")") for v in KEPT[base].get(parameter, ())]
        default = repr(part.get_params()[parameter])
        assert sorted(t for t in told if t != default or t in wanted) == sorted(wanted), (parameter, told)
    assert set(kept) <= set(KEPT[base]) | set(neutral)


def test_every_parameter_of_every_other_transformer_is_refused_with_it():
    for name, kind in all_estimators(type_filter="transformer"):
        if name in HOMES:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                part = kind()
            except TypeError:
                continue  # it needs other estimators: asked in test_from_sklearn
        for parameter in part.get_params(deep=False):
            for value in (None, True, 0, 2.5, "x"):
                with pytest.raises(Unpriced, match=name):
                    from_sklearn(part.set_params(**{parameter: value}), BOX)


def test_the_installed_version_has_no_parameter_that_was_not_read():
    for base, (part, _) in BASES.items():
        assert set(part.get_params(deep=False)) <= set(SETTINGS[base.split(",")[0]])


def test_a_parameter_of_a_newer_version_is_refused_at_its_default_too(monkeypatch):
    honest = sk.Normalizer.get_params
    monkeypatch.setattr(sk.Normalizer, "get_params", lambda self, deep=True: honest(self, deep) | {"axis": 1})
    with pytest.raises(Unpriced, match=r"Normalizer\(axis=\) .* unknown setting 'axis'"):
        from_sklearn(sk.Normalizer(), BOX)


class StandardScaler(sk.StandardScaler):
    """A class that inherits, under the name of its parent."""


StandardScaler.__module__ = "sklearn.preprocessing"


def weighted():
    part = sk.StandardScaler()
    part._metadata_request = object()
    return part


def by_hand(**attributes):
    part = sk.StandardScaler()
    vars(part).update(attributes)
    return part


@pytest.mark.parametrize(
    "part, says",
    [
        (StandardScaler(), "not known here"),
        (weighted(), "set_fit_request hands weights"),
        (by_hand(fit=len), "'fit' set by hand"),
        (by_hand(_reset=len), "'_reset' set by hand"),
        (by_hand(_skl_callbacks=[]), "set_callbacks hands the private rows"),
        (by_hand(_another=1), "'_another' set by hand"),
        (ColumnTransformer([("a", sk.StandardScaler(), ["x0"] * 3)]), "names a column twice"),
        (ColumnTransformer([("a", "passthrough", [0, 0])]), "names a column twice"),
        (ColumnTransformer([("a", sk.StandardScaler(), "x0")]), r"'x0' alone is handed on as rows of one dimension.*write \['x0'\]"),
        (ColumnTransformer([("a", "passthrough", 1), ("b", "drop", "x0")]), r"ColumnTransformer has no price: 1 alone is handed on"),
        (make_pipeline(sk.StandardScaler(), sk.StandardScaler()), "'x0' is scaled twice"),
        (make_pipeline(ColumnTransformer([("a", sk.StandardScaler(), ["x1"])], remainder="passthrough"), sk.StandardScaler()), "'x1' is scaled twice"),
        (by_hand(get_params=dict), "'get_params' set by hand"),
        (by_hand(floor=2.0), "'floor' set by hand"),
        (make_pipeline(sk.Normalizer(), make_pipeline(sk.MinMaxScaler(), LogisticRegression())), "MinMaxScaler"),
        (make_pipeline(sk.Normalizer(), GridSearchCV(make_pipeline(sk.MinMaxScaler(), LogisticRegression()), {})), "GridSearchCV"),
        (make_pipeline(ColumnTransformer([("a", sk.StandardScaler(), ["x2"])], remainder="passthrough"),
                       ColumnTransformer([("b", sk.StandardScaler(), [0])], remainder="passthrough")), "columns have other places"),
    ],
)  # fmt: skip
def test_what_is_not_the_class_with_its_parameters_is_refused(part, says):
    with pytest.raises(Unpriced, match=says):
        from_sklearn(part, BOX, missing=0.05, deviation=0.1)


@pytest.mark.parametrize("name", HOMES)
def test_nothing_with_a_name_that_a_fit_makes_stands_before_what_a_class_has(name):
    """Such names pass where they are set by hand: none is a method's, and a property is read before what is set."""
    cls = getattr(importlib.import_module(HOMES[name]), name)
    made = [a for a in dir(cls) if a in _MADE or (a[0] != "_" and a.endswith("_"))]
    assert [a for a in made if not isinstance(inspect.getattr_static(cls, a), property)] == []


def test_encoders_read_as_many_columns_as_there_are():
    part = sk.OneHotEncoder(categories=CATEGORIES * 2)
    with pytest.raises(Unpriced, match=r"lists 2 columns, .* 1"):
        from_sklearn(part, WORDS)


def test_what_a_fit_leaves_is_not_set_by_hand():
    numbers, words = np.linspace(0, 1, 20).reshape(10, 2), np.array([["a"], ["b"]] * 5, object)
    encoder = sk.OneHotEncoder(categories=[["a", "b"]], drop="first", sparse_output=False)
    both = ColumnTransformer([("w", encoder, ["k"])], remainder=SimpleImputer())
    codes = sk.OrdinalEncoder(categories=[[0, 1]])
    for part, rows in (
        (sk.StandardScaler(), numbers),
        (SimpleImputer(), numbers),
        (encoder, words),
        (codes, [[0], [1]]),
    ):
        part.fit(rows).set_output(transform="default")
        assert not unread_settings(part)
    both.fit(pd.DataFrame({"k": words[:, 0], "x": numbers[:, 0]})).set_output(transform="default")
    assert not unread_settings(both)


MIXED = Domain({"x": Numeric(0, 1), "k": Categorical((10, 20)), "t": Text()}, [0, 1], n=400)
OF_TEXT = ("t", "drop", ["t"])


@pytest.mark.parametrize(
    "part, column",
    [
        (sk.Normalizer(), "k"),
        (make_pipeline("passthrough"), "k"),
        (ColumnTransformer([("n", sk.StandardScaler(), ["x"]), OF_TEXT], remainder="passthrough"), "k"),
        (ColumnTransformer([("k", "passthrough", ["k"]), OF_TEXT]), "k"),
        (
            ColumnTransformer(
                [("k", sk.OneHotEncoder(categories=[[10, 20]]), ["k"])], remainder="passthrough"
            ),
            "t",
        ),
    ],
)
def test_a_column_that_is_not_numeric_is_encoded_or_dropped(part, column):
    """A number of 99,999 passed through, where a row of norm 1 was counted: 5.30 printed, 10.70 true."""
    with pytest.raises(Unpriced, match=f"the column '{column}' is declared"):
        from_sklearn(part, MIXED, deviation=0.1)
    encoded = ("k", sk.OneHotEncoder(categories=[[20, 10]]), ["k"])
    from_sklearn(ColumnTransformer([encoded, OF_TEXT], remainder="passthrough"), MIXED)
    from_sklearn(ColumnTransformer([("x", "passthrough", ["x"])]), MIXED)  # the others are dropped


def test_categories_are_compared_by_one_spelling():
    domain = Domain({"k": Categorical((1, "a"))}, [0, 1], n=400)
    from_sklearn(sk.OneHotEncoder(categories=[["a", 1]]), domain)
    with pytest.raises(Unpriced, match="other categories"):
        from_sklearn(sk.OneHotEncoder(categories=[["a", 2]]), domain)


@pytest.mark.parametrize("columns", [[0.9, 1.2], [True, False], [0, "x1"]])
def test_selectors_that_scikit_learn_refuses_are_refused(columns):
    with pytest.raises(ValueError, match="not a column"):
        from_sklearn(ColumnTransformer([("a", sk.StandardScaler(), columns)]), BOX, deviation=0.1)


def test_steps_read_of_one_domain_are_accounted_for_in_no_other():
    """Bounds of 1 against 1,000: 2.16 printed, 2519 true."""
    learner, wide = (
        GradientDescent(Logistic(), steps=1),
        Domain.box(-2.0, 600.0, features=3, classes=[0, 1], n=400),
    )
    steps = from_sklearn(sk.Normalizer(), BOX)
    account(steps, learner, domain=BOX, noise_multiplier=9.0)
    for what in (account, ways_out):
        options = {"noise_multiplier": 9.0} if what is account else {"epsilon": 1.0, "delta": 1e-5}
        with pytest.raises(ValueError, match="pipeline on another domain"):
            what(steps, learner, domain=wide, **options)


TWO = Domain({"o": Numeric(0, 2), "x": Numeric(0, 1)}, [0, 1], n=400)


def ordinal(categories, before=()):
    return ColumnTransformer(
        [("o", make_pipeline(*before, sk.OrdinalEncoder(categories=[categories])), ["o"])],
        remainder="passthrough",
    )


@pytest.mark.parametrize(
    "part, domain, says",
    [
        (ordinal([0, 1, 2]), replace(TWO, columns={"o": Numeric(0, 2, missing="impute"), "x": Numeric(0, 1)}), "'o' can miss cells"),
        (ordinal([0, 1, float("nan")]), TWO, "must be texts or finite numbers"),
        (ordinal([0, 1, None]), TWO, "must be texts or finite numbers"),
        (ordinal([0, 1]), TWO, r"Numeric\(0, 1\)"),
        (ordinal([0, 1, 2], [sk.StandardScaler()]), TWO, "'o' is changed before it"),
        (ordinal(["a", "b", "c"], [sk.OrdinalEncoder(categories=[["d", "e", "f"]])]), TWO, "'o' is changed before it"),
        (make_pipeline(sk.Normalizer(), sk.OrdinalEncoder(categories=[[0, 1, 2], [0, 1]])), TWO, "changed before it"),
    ],
)  # fmt: skip
def test_codes_are_of_the_cells_of_the_table_and_none_is_missing(part, domain, says):
    with pytest.raises(Unpriced, match=says):
        from_sklearn(part, domain, missing=0.05, deviation=0.1)


@pytest.mark.parametrize("categories", [[0, 1, 2], [0, 50, 100], ["low", "mid", "high"]])
def test_what_an_encoder_does_not_know_is_a_premise_of_its_own(categories):
    """A cell of 1.5 lies within Numeric(0, 2), and stops the fit: whether a model leaves tells of one record."""
    learner = GradientDescent(Logistic(), steps=2, weight_bound=1.0)
    premises = account(ordinal(categories), learner, domain=TWO, noise_multiplier=900.0).premises
    assert (
        sum(
            "each cell of 'o' is one of the 3 categories that its OrdinalEncoder lists" in p for p in premises
        )
        == 1
    )
    cells = np.array([[categories[0], 0.5], [1.5, 0.5]], object)
    with pytest.raises(ValueError, match=r"unknown categories|not supported"):
        ordinal(categories).set_params(o__ordinalencoder__categories=[categories]).fit(
            pd.DataFrame(cells, columns=["o", "x"])
        )


@pytest.mark.parametrize("column, cell", [("g", "?"), ("g", ""), ("g", pd.NA), ("k", " u"), ("k", "u ")])
def test_cells_that_scikit_learn_reads_otherwise_are_a_premise(column, cell):
    """prepriv trims a category and takes "?" for a gap, as the other conditions do; scikit-learn stops at one record."""
    domain = Domain({"g": Numeric(0, 1, missing="impute"), "k": Categorical(("u", "v", "w"))}, [0, 1], n=400)
    part = ColumnTransformer(
        [("g", SimpleImputer(), ["g"]), ("k", sk.OneHotEncoder(categories=CATEGORIES), ["k"])]
    )
    rows = pd.DataFrame({"g": [0.5, np.nan, 0.25], "k": ["u", "v", "w"]}, dtype=object)
    part.fit(rows)
    rows.loc[0, column] = cell
    with pytest.raises((ValueError, TypeError)):
        part.fit(rows)
    notes = from_sklearn(part, domain, missing=0.05)[0].notes
    assert (
        sum("what is missing is nan and nothing else" in n and "is spelled exactly" in n for n in notes) == 1
    )


@pytest.mark.parametrize(
    "low, n, taken",
    [(0.0, 10**6, True), (1e6, 10**6, True), (1e9, 400, True), (1e9, 10**6, False), (-1e9, 10**6, False)],
)
def test_a_column_that_scikit_learn_could_take_for_constant_is_refused(low, n, taken):
    """It divides by 1 there: one record moved all rows, ε = 1.097 printed where 6e5 was true."""
    domain = Domain.box(low, low + 1, features=1, classes=[0, 1], n=n)
    learner = GradientDescent(Logistic(), steps=1, weight_bound=1.0)
    steps = from_sklearn(sk.StandardScaler(), domain, deviation=0.2)
    if taken:
        assert account(steps, learner, domain=domain, noise_multiplier=9e3).epsilon(1e-5) > 0
        # What is taken has room: at the least deviation scikit-learn divides by it.
        rows = low + (np.arange(400) % 25 == 0)
        assert sk.StandardScaler().fit(rows[:, None]).scale_[0] == pytest.approx(rows.std(), rel=1e-3)
    else:
        with pytest.raises(ValueError, match="'x0' lies so far"):
            account(steps, learner, domain=domain, noise_multiplier=9e3)


def test_the_loss_that_an_account_rests_on_is_printed():
    """A hinge meets every other premise: 0.368 printed, 75.6 true."""
    steps = from_sklearn(sk.StandardScaler(), BOX, deviation=0.1)
    learner = GradientDescent(Logistic(), steps=2, weight_bound=1.0)
    said = account(steps, learner, domain=BOX, noise_multiplier=900.0).premises
    assert any("that of Logistic() for a linear model with a constant feature of 1" in p for p in said)
    learner = GradientDescent(AnyModel(), steps=2, clip_norm=1.0)
    said = account(steps, learner, domain=BOX, noise_multiplier=900.0).premises
    assert not any("linear model" in p for p in said)


def test_that_a_step_saw_public_records_alone_is_a_premise():
    learner = GradientDescent(Logistic(), steps=2, weight_bound=1.0)
    said = account([pre.StandardScaler(payment=Public())], learner, domain=BOX, noise_multiplier=900.0)
    assert any("StandardScaler was fitted on public records alone" in p for p in said.premises)
    said = account([pre.Normalize(1.0)], learner, domain=BOX, noise_multiplier=900.0)
    assert not any("public" in p for p in said.premises)


def test_facts_have_no_default():
    with pytest.raises(Unpriced, match=r"SimpleImputer.*needs missing.*StandardScaler.*needs deviation"):
        from_sklearn(make_pipeline(SimpleImputer(), sk.StandardScaler()), GAPS)
    with pytest.raises(ValueError, match="deviation"):
        from_sklearn(sk.StandardScaler(), BOX, deviation=0)
    with pytest.raises(Unpriced, match="needs deviation"):
        account(sk.StandardScaler(), GradientDescent(Logistic(), steps=1), domain=BOX, noise_multiplier=9.0)


def test_what_has_to_hold_of_the_run_is_printed_also_where_the_steps_are_handed_on():
    steps = from_sklearn(make_pipeline(sk.StandardScaler(), RidgeCV()), BOX, deviation=0.1)
    learner = GradientDescent(Logistic(), steps=2, weight_bound=1.0)
    notes = account(list(steps), learner, domain=BOX, noise_multiplier=900.0).notes
    for words in ("columns of the domain, in their order", "without weights", "in the place of RidgeCV"):
        assert sum(words in note for note in notes) == 1
    said = account(list(steps), learner, domain=BOX, noise_multiplier=900.0)
    for words in ("columns of the domain, in their order", "in the place of RidgeCV"):
        assert words in str(said) and words in repr(said)
    ours = Guarantee.of_gaussians([], "replace-one")
    with pytest.raises(ValueError, match="1 premise,"):
        to_dp_event(replace(ours, notes=("holds only if each place of the dataset is one record",)))
    sparse = from_sklearn(sk.OneHotEncoder(categories=CATEGORIES), WORDS)
    assert any("sparse" in note for note in sparse[0].notes)
