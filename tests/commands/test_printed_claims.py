"""Every epsilon, mu and delta that a command or a report shows is at least the number the run stored."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

import prepriv
from prepriv.audit.empirical import Verdict
from prepriv.cli import run
from prepriv.commands import account as account_module
from prepriv.commands.audit_empirical import _row
from prepriv.commands.printing import print_guarantee
from prepriv.guarantees.guarantee import GaussianEvent, Guarantee
from prepriv.guarantees.printed import epsilon_at
from prepriv.ledger.currency import Quanta, decimals, short_amount
from prepriv_papers.unified_enhancement import tables as mixture_tables

SCHEMA = """
label: {name: y, classes: [low, high]}
rows: 600
columns:
  a: {type: numeric, low: 0, high: 100, missing: impute}
  b: {type: numeric, low: 0, high: 1}
steps:
  - {step: MeanImputer, pay: sensitivity, missing: {a: 0.1}}
  - {step: Center, pay: budget, share: 0.05}
  - {step: Rescale, radius: 1}
"""
PIPELINE = """
rows: 997
delta: 1.23456789e-6
domain: {features: 5, radius: 1.0}
steps:
  - {step: SoftPCA, strength: 0.05, pay: sensitivity}
  - {step: RankReduction, k: 2, pay: sensitivity}
learner: {kind: dp-gd, noise_multiplier: NOISE, steps: 10, weight_bound: 2.0}
"""
CLAIM = re.compile(r"ε = (\S+) at δ = (\S+), \S+(?:, n = \d+ \((\S+)-GDP\))?")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = "".join(f"{i % 100},{(i % 7) / 7},{'high' if i % 100 > 50 else 'low'}\n" for i in range(600))
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows)
    (tmp_path / "s.yaml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def just_above(printed: str, stored: float) -> None:
    """Not below, and no further than one in the last of three digits; or no useful bound, where that is so."""
    if printed == "no":
        assert stored >= 1000
        return
    assert stored <= float(printed) <= stored * 1.01


def same_claim(text: str, stored: dict) -> None:
    epsilon, delta, mu = CLAIM.search(text).groups()
    just_above(epsilon, stored["epsilon"])
    assert float(delta) == stored["delta"]
    if mu is not None:
        just_above(mu, stored["mu"])


@pytest.mark.parametrize(
    "epsilon, delta", [("1.2344614", "1.23456789e-6"), ("0.0200001", "1e-5"), ("3.00001", "2e-3")]
)
def test_plan_train_report_and_page(folder, capsys, epsilon, delta):
    budget = ["--epsilon", epsilon, "--delta", delta]
    assert run(["train", "t.csv", "--schema", "s.yaml", *budget]) == 0
    stored = json.loads((folder / "run/report.json").read_text())
    claim, prices = stored["guarantee"], stored["prices"]
    assert claim["delta"] == float(delta)
    same_claim(capsys.readouterr().out, claim)
    weak = any(note.startswith("weak: ") for note in claim["notes"])
    assert run(["report", "run/model"]) == (8 if weak else 0) and weak == (delta == "2e-3")
    same_claim(capsys.readouterr().out, claim)

    assert run(["plan", "s.yaml", *budget]) == 0
    out = capsys.readouterr().out
    same_claim(out, claim)
    shown = [
        r.split("│")[3].strip() for r in out.splitlines() if r.count("│") == 5 and r.split("│")[0].strip()
    ]
    assert len(shown) == len(prices)
    for text, price in zip(shown, prices):
        if text == "-":
            assert price["epsilon"] is None
        else:
            just_above(text, price["epsilon"])

    page = (folder / "run/report.html").read_text()
    just_above(re.search(r"<b>ε = ([^<]*)</b>", page)[1], claim["epsilon"])
    assert float(re.search(r"<span>at δ = ([^<]*)</span>", page)[1]) == claim["delta"]
    just_above(re.search(r"<b>([^<]*)-GDP</b>", page)[1], claim["mu"])
    ignored = re.findall(r"all that runs would have ε = (.*?)\.(?: |<)", page)
    paid = [price["epsilon"] for price in prices if price["epsilon"] is not None]
    assert len(ignored) == len(paid) > 0
    for text, priced in zip(sorted(map(float, ignored)), sorted(paid)):
        just_above(str(text), priced)


@pytest.mark.parametrize("noise", ["33.3", "2000", "1.0e6", "0.5"])
def test_account(folder, capsys, monkeypatch, noise):
    found = []

    def kept(*args, **kwargs):
        found.append(account_module_account(*args, **kwargs))
        return found[-1]

    account_module_account = account_module.account
    monkeypatch.setattr(account_module, "account", kept)
    (folder / "p.yaml").write_text(PIPELINE.replace("NOISE", noise))
    assert run(["account", "p.yaml"]) == 0
    out, (result,) = capsys.readouterr().out, found
    delta = 1.23456789e-6
    alone, at = re.search(r"training alone claims ε = (\S+).* at δ = (\S+),", out).groups()
    just_above(alone, result.training_alone.epsilon(delta))
    assert float(at) == delta
    just_above(re.search(r"really has (?:ε = )?(\S+)", out)[1], result.epsilon(delta))
    rows = [[cell.strip() for cell in line.split("│")] for line in out.splitlines() if "│" in line]
    number = r"[^ ]+"
    shown = {row[0]: re.match(number, row[1])[0] for row in rows if len(row) == 2}
    assert set(shown) == set(result.by_route)
    for name, curve in result.by_route.items():
        just_above(shown[name], float(curve.epsilon(delta)))
    steps = [row for row in rows if len(row) == 5 and row[0].startswith("+")]
    assert len(steps) == len(result.steps) == 2
    for row, (_, epsilon, shift) in zip(steps, result.steps):
        just_above(re.match(number, row[1])[0], epsilon)
        for text, true in zip(row[2:], (shift.total_shift, shift.rows_moved, shift.rows_dropped)):
            just_above(text, true)
    others = [row for row in rows if len(row) == 4 and row[0] in ("SoftPCA", "RankReduction")]
    assert len(others) == len(result.alternatives)
    for row, (_, _, epsilon, _) in zip(others, result.alternatives):
        if epsilon is not None:
            just_above(re.match(number, row[2])[0], epsilon)


def test_an_audit_shows_its_bounds_on_the_safe_sides():
    verdict = Verdict("x", 1000, 0.123449, 0.000012344, 0.99999, 1.00004)
    name, alarms, misses, mu, claimed = _row(verdict)
    assert float(alarms) >= verdict.false_alarms and float(misses) >= verdict.misses
    assert float(mu) <= verdict.mu and float(claimed) >= verdict.claimed and name == "x"


def test_tables_of_paper_001_round_bounds_up_and_curves_down(capsys):
    mixture_tables._show("t", ("a", "b"), [{"a": "3e-6", "b": 0.12345612}])
    assert "0.123457" in capsys.readouterr().out
    mixture_tables._curves("t", {"alpha": [], "c": [0.123456 for _ in mixture_tables.ALPHA]})
    assert "0.12345 " in capsys.readouterr().out + " "


def test_a_small_mu_is_not_printed_as_zero(capsys):
    guarantee = Guarantee.of_gaussians([GaussianEvent("train", 1 / 3.351e-5)], "replace-one")
    plan = SimpleNamespace(
        guarantee=guarantee, delta=1e-9, n=10, periods=None, domain=SimpleNamespace(periods=None)
    )
    print_guarantee(plan, private=True)
    out = capsys.readouterr().out
    assert guarantee.mu <= float(re.search(r"\((\S+)-GDP\)", out)[1]) <= 3.352e-5  # four digits, up


AMOUNTS = {  # exact in the ledger, as a person reads it: spent, and left
    ("basic", 1_075_432_100, 11 * 10**12): ("epsilon 1.076, delta 0.000011", "epsilon 1.075, delta 0.000011"),
    ("basic", 1_234_567_800_000, 0): ("epsilon 1,235, delta 0", "epsilon 1,234, delta 0"),
    ("gdp", 42_497_603_292, 0): ("mu^2 0.0425", "mu^2 0.04249"),
    ("zcdp", 3_141_592_650_000, 0): ("rho 3.142", "rho 3.141"),
}


@pytest.mark.parametrize("exact", AMOUNTS)
def test_an_amount_of_a_ledger_is_rounded_towards_less_privacy(exact):
    unit, main, delta = exact
    quanta = Quanta(main, delta)
    spent, left = short_amount(unit, quanta), short_amount(unit, quanta, left=True)
    assert (spent, left) == AMOUNTS[exact]
    for said, sign in ((spent, 1), (left, -1)):
        for part, true in zip(said.split(", "), decimals(unit, quanta).values()):
            assert sign * (Decimal(part.split()[1].replace(",", "")) - Decimal(true)) >= 0


def test_a_claim_is_printed_in_one_way():
    """ε in four digits, rounded up; no other line of the package writes one beside its δ."""
    sources = {p: p.read_text(encoding="utf-8") for p in Path(prepriv.__file__).parent.rglob("*.py")}
    stray = [p.name for p, text in sources.items() if re.search(r"ε = \{up\([^{}]*\)\} at δ", text)]
    assert not stray
    assert epsilon_at(0.76543211, 1e-6) == "ε = 0.7655 at δ = 1e-06"
    assert epsilon_at(float("inf"), 1e-6) == "no useful bound at δ = 1e-06"
