"""Random features: fixed signs, the same bits in any block, inside the ball, better than a hyperplane."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from prepriv import Budget, Domain, PrivateClassifier, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.preprocessing.random_features import AddRandomFeatures, RandomFeatures, directions, enough_signs
from prepriv.release.model import BadArtifact, Model
from prepriv.space import Space


def test_the_signs_are_part_of_the_format():
    assert directions(3, 8).T.astype(int).tolist() == [
        [-1, 1, -1],
        [-1, -1, -1],
        [-1, 1, 1],
        [1, 1, 1],
        [1, -1, 1],
        [-1, -1, 1],
        [1, -1, 1],
        [-1, 1, -1],
    ]
    assert (directions(3, 5) == directions(3, 8)[:, :5]).all()
    table = directions(784, 1024)
    assert set(np.unique(table)) == {-1.0, 1.0}
    assert abs(table.mean()) < 5 / math.sqrt(table.size)
    assert np.abs(table.T @ table / 784 - np.eye(1024)).max() < 6 / math.sqrt(784)


@pytest.mark.parametrize("d", [1, 2, 7, 100, 1025])
def test_a_row_has_the_same_bits_wherever_it_stands(rng, d):
    fitted = RandomFeatures(33).free(Space.ball(d, 2.0))
    x = rng.standard_normal((301, d)) * 10.0 ** rng.integers(-300, 3, (301, 1))
    x[5] = 0.0
    whole = fitted.transform(x)
    for order in (slice(17, 23), slice(300, 301), np.arange(300, -1, -1)):
        assert (fitted.transform(x[order].copy()) == whole[order]).all()
    assert np.isfinite(whole).all() and not whole[5].any()


def test_sums_of_the_cut_rows_are_exact(rng):
    d = 1025
    x = np.ones((4, d)) * np.array([[1.0], [1 - 2.0**-30], [2.0**-1000], [-3.0]])
    bits = 24 - math.ceil(math.log2(d))
    cut = np.trunc(np.ldexp(x, bits - np.frexp(np.abs(x).max(axis=1, keepdims=True))[1]))
    assert np.abs(cut).sum(axis=1).max() <= 2**24
    exact = cut @ directions(d, 64).astype(np.float64)
    assert (cut.astype(np.float32) @ directions(d, 64) == exact).all()


@pytest.mark.parametrize("d", [1, 2, 3, 4, 15, 16, 63, 64])
def test_few_columns_get_sums_of_signs_and_the_products_stay_exact(d):
    signs = enough_signs(d)
    table = directions(d, 300, signs)
    assert d * signs >= 64 and (signs == 1 or d * signs // 4 < 64)
    assert (table * math.sqrt(signs) % 2 == signs % 2).all() and np.abs(table).max() <= math.sqrt(signs)
    assert (directions(d, 100, signs) == table[:, :100]).all()
    assert abs(table.mean()) < 5 / math.sqrt(table.size)
    assert abs((table**2).mean() - 1) < 7 / math.sqrt(table.size)
    if d > 1:
        assert len({tuple(column) for column in table.T}) > 150  # of three columns there are 8 sign vectors
    x = np.ones((3, d)) * np.array([[1.0], [1 - 2.0**-30], [-3.0]])
    bits = 24 - math.ceil(math.log2(d * signs))
    cut = np.trunc(np.ldexp(x, bits - np.frexp(np.abs(x).max(axis=1, keepdims=True))[1]))
    assert np.abs(cut).sum(axis=1).max() * signs <= 2**24
    assert (cut.astype(np.float32) @ table == cut @ table.astype(np.float64)).all()


def test_features_are_those_of_the_formula(rng):
    x = rng.standard_normal((50, 20))
    x /= 1.01 * np.linalg.norm(x, axis=1, keepdims=True)
    got = AddRandomFeatures(4000, 1.0, 10.0).transform(x) * math.sqrt(2)
    z = np.abs(x @ directions(20, 4000)) - math.sqrt(2 / math.pi) * np.linalg.norm(x, axis=1, keepdims=True)
    np.testing.assert_allclose(got[:, 20:], z / math.sqrt((1 - 2 / math.pi) * 4000), atol=1e-6)
    np.testing.assert_allclose(got[:, :20], x)
    norms = np.linalg.norm(got[:, 20:], axis=1) / np.linalg.norm(x, axis=1)
    assert norms.min() > 0.85 and norms.max() < 1.15


@pytest.mark.parametrize("weight", [0.1, 1.0, 30.0])
def test_rows_stay_in_their_ball(rng, weight):
    space = Space.ball(6, 2.5)
    step = RandomFeatures(40, weight=weight)
    x = np.vstack([rng.standard_normal((200, 6)), np.eye(6), np.ones((1, 6))])
    x *= 2.5 / np.linalg.norm(x, axis=1, keepdims=True)
    assert np.linalg.norm(step.free(space).transform(x), axis=1).max() <= step.output(space).radius * (
        1 + 1e-12
    )
    assert step.output(space).d == 46


def test_a_private_linear_model_learns_what_no_hyperplane_can(rng):
    x = rng.standard_normal((4000, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = (x[:, 0] * x[:, 1] > 0).astype(int)  # exclusive or
    domain = Domain.ball(5, (0, 1), radius=1.0, n=3000)
    scores = {}
    for name, steps in {"plain": [], "random": [RandomFeatures(256)]}.items():
        clf = PrivateClassifier(domain, steps=[*steps, pre.Rescale(5.0)], epsilon=4.0)
        scores[name] = clf.fit(x[:3000], y[:3000]).score(x[3000:], y[3000:])
    assert scores["plain"] < 0.65 < 0.75 < scores["random"]


def test_it_is_free_saved_with_the_model_and_refuses_moved_rows(tmp_path, rng):
    x = rng.random((200, 3))
    steps = [RandomFeatures(9), pre.Center(payment=Budget(0.1))]
    clf = PrivateClassifier(Domain.box(0, 1, 3, [0, 1]), steps=steps, epsilon=5.0)
    clf.fit(x, (x[:, 0] > 0.5).astype(int))
    path = clf.model_.save(tmp_path / "model")
    assert (Model.load(path).scores(x) == clf.model_.scores(x)).all()
    good = path.read_text()
    for key, bad in [("features", b) for b in (0, 1.5, 2**40, "9")] + [
        ("signs", b) for b in (0, 3, 256, None)
    ]:
        data = json.loads(good)
        assert data["maps"][0]["map"] == "random_features"
        data["maps"][0][key] = bad
        path.write_text(json.dumps(data))
        with pytest.raises(BadArtifact):
            Model.load(path)
    data = json.loads(good)
    data["maps"][0] |= {"signs": 1}
    path.write_text(json.dumps(data))
    with_one = Model.load(path).scores(x)
    del data["maps"][0]["signs"]  # as models were written before there were sums of signs
    path.write_text(json.dumps(data))
    assert (Model.load(path).scores(x) == with_one).all()
    with pytest.raises(ValueError, match="free"):
        RandomFeatures(9, payment=Budget(0.1))
    impute = pre.MeanImputer(payment=Sensitivity({"missing": 0.1}))
    from prepriv import Numeric

    domain = Domain({"age": Numeric(0, 9, "impute")}, (0, 1), n=100)
    with pytest.raises(ValueError, match="not a Lipschitz map"):
        make_plan(
            domain,
            [impute, RandomFeatures(9)],
            GradientDescent(Logistic(), weight_bound=1.0),
            epsilon=1.0,
            delta=1e-5,
        )


@pytest.mark.parametrize(
    "bad", [{"features": 0}, {"features": 1.5}, {"features": 2**17}, {"weight": 0.0}, {"features": True}]
)
def test_bad_settings_are_refused_by_name(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        RandomFeatures(**bad)
