"""The method of Re:cord-play on other libraries, as tests/outside has it on ours. docs/outside-auditors.md.

python benchmarks/outside_peers.py --peer diffprivlib=PYTHON --peer opendp=PYTHON --peer opacus=PYTHON --peer dpmm=PYTHON

Each library runs under the Python named for it, by the file outside_LIBRARY.py. A table of 60 records is recorded, and played on
neighbours, in which one record is another or is left out. All bounds, norms, sizes and classes are declared where the library takes
them. A difference refutes; none proves nothing. Where two runs on the same table differ, nothing is decided.
"""

from __future__ import annotations

import argparse
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PEERS = "diffprivlib", "opendp", "opacus", "dpmm"
ITSELF, FEWER = "the same table", "a record fewer"


class Differs(Exception):
    """What was found."""


def neighbours(x: Any, y: Any) -> dict[str, tuple[Any, Any]]:
    """Tables in which the last record is another, or is left out."""
    found = {ITSELF: (x, y)}
    for name, row, label in (
        ("a corner", [0.0, 1.0], 0),
        ("another class", [0.5, 0.5], 1),
        ("a class that nobody else has", [0.5, 0.5], 2),
        ("far outside", [1e6, -1e6], 0),
        ("a missing number", [np.nan, 0.5], 0),
    ):
        near, labels = x.copy(), y.copy()
        near[-1], labels[-1] = row, label
        found[name] = near, labels
    found[FEWER] = x[:-1], y[:-1]
    return found


def compare(title: str, works: dict[str, Any], run: Callable[..., list[Any]], fewer: bool) -> None:
    """Print a line for each work, with the first difference on each neighbour.

    `run(work, x, y)` returns the calls of one run; `run(work, x, y, played, changed)` plays them on a neighbour that is `changed` records
    away, counted as added and removed ones. `fewer`: the library claims something of a table with a record fewer, too.
    """
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    x, y = rng.random((60, 2)), rng.integers(0, 2, 60)
    x[-1], y[-1] = [1.0, 0.0], 0
    print(title)
    for name, work in works.items():
        played, found = run(work, x, y), []
        for which, (near, labels) in neighbours(x, y).items():
            if which == FEWER and not fewer:
                continue
            try:
                run(work, near, labels, played, 1 if which == FEWER else 2)
            except Differs as difference:
                found.append(f"{which}: {difference}")
            except Exception as error:
                found.append(f"{which}: {type(error).__name__} on one side")
        if any(one.startswith(ITSELF) for one in found):
            found = ["not decided: two runs on one table differ"]
        print(f"| {name} | {len(played)} | {'; '.join(found) or 'no difference'} |")


def main() -> None:
    """Run each library under its Python."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", action="append", required=True, metavar="NAME=PYTHON")
    for peer in parser.parse_args().peer:
        name, _, python = peer.partition("=")
        if name not in PEERS or not python:
            parser.error(f"--peer {peer}: NAME=PYTHON, of {', '.join(PEERS)}")
        subprocess.run([python, str(Path(__file__).with_name(f"outside_{name}.py"))], check=True)


if __name__ == "__main__":
    main()
