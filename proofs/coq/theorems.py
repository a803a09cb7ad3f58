"""The machine-checked theorems: their places in docs/proofs, what they rest on, and the results that tests compare.

    python proofs/coq/theorems.py pages            # writes the section "Machine-checked" of each page, and machine_checked.md
    python proofs/coq/theorems.py assumptions      # prints a Coq file that asks what each theorem rests on
    python proofs/coq/theorems.py check LOG        # compares its answers with allowed.txt
    python proofs/coq/theorems.py vectors LOG      # writes tests/proofs/vectors.json from the output of vectors.v

In a file, each theorem follows a comment `(** [pages; code] Statement in plain words. *)`, which is what the pages say.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGES = ROOT / "docs" / "proofs"
TABLE = PAGES / "machine_checked.md"
VECTORS = ROOT / "tests" / "proofs" / "vectors.json"
HEAD, BEGIN, END = "## Machine-checked", "<!-- theorems -->", "<!-- end of theorems -->"
NOT_OURS = ("assumptions", "vectors")
_KEYWORD = re.compile(r"^(?:Theorem|Corollary)\s+(\w+)", re.M)
_NOTED = re.compile(
    r"\(\*\*\s+\[([^;\]]+);\s*([^\]]+)\]\s+((?:(?!\*\)).)+?)\s*\*\)\s*(?:Theorem|Corollary)\s+(\w+)", re.S
)
_UNFINISHED = re.compile(r"^\s*(?:Admitted|Axiom|Parameter|Conjecture|Abort)\b|\badmit\b", re.M)


@dataclass(frozen=True)
class Theorem:
    """A theorem of `file`.v: the pages of docs/proofs that it belongs to, the code it is about, and what it says."""

    file: str
    name: str
    pages: tuple[str, ...]
    code: str
    says: str


def files() -> list[Path]:
    """The Coq sources."""
    return sorted(f for f in HERE.glob("*.v") if f.stem not in NOT_OURS)


def theorems() -> list[Theorem]:
    """All theorems, in the order of files. ValueError for one without its comment, or a proof that is not finished."""
    found = []
    for file in files():
        text = file.read_text(encoding="utf-8")
        noted = [
            Theorem(file.stem, name, tuple(p.strip() for p in pages.split(",")), _one(code), _one(says))
            for pages, code, says, name in _NOTED.findall(text)
        ]
        if (names := _KEYWORD.findall(text)) != [t.name for t in noted]:
            raise ValueError(
                f"{file.name}: comments and theorems differ: {set(names) ^ {t.name for t in noted}}"
            )
        if unfinished := _UNFINISHED.search(text):
            raise ValueError(f"{file.name} is not finished: {unfinished[0].strip()}")
        found += noted
    return found


def _one(text: str) -> str:
    return " ".join(text.split())


def code_of(theorem: Theorem) -> list[tuple[str, list[str]]]:
    """The files of src/prepriv that a theorem is about, each with names in it; none where there is no such code."""
    if theorem.code.startswith("no code"):
        return []
    out = []
    for part in theorem.code.split(","):
        path, *names = part.split()
        out.append((path, [n.split(".")[-1] for n in names]))
    return out


def _marked(text: str) -> str:
    """Code names in backticks."""
    if text.startswith("no code"):
        return f"{text[0].upper()}{text[1:]}."
    return "Code: " + ", ".join(" ".join(f"`{word}`" for word in p.split()) for p in text.split(",")) + "."


def section(page: str, all_: list[Theorem]) -> str:
    """What a page of docs/proofs says of its theorems."""
    lines = [
        HEAD,
        "",
        "Checked by Coq in exact arithmetic ([what that says, and what not](machine_checked.md)):",
        "",
    ]
    lines += [f"- `{t.file}.v`, `{t.name}`. {t.says} {_marked(t.code)}" for t in all_ if page in t.pages]
    return "\n".join(lines) + "\n"


def table(all_: list[Theorem]) -> str:
    """The table of machine_checked.md."""
    pages = {p for t in all_ for p in t.pages}
    lines = [
        BEGIN,
        "",
        f"{len(all_)} theorems in {len({t.file for t in all_})} files, of {len(pages)} pages.",
        "",
    ]
    lines += ["| file | theorem | pages | says |", "|---|---|---|---|"]
    for t in all_:
        links = ", ".join(f"[{p.removesuffix('.md')}]({p})" for p in t.pages)
        lines.append(f"| `{t.file}.v` | `{t.name}` | {links} | {t.says.replace('|', chr(92) + '|')} |")
    return "\n".join([*lines, "", END])


def made() -> dict[Path, str]:
    """What the pages should hold."""
    all_ = theorems()
    out = {}
    for file in sorted(PAGES.glob("*.md")):
        text = file.read_text(encoding="utf-8")
        if file == TABLE:
            before, _, rest = text.partition(BEGIN)
            out[file] = before + table(all_) + rest.partition(END)[2]
        elif HEAD in text or any(file.name in t.pages for t in all_):
            body = text.partition(HEAD)[0].rstrip("\n") + "\n"
            named = any(file.name in t.pages for t in all_)
            out[file] = body + "\n" + section(file.name, all_) if named else body
    return out


def questions(all_: list[Theorem]) -> str:
    """A Coq file that prints what every theorem rests on."""
    asked = "\n".join(f"Print Assumptions {t.file}.{t.name}." for t in all_)
    return f"Require {' '.join(sorted({t.file for t in all_}))}.\n{asked}\n"


def refused(log: str, all_: list[Theorem]) -> list[str]:
    """Axioms in the answers that allowed.txt does not list; a line if an answer is missing."""
    lines = (HERE / "allowed.txt").read_text(encoding="utf-8").splitlines()
    allowed = {line.strip() for line in lines if line.strip() and not line.startswith("#")}
    answers = len(re.findall(r"^(?:Closed under the global context|Axioms:)$", log, re.M))
    out = [] if answers == len(all_) else [f"{answers} answers for {len(all_)} theorems"]
    used = set(re.findall(r"^([\w.]+)(?=\s*:| *$)", log, re.M)) - {"Axioms", "Closed"}
    return out + sorted(used - allowed)


def vectors(log: str) -> dict[str, list[object]]:
    """The printed results, by name: `Compute (name, [...])` as lists of whole numbers."""
    out: dict[str, list[object]] = {}
    for name, body in re.findall(r"=\s*\(\s*\"(\w+)\"(?:%string)?\s*,(.*?)\)\s*:\s", log, re.S):
        text = re.sub(r"%\w+|::|\s+", " ", body).replace(";", ",").replace("(", "[").replace(")", "]")
        text = text.replace("true", "1").replace("false", "0")
        out[name] = json.loads(text)
    return out


def main(words: list[str]) -> int:
    match words:
        case ["pages"]:
            for path, text in made().items():
                path.write_text(text, encoding="utf-8")
        case ["assumptions"]:
            print(questions(theorems()), end="")
        case ["check", log]:
            bad = refused(Path(log).read_text(encoding="utf-8"), theorems())
            print(
                "\n".join(f"not allowed: {b}" for b in bad)
                or f"{len(theorems())} theorems, no axiom beyond allowed.txt"
            )
            return bool(bad)
        case ["vectors", log]:
            found = vectors(Path(log).read_text(encoding="utf-8"))
            VECTORS.parent.mkdir(exist_ok=True)
            lines = ",\n".join(f'"{k}": {json.dumps(v, separators=(",", ":"))}' for k, v in found.items())
            VECTORS.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
            print({k: len(v) for k, v in found.items()})
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
