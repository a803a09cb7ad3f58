"""DP-SGD: samplers, accounts that belong to them, noise that is never skipped, scaled or clipped."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import chi2
from training import train

from prepriv.exact.gradient_sum import GradientSum, QuantizedRows
from prepriv.guarantees.loss_distribution import compose
from prepriv.guarantees.subsampling import PoissonRemove, PoissonReplace, SubsampledWithoutReplacement
from prepriv.learners.learner import Setting
from prepriv.learners.losses import Hinge, Logistic, Softmax, SquaredHinge
from prepriv.learners.stochastic import FixedBatchSGD, PoissonSGD, uniform_subset
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession, Session
from prepriv.preprocessing.base import UNTOUCHED, RowShift

RADIUS = 5.0


def setting(n=2000, adjacency="replace-one", incoming=UNTOUCHED):
    return Setting(radius=RADIUS, d=4, outputs=3, n=n, adjacency=adjacency, incoming=incoming)


def rows_of(learner, x, y, n, incoming=UNTOUCHED):
    rows = QuantizedRows(learner.grid(RADIUS, n, incoming), len(x), x.shape[1], learner.bias)
    rows.fill(0, x, y)
    return rows


class Recorder(Session):
    """Writes down the exact sums; answers with fixed noise, or with what was answered before (replay)."""

    private = False

    def __init__(self, replay=None):
        super().__init__()
        self.totals, self.asked, self.answers = [], [], []
        self._replay = replay
        self._rng = np.random.default_rng(0)

    def _perform(self, name, asked, total):
        self.totals.append(total.copy())
        told = (asked.sensitivity, asked.noise_multiplier, asked.exponent, asked.largest)
        self.asked.append((name, *told, total.shape))
        if self._replay is None:
            noise = self._rng.normal(size=total.shape) * asked.noise_multiplier * asked.sensitivity
            answer = (total + noise) * 2.0**asked.exponent
        else:
            answer = self._replay.answers[len(self.answers)]
        self.answers.append(answer)
        return answer


# --- samplers ---


def test_uniform_subsets_are_uniform():
    source = NoiseSource.for_tests(1)
    for n, size in ((5, 2), (5, 3), (4, 4), (6, 0)):
        counts = {}
        runs = 4000
        for _ in range(runs):
            subset = tuple(sorted(uniform_subset(source, n, size).tolist()))
            assert len(set(subset)) == size and all(0 <= i < n for i in subset)
            counts[subset] = counts.get(subset, 0) + 1
        kinds = math.comb(n, size)
        expected = runs / kinds
        statistic = sum((c - expected) ** 2 / expected for c in counts.values())
        assert len(counts) == kinds
        assert kinds == 1 or statistic < chi2.ppf(1 - 1e-6, kinds - 1)
    assert len(uniform_subset(source, 60_000, 4096)) == 4096
    with pytest.raises(ValueError, match="size"):
        uniform_subset(source, 3, 4)


def test_poisson_batches_include_each_record_independently():
    learner = PoissonSGD(Softmax(), batch_size=50)
    source = NoiseSource.for_tests(2)
    inside = np.zeros(200)
    sizes, together = [], 0
    for _ in range(3000):
        batch = learner._batch(source, 200, 200)
        inside[batch] += 1
        sizes.append(len(batch))
        together += int(0 in batch and 1 in batch)
    assert np.sum((inside - 750) ** 2 / (3000 * 0.25 * 0.75)) < chi2.ppf(1 - 1e-6, 200)
    assert np.var(sizes) == pytest.approx(200 * 0.25 * 0.75, rel=0.15)
    assert together == pytest.approx(3000 / 16, rel=0.3)


def test_fixed_batches_have_the_declared_size_and_need_the_declared_n():
    learner = FixedBatchSGD(Softmax(), batch_size=7)
    source = NoiseSource.for_tests(3)
    assert all(len(learner._batch(source, 20, 20)) == 7 for _ in range(50))
    with pytest.raises(ValueError, match="declared"):
        learner._batch(source, 21, 20)


# --- each sampler has its own account ---


def test_each_learner_carries_the_pair_of_its_own_sampler():
    poisson, fixed = (
        PoissonSGD(Softmax(), batch_size=20, steps=50),
        FixedBatchSGD(Softmax(), batch_size=20, steps=50),
    )
    (pair, steps), *rest = poisson.parts(2.0, setting(adjacency="add-or-remove-one"))
    assert isinstance(pair, PoissonRemove) and steps == 50 and not rest
    assert pair.shift == 0.5 and pair.rate >= 0.01 and pair.rate == pytest.approx(0.01, rel=1e-12)
    ((pair, _),) = poisson.parts(2.0, setting())
    assert isinstance(pair, PoissonReplace) and pair.shift == 0.5
    ((pair, _),) = fixed.parts(2.0, setting())
    assert isinstance(pair, SubsampledWithoutReplacement) and pair.shift == 1.0
    with pytest.raises(ValueError, match="replace-one"):
        fixed.parts(2.0, setting(adjacency="add-or-remove-one"))
    # There is no sampler to choose.
    names = {f.name for cls in (PoissonSGD, FixedBatchSGD) for f in dataclasses.fields(cls)}
    assert not {name for name in names if "sampl" in name or "poisson" in name or "shuffle" in name}


def test_the_guarantee_covers_both_orders():
    learner = PoissonSGD(Softmax(), batch_size=100, steps=300)
    f = learner.tradeoff(1.0, setting(adjacency="add-or-remove-one"))
    ((pair, steps),) = learner.parts(1.0, setting(adjacency="add-or-remove-one"))
    forward = pair.compose(steps)
    assert f.symmetric and not forward.symmetric
    for delta in (1e-3, 1e-5):
        assert f.epsilon(delta) >= max(forward.epsilon(delta), forward.inverse().epsilon(delta))


@pytest.mark.parametrize("learner_class", [PoissonSGD, FixedBatchSGD])
def test_calibration_meets_the_budget_from_below(learner_class):
    learner = learner_class(Softmax(), batch_size=100, steps=200)
    z = learner.calibrate(0.7, 1e-5, setting())
    assert learner.tradeoff(z, setting()).epsilon(1e-5) <= 0.7
    assert learner.tradeoff(z / 1.005, setting()).epsilon(1e-5) > 0.7


def test_calibration_pays_for_what_was_spent_before():
    from prepriv import guarantees as g

    learner = PoissonSGD(Softmax(), batch_size=100, steps=200)
    after = learner.calibrate(1.0, 1e-5, setting(), others=[(g.gaussian(0.1), 1)])
    assert learner.tradeoff(after, setting()).epsilon(1e-5) < 0.95
    parts = (*learner.parts(after, setting()), (g.gaussian(0.1), 1))
    assert compose(parts).epsilon(1e-5) <= 1.0
    with pytest.raises(ValueError, match="epsilon"):
        learner.calibrate(0.1, 1e-5, setting(), others=[(g.gaussian(1.0), 1)])


def test_moved_rows_cost_noise_and_a_lipschitz_loss_on_a_ball_costs_less():
    incoming = RowShift(1500, 1e-4, 0.05, 0.0)
    shifted = setting(incoming=incoming)
    bounded = PoissonSGD(Softmax(), batch_size=20, steps=50, weight_bound=2.0)
    unbounded, hinge = (
        PoissonSGD(Softmax(), batch_size=20, steps=50),
        PoissonSGD(Hinge(n_classes=3), batch_size=20, steps=50),
    )
    moved = bounded.moved_rows(shifted)
    mu = Softmax().input_lipschitz(math.hypot(RADIUS, 1.0), 2.0)
    assert moved.count == 1500 and mu * 0.05 <= moved.total <= mu * 0.05 * 1.2
    assert unbounded.moved_rows(shifted).each == hinge.moved_rows(shifted).each == pytest.approx(2.0)
    assert bounded.moved_rows(setting(incoming=RowShift(rows_dropped=3.0))).dropped == 3
    alone = PoissonSGD(Logistic(), batch_size=20, steps=50).moved_rows(
        setting(incoming=RowShift(rows_dropped=3.0))
    )
    assert (alone.count, alone.each, alone.total, alone.dropped) == (
        0,
        0.0,
        0.0,
        3,
    )  # whatever the loss's constant
    plain = bounded.tradeoff(2.0, setting()).epsilon(1e-5)
    assert plain < bounded.tradeoff(2.0, shifted, delta=1e-5).epsilon(1e-5)
    with pytest.raises(ValueError, match="replace-one"):
        bounded.parts(2.0, setting(adjacency="add-or-remove-one", incoming=incoming))


# --- record and replay: what a step asks of the mechanism ---


def neighbours(rng, n, adjacency):
    x, y = rng.normal(size=(n, 4)), rng.integers(0, 3, n)
    x2, y2 = x.copy(), y.copy()
    if adjacency == "replace-one":
        x2[3], y2[3] = -4 * x[3], (y[3] + 1) % 3
        return (x, y), (x2, y2)
    return (x, y), (x[:-1], y[:-1])


@pytest.mark.parametrize(
    "learner_class,adjacency",
    [(PoissonSGD, "replace-one"), (PoissonSGD, "add-or-remove-one"), (FixedBatchSGD, "replace-one")],
)
def test_neighbours_ask_the_same_and_differ_by_the_declared_sensitivity(rng, learner_class, adjacency):
    """The replay harness in small: frozen answers, frozen batches; exact integers, no tolerance."""
    n = 40
    one, two = neighbours(rng, n, adjacency)
    learner = learner_class(Softmax(), batch_size=12, steps=40, learning_rate=3.0, momentum=0.5)
    first = Recorder()
    grid_clip = rows_of(learner, *one, n).grid.clip
    weights = train(
        learner,
        rows_of(learner, *one, n),
        3,
        n=n,
        noise_multiplier=1.5,
        session=first,
        source=NoiseSource.for_tests(9),
    )

    class OneShorter:
        """The record that is not there was the last one: the common records keep their draws."""

        def __init__(self):
            self.private, self._source = False, NoiseSource.for_tests(9)

        def bernoulli_mask(self, k, size):
            return self._source.bernoulli_mask(k, size + 1)[:size]

    source = OneShorter() if adjacency == "add-or-remove-one" else NoiseSource.for_tests(9)
    second = Recorder(replay=first)
    again = train(
        learner, rows_of(learner, *two, n), 3, n=n, noise_multiplier=1.5, session=second, source=source
    )
    assert first.asked == second.asked and len(first.asked) == 40
    assert (weights == again).all()
    moved = 0
    for a, b in zip(first.totals, second.totals):
        square = sum(int(v) ** 2 for v in (a - b).ravel())
        limit = grid_clip if adjacency == "add-or-remove-one" else 2 * grid_clip
        assert square <= limit**2
        moved += square > 0
    assert 0 < moved < 40  # the record is in some batches and not in others


def test_an_empty_batch_is_noised_and_divided_like_any_other():
    learner = PoissonSGD(Softmax(), batch_size=1, steps=30, learning_rate=1.0, average=1 / 30, bias=0.0)
    rows = rows_of(learner, np.zeros((0, 300)), np.zeros(0, dtype=int), 1000)
    session = NoisySession(NoiseSource.for_tests(4))
    weights = train(
        learner, rows, 10, n=1000, noise_multiplier=2.0, session=session, source=NoiseSource.for_tests(5)
    )
    assert len(session.releases) == 30 and {r.mechanism.noise_multiplier for r in session.releases} == {2.0}
    # 30 steps of N(0, (2C)²)/batch_size add up.
    assert np.std(weights[:-1]) == pytest.approx(2.0 * math.sqrt(30), rel=0.05)


def test_the_normaliser_and_the_noise_do_not_depend_on_the_number_of_rows():
    learner = PoissonSGD(Softmax(), batch_size=10, steps=5)
    asked = []
    for rows in (0, 3, 100, 101):
        recorder = Recorder()
        table = rows_of(learner, np.ones((rows, 4)), np.zeros(rows, dtype=int), 100)
        train(
            learner, table, 3, n=100, noise_multiplier=1.0, session=recorder, source=NoiseSource.for_tests(6)
        )
        asked.append(recorder.asked)
    assert asked[0] == asked[1] == asked[2] == asked[3]


def test_large_noise_is_not_clipped():
    """Noise far beyond the clip norm reaches the weights unchanged: nothing is clipped after the fact."""
    learner = PoissonSGD(Logistic(), batch_size=1, steps=1, learning_rate=1.0, average=1.0)
    rows = rows_of(learner, np.zeros((0, 2000)), np.zeros(0, dtype=int), 10)
    weights = train(
        learner,
        rows,
        1,
        n=10,
        noise_multiplier=50.0,
        session=NoisySession(NoiseSource.for_tests(7)),
        source=NoiseSource.for_tests(8),
    )
    assert np.std(weights) == pytest.approx(50.0, rel=0.1)
    assert np.abs(weights).max() > 2.5 * 50


def test_a_private_run_refuses_batches_from_a_test_source():
    class Private(ExactSession):
        private = True

    learner = PoissonSGD(Softmax(), steps=1)
    rows = rows_of(learner, np.zeros((1, 4)), np.zeros(1, dtype=int), 256)
    with pytest.raises(ValueError, match="test source"):
        train(
            learner, rows, 3, n=256, noise_multiplier=1.0, session=Private(), source=NoiseSource.for_tests(1)
        )


@pytest.mark.parametrize("learner_class", [PoissonSGD, FixedBatchSGD])
def test_training_learns(rng, learner_class):
    n = 1500
    centres = np.eye(3, 4) * 3
    y = rng.integers(0, 3, n)
    x = centres[y] + rng.normal(size=(n, 4)) * 0.7
    learner = learner_class(Softmax(), batch_size=100, steps=100, learning_rate=1.0, momentum=0.5)
    z = learner.calibrate(2.0, 1e-5, setting(n=n))
    weights = train(learner, rows_of(learner, x, y, n), 3, n=n, noise_multiplier=z, session=NoisySession())
    assert np.mean(np.argmax(x @ weights[:-1] + weights[-1], axis=1) == y) > 0.9


def test_gradients_are_taken_inside_the_ball(rng, monkeypatch):
    learner = PoissonSGD(
        Softmax(), batch_size=10, steps=30, learning_rate=50.0, momentum=0.9, weight_bound=0.5
    )
    seen, original = [], GradientSum.__call__
    monkeypatch.setattr(
        GradientSum,
        "__call__",
        lambda self, w, *a: (seen.append(np.linalg.norm(w)), original(self, w, *a))[1],
    )
    rows = rows_of(learner, rng.normal(size=(50, 4)), rng.integers(0, 3, 50), 50)
    weights = train(learner, rows, 3, n=50, noise_multiplier=1.0, session=NoisySession())
    assert len(seen) == 30 and max(seen) <= 0.5 and np.linalg.norm(weights) <= 0.5


def test_refusals_name_the_argument():
    for bad in ({"batch_size": 0}, {"steps": 1.5}, {"clip_norm": 0.0}, {"momentum": 1.0}, {"average": 0.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            PoissonSGD(Softmax(), **bad)
    with pytest.raises(ValueError, match="noise_multiplier"):
        PoissonSGD(Softmax()).parts(0.0, setting())
    with pytest.raises(ValueError, match="batch_size"):
        PoissonSGD(Softmax(), batch_size=3000).parts(1.0, setting())
    with pytest.raises(ValueError, match="clip_norm"):
        PoissonSGD(SquaredHinge(n_classes=3), clip_norm=math.inf).parts(1.0, setting())
