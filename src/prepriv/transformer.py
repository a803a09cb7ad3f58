"""`PrivateTransformer`: pre-processing alone, as a transformer of scikit-learn, with a guarantee that composes with any other."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from prepriv.domain import Domain
from prepriv.guarantees.drafts import with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.mechanisms.session import Session
from prepriv.placed.checks import check_domain, check_places, text_names
from prepriv.placed.handed import held
from prepriv.placed.rows import Mapped
from prepriv.preprocessing.base import Step
from prepriv.runs.charge import LedgerSetting, check_ledger
from prepriv.runs.preparation import Preparation, make_preparation, run_preparation
from prepriv.tables.encoding import encode, rows_of, with_source
from prepriv.tables.stream import Stream, as_stream


class PrivateTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Steps fitted with differential privacy, for any model after them.

    The guarantee covers the fitted maps. Rows that `transform` returns need as much protection as before. A model
    trained on prepared *private* rows has to be private itself, and its cost is added to that of `guarantee_`.
    `guarantee_.remaining(epsilon, delta)` is what a whole budget leaves for it.

    Parameters
    ----------
    domain : Domain
        What is public about the data. If there are no classes, any two names will do.
    steps : list of steps, default ()
        Steps that are free, public or paid for by budget (`prepriv.preprocessing`). The shares of Budget steps are
        proportions: together these steps spend all of epsilon.
    epsilon : float, default 0.1
        The budget of the steps, positive. math.inf: no noise and no claim.
    delta : float, default 1e-5
        In (0, 1), well below 1 / n.
    ledger : path or URL, optional
        The ledger that each `fit` charges before a record is read. None: no cap holds.

    Attributes
    ----------
    plan_ : Preparation
        What was done.
    guarantee_ : Guarantee or None
        What is claimed for the fitted maps, and for the draft of the domain if there is one. None without privacy.
    maps_ : tuple of ReleasedMap
        The released maps, in order.
    receipt_ : mapping or None
        The receipt of the charge in a ledger.
    n_features_in_ : int
        Number of declared columns.

    References
    ----------
    docs/proofs/whole.md

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> from prepriv.preprocessing import StandardScaler
    >>> domain = prepriv.Domain.box(0, 10, features=2, classes=[0, 1])
    >>> scaler = StandardScaler(payment=prepriv.Budget())
    >>> private = prepriv.PrivateTransformer(domain, [scaler], epsilon=0.5, delta=1e-5)
    >>> rows = np.tile([[2.0, 3.0], [4.0, 9.0]], (5000, 1))
    >>> private.fit_transform(rows).shape, bool(private.guarantee_.epsilon(1e-5) <= 0.5)
    ((10000, 2), True)
    """

    ledger = LedgerSetting()

    def __init__(
        self,
        domain: Domain | None = None,
        steps: Sequence[Step] = (),
        *,
        epsilon: float = 0.1,
        delta: float = 1e-5,
        ledger: str | os.PathLike[str] | None = None,
    ) -> None:
        self.domain = domain
        self.steps = steps
        self.epsilon = epsilon
        self.delta = delta
        self.ledger = ledger

    def plan(self, n: int | None = None) -> Preparation:
        """Price and freeze the steps, without any data.

        Parameters
        ----------
        n : int, optional
            Number of records. None: the domain's.

        Returns
        -------
        Preparation

        Raises
        ------
        ValueError
            If no plan can be made.
        """
        return self._plan(self.domain, n)

    def _plan(self, domain: Domain | None, n: int | None) -> Preparation:
        if domain is None:
            raise ValueError("domain must be declared: bounds are never inferred from private data")
        check_domain(domain)
        return make_preparation(domain, self.steps, epsilon=self.epsilon, delta=self.delta, n=n)

    def fit(self, X: Any, y: Any = None) -> PrivateTransformer:
        """Fit the steps on private rows.

        Parameters
        ----------
        X : array, table or stream, (n, columns)
            As for `PrivateClassifier.fit`.
        y : ignored
            Not used.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For what is wrong with the settings or the form of X. Nothing is charged.
        LedgerError
            Where the ledger grants no charge. No record is read.
        """
        check_ledger(self.ledger)
        X = as_stream(X) or X
        domain = None if self.domain is None else with_source(self.domain, X)
        declared = None if domain is None else domain.n
        n = _rows(X, domain) if declared is None and domain is not None and _counts(domain) else declared
        plan = self._plan(domain, n)
        _, maps, receipt = run_preparation(plan, X, ledger=self.ledger, session=self._session(plan))
        self.plan_, self.maps_, self.receipt_ = plan, maps, receipt
        self.guarantee_: Guarantee | None = with_drafts(plan.guarantee, plan.domain, plan.delta, plan.n)
        self.n_features_in_ = plan.domain.n_inputs
        self._names = text_names(X)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Prepare rows. Private rows stay private and need protection.

        Parameters
        ----------
        X : array, table or stream, (n, columns)
            Rows of the form that was fitted.

        Returns
        -------
        array, (n, d)
            Rows of the space `plan_.space`. A row that a step drops becomes zeros.
        """
        self._check_fitted()
        check_places(self.plan_.domain, getattr(self, "_names", None), X)
        plan = self.plan_
        maps = [m for p, fitted in zip(plan.steps, self.maps_) for m in held(p, fitted, plan.domain)]
        with np.errstate(all="ignore"):
            out = list(Mapped(encode(X, plan.domain), maps))
        return np.concatenate(out) if out else np.zeros((0, self.plan_.space.d))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Give the names of the prepared features.

        Parameters
        ----------
        input_features : ignored
            For scikit-learn.

        Returns
        -------
        array of str, (d,)
        """
        self._check_fitted()
        space = self.plan_.space
        return np.asarray(space.names or [f"x{j}" for j in range(space.d)], dtype=object)

    def _session(self, plan: Preparation) -> Session | None:
        """Where noise comes from; None: the operating system (for tests to replace)."""
        return None

    def _check_fitted(self) -> None:
        if not hasattr(self, "maps_"):
            raise NotFittedError("This PrivateTransformer instance is not fitted yet. Call 'fit' first.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "maps_")


def _counts(domain: Domain) -> bool:
    """Whether n may be taken from the table: the number of records is public under replace-one."""
    return domain.n_is_public


def _rows(X: Any, domain: Domain) -> int | None:
    """How many records a table holds; None where only a look at its cells would tell."""
    return X.rows if isinstance(X, Stream) else rows_of(X, domain)
