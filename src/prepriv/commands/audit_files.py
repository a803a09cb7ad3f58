"""What an audit is pointed at: a schema, a Python file of the user's own, a model's folder; and how an audit ends."""

from __future__ import annotations

import dataclasses
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from prepriv.audit.judgement import Judgement
from prepriv.audit.replay_neighbours import synthetic
from prepriv.audit.sensitivity_draws import Draws
from prepriv.commands.common import load
from prepriv.commands.exits import FOUND, NOT_DECIDED, Stop, print_json
from prepriv.commands.plan import plan_for
from prepriv.commands.printing import console
from prepriv.domain import Domain
from prepriv.payment import Public
from prepriv.plans.plan import Plan, make_plan
from prepriv.preprocessing.base import Step
from prepriv.recipes.automatic import recipe
from prepriv.release.model import FILE, Model
from prepriv.tables.stream import Files, files

EPSILON, DELTA = 1.0, 1e-5
DEFAULT_ROWS, _MOST_ROWS = (
    60,
    250,
)  # records of made-up tables: by default, and as many as a file declares, at most
_PUBLIC = 40  # rows of a table that stands in for a public one
CODES = {"held": 0, "broken": FOUND, "not decided": NOT_DECIDED}


def end(judgement: Judgement, told: Mapping[str, Any], as_json: bool) -> None:
    """Print the verdict last, or in the JSON; any but "held" is an exit code of its own."""
    if as_json:
        print_json({**told, "verdict": judgement.word, "sentence": judgement.sentence})
    console.print(f"\n{judgement.sentence}", style="bold", soft_wrap=True)
    if code := CODES[judgement.word]:
        raise typer.Exit(code)


def named_in(path: Path) -> dict[str, Any]:
    """What a Python file defines: `domain` and `steps` at least. Raises Stop."""
    return with_steps(ran(path), path)


def with_steps(named: dict[str, Any], path: Path) -> dict[str, Any]:
    """What a Python file defines, which has to be `domain` and `steps` at least. Raises Stop."""
    domain, steps = named.get("domain"), named.get("steps")
    good = isinstance(steps, list | tuple) and all(isinstance(step, Step) for step in steps)
    if not isinstance(domain, Domain) or not good:
        raise Stop(f"{path} must define `domain`, a Domain, and `steps`, a list of steps")
    return named


def ran(path: Path) -> dict[str, Any]:
    """What a Python file of the user's own defines, after it was run. Raises Stop."""
    if not path.is_file():
        raise Stop(f"no such file: {path}")
    sys.path.insert(0, str(path.parent))  # as `python FILE` does
    try:
        return runpy.run_path(str(path))
    except (Exception, SystemExit) as error:  # a program of the user's own
        raise Stop(f"{path} does not run to its end ({type(error).__name__}: {error})") from None
    finally:
        sys.path.remove(str(path.parent))


def declared_rows(config: Path) -> int:
    """How many made-up records: as many as a Python file declares, unless these are many; it says so then."""
    domain = named_in(config)["domain"] if config.suffix == ".py" else None
    if domain is None or domain.n is None:
        return DEFAULT_ROWS
    if domain.n > _MOST_ROWS:
        console.print(
            f"on {DEFAULT_ROWS:,} of the declared {domain.n:,} {_counted(domain)}: ask for more with --rows"
        )
        return DEFAULT_ROWS
    return domain.n


def _counted(domain: Domain) -> str:
    """What `n` counts, in a word."""
    return "records" if domain.unit is None else "units"


def plan_of(
    config: Path,
    *,
    rows: int,
    epsilon: float | None,
    delta: float | None,
    adjacency: str | None,
    data: Path | None,
) -> Plan:
    """The plan, for so many rows, of a schema, of a Python file or of a released model."""
    if config.is_dir() or config.name == FILE:
        return _of_a_model(config, rows, {"--epsilon": epsilon, "--delta": delta, "--adjacency": adjacency})
    epsilon, delta = epsilon or EPSILON, delta or DELTA
    if config.suffix != ".py":
        schema = load(config)
        return plan_for(
            schema,
            config.parent,
            rows=rows,
            epsilon=epsilon,
            delta=delta,
            adjacency=adjacency,
            private=None if data is None else Files(files(data)),
        )
    named = named_in(config)
    domain, learner = named["domain"].with_n(rows), named.get("learner", "auto")
    if adjacency is not None:
        domain = dataclasses.replace(domain, adjacency=adjacency)
    steps, learner = recipe(
        domain, n=rows, epsilon=epsilon, delta=delta, steps=named["steps"], learner=learner
    )
    return make_plan(domain, steps, learner, epsilon=epsilon, delta=delta, n=rows)


def _of_a_model(folder: Path, rows: int, own: Mapping[str, Any]) -> Plan:
    """The plan of a released model, with made-up tables in place of its public ones, which no artifact holds."""
    for option, value in own.items():
        if value is not None:
            raise Stop(f"{option} is the model's own: leave it out, or replay a schema")
    plan = Model.load(folder).declared
    domain = plan.domain.with_n(rows)
    if rows != plan.n:
        console.print(
            f"the plan of {folder}, for {rows:,} made-up {_counted(domain)} in place of its {plan.n:,} (--rows)"
        )
    stands_in = Public(synthetic(domain, _PUBLIC, Draws(0)).rows)
    steps = tuple(
        dataclasses.replace(s, payment=stands_in) if s.way == Public.way else s for s in plan.pipeline
    )
    return dataclasses.replace(plan, domain=domain, pipeline=steps)
