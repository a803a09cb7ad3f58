"""Ways in which one record once reached further than itself. Each was a real leak found by an audit of this code."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from neighbouring import Summing

from prepriv import Budget, Categorical, Domain, Numeric, Public, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.audit.replay import Recorder
from prepriv.domain import as_space
from prepriv.guarantees.premise import Premise
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import HuberisedHinge, Logistic
from prepriv.placed.rows import Mapped
from prepriv.preprocessing._cells import CELL_SLACK, Cells
from prepriv.preprocessing.base import ConfidentialMap
from prepriv.preprocessing.second_moment import LAPACK_ERROR
from prepriv.runs.run import execute
from prepriv.space import Space
from prepriv.tables.csv import parse
from prepriv.tables.encoding import encode, encode_labels
from prepriv.tables.readers import BadData

LEARNER = GradientDescent(Logistic(), steps=1, weight_bound=2.0)
PRICE = Domain({"price": Categorical(("9.99", "5"))}, (0, 1))


@pytest.mark.parametrize(
    "odd", [Decimal("9.990"), 5, None, pd.NA, pd.NaT, float("nan"), "5", (1,), b"x", object(), 2**70]
)
@pytest.mark.parametrize("common", [Decimal("9.99"), "9.99", pd.NA, None, 9.99, "z"])
def test_one_cell_does_not_change_how_the_others_are_read(odd, common):
    alone = encode(pd.DataFrame({"price": pd.Series([common] * 5, dtype=object)}), PRICE).block(0, 5)
    mixed = encode(pd.DataFrame({"price": pd.Series([odd, *[common] * 4], dtype=object)}), PRICE).block(0, 5)
    assert (mixed[1:] == alone[1:]).all()
    labels = encode_labels(pd.Series([odd, *[common] * 4], dtype=object), ["9.99", "5"])
    assert (labels[1:] == encode_labels(pd.Series([common] * 5, dtype=object), ["9.99", "5"])[1:]).all()


def test_one_missing_cell_that_turns_a_column_to_floats_changes_no_category():
    domain = Domain({"id": Categorical((str(2**53 + 1), "1"))}, (0, 1))
    ids = [2**53 + 1, 1, 2**53 + 1]
    whole = encode(pd.DataFrame({"id": ids}), domain).block(0, 3)
    gap = encode(pd.DataFrame({"id": [2**53 + 1, 1, None]}), domain).block(0, 3)
    assert (whole[:2] == gap[:2]).all()


def test_a_byte_order_mark_in_a_record_is_read_alike_whatever_others_hold():
    plain = parse(b"a,b\n\xef\xbb\xbf30,x\n31,y\n", ",")
    quoted = parse(b'a,b\n\xef\xbb\xbf30,x\n31,"y"\n', ",")
    assert plain["a"].to_pylist() == quoted["a"].to_pylist()


@pytest.mark.parametrize(
    "step",
    [
        pre.ClipNorm(100.0),
        pre.Normalize(1.0),
        pre.Normalize(1.0, floor=0.5),
        pre.Homogenize(0.5),
        pre.StandardScaler(payment=Budget(0.1)),
    ],
)
def test_steps_that_mix_the_cells_of_a_row_must_follow_imputation(step):
    domain = Domain.box(0, 1, 3, [0, 1], n=100, missing="impute")
    impute = pre.MeanImputer(payment=Sensitivity({"missing": 0.1}))
    with pytest.raises(ValueError, match="needs every cell"):
        make_plan(domain, (step, impute), LEARNER, epsilon=1.0, delta=1e-5)


def first_sum_moves(domain, steps, x, x2):
    """(distance, sensitivity) of the first released sum, in exact integers."""
    plan = make_plan(domain, steps, LEARNER, epsilon=1.0, delta=1e-5)
    calls = []
    for rows in (x, x2):
        seen = Recorder()
        execute(plan, encode(rows, plan.domain), np.zeros(len(rows), np.int32), seen)
        calls.append(seen.calls[0])
    return calls[0].moved_squared(calls[1]), calls[0].sensitivity


@pytest.mark.parametrize("radius", [0.4, 0.501, 0.55, 0.6, 0.8])
@pytest.mark.parametrize("bounds", [(0.5, 1.0), (-1.0, -0.5)])
def test_rows_pulled_out_of_a_box_that_lacks_the_origin_stay_within_the_sensitivity(radius, bounds):
    low, high = bounds
    domain = Domain.box(-1, 1, 2, [0, 1], n=4)
    # the encoded matrix lies in [0, 1]; ask for a box away from the origin there
    steps = (
        pre.ClipFeatures(abs(low) if low > 0 else 0.5, 1.0),
        pre.ClipNorm(radius),
        pre.Center(payment=Budget(0.1)),
    )
    x = np.array([[low, high], [0, 0], [0, 0], [1, 1]], dtype=float)
    x2 = x.copy()
    x2[0] = [high, low]
    distance, sensitivity = first_sum_moves(domain, steps, x, x2)
    assert distance <= sensitivity**2


def test_a_row_with_a_missing_cell_counts_as_zero_and_is_paid_for():
    domain = Domain.box(0, 1, 2, [0, 1], n=4, missing="impute")
    steps = (
        pre.ClipFeatures(0.9, 1.0),
        pre.Center(payment=Budget(0.1)),
        pre.MeanImputer(payment=Budget(0.1)),
    )
    x = np.full((4, 2), 1.0)
    x2 = x.copy()
    x2[0] = np.nan
    distance, sensitivity = first_sum_moves(domain, steps, x, x2)
    assert distance <= sensitivity**2


@pytest.mark.parametrize("drop", ["cells", "clusters"])
def test_a_dropped_row_is_zero_behind_every_later_step_and_is_paid_for(drop):
    domain = Domain.box(0, 1, 2, [0, 1], n=4)
    first = pre.DeduplicateCells(payment=Sensitivity())
    if drop == "clusters":
        first = pre.Deduplicate(1e-6, payment=Sensitivity({"max_neighbors": 4}))
    steps = (first, pre.ClipFeatures(0.98, 1.0), pre.Center(payment=Budget(0.1)))
    x = np.array([[0.98, 1], [0.98, 1], [1, 0.99], [1, 1]])  # the first two are equal: one is dropped
    x2 = x.copy()
    x2[0] = [0.99, 0.98]
    distance, sensitivity = first_sum_moves(domain, steps, x, x2)
    assert distance <= sensitivity**2
    assert (
        drop == "clusters" or distance > 2.0**-4 * sensitivity**2
    )  # and a whole row has moved, not the width of the clipped box


class Odd(pre.ReleasedMap):
    """Keeps the rows that begin with more than a half."""

    def to_json(self):
        return {}

    def transform(self, x):
        return x

    def keep(self, x, start):
        return x[:, 0] > 0.5


class Hidden(pre.Step):
    """Drops rows and does not say so."""

    def output(self, space):
        return space

    def free(self, space):
        return Odd()


def test_a_step_that_drops_rows_must_say_so():
    domain = Domain.box(0, 1, 1, [0, 1], n=2)
    with pytest.raises(ValueError, match="drops"):
        first_sum_moves(
            domain, (Hidden(), pre.Center(payment=Budget(0.1))), np.ones((2, 1)), np.zeros((2, 1))
        )


class Nice(Premise):
    """A premise in words alone."""

    says = "only if the data are nice"

    def holds(self, rows, n):
        return True


class Untestable(pre.Step):
    """Has a condition and no statistic that tests it."""

    ways = ("sensitivity",)
    at_prediction = False

    def output(self, space):
        return space

    def sensitivity(self, domain, n, incoming=None):
        return pre.RowShift(1.0, 0.1, 0.1, conditions=(Nice(reading=as_space(domain).reading),))

    def fit_confidential(self, rows, space, n):
        return Unmoved()


class Unmoved(ConfidentialMap):
    def transform(self, x):
        return x


def test_a_condition_without_a_distance_cannot_be_tested_away():
    domain = Domain.box(0, 1, 2, [0, 1], n=4)
    with pytest.raises(ValueError, match="no distance"):
        make_plan(domain, [Untestable(payment=Sensitivity(test=0.1))], LEARNER, epsilon=1.0, delta=1e-5)
    plan = make_plan(domain, [Untestable(payment=Sensitivity())], LEARNER, epsilon=1.0, delta=1e-5)
    assert plan.guarantee.conditions == (f"only if the data are nice, where {domain.space.reading.words}",)


def test_a_missing_cell_stays_the_only_missing_one_of_its_row_until_it_is_imputed():
    domain = Domain({"a": Numeric(0, 1, "impute"), "b": Numeric(0, 1), "c": Numeric(0, 1)}, (0, 1), n=4)
    x = np.array([[np.nan, 0.2, 0.4], [0.5, 0.2, 0.4]])
    for step in (
        pre.MinMaxScaler(columns=("b",), payment=Public(np.random.default_rng(0).random((9, 3)))),
        pre.ClipFeatures(0.1, 0.9),
        pre.Rescale(2.0),
        pre.SquareRoot(),
    ):
        space = domain.space
        assert step.output(space).may_miss.tolist() == [True, False, False]
        fitted = step.free(space) if step.payment is None else step.fit_public([step.payment.data], space, 9)
        assert np.isnan(fitted.transform(x)).tolist() == [[True, False, False], [False] * 3]


def test_soft_pca_of_rows_without_spread_is_refused_before_they_are_seen():
    domain = Domain.box(0, 1, 2, [0, 1], n=20)
    with pytest.raises(ValueError, match="strength must be at least"):
        make_plan(domain, [pre.SoftPCA(1e-17, payment=Sensitivity())], LEARNER, epsilon=1.0, delta=1e-5)
    least = 100 * LAPACK_ERROR * 2 * domain.space.radius**2
    step = pre.SoftPCA(least * 1.01, payment=Sensitivity())
    for rows in (np.full((20, 2), 0.5), np.zeros((20, 2)), np.eye(2)[np.zeros(20, int)]):
        assert np.isfinite(step.fit_confidential([rows], domain.space, 20).transform(rows)).all()


def test_cells_whose_centre_leaves_the_ball_stay_in_the_declared_box(rng):
    space = Space(np.array([0.5, 0.5]), np.array([1.0, 1.0]), 0.9, np.zeros(2, bool))
    step = pre.QuantizeCells(0.4, 0.1)
    x = rng.uniform(0.5, 1, (2000, 2))
    x *= np.minimum(1, 0.9 / np.linalg.norm(x, axis=1, keepdims=True))
    x = x[(x >= 0.5).all(axis=1)]
    out, after = step.free(space).transform(x), step.output(space)
    assert (out >= after.low - 1e-12).all() and (out <= after.high + 1e-12).all()


def test_a_box_must_have_low_below_high():
    with pytest.raises(ValueError, match="low <= high"):
        Space(np.ones(2), np.zeros(2), 1.0, np.zeros(2, bool))


def test_a_table_of_another_domain_is_refused():
    table = encode(np.zeros((3, 2)), Domain.ball(2, [0, 1], radius=100.0))
    with pytest.raises(BadData, match="another domain"):
        encode(table, Domain.box(0, 1, 2, [0, 1]))


def test_regression_fills_a_row_alike_in_any_block(rng):
    columns = {**{f"x{j}": Numeric(0, 1) for j in range(20)}, "t": Numeric(0, 1, "impute")}
    domain = Domain(columns, (0, 1), n=300)
    x = rng.random((300, 21))
    x[::3, 20] = np.nan
    rows = encode(x, domain)
    fitted = pre.RegressionImputer(payment=Budget(0.1)).fit_budget(
        rows, domain.space, 300, Summing(lambda r, *, dim, radius: sum(b.sum(axis=0) for b in r))
    )
    whole = fitted.transform(rows.block(0, 300))
    for i in range(0, 300, 7):
        assert (fitted.transform(rows.block(i, i + 1)) == whole[i : i + 1]).all()


def test_every_option_is_in_the_hash_of_the_plan():
    domain = Domain.box(0, 1, 2, [0, 1], n=50)
    plans = [
        make_plan(domain, (pre.OneHot({"x0": 3}),), LEARNER, epsilon=1.0, delta=1e-5),
        make_plan(domain, (pre.OneHot({"x1": 3}),), LEARNER, epsilon=1.0, delta=1e-5),
        make_plan(domain, (), GradientDescent(HuberisedHinge(width=0.5), steps=1), epsilon=1.0, delta=1e-5),
        make_plan(domain, (), GradientDescent(HuberisedHinge(width=0.6), steps=1), epsilon=1.0, delta=1e-5),
    ]
    assert len({p.hash for p in plans}) == 4


def test_a_table_that_does_not_fit_after_the_charge_says_so(tmp_path, monkeypatch, capsys):
    from prepriv.cli import run

    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(
        "label: {name: y, classes: [0, 1]}\ncolumns:\n  a: {type: numeric, low: 0, high: 1}\n"
    )
    (tmp_path / "t.csv").write_text("a,y\n0,1\n1,0\n")
    assert run(["ledger", "create", "l.db", "--dataset", "d", "--epsilon", "5", "--delta", "1e-3"]) == 0
    assert run(["train", "t.csv", "--schema", "s.yaml", "--rows", "1", "--ledger", "l.db"]) == 70
    err = capsys.readouterr().err
    assert "after the charge" in err and len(err.splitlines()) == 1


def test_cells_behind_moved_rows_and_behind_cells_are_refused():
    domain = Domain.ball(1, [0, 1], radius=1.0, n=4)
    cells = pre.DeduplicateCells(2.0, 1.0, payment=Sensitivity())
    for first in (
        pre.SoftPCA(1.0, payment=Sensitivity()),
        pre.Quantize(0.1, payment=Sensitivity({"max_neighbors": 2})),
    ):
        with pytest.raises(ValueError, match="DeduplicateCells cannot follow"):
            make_plan(domain, [first, cells], LEARNER, epsilon=1.0, delta=1e-5)
    for second in (
        cells,
        pre.Deduplicate(0.1, payment=Sensitivity({"max_neighbors": 2})),
        pre.Quantize(0.1, payment=Sensitivity({"max_neighbors": 2})),
    ):
        for between in ((), (pre.Rescale(2.0),)):
            with pytest.raises(ValueError, match=r"cannot follow .* drops rows"):
                make_plan(domain, [cells, *between, second], LEARNER, epsilon=1.0, delta=1e-5)


@pytest.mark.parametrize(
    "steps",
    [
        (),
        (pre.Normalize(1.0),),
        (pre.Homogenize(0.5),),
        (pre.ClipNorm(0.5),),
        (pre.RandomFeatures(5),),
        (pre.StandardScaler(payment=Public(np.random.default_rng(0).random((9, 20)))),),
    ],
)
@pytest.mark.parametrize("ball", [False, True])
def test_a_row_in_memory_order_of_columns_has_the_same_bits_alone_in_its_block(steps, ball, rng):
    kind = {"radius": 1.5, "n": 257} if ball else {}
    domain = Domain.ball(20, [0, 1], **kind) if ball else Domain.box(0, 1, 20, [0, 1], n=257)
    for order in "FC":
        x = np.array(rng.random((257, 20)), order=order)  # the last row is a block of its own
        alone, whole = [], []
        for rows, out in ((x, alone), (np.array(x[1:], order=order), whole)):
            space, maps = domain.space, []
            for step in steps:
                fitted = (
                    step.free(space)
                    if step.payment is None
                    else step.fit_public([step.payment.data], space, 9)
                )
                maps.append(fitted)
                space = step.output(space)
            out.append(np.vstack(list(Mapped(encode(rows, domain), maps)))[-1])
        assert (alone[0] == whole[0]).all()


def test_rows_of_one_cell_are_within_the_slack_of_its_side(rng):
    side = 0.8774076169873765
    space = Space(np.zeros(1), np.array([side * 2.0**30 * 0.999]), side * 2.0**30, np.zeros(1, bool))
    cells = Cells.of(side, 0.0, space)
    at = np.floor(rng.random(20_000) * 2.0**30 * 0.99) + 0.5
    close = (at * side)[:, None] + np.linspace(-1e-7, 1e-7, 41) * side
    index = cells.index(close.reshape(-1, 1)).reshape(close.shape)
    for shift in (-1, 1):
        far = close + shift * side * (1 - 2e-7)
        same = cells.index(far.reshape(-1, 1)).reshape(far.shape)[:, None, :] == index[:, :, None]
        apart = np.abs(far[:, None, :] - close[:, :, None])[same]
        assert apart.size == 0 or apart.max() <= side * CELL_SLACK
