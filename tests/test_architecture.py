"""docs/architecture.md: every name it mentions is there, and nobody asks a payment or a learner which one it is."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import prepriv

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`(prepriv(?:\.\w+)+)`", PAGE)))
SOURCES = sorted(p for p in Path(prepriv.__file__).parent.rglob("*.py"))


def found(name):
    parts = name.split(".")
    for at in range(len(parts), 0, -1):
        try:
            thing = import_module(".".join(parts[:at]))
        except ModuleNotFoundError:
            continue
        for part in parts[at:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there(name):
    assert found(name) is not None


def test_the_page_names_much_in_few_lines():
    assert len(PAGE.splitlines()) <= 200 and len(NAMES) > 30


KINDS = r"Public|Budget|Sensitivity|GradientDescent|\w*SGD|StochasticLearner|BatchLearner"
LADDER = re.compile(rf"isinstance\([^()]*,[^()]*\b(?:pay\.)?(?:{KINDS})\b")


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.relative_to(SOURCES[0].parent).as_posix())
def test_no_ladder_over_payments_or_learners(source):
    """A payment and a learner answer for themselves: an unknown kind cannot pass through a branch that forgot it."""
    assert not LADDER.findall(source.read_text(encoding="utf-8"))
