"""The warning that the declared bounds of a target look too wide: about an average row, not about a raw row of zeros."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv.release.coefficients import score_of_average

RNG = np.random.default_rng(0)
AGE = RNG.uniform(20, 80, 3000)


def told(made, table, y):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        made.fit(table, y)
    return [str(w.message) for w in seen if "for an average row" in str(w.message)]


@pytest.mark.parametrize("kind", ["a pipeline", "the recipe"])
@pytest.mark.parametrize(
    ("slope", "start", "warned"),
    [(2.0, 0.0, ""), (-1.0, 100.0, ""), (-1.0, 200.0, ""), (0.01, 3.0, "upper"), (-0.01, 197.0, "lower")],
)
def test_the_average_row_is_meant_and_not_a_row_of_zeros(kind, slope, start, warned):
    domain = Domain({"age": Numeric(0, 100)}, target=Numeric(0, 200))
    pipeline = make_pipeline(StandardScaler(), LinearRegression())
    made = (
        prepriv.private(pipeline, domain, epsilon=4.0)
        if kind == "a pipeline"
        else prepriv.PrivateRegressor(domain, epsilon=4.0)
    )
    y = start + slope * AGE
    said = told(made, pd.DataFrame({"age": AGE}), y)
    assert bool(said) == bool(warned)
    for one in said:
        assert f"near the {warned} bound" in one and "Targets beyond that bound are cut" in one
    assert score_of_average(made.model_) == pytest.approx(y.mean() / 100 - 1, abs=0.05)


def test_the_noise_of_the_mean_of_many_categories_does_not_hide_wide_bounds():
    """It moves all rows alike, so that their weights take a part of what the intercept learns."""
    names, levels, n = [f"c{i}" for i in range(8)], list("abcdef"), 600
    table = pd.DataFrame(
        {name: RNG.choice(levels, n, p=[0.6, 0.3, 0.04, 0.03, 0.02, 0.01]) for name in names}
    )
    table["x"] = RNG.uniform(0, 1, n)
    columns = {name: Categorical(levels) for name in names} | {"x": Numeric(0, 1)}
    domain = Domain(columns, target=Numeric(0, 400))
    encoded = make_column_transformer((OneHotEncoder(), names), (StandardScaler(), ["x"]))
    off = []
    for _ in range(9):
        made = prepriv.private(make_pipeline(encoded, Ridge()), domain, epsilon=1.0)
        told(made, table, 4.0 + RNG.uniform(-2, 2, n))
        off.append(score_of_average(made.model_) - made.model_.scores(table)[:, 0].mean())
    assert -0.25 < np.median(off) < 0.2, off
