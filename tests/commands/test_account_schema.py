"""`prepriv account` with a schema: nothing that the schema says of the run is passed over."""

from __future__ import annotations

import pytest

from prepriv.cli import run

COLUMNS = "label: {name: y, classes: [0, 1]}\ncolumns:\n  a: {type: numeric, low: 0, high: 1}\n"
PIPELINE = "rows: 1000\nschema: S.yaml\nlearner: {kind: laplace, epsilon: 1}\n"


@pytest.mark.parametrize(
    "more, pipeline, says",
    [
        ("steps:\n  - {step: PCA, k: 1, pay: {budget: 0.1}}\n", PIPELINE, "it has steps:"),
        ("learner: {kind: GradientDescent, steps: 5}\n", PIPELINE, "it has learner:"),
        ("rows: 9999\n", PIPELINE, "declares rows: 9999, the pipeline file 1000"),
        ("adjacency: add-or-remove-one\n", PIPELINE, "declares adjacency: add-or-remove-one"),
        ("", PIPELINE + "adjacency: add-or-remove-one\n", "declares adjacency: replace-one"),
        ("", PIPELINE + "sklearn: mine.py\nmissing: 0.3\n", "missing and deviation are for a pipeline"),
    ],
)
def test_what_a_schema_says_of_the_run_is_not_passed_over(tmp_path, capsys, more, pipeline, says):
    """Steps in a schema: "the pipeline really has ε = 4.323", without one of them."""
    (tmp_path / "S.yaml").write_text(COLUMNS + more)
    (tmp_path / "p.yaml").write_text(pipeline)
    (tmp_path / "mine.py").write_text("pipeline = []\n")
    assert run(["account", str(tmp_path / "p.yaml")]) == 2
    assert says in " ".join(capsys.readouterr().err.split())


def test_a_schema_that_says_the_same_is_taken(tmp_path, capsys):
    (tmp_path / "S.yaml").write_text(COLUMNS + "rows: 1000\n")
    (tmp_path / "p.yaml").write_text(PIPELINE)
    assert run(["account", str(tmp_path / "p.yaml")]) == 0
    assert "really has ε = 1" in capsys.readouterr().out
