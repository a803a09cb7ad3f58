"""`prepriv reproduce statements`: every definition, lemma, theorem and algorithm of the papers, beside what decides about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from prepriv.commands.printing import console
from prepriv_papers.counterexamples import measured
from prepriv_papers.feature_preprocessing import statements as feature_preprocessing
from prepriv_papers.folder import reproduction_folder
from prepriv_papers.provable_privacy import statements as provable_privacy
from prepriv_papers.semi_private_learning import statements as semi_private_learning
from prepriv_papers.unified_enhancement import statements as unified_enhancement
from prepriv_papers.verdicts import decide

MODULES = (provable_privacy, unified_enhancement, semi_private_learning, feature_preprocessing)
ITEMS = tuple(item for module in MODULES for item in module.ITEMS)


def statements(
    out: Annotated[Path, typer.Option(help="Folder for the numbers (JSON).")] = Path("run/statements"),
    small: Annotated[bool, typer.Option("--small", help="The same: all of it takes seconds.")] = False,
) -> None:
    """Recompute what every statement of the papers says, by enumeration or integration, and each counter-example to one."""
    reproduction_folder(out)
    numbers: dict[str, Any] = {"errata": measured(), "statements": {}}
    for module in MODULES:
        numbers["statements"] |= {name: float(value) for name, value in module.compute().items()}
    found = decide(ITEMS, numbers, small=small)
    text = json.dumps(numbers | {"verdicts": [vars(i) for i in found]}, indent=1, ensure_ascii=False)
    (out / "numbers.json").write_text(text + "\n", encoding="utf-8")
    console.print(f"wrote {out / 'numbers.json'}")
