"""Plant every bug of mutants.py in a copy of the package and see which test notices.

python tests/mutants/run.py             all of them; exit code 1 if one survives
python tests/mutants/run.py noise seed  those whose name holds one of the words
python tests/mutants/run.py --list
python tests/mutants/run.py --jobs 2    two at a time
"""

from __future__ import annotations

import argparse
import compileall
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "prepriv"
PAPERS = "papers/"  # how the files of the distribution beside it are named


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
    """Run the tests of a mutant on a copy of the package that has it."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copy(package, folder)
        target = source_of(mutant, Path(folder))
        target.write_text(planted(mutant, target.read_text(encoding="utf-8")), encoding="utf-8")
        done = run_tests(mutant.tests, folder)
    # 1: tests ran and some failed. Anything else, a collection error too, is no proof that a test sees the bug.
    failed = re.search(r"^FAILED (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return Outcome(
        mutant,
        done.returncode == 1 and failed is not None,
        failed[1] if failed else _tail(done),
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
    for part in ("src/prepriv", "papers/prepriv_papers", "examples"):
        shutil.copytree(package.parents[1] / part, Path(folder) / part)
    return Path(folder) / "src" / "prepriv"


def run_tests(tests: tuple[str, ...], folder: str) -> subprocess.CompletedProcess[str]:
    """pytest on the package in `folder`, stopping at the first failure."""
    check = "import prepriv.commands.app, prepriv.estimators, sys; sys.exit(not prepriv.__file__.startswith(sys.argv[1]))"
    environment = dict(os.environ, PYTHONPATH=f"{folder}/src:{folder}/papers", PYTHONDONTWRITEBYTECODE="1")
    if subprocess.run(
        [sys.executable, "-c", check, folder], cwd=ROOT, env=environment, capture_output=True, check=False
    ).returncode:
        raise RuntimeError("the copy of the package cannot be imported, or another one is")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-o",
        "pythonpath=tests",
        *tests,
    ]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def _tail(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return f"exit code {done.returncode}: {lines[-1] if lines else ''}"


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only mutants whose name holds one of these")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    parser.add_argument("--list", action="store_true", help="only list them")
    arguments = parser.parse_args()
    chosen = [m for m in MUTANTS if not arguments.words or any(w in m.name for w in arguments.words)]
    if arguments.list:
        for mutant in chosen:
            print(f"{mutant.name}  ({mutant.published})  {mutant.file}")
        return 0
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        snapshot = copy(PACKAGE, folder)  # so that nobody edits it meanwhile
        compileall.compile_dir(folder, quiet=2)  # once, not for each bug
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for outcome in pool.map(lambda mutant: attack(mutant, snapshot), chosen):
                name = outcome.mutant.name
                if not outcome.killed:
                    survivors.append(name)
                verdict = "killed by" if outcome.killed else "SURVIVED  "
                print(f"{name:48} {verdict} {outcome.by}  ({outcome.seconds:.0f} s)", flush=True)
    print(
        f"{len(chosen) - len(survivors)} of {len(chosen)} killed"
        + (f"; survivors: {survivors}" if survivors else "")
    )
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
