"""A list of questions to one table, priced together before any is asked: equal ones, and what they share, are paid for once.

Each question follows from one or two `Piece`s; a piece is one release, whoever needs it. Proof: docs/proofs/describe.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from prepriv._arguments import integer, number, shown
from prepriv._rounding import UP
from prepriv.adjacency import Adjacency, n_is_public
from prepriv.columns import AS_CATEGORICAL, MISSING, OTHER, Categorical, Column, Numeric, Text
from prepriv.description.cells_in_words import cut_lines, gaps_and_others, read_of_units
from prepriv.description.draft_plan import MOST_NAMES
from prepriv.description.look import Look, price
from prepriv.domain import Domain
from prepriv.guarantees.drafts import check_drafts
from prepriv.placed.checks import check_domain
from prepriv.tables.readers import closest

BINS = 20
_MOST_CELLS = 1_000_000  # counts of one question
MOST_QUESTIONS = 2000
_HELPS = 0.5  # weight of a piece that nobody asked for, which a quantile needs
_FORM = re.compile(r"(\w+)(?:\((.*)\))?(?:\s+by\s+(.+))?", re.DOTALL)
_NUMBERS = ("sum", "mean", "variance", "deviation", "missing")
_ORDERED = {"minimum": 0.0, "median": 0.5, "maximum": 1.0}
RANKS = (*_ORDERED, "quantile")
"""Questions about ranks."""

QUESTION_KINDS = (
    *("count", *_NUMBERS, "covariance", "histogram", "share", "crosstab"),
    *RANKS,
)

_OTHER_WORDS = {
    **dict.fromkeys(("average", "avg"), "mean(COLUMN)"),
    **dict.fromkeys(("std", "stddev", "stdev", "sd"), "deviation(COLUMN)"),
    **dict.fromkeys(("var",), "variance(COLUMN)"),
    **dict.fromkeys(("min",), "minimum(COLUMN)"),
    **dict.fromkeys(("max",), "maximum(COLUMN)"),
    **dict.fromkeys(("total",), "sum(COLUMN)"),
    **dict.fromkeys(("percentile", "percentiles"), "quantile(COLUMN, 0.9)"),
    **dict.fromkeys(("proportion", "percentage", "percent", "fraction", "rate"), "share(COLUMN)"),
    **dict.fromkeys(("frequency", "frequencies", "value_counts"), "histogram(COLUMN)"),
    **dict.fromkeys(("cov",), "covariance(COLUMN, COLUMN)"),
    **dict.fromkeys(("gaps", "nulls"), "missing(COLUMN)"),
}
_CORRELATION = (
    "of numeric columns `prepriv describe --correlations` releases it (in Python describe(..., correlations=True)); here, "
    "covariance(COLUMN, COLUMN) divided by both deviation(COLUMN) is one"
)

Piece: TypeAlias = tuple[Any, ...]
"""A release, as what kind of which columns in which groups: ("counts", columns), ("names", column), ("moments", column, by),
("pairs", one, two, by), ("bins", column, bins, by), ("quantile", column, level, by)."""


@dataclass(frozen=True)
class Asked:
    """One question to a table.

    Parameters
    ----------
    kind : str
        "count"; of a numeric column "sum", "mean", "variance", "deviation", "missing" (the share of gaps), "minimum",
        "median", "maximum", "quantile", "histogram"; of two of them "covariance"; of a categorical one "histogram" (how many
        records have each value) and "share" (which part of the records has it); of two of them "crosstab".
    columns : tuple of str
        The names of the declared columns.
    by : str, optional
        A column whose groups are asked about one by one. The groups of a categorical column are its categories,
        "other" and "missing". Those of a text column are the values common enough to be seen, which are found
        privately, and "other". None: all records are one group.
    level : float, optional
        The level of a quantile, in (0, 1).
    bins : int, default 20
        How many bins a histogram of numbers has.

    Raises
    ------
    ValueError
        For a question that is none of these.

    Examples
    --------
    >>> from prepriv.description.asked import Asked
    >>> Asked.of("mean(pay) by sex"), str(Asked("quantile", ("age",), level=0.9))
    (Asked(kind='mean', columns=('pay',), by='sex', level=None, bins=20), 'quantile(age, 0.9)')
    """

    kind: str
    columns: tuple[str, ...] = ()
    by: str | None = None
    level: float | None = None
    bins: int = BINS

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if self.kind not in QUESTION_KINDS:
            raise ValueError(
                f"a question is one of {', '.join(QUESTION_KINDS)}; got {shown(self.kind)}{_right_word(self.kind)}"
            )
        need = {"count": 0, "covariance": 2, "crosstab": 2}.get(self.kind, 1)
        if self.kind == "count" and self.columns:
            raise ValueError(
                "count is the number of all records, or of each group (`count by COLUMN`), and takes no column; of ranges of a number "
                "histogram(COLUMN) tells how many records each has"
            )
        if len(self.columns) != need or not all(isinstance(name, str) for name in self.columns):
            raise ValueError(f"{self.kind} is asked of {need} column(s); got {len(self.columns)}")
        if len({*self.columns, self.by}) < need + 1:
            raise ValueError(f"{self.kind} is asked of different columns, and so is by; got one twice")
        if (self.level is None) == (self.kind == "quantile"):
            raise ValueError("a level, in (0, 1), is given for a quantile, and for nothing else")
        if self.level is not None:
            object.__setattr__(self, "level", number("level", self.level, above=0.0, below=1.0))
        object.__setattr__(self, "bins", integer("bins", self.bins, at_most=1000))

    @staticmethod
    def of(text: str | Asked) -> Asked:
        """Read a question from its text, such as "mean(pay) by sex", "quantile(age, 0.9)" or "count".

        Parameters
        ----------
        text : str or Asked
            The kind, its columns in parentheses, and the groups. If a column's name has a comma or parentheses, make
            an `Asked` instead.

        Returns
        -------
        Asked

        Raises
        ------
        ValueError
            For what cannot be read.
        """
        if isinstance(text, Asked):
            return text
        found = _FORM.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None:
            raise ValueError(
                f'a question is written as "mean(COLUMN)", or "mean(COLUMN) by COLUMN"; got {shown(text)}'
            )
        kind, inner, by = found.groups()
        columns = [part.strip() for part in inner.split(",")] if inner and inner.strip() else []
        told: dict[str, Any] = {}
        if kind == "quantile" and len(columns) == 2:
            told["level"] = _number(columns.pop())
        if kind == "histogram" and len(columns) == 2:
            told["bins"] = _number(columns.pop())
        return Asked(kind, tuple(columns), None if by is None else by.strip(), **told)

    def __str__(self) -> str:
        inner = [*self.columns, *([] if self.level is None else [repr(self.level)])]
        if self.bins != BINS:
            inner.append(str(self.bins))
        of = f"({', '.join(inner)})" if inner else ""
        return f"{self.kind}{of}" + (f" by {self.by}" if self.by is not None else "")


def _right_word(kind: Any) -> str:
    """The question that was meant by another word for it; "" where none is near."""
    if not isinstance(kind, str):
        return ""
    if kind.lower() in ("correlation", "correlations", "corr"):
        return f": {_CORRELATION}"
    near = _OTHER_WORDS.get(kind.lower()) or closest(kind, QUESTION_KINDS)
    return "" if near is None else f": ask {near}"


def _number(text: str) -> float | int:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise ValueError(f"a number was expected; got {shown(text)}") from None


@dataclass(frozen=True)
class AskedPlan:
    """A list of questions, priced together: `look`. Made by `plan_questions`.

    domain: the columns that are read, with n. pieces: the name of the part that pays for each. as_drafted: `Domain.as_drafted` of the whole.
    """

    domain: Domain
    questions: tuple[Asked, ...]
    look: Look
    pieces: Mapping[Piece, str]
    as_drafted: bool | None

    def piece(self, question: Asked) -> Piece | None:
        """What answers it; None where that is public."""
        return piece_of(question, self.domain)

    def bins(self, name: str, by: str | None) -> Piece:
        """The bins of a column, in groups, that a quantile rests on."""
        return next(p for p in self.pieces if p[0] == "bins" and (p[1], p[3]) == (name, by))

    def multiplier(self, piece: Piece) -> float:
        """The noise multiplier of a Gaussian release."""
        return 1 / self.look[self.pieces[piece]].mu * UP

    def named_by(self, question: str | Asked) -> tuple[str, ...]:
        """The columns whose values name the numbers of its answer: the groups first, then the rows of a cross-tabulation, then its columns."""
        q = Asked.of(question)
        counted = isinstance(self.domain.columns.get(q.columns[0]), Categorical) if q.columns else False
        return (*([] if q.by is None else [q.by]), *(q.columns if counted else ()))

    @property
    def numbers(self) -> dict[str, Numeric]:
        """The columns whose numbers are asked about, not their gaps alone."""
        asked = {name for q in self.questions if q.kind != "missing" for name in q.columns}
        return {
            name: column
            for name, column in self.domain.columns.items()
            if isinstance(column, Numeric) and name in asked
        }

    @property
    def cut(self) -> list[tuple[str, str]]:
        """(columns, how numbers beyond their bounds count)."""
        return cut_lines(self.numbers)

    @property
    def notes(self) -> list[str]:
        """Which rows of a unit are read, what becomes of gaps, and of values that are not listed."""
        asked = {name for q in self.questions for name in (*q.columns, q.by)}
        out = read_of_units(self.domain.protected)
        out += gaps_and_others(c for name, c in self.domain.columns.items() if name in asked)
        if any(q.kind == "covariance" for q in self.questions):
            out.append("covariance: of the records that have both cells.")
        if by := [
            q.by
            for q in self.questions
            if q.kind == "count" and isinstance(self.domain.columns.get(q.by or ""), Text)
        ]:
            out.append(
                f"count by {', '.join(map(shown, dict.fromkeys(by)))}: of the common values of a column of texts alone. How many records have another value, or a gap, is not "
                "released: declare the column as categorical, with its values, to count them."
            )
        if any(q.kind == "share" for q in self.questions):
            out.append(
                "share: of all records, or of all in the group. Records with a gap there count, as missing. Each share has noise of its own, so shares need not add up to 100 %."
            )
        return out

    def prices(self) -> list[tuple[str, float, float]]:
        """(release, share of the budget, noise multiplier) of each, in order."""
        square = math.fsum(part.mu**2 for part in self.look.parts)
        names = {part: piece for piece, part in self.pieces.items()}
        return [(piece_in_words(names[p.name]), p.mu**2 / square, 1 / p.mu * UP) for p in self.look.parts]


def piece_in_words(piece: Piece) -> str:
    """What a release is, for people."""
    kind, *of = piece
    if kind == "counts":
        return f"counts of {' and '.join(of[0])}" if of[0] else "number of records"
    if kind == "names":
        return f"values of {of[0]}, with counts"
    *inner, by = of
    what = {"moments": "number, sum and squares of", "pairs": "sums and products of", "bins": "bins of"}
    said = f"quantile {inner[1]:g} of {inner[0]}" if kind == "quantile" else f"{what[kind]} {inner[0]}"
    said += f" and {inner[1]}" if kind == "pairs" else ""
    return said + (f" by {by}" if by is not None else "")


def plan_questions(
    domain: Domain | Mapping[str, Column],
    questions: Sequence[str | Asked],
    *,
    epsilon: float,
    delta: float = 1e-6,
    n: int | None = None,
    adjacency: Adjacency | None = None,
    weights: Mapping[str, float] | None = None,
) -> AskedPlan:
    """Price a list of questions together. Reads no record.

    The budget, in squared mu, is shared equally among the releases that the questions need. Each is made once.

    Parameters
    ----------
    domain : Domain or mapping of str to column
        What is declared about the table. A mapping of columns is enough.
    questions : sequence of str or Asked
        As `Asked.of` reads them.
    epsilon, delta : float
        What all answers cost together.
    n : int, optional
        The declared number of records or units (default: the domain's).
    adjacency : str, optional
        For a mapping of columns (default: "replace-one").
    weights : mapping of str to float, optional
        The weight of each kind of release ("moments", "bins", "quantile", ...) when the budget is shared. Default: 1.

    Returns
    -------
    AskedPlan

    Raises
    ------
    ValueError
        For questions that the domain cannot answer, and for a budget out of range.

    Examples
    --------
    >>> from prepriv import Numeric
    >>> from prepriv.description.asked import plan_questions
    >>> plan = plan_questions({"pay": Numeric(0, 9)}, ["sum(pay)", "mean(pay)"], epsilon=1.0, n=1000)
    >>> len(plan.prices()), plan.look.guarantee.epsilon(1e-6) <= 1.0
    (1, True)
    """
    if not isinstance(domain, Domain):
        domain = Domain(domain, adjacency=adjacency or "replace-one")
    elif adjacency not in (None, domain.adjacency):
        raise ValueError("adjacency is declared in the domain: leave it out")
    check_domain(domain)
    if domain.is_ball:
        raise ValueError("domain: a ball has no columns to ask about; declare them")
    if isinstance(questions, str | Asked) or not isinstance(questions, Sequence) or not questions:
        raise ValueError("questions must be a list of at least one")
    asked = tuple(dict.fromkeys(map(Asked.of, questions)))
    if len({str(question) for question in asked}) < len(asked):  # a column whose name has a comma
        raise ValueError("two questions are written alike: rename a column")
    if len(asked) > MOST_QUESTIONS:
        raise ValueError(f"at most {MOST_QUESTIONS} questions are asked at once; got {len(asked)}")
    count = domain.n if n is None else n
    if count is None:
        raise ValueError("n, the number of records, must be declared")
    check_drafts(domain, delta)
    used = _used(asked, domain)
    weighed = _weights(asked, used)
    if weights is not None:
        weighed = {piece: weights.get(piece[0], 1.0) for piece in weighed}
    if not weighed:
        raise ValueError("nothing is asked that is not public: n is declared")
    names = {piece: f"release {i}" for i, piece in enumerate(weighed)}
    count = integer("n", count)
    look = price(
        "questions",
        {names[piece]: weight for piece, weight in weighed.items()},
        n=count,
        adjacency=domain.adjacency,
        epsilon=epsilon,
        delta=delta,
        lone=[names[piece] for piece in weighed if piece[0] == "names"],
        declared=[domain.to_json(), [str(q) for q in asked], [q.bins for q in asked]],
        unit=domain.unit,
        rows=domain.declared_rows,
    )
    return AskedPlan(used.with_n(count), asked, look, names, domain.as_drafted)


def _instead(name: str, asked: Sequence[Asked], known: Mapping[str, Column]) -> str:
    """What to ask in place of one category, or of two groups, whose text was read as the name of a column, or in place of a misspelt name; "" for any
    other name. All is declared."""
    column = name.partition("=")[0].strip()
    if column in known and column != name:
        return f': one category cannot be asked about alone. Ask "share({column})", which has a line for each category at the same price'
    parts = [part.strip() for part in re.split(r",| and | by ", name)]
    if len(parts) > 1 and all(part in known for part in parts) and any(q.by == name for q in asked):
        return (
            f': by takes one column. Ask twice, by {parts[0]} and by {parts[1]}, or ask "crosstab({parts[0]}, {parts[1]})" for how many '
            f"records each pair has. For a mean or median of each pair make a column of both in the table, such as {parts[0]}_{parts[1]}, and declare its categories"
        )
    near = closest(name, list(known))
    return "" if near is None else f"; the closest name there is {shown(near)}"


def _used(asked: Sequence[Asked], domain: Domain) -> Domain:
    """The domain of the columns that are read; the label is one of them. ValueError for one that is not declared."""
    known: dict[str, Column] = dict(domain.columns)
    names = dict.fromkeys(name for q in asked for name in (*q.columns, *([] if q.by is None else [q.by])))
    if domain.label is not None and domain.label in names:
        target = domain.target
        known[domain.label] = target.plain if target else Categorical(tuple(map(str, domain.classes)))
    for name in names:
        if name not in known:
            told = known if domain.label is None else {**known, domain.label: Text()}
            raise ValueError(
                f"{shown(name)} is asked about, but the schema does not declare it{_instead(name, asked, told)}"
            )
    for q in asked:
        kinds = [known[name] for name in q.columns]
        wanted: tuple[type, ...] = (Numeric,)
        if q.kind == "histogram":
            wanted = (Numeric, Categorical)
        if q.kind in ("share", "crosstab"):
            wanted = (Categorical,)
        if wrong := next(
            (name for name, kind in zip(q.columns, kinds) if not isinstance(kind, wanted)), None
        ):
            said = " or ".join({Numeric: "numeric", Categorical: "categorical"}[kind] for kind in wanted)
            instead = (
                f': of a categorical column ask "share({wrong})"'
                if Categorical not in wanted
                else _of_numbers(q, wrong, known)
            )
            raise ValueError(f"{q.kind} is asked of {said} columns, which {shown(wrong)} is not{instead}")
        if q.by is not None and not isinstance(known[q.by], Categorical | Text):
            raise ValueError(
                f"by is a categorical column, or one of texts, which {shown(q.by)} is not. {AS_CATEGORICAL}"
            )
        cells = math.prod(_most_groups(known[c]) for c in (*q.columns, q.by) if c is not None)
        if q.kind == "histogram" and isinstance(kinds[0], Numeric):
            cells *= q.bins
        if cells > _MOST_CELLS:
            raise ValueError(f"{q} would be more than {_MOST_CELLS} counts: noise alone")
    columns = {name: known[name] for name in names}
    if not columns:  # the number of records alone: any column tells of it
        columns = dict([next(iter(known.items()))])
    as_gaps = {k: replace(c, missing="impute") if isinstance(c, Numeric) else c for k, c in columns.items()}
    return replace(domain, columns=as_gaps, classes=(), label=None, target=None, image=None)


def _of_numbers(q: Asked, wrong: str, known: Mapping[str, Column]) -> str:
    """What to ask of a numeric column where a question is one of categories; "" of another."""
    if not isinstance(known[wrong], Numeric):
        return ""
    by = [name for name in (*q.columns, q.by) if isinstance(known.get(name or ""), Categorical)]
    of = f"histogram({wrong})" + (f" by {by[0]}" if len(by) == 1 else "")
    return (
        f': of a numeric column ask "{of}", how many records lie in each of {BINS} ranges. {AS_CATEGORICAL}'
    )


def asked_names(column: Column) -> tuple[str, ...]:
    """The declared groups of a column; one, of a column without any."""
    return (*map(str, column.categories), OTHER, MISSING) if isinstance(column, Categorical) else ("",)


def _most_groups(column: Column) -> int:
    return MOST_NAMES + 2 if isinstance(column, Text) else len(asked_names(column))


def _weights(asked: Sequence[Asked], domain: Domain) -> dict[Piece, float]:
    """Each release that the questions need, once, with what it weighs in the budget."""
    weights: dict[Piece, float] = {}
    for q in asked:
        if q.by is not None and isinstance(domain.columns[q.by], Text):
            weights[("names", q.by)] = 1.0
        if (piece := piece_of(q, domain)) is not None:
            weights[piece] = 1.0
        if q.kind == "missing":
            weights |= {rows: 1.0 for rows in asked_rows(q, domain)}
    for q in asked:
        if q.kind in ("quantile", *_ORDERED) and not any(
            piece[0] == "bins" and (piece[1], piece[3]) == (q.columns[0], q.by) for piece in weights
        ):
            weights["bins", q.columns[0], BINS, q.by] = _HELPS
    # Groups are found first; quantiles are sought last, at ranks that the bins say.
    return dict(sorted(weights.items(), key=lambda item: {"names": 0, "quantile": 2}.get(item[0][0], 1)))


def asked_rows(question: Asked, domain: Domain) -> list[Piece]:
    """What says how many records there are, in each group; none where that is public, or known by the names of the groups."""
    if question.by is not None:
        return [] if isinstance(domain.columns[question.by], Text) else [("counts", (question.by,))]
    return [] if n_is_public(domain.adjacency) else [("counts", ())]


def piece_of(question: Asked, domain: Domain) -> Piece | None:
    """The release that answers a question; None where the answer is public."""
    by, columns = question.by, question.columns
    if question.kind == "count":
        return next(iter(asked_rows(question, domain)), None)
    if question.kind == "histogram" and isinstance(domain.columns[columns[0]], Numeric):
        return "bins", columns[0], question.bins, by
    if question.kind in ("histogram", "share", "crosstab"):
        in_order = columns if by is None else (by, *columns)
        return "counts", tuple(sorted(in_order))  # one table, however it is turned
    if question.kind == "covariance":
        return "pairs", *sorted(columns), by
    if question.kind in _NUMBERS:
        return "moments", columns[0], by
    level = question.level if question.level is not None else _ORDERED[question.kind]
    return "quantile", columns[0], level, by
