"""A pipeline of scikit-learn in, the same pipeline out, private: its transformers in the cheapest way that keeps them, its estimator by a learner of prepriv."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

from prepriv.columns import Numeric
from prepriv.domain import Domain
from prepriv.estimators import PrivateClassifier, PrivateEstimator
from prepriv.placed.checks import check_budget, check_domain
from prepriv.preprocessing.base import Step
from prepriv.preprocessing.fitted import Fitted, FittedPart
from prepriv.preprocessing.sklearn_places import by_name, check_selectors, places_of
from prepriv.preprocessing.sklearn_spec import class_path, spec_of
from prepriv.recipes.own_fits import OwnFits, own_fits, split_fits
from prepriv.recipes.pipeline_ways import PaidOption, PaidWay, PipelineWays
from prepriv.recipes.sklearn_estimators import OtherLoss, nearest, read_estimator
from prepriv.regressor import PrivateRegressor


@dataclass(frozen=True)
class PipelineReading:
    """What becomes of a pipeline of scikit-learn. Nothing was read of a record.

    Parameters
    ----------
    domain : Domain
        What is declared, with gaps kept where the pipeline takes gaps, without columns that it drops.
    ways : PipelineWays
        Its transformers in each way to pay, and which one is asked for.
    loss : loss or None
        What is minimised; None: what the recipe takes for the domain.
    class_weight : str, mapping or None
        As for `PrivateClassifier`.
    told : tuple of str
        How the answer differs from that of scikit-learn after the transformers.
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
        """Every way to pay, the one that is taken first. ValueError where n is not known."""
        if self.n is None:
            raise ValueError(
                "n, the number of records, decides what is cheapest: give n, or Domain(..., n=...)"
            )
        return self.ways.options(self.domain, n=self.n, epsilon=self.epsilon, delta=self.delta)

    @property
    def taken(self) -> PaidOption:
        """The way that is taken. ValueError where none is available, or n is not known."""
        _ = self.options
        assert self.n is not None
        return self.ways.chosen(self.domain, n=self.n, epsilon=self.epsilon, delta=self.delta)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that are taken. ValueError where none are available, or n decides which ones and is not known."""
        sure = self.n is None and self.ways.sure in ("free", "sketch")
        return self.ways.kept if sure else self.taken.steps

    @property
    def says(self) -> tuple[str, ...]:
        """How the answer differs from that of scikit-learn."""
        if self.n is None:
            return (*self.ways.says(self.ways.sure), *self.told)
        taken = self.taken
        return (*self.ways.says(taken.way), *([taken.why] if taken.why else []), *self.told)

    @property
    def parts(self) -> tuple[FittedPart, ...]:
        """The transformers in order, each with what it looks at."""
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
    """Read a pipeline that ends in an estimator: what pays for each part, what else could, and how the answer differs.

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
        For a part that is not taken, by its name, with what to write instead.

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
    steps = _flat(pipeline)
    if not steps or not hasattr(steps[-1], "predict"):
        raise ValueError(
            "the pipeline must end in an estimator, such as LogisticRegression; transformers alone are a step: "
            "prepriv.preprocessing.Fitted.of(pipeline, domain) before a learner"
        )
    *before, last = steps
    loss, class_weight, told = read_estimator(last, domain, _path_of(pipeline))
    if not before:
        raise ValueError(
            f"{type(last).__name__} alone has no transformers to keep: use {nearest(domain)}, the default"
        )
    told += _by_place(before[0], domain)
    before, domain = _without_dropped(before, domain)
    fitted, domain = _with_gaps_if_taken(_as_one(before), domain)
    ways = PipelineWays(fitted, _own(before, domain), way, missing, share, domain.target is not None)
    return PipelineReading(domain, ways, loss, class_weight, told, domain.n, epsilon, delta)


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
    """Make a pipeline of scikit-learn private: its transformers in the cheapest way that keeps them, and its linear model by a private learner.

    Parameters
    ----------
    pipeline : Pipeline
        Transformers of scikit-learn (`docs/proofs/fitted.md` lists them), then LogisticRegression, SGDClassifier, LinearSVC,
        RidgeClassifier, LinearRegression, Ridge or HuberRegressor. Fitted or not: it is fitted again.
    domain : Domain
        What is declared about the raw table. Where the pipeline takes gaps, gaps are kept for it.
    epsilon : float, default 1.0
        What everything costs together.
    delta : float, default 1e-5
        In (0, 1), well below 1 / n.
    n : int, optional
        The declared number of records, as by `domain.with_n(n)`: a fit on another number is refused. None: the domain's.
    way : {"auto", "budget", "sensitivity", "sketch"}, default "auto"
        What pays. "budget": each transformer as a step of prepriv with a private fit of its own, where it has one. "sensitivity": the same, but
        means that fill gaps are paid for by sensitivity under `missing`. "sketch": the transformers as they are, fitted on rows of one sketch.
        "auto" takes the first two where each part has a step, the one that adds less noise to training, and a sketch where one has none or
        where a sketch alone has enough signal.
    share : float or "auto", default "auto"
        Of the sketch, in mu squared, as for `Sketch`; a number asks for a sketch.
    missing : float, optional
        The largest share of records that miss a cell of a column: a claim of yours about the data, which the guarantee then rests on. None: not
        declared, and nothing is paid for by sensitivity. Refused where way or share asks for another way, which would not read it.
    ledger : path or URL, optional
        Charged by `fit`, before a cell is read. None: no cap holds.

    Returns
    -------
    PrivateClassifier or PrivateRegressor
        Not fitted: `plan(n)` prices it, `fit(X, y)` runs it. `get_params` has way, share and missing as `steps__way`, `steps__share` and
        `steps__missing`; `set_params` and `sklearn.base.clone` keep to them.

    Raises
    ------
    ValueError
        With nothing charged: for a part that is not taken, by its name, with the reason and what to write instead.

    See Also
    --------
    PrivateClassifier : The default recipe, which is more accurate where a pipeline need not be kept.
    account : What the pipeline really cost, as it was run.

    Notes
    -----
    Before the first fit, look at `prepriv.validate(domain, X, y)` yourself: it says which labels and cells are not as declared. A fit says nothing
    about them, and labels that are not declared classes train on noise.

    Which way is taken follows from n, epsilon and the declared columns, when the plan is made. All transformers ride on one sketch, so a second
    one costs nothing. `prepriv.private_pipeline.reading` has every way with its price, and says how the answer differs from scikit-learn's.
    Proof: docs/proofs/fitted.md, and that of each step.

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
