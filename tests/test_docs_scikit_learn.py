"""docs/scikit-learn.md: every line of it runs, one block after the other, and what it prints is what its comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "scikit-learn.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


@pytest.mark.filterwarnings("ignore")
def test_every_line_runs_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "scikit-learn.md", "exec"), names)
    out = capsys.readouterr().out
    assert re.search(
        r"the plan costs epsilon 1, delta 0\.00001, and epsilon 0\.000\d*, delta 0\.00007 is left",
        out,
    ), out
    assert re.search(r"the plan costs mu\^2 0\.\d+, and mu\^2 0\.\d+ is left", out)
    for said in (
        "train: Center (budget), GradientDescent",
        "row 1 is not a row of 2 cells, which the model reads",
        "sample_weight",
        "private runs in this process",
    ):
        assert said in out


def test_each_tool_of_the_table_has_its_words():
    for tool in (
        "Pipeline",
        "cross_val_score",
        "GridSearchCV",
        "CalibratedClassifierCV",
        "SMOTE",
        "StratifiedKFold",
    ):
        assert tool in PAGE
    assert len(BLOCKS) >= 10 and "```\n\n```" not in PAGE
