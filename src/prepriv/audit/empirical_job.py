"""What is audited of the job around a training: a description, a drafted schema, a choice among candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from prepriv._arrays import Floats
from prepriv.audit.empirical import Experiment
from prepriv.columns import Categorical, Column, Numeric
from prepriv.description.answers import release_pieces
from prepriv.description.ask import unread_table
from prepriv.description.asked import plan_questions
from prepriv.description.describe import plan_description, release_description
from prepriv.description.draft import release_draft
from prepriv.description.draft_plan import plan_draft
from prepriv.description.look import multiplier
from prepriv.domain import Domain
from prepriv.evaluation.candidates import Candidate
from prepriv.evaluation.choose import carry_out, plan_choice
from prepriv.guarantees.random_trials import random_trials
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.mechanisms.coins import trial_numbers
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.mechanisms.stability_histogram import StabilityHistogram
from prepriv.tables.encoding import encode, encode_labels


def job_experiments() -> dict[str, Callable[[], Experiment]]:
    """Every experiment by name; each is built when it is called for."""
    return {
        "description": description,
        "questions in groups": question_experiments,
        "private draft": private_draft,
        "choice": lambda: chosen("same rows"),
        "choice by trials": lambda: chosen("random trials"),
        "random trials": best_of_trials,
    }


def description(epsilon: float = 4.0) -> Experiment:
    """All that is released of a table, from end to end: one record goes from one end of every column to the other."""
    domain = Domain({"a": Numeric(0, 1), "b": Categorical(("x", "y"))}, ("n", "y"), label="y", n=41)
    plan = plan_description(domain, epsilon=epsilon, delta=1e-3, quantiles=[0.5], bins=2)
    rest: dict[str, list[Any]] = {"a": [0.25, 0.75] * 20, "b": list("xy" * 20), "y": list("ny" * 20)}
    tables = [
        pa.table({k: [first[k], *rest[k]] for k in rest})
        for first in ({"a": 0.0, "b": "x", "y": "n"}, {"a": 1.0, "b": "y", "y": "y"})
    ]

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        out = np.empty(runs)
        for i in range(runs):
            columns: dict[str, Any] = {}
            columns |= release_description(plan, tables[neighbour], NoisySession(source)).columns
            a, b, y = columns["a"], columns["b"].counts, columns["y"].counts
            # Of each, how far it moves over its variance: the best weights of independent Gaussians.
            pairs = ((a.counts[1], a.counts[0]), (b["y"], b["x"]), (y["y"], y["n"]))
            out[i] = sum((up.value - down.value) / up.error**2 for up, down in pairs)
            out[i] += a.mean.value / 41 / a.mean.error**2 if a.mean.error > 0 else 0.0
        return out

    return Experiment("description", plan.look.guarantee.tradeoff, draw)


def question_experiments(epsilon: float = 4.0) -> Experiment:
    """Sums, products, counts and a quantile in groups: one record leaves a group with its cells and enters another with others."""
    columns: dict[str, Column] = {"a": Numeric(-1, 1), "b": Numeric(-1, 1), "g": Categorical(("x", "y"))}
    asked = ["sum(a) by g", "covariance(a, b) by g", "count by g", "median(a) by g"]
    plan = plan_questions(columns, asked, epsilon=epsilon, delta=1e-3, n=5)
    rest: dict[str, list[Any]] = {"a": [0.1, -0.1] * 2, "b": [0.0] * 4, "g": list("xyxy")}
    kinds = ({"a": 1.0, "b": 1.0, "g": "x"}, {"a": -1.0, "b": -1.0, "g": "y"})
    rows = [unread_table(plan, pa.table({k: [kind[k], *rest[k]] for k in rest})).read(0) for kind in kinds]

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        out = np.empty(runs)
        for i in range(runs):
            noisy = release_pieces(plan, rows[neighbour], NoisySession(source))
            a, pairs = noisy["moments", "a", "g"], noisy["pairs", "a", "b", "g"]
            where, counts = noisy["quantile", "a", 0.5, "g"], noisy["counts", ("g",)]
            # How far each coordinate moves over the variance of its noise: the best weights of independent Gaussians.
            left, entered = np.array([0.8, 1.0, 0.6]), np.array([0.8, -1.0, 0.6])
            out[i] = (
                (a[0] @ left - a[1] @ entered) / 4 + (counts[0] - counts[1]) / 2 + (where[0] + where[1]) / 8
            )
            out[i] += (
                pairs[0] @ np.array([1.0, 1.0, 1.0, 1.0]) - pairs[1] @ np.array([1.0, -1.0, -1.0, 1.0])
            ) / 8
        return -out

    return Experiment("questions in groups", plan.look.guarantee.tradeoff, draw)


def private_draft(epsilon: float = 6.0) -> Experiment:
    """A drafted schema, from end to end: a category and a class near the threshold, which one record more makes likelier."""
    n = 60
    plan = plan_draft(["a", "y"], label="y", n=n, epsilon=epsilon, delta=0.05)
    part = plan.look["label"]
    threshold = StabilityHistogram(
        noise_multiplier=multiplier(part), delta=part.delta, adjacency="replace-one"
    )
    rare = round(threshold.least)
    tables = [
        pa.table({"a": ["lone"] * k + ["common"] * (n - k), "y": ["no"] * k + ["yes"] * (n - k)})
        for k in (rare, rare - 1)
    ]

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        drafts = (release_draft(plan, tables[neighbour], NoisySession(source)) for _ in range(runs))
        return np.array([-1.0 * ("lone" in str(d.columns.get("a"))) - ("no" in d.classes) for d in drafts])

    return Experiment("private draft", plan.look.guarantee.tradeoff, draw)


def chosen(method: str, epsilon: float = 12.0) -> Experiment:
    """The winner of a choice and which it is, from end to end: one record is turned around."""
    n = 12
    domain = Domain.ball(2, (0, 1))
    candidates = [
        Candidate(steps=(), learner=GradientDescent(Logistic(), steps=s, clip_norm=0.05)) for s in (1, 2)
    ]
    session = NoisySession(NoiseSource.for_tests(5))
    plan, parts = plan_choice(
        candidates, domain, n, (epsilon, 1e-3), holdout=0.3, method=method, session=session
    )
    assert parts is not None
    parts = np.sort(parts)[::-1]  # an outcome of the coins in which the record is trained on
    data = {
        neighbour: (
            encode(np.array([[1.0, 0.0]] + [[0.0, 0.0]] * (n - 1)), domain),
            encode_labels([int(neighbour)] + [7] * (n - 1), domain.classes),
        )
        for neighbour in (False, True)
    }

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        table, labels = data[neighbour]
        winners = (carry_out(plan, table, labels, NoisySession(source), parts) for _ in range(runs))
        return np.array([model.weights.sum() for _, model in winners])

    return Experiment(f"choice, {method}", plan.guarantee.tradeoff, draw)


def best_of_trials(mu: float = 1.0, stop: float = 1 / 12) -> Experiment:
    """Trials whose outputs are ordered as the strongest attack known has it (docs/proofs/choose.md).

    What clearly speaks for the first data set is best of all, then what speaks for the second, then the rest: one more of
    the first kind hides the second, and that is rarer on the second data set.
    """
    low, high = -1.0, 2.0

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        out = np.zeros(runs)
        session = _Trials(source)
        for i in range(runs):
            trials = len(trial_numbers(1, stop, session))
            y = source.rounded_gaussian(2.0**20, trials) / 2.0**20 + (mu if neighbour else 0.0)
            out[i] = 0.0 if (y < low).any() else 1.0 if (y > high).any() else 0.5
        return out

    return Experiment("random trials", random_trials(mu, stop).tradeoff(), draw)


class _Trials(NoisySession):
    """Coins from the stream of the audit."""

    def __init__(self, source: NoiseSource) -> None:
        super().__init__(source)
        self._coins = source

    def batch_source(self) -> NoiseSource:
        return self._coins
