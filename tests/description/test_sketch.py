"""`prepriv.sketch`: one release, rows to try code on, and what it is on each export."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv.description.sketch import plan_sketch, sketch_in_private
from prepriv.ledger import Ledger
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.sketches.tablesketch import WHAT, TableSketch

N = 3000
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.normal(40, 10, N),
        "job": RNG.choice(["clerk", "smith", "?"], N),
        "y": RNG.choice(["no", "yes"], N),
    }
)
DOMAIN = prepriv.Domain(
    {"age": prepriv.Numeric(0, 100), "job": prepriv.Categorical(["clerk", "smith"])},
    classes=["no", "yes"],
    label="y",
)


@pytest.fixture(scope="module")
def found():
    return prepriv.sketch(TABLE, DOMAIN, epsilon=1.0)


def test_the_claim_is_the_budget_and_the_events_cost_no_more(found):
    look = found.priced.look
    assert 0.999 < found.guarantee_.epsilon(1e-6) <= 1.0
    assert float(found.priced.plan.mu_squared) <= look.mu**2
    assert float(found.priced.plan.mu_squared) >= look.mu**2 * (1 - 1e-8)


def test_each_export_says_what_it_is(found, tmp_path):
    assert found.what == WHAT and WHAT in found.to_frame(10).attrs["prepriv"]
    found.save(tmp_path / "s.json")
    found.save(tmp_path / "s.html")
    data = json.loads((tmp_path / "s.json").read_text())
    assert data["what"] == WHAT and data["sketch"]["what"] == WHAT
    page = (tmp_path / "s.html").read_text()
    assert WHAT in page and page.count("<svg") == 2
    with pytest.raises(ValueError, match=r"\.html or \.json"):
        found.save(tmp_path / "s.csv")
    again = TableSketch.from_json(data["sketch"])
    assert np.array_equal(again.encoded(50)[0], found.sketch.encoded(50)[0], equal_nan=True)


def test_a_frame_has_the_columns_of_the_table(found):
    frame = found.to_frame(2000, seed=1)
    assert list(frame) == ["age", "job", "y"] and len(frame) == 2000
    assert set(frame["job"].dropna()) <= {"clerk", "smith", "other"} and set(frame["y"]) == {"no", "yes"}
    assert frame["age"].between(0, 100).sum() + frame["age"].isna().sum() == 2000
    assert abs(frame["age"].mean() - TABLE["age"].mean()) < 2


def test_error_bars_hold_what_would_be_seen_without_noise():
    held, asked = 0, 0
    for seed in range(20):
        priced = plan_sketch(DOMAIN, epsilon=0.5, n=N)
        session = NoisySession(NoiseSource.for_tests(seed))
        found = sketch_in_private(priced, TABLE[["age", "job"]], TABLE["y"], session=session)
        for (name, label), e in found.table("job").items():
            cell = {"missing": "?"}.get(name, name)
            true = int(((TABLE["job"] == cell) & (TABLE["y"] == label)).sum())
            held += e.low <= true <= e.high
            asked += 1
    assert held / asked > 0.9
    with pytest.raises(ValueError, match="no table of 'z'"):
        found.table("z")


def test_too_little_is_refused_before_the_charge(tmp_path):
    Ledger.create(tmp_path / "L.db", dataset_id="people", epsilon=5, delta=1e-4)
    with pytest.raises(ValueError, match=r"nothing was charged.*enough.* rows in place"):
        prepriv.sketch(TABLE[:100], DOMAIN, epsilon=0.1, ledger=tmp_path / "L.db")
    assert Ledger.open(tmp_path / "L.db").entries() == ()
    with pytest.warns(UserWarning, match=r"1\.5 to 1\.9 points"):
        prepriv.sketch(TABLE[:600], DOMAIN, epsilon=0.3, ledger=tmp_path / "L.db")
    assert len(Ledger.open(tmp_path / "L.db").entries()) == 1


def test_labels_are_given_or_named_or_there_are_none():
    rows = TABLE[["age", "job"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = prepriv.sketch(rows, DOMAIN, TABLE["y"], epsilon=1.0)
        unnamed = prepriv.Domain(dict(DOMAIN.columns), classes=["no", "yes"])
        without = prepriv.sketch(rows, unnamed, epsilon=1.0)
    assert given.sketch.plan.classes == 2 and without.sketch.plan.classes == 1
    assert list(without.to_frame(5)) == ["age", "job"] and without.what == "marginals, nothing else"
    with pytest.raises(ValueError, match="no column 'y'"):
        prepriv.sketch(rows, DOMAIN, epsilon=1.0)
    with pytest.raises(ValueError, match="within a class"):
        prepriv.sketch(rows, unnamed, epsilon=1.0, pairs=True)


def test_gaps_are_counted_whatever_the_domain_fills_in():
    gaps = TABLE.assign(age=np.where(RNG.random(N) < 0.3, np.nan, TABLE["age"]))
    found = prepriv.sketch(gaps, DOMAIN, epsilon=1.0)
    assert abs(found.to_frame(4000)["age"].isna().mean() - 0.3) < 0.03


@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
def test_units_are_covered_with_all_their_rows(adjacency):
    units = prepriv.Domain(
        dict(DOMAIN.columns), ["no", "yes"], N // 3, adjacency, "y", unit="who", rows_per_unit=3
    )
    found = prepriv.sketch(TABLE.assign(who=np.arange(N) // 3), units, epsilon=4.0)
    assert abs(found.rows - N) < 200 and "who" in str(found.guarantee_)
