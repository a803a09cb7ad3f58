"""Where the processor time of `prepriv train` goes: `python benchmarks/where.py train TABLE --schema S.yaml ...`, as on the command line."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import prepriv.cli
import prepriv.release.page
from prepriv.commands import train
from prepriv.engines import local
from prepriv.evaluation import holdout
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.mechanisms import noise
from prepriv.placed.rows import PrivateTable
from prepriv.release.report import Report
from prepriv.runs import run

PARTS = {
    "plan": (train.Job, "_plans"),
    "file": (PrivateTable, "read"),
    "private fits of steps": (run, "prepare"),
    "rows encoded": (local, "_filled"),
    "training": (GradientDescent, "train"),
    "of these, noise": (noise.NoiseSource, "_sample"),
    "of that, its self-check": (noise, "check_platform"),
    "evaluation": (holdout, "row_entries"),
    "report": (Report, "save"),
}
spent = {"imports": time.process_time()}


def timed(name: str, place: Any, attribute: str) -> None:
    """Add up the time of a function, of all threads."""
    whole = getattr(place, attribute)

    def measured(*given: Any, **more: Any) -> Any:
        start = time.process_time()
        try:
            return whole(*given, **more)
        finally:
            spent[name] = spent.get(name, 0.0) + time.process_time() - start

    setattr(place, attribute, measured)


for part, (where, function) in PARTS.items():
    timed(part, where, function)
try:
    prepriv.cli.main()
finally:
    spent["all of it"] = time.process_time()
    print(json.dumps({name: round(seconds, 2) for name, seconds in spent.items()}), file=sys.stderr)
