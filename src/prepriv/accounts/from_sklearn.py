"""Steps of a scikit-learn pipeline, as it was fitted on private records: each priced, or refused by name with the reason.

Every setting is read (`sklearn_settings`), fitted attributes never. What scikit-learn computes and the step it becomes are the same map wherever the
printed conditions hold (docs/your-pipeline.md has the table and the reasons).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prepriv import payment as pay
from prepriv._arguments import number, shown
from prepriv.accounts.sklearn_columns import columns_named, no_codes, same_categories
from prepriv.accounts.sklearn_premises import FITTED, SPARSE, SPELLED, WITHIN, of_codes
from prepriv.accounts.sklearn_refused import REFUSED
from prepriv.accounts.sklearn_settings import is_known, unread_settings
from prepriv.columns import Categorical, Numeric, Text
from prepriv.domain import Domain
from prepriv.placed.checks import check_domain
from prepriv.placed.raw_units import RawUnits
from prepriv.preprocessing.base import Step
from prepriv.preprocessing.compile_sklearn import taken
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.impute_constant import ConstantImputer
from prepriv.preprocessing.normalize import Normalize
from prepriv.preprocessing.scale import StandardScaler

WIDEST = 1e9  # a radius that cuts nothing off: scikit-learn pulls no row back

RESAMPLERS = ("imblearn",)
_MOST_NAMED = 5  # columns in one sentence


class Unpriced(ValueError):
    """A pipeline with parts that have no price. refused: (name, reason) of each."""

    def __init__(self, refused: Sequence[tuple[str, str]]) -> None:
        self.refused = tuple(refused)
        super().__init__("; ".join(self.lines))

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each reason, with all parts that have it, and one for what keeps them."""
        parts: dict[str, list[str]] = {}
        for name, why in self.refused:
            parts.setdefault(why, []).append(name)
        said = (
            f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} no price: {why}"
            for why, names in parts.items()
        )
        return (*said, *self.way_out)

    @property
    def way_out(self) -> tuple[str, ...]:
        """What keeps the pipeline as it is, in a run of prepriv: a sketch of the table, for the parts that it takes."""
        names = [name.partition("(")[0] for name, _ in self.refused]
        kept = sorted({name for name in names if name in taken()})
        if not kept:
            return ()
        return (
            f"{', '.join(kept)} can stay in a private run, which pays for each part by a budget or by one private sketch of the table: "
            "prepriv.private(pipeline, domain, epsilon=...)",
        )


def _columns(names: Sequence[str]) -> str:
    """Columns by name, in words; of many the first."""
    shown_here = ", ".join(repr(name) for name in names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"the column{'' if len(names) == 1 else 's'} {shown_here}{more}"


@dataclass(frozen=True)
class Declared:
    """Facts that conditions rest on; None: not declared, and a step that needs it is refused.

    missing: largest share of records that miss a cell. deviation: least standard deviation of a scaled column, as a share of
    its declared width.
    """

    missing: float | None = None
    deviation: float | None = None

    def __post_init__(self) -> None:
        for name in ("missing", "deviation"):
            if getattr(self, name) is not None:
                number(name, getattr(self, name), above=0.0, at_most=1.0)


@dataclass
class Reader:
    """Reads one pipeline. replacements: by name, steps that stand in for transformers without a price."""

    domain: Domain
    declared: Declared
    replacements: Mapping[str, Callable[[Any], Step]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    replaced: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=lambda: [WITHIN, SPELLED, FITTED])
    settled: set[str] = field(default_factory=set)  # columns that are not numeric, encoded or dropped
    settled_by_a_refusal: set[str] = field(
        default_factory=set
    )  # whatever an encoder takes, if another part was refused
    scaled: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)  # numeric columns that are not as in the table any more
    moved: str = ""  # the part after which columns have other places
    apart: str = ""  # why the steps, fitted on the table itself, would be another pipeline

    def all_steps(self, pipeline: Any) -> list[Step]:
        """Every step, in order. Raises Unpriced."""
        if self.domain.is_ball:
            raise ValueError("a scikit-learn pipeline needs a domain with columns: Domain(...) or Domain.box")
        self.read(pipeline, None)
        for kind in (Categorical, Text):
            declared = (name for name, column in self.domain.columns.items() if isinstance(column, kind))
            taken_by = self.settled_by_a_refusal if self.refused else self.settled
            if left := [name for name in declared if name not in self.settled | taken_by]:
                one = len(left) == 1
                self._refuse(
                    "what is passed through",
                    f"{_columns(left)} {'is' if one else 'are'} declared {kind.__name__.lower()} and would reach the learner as "
                    f"{'it stands' if one else 'they stand'}: give {'it' if one else 'them'} to a OneHotEncoder with "
                    f"{'its' if one else 'their'} categories, or drop {'it' if one else 'them'} in a ColumnTransformer",
                )
        if self.refused:
            raise Unpriced(self.refused)
        secret = (
            f"the {step.fitted_state} of {step.name} are needed on new rows by scikit-learn: once they leave, or predictions "
            "made with them, no finite ε holds; pay for the step by public data or budget to release it"
            for step in self.steps
            if not step.paid.leaves and not step.at_prediction
        )
        return [RawUnits(self.domain.columns, (*self.notes, *secret)), *self.steps]

    def read(self, part: Any, columns: tuple[str, ...] | None) -> None:
        """Append the steps of one transformer on some columns (None: all of them)."""
        if part is None or (isinstance(part, str) and part in ("passthrough", "drop")):
            return  # a column that is dropped and stays here makes a bound larger, never smaller
        name, home = type(part).__name__, type(part).__module__.partition(".")[0]
        if name.endswith("Encoder"):  # priced or refused, it takes them: they do not pass through
            self.settled_by_a_refusal |= set(self.domain.columns if columns is None else columns)
        if home in RESAMPLERS:
            self._refuse(
                name, "which records it leaves out or makes up depends on all of them; weigh classes instead"
            )
        elif home != "sklearn":
            self._refuse(
                name,
                "it is not a transformer of scikit-learn: what it reads is not known; write it as a step of prepriv",
            )
        elif name in REFUSED:
            self._without_price(part, columns, name, REFUSED[name])
        elif not is_known(part):
            self._refuse(name, "what it reads of the records is not known here")
        elif unknown := unread_settings(part):
            for setting, why in unknown:
                self._refuse(setting, why)
        else:
            _KNOWN[name](self, part, columns)

    def _without_price(self, part: Any, columns: tuple[str, ...] | None, what: str, why: str) -> None:
        """A kind of transformer that has no price: replaced, where something stands in for it."""
        name = type(part).__name__
        self.touched |= set(self.domain.columns if columns is None else columns)
        if name not in self.replacements:
            self._refuse(what, why)
            return
        step = self.replacements[name](part)
        if columns is not None and any(f.name == "columns" for f in dataclasses.fields(step)):
            step = dataclasses.replace(step, columns=columns)  # type: ignore[call-arg]
        self.replaced.append((what, step.name))
        self.steps.append(step)

    def _refuse(self, name: str, why: str) -> None:
        if (name, why) not in self.refused:
            self.refused.append((name, why))

    def _cap(self, cap: str, name: str, says: str) -> float | None:
        """A declared fact, refused where it is not declared."""
        if (declared := getattr(self.declared, cap)) is None:
            self._refuse(
                name,
                f"it needs {cap}, {says}: declare it, as in prepriv.account(prepriv.from_sklearn(pipeline, domain, {cap}=...), learner, "
                f"...), or by {cap}: in the file of `prepriv account`",
            )
        return declared

    def pipeline(self, part: Any, columns: tuple[str, ...] | None) -> None:
        """Every transformer in order; what only predicts at the end is the learner's place."""
        for position, (_, inner) in enumerate(part.steps):
            last = position + 1 == len(part.steps)
            if last and hasattr(inner, "predict") and not hasattr(inner, "transform") and not is_known(inner):
                self._learner(inner)
            else:
                self.read(inner, columns)

    def _learner(self, part: Any) -> None:
        name = type(part).__name__
        held = part.get_params(deep=True) if hasattr(part, "get_params") else {}
        if any(hasattr(value, "fit") for value in held.values()):
            self._refuse(
                name, "it holds other estimators, which may read the records: put the transformers before it"
            )
        self.notes.append(
            f"holds only if the learner that is accounted for ran in the place of {name}, of which nothing is read: what "
            "scikit-learn fits there on private records has no ε"
        )

    def _in_place(self, name: str) -> bool:
        if self.moved:
            self._refuse(
                name,
                f"after {self.moved} columns have other places: put all parts of a column into one Pipeline within one "
                "ColumnTransformer",
            )
        return not self.moved

    def columns(self, part: Any, columns: tuple[str, ...] | None) -> None:
        """Each transformer on its columns."""
        if columns is not None:
            self._refuse(
                "ColumnTransformer",
                "inside another one columns cannot be followed: put its parts beside each other",
            )
            return
        if not self._in_place("ColumnTransformer"):
            return
        taken: set[str] = set()
        for _, inner, wanted in part.transformers:
            names = self._names(wanted)
            if isinstance(wanted, str | int) and not (isinstance(inner, str) and inner == "drop"):
                self._refuse(
                    "ColumnTransformer",
                    f"{shown(wanted)} alone is handed on as rows of one dimension, which no part here reads: write [{shown(wanted)}]",
                )
            if taken & set(names):
                self._refuse(
                    "ColumnTransformer", f"the column {sorted(taken & set(names))[0]!r} has two transformers"
                )
            if len(set(names)) < len(names):
                self._refuse(
                    "ColumnTransformer",
                    f"{shown(wanted)} names a column twice, which is then handed on twice: name each column once",
                )
            taken |= set(names)
            if names:
                self._within(inner, names)
        rest = tuple(name for name in self.domain.columns if name not in taken)
        if rest:
            self._within(part.remainder, rest)
        self.moved = "a ColumnTransformer"

    def _within(self, part: Any, columns: tuple[str, ...]) -> None:
        """One transformer of a ColumnTransformer, where alone "drop" drops."""
        if isinstance(part, str) and part == "drop":
            self.settled |= set(columns)
            self.apart = f"the ColumnTransformer drops {columns[0]!r}, which the steps would keep: leave it out of the domain"
        self.read(part, columns)

    def _names(self, wanted: Any) -> tuple[str, ...]:
        every = list(self.domain.columns)
        if callable(wanted):
            self._refuse(
                "ColumnTransformer", "a function chooses columns by what the records hold: name the columns"
            )
            return ()
        found = columns_named(wanted, every)
        if found is None:
            raise ValueError(f"ColumnTransformer names {shown(wanted)}, which is not a column of the domain")
        return found

    def _numeric(self, name: str, columns: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """The chosen columns, all numeric; None for all of a domain without other columns."""
        chosen = tuple(self.domain.columns) if columns is None else columns
        texts = [c for c in chosen if not isinstance(self.domain.columns[c], Numeric)]
        if texts:
            self._refuse(
                name,
                f"{texts[0]!r} is declared categorical: give numeric columns to it, by a ColumnTransformer",
            )
        self.touched |= set(chosen)
        return columns

    def scaler(self, part: Any, columns: tuple[str, ...] | None) -> None:
        """(x - mean) / deviation, on the condition that no deviation is small; nothing is cut off."""
        columns = self._numeric("StandardScaler", columns)
        if not part.with_std:
            if part.with_mean:
                self._refuse(
                    "StandardScaler(with_std=False)",
                    "a mean alone has a price by budget: use prepriv's Center",
                )
            return
        if not part.with_mean:
            self._refuse(
                "StandardScaler(with_mean=False)",
                "only scaling about the mean has a bound: leave with_mean on",
            )
            return
        says = (
            "the least standard deviation of a scaled column as a share of its declared width (by a mean and a deviation that "
            "were published, scale each record before the declared domain, which is free)"
        )
        chosen = set(self.domain.columns if columns is None else columns)
        if chosen & self.scaled:
            self._refuse(
                "StandardScaler",
                f"the column {sorted(chosen & self.scaled)[0]!r} is scaled twice, and the declared deviation is of its declared "
                "width: the second scaler changes nothing; leave it out",
            )
            return
        self.scaled |= chosen
        if (least := self._cap("deviation", "StandardScaler", says)) is not None:
            self.steps.append(
                StandardScaler(least, "none", "mean", WIDEST, columns, payment=pay.Sensitivity())
            )

    def imputer(self, part: Any, columns: tuple[str, ...] | None) -> None:
        """Means of columns, or a constant."""
        name = "SimpleImputer"
        words = [
            c for c in (columns or self.domain.columns) if isinstance(self.domain.columns[c], Categorical)
        ]
        if words and part.strategy == "most_frequent":
            self._refuse(
                f"{name}(strategy='most_frequent')",
                f"one record can decide which category is the most frequent one in {_columns(words)}; leave the imputer out, because an "
                "empty cell of a declared category has a code of its own (missing)",
            )
            return
        columns = self._numeric(name, columns)
        gaps = [n for n, c in self.domain.columns.items() if isinstance(c, Numeric) and c.missing == "impute"]
        left = sorted(set(gaps) - set(columns)) if columns is not None else []
        if part.strategy != "constant" and part.fill_value is not None:
            self._refuse(
                f"{name}(fill_value=)", "it fills nothing but with strategy='constant': leave it out"
            )
        elif not gaps:
            return  # the domain declares that no cell can be missing
        elif part.strategy not in ("mean", "constant"):
            self._without_price(
                part,
                columns,
                f"{name}(strategy={part.strategy!r})",
                "one record can move it as far as the gap to the next value; impute by the mean, or use MedianImputer, whose "
                "median is the lower one",
            )
        elif left:
            self._refuse(name, f"the column {left[0]!r} can miss cells, too: fill all of them in one go")
        elif part.strategy == "constant":
            self._constant(part)
        else:
            missing = self._cap("missing", name, "the largest share of records that miss a cell")
            if missing is not None:
                self.steps.append(MeanImputer(payment=pay.Sensitivity({"missing": missing})))

    def _constant(self, part: Any) -> None:
        if not part.keep_empty_features:
            self._refuse(
                "SimpleImputer(keep_empty_features=False)",
                "a column is left out where every record misses it, and one record decides that; with strategy='constant' "
                "give keep_empty_features=True",
            )
            return
        value = 0.0 if part.fill_value is None else part.fill_value
        try:
            self.steps.append(ConstantImputer(value))
        except ValueError:
            self._refuse("SimpleImputer(fill_value=)", f"it must be a finite number; got {shown(value)}")

    def encoder(self, part: Any, columns: tuple[str, ...] | None) -> None:
        """One-hot or ordinal codes of declared categories."""
        name = type(part).__name__
        if isinstance(part.categories, str):
            self._refuse(
                f'{name}(categories="auto")',
                "a category that one record alone has adds a column or a code; declare categories=, as in the domain",
            )
            return
        if columns is None and not self._in_place(name):
            return
        if columns is None:
            self.moved = f"a {name}"
        if getattr(part, "sparse_output", False) and SPARSE not in self.notes:
            self.notes.append(SPARSE)
        chosen = tuple(self.domain.columns) if columns is None else columns
        if len(chosen) != len(part.categories):
            self._refuse(
                f"{name}(categories=)",
                f"it lists {len(part.categories)} columns, and there are {len(chosen)}",
            )
        others: dict[str, list[str]] = {}
        for column, categories in zip(chosen, part.categories):
            declared = self.domain.columns[column]
            if isinstance(declared, Categorical):
                same = same_categories(categories, declared.categories)
                if column in self.settled:
                    self._refuse(name, f"the column {column!r} is encoded twice")
                self.settled.add(column)
                if name == "OrdinalEncoder" or not same:
                    others.setdefault("ordinal codes" if same else "other categories", []).append(column)
            elif name == "OneHotEncoder" or isinstance(declared, Text):
                told = "categorical" if name == "OneHotEncoder" else f"Numeric(0, {len(categories) - 1})"
                others.setdefault(told, []).append(column)
            else:
                self._codes(column, declared, categories)
        for told, which in others.items():
            has = "has" if len(which) == 1 else "have"
            self._refuse(
                name,
                f"{_columns(which)} {has} {told} here, and one-hot codes of declared categories in the domain"
                if told in ("ordinal codes", "other categories")
                else f"declare {_columns(which)} as {told} in the domain",
            )

    def _codes(self, column: str, declared: Numeric, categories: Sequence[Any]) -> None:
        """Codes of an OrdinalEncoder: the bounds are theirs, and of the cells themselves another thing has to hold."""
        why = no_codes(column, declared, categories)
        if column in self.touched:
            why = f"the column {column!r} is changed before it: what it gives for cells that are not of the table is not known"
        if why:
            self._refuse("OrdinalEncoder", why)
        self.touched.add(column)
        self.notes.append(of_codes(column, len(categories) - 1))
        self.apart = f"the cells of {column!r} are codes only after the OrdinalEncoder: encode them before the pipeline"

    def normalizer(self, part: Any, columns: tuple[str, ...] | None) -> None:
        """Rows of Euclidean norm one."""
        self.touched |= set(self.domain.columns)
        if columns is not None:
            self._refuse(
                "Normalizer", "on some of the columns it has no price: put it after the ColumnTransformer"
            )
        elif part.norm != "l2":
            self._refuse(
                f"Normalizer(norm={part.norm!r})",
                "only norm='l2' bounds the Euclidean norm that noise is scaled to",
            )
        else:
            self.steps.append(Normalize(1.0))


_KNOWN: dict[str, Callable[[Reader, Any, tuple[str, ...] | None], None]] = {
    "Pipeline": Reader.pipeline,
    "ColumnTransformer": Reader.columns,
    "StandardScaler": Reader.scaler,
    "SimpleImputer": Reader.imputer,
    "OneHotEncoder": Reader.encoder,
    "OrdinalEncoder": Reader.encoder,
    "Normalizer": Reader.normalizer,
}


def from_sklearn(
    pipeline: Any, domain: Domain, *, missing: float | None = None, deviation: float | None = None
) -> list[Step]:
    """The steps of a scikit-learn pipeline that was fitted on private records, for `prepriv.account`.

    Parameters
    ----------
    pipeline : Pipeline, ColumnTransformer or transformer
        Fitted or not: every setting is read, and nothing else.
    domain : Domain
        What is declared about the raw table.
    missing : float, optional
        The largest share of records that miss a cell of a column. Needed where a SimpleImputer fills means.
    deviation : float, optional
        The least standard deviation of a scaled column, as a share of its declared width. Needed where a StandardScaler
        is fitted. An account rests on both, and neither has a default.

    Returns
    -------
    list of Step
        The first one says what has to hold of the run; accounts print it (`RawUnits.notes`).

    Raises
    ------
    Unpriced
        A ValueError that names every part and every setting without a price, with the reason and what to use instead.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import Normalizer
    >>> from prepriv import Domain
    >>> from_sklearn(make_pipeline(Normalizer()), Domain.box(0, 1, features=2, classes=[0, 1]))[1:]
    [Normalize(payment=None, radius=1.0, floor=0.0)]
    """
    check_domain(domain)
    return Reader(domain, Declared(missing, deviation)).all_steps(pipeline)


def is_sklearn(steps: Any) -> bool:
    """Whether it is an object of scikit-learn, or of a package that builds on it."""
    return hasattr(steps, "get_params") and hasattr(steps, "fit")
