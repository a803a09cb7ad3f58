"""`prepriv account` with every loss: each has a price, and least squares needs a bound of its targets."""

from __future__ import annotations

import re

import pytest

from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv.accounts.account import account
from prepriv.cli import run
from prepriv.domain import Domain
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import LeastSquares, Loss
from prepriv.learners.names import OLD_NAMES
from prepriv.schemas.declared_learner import kinds

TEXT = """
rows: 1000
domain: {{features: 5, radius: 1.0}}
steps:
  - {{step: SoftPCA, strength: 0.05, pay: sensitivity}}
learner: {{kind: GradientDescent, noise_multiplier: 20, steps: 10, weight_bound: 2.0, {more}}}
"""


def told(tmp_path, capsys, more):
    (tmp_path / "p.yaml").write_text(TEXT.format(more=more))
    code = run(["account", str(tmp_path / "p.yaml")])
    return code, *capsys.readouterr()


@pytest.mark.parametrize(
    "loss", [*kinds(Loss), *(old for old, new in OLD_NAMES.items() if new in kinds(Loss))]
)
def test_every_loss_has_a_price_or_a_sentence(tmp_path, capsys, loss):
    more = f"loss: {loss}" + (", target_bound: 1.5" if loss in ("LeastSquares", "least-squares") else "")
    code, out, err = told(tmp_path, capsys, more)
    if loss in ("Huber", "Quantile", "SquaredError"):  # no classes to account for
        assert code == 2 and "is for a declared target" in err
    elif loss.lower() == "hinge":  # no smoothness: rows must not move
        assert code in (0, 2)
    else:
        assert code == 0 and "really has" in out, err
    assert code == 0 or (len(err.splitlines()) == 1 and "internal" not in err)


def test_the_declared_bound_is_the_one_that_counts(tmp_path, capsys):
    found = []
    for bound in (0.5, 5.0):
        code, out, _ = told(tmp_path, capsys, f"loss: LeastSquares, target_bound: {bound}")
        assert code == 0
        found.append(float(re.search(r"really has ε = (\S+)", out)[1]))
        learner = GradientDescent(LeastSquares(bound), steps=10, weight_bound=2.0)
        true = account(
            [pre.SoftPCA(0.05, payment=pay.Sensitivity())],
            learner,
            domain=Domain.ball(5, [0, 1]),
            n=1000,
            noise_multiplier=20,
            delta=1e-5,
        ).epsilon(1e-5)
        assert true <= found[-1] <= 1.01 * true
    assert found[1] > found[0]


@pytest.mark.parametrize(
    "more, says",
    [
        ("loss: LeastSquares", "LeastSquares needs target_bound"),
        ("loss: LeastSquares, target_bound: -1", "target_bound"),
        ("loss: LeastSquares, target_bound: .inf", "target_bound"),
        ("loss: LeastSquares, target_bound: .nan", "target_bound"),
        ("loss: Logistic, target_bound: 1", "Logistic has no option 'target_bound'"),
        ("loss: squares", "SquaredHinge; got 'squares'"),
    ],
)
def test_a_bound_that_is_missing_or_wrong_is_one_sentence(tmp_path, capsys, more, says):
    code, _, err = told(tmp_path, capsys, more)
    assert code == 2 and says in err and len(err.splitlines()) == 1 and "internal" not in err
