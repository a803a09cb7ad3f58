"""Steps whose declared space, condition or price was not what the rows, the check or the run made of it.

Each of these was found by an audit: gradients that moved 40 times their sensitivity, rows that became NaN in a space
declared to hold none, sentences in other units than their checks, plans that were charged and then could not run.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import pickle

import numpy as np
import pytest

from prepriv import Domain, Numeric, make_plan
from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv.audit.replay import Recorder
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.mechanisms.session import ExactSession
from prepriv.preprocessing.base import Identity, walk
from prepriv.recipes.dpsgd_f import RECIPES
from prepriv.runs.premises import check_premises
from prepriv.runs.run import execute
from prepriv.space import Space
from prepriv.tables.encoding import encode

NAN = float("nan")
LEARNER = GradientDescent(Logistic(), steps=1, weight_bound=1.0)


def planned(domain, *steps, epsilon=1.0):
    return make_plan(domain, steps, LEARNER, epsilon=epsilon, delta=1e-5)


def gradient_shift(plan, first, second):
    """How far the first gradient sum moves between two tables, over the sensitivity its noise is for."""
    sums = []
    for rows in (first, second):
        session = Recorder()
        execute(plan, encode(rows, plan.domain), np.zeros(len(rows), np.int32), session)
        sums.append(session.calls[0])
    one, two = sums
    return math.sqrt(float(((one.exact - two.exact).astype(object) ** 2).sum())) / one.sensitivity


# ------------------------------------------------------------------------------------- the ball of filled rows


def gapped(*missing, low=0.0, high=1.0):
    """A box of three columns; those named miss cells."""
    gaps = np.isin(np.arange(3), missing)
    corner = np.full(3, max(abs(low), abs(high)))
    return Space(np.full(3, low), np.full(3, high), float(np.linalg.norm(corner)), gaps, ("a", "b", "c"))


SPACES = [gapped(2), gapped(1, 2), gapped(0, 1, 2), gapped(2, low=0.5), gapped(1, 2, low=-2.0, high=-1.0)]
LEAVE_GAPS = [
    lambda rows: pre.Center(payment=pay.Public(rows)),
    lambda rows: pre.SquareRoot(),
    lambda rows: pre.ClipFeatures(0.9, 1.9),
    lambda rows: pre.ClipFeatures(-1.5, -0.2),
    lambda rows: pre.Rescale(0.3),
    lambda rows: pre.OneHot({"a": 2}),
    lambda rows: pre.MinMaxScaler(columns=("a",), payment=pay.Public(rows)),
    lambda rows: pre.QuantileTransform(4, columns=("a",), payment=pay.Public(rows)),
]


def fitted(step, rows, space):
    return step.free(space) if step.payment is None else step.fit_public([rows], space, len(rows))


@pytest.mark.parametrize("space", SPACES, ids=range(len(SPACES)))
def test_a_row_filled_with_any_corner_stays_in_the_declared_ball(space):
    """Two steps in every order that keep cells missing: norms count such cells as filled, by anything in the box."""
    whole = np.array(list(itertools.product(*zip(space.low, (space.low + space.high) / 2, space.high))))
    x = np.vstack(
        [
            np.where(space.may_miss & np.array(gone), NAN, whole)
            for gone in itertools.product((0, 1), repeat=3)
        ]
    )
    seen = 0
    for one, two in itertools.product(LEAVE_GAPS, repeat=2):
        rows, before = x, space
        for make in (one, two):
            try:
                step = make(rows)
                after = step.output(before)
                rows, before = fitted(step, rows, before).transform(rows), after
            except ValueError:  # a column that is missing, gone or without width
                continue
            gaps = np.isnan(rows)
            assert not gaps[:, ~after.may_miss].any()
            furthest = np.where(np.abs(after.low) > np.abs(after.high), after.low, after.high)
            assert np.linalg.norm(np.where(gaps, furthest, rows), axis=1).max() <= after.radius * (1 + 1e-9)
            seen += gaps.any()
    assert seen > 0 or space.may_miss.all()


@pytest.mark.parametrize("center", [pre.Center, pre.InstanceOptimalCenter])
def test_a_mean_that_leaves_the_box_leaves_room_for_what_fills_the_cells_behind_it(center):
    """The filled row was of norm 1.4 in a declared ball of 0.9, and fell out of the first sum."""
    domain = Domain({"a": Numeric(0, 1), "b": Numeric(0, 1, missing="impute")}, (0, 1), n=100)
    for clip in (pre.ClipFeatures(0.9, 1.9), pre.ClipFeatures(-1.9, -0.9)):
        steps = [clip, center(payment=pay.Budget(0.1)), pre.MeanImputer(payment=pay.Budget(0.1))]
        *_, after = (space for _, _, space in walk(steps, domain.space))
        assert after.radius >= np.linalg.norm([0.0, after.high[1]])


def test_regression_behind_a_centre_moves_the_gradient_no_further_than_declared():
    """40.8 times the sensitivity, on two tables for which nothing had to be assumed."""
    n, p = 20_000, 5_000
    domain = Domain({"a": Numeric(0, 1), "b": Numeric(0, 1, missing="impute")}, (0, 1), n=n)
    plan = planned(
        domain,
        pre.ClipFeatures(0.9, 1.9),
        pre.Center(payment=pay.Public(np.full((10, 2), 0.9))),
        pre.RegressionImputer(0.01, 1.0, payment=pay.Sensitivity({"missing": p / n, "fade": p / n})),
    )

    def table(a_of_the_gaps, record):
        up = np.arange(n - p) % 2 == 0
        a = np.concatenate([np.where(up, 0.94, 0.9), np.full(p, a_of_the_gaps)])
        b = np.concatenate([np.where(up, 1.0, 0.9), np.full(p, NAN)])
        a[0], b[0] = record
        return np.column_stack([a, b])

    shifts = [
        gradient_shift(plan, table(a, (1.0, 1.0)), table(a, (0.9, 1.0)))
        for a in (0.92, 0.9811996838156812, 1.0)
    ]
    assert max(shifts) <= 1.0
    assert plan.space.radius >= math.hypot(0.1, 1.0)


# ------------------------------------------------------------------------------------------------ NaN rows


def test_a_distance_needs_every_cell():
    domain = Domain({"a": Numeric(0, 1, missing="impute"), "b": Numeric(0, 1)}, (0, 1), n=500)
    with pytest.raises(ValueError, match="AugmentByDistance needs every cell"):
        planned(domain, pre.AugmentByDistance(payment=pay.Budget(0.1)))


@pytest.mark.parametrize("name", list(RECIPES))
def test_the_recipes_of_the_paper_refuse_cells_to_be_imputed(name):
    domain = Domain({"a": Numeric(0, 1, missing="impute"), "b": Numeric(0, 1)}, (0, 1), n=500)

    def plan():
        steps, learner = RECIPES[name](domain, n=500, epsilon=1.0, delta=1e-5)
        return make_plan(domain, steps, learner, epsilon=1.0, delta=1e-5)

    with pytest.raises(ValueError, match=r"needs every cell: .* imputation"):
        plan()


def test_rows_that_are_no_numbers_count_for_a_condition_as_they_do_for_the_fit():
    """All but one row NaN: each fit sees equal rows of zeros, and no condition did."""
    x = np.full((50, 2), NAN)
    x[0] = 0.5
    crowd = pre.Deduplicate(0.1, payment=pay.Sensitivity({"max_neighbors": 5}))
    gap = pre.RankReduction(1, payment=pay.Sensitivity({"gap": 0.1}))
    zero = np.nan_to_num(x)
    for step in (crowd, gap):
        (condition,) = step.conditions(Space.ball(2, 1.0), len(x))
        assert condition.holds([x], len(x)) == condition.holds([zero], len(x)) is False


def settings_of_fixed_maps():
    least, most = 1e-30, 1e30
    for radius in (least, 1.0, most):
        yield from (pre.Normalize(radius), pre.ClipNorm(radius), pre.Rescale(radius))
        for other in (least, 1.0, most):
            yield from (pre.Normalize(radius, other), pre.Homogenize(radius, other))
        yield pre.RandomFeatures(4, weight=radius)
        yield pre.ClipFeatures(-radius, radius)
        yield pre.QuantizeCells(radius)
    yield from (pre.Normalize(1e9), pre.SquareRoot(), pre.ClipFeatures(0.0, 5e-324))


@pytest.mark.parametrize("step", list(settings_of_fixed_maps()), ids=repr)
def test_no_fixed_map_makes_a_finite_row_anything_else(step):
    """Normalize(1e9) made NaN of a row of zeros: 1e9 over the smallest norm is infinite."""
    for radius in (1e-30, 1.0, 1e30):
        space = Space.ball(3, radius)
        try:
            after, fixed = step.output(space), step.free(space)
        except ValueError:
            continue
        sizes = [s for s in (0.0, 5e-324, 1e-310, 1e-300, 1e-200, 1e-30, radius / 2) if s <= radius]
        rows = np.array([s * np.array(v) for s in sizes for v in ([1, 0, 0], [-0.5, 0.5, 0.5], [0, 0, -1])])
        with np.errstate(all="ignore"):
            y = fixed.transform(rows)
            beyond = 1e300 if radius == 1e30 and not isinstance(step, pre.RandomFeatures) else radius
            far = fixed.transform(np.full((1, 3), beyond))  # no space is so wide
        assert np.isfinite(y).all() and np.linalg.norm(y, axis=1).max() <= after.radius * (1 + 1e-9)
        assert not np.isnan(far).any()


def test_a_row_of_zeros_behind_a_large_norm_is_one_more_equal_row():
    domain = Domain.ball(2, (0, 1), n=200)
    step = pre.Deduplicate(5e8, payment=pay.Sensitivity({"max_neighbors": 2}))
    plan = planned(domain, pre.Normalize(1e9), step)
    table = encode(np.zeros((200, 2)), domain)
    ((_, _, held),) = check_premises(plan, table, np.zeros(200, np.int32), ExactSession())
    assert not held


# ------------------------------------------------------------------------------------- what a condition is about


def of_cells():
    """(step, whether it fills missing cells) for each step with a condition on the cells of a column."""
    caps = {"missing": 0.3}
    yield pre.MedianImputer(payment=pay.Sensitivity({**caps, "gap": 0.01})), True
    yield pre.TrimmedMeanImputer(0.1, payment=pay.Sensitivity({**caps, "spread": 0.1})), True
    yield pre.RegressionImputer(0.1, payment=pay.Sensitivity({**caps, "curvature": 0.01})), True
    yield pre.StandardScaler(0.1, "none", payment=pay.Sensitivity()), False


def of_rows():
    """Each step with a condition on whole rows."""
    yield pre.RankReduction(1, payment=pay.Sensitivity({"gap": 0.2})), False
    yield pre.RankReduction(1, payment=pay.Sensitivity({"tail": 1e-8})), False
    yield pre.Deduplicate(0.01, payment=pay.Sensitivity({"max_neighbors": 3})), False
    yield pre.Quantize(0.01, payment=pay.Sensitivity({"max_neighbors": 3})), False


EARLIER = [
    [],
    [pre.SquareRoot()],
    [pre.ClipFeatures(0.3, 0.5)],
    [pre.SquareRoot(), pre.ClipFeatures(0.2, 0.7)],
]


@pytest.mark.parametrize("earlier", EARLIER, ids=len)
@pytest.mark.parametrize(("step", "fills"), [*of_cells(), *of_rows()], ids=repr)
def test_a_condition_says_behind_which_steps_its_rows_are(step, fills, earlier):
    """ "With 'b' scaled to 0..1" was said of the square roots of b: what a reader checked was not what was checked."""
    missing = "impute" if fills else "midpoint"
    domain = Domain({"a": Numeric(0, 100), "b": Numeric(0, 100, missing=missing)}, (0, 1), n=200)
    *_, (_, space, _) = walk([*earlier, step], domain.space)
    own = [str(c) for c in step.conditions(space, 200) if "records miss" not in str(c)]
    assert own
    for sentence in own:
        after = f" and after {', '.join(s.name for s in earlier)}"
        assert (after in sentence) == bool(earlier)
        assert not earlier or f"where rows are as encoded ({domain.space.reading.rows}) and after" in sentence
        assert "rows scaled to norm" not in sentence


def test_a_gap_of_square_roots_is_not_said_of_the_cells():
    """The printed claim held of both tables as a reader checked it, and the gradient moved 4.7 times too far."""
    n = 200
    domain = Domain({"b": Numeric(0, 100, missing="impute")}, (0, 1), n=n)
    plan = planned(
        domain, pre.SquareRoot(), pre.MedianImputer(payment=pay.Sensitivity({"missing": 0.25, "gap": 0.01}))
    )
    said = str(plan.guarantee.conditions[-1])
    assert said.startswith("of the N values of 'b' in order")
    assert "declared bounds of 'b' are 0..1, where rows are as encoded" in said
    assert said.endswith("and after SquareRoot, and the values are those of cells that are not missing")


def test_short_rows_are_not_asked_to_be_normalised():
    """On a ring of radius 1/1000 all rows are near each other; made of norm one they were not, and so it read."""
    angle = 2 * np.pi * np.arange(300) / 300
    x = 1e-3 * np.column_stack([np.cos(angle), np.sin(angle)])
    step = pre.Deduplicate(0.01, payment=pay.Sensitivity({"max_neighbors": 20}))
    (condition,) = step.conditions(Space.ball(2, 1.0), 300)
    assert not condition.holds([x], 300)
    assert "in units in which the declared bound on the norm of a row is 1, where" in condition.sentence


# --------------------------------------------------------------------------------- a plan that is made can be run

BALL = Domain.ball(5, (0, 1), n=300)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([pre.RandomFeatures(16_000), pre.PCA(2, payment=pay.Budget(0.1))], "at most 16000 features"),
        (
            [pre.SoftPCA(1e30, payment=pay.Sensitivity()), pre.PCA(2, payment=pay.Budget(0.1))],
            "do not fit into 64 bits",
        ),
        ([pre.InstanceOptimalCenter(precision=1e29, payment=pay.Budget(0.1))], "precision must be at most"),
        ([pre.AugmentByDistance(payment=pay.Budget(1e-12))], "share is too small"),
    ],
)
def test_what_no_run_could_do_is_refused_when_it_is_planned(steps, says):
    """Each was charged in full and then ended in an error."""
    with pytest.raises(ValueError, match=says):
        planned(BALL, *steps)


@pytest.mark.parametrize("value", [-1, 0, "x", 1e300, NAN])
def test_a_precision_is_a_length(value):
    with pytest.raises(ValueError, match="precision"):
        pre.InstanceOptimalCenter(precision=value, payment=pay.Budget(0.1))


@pytest.mark.parametrize("value", [-1, "x", NAN])
def test_outliers_are_a_number_of_records(value):
    with pytest.raises(ValueError, match="outliers"):
        pre.AugmentByDistance(outliers=value, payment=pay.Budget(0.1))


@pytest.mark.parametrize(
    ("domain", "step"),
    [
        (BALL, pre.SoftPCA(0.1, payment=pay.Sensitivity(test=0.3))),
        (BALL, pre.RankReduction(1, payment=pay.Sensitivity(test=0.3))),
        (
            Domain({"a": Numeric(0, 1, "impute")}, (0, 1), n=1000),
            pre.MeanImputer(payment=pay.Sensitivity({"missing": 0.1, "fade": 0.2}, test=0.3)),
        ),
    ],
)
def test_a_test_of_nothing_is_refused(domain, step):
    """It took a third of the budget, and released a bit that says nothing."""
    with pytest.raises(ValueError, match="has no condition to test"):
        planned(domain, step)


def test_declared_caps_and_categories_are_copies():
    """A mapping changed after planning changed what the run fitted, and not what the plan said."""
    inner = {"a": 0.5}
    caps = {"missing": 0.1, "fade": inner}
    step = pre.MeanImputer(payment=pay.Sensitivity(caps))
    caps["missing"], inner["a"] = 0.9, 0.001
    assert step.payment.caps == {"missing": 0.1, "fade": {"a": 0.5}}
    for mapping in (step.payment.caps, step.payment.caps["fade"]):
        with pytest.raises(TypeError, match="not changed"):
            mapping["missing"] = 0.9
    codes = {"a": 3}
    encoded = pre.OneHot(codes)
    codes["a"] = 4
    assert encoded.categories == {"a": 3}
    assert copy.deepcopy(step) == step and pickle.loads(pickle.dumps(encoded)) == encoded


@dataclasses.dataclass(frozen=True)
class OfTriples(pre.Step):
    """Three times each row, in a sum whose noise is for the rows."""

    ways = ("budget",)

    def output(self, space):
        return space

    def fit_budget(self, rows, space, n, mechanisms):
        mechanisms.sum((3 * block for block in rows), dim=space.d, radius=3 * space.radius)
        return Identity()


def test_a_sum_that_the_declared_shift_does_not_cover_is_refused():
    step = OfTriples(payment=pay.Budget(0.1))
    with pytest.raises(ValueError, match="override l2_sensitivity"):  # before any charge
        planned(BALL, step)
    plan = dataclasses.replace(planned(BALL), pipeline=(step,))
    table = encode(np.zeros((300, 5)), BALL)
    with pytest.raises(ValueError, match="override l2_sensitivity"):
        execute(plan, table, np.zeros(300, np.int32), Recorder())


@dataclasses.dataclass(frozen=True)
class Moments(pre.Step):
    """A second moment of `times` the rows; `states`: what it says its sum can move by."""

    times: float = 1.0
    states: float | None = None

    ways = ("budget",)

    def output(self, space):
        return space

    def lipschitz(self, space):
        return 1.0

    def fit_budget(self, rows, space, n, mechanisms):
        many = [self.times * block for block in rows]
        mechanisms.second_moment(many, d=space.d, radius=self.times * space.radius)
        return Identity()


class StatedMoments(Moments):
    """The same, with a sensitivity of its own."""

    def l2_sensitivity(self, space, adjacency, incoming):
        return self.states


def test_a_second_moment_that_the_declared_shift_does_not_cover_is_refused():
    """Its noise was for the rows as they reach the step, whatever the step said or asked for."""
    space, table, targets = Domain.ball(5, [0, 1], n=300), np.zeros((300, 5)), np.zeros(300, np.int32)
    moved = pre.SoftPCA(0.01, payment=pay.Sensitivity())
    budget = pay.Budget(0.1)
    for steps, says in [
        ([Moments(payment=budget)], None),  # 2 is declared, sqrt 2 is needed
        ([Moments(times=3.0, payment=budget)], "override l2_sensitivity"),
        ([moved, Moments(payment=budget)], "override l2_sensitivity"),
        ([StatedMoments(states=1.5, payment=budget)], "the noise of a second moment"),
        ([StatedMoments(times=3.0, states=12.7, payment=budget)], None),
        ([moved, StatedMoments(states=50.0, payment=budget)], "the noise of a second moment"),
    ]:
        recorder = Recorder()
        if says is None:
            execute(planned(space, *steps), encode(table, space), targets, recorder)
            continue
        with pytest.raises(ValueError, match=says):  # before any charge
            planned(space, *steps)
        plan = dataclasses.replace(planned(space), pipeline=tuple(steps))
        with pytest.raises(ValueError, match=says):
            execute(plan, encode(table, space), targets, recorder)
        assert recorder.calls == []


def test_public_directions_behind_a_step_that_shrinks_only_private_rows():
    """Public rows were longer than the shrunk ball, and all cut to zero: the components were the last axes."""
    public = np.random.default_rng(0).normal(size=(50, 5)) * [3, 2, 0.1, 0.1, 0.1]
    public /= np.linalg.norm(public, axis=1)[:, None]
    shrunk = pre.SoftPCA(1.0, payment=pay.Sensitivity()).output(Space.ball(5, 1.0))
    step = pre.PCA(2, payment=pay.Public(public))
    found = step.fit_public([public], shrunk, 50).components
    assert np.linalg.norm(found[:2]) > 1.4


@pytest.mark.parametrize(
    "make", [lambda p: pre.SoftPCA(0.1, payment=p), lambda p: pre.DeduplicateCells(payment=p)]
)
def test_unknown_caps_are_refused_by_steps_that_have_none(make):
    with pytest.raises(ValueError, match="has no cap 'mising'"):
        make(pay.Sensitivity({"mising": 0.1}))


def test_codes_are_not_more_than_a_row_can_hold():
    with pytest.raises(ValueError, match="65536 codes at most"):
        pre.OneHot({"a": 10**10})
