"""Wrong numbers turn every verdict of `prepriv reproduce`: all of a run, and each number that an item reads, alone."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prepriv_papers import REPRODUCTIONS
from prepriv_papers.kept import numbers_of
from prepriv_papers.verdicts import items_of

KEPT = Path(__file__).parents[2] / "docs/papers"
WILD = (lambda v: math.nan, lambda v: 1e6 * abs(v) + 1e12, lambda v: -1e6 * abs(v) - 1e12)
ZERO = lambda v: 0.0  # noqa: E731


@pytest.fixture(scope="module")
def runs() -> dict[str, Any]:
    return {name: numbers_of(name, KEPT) for name in REPRODUCTIONS}


def number(value: Any) -> float | None:
    """A leaf as a number: cells of some tables are texts."""
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def leaves(held: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], float]]:
    for key, value in held.items() if isinstance(held, dict) else enumerate(held):
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))
        elif (read := number(value)) is not None:
            yield (*path, key), read


def put(held: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Sets a leaf; returns what was there."""
    for key in path[:-1]:
        held = held[key]
    before, held[path[-1]] = held[path[-1]], value
    return before


def decided(name: str) -> list[Any]:
    return [item for item in items_of(REPRODUCTIONS[name]) if item.cases[0].verdict != "no claim"]


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_a_run_of_nonsense_turns_every_verdict(name: str, runs: dict[str, Any]) -> None:
    for turn in (*WILD, ZERO):
        numbers = copy.deepcopy(dict(runs[name]))
        numbers.pop("verdicts", None)
        for path, value in list(leaves(numbers)):
            put(numbers, path, turn(value))
        for item in decided(name):
            honest = item.found(runs[name])
            assert honest.verdict != "not confirmed", (item.item, honest.why)
            if turn is not ZERO or honest.verdict in (
                "paper is wrong",
                "setting differs",
            ):  # some zeros are good
                assert item.found(numbers).verdict != honest.verdict, (item.item, honest.verdict)


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_each_number_that_an_item_reads_turns_its_verdict_alone(name: str, runs: dict[str, Any]) -> None:
    numbers = copy.deepcopy(dict(runs[name]))
    numbers.pop("verdicts", None)
    for item in decided(name):
        honest, read = item.found(numbers), 0
        needed = {}
        for key in numbers:  # most parts of a run are no business of an item
            rest = {k: v for k, v in numbers.items() if k != key}
            if item.found(rest) != honest:
                needed[key] = numbers[key]
        for path, value in leaves(needed):
            before = put(numbers, path, math.nan)
            lost = item.found(numbers)
            if lost.decided_by != honest.decided_by:
                read += 1
                assert lost.verdict != honest.verdict, (item.item, path)
                turned = [
                    put(numbers, path, turn(value)) is None or item.found(numbers).verdict for turn in WILD
                ]
                assert any(v != honest.verdict for v in turned[1:]), (item.item, path)
            put(numbers, path, before)
        assert read, f"{item.item} reads no number"


def test_what_depends_on_noise_is_not_decided_by_a_small_run(runs: dict[str, Any]) -> None:
    noisy = 0
    for name in REPRODUCTIONS:
        for item in decided(name):
            small, full = item.found(runs[name], small=True), item.found(runs[name])
            noisy += item.noisy
            assert small.verdict == ("not decided at this size" if item.noisy else full.verdict)
    assert noisy >= 12


def test_a_run_without_a_part_decides_nothing_of_it(runs: dict[str, Any]) -> None:
    rest = {k: v for k, v in runs["dpsgd-f"].items() if k != "table_1"}
    verdicts = {i.item: i.found(rest).verdict for i in decided("dpsgd-f")}
    assert verdicts["Table 1, DPSGD-F"] == "not run" and verdicts["Lemma 1"] == "paper is wrong"
