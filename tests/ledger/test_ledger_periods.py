"""A ledger by periods: each month has the whole cap, a charge of several is booked on each or on none, and months add up."""

import math
import random
import re
import shlex
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from prepriv.cli import run
from prepriv.ledger import (
    BudgetExceeded,
    Charge,
    Ledger,
    LedgerCorrupt,
    PlanRefused,
    hash_chain,
    sql_rows,
    sql_schema,
    verify_file,
)
from prepriv.ledger.by_period import booked_in_periods, in_words_together, together
from prepriv.ledger.currency import Quanta

HASH, DAYS = "5e" * 32, "month of `visited`"
DOCS = Path(__file__).parents[2] / "docs"


def book_of(path, adjacency="add-or-remove-one", periods=DAYS, **cap):
    return Ledger.create(
        path, "visits", adjacency=adjacency, periods=periods, **(cap or {"epsilon": 1.0, "delta": 1e-5})
    )


def on(ledger, uid, *periods, epsilon=0.3, delta=1e-7, scheme=DAYS, **more):
    return ledger.charge(
        uid,
        HASH,
        adjacency="add-or-remove-one",
        epsilon=epsilon,
        delta=delta,
        scheme=scheme,
        periods=periods,
        **more,
    )


@pytest.fixture
def visits(tmp_path):
    """Two charges of October, one of October and November together, the first released."""
    made = book_of(tmp_path / "v.db")
    on(made, "a", "2026-10")
    on(made, "b", "2026-10")
    on(made, "c", "2026-11", "2026-10")
    made.released("a", "7a" * 32)
    return made


def test_each_month_has_the_whole_cap_and_a_charge_is_booked_on_all_its_months_or_on_none(visits):
    assert visits.remaining("2026-10").epsilon == 0.1 and visits.remaining("2026-11").epsilon == 0.7
    assert visits.remaining("2031-01") == visits.cap
    before = visits.entries()
    with pytest.raises(BudgetExceeded, match=r"epsilon 0.1, delta 0.0000097 .* 2026-10"):
        on(visits, "d", "2026-12", "2026-10", "2026-11", epsilon=0.2)
    assert visits.entries() == before and visits.verify() == []
    assert on(visits, "d", "2026-12", "2026-11", epsilon=0.2) == Charge(7, visits.entries()[-1].head)
    assert [(e.period, e.spent.main) for e in visits.entries() if e.plan_uid == "d"] == [
        ("2026-12", 200_000_000),
        ("2026-11", 500_000_000),
    ]


def test_a_run_is_charged_and_released_once_and_confirmed_by_its_last_row(visits):
    with pytest.raises(PlanRefused, match="charged before"):
        on(visits, "c", "2027-01")
    assert visits.confirm("c", HASH) == Charge(4, visits.entries()[3].head)
    visits.released("c", HASH)
    for again in ("a", "c"):
        with pytest.raises(PlanRefused, match="released before"):
            visits.released(again, "6f" * 32)
    rows = len(visits.entries())
    visits.released("c", HASH)  # the same artifact: saved twice, say
    assert len(visits.entries()) == rows
    with pytest.raises(PlanRefused, match="edited since"):
        visits.confirm("b", "6f" * 32)
    assert visits.verify([Charge(e.sequence, e.head) for e in visits.entries()]) == []


@pytest.mark.parametrize(
    "change, said",
    [
        ({"scheme": "", "periods": ()}, "has one budget for each month of `visited`, and the plan reads all rows"),
        ({"scheme": "month of `born`"}, "has one budget for each month of `visited`, and the plan reads rows of one month of `born`"),
        ({"scheme": "year of `visited`", "periods": ["2026"]}, "for each month"),
        ({"periods": ["2026"]}, "months such as 2026-11"),
        ({"periods": ["2026-13"]}, "months such as 2026-11"),
        ({"periods": ["２０26-11"]}, "months such as 2026-11"),
        ({"periods": [""]}, "months such as 2026-11"),
        ({"periods": [None]}, "months such as 2026-11"),
        ({"periods": []}, "at least one"),
    ],
)  # fmt: skip
def test_a_charge_that_is_not_of_the_ledgers_months_is_refused(visits, change, said):
    before = visits.entries()
    arguments = {"scheme": DAYS, "periods": ["2026-11"]} | change
    with pytest.raises(ValueError, match=re.escape(said)):
        visits.charge("x", HASH, adjacency="add-or-remove-one", epsilon=0.1, delta=0, **arguments)
    assert visits.entries() == before


def test_a_ledger_without_periods_takes_no_plan_of_some(ledger):
    with pytest.raises(ValueError, match=r"budget for all rows, .* month"):
        ledger.charge(
            "x", HASH, adjacency="replace-one", epsilon=0.1, delta=0, scheme=DAYS, periods=["2026-11"]
        )
    assert len(ledger.entries()) == 4


@pytest.mark.parametrize(
    "periods", ["visited", "week of `visited`", "month of visited", "month of `a`b`", "month of ``", 3]
)
def test_which_periods_there_are_is_declared_in_one_way(tmp_path, periods):
    with pytest.raises(ValueError, match="periods must be 'month of"):
        book_of(tmp_path / "v.db", periods=periods)
    assert not list(tmp_path.iterdir())


def test_a_record_that_is_replaced_could_move_to_another_month(tmp_path):
    with pytest.raises(ValueError, match="could move to another period"):
        book_of(tmp_path / "v.db", adjacency="replace-one")


def test_threads_that_charge_overlapping_months_never_exceed_a_cap(tmp_path):
    """Twenty charges of a tenth, each of one to three of four months: whatever interleaving, all rows of a charge or none."""
    path = tmp_path / "v.db"
    book_of(path)
    months = ["2026-08", "2026-09", "2026-10", "2026-11"]
    dice = random.Random(4)
    wanted = {f"run-{i}": dice.sample(months, dice.randint(1, 3)) for i in range(20)}

    def work(uid):
        try:
            return uid if on(Ledger.open(path, timeout=60), uid, *wanted[uid], epsilon=0.15) else None
        except BudgetExceeded:
            return None

    with ThreadPoolExecutor(5) as pool:
        granted = {uid for uid in pool.map(work, wanted) if uid}
    entries = Ledger.open(path).entries()
    assert {e.plan_uid for e in entries} == granted and 0 < len(granted) < 20
    for uid in granted:
        assert sorted(e.period for e in entries if e.plan_uid == uid) == sorted(wanted[uid])
    for month in months:
        assert sum(e.cost.main for e in entries if e.period == month) <= 10**9
        left = Ledger.open(path).remaining(month).epsilon
        refused = [uid for uid in wanted if uid not in granted and month in wanted[uid]]
        assert left < 0.15 or not [u for u in refused if wanted[u] == [month]]
    assert verify_file(path) == []


# ------------------------------------------------------------------------------------------ what months add up to


@pytest.mark.parametrize(
    "unit, cap", [("basic", {"epsilon": 9, "delta": 0.1}), ("gdp", {"mu": 9}), ("zcdp", {"rho": 9})]
)
def test_someone_who_was_there_in_all_months_pays_for_each(tmp_path, unit, cap):
    made = book_of(tmp_path / "v.db", unit=unit, **cap)
    costs = {"epsilon": 0.5, "delta": 1e-6, "mu": 0.25, "rho": 0.125}
    for uid, months in {"a": ["2026-10"], "b": ["2026-11"], "c": ["2026-10", "2026-11", "2026-12"]}.items():
        on(made, uid, *months, **costs)
    found = together(made.header, made.entries())
    delta = 2e-6 + 1e-6 * (1 + math.exp(0.5) + math.exp(1.0))
    exact = {"basic": 2.5 * 10**9, "gdp": (2 + 9) * 0.0625 * 10**12, "zcdp": (2 + 9) * 0.125 * 10**12}[unit]
    assert found.main == exact
    assert found.delta == 0 if unit != "basic" else 0 <= found.delta / 10**18 - delta < 1e-14
    each = booked_in_periods(made.entries())
    assert list(each) == ["2026-10", "2026-11", "2026-12"] and max(c.main for c in each.values()) < found.main


def test_where_plans_read_one_month_each_their_costs_just_add_up(tmp_path):
    made = book_of(tmp_path / "v.db")
    assert together(made.header, ()) == Quanta(0)
    for month in range(1, 8):
        on(made, f"m{month}", f"2026-0{month}", epsilon=0.9)
    assert together(made.header, made.entries()) == Quanta(7 * 9 * 10**8, 7 * 10**11)


def test_no_bound_is_stated_where_delta_passes_one(tmp_path):
    made = book_of(tmp_path / "v.db", epsilon=2000, delta=0.5)
    on(made, "a", "2026-10", "2026-11", epsilon=1000, delta=0)
    assert in_words_together(made.header, made.entries()) == "epsilon 2000, delta 0"
    on(made, "b", "2026-10", "2026-11", epsilon=20, delta=1e-6)
    assert in_words_together(made.header, made.entries()) == "no bound"
    on(made, "c", "2026-10", "2026-11", epsilon=900, delta=1e-6)
    assert in_words_together(made.header, made.entries()) == "no bound"


# ------------------------------------------------------------------------------------------ the file


def _row(ledger, **changes):
    """The next honest row of a charge of November, changed."""
    tail = replace(hash_chain.Tail.after(ledger.entries()[-1]), spent=ledger.booked_of("2026-11"))
    row = hash_chain.extend(tail, "charged", "x", HASH, day=tail.day, cost=Quanta(5), period="2026-11")
    return replace(row, **changes)


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"spent": Quanta(5)}, "totals do not add up"),  # as if nothing was charged to November
        ({"period": "2026-10"}, "totals do not add up"),  # November's total on October
        ({"period": "2026-10", "cost": Quanta(10**9), "spent": Quanta(19 * 10**8, 3 * 10**11)}, "cap is exceeded"),
        ({"period": "2026"}, "not a month or year as declared|do not add up"),
        ({"plan_uid": "c"}, "charged or released before"),
    ],
)  # fmt: skip
def test_sqlite_itself_refuses_what_no_charge_of_a_month_writes(visits, changes, said):
    row = _row(visits, **changes)
    db = sqlite3.connect(visits.path)
    with pytest.raises(sqlite3.Error, match=said):
        sql_rows.append(db, replace(row, head=row.digest()))
    db.close()
    assert visits.verify() == []


def test_a_perfect_chain_with_another_total_or_month_is_found(visits):
    tail = replace(hash_chain.Tail.after(visits.entries()[-1]), spent=visits.booked_of("2026-11"))
    assert hash_chain.check_entry(visits.header, tail, _row(visits)) == []
    for change, said in (
        ({"period": ""}, "period"),
        ({"period": "2026"}, "period"),
        ({"spent": Quanta(5)}, "add up"),
    ):
        row = _row(visits, **change)
        assert said in hash_chain.check_entry(visits.header, tail, replace(row, head=row.digest()))[0]


def test_a_month_that_was_edited_is_found(visits):
    db = sqlite3.connect(visits.path)
    db.execute("DROP TRIGGER entries_no_update")
    db.execute("UPDATE entries SET period = '2026-12' WHERE sequence = 2")
    db.execute(sql_schema.PERIOD_STATEMENTS["entries_no_update"])
    db.commit()
    db.close()
    assert any(
        "row 2: its content does not match its hash" in problem for problem in verify_file(visits.path)
    )
    with pytest.raises(LedgerCorrupt):
        Ledger.open(visits.path)


def test_the_month_is_in_the_hash_and_the_kind_of_periods_in_the_genesis(visits):
    entries = visits.entries()
    assert replace(entries[0], period="2026-11").digest() != entries[0].head
    others = [
        replace(visits.header, periods=periods) for periods in ("", "year of `visited`", "month of `seen`")
    ]
    assert len({visits.header.genesis, *(header.genesis for header in others)}) == 4
    db = sqlite3.connect(visits.path)
    assert db.execute("PRAGMA user_version").fetchone() == (
        sql_schema.BY_PERIOD,
    )  # which older versions refuse
    db.close()


# ------------------------------------------------------------------------------------------ the page


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """visits.csv and the schema of docs/ledger.md in the working folder."""
    monkeypatch.chdir(tmp_path)
    dice = random.Random(1)
    lines = ["patient_id,visited,dose,better"]
    for i in range(3000):
        dose = dice.uniform(0, 10)
        day = f"2026-{dice.choice([9, 10, 11, 12]):02d}-{dice.randint(1, 28):02d}" if i % 100 else "soon"
        lines.append(f"{dice.randint(1, 900)},{day},{dose:.2f},{'yes' if dose > 5 else 'no'}")
    Path("visits.csv").write_text("\n".join(lines) + "\n")
    page = (DOCS / "ledger.md").read_text("utf-8").partition("## Month by month")[2].partition("\n## ")[0]
    yaml, commands, python = re.findall(r"```\w*\n(.*?)```", page, re.S)
    schema = (
        "label: {name: better, classes: ['no', 'yes']}\ncolumns:\n  dose: {type: numeric, low: 0, high: 10}\n"
    )
    Path("S.yaml").write_text(schema + "learner: {kind: GradientDescent, steps: 5}\nsteps: []\n" + yaml)
    evaluate = next(line for line in re.findall(r"`(prepriv evaluate[^`]*)`", page))
    return commands.splitlines(), evaluate, python


def test_the_page_trains_a_month_again_by_one_command(clinic, capsys):
    (create, train), evaluate, python = clinic
    for line in (create, train, train.replace("2026-11", "2026-10"), evaluate):
        assert run(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    told = capsys.readouterr().out
    assert "Only rows of 2026-11 were read" in told and "one person's rows of one month" in told
    assert (
        run(shlex.split(train.replace("run-2026-11", "again"))[1:]) == 3
        and "left of 2026-11" in capsys.readouterr().err
    )
    both = shlex.split(
        train.replace("--period 2026-11", "--period 2026-10 --period 2026-11").replace("0.7", "0.2")
    )[1:]
    assert run([*both[:-1], "both"]) == 0
    assert run(shlex.split("ledger show V.db")) == 0
    shown = capsys.readouterr().out
    assert "of rows of one month of `visited`)" in shown and "booked     2026-12" in shown
    assert re.search(r"together   epsilon 1\.9\d*, delta .* all 3 of them", shown)
    assert (
        run(shlex.split("ledger plan V.db --left --period 2026-10")) == 0
        and "--period 2026-10" in capsys.readouterr().out
    )
    assert "all rows of one `patient_id in one month of visited`" in " ".join(told.split())
    names: dict[str, object] = {}
    exec(compile(python, "ledger.md", "exec"), names)
    assert names["clf"].plan().periods.read == ("2026-11",)
    page = Path("run-2026-11/report.html").read_text("utf-8")
    assert "one person&#39;s rows of one month" in page or "one person's rows of one month" in page


@pytest.mark.parametrize(
    "line, said",
    [
        ("train visits.csv --schema S.yaml --ledger V.db", "the plan reads all rows"),
        ("train visits.csv --schema S.yaml --ledger V.db --period 2026", "a month is written as 2026-11"),
        (
            "train visits.csv --schema S.yaml --ledger V.db --period 2026-11 --adjacency replace-one",
            "could move",
        ),
        ("ledger create W.db --dataset v --epsilon 1 --delta 1e-5 --periods week:visited", "month:COLUMN"),
        ("ledger create W.db --dataset v --epsilon 1 --delta 1e-5 --periods month:visited", "could move"),
        ("ledger plan V.db --left", "months such as 2026-11"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(clinic, capsys, line, said):
    assert run(shlex.split(clinic[0][0])[1:]) == 0
    assert run(shlex.split(line)) == 2
    error = capsys.readouterr().err.strip()
    assert said in " ".join(error.split()) and not Ledger.open("V.db").entries() and not Path("W.db").exists()
