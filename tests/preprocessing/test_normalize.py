"""Free maps: their norms and Lipschitz constants, attacked."""

from __future__ import annotations

import numpy as np
import pytest

from prepriv.preprocessing import ClipNorm, Homogenize, Normalize, Rescale
from prepriv.preprocessing.base import RowShift
from prepriv.space import Space

PULLED = [
    ClipNorm(1.0),
    ClipNorm(5.0),
    Normalize(1.0, floor=0.3),
    Normalize(2.0, floor=4.0),
    Homogenize(0.5),
    Homogenize(2.0, 3.0),
    Homogenize(0.5, 2.0, center=0.9),
    Homogenize(3.0, center=1.0),
]
STEPS = [*PULLED, Rescale(7.0)]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_no_pair_of_rows_beats_the_lipschitz_constant(step, rng):
    space = Space.ball(4, 3.0)
    fitted, constant = step.free(space), step.lipschitz(space)
    a = rng.standard_normal((20_000, 4)) * rng.choice([1e-6, 0.1, 1, 2], (20_000, 1))
    b = a + rng.standard_normal(a.shape) * rng.choice([1e-9, 1e-3, 1], (20_000, 1))
    moved = np.linalg.norm(fitted.transform(a) - fitted.transform(b), axis=1)
    apart = np.linalg.norm(a - b, axis=1)
    assert (moved <= constant * apart * (1 + 1e-6) + 1e-12).all()
    assert (moved / apart).max() >= 0.95 * constant  # attained


@pytest.mark.parametrize("step", [*PULLED, Normalize(1.0)], ids=str)
def test_output_lies_in_the_declared_space(step, rng):
    x = rng.standard_normal((1000, 4)) * 10.0 ** rng.integers(-200, 200, (1000, 1))
    out = step.free(Space.ball(4, 3.0)).transform(x)
    assert np.isfinite(out).all()
    longest = np.linalg.norm(out, axis=1).max()
    declared = getattr(step, "radius", 1.0)
    if isinstance(step, Homogenize):
        declared = step.output(Space.ball(4, 3.0)).radius
        assert longest == pytest.approx(declared, rel=1e-9)  # attained by rows far longer than the constant
    assert longest <= declared * (1 + 1e-12)


def test_plain_normalisation_is_not_lipschitz():
    assert Normalize(1.0).lipschitz(Space.ball(2, 1.0)) == np.inf
    fitted = Normalize(1.0).free(Space.ball(2, 1.0))
    tiny = np.array([[1e-9, 0.0], [-1e-9, 0.0]])
    assert np.linalg.norm(np.diff(fitted.transform(tiny), axis=0)) == pytest.approx(2.0)
    assert (fitted.transform(np.zeros((1, 2))) == 0).all()


def test_homogeneous_rows_have_one_norm_and_forget_nothing(rng):
    x = rng.standard_normal((500, 3)) * 10.0 ** rng.integers(-3, 3, (500, 1))
    out = Homogenize(0.5, 2.0).free(Space.ball(3, 3.0)).transform(x)
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 2.0)
    np.testing.assert_allclose(0.5 * out[:, :3] / out[:, 3:], x)
    w, b = rng.standard_normal(3), 0.3
    assert ((x @ w + b > 0) == (out @ np.append(w, b / 0.5) > 0)).all()


def test_a_centre_leaves_what_the_constant_says_of_a_row_and_every_hyperplane(rng):
    x = rng.standard_normal((500, 3))
    plain, centred = (
        Homogenize(0.5, 2.0, center=c).free(Space.ball(3, 3.0)).transform(x) for c in (0.0, 0.7)
    )
    np.testing.assert_allclose(plain - centred, [[0.0, 0.0, 0.0, 0.7]] * 500, atol=1e-15)
    w, b = rng.standard_normal(3), 0.3
    np.testing.assert_allclose(centred @ np.append(w, b) + 0.7 * b, plain @ np.append(w, b))


def test_rows_are_mapped_alike_in_any_block(rng):
    x = rng.standard_normal((301, 77))
    for step in (*STEPS, Normalize(1.0)):
        fitted = step.free(Space.ball(77, 3.0))
        whole = fitted.transform(x)
        for start, stop in ((0, 1), (1, 2), (5, 18), (300, 301), (17, 300)):
            assert (fitted.transform(x[start:stop].copy()) == whole[start:stop]).all()
        order = rng.permutation(301)
        assert (fitted.transform(x[order]) == whole[order]).all()


def test_shift_through_a_map_rounds_up():
    out = RowShift(3, 0.1, 0.3, 2, ("c",)).through(2.5)
    assert out.rows_moved == 3 and out.rows_dropped == 2 and out.conditions == ("c",)
    assert out.row_shift >= 0.25 and out.total_shift >= 0.75
    assert RowShift().through(np.inf) == RowShift()


def test_two_shifts_add_up_but_never_above_all_rows():
    a, b = RowShift(6, 1.0, 2.0, 1, ("p",)), RowShift(7, 0.5, 3.0, 0, ("p", "q"))
    both = a.plus(b, n=10)
    assert both.rows_moved == 9 and both.row_shift >= 1.5 and 5.0 <= both.total_shift <= 5.0 * (1 + 1e-9)
    assert both.conditions == ("p", "q")


@pytest.mark.parametrize(
    "make",
    [
        lambda: ClipNorm(0),
        lambda: Normalize(-1),
        lambda: Normalize(1, -1),
        lambda: Homogenize(0.0),
        lambda: Homogenize(1.0, -1.0),
        lambda: Homogenize(1.0, 2.0, center=2.1),
        lambda: Homogenize(1.0, center=-0.1),
        lambda: Rescale(np.inf),
        lambda: RowShift(-1),
    ],
)
def test_bad_settings(make):
    with pytest.raises(ValueError, match=r"must (be|lie in)"):
        make()
