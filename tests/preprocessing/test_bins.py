"""Bins: codes of the declared norm and distance, edges free, public or paid; additive models and their shape functions."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv import Budget, Categorical, Domain, Numeric, Public
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing import Bins, Center, QuantileBins
from prepriv.preprocessing.base import RowShift
from prepriv.preprocessing.bins import BinCodes, codes
from prepriv.preprocessing.maps import read_map, write_map
from prepriv.release.model import Model
from prepriv.release.shape_picture import shape_picture as picture
from prepriv.release.shapes import _OF_CLASSES, _OF_NUMBERS, flat_in_words
from prepriv.runs.train import train

RNG = np.random.default_rng(0)
DOMAIN = Domain({"a": Numeric(0, 100), "b": Numeric(-5, 5, "impute"), "c": Categorical(["u", "v"])}, [0, 1])
N = 6000
X = pd.DataFrame({"a": RNG.random(N) * 100, "b": RNG.normal(size=N), "c": RNG.choice(["u", "v"], N)})
Y = (np.sin(X["a"] / 16) + 0.5 * X["b"] ** 2 + 0.5 * (X["c"] == "u") + 0.3 * RNG.normal(size=N) > 1).astype(
    int
)
X.loc[::10, "b"] = np.nan


@pytest.mark.parametrize("bins, smooth", itertools.product((2, 3, 17), (0.0, 0.5, 0.99, 0.9999)))
def test_codes_have_the_geometry_of_the_proof(bins, smooth):
    c = codes(bins, smooth)
    gram = smooth ** np.abs(np.subtract.outer(np.arange(bins), np.arange(bins)))  # of the unit rows
    middle = np.eye(bins) - 1 / bins
    centred = middle @ gram @ middle
    np.testing.assert_allclose(c @ c.T, centred / centred.diagonal().max(), atol=1e-8)
    norms = np.linalg.norm(c, axis=1)
    assert norms.max() == pytest.approx(1, abs=1e-12) and np.abs(c).max() <= 1 + 1e-12
    apart = np.linalg.norm(c[:, None] - c[None], axis=2)
    assert apart.max() == pytest.approx(apart[0, -1])


def test_values_fall_where_they_belong():
    space = DOMAIN.space
    fitted = Bins({"b": [0.25, 0.5]}).free(space)
    cells = np.array([-9, 0, 0.2499, 0.25, 0.4, 0.5, 1, 99, math.nan])
    rows = np.zeros((len(cells), space.d))
    rows[:, 1] = cells
    assert fitted.transform(rows)[:, -4:].argmax(axis=1).tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3]
    np.testing.assert_array_equal(Bins({"a": 4}).free(space).edges, [0.25, 0.5, 0.75])
    assert Bins({"b": [0.5]}).output(space).names == (
        *("a", "c=u", "c=v", "c=other", "c=missing"),
        *("b=0", "b=1", "b=missing"),
    )


@pytest.mark.parametrize("smooth", [None, 0.0, 0.9])
def test_no_row_leaves_the_space_and_no_move_is_longer_than_declared(smooth):
    """A search over pairs of bins, missing cells included: the declared move is attained."""
    step, space = Bins({"b": 5, "a": [0.1, 0.9]}, smooth), DOMAIN.space
    values = np.array([*np.linspace(-0.1, 1.1, 25), math.nan])
    a, b = (part.ravel() for part in np.meshgrid(values[:-1], values))
    rows = np.zeros((len(a), space.d))
    rows[:, 0], rows[:, 1], rows[:, 2] = a, b, 1.0
    out, after = step.free(space).transform(rows), step.output(space)
    assert (out >= after.low).all() and (out <= after.high).all() and out.shape[1] == after.d
    norms = np.sqrt((out * out).sum(axis=1))
    assert norms.max() <= math.sqrt(3) * (1 + 1e-12) < after.radius
    apart = np.sqrt(((out[:, None] - out[None]) ** 2).sum(axis=2)).max()
    moved = step.propagate(space, RowShift(1, 0.0, 0.0))
    assert (
        apart <= moved.row_shift <= apart * 1.2
    )  # a missing cell beside the first or last code is no diameter
    if smooth is None:
        assert apart == pytest.approx(moved.row_shift)
    assert step.propagate(space, RowShift()) == RowShift()


@pytest.mark.parametrize("smooth", [None, 0.9])
def test_a_code_beside_its_number_is_paid_for_with_it(smooth):
    """Rows of every pair of values: the number and all else stay, and both count in the norm and in a move."""
    step, alone = (Bins({"b": 5, "a": [0.1, 0.9]}, smooth, beside=beside) for beside in (True, False))
    space, values = DOMAIN.space, np.linspace(0, 1, 11)
    rows = np.zeros((121, space.d))
    rows[:, 0], rows[:, 1], rows[:, 2:] = np.repeat(values, 11), np.tile(values, 11), [[1.0, 0, 0, 0]]
    gone = rows.copy()
    gone[:, 1] = math.nan
    fitted, after = step.free(space), step.output(space)
    for x in (rows, gone):
        out = fitted.transform(x)
        np.testing.assert_array_equal(out[:, : space.d], x)
        np.testing.assert_array_equal(out[:, space.d :], alone.free(space).transform(x)[:, space.d - 2 :])
        assert np.sqrt((np.nan_to_num(out) ** 2).sum(axis=1)).max() <= after.radius
    np.testing.assert_array_equal(read_map(write_map(fitted)).transform(rows), out := fitted.transform(rows))
    assert after.names == (*space.names, *alone.output(space).names[space.d - 2 :]) and after.may_miss[1]
    box = Domain.box(0, 1, 2, [0, 1]).space
    both = Bins({"x0": 4, "x1": 3}, smooth, beside=True)
    assert np.linalg.norm(both.free(box).transform(np.ones((1, 2)))) == pytest.approx(both.output(box).radius)
    far, apart = (np.sqrt(((x[:, None] - x[None]) ** 2).sum(axis=2)) for x in (rows, out))
    for reach in (0.1, 0.5, 2.0):
        moved = step.propagate(space, RowShift(1, reach, reach)).row_shift
        assert reach < apart[far <= reach].max() <= moved


def test_a_number_beside_its_code_is_no_shape_function():
    domain = Domain({"a": Numeric(0, 100)}, [0, 1])
    with pytest.warns(UserWarning, match="weak"):
        clf = prepriv.PrivateClassifier(
            domain, epsilon=0.1, delta=1e-5, steps=[Bins({"a": 4}, beside=True)]
        ).fit(X[["a"]].head(99), Y[:99])
    with pytest.raises(ValueError, match="not a sum of functions"):
        clf.model_.shapes()
    with pytest.raises(ValueError, match="beside"):
        Bins({"a": 4}, beside="yes")


@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
def test_no_neighbour_moves_the_histogram_of_the_edges_by_more_than_is_declared(adjacency):
    """Every corner of the box by every other: the bound is attained."""
    space = Domain.box(0, 1, 2, [0, 1]).space
    step = QuantileBins(4, payment=Budget(0.5))
    stated = step.l2_sensitivity(space, adjacency, RowShift())
    sums = []

    class Watched(Mechanisms):
        def sum(self, rows, *, dim, radius):
            total = np.sum([block.sum(axis=0) for block in rows], axis=0)
            sums.append(total)
            return total

    watched = Watched(**vars(Mechanisms.exact("QuantileBins", [], np.zeros(5, np.int32))))
    corners = [*itertools.product([0.0, 0.31, 1.0, math.nan], repeat=2)]
    base = np.full((4, 2), 0.5)
    for corner in corners:
        step.fit_budget([np.vstack([base, [corner]])], space, 5, watched)
    if adjacency == "replace-one":
        worst = max(np.linalg.norm(a - b) for a, b in itertools.combinations(sums, 2))
    else:
        step.fit_budget([base], space, 5, watched)
        worst = max(np.linalg.norm(a - sums[-1]) for a in sums)
    assert worst <= stated <= worst * 1.0001


def test_edges_are_between_rank_and_width():
    rows = np.concatenate([np.full(900, 0.1), np.linspace(0, 1, 100)])[:, None]
    space = Domain.box(0, 1, 1, [0, 1]).space
    edges = QuantileBins(10, payment=Public(rows)).fit_public([rows], space, 1000).edges
    assert (np.diff(edges) >= 0).all() and (edges > 0.1 + 1e-9).sum() >= 3  # the tail has bins, too
    assert np.isclose(edges, 0.1).sum() >= 3  # and so has the heavy value
    flat = QuantileBins(4, payment=Public(rows)).fit_public([np.full((9, 1), math.nan)], space, 9).edges
    np.testing.assert_allclose(flat, [0.25, 0.5, 0.75])  # nothing is there: even ones


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda: Bins({}), "edges must map"),
        (lambda: Bins({"a": [0.5, 0.5]}), "ascending"),
        (lambda: Bins({"a": []}), "ascending"),
        (lambda: Bins({"a": 1}), "edges of 'a'"),
        (lambda: Bins({"a": [math.nan]}), "edges of 'a'"),
        (lambda: Bins({"a": 4}, 1.0), "smooth"),
        (lambda: Bins({"z": 4}).output(DOMAIN.space), "'z' is not a feature"),
        (lambda: QuantileBins(4), "needs payment"),
        (lambda: QuantileBins(1, payment=Budget()), "bins"),
        (lambda: QuantileBins(1024, payment=Budget()).output(Domain.box(0, 1, 200, [0, 1]).space), "cells"),
        (lambda: QuantileBins(4, payment=prepriv.Sensitivity()), "cannot be paid for by sensitivity"),
        (lambda: prepriv.PrivateClassifier(Domain.ball(3, [0, 1]), steps="additive").plan(100), "additive"),
        (lambda: prepriv.PrivateClassifier(DOMAIN, steps="sums").plan(100), "dpsgd, or a list"),
    ],
)
def test_bad_input_is_one_sentence(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize(
    "field, value", [("smooth", 1.5), ("counts", [9]), ("edges", [2.0, 1.0]), ("gaps", [0, 0])]
)
def test_a_map_that_does_not_fit_is_refused(field, value):
    written = write_map(BinCodes(np.array([0]), np.array([2]), np.array([0.1, 0.2]), np.array([0]), 0.5))
    assert (read_map(written).transform(np.array([[0.15]])) == codes(3, 0.5)[1]).all()
    with pytest.raises(ValueError):
        replace(read_map(written), **{field: np.array(value) if isinstance(value, list) else value})


# ------------------------------------------------------------------------------------------------ additive models


@pytest.fixture(scope="module")
def additive():
    return prepriv.PrivateClassifier(
        DOMAIN, epsilon=2.0, delta=1e-6, steps="additive", class_weight="balanced"
    ).fit(X, Y)


def test_the_score_is_the_sum_of_the_shapes(additive, tmp_path):
    model = Model.load(additive.model_.save(tmp_path))
    total = np.zeros(N)
    for shape in model.shapes():
        cells = X[shape.column]
        if shape.edges is None:
            at = cells.map(shape.names.index).to_numpy()
        else:
            at = np.searchsorted(shape.edges[1:-1], cells, "right").clip(0, len(shape.edges) - 2)
            at = np.where(np.isnan(cells), len(shape.names) - 1, at)
        total += shape.values[at, 0]
    constant = model.scores(X)[:, 0] - total
    np.testing.assert_allclose(constant, constant[0], atol=1e-9)
    a, b, c = model.shapes()
    assert len(a.edges) == len(a.names) + 1 and a.edges[0] == 0 and a.edges[-1] == 100
    assert b.names[-1] == "missing" and c.names == ("u", "v", "other", "missing")
    assert c.values[0, 0] > c.values[1, 0]
    middle = (a.edges[:-1] + a.edges[1:]) / 2
    assert np.corrcoef(a.values[:, 0], np.sin(middle / 16))[0, 1] > 0.8
    assert additive.score(X, Y) > 0.75


def test_the_page_draws_the_shapes(additive):
    page = additive.report_.to_html()
    assert all(page.count(f"<title>What {c} adds to the score</title>") == 1 for c in "abc")
    assert "Its largest weights" not in page and len(page) < 1_000_000
    assert "therefore too flat" in page


def test_what_is_said_of_heights_is_what_docs_say(additive):
    """A reader measured curves of a third of their height, with a band that excludes the truth, and nothing said so."""
    text = (Path(__file__).parents[2] / "docs/additive.md").read_text("utf-8")
    for what, kinds in (("two classes", _OF_CLASSES), ("numbers", _OF_NUMBERS)):
        for most, height in kinds:
            row = re.search(rf"\| {what} \| \d+ to {most:g} \| \d+ \| [-.\d]+ \| ([.\d]+) \|", text)
            assert row is not None and round(100 * float(row[1])) == height
    height = next(h for most, h in _OF_CLASSES if additive.model_.declared.signal < most)
    assert f"had {height} % of its height" in flat_in_words(additive.model_.declared)
    assert flat_in_words(replace(additive.model_.declared, epsilon=math.inf)) == ""


def test_bands_are_what_noise_alone_makes():
    """No declared label: no gradient, so that the weights are noise and the bands have to be exact."""
    plan = prepriv.PrivateClassifier(replace(DOMAIN, n=400), epsilon=1.0, delta=1e-6, steps="additive").plan()
    plan = replace(plan, learner=replace(plan.learner, steps=10))
    values, bands = [], []
    for _ in range(40):
        model = Model.of(train(plan, X[:400], ["none"] * 400, counted=False))
        values.append(np.concatenate([s.values[:, 0] for s in model.shapes()]))
        bands.append(np.concatenate([s.band for s in model.shapes()]))
    ratio = np.sqrt(np.mean(np.square(values), axis=0)) / (np.mean(bands, axis=0) / 2)
    assert abs(np.sqrt(np.mean(ratio**2)) - 1) < 0.15
    assert (ratio > 0.5).all() and (ratio < 1.6).all()


def test_bands_of_fitted_models_are_wide_rather_than_narrow():
    plan = prepriv.PrivateClassifier(DOMAIN, epsilon=2.0, delta=1e-6, steps="additive").plan(2000)
    steps = tuple(Bins({"a": 8, "b": 8}, 0.9) if isinstance(s, QuantileBins) else s for s in plan.pipeline)
    plan = prepriv.make_plan(DOMAIN, steps, plan.learner, epsilon=2.0, delta=1e-6, n=2000)
    fits = [Model.of(train(plan, X[:2000], Y[:2000], counted=False)).shapes() for _ in range(8)]
    found = np.std([np.concatenate([s.values[:, 0] for s in f]) for f in fits], axis=0, ddof=1)
    band = np.concatenate([s.band for s in fits[0]]) / 2
    assert np.sqrt((found**2).mean() / (band**2).mean()) < 1.1


def test_a_model_that_is_no_sum_has_no_shapes():
    other = prepriv.PrivateClassifier(DOMAIN, steps="linear").fit(X[:500], Y[:500])
    with pytest.raises(ValueError, match="not a sum of functions"):
        other.model_.shapes()
    steps = [Bins({"a": 4}), prepriv.preprocessing.ConstantImputer(0.5), Center(payment=Budget(0.1))]
    some = prepriv.PrivateClassifier(DOMAIN, steps=steps).fit(X[:500], Y[:500])
    with pytest.raises(ValueError, match="not a sum of functions"):
        some.model_.shapes()


def test_many_classes_and_a_target_have_shapes_too():
    three = replace(DOMAIN, classes=("a", "b", "c"))
    made = prepriv.PrivateClassifier(three, steps="additive").fit(X[:500], np.where(Y[:500] == 1, "a", "c"))
    assert {s.values.shape[1] for s in made.model_.shapes()} == {3}
    target = replace(DOMAIN, classes=(), target=Numeric(0, 1))
    number = prepriv.PrivateRegressor(target, epsilon=2.0, steps="additive").fit(X, Y)
    assert [s.column for s in number.model_.shapes()] == ["a", "b", "c"]


def test_a_picture_is_of_the_shape_alone(additive):
    for shape in additive.model_.shapes():
        drawn = picture(shape)
        assert drawn == picture(shape) and drawn.startswith("<svg") and "nan" not in drawn
        assert ("polygon" in drawn) == (shape.band is not None)
    hostile = replace(additive.model_.shapes()[2], column="<script>")
    assert "<script>" not in picture(hostile)
