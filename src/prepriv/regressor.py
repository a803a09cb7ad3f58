"""`PrivateRegressor`: a number predicted with differential privacy, by scikit-learn's conventions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from prepriv._callers import callers_level
from prepriv.domain import Domain
from prepriv.engines.engine import Engine
from prepriv.estimators import PrivateEstimator
from prepriv.evaluation.error_band import BAND_LEVEL, error_band
from prepriv.evaluation.evaluation_plan import model_hash
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.learners.learner import Learner
from prepriv.preprocessing.base import Step


def _say_bounds(least: NDArray[np.bool_], most: NDArray[np.bool_]) -> None:
    """Warn about intervals most of which end at a declared bound. The caller gets the intervals, too."""
    cure = "A lower level, more measured rows or a larger epsilon make intervals shorter"
    if not len(least):
        return
    if np.mean(least & most) > 0.5:
        warnings.warn(
            f"most of these intervals are the whole declared range, so they say nothing. {cure}",
            UserWarning,
            stacklevel=callers_level(),
        )
    elif max(np.mean(least), np.mean(most)) > 0.5:
        side = "lower" if np.mean(least) > np.mean(most) else "upper"
        warnings.warn(
            f"the {side} end of most of these intervals is a declared bound, so only the other one says something. {cure}",
            UserWarning,
            stacklevel=callers_level(),
        )


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """A regression model of a target with declared bounds, trained with differential privacy, pre-processing included.

    Parameters
    ----------
    domain : Domain
        What is public about the data, with `target=Numeric(low, high)` in place of classes. A target outside the
        bounds is clamped to them. A record whose target is not a number counts as nothing. `Numeric(low, high,
        log=True)` learns the logarithm of the target.
    epsilon : float, default 1.0
        The privacy budget, positive. math.inf trains without privacy.
    delta : float, default 1e-5
        In (0, 1), well below 1 / n.
    steps : "auto" or list of steps, default "auto"
        Pre-processing, each step with its payment. "auto" is the recipe (docs/regression.md), a linear model.
        "curves" adds curves if there is enough signal for them. "additive" learns a function of each column.
    learner : "auto" or learner, default "auto"
        "auto" is `SufficientStatistics` or `GradientDescent`, chosen by (n, d, epsilon, delta) alone. Any learner
        with the loss `SquaredError` or `Huber` is possible.
    threads, memory, engine, ledger, holdout, evaluate_epsilon, evaluate_measures, evaluate_by, audit, verbose
        As for `PrivateClassifier`, with the same defaults.
    evaluate_error_bound : float, optional
        The largest error that counts in that measurement, in the unit of the target. Larger ones are cut to it. None: a
        quarter of the distance of the bounds.

    Attributes
    ----------
    plan_ : Plan
        What was done.
    guarantee_ : Guarantee or None
        As for `PrivateClassifier`; None without privacy.
    model_ : Model
        What may leave.
    report_ : Report
        What a reader of the model needs to know.
    evaluation_ : PrivateEvaluation
        With a holdout, what was measured.
    n_features_in_, feature_names_in_
        As for `PrivateClassifier`.

    See Also
    --------
    PrivateClassifier : The same for classes. Its notes on scikit-learn hold here, too.

    References
    ----------
    docs/proofs/regression.md

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> X = np.linspace(0, 1, 4000)[:, None]
    >>> domain = prepriv.Domain.box(0, 1, features=1, target=prepriv.Numeric(-2, 4))
    >>> reg = prepriv.PrivateRegressor(domain, epsilon=1.0, delta=1e-5).fit(X, 3 * X[:, 0] - 1)
    >>> # These rows are made up. Never publish a score on the private rows: no guarantee covers it.
    >>> bool(reg.guarantee_.epsilon(1e-5) <= 1.0), bool(reg.score(X, 3 * X[:, 0] - 1) > 0.95)
    (True, True)
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
        evaluate_error_bound: float | None = None,
        audit: int | None = None,
        verbose: bool = False,
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
        self.evaluate_error_bound = evaluate_error_bound
        self.audit = audit
        self.verbose = verbose

    @property
    def coef_(self) -> NDArray[np.float64]:
        """How much the score of a row grows when a column grows by one unit, (d,), as of scikit-learn's regressions.

        The score lies between -1 and 1, the declared bounds of the target. Times half their distance, a weight is in the units of the
        target. `coefficients_` says which rows are meant. AttributeError if no weight belongs to one column alone.
        """
        return np.asarray(super().coef_[0])

    @property
    def intercept_(self) -> float:
        """The constant of the score, for the same rows as `coef_`."""
        return float(super().intercept_[0])

    def predict_interval(
        self, X: Any, level: float = BAND_LEVEL, *, evaluation: PrivateEvaluation | None = None
    ) -> NDArray[np.float64]:
        """Predict intervals that contain the targets of new rows.

        Parameters
        ----------
        X : array, table or stream, (n, columns)
            As for `fit`.
        level : float, default 0.9
            In (0, 1): the share of new rows whose target lies in its interval.
        evaluation : PrivateEvaluation, optional
            An evaluation of this model with the measure "residuals" (`evaluate`). None: `evaluation_`, that of the
            holdout.

        Returns
        -------
        array, (n, 2)
            The ends of each interval, within the declared bounds of the target.

        Raises
        ------
        ValueError
            If errors were not counted by size, for an evaluation of another model, and if the counts do not tell both
            ends of such an interval from the declared bounds.

        Notes
        -----
        It is free: a function of noisy counts that were paid for already. All intervals are equally wide, as wide as
        the errors on the measured rows were, on either side. With probability 95 % over the noise and those rows,
        they contain at least the share `level` of the targets in the same population. Proof:
        docs/proofs/evaluation.md. A warning says where most of them end at a declared bound, on one side or on both.
        """
        if isinstance(level, PrivateEvaluation):
            raise ValueError("an evaluation is given by name: predict_interval(X, evaluation=...)")
        model, made = self._fitted(), getattr(self, "evaluation_", None) if evaluation is None else evaluation
        if not isinstance(made, PrivateEvaluation):
            raise ValueError(
                'an interval needs errors that were measured on other rows: fit with holdout= and evaluate_measures=("r2", "residuals"), '
                "or give evaluation=reg.evaluate(X, y, measures=...)"
            )
        # that of the holdout names no model: it was planned before the fit
        of_holdout = made is getattr(self, "evaluation_", None)
        if not of_holdout and made.plan.model != model_hash(model):
            raise ValueError("evaluation: it did not measure this model")
        low, high = error_band(made, level)
        target, at = model.domain.target, self.predict(X)
        assert target is not None
        ends = np.clip(np.column_stack([at + low, at + high]), target.low, target.high)
        _say_bounds(ends[:, 0] <= target.low, ends[:, 1] >= target.high)
        return ends

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the exact R² on the rows whose target is a number.

        Parameters
        ----------
        X : array or table, (n, columns)
            As for `fit`, in memory.
        y : array, (n,)
            The targets. Rows whose target is missing or is not a number are left out, as `evaluate` does. Targets
            outside the declared bounds count as they are.
        sample_weight : array, (n,), optional
            Weights of the rows. None: all weigh the same.

        Returns
        -------
        float
            R² of the predictions for these rows. NaN, with a warning, if there are none.

        Notes
        -----
        It is not private: no account covers an exact score on private rows. `evaluate` measures with noise.
        """
        return self._score(X, y, sample_weight)

    def _check_learned(self, domain: Domain) -> None:
        if domain.target is None:
            raise ValueError("domain must declare target=Numeric(low, high) for a PrivateRegressor")
