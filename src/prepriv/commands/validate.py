"""`prepriv validate`: what a curator has to know of a table before a run, and nobody else may."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from prepriv import payment as pay
from prepriv.commands.common import load
from prepriv.commands.data import (
    DATA,
    DeltaOption,
    QueryOption,
    RowsOption,
    opened,
    say_other_rows,
)
from prepriv.commands.exits import FOUND, Stop, print_json
from prepriv.commands.plan import Epsilon, plan_for
from prepriv.commands.printing import AsJson, console, print_table
from prepriv.domain import Domain
from prepriv.release.model import Model
from prepriv.runs.validate import NOT_PRIVATE
from prepriv.runs.validate import validate as validated
from prepriv.tables.encoding import read_whole
from prepriv.tables.inspect import FAULTS
from prepriv.tables.readers import BadData, closest, names_of, not_declared, surely_names, wrong_header


def validate(
    data: Annotated[str, typer.Argument(help=f"The private table: {DATA}")],
    schema: Annotated[
        Path | None, typer.Option("--schema", help="The declared schema (YAML). Give it or --model.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", help="A released model, whose declared columns are taken in place of a schema's."
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            help="The label column (default: from the schema or the model). For a model that does not name its label."
        ),
    ] = None,
    query: QueryOption = None,
    rows: RowsOption = None,
    epsilon: Epsilon = 1.0,
    delta: DeltaOption = 1e-5,
    no_labels: Annotated[
        bool,
        typer.Option(
            "--no-labels", help="These rows have no label, such as rows to predict: count the other columns."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """FOR THE CURATOR ONLY: count exactly which cells the declared rules change, and check the conditions of the
    guarantee. Never publish the output.

    Exit code 1: a run would fail because of how many records there are, not one label is a declared class or lies within
    the declared bounds, or labels are not declared and a declared class has no row. So this trains only if none is so:
    prepriv validate DATA --schema S.yaml && prepriv train DATA --schema S.yaml
    """
    if (schema is None) == (model is None):
        raise Stop("give --schema or --model: either says what is declared about these rows")
    if label is not None and no_labels:
        raise Stop(
            "--label names a column of labels, and --no-labels says that there is none: give one of them"
        )
    declared = None if schema is None else load(schema, label, drafts=True)
    domain = _of_model(model, rows) if declared is None else declared.domain(rows=rows)
    if declared is None and label is not None:
        domain = _labelled(domain, label)
    label = domain.label if declared is None else declared.label.name
    if not no_labels:
        if label is None:
            raise Stop("--model: this model does not name its label, so give --label or --no-labels")
        if declared is not None:
            say_other_rows(declared, rows)
    stream = opened(data, query)
    if no_labels and domain.unit is not None and domain.unit not in stream.names:
        domain = replace(domain, unit=None, rows_per_unit=None)  # rows to predict need not say whose they are
    wanted = [
        *domain.columns,
        *([] if no_labels or label is None else [label]),
        *([domain.unit] if domain.unit else []),
    ]
    _check_names(data, wanted, stream.names, label)
    raw = read_whole(stream, wanted)
    frozen = None
    steps = declared.steps if declared is not None and isinstance(declared.steps, list) else []
    if (
        declared is not None
        and schema is not None
        and not no_labels
        and any(isinstance(step, dict) and step.get("pay") == pay.Sensitivity.way for step in steps)
    ):
        n = rows or declared.rows or raw.num_rows
        frozen = plan_for(declared, schema.parent, rows=n, epsilon=epsilon, delta=delta, adjacency=None)
    rest = raw.drop_columns([] if no_labels else [label])
    found = validated(domain, rest, None if no_labels else raw[label], plan=frozen)
    if as_json:
        names = ("column", "declared", "found", *FAULTS)
        cells = [dict(zip(names, line)) for line in found.lines]
        said = [dict(zip(("step", "condition", "holds"), one)) for one in found.conditions or ()]
        told = {
            "not_private": NOT_PRIVATE,
            "rows": found.counted,
            "columns": cells,
            "no_numbers": list(found.no_numbers),
            "crowded": list(found.crowded),
            "filled": list(found.filled),
            "gap_words": list(found.gap_words),
        }
        print_json(told | {"conditions": None if found.conditions is None else said})
    console.print(NOT_PRIVATE, style="bold red")
    other_number = () if no_labels else found.other_number  # rows to predict may be any number
    fewer_units = () if no_labels else found.fewer_units
    for line in (found.counted, *other_number, *fewer_units):
        console.print(line, soft_wrap=True)
    print_table(
        "Cells the declared rules will change",
        ("column", "declared", "found", *FAULTS),
        found.lines,
        range(3, 7),
    )
    for line in (
        *found.no_numbers,
        *(() if model is not None else found.crowded),  # which asks about bounds, before a training
        *found.filled,
        *found.gap_words,
        *found.undeclared,
        *found.label_words,
    ):
        console.print(line, soft_wrap=True)
    if no_labels:
        console.print(
            "These counts are exact. Each cell that is counted here is read as its column declares: as missing, as other or as the nearest bound.",
            soft_wrap=True,
        )
        return
    console.print(
        "These counts are exact. Edit bounds and categories only by what you know without the table: no record may decide an edit. "
        "Look here for names and formats that are wrong, before a charge.",
        soft_wrap=True,
    )
    if frozen is not None and found.conditions is None:
        console.print(f"conditions: not checked, the plan is for {frozen.n} records")
    elif found.conditions is not None:
        console.print(
            "conditions of the guarantee, on this table (what is released before them taken without noise):"
        )
        for step, condition, good in found.conditions:
            console.print(f"  {'holds' if good else 'FAILS'}: {condition} ({step})", soft_wrap=True)
    wrong = ["labels do not fit what is declared"] * found.misspelled
    wrong += ["the number is not the declared one"] * len(other_number)
    if wrong:
        raise Stop(f"{', and '.join(wrong)}: see above, before anything is charged", FOUND)


def _of_model(model: Path | None, rows: int | None) -> Domain:
    """What a released model declares, or Stop where it reads rows without named columns. None: no model."""
    domain = Model.load(model or "").domain
    if not domain.columns:
        raise Stop("--model: this model reads rows without named columns")
    return domain.with_n(rows)


def _labelled(domain: Domain, label: str) -> Domain:
    """The same, whose label is this column. Stop where the model names another."""
    if label in domain.columns:
        raise Stop(f"--label {label} is a column from which this model predicts")
    if domain.label is not None and label != domain.label:
        raise Stop(
            f"--label {label} is not the label that the model names, {domain.label}: leave out --label, or name its column so"
        )
    return replace(domain, label=label)


def _check_names(data: str, wanted: Sequence[str], have: Sequence[str], label: str | None) -> None:
    """BadData, for the curator, that names the column which is closest to a declared one that is missing, even where nothing shows that the first
    line is a header line. Elsewhere it could be a record (`prepriv.tables.readers.lacks`)."""
    if (
        label is not None
        and [name for name in wanted if name not in have] == [label]
        and closest(label, have) is None
    ):
        there = (
            f"; {not_declared([name for name in have if name not in wanted])}"
            if surely_names(wanted, have)
            else ""
        )
        raise BadData(
            f"{data} has no column {label!r}, the label that the schema declares{there}. If these are rows to predict, give --no-labels"
        )
    for name in wanted:
        if name not in have and (near := closest(name, have)) is not None:
            raise BadData(
                f"{data} has no column {name!r}, which is declared; the closest name there is {near!r}"
            )
    missing = [name for name in wanted if name not in have]
    if missing and not surely_names(wanted, have) and not wrong_header(have):
        raise BadData(
            f"{data} has no column {missing[0]!r}, which is declared, and no name that is close. Does it have a header line? "
            f"{names_of(have)[:1].upper()}{names_of(have)[1:]}"
        )
