"""Steps of a user's own that say nothing, or inherit a word about code they replace: refused before any charge.

Each was taken at its word in 0.2.0: a gradient sum moved 39 times as far as its noise was for.
"""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass

import numpy as np
import pytest

from prepriv import Domain, Numeric, learners, make_plan
from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv._said import check_said
from prepriv.accounts.account import account
from prepriv.audit.random_chains import LEARNER, UnreleasedPlan
from prepriv.audit.replay import Neighbour, Recorder, replay
from prepriv.audit.replay_neighbours import RawTable
from prepriv.audit.replay_pipeline import PlanRun
from prepriv.domain import as_space
from prepriv.guarantees.premise import Premise
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import CLAIMS, TRAINS, Learner
from prepriv.learners.losses import Logistic
from prepriv.mechanisms.session import SpentError
from prepriv.placed.handed import Inside
from prepriv.plans.price import prices
from prepriv.preprocessing.base import UNTOUCHED, ConfidentialMap, Identity, ReleasedMap, RowShift, Step
from prepriv.preprocessing.said import MAKES, check_words, says_its_sum, shift_after
from prepriv.runs.preparation import make_preparation
from prepriv.runs.run import execute
from prepriv.space import Space
from prepriv.tables.encoding import encode

N = 400
GAPPED = Domain({"a": Numeric(0, 1, "impute"), "b": Numeric(0, 1)}, (0, 1), n=N)
BALL = Domain.ball(2, (0, 1), radius=1.0, n=40)
IMPUTE = pre.MeanImputer(payment=pay.Sensitivity({"missing": 0.4}))
GAPS = [[None, 1.0]] * 160 + [[0.5, 1.0]] * 239
BUDGET = pay.Budget(0.2)


def planned(domain, *steps):
    return make_plan(domain, steps, LEARNER, epsilon=1.0, delta=1e-5)


def unchecked(domain, *steps):
    """A plan that no rehearsal has seen: what a run refuses by itself."""
    return dataclasses.replace(planned(domain, pre.ConstantImputer()), pipeline=steps)


def run(plan, rows=None):
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (plan.n, 2)) if rows is None else rows
    recorder = Recorder()
    execute(plan, encode(x, plan.domain), np.zeros(len(x), np.int32), recorder)
    return recorder


def found(plan, first, second):
    """What a replay of the two tables finds."""
    labels = [1] + [0] * (plan.n - 1)
    one, two = (RawTable.of([list(map(_cell, r)) for r in rows], labels, 2) for rows in (first, second))
    seen = PlanRun(plan)
    return replay(seen, one, [Neighbour("replaced", two)], holds=seen.holds, allowance=seen.allowance)


def _cell(value):
    return value if value is None else float(value)


class Again:
    def __init__(self, blocks):
        self.blocks = blocks

    def __iter__(self):
        return iter(self.blocks())


@dataclass(frozen=True)
class Own(Step):
    """A step that says what its rows are, and no more."""

    ways = pay.WAYS

    def output(self, space):
        return space


# ------------------------------------------------------------------------------------- what a step does not say


@dataclass(frozen=True)
class Steep(ReleasedMap):
    def transform(self, x):
        return np.tanh(200 * (x - 0.5)) / 2 + 0.5

    def to_json(self):
        return {}


@dataclass(frozen=True)
class Sharpen(Step):
    def output(self, space):
        return space

    def free(self, space):
        return Steep()


def test_a_step_that_says_nothing_of_its_map_is_refused_after_rows_that_moved():
    """It was 1-Lipschitz by default, and the gradient moved 9.5 times as far as declared."""
    planned(GAPPED, pre.MeanImputer(payment=BUDGET), Sharpen())  # no row has moved: nothing has to be said
    with pytest.raises(ValueError, match=r"Sharpen does not say .* apart"):
        planned(GAPPED, IMPUTE, Sharpen())
    with pytest.raises(ValueError, match="Sharpen does not say"):
        account([IMPUTE, Sharpen()], LEARNER, domain=GAPPED, noise_multiplier=40.0)
    assert Step.lipschitz(Sharpen(), BALL.space) == np.inf


@dataclass(frozen=True)
class Above(ReleasedMap):
    def transform(self, x):
        return x

    def keep(self, x, start):
        return x[:, 0] >= 0.5

    def to_json(self):
        return {}


@dataclass(frozen=True)
class KeepAbove(Step):
    @property
    def drops(self):
        return True

    def output(self, space):
        return space

    def lipschitz(self, space):
        return 1.0

    def free(self, space):
        return Above()


def test_a_fixed_map_can_drop_a_moved_row_on_one_side_only():
    """39 times as far as declared: 160 rows were kept in one data set and dropped in the other."""
    plan = planned(GAPPED, IMPUTE, KeepAbove())
    assert plan.incoming.rows_dropped == plan.incoming.rows_moved == 160
    result = found(plan, [[1.0, 1.0], *GAPS], [[0.0, 1.0], *GAPS])
    assert result.pairs == 1 and not result.findings and result.reach["gradient"] > 0.5


@dataclass(frozen=True)
class Deaf(Own):
    """A confidential step that says the same whatever comes in."""

    at_prediction = False
    rows_moved: float = 3.0

    def sensitivity(self, domain, n, incoming=None):
        return RowShift(self.rows_moved, 0.01, 0.01)

    def fit_confidential(self, rows, space, n):
        return Same()


class Same(ConfidentialMap):
    def transform(self, x):
        return x


def test_a_step_that_does_not_count_what_comes_in_is_refused():
    deaf = Deaf(payment=pay.Sensitivity())
    planned(BALL, deaf)
    with pytest.raises(ValueError, match="Deaf says the same"):
        planned(GAPPED, IMPUTE, deaf)

    class Forgets(Deaf):
        def propagate(self, space, incoming):
            return dataclasses.replace(incoming, rows_dropped=0.0, any_order=False)

        def fit_budget(self, rows, space, n, mechanisms):
            return Identity()

    for came in (RowShift(rows_dropped=2.0), RowShift(2.0, 0.1, 0.2, any_order=True)):
        with pytest.raises(ValueError, match="has to count the rows"):
            shift_after(Forgets(payment=BUDGET), BALL.space, 40, came)
    # Nothing more can move than every row by the whole space: saying so, always, is true.
    most = dataclasses.make_dataclass("Most", [], bases=(Deaf,), frozen=True)
    most.sensitivity = lambda self, domain, n, incoming=None: RowShift(n - 1, 9.0, 9.0 * (n - 1))
    assert (
        shift_after(most(payment=pay.Sensitivity()), BALL.space, 40, RowShift(1, 0.1, 0.1)).rows_moved == 39
    )


def test_a_confidential_step_says_itself_that_it_may_follow_one_that_drops_rows():
    drop = pre.DeduplicateCells(payment=pay.Sensitivity())
    with pytest.raises(ValueError, match=r"Deaf cannot follow .* drops"):
        planned(BALL, drop, Deaf(payment=pay.Sensitivity()))
    said = {"RankReduction": True, "SoftPCA": True, "StandardScaler": True}  # as proved; the others refuse
    for cls in BUILT_IN:
        if cls.ways == ("sensitivity",) or cls is pre.StandardScaler:
            step = object.__new__(cls)
            vars(step).update(payment=pay.Sensitivity())
            assert step.after_drops == said.get(cls.__name__, False)


def test_a_cap_that_no_step_reads_is_refused_by_name():
    with pytest.raises(ValueError, match="Deaf has no cap 'gap'"):
        Deaf(payment=pay.Sensitivity({"gap": 0.1}))


def test_a_payment_is_checked_whatever_a_subclass_makes_of_the_check():
    class Careless(pre.Center):
        at_prediction = False

        def __post_init__(self):
            pass

    with pytest.raises(ValueError, match="paid for by sensitivity"):
        planned(BALL, Careless(payment=pay.Sensitivity()))

    class Generous(pre.Center):
        @property
        def paid(self):
            return pay.Budget(0.5)

    with pytest.raises(ValueError, match="replaces `paid`"):
        planned(BALL, Generous(payment=BUDGET))


# ------------------------------------------------------------------------------------- what a mechanism is asked


@dataclass(frozen=True)
class NearZero(Own):
    """Whether a row is near zero, as R or -R: a dropped row moves from one to the other."""

    second: bool = False

    def fit_budget(self, rows, space, n, mechanisms):
        radius = space.radius

        def blocks():
            for x in rows:
                near = np.linalg.norm(x, axis=1) < radius / 4
                if self.second:
                    yield radius * np.eye(2)[near.astype(int)]
                else:
                    yield np.where(near, radius, -radius)[:, None]

        if self.second:
            mechanisms.second_moment(Again(blocks), d=2, radius=radius)
        else:
            mechanisms.sum(Again(blocks), dim=1, radius=radius)
        return Identity()


@pytest.mark.parametrize("second", [False, True], ids=["sum", "second moment"])
def test_a_dropped_row_moves_what_is_made_of_it_by_a_diameter(second):
    """1.70 and 1.24 times as far as the noise was for, where a radius was counted."""
    domain = Domain.ball(2, (0, 1), radius=1.0, n=60)
    drop = pre.Deduplicate(0.01, payment=pay.Sensitivity({"max_neighbors": 10}))
    plan = UnreleasedPlan(domain, 3.0, 1e-4, (drop, NearZero(second, payment=BUDGET)), LEARNER, 1.0, 1e-5)
    with pytest.raises(ValueError, match="override l2_sensitivity"):
        run(plan, np.random.default_rng(0).uniform(-0.5, 0.5, (60, 2)))


@dataclass(frozen=True)
class Halves(Own):
    """Counts rows above one half."""

    def lipschitz(self, space):
        return 1.0

    def fit_budget(self, rows, space, n, mechanisms):
        mechanisms.class_counts(np.concatenate([(x[:, 0] > 0.5).astype(int) for x in rows]), 2)
        return Identity()


def test_classes_are_counted_of_the_labels_alone():
    """Bins of moved rows were counted as labels: 17 times as far. The labels come with the handle now."""
    plan = unchecked(GAPPED, IMPUTE, Halves(payment=BUDGET))
    with pytest.raises(TypeError, match="class_counts"):
        run(plan, np.full((N, 2), 0.5))

    class Counts(Own):
        def fit_budget(self, rows, space, n, mechanisms):
            mechanisms.class_counts(2)
            return Identity()

    first = run(unchecked(BALL, Counts(payment=BUDGET))).calls[0]
    assert first.exact.tolist()[0] > 0 == first.exact.tolist()[1]


MAKE = {
    "mirror": lambda x: np.vstack([x, x[:, ::-1]]),
    "some": lambda x: x[x[:, 0] > 0],
    "wide": lambda x: np.hstack([x, x]) / 2,
    "same": lambda x: x,
}


@dataclass(frozen=True)
class Rowwise(Own):
    """A sum of rows that are made of blocks in some way; `mechanism`: which one is asked."""

    make: str = "mirror"
    mechanism: str = "sum"

    def fit_budget(self, rows, space, n, mechanisms):
        made = Again(lambda: (MAKE[self.make](x) for x in rows))
        if self.mechanism == "sum":
            mechanisms.sum(made, dim=2, radius=space.radius)
        elif self.mechanism == "second":
            mechanisms.second_moment(made, d=2, radius=space.radius)
        elif self.mechanism == "mean":
            mechanisms.mean(made, d=2, radius=space.radius)
        else:
            values = np.concatenate([np.linalg.norm(x, axis=1) for x in made])
            mechanisms.threshold(values, upper=space.radius)
        return Identity()


@pytest.mark.parametrize("mechanism", ["sum", "second", "mean", "threshold"])
@pytest.mark.parametrize(("make", "says"), [("mirror", "one row for each row"), ("some", "one row for each row"), ("wide", "2 numbers")])  # fmt: skip
def test_a_mechanism_reads_one_row_a_record(make, says, mechanism):
    """A sum over two rows a record: 1.76 times as far. Refused when planned, and by the run itself."""
    if (make, mechanism) == ("wide", "threshold"):
        return  # it takes no rows
    step = Rowwise(make, mechanism, payment=BUDGET)
    planned(BALL, Rowwise("same", mechanism, payment=BUDGET))
    with pytest.raises(ValueError, match=says):
        planned(BALL, step)
    with pytest.raises(ValueError, match=says):
        run(unchecked(BALL, step))


def test_the_rows_themselves_need_no_word_and_other_rows_do():
    class Plain(Own):
        def fit_budget(self, rows, space, n, mechanisms):
            mechanisms.sum(rows, dim=space.d, radius=space.radius)
            return Identity()

    class Shifted(Own):
        def fit_budget(self, rows, space, n, mechanisms):
            far = Again(lambda: (x - 0.5 for x in rows))
            mechanisms.sum(far, dim=space.d, radius=space.radius)
            return Identity()

    box = Domain.box(0, 1, 2, (0, 1), n=40)  # its rows are nearer to each other than to their mirror images
    planned(box, Plain(payment=BUDGET))
    with pytest.raises(ValueError, match="override l2_sensitivity"):
        planned(box, Shifted(payment=BUDGET))


def test_a_budget_step_that_asks_for_nothing_is_refused():
    class Free(Own):
        def fit_budget(self, rows, space, n, mechanisms):
            return Identity()

    with pytest.raises(ValueError, match="asked for no mechanism"):
        planned(BALL, Free(payment=BUDGET))
    with pytest.raises(ValueError, match="asked for no mechanism"):
        run(unchecked(BALL, Free(payment=BUDGET)))
    with pytest.raises(
        ValueError, match="would buy nothing"
    ):  # one of ours with nothing to ask says so first
        planned(BALL, pre.MeanImputer(payment=BUDGET))


def test_labels_are_handed_to_steps_that_say_they_read_them():
    class Reads(Deaf):
        sensitivity = Deaf.sensitivity

        def fit_confidential(self, rows, space, n):
            assert len(rows.labels) == n
            return Same()

    class Says(Reads):
        reads_labels = True

    run(unchecked(BALL, Says(payment=pay.Sensitivity())))
    with pytest.raises(AttributeError, match="labels"):
        run(unchecked(BALL, Reads(payment=pay.Sensitivity())))


# ------------------------------------------------------------------------------------- what a fit hands back


def test_a_map_is_of_the_kind_that_its_payment_makes():
    class Open(Deaf):
        sensitivity = Deaf.sensitivity

        def fit_confidential(self, rows, space, n):
            return Identity()

    class Leaves(Deaf):
        sensitivity = Deaf.sensitivity

        def prediction_map(self, space):
            return Same()

    for step in (Open(payment=pay.Sensitivity()), Leaves(payment=pay.Sensitivity())):
        with pytest.raises(ValueError, match="sensitivity, must make a"):
            planned(BALL, step)
        with pytest.raises(ValueError, match="sensitivity, must make a"):
            run(unchecked(BALL, step))


def test_a_map_that_drops_rows_by_an_attribute_of_its_own_is_refused():
    class Sly(Identity):
        pass

    class Hides(Step):
        def output(self, space):
            return space

        def free(self, space):
            made = Sly()
            object.__setattr__(made, "keep", lambda x, start: x[:, 0] > 0)
            return made

    with pytest.raises(ValueError, match="must say so"):
        run(unchecked(BALL, Hides()))


@dataclass(frozen=True)
class Times(ReleasedMap):
    factor: float

    def transform(self, x):
        return x * self.factor

    def to_json(self):
        return {"factor": self.factor}


class Fewer(Times):
    def transform(self, x):
        return x[x[:, 0] > 0]


@dataclass(frozen=True)
class Swells(Step):
    """Says that its rows stay where they are, and makes longer ones."""

    factor: float = 3.0

    def output(self, space):
        return space

    def free(self, space):
        return Times(self.factor)


def test_rows_outside_of_the_declared_space_are_refused_when_planned_and_held_inside_by_the_run():
    with pytest.raises(ValueError, match=r"leaves the space .* `output`"):
        planned(BALL, Swells())
    planned(BALL, Swells(1.0))
    seen = []

    class Looks(pre.Center):
        def fit_budget(self, rows, space, n, mechanisms):
            seen.extend(np.linalg.norm(x, axis=1).max() for x in rows)
            return super().fit_budget(rows, space, n, mechanisms)

    run(unchecked(BALL, Swells(30.0), Looks(payment=BUDGET)), np.full((40, 2), 0.5))
    assert max(seen) <= 1.0 + 1e-9

    class Filters(Swells):
        def free(self, space):
            return Fewer(1.0)

    with pytest.raises(ValueError, match="one row of 2 numbers"):
        planned(BALL, Filters())
    with pytest.raises(ValueError, match="one row of each row"):
        run(unchecked(BALL, Filters()))


def test_the_nearest_row_of_a_space_moves_no_two_rows_apart(rng):
    for low, high, radius in ((-1.0, 1.0, 1.0), (0.5, 1.0, 1.2), (0.0, 1.0, 0.7), (-2.0, -0.2, 1.0)):
        space = Space(np.full(3, low), np.full(3, high), radius, np.array([False, False, True]))
        inside = Inside(space)
        x = rng.normal(size=(200, 3)) * 10.0 ** rng.integers(-2, 3, (200, 1))
        x[::5, 2] = np.nan
        far = np.where(abs(space.low) > abs(space.high), space.low, space.high)
        y = inside.transform(x)
        filled = np.where(np.isnan(y), far, y)
        assert (np.nan_to_num(y) <= np.maximum(space.high, 0)).all() and np.isnan(y).sum() == 40
        fits = np.linalg.norm(np.clip(np.zeros(3), space.low, space.high)[:2]) ** 2 + far[2] ** 2 <= radius**2
        whole = ~np.isnan(x[:, 2])
        assert (np.linalg.norm(filled, axis=1)[whole | fits] <= radius * (1 + 1e-9)).all()
        a, b = y[whole][:80], y[whole][80:160]
        p, q = x[whole][:80], x[whole][80:160]
        assert (np.linalg.norm(a - b, axis=1) <= np.linalg.norm(p - q, axis=1) * (1 + 1e-9) + 1e-12).all()
        np.testing.assert_allclose(inside.transform(y), y, atol=1e-9)
    odd = np.array([[np.inf, -np.inf, 0.0], [np.nan, 1e308, 1e308]])
    assert np.isfinite(Inside(Space.ball(3, 1.0)).transform(odd)).all()


# ------------------------------------------------------------------------------------- a word about other code


@dataclass(frozen=True)
class Squares(pre.Center):
    """Asks for the sum of x * x, and takes its parent's word for the sum of x."""

    def fit_budget(self, rows, space, n, mechanisms):
        squares = Again(lambda: (x * x for x in rows))
        mechanisms.sum(squares, dim=space.d, radius=space.radius**2)
        return Identity()


@dataclass(frozen=True)
class Says(Squares):
    """The same, and its own word."""

    def l2_sensitivity(self, space, adjacency, incoming):
        return 2 * space.radius**2


@dataclass(frozen=True)
class Below(Says):
    """Replaces nothing."""


@dataclass(frozen=True)
class Again2(Says):
    """Replaces the sum once more."""

    fit_budget = Squares.fit_budget


def test_a_subclass_takes_no_word_of_its_parent_for_a_sum_of_its_own():
    """4.7 times as far as declared: `Center` spoke for a sum that it had never seen."""
    far = Domain.ball(2, (0, 1), radius=10.0, n=20)
    with pytest.raises(ValueError, match="override l2_sensitivity"):
        planned(far, Squares(payment=BUDGET))
    planned(far, Says(payment=BUDGET))
    assert [says_its_sum(c(payment=BUDGET)) for c in (pre.Center, Squares, Says, Below, Again2)] == [True, False, True, True, False]  # fmt: skip


def test_a_helper_that_is_replaced_is_code_that_the_parent_spoke_of():
    class Middle(pre.MeanImputer):
        def statistics(self, rows, space, n, caps):
            return super().statistics(rows, space, n, caps)

    step = Middle(payment=pay.Sensitivity({"missing": 0.1}))
    with pytest.raises(ValueError, match=r"takes sensitivity from Imputer, .* Middle"):
        planned(GAPPED, step)

    class Answers(Middle):
        pass

    with pytest.raises(ValueError, match="say sensitivity in Middle itself"):
        planned(GAPPED, Answers(payment=step.payment))

    class Restated(Middle):
        sensitivity = pre.MeanImputer.sensitivity

    planned(GAPPED, Restated(payment=step.payment))


def test_a_mixin_speaks_for_no_other_class():
    class Mixin:
        def fit_budget(self, rows, space, n, mechanisms):
            return Squares.fit_budget(self, rows, space, n, mechanisms)

    class Mixed(Mixin, pre.Center):
        pass

    assert not says_its_sum(Mixed(payment=BUDGET))


BUILT_IN = sorted(
    {
        k
        for k in map(pre.__getattr__, pre.__all__)
        if inspect.isclass(k) and issubclass(k, Step) and not inspect.isabstract(k) and k is not Step
    },
    key=lambda k: k.__name__,
)
WORDS = {
    "free": ("lipschitz", "propagate"),
    "public": ("lipschitz", "propagate"),
    "budget": ("lipschitz", "propagate", "l2_sensitivity"),
    "sensitivity": ("sensitivity", "conditions", "distance", "after_drops"),
    "sketch": ("lipschitz", "propagate"),
}
MOVED = RowShift(2.0, 0.1, 0.2, 1.0)


def payments(cls, way):
    return {
        "free": None,
        "public": pay.Public(),
        "budget": BUDGET,
        "sensitivity": pay.Sensitivity(test=0.1),
        "sketch": pay.Sketch(0.1),
    }[way]


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda c: c.__name__)
def test_a_subclass_of_each_step_inherits_no_word_about_each_method_that_it_replaces(cls):
    for way in cls.ways or ("free",):
        name = MAKES[way]
        replaced = type("Mine", (cls,), {name: lambda self, *args: None, "__module__": __name__})
        step = object.__new__(replaced)
        for f in dataclasses.fields(cls):
            object.__setattr__(step, f.name, None if f.default is dataclasses.MISSING else f.default)
        object.__setattr__(step, "payment", payments(cls, way))
        given = [w for w in WORDS[way] if getattr(cls, w) is not getattr(Step, w)]
        if way == "budget":
            assert "l2_sensitivity" in given and not says_its_sum(step)
        if way == "sensitivity" or {"lipschitz", "propagate"} & set(given):
            with pytest.raises(ValueError, match=r"not know the|not say"):
                check_words(step, MOVED)
        if way == "sensitivity":
            again = {w: getattr(cls, w) for w in WORDS[way]}
        else:
            again = {w: getattr(cls, w) for w in given}
        body = {name: vars(replaced)[name], "__module__": __name__, **again}
        restated = object.__new__(type("Mine", (cls,), body))
        vars(restated).update(vars(step))
        if way == "sensitivity" or {"lipschitz", "propagate"} & set(given):
            check_words(restated, MOVED)


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda c: c.__name__)
def test_each_step_speaks_for_its_own_code(cls):
    """No word of a step of ours comes from `Step`, where a default is none."""
    for way in cls.ways or ("free",):
        if way == "sensitivity":
            assert cls.sensitivity is not Step.sensitivity
        else:
            assert cls.lipschitz is not Step.lipschitz or cls.propagate is not Step.propagate
        if way == "budget":
            assert cls.l2_sensitivity is not Step.l2_sensitivity
    assert Step.lipschitz(object(), None) == np.inf and UNTOUCHED.is_zero


# ------------------------------------------------------------------------------------- everything beside a plan


def test_prices_accounts_and_preparations_ask_the_same():
    class Both(Own):
        at_prediction = False

        def sensitivity(self, domain, n, incoming=None):
            return (incoming or UNTOUCHED).plus(RowShift(1.0, 0.1, 0.1), n=n)

        def fit_confidential(self, rows, space, n):
            return Same()

    step = Both(payment=pay.Sensitivity())
    table = prices([IMPUTE, step], GAPPED, LEARNER, epsilon=1.0, delta=1e-5, n=N)
    mine = {p.way: p for p in table if p.step == "Both"}
    assert mine["sensitivity"].open and not mine["public"].open and "does not say" in mine["public"].note
    made = account([IMPUTE, step], LEARNER, domain=GAPPED, noise_multiplier=40.0)
    asked = {way: (epsilon, note) for name, way, epsilon, note in made.alternatives if name == "Both"}
    assert asked["public"][0] is asked["budget"][0] is None and "does not say" in asked["public"][1]
    far = Domain.ball(2, (0, 1), radius=10.0, n=20)
    with pytest.raises(ValueError, match="override l2_sensitivity"):
        make_preparation(far, [Squares(payment=BUDGET)], epsilon=1.0, delta=1e-5)


def test_a_condition_says_what_it_checks():
    @dataclass(frozen=True)
    class Few(Premise):
        def holds(self, rows, n):
            return True

        @property
        def says(self):
            return "few"

    class Other(Few):
        def holds(self, rows, n):
            return False

    class Rests(Deaf):
        def sensitivity(self, domain, n, incoming=None):
            return RowShift(1.0, 0.1, 0.1, conditions=(Other(reading=as_space(domain).reading),))

    with pytest.raises(ValueError, match=r"takes says from Few, .*Other"):
        planned(BALL, Rests(payment=pay.Sensitivity()))


# ------------------------------------------------------------------------------------- learners and losses


class Twice(GradientDescent):
    """Takes each noisy step twice, at the price of one."""

    def train(self, rows, setting, run):
        super().train(rows, setting, run)
        return super().train(rows, setting, run)


class Once(Twice):
    exact = True
    takes_units, premise, unit = GradientDescent.takes_units, GradientDescent.premise, GradientDescent.unit
    parts, smooth, once = GradientDescent.parts, GradientDescent.smooth, GradientDescent.once


class Steeper(Logistic):
    """Five times the gradient, and the bound of the logistic loss."""

    def residual(self, scores, targets, out=None):
        return 5 * super().residual(scores, targets)


def test_a_learner_says_itself_what_its_run_costs():
    with pytest.raises(ValueError, match=r"takes exact from GradientDescent, .*Twice"):
        make_plan(BALL, [], Twice(Logistic(), steps=2), epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match="the train of Twice"):
        account([], Twice(Logistic(), steps=2), domain=BALL, noise_multiplier=40.0)
    once = Once(Logistic(), steps=2)
    with pytest.raises(ValueError, match="Once asked for more releases"):  # it said so, and it is not true
        make_plan(BALL, [], once, epsilon=1.0, delta=1e-5)
    with pytest.raises(SpentError, match="Once asked for more releases"):
        run(dataclasses.replace(planned(BALL), learner=once))


def test_a_loss_says_itself_what_its_gradient_is_bounded_by():
    with pytest.raises(ValueError, match=r"takes gradient_norm from Logistic, .*Steeper"):
        make_plan(BALL, [], GradientDescent(Steeper(), steps=2), epsilon=1.0, delta=1e-5)


LEARNERS = [
    k
    for k in (getattr(learners, name) for name in learners.__all__)
    if inspect.isclass(k) and issubclass(k, Learner) and not inspect.isabstract(k)
]


@pytest.mark.parametrize("cls", LEARNERS, ids=lambda c: c.__name__)
def test_a_subclass_of_each_learner_inherits_no_claim_about_a_run_of_its_own(cls):
    check_said(cls, Learner, CLAIMS, TRAINS)
    for name in TRAINS:
        mine = type("Mine", (cls,), {name: lambda self, *args: None})
        with pytest.raises(ValueError, match=f"the {name} of Mine"):
            check_said(mine, Learner, CLAIMS, TRAINS)
