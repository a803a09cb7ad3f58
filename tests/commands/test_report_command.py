"""`prepriv report`: verified against the model, told apart from another's, never written over anything."""

from __future__ import annotations

import json

import numpy as np
import pytest

import prepriv
from prepriv.cli import run


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


@pytest.mark.parametrize(
    "was, becomes, told",
    [
        ("<b>ε = 1<", "<b>ε = 0.5<", "the words of the claim"),
        ("&#34;epsilon&#34;: 1.0", "&#34;epsilon&#34;: 0.5", "plan"),
        ("&#34;private&#34;: true", "&#34;private&#34;: false", "private"),
    ],
)
def test_a_changed_page_is_found_out(fitted, tmp_path, was, becomes, told, capsys):
    folder, _ = fitted
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert was in text
    (tmp_path / "forged.html").write_text(text.replace(was, becomes), encoding="utf-8")
    assert run(["report", str(folder / "model"), "--verify", str(tmp_path / "forged.html")]) == 1
    assert told in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "[]", "<html></html>", '<pre id="data">{</pre>', "[" * 10**5])
def test_what_is_no_report_is_one_line(fitted, tmp_path, text, capsys):
    (tmp_path / "r.html").write_text(text)
    assert run(["report", str(fitted[0] / "model"), "--verify", str(tmp_path / "r.html")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


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
    reg = prepriv.PrivateRegressor(domain, holdout=0.3, evaluate_epsilon=0.5).fit(x, x.sum(axis=1))
    reg.model_.save(tmp_path / "model")
    reg.report_.save(tmp_path / "report.html")
    assert run(["report", str(tmp_path / "model"), "--verify", str(tmp_path / "report.html")]) == 0


def test_the_headline_covers_training_and_measurement(fitted):
    """A measurement that spends more than training is what the page leads with."""
    _, clf = fitted
    page = clf.report_.to_html()
    assert clf.report_.guarantee == clf.guarantee_
    assert page.index(f"ε = {clf.guarantee_.epsilon(1e-5):.4g}"[:5]) < page.index("What was paid for what")
