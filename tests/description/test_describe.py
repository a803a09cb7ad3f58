"""A description: its sums move no further than declared, its bars hold, and nothing else leaves."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv.audit.replay import Neighbour, Recorder, replay
from prepriv.cli import run
from prepriv.description.describe import describe_in_private, plan_description
from prepriv.description.description_page import json_text, to_html
from prepriv.description.estimates import Estimate, Moments, moment_rows
from prepriv.ledger import Ledger
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.tables.readers import BadData

N = 3000
ADJACENCIES = ["replace-one", "add-or-remove-one"]


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(17, 91, n).astype(float)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age).astype(str),
            "pay": (1000 * age + rng.normal(0, 9000, n)).round(2).astype(str),
            "job": rng.choice(["clerk", "smith", "diver", "?"], n, p=[0.6, 0.3, 0.05, 0.05]),
            "y": np.where(age > 50, "high", "low"),
        }
    )


def domain(adjacency="replace-one", **settings):
    columns = {"age": Numeric(0, 100), "pay": Numeric(0, 120_000), "job": Categorical(["clerk", "smith"])}
    return Domain(columns, ["high", "low"], label="y", adjacency=adjacency, **settings)


def described(people, session=None, epsilon=2.0, adjacency="replace-one", n=None, **options):
    plan = plan_description(domain(adjacency), epsilon=epsilon, n=n or len(people), **options)
    return describe_in_private(plan, people, session=session)


# ------------------------------------------------------------------------------------------------- sensitivity


def test_no_two_rows_are_further_apart_than_declared():
    u = np.append(np.linspace(-1, 1, 801), np.nan)
    rows = moment_rows(u)
    apart = np.sqrt(((rows[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2))
    assert 1.9999 < apart.max() <= 2.0
    assert np.sqrt((rows**2).sum(axis=1)).max() <= 2.0
    assert (rows[-1] == 0).all()


HOSTILE = ["1e400", "-1e-320", "\x1b[31m", "y" * 10**6, "🙂", "other", "nan", "0", "100", "<b>", "high"]


def surfaces(options):
    def run_(data, session):
        found = described(data, session, n=N, **options)
        return {"page": to_html(found), "json": json_text(found)}

    return run_


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_replay_of_hostile_records(adjacency):
    people = table()
    neighbours = []
    for cell in HOSTILE:
        odd = people.copy()
        odd.iloc[7, :] = cell
        neighbours.append(Neighbour(f"cells {cell[:9]!a}", odd))
    if adjacency != "replace-one":
        neighbours = [
            Neighbour("one less", people.iloc[1:]),
            Neighbour("one more", pd.concat([people, odd.iloc[7:8]])),
        ]
    result = replay(surfaces({"adjacency": adjacency, "correlations": True}), people, neighbours)
    assert result.findings == [] and result.pairs == len(neighbours)


def test_the_furthest_pair_of_correlations():
    """All products at +1 against as many at -1 as there can be: more than one norm apart."""
    people = pd.DataFrame({f"c{i}": ["1"] * 50 for i in range(3)} | {"y": ["a", "b"] * 25})
    other = people.copy()
    other.loc[0, "c0"] = "-1"
    space = Domain({f"c{i}": Numeric(-1, 1) for i in range(3)}, ["a", "b"], label="y")

    def run_(data, session):
        plan = plan_description(space, epsilon=1.0, n=50, correlations=True)
        return {"json": json_text(describe_in_private(plan, data, session=session))}

    result = replay(run_, people, [Neighbour("flipped", other)])
    assert result.findings == []
    moved = result.reach["correlations"] * 2 * math.sqrt(3)
    assert moved > 1.05 * math.sqrt(3)


# ------------------------------------------------------------------------------------------------- the numbers


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("runs", [16, pytest.param(200, marks=pytest.mark.slow)])
def test_bars_hold_what_is_there_without_noise(adjacency, runs):
    people = table(800)
    age = pd.to_numeric(people.age, errors="coerce")
    truth = {
        "missing": age.isna().mean(),
        "mean": age.mean(),
        "deviation": age.std(ddof=0),
        0.25: age.quantile(0.25),
        0.5: age.quantile(0.5),
        0.75: age.quantile(0.75),
        "job": (people.job == "clerk").sum(),
        "bin": ((age >= 20) & (age < 25)).sum(),
        "corr": np.corrcoef(age.fillna(50), pd.to_numeric(people.pay).clip(0, 120_000))[0, 1],
        "rows": len(people),
    }
    held = dict.fromkeys(truth, 0)
    for seed in range(runs):
        session = NoisySession(NoiseSource.for_tests(seed))
        d = described(people, session, epsilon=2.0, adjacency=adjacency, correlations=True)
        a = d.columns["age"]
        said = {"missing": a.missing, "mean": a.mean, "deviation": a.deviation, **a.quantiles}
        said |= {"job": d.columns["job"].counts["clerk"], "bin": a.counts[4]}
        said |= {"corr": d.correlations["age", "pay"], "rows": d.rows}
        for name, e in said.items():
            held[name] += e.low - 1e-9 <= truth[name] <= e.high + 1e-9
    least = binom.ppf(1e-4, runs, 0.95)
    assert min(held.values()) >= least and sum(held.values()) >= 0.93 * runs * len(held), held


def test_with_much_budget_the_numbers_are_those_of_the_table():
    people = table(20_000)
    age, d = pd.to_numeric(people.age, errors="coerce"), described(people, epsilon=100.0)
    a = d.columns["age"]
    assert float(a.mean) == pytest.approx(age.mean(), abs=0.05)
    assert float(a.deviation) == pytest.approx(age.std(), abs=0.1)
    assert float(a.missing) == pytest.approx(age.isna().mean(), abs=0.002)
    assert [float(a.quantiles[q]) for q in (0.25, 0.5, 0.75)] == pytest.approx(
        age.quantile([0.25, 0.5, 0.75]).tolist(), abs=0.5
    )
    assert sum(map(float, a.counts)) == pytest.approx(age.notna().sum(), abs=20)
    counts = d.columns["job"].counts
    assert counts["missing"].value == pytest.approx((people.job == "?").sum(), abs=5)
    assert counts["other"].value == pytest.approx((people.job == "diver").sum(), abs=5)
    assert d.columns["y"].counts["no declared class"].value == pytest.approx(0, abs=5)


@pytest.mark.parametrize("cells", [[""] * N, ["39"] * N, ["39", *[""] * (N - 1)], ["x"] * N])
def test_nothing_one_value_and_a_constant(cells):
    d = described(table().assign(age=cells), epsilon=1.0)
    a = d.columns["age"]
    if set(cells) == {"39"}:
        assert float(a.mean) == pytest.approx(39, abs=3) and a.deviation.low == 0
    else:
        assert math.isnan(float(a.mean)) and float(a.missing) > 0.9
        assert json.loads(json_text(d))["columns"]["age"]["mean"]["value"] is None
    assert "too few to say" in to_html(d) or set(cells) == {"39"}


def test_a_ratio_without_a_denominator_is_refused():
    m = Moments((0.0, 1.0, 2.0), 1.0, Estimate.around(100.0, 0.0))
    assert math.isnan(float(m.mean)) and math.isnan(float(m.spread)) and str(m.mean) == "too few to say"
    assert Estimate.around(5.0, 1.0).within(0, 5.5) == Estimate(5.0, 4.0, 5.5)


def test_names_are_shown_as_text():
    people = table().rename(columns={"age": "<script>"})
    space = Domain(
        {"<script>": Numeric(0, 100), "job": Categorical(["<b>", "\u202e"])}, ["high", "low"], label="y"
    )
    page = to_html(prepriv.describe(people, space, epsilon=1.0))
    assert "<script>" not in page and "<b>" not in page and "\u202e" not in page


def test_a_correlation_that_may_be_anything_is_not_printed():
    """ "gestation parity -0.6 (-1.0 to 1.0)": five of six had the whole range as their interval, and a value that noise chose."""
    rng = np.random.default_rng(5)
    rows = pd.DataFrame({name: np.clip(rng.normal(0.5, 0.16, 1236), 0, 1) for name in "abcdef"})
    space = Domain({name: Numeric(0, 1) for name in rows})
    told = {}
    for epsilon in (1.0, 50.0):
        made = prepriv.describe(rows, space, epsilon=epsilon, correlations=True)
        for pair, found in made.correlations.items():
            lines = [
                line for line in str(made).splitlines() if f"correlation of {pair[0]} and {pair[1]}" in line
            ]
            if math.isnan(found.value):
                assert (found.low, found.high) == (-1, 1) and all("too few to say" in line for line in lines)
            assert math.isnan(found.value) or found.high - found.low < 1.9
        told[epsilon] = [not math.isnan(found.value) for found in made.correlations.values()]
        assert "-1.0 to 1.0" not in str(made)
    assert np.mean(told[1.0]) < 0.5 and all(told[50.0])


# ---------------------------------------------------------------------------------------------------- the price


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_what_is_spent_is_what_is_claimed(adjacency):
    session = Recorder()
    d = described(table(), session, adjacency=adjacency, correlations=True, quantiles=(0.1, 0.5))
    look = d.plan.look
    spent = sum(r.mechanism.cost.mu_squared for r in session.releases)
    assert spent == pytest.approx(look.guarantee.mu**2, rel=1e-4) and spent <= look.guarantee.mu**2 * (
        1 + 1e-9
    )
    assert look.guarantee.epsilon(look.delta) <= 2.0
    assert len(session.releases) == 2 * 4 + 2 + 1 + (adjacency != "replace-one")


def test_charged_to_a_ledger_and_counted(tmp_path):
    Ledger.create(tmp_path / "L.db", "people", epsilon=1, delta=1e-5)
    before = len(prepriv.spent().fits)
    d = prepriv.describe(table(), domain(), epsilon=0.4, ledger=tmp_path / "L.db")
    assert d.receipt is not None and d.receipt["sequence"] == 1
    assert Ledger.open(tmp_path / "L.db").remaining().epsilon == pytest.approx(0.6, abs=1e-6)
    assert len(prepriv.spent().fits) == before + 1


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": math.inf},
        {"epsilon": 0},
        {"quantiles": [1.5]},
        {"bins": 0},
        {"correlations": 1},
        {"n": N + 1},
        {"delta": 0},
    ],
)
def test_mistakes_are_sentences(options):
    with pytest.raises(ValueError):
        prepriv.describe(table(), domain(), **({"epsilon": 1.0} | options))


def test_a_table_without_a_declared_column():
    with pytest.raises(BadData, match="no column 'pay'"):
        prepriv.describe(table().drop(columns="pay"), domain(), epsilon=1.0)


# -------------------------------------------------------------------------------------------------- the command

SCHEMA = """
label: {name: y, classes: [high, low]}
columns:
  age: {type: numeric, low: 0, high: 100}
  job: {type: categorical, categories: [clerk, smith]}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("d.csv", index=False)
    (tmp_path / "S.yaml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


def test_the_command_writes_a_page_and_data(files, capsys):
    assert (
        run(
            ["describe", "d.csv", "--schema", "S.yaml", "--rows", str(N), "--epsilon", "2", "--out", "p.html"]
        )
        == 0
    )
    assert "ε = 2 at δ = 1e-06" in capsys.readouterr().out
    data = json.loads((files / "p.json").read_text(encoding="utf-8"))
    assert (
        data["columns"]["age"]["histogram"]["edges"][-1] == 100 and "<svg" in (files / "p.html").read_text()
    )


@pytest.mark.parametrize(
    "options, says",
    [
        ([], "--rows"),
        (["--rows", "2999"], "the table has another number"),
        (["--rows", "3000", "--out", "p.txt"], ".html"),
        (["--rows", "3000", "--out", "d.html"], "not overwritten"),
        (["--rows", "3000", "--correlations"], "2 to 63 numeric columns"),
    ],
)
def test_bad_input_is_one_line(files, capsys, options, says):
    (files / "d.html").write_text("mine", encoding="utf-8")
    assert run(["describe", "d.csv", "--schema", "S.yaml", *options]) == 2
    said = capsys.readouterr()
    assert says in said.err and len(said.err.splitlines()) == 1
    if "2999" in options:  # counted by reading
        assert "95 % interval" not in said.out
    else:  # a warning comes before the charge, and nothing else
        assert all(line.startswith("WARNING: 3,000 records are few") for line in said.out.splitlines())


def test_a_printed_description_is_a_line_for_each_number():
    """A newcomer printed it and saw 3,423 characters of a plan."""
    domain = prepriv.Domain({"age": prepriv.Numeric(0, 100)}, classes=["a", "b"])
    found = prepriv.describe(pd.DataFrame({"age": [40.0] * 1000}), domain, epsilon=1.0)
    lines = str(found).splitlines()
    assert repr(found) == str(found) and len(lines) == 1 + 6 + 2 and "Plan" not in str(found)
    assert lines[0].startswith("ε = 1 at δ = 1e-06, replace-one, n = 1,000") and lines[2].startswith(
        "age: mean: "
    )


@pytest.mark.parametrize("by", [None, "sex"])
def test_a_description_says_how_numbers_beyond_their_bounds_count(by):
    """An analyst read a mean of 75,200 of incomes cut at 170,000, whose mean is 79,222, and no word about it."""
    columns = {"pay": Numeric(20_000, 170_000), "seen": Numeric("2021-01-01", "2022-12-31", written="date")}
    domain = Domain(columns | {"sex": Categorical(["f"])}, target=Numeric(0, 2.5), label="y")
    rich = {"pay": [10_000, 50_000, 400_000, None] * 500, "seen": "2021-02-03", "sex": "f", "y": 1.0}
    found = prepriv.describe(pd.DataFrame(rich), domain, epsilon=5.0, by=by)
    pay = found.columns["pay"]
    assert pay.mean.low < (20_000 + 50_000 + 170_000) / 3 < pay.mean.high  # gaps are left out
    cut = "numbers below 20,000 count as 20,000, above 170,000 as 170,000: every answer is of these"
    days = "dates before 2021-01-01 count as 2021-01-01, after 2022-12-31 as 2022-12-31: every answer is of these"
    assert (
        f"pay: {cut}" in str(found) and f"seen: {days}" in str(found) and "y: numbers below 0" in str(found)
    )
    page, told = to_html(found), json.loads(json_text(found))
    shown = page[: page.index("<details>")]
    assert "without noise, of numbers cut to their bounds" in shown and "left out of the means" in shown
    assert f'<p class="mute">N{cut[1:]}.</p>' in shown and f"D{days[1:]}" in shown
    assert told["columns"]["pay"]["bounds"] == {"low": 20_000, "high": 170_000, "in_words": cut}
    assert told["notes"] == found.plan.notes == str(found).splitlines()[-2:]
    for group in told.get("groups", []):
        assert group["columns"]["pay"]["bounds"]["in_words"] == cut
    plain = prepriv.describe(pd.DataFrame(rich), Domain({"sex": Categorical(["f"])}), epsilon=1.0)
    assert "cut to" not in to_html(plain) and "below" not in str(plain)


def test_correlations_of_the_filled_middle_are_said_to_be_about_who_has_a_gap(tmp_path, monkeypatch, capsys):
    """A finding: with 41.9 % gaps a correlation of .353 among those who answered was released as .11, without a word beside it."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(0), 20_000
    z = rng.normal(size=n)
    pay = np.clip(20 + 5 * (0.4 * z + rng.normal(size=n)), 0, 100)  # of few tenths of the bounds
    rows = pd.DataFrame(
        {"age": np.clip(50 + 15 * z, 0, 100), "pay": np.where(rng.random(n) < 0.42, np.nan, pay)}
    )
    rows["size"], rows["y"] = np.where(rng.random(n) < 0.05, np.nan, z * 10 + 50), "a"
    columns = {name: Numeric(0, 100) for name in ("age", "pay", "size")}
    space = Domain(columns, classes=["a", "b"], label="y")
    found = prepriv.describe(rows, space, epsilon=5.0, correlations=True)
    answered, filled = (
        rows[["age", "pay"]].corr().iloc[0, 1],
        rows[["age", "pay"]].fillna(50).corr().iloc[0, 1],
    )
    released = found.correlations["age", "pay"]
    assert answered > 0.35 and filled < 0.1 and abs(released.value - filled) < 0.05
    (said,) = found.gaps_filled
    assert "of the cells of pay are gaps" in said  # a twentieth is not said
    page = to_html(found)
    assert said in page[page.index("<h2>Correlations") : page.index("<details>")].replace("&#39;", "'")
    assert json.loads(json_text(found))["notes"][-1] == said == str(found).splitlines()[-1]
    rows.to_csv("d.csv", index=False)
    numeric = "".join(f"  {name}: {{type: numeric, low: 0, high: 100}}\n" for name in columns)
    (tmp_path / "S.yaml").write_text(f"label: {{name: y, classes: [a, b]}}\nrows: {n}\ncolumns:\n{numeric}")
    assert run(["describe", "d.csv", "--schema", "S.yaml", "--epsilon", "5", "--correlations"]) == 0
    assert said in capsys.readouterr().out
    # what it names reads the records that have both cells
    question = "covariance(age, pay)"
    told = prepriv.ask(rows, space, [question], epsilon=50.0)[question]
    both = rows[["age", "pay"]].dropna().cov(ddof=0).iloc[0, 1]
    assert abs(told.value - both) < both / 20  # ten deviations of the noise
    # nothing is said where no correlation was released, or no share is large
    assert prepriv.describe(rows, space, epsilon=5.0).gaps_filled == []
    few = prepriv.describe(rows.fillna(50), space, epsilon=5.0, correlations=True)
    assert few.gaps_filled == [] and "who has a gap" not in to_html(few)


def test_columns_with_equal_bounds_are_named_together():
    many = prepriv.Domain.box(0, 1, features=40)
    ((names, said),) = plan_description(many, epsilon=1.0, n=1000).cut
    assert "and 37 more" in names and said.startswith("numbers below 0 count as 0, above 1 as 1")


def test_dates_are_printed_as_dates_and_times_as_times():
    """In JSON they stay numbers, and the form is named."""
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 600, 4000), unit="D")
    people = pd.DataFrame({"seen": days.strftime("%Y-%m-%d"), "at": "13:30", "sex": "f"})
    columns = {
        "seen": Numeric("2021-01-01", "2022-12-31", written="date"),
        "at": Numeric("8:00", "20:00", written="time"),
        "sex": Categorical(["f"]),
    }
    for by in (None, "sex"):
        found = prepriv.describe(people, Domain(columns), epsilon=4.0, by=by)
        of = found.columns if by is None else found.groups["f"].columns
        seen, at = of["seen"], of["at"]
        assert str(seen.mean).startswith("2021-") and str(seen.quantiles[0.5]).startswith("2021-")
        assert seen.mean.texts[1] <= seen.mean.texts[0] <= seen.mean.texts[2]
        assert (
            "days" in str(seen.deviation) and str(at.mean).startswith("13:") and "hours" in str(at.deviation)
        )
        assert "2021-01-01" in to_html(found)
        told = json.loads(json_text(found))["columns"]["seen"]
        assert told["written"] == "date" and isinstance(told["mean"]["value"], float)


def test_what_is_cut_keeps_both_halves_of_its_interval():
    """A count far below zero is not known to be zero."""
    cut = Estimate.around(-40.0, 20.0).within(0, math.inf)
    assert (cut.value, cut.low, cut.high) == (0.0, 0.0, 20.0)
    share = Estimate.around(1.3, 0.1).within(0, 1)
    assert (share.value, round(share.low, 9), share.high) == (1.0, 0.9, 1.0)
    assert Estimate.around(0.5, 0.2).within(0, 1) == Estimate.around(0.5, 0.2)
