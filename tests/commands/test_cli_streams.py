"""`prepriv train` and `fit` on files in parts: what is refused before the charge, and what is left after it."""

from __future__ import annotations

import errno
import json
import os

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest

import prepriv
from prepriv import preprocessing as pre
from prepriv.cli import run
from prepriv.ledger import BudgetExceeded, Ledger
from prepriv.tables.stream import Files, files

SCHEMA = """
label: {name: y, classes: [no, yes]}
columns:
  a: {type: numeric, low: 0, high: 1}
  job: {type: categorical, categories: [clerk, smith]}
steps: linear
"""
DOMAIN = prepriv.Domain(
    {"a": prepriv.Numeric(0, 1), "job": prepriv.Categorical(["clerk", "smith"])}, ["no", "yes"], label="y"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """600 rows in three files, a schema and a ledger for two runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts").mkdir()
    rng = np.random.default_rng(3)
    for i in range(3):
        a = rng.random(200)
        part = pd.DataFrame(
            {"y": np.where(a > 0.5, "yes", "no"), "a": a, "job": rng.choice(["clerk", "smith"], 200)}
        )
        if i == 1:
            part.to_csv(tmp_path / "parts" / "1.csv", index=False)
        else:
            part.to_parquet(tmp_path / "parts" / f"{i}.parquet")
    (tmp_path / "S.yaml").write_text(SCHEMA)
    Ledger.create(tmp_path / "L.db", "people", epsilon=2.5, delta=1e-4)
    return tmp_path


def train(data="parts", *options):
    return run(
        ["train", str(data), "--schema", "S.yaml", "--rows", "600", "--ledger", "L.db", *map(str, options)]
    )


def charges(path="L.db"):
    return sum(entry.kind == "charged" for entry in Ledger.open(path).entries())


def test_a_folder_trains_and_rows_on_disk_are_told_in_one_line(folder, capsys):
    assert train("parts", "--memory", "1KB") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "rows are held on disk" in out and "(memory: 1 KB)" in out
    assert train("parts/*", "--out", "run2") == 0
    assert "on disk" not in capsys.readouterr().out
    assert charges() == 2 and json.loads((folder / "run2" / "report.json").read_text())


@pytest.mark.parametrize(
    "data, options, says",
    [
        ("gone", (), "no such file"),
        ("parts/*.tsv", (), "no file matches"),
        ("parts", ("--memory", "lots"), "memory must be None"),
    ],
)
def test_what_can_be_known_before_the_charge_is_refused_before_it(folder, capsys, data, options, says):
    assert train(data, *options) == 2
    assert (
        says in " ".join(capsys.readouterr().err.split()) and charges() == 0 and not (folder / "run").exists()
    )


def test_a_full_disk_is_refused_before_the_charge(folder, capsys, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "")

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert train("parts", "--memory", "1KB") == 2
    assert "has no room for them" in " ".join(capsys.readouterr().err.split()) and charges() == 0


def test_a_part_that_does_not_fit_is_seen_before_the_charge(folder, capsys):
    """By the names of its columns, which are public; another number of rows is seen after it."""
    pd.DataFrame({"a": [0.5], "y": ["no"]}).to_parquet(folder / "parts" / "3.parquet")
    assert train() == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "3.parquet has no column 'job'" in err and charges() == 0
    (folder / "parts" / "3.parquet").unlink()
    (folder / "parts" / "2.parquet").unlink()
    assert train() == 70  # of CSV files only reading tells how many rows there are
    assert "the plan is for 600 records, and the table has another number" in " ".join(
        capsys.readouterr().err.split()
    )
    assert charges() == 1


def test_a_part_that_vanishes_in_the_run_is_one_sentence_and_the_charge_stays(folder, capsys, monkeypatch):
    passes = []
    original = Files.parts

    def vanishing(self, columns):
        if len(passes) == 1:
            (folder / "parts" / "2.parquet").unlink()
        passes.append(columns)
        yield from original(self, columns)

    monkeypatch.setattr(Files, "parts", vanishing)
    assert train("parts", "--memory", "1KB") == 70
    err = " ".join(capsys.readouterr().err.split())
    assert (
        "no such file: parts/2.parquet (found only after the charge, which stays)" in err and charges() == 1
    )


def test_in_python_the_form_of_every_part_is_seen_before_the_charge(folder):
    pd.DataFrame({"a": [0.5], "y": ["no"]}).to_parquet(folder / "parts" / "3.parquet")
    clf = prepriv.PrivateClassifier(DOMAIN, ledger="L.db")
    for fit in (lambda: clf.fit("parts", None), lambda: clf.fit("parts", "z")):
        with pytest.raises(ValueError, match="has no column"):
            fit()
    (folder / "parts" / "3.parquet").unlink()
    with pytest.raises(ValueError, match="declare n in the domain"):  # a CSV file tells no number of rows
        clf.fit("parts", None)
    assert charges() == 0


def test_a_stream_is_charged_before_a_record_is_read(folder, monkeypatch):
    clf = prepriv.PrivateClassifier(DOMAIN, epsilon=2.0, ledger="L.db", steps="linear")
    clf.fit("parts/*.parquet", None)
    assert charges() == 1 and clf.score("parts/1.csv", pd.read_csv("parts/1.csv")["y"]) > 0.5
    monkeypatch.setattr(Files, "parts", lambda *_: pytest.fail("a record was read"))
    with pytest.raises(BudgetExceeded):
        clf.fit("parts/*.parquet", None)


def test_a_public_part_of_the_private_files_is_refused(folder):
    (folder / "link.parquet").symlink_to(folder / "parts" / "2.parquet")
    for public in (Files(files("link.parquet")), ds.dataset("parts/2.parquet")):
        clf = prepriv.PrivateClassifier(DOMAIN, steps=[pre.Center(payment=prepriv.Public(public))])
        with pytest.raises(ValueError, match="public table is the private"):
            clf.fit("parts/*.parquet", None)
