"""Choosing among trained candidates: one claim for winner and choice, by enumeration; the losers never leave."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import prepriv
from evaluation.test_holdout import X, Y, appended, hockey_stick, neighbouring, parts_of, random_mechanism
from prepriv.audit.replay import Neighbour, replay
from prepriv.audit.replay_neighbours import neighbours, synthetic
from prepriv.audit.sensitivity_draws import Draws
from prepriv.cli import run as command
from prepriv.domain import ADJACENCIES
from prepriv.evaluation import choose as of_choose
from prepriv.evaluation.candidates import Candidate, candidates_of
from prepriv.evaluation.choose import choose, plan_choice
from prepriv.guarantees import gdp_mu
from prepriv.guarantees.printed import up
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic, SquaredHinge
from prepriv.ledger import BudgetExceeded, Ledger
from prepriv.mechanisms.exponential import ExponentialMechanism
from prepriv.mechanisms.session import NoisySession
from prepriv.preprocessing import PCA, Rescale
from prepriv.release.model import Model
from prepriv.runs.chosen import METHODS, TRIALS
from prepriv.tables.stream import Stream

DOMAIN = prepriv.Domain.box(0, 1, 3, [0, 1])
CHEAP = [GradientDescent(Logistic(), steps=s) for s in (2, 3)]


@pytest.mark.parametrize(
    "given, count",
    [
        (["auto", "linear"], 2),
        ([Logistic(), SquaredHinge()], 2),
        ([*CHEAP, [Rescale(1.0)], []], 4),
        ({"steps": ["auto", "linear"], "loss": [Logistic(), SquaredHinge()]}, 4),
        ([{"steps": [Rescale(1.0)], "learner": CHEAP}, "linear"], 3),
        ({"steps": [[Rescale(1.0)], [Rescale(2.0)], "linear"]}, 3),
    ],
)
def test_what_can_be_chosen_among(given, count):
    found = candidates_of(given)
    assert len(found) == count == len({str(c) for c in found}) and all(
        isinstance(c, Candidate) for c in found
    )


@pytest.mark.parametrize(
    "given", ["auto", 3, None, [], ["auto"], [1, 2], [{"depth": 3}, "auto"], [{}, "auto"], {"steps": "auto"}]
)
def test_what_cannot(given):
    with pytest.raises(ValueError, match="candidate") as caught:
        candidates_of(given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("method", [m for m in METHODS if m != TRIALS])
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_the_claim_is_an_account_of_its_own(adjacency, method, epsilon):
    domain = prepriv.Domain.box(0, 1, 3, [0, 1], adjacency=adjacency)
    plan, _ = plan_choice(
        candidates_of([{"steps": [Rescale(1.0)], "learner": [*CHEAP, GradientDescent(Logistic(), steps=9)]}]),
        domain,
        900,
        (epsilon, 1e-5),
        holdout=0.3,
        method=method,
        session=NoisySession(),
    )
    each = [math.sqrt(p.learner.steps) / p.learner_noise_multiplier for p in plan.chosen.plans]
    training = math.sqrt(sum(m * m for m in each)) if method == "same rows" else max(each)
    mechanism = ExponentialMechanism(plan.chosen.epsilon, 2 if adjacency == "replace-one" else 1)
    assert plan.chosen.mechanism == mechanism
    assert plan.guarantee.mu == pytest.approx(max(training, mechanism.mu), rel=1e-6)
    hardly = replace(plan.chosen, epsilon=0.001).guarantee  # a choice that costs next to nothing
    assert hardly.mu == pytest.approx(training, rel=1e-6)
    assert 0.98 * gdp_mu(epsilon, 1e-5) <= training <= gdp_mu(epsilon, 1e-5)
    assert plan.guarantee.epsilon(1e-5) <= epsilon


def test_the_method_with_more_signal_is_taken():
    plan, _ = plan_choice(
        candidates_of(CHEAP), DOMAIN, 900, (1.0, 1e-5), holdout=0.3, method=None, session=NoisySession()
    )
    assert plan.chosen.method == "same rows" and plan.signals["same rows"] > 1.3 * plan.signals["own rows"]


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("seed", range(3))
def test_every_choice_among_two_by_enumeration(adjacency, seed):
    """Random mechanisms as trainers, random tables of who labels which record right; everything that leaves, exactly."""
    rng = np.random.default_rng(seed)
    trainers = [random_mechanism(rng, 2), random_mechanism(rng, 2)]
    right = rng.integers(0, 2, (2, 2, 2))  # candidate, its output, kind of record
    epsilon, span, size = 1.0, 2 if adjacency == "replace-one" else 1, 3

    def law(records, share):
        out = {}
        for coins in itertools.product((0, 1), repeat=len(records)):
            chance = math.prod(share if c else 1 - share for c in coins)
            train, test = (tuple(sorted(r for r, c in zip(records, coins) if c == j)) for j in (0, 1))
            for outputs in itertools.product((0, 1), repeat=2):
                trained = chance * math.prod(t(train)[o] for t, o in zip(trainers, outputs))
                score = [sum(right[j, outputs[j], r] for r in test) for j in (0, 1)]
                weights = np.exp(epsilon * np.array(score) / span)
                for j, p in enumerate(weights / weights.sum()):
                    key = (coins if adjacency == "replace-one" else None, j, outputs[j])
                    out[key] = out.get(key, 0.0) + trained * p
        return out

    pairs = [(a, b) for a in parts_of(size) for b in parts_of(size) if neighbouring(a, b, adjacency)]
    for order in (1.0, 1.3, 2.0):
        joint = [
            sum(
                max(
                    0.0,
                    math.prod(t(b)[o] for t, o in zip(trainers, k))
                    - order * math.prod(t(a)[o] for t, o in zip(trainers, k)),
                )
                for k in itertools.product((0, 1), repeat=2)
            )
            for a, b in pairs
        ]
        choice = ExponentialMechanism(epsilon, span).tradeoff.delta(math.log(order))
        for share in (0.05, 0.5, 0.95):
            for a, b in pairs:
                assert hockey_stick(law(a, share), law(b, share), order) <= max(*joint, choice) + 1e-9


def test_one_charge_one_fit_and_the_winner_carries_the_whole_claim(tmp_path, capsys):
    path = tmp_path / "L.db"
    Ledger.create(path, "people", epsilon=2.5, delta=1e-4)
    bad = [PCA(1, payment=prepriv.Public(np.outer([0, 1, 0, 1], [0, 0, 1])))]  # the column that says nothing
    best = choose([bad, "linear"], X, Y, DOMAIN, epsilon=2.0, ledger=path)
    assert best.number == 1 and best.candidate == Candidate("linear")
    made_of = [*(p.step.name for p in best.model_.declared.steps), best.model_.declared.learner.name]
    assert "Homogenize" in made_of and all(name in str(best) for name in made_of)
    assert Ledger.open(path).remaining().epsilon == pytest.approx(0.5, abs=1e-3)
    assert len(prepriv.spent().fits) == 1
    assert Ledger.open(path).entries()[0].note.startswith("choose 1 of 2, same rows, hold out 0.2")
    best.model_.save(tmp_path / "run")
    again = Model.load(tmp_path / "run")
    assert again.guarantee.mu == pytest.approx(best.guarantee_.mu) and again.receipt == best.model_.receipt
    assert again.guarantee.epsilon(1e-5) > again.declared.guarantee.epsilon(1e-5)
    assert command(["report", str(tmp_path / "run")]) == 0
    assert f"ε = {up(best.guarantee_.epsilon(1e-5))} at" in capsys.readouterr().out
    with pytest.raises(BudgetExceeded):
        choose([bad, "linear"], X, Y, DOMAIN, epsilon=2.0, ledger=path)
    forged = json.loads((tmp_path / "run" / "model.json").read_text())
    forged["choice"]["plans"].pop(1)
    (tmp_path / "run" / "model.json").write_text(json.dumps(forged))
    with pytest.raises(ValueError, match="not a model"):
        Model.load(tmp_path / "run")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_no_record_is_in_two_parts(adjacency, method, monkeypatch):
    seen = []

    def watched(name, at):
        inner = getattr(of_choose, name)
        monkeypatch.setattr(
            of_choose, name, lambda *a, **k: (seen.append((name, a[at].matrix[:, 0])), inner(*a, **k))[1]
        )

    watched("execute", 1)
    watched("predicted", 1)
    domain = prepriv.Domain.box(0, 1, 3, [0, 1], adjacency=adjacency, n=600)
    choose(CHEAP, X, Y, domain, epsilon=2.0, method=method)
    training = [set(rows.tolist()) for name, rows in seen if name == "execute"]
    (test,) = {frozenset(rows.tolist()) for name, rows in seen if name == "predicted"}
    assert not set.union(*training) & test and set.union(*training) | test == set(X[:, 0].tolist())
    if method == "own rows":
        assert not training[0] & training[1]
    else:
        assert all(rows == training[0] for rows in training)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_nothing_but_mechanism_outputs_leaves(adjacency, method, monkeypatch):
    monkeypatch.setattr(of_choose, "trial_numbers", lambda *_: [1, 0])  # their number depends on no record
    near = prepriv.Domain.box(0, 1, 3, [0, 1], n=30)
    domain = prepriv.Domain.box(0, 1, 3, [0, 1], adjacency=adjacency, n=30)

    def run(table, session):
        options = {"epsilon": 2.0, "delta": 1e-3, "holdout": 0.4, "method": method, "session": session}
        best = choose(CHEAP, table.rows, list(table.labels), domain, **options)
        return {"choice": str(best), "model": best.model_.text()}

    draws = Draws(9)
    base = synthetic(near, 30, draws)
    pairs = list(itertools.islice(neighbours(base, near, draws, 25), 25))
    if adjacency != "replace-one":
        pairs = [Neighbour(p.kind, appended(base, p.data)) for p in pairs]
    result = replay(run, base, pairs)
    noted = "score" if method == TRIALS else "choice"
    assert result.pairs == 25 and not result.findings and noted in result.reach


class Unread(Stream):
    """A stream that nobody may read: nothing is charged yet."""

    names = ("x0", "x1", "x2")

    def parts(self, columns):
        raise AssertionError("read before the charge")


@pytest.mark.parametrize(
    "options, says",
    [
        ({"candidates": ["auto"]}, "candidates"),
        ({"holdout": 0}, "holdout must lie in"),
        ({"method": "best"}, "method must be"),
        ({"epsilon": math.inf}, "epsilon must be finite"),
        ({"delta": 0}, "delta must be"),
        ({"domain": DOMAIN.with_n(7)}, "declares n=7"),
        ({"domain": None}, "domain must be a prepriv.Domain"),
        ({"domain": prepriv.Domain.box(0, 1, 3, [0, 1], adjacency="add-or-remove-one")}, "must be declared"),
        ({"X": X[:1], "y": Y[:1]}, "too few"),
        ({"X": X[:, :2]}, "features"),
        ({"ledger": 1}, "ledger must be"),
        ({"X": Unread()}, "a stream cannot be used here"),
    ],
)
def test_bad_input_is_one_sentence_and_costs_nothing(options, says, tmp_path):
    path = tmp_path / "L.db"
    Ledger.create(path, "people", epsilon=100, delta=1e-4)
    given = {"candidates": CHEAP, "X": X, "y": Y, "domain": DOMAIN, "ledger": path} | options
    with pytest.raises(ValueError, match=says) as caught:
        choose(**given)
    assert "\n" not in str(caught.value) and not Ledger.open(path).entries() and not prepriv.spent().fits


def test_candidates_that_differ_in_weights_are_warned_of_before_the_charge(tmp_path):
    Ledger.create(tmp_path / "L.db", "people", epsilon=100, delta=1e-4)
    options = {"domain": DOMAIN, "ledger": tmp_path / "L.db"}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="candidates differ in class_weight or threshold")
        for grid in ({"threshold": [None, 0.3]}, {"class_weight": [None, {1: 2.0}]}):
            with pytest.raises(UserWarning, match="accuracy decides"):
                choose({"learner": CHEAP[0], **grid}, X, Y, **options)
        assert not Ledger.open(tmp_path / "L.db").entries()
        choose({"learner": CHEAP, "threshold": 0.3}, X, Y, **options)


def test_candidates_that_keep_gaps_apart_are_named_and_the_advice_works():
    """A finding: "with an imputer in both or in neither" stood where neither had one."""
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    for missing in ({}, {"missing": "impute"}):
        domain = prepriv.Domain({"a": prepriv.Numeric(0, 1, **missing)}, target=prepriv.Numeric(0, 1), n=400)
        table = pd.DataFrame({"a": np.linspace(0, 1, 400)})
        filled = prepriv.private(make_pipeline(SimpleImputer(), StandardScaler(), LinearRegression()), domain)
        both = [filled, prepriv.PrivateRegressor(domain, steps="additive")]
        if missing:
            assert prepriv.choose(both, table, table.a, domain, epsilon=4.0) is not None
        else:
            with pytest.raises(ValueError, match=r"candidate 1 takes gaps .* SimpleImputer"):
                prepriv.choose(both, table, table.a, domain, epsilon=4.0)
