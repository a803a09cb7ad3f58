"""Full-batch private gradient descent: its shift, its account, its noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from training import train

from prepriv.exact.gradient_sum import GradientSum, QuantizedRows
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Run, Setting
from prepriv.learners.losses import Hinge, Logistic, Softmax
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession
from prepriv.preprocessing.base import UNTOUCHED, RowShift

MOVED = RowShift(100, 0.01, 0.5, 0.0, ())


def test_shift_is_the_record_the_moved_rows_and_the_dropped_ones():
    learner = GradientDescent(Softmax(), clip_norm=1.0, weight_bound=2.0)
    plain = learner.unit(Setting(5.0, 10, 3, 1000, "replace-one", UNTOUCHED))
    assert plain == pytest.approx(2.0, rel=1e-8) and plain >= 2.0
    assert learner.unit(Setting(5.0, 10, 3, 1000, "add-or-remove-one", UNTOUCHED)) == pytest.approx(
        1.0, rel=1e-8
    )
    mu = Softmax().input_lipschitz(math.hypot(5.0, 1.0), 2.0)
    moved = learner.unit(Setting(5.0, 10, 3, 1000, "replace-one", MOVED))
    assert 2 + mu * 0.5 <= moved <= 2 + mu * 0.5 + 0.01
    dropped = learner.unit(Setting(5.0, 10, 3, 1000, "replace-one", RowShift(0, 0, 0, 7)))
    assert dropped == pytest.approx(9.0, rel=1e-8)


def test_moved_rows_never_cost_more_than_group_privacy():
    far = RowShift(3, 1e6, 3e6, 0.0, ())
    learner = GradientDescent(Logistic(), clip_norm=1.0, weight_bound=2.0)
    assert learner.unit(Setting(5.0, 10, 1, 1000, "replace-one", far)) == pytest.approx(2 + 2 * 3, rel=1e-8)


def test_without_a_weight_bound_or_a_lipschitz_loss_only_the_count_helps():
    for learner in (GradientDescent(Softmax()), GradientDescent(Hinge(), weight_bound=1.0)):
        assert learner.unit(Setting(5.0, 10, 2, 1000, "replace-one", MOVED)) == pytest.approx(
            2 + 2 * 100, rel=1e-8
        )


def rows_of(learner, x, y, n):
    rows = QuantizedRows(learner.grid(5.0, n, UNTOUCHED), len(x), x.shape[1], learner.bias)
    rows.fill(0, x, y)
    return rows


def test_every_point_a_gradient_is_taken_at_is_projected(rng, monkeypatch):
    learner = GradientDescent(Softmax(), steps=30, learning_rate=50.0, weight_bound=0.5)
    x = rng.standard_normal((50, 4))
    seen = []
    original = GradientSum.__call__
    monkeypatch.setattr(
        GradientSum,
        "__call__",
        lambda self, w, *a: (seen.append(np.linalg.norm(w)), original(self, w, *a))[1],
    )
    session = NoisySession(NoiseSource.for_tests(1))
    final = train(
        learner,
        rows_of(learner, x, rng.integers(0, 3, 50), 50),
        3,
        n=50,
        radius=5.0,
        noise_multiplier=5.0,
        session=session,
    )
    assert len(seen) == 30 and max(seen) <= 0.5 and np.linalg.norm(final) <= 0.5


def test_noise_is_drawn_at_every_step_with_the_declared_scale(rng):
    """With no data at all, what is released is noise: its size and count are those of the plan."""
    learner = GradientDescent(Softmax(), steps=50, learning_rate=1.0, momentum=0.0, average=0.02, bias=0.0)
    empty = rows_of(learner, np.zeros((4, 200)), np.full(4, -1), 4)
    session = NoisySession(NoiseSource.for_tests(2))
    final = train(learner, empty, 10, n=4, radius=5.0, noise_multiplier=3.0, session=session)
    assert [r.mechanism.noise_multiplier for r in session.releases] == [3.0] * 50
    # 50 steps of N(0, 6^2) / 4, with rate 1 and no momentum, add up
    assert np.std(final[:-1]) == pytest.approx(math.sqrt(50) * 6 / 4, rel=0.1)


def test_the_sum_is_divided_by_the_declared_n_not_by_a_count(rng):
    learner = GradientDescent(
        Softmax(), steps=1, learning_rate=1.0, momentum=0.0, average=1.0, clip_norm=10.0
    )
    x, y = rng.standard_normal((20, 3)), rng.integers(0, 2, 20)
    rows = rows_of(learner, x, y, 20)
    one = train(
        learner, rows, 2, n=20, adjacency="add-or-remove-one", noise_multiplier=0.0, session=ExactSession()
    )
    ten = train(
        learner, rows, 2, n=200, adjacency="add-or-remove-one", noise_multiplier=0.0, session=ExactSession()
    )
    assert np.allclose(one, 10 * ten)


def test_the_rate_rises_evenly_over_the_first_steps_and_the_account_stays():
    """What a constant gradient does in each step, without momentum; noise and account know nothing of the rate."""
    seen = []
    learner = GradientDescent(Softmax(), steps=10, learning_rate=2.0, momentum=0.0, warm_up=0.3)

    def gradient(weights):
        seen.append(float(weights[0, 0]))
        return np.ones((1, 1))

    learner.descend((1, 1), gradient, Run(ExactSession(), 1.0))
    assert -np.diff(seen) == pytest.approx([0.5, 1.0, 1.5, *[2.0] * 6])
    before = replace(learner, warm_up=0.0)
    setting = Setting(1.0, 2, 3, 100, "replace-one")
    assert learner.parts(2.0, setting) == before.parts(2.0, setting)
    assert learner.unit(setting) == before.unit(setting)


@pytest.mark.parametrize(
    "bad",
    [
        {"steps": 0},
        {"steps": 1.5},
        {"learning_rate": 0},
        {"clip_norm": -1},
        {"momentum": 1.0},
        {"average": 0},
        {"weight_bound": 0},
        {"bias": -1},
        {"bias": math.nan},
        {"warm_up": 1.0},
    ],
)
def test_bad_settings_are_refused_by_name(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        GradientDescent(Softmax(), **bad)


def test_noise_of_a_step_has_the_tails_of_a_gaussian():
    """Noise that was clipped, or left out for some coordinates, has no finite epsilon whatever its deviation."""
    learner, d, k, multiplier = GradientDescent(Softmax(), steps=1, average=1.0), 30_000, 10, 3.0
    rows = QuantizedRows(learner.grid(1.0, 1, UNTOUCHED), 1, d, 1.0)
    rows.fill(0, np.zeros((1, d)), np.array([-1]))
    weights = train(
        learner,
        rows,
        k,
        n=1,
        adjacency="add-or-remove-one",
        noise_multiplier=multiplier,
        session=NoisySession(NoiseSource.for_tests(4)),
    )
    size = np.abs(weights).ravel() / multiplier
    assert size.std() == pytest.approx(math.sqrt(1 - 2 / math.pi), rel=0.01)
    for sigmas in (0.001, 1.0, 2.0, 3.0, 4.0):
        wanted = size.size * math.erfc(sigmas / math.sqrt(2))
        assert abs((size > sigmas).sum() - wanted) < 5 * math.sqrt(wanted * (1 - wanted / size.size)) + 1
    assert 4.0 < size.max() < 7.0
