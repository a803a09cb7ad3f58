"""An error of third-party code that has seen private rows: its type, message and traceback stay inside."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

import numpy as np
import pytest

from prepriv import Budget, Domain, PrivateClassifier, PrivateTransformer
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.ledger import Ledger
from prepriv.preprocessing import Center
from prepriv.preprocessing.base import ReleasedMap, Step
from prepriv.runs.failures import ThirdPartyError
from prepriv.tables.readers import BadData

N, SECRET = 300, 0.7312345
DOMAIN = Domain.box(0, 1, features=2, classes=[0, 1])
X, Y = np.full((N, 2), 0.5), np.arange(N) % 2
X[::3, 1] = SECRET  # in either part of a holdout


class Other(Exception):
    pass


KINDS = {k.__name__: k for k in (ValueError, Other, SystemExit, MemoryError, ThirdPartyError, BadData)}


def look(kind, rows):
    """What a careless check does: it shows the row that it does not like."""
    odd = rows[np.abs(rows[:, 1] - SECRET) < 1e-6]  # no made-up row is among them
    if len(odd):
        raise KINDS[kind](f"row {odd[0].tolist()}")


@dataclass(frozen=True)
class InItsFit(Center):
    kind: str = "ValueError"

    def fit_budget(self, rows, space, n, mechanisms):
        for block in rows:
            look(self.kind, block)
        return super().fit_budget(rows, space, n, mechanisms)


@dataclass(frozen=True)
class Looks(ReleasedMap):
    kind: str

    def transform(self, x):
        look(self.kind, x)
        return x

    def to_json(self):
        return {"kind": self.kind}


@dataclass(frozen=True)
class InItsMap(Step):
    kind: str = "ValueError"

    def output(self, space):
        return space

    def lipschitz(self, space):
        return 1.0

    def free(self, space):
        return Looks(self.kind)


def words(error):
    """All that an error, and what it holds, says."""
    return "".join(traceback.format_exception(error)) + repr(vars(error))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("own", [InItsFit, InItsMap])
@pytest.mark.parametrize("way", ["fit", "transform", "holdout"])
def test_an_error_of_a_third_party_step_says_nothing_of_a_row(kind, own, way, tmp_path):
    ledger = tmp_path / "L.db"
    Ledger.create(ledger, "people", epsilon=9, delta=1e-3)
    if own is InItsFit:
        steps = [own(kind=kind, payment=Budget())]
    else:  # the first to read rows is another step, or the learner, or the evaluation
        steps = [own(kind=kind), *[Center(payment=Budget())] * (way == "transform")]
    learner = GradientDescent(Logistic(), steps=2, learning_rate=0.5, clip_norm=1.0)
    more = {"epsilon": 1.0, "delta": 1e-5, "ledger": ledger}
    if way == "transform":
        call = PrivateTransformer(DOMAIN, steps, **more).fit
    else:
        more |= {"holdout": 0.2} if way == "holdout" else {}
        call = PrivateClassifier(DOMAIN, steps=steps, learner=learner, **more).fit
    with pytest.raises(
        ThirdPartyError, match=rf"^third-party code \(({own.__name__}|Looks)\) failed on .*private"
    ) as raised:
        call(X, Y)
    assert raised.value.__context__ is None and raised.value.__cause__ is None
    assert not any(said in words(raised.value) for said in ("0.73", "row ["))
    assert len(Ledger.open(ledger).entries()) == 1  # a spent event is spent


def test_an_error_over_test_rows_says_nothing_of_one():
    learner = GradientDescent(Logistic(), steps=2, learning_rate=0.5, clip_norm=1.0)
    fitted = PrivateClassifier(DOMAIN, steps=[InItsMap()], learner=learner, epsilon=1.0, delta=1e-5)
    fitted.fit(np.full((N, 2), 0.5), Y)
    with pytest.raises(ThirdPartyError) as raised:
        fitted.evaluate(X, Y)
    assert "row [" not in words(raised.value)
