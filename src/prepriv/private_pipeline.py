"""A pipeline of scikit-learn in, the same pipeline out, private: its transformers by one sketch, its estimator by a learner of prepriv."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from prepriv.columns import Numeric
from prepriv.domain import Domain
from prepriv.estimators import PrivateClassifier, PrivateEstimator
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Learner
from prepriv.learners.losses import Hinge, SquaredHinge
from prepriv.learners.targets import Huber
from prepriv.payment import Sketch
from prepriv.placed.checks import check_budget, check_domain
from prepriv.preprocessing.base import Step
from prepriv.preprocessing.fitted import Fitted, FittedPart
from prepriv.preprocessing.homogenize import Homogenize
from prepriv.preprocessing.normalize import Rescale
from prepriv.preprocessing.sklearn_spec import class_path
from prepriv.recipes.automatic import RECIPE_LEVEL, SCALE, recipe
from prepriv.regressor import PrivateRegressor

CLASSIFIERS, REGRESSORS = (
    ("LogisticRegression", "SGDClassifier", "LinearSVC", "RidgeClassifier"),
    ("LinearRegression", "Ridge", "HuberRegressor"),
)
_SOLVING = frozenset(
    [
        "dual",
        "intercept_scaling",
        "max_iter",
        "n_jobs",
        "random_state",
        "solver",
        "tol",
        "warm_start",
        "verbose",
        "copy_X",
        "shuffle",
        "learning_rate",
        "eta0",
        "power_t",
        "early_stopping",
        "validation_fraction",
        "n_iter_no_change",
        "average",
        "multi_class",
    ]
)
"""Parameters that say how scikit-learn comes to its answer, not what the answer is: ours comes to it by noisy steps."""
_LOSSES: Mapping[str, Any] = {"log_loss": None, "hinge": Hinge(), "squared_hinge": SquaredHinge()}


@dataclass(frozen=True)
class PipelineReading:
    """What becomes of a pipeline of scikit-learn. Nothing was read of a record.

    Parameters
    ----------
    domain : Domain
        What is declared, with gaps kept where the pipeline takes gaps.
    steps : tuple of steps
        The transformers, free or paid for by one sketch, then rows of one norm.
    loss : loss or None
        What is minimised; None: what the recipe takes for the domain.
    class_weight : str, mapping or None
        As for `PrivateClassifier`.
    says : tuple of str
        How the answer differs from that of scikit-learn.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.private_pipeline import reading
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> domain = prepriv.Domain.box(0, 1, features=3, classes=[0, 1])
    >>> found = reading(make_pipeline(StandardScaler(), LogisticRegression()), domain)
    >>> [step.name for step in found.steps]
    ['Fitted', 'Homogenize', 'Rescale']
    """

    domain: Domain
    steps: tuple[Step, ...]
    loss: Any
    class_weight: Any
    says: tuple[str, ...]

    @property
    def parts(self) -> tuple[FittedPart, ...]:
        """The transformers in order, each with what it looks at."""
        fitted = self.steps[0]
        assert isinstance(fitted, Fitted)
        return fitted.parts


def reading(pipeline: Any, domain: Domain, *, share: float | str = "auto") -> PipelineReading:
    """Read a pipeline that ends in an estimator: what pays for each part, and how the answer differs.

    Parameters
    ----------
    pipeline : Pipeline
        Transformers and an estimator of scikit-learn, fitted or not.
    domain : Domain
        What is declared of the raw table.
    share : float or "auto", default "auto"
        Of the sketch, as for `Sketch`.

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
    >>> reading(make_pipeline(StandardScaler(), LinearRegression()), domain).says[0][:32]
    'its transformers are fitted on r'
    """
    check_domain(domain)
    steps = _flat(pipeline)
    if not steps or not hasattr(steps[-1], "predict"):
        raise ValueError(
            "the pipeline must end in an estimator, such as LogisticRegression; transformers alone are a step: "
            "prepriv.preprocessing.Fitted.of(pipeline, domain) before a learner"
        )
    *before, last = steps
    loss, class_weight, says = _estimator(last, domain)
    if not before:
        raise ValueError(
            f"{type(last).__name__} alone has no transformers to keep: use {_nearest(domain)}, the default"
        )
    from sklearn.pipeline import Pipeline

    whole = Pipeline([(f"step{i}", step) for i, step in enumerate(before)])
    payment = Sketch(share)
    fitted, domain = _with_gaps_if_taken(whole, domain, None if payment.left_open else payment)
    drawn = "its transformers are fitted on rows drawn from a private sketch of the table, not on the table: their outputs are cut at their 0.5 % and 99.5 % quantiles, centred and scaled"
    free = "its transformers learn nothing from rows beyond what is declared, so they cost nothing: their outputs are centred and scaled by made-up rows of the domain"
    told = (free if fitted.way == "free" else drawn, *says)
    return PipelineReading(
        domain, (fitted, Homogenize(RECIPE_LEVEL), Rescale(SCALE)), loss, class_weight, told
    )


def private(
    pipeline: Any,
    domain: Domain,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    n: int | None = None,
    share: float | str = "auto",
    ledger: str | os.PathLike[str] | None = None,
) -> PrivateClassifier | PrivateRegressor:
    """Make a pipeline of scikit-learn private: its transformers as they are, fitted on a sketch, and its linear model by a private learner.

    Parameters
    ----------
    pipeline : Pipeline
        Transformers of scikit-learn (`docs/proofs/fitted.md` lists them), then LogisticRegression, SGDClassifier, LinearSVC,
        RidgeClassifier, LinearRegression, Ridge or HuberRegressor. Fitted or not: it is fitted anew.
    domain : Domain
        What is declared of the raw table. Where the pipeline takes gaps, gaps are kept for it.
    epsilon : float, default 1.0
        What everything costs together.
    delta : float, default 1e-5
        In (0, 1), well below 1 / n.
    n : int, optional
        The declared number of records, for a loss that the recipe does not take by itself. None: the domain's.
    share : float or "auto", default "auto"
        Of the sketch, in mu squared, as for `Sketch`.
    ledger : path or URL, optional
        Charged by `fit`, before a cell is read. None: no cap holds.

    Returns
    -------
    PrivateClassifier or PrivateRegressor
        Not fitted: `plan(n)` prices it, `fit(X, y)` runs it.

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
    All transformers ride on one sketch, so a second one costs nothing. `prepriv.private_pipeline.reading` says how the answer
    differs from scikit-learn's. Proof: docs/proofs/fitted.md.

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
    epsilon, delta = check_budget(epsilon, delta)
    read = reading(pipeline, domain, share=share)
    made: type[PrivateEstimator] = PrivateClassifier if domain.target is None else PrivateRegressor
    options: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "steps": read.steps, "ledger": ledger}
    if read.class_weight is not None:
        options["class_weight"] = read.class_weight
    if read.loss is not None:
        options["learner"] = _learner(read, epsilon, delta, domain.n if n is None else n)
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


def _learner(read: PipelineReading, epsilon: float, delta: float, n: int | None) -> Learner:
    """The recipe's descent with another loss."""
    if n is None:
        raise ValueError(
            "n, the number of records, must be declared for this estimator: give n, or Domain(..., n=...)"
        )
    _, learner = recipe(read.domain.with_n(n), n=n, epsilon=epsilon, delta=delta, steps=read.steps)
    try:
        return replace(learner, loss=read.loss)  # type: ignore[type-var]
    except ValueError:  # the recipe's learner has a loss of its own
        return GradientDescent(read.loss, steps=100, learning_rate=0.5, clip_norm=0.25)


def _with_gaps_if_taken(pipeline: Any, domain: Domain, payment: Sketch | None) -> tuple[Fitted, Domain]:
    """The step, and the domain with gaps where the pipeline takes them: its own rule for gaps then holds, not the midpoint."""
    kept = {
        name: replace(column, missing="impute") if isinstance(column, Numeric) else column
        for name, column in domain.columns.items()
    }
    if domain.is_ball:
        raise ValueError("a pipeline needs declared columns: Domain(...) or Domain.box")
    with_gaps = replace(domain, columns=kept)
    try:
        return Fitted.of(pipeline, with_gaps, payment, encoded=True), with_gaps
    except ValueError:
        return Fitted.of(pipeline, domain, payment, encoded=True), domain


def _nearest(domain: Domain) -> str:
    return (
        "prepriv.PrivateClassifier(domain)" if domain.target is None else "prepriv.PrivateRegressor(domain)"
    )


def _estimator(last: Any, domain: Domain) -> tuple[Any, Any, tuple[str, ...]]:
    """(loss, class_weight, how it differs) of the estimator at the end. Every parameter is read, or refused."""
    name = type(last).__name__
    numbers = domain.target is not None
    open_here = REGRESSORS if numbers else CLASSIFIERS
    if name not in open_here:
        curves = f'{_nearest(domain)[:-1]}, steps="additive")'
        other = CLASSIFIERS if numbers else REGRESSORS
        why = (
            f"the domain declares {'a number' if numbers else 'classes'} to be learned"
            if name in other
            else "it has no private learner here"
        )
        if name.endswith("CV") and name[:-2] in open_here:
            raise ValueError(f"{name} chooses its settings by the records: take {name[:-2]}")
        raise ValueError(
            f"{name}: {why}. Taken are {', '.join(open_here)}. Nearest to trees and boosting is {curves}, a function of each column; the "
            f"default is {_nearest(domain)}"
        )
    class_path(type(last))  # that class exactly
    params, defaults = last.get_params(deep=False), type(last)().get_params(deep=False)
    class_weight = params.pop("class_weight", None)
    loss, says = _loss_of(name, params)
    if class_weight is not None:
        says += ("class_weight weighs predicted probabilities, not the rows of the training",)
    for key, value in sorted(params.items()):
        if key in _SOLVING or key == "loss" or _same(value, defaults[key]):
            continue
        raise ValueError(
            f"{name}({key}={value!r}): private descent has no such setting, as its noise and its few steps already keep weights small; "
            "leave it at its default"
        )
    return loss, class_weight, says


def _same(one: Any, two: Any) -> bool:
    return type(one) is type(two) and bool(one == two)


def _loss_of(name: str, params: dict[str, Any]) -> tuple[Any, tuple[str, ...]]:
    steps = "is found by noisy gradient steps, few and early to end, in place of a solver and its penalty"
    if name == "SGDClassifier":
        if params["loss"] not in _LOSSES:
            raise ValueError(
                f"SGDClassifier(loss={params['loss']!r}) has no private learner here; take one of {', '.join(_LOSSES)}"
            )
        return _LOSSES[params["loss"]], (f"SGDClassifier {steps}",)
    if name == "LinearSVC":
        if params["loss"] not in _LOSSES:
            raise ValueError(f"LinearSVC(loss={params['loss']!r}) has no private learner here")
        return _LOSSES[params["loss"]], (f"LinearSVC {steps}",)
    if name == "RidgeClassifier":
        return None, (f"RidgeClassifier {steps}, and minimises logistic loss, not squares of labels",)
    if name == "HuberRegressor":
        return Huber(), (
            f"HuberRegressor {steps}; where its loss turns straight is {Huber().width:g} of half the declared range of the target",
        )
    if name in ("LinearRegression", "Ridge"):
        return None, (
            f"{name} is found from noisy second moments, or by noisy gradient steps where those are too noisy",
        )
    return None, (f"LogisticRegression {steps}",)
