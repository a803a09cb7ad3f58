"""The planted bugs are killed: a few in every run, chosen by the state of the source, all of them in the long one."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import run as runner

from mutants import MUTANTS

BRIEF = 3


def todays() -> list[str]:
    """Three that change with every change of the source, so that all have their turn."""
    digest = hashlib.sha256()
    for path in sorted(runner.PACKAGE.rglob("*.py")):
        digest.update(path.read_bytes())
    order = sorted(MUTANTS, key=lambda m: hashlib.sha256(digest.digest() + m.name.encode()).digest())
    return [m.name for m in order[:BRIEF]]


BY_NAME = {m.name: m for m in MUTANTS}


def test_there_are_enough_and_each_has_a_name_and_a_published_bug_of_its_own():
    assert len(MUTANTS) >= 25 and len(BY_NAME) == len(MUTANTS)
    assert all(m.published and m.tests and m.old != m.new for m in MUTANTS)


@pytest.mark.parametrize("name", BY_NAME)
def test_the_text_to_replace_is_there_once(name):
    """Else the list is stale, and the bug would not be planted."""
    source = runner.source_of(BY_NAME[name]).read_text(encoding="utf-8")
    planted = runner.planted(BY_NAME[name], source)
    compile(planted, BY_NAME[name].file, "exec")


BROKEN, UNTESTED = "a bug that is no Python", "a bug without a test"
A_FEW = f"""
import run
from mutants import MUTANTS
by_name = dict((m.name, m) for m in MUTANTS)
some = by_name["no noise at all"]
broken = run.Mutant({BROKEN!r}, "", some.file, some.old, "    noisy = = total\\n", some.tests)
untested = run.Mutant({UNTESTED!r}, "", some.file, some.old, some.new, ("tests/tables/test_data.py", "-k", "no_such_test"))
chosen = [*map(by_name.get, {todays()!r}), broken, untested]
run.import_what_is_not_ours()
record = run.Record(run.Path(sys.argv[1]))
gone = dict((m.name, "tests/tables/test_data.py::test_that_is_gone") for m in chosen[:1])
for outcome in run.forked(chosen, run.PACKAGE, 1, gone):
    record.write(outcome)
"""


def test_a_few_are_killed(tmp_path):
    """In forks, as `run.py` does it: the bugs whose turn it is, one after a test that is not there any more; a bug that does not
    run is not killed."""
    file = tmp_path / "verdicts"
    command = [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{A_FEW}",
        str(file),
    ]
    subprocess.run(command, check=True)
    said = {verdict["name"]: verdict for verdict in map(json.loads, file.read_text().splitlines())}
    assert {name: verdict["by"] for name, verdict in said.items() if not verdict["killed"]} == {
        BROKEN: "exit code 70: SyntaxError: invalid syntax",
        UNTESTED: said[UNTESTED]["by"],
    }
    assert set(said) == {*todays(), BROKEN, UNTESTED} and "exit code 5" in said[UNTESTED]["by"]
    record = runner.Record(file)  # it goes on from there, until a file changes
    assert all(record.stands(BY_NAME[name]) for name in todays()) and set(record.known()) == set(todays())
    file.write_text(file.read_text().replace(record.state, "another"))
    assert not any(runner.Record(file).stands(BY_NAME[name]) for name in todays())


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_every_one_is_killed(name):
    outcome = runner.attack(BY_NAME[name])
    assert outcome.killed, outcome.by


@pytest.mark.slow
def test_the_same_tests_pass_without_a_bug(tmp_path):
    """Otherwise a kill would show nothing."""
    runner.copy(runner.PACKAGE, str(tmp_path))
    for tests in {m.tests for m in MUTANTS}:
        done = runner.run_tests(tests, str(tmp_path))
        assert done.returncode == 0, (tests, done.stdout[-2000:])


def test_a_mutant_that_does_not_run_is_not_killed():
    mutant = BY_NAME["no noise at all"]
    broken = type(mutant)(**{**vars(mutant), "new": "    noisy = = total\n"})
    with pytest.raises(RuntimeError, match="cannot be imported"):
        runner.attack(broken)
    nothing = type(mutant)(**{**vars(mutant), "tests": ("tests/tables/test_data.py", "-k", "no_such_test")})
    assert not runner.attack(nothing).killed


def test_a_stale_mutant_is_an_error():
    mutant = BY_NAME["no noise at all"]
    with pytest.raises(ValueError, match="0 places"):
        runner.planted(mutant, "nothing of the kind")
