"""`prepriv report --verify` shows where two lines differ, however long they are."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from markupsafe import escape

import prepriv
from prepriv.cli import run
from prepriv.commands.charged import to_ask
from prepriv.commands.verify import _other_places, lines_apart, values_apart
from prepriv.evaluation.evaluate import evaluate
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.learners import GradientDescent, Logistic
from prepriv.ledger import Ledger
from prepriv.release.page import data_of


def test_what_differs_is_shown():
    alike = "x" * 5000
    said = lines_apart(alike + "ε = 1", alike + "ε = 9")
    assert "ε = 1" in said and "ε = 9" in said and len(said) < 200
    assert lines_apart("a", None) == "'a'; the model's: nothing"
    assert lines_apart("same and more", "same") == "'same and more'; the model's: 'same'"


def test_what_is_not_a_report_of_this_model_is_named(tmp_path, capsys):
    """Two lines that look alike stood for CRLF, and a page of `evaluate` was called damaged."""
    rows, labels = pd.DataFrame({"dose": np.linspace(0, 1, 50)}), ["no", "yes"] * 25
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    clf = prepriv.PrivateClassifier(domain, steps=[], learner=GradientDescent(Logistic(), steps=2), threads=1)
    model = clf.fit(rows, labels).model_
    model.save(tmp_path / "m")
    page, ledger = clf.report_.save(tmp_path / "page.html"), tmp_path / "L.db"
    line = ["report", str(tmp_path / "m"), "--verify"]
    page.write_bytes(page.read_bytes().replace(b"\n", b"\r\n"))
    assert run([*line, str(page)]) == 1
    assert "differs: its line endings alone" in capsys.readouterr().out
    page.write_bytes(
        page.read_bytes() + b"\r"
    )  # `sed 's/$/\\r/'` puts one at the end, too: 2192 more lines differed
    assert run([*line, str(page)]) == 1 and "differs: its line endings alone" in capsys.readouterr().out
    saved = clf.report_.save(tmp_path / "page.json")
    kept = saved.read_text()
    for text, alone in (
        (json.dumps(json.loads(kept)), True),
        (kept.replace("{", '{"version": "0",', 1), False),
    ):
        saved.write_text(text)  # saved by another program, and with a number beside its own
        assert run([*line, str(saved)]) == 1
        assert ("differs: its layout alone" in capsys.readouterr().out) is alone
    for name, content, what in (
        ("page.json", page.read_text(), "is not JSON, as its name says"),  # the model was blamed
        ("page.html", kept, "is not a page (HTML), as its name says"),  # 868 more lines differed
    ):
        (renamed := tmp_path / "renamed" / name).parent.mkdir(exist_ok=True)
        renamed.write_text(content)
        assert run([*line, str(renamed)]) == 1
        told = capsys.readouterr()
        assert f"{renamed} {what}" in told.out + told.err and "more lines" not in told.out
    saved.write_text(kept)
    saved.write_text(saved.read_text().replace("A coin is right 50 times", "A coin is right 70 times"))
    assert run([*line, str(saved)]) == 1
    said = capsys.readouterr().out
    assert "differs: data: summary.parts[" in said and "right 70 times" in said and "right 50 times" in said
    assert run([*line, str(tmp_path / "nosuch.html")]) == 2
    Ledger.create(ledger, "people", epsilon=4, delta=1e-3)
    found = evaluate(plan_evaluation(model, n=50, epsilon=1.0), model, rows, labels, ledger=ledger)
    for name in ("ev.html", "ev.json"):
        copy = found.save(tmp_path / name, ledger=ledger if name == "ev.html" else None)
        assert run([*line, str(copy)]) == 2
        assert "is a measurement" in capsys.readouterr().err
        noted = name == "ev.html"  # a ledger holds one hash beside a charge
        assert run(["ledger", "verify", str(ledger), str(copy)]) == 8
        said = capsys.readouterr().out
        assert said.endswith("exit code 8: not decided, or a question is open\n")
        assert "NOT DECIDED, charge 1" in said
        assert ("its words were not compared with its numbers: give its model" in said) is noted
        assert "no file given is that model" in said
        run(["ledger", "verify", str(ledger), str(copy), str(tmp_path / "m")])
        said = capsys.readouterr().out
        assert ("ASK, see below, charge 1; a score of" if noted else "NOT DECIDED, charge 1") in said
        assert said.count("ASK BEFORE") == said.count("on which rows this score was measured") == int(noted)
    assert "of another file, so this file is not the one that was released" in said
    with (tmp_path / "ev.html").open("a") as opened:
        opened.write(" ")
    assert run(["ledger", "verify", str(ledger), str(tmp_path / "ev.html")]) == 5
    said = capsys.readouterr().out
    assert "its charge 1 paid for a file that is not this one" in said
    assert said.endswith("exit code 5: something is wrong\n")


def test_blanks_are_shown_where_they_are_all_that_differs():
    """`'</html>'; the model's: '</html>'` showed two equal lines."""
    assert lines_apart("</html> ", "</html>") == "'</html> '; the model's: '</html>'"


def test_each_line_that_differs_is_counted_and_a_line_that_was_put_in_moves_no_other():
    """Of eight edits one was shown."""
    lines = [f"line {k}" for k in range(1, 60)]
    assert _other_places(lines, lines) == []
    edited = [one + "!" if k % 10 == 0 else one for k, one in enumerate(lines, 1)]
    assert [at for at, _, _ in _other_places(edited, lines)] == [10, 20, 30, 40, 50]
    assert _other_places([*lines[:4], "new", *lines[4:]], lines) == [(5, "new", None)]
    assert _other_places([*lines[:4], *lines[5:]], lines) == [(5, None, "line 5")]
    assert _other_places(lines[:-1], lines) == [(59, None, "line 59")]
    both = [*edited[:4], "new", *edited[4:-1]]
    assert [at for at, _, _ in _other_places(both, lines)] == [5, 11, 21, 31, 41, 51, 60]
    same = ["a", "a"]
    assert _other_places(["a", "a", "a"], same) == [(3, "a", None)] and len(_other_places(["a"], same)) == 1


def test_how_many_lines_differ_is_said_and_that_no_record_was_written(tmp_path, capsys):
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    clf = prepriv.PrivateClassifier(domain, steps=[], learner=GradientDescent(Logistic(), steps=2), threads=1)
    clf.fit(pd.DataFrame({"dose": np.linspace(0, 1, 50)}), ["no", "yes"] * 25).model_.save(tmp_path / "m")
    page, record = clf.report_.save(tmp_path / "page.html"), tmp_path / "r.yaml"
    text = page.read_text()
    page.write_text(text.replace("ε = 1", "ε = 0.1").replace("<li>", "<li >"))
    line = ["report", str(tmp_path / "m"), "--verify", str(page), "--record", str(record)]
    assert run(line) == 1
    said = capsys.readouterr()
    assert said.out.count("differs: line") == 3 and "more lines differ, at lines" in said.out
    assert "r.yaml was not written" in said.err and not record.exists()
    page.write_text(text)
    assert run(line) == 0 and record.exists()


def test_an_edit_inside_a_measurement_is_named(tmp_path, capsys):
    rows, labels = pd.DataFrame({"dose": np.linspace(0, 1, 50)}), ["no", "yes"] * 25
    domain = prepriv.Domain(
        {"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50, declared_by="K. Lindqvist"
    )
    clf = prepriv.PrivateClassifier(
        domain, steps=[], learner=GradientDescent(Logistic(), steps=2), holdout=0.5, threads=1
    )
    clf.fit(rows, labels).model_.save(tmp_path / "m")
    page = clf.report_.save(tmp_path / "page.html")
    page.write_text(page.read_text().replace("K. Lindqvist", "A. Other"))
    assert run(["report", str(tmp_path / "m"), "--verify", str(page)]) == 1
    assert "measured_in_private.plan.domain.declared_by" in " ".join(capsys.readouterr().err.split())


def test_a_score_says_whose_rows_it_is_about_as_far_as_declared_numbers_show(tmp_path, capsys):
    """Whoever ran it was warned that the rows may be those of the training, and the page said nothing."""
    rows, labels = pd.DataFrame({"dose": np.linspace(0, 1, 50)}), ["no", "yes"] * 25
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    clf = prepriv.PrivateClassifier(domain, steps=[], learner=GradientDescent(Logistic(), steps=2), threads=1)
    model, ledger = clf.fit(rows, labels).model_, tmp_path / "L.db"
    model.save(tmp_path / "m")
    Ledger.create(ledger, "people", epsilon=4, delta=1e-3)
    for n, said in (
        (50, "The model was trained on 50 declared records, and as many test rows"),
        (20, UNKNOWN),
    ):
        plan = plan_evaluation(model, n=n, epsilon=1.0)
        found = evaluate(plan, model, rows[:n], labels[:n], ledger=ledger)
        page = found.save(tmp_path / f"{n}.html", ledger=ledger)
        first, _ = page.read_text(encoding="utf-8").split("The model that was measured is the one")
        assert said in first and said in found.to_json()["which_rows"] and said in str(found)
        assert run(["ledger", "verify", str(ledger), str(page), str(tmp_path / "m")]) == 8
        asked = f"ASK BEFORE YOU SIGN: {page}: on which rows this score was measured"
        assert any(asked in line and said in line for line in capsys.readouterr().out.split("\n"))
    assert "which_rows" not in prepriv.Report.of(model.declared, private=True, model=model).to_json()
    clf.set_params(ledger=ledger).fit(rows, labels).model_.save(tmp_path / "c", ledger=ledger)
    later = clf.evaluate(rows, labels, epsilon=0.5)  # a page by hand with a later score
    with_score = prepriv.Report.of(
        clf.model_.declared, private=True, receipt=clf.model_.receipt, measured=later, model=clf.model_
    )
    assert any("on which rows" in one for one in to_ask(str(ledger), clf.model_, with_score))


UNKNOWN = "Which records these are is not known to prepriv: if the model was trained on them, the score is too good."


def _page(tmp_path, kind):
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    clf = prepriv.PrivateClassifier(domain, steps=[], learner=GradientDescent(Logistic(), steps=2), threads=1)
    clf.fit(pd.DataFrame({"dose": np.linspace(0, 1, 50)}), ["no", "yes"] * 25).model_.save(tmp_path / "m")
    page = clf.report_.save(tmp_path / f"page.{kind}")
    return page, ["report", str(tmp_path / "m"), "--verify", str(page)]


def _with(page, data):
    """A page of these data as a program writes them."""
    text = json.dumps(data, indent=2)
    kept = page.read_text()
    if page.suffix == ".html":
        before, rest = kept.split('<pre id="data">')
        text = f'{before}<pre id="data">{escape(text)}</pre>{rest.split("</pre>", 1)[1]}'
    page.write_text(text)


@pytest.mark.parametrize("kind", ["json", "html"])
def test_layout_alone_is_said_where_nothing_else_differs(tmp_path, capsys, kind):
    """An edited number that a program saved again: one line named it, and the next said that all is the same."""
    page, line = _page(tmp_path, kind)
    kept, data = page.read_text(), data_of(page.read_text())
    _with(page, data)
    assert run(line) == 1
    said = capsys.readouterr().out
    assert said.count("differs: ") == 1 and "differs: its layout alone" in said
    page.write_text(kept)
    data["guarantee"]["epsilon"] = 0.5
    _with(page, data)
    assert run(line) == 1
    said = capsys.readouterr().out
    assert "data: guarantee.epsilon: '0.5'; the model's: '" in said
    assert (
        "s alone" not in said
        and "t alone" not in said
        and "differs: its layout, too" in said
        and said.count("differs: ") == 2
    )
    page.write_bytes(page.read_bytes().replace(b"\n", b"\r\n"))
    assert run(line) == 1
    said = capsys.readouterr().out
    assert "s alone" not in said and "differs: its line endings, too" in said


@pytest.mark.parametrize("kind", ["json", "html"])
def test_what_the_file_alone_holds_is_never_called_the_models(tmp_path, capsys, kind):
    """`nothing; the model's: '"a_note": ...'` laid the text of a forger to the model."""
    page, line = _page(tmp_path, kind)
    mark = (lambda text: str(escape(text))) if kind == "html" else str
    note = '"a_note": "row 7: priors 3",'
    for at in (mark('"version"'), mark('"adjacency"')):
        kept = page.read_text()
        page.write_text(kept.replace(at, f"{mark(note)}\n {at}", 1))
        assert run(line) == 1
        said = capsys.readouterr().out
        assert "a_note: 'row 7: priors 3'; the model's: nothing" in said
        assert "priors" not in "".join(one.split("the model's: ")[-1] for one in said.split("\n"))
        page.write_text(kept)
    first = mark('"version"')
    page.write_text(kept.replace(first, f"{note}\n {first}", 1))
    assert run(line) == 1  # without the marks of a page, too
    assert "the model's: '\"a_note" not in capsys.readouterr().out


def test_marks_of_a_page_that_are_left_out_are_no_layout(tmp_path, capsys):
    """The data are the same, and what a browser shows of them is not."""
    page, line = _page(tmp_path, "html")
    page.write_text(page.read_text().replace(str(escape('"version"')), '"version"', 1))
    assert run(line) == 1
    said = capsys.readouterr().out
    assert "differs: line" in said and "t alone" not in said


@pytest.mark.parametrize("kind", ["json", "html"])
def test_a_number_with_more_digits_than_it_needs_is_no_layout(tmp_path, capsys, kind):
    """Digits that change no value were "all that it states is the same", and they can hold anything."""
    page, line = _page(tmp_path, kind)
    kept = page.read_text()
    longer, times = re.subn(r"(0\.\d{12,17})(?=\D)", r"\g<1>00013", kept, count=1)
    assert times == 1 and data_of(longer) is not None
    page.write_text(longer)
    assert run(line) in (1, 8)
    said = capsys.readouterr().out
    assert "layout alone" not in said and "00013" in said


def test_values_that_differ_in_their_type_alone_are_shown_with_it():
    """Both were printed as '8230'."""
    assert values_apart(8230, "8230", "n") == ["""n: '"8230"'; the model's: '8230'"""]
    assert values_apart(8230, 8231, "n") == ["n: '8231'; the model's: '8230'"]
    assert values_apart(None, "None", "n") == ["""n: '"None"'; the model's: 'null'"""]
