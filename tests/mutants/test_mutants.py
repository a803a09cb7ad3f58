"""The planted bugs are killed: a few in every run, chosen by the state of the source, all of them in the long one."""

from __future__ import annotations

import hashlib
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


@pytest.mark.parametrize("name", todays())
def test_a_few_are_killed(name):
    outcome = runner.attack(BY_NAME[name])
    assert outcome.killed, outcome.by


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
    nothing = type(mutant)(**{**vars(mutant), "tests": ("tests/tables/test_data.py", "-k", "no such test")})
    assert not runner.attack(nothing).killed


def test_a_stale_mutant_is_an_error():
    mutant = BY_NAME["no noise at all"]
    with pytest.raises(ValueError, match="0 places"):
        runner.planted(mutant, "nothing of the kind")
