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


MINE = """import prepriv
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
pipeline = make_pipeline(Normalizer())
domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1]{more})
"""


@pytest.mark.parametrize(
    "more, lines, code, says",
    [
        (", n=1000", "", 0, "n = 1,000"),
        ("", "rows: 1000\n", 0, "n = 1,000"),
        ("", "", 2, "rows: is missing"),
        (", n=1000", "rows: 900\n", 2, "declares n=1000"),
        (", n=1000", "adjacency: add-or-remove-one\n", 2, "declare the same"),
        (", n=1000", "domain: {features: 3, low: 0, high: 1}\nrows: 900\n", 0, "n = 900"),
    ],
)
def test_the_python_file_may_declare_the_domain_and_its_rows(tmp_path, capsys, more, lines, code, says):
    (tmp_path / "mine.py").write_text(MINE.replace("{more}", more))
    (tmp_path / "p.yaml").write_text("sklearn: mine.py\nlearner: {kind: laplace, epsilon: 1}\n" + lines)
    assert run(["account", str(tmp_path / "p.yaml")]) == code
    out, err = capsys.readouterr()
    assert says in " ".join((out + err).split())


def test_rows_of_a_schema_need_not_be_repeated(tmp_path, capsys):
    (tmp_path / "S.yaml").write_text(COLUMNS + "rows: 1000\n")
    (tmp_path / "p.yaml").write_text(PIPELINE.replace("rows: 1000\n", ""))
    assert run(["account", str(tmp_path / "p.yaml")]) == 0
    assert "n = 1,000" in capsys.readouterr().out


def test_a_way_out_of_what_has_noise_of_its_own_says_so_in_the_words_of_its_user(tmp_path, capsys):
    (tmp_path / "S.yaml").write_text(COLUMNS)
    for learner in (
        "laplace, epsilon: 1",
        "diffprivlib, model: LogisticRegression, epsilon: 1.0, data_norm: 5.0",
    ):
        (tmp_path / "p.yaml").write_text(f"rows: 1000\nschema: S.yaml\nlearner: {{kind: {learner}}}\n")
        assert run(["account", str(tmp_path / "p.yaml"), "--target", "1"]) == 2
        said = capsys.readouterr().err
        assert "noise_multiplier" in said and "PureMechanism" not in said and "ReleasedStatistic" not in said
