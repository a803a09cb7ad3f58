"""Neighbours differ in what `prepriv.adjacency` says, and nothing else of the package compares their names."""

import ast
import math
from pathlib import Path

import pytest

import prepriv
from prepriv.adjacency import ADJACENCIES, check_adjacency, n_is_public, rows_changed

PACKAGE = Path(prepriv.__file__).parent


def compared(tree):
    """Comparisons with one of the two names, as a constant or among several."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            inside = [c for part in (node.left, *node.comparators) for c in ast.walk(part)]
            if any(isinstance(c, ast.Constant) and c.value in ADJACENCIES for c in inside):
                yield node.lineno


def test_no_other_file_compares_the_names():
    files = [p for p in PACKAGE.rglob("*.py") if p.name != "adjacency.py"]
    found = {f"{p.relative_to(PACKAGE)}:{line}" for p in files for line in compared(ast.parse(p.read_text()))}
    assert not found


def test_such_a_comparison_would_be_found():
    assert list(compared(ast.parse('record = 2 if domain.adjacency == "replace-one" else 1'))) == [1]
    assert list(compared(ast.parse('found = adjacency in ("add-or-remove-one", "replace-one")'))) == [1]


def test_what_differs_follows_from_all_pairs_of_neighbours():
    """By enumeration: data sets of at most three records of -1, 0, 1, whose sum moves by as much as is said."""
    import itertools

    every = [list(rows) for k in range(4) for rows in itertools.product((-1, 0, 1), repeat=k)]
    for adjacency in ADJACENCIES:
        pairs = [
            (one, two)
            for one, two in itertools.product(every, every)
            if (
                len(one) == len(two) and sum(a != b for a, b in zip(one, two)) == 1
                if adjacency == "replace-one"
                else len(one) + 1 == len(two) and any(two[:i] + two[i + 1 :] == one for i in range(len(two)))
            )
        ]
        assert max(abs(sum(one) - sum(two)) for one, two in pairs) == rows_changed(adjacency)
        assert all(len(one) == len(two) for one, two in pairs) == n_is_public(adjacency)
        orthogonal = max(
            math.dist([one.count(v) for v in (-1, 0, 1)], [two.count(v) for v in (-1, 0, 1)])
            for one, two in pairs
        )
        assert orthogonal == math.sqrt(rows_changed(adjacency))


@pytest.mark.parametrize("wrong", ["replace", "", None, 1, ["replace-one"]])
def test_another_name_is_refused_wherever_it_is_asked(wrong):
    for ask in (check_adjacency, n_is_public, rows_changed):
        with pytest.raises(ValueError, match=r"adjacency .* replace-one, add-or-remove-one"):
            ask(wrong)


def test_the_number_of_rows_of_units_is_private():
    domain = prepriv.Domain({"x": prepriv.Numeric(0, 1)}, classes=[0, 1], n=10)
    assert domain.n_is_public
    assert not prepriv.Domain(
        {"x": prepriv.Numeric(0, 1)}, classes=[0, 1], n=10, unit="who", rows_per_unit=2
    ).n_is_public
    assert not prepriv.Domain(
        {"x": prepriv.Numeric(0, 1)}, classes=[0, 1], n=10, adjacency="add-or-remove-one"
    ).n_is_public
