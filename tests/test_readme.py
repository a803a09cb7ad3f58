"""Every Python block of the README runs, and every command it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prepriv.cli import run

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, re.S))
def test_python_blocks_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})


BLOCKS = README.split("```")[1::2]
SHELL = "".join(b for b in BLOCKS if b.startswith("\n"))


@pytest.mark.parametrize("command", sorted(set(re.findall(r"^(?:\$ )?prepriv ([a-z]+)", SHELL, re.M))))
def test_commands_exist(command, capsys):
    assert run([command, "--help"]) == 0
    assert "Usage" in capsys.readouterr().out


def test_links_lead_somewhere():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (Path(__file__).parents[1] / target).exists(), target


def test_it_is_read_to_the_end():
    assert len(README.splitlines()) <= 150
    assert README.count("![") == 1 and README.count("```python") == 1
