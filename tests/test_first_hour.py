"""What newcomers met in their first hour, and what they see now (docs/learn/first-ten-minutes.md)."""

from __future__ import annotations

import pandas as pd
import pytest

import prepriv
from prepriv.cli import run
from prepriv.schemas.declared_file import BadSchema
from prepriv.schemas.schema import load_schema

TABLE = pd.DataFrame({"age": [20.0, 40.0] * 100})
DOMAIN = prepriv.Domain({"age": prepriv.Numeric(0, 100)}, classes=["bad", "good"], n=200)


def test_a_draft_without_classes_says_that_it_has_to_be_completed(tmp_path):
    path = tmp_path / "S.yaml"
    path.write_text(
        "draft: true\nlabel: {name: y, classes: [a]}\ncolumns: {age: {type: numeric, low: 0, high: 1}}\n"
    )
    with pytest.raises(BadSchema, match=r"at least 2 entries.*have to complete"):
        load_schema(path)


def test_labels_of_another_type_are_named_to_the_curator():
    found = prepriv.validate(DOMAIN, TABLE, pd.Series([False, True] * 100))
    assert "NOT ONE label" in str(found) and "bool" in str(found).lower()


def test_a_split_names_the_way_to_declare_its_rows():
    with pytest.raises(ValueError, match=r"with_n\(100\).*with_n\(None\)"):
        prepriv.PrivateClassifier(DOMAIN).plan(100)


def test_the_help_of_account_names_schemas(capsys):
    assert run(["account", "--help"]) == 0
    assert "schema: FILE" in " ".join(capsys.readouterr().out.split())


def test_an_account_prints_numbers_that_are_read_at_a_glance(tmp_path, capsys):
    (tmp_path / "p.yaml").write_text(
        "rows: 50000\ndomain: {features: 2, low: 0, high: 1, classes: 2}\nsteps: []\n"
        "learner: {kind: Opacus, noise_multiplier: 0.1, max_grad_norm: 1.0, sample_rate: 0.1, epochs: 9}\n"
    )
    assert run(["account", str(tmp_path / "p.yaml")]) == 0
    said = capsys.readouterr().out
    assert "n = 50,000" in said and "no useful bound" in said
