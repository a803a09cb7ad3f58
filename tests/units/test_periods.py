"""What a run of some months reads: their rows and no others, one unit for each person and month."""

import datetime
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import prepriv
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.learners import GradientDescent, Logistic
from prepriv.ledger import Ledger
from prepriv.periods import Periods
from prepriv.placed.rows import PrivateTable
from prepriv.release.report import Report
from prepriv.release.review import periods_in_words
from prepriv.runs.train import train
from prepriv.tables.units import by_unit, in_periods

NOVEMBER = Periods("seen", "month", ["2026-11"])
BOTH = Periods("seen", "month", ["2026-10", "2026-11"])


def domain(periods=NOVEMBER, **more):
    columns = {"dose": prepriv.Numeric(0, 16)}
    declared = {"n": 40, "adjacency": "add-or-remove-one", "periods": periods} | more
    return prepriv.Domain(columns, classes=["no", "yes"], **declared)


def persons(periods=NOVEMBER):
    return domain(periods, unit="who", rows_per_unit=4)


def kept(table):
    return [float(x) for _, block in table.blocks() for x in block[:, 0] * 16]


DATES = {
    "2026-11-03": True, "2026-11-30 23:59": True, "2026-11-01T00:00:00": True, " 2026-11-09 ": True,
    "2026-10-31": False, "2026-12-01": False, "2026-11-31": False, "2026-11": False, "2026-11-3": False,
    "20261103": False, "2026-W45-1": False, "2026-11-03x": False, "03.11.2026": False, "２０26-11-03": False,
    "": False, "n/a": False, None: False,
}  # fmt: skip


@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, pa.table, pl.DataFrame, "csv", "parquet"],
    ids=["pandas", "arrow", "polars", "csv", "parquet"],
)
def test_only_rows_of_the_month_are_read_and_each_date_decides_for_itself(make, tmp_path):
    doses = [j * 0.5 for j in range(len(DATES))]
    cells = {"dose": doses, "seen": list(DATES), "y": ["yes", "no"] * 8 + ["yes"]}
    wanted = [dose for dose, there in zip(doses, DATES.values()) if there]
    if isinstance(make, str):
        rows, labels = tmp_path / f"t.{make}", "y"
        frame = pd.DataFrame(cells)
        frame.to_csv(rows, index=False) if make == "csv" else frame.to_parquet(rows)
    else:
        rows, labels = make(cells), cells["y"]
    table, targets = in_periods(rows, labels, domain())
    assert kept(table) == wanted and targets.tolist() == [1, 0, 1, 0]
    unread = PrivateTable(rows, labels, domain(), 40)
    unread.check()
    assert kept(unread.read(0)[0]) == wanted


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table, pl.DataFrame], ids=lambda m: m.__module__)
@pytest.mark.parametrize("kind", ["date", "datetime", "datetime64[ms]"])
def test_dates_of_a_type_are_read_as_their_texts(make, kind):
    days = [datetime.datetime(2026, 11, 30, 23, 59), datetime.datetime(2026, 12, 1), None]
    column = [d.date() if kind == "date" and d else d for d in days]
    if kind.endswith("]"):
        column = np.array(days, dtype=kind)
    table, _ = in_periods(make({"dose": [1.0, 2.0, 3.0], "seen": column}), ["no"] * 3, domain())
    assert kept(table) == [1.0]


def visits():
    """Rows of five persons in three months, some of whom have none or one in a month; and their labels."""
    rng = np.random.default_rng(3)
    months = rng.integers(9, 12, 30)
    frame = pd.DataFrame(
        {
            "dose": rng.integers(0, 33, 30) / 2,
            "who": rng.integers(1, 6, 30),
            "seen": [f"2026-{month:02d}-05" for month in months],
        }
    )
    return frame, np.where(rng.random(30) > 0.5, "yes", "no")


def units_of(frame, labels, periods):
    """The units that are read, each as the sorted rows it has."""
    table, _ = by_unit(frame, labels, persons(periods), 40)
    ends = np.cumsum(table.sizes)
    rows = kept(table.every)
    return sorted(
        (
            sorted(zip(rows[end - size : end], table.labels[end - size : end]))
            for end, size in zip(ends, table.sizes)
        ),
    )


@pytest.mark.parametrize("who", [1, 2, 3, 4, 5])
def test_without_the_rows_of_one_person_in_one_month_one_unit_is_gone_and_no_other_changes(who):
    """Also in a plan of two months, where the person is still there in the other."""
    frame, labels = visits()
    gone = ((frame.who == who) & frame.seen.str.startswith("2026-10")).to_numpy()
    near, near_labels = frame[~gone], labels[~gone]
    assert units_of(frame, labels, NOVEMBER) == units_of(near, near_labels, NOVEMBER)
    for periods in (
        BOTH,
        Periods("seen", "month", ["2026-10"]),
        Periods("seen", "month", ["2026-09", "2026-10"]),
    ):
        more, less = units_of(frame, labels, periods), units_of(near, near_labels, periods)
        assert len(more) - len(less) == bool(gone.any())
        for unit in less:
            more.remove(unit)  # each is there, unchanged
    year = Periods("seen", "year", ["2026"])
    assert len(units_of(frame, labels, year)) == 5


@pytest.mark.parametrize("make", [domain, persons])
def test_what_is_read_of_november_is_the_same_whatever_october_holds(make):
    frame, labels = visits()
    november = frame.seen.str.startswith("2026-11").to_numpy()
    read = []
    for x, y in ((frame, labels), (frame[november], labels[november])):
        table, targets = PrivateTable(x, y, make(), 40).read(0)
        read.append((kept(getattr(table, "every", table)), targets.tolist()))
    assert read[0] == read[1] and 0 < len(read[0][0]) <= november.sum() < len(frame)


def plan_of(declared):
    learner = GradientDescent(Logistic(), steps=2)
    return prepriv.make_plan(declared, [], learner, epsilon=1.0, delta=1e-5)


def test_the_claim_is_of_one_persons_rows_of_one_month():
    plan = plan_of(persons(BOTH))
    assert plan.guarantee.unit == "who in one month of seen" and plan.periods == BOTH
    assert "m of these months" in periods_in_words(plan)[0]
    assert "one person's rows of one month" in periods_in_words(plan_of(persons()))[0]
    assert "one record" in periods_in_words(plan_of(domain()))[0] and plan_of(domain()).guarantee.unit is None
    assert plan_of(domain(None)).periods is None and not periods_in_words(plan_of(domain(None)))
    again = prepriv.Domain.from_json(plan.to_json()["domain"])
    assert again == persons(BOTH) and plan.hash != plan_of(persons()).hash
    review = Report.of(plan, private=True).to_json()
    assert "2026-10" in str(review)
    with pytest.raises(ValueError, match="unit"):
        plan.guarantee.compose(plan_of(domain(None, unit="who", rows_per_unit=4)).guarantee)


@pytest.mark.parametrize("priced, read", [(None, NOVEMBER), (NOVEMBER, None), (NOVEMBER, BOTH)])
def test_rows_of_other_months_than_the_plan_is_the_price_of_are_refused_before_a_charge(
    tmp_path, priced, read
):
    frame, labels = visits()
    book = Ledger.create(
        tmp_path / "v.db", "v", epsilon=9, delta=1e-3, adjacency="add-or-remove-one", periods=NOVEMBER.scheme
    )
    with pytest.raises(ValueError, match="periods"):
        train(plan_of(domain(priced)), PrivateTable(frame, labels, domain(read), 40), ledger=book.path)
    assert not book.entries()


@pytest.mark.parametrize("what", ["describe", "ask", "sketch", "choose", "transformer", "validate"])
def test_what_does_not_read_by_months_refuses(what):
    frame, labels = visits()
    declared = domain()
    calls = {
        "describe": lambda: prepriv.describe(frame, declared, epsilon=1.0),
        "ask": lambda: prepriv.ask(frame, declared, ["mean(dose)"], epsilon=1.0),
        "sketch": lambda: prepriv.sketch(frame, declared, labels, epsilon=1.0),
        "choose": lambda: prepriv.choose([prepriv.PrivateClassifier(declared)] * 2, frame, labels, declared),
        "transformer": lambda: prepriv.PrivateTransformer(declared, steps=[]).fit(frame),
        "validate": lambda: prepriv.validate(declared, frame, labels),
    }
    with pytest.raises((ValueError, TypeError), match="periods"):
        calls[what]()


@pytest.mark.parametrize("make", [persons, domain])
def test_a_model_is_measured_on_another_month_from_that_months_budget(tmp_path, make):
    frame, labels = visits()
    path = tmp_path / "v.db"
    book = Ledger.create(
        path, "v", epsilon=2, delta=1e-3, adjacency="add-or-remove-one", periods=NOVEMBER.scheme
    )
    clf = prepriv.PrivateClassifier(
        make(), epsilon=1.5, steps=[], learner=GradientDescent(Logistic(), steps=2), ledger=path, threads=1
    ).fit(frame, labels)
    plan = plan_evaluation(clf.model_, n=10, epsilon=1.0, read=["2026-10"])
    assert plan.guarantee.unit == clf.guarantee_.unit and plan.periods.read == ("2026-10",)
    unread = PrivateTable(frame, labels, plan.reads, plan.n)
    rows = kept(unread.read(0)[0])
    assert rows and set(rows) <= set(frame.dose[frame.seen.str.startswith("2026-10")])
    from prepriv.evaluation.evaluate import evaluate

    evaluate(plan, clf.model_, frame, labels, ledger=path)
    assert [(e.period, e.cost.main > 0) for e in book.entries()] == [("2026-11", True), ("2026-10", True)]
    with pytest.raises(ValueError, match="not trained by periods"):
        plan_evaluation(domain(None), n=10, read=["2026-10"])


def test_a_holdout_of_a_month_is_booked_on_that_month(tmp_path):
    frame, labels = visits()
    path = tmp_path / "v.db"
    book = Ledger.create(
        path, "v", epsilon=2, delta=1e-3, adjacency="add-or-remove-one", periods=NOVEMBER.scheme
    )
    learner = GradientDescent(Logistic(), steps=2)
    prepriv.PrivateClassifier(domain(), steps=[], learner=learner, holdout=0.5, ledger=path, threads=1).fit(
        frame, labels
    )
    assert [e.period for e in book.entries()] == ["2026-11"]


@pytest.mark.parametrize(
    "change, said",
    [
        ({"adjacency": "replace-one"}, "could move to another period"),
        ({"periods": ("seen", "month", ["2026-11"])}, "must be a prepriv.periods.Periods"),
        ({"periods": replace(NOVEMBER, column="dose")}, "neither the label"),
        ({"label": "seen"}, "neither the label"),
        ({"unit": "seen", "rows_per_unit": 3}, "neither the label"),
        ({"unit": "u" * 50, "rows_per_unit": 3}, "1 to 60"),
    ],
)
def test_a_domain_whose_months_mean_nothing_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        domain(**change)


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("seen", "week", ["2026-11"]), "month or year"),
        (("seen", ["month"], ["2026-11"]), "month or year"),
        (("", "month", ["2026-11"]), "column"),
        (("a`b", "month", ["2026-11"]), "column"),
        (("seen", "month", []), "must name the months"),
        (("seen", "month", "2026-11"), "must name the months"),
        (("seen", "month", ["2026"]), "written as 2026-11"),
        (("seen", "year", ["2026-11"]), "written as 2026"),
        (("seen", "month", ["2026-13"]), "written as 2026-11"),
        (("seen", "month", [202611]), "written as 2026-11"),
        (("seen", "month", ["2026-11", "2026-11"]), "once"),
    ],
)
def test_malformed_periods_are_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        Periods(*arguments)


def test_a_table_without_the_dates_is_refused_before_it_is_read():
    frame, labels = visits()
    for rows in (frame.drop(columns="seen"), frame[["dose"]].to_numpy()):
        with pytest.raises(ValueError, match=r"no column 'seen', .* dates"):
            PrivateTable(rows, labels, domain(), 40).check()
