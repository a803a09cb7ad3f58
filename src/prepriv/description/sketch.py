"""A sketch of a table as a thing of its own: priced, admitted, released once; tables with error bars, and rows drawn from them.

Proof: docs/proofs/sketch.md.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v1 as nw

from prepriv._arguments import integer, truth
from prepriv._callers import callers_level
from prepriv._rounding import DOWN
from prepriv._text import printable
from prepriv.columns import Numeric
from prepriv.description.cells_in_words import read_of_units
from prepriv.description.estimates import Estimate
from prepriv.description.look import Look, paid_by, price
from prepriv.description.sketch_tables import counts_of, drawn_of
from prepriv.domain import Domain
from prepriv.guarantees.drafts import check_drafts, with_drafts
from prepriv.guarantees.gaussian import gdp_mu
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.in_words import short
from prepriv.mechanisms.session import Session
from prepriv.placed.checks import check_budget, check_domain
from prepriv.placed.rows import PrivateTable
from prepriv.release.summary import promised
from prepriv.runs.admit import admit
from prepriv.sketches.release import release_sketch
from prepriv.sketches.signal import Signal, check_of, signal_of
from prepriv.sketches.sketch_plan import Needs, SketchPlan
from prepriv.sketches.tablesketch import TableSketch
from prepriv.tables.encoding import as_frame, rows_of
from prepriv.tables.readers import lacks
from prepriv.tables.stream import as_stream


@dataclass(frozen=True)
class PricedSketch:
    """A sketch that is priced: `plan` says what is released, `look` what it costs, `signal` what to expect, `as_drafted` whether its domain is as it was drafted."""

    plan: SketchPlan
    look: Look
    as_drafted: bool | None

    @property
    def signal(self) -> Signal:
        """From declared numbers alone."""
        return signal_of(self.plan, (self.look.epsilon, self.look.delta))


@dataclass(frozen=True, eq=False, repr=False)
class SketchedTable:
    """What was released about a table as a sketch, and what follows from it. All of it may be published.

    Parameters
    ----------
    priced : PricedSketch
        What was asked, and its price.
    sketch : TableSketch
        The noisy numbers.
    receipt : mapping, optional
        The receipt of the charge in a ledger. None: no ledger was charged.
    drawn : mapping, optional
        How `prepriv sketch` drew the rows that it wrote: their number (`rows`), the `seed`, and the `version` of prepriv. None: it wrote none.

    Notes
    -----
    Rows drawn from it keep how each column is distributed with the label, and nothing else about the table. Within a
    class no two columns are related, unless `pairs` were asked for. The rows are for trying code and for fitting
    steps. They are not a synthetic copy of the data. Proof: docs/proofs/sketch.md.

    Examples
    --------
    >>> import pandas as pd, prepriv
    >>> table = pd.DataFrame({"age": [20 + i % 60 for i in range(6000)], "y": ["a", "b"] * 3000})
    >>> domain = prepriv.Domain({"age": prepriv.Numeric(0, 100)}, classes=["a", "b"], label="y")
    >>> found = prepriv.sketch(table, domain, epsilon=1.0)
    >>> found.what
    'marginals with the label, nothing else'
    >>> found.to_frame(100).columns.tolist()
    ['age', 'y']
    """

    priced: PricedSketch
    sketch: TableSketch
    receipt: Mapping[str, Any] | None = None
    drawn: Mapping[str, Any] | None = None

    @property
    def guarantee_(self) -> Guarantee:
        """What is claimed for this sketch, together with the private drafts of its domain if there are any."""
        look = self.priced.look
        return with_drafts(look.guarantee, self.sketch.plan.domain, look.delta, look.n)

    def __str__(self) -> str:
        plan = self.priced.plan
        said = [
            short(self.guarantee_, self.priced.look.delta),
            f"{len(plan.columns)} columns",
            self.what,
            self.check,
        ]
        return "; ".join([*said, *map(printable, self.notes)])

    __repr__ = __str__

    @property
    def what(self) -> str:
        """What rows drawn from it keep of the table, in words. Each export says it."""
        return self.sketch.what

    @property
    def notes(self) -> list[str]:
        """Which rows of a unit are read and counted; empty without units."""
        return read_of_units(self.sketch.plan.domain.protected, self.sketch.plan.k)

    @property
    def check(self) -> str:
        """How much of the columns' dependence on the label is visible above the noise. Free, since it follows from the tables."""
        return check_of(self.sketch.shape)

    @property
    def rows(self) -> float:
        """The number of rows: the public one, or an estimate from the noisy tables."""
        return self.sketch.shape.n

    def table(self, column: str) -> dict[tuple[str, str], Estimate]:
        """The noisy counts of one column with the label.

        Parameters
        ----------
        column : str
            Its name.

        Returns
        -------
        dict of (str, str) to Estimate
            The count by (value of the cell, class), with a 95 % interval that covers the noise alone. Without a label
            the class is "all".

        Raises
        ------
        ValueError
            For a column that the sketch does not have.
        """
        return counts_of(self.sketch, column)

    def to_frame(self, rows: int, seed: int = 0) -> Any:
        """Draw rows as a raw table: marginals with the label, nothing else.

        Parameters
        ----------
        rows : int
            How many rows, 1 to 10,000,000. A few more are drawn if a class, or a gap in a column that may have gaps,
            would otherwise appear less than twice.
        seed : int, default 0
            The seed of the public random numbers. The same seed gives the same rows.

        Returns
        -------
        pandas.DataFrame
            The declared columns in their units, and the label. `attrs["prepriv"]` says what the rows are.

        Raises
        ------
        ValueError
            For numbers out of range.
        ImportError
            Without pandas.
        """
        import pandas as pd

        frame = pd.DataFrame(self.raw(rows, seed))
        frame.attrs["prepriv"] = ". ".join([f"rows drawn from a private sketch: {self.what}", *self.notes])
        return frame

    def raw(self, rows: int, seed: int = 0) -> dict[str, Any]:
        """The same columns as arrays by name, each of shape (rows,).

        Parameters
        ----------
        rows, seed : int
            As for `to_frame`.

        Returns
        -------
        dict of str to array
        """
        return drawn_of(self.sketch, rows, seed)

    @property
    def promised(self) -> list[str]:
        """What its claim promises, what adds to it, and where columns and bounds come from: sentences."""
        look, domain = self.priced.look, self.sketch.plan.domain
        return promised(
            look.guarantee,
            domain,
            self.receipt,
            "this sketch",
            n=look.n,
            delta=look.delta,
            as_drafted=self.priced.as_drafted,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data: the claim, what the sketch is, and the noisy numbers.

        Returns
        -------
        dict
            `TableSketch.from_json` reads its "sketch" back.
        """
        look = self.priced.look
        found = {
            "what": self.what,
            "guarantee": self.guarantee_.to_json(look.delta),
            "promise": self.promised,
            "plan_hash": look.hash,
            "check": self.check,
            **({"notes": self.notes} if self.notes else {}),
            "sketch": self.sketch.to_json(),
            **({} if self.drawn is None else {"drawn": dict(self.drawn)}),
        }
        return found | paid_by(look, self.sketch.plan.domain, self.receipt)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a page with pictures (.html), or the data (.json).

        Parameters
        ----------
        path : path
            A name that ends in .html or .json.

        Raises
        ------
        ValueError
            For another ending.
        OSError
            Where it cannot be written.
        """
        from prepriv.description.sketch_page import save

        save(self, path)


def plan_sketch(
    domain: Domain,
    *,
    epsilon: float,
    delta: float = 1e-6,
    n: int | None = None,
    label: bool = True,
    pairs: bool = False,
) -> PricedSketch:
    """Price a sketch of a table of this domain. No row is read. ValueError for what cannot be planned, or carries too little."""
    check_domain(domain)
    check_drafts(domain, delta)
    epsilon, delta = check_budget(epsilon, delta)
    n = domain.n if n is None else n
    if n is None:
        raise ValueError("n, the number of records, must be declared")
    as_drafted, domain = domain.as_drafted, replace(with_gaps(domain), n=integer("n", n))
    needs: Needs = "pairs" if truth("pairs", pairs) else "labels" if label else "columns"
    start = SketchPlan(domain, max(gdp_mu(min(epsilon, 1e6), delta), 1e-9), needs)
    look = price(
        "sketch",
        start.shares,
        n=domain.n or 0,
        adjacency=domain.adjacency,
        epsilon=epsilon,
        delta=delta,
        declared=[domain.to_json(), needs],
        unit=domain.unit,
        rows=domain.declared_rows,
    )
    return PricedSketch(start.with_mu(look.mu * DOWN), look, as_drafted)


def with_gaps(domain: Domain) -> Domain:
    """The same domain, its gaps kept as gaps: they are counted, not filled."""
    kept = {
        name: replace(column, missing="impute") if isinstance(column, Numeric) else column
        for name, column in domain.columns.items()
    }
    return replace(domain, columns=kept)


def sketch(
    table: Any,
    domain: Domain,
    y: Any = None,
    *,
    epsilon: float,
    delta: float = 1e-6,
    n: int | None = None,
    pairs: bool = False,
    ledger: str | os.PathLike[str] | None = None,
) -> SketchedTable:
    """Release a sketch of a private table: noisy counts of each column with the label, from which rows can be drawn.

    Parameters
    ----------
    table : pandas, polars or Arrow table, or matrix
        With the declared columns, and its label, where the domain names one.
    domain : Domain
        What is declared about it.
    y : column, optional
        The labels, (n,). None: the column of the table that the domain names as label. If it names none, the sketch
        has no label.
    epsilon : float
        What everything that is released costs together: positive and finite.
    delta : float, default 1e-6
        In (0, 1), well below 1 / n.
    n : int, optional
        The declared number of records or units (default: the domain's; under replace-one the table's).
    pairs : bool, default False
        Whether correlations of all pairs of columns within each class are released as well.
    ledger : path or URL, optional
        The ledger to charge before a record is read. None: no cap holds.

    Returns
    -------
    SketchedTable
        Tables with error bars, rows to try code on, pictures and JSON. All of them hold marginals with the label, and
        nothing else.

    Raises
    ------
    ValueError
        For mistakes, where the table does not fit, and where the sketch would carry too little. The message then says
        what would be enough. Nothing is charged.

    Warns
    -----
    UserWarning
        Where steps fitted on its rows are expected to lose a point or more.

    See Also
    --------
    describe : Means, quantiles and histograms with error bars, without rows to draw.

    Notes
    -----
    A unit with several rows is protected with all its rows that are read. Proof: docs/proofs/sketch.md.

    Examples
    --------
    >>> import pandas as pd, prepriv
    >>> table = pd.DataFrame({"age": [20 + i % 60 for i in range(6000)], "y": ["a", "b"] * 3000})
    >>> domain = prepriv.Domain({"age": prepriv.Numeric(0, 100)}, classes=["a", "b"], label="y")
    >>> found = prepriv.sketch(table, domain, epsilon=1.0)
    >>> 46 < float(found.to_frame(5000)["age"].mean()) < 53, found.guarantee_.epsilon(1e-6) <= 1.0
    (True, True)
    """
    check_domain(domain)
    if as_stream(table) is not None:
        raise ValueError("table must be in memory for a sketch: read the file into a frame first")
    if y is None and domain.label is not None:
        frame = as_frame(table)
        if not isinstance(frame, nw.DataFrame):
            raise ValueError(f"a {type(table).__name__} has no column {domain.label!r}, the label: give y")
        if domain.label not in frame.columns:
            wanted = [*domain.columns, domain.label]
            raise ValueError(
                f"{lacks('the table', domain.label, wanted, frame.columns)} (the label; or give y)"
            )
        y = frame[domain.label].to_native()
    if n is None and domain.n is None and domain.n_is_public:
        n = rows_of(table, domain)
    priced = plan_sketch(domain, epsilon=epsilon, delta=delta, n=n, label=y is not None, pairs=pairs)
    if pairs and y is None:
        raise ValueError("pairs are counted within a class: give y, or the name of the label in the domain")
    refuse_weak(priced.signal)
    return sketch_in_private(priced, table, y, ledger=ledger)


def refuse_weak(signal: Signal) -> None:
    """ValueError where a sketch would carry too little, from public numbers alone; a warning where it would carry little."""
    if signal.verdict == "too little":
        raise ValueError(f"nothing was charged: {signal.sentence}")
    if signal.verdict == "coarse":
        warnings.warn(signal.sentence, UserWarning, stacklevel=callers_level())


def sketch_in_private(
    priced: PricedSketch,
    table: Any,
    y: Any,
    *,
    ledger: str | os.PathLike[str] | None = None,
    session: Session | None = None,
    reached: Callable[[str], Any] | None = None,
) -> SketchedTable:
    """Carry out the plan: charged, and counted by the odometer, before a cell is read. BadData where the table does not fit."""
    plan = priced.plan
    unread = PrivateTable(table, y, plan.domain, plan.n, learned=y is not None)
    paid = admit(
        priced.look, unread, ledger=ledger, session=session, drafts=plan.domain.drafts, reached=reached
    )
    found = release_sketch(plan, *paid.rows, priced.look.session(paid.session))
    return SketchedTable(priced, found, paid.receipt)
