"""Mistakes a new user makes with files and folders: one line, the documented exit code, nothing written or quoted."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path

import pytest

from prepriv.cli import run
from prepriv.commands import outputs
from prepriv.ledger import Ledger
from prepriv.release.model import Model
from prepriv.release.report import Report
from prepriv.schemas.schema import BadSchema, Schema, load_schema

SCHEMA = "label: {name: status, classes: [yes, no]}\ncolumns:\n  age: {type: numeric, low: 20, high: 60}\n"
SECRET = "SECRET-4711"
ROWS = [f"{SECRET}-{i},{20 + i % 40},{('yes', 'no')[i % 2]}" for i in range(60)]
TABLE = "\n".join(["name,age,status", *ROWS, ""])
TRAIN = ["train", "t.csv", "--schema", "s.yaml", "--epsilon", "3"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Report, "to_html", lambda self: "")
    Path("t.csv").write_text(TABLE)
    Path("s.yaml").write_text(SCHEMA)
    Path("headless.csv").write_text("\n".join(["states,20,yes", *ROWS, ""]))
    Path("semi.csv").write_text(TABLE.replace(",", ";"))
    Path("tabs.csv").write_text(TABLE.replace(",", "\t"))
    Path("comma.tsv").write_text(TABLE)
    Path("semi.csv.gz").write_bytes(gzip.compress(TABLE.replace(",", ";").encode()))
    Path("decimal.csv").write_text(TABLE.replace(",", ";").replace("name", "a,b"))
    Path("u16.csv").write_text(TABLE, encoding="utf-16")
    Path("han.csv").write_text("名\n1\n", encoding="utf-16")  # no byte of its header line is zero
    Path("u16be.csv").write_bytes(TABLE.encode("utf-16-be"))
    Path("latin.csv").write_bytes(TABLE.replace("age", "größe").encode("latin-1"))
    Path("quoted.csv").write_text(TABLE.replace(",", ";").replace("name", "name, first"))
    Path("book.csv").write_bytes(b"PK\x03\x04" + bytes(40))
    Path("latin.yaml").write_text(SCHEMA.replace("age", "größe"), encoding="utf-8")
    return tmp_path


@pytest.fixture
def mistake(folder, capsys):
    """Runs a command that has to fail with one line, and changes no file; returns the line."""

    def state():
        return sorted((str(p), p.read_bytes() if p.is_file() else b"") for p in folder.rglob("*"))

    def call(*arguments, code=2, quiet=True):
        before = state()
        capsys.readouterr()
        assert run([str(a) for a in arguments]) == code
        out, err = capsys.readouterr()
        assert err.startswith("prepriv: ") and len(err.splitlines()) == 1, err
        assert "SECRET" not in err + out and "Traceback" not in err and "please report" not in err
        assert state() == before and not (quiet and out), "something was done before the mistake was seen"
        return err

    return call


# ------------------------------------------------------------------------------------------- the table


@pytest.mark.parametrize(
    "table, label, told",
    [
        ("quoted.csv", "status", "more ';' or tabs than commas"),  # a comma in a name, cells separated by ';'
        ("book.csv", "status", "a workbook or a ZIP file by its content; save it as CSV"),
        ("latin.csv", "status", "not UTF-8"),
        (
            "t.csv",
            "Status",
            "'Status' to use as label; the closest name there is 'status'",
        ),
        (
            "t.csv",
            "state",  # a draft takes names as public, and goes on to write them into the schema
            "'state' to use as label; the closest name there is 'status'",
        ),
        (
            "headless.csv",
            "state",  # here it would be a cell: a number among the names says that there is no header line
            "'state' to use as label; it has 3 columns, named as its header line has them, capitals",
        ),
    ],
)
def test_a_draft_says_what_is_wrong_with_a_header_before_it_is_paid_for(mistake, table, label, told):
    for more in ([], ["--epsilon", "1", "--rows", "60"]):
        assert told in mistake("schema", "init", table, "--label", label, *more)


@pytest.mark.parametrize("table", ["semi.csv", "tabs.csv", "comma.tsv", "semi.csv.gz"])
def test_another_separator_is_hinted_at_and_no_row_is_written(folder, mistake, table):
    assert run([*TRAIN, "--out", "run"]) == 0
    for arguments in (
        ["schema", "init", table],
        ["schema", "init", table, "--label", "status", "--out", "new.yaml"],
        ["train", table, "--schema", "s.yaml", "--out", "run2"],
        ["validate", table, "--schema", "s.yaml"],
        ["predict", "run", table, "--out", "p.csv"],
    ):
        err = mistake(*arguments)
        assert "it has one column" in err and "';'" in err and table in err


def test_a_header_that_is_split_by_a_comma_in_one_of_its_names(mistake):
    assert "more ';' or tabs than commas" in mistake("schema", "init", "decimal.csv")


def test_another_separator_is_seen_before_the_charge(folder, mistake, capsys):
    Ledger.create("l.db", "d", epsilon=9, delta=1e-3)
    assert run(["train", "semi.csv", "--schema", "s.yaml", "--rows", "60", "--ledger", "l.db"]) == 2
    err = capsys.readouterr().err
    assert "one column" in err and "charge" not in err and "SECRET" not in err
    assert Ledger.open("l.db").entries() == ()


def test_no_error_quotes_the_first_record_of_a_file_without_a_header(mistake):
    for name, separator in (("raw.csv", ","), ("raw2.csv", ";"), ("raw3.csv", "\t")):
        lines = [f"yes,{20 + i},{SECRET}-{i}".replace(",", separator) for i in range(150)]
        Path(name).write_text("\n".join([*lines, ""]))
        mistake("schema", "init", name)
        mistake("schema", "init", name, "--label", "status")
        mistake("train", name, "--schema", "s.yaml")
        mistake("validate", name, "--schema", "s.yaml")


@pytest.mark.parametrize("table", ["u16.csv", "u16be.csv", "han.csv"])
def test_utf_16_is_told(mistake, table):
    for arguments in (["schema", "init", table], ["train", table, "--schema", "s.yaml"]):
        assert "UTF-8" in mistake(*arguments)


def test_a_header_line_in_another_encoding_is_told(mistake):
    assert "header line is not UTF-8" in mistake("train", "latin.csv", "--schema", "latin.yaml")
    Path("s16.yaml").write_text(SCHEMA, encoding="utf-16")
    assert "not UTF-8 text" in mistake("plan", "s16.yaml", "--rows", 60)


def test_a_folder_is_no_file(mistake):
    for arguments in (
        ["train", "t.csv", "--schema", "."],
        ["describe", "t.csv", "--schema", "."],
        ["plan", "."],
        ["account", "."],
    ):
        assert "is a folder, not a file" in mistake(*arguments)


def test_what_does_not_fit_is_said_to_be_silent_where_it_is_read(folder, capsys):
    assert run(["train", "--help"]) == 0
    help_ = " ".join(capsys.readouterr().out.split())
    assert "The curator can run `prepriv validate` first" in help_ and "decimal commas" in help_
    assert run(["schema", "init", "t.csv", "--label", "status"]) == 0
    assert (
        "# not declared classes): the curator sees their counts with `prepriv validate"
        in capsys.readouterr().out
    )
    assert run(["--help"]) == 0
    codes = " ".join(capsys.readouterr().out.split())
    assert "70 failed after private records were read; 130 interrupted" in codes


# ------------------------------------------------------------------------------------------- outputs


def test_a_schema_is_never_overwritten_and_a_new_one_is_announced(folder, mistake, capsys):
    assert "s.yaml exists" in mistake("schema", "init", "t.csv", "--out", "s.yaml")
    Path("link.yaml").symlink_to("nowhere.yaml")
    assert "link.yaml exists" in mistake("schema", "init", "t.csv", "--out", "link.yaml")
    assert run(["schema", "init", "t.csv", "--label", "status", "--out", "a/b.yaml"]) == 0
    assert "wrote a/b.yaml" in capsys.readouterr().out
    assert load_schema("a/b.yaml", drafts=True).label.classes == ["no", "yes"]


def test_an_output_that_cannot_be_is_bad_input_before_anything_is_charged(folder, mistake):
    Ledger.create("l.db", "d", epsilon=9, delta=1e-3)
    assert run([*TRAIN, "--out", "run"]) == 0
    for name in ("taken/model/model.json", "taken2/report.html", "folder.png", "p.csv"):
        Path(name).mkdir(parents=True)
    ledger = ["--rows", "60", "--ledger", "l.db"]
    for arguments in (
        [*TRAIN, *ledger, "--out", "t.csv"],
        [*TRAIN, *ledger, "--out", "t.csv/run"],
        [*TRAIN, *ledger, "--out", "taken"],
        [*TRAIN, *ledger, "--out", "taken2"],
        [*TRAIN, *ledger, "--out", "/proc/none"],
        ["predict", "run", "t.csv", "--out", "p.csv"],
        ["predict", "run", "t.csv", "--out", "t.csv/p.csv"],
        ["predict", "run", "t.csv", "--out", "/proc/none/p.csv"],
        ["schema", "init", "t.csv", "--label", "status", "--out", "t.csv/s.yaml"],
        ["demo", "--out", "t.csv"],
        ["audit", "sensitivity", "Center", "--seconds", 0.05, "--table", "p.csv"],
        ["audit", "sensitivity", "Center", "--seconds", 0.05, "--table", "t.csv/x.md"],
        ["reproduce", "preprocessing-tables", "--out", "t.csv"],
        ["shuffle", "--epsilon0", 1, "--n", 100, "--delta", "1e-6", "--plot", "folder.png"],
        ["shuffle", "--epsilon0", 1, "--n", 100, "--delta", "1e-6", "--plot", "t.csv/p.png"],
    ):
        assert "cannot write to " in mistake(*arguments), arguments
    assert Ledger.open("l.db").entries() == ()


@pytest.mark.skipif(os.name != "posix", reason="permissions of files")
def test_a_read_only_folder(folder, mistake, monkeypatch):
    """Root may write anywhere: what the system would say to others is played."""
    assert run([*TRAIN, "--out", "run"]) == 0

    def refused(*_args, **_kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(outputs.tempfile, "TemporaryFile", refused)
    for arguments in (
        [*TRAIN, "--out", "run2"],
        ["predict", "run", "t.csv", "--out", "ro/p.csv"],
        ["schema", "init", "t.csv", "--out", "ro.yaml"],
    ):
        assert "permission denied" in mistake(*arguments)
    honest = os.access
    monkeypatch.setattr(outputs.os, "access", lambda path, mode: mode != os.W_OK and honest(path, mode))
    assert "cannot write to t.csv: permission denied" in mistake("predict", "run", "t.csv", "--out", "t.csv")


def test_a_disk_that_is_full_leaves_an_old_output_whole(folder, capsys, mistake, monkeypatch):
    assert run([*TRAIN, "--out", "run"]) == 0
    Path("p.csv").write_text("prediction\nold\n")

    def full(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert "no space left" in mistake("predict", "run", "t.csv", "--out", "p.csv")
    capsys.readouterr()
    assert run([*TRAIN, "--out", "run2"]) == 70  # only after the private table was opened
    err = capsys.readouterr().err
    said = [line for line in err.splitlines() if "earlier private model" not in line]
    assert len(said) == 1 and "cannot write to run2: no space left on device" in said[0]


@pytest.mark.skipif(os.name != "posix", reason="pipes and modes of files")
def test_predictions_go_to_a_pipe_as_it_is_and_a_file_has_the_mode_of_the_user(folder, capsys):
    assert run([*TRAIN, "--out", "run"]) == 0
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run(["predict", "run", "t.csv", "--out", "pipe"]) == 0
        assert Path("pipe").is_fifo() and len(os.read(reader, 10**4).splitlines()) == 61
    finally:
        os.close(reader)
    old = os.umask(0o077)
    try:
        assert run(["predict", "run", "t.csv", "--out", "p.csv"]) == 0
    finally:
        os.umask(old)
    assert Path("p.csv").stat().st_mode & 0o777 == 0o600


def test_the_check_of_a_folder_removes_no_file_of_the_user(folder):
    Path("run").mkdir()
    Path("run/.writable").write_text("mine")
    assert run([*TRAIN, "--out", "run"]) == 0
    assert Path("run/.writable").read_text() == "mine"


def test_the_report_names_the_file_that_is_there(folder, capsys):
    assert run([*TRAIN, "--out", "run"]) == 0
    for place in ("run", "run/model", "run/model/model.json"):
        capsys.readouterr()
        assert run(["report", place]) == 0
        assert "file: run/model/model.json\n" in capsys.readouterr().out


def test_the_page_does_not_count_the_accuracies_it_shows():
    page = (Path(outputs.__file__).parents[1] / "release" / "report.html.j2").read_text()
    assert "two numbers" not in page and "is not part of the private release" in page


def test_saving_in_python_keeps_the_class_of_the_error_and_says_what_it_was(folder):
    assert run([*TRAIN, "--out", "run"]) == 0
    model = Model.load("run")
    for place, kind in (
        ("/proc/none", FileNotFoundError),
        ("t.csv", OSError),
        ("t.csv/x", NotADirectoryError),
    ):
        with pytest.raises(kind, match=r"cannot write the file \(.*model\.json"):
            model.save(place)


# ------------------------------------------------------------------------------------------- schemas


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (
            "[MeanImputer]",
            "step 1 must be written as - {step: MeanImputer, pay: public or budget or sensitivity}",
        ),
        ("[{step: Normalize}, OneHot]", "step 2 must be written as - {step: OneHot}; got 'OneHot'"),
        ("[nonsense]", "step 1 must be written as - {step: NAME, pay: public or budget or sensitivity}"),
        (
            "5",
            "must be auto, linear, additive, auto-0.2, linear-0.2, additive-0.2, dpsgd-f, dpsgd-f-modified, dpsgd or a list of steps; got 5",
        ),
        (
            "{step: Center}",
            "must be auto, linear, additive, auto-0.2, linear-0.2, additive-0.2, dpsgd-f, dpsgd-f-modified, dpsgd or a list of steps",
        ),
        ("[{step: Center}]", "steps[1]: Center depends on data and needs pay:, one of public, budget"),
    ],
)
def test_a_step_that_is_written_otherwise_is_a_sentence(mistake, steps, says):
    Path("x.yaml").write_text(SCHEMA + f"steps: {steps}\n")
    assert says in mistake("plan", "x.yaml", "--rows", 60)


def test_a_step_of_an_existing_pipeline_that_is_written_otherwise(mistake):
    Path("p.yaml").write_text("rows: 5\nsteps: [MeanImputer]\nlearner: {kind: laplace, epsilon: 1}\n")
    assert "must be keys and values, as in - {step: MeanImputer" in mistake("account", "p.yaml")
    Path("x.yaml").write_text(SCHEMA.split("columns")[0] + "columns: [age]\n")
    assert mistake("plan", "x.yaml", "--rows", 60).endswith("columns: must be keys and values\n")


@pytest.mark.parametrize("given", [{}, None, 7])
def test_a_schema_file_is_named_by_its_path(given):
    with pytest.raises(BadSchema, match=f"path must be .*; got {type(given).__name__}"):
        load_schema(given)
    assert Schema.model_validate(
        {
            "label": {"name": "y", "classes": [0, 1]},
            "columns": {"x": {"type": "numeric", "low": 0, "high": 1}},
        }
    )


def test_whatever_a_command_cannot_write_is_no_internal_error(folder, mistake, monkeypatch):
    from prepriv.commands import shuffle

    def broken(*_args):
        raise OSError(errno.EROFS, "SECRET-4711", "p.png")

    monkeypatch.setattr(shuffle, "draw", broken)
    arguments = ["shuffle", "--epsilon0", 1, "--n", 100, "--delta", "1e-6", "--plot", "p.png"]
    assert "cannot write to p.png: read-only file system" in mistake(*arguments, quiet=False)


def test_train_without_a_schema_says_how_to_draft_one(capsys):
    assert run(["train", "people.csv"]) == 2
    said = capsys.readouterr().err
    assert "Missing option '--schema'" in said and "prepriv schema init" in said and said.count("\n") == 1


def test_rows_without_a_label_are_validated_when_asked(folder, capsys, mistake):
    Path("new.csv").write_text("age,name\n" + "200,x\n30,y\n")
    told = mistake("validate", "new.csv", "--schema", "s.yaml")
    assert "--no-labels" in told and "prepriv validate" not in told
    assert run(["validate", "new.csv", "--schema", "s.yaml", "--no-labels", "--json"]) == 0
    age = next(line for line in json.loads(capsys.readouterr().out)["columns"] if line["column"] == "age")
    assert int(age["out of bounds"]) == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (["score", "m", "t.csv"], "No such command 'score'. For that there is `prepriv evaluate`"),
        (["predict", "t.csv", "--model", "m"], "called as `prepriv predict MODEL DATA`"),
        (["predict", "m"], "called as `prepriv predict MODEL DATA`"),
        (["predict", "m", "t.csv", "u.csv"], "called as `prepriv predict MODEL DATA`"),
    ],
)
def test_a_line_that_no_command_takes_says_how_it_is_called(folder, capsys, line, says):
    """ "score" was answered with "Did you mean 'describe'", and `--model` with "Possible options: --help"."""
    assert run(line) == 2
    err = capsys.readouterr().err
    assert (
        says in err
        and "Possible options: --help)" not in err
        and "describe" not in err
        and err.count("\n") == 1
    )
