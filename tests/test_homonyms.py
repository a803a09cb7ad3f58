"""One name means one thing: no public name and no file name stands in two rooms.

A command is named as it is typed: the files of `commands` and their functions may have the name of what they call.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import prepriv

PACKAGE = Path(prepriv.__file__).parent
ALLOWED = {
    "ADJACENCIES": "of domains and of ledgers, in one meaning; the ledger imports nothing of the package",
}


def files():
    """(room, path) of every file; a file at the top is a room of its own."""
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        if path.name != "__init__.py":
            yield inside.parts[0].removesuffix(".py"), path


def defined(path):
    """(name, node) of what a file defines for others: functions, classes, constants and types without an underscore."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        found = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found = [node.name]
        elif isinstance(node, ast.Assign):
            found = [n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found = [node.target.id]
        yield from ((name, node) for name in found if not name.startswith("_"))


def twice(pairs):
    """What stands in several rooms, with the rooms."""
    rooms = defaultdict(set)
    for name, room in pairs:
        rooms[name].add(room)
    return {name: sorted(where) for name, where in rooms.items() if len(where) > 1}


def test_no_public_name_stands_in_two_rooms():
    names = [
        (name, room)
        for room, path in files()
        for name, node in defined(path)
        if not (room == "commands" and isinstance(node, ast.FunctionDef))
    ]
    assert len(names) > 1000
    assert set(twice(names)) == set(ALLOWED)


def test_no_file_name_stands_in_two_rooms():
    names = [(path.name, room) for room, path in files() if room != "commands"]
    assert len(names) > 250
    assert twice(names) == {}
