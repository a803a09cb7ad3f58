"""One-pass DP-SGD: contraction of the real step, hidden iterates, account, refusals."""

import dataclasses
import math

import numpy as np
import pytest
from training import train

from prepriv import guarantees as g
from prepriv.exact.gradient_sum import GradientSum, QuantizedRows
from prepriv.guarantees.iteration import Passes, random_stopping
from prepriv.learners.learner import Run, Setting, project
from prepriv.learners.losses import Hinge, HuberisedHinge, LeastSquares, Logistic, Softmax, SquaredHinge
from prepriv.learners.one_pass import CyclicSGD, OnePassSGD, _to_grid
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession, Session
from prepriv.preprocessing.base import UNTOUCHED, RowShift

RADIUS, D = 2.0, 4


def setting(n=500, outputs=1, adjacency="replace-one", incoming=UNTOUCHED):
    return Setting(RADIUS, D, outputs, n, adjacency, incoming)


def rows_of(learner, x, y, incoming=UNTOUCHED):
    rows = QuantizedRows(learner.grid(RADIUS, len(x), incoming), len(x), x.shape[1], learner.bias)
    rows.fill(0, x, y)
    return rows


def data(rng, n, classes=2):
    x = rng.normal(size=(n, D))
    x *= np.minimum(1, RADIUS / np.linalg.norm(x, axis=1))[:, None]
    return x, rng.integers(0, classes, n)


LOSSES = [
    (Logistic(), 1, 0.5),
    (Logistic(), 1, math.inf),
    (HuberisedHinge(width=0.3), 1, 0.5),
    (SquaredHinge(), 1, 1.0),
    (Softmax(), 3, math.inf),
]


@pytest.mark.parametrize("loss,outputs,clip", LOSSES, ids=str)
def test_the_real_step_is_a_contraction_up_to_the_declared_drift(rng, loss, outputs, clip):
    """Integer gradient, rounded iterate: two iterates do not move apart by more than the account allows."""
    learner = OnePassSGD(loss, batch_size=3, steps=10, clip_norm=clip, weight_bound=3.0)
    rate = learner.largest_rate(RADIUS)
    learner = OnePassSGD(loss, batch_size=3, steps=10, clip_norm=clip, weight_bound=3.0, learning_rate=rate)
    x, y = data(rng, 60, max(outputs, 2))
    x[:3], y[:3] = x[0] * RADIUS / np.linalg.norm(x[0]), 1  # a block as curved as it can be
    rows = rows_of(learner, x, y)
    clip_norm = learner.clip(RADIUS)
    reach = rate * rows.grid.clip * 2.0**rows.grid.exponent / 3
    exponent = learner._exponent(reach)
    allowed = learner._drift(setting(60, outputs)) * rate * clip_norm / 3
    assert allowed < 1e-2 * reach

    def step(w, block, gradient_sum):
        point = project(w, 3.0)
        gradient = gradient_sum(point, block).astype(float) * 2.0**rows.grid.exponent
        return _to_grid(point - rate / 3 * gradient, exponent) * 2.0**exponent

    tightest = 0.0
    with GradientSum(rows, loss, threads=1) as gradient_sum:
        for trial in range(300):
            block = np.arange(3) + 3 * (trial % 20)
            one = rng.normal(size=(D + 1, outputs)) * rng.choice([0.1, 1.0, 3.0])
            two = one + rng.normal(size=one.shape) * rng.choice([1e-6, 1e-3, 1.0])
            before = np.linalg.norm(one - two)
            after = np.linalg.norm(step(one, block, gradient_sum) - step(two, block, gradient_sum))
            assert after <= before + allowed
            tightest = max(tightest, after / before)
        line = np.append(x[0], 1.0)[:, None] * np.linspace(1.0, -1.0, outputs)  # one output: 1
        for at in np.linspace(-1.0, 1.0, 41):
            one, two = at * line, (at + 1e-3) * line
            after = np.linalg.norm(
                step(one, np.arange(3), gradient_sum) - step(two, np.arange(3), gradient_sum)
            )
            assert after <= np.linalg.norm(one - two) + allowed
    assert tightest > 0.9


def test_a_clipped_softmax_step_is_no_contraction_and_is_refused():
    """Why clip_norm must not cut with several outputs: joint clipping of residuals can drive iterates apart."""
    rng = np.random.default_rng(0)
    loss, clip, x = Softmax(), 0.3, np.array([1.0])
    worst = 0.0

    def clipped(scores, y):
        r = loss.residual(scores, y)
        return r * np.minimum(1, clip / np.linalg.norm(r, axis=1))[:, None]

    for _ in range(20):
        one = rng.normal(size=(20_000, 3)) * 2
        two = one + 1e-4 * rng.normal(size=one.shape)
        y = np.zeros(len(one), dtype=int)
        rate = 0.5 / loss.smoothness(1.0)
        after = (one - rate * clipped(one, y)) - (two - rate * clipped(two, y))
        worst = max(worst, float(np.max(np.linalg.norm(after, axis=1) / np.linalg.norm(one - two, axis=1))))
    assert worst > 1.001 and x.shape == (1,)
    learner = OnePassSGD(loss, batch_size=1, steps=10, clip_norm=0.3, weight_bound=1.0, learning_rate=0.1)
    with pytest.raises(ValueError, match="clip_norm"):
        learner.parts(1.0, setting(outputs=3))


class Chain(Session):
    """Records sums and answers with what was recorded before, or with the sum and fixed noise."""

    private = False

    def __init__(self, replay=None):
        super().__init__()
        self.totals, self.asked, self.answers, self._replay = [], [], [], replay
        self._rng = np.random.default_rng(5)

    def _perform(self, name, asked, total):
        self.totals.append(total.copy())
        self.asked.append((name, asked.sensitivity, asked.noise_multiplier, asked.exponent, asked.largest))
        noise = self._rng.normal(size=total.shape) * asked.noise_multiplier * asked.sensitivity
        own = (total + noise) * 2.0**asked.exponent
        answer = own if self._replay is None else self._replay[len(self.answers)]
        self.answers.append(answer)
        return answer


@pytest.mark.parametrize("loss,outputs,clip", LOSSES, ids=str)
def test_a_replaced_record_moves_its_own_step_alone_and_by_the_declared_sensitivity(rng, loss, outputs, clip):
    n = 40
    x, y = data(rng, n, max(outputs, 2))
    x[7] *= RADIUS / np.linalg.norm(x[7])
    x2, y2 = x.copy(), y.copy()
    y2[7] = (y[7] + 1) % max(outputs, 2)  # with a clip that cuts, the two gradients are 2C apart
    learner = OnePassSGD(
        loss, batch_size=2, steps=20, clip_norm=clip, weight_bound=3.0,
        learning_rate=OnePassSGD(loss).largest_rate(RADIUS),
    )  # fmt: skip
    seed = next(k for k in range(99) if int(NoiseSource.for_tests(k).uniform_below(20, 1)[0]) >= 10)
    runs = []
    for features, labels, replay in ((x, y, None), (x2, y2, "first")):
        session = Chain(None if replay is None else runs[0].answers)
        train(learner, 
            rows_of(learner, features, labels), outputs, n=n, noise_multiplier=1.0,
            session=session, source=NoiseSource.for_tests(seed),
        )  # fmt: skip
        runs.append(session)
    first, second = runs
    assert first.asked == second.asked and len(first.totals) > 10
    moved = [k for k, (a, b) in enumerate(zip(first.totals, second.totals)) if (a != b).any()]
    assert moved == [3]
    difference = (first.totals[3] - second.totals[3]).ravel()
    square = sum(int(v) ** 2 for v in difference)
    assert square <= (2 * first.asked[0][1]) ** 2
    if isinstance(loss, Logistic) and clip < 1:
        assert square >= (2 * first.asked[0][1] * (1 - 1e-4)) ** 2
    # Two roundings of the iterate are inside twice the sensitivity.
    _, sensitivity, _, exponent, _ = first.asked[0]
    grid = rows_of(learner, x, y).grid
    reach = learner.learning_rate / 2 * grid.clip * 2.0 ** (grid.exponent - exponent)
    assert sensitivity >= reach + math.sqrt((D + 1) * outputs)
    # Not coarsened: the rounding of the iterate is the one the account knows.
    from prepriv.mechanisms.gaussian_sum import coarsen

    assert coarsen(first.totals[0], first.asked[0][1])[2] == 0


def test_the_grid_of_the_iterate_is_the_one_the_account_knows(rng):
    """At a power of two the same product rounded in two orders gave the account a grid twice as fine (an audit)."""
    x, y = data(rng, 24, 2)
    for rate in (0.24999999999999997, 0.25, math.nextafter(0.25, 1)):
        learner = OnePassSGD(
            Logistic(), batch_size=12, steps=2, clip_norm=0.75, weight_bound=3.0, learning_rate=rate
        )
        session = Chain()
        rows = rows_of(learner, x, y)
        train(learner, rows, 1, n=24, noise_multiplier=1.0, session=session, source=NoiseSource.for_tests(1))
        unit = 2.0 ** session.asked[0][3] / learner._reach(rows.grid)
        assert 1.0 / learner._scale(learner._reach(rows.grid)) == pytest.approx(unit, rel=1e-12)
        assert 2.0 * math.sqrt(D + 1) * unit <= learner._drift(setting(n=24))


def test_the_stop_is_uniform_and_does_not_depend_on_the_data(rng):
    learner = OnePassSGD(Logistic(), batch_size=1, steps=4, weight_bound=1.0, learning_rate=0.1)
    x, y = data(rng, 8)
    rows = rows_of(learner, x, y)
    source, stops = NoiseSource.for_tests(3), []
    for _ in range(400):
        session = Chain()
        train(learner, rows, 1, n=8, noise_multiplier=1.0, session=session, source=source)
        stops.append(len(session.totals))
    counts = np.bincount(stops, minlength=5)[1:]
    assert counts.sum() == 400 and np.sum((counts - 100) ** 2 / 100) < 30


def test_account_is_random_stopping_and_beats_releasing_every_iterate():
    learner = OnePassSGD(Logistic(), batch_size=1, steps=5000, weight_bound=2.0, learning_rate=0.2)
    f = learner.tradeoff(4.0, setting(n=5000))
    plain = random_stopping(5000, 0.5)
    for delta in (1e-3, 1e-5):
        assert plain.epsilon(delta) <= f.epsilon(delta) <= 1.05 * plain.epsilon(delta)
    assert f.epsilon(1e-5) < 0.5 * g.gaussian(0.5).epsilon(1e-5)
    z = learner.calibrate(1.0, 1e-5, setting(n=5000))
    assert learner.tradeoff(z, setting(n=5000)).epsilon(1e-5) <= 1.0
    moved = setting(n=5000, incoming=RowShift(100, 1e-3, 0.05))
    assert learner.tradeoff(4.0, moved).epsilon(1e-5) > f.epsilon(1e-5)


def test_end_to_end_chain_does_not_beat_the_account():
    """Least squares rows that forget, then rows that keep: the worst chain, in closed form, all stops."""
    m, z = 6, 2.0
    f = random_stopping(m, 2.0 / z)
    for r in range(m):
        deltas = []
        for stop in range(1, m + 1):
            gap, variance = 0.0, 0.0
            for k in range(stop):
                gain = 0.0 if k == r else 1.0
                gap, variance = gain * gap + (2.0 if k == r else 0.0), gain**2 * variance + z**2
            deltas.append(g.gaussian(gap / math.sqrt(variance)).delta(0.5))
        assert np.mean(deltas) <= f.delta(0.5) * (1 + 1e-9)
        if r == 0:
            assert np.mean(deltas) == pytest.approx(f.delta(0.5), rel=1e-6)


def test_training_learns(rng):
    n = 4000
    y = rng.integers(0, 2, n)
    x = np.zeros((n, D))
    x[:, 0] = 2.0 * y - 1 + rng.normal(size=n) * 0.3
    x *= np.minimum(1, RADIUS / np.linalg.norm(x, axis=1))[:, None]
    learner = OnePassSGD(Logistic(), batch_size=4, steps=1000, weight_bound=4.0, learning_rate=0.5)
    z = learner.calibrate(4.0, 1e-5, setting(n=n))
    accuracy = []
    for _ in range(3):
        w = train(learner, rows_of(learner, x, y), 1, n=n, noise_multiplier=z, session=NoisySession())
        assert np.linalg.norm(w) <= 4.0
        accuracy.append(np.mean(((x @ w[:-1] + w[-1])[:, 0] > 0) == (y == 1)))
    assert np.median(accuracy) > 0.9


STOP_AT_TWO = next(k for k in range(999) if int(NoiseSource.for_tests(k).uniform_below(20, 1)[0]) == 0)


def test_weight_decay_contracts_the_real_step(rng):
    """Two iterates come nearer by 1 − ηλ at least, up to the declared drift, at the largest rate that is allowed."""
    learner = CyclicSGD(
        Logistic(), batch_size=3, steps=90, clip_norm=math.inf, weight_bound=3.0, weight_decay=0.2
    )
    rate = learner.largest_rate(RADIUS)
    learner = dataclasses.replace(learner, learning_rate=rate)
    assert rate < OnePassSGD(Logistic()).largest_rate(RADIUS)
    x, y = data(rng, 60)
    x[3:6], y[3:6] = x[0] * RADIUS / np.linalg.norm(x[0]), 1  # the second block: as curved as it can be
    rows = rows_of(learner, x, y)
    allowed = learner._drift(setting(60)) * rate * learner.clip(RADIUS) / 3
    kept = 1 - 0.2 * rate
    exponent = learner._exponent(learner._reach(rows.grid))
    line = np.append(x[3], 1.0)[:, None]
    pairs = [(at * line, (at + 1e-2) * line) for at in np.linspace(-0.4, 0.4, 21)]
    pairs += [tuple(rng.normal(size=(2, D + 1, 1))) for _ in range(200)]
    after = []
    for one, two in pairs:
        ends = []
        for start in (one, two):
            session = Chain(replay=[start, start])
            # Its first step begins at 0; the second at what the first answered.
            short = dataclasses.replace(learner, steps=21)
            short.train(rows, setting(60), Run(session, 1.0, NoiseSource.for_tests(STOP_AT_TWO)))
            ends.append(session.totals[1] * 2.0**exponent)
        after.append(np.linalg.norm(ends[0] - ends[1]))
        assert after[-1] <= kept * np.linalg.norm(project(one, 3.0) - project(two, 3.0)) + allowed
    assert max(after[:21]) > 0.9 * kept * 1e-2 * np.linalg.norm(line)  # by −(1 − ηλ), at a score of 0


def test_a_record_is_in_one_step_of_every_pass_and_the_stop_is_in_the_last(rng):
    n, seen = 40, set()
    x, y = data(rng, n)
    x2, y2 = x.copy(), y.copy()
    x2[7], y2[7] = -x[7], 1 - y[7]
    learner = CyclicSGD(
        Logistic(),
        batch_size=8,
        steps=13,
        clip_norm=0.5,
        weight_bound=3.0,
        learning_rate=0.1,
        weight_decay=0.1,
    )
    for seed in range(12):
        first = Chain()
        source = NoiseSource.for_tests(seed)
        train(learner, rows_of(learner, x, y), 1, n=n, noise_multiplier=1.0, session=first, source=source)
        second = Chain(first.answers)
        source = NoiseSource.for_tests(seed)
        train(learner, rows_of(learner, x2, y2), 1, n=n, noise_multiplier=1.0, session=second, source=source)
        seen.add(len(first.totals))
        moved = [k for k, (a, b) in enumerate(zip(first.totals, second.totals)) if (a != b).any()]
        assert moved == [k for k in range(len(first.totals)) if k % 5 == 0]
        for k in moved:
            difference = (first.totals[k] - second.totals[k]).ravel()
            assert sum(int(v) ** 2 for v in difference) <= (2 * first.asked[0][1]) ** 2
    assert seen <= set(range(9, 14)) and len(seen) > 2


def test_more_passes_cost_little_behind_weight_decay_and_the_ball_ends_the_rest():
    one = {"batch_size": 50, "weight_bound": 2.0, "learning_rate": 0.2}

    def cost(steps, **more):
        return CyclicSGD(Logistic(), steps=steps, **one | more).tradeoff(4.0, setting(n=5000)).epsilon(1e-5)

    single = OnePassSGD(Logistic(), steps=100, **one).tradeoff(4.0, setting(n=5000)).epsilon(1e-5)
    assert cost(100) == pytest.approx(single, rel=1e-9)
    assert single < cost(500) < cost(5000) < cost(50_000)
    assert cost(50_000, weight_decay=0.1) < 1.05 * single
    # By the curve of its own settings, in units of one clip norm of a record.
    learner = CyclicSGD(Logistic(), steps=50_000, **one | {"weight_bound": 0.05})
    ball = 2 * 0.05 * 50 / (0.2 * learner.clip(RADIUS))
    curve = random_stopping(100, 0.5, again=Passes(500, 0.0, ball / 4.0))
    assert curve.epsilon(1e-5) <= learner.tradeoff(4.0, setting(n=5000)).epsilon(1e-5)
    assert learner.tradeoff(4.0, setting(n=5000)).epsilon(1e-5) <= 1.02 * curve.epsilon(1e-5)
    assert cost(10**6, weight_bound=0.05) < 1.02 * cost(50_000, weight_bound=0.05)
    with pytest.raises(ValueError, match="CyclicSGD"):
        OnePassSGD(Logistic(), steps=101, **one).tradeoff(4.0, setting(n=5000))


def test_cyclic_refusals():
    good = {"batch_size": 1, "steps": 100, "weight_bound": 1.0, "learning_rate": 0.3, "weight_decay": 1.0}
    CyclicSGD(Logistic(), **good).parts(1.0, setting(n=50))
    with pytest.raises(ValueError, match="learning_rate must be at most"):
        CyclicSGD(Logistic(), **good | {"weight_decay": 5.0}).parts(1.0, setting(n=50))
    with pytest.raises(ValueError, match="weight_decay"):
        CyclicSGD(Logistic(), **good | {"weight_decay": -1.0})
    with pytest.raises(ValueError, match=r"weight_bound .* finite for CyclicSGD"):
        CyclicSGD(Logistic(), **good | {"weight_bound": math.inf}).parts(1.0, setting(n=50))
    with pytest.raises(ValueError, match="replace-one"):
        CyclicSGD(Logistic(), **good).parts(1.0, setting(n=50, adjacency="add-or-remove-one"))
    with pytest.raises(ValueError, match="learning_rate"):
        CyclicSGD(Hinge(), **good).parts(1.0, setting(n=50))


def test_refusals():
    good = {"batch_size": 1, "steps": 100, "weight_bound": 1.0, "learning_rate": 0.1}
    with pytest.raises(ValueError, match="replace-one"):
        OnePassSGD(Logistic(), **good).parts(1.0, setting(adjacency="add-or-remove-one"))
    with pytest.raises(ValueError, match="order"):
        OnePassSGD(Logistic(), **good).parts(1.0, setting(incoming=RowShift(1, 1, 1, any_order=True)))
    with pytest.raises(ValueError, match="weight_bound"):
        OnePassSGD(Logistic(), **good | {"weight_bound": math.inf}).parts(1.0, setting())
    with pytest.raises(ValueError, match="learning_rate"):
        OnePassSGD(Logistic(), **good | {"learning_rate": 10.0}).parts(1.0, setting())
    with pytest.raises(ValueError, match="learning_rate"):
        OnePassSGD(Hinge(), **good).parts(1.0, setting())
    with pytest.raises(ValueError, match="steps"):
        OnePassSGD(Logistic(), **good).parts(1.0, setting(n=50))
    learner = OnePassSGD(LeastSquares(1.0), **good)
    rows = rows_of(OnePassSGD(Logistic(), **good), np.zeros((3, D)), np.zeros(3, dtype=int))
    with pytest.raises(ValueError, match="declared"):
        train(learner, rows, 1, n=4, noise_multiplier=1.0, session=NoisySession())

    class Private(ExactSession):
        private = True

    with pytest.raises(ValueError, match="test source"):
        train(learner, rows, 1, n=3, noise_multiplier=1.0, session=Private(), source=NoiseSource.for_tests(1))
