"""Square roots: the declared space, no Lipschitz constant, the same bits in any block."""

from __future__ import annotations

import numpy as np
import pytest

from prepriv import Budget, Domain, Numeric, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.preprocessing.square_root import SquareRoot
from prepriv.space import Space


@pytest.mark.parametrize(
    "space", [Space.ball(5, 3.0), Domain.box(0, 1, 4, [0, 1]).space], ids=["ball", "box"]
)
def test_rows_land_in_the_declared_space_and_reach_its_rim(space, rng):
    x = rng.standard_normal((5000, space.d)) * 10.0 ** rng.integers(-8, 3, (5000, 1))
    x[:2] = space.high, np.full(space.d, space.radius / np.sqrt(space.d))
    x = np.clip(x, space.low, space.high)
    x *= np.minimum(1, space.radius / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300))
    out, after = SquareRoot().free(space).transform(x), SquareRoot().output(space)
    assert (out >= after.low).all() and (out <= after.high).all()
    norms = np.linalg.norm(out, axis=1)
    assert norms.max() <= after.radius and norms.max() >= 0.999 * after.radius


def test_it_is_the_signed_root_and_row_by_row(rng):
    fitted = SquareRoot().free(Space.ball(3, 1.0))
    assert fitted.transform(np.array([[4.0, -9.0, 0.0]])).tolist() == [[2.0, -3.0, 0.0]]
    x = rng.standard_normal((301, 7))
    assert (fitted.transform(x[17:23].copy()) == fitted.transform(x)[17:23]).all()


def test_no_shift_may_pass_through_it():
    tiny = np.array([[1e-12], [-1e-12]])
    moved = np.diff(SquareRoot().free(Space.ball(1, 1.0)).transform(tiny), axis=0)
    assert abs(moved.item()) / 2e-12 > 1e5
    domain = Domain({"age": Numeric(0, 9, "impute")}, (0, 1), n=100)
    impute = pre.MeanImputer(payment=Sensitivity({"missing": 0.1}))
    learner = GradientDescent(Logistic(), weight_bound=1.0)
    with pytest.raises(ValueError, match="not a Lipschitz map"):
        make_plan(domain, [impute, SquareRoot()], learner, epsilon=1.0, delta=1e-5)


def test_it_is_free_and_saved_with_the_model(tmp_path, rng):
    from prepriv import PrivateClassifier
    from prepriv.release.model import Model

    domain = Domain.box(0, 1, 3, [0, 1])
    steps = [SquareRoot(), pre.Center(payment=Budget(0.1))]
    x = rng.random((200, 3))
    clf = PrivateClassifier(domain, steps=steps, epsilon=5.0).fit(x, (x[:, 0] > 0.5).astype(int))
    path = clf.model_.save(tmp_path / "model")
    assert (Model.load(path).scores(x) == clf.model_.scores(x)).all()
    with pytest.raises(ValueError, match="free"):
        SquareRoot(payment=Budget(0.1))
