"""What a claim says of an attacker, against tests that are carried out."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from prepriv import guarantees as g
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.in_words import attacker, right_guesses, short, true_alarms

normal = pytest.importorskip("scipy.stats").norm


def of(f):
    return Guarantee(f, "replace-one")


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 4.0])
def test_the_best_test_of_a_gaussian_reaches_them_and_no_more(mu):
    """Oracle: the likelihood-ratio test of N(0, 1) against N(µ, 1), in closed form."""
    guesses, alarms = normal.cdf(mu / 2), normal.sf(normal.isf(0.01) - mu)
    assert guesses <= right_guesses(of(g.gaussian(mu))) <= guesses + 1e-9
    assert alarms <= true_alarms(of(g.gaussian(mu))) <= alarms + 1e-9


def test_randomized_response_is_guessed_as_often_as_it_tells_the_truth():
    f = g.randomized_response(1.5)
    truth = math.exp(1.5) / (1 + math.exp(1.5))
    assert truth <= right_guesses(of(f)) <= truth + 1e-9
    assert true_alarms(of(f)) >= 0.01 * math.exp(1.5) * (1 - 1e-12)


@pytest.mark.parametrize("f", [g.laplace(1.0).compose(5), g.approximate_dp(0.5, 1e-3), g.gaussian(1.0)])
def test_no_threshold_on_the_curve_beats_the_guesses(f):
    alpha = np.linspace(0, 1, 2001)
    assert np.max(1 - (alpha + f(alpha)) / 2) <= right_guesses(of(f)) + 1e-12


def test_sentences_round_up_and_know_the_adjacency():
    claim = Guarantee(g.gaussian(1.0), "add-or-remove-one")
    first, second = attacker(claim)
    assert "whether one record was there" in first and "instead of 50%" in first
    assert float(re.search(r"at most ([\d.]+)% of the time", first)[1]) / 100 >= right_guesses(claim)
    assert float(re.search(r"at most ([\d.]+)%", second)[1]) / 100 >= true_alarms(claim)
    assert short(None, 1e-5) == "no privacy is claimed" and short(claim, 1e-5).startswith("ε = 4.378 at δ")
