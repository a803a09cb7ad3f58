"""What `prepriv validate` finds before a charge: a run that would fail, labels and columns from which nothing can be learned."""

import json
import re

import pandas as pd
import pytest

import prepriv
from prepriv.cli import run
from prepriv.ledger import Ledger

SCHEMA = "label: {name: y, classes: [no, yes]}\nrows: ROWS\ncolumns:\n  x: {type: numeric, low: 0, high: 1}\n"
UNITS = "unit: who\nrows_per_unit: 2\n"
ANY = "adjacency: add-or-remove-one\n"


@pytest.fixture
def folder(forty_records):
    Ledger.create("L.db", "t", epsilon=99, delta=1e-2)
    Ledger.create("M.db", "t", epsilon=99, delta=1e-2, adjacency="add-or-remove-one")
    return forty_records


@pytest.mark.parametrize(
    ("more", "rows", "fails"),
    [
        ("", 39, "has 40 records and 39 are declared"),
        ("", 40, None),
        ("", 41, "has 40 records and 41 are declared"),
        (ANY, 41, None),
        (ANY, 7, None),
        (UNITS, 19, "has 20 units, and only 19 are declared"),
        (UNITS, 20, None),
        (UNITS, 40, None),
        (UNITS + ANY, 7, None),
    ],
)
def test_validate_ends_with_1_where_the_number_makes_a_charged_run_fail(folder, capsys, more, rows, fails):
    """A table of 10,000 records with 10,001 declared was validated with 0, and then charged for a run that failed."""
    (folder / "S.yaml").write_text(SCHEMA.replace("ROWS", str(rows)) + more)
    asked = ["t.csv", "--schema", "S.yaml"]
    charged = ["--epsilon", "9", "--ledger", "M.db" if ANY in more else "L.db"]
    assert run(["train", *asked, *charged]) == (70 if fails else 0)
    assert Ledger.open(charged[-1]).entries(), "charged, whether it failed or not"
    capsys.readouterr()
    assert run(["validate", *asked]) == (1 if fails else 0)
    out, err = capsys.readouterr()
    assert ("A run would" in out) == bool(fails) and (fails or "") in out
    assert ("the number is not the declared one" in err) == bool(fails)
    assert run(["validate", *asked, "--json"]) == (1 if fails else 0)
    json.loads(capsys.readouterr().out)
    fewer = UNITS in more and ANY not in more and rows > 20
    assert bool(re.search(r"WARNING: .*20 units.*40 are declared.*wrong", out)) == fewer == ("WARNING" in out)
    assert run(["validate", *asked, "--no-labels"]) == 0, "rows to predict may be any number"
    out = capsys.readouterr().out
    assert "A run would" not in out and "WARNING" not in out
    (folder / "S.yaml").write_text(SCHEMA.replace("rows: ROWS\n", "") + more)
    assert run(["validate", *asked, "--rows", str(rows)]) == (1 if fails else 0)


def test_the_object_says_that_a_run_would_fail():
    rows, labels = [[0.1], [0.2]], ["no", "yes"]
    said = {}
    for n in (None, 2, 3):
        domain = prepriv.Domain.box(0, 1, features=1, classes=["no", "yes"]).with_n(n)
        found = prepriv.validate(domain, rows, labels)
        said[n] = len(found.other_number)
        assert ("A run would fail" in str(found)) == bool(said[n]) == (not found.clean)
    assert said == {None: 0, 2: 0, 3: 1}


NUMBERS = "label: {name: rate, low: 0.05, high: 0.36}\ncolumns:\n  x: {type: numeric, low: 0, high: 1}\n"


@pytest.mark.parametrize(
    ("rates", "code"),
    [
        ([5.5, 36.0, 7.25], 1),  # percent, and shares are declared
        ([0.0, -3.0, 0.01], 1),
        ([0.0, 5.0, 9.0], 1),  # on either side
        ([5.0, None, None], 1),
        ([5.0, 0.05, None], 0),  # a bound is within
        ([0.1, 0.2, 0.3], 0),
        ([0.1, 20.0, 0.3], 0),  # a third: asked about
    ],
)
def test_validate_ends_with_1_where_not_one_label_lies_within_its_bounds(folder, capsys, rates, code):
    """Rates in percent, with bounds of shares: a cell of a table said "out of bounds 10000", and the command ended with 0."""
    (folder / "S.yaml").write_text(NUMBERS)
    pd.DataFrame({"x": [0.1, 0.2, 0.3], "rate": rates}).to_csv("r.csv", index=False)
    assert run(["validate", "r.csv", "--schema", "S.yaml"]) == code
    out, err = capsys.readouterr()
    beyond = "NOT ONE label lies within the declared bounds (0.05 to 0.36)"
    assert (beyond in out) == bool(code) == ("labels do not fit" in err)
    numbers = [rate for rate in rates if rate is not None]
    some = sum(not 0.05 <= rate <= 0.36 for rate in numbers)
    assert (f"{some:,} labels lie outside the declared bounds" in out) == (
        0.2 * len(numbers) <= some and not code and some > 0
    )
    warned = re.search(
        r"WARNING: (\d+) labels lie outside .* of (\d+) that are numbers.* learns the cut labels", out
    )
    assert (warned and warned.groups()) == (
        (str(some), str(len(numbers))) if not code and some and some >= 0.2 * len(numbers) else None
    )
    gaps = rates.count(None)
    assert ("no declared label" in out) == bool(gaps)
    domain = prepriv.Domain({"x": prepriv.Numeric(0, 1)}, target=prepriv.Numeric(0.05, 0.36))
    found = prepriv.validate(domain, [[0.1], [0.2], [0.3]], rates)
    assert found.misspelled == bool(code) == (beyond in str(found))


@pytest.mark.parametrize("gaps", ["midpoint", "impute"])
@pytest.mark.parametrize(
    ("cells", "texts"),
    [(["A", "B", "C"], True), (["A", None, None], True), (["A", "B", "0.5"], False), ([None] * 3, False)],
)
def test_a_column_without_a_number_is_asked_whether_it_is_one(folder, capsys, gaps, cells, texts):
    """A column of texts that was declared numeric was answered with `missing: impute` alone."""
    (folder / "S.yaml").write_text(
        SCHEMA.replace("rows: ROWS\n", "") + f"  grade: {{type: numeric, low: 0, high: 1, missing: {gaps}}}\n"
    )
    table = pd.DataFrame({"x": [0.1, 0.2, 0.3], "grade": cells, "y": ["no", "yes", "no"]})
    table.to_csv("g.csv", index=False)
    assert run(["validate", "g.csv", "--schema", "S.yaml"]) == 0
    out = capsys.readouterr().out
    asked = "NOT ONE cell of 'grade' is a number"
    assert (asked in out) == texts and ("missing: impute" in out) == (not texts and gaps == "midpoint")
    assert run(["validate", "g.csv", "--schema", "S.yaml", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["no_numbers"]) == texts
    columns = {"grade": prepriv.Numeric(0, 1, gaps)}
    found = prepriv.validate(prepriv.Domain(columns, classes=["no", "yes"]), table[["grade"]], table["y"])
    assert (asked in str(found)) == texts


@pytest.mark.parametrize(
    "rates, said", [([5.5, 36.0, 7.25], True), ([0.5, 36.0, 7.25], False), ([None] * 3, False)]
)
def test_a_column_of_which_no_cell_lies_within_its_bounds_is_named(folder, capsys, rates, said):
    """A count of a table alone showed it, and a model learned nothing from the column. The run goes on: it is not the label."""
    (folder / "S.yaml").write_text(SCHEMA.replace("rows: ROWS\n", ""))
    pd.DataFrame({"x": rates, "y": ["no", "yes", "no"]}).to_csv("r.csv", index=False)
    assert run(["validate", "r.csv", "--schema", "S.yaml"]) == 0
    out = capsys.readouterr().out
    assert ("NOT ONE cell of 'x' lies within its declared bounds (0 to 1)" in out) == said
    most = "WARNING: 2 cells of 'x' lie outside its declared bounds (0 to 1), of 3 that are numbers." in out
    assert most == (
        rates[0] == 0.5
    )  # two analysts met a column of which nearly all lay outside, without a word


def test_the_spellings_of_a_class_that_is_not_declared_are_named(folder, capsys):
    """A third answer that was left out of the classes was counted as rows without a label, and not named."""
    (folder / "S.yaml").write_text(SCHEMA.replace("rows: ROWS\n", ""))
    pd.DataFrame({"x": [0.1] * 4, "y": ["no", "yes", "perhaps", "perhaps"]}).to_csv("r.csv", index=False)
    assert run(["validate", "r.csv", "--schema", "S.yaml"]) == 0
    out = capsys.readouterr().out
    assert "2 cells of 'y' say no declared class and count as rows without a label: 'perhaps' (2)" in out
    assert "If a class was left out, declare it." in out


def test_no_label_at_all_is_not_called_a_label_outside_its_bounds():
    domain = prepriv.Domain({"x": prepriv.Numeric(0, 1)}, target=prepriv.Numeric(0.05, 0.36))
    found = prepriv.validate(domain, [[0.1], [0.2]], [None, None])
    assert "outside the declared bounds" not in str(found) and found.misspelled


@pytest.mark.parametrize(
    ("rates", "asked"),
    [
        ([0.51, 0.52, 0.53], True),  # shares, and percent are declared
        ([0.5, 2.6], False),
        ([0.5, 2.4], True),
        ([0.5] * 99 + [90], True),  # one record does not decide
        ([0.5] * 90 + [90] * 10, False),
        ([100.0], True),
        ([110.0] * 3, False),  # not one lies within: said so
        ([None] * 3, False),
    ],
)
@pytest.mark.parametrize("label", [True, False])
def test_numbers_that_fill_hardly_any_of_their_bounds_are_asked_about(folder, capsys, rates, asked, label):
    """All labels lay in the lowest 0.2 % of the bounds, and `validate` found nothing."""
    schema = NUMBERS.replace("low: 0.05, high: 0.36", "low: 0, high: 100")
    named = {"rate": rates, "x": [0, 1] * (len(rates) // 2) + [0] * (len(rates) % 2)}
    if not label:
        schema = SCHEMA.replace("rows: ROWS\n", "").replace("high: 1", "high: 100")
        named = {"x": rates, "y": ["no", "yes"] * (len(rates) // 2) + ["no"] * (len(rates) % 2)}
    (folder / "S.yaml").write_text(schema)
    pd.DataFrame(named).to_csv("r.csv", index=False)
    run(["validate", "r.csv", "--schema", "S.yaml"])
    whose = "Nearly all labels lie" if label else "Nearly all cells of 'x' lie"
    assert (whose in capsys.readouterr().out) == asked
    run(["validate", "r.csv", "--schema", "S.yaml", "--json"])
    told = json.loads(capsys.readouterr().out.split("\nprepriv")[0])["crowded"]
    assert any(whose in one for one in told) == asked
