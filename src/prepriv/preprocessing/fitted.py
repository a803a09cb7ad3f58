"""A pipeline of scikit-learn, fitted on rows drawn from a sketch of the table, as one step: a public map. Proof: docs/proofs/fitted.md."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer, settle
from prepriv._arrays import Floats
from prepriv._rounding import rounded_up
from prepriv.columns import OTHER, Text
from prepriv.domain import TARGET_STEPS, Domain
from prepriv.payment import Payment, Sketch
from prepriv.preprocessing.base import ReleasedMap, Step
from prepriv.preprocessing.compile_sklearn import (
    LABELS,
    MOST_STORED,
    PAIRS,
    FitFailed,
    Fitting,
    Kind,
    Ops,
    declared_codes,
    fitted_ops,
    parts_made,
)
from prepriv.preprocessing.compiled import MOST_CELLS, CompiledMap, compiled_columns
from prepriv.preprocessing.sklearn_labels import with_labels_declared
from prepriv.preprocessing.sklearn_spec import spec_of
from prepriv.preprocessing.sklearn_widths import most_columns
from prepriv.sketches.public_numbers import PublicNumbers
from prepriv.sketches.sketch_plan import Needs
from prepriv.space import Space

TAIL = 0.005  # of the outputs on drawn rows beyond the bounds to which outputs are cut
DRY_ROWS = 1000
FEWEST_ROWS, _MOST_ROWS, _MOST_NUMBERS = 20_000, 100_000, 2**26
_BY_COUNT = frozenset(
    ["SelectFpr", "SelectFdr", "SelectFwe", "TargetEncoder", "OneHotEncoder", "OrdinalEncoder"]
)


@dataclass(frozen=True)
class Fitted(Step):
    """A pipeline of scikit-learn transformers, fitted on rows drawn from a private sketch of the table. Made by `Fitted.of`.

    Parameters
    ----------
    transformer : str
        The pipeline as plain data: the classes of scikit-learn and their parameters, as JSON text.
    columns : str
        The declared columns of the raw table that the pipeline takes, as JSON text.
    features : int
        The largest number of features of a row. If the pipeline gives fewer, the rest are 0.
    payment : Sketch
        The share of the budget that the sketch takes. One sketch pays for all transformers in the pipeline.

    Raises
    ------
    ValueError
        For another payment, or texts that are not such data.

    Notes
    -----
    The fitted transformers become a map of plain operations, which gives the same bits for a row in any batch and is
    released as JSON (`prepriv.preprocessing.compiled`). Outputs are clipped at their 0.5 % and 99.5 % quantiles on
    drawn rows, then centred and scaled into [-1, 1]. It must be the first step. Proof: docs/proofs/fitted.md,
    docs/proofs/sketch.md.

    Examples
    --------
    >>> import prepriv
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.decomposition import PCA
    >>> domain = prepriv.Domain.box(0, 1, features=5, classes=[0, 1])
    >>> step = prepriv.preprocessing.Fitted.of(make_pipeline(StandardScaler(), PCA(2)), domain)
    >>> step.features, step.needs, step.way
    (2, 'pairs', 'sketch')
    """

    transformer: str = ""
    columns: str = ""
    features: int = 1

    ways: ClassVar[tuple[str, ...]] = (Sketch.way,)
    why_not: ClassVar[dict[str, str]] = {
        "public": "fit the transformers on the public rows yourself and declare what they found, or use a step of prepriv",
        "budget": "a transformer of another library has no private fit; a sketch of the table is what it is fitted on",
        "sensitivity": "the model needs the fitted transformers on new rows, so they have to be released",
    }
    fitted_state: ClassVar[str] = "all that its transformers learn"

    def __post_init__(self) -> None:
        settle(self, features=integer("features", self.features, at_most=2**20))
        super().__post_init__()
        try:
            _ = self._kinds, _names(self._spec)
        except (TypeError, ValueError):
            raise ValueError(
                "transformer and columns must be JSON text: use Fitted.of(pipeline, domain)"
            ) from None

    @classmethod
    def of(
        cls, pipeline: Any, domain: Domain, payment: Payment | None = None, *, encoded: bool = False
    ) -> Fitted:
        """Make the step for a pipeline of scikit-learn, after a dry run on made-up rows of the domain. No record is read.

        Parameters
        ----------
        pipeline : Pipeline, ColumnTransformer, FeatureUnion or transformer
            Fitted or not: it is fitted again.
        domain : Domain
            What is declared about the raw table, with its columns.
        payment : Sketch, optional
            None: free if no transformer learns anything from rows, as for one-hot codes of declared categories.
            Otherwise `Sketch()`, which takes as much as is enough.
        encoded : bool, default False
            Whether to refuse a pipeline with a column of categories in its output. If False, their codes are used as
            numbers.

        Returns
        -------
        Fitted

        Raises
        ------
        ValueError
            If a part cannot be fitted on such rows, or cannot be written as a row-wise map. The message names the
            part and the reason.

        Examples
        --------
        >>> import prepriv
        >>> from sklearn.preprocessing import StandardScaler
        >>> domain = prepriv.Domain.box(0, 1, features=5, classes=[0, 1])
        >>> prepriv.preprocessing.Fitted.of(StandardScaler(), domain).features
        5
        """
        if domain.is_ball or any(isinstance(c, Text) for c in domain.columns.values()):
            raise ValueError("a sketch needs declared columns, numbers and categories: no ball, no texts")
        return cls.of_spec(spec_of(pipeline, domain.columns), domain, payment, encoded=encoded)

    @classmethod
    def of_spec(
        cls, spec: Mapping[str, Any], domain: Domain, payment: Payment | None = None, *, encoded: bool = False
    ) -> Fitted:
        """The same for a pipeline given as plain data (`sklearn_spec.spec_of`)."""
        spec = with_labels_declared(spec, domain)
        learns = any(part.learns for part in parts_of(spec))
        step = cls(
            transformer=json.dumps(spec, sort_keys=True, allow_nan=False),
            columns=json.dumps(domain.to_json()["columns"], allow_nan=False),
            features=1,
            payment=Sketch() if payment is None and learns else payment,
        )
        x, labels = step._uniform(TARGET_STEPS if domain.target is not None else len(domain.classes))
        ops, rows = fitted_ops(step._spec, step._as_columns(*step._with_ends(x, labels), dry=True))
        if encoded and any(kind is not None for kind in rows.kinds):
            raise ValueError(
                "a column of categories comes out of the pipeline as it is: encode it, as by OneHotEncoder"
            )
        kinds = [None if kind is None else len(kind) for kind in step._as_columns(x, labels).kinds]
        classes = 1 if domain.target is not None else len(domain.classes)
        most = max(len(most_columns(step._spec, kinds, classes)), len(rows.columns))
        made = cls(transformer=step.transformer, columns=step.columns, features=most, payment=step.payment)
        if len(json.dumps(ops)) > MOST_CELLS // 2:
            raise ValueError(
                "what the pipeline learns is too much for a model file: fewer columns, components or quantiles"
            )
        return made

    @cached_property
    def _spec(self) -> dict[str, Any]:
        return dict(json.loads(self.transformer))

    @cached_property
    def _kinds(self) -> list[Mapping[str, Any]]:
        return list(json.loads(self.columns))

    def widths(self, classes: int) -> list[int]:
        """How many columns each part of a ColumnTransformer makes from made-up rows, the remainder last."""
        rows = self._as_columns(*self._uniform(classes))
        return [len(columns) for columns in parts_made(self._spec, rows)]

    def relating(self, needs: Needs) -> tuple[str, ...]:
        """The names of its transformers for which a sketch that holds so much has pairs of columns. Of a numeric target these are also those that
        look at the label."""
        looks = ("pairs",) if self.needs == needs else ("labels",)
        return tuple(dict.fromkeys(part.name for part in self.parts if part.looks_at in looks)) * (
            needs == "pairs"
        )

    @property
    def needs(self) -> Needs:
        """What the sketch must hold: columns alone, columns with the label, or pairs of columns as well."""
        looks = {part.looks_at for part in self.parts}
        return "pairs" if "pairs" in looks else "labels" if "labels" in looks else "columns"

    @property
    def depends_on_data(self) -> bool:
        return any(part.learns for part in self.parts)

    @property
    def in_full(self) -> str:
        return f"{self.name} ({', '.join(dict.fromkeys(part.name for part in self.parts))})"

    @property
    def parts(self) -> tuple[FittedPart, ...]:
        """Its transformers, in order."""
        return tuple(parts_of(self._spec))

    @cached_property
    def settings(self) -> tuple[str, ...]:
        """Its transformers in order, each with the parameters that are not defaults, such as PCA(n_components=5)."""
        return tuple(_with_settings(self._spec))

    @property
    def reads_labels(self) -> bool:
        return self.needs != "columns"

    def check_place(self, domain: Domain, first: bool) -> None:
        """ValueError unless the declared columns are those that the pipeline was read for, and reach the step unchanged."""
        if self.way == "free" and not first:
            raise ValueError(f"{self.name} takes the declared columns, so it must be the first step")
        if not self.made_for(domain):
            raise ValueError(
                f"{self.name} was made for other columns: Fitted.of(pipeline, domain) with this domain"
            )
        if domain.target is not None and with_labels_declared(self._spec, domain) != self._spec:
            raise ValueError(
                f"{self.name} was made for classes: Fitted.of(pipeline, domain) with this domain, whose target is a number"
            )

    def made_for(self, domain: Domain) -> bool:
        """Whether the declared columns are those that the pipeline was read for."""
        return bool(json.loads(json.dumps(domain.to_json()["columns"])) == self._kinds)

    def free(self, space: Space) -> ReleasedMap:
        """The map, if nothing is learned from rows.

        It is made from made-up rows with every declared category and both ends of every column.
        """
        return self._map_of(*self._with_ends(*self._uniform(1)), tail=0.0)

    def _with_ends(self, x: Floats, labels: NDArray[Any]) -> tuple[Floats, NDArray[Any]]:
        """The same rows and labels, then a row of the low ends of all columns and one of the high ends."""
        ends = [
            np.hstack([[end] if k["type"] == "numeric" else np.eye(_width(k))[0] for k in self._kinds])
            for end in (0.0, 1.0)
        ]
        return np.vstack([x, *ends]), np.append(labels, [0, 0])

    def output(self, space: Space) -> Space:
        ones = np.ones(self.features)
        return Space(-ones, ones, rounded_up(math.sqrt(self.features)), ones < 0)

    def lipschitz(self, space: Space) -> float:
        return (
            math.inf
        )  # nothing bounds what transformers of another library do to a distance: it must be the first step

    def rows_wanted(self, n: float) -> int:
        """How many rows are drawn: as many as the table has if counts matter to a transformer, otherwise more."""
        counted = frozenset(_names(self._spec)) & _BY_COUNT
        wanted = n if counted else max(n, FEWEST_ROWS)
        if "KNNImputer" in _names(self._spec):  # which keeps them
            wanted = min(wanted, MOST_STORED)
        return int(max(100, min(wanted, _MOST_ROWS, _MOST_NUMBERS // self.features)))

    def fit_drawn(self, x: Floats, labels: NDArray[np.integer[Any]], check: str = "") -> ReleasedMap:
        """Fit on drawn rows (n, d) of the encoded space, which are public. check: what their sketch says about itself.

        FitFailed if a transformer cannot be fitted on them.
        """
        return self._map_of(x, labels, check)

    def _map_of(
        self, x: Floats, labels: NDArray[np.integer[Any]], check: str = "", tail: float = TAIL
    ) -> ReleasedMap:
        ops, rows = fitted_ops(self._spec, self._as_columns(x, labels))
        ops += _bounded(rows, self.features, tail)
        try:
            return CompiledMap(self.columns, json.dumps(ops, allow_nan=False), self.features, check)
        except ValueError:  # numbers that are none, or too many
            raise FitFailed("the pipeline") from None

    def _as_columns(self, x: Floats, labels: NDArray[np.integer[Any]], dry: bool = False) -> Fitting:
        kinds: list[Kind] = [
            None if kind["type"] == "numeric" else (*map(str, kind["categories"]), OTHER, np.nan)
            for kind in self._kinds
        ]
        return Fitting(compiled_columns(x, self._kinds), kinds, labels, dry)

    def _uniform(self, labels: int) -> tuple[Floats, NDArray[Any]]:
        """Rows spread over the domain, each category and gaps among them where they may be, and labels of so many kinds, which follow
        all numbers a little: a selection by the label keeps some of them."""
        numbers, parts = PublicNumbers(0), []
        many = max(DRY_ROWS, 2 * max(map(_width, self._kinds)))
        for kind in self._kinds:
            if kind["type"] == "numeric":
                u = numbers.uniform(many)
                gaps = numbers.uniform(many) < 0.05
                parts.append(np.where(gaps & (kind["missing"] == "impute"), np.nan, u)[:, None])
            else:
                parts.append(np.eye(_width(kind))[numbers.permutation(many) * _width(kind) // many])
        rows = np.hstack(parts)
        rank = np.argsort(np.argsort(np.nan_to_num(rows).sum(axis=1) + 0.1 * numbers.uniform(many)))
        return rows, (rank * labels // many).astype(np.int64)


def _names(spec: Any) -> list[str]:
    """The names of all transformers of a pipeline, nested ones too."""
    if isinstance(spec, Mapping):
        own = [str(spec["kind"]).rpartition(".")[2]] if "kind" in spec else []
        return own + [name for value in spec.values() for name in _names(value)]
    if isinstance(spec, Sequence) and not isinstance(spec, str):
        return [name for value in spec for name in _names(value)]
    return []


def _width(kind: Mapping[str, Any]) -> int:
    return 1 if kind["type"] == "numeric" else len(kind["categories"]) + 2


@dataclass(frozen=True)
class FittedPart:
    """A transformer of a pipeline. name: of its class. looks_at: what its fit needs of a sketch. learns: whether its fit depends on
    rows at all, beyond what is declared about them."""

    name: str
    looks_at: Needs
    learns: bool


_FIXED = ("Binarizer", "FunctionTransformer", "MissingIndicator", "Normalizer", "PolynomialFeatures")


def parts_of(spec: Mapping[str, Any]) -> list[FittedPart]:
    """The transformers of a pipeline as plain data, in order, those inside of others left out."""
    if "params" not in spec:
        inside = [*spec.get("steps", ()), *(p["part"] for p in spec.get("parts", ())), spec.get("remainder")]
        return [part for inner in inside if isinstance(inner, Mapping) for part in parts_of(inner)]
    names, own, params = frozenset(_names(spec)), _names(spec)[0], spec["params"]
    looks: Needs = "pairs" if names & PAIRS else "labels" if names & LABELS else "columns"
    fixed = own in _FIXED or (
        declared_codes(spec, own)
        or (own == "SimpleImputer" and params["strategy"] == "constant")
        or (own == "RBFSampler" and isinstance(params["gamma"], int | float))
        or (own.endswith("RandomProjection") and isinstance(params["n_components"], int))
    )
    return [FittedPart(own, looks, not fixed)]


def _with_settings(spec: Mapping[str, Any]) -> Iterator[str]:
    """The same transformers as scikit-learn writes them: with the plain parameters that are not at their defaults."""
    if "params" not in spec:
        inside = [*spec.get("steps", ()), *(p["part"] for p in spec.get("parts", ())), spec.get("remainder")]
        for inner in inside:
            if isinstance(inner, Mapping):
                yield from _with_settings(inner)
        return
    package, _, name = str(spec["kind"]).rpartition(".")
    try:
        known = spec_of(getattr(import_module(package), name)())["params"]
    except TypeError:  # it has parameters without defaults
        known = {}
    own = [f"{k}={v!r}" for k, v in spec["params"].items() if _plain(v) and v != known.get(k, v)]
    yield f"{name}({', '.join(own)})" if own else name


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _bounded(rows: Fitting, features: int, tail: float) -> Ops:
    """Operations that keep the first so many columns, cut each where the tails of these rows begin, take their mean from it and
    divide by their width: numbers in [-1, 1]."""
    low, high, middle = list[float](), list[float](), list[float]()
    for column in rows.columns[:features]:
        there = column[np.isfinite(column)]
        ends = np.quantile(there, [tail, 1 - tail]) if len(there) else np.zeros(2)
        if len(there) and not ends[0] < ends[1]:
            ends = np.array([there.min(), there.max()])
        low.append(float(ends[0]))
        high.append(float(ends[1]))
        middle.append(float(np.mean(np.clip(there, *ends))) if len(there) else 0.0)
    width = [b - a if b > a else 1.0 for a, b in zip(low, high)]
    return [
        {"do": "take", "of": list(range(len(low)))},
        {"do": "clip", "low": low, "high": high},
        {"do": "affine", "minus": middle, "times": [1 / w for w in width], "plus": [0.0] * len(low)},
    ]
