"""docs/style.py finds what docs/style.md forbids, and the pages are free of it."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("style", ROOT / "docs" / "style.py")
assert spec and spec.loader
style = importlib.util.module_from_spec(spec)
spec.loader.exec_module(style)


@pytest.mark.parametrize(
    "bad",
    [
        "A guarantee for one record is no guarantee for a patient.",
        "It is somebody else's class.",
        "The model behind the scaler learns.",
        "A number to predict: see below.",
        "The rooms of the code.",
        "| a cell | dearer |",
        "It is known in private.",
        "First a sentence. What a pipeline would really cost says `prepriv.account`.",
        "Two lines: what a pipeline\ncosts is printed. How it is done\ntells `x.md`.",
        "One file a step.",
        "Someone who holds both for equally likely guesses.",
        "That way is closed here.",
    ],
)
def test_a_forbidden_word_is_found(bad):
    assert list(style.faults(bad))


@pytest.mark.parametrize(
    "good",
    [
        "It is no more than that, and there is no bound.",
        "There is room for the noise.",
        "`behind` is a name, and [a page](behind.md) an address.",
        "```\nbehind\n```",
        "The set is closed under addition.",
        "In private rows nothing is read.",
        "What it costs is printed by `plan`.",
        "One record moves a row.",
    ],
)
def test_plain_english_is_not_refused(good):
    assert not list(style.faults(good))


def test_sentences_are_counted_without_code_and_tables():
    page = "# A heading\n\nOne two. prepriv counts `three.four five` to [six. Seven](x.y).\n\n| a. B. |\n\n- Item one\n- Item two\n"
    assert len(list(style.sentences(page))) == 5
    long = " ".join(["word"] * 26) + "."
    assert style.measured(long).long == 100 and style.measured(long + " Short one.").long == 50
    assert style.measured("One: two: three.").chains == 1


def test_the_pages_that_people_read_first_are_among_them():
    assert {"README.md", "CONTRIBUTING.md", "docs/learn/tutorial.md"} <= set(style.pages())
    assert set(style.pages()) >= style.APART  # a page that is gone needs no exception


def test_no_page_has_a_forbidden_word():
    done = subprocess.run([sys.executable, "docs/style.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def matches() -> list[tuple[str, str]]:
    """(where, pattern) of every `match=` of the tests; what stands in braces is one word."""
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "match":
                parts = node.value.values if isinstance(node.value, ast.JoinedStr) else [node.value]
                texts = [str(part.value) if isinstance(part, ast.Constant) else "NAME" for part in parts]
                found.append((f"{path.relative_to(ROOT)}:{node.value.lineno}", "".join(texts)))
    return found


def words_in_a_row(pattern: str) -> int:
    """The longest run of words that a pattern pins."""
    return max(len(piece.split()) for piece in re.split(r"\.\*|\.\+|\|", pattern))


def test_tests_pin_the_facts_of_an_error_and_not_its_sentence():
    found = matches()
    assert len(found) > 500
    assert not [(where, pattern) for where, pattern in found if words_in_a_row(pattern) > 5]
    assert words_in_a_row("the residual of Flat must have the shape") == 8
    assert words_in_a_row(r"residual of Flat .* shape|got \(3, 2\)") == 3
