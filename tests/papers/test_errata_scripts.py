"""docs/errata.md: every row has a script that needs no line of this library, and prints the numbers of the row."""

from __future__ import annotations

import ast
import functools
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

from prepriv_papers.counterexamples import ERRATA, MODULES, NEAR, PRINTED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/errata.md").read_text(encoding="utf-8")
FREE = {"numpy", "scipy", "sklearn", *sys.stdlib_module_names}
SCRIPTS = {Path(str(m.__file__)): m for m in MODULES}


@functools.cache
def erratum(name: str) -> tuple[str, float, float, str]:
    return ERRATA[name]()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_a_stranger_can_run_it(script: Path, tmp_path: Path) -> None:
    """Only NumPy, SciPy and scikit-learn (for one data set) are imported; one erratum runs as a program of its own."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or "."] if isinstance(node, ast.ImportFrom) else []
        assert {n.split(".")[0] for n in names} <= FREE
    alone = tmp_path / "errata.py"
    alone.write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
    first = next(iter(SCRIPTS[script].ERRATA))
    told = subprocess.run(
        [sys.executable, "-I", str(alone), first], capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith(f"{first}: ") and "refuted" in told.stdout


@pytest.mark.parametrize("name", ERRATA)
def test_it_gives_the_numbers_of_the_page(name: str) -> None:
    what, said, found, relation = erratum(name)
    assert what and relation in ("<=", ">=", "=")
    for value, printed in zip((said, found), PRINTED[name], strict=True):
        near = 1e-9 if not printed else NEAR * abs(printed)
        assert value == printed or math.isclose(value, printed, rel_tol=0, abs_tol=near), (
            name,
            value,
            printed,
        )


def rows() -> dict[str, str]:
    """The rows of the page by their names, without our own notes."""
    of_the_papers = PAGE.partition("## Our own notes")[0]
    return {m.group(1): m.group(0) for m in re.finditer(r"^\| ([A-Z]\d+) \|.*$", of_the_papers, re.M)}


def test_every_row_has_a_script_or_says_that_it_was_read() -> None:
    listed = rows()
    missing = [
        n
        for n, row in listed.items()
        if n not in ERRATA and "by reading" not in row and "full run" not in row
    ]
    assert not missing, f"neither a script nor 'by reading': {missing}"
    assert not [n for n in ERRATA if n not in listed], "no row in docs/errata.md"


def test_a_row_that_refutes_has_a_script_that_does_and_one_that_does_not_says_so() -> None:
    """What is in its fourth column begins with "Holds" if and only if the script refutes nothing."""
    for name, row in rows().items():
        if name in ERRATA:
            module = next(m for m in MODULES if name in m.ERRATA)
            says_is = re.split(r"(?<!\\)\|", row)[4].strip()
            assert module.refuted(erratum(name)) != says_is.startswith("Holds"), name
