"""`prepriv validate`: exact counts of one's own private table, for the curator only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from prepriv import payment as pay
from prepriv.commands.common import console, load, print_table, read_columns
from prepriv.commands.train import Delta, Epsilon, Rows, SchemaFile, plan_for
from prepriv.mechanisms.session import ExactSession
from prepriv.pipeline.plan import Plan
from prepriv.pipeline.schema import Schema
from prepriv.tables.encode import encode, encode_labels
from prepriv.tables.table import Table


def validate(
    data: Annotated[Path, typer.Argument(help="The private table.")],
    schema: SchemaFile,
    rows: Rows = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-5,
) -> None:
    """FOR THE CURATOR ONLY: exact counts of cells that the declared rules will change, and whether the table meets the
    conditions that the guarantee rests on. Never publish the output."""
    from prepriv.tables.encode import counts_of_bad_cells

    declared = load(schema, drafts=True)
    raw = read_columns(data, declared, label=True)
    domain = declared.domain(rows=rows)
    console.print("for the curator only: these counts are not private", style="bold red")
    console.print(f"records: {raw.num_rows}" + (f" (declared: {domain.n})" if domain.n else ""))
    lines = [
        (name, *(str(counts.get(k, 0)) for k in ("missing", "out of bounds", "unknown")))
        for name, counts in counts_of_bad_cells(raw, domain).items()
    ]
    print_table(
        "Cells the declared rules will change",
        ("column", "missing", "out of bounds", "unknown"),
        lines,
        (1, 2, 3),
    )
    steps = declared.steps if isinstance(declared.steps, list) else []
    if any(step.get("pay") == pay.Sensitivity.way for step in steps):
        n = rows or declared.rows or raw.num_rows
        frozen = plan_for(declared, schema.parent, rows=n, epsilon=epsilon, delta=delta, adjacency=None)
        _show_conditions(frozen, encoded(raw, declared, frozen))


def _show_conditions(plan: Plan, rows: tuple[Table, NDArray[np.int32]]) -> None:
    """Each condition of the plan and whether the rows meet it: for the curator."""
    from prepriv.pipeline.conditions import check

    if rows[0].n != plan.n:
        console.print(f"conditions: not checked, the plan is for {plan.n} records")
        return
    console.print(
        "conditions of the guarantee, on this table (what is released before them taken without noise):"
    )
    for step, condition, good in check(plan, *rows, ExactSession()):
        console.print(f"  {'holds' if good else 'FAILS'}: {condition} ({step})", soft_wrap=True)


def encoded(raw: Any, schema: Schema, plan: Plan) -> tuple[Table, NDArray[np.int32]]:
    """The rows of a labelled Arrow table and their class indices."""
    return (
        encode(raw.select(list(schema.columns)), plan.domain),
        encode_labels(raw[schema.label.name], plan.domain.classes),
    )
