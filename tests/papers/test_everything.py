"""docs/papers.md: each item of each paper has a command that exists and prints its verdict; `prepriv reproduce all` and `list`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from prepriv.commands.app import app
from prepriv_papers import REPRODUCTIONS, everything
from prepriv_papers.verdicts import Item, items_of, print_items

PAGE = Path(__file__).parents[2] / "docs/papers.md"
VERDICTS = {"same", "paper is wrong", "not reproducible", "setting differs"}


def _rows() -> list[tuple[str, str, str, str, str]]:
    """(paper, item, command, verdict, since) of the page."""
    paper, found = "", []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            paper = line.removeprefix("## ")
        cells = [c.strip() for c in line.strip("|").split(" | ")] if line.startswith("| ") else []
        if len(cells) == 4 and cells[1].startswith("`reproduce "):
            found.append(
                (paper, cells[0], cells[1].strip("`").removeprefix("reproduce "), cells[2], cells[3])
            )
    return found


def test_the_page_lists_every_item_with_its_command_and_verdict() -> None:
    page = {(paper, item, command, verdict.partition(":")[0]) for paper, item, command, verdict, _ in _rows()}
    ours = {(i.paper, i.item, name, i.verdict) for name, i in everything.listed(REPRODUCTIONS)}
    assert page == ours, "docs/papers.md is not what `prepriv reproduce list` says"
    assert all(re.fullmatch(r"0\.\d+\.\d+", since) for *_, since in _rows())


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_every_command_exists_and_prints_its_verdicts(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert CliRunner().invoke(app, ["reproduce", name, "--help"]).exit_code == 0
    items = items_of(REPRODUCTIONS[name])
    print_items(items)
    text = re.sub(r"[\s│]+", "", capsys.readouterr().out)
    for item in items:
        assert item.verdict in VERDICTS and item.verdict.replace(" ", "") in text
    assert items


def test_list_computes_nothing_and_names_every_verdict() -> None:
    result = CliRunner().invoke(app, ["reproduce", "list"])
    assert result.exit_code == 0
    assert all(verdict in result.output for verdict in VERDICTS)


ITEMS = (Item("A Paper", "Table 1", "n = 1", "1", "-", "same", "to the digit"),)
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
    everything.run_all(commands, None, tmp_path, True)
    assert seen == [{"out": tmp_path / "plain"}, {"out": tmp_path / "sized", "small": True, "data": None}]
    text = capsys.readouterr().out
    assert "fed: not run, it needs --data" in text and "to the digit" in text
    everything.run_all(commands, tmp_path, tmp_path, False)
    assert seen[-1] == {"data": tmp_path}


def test_the_commands_of_the_group_are_the_reproductions_and_these_two() -> None:
    group = typer.main.get_command(app).commands["reproduce"]  # type: ignore[attr-defined]
    assert set(group.commands) == {*REPRODUCTIONS, "all", "list"}
