"""The command line imports the code of the command that is named, and no other."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from prepriv.cli import run
from prepriv.commands.app import COMMANDS, app, app_for


def test_help_without_the_code_is_the_help_with_it():
    whole, names = (CliRunner().invoke(a, ["--help"]).output for a in (app, app_for(["--help"])))
    assert whole == names and all(name in whole for name in COMMANDS)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nothing"], []])
def test_nothing_heavy_is_imported_for_a_name(arguments):
    heavy = [
        "numpy",
        "scipy",
        "pyarrow",
        "sklearn",
        "jinja2",
        "rich",
        "mpmath",
        "cryptography",
        "narwhals",
    ]
    code = f"import sys; from prepriv.cli import run; run({arguments!r}); print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_picture_without_its_library_is_a_sentence(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code = run(
        ["shuffle", "--epsilon0", "1", "--n", "1000", "--delta", "1e-6", "--plot", str(tmp_path / "p.png")]
    )
    assert code == 2 and "pip install 'prepriv[plots]'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["reproduce"], ["reproduce", "list"], ["reproduce", "all", "--small"]])
def test_a_command_of_another_distribution_says_how_to_get_it(arguments, monkeypatch, capsys):
    monkeypatch.setattr("prepriv.commands.app.entry_points", lambda **_: ())
    assert run(arguments) == 2
    assert "pip install ./papers" in capsys.readouterr().err
