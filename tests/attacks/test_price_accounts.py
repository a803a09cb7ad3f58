"""Prices and accounts attacked: what a step costs is an account of all that runs, and never below the exact one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prepriv import Budget, Domain, Sensitivity, account
from prepriv import preprocessing as pre
from prepriv.cli import run
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.pipeline.price import prices

# --------------------------------------------------------------------------------- PCA paid for by sensitivity


def first_direction(rows):
    """Leading eigenvector with the usual rule for its sign: the entry that is largest in modulus is positive."""
    values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
    leading = vectors[:, 1]
    return leading * np.sign(leading[np.argmax(np.abs(leading))]), values[1] - values[0]


def test_one_record_flips_the_coordinates_of_every_row_whatever_the_gap():
    """The sum of two thousand clipped gradients moves by almost 2000 where a price up to rotation allows about 4."""
    n = 2000
    side = np.where(np.arange(n) % 2, 1.0, -1.0)
    one = side[:, None] * np.array([1.0, -1.0]) / math.sqrt(2)
    other = one.copy()
    one[0], other[0] = (1.0, 0.0), (0.0, 1.0)

    def gradient_sum(rows):
        direction, gap = first_direction(rows)
        assert gap > 0.99  # more than any cap could ask for
        z = np.column_stack([rows @ direction, np.ones(n)])
        gradients = -side[:, None] / 2 * z
        return (gradients / np.maximum(1, np.linalg.norm(gradients, axis=1))[:, None]).sum(axis=0)

    assert np.linalg.norm(gradient_sum(one) - gradient_sum(other)) > 0.99 * n


def test_so_neither_account_nor_prices_nor_the_command_take_pca_by_sensitivity(tmp_path, capsys):
    for caps in ({}, {"gap": 0.5}, {"tail": 0.1}):
        with pytest.raises(ValueError, match="its only price is that of all rows; RankReduction"):
            pre.PCA(1, payment=Sensitivity(caps))
    learner = GradientDescent(Logistic(), steps=1, weight_bound=1.0)
    domain = Domain.ball(2, [0, 1], n=2000)
    paid = pre.PCA(1, payment=Budget(0.1))
    table = prices([paid], domain, learner, epsilon=1.0, delta=1e-5, n=2000, release=False)
    (closed,) = [p for p in table if p.way == "sensitivity"]
    assert not closed.open and closed.epsilon is None and "all rows" in closed.note
    (tmp_path / "p.yaml").write_text(
        "rows: 2000\ndomain: {features: 2, radius: 1.0}\n"
        "steps:\n  - {step: PCA, k: 1, pay: sensitivity, gap: 0.5}\n"
        "learner: {kind: dp-gd, noise_multiplier: 40, steps: 1, weight_bound: 1}\n"
    )
    assert run(["account", str(tmp_path / "p.yaml")]) == 2
    said = capsys.readouterr()
    assert "all rows" in said.err and len(said.err.splitlines()) == 1 and "ε" not in said.out


def test_projecting_back_into_the_space_has_a_price_that_no_turn_of_the_frame_changes():
    learner = GradientDescent(Logistic(), steps=1, weight_bound=1.0)
    step = pre.RankReduction(1, payment=Sensitivity({"gap": 0.5}))
    result = account([step], learner, domain=Domain.ball(2, [0, 1], n=2000), noise_multiplier=40.0)
    assert result.conditions and not any("rotation" in c for c in result.conditions)
