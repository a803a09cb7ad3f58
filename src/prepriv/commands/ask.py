"""`prepriv ask`: a list of questions to a private table, priced together."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from prepriv._progress import waiting
from prepriv._text import printable
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
from prepriv.description.answers import declared_groups, expected_half, wide_answers
from prepriv.description.ask import Answers, ask_in_private
from prepriv.description.asked import AskedPlan, plan_questions
from prepriv.description.estimates import short_number
from prepriv.guarantees.printed import epsilon_at, percent
from prepriv.plans.enough import GOES_ON
from prepriv.runs.charge import released

_ALIKE = ("count", "histogram", "crosstab", "sum")  # whose noise does not depend on how large a group is


def ask(
    data: Annotated[str, typer.Argument(help=f"The private table: {DATA}")],
    questions: Annotated[
        list[str],
        typer.Argument(
            help='For example "mean(pay)", "count by job", "crosstab(job, sex)", "quantile(age, 0.9) by sex".'
        ),
    ],
    schema: SchemaOption,
    query: QueryOption = None,
    epsilon: Annotated[float, typer.Option(help="Privacy budget of all answers together.")] = 0.5,
    delta: DeltaOption = 1e-6,
    number: RowsOption = None,
    ledger: LedgerOption = None,
    note: Note = None,
    price: Annotated[bool, typer.Option("--price", help="Print what each release costs, and stop.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the answers to this .json file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask questions of a private table: counts, sums, means, variances, covariances, cross-tabulations, quantiles; also by group.

    All questions are priced together before a record is read. What several of them need is paid for once.
    """
    domain, n, stream = declared_table(schema, data, query, number)
    plan = plan_questions(domain, questions, epsilon=epsilon, delta=delta, n=n)
    if out is not None and out.suffix != ".json":
        raise Stop(f"--out must end in .json; got {out.name}")
    _show_prices(plan)
    print_cut(plan.cut, plan.notes)
    why = wide_answers(plan)
    if price:
        _show_expected(plan)
        if why:
            console.print(f"WARNING: {printable(why.removesuffix(GOES_ON).rstrip())}", soft_wrap=True)
        return
    if why:
        console.print(f"WARNING: {printable(why)}", soft_wrap=True)
    say_drafted(domain, ledger)
    say_asked_before(plan.look.hash, ledger)
    came, account = Came(), noted(ledger, note)
    with says_what_stays(came, out), reserved_file(out, _check_out):
        with private_run(came), waiting("reading"):
            found = ask_in_private(plan, stream, ledger=account, reached=came)
        if out is not None:  # before anything is printed: standard output can end early
            came.writing = True
            with paid_output(out, found.json_text):
                write_text(out, found.json_text())
                released(account, found.receipt, found.json_text().encode())
        _show(found)
        if out is not None:
            console.print(f"wrote {out}")
        if account is not None:
            console.print(head_to_keep(account), soft_wrap=True)
    if as_json:
        typer.echo(found.json_text(), nl=False)


def _check_out(out: Path) -> None:
    writable_once(out, b'"plan_hash": ', "list of answers")


def _show_prices(plan: AskedPlan) -> None:
    lines = [(what, percent(share), f"{noise:.3g}") for what, share, noise in plan.prices()]
    print_table("What is released, each once", ("release", "share of the budget", "noise multiplier"), lines)


def _show_expected(plan: AskedPlan) -> None:
    """Half of each interval, where declared facts decide it."""
    lines = []
    for question in plan.questions:
        found = expected_half(plan, question)
        told = "depends on the values"
        if found is not None:
            half, unit = found
            told = f"± {short_number(half)}" if math.isfinite(half) else "too few records to say"
            told += "" if unit == "number" or not math.isfinite(half) else f" {unit}"
            if question.by is not None and question.kind not in _ALIKE:
                told += f", with {declared_groups(plan, question)} groups of equal size"
        lines.append((str(question), told))
    spent = epsilon_at(plan.look.epsilon, plan.look.delta)
    title = (
        f"Half of the 95 % interval to expect, for a table without gaps. All answers together cost {spent}"
    )
    print_table(title, ("question", ""), lines)


def _show(found: Answers) -> None:
    print_spent(found.guarantee_, found.plan.look, found.plan.domain)
    print_table(interval_title(found.plan.cut), ("question", "", ""), found.in_short())
    for line in found.at_bounds:
        console.print(line, soft_wrap=True)
