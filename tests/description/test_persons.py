"""A table of visits: whose row it is, drafted, described, trained, scored and reported per person, in one ledger."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv import Domain, Numeric
from prepriv.audit.replay import Neighbour, replay
from prepriv.cli import run
from prepriv.description.draft import draft_in_private
from prepriv.description.draft_plan import plan_draft
from prepriv.description.look import frame_of
from prepriv.drafted import Drafted
from prepriv.ledger import Ledger
from prepriv.schemas.persons import may_say_whose
from prepriv.schemas.schema import load_schema
from prepriv.tables.readers import BadData
from prepriv.tables.units import one_row_each

# Loaded by its path: the folder beside it has modules named as folders of tests.
_SPEC = importlib.util.spec_from_file_location(
    "visits", Path(__file__).parents[2] / "benchmarks" / "visits.py"
)
made = importlib.util.module_from_spec(_SPEC)
sys.modules["visits"] = made
_SPEC.loader.exec_module(made)
PATIENTS, visits = made.PATIENTS, made.visits

BOTH = prepriv.domain.ADJACENCIES
TABLE = visits()
assert len(TABLE) == 13_771


def test_one_row_of_each_person_is_read_and_its_own_rows_decide_which():
    rng = np.random.default_rng(1)
    columns = ("age", "dose", "ward", "back")
    names = np.sort(TABLE.patient_id.unique())
    found = one_row_each(frame_of(TABLE), "patient_id", columns, None)
    first = TABLE.iloc[found]
    assert first.patient_id.tolist() == names.tolist()
    shuffled = TABLE.iloc[rng.permutation(len(TABLE))]
    others = pd.concat(
        [shuffled, shuffled[:50].assign(patient_id="someone else"), shuffled[:9].assign(patient_id="")]
    )
    again = one_row_each(frame_of(others), "patient_id", columns, PATIENTS + 5)
    assert (again[PATIENTS + 1 :] == -1).all() and len(again) == PATIENTS + 5
    same = others.iloc[again[: PATIENTS + 1]]
    same = same[same.patient_id != "someone else"]
    pd.testing.assert_frame_equal(same.reset_index(drop=True), first.reset_index(drop=True))
    with pytest.raises(BadData, match="more"):
        one_row_each(frame_of(others), "patient_id", columns, PATIENTS)


@pytest.mark.parametrize("adjacency", BOTH)
def test_replay_of_a_person_with_any_number_of_rows(adjacency):
    """A hundred hostile rows of one person move what one row does."""
    base = visits(400)
    plan = plan_draft(
        list(base), label="back", n=450, epsilon=5.0, delta=1e-3, adjacency=adjacency, unit="patient_id", rows_per_unit=3
    )  # fmt: skip

    def drafted(table, session):
        return {"text": draft_in_private(plan, table, session=session).text()}

    rest = base[base.patient_id != "p0"]
    rows = {
        "many": pd.DataFrame({"age": [1e9] * 100, "dose": [-1.0] * 100, "ward": "west", "back": "no"}),
        "odd": pd.DataFrame(
            {"age": [None, "x"], "dose": [np.inf, np.nan], "ward": ["", "\x1b"], "back": ["?", None]}
        ),
    }
    alone = base if adjacency == "replace-one" else rest
    neighbours = [
        Neighbour(k, pd.concat([rest, t.assign(patient_id="p0")[list(base)]])) for k, t in rows.items()
    ]
    if adjacency == "replace-one":
        neighbours.append(Neighbour("none", rest))
        neighbours.append(
            Neighbour("another", pd.concat([rest, rows["many"].assign(patient_id="zz")[list(base)]]))
        )
    result = replay(drafted, alone, neighbours)
    assert result.findings == [] and max(result.reach.values()) > 0.6


def test_a_draft_of_persons_adds_to_persons_alone():
    domain = Domain.draft(TABLE, epsilon=2.0, n=PATIENTS, unit="patient_id", rows_per_unit=5)
    assert "patient_id" not in domain.columns and {"age", "dose", "ward"} <= {*domain.columns}
    assert (domain.unit, domain.rows_per_unit, domain.n) == ("patient_id", 5, PATIENTS)
    (drafted,) = domain.drafts
    assert Drafted.from_json(json.loads(json.dumps(drafted.to_json()))) == drafted
    clf = prepriv.PrivateClassifier(domain, epsilon=1.0, steps="linear").fit(TABLE, TABLE.back)
    assert clf.guarantee_.unit == "patient_id" and 2.0 < clf.guarantee_.epsilon(1e-5) < 3.0
    with pytest.raises(ValueError, match="does not add"):
        replace(domain, unit=None, rows_per_unit=None)
    with pytest.raises(ValueError, match="does not add"):
        Domain({"a": Numeric(0, 1)}, [0, 1], n=9, unit="who", rows_per_unit=2, drafts=(drafted,))
    with pytest.raises(ValueError, match="n must be declared"):
        Domain.draft(TABLE, epsilon=2.0, unit="patient_id", rows_per_unit=5)


def test_names_alone_say_whose_row_it_may_be():
    assert may_say_whose(["patient_id", "Customer No", "e-mail", "paid", "identity", "rapid", "x"]) == [
        "patient_id", "Customer No", "e-mail",
    ]  # fmt: skip
    assert may_say_whose(["idcode", "caseid", "hhid", "personid", "covid", "paid", "valid", "grid"]) == [
        "idcode",
        "caseid",
        "hhid",
        "personid",
    ]
    assert may_say_whose(["patient", "device2", "user_hash", "account number"]) == [
        "patient", "device2", "user_hash", "account number",
    ]  # fmt: skip
    assert (
        may_say_whose(
            ["patient_class", "phone_service", "device_protection", "account_balance", "customer_segment"]
        )
        == []
    )


def test_the_job_of_a_person(tmp_path, monkeypatch, capsys):
    """Drafted, described, trained and reported, scored, by five commands and in one ledger; beside the answer of single rows."""
    monkeypatch.chdir(tmp_path)
    test = TABLE.patient_id.str[1:].astype(int) % 4 == 0
    TABLE[~test].to_csv("visits.csv", index=False)
    TABLE[test].to_csv("test.csv", index=False)
    held = int(TABLE[test].patient_id.nunique())
    n = PATIENTS - held
    commands = f"""
    ledger create L.db --dataset visits --epsilon 4 --delta 1e-4
    schema init visits.csv --unit patient_id --rows-per-unit 5 --epsilon 1 --rows {n} --out S.yaml --ledger L.db
    describe visits.csv --schema S.yaml --epsilon 0.4 --by ward --out page.html --ledger L.db
    train visits.csv --schema S.yaml --epsilon 1.6 --out run --ledger L.db
    evaluate run/model test.csv --epsilon 0.9 --rows {held} --by ward --out score.html --ledger L.db
    """
    for line in commands.strip().splitlines():
        assert run(line.split()) == 0, (line, capsys.readouterr().err)
    said = capsys.readouterr()
    assert (
        "one row, one person" not in (said.err + said.out).lower()
        and "one unit, all rows of one `patient_id`" in said.out
    )
    schema = load_schema("S.yaml")
    assert schema.unit == "patient_id" and schema.rows_per_unit == 5 and "patient_id" not in schema.columns
    assert "patient_id" in (tmp_path / "run" / "report.html").read_text()
    run(["ledger", "verify", "L.db", "S.yaml", "run"])
    assert "S.yaml: ok, charge 1" in capsys.readouterr().out
    entries = Ledger.open("L.db").entries()
    assert sum(entry.kind == "charged" for entry in entries) == 4
    scored = json.loads(capsys.readouterr().out or "null")
    assert scored is None
    model = prepriv.Model.load("run/model")
    assert (model.predict(TABLE[test]) == TABLE[test].back).mean() > 0.7  # the truth: 81 %
    assert run(["schema", "init", "visits.csv", "--out", "rows.yaml"]) == 0
    assert "'patient_id' may say whose row it is" in capsys.readouterr().err
    rows = str(int((~test).sum()))
    assert run(["schema", "init", "visits.csv", "--epsilon", "1", "--rows", rows, "--out", "R.yaml"]) == 0
    assert "'patient_id' may say whose row it is" in capsys.readouterr().err
    assert run(["train", "visits.csv", "--schema", "R.yaml", "--epsilon", "1", "--out", "of_rows"]) == 0
    said_of_rows = capsys.readouterr().out.lower()
    assert said_of_rows.count("one row, one person") == 1 and "with 5 rows" in said_of_rows


@pytest.mark.parametrize(
    "options, says",
    [
        (["--unit", "patient_id"], "go together"),
        (
            ["--unit", "nobody", "--rows-per-unit", "3", "--epsilon", "1", "--rows", "9"],
            "must be a column of the table",
        ),
        (["--unit", "back", "--rows-per-unit", "3"], "no column 'back' beside its label"),
        (["--unit", "patient_id", "--rows-per-unit", "0", "--epsilon", "1", "--rows", "9"], "rows_per_unit"),
    ],
)
def test_a_mistake_is_one_sentence(options, says, tmp_path, capsys):
    TABLE[:50].to_csv(tmp_path / "t.csv", index=False)
    assert run(["schema", "init", f"{tmp_path}/t.csv", *options]) == 2
    assert says in capsys.readouterr().err


def test_the_plan_of_a_draft_of_persons_claims_them():
    told = {"label": "y", "n": 900, "epsilon": 1.0, "delta": 1e-6}
    plan = plan_draft(["who", "a", "y"], **told, unit="who", rows_per_unit=2)
    assert plan.look.guarantee.unit == "who" and plan.columns == ("a",)
    assert plan.look.hash != plan_draft(["a", "y"], **told).look.hash
