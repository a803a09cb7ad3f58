"""From every step, learner, loss and premise to its proof, tests and attacks: made from the code, and every path is there."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import prepriv
from prepriv import Budget, Domain, Report, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.cli import run
from prepriv.learners import GradientDescent, Logistic
from prepriv.release.proofs import proofs_of, proofs_of_report

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("proof_table", ROOT / "docs" / "proof_table.py")
maker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(maker)

DOMAIN = Domain.box(0, 1, 3, [0, 1], n=500, missing="impute")
LEARNER = GradientDescent(Logistic(), steps=5, weight_bound=3.0)


@pytest.fixture(scope="module")
def table():
    return maker.table()


def test_the_table_is_that_of_the_code(table):
    """If this fails: python docs/proof_table.py."""
    assert json.loads(maker.DATA.read_text("utf-8")) == table
    assert maker.PAGE.read_text("utf-8") == maker.page(table)


def test_every_step_learner_loss_and_premise_has_a_proof_a_test_and_an_attack(table):
    names = {name for name, of in table["classes"].items() if of["kind"] == "step"}
    public = {n for n in pre.__all__ if isinstance(c := getattr(pre, n), type) and issubclass(c, pre.Step)}
    assert names == public - {"Step"}
    for name, of in table["classes"].items():
        assert of["proofs"] and of["tests"], name
        if of["kind"] != "mechanism" and name != "AnyModel":  # which trains nothing
            assert of["attacks"], name


def test_every_path_is_there(table):
    paths = [p for of in table["classes"].values() for k in ("proofs", "tests", "attacks") for p in of[k]]
    paths += [p for path, of in table["pages"].items() for p in (path, *of["tests"])]
    paths += [t.split(": ")[0] for of in table["pages"].values() for t in of["machine_checked"]]
    assert len(set(paths)) > 80 and not [p for p in paths if not (ROOT / p).is_file()]


def test_a_theorem_counts_where_its_page_names_it(tmp_path, monkeypatch):
    (tmp_path / "proofs" / "coq").mkdir(parents=True)
    (tmp_path / "docs" / "proofs").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "proofs/coq/sums.v").write_text("Theorem any_order s : x.\nLemma unnamed : y.\n")
    (tmp_path / "docs/proofs/lattice.md").write_text("Machine-checked: `sums.any_order`, not `elsewhere`.")
    monkeypatch.setattr(maker, "ROOT", tmp_path)
    assert maker.proof_pages()["docs/proofs/lattice.md"]["machine_checked"] == [
        "proofs/coq/sums.v: any_order"
    ]


def test_a_plan_names_the_proof_of_all_that_it_does():
    steps = (
        pre.MeanImputer(payment=Sensitivity({"missing": 0.01}, test=0.1)),
        pre.Center(payment=Budget(0.1)),
    )
    lines = {
        line["what"]: line for line in proofs_of(make_plan(DOMAIN, steps, LEARNER, epsilon=1.0, delta=1e-5))
    }
    assert lines["Center"]["proofs"] == ["docs/proofs/center.md"]
    assert lines["FewMissing"]["kind"] == "premise"
    assert {
        "GradientDescent",
        "Logistic",
        "the test of caps",
        "steps one after another",
        "what all releases add up to",
    } <= {*lines}


@dataclass(frozen=True)
class Mine(pre.SquareRoot):
    """Somebody's own, which inherits no proof: its name is not ours."""

    takes_any_order = pre.SquareRoot.takes_any_order


class GradientDescentOfMine(GradientDescent):
    """Third-party, of a name that could be ours."""

    for _name in (
        "exact",
        "takes_units",
        "samples",
        "premise",
        "unit",
        "shift",
        "parts",
        "accounts",
        "smooth",
        "reach",
    ):
        locals()[_name] = getattr(GradientDescent, _name)


GradientDescentOfMine.__name__ = "GradientDescent"


def test_third_party_code_has_no_proof_here():
    learner = GradientDescentOfMine(Logistic(), steps=5)
    plan = make_plan(Domain.box(0, 1, 3, [0, 1], n=500), [], learner, epsilon=1.0, delta=1e-5)
    line = proofs_of(plan)[0]
    assert line["what"] == "GradientDescent (third-party)" and not line["proofs"] and not line["tests"]
    assert "none here" in Report.of(plan, private=True).to_html()


def test_page_data_and_commands_lead_to_the_proofs(tmp_path, capsys):
    x = np.random.default_rng(0).random((400, 2))
    domain = Domain.box(0, 1, features=2, classes=[0, 1])
    clf = prepriv.PrivateClassifier(domain, steps="linear", holdout=0.4, evaluate_epsilon=0.5)
    clf.fit(x, (x[:, 0] > 0.5) + 0)
    clf.model_.save(tmp_path / "model")
    told = proofs_of_report(clf.report_)
    assert {"what was measured", "rows set aside by coins", "the claim by a second accountant"} <= {
        line["what"] for line in told
    }
    assert json.loads(clf.report_.text())["proofs"] == told
    page = clf.report_.to_html()
    assert all(f"<code>{path}</code>" in page for line in told for path in line["proofs"])
    assert run(["report", str(tmp_path / "model")]) == 0
    assert "GradientDescent: docs/proofs/gradient_descent.md" in capsys.readouterr().out
    (tmp_path / "s.yaml").write_text(
        "label: {name: y, classes: [0, 1]}\ncolumns:\n  a: {type: numeric, low: 0, high: 1, missing: impute}\n"
        "steps:\n  - {step: MeanImputer, pay: sensitivity, missing: 0.01}\n"
        "learner: {kind: GradientDescent, weight_bound: 3}\n"
    )
    assert run(["plan", str(tmp_path / "s.yaml"), "--rows", "500"]) == 0
    assert "FewMissing: docs/proofs/impute.md" in capsys.readouterr().out


def test_no_claim_leads_to_no_proof():
    made = Report.of(
        make_plan(DOMAIN, [pre.ConstantImputer(0.5)], LEARNER, epsilon=1.0, delta=1e-5), private=False
    )
    assert "proofs" not in made.to_json() and "From each step to its proof" not in made.to_html()
