"""scikit-learn's tools fit behind the user's back: every fit is counted, and no fit beyond a cap reads a cell.

Finding: GridSearchCV (21 fits), cross_val_score, CalibratedClassifierCV, fit after fit: `guarantee_` said ε = 1
and nothing said more.
"""

from __future__ import annotations

import math
import pickle
import warnings
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import prepriv
from prepriv import CompositionWarning, Domain, PrivateClassifier, estimators
from prepriv.guarantees.gaussian import gdp_mu
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.ledger import BudgetExceeded, Ledger, LedgerCorrupt, LedgerUnavailable
from prepriv.placed.rows import PrivateTable
from prepriv.release.model import Model
from prepriv.runs import odometer

N = 60
DOMAIN = Domain.box(0, 1, 2, [0, 1])
DESCENT = GradientDescent(Logistic(), steps=5, learning_rate=0.5, clip_norm=1.0)
GRID = {"delta": [1e-5, 1e-6, 1e-7, 1e-8]}


def classifier(**settings):
    return PrivateClassifier(**{"domain": DOMAIN, "steps": (), "learner": DESCENT, "threads": 1} | settings)


@pytest.fixture
def data(rng):
    x = rng.random((N, 2))
    return x, (x[:, 0] > 0.5).astype(int)


@pytest.fixture
def read(monkeypatch):
    """How often a fit began to read cells."""
    seen = []
    honest = PrivateTable.read
    monkeypatch.setattr(PrivateTable, "read", lambda *a: seen.append("rows") or honest(*a))
    return lambda: len(seen)


@pytest.fixture
def ledger(tmp_path):
    """Room for three fits of ε = 1."""
    Ledger.create(tmp_path / "l.db", "people", epsilon=3, delta=1e-3)
    return tmp_path / "l.db"


# ------------------------------------------------------------------------------------------ counted


TOOLS = {
    "fit twice": (2, lambda x, y: classifier().fit(x, y).fit(x, y)),
    "cross_val_score": (5, lambda x, y: cross_val_score(classifier(), x, y, cv=5)),
    "GridSearchCV": (21, lambda x, y: GridSearchCV(classifier(), GRID, cv=5).fit(x, y)),
    "CalibratedClassifierCV": (3, lambda x, y: CalibratedClassifierCV(classifier(), cv=3).fit(x, y)),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_every_fit_of_a_tool_is_counted_and_said_once(data, monkeypatch, tool):
    monkeypatch.setattr(odometer, "_PROCESS", odometer.Odometer())
    fits, use = TOOLS[tool]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CompositionWarning)
        use(*data)
    spent = prepriv.spent()
    assert len(spent.fits) == fits
    assert [w.category for w in heard] == [CompositionWarning]
    mu = math.hypot(*(fit.guarantee.mu for fit in spent.fits))
    assert mu <= spent.totals["replace-one"].mu <= mu * (1 + 1e-12)


def test_what_stands_in_front_of_the_classifier_is_not_seen_and_the_docstring_says_so(data):
    """A StandardScaler fitted on the same rows releases their exact means: from here it looks like one fit."""
    model = make_pipeline(StandardScaler(), classifier()).fit(*data)
    assert np.array_equal(model[0].mean_, data[0].mean(axis=0)) and len(prepriv.spent().fits) == 1
    for words in (
        "fitted on the same rows before",
        "steps=",
        "prepriv.account",
        "KFold",
        'error_score="raise"',
    ):
        assert words in PrivateClassifier.__doc__


# ------------------------------------------------------------------------------------------ charged


def test_a_search_stops_at_the_fit_that_goes_over(data, ledger, read):
    search = GridSearchCV(classifier(ledger=ledger), GRID, cv=KFold(5), error_score="raise")
    with pytest.raises(BudgetExceeded, match=r"costs epsilon 1, .* left"):
        search.fit(*data)
    assert read() == 3 and len(Ledger.open(ledger).entries()) == len(prepriv.spent().fits) == 3


def test_in_a_ledger_of_gaussian_curves_a_search_stops_where_their_composition_does(data, tmp_path, read):
    """The µ of ε = 3 at δ = 1e-5 pays for more than three fits of ε = 1: their µ² add, not their ε."""
    Ledger.create(tmp_path / "g.db", "people", unit="gdp", mu=gdp_mu(3, 1e-5))
    clf = classifier(ledger=tmp_path / "g.db")
    fits = math.floor((gdp_mu(3, 1e-5) / clf.plan(48).guarantee.mu) ** 2)
    with pytest.raises(BudgetExceeded, match=r"costs mu\^2 0\.\d+, .* left"):
        GridSearchCV(clf, {"threads": [1, 2, 3, 4]}, cv=KFold(5), error_score="raise").fit(*data)
    assert read() == fits == len(Ledger.open(tmp_path / "g.db").entries()) and 3 < fits < 20


def test_a_search_that_swallows_errors_goes_on_without_a_look_at_the_data(data, ledger, read):
    """scikit-learn's default, error_score=nan: the refusals become scores, until the refit."""
    with (
        pytest.warns(FitFailedWarning, match="BudgetExceeded"),
        pytest.warns(UserWarning, match="non-finite"),
        pytest.raises(BudgetExceeded, match="the plan costs"),
    ):
        GridSearchCV(classifier(ledger=ledger), GRID, cv=KFold(5)).fit(*data)
    assert read() == 3
    with pytest.raises(ValueError, match=r"5 fits failed(.|\n)*BudgetExceeded: the"):
        cross_val_score(classifier(ledger=ledger), *data, cv=KFold(5))
    with pytest.raises(BudgetExceeded):
        CalibratedClassifierCV(classifier(ledger=ledger), cv=3).fit(*data)
    assert read() == 3 and len(Ledger.open(ledger).entries()) == 3


def test_workers_charge_the_same_ledger(data, ledger):
    """The parent's odometer does not see them; the ledger does."""
    with joblib.parallel_config("multiprocessing", n_jobs=2), pytest.raises(BudgetExceeded):
        cross_val_score(classifier(ledger=ledger), *data, cv=KFold(5), error_score="raise")
    assert len(Ledger.open(ledger).entries()) == 3 and prepriv.spent().fits == ()


def test_the_ledger_is_a_parameter_like_others(ledger):
    for path in (ledger, str(ledger)):
        one = classifier(ledger=path)
        for copy in (clone(one), clone(clone(one)), pickle.loads(pickle.dumps(one))):
            assert copy.ledger == path and copy.get_params()["ledger"] == path
        assert one.set_params(ledger=None).ledger is None
    prepared = prepriv.PrivateTransformer(DOMAIN, ledger=ledger)
    assert clone(prepared).ledger == clone(make_pipeline(prepared, classifier()))[0].ledger == ledger
    nested = clone(make_pipeline(StandardScaler(), classifier())).set_params(privateclassifier__ledger="x.db")
    assert nested[-1].ledger == "x.db"


def test_the_receipt_is_in_what_leaves_and_the_guarantee_is_that_of_one_fit(data, ledger, tmp_path):
    clf = classifier(ledger=ledger).fit(*data)
    first = clf.guarantee_
    clf.fit(*data)
    assert clf.guarantee_ == first or clf.guarantee_.mu == first.mu
    charge = Ledger.open(ledger).confirm(clf.model_.receipt["plan_uid"], clf.plan_.hash)
    assert (charge.sequence, charge.head) == (2, clf.model_.receipt["head"])
    assert clf.report_.to_json()["ledger"] == Model.load(clf.model_.save(tmp_path)).receipt
    assert Ledger.open(ledger).verify([charge]) == []
    assert [fit.receipt["sequence"] for fit in prepriv.spent().fits] == [1, 2]
    assert classifier().fit(*data).model_.receipt is None


def test_a_refused_fit_leaves_the_fitted_model_as_it_was(data, ledger):
    clf = classifier(ledger=ledger).fit(*data)
    model = clf.model_
    with pytest.raises(BudgetExceeded):
        clf.set_params(epsilon=2.5).fit(*data)
    assert clf.model_ is model and model.receipt["sequence"] == 1


class Touched(Exception):
    """A cell was read."""


class Cell:
    """Whoever reads it is found out."""

    def _read(self, *_):
        raise Touched

    __float__ = __int__ = __index__ = __str__ = __repr__ = __eq__ = __hash__ = __bool__ = _read


def as_frame(x):
    return pd.DataFrame({f"x{j}": pd.Series(list(x[:, j]), dtype=object) for j in range(2)})


FORMS = {
    "matrix": lambda x: x,
    "lists": lambda x: [list(row) for row in x],
    "pandas": as_frame,
    "polars": lambda x: pl.DataFrame({f"x{j}": pl.Series(list(x[:, j]), dtype=pl.Object) for j in range(2)}),
}


def spoil_missing(path):
    path.unlink()


def spoil_garbage(path):
    path.write_bytes(b"no ledger at all" * 500)


def spoil_cap(path):
    path.unlink()
    Ledger.create(path, "people", epsilon=0.5, delta=1e-3)


def spoil_adjacency(path):
    path.unlink()
    Ledger.create(path, "people", epsilon=3, delta=1e-3, adjacency="add-or-remove-one")


SPOILT = {
    spoil_missing: LedgerUnavailable,
    spoil_garbage: LedgerCorrupt,
    spoil_cap: BudgetExceeded,
    spoil_adjacency: ValueError,
}


@pytest.mark.parametrize("spoil", SPOILT, ids=lambda f: f.__name__)
@pytest.mark.parametrize("form", FORMS)
def test_no_cell_is_read_where_no_charge_is_granted(ledger, read, form, spoil):
    x, y = np.empty((4, 2), dtype=object), np.empty(4, dtype=object)
    x.flat = y.flat = [Cell()]
    table = FORMS[form](x)
    with pytest.raises(Touched):
        float(table[0][0] if form == "lists" else np.asarray(table)[0, 0])
    spoil(ledger)
    with pytest.raises(SPOILT[spoil]):
        classifier(ledger=ledger).fit(table, y)
    assert read() == 0 and prepriv.spent().fits == ()


def test_the_charge_is_on_disk_when_the_first_cell_is_read(data, ledger, monkeypatch):
    booked = []
    honest = PrivateTable.read

    def watched(*arguments, **options):
        booked.append(len(Ledger.open(ledger).entries()))
        return honest(*arguments, **options)

    monkeypatch.setattr(PrivateTable, "read", watched)
    classifier(ledger=ledger).fit(*data).fit(*data)
    assert booked == [1, 2]


WRONG = {
    "another number of features": ({}, lambda x, y: (x[:, :1], y)),
    "one dimension": ({}, lambda x, y: (x[:, 0], y)),
    "no dimension": ({}, lambda x, y: (np.array(1.0), y)),
    "no rows": ({}, lambda x, y: (x[:0], y[:0])),
    "no table": ({}, lambda x, y: (7, y)),
    "labels are missing": ({}, lambda x, y: (x, y[1:])),
    "no labels": ({}, lambda x, y: (x, None)),
    "frame without a column": (
        {"domain": Domain({"a": prepriv.Numeric(0, 1), "b": prepriv.Numeric(0, 1)}, classes=[0, 1])},
        lambda x, y: (pd.DataFrame(x, columns=["a", "c"]), y),
    ),
    "Arrow without a column": (
        {"domain": Domain({"a": prepriv.Numeric(0, 1), "b": prepriv.Numeric(0, 1)}, classes=[0, 1])},
        lambda x, y: (pa.table({"a": x[:, 0]}), y),
    ),
    "another n": ({"domain": Domain.box(0, 1, 2, [0, 1], n=N + 1)}, lambda x, y: (x, y)),
    "n not declared": (
        {"domain": Domain.box(0, 1, 2, [0, 1], adjacency="add-or-remove-one")},
        lambda x, y: (x, y),
    ),
    "ball of three": ({"domain": Domain.ball(3, [0, 1])}, lambda x, y: (pd.DataFrame(x), y)),
    "without privacy": ({"epsilon": math.inf}, lambda x, y: (x, y)),
    "epsilon": ({"epsilon": 0}, lambda x, y: (x, y)),
    "threads": ({"threads": -1}, lambda x, y: (x, y)),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_bad_input_is_a_sentence_and_charges_nothing(data, ledger, wrong):
    settings, change = WRONG[wrong]
    with pytest.raises(ValueError) as error:
        classifier(**settings, ledger=ledger).fit(*change(*data))
    assert len(str(error.value).splitlines()) == 1 and Ledger.open(ledger).entries() == ()


@pytest.mark.parametrize("path", [7, "", b"l.db", True, [], Ledger])
def test_a_ledger_is_a_path(data, path):
    with pytest.raises(ValueError, match=r"ledger must be None .* postgresql://"):
        classifier(ledger=path).fit(*data)


def test_a_ledger_of_any_unit(data, tmp_path):
    for unit, cap in (("gdp", {"mu": 1.0}), ("zcdp", {"rho": 1.0})):
        Ledger.create(tmp_path / unit, "people", unit=unit, **cap)
        classifier(ledger=tmp_path / unit).fit(*data)
        assert len(Ledger.open(tmp_path / unit).entries()) == 1


def test_forms_of_tables_and_labels_are_counted_alike(data, ledger):
    x, y = data
    for table in (x, x.tolist(), pd.DataFrame(x), pl.DataFrame(x), pa.table({"x0": x[:, 0], "x1": x[:, 1]})):
        for labels in (y, y.tolist(), pd.Series(y), pl.Series(y), pa.chunked_array([y])):
            assert estimators.count_rows(table, labels, DOMAIN) == N
            with pytest.raises(ValueError, match="different numbers of rows"):
                estimators.count_rows(table, labels[1:], DOMAIN)


# ------------------------------------------------------------------------------------------ splits


def moved(splitter, x, y):
    """How many other rows of a training part change when one record's label does, at most."""
    worst = 0
    for i in range(0, len(y), 10):
        other = y.copy()
        other[i] = 1 - other[i]
        for (one, _), (two, _) in zip(splitter.split(x, y), splitter.split(x, other)):
            worst = max(worst, len(set(one.tolist()) - set(two.tolist())))
    return worst


def test_the_guide_is_right_about_splits_that_depend_on_records():
    y = (np.random.default_rng(0).random(200) > 0.5).astype(int)
    x = np.zeros((200, 1))
    assert moved(KFold(5), x, y) == moved(KFold(5, shuffle=True, random_state=0), x, y) == 0
    assert moved(StratifiedKFold(5), x, y) == 2
    assert moved(StratifiedKFold(5, shuffle=True, random_state=0), x, y) > 20
    guide = (Path(__file__).parents[2] / "docs" / "scikit-learn.md").read_text(encoding="utf-8")
    assert "`StratifiedKFold`" in guide and "must not depend on a record" in guide
