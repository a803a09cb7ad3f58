"""A pipeline of scikit-learn in, the same pipeline out, private: its transformers in the cheapest way that keeps
them, its estimator by a learner of prepriv."""

from __future__ import annotations

import functools
import inspect
import math
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar

from prepriv._callers import callers_level
from prepriv.columns import Categorical, Numeric
from prepriv.domain import Domain
from prepriv.estimators import PrivateClassifier, PrivateEstimator
from prepriv.placed.checks import check_budget, check_domain
from prepriv.preprocessing.base import Step
from prepriv.preprocessing.compile_sklearn import LABELS
from prepriv.preprocessing.fitted import Fitted, FittedPart
from prepriv.preprocessing.sklearn_places import by_name, check_selectors, places_of
from prepriv.preprocessing.sklearn_spec import class_path, spec_of
from prepriv.recipes.own_fits import OwnFits, own_fits, split_fits
from prepriv.recipes.pipeline_ways import PaidOption, PaidWay, PipelineWays
from prepriv.recipes.sklearn_estimators import OtherLoss, nearest, read_estimator
from prepriv.regressor import PrivateRegressor


@dataclass(frozen=True)
class PipelineReading:
    """What becomes of a pipeline of scikit-learn. No record was read.

    Parameters
    ----------
    domain : Domain
        What is declared, with gaps kept if the pipeline takes gaps, and without columns that it drops.
    ways : PipelineWays
        Its transformers in each way to pay, and the way that was asked for.
    loss : loss or None
        The loss that is minimised. None: the one that the recipe takes for the domain.
    class_weight : str, mapping or None
        As for `PrivateClassifier`.
    told : tuple of str
        How the result differs from that of scikit-learn after the transformers.
    n : int, optional
        The declared number of records. None: not known yet.
    epsilon, delta : float
        The budget.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.private_pipeline import reading
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> domain = prepriv.Domain.box(0, 1, features=3, classes=[0, 1])
    >>> found = reading(make_pipeline(StandardScaler(), LogisticRegression()), domain, n=2000)
    >>> [step.name for step in found.steps]
    ['ConstantImputer', 'StandardScaler', 'Homogenize', 'Rescale']
    >>> [(option.way, round(option.factor, 3)) for option in found.options]
    [('budget', 1.054), ('sketch', 1.068), ('sensitivity', inf)]
    """

    domain: Domain
    ways: PipelineWays
    loss: Any
    class_weight: Any
    told: tuple[str, ...]
    n: int | None = None
    epsilon: float = 1.0
    delta: float = 1e-5

    @property
    def options(self) -> tuple[PaidOption, ...]:
        """Every way to pay, the chosen one first. ValueError if n is not known."""
        if self.n is None:
            raise ValueError(
                "n, the number of records, decides what is cheapest: give n, or Domain(..., n=...)"
            )
        return self.ways.options(self.domain, n=self.n, epsilon=self.epsilon, delta=self.delta)

    @property
    def taken(self) -> PaidOption:
        """The chosen way. ValueError if none is available, or if n is not known."""
        _ = self.options
        assert self.n is not None
        return self.ways.chosen(self.domain, n=self.n, epsilon=self.epsilon, delta=self.delta)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the chosen way. ValueError if no way is available, or if n decides the way and is not known. While n is not known, they are
        those of much signal."""
        sure = self.n is None and self.ways.sure in ("free", "sketch")
        return self.ways.kept(self.domain, math.inf) if sure else self.taken.steps

    @property
    def says(self) -> tuple[str, ...]:
        """How the result differs from that of scikit-learn."""
        if self.n is None:
            return (*self.ways.says(self.ways.sure), *self.told)
        taken = self.taken
        return (*self.ways.says(taken.way), *([taken.why] if taken.why else []), *self.told)

    @property
    def parts(self) -> tuple[FittedPart, ...]:
        """The transformers in order, each with the columns that it looks at."""
        return self.ways.fitted.parts


def reading(
    pipeline: Any,
    domain: Domain,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    n: int | None = None,
    way: PaidWay = "auto",
    share: float | str = "auto",
    missing: float | None = None,
) -> PipelineReading:
    """Read a pipeline that ends in an estimator: how each part is paid for, how else it could be, and how the result differs.

    Parameters
    ----------
    pipeline : Pipeline
        Transformers and an estimator of scikit-learn, fitted or not.
    domain : Domain
        What is declared about the raw table.
    epsilon, delta, n, way, share, missing
        As for `private`.

    Returns
    -------
    PipelineReading

    Raises
    ------
    ValueError
        For a part that cannot be made private. The message has its name and what to write instead.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.private_pipeline import reading
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> domain = prepriv.Domain.box(0, 1, features=3, target=prepriv.Numeric(0, 1))
    >>> reading(make_pipeline(StandardScaler(), LinearRegression()), domain, n=5000).says[0][:32]
    'its transformers are steps of pr'
    """
    check_domain(domain)
    if n is not None:
        declared = domain.with_n(n)
        domain.check_n(n)  # another number than the domain's is refused
        domain = declared
    epsilon, delta = check_budget(epsilon, delta)
    _check_not_private(pipeline)
    steps = _flat(pipeline)
    if not steps or not hasattr(steps[-1], "predict"):
        raise ValueError(
            "the pipeline must end in an estimator, such as LogisticRegression; transformers alone are a step: "
            "prepriv.preprocessing.Fitted.of(pipeline, domain) in steps=, before StandardScaler(payment=Budget(0.05)), which scales the rows for the learner"
        )
    *before, last = steps
    loss, class_weight, told = read_estimator(last, domain, _path_of(pipeline))
    if not before:
        raise ValueError(
            f'{type(last).__name__} alone has no transformers to keep: use {nearest(domain).removesuffix(")")}, steps="linear") for a linear model, or {nearest(domain)}, the default'
        )
    told += _by_place(before[0], domain)
    before, domain = _without_dropped(before, domain)
    if len(before) == 1:
        whole = _every_cell(before[0], domain, list(domain.columns))
        told += () if whole is before[0] else (_EVERY_CELL,)
        before = [whole]
    gaps = any(isinstance(c, Numeric) and c.missing == "impute" for c in domain.columns.values())
    declared = domain
    fitted, domain = _with_gaps_if_taken(_as_one(before), domain)
    told += (*_by_order(fitted, domain), *_by_powers(fitted), *_by_choice(fitted))
    own = _own(before, domain)
    # An imputer without a private fit fills them on a sketch.
    unfilled = own.leaves_gaps and not any(f".{name}" in fitted.transformer for name in _IMPUTERS)
    if gaps and unfilled:
        warnings.warn(_GAPS_LEFT, UserWarning, stacklevel=callers_level())
    ways = PipelineWays(fitted, own, way, missing, share, domain.target is not None)
    if unfilled and domain != declared:
        with suppress(ValueError):
            plain = Fitted.of(_as_one(before), declared, encoded=True)
            other = replace(ways, fitted=plain, own=_own(before, declared))
            ways = replace(ways, declared=(other, declared))
    return PipelineReading(domain, ways, loss, class_weight, told, domain.n, epsilon, delta)


_IMPUTERS = ("IterativeImputer", "KNNImputer", "SimpleImputer")
_GAPS_LEFT = (
    "The domain keeps gaps of numbers (missing='impute'), and no step of the pipeline fills them: they become the middle of the declared bounds. Put SimpleImputer() "
    "in front, which learns a mean, or declare missing='midpoint', if the middle is what you want"
)


def _check_not_private(pipeline: Any) -> None:
    """ValueError for what `private` made already, alone or as the last step."""
    name = type(pipeline).__name__
    if isinstance(pipeline, PrivateEstimator):
        raise ValueError(
            f"this {name} is private already: fit it, and change its settings by set_params. private() reads a pipeline of scikit-learn"
        )
    last = pipeline.steps[-1][1] if getattr(pipeline, "steps", None) else None
    if isinstance(last, PrivateEstimator):
        raise ValueError(
            f"the pipeline ends in {type(last).__name__}, which is private already: put an estimator of scikit-learn there, such as "
            "LogisticRegression or Ridge, and private() replaces it"
        )


_P = ParamSpec("_P")
_R = TypeVar("_R")


def _says_what_to_write(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The same, with a TypeError that names what to write for an option of the model, a seed, or a domain that is left out."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: _P.args, **options: _P.kwargs) -> _R:
        for name in options:
            if name in known:
                continue
            if name == "random_state":
                raise TypeError(
                    "private() takes no random_state: whoever knows the seed of the noise can take it off. Leave it out"
                )
            if name in inspect.signature(PrivateClassifier).parameters:
                raise TypeError(
                    f"private() takes no {name}, which is a setting of the model that it makes: private(...).set_params({name}=...)"
                )
            raise TypeError(f"private() takes no {name}: its options are {', '.join(list(known)[2:])}")
        if len(args) < 2 and "domain" not in options and (args or "pipeline" in options):
            raise TypeError(
                "private(pipeline, domain) needs the domain, which declares what is public about the raw table: such as "
                'prepriv.Domain({"age": prepriv.Numeric(0, 100)}, classes=["no", "yes"]), or load_schema("S.yaml").domain()'
            )
        return function(*args, **options)

    return call


@_says_what_to_write
def private(
    pipeline: Any,
    domain: Domain,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    n: int | None = None,
    way: PaidWay = "auto",
    share: float | str = "auto",
    missing: float | None = None,
    ledger: str | os.PathLike[str] | None = None,
) -> PrivateClassifier | PrivateRegressor:
    """Make a pipeline of scikit-learn private.

    Its transformers are paid for in the cheapest way that keeps them, and a private learner replaces its linear
    model.

    Parameters
    ----------
    pipeline : Pipeline
        Transformers of scikit-learn (`docs/proofs/fitted.md` lists them), then LogisticRegression, SGDClassifier, LinearSVC,
        RidgeClassifier, LinearRegression, Ridge or HuberRegressor. Fitted or not: it is fitted again.
    domain : Domain
        What is declared about the raw table. If the pipeline takes gaps, they are kept for it.
    epsilon : float, default 1.0
        What everything costs together.
    delta : float, default 1e-5
        In (0, 1), well below 1 / n.
    n : int, optional
        The declared number of records, as in `domain.with_n(n)`. A fit on another number is refused. None: the
        domain's.
    way : {"auto", "budget", "sensitivity", "sketch"}, default "auto"
        How the transformers are paid for. "budget": each becomes a step of prepriv with a private fit of its own.
        "sensitivity": the same, but means that fill gaps are paid for by sensitivity under `missing`. "sketch": the
        transformers stay as they are and are fitted on rows drawn from one sketch. "auto" takes one of the first two
        if every part has a step, namely the one that adds less noise to training. It takes a sketch if a part has no
        step, if only a sketch has enough signal, or if PCA as a step would be little but noise and a coarse sketch
        would not (docs/sketch.md).
    share : float or "auto", default "auto"
        The share of the sketch, in mu squared, as for `Sketch`. A number asks for a sketch.
    missing : float, optional
        The largest share of records that miss a cell of a column. You claim this about the data, and the guarantee
        then rests on it. None: not declared, and nothing is paid for by sensitivity. It is refused if way or share
        asks for another way, which would not use it.
    ledger : path or URL, optional
        The ledger that `fit` charges before a record is read. None: no cap holds.

    Returns
    -------
    PrivateClassifier or PrivateRegressor
        Not fitted: `plan(n)` prices it, and `fit(X, y)` runs it. In `get_params`, way, share and missing are
        `steps__way`, `steps__share` and `steps__missing`. `set_params` and `sklearn.base.clone` use the same names.

    Raises
    ------
    ValueError
        For a part that cannot be made private. The message has its name, the reason, and what to write instead.
        Nothing is charged.

    See Also
    --------
    PrivateClassifier : The default recipe, which is more accurate if the pipeline does not have to be kept.
    account : What the pipeline really cost, as it was run.

    Notes
    -----
    Before the first fit, look at `prepriv.validate(domain, X, y)` yourself. It says which labels and cells are not as
    declared. A fit says nothing about them. If no label is a declared class, the model is trained on noise.

    The way is chosen when the plan is made, by n, epsilon and the declared columns alone. All transformers share one
    sketch, so further transformers cost nothing. `prepriv.private_pipeline.reading` has every way with its price, and
    says how the result differs from that of scikit-learn. Proof: docs/proofs/fitted.md, and that of each step.

    Examples
    --------
    >>> import pandas as pd, prepriv
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> table = pd.DataFrame({"age": [20 + i % 60 for i in range(6000)]})
    >>> y = ["old" if age > 50 else "young" for age in table["age"]]
    >>> domain = prepriv.Domain({"age": prepriv.Numeric(0, 100)}, classes=["old", "young"])
    >>> model = prepriv.private(make_pipeline(StandardScaler(), LogisticRegression()), domain, epsilon=1.0)
    >>> bool(model.fit(table, y).score(table, y) > 0.9)
    True
    """
    read = reading(pipeline, domain, epsilon=epsilon, delta=delta, n=n, way=way, share=share, missing=missing)
    made: type[PrivateEstimator] = PrivateClassifier if domain.target is None else PrivateRegressor
    options: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "steps": read.ways, "ledger": ledger}
    if read.class_weight is not None:
        options["class_weight"] = read.class_weight
    if read.loss is not None:
        options["learner"] = OtherLoss(read.loss)
    found = made(read.domain, **options)
    assert isinstance(found, PrivateClassifier | PrivateRegressor)
    return found


def _flat(pipeline: Any) -> list[Any]:
    """The steps of a pipeline, those of one at its end among them."""
    if not hasattr(pipeline, "steps"):
        return [pipeline]
    class_path(type(pipeline))  # that of scikit-learn exactly
    if pipeline.memory is not None:
        raise ValueError("memory= of a Pipeline keeps fits, and so private rows, in files: leave it out")
    if getattr(pipeline, "transform_input", None) is not None:
        raise ValueError("transform_input= of a Pipeline is not read: leave it out")
    steps = [step for _, step in pipeline.steps]
    kept = [s for s in steps if not (s is None or (isinstance(s, str) and s == "passthrough"))]
    if not kept or kept[-1] is not steps[-1]:
        return []  # it ends in no estimator
    return [*kept[:-1], *_flat(kept[-1])]


def _path_of(pipeline: Any) -> str:
    """The estimator's name for `set_params`, such as "clf__"; "" without a pipeline."""
    if not hasattr(pipeline, "steps"):
        return ""
    name, last = pipeline.steps[-1]
    return f"{name}__{_path_of(last)}"


def _as_one(steps: list[Any]) -> Any:
    from sklearn.pipeline import Pipeline

    return Pipeline([(f"step{i}", step) for i, step in enumerate(steps)])


def _without_dropped(steps: list[Any], domain: Domain) -> tuple[list[Any], Domain]:
    """The same without the columns that a first ColumnTransformer drops: no mechanism counts them then. It names those that it keeps."""
    first, names = steps[0], list(domain.columns)
    by_place = names == [f"x{i}" for i in range(len(names))]  # of a matrix, which keeps its width
    if type(first).__name__ != "ColumnTransformer" or first.remainder != "drop" or by_place:
        return steps, domain
    class_path(type(first))  # that of scikit-learn exactly
    at = {
        label: [names[i] for i in places_of(chosen, domain.columns)]
        for label, _, chosen in first.transformers
    }
    kept = {name for label, part, _ in first.transformers if part != "drop" for name in at[label]}
    columns = {name: column for name, column in domain.columns.items() if name in kept}
    if not columns or len(columns) == len(names):
        return steps, domain
    check_selectors([chosen for _, _, chosen in first.transformers], domain.columns)
    named = [(label, part, at[label]) for label, part, _ in first.transformers if part != "drop"]
    one = type(first)(**{**first.get_params(deep=False), "transformers": named})
    return [one, *steps[1:]], replace(domain, columns=columns)


_EVERY_CELL = (
    "OneHotEncoder keeps a cell for every category, whatever its drop= says: under noise, leaving one out made predictions less accurate and differences of "
    "categories less certain (docs/your-pipeline.md). How far two categories are apart is the difference of their weights"
)


def _every_cell(part: Any, domain: Domain, names: list[str]) -> Any:
    """The only transformer, or a part of it, with no declared category left out of its one-hot codes; the same object where none is. names: its
    columns."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    if type(part) is OneHotEncoder:
        columns = [domain.columns[name] for name in names]
        left_out = part.drop
        if left_out is None or not all(isinstance(column, Categorical) for column in columns):
            return part
        listed = not isinstance(left_out, str)
        if listed and (
            len(left_out) != len(columns)
            or any(
                each not in c.categories for each, c in zip(left_out, columns) if isinstance(c, Categorical)
            )
        ):
            return part  # what it leaves out was not declared
        if not listed and left_out not in ("first", "if_binary"):
            return part  # which is refused later
        return OneHotEncoder(**{**part.get_params(deep=False), "drop": None})
    if type(part) is Pipeline and part.steps:
        *lead, (label, last) = part.steps
        if not all(type(step) is SimpleImputer and not step.add_indicator for _, step in lead):
            return part  # columns may be others by then
        made = _every_cell(last, domain, names)
        if made is last:
            return part
        return Pipeline(**{**part.get_params(deep=False), "steps": [*lead, (label, made)]})
    if type(part) is not ColumnTransformer or names != list(domain.columns):
        return part
    at = [[names[i] for i in places_of(chosen, domain.columns)] for _, _, chosen in part.transformers]
    rest = [name for name in names if not any(name in own for own in at)]
    made = [_every_cell(inner, domain, own) for (_, inner, _), own in zip(part.transformers, at)]
    remainder = _every_cell(part.remainder, domain, rest)
    if remainder is part.remainder and all(m is inner for m, (_, inner, _) in zip(made, part.transformers)):
        return part
    parts = [(label, m, chosen) for m, (label, _, chosen) in zip(made, part.transformers)]
    return ColumnTransformer(**{**part.get_params(deep=False), "transformers": parts, "remainder": remainder})


def _by_place(first: Any, domain: Domain) -> tuple[str, ...]:
    """A sentence on columns that a first ColumnTransformer takes by place, mask or type: which these are."""
    if type(first).__name__ != "ColumnTransformer" or domain.is_ball:
        return ()
    names = list(domain.columns)
    found = [
        f"{label} takes {', '.join(names[i] for i in places_of(chosen, domain.columns)) or 'none'}"
        for label, _, chosen in first.transformers
        if not by_name(chosen)
    ]
    if not found:
        return ()
    return (f"columns by place or by type are those of the domain, in its order: {'; '.join(found)}",)


def _by_order(fitted: Fitted, domain: Domain) -> tuple[str, ...]:
    """A sentence on categories beside a numeric target, where a sketch relates columns: it has one axis for a column."""
    names = [
        name for name, c in domain.columns.items() if isinstance(c, Categorical) and len(c.categories) > 2
    ]
    if domain.target is None or fitted.needs == "columns" or not names:
        return ()
    return (
        f"if a sketch pays, {', '.join(names)} is related to the target and to other columns by the declared order of its categories alone: "
        "declare them from the lowest target to the highest, or leave out what selects columns",
    )


_SELECTING = (
    *sorted(LABELS - {"TargetEncoder"}),
    "SelectFromModel",
    "RFE",
    "RFECV",
    "SequentialFeatureSelector",
)
_CENTRING = ("StandardScaler", "RobustScaler", "PowerTransformer")


def _by_powers(fitted: Fitted) -> tuple[str, ...]:
    """Sentences on powers of columns: each is trained with noise, and noisy training tells those apart badly that were not centred before."""
    names = [part.name for part in fitted.parts]
    if "PolynomialFeatures" not in names:
        return ()
    wide = (
        f"PolynomialFeatures makes more features, here up to {fitted.features:,} in all, and each is trained with noise: where records are few for so many, "
        "the columns alone can be more accurate",
    )
    if any(name in _CENTRING for name in names[: names.index("PolynomialFeatures")]):
        return wide
    return (
        *wide,
        "PolynomialFeatures of columns that are not centred makes features that move together, which noisy training tells apart badly: "
        "a StandardScaler before PolynomialFeatures usually helps",
    )


def _by_choice(fitted: Fitted) -> tuple[str, ...]:
    """A sentence on parts that choose columns: they choose by noisy rows."""
    names = dict.fromkeys(part.name for part in fitted.parts if part.name in _SELECTING)
    if not names:
        return ()
    return (
        f"{' and '.join(names)} chooses columns on rows drawn from a noisy sketch: another fit can choose others, and a column that matters little "
        "can be missed or taken by chance (docs/sketch.md measures what that loses)",
    )


def _opened(steps: list[Any]) -> list[Any]:
    """The same steps, those of a pipeline among them one by one."""
    kept = [s for s in steps if not (s is None or (isinstance(s, str) and s == "passthrough"))]
    inner = [[t for _, t in s.steps] if type(s).__name__ == "Pipeline" else [s] for s in kept]
    return [t for ts in inner for t in (_opened(ts) if len(ts) > 1 else ts)]


def _own(steps: list[Any], domain: Domain) -> OwnFits:
    """The transformers as steps of prepriv; after those at the start that learn nothing, where that helps."""
    steps = _opened(steps)
    found = own_fits(spec_of(_as_one(steps), domain.columns), domain)
    if not found.closed:
        return found
    apart = split_fits(spec_of(_as_one(steps), domain.columns), domain)
    if apart is not None and not apart.closed:
        return apart
    for i in range(len(steps) - 1, 0, -1):
        try:
            first = Fitted.of(_as_one(steps[:i]), domain)
        except ValueError:
            continue
        if first.way != "free":
            continue
        later = own_fits(spec_of(_as_one(steps[i:])), domain, first)
        return found if later.closed else later
    return found


def _with_gaps_if_taken(pipeline: Any, domain: Domain) -> tuple[Fitted, Domain]:
    """The step, and the domain with gaps where the pipeline takes them: its own rule for gaps then holds, not the midpoint."""
    kept = {
        name: replace(column, missing="impute") if isinstance(column, Numeric) else column
        for name, column in domain.columns.items()
    }
    if domain.is_ball:
        raise ValueError("a pipeline needs declared columns: Domain(...) or Domain.box")
    with_gaps = replace(domain, columns=kept)
    try:
        return Fitted.of(pipeline, with_gaps, encoded=True), with_gaps
    except ValueError:
        return Fitted.of(pipeline, domain, encoded=True), domain
