"""Losses: values, residuals, bits, and the constants L, µ, β under attack (docs/proofs/losses.md)."""

import math

import mpmath
import numpy as np
import pytest

from prepriv.domain import TARGET_STEPS
from prepriv.learners.loss_constants import (
    certified_supremum,
    direction_bound,
    logistic_input_lipschitz,
    softmax_cell,
    softmax_input_lipschitz,
    softmax_residual_norm,
)
from prepriv.learners.losses import (
    Hinge,
    HuberisedHinge,
    LeastSquares,
    Logistic,
    Loss,
    Softmax,
    SquaredHinge,
)
from prepriv.learners.targets import Huber, Quantile, SquaredError, TargetLoss

SMOOTH: list[tuple[Loss, int]] = [
    (Logistic(), 1),
    (Softmax(), 2),
    (Softmax(), 4),
    (SquaredHinge(), 1),
    (SquaredHinge(n_classes=3, margin=0.3), 3),
    (HuberisedHinge(width=0.3), 1),
    (HuberisedHinge(width=1.0), 1),
    (HuberisedHinge(n_classes=4, width=0.5, margin=2.0), 4),
    (LeastSquares(target_bound=1.5), 1),
    (SquaredError(), 1),
    (Huber(0.3), 1),
]
ALL = [*SMOOTH, (Quantile(0.8), 1), (Hinge(), 1), (Hinge(n_classes=3, margin=0.2), 3)]


def label(case):
    loss, outputs = case
    return f"{loss}x{outputs}"


def random_targets(rng, loss, outputs, b):
    if isinstance(loss, LeastSquares):
        return rng.uniform(-loss.target_bound, loss.target_bound, b)
    if isinstance(loss, TargetLoss):
        return rng.integers(-1, TARGET_STEPS, b, endpoint=True)
    return rng.integers(0, max(outputs, 2), b)


# --- values and residuals ---


@pytest.mark.parametrize("case", ALL, ids=label)
def test_residual_is_the_derivative_of_the_value(case):
    loss, outputs = case
    rng = np.random.default_rng(1)
    b, step = 4000, 1e-6
    scores = rng.normal(size=(b, outputs)) * rng.choice([0.1, 1.0, 5.0], size=(b, 1))
    targets = random_targets(rng, loss, outputs, b)
    direction = rng.normal(size=(b, outputs))
    slope = (
        loss.value(scores + step * direction, targets) - loss.value(scores - step * direction, targets)
    ) / (2 * step)
    error = np.abs(slope - np.sum(loss.residual(scores, targets) * direction, axis=1))
    # A hinge row whose corner lies between the two points has no derivative there.
    assert np.quantile(error, 0.999) < 1e-6
    if not isinstance(loss, Hinge | Quantile):
        assert error.max() < 1e-4


@pytest.mark.parametrize("case", ALL, ids=label)
def test_value_is_convex_and_not_negative(case):
    loss, outputs = case
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 3000, outputs)) * 4
    targets = random_targets(rng, loss, outputs, 3000)
    middle = loss.value((a + b) / 2, targets)
    assert (middle >= 0).all()
    assert (middle <= (loss.value(a, targets) + loss.value(b, targets)) / 2 + 1e-12).all()


def test_logistic_agrees_with_mpmath():
    scores = np.array([-800.0, -40.0, -1e-9, 0.0, 0.7, 3.0, 37.0, 750.0])
    with mpmath.workdps(40):
        for target, sign in ((1, 1), (0, -1)):
            targets = np.full(len(scores), target)
            value = Logistic().value(scores[:, None], targets)
            residual = Logistic().residual(scores[:, None], targets)[:, 0]
            for s, v, r in zip(scores, value, residual):
                margin = mpmath.mpf(s) * sign
                assert v == pytest.approx(float(mpmath.log1p(mpmath.exp(-margin))), rel=1e-14, abs=1e-300)
                assert r == pytest.approx(float(-sign / (1 + mpmath.exp(margin))), rel=1e-14, abs=1e-300)


def test_softmax_agrees_with_mpmath():
    rng = np.random.default_rng(3)
    with mpmath.workdps(60):
        for outputs in (2, 3, 10, 40):
            scores = rng.normal(size=(6, outputs)) * np.array([[0.1], [1], [10], [30], [100], [300]])
            targets = rng.integers(0, outputs, 6)
            value, residual = Softmax().value(scores, targets), Softmax().residual(scores, targets)
            for row in range(6):
                exps = [mpmath.exp(mpmath.mpf(s)) for s in scores[row]]
                total = mpmath.fsum(exps)
                expected = mpmath.log(total) - mpmath.mpf(scores[row, targets[row]])
                assert value[row] == pytest.approx(float(expected), rel=1e-13, abs=1e-13)
                for k in range(outputs):
                    exact = exps[k] / total - (k == targets[row])
                    assert residual[row, k] == pytest.approx(float(exact), rel=1e-12, abs=2e-15)


def test_two_class_softmax_is_logistic_of_the_difference():
    rng = np.random.default_rng(4)
    scores, targets = rng.normal(size=(500, 2)) * 5, rng.integers(0, 2, 500)
    margin = (scores[:, 1] - scores[:, 0])[:, None]
    assert Softmax().value(scores, targets) == pytest.approx(Logistic().value(margin, targets), rel=1e-12)
    assert Softmax().residual(scores, targets)[:, 1] == pytest.approx(
        Logistic().residual(margin, targets)[:, 0], rel=1e-12, abs=1e-15
    )


def test_huberised_hinge_joins_smoothly_and_tends_to_the_hinge():
    loss = HuberisedHinge(width=0.25)
    margins = np.array([[1.0], [0.75], [0.5], [-3.0]])
    ones = np.ones(4, dtype=int)
    assert loss.value(margins, ones) == pytest.approx([0.0, 0.125, 0.375, 3.875])
    assert loss.residual(margins, ones)[:, 0] == pytest.approx([0.0, -1.0, -1.0, -1.0])
    grid = np.linspace(-3, 3, 999)[:, None]
    ones = np.ones(999, dtype=int)
    gap = Hinge().value(grid, ones) - HuberisedHinge(width=1e-6).value(grid, ones)
    assert np.abs(gap).max() <= 0.5e-6 * 1.001


def test_margin_scales_the_hinge_as_in_paper_002():
    zeta, rng = 0.2, np.random.default_rng(5)
    scores, targets = rng.normal(size=(100, 1)), rng.integers(0, 2, 100)
    signs = 2.0 * targets - 1
    expected = np.maximum(1 - signs / zeta * scores[:, 0], 0)
    assert Hinge(margin=zeta).value(scores, targets) == pytest.approx(expected)


def test_one_versus_rest_is_a_sum_of_binary_losses():
    rng = np.random.default_rng(6)
    scores, targets = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    binary, many = SquaredHinge(margin=0.7), SquaredHinge(n_classes=3, margin=0.7)
    parts = [binary.value(scores[:, [k]], (targets == k).astype(int)) for k in range(3)]
    assert many.value(scores, targets) == pytest.approx(np.sum(parts, axis=0))
    columns = [binary.residual(scores[:, [k]], (targets == k).astype(int)) for k in range(3)]
    assert (many.residual(scores, targets) == np.hstack(columns)).all()


# --- bits, size, and targets out of range ---


@pytest.mark.parametrize("outputs", [1, 2, 3, 10, 33, 100])
def test_a_row_has_the_same_bits_wherever_it_stands(outputs):
    rng = np.random.default_rng(outputs)
    losses: list[Loss] = [Softmax()] if outputs > 1 else [Logistic(), LeastSquares(2.0)]
    for cls in (Hinge, SquaredHinge, HuberisedHinge):
        losses += [cls(n_classes=max(outputs, 2))] if outputs != 2 else []
    b = 1500
    scores = rng.normal(size=(b, outputs)) * rng.choice([1e-3, 1.0, 30.0, 1e4], size=(b, 1))
    for loss in losses:
        targets = random_targets(rng, loss, outputs, b)
        whole, values = loss.residual(scores, targets), loss.value(scores, targets)
        order = rng.permutation(b)
        assert (loss.residual(scores[order], targets[order]) == whole[order]).all()
        assert (loss.value(scores[order], targets[order]) == values[order]).all()
        for start, size in ((0, 1), (1, 7), (3, 64), (11, 1021), (b - 3, 3)):
            part = slice(start, start + size)
            assert (loss.residual(scores[part], targets[part]) == whole[part]).all()
            assert (loss.value(scores[part], targets[part]) == values[part]).all()
        for row in range(0, b, 97):
            one = slice(row, row + 1)
            assert (loss.residual(scores[one], targets[one]) == whole[one]).all()
        assert (loss.residual(np.asfortranarray(scores), targets) == whole).all()
        buffer = scores.copy()
        assert loss.residual(buffer, targets, out=buffer) is buffer
        assert (buffer == whole).all()


@pytest.mark.parametrize("case", ALL, ids=label)
def test_residual_is_finite_for_scores_of_any_size(case):
    loss, outputs = case
    huge = np.array([0.0, 1e308, -1e308, 1.7e308, -1.7e308, 5e-324, -0.0, 745.0, -745.0])
    grid = np.stack(np.meshgrid(*[huge] * min(outputs, 3)), axis=-1).reshape(-1, min(outputs, 3))
    scores = np.hstack([grid, np.zeros((len(grid), outputs - grid.shape[1]))])
    for target in range(max(outputs, 2)):
        residual = loss.residual(scores, np.full(len(scores), target))
        assert np.isfinite(residual).all()
        if isinstance(loss, (Softmax, Logistic, Hinge, HuberisedHinge)):
            limit = loss.gradient_norm(1.0, math.inf) * (1 + 1e-12)
            assert np.linalg.norm(residual, axis=1).max() <= limit


@pytest.mark.parametrize("case", ALL, ids=label)
def test_a_target_out_of_range_contributes_nothing(case):
    loss, outputs = case
    if isinstance(loss, LeastSquares):
        bad = np.array([math.nan, math.inf, -math.inf, 1e9])
        assert loss.residual(np.zeros((4, 1)), bad)[:, 0].tolist() == [0.0, -1.5, 1.5, -1.5]
        return
    scores = np.ones((4, outputs))
    beyond = TARGET_STEPS + 1 if isinstance(loss, TargetLoss) else max(outputs, 2)
    targets = np.array([-1, 0, beyond, 2**40])
    residual, value = loss.residual(scores, targets), loss.value(scores, targets)
    assert not residual[[0, 2, 3]].any() and not value[[0, 2, 3]].any()
    assert residual[1].any()


def test_empty_blocks():
    for loss, outputs in ALL:
        targets = np.zeros(0, dtype=int)
        assert loss.residual(np.zeros((0, outputs)), targets).shape == (0, outputs)
        assert loss.value(np.zeros((0, outputs)), targets).shape == (0,)


def test_refusals_name_the_argument():
    with pytest.raises(ValueError, match="n_classes"):
        Logistic().outputs(3)
    with pytest.raises(ValueError, match="n_classes"):
        Hinge(n_classes=3).outputs(4)
    with pytest.raises(ValueError, match="margin"):
        Hinge(margin=0.0)
    with pytest.raises(ValueError, match="width"):
        HuberisedHinge(width=1.5)
    with pytest.raises(ValueError, match="target_bound"):
        LeastSquares(math.inf)
    with pytest.raises(ValueError, match="radius"):
        Softmax().gradient_norm(math.nan, 1.0)
    with pytest.raises(ValueError, match="weight_norm"):
        Softmax().input_lipschitz(1.0, -1.0)
    with pytest.raises(ValueError, match="scores"):
        Logistic().residual(np.zeros((4, 2)), np.zeros(4, dtype=int))
    with pytest.raises(ValueError, match="targets"):
        Softmax().residual(np.zeros((4, 2)), np.zeros(4))


# --- the constants ---


def _into_ball(array, radius):
    """Each candidate pulled back to the ball of its kind, norms over all axes but the first."""
    norms = np.sqrt(np.sum(array**2, axis=tuple(range(1, array.ndim)), keepdims=True))
    return array * np.minimum(1.0, radius * (1 - 1e-12) / np.maximum(norms, 1e-300))


def attack(loss, outputs, radius, weight_norm, what, *, seed=0, population=192, rounds=300, dimension=3):
    """Hill climbing by many candidates at once for the largest L, µ or β that the loss really attains.

    Works on residuals alone: it knows nothing of the proofs. Returns the best value found.
    """
    rng = np.random.default_rng(seed)
    targets = random_targets(rng, loss, outputs, population)
    shapes = {"w": (outputs, dimension), "x": (dimension,), "w2": (outputs, dimension), "x2": (dimension,)}

    def clean(c):
        c = {k: _into_ball(v, weight_norm if k[0] == "w" else radius) for k, v in c.items() if k != "y"} | {
            "y": c["y"]
        }
        return c

    def gradient(w, x, y):
        scores = np.einsum("ikj,ij->ik", w, x)
        return np.einsum("ik,ij->ikj", loss.residual(scores, y), x)

    def norm(array):
        return np.sqrt(np.sum(array**2, axis=tuple(range(1, array.ndim))))

    def score(c):
        here = gradient(c["w"], c["x"], c["y"])
        if what == "L":
            return norm(here)
        if what == "mu":
            there, distance = gradient(c["w"], c["x2"], c["y"]), norm(c["x"] - c["x2"])
        else:
            there, distance = gradient(c["w2"], c["x"], c["y"]), norm(c["w"] - c["w2"])
        return np.where(distance > 1e-5, norm(here - there) / np.maximum(distance, 1e-5), 0.0)

    spread = {k: (weight_norm if k[0] == "w" else radius) for k in shapes}
    current = {k: rng.normal(size=(population, *s)) * spread[k] for k, s in shapes.items()}
    # Half of the pairs start close together: a derivative in place of a chord.
    for one, two in (("x", "x2"), ("w", "w2")):
        near = current[one] + 1e-4 * current[two]
        half = np.arange(population) % 2 == 0
        current[two][half] = near[half]
    current["y"] = targets
    current = clean(current)
    best, size = score(current), np.full(population, 0.5)
    for _ in range(rounds):
        trial = {}
        together = rng.random(population) < 0.5
        for k, s in shapes.items():
            step = rng.normal(size=(population, *s)) * spread[k]
            trial[k] = current[k] + step * size.reshape(-1, *[1] * len(s))
        # Moving both ends of a pair by the same step keeps a derivative a derivative.
        for one, two in (("x", "x2"), ("w", "w2")):
            shift = trial[one] - current[one]
            trial[two][together] = (current[two] + shift)[together]
        trial["y"] = current["y"]
        trial = clean(trial)
        value = score(trial)
        better = value > best
        for k in shapes:
            current[k][better] = trial[k][better]
        best = np.where(better, value, best)
        size = np.clip(np.where(better, size * 1.3, size * 0.93), 1e-6, 0.5)
    return float(best.max())


REACHES = [(1.0, 0.3), (1.0, 1.0), (1.5, 2.0), (0.5, 20.0)]  # (R, B)


@pytest.mark.parametrize("case", ALL, ids=label)
def test_attack_does_not_beat_the_gradient_norm(case):
    loss, outputs = case
    for radius, weight_norm in REACHES:
        found = attack(loss, outputs, radius, weight_norm, "L", rounds=150)
        bound = loss.gradient_norm(radius, weight_norm)
        assert found <= bound
        assert found >= (0.6 if isinstance(loss, Softmax) else 0.9) * bound


@pytest.mark.parametrize("case", SMOOTH, ids=label)
def test_attack_does_not_beat_the_input_lipschitz_constant(case):
    loss, outputs = case
    for radius, weight_norm in REACHES:
        found = attack(loss, outputs, radius, weight_norm, "mu")
        bound = loss.input_lipschitz(radius, weight_norm)
        # Chords are no shorter than 1e-5: rounding moves a quotient by less than 1e-9.
        assert found <= bound * (1 + 1e-9)
        assert found >= 0.6 * bound


@pytest.mark.parametrize("case", SMOOTH, ids=label)
def test_attack_does_not_beat_the_smoothness(case):
    loss, outputs = case
    for radius, weight_norm in REACHES[1:]:
        found = attack(loss, outputs, radius, weight_norm, "beta", rounds=150)
        assert found <= loss.smoothness(radius) * (1 + 1e-9)
    assert found >= 0.6 * loss.smoothness(radius)


def test_hinge_gradient_jumps():
    """µ and β are infinite: two records apart by nothing, gradients apart by R."""
    scores, ones = np.array([[1 - 1e-15], [1.0]]), np.ones(2, dtype=int)
    assert np.diff(Hinge().residual(scores, ones)[:, 0]) == [1.0]
    assert Hinge().input_lipschitz(1.0, 1.0) == Hinge().smoothness(1.0) == math.inf


def test_constants_are_below_the_design_table():
    for reach in (0.1, 0.5, 1.0, 1.5, 2.0, 4.0, 16.0, 300.0):
        table = (
            (reach + 1) ** 2 / (4 * reach)
            if reach > 1 and (1 + 1 / reach) / 2 <= 1 / (1 + math.exp(-reach))
            else (1 + reach / (1 + math.exp(reach))) / (1 + math.exp(-reach))
        )
        assert Logistic().input_lipschitz(1.0, reach) <= table * (1 + 4e-4)
        assert Softmax().input_lipschitz(1.0, reach) <= math.sqrt(2) + reach / 2
        assert Softmax().gradient_norm(2.0, reach) <= 2 * math.sqrt(2) * (1 + 1e-11)
        assert HuberisedHinge(width=0.4).input_lipschitz(1.0, reach) <= 1 + reach / 0.4
    assert Logistic().input_lipschitz(1.0, 4.0) == pytest.approx(1.3094, rel=1e-3)  # the table has 1.5625
    assert Softmax().input_lipschitz(1.0, 4.0) < 2.6  # the table has 3.414


@pytest.mark.parametrize("reach", [0.01, 0.3, 1.0, 1.6, 3.0, 8.0, 50.0, 4000.0])
def test_logistic_constant_is_the_supremum_of_a_fine_grid_rounded_up(reach):
    t = np.linspace(0, min(reach, 60.0), 400_001)
    p, q = 1 / (1 + np.exp(-t)), np.exp(-t) / (1 + np.exp(-t))
    top = np.max(0.5 * p * (q * reach + np.sqrt(q * q * reach * reach + 4 + 4 * q * t)))
    assert top <= logistic_input_lipschitz(reach) <= top * (1 + 3.1e-4)
    assert logistic_input_lipschitz(int(reach) + 1) == logistic_input_lipschitz(float(int(reach) + 1))


def test_softmax_constants_hold_for_many_classes_and_two_classes_come_close():
    """Exact one-direction supremum at random scores (Lemma 1), 2 to 40 classes."""
    rng = np.random.default_rng(7)
    for reach in (0.2, 0.7, 1.0, 2.0, 4.0, 8.0, 30.0):
        bound, residual_bound = softmax_input_lipschitz(reach), softmax_residual_norm(reach)
        found = 0.0
        for _ in range(4000):
            outputs = int(rng.choice([2, 2, 3, 4, 10, 40]))
            s = rng.normal(size=outputs) * rng.choice([1, 1, 0.05], size=outputs)
            s -= s.mean()
            s *= reach * rng.random() ** 0.5 / np.linalg.norm(s)
            p = np.exp(s - s.max())
            p /= p.sum()
            r = p.copy()
            r[rng.integers(outputs)] -= 1
            jacobian = np.diag(p) - np.outer(p, p)
            j, h, size = np.linalg.eigvalsh(jacobian)[-1], np.linalg.norm(jacobian @ s + r), np.linalg.norm(r)
            cross = j * math.sqrt(max(reach**2 - s @ s, 0.0))
            exact = 0.5 * (math.hypot(h + size, cross) + math.hypot(h - size, cross))
            assert size <= residual_bound * (1 + 1e-12)
            assert exact <= bound * (1 + 1e-12)
            found = max(found, exact)
        assert found >= 0.7 * bound


def test_softmax_lemmas():
    """The two inequalities behind softmax µ: top eigenvalue, and r·(r + J s), from the two largest p."""
    rng = np.random.default_rng(8)
    for _ in range(6000):
        outputs = int(rng.choice([2, 3, 4, 10, 60]))
        s = rng.normal(size=outputs) * rng.choice([0.1, 1, 4, 15]) * rng.choice([1, 0.1], size=outputs)
        s[0] += rng.choice([0, math.log(outputs), 3])  # one class against many small ones
        s -= s.mean()
        p = np.exp(s - s.max())
        p /= p.sum()
        p1, p2 = np.sort(p)[:-3:-1]
        jacobian = np.diag(p) - np.outer(p, p)
        corner = np.array([[p1, p2 / p1]])
        curvature, drift = softmax_cell(corner, corner, math.sqrt(2) * np.linalg.norm(s))
        wide_curvature, wide_drift = softmax_cell(corner * 0.9, np.minimum(corner * 1.1, 1.0), 1e3)
        assert wide_curvature >= curvature and wide_drift >= drift
        assert np.linalg.eigvalsh(jacobian)[-1] <= curvature + 1e-12
        for y in range(min(outputs, 4)):
            r = p - np.eye(outputs)[y]
            assert r @ (r + jacobian @ s) <= drift + 1e-12


def test_direction_bound_is_attained_by_the_squared_hinge():
    for reach in (0.0, 0.5, 3.0):
        q = (1 + reach) * (1 + 2 * reach)
        assert direction_bound(1.0, reach, q) == pytest.approx(1 + 2 * reach)


def test_certified_supremum_is_above_and_close():
    def upper(a, b):  # sin x + x y on boxes of [0, 3] x [-1, 1], by x ≤ x', y ≤ y'
        x, x_high = a[:, 0], b[:, 0]
        top = np.where(
            (x <= math.pi / 2) & (x_high >= math.pi / 2), 1.0, np.maximum(np.sin(x), np.sin(x_high))
        )
        return top + np.where(b[:, 1] > 0, x_high, x) * b[:, 1]

    grid = np.linspace(0, 3, 20001)
    exact = np.max(np.sin(grid) + grid)
    result = certified_supremum(upper, [0, -1], [3, 1])
    assert exact <= result <= exact * 1.001
    # Cut short it is looser, never below.
    for rounds in (1, 2, 5):
        assert certified_supremum(upper, [0, -1], [3, 1], rounds=rounds) >= exact


def test_infinite_weights():
    for loss in (Logistic(), Softmax()):
        assert math.isfinite(loss.gradient_norm(2.0, math.inf))
        assert loss.input_lipschitz(2.0, math.inf) == math.inf
        assert loss.gradient_norm(0.0, math.inf) == 0.0
    assert SquaredHinge().gradient_norm(1.0, math.inf) == math.inf
    assert Logistic().gradient_norm(3.0, math.inf) == pytest.approx(3.0)


def test_least_squares_reads_whole_targets_as_classes_and_others_as_numbers():
    loss, scores = LeastSquares(0.5), np.array([[0.2], [0.2], [0.2]])
    assert loss.residual(scores, np.array([1, 0, -1])).ravel() == pytest.approx([-0.3, 0.7, 0.0])
    assert loss.residual(scores, np.array([1.0, 0.0, -0.1])).ravel() == pytest.approx([-0.3, 0.2, 0.3])
    with pytest.raises(ValueError, match="got 3; use Softmax"):
        loss.outputs(3)
