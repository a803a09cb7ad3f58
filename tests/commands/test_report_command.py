"""`prepriv report`: verified against the model, told apart from another's, never written over anything."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import prepriv
from prepriv import Report
from prepriv.cli import run
from prepriv.commands.exits import Stop
from prepriv.commands.verify import differences
from prepriv.release.report import Evaluation, as_text


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(0)
    x = rng.random((600, 2))
    domain = prepriv.Domain.box(0, 1, features=2, classes=["<b>", "high"])
    clf = prepriv.PrivateClassifier(domain, steps="linear", holdout=0.5, evaluate_epsilon=0.5)
    clf.fit(x, np.where(x[:, 0] > 0.5, "high", "<b>"))
    clf.model_.save(folder / "model")
    clf.report_.save(folder / "report.html")
    clf.report_.save(folder / "report.json")
    return folder, clf


@pytest.mark.parametrize("name", ["report.html", "report.json"])
def test_a_report_is_verified_with_the_measurement_it_covers(fitted, name, capsys):
    folder, _ = fitted
    assert run(["report", str(folder / "model"), "--verify", str(folder / name)]) == 0
    assert "verified" in capsys.readouterr().out


def test_weights_are_printed_where_they_are_asked_for(fitted, tmp_path, capsys):
    folder, clf = fitted
    assert run(["report", str(folder / "model"), "--weights"]) == 0
    assert str(clf.model_.coefficients_) in capsys.readouterr().out
    assert run(["report", str(folder / "model"), "--weights", "--json"]) == 0
    found, told = clf.model_.coefficients_, json.loads(capsys.readouterr().out)
    assert "\n".join(told["weights_in_words"]) == str(found)
    assert [(one["name"], one["class"]) for one in told["weights"]] == [(n, None) for n in found.names[:-1]]
    assert [one["weight"] for one in told["weights"]] == found.weights[:-1, 0].tolist()
    assert [one["noise"] for one in told["weights"]] == found.noise[:-1].tolist()
    assert len(found.in_part) == len(found.perhaps_empty) == len(found.names)  # one was shorter
    bent = prepriv.PrivateClassifier(prepriv.Domain.box(0, 1, features=2, classes=["a", "b"]), epsilon=8.0)
    bent.fit(np.linspace(0, 1, 4000).reshape(2000, 2), ["a", "b"] * 1000).model_.save(tmp_path / "bent")
    assert run(["report", str(tmp_path / "bent"), "--weights"]) == 0
    assert "steps: linear" in capsys.readouterr().out


def test_a_model_without_a_score_leads_to_the_page_beside_it(fitted, tmp_path, capsys):
    folder, clf = fitted
    assert run(["report", str(folder / "model")]) == 0
    out = capsys.readouterr().out
    assert f"--verify {folder / 'report.html'}" in out
    assert run(["report", str(folder / "model"), "--verify", str(folder / "report.html")]) == 0
    clf.model_.save(tmp_path / "model")
    assert run(["report", str(tmp_path / "model")]) == 0
    assert "stands beside" not in capsys.readouterr().out


MORE = "<p>In truth this model has ε = 0.01.</p>"


@pytest.mark.parametrize(
    "was, becomes, told",
    [
        ("<b>ε = 1<", "<b>ε = 0.5<", "line "),
        ("<main>", f"<main>{MORE}", MORE),  # beside the true claim, of which no word is changed
        ("</main>", f"{MORE}</main>", MORE),
        ("</style>", ".bad { display: none; }</style>", "display: none"),
        ('<pre id="data">', '<pre id="data" hidden></pre><pre id="data">', "hidden"),
        ("<title>", "<title>\r\n", "title"),
        ("&#34;epsilon&#34;: 1.0", "&#34;epsilon&#34;: 0.5", "data: plan"),
        ("&#34;private&#34;: true", "&#34;private&#34;: false", "evaluation"),
        ("&#34;prices&#34;", "&#34;epsilon&#34;: 0.01, &#34;prices&#34;", "data: epsilon"),
        ("&#34;prices&#34;", "&#34;prices&#34;: [1], &#34;prices&#34;", "line "),  # twice
        ("&#34;confusion&#34;: [", "&#34;confusion&#34;: [[1, 2], ", "evaluation"),
        ("&#34;way&#34;: &#34;budget&#34;", "&#34;way&#34;: &#34;free&#34;", "data: paid"),
        ("&#34;version&#34;: &#34;", "&#34;version&#34;: &#34;9.", "not made by version"),
    ],
)
def test_a_changed_page_is_found_out(fitted, tmp_path, was, becomes, told, capsys):
    folder, _ = fitted
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert was in text
    (tmp_path / "forged.html").write_bytes(text.replace(was, becomes).encode())
    assert run(["report", str(folder / "model"), "--verify", str(tmp_path / "forged.html")]) == 1
    said = capsys.readouterr()
    assert told in said.out + said.err and "verified" not in said.out


@pytest.mark.parametrize(
    "was, becomes", [("{", '{ "epsilon": 0.01,'), ('"private": true', '"private":  true')]
)
def test_changed_data_are_found_out(fitted, tmp_path, was, becomes):
    folder, _ = fitted
    text = (folder / "report.json").read_text(encoding="utf-8")
    (tmp_path / "forged.json").write_text(text.replace(was, becomes, 1), encoding="utf-8")
    assert run(["report", str(folder / "model"), "--verify", str(tmp_path / "forged.json")]) == 1


def test_what_follows_from_no_model_is_named_as_unchecked(fitted, tmp_path, capsys):
    """What was measured on a public table is not verified; its page is checked around it."""
    folder, clf = fitted
    told = Evaluation(10, 0.5, 0.6, "my <table>", ((0.5, 0.4), (1.0, 0.5)))
    made = Report.of(clf.plan_, private=True, evaluation=told, measured=clf.evaluation_, model=clf.model_)
    page = made.save(tmp_path / "r.html")
    assert run(["report", str(folder / "model"), "--verify", str(page)]) == 0
    out = capsys.readouterr().out
    assert (
        "not verified, stated by the report alone: what was measured on a table that was declared public"
        in out
        and "noisy counts" in out
    )
    page.write_text(page.read_text(encoding="utf-8").replace("50.00 %", "99.00 %"), encoding="utf-8")
    assert run(["report", str(folder / "model"), "--verify", str(page)]) == 1


def test_a_measurement_that_no_coins_set_apart_is_not_in_the_claim(fitted):
    """Without coins nothing is known of whose rows it read: the page does not lead with a claim on it."""
    _, clf = fitted
    alone = dataclasses.replace(clf.evaluation_, whole=None)
    page = Report.of(clf.plan_, private=True, measured=alone, model=clf.model_).to_html()
    assert "which states its own claim" in page
    assert "which states its own claim" not in clf.report_.to_html()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"n": NaN}', "<html></html>", '<pre id="data">{</pre>', "[" * 10**5]
)
def test_what_is_no_report_is_one_line(fitted, tmp_path, text, capsys):
    (tmp_path / "r.html").write_text(text)
    assert run(["report", str(fitted[0] / "model"), "--verify", str(tmp_path / "r.html")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "r.html" in said  # of a NaN the model was said to be damaged


def test_the_page_is_made_anew_and_never_over_another(fitted, tmp_path, capsys):
    folder, clf = fitted
    page = tmp_path / "new.html"
    assert run(["report", str(folder / "model"), "--html", str(page), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["plan_hash"] == clf.plan_.hash
    text = page.read_text(encoding="utf-8")
    assert "speaks for high" in text or "positive speaks for high" in text
    assert len(text) < 1_000_000 and "<script" not in text and "http://www.w3.org" in text
    assert run(["report", str(folder / "model"), "--html", str(page)]) == 2
    assert page.read_text(encoding="utf-8") == text


def test_a_model_of_a_number_is_verified_with_its_measurement(tmp_path):
    x = np.random.default_rng(0).random((800, 2))
    domain = prepriv.Domain.box(0, 1, 2, target=prepriv.Numeric(0, 2))
    measures = ("r2", "residuals")
    reg = prepriv.PrivateRegressor(domain, holdout=0.3, evaluate_epsilon=0.5, evaluate_measures=measures)
    reg.fit(x, x.sum(axis=1))
    reg.model_.save(tmp_path / "model")
    reg.report_.save(tmp_path / "report.html")
    assert run(["report", str(tmp_path / "model"), "--verify", str(tmp_path / "report.html")]) == 0
    assert "<title>Residuals</title>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_headline_covers_training_and_measurement(fitted):
    """A measurement that spends more than training is what the page leads with."""
    _, clf = fitted
    page = clf.report_.to_html()
    assert clf.report_.guarantee == clf.guarantee_
    assert page.index(f"ε = {clf.guarantee_.epsilon(1e-5):.4g}"[:5]) < page.index("What was paid for what")


def _places(data, at=()):
    """Each value, object and list of plain data, by the keys that lead there."""
    yield at
    for key, value in (
        data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    ):
        yield from _places(value, (*at, key))


def _with_another(data, at):
    """The same with one more key or entry there, or another value: of a float another last digit, of a text another last letter."""
    data = json.loads(json.dumps(data))
    held, here = None, data
    for key in at:
        held, here = here, here[key]
    if isinstance(here, dict):
        here["more"] = 1
    elif isinstance(here, list):
        here.append("more")
    else:
        other = {bool: lambda: not here, str: lambda: f"{here}.", int: lambda: here + 1}
        last_digit = lambda: float(np.nextafter(here, 2 * here)) if here else -0.0  # noqa: E731
        held[at[-1]] = other.get(type(here), last_digit if isinstance(here, float) else lambda: "more")()
    return data


def test_each_value_of_the_data_of_a_page_is_compared_to_its_last_digit(fitted, tmp_path):
    """An officer's: a record in the last digits of 43 numbers of a page, which was `ok ... every word`. Another one, in the receipt of the measurement, was too.
    One place of each name is tried. The noisy counts are the ledger's to compare, by their hash."""
    folder, clf = fitted
    data = json.loads((folder / "report.json").read_text())
    shapes = {tuple(key for key in at if isinstance(key, str)): at for at in _places(data)}
    passed = set()
    for shape, at in shapes.items():
        (tmp_path / "e.json").write_text(as_text(_with_another(data, at)))
        try:
            wrong, _, digits, _ = differences(tmp_path / "e.json", clf.model_)
        except Stop:
            continue
        if not wrong and not digits:
            passed.add(shape)
    assert len(shapes) > 100 and {shape[:2] for shape in passed} <= {("measured_in_private", "counts")}


@pytest.mark.parametrize("name", ["report.html", "report.json"])
def test_last_digits_are_asked_about_and_the_page_is_made_again_with_those_of_this_machine(
    fitted, tmp_path, name, capsys
):
    folder, _ = fitted
    text, data = (folder / name).read_text(), json.loads((folder / "report.json").read_text())
    figures = enumerate(data["measured_in_private"]["figures"])
    at, figure = next((k, one["noise"]) for k, one in figures if len(str(one["noise"])) > 15)
    edited = tmp_path / name
    edited.write_text(text.replace(repr(figure), repr(float(np.nextafter(figure, 0)))))
    assert edited.read_text() != text
    again = tmp_path / "new.html"
    assert run(["report", str(folder / "model"), "--verify", str(edited), "--html", str(again)]) == 8
    said = capsys.readouterr().out
    assert (
        "but for the last digits" in said
        and f"ASK BEFORE YOU SIGN: what {edited} holds" in said
        and f"figures[{at}].noise" in said
    )
    assert again.read_text() == (folder / "report.html").read_text()
    assert run(["report", str(folder / "model"), "--verify", str(again)]) == 0
