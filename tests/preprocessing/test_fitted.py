"""A pipeline of scikit-learn as a public map: what it makes of a row is a function of that row, bit by bit."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import (
    NMF,
    PCA,
    FastICA,
    IncrementalPCA,
    KernelPCA,
)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import (
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    VarianceThreshold,
)
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

import prepriv
from prepriv import Categorical, Domain, Numeric, Sketch
from prepriv.cli import run
from prepriv.integrations.onnx_model import onnx_rows
from prepriv.learners import GradientDescent, Logistic
from prepriv.ledger import Ledger
from prepriv.mechanisms.session import Metered
from prepriv.plans.plan import make_plan
from prepriv.plans.price import prices
from prepriv.plans.stored import plan_from_json
from prepriv.preprocessing import Fitted, Normalize, Rescale, compile_sklearn
from prepriv.preprocessing.compile_sklearn import FitFailed, Fitting, fitted_ops, taken
from prepriv.preprocessing.fitted import parts_of
from prepriv.preprocessing.maps import read_map, write_map
from prepriv.preprocessing.sklearn_spec import spec_of
from prepriv.preprocessing.sklearn_widths import most_columns
from transformers import CASES, FEW, GAPS, NUMBERS, WORDS, name_of, rows_of

MIXED = Domain(
    {"a": Numeric(0, 10, "impute"), "b": Categorical(["x", "y"]), "c": Numeric(-3, 3)},
    classes=["no", "yes"],
    n=6000,
    label="y",
)
USUAL = make_pipeline(
    make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["a", "c"]),
        (
            make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")),
            ["b"],
        ),
    ),
    PCA(3),
)
TWO = Domain.box(0, [1, 10, 3, 5], features=4, classes=[0, 1], n=2000)
LEARNER = GradientDescent(Logistic(), steps=30, learning_rate=1.0, clip_norm=1.0)
BEHIND = (Normalize(1.0), Rescale(5.0))


def check_bits(case, rows, sizes):
    transformer, domain = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step = Fitted.of(transformer, domain)
        made = step.fit_drawn(*rows_of(domain, 400))
    made = read_map(json.loads(json.dumps(write_map(made))))  # as an artifact gives it back
    x, _ = rows_of(domain, rows, seed=1)
    whole = made.transform(x)
    assert whole.shape == (rows, step.features) and np.abs(whole).max() <= 1
    for order in "CF":
        for size in sizes:
            parts = [made.transform(np.array(x[i : i + size], order=order)) for i in range(0, rows, size)]
            assert np.array_equal(np.vstack(parts), whole), (order, size)
    other = x.copy()
    other[rows // 2] = x[0]
    assert np.array_equal(np.delete(made.transform(other), rows // 2, 0), np.delete(whole, rows // 2, 0))


by_name = pytest.mark.parametrize("case", CASES, ids=name_of)


@by_name
def test_what_becomes_of_a_row_is_a_function_of_that_row_bit_by_bit(case):
    check_bits(case, 35, (1, 17))


@pytest.mark.slow
@by_name
def test_what_becomes_of_a_row_is_a_function_of_that_row_at_length(case):
    check_bits(case, 513, (1, 2, 7, 64))


def test_every_transformer_that_is_compiled_is_tried():
    assert {type(t).__name__ for t, _ in CASES} == set(taken())


@pytest.mark.parametrize("seed", range(3))
def test_no_fit_makes_more_columns_than_declared(seed):
    rng = np.random.default_rng(seed)
    pipelines = (
        (make_pipeline(VarianceThreshold(), PolynomialFeatures(2), SelectFpr(alpha=0.9)), NUMBERS),
        (make_pipeline(SimpleImputer(add_indicator=True), PCA(0.99)), GAPS),
        (make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder()), WORDS),
        (FeatureUnion([("one", PCA(2)), ("two", KBinsDiscretizer(3, encode="onehot-dense"))]), NUMBERS),
    )
    for pipeline, domain in pipelines:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            step = Fitted.of(pipeline, domain)
            ops = json.loads(step.fit_drawn(*rows_of(domain, int(rng.integers(30, 300)), seed)).ops)
        assert len(ops[-1]["times"]) <= step.features


@pytest.mark.parametrize("select", [SelectFpr(), SelectFdr(), SelectFwe(), SelectFromModel(FEW)], ids=str)
def test_a_selection_that_keeps_nothing_of_the_drawn_rows_ends_no_paid_run(select):
    step = Fitted.of(select, NUMBERS)  # at its defaults: the made-up labels follow the made-up rows
    x, labels = rows_of(NUMBERS, 60)
    made = step.fit_drawn(x, np.random.default_rng(0).permutation(labels))
    assert made.transform(x).shape == (60, step.features)


def test_rows_unlike_those_of_the_fit_stay_in_the_declared_space():
    step = Fitted.of(make_pipeline(StandardScaler(), PolynomialFeatures(2)), NUMBERS)
    x, labels = rows_of(NUMBERS, 300)
    made = step.fit_drawn(0.5 + 1e-3 * (x - 0.5), labels)
    out = made.transform(np.vstack([x, np.full((1, 4), np.nan)]))
    assert np.isfinite(out).all() and np.abs(out).max() <= 1
    empty = type(made)(made.columns, json.dumps([]), 4).transform(
        np.full((1, 4), 7.0)
    )  # a file of someone's own
    assert np.abs(empty).max() <= 1


# ------------------------------------------------------------------------------------------------- what is refused


class Remembers(StandardScaler):
    """Counts calls."""


def _with_a_method_of_its_own():
    scaler = StandardScaler()
    scaler.transform = lambda x: 2 * x  # a reader's: it was left out without a word
    return scaler


REFUSED = {
    "a method set by hand": (_with_a_method_of_its_own(), "set by hand .transform., which would not be read"),
    "a subclass": (Remembers(), "Remembers is not a transformer of scikit-learn"),
    "another function": (FunctionTransformer(lambda x: x - x.mean()), "no form as plain data"),
    "neighbours by another distance": (KNNImputer(metric=lambda a, b, **_: 0.0), "no form as plain data"),
    "a descent in random order": (NMF(2, shuffle=True), "shuffle=False"),
    "a descent of all rows": (NMF(2, solver="mu"), "solver='cd'"),
    "kernels": (KernelPCA(), "KernelPCA is not taken"),
    "texts": (TfidfVectorizer(), "TfidfVectorizer is not"),
    "a random map": (IterativeImputer(sample_posterior=True), "sample_posterior"),
    "no column left": (VarianceThreshold(99.0), "VarianceThreshold cannot be fitted"),
    "too many": (PCA(50), "PCA cannot be fitted"),
    "giant": (PolynomialFeatures(40), "at most 4096"),
    "another missing value": (SimpleImputer(missing_values=0), "leave missing_values out"),
    "by a function": (ColumnTransformer([("a", StandardScaler(), lambda x: [0])]), "name them"),
    "another column": (ColumnTransformer([("a", StandardScaler(), ["z"])]), "column 'z'"),
    "a cache": (Pipeline([("a", StandardScaler())], memory="cache"), "memory="),
    "periodic splines": (SplineTransformer(extrapolation="periodic"), "extrapolation"),
    "numbers as words": (OneHotEncoder(), "column of numbers reaches it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_form_as_a_row_wise_map_is_refused_by_name(name):
    transformer, said = REFUSED[name]
    with pytest.raises(ValueError, match=said):
        Fitted.of(transformer, NUMBERS)


CODES = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "c"]), (OneHotEncoder(), ["b"])
)


@pytest.mark.parametrize(
    "last",
    [
        *(SplineTransformer(degree=d) for d in range(7)),
        SplineTransformer(include_bias=False),
        SplineTransformer(knots="quantile"),
        SplineTransformer(8, degree=5, knots="quantile"),
        PCA(),
        IncrementalPCA(),
    ],
    ids=str,
)
def test_codes_of_categories_may_leave_columns_of_nothing_but_rounding(last):
    """A code is 0 or 1, where splines of the middle are 0, its cells add up to one, and a cell that is never met is constant."""
    assert Fitted.of(make_pipeline(CODES, last), MIXED).features > 6


@pytest.mark.parametrize("knots", ["uniform", "quantile"])
@pytest.mark.parametrize("degree", range(5))
def test_splines_of_codes_are_those_of_scikit_learn(degree, knots):
    rng = np.random.default_rng(degree)
    columns = [rng.integers(0, 2, 60) * 1.0, (np.arange(60) < 3) * 1.0, np.ones(60), rng.normal(0, 1, 60)]
    spline = SplineTransformer(degree=degree, knots=knots)
    _, made = fitted_ops(spec_of(spline), Fitting(columns, [None] * 4, np.zeros(60)))
    assert np.abs(made.matrix() - spline.fit_transform(np.column_stack(columns))).max() < 1e-12


def test_numbers_made_of_rounding_are_refused_with_a_cure_that_works():
    for kind, setting in ((FastICA, {}), (PCA, {"whiten": True})):
        with pytest.raises(ValueError, match=r"rounding.*n_components of at most 5") as told:
            Fitted.of(make_pipeline(CODES, kind(6, **setting)), MIXED)
        most = int(str(told.value).split()[-1])
        assert Fitted.of(make_pipeline(CODES, kind(most, **setting)), MIXED).features == most


def test_what_parts_from_scikit_learn_names_parameters_only_where_some_are_not_the_default(monkeypatch):
    monkeypatch.setitem(compile_sklearn._COMPILED, "Binarizer", lambda e, rows: ([], None))
    with pytest.raises(ValueError, match=r"Binarizer .*not compiled.*leave out threshold"):
        Fitted.of(Binarizer(threshold=0.4), NUMBERS)
    with pytest.raises(ValueError, match=r"Binarizer .*not compiled, whatever its parameters"):
        Fitted.of(Binarizer(), NUMBERS)


def test_gaps_that_nothing_fills_and_words_that_nothing_encodes_are_refused():
    with pytest.raises(ValueError, match="PCA cannot be fitted"):
        Fitted.of(PCA(2), GAPS)
    with pytest.raises(ValueError, match="StandardScaler"):
        Fitted.of(StandardScaler(), WORDS)


DOUBLED = [{"do": "beside", "parts": [[], []]}] * 40
ODD = {
    "columns without end": DOUBLED,
    "a power without end": [{"do": "products", "powers": [[10**9, 0, 0, 0]]}],
    "no such operation": [{"do": "eval"}],
    "a place that is not there": [{"do": "take", "of": [9]}],
    "a missing part": [{"do": "affine"}],
    "no list": 7,
}


@pytest.mark.parametrize("name", ODD)
def test_a_file_that_somebody_made_is_refused_when_it_is_read(name):
    made = Fitted.of(StandardScaler(), NUMBERS).fit_drawn(*rows_of(NUMBERS, 100))
    data = json.loads(json.dumps(write_map(made)))
    with pytest.raises(ValueError, match="describe a compiled pipeline"):
        read_map(data | {"ops": json.dumps(ODD[name])})


@pytest.mark.parametrize("kind", ["classes", "a number"])
def test_a_model_of_scikit_learn_and_a_graph_predict_the_same(kind):
    X, y = table(3000)
    if kind == "classes":
        made = prepriv.private(make_pipeline(USUAL, LogisticRegression()), MIXED.with_n(3000), epsilon=2.0)
    else:
        numbers = Domain(dict(MIXED.columns), target=Numeric(0, 1), n=3000)
        made, y = prepriv.private(make_pipeline(USUAL, Ridge()), numbers, epsilon=2.0), (y == "yes") * 1.0
    model = made.fit(X, y).model_
    theirs = pickle.loads(pickle.dumps(model.to_sklearn()))
    new, _ = table(300, seed=3)
    new.loc[:5, "b"] = ["?", None, "other", "x", "y", "z"]
    if kind == "classes":
        assert (theirs.predict(new) == model.predict(new)).all()
        assert np.allclose(theirs.decision_function(new), model.scores(new)[:, 0])
    else:
        assert np.allclose(np.clip(theirs.predict(new), 0, 1), model.predict(new))
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(
        model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found = session.run(None, onnx_rows(new, model.domain))[0]
    assert (
        np.allclose(found[:, 0], model.predict(new))
        if kind == "a number"
        else (found == model.predict(new)).all()
    )


def test_state_and_output_settings_are_left_behind():
    used = (
        StandardScaler()
        .set_output(transform="pandas")
        .fit(pd.DataFrame(np.random.default_rng(0).random((9, 4))))
    )
    used.mean_ = np.full(4, 1e9)
    one, two = (Fitted.of(t, NUMBERS) for t in (used, StandardScaler()))
    assert one == two


def test_it_pays_by_a_sketch_alone_and_stands_first():
    with pytest.raises(ValueError, match="has no private fit"):
        Fitted.of(StandardScaler(), NUMBERS, prepriv.Budget(0.1))
    step = Fitted.of(StandardScaler(), TWO, Sketch(0.1))
    for steps in ((Normalize(1.0), step), (step, step)):
        with pytest.raises(ValueError, match=r"first step|one sketch pays"):
            make_plan(TWO, steps, LEARNER, epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match="made for other columns"):
        make_plan(MIXED, [step], LEARNER, epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match="train with PrivateClassifier"):
        prepriv.PrivateTransformer(TWO, [step], epsilon=1.0, delta=1e-5).fit(rows_of(TWO, 2000)[0])


# ------------------------------------------------------------------------- fits on drawn rows, which are paid for then


def odd_rows(domain, kind):
    x, labels = rows_of(domain, 60)
    if kind == "one value each":
        x[:] = x[np.flatnonzero(~np.isnan(x).any(axis=1))[0]]
    elif kind == "a column of zeros" and domain is not WORDS:
        x[:, 0] = 0.0
    elif kind == "a rare class":
        labels = np.where(np.arange(60) < 2, 1, np.where(np.arange(60) < 4, 2, 0))
    return x, labels


def check_odd(cases):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in cases:
            step = Fitted.of(*case)
            for kind in ("one value each", "a column of zeros", "a rare class"):
                if (type(case[0]).__name__, kind) != ("FastICA", "one value each"):  # which has no answer
                    made = step.fit_drawn(*odd_rows(case[1], kind))
                    assert np.isfinite(made.transform(rows_of(case[1], 9)[0])).all()


def test_odd_drawn_rows_end_no_paid_run():
    few = (
        "SplineTransformer",
        "VarianceThreshold",
        "StandardScaler",
        "PowerTransformer",
        "SimpleImputer",
        "TargetEncoder",
    )
    check_odd([case for case in CASES if type(case[0]).__name__ in few])


@pytest.mark.slow
def test_odd_drawn_rows_end_no_paid_run_at_length():
    check_odd(CASES)


def test_fewer_columns_than_asked_for_and_none_end_no_paid_run():
    x, labels = rows_of(NUMBERS, 200)
    x[:, 1:] = 0.5
    for last in (PCA(2), StandardScaler(), KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")):
        few = Fitted.of(make_pipeline(VarianceThreshold(0.01), last), NUMBERS).fit_drawn(x, labels)
        assert np.ptp(few.transform(x), axis=0).max() > 0
        none = Fitted.of(make_pipeline(VarianceThreshold(0.01), last), NUMBERS).fit_drawn(0 * x, labels)
        assert (none.transform(x) == 0).all()


def test_what_cannot_be_written_down_is_refused_before():
    with pytest.raises(ValueError, match="can make 4186 columns"):
        most_columns(spec_of(PolynomialFeatures(2)), [None] * 90, 2)
    with pytest.raises(ValueError, match="n_quantiles of at most 2000"):
        Fitted.of(QuantileTransformer(n_quantiles=3000), NUMBERS)


class Fails:
    def __init__(self, error):
        self.error = error

    def __call__(self, estimator, rows):
        if not rows.dry:
            raise self.error
        return compile_sklearn._pca(estimator, rows)


@pytest.mark.parametrize(
    "error", [ValueError("PCA SECRET"), RuntimeError("SECRET"), MemoryError("SECRET"), KeyError("SECRET")]
)
def test_a_fit_that_fails_after_the_charge_is_one_sentence(monkeypatch, tmp_path, error):
    Ledger.create(tmp_path / "L.db", dataset_id="people", epsilon=5, delta=1e-4)
    monkeypatch.setitem(compile_sklearn._COMPILED, "PCA", Fails(error))
    model = prepriv.PrivateClassifier(
        MIXED.with_n(3000),
        epsilon=2.0,
        delta=1e-5,
        steps=[Fitted.of(USUAL, MIXED), *BEHIND],
        ledger=tmp_path / "L.db",
    )
    with pytest.raises(FitFailed, match=r"PCA .* fitted .* drawn") as caught:
        model.fit(*table(3000))
    assert "SECRET" not in str(caught.value) and caught.value.__suppress_context__
    assert [e.kind for e in Ledger.open(tmp_path / "L.db").entries()] == ["charged"]


def test_the_command_says_so_with_its_exit_code(monkeypatch, tmp_path, capsys):
    Ledger.create(tmp_path / "L.db", dataset_id="people", epsilon=5, delta=1e-4)
    step = Fitted.of(USUAL, MIXED)
    declared = {
        "label": {"name": "y", "classes": ["no", "yes"]},
        "columns": {
            "a": {"type": "numeric", "low": 0, "high": 10, "missing": "impute"},
            "b": {"type": "categorical", "categories": ["x", "y"]},
            "c": {"type": "numeric", "low": -3, "high": 3},
        },
        "rows": 3000,
        "steps": [
            {
                "step": "Fitted",
                "pay": "sketch",
                "transformer": step.transformer,
                "columns": step.columns,
                "features": step.features,
            },
            {"step": "Normalize", "radius": 1.0},
        ],
    }
    (tmp_path / "S.yaml").write_text(json.dumps(declared))
    X, y = table(3000)
    X.assign(y=y).to_csv(tmp_path / "p.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(compile_sklearn._COMPILED, "PCA", Fails(ValueError("SECRET")))
    assert (
        run(["train", "p.csv", "--schema", "S.yaml", "--ledger", "L.db", "--epsilon", "2", "--out", "run"])
        == 70
    )
    said = capsys.readouterr().err
    assert said.count("prepriv: ") == 1 and "PCA could not be fitted" in said and "SECRET" not in said
    assert len(Ledger.open("L.db").entries()) == 1


# --------------------------------------------------------------------------------------------- what learns nothing

FIXED = [case for case in CASES if not parts_of(spec_of(case[0], list(case[1].columns)))[0].learns]


def test_enough_of_them_learn_nothing():
    names = {type(t).__name__ for t, _ in FIXED}
    assert {"OneHotEncoder", "Normalizer", "PolynomialFeatures", "FunctionTransformer", "RBFSampler"} <= names


@pytest.mark.parametrize("case", FIXED, ids=name_of)
def test_what_is_free_is_the_same_whatever_the_rows(case):
    transformer, domain = case
    step = Fitted.of(transformer, domain)
    assert step.way == "free" and step.payment is None
    made = [
        fitted_ops(step._spec, step._as_columns(*rows))[0]
        for rows in (rows_of(domain, 300), step._uniform(3))
    ]
    assert made[0] == made[1]
    released = step.free(domain.space)
    x, _ = rows_of(domain, 40, seed=5)
    assert np.abs(released.transform(x)).max() <= 1 and np.ptp(released.transform(x), axis=0).max() > 0


def test_a_free_pipeline_costs_nothing_and_stands_first():
    step = Fitted.of(make_pipeline(PolynomialFeatures(2), Normalizer()), TWO)
    assert dict(plan_of(step, TWO).guarantee.breakdown) == {"GradientDescent": 1.0}
    assert Fitted.of(PolynomialFeatures(2), TWO, Sketch(0.1)).way == "sketch"  # where it is asked for
    for steps, said in (((Normalize(1.0), step), "first step"), ((step, step), "first step")):
        with pytest.raises(ValueError, match=said):
            make_plan(TWO, steps, LEARNER, epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match="made for other columns"):
        make_plan(Domain.box(0, 2, features=4, classes=[0, 1], n=9), [step], LEARNER, epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match="data and needs payment"):
        Fitted(Fitted.of(StandardScaler(), TWO).transformer, step.columns, 4)
    X, y = rows_of(TWO, 2000)
    fitted = prepriv.PrivateClassifier(TWO, epsilon=4.0, steps=[step, *BEHIND]).fit(X * [1, 10, 3, 5], y)
    assert len(fitted.report_.to_html()) > 1000
    again = plan_from_json(json.loads(json.dumps(fitted.plan_.to_json())))
    assert again.hash == fitted.plan_.hash and again.pipeline[0].way == "free"


# ------------------------------------------------------------------------------------------ plans, prices, accounts


@pytest.fixture(scope="module")
def usual():
    return Fitted.of(USUAL, MIXED)


def plan_of(step, domain=MIXED, epsilon=1.0):
    return make_plan(domain, [step, *BEHIND], LEARNER, epsilon=epsilon, delta=1e-5)


def test_a_plan_counts_the_sketch_and_training(usual):
    plan = plan_of(Fitted.of(USUAL, MIXED, Sketch(0.1)))
    assert dict(plan.guarantee.breakdown)["Fitted"] == pytest.approx(0.1)
    placed = plan.steps[0]
    assert float(placed.sketch.mu_squared) <= 1 / placed.noise_multiplier**2
    assert float(placed.sketch.mu_squared) >= 1 / placed.noise_multiplier**2 * (1 - 1e-9)
    assert plan.guarantee.epsilon(1e-5) <= 1.0 and "Fitted (sketch)" in plan.what


def test_auto_buys_more_where_there_is_less(usual):
    shares = [plan_of(usual, MIXED.with_n(n)).pipeline[0].payment.share for n in (40_000, 2000)]
    assert shares[0] == 0.01 and 0.01 < shares[1] <= 0.26


def test_too_little_is_refused_when_planned_and_coarse_is_said(usual):
    with pytest.raises(ValueError, match=r"a sketch of this table .* fine enough"):
        plan_of(usual, MIXED.with_n(200), epsilon=0.1)
    with pytest.warns(UserWarning, match=r"1\.5 to 1\.9 points"):
        plan_of(Fitted.of(USUAL, MIXED, Sketch(0.01)), MIXED.with_n(2000))


def test_a_plan_comes_back_from_its_file_with_its_claim(usual):
    plan = plan_of(usual)
    again = plan_from_json(json.loads(json.dumps(plan.to_json())))
    assert again.hash == plan.hash and again.guarantee.mu == plan.guarantee.mu
    assert again.pipeline[0].payment == plan.pipeline[0].payment


def test_the_price_of_a_sketch_is_its_share():
    step = Fitted.of(USUAL, MIXED, Sketch(0.19))
    found = {p.way: p for p in prices([step, *BEHIND], MIXED, LEARNER, epsilon=1.0, delta=1e-5, n=6000)}
    assert found["sketch"].chosen and found["sketch"].factor == pytest.approx(1 / 0.9, rel=1e-6)
    assert not found["budget"].open and "private fit" in found["budget"].note


def test_a_schema_file_declares_it(usual, tmp_path):
    import yaml

    from prepriv.schemas.schema import build_step

    spec = {"step": "Fitted", "pay": "sketch", "share": 0.1}
    spec |= {name: getattr(usual, name) for name in ("transformer", "columns", "features")}
    made = build_step(0, yaml.safe_load(yaml.safe_dump(spec)), lambda path: None)
    assert made == Fitted.of(USUAL, MIXED, Sketch(0.1))


# ------------------------------------------------------------------------------------------------------------- runs


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    a = np.clip(rng.normal(4 + 2 * y, 1.5), 0, 10)
    a[rng.random(n) < 0.1] = np.nan
    b = np.where(rng.random(n) < 0.3 + 0.4 * y, "x", "y")
    return pd.DataFrame({"a": a, "b": b, "c": rng.normal(size=n) * 0.9 + y * 0.3}), np.array(["no", "yes"])[y]


def test_a_private_fit_is_near_the_one_without_privacy_and_leaves_as_a_file(usual, tmp_path):
    X, y = table(6000)
    fitted = prepriv.PrivateClassifier(MIXED, epsilon=1.0, delta=1e-5, steps=[usual, *BEHIND]).fit(X, y)
    plain = make_pipeline(USUAL, LogisticRegression()).fit(X, y)
    new, truth = table(4000, seed=9)
    assert fitted.score(new, truth) > plain.score(new, truth) - 0.02
    fitted.model_.save(tmp_path / "model")
    again = prepriv.Model.load(tmp_path / "model")
    assert (again.predict(new) == fitted.predict(new)).all()
    assert "sketch" in fitted.report_.to_html()


@pytest.mark.parametrize("kind", ["replace-one", "add-or-remove-one", "units", "target", "no noise"])
def test_every_kind_of_plan_runs(kind):
    X, y = table(3000)
    domain, epsilon = MIXED.with_n(3000), 4.0
    made = prepriv.PrivateClassifier
    if kind == "add-or-remove-one":
        domain = Domain(dict(MIXED.columns), ["no", "yes"], 3000, kind)
    if kind == "units":
        domain = Domain(dict(MIXED.columns), ["no", "yes"], 1500, unit="who", rows_per_unit=2)
        X = X.assign(who=np.arange(3000) // 2)
    if kind == "target":
        domain, y, made = (
            Domain(dict(MIXED.columns), target=Numeric(0, 1), n=3000),
            (y == "yes") * 1.0,
            prepriv.PrivateRegressor,
        )
    if kind == "no noise":
        epsilon = np.inf
    pipeline = make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "c"]), (TargetEncoder(), ["b"])
        )
    )
    if kind == "target":
        pipeline = make_pipeline(
            make_column_transformer(
                (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "c"]), (OneHotEncoder(), ["b"])
            )
        )
    step = Fitted.of(pipeline, domain, Sketch(0.2))
    fitted = made(domain, epsilon=epsilon, delta=1e-5, steps=[step, *BEHIND]).fit(X, y)
    assert fitted.score(X, y) > (0.7 if kind != "target" else 0.1)


def test_what_cannot_be_fitted_costs_nothing(tmp_path):
    Ledger.create(tmp_path / "L.db", dataset_id="people", epsilon=5, delta=1e-4)
    settings = {"epsilon": 0.1, "delta": 1e-5, "ledger": tmp_path / "L.db"}
    steps = [Fitted.of(USUAL, MIXED), *BEHIND]
    weak = prepriv.PrivateClassifier(MIXED.with_n(100), steps=steps, **settings)
    with pytest.raises(ValueError, match="a sketch of this table"):
        weak.fit(*table(100))
    assert Ledger.open(tmp_path / "L.db").entries() == ()


def test_a_run_releases_what_the_plan_counts_and_no_more(usual, monkeypatch):
    seen = []
    release = Metered.release

    def watched(self, name, mechanism, exact):
        seen.append((name, mechanism))
        return release(self, name, mechanism, exact)

    monkeypatch.setattr(Metered, "release", watched)
    X, y = table(6000)
    clf = prepriv.PrivateClassifier(MIXED, epsilon=1.0, delta=1e-5, steps=[usual, *BEHIND]).fit(X, y)
    placed = clf.plan(6000).steps[0]
    assert [name for name, _ in seen] == ["Fitted (bins)", "Fitted (tables)", "Fitted (pairs)"]
    assert [m for _, m in seen] == list(placed.sketch.mechanisms.values())
