"""`prepriv audit replay CONFIG`: record a pipeline, replay it on neighbours with the outputs of mechanisms frozen."""

from __future__ import annotations

import csv
import runpy
import tempfile
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from prepriv.audit.replay import Result
from prepriv.audit.replay_neighbours import RawTable
from prepriv.audit.replay_pipeline import Encode, as_objects, replay_plan
from prepriv.commands.common import AsJson, console, load, print_json, print_table
from prepriv.commands.exits import Stop
from prepriv.commands.plan import plan_for
from prepriv.domain import Domain
from prepriv.pipeline.plan import Plan, make_plan
from prepriv.pipeline.recipes.automatic import recipe
from prepriv.tables.readers import BadData, read_table

FOUND = 1  # a leak, or a sum that moved too far: a bug, ours or the user's
DEFAULT_ROWS = 60


def replay(
    config: Annotated[
        Path,
        typer.Argument(
            help="A schema (YAML), or a Python file with `domain`, `steps` and perhaps `learner`."
        ),
    ],
    data: Annotated[
        Path | None, typer.Option(help="Replay this table too (default: synthetic ones).")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help=f"Records of synthetic tables (default {DEFAULT_ROWS}).", min=1)
    ] = None,
    missing: Annotated[
        float, typer.Option(help="Share of empty cells in synthetic columns to impute.")
    ] = 0.02,
    pairs: Annotated[int, typer.Option(help="Adversarial neighbour pairs.", min=1)] = 200,
    epsilon: Annotated[float, typer.Option(help="Privacy budget of the plan.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Well below 1 / rows.")] = 1e-5,
    adjacency: Annotated[str | None, typer.Option(help="replace-one or add-or-remove-one.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same pairs.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Nothing but outputs of mechanisms may depend on a record: try it on adversarial neighbours.

    Works for your own steps: put their class and the pipeline into a Python file. Exit code 1 if something leaks.
    """
    if not 0 <= missing <= 1:
        raise Stop(f"--missing must lie in [0, 1]; got {missing}")
    table = None if data is None else read_table(data)
    n = rows or (DEFAULT_ROWS if table is None else int(table.num_rows))
    plan = _plan(config, n, epsilon, delta, adjacency, data)
    raw = None if table is None else _raw(table, plan.domain)
    if raw is not None:
        console.print("for the curator only: what follows depends on private records", style="bold red")
    total = Result()
    for form, share in ((as_objects, pairs - pairs // 2), (_as_csv, pairs // 2)):
        if share and (form is as_objects or not plan.domain.is_ball):
            total.add(_attack(plan, share, form, raw, missing, seed))
    _print(total)
    if as_json:
        findings = [{"what": f.what, "kind": f.kind} for f in total.findings]
        told = {"pairs": total.pairs, "calls": total.calls, "left_out": total.skipped}
        print_json(told | {"reach": dict(total.reach), "findings": findings})
    if total.findings:
        raise Stop(f"{len(total.findings)} finding(s): the pipeline betrays a record", FOUND)
    if not total.pairs:
        raise Stop("no pair met the declared conditions; lower --missing, or declare other caps", FOUND)


def _plan(
    config: Path, n: int, epsilon: float, delta: float, adjacency: str | None, data: Path | None
) -> Plan:
    if config.suffix != ".py":
        return plan_for(
            load(config),
            config.parent,
            rows=n,
            epsilon=epsilon,
            delta=delta,
            adjacency=adjacency,
            private=data,
        )
    if not config.is_file():
        raise Stop(f"no such file: {config}")
    try:
        named = runpy.run_path(str(config))
    except (Exception, SystemExit) as error:  # a program of the user's own
        raise Stop(f"{config} does not run to its end ({type(error).__name__}: {error})") from None
    domain, steps = named.get("domain"), named.get("steps")
    if not isinstance(domain, Domain) or not isinstance(steps, list | tuple):
        raise Stop(f"{config} must define `domain`, a Domain, and `steps`, a list of steps")
    domain = domain.with_n(n)
    built, learner = recipe(
        domain, n=n, epsilon=epsilon, delta=delta, steps=steps, learner=named.get("learner", "auto")
    )
    return make_plan(domain, built, learner, epsilon=epsilon, delta=delta, n=n)


def _attack(plan: Plan, pairs: int, form: Encode, raw: RawTable | None, missing: float, seed: int) -> Result:
    bases = 1 if raw is not None else min(4, pairs)
    return replay_plan(plan, pairs=pairs, seed=seed, table=raw, missing=missing, form=form, bases=bases)


def _raw(table: Any, domain: Domain) -> RawTable:
    names = list(domain.columns) or [c for c in table.column_names if c != domain.label]
    for name in (*names, *(one for one in (domain.label, domain.unit) if one)):
        if table.column_names.count(name) != 1:
            raise BadData(
                f"the table of --data has no column {name!r}, or two; the schema and the table differ"
            )
    columns = [table[name].to_pylist() for name in names]
    labels = table[domain.label].to_pylist() if domain.label else [None] * table.num_rows
    units = table[domain.unit].to_pylist() if domain.unit else ()
    return RawTable.of([list(row) for row in zip(*columns)], labels, domain.n_inputs, units)


def _as_csv(table: RawTable, plan: Plan) -> tuple[Any, Any]:
    """(rows, labels) read back from a CSV file."""
    names = list(plan.domain.columns)
    label_name = "label" + "_" * max((len(name) for name in names), default=0)  # no column's
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        with path.open("w", newline="", encoding="utf-8", errors="surrogatepass") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerow([*names, label_name])
            for row, label in zip(table.rows, table.labels):
                writer.writerow([_text(cell) for cell in (*row, label)])
        read = read_table(path)
    return read.select(names), read[label_name]


def _text(cell: Any) -> str:
    try:
        return "" if cell is None else str(cell)
    except ValueError:  # an integer of 5000 digits
        return "9" * 5000


def _print(result: Result) -> None:
    lines = [(name, f"{share:.6f}") for name, share in sorted(result.reach.items())]
    print_table("How far sums moved, of what was declared (at most 1)", ("mechanism", "largest"), lines, (1,))
    console.print(
        f"{result.pairs} pairs replayed, {result.calls} calls of mechanisms; {result.skipped} pairs left out, "
        "on which a declared condition does not hold"
    )
    seen = Counter((f.what, f.kind) for f in result.findings)
    for (what, kind), count in sorted(seen.items()):
        console.print(f"  {what}: {kind} ({count} times)", style="red", soft_wrap=True, markup=False)
