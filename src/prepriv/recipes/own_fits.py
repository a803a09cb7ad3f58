"""A pipeline of scikit-learn as steps of prepriv, each with a private fit of its own: which parts have one, and the share that it needs.

Settings alone are read, and those that have no such step are said by name. Shares follow from declared facts (docs/your-pipeline.md). What
scikit-learn computes and what the step computes differ by what `OwnFits.differs` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from prepriv import payment as pay
from prepriv.accounts.sklearn_columns import same_categories
from prepriv.columns import MISSING, OTHER, Categorical, Numeric
from prepriv.domain import Domain
from prepriv.preprocessing.base import UNTOUCHED, Step, walk
from prepriv.preprocessing.bins import Bins, QuantileBins
from prepriv.preprocessing.center import Center
from prepriv.preprocessing.compile_sklearn import declared_codes
from prepriv.preprocessing.fitted import Fitted, parts_of
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.impute_constant import ConstantImputer
from prepriv.preprocessing.impute_median import MedianImputer
from prepriv.preprocessing.normalize import Normalize
from prepriv.preprocessing.pca import PCA
from prepriv.preprocessing.scale import StandardScaler
from prepriv.preprocessing.scale_min_max import MinMaxScaler
from prepriv.preprocessing.shrunk_center import ShrunkCenter
from prepriv.preprocessing.sklearn_spec import spec_of
from prepriv.space import Space

_BENDS = ("Binarizer", "FunctionTransformer", "Normalizer", "PolynomialFeatures")
_LEAST, _COARSE, _LOWEST_FLOOR = 0.01, 4.0, 0.001
_WANTED: Mapping[type[Step], tuple[float, float]] = {
    StandardScaler: (0.02, 0.1),
    MinMaxScaler: (0.005, 0.1),
    QuantileBins: (0.005, 0.1),
    PCA: (0.2, 0.1),
    MedianImputer: (0.005, 0.1),
    MeanImputer: (0.02, 0.02),
    ShrunkCenter: (0.02, 0.02),
    Center: (0.02, 0.02),
}
"""Of a step: the noise of one number that it releases which is small enough, over the size of such a number; its largest share."""
_IN_BOUNDS = (Center, ConstantImputer, Fitted, MeanImputer, MedianImputer, ShrunkCenter)
_LOST = 10.0  # of PCA: noise over the variance of one direction, from which a coarse sketch is more accurate (docs/sketch.md)

_PCA_SOLVING = (
    "iterated_power",
    "n_oversamples",
    "power_iteration_normalizer",
    "random_state",
    "svd_solver",
    "tol",
)
"""Parameters of PCA that say how scikit-learn comes to its directions."""
_BIN_SOLVING = ("quantile_method", "random_state", "subsample")
"""Those of KBinsDiscretizer that say how it comes to its quantiles."""

_CENTRED_LEVEL = 0.6  # as after a sketch, whose outputs are centred, too
_CENTRED = (
    "a noisy mean of all features is subtracted before training: predictions keep their meaning, since the model has a constant, and a weight says "
    "how far a category is from the average"
)
_LEFT_AS_THEY_ARE = (
    "numbers that a StandardScaler leaves as they are keep the units of their bounds, and noisy training hardly reaches what varies little between them: "
    "their weights can be far too small, and other weights take their part. Scale all numbers"
)
OWN_CELL = "a cell of the one-hot code"
NOISY_MEANS = "gaps of all numbers are filled by noisy means"
_NOISY_MEDIANS = "gaps of all numbers are filled by noisy medians"


_MIDDLE = "gaps of numbers become the middle of the declared bounds, since the pipeline fills none"
_WEIGHTS = "transformer_weights= changes units, which steps do not"


class _NotOwn(ValueError):
    """Why no step of prepriv stands for a transformer with these settings."""


@dataclass(frozen=True)
class OwnPart:
    """A transformer of scikit-learn. step: the name of the step that stands for it, "" where it learns nothing or there is none. why:
    why there is none."""

    name: str
    step: str = ""
    why: str = ""


@dataclass(frozen=True)
class OwnChain:
    """Steps with shares. rough: the names of those whose noise is larger than they want, at the largest share. noise: of a direction of PCA over the
    variance of one, 0 without PCA."""

    steps: tuple[Step, ...]
    rough: tuple[str, ...]
    noise: float

    @property
    def lost(self) -> bool:
        """Whether the directions of PCA are little but noise."""
        return self.noise > _LOST


@dataclass(frozen=True)
class OwnFits:
    """A pipeline as steps with private fits of their own. parts: its transformers, in order. templates: the steps, shares not yet set.
    differs: sentences on what another answer they give. why: why the whole has none, beside parts without one."""

    parts: tuple[OwnPart, ...]
    templates: tuple[Step, ...]
    differs: tuple[str, ...]
    why: str = ""

    @property
    def closed(self) -> str:
        """Why the pipeline is not fitted this way; "" where it can be."""
        lacking = {part.name: part.why for part in self.parts if part.why}
        return "; ".join(
            [*(f"{name}: {why}" for name, why in lacking.items()), *([self.why] if self.why else [])]
        )

    @property
    def leaves_gaps(self) -> bool:
        """Whether the domain keeps gaps and no transformer fills any."""
        return _MIDDLE in self.differs

    @property
    def level(self) -> float | None:
        """The length of the constant feature after them; None: that of the recipe."""
        centred = bool(self.templates) and isinstance(self.templates[-1], ShrunkCenter)
        return _CENTRED_LEVEL if centred else None

    @property
    def coarser(self) -> bool:
        """Whether a sketch that carries enough is more accurate: its bins are finer than those of a step (docs/sketch.md)."""
        return any(isinstance(step, QuantileBins) for step in self.templates)

    @property
    def unscaled(self) -> bool:
        """Whether no step gives numbers deviation one. Descent on a target does not reach far along what varies little (docs/sketch.md)."""
        return not any(isinstance(step, StandardScaler) for step in self.templates)

    @property
    def in_bounds(self) -> bool:
        """Whether outputs stay in units of their bounds: steps fill gaps, take means off, or are a function of each row alone."""
        return all(isinstance(step, _IN_BOUNDS) for step in self.templates)

    def at(self, domain: Domain, *, n: int, mu: float, missing: float | None = None) -> OwnChain:
        """The steps, each with as large a share as its noise wants. missing: means of gaps are paid for by sensitivity under this cap."""
        made, coarse, largest = list[Step](), list[str](), 0.0
        for template in self.templates:
            *_, space = (domain.space, *(after for _, _, after in walk(made, domain.space)))
            if missing is not None and isinstance(template, MeanImputer):
                made.append(replace(template, payment=pay.Sensitivity({"missing": missing})))
                continue
            step, noise = _with_share(template, space, domain, n, mu)
            made.append(step)
            wanted, most = _WANTED.get(type(step), (math.inf, 0.0))
            if most > 0.05 and noise > _COARSE * wanted:
                coarse.append(step.name)
            largest = max(largest, noise if step.directions is not None else 0.0)
        return OwnChain(tuple(made), tuple(dict.fromkeys(coarse)), largest)


def _with_share(step: Step, space: Space, domain: Domain, n: int, mu: float) -> tuple[Step, float]:
    """(the step with a share, its noise over the size of a number that it releases)."""
    if step.way == "free":
        return step, 0.0
    wanted, most = _WANTED[type(step)]
    whole = step.l2_sensitivity(space, domain.adjacency, UNTOUCHED) / (n * mu)  # noise for all of the budget
    if step.directions is not None:
        whole *= 4 * space.d**1.5 / space.radius**2  # of a matrix, over the variance of one direction
    share = min(max((whole / wanted) ** 2, _LEAST), most)
    noise = whole / math.sqrt(share)
    made = replace(step, payment=pay.Budget(round(share, 4)))
    if isinstance(made, StandardScaler):  # nothing is divided by less than the noise of a deviation
        made = replace(made, floor=min(0.5, max(_LOWEST_FLOOR, 0.5 * math.sqrt(noise))))
    return made, noise


def own_fits(spec: Mapping[str, Any], domain: Domain, first: Fitted | None = None) -> OwnFits:
    """Read a pipeline as plain data (`sklearn_spec.spec_of`). first: what learns nothing before it, as a free step; then spec is of the rest."""
    reader = _OwnReader(domain, after_free=first is not None)
    parts = _flat(spec)
    if first is not None:
        reader.steps.append(first)
        reader.parts += [OwnPart(part.name) for part in first.parts]
    elif parts and _name(parts[0]) == "ColumnTransformer":
        reader.columns(parts[0])
        parts = parts[1:]
    for part in parts:
        reader.read(part, None)
    return reader.done()


def split_fits(spec: Mapping[str, Any], domain: Domain) -> OwnFits | None:
    """The same where parts of a first ColumnTransformer learn nothing after gaps are filled, such as logarithms and polynomials: all of these are one
    free step, with fits of their own after it. None where there is no such part."""
    parts = _flat(spec)
    every = list(range(len(domain.columns)))
    whole = {"kind": "sklearn.compose.ColumnTransformer", "parts": [], "remainder": "drop"}
    alone = not parts or _name(parts[0]) != "ColumnTransformer"
    if alone:
        own = [{"part": {"kind": "sklearn.pipeline.Pipeline", "steps": parts}, "of": every, "weight": 1.0}]
        parts = [{**whole, "parts": own}]
    first, later = parts[0], parts[1:]
    taken = {i for part in first["parts"] for i in part["of"]}
    rest = {"part": first["remainder"], "of": [i for i in every if i not in taken], "weight": 1.0}
    branches = [_branch(part, domain) for part in (*first["parts"], rest) if part["of"]]
    if not any(branch.bends for branch in branches):
        return None
    free = {**whole, "parts": [branch.free for branch in branches]}
    try:
        fitted = Fitted.of_spec(free, domain, encoded=True)
        widths = fitted.widths(1)[: len(branches)]
    except ValueError:
        return None
    if fitted.way != "free":
        return None
    reader = _OwnReader(domain, after_free=False)
    reader.steps.append(fitted)
    reader.names_now = tuple(f"x{j}" for j in range(fitted.features))
    reader.raw, reader.codes, at = set(), set(), 0
    for branch, width in zip(branches, widths):
        made = reader.names_now[at : at + width]
        at += width
        reader.turned = False
        for inner in branch.lead:
            reader.read(inner, branch.columns)
        reader.parts += [OwnPart(_name(inner)) for inner in branch.middle]
        reader.turned = True
        where = reader.codes if branch.codes else reader.raw
        where |= set(made)
        if branch.rest and branch.free["weight"] != 1.0:
            reader.why = _WEIGHTS
        for inner in branch.rest:
            reader.read(inner, None if alone else made)
    for inner in later:
        reader.read(inner, None)
    return reader.done()


@dataclass(frozen=True)
class _Branch:
    """A part of a ColumnTransformer. lead: what fills gaps. middle: what learns nothing after it. rest: what else there is. free: lead and middle as a
    part that learns nothing. codes: whether it makes codes of categories."""

    columns: tuple[str, ...]
    lead: Sequence[Mapping[str, Any]]
    middle: Sequence[Mapping[str, Any]]
    rest: Sequence[Mapping[str, Any]]
    free: Mapping[str, Any]
    codes: bool

    @property
    def bends(self) -> bool:
        """Whether it has a part that learns nothing and is not a step of prepriv."""
        return any(
            _name(part) in _BENDS
            or (_name(part) == "OneHotEncoder" and part["params"].get("drop") is not None)
            for part in self.middle
        )


def _branch(part: Mapping[str, Any], domain: Domain) -> _Branch:
    every = list(domain.columns)
    columns = tuple(every[i] for i in part["of"] if i < len(every))
    steps = [] if isinstance(part["part"], str) else _flat(part["part"])
    numbers = all(isinstance(domain.columns[name], Numeric) for name in columns)
    fills = ("mean", "median", "constant") if numbers else ("most_frequent",)
    lead = steps[
        : int(bool(steps) and _name(steps[0]) == "SimpleImputer" and steps[0]["params"]["strategy"] in fills)
    ]
    middle = list[Mapping[str, Any]]()
    number = any(isinstance(domain.columns[name], Numeric) for name in columns)
    looks_for_gaps = ("MissingIndicator", "SimpleImputer") if number else ()  # which are filled by then
    for step in steps[len(lead) :]:
        if "params" not in step or any(found.learns for found in parts_of(step)):
            break
        if _name(step) in looks_for_gaps:
            break
        middle.append(step)
    filled = [_middles([domain.columns[name] for name in columns])] if numbers and middle else []
    own: Any = {"kind": "sklearn.pipeline.Pipeline", "steps": [*filled, *middle]} if middle else "passthrough"
    free = {**part, "part": "drop" if part["part"] == "drop" else own}
    return _Branch(columns, lead, middle, steps[len(lead) + len(middle) :], free, not numbers)


def _middles(columns: Sequence[Any]) -> Mapping[str, Any]:
    """What fills gaps of made-up rows, within the bounds of each column: of private rows they are filled before."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer

    middles = [(column.low + column.high) / 2 for column in columns]
    fills = [SimpleImputer(strategy="constant", fill_value=at, keep_empty_features=True) for at in middles]
    return spec_of(ColumnTransformer([(str(i), fill, [i]) for i, fill in enumerate(fills)]))


def _flat(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if _name(spec) != "Pipeline":
        return [spec]
    return [inner for part in spec["steps"] for inner in _flat(part)]


def _name(spec: Mapping[str, Any]) -> str:
    return str(spec["kind"]).rpartition(".")[2]


@dataclass
class _OwnReader:
    """Follows columns through a pipeline. after_free: whether rows are those of a free step, in units that nobody declared."""

    domain: Domain
    after_free: bool
    steps: list[Step] = field(default_factory=list)
    parts: list[OwnPart] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)
    filled: dict[str, set[str]] = field(default_factory=dict)  # by strategy: columns
    touched: set[str] = field(default_factory=set)
    encoded: set[str] = field(default_factory=set)
    raw: set[str] = field(default_factory=set)  # features in the units of their columns
    codes: set[str] = field(default_factory=set)  # features that are codes of categories
    centred: set[str] = field(default_factory=set)
    binned: set[str] = field(default_factory=set)  # features that are codes of bins now
    turned: bool = False  # whether features have no names any more
    names_now: tuple[str, ...] = ()  # of features after a free step, where parts of them are followed
    why: str = ""

    def __post_init__(self) -> None:
        numbers = set(self._numeric(list(self.domain.columns)))
        self.raw = {"x"} if self.after_free else numbers
        self.codes = set(self.domain.feature_names) - numbers
        self.turned = self.after_free

    def columns(self, spec: Mapping[str, Any]) -> None:
        """A ColumnTransformer at the start: each part on its own columns."""
        names, taken = list(self.domain.columns), list[str]()
        for part in spec["parts"]:
            own = [names[i] for i in part["of"] if i < len(names)]
            if not own:
                continue
            if part["part"] == "drop":
                self.why = f"{own[0]!r} is dropped, which steps would keep: leave it out of the domain"
                continue
            if set(own) & set(taken) or len(set(own)) < len(own):
                self.why = "a column has two transformers"
            taken += own
            if part["weight"] != 1.0:
                self.why = _WEIGHTS
            if part["part"] != "passthrough":
                for inner in _flat(part["part"]):
                    self.read(inner, own if len(own) < len(names) else None)
        rest = [name for name in names if name not in taken]
        if rest and spec["remainder"] == "drop":
            self.why = f"{rest[0]!r} is dropped, which steps would keep: leave it out of the domain"
        elif rest and spec["remainder"] != "passthrough":
            for inner in _flat(spec["remainder"]):
                self.read(inner, rest)

    def read(self, spec: Mapping[str, Any], names: Sequence[str] | None) -> None:
        """A transformer on some columns; None: on all."""
        name = _name(spec)
        if name in ("ColumnTransformer", "FeatureUnion"):
            self.why = f"a {name} inside of a pipeline has no steps here"
            return
        try:
            if name not in _HANDLED:
                raise _NotOwn("prepriv has no private fit of it")
            self.parts.append(OwnPart(name, _HANDLED[name](self, spec, names)))
        except _NotOwn as why:
            self.parts.append(OwnPart(name, "", str(why)))

    def done(self) -> OwnFits:
        """What was found."""
        gaps = [n for n, c in self.domain.columns.items() if isinstance(c, Numeric) and c.missing == "impute"]
        steps = list(self.steps)
        if gaps and not self.after_free:
            if len(self.filled) > 1:
                self.why = "gaps are filled in two ways, and a step fills all of them in one"
            strategy = next(iter(self.filled), "")
            fill = {"mean": MeanImputer, "median": MedianImputer}.get(strategy)
            constant = float(strategy.removeprefix("constant ")) if strategy.startswith("constant ") else 0.5
            if not strategy:
                self.differs.insert(0, _MIDDLE)
            elif strategy not in ("mean", "median") and not self.filled[strategy] >= set(gaps):
                self.differs.append(
                    f"gaps of all numbers are filled, those of each column by low + {constant:.3g} * (high - low) of its bounds"
                )
            steps.insert(0, ConstantImputer(constant) if fill is None else fill(payment=pay.Budget()))
        if not gaps:  # nothing is filled
            self.differs = [told for told in self.differs if told not in (NOISY_MEANS, _NOISY_MEDIANS)]
        if any(isinstance(s, StandardScaler) and s.columns for s in steps):
            self.differs += [_LEFT_AS_THEY_ARE] if self.raw & {*self.domain.feature_names} else []
        every = set(self.names_now or self.domain.feature_names)
        if steps and not ("all" in self.centred or self.centred >= every):
            # A model with a constant does not see it, but else weights would share what the constant learns.
            mean = ShrunkCenter if self.domain.target is None else Center
            steps.append(mean(payment=pay.Budget()))
            self.differs.append(_CENTRED)
        return OwnFits(tuple(self.parts), tuple(steps), tuple(dict.fromkeys(self.differs)), self.why)

    def _numeric(self, names: Sequence[str]) -> list[str]:
        return [n for n in names if isinstance(self.domain.columns[n], Numeric)]

    def features(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        """The features of some columns; None: all there are."""
        every = list(self.domain.columns)
        if self.names_now and names is not None:
            if set(names) & self.binned:
                raise _NotOwn("codes of bins reach it")
            return tuple(names)
        if self.turned or names is None:
            if not self.turned and set(every) - set(self._numeric(every)) - self.encoded:
                raise _NotOwn("a column of categories reaches it")
            return None
        if set(names) - set(self._numeric(names)) - self.encoded:
            raise _NotOwn("a column of categories reaches it")
        if set(names) & self.binned:
            raise _NotOwn("codes of bins reach it")
        own = {n for n in names if n in self._numeric(names)}
        for name in set(names) & self.encoded:
            own |= {
                f"{name}={c}" for c in (*getattr(self.domain.columns[name], "categories", ()), OTHER, MISSING)
            }
        return tuple(f for f in self.domain.feature_names if f in own)

    def unread(self, spec: Mapping[str, Any], keys: Sequence[str]) -> None:
        """Say which of these parameters are not at their defaults: nothing here reads them."""
        package, _, name = str(spec["kind"]).rpartition(".")
        known = spec_of(getattr(import_module(package), name)())["params"]
        if changed := [key for key in keys if key in known and spec["params"][key] != known[key]]:
            self.differs.append(no_effect(name, changed))

    def scaled(self, names: Sequence[str] | None, *, centred: bool) -> tuple[str, ...] | None:
        """The features that are scaled now."""
        features = self.features(names)
        every = set(self.names_now or self.domain.feature_names)
        found = every if features is None else set(features)
        self.touched |= found
        self.raw -= {"x"} | found
        self.centred = self.centred | found if centred else self.centred - found
        if features is None and centred:
            self.centred.add("all")
        return features

    def check_scaled(self, name: str) -> None:
        """_NotOwn where it mixes columns in units of their own."""
        if self.raw:
            raise _NotOwn(
                "it mixes columns in their own units, and steps have cells between 0 and 1: scale every number before it"
            )


def _asked(spec: Mapping[str, Any], *any_value: str, **known: Any) -> None:
    """_NotOwn unless the parameters have these values, or their defaults; any_value: those that change nothing here."""
    package, _, name = str(spec["kind"]).rpartition(".")
    known = spec_of(getattr(import_module(package), name)())["params"] | known
    for key, value in known.items():
        if key not in any_value and spec["params"][key] != value:
            raise _NotOwn(f"with {key}={_back(spec['params'][key])!r} it has no private fit")


def no_effect(name: str, settings: Sequence[str]) -> str:
    """The sentence on settings that say how scikit-learn comes to its answer."""
    return f"settings of {name} without effect here, where scikit-learn fits nothing: {', '.join(settings)}"


def _back(value: Any) -> Any:
    return tuple(value["tuple"]) if isinstance(value, dict) and "tuple" in value else value


def _standard(r: _OwnReader, spec: Mapping[str, Any], names: Sequence[str] | None) -> str:
    _asked(spec, with_mean=True, with_std=True)
    r.steps.append(StandardScaler(columns=r.scaled(names, centred=True), payment=pay.Budget()))
    r.differs.append(
        "StandardScaler divides by noisy deviations, never by less than their noise, and draws rows that are far out towards the centre"
    )
    return "StandardScaler"


def _min_max(r: _OwnReader, spec: Mapping[str, Any], names: Sequence[str] | None) -> str:
    _asked(spec, "clip", feature_range={"tuple": [0, 1]})
    r.steps.append(MinMaxScaler(columns=r.scaled(names, centred=False), payment=pay.Budget()))
    r.differs.append(
        "MinMaxScaler takes noisy quantiles of 1 % and 99 % for the least and the greatest value, and cuts at them"
    )
    return "MinMaxScaler"


def _max_abs(r: _OwnReader, spec: Mapping[str, Any], names: Sequence[str] | None) -> str:
    _asked(spec, "clip")
    r.steps.append(MinMaxScaler(columns=r.scaled(names, centred=False), payment=pay.Budget()))
    r.differs.append(
        "MaxAbsScaler divides by the distance of noisy quantiles of 1 % and 99 %, begins at the former, and cuts at them: 0 does not stay 0"
    )
    return "MinMaxScaler"


def _robust(r: _OwnReader, spec: Mapping[str, Any], names: Sequence[str] | None) -> str:
    _asked(spec, "quantile_range", with_centering=True, with_scaling=True, unit_variance=False)
    r.steps.append(StandardScaler(columns=r.scaled(names, centred=True), payment=pay.Budget()))
    r.differs.append(
        "RobustScaler has noisy means and deviations in place of medians and quartiles, and draws rows that are far out towards the centre"
    )
    r.unread(spec, ("quantile_range",))
    return "StandardScaler"


def _k_bins(r: _OwnReader, spec: Mapping[str, Any], names: Sequence[str] | None) -> str:
    _asked(spec, "n_bins", "encode", "strategy", "dtype", *_BIN_SOLVING)
    params = spec["params"]
    if params["encode"] not in ("onehot", "onehot-dense") or params["strategy"] not in (
        "uniform",
        "quantile",
    ):
        raise _NotOwn(
            f"with encode={params['encode']!r} and strategy={params['strategy']!r} it has no private fit: one-hot bins of equal width or mass have"
        )
    if not isinstance(params["n_bins"], int):
        raise _NotOwn("a number of bins for each column has no private fit: one number for all has")
    own = r.features(names) or tuple(r.names_now or r.domain.feature_names)
    if (r.turned and not r.names_now) or set(own) & set(r.binned):
        raise _NotOwn("it bins the declared columns, each once, and other transformers made these")
    if set(own) & r.codes:
        raise _NotOwn(
            "codes of categories reach it, and it bins numbers: give it columns of numbers alone, in the ColumnTransformer"
        )
    if params["strategy"] == "uniform" and set(own) & r.centred:
        raise _NotOwn(
            "after a scaler with means and deviations the bounds between which equal bins would be cut are not near the records: leave that "
            "scaler out, which moves no record to another bin"
        )
    r.binned |= set(own)
    r.centred -= {"all"} | set(own)
    r.touched |= set(own)
    r.raw -= {"x"} | set(own)
    r.unread(spec, _BIN_SOLVING)
    if params["strategy"] == "uniform":
        r.steps.append(Bins(dict.fromkeys(own, params["n_bins"])))
        r.differs.append(
            "KBinsDiscretizer cuts between the declared bounds, not between the least and the greatest value"
        )
        return "Bins"
    r.steps.append(QuantileBins(bins=params["n_bins"], columns=own, payment=pay.Budget()))
    r.differs.append(
        "KBinsDiscretizer cuts at noisy quantiles, half by rank and half evenly between the declared bounds"
    )
    return "QuantileBins"


def _imputer(r: _OwnReader, spec: Mapping[str, Any], names: Sequence[str] | None) -> str:
    _asked(
        spec,
        "strategy",
        "keep_empty_features",
        *(("fill_value",) if spec["params"]["strategy"] == "constant" else ()),
    )
    strategy, own = spec["params"]["strategy"], list(r.domain.columns) if names is None else list(names)
    if (
        strategy == "most_frequent"
        and not r.turned
        and own
        and not r._numeric(own)
        and not set(own) & r.encoded
    ):
        r.differs.append(
            "gaps of categories have a cell of their own in the one-hot code, in place of the most frequent category"
        )
        return OWN_CELL
    if strategy == "constant" and not r.turned and not set(own) & r.touched and own == r._numeric(own):
        cells = {_cell(spec["params"]["fill_value"], r.domain.columns[name]) for name in own}
        if len(cells) == 1 and None not in cells:
            r.filled.setdefault(f"constant {cells.pop()!r}", set()).update(own)
            return "ConstantImputer"
        raise _NotOwn(
            "strategy='constant' fills columns of other bounds, or a value beyond them, which one step does not do"
        )
    if strategy not in ("mean", "median"):
        raise _NotOwn(f"strategy={strategy!r} has no private fit: mean and median have")
    if r.turned or set(own) & r.touched or set(own) - set(r._numeric(own)):
        raise _NotOwn("gaps of numbers are filled before any other transformer")
    r.filled.setdefault(strategy, set()).update(own)
    r.differs.append(NOISY_MEANS if strategy == "mean" else _NOISY_MEDIANS)
    return "MeanImputer" if strategy == "mean" else "MedianImputer"


def _cell(value: Any, column: Any) -> float | None:
    """A constant as a cell of a column, in [0, 1]; None for one that is not there."""
    value = 0.0 if value is None else value
    number_there = (
        isinstance(value, int | float) and not isinstance(value, bool) and isinstance(column, Numeric)
    )
    if not number_there or not column.low <= value <= column.high:
        return None
    return float((value - column.low) / (column.high - column.low))


def _pca(r: _OwnReader, spec: Mapping[str, Any], names: Sequence[str] | None) -> str:
    _asked(spec, "n_components", *_PCA_SOLVING)
    k = spec["params"]["n_components"]
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise _NotOwn(f"n_components={k!r} chooses by the records: give a number")
    if names is not None:
        raise _NotOwn("on some of the columns it has no step: put it after the ColumnTransformer")
    r.check_scaled("PCA")
    r.features(None)
    if "all" not in r.centred and not r.centred >= set(r.names_now or r.domain.feature_names):
        r.steps.append(ShrunkCenter(payment=pay.Budget()))
    r.steps.append(PCA(k, payment=pay.Budget()))
    r.turned, r.names_now, r.centred = True, (), {"all"}
    r.differs.append("PCA takes its directions from noisy second moments")
    r.unread(spec, _PCA_SOLVING)
    return "PCA"


def _normalizer(r: _OwnReader, spec: Mapping[str, Any], names: Sequence[str] | None) -> str:
    _asked(spec)
    if names is not None:
        raise _NotOwn("on some of the columns it has no step: put it after the ColumnTransformer")
    r.check_scaled("Normalizer")
    r.features(None)
    r.steps.append(Normalize(1.0))
    r.centred = set()
    return ""


def _one_hot(r: _OwnReader, spec: Mapping[str, Any], names: Sequence[str] | None) -> str:
    _asked(spec, "categories", "handle_unknown", "sparse_output", "dtype", "feature_name_combiner")
    own = list(r.domain.columns) if names is None else list(names)
    if r.turned or not declared_codes(spec, "OneHotEncoder") or set(own) & r.encoded:
        raise _NotOwn("it is not of the declared categories")
    listed = spec["params"]["categories"]
    for i, column in enumerate(r.domain.columns[n] for n in own):
        if not isinstance(column, Categorical):
            raise _NotOwn("a column of numbers reaches it")
        if listed != "auto" and not same_categories(listed[i], column.categories):
            raise _NotOwn("it lists other categories than the domain")
    r.encoded |= set(own)
    return ""


def _function(r: _OwnReader, spec: Mapping[str, Any], names: Sequence[str] | None) -> str:
    _asked(spec, "validate", "accept_sparse", "check_inverse", "inverse_func", "feature_names_out")
    return ""


_HANDLED: Mapping[str, Callable[[_OwnReader, Mapping[str, Any], Sequence[str] | None], str]] = {
    "FunctionTransformer": _function,
    "KBinsDiscretizer": _k_bins,
    "MaxAbsScaler": _max_abs,
    "MinMaxScaler": _min_max,
    "Normalizer": _normalizer,
    "OneHotEncoder": _one_hot,
    "PCA": _pca,
    "RobustScaler": _robust,
    "SimpleImputer": _imputer,
    "StandardScaler": _standard,
}
