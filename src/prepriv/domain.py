"""What is public about the data: columns, bounds or norm, categories, classes, n, adjacency.

Everything here is *declared* by the user. Nothing in this module ever looks at a record: a bound, a
category or a class that was read off private data is itself a leak.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib import import_module
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer, length, numbers, settle, shown
from prepriv.adjacency import ADJACENCIES, Adjacency, check_adjacency, n_is_public
from prepriv.columns import (
    BALL_READ,
    MISSING,
    MOST_TEXT,
    OTHER,
    Categorical,
    Column,
    Columns,
    Numeric,
    Text,
    check_distinct,
    columns_read,
    listed,
)
from prepriv.drafted import Drafted, check_source, content_of, declared_rows
from prepriv.periods import Periods
from prepriv.space import Reading, Space
from prepriv.tables.cell import text_of

__all__ = ["ADJACENCIES", "Adjacency", "Domain", "as_space", "check_adjacency"]

_SHOWN = 12  # classes and columns that are listed where a domain is printed
TARGET_STEPS = 2**24  # of a target between its bounds: as fine as a float32
MOST_ROWS = 100  # of a unit: each takes a product with each other one


def _check_target(target: Any, classes: tuple[Any, ...]) -> None:
    """ValueError unless a target is the bounds of a number, declared in place of classes."""
    if not isinstance(target, Numeric):
        raise ValueError(f"target must be Numeric(low, high); got {shown(target)}")
    if classes:
        raise ValueError("declare classes, or a target to predict as a number, not both")
    if target.missing != "midpoint":
        raise ValueError("a missing target counts as nothing and is not imputed: leave out missing=")


class _Ordered(tuple[Hashable, ...]):
    """Classes in the order of a model's outputs: ascending, unless an older file holds another, which `replace` keeps."""

    __slots__ = ()

    @staticmethod
    def of(classes: Any) -> _Ordered:
        if isinstance(classes, _Ordered):
            return classes
        found = listed("classes", classes)
        return _Ordered(found[k] for k in ascending(found))


def ascending(classes: Sequence[Any]) -> list[int]:
    """Positions of the classes in ascending order; as declared where they cannot be compared."""
    try:
        return sorted(range(len(classes)), key=classes.__getitem__)
    except TypeError:
        return list(range(len(classes)))


def _bounds(what: str, values: float | Sequence[float], features: int) -> NDArray[np.float64]:
    try:
        found = numbers(what, values)
        if found.shape in ((), (features,)):
            return np.broadcast_to(found, (features,))
    except ValueError:
        pass
    raise ValueError(f"{what} must be a number or a list of {features}, one per feature; got {shown(values)}")


def _image(image: Any, columns: int) -> tuple[int, int, int]:
    """(height, width, channels) whose product is the number of columns, or ValueError."""
    found = tuple(integer("image", side) for side in image) if isinstance(image, list | tuple) else ()
    if len(found) != 3 or math.prod(found) != columns:
        raise ValueError(
            f"image must be height, width and channels of the {columns} columns; got {shown(image)}"
        )
    return found


def _whose(unit: str | None) -> str:
    return "one record" if unit is None else f"one {unit!r} with all its rows"


def _of_whose(unit: str | None) -> str:
    return "" if unit is None else f" of {_whose(unit)}"


def check_declared_by(name: Any) -> None:
    """ValueError unless it is None or the printable words that name who declared the rest."""
    if name is None:
        return
    if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name.strip()) <= len(name) <= 200:
        raise ValueError(f"declared_by must be 1 to 200 printable characters; got {shown(name)}")


def check_unit(unit: Any) -> str:
    """The name of the column that says whose row it is, or ValueError: it stands in every claim and charge."""
    if not isinstance(unit, str) or not unit.isprintable() or not 1 <= len(unit) <= 60 or "`" in unit:
        raise ValueError(
            f"unit must be the name of a column: 1 to 60 printable characters, none a backtick; got {shown(unit)}"
        )
    return unit


@dataclass(frozen=True, repr=False)
class Domain:
    """Declare what is public about one data set. `Domain.box`, `images`, `ball` and `draft` make the usual domains.

    Parameters
    ----------
    columns : mapping of str to Numeric, Categorical or Text, default {}
        The columns that predict, in the order of the encoded matrix. Empty for a ball.
    classes : sequence of hashable, default ()
        The label values, at least two. They are kept in ascending order, which is that of all outputs and of
        `classes_`, whatever order you write. Leave them out where `target` is declared. Leave out classes and label
        where nothing has to be learned (`prepriv.ask`, `prepriv.describe`).
    n : int, optional
        The declared number of records; with `unit`, of units. Under replace-one it is public by definition, and None
        takes it from the table. Under add-or-remove-one it must be declared, and it only normalises. Count the
        records before any is left out because of what it holds: after `df.dropna()` a single record decides n, which
        is printed. Keep such rows instead. An empty cell of a number is imputed or counts as the middle of the bounds
        (`Numeric.missing`), one of a category has a category of its own, and a record with an unknown label counts as
        nothing.
    adjacency : {"replace-one", "add-or-remove-one"}, default "replace-one"
        What neighbouring data sets are: those that differ in one record, or in one unit with all its rows.
    label : str, optional
        Name of the label column in a table. None: labels are given apart from the table.
    ball_radius : float, optional
        The norm bound, where rows are points of a ball, in the units of the rows. None: the domain has columns.
    ball_features : int, default 0
        Dimensions of the ball; 0 without one.
    target : Numeric, optional
        In place of classes: the declared bounds of the number that a regressor learns. Numbers beyond them are
        clamped.
    image : (int, int, int), optional
        Height, width and channels, where the columns are the pixels of an image.
    unit : str, optional
        Name of the column that says whose row it is, where a person can have several (docs/units.md). Neighbours then
        differ in one unit with all its rows, and n, which must be declared, counts units. None: a row is a record.
    rows_per_unit : int, optional
        How many rows of each unit are read, 1 to 100. Which ones depends on the unit's own rows alone. Goes with
        `unit`.
    drafts : tuple of Drafted, default ()
        What it cost to draft this domain privately (`Domain.draft`). Whatever is released with this domain includes
        that cost in its claim. Editing the columns by hand does not change this.
    periods : Periods, optional
        Train on the rows of these months or years alone, by a column of dates (`prepriv.periods.Periods`). Only under
        add-or-remove-one. With `unit` the neighbours differ in all rows of one unit in one period. None: all rows.
    source : str, optional
        Where the rows come from, in words, if not from a table or a file: a query with its text, or a reader. The
        claim then says that a record is a row of that source, and does not depend on the order of its rows
        (docs/proofs/one_table.md). `fit` and the commands set it.
    declared_by : str, optional
        Who answers for what is declared here: 1 to 200 printable characters, which the report shows. None: the report says
        that nobody is named.

    Raises
    ------
    ValueError
        For anything that cannot be a declared fact, with one sentence.

    See Also
    --------
    prepriv.schemas.schema.load_schema : The same facts from a YAML file.

    Notes
    -----
    Nothing here looks at a record. A bound, a category or a class that was read off private data is itself a leak.

    Examples
    --------
    >>> from prepriv import Categorical, Domain, Numeric
    >>> domain = Domain({"age": Numeric(17, 90), "job": Categorical(["clerk"])}, classes=[0, 1], n=1000)
    >>> domain.feature_names
    ['age', 'job=clerk', 'job=other', 'job=missing']
    >>> domain.space.d
    4
    """

    columns: Mapping[str, Column] = field(default_factory=dict)
    classes: tuple[Hashable, ...] = ()
    n: int | None = None
    adjacency: Adjacency = "replace-one"
    label: str | None = None
    ball_radius: float | None = None
    ball_features: int = 0
    target: Numeric | None = None
    image: tuple[int, int, int] | None = None
    unit: str | None = None
    rows_per_unit: int | None = None
    drafts: tuple[Drafted, ...] = ()
    periods: Periods | None = None
    source: str | None = None
    declared_by: str | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Of a pickle: one of an earlier version keeps the order of its classes, in which its model's outputs stand."""
        self.__dict__.update(state, classes=_Ordered(state["classes"]))

    def __post_init__(self) -> None:
        check_adjacency(self.adjacency)
        if not isinstance(self.columns, Mapping):
            raise ValueError(
                f"columns must map names to Numeric, Categorical or Text; got {shown(self.columns)}"
            )
        object.__setattr__(self, "columns", Columns(self.columns))
        object.__setattr__(self, "classes", _Ordered.of(self.classes))
        for name, column in self.columns.items():
            if not isinstance(name, str):
                raise ValueError(
                    f"names of columns must be texts; got {shown(name)}: Domain.box names them x0, x1, ... and takes "
                    "those of a table by position"
                )
            if not isinstance(column, Column):
                raise ValueError(
                    f"column {name!r} must be Numeric(low, high), Categorical(categories) or Text(); got {shown(column)}"
                )
            if isinstance(column, Numeric) and column.log:
                raise ValueError(
                    f"column {name!r}: log=True is for a target; of a column, SquareRoot() is a step that shortens large numbers"
                )
        if self.n is not None:
            object.__setattr__(self, "n", integer("n", self.n))
        if self.label is not None and not isinstance(self.label, str):
            raise ValueError(f"label must be the name of a column; got {shown(self.label)}")
        if self.target is not None:
            _check_target(self.target, self.classes)
        elif (self.classes or self.label is not None) and len({text_of(value) for value in self.classes}) < 2:
            raise ValueError("classes must name at least two distinct label values")
        check_distinct("classes", self.classes)
        if self.label is not None and self.label in self.columns:
            raise ValueError(f"the label {self.label!r} must not be one of the columns that predict it")
        if sum(c.width for c in self.columns.values() if isinstance(c, Text)) > MOST_TEXT:
            raise ValueError(f"texts may have at most {MOST_TEXT} features in all")
        names = self.feature_names if self.columns else []
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"two encoded features would be named {twice!r}: rename a column")
        if self.ball_radius is None and not self.columns:
            raise ValueError("a domain needs columns, or a ball (Domain.ball)")
        if self.ball_radius is not None and (self.columns or self.ball_features < 1):
            raise ValueError("a ball domain has a positive number of features and no columns")
        if self.ball_radius is not None:
            settle(self, ball_radius=length("radius", self.ball_radius))
        if self.image is not None:
            object.__setattr__(self, "image", _image(self.image, len(self.columns)))
        if self.unit is not None or self.rows_per_unit is not None:
            self._check_unit()
        self._check_drafts()
        check_source(self.source)
        check_declared_by(self.declared_by)
        if self.periods is not None:
            self._check_periods()

    def _check_periods(self) -> None:
        if not isinstance(self.periods, Periods):
            raise ValueError(f"periods must be a prepriv.periods.Periods; got {shown(self.periods)}")
        if n_is_public(self.adjacency):
            raise ValueError(
                "periods: declare adjacency add-or-remove-one; a record that is replaced could move to another period"
            )
        if self.is_ball:
            raise ValueError("periods: a ball has no columns, so none can hold a date; declare columns")
        if self.periods.column in (self.label, self.unit, *self.columns):
            raise ValueError(
                f"periods: the column {self.periods.column!r} must be neither the label, the unit nor one that predicts"
            )
        if self.drafts:
            raise ValueError(
                "periods: a draft reads the rows of all periods; declare the columns by hand, without drafts"
            )
        if self.protected is not None:
            check_unit(self.protected)

    def _check_drafts(self) -> None:
        object.__setattr__(self, "drafts", tuple(self.drafts))
        for drafted in self.drafts:
            if not isinstance(drafted, Drafted):
                raise ValueError(f"drafts must be what Domain.draft left there; got {shown(drafted)}")
            if (drafted.adjacency, drafted.unit) != (self.adjacency, self.unit):
                raise ValueError(
                    f"this domain was drafted under {drafted.adjacency} of {_whose(drafted.unit)}, and that claim does not add to one "
                    f"under {self.adjacency}{_of_whose(self.unit)}: draft it under the same, or declare it by hand, without drafts, "
                    "and state the claim of the draft apart"
                )

    def _check_unit(self) -> None:
        if self.unit is None or self.rows_per_unit is None:
            raise ValueError(
                "declare unit and rows_per_unit together: whose row it is, and how many are read; rows_per_unit: 1 reads one row of each"
            )
        settle(self, rows_per_unit=integer("rows_per_unit", self.rows_per_unit, at_most=MOST_ROWS))
        if check_unit(self.unit) in self.columns or self.unit == self.label:
            raise ValueError(
                f"the unit {self.unit!r} must be neither the label nor one of the columns that predict it"
            )
        if self.is_ball:
            raise ValueError("unit: a ball has no columns, so none can say whose row it is; declare columns")

    @staticmethod
    def box(
        low: float | Sequence[float],
        high: float | Sequence[float],
        features: int,
        classes: Sequence[Hashable] = (),
        *,
        n: int | None = None,
        adjacency: Adjacency = "replace-one",
        missing: Literal["impute", "midpoint"] = "midpoint",
        target: Numeric | None = None,
    ) -> Domain:
        """Declare numeric features x0, x1, ... with their bounds.

        Parameters
        ----------
        low, high : float or sequence of float, (features,)
            The bounds: one pair for all features, or one pair per feature.
        features : int
            How many there are.
        classes, n, adjacency, target
            As for `Domain`.
        missing : {"midpoint", "impute"}, default "midpoint"
            What a missing cell becomes, as for `Numeric`.

        Returns
        -------
        Domain

        Raises
        ------
        ValueError
            For bounds of another length, or that `Numeric` refuses.

        Examples
        --------
        >>> from prepriv import Domain
        >>> Domain.box(0, [1, 10], features=2, classes=["no", "yes"]).columns["x1"].high
        10.0
        """
        features = integer("features", features)
        lows, highs = _bounds("low", low, features), _bounds("high", high, features)
        columns = {
            f"x{j}": Numeric(float(lo), float(hi), missing) for j, (lo, hi) in enumerate(zip(lows, highs))
        }
        return Domain(columns, _Ordered.of(classes), n, adjacency, target=target)

    @staticmethod
    def images(
        height: int,
        width: int,
        channels: int,
        classes: Sequence[Hashable],
        *,
        high: float = 255.0,
        n: int | None = None,
        adjacency: Adjacency = "replace-one",
    ) -> Domain:
        """Declare images with pixels from 0 to `high`: flat rows, or arrays (n, height, width[, channels]).

        Parameters
        ----------
        height, width, channels : int
            Size of an image, in pixels. The pixels are the columns x0, x1, ..., row by row, with the channels of a
            pixel together.
        classes, n, adjacency
            As for `Domain`.
        high : float, default 255.0
            The largest value of a pixel: 255, or 1.

        Returns
        -------
        Domain

        Raises
        ------
        ValueError
            For a side below 1, or anything that `Domain` refuses.

        Examples
        --------
        >>> from prepriv import Domain
        >>> Domain.images(28, 28, 1, classes=range(10)).n_inputs
        784
        """
        image = (integer("height", height), integer("width", width), integer("channels", channels))
        box = Domain.box(0.0, length("high", high), math.prod(image), classes, n=n, adjacency=adjacency)
        return replace(box, image=image)

    @staticmethod
    def ball(
        features: int,
        classes: Sequence[Hashable] = (),
        *,
        radius: float = 1.0,
        n: int | None = None,
        adjacency: Adjacency = "replace-one",
        target: Numeric | None = None,
    ) -> Domain:
        """Declare rows in a ball around the origin, such as embeddings.

        Parameters
        ----------
        features : int
            Dimensions of a row.
        classes, n, adjacency, target
            As for `Domain`.
        radius : float, default 1.0
            The declared norm bound, in the units of the rows. A row outside is pulled back to the ball.

        Returns
        -------
        Domain

        Raises
        ------
        ValueError
            For a radius or a number of features that is not positive, or anything that `Domain` refuses.

        Notes
        -----
        For rows in a ball, the automatic recipe learns from the direction of a row as seen from the mean. If the
        length matters as much, as in a table of a few columns, declare the columns instead.

        Examples
        --------
        >>> from prepriv import Domain
        >>> Domain.ball(384, classes=["spam", "ham"]).is_ball
        True
        """
        features = integer("features", features)
        radius = length("radius", radius)
        return Domain({}, _Ordered.of(classes), n, adjacency, None, radius, features, target)

    @staticmethod
    def draft(
        table: Any,
        *labels: Any,
        epsilon: float,
        delta: float = 1e-6,
        n: int | None = None,
        label: str | None = None,
        adjacency: Adjacency = "replace-one",
        ledger: str | PathLike[str] | None = None,
        unit: str | None = None,
        rows_per_unit: int | None = None,
        classes: Sequence[str] | None = None,
        target: Numeric | Literal["numeric"] | None = None,
    ) -> Domain:
        """Draft a domain privately from a table with its label.

        Kinds, bounds, categories and classes are outputs of mechanisms. Together they cost (epsilon, delta), which is
        charged before a record is read. What is too rare to be seen is left out. The names of the columns are taken
        as public.

        Parameters
        ----------
        table : pandas, polars or Arrow table
            The private rows, label included.
        *labels : object
            Not taken: the label is a column of the table. A TypeError says the call.
        epsilon : float
            What the draft costs, positive.
        delta : float, default 1e-6
            In (0, 1), well below 1 / n.
        n : int, optional
            The declared number of records. None takes it from the table. Under add-or-remove-one it must be declared.
        label : str, optional
            Name of the label column. None: the last column, which a DraftWarning names before anything is charged.
        adjacency : {"replace-one", "add-or-remove-one"}, default "replace-one"
            What neighbouring data sets are.
        ledger : path or URL, optional
            The ledger that is charged. None: no ledger.
        unit, rows_per_unit : str and int, optional
            As for `Domain`, where a person can have several rows. Then n must be declared and counts units, and the
            draft reads one row of each unit.
        classes : sequence of str, optional
            The classes of the label, as you know them without looking at the table. They are free: the draft
            releases nothing about the label. None: they are drafted, and a class that is too rare is not seen.
        target : Numeric or "numeric", optional
            Says that the label is a number. `Numeric(low, high)`: its bounds, as you know them without looking at the
            table. They are free: the draft releases nothing about the label. "numeric": its range is drafted. None: a
            numeric label is drafted for regression if it shows fewer than two common values, or more than 20, or if too
            many records have others.

        Returns
        -------
        Domain
            The drafted domain, with its cost in `drafts`. Everything that is released with the domain includes that
            cost in its claim. `drafts[0].told` says what was left out or guessed. A DraftWarning prints what you have to
            look at.

        Raises
        ------
        ValueError
            For mistakes, with nothing charged. Also after the charge, where too few classes or columns were seen.

        Notes
        -----
        Proof: docs/proofs/stability_histogram.md.

        Examples
        --------
        >>> import pandas as pd, prepriv
        >>> table = pd.DataFrame({"age": [20 + i % 60 for i in range(2000)], "y": ["a", "b"] * 1000})
        >>> domain = prepriv.Domain.draft(table, epsilon=1.0)
        >>> sorted(domain.classes), list(domain.columns)
        (['a', 'b'], ['age'])
        """
        if labels:
            raise TypeError(
                "a draft takes one table, with its label among the columns: Domain.draft(X.assign(y=y), label='y', epsilon=0.5). Other settings "
                "are given by their names"
            )
        # a constructor by its name: the top of the package knows who makes it, this room does not
        made: Domain = import_module("prepriv").draft_domain(
            table,
            epsilon=epsilon,
            delta=delta,
            n=n,
            label=label,
            adjacency=adjacency,
            ledger=ledger,
            unit=unit,
            rows_per_unit=rows_per_unit,
            classes=classes,
            target=target,
        )
        return made

    @property
    def n_is_public(self) -> bool:
        """Whether neighbouring data sets have the same number of rows. If so, that number is public."""
        return n_is_public(self.adjacency) and self.unit is None

    @property
    def protected(self) -> str | None:
        """Whose rows neighbours differ in, as a claim names it: the unit, and with `periods` in one period. None: a single record."""
        if self.unit is None or self.periods is None:
            return self.unit
        return f"{self.unit} in one {self.periods.by} of {self.periods.column}"

    @property
    def declared_rows(self) -> tuple[str, ...]:
        """What a record is, if the rows come from a query or a reader. It is the first condition of each claim."""
        return declared_rows(self.source, self.unit)

    @property
    def labels(self) -> NDArray[Any]:
        """The classes as an array, (k,). Its type is object if an array of one type would change them."""
        labels = np.asarray(self.classes)
        return labels if labels.tolist() == list(self.classes) else np.array(self.classes, dtype=object)

    def __repr__(self) -> str:
        rows = f"n = {self.n:,}" if self.n is not None else "n not declared"
        if self.n is not None and self.unit is not None:
            rows += f" different {self.unit!r}"
        where = f"a ball of radius {self.ball_radius:g}, " if self.ball_radius is not None else ""
        paid = "".join(
            f"; drafted privately for ε = {d.epsilon:g}, which every claim includes" for d in self.drafts
        )
        whose = (
            "" if self.unit is None else f" of units, {self.rows_per_unit} rows of one {self.unit!r} at most"
        )
        if self.periods is not None:
            whose += f"; rows of {', '.join(self.periods.read)} by {self.periods.column!r}"
        return (
            f"Domain({where}{self.n_inputs} columns, {self._learned}; {rows}, {self.adjacency}{whose}{paid})"
        )

    @property
    def _learned(self) -> str:
        if self.target is not None:
            return f"target {self.target}"
        few = ", ".join(str(c) for c in self.classes[:_SHOWN])
        return f"classes {few}" + (
            f" and {len(self.classes) - _SHOWN} more" if len(self.classes) > _SHOWN else ""
        )

    def _repr_html_(self) -> str:
        lines = [(name, str(column)) for name, column in list(self.columns.items())[:_SHOWN]]
        body = "".join(f"<tr><td>{escape(a)}</td><td>{escape(b)}</td></tr>" for a, b in lines)
        more = self.n_inputs - len(lines)
        last = f"<tr><td colspan=2>and {more} more</td></tr>" if more > 0 else ""
        return f"<p><b>{escape(repr(self))}</b></p><table>{body}{last}</table>"

    @property
    def is_ball(self) -> bool:
        """True when rows are points of a ball rather than typed columns."""
        return self.ball_radius is not None

    @property
    def encoded_texts(self) -> int:
        """How many columns of texts go through a network (`Text.encoder`)."""
        return sum(isinstance(c, Text) and bool(c.encoder) for c in self.columns.values())

    @property
    def n_inputs(self) -> int:
        """Number of raw columns a table of features has."""
        return self.ball_features if self.is_ball else len(self.columns)

    @property
    def space(self) -> Space:
        """The encoded matrix's space: numeric features in [0, 1], one-hot blocks of norm one, or the ball."""
        if self.ball_radius is not None:
            return replace(Space.ball(self.ball_features, self.ball_radius), reading=self._reading)
        d = sum(c.width for c in self.columns.values())
        may_miss, low = np.zeros(d, dtype=bool), np.zeros(d)
        at = 0
        for column in self.columns.values():
            may_miss[at] = isinstance(column, Numeric) and column.missing == "impute"
            low[at : at + column.width] = -1.0 if isinstance(column, Text) else 0.0
            at += column.width
        # A numeric feature lies in [0, 1], a one-hot block has norm one and a text at most one: each adds one to the square.
        return Space(
            low,
            np.ones(d),
            math.sqrt(len(self.columns)),
            may_miss,
            tuple(self.feature_names),
            self._reading,
            self.image,
        )

    @property
    def _reading(self) -> Reading:
        """How `prepriv.tables.encoding` turns raw records into rows and labels, in words."""
        labels = "all labels that are not declared are one label"
        if self.target is not None:
            distance = "the distance of their logarithms" if self.target.log else "their distance"
            labels = (
                f"cut at the declared bounds and rounded to 1 / {TARGET_STEPS} of {distance}; all labels without a "
                "number are one label"
            )
        return Reading(BALL_READ if self.is_ball else columns_read(self.columns.values()), labels)

    @property
    def feature_names(self) -> list[str]:
        """Names of the encoded features, in order."""
        if self.is_ball:
            return [f"x{j}" for j in range(self.ball_features)]
        names: list[str] = []
        for name, column in self.columns.items():
            if isinstance(column, Numeric):
                names.append(name)
            elif isinstance(column, Text):
                names += [f"{name}#{j}" for j in range(column.width)]
            else:
                names += [f"{name}={c}" for c in (*column.categories, OTHER, MISSING)]
        return names

    def shape_of_rows(self) -> dict[str, Any]:
        """What decides how a raw row is encoded, as plain data: the columns or the ball."""
        data = self.to_json()
        return {"columns": data["columns"], "ball": data.get("ball")}

    def with_n(self, n: int | None) -> Domain:
        """Declare n and keep everything else.

        Parameters
        ----------
        n : int, optional
            Number of records, or of units. None: not declared. Under replace-one each fit then takes the number of
            its own rows, as splitters need (train_test_split, GridSearchCV).

        Returns
        -------
        Domain
        """
        return replace(self, n=n)

    def check_n(self, n: int) -> None:
        """Check a number of records against the declared one.

        Parameters
        ----------
        n : int
            The number of records, or units, in the table.

        Raises
        ------
        ValueError
            If another is declared.
        """
        if self.n is None or n == self.n:
            return
        counted = "records" if self.unit is None else "units"
        raise ValueError(
            f"the domain declares n={self.n:,} {counted}, not {n:,}. {self._ways_of_another_n(n)}"
        )

    def _ways_of_another_n(self, n: int) -> str:
        """What to do about another number of records: the safe way first."""
        if not self.n_is_public:
            return f"domain.with_n({n}) declares that"
        numeric = any(isinstance(column, Numeric) for column in self.columns.values())
        gaps = " (a gap is imputed, or counts as the middle of its bounds)" if numeric else ""
        return (
            f"Were rows left out because of what they hold, as dropna() does? Then n is private, and no guarantee covers it: keep all "
            f"rows{gaps}. If the number is public for another reason, such as a split by position, domain.with_n({n}) declares that, "
            "and domain.with_n(None) takes the number from each table, as GridSearchCV and other splitters need it; of a model of "
            "prepriv.private, model.set_params(domain=model.domain.with_n(None)) does"
        )

    @property
    def as_drafted(self) -> bool | None:
        """Whether columns, bounds, categories and classes are still those that a draft released. None where that is not known."""
        known = [drafted.content for drafted in self.drafts if drafted.content is not None]
        if not known:
            return None
        return drafted_content(self.columns, self.classes, self.target) in known

    def to_json(self) -> dict[str, Any]:
        """Plain data, for plans and artifacts. Columns are a list, because the weights have the same order."""
        out: dict[str, Any] = {
            "columns": _columns_in_json(self.columns),
            "classes": list(self.classes),
            "n": self.n,
            "adjacency": self.adjacency,
            "label": self.label,
        }
        if self.is_ball:
            out["ball"] = {"radius": self.ball_radius, "features": self.ball_features}
        if self.target is not None:
            out["target"] = _target_in_json(self.target)
        if self.image is not None:
            out["image"] = list(self.image)
        if self.unit is not None:
            out["unit"] = {"column": self.unit, "rows": self.rows_per_unit}
        if self.drafts:
            out["drafts"] = [drafted.to_json() for drafted in self.drafts]
        if self.periods is not None:
            out["periods"] = self.periods.to_json()
        if self.source is not None:
            out["source"] = self.source
        if self.declared_by is not None:
            out["declared_by"] = self.declared_by
        return out

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Domain:
        """Read a domain back from `to_json`.

        Parameters
        ----------
        data : mapping
            Plain data.

        Returns
        -------
        Domain

        Raises
        ------
        ValueError
            For anything malformed.
        """
        try:
            return Domain._from_json(data)
        except (KeyError, TypeError, AttributeError):
            raise ValueError("these data do not describe a domain (Domain.to_json)") from None

    @staticmethod
    def _from_json(data: Mapping[str, Any]) -> Domain:
        columns: dict[str, Column] = {}
        for c in data["columns"]:
            if not isinstance(c["name"], str) or c["name"] in columns:
                raise ValueError("names of columns must be distinct texts")
            if c["type"] == "numeric":
                columns[c["name"]] = Numeric(
                    float(c["low"]), float(c["high"]), c["missing"], c.get("written", "number")
                )
            elif c["type"] == "categorical":
                columns[c["name"]] = Categorical(tuple(c["categories"]))
            elif c["type"] == "text":
                columns[c["name"]] = Text.of(c)
            else:
                raise ValueError(f"column type must be 'numeric', 'categorical' or 'text'; got {c['type']!r}")
        ball, target, unit = data.get("ball"), data.get("target"), data.get("unit")
        return Domain(
            columns,
            _Ordered(listed("classes", data["classes"])),  # of weights and counts in the same file
            data.get("n"),
            check_adjacency(data["adjacency"]),
            data.get("label"),
            float(ball["radius"]) if ball else None,
            int(ball["features"]) if ball else 0,
            Numeric(
                float(target["low"]),
                float(target["high"]),
                written=target.get("written", "number"),
                log=target.get("log", False),
            )
            if target
            else None,
            data.get("image"),
            unit["column"] if unit else None,
            unit["rows"] if unit else None,
            tuple(Drafted.from_json(drafted) for drafted in data.get("drafts", ())),
            Periods.from_json(data["periods"]) if data.get("periods") else None,
            data.get("source"),
            data.get("declared_by"),
        )


def _columns_in_json(columns: Mapping[str, Column]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name, c in columns.items():
        if isinstance(c, Numeric):
            kind = {"type": "numeric", "low": c.low, "high": c.high, "missing": c.missing} | c.way
        elif isinstance(c, Text):
            kind = {"type": "text", "features": c.features} | c.way
        else:
            kind = {"type": "categorical", "categories": list(c.categories)}
        found.append({"name": name} | kind)
    return found


def _target_in_json(target: Numeric) -> dict[str, Any]:
    return {"low": target.low, "high": target.high} | target.way


def drafted_content(
    columns: Mapping[str, Column], classes: Sequence[Hashable], target: Numeric | None
) -> str:
    """The hash of columns and label, as a draft keeps it (`Drafted.content`)."""
    learned = sorted(text_of(value) for value in classes) if target is None else _target_in_json(target)
    return content_of(_columns_in_json(columns), learned)


def as_space(domain: Domain | Space) -> Space:
    """Give the matrix view of a domain; a Space is returned as it is.

    Parameters
    ----------
    domain : Domain or Space
        What is declared: of the raw table, or of the rows at one point of a pipeline.

    Returns
    -------
    Space
        The space of the encoded rows.

    Examples
    --------
    >>> from prepriv import Domain
    >>> from prepriv.domain import as_space
    >>> space = as_space(Domain.box(0, 10, features=4, classes=[0, 1]))
    >>> space.d, space.radius
    (4, 2.0)
    """
    return domain if isinstance(domain, Space) else domain.space


def what_n_counts(domain: Domain) -> str:
    """What n of a domain counts: "records", or "units"."""
    return "records" if domain.unit is None else "units"
