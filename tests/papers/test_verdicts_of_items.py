"""What every reproduction says in the end follows from its numbers, and rows survive a run that was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from prepriv.commands.exits import Stop
from prepriv_papers import verdicts
from prepriv_papers.verdicts import Case, Fact, Item, Resume, collected, decide, entry, items_of

NEAR = Fact("the number", entry("x"), 0.4, 0.6, "one digit is printed")
FAR = Fact("the number", entry("x"), 10, 20, "a formula of theirs")
ITEM = Item(
    "A Paper",
    "Table 1",
    "n = 10",
    "0.5",
    (Case("same", "rounded", (NEAR,)), Case("paper is wrong", "erratum Z9", (FAR,))),
    lambda n: f"{n['x']:.2f}",
    needs=("x",),
)
ITEMS = (ITEM,)


def test_the_first_case_whose_facts_hold_is_the_verdict_and_none_confirms_nothing() -> None:
    assert ITEM.found({"x": 0.52}).verdict == "same"
    assert ITEM.found({"x": 12}).verdict == "paper is wrong"
    lost = ITEM.found({"x": 3})
    assert lost.verdict == "not confirmed"
    assert lost.why == "not so: the number: 3 (asked: 0.4 … 0.6; one digit is printed)"
    assert ITEM.found({"x": float("nan")}).verdict == "not confirmed"
    assert ITEM.found({}).verdict == "not run"
    assert Item("P", "T", "", "", ITEM.cases, lambda n: str(n["y"])).found({"x": 0.5}).ours == "unreadable"


def test_noise_decides_nothing_in_a_small_run() -> None:
    noisy = Item("P", "T", "", "", ITEM.cases, ITEM.ours, noisy=True)
    assert noisy.found({"x": 0.5}, small=True).verdict == "not decided at this size"
    assert noisy.found({"x": 0.5}).verdict == ITEM.found({"x": 0.5}, small=True).verdict == "same"


def test_a_verdict_is_printed_with_both_numbers_the_setting_the_reason_and_what_decided(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with collected() as kept:
        assert decide(ITEMS, {"x": 0.52}) == kept
    text = " ".join(capsys.readouterr().out.split())
    for part in (
        "A Paper: verdicts",
        "Table 1",
        "n = 10",
        "0.5",
        "0.52",
        "same: rounded",
        "asked: 0.4 … 0.6",
    ):
        assert part in text


def test_a_verdict_without_a_reason_or_a_fact_is_refused() -> None:
    with pytest.raises(ValueError, match=r"same: .* needs its reason"):
        Case("same", "", (NEAR,))
    with pytest.raises(ValueError, match=r"paper is wrong: .* fact"):
        Case("paper is wrong", "because")
    assert (
        Item("P", "Figure 1", "", "", (Case("no claim", "a picture"),), str).found({}).verdict == "no claim"
    )


def test_what_an_item_asks_is_said_without_numbers() -> None:
    assert ITEM.asks() == ("same, if the number is 0.4 … 0.6; paper is wrong, if the number is 10 … 20")


def test_items_are_found_beside_the_command() -> None:
    def command() -> None: ...

    assert items_of(command) == ITEMS
    with pytest.raises(AttributeError, match=r"verdicts.*ITEMS"):
        items_of(verdicts.print_found)


def test_a_killed_run_goes_on_after_its_last_whole_row(tmp_path: Path) -> None:
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
