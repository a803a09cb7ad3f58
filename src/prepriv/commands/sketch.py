"""`prepriv sketch`: noisy counts of each column with the label, their pictures, and rows drawn from them, in a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from prepriv._arguments import integer
from prepriv._progress import waiting
from prepriv._version import own_version
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
from prepriv.commands.earlier import say_drafted
from prepriv.commands.exits import Stop, print_json
from prepriv.commands.outputs import paid_output, reserved_file, writable_file, writable_once, write_text
from prepriv.commands.printing import AsJson, console, print_spent, print_table
from prepriv.description.sketch import PricedSketch, SketchedTable, plan_sketch, sketch_in_private
from prepriv.description.sketch_page import json_text, to_html
from prepriv.description.sketch_tables import (
    COUNTS_FILE,
    DATA_FILE,
    MOST_IN_FILE,
    PAGE_FILE,
    ROWS_FILE,
    count_lines,
    row_lines,
)
from prepriv.guarantees.printed import percent
from prepriv.runs.charge import of_page, released

OUTPUTS = (DATA_FILE, PAGE_FILE, COUNTS_FILE, ROWS_FILE)


def sketch(
    data: Annotated[str, typer.Argument(help=f"The private table: {DATA}")],
    schema: SchemaOption,
    query: QueryOption = None,
    out: Annotated[
        Path | None, typer.Option(help=f"A folder for {', '.join(OUTPUTS)}; needed unless --price is given.")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Privacy budget of the whole sketch.")] = 0.5,
    delta: DeltaOption = 1e-6,
    number: RowsOption = None,
    ledger: LedgerOption = None,
    note: Note = None,
    pairs: Annotated[
        bool,
        typer.Option("--pairs", help="Also release correlations of all pairs of columns within each class."),
    ] = False,
    draw: Annotated[int, typer.Option(help="How many synthetic rows to draw, to try code on.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of these rows; it is not a secret.")] = 0,
    price: Annotated[
        bool, typer.Option("--price", help="Print what would be released and whether it is enough, and stop.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Release noisy counts of each column with the label, and draw synthetic rows from them.

    The rows keep each column's counts with the label and nothing else: columns are independent within a class, unless --pairs is given. A sketch that would
    hold too little signal is refused before the charge. Records are read after the charge.
    """
    draw, seed = integer("--draw", draw, at_most=MOST_IN_FILE), integer("--seed", seed, at_least=0)
    domain, n, stream = declared_table(schema, data, query, number)
    priced = plan_sketch(domain, epsilon=epsilon, delta=delta, n=n, pairs=pairs)
    _show_price(priced)
    if price:
        if as_json:
            print_json(_price_data(priced))
        return
    if priced.signal.verdict == "too little":
        raise Stop(f"nothing was charged: {priced.signal.sentence}")
    if out is None:
        raise Stop("--out: name a folder for what is released")
    if out.exists() and not out.is_dir():
        raise Stop(f"--out must be a folder; {out} is a file")
    say_drafted(priced.plan.domain, ledger)
    paths, came, account = [out / name for name in OUTPUTS], Came(), noted(ledger, note)
    with says_what_stays(came, out), reserved_file(paths[0], lambda _: _check_out(paths), *paths[1:]):
        with private_run(came), waiting("reading"):
            found = sketch_in_private(
                priced,
                stream,
                domain.label,
                ledger=account,
                reached=came,
            )
        found = replace(found, drawn={"rows": draw, "seed": seed, "version": own_version()})
        came.writing = True
        with paid_output(paths[0], lambda: json_text(found)):  # before anything is printed
            write_text(paths[0], json_text(found))
            write_text(paths[1], to_html(found))
            write_text(paths[2], "".join(count_lines(found.sketch)))
            write_text(paths[3], "".join(row_lines(found.sketch, draw, seed)))
            released(account, found.receipt, json_text(found).encode(), of_page(to_html(found)))
        _show(found)
        console.print(f"wrote {', '.join(str(path) for path in paths)}", soft_wrap=True)
        if account is not None:
            console.print(head_to_keep(account), soft_wrap=True)
    if as_json:
        typer.echo(json_text(found), nl=False)


def _check_out(paths: list[Path]) -> None:
    writable_once(paths[0], b'"plan_hash": ', "sketch")
    writable_once(paths[1], b"<title>prepriv sketch</title>", "sketch")
    for path in paths[2:]:
        if writable_file(path).exists() and path.stat().st_size:
            raise Stop(f"{path} is there already: choose another --out")


def _price_data(priced: PricedSketch) -> dict[str, object]:
    signal = priced.signal
    return {
        "shares": dict(priced.plan.shares),
        "b": signal.b,
        "tau": signal.tau,
        "verdict": signal.verdict,
        "sentence": signal.sentence,
    }


def _show_price(priced: PricedSketch) -> None:
    plan = priced.plan
    lines = [(name, percent(share), f"{plan.noise(name):.4g}") for name, share in plan.shares.items()]
    print_table(
        "What is released, each once",
        ("counts", "share of the budget", "deviation of the noise of one"),
        lines,
        (1, 2),
    )
    console.print(priced.signal.sentence, soft_wrap=True)


def _show(found: SketchedTable) -> None:
    print_spent(found.guarantee_, found.priced.look)
    for line in (f"{found.what}; {found.check}", *found.notes):
        console.print(line, soft_wrap=True)
