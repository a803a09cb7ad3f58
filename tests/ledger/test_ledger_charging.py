"""What a ledger promises when nothing goes wrong: exact cap, one charge a uid, a readable, stable past."""

import hashlib
import json
import sqlite3
import subprocess
import sys
from decimal import Decimal
from inspect import signature

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prepriv import domain
from prepriv.evaluation.evaluate import evaluate
from prepriv.evaluation.holdout import train_and_evaluate
from prepriv.ledger import Amount, BudgetExceeded, Charge, Ledger, PlanRefused, book, sql_schema, store
from prepriv.runs.admit import admit
from prepriv.runs.train import train

HASH, OTHER, ARTIFACT = "5e" * 32, "0f" * 32, "ab" * 32


def test_ten_tenths_are_exactly_one_and_the_eleventh_is_refused(tmp_path, pay):
    ledger = Ledger.create(tmp_path / "l.db", "census", epsilon=1.0, delta=1e-5)
    for turn in range(10):
        assert pay(ledger, f"run-{turn}", 0.1, 1e-6).sequence == turn + 1
    assert ledger.remaining() == Amount("basic", epsilon=0.0, delta=0.0)
    with pytest.raises(BudgetExceeded, match=r"costs epsilon 0.1.*epsilon 0, delta"):
        pay(ledger, "run-10", 0.1, 1e-6)
    with pytest.raises(BudgetExceeded):
        pay(ledger, "run-11", 1e-9)
    assert len(ledger.entries()) == 10 and ledger.verify() == []


def test_either_part_of_the_cap_can_refuse(tmp_path, pay):
    ledger = Ledger.create(tmp_path / "l.db", "census", epsilon=1.0, delta=1e-5)
    with pytest.raises(BudgetExceeded):
        pay(ledger, "a", 0.1, 1.1e-5)
    with pytest.raises(BudgetExceeded):
        pay(ledger, "a", Decimal("1.0000000001"))
    assert ledger.entries() == ()
    pay(ledger, "a", 0, 1e-5)
    pay(ledger, "b", 1.0, 0)


def test_a_refused_charge_leaves_the_file_untouched(ledger, pay):
    before = ledger.path.read_bytes()
    with pytest.raises(BudgetExceeded):
        pay(ledger, "big", 5.0)
    with pytest.raises(PlanRefused):
        pay(ledger, "a")
    with pytest.raises(ValueError):
        pay(ledger, "new", 0.0, 0)
    assert ledger.path.read_bytes() == before


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cap=st.tuples(st.integers(1, 2000), st.integers(0, 2000)),
    wanted=st.lists(st.tuples(st.integers(0, 900), st.integers(0, 900)), max_size=12),
)
def test_granted_exactly_when_the_exact_sums_fit(tmp_path_factory, cap, wanted, pay):
    """Against integers: amounts in thousandths of epsilon and 1e-8 of delta."""
    path = tmp_path_factory.mktemp("ledger") / "l.db"
    ledger = Ledger.create(path, "census", epsilon=cap[0] / 1000, delta=cap[1] / 10**8)
    left = list(cap)
    for turn, (epsilon, delta) in enumerate(wanted):
        fits = epsilon <= left[0] and delta <= left[1]
        try:
            pay(ledger, f"run-{turn}", epsilon / 1000, delta / 10**8)
            granted = True
        except BudgetExceeded:
            granted = False
        except ValueError:
            assert epsilon == delta == 0
            continue
        assert granted == fits
        left = [left[0] - granted * epsilon, left[1] - granted * delta]
    assert ledger.remaining() == Amount("basic", epsilon=left[0] / 1000, delta=left[1] / 10**8)
    assert Ledger.open(path).remaining() == ledger.remaining()


def test_what_is_left_can_be_charged(tmp_path, pay):
    gaussian = Ledger.create(tmp_path / "g.db", "census", mu=1.0, unit="gdp")
    gaussian.charge("a", HASH, adjacency="replace-one", mu=0.6)
    assert gaussian.remaining() == Amount("gdp", mu=0.8)
    gaussian.charge("b", HASH, adjacency="replace-one", mu=gaussian.remaining().mu, epsilon=2.0, delta=1e-6)
    with pytest.raises(BudgetExceeded):
        gaussian.charge("c", HASH, adjacency="replace-one", mu=1e-6)
    with pytest.raises(ValueError, match="mu must be given"):
        gaussian.charge("c", HASH, adjacency="replace-one", epsilon=0.1, delta=0)
    concentrated = Ledger.create(tmp_path / "z.db", "census", rho=0.5, unit="zcdp")
    concentrated.charge("a", HASH, adjacency="replace-one", rho=0.2)
    assert concentrated.remaining() == Amount("zcdp", rho=0.3)
    assert concentrated.cap == Amount("zcdp", rho=0.5)


def test_a_uid_is_charged_once_and_a_retry_pays_again(ledger, pay):
    with pytest.raises(PlanRefused, match="new uid"):
        pay(ledger, "a")
    pay(ledger, "a-again")
    assert ledger.remaining().epsilon == 0.6


def test_charges_refer_to_the_adjacency_of_the_ledger(ledger, pay):
    with pytest.raises(ValueError, match=r"adjacency .* ledger's, 'replace-one'"):
        ledger.charge("x", HASH, adjacency="add-or-remove-one", epsilon=0.1, delta=0)
    with pytest.raises(ValueError, match="adjacency must be one of"):
        ledger.charge("x", HASH, adjacency="swap", epsilon=0.1, delta=0)
    assert sql_schema.ADJACENCIES == domain.ADJACENCIES


def test_confirm_stops_an_edited_plan_an_uncharged_one_and_a_second_run(ledger, pay):
    charge = pay(ledger, "run")
    assert ledger.confirm("run", HASH) == charge
    assert Ledger.open(ledger.path).confirm("run", HASH) == charge
    with pytest.raises(PlanRefused, match="edited"):
        ledger.confirm("run", OTHER)
    with pytest.raises(PlanRefused, match="never charged"):
        ledger.confirm("walk", HASH)
    ledger.released("run", ARTIFACT)
    with pytest.raises(PlanRefused, match="released before"):
        ledger.confirm("run", HASH)


def test_a_release_needs_a_charge_and_happens_once(ledger, pay):
    with pytest.raises(PlanRefused, match="never charged"):
        ledger.released("run", ARTIFACT)
    pay(ledger, "run")
    ledger.released("run", ARTIFACT)
    with pytest.raises(PlanRefused, match="released before"):
        ledger.released("run", OTHER)
    ledger.released("run", ARTIFACT)
    with pytest.raises(PlanRefused, match="as another file"):
        ledger.released("run", ARTIFACT, note="other")
    last = ledger.entries()[-1]
    assert (last.kind, last.plan_uid, last.plan_hash, last.artifact) == ("released", "run", HASH, ARTIFACT)
    assert last.cost == book.currency.Quanta(0) and ledger.verify() == []


@pytest.mark.parametrize(
    "change",
    [
        {"plan_uid": ""},
        {"plan_uid": "a b"},
        {"plan_uid": "a\n"},
        {"plan_uid": "x" * 129},
        {"plan_uid": 7},
        {"plan_hash": "5E" * 32},
        {"plan_hash": "5e" * 31},
        {"plan_hash": "5e" * 32 + "\n"},
        {"plan_hash": None},
        {"note": "\x1b[2J"},
        {"note": "n" * 201},
        {"note": "\ud800"},
        {"note": None},
    ],
    ids=repr,
)
def test_malformed_rows_are_refused_before_the_file_is_opened(ledger, change):
    good = {
        "plan_uid": "run",
        "plan_hash": HASH,
        "note": "",
        "adjacency": "replace-one",
        "epsilon": 0.1,
        "delta": 0,
    }
    call = {**good, **change}
    with pytest.raises(ValueError, match=next(iter(change))):
        ledger.charge(call.pop("plan_uid"), call.pop("plan_hash"), **call)
    assert len(ledger.entries()) == 4


@pytest.mark.parametrize("dataset", ["", "x" * 201, "a\nb", 7, "d41d8cd98f00b204e9800998ecf8427e", "0f" * 32])
def test_a_data_set_has_a_declared_name_and_no_hash(tmp_path, dataset):
    with pytest.raises(ValueError, match="dataset_id"):
        Ledger.create(tmp_path / "l.db", dataset, epsilon=1.0, delta=0)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_or_the_remains_of_a_ledger_are_never_overwritten(tmp_path, ledger):
    before = ledger.path.read_bytes()
    for name in ("ledger.db", "other.db"):
        (tmp_path / "other.db-wal").touch()
        with pytest.raises(ValueError, match="never overwritten"):
            Ledger.create(tmp_path / name, "census", epsilon=1.0, delta=0)
    assert ledger.path.read_bytes() == before and not (tmp_path / "other.db").exists()


def test_a_ledger_that_appears_while_another_is_created_is_not_overwritten(ledger, monkeypatch):
    before = ledger.path.read_bytes()
    monkeypatch.setattr(store.os.path, "lexists", lambda path: False)  # it came after the look
    with pytest.raises(ValueError, match="never overwritten"):
        Ledger.create(ledger.path, "census", epsilon=1.0, delta=0)
    assert ledger.path.read_bytes() == before


def test_one_file_at_rest_with_the_settings_that_survive_a_power_cut(ledger):
    assert [file.name for file in ledger.path.parent.iterdir()] == ["ledger.db"]
    assert ledger.path.stat().st_mode & 0o777 == 0o600
    db = sqlite3.connect(ledger.path)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()


def test_the_head_depends_on_what_was_charged_and_not_on_the_day(tmp_path, pay, monkeypatch):
    """Two replays of a run give the same receipt; this one also pins the format across versions."""
    heads = []
    for day in ("2031-01-31", "2031-02-01"):
        monkeypatch.setattr(book, "utc_date", lambda day=day: day)
        ledger = Ledger.create(tmp_path / day, "census", epsilon=1.0, delta=1e-5)
        heads.append(pay(ledger, "run", 0.25, 1e-6, note="yearly"))
        ledger.released("run", ARTIFACT)
        assert [entry.day for entry in ledger.entries()] == [day, day]
    genesis = _sha256('["prepriv-ledger",1,"census","replace-one","basic",1000000000,10000000000000]')
    cost = "[250000000,1000000000000]"
    head = _sha256(f'["{genesis}",1,"charged","run","{HASH}",{cost},{cost},"","yearly"]')
    assert heads[0] == heads[1] == Charge(1, head)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_tables_of_format_1_never_change():
    """A file whose tables differ by one character from these is refused as tampered with."""
    tables = "\n".join(f"{name}\n{sql}" for name, sql in sql_schema.STATEMENTS.items())
    assert _sha256(tables) == "7943d63aa30a6e2ec8bc7ec3a0e5f692e2759964f7d2b18c16f530a336401658"


def test_a_release_carries_no_time_of_its_own(ledger, monkeypatch):
    """The day of a charge is known before the data is opened; the run time is not."""
    monkeypatch.setattr(book, "utc_date", lambda: "2999-01-01")
    ledger.released("b", ARTIFACT)
    assert {entry.day for entry in ledger.entries()} == {ledger.entries()[0].day}


def test_rows_hold_declared_fields_only(ledger):
    """A new column has to be argued for here: nothing in a row may be computed from the data."""
    db = sqlite3.connect(ledger.path)
    columns = [row[1] for row in db.execute("PRAGMA table_info(entries)")]
    db.close()
    declared = ["plan_uid", "plan_hash", "amount", "delta", "note"]
    derived = ["sequence", "kind", "spent", "spent_delta", "previous", "head", "day"]
    assert sorted(columns) == sorted([*declared, *derived, "artifact"])


def test_importing_the_ledger_needs_nothing_but_the_standard_library():
    """It stands beside the layers: no other part of the package but what makes texts harmless, no numpy."""
    code = (
        "import sys, json, types; "
        "p = types.ModuleType('prepriv'); p.__path__ = [sys.argv[1]]; sys.modules['prepriv'] = p; "
        "import prepriv.ledger; "
        "print(json.dumps([n for n in sys.modules if n.startswith(('prepriv.', 'numpy'))]))"
    )
    folder = str(book.__file__).rsplit("/", 2)[0]
    out = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert {".".join(name.split(".")[:2]) for name in json.loads(out.stdout)} == {
        "prepriv.ledger",
        "prepriv._text",
    }


def test_a_note_holds_whole_conditions_and_says_how_many_more_there_are():
    """Cut at 200 characters, "at least 0.055" could read "at least 0.05"."""
    from prepriv.ledger import condition_note

    assert condition_note([]) == ""
    two = ["at most 60 of the 600 records miss 'age'", "b\nc"]
    assert condition_note(two).endswith("miss 'age'; b c")
    many = [f"the standard deviation of 'column {j}' is at least 0.0{j}5" for j in range(9)]
    note = condition_note(many)
    kept = sum(text in note for text in many)
    assert 1 <= kept < 9 and note.endswith(f"; {9 - kept} more: see the report") and len(note) <= 200
    assert condition_note(["x" * 300]).endswith("1 in all: see the report")


@pytest.mark.parametrize("conditions", [[], ["a"], ["b" * 60, "c" * 80], ["d" * 300] * 40])
@pytest.mark.parametrize("remarks", [[], ["weak: " + "e" * 150], ["f" * 300] * 3])
@pytest.mark.parametrize(
    "what", ["train: Center (budget), logistic", "train: " + "Step (free), " * 40, "x" * 500]
)
def test_a_note_names_what_was_charged_in_front_and_stays_conditional(ledger, pay, what, conditions, remarks):
    from prepriv.ledger import condition_note

    note = condition_note(conditions, remarks, what)
    assert len(note) <= 200 and note[:80].startswith(what[:80].rpartition(",")[0])
    pay(ledger, "noted", note=note)
    assert ledger.entries()[-1].conditional == bool(conditions)


@pytest.mark.parametrize("way", [admit, train, train_and_evaluate, evaluate])
def test_no_way_to_private_rows_takes_a_receipt_for_a_charge(way):
    """One charge paid for any number of runs, of any plan: a receipt is made by a charge, and never handed in."""
    assert {"ledger", "session"} <= set(signature(way).parameters)
    assert "receipt" not in signature(way).parameters
