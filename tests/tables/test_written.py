"""Numbers that are written otherwise: each cell by itself, in every container alike, and what does not fit is a gap."""

from __future__ import annotations

import datetime
import itertools
import json
import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv.audit.replay import Neighbour, replay
from prepriv.description.ask import ask_in_private
from prepriv.description.asked import plan_questions
from prepriv.schemas.declared_file import BadSchema
from prepriv.schemas.schema import load_schema
from prepriv.tables.cell import cell_of
from prepriv.tables.column import numbers_in
from prepriv.tables.containers import column_of
from prepriv.tables.encoding import encode, encode_targets
from prepriv.tables.readers import BadData
from prepriv.tables.written import WAYS_WRITTEN, number_written, spelled

sys.path.insert(0, str(Path(__file__).parents[1] / "attacks"))
from every_container import COLUMNS, made

GAP = math.nan
ODD = [
    None,
    "",
    "x",
    "\x00",
    "1,2,3,4",
    "1" * 99 + ",5",
    "9999-99-99",
    "31.02.2020",
    "99:99",
    "-",
    "+",
    ",",
    "$",
    "٣,٥",
    b"\xff",
    {"a": 1},
    [1],
    10**400,
]
CASES: dict[str, list[tuple[object, float]]] = {
    "number": [("1.5", 1.5), ("1,5", GAP), ("yes", GAP), ("2020-01-01", GAP), (True, 1.0)],
    "comma": [
        ("1,5", 1.5), ("-1.234,5", -1234.5), ("1.234.567", 1234567.0), ("1 234,5", 1234.5), ("1\u202f234", 1234.0),
        ("7", 7.0), (2.5, 2.5), ("1.5", 1.5), ("1,234", 1.234), ("1,234,567", GAP), ("1,5 kg", GAP),
    ],
    "thousands": [
        ("1,234", 1234.0), ("1,234.5", 1234.5), ("-1'234.50", -1234.5), ("1 234 567", 1234567.0), ("1.5", 1.5),
        (3, 3.0), ("1,5", GAP), ("1.234.567", GAP), ("12,34,567", GAP), ("1,234'567", GAP),
    ],
    "amount": [
        ("$1,200.50", 1200.5), ("-€5", -5.0), ("80 kg", 80.0), ("80kg", 80.0), ("< 5", 5.0), ("12 %", 12.0), ("20 °C", 20.0),
        ("3.5 km/h", 3.5), ("5 days", 5.0), (pd.Timedelta("5 days"), 5.0), (4, 4.0), ("1,5 kg", GAP), ("5-10", GAP), ("p000012", GAP),
        ("12 Main Street", GAP), ("2020-01-01", GAP),
    ],
    "yes_no": [("Yes", 1.0), ("NO", 0.0), ("y", 1.0), ("off", 0.0), (True, 1.0), ("false", 0.0), ("maybe", GAP), ("", GAP)],
    "date": [
        ("1970-01-11", 10.0), (datetime.date(1970, 1, 11), 10.0), (np.datetime64("1969-12-31"), -1.0),
        (pd.Timestamp("1970-01-02 12:00"), 1.5), ("1970-01-02T06:00:00Z", 1.25), ("1970-01-01 23:00:00-01:00", 1.0),
        (3, GAP), ("20200101", GAP), ("31.12.2020", GAP), ("14:30", GAP), ("2020-02-30", GAP),
    ],
    "dmy": [("11.01.1970", 10.0), ("11/1/1970", 10.0), ("1970-01-11", 10.0), ("11-01-1970 12:00", 10.5), ("01/13/1970", GAP), ("1/1.1970", GAP)],
    "mdy": [("01/11/1970", 10.0), ("1-11-1970 6:00 pm", 10.75), ("13/01/1970", GAP), (10.0, GAP)],
    "time": [
        ("14:30", 14.5), ("2:30 pm", 14.5), ("12:00 AM", 0.0), (datetime.time(6, 45), 6.75), ("0:00:36", 0.01),
        (pd.Timedelta("1 days 02:00:00"), 26.0), (datetime.timedelta(hours=-1), -1.0), ("13:00 pm", GAP), ("24:30", GAP), (14.5, GAP),
    ],
}  # fmt: skip


@pytest.mark.parametrize("written", WAYS_WRITTEN)
def test_what_a_cell_says(written):
    found = [number_written(cell_of(cell), written) for cell, _ in CASES[written]]
    assert found == pytest.approx([number for _, number in CASES[written]], nan_ok=True), CASES[written]


def test_no_cell_raises_and_a_number_is_spelled_as_it_is_read():
    cells = [*ODD, *(cell for cases in CASES.values() for cell, _ in cases), 1e400, -0.0, "1e5", " 5 "]
    for written, cell in itertools.product(WAYS_WRITTEN, cells):
        number = number_written(cell_of(cell), written)
        assert isinstance(number, float)
        if math.isfinite(number) and abs(number) < 1e4:
            again = number_written(cell_of(spelled(number, written)), written)
            assert again == pytest.approx(number, abs=1 / 60 if written in ("time",) else 1 / 1440)


COLUMN = {
    "comma": ["1,5", "2", "0,25", None] * 4,
    "thousands": ["1,234", "7", "2,000.5", None] * 4,
    "amount": ["$5", "6 kg", "7", None] * 4,
    "yes_no": ["yes", "no", "Yes", None] * 4,
    "date": ["2020-01-01", "1999-12-31", "2020-06-05", None] * 4,
    "time": ["10:30", "0:15", "23:59", None] * 4,
}


@pytest.mark.parametrize("container", COLUMNS)
def test_one_odd_cell_moves_no_other_in_any_container(container):
    """As in tests/attacks/test_every_container.py: an odd cell changes what the library makes of the column, and no other cell."""
    for written, base in COLUMN.items():
        if (column := made(COLUMNS[container], base)) is None:
            continue
        alone = numbers_in(column_of(column), written)
        for odd in (None, math.nan, "x", b"\xff", math.inf, 10**400, 77, {"a": 1}, [1, 2]):
            if (column := made(COLUMNS[container], [*base[:-1], odd])) is not None:
                np.testing.assert_array_equal(numbers_in(column_of(column), written)[:-1], alone[:-1])
    typed = pd.to_datetime(pd.Series(["2020-01-01", None, "1999-12-31"]))
    days = numbers_in(["2020-01-01", None, "1999-12-31"], "date")
    for column in (typed, typed.dt.tz_localize("UTC"), pa.array(typed), pa.array(typed).cast(pa.date32())):
        np.testing.assert_array_equal(numbers_in(column_of(column), "date"), days)


def test_a_matrix_of_numbers_holds_no_dates():
    domain = Domain({"a": Numeric(0, 9), "b": Numeric(0, 9, "impute", "date")}, ["n", "p"])
    for rows in (np.ones((3, 2)), [[1.0, 1.0]] * 3, np.ones((3, 2), dtype=np.int64)):
        found = np.vstack([*encode(rows, domain)])
        assert np.isnan(found[:, 1]).all() and not np.isnan(found[:, 0]).any()


COLUMNS_OF = {
    "pay": Numeric(0, 5000, written="comma"),
    "seen": Numeric("2000-01-01", "2030-12-31", "impute", "date"),
    "job": Categorical(["a", "b"]),
}


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    pay = rng.gamma(2, 500, n)
    days = rng.integers(11_000, 20_000, n)
    return pd.DataFrame(
        {
            "pay": [f"{p:.2f}".replace(".", ",") for p in pay],
            "seen": [str(np.datetime64(int(d), "D")) for d in days],
            "job": rng.choice(["a", "b"], n),
            "y": np.where(pay > 800, "much", "little"),
            "due": [f"{p / 100:.2f}".replace(".", ",") for p in pay],
        }
    )


def test_the_whole_way_of_a_domain(tmp_path):
    table = people()
    domain = Domain(COLUMNS_OF, ["much", "little"], label="y")
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain
    clf = prepriv.PrivateClassifier(domain, epsilon=20.0, steps="linear").fit(table, table.y)
    clf.model_.save(tmp_path / "m")
    model = prepriv.Model.load(tmp_path / "m")
    assert (model.predict(table) == table.y).mean() > 0.8
    read = table.assign(pay=table.pay.str.replace(",", ".").astype(float), seen=pd.to_datetime(table.seen))
    assert (model.predict(read) == model.predict(table)).all()
    with pytest.raises(BadData, match="'seen' holds no number"):
        model.predict(table.assign(seen=3.0))
    checked = prepriv.validate(domain, table.assign(seen="soon"), table.y)
    assert "2000-01-01 to 2030-12-31" in str(checked) and "600" in str(checked)
    found = prepriv.ask(table, COLUMNS_OF, ["mean(pay)", "mean(seen)"], epsilon=50.0)
    assert found["mean(pay)"].value == pytest.approx(read.pay.clip(0, 5000).mean(), rel=0.02)


def test_a_target_that_is_written_otherwise():
    table = people()
    domain = Domain({"pay": COLUMNS_OF["pay"]}, target=Numeric(0, 50, written="comma"), label="due")
    assert Domain.from_json(domain.to_json()) == domain
    assert (encode_targets(table.due, domain) >= 0).all()
    model = prepriv.PrivateRegressor(domain, epsilon=20.0).fit(table, table.due).model_
    truth = table.due.str.replace(",", ".").astype(float)
    assert np.corrcoef(model.predict(table), truth)[0, 1] > 0.9


@pytest.mark.parametrize("adjacency", prepriv.domain.ADJACENCIES)
def test_replay_of_cells_written_in_all_ways(adjacency):
    base = people(200)
    plan = plan_questions(COLUMNS_OF, ["mean(pay) by job", "median(seen)", "missing(seen)"], epsilon=2.0, n=200, adjacency=adjacency)  # fmt: skip

    def answered(table, session):
        return {"text": str(ask_in_private(plan, table, session=session))}

    neighbours = []
    for cell in (
        "1,5",
        "999.999,9",
        "2031-01-01",
        "31.12.2020",
        3.0,
        None,
        pd.Timestamp("2001-01-01"),
        "\x1b",
    ):
        row = pd.DataFrame([{"pay": cell, "seen": cell, "job": "b", "y": "much", "due": cell}])
        rest = base if adjacency != "replace-one" else base[1:]
        neighbours.append(Neighbour(str(cell), pd.concat([row, rest], ignore_index=True)))
    assert replay(answered, base, neighbours).findings == []


def test_the_schema_declares_it(tmp_path):
    path = tmp_path / "s.yaml"
    columns = {
        "seen": {"type": "numeric", "written": "date", "low": "2000-01-01", "high": "2030-12-31"},
        "at": {"type": "numeric", "written": "time", "low": "8:00", "high": 20},
    }
    label = {"name": "due", "written": "comma", "low": 0, "high": 50}
    path.write_text(yaml.safe_dump({"label": label, "columns": columns}))
    domain = load_schema(path).domain()
    assert (
        domain.columns["seen"] == Numeric(10957, 22279, written="date") and domain.target.written == "comma"
    )
    assert domain.columns["at"] == Numeric(8, 20, written="time")
    for wrong in (
        columns["seen"] | {"low": "soon"},
        columns["seen"] | {"written": "week"},
        columns["seen"] | {"low": "2040-01-01"},
    ):
        path.write_text(yaml.safe_dump({"label": label, "columns": {"seen": wrong}}))
        with pytest.raises(BadSchema) as caught:
            load_schema(path)
        assert "\n" not in str(caught.value)
    path.write_text(
        yaml.safe_dump({"label": {"name": "y", "classes": [0, 1], "written": "comma"}, "columns": columns})
    )
    with pytest.raises(BadSchema, match="classes are texts"):
        load_schema(path)
    with pytest.raises(ValueError, match="written must be"):
        Numeric(0, 1, written="week")
    with pytest.raises(ValueError, match="bounds must be finite"):
        Numeric("then", "now", written="date")


def test_made_up_rows_are_written_as_the_columns_are():
    sketch = prepriv.sketch(
        people(), Domain({k: COLUMNS_OF[k] for k in ("pay", "seen")}, n=600), epsilon=30.0, delta=1e-3
    )
    frame = sketch.to_frame(50)
    assert np.nanmin(numbers_in(column_of(frame.seen), "date")) > 10956
