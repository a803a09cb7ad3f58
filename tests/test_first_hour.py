"""What newcomers met in their first hour, and what they see now (docs/learn/first-ten-minutes.md)."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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


def test_rows_that_were_left_out_are_named_before_the_way_to_declare_fewer():
    """At every place that compares the two numbers: a plan, a fit, a measurement, a choice and a pipeline."""
    y, fewer = ["bad", "good"] * 100, TABLE[:150]
    clf = prepriv.PrivateClassifier(DOMAIN)
    private = prepriv.private(make_pipeline(StandardScaler(), LogisticRegression()), DOMAIN)
    asked = (
        lambda: clf.plan(150),
        lambda: clf.fit(fewer, y[:150]),
        lambda: prepriv.PrivateClassifier(DOMAIN, holdout=0.3).fit(fewer, y[:150]),
        lambda: private.fit(fewer, y[:150]),
        lambda: prepriv.choose([{"steps": "auto"}, {"steps": "linear"}], fewer, y[:150], DOMAIN),
        lambda: prepriv.private(make_pipeline(StandardScaler(), LogisticRegression()), DOMAIN, n=150),
    )
    for ask in asked:
        with pytest.raises(ValueError, match=r"n=200 records, not 150") as refused:
            ask()
        said = str(refused.value)
        assert 0 < said.index("dropna()") < said.index("keep all rows") < said.index("with_n(150)")
    secret = dataclasses.replace(DOMAIN, adjacency="add-or-remove-one")
    with pytest.raises(
        ValueError, match=r"with_n\(150\)"
    ) as refused:  # there n is no release, and not counted
        prepriv.PrivateClassifier(secret).plan(150)
    assert "dropna" not in str(refused.value)


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
