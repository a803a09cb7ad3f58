"""Every Python block of a page in docs/ runs, one after the other, and every file it links to is there."""

from __future__ import annotations

import random
import re
import shlex
from pathlib import Path

import pytest

import prepriv
from prepriv.cli import run
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.release.review import unprotected

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("learn/*.md"), *DOCS.glob("reference/*.md")])
OWN = ("describe", "ledger", "evaluate", "scikit-learn")  # tests of their own run them


@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if "```python" in p.read_text("utf-8") and p.stem not in OWN],
    ids=lambda p: p.stem,
)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
        exec(compile(block, page.name, "exec"), names)


def test_a_model_that_the_page_on_deploying_saves_is_decided_by_its_ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block = re.search(r"```python\n(.*?)```", (DOCS / "learn" / "deploying.md").read_text("utf-8"), re.S)
    assert block is not None
    exec(compile(block[1], "deploying.md", "exec"), {})
    assert run(["ledger", "verify", "people.db", "model/model.json"]) == 0


@pytest.mark.parametrize("page", [DOCS.parent / "README.md", *PAGES], ids=lambda p: p.stem)
def test_a_page_that_saves_a_model_says_that_it_is_saved_with_the_ledger_of_its_fit(page):
    """Without it `ledger verify` cannot decide, as a newcomer found."""
    text = page.read_text("utf-8")
    if "model_.save(" in text:
        assert re.search(r"save\([^)\n]*ledger=", text), page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def made_up(path: Path, rows: int) -> None:
    """A table with three columns of the census table and its label."""
    dice = random.Random(0)
    lines = ["age,workclass,hours-per-week,label"]
    for _ in range(rows):
        age, work = dice.randint(17, 90), dice.choice(["Private", "State-gov"])
        lines.append(f"{age},{work},{dice.randint(1, 99)},{'>50K' if age > 50 else '<=50K'}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_the_tutorial_runs_line_by_line(tmp_path, monkeypatch, capsys):
    """On a made-up table of its columns; the printed numbers are of the real one."""
    monkeypatch.chdir(tmp_path)
    made_up(tmp_path / "adult.csv", 3000)
    (tmp_path / "new.csv").write_text("age,workclass,hours-per-week\n44,Private,38\n")
    blocks = re.findall(r"```sh\n(.*?)```", (DOCS / "learn" / "tutorial.md").read_text("utf-8"), re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) >= 8
    for line in lines:
        words = shlex.split(line.replace("48842", "3000"))
        assert words[0] == "prepriv" and run(words[1:]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_commands_of_a_page_exist(page, capsys):
    found = re.findall(r"^(?:\$ )?prepriv ([a-z]+)", page.read_text(encoding="utf-8"), re.M)
    for command in sorted(set(found)):
        assert run([command, "--help"]) == 0, command


OFFICIAL = {
    "pypi.org",
    "github.com",
    "www.tensorflow.org",
    "docs.rs",
}  # the peer's own page, not somebody else's of it


def test_every_cell_about_a_peer_cites_its_page():
    text = (DOCS / "learn" / "comparison.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| [")]
    assert len(rows) >= 6
    for row in rows:
        assert len(row) == 4 and all("](https://" in cell for cell in row[:3]), row[0]
        assert "](" in row[3], row[0]  # of ours: what shows it, or the peer's page that it is held against
        outside = re.findall(r"https://([^/)]+)", "|".join(row))
        assert set(outside) <= OFFICIAL, row[0]


def test_every_page_is_on_the_site():
    """Named in a table of contents; those that lie in docs/ itself are matched by `*` of why-it-holds.md."""
    listed = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("how-to.md", "learn/index.md"))
    for page in DOCS.glob("learn/*.md"):
        assert re.search(rf"^(learn/)?{page.stem}$", listed, re.M) or page.stem == "index", page


def test_the_assessment_files_what_the_page_of_a_model_says_about_its_schema():
    """The page to copy from said that declared bounds are covered, and a report says that they are not."""
    text = (DOCS / "learn" / "impact-assessment.md").read_text(encoding="utf-8")
    columns = {"dose": prepriv.Numeric(0, 1)}
    domain = prepriv.Domain(columns, classes=["no", "yes"], n=50)
    plan = prepriv.make_plan(domain, [], GradientDescent(Logistic()), epsilon=1.0, delta=1e-5)
    report = prepriv.Report.of(plan, private=True)
    assert "The declared schema (columns, bounds, categories" in unprotected(report)
    declared, drafted = re.findall(
        r"^> (.*takes the[ms]e? as given and does not protect them.*)$", text, re.M
    )
    assert declared.startswith("Columns, bounds, categories") and "includes that draft" in drafted
    assert "Preparing the data (bounds" not in text
    shown = report.to_html() + (Path(prepriv.__file__).parent / "release/report.html.j2").read_text("utf-8")
    named = {
        name for said in re.findall(r"on the page, ([^|.(]*)", text) for name in re.findall("`([^`]+)`", said)
    } | set(re.findall(r"`([A-Z][^`]*)` on the page", text))
    unscored = {"How good it is", "For whom it fails", "One row, one person"}
    assert len(named) >= 6 and all(name in shown for name in named - unscored), named
