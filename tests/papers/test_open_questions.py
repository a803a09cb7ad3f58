"""`prepriv reproduce open-questions`: what it computes against closed forms and proved bounds, in small."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from scipy.stats import norm

from prepriv import guarantees as g
from prepriv_papers import open_questions as asked

KEPT = json.loads(
    (Path(__file__).parents[2] / "docs/papers/open_questions/numbers.json").read_text(encoding="utf-8")
)


def test_a_gaussian_delta_by_trapezoids_is_the_closed_form() -> None:
    closed = norm.cdf(0.5 - 0.5) - math.exp(0.5) * norm.cdf(-0.5 - 0.5)
    assert asked.gaussian_delta((1.0, 1.0), (0.0, 1.0), 0.5) == pytest.approx(closed, rel=1e-5)


def test_a_start_that_is_shown_is_never_better_hidden_and_both_forget_it() -> None:
    lines = asked.many_steps()
    assert all(0 < line["hidden"] <= line["shown"] * (1 + 1e-6) for line in lines)
    assert lines[0]["hidden over shown"] < 0.75 and lines[-1]["hidden over shown"] > 0.999


def test_shuffled_gaussian_reports_are_exact_for_one_user_and_hide_with_more() -> None:
    lines = asked.shuffled_gaussian()
    assert lines[0]["δ"] == pytest.approx(float(g.gaussian(1.0).delta(0.5)), rel=1e-3)
    deltas = [line["δ"] for line in lines]
    assert deltas == sorted(deltas, reverse=True) and deltas[-1] < 1e-3


def test_an_oracle_for_the_mean_of_gradients_fails_where_dpsgd_does() -> None:
    lines = {line["µ"]: line["accuracy with the oracle"] for line in asked.gradient_means(runs=3)}
    assert lines[1.0] == 100 and all(lines[mu] < 70 for mu in (1000.0, 1e4, 1e5))


def test_a_strongly_convex_extractor_stays_within_its_proved_shift() -> None:
    for line in KEPT["extractors"]:
        assert 0 < line["total shift"] <= line["proved"]


def test_the_kept_numbers_are_those_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs/papers.md").read_text(encoding="utf-8")
    wanted = [f"{line['δ']:.3f}" for line in KEPT["shuffled_gaussian"][:3]]
    wanted += [f"{line['ε composed']:.3g}" for line in KEPT["compositions"]]
    wanted += [f"{line['hidden over shown']:.2f}" for line in KEPT["many_steps"][:4]]
    assert not [w for w in wanted if w not in page]
