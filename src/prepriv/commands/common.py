"""What the commands share: exit codes, one-line errors, tables, a progress bar that shows public numbers only."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as RichTable

from prepriv._progress import waiting
from prepriv._text import printable
from prepriv.adjacency import check_adjacency, n_is_public
from prepriv.commands.exits import AFTER_TOUCH, BAD_INPUT, FOUND, INTERRUPTED, TEST_REFUSED, Stop, reason
from prepriv.commands.exits import print_json as print_json
from prepriv.engines.engine import EngineError
from prepriv.evaluation.evaluation_plan import MEASURES, TARGET_MEASURES
from prepriv.evaluation.groups import TOO_FEW
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.in_words import attacker
from prepriv.guarantees.printed import exact, places, up
from prepriv.ledger import Noted, NotNoted
from prepriv.plans.plan import Plan
from prepriv.plans.price import Price
from prepriv.preprocessing.compile_sklearn import FitFailed
from prepriv.release.model import FILE, BadArtifact, Model
from prepriv.release.pictures import bars
from prepriv.release.quality import Quality, to_do
from prepriv.release.report import TITLES, Report
from prepriv.release.review import periods_in_words
from prepriv.release.writing import write_atomically
from prepriv.runs.admit import CHARGED, CHARGING, READING
from prepriv.runs.failures import AuditFailed, Refused
from prepriv.schemas.schema import Schema, load_schema
from prepriv.tables.readers import BadData, read_table
from prepriv.tables.stream import Files, Stream

if TYPE_CHECKING:
    from prepriv.description.look import Look

ByOption = Annotated[
    str | None,
    typer.Option(
        help="Also measure each group of this declared categorical column, and how the groups differ."
    ),
]
Plot = Annotated[Path | None, typer.Option(help="Also draw the prices into this .svg file.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace an earlier private model and its reports.")
]


Note = Annotated[
    str | None,
    typer.Option("--note", help="With --ledger: a note that `ledger show` prints in front of the charge."),
]
LedgerAt = str | os.PathLike[str] | None
MeasureOption = Annotated[
    list[str] | None,
    typer.Option(
        help=f"What to measure: {', '.join(MEASURES)}; for regression {', '.join(TARGET_MEASURES)}. Repeat the option for "
        "several (default: all but residuals)."
    ),
]


def noted(ledger: str | None, note: str | None) -> LedgerAt:
    """The ledger, with the note on what is charged. Raises ValueError for another note, Stop for one without a ledger."""
    if note is None:
        return ledger
    if ledger is None:
        raise Stop("--note is of a charge: give --ledger, too")
    return Noted(ledger, note)


class PlainConsole(Console):
    """A console on which a text is only read: no markup, no escape sequence of a name, a label or a path acts."""

    def __init__(self, width: int | None = None) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, width=width)

    def print(self, *objects: Any, **options: Any) -> None:
        """As in rich, each text through `shown`."""
        super().print(*(printable(o, keep="\n") if isinstance(o, str) else o for o in objects), **options)


console = PlainConsole()


def _quiet(ctx: typer.Context, wanted: bool) -> bool:
    ctx.call_on_close(lambda: setattr(console, "quiet", False))
    console.quiet = wanted
    return wanted


AsJson = Annotated[
    bool, typer.Option("--json", callback=_quiet, help="Print JSON, and nothing else, on standard output.")
]


def print_spent(whole: Guarantee, look: Look) -> None:
    """What was spent on a look at a table, a private draft of its schema among it, and every note."""
    spent = up(whole.epsilon(look.delta))
    console.print(f"ε = {spent} at δ = {exact(look.delta)}, {look.guarantee.neighbours}, n = {look.n:,}")
    for note in whole.notes:
        console.print(f"  {note}", soft_wrap=True)


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
            "the run failed after private data was opened; details are withheld because they could hold a value "
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
            what = "the run failed after private data was opened; details are withheld"
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
        raise Stop(f"{error} (seen only after the charge, which stays)", AFTER_TOUCH) from None
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
    if ledger is not None:
        raise Stop("--rows must be declared with --ledger: the plan is charged before the data is opened")
    if stream.once:
        raise Stop("--rows must be declared: the rows can be read only once")
    stream.check(columns)
    with waiting("counting"):
        count = stream.count()
    if count == 0:
        raise BadData(f"{stream.paths[0] if isinstance(stream, Files) else 'the table'} has no rows")
    return count


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()
) -> None:
    """A table on stdout, plain when it is not a terminal."""
    table = RichTable(show_edge=False, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(printable(cell) for cell in row))
    if console.quiet:
        return
    console.print(f"\n{title}", style="bold")
    (console if console.is_terminal else PlainConsole(width=140)).print(table)


def check_plot(path: Path | None) -> None:
    """Stop unless a picture can be written there."""
    if path is not None and path.suffix != ".svg":
        raise Stop(f"--plot must end in .svg; got {path.suffix or 'no ending'}")
    if path is not None:
        writable_own(path, b"<svg ", "no picture", "--plot")


def write_plot(path: Path | None, title: str, named: Sequence[tuple[str, float]]) -> None:
    """A bar for each number, if a picture was asked for."""
    if path is not None:
        write_text(path, bars(title, named))
        console.print(f"wrote {path}")


def print_summary(made: Report) -> None:
    """What a report says first."""
    for line in made.summary.lines():
        console.print(line, soft_wrap=not console.is_terminal)


def print_quality(found: Quality, *, weighed: bool) -> None:
    """How good a model is, for whom it fails and what to do about it. weighed: its predictions weigh classes."""
    for sentence in (*found.good(), *found.fails(), *to_do(found, weighed=weighed, weak=False)):
        console.print(sentence, soft_wrap=not console.is_terminal)


def print_measured(made: PrivateEvaluation) -> None:
    """What an evaluation found: claim and figures."""
    console.print(made.claim, soft_wrap=True)
    print_table(
        "Measured", ("figure", "value", "95 % interval", "noise", "sampling"), made.table(), (1, 3, 4)
    )
    print_groups(made)
    console.print(
        "; ".join(("Each interval holds by itself; noise and sampling are standard deviations", *made.cut))
    )


_MOST_DIFFERENCES = 40  # on the screen; a file has them all


def print_groups(made: PrivateEvaluation) -> None:
    """What it found of groups: their figures side by side, and how they differ."""
    if made.plan.by is None:
        return
    groups = [group for group in made.groups.values() if group.answered]
    if groups:
        lines = [(name, *(g.figures[name].interval for g in groups)) for name in groups[0].figures]
        named = ("figure", *(printable(g.name) for g in groups))
        print_table(f"Groups of {printable(made.plan.by)}, each by itself", named, lines)
    for group in made.groups.values():
        if not group.answered:
            console.print(f"  {printable(group.name)}: {group.share}; {TOO_FEW}", soft_wrap=True)
    apart = [(d.name, d.figure.interval) for d in made.differences]
    if apart:
        print_table("Differences", ("", "value [95 % interval]"), apart[:_MOST_DIFFERENCES])
    if len(apart) > _MOST_DIFFERENCES:
        console.print(f"{len(apart) - _MOST_DIFFERENCES} more differences: --out has them all")


def print_prices(table: Sequence[Price]) -> None:
    """The price of every step in each way to pay."""
    rows = []
    for p in table:
        factor = f"x {places(p.factor)}" if p.open else "not available"
        real = up(p.epsilon, 4) if p.open and p.epsilon is not None else "-"
        rows.append((p.step, TITLES[p.way], factor, real, "paid" if p.chosen else "", p.note))
    columns = ("step", "way to pay", "noise of training", "ε if ignored", "", "terms")
    print_table("What each step costs, in each way to pay", columns, rows, right=(2, 3))


def print_guarantee(plan: Plan, private: bool, whole: Guarantee | None = None) -> None:
    """ε, δ, adjacency, conditions: the claim. whole: in place of the plan's, where a model was chosen or its domain drafted."""
    if not private or plan.guarantee is None:
        console.print("private: no (no noise, or reproducible noise): nothing is claimed")
        return
    g = whole or plan.guarantee
    same = f" ({up(g.mu, 5)}-GDP)" if g.mu is not None else ""
    epsilon = up(g.epsilon(plan.delta))
    console.print(f"ε = {epsilon} at δ = {exact(plan.delta)}, {g.neighbours}, n = {plan.n:,}{same}")
    console.print(f"  {attacker(g)[0]}", soft_wrap=not console.is_terminal)
    for note in (*g.notes, *periods_in_words(plan)):
        console.print(f"  {note}", soft_wrap=True)
    for condition in g.conditions:
        console.print(f"  rests on: {condition}")


def print_proofs(lines: Sequence[Mapping[str, Any]]) -> None:
    """Where each step, learner, premise and the whole are proved: one line each."""
    console.print("proofs, tests and attacks of each step: docs/proof-table.md")
    for line in lines:
        checked = len(line["machine_checked"])
        more = f", {checked} machine-checked theorem{'s' if checked > 1 else ''}" if checked else ""
        console.print(f"  {line['what']}: {', '.join(line['proofs']) or 'none here'}{more}", soft_wrap=True)


def read_columns(path: str | Path, schema: Schema, *, label: bool) -> Any:
    """The declared columns of a table (with the label or without), as an Arrow table. Raises BadData."""
    return read_table(path, [*schema.columns, schema.label.name] if label else list(schema.columns))


def load(path: Path, label: str | None = None, *, drafts: bool = False) -> Schema:
    """The schema; `label`, if given, must be its label. drafts: see `load_schema`."""
    schema = load_schema(path, drafts=drafts)
    if label is not None and label != schema.label.name:
        raise Stop(f"--label {label} is not the label of the schema, {schema.label.name}")
    return schema


def writable_folder(path: Path) -> Path:
    """A folder that can be written to; checked before anything is charged or read. Nothing stays of the check."""
    try:
        new = [folder for folder in (path, *path.parents) if not folder.exists()]
        try:
            path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
        finally:
            _remove_empty(new)
    except FileExistsError:
        raise Stop(f"cannot write to {path}: it is no folder") from None
    except OSError as error:
        raise Stop(f"cannot write to {path}: {reason(error)}") from None
    return path


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):  # not there, or someone else's file is in it
            folder.rmdir()


def writable_file(path: Path) -> Path:
    """A file that can be written, there or not; checked before anything is charged, read or computed."""
    if path.is_dir():
        raise Stop(f"cannot write to {path}: it is a folder")
    if path.is_symlink() and not path.exists():
        raise Stop(f"cannot write to {path}: it is a link that leads to no file")
    if not path.exists():
        writable_folder(path.parent)
    elif not os.access(path, os.W_OK):
        raise Stop(f"cannot write to {path}: permission denied")
    return path


def writable_own(path: Path, mark: bytes, what: str, option: str = "--out") -> Path:
    """The same for a file that is replaced only if it is empty or `mark`, of this library's files, stands in it."""
    writable_file(path)
    if path.exists() and not (path.is_file() and (not path.stat().st_size or mark in path.read_bytes())):
        raise Stop(f"{path} is {what} and is not overwritten: choose another {option}")
    return path


def writable_once(path: Path, mark: bytes, what: str) -> Path:
    """The same for a file that privacy is paid for: one that holds such a release already is not replaced."""
    writable_own(path, mark, f"no {what} of this library")
    if path.exists() and path.stat().st_size:
        article = "an" if what[0] in "aeiou" else "a"
        raise Stop(f"{path} holds {article} {what} that privacy was paid for: choose another --out")
    return path


# The files of a run, each with a text that stands in those this library wrote.
_OF_A_RUN = {
    f"model/{FILE}": b'"format": "prepriv-model-',
    "report.json": b'"plan_hash": ',
    "report.html": b"<title>prepriv report</title>",
}


def writable_run(folder: Path, overwrite: bool) -> Path:
    """A folder in which a run can leave its model and its reports; checked before anything is charged or read.

    A file that no run wrote is never overwritten, a model that privacy was paid for only with `overwrite`.
    """
    writable_folder(folder / "model")
    for name, mark in _OF_A_RUN.items():
        writable_own(folder / name, mark, "of no run of this library")
    for paid, what in (
        (_paid_for(folder / f"model/{FILE}"), f"{folder / 'model'} holds a model"),
        (_reported(folder / "report.json"), f"{folder / 'report.json'} is of a model"),
    ):
        if paid and not overwrite:
            raise Stop(
                f"{what} that privacy was paid for: choose another --out, or replace it with --overwrite"
            )
    return folder


_LOCK = ".prepriv-run"


@contextlib.contextmanager
def reserved_run(folder: Path, overwrite: bool) -> Iterator[Path]:
    """`writable_run`, and nobody else's until the end: two runs never pay for one place."""
    writable_run(folder, overwrite)
    with _reserved([folder / _LOCK, *(_lock_of(folder / name) for name in _OF_A_RUN)], folder):
        yield writable_run(folder, overwrite)  # again: another run can have ended in between


@contextlib.contextmanager
def reserved_file(out: Path | None, check: Callable[[Path], Any], *beside: Path) -> Iterator[None]:
    """The same for one file that will be paid for, and others that are written with it; None: for standard output.

    check: Stop where it cannot be written.
    """
    if out is None:
        check_standard_output()
        yield
        return
    check(out)
    with _reserved([*map(_lock_of, (out, *beside))], out):
        check(out)
        yield


def check_standard_output() -> None:
    """Stop where what goes to standard output would be nowhere."""
    if sys.stdout is None:
        raise Stop("standard output is not available: choose --out")


def _lock_of(file: Path) -> Path:
    """Beside the file itself, whatever link leads to it."""
    real = Path(os.path.realpath(file))
    return real.with_name(f".{real.name}{_LOCK}")


@contextlib.contextmanager
def _reserved(locks: Sequence[Path], place: Path) -> Iterator[None]:
    folders = dict.fromkeys(part for lock in locks for part in (lock.parent, *lock.parent.parents))
    new = sorted((part for part in folders if not part.exists()), reverse=True)  # the inner ones first
    made: list[Path] = []
    try:
        try:
            for lock in locks:
                lock.parent.mkdir(parents=True, exist_ok=True)
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
                made.append(lock)
        except FileExistsError:
            there = ", ".join(str(lock) for lock in locks if lock not in made and os.path.lexists(lock))
            raise Stop(
                f"{there or lock} is there: another run is writing to {place}, or was killed; choose another --out, or "
                "remove what is there if none is running"
            ) from None
        except OSError as error:
            raise Stop(f"cannot write to {place}: {reason(error)}") from None
        yield
    finally:
        for lock in made:
            lock.unlink(missing_ok=True)
        _remove_empty(new)


def _paid_for(model: Path) -> bool:
    try:
        return model.exists() and Model.load(model).private
    except BadArtifact:  # of another version, perhaps
        return True


def _reported(report: Path) -> bool:
    """Whether a report says that privacy was paid for."""
    try:
        said = report.read_bytes() if report.exists() else b""
        return bool(said) and json.loads(said).get("private") is not False
    except (ValueError, AttributeError, RecursionError):
        return True


def write_text(path: Path, text: str) -> None:
    """Write an output, whole or not at all, and its folders; a pipe or a device is written as it is. Raises Stop."""
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
        else:
            mask = os.umask(0)  # the user's: there is no other way to ask for it
            os.umask(mask)
            write_atomically(target, text, 0o666 & ~mask)
    except OSError as error:
        raise Stop(f"cannot write to {path}: {reason(error)}") from None


@contextlib.contextmanager
def paid_output(out: Path, text: Callable[[], str]) -> Iterator[None]:
    """Around the writing of what was paid for: where it fails, text() goes to standard output, since nothing is lost."""
    try:
        yield
    except Exception as error:
        why = reason(error) if isinstance(error, OSError) else type(error).__name__
        said = str(error) if isinstance(error, Stop) else f"cannot write to {out}: {why}"
        typer.echo(printable(text(), keep="\n"), nl=False)
        raise Stop(
            f"{said}; what was released stands on standard output, and a charge, if any, stays", AFTER_TOUCH
        ) from None
