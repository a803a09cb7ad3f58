"""What others wrote: texts of a foreign ledger act nowhere, and no setting shows a password."""

import sqlite3
import unicodedata
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

import prepriv
from prepriv import _text, commands
from prepriv.cli import run
from prepriv.commands.ledger import app
from prepriv.ledger import Ledger, LedgerCorrupt, LedgerError, Noted, book, hash_chain, verify_file
from prepriv.ledger.currency import Quanta
from prepriv.ledger.urls import check_no_password

HASH = "5e" * 32
HOSTILE = "people\x1b]0;pwned\x07\u202eevil\nleft       epsilon 5, delta 0.1"


def test_what_acts_is_what_unicode_says():
    changes_direction = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    for code in range(0x110000):
        c = chr(code)
        acts = c in changes_direction or unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")
        assert any(low <= code <= high for low, high in _text.ACTING) == acts, hex(code)


@pytest.fixture
def forged(tmp_path, monkeypatch):
    """Ledgers as somebody makes them who knows the format and keeps none of the rules of `create` and `charge`."""

    def make(dataset="census", note="", uid="u1", unlike=None):
        with monkeypatch.context() as lax:
            for check in ("_check_dataset_id", "_check_note", "_check_plan"):
                lax.setattr(book, check, lambda text, *_: text)
            lax.setattr(hash_chain, "whose", lambda note: "one record")
            lax.setattr(hash_chain, "malformed", lambda texts: [])
            ledger = Ledger.create(tmp_path / "forged.db", dataset, epsilon=1.0, delta=1e-5)
            ledger.charge(uid, HASH, epsilon=0.1, delta=1e-7, adjacency="replace-one", note=note)
            if unlike is not None:
                ledger.charge("u2", HASH, epsilon=0.1, delta=1e-7, adjacency="replace-one", note=unlike)
        return ledger.path

    return make


@pytest.mark.parametrize(
    "texts,says",
    [
        ({"dataset": HOSTILE}, "the header's dataset_id is not one"),
        ({"note": HOSTILE}, "row 1: its note is not one"),
        ({"uid": "u\x1b[31m"}, "row 1: its plan_uid is not one"),
        (
            {"note": "fit", "unlike": "one `id`: fit"},
            "row 2: it is of one `id`, and the first charge of one record",
        ),
    ],
    ids=["data set", "note", "uid", "units"],
)
def test_a_ledger_that_no_charge_could_have_made_is_corrupt_and_nothing_of_it_acts(forged, texts, says):
    path = forged(**texts)
    (problem,) = verify_file(path)
    assert problem.startswith(says)
    with pytest.raises(LedgerCorrupt, match=says):
        Ledger.open(path)
    for command in ("show", "verify", "plan"):
        told = CliRunner().invoke(app, [command, str(path)])
        ends = "exit code 5: something is wrong\n" if command == "verify" else ""
        assert told.exit_code == 5 and told.output.endswith(ends)
        assert told.output.removesuffix(ends).count("\n") == 1
        assert _text.printable(told.output, keep="\n") == told.output and "epsilon 5" not in told.output


def test_what_is_sound_and_odd_is_shown_as_codes(ledger, monkeypatch):
    """Should a text pass the checks one day: the terminal gets it through `shown` alone."""
    rows = tuple(replace(e, note=HOSTILE) for e in ledger.entries())
    monkeypatch.setattr(Ledger, "entries", lambda self: rows)
    told = CliRunner().invoke(app, ["show", str(ledger.path)]).output
    assert told.count("\nleft ") == 1 and "\x1b" not in told and "\\x1b]0;pwned" in told


def test_an_error_quotes_nothing_that_acts():
    assert str(LedgerError(HOSTILE)) == _text.printable(HOSTILE)


def test_a_row_of_hostile_texts_stops_a_process_that_has_the_ledger_open(ledger, pay):
    last = hash_chain.Tail.after(ledger.entries()[-1])
    row = hash_chain.extend(last, "charged", "x", HASH, day=last.day, cost=Quanta(1), note=HOSTILE)
    from prepriv.ledger import sql_rows

    with ledger._store.transaction(write=True) as db:
        sql_rows.append(db, row)
    with pytest.raises(LedgerCorrupt, match="row 5: its note"):
        pay(ledger, "y")


def test_a_command_prints_through_one_of_two_doors():
    """`say` and the console show texts as codes; JSON is ASCII."""
    for file in Path(commands.__file__).parent.glob("*.py"):
        for line in file.read_text(encoding="utf-8").splitlines():
            if "typer.echo(" in line or line.strip().startswith("print("):
                assert any(mark in line for mark in ("printable(", "json", "__version__", "yaml")), (
                    f"{file.name}: {line}"
                )


# ------------------------------------------------------------------------------------------- passwords

WITH_PASSWORD = [
    "postgresql://ana:s3cret@127.0.0.1:54399/db?ledger=census",
    "postgres://ana:s3/cret@host/db",
    "postgresql://ana:s3?cret@host/db",
    "postgresql://ana@host/db?password=s3cret",
    "postgresql://ana@host/db?p%61ssword=s3cret&ledger=x",
    "postgresql:///db?sslpassword=s3cret",
    "postgresql://ana@host/db?oauth_client_secret=s3cret",
    "postgresql://ana@host/db?SCRAM_client_key=s3cret",
]
MAKES = {
    "open": Ledger.open,
    "create": lambda url: Ledger.create(url, "x", epsilon=1.0, delta=0),
    "verify": verify_file,
    "Noted": lambda url: Noted(url, "pilot"),
    "classifier": lambda url: prepriv.PrivateClassifier(ledger=url),
    "regressor": lambda url: prepriv.PrivateRegressor(ledger=url),
    "transformer": lambda url: prepriv.PrivateTransformer(ledger=url),
    "set_params": lambda url: prepriv.PrivateClassifier().set_params(ledger=url),
    "count": lambda url: prepriv.count(np.array([True, False]), epsilon=1.0, ledger=url),
}


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("url", WITH_PASSWORD)
def test_a_url_with_a_password_is_refused_before_anything_shows_it(url, make):
    with pytest.raises(ValueError, match=r"holds a password.*pgpass") as told:
        MAKES[make](url)
    assert "cret" not in str(told.value)


def test_every_option_that_libpq_hides_is_a_password():
    pq = pytest.importorskip("psycopg").pq
    hidden = [option.keyword.decode() for option in pq.Conninfo.get_defaults() if option.dispchar == b"*"]
    assert "password" in hidden
    for name in hidden:
        with pytest.raises(ValueError, match="holds a password"):
            check_no_password(f"postgresql://ana@host/db?{name}=s3cret")


def test_a_url_without_a_password_and_a_path_go_wherever_they_went():
    for place in ("postgresql://ana@host:5432/db?ledger=x&sslmode=verify-full", "a:b@c.db", None):
        made = clone(prepriv.PrivateClassifier(ledger=place))
        assert made.ledger is place and made.get_params()["ledger"] is place


@pytest.mark.parametrize("day", ["2099-01-01", "2026-02-30", "0000-00-00"])
def test_an_odd_day_of_a_charge_is_named_by_both_commands(day, tmp_path, capsys):
    """`report --ledger` called a ledger sound whose last charge was of 2099, and both took a 30 February."""
    rows, labels = [[k / 40] for k in range(40)], ["no", "yes"] * 20
    domain = prepriv.Domain({"x": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=40)
    path = tmp_path / "L.db"
    Ledger.create(path, "people", epsilon=9.0, delta=1e-3)
    clf = prepriv.PrivateClassifier(domain, epsilon=1.0, ledger=path).fit(rows, labels)
    clf.model_.save(tmp_path / "m", ledger=path)
    with closing(sqlite3.connect(path)) as db, db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f'DROP TRIGGER "{name}"')
        db.execute("UPDATE entries SET day = ?", (day,))
        for _, text in triggers:
            db.execute(text)
    assert run(["ledger", "verify", str(path), str(tmp_path / "m")]) == 5
    first = capsys.readouterr().out
    assert run(["report", str(tmp_path / "m"), "--ledger", str(path)]) == 1
    said = "dated in the future" if day > "2090" else "no calendar has its day"
    assert said in first and said in capsys.readouterr().out
