"""What the spelling of a schema can hide is named by line, and what people and `schema init` write is passed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prepriv.cli import run
from prepriv.commands.receipts import not_compared_in
from prepriv.schemas.odd_lines import LAYOUT, odd_lines
from prepriv.schemas.schema import load_schema

ROOT = Path(__file__).resolve().parents[2]
PLAIN = """\
label: {name: y, classes: ['no', "yes"]}
rows: 50
columns:
  dose: {type: numeric, low: 0, high: 100}

  site: {type: categorical, categories: [Boston, "02139", 3]}
"""
LONGER, NOTHING, ESCAPED = "is written longer", "characters that do nothing", "with escapes"


def _said(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "S.yaml"
    file.write_bytes(text.encode())
    load_schema(file).domain()  # a run accepts it
    return not_compared_in(file)


@pytest.mark.parametrize(
    "number",
    [
        "100.000000000000001953041204711",
        "100." + "0" * 3000,
        "100.000",
        "0.000000000100e12",
        "1000000e-4",
        "1e0000002",
        "0100",
        '"100.000000000000001953"',
        "' 100 '",
        "99.99999999999999999",
    ],
)
def test_a_number_that_is_longer_than_its_value_needs_is_named(tmp_path: Path, number: str) -> None:
    """`high: 100.000000000000001953041204711` is the number 100, and was passed as compared."""
    said = _said(tmp_path, PLAIN.replace("high: 100", f"high: {number}"))
    assert said == ["on line 4 a number is written longer than its value needs: read it"]


@pytest.mark.parametrize(
    "old, new, line, part",
    [
        ("low: 0", "low: 0e19530412", 4, LONGER),
        ("low: 0", "low: 19530412e-400", 4, LONGER),
        ("low: 0", "low: 0.0001953", 4, ""),
        ("high: 100", "high: 100000000000000001", 4, LONGER),
        ("rows: 50", "rows: 50.00000", 2, LONGER),
        ("rows: 50", "rows: 5_0", 2, LONGER),
        (", 3]", ", 3.00000]", 6, LONGER),
        ("rows: 50", "rows: 50 ", 2, NOTHING),
        ("rows: 50\n", "rows: 50\n \n", 3, NOTHING),
        ("rows: 50\n", "rows: 50\n\n\n\n", 3, NOTHING),
        ("rows: 50\n", "rows: 50\n\u2028", 3, NOTHING),
        ("rows: 50", "? rows\n: 50", 2, NOTHING),
        ("3]}\n", "3]}\n...\n", 7, NOTHING),
        ("3]}\n", "3]}\n\n\n\n", 7, NOTHING),
        ("Boston", r'"\x42oston"', 6, ESCAPED),
        ("dose", r'"\u0064ose"', 4, ESCAPED),
        ("rows: 50\n", "rows: 50\r\n", 2, "ends otherwise"),
    ],
)
def test_what_a_spelling_hides_is_named_by_line(
    tmp_path: Path, old: str, new: str, line: int, part: str
) -> None:
    """A year of birth stood in the exponent of a zero, or in spaces at the ends of lines, and the file was called ok."""
    said = _said(tmp_path, PLAIN.replace(old, new, 1))
    assert any(one.startswith(f"on line {line}") and part in one for one in said) if part else not said


def test_few_lines_are_named(tmp_path: Path) -> None:
    assert "on lines 1, 2, 3 and 3 more there are" in _said(tmp_path, PLAIN.replace("\n", " \n"))[0]
    both = PLAIN.replace("rows: 50", "rows: 50.000").replace("low: 0", "low: 0e7")
    assert _said(tmp_path, both)[0].startswith("on lines 2, 4 a number")


@pytest.mark.parametrize(
    "number",
    [
        "100",
        "+100",
        "100.",
        "100.0",
        "100.00",
        "1e2",
        "1E2",
        "1.0e2",
        "1e+02",
        "10e1",
        "100e0",
        "0.5",
        ".5",
        "0.50",
        "0.500",
        "0.00001",
        "1e-5",
        "1E-05",
        "1_000",
        "1_000_000",
        "250e3",
        "0.1",
        "0.30000000000000004",
        "1e30",
        "12345.678",
        "1000000",
        "1e22",
    ],
)
def test_numbers_as_people_and_programs_write_them_pass(tmp_path: Path, number: str) -> None:
    assert not _said(tmp_path, PLAIN.replace("high: 100", f"high: {number}"))
    assert not _said(tmp_path, PLAIN.replace("low: 0", f"low: -{number.lstrip('+')}"))


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("\n", "\r\n"),
        "\ufeff" + PLAIN,
        "---\n" + PLAIN,
        PLAIN.replace("rows: 50\n", "rows: 50\n\n\n"),
        PLAIN.replace("Boston", '"Bost\\u00f6n", \'it\'\'s\', "say \\"a\\"", "tab\\t", "a\\\\b"'),
        PLAIN.replace("Boston", "New\n    York"),
        PLAIN.replace("3]", "12345678901234567]"),
        PLAIN.replace("low: 0, high: 100", "low: 1970-01-01, high: '31.12.2026 14:30', written: dmy"),
        PLAIN.replace("low: 0, high: 100", "low: '0:00', high: '1 day, 9:30', written: time"),
    ],
)
def test_ordinary_files_pass(tmp_path: Path, text: str) -> None:
    assert not _said(tmp_path, text)


def test_text_beside_the_digits_of_a_bound_is_named(tmp_path: Path) -> None:
    text = PLAIN.replace("low: 0, high: 100", 'low: 0, high: "100 boston", written: amount')
    assert LONGER in _said(tmp_path, text)[0]


def test_schemas_of_the_pages_and_examples_pass() -> None:
    """Each that a reader can copy: of the README, the docs, the examples and what `schema init` wrote."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    blocks = [
        block
        for page in pages
        for block in re.findall(r"^```ya?ml\n(.*?)^```", page.read_text(), re.S | re.M)
        if "columns:" in block
    ]
    files = [*ROOT.glob("examples/*.yaml"), *ROOT.glob("tests/release/**/*.yaml")]
    assert blocks and files
    for text in [*blocks, *(file.read_text() for file in files)]:
        assert odd_lines(text) == {}


def test_what_schema_init_writes_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0)
    table = {
        "dose": rows.normal(size=300) * 1e-7,
        "city": rows.choice(["Bostön", "it's: a", "Y", "tab\there", "long " * 40 + '"end"'], 300),
        "day": pd.date_range("2020-01-01", periods=300),
        "y": rows.choice(["no", "yes"], 300),
    }
    pd.DataFrame(table).to_csv("t.csv", index=False)
    assert run(["schema", "init", "t.csv", "--label", "y", "--out", "S.yaml"]) == 0
    capsys.readouterr()
    assert odd_lines(Path("S.yaml").read_text()) == {}


@pytest.mark.parametrize(
    "old, new, lines",
    [
        ("low: 0", "low:  0", "line 4"),
        (", high", ",   high", "line 4"),
        ("{type: numeric", "{  type: numeric", "line 4"),
        ("100}", "100  }", "line 4"),
        ("low: 0", "low: !!int   0", "line 4"),
        ("low: 0", "low:" + " " * 2_000_000 + "0", "line 4"),
        ("rows: 50\ncolumns", "rows: 50\nmore:\n  - a\n  -   b\ncolumns", "line 5"),
        ("'no', \"", "'no',\n       \"", ""),
        ("'no', \"", "'no',\n                           \"", ""),
        ("high: 100", "\n    high: 100", ""),
        ("low: 0, high: 100", "\n    low: 0,\n     high: 100", "line 6"),
        ("Boston", "New\n         York", ""),
        ('Boston, "02139"', "New\n    York,\n    New\n     Haven", "line 9"),
        ("rows: 50", "rows:\n         50", "line 3"),
    ],
)
def test_text_as_numbers_of_spaces_is_named(old: str, new: str, lines: str) -> None:
    """Runs of spaces after `:` and `,` spelled a record, and the file was called ok."""
    text = PLAIN.replace(old, new, 1)
    said = odd_lines(text).get(LAYOUT, [])
    assert (f"line {said[0]}" if said else "") == lines


def test_layout_is_named_as_that(tmp_path: Path) -> None:
    """What the person who was given the file can do stands in the line."""
    said = _said(tmp_path, PLAIN.replace("low: 0", "low:  0"))
    assert (
        len(said) == 1
        and said[0].startswith(f"on line 4 {LAYOUT}: that is layout alone")
        and "Ask for" in said[0]
    )
    assert not _said(tmp_path, PLAIN.replace("  dose", "    dose").replace("  site", "    site"))


def test_a_tag_is_no_escape(tmp_path: Path) -> None:
    """`!!int 0` and `&a 0` were called texts with escapes, too."""
    for before in ("!!int", "&a"):
        said = _said(tmp_path, PLAIN.replace("low: 0", f"low: {before} 0"))
        assert len(said) == 1 and "anchors, tags or comments" in said[0]
