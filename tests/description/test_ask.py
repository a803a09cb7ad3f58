"""A list of questions: each release once, moved by no record further than declared, and nothing else leaves."""

from __future__ import annotations

import itertools
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import prepriv
from prepriv import Categorical, Domain, Numeric, Text
from prepriv.audit.replay import Neighbour, Recorder, replay
from prepriv.cli import run
from prepriv.description.answers import expected_half, half_in_parts, release_pieces, released_answers
from prepriv.description.ask import ask_in_private, unread_table
from prepriv.description.asked import QUESTION_KINDS, Asked, plan_questions
from prepriv.description.estimates import (
    ADDED,
    ADDED_SHIFT,
    IN_GROUPS,
    PAIR,
    PAIR_ADDED_SHIFT,
    PAIR_SHIFT,
    moment_rows,
    pair_rows,
)
from prepriv.ledger import Ledger
from prepriv.mechanisms.in_groups import ChoiceInGroups
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.quantile import Grid, QuantileRelease
from prepriv.mechanisms.session import ExactSession, NoisySession

BOTH = prepriv.domain.ADJACENCIES
N = 3000
COLUMNS = {
    "age": Numeric(0, 100),
    "pay": Numeric(-20, 80),
    "sex": Categorical(["f", "m"]),
    "job": Categorical(["clerk", "smith", "diver"]),
    "town": Text(),
}
QUESTIONS = (
    *("count by sex", "count by town", "sum(pay)", "mean(pay)", "variance(age)", "deviation(age)", "missing(age)"),
    *("mean(pay) by sex", "sum(pay) by job", "mean(age) by town", "missing(age) by sex", "covariance(age, pay)"),
    *("covariance(pay, age) by sex", "histogram(job)", "histogram(age, 5)", "histogram(job) by sex"),
    *("share(job)", "share(job) by sex", "share(sex) by town"),
    *("crosstab(sex, job)", "median(age)", "quantile(pay, 0.9) by sex", "minimum(pay)", "maximum(age) by sex"),
)  # fmt: skip


def people(n=N, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(17, 91, n).astype(float)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "pay": np.clip(age / 2 + rng.normal(0, 10, n), -20, 80),
            "sex": rng.choice(["f", "m", "?"], n, p=[0.45, 0.53, 0.02]),
            "job": rng.choice(["clerk", "smith", "diver", "x"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "town": rng.choice(["Ulm", "Bonn", "Jena", "Hof"], n, p=[0.5, 0.3, 0.19, 0.01]),
        }
    )


TABLE = people()


def planned(adjacency="replace-one", questions=QUESTIONS, epsilon=2.0, n=N, **options):
    return plan_questions(COLUMNS, questions, epsilon=epsilon, n=n, adjacency=adjacency, **options)


# --------------------------------------------------------------------------------------------- price


def test_what_several_questions_need_is_paid_for_once():
    plan = planned(questions=["sum(pay)", "mean(pay)", "variance(pay)", "mean(pay)", "deviation(pay)"])
    assert len(plan.questions) == 4 and [what for what, _, _ in plan.prices()] == [
        "number, sum and squares of pay"
    ]
    turned = ["crosstab(sex, job)", "crosstab(job, sex)", "histogram(job) by sex", "histogram(sex) by job"]
    assert len(planned(questions=turned).prices()) == 1
    assert len(planned(questions=["count by sex", "histogram(sex)"]).prices()) == 1
    assert len(planned(questions=["covariance(age, pay)", "covariance(pay, age)"]).prices()) == 1
    assert len(planned(questions=["missing(age) by sex", "count by sex", "mean(age) by sex"]).prices()) == 2
    assert len(planned(questions=["median(age)", "quantile(age, 0.9)", "histogram(age)"]).prices()) == 3


@pytest.mark.parametrize("adjacency", BOTH)
def test_the_claim_is_that_of_the_releases(adjacency):
    """An account of its own, from the mechanisms that a session draws."""
    plan, recorder = planned(adjacency), Recorder()
    released_answers(plan, unread_table(plan, TABLE).read(0), plan.look.session(recorder))
    assert len(recorder.releases) == len(plan.pieces) == len(plan.look.parts)
    costs = [r.mechanism.cost for r in recorder.releases]
    mu, leak = math.sqrt(sum(c.mu_squared for c in costs)), float(sum(c.delta for c in costs))
    delta = norm.cdf(mu / 2 - 2 / mu) - math.exp(2) * norm.cdf(-mu / 2 - 2 / mu)
    assert leak > 0 and 0.97e-6 < leak + (1 - leak) * delta <= 1e-6
    moved = {r.mechanism.moved for r in recorder.releases if isinstance(r.mechanism, ChoiceInGroups)}
    assert moved == ({1, 2} if adjacency == "replace-one" else {1})  # of all records, and of groups
    assert plan.look.guarantee.epsilon(1e-6) <= 2.0 and plan.look.guarantee.adjacency == adjacency


def test_other_questions_are_another_plan():
    one, other = (planned(questions=[q]) for q in ("mean(pay)", "sum(pay)"))
    assert one.look.hash != other.look.hash and one.look.mu == other.look.mu


# -------------------------------------------------------------------------------------- sensitivity


def test_no_two_records_are_further_apart_than_declared():
    u = np.append(np.linspace(-1, 1, 21), np.nan)
    pairs = np.array(list(itertools.product(u, u)))
    rows = pair_rows(*pairs.T)
    apart = np.sqrt(((rows[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2))
    assert apart.max() == pytest.approx(PAIR_SHIFT) and np.sqrt((rows**2).sum(axis=1)).max() <= PAIR_SHIFT
    assert (rows**2).sum(axis=1).max() == pytest.approx(PAIR_SHIFT**2) and math.sqrt(5) == PAIR
    # from one group into another: the squares of both norms add up
    cells = moment_rows(np.append(np.linspace(-1, 1, 801), np.nan), IN_GROUPS)
    assert 2 * (cells**2).sum(axis=1).max() <= 4 * (1 + 1e-12)
    within = ((cells[:, None, :] - cells[None, :, :]) ** 2).sum(axis=2)
    assert within.max() <= 4 * (1 + 1e-12)
    assert 2 * (pair_rows(*pairs.T, 1.0) ** 2).sum(axis=1).max() <= PAIR_SHIFT**2 * (1 + 1e-12)
    # one more or less: its norm
    added = moment_rows(np.append(np.linspace(-1, 1, 801), np.nan), ADDED)
    assert ADDED_SHIFT**2 * (1 - 1e-9) < (added**2).sum(axis=1).max() <= ADDED_SHIFT**2
    assert (pair_rows(*pairs.T, 1.0) ** 2).sum(axis=1).max() == PAIR_ADDED_SHIFT**2


def test_a_record_that_leaves_one_group_for_another_moves_two_choices_and_no_more():
    release, farthest = QuantileRelease.of_epsilon(1.0, Grid(0.0, 1.0, 5)), 0.0
    first, second = [0.25, 0.5, 0.75], [0.5, 1.0]

    def asked(*groups):
        recorder = Recorder()
        each = [np.array(group) for group in groups]
        release.release_each(each, name="q", above=[2, 1], moved=2, session=recorder)
        return recorder.calls[0]

    for x, y in itertools.product((0.0, 0.25, 0.5, 0.75, 1.0), repeat=2):
        one, two = asked([*first, x], second), asked(first, [*second, y])
        farthest = max(farthest, math.sqrt(one.moved_squared(two)) / one.sensitivity)
    assert 0.7 < farthest <= 1  # one choice alone: two thirds


HOSTILE = [
    {"age": math.nan, "pay": math.inf, "sex": None, "job": "other", "town": "Hof"},
    {"age": 1e300, "pay": -1e300, "sex": "m", "job": "smith", "town": "a lone town"},
    {"age": 0.0, "pay": -20.0, "sex": "f", "job": "clerk", "town": ""},
    {"age": 100.0, "pay": 80.0, "sex": "m", "job": "diver", "town": "x" * 70_000},
    {"age": 100.0, "pay": 80.0, "sex": "m", "job": "smith", "town": "Bonn"},
    {"age": 100.0, "pay": -20.0, "sex": "x\x1b[31m", "job": "<b>", "town": "Ulm"},
]


@pytest.mark.parametrize("adjacency", BOTH)
def test_replay_of_hostile_records(adjacency):
    plan = planned(adjacency, n=N)

    def answered(table, session):
        found = ask_in_private(plan, table, session=session)
        return {"text": str(found), "json": found.json_text()}

    base = TABLE.copy()
    base.loc[0] = HOSTILE[2]
    neighbours = []
    for i, cells in enumerate(HOSTILE):
        other = base.copy()
        other.loc[0] = cells
        if adjacency != "replace-one":
            other = pd.concat([base, pd.DataFrame([cells])], ignore_index=True)
        neighbours.append(Neighbour(str(i), other))
    if adjacency != "replace-one":
        neighbours.append(Neighbour("less", base[1:]))
    result = replay(answered, base, neighbours)
    assert result.findings == [] and result.pairs == len(neighbours)
    assert max(result.reach.values()) > 0.9


# -------------------------------------------------------------------------------------------- answers


class Exact(NoisySession):
    """No noise; the groups that are found need a threshold, which stays."""

    def _perform(self, name, mechanism, exact):
        if isinstance(exact, dict):
            return {k: float(v) for k, v in sorted(exact.items()) if v >= mechanism.least}
        return ExactSession._perform(self, name, mechanism, exact)


def test_answers_say_how_numbers_beyond_their_bounds_and_gaps_count():
    """A partner got a file of means in which a fifth of the incomes was cut, without a word."""
    asked = ["mean(pay) by sex", "missing(age)", "share(job)"]
    found = prepriv.ask(TABLE, COLUMNS, asked, epsilon=1.0)
    cut = "numbers below -20 count as -20, above 80 as 80: every answer is of these"
    lines, told = str(found).splitlines(), json.loads(found.json_text())
    assert f"pay: {cut}" in lines and repr(found) == str(found) and not any("age: num" in x for x in lines)
    assert told["bounds"] == {"pay": {"low": -20.0, "high": 80.0, "in_words": cut}}
    assert lines[-3:] == told["notes"] and "left out of the means" in lines[-3]
    assert "not listed" in lines[-2] and "gap there count" in lines[-1]
    of_all = prepriv.ask(TABLE, COLUMNS, ["missing(age)", "count by job"], epsilon=1.0)
    assert of_all.plan.cut == [] and json.loads(of_all.json_text())["bounds"] == {}
    with_pairs = planned(questions=["covariance(pay, age)"])
    assert "both cells" in with_pairs.notes[-1] and set(with_pairs.numbers) == {"pay", "age"}


def test_without_noise_every_answer_is_the_number():
    plan = planned(epsilon=50.0)
    found = released_answers(plan, unread_table(plan, TABLE).read(0), Exact())
    t = TABLE.assign(sex=TABLE.sex.where(TABLE.sex != "?", "missing"))
    t = t.assign(job=t.job.where(t.job != "x", "other"))
    f, clerks, ulm = t[t.sex == "f"], t[t.job == "clerk"], t[t.town == "Ulm"]
    both = t.dropna()
    for question, one, expected in (
        ("count by sex", "missing", (t.sex == "missing").sum()),
        ("count by town", "Ulm", len(ulm)),
        ("mean(pay) by sex", "f", f.pay.mean()),
        ("sum(pay) by job", "clerk", clerks.pay.sum()),
        ("mean(age) by town", "Ulm", ulm.age.mean()),
        ("missing(age) by sex", "f", f.age.isna().mean()),
        ("histogram(job)", "other", (t.job == "other").sum()),
        ("covariance(pay, age) by sex", "f", np.cov(f.dropna().age, f.dropna().pay, ddof=0)[0, 1]),
    ):
        assert found[question][one].value == pytest.approx(expected, rel=1e-4, abs=1e-3), question
    for question, expected in (
        ("sum(pay)", t.pay.sum()),
        ("mean(pay)", t.pay.mean()),
        ("variance(age)", t.age.var(ddof=0)),
        ("deviation(age)", t.age.std(ddof=0)),
        ("missing(age)", t.age.isna().mean()),
        ("covariance(age, pay)", np.cov(both.age, both.pay, ddof=0)[0, 1]),
    ):
        assert found[question].value == pytest.approx(expected, rel=1e-4), question
    table = pd.crosstab(t.sex, t.job)
    assert {
        s: {j: round(e.value) for j, e in row.items()} for s, row in found["crosstab(sex, job)"].items()
    } == {
        s: {j: int(table.get(j, {}).get(s, 0)) for j in ("clerk", "smith", "diver", "other", "missing")}
        for s in ("f", "m", "other", "missing")
    }
    assert (
        found["histogram(job) by sex"]["f"]["clerk"].value == found["crosstab(sex, job)"]["f"]["clerk"].value
    )
    of_sex = pd.crosstab(t.sex, t.job, normalize="index")
    assert found["share(job) by sex"]["m"]["smith"].value == pytest.approx(of_sex.loc["m", "smith"], rel=1e-4)
    assert found["share(job)"]["diver"].value == pytest.approx((t.job == "diver").mean(), rel=1e-4)
    assert [round(e.value) for e in found["histogram(age, 5)"].counts] == [
        ((t.age >= 20 * k) & (t.age < 20 * (k + 1) + (k == 4))).sum() for k in range(5)
    ]


@pytest.mark.parametrize("adjacency", BOTH)
def test_intervals_hold_the_numbers(adjacency):
    """Of 12 repetitions of all numbers, each interval at 95 % or more; the worst question of a million is above this."""
    plan = planned(adjacency, epsilon=3.0)
    rows = unread_table(plan, TABLE).read(0)
    exact = released_answers(plan, rows, Exact())
    held, said = dict.fromkeys(QUESTIONS, 0), dict.fromkeys(QUESTIONS, 0)
    for seed in range(12):
        found = released_answers(plan, rows, plan.look.session(NoisySession(NoiseSource.for_tests(seed))))
        for question, one in found.items():
            true = dict(_leaves(exact[question]))
            for name, e in _leaves(one):
                known = true.get(name)
                if known is None or math.isnan(e.low) or math.isnan(known.value):
                    continue
                said[question] += 1
                held[question] += (
                    e.low - 1e-3 * abs(known.value) <= known.value <= e.high + 1e-3 * abs(known.value)
                )
    assert all(said.values()), said
    assert {
        q: held[q] / said[q] for q in QUESTIONS if held[q] < 0.95 * said[q] - 3 * math.sqrt(said[q] / 20)
    } == {}


def _leaves(found, path=()):
    if isinstance(found, dict):
        for name, inner in found.items():
            yield from _leaves(inner, (*path, name))
    elif hasattr(found, "edges"):
        yield from (((*path, k), e) for k, e in enumerate(found.counts))
    else:
        yield path, found


def test_groups_that_are_found_are_those_that_are_common():
    found = prepriv.ask(TABLE, COLUMNS, ["mean(pay) by town"], epsilon=2.0)
    assert set(found["mean(pay) by town"]) >= {"Ulm", "Bonn", "Jena", "other", "missing"}
    alone = people(200, seed=1).assign(town=[f"p{i}" for i in range(200)])
    assert [*prepriv.ask(alone, COLUMNS, ["mean(pay) by town"], epsilon=2.0)["mean(pay) by town"]] == [
        "other",
        "missing",
    ]


def test_units_count_once_each():
    visits = pd.concat([TABLE.assign(who=range(N)), TABLE.assign(who=range(N))[:1000]])
    domain = Domain({k: COLUMNS[k] for k in ("pay", "sex")}, n=N, unit="who", rows_per_unit=2)
    found = prepriv.ask(visits, domain, ["count by sex", "mean(pay)"], epsilon=50.0)
    assert round(found["count by sex"]["f"].value) == pytest.approx((TABLE.sex == "f").sum(), abs=3)
    assert found.guarantee_.unit == "who"


# ------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    "questions, says",
    [
        ([], "at least one"),
        ("mean(pay)", "must be a list"),
        (["middle(pay)"], "a question is one of count, sum"),
        (["average(pay)"], "ask mean(COLUMN)"),
        (["AVG(pay)"], "ask mean(COLUMN)"),
        (["Mean(pay)"], "ask mean"),
        (["meann(pay)"], "ask mean"),
        (["percentile(pay, 90)"], "ask quantile(COLUMN, 0.9)"),
        (["correlation(pay, age)"], "describe --correlations"),
        (["mean"], "asked of 1 column"),
        (["mean(pay, age)"], "asked of 1 column"),
        (["mean(nobody)"], "'nobody' is asked about, but the schema does not declare it"),
        (["mean(Pay_)"], "; the closest name there is 'pay'"),
        (
            ["mean(pay) by twon"],
            "'twon' is asked about, but the schema does not declare it; the closest name there is 'town'",
        ),
        (["mean(job)"], "share(job)"),
        (["share(age)"], "asked of categorical columns"),
        (["share(age)"], 'ask "histogram(age)"'),
        (["share(age)"], "categories:"),
        (["share(age) by job"], 'ask "histogram(age) by job"'),
        (["crosstab(job, pay)"], "asked of categorical columns"),
        (["crosstab(job, pay)"], 'ask "histogram(pay) by job"'),
        (["crosstab(age, pay)"], 'ask "histogram(age)"'),
        (["histogram(town)"], "numeric or categorical"),
        (["mean(pay) by age"], "by is a categorical column"),
        (["mean(pay) by pay"], "different columns"),
        (["quantile(pay)"], "a level"),
        (["quantile(pay, 2)"], "level must lie"),
        (["quantile(pay, much)"], "a number was expected"),
        (["count"], "nothing is asked that is not public"),
        (["mean(pay"], "is written as"),
        ([3], "is written as"),
    ],
)
def test_a_mistake_is_one_sentence_and_costs_nothing(questions, says, tmp_path):
    Ledger.create(tmp_path / "L.db", "people", epsilon=1, delta=1e-3)
    with pytest.raises(ValueError, match=r"\S") as caught:
        prepriv.ask(TABLE, COLUMNS, questions, epsilon=0.1, ledger=tmp_path / "L.db")
    assert says in str(caught.value) and "\n" not in str(caught.value)
    assert Ledger.open(tmp_path / "L.db").remaining().epsilon == 1


def test_a_name_that_is_like_none_is_answered_with_none():
    with pytest.raises(ValueError, match=r"does not declare it$"):
        prepriv.ask(TABLE, COLUMNS, ["mean(nobody)"], epsilon=0.1)


def test_a_count_by_texts_says_what_it_does_not_release():
    """A fifth of all records had a gap, and the line of the gaps was "too few to say"."""
    table = pd.DataFrame({"town": ["a", "b", None] * 400})
    found = prepriv.ask(table, {"town": Text()}, ["count by town"], epsilon=5.0)
    assert list(found["count by town"]) == ["a", "b"]
    assert "is not released" in str(found) and "too few to say" not in str(found)


def test_a_hundred_thousand_groups_are_answered_or_refused():
    """A row is added to its group, and no row of all groups is made: that took five minutes."""
    who = [f"p{i}" for i in range(100_000)]
    columns = {"who": Categorical(who), "pay": Numeric(0, 1), "town": Text()}
    for question in ("histogram(pay) by who", "crosstab(who, who2)", "histogram(who) by town"):
        with pytest.raises(ValueError, match="noise alone"):
            plan_questions(columns | {"who2": columns["who"]}, [question], epsilon=1.0, n=9)
    table = pd.DataFrame({"who": who[:3000], "pay": np.arange(3000) % 2})
    plan = plan_questions(columns, ["sum(pay) by who"], epsilon=50.0, n=3000)
    rows = unread_table(plan, table).read(0)
    (found,) = release_pieces(plan, rows, Exact()).values()
    assert found.shape == (100_002, 3) and found[:, 1].sum() == pytest.approx(0.0, abs=1e-3)
    assert (found[:4, 1].round(3) == [-1, 1, -1, 1]).all() and not found[3000:].any()


@pytest.mark.parametrize("epsilon", [1e-6, 1e4, 1e6])
def test_a_budget_that_no_choice_can_spend_ends_before_the_charge_or_is_not_spent(epsilon, tmp_path):
    """Of mu above 12, or far below one, the exponential mechanism has no price: what was paid for died after the charge."""
    Ledger.create(tmp_path / "L.db", "people", epsilon=1e9, delta=0.1)
    told, ledger = {"epsilon": epsilon, "delta": 1e-6}, tmp_path / "L.db"
    domain = Domain({k: COLUMNS[k] for k in ("age", "sex")}, n=N)
    for ask in (
        lambda: prepriv.ask(TABLE, COLUMNS, ["median(age)", "median(age) by sex"], ledger=ledger, **told),
        lambda: prepriv.describe(TABLE, domain, ledger=ledger, **told),
        lambda: prepriv.describe(TABLE, domain, by="sex", ledger=ledger, **told),
        lambda: Domain.draft(TABLE, ledger=ledger, **told),
    ):
        before = len(Ledger.open(ledger).entries())
        if epsilon > 1:
            ask()
            continue
        with pytest.raises(ValueError, match=r"too small|too few"):
            ask()
        assert len(Ledger.open(ledger).entries()) == before


def test_levels_that_are_near_are_two_questions():
    near = [Asked("quantile", ("age",), level=level) for level in (0.1234567, 0.1234568)]
    assert len(planned(questions=near).questions) == len({str(q) for q in near}) == 2
    one, two = (planned(questions=[q]).look.hash for q in near)
    assert one != two
    columns = {
        "a": Categorical(["u"]),
        "b, c": Categorical(["u"]),
        "a, b": Categorical(["u"]),
        "c": Categorical(["u"]),
    }
    alike = [Asked("crosstab", ("a", "b, c")), Asked("crosstab", ("a, b", "c"))]
    with pytest.raises(ValueError, match="written alike"):
        plan_questions(columns, alike, epsilon=1.0, n=9)


def test_every_kind_is_written_as_it_is_read():
    for question in QUESTIONS:
        assert str(Asked.of(question)) == question
    assert {Asked.of(q).kind for q in (*QUESTIONS, "count")} == set(QUESTION_KINDS)


def test_the_command_prices_asks_and_writes(tmp_path, capsys):
    TABLE.assign(y="a").to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "S.yaml").write_text(
        "label: {name: y, classes: [a, b]}\ncolumns:\n  pay: {type: numeric, low: -20, high: 80}\n"
        "  sex: {type: categorical, categories: [f, m]}\n"
    )
    words = ["ask", f"{tmp_path}/t.csv", "mean(pay) by sex", "count by sex", "histogram(y)"]
    words += ["--schema", f"{tmp_path}/S.yaml", "--rows", str(N), "--epsilon", "1"]
    assert run([*words, "--price"]) == 0
    printed = capsys.readouterr().out
    assert "number, sum and squares of pay by sex" in printed and not prepriv.spent().fits
    assert "together cost ε = 1 at δ = 1e-06" in " ".join(printed.split())
    assert re.search(r"with \d+ groups of equal size", printed) and "WARNING" not in printed
    few = ["0.001" if word == "1" else word for word in words]
    assert run([*few, "median(pay)", "--price"]) == 0  # what would be enough stood in the paid run alone
    printed = " ".join(capsys.readouterr().out.split())
    assert "WARNING" in printed and "it needs about epsilon" in printed and "the run goes on" not in printed
    assert "in 100 by rank" not in printed  # an interval by rank that can be the whole bounds
    assert run([*words, "--out", f"{tmp_path}/a.json"]) == 0
    printed = capsys.readouterr().out
    said = json.loads((tmp_path / "a.json").read_text())
    assert "mean(pay) by sex" in printed and set(said["answers"]) == {
        "mean(pay) by sex",
        "count by sex",
        "histogram(y)",
    }
    assert said["answers"]["histogram(y)"]["b"]["value"] < 100 and len(said["releases"]) == 3
    assert run([*words, "--out", f"{tmp_path}/a.json"]) == 2  # what was paid for is not replaced
    assert run([*words[:2], "mean(town)", *words[5:]]) == 2


@pytest.mark.parametrize("adjacency", prepriv.adjacency.ADJACENCIES)
def test_what_a_price_says_to_expect_is_what_comes(adjacency):
    n = 20_000
    columns = {"pay": Numeric(0, 1000), "sex": Categorical(["f", "m"])}
    asked = ["mean(pay)", "sum(pay)", "histogram(sex)", "histogram(pay)"]
    plan = plan_questions(columns, asked, epsilon=1.0, n=n, adjacency=adjacency)
    table = pd.DataFrame({"pay": np.full(n, 1000.0), "sex": ["f"] * n})
    found = prepriv.ask(table, columns, asked, epsilon=1.0, n=n, adjacency=adjacency)
    answers = [found["mean(pay)"], found["sum(pay)"], found["histogram(sex)"]["f"]]
    for question, answer in zip(plan.questions, answers):
        half, unit = expected_half(plan, question)
        assert unit == "number" and half == pytest.approx(answer.error, rel=0.1)
    assert expected_half(plan, Asked.of("histogram(pay)"))[0] > 0
    grouped = plan_questions(columns, ["mean(pay) by sex", "median(pay)"], epsilon=1.0, n=n)
    half, median = (expected_half(grouped, q) for q in grouped.questions)
    ranks = 100 * half_in_parts(grouped, grouped.questions[1], n)  # it said "depends on the values"
    assert half is not None and median == (pytest.approx(ranks), "in 100 by rank") and 0 < ranks < 50


@pytest.mark.parametrize("adjacency", prepriv.adjacency.ADJACENCIES)
def test_what_a_price_says_of_groups_is_what_groups_of_equal_size_get(adjacency):
    """`ask --price` said "depends on the values or shares" of each figure of a group, and named no ε."""
    n, columns = 20_000, {"pay": Numeric(0, 1000), "sex": Categorical(["f", "m"]), "job": Categorical(["a"])}
    asked = ["mean(pay) by sex", "sum(pay) by sex", "share(job) by sex"]
    plan = plan_questions(columns, asked, epsilon=1.0, n=n, adjacency=adjacency)
    table = pd.DataFrame({"pay": np.full(n, 1000.0), "sex": ["f", "m"] * (n // 2), "job": "a"})
    found = prepriv.ask(table, columns, asked, epsilon=1.0, n=n, adjacency=adjacency)
    answers = [found[asked[0]]["f"], found[asked[1]]["m"], found[asked[2]]["f"]["a"]]
    for question, answer in zip(plan.questions, answers):
        assert expected_half(plan, question)[0] == pytest.approx(answer.error, rel=0.15)
    few = plan_questions(columns, asked[:1], epsilon=0.0001, n=n, adjacency=adjacency)
    assert math.isnan(expected_half(few, few.questions[0])[0])


def test_arguments_in_another_order_are_answered_with_the_call():
    """A finding: they ended in a bare TypeError."""
    table = pd.DataFrame({"age": np.arange(100.0), "y": ["a", "b"] * 50})
    domain = prepriv.Domain({"age": prepriv.Numeric(0, 100)}, n=100, classes=["a", "b"])
    for given in ((domain, table), (domain, table, ["mean(age)"]), (table, ["mean(age)"], domain)):
        with pytest.raises(ValueError, match=re.escape("ask(table, domain, ['mean(age)']")):
            prepriv.ask(*given, epsilon=1.0)
    with pytest.raises(TypeError, match=re.escape("X.assign(y=y), label='y'")):
        prepriv.Domain.draft(table[["age"]], table["y"], epsilon=1.0)


def test_a_quantile_that_noise_hides_has_no_value_in_print():
    """The median of medical costs was printed as "0 (95 %: 0 to 20,000)": the value was rounded to its interval."""
    pay = np.random.default_rng(0).lognormal(6, 2, 3000).clip(0, 20000)
    table = pd.DataFrame({"pay": pay, "sex": ["f", "m", "m"] * 1000})
    columns = {"pay": Numeric(0, 20000), "sex": Categorical(["f", "m"])}
    shown = str(prepriv.ask(table, columns, ["median(pay) by sex", "quantile(pay, 0.9)"], epsilon=0.01))
    assert "noise hides" in shown or "too few to say" in shown
    assert "(95 %: 0 to 20,000)" not in shown


def test_each_value_of_a_table_of_two_columns_says_whose_it_is():
    """A finding: "No, Yes" had one meaning in a share by groups, and the opposite one in the cross-tabulation below it."""
    table = pd.DataFrame({"left": ["no"] * 900 + ["yes"] * 100, "late": (["no"] * 3 + ["yes"]) * 250})
    columns = {"left": Categorical(["no", "yes"]), "late": Categorical(["no", "yes"])}
    asked = ["share(left) by late", "crosstab(left, late)", "count by late"]
    found = prepriv.ask(table, columns, asked, epsilon=50.0)
    for told in (found.in_short(), found.lines()):
        named = {question: {what for q, what, _ in told if q == question} for question in asked}
        assert "late=no, left=yes" in named[asked[0]] and "left=no, late=yes" in named[asked[1]]
        assert {"no", "yes"} <= named[asked[2]]
        assert not any(", " in what and "=" not in what for whats in named.values() for what in whats)
    assert all(line in str(found) for line in ("late=no, left=yes: 0.", "left=no, late=yes: "))
    told = json.loads(found.json_text())
    assert told["named_by"] == {asked[0]: ["late", "left"], asked[1]: ["left", "late"], asked[2]: ["late"]}
    assert [*told["answers"]] == asked and "yes" in told["answers"][asked[0]]["no"]


def test_a_number_or_two_columns_as_groups_are_refused_with_the_way():
    columns = {"a": Numeric(0, 1), "b": Categorical(["x"]), "c": Categorical(["x"])}
    for by, way in (("a", "categories:"), ("b by c", "crosstab(b, c)"), ("b and c", "crosstab(b, c)")):
        with pytest.raises(ValueError, match=re.escape(way)):
            plan_questions(columns, [f"count by {by}"], epsilon=1.0, n=9)


@pytest.mark.parametrize(
    "column, bins, first, last",
    [
        (Numeric(1974, 2002), 20, "1,974 to below 1,975.4", "2,000.6 to 2,002"),
        (Numeric(1973.5, 2002.5), 29, "1,973.5 to below 1,974.5", "2,001.5 to 2,002.5"),
        (Numeric(10_000, 10_200), 20, "10,000 to below 10,010", "10,190 to 10,200"),
        (Numeric(0, 100, written="date"), 8, "1970-01-01 to below 1970-01-14", "1970-03-30 to 1970-04-11"),
    ],
)
def test_bins_of_a_histogram_are_named_by_their_own_edges(column, bins, first, last):
    """A finding: edges had four digits, so that 877 women of 1978 stood in "1977 to 1978", and none in "1978 to 1980"."""
    domain = Domain({"year": column}, n=500)
    table = {"year": np.linspace(column.low, column.high, 500).tolist()}
    if column.written == "date":
        table = {"year": ["1970-01-14"] * 500}  # the first day of the second bin
    found = prepriv.ask(pd.DataFrame(table), domain, [f"histogram(year, {bins})"], epsilon=1.0)
    names = [what for _, what, _ in found.lines()]
    assert column.written == "number" or found.lines()[1][2].low > 400
    assert (names[0], names[-1], len({*names})) == (first, last, bins)
    assert first in str(found)


@pytest.mark.parametrize(("low", "said"), [(66, True), (0, False)])
def test_a_mean_at_a_bound_is_said(low, said, tmp_path, monkeypatch, capsys):
    """A reader declared years for a column of decades: the mean of 66.000 looked plausible."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    pd.DataFrame({"age": rng.uniform(6.6, 10.9, 4000), "y": rng.choice(["a", "b"], 4000)}).to_csv(
        "t.csv", index=False
    )
    (tmp_path / "S.yaml").write_text(
        f"label: {{name: y, classes: [a, b]}}\nrows: 4000\ncolumns: {{age: {{type: numeric, low: {low}, high: 109}}}}\n"
    )
    asked = [
        "ask",
        "t.csv",
        "mean(age)",
        "median(age)",
        "--schema",
        "S.yaml",
        "--epsilon",
        "1",
        "--out",
        "a.json",
    ]
    assert run(asked) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert said == ("LOOK AT 'age'" in told and "declared bound 66" in told)
