"""The shape of the code in numbers, now and at any commit: `python benchmarks/structure.py [COMMIT ...]`.

Lines, functions of many parameters, type checks on steps, learners and payments outside their modules, private names
imported across packages, circles of imports, and the way of a table from `fit` to the model. For a commit its own code is run.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LADDER = re.compile(
    r"isinstance\([^)]*\b(pay\.|Budget|Public|Sensitivity|PCA|GradientDescent|StochasticLearner|BatchLearner|\w+SGD)\b"
)
ROOMS = (
    "preprocessing",
    "learners",
    "payment.py",
)  # of steps, learners and payments: there a check is at home
SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
ROWS = 5003  # of the table that is followed: a number that nothing else has
WAY = """
import json, os, sys
import numpy as np
from prepriv import Domain, PrivateClassifier
n, home = {rows}, os.path.dirname(os.path.abspath(__import__("prepriv").__file__))
x = np.random.default_rng(0).random((n, 4)); y = (x[:, 0] > 0.5).astype(int)
clf = PrivateClassifier(Domain.box(0, 1, features=4, classes=[0, 1]), epsilon=1.0, delta=1e-5, threads=1)
stays = []
def is_rows(value):
    shape = getattr(value, "shape", None)
    return isinstance(shape, tuple) and len(shape) == 2 and shape[0] == n
def is_table(value):
    inside = getattr(value, "__dict__", None) or {{}}
    deeper = [v for held in inside.values() for v in (getattr(held, "__dict__", None) or {{}}).values()]
    slots = [getattr(value, name, None) for name in getattr(type(value), "__slots__", ()) if isinstance(name, str)]
    return any(is_rows(form) for form in (value, *inside.values(), *slots, *deeper))
def watch(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(home) and not code.co_name.startswith("<"):
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        special = code.co_name.startswith("__") and code.co_name != "__call__"
        if not special and any(is_table(frame.f_locals.get(name)) for name in names):
            stays.append((os.path.relpath(code.co_filename, home), code.co_qualname if hasattr(code, "co_qualname") else code.co_name))
sys.setprofile(watch)
clf.fit(x, y)
sys.setprofile(None)
print(json.dumps(stays))
"""


def imports(package: Path, *, inside: bool = False) -> dict[str, set[str]]:
    """File -> files it imports when it is imported itself; inside: also in its functions, and for types alone."""
    files = {str(p.relative_to(package)): p for p in package.rglob("*.py")}
    names = {}
    for name in files:
        parts = list(Path(name).with_suffix("").parts)
        names[".".join(["prepriv", *(parts[:-1] if parts[-1] == "__init__" else parts)])] = name
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        found: set[str] = set()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree) if inside else tree.body:
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                full = [f"{node.module}.{alias.name}" for alias in node.names]
                found |= {names[f] if f in names else names.get(node.module, "") for f in full}
            elif isinstance(node, ast.Import):
                found |= {names.get(alias.name, "") for alias in node.names}
        graph[name] = found - {"", name}
    return graph


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Files that import themselves through others, each circle once; the largest first."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            new = graph[todo.pop()] - seen
            seen |= new
            todo += new
        return seen

    after = {name: reached(name) for name in graph}
    found = {frozenset(b for b in after[a] if a in after[b]) for a in graph if a in after[a]}
    return sorted(map(set, found), key=lambda circle: (-len(circle), sorted(circle)))


def floors(graph: dict[str, set[str]]) -> dict[str, int]:
    """A file stands above all that it imports; the lowest is 1."""
    found: dict[str, int] = {}

    def floor(name: str, above: tuple[str, ...]) -> int:
        if name not in found:
            below = [floor(other, (*above, name)) for other in graph[name] if other not in above]
            found[name] = 1 + max(below, default=0)
        return found[name]

    for name in graph:
        floor(name, ())
    return found


def functions(package: Path) -> Iterator[tuple[str, int]]:
    """(name, number of parameters without self) of every function, nested ones left out."""
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                a = node.args
                names = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
                yield f"{path.name}:{node.name}", len([n for n in names if n not in ("self", "cls")])


def way(source: Path, graph: dict[str, set[str]]) -> tuple[int, int, int]:
    """(functions, files, climbs) a table passes from `fit` to the model: run, not read."""
    done = subprocess.run(
        [sys.executable, "-c", WAY.format(rows=ROWS)],
        env={"PYTHONPATH": str(source), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    stays = [tuple(stay) for stay in json.loads(done.stdout)]
    order = list(dict.fromkeys(stays))
    height = floors(graph)
    visited = [file for file, _ in order]
    climbs = sum(height[b] > height[a] for a, b in pairwise(visited))
    return len(order), len(set(visited)), climbs


def _plans(package: Path) -> str:
    kinds = [
        (node.name, [base.id for base in node.bases if isinstance(base, ast.Name)])
        for path in package.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    return f"{sum('Priced' in bases for _, bases in kinds)}, {sum(name == 'Priced' for name, _ in kinds)}"


def code_lines(text: str) -> int:
    """Lines that hold code: no docstring, no comment alone, no blank line."""
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            held.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            held.difference_update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(held)


def concepts(source: Path) -> dict[str, str]:
    """What the smallest third-party code has to say, counted from examples/smallest.py, and what a plan is made of."""
    file = source.parent / "examples" / "smallest.py"
    if not file.is_file():
        return {}
    said: dict[str, set[str]] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            names = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            names |= {
                target.id
                for n in node.body
                if isinstance(n, ast.Assign)
                for target in n.targets
                if isinstance(target, ast.Name)
            }
            said[node.name] = {name for name in names if not name.startswith("_")}
    budget = said["NoisyMean"] - {"fit_public"}
    confidential = said["ExactMean"] | {f"map.{name}" for name in said["Less"]}
    return {
        "names that a mechanism says": str(len(said["NoisyCount"])),
        "names that a step says: free, by budget, by sensitivity": ", ".join(
            str(len(each)) for each in (said["Halve"], budget, confidential)
        ),
        "plans, and their bases": _plans(source / "prepriv"),
    }


def measure(source: Path) -> dict[str, str]:
    """The numbers of one tree."""
    package = source / "prepriv"
    graph = imports(package)
    code = {p: p.read_text(encoding="utf-8") for p in package.rglob("*.py")}
    own = {p: t for p, t in code.items() if "papers" not in p.parts and "reproduce" not in p.name}
    many = [name for name, count in functions(package) if count > 6]
    at_home = [p for p in code if p.relative_to(package).parts[0] in ROOMS]
    ladders = sum(len(LADDER.findall(t)) for p, t in code.items() if p not in at_home)
    private = sum(
        len(re.findall(r"^from prepriv\.[a-z_.]+ import .*\b_[a-z]", t, re.M)) for t in code.values()
    )
    passed, files, climbs = way(source, graph)
    return {
        "files": str(len(code)),
        "lines without papers": str(sum(t.count("\n") for t in own.values())),
        "of them code: no docstring, comment or blank line": str(sum(map(code_lines, own.values()))),
        "functions of more than 6 parameters": str(len(many)),
        "type checks outside their modules": str(ladders),
        "private names imported": str(private),
        "files in a circle of imports": str(sum(map(len, circles(graph)))),
        "files in the largest circle, imports in functions and for types too": str(
            max(map(len, circles(imports(package, inside=True))), default=0)
        ),
        "functions a table passes": str(passed),
        "files a table passes": str(files),
        "climbs back up": str(climbs),
    } | concepts(source)


def main() -> None:
    """Print a table: a column for each commit, and one for the code as it is here."""
    columns = {}
    for commit in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            tar = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True)
            subprocess.run(["tar", "-x", "-C", folder], input=tar.stdout, check=True)
            columns[commit] = measure(Path(folder) / "src")
    columns["here"] = measure(ROOT / "src")
    print("| |", " | ".join(columns), "|")
    print("|---|" + "---:|" * len(columns))
    for name in columns["here"]:
        print(f"| {name} |", " | ".join(column.get(name, "") for column in columns.values()), "|")


if __name__ == "__main__":
    main()
