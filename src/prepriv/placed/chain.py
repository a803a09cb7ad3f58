"""Follow what is declared through the steps of a pipeline: spaces, shifts of the common rows, mechanisms, tests.

Nothing is read: every number here is a function of the domain, n, the steps and the budget
(docs/proofs/chaining.md, docs/proofs/propose_test_release.md).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from prepriv._arguments import number
from prepriv._kinds import is_ours
from prepriv._rounding import UP
from prepriv.domain import Domain
from prepriv.guarantees.guarantee import GaussianEvent
from prepriv.guarantees.premise import Premise
from prepriv.mechanisms.propose_test_release import GaussianTest
from prepriv.payment import check_payment
from prepriv.placed.raw_units import RawUnits
from prepriv.preprocessing.base import UNTOUCHED, RowShift, Step, walk
from prepriv.preprocessing.said import check_placeless, shift_after
from prepriv.sketches.sketch_plan import SketchPlan
from prepriv.space import Space
from prepriv.tables.sentences import HOLDS_ONLY

NO_NOISE = 100.0  # mu of a sketch whose noise is not drawn: what its estimates take for granted
TEST_ERROR = 1e-3  # bound on the float error of a distance, in records


@dataclass(frozen=True)
class PlannedStep:
    """One step in its place: all of it computed from declared facts.

    before, after: declared spaces around it. incoming, outgoing: how far neighbours are apart around it.
    conditions: its own, that its claim rests on or that a test covers. shift: L2 sensitivity of its mechanism;
    noise_multiplier: noise over that (Budget only). test: the propose-test-release that runs here, before the step is
    fitted, for the conditions of the steps numbered `covers`. sketch: what it is fitted on rows of (Sketch only), of the same mu as
    the noise multiplier says.
    """

    step: Step
    before: Space
    after: Space
    incoming: RowShift
    outgoing: RowShift
    conditions: tuple[Premise, ...] = ()
    shift: float | None = None
    noise_multiplier: float | None = None
    test: GaussianTest | None = None
    test_name: str = ""
    covers: tuple[int, ...] = ()
    sketch: SketchPlan | None = None

    @property
    def test_event(self) -> GaussianEvent | None:
        """The bit its test releases."""
        return None if self.test is None else GaussianEvent(self.test_name, 1 / self.test.mu)

    @property
    def release_event(self) -> GaussianEvent | None:
        """What its mechanism releases."""
        return GaussianEvent(self.step.name, self.noise_multiplier) if self.noise_multiplier else None

    @property
    def events(self) -> list[GaussianEvent]:
        """All it releases, in order."""
        return [e for e in (self.test_event, self.release_event) if e is not None]


Stages: TypeAlias = tuple[tuple[GaussianTest | None, float | None], ...]
"""What leaves at each step: the bit of a test, then a release with this noise multiplier."""


@dataclass(frozen=True)
class Chain:
    """The steps of a pipeline in their places, the space that reaches the learner, and the shift that does."""

    steps: tuple[PlannedStep, ...]
    space: Space
    incoming: RowShift
    texts: bool = False  # whether a fixed network read some

    @property
    def stages(self) -> Stages:
        """All that leaves before training, in order."""
        return tuple((p.test, p.noise_multiplier or None) for p in self.steps if p.events)

    @property
    def tested(self) -> bool:
        """Whether some conditions are tested."""
        return any(p.test is not None for p in self.steps)

    @property
    def said(self) -> list[str]:
        """The name of each step, and how it is paid for unless it is free."""
        names = [(p.step.name, p.step.way) for p in self.steps]
        return [name if way == "free" else f"{name} ({way})" for name, way in names]

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said beside a claim of these steps: what the steps themselves rest on, and what a test costs."""
        fixed = tuple(p.step.holds_only for p in self.steps if p.step.holds_only)
        return (
            ((HOLDS_ONLY,) if self.texts else ())
            + fixed
            + tuple(
                f"{', '.join(self.steps[i].step.name for i in p.covers)}: caps tested by propose-test-release; a refusal "
                "is charged in full"
                for p in self.steps
                if p.test is not None
            )
        )

    def with_test_delta(self, delta: float) -> Chain:
        """The same with this bound on the false pass of each test."""
        steps = tuple(
            p if p.test is None else dataclasses.replace(p, test=dataclasses.replace(p.test, delta=delta))
            for p in self.steps
        )
        return dataclasses.replace(self, steps=steps)


def spent_shares(steps: Sequence[Step]) -> float:
    """The part of mu squared that Budget steps and tests take."""
    total = sum(s.paid.share + s.paid.test for s in steps)
    if total >= 1:
        raise ValueError(f"budget shares add up to {total}: they must leave something for training")
    return total


def chain(
    steps: Sequence[Step], domain: Domain, n: int, mu: float, *, test_delta: float = 0.0, release: bool = True
) -> Chain:
    """The steps in their places. Raises ValueError with a sentence where one cannot stand where it does.

    mu: the whole budget (GDP; inf: no mechanism adds noise, and no test runs). test_delta: bound on the false
    pass of each test. release: whether a model is to leave, so that no step paid for by sensitivity may be
    needed on new rows (False when an existing pipeline is accounted for).
    """
    incoming = UNTOUCHED if domain.source is None else dataclasses.replace(UNTOUCHED, any_order=True)
    space, planned = domain.space, list[PlannedStep]()
    read = [step for step in steps if isinstance(step, RawUnits)]  # of a pipeline of scikit-learn
    for raw in read:
        raw.check(domain)
    for step, before, after in walk(steps, domain.space):
        for raw in read:
            raw.check_after(step, before, n)
        check_payment(step.name, step.payment)
        placed = _placed(
            step,
            before,
            after,
            incoming,
            domain,
            n,
            mu,
            release,
            first=all(p.step.keeps_cells for p in planned),
        )
        _check_fixed(placed, planned, domain)
        planned.append(placed)
        space, incoming = after, placed.outgoing
    if space.may_miss.any():
        names = [space.names[j] if space.names else f"x{j}" for j in space.may_miss.nonzero()[0][:3]]
        raise ValueError(
            f"columns {', '.join(names)} are declared missing: impute, but no step imputes them; "
            "add MeanImputer, or declare missing: midpoint"
        )
    if mu < math.inf:
        for group in tested_together(steps):
            planned[group[-1]] = _with_test(planned, group, mu, test_delta)
    return Chain(tuple(planned), space, incoming, domain.encoded_texts > 0)


def tested_together(steps: Sequence[Step]) -> list[tuple[int, ...]]:
    """Numbers of the steps whose conditions one test covers: all up to the next mechanism, which needs them.

    The test runs at the last of them: nothing has left since the first was fitted.
    """
    groups: list[tuple[int, ...]] = []
    together: tuple[int, ...] = ()
    for i, step in enumerate(steps):
        if step.paid.test > 0:
            together = (*together, i)
        elif step.paid.share > 0 and together:
            groups.append(together)
            together = ()
    return [*groups, together] if together else groups


def _with_test(
    planned: Sequence[PlannedStep], group: tuple[int, ...], mu: float, delta: float
) -> PlannedStep:
    shares = [planned[i].step.paid.test for i in group]
    name = " + ".join(planned[i].step.name for i in group) + " (test)"
    test = GaussianTest(mu=mu * math.sqrt(sum(shares)), delta=delta, error=TEST_ERROR)
    return dataclasses.replace(planned[group[-1]], test=test, test_name=name, covers=group)


def _check_fixed(placed: PlannedStep, earlier: Sequence[PlannedStep], domain: Domain) -> None:
    """ValueError for an untested premise on rows after a noisy map: it would be one of each map that noise can make.

    The bounds, categories and classes of a private draft are such a map, of the raw cells.

    Nobody can check that before the run, and on the outputs of which it fails nothing is claimed (docs/proofs/chaining.md,
    "Premises").
    """
    if placed.step.paid.test > 0 or not placed.conditions:
        return
    name, noisy = placed.step.name, [p.step.name for p in earlier if p.step.paid.share > 0]
    unknown = [p.step.name for p in earlier if not is_ours(type(p.step))]
    if domain.drafts:  # which columns can miss cells, too, is the draft's
        raise ValueError(
            f"{name} rests on a premise of rows as a private draft encodes them, which noise decided: declare the columns by "
            "hand, pay by budget or public data, or test its caps, Sensitivity(caps, test=0.1)"
        )
    if unknown and any(c.of_gaps for c in placed.conditions):
        raise ValueError(
            f"{name} rests on a premise of the missing cells of the raw table, and {unknown[-1]}, a third-party step before it, could "
            f"make or fill some: put {name} before {unknown[-1]}, pay by budget or public data, or test its caps, "
            "Sensitivity(caps, test=0.1)"
        )
    if noisy and not all(c.of_gaps for c in placed.conditions):
        raise ValueError(
            f"{name} rests on a premise of rows after the noisy map of {noisy[-1]}, which cannot be known before that map is "
            f"drawn: put {name} before {noisy[-1]}, or test its caps, Sensitivity(caps, test=0.1)"
        )


def _placed(
    step: Step,
    before: Space,
    after: Space,
    incoming: RowShift,
    domain: Domain,
    n: int,
    mu: float,
    release: bool,
    first: bool,
) -> PlannedStep:
    paid = step.paid
    paid.check(step, domain.adjacency, release)
    step.check_place(domain, first)
    if domain.unit is not None and not paid.leaves:
        raise ValueError(
            f"{step.name} is paid for by sensitivity, which has no account of units of several rows; pay for it by public "
            "data or by budget"
        )
    check_placeless(step, domain, incoming)
    outgoing = shift_after(step, before, n, dataclasses.replace(incoming, conditions=()))
    own, kept = outgoing.conditions, incoming.conditions
    if paid.test == 0:
        kept += own
    elif not own:
        raise ValueError(f"{step.name} has no condition to test here: leave test out, its bound needs none")
    elif type(step).distance is Step.distance:
        raise ValueError(f"{step.name} cannot be tested: it has no distance to data that break its caps")
    planned = PlannedStep(step, before, after, incoming, dataclasses.replace(outgoing, conditions=kept), own)
    if paid.share == 0:
        return planned
    multiplier = UP / (mu * math.sqrt(paid.share)) if mu < math.inf else 0.0
    sketch = paid.sketch_of(
        step, domain.with_n(n), (1 - 1e-11) / multiplier if multiplier else NO_NOISE, first
    )
    if (
        sketch is not None
    ):  # three sums, each over how far it moves itself: together they are as one over its own
        return dataclasses.replace(planned, shift=1.0, noise_multiplier=multiplier, sketch=sketch)
    shift = step.l2_sensitivity(before, domain.adjacency, incoming)
    if not is_ours(type(step)):
        shift = number(f"l2_sensitivity of {step.name}", shift, above=0.0)
    return dataclasses.replace(planned, shift=shift, noise_multiplier=multiplier)
