"""What the screen says to an analyst who has no Python: what to ask instead, what a cap is in ε, what numbers are about."""

from __future__ import annotations

import pytest

from prepriv.cli import run
from prepriv.guarantees.gaussian import gdp_epsilon
from prepriv.ledger import Noted
from prepriv.release.advice import noise_in_words

SCHEMA = """label: {name: y, classes: ["no", "yes"]}
rows: 400
columns:
  a: {type: categorical, categories: [u, v]}
  b: {type: categorical, categories: [p, q]}
  x: {type: numeric, low: 0, high: 1}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(SCHEMA)
    rows = [f"{'uv'[i % 2]},{'' if i % 4 == 0 else 'p'},{i / 400},{('no', 'yes')[i % 2]}" for i in range(400)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,x,y", *rows]) + "\n")
    return tmp_path


def asked(question, *more):
    return run(["ask", "t.csv", question, "--schema", "s.yaml", "--epsilon", "1", *more])


def test_one_category_and_two_groups_name_what_to_ask(folder, capsys):
    assert asked("share(a=u)", "--price") == 2
    assert '"share(a)"' in capsys.readouterr().err
    assert asked("mean(x) by a, b", "--price") == 2
    assert '"crosstab(a, b)"' in capsys.readouterr().err
    assert asked("share(nothing=u)", "--price") == 2
    assert "share(" not in capsys.readouterr().err


def test_a_share_says_that_gaps_count(folder, capsys):
    assert asked("share(b)") == 0
    assert "with a gap there count" in capsys.readouterr().out
    assert asked("count by a") == 0
    assert "with a gap there count" not in capsys.readouterr().out


def test_a_cap_on_mu_is_said_as_epsilons_too(folder, capsys):
    assert run(["ledger", "create", "g.db", "--dataset", "d", "--unit", "gdp", "--mu", "0.6"]) == 0
    created = capsys.readouterr().out
    assert run(["ledger", "show", "g.db"]) == 0
    shown = capsys.readouterr().out
    told = next(line for line in created.splitlines() if "at delta 1e-05" in line)
    assert told.strip() in shown
    assert gdp_epsilon(0.6, 1e-5) <= float(told.split()[3]) < gdp_epsilon(0.6, 1e-5) + 0.002  # never below


def test_several_epsilons_say_what_is_compared_with_what(folder, capsys):
    assert run(["plan", "s.yaml", "--epsilons", "0.5,1"]) == 0
    assert "may itself be worthless" in capsys.readouterr().out
    (folder / "n.yaml").write_text(SCHEMA.replace('classes: ["no", "yes"]', "low: 0, high: 9"))
    assert run(["plan", "n.yaml", "--epsilons", "0.5,1"]) == 0
    told = capsys.readouterr().out
    assert "not measured" not in told and "beat commonest" not in told and "docs/regression.md" in told


def test_a_plan_for_units_speaks_of_them(folder, capsys):
    (folder / "u.yaml").write_text(SCHEMA.replace("rows: 400", "rows: 100\nunit: who\nrows_per_unit: 4"))
    for more, said in (
        (["--epsilons", "1,2"], "guesses about all rows of one"),
        ([], "one unit moves a gradient"),
    ):
        assert run(["plan", "u.yaml", *more]) == 0
        told = capsys.readouterr().out
        assert said in " ".join(told.split()) and "one record" not in told


def test_tools_of_scikit_learn_are_named_where_python_warns():
    assert "cross_val_predict" in noise_in_words(["no", "yes"], in_python=True)
    assert "cross_val_predict" not in noise_in_words(["no", "yes"])
    assert "prepriv validate" in noise_in_words(["no", "yes"])


def test_a_note_says_what_it_may_not_hold(capsys):
    assert run(["train", "--help"]) == 0
    assert "without a comma" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(ValueError, match="semicolon"):
        Noted("L.db", note="March, April")


def test_a_description_in_groups_is_booked_as_a_description(folder, capsys):
    assert run(["ledger", "create", "L.db", "--dataset", "d", "--epsilon", "4", "--delta", "1e-3"]) == 0
    describe = ["describe", "t.csv", "--schema", "s.yaml", "--epsilon", "4", "--ledger", "L.db"]
    assert run([*describe, "--by", "a", "--out", "d.html"]) == 0
    capsys.readouterr()
    assert run(["ledger", "show", "L.db"]) == 0
    told = capsys.readouterr().out
    assert "description" in told and "questions" not in told
    assert run(["ledger", "verify", "L.db", "d.html", "d.json"]) == 0
