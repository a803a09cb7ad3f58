"""`prepriv train --engine`: a cluster of this machine or one that answers; one sentence and no charge where there is none."""

from __future__ import annotations

import pytest

from engines.clusters import charges
from prepriv.cli import run
from prepriv.engines import dask_start as module


def command(folder, engine, monkeypatch):
    monkeypatch.chdir(folder)
    columns = "columns: {a: {type: numeric, low: 0, high: 1}, b: {type: numeric, low: 0, high: 1}}\n"
    (folder / "S.yaml").write_text(f"label: {{name: y, classes: [0, 1]}}\n{columns}steps: linear\n")
    options = ["--schema", "S.yaml", "--rows", "1500", "--ledger", "L.db", "--engine", engine]
    return run(["train", "parts", *options])


@pytest.mark.parametrize(
    "engine, match",
    [
        ("dask://127.0.0.1:9", "no Dask scheduler answers at 127.0.0.1:9"),
        ("dask://10.1.2.3:8786", "a cluster beyond this machine needs TLS"),
        ("spark", "engine must be threads, torch, torch:cuda, dask or dask://HOST:PORT; got 'spark'"),
    ],
)
def test_an_engine_of_the_command_line_that_is_not_there_is_one_sentence(
    folder, engine, match, monkeypatch, capsys
):
    if engine.startswith("dask"):
        pytest.importorskip("distributed", reason="Dask is not installed: pip install prepriv[dask]")
    monkeypatch.setattr(module, "_PATIENCE", "1s")
    assert command(folder, engine, monkeypatch) == 2
    assert match in " ".join(capsys.readouterr().err.split()) and charges(folder) == 0


def test_without_dask_it_is_one_sentence(folder, monkeypatch, capsys):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert command(folder, "dask", monkeypatch) == 2
    assert "needs Dask: pip install 'prepriv[dask]'" in " ".join(capsys.readouterr().err.split())
    assert charges(folder) == 0


def test_the_command_trains_on_workers_of_this_machine(folder, monkeypatch, capsys):
    distributed = pytest.importorskip(
        "distributed", reason="Dask is not installed: pip install prepriv[dask]"
    )
    local = distributed.LocalCluster
    monkeypatch.setattr(
        distributed, "LocalCluster", lambda **options: local(n_workers=2, processes=False, **options)
    )
    assert command(folder, "dask", monkeypatch) == 0 and charges(folder) == 1
