"""Where the commands write: whether a place can be written to before anything is charged, and who else writes there."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from prepriv._text import printable
from prepriv.commands.exits import AFTER_TOUCH, Stop, reason
from prepriv.commands.printing import console
from prepriv.release.model import FILE, BadArtifact, Model
from prepriv.release.pictures import bars
from prepriv.release.writing import write_atomically

Plot = Annotated[Path | None, typer.Option(help="Also draw the prices into this .svg file.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace an earlier private model and its reports.")
]


def check_plot(path: Path | None) -> None:
    """Stop unless a picture can be written there."""
    if path is not None and path.suffix != ".svg":
        raise Stop(f"--plot must end in .svg; got {path.suffix or 'no ending'}")
    if path is not None:
        writable_own(path, b"<svg ", "not a picture of this library", "--plot")


def write_plot(path: Path | None, title: str, named: Sequence[tuple[str, float]]) -> None:
    """A bar for each number, if a picture was asked for."""
    if path is not None:
        write_text(path, bars(title, named))
        console.print(f"wrote {path}")


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
        raise Stop(f"cannot write to {path}: it is not a folder") from None
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
    writable_own(path, mark, f"not a {what} of this library")
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
        writable_own(folder / name, mark, "not from a run of this library")
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
