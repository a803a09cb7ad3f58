"""What is paid for is answered: whatever the cells are, however few, at any budget that a plan accepts."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv.description import draft, draft_bounds
from prepriv.description.describe import describe_in_private, plan_description
from prepriv.description.description_page import json_text, to_html
from prepriv.description.draft_plan import plan_draft
from prepriv.description.look import LookPart
from prepriv.domain import ADJACENCIES
from prepriv.evaluation.evaluate import evaluate
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession

WIDTHS = (1e-300, 1e-30, 1e-17, 1e-3, 1.0, 60.0, 1e9, 1e17, 1e29, 1e300)
CELLS = ["", "nan", "x", "1e400", "-inf", "0", "-0.0", "1e-320", "7", "é" * 200, "1970-01-01", "True", "\x00"]


def seeds(few: int, many: int) -> list:
    """A few in every run, many in the long one."""
    return [*range(few), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(few, many))]


def column(rng: np.random.Generator, n: int) -> pd.Series:
    """A column of some kind: numbers around some place at some width, few values, gaps, texts, or all sorts of cells."""
    width, kind = float(rng.choice(WIDTHS)), rng.integers(7)
    with np.errstate(all="ignore"):
        numbers = rng.choice([0, 1, -1, 1e6]) * width + width * rng.normal(size=n)
        numbers = numbers if kind else np.round(numbers)
    if kind == 1:
        numbers = np.full(n, numbers[0] if n else 0.0)
    if kind == 2:
        return pd.Series(rng.choice(CELLS, n), dtype=object)
    if kind == 3:
        return pd.Series(rng.choice(CELLS[:4], n), dtype=object)
    if kind == 4:
        return pd.Series(np.where(rng.random(n) < 0.5, np.nan, numbers))
    if kind == 5:
        return pd.Series(rng.choice([np.inf, -np.inf, np.nan, 0.0, 1e308], n))
    return pd.Series(numbers.astype(str) if kind == 6 else numbers)


def table(rng: np.random.Generator) -> pd.DataFrame:
    n = int(rng.choice([1, 2, 3, 7, 50, 400]))
    columns = {f"c{i}": column(rng, n) for i in range(rng.integers(1, 5))}
    return pd.DataFrame(columns | {"y": rng.choice(["a", "b"], n)})


def budget(rng: np.random.Generator) -> dict[str, float]:
    return {
        "epsilon": float(rng.choice([1e-3, 0.05, 1.0, 30.0])),
        "delta": float(rng.choice([1e-9, 1e-5, 0.1])),
    }


def answered(ask):
    """The answer; None where it was refused before anything was charged."""
    before = len(prepriv.spent().fits)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ask()
    except ValueError:
        assert len(prepriv.spent().fits) == before, "it died after the charge"
        return None


def bounds(rng: np.random.Generator) -> Numeric:
    width = float(rng.choice([1e-5, 1.0, 1e9, 1e29]))
    return Numeric(*sorted((float(rng.choice([-1, 0, 1])) * width, width * float(rng.choice([1.5, 2.0])))))


@pytest.mark.parametrize("seed", seeds(10, 1000))
def test_a_draft(seed):
    rng = np.random.default_rng(seed)
    people, how = table(rng), budget(rng) | {"adjacency": str(rng.choice(ADJACENCIES))}
    session = NoisySession(NoiseSource.for_tests(seed))

    def ask():
        plan = plan_draft(people.columns, label="y", n=len(people), **how)
        return draft.draft_in_private(plan, people, session=session)

    made = answered(ask)
    assert made is None or made.text()


@pytest.mark.parametrize("seed", seeds(8, 400))
def test_a_description(seed):
    rng = np.random.default_rng(seed)
    people = table(rng)
    columns = {
        c: bounds(rng) if rng.random() < 0.8 else Categorical(["x", "0"]) for c in people.columns if c != "y"
    }
    domain = Domain(columns, classes=["a", "b"], label="y", adjacency=str(rng.choice(ADJACENCIES)))
    both = sum(isinstance(c, Numeric) for c in columns.values()) > 1
    session = NoisySession(NoiseSource.for_tests(seed))

    def ask():
        plan = plan_description(domain, n=len(people), correlations=both, **budget(rng))
        return describe_in_private(plan, people, session=session)

    made = answered(ask)
    if made is not None:
        assert json_text(made) and to_html(made) and all(str(c) for c in made.columns.values())


@pytest.mark.parametrize("seed", seeds(8, 400))
def test_single_questions(seed):
    rng = np.random.default_rng(seed)
    cells, declared = table(rng)["c0"], bounds(rng)
    how = {
        "epsilon": float(rng.choice([1e-6, 1e-3, 1.0, 100.0])),
        "n": len(cells),
        "adjacency": str(rng.choice(ADJACENCIES)),
        "session": NoisySession(NoiseSource.for_tests(seed)),
    }
    ends = (declared.low, declared.high)
    for made in (
        answered(lambda: prepriv.mean(cells, *ends, **how)),
        answered(lambda: prepriv.count((cells == cells.iloc[0]).to_numpy(), **how)),
        answered(lambda: prepriv.histogram(cells, *ends, bins=5, **how)),
        answered(lambda: prepriv.quantiles(cells, [0.01, 0.5], *ends, **how)),
    ):
        assert made is None or str(made)


@pytest.mark.parametrize("seed", seeds(4, 60))
@pytest.mark.parametrize("classes", [0, 2, 5])
def test_an_evaluation(seed, classes, model_of):
    rng = np.random.default_rng(seed)
    model = model_of(classes)
    n = int(rng.choice([1, 2, 30]))
    rows = np.column_stack([pd.to_numeric(column(rng, n), errors="coerce") for _ in range(2)])
    labels = rng.integers(-1, 7, n)
    session = NoisySession(NoiseSource.for_tests(seed))

    def ask():
        plan = plan_evaluation(model, n=n, **budget(rng))
        return evaluate(plan, model, rows, labels, session=session)

    made = answered(ask)
    if made is not None:
        assert made.to_json() and made.to_html() and str(made)


@pytest.fixture(scope="module")
def model_of():
    """Of classes, or of a number where there are none."""
    made: dict[int, prepriv.Model] = {}

    def of(classes: int) -> prepriv.Model:
        if classes not in made:
            rng = np.random.default_rng(0)
            what = {"classes": list(range(classes))} if classes else {"target": Numeric(0, 5)}
            domain = Domain.box(0, 1, features=2, n=60, **what)
            kind = prepriv.PrivateClassifier if classes else prepriv.PrivateRegressor
            fit = kind(domain, epsilon=5.0, steps="linear").fit(
                rng.random((60, 2)), rng.integers(0, max(classes, 2), 60)
            )
            made[classes] = fit.model_
        return made[classes]

    return of


@pytest.mark.parametrize("n, mu", [(50, 0.1), (100, 0.1)])
@pytest.mark.parametrize("runs", [10, pytest.param(3000, marks=pytest.mark.slow)])
def test_both_ends_of_a_range_on_one_grid_point(n, mu, runs):
    """Of 1,500 such looks nine died."""
    years = np.random.default_rng(0).integers(1940, 2005, n).astype(float)
    session = NoisySession(NoiseSource.for_tests(1))
    for _ in range(runs):
        low, high, _ = draft_bounds.bounds_between(
            LookPart("x", mu), (1024.0, 2048.0), years, n / 4, 0, session
        )
        assert 1000 <= low < high <= 2100


def test_ends_on_one_grid_point_are_widened_by_one_of_its_steps(monkeypatch):
    looks = []

    def narrowed(mu, coarse, *_):
        looks.append(coarse)
        return (1500.0, 1500.0, 0) if len(looks) == 1 else (*coarse, 0)

    monkeypatch.setattr(draft_bounds, "_narrowed", narrowed)
    part = LookPart("x", 1.0)
    assert draft_bounds.bounds_between(part, (1024.0, 2048.0), np.zeros(3), 0, 0, None) == (
        1492.0,
        1508.0,
        "",
    )
    assert looks == [(1024.0, 2048.0), (1492.0, 1508.0)]
