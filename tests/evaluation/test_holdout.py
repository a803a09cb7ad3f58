"""Training and measuring on disjoint records: what is claimed holds by enumeration, one charge, nothing else leaves."""

from __future__ import annotations

import itertools
import json
import math
import re

import numpy as np
import pytest

import prepriv
from prepriv.audit.replay import Neighbour, replay
from prepriv.audit.replay_neighbours import RawTable, neighbours, synthetic
from prepriv.audit.sensitivity_draws import Draws
from prepriv.cli import run
from prepriv.domain import ADJACENCIES
from prepriv.evaluation import holdout as of_holdout
from prepriv.evaluation.holdout import Holdout, plan_holdout, train_and_evaluate
from prepriv.guarantees import approximate_dp, gaussian, piecewise_linear
from prepriv.guarantees.algebra import Largest, beside
from prepriv.guarantees.guarantee import Guarantee
from prepriv.ledger import BudgetExceeded, Ledger
from prepriv.mechanisms.coins import record_coins
from prepriv.mechanisms.session import NoisySession
from prepriv.release.model import Model


def made_up(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    return X, (X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=n) > 1).astype(int)


X, Y = made_up()
DOMAIN = prepriv.Domain.box(0, 1, 3, [0, 1])


# ------------------------------------------------------------------------------------------ the claim itself


def hockey_stick(p, q, order):
    keys = p.keys() | q.keys()
    return sum(max(0.0, q.get(k, 0.0) - order * p.get(k, 0.0)) for k in keys)


def outcomes(records, first, second, share, shown, coins_of=None):
    """The exact law of all that leaves: (coins if shown, output of the first, output of the second)."""
    law = {}
    for coins in itertools.product((0, 1), repeat=len(records)):
        chance = math.prod(share if c else 1 - share for c in coins)
        parts = [tuple(sorted(r for r, c in zip(records, coins) if c == j)) for j in (0, 1)]
        for a, pa in enumerate(first(parts[0])):
            for b, pb in enumerate(second(parts[1], a)):
                key = (coins if shown else None, a, b)
                law[key] = law.get(key, 0.0) + chance * pa * pb
    return law


def random_mechanism(rng, outputs=3):
    """A mechanism with a random law for every multiset, and its exact curves under each adjacency (by enumeration)."""
    laws = {}

    def mechanism(part, seen=0):
        key = (part, seen)
        if key not in laws:
            laws[key] = rng.dirichlet(np.full(outputs, 1.0))
        return laws[key]

    return mechanism


def parts_of(size):
    return [p for k in range(size + 1) for p in itertools.combinations_with_replacement((0, 1), k)]


def worst(mechanism, adjacency, order, size, seen):
    """Its largest H over neighbouring parts of at most so many records of two kinds."""
    parts = parts_of(size)
    pairs = [(a, b) for a in parts for b in parts if a != b and neighbouring(a, b, adjacency)]
    return max(
        float(np.maximum(0.0, mechanism(b, s) - order * mechanism(a, s)).sum())
        for a, b in pairs
        for s in seen
    )


def neighbouring(a, b, adjacency):
    if adjacency == "replace-one":
        return len(a) == len(b) and sum(abs(a.count(v) - b.count(v)) for v in (0, 1)) == 2
    return abs(len(a) - len(b)) == 1 and sum(abs(a.count(v) - b.count(v)) for v in (0, 1)) == 1


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("seed", range(6))
def test_every_mechanism_of_few_records_by_enumeration(adjacency, seed):
    rng = np.random.default_rng(seed)
    first, second = random_mechanism(rng), random_mechanism(rng)
    size, nearest = 3, 0.0
    for order in (1.0, 1.5, 3.0):
        each = [worst(first, adjacency, order, size, [0]), worst(second, adjacency, order, size, range(3))]
        for share in (0.01, 0.3, 0.99):
            for a, b in itertools.product(parts_of(size), repeat=2):
                if not neighbouring(a, b, adjacency):
                    continue
                p, q = (outcomes(s, first, second, share, shown=adjacency == "replace-one") for s in (a, b))
                exact = hockey_stick(p, q, order)
                assert exact <= (1 - share) * each[0] + share * each[1] + 1e-12
                assert exact <= max(each) + 1e-12  # what is claimed
                nearest = max(nearest, exact / max(each))
    assert nearest > 0.5


def test_every_fifth_record_is_no_split_under_add_or_remove_one():
    """The counter-example of the proof: one record more moves the others' places, and the largest µ is no bound."""
    records = list(range(10))
    without = records[1:]
    test, other = set(records[::5]), set(without[::5])
    assert len(test ^ other) > 1
    coins = dict(zip(records, record_coins(10, 0.5, NoisySession())))
    assert {r for r in records if coins[r]} ^ {r for r in without if coins[r]} <= {0}


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 4.0])
def test_the_largest_curve(epsilon):
    parts = [gaussian(0.5), approximate_dp(0.2, 1e-3), piecewise_linear([0, 0.5, 1], [1, 0.3, 0])]
    curve = Largest(tuple(parts))
    assert curve.delta(epsilon) == pytest.approx(
        max(p.symmetrized().delta(epsilon) for p in parts), rel=1e-12
    )
    alpha = np.linspace(0, 1, 101)
    assert all((np.asarray(curve(alpha)) <= np.asarray(p.symmetrized()(alpha)) + 1e-12).all() for p in parts)
    for delta in (1e-4, 1e-2):
        assert curve.epsilon(delta) == max(p.symmetrized().epsilon(delta) for p in parts)


def test_one_adjacency_and_all_conditions():
    one = Guarantee(gaussian(1.0), "replace-one", ("a",), mu=1.0)
    two = Guarantee(approximate_dp(0.1, 1e-5), "replace-one", ("b",), notes=("n",))
    both = beside([one, two])
    assert both.conditions == ("a", "b") and both.notes == ("n",) and both.mu is None
    with pytest.raises(ValueError, match="does not add"):
        beside([one, Guarantee(gaussian(1.0), "add-or-remove-one", mu=1.0)])
    with pytest.raises(ValueError, match="got none"):
        beside([])


# ------------------------------------------------------------------------------------------------- the estimator


def test_a_fit_with_a_holdout_pays_the_larger_price_once(tmp_path):
    path = tmp_path / "L.db"
    Ledger.create(path, "people", epsilon=2.5, delta=1e-4)
    clf = prepriv.PrivateClassifier(DOMAIN, epsilon=2.0, holdout=0.3, evaluate_epsilon=1.0, ledger=path).fit(
        X, Y
    )
    made = clf.evaluation_
    assert clf.plan_.n + made.plan.n == 600 and 120 < made.plan.n < 240
    assert clf.guarantee_.mu == clf.plan_.guarantee.mu > made.guarantee_.mu and made.whole is clf.guarantee_
    assert Ledger.open(path).remaining().epsilon == pytest.approx(0.5, abs=1e-6)
    assert len(prepriv.spent().fits) == 1 and prepriv.spent().epsilon["replace-one"] <= 2.0
    assert made["accuracy"].low < 0.9 < made["accuracy"].high
    page, data = clf.report_.to_html(), clf.report_.to_json()
    assert "How good it is" in page and "coin set each row aside" in page
    assert f"number of records, 600 (coins chose {clf.plan_.n} of them to train on)" in page
    assert data["measured_in_private"]["with_training"]["epsilon"] <= 2.0
    with pytest.raises(BudgetExceeded):
        clf.fit(X, Y)
    assert not hasattr(
        clf.set_params(holdout=None, evaluate_epsilon=None, ledger=None).fit(X, Y), "evaluation_"
    )


def test_the_dearer_part_decides(tmp_path):
    path = tmp_path / "L.db"
    Ledger.create(path, "people", epsilon=4, delta=1e-4)
    clf = prepriv.PrivateClassifier(DOMAIN, epsilon=0.5, holdout=0.5, evaluate_epsilon=3.0, ledger=path).fit(
        X, Y
    )
    assert Ledger.open(path).remaining().epsilon == pytest.approx(1.0, abs=1e-6)
    assert clf.guarantee_.mu == clf.evaluation_.guarantee_.mu
    assert 0.5 < clf.guarantee_.epsilon(1e-5) <= 3.0


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_no_record_is_in_both_parts(adjacency, monkeypatch):
    seen = []

    def watched(name, at):
        inner = getattr(of_holdout, name)
        monkeypatch.setattr(
            of_holdout, name, lambda *a, **k: (seen.append(a[at].matrix[:, 0]), inner(*a, **k))[1]
        )

    watched("execute", 1)
    watched("row_entries", 2)
    domain = prepriv.Domain.box(0, 1, 3, [0, 1], adjacency=adjacency, n=600)
    prepriv.PrivateClassifier(domain, epsilon=2.0, holdout=0.3).fit(X, Y)
    training, test = (set(rows.tolist()) for rows in seen)
    assert not training & test and training | test == set(X[:, 0].tolist())


@pytest.mark.parametrize(
    "options, says",
    [
        ({"holdout": 0}, "holdout must lie in"),
        ({"holdout": 1.0}, "holdout must lie in"),
        ({"holdout": "a fifth"}, "holdout must lie in"),
        ({"holdout": 1e-9}, "leaves a part without any"),
        ({"holdout": 0.2, "evaluate_epsilon": math.inf}, "epsilon must be finite"),
        ({"holdout": 0.2, "epsilon": math.inf}, "without privacy"),
        ({"holdout": 0.2, "domain": DOMAIN.with_n(599)}, "declares n=599"),
        (
            {"holdout": 0.2, "domain": prepriv.Domain.box(0, 1, 3, [0, 1], adjacency="add-or-remove-one")},
            "must be declared",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_costs_nothing(options, says, tmp_path):
    path = tmp_path / "L.db"
    Ledger.create(path, "people", epsilon=1e7, delta=1e-4)
    clf = prepriv.PrivateClassifier(**{"domain": DOMAIN, "ledger": path} | options)
    with pytest.raises(ValueError, match=says) as caught:
        clf.fit(X, Y)
    assert "\n" not in str(caught.value) and not Ledger.open(path).entries() and not prepriv.spent().fits


def test_under_add_or_remove_one_no_size_leaves():
    domain = prepriv.Domain.box(0, 1, 3, [0, 1], adjacency="add-or-remove-one", n=600)
    clf = prepriv.PrivateClassifier(domain, epsilon=2.0, holdout=0.3, evaluate_epsilon=1.0).fit(
        X[:590], Y[:590]
    )
    assert clf.plan_.n == 420 and clf.evaluation_.plan.n == 180
    page = clf.report_.to_html()
    assert not re.search(r"\b590\b", page) and "600 (coins chose about 420 of them to train on)" in page


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_nothing_but_mechanism_outputs_leaves(adjacency):
    """Replay: coins belong to records, so a neighbour's other records keep theirs."""
    domain = prepriv.Domain.box(0, 1, 3, [0, 1], adjacency=adjacency)
    clf = prepriv.PrivateClassifier(domain, epsilon=2.0, delta=1e-3, steps="linear")

    def run(table, session):
        # the declared number under add-or-remove-one, which the two tables share
        plan = plan_holdout(Holdout(0.4, 1.0), lambda n: clf._plan(domain, n), 24, domain, session)
        trained, made = train_and_evaluate(plan, table.rows, list(table.labels), session=session)
        return {"model": Model.of(trained).text(), "evaluation": json.dumps(made.to_json())}

    draws, near = Draws(4), prepriv.Domain.box(0, 1, 3, [0, 1], n=24)
    base = synthetic(near, 24, draws)
    pairs = list(itertools.islice(neighbours(base, near, draws, 40), 40))
    if adjacency != "replace-one":
        pairs = [Neighbour(p.kind, appended(base, p.data)) for p in pairs]
    result = replay(run, base, pairs)
    assert result.pairs == 40 and not result.findings
    assert max(result.reach.values()) > 0.5


def appended(base, other):
    """The table with the record that another one has in place of its own: at its end, where it moves no coin."""
    at = next((k for k in range(base.n) if any(a is not b for a, b in zip(base.rows[k], other.rows[k]))), 0)
    rows = [list(row) for row in base.rows]
    return RawTable.of([*rows, list(other.rows[at])], [*base.labels, other.labels[at]], 3)


def test_the_command(tmp_path, capsys):
    lines = [f"{a:.3f},{b:.3f},{'yes' if y else 'no'}" for (a, b, _), y in zip(X, Y)]
    (tmp_path / "d.csv").write_text("\n".join(["a,b,ill", *lines]) + "\n")
    (tmp_path / "S.yaml").write_text(
        "label: {name: ill, classes: [no, yes]}\ncolumns:\n  a: {type: numeric, low: 0, high: 1}\n"
        "  b: {type: numeric, low: 0, high: 1}\n"
    )
    Ledger.create(tmp_path / "L.db", "people", epsilon=2, delta=1e-4)
    words = [
        "train",
        f"{tmp_path}/d.csv",
        "--schema",
        f"{tmp_path}/S.yaml",
        "--rows",
        "600",
        "--epsilon",
        "2",
    ]
    words += ["--ledger", f"{tmp_path}/L.db", "--out", f"{tmp_path}/run"]
    assert run([*words, "--holdout", "2"]) == 2 and "holdout must lie in" in capsys.readouterr().err
    assert run([*words, "--measure", "accuracy"]) == 2 and "give both" in capsys.readouterr().err
    wrong = [*words, "--holdout", "0.2", "--measure", "residuals"]
    assert run(wrong) == 2 and "measures must be some of accuracy" in capsys.readouterr().err
    assert not Ledger.open(tmp_path / "L.db").entries()
    assert run([*words, "--holdout", "0.2", "--evaluate-epsilon", "0.5"]) == 0
    printed = capsys.readouterr().out
    assert "balanced accuracy" in printed and "training and this together have ε = 2" in printed
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["measured_in_private"]["plan"]["epsilon"] == 0.5
    entries = Ledger.open(tmp_path / "L.db").entries()
    assert [e.kind for e in entries] == ["charged", "released"]
    assert run(["report", f"{tmp_path}/run"]) == 0


def test_the_measurement_spends_as_much_as_training_where_nothing_is_said():
    """Which costs nothing more: the whole is still the declared ε."""
    domain = prepriv.Domain.box(0, 1, 2, (0, 1))
    clf = prepriv.PrivateClassifier(domain, epsilon=0.7, steps="linear", holdout=0.3)
    plan = plan_holdout(Holdout(0.3), lambda n: clf._plan(domain, n), 400, domain)
    assert plan.evaluation.epsilon == plan.training.epsilon == 0.7
    assert 0.69 < plan.guarantee.epsilon(plan.training.delta) <= 0.7
