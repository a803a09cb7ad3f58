"""The whole way of a schema with units on the command line: plan, train, evaluate, describe, validate, replay."""

from __future__ import annotations

import html
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import prepriv
from prepriv.cli import run as command
from prepriv.description.draft import draft_in_private
from prepriv.description.draft_plan import plan_draft
from prepriv.schemas.schema import BadSchema, load_schema

SCHEMA = """label: {name: y, classes: [no, yes]}
rows: 400
unit: patient_id
rows_per_unit: 3
columns:
  age: {type: numeric, low: 0, high: 100}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("units")
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(400), rng.integers(1, 6, 400))
    age = rng.uniform(0, 100, len(who))
    table = pa.table({"patient_id": who, "age": age, "y": np.where(age > 50, "yes", "no")})
    csv.write_csv(table.take(rng.permutation(len(who))), path / "visits.csv")
    (path / "S.yaml").write_text(SCHEMA)
    return path


@pytest.fixture
def run(capsys):
    def ran(*arguments):
        code = command([str(a) for a in arguments])
        said = capsys.readouterr()
        return code, " ".join((said.out + said.err).split())

    return ran


def test_from_plan_to_score(folder, run):
    data, schema, ledger = folder / "visits.csv", folder / "S.yaml", folder / "L.db"
    said = "replace-one of one unit, all rows of one `patient_id`"
    assert said in run("plan", schema)[1]
    assert run("ledger", "create", ledger, "--dataset", "visits", "--epsilon", 20, "--delta", 1e-3)[0] == 0
    code, output = run(
        "train", data, "--schema", schema, "--epsilon", 5, "--ledger", ledger, "--out", folder / "run"
    )
    assert code == 0 and said in output, output
    report = json.loads((folder / "run" / "report.json").read_text())
    assert report["guarantee"]["unit"] == "patient_id" and report["plan"]["domain"]["unit"]["rows"] == 3
    page = (folder / "run" / "report.html").read_text()
    assert "of one unit" in page and "At most 3 rows of each are read." in page
    _, output = run("ledger", "show", ledger)
    assert "delta 0.001 (basic, replace-one of all rows of one `patient_id`)" in output
    assert "one `patient_id`: train" in run("ledger", "show", ledger)[1]
    assert json.loads(run("ledger", "show", ledger, "--json")[1])["amounts_are_of"] == "one `patient_id`"
    code, output = run(
        "evaluate", folder / "run" / "model", data, "--epsilon", 2, "--rows", 400, "--ledger", ledger
    )
    assert code == 0 and said in output, output
    code, output = run("evaluate", folder / "run" / "model", data, "--epsilon", 2)
    assert code == 2 and "how many 'patient_id' there are, not rows" in output
    code, output = run("describe", data, "--schema", schema, "--epsilon", 2)
    assert code == 0 and said in output, output
    code, output = run("validate", data, "--schema", schema)
    assert code == 0 and "units: 400 (declared: 400)" in output, output
    code, output = run("audit", "replay", schema, "--rows", 20, "--pairs", 6)
    assert code == 0 and "6 pairs replayed" in output, output


def test_what_is_wrong_is_one_line(folder, run):
    data, schema = folder / "visits.csv", folder / "bad.yaml"
    schema.write_text(SCHEMA.replace("rows: 400\n", ""))
    code, output = run("train", data, "--schema", schema, "--out", folder / "no")
    assert code == 2 and "--rows must be declared: how many 'patient_id' there are, not rows" in output
    for wrong, says in (
        ("rows_per_unit: 0", "rows_per_unit"),
        ("rows_per_unit: many", "rows_per_unit"),
        ("", "together"),
    ):
        schema.write_text(SCHEMA.replace("rows_per_unit: 3", wrong))
        with pytest.raises(BadSchema, match=says):
            load_schema(schema)
    schema.write_text(SCHEMA.replace("unit: patient_id", "unit: age"))
    with pytest.raises(BadSchema, match="neither the label"):
        load_schema(schema)
    schema.write_text(SCHEMA.replace("unit: patient_id", "unit: doctor"))
    code, output = run("train", data, "--schema", schema, "--out", folder / "no")
    assert code == 2 and "'doctor'" in output and not (folder / "no").exists()


def test_the_curator_is_told_which_rows_are_left_out(folder):
    schema = load_schema(folder / "S.yaml")
    rows = pa.table({"patient_id": ["a"] * 5 + [None, "b"], "age": [1.0] * 7})
    found = prepriv.validate(schema.domain(rows=2), rows, ["no"] * 7)
    assert found.units == (2, 1, 2) and not found.clean
    assert "units: 2 (declared: 2); rows left out: 1 without an id, 2 beyond" in str(found)


def test_where_a_unit_is_declared_units_are_counted_in_words(folder, run):
    """Of patients with several rows: "400 records are few", and a draft was charged without a word on what --rows counts."""
    schema, data = folder / "S.yaml", folder / "visits.csv"
    _, output = run("describe", data, "--schema", schema, "--epsilon", "0.05", "--out", folder / "d.html")
    assert "400 units are" in output and "400 records are" not in output
    draft = ["schema", "init", data, "--label", "y", "--unit", "patient_id", "--rows-per-unit", "3"]
    _, output = run(*draft, "--rows", "400", "--epsilon", "9", "--dry-run")
    assert "--rows 400 is taken as the number of 'patient_id', not of rows" in output
    assert "units to see a class" in output


ONE, SOME = "One row of each `patient_id` is read.", "At most 3 rows of each `patient_id` are read."
WRITTEN = {
    "describe": (ONE, ["--epsilon", 2, "--out", "p.html"], ["p.html", "p.json"]),
    "describe by": (ONE, ["--epsilon", 2, "--by", "y", "--out", "p.html"], ["p.html", "p.json"]),
    "ask": (ONE, ["count by y", "mean(age)", "--epsilon", 2, "--out", "a.json"], ["a.json"]),
    "sketch": (SOME, ["--epsilon", 9, "--out", "s"], ["s/sketch.html", "s/sketch.json"]),
}


@pytest.mark.parametrize("job", WRITTEN)
def test_what_is_written_says_which_rows_of_a_unit_are_read(job, folder, run, tmp_path, monkeypatch):
    """A finding: only the screen of the curator did. Of 566 children who were ever positive the page had 58, those of the one row."""
    said, options, written = WRITTEN[job]
    monkeypatch.chdir(tmp_path)
    code, output = run(job.split()[0], folder / "visits.csv", *options, "--schema", folder / "S.yaml")
    assert code == 0 and said in output, output
    for name in written:
        text = html.unescape((tmp_path / name).read_text())
        assert said in text and "fixed hash" in text, name
        if name.endswith(".json") and said == ONE:
            data = json.loads(text)
            assert data["one_row_of_each"] == "patient_id" and said in data["notes"][0]
    page = html.unescape((tmp_path / written[0]).read_text())
    assert "describe" not in job or "would be seen without noise in the rows that are read, of" in page


@pytest.mark.parametrize("job", WRITTEN)
def test_where_a_row_is_a_record_nothing_is_said_of_units(job, folder, run, tmp_path, monkeypatch):
    _, options, written = WRITTEN[job]
    monkeypatch.chdir(tmp_path)
    rows = csv.read_csv(folder / "visits.csv").num_rows
    plain = SCHEMA.replace("unit: patient_id\nrows_per_unit: 3\n", "").replace("rows: 400", f"rows: {rows}")
    (tmp_path / "S.yaml").write_text(plain)
    code, output = run(job.split()[0], folder / "visits.csv", *options, "--schema", "S.yaml")
    assert code == 0, output
    for text in (output, *((tmp_path / name).read_text() for name in written)):
        assert "fixed hash" not in text and "rows that are read" not in text and "one_row_of_each" not in text


def test_what_python_prints_says_which_rows_of_a_unit_are_read(folder):
    domain, table = load_schema(folder / "S.yaml").domain(), csv.read_csv(folder / "visits.csv")
    assert ONE in str(prepriv.describe(table, domain, epsilon=2.0))
    assert ONE in str(prepriv.ask(table, domain, ["mean(age)"], epsilon=2.0))
    found = prepriv.sketch(table, domain, epsilon=9.0)
    assert SOME in str(found) and SOME in found.to_frame(50).attrs["prepriv"]
    one = prepriv.sketch(table, replace(domain, rows_per_unit=1), epsilon=9.0)
    assert ONE in str(one) and abs(one.rows - 400) < 60
    plan = plan_draft(
        ["patient_id", "age", "y"],
        label="y",
        epsilon=9.0,
        delta=1e-6,
        n=400,
        unit="patient_id",
        rows_per_unit=3,
    )
    assert f"# {ONE}" in draft_in_private(plan, table).text()


def test_rows_to_predict_need_not_say_whose_they_are(folder, run, tmp_path):
    """`predict` took them, and the `validate` that it names ended with 2; cells of one value were asked for their unit."""
    (tmp_path / "new.csv").write_text("age\n" + "40\n" * 20)
    assert run("train", folder / "visits.csv", "--schema", folder / "S.yaml", "--out", tmp_path / "r")[0] == 0
    for words in (["predict", tmp_path / "r"], ["validate"]):
        more = ["--model", tmp_path / "r", "--no-labels"] if words == ["validate"] else []
        code, output = run(*words, tmp_path / "new.csv", *more)
        assert code == 0 and "Nearly all cells" not in output, output
