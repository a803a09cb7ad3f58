"""What `prepriv ledger verify` says of the tables that lie beside a sketch.json: they are what that file gives, or they are not."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import prepriv
from prepriv.cli import run
from prepriv.commands.receipts import OTHER_ENDS
from prepriv.commands.saved_sketches import first_apart
from prepriv.description.sketch_page import json_text
from prepriv.description.sketch_tables import (
    COUNTS_FILE,
    DATA_FILE,
    PAGE_FILE,
    ROWS_FILE,
    count_lines,
    row_lines,
)
from prepriv.ledger import Ledger
from prepriv.ledger.currency import amount_in_words
from prepriv.runs.charge import released
from prepriv.sketches.tablesketch import TableSketch

N = 600
SCHEMA = """label: {name: y, classes: ['no', 'yes']}
rows: 600
columns:
  age: {type: numeric, low: 0, high: 100}
  job: {type: categorical, categories: [u, =1+1]}
  prediction: {type: numeric, low: -1, high: 1}
"""
SKETCH = ["sketch", "p.csv", "--schema", "S.yaml", "--ledger", "L.db", "--epsilon", "2", "--delta", "1e-6"]
TABLES = (ROWS_FILE, COUNTS_FILE)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two sketches of one table."""
    folder = tmp_path_factory.mktemp("sketches")
    rng = np.random.default_rng(0)
    age, jobs = rng.uniform(0, 100, N), rng.choice(["u", "=1+1", ""], N)
    lines = [f"{a:.1f},{j},{rng.normal():.3f},{'yes' if a > 50 else 'no'}" for a, j in zip(age, jobs)]
    (folder / "p.csv").write_text("age,job,prediction,y\n" + "\n".join(lines) + "\n")
    (folder / "S.yaml").write_text(SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Ledger.create("L.db", "people", epsilon=4, delta=1e-4)
        assert run([*SKETCH, "--out", "a", "--draw", "70", "--seed", "3"]) == 0
        assert run([*SKETCH, "--out", "b", "--draw", "70", "--pairs"]) == 0
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    for name in ("L.db", "a", "b"):
        (shutil.copytree if (made / name).is_dir() else shutil.copy)(made / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verified(capsys, code: int, *given: str) -> list[str]:
    capsys.readouterr()
    assert run(["ledger", "verify", "L.db", *given]) == code
    return capsys.readouterr().out.splitlines()


def test_a_package_with_a_sketch_ends_with_nothing_left_to_ask(folder, capsys):
    """Both tables were "NOT DECIDED, not compared: this kind of file holds no receipt", and the exit code was 8."""
    out = verified(capsys, 0, "a", "b")
    for one, charge in (("a", 1), ("b", 3)):
        for name in TABLES:
            assert f"{one}/{name}: ok, charge {charge}; every line is what {one}/{DATA_FILE} gives" in out
    assert "NOT DECIDED" not in "".join(out)
    assert json.loads(Path("a", DATA_FILE).read_text())["drawn"] == {
        "rows": 70,
        "seed": 3,
        "version": prepriv._version.own_version(),
    }
    verified(capsys, 0, "a/tables.csv", os.path.abspath("a/sketch.json"), "a/sketch.html", "b")


def edited_count(text: str) -> str:
    first, line, rest = text.split("\n", 2)
    *names, count, low, high = line.split(",")
    return "\n".join([first, ",".join([*names, repr(float(count) + 1), low, high]), rest])


EDITS = {
    "an edited count": (COUNTS_FILE, edited_count, "line 2 is another one"),
    "a count left out": (COUNTS_FILE, lambda text: text[: text[:-1].rindex("\n") + 1], "it ends before line "),
    "another header": (COUNTS_FILE, lambda text: text.replace("noisy count", "count"), "line 1 is another one"),
    "an appended row": (ROWS_FILE, lambda text: f"{text}1.0,u,0.5,SECRET\n", "it goes on after line 71, the last one"),
    "another class": (ROWS_FILE, lambda text: text[:-1].rpartition(",")[0] + ",SECRET\n", "line 71 is another one"),
    "nothing": (ROWS_FILE, lambda text: "", "it ends before line 1"),
    "bytes": (ROWS_FILE, lambda text: text.replace("job", "j\udcffb"), "line 1 is another one"),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_a_table_that_its_sketch_does_not_give_is_a_finding(folder, capsys, edit):
    """An edited count and an appended row were not found."""
    name, change, said = EDITS[edit]
    file = Path("a", name)
    file.write_bytes(change(file.read_text(encoding="utf-8")).encode("utf-8", "surrogateescape"))
    out = verified(capsys, 5, "a", "b")
    wrong = [line for line in out if "WRONG" in line]
    assert [line.startswith(f"a/{name}: WRONG: it is not what a/{DATA_FILE} gives: {said}") for line in wrong] == [True]  # fmt: skip
    assert "SECRET" not in "".join(out)  # whatever stands there may be private


def test_the_tables_of_another_sketch_are_a_finding(folder, capsys):
    for name in TABLES:
        shutil.copy(Path("b", name), Path("a", name))
    out = verified(capsys, 5, "a", "b")
    for name in TABLES:
        assert any(line.startswith(f"a/{name}: WRONG: it is not what a/{DATA_FILE} gives") for line in out)
        assert f"b/{name}: ok, charge 3; every line is what b/{DATA_FILE} gives" in out


def test_other_line_endings_are_called_so(folder, capsys):
    for name in TABLES:
        file = Path("a", name)
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    out = verified(capsys, 5, "a", "b")
    assert [line for line in out if "WRONG" in line] == [f"a/{n}: WRONG: it is {OTHER_ENDS}" for n in TABLES]


@pytest.mark.parametrize("why", ["left out", "not named", "edited", "not charged here"])
def test_without_a_sketch_that_was_released_nothing_is_decided(folder, capsys, why):
    given, data = ["a", "b"], Path("a", DATA_FILE)
    left = f"it follows from a/{DATA_FILE}, which was not given, or not found to be what was released"
    if why == "left out":
        data.unlink()
        left = "this kind of file holds no receipt"
    elif why == "not named":
        given = [f"a/{name}" for name in (*TABLES, PAGE_FILE)] + ["b"]
    elif why == "edited":  # a count of the JSON, and the table that follows from it
        told = json.loads(data.read_text())
        told["sketch"]["counts"][0][0][0] += 1
        data.write_text(json.dumps(told, indent=1) + "\n")
        Path("a", COUNTS_FILE).write_text("".join(count_lines(TableSketch.from_json(told["sketch"]))))
    else:
        told = json.loads(data.read_text())
        data.write_text(json.dumps({key: v for key, v in told.items() if key != "ledger"}))
    out = verified(capsys, 5 if why == "edited" else 8, *given)
    assert any(line.startswith(f"a/{COUNTS_FILE}: NOT DECIDED, not compared: {left}") for line in out)
    of_rows = next(line for line in out if line.startswith(f"a/{ROWS_FILE}: "))
    assert of_rows.startswith(f"a/{ROWS_FILE}: NOT DECIDED, not compared: ") and "ok" not in of_rows


def booked_again(folder: Path, **other: object) -> None:
    """a/sketch.json with other lines, and a ledger that holds the hash of that."""
    told = json.loads(Path("a", DATA_FILE).read_text())
    told.pop("drawn")
    told |= other
    shutil.rmtree("b")
    Path("L.db").unlink()
    book = Ledger.create("L.db", "people", epsilon=4, delta=1e-4)
    row = book.charge(
        "again",
        told["plan_hash"],
        adjacency="replace-one",
        epsilon=told["guarantee"]["epsilon"],
        delta=1e-6,
        note="sketch",
    )
    of_row = {"plan_uid": "again", "sequence": row.sequence, "head": row.head}
    told["ledger"] |= of_row | {"total": amount_in_words("basic", Ledger.open("L.db").entries()[-1].spent)}
    text = json.dumps(told, indent=1) + "\n"
    Path("a", DATA_FILE).write_text(text)
    Path("a", PAGE_FILE).unlink()
    released("L.db", told["ledger"], text.encode())


@pytest.mark.parametrize(
    ("drawn", "said"),
    [
        ({}, "does not say how many rows were drawn, and with which seed"),
        ({"drawn": {"rows": 70, "seed": "3"}}, "does not say how many rows were drawn"),
        ({"drawn": {"rows": 10**7, "seed": 3}}, "says that so many rows were drawn"),
    ],
)
def test_rows_of_a_seed_that_nobody_knows_are_not_decided(folder, capsys, drawn, said):
    booked_again(folder, **drawn)
    out = verified(capsys, 8, "a")
    assert any(
        line.startswith(f"a/{ROWS_FILE}: NOT DECIDED, not compared: a/{DATA_FILE} {said}") for line in out
    )
    assert f"a/{COUNTS_FILE}: ok, charge 1; every line is what a/{DATA_FILE} gives" in out


def test_another_version_can_have_written_it_otherwise(folder, capsys):
    booked_again(folder, drawn={"rows": 70, "seed": 3, "version": "0.0.0"})
    assert any(line.startswith(f"a/{ROWS_FILE}: ok, ") for line in verified(capsys, 0, "a"))
    with Path("a", ROWS_FILE).open("a") as file:
        file.write("\n")
    out = verified(capsys, 8, "a")
    assert any(
        line.startswith(f"a/{ROWS_FILE}: NOT DECIDED, ") and "Another version wrote it" in line
        for line in out
    )


def test_a_sketch_of_no_known_kind_gives_nothing(folder, capsys):
    booked_again(folder, sketch={"counts": []}, drawn={"rows": 70, "seed": 3})
    out = verified(capsys, 5, "a")
    said = "\n".join(out)
    assert "a/sketch.json: WRONG" in said and f"a/{COUNTS_FILE}: NOT DECIDED, not compared" in said


def test_a_long_file_is_read_up_to_its_first_difference(tmp_path, monkeypatch):
    """One line of it is held, whatever its length."""
    asked = list[int]()

    def lines():
        for k in range(10**9):
            asked.append(k)
            yield f"{k}\n"

    file = tmp_path / "rows.csv"
    file.write_text("0\n1\n" + "9" * 10**6)
    assert first_apart(file, lines()) == "line 3 is another one" and len(asked) == 3


def test_last_digits_are_not_decided_because_they_can_hold_anything(folder, capsys):
    """A finding: 42,712 bits of made-up records stood in the last digits of a file of rows, and it was called ok."""
    file = Path("a", TABLES[1])
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    at, number = next(
        (i, m[0]) for i, one in enumerate(lines) if i and (m := re.search(r"\d+\.\d{10,}", one))
    )
    other = repr(float(number) * (1 + 3e-10))
    assert other != number
    lines[at] = lines[at].replace(number, other, 1)
    file.write_text("".join(lines), encoding="utf-8")
    out = verified(capsys, 8, "a", "b")
    (said,) = [line for line in out if line.startswith(f"a/{TABLES[1]}")]
    assert "can hold anything" in said and "NOT DECIDED" in said


def test_numbers_are_alike_up_to_rounding_and_names_are_not(tmp_path):
    """Another machine can round the last digit otherwise. That is not a finding, and not the same file."""
    file = tmp_path / "rows.csv"
    for said, made, same in (
        ("0.30000000000000004,u\n", "0.3,u\n", True),
        ("0.3001,u\n", "0.3,u\n", False),
        ("1.00,u\n", "1.0,u\n", False),
        ("1,u\n", "1.0,u\n", False),
        ("0.3,u,u\n", "0.3,u\n", False),
        ("0.3,v\n", "0.3,u\n", False),
        ('0.3,"u\n', "0.3,u\n", False),
    ):
        file.write_text(said)
        assert (first_apart(file, [made]) == "last digits") is same, said


@pytest.mark.parametrize("of", ["classes", "target", "no label", "times", "pairs"])
def test_what_a_sketch_gives_is_what_its_json_gives(of, tmp_path):
    """Truth values as classes, times, gaps, a target, and a table without a label: each cell comes back from the file."""
    import pandas as pd

    rng = np.random.default_rng(1)
    level = rng.random(2000)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta((level * 365).astype(int), unit="D")
    table = pd.DataFrame(
        {"a": np.where(level < 0.1, np.nan, level), "day": day.strftime("%Y-%m-%d"), "k": level > 0.5}
    )
    columns = {"a": prepriv.Numeric(0, 1, missing="impute"), "g": prepriv.Categorical([1, 2])}
    table["g"] = rng.choice([1, 2, 3], 2000)
    if of == "times":
        columns["day"] = prepriv.Numeric("2020-01-01", "2020-12-31", written="date")
    more = {"classes": [False, True], "label": "k"}
    if of == "target":
        table["k"], more = level * 9, {"target": prepriv.Numeric(0, 9), "label": "k"}
    elif of == "no label":
        more = {"classes": [False, True]}
    found = prepriv.sketch(table, prepriv.Domain(columns, **more), epsilon=3.0, pairs=of == "pairs")
    again = TableSketch.from_json(json.loads(json_text(found))["sketch"])
    assert [*count_lines(again)] == [*count_lines(found.sketch)]
    assert [*row_lines(again, 300, 5)] == [*row_lines(found.sketch, 300, 5)]
