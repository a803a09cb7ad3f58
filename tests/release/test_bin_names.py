"""What the weights of binned columns are called."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder

import prepriv
from prepriv import Budget, Categorical, Domain, Numeric
from prepriv.preprocessing import Bins, QuantileBins, Rescale, RootColumns, StandardScaler

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(
    {"youngkids": RNG.integers(0, 6, 2000).astype(float), "job": RNG.choice(["a", "b"], 2000)}
)
Y = (ROWS["youngkids"] < 2).astype(int)
DOMAIN = Domain({"youngkids": Numeric(0, 5), "job": Categorical(["a", "b"])}, [0, 1])


def _fitted(steps, domain=DOMAIN):
    return prepriv.PrivateClassifier(domain, epsilon=10.0, steps=steps).fit(ROWS, Y)


def _of_kids(made):
    return [name for name in made.coefficients_.names if name.startswith("youngkids=")]


def test_a_weight_of_a_bin_says_which_of_how_many_and_from_where_to_where(tmp_path):
    """A finding: `youngkids=1` was the second bin, from 1.25 to 2.5, and read as one child."""
    numbers = make_pipeline(SimpleImputer(), KBinsDiscretizer(4, strategy="uniform"))
    cells = OneHotEncoder(handle_unknown="ignore")
    pipe = make_pipeline(
        ColumnTransformer([("n", numbers, ["youngkids"]), ("c", cells, ["job"])]), LogisticRegression()
    )
    made = prepriv.private(pipe, DOMAIN, epsilon=10.0).fit(ROWS, Y)
    ends = pairwise(KBinsDiscretizer(4, strategy="uniform").fit([[0], [5]]).bin_edges_[0])
    named = [f"youngkids=bin {i + 1} of 4 ({low:g} to {high:g})" for i, (low, high) in enumerate(ends)]
    assert _of_kids(made) == named and named[1] == "youngkids=bin 2 of 4 (1.25 to 2.5)"
    assert "youngkids=1" not in str(made.coefficients_) and f"{named[1]}: " in str(made.coefficients_)
    assert {*named, "job=a", "job=missing"} <= {one["name"] for one in made.coefficients_.to_json()}
    made.model_.save(tmp_path / "m")
    assert prepriv.Model.load(tmp_path / "m").coefficients_.names == made.coefficients_.names
    # Only what is printed: a plan keeps the names that its hash has.
    assert any("youngkids=1" in planned.after.names for planned in made.plan_.steps)


@pytest.mark.parametrize("rooted", [False, True])
def test_released_edges_are_in_units_of_the_column(rooted):
    first = [RootColumns.of(DOMAIN)] if rooted else []
    made = _fitted([*first, QuantileBins(5, ("youngkids",), payment=Budget(0.1)), Rescale(1.0)])
    spans = made.model_.shapes()[0].names
    assert _of_kids(made) == [f"youngkids=bin {i + 1} of 5 ({span})" for i, span in enumerate(spans)]


def test_edges_in_other_units_are_left_out_and_gaps_keep_their_name():
    scaled = StandardScaler(columns=("youngkids",), payment=Budget(0.1))
    made = _fitted([scaled, Bins({"youngkids": 3}), Rescale(1.0)])
    assert _of_kids(made) == [f"youngkids=bin {i} of 3" for i in (1, 2, 3)]
    gaps = Domain({"youngkids": Numeric(0, 5, missing="impute"), "job": Categorical(["a", "b"])}, [0, 1])
    made = _fitted([Bins({"youngkids": [0.2]}), Rescale(1.0)], gaps)
    first, second = "youngkids=bin 1 of 2 (0 to 1)", "youngkids=bin 2 of 2 (1 to 5)"
    assert _of_kids(made) == [first, second, "youngkids=missing"]


def test_a_category_beside_bins_keeps_its_name():
    """`job=1` is a category, whatever bins of another column are counted from."""
    domain = Domain({"youngkids": Numeric(0, 5), "job": Categorical(["1", "2"])}, [0, 1])
    rows = ROWS.assign(job=ROWS["job"].map({"a": "1", "b": "2"}))
    made = prepriv.PrivateClassifier(domain, epsilon=10.0, steps=[Bins({"youngkids": 3}), Rescale(1.0)])
    assert "job=1" in made.fit(rows, Y).coefficients_.names


def test_parts_of_smooth_codes_are_no_bins_and_the_print_points_to_what_shows_effects():
    """A finding: single weights of `steps="additive"` ran against what the model predicts."""
    made = _fitted("additive")
    bins = len(made.model_.shapes()[0].edges) - 1
    assert _of_kids(made) == [f"youngkids=part {i + 1} of {bins} of its code" for i in range(bins)]
    said = str(made.coefficients_)
    assert f'"part 1 of {bins} of its code" is not the effect of a bin' in said
    assert said.index("model_.shapes()") < said.index("youngkids=")
    beside = str(_fitted([Bins({"youngkids": 3}, smooth=0.5, beside=True), Rescale(1.0)]).coefficients_)
    assert "not the effect of a bin" in beside and "shapes()" not in beside  # which that model has not
    assert "of its code" not in str(_fitted([Bins({"youngkids": 3}), Rescale(1.0)]).coefficients_)
