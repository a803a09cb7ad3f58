"""Pre-processing alone: what it costs, what leaves, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import prepriv
from prepriv import Budget, Domain, PrivateTransformer, Public, Sensitivity
from prepriv import preprocessing as pre
from prepriv.guarantees import gdp_mu
from prepriv.ledger import BudgetExceeded, Ledger
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.runs.preparation import make_preparation, run_preparation
from prepriv.tables.encoding import encode

N, DELTA = 1000, 1e-5
BOX = Domain.box(0, 10, features=3, classes=[0, 1])
TWO = (pre.StandardScaler(payment=Budget(0.3)), pre.PCA(2, payment=Budget(0.1)))


def rows(n=N):
    return np.random.default_rng(0).uniform(2, 8, (n, 3))


def test_the_steps_spend_the_whole_budget_and_no_more():
    for epsilon in (0.1, 2.0):
        plan = make_preparation(BOX, TWO, epsilon=epsilon, delta=DELTA, n=N)
        spent = plan.guarantee.epsilon(DELTA)
        assert 0.999 * epsilon < spent <= epsilon
        by_hand = math.sqrt(sum(1 / p.noise_multiplier**2 for p in plan.steps))
        assert by_hand == pytest.approx(gdp_mu(epsilon, DELTA), rel=1e-6)
        one, two = (p.noise_multiplier for p in plan.steps)
        assert (two / one) ** 2 == pytest.approx(3, rel=1e-9)


def test_what_a_sum_is_released_with_is_what_is_claimed():
    """The noise itself: a centre of rows of zeros is noise, of the deviation that the claim needs."""
    plan = make_preparation(BOX, [pre.Center(payment=Budget(0.5))], epsilon=1.0, delta=DELTA, n=N)
    planned = plan.steps[0]
    released = []
    for seed in range(200):
        _, (center,), _ = run_preparation(
            plan, np.full((N, 3), 5.0), session=NoisySession(NoiseSource.for_tests(seed))
        )
        released.append(center.offset - 0.5)
    deviation = planned.shift * planned.noise_multiplier / N
    assert planned.noise_multiplier == pytest.approx(1 / gdp_mu(1.0, DELTA), rel=1e-6)
    assert np.std(released) == pytest.approx(deviation, rel=0.1)


def test_free_and_public_steps_cost_nothing(tmp_path):
    ledger = tmp_path / "l.db"
    Ledger.create(ledger, "people", epsilon=1, delta=1e-4)
    public = PrivateTransformer(
        BOX, [pre.ClipFeatures(0.2, 0.8), pre.StandardScaler(payment=Public(rows(50)))], ledger=ledger
    ).fit(rows())
    assert public.guarantee_.epsilon(DELTA) == 0.0 and public.receipt_ is None
    assert public.transform(rows()).shape == (N, 3)


def test_a_ledger_is_charged_and_stops_the_second_fit(tmp_path):
    ledger = tmp_path / "l.db"
    Ledger.create(ledger, "people", epsilon=1, delta=1e-4)
    private = PrivateTransformer(BOX, TWO, epsilon=0.7, delta=DELTA, ledger=ledger)
    assert private.fit(rows()).receipt_["plan_uid"]
    with pytest.raises(BudgetExceeded):
        private.fit(rows())


def test_in_a_pipeline_of_scikit_learn():
    x, y = rows(), np.repeat([0, 1], N // 2)
    both = make_pipeline(PrivateTransformer(BOX, TWO, epsilon=1.0, delta=DELTA), LogisticRegression()).fit(
        x, y
    )
    assert both.predict(x).shape == (N,)
    transformer = both[0]
    assert transformer.transform(x).shape == (N, 2) and len(transformer.get_feature_names_out()) == 2
    assert transformer.guarantee_.compose(transformer.guarantee_).epsilon(DELTA) > 1.0
    assert 0 < transformer.guarantee_.remaining(3.0, DELTA) < gdp_mu(3.0, DELTA)
    assert clone(transformer).get_params()["steps"] == TWO


def test_a_fit_is_counted():
    before = prepriv.spent()
    with pytest.warns(prepriv.CompositionWarning) if before.fits else _nothing():
        PrivateTransformer(BOX, TWO, epsilon=0.5, delta=DELTA).fit(rows())
    assert len(prepriv.spent().fits) == len(before.fits) + 1


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


@pytest.mark.parametrize(
    "options, says",
    [
        ({"domain": None}, "domain must be declared"),
        ({"steps": [pre.SoftPCA(0.1, payment=Sensitivity())]}, "here there is none"),
        ({"steps": [pre.Center]}, r"steps\[0\] must be a step"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"ledger": 3}, "ledger"),
        ({"domain": Domain.box(0, 1, 3, [0, 1], adjacency="add-or-remove-one")}, "n, the number of records"),
        ({"domain": Domain.box(0, 1, 3, [0, 1], n=7)}, "the plan is for n=7"),
        ({"domain": Domain.box(0, 1, 2, [0, 1])}, "columns|features"),
    ],
)
def test_refusals(options, says):
    with pytest.raises(ValueError, match=says):
        PrivateTransformer(**({"domain": BOX, "steps": TWO} | options)).fit(rows())


@pytest.mark.parametrize("n", [None, N])
@pytest.mark.parametrize("held", ["p.csv", "array", "frame", "encoded"])
def test_records_are_counted_and_not_the_letters_of_a_name(held, n, tmp_path, monkeypatch):
    """Of "p.csv" five records were charged for, and the fit was refused then."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(rows(), columns=["x0", "x1", "x2"])
    frame.to_csv("p.csv", index=False)
    Ledger.create("l.db", "people", epsilon=1, delta=1e-4)
    private = PrivateTransformer(replace(BOX, n=n), TWO, epsilon=0.3, delta=DELTA, ledger="l.db")
    table = {"array": rows(), "frame": frame, "encoded": encode(frame, BOX)}.get(held, held)
    if held == "p.csv" and n is None:  # only reading it would tell
        with pytest.raises(ValueError, match="number of records, must"):
            private.fit(table)
        assert not Ledger.open("l.db").entries()
    else:
        assert private.fit(table).plan_.n == N


@pytest.mark.parametrize("held", ["none.csv", b"abcd", {"x0": [1.0]}, {1, 2}, None])
def test_what_is_not_a_table_is_refused_before_a_charge(held, tmp_path):
    Ledger.create(tmp_path / "l.db", "people", epsilon=1, delta=1e-4)
    with pytest.raises(ValueError, match=r"no such file|expected a"):
        PrivateTransformer(BOX, TWO, epsilon=0.3, delta=DELTA, ledger=tmp_path / "l.db").fit(held)
    assert not Ledger.open(tmp_path / "l.db").entries()


def test_columns_by_place_have_the_order_of_the_fit():
    """The same rows in another order of columns were prepared without a word."""
    frame = pd.DataFrame(rows(), columns=["a", "b", "c"])
    private = PrivateTransformer(BOX, TWO, epsilon=0.3, delta=DELTA).fit(frame)
    assert np.array_equal(private.transform(frame), private.transform(frame.to_numpy()))
    with pytest.raises(ValueError, match="in their order"):
        private.transform(frame[["b", "a", "c"]])
    held = encode(frame, BOX)  # has no names to compare
    for one, other in ((held, frame), (frame, held), (rows(), held)):
        assert PrivateTransformer(BOX, TWO, epsilon=0.3, delta=DELTA).fit(one).transform(other).shape == (
            N,
            2,
        )


@pytest.mark.parametrize("steps", [(s for s in TWO), TWO[0], None, {"a": TWO[0]}])
def test_steps_are_a_list(steps):
    with pytest.raises(ValueError, match="steps must be a list"):
        PrivateTransformer(BOX, steps, epsilon=0.3, delta=DELTA).fit(rows())


def test_before_a_fit_nothing_is_there():
    with pytest.raises(NotFittedError):
        PrivateTransformer(BOX, TWO).transform(rows())
