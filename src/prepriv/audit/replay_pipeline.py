"""Replay of a plan: what leaves `execute`, and whether the conditions of the claim held."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from prepriv._kinds import is_ours
from prepriv.audit.judgement import Finding
from prepriv.audit.loss_words import loss_lies
from prepriv.audit.replay import Call, Recorder, Result, replay
from prepriv.audit.replay_neighbours import (
    RawTable,
    neighbours,
    synthetic,
    synthetic_units,
    unit_neighbours,
)
from prepriv.audit.rows_apart import RowsAfterSteps
from prepriv.audit.sensitivity_draws import Draws
from prepriv.engines import Engine, Threads
from prepriv.engines.engine import Room
from prepriv.mechanisms.session import SpentError
from prepriv.placed.chain import PlannedStep
from prepriv.placed.rows import Mapped
from prepriv.plans.plan import Plan
from prepriv.rehearsals.tested import Tested, distance_lies
from prepriv.release.model import Model
from prepriv.runs.failures import Refused
from prepriv.runs.run import execute, room_for
from prepriv.tables.column import codes_by
from prepriv.tables.encoding import Table, encode, encode_targets
from prepriv.tables.units import grouped, id_of

FormOfTable = Callable[[RawTable, Plan], tuple[Any, Any]]


def as_objects(table: RawTable, plan: Plan) -> tuple[Any, Any]:
    """(rows, labels) as the matrix of objects they are."""
    return table.rows, list(table.labels)


ONE = Threads(1)


class PlanRun:
    """Run one plan on raw tables, to replay it. Call it with a table and a session (`replay.Run`).

    Parameters
    ----------
    plan : Plan
        What is run.
    form : callable
        How a table is handed in. Default: as an array of objects.
    engine : engine
        One of `prepriv.engines`. Default: one thread.

    Attributes
    ----------
    overspent : set of str
        What was released in any run beyond what the plan claims.
    failed : Counter
        Kinds of error that ended runs, and how often.

    Notes
    -----
    Where `holds` is False, a pair is left out: the claim does not cover it, or covers it only by what a test may
    miss.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.audit import PlanRun
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1], n=20)
    >>> plan = prepriv.make_plan(domain, [], GradientDescent(Logistic(), steps=2), epsilon=1.0, delta=1e-5)
    >>> callable(PlanRun(plan))
    True
    """

    def __init__(self, plan: Plan, *, form: FormOfTable = as_objects, engine: Engine = ONE) -> None:
        self._plan, self._form, self._engine = plan, form, engine
        self._tested: list[Tested] = []
        self._first: list[Tested] = []
        self.rows = RowsAfterSteps(plan)
        self.overspent: set[str] = set()
        self.failed: Counter[str] = Counter()

    def __call__(self, table: RawTable, session: Recorder) -> dict[str, str]:
        """All that leaves the run, by surface."""
        self._tested = []
        if not session.replays:
            self._first = self._tested
        self.rows.begin(session.replays)
        shown: list[object] = []
        with captured() as surfaces:
            try:
                rows, labels = self._form(table, self._plan)
                trained = execute(
                    self._plan,
                    *_encoded(rows, labels, table, self._plan),
                    session,
                    room=cast(Room, _Watched(room_for(self._plan, self._engine), self.rows)),
                    progress=lambda *step: shown.append(step),
                    watch=self._watch,
                )
                model = Model.of(trained)
                surfaces["artifact"] = json.dumps(model.to_json(), sort_keys=True)
                surfaces["outcome"] = "released"
            except Refused as refusal:
                surfaces["outcome"] = str(refusal)
            except SpentError as error:
                surfaces["outcome"] = str(error)
                self.overspent.add(str(error))
            except Exception as error:
                surfaces["outcome"] = f"{type(error).__name__}: {error}"
                self.failed[type(error).__name__] += 1
        self.overspent.update(overspent(self._plan, session))
        surfaces["progress"] = repr(shown)
        surfaces["mechanisms"] = repr(session.releases)
        return surfaces

    def holds(self) -> bool:
        """Whether every declared condition held in the last run."""
        return all(side.holds for side in self._tested)

    def distances(self) -> list[Finding]:
        """What the distances of tested steps show in the last run when compared with the first, up to a condition that fails."""
        for planned, one, two in zip(self._plan.steps, self._first, self._tested):
            for what in distance_lies(one, two):
                return [Finding("any record", f"at {planned.step.name}: its distance {what}")]
            if not (one.holds and two.holds):
                break
        return []

    def beyond(self) -> list[Finding]:
        """What the rows after the steps of the last run show against the plan, where the conditions hold."""
        return self.rows.beyond()

    def _watch(self, planned: PlannedStep, rows: Mapped) -> None:
        step, n = planned.step, self._plan.n
        self._tested.append(Tested.of(step, planned.conditions, rows, planned.before, n, planned.incoming))
        self.rows.see(rows)

    def allowance(self, call: Call) -> Fraction:
        """How many noise units the sum of a call may move. DP-SGD accounts for that itself."""
        plan = self._plan
        return plan.learner.reach(plan.setting) if call.name == "gradient" else Fraction(1)


@dataclass(frozen=True, eq=False)
class _Watched:
    """Memory that shows the rows that reach the learner on their way in."""

    room: Any
    rows: RowsAfterSteps

    def load(self, blocks: Any, n: int, bias: float) -> Any:
        self.rows.see(blocks.rows)
        return self.room.load(blocks, n, bias)

    def load_units(self, blocks: Any, sizes: Any, bias: float) -> Any:
        self.rows.see(blocks.rows)
        return self.room.load_units(blocks, sizes, bias)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.room, name)


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


def _encoded(rows: Any, labels: Any, table: RawTable, plan: Plan) -> tuple[Table, NDArray[np.int32]]:
    """Rows and labels as `private_rows` has them."""
    encoded, targets = encode(rows, plan.domain), encode_targets(labels, plan.domain)
    if plan.domain.unit is None:
        return encoded, targets
    return grouped(encoded, targets, *codes_by(list(table.units), id_of), plan.domain, plan.n)


def replay_plan(
    plan: Plan,
    *,
    pairs: int,
    seed: int = 0,
    table: RawTable | None = None,
    missing: float = 0.0,
    form: FormOfTable = as_objects,
    bases: int = 1,
) -> Result:
    """Replay a plan on adversarial pairs of neighbours: only what noise hides may differ.

    Parameters
    ----------
    plan : Plan
        What is attacked.
    pairs : int
        How many.
    seed : int, default 0
        Decides the pairs.
    table : RawTable, optional
        The table whose neighbours are made. None: synthetic tables.
    missing : float, default 0.0
        Share of empty cells of a synthetic table.
    form : callable
        Takes a table and the plan, and returns what `train` is handed. Default: an array of objects.
    bases : int, default 1
        Number of synthetic tables.

    Returns
    -------
    Result
        `findings` is empty where the plan held.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.audit import replay_plan
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1], n=20)
    >>> plan = prepriv.make_plan(domain, [], GradientDescent(Logistic(), steps=2), epsilon=1.0, delta=1e-5)
    >>> replay_plan(plan, pairs=3).findings
    []
    """
    draws = Draws(seed)
    total, run = Result(), PlanRun(plan, form=form)
    at_end = plan.learner.samples
    for base in range(bases):
        units = plan.domain.unit is not None
        first = table or (synthetic_units if units else synthetic)(
            plan.domain, plan.n, draws, missing=missing, alike=bases > 1 and base == bases - 1
        )
        count = pairs * (base + 1) // bases - pairs * base // bases
        near = (unit_neighbours if units else neighbours)(first, plan.domain, draws, count, at_end=at_end)
        total.add(
            replay(
                run,
                first,
                near,
                holds=run.holds,
                allowance=run.allowance,
                beyond=run.beyond,
                always=run.distances,
                seed=seed + base,
            )
        )
    for name, found, declared in list(zip(run.rows.names, run.rows.found, run.rows.declared))[1:]:
        total.see(name, found, declared)
    total.unmatched += run.rows.unmatched
    total.failed.update(run.failed)
    lies = loss_lies(plan.learner, plan.space.radius, len(plan.domain.classes), seed)
    total.findings += [Finding("any record", what) for what in (*sorted(run.overspent), *lies)]
    total.unseen = _unseen(plan)
    return total


def _unseen(plan: Plan) -> str:
    """A third-party sampler: the coins of its account are not those of a pair."""
    learner = plan.learner
    if is_ours(type(learner)) or learner.exact:
        return ""
    return f"nobody compared the batches of {learner.name}, which is third-party, with those of its account"


def overspent(plan: Plan, session: Recorder) -> list[str]:
    """Releases that no event of the plan pays for: more of a name, or less noise, than is claimed."""
    paid = [(e.name, e.noise_multiplier, e.count) for p in plan.steps for e in p.events]
    paid.append(("gradient", plan.learner_noise_multiplier, plan.learner.steps))
    once = plan.learner.once(plan.learner_noise_multiplier, plan.setting) if plan.private else ()
    paid += [(e.name, e.noise_multiplier, e.count) for e in once]
    left: dict[str, Fraction] = {}
    for name, z, count in paid:
        left[name] = left.get(name, Fraction(0)) + (Fraction(count) / Fraction(z) ** 2 if z > 0 else 0)
    found = []
    for release in session.releases if plan.private else ():
        owner = next((n for n in (release.name, release.name.rsplit(" (", 1)[0]) if n in left), None)
        cost = release.mechanism.cost
        if owner is None or cost is None or cost.mu_squared > left[owner] * (1 + Fraction(1, 10**9)):
            found.append(f"a release of {release.name} spends more than is claimed")
            continue
        left[owner] -= cost.mu_squared
    return found
