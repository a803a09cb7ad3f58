"""Steps of a scikit-learn pipeline, as it was fitted on private records: each priced, or refused by name with the reason.

Settings are read, fitted attributes never. What scikit-learn computes and the step it becomes are the same map wherever the
printed conditions hold (docs/your-pipeline.md has the table and the reasons).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prepriv import payment as pay
from prepriv._arguments import shown
from prepriv.columns import Categorical, Numeric, Text
from prepriv.domain import Domain
from prepriv.pipeline.checks import check_domain
from prepriv.preprocessing.base import Floats, ReleasedMap, Step
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.impute_constant import ConstantImputer
from prepriv.preprocessing.normalize import Normalize
from prepriv.preprocessing.scale import StandardScaler
from prepriv.preprocessing.scale_map import rest_radius
from prepriv.space import Space

WIDEST = 1e9  # a radius that cuts nothing off: scikit-learn pulls no row back

_PICKS = "which columns stay depends on every record: one more or less can change every row; choose them by public data"
_EXTREMES = (
    "one record can move the least or greatest value of a column, and every row with it; scale by declared bounds, which "
    "is free, by prepriv's MinMaxScaler on public rows or by budget"
)
_DIRECTIONS = "one record can turn its directions, and every row with them; use prepriv's PCA on public rows or by budget, or SoftPCA"
_WORDS = (
    "its vocabulary is made of private words, and a word of one record alone gives that record away; hash words "
    "(HashingVectorizer), which is free"
)
_RANKS = (
    "one record can move a quantile as far as the gap beside it, and every row with it; use declared bounds, or "
    "prepriv's QuantileTransform on public rows"
)
_LABELS = "it looks at the labels of all records; no bound is known; fit it on public data"
REFUSED = {
    "MinMaxScaler": _EXTREMES,
    "MaxAbsScaler": _EXTREMES,
    "RobustScaler": "its median and quartiles jump where the data have gaps; use prepriv's StandardScaler",
    "QuantileTransformer": _RANKS,
    "PowerTransformer": "its exponents are fitted by likelihood, of which no bound is known; use SquareRoot, which is free",
    "KBinsDiscretizer": _RANKS,
    "SplineTransformer": _RANKS,
    "KNNImputer": "each filled cell copies other records, and no bound is known; use MeanImputer or RegressionImputer",
    "IterativeImputer": "no bound of its regressions is known; use prepriv's RegressionImputer",
    "PCA": _DIRECTIONS,
    "IncrementalPCA": _DIRECTIONS,
    "KernelPCA": _DIRECTIONS,
    "SparsePCA": _DIRECTIONS,
    "MiniBatchSparsePCA": _DIRECTIONS,
    "TruncatedSVD": _DIRECTIONS,
    "FastICA": _DIRECTIONS,
    "FactorAnalysis": _DIRECTIONS,
    "VarianceThreshold": _PICKS,
    "SelectKBest": _PICKS,
    "SelectPercentile": _PICKS,
    "SelectFpr": _PICKS,
    "SelectFdr": _PICKS,
    "SelectFwe": _PICKS,
    "SelectFromModel": _PICKS,
    "GenericUnivariateSelect": _PICKS,
    "SequentialFeatureSelector": _PICKS,
    "RFE": _PICKS,
    "RFECV": _PICKS,
    "CountVectorizer": _WORDS,
    "TfidfVectorizer": _WORDS,
    "TfidfTransformer": "its weights count the records that hold a word; leave them out, or fit them on public text",
    "DictVectorizer": _WORDS,
    "TargetEncoder": _LABELS,
    "PolynomialFeatures": "it depends on no data, but how far it moves rows is not bounded here: make the products part of "
    "the table, and declare their bounds",
    "FunctionTransformer": "what its function reads cannot be seen: apply it record by record, before the declared domain",
    "FeatureUnion": "it hands rows to several maps side by side: account for a ColumnTransformer, or for each alone",
    "MissingIndicator": "which columns it adds depends on the records; declare missing cells as a category",
}
RESAMPLERS = ("imblearn",)


class Unpriced(ValueError):
    """A pipeline with parts that have no price. refused: (name, reason) of each."""

    def __init__(self, refused: Sequence[tuple[str, str]]) -> None:
        self.refused = tuple(refused)
        super().__init__("; ".join(f"{name} has no price: {why}" for name, why in refused))


@dataclass(frozen=True)
class RawUnits(Step):
    """Encoded numeric features, in [0, 1], back in the units of their columns: what scikit-learn sees. Free.

    bounds: (low, high) of each numeric feature by name.
    """

    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def _affine(self, space: Space) -> tuple[Floats, Floats]:
        low, width = np.zeros(space.d), np.ones(space.d)
        for name, (least, most) in self.bounds.items():
            low[space.names.index(name)], width[space.names.index(name)] = least, most - least
        return low, width

    def output(self, space: Space) -> Space:
        low, width = self._affine(space)
        numeric = np.isin(space.names, list(self.bounds))
        low, high = low + space.low * width, low + space.high * width
        ends = np.maximum(np.abs(low), np.abs(high))[numeric]
        radius = math.hypot(float(np.linalg.norm(ends)), rest_radius(space, np.flatnonzero(numeric)))
        return Space(low, high, radius * (1 + 1e-12), space.may_miss, space.names)

    def lipschitz(self, space: Space) -> float:
        return float(self._affine(space)[1].max())

    def free(self, space: Space) -> ReleasedMap:
        raise ValueError(f"{self.name} is for accounts of existing pipelines: it trains nothing")


@dataclass(frozen=True)
class Declared:
    """Facts that conditions rest on. missing: largest share of records that miss a cell. deviation: least standard
    deviation of a scaled column, as a share of its declared width. Each a number."""

    missing: float = 0.05
    deviation: float = 0.1


@dataclass
class Reader:
    """Reads one pipeline. replacements: by name, steps that stand in for transformers without a price."""

    domain: Domain
    declared: Declared
    replacements: Mapping[str, Callable[[Any], Step]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    replaced: list[tuple[str, str]] = field(default_factory=list)

    def all_steps(self, pipeline: Any) -> list[Step]:
        """Every step, in order. Raises Unpriced."""
        if self.domain.is_ball:
            raise ValueError(
                "a scikit-learn pipeline needs a domain with columns: Domain(...) or Domain.box(...)"
            )
        self.read(pipeline, None)
        if self.refused:
            raise Unpriced(self.refused)
        bounds = {n: (c.low, c.high) for n, c in self.domain.columns.items() if isinstance(c, Numeric)}
        raw = [RawUnits(bounds)] if any(pair != (0, 1) for pair in bounds.values()) else []
        return [*raw, *self.steps]

    def read(self, part: Any, columns: tuple[str, ...] | None) -> None:
        """Append the steps of one transformer on some columns (None: all of them)."""
        if part is None or (isinstance(part, str) and part in ("passthrough", "drop")):
            return  # a column that is dropped and stays here makes a bound larger, never smaller
        name, home = type(part).__name__, type(part).__module__.partition(".")[0]
        if home in RESAMPLERS:
            self._refuse(
                name, "which records it leaves out or makes up depends on all of them; weigh classes instead"
            )
        elif home != "sklearn":
            self._refuse(
                name,
                "it is no transformer of scikit-learn: what it reads is not known; write it as a step of prepriv",
            )
        elif name in REFUSED:
            self._refuse(name, REFUSED[name])
        elif name in _KNOWN:
            _KNOWN[name](self, part, columns)
        else:
            self._refuse(name, "what it reads of the records is not known here")
        if self.refused and name in self.replacements and self.refused[-1][0].startswith(name):
            self._replace(name, part, columns)

    def _replace(self, name: str, part: Any, columns: tuple[str, ...] | None) -> None:
        step = self.replacements[name](part)
        if columns is not None and any(f.name == "columns" for f in dataclasses.fields(step)):
            step = dataclasses.replace(step, columns=columns)  # type: ignore[call-arg]
        self.replaced.append((self.refused.pop()[0], step.name))
        self.steps.append(step)

    def _refuse(self, name: str, why: str) -> None:
        if (name, why) not in self.refused:
            self.refused.append((name, why))

    def pipeline(self, part: Any, columns: tuple[str, ...] | None) -> None:
        """Every transformer in order; what predicts at the end is the learner's place."""
        for position, (_, inner) in enumerate(part.steps):
            if (
                position + 1 == len(part.steps)
                and hasattr(inner, "predict")
                and not hasattr(inner, "transform")
            ):
                continue
            self.read(inner, columns)

    def columns(self, part: Any, columns: tuple[str, ...] | None) -> None:
        """Each transformer on its columns."""
        if columns is not None:
            self._refuse(
                "ColumnTransformer",
                "inside another one columns cannot be followed: put its parts beside each other",
            )
            return
        taken: set[str] = set()
        for _, inner, wanted in part.transformers:
            names = self._names(wanted)
            if taken & set(names):
                self._refuse(
                    "ColumnTransformer", f"the column {sorted(taken & set(names))[0]!r} has two transformers"
                )
            taken |= set(names)
            if names:
                self.read(inner, names)
        rest = tuple(name for name in self.domain.columns if name not in taken)
        if rest:
            self.read(part.remainder, rest)

    def _names(self, wanted: Any) -> tuple[str, ...]:
        every = list(self.domain.columns)
        if callable(wanted):
            self._refuse(
                "ColumnTransformer", "a function chooses columns by what the records hold: name the columns"
            )
            return ()
        try:
            if isinstance(wanted, slice):
                wanted = every[wanted]
            listed = [wanted] if isinstance(wanted, str | int) else list(wanted)
            if listed and all(isinstance(w, bool | np.bool_) for w in listed):
                listed = [name for name, chosen in zip(every, listed) if chosen]
            found = tuple(w if isinstance(w, str) else every[int(w)] for w in listed)
        except (TypeError, ValueError, IndexError):
            found = ("",)
        if any(name not in self.domain.columns for name in found):
            raise ValueError(f"ColumnTransformer names {shown(wanted)}, which is no column of the domain")
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
        self.steps.append(
            StandardScaler(
                self.declared.deviation, "none", "mean", WIDEST, columns, payment=pay.Sensitivity()
            )
        )

    def imputer(self, part: Any, columns: tuple[str, ...] | None) -> None:
        """Means of columns, or a constant."""
        columns = self._numeric("SimpleImputer", columns)
        gaps = [n for n, c in self.domain.columns.items() if isinstance(c, Numeric) and c.missing == "impute"]
        left = sorted(set(gaps) - set(columns)) if columns is not None else []
        if not gaps:
            return  # the domain declares that no cell can be missing
        if part.add_indicator:
            self._refuse("SimpleImputer(add_indicator=True)", REFUSED["MissingIndicator"])
        elif part.strategy == "constant":
            if left:
                self._refuse(
                    "SimpleImputer", f"the column {left[0]!r} can miss cells, too: fill all of them alike"
                )
            else:
                self.steps.append(ConstantImputer(0.0 if part.fill_value is None else part.fill_value))
        elif part.strategy != "mean":
            self._refuse(
                f"SimpleImputer(strategy={part.strategy!r})",
                "one record can move it as far as the gap to the next value; impute by the mean, or use MedianImputer, whose "
                "median is the lower one",
            )
        elif left:
            self._refuse(
                "SimpleImputer", f"the column {left[0]!r} can miss cells, too: impute it first, or in one go"
            )
        else:
            self.steps.append(MeanImputer(payment=pay.Sensitivity({"missing": self.declared.missing})))

    def encoder(self, part: Any, columns: tuple[str, ...] | None) -> None:
        """One-hot or ordinal codes of declared categories."""
        name = type(part).__name__
        if isinstance(part.categories, str):
            self._refuse(
                f'{name}(categories="auto")',
                "a category that one record alone has adds a column or a code; declare categories=, as in the domain",
            )
            return
        for column, categories in zip(
            tuple(self.domain.columns) if columns is None else columns, part.categories
        ):
            declared = self.domain.columns[column]
            if isinstance(declared, Categorical):
                same = sorted(map(str, categories)) == sorted(declared.categories)
                if name == "OrdinalEncoder" or not same:
                    why = "is ordinal here" if same else "has other categories here"
                    self._refuse(
                        name, f"the column {column!r} {why}, and one-hot by its categories in the domain"
                    )
            elif (
                name == "OneHotEncoder"
                or isinstance(declared, Text)
                or (declared.low, declared.high) != (0, len(categories) - 1)
            ):
                told = "categorical" if name == "OneHotEncoder" else f"Numeric(0, {len(categories) - 1})"
                self._refuse(name, f"declare the column {column!r} as {told} in the domain")

    def normalizer(self, part: Any, columns: tuple[str, ...] | None) -> None:
        """Rows of Euclidean norm one."""
        if columns is not None:
            self._refuse(
                "Normalizer", "on some of the columns it has no price: put it behind the ColumnTransformer"
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


def read_sklearn(
    pipeline: Any, domain: Domain, declared: Declared | None = None
) -> tuple[list[Step], tuple[str, ...]]:
    """(steps, notes: what has to hold of the run beside their conditions). Raises Unpriced."""
    check_domain(domain)
    reader = Reader(domain, declared or Declared())
    steps = reader.all_steps(pipeline)
    notes = tuple(
        f"the {step.fitted_state} of {step.name} are needed on new rows by scikit-learn: once they leave, or predictions "
        "made with them, no finite ε holds; pay for the step by public data or budget to release it"
        for step in reader.steps
        if not step.paid.leaves and not step.at_prediction
    )
    within = (
        "every cell lies within its declared bounds and categories, and none is empty but in columns declared with missing: "
        "impute (mend both before the pipeline, record by record)"
    )
    return steps, (f"holds only if {within}", *notes)


def from_sklearn(
    pipeline: Any, domain: Domain, *, missing: float = 0.05, deviation: float = 0.1
) -> list[Step]:
    """The steps of a scikit-learn pipeline that was fitted on private records, for `prepriv.account`.

    pipeline: a Pipeline, ColumnTransformer or transformer, fitted or not: its settings are read and nothing else. domain:
    what is declared of the raw table. missing, deviation: what conditions rest on (`Declared`).

    Raises Unpriced (a ValueError) that names every part without a price, with the reason and what to use instead.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import Normalizer
    >>> from prepriv import Domain
    >>> from_sklearn(make_pipeline(Normalizer()), Domain.box(0, 1, features=2, classes=[0, 1]))
    [Normalize(payment=None, radius=1.0, floor=0.0)]
    """
    return read_sklearn(pipeline, domain, Declared(missing, deviation))[0]


def is_sklearn(steps: Any) -> bool:
    """Whether it is an object of scikit-learn, or of a package that builds on it."""
    return hasattr(steps, "get_params") and hasattr(steps, "fit")
