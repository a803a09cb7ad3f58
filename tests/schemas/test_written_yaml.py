"""What a draft writes is what a schema reads: names and categories that YAML could take for something else."""

from __future__ import annotations

import pytest

from prepriv.schemas.declared_file import BadSchema, parse_yaml, written_yaml
from prepriv.schemas.schema import load_schema

ODD = [
    "1e3",
    "1E3",
    "010",
    "0x1f",
    "1_000",
    "yes",
    "No",
    "on",
    "~",
    "null",
    "",
    "true",
    ".5",
    ".inf",
    "NaN",
    "-.nan",
]
ODD += [
    "2020-01-31",
    "12:30:45",
    "<<",
    "=",
    "- a",
    "a: b",
    "#c",
    "1e-06",
    "+1",
    "0",
    "07",
    "'",
    '"',
    " x ",
    "é",
    "\t",
]


@pytest.mark.parametrize("name", ODD)
def test_a_text_is_read_back_as_that_text_as_a_name_and_as_a_category(name):
    body = {"columns": {name: {"categories": [name, "b"]}}}
    assert parse_yaml(written_yaml(body), "S.yaml") == body


@pytest.mark.parametrize("value", [1e-06, 0.1, 1e300, 5, -3, True, None, 1e16])
def test_a_number_is_read_back_as_that_number(value):
    (back,) = parse_yaml(written_yaml({"a": value}), "S.yaml").values()
    assert back == value and type(back) is type(value)


def test_a_schema_names_who_declared_it(tmp_path):
    path = tmp_path / "S.yaml"
    text = "label: {name: y, classes: [a, b]}\ncolumns:\n  x: {type: numeric, low: 0, high: 1}\n"
    path.write_text(text + "declared_by: J. Doe, data office\n")
    assert load_schema(path).domain().declared_by == "J. Doe, data office"
    path.write_text(text + 'declared_by: " "\n')
    with pytest.raises(BadSchema, match="declared_by"):
        load_schema(path).domain()
