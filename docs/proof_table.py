"""From every step, learner, loss, premise and mechanism to its proof, its tests and its attacks: made from the code.

    python docs/proof_table.py            # writes docs/proof-table.md and src/prepriv/release/proofs.json, which reports read

The proof is the page that the docstring of the class, of its parents or of its module names. Tests are those that the page names
and the test file of the module. Attacks are the files below that name the class. Machine-checked is a theorem of proofs/coq that
the page names. `tests/release/test_proofs.py` fails while the two files are older than the code.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any

import prepriv.learners
import prepriv.preprocessing
from prepriv.guarantees.premise import Premise
from prepriv.learners import Learner, Loss
from prepriv.mechanisms.mechanism import Mechanism
from prepriv.preprocessing import Step

ROOT = Path(__file__).resolve().parents[1]
PAGE, DATA = ROOT / "docs" / "proof-table.md", ROOT / "src" / "prepriv" / "release" / "proofs.json"
KINDS = {"step": Step, "learner": Learner, "loss": Loss, "premise": Premise, "mechanism": Mechanism}
ATTACKS = (
    "src/prepriv/audit/random_chains.py",
    "src/prepriv/audit/sensitivity_cases.py",
    "src/prepriv/audit/empirical_cases.py",
    "tests/audit/pipelines.py",
    "tests/attacks/test_premises_in_words.py",
    "tests/attacks/test_steps_attacked.py",
    "tests/learners/test_losses.py",
    "tests/learners/test_accounts.py",
)
TITLES = {"step": "Steps", "learner": "Learners", "loss": "Losses", "premise": "Premises"}
TITLES |= {"mechanism": "Mechanisms"}
_CODE = re.compile(r"`(?:\w+\.)*(\w+)`")
_PROOF = re.compile(r"docs/proofs/\s*(\w+)\.md")
_TEST = re.compile(r"`(?:tests/[\w/]*/)?(test_\w+\.py)")
_THEOREM = re.compile(r"^(?:Theorem|Lemma|Corollary|Proposition)\s+(\w+)", re.M)


def classes() -> dict[str, list[type[Any]]]:
    """The classes of each kind that a plan can hold: the public ones, and all premises and mechanisms of this package."""
    for module in pkgutil.walk_packages(prepriv.__path__, "prepriv."):
        if not module.name.endswith("__main__"):
            _imported(module.name)
    public = {*prepriv.preprocessing.__all__, *prepriv.learners.__all__}
    kept = {kind: [c for c in _below(base) if _is_kept(c, kind, public)] for kind, base in KINDS.items()}
    return {kind: sorted(found, key=lambda c: c.__name__) for kind, found in kept.items()}


def _imported(name: str) -> None:
    with contextlib.suppress(ImportError):  # torch, dask: an extra
        importlib.import_module(name)


def _below(base: type[Any]) -> set[type[Any]]:
    return {c for sub in base.__subclasses__() for c in {sub, *_below(sub)}}


def _is_kept(cls: type[Any], kind: str, public: set[str]) -> bool:
    if not cls.__module__.startswith("prepriv.") or inspect.isabstract(cls):
        return False
    if kind in ("premise", "mechanism"):
        return not cls.__name__.startswith("_")
    return cls.__name__ in public


def theorems() -> dict[str, str]:
    """The file of each machine-checked theorem."""
    files = sorted((ROOT / "proofs" / "coq").glob("*.v"))
    return {name: _path(f) for f in files for name in _THEOREM.findall(f.read_text("utf-8"))}


def proof_pages() -> dict[str, dict[str, list[str]]]:
    """Of each proof page: the tests and the machine-checked theorems that it names."""
    checked, out = theorems(), {}
    for file in sorted((ROOT / "docs" / "proofs").glob("*.md")):
        text = file.read_text("utf-8")
        named = {name for name in _CODE.findall(text) if name in checked}
        tests = _tests({*_TEST.findall(text)})
        if file.stem != "index":
            out[_path(file)] = {
                "tests": tests,
                "machine_checked": sorted(f"{checked[n]}: {n}" for n in named),
            }
    return out


def entry(cls: type[Any], kind: str, pages: dict[str, dict[str, list[str]]]) -> dict[str, Any]:
    """What is known of one class."""
    file, named = Path(inspect.getfile(cls)), _named(cls)
    word = re.compile(rf"\b{cls.__name__}\b")
    own = _tests({f"test_{file.stem}.py"})
    return {
        "kind": kind,
        "file": _path(file),
        "proofs": named,
        "tests": sorted({*own, *(t for page in named for t in pages[page]["tests"])}),
        "attacks": [a for a in ATTACKS if word.search((ROOT / a).read_text("utf-8"))],
        "machine_checked": sorted(t for page in named for t in pages[page]["machine_checked"]),
    }


def _tests(names: set[str]) -> list[str]:
    return sorted(_path(p) for p in (ROOT / "tests").rglob("test_*.py") if p.name in names)


def _named(cls: type[Any]) -> list[str]:
    """The proof pages that the class names, else its parents, else their modules."""
    ours = [c for c in cls.__mro__ if c.__module__.startswith("prepriv.") and c not in KINDS.values()]
    said = [vars(c).get("__doc__") or "" for c in ours]
    said += [sys.modules[c.__module__].__doc__ or "" for c in ours]
    found = next((names for text in said if (names := _PROOF.findall(text))), [])
    return [f"docs/proofs/{name}.md" for name in dict.fromkeys(found)]


def _path(file: Path) -> str:
    return file.resolve().relative_to(ROOT).as_posix()


def table() -> dict[str, Any]:
    """All of it: the entries of classes by their names, and those of pages by their paths."""
    pages = proof_pages()
    found = {c.__name__: entry(c, kind, pages) for kind, of in classes().items() for c in of}
    return {"classes": found, "pages": pages}


def page(data: dict[str, Any]) -> str:
    """The table as a page."""
    lines = [
        "# From each step to its proof",
        "",
        "Made by `python docs/proof_table.py` from the code; a test fails while it is out of date. A report and a plan name the lines of their own steps. Attacks are `prepriv audit chains`",
        "(`random_chains.py`), `prepriv audit sensitivity` (`sensitivity_cases.py`), `prepriv audit empirical` (`empirical_cases.py`), record and replay (`pipelines.py`), the reader of",
        "premises. Machine-checked: theorems of `proofs/coq` that the proof page names.",
    ]
    for kind, title in TITLES.items():
        lines += ["", f"## {title}", "", "| | file | proof | tests | attacks | machine-checked |"]
        lines += ["|---|---|---|---|---|---|"]
        for name, e in data["classes"].items():
            if e["kind"] == kind:
                cells = (_code([e["file"]]), _links(e["proofs"]), _code(e["tests"]), _code(e["attacks"]))
                lines.append(f"| {name} | {' | '.join(cells)} | {_checked(e)} |")
    lines += ["", "## Every proof page", "", "| proof | tests | machine-checked |", "|---|---|---|"]
    for path, e in data["pages"].items():
        lines.append(f"| {_links([path])} | {_code(e['tests'])} | {_checked(e)} |")
    return "\n".join(lines) + "\n"


def _links(paths: list[str]) -> str:
    return ", ".join(f"[{Path(p).stem}](proofs/{Path(p).name})" for p in paths)


def _checked(entry: dict[str, Any]) -> str:
    return ", ".join(f"`{theorem.split(': ')[1]}`" for theorem in entry["machine_checked"])


def _code(paths: list[str]) -> str:
    return ", ".join(f"`{Path(p).name}`" for p in paths)


def made() -> dict[Path, str]:
    """What the two files should hold."""
    data = table()
    return {PAGE: page(data), DATA: json.dumps(data, sort_keys=True, indent=1) + "\n"}


if __name__ == "__main__":
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
