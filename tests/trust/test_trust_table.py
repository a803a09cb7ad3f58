"""docs/trust.md names a test for each of its checks, and every test it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| (.+?) \| (.+) \|$", TEXT, re.MULTILINE)


def named(cell: str) -> list[tuple[str, str]]:
    """(file, test) of each test in a cell; `::name` goes on with the file before it."""
    found, file = [], ""
    for path, test in re.findall(r"`(tests/[\w/]+\.py)?(?:::(\w+))?`", cell):
        file = path or file
        if path or test:
            found.append((file, test))
    return found


def test_all_are_there():
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 90))


@pytest.mark.parametrize("number, what, cell", ROWS, ids=[number for number, _, _ in ROWS])
def test_every_check_is_met_by_tests_that_exist(number, what, cell):
    tests = named(cell)
    assert tests, what
    for file, test in tests:
        source = (ROOT / file).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in source, f"{file}::{test}"
        if f"`{file}::{test}` (and `_at_length`)" in cell:
            assert f"def {test}_at_length(" in source


def test_an_exception_gives_its_reason():
    for _, what, cell in ROWS:
        for text in re.findall(r"Exception: ([^|]*)", cell):
            assert len(text.split()) > 6, what
