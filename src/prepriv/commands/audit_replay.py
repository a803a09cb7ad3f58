"""`prepriv audit replay WHAT`: record a pipeline, replay it on neighbours with the outputs of mechanisms frozen."""

from __future__ import annotations

import csv
import math
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from prepriv.audit.judgement import grouped_findings
from prepriv.audit.replay import Result
from prepriv.audit.replay_neighbours import RawTable
from prepriv.audit.replay_pipeline import FormOfTable, as_objects, replay_plan
from prepriv.audit.sensitivity_case import QUANTITIES
from prepriv.commands.audit_files import DEFAULT_ROWS, DELTA, EPSILON, declared_rows, end, plan_of
from prepriv.commands.exits import Stop
from prepriv.commands.printing import AsJson, console, print_table
from prepriv.domain import Domain
from prepriv.guarantees.printed import down, up
from prepriv.plans.plan import Plan
from prepriv.tables.readers import BadData, read_table


def replay(
    config: Annotated[
        Path,
        typer.Argument(
            help="A model's folder, a schema (YAML), or a Python file with `domain`, `steps` and, optionally, `learner`."
        ),
    ],
    data: Annotated[
        Path | None, typer.Option(help="Replay this table, too (default: only synthetic ones).")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            help=f"Records in the synthetic tables (default {DEFAULT_ROWS}, or the n of a file).", min=1
        ),
    ] = None,
    missing: Annotated[
        float, typer.Option(help="Share of empty cells in those synthetic columns that are imputed.")
    ] = 0.02,
    pairs: Annotated[int, typer.Option(help="Number of adversarial neighbour pairs.", min=1)] = 200,
    epsilon: Annotated[
        float | None,
        typer.Option(help=f"Privacy budget of the plan (default {EPSILON:g}; a model has its own)."),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help=f"Chance left out of the guarantee; well below 1 / rows (default {DELTA:g}; a model has its own)."
        ),
    ] = None,
    adjacency: Annotated[str | None, typer.Option(help="replace-one or add-or-remove-one.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same pairs.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Replay a pipeline on adversarial neighbours, and compare what leaves, each sum and the rows after each step with what is declared.

    It works for your own steps, too: put their class and the pipeline into a Python file. All neighbours are made up, even with
    --data. Exit code 0: held; 1: broken, something goes beyond what is declared; 8: not decided.
    """
    if not 0 <= missing <= 1:
        raise Stop(f"--missing must lie in [0, 1]; got {missing}")
    table = None if data is None else read_table(data)
    n = rows or (declared_rows(config) if table is None else int(table.num_rows))
    plan = plan_of(config, rows=n, epsilon=epsilon, delta=delta, adjacency=adjacency, data=data)
    raw = None if table is None else _raw(table, plan.domain)
    of = "made-up neighbours" if raw is None else "made-up neighbours of the table"
    if raw is not None:
        console.print("for the curator only: what follows depends on private records", style="bold red")
    total = Result()
    for form, share in ((as_objects, pairs - pairs // 2), (_as_csv, pairs // 2)):
        if share and (form is as_objects or not plan.domain.is_ball):
            total.add(_attack(plan, share, form, raw, missing, seed))
    _print(total, of)
    end(total.judgement(of), _told(total, of), as_json)


def _attack(
    plan: Plan, pairs: int, form: FormOfTable, raw: RawTable | None, missing: float, seed: int
) -> Result:
    bases = 1 if raw is not None else min(4, pairs)
    return replay_plan(plan, pairs=pairs, seed=seed, table=raw, missing=missing, form=form, bases=bases)


def _raw(table: Any, domain: Domain) -> RawTable:
    names = list(domain.columns) or [c for c in table.column_names if c != domain.label]
    for name in (*names, *(one for one in (domain.label, domain.unit) if one)):
        if table.column_names.count(name) != 1:
            raise BadData(
                f"the table of --data has no column {name!r}, or two; the schema and the table differ"
            )
    if len(names) != domain.n_inputs:  # of a domain without names
        raise BadData(
            f"the table of --data has {len(names)} columns beside the declared label; the domain has {domain.n_inputs}"
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
        return (
            "" if cell is None else cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
        )
    except ValueError:  # an integer of 5000 digits
        return "9" * 5000


def _print(result: Result, of: str) -> None:
    rows = [
        (name, *(f"{down(getattr(found, q), 4)} / {up(getattr(declared, q), 4)}" for q in QUANTITIES))
        for name, (found, declared) in result.rows.items()
    ]
    head = ("after", *(q.replace("_", " ") for q in QUANTITIES))
    print_table(f"How far the common rows of two {of} were apart, found / declared", head, rows, (1, 2, 3, 4))
    lines = [(name, f"{share:.6f}") for name, share in sorted(result.reach.items())]
    print_table("How far sums moved, of what was declared (at most 1)", ("mechanism", "largest"), lines, (1,))
    console.print(
        f"{result.pairs} pairs replayed, all of {of}; {result.calls} calls of mechanisms; {result.skipped} pairs left out, "
        "on which a declared condition does not hold"
    )
    for finding, count in grouped_findings(result.findings):
        text = f"  {finding.what}: {finding.kind} ({count} times)"
        console.print(text, style="red", soft_wrap=True, markup=False)


def _told(result: Result, of: str) -> dict[str, Any]:
    """The same as plain data."""
    rows = [
        {"after": name, **{q: [getattr(found, q), _finite(getattr(declared, q))] for q in QUANTITIES}}
        for name, (found, declared) in result.rows.items()
    ]
    return {
        "of": of,
        "pairs": result.pairs,
        "calls": result.calls,
        "left_out": result.skipped,
        "rows_found_and_declared": rows,
        "reach": dict(result.reach),
        "findings": [{"what": f.what, "kind": f.kind} for f in result.findings],
    }


def _finite(number: float) -> float | str:
    return number if math.isfinite(number) else str(number)
