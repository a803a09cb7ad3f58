"""What the fit of a step is handed and what it hands back: checked, since the step may be code that nobody here has seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._kinds import is_ours
from prepriv.domain import Domain
from prepriv.exact.ball import row_norms
from prepriv.mechanisms.covariance import Apart
from prepriv.mechanisms.handle import Mechanisms
from prepriv.mechanisms.session import Metered, Session
from prepriv.pipeline.chain import PlannedStep
from prepriv.preprocessing.base import (
    ConfidentialMap,
    FittedMap,
    Floats,
    LabelledRows,
    ReleasedMap,
    Rows,
    Step,
    sum_shift,
)
from prepriv.preprocessing.said import says_its_sum
from prepriv.space import Space


@dataclass(frozen=True, eq=False)
class Handed:
    """Rows to read, again and again, and nothing else of the table that they come from."""

    read: Callable[[], Iterator[Floats]]

    def __iter__(self) -> Iterator[Floats]:
        return self.read()


@dataclass(frozen=True, eq=False)
class WithLabels(Handed):
    """The same with the class index of each row, which nobody can write to."""

    labels: NDArray[np.integer[Any]]


def sealed(labels: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """The same labels, which nobody can write to: those of the training."""
    view = labels.view()
    view.setflags(write=False)
    return view


def handed(rows: LabelledRows, step: Step) -> Rows:
    """The rows as a fit of the step is handed them: with labels where it says that it reads them."""
    return WithLabels(rows.__iter__, sealed(rows.labels)) if step.reads_labels else Handed(rows.__iter__)


def mechanisms_of(
    planned: PlannedStep,
    domain: Domain,
    n: int,
    private: bool,
    session: Session,
    rows: Rows,
    records: int,
    labels: NDArray[np.integer[Any]],
) -> Mechanisms:
    """The mechanisms of a Budget step, with the plan's noise and shift, and a session that pays for no more than its share.

    rows: as the step is handed them; records: how many they are; labels: theirs, or none.
    """
    step, incoming, z = planned.step, planned.incoming, planned.noise_multiplier
    assert planned.shift is not None and z is not None
    return Mechanisms(
        step.name,
        n,
        domain.adjacency,
        Apart(incoming.total_shift, incoming.rows_moved, incoming.rows_dropped),
        l2_sensitivity=planned.shift,
        stated=says_its_sum(step),
        noise_multiplier=z,
        session=Metered(session, step.name, 1 / z**2) if private else session,
        rows=rows,
        plain=sum_shift(planned.before, domain.adjacency, incoming),
        records=records,
        labels=sealed(labels),
    )


def check_fitted(
    step: Step, training: FittedMap, prediction: ReleasedMap, session: Session, asked: int = 0
) -> None:
    """ValueError for maps of another kind than the step's payment makes, or that can drop rows unsaid.

    session: of the fit, with `asked` releases before it: a third-party Budget step that asks for none has nothing that may leave.
    """
    silent = step.paid.share > 0 and len(session.releases) == asked
    if silent and not is_ours(type(step)):  # an imputer of ours has nothing to ask where no cell may miss
        raise ValueError(f"{step.name} is paid for by budget and asked for no mechanism")
    inside = ReleasedMap if step.paid.leaves else ConfidentialMap
    for made, kind in ((training, inside), (prediction, ReleasedMap)):
        if not isinstance(made, kind):
            raise ValueError(
                f"{step.name}, paid for by {step.way}, must make a {kind.__name__} here; got {type(made).__name__}"
            )
    if getattr(training.keep, "__func__", None) is not FittedMap.keep and not step.drops:
        raise ValueError(f"the map of {step.name} can drop rows: the step must say so (`drops`)")


def kept_inside(step: Step, training: FittedMap, space: Space) -> list[FittedMap]:
    """What holds the rows in the space that a step of one's own declares; those of this package are proved to."""
    return [] if is_ours(type(step)) and is_ours(type(training)) else [Inside(step.output(space))]


@dataclass(frozen=True, eq=False)
class Inside(ReleasedMap):
    """The nearest row of a declared space to each row: what a step of one's own says of its rows is then true of them.

    It moves no two rows apart, since the space is convex, and no row that is where it was declared to be. Cells that may be
    missing stay so, and count in the norm as the furthest that could fill them; other cells that are not numbers are zero.
    """

    space: Space

    def transform(self, x: Floats) -> Floats:
        space = self.space
        if x.ndim != 2 or x.shape[1] != space.d:
            raise ValueError(f"a step of one's own declares rows of {space.d} numbers and makes others")
        gaps = np.isnan(x) & space.may_miss
        x = np.nan_to_num(np.asarray(x, dtype=np.float64))
        inside = np.clip(x, space.low, space.high)
        far = row_norms(self._filled(inside, gaps))[:, 0] > space.radius * (1 + 1e-9)
        if far.any():
            inside[far] = self._shrunk(x[far], gaps[far])
        inside[gaps] = np.nan
        return inside

    def _filled(self, x: Floats, gaps: NDArray[np.bool_]) -> Floats:
        return np.where(gaps, np.maximum(np.abs(self.space.low), np.abs(self.space.high)), x)

    def _shrunk(self, x: Floats, gaps: NDArray[np.bool_]) -> Floats:
        """The point of the box that is nearest to a row among those in the ball: the row shortened by the least, then clipped."""
        low, high = self.space.low, self.space.high
        halvings, enough = np.zeros((len(x), 1)), np.full((len(x), 1), 2200.0)  # below all floats
        for _ in range(70):
            middle = (halvings + enough) / 2
            norms = row_norms(self._filled(np.clip(x * 2.0**-middle, low, high), gaps))
            fits = norms <= self.space.radius
            halvings, enough = np.where(fits, halvings, middle), np.where(fits, middle, enough)
        return np.clip(x * 2.0**-enough, low, high)

    def to_json(self) -> dict[str, Any]:
        raise TypeError("it is of training rows alone")
