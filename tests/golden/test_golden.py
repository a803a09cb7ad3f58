"""What seeded configurations release is what the golden file says: a change that nobody meant turns a hash. See make.py."""

from __future__ import annotations

import pytest
from configurations import CONFIGURATIONS
from make import hashes_of, read, wanted

FILE = read()["configurations"]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_what_is_released_is_what_the_golden_file_says(name):
    now, said = hashes_of(name), wanted(FILE[name])
    turned = sorted(part for part in {*now, *said} if now.get(part) != said.get(part))
    assert not turned, f"{name}: {', '.join(turned)} changed; tests/golden/make.py says what to do"


def test_every_configuration_stands_in_the_golden_file():
    assert [*FILE] == [*CONFIGURATIONS] and len(FILE) >= 20


def test_every_change_names_what_meant_it():
    changed = [entry for parts in FILE.values() for entry in parts.values() if isinstance(entry, dict)]
    assert all(entry["meant"].endswith(".") and entry["old"] != entry["new"] for entry in changed)
