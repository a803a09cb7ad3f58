"""Several passes with hidden iterates: no chain in a ball, and no contraction, beats the curve of a random stop."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from prepriv.guarantees import gaussian
from prepriv.guarantees.iteration import Passes, last_iterate_mu, random_stopping

EPSILONS = np.array([0.0, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0])


def chain_deltas(gains, shifts, half, stops, cells=101):
    """δ at `EPSILONS` of x' = gain·clip(x) ± shift/2 + N(0, 1) in [−half, half], by integration: mean over stops, larger order."""
    edges = np.linspace(-half, half, cells + 1)
    centre = (edges[1:] + edges[:-1]) / 2
    centre[0], centre[-1] = -half, half
    laws, found = [np.eye(cells)[cells // 2]] * 2, []
    for step, (gain, shift) in enumerate(zip(gains, shifts), 1):
        to = [gain * centre + sign * shift / 2 for sign in (1, -1)]
        if step in stops:
            reach = max(abs(t).max() for t in to) + 7
            axis = np.linspace(-reach, reach, 1501)
            p, q = (law @ norm.pdf(axis - t[:, None]) for law, t in zip(laws, to))
            grown = np.exp(EPSILONS)[:, None]
            gaps = [np.maximum(a - grown * b, 0.0).sum(axis=1) for a, b in ((p, q), (q, p))]
            found.append(np.array(gaps) * (axis[1] - axis[0]))
        inner = [norm.cdf(edges[1:-1] - t[:, None]) for t in to]
        laws = [
            law @ np.diff(np.pad(c, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1))))
            for law, c in zip(laws, inner)
        ]
    return np.mean(found, axis=0).max(axis=0)


@pytest.mark.parametrize(
    "block, passes, shift, diameter, shrink, reached",
    [
        (1, 2, 3.0, 1.0, 0.0, 0.97),
        (1, 30, 1.5, 1.0, 0.0, 0.85),
        (1, 30, 0.5, 2.0, 0.0, 0.5),
        (1, 8, 1.0, 9.0, 0.2, 0.99),
        (2, 5, 1.0, 9.0, 0.3, 0.99),
        (3, 6, 2.0, 0.5, 0.0, 0.4),
        (3, 8, 1.0, 3.0, 0.05, 0.5),
    ],
)
def test_no_chain_in_a_ball_beats_the_curve(block, passes, shift, diameter, shrink, reached):
    """Gains in [0, 1 − shrink] by step, the record at every place of its pass, walls on both sides: exact on a grid."""
    rng = np.random.default_rng(0)
    bound = random_stopping(block, shift, again=Passes(passes, shrink, diameter)).delta(EPSILONS)
    steps = block * passes
    stops, seen, best = range(steps - block + 1, steps + 1), bound > 1e-7, 0.0
    for trial in range(4 * block):
        gains = np.full(steps, 1.0 - shrink)
        if trial >= block:
            gains[rng.random(steps) < 0.3] *= 0.5 * (trial % 2)
        shifts = np.zeros(steps)
        shifts[trial % block :: block] = shift
        ratio = chain_deltas(gains, shifts, diameter / 2, stops)[seen] / bound[seen]
        best = max(best, ratio.max())
    assert reached < best < 1.0 + 1e-3


def test_all_passes_without_a_ball_are_the_taut_string_of_every_stop():
    block, passes, record = 5, 4, 0.8
    bound = random_stopping(block, record, again=Passes(passes)).delta(EPSILONS)
    steps, worst = block * passes, 0.0
    for r in range(block):
        shifts = np.zeros(steps)
        shifts[r::block] = record
        mus = [last_iterate_mu(shifts[:stop]) for stop in range(steps - block + 1, steps + 1)]
        delta = np.mean([gaussian(mu).delta(EPSILONS) for mu in mus], axis=0)
        assert (delta <= bound * (1 + 1e-9)).all()
        worst = max(worst, float((delta / bound).max()))
    assert worst > 0.999


@pytest.mark.parametrize("shrink", [0.0, 1e-9, 0.02, 0.5])
def test_linear_chains_with_moved_rows_stay_below(shrink):
    """Gains of 1 − shrink, all shifts in one direction: the exact distance of the last iterates, over 60 arrangements."""
    rng = np.random.default_rng(1)
    block, passes, record, total, step, rounding = 4, 5, 0.7, 0.5, 0.25, 1e-3
    f = random_stopping(
        block, record, total=total, step=step, rounding=rounding, again=Passes(passes, shrink)
    )
    bound, steps = f.delta(EPSILONS), block * passes
    for trial in range(60):
        one = np.full(block, rounding)
        np.add.at(one, rng.choice(block, 2, replace=trial % 2 == 0), total / 2)
        one = np.minimum(one, rounding + step)
        one[trial % block] += record
        gap, variance, found = 0.0, 0.0, []
        for k, shift in enumerate(np.tile(one, passes), 1):
            gain = (1.0 - shrink) * (trial % 3 > 0 or rng.random() < 0.8)
            gap, variance = gain * gap + shift, gain**2 * variance + 1.0
            if k > steps - block:
                found.append(gaussian(gap / math.sqrt(variance)).delta(EPSILONS))
        assert (np.mean(found, axis=0) <= bound * (1 + 1e-9)).all()


def test_full_batches_of_a_strongly_convex_loss_have_the_exact_parameter():
    """Bok, Su and Altschuler 2024: μ² = (1 + c)/(1 − c) · (1 − c^T)/(1 + c^T) of a step's, attained by quadratics."""
    for shrink, steps in ((0.3, 1), (0.3, 7), (0.05, 40), (0.9, 12)):
        c = 1.0 - shrink
        f = random_stopping(1, 0.5, again=Passes(steps, shrink))
        mu = 0.5 * math.sqrt((1 + c) / (1 - c) * (1 - c**steps) / (1 + c**steps))
        assert f.delta(0.3) == pytest.approx(gaussian(mu).delta(0.3), rel=1e-6)


def test_more_passes_stop_costing():
    in_ball = [
        random_stopping(10, 0.5, again=Passes(p, 0.0, 5.0)).delta(0.5) for p in (1, 10, 100, 1000, 10**6)
    ]
    assert (np.diff(in_ball) >= 0).all() and in_ball[-1] == pytest.approx(in_ball[-2], rel=1e-3)
    shrunk = [random_stopping(10, 0.5, again=Passes(p, 0.02)).delta(0.5) for p in (1, 10, 100, 10**6)]
    assert (np.diff(shrunk) >= 0).all() and shrunk[-1] == pytest.approx(shrunk[-2], rel=1e-3)
    assert random_stopping(10, 0.5, again=Passes(10**4)).delta(0.5) > 2 * in_ball[-1]


def test_refusals():
    with pytest.raises(ValueError, match="passes"):
        Passes(0)
    with pytest.raises(ValueError, match="shrink"):
        Passes(2, 1.0)
