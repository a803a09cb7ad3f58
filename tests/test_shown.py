"""How values show themselves: ε first, in one line; as HTML in a notebook, where no name acts."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import prepriv


@pytest.fixture(scope="module")
def shown():
    domain = prepriv.Domain({"<i>": prepriv.Numeric(0, 1)}, classes=["<b>", "b"])
    rows = np.random.default_rng(0).random((300, 1))
    clf = prepriv.PrivateClassifier(domain, epsilon=2.0, steps="linear").fit(
        rows, np.array(["<b>", "b"] * 150)
    )
    return {
        "Guarantee": clf.guarantee_,
        "Plan": clf.plan_,
        "Report": clf.report_,
        "Model": clf.model_,
        "Domain": domain,
    }


@pytest.mark.parametrize("name", ["Guarantee", "Plan", "Report", "Model", "Domain"])
def test_one_line_and_a_fragment(shown, name):
    line, page = repr(shown[name]), shown[name]._repr_html_()
    assert "\n" not in line and len(line) < 400
    assert line.startswith(f"{name}(" if name == "Domain" else f"{name}(ε = 2 at δ = 1e-05; ")
    assert "<i>" not in page and "<script" not in page
    if name != "Domain":
        assert "instead of 50%" in page
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, _: tags.append(tag)
    parser.feed(page)
    assert set(tags) <= {"p", "b", "br", "table", "tr", "td"}


@pytest.mark.parametrize("verbose", [False, True])
def test_a_fit_is_quiet_unless_asked(shown, verbose, capsys):
    domain = shown["Domain"]
    rows = np.random.default_rng(0).random((300, 1))
    prepriv.PrivateClassifier(domain, steps="linear", verbose=verbose).fit(rows, np.array(["<b>", "b"] * 150))
    told = capsys.readouterr()
    assert told.out == "" and bool(told.err.strip()) == verbose
