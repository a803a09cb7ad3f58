"""What a drafted schema states of its own draft is believed nowhere: it follows from its budget, and is what the ledger booked.

A data protection officer set mu 1e-6 and leak 1e-13 under `drafted:` and trained. The page said ε = 0.5, and its ledger "verified, charged".
"""

import dataclasses
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import prepriv
from prepriv.cli import run
from prepriv.commands.charged import charge_problems
from prepriv.description.look import price
from prepriv.drafted import Drafted
from prepriv.guarantees.drafts import leak_and_mu, of_draft
from prepriv.ledger import Ledger
from prepriv.release.model import Model
from prepriv.runs.booked import booked_otherwise, cannot_show
from prepriv.schemas.schema import load_schema

N = 2000
RNG = np.random.default_rng(4)
TABLE = pd.DataFrame({"a": RNG.random(N), "c": np.tile(["p", "q"], N // 2)})
TABLE["y"] = np.where(TABLE["a"] > 0.5, "yes", "no")
TRAIN = ["--epsilon", "0.5", "--rows", str(N), "--learner", "{kind: GradientDescent, steps: 2}"]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A ledger that holds a draft and a model of it, as they are given out."""
    folder = tmp_path_factory.mktemp("package")
    TABLE.to_csv(folder / "t.csv", index=False)
    table, ledger, schema = (str(folder / name) for name in ("t.csv", "L.db", "S.yaml"))
    Ledger.create(ledger, "people", epsilon=20, delta=1e-3)
    draft = ["--label", "y", "--classes", "no,yes", "--epsilon", "2", "--rows", str(N), "--out", schema]
    assert run(["schema", "init", table, *draft, "--ledger", ledger]) == 0
    out = ["--ledger", ledger, "--out", str(folder / "run")]
    assert run(["train", table, "--schema", schema, *TRAIN, *out]) == 0
    return folder


@pytest.fixture
def copy(package, tmp_path, monkeypatch, capsys):
    shutil.copytree(package, tmp_path / "p")
    monkeypatch.chdir(tmp_path / "p")
    (tmp_path / "t.csv").write_bytes(Path("t.csv").read_bytes())
    Path("t.csv").unlink()
    capsys.readouterr()
    return tmp_path / "p"


def edited(**changed):
    """S.yaml with other lines under `drafted:`."""
    schema = yaml.safe_load(Path("S.yaml").read_text())
    schema["drafted"][0] |= changed
    Path("S.yaml").write_text(yaml.safe_dump(schema, sort_keys=False))


def smaller(epsilon, delta):
    """All that a cheaper draft states of its cost."""
    leak, mu = leak_and_mu(epsilon, delta)
    return {"epsilon": epsilon, "delta": delta, "mu": mu * (1 - 1e-9), "leak": leak}


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"mu": 1e-6}, "spends all of its budget"),
        ({"leak": 1e-13}, "spends all of its budget"),
        ({"mu": 1e-6, "leak": 1e-13, "delta": 1e-12, "epsilon": 0.001}, "spends all of its budget"),
        (smaller(0.001, 1e-6), "booked more (epsilon 2, delta 0.000001) than"),
        (smaller(2, 1e-12), "booked more (epsilon 2, delta 0.000001) than"),
        (smaller(3, 1e-6), "booked less than"),
        ({"rows": 100}, "states something else"),
        ({"declared_label": False}, "states something else"),
        ({"source": "select * from t"}, "states something else"),
        ({"plan": "0" * 64}, "the charge of a plan that is not the one"),
        ({"content": "0" * 64}, "drafted other bounds or classes"),
        ({"adjacency": "add-or-remove-one"}, "drafted under add-or-remove-one"),
        ({"ledger": "head"}, "its receipt is not that of the charge"),
    ],
)
def test_an_edited_draft_pays_for_no_run_of_its_ledger(copy, capsys, changed, said):
    if "ledger" in changed:
        receipt = yaml.safe_load(Path("S.yaml").read_text())["drafted"][0]["ledger"]
        changed = {"ledger": receipt | {"head": "0" * 64}}
    edited(**changed)
    before = len(Ledger.open("L.db").entries())
    line = ["train", "../t.csv", "--schema", "S.yaml", *TRAIN, "--out", "forged", "--ledger", "L.db"]
    assert run(line) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert len(Ledger.open("L.db").entries()) == before and not Path("forged").exists()


@pytest.mark.parametrize("command", ["describe", "ask", "evaluate", "sketch"])
def test_nothing_else_is_charged_beside_an_edited_draft(copy, capsys, command):
    edited(rows=100)
    more = {
        "describe": ["../t.csv", "--schema", "S.yaml"],
        "ask": ["../t.csv", "mean(a)", "--schema", "S.yaml", "--epsilon", "0.1"],
        "sketch": ["../t.csv", "--schema", "S.yaml", "--out", "sketched"],
        "evaluate": ["run", "../t.csv"],
    }[command]
    if command == "evaluate":
        data = json.loads(Path("run/model/model.json").read_text())
        for domain in (data["domain"], data["plan"]["domain"]):
            domain["drafts"][0]["rows"] = 100
        Path("run/model/model.json").write_text(json.dumps(data))
    before = len(Ledger.open("L.db").entries())
    assert run([command, *more, "--rows", str(N), "--ledger", "L.db"]) == 2
    assert "states something else" in " ".join(capsys.readouterr().err.split())
    assert len(Ledger.open("L.db").entries()) == before


def test_a_model_whose_draft_was_edited_by_a_changed_library_is_found_out(copy, monkeypatch, capsys):
    """The check before the charge is the curator's; `report --ledger` is the officer's."""
    true = load_schema("S.yaml").domain()
    (draft,) = true.drafts
    book = Ledger.open("L.db")
    assert booked_otherwise(book.header, book.entries(), draft, "it") == []
    assert cannot_show(book.entries(), draft) == []
    monkeypatch.setattr("prepriv.runs.booked.check_drafts_booked", lambda *_: None)
    for i, (changed, said) in enumerate(
        [
            (smaller(0.001, 1e-6), "booked more (epsilon 2, delta 0.000001)"),
            ({"rows": 100}, "states something else"),
            ({"declared_label": False}, "states something else"),
        ]
    ):
        forged = dataclasses.replace(true, n=N, drafts=(dataclasses.replace(draft, **changed),))
        clf = prepriv.PrivateClassifier(forged, epsilon=0.5, steps=[], ledger="L.db")
        clf.fit(TABLE[["a", "c"]], TABLE["y"]).model_.save(f"m{i}", ledger="L.db")
        assert run(["report", f"m{i}", "--ledger", "L.db"]) == 1
        out = capsys.readouterr().out
        assert (
            "not charged: row 1 booked" in out and said in out and "charged: the ledger is sound" not in out
        )
        assert run(["ledger", "verify", "L.db", f"m{i}"]) == 5
        assert said in capsys.readouterr().out


def test_what_an_earlier_version_booked_is_judged_as_far_as_it_goes(copy, tmp_path):
    """It booked the hash of what was drafted alone. The cost is compared, and what cannot be is said."""
    old = Ledger.create(tmp_path / "old.db", "people", epsilon=20, delta=1e-3)
    true = load_schema("S.yaml").domain()
    (draft,) = true.drafts
    spent = of_draft(draft, true).epsilon(draft.delta)
    made = old.charge("u", draft.plan, adjacency="replace-one", epsilon=spent, delta=draft.delta)
    old.released("u", draft.content)
    receipt = {"plan_uid": "u", "sequence": made.sequence, "head": made.head}
    mine = dataclasses.replace(draft, ledger=receipt)
    rows = old.entries()
    assert booked_otherwise(old.header, rows, mine, "it") == []
    assert len(cannot_show(rows, mine)) == 1 and "of an earlier version" in cannot_show(rows, mine)[0]
    cheap = dataclasses.replace(mine, **smaller(0.001, 1e-6))
    assert "booked more" in booked_otherwise(old.header, rows, cheap, "it")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = prepriv.PrivateClassifier(
            dataclasses.replace(true, n=N, drafts=(mine,)), epsilon=0.5, steps=[], ledger=old.path
        ).fit(TABLE[["a", "c"]], TABLE["y"])
    path = clf.model_.save(tmp_path / "m", ledger=old.path)
    wrong, unchecked = charge_problems(str(old.path), Model.load(path), path.read_bytes())
    assert wrong == [] and len(unchecked) == 1


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 30])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1])
@pytest.mark.parametrize("columns", [1, 40])
def test_every_draft_spends_what_its_budget_gives(epsilon, delta, columns):
    """What `of_draft` holds a draft to is what `price` gives it, whatever the table is."""
    weights = dict.fromkeys(map(str, range(columns)), 1.0)
    look = price(
        "schema draft", weights, n=9, adjacency="replace-one", epsilon=epsilon, delta=delta, lone=["0"]
    )
    drafted = Drafted(epsilon, delta, look.mu, look.leak, "replace-one", 9, look.hash)
    domain = prepriv.Domain({"a": prepriv.Numeric(0, 1)}, classes=[0, 1], n=9, drafts=(drafted,))
    assert of_draft(drafted, domain).epsilon(delta) <= epsilon
    for less in ({"mu": look.mu * (1 - 1e-5)}, {"leak": look.leak * (1 - 1e-5)}):
        with pytest.raises(ValueError, match="spends all of its budget"):
            of_draft(dataclasses.replace(drafted, **less), domain)
