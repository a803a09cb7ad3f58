"""The report: every number comes from the frozen plan."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pytest

from prepriv import Budget, Domain, Report, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.release.report import Evaluation

DOMAIN = Domain.box(0, 1, 3, [0, 1], n=500, missing="impute")
STEPS = (pre.MeanImputer(payment=Sensitivity({"missing": 0.01})), pre.Center(payment=Budget(0.05)))


@pytest.fixture
def plan():
    return make_plan(
        DOMAIN, STEPS, GradientDescent(Logistic(), steps=20, weight_bound=3.0), epsilon=1.0, delta=1e-5
    )


def test_json_carries_the_claim_its_conditions_and_all_prices(plan, tmp_path):
    data = json.loads(Report.of(plan, private=True).save(tmp_path / "r.json").read_text())
    assert data["guarantee"]["epsilon"] <= 1.0 and data["guarantee"]["adjacency"] == "replace-one"
    assert len(data["guarantee"]["conditions"]) == 3
    assert {(p["step"], p["way"]) for p in data["prices"]} == {
        (s, w) for s in ("MeanImputer", "Center") for w in ("public", "budget", "sensitivity")
    }
    assert data["plan_hash"] == plan.hash


def test_html_is_one_well_formed_page_that_needs_nothing_else(plan, tmp_path):
    text = (
        Report.of(plan, private=True, evaluation=Evaluation(10, 0.8, 0.9))
        .save(tmp_path / "r.html")
        .read_text()
    )

    class Check(HTMLParser):
        images, stack = 0, []

        def handle_starttag(self, tag, attrs):
            assert tag != "img"
            if tag == "svg":
                Check.images += 1
                assert dict(attrs)["role"] == "img" and dict(attrs)["aria-label"]
            if tag not in ("meta", "br"):
                Check.stack.append(tag)
            for name, value in attrs:
                assert not (name in ("src", "href") and "//" in (value or "")[:8])

        def handle_startendtag(self, tag, attrs):
            assert tag in ("line", "rect", "polyline", "meta", "br")

        def handle_endtag(self, tag):
            assert Check.stack.pop() == tag

    Check().feed(text)
    assert Check.images == 2 and not Check.stack
    assert "at most 5 of the 500 records miss" in text and "80.00 %" in text
    again = Report.of(plan, private=True, evaluation=Evaluation(10, 0.8, 0.9)).to_html()
    assert again == text


def test_a_run_with_test_noise_claims_nothing(plan):
    report = Report.of(plan, private=False)
    assert report.to_json()["guarantee"] is None
    assert "No privacy is claimed" in report.to_html()


def test_other_endings_are_refused(plan, tmp_path):
    with pytest.raises(ValueError, match=r"\.html or \.json"):
        Report.of(plan, private=True).save(tmp_path / "report.pdf")
    assert np.array_equal(list(tmp_path.iterdir()), [])
