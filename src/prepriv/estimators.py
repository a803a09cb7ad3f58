"""`PrivateClassifier`: scikit-learn's conventions, with the whole pipeline under one guarantee."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import DataConversionWarning, NotFittedError

from prepriv._arguments import integer, number, shown
from prepriv._callers import callers_level
from prepriv._progress import progress_bar
from prepriv.adjacency import n_is_public
from prepriv.domain import Domain, ascending
from prepriv.engines.engine import Engine, Room
from prepriv.engines.local import Threads, memory_bytes
from prepriv.guarantees.drafts import with_drafts
from prepriv.guarantees.training_part import TrainingPart, training_on
from prepriv.learners.learner import Learner
from prepriv.mechanisms.session import Session
from prepriv.placed.checks import check_budget, check_domain, check_places
from prepriv.plans.decision import decision, warn_of_weights
from prepriv.plans.plan import Plan, make_plan
from prepriv.plans.priced import Priced
from prepriv.preprocessing.base import Step
from prepriv.recipes.automatic import recipe
from prepriv.recipes.step_rule import LearnerRule, StepRule
from prepriv.release.exact_score import exact_score
from prepriv.release.model import Model
from prepriv.release.report import Report
from prepriv.runs.admit import say_weak
from prepriv.runs.charge import LedgerSetting, check_ledger
from prepriv.runs.run import Trained, room_for
from prepriv.runs.train import train
from prepriv.tables.encoding import as_frame, check_stream, count_rows, label_of, with_source
from prepriv.tables.inspect import check_new_rows
from prepriv.tables.readers import BadData
from prepriv.tables.stream import Stream, as_stream
from prepriv.tables.units import check_units

if TYPE_CHECKING:
    from typing_extensions import Self

    from prepriv.evaluation.result import PrivateEvaluation
    from prepriv.release.coefficients import Coefficients

MOST_THREADS = 4096


class RowsOnDisk(UserWarning):
    """The rows of a fit are held in a temporary file: they are more than the memory they may take."""


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """What `PrivateClassifier` and `PrivateRegressor` have in common: the plan, the fit, and what may be released.

    Notes
    -----
    Use one of the two. Their pages list parameters and attributes.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.estimators import PrivateEstimator
    >>> issubclass(prepriv.PrivateClassifier, PrivateEstimator)
    True
    """

    domain: Domain | None
    epsilon: float
    delta: float
    steps: str | Sequence[Step | str] | StepRule
    learner: str | Learner | LearnerRule
    threads: int | None
    memory: int | str | None
    engine: Engine | None
    ledger = LedgerSetting()
    holdout: float | None = None
    evaluate_epsilon: float | None = None
    evaluate_measures: str | Sequence[str] | None = None
    evaluate_by: str | None = None
    evaluate_error_bound: float | None = None
    audit: int | None = None
    verbose: bool = False

    def _check_learned(self, domain: Domain) -> None:
        """ValueError unless the domain declares what this estimator learns."""
        raise NotImplementedError

    def _learned(self, domain: Domain) -> None:
        """Set the fitted attributes that say what was learned."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as scikit-learn does. If `private` made the estimator, also `steps__way`, `steps__share` and `steps__missing`."""
        own = {
            key.removeprefix("steps__"): params.pop(key) for key in list(params) if key.startswith("steps__")
        }
        if isinstance(self.steps, StepRule) and (
            inner := [
                key for key in params if "__" in key and key.partition("__")[0] not in self._get_param_names()
            ]
        ):
            raise ValueError(
                f"{inner[0]} is a setting of the pipeline that prepriv.private read: set it there, as in "
                f"private(pipeline.set_params({inner[0]}=...), domain), and compare such models with prepriv.choose, at one price. Strengths of a penalty, such as C, have nothing to compare: private training has none. Settings of this "
                f"model are {', '.join(f'steps__{k}' for k in self.steps.get_params())} and those of {type(self).__name__}"
            )
        late = [key for key in ("class_weight", "threshold") if key in params and hasattr(self, "model_")]
        super().set_params(**params)
        if late:
            warnings.warn(
                f"{late[0]} is read by fit: model_, its report and predict keep what was declared then. After a fit, compare predict_proba(X)[:, 1] "
                "with a threshold of your own, which is free, but any measured score is that of the old one",
                UserWarning,
                stacklevel=2,
            )
        if own:
            if not isinstance(self.steps, StepRule):
                raise ValueError(
                    f"steps__{next(iter(own))} is a setting of a pipeline that prepriv.private read; these steps are others"
                )
            self.steps = self.steps.with_params(**own)
        return self

    def plan(self, n: int | None = None) -> Plan:
        """Price and freeze the pipeline, without any data.

        Parameters
        ----------
        n : int, optional
            Number of records, or of units if the domain has a unit. None: the domain's.

        Returns
        -------
        Plan
            With a holdout, that of the part that is expected to train. `fit` warns of the same, whatever number its
            coins choose.

        Raises
        ------
        ValueError
            If no plan can be made, with a sentence that says what to change.
        """
        domain = self._domain()
        plan = self._plan(domain, n) if self.holdout is None else self._plan_of_part(domain, n, self.holdout)
        say_weak(plan.guarantee)
        return plan

    def _plan_of_part(self, domain: Domain, n: int | None, held: float) -> Plan:
        """Of those that a holdout is expected to leave for training."""
        n = integer("n", self._declared(domain, n))
        domain.check_n(n)
        part = TrainingPart(n, number("holdout", held, above=0.0, below=1.0))
        with training_on(part):
            return self._plan(replace(domain, n=None), part.trains)

    @staticmethod
    def _declared(domain: Domain, n: int | None) -> int:
        """The number of records or units. ValueError if it is not known."""
        n = domain.n if n is None else n
        if n is None and domain.unit is not None:
            raise ValueError(
                f"n must be declared in the domain: how many {domain.unit!r} there are, not rows. Splitters of scikit-learn cut rows or balance groups "
                "by their sizes, which are private: holdout= sets units aside, and choose() compares"
            )
        if n is None:
            raise ValueError("n, the number of records, must be declared in the domain or given to plan(n)")
        return n

    def _plan(self, domain: Domain, n: int | None) -> Plan:
        epsilon, delta = check_budget(self.epsilon, self.delta)
        n = self._declared(domain, n)
        steps, learner = recipe(
            domain, n=n, epsilon=epsilon, delta=delta, steps=self.steps, learner=self.learner
        )
        more, weights = self._decision(domain)
        plan = make_plan(domain, (*steps, *more), learner, epsilon=epsilon, delta=delta, n=n)
        if more or weights:
            warn_of_weights(plan)
        return replace(plan, class_weight=weights) if weights else plan

    def _decision(self, domain: Domain) -> tuple[tuple[Step, ...], tuple[float, ...]]:
        """Steps that count classes, and declared weights of classes in predictions."""
        return (), ()

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Train on private rows.

        Parameters
        ----------
        X : array, table or stream, (n, columns)
            The rows: a matrix, or a pandas, polars or Arrow table with the domain's columns. Or a stream, which is
            held in memory only in part: a path or glob of Parquet or CSV files, an Arrow dataset or reader, a polars
            LazyFrame (not of scan_csv or scan_ndjson), a Dask DataFrame, a DuckDB relation, an ibis expression, a `prepriv.Query`, a function that
            returns a fresh reader, or any object with `__arrow_c_stream__`.
        y : array or str, (n,)
            The labels. For a stream, the name of its label column. None: the column that the domain names as its
            label, of a stream or of a table.
        **params
            Not accepted.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            For sample_weight and any other parameter, with the reason.
        ValueError
            For what is wrong with the settings or the form of X and y. Nothing is charged.
        LedgerError
            Where the ledger grants no charge. No record is read. A charge that was made stays, whatever happens after
            it.

        Notes
        -----
        A record whose label is not a declared class counts as nothing, and no record can abort the run. Do not drop
        rows because of what they hold (`dropna`), since the number of rows is public. Before the first fit, look at
        `prepriv.validate(domain, X, y)` yourself. If no label is a declared class, the model is trained on noise
        alone. No fit may look at labels to say so. A `NoiseAlone` warning says that the released sums look like that,
        or that a regression answers one number for every row because the noise is as large as its slopes.
        Some tools of scikit-learn encode labels as 0 to K - 1 before they fit, as `cross_val_predict` does for probabilities. Where the
        classes are 1 and 2, the code 1 is then read as class 1 and the code 0 is not a class. Nothing warns, because a fit
        cannot see who calls it. Declare 0 to K - 1 for such tools (docs/scikit-learn.md, Tools that encode y).
        """
        if isinstance(y, str) and as_stream(X) is None and y in list(getattr(X, "columns", ())):
            raise BadData(
                f"y is the column of labels itself here, not its name: fit(table.drop(columns={y!r}), table[{y!r}])"
            )
        for name in params:
            raise TypeError(
                f"fit does not take {name}"
                + (
                    ": a weight would let one record count for more than one, which the guarantee does not cover. class_weight of the estimator "
                    "weighs predictions"
                    if name == "sample_weight"
                    else ""
                )
            )
        domain = self._domain()
        if self.threads is not None and not (type(self.threads) is int and self.threads > 0):
            raise ValueError(f"threads must be None or a whole number above 0; got {shown(self.threads)}")
        if self.threads is not None and self.threads > MOST_THREADS:
            raise ValueError(f"threads must be at most {MOST_THREADS}; got {shown(self.threads)}")
        check_ledger(self.ledger)
        self._engine()
        stream = as_stream(X)
        domain = with_source(domain, stream)
        if stream is None:
            y = self._label_apart(X, y)
        if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected.",
                DataConversionWarning,
                stacklevel=2,
            )
        n = count_rows(X, y, domain) if stream is None else self._count(stream, y, domain)
        if domain.unit is not None:
            check_units(X, domain)
            n = self._declared(domain, None)
        if n == 0 and n_is_public(domain.adjacency):  # elsewhere the true count is private
            raise BadData("the table is empty: 0 sample(s); at least one row is needed")
        names = getattr(X, "columns", None) if stream is None else stream.names
        if self.holdout is not None:
            return self._fit_with_holdout(X if stream is None else stream, y, domain, n, names)
        for name in ("evaluate_epsilon", "evaluate_measures", "evaluate_by", "evaluate_error_bound"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} changes what holdout= measures: give both")
        plan = self._plan(domain, n if n_is_public(domain.adjacency) else None)
        room = self._room(plan)
        with progress_bar(shown=self.verbose) as progress:
            trained = train(
                plan,
                X if stream is None else stream,
                y,
                ledger=self.ledger,
                session=self._session(plan),
                room=room,
                progress=progress,
                audit=self.audit,
            )
        if hasattr(self, "evaluation_"):
            del self.evaluation_
        return self._released(trained, None, names)

    def _fit_with_holdout(self, X: Any, y: Any, domain: Domain, n: int, names: Any) -> Self:
        from prepriv.evaluation.expected import hardly_measured
        from prepriv.evaluation.holdout import Holdout, plan_holdout, train_and_evaluate

        if not n_is_public(domain.adjacency):
            if domain.n is None:
                raise ValueError("n, the number of records, must be declared in the domain for a holdout")
            n = domain.n
        domain.check_n(n)
        holdout = Holdout(
            self.holdout or 0.0,
            self.evaluate_epsilon,
            self.evaluate_measures,
            self.evaluate_by,
            self.evaluate_error_bound,
        )
        whole = replace(domain, n=None)  # each part has a number of its own
        plan = plan_holdout(holdout, lambda rows: self._plan(whole, rows), n, whole)
        if why := hardly_measured(plan.evaluation):  # before the charge
            warnings.warn(f"the holdout: {why}", UserWarning, stacklevel=callers_level())
        session, room = self._session(plan), self._room(plan.training)
        with progress_bar(shown=self.verbose) as progress:
            trained, made = train_and_evaluate(
                plan,
                X,
                y,
                ledger=self.ledger,
                session=session,
                room=room,
                progress=progress,
                audit=self.audit,
            )
        self.evaluation_ = made
        return self._released(trained, made, names)

    def _engine(self) -> Engine:
        """Where rows live. ValueError for settings that are none."""
        memory_bytes(self.memory)
        if self.engine is None:
            return Threads(self.threads, self.memory)
        if not callable(getattr(self.engine, "room", None)):
            raise ValueError(
                f"engine must be None or one of prepriv.engines, such as Threads(); got {shown(self.engine)}"
            )
        if self.threads is not None or self.memory is not None:
            raise ValueError("threads and memory are settings of the engine: give them to it")
        return self.engine

    def _room(self, plan: Plan) -> Room:
        room = room_for(plan, self._engine())
        if room.note is not None:
            warnings.warn(room.note, RowsOnDisk, stacklevel=3)
        return room

    def _released(self, trained: Trained, made: PrivateEvaluation | None, names: Any) -> Self:
        plan, domain = trained.plan, self._domain()
        self.plan_ = plan
        self.model_ = Model.of(trained)
        if made is not None or trained.audited is not None:
            from prepriv.evaluation.found_hashes import found_note

            self.model_ = replace(self.model_, found=found_note(made, trained.audited))
        from prepriv.release.advice import warn_of_noise

        warn_of_noise(self.model_, None if made is None else made.quality)
        self.report_ = Report.of(
            plan,
            private=trained.private,
            receipt=trained.receipt,
            measured=made,
            model=self.model_,
            audited=trained.audited,
        )
        part = (plan.guarantee if made is None else made.whole) if trained.private else None
        self.guarantee_ = with_drafts(part, plan.domain, plan.delta, plan.n)
        self._learned(domain)
        self.n_features_in_ = domain.n_inputs
        if names is not None and all(isinstance(c, str) for c in names):
            # The declared ones in the declared order: one odd record can add a column to a frame, or turn its order.
            used = domain.columns if all(c in names for c in domain.columns) and not domain.is_ball else names
            self.feature_names_in_ = np.asarray(list(used), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _count(self, stream: Stream, label: Any, domain: Domain) -> int:
        """The rows of a stream, if they are public: nobody reads a cell to count them where a ledger is charged first."""
        check_stream(stream, domain, label_of(label, domain))
        n = domain.n if stream.rows is None else stream.rows
        if domain.unit is not None:
            return 1 if domain.n is None else domain.n  # of units, and never read off
        if n is None and n_is_public(domain.adjacency) and (stream.once or self.ledger is not None):
            raise BadData(
                "the number of rows of this stream is known only after it is read: declare n in the domain"
            )
        return stream.count() if n is None and n_is_public(domain.adjacency) else n or 0

    def _session(self, plan: Priced) -> Session | None:
        """Where noise comes from; None: the operating system (for tests to replace)."""
        return None

    def _domain(self) -> Domain:
        if self.domain is None:
            raise ValueError(
                "domain must be declared: bounds and classes are never inferred from private data"
            )
        check_domain(self.domain, trained=True)
        self._check_learned(self.domain)
        return self.domain

    def _fitted_for(self, X: Any) -> Model:
        """The model; refuses a frame whose columns would be taken by position and are not those of the fit."""
        model = self._fitted()
        check_places(model.domain, getattr(self, "feature_names_in_", None), X)
        return model

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first.")
        return self.model_

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label, or the numeric target, of new rows.

        Parameters
        ----------
        X : array, table or stream, (n, columns)
            As for `fit`.

        Returns
        -------
        array, (n,)
            One declared class per row, or a number between the declared bounds.

        Raises
        ------
        ValueError
            Where X does not have the declared or fitted form: rows of another length, other names, another order of
            columns without declared names, or a numeric column without a single number.
        """
        return self._fitted_for(X).predict(X)

    def evaluate(
        self,
        X: Any,
        y: Any,
        epsilon: float = 0.1,
        *,
        delta: float | None = None,
        ledger: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> PrivateEvaluation:
        """Measure the model on private rows that it was not trained on. This has a price of its own.

        Parameters
        ----------
        X : array, table or stream, (n, columns)
            As for `fit`.
        y : array or str, (n,)
            As for `fit`.
        epsilon : float, default 0.1
            The ε that the measurement costs these rows.
        delta : float, optional
            None: that of training.
        ledger : path or URL, optional
            None: that of the estimator.
        **options
            `measures`, `bins`, `error_bound`, `by`, `groups`, `class_weight` and `n` of
            `prepriv.evaluation.evaluation_plan.plan_evaluation`. by: a categorical column, whose groups are measured
            one by one. n: the declared number of these rows or units. It is needed for units, under
            add-or-remove-one, where the true number is private, and for a stream that does not state it.
            class_weight: declared weights of the classes in the predictions that are measured, in place of the model's.

        Returns
        -------
        PrivateEvaluation
            The measures with intervals, and the guarantee of this measurement.

        Raises
        ------
        ValueError
            For what is wrong with the settings or the form of X and y. Nothing is charged.
        LedgerError
            Where the ledger grants no charge. No record is read.

        Notes
        -----
        Rows that the model was trained on are paid for twice. A UserWarning is given if there are as many rows as in
        training. Proof: docs/proofs/evaluation.md.
        """
        model = self._fitted()
        if as_stream(X) is None:
            y = self._label_apart(X, y)
        from prepriv.evaluation.evaluate import measure_model

        return measure_model(
            model,
            X,
            y,
            epsilon=epsilon,
            delta=self.delta if delta is None else delta,
            ledger=self.ledger if ledger is None else ledger,
            session=self._session,
            **options,
        )

    def _score(self, X: Any, y: Any, weights: Any) -> float:
        """The exact score on the rows that have a label."""
        return exact_score(self._fitted().domain, self.predict, X, self._label_apart(X, y), weights)

    def _label_apart(self, X: Any, y: Any) -> Any:
        """y; for None, the column of a table that the domain names as its label. ValueError for a table without it."""
        if y is not None:
            return y
        name = getattr(self.domain, "label", None)
        if isinstance(name, str) and name in list(getattr(X, "columns", ())):
            return as_frame(X)[name].to_native()
        raise ValueError(
            f"{type(self).__name__} requires y to be passed, but the target y is None"
            + ("" if name is None else f", and X is not a table with the domain's label, {name!r}")
        )

    @property
    def coef_(self) -> NDArray[np.float64]:
        """How much the score of a row grows when a column grows by one unit.

        Shape (1, d) for two classes, otherwise (classes, d) in the order of classes_.
        `coefficients_` says which rows are meant: raw rows if every step is affine column by column, otherwise the rows
        after the steps named there. Where steps cut rows or cells at bounds, weights are for those that they leave as they are. AttributeError if no weight belongs to one column alone.
        """
        return np.asarray(self._outputs(self._coefficients().weights).T)

    @property
    def intercept_(self) -> Any:
        """The constants of the scores, (1,) or (classes,), for the same rows as `coef_`."""
        return self._outputs(self._coefficients().bias)

    @property
    def coefficients_(self) -> Coefficients:
        """`coef_` and `intercept_` with the names of columns and classes, and the steps after which they apply.

        weights: (d, K), with columns in the order of `classes`. For two classes that is classes_[1] alone, for more
        it is classes_, and for a target it is empty. bias: (K,), of `intercept_`. "(constant)" is a feature that a step set to
        the same number in every row. A score contains its weight times that number, in addition to the bias.
        names: None where every feature is of several columns, as after PCA; `unnamed` says why. Beside other columns such a feature is
        "(several columns)" with a number, and products of PolynomialFeatures have names as a^2 and a*b.
        "(always 0)" with a number is 0 in every row, as the place of a category that `drop=` left out; it is not printed.
        noise: the standard deviation of the noise of training in each weight, (d,), in the units of `coef_`; None if the
        learner has no law for it, and nan of "(constant)". What scales or a sketch learned has other noise: `learned` names them where weights
        are in units that they learned. `cut` names the steps that cut rows or cells at bounds, `scaled` one that multiplies each row by
        one number afterwards. Printed, those that stand out of twice their noise come first.
        centred: whether weights compare with 0. If not, weights hold a part of the intercept, and `not_with_zero` says how to read them.
        at_most: the most noise that a weight has, however columns go together; None where `noise` is that.
        shared: whether weights of categories are about an average record (`prepriv.release.coefficients.Coefficients`). perhaps_empty: the categories that
        perhaps no record has, by their released share, (d,); they are never listed first.
        """
        found = self._coefficients()
        names = tuple(getattr(self, "classes_", np.zeros(0)).tolist())
        weights = self._outputs(found.weights)
        apart = (
            weights.shape[-1] < found.weights.shape[-1]
        )  # the difference of two columns, each with noise of its own
        return replace(
            found,
            weights=weights,
            noise=None if found.noise is None else found.noise * (math.sqrt(2.0) if apart else 1.0),
            at_most=None if found.at_most is None else found.at_most * (math.sqrt(2.0) if apart else 1.0),
            bias=self._outputs(found.bias),
            classes=names[1:] if len(names) == 2 else names,
        )

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Not available. The AttributeError gives the reason and says what there is instead."""
        raise AttributeError(
            "an importance of columns is computed from rows, and no guarantee covers it: read coef_ and coefficients_ of steps='linear' "
            "or model_.shapes() of steps='additive', which were paid for, or pay for an evaluation of each column (docs/scikit-learn.md)"
        )

    @property
    def save(self) -> Any:
        """Not available. The AttributeError names what is saved."""
        raise AttributeError("the released model is saved, with its claim: estimator.model_.save(folder)")

    @property
    def to_sklearn(self) -> Any:
        """Not available. The AttributeError names what is exported."""
        raise AttributeError("the released model is exported: estimator.model_.to_sklearn()")

    @property
    def named_steps(self) -> Any:
        """Not available. The AttributeError names where the steps are."""
        raise AttributeError(
            "the steps and what each costs are in plan(n).steps before a fit and in plan_.steps after it; "
            "prepriv.private_pipeline.reading(pipeline, domain) says what becomes of each part of a pipeline"
        )

    @property
    def get_feature_names_out(self) -> Any:
        """Not available. The AttributeError names where the features are."""
        raise AttributeError(
            "a trained model has no output features: the names of its weights are coefficients_.names, and model_.to_sklearn() is a "
            "pipeline of scikit-learn"
        )

    @property
    def set_output(self) -> Any:
        """Not available. The AttributeError says what predict gives."""
        raise AttributeError(
            "a trained model has no output features to name: predict and predict_proba give arrays, whose columns are classes_"
        )

    @property
    def partial_fit(self) -> Any:
        """Not available. The AttributeError names what reads parts."""
        raise AttributeError(
            "each fit is a release of its own, which is paid for: fit reads a folder or a stream part by part, and costs its epsilon once"
        )

    @property
    def to_onnx(self) -> Any:
        """Not available. The AttributeError names what is exported."""
        raise AttributeError("the released model is exported: estimator.model_.to_onnx()")

    def _coefficients(self) -> Coefficients:
        from prepriv.release.coefficients import coefficients

        try:
            return coefficients(self._fitted())
        except ValueError as error:  # no such attribute, as elsewhere in scikit-learn
            raise AttributeError(str(error)) from None

    def _outputs(self, last: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores' part of a number for each column of the weights, (..., K)."""
        return last

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = (
            math.isfinite(self.epsilon) if isinstance(self.epsilon, int | float) else True
        )
        tags.input_tags.allow_nan = True
        return tags


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A linear classifier trained with differential privacy, pre-processing included.

    Parameters
    ----------
    domain : Domain
        What is public about the data: columns with bounds and categories, classes, adjacency, n. It is declared,
        never inferred. `fit` refuses to run without it.
    epsilon : float, default 1.0
        The privacy budget, positive. math.inf trains without privacy: no noise, no clipping, no claim.
    delta : float, default 1e-5
        In (0, 1), well below 1 / n.
    steps : str or list of steps, default "auto"
        Pre-processing, each step with its payment (`prepriv.preprocessing`). "auto" is the recipe. "linear" is the
        recipe without random features, with one weight per column. "additive" learns a function of each column
        (docs/additive.md). "auto-0.2", "linear-0.2" and "additive-0.2" are the recipes of version 0.2
        (docs/recipe.md). "dpsgd-f", "dpsgd-f-modified" and "dpsgd" are described in docs/dpsgd-f.md. A list may hold
        free and public steps and end in such a name, which is then the recipe for the rows after them:
        [Encode("encoder.onnx"), "auto"]. Public unlabelled rows before the name say in which directions to learn:
        [Public(rows), "auto"] (docs/pillar.md).
    learner : "auto", "fast" or learner, default "auto"
        "auto" sets steps, learning rate and clip from (n, d, classes, epsilon, delta) alone. "fast" takes fewer
        passes over the rows also where "auto" keeps 100 or more, because that was not measured: for texts, rows in a
        ball, persons, and steps of your own (docs/recipe.md). Otherwise a learner of `prepriv.learners`.
    threads : int, optional
        Number of threads of the gradient sum. The result does not depend on it. None: one per core.
    memory : int or str, optional
        Memory for the rows, as integers and as an encoded table: a number of bytes, or a text such as "2GB". None:
        half of what is free. Rows that need more go to a nameless file on disk (`prepriv.engines.Threads`), and a
        RowsOnDisk warning says so. The result does not depend on it.
    engine : engine, optional
        An engine of `prepriv.engines`: where the rows are held as integers, and what adds them up. None:
        `Threads(threads, memory)` in this process. The result does not depend on it (docs/large.md).
    ledger : path or URL, optional
        A ledger (`prepriv.ledger`): a file or postgresql://... Each `fit` is charged to it before a record is read.
        If the cap does not allow the charge, `fit` raises BudgetExceeded. Clones keep the ledger, even in other
        processes. None: no cap holds.
    holdout : float, optional
        Share of the records, in (0, 1), that is set aside at random to measure the model on. Training and measurement
        are one charge, of the larger of both prices and not of their sum (docs/evaluate.md). None: all records are
        trained on.
    evaluate_epsilon : float, optional
        The ε of that measurement, on the records set aside. None: the same as training, at no extra cost.
    evaluate_measures : str or list of str, optional
        What is measured, as `measures` of `prepriv.evaluation.evaluation_plan.plan_evaluation`. None: everything
        except residuals, which have to be named.
    evaluate_by : str, optional
        A declared categorical column. Everything is also measured for each of its groups, and so is how the groups
        differ.
    audit : int, optional
        Number of canaries, such as 10,000, with which the training audits itself. Canaries are made-up rows in
        coordinates that no record has, and they do not change the claim. What they show is in `report_`. If the run
        was not as planned, AuditFailed is raised and nothing is released (docs/self-audit.md). None: no audit.
    verbose : bool, default False
        Show a progress bar on standard error during training. It shows steps of the plan, never times or anything
        about the data.
    class_weight : mapping or "balanced", optional
        Weights of the classes in predictions. Declared weights are free. "balanced" is 1 divided by the noisy count
        of the class, for 1 % of the budget. Training and `predict_proba` do not change (docs/imbalance.md). None: all
        classes weigh the same.
    threshold : float, optional
        For two classes, in (0, 1): `predict` gives classes_[1], the second in ascending order, if its probability is
        above this threshold. It is declared before `fit` and free. None: the likelier class.

    Attributes
    ----------
    classes_ : array, (classes,)
        The declared classes in ascending order, on which metrics and ensembles rely. `model_` and whatever is exported from it
        have the same order.
    n_features_in_ : int
        Number of declared columns.
    feature_names_in_ : array of str, (n_features_in_,)
        The declared names, if the rows that were fitted had names.
    plan_ : Plan
        What was done.
    guarantee_ : Guarantee or None
        What is claimed for this one fit, with the measurement on a holdout and the private draft of the domain
        (`Domain.draft`), if there were any. None without privacy.
    model_ : Model
        The released model. Its `receipt` is that of the charge.
    report_ : Report
        What a reader of the model needs to know.
    evaluation_ : PrivateEvaluation
        With a holdout, what was measured.

    See Also
    --------
    PrivateRegressor : The same for a numeric target.
    choose : The best of several, at one price.

    Notes
    -----
    Inside scikit-learn (docs/scikit-learn.md), every fit of a search, a cross-validation or a calibration spends
    again. `prepriv.spent()` adds up the fits of this process. With `ledger=` a cap holds for all of them. Then give
    the search `error_score="raise"`. Otherwise it goes on after a fit that is refused, which reads no data. Both sums
    hold only if no record decides which rows a fit reads. Under replace-one, give `cv=KFold(5)`, because `cv=5` is
    StratifiedKFold, which looks at all labels. No claim covers what such tools compute from private rows themselves:
    scores, the best parameters, a calibration. Nor does it cover anything that was fitted on the same rows before,
    such as a StandardScaler in front, which cannot be seen from here. Give it as `steps=` instead. `prepriv.account`
    computes what it cost.

    References
    ----------
    docs/proofs/whole.md: why the guarantee holds for the whole pipeline.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 500, axis=0); y = np.repeat([0, 1], 500)
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1])
    >>> clf = prepriv.PrivateClassifier(domain, epsilon=1.0, delta=1e-5).fit(X, y)
    >>> # These rows are made up. Never publish a score on the private rows: no guarantee covers it.
    >>> bool(clf.guarantee_.epsilon(1e-5) <= 1.0), float(clf.score(X, y))
    (True, 1.0)
    """

    def __init__(
        self,
        domain: Domain | None = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        steps: str | Sequence[Step | str] = "auto",
        learner: str | Learner = "auto",
        threads: int | None = None,
        memory: int | str | None = None,
        engine: Engine | None = None,
        ledger: str | os.PathLike[str] | None = None,
        holdout: float | None = None,
        evaluate_epsilon: float | None = None,
        evaluate_measures: str | Sequence[str] | None = None,
        evaluate_by: str | None = None,
        audit: int | None = None,
        verbose: bool = False,
        class_weight: str | Mapping[Any, float] | None = None,
        threshold: float | None = None,
    ) -> None:
        self.domain = domain
        self.epsilon = epsilon
        self.delta = delta
        self.steps = steps
        self.learner = learner
        self.threads = threads
        self.memory = memory
        self.engine = engine
        self.ledger = ledger
        self.holdout = holdout
        self.evaluate_epsilon = evaluate_epsilon
        self.evaluate_measures = evaluate_measures
        self.evaluate_by = evaluate_by
        self.audit = audit
        self.verbose = verbose
        self.class_weight = class_weight
        self.threshold = threshold

    def _check_learned(self, domain: Domain) -> None:
        if domain.target is not None:
            raise ValueError("domain declares a target to predict as a number: use PrivateRegressor")
        if not domain.classes:
            raise ValueError("domain declares nothing to learn: classes must name at least two label values")

    def _decision(self, domain: Domain) -> tuple[tuple[Step, ...], tuple[float, ...]]:
        return decision(domain, self.class_weight, self.threshold)

    def _learned(self, domain: Domain) -> None:
        self.classes_ = domain.labels[ascending(domain.classes)]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score new rows.

        Parameters
        ----------
        X : array, table or stream, (n, columns)
            As for `fit`.

        Returns
        -------
        array, (n,) for two classes, else (n, classes)
            The scores. For two classes, a positive score means the second of classes_.

        Notes
        -----
        Scores order rows as probabilities do, and the class with the largest score is predicted, unless class_weight
        or threshold is set. Scores are not log odds, because training clips gradients
        (docs/proofs/calibrated_probabilities.md). `predict_proba` corrects for that.
        """
        model = self._fitted_for(X)
        check_new_rows(X, model.domain)
        scores, order = model.scores(X), self._order()
        if len(order) > 2:
            return scores[:, order]
        margin = scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]
        return margin if order == [0, 1] else -margin

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities, which are calibrated for the losses Logistic and Softmax.

        Parameters
        ----------
        X : array, table or stream, (n, columns)
            As for `fit`.

        Returns
        -------
        array, (n, classes)
            The probabilities, in the order of classes_. `predict` gives the class with the largest one, after
            `class_weight` or `threshold`.
        """
        return self._fitted_for(X).predict_proba(X)[:, self._order()]

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array, table or stream, (n, columns)
            As for `fit`.

        Returns
        -------
        array, (n, classes)
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the exact accuracy on the rows whose label is a declared class.

        Parameters
        ----------
        X : array or table, (n, columns)
            As for `fit`, in memory.
        y : array, (n,)
            The labels. Rows whose label is missing or is not a declared class are left out, as `evaluate` does.
        sample_weight : array, (n,), optional
            Weights of the rows. None: all weigh the same.

        Returns
        -------
        float
            The share of these rows that are predicted correctly. NaN, with a warning, if there are none.

        Notes
        -----
        It is not private: no account covers an exact score on private rows. `evaluate` measures with noise.
        """
        return self._score(X, y, sample_weight)

    def _outputs(self, last: NDArray[np.float64]) -> NDArray[np.float64]:
        order = self._order()
        if len(order) > 2:
            return last[..., order]
        margin = last[..., -1:] - (0.0 if last.shape[-1] == 1 else last[..., :1])
        return margin if order == [0, 1] else -margin

    def _order(self) -> list[int]:
        """Where the classes_ stand among the declared ones."""
        return ascending(self.model_.domain.classes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
