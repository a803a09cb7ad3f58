"""What a pre-processing step is: an algorithm, how far one record moves it, and the ways to pay for it.

A pair of neighbouring data sets reaches a step as a pair that differs in one record *and*, because of the
steps before it, by a shift of the common rows. `RowShift` is that shift; each step turns what comes in
into what goes out (docs/proofs/chaining.md).
"""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer, length, number
from prepriv._arrays import Floats
from prepriv._rounding import rounded_up
from prepriv.adjacency import Adjacency, n_is_public
from prepriv.domain import Domain
from prepriv.guarantees.premise import Premise
from prepriv.mechanisms.handle import Mechanisms
from prepriv.payment import FREE, WAYS, Caps, Payment, Way, check_payment, default_payment
from prepriv.space import Space


@dataclass(frozen=True)
class RowShift:
    """How far apart the rows of two neighbouring data sets are after some steps, apart from the one record that differs.

    Parameters
    ----------
    rows_moved : float, default 0.0
        Number of common rows that differ (Delta_infinity in the papers).
    row_shift : float, default 0.0
        The largest distance between the two versions of a common row (Delta_2), in the units of the matrix.
    total_shift : float, default 0.0
        The sum of these distances over all common rows (Delta_12). It is never above rows_moved * row_shift.
    rows_dropped : float, default 0.0
        Number of common rows that are kept in one data set and dropped in the other.
    conditions : tuple of Premise, default ()
        What has to be true of both data sets for these numbers to hold. Empty: they hold without conditions.
    any_order : bool, default False
        How rows are matched. False: by their number. True: by their content, so nothing that depends on the order of
        the rows may follow (one pass, fixed batches).

    Raises
    ------
    ValueError
        For a negative number. inf is allowed.

    Notes
    -----
    docs/proofs/chaining.md.

    Examples
    --------
    >>> from prepriv.preprocessing import RowShift
    >>> RowShift(rows_moved=999, row_shift=0.5, total_shift=5.0).through(2.0).row_shift > 0.99
    True
    """

    rows_moved: float = 0.0
    row_shift: float = 0.0
    total_shift: float = 0.0
    rows_dropped: float = 0.0
    conditions: tuple[Premise, ...] = ()
    any_order: bool = False

    def __post_init__(self) -> None:
        for name in ("rows_moved", "row_shift", "total_shift", "rows_dropped"):
            if getattr(self, name) != math.inf:
                number(name, getattr(self, name), at_least=0.0)

    @property
    def is_zero(self) -> bool:
        """Whether the common rows are untouched, so that neighbours stay neighbours."""
        return self.rows_moved == 0 and self.rows_dropped == 0

    @property
    def records(self) -> float:
        """The largest number of records in which the two data sets differ: the replaced one, the moved and the dropped ones."""
        return 1 + self.rows_moved + self.rows_dropped

    def through(self, lipschitz: float) -> RowShift:
        """The shift after a fixed map with the Lipschitz constant `lipschitz`."""
        if self.rows_moved == 0:
            return self
        return RowShift(
            self.rows_moved,
            rounded_up(self.row_shift * lipschitz),
            rounded_up(self.total_shift * lipschitz),
            self.rows_dropped,
            self.conditions,
            self.any_order,
        )

    def within(self, diameter: float) -> RowShift:
        """The shift in a space of this diameter, in which no row can move further."""
        if self.row_shift <= diameter:
            return self
        total = min(self.total_shift, rounded_up(self.rows_moved * diameter))
        return dataclasses.replace(self, row_shift=rounded_up(diameter), total_shift=total)

    def jumped(self, by: float) -> RowShift:
        """The shift after some features of each row became codes, which differ by at most `by` in a row that has moved."""
        if self.rows_moved == 0:
            return self
        total = self.total_shift + self.rows_moved * by
        return dataclasses.replace(self, row_shift=math.hypot(self.row_shift, by), total_shift=total)

    def plus(self, other: RowShift, *, n: int) -> RowShift:
        """The sum of two shifts of the same rows, one after the other (triangle inequality; at most n - 1 rows move)."""
        moved = min(self.rows_moved + other.rows_moved, n - 1)
        row = rounded_up(self.row_shift + other.row_shift)
        total = min(rounded_up(self.total_shift + other.total_shift), rounded_up(moved * row))
        conditions = self.conditions + tuple(c for c in other.conditions if c not in self.conditions)
        dropped = min(self.rows_dropped + other.rows_dropped, n - 1)
        return RowShift(moved, row, total, dropped, conditions, self.any_order or other.any_order)


UNTOUCHED = RowShift()


def sum_shift(space: Space, adjacency: Adjacency, incoming: RowShift = UNTOUCHED) -> float:
    """How far the sum of all rows moves between neighbours, in Euclidean norm: the rule every mean pays by.

    Replace-one: the record's diameter, the moved rows, and a radius for each dropped row.
    Add-or-remove-one: a radius in place of the diameter.
    """
    record = space.diameter if n_is_public(adjacency) else space.radius
    if space.may_miss.any():  # a row with a missing cell counts as the zero row, which the box may not hold
        record = max(record, space.radius)
    return rounded_up(record + incoming.total_shift + space.radius * incoming.rows_dropped)


class Rows(Protocol):
    """Rows that can be read again and again, in order, in blocks of (b, d) floats."""

    def __iter__(self) -> Iterator[Floats]: ...


@runtime_checkable
class LabelledRows(Rows, Protocol):
    """Rows that come with the class index of each, (n,), in the order of the rows (see Step.reads_labels)."""

    @property
    def labels(self) -> NDArray[np.integer[Any]]: ...


class FittedMap(abc.ABC):
    """A fitted step: it maps each block of rows row by row, without memory of earlier rows.

    Notes
    -----
    A subclass is a `ReleasedMap` or a `ConfidentialMap`. It defines `transform`, and `keep` if it drops rows.

    Examples
    --------
    >>> from prepriv.preprocessing import FittedMap
    >>> from prepriv.preprocessing.base import ConfidentialMap, Identity
    >>> issubclass(ConfidentialMap, FittedMap), isinstance(Identity(), FittedMap)
    (True, True)
    """

    @abc.abstractmethod
    def transform(self, x: Floats) -> Floats:
        """Map a block (b, d) to (b, d'). The result for a row must not depend on the block in which it stands."""

    def keep(self, x: Floats, start: int) -> NDArray[np.bool_] | None:
        """Which rows of the block stay, (b,), given the number of the block's first row. None: all of them."""
        return None


class ReleasedMap(FittedMap):
    """A map that may be released: it was made from public data, declared constants or the output of a mechanism.

    Notes
    -----
    A subclass defines `transform` and `to_json`. `from_json` reads it back if it is a dataclass of plain fields. An
    artifact names a third-party subclass by its import path, and it is read back where that path can be imported.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from prepriv.preprocessing.base import ReleasedMap
    >>> @dataclass(frozen=True)
    ... class Halved(ReleasedMap):
    ...     by: float = 2.0
    ...
    ...     def transform(self, x):
    ...         return x / self.by
    ...
    ...     def to_json(self):
    ...         return {"map": "halved", "by": self.by}
    >>> Halved.from_json(Halved(4.0).to_json()).transform(np.ones((1, 2))).tolist()
    [[0.25, 0.25]]
    """

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain data for the artifact.

        "map" names the kind of a map of this package (preprocessing/maps.py). Lists of numbers may be arrays, and are
        read back as arrays.
        """

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ReleasedMap:
        """The inverse of `to_json`. A dataclass is made from its fields by name. ValueError for anything malformed."""
        names = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
        return cls(**{name: data[name] for name in names})


@dataclass(frozen=True)
class Identity(ReleasedMap):
    """The map x -> x, which may be released.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv.preprocessing.base import Identity
    >>> Identity().transform(np.ones((1, 2))).tolist()
    [[1.0, 1.0]]
    """

    def transform(self, x: Floats) -> Floats:
        return x

    def to_json(self) -> dict[str, Any]:
        return {"map": "identity"}


class ConfidentialMap(FittedMap):
    """A map fitted on private records without noise. It is never released, and it is deleted when the run ends.

    Raises
    ------
    TypeError
        When it is stored.

    Notes
    -----
    A subclass defines `transform`; `Step.fit_confidential` returns it.

    Examples
    --------
    >>> import copy
    >>> from prepriv.preprocessing.base import ConfidentialMap
    >>> class Shifted(ConfidentialMap):
    ...     def transform(self, x):
    ...         return x - 1.0
    >>> copy.copy(Shifted())
    Traceback (most recent call last):
    TypeError: a map fitted on private records without noise cannot be stored
    """

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a map fitted on private records without noise cannot be stored")


@dataclass(frozen=True)
class Step(abc.ABC):
    """One pre-processing step. Subclasses are frozen dataclasses, and each step has its own payment.

    Parameters
    ----------
    payment : Public, Budget, Sensitivity or None, default None
        How its fit is paid for. None: the step does not depend on data, and is free.

    Attributes
    ----------
    ways : tuple of str
        A class attribute: the ways to pay that are available for this step. Empty for a step that does not depend on
        data, which is free.
    why_not : dict of str to str
        A class attribute: why each other way is not available.
    at_prediction : bool
        A class attribute: whether the model needs the fitted map on new rows. If it does and the step is paid for by
        sensitivity, the model cannot be released, and the plan is refused.
    fitted_state : str
        A class attribute: what the fit computes, in words.

    Raises
    ------
    ValueError
        For a payment that is not available for the step, or caps that it does not have.

    Notes
    -----
    No default here is a claim. If a guarantee needs something that a step does not say about itself, the step is
    refused. A subclass has to repeat what holds for code that it replaces (`preprocessing.said`). The class attribute
    `Caps` is what may be declared about the data (`payment.Caps`). It is checked when the step is made, and this
    class has none. examples/winsorize.py is a step with three ways to pay. docs/proofs/chaining.md says why steps may
    follow each other.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import prepriv
    >>> from prepriv.preprocessing import Step
    >>> @dataclass(frozen=True)
    ... class Unchanged(Step):
    ...     def output(self, space):
    ...         return space
    >>> Unchanged().way, Unchanged().output(prepriv.Domain.ball(3, [0, 1]).space).d
    ('free', 3)
    """

    payment: Payment | None = field(default=None, kw_only=True)

    ways: ClassVar[tuple[str, ...]] = ()
    why_not: ClassVar[dict[str, str]] = {}
    at_prediction: ClassVar[bool] = True
    fitted_state: ClassVar[str] = "fitted values"
    Caps: ClassVar[type[Caps]] = Caps
    _words: ClassVar[tuple[str, ...]] = (
        "lipschitz",
        "propagate",
        "sensitivity",
        "conditions",
        "distance",
        "after_drops",
        "l2_sensitivity",
        "takes_any_order",
    )

    @property
    def reads_labels(self) -> bool:
        """Whether its fits need LabelledRows. Otherwise rows come without labels."""
        return False

    @property
    def depends_on_data(self) -> bool:
        """Whether its map depends on rows, so that the step has to be paid for."""
        return bool(self.ways)

    @property
    def drops(self) -> bool:
        """Whether the fitted map may drop rows (`FittedMap.keep`). The map of a step that does not say so is refused."""
        return False

    @property
    def after_drops(self) -> bool:
        """Whether the step may follow one that drops rows, which are rows of zeros from then on.

        By default a step may if both neighbours get the same map, and may not if the map is fitted on each of them.
        """
        return self.paid.leaves

    @property
    def takes_any_order(self) -> bool:
        """Whether its fit on private rows gives the same result for them in any order. A third-party step that does not say so is refused
        where neighbours do not have their common rows in the same places (`said.has_places`)."""
        return False

    @property
    def counts_classes(self) -> int | None:
        """The number of classes whose records it counts, if it counts any."""
        return None

    @property
    def holds_only(self) -> str:
        """What has to be true of the step itself, whatever the data are: a sentence that begins with "holds only", or
        "" (`Chain.notes`)."""
        return ""

    @property
    def directions(self) -> int | None:
        """How many directions of the second moment of the rows it keeps, if it keeps only some."""
        return None

    def __post_init__(self) -> None:
        check_payment(self.name, self.payment)
        way = self.way
        if way == "free" and self.depends_on_data:
            raise ValueError(f"{self.name} depends on data and needs payment=: one of {', '.join(self.ways)}")
        if way != "free" and way not in self.ways:
            reason = self.why_not.get(
                way, "it depends on no data and is free" if not self.ways else "no method known"
            )
            raise ValueError(f"{self.name} cannot be paid for by {way}: {reason}")
        self.Caps.of(self.name, self.paid)

    @property
    def name(self) -> str:
        """The step's name in plans and reports."""
        return type(self).__name__

    @property
    def paid(self) -> Way:
        """Its payment, or `FREE` without one."""
        return FREE if self.payment is None else self.payment

    @property
    def way(self) -> str:
        """ "free", "public", "budget", "sensitivity" or "sketch"."""
        return self.paid.way

    def closed_ways(self) -> dict[str, str]:
        """The ways that are not available, each with the reason."""
        return {w: self.why_not.get(w, "no method known") for w in WAYS if w not in self.ways}

    def paid_by(self, way: str, **options: Any) -> Step:
        """This step, paid for in that way.

        If it already is, it is unchanged. Otherwise it gets the default payment of that way and the given `options`.

        ValueError, with the reason, if the way is not available.
        """
        if way == self.way:
            return self
        if way not in self.ways:
            raise ValueError(self.closed_ways().get(way, f"{self.name} has no payment"))
        return dataclasses.replace(self, payment=default_payment(way), **options)

    def check_place(self, domain: Domain, first: bool) -> None:  # noqa: B027  most stand anywhere
        """ValueError if the step is not for tables of this domain, or if it must come first and a step before it does not keep cells."""

    @property
    def keeps_cells(self) -> bool:
        """Whether rows after the step still are rows of the declared domain, with gaps filled within the bounds."""
        return False

    @abc.abstractmethod
    def output(self, space: Space) -> Space:
        """The declared space of the rows after this step."""

    @property
    def in_full(self) -> str:
        """Its name, with what it is made of if that says more."""
        return self.name

    def lipschitz(self, space: Space) -> float:
        """The Lipschitz constant of the fitted map, as a map of rows. inf if there is none, or if the step does not state one."""
        return math.inf

    def sensitivity(self, domain: Domain | Space, n: int, incoming: RowShift | None = None) -> RowShift:
        """The shift after the step for an `incoming` shift, if the step is fitted on the private rows without noise."""
        raise ValueError(
            f"{self.name} cannot be paid for by sensitivity: {self.closed_ways().get('sensitivity', '')}"
        )

    def conditions(self, space: Space, n: int, incoming: RowShift | None = None) -> tuple[Premise, ...]:
        """The conditions that `sensitivity` rests on, about the rows as they reach this step. Those of earlier steps are not included."""
        before = dataclasses.replace(incoming or UNTOUCHED, conditions=())
        return self.sensitivity(space, n, before).conditions

    def propagate(self, space: Space, incoming: RowShift) -> RowShift:
        """The shift after the step for an `incoming` shift, if the map is fixed: free, public, or released by budget.

        A map that drops rows may drop a moved row on one side only. ValueError if the map does not bound the shift.
        """
        lipschitz = self.lipschitz(space)
        if incoming.rows_moved > 0 and math.isinf(lipschitz):
            raise ValueError(
                f"{self.in_full} is not a Lipschitz map, so it cannot follow a step paid for by sensitivity; "
                "use one that is: Homogenize, ClipNorm, Normalize with a floor"
            )
        out = incoming.through(lipschitz).within(self.output(space).diameter)
        dropped = incoming.rows_dropped + (incoming.rows_moved if self.drops else 0.0)
        return dataclasses.replace(out, rows_dropped=dropped)

    def distance(self, rows: Rows, space: Space, n: int, incoming: RowShift | None = None) -> float:
        """The smallest number of records that must be replaced before a condition of `sensitivity` fails. At 0 or below, it may fail.

        It is for propose-test-release (docs/proofs/propose_test_release.md). It must be 1-Lipschitz between
        neighbours (replace-one) whose common rows reach the step apart by `incoming`. So a statistic that counts
        records is divided by `incoming.records`, or by less if a proof says so. It depends on private rows and is
        used in that test alone. inf for an unconditional step.
        """
        return math.inf

    def free(self, space: Space) -> ReleasedMap:
        """The map of a step that does not depend on data."""
        raise TypeError(f"{self.name} depends on data")

    def check_public(self, n: int, rows: Rows | None, space: Space) -> None:  # noqa: B027  most have nothing to say
        """ValueError, before any charge, if n public rows cannot be used. rows: None if their form is not known yet."""

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        """Fit on n public rows."""
        raise TypeError(f"{self.name} has no public fit")

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        """Fit on the private rows without noise. The map is deleted when the run ends."""
        raise TypeError(f"{self.name} has no fit paid for by sensitivity")

    def prediction_map(self, space: Space) -> ReleasedMap:
        """The map for new rows in place of a confidential one (for steps with at_prediction = False). Nothing in it is private."""
        return Identity()

    def l2_sensitivity(self, space: Space, adjacency: Adjacency, incoming: RowShift) -> float:
        """For a payment by budget: the L2 sensitivity of the one sum that the step asks for.

        Here it is that of the sum of the rows as they reach the step.

        Any other sum is refused unless the step says how far it moves (`mechanisms.handle.Mechanisms`).
        """
        return sum_shift(space, adjacency, incoming)

    def check_release(  # noqa: B027  most sums fit wherever their noise does
        self, space: Space, n: int, adjacency: Adjacency, incoming: RowShift, noise_multiplier: float
    ) -> None:
        """For a payment by budget: ValueError if the declared facts leave nothing to release.

        It is called when planning, not in a charged run.
        """

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        """For a payment by budget: fit through a single use of one mechanism, dividing by the declared n."""
        raise TypeError(f"{self.name} has no fit paid for by budget")


def walk(steps: Iterable[Step], space: Space) -> Iterator[tuple[Step, Space, Space]]:
    """(step, space before it, space after it) of a chain.

    A dropped row is a row of zeros from then on, whatever the later maps do: after a step that drops rows every
    space holds the origin (docs/proofs/chaining.md).
    """
    dropping = False
    for step in steps:
        if dropping and not step.after_drops:
            raise ValueError(f"{step.name} cannot follow a step that drops rows")
        dropping = dropping or step.drops
        after = step.output(space)
        if type(after) is not Space:  # a subclass could say anything of its rows
            raise ValueError(
                f"{step.name} must give a prepriv.space.Space in `output`; got {type(after).__name__}"
            )
        after = after.with_origin() if dropping else after
        after = dataclasses.replace(after, reading=space.reading.then(step.name))
        yield step, space, after
        space = after


def need_filled(name: str, space: Space) -> None:
    """Refuse a space in which cells can still be missing. It is for steps that mix the cells of a row.

    Parameters
    ----------
    name : str
        The name of the step, for the message.
    space : Space
        The space of the rows that reach the step.

    Raises
    ------
    ValueError
        If a cell can be missing.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing.base import need_filled
    >>> need_filled("Winsorize", prepriv.Domain.ball(2, [0, 1]).space)
    """
    if space.may_miss.any():
        raise ValueError(f"{name} needs every cell: put an imputation step before it")


def need_untouched(step: Step, incoming: RowShift) -> None:
    """Refuse a place after a step that has moved or dropped common rows.

    Parameters
    ----------
    step : Step
        The step, for the message.
    incoming : RowShift
        The shift of the rows that reach the step.

    Raises
    ------
    ValueError
        If `incoming` is not zero.

    Examples
    --------
    >>> from prepriv.preprocessing import Normalize, RowShift
    >>> from prepriv.preprocessing.base import need_untouched
    >>> need_untouched(Normalize(), RowShift())
    """
    if not incoming.is_zero:
        raise ValueError(f"{step.name} cannot follow a step paid for by sensitivity: it needs unmoved rows")


def need_n(n: int) -> int:
    """Check a number of records.

    Parameters
    ----------
    n : int
        As declared.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        Unless it is a whole number of at least 1.

    Examples
    --------
    >>> from prepriv.preprocessing.base import need_n
    >>> need_n(1000)
    1000
    """
    return integer("n", n)


def check_positive(name: str, value: float) -> float:
    """A finite positive number of sane size (`_arguments.length`), or ValueError."""
    return length(name, value)
