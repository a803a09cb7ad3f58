"""What follows from a sketch: bins, probabilities, rows; and the rule that says beforehand whether it is enough."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sketch_cases import ADJACENCIES, domain, frame

from prepriv import Categorical, Domain, Numeric
from prepriv.guarantees.gaussian import gdp_mu
from prepriv.guarantees.training_part import TrainingPart, training_on
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.sketches.fine_grid import cell_codes, cells_of, mass_bins, masses
from prepriv.sketches.pairs import correlations
from prepriv.sketches.release import release_sketch
from prepriv.sketches.signal import MEASURED, check_of, mu_enough, signal_of
from prepriv.sketches.sketch_plan import SketchPlan
from prepriv.sketches.tables import SketchShape, on_simplex, shape_of, without_lost
from prepriv.sketches.tablesketch import TableSketch, raw_columns
from prepriv.tables.encoding import encode, encode_labels, encode_targets


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=12), st.floats(0.1, 100))
@settings(max_examples=60, deadline=None)
def test_the_projection_is_the_nearest_point(values, total):
    values = np.array(values)
    found = on_simplex(values, total)
    assert (found >= 0).all() and math.isclose(found.sum(), total)
    # optimal iff moving mass from a positive coordinate to any other does not bring it nearer
    slope = found - values
    assert slope[found > 1e-9 * total].max() <= slope.min() + 1e-7 * (1 + abs(values).max() + total)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
@settings(max_examples=60, deadline=None)
def test_fine_cells_cover_the_declared_bounds(low, width):
    if not low < low + width:
        return
    edges = cells_of(Numeric(low, low + width))
    assert edges[0] == 0 and edges[-1] == 1 and (np.diff(edges) > 0).all() and len(edges) <= 58
    codes = cell_codes(np.array([0.0, 1.0, np.nan, *edges[:-1]]), edges)
    assert codes.tolist() == [0, len(edges) - 2, -1, *range(len(edges) - 1)]


@given(st.integers(0, 2**32), st.integers(1, 16), st.floats(0.1, 30))
@settings(max_examples=80, deadline=None)
def test_bins_are_few_cover_all_and_keep_atoms_alone(seed, bins, sigma):
    rng = np.random.default_rng(seed)
    edges = cells_of(Numeric(-1, 3))
    counts = rng.exponential(size=len(edges) - 1) * rng.choice([0, 1, 500], len(edges) - 1)
    mass, values = masses(counts + rng.normal(size=len(counts)) * sigma, edges, sigma)
    found = mass_bins(mass, edges, bins)
    assert found[0] == 0 and found[-1] == 1 and (np.diff(found) > 0).all()
    assert len(found) - 1 <= 2 * bins + 1 and set(found) <= set(edges) and (values > 0).all()
    for cell in np.flatnonzero(mass >= mass.sum() / bins):
        assert edges[cell] in found and edges[cell + 1] in found


def test_a_table_without_signal_is_that_of_independence():
    rng = np.random.default_rng(0)
    noisy = [1000 * np.outer([0.2, 0.3, 0.5], [0.5, 0.5]) + rng.normal(size=(3, 2)) for _ in range(20)]
    assert np.mean(shape_of(noisy, 1.0, 1000.0, [False] * len(noisy)).kept) < 0.5
    clear = [1000 * np.array([[0.4, 0.05], [0.1, 0.45]])] * 2
    shape = shape_of(clear, 1.0, 1000.0, [False] * len(clear))
    assert min(shape.kept) > 0.99 and np.allclose(shape.given[0][:, 0], [0.8, 0.2], atol=1e-3)


def test_codes_within_the_noise_are_left_out_and_no_count_is_lost_to_another_class():
    table = np.array([[400.0, 300.0], [2.0, 9.0], [-3.0, 4.0], [1.0, 30.0], [5.0, -2.0]])
    found = without_lost(table, 4.0, True)  # two deviations of a count are 11.3
    assert (found[0] == table[0]).all() and not found[1:3].any() and not found[4].any()
    assert np.allclose(found[3], table[1] + table[2] + table[3])
    assert (without_lost(table, 4.0, False)[:4] == table[:4]).all()  # a bin of a number stays
    assert (without_lost(table, 0.0, True)[0] == table[0]).all()
    assert (
        without_lost(table / 100, 4.0, True) == table / 100
    ).all()  # nothing stands out, and nothing is known


def test_what_is_left_out_of_a_table_is_not_met_in_any_class():
    """What brought the rest of a class to its sum gave codes that no record has a share of their own in each class: SelectKBest chose "other" and
    "missing" of columns that have neither in 11 of 12 fits, at ε = 10, too."""
    rng, met = np.random.default_rng(4), 0
    true = np.zeros((4, 4))  # yes, no, other, missing; four classes
    true[0], true[1] = [450, 460, 470, 480], [1050, 1040, 1030, 1020]
    for _ in range(200):
        (given,) = shape_of([true + 6.0 * rng.normal(size=true.shape)], 6.0, 6000.0, [True]).given
        met += int(given[2:].any())
        left_out = ~given.any(axis=1)
        assert not left_out[:2].any() and np.allclose(given.sum(axis=0), 1.0)
    assert met <= 5  # three deviations of the noise of their counts, twice


def test_correlations_are_positive_definite_and_shrunk():
    rng = np.random.default_rng(0)
    d, n = 8, 1000
    shape = SketchShape(n, np.ones(1), tuple(np.array([[0.5], [0.5], [0.0]]) for _ in range(d)), (1.0,) * d)
    size = d * (d - 1) // 2
    nothing = correlations(rng.normal(size=size) * 30, 30.0, shape)
    assert abs(nothing - np.eye(d)).max() < 0.05
    full = correlations(np.full(size, 5.0 * n), 1.0, shape)
    assert np.allclose(np.diag(full), 1) and np.linalg.eigvalsh(full).min() > 0


N = 4000
RNG = np.random.default_rng(4)
Y = RNG.integers(0, 2, N)
X0 = np.clip(RNG.normal(0.5 + Y, 0.5), -1, 3)
ROWS = frame(
    {
        "x0": np.where(RNG.random(N) < 0.1, np.nan, X0),
        "x1": np.clip(0.7 * X0 + RNG.normal(0, 0.2, N), -1, 3),
        "c0": np.where(RNG.random(N) < 0.2 + 0.5 * Y, "u", "v"),
    }
)
LABELS = np.array(["a", "b"])[Y]


def drawn(needs, adjacency="replace-one", mu=1.0, of=None):
    plan = SketchPlan(of or domain(2, 1, n=N, adjacency=adjacency), mu, needs)
    read = encode(ROWS, plan.domain), encode_labels(LABELS, plan.domain.classes)
    return release_sketch(plan, *read, NoisySession(NoiseSource.for_tests(1)))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("needs", ["columns", "labels", "pairs"])
def test_rows_have_the_marginals_and_pairs_only_where_they_were_asked_for(needs, adjacency):
    sketch = drawn(needs, adjacency)
    x, y = sketch.encoded(8000, seed=3)
    real = np.vstack([*encode(ROWS, sketch.plan.domain)])
    assert np.nanmean(x, axis=0) == pytest.approx(np.nanmean(real, axis=0), abs=0.01)
    assert np.isnan(x).mean(axis=0) == pytest.approx(np.isnan(real).mean(axis=0), abs=0.01)
    if needs != "columns":
        for label in (0, 1):
            mean = np.nanmean(real[label == Y], axis=0)
            assert np.nanmean(x[y == label], axis=0) == pytest.approx(mean, abs=0.02)
    there = ~np.isnan(x).any(axis=1) & (y == 0)
    within = np.corrcoef(x[there, 0], x[there, 1])[0, 1]
    assert within > 0.7 if needs == "pairs" else abs(within) < 0.1
    assert abs(sketch.shape.n - N) < 30


def test_the_same_sketch_draws_the_same_rows_and_comes_back_from_json():
    sketch = drawn("pairs")
    again = TableSketch.from_json(json.loads(json.dumps(sketch.to_json())))
    for one, two in ((sketch, sketch), (sketch, again)):
        assert np.array_equal(one.encoded(500, 7)[0], two.encoded(500, 7)[0], equal_nan=True)
    assert not np.array_equal(sketch.encoded(500, 7)[0], sketch.encoded(500, 8)[0], equal_nan=True)


@pytest.mark.parametrize(
    "change",
    [
        {"fine": [1.0]},
        {"counts": []},
        {"orders": [[0]]},
        {"products": [float("inf")] * 3},
        {"products": [0.0]},
        {"mu": 0},
        {"domain": {}},
        {"mu": "x"},
    ],
)
def test_data_of_no_sketch_are_refused(change):
    with pytest.raises(ValueError):
        TableSketch.from_json(drawn("pairs").to_json() | change)


def test_each_class_and_each_gap_is_there_twice():
    rare = Domain(
        {"x0": Numeric(-1, 3, "impute"), "x1": Numeric(-1, 3), "c0": Categorical(["u", "v"])},
        classes=["a", "b", "never"],
        n=N,
    )
    sketch = drawn("labels", of=rare)
    x, y = sketch.encoded(50)
    assert np.bincount(y, minlength=3).min() >= 2 and np.isnan(x[:, 0]).sum() >= 2
    assert not np.isnan(x[:, 1]).any()  # its gaps are its midpoint


def test_raw_cells_are_read_back_as_the_rows_that_were_drawn():
    sketch = drawn("labels")
    cells, labels = sketch.draw(400, 2)
    table = encode(frame(raw_columns(cells, sketch.plan.domain)), sketch.plan.domain)
    x, y = sketch.encoded(400, 2)
    assert np.allclose(np.vstack([*table]), x, equal_nan=True, atol=1e-12) and (labels == y).all()


def test_a_target_is_one_more_column():
    numbers = Domain({"x1": Numeric(-1, 3)}, target=Numeric(-1, 3), n=N)
    plan = SketchPlan(numbers, 1.0, "pairs")
    table = encode(ROWS[["x1"]], numbers)
    sketch = release_sketch(plan, table, encode_targets(X0, numbers), NoisySession(NoiseSource.for_tests(1)))
    x, y = sketch.encoded(4000)
    assert np.corrcoef(x[:, 0], y)[0, 1] > 0.8 and plan.classes == 1
    assert "class" not in signal_of(plan)._facts
    assert "label" not in sketch.what


def facts(n, d, mu, classes=2, needs="labels", k=1):
    whose = {"unit": "who", "rows_per_unit": k} if k > 1 else {}
    columns = {f"x{i}": Numeric(0, 1) for i in range(d)}
    return SketchPlan(Domain(columns, classes=range(classes), n=n, **whose), mu, needs)


def test_a_weak_sketch_of_a_part_names_the_whole_table():
    """Among four candidates a table of 969 rows was called one of 194, without a word on why."""
    with training_on(TrainingPart(969, 0.8)):
        assert "(969 rows, of which about 194 train, " in signal_of(facts(194, 20, 0.05)).sentence


def test_the_rule_says_before_the_charge_what_would_be_enough():
    weak = signal_of(facts(1000, 20, 0.05))
    assert weak.verdict == "too little" and "1,000 rows, 20 columns" in weak.sentence
    assert "its signal b is 5.6" in weak.sentence and MEASURED["too little"] in weak.sentence
    few = signal_of(facts(1000, 20, 0.27))
    assert weak.columns_enough == 0 and f"{weak.rows_enough:,} rows in place of 1,000" in weak.sentence
    for one, mu in ((weak, 0.05), (few, 0.27)):
        assert signal_of(facts(one.rows_enough, 20, mu)).verdict == "enough"
        assert signal_of(facts(round(0.9 * one.rows_enough), 20, mu)).verdict != "enough"
    assert signal_of(facts(1000, 20, 0.27)).verdict == "coarse"
    assert signal_of(facts(40_000, 14, 0.27)).verdict == "enough"
    one, three = (signal_of(facts(40_000, 14, 0.27, k=k)) for k in (1, 3))
    assert three.b == pytest.approx(one.b / 3) and three.tau == pytest.approx(3 * one.tau, rel=0.01)


@pytest.mark.parametrize("needs", ["labels", "pairs", "columns"])
@pytest.mark.parametrize(("n", "d", "epsilon"), [(1000, 10, 1.0), (600, 13, 1.0), (5000, 20, 0.3), (3000, 5, 1.0), (2500, 10, 1.0)])  # fmt: skip
def test_each_way_that_is_named_is_enough(needs, n, d, epsilon):
    """1.9 times ε was named, and followed: the noise of the tables was then too large, and 6.1 times was enough."""
    mu, half = gdp_mu(epsilon, 1e-5), math.sqrt(0.25)
    one = signal_of(facts(n, d, half * mu, needs=needs), (epsilon, 1e-5))
    if one.enough:
        return
    assert f"{one.rows_enough:,} rows in place of {n:,}" in one.sentence
    assert signal_of(facts(one.rows_enough, d, half * mu, needs=needs)).enough
    if one.epsilon_enough is None:  # none up to 10
        assert not signal_of(facts(n, d, half * gdp_mu(10.0, 1e-5), needs=needs)).enough
    else:
        for times, good in ((1.0, True), (0.85, False)):
            other = half * gdp_mu(times * one.epsilon_enough, 1e-5)
            assert signal_of(facts(n, d, other, needs=needs)).enough == good
        assert f"ε = {one.epsilon_enough:g} in place of {epsilon:g}" in one.sentence
    assert not any(
        "share" in way for way in one.ways_enough
    )  # 3.7 times the share was named, and was the worse model
    if one.columns_enough:
        assert signal_of(facts(n, one.columns_enough, half * mu, needs=needs)).enough


@pytest.mark.parametrize("of", ["target", "label", "nothing"])
def test_columns_that_are_enough_are_counted_as_those_that_are_declared(of):
    """ "1 column in place of 9", of 8 columns and a target, was followed with the target alone, and refused."""
    columns = {f"x{i}": Numeric(0, 1) for i in range(8)}
    declared = {"target": Numeric(0, 1)} if of == "target" else {"classes": ["a", "b"]}
    needs = "columns" if of == "nothing" else "labels"
    one = signal_of(SketchPlan(Domain(columns, n=1200, **declared), 0.1, needs))
    few = next(mu for mu in np.geomspace(0.01, 5, 100) if signal_of(replace(one.plan, mu=mu)).columns_enough)
    one = signal_of(replace(one.plan, mu=few))
    beside = "" if of == "nothing" else f" beside the {of}"
    count = one.columns_enough
    assert f"; {count} column{'s' if count > 1 else ''}{beside} in place of 8." in one.sentence
    assert ("9 columns with the target" in one._facts) == (of == "target")
    kept = Domain(dict([*columns.items()][:count]), n=1200, **declared)
    assert signal_of(replace(one.plan, domain=kept)).enough


def test_fewer_than_a_third_of_the_columns_are_no_cure():
    """ "1 column beside the label in place of 19" was named, of a pipeline that selects columns."""
    for mu in np.geomspace(0.05, 5, 60):
        one = signal_of(facts(453, 19, mu))
        assert one.columns_enough == 0 or one.columns_enough >= 7
        assert ("columns beside" in one.sentence) == (one.columns_enough > 0 and not one.enough)
    assert any(signal_of(facts(453, 19, mu)).columns_enough >= 7 for mu in np.geomspace(0.05, 5, 60))
    assert all(signal_of(facts(453, 3, mu)).columns_enough != 1 for mu in np.geomspace(0.01, 5, 60))


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("needs", ["labels", "pairs"])
def test_auto_buys_what_is_enough(needs, k):
    plan = facts(10_000, 20, 1.0, needs=needs, k=k)
    bought = signal_of(plan.with_mu(mu_enough(plan)))
    assert bought.b >= 40 * (1 - 1e-9)
    assert needs == "labels" or bought.pair_noise <= 0.0501


def test_the_free_check_tells_signal_from_noise():
    assert "enough" in check_of(drawn("labels").shape)
    assert "is noise" in check_of(drawn("labels", mu=0.004).shape)


def test_what_is_said_before_the_charge_does_not_promise_what_the_check_denies():
    """`SmokeBan` at ε = 0.1: "carries enough for its steps", and after the charge "lose 2 points or more"."""
    said = signal_of(facts(40_000, 14, 0.27)).sentence
    assert "depends on how strongly the columns depend on the label" in said and "carries enough" not in said
    assert "A check after it tells" in said
    assert "depend" not in signal_of(facts(40_000, 14, 0.27, needs="columns")).sentence
    weak = check_of(drawn("labels", mu=0.004).shape)
    assert "depend weakly on the label, or ε is too small" in weak and "points" not in weak


def test_what_was_lost_stands_on_the_page_as_it_is_said():
    page = (Path(__file__).parents[2] / "docs" / "sketch.md").read_text(encoding="utf-8")
    for said in MEASURED.values():
        assert said in page
    small = signal_of(facts(40_000, 14, 0.27)).sentence
    assert MEASURED["enough"] in small and "few tenths" not in small
    number = Domain({"x": Numeric(0, 1)}, target=Numeric(0, 1), n=40_000)
    assert "only whole fits were measured" in signal_of(SketchPlan(number, 0.27, "labels")).sentence
    assert "single columns lose less" in signal_of(facts(40_000, 14, 0.27, needs="columns")).sentence
