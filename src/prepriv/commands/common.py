"""What the commands share: options, how far a run came, and what may be said once private rows are open."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from prepriv._progress import waiting
from prepriv.adjacency import check_adjacency, n_is_public
from prepriv.commands.exits import AFTER_TOUCH, BAD_INPUT, FOUND, INTERRUPTED, TEST_REFUSED, Stop, reason
from prepriv.engines.engine import EngineError
from prepriv.evaluation.evaluation_plan import MEASURES, TARGET_MEASURES
from prepriv.ledger import Ledger, LedgerError, Noted, NotNoted
from prepriv.preprocessing.compile_sklearn import FitFailed
from prepriv.runs.admit import CHARGED, CHARGING, READING
from prepriv.runs.failures import AuditFailed, Refused
from prepriv.schemas.declared_file import parse_yaml
from prepriv.schemas.schema import Schema, load_schema
from prepriv.tables.readers import BadData, read_table
from prepriv.tables.stream import Files, Stream

ErrorBoundOption = Annotated[
    float | None,
    typer.Option(
        help="For regression: larger errors count as this one (default: a quarter of the width between the bounds)."
    ),
]
ByOption = Annotated[
    str | None,
    typer.Option(
        help="Also measure each group of this declared categorical column, and how the groups differ."
    ),
]
Note = Annotated[
    str | None,
    typer.Option(
        "--note",
        help="With --ledger: a note that `ledger show` prints in front of the charge. Up to 60 characters, without a comma, | or backtick.",
    ),
]
LedgerAt = str | os.PathLike[str] | None
MeasureOption = Annotated[
    list[str] | None,
    typer.Option(
        help=f"What to measure: {', '.join(MEASURES)}; for regression {', '.join(TARGET_MEASURES)}. Repeat the option for "
        "several (default: all but residuals)."
    ),
]


def declared_weights(text: str) -> Any:
    """The weights of --class-weight, by class. Raises Stop for "balanced", which counts records, and for anything that is not a mapping."""
    given = parse_yaml(text, "--class-weight")
    if given == "balanced":
        raise Stop(
            "--class-weight balanced counts classes, which costs part of ε: train with it, or give weights such as '{yes: 5}'"
        )
    if not isinstance(given, dict) or not given:
        raise Stop("--class-weight must be weights of classes, such as '{yes: 5}'")
    return given


def noted(ledger: str | None, note: str | None) -> LedgerAt:
    """The ledger, with the note on what is charged. Raises ValueError for another note, Stop for one without a ledger."""
    if note is None:
        return ledger
    if ledger is None:
        raise Stop("--note belongs to a charge: give --ledger, too")
    return Noted(ledger, note)


def head_to_keep(ledger: LedgerAt) -> str:
    """What to keep of a ledger after a run: its head, which covers the release of this run, too. No receipt does."""
    assert ledger is not None
    try:
        book = Ledger.open(ledger)
        rows = book.entries()
    except LedgerError as error:
        return f"no head was read to be kept: {error}. `prepriv ledger show` prints it"
    last = f"{rows[-1].sequence}:{rows[-1].head}" if rows else f"0:{book.header.genesis}"
    return (
        f"KEEP the head of {book.name}, {last}, or better give it to someone who keeps it. It covers every row so far, all those of this run among them. "
        "A receipt covers its charge and the rows before it, so it does not show whether what was released is replaced later"
    )


@contextlib.contextmanager
def private_data_open() -> Iterator[None]:
    """From here on private records are in memory: no error text but our own about the schema may leave."""
    try:
        yield
    except (BadData, Stop, KeyboardInterrupt):
        raise
    except EngineError as error:
        raise Stop(f"{error} (a charge, if any, stays)", AFTER_TOUCH) from None
    except Refused as outcome:
        raise Stop(f"{outcome}; the run is charged and nothing was released", TEST_REFUSED) from None
    except FitFailed as outcome:  # of rows that were released
        raise Stop(str(outcome), AFTER_TOUCH) from None
    except AuditFailed as outcome:  # of canaries, which no record decides
        raise Stop(f"{outcome} (a charge, if any, stays)", FOUND) from None
    except Exception:
        raise Stop(
            "the run failed after private records were read; details are withheld because they could hold a value "
            "of a record (a charge, if any, stays)",
            AFTER_TOUCH,
        ) from None


@dataclass
class Came:
    """How far a command came on its way to private rows: `reached` of `prepriv.runs.admit.admit`."""

    charging: bool = False
    charged: bool = False
    opened: bool = False
    writing: bool = False

    def __call__(self, stage: str) -> None:
        self.charging |= stage == CHARGING
        self.charged |= stage == CHARGED
        self.opened |= stage == READING

    def told(self, out: Path | None) -> str:
        """What an interruption leaves: one sentence."""
        booked = "after the charge, which stays" if self.charged else "while the ledger was charged"
        charge = booked if self.charging else "before anything was charged"
        if self.charging and not self.charged:
            charge += "; a charge that `prepriv ledger show` lists stays"
        if self.writing:
            return f"interrupted {charge}, while {out} was written: each file that is there is whole"
        return f"interrupted {charge}; nothing was written"


@contextlib.contextmanager
def says_what_stays(came: Came, out: Path | None = None) -> Iterator[None]:
    """Around a command that reads private rows: whatever ends it says what it leaves on disk.

    From the charge or the first private cell on nothing is "bad input, nothing charged", whatever raises it, but a table
    of another form that no charge was made for.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise Stop(came.told(out), INTERRUPTED) from None
    except Exception as error:
        told = isinstance(error, NotNoted) or (isinstance(error, Stop) and error.code != BAD_INPUT)
        touched = came.charged or (came.opened and not isinstance(error, BadData))
        if told or not touched:
            raise
        if isinstance(error, Stop):
            what = str(error)
        elif isinstance(error, OSError):
            what = f"cannot write to the output: {reason(error)}"
        else:
            what = "the run failed after private records were read; details are withheld"
        raise Stop(f"{what} (a charge, if any, stays)", AFTER_TOUCH) from None


@contextlib.contextmanager
def private_run(came: Came) -> Iterator[None]:
    """Around what admits and reads private rows: errors are as they are until the rows are open, and from then on as
    `private_data_open` has them. A table that does not fit says so, and whether a charge stays."""
    try:
        yield
    except BadData as error:
        if not came.charged:
            raise
        raise Stop(f"{error} (found only after the charge, which stays)", AFTER_TOUCH) from None
    except Exception:
        if not came.opened:
            raise
        with private_data_open():
            raise


def counted_rows(
    stream: Stream, columns: Sequence[str], *, unit: str | None, adjacency: str, ledger: LedgerAt
) -> int:
    """How many rows a private table has, where nobody declared it: under replace-one, where it is public."""
    if unit is not None:
        raise Stop(f"--rows must be declared: how many {unit!r} there are, not rows")
    if not n_is_public(check_adjacency(adjacency)):
        raise Stop("--rows must be declared under add-or-remove-one: the true count is private")
    if ledger is not None and stream.rows is None:
        raise Stop("--rows must be declared with --ledger: the plan is charged before a record is read")
    if stream.once:
        raise Stop("--rows must be declared: the rows can be read only once")
    stream.check(columns)
    with waiting("counting"):
        count = stream.count()
    if count == 0:
        raise BadData(f"{stream.paths[0] if isinstance(stream, Files) else 'the table'} has no rows")
    return count


def read_columns(path: str | Path, schema: Schema, *, label: bool) -> Any:
    """The declared columns of a table (with the label or without), as an Arrow table. Raises BadData."""
    return read_table(path, [*schema.columns, schema.label.name] if label else list(schema.columns))


def load(path: Path, label: str | None = None, *, drafts: bool = False) -> Schema:
    """The schema; `label`, if given, must be its label. drafts: see `load_schema`."""
    schema = load_schema(path, drafts=drafts)
    if label is not None and label != schema.label.name:
        raise Stop(
            f"--label {label} is not the label of the schema, {schema.label.name}. For a model of another label, copy the schema and write "
            f"its `label:` in the copy: that is free where you know its classes or bounds. Keep `drafted:`, if it is there, and take {label} out of `columns:`"
        )
    return schema
