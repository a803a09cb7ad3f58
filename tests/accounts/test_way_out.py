"""Joint choices of payments for a target: each keeps it, the first needs the least noise, and its code runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, OrdinalEncoder, StandardScaler

from prepriv import Domain, Numeric, account
from prepriv import preprocessing as pre
from prepriv.accounts.from_sklearn import Unpriced
from prepriv.accounts.way_out import _written, ways_out
from prepriv.cli import run
from prepriv.learners import AnyModel, GradientDescent, Logistic
from prepriv.payment import Budget, Sensitivity, Sketch
from prepriv.plans.price import prices

N, DELTA = 4000, 1e-5
BOX = Domain.box(0, 10, features=3, classes=[0, 1], n=N, missing="impute")
LEARNER = GradientDescent(AnyModel(), steps=50)


def found(pipeline, epsilon=3.0, **options):
    if not isinstance(pipeline, list):
        options = {"missing": 0.05, "deviation": 0.1} | options
    return ways_out(pipeline, LEARNER, domain=BOX, epsilon=epsilon, delta=DELTA, **options)


def test_least_noise_comes_first_and_every_choice_is_another():
    out = found(make_pipeline(SimpleImputer(), StandardScaler()))
    noise = [way.noise_multiplier for way in out]
    assert noise == sorted(noise) and len({way.ways for way in out}) == len(out) >= 4
    assert out[0].factor == pytest.approx(1.0)


def test_a_choice_keeps_its_target():
    """By an account of its own: the noise of training and the releases of the steps, composed."""
    for way in found(make_pipeline(SimpleImputer(), StandardScaler())):
        kept = [s for s in way.steps if not s.paid.share and s.way != "public"]
        if len(kept) < len(way.steps) - sum(s.paid.share > 0 for s in way.steps):
            continue  # public steps need their table to be accounted for
        mu = sum(s.paid.share for s in way.steps)
        assert mu < 1 and way.epsilon == 3.0
    few = pre.MeanImputer(payment=Sensitivity({"missing": 2 / N}))
    way = next(w for w in found([few]) if w.ways == (("MeanImputer", "sensitivity"),))
    real = account(list(way.steps), LEARNER, domain=BOX, noise_multiplier=way.noise_multiplier, delta=DELTA)
    assert 2.9 < real.epsilon(DELTA) <= 3.0 * (1 + 1e-6)


def test_what_has_no_price_is_replaced_and_says_so():
    out = found(make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler(), PCA(2), Normalizer()))
    assert [ours for _, ours in out[0].replaced] == ["MedianImputer", "MinMaxScaler", "PCA"]
    assert [s.name for s in out[0].steps] == ["RawUnits", "MedianImputer", "MinMaxScaler", "PCA", "Normalize"]
    with pytest.raises(Unpriced, match="SelectKBest"):
        found(make_pipeline(SimpleImputer(), SelectKBest()))


def test_the_code_of_a_choice_runs():
    import prepriv

    way = next(
        w
        for w in found(make_pipeline(SimpleImputer(), StandardScaler()))
        if {k for _, k in w.ways} == {"budget"}
    )
    names = {"X": np.random.default_rng(0).uniform(0, 10, (N, 3)), "domain": BOX, "prepriv": prepriv}
    exec(way.code, names)
    assert names["X"].shape == (N, 3) and names["noise_multiplier"] >= way.noise_multiplier
    spent = names["prepared"].guarantee_
    whole = spent.compose(
        prepriv.Guarantee.from_dp_event(_training(names["noise_multiplier"]), "replace-one")
    )
    assert whole.epsilon(DELTA) <= 3.0


def test_no_code_fits_a_step_by_itself_after_one_that_is_fitted_without_noise():
    """The plan's noise counts the rows that the scaler moves, 426; a PrivateTransformer of its own had 27.8."""
    steps = [pre.StandardScaler(0.4, "none", "mean", payment=Sensitivity()), pre.PCA(1, payment=Budget(0.02))]
    domain = Domain.box(0, 10, 2, [0, 1], n=2000)
    out = ways_out(
        steps,
        GradientDescent(Logistic(), steps=20, weight_bound=1.0),
        domain=domain,
        epsilon=3.0,
        delta=DELTA,
    )
    kept = {("StandardScaler", "sensitivity"), ("PCA", "budget")}
    way = next(w for w in out if set(w.ways) == kept)
    assert way.closed.startswith("PCA stands after StandardScaler")
    assert all(line.startswith("# no code") for line in way.code.splitlines())
    assert any(not w.closed and "PrivateTransformer" in w.code for w in out)


def test_free_steps_are_in_the_code():
    """Without a clip of its own the noise is over a bound that Normalize gives: rows of the pasted code were 8 long."""
    import prepriv

    domain, learner = (
        Domain.box(0, 1, 100, [0, 1], n=N),
        GradientDescent(Logistic(), steps=1, clip_norm=math.inf),
    )
    out = ways_out(
        make_pipeline(MinMaxScaler(), Normalizer()), learner, domain=domain, epsilon=3.0, delta=DELTA
    )
    way = next(w for w in out if ("MinMaxScaler", "budget") in w.ways)
    names = {
        "X": np.random.default_rng(0).integers(0, 2, (N, 100)).astype(float),
        "domain": domain,
        "prepriv": prepriv,
    }
    exec(way.code, names)
    assert np.linalg.norm(names["X"], axis=1).max() <= 1 + 1e-9
    assert names["max_grad_norm"] == learner.clip(1.0)
    kept = ways_out([pre.Normalize(1.0)], LEARNER, domain=domain, epsilon=3.0, delta=DELTA)[0]
    assert "# Normalize: as it is\n" in kept.code and "PrivateTransformer" not in kept.code


def in_units(*parts):
    """Of two columns that are both in other units than 0 to 1; and whether any way by budget has code."""
    domain = Domain(
        {"a": Numeric(0, 100, missing="impute"), "b": Numeric(50, 60, missing="impute")}, [0, 1], n=20_000
    )
    options = {"domain": domain, "epsilon": 3.0, "delta": DELTA, "missing": 0.05, "deviation": 0.1}
    out = ways_out(parts[0] if len(parts) == 1 else make_pipeline(*parts), LEARNER, **options)
    return next(w for w in out if w.ways and {k for _, k in w.ways} == {"budget"})


CONSTANT = SimpleImputer(strategy="constant", fill_value=55, keep_empty_features=True)


@pytest.mark.parametrize(
    "parts, why",
    [
        ((CONSTANT, PCA(2)), "ConstantImputer is computed in the units"),
        ((CONSTANT, MinMaxScaler()), "ConstantImputer is computed in the units"),
        ((SimpleImputer(), PCA(2), MinMaxScaler()), "PCA is computed in the units"),
        ((SimpleImputer(strategy="median"), Normalizer()), "Normalize is computed in the units"),
        ((SimpleImputer(strategy="median"),), "'a' leaves the steps in its own units"),
        ((ColumnTransformer([("a", make_pipeline(SimpleImputer(), MinMaxScaler()), ["a", "b"])]), PCA(1)), ""),
        ((SimpleImputer(), StandardScaler(), PCA(2), Normalizer()), ""),
        ((SimpleImputer(), ColumnTransformer([("a", MinMaxScaler(), ["a"])], remainder="drop")), "drops 'b'"),
        ((SimpleImputer(), ColumnTransformer([("a", MinMaxScaler(), ["a"])], remainder="passthrough")), "'b' leaves the steps in its own"),
    ],
)  # fmt: skip
def test_code_is_of_the_pipeline_that_was_read(parts, why):
    """Cells of 50 to 60 between 0 and 1: a constant of 55 made rows 56 long beside others of 0.76."""
    way = in_units(*parts)
    assert why in way.closed and bool(way.closed) == bool(why)
    assert ("PrivateTransformer" in way.code) == (not why)


@pytest.mark.parametrize(
    "step",
    [
        pre.OneHot({"x0": 3}),
        pre.Bins({"x0": [0.2, 0.5]}),
        pre.ConstantImputer(3.0),
        pre.PCA(2, payment=Budget(1 / 3)),
        pre.StandardScaler(0.2, "root", "midpoint", 3.0, ("x0",), payment=Budget(0.1)),
    ],
)
def test_a_step_is_written_whole(step):
    import prepriv

    assert eval(_written(step), {"pre": pre, "prepriv": prepriv}) == step


def test_no_price_for_a_payment_that_is_refused():
    """A scaler rests on a premise of rows after the imputer: after a noisy one nobody can know it, and every plan refuses it."""
    domain = Domain.box(0, 1, 2, [0, 1], n=50_000, missing="impute")
    caps = Sensitivity({"missing": 0.01})
    steps = [pre.MeanImputer(payment=caps), pre.StandardScaler(0.2, "none", payment=Sensitivity())]
    learner = GradientDescent(Logistic(), steps=10, clip_norm=1.0, weight_bound=0.1)
    rows = account(steps, learner, domain=domain, noise_multiplier=2000.0).alternatives
    found = {(name, way): (epsilon, note) for name, way, epsilon, note in rows}
    epsilon, note = found["MeanImputer", "budget"]
    assert epsilon is None and "rests on a premise of rows after the noisy map of MeanImputer" in note
    assert found["MeanImputer", "public"][0] and found["StandardScaler", "budget"][0]


STEPS = (
    pre.StandardScaler(rule="none", payment=Sensitivity()),
    pre.Center(payment=Budget(0.1)),
    pre.Deduplicate(eta=0.1, payment=Sensitivity()),
)


@pytest.mark.parametrize("step", STEPS, ids=[step.name for step in STEPS])
def test_three_tables_of_prices_agree(step):
    """`prices`, `ways_out` and `account` answer three questions of one list: which ways there are, and what each costs."""
    domain = Domain.box(0, 10, features=3, classes=[0, 1], n=N)
    table = prices([step], domain, LEARNER, epsilon=3.0, delta=DELTA, n=N, release=False)
    factors = {price.way: price.factor for price in table if price.open}
    out = ways_out([step], LEARNER, domain=domain, epsilon=3.0, delta=DELTA)
    tried = {way.steps[0].way: way.factor for way in out}
    assert tried and set(tried) <= set(factors)
    for way in {step.way, "public"} & set(tried):  # other payments have other settings
        assert tried[way] == pytest.approx(factors[way], rel=1e-9)
    if step.paid.leaves:
        return
    rows = account([step], LEARNER, domain=domain, noise_multiplier=out[0].noise_multiplier, delta=DELTA)
    open_ = {way for _, way, epsilon, _ in rows.alternatives if epsilon is not None}
    assert open_ == set(factors)
    closed = {way: note for _, way, epsilon, note in rows.alternatives if epsilon is None}
    assert closed == {price.way: price.note for price in table if not price.open}


def test_a_pipeline_of_a_sketch_is_a_sentence():
    domain = Domain.box(0, 10, features=3, classes=[0, 1], n=N)
    steps = [pre.Fitted.of(make_pipeline(StandardScaler()), domain, Sketch(0.1))]
    with pytest.raises(ValueError, match=r"made by prepriv\.private"):
        ways_out(steps, LEARNER, domain=domain, epsilon=3.0, delta=DELTA)


def test_codes_of_texts_have_no_code():
    domain = Domain({"o": Numeric(0, 2)}, [0, 1], n=20_000)
    part = make_pipeline(OrdinalEncoder(categories=[["low", "mid", "high"]]), MinMaxScaler())
    out = ways_out(part, LEARNER, domain=domain, epsilon=3.0, delta=DELTA)
    assert all(
        "codes only after the OrdinalEncoder" in w.closed for w in out if "budget" in dict(w.ways).values()
    )


def test_another_number_of_records_than_declared_is_refused():
    with pytest.raises(ValueError, match=r"declares n=4000 records; got n=1000000"):
        found([], n=10**6)


def _training(noise):
    from dp_accounting import dp_event

    return dp_event.SelfComposedDpEvent(
        dp_event.GaussianDpEvent(noise / 2), 50
    )  # one record moves a sum by 2C


def test_too_little_to_share_and_too_much_to_try_are_sentences():
    with pytest.raises(ValueError, match="joint choices"):
        found([pre.MeanImputer(payment=Budget()), *[pre.StandardScaler(payment=Budget())] * 4])
    with pytest.raises(ValueError, match="epsilon"):
        found([], epsilon=-1.0)


def test_the_command_prints_the_ways_and_the_code(tmp_path, capsys):
    (tmp_path / "p.yaml").write_text(
        "rows: 4000\ndomain: {features: 3, low: 0, high: 1, missing: impute}\nsteps:\n"
        "  - {step: MeanImputer, pay: sensitivity, missing: 0.0005}\n"
        "learner: {kind: GradientDescent, noise_multiplier: 40, steps: 50, weight_bound: 1.0}\n"
    )
    assert run(["account", str(tmp_path / "p.yaml"), "--target", "2"]) == 0
    out = capsys.readouterr().out
    assert "Ways to keep" in out and "noise_multiplier =" in out and "MeanImputer" in out
    assert run(["account", str(tmp_path / "p.yaml"), "--target", "0"]) == 2
