"""What a user hands over is read in `prepriv.tables` alone, cell by cell: nothing else makes an array of it or asks for its type.

A library types a column by all its cells, so that a decision by type, or an array made of a column, is one record's decision.
Followed are the parameters of any type that are named as users' rows are, the fields of that kind, and what is made of them; a
call of a function of ours ends the trail, as its own parameters are followed there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import prepriv

SOURCE = Path(prepriv.__file__).parent
USERS = {
    "X", "y", "rows", "labels", "values", "condition", "data", "table", "vectors", "column", "columns", "series", "frame",
    "native", "ids", "public", "private", "cells",
}  # fmt: skip
TYPES = {"dtype", "dtypes", "null_count", "schema", "type"}
MADE = {
    "to_numpy", "tolist", "to_list", "to_pylist", "to_pandas", "astype", "cast", "isna", "isnull", "is_null", "item", "compute",
    "__array__",
}  # fmt: skip
FORM = {"len", "isinstance", "type", "hasattr", "id", "callable"}
"""What tells the form of a container and of no cell."""

ALLOWED = {
    ("runs/apart.py", "_arrays"): "where the cells lie in memory; none is read",
    ("runs/apart.py", "_column"): "where the cells lie in memory; none is read",
    ("runs/apart.py", "_arrow"): "where the cells lie in memory; none is read",
    (
        "commands/audit_replay.py",
        "_raw",
    ): "an auditor's own table, as it is: nothing that is found leaves through a mechanism",
    (
        "mechanisms/handle.py",
        "floats",
    ): "what a step of a user's own hands to a mechanism, after its cells were encoded",
    ("preprocessing/arrays.py", "unpack"): "numbers of a file of ours, no rows",
    ("release/report.py", "of"): "what a model says of public rows",
}


def called(node: ast.Call) -> str:
    return ast.unparse(node.func)


class Trail(ast.NodeVisitor):
    """What one function does to what a user handed over."""

    def __init__(self, function: ast.FunctionDef, fields: frozenset[str], ours: set[str]) -> None:
        every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        every += [a for a in (function.args.vararg,) if a is not None]
        self.held = {
            a.arg for a in every if a.arg in USERS and (a.annotation is None or is_any(a.annotation))
        }
        self.fields, self.ours, self.found = fields, ours, list[str]()
        before = -1
        while before != len(self.held):  # a name may be used above the line that gives it
            before, self.found = len(self.held), []
            for line in function.body:
                self.visit(line)

    def holds(self, node: ast.AST) -> bool:
        """Whether an expression is a user's, or made of one by others than us."""
        if isinstance(node, ast.Name):
            return node.id in self.held
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return node.attr in self.fields
        if isinstance(node, ast.Call) and (called(node).split(".")[0] in self.ours or called(node) in FORM):
            return False
        if isinstance(node, ast.Compare | ast.BoolOp):
            return False
        return any(map(self.holds, ast.iter_child_nodes(node)))

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        if self.holds(node.value):
            for target in node.targets:
                self.held |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}

    def _loop(self, target: ast.AST, over: ast.AST) -> None:
        if self.holds(over):
            self.held |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}

    def visit_For(self, node: ast.For) -> None:
        self._loop(node.target, node.iter)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._loop(node.target, node.iter)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        if node.attr in TYPES | MADE and self.holds(node.value):
            self.found.append(node.attr)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        given = [*node.args, *(k.value for k in node.keywords)]
        if called(node).split(".")[0] in ("np", "numpy", "pd", "pa", "pc", "pl") and any(
            map(self.holds, given)
        ):
            self.found.append(called(node))
        if (
            called(node) == "getattr"
            and self.holds(node.args[0])
            and ast.unparse(node.args[1])[1:-1] in TYPES | MADE
        ):
            self.found.append(ast.unparse(node.args[1])[1:-1])


def is_any(annotation: ast.AST) -> bool:
    return "Any" in ast.unparse(annotation).replace(" | None", "").split(", ")


def functions(
    tree: ast.AST, fields: frozenset[str] = frozenset()
) -> Iterator[tuple[ast.FunctionDef, frozenset[str]]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node, fields
        elif isinstance(node, ast.ClassDef):
            stated = [n for n in node.body if isinstance(n, ast.AnnAssign) and is_any(n.annotation)]
            names = frozenset(n.target.id for n in stated if isinstance(n.target, ast.Name))
            yield from functions(node, names & USERS)


def findings(source: str) -> set[tuple[str, str]]:
    """(function, what it does to what a user handed over)."""
    tree = ast.parse(source)
    ours = {node.name for node, _ in functions(tree)} | {"self", "cls"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("prepriv"):
            ours |= {alias.asname or alias.name for alias in node.names}
    return {
        (function.name, what)
        for function, fields in functions(tree)
        for what in Trail(function, fields, ours).found
    }


def test_nothing_outside_of_tables_reads_what_a_user_handed_over() -> None:
    found = {
        (path.relative_to(SOURCE).as_posix(), function)
        for path in sorted(SOURCE.rglob("*.py"))
        if path.parent.name != "tables"
        for function, _ in findings(path.read_text())
    }
    assert found - set(ALLOWED) == set(), "read it in prepriv.tables, cell by cell"
    assert set(ALLOWED) - found == set(), "no longer there"


OLD = {
    "a mask by its type": (
        "def count(condition: Any):\n flags = _array(condition)\n"
        "def _array(values: Any):\n"
        " found = nw.from_native(values)\n"
        " array = found.to_numpy() if isinstance(found, nw.Series) else values\n"
        " return np.asarray(array)\n",
        {("_array", "to_numpy"), ("_array", "np.asarray")},
    ),
    "a matrix at once": (
        "def f(data: Any):\n return np.array(data, dtype=np.float64)\n",
        {("f", "np.array")},
    ),
    "columns of a table": (
        "def f(table: pa.Table):\n pass\ndef g(table: Any):\n return [c.to_numpy() for c in table.columns]\n",
        {("g", "to_numpy")},
    ),
    "a type": ("def f(self, X):\n if X.dtype.kind != 'b': raise ValueError\n", {("f", "dtype")}),
    "a type by name": ("def f(y: Any):\n return getattr(y, 'dtype', None)\n", {("f", "dtype")}),
    "a field": ("class P:\n rows: Any\n def f(self):\n  return np.isnan(self.rows)\n", {("f", "np.isnan")}),
    "nulls": ("def f(labels: Any | None):\n return labels.null_count\n", {("f", "null_count")}),
    "read by us": (
        "from prepriv.tables.column import numbers\ndef f(X: Any):\n x = numbers(X)\n return np.isnan(x), len(X)\n",
        set(),
    ),
    "encoded rows": ("def f(rows: Floats):\n return np.asarray(rows)\n", set()),
}


@pytest.mark.parametrize("name", OLD)
def test_the_kind_is_caught(name: str) -> None:
    source, told = OLD[name]
    assert findings(source) == told
