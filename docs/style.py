"""Find forbidden words, long sentences and hard reading on the pages. docs/style.md gives the reasons.

    python docs/style.py                     # what `make lint` runs: exit code 1 for a forbidden word on a page or in a string of src
    python docs/style.py 8aa567d             # a table of every page: at that commit, and now
    python docs/style.py run/report.html     # the same measures of other files, HTML too
    python docs/style.py --source            # forbidden words in the strings of src alone

Only prose counts. Code, links' addresses and tables are left out of sentences; words are looked for in tables, too.
"""

from __future__ import annotations

import argparse
import ast
import html
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PLACES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "docs/learn/*.md",
    "docs/reference/*.md",
    "docs/notebooks/*.ipynb",
    "examples/*.py",
)
TERSE = ("CHANGELOG.md", "docs/proofs/*.md")  # words are looked for; length is not measured
APART = {"docs/style.md"}  # names the words
LONG = 25  # words

# What is forbidden, and what to write. docs/style.md has a line for each.
WORDS = {
    r"(?<!there\s)\b(?:is|are|was|were) no\b(?! (?:more|less|worse|better|longer|larger|smaller|other|fewer|\w+er(?=\s+than)|\w+er$)\b)": "is not a",
    r"\bmakes? no (?:number|difference to)\b": "is not a number; does not change",
    r"\bknows? no\b": "does not know",
    r"\bsomebody else's\b": "third-party, or another's",
    r"\bbehind\b": "after",
    r"\ba number to predict\b": "a numeric target; regression",
    r"\bof one's own\b": "your own",
    r"\brooms?\b(?! (?:for|left|to)\b| ?:)": "module; memory",
    r"\bdearer\b|\bdearest\b": "more expensive",
    r"\bseldom\b": "rarely",
    r"\bby luck\b": "by chance",
    r"\banew\b": "again",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\b(?:is|are|was|were|be) told from\b": "is distinguished from",
    r"\bholds?\b[^.;:]{0,40} for (?:equally )?likely\b": "considers equally likely",
    r"\bmakes? the same of\b": "gives the same result for",
    r"\b(?:is|are|was) closed\b(?! (?:under|early|by)\b)": "is not available",
    r"\bthe ways? of (?:a (?:table|record)|ε)\b": "the path of",
    r"\bin private\b(?= (?:and|or|by|for|before|with|at|to|in)\b|[.,;:)\]])": "privately",
    r"\bsays? nothing of\b": "says nothing about",
    r"\bspeaks? of\b": "describes, names",
    r"\bsa(?:y|ys|id) of\b": "says about",
    r"\bdeclared of\b": "declared about",
    r"\bsomebody\b": "someone; a user",
    r"\bto the letter\b": "letter by letter; exactly",
    r"\bmakes of (?!it|up)": "gives for; does to",
    r"\bas \w+ has it\b": "as it gives it; as it is in",
    r"\bin sight of\b": "after seeing",
    r"\b(?:is|are) to be (?!sure)\w+(?:ed|wn|rned)\b": "has to be",
    r"; else\b(?! (?:if|the))|\bValueError else\b": "otherwise",
    r"\bno experts?\b": "not an expert",
    r"\bat a price of (?:its|their) own\b": "for a budget of its own",
    r"\banother(?: \w+){1,2} than\b": "other than; not the one that",
    r"\bsomething else than\b": "something other than",
    r"(?<!-)(?<!which\s)\bone an? (?:feature|record|row|column|unit|step|class|person|cell|point|group)\b": "one per",
    r"\b(?:has|have|had) not (?:the|a|one|been a)\b": "does not have",
    r"\b(?:tells?|told|telling) of\b": "reveals; says about",
    r"\bthe word of who": "not verified, stated by",
    r"(?:^|[:;,.] )who (?:knows|sees|has|holds|wants|needs) \w+[^.;:,]{0,30} (?:knows|sees|has|can)\b": "whoever",
    r"\bnot to be (?:checked|seen|found|known|had)\b": "cannot be",
    r"`?--[\w-]+`? is of\b": "belongs to; goes with",
    r"\bwhich is not (?:how many|what the table has)\b": "and there is another number of them",
    r"\bone (?:\w+ )?(?:file|page|proof|attack|release|row|option|line|example) an? (?!\w+ (?:that|of))\w+": "per",
}
RULES = [  # a space of a pattern is a line break, too
    (re.compile(re.sub(r" (?![?*]|[^\[]*\])", r"\\s+", pattern), re.I | re.M), instead)
    for pattern, instead in WORDS.items()
]
INVERTED = re.compile(
    r"(?:What|How|Whether|Which|Where|Why) [^.?:|]{3,120}\b(?:says?|tells?|shows?) (?:code|docs/)"
)


class Measure(NamedTuple):
    """Sentences and words of a page, the share of long sentences in percent, Flesch's reading ease, chains of colons."""

    sentences: int
    words: int
    long: float
    ease: float
    chains: int


def pages(root: Path = ROOT, places: tuple[str, ...] = PLACES) -> list[str]:
    """The user-facing pages, by their path in the repository."""
    return [path.relative_to(root).as_posix() for place in places for path in sorted(root.glob(place))]


def page_text(name: str, text: str) -> str:
    """What a reader of the file reads as Markdown."""
    if name.endswith(".ipynb"):
        cells = json.loads(text)["cells"]
        return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    if name.endswith(".py"):
        return ast.get_docstring(ast.parse(text)) or ""
    if name.endswith((".html", ".htm")):
        return of_html(text)
    return text


def of_html(text: str) -> str:
    """Paragraphs and items of a page, one each; figures, tables and code left out."""
    text = re.sub(r"(?is)<(style|script|svg|table|pre|head|nav)\b.*?</\1>", " ", text)
    text = re.sub(r'(?is)<dl class="proofs">.*?</dl>', " ", text)  # paths and hashes
    text = re.sub(r"(?is)<h[1-6]\b.*?</h[1-6]>", "\n\n", text)
    text = re.sub(
        r"(?i)</?(?:p|li|dt|dd|div|section|summary|details|figcaption|ul|ol|dl|br)\b[^>]*>", "\n\n", text
    )
    return html.unescape(re.sub(r"<[^>]+>", " ", text))


def prose(text: str) -> str:
    """Without code and addresses, line by line as before: a line keeps its number."""
    text = re.sub(r"```.*?(?:```|\Z)|<!--.*?-->", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    text = re.sub(r"^(?: {4}|\t)(?![-*\d]).*$", "", text, flags=re.M)  # indented code
    text = re.sub(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`\n]*`", "code", text)
    return re.sub(r"https?://\S+", "code", text)


def paragraphs(text: str) -> Iterator[str]:
    """Paragraphs and items of lists; neither headings nor tables."""
    kept = [line for line in prose(text).splitlines() if not re.match(r"\s*(?:#|\||:?-{3,}|={3,})", line)]
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", "\n".join(kept)):
        words = re.sub(r"^\s*(?:[-*>:]|\d+\.) +", "", block.strip())
        if re.search(r"[A-Za-z]{2}", words):
            yield re.sub(r"[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}", "", " ".join(words.split()))


def sentences(text: str) -> Iterator[str]:
    """A sentence ends at a full stop, a question mark or an exclamation mark; a colon ends none."""
    for paragraph in paragraphs(text):
        for sentence in re.split(
            r"(?<=[.!?])[)\"”]*\s+(?=[\"“(\[]?[A-Z0-9µεδ]|(?:code|prepriv|scikit-learn|diffprivlib)\b)",
            paragraph,
        ):
            if re.search(r"[A-Za-z]{2}", sentence):
                yield sentence


def words_of(sentence: str) -> list[str]:
    """What a reader counts as a word: it has a letter or a digit."""
    return [word for word in sentence.split() if re.search(r"\w", word)]


def syllables(word: str) -> int:
    """Groups of vowels, a silent e left out: within a tenth of a count by hand, and the same rule before and now."""
    letters = re.sub(r"[^a-z]", "", word.lower())
    groups = len(re.findall(r"[aeiouy]+", letters))
    return max(1, groups - (letters.endswith("e") and not letters.endswith(("le", "ee")) and groups > 1))


def measured(text: str) -> Measure:
    """The measures of a page, given as Markdown."""
    found = [words_of(sentence) for sentence in sentences(text)]
    found = [words for words in found if words]
    if not found:
        return Measure(0, 0, 0.0, 0.0, 0)
    count = sum(map(len, found))
    spoken = sum(syllables(word) for words in found for word in words)
    ease = 206.835 - 1.015 * count / len(found) - 84.6 * spoken / count
    chains = sum(sentence.count(": ") + sentence.count("; ") > 1 for sentence in sentences(text))
    return Measure(len(found), count, 100 * sum(len(w) > LONG for w in found) / len(found), ease, chains)


def faults(text: str) -> Iterator[tuple[int, str, str]]:
    """(line, what stands there, what to write) of every forbidden word."""
    plain = prose(text)
    for rule, instead in RULES:
        for hit in rule.finditer(plain):
            yield plain.count("\n", 0, hit.start()) + 1, " ".join(hit[0].split()), instead
    if not re.search(r"\b(?:What|How|Whether|Which|Where|Why) ", plain):
        return
    for sentence in sentences(text):  # which may begin within a line
        if inverted := INVERTED.match(sentence):
            found = re.search(r"\s+".join(map(re.escape, sentence.split()[:4])), plain)
            yield (
                plain.count("\n", 0, found.start()) + 1 if found else 1,
                inverted[0],
                "the subject first: `name` says what",
            )


def at_commit(commit: str, name: str) -> str | None:
    """The file at that commit, or None."""
    done = subprocess.run(["git", "show", f"{commit}:{name}"], cwd=ROOT, capture_output=True, check=False)
    return done.stdout.decode("utf-8") if done.returncode == 0 else None


def row(name: str, before: Measure | None, now: Measure) -> str:
    """A line of the table."""
    cells = [name]
    for one in (before, now):
        cells += (
            [f"{one.sentences}", f"{one.long:.0f} %", f"{one.ease:.0f}", f"{one.chains}"]
            if one
            else ["-"] * 4
        )
    return "| " + " | ".join(cells) + " |"


def table(commit: str) -> None:
    """Every page at that commit and now."""
    print(
        f"| page | {commit}: sentences | above {LONG} words | reading ease | chains | now: sentences | above | ease | chains |"
    )
    print("|---|" + "---:|" * 8)
    old_all, new_all = [], []
    for name in pages():
        now, old = page_text(name, (ROOT / name).read_text("utf-8")), at_commit(commit, name)
        before = None if old is None else page_text(name, old)
        old_all.append(before or "")
        new_all.append(now)
        print(row(name, None if before is None else measured(before), measured(now)))
    print(row("all", measured("\n\n".join(old_all)), measured("\n\n".join(new_all))))


def strings_of_source() -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """(file, [(line, text)]) of every string of the package, docstrings and templates too."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        yield (
            path.relative_to(ROOT).as_posix(),
            [
                (node.lineno, flush(node.value))
                for node in ast.walk(ast.parse(path.read_text("utf-8")))
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
            ],
        )
    for path in sorted((ROOT / "src").rglob("*.j2")):
        yield path.relative_to(ROOT).as_posix(), [(1, of_template(path.read_text("utf-8")))]


def flush(text: str) -> str:
    """A docstring without the indentation of its lines, which `prose` would take for code."""
    return "\n".join(line.lstrip() if ">>>" not in line else "" for line in text.split("\n"))


def of_template(text: str) -> str:
    """The words of a page's template, line by line as before."""
    return re.sub(r"\{%.*?%\}|\{\{.*?\}\}|<[^>]+>", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)


def lint_source() -> int:
    """How many forbidden words stand in the strings of the package; each is printed."""
    wrong = 0
    for name, strings in strings_of_source():
        if not list(faults("\n\n".join(text for _, text in strings))):  # one search is faster than hundreds
            continue
        for line, text in strings:
            for offset, found, instead in faults(text):
                wrong += 1
                print(f"{name}:{line + max(0, offset - 1)}: {found!r}, better: {instead}")
    return wrong


def lint() -> int:
    """1 if a forbidden word stands on a page or in a string of the package."""
    wrong = lint_source()
    for name in pages(places=PLACES + TERSE):
        if name in APART:
            continue
        for line, found, instead in faults(page_text(name, (ROOT / name).read_text("utf-8"))):
            wrong += 1
            print(f"{name}:{line}: {found!r}, better: {instead}")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="*", help="a commit to compare with, or files to measure")
    parser.add_argument("--source", action="store_true", help="the strings of src alone")
    given = parser.parse_args()
    if given.source:
        wrong = lint_source()
        print(f"{wrong} in strings of src")
        return 1 if wrong else 0
    if not given.what:
        return lint()
    files = [Path(one) for one in given.what if Path(one).is_file()]
    if len(files) == len(given.what):
        for path in files:
            found = measured(page_text(path.name, path.read_text("utf-8")))
            print(
                f"{path}: {found.sentences} sentences, {found.long:.0f} % above {LONG} words, "
                f"reading ease {found.ease:.0f}, {found.chains} chains"
            )
        return 0
    for commit in given.what:
        table(commit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
