"""What the commands print about tables is true of them: each number, and each sentence, against the raw rows.

A very large ε leaves hardly any noise, so what is printed is the exact number, up to its last digit.
"""

from __future__ import annotations

import html
import json
import math
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from every_sentence import (
    agrees,
    check_lines,
    check_sentence,
    interval,
    quantile_agrees,
    read,
    table_lines,
    told_agrees,
)
from known_rows import Case, Known, cases, numbers

import prepriv
from prepriv.cli import run
from prepriv.commands import printing
from prepriv.description.asked import plan_questions
from prepriv.description.estimates import Estimate
from prepriv.evaluation import holdout
from prepriv.evaluation.cells import row_entries
from prepriv.evaluation.evaluate import release
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.schemas.schema import load_schema
from prepriv.tables.encoding import encode, encode_labels, encode_targets
from prepriv.tables.units import by_unit

EPSILON = "1000000"
CASES = {case.name: case for case in cases()}
TITLES = ("How good it is", "For whom it fails", "What to do about it")


@pytest.fixture
def wide(tmp_path, monkeypatch):
    """A screen without line breaks, coins that are known, and a folder."""
    plain = printing.PlainConsole
    monkeypatch.setattr(printing, "PlainConsole", lambda width=None: plain(width=4000))
    monkeypatch.setattr(printing.console, "_width", 4000)
    monkeypatch.setattr(holdout, "record_coins", lambda n, share, session: coins(n))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def coins(n: int) -> np.ndarray:
    """Which records are set aside."""
    return np.random.default_rng(5).random(n) < 0.5


def printed(capsys, *command: str) -> list[str]:
    """The lines that a command prints."""
    assert run([*command]) == 0, capsys.readouterr().err
    told = capsys.readouterr()
    print(told.err, file=sys.stderr)  # for who reads it after this
    return [line.rstrip() for line in told.out.splitlines()]


def predicted(case: Case, table: pd.DataFrame, capsys) -> tuple[object, object]:
    """What the model says about each row, and the chances of the classes: as `prepriv predict` writes them."""
    table.drop(columns="y").to_csv("new.csv", index=False)
    told = printed(
        capsys, "predict", "run", "new.csv", "--out", "p.csv", *(["--proba"] if case.classes else [])
    )
    found = pd.read_csv("p.csv", dtype=str, keep_default_na=False)
    if not case.classes:
        return found.prediction.to_numpy(float), None
    return found.prediction.to_numpy(), found[[f"p({c})" for c in case.classes]].to_numpy(
        float
    ) if told else None


def measured_rows(case: Case, table: pd.DataFrame, made: dict, capsys) -> Known:
    """The rows that a measurement is about."""
    said, chances = predicted(case, table, capsys)
    known = Known(case, table.reset_index(drop=True), said, chances, made["plan"].get("error_bound"))
    groups = [(None, made["figures"]), *((g["group"], g["figures"]) for g in made.get("groups", []))]
    known.seen["noise"] = {(g, f["name"]): f["noise"] or 0.0 for g, figures in groups for f in figures}
    known.seen["figures"] = made["figures"]
    known.seen["measures"] = [*made["plan"]["evaluation"]]
    known.seen["differences"] = [d for d in made.get("differences", []) if d["low"] is not None]
    check_lines(capsys.readouterr().err.splitlines(), known)  # how `predict` read the cells
    return known


def check_tables(lines: list[str], known: Known) -> None:
    """Each cell of the tables of a measurement."""
    told = 0
    for title, heads, cells in table_lines(lines):
        name, *rest = cells
        if title == "Measured":
            value, ends = rest[0], rest[1].split(" to ")
            exact = known.figure(name)
            assert value == "refused" or agrees(
                exact, value, ends[0], ends[1], known.seen["noise"][None, name]
            ), cells
        elif title.startswith("Groups of g"):
            for group, cell in zip(heads[1:], rest):
                exact, found = known.figure(name, group), interval(cell)
                if found is None:
                    assert exact is None or name == "R2" or known.group(group).sum() <= 5, (
                        known.case.name,
                        group,
                        name,
                        exact,
                    )
                else:
                    assert agrees(exact, *found, known.seen["noise"][group, name]), (name, group, cell, exact)
        elif title == "Differences":
            what, one, two = re.fullmatch(r"(.*), (\w+) less (\w+)", name).groups()
            a, b = known.figure(what, one), known.figure(what, two)
            noise = np.hypot(*(known.seen["noise"][g, what] for g in (one, two)))
            assert a is None or b is None or agrees(a - b, *interval(rest[0]), noise), (cells, a - b)
        elif title == "Thresholds":
            above = float(cells[0])
            of = re.match(r"probability of (.*) above", heads[0])[1]
            own, k = known.labelled(), known.case.classes.index(of)
            yes, truly = known.chances[own, k] >= above, (known.table.y == of).to_numpy()[own]
            for exact, cell in ((yes[truly].mean(), cells[2]), (truly[yes].mean(), cells[3])):
                assert agrees(exact, *interval(cell), 0.01), (cells, exact)
            assert abs(float(cells[1]) / ((1 - above) / above) - 1) < 0.01
        else:
            assert title == "What was paid for what", title
            continue
        told += 1
    assert told


def text_of(page: Path) -> list[str]:
    """The lines of a page, without its marks."""
    text = re.sub(r"</?code>", "`", page.read_text())
    return [line.strip() for line in html.unescape(re.sub(r"<[^>]*>", "\n", text)).splitlines()]


def sentences(made: dict) -> list[str]:
    """Of the parts of a report that are about rows."""
    return [s for part in made["summary"]["parts"] if part["title"] in TITLES for s in part["sentences"]]


@pytest.mark.parametrize("name", ["few", "rare", "gaps"])
def test_what_it_says_where_noise_leaves_little(name, wide, capsys):
    """At ε = 1 no sentence says more than the rows do: what is too little beside the noise is not named, or told."""
    check_training(CASES[name], ["--evaluate-epsilon", "1"], wide, capsys)


@pytest.mark.parametrize("name", CASES)
def test_what_a_training_says_about_the_rows_that_it_set_aside(name, wide, capsys):
    check_training(CASES[name], [], wide, capsys)


FAINT = CASES["balanced"].table.x.astype(float).to_numpy() / 100
NOISY = {  # the chance of "yes" of each row, and what is said of training whose sums look like noise alone
    "the probabilities tell": (0.05 + 0.4 * FAINT, "its probabilities tell the classes apart."),
    "it tells": (0.35 + 0.3 * FAINT, "it tells the classes apart."),
    "nobody knows": (np.full(len(FAINT), 0.4), "nor does what was measured of all records."),
    "it beats the commonest": (FAINT, ""),
}


@pytest.mark.parametrize("name", NOISY)
def test_what_it_says_of_training_that_looks_like_noise(name, wide, capsys, monkeypatch):
    """A page said "measure it before you use it", and doubted the labels, above "it does tell the classes apart"."""
    monkeypatch.setattr("prepriv.runs.noise_alone.NoisySums.alone", lambda _: True)
    chance, told = NOISY[name]
    drawn = np.random.default_rng(3).random(len(chance)) < chance
    case = CASES["balanced"]
    table = case.table.assign(y=np.where(drawn, "yes", "no"))
    said = check_training(replace(case, name=name, table=table), [], wide, capsys)
    first = [s for s in said if "its noise by itself" in s or "more than noise" in s]
    assert len(first) == bool(told) and all(told in s for s in first)
    assert not any("measure it before" in s or "declared class" in s for s in said)


def check_training(case: Case, more: list[str], wide: Path, capsys) -> list[str]:
    """Of a training with a holdout, everything that is printed and written. Gives the sentences about rows."""
    (wide / "s.yaml").write_text(case.schema)
    case.table.to_csv("t.csv", index=False)
    asked = ["--epsilon", EPSILON, "--holdout", "0.5", "--by", "g", *more]
    lines = printed(capsys, "train", "t.csv", "--schema", "s.yaml", *asked)
    report = json.loads((wide / "run" / "report.json").read_text())
    aside = coins(len(case.table))
    known = measured_rows(case, case.table[aside], report["measured_in_private"], capsys)
    noise = report["measured_in_private"]["plan"]["noise_multiplier"]
    known.seen["few"] = 0 if not more else 10 * noise * math.sqrt(2 * len(case.groups) * 4)
    said = sentences(report)
    page = text_of(wide / "run" / "report.html")
    for sentence in said:
        assert f"  {sentence}" in lines and sentence in page, sentence
        check_sentence(sentence, known)
    if not more:
        check_tables(lines, known)
    check_lines(lines, known)
    return said


GROUPS = ["--by", "g"]
MEASURED = {  # case: how it is measured, one after another, with one model
    "gaps": [GROUPS, ["--measure", "scores"], [*GROUPS, "--measure", "confusion"]],
    "odd names": [GROUPS, ["--measure", "accuracy"], ["--measure", "log_loss"]],
    "balanced": [[], [*GROUPS, "--measure", "accuracy"]],
    "few": [[]],
    "numbers with gaps": [
        GROUPS,
        [],
        ["--error-bound", "60"],
        ["--error-bound", "60", "--measure", "residuals"],
    ],
    "wide bounds": [
        [],
        ["--measure", "residuals"],
        *([*GROUPS, "--measure", what] for what in ("absolute_error", "squared_error", "r2")),
    ],
}


@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("name", MEASURED)
def test_what_an_evaluation_says_about_the_rows_of_its_file(name, adjacency, wide, capsys):
    """Where the number of rows is private, another one is declared."""
    case, public = CASES[name], adjacency == "replace-one"
    trained = len(case.table) // 3
    declared = trained if public else round(1.1 * trained)
    (wide / "s.yaml").write_text(
        case.schema.replace(f"rows: {len(case.table)}", f"rows: {declared}\nadjacency: {adjacency}")
    )
    case.table[:trained].to_csv("t.csv", index=False)
    rows = case.table[trained:]
    rows.to_csv("u.csv", index=False)
    assert run(["train", "t.csv", "--schema", "s.yaml", "--epsilon", EPSILON]) == 0
    capsys.readouterr()
    n = len(rows) if public else round(0.95 * len(rows))
    for k, options in enumerate(MEASURED[name]):
        asked = ["--epsilon", EPSILON, "--rows", str(n), *options, "--out", f"{k}.json"]
        lines = printed(capsys, "evaluate", "run", "u.csv", *asked)
        known = measured_rows(case, rows, json.loads((wide / f"{k}.json").read_text()), capsys)
        known.seen.update({"trained on": declared, "rows": n})
        check_lines(lines, known)
        check_tables(lines, known)


@pytest.mark.parametrize("trained", [400, 800])
@pytest.mark.parametrize("name", ["balanced", "rare", "wide bounds", "no slope"])
def test_what_python_says(name, trained, capsys):
    """`print(model.evaluate(...))` without groups, of `fit` in Python."""
    case = CASES[name]
    columns = {"x": prepriv.Numeric(0, 100), "g": prepriv.Categorical(case.groups)}
    declared = {"classes": case.classes} if case.classes else {"target": prepriv.Numeric(*case.ends)}
    domain, rows = prepriv.Domain(columns, **declared), case.table.assign(x=numbers(case.table.x))
    label = rows.y if case.classes else numbers(rows.y)
    made = prepriv.PrivateClassifier if case.classes else prepriv.PrivateRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the large ε
        model = made(domain, epsilon=float(EPSILON), steps="linear").fit(rows[:trained], label[:trained])
        scored = model.evaluate(rows[trained:], label[trained:], epsilon=float(EPSILON))
    chances = model.predict_proba(rows[trained:]) if case.classes else None
    known = Known(case, case.table[trained:], model.predict(rows[trained:]), chances, scored.plan.error_bound)
    known.seen["noise"] = {(None, f.name): f.noise or 0.0 for f in scored.figures.values()}
    known.seen["measures"], known.seen["trained on"] = [*scored.plan.measures], trained
    if not case.classes:  # which a sentence before the figures is about
        r2 = scored["R2"]
        known.seen["R2", None] = {"low": repr(r2.low), "high": repr(r2.high)}
    check_lines(str(scored).splitlines(), known)
    said = [word for word in ("Nothing in these numbers", "no change only if") if word in str(scored)]
    if said:  # not under "may be those of the training"
        assert said == ["no change only if" if trained <= 1200 - trained else "Nothing in these numbers"]


def described(case: Case, known: Known, column: str, what: str, group: str | None, text: str) -> bool:
    """Whether a line of a description is true."""
    own = known.group(group)
    if text == "too few to say":  # of one cell, or of several that share a line
        return True
    if text.startswith("left out: "):  # of quantiles
        return group is not None and what.startswith("quantile ")
    if empty := re.fullmatch(r"not shown to be above 0 \(95 %: each at most (.*)\)", text):
        most = float(empty[1].replace(",", ""))
        cells = [cell for cell in what.split("; ") if not re.fullmatch(r"and [\d,]+ more", cell)]
        return all(known.told(cell, column, own) <= most for cell in cells)
    if what.startswith("quantile "):
        return quantile_agrees(known.cut(column, own), float(what.split()[1]), text)
    return told_agrees(known.told(what, column, own), text)


@pytest.mark.parametrize("name", ["gaps", "one tiny group", "truth values", "log"])
def test_what_a_description_says(name, wide, capsys):
    case = CASES[name]
    (wide / "s.yaml").write_text(case.schema)
    case.table.to_csv("t.csv", index=False)
    known, told = Known(case, case.table), 0
    for more in ([], ["--by", "g"], *([] if case.classes else [["--correlations"]])):
        lines = printed(capsys, "describe", "t.csv", "--schema", "s.yaml", "--epsilon", EPSILON, *more)
        check_lines(lines, known)
        # a tenth and more of the cells of y are gaps
        assert any("in part about who has a gap" in line for line in lines) == ("--correlations" in more)
        for title, _, (what, *rest) in table_lines(lines):
            of_group = re.fullmatch(r"g = (\w+): (.*) rows", title)
            if title.startswith("Each with the 95 %"):
                assert described(case, known, what, rest[0], None, rest[1]), (what, rest)
            elif of_group:
                assert told_agrees(known.count(known.group(of_group[1])), of_group[2]), title
                assert described(case, known, what, rest[0], of_group[1], rest[1]), (title, what, rest)
            elif title == "Correlations":
                assert told_agrees(known.correlation(what, rest[0]), rest[1]), (what, rest)
                told += 1
            elif rest == ["not shown to differ from 0"]:
                assert title == "Differences" and re.fullmatch(r"[\d,]+ more", what), what
            elif title == "Differences":
                found = re.fullmatch(
                    r"(share missing|mean|deviation|share) of (\w+)(?: = (.*))?, (\w+) less (\w+)", what
                )
                if found:
                    figure, column, cell, *pair = found.groups()
                    one, two = (known.told(cell or figure, column, known.group(g)) for g in pair)
                    if cell is not None:
                        one, two = (x / max(known.group(g).sum(), 1) for x, g in zip((one, two), pair))
                    assert told_agrees(one - two, rest[0]), (what, rest, one - two)
                else:
                    assert what.startswith("quantile "), what
            else:
                assert title.startswith("Numbers are cut"), title
            told += 1
    assert told > 40


ASKED = (
    *("count by g", "share(g)", "share(h) by g", "crosstab(g, h)", "histogram(h) by g", "mean(x)", "sum(x)", "variance(x)"),
    *("deviation(x) by g", "mean(x) by g", "sum(x) by h", "missing(x)", "missing(x) by g", "median(x)", "histogram(x, 5)"),
)  # fmt: skip


def answer_is_true(known: Known, question: str, what: str, text: str) -> bool:
    """Whether one number of an answer is the exact one."""
    kind, column, _, by = re.fullmatch(r"(\w+)(?:\((\w+)(?:, (\w+))?\))?(?: by (\w+))?", question).groups()
    other = _
    first, second = (what.split(", ") + [""])[:2]
    every = np.ones(len(known.table), bool)
    if kind == "crosstab":
        return told_agrees(known.count(every, **{column: first, other: second}), text)
    if kind == "histogram" and column == "x":
        low, high = (float(edge.removeprefix("below ").replace(",", "")) for edge in what.split(" to "))
        there = known.cut("x", every)
        return told_agrees(((there >= low) & ((there < high) | (high == 100) & (there == 100))).sum(), text)
    own = every if by is None else known.where(by, first)
    if kind == "count":
        return told_agrees(own.sum(), text)
    if kind in ("share", "histogram"):
        found = known.count(own, **{column: first if by is None else second})
        return told_agrees((found / own.sum() if own.any() else None) if kind == "share" else found, text)
    if kind == "median":
        return quantile_agrees(known.cut(column, own), 0.5, text)
    of_missing = float(np.isnan(numbers(known.table[column]))[own].mean()) if own.any() else None
    return told_agrees(of_missing if kind == "missing" else known.told(kind, column, own), text)


@pytest.mark.parametrize("name", ["gaps", "one tiny group"])
def test_what_an_answer_says(name, wide, capsys):
    case = CASES[name]
    (wide / "s.yaml").write_text(case.schema)
    case.table.to_csv("t.csv", index=False)
    known, told = Known(case, case.table), 0
    lines = printed(
        capsys, "ask", "t.csv", *ASKED, "--schema", "s.yaml", "--epsilon", EPSILON, "--out", "a.json"
    )
    check_lines(lines, known)
    doc = json.loads((wide / "a.json").read_text())
    saved = doc["answers"]
    assert [*saved] == [*ASKED]
    for title, _, (question, what, *rest) in table_lines(lines):
        if not title.startswith("Each with the 95 %"):
            assert title.startswith(("Numbers are cut", "What is released")), title
            continue
        empty = re.fullmatch(r"not shown to be above 0 \(95 %: each at most (.*)\)", rest[0])
        for cell in [] if empty or rest[0] == "too few to say" else [what]:
            names = doc["named_by"].get(question, [])
            if len(names) > 1:  # each value says whose it is, in the order of the file
                parts = dict(part.split("=") for part in cell.split(", "))
                assert [*parts] == names
                cell = ", ".join(parts.values())
            assert answer_is_true(known, question, cell, rest[0]), (question, what, rest)
            found = saved[question]
            for part in filter(None, cell.split(", ") if question != "histogram(x, 5)" else []):
                found = found[part]
            assert "value" not in found or str(Estimate(**found)) == rest[0], (found, rest)
        told += 1
    assert told > 40
    for question, found in saved.items():  # all that the screen leaves out
        for cell, e in [] if "edges" in found else cells_of(found):
            text = "too few to say" if e["value"] is None else str(Estimate(**e))
            assert answer_is_true(known, question, cell, text), (question, cell, text)


@pytest.mark.parametrize("command", ["describe", "ask"])
def test_what_is_said_where_somebody_has_several_rows(command, wide, capsys):
    """An officer took 58 children, positive in the one row that is read, for all children who ever were."""
    rng, case = np.random.default_rng(11), CASES["balanced"]
    place = rng.permutation(len(case.table))
    table = case.table.assign(
        x=(place * 100 / len(place)).round(3).astype(str), who=rng.integers(0, 400, len(place)).astype(str)
    )
    n = table.who.nunique()
    counted = f"rows: {n}\nunit: who\nrows_per_unit: 3\n"
    (wide / "s.yaml").write_text(case.schema.replace(f"rows: {len(table)}\n", counted))
    table.to_csv("t.csv", index=False)
    asked = ("count by g", "mean(x)", "histogram(h)")
    plan = plan_questions(load_schema("s.yaml").domain(), asked, epsilon=1.0, n=n)
    domain, labels = (plan.domain, None) if command == "ask" else (load_schema("s.yaml").domain(), table.y)
    read = 100 * by_unit(table, labels, domain, n)[0].columns[list(domain.columns).index("x")]
    known = Known(case, table[np.isclose(numbers(table.x)[:, None], read, atol=1e-6).any(axis=1)])
    known.seen["rows of all"] = table
    more = asked if command == "ask" else ()
    lines = printed(capsys, command, "t.csv", *more, "--schema", "s.yaml", "--epsilon", EPSILON)
    assert sum(line.startswith(("One row of each `who`", "counts 'who'")) for line in lines) == 2
    check_lines(lines, known)
    told = 0
    for title, _, (what, *rest) in table_lines(lines):
        if title.startswith("Each with the 95 %"):
            true = answer_is_true if command == "ask" else described_all
            assert rest[-1].startswith("not shown") or true(known, what, rest[0], rest[1]), (what, rest)
            told += 1
    assert told >= 7


def described_all(known: Known, column: str, what: str, text: str) -> bool:
    """Whether a line about all rows of a description is true."""
    return described(known.case, known, column, what, None, text)


def cells_of(found: dict, *names: str) -> Iterator[tuple[str, dict]]:
    """(cell, number) of an answer as it is saved."""
    if "value" in found:
        yield ", ".join(names), found
    else:
        for name, inner in found.items():
            yield from cells_of(inner, *names, name)


@pytest.mark.parametrize("name", ["balanced", "wide bounds"])
def test_printed_intervals_hold_at_a_usual_epsilon(name):
    """Drawn at the layer of the release: of each figure, all and of each group, the printed interval holds the exact number of the rows."""
    case = CASES[name]
    columns = {"x": prepriv.Numeric(0, 100), "g": prepriv.Categorical(case.groups)}
    declared = {"classes": case.classes} if case.classes else {"target": prepriv.Numeric(*case.ends)}
    domain, rows = prepriv.Domain(columns, **declared), case.table.assign(x=numbers(case.table.x))
    label = rows.y.to_numpy() if case.classes else numbers(rows.y)
    made = prepriv.PrivateClassifier if case.classes else prepriv.PrivateRegressor
    fitted = made(domain, epsilon=float("inf"), steps="linear").fit(rows, label)
    chances = fitted.predict_proba(rows) if case.classes else None
    model, plan = fitted.model_, plan_evaluation(fitted.model_, n=len(rows), epsilon=1.0, by="g")
    known = Known(case, case.table, fitted.predict(rows), chances, plan.error_bound)
    targets = encode_labels(label, case.classes) if case.classes else encode_targets(label, domain)
    entries = row_entries(plan, model, encode(rows, model.domain), targets)
    held = []
    for seed in range(25):
        counts = release(plan, entries, NoisySession(NoiseSource.for_tests(seed)))
        scored = PrivateEvaluation(plan, counts, True)
        for group, figures in [(None, scored.figures), *((k, g.figures) for k, g in scored.groups.items())]:
            for figure in figures.values():
                exact, found = known.figure(figure.name, group), interval(figure.interval)
                if found is not None and exact is not None:
                    held.append(read(found[1]) <= exact <= read(found[2]))
    assert len(held) > 200 and np.mean(held) > 0.95
