"""docs/papers.md is made of kept runs; each item has a command, a call that exists and a file; `prepriv reproduce all`, `list`, `page`."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import prepriv_papers.drawn as drawn_module
from prepriv.commands.app import app
from prepriv_papers import REPRODUCTIONS, everything, kept
from prepriv_papers.verdicts import Case, Fact, Item, entry, items_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/papers.md"
LISTED = everything.listed(REPRODUCTIONS)


@pytest.fixture(scope="module")
def made() -> str:
    return kept.made(REPRODUCTIONS, ROOT / "docs/papers")


def test_the_page_is_what_the_command_makes_of_the_kept_runs(made: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    begins, ends = text.index(kept.BEGINS), text.index(kept.ENDS) + len(kept.ENDS)
    assert text[begins:ends] == made, "run `prepriv reproduce page` in the repository"


def test_every_statement_of_the_papers_has_a_row_and_a_verdict(made: str) -> None:
    rows = [line for line in made.splitlines() if line.startswith("| ") and not line.startswith("| item")]
    assert len(rows) == len(LISTED) >= 140
    assert not [row for row in rows if "**not " in row and "**not reproducible**" not in row]
    names = " ".join(item.item for _, item in LISTED if item.paper == kept.ORDER[0])
    wanted = [f"Theorem {i}" for i in (2, 8, *range(10, 16))] + [f"Proposition {i}" for i in (3, 5, 6, 9, 16)]
    wanted += [f"Lemma {i}" for i in (1, 3, 4, *"ABCDEFGHIJKLMNO")] + [
        f"Definition {i}" for i in (1, 2, 3, 4, 7, 8, 9)
    ]
    wanted += [
        "Theorems 7 and 17",
        "Corollary 4",
        "Definitions 5 and 6",
        "Algorithm 1",
        "Figure 2",
        "Figure 3",
    ]
    wanted += ["Table 1", "Table 2", "Table 3", "Table 4", "Figures 1 and 4"]
    assert not [w for w in wanted if w not in names]


def test_items_are_told_apart_by_their_names() -> None:
    names = [(item.paper, item.item) for _, item in LISTED]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_where_an_item_stands_and_what_does_it_are_there(name: str) -> None:
    assert CliRunner().invoke(app, ["reproduce", name, "--help"]).exit_code == 0
    for item in items_of(REPRODUCTIONS[name]):
        assert not item.where or (ROOT / item.where).is_file(), (item.item, item.where)
        call = item.call.partition("(")[0]
        if call.startswith("prepriv reproduce"):
            assert call.split()[2] == "own"
        elif call:
            parts = call.split(".")
            held, i = import_module(parts[0]), 1
            while i < len(parts):
                if not hasattr(held, parts[i]):
                    held = import_module(".".join(parts[: i + 1]))
                else:
                    held = getattr(held, parts[i])
                i += 1


def test_list_computes_nothing_and_says_what_decides() -> None:
    result = CliRunner().invoke(app, ["reproduce", "list", "--json"])
    assert result.exit_code == 0
    listed = json.loads(result.stdout)["items"]
    assert len(listed) == len(LISTED) and all(
        "if " in i["verdict"] or i["verdict"] == "no claim" for i in listed
    )


ITEMS = (
    Item(
        "A Paper",
        "Table 1",
        "n = 1",
        "1",
        (Case("same", "to the digit", (Fact("x", entry("x"), 1, 1, "y"),)),),
        str,
    ),
)
seen: list[dict[str, object]] = []


def _plain(out: Path = Path("x")) -> None:
    seen.append({"out": out})


def _sized(out: Path, small: bool = False, data: Path | None = None) -> None:
    seen.append({"out": out, "small": small, "data": data})


def _fed(data: Path) -> None:
    seen.append({"data": data})


def test_all_gives_each_what_it_takes_and_says_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen.clear()
    commands = {"plain": _plain, "sized": _sized, "fed": _fed}
    everything.run_all(commands, {"data": None}, tmp_path, True)
    assert seen == [{"out": tmp_path / "plain"}, {"out": tmp_path / "sized", "small": True, "data": None}]
    text = capsys.readouterr().out
    assert "fed: not run, it needs --data" in text and "not run: it needs --data" in text
    everything.run_all(commands, {"data": tmp_path}, tmp_path, False)
    assert seen[-1] == {"data": tmp_path}


def test_the_commands_of_the_group_are_the_reproductions_and_these_five() -> None:
    group = typer.main.get_command(app).commands["reproduce"]  # type: ignore[attr-defined]
    assert set(group.commands) == {*REPRODUCTIONS, "all", "list", "open-questions", "own", "page"}


def test_page_needs_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "papers.md"
    for text in (None, "no marks"):
        if text is not None:
            page.write_text(text, encoding="utf-8")
        result = CliRunner().invoke(app, ["reproduce", "page", "--page", str(page)])
        assert result.exit_code != 0 and re.search("is not there|two marks", str(result.exception))


def test_without_matplotlib_nothing_is_drawn_and_that_is_said_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(drawn_module, "find_spec", lambda name: None)
    drawn_module._say_once.cache_clear()
    drawing = drawn_module.drawn(lambda: seen.append({"drawn": True}))
    seen.clear()
    drawing()
    drawing()
    assert not seen and capsys.readouterr().out.count("no picture is drawn") == 1
    drawn_module._say_once.cache_clear()
