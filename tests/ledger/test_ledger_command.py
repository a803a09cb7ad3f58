"""`prepriv ledger create | show | verify` and their exit codes."""

import json
import os
import re
import shutil
import sqlite3
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from prepriv import Domain
from prepriv.commands.ledger import app
from prepriv.ledger import Ledger


@pytest.fixture
def run():
    def call(*arguments):
        return CliRunner().invoke(app, list(map(str, arguments)))

    return call


def test_create_show_verify(tmp_path, run, pay):
    path = tmp_path / "l.db"
    made = run("create", path, "--dataset", "census", "--epsilon", "1.0", "--delta", "1e-5")
    assert made.exit_code == 0 and "epsilon 1, delta 0.00001 (basic, replace-one)" in made.stdout
    charge = pay(Ledger.open(path), "run-1", 0.3, 1e-6, note="first")
    shown = run("show", path)
    assert shown.exit_code == 0
    assert "left       epsilon 0.7, delta 0.000009" in shown.stdout
    assert "run-1  epsilon 0.3, delta 0.000001  first" in shown.stdout
    assert "bookkeeping; the guarantee is the cap" in shown.stdout
    Ledger.open(path).released("run-1", "7a" * 32)
    assert "released  run-1  artifact 7a7a7a7a7a7a, paid for in row 1" in run("show", path).stdout
    head = f"2:{Ledger.open(path).entries()[-1].head}"
    assert f"head       {head}\n           give this head to someone who keeps it" in run("show", path).stdout
    verified = run("verify", path, "--receipt", f"1:{charge.head}")
    assert verified.exit_code == 0 and verified.stdout.startswith(
        f"{path}: ok, rows 2, head {head}\n{path}: the head given, 1:"
    )
    assert "is that of row 1. So its cap and its row 1 are what" in verified.stdout
    assert "covers the rows up to 1, and not row 2" in verified.stdout
    verified = run("verify", path, "--receipt", head)
    assert verified.exit_code == 0 and verified.stdout.startswith(
        f"{path}: ok, rows 2, head {head}\n{path}: the head given, 2:"
    )
    assert verified.stdout.count("\n") == 2  # no row comes after it


def test_show_json_is_exact(ledger, run):
    shown = json.loads(run("show", ledger.path, "--json").stdout)
    assert shown["left"] == {"epsilon": "0.7", "delta": "0.0000097"}
    assert shown["unit"] == "basic" and shown["adjacency"] == "replace-one"
    assert [row["kind"] for row in shown["rows"]] == ["charged"] * 3 + ["released"]
    assert shown["head"] == f"4:{ledger.entries()[-1].head}"


def test_other_units(tmp_path, run):
    assert run("create", tmp_path / "g.db", "--dataset", "g", "--unit", "gdp", "--mu", "0.5").exit_code == 0
    assert run("create", tmp_path / "z.db", "--dataset", "z", "--unit", "zcdp", "--rho", "0.5").exit_code == 0
    assert Ledger.open(tmp_path / "g.db").cap.mu == 0.5
    assert Ledger.open(tmp_path / "z.db").cap.rho == 0.5


def test_a_typed_cap_is_rounded_from_what_was_typed(tmp_path, run):
    run("create", tmp_path / "l.db", "--dataset", "x", "--epsilon", "1", "--delta", "0.1234567890123456789")
    assert Ledger.open(tmp_path / "l.db").header.cap.delta == 123456789012345678


@pytest.mark.parametrize(
    "arguments",
    [
        ["--epsilon", "nan", "--delta", "0"],
        ["--epsilon", "inf", "--delta", "0"],
        ["--epsilon", "1e300", "--delta", "0"],
        ["--epsilon", "1e-300", "--delta", "0"],
        ["--epsilon", "one", "--delta", "0"],
        ["--epsilon=-1", "--delta", "0"],
        ["--epsilon", "0", "--delta", "1e-5"],
        ["--epsilon", "0", "--delta", "0"],
        ["--epsilon", "1"],
        ["--unit", "gdp", "--mu", "0"],
        ["--epsilon", "1", "--delta", "1"],
        ["--unit", "pld", "--epsilon", "1", "--delta", "0"],
        ["--unit", "gdp", "--epsilon", "1", "--delta", "0"],
        ["--epsilon", "1", "--delta", "0", "--adjacency", "swap"],
    ],
    ids=" ".join,
)
def test_bad_input_is_exit_code_2_and_makes_no_file(tmp_path, run, arguments):
    assert run("create", tmp_path / "l.db", "--dataset", "x", *arguments).exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_exit_codes_of_a_missing_and_a_broken_ledger(tmp_path, run, ledger):
    for command in ("show", "verify"):
        assert run(command, tmp_path / "none.db").exit_code == 4
    assert run("create", ledger.path, "--dataset", "x", "--epsilon", "1", "--delta", "0").exit_code == 2
    db = sqlite3.connect(ledger.path, isolation_level=None)
    db.execute("DROP TRIGGER header_once")
    db.close()
    for command in ("show", "verify"):
        broken = run(command, ledger.path)
        assert broken.exit_code == 5 and "header_once" in broken.output


def test_receipts_and_second_ledgers(tmp_path, run, ledger):
    wrong = run("verify", ledger.path, "--receipt", f"2:{'0f' * 32}")
    assert wrong.exit_code == 5 and re.search(r"row 2 has another one, .* made again", wrong.output)
    assert run("verify", ledger.path, "--receipt", "nonsense").exit_code == 2
    shutil.copy(ledger.path, tmp_path / "copy.db")
    twice = run("verify", ledger.path, tmp_path / "copy.db")
    assert twice.exit_code == 0 and "copy.db: ok, a copy of" in twice.output  # until it is charged, too
    assert "same data set" not in twice.output and "together" not in twice.output
    Ledger.create(tmp_path / "other.db", "another", epsilon=1.0, delta=0)
    assert run("verify", ledger.path, tmp_path / "other.db").exit_code == 0
    none = run("verify", ledger.path, tmp_path / "other.db", "--receipt", f"0:{'0f' * 32}")
    assert none.exit_code == 5 and none.output.count("WRONG") == 1
    assert re.search(r"^WRONG: .* 0:0f0f0f0f0f0f is in none of these ledgers", none.output, re.M)


def test_a_second_name_is_no_second_ledger_and_names_of_a_data_set_are_read_as_people_write_them(
    tmp_path, run, ledger
):
    (tmp_path / "link.db").symlink_to(ledger.path)
    (tmp_path / "folder").symlink_to(tmp_path)
    same = [ledger.path, tmp_path / "link.db", tmp_path / "folder/ledger.db"]
    told = run("verify", *same)
    assert (
        told.exit_code == 0 and told.output.startswith(f"{ledger.path}: ok") and told.output.count("ok") == 1
    )
    Ledger.create(tmp_path / "other.db", " Census-2020 ", epsilon=1.0, delta=0)
    told = run("verify", *same, tmp_path / "other.db")
    # findings are evidence, so a saved standard output holds them; the sum is named
    assert told.exit_code == 5 and told.stdout.count("their caps add up to epsilon 2, delta 0.00001") == 2
    Ledger.create(tmp_path / "mu.db", "census-2020", mu=1, unit="gdp")
    told = run("verify", ledger.path, tmp_path / "mu.db")
    assert told.exit_code == 5 and told.stdout.count("their caps add up") == 2  # in no common unit
    head = ledger.entries()[-1].head
    assert run("verify", ledger.path, "--receipt", f"4:{head.upper()}").exit_code == 0
    assert run("verify", ledger.path, "--receipt", f"4:{'x' * 64}").exit_code == 2


def test_a_cap_without_delta_is_for_pure_plans_and_says_so(tmp_path, run, pay):
    made = run("create", tmp_path / "l.db", "--dataset", "x", "--epsilon", "1", "--delta", "0")
    assert made.exit_code == 0 and "pure differential privacy only" in made.stdout
    assert pay(Ledger.open(tmp_path / "l.db"), "pure", 0.3, 0).sequence == 1
    usual = run("create", tmp_path / "m.db", "--dataset", "x", "--epsilon", "1", "--delta", "1e-5")
    assert usual.exit_code == 0 and "pure" not in usual.stdout


def test_where_a_ledger_cannot_be_is_said_in_full(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bank.csv").write_text("a,b\n1,2\n")
    cap = ["--dataset", "x", "--epsilon", "1", "--delta", "1e-5"]
    for path, code, says in (
        ("nodir/l.db", 4, f"l.db: the folder {tmp_path / 'nodir'} does not exist; nothing was created"),
        (
            "bank.csv/l.db",
            4,
            f"l.db: the folder {tmp_path / 'bank.csv'} is not a folder; nothing was created",
        ),
        (".", 2, f"{tmp_path.name} is a folder; a ledger is a file"),
    ):
        made = run("create", path, *cap)
        assert made.exit_code == code and made.output == f"prepriv: {says}\n"
    shown = run("show", ".")
    assert shown.exit_code == 4 and "is a folder; a ledger is a file" in shown.output
    shown = run("show", "bank.csv")
    assert shown.exit_code == 5 and shown.output == "prepriv: bank.csv: file is not a database\n"
    assert (
        run("verify", "bank.csv").output
        == "bank.csv: WRONG: file is not a database\nexit code 5: something is wrong\n"
    )
    assert [p.name for p in tmp_path.iterdir()] == ["bank.csv"]


def test_a_new_ledger_says_what_its_cap_is_as_mu(tmp_path, run):
    from prepriv.guarantees.gaussian import gdp_epsilon

    made = run("create", tmp_path / "l.db", "--dataset", "x", "--epsilon", "3", "--delta", "1e-5").stdout
    mu = float(made.split("--mu ")[1].split()[0])
    assert "--unit gdp" in made and 2.99 < gdp_epsilon(mu, 1e-5) <= 3
    made = run("create", tmp_path / "g.db", "--dataset", "x", "--unit", "gdp", "--mu", str(mu)).stdout
    assert "--unit gdp" not in made


def test_a_ledger_of_mu_refuses_a_draft_and_says_why(tmp_path):
    """The advice to count mu led to "mu must be given"."""
    Ledger.create(tmp_path / "g.db", "x", mu=9, unit="gdp")
    rows = pd.DataFrame({"a": np.arange(300.0), "y": ["no", "yes"] * 150})
    with pytest.raises(ValueError, match="has no single mu"):
        Domain.draft(rows, epsilon=5.0, ledger=tmp_path / "g.db")
    assert not Ledger.open(tmp_path / "g.db").entries()


def test_a_new_ledger_beside_another_of_the_same_data_set_says_so(tmp_path, run):
    """A second ledger was created for the same people, and nothing said that there was one."""
    cap = ["--epsilon", "1", "--delta", "1e-5"]
    (tmp_path / "bad.db").write_bytes(b"SQLite format 3")
    os.mkfifo(tmp_path / "pipe.db")  # nothing waits for it
    first = run("create", tmp_path / "a.db", "--dataset", "staff-2025", *cap)
    assert first.exit_code == 0 and "two caps add up" not in first.stdout
    for name in ("staff_2025", " Staff-2025"):
        made = run("create", tmp_path / f"{len(name)}.sqlite", "--dataset", name, *cap)
        assert made.exit_code == 0 and f"{tmp_path / 'a.db'} is a ledger for the same data set" in made.stdout
    assert "two caps" not in run("create", tmp_path / "x.db", "--dataset", "staff-2024", *cap).stdout
    as_json = run("create", tmp_path / "j.db", "--dataset", "staff-2025", *cap, "--json")
    assert as_json.exit_code == 0 and as_json.stdout.startswith("{")


def test_a_rest_that_no_run_can_declare_is_nothing(tmp_path, run, pay):
    ledger = Ledger.create(tmp_path / "l.db", "x", epsilon=1, delta=1e-5)
    pay(ledger, "a", Decimal("0.999999999"), 1e-6)
    assert (
        "left       nothing that a run could declare (epsilon 0.000000001" in run("show", ledger.path).stdout
    )


def test_a_head_that_was_given_is_answered(tmp_path, run, ledger):
    """Nothing said that the right head matched, and a wrong one without files ended without the line of the exit code."""
    head = run("show", ledger.path).output.split("head       ")[1].split()[0]
    right = run("verify", ledger.path, "--receipt", head)
    row = head.split(":")[0]
    assert f"the head given, {head[: len(row) + 13]}, is that of row {row}. So its cap" in right.output
    told = json.loads(run("verify", ledger.path, "--receipt", head, "--json").stdout)
    assert len(told["heads_found"]) == 1 and "nothing of it was replaced" in told["heads_found"][0]
    wrong = run("verify", ledger.path, "--receipt", f"{row}:{'0f' * 32}")
    assert wrong.exit_code == 5 and wrong.output.endswith("exit code 5: something is wrong\n")
    assert "the head given" not in wrong.output
