"""A description of groups: the numbers of each, their sums, their differences, and nothing else."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv.audit.replay import Neighbour, replay
from prepriv.cli import run
from prepriv.description.answers import release_pieces
from prepriv.description.ask import unread_table
from prepriv.description.asked import plan_questions
from prepriv.description.describe import describe_in_private, plan_description, release_description
from prepriv.description.description_page import json_text, to_html
from prepriv.description.estimates import Estimate, difference_of
from prepriv.guarantees.printed import BY_CHANCE
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession

BOTH = prepriv.domain.ADJACENCIES
N = 4000


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n, p=[0.4, 0.6])
    pay = np.clip(30 + 10 * (sex == "m") + rng.normal(0, 8, n), 0, 100)
    job = np.where(rng.random(n) < np.where(sex == "f", 0.7, 0.3), "clerk", "smith")
    return pd.DataFrame({"pay": pay, "sex": sex, "job": job, "y": rng.choice(["a", "b"], n)})


def domain(adjacency="replace-one"):
    columns = {"pay": Numeric(0, 100), "sex": Categorical(["f", "m"]), "job": Categorical(["clerk", "smith"])}
    return Domain(columns, ["a", "b"], label="y", adjacency=adjacency, n=N)


@pytest.mark.parametrize("adjacency", BOTH)
def test_numbers_of_groups_and_of_all_hold_what_is_there(adjacency):
    people = table()
    plan = plan_description(domain(adjacency), epsilon=2.0, by="sex")
    assert plan.look.guarantee.epsilon(1e-6) <= 2.0 and plan.by == "sex"
    of = people.groupby("sex")
    held = said = 0
    for seed in range(8):
        d = release_description(plan, people, NoisySession(NoiseSource.for_tests(seed)))
        f, m = d.groups["f"], d.groups["m"]
        apart = {x.of: x.value for x in d.differences if (x.one, x.two) == ("f", "m")}
        clerks = (people.job == "clerk").groupby(people.sex).mean()
        for e, true in (
            (f.rows, len(people[people.sex == "f"])),
            (m.columns["pay"].mean, of.pay.mean()["m"]),
            (m.columns["pay"].deviation, of.pay.std(ddof=0)["m"]),
            (f.columns["pay"].quantiles[0.5], of.pay.median()["f"]),
            (f.columns["job"].counts["clerk"], (people[people.sex == "f"].job == "clerk").sum()),
            (d.columns["pay"].mean, people.pay.mean()),
            (d.columns["sex"].counts["f"], (people.sex == "f").sum()),
            (d.columns["job"].counts["clerk"], (people.job == "clerk").sum()),
            (apart["mean of pay"], of.pay.mean()["f"] - of.pay.mean()["m"]),
            (apart["share of job = clerk"], clerks["f"] - clerks["m"]),
        ):
            said, held = said + 1, held + (e.low <= true <= e.high)
    assert held >= 0.85 * said  # ten numbers of eight draws, of which several share their noise
    assert "job" in d.columns and math.isnan(d.groups["other"].columns["pay"].mean.value)


@pytest.mark.parametrize("adjacency", BOTH)
def test_replay_of_a_record_that_leaves_its_group(adjacency):
    plan = plan_description(domain(adjacency), epsilon=2.0, by="sex")
    base = table()
    base.loc[0] = [0.0, "f", "clerk", "a"]

    def described(data, session):
        found = describe_in_private(plan, data, session=session)
        return {"page": to_html(found), "json": json_text(found)}

    neighbours = []
    for i, cells in enumerate(itertools.product((100.0, math.nan), ("m", "<b>"), ("smith", None), ("b",))):
        other = base.copy()
        other.loc[0] = cells
        if adjacency != "replace-one":
            other = pd.concat([base, other[:1]], ignore_index=True)
        neighbours.append(Neighbour(str(i), other))
    result = replay(described, base, neighbours)
    assert result.findings == [] and max(result.reach.values()) > 0.9


def test_the_mean_of_a_group_has_the_noise_of_one():
    """With the number of rows it needs the budget of a column more; beside that a mean is no noisier than alone."""
    one = plan_description(domain(), epsilon=2.0)
    by = plan_description(domain(), epsilon=2.0, by="sex")
    alone, grouped = one.look["moments 0"].mu, by.look[by.groups.pieces["moments", "pay", "sex"]].mu
    assert grouped >= alone * (1 - 1e-6)


def test_sums_over_groups_have_their_noise():
    """Of four groups twice that of one."""
    d = prepriv.describe(table(), domain(), epsilon=2.0, by="sex", quantiles=[])
    alone = d.groups["m"].columns
    assert d.columns["job"].counts["clerk"].error == pytest.approx(2 * alone["job"].counts["clerk"].error)
    assert d.columns["pay"].counts[6].error == pytest.approx(2 * alone["pay"].counts[6].error)
    assert d.columns["pay"].mean.error > alone["pay"].mean.error


def test_the_command_the_page_and_the_file_have_groups(tmp_path, capsys):
    table().to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "S.yaml").write_text(
        "label: {name: y, classes: [a, b]}\ncolumns:\n  pay: {type: numeric, low: 0, high: 100}\n"
        "  sex: {type: categorical, categories: [f, m]}\n"
    )
    base = ["describe", f"{tmp_path}/t.csv", "--schema", f"{tmp_path}/S.yaml", "--rows", str(N)]
    assert run([*base, "--by", "pay"]) == 2 and run([*base, "--by", "sex", "--correlations"]) == 2
    assert run([*base, "--by", "sex", "--epsilon", "1", "--out", f"{tmp_path}/p.html"]) == 0
    printed = capsys.readouterr().out
    said, page = json.loads((tmp_path / "p.json").read_text()), (tmp_path / "p.html").read_text()
    assert "mean of pay, f less m" in printed and "mean of pay by sex" in page and "Groups of sex" in page
    assert {g["group"] for g in said["groups"]} == {"f", "m", "other", "missing"} and said["differences"]


def test_a_difference_of_two_numbers_is_as_wide_as_both():
    one, two = Estimate(5.0, 3.0, 6.0), Estimate(2.0, 1.0, 6.0)
    found = difference_of(one, two)
    assert (found.value, found.low, found.high) == (3.0, 3.0 - math.hypot(2, 4), 3.0 + math.hypot(1, 1))


def test_the_classes_of_the_label_are_groups_too_and_another_column_is_told_which_are():
    """`describe --by smoker`, the label, was refused, and no column was named; `ask "mean(age) by smoker"` answered."""
    people = table()
    found = prepriv.describe(people, domain(), epsilon=4.0, by="y", quantiles=[])
    assert list(found.groups) == ["a", "b", "other", "missing"] and set(found.columns) == {*people.columns}
    for name in "ab":
        there = people[people.y == name]
        assert found.groups[name].rows.value == pytest.approx(len(there), abs=100)
        assert found.groups[name].columns["pay"].mean.value == pytest.approx(there.pay.mean(), abs=3)
    assert "y" not in found.groups["a"].columns and json.loads(json_text(found))["by"] == "y"
    for wrong in ("pay", "nobody", ["sex"]):
        with pytest.raises(ValueError, match=r"one of 'sex', 'job', 'y'") as caught:
            plan_description(domain(), epsilon=1.0, by=wrong)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("by", [None, "sex"])
def test_nothing_is_printed_that_cannot_be(by):
    """At a tiny ε a page said "21,000" of 10,000 records, quartiles that fall, and "9,000 to 11,600" where the bound is 11,504."""
    people, known = table(), domain()
    seen = []
    for _ in range(3):
        found = prepriv.describe(people, known, epsilon=0.02, by=by, quantiles=[0.75, 0.25, 0.5])
        tellers = [found.columns, *(group.columns for group in found.groups.values())]
        for columns in tellers:
            counts = [
                *columns["pay"].counts,
                *columns["job"].counts.values(),
                *columns.get("y", columns["job"]).counts.values(),
            ]
            assert all(0 <= e.low <= e.value <= e.high <= N for e in counts)
            seen += [e.high for e in counts]
            quantiles = columns["pay"].quantiles
            values = [
                quantiles[q].value for q in sorted(quantiles) if quantiles[q].value == quantiles[q].value
            ]
            assert values == sorted(values)
            assert all(e.low <= e.value <= e.high for e in quantiles.values() if e.value == e.value)
    assert max(seen) == N  # the noise alone is above it


def test_answers_about_quantiles_are_in_the_order_of_their_levels():
    asked = [
        "quantile(pay, 0.5) by sex",
        "quantile(pay, 0.45) by sex",
        "maximum(pay) by sex",
        "minimum(pay) by sex",
    ]
    plan = plan_questions(domain(), asked, epsilon=0.1)
    rows = unread_table(plan, table()).read(0)
    found = release_pieces(plan, rows, NoisySession(NoiseSource.for_tests(2)))
    levels = [piece for piece in sorted(found, key=str) if piece[0] == "quantile"]
    assert sorted(piece[2] for piece in levels) == [0.0, 0.45, 0.5, 1.0]
    values = np.array([found[piece] for piece in sorted(levels, key=lambda piece: piece[2])])
    assert (np.diff(values, axis=0) >= 0).all()


def test_a_rounded_end_stays_within_what_is_known():
    told = Estimate(10_665.0, 9_061.0, 11_504.0).within(8_301.0, 11_504.0)
    assert str(told) == "10,700 (95 %: 9,000 to 11,504)"
    assert str(Estimate(21_000.0, 4_000.0, 38_000.0).within(0, 10_000)) == "10,000 (95 %: 0 to 10,000)"
    assert str(Estimate(0.5, -0.31, 1.31).within(0, 1)) == "0.50 (95 %: 0.00 to 1.00)"
    assert str(Estimate(9_990.0, 9_512.0, 10_000.0)) == "9,990 (95 %: 9,510 to 10,000)"


def test_of_many_groups_what_shows_nothing_shares_a_line():
    """A description of ten groups by 37 neighbourhoods had 1,782 lines."""
    towns = [f"t{i}" for i in range(30)]
    people = pd.DataFrame({"town": towns * 200, "job": [f"j{i % 10}" for i in range(6000)]})
    columns = {"town": Categorical(towns), "job": Categorical([f"j{i}" for i in range(10)])}
    found = prepriv.describe(people, Domain(columns), epsilon=1.0, by="job")
    lines = str(found).splitlines()
    assert len(lines) < 250  # of about 700
    first = [line for line in lines if line.startswith("job = j0: ")]
    assert any("; and " in line and "not shown to be above 0 (95 %: each at most" in line for line in first)
    assert any(line.endswith(" more: not shown to differ from 0") for line in lines)
    whole = json.loads(json_text(found))
    assert len(whole["groups"][0]["columns"]["town"]["counts"]) == 32
    hidden = len(whole["differences"]) - sum(" less " in line for line in lines)
    assert any(line == f"{hidden:,} more: not shown to differ from 0" for line in lines)
    assert BY_CHANCE in lines and BY_CHANCE in to_html(found)


def test_quantiles_about_which_nothing_is_known_are_left_out_with_the_reason():
    """A description by groups was half quantiles whose intervals were nearly as wide as the bounds."""
    people, known = table(), domain()
    for epsilon in (0.2, 40.0):
        found = prepriv.describe(people, known, epsilon=epsilon, by="sex")
        lines, left = str(found).splitlines(), 0
        for name, group in found.groups.items():
            for q, e in group.columns["pay"].quantiles.items():
                if e.value == e.value:
                    wide = e.high - e.low >= 50  # of bounds from 0 to 100
                    left += wide
                    assert (f"sex = {name}: pay: quantile {q:g}: {e}" in lines) is not wide
        assert (left > 0) is any("left out: " in line for line in lines) is (epsilon < 1)
        for group in json.loads(json_text(found))["groups"]:
            kept = found.groups[group["group"]].columns["pay"].quantiles[0.5]
            assert (group["columns"]["pay"]["quantiles"]["0.5"]["value"] is None) is math.isnan(kept.value)
