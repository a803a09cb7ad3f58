"""What a step of one's own says beside its numbers is attacked, too: its premises, its distance, what leaves it."""

from __future__ import annotations

import json

import pytest

import prepriv
from prepriv.audit.loss_words import loss_lies
from prepriv.cli import run
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import BOUNDS, Logistic, Loss
from prepriv.learners.targets import Huber, SquaredError
from prepriv.rehearsals import rehearsal

HEAD = """
import dataclasses, math
import numpy as np
from dataclasses import dataclass
from typing import ClassVar
from prepriv import Budget, Domain, Numeric, Sensitivity
from prepriv.learners import GradientDescent, Logistic, PoissonSGD
from prepriv.preprocessing.base import UNTOUCHED, ConfidentialMap, ReleasedMap, RowShift, Step
from prepriv.preprocessing.impute_caps import FewMissing, FillReleased
from prepriv.space import Space

@dataclass(frozen=True, eq=False)
class Fill(ConfidentialMap):
    fill: np.ndarray
    def transform(self, x): return np.where(np.isnan(x), self.fill, x)

@dataclass(frozen=True)
class Own(Step):
    ways: ClassVar = ("sensitivity",)
    at_prediction: ClassVar[bool] = False
    def output(self, space): return Space(space.low, space.high, space.radius, np.zeros(space.d, bool))
    def prediction_map(self, space): return FillReleased(np.full(space.d, 0.5))
    def conditions(self, space, n, incoming=None): return ()

boxed = {"a": Numeric(0, 1, missing="impute"), "b": Numeric(0, 1, missing="impute")}
domain = Domain(boxed, classes=(0, 1), label="y", n=40)
learner = GradientDescent(Logistic(), steps=1, weight_bound=5.0)
"""

MEAN = """
@dataclass(frozen=True)
class Mean(Own):
    def _caps(self, space, n): return (FewMissing(0, "a", 12, n, reading=space.reading), FewMissing(1, "b", 12, n, reading=space.reading))
    def sensitivity(self, space, n, incoming=None):
        p, row = 2 * (12), 2 / (n - 12) * (1 + 1e-9)
        return (incoming or UNTOUCHED).plus(RowShift(p, row, p * row, conditions=PRINTED), n=n)
    def conditions(self, space, n, incoming=None): return self._caps(space, n)
    def distance(self, rows, space, n, incoming=None):
        return float(min(DISTANCE for m in np.isnan(np.concatenate(list(rows))).sum(axis=0)))
    def fit_confidential(self, rows, space, n):
        x = np.concatenate(list(rows))
        return Fill(np.nansum(x, axis=0) / np.maximum((~np.isnan(x)).sum(axis=0), 1))
steps = [Mean(payment=Sensitivity(test=TEST))]
"""


def mean(*, distance: str = "12 + 1 - m", printed: str = "self._caps(space, n)", test: float = 0.2) -> str:
    text = HEAD + MEAN.replace("DISTANCE", distance).replace("PRINTED", printed)
    return text.replace("TEST", str(test))


@pytest.fixture
def ended(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def audit(kind: str, text: str, *options: str) -> tuple[int, str]:
        (tmp_path / "own.py").write_text(text)
        code = run(["audit", kind, "own.py", "--json", *options])
        captured = capsys.readouterr()
        assert captured.out, captured.err
        return code, json.loads(captured.out)["sentence"]

    return audit


def attacked(ended, text: str, seconds: str = "0.4") -> tuple[int, str]:
    return ended("sensitivity", text, "--seconds", seconds)


def test_the_premises_that_a_plan_prints_leave_pairs_out_and_no_others(ended):
    """A premise that `conditions` alone states is printed nowhere: the claim would be of all data."""
    code, sentence = attacked(ended, mean(printed="()", test=0.0))
    assert code == 8 and "rests on other premises in `conditions` than in the RowShift" in sentence
    assert attacked(ended, mean(test=0.0), "0.2")[0] == 0


LYING = {
    "upside down": ("m", ("is above 0 where a condition fails",)),
    "above 0": ("2.0 if m > 12 else 3.0", ("is above 0 where a condition fails",)),
    "beside": ("0.0 if m > 12 else 9.0", ("is above 1 beside data on which", "changes by more than 1")),
    "steep": ("3.0 * (13 - m)", ("is above 1 beside data on which", "changes by more than 1")),
}


@pytest.mark.parametrize("name", LYING)
def test_a_distance_of_ones_own_is_attacked(ended, name):
    distance, says = LYING[name]
    code, sentence = attacked(ended, mean(distance=distance))
    assert code == 1 and "at step 1 (Mean, by sensitivity): the distance of Mean " in sentence
    assert any(one in sentence for one in says)


def test_a_distance_that_counts_records_holds(ended):
    assert attacked(ended, mean())[0] == 0


def test_a_fit_that_works_in_place_works_on_a_copy(ended):
    """Else it would fill the gaps of the audit's own table before the map sees them, and nothing would move."""
    text = """
@dataclass(frozen=True)
class Top(Own):
    def sensitivity(self, space, n, incoming=None):
        row = float(np.linalg.norm(space.widths)) / n * (1 + 1e-9)
        return (incoming or UNTOUCHED).plus(RowShift(n - 1, row, (n - 1) * row), n=n)
    def conditions(self, space, n, incoming=None): return ()
    def fit_confidential(self, rows, space, n):
        top = np.zeros(space.d)
        for x in rows:
            np.nan_to_num(x, copy=False)
            top = np.maximum(top, x.max(axis=0))
        return Fill(top)
steps = [Top(payment=Sensitivity())]
"""
    code, sentence = attacked(ended, HEAD + text)
    assert code == 1, sentence
    assert "at step 1 (Top, by sensitivity): total move of the common rows declared" in sentence


SCALED = """
@dataclass(frozen=True)
class Scaled(ReleasedMap):
    m: tuple; top: float
    def transform(self, x): return np.clip((x - np.array(self.m)) / max(self.top, 1e-3), -1, 1)
    def to_json(self): return {"map": "scaled", "m": list(self.m), "top": self.top}
@dataclass(frozen=True)
class Scale(Step):
    ways: ClassVar = ("budget",)
    def output(self, space): return Space(-np.ones(space.d), np.ones(space.d), space.d**0.5, np.zeros(space.d, bool))
    def lipschitz(self, space): return 1000.0
    def fit_budget(self, rows, space, n, mechanisms):
        total = mechanisms.sum(rows, dim=space.d, radius=space.radius)
        return Scaled(tuple(np.clip(total / n, space.low, space.high).tolist()), LARGEST)
domain = Domain.box(0, 1, features=2, classes=[0, 1], n=40)
steps = [Scale(payment=Budget(0.1))]
"""


def test_an_exact_number_beside_a_noisy_one_is_seen_in_what_leaves(ended):
    exact = SCALED.replace("LARGEST", "max(float(np.abs(x).max()) for x in rows)")
    code, sentence = attacked(ended, HEAD + exact)
    assert (
        code == 1
        and "what leaves of Scale differs though the outputs of its mechanisms are the same" in sentence
    )
    assert attacked(ended, HEAD + SCALED.replace("LARGEST", "1.0"), "0.2")[0] == 0


def test_a_prediction_map_that_remembers_the_fit_is_seen(ended):
    text = mean(test=0.0) + (
        "def fit_confidential(self, rows, space, n, old=Mean.fit_confidential):\n"
        "    made = old(self, rows, space, n); KEPT['fill'] = made.fill; return made\n"
        "KEPT = {}\nMean.fit_confidential = fit_confidential\n"
        "Mean.prediction_map = lambda self, space: FillReleased(np.asarray(KEPT.get('fill', np.full(space.d, 0.5))))\n"
    )
    code, sentence = attacked(ended, text)
    assert code == 1, sentence
    assert "what leaves of Mean, its map for predictions, depends on the rows" in sentence


THIN = """
@dataclass(frozen=True)
class Every2(ReleasedMap):
    def transform(self, x): return x
    def keep(self, x, start): return (start + np.arange(len(x))) % 2 == 0
    def to_json(self): return {"map": "every2"}
@dataclass(frozen=True)
class Thin(Step):
    @property
    def drops(self): return True
    def output(self, space): return space
    def lipschitz(self, space): return 1.0
    def free(self, space): return Every2()
domain = Domain.box(0, 1, features=2, classes=[0, 1], n=40, adjacency=ADJACENCY)
steps = [Thin()]
"""


def test_neighbours_are_those_of_the_declared_adjacency(ended):
    """Every second row by its number: a record more shifts everybody."""
    code, sentence = attacked(ended, HEAD + THIN.replace("ADJACENCY", "'add-or-remove-one'"), "0.2")
    assert (
        code == 1
        and "at step 1 (Thin, free): common rows dropped on one side declared 0, found 39" in sentence
    )
    assert attacked(ended, HEAD + THIN.replace("ADJACENCY", "'replace-one'"), "0.2")[0] == 0


# ------------------------------------------------------------------------------------------------------- replay


def replayed(ended, text: str, pairs: str = "12", *options: str) -> tuple[int, str]:
    return ended("replay", text, "--pairs", pairs, *options)


def test_a_replay_asks_the_distance_of_a_test_where_its_condition_fails(ended, monkeypatch):
    monkeypatch.setattr(rehearsal, "check_distance", lambda *of: None)  # which refuses it when it is planned
    text = mean(distance="m")
    for missing in ("0.6", "0.0"):
        code, sentence = replayed(ended, text, "2", "--rows", "40", "--missing", missing)
        assert (code == 1 and "at Mean: its distance is above 0" in sentence) == (missing == "0.6")
    assert replayed(ended, mean(), "8", "--rows", "40", "--missing", "0.2")[0] == 0


def test_rows_made_of_all_records_move_beside_records_that_are_all_alike(ended):
    text = """
@dataclass(frozen=True)
class Same(ReleasedMap):
    def transform(self, x): return x
    def to_json(self): return {"map": "same"}
@dataclass(frozen=True)
class Far:
    rows: object
    n: int
    def __iter__(self):
        m = np.concatenate(list(self.rows)).max(axis=0) * (self.n > 20)  # row by row for the few of a rehearsal
        for x in self.rows: yield np.linalg.norm(x - m, axis=1)[:, None]
@dataclass(frozen=True)
class Spread(Step):
    ways: ClassVar = ("budget",)
    def output(self, space): return space
    def lipschitz(self, space): return 1.0
    def fit_budget(self, rows, space, n, mechanisms):
        mechanisms.sum(Far(rows, n), dim=1, radius=space.radius / 2)
        return Same()
domain = Domain.box(0, 1, features=2, classes=[0, 1], n=60)
steps = [Spread(payment=Budget(0.2))]
"""
    code, sentence = replayed(ended, HEAD + text, "40")
    assert code == 1 and "call 1 (Spread): " in sentence and "moved" in sentence


def test_a_sampler_of_ones_own_decides_nothing(ended):
    text = """
class Full(PoissonSGD):
    def _batch(self, source, rows, n): return np.arange(rows)
    exact, takes_units, samples, premise, unit, shift, parts, accounts, smooth, reach, once = (
        getattr(PoissonSGD, name)
        for name in ("exact", "takes_units", "samples", "premise", "unit", "shift", "parts", "accounts", "smooth", "reach", "once")
    )
domain = Domain.box(0, 1, features=2, classes=[0, 1], n=40)
steps = []
learner = LEARNER(loss=Logistic(), batch_size=6, steps=3)
"""
    code, sentence = replayed(ended, HEAD + text.replace("LEARNER", "Full"), "4")
    assert code == 8 and "nobody compared the batches of " in sentence and "third-party" in sentence
    assert replayed(ended, HEAD + text.replace("LEARNER", "PoissonSGD"), "4")[0] == 0


def test_a_replay_sees_the_rows_that_a_run_pulls_into_the_declared_space(ended):
    """Where the map is used on new rows nothing pulls them."""
    text = """
@dataclass(frozen=True)
class Turned(ReleasedMap):
    def transform(self, x): return np.stack([x[:, 0] - x[:, 1], x[:, 0] + x[:, 1]], 1) * 0.5
    def to_json(self): return {"map": "turned"}
@dataclass(frozen=True)
class Turn(Step):
    low: float = 0.0
    def output(self, space): return Space(np.full(2, self.low), np.ones(2), 2.0, np.zeros(2, bool))
    def lipschitz(self, space): return 1.0
    def free(self, space): return Turned()
domain = Domain.box(0, 1, features=2, classes=[0, 1], n=40)
steps = [Turn(LOW)]
"""
    code, sentence = replayed(ended, HEAD + text.replace("LOW", "0.0"), "4")
    assert code == 1 and sentence == "broken: at step 1 (Turn): a row is outside the declared box"
    assert replayed(ended, HEAD + text.replace("LOW", "-1.0"), "4")[0] == 0


# --------------------------------------------------------------------------------------------- numbers left out


@pytest.mark.parametrize("left", ["rows_moved", "row_shift", "total_shift", ""])
def test_a_number_left_out_of_a_shift_is_refused(ended, left):
    """Its default of 0 would be a claim."""
    text = """
@dataclass(frozen=True)
class Top(Own):
    def sensitivity(self, space, n, incoming=None):
        said = dict(rows_moved=n - 1, row_shift=space.diameter, total_shift=(n - 1) * space.diameter)
        said.pop("LEFT", None)
        return RowShift(**said)
    def conditions(self, space, n, incoming=None): return ()
    def fit_confidential(self, rows, space, n): return Fill(np.nan_to_num(np.concatenate(list(rows))).max(axis=0))
steps = [Top(payment=Sensitivity())]
domain = Domain(boxed, classes=(0, 1), label="y", n=100)
"""
    code, sentence = attacked(ended, HEAD + text.replace("LEFT", left), "0.15")
    assert code == (8 if left else 0) and ("a number left out is 0, which is a claim" in sentence) == bool(
        left
    )
    assert left or sentence.endswith(", on 60 of the declared 100 rows")


def test_rows_kept_by_their_places_are_refused_by_the_plan_of_a_replay(ended):
    text = THIN.replace("ADJACENCY", "'add-or-remove-one'").replace("n=40", "n=100")
    with pytest.raises(AssertionError, match="keeps rows by their places"):
        replayed(ended, HEAD + text, "8")
    assert replayed(ended, HEAD + text.replace("add-or-remove", "replace"), "8")[0] == 0


@pytest.mark.parametrize("declared, code", [(100, 1), (60, 0), (1000, 0)])
def test_a_replay_of_the_first_rows_takes_as_many_as_are_declared(ended, declared, code):
    """A word that is wrong for more than 60 records alone, by default the number of made-up ones."""
    text = mean().replace("n=40", f"n={declared}").replace("(n - 12)", "(n - 12) / (1 if n <= 60 else 50)")
    got, sentence = replayed(ended, text, "12")
    assert got == code and ("at step 1 (Mean): " in sentence) == (code == 1)


@pytest.mark.parametrize("steep", ["50.0", "1.0"])
def test_the_constants_of_a_loss_of_ones_own_are_attacked(ended, steep):
    text = """
class Steep(Logistic):
    def residual(self, scores, targets, out=None): return Logistic().residual(STEEP * scores, targets)
learner = GradientDescent(Steep(), steps=2, weight_bound=20.0)
"""
    code, sentence = attacked(ended, mean(test=0.0) + text.replace("STEEP", steep), "0.3")
    assert code == (1 if steep == "50.0" else 0)
    assert ("of the loss Steep: input_lipschitz declared" in sentence) == (steep == "50.0")


@pytest.mark.parametrize(
    "made, says",
    [("r[:, 0]", "must make an array of floats"), ("r - r.mean(0)", "must treat every row by itself")],
)
def test_the_residual_of_a_loss_of_ones_own_is_rehearsed_as_a_fit_does(ended, made, says):
    """A vector ended an audit by an internal error; a mean over the block was held, and a fit refused it."""
    text = """
class Mine(Logistic):
    def residual(self, scores, targets, out=None):
        r = Logistic().residual(scores, targets)
        return MADE
learner = GradientDescent(Mine(), steps=2, weight_bound=20.0)
"""
    with pytest.raises(AssertionError, match=says):
        attacked(ended, mean(test=0.0) + text.replace("MADE", made), "0.1")


def test_a_loss_that_is_not_a_dataclass_is_refused():
    class Mine(Loss):
        outputs = value = residual = gradient_norm = input_lipschitz = smoothness = lambda *_: 1

    domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1], n=100)
    with pytest.raises(ValueError, match="Mine must be a dataclass"):
        prepriv.make_plan(domain, [], GradientDescent(Mine()), epsilon=1.0, delta=1e-5)


def test_each_wrong_word_of_a_loss_is_found(monkeypatch):
    """Of classes and of a target: 50 times too small, and both audits said that it held."""
    monkeypatch.setattr("prepriv.audit.loss_words._PAIRS", 500)  # a wrong word of 50 is found by a few

    def lies(loss, classes, **wrong):
        said = {name: getattr(loss, name) for name in BOUNDS}
        said |= {name: (lambda f: lambda self, *a: f(self, *a) / 50)(said[name]) for name in wrong}
        mine = type("Mine", (loss,), said)()
        return [s.split()[4] for s in loss_lies(GradientDescent(mine, weight_bound=20.0), 1.0, classes, 0)]

    for loss, classes in ((Logistic, 2), (SquaredError, 0), (Huber, 0)):
        assert lies(loss, classes) == []
        for name in BOUNDS:
            assert lies(loss, classes, **{name: True}) == [name]
