"""The report: every number comes from the frozen plan."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pytest

from prepriv import Budget, Domain, Numeric, Report, Sensitivity, make_plan
from prepriv import guarantees as g
from prepriv import preprocessing as pre
from prepriv.guarantees.in_words import attacker
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.release import pictures
from prepriv.release.page import noise_elsewhere
from prepriv.release.report import Evaluation, paid_for

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


def test_a_report_is_replaced_unless_that_is_forbidden(plan, tmp_path):
    report = Report.of(plan, private=True)
    assert report.save(tmp_path / "r.json") == report.save(tmp_path / "r.json", overwrite=True)
    with pytest.raises(ValueError, match="overwrite=False"):
        report.save(tmp_path / "r.json", overwrite=False)


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
                assert "<desc>" in text
            assert tag != "script"
            if tag not in ("meta", "br"):
                Check.stack.append(tag)
            for name, value in attrs:
                assert not (name in ("src", "href") and "//" in (value or "")[:8])

        def handle_startendtag(self, tag, attrs):
            assert tag in ("line", "rect", "polyline", "circle", "meta", "br")

        def handle_endtag(self, tag):
            assert Check.stack.pop() == tag

    Check().feed(text)
    assert Check.images == 4 and not Check.stack
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


def test_the_claim_is_said_in_words_epsilon_first(plan):
    page = Report.of(plan, private=True).to_html()
    words = attacker(plan.guarantee, "this model")
    assert all(sentence in page for sentence in words)
    assert page.index("ε = ") < page.index("-GDP") and repr(Report.of(plan, private=True)).startswith(
        "Report(ε = "
    )
    assert "MeanImputer is paid for by sensitivity" in page and "what MeanImputer was fitted to" in page


def test_pictures_name_what_a_label_holds_once():
    picture = pictures.svg('<b onload="x">', 10, 10, [pictures.label(0, 0, "&", "start")], "<i>")
    assert picture.count("&lt;b onload=&quot;x&quot;&gt;") == 2 and "&lt;i&gt;" in picture
    assert "&amp;lt;" not in picture and "<b" not in picture


@pytest.mark.parametrize("points", [((0.1, 0.5), (8.0, 0.5)), ((1.0, 0.0), (2.0, 1.0))])
def test_accuracy_over_epsilon_is_drawn_for_any_values(points):
    assert "nan" not in pictures.accuracies(points, None) and "inf" not in pictures.accuracies(points, 1.0)


@pytest.mark.parametrize("mu", [0.01, 1.0, 6.0])
def test_delta_over_epsilon_is_drawn_above_the_curve(mu):
    """Every drawn point lies at or above the certified δ: rounded to less private."""
    f, low, most = g.gaussian(mu), 1e-10, g.gaussian(mu).epsilon(1e-10)
    drawn = pictures.deltas(f, f.epsilon(1e-5), 1e-5).split('points="')[1].split('"')[0]
    for x, y in (map(float, pair.split(",")) for pair in drawn.split()[1:-1]):
        at, value = (x - 60) / 320 * max(most, 1e-3), low ** ((y - 20) / 260)
        assert value * 1.01 >= f.delta(at) or value <= low * 1.01


def test_the_noise_of_another_epsilon_is_that_of_a_plan_made_for_it(plan):
    """Said where accuracy over ε cannot be: it needs no data."""
    told = noise_elsewhere(plan)
    assert [epsilon for epsilon, _ in told] == ["0.5", "2", "4"]
    for epsilon, times in told:
        other = make_plan(DOMAIN, STEPS, plan.learner, epsilon=float(epsilon), delta=1e-5)
        assert float(times) == pytest.approx(other.learner_noise / plan.learner_noise, abs=0.011)
    page = Report.of(plan, private=True).to_html()
    assert f"{told[0][1]} times as large at ε = 0.5" in page
    assert "times as large" not in Report.of(plan, private=False).to_html()


def test_the_report_says_what_a_step_drops_and_what_costs_nothing():
    """ "common rows move by at most 0 in total; noise grows" was said of 18 dropped rows, and of a step that costs nothing."""
    domain = Domain({"b": Numeric(-5, 5)}, classes=[0, 1], n=10_000)

    def said(*steps):
        return paid_for(
            make_plan(
                domain, steps, GradientDescent(Logistic(), steps=2, weight_bound=5.0), epsilon=3.0, delta=1e-6
            )
        )[0][2]

    crowd, cells = (
        pre.Deduplicate(1e-3, payment=Sensitivity()),
        pre.DeduplicateCells(1e-3, payment=Sensitivity()),
    )
    assert said(crowd) == "at most 18 common rows are dropped in one of two neighbours only; noise grows"
    assert said(cells) == "no common row moves or is dropped"
    assert said(pre.Quantize(1e-3, payment=Sensitivity())).startswith("common rows move by at most 0.0")
