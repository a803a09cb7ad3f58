"""Execute a frozen plan on private rows: fit each step by its payment, train, return only what may leave.

Nothing here looks at a record except through `preprocessing` (confidential maps, which die here) and
`mechanisms` (noisy sums). No branch depends on a private value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._blas import one_blas_thread
from prepriv._copies import copied
from prepriv._kinds import is_ours
from prepriv.adjacency import n_is_public
from prepriv.domain import Domain
from prepriv.engines.engine import Block, Engine, Held, Room
from prepriv.engines.local import THREADS
from prepriv.exact.ball import row_norms
from prepriv.guarantees.one_run import OneRun
from prepriv.learners.learner import Learner, Run, allowance
from prepriv.mechanisms.handle import Mechanisms
from prepriv.mechanisms.session import ExactSession, Metered, Session
from prepriv.placed.chain import PlannedStep
from prepriv.placed.handed import check_fitted, handed, held, mechanisms_of, singly
from prepriv.placed.rows import Mapped, MappedBlock, public_rows
from prepriv.plans.plan import Plan
from prepriv.plans.shrink import shrunk
from prepriv.preprocessing.base import FittedMap, ReleasedMap, Rows, Step
from prepriv.preprocessing.maps import as_written
from prepriv.runs.apart import check_apart
from prepriv.runs.failures import AuditFailed, Refused, codes_of, sealed
from prepriv.runs.noise_alone import NoisySums
from prepriv.runs.self_audit import CanaryRun, check_audit, refuted_in_words
from prepriv.tables.encoding import BLOCK, Table
from prepriv.tables.stream import Files, Stream
from prepriv.tables.units import UnitTable

if TYPE_CHECKING:
    from prepriv.sketches.tablesketch import TableSketch

Progress = Callable[[str, int, int], Any]
_TOLD = 2**16  # rows between two words of progress
Watch = Callable[[PlannedStep, "Mapped"], Any]


@dataclass(frozen=True, eq=False)
class Trained:
    """What may leave a run: released maps (for prediction, in order), weights (d + 1, K) with the bias last.

    private: whether the noise protects. receipt: of the charge in a ledger, if there is one. noise_alone: whether the noisy sums
    of training look like noise alone (`noise_alone.py`), which follows from them and from the plan.
    """

    plan: Plan
    maps: tuple[ReleasedMap, ...]
    weights: Floats
    private: bool
    receipt: Mapping[str, Any] | None = None
    audited: OneRun | None = None
    noise_alone: bool = False


def execute(
    plan: Plan,
    table: Table,
    targets: NDArray[np.int32],
    session: Session,
    *,
    room: Room | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
    receipt: Mapping[str, Any] | None = None,
    audit: int | None = None,
) -> Trained:
    """Run `plan` on encoded private rows and their class indices (-1: contributes nothing).

    room: where the integers of the rows live (default: `room_for` the plan). watch: for curators and audits: called with
    each planned step and the private rows as they reach it. receipt: of the charge in a ledger, if there is one. audit: how
    many canaries the run audits itself with (`check_audit`, which was asked before a charge). Nothing is charged or counted here: private rows come through `prepriv.runs.admit.admit`.

    Raises Refused if the plan has a test and it does not pass: nothing else is released from then on. AuditFailed where the
    canaries show that the run was not as planned.
    Under replace-one the number of rows is public and must equal the plan's n (ValueError otherwise). ValueError, too,
    where a public table of the plan shares memory with `table`.
    """
    check_run(plan, table, session)
    rows, released = prepare(plan, table, targets, session, progress=progress, watch=watch)
    audited: list[CanaryRun] = []
    finish: list[Callable[[Floats], Floats]] = []

    def train() -> Floats:
        held, paid = _held(rows, plan, room, progress), _paid_for(plan, session)
        if audit is not None:
            audited.append(CanaryRun(plan, check_audit(plan, audit), held, paid))
            held, paid = audited[0].rows, audited[0].session
        told = progress and partial(progress, "training")
        run = Run(paid, plan.learner_noise_multiplier, progress=told, heard=sums)
        finish.append(partial(_trainer(plan).finished, held, plan.setting, run))
        return np.array(_trainer(plan).train(held, plan.setting, run), dtype=np.float64)

    with np.errstate(all="ignore"):  # a numeric warning would depend on records: none may leave
        with one_blas_thread():
            sums = NoisySums.of(plan, released)
            weights = sealed(codes_of(plan), plan.private and session.private, train)
        weights = shrunk(plan, released, weights)
        with one_blas_thread():
            end = partial(finish[0], weights)
            weights = np.array(sealed(codes_of(plan), plan.private and session.private, end))
        alone = sums is not None and sums.alone()
    weights[-1] *= plan.learner.bias  # the weight of the bias feature, as the intercept it makes
    found = audited[0].found if audited else None
    if found is not None and found.refuted:
        raise AuditFailed(refuted_in_words(found))
    return Trained(plan, released, weights, plan.private and session.private, receipt, found, alone)


def _paid_for(plan: Plan, session: Session) -> Session:
    """For a third-party learner: a session that pays for what it declares, and no more, whatever each step samples."""
    learner, z = plan.learner, plan.learner_noise_multiplier
    if is_ours(type(learner)) or not plan.private:
        return session
    return Metered(session, learner.name, allowance(learner, z, plan.setting))


def _trainer(plan: Plan) -> Learner:
    """The learner of one run: what it notes in itself ends with the run."""
    return copied(plan.learner, plan.learner.loss)


def _held(rows: Mapped, plan: Plan, room: Room | None, progress: Progress | None) -> Held:
    """The rows that reach the learner, as integers: of units all that are read, which the steps did not see."""
    table, bias = rows.table, plan.learner.bias
    if plan.domain.unit is None:
        labelled = Labelled(rows, progress and _told(plan, progress))
        return (room or room_for(plan, n=table.n)).load(labelled, table.n, bias)
    assert isinstance(table, UnitTable)
    every = Mapped(table.every, rows.maps, table.labels)
    return (room or room_for(plan, n=table.every.n)).load_units(Labelled(every), table.sizes, bias)


class Steps(Protocol):
    """What a plan says about its steps, with or without a learner after them."""

    @property
    def domain(self) -> Domain: ...
    @property
    def n(self) -> int: ...
    @property
    def private(self) -> bool: ...
    @property
    def pipeline(self) -> tuple[Step, ...]: ...
    @property
    def steps(self) -> tuple[PlannedStep, ...]: ...


def check_run(plan: Steps, table: Table, session: Session) -> None:
    """ValueError unless these rows and this session are those of the plan: before anything is released."""
    if plan.domain.unit is not None and not isinstance(table, UnitTable):
        raise ValueError("the plan is for units of several rows, and the rows are not grouped by unit")
    if plan.private and isinstance(session, ExactSession):
        raise ValueError("a private plan needs a session with noise")
    if n_is_public(plan.domain.adjacency) and table.n != plan.n:
        raise ValueError(f"the plan is for n={plan.n:,} records, the table has {table.n:,}")
    check_apart(plan.pipeline, table)


@np.errstate(all="ignore")
def prepare(
    plan: Steps,
    table: Table,
    targets: NDArray[np.int32],
    session: Session,
    *,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> tuple[Mapped, tuple[ReleasedMap, ...]]:
    """Fit every step by its payment: (the private rows after the last one, the maps that may leave, in order)."""

    def fit() -> tuple[Mapped, tuple[ReleasedMap, ...]]:
        private: list[FittedMap] = []
        released: list[ReleasedMap] = []
        distances: dict[int, float] = {}
        for i, planned in enumerate(plan.steps):
            if progress is not None:
                progress("pre-processing", i + 1, len(plan.steps))
            rows = Mapped(table, tuple(private), targets)
            if watch is not None:
                watch(planned, rows)
            if planned.step.paid.test > 0 and plan.private:
                seen = handed(rows, planned.step, singly(planned, plan.domain))
                distances[i] = copied(planned.step).distance(seen, planned.before, plan.n, planned.incoming)
            if planned.test is not None:
                _test(planned, plan, [distances[k] for k in planned.covers], session)
            access = StepAccess(planned, plan, rows, released, session)
            asked = len(session.releases)
            training, prediction = planned.step.paid.fit(copied(planned.step), planned.before, access)
            check_fitted(planned.step, training, prediction, session, asked)
            kept = as_written(prediction, planned.step) if training is prediction else training
            private += held(planned, kept, plan.domain)
            released.append(as_written(prediction, planned.step))  # before it has mapped a private row
        return Mapped(table, tuple(private), targets), tuple(released)

    with one_blas_thread():
        return sealed(codes_of(plan), plan.private and session.private, fit)


def _test(planned: PlannedStep, plan: Steps, distances: Sequence[float], session: Session) -> None:
    """One bit for the conditions of several steps: the least of their distances, at least 0. Raises Refused.

    A later distance is 1-Lipschitz only while the earlier conditions hold; cut off at 0 the least of them is so
    without that (docs/proofs/propose_test_release.md, "Several conditions").
    """
    assert planned.test is not None
    distance = 0.0 if any(math.isnan(q) for q in distances) else max(0.0, min(distances))
    if not session.release(planned.test_name, planned.test, distance):
        raise Refused(", ".join(plan.steps[k].step.name for k in planned.covers))


@dataclass(frozen=True, eq=False)
class StepAccess:
    """What the fit of one step may see (`payment.Access`)."""

    planned: PlannedStep
    plan: Steps
    rows: Mapped
    released: Sequence[ReleasedMap]
    session: Session

    @property
    def n(self) -> int:
        return self.plan.n

    def public(self, data: Any) -> tuple[Mapped, int]:
        """Public rows after the released maps of the earlier steps: never after a confidential one."""
        rows = public_rows(data, self.plan.domain, self.released)
        return rows, rows.table.n

    @cached_property
    def handed(self) -> Rows:
        return handed(self.rows, self.planned.step, singly(self.planned, self.plan.domain))

    def private(self) -> Rows:
        return self.handed

    def mechanisms(self) -> Mechanisms:
        """With the plan's noise and shift, and a session that pays for no more than the step's share."""
        plan, rows = self.plan, self.rows
        return mechanisms_of(
            self.planned,
            plan.domain,
            plan.n,
            plan.private,
            self.session,
            self.handed,
            rows.n,
            rows.labels,
        )

    def sketch(self) -> TableSketch:
        """Of the raw table, through a session that pays for no more than the step's share."""
        from prepriv.sketches.release import release_sketch

        of, z = self.planned.sketch, self.planned.noise_multiplier
        assert of is not None and z is not None
        private = self.plan.private
        session = Metered(self.session, self.planned.step.name, 1 / z**2) if private else self.session
        return release_sketch(of, self.rows.table, self.rows.labels, session, self.planned.step.name)


def room_for(plan: Plan, engine: Engine = THREADS, n: int | None = None) -> Room:
    """Room for the rows of a plan, from what it declares: asked for before a charge. NoRoom where there is none.

    n: how many rows there are, where they are at hand; it stays inside.
    """
    rows = _declared_rows(plan) if n is None else n
    grid = plan.learner.grid(plan.space.radius, plan.n, plan.incoming)
    room = engine.room(grid, rows, plan.space.d)
    if plan.domain.unit is not None and not hasattr(room, "load_units"):  # an engine of one's own
        raise ValueError("rows of one unit must be clipped as one, which this engine cannot do; use Threads")
    return room


def _declared_rows(plan: Plan) -> int:
    """How many rows memory is reserved for: where their number is private, more than are declared.

    Else the one record that is more than declared would decide how much disk or memory a run takes, and whether it ends.
    """
    rows = plan.n * (plan.domain.rows_per_unit or 1)
    public = n_is_public(plan.domain.adjacency)
    return rows if public else rows + rows // 4 + 64


def check_files(room: Room, stream: Stream | None) -> None:
    """EngineError, before the charge, unless whoever will read the files sees them as they are seen here."""
    if isinstance(stream, Files) and stream.parquet:
        room.check(stream.seen)


@dataclass(frozen=True, eq=False)
class Labelled:
    """The rows as they reach the learner. told: called with (rows read, how many more), if there is any.

    first: the number of the first row.
    """

    rows: Mapped
    told: Callable[[int, int], Any] | None = None
    first: int = 0

    def __iter__(self) -> Iterator[Block]:
        for made in self.rows.blocks():
            self._tell(made[2])
            yield self._labelled(*made)

    def apart(self) -> Iterator[Callable[[], Block]] | None:
        """`prepriv.engines.engine.Separable`."""
        made = self.rows.apart()
        return None if made is None else (self._told_of(i * BLOCK, block) for i, block in enumerate(made))

    def _told_of(self, start: int, made: Callable[[], MappedBlock]) -> Callable[[], Block]:
        self._tell(start)
        return lambda: self._labelled(*made())

    def _tell(self, start: int) -> None:
        if self.told is not None and start % _TOLD == 0:
            self.told(start, min(BLOCK, self.first + self.rows.n - start))

    def _labelled(self, x: Floats, kept: NDArray[np.bool_] | None, start: int) -> Block:
        at = start - self.first
        block = self.rows.labels[at : at + len(x)]
        return x, block if kept is None else np.where(kept, block, -1), start

    def part(self, start: int, stop: int) -> Labelled | None:
        """`prepriv.engines.engine.Portable`: none after a confidential map, which never leaves this process."""
        sent = all(isinstance(fitted, ReleasedMap) for fitted in self.rows.maps)
        table = self.rows.table.part(start, stop) if sent else None
        labels = self.rows.labels[start - self.first : stop - self.first]
        return None if table is None else Labelled(Mapped(table, self.rows.maps, labels), first=start)


def _told(plan: Plan, progress: Progress) -> Callable[[int, int], Any] | None:
    """Progress counts rows where their number is public; elsewhere it says once, without a number, that they are read."""
    if not n_is_public(plan.domain.adjacency):
        progress("reading", 0, 0)
        return None
    return lambda start, more: progress("reading", start + more, plan.n)


def predict_scores(maps: Sequence[ReleasedMap], weights: Floats, table: Table) -> tuple[Floats, Floats]:
    """(scores (n, K), norms (n,) of the mapped rows) of raw rows, for weights (d + 1, K), the bias last."""
    out, norms = np.empty((table.n, weights.shape[1])), np.empty(table.n)
    with np.errstate(all="ignore"), one_blas_thread(table.n):  # as in training
        for start, x in table.blocks():
            for fitted in maps:
                x = fitted.transform(x)
            out[start : start + len(x)] = x @ weights[:-1] + weights[-1]
            norms[start : start + len(x)] = row_norms(x)[:, 0]
    return out, norms
