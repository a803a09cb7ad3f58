"""`prepriv report --verify` shows where two lines differ, however long they are."""

from __future__ import annotations

from prepriv.commands.verify import lines_apart


def test_what_differs_is_shown():
    alike = "x" * 5000
    said = lines_apart(alike + "ε = 1", alike + "ε = 9")
    assert "ε = 1" in said and "ε = 9" in said and len(said) < 200
    assert lines_apart("a", None) == "'a'; the model's: nothing"
    assert lines_apart("same and more", "same") == "'same and more'; the model's: 'same'"
