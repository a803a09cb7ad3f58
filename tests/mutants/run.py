"""Plant every bug of mutants.py in a copy of the package and see which test notices.

python tests/mutants/run.py             all of them; exit code 1 if one survives
python tests/mutants/run.py noise seed  those whose name holds one of the words
python tests/mutants/run.py --list
python tests/mutants/run.py --jobs 2    two at a time
python tests/mutants/run.py --record run/mutants.jsonl    keep each verdict there, and go on where a run stopped
python tests/mutants/run.py --fresh     a new interpreter for each bug instead of a fork of one that has imported
                                        what the package imports: slower, and the same verdicts
"""

from __future__ import annotations

import argparse
import compileall
import gc
import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "prepriv"
PAPERS = "papers/"  # how the files of the distribution beside it are named
COPIED = ("src/prepriv", "papers/prepriv_papers", "examples")
READ = ("src", "papers", "examples", "tests", "docs")  # what a verdict rests on
SWITCHES = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "pythonpath=tests")


@dataclass(frozen=True)
class Outcome:
    """killed: whether a test failed (an error of collection kills nothing). by: the first one that did."""

    mutant: Mutant
    killed: bool
    by: str
    seconds: float


def planted(mutant: Mutant, source: str) -> str:
    """The source with the bug. ValueError if the text to replace is not there exactly once: the list is stale."""
    if source.count(mutant.old) != 1:
        raise ValueError(f"{mutant.name}: {source.count(mutant.old)} places in {mutant.file}, need one")
    return source.replace(mutant.old, mutant.new)


def attack(mutant: Mutant, package: Path = PACKAGE) -> Outcome:
    """Run the tests of a mutant on a copy of the package that has it, in an interpreter of their own."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        plant(mutant, package, folder)
        done = run_tests(mutant.tests, folder)
    # 1: tests ran and some failed. Anything else, a collection error too, is no proof that a test sees the bug.
    failed = re.search(r"^FAILED (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return Outcome(
        mutant,
        done.returncode == 1 and failed is not None,
        failed[1] if failed else _tail(done.returncode, done.stdout + done.stderr),
        time.monotonic() - start,
    )


def source_of(mutant: Mutant, root: Path = ROOT) -> Path:
    """The file of a mutant in a repository."""
    if mutant.file.startswith(PAPERS):
        return root / "papers" / "prepriv_papers" / mutant.file.removeprefix(PAPERS)
    return root / "src" / "prepriv" / mutant.file


def copy(package: Path, folder: str) -> Path:
    """The package in another folder, the papers' beside it, and the page that scores without it; with what is compiled of
    them, which is of no use to a file that a bug is planted in."""
    for part in COPIED:
        shutil.copytree(package.parents[1] / part, Path(folder) / part)
    return Path(folder) / "src" / "prepriv"


def plant(mutant: Mutant, package: Path, folder: str) -> None:
    """A copy of the package in `folder` that has the bug."""
    copy(package, folder)
    target = source_of(mutant, Path(folder))
    target.write_text(planted(mutant, target.read_text(encoding="utf-8")), encoding="utf-8")


def run_tests(tests: tuple[str, ...], folder: str) -> subprocess.CompletedProcess[str]:
    """pytest on the package in `folder`, stopping at the first failure."""
    check = "import prepriv.commands.app, prepriv.estimators, sys; sys.exit(not prepriv.__file__.startswith(sys.argv[1]))"
    environment = dict(os.environ, PYTHONPATH=f"{folder}/src:{folder}/papers", PYTHONDONTWRITEBYTECODE="1")
    if subprocess.run(
        [sys.executable, "-c", check, folder], cwd=ROOT, env=environment, capture_output=True, check=False
    ).returncode:
        raise RuntimeError("the copy of the package cannot be imported, or another one is")
    command = [sys.executable, "-m", "pytest", *SWITCHES, *tests]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def _tail(code: int, output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return f"exit code {code}: {lines[-1] if lines else ''}"


def import_what_is_not_ours() -> None:
    """What the package and its tests import from elsewhere, in this process: forks of it need not import it again."""
    listing = (
        "import sys, hypothesis, pandas, polars, pytest, yaml; import prepriv.commands.app, prepriv.estimators;"
        "print(*(m for m in sys.modules if m.split('.')[0] not in ('prepriv', 'prepriv_papers', '__main__')))"
    )
    found = subprocess.run(
        [sys.executable, "-c", listing], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in (*found.stdout.split(), "pytest.__main__"):
        try:
            importlib.import_module(name)
        except ImportError:  # a name that some module gave itself
            continue
    ours = [name for name in sys.modules if name.split(".")[0] in ("prepriv", "prepriv_papers")]
    if ours:
        raise RuntimeError(f"{ours[0]} is imported in the process that forks")


class _Fork:
    """One bug, planted in a folder of its own, and the fork of this process that runs tests on it."""

    def __init__(self, mutant: Mutant, package: Path, known: str | None):
        self.mutant, self.known, self._start = mutant, known, time.monotonic()
        self._folder = tempfile.TemporaryDirectory()
        plant(mutant, package, self._folder.name)
        self.pid = self._begin((known,) if known else mutant.tests)

    def _begin(self, tests: tuple[str, ...]) -> int:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            return pid
        code = 70  # what pytest does not say
        try:
            code = _tests_in_this_process(tests, self._folder.name)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def ended(self, status: int) -> Outcome | None:
        """The verdict; None if the test that killed it once did not, and all its tests run now."""
        code, folder = os.waitstatus_to_exitcode(status), Path(self._folder.name)
        failed = folder / "failed"
        killed = code == 1 and failed.exists()
        if not killed and self.known:
            self.known, self.pid = None, self._begin(self.mutant.tests)
            return None
        by = failed.read_text() if killed else _tail(code, (folder / "output").read_text(errors="replace"))
        self._folder.cleanup()
        return Outcome(self.mutant, killed, by, time.monotonic() - self._start)


class _Failed:
    """A plugin of pytest: which test failed first. An error of a fixture is not the failure of a test."""

    def __init__(self, file: Path):
        self._file = file

    def pytest_runtest_logreport(self, report) -> None:
        if report.failed and report.when == "call" and not self._file.exists():
            self._file.write_text(report.nodeid)


def _tests_in_this_process(tests: tuple[str, ...], folder: str) -> int:
    """In a fork: pytest on the package in `folder` as `run_tests` has it, what it prints in a file there."""
    output = os.open(f"{folder}/output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(ROOT)
    sys.dont_write_bytecode = True
    os.environ.update(PYTHONPATH=f"{folder}/src:{folder}/papers", PYTHONDONTWRITEBYTECODE="1")
    here = str(Path(__file__).resolve().parent)
    sys.path[:] = [str(ROOT), f"{folder}/src", f"{folder}/papers", *(p for p in sys.path if p != here)]
    importlib.invalidate_caches()
    for name in [m for m in sys.modules if m.split(".")[0] in ("mutants", "mutant", "joints")]:
        del sys.modules[name]
    import pytest

    import prepriv.commands.app
    import prepriv.estimators

    if not prepriv.__file__.startswith(folder):
        raise RuntimeError("another copy of the package is imported")
    sys.modules["__main__"] = sys.modules[
        "pytest.__main__"
    ]  # a process that a test spawns imports what this one ran
    sys.argv = [str(sys.modules["pytest.__main__"].__file__), *SWITCHES, *tests]
    return int(pytest.main([*SWITCHES, *tests], plugins=[_Failed(Path(folder) / "failed")]))


def forked(chosen: Iterable[Mutant], package: Path, jobs: int, known: dict[str, str]) -> Iterator[Outcome]:
    """Each in a fork, `jobs` at a time, as they end. The test in `known` runs first, and alone if it fails."""
    waiting, running = iter(chosen), {}
    while True:
        while len(running) < jobs and (mutant := next(waiting, None)) is not None:
            fork = _Fork(mutant, package, known.get(mutant.name))
            running[fork.pid] = fork
        if not running:
            return
        pid, status = os.wait()
        fork = running.pop(pid)
        outcome = fork.ended(status)
        if outcome is None:
            running[fork.pid] = fork
        else:
            yield outcome


class Record:
    """A file with a verdict a line. A verdict stands while no file that it rests on changes; the name of the test that
    killed a bug is worth trying first even then."""

    def __init__(self, file: Path | None):
        self._file, self.state = file, _everything() if file else ""
        lines = file.read_text().splitlines() if file and file.exists() else []
        self._said = {said["name"]: said for said in map(json.loads, lines)}

    def stands(self, mutant: Mutant) -> bool:
        """Whether this bug was killed, with every file as it is now."""
        said = self._said.get(mutant.name)
        return said is not None and said["killed"] and said["state"] == self.state

    def known(self) -> dict[str, str]:
        """Which test killed which bug."""
        return {name: said["by"] for name, said in self._said.items() if said["killed"]}

    def write(self, outcome: Outcome) -> None:
        """One verdict more."""
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        said = {"name": outcome.mutant.name, "state": self.state, "killed": outcome.killed, "by": outcome.by}
        with self._file.open("a") as out:
            out.write(json.dumps({**said, "seconds": round(outcome.seconds, 1)}) + "\n")


def _everything() -> str:
    """A hash of all that a verdict rests on."""
    digest = hashlib.sha256()
    for path in sorted(path for part in READ for path in (ROOT / part).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(
                str(path.relative_to(ROOT)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest()
            )
    return digest.hexdigest()


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only mutants whose name holds one of these")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    parser.add_argument("--list", action="store_true", help="only list them")
    parser.add_argument(
        "--record", type=Path, help="a file for verdicts; those in it that still stand are not made again"
    )
    parser.add_argument("--fresh", action="store_true", help="a new interpreter for each")
    arguments = parser.parse_args()
    chosen = [m for m in MUTANTS if not arguments.words or any(w in m.name for w in arguments.words)]
    if arguments.list:
        for mutant in chosen:
            print(f"{mutant.name}  ({mutant.published})  {mutant.file}")
        return 0
    record = Record(arguments.record)
    earlier = [mutant for mutant in chosen if record.stands(mutant)]
    if earlier:
        print(f"{len(earlier)} were killed before, with every file as it is now ({arguments.record})")
    rest = [mutant for mutant in chosen if mutant not in earlier]
    survivors = []
    for setting in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before numpy is imported
        os.environ.setdefault(setting, "1")
    with tempfile.TemporaryDirectory() as folder:
        snapshot = copy(PACKAGE, folder)  # so that nobody edits it meanwhile
        compileall.compile_dir(folder, quiet=2)  # once, not for each bug
        for outcome in _outcomes(rest, snapshot, record.known(), arguments):
            name = outcome.mutant.name
            if not outcome.killed:
                survivors.append(name)
            record.write(outcome)
            verdict = "killed by" if outcome.killed else "SURVIVED  "
            print(f"{name:48} {verdict} {outcome.by}  ({outcome.seconds:.0f} s)", flush=True)
    print(
        f"{len(chosen) - len(survivors)} of {len(chosen)} killed"
        + (f"; survivors: {survivors}" if survivors else "")
    )
    return 1 if survivors else 0


def _outcomes(
    rest: list[Mutant], snapshot: Path, known: dict[str, str], arguments: argparse.Namespace
) -> Iterator[Outcome]:
    if arguments.fresh or not hasattr(os, "fork"):
        with ThreadPoolExecutor(arguments.jobs) as pool:
            yield from pool.map(lambda mutant: attack(mutant, snapshot), rest)
        return
    import_what_is_not_ours()
    gc.collect()
    gc.freeze()
    yield from forked(rest, snapshot, arguments.jobs, known)


if __name__ == "__main__":
    sys.exit(main())
