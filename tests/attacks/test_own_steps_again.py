"""The joints around steps, maps, learners and losses of a user's own: what is shared, remembered, or asked too late.

Each let a release move further than its noise was for, or an exact private number into the artifact.
"""

from __future__ import annotations

import builtins
import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from prepriv import Domain, Numeric, make_plan
from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv._copies import copied
from prepriv.audit.random_chains import LEARNER
from prepriv.audit.replay import Recorder
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import CLAIMS
from prepriv.learners.losses import Logistic
from prepriv.learners.stochastic import PoissonSGD
from prepriv.mechanisms.mean import gaussian_sum
from prepriv.mechanisms.session import NoisySession, SpentError
from prepriv.placed.rows import Mapped
from prepriv.preprocessing.base import UNTOUCHED, ConfidentialMap, Identity, ReleasedMap, RowShift, Step
from prepriv.preprocessing.impute_caps import FewMissing
from prepriv.preprocessing.said import check_words
from prepriv.release.model import Model
from prepriv.runs.premises import of_part
from prepriv.runs.preparation import make_preparation
from prepriv.runs.run import execute
from prepriv.space import Space
from prepriv.tables.encoding import encode, encode_targets

N = 60
BOX = Domain.box(0, 1, 2, (0, 1), n=N)
GAPPED = Domain({"a": Numeric(0, 1, "impute"), "b": Numeric(0, 1, "impute")}, (0, 1), n=N)
BUDGET = pay.Budget(0.2)
X = np.random.default_rng(0).random((N, 2))
Y = [0, 1] * (N // 2)


def planned(domain, *steps, learner=LEARNER):
    return make_plan(domain, steps, learner, epsilon=1.0, delta=1e-5)


def unrehearsed(domain, *steps, learner=LEARNER):
    """A plan that no rehearsal has seen: what a run does by itself."""
    return dataclasses.replace(planned(domain, pre.ConstantImputer()), pipeline=steps, learner=learner)


def run(plan, rows=X, labels=Y, session=None):
    return execute(
        plan, encode(rows, plan.domain), encode_targets(labels, plan.domain), session or Recorder()
    )


def claims(cls):
    """All words of a learner, said again."""
    return {name: getattr(cls, name) for name in CLAIMS}


# ------------------------------------------------------------------------------------- what is shared


def test_a_space_is_read_and_never_written():
    """An `output` that multiplied in place changed the space of the imputer before it: 13043 times as far as declared."""

    @dataclass(frozen=True)
    class Tenfold(Step):
        def output(self, space):
            high = space.high
            high *= 10
            return Space(space.low, high, space.radius * 10, space.may_miss)

    with pytest.raises(ValueError, match="read-only"):
        planned(BOX, Tenfold())
    mine = np.ones(2)
    space = Space(np.zeros(2), mine, 2.0, np.zeros(2, dtype=bool))
    mine *= 10
    assert space.high.tolist() == [1.0, 1.0]
    for array in (space.low, space.high, space.may_miss):
        with pytest.raises(ValueError, match="read-only"):
            array += array


@dataclass(frozen=True)
class Shifts(Step):
    """Makes the labels begin at zero, in place."""

    ways: ClassVar = ("budget",)
    reads_labels: ClassVar = True
    mine: bool = True

    def output(self, space):
        return space

    def fit_budget(self, rows, space, n, mechanisms):
        labels = rows.labels if self.mine else mechanisms._labels
        mechanisms.sum(rows, dim=space.d, radius=space.radius)
        labels -= labels.min()
        return Identity()


@pytest.mark.parametrize("mine", [True, False])
def test_labels_are_read_and_never_written(mine):
    """One label outside of the classes shifted every record's class: 30 times as far as declared."""
    before = encode_targets(Y, BOX)
    with pytest.raises(Exception, match=r"read-only|ended with an error"):
        execute(unrehearsed(BOX, Shifts(mine, payment=BUDGET)), encode(X, BOX), before, Recorder())
    assert before.tolist() == Y


def test_a_fit_is_handed_rows_and_not_their_table():
    seen = []

    class Looks(pre.Center):
        reads_labels = True

        def fit_budget(self, rows, space, n, mechanisms):
            seen.extend([rows, mechanisms.rows])
            return super().fit_budget(rows, space, n, mechanisms)

    run(unrehearsed(BOX, Looks(payment=BUDGET)))
    assert len(seen) == 2 and not any(isinstance(rows, Mapped) or hasattr(rows, "table") for rows in seen)


# ------------------------------------------------------------------------------------- what is remembered


@dataclass(frozen=True)
class Fill(ConfidentialMap):
    mean: np.ndarray

    def transform(self, x):
        return np.where(np.isnan(x), self.mean, x)


@dataclass(frozen=True)
class FillReleased(ReleasedMap):
    mean: tuple

    def transform(self, x):
        return np.where(np.isnan(x), np.array(self.mean), x)

    def to_json(self):
        return {"mean": list(self.mean)}

    @classmethod
    def from_json(cls, data):
        return cls(tuple(data["mean"]))


@dataclass(frozen=True)
class Remembers(Step):
    """Fills gaps with the mean, and notes it in a field and, as in scikit-learn, in an attribute."""

    seen: dict = field(default_factory=dict)
    ways: ClassVar = ("sensitivity",)
    at_prediction: ClassVar = False

    def output(self, space):
        return Space(space.low, space.high, space.radius, np.zeros(space.d, dtype=bool))

    def sensitivity(self, domain, n, incoming=None):
        return RowShift(n - 1, domain.diameter, (n - 1) * domain.diameter)

    def fit_confidential(self, rows, space, n):
        mean = np.nanmean(np.concatenate(list(rows)), axis=0)
        self.seen["mean"] = mean.tolist()
        object.__setattr__(self, "mean_", mean)
        return Fill(mean)

    def prediction_map(self, space):
        return FillReleased(tuple(np.asarray(getattr(self, "mean_", (0.5, 0.5))).tolist()))


@dataclass(frozen=True)
class Logged(GradientDescent):
    """Notes the norm of each exact sum."""

    history: list = field(default_factory=list)
    for _name in CLAIMS:
        locals()[_name] = getattr(GradientDescent, _name)

    def train(self, rows, setting, run):
        with rows.gradient_sum(self.loss) as total:
            self.history.append(float(np.linalg.norm(total(np.zeros((rows.shape[1], setting.outputs))))))
        return GradientDescent.train(self, rows, setting, run)


@dataclass(frozen=True)
class Noted(Logistic):
    """Notes the largest residual."""

    history: list = field(default_factory=list)
    gradient_norm, input_lipschitz = Logistic.gradient_norm, Logistic.input_lipschitz
    smoothness = Logistic.smoothness

    def residual(self, scores, targets, out=None):
        made = super().residual(scores, targets, out)
        self.history.append(float(np.abs(made).max()))
        return made


@pytest.mark.parametrize("learner", [Logged(Logistic(), steps=2), GradientDescent(Noted(), steps=2)])
def test_what_a_run_notes_in_itself_ends_with_the_run(learner):
    """Exact private means and gradient norms stood in model.json, and the hash was not the one that was charged."""
    mine = Remembers(payment=pay.Sensitivity())
    plan = unrehearsed(GAPPED, mine, learner=learner)  # not written down before the run
    trained = run(plan)
    said = Model.of(trained).to_json()["plan"]
    loss = said["learner"]["loss"]
    assert said["steps"][0]["seen"] == {} and not said["learner"].get("history") and not loss.get("history")
    assert mine.seen == {} and "mean_" not in vars(mine) and not learner.loss.__dict__.get("history")


def test_a_plan_is_written_once():
    plan = planned(GAPPED, Remembers(payment=pay.Sensitivity()))
    before = plan.hash
    plan.pipeline[0].seen["mean"] = 1.0
    plan.to_json()["steps"].clear()
    assert plan.hash == before and len(plan.to_json()["steps"]) == 1
    assert plan.to_json(claimed=False)["guarantee"] is None
    prepared = make_preparation(BOX, [Clip()], epsilon=1.0, delta=1e-5)
    before = prepared.hash
    prepared.pipeline[0].seen["clipped"] = 3
    assert prepared.hash == before


def test_the_map_for_new_rows_is_asked_for_before_the_fit():
    """A step that remembers its mean released it, exactly."""
    plan = planned(GAPPED, Remembers(payment=pay.Sensitivity()))
    for _ in range(2):
        assert run(plan, session=NoisySession()).maps[0].mean == (0.5, 0.5)
    step = Remembers(payment=pay.Sensitivity())

    class Access:
        n = N

        def private(self):
            return [X]

    assert step.paid.fit(step, GAPPED.space, Access())[1].mean == (0.5, 0.5)


@dataclass(frozen=True)
class Clipped(ReleasedMap):
    high: float
    seen: dict = field(default_factory=lambda: {"clipped": 0})

    def transform(self, x):
        self.seen["clipped"] += int((x > self.high).sum())
        return np.minimum(x, self.high)

    def to_json(self):
        return {"high": self.high, "clipped": self.seen["clipped"]}

    @classmethod
    def from_json(cls, data):
        return cls(data["high"], {"clipped": data["clipped"]})


@dataclass(frozen=True)
class Clip(Step):
    seen: dict = field(default_factory=dict)

    def output(self, space):
        return space

    def free(self, space):
        return Clipped(0.5)


def test_the_map_that_leaves_has_seen_no_private_row():
    """It counted what it clipped, and the count stood in the artifact."""
    assert run(unrehearsed(BOX, Clip())).maps[0].seen == {"clipped": 0}


def test_what_cannot_be_copied_is_refused():
    class Self(Clip):
        def __deepcopy__(self, memo):
            return self

    class Never(Clip):
        def __deepcopy__(self, memo):
            raise RuntimeError("0.99731")

    for step in (Self(), Never()):
        with pytest.raises(ValueError, match="cannot be copied") as refused:
            planned(BOX, step)
        assert refused.value.__context__ is None
    center = pre.Center(payment=BUDGET)
    assert copied(center) is center


# ------------------------------------------------------------------------------------- what is counted


@dataclass(frozen=True)
class Restarted(PoissonSGD):
    """Runs twice, at the price of one run."""

    for _name in CLAIMS:
        locals()[_name] = getattr(PoissonSGD, _name)

    def train(self, rows, setting, run):
        PoissonSGD.train(self, rows, setting, run)
        return PoissonSGD.train(self, rows, setting, run)


def test_a_learner_is_metered_whatever_it_samples():
    """Claimed ε = 1; that of the forty steps it took is 1.46."""
    learner = Restarted(Logistic(), batch_size=20, steps=20)
    plan = dataclasses.replace(
        planned(BOX, learner=PoissonSGD(Logistic(), batch_size=20, steps=20)), learner=learner
    )
    session = NoisySession()
    with pytest.raises(SpentError, match="Restarted asked for more releases"):
        run(plan, session=session)
    assert len(session.releases) == 20


@dataclass(frozen=True)
class As(Step):
    """A sum of rows of another kind of number, a hundred times as large as declared."""

    kind: str = "float64"
    ways: ClassVar = ("budget",)

    def output(self, space):
        return space

    def l2_sensitivity(self, space, adjacency, incoming):
        return 20.0

    def fit_budget(self, rows, space, n, mechanisms):
        with np.errstate(all="ignore"):
            made = [(x * 100).astype(self.kind) for x in rows]
        mechanisms.sum(made, dim=space.d, radius=10.0)
        return Identity()


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "int8", "uint8", "int16", "int64", "bool"])
def test_numbers_of_any_kind_are_counted(kind):
    """Rows of short numbers at the radius were counted as nothing: the noise alone was paid for."""
    made = As(kind, payment=BUDGET)
    recorder, expected = Recorder(), Recorder()
    run(unrehearsed(BOX, made), session=recorder)
    rows = (X * 100).astype(kind).astype(np.float64)
    gaussian_sum(
        [rows],
        name="",
        dim=2,
        radius=10.0,
        shift=20.0,
        moved=0.0,
        n=N,
        noise_multiplier=1.0,
        session=expected,
    )
    np.testing.assert_array_equal(recorder.calls[0].exact, expected.calls[0].exact)


def test_what_is_not_a_real_number_is_refused():
    for kind in ("complex128", "object", "U8"):
        with pytest.raises(ValueError, match="array of real numbers"):
            planned(BOX, As(kind, payment=BUDGET))


# ------------------------------------------------------------------------------------- what a word is about


@dataclass(frozen=True)
class MeanFill(Step):
    """Right: a mean over n places. Its confidential fit is its public one, kept inside."""

    ways: ClassVar = ("public", "sensitivity")
    at_prediction: ClassVar = False

    def output(self, space):
        return Space(space.low, space.high, space.radius, np.zeros(space.d, dtype=bool))

    def sensitivity(self, domain, n, incoming=None):
        row = float(np.linalg.norm(domain.widths)) / n * (1 + 1e-9)
        return (incoming or UNTOUCHED).plus(RowShift(n - 1, row, (n - 1) * row), n=n)

    def fit_public(self, rows, space, n):
        return FillReleased(tuple((np.nansum(np.concatenate(list(rows)), axis=0) / n).tolist()))

    def fit_confidential(self, rows, space, n):
        return Fill(np.array(self.fit_public(rows, space, n).mean))

    def __call__(self, rows):
        return rows


SENSITIVITY = pay.Sensitivity()
REPLACED = {
    "fit_public": lambda self, rows, space, n: FillReleased((1.0, 1.0)),
    "free": lambda self, space: Identity(),
    "fit_budget": lambda self, rows, space, n, mechanisms: Identity(),
    "fit_confidential": lambda self, rows, space, n: Fill(np.ones(2)),
    "output": lambda self, space: space,
    "prediction_map": lambda self, space: FillReleased((0.5, 0.5)),
    "__call__": lambda self, rows: rows,
    "__getattribute__": object.__getattribute__,
}


@pytest.mark.parametrize("name", REPLACED)
def test_each_function_that_a_subclass_replaces_is_code(name):
    """A maximum in place of a mean, by a method that the root class has: 13.6 times as far as declared."""
    planned(GAPPED, MeanFill(payment=SENSITIVITY))
    body = {name: REPLACED[name], "__module__": __name__}
    with pytest.raises(ValueError, match=f"takes sensitivity from MeanFill, .*{name}"):
        check_words(type("Mine", (MeanFill,), body)(payment=SENSITIVITY), UNTOUCHED)
    restated = type("Mine", (MeanFill,), {**body, "sensitivity": MeanFill.sensitivity})
    check_words(restated(payment=SENSITIVITY), UNTOUCHED)


def test_words_and_what_a_dataclass_makes_are_no_such_code():
    @dataclass(frozen=True)
    class Mine(MeanFill):
        more: int = 1

        def __post_init__(self):
            super().__post_init__()

        def l2_sensitivity(self, space, adjacency, incoming):
            return 1.0

    planned(GAPPED, Mine(payment=SENSITIVITY))


@dataclass(frozen=True)
class Says(MeanFill):
    """States a premise in `conditions`, and rests on none in `sensitivity`."""

    def conditions(self, space, n, incoming=None):
        return (FewMissing(0, "a", 6, n, reading=space.reading),)


@dataclass(frozen=True)
class SaysBoth(Says):
    def sensitivity(self, domain, n, incoming=None):
        own = MeanFill.sensitivity(self, domain, n, incoming)
        return dataclasses.replace(own, conditions=self.conditions(domain, n, incoming))


def test_a_step_rests_on_the_same_premises_wherever_it_says_so():
    """The plan claimed without the premise, the audit attacked with it: 22 times as far as declared, "held"."""
    with pytest.raises(ValueError, match=r"Says rests .* `conditions` .* RowShift"):
        planned(GAPPED, Says(payment=SENSITIVITY))
    made = planned(GAPPED, SaysBoth(payment=SENSITIVITY))
    assert len(made.guarantee.conditions) == 1
    planned(GAPPED, pre.MeanImputer(payment=pay.Sensitivity({"missing": 0.1})), SaysBoth(payment=SENSITIVITY))


@dataclass(frozen=True)
class ShareMissing(FewMissing):
    """A share of the rows, where the parent counts them: no part of the rows inherits it."""

    says = FewMissing.says

    def holds(self, rows, n):
        return True


@dataclass(frozen=True, eq=False)
class OwnCaps(pay.Caps):
    share: float = 0.1


@dataclass(frozen=True)
class Rests(MeanFill):
    """Rests on a premise of one's own."""

    premise: str = "ShareMissing"
    Caps: ClassVar = OwnCaps

    def sensitivity(self, domain, n, incoming=None):
        made = {"ShareMissing": ShareMissing, "FewMissing": FewMissing}[self.premise]
        own = MeanFill.sensitivity(self, domain, n, incoming)
        return dataclasses.replace(own, conditions=(made(0, "a", 6, n, reading=domain.reading),))


def test_a_premise_says_itself_whether_a_part_inherits_it():
    """At most a tenth of all rows, and 12.3 % of those that were trained on."""
    with pytest.raises(ValueError, match=r"takes inherited from FewMissing, .* holds"):
        planned(GAPPED, Rests(payment=SENSITIVITY))


def test_caps_say_themselves_what_they_are_of_a_part():
    plan = planned(GAPPED, Rests("FewMissing", payment=SENSITIVITY))
    with pytest.raises(ValueError, match="OwnCaps does not say"):
        of_part(plan, 2 * N)

    @dataclass(frozen=True, eq=False)
    class Said(OwnCaps):
        def of_part(self, whole):
            return self

    class Both(Rests):
        Caps = Said
        sensitivity = Rests.sensitivity

    of_part(planned(GAPPED, Both("FewMissing", payment=SENSITIVITY)), 2 * N)


# ------------------------------------------------------------------------------------- what a rehearsal sees


class Made(ReleasedMap):
    """The identity, but for what a test replaces."""

    def transform(self, x):
        return x

    def to_json(self):
        return {}

    @classmethod
    def from_json(cls, data):
        return cls()


class ByBlock(Made):
    def transform(self, x):
        return x / np.maximum(np.abs(x).max(axis=0), 1.0 - 1e-3)


class Running(Made):
    """Subtracts a little of what it met before."""

    met = 0.0

    def transform(self, x):
        made = x * (1 - self.met / 100)
        self.met = float(x[-1, 0])
        return made


class Sorts(Made):
    def transform(self, x):
        return np.sort(x, axis=0)


class Times7(Made):
    def transform(self, x):
        return x @ np.ones((7, 7))


class Listed(Made):
    def transform(self, x):
        return x.tolist()


class KeepsEven(Made):
    def keep(self, x, start):
        return (start + np.arange(len(x))) % 2 == 0


class KeepsFirst(Made):
    def keep(self, x, start):
        return start + np.arange(len(x)) < 100


class KeepsTop(Made):
    def keep(self, x, start):
        return x[:, 0] >= np.median(x[:, 0])


class KeepsList(Made):
    def keep(self, x, start):
        return [True] * len(x)


class KeepsIndex(Made):
    def keep(self, x, start):
        return np.flatnonzero(x[:, 0] >= 0)[:-1]


class WritesASet(Made):
    def to_json(self):
        return {"columns": {1, 2}}


class WritesNoNumber(Made):
    def to_json(self):
        return {"a": float("nan")}


class Loses(Made):
    def __init__(self, by=2.0):
        self.by = by

    def transform(self, x):
        return x / self.by

    @classmethod
    def from_json(cls, data):
        return cls(1.0)


@dataclass(frozen=True)
class Free(Step):
    def output(self, space):
        return space

    def lipschitz(self, space):
        return 1.0


def free(made):
    """A step without options that makes that map."""
    return type("Mine", (Free,), {"free": lambda self, space: made(), "drops": made.keep is not Made.keep})()


BAD_MAPS = {
    ByBlock: "treat every row by itself",
    Running: "treat every row by itself",
    Sorts: "treat every row by itself",
    Times7: "fails on made-up rows of the declared space: ValueError",
    Listed: "must make an array of floats",
    KeepsTop: "keep every row by itself|treat every row by itself",
    KeepsList: "an array of one truth value per row; got list",
    KeepsIndex: "an array of one truth value per row; got ndarray",
    WritesASet: "cannot be written to a model and read back",
    WritesNoNumber: "cannot be written to a model and read back",
    Loses: "changes when it is written",
}


@pytest.mark.parametrize("made", BAD_MAPS, ids=lambda c: c.__name__)
def test_a_map_is_rehearsed(made):
    """Each was planned, charged and claimed: one record moved all rows, or the model could not be saved."""
    planned(BOX, free(Made))
    with pytest.raises(ValueError, match=BAD_MAPS[made]):
        planned(BOX, free(made))


@pytest.mark.parametrize("made", [KeepsEven, KeepsFirst])
def test_places_are_public_under_replace_one_alone(made):
    """Under add-or-remove-one a record shifts all others by one place: 35 times as far as declared."""
    planned(BOX, free(made))
    with pytest.raises(ValueError, match="keeps rows by their places"):
        planned(dataclasses.replace(BOX, adjacency="add-or-remove-one"), free(made))


@dataclass(frozen=True)
class Stumbles(Step):
    """A budget step whose fit ends in an error."""

    error: str = "TypeError"
    rows: int = 10**9
    ways: ClassVar = ("budget",)

    def output(self, space):
        return space

    def fit_budget(self, rows, space, n, mechanisms):
        if len(np.concatenate(list(rows))) < self.rows:
            raise getattr(builtins, self.error)("0.99731")
        mechanisms.sum(rows, dim=space.d, radius=space.radius)
        return Identity()


@pytest.mark.parametrize(
    "error", ["TypeError", "NameError", "AttributeError", "NotImplementedError", "ValueError"]
)
def test_mistakes_of_a_fit_are_refused_before_a_charge(error):
    with pytest.raises(ValueError, match=f"fit of Stumbles fails .* {error}"):
        planned(BOX, Stumbles(error, payment=BUDGET))
    if error == "ValueError":  # few rows may be the reason
        planned(BOX, Stumbles(error, 50, payment=BUDGET))


def test_labels_of_the_rehearsal_are_read_only_too():
    with pytest.raises(ValueError, match="read-only"):
        planned(BOX, Shifts(payment=BUDGET))


@dataclass(frozen=True)
class Wider(MeanFill):
    """Adds a column, and leaves new rows as they are."""

    ways: ClassVar = ("sensitivity",)
    sensitivity = MeanFill.sensitivity

    def output(self, space):
        twice = [np.hstack([a, a]) for a in (space.low, space.high)]
        return Space(*twice, 2 * space.radius, np.zeros(2 * space.d, dtype=bool))

    def fit_confidential(self, rows, space, n):
        return Doubled()


class Doubled(ConfidentialMap):
    def transform(self, x):
        return np.nan_to_num(np.hstack([x, x]))


def test_new_rows_are_as_wide_as_those_that_were_learned():
    with pytest.raises(ValueError, match=r"map of Wider .* 4 numbers"):
        planned(GAPPED, Wider(payment=SENSITIVITY))


class Balanced(Logistic):
    """Weighs each class by its share of the rows that it is handed."""

    gradient_norm, input_lipschitz = Logistic.gradient_norm, Logistic.input_lipschitz
    smoothness = Logistic.smoothness

    def residual(self, scores, targets, out=None):
        there, counts = np.unique(targets, return_counts=True)
        weights = len(targets) / (len(there) * counts[np.searchsorted(there, targets)])
        return super().residual(scores, targets) * np.minimum(weights, 1.0)[:, None]


class Flat(Logistic):
    gradient_norm, input_lipschitz = Logistic.gradient_norm, Logistic.input_lipschitz
    smoothness = Logistic.smoothness

    def residual(self, scores, targets, out=None):
        return super().residual(scores, targets)[:1]


def test_a_residual_is_made_of_its_own_record():
    """One record weighed all the others anew: 13 times as far as declared."""
    planned(BOX, learner=GradientDescent(Noted(), steps=2))
    with pytest.raises(ValueError, match=r"residual of Balanced .* by itself"):
        planned(BOX, learner=GradientDescent(Balanced(), steps=2))
    with pytest.raises(ValueError, match=r"residual of Flat .* shape"):
        planned(BOX, learner=GradientDescent(Flat(), steps=2))


class Hands(GradientDescent):
    """Hands back what a test makes of the weights."""

    for _name in CLAIMS:
        locals()[_name] = getattr(GradientDescent, _name)

    def train(self, rows, setting, run):
        return self.make(super().train(rows, setting, run))


BAD_WEIGHTS = [
    np.ndarray.tolist,
    np.transpose,
    np.ravel,
    lambda w: w[:-1],
    lambda w: w * np.nan,
    lambda w: None,
]


@pytest.mark.parametrize("make", range(len(BAD_WEIGHTS)))
def test_what_a_learner_hands_back_is_rehearsed(make):
    """The run was charged, and its model could not be used."""
    good = type("Mine", (Hands,), {"make": lambda self, w: w.astype(np.float32)})
    planned(BOX, learner=good(Logistic(), steps=2))
    bad = type("Mine", (Hands,), {"make": lambda self, w: BAD_WEIGHTS[make](w)})
    with pytest.raises(ValueError, match="weights as an array of"):
        planned(BOX, learner=bad(Logistic(), steps=2))
