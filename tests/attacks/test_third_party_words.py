"""What third-party code says of itself: a loss of its constants, a step of its sum, a parent's constant, a distance, rows after a
transformer. Each was believed, and moved a sum up to 66 times as far as its noise was for."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from prepriv import Budget, Domain, Numeric, PrivateClassifier, PrivateTransformer, Sensitivity, make_plan
from prepriv.audit.loss_words import loss_lies
from prepriv.audit.replay_pipeline import replay_plan
from prepriv.domain import as_space
from prepriv.learners import GradientDescent, Logistic, OnePassSGD, Softmax
from prepriv.learners.losses import HuberisedHinge, SquaredHinge
from prepriv.learners.targets import Huber, Quantile, SquaredError, TargetLoss
from prepriv.preprocessing import MeanImputer
from prepriv.preprocessing.base import UNTOUCHED, ConfidentialMap, Identity, ReleasedMap, RowShift, Step
from prepriv.preprocessing.center import Subtract
from prepriv.preprocessing.impute_caps import FewMissing, FillReleased
from prepriv.space import Space

N = 40
BALL = Domain.ball(2, (0, 1), radius=1.0, n=N)
BOX = Domain.box(0, 1, features=2, classes=(0, 1), n=N)
LEARNER = GradientDescent(Logistic(), steps=1, weight_bound=5.0)


def planned(domain, *steps):
    return make_plan(domain, steps, LEARNER, epsilon=1.0, delta=1e-5)


@dataclass(frozen=True)
class Squares(TargetLoss):
    """½(score − y)², and `input_lipschitz` too small."""

    name: ClassVar[str] = "squares"
    share: float = 0.02

    def _value(self, error):
        return 0.5 * error * error

    def _slope(self, error):
        return error

    def gradient_norm(self, radius, weight_norm):
        return SquaredError().gradient_norm(radius, weight_norm)

    def input_lipschitz(self, radius, weight_norm):
        return SquaredError().input_lipschitz(radius, weight_norm) * self.share

    def smoothness(self, radius):
        return SquaredError().smoothness(radius)


@dataclass(frozen=True)
class Steep(Logistic):
    """`slope` times as steep as it says."""

    slope: float = 8.0
    convex: ClassVar[bool] = True

    def outputs(self, n_classes):
        return 1

    def residual(self, scores, targets, out=None):
        made = Logistic().residual(self.slope * scores, targets)
        if out is None:
            return made
        out[:] = made
        return out

    def gradient_norm(self, radius, weight_norm):
        return radius

    def input_lipschitz(self, radius, weight_norm):
        return 1 + abs(self.slope) * radius * weight_norm

    smoothness = Logistic.smoothness
    value = Logistic.value


def own(loss):
    """The same loss by third-party code."""
    cls = type(type(loss).__name__, (type(loss),), {"__module__": __name__})
    return cls(**{f.name: getattr(loss, f.name) for f in dataclasses.fields(loss)})


def lies(loss, classes=2, bound=20.0):
    return list(loss_lies(GradientDescent(loss, steps=1, weight_bound=bound, clip_norm=1.0), 1.0, classes, 0))


def test_the_words_of_a_loss_of_a_target_are_attacked():
    """They were attacked of losses of classes alone: a sum moved 8 times as far as declared, and both audits held."""
    assert "input_lipschitz declared" in lies(Squares(), 0)[0]
    assert lies(Squares(1.0), 0) == []
    domain = Domain({"a": Numeric(0, 1)}, target=Numeric(0, 1), n=N)
    learner = GradientDescent(Squares(), steps=1, weight_bound=20.0, clip_norm=1.0)
    plan = make_plan(domain, [], learner, epsilon=1.0, delta=1e-5)
    judged = replay_plan(plan, pairs=1).judgement()
    assert judged.word == "broken" and "of the loss Squares: input_lipschitz declared" in judged.why


def test_smoothness_is_attacked():
    """A pass in order takes a learning rate from it with which a step stretches distances."""
    assert "smoothness declared 0.5" in lies(Steep())[0]
    assert lies(Steep(1.0)) == []


@pytest.mark.parametrize(
    "loss",
    [Logistic(), Softmax(), SquaredHinge(2), HuberisedHinge(2), SquaredError(), Huber(), Quantile()],
    ids=lambda loss: loss.name,
)
def test_true_words_of_a_loss_hold(loss):
    assert lies(own(loss), 0 if isinstance(loss, TargetLoss) else 2) == []


@dataclass(frozen=True)
class Moved(ReleasedMap):
    by: float = 0.0

    def transform(self, x):
        return x

    def to_json(self):
        return {"by": self.by}


@dataclass(frozen=True)
class Sums(Step):
    """The sum of the rows as they reach it, and how far it says that it moves."""

    ways: ClassVar = ("budget",)
    said: float = 2.0
    radius: float = 1.0

    def output(self, space):
        return space

    def l2_sensitivity(self, space, adjacency, incoming):
        return self.said

    def fit_budget(self, rows, space, n, mechanisms):
        return Moved(float(mechanisms.sum(rows, dim=space.d, radius=self.radius)[0]) / n)


def test_of_the_rows_as_they_reach_it_no_step_says_that_their_sum_moves_less():
    """The radius, right where a record comes or goes, under replace-one: the sum moved twice as far as its noise was for."""
    with pytest.raises(ValueError, match=r"can move by 1 .*by 2"):
        planned(BALL, Sums(1.0, payment=Budget(0.2)))
    planned(BALL, Sums(2.0, payment=Budget(0.2)))
    planned(BALL, Sums(1.0, 0.5, payment=Budget(0.2)))  # rows pulled into half the ball
    gone = dataclasses.replace(BALL, adjacency="add-or-remove-one")
    cls = type("Anywhere", (Sums,), {"takes_any_order": True, "__module__": __name__})
    planned(gone, cls(1.0, payment=Budget(0.2)))


@dataclass(frozen=True)
class Counts(Sums):
    def fit_budget(self, rows, space, n, mechanisms):
        mechanisms.sum(rows, dim=space.d, radius=space.radius)
        return Moved(1.0 / mechanisms.records)

    l2_sensitivity = Sums.l2_sensitivity


def test_a_step_is_not_handed_the_number_of_records():
    with pytest.raises(ValueError, match="no attribute 'records'"):
        planned(BALL, Counts(payment=Budget(0.2)))


@dataclass(frozen=True)
class Powers(Step):
    power: ClassVar[int] = 1
    most: float = 1.0

    def output(self, space):
        return space

    def lipschitz(self, space):
        return float(self.power)

    def free(self, space):
        return Identity()


@dataclass(frozen=True)
class Cubes(Powers):
    power: ClassVar[int] = 3


@dataclass(frozen=True)
class Same(Powers):
    power: ClassVar[int] = 1
    most: float = 2.0
    at_prediction: ClassVar[bool] = False


def test_a_constant_of_a_parent_is_code():
    """A child gave another one, and the word of its parent stood: 4.5 times as far as declared."""
    gapped = Domain({"a": Numeric(0, 1, "impute")}, (0, 1), n=400)
    impute = MeanImputer(payment=Sensitivity({"missing": 0.1}))
    with pytest.raises(ValueError, match=r"takes lipschitz from Powers, .*Cubes"):
        planned(gapped, impute, Cubes())
    planned(gapped, impute, Same())


@dataclass(frozen=True)
class Differences(ReleasedMap):
    wide: bool = False

    def transform(self, x):
        low = 1.0 if self.wide else 0.0
        return np.stack([np.maximum(x[:, 0] - x[:, 1], -low), x[:, 1]], 1)

    def keep(self, x, start):
        return x[:, 0] >= 0.2

    def to_json(self):
        return {"wide": self.wide}


@dataclass(frozen=True)
class Apart(Step):
    drops: ClassVar[bool] = True
    wide: bool = False

    def output(self, space):
        return Space(np.zeros(2), np.ones(2), 1.0, np.zeros(2, bool))

    def free(self, space):
        return Differences(self.wide)


def test_a_transformer_gives_rows_of_the_space_of_its_plan(rng):
    """It was found at -0.42 where 0 to 1 is declared, and rows that the step drops were not rows of zeros."""
    x = rng.random((N, 2))
    private = PrivateTransformer(BOX, [Apart()], epsilon=1.0).fit(x)
    private.maps_ = (Differences(wide=True),)  # as of a step whose mistake no rehearsal met
    rows, space = private.transform(x), private.plan_.space
    assert (rows >= space.low).all() and (np.linalg.norm(rows, axis=1) <= space.radius * (1 + 1e-9)).all()
    assert (rows[x[:, 0] < 0.2] == 0).all() and (rows[x[:, 0] >= 0.2] != 0).any()


@dataclass(frozen=True, eq=False)
class Fill(ConfidentialMap):
    def transform(self, x):
        return np.where(np.isnan(x), 0.5, x)


@dataclass(frozen=True)
class Imputes(Step):
    """At most `MOST` of 40 cells may miss, and a distance to that."""

    ways: ClassVar = ("sensitivity",)
    at_prediction: ClassVar[bool] = False

    def output(self, space):
        return Space(space.low, space.high, space.radius, np.zeros(space.d, bool))

    def sensitivity(self, space, n, incoming=None):
        said = (FewMissing(0, "a", MOST, n, reading=as_space(space).reading),)
        return (incoming or UNTOUCHED).plus(RowShift(MOST, 0.1, MOST * 0.1, conditions=said), n=n)

    def prediction_map(self, space):
        return FillReleased(np.full(space.d, 0.5))

    def fit_confidential(self, rows, space, n):
        return Fill()

    def distance(self, rows, space, n, incoming=None):
        missing = sum(int(np.isnan(x[:, 0]).sum()) for x in rows)
        return float(DISTANCES[self.how](missing))

    how: str = "honest"


class Still(RowShift):
    """Says of itself that nothing moved."""

    is_zero = True


@dataclass(frozen=True)
class Stills(Imputes):
    def sensitivity(self, space, n, incoming=None):
        return Still(MOST, 0.1, MOST * 0.1)


def test_what_goes_out_is_a_row_shift_and_no_kind_of_it():
    domain = Domain({"a": Numeric(0, 1, "impute")}, (0, 1), n=N)
    with pytest.raises(ValueError, match=r"Stills .* RowShift .*got Still"):
        planned(domain, Stills(payment=Sensitivity()))


@dataclass(frozen=True)
class Notes(Step):
    """Hands back a map of the library, with the exact sum beside it."""

    ways: ClassVar = ("budget",)

    def output(self, space):
        return Space(space.low - 1, space.high + 1, 2 * space.radius, space.may_miss)

    def fit_budget(self, rows, space, n, mechanisms):
        made = Subtract(np.clip(mechanisms.sum(rows, dim=space.d, radius=space.radius) / n, -0.5, 0.5))
        object.__setattr__(made, "exact", sum(x.sum(axis=0) for x in rows))
        return made


def test_a_map_of_ours_that_a_third_party_step_made_leaves_as_it_is_written(rng):
    """Both audits compare what a map writes; the exact sum stood beside that, in the model and in a pickle of it."""
    step = Notes(payment=Budget(0.2))
    x = rng.uniform(-0.5, 0.5, (N, 2))
    fitted = PrivateClassifier(BALL, epsilon=1.0, steps=[step], learner=LEARNER).fit(x, np.arange(N) % 2)
    (left,) = fitted.model_.maps
    assert type(left) is Subtract and vars(left).keys() == {"offset"}


MOST = 12
DISTANCES = {
    "honest": lambda m: MOST + 1 - m,
    "upside down": lambda m: m,
    "beside": lambda m: 0 if m > MOST else 9,
    "steep": lambda m: 3 * (MOST + 1 - m),
}
LYING = {
    "upside down": "is above 0 where a condition fails",
    "beside": "is above 1 beside data on which a condition fails",
    "steep": "is above 1 beside data on which|changes by more than 1 between",
}


@pytest.mark.parametrize("how", DISTANCES)
def test_a_distance_is_rehearsed_where_its_caps_break(how):
    """With the wrong sign it was large on data that break the caps, and the test passed: 66 times as far as declared."""
    domain = Domain({"a": Numeric(0, 1, "impute")}, (0, 1), n=N)
    step = Imputes(payment=Sensitivity(test=0.2), how=how)
    if how == "honest":
        planned(domain, step)
        return
    with pytest.raises(ValueError, match=rf"distance of Imputes ({LYING[how]}).*, on made-up rows"):
        planned(domain, step)


def test_a_pass_in_order_takes_no_loss_that_is_steeper_than_it_says():
    """Its learning rate is from `smoothness`, which is a word: an audit says that it is wrong."""
    learner = OnePassSGD(Steep(), steps=N, batch_size=1, learning_rate=1.0, weight_bound=5.0, bias=0.0)
    assert list(loss_lies(learner, 1.0, 2, 0))
