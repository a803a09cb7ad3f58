"""What someone kept of a ledger covers the rows up to then: a receipt its charge, and only a head the release after it."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3

import numpy as np
import pandas as pd
import pytest
from forged_ledger import without_last

import prepriv
from prepriv.cli import run
from prepriv.learners import GradientDescent, Logistic
from prepriv.ledger import Ledger
from prepriv.release.model import Model

ROWS, LABELS = pd.DataFrame({"dose": np.linspace(0, 1, 50)}), ["no", "yes"] * 25
DOMAIN = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)


def test_a_kept_head_shows_a_model_that_was_replaced_and_released_again_and_its_receipt_does_not(
    tmp_path, capsys
):
    """ "Only a receipt or a head shows it", said every page: the receipt of a replaced model was still in its ledger, and the exit code was 0."""
    ledger, folder = tmp_path / "L.db", tmp_path / "m"
    Ledger.create(ledger, "people", epsilon=2, delta=1e-4)
    clf = prepriv.PrivateClassifier(DOMAIN, learner=GradientDescent(Logistic(), steps=2), ledger=ledger)
    model = clf.fit(ROWS, LABELS).model_
    model.save(folder, ledger=ledger)
    uid, receipt = model.receipt["plan_uid"], f"1:{model.receipt['head']}"
    check = ["ledger", "verify", str(ledger), "--receipt"]
    assert run(["ledger", "show", str(ledger)]) == 0
    head = re.search(r"head +(2:\w{64})", said := capsys.readouterr().out)[1]
    assert "only a kept head shows that these rows were made again. A kept receipt" in said
    assert run([*check, head]) == 0 and "covers the rows" not in capsys.readouterr().out
    without_last(ledger, 1)
    file = folder / "model.json"
    negated = Model.load(folder)
    negated.weights[...] *= -1
    negated.save(folder, overwrite=True)
    Ledger.open(ledger).released(uid, hashlib.sha256(file.read_bytes()).hexdigest())
    assert run(["report", str(folder), "--ledger", str(ledger)]) == 0
    now = f"2:{Ledger.open(ledger).entries()[-1].head}"
    assert (
        f"a kept receipt does not show whether the model was replaced. A head that someone kept since the release does: `prepriv ledger verify {ledger} --receipt HEAD`. Now it is {now}"
        in capsys.readouterr().out.replace("\n", " ")
    )
    assert run([*check, receipt]) == 0
    said = capsys.readouterr().out
    assert (
        f"{receipt[:14]} covers the rows up to 1, and not row 2. The hash of what was released stands in row 2, so this does not show"
        in said
    )
    assert f"someone kept after row 2: {now} covers all rows" in said
    assert run([*check, receipt, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["not_covered"][0].startswith(receipt[:14])
    assert run([*check[:-1], str(folder)]) == 0  # nothing but a head shows it, and that is said
    assert "row 2, the hash of what was released last, comes after every receipt" in capsys.readouterr().out
    assert run([*check, head]) == 5 and "is not in this ledger" in capsys.readouterr().out


def test_a_run_ends_with_the_head_to_keep(tmp_path, capsys):
    ledger, table, schema = tmp_path / "L.db", tmp_path / "t.csv", tmp_path / "s.yaml"
    Ledger.create(ledger, "people", epsilon=9, delta=1e-3)
    ROWS.assign(y=LABELS).to_csv(table, index=False)
    schema.write_text(
        "columns:\n  dose: {type: numeric, low: 0, high: 1}\nlabel: {name: y, classes: ['no', 'yes']}\nrows: 50\n"
    )
    paid = ["--epsilon", "1", "--ledger", str(ledger)]
    model = str(tmp_path / "r" / "model")
    runs = (
        ["train", str(table), "--schema", str(schema), "--out", str(tmp_path / "r"), *paid],
        ["evaluate", model, str(table), "--rows", "50", "--out", str(tmp_path / "e.html"), *paid],
        ["ask", str(table), "mean(dose)", "--schema", str(schema), "--out", str(tmp_path / "a.json"), *paid],
    )
    for line in runs:
        assert run(line) == 0
        last = Ledger.open(ledger).entries()[-1]
        assert last.kind == "released"
        assert (
            f"KEEP the head of {ledger.name}, {last.sequence}:{last.head},"
            in capsys.readouterr().out.replace("\n", " ")
        )


def test_what_an_officer_keeps_of_standard_output_holds_the_finding(tmp_path, capsys):
    """`report ... > evidence.txt` of a page of another model kept "charged: the ledger is sound", and the finding stood on standard error alone."""
    ledger, folders = tmp_path / "L.db", [tmp_path / "a", tmp_path / "b"]
    Ledger.create(ledger, "people", epsilon=3, delta=1e-4)
    for seed, folder in enumerate(folders):
        learner = GradientDescent(Logistic(), steps=2 + seed)
        clf = prepriv.PrivateClassifier(DOMAIN, learner=learner, ledger=ledger, holdout=0.5)
        clf.fit(ROWS, LABELS).model_.save(folder / "model", ledger=ledger)
        clf.report_.save(folder / "report.html")
    line = ["report", str(folders[0] / "model"), "--ledger", str(ledger), "--verify"]
    other, own = folders[1] / "report.html", folders[0] / "report.html"
    edited = tmp_path / "edited.html"
    edited.write_text(own.read_text().replace("&#34;level&#34;: 0.95", "&#34;level&#34;: 0.99"))
    assert edited.read_text() != own.read_text()
    for page, code, why in ((other, 1, "another model"), (edited, 1, "measured_in_private.level")):
        assert run([*line, str(page)]) == code
        said = capsys.readouterr()
        wrong = [one for one in said.out.splitlines() if one.startswith("WRONG: ")]
        assert len(wrong) == 1 and why in wrong[0] and "charged: the ledger is sound" in said.out
        assert said.out.index("WRONG: ") > said.out.index("charged: ")
        assert run([*line, str(page), "--json"]) == code
        assert why in json.loads(capsys.readouterr().out)["wrong"][-1]
    own.write_text(own.read_text().replace("ε = 1", "ε = 2"))
    assert run([*line, str(own), "--json"]) == 1
    assert any(one.startswith("differs: ") for one in json.loads(capsys.readouterr().out)["wrong"])
    file = folders[0] / "model" / "model.json"
    file.write_text(file.read_text().replace('"epsilon": 1.0', '"epsilon": 0.5'))
    assert run([*line, str(own)]) == 2
    assert "WRONG: " in capsys.readouterr().out
    file.write_text("{}")
    without_last(ledger, 1)
    with sqlite3.connect(ledger) as db:
        db.execute("drop trigger header_once")
    db.close()
    assert run(["report", str(folders[1] / "model"), "--ledger", str(ledger)]) == 5
    assert "WRONG: " in capsys.readouterr().out


@pytest.mark.parametrize(
    "cap", [{"epsilon": 2, "delta": 1e-4}, {"unit": "zcdp", "rho": 1}, {"unit": "gdp", "mu": 2}]
)
def test_answers_that_state_another_charge_than_their_ledger_are_wrong(tmp_path, cap, capsys):
    """An officer's: answers that stated ε 0.03 where 0.3 was charged were released again and were ok."""
    ledger, file = tmp_path / "L.db", tmp_path / "answers.json"
    Ledger.create(ledger, "people", **cap)
    rows = pd.DataFrame({"dose": np.linspace(0, 1, 500)})
    columns = {"dose": prepriv.Numeric(0, 1)}
    answers = prepriv.ask(rows, columns, ["mean(dose)"], epsilon=0.3, n=500, ledger=ledger)
    assert "95 % interval" in answers.to_json()["interval"]
    line = ["ledger", "verify", str(ledger), str(file)]
    edits = {
        "nothing": {},
        "less": {"guarantee": {"epsilon": 0.03, "mu": 0.008}},
        "nothing at all": {"guarantee": {"epsilon": None, "mu": None}},
        "neighbours": {"guarantee": {"adjacency": "add-or-remove-one"}},
        "plan": {"plan_hash": "0" * 64},
        "data set": {"ledger": {"dataset": "nobody"}},
        "cap": {"ledger": {"cap": "epsilon 0.3"}},
        "total": {"ledger": {"total": "epsilon 0.1"}},
        **({"delta": {"guarantee": {"delta": 1e-9}}} if "delta" in cap else {}),
    }
    for at, (name, edit) in enumerate(edits.items()):
        told = answers.to_json()
        for key, new in edit.items():
            told[key] = told[key] | new if isinstance(new, dict) else new
        file.write_text(json.dumps(told))
        if at:
            without_last(ledger, 1)
        Ledger.open(ledger).released(
            told["ledger"]["plan_uid"], hashlib.sha256(file.read_bytes()).hexdigest()
        )
        assert run(line) == (5 if edit else 0), name
        said = capsys.readouterr().out
        less = "it states less than row 1 paid for it" in said
        assert less is (name in ("less", "nothing at all", "delta"))
        assert f"answers.json: WRONG: the {name} that it states" in said or name[:7] in ("less", "nothing")


def test_a_page_whose_score_the_ledger_recorded_no_hash_of_is_asked_about(tmp_path, capsys):
    """The release row was written again without the hash of the score: an edited score was "ok", and both commands ended with 0."""
    ledger, folder, page = tmp_path / "L.db", tmp_path / "m", tmp_path / "page.html"
    Ledger.create(ledger, "people", epsilon=2, delta=1e-4)
    learner = GradientDescent(Logistic(), steps=2)
    clf = prepriv.PrivateClassifier(
        DOMAIN, steps=[], learner=learner, ledger=ledger, holdout=0.5, threads=1
    ).fit(ROWS, LABELS)
    clf.model_.save(folder, ledger=ledger)
    clf.report_.save(page)
    lines = (
        ["report", str(folder), "--verify", str(page), "--ledger", str(ledger)],
        ["ledger", "verify", str(ledger), str(folder), str(page)],
    )
    assert [run(line) for line in lines] == [0, 0]
    release = Ledger.open(ledger).entries()[-1]
    without_last(ledger, 1)
    Ledger.open(ledger).released(release.plan_uid, release.artifact)
    capsys.readouterr()
    for line in lines:
        assert run(line) == 8 and "without a hash of them" in capsys.readouterr().out
