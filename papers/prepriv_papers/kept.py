"""`prepriv reproduce page`: the tables of docs/papers.md, made of runs that were kept. Nothing long is computed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from prepriv.commands.exits import Stop, print_json
from prepriv.commands.printing import AsJson, console
from prepriv_papers.counterexamples import measured
from prepriv_papers.feature_preprocessing import dpsgd_f
from prepriv_papers.provable_privacy import calculators, figures
from prepriv_papers.semi_private_learning import items as pillar_items
from prepriv_papers.semi_private_learning import measures
from prepriv_papers.verdicts import Found, Item, items_of

Command = Callable[..., None]
BEGINS, ENDS = "<!-- made by `prepriv reproduce page` -->", "<!-- end of what it made -->"
ORDER = (
    "Provable Privacy with Non-Private Pre-Processing",
    "Unified Enhancement of Privacy Bounds for Mixture Mechanisms via f-Differential Privacy",
    "How to Make Semi-Private Learning Effective",
    "The Importance of Feature Preprocessing for Differentially Private Linear Optimization",
)
HEAD = ("item", "on your own data, and where it is", "paper", "ours", "verdict", "command")


def rows_of(path: Path) -> dict[str, dict[str, Any]]:
    """Rows of a run by their key, as `verdicts.Resume` writes them."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {line["key"]: line["row"] for line in lines if "key" in line}


def dpsgd_f_numbers(folder: Path) -> dict[str, Any]:
    """Tables of `prepriv reproduce dpsgd-f` from its rows, each cell the mean of the runs that are there."""
    rows = rows_of(folder / "rows.jsonl")
    clusters = [(k, r) for k, r in rows.items() if k.startswith("two clusters")]
    most = max(k.rpartition(", ")[2] for k, _ in clusters)  # "3 runs" rather than "1 runs"
    cells: dict[tuple[str, str], dict[str, list[float]]] = {}
    for key, row in rows.items():
        if "accuracy" in row:
            data, *rest = key.split(", ")
            epsilon = rest[0].removeprefix("ε = ") if rest[0].startswith("ε = ") else "none"
            way = ", ".join(p for p in rest[:-1] if not p.startswith(("ε = ", "no privacy")))
            cells.setdefault((data, epsilon), {}).setdefault(way, []).append(row["accuracy"])
    table = [
        {"data": d, "ε": e} | {way: f"{np.mean(v):.2f}" for way, v in ways.items()}
        for (d, e), ways in cells.items()
    ]
    numbers = {
        "bounds": dpsgd_f.bounds_of(),
        "two_clusters": [r for k, r in clusters if k.endswith(most)],
        "table_1": table,
        "table_2": [r for k, r in rows.items() if k.startswith("table 2")],
    }
    return numbers | dpsgd_f.more(r["data"] for r in table)


def pillar_numbers(folder: Path) -> dict[str, Any]:
    """Lines of `prepriv reproduce pillar` from its rows."""
    numbers = figures_of(folder)
    accuracies = {k.removeprefix("accuracy_"): v for k, v in numbers.items() if k.startswith("accuracy_")}
    return numbers | {"reduction": measures.reduction(accuracies), "errata": measured(*pillar_items.ERRATA)}


def figures_of(folder: Path) -> dict[str, Any]:
    """Lines of each figure of a run, from its rows."""
    return {key: row["lines"] for key, row in rows_of(folder / "rows.jsonl").items()}


def _written(folder: Path, *errata: str) -> dict[str, Any]:
    held: dict[str, Any] = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    return held if "errata" in held or not errata else held | {"errata": measured(*errata)}


def numbers_of(name: str, kept: Path) -> Mapping[str, Any]:
    """The numbers of a kept run of this command, or of one that takes a moment."""
    readers: dict[str, Callable[[], Mapping[str, Any]]] = {
        "statements": lambda: _written(kept / "statements"),
        "mixture-tables": lambda: _written(kept / "unified_enhancement"),
        "preprocessing-tables": lambda: _written(kept / "provable_privacy/preprocessing-tables"),
        "preprocessing-figures": lambda: _written(
            kept / "provable_privacy/preprocessing-figures", *figures.ERRATA
        ),
        "soft-pca": lambda: _written(kept / "provable_privacy/soft-pca"),
        "pillar": lambda: pillar_numbers(kept / "semi_private_learning"),
        "network-features": lambda: figures_of(kept / "network_features"),
        "dpsgd-f": lambda: dpsgd_f_numbers(kept / "feature_preprocessing"),
        "sgd-iteration": calculators.default_sgd_iteration,
        "ptr-utility": calculators.default_ptr_utility,
    }
    return readers[name]()


def decided(commands: Mapping[str, Command], kept: Path) -> list[tuple[str, Item, Found]]:
    """Every item with the name of its command and what its kept run decides."""
    out = []
    for name, command in commands.items():
        numbers = numbers_of(name, kept)
        out += [(name, item, item.found(numbers)) for item in items_of(command)]
    return out


def table(entries: Sequence[tuple[str, Item, Found]], paper: str) -> list[str]:
    """The rows of one paper in Markdown."""
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    for name, item, found in entries:
        if item.paper == paper:
            call = ", ".join(f"`{part}`" for part in (item.call, item.where) if part) or "-"
            cells = (
                found.item,
                call,
                found.theirs,
                found.ours,
                f"**{found.verdict}**: {found.why}",
                f"`reproduce {name}`",
            )
            lines.append("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
    return lines


def made(commands: Mapping[str, Command], kept: Path) -> str:
    """What stands between the two marks of the page."""
    entries = decided(commands, kept)
    counts: dict[str, int] = {}
    for _, _, found in entries:
        counts[found.verdict] = counts.get(found.verdict, 0) + 1
    said = ", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items(), key=lambda c: -c[1]))
    lines = [BEGINS, "", f"{len(entries)} items: {said}.", ""]
    for paper in ORDER:
        lines += [f"## {paper}", "", *table(entries, paper), ""]
    return "\n".join([*lines, ENDS])


def page_command(commands: Mapping[str, Command]) -> Command:
    """`prepriv reproduce page` over these reproductions."""

    def page(
        kept: Annotated[Path, typer.Option(help="Folder of the runs that were kept.")] = Path("docs/papers"),
        page: Annotated[Path, typer.Option(help="The page whose tables are made again.")] = Path(
            "docs/papers.md"
        ),
        as_json: AsJson = False,
    ) -> None:
        """Make the tables of docs/papers.md again from runs that were kept."""
        if not page.is_file():
            raise Stop(f"{page} is not there: run it in the repository, or give --page")
        text = page.read_text(encoding="utf-8")
        before, mark, rest = text.partition(BEGINS)
        _, end, after = rest.partition(ENDS)
        if not (mark and end):
            raise Stop(f"{page} lacks the two marks between which the tables stand")
        page.write_text(before + made(commands, kept) + after, encoding="utf-8")
        console.print(f"wrote {page}")
        if as_json:
            print_json({"page": str(page), "items": len(decided(commands, kept))})

    return page
