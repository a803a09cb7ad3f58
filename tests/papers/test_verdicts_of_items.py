"""What every reproduction prints in the end, and rows that survive a run that was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from prepriv.commands.exits import Stop
from prepriv_papers import verdicts
from prepriv_papers.verdicts import Item, Resume, items_of, print_items

ITEM = Item("A Paper", "Table 1", "n = 10", "0.5", "-", "paper is wrong", "erratum Z9")
ITEMS = (ITEM,)


def test_a_verdict_is_printed_with_both_numbers_the_setting_and_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_items([ITEM.found("0.25")])
    text = " ".join(capsys.readouterr().out.split())
    for part in ("A Paper: verdicts", "Table 1", "n = 10", "0.5", "0.25", "paper is wrong: erratum Z9"):
        assert part in text


def test_a_verdict_without_a_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="Table 1: a verdict needs its reason"):
        ITEM.found("0.25", why="")


def test_items_are_found_beside_the_command() -> None:
    def command() -> None: ...

    assert items_of(command) == ITEMS
    with pytest.raises(AttributeError, match=r"verdicts.*ITEMS"):
        items_of(verdicts.print_items)


def test_a_killed_run_goes_on_behind_its_last_whole_row(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    first = Resume(file, {"n": 1})
    assert [first.row(k, lambda k=k: {"is": k}) for k in "ab"] == [{"is": "a"}, {"is": "b"}]
    file.write_text(file.read_text(encoding="utf-8")[:-4], encoding="utf-8")  # killed while it wrote b
    asked = []
    again = Resume(file, {"n": 1})
    for k in "abc":
        again.row(k, lambda k=k: asked.append(k) or {"is": k})
    assert asked == ["b", "c"]
    assert [Resume(file, {"n": 1}).row(k, dict) for k in "abc"] == [{"is": k} for k in "abc"]


def test_rows_of_another_setting_are_not_mixed_in(tmp_path: Path) -> None:
    Resume(tmp_path / "rows.jsonl", {"n": 1})
    with pytest.raises(Stop, match="another setting"):
        Resume(tmp_path / "rows.jsonl", {"n": 2})


def test_progress_is_a_line_now_and_then_off_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "QUIET", -1.0)
    Resume(tmp_path / "rows.jsonl", {}, total=3).row("soft PCA, run 1", dict)
    assert "1 of 3 rows" in capsys.readouterr().out
