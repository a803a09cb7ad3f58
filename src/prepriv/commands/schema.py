"""`prepriv schema init`: a draft of the declared schema, off a table."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Annotated, Literal

import typer
import yaml

from prepriv._progress import waiting
from prepriv._text import printable
from prepriv.adjacency import check_adjacency
from prepriv.columns import Numeric
from prepriv.commands.common import Came, Note, head_to_keep, noted, private_run, says_what_stays
from prepriv.commands.data import DATA, QueryOption, opened, say_units
from prepriv.commands.exits import Stop, print_json, say
from prepriv.commands.outputs import paid_output, reserved_file, writable_file, write_text
from prepriv.commands.printing import AsJson, console
from prepriv.description.draft import draft_in_private
from prepriv.description.draft_plan import NUMERIC, plan_draft
from prepriv.description.drafted_schema import PrivateDraft
from prepriv.guarantees.printed import epsilon_at
from prepriv.schemas.declared_file import BadSchema
from prepriv.schemas.first_schema import WARNING, draft
from prepriv.schemas.persons import one_row_one_person
from prepriv.tables.encoding import read_whole
from prepriv.tables.readers import BadData

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
app = typer.Typer(help="Draft the schema that declares a table.", no_args_is_help=True)


@app.callback()
def _schema() -> None:
    """The declared schema."""


@app.command("init")
def schema_init(
    data: Annotated[str, typer.Argument(help=f"A table to draft from: {DATA}")],
    query: QueryOption = None,
    label: Annotated[str | None, typer.Option(help="The label column (default: the last).")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the schema here instead of to standard output.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Draft privately with this budget: kinds, bounds, categories and classes come from noisy counts."
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="With --epsilon: chance left out of the guarantee; well below 1 / rows (default: 1e-6)."
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(help="With --epsilon: number of records, declared and public, without the header line."),
    ] = None,
    adjacency: Annotated[
        str | None,
        typer.Option(help="With --epsilon: replace-one (the default) or add-or-remove-one."),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="With --epsilon: charge this ledger before a record is read.")
    ] = None,
    note: Note = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="Where a person has several rows: the column that says whose row it is. --rows then counts persons."
        ),
    ] = None,
    rows_per_unit: Annotated[
        int | None,
        typer.Option("--rows-per-unit", help="With --unit: how many rows of each person are read, 1 to 100."),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="With --epsilon: the classes of the label as you know them and as it spells them, such as no,yes for a label that says no or yes. They are free: nothing is spent on the label."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="With --epsilon: the label is a number. LOW,HIGH are its bounds as you know them, which are free: nothing is spent on the label. numeric: its range is drafted."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="With --epsilon: say what this draft could see, and stop. Reads no record, charges nothing.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Draft a schema from a table.

    With --epsilon the draft is private. What it says is paid for, and you can use it as it is. The names in the header line are
    taken as public. Without --epsilon, bounds and categories are read off the data, which leaks: edit every one, then run
    `prepriv validate`. An existing file is not overwritten.
    """
    if out is not None:
        _check_out(out)
    if (unit is None) != (rows_per_unit is None):
        raise Stop(
            "--unit and --rows-per-unit go together: they say whose row it is, and how many rows of a person are read. "
            "--rows-per-unit 1 reads one of each"
        )
    if epsilon is not None:
        if rows is None:
            raise Stop("--rows is missing: a private draft needs the declared number of records")
        stream = opened(data, query)
        try:
            with waiting("pricing"):
                plan = plan_draft(
                    list(stream.names),
                    label=label,
                    n=rows,
                    epsilon=epsilon,
                    delta=1e-6 if delta is None else delta,
                    adjacency=check_adjacency(adjacency or "replace-one"),
                    unit=unit,
                    rows_per_unit=rows_per_unit,
                    source=stream.source,
                    classes=None if classes is None else [name.strip() for name in classes.split(",")],
                    target=_target(target),
                )
                needs = plan.said()
        except BadSchema as error:
            raise BadSchema(f"{data}: {error}") from None
        if unit is not None:
            say_units(rows, unit, plan.look.adjacency, "--rows")
        for line in needs:
            say(line, err=True)
        if dry_run:
            say("--dry-run: no record was read, nothing was charged, and nothing was written", err=True)
            if as_json:
                print_json({"needs": needs})
            return
        came = Came()
        with says_what_stays(came, out), reserved_file(out, _check_out):
            with private_run(came), waiting("reading"):
                drafted = draft_in_private(plan, stream, ledger=noted(ledger, note), reached=came)
            came.writing = out is not None
            with contextlib.nullcontext() if out is None else paid_output(out, drafted.text):
                _write(drafted.text(), out, as_json)
            drafted.note(ledger, None if as_json and out is None else drafted.text())
        _say_cost(drafted)
        if ledger is not None:
            say(head_to_keep(ledger), err=True)
        return
    given = {"--ledger": ledger, "--note": note, "--rows": rows, "--delta": delta, "--adjacency": adjacency}
    given |= {"--classes": classes, "--target": target, "--dry-run": dry_run or None}
    if unread := [option for option, value in given.items() if value is not None]:
        raise Stop(f"{', '.join(unread)}: only a private draft takes this; give --epsilon, too")
    stream = opened(data, query)
    with waiting("reading"):
        table = read_whole(stream, stream.names)
    if len(table) == 0:
        raise BadData(f"{data} has no rows")
    try:
        leaky = draft(table, label, unit, rows_per_unit)
    except BadSchema as error:
        raise BadSchema(f"{data}: {error}") from None
    _write(leaky.text, out, as_json)
    say(f"WARNING: {' '.join(WARNING.split())}", err=True)
    for note in leaky.notes:
        say(f"LOOK AT {note}", err=True)
    if unit is None:
        say(one_row_one_person(table.column_names), err=True)


def _target(said: str | None) -> Numeric | Literal["numeric"] | None:
    if said is None:
        return None
    if said.strip() == NUMERIC:
        return NUMERIC
    try:
        low, high = map(float, said.split(","))
        return Numeric(low, high)
    except ValueError as error:
        why = "" if "bound" not in str(error) and "low" not in str(error) else f" ({error})"
        raise Stop(
            f"--target takes LOW,HIGH, two numbers such as 0,450000, or the word {NUMERIC}; got {printable(said)!r}{why}"
        ) from None


def _check_out(out: Path) -> None:
    if os.path.lexists(out):
        raise Stop(f"{out} exists and is not overwritten: choose another --out, or remove it")
    writable_file(out)


def _write(text: str, out: Path | None, as_json: bool) -> None:
    """The schema as YAML in a file, or on standard output; or there as JSON."""
    if out is not None:
        write_text(out, text)
        console.print(f"wrote {out}", soft_wrap=True)
    if as_json:
        print_json(yaml.safe_load(text))
    elif out is None:
        # a terminal is to act on nothing in it; a file or a program gets it as it is
        typer.echo(printable(text, keep="\n") if console.is_terminal else text, nl=False)


def _say_cost(drafted: PrivateDraft) -> None:
    look = drafted.plan.look
    spent = epsilon_at(look.guarantee.epsilon(look.delta), look.delta)
    said = [f"private: {spent}, {look.guarantee.neighbours}, n = {look.n:,}"]
    said += look.guarantee.notes
    if drafted.plan.unit is None:
        said.append(one_row_one_person([*drafted.plan.columns, drafted.plan.label]))
    said += drafted.told()
    said += [f"TO BE COMPLETED: {drafted.problem}. {drafted.how_completed}"] if drafted.problem else []
    if drafted.target is None and len(drafted.classes) > 2 and all(map(_NUMBER.fullmatch, drafted.classes)):
        said.append(
            f"LOOK AT the label, whose classes are numbers. For regression, write low: and high: in place of "
            f"classes:, with the bounds of {drafted.plan.label!r} as you know them"
        )
    said.append(
        "Free edits in the file: delete the lines of a column that you do not want to use; declare one that was left out "
        "(texts as NAME: {type: text}); declare numbers that are codes, such as those of hospitals, as {type: categorical, categories: [...]}; "
        "change bounds, and how cells are written (docs/python.md). They are free as long as no record "
        "decides the edit: edit by what you know without looking at the table"
    )
    for line in said:
        say(line, err=True)
