"""PCA: exact projections, the public and the private fit, and why there is none by sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from neighbouring import blocks, into_ball

from prepriv.domain import Domain
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.mechanisms.covariance import Apart, private_second_moment
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession, Session
from prepriv.payment import Budget, Public, Sensitivity
from prepriv.plans.plan import make_plan
from prepriv.preprocessing import base
from prepriv.preprocessing._projector import Projection, SpectrumCaps
from prepriv.preprocessing.pca import PCA, Project, RankReduction, leading
from prepriv.preprocessing.second_moment import second_moment_shift
from prepriv.space import Space


def directions(rng, d, k):
    return np.linalg.qr(rng.normal(size=(d, k)))[0]


# ------------------------------------------------------------------------------------------ the released map


@pytest.mark.parametrize("d, k", [(1, 1), (3, 2), (50, 7), (784, 50), (1500, 3)])
def test_a_row_has_the_same_bits_in_any_block(d, k):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(257, d)) * 10.0 ** rng.integers(-12, 12, (257, 1))
    x[3] = 0.0
    fitted = Project.onto(directions(rng, d, k))
    whole = fitted.transform(x)
    order = rng.permutation(257)
    assert (fitted.transform(x[order]) == whole[order]).all()
    assert (np.vstack([fitted.transform(row[None]) for row in x]) == whole).all()
    assert (fitted.transform(x[5:200][::3]) == whole[5:200][::3]).all()
    assert (fitted.transform(np.asfortranarray(x)) == whole).all()
    assert (Project(np.asfortranarray(fitted.components)).transform(x) == whole).all()


@pytest.mark.parametrize("cell", [5e-324, 1e-310, 2.0**-1000, 2.0**-899, 1e300])
def test_a_row_of_extreme_cells_is_projected_to_numbers(cell):
    x = np.array([[cell, -cell, cell], [0.5, 0.25, 0.0]])
    y = Project.onto(np.eye(3)[:, :2]).transform(x)
    assert np.isfinite(y).all()
    assert np.abs(y[0] - x[0, :2]).max() <= max(cell * 1e-7, 2.0**-900)


def test_the_naive_product_does_depend_on_the_block():
    """Why the exact product is there: the plain one changes last bits with the shape of the block."""
    rng = np.random.default_rng(2)
    x, c = rng.normal(size=(64, 301)), directions(rng, 301, 9)
    whole = x @ c
    assert any((x[i : i + 1] @ c != whole[i : i + 1]).any() for i in range(64))


@pytest.mark.parametrize("d, k", [(3, 2), (100, 30), (784, 50)])
def test_projections_are_right_to_twelve_digits_and_expand_nothing(d, k):
    rng = np.random.default_rng(3)
    v = directions(rng, d, k)
    fitted, x = Project.onto(v), rng.normal(size=(50, d))
    y = fitted.transform(x)
    assert np.abs(y - x @ fitted.components).max() <= 1e-11 * np.abs(x).max()
    assert np.abs(fitted.components - v).max() < 1e-5
    assert np.linalg.norm(fitted.components, 2) <= 1.0
    space, moved = Space.ball(d, np.linalg.norm(x, axis=1).max()), base.RowShift(25, 1.0, 5.0)
    allowed = PCA(k, payment=Public()).propagate(space, moved)
    cut = allowed.row_shift - moved.row_shift
    assert 0 < cut < 1e-6
    near = x + rng.normal(size=x.shape) * 1e-9
    far = np.linalg.norm(y - fitted.transform(near), axis=1)
    assert (far <= np.linalg.norm(x - near, axis=1) + cut).all()
    assert allowed.total_shift >= 5.0 + 25 * cut * (1 - 1e-9)


def test_a_stored_map_reads_back_the_same():
    rng = np.random.default_rng(4)
    fitted, x = Project.onto(directions(rng, 20, 4)), rng.normal(size=(9, 20))
    stored = fitted.to_json()
    assert stored["map"] == "project"
    assert (Project(np.array(stored["components"])).transform(x) == fitted.transform(x)).all()


def test_a_row_that_is_not_finite_spoils_no_other_row():
    rng = np.random.default_rng(5)
    fitted, x = Project.onto(directions(rng, 6, 2)), rng.normal(size=(4, 6))
    clean = fitted.transform(x)
    x[1, 2], x[2, 0] = np.nan, np.inf
    assert (fitted.transform(x)[[0, 3]] == clean[[0, 3]]).all()


# ---------------------------------------------------------------------------------------------- public, budget


def low_rank(rng, n, d, k):
    x = rng.normal(size=(n, k)) @ directions(rng, d, k).T + 0.01 * rng.normal(size=(n, d))
    return into_ball(x / np.linalg.norm(x, axis=1).max())


def test_public_fit_finds_the_leading_directions():
    rng = np.random.default_rng(6)
    x = low_rank(rng, 300, 12, 3)
    space = Space.ball(12, 1.0)
    fitted = PCA(3, payment=Public(x)).fit_public(blocks(x), space, 300)
    expected = np.linalg.svd(x)[2][:3]
    overlap = np.linalg.svd(fitted.components.T @ expected.T)[1]
    assert overlap.min() > 1 - 1e-4
    assert PCA(3, payment=Public(x)).output(space).d == 3
    with pytest.raises(ValueError, match="public rows"):
        PCA(3, payment=Public(x)).fit_public([x[:2]], space, 2)


_TOGETHER = Apart()


@dataclass
class Mechanism:
    """The Gaussian mechanism as a run hands it to the step."""

    session: Session
    n: int
    multiplier: float
    apart: Apart = _TOGETHER

    def second_moment(self, rows, *, d, radius):
        return private_second_moment(
            rows,
            name="PCA",
            d=d,
            radius=radius,
            n=self.n,
            adjacency="replace-one",
            noise_multiplier=self.multiplier,
            session=self.session,
            apart=self.apart,
        )


def test_private_fit_without_noise_is_the_public_fit():
    rng = np.random.default_rng(7)
    x, space = low_rank(rng, 400, 10, 3), Space.ball(10, 1.0)
    step = PCA(3, payment=Budget(0.1))
    fitted = step.fit_budget(blocks(x), space, 400, Mechanism(ExactSession(), 400, 0.0))
    exact = leading(x.T @ x / 400, 3)
    assert np.linalg.svd(fitted.components.T @ exact)[1].min() > 1 - 1e-5


def test_private_fit_with_noise_is_useful_and_records_one_release():
    rng = np.random.default_rng(8)
    n = 20_000
    x, space = low_rank(rng, n, 10, 3), Space.ball(10, 1.0)
    session = NoisySession(NoiseSource())
    fitted = PCA(3, payment=Budget(0.1)).fit_budget([x], space, n, Mechanism(session, n, 5.0))
    assert np.linalg.svd(fitted.components.T @ leading(x.T @ x, 3))[1].min() > 0.99
    assert [r.mechanism.coordinates for r in session.releases] == [100] and session.releases[
        0
    ].mechanism.noise_multiplier == 5.0


def test_the_matrix_has_the_law_of_the_upper_triangle_with_the_weights_of_the_norm():
    """Variance sigma^2 on the diagonal and half of it beside, sigma the multiplier times the declared shift."""
    rng = np.random.default_rng(9)
    n, d, multiplier = 50, 4, 2.0
    x = into_ball(rng.normal(size=(n, d)) * 9)
    shift = second_moment_shift(1.0, "replace-one", base.UNTOUCHED)
    fitted = [
        Mechanism(NoisySession(NoiseSource.for_tests(s)), n, multiplier).second_moment([x], d=d, radius=1.0)
        for s in range(600)
    ]
    noise = (np.array(fitted) - x.T @ x / n) * n / (multiplier * shift)
    assert (noise == noise.transpose(0, 2, 1)).all()
    on, off = noise[:, range(d), range(d)], noise[(slice(None), *np.triu_indices(d, 1))]
    assert np.std(on) == pytest.approx(1.0, rel=0.05) and np.abs(on.mean(axis=0)).max() < 0.2
    assert np.std(off) == pytest.approx(math.sqrt(0.5), rel=0.05) and np.abs(off.mean(axis=0)).max() < 0.15
    flat = np.hstack([on, off])
    assert np.abs(np.corrcoef(flat.T) - np.eye(flat.shape[1])).max() < 0.2


@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
def test_no_neighbours_move_the_second_moment_further(adjacency):
    rng = np.random.default_rng(10)
    step, space, best = PCA(1, payment=Budget(0.1)), Space.ball(3, 2.0), 0.0
    for _ in range(2000):
        s1 = into_ball(rng.normal(size=(4, 3)) * rng.choice([1, 9]), 2.0)
        s2 = into_ball(s1 + rng.normal(size=(4, 3)) * rng.choice([0.0, 0.1, 1.0]), 2.0)
        s2[0] = 0.0 if adjacency == "add-or-remove-one" else into_ball(rng.normal(size=3) * 9, 2.0)
        s2[3] = 0.0
        far = np.linalg.norm(s1 - s2, axis=1)[1:3]
        incoming = base.RowShift(2, far.max(), far.sum(), 1)
        found = np.linalg.norm(s1.T @ s1 - s2.T @ s2)
        allowed = step.l2_sensitivity(space, adjacency, incoming)
        assert found <= allowed
        best = max(best, found / allowed)
    assert best > 0.7
    one = math.sqrt(2) if adjacency == "replace-one" else 1.0
    assert step.l2_sensitivity(space, adjacency, base.UNTOUCHED) == pytest.approx(4 * one)


def test_the_plan_takes_a_private_pca_and_no_confidential_one_can_be_made():
    domain = Domain.ball(10, [0, 1], n=1000)
    learner = GradientDescent(Logistic(), steps=3)
    plan = make_plan(domain, [PCA(3, payment=Budget(0.1))], learner, epsilon=1.0, delta=1e-5)
    assert plan.steps[0].shift == pytest.approx(math.sqrt(2)) and plan.space.d == 3
    with pytest.raises(ValueError, match=r"price .* all rows; RankReduction"):
        PCA(3, payment=Sensitivity({"gap": 0.1}))


# ------------------------------------------------------------------------------------------------ by sensitivity


def turned_by_one_record():
    """n = 400, eigenvalues .5, .2045, .2005, 0: one record swaps the second and the third direction."""
    n = 400
    values = np.array([0.5, 0.2045, 0.2005, 0.0])
    e = np.eye(4)
    others = np.diag(values) - np.outer(e[1], e[1]) / n  # the moment of the common rows
    return others + np.outer(e[1], e[1]) / n, others + np.outer(e[2], e[2]) / n, 0.9 * e[1], n


def test_the_papers_bound_on_coordinates_is_false_and_only_a_rotation_mends_it():
    """Proposition 5: four times its covariance bound over the gap, .3005; a row moves 1.2728, and P does not."""
    m1, m2, row, n = turned_by_one_record()
    a1, a2 = leading(m1, 3), leading(m2, 3)
    a2 = a2 * np.sign([a1[0, 0] * a2[0, 0], 1, 1])
    far = np.linalg.norm((a1 - a2).T @ row)
    assert np.abs(a1 @ a1.T - a2 @ a2.T).max() < 1e-12
    assert far == pytest.approx(1.2728, abs=1e-4)
    gap = min(np.linalg.eigvalsh(m)[1] - np.linalg.eigvalsh(m)[0] for m in (m1, m2))
    paper = 4 * 2 * (3 * n + 2) / (n * (n - 1)) / gap
    assert paper == pytest.approx(0.3005, abs=1e-4) and paper < far
    left, _, right = np.linalg.svd(a2.T @ a1)
    aligned = np.linalg.norm((a1 - a2 @ left @ right).T @ row)
    assert aligned < 1e-9


def test_a_price_says_what_it_rests_on():
    claim = RankReduction(3, payment=Sensitivity({"gap": 0.1})).sensitivity(Space.ball(10, 1.0), 10_000)
    assert len(claim.conditions) == 1 and "gap" in str(claim.conditions[0])
    bounds = Projection(3, 10, 1.0, 10_000, False).bounds(base.UNTOUCHED, SpectrumCaps(0.1, 1e-3))
    assert {b.needs for b in bounds} == {(), ("gap",), ("tail",), ("gap", "tail")}


def test_refusals():
    missing = Domain.box(0, 1, 3, [0, 1], missing="impute").space
    for step in (PCA(2, payment=Public()), PCA(2, payment=Budget())):
        with pytest.raises(ValueError, match="imputation"):
            (step.fit_public if step.way == "public" else step.fit_budget)(
                [], missing, 5, *([] if step.way == "public" else [None])
            )
    with pytest.raises(ValueError, match="at most"):
        PCA(4, payment=Public()).output(Space.ball(3, 1.0))
    with pytest.raises(ValueError, match="one of public, budget"):
        PCA(2)
