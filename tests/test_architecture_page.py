"""docs/architecture.md: every path is there, the picture is the contract and the package, the way of a table is the way it takes."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import prepriv

ROOT, PACKAGE = Path(__file__).parents[1], Path(prepriv.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TEXT = re.sub(r"```.*?```", "", PAGE, flags=re.S)
PATHS = sorted(set(re.findall(r"`([\w./-]+(?:/|\.py|\.md|\.toml))`", TEXT)))
PICTURE = re.findall(r"^[│▼ ]  ([a-z_.]+(?: \| [a-z_.]+)*)", PAGE, re.M)
WALK = re.findall(r"^\| ((?:`[\w.]+`(?:, )?)+) \| `([\w/]+\.py)` \|", PAGE, re.M)


@pytest.mark.parametrize("path", PATHS)
def test_every_path_is_there(path):
    assert (ROOT / path).exists() or (PACKAGE / path).exists()


def test_the_page_names_paths_and_is_not_long():
    assert len(PATHS) > 60 and len(PAGE.splitlines()) <= 200


def test_the_rooms_of_the_picture_are_those_of_the_package():
    rooms = {room for line in PICTURE for room in line.split(" | ")} - {
        "prepriv_papers",
        "tables.cell",
        "tables.sentences",
        "tables.written",
    }
    there = {p.stem for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert rooms == {name for name in there if not name.startswith("_")}


def layer(declared: str) -> str:
    """A layer of the contract as the picture has it: of files of one room the room."""
    names = [name.removeprefix("prepriv.") for name in re.split(r" [|:] ", declared)]
    return names[0].partition(".")[0] if " : " in declared else " | ".join(names)


def test_the_picture_is_the_contract():
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    layers = ast.literal_eval(re.findall(r"^layers = (\[.*?^\])", contract, re.M | re.S)[0])
    assert [*map(layer, layers), "ledger"] == PICTURE
    assert "ignore_imports" not in contract


def test_the_way_of_a_table_is_the_way_it_takes():
    """As benchmarks/structure.py follows it. A function that is new on the way may be missing here, none may be elsewhere."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import structure
    finally:
        sys.path.pop(0)
    code = structure.WAY.format(rows=structure.ROWS)
    env = {"PYTHONPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    taken = iter(dict.fromkeys((file, name.rpartition(".")[2]) for file, name in json.loads(done.stdout)))
    told = [(file, name) for names, file in WALK for name in re.findall(r"(\w+)`", names)]
    assert len(told) > 20
    for step in told:
        assert step in taken, f"{step} is not on the way, or not at this place"
