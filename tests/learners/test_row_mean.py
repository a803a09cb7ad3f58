"""`flatten`: what the release of the mean row costs, moves and does to the noise of training."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import norm
from training import train

import prepriv
from prepriv import make_plan
from prepriv import preprocessing as pre
from prepriv.audit import replay_plan
from prepriv.audit.replay import Recorder
from prepriv.engines import Threads
from prepriv.exact.gradient_sum import GradientSum, QuantizedRows
from prepriv.learners import FixedBatchSGD, GradientDescent, Logistic, PoissonSGD, Softmax
from prepriv.learners.learner import Run, Setting
from prepriv.learners.row_mean import ALONG, RowSum, flattener, gain
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.plans.stored import OtherClaim, plan_from_json
from prepriv.preprocessing.base import RowShift
from prepriv.runs.run import execute
from prepriv.schemas.declared_file import BadSchema
from prepriv.schemas.declared_learner import build_learner
from prepriv.tables.encoding import encode

FLAT = GradientDescent(Logistic(), steps=4, learning_rate=2.0, clip_norm=0.5, flatten=0.1)
ADD = "add-or-remove-one"


def domain(adjacency="replace-one", n=1000):
    return prepriv.Domain.ball(3, classes=[0, 1], n=n, adjacency=adjacency)


def rows_of(learner, x, y, n, radius=1.0):
    rows = QuantizedRows(learner.grid(radius, n, RowShift()), len(x), x.shape[1], learner.bias)
    rows.fill(0, x, y)
    return rows


@pytest.mark.parametrize("adjacency", ["replace-one", ADD])
def test_the_account_is_that_of_what_is_drawn(adjacency):
    """The curve of Gaussian mechanisms in closed form, from the noise and the reach of the mechanisms that ran."""
    plan = make_plan(domain(adjacency), [], FLAT, epsilon=1.0, delta=1e-5)
    session = Recorder()
    rows = rows_of(FLAT, np.zeros((5, 3)), np.zeros(5, np.int32), plan.n)
    plan.learner.train(rows, plan.setting, Run(session, plan.learner_noise_multiplier))
    drawn = [(r.name, r.mechanism.noise_multiplier) for r in session.releases]
    assert [name for name, _ in drawn] == ["GradientDescent: mean row"] + ["gradient"] * 4
    mu = math.sqrt(sum(z**-2 for _, z in drawn))
    shift, above = plan.guarantee.epsilon(1e-5) / mu, math.exp(plan.guarantee.epsilon(1e-5))
    delta = norm.cdf(mu / 2 - shift) - above * norm.cdf(-mu / 2 - shift)
    assert delta == pytest.approx(1e-5, rel=1e-4) and delta <= 1e-5 and plan.guarantee.epsilon(1e-5) <= 1.0
    assert drawn[0][1] ** -2 / mu**2 == pytest.approx(0.1)
    assert dict(plan.guarantee.breakdown) == pytest.approx(
        {"GradientDescent": 0.9, "GradientDescent: mean row": 0.1}
    )
    same = dataclasses.replace(FLAT, flatten=0.0)
    without = make_plan(domain(adjacency), [], same, epsilon=1.0, delta=1e-5)
    assert plan.learner_noise_multiplier == pytest.approx(without.learner_noise_multiplier / math.sqrt(0.9))


@pytest.mark.parametrize("adjacency", ["replace-one", ADD])
@pytest.mark.parametrize("kind", ["all", "Poisson", "fixed"])
def test_every_account_of_a_run_counts_the_mean_row(adjacency, kind):
    if (adjacency, kind) == (ADD, "fixed"):
        return
    more = {"steps": 4, "clip_norm": 0.5, "flatten": 0.1}
    learner = {
        "all": GradientDescent(Logistic(), **more),
        "Poisson": PoissonSGD(Logistic(), batch_size=100, **more),
        "fixed": FixedBatchSGD(Logistic(), batch_size=100, **more),
    }[kind]
    setting = Setting(1.0, 3, 1, 1000, adjacency)
    (once,) = learner.once(2.0, setting)
    without = dataclasses.replace(learner, flatten=0.0)
    for counted, free in zip(learner.accounts(2.0, setting, 1e-5), without.accounts(2.0, setting, 1e-5)):
        assert len(counted) == len(free) + 1 and counted[-1][1] == 1
        assert counted[-1][0].mu == pytest.approx(1 / once.noise_multiplier)
    assert [(e.sampling, e.count) for e in learner.events(2.0, setting)[1:]] == [("all", 1)]
    assert learner.events(2.0, setting)[1].noise_multiplier == once.noise_multiplier


@pytest.mark.parametrize("kind", [GradientDescent, PoissonSGD])
@pytest.mark.parametrize("adjacency, most", [("replace-one", 2), (ADD, 1)])
def test_the_sum_of_rows_moves_by_what_its_noise_is_for_and_no_less(kind, adjacency, most):
    """The worst pair of records: opposite rows of the largest norm; or one that is there or not."""
    learner = kind(Logistic(), steps=1, clip_norm=0.5, flatten=0.1, bias=0.0)
    x = np.zeros((40, 3))
    x[0, 0] = 1.0
    sums = []
    for row, label in ((1.0, 0), (-1.0, 0) if adjacency != ADD else (1.0, -1)):
        session = Recorder()
        y = np.zeros(40, np.int32)
        y[0] = label
        rows = rows_of(learner, row * x, y, 40)
        train(learner, rows, 1, n=40, adjacency=adjacency, noise_multiplier=3.0, session=session)
        sums.append(session.calls[0])
    one, two = sums
    assert "mean row" in one.name
    moved, reach = math.sqrt(one.moved_squared(two)), one.mechanism.sensitivity
    assert 0.999 * reach < moved <= reach
    assert moved * 2.0**one.mechanism.exponent == pytest.approx(most * 0.5, rel=1e-3)


class Still(Logistic):
    """Says that its gradients do not move with a row."""

    def input_lipschitz(self, radius, weight_norm):
        return 0.0


def test_rows_that_moved_count_in_the_sum_of_rows():
    """It moves with them by the clip over the norm of a row, whatever the loss says of its gradients."""
    moved = RowShift(rows_moved=100, row_shift=0.01, total_shift=0.5)
    learner = GradientDescent(Still(), clip_norm=0.5, weight_bound=1.0, flatten=0.1)
    at = Setting(1.0, 10, 1, 1000, "replace-one", moved)
    assert learner.unit(at) >= 2 * 0.5 + 0.5 / math.sqrt(2) * 0.5
    assert dataclasses.replace(learner, flatten=0.0).unit(at) < 2 * 0.5 + 0.01
    batches = PoissonSGD(Still(), batch_size=100, clip_norm=0.5, weight_bound=1.0, flatten=0.1)
    assert float(batches.reach(at)) >= 2 + 0.5 / math.sqrt(2)


def test_a_gradient_is_shortened_along_the_mean_row_alone(rng):
    mean, gradient = rng.standard_normal((6, 1)) * 2, rng.standard_normal((6, 4))
    u = mean / np.linalg.norm(mean)
    flat = flattener(mean)(gradient)
    kept = ALONG / float(np.sum(mean**2))
    assert np.allclose(u.T @ flat, kept * (u.T @ gradient))
    assert np.allclose(flat - u @ (u.T @ flat), gradient - u @ (u.T @ gradient))
    assert gain(ALONG / 2) == 1.0 and np.array_equal(flattener(mean * 1e-3)(gradient), gradient)
    for hopeless in (np.full((6, 1), np.inf), np.full((6, 1), 1e300)):
        with np.errstate(all="ignore"):  # as in a run
            assert np.array_equal(flattener(hopeless)(gradient), gradient)


def test_noise_of_weights_by_direction_is_what_the_plan_says():
    """Records that say nothing: weights are noise, shortened along the mean row that was released."""
    learner = GradientDescent(Softmax(), steps=10, learning_rate=0.5, momentum=0.7, flatten=0.05)
    rows = rows_of(learner, np.full((4, 40), 0.1), np.full(4, -1), 4)
    along, across = [], []
    for seed in range(40):
        session = Answers(NoiseSource.for_tests(seed))
        weights = train(learner, rows, 10, n=4, noise_multiplier=3.0, session=session)
        mean = session.mean / (4 * learner._row_factor(Setting(1.0, 40, 10, 4, "replace-one")))
        u = mean / np.linalg.norm(mean)
        kept = gain(float(np.sum(mean**2)))
        along.append((u.T @ weights).ravel() / kept)
        across.append((weights - u @ (u.T @ weights)).ravel())
    said = learner.weight_noise(3.0 * 2.0, 4)
    assert np.std(np.concatenate(along)) == pytest.approx(said, rel=0.1)
    assert np.std(np.concatenate(across)) * math.sqrt(41 / 40) == pytest.approx(said, rel=0.02)


class Answers(NoisySession):
    """Keeps the first answer."""

    def _perform(self, name, mechanism, exact):
        answer = super()._perform(name, mechanism, exact)
        if "mean row" in name:
            self.mean = answer
        return answer


def test_the_mean_row_is_that_of_the_rows(rng):
    learner = GradientDescent(Logistic(), steps=1, clip_norm=0.7, flatten=0.5, bias=0.5)
    x = rng.standard_normal((300, 4)) + 1.0
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    session = Answers(NoiseSource.for_tests(3))
    rows = rows_of(learner, x, np.arange(300) % 2, 300)
    train(learner, rows, 1, n=300, noise_multiplier=1e-3, session=session)
    mean = session.mean[:, 0] / (300 * 0.7 / math.hypot(1.0, 0.5))
    assert np.allclose(mean, [*x.mean(axis=0), 0.5], atol=1e-3)


def test_the_sum_of_rows_has_the_same_bits_in_any_blocks_and_on_disk(rng):
    n, learner = 5000, FLAT
    x, y = rng.standard_normal((n, 3)), rng.integers(-1, 2, n)
    grid, want = learner.grid(1.0, n, RowShift()), None
    blocks = [(x[at : at + 256], y[at : at + 256], at) for at in range(0, n, 256)]
    for engine in (Threads(1), Threads(2, 1)):
        with engine.room(grid, n, 3).load(blocks, n, 1.0).gradient_sum(RowSum(0.3)) as total:
            got = total(np.zeros((4, 1)))
        want = got if want is None else want
        assert (got == want).all() and np.abs(want).max() > 2**20
    parts = []
    for low, high in ((0, 700), (700, n)):
        rows = QuantizedRows(grid, high - low, 3, 1.0, threads=1)
        rows.fill(0, x[low:high], y[low:high])
        with GradientSum(rows, RowSum(0.3), threads=1) as total:
            parts.append(total(np.zeros((4, 1))))
    assert (sum(parts) == want).all()


def test_units_count_as_one_in_the_sum_of_rows():
    columns = {"a": prepriv.Numeric(0, 1), "b": prepriv.Numeric(0, 1)}
    people = prepriv.Domain(columns, classes=[0, 1], label="y", n=12, unit="who", rows_per_unit=3)
    learner = GradientDescent(Logistic(), steps=2, learning_rate=3.0, flatten=0.2)
    plan = make_plan(people, [pre.Normalize()], learner, epsilon=3.0, delta=1e-4)
    result = replay_plan(plan, pairs=10, seed=5)
    assert result.findings == [] and not result.failed
    assert all(0 < share <= 1 for share in result.reach.values()) and any(
        "mean row" in n for n in result.reach
    )


def test_a_plan_says_flatten_only_where_it_is_set():
    plan = make_plan(domain(), [], FLAT, epsilon=1.0, delta=1e-5)
    written = plan.to_json()
    assert written["learner"]["flatten"] == 0.1 and plan_from_json(written).hash == plan.hash
    for flatten in (0.2, 0.0):
        changed = written | {"learner": written["learner"] | {"flatten": flatten}}
        with pytest.raises(OtherClaim):
            plan_from_json(changed)
    plain = make_plan(domain(), [], dataclasses.replace(FLAT, flatten=0.0), epsilon=1.0, delta=1e-5)
    written = plain.to_json()
    assert "flatten" not in written["learner"] and plan_from_json(written).learner.flatten == 0.0


def test_where_it_has_no_proof_it_is_refused_by_name():
    for bad in (1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="flatten"):
            GradientDescent(Logistic(), flatten=bad)
    with pytest.raises(ValueError, match="flatten releases the sum"):
        prepriv.account([], FLAT, domain=domain(), noise_multiplier=50.0)
    setting = Setting(1.0, 3, 1, 1000, "replace-one", RowShift(10, 0.01, 0.1))
    bounded = dataclasses.replace(FLAT, weight_bound=1.0)
    assert bounded.smooth(5.0, setting) is None
    assert dataclasses.replace(bounded, flatten=0.0).smooth(5.0, setting) is not None
    with pytest.raises(BadSchema, match="no option 'flatten'"):
        build_learner({"kind": "NoisySGD", "flatten": 0.1})
    made = build_learner({"kind": "PoissonSGD", "flatten": 0.1, "loss": "Logistic"})
    assert made.flatten == 0.1


def test_canaries_stay_out_of_the_sum_of_rows(rng):
    x = rng.random((400, 3)) / 2
    flat = dataclasses.replace(FLAT, steps=10)
    plan = make_plan(domain(n=400), [], flat, epsilon=4.0, delta=1e-5)
    session = NoisySession(NoiseSource.for_tests(1))
    made = execute(plan, encode(x, plan.domain), (x[:, 0] > 0.25).astype(np.int32), session, audit=2000)
    assert not made.audited.refuted and 0.97 < made.audited.noise < 1.06
    assert [r.mechanism.coordinates for r in session.releases[:2]] == [4, 4 + 2000]
