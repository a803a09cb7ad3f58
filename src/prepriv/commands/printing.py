"""What the commands print: one console on which no name acts, tables, a claim, prices, what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as RichTable

from prepriv._text import printable
from prepriv.domain import Domain
from prepriv.evaluation.groups import TOO_FEW
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.evaluation.thresholds import THRESHOLDS_ARE_FREE, threshold_heads
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.in_words import attacker
from prepriv.guarantees.printed import epsilon_at, places, separated, up
from prepriv.plans.plan import Plan
from prepriv.plans.price import Price
from prepriv.release.advice import to_do
from prepriv.release.quality import Quality
from prepriv.release.report import TITLES, Report
from prepriv.release.review import periods_in_words

if TYPE_CHECKING:
    from prepriv.description.look import Look


class PlainConsole(Console):
    """A console on which a text is only read: no markup, no escape sequence of a name, a label or a path acts."""

    def __init__(self, width: int | None = None) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, width=width)
        self._kept: list[str] | None = None

    def print(self, *objects: Any, **options: Any) -> None:
        """As in rich, each text through `shown`."""
        texts = [printable(o, keep="\n") if isinstance(o, str) else o for o in objects]
        if self._kept is not None:
            self._kept += [text.strip() for text in texts if isinstance(text, str)]
        super().print(*texts, **options)

    @contextmanager
    def keeping(self) -> Iterator[list[str]]:
        """The lines that are printed within, whether or not they are shown: --json shows none, and holds them as data."""
        self._kept = kept = list[str]()
        try:
            yield kept
        finally:
            self._kept = None


console = PlainConsole()


def _quiet(ctx: typer.Context, wanted: bool) -> bool:
    ctx.call_on_close(lambda: setattr(console, "quiet", False))
    console.quiet = wanted
    return wanted


AsJson = Annotated[
    bool, typer.Option("--json", callback=_quiet, help="Print JSON, and nothing else, on standard output.")
]


def say_counted(domain: Domain) -> None:
    """Where a domain declares a unit: that answers count units, one row of each."""
    if domain.unit is not None:
        console.print(
            f"counts {domain.unit!r}, one row of each (rows_per_unit {domain.rows_per_unit}): docs/units.md",
            soft_wrap=True,
        )


def print_spent(whole: Guarantee, look: Look, domain: Domain | None = None) -> None:
    """What was spent on a look at a table, a private draft of its schema among it, and every note. domain: of answers that count
    its units."""
    spent = epsilon_at(whole.epsilon(look.delta), look.delta)
    console.print(f"{spent}, {look.guarantee.neighbours}, n = {look.n:,}")
    for note in whole.notes:
        console.print(f"  {note}", soft_wrap=True)
    if domain is not None:
        say_counted(domain)


def print_cut(cut: Sequence[tuple[str, str]], notes: Sequence[str]) -> None:
    """How the cells of a described table are read, before it is charged."""
    if cut:
        print_table("Numbers are cut to their bounds before anything else", ("column", ""), cut)
    for note in notes:
        console.print(note, soft_wrap=True)


def interval_title(cut: Sequence[tuple[str, str]]) -> str:
    """What stands above numbers that were released."""
    return "Each with the 95 % interval of its noise" + (", of numbers cut to their bounds" if cut else "")


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()
) -> None:
    """A table on stdout, plain when it is not a terminal."""
    table = RichTable(show_edge=False, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(printable(cell) for cell in row))
    if console.quiet:
        return
    console.print(f"\n{title}", style="bold")
    (console if console.is_terminal else PlainConsole(width=140)).print(table)


def print_summary(made: Report) -> None:
    """What a report says first."""
    for line in made.summary.lines():
        console.print(line, soft_wrap=not console.is_terminal)


def print_quality(found: Quality, *, weighed: bool) -> None:
    """How good a model is, for whom it fails and what to do about it. weighed: its predictions weigh classes."""
    for sentence in (*found.good(), *found.fails(), *to_do(found, weighed=weighed, weak=False)):
        console.print(sentence, soft_wrap=not console.is_terminal)


def print_measured(made: PrivateEvaluation) -> None:
    """What an evaluation found: claim and figures."""
    console.print(made.claim, soft_wrap=True)
    for line in made.decided:
        console.print(line, soft_wrap=True)
    say_counted(made.plan.domain)
    print_table(
        "Measured", ("figure", "value", "95 % interval", "noise", "sampling"), made.table(), (1, 3, 4)
    )
    if made.thresholds:
        heads = threshold_heads(printable(made.thresholds[0].of))
        print_table("Thresholds", heads, [one.cells for one in made.thresholds], (0, 1))
        console.print(THRESHOLDS_ARE_FREE, soft_wrap=True)
    elif made.no_thresholds:
        console.print(made.no_thresholds, soft_wrap=True)
    print_groups(made)
    console.print(
        "; ".join(
            (
                "Each interval holds by itself; noise and sampling are standard deviations, or upper limits of them",
                *made.cut,
                *made.of_groups,
            )
        )
    )
    for line in made.of_bins:
        console.print(line, soft_wrap=True)


_MOST_DIFFERENCES = 40  # on the screen; a file has them all


def print_groups(made: PrivateEvaluation) -> None:
    """What it found of groups: their figures side by side, and how they differ."""
    if made.plan.by is None:
        return
    groups = [group for group in made.groups.values() if group.answered]
    if groups:
        lines = [(name, *(g.figures[name].interval for g in groups)) for name in groups[0].figures]
        named = ("figure", *(printable(g.name) for g in groups))
        print_table(f"Groups of {printable(made.plan.by)}, each by itself", named, lines)
    for group in made.groups.values():
        if not group.answered:
            console.print(f"  {printable(group.name)}: {group.share}; {TOO_FEW}", soft_wrap=True)
    apart = [(d.name, d.figure.interval) for d in made.differences]
    if apart:
        print_table("Differences", ("", "value [95 % interval]"), apart[:_MOST_DIFFERENCES])
    if len(apart) > _MOST_DIFFERENCES:
        console.print(f"{len(apart) - _MOST_DIFFERENCES} more differences: --out has them all")


def print_prices(table: Sequence[Price]) -> None:
    """The price of every step in each way to pay."""
    rows = []
    for p in table:
        factor = f"x {places(p.factor)}" if p.open else "not available"
        real = up(p.epsilon, 4) if p.open and p.epsilon is not None else "-"
        rows.append((p.step, TITLES[p.way], factor, real, "paid" if p.chosen else "", p.note))
    columns = ("step", "way to pay", "noise of training", "ε if ignored", "", "terms")
    print_table("What each step costs, in each way to pay", columns, rows, right=(2, 3))
    console.print(
        "ε if ignored: that of all that runs if the step is fitted as its line says and this cost is left out of the noise of training. "
        "There is no finite ε if it is fitted without noise and leaves with the model",
        soft_wrap=True,
    )


def print_guarantee(plan: Plan, private: bool, whole: Guarantee | None = None) -> None:
    """ε, δ, adjacency, conditions: the claim. whole: in place of the plan's, where a model was chosen or its domain drafted."""
    if not private or plan.guarantee is None:
        console.print("not private (no noise, or reproducible noise): nothing is claimed")
        return
    g = whole or plan.guarantee
    same = f" ({up(g.mu, 4)}-GDP)" if g.mu is not None else ""
    epsilon = epsilon_at(g.epsilon(plan.delta), plan.delta)
    console.print(f"{epsilon}, {g.neighbours}, n = {plan.n:,}{same}")
    console.print(f"  {attacker(g)[0]}", soft_wrap=not console.is_terminal)
    for note in (*g.notes, *periods_in_words(plan)):
        console.print(f"  {note}", soft_wrap=True)
    for condition in g.conditions:
        console.print(f"  rests on: {separated(condition)}")


def print_proofs(lines: Sequence[Mapping[str, Any]]) -> None:
    """Where each step, learner, premise and the whole are proved: one line each."""
    console.print("proofs, tests and attacks of each step: docs/proof-table.md")
    for line in lines:
        checked = len(line["machine_checked"])
        more = f", {checked} machine-checked theorem{'s' if checked > 1 else ''}" if checked else ""
        console.print(f"  {line['what']}: {', '.join(line['proofs']) or 'none here'}{more}", soft_wrap=True)
