"""Every line of docs/describe.md runs, in its order, in one folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from prepriv.cli import run

PAGE = (Path(__file__).parents[2] / "docs" / "describe.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.S)


def test_every_line_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for language, block in BLOCKS:
        if language == "python":
            exec(compile(block, "describe.md", "exec"), {})
            continue
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            assert words[0] == "prepriv"
            assert run(words[1:]) == 0, (line, capsys.readouterr().err)
