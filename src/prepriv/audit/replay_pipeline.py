"""Replay of a plan: what leaves `execute`, and whether the conditions of the claim held."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, cast

from prepriv.audit.replay import Call, Recorder, Result, replay
from prepriv.audit.replay_neighbours import RawTable, neighbours, synthetic
from prepriv.audit.sensitivity_draws import Draws
from prepriv.data import encode, encode_labels
from prepriv.domain import Space
from prepriv.learners.stochastic import Setting, StochasticLearner
from prepriv.payment import Sensitivity
from prepriv.pipeline.plan import Plan
from prepriv.pipeline.run import Refused, execute
from prepriv.preprocessing.base import ConfidentialMap, Rows, Step
from prepriv.release.model import Model

Encode = Callable[[RawTable, Plan], tuple[Any, Any]]


def as_objects(table: RawTable, plan: Plan) -> tuple[Any, Any]:
    """(rows, labels) as the matrix of objects they are."""
    return table.rows, list(table.labels)


class PlanRun:
    """Runs one plan on raw tables; call it with a table and a session (`replay.Run`).

    `holds` says whether the declared conditions held in the last run (distance of propose-test-release above
    zero), so that pairs the claim does not cover can be left out. form: how a table is handed in.
    """

    def __init__(self, plan: Plan, *, form: Encode = as_objects, threads: int = 1) -> None:
        self._plan, self._form, self._threads = plan, form, threads
        self._room: list[float] = []
        steps = tuple(
            dataclasses.replace(p, step=cast(Step, _Watched(p.step, self._room)))
            if isinstance(p.step.payment, Sensitivity)
            else p
            for p in plan.steps
        )
        self._watched = dataclasses.replace(plan, steps=steps)

    def __call__(self, table: RawTable, session: Recorder) -> dict[str, str]:
        """All that leaves the run, by surface."""
        self._room.clear()
        shown: list[object] = []
        with captured() as surfaces:
            try:
                rows, labels = self._form(table, self._plan)
                trained = execute(
                    self._watched,
                    encode(rows, self._plan.domain),
                    encode_labels(labels, self._plan.domain.classes),
                    session,
                    threads=self._threads,
                    progress=lambda *step: shown.append(step),
                )
                model = Model.of(dataclasses.replace(trained, plan=self._plan))
                surfaces["artifact"] = json.dumps(model.to_json(), sort_keys=True)
                surfaces["outcome"] = "released"
            except Refused as refusal:
                surfaces["outcome"] = str(refusal)
            except Exception as error:
                surfaces["outcome"] = f"{type(error).__name__}: {error}"
        surfaces["progress"] = repr(shown)
        surfaces["mechanisms"] = repr(session.releases)
        return surfaces

    def holds(self) -> bool:
        """Whether every declared condition held in the last run."""
        return all(room > 0 for room in self._room)

    def allowance(self, call: Call) -> Fraction:
        """How many times its noise unit the sum of a call may move: DP-SGD accounts for that itself."""
        plan = self._plan
        if not isinstance(plan.learner, StochasticLearner) or call.name != "gradient":
            return Fraction(1)
        adjacency = plan.domain.adjacency
        setting = Setting(plan.space.radius, plan.space.d, plan.outputs, plan.n, adjacency, plan.incoming)
        moved = plan.learner.moved_rows(setting)
        record = 2 if adjacency == "replace-one" else 1
        return record + Fraction(moved.total) + moved.dropped + Fraction(moved.rounding)


class _Watched:
    """A step that notes, when it is fitted on private rows, how many records its conditions are away."""

    def __init__(self, step: Step, room: list[float]) -> None:
        self._step, self._room = step, room

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        self._room.append(self._step.distance(rows, space, n))
        return self._step.fit_confidential(rows, space, n)


@contextlib.contextmanager
def captured() -> Iterator[dict[str, str]]:
    """Everything said while it is open: stdout, stderr, log records of any level, warnings."""
    surfaces: dict[str, str] = {}
    out, err, log = io.StringIO(), io.StringIO(), io.StringIO()
    handler, root = logging.StreamHandler(log), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(record=True) as warned,
        ):
            warnings.simplefilter("always")
            yield surfaces
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    surfaces |= {"stdout": out.getvalue(), "stderr": err.getvalue(), "log": log.getvalue()}
    surfaces["warnings"] = "\n".join(str(w.message) for w in warned)


def replay_plan(
    plan: Plan,
    *,
    pairs: int,
    seed: int = 0,
    table: RawTable | None = None,
    missing: float = 0.0,
    form: Encode = as_objects,
    bases: int = 1,
) -> Result:
    """Replay a plan on `pairs` adversarial neighbour pairs, of `table` or of synthetic ones (`bases` of them)."""
    draws = Draws(seed)
    total, run = Result(), PlanRun(plan, form=form)
    at_end = isinstance(plan.learner, StochasticLearner)
    for base in range(bases):
        first = table or synthetic(plan.domain, plan.n, draws, missing=missing)
        count = pairs * (base + 1) // bases - pairs * base // bases
        near = neighbours(first, plan.domain, draws, count, at_end=at_end)
        total.add(replay(run, first, near, holds=run.holds, allowance=run.allowance, seed=seed + base))
    return total


def spends_what_it_claims(plan: Plan, session: Recorder) -> bool:
    """Whether the mechanisms that ran cost no more than the plan claims (plans of Gaussian releases only)."""
    if plan.guarantee is None or plan.guarantee.mu is None:
        return True
    squares = sum(1 / Fraction(r.noise_multiplier) ** 2 for r in session.releases)
    return squares <= Fraction(plan.guarantee.mu) ** 2 * (1 + Fraction(1, 10**12))
