"""The private draft: what it finds, what it pays, and that nothing else leaves (replay with hostile cells)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml

import prepriv
from prepriv import Domain
from prepriv.audit.replay import Neighbour, Recorder, replay
from prepriv.cli import run
from prepriv.columns import Categorical, Numeric
from prepriv.description.draft import (
    draft_in_private,
    frame_of,
    release_draft,
)
from prepriv.description.draft_bounds import _moved_outward, rounded_outward
from prepriv.description.draft_plan import plan_draft
from prepriv.description.drafted_schema import WRITTEN
from prepriv.description.magnitudes import BINS, FORMS, GAP, TEXT, ZERO, bin_of, ends
from prepriv.guarantees import approximate_dp, gaussian
from prepriv.ledger import BudgetExceeded, Ledger
from prepriv.mechanisms.session import SpentError
from prepriv.schemas.schema import load_schema
from prepriv.tables.cell import cell_of
from prepriv.tables.readers import BadData

N = 4000


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(17, 91, n)
    return pd.DataFrame(
        {
            "id": [f"p{i:06d}" for i in range(n)],
            "age": age.astype(str),
            "gain": np.where(rng.random(n) < 0.3, rng.lognormal(8, 1, n).round(2), 0).astype(str),
            "loss": (-rng.exponential(3.0, n)).round(3).astype(str),
            "job": rng.choice(["clerk", "smith", "émigré 🙂", "rare"], n, p=[0.5, 0.3, 0.195, 0.005]),
            "gaps": np.where(rng.random(n) < 0.4, "", rng.integers(0, 2, n).astype(str)),
            "income": np.where(age > 40, "high", "low"),
        }
    )


def plan(names, **settings):
    given = {"label": None, "n": N, "epsilon": 3.0, "delta": 1e-6} | settings
    return plan_draft(names, **given)


# ------------------------------------------------------------------------------------------------- the grid


@pytest.mark.parametrize("value", [1.0, -1.0, 0.75, 2.0**-60, 1e29, -3.7e-5, 2.0**99, 1023.9999])
def test_a_number_lies_between_the_ends_of_its_bin(value):
    low, high = ends(bin_of(value))
    assert low <= value <= high and (low < value or low == value)


def test_every_cell_has_one_bin():
    assert [bin_of(v) for v in (0.0, 1e-30, -1e-30)] == [ZERO] * 3
    assert bin_of(math.inf) == bin_of(1e30) == TEXT - 1 and bin_of(-math.inf) == 0
    assert bin_of("x") == TEXT and bin_of(None) == bin_of("?") == GAP
    assert [ends(i)[0] for i in range(TEXT)] == sorted(ends(i)[0] for i in range(TEXT)) and GAP + 1 + len(
        FORMS
    ) == BINS


FORMED = {
    "comma": ["1,5", "-1.234,50"], "separated": ["1,234", "1 234"], "thousands": ["1,234,567", "1,234.5"],
    "amount": ["$5", "80 kg", "5 days"], "date": ["2020-01-31", "2020-01-31 10:00"], "dmy": ["31.01.2020"], "mdy": ["1/31/2020"],
    "day or month": ["1/2/2020"], "time": ["10:30", "2:30 pm"],
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_text_has_one_form(form):
    assert [bin_of(cell_of(cell)) for cell in FORMED[form]] == [FORMS[form]] * len(FORMED[form])
    assert {
        bin_of(cell_of(t)) for t in ("yes", "p00012", "12 Main Street", "1-2", "x" * 10**5, "2020-02-31")
    } == {TEXT}


@pytest.mark.parametrize(
    "low, high", [(17.2, 88.9), (0.0, 9381.0), (-3.3e-7, 2e-9), (41.0, 41.0), (-1e30, 1e30)]
)
def test_rounding_goes_outward_and_makes_bounds(low, high):
    down, above = rounded_outward(low, high)
    assert down <= low and above >= high and Numeric(down, above)
    assert above - down <= 1.25 * max(high - low, max(abs(high), 1.0) / 10)


# ------------------------------------------------------------------------------------------------ what it finds


def test_a_table_that_nobody_knows():
    people = table()
    domain = Domain.draft(people, epsilon=3.0)
    assert domain.classes == ("high", "low") and domain.label == "income" and domain.n == N
    assert "id" not in domain.columns
    kinds = {name: type(column) for name, column in domain.columns.items()}
    assert kinds["job"] is Categorical and all(kinds[c] is Numeric for c in ("age", "gain", "loss", "gaps"))
    assert set(domain.columns["job"].categories) == {"clerk", "smith", "émigré 🙂"}
    age, loss = domain.columns["age"], domain.columns["loss"]
    assert 8 <= age.low <= 25 and 80 <= age.high <= 128 and age.missing == "midpoint"
    assert domain.columns["gain"].low == 0 and loss.high <= 1.0 and loss.low < -8
    assert domain.columns["gaps"].missing == "impute"


def test_years_are_far_from_zero_and_near_each_other():
    people = table(5000)[["age", "income"]].assign(age=lambda t: (t.age.astype(int) + 1930).astype(str))
    years = [Domain.draft(people, epsilon=3.0).columns["age"] for _ in range(9)]
    assert 1935 <= np.median([y.low for y in years]) <= 1955
    assert 2013 <= np.median([y.high for y in years]) <= 2030


def test_a_text_in_a_column_of_numbers_is_a_gap():
    people = table().assign(age=lambda t: np.where(np.arange(len(t)) % 10 == 0, "unknown age", t.age))
    column = Domain.draft(people, epsilon=3.0).columns["age"]
    assert isinstance(column, Numeric) and column.missing == "impute"


def test_what_an_empty_cell_counts_as_where_no_gaps_were_seen():
    """A draft saw 8 % of gaps in 4 of 12 runs, and where it did not, they were filled without a word."""
    people = pd.concat([table()[["age", "gaps", "income"]]] * 2, ignore_index=True)
    drafted = draft_in_private(plan(list(people), n=2 * N), people)
    age = drafted.columns["age"]
    (said,) = [line for line in drafted.told() if line.startswith("NO GAPS")]
    assert (
        f"{(age.low + age.high) / 2:g} in 'age'" in said
        and "'gaps'" not in said
        and "missing: impute" in said
    )
    assert said in drafted.text()


def test_a_draft_writes_the_keys_that_its_file_is_judged_by():
    """`ledger verify` calls any other key of such a file an edit."""
    people = pd.DataFrame(
        {"who": [f"p{i}" for i in range(N)], "x": np.arange(N) % 50, "y": ["a", "b"] * (N // 2)}
    )
    unit = {"unit": "who", "rows_per_unit": 2}
    made = [
        plan_draft(["x", "who"], label="who", epsilon=3.0, delta=1e-6, n=N),
        plan_draft(["who", "x", "y"], label="y", classes=["a", "b"], epsilon=3.0, delta=1e-6, n=N, **unit),
    ]
    written = [yaml.safe_load(draft_in_private(plan, people).text()).keys() for plan in made]
    assert set().union(*written) == WRITTEN


def test_what_is_too_rare_is_left_out_and_said(tmp_path):
    people = pd.DataFrame({"id": [f"p{i}" for i in range(N)], "y": np.arange(N).astype(str)})
    drafted = draft_in_private(plan(list(people)), people)
    assert drafted.left_out == ("id",) and drafted.problem
    with pytest.raises(ValueError, match="draft with a larger epsilon"):
        drafted.domain()
    (tmp_path / "S.yaml").write_text(drafted.text(), encoding="utf-8")
    with pytest.raises(ValueError):
        load_schema(tmp_path / "S.yaml")


def test_a_constant_a_gap_and_a_hundred_thousand_names():
    n = 100_000
    many = pd.DataFrame(
        {
            "constant": ["39"] * n,
            "nothing": [""] * n,
            "names": [f"name {i}" for i in range(n)],
            "y": ["a", "b"] * (n // 2),
        }
    )
    domain = Domain.draft(many, epsilon=1.0)
    assert list(domain.columns) == ["constant"]
    assert domain.columns["constant"].low <= 39 <= domain.columns["constant"].high


def test_more_names_than_a_list_may_hold():
    names = [f"n{i:03d}" for i in range(150)]
    people = pd.DataFrame({"c": names * 1000, "y": ["a", "b"] * 75_000})
    assert len(Domain.draft(people, epsilon=5.0).columns["c"].categories) == 100


def otherwise(n=N, seed=0):
    """Columns that are written otherwise; the last is a target."""
    rng = np.random.default_rng(seed)
    pay, day = rng.gamma(2, 2000, n), rng.integers(11_000, 19_000, n)
    stamp = [pd.Timestamp(int(d), unit="D") for d in day]
    return pd.DataFrame(
        {
            "comma": [f"{p:.2f}".replace(".", ",") for p in pay],
            "thousands": [f"{p:,.1f}" for p in pay],
            "far": [f"{1960 + int(d) % 50},5" for d in day],  # sought once more, at what is left of its part
            "amount": [f"{p / 50:.0f} kg" for p in pay],
            "date": stamp,
            "mdy": [s.strftime("%m/%d/%Y") for s in stamp],
            "time": [f"{h}:{m:02d}" for h, m in zip(rng.integers(8, 20, n), rng.integers(0, 60, n))],
            "number": pay.round(2),
            "price": np.where(rng.random(n) < 0.2, 0, (3 * pay).round(2)),
        }
    )


def test_how_numbers_are_written_is_drafted_and_so_is_a_target(tmp_path):
    made = draft_in_private(plan(list(otherwise())), otherwise())
    domain = made.domain()
    written = {name: column.written for name, column in domain.columns.items()}
    assert written.pop("far") == "comma" and written == {name: name for name in written}
    assert len(written) == len(otherwise().columns) - 2
    assert domain.classes == () and 0 <= domain.target.low < 3000 and 15_000 < domain.target.high < 70_000
    assert domain.columns["comma"].low < 2000 and 6000 < domain.columns["comma"].high < 40_000
    assert 10_500 <= domain.columns["mdy"].low < 13_000 and 17_000 < domain.columns["mdy"].high < 21_000
    assert domain.columns["time"].high <= 24 and domain.columns["amount"].high < 2000
    (tmp_path / "S.yaml").write_text(made.text(), encoding="utf-8")
    assert load_schema(tmp_path / "S.yaml").domain() == domain and "drafted for regression" in made.text()
    model = prepriv.PrivateRegressor(domain, epsilon=9.0).fit(otherwise(), otherwise().price).model_
    assert np.corrcoef(model.predict(otherwise()), otherwise().price)[0, 1] > 0.5


def test_a_label_is_a_target_only_where_it_shows_no_classes(tmp_path):
    rng = np.random.default_rng(0)
    ages = pd.DataFrame({"a": np.ones(N), "y": rng.integers(20, 60, N)})  # forty values, each common enough
    assert Domain.draft(ages, epsilon=20.0).target is not None
    assert Domain.draft(ages.assign(y=ages.y // 10), epsilon=20.0).classes == ("2", "3", "4", "5")
    rare = draft_in_private(plan(["a", "y"]), ages.assign(y=(np.arange(N) < 5).astype(int)))
    assert rare.classes == ("0",) and rare.target is None and rare.problem
    texts = draft_in_private(plan(["a", "y"]), ages.assign(y=[f"p{i}" for i in range(N)]))
    assert texts.target is None and texts.problem


def test_what_is_left_out_is_said():
    people = table().assign(income=np.where(np.arange(N) % 10 == 0, [f"i{i}" for i in range(N)], "low"))
    people.loc[::2, "income"] = "high"
    made = draft_in_private(plan(list(people)), people)
    told = "\n".join(made.told())
    assert "LEFT OUT 'id'" in told and all(f"# {line}" in made.text() for line in made.told())
    assert "Bounds are noisy by design" in told
    odd = draft_in_private(
        plan(["a", "y"]),
        people[["job", "income"]]
        .set_axis(["a", "y"], axis=1)
        .assign(y=lambda t: t.y.where(np.arange(N) % 3 > 0)),
    )
    assert "LEFT OUT of 'y': the classes of about 3" in "\n".join(odd.told())


# ------------------------------------------------------------------------------------------------- what it costs


@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
def test_the_claim_is_the_composition_of_its_parts(adjacency):
    look = plan(list(table(10)), adjacency=adjacency, epsilon=0.7).look
    mu = math.sqrt(sum(part.mu**2 for part in look.parts))
    leak = sum(part.delta for part in look.parts)
    exact = leak + (1 - leak) * gaussian(mu).delta(0.7)
    assert 0.999 * look.delta <= exact <= look.delta
    assert look.guarantee.epsilon(look.delta) <= 0.7 and look.guarantee.mu is None
    assert leak == pytest.approx(look.delta / 4) and look.guarantee.tradeoff.delta(0.7) <= look.delta
    assert approximate_dp(0.0, leak).delta(50.0) == pytest.approx(leak)


def test_a_draft_pays_for_both_ends_of_a_range():
    """A plan that promises less than its releases spend is refused by what pays for them."""
    made, session = plan(list(table(10))), Recorder()
    draft_in_private(made, table(), session=session)
    spent = sum(r.mechanism.cost.mu_squared for r in session.releases)
    paid = sum(part.mu**2 for part in made.look.parts)
    assert 0.7 * paid < spent <= paid * (1 + 1e-9)
    half = replace(made.look, parts=tuple(replace(p, mu=p.mu / 2) for p in made.look.parts))
    with pytest.raises(SpentError):
        release_draft(made, table(), half.session(Recorder()))


def test_charged_before_a_cell_is_read(tmp_path):
    Ledger.create(tmp_path / "L.db", "people", epsilon=1, delta=1e-5)
    with pytest.raises(BudgetExceeded):
        Domain.draft(table(), epsilon=2.0, ledger=tmp_path / "L.db")
    Domain.draft(table(), epsilon=0.9, ledger=tmp_path / "L.db")
    assert Ledger.open(tmp_path / "L.db").remaining().epsilon == pytest.approx(0.1, abs=1e-4)
    with pytest.raises(BadData, match="the table has another number"):
        Domain.draft(table(), n=N - 1, epsilon=0.05, ledger=tmp_path / "L.db")
    kinds = [entry.kind for entry in Ledger.open(tmp_path / "L.db").entries()]
    assert kinds == ["charged", "released"]  # and what was drafted, by its hash


@pytest.mark.parametrize(
    "settings",
    [{"epsilon": math.inf}, {"epsilon": -1}, {"delta": 0}, {"n": 0}, {"label": "no"}, {"adjacency": "x"}],
)
def test_mistakes_are_sentences_and_cost_nothing(settings):
    with pytest.raises(ValueError):
        plan(list(table(10)), **settings)


@pytest.mark.parametrize(
    "names",
    [
        [0, 1],
        ["a", 1],
        [("a", "b"), ("a", "c")],
        pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]),
        ["a", None],
        [0.0, "a"],
    ],
    ids=str,
)
def test_names_that_are_not_texts_are_refused_before_the_charge(names, tmp_path):
    frame = pd.DataFrame(np.ones((50, 2)))
    frame.columns = names
    before = len(prepriv.spent().fits)
    with pytest.raises(ValueError, match="columns must be texts") as caught:
        Domain.draft(frame, epsilon=1.0)
    assert "\n" not in str(caught.value) and len(prepriv.spent().fits) == before


def test_under_add_or_remove_one_rows_are_declared():
    with pytest.raises(ValueError, match="n must be declared"):
        Domain.draft(table(), epsilon=1.0, adjacency="add-or-remove-one")
    assert Domain.draft(table(), epsilon=3.0, n=5000, adjacency="add-or-remove-one").n == 5000


# ---------------------------------------------------------------------------------------------- nothing else leaves

HOSTILE = [
    "1e400",
    "-1e-320",
    "\x1b[31mred",
    "x" * 200,
    "y" * 10**7,
    "🙂",
    "clerk ",
    "CLERK",
    "other",
    "nan",
    "\u202eevil",
    "low",
    "001",
]


def drafted(data, session):
    made = plan(list(data.columns), n=len(data), epsilon=9.0)
    return {"schema": draft_in_private(made, data, session=session).text()}


def test_replay_of_hostile_records():
    people = table(1000)
    cells = [Neighbour(f"cells {c[:9]!a}", people.copy()) for c in HOSTILE]
    for neighbour, cell in zip(cells, HOSTILE):
        neighbour.data.iloc[7, slice(3, 4) if len(cell) > 10**5 else slice(None)] = cell
    first = Neighbour("a record at the front", pd.concat([people.iloc[-1:], people.iloc[:-1]]))
    result = replay(drafted, people, [*cells, first])
    assert result.findings == [] and result.pairs == len(HOSTILE) + 1
    assert max(result.reach.values()) > 0.99


def test_replay_of_a_record_added_and_removed():
    people = table(N + 1)

    def run_(data, session):
        made = plan(list(data.columns), adjacency="add-or-remove-one")
        return {"schema": draft_in_private(made, data, session=session).text()}

    odd = people.iloc[[0]].assign(job="unheard of", age="-7e99", income="third")
    neighbours = [Neighbour("removed", people.iloc[1:]), Neighbour("added", pd.concat([odd, people]))]
    assert replay(run_, people, neighbours).findings == []


@pytest.mark.parametrize(
    "cell", ["1,5", "9.999.999,9", "5 kg", "2020-01-01", "32.13.2020", "99:99", None, "yes"]
)
def test_replay_of_a_cell_that_is_written_otherwise(cell):
    people = otherwise(1000)
    other = people.astype(object)
    other.iloc[7] = cell
    result = replay(drafted, people, [Neighbour(str(cell), other)])
    assert result.findings == []


def test_order_of_rows_shows_nowhere():
    people = table(1000)
    result = replay(drafted, people, [Neighbour("reversed", people.iloc[::-1])])
    assert result.findings == [] and max(result.reach.values()) == 0


# ----------------------------------------------------------------------------------------------------- the command


@pytest.fixture
def file(tmp_path):
    table().to_csv(tmp_path / "d.csv", index=False)
    return tmp_path / "d.csv"


def test_a_private_draft_needs_no_editing(file, tmp_path, capsys):
    out, ledger = tmp_path / "S.yaml", tmp_path / "L.db"
    Ledger.create(ledger, "people", epsilon=4, delta=1e-5)
    options = [
        "--epsilon",
        "3",
        "--delta",
        "1e-6",
        "--rows",
        str(N),
        "--ledger",
        str(ledger),
        "--out",
        str(out),
    ]
    assert run(["schema", "init", str(file), *options]) == 0
    said = capsys.readouterr()
    assert "private: ε = " in said.err and "LEFT OUT 'id'" in said.err and "WARNING" not in said.err
    assert load_schema(out).domain().n == N
    assert run(["plan", str(out)]) == 0


SAID_BEFORE = (
    "one row, one person",
    "before a record is read",
    "at ε = ",
    "few records",
)  # what a draft says of itself, mistake or not


@pytest.mark.parametrize(
    "options, sentence, code",
    [
        (["--epsilon", "1"], "--rows", 2),
        (["--rows", "4000"], "give --epsilon", 2),
        (["--epsilon", "1", "--rows", "4000", "--label", "no"], "no column 'no'", 2),
        (["--epsilon", "1", "--rows", "3999"], "the table has another number", 2),
        (["--epsilon", "1", "--rows", "4000", "--adjacency", "x"], "adjacency", 2),
    ],
)
def test_bad_input_is_one_line(file, capsys, options, sentence, code):
    assert run(["schema", "init", str(file), *options]) == code
    said = capsys.readouterr()
    wrong = [line for line in said.err.splitlines() if not line.startswith(SAID_BEFORE)]
    assert sentence in said.err and len(wrong) == 1 and not said.out


def test_rows_that_differ_are_told_after_the_charge(file, tmp_path, capsys):
    Ledger.create(tmp_path / "L.db", "people", epsilon=4, delta=1e-5)
    options = ["--epsilon", "1", "--rows", "3999", "--ledger", str(tmp_path / "L.db")]
    assert run(["schema", "init", str(file), *options]) == 70
    assert "the charge, which stays" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "a\n1\n", "a,a,y\n1,2,3\n", "a;b\n1;2\n"])
def test_a_file_that_is_no_table_is_one_line(tmp_path, capsys, content):
    (tmp_path / "d.csv").write_text(content, encoding="utf-8")
    assert run(["schema", "init", str(tmp_path / "d.csv"), "--epsilon", "1", "--rows", "1"]) == 2
    said = capsys.readouterr()
    assert len(said.err.splitlines()) == 1 and not said.out


def test_any_library_has_the_same_header():
    people = table(50)
    assert frame_of(pa.Table.from_pandas(people, preserve_index=False)).columns == list(people.columns)
    with pytest.raises(BadData, match="expected a pandas"):
        Domain.draft([[1, 2]], epsilon=1.0)


def test_years_are_bounded_by_years():
    """In a table of nine columns at ε = 0.2 a draft said 1090 to 2010: the range 1024 to 2048 is nearly empty, and a guess in it is far off."""
    rng, n = np.random.default_rng(1), 7874
    table = pd.DataFrame({f"c{i}": rng.normal(50, 15, n).round(1) for i in range(7)})
    table = table.assign(year=rng.integers(1995, 2004, n), y=rng.integers(0, 2, n))
    for epsilon, aims in ((0.2, True), (2.0, False)):
        domain = prepriv.Domain.draft(table, label="y", epsilon=epsilon, n=n, classes=["0", "1"])
        year = domain.columns["year"]
        assert 1990 < year.low < 1999 < year.high < 2010
        assert any("LOOK AT 'year'" in line for line in domain.drafts[0].told) == aims


def test_dates_are_bounded_by_dates_and_an_estimate_is_said_to_be_one():
    """Of 14 months of dates nine drafts of nine at ε = 0.2 had bounds 33 to 151 years wide, without a word: noise put them anywhere from 1900 to 2100."""
    rng, n = np.random.default_rng(4), 15_402
    days = np.datetime64("2016-07-01") + rng.integers(0, 427, n)
    table = pd.DataFrame({f"c{i}": rng.integers(0, 9, n) for i in range(8)}).assign(
        day=days.astype(str), y=rng.integers(0, 2, n)
    )
    for epsilon, aims in ((0.1, True), (5.0, False)):
        domain = prepriv.Domain.draft(table, label="y", epsilon=epsilon, n=n, classes=["0", "1"])
        day = domain.columns["day"]
        assert day.written == "date"
        assert 16_617 < day.low < 17_000 < 17_300 < day.high < 17_700  # from 2015-07 to 2018-06
        said = [line for line in domain.drafts[0].told if "LOOK AT 'day'" in line]
        assert len(said) == aims
        assert all("too narrow or too wide" in line and "Declare the bounds" in line for line in said)


def test_where_noise_may_put_the_bounds_of_dates_is_said_in_dates():
    rng, n = np.random.default_rng(4), 1500
    days = np.datetime64("2016-07-01") + rng.integers(0, 427, n)
    table = pd.DataFrame({f"c{i}": rng.integers(0, 2, n) for i in range(4)}).assign(
        day=days.astype(str), y=rng.integers(0, 2, n)
    )
    told = prepriv.Domain.draft(table, label="y", epsilon=0.3, n=n, classes=["0", "1"]).drafts[0].told
    (line,) = [line for line in told if "LOOK AT 'day'" in line]
    assert "anywhere from 1900-01-01 to 2100-01-01" in line


def test_bounds_of_one_size_keep_their_cells_and_no_side_is_claimed():
    """Of days from 8302 to 11503 a draft at ε = 0.3 kept 10000 to 11200, which cut 39 % of the cells, and said "may be much too wide"."""
    rng, n = np.random.default_rng(3), 2843
    days = np.clip(11600 - rng.gamma(2.6, 400, n), 8302, 11503).round()
    table = pd.DataFrame({f"c{i}": rng.integers(0, 2, n) for i in range(4)}).assign(
        diag=days, y=rng.integers(0, 2, n)
    )
    cut, said = [], []
    for _ in range(9):
        domain = prepriv.Domain.draft(table, label="y", epsilon=0.3, n=n, classes=["0", "1"])
        diag = domain.columns["diag"]
        cut.append(float(np.mean((days < diag.low) | (days > diag.high))))
        said += [line for line in domain.drafts[0].told if "LOOK AT 'diag'" in line]
    assert np.median(cut) < 0.1  # 0.35 as they were found
    assert len(said) == 9
    assert all("too narrow or too wide" in line and "records (20 %) beyond each" in line for line in said)


def test_quantiles_are_moved_as_for_a_bell_curve_and_stay_in_the_range():
    z = 0.841621  # of a bell curve, a fifth lies beyond
    assert _moved_outward((-z, z), (-9.0, 9.0), 0.2) == pytest.approx((-1.96, 1.96), abs=1e-4)
    assert _moved_outward((-1.0, 1.0), (-1.2, 9.0), 0.2) == pytest.approx((-1.2, 2.329), abs=1e-3)
    for few in (0.0, 0.02):  # they are far enough out
        assert _moved_outward((-1.0, 1.0), (-9.0, 9.0), few) == pytest.approx((-1.0, 1.0), abs=1e-9)


def test_bounds_about_one_value_are_said_to_cut_all_others():
    """A finding: of numbers from 14 to 45, nearly all of them 45, a draft kept 44.991 to 45.009 and said "an estimate"."""
    rng, n = np.random.default_rng(1), 8000
    numbers = np.where(rng.random(n) < 0.999, 45.0, rng.uniform(14, 45, n)).round(1)
    table = pd.DataFrame({"ct": numbers, "year": rng.integers(1995, 2004, n), "y": rng.integers(0, 2, n)})
    table["day"] = rng.integers(
        17_167, 17_532, n
    )  # of 2017, as numbers of days: close together, and not one value
    said = []
    for _ in range(9):
        domain = prepriv.Domain.draft(table, label="y", epsilon=1.0, n=n, classes=["0", "1"])
        said += [line.split("'")[1] for line in domain.drafts[0].told if "about one value" in line]
    assert said.count("ct") > 6 and said.count("year") < 3  # of 9; mostly 9 and 0
    assert said.count("day") < 3
