"""What the fit of a step is handed and what it hands back: checked, since the step may be code that nobody here has seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._kinds import is_ours
from prepriv._rounding import FAR_UP
from prepriv.domain import Domain
from prepriv.exact.ball import row_norms
from prepriv.mechanisms.covariance import Apart
from prepriv.mechanisms.handle import Mechanisms
from prepriv.mechanisms.session import Metered, Session
from prepriv.placed.chain import PlannedStep
from prepriv.preprocessing.base import (
    ConfidentialMap,
    FittedMap,
    LabelledRows,
    ReleasedMap,
    Rows,
    Step,
    sum_shift,
)
from prepriv.preprocessing.said import has_places, says_its_sum
from prepriv.space import Space
from prepriv.tables.table import BLOCK


@dataclass(frozen=True, eq=False)
class Handed:
    """Rows to read, again and again, and nothing else of the table that they come from."""

    read: Callable[[], Iterator[Floats]]

    def __iter__(self) -> Iterator[Floats]:
        return self.read()

    def __getattr__(self, name: str) -> Any:
        more = ": a step whose fit reads labels says `reads_labels`" if name == "labels" else ""
        raise AttributeError(f"the rows that a fit is handed have no attribute {name!r}{more}")


@dataclass(frozen=True, eq=False)
class WithLabels(Handed):
    """The same with the class index of each row, which nobody can write to."""

    labels: NDArray[np.integer[Any]]


def _sealed(labels: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """The same labels, which nobody can write to: those of the training."""
    view = labels.view()
    view.setflags(write=False)
    return view


def handed(rows: LabelledRows, step: Step, singly: bool = False) -> Rows:
    """The rows as a fit of the step is handed them: with labels where it says that it reads them. singly: in blocks of one row."""

    def one_by_one() -> Iterator[Floats]:
        for x in rows:
            yield from (x[i : i + 1] for i in range(len(x)))

    read = one_by_one if singly else rows.__iter__
    return WithLabels(read, _sealed(rows.labels)) if step.reads_labels else Handed(read)


def singly(planned: PlannedStep, domain: Domain) -> bool:
    """Whether the fit of a step is handed one row at a time: third-party code, where a row more moves all others to other blocks.

    A product of matrices rounds a row by the length of its block, so that each sum of its outcomes would move.
    """
    return not is_ours(type(planned.step)) and not has_places(domain, planned.incoming)


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
        _records=records,
        _labels=_sealed(labels),
    )


def check_fitted(
    step: Step, training: FittedMap, prediction: ReleasedMap, session: Session, asked: int = 0
) -> None:
    """ValueError for maps that are not of the kind that the step's payment makes, or that can drop rows unsaid.

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


def held(planned: PlannedStep, training: FittedMap, domain: Domain) -> list[FittedMap]:
    """A fitted map as a run uses it. A third-party one learns no place of a row that has none, and what holds its rows in the
    space that the step declares follows; those of this package are proved to."""
    if is_ours(type(planned.step)) and is_ours(type(training)):
        return [training]
    known = training if has_places(domain, planned.incoming) else placeless(training)
    return [known, Inside(planned.step.output(planned.before))]


def placeless(fitted: FittedMap) -> FittedMap:
    """A third-party map that is shown blocks of one length, each as if it were the first: it gives for a row the same bits
    wherever the row stands. A map of this package as it is."""
    if is_ours(type(fitted)):
        return fitted
    return PlacelessReleased(fitted) if isinstance(fitted, ReleasedMap) else Placeless(fitted)


@dataclass(frozen=True, eq=False)
class Placeless(FittedMap):
    """`placeless` of a map."""

    fitted: FittedMap

    def transform(self, x: Floats) -> Floats:
        block = _of_one_length(x)
        made = self.fitted.transform(block)
        if len(made) != len(block):
            raise ValueError(
                f"{type(self.fitted).__name__} must make one row of each row (see FittedMap.keep)"
            )
        return made[: len(x)]

    def keep(self, x: Floats, start: int) -> NDArray[np.bool_] | None:
        kept = self.fitted.keep(_of_one_length(x), 0)
        return None if kept is None else kept[: len(x)]


@dataclass(frozen=True, eq=False)
class PlacelessReleased(Placeless, ReleasedMap):
    """The same of a map that may leave."""

    def to_json(self) -> dict[str, Any]:
        raise TypeError("it is of private rows alone")


def _of_one_length(x: Floats) -> Floats:
    """A block of a table, the last one filled with its first row."""
    return np.concatenate([x, np.repeat(x[:1], BLOCK - len(x), axis=0)]) if len(x) < BLOCK else x


@dataclass(frozen=True, eq=False)
class Inside(ReleasedMap):
    """The nearest row of a declared space to each row: what a user's own step says about its rows is then true of them.

    It moves no two rows apart, since the space is convex, and no row that is where it was declared to be. Cells that may be
    missing stay so, and count in the norm as the furthest that could fill them; other cells that are not numbers are zero.
    """

    space: Space

    def transform(self, x: Floats) -> Floats:
        space = self.space
        if x.ndim != 2 or x.shape[1] != space.d:
            raise ValueError(f"your own step declares rows of {space.d} numbers and makes others")
        gaps = np.isnan(x) & space.may_miss
        x = np.nan_to_num(np.asarray(x, dtype=np.float64))
        inside = np.clip(x, space.low, space.high)
        far = row_norms(self._filled(inside, gaps))[:, 0] > space.radius * FAR_UP
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
