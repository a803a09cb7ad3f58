"""`prepriv describe`: a table in noisy numbers, each with its error bar."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prepriv._progress import waiting
from prepriv._text import printable
from prepriv.adjacency import n_is_public
from prepriv.commands.common import Came, Note, head_to_keep, noted, private_run, says_what_stays
from prepriv.commands.data import (
    DATA,
    DeltaOption,
    LedgerOption,
    QueryOption,
    RowsOption,
    SchemaOption,
    declared_table,
)
from prepriv.commands.earlier import say_asked_before, say_drafted
from prepriv.commands.exits import Stop
from prepriv.commands.outputs import paid_output, reserved_file, writable_once, write_text
from prepriv.commands.printing import AsJson, console, interval_title, print_cut, print_spent, print_table
from prepriv.description.describe import Description, describe_in_private, plan_description, too_few
from prepriv.description.description_page import differences_in_short, json_text, rows, rows_in_short, to_html
from prepriv.guarantees.printed import BY_CHANCE
from prepriv.runs.charge import of_page, released


def describe(
    data: Annotated[str, typer.Argument(help=f"The private table: {DATA}")],
    schema: SchemaOption,
    query: QueryOption = None,
    epsilon: Annotated[float, typer.Option(help="Privacy budget of the whole description.")] = 0.5,
    delta: DeltaOption = 1e-6,
    number: RowsOption = None,
    ledger: LedgerOption = None,
    note: Note = None,
    out: Annotated[
        Path | None, typer.Option(help="Write a page to this .html file, and the same as .json beside it.")
    ] = None,
    correlations: Annotated[
        bool,
        typer.Option("--correlations", help="Also release correlations of all pairs of numeric columns."),
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            help="Also describe each group of this declared categorical column, or each class of the label, and how the groups differ."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a table privately: gaps, means, deviations, quantiles, histograms, counts, each with its error bar."""
    domain, n, stream = declared_table(schema, data, query, number)
    plan = plan_description(domain, epsilon=epsilon, delta=delta, n=n, correlations=correlations, by=by)
    if out is not None and out.suffix != ".html":
        raise Stop(f"--out must end in .html; got {out.name}")
    if why := too_few(plan):
        console.print(f"WARNING: {why}", soft_wrap=True)
    say_drafted(plan.domain, ledger)
    say_asked_before(plan.look.hash, ledger)
    came, account = Came(), noted(ledger, note)
    beside = () if out is None else (out.with_suffix(".json"),)
    with says_what_stays(came, out), reserved_file(out, _check_out, *beside):
        print_cut(plan.cut, plan.notes)  # before the charge
        with private_run(came), waiting("reading"):
            found = describe_in_private(plan, stream, ledger=account, reached=came)
        if out is not None:  # before anything is printed: standard output can end early
            came.writing = True
            with paid_output(out, lambda: json_text(found)):
                write_text(out.with_suffix(".json"), json_text(found))
                write_text(out, to_html(found))
                released(account, found.receipt, json_text(found).encode(), of_page(to_html(found)))
        _show(found)
        if out is not None:
            console.print(f"wrote {out}, {out.with_suffix('.json')}")
        if account is not None:
            console.print(head_to_keep(account), soft_wrap=True)
    if as_json:
        typer.echo(json_text(found), nl=False)


def _check_out(out: Path) -> None:
    writable_once(out, b"<title>prepriv description</title>", "description")
    writable_once(out.with_suffix(".json"), b'"plan_hash": ', "description")


def _show(found: Description) -> None:
    look = found.plan.look
    print_spent(found.guarantee_, look, found.plan.domain)
    if not n_is_public(look.adjacency):
        console.print(f"rows: {found.rows}")
    lines = [(name, what, str(e)) for name, summary in found.columns.items() for what, e in rows(summary)]
    print_table(interval_title(found.plan.cut), ("column", "", ""), lines)
    for group, told in found.groups.items():
        lines = [
            (name, what, text)
            for name, summary in told.columns.items()
            for what, text in rows_in_short(summary)
        ]
        print_table(
            f"{printable(str(found.plan.by))} = {printable(group)}: {told.rows} rows",
            ("column", "", ""),
            lines,
        )
    if found.differences:
        print_table("Differences", ("", "value"), differences_in_short(found))
        console.print(BY_CHANCE, soft_wrap=True)
    if found.correlations:
        pairs = [(a, b, str(e)) for (a, b), e in found.correlations.items()]
        print_table("Correlations", ("", "", ""), pairs)
        for said in found.gaps_filled:
            console.print(said, soft_wrap=True)
