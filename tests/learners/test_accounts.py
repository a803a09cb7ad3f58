"""Accounts of noisy batches when common rows have moved: laws, attained lower bounds, group privacy."""

import itertools
import math

import numpy as np
import pytest

from prepriv.guarantees.loss_distribution import compose
from prepriv.learners import accounts
from prepriv.learners.accounts import (
    MovedRows,
    batch_shift_law,
    poisson_parts,
    poisson_shift_law,
    without_replacement_parts,
)

CASES = [
    MovedRows(count=3, each=0.5, total=1.5),
    MovedRows(count=3, each=0.5, total=0.7),
    MovedRows(count=200, each=0.01, total=1.0),
    MovedRows(count=500, each=0.02, total=1.5),
    MovedRows(dropped=4),
    MovedRows(count=50, each=0.05, total=2.0, dropped=3),
]


def shifts_of_rows(moved, rng):
    """Row shifts that obey the declaration, spread evenly, or as unevenly as it allows, or at random."""
    patterns = []
    if moved.count:
        patterns.append(np.full(moved.count, min(moved.each, moved.total / moved.count)))
        full = int(moved.total / moved.each)
        uneven = np.zeros(moved.count)
        uneven[:full] = moved.each
        if full < moved.count:
            uneven[full] = moved.total - full * moved.each
        patterns.append(uneven)
        random = np.minimum(rng.random(moved.count) ** 3 * moved.each, moved.each)
        patterns.append(random * min(1.0, moved.total / random.sum()))
    else:
        patterns.append(np.zeros(0))
    return [np.concatenate([p, np.ones(moved.dropped)]) for p in patterns]


@pytest.mark.parametrize("moved", CASES, ids=str)
@pytest.mark.parametrize("sampler", ["poisson", "without replacement"])
def test_the_law_of_the_batch_shift_dominates_every_arrangement(moved, sampler):
    rng = np.random.default_rng(3)
    n, batch, runs = 600, 60, 40_000
    rows = moved.count + moved.dropped
    if sampler == "poisson":
        shifts, weights = poisson_shift_law(moved, batch / n)
    else:
        shifts, weights = batch_shift_law(moved, batch, n)
    assert math.fsum(weights) == pytest.approx(1.0, abs=1e-12) and (np.diff(shifts) > 0).all()
    for pattern in shifts_of_rows(moved, rng):
        if sampler == "poisson":
            h = (rng.random((runs, rows)) < batch / n) @ pattern
        else:
            chosen = np.argpartition(rng.random((2000, n - 1)), batch)[:, :batch]
            h = np.concatenate([pattern, np.zeros(n - 1 - rows)])[chosen].sum(axis=1)
        for t in np.quantile(h, [0.0, 0.1, 0.5, 0.9, 0.99]):
            claimed = math.fsum(weights[shifts > t])
            seen = float(np.mean(h > t + 1e-12))
            assert seen <= claimed + 5 * math.sqrt(seen * (1 - seen) / len(h)) + 1e-12


def test_the_law_is_exact_for_rows_that_move_as_far_as_they_can():
    from scipy.stats import binom

    shifts, weights = poisson_shift_law(MovedRows(count=5, each=2.0, total=10.0), 0.1)
    assert shifts == pytest.approx(2.0 * np.arange(6), rel=1e-5)
    assert weights == pytest.approx(binom.pmf(np.arange(6), 5, 0.1), rel=1e-6)


def density(mix, noise, steps=1):
    """What cells of an axis hold of a 1-D mixture [(weight, centre)] with this noise, `steps` independent copies."""
    axis = np.linspace(-9 * noise - 4, 9 * noise + 4, 4001 if steps == 1 else 801)
    weights, centres = map(np.array, zip(*mix))
    held = (
        weights @ np.exp(-0.5 * ((axis - centres[:, None]) / noise) ** 2) / (noise * math.sqrt(2 * math.pi))
    )
    held *= axis[1] - axis[0]
    return held if steps == 1 else np.outer(held, held)


def hockey_stick(p, q, epsilon):
    """∑(p − e^ε q)_+ over the cells."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def poisson_mixture(record, common, rate):
    out = []
    values = [record, *common]
    for inside in itertools.product((0, 1), repeat=len(values)):
        weight = math.prod(rate if i else 1 - rate for i in inside)
        out.append((weight, sum(v for i, v in zip(inside, values) if i)))
    return out


def batch_mixture(record, common, batch):
    subsets = list(itertools.combinations([record, *common], batch))
    return [(1 / len(subsets), sum(s)) for s in subsets]


@pytest.mark.parametrize("sampler", ["poisson", "without replacement"])
@pytest.mark.parametrize("dropped", [0, 1])
def test_no_arrangement_of_moved_rows_beats_either_way_of_the_account(sampler, dropped, monkeypatch):
    """1-D adversary: record from +1 to −1, common rows moved, dropped, any sign and any batch; 1 and 2 steps."""
    rng = np.random.default_rng(5)
    rate, batch, noise, each = 0.25, 2, 1.5, 0.3
    n_common = 6
    ratios, ways = [], []
    monkeypatch.setattr(accounts, "compose", lambda parts: ways.append(compose(parts)) or ways[-1])
    for count, steps in ((6 - dropped, 1), (2, 2)):
        ways.clear()
        moved = MovedRows(count=count, each=each, total=each * count, dropped=dropped)
        if sampler == "poisson":
            poisson_parts(noise, rate, steps, "replace-one", moved, 1e-2)
        else:
            without_replacement_parts(noise, batch, n_common + 1, steps, moved, 1e-2)
        bounds = {epsilon: min(way.delta(epsilon) for way in ways) for epsilon in (0.0, 0.2, 0.5)}
        for trial in range(8):
            start = rng.uniform(-1, 1, n_common) if trial else np.full(n_common, 0.0)
            move = np.full(n_common, -each) if trial < 4 else rng.uniform(-each, each, n_common)
            after = start.copy()
            after[:count] = np.clip(start[:count] + move[:count], -1, 1)
            if dropped:
                start[-1], after[-1] = 1.0, 0.0
            if sampler == "poisson":
                p, q = poisson_mixture(1.0, start, rate), poisson_mixture(-1.0, after, rate)
            else:
                p, q = batch_mixture(1.0, start, batch), batch_mixture(-1.0, after, batch)
            p, q = density(p, noise, steps), density(q, noise, steps)
            for epsilon, bound in bounds.items():
                for one, two in ((p, q), (q, p)):
                    found = hockey_stick(one, two, epsilon)
                    assert found <= bound * (1 + 1e-6) + 1e-9
                    ratios.append(found / bound)
    assert max(ratios) > (0.6 if dropped else 0.8)


def test_the_noise_is_split_and_the_substitute_may_have_moved(monkeypatch):
    """s1² + s2² = 1, and without replacement the second shift is 2 + (what the substitute moves)."""
    ways = []
    monkeypatch.setattr(accounts, "compose", lambda parts: ways.append(parts) or compose(parts))
    z, moved = 2.0, MovedRows(count=5, each=0.5, total=2.5, rounding=0.01)
    for expected, law in ((1.0, poisson_shift_law(moved, 0.2)), (2.5, batch_shift_law(moved, 20, 100))):
        ways.clear()
        if expected == 1.0:
            poisson_parts(z, 0.2, 3, "replace-one", moved)
        else:
            without_replacement_parts(z, 20, 100, 3, moved)
        ((first, _), (second, _)), *_ = ways
        share = ((law[0][1] + 0.01) / z / first.shifts[1]) ** 2
        assert 0 < share < 1
        assert second.shift * math.sqrt(1 - share) * z == pytest.approx(expected, rel=1e-9)


def test_rows_moved_cost_and_rows_hardly_moved_hardly():
    moved = MovedRows(count=1000, each=0.01, total=10.0)
    parts = poisson_parts(2.0, 0.01, 200, "replace-one", moved, 1e-5)
    plain = poisson_parts(2.0, 0.01, 200, "replace-one")
    epsilon, alone = compose(parts).epsilon(1e-5), compose(plain).epsilon(1e-5)
    assert alone < epsilon
    # A little moved costs a little.
    tiny = poisson_parts(2.0, 0.01, 200, "replace-one", MovedRows(count=1000, each=1e-8, total=1e-5), 1e-5)
    assert compose(tiny).epsilon(1e-5) == pytest.approx(alone, rel=1e-2)


def test_more_moved_rows_cost_more_and_all_of_them_about_the_full_batch_price():
    from prepriv.guarantees import gaussian

    costs = []
    for total in (0.01, 0.3, 3.0):
        moved = MovedRows(count=20_000, each=total / 20_000, total=total)
        costs.append(compose(poisson_parts(8.0, 0.07, 200, "replace-one", moved, 1e-5)).epsilon(1e-5))
    assert costs == sorted(costs)
    full_batch = gaussian(math.sqrt(200) * (2 + 3.0) * 0.07 / 8.0).epsilon(1e-5)
    assert costs[-1] <= 1.1 * full_batch


def test_moved_rows_need_replace_one():
    with pytest.raises(ValueError, match="replace-one"):
        poisson_parts(1.0, 0.1, 10, "add-or-remove-one", MovedRows(count=1, each=0.1, total=0.1))


# (noise, rate, rows, shift of each, steps) -> epsilon at 1e-5 of way 3, computed by an independent program.
SHOWN = {
    (1.0, 0.01, 10, 0.1, 1000): 6.62,
    (1.0, 0.01, 1, 0.1, 1000): 3.34,
    (2.0, 0.01, 10, 0.1, 1000): 2.90,
    (4.0, 0.02, 10, 0.5, 1000): 10.69,
}


@pytest.mark.parametrize("setting", SHOWN, ids=str)
def test_showing_the_moved_rows_of_a_batch_costs_what_it_should(setting, monkeypatch):
    noise, rate, rows, each, steps = setting
    ways = []
    monkeypatch.setattr(accounts, "compose", lambda parts: ways.append(compose(parts)) or ways[-1])
    poisson_parts(noise, rate, steps, "replace-one", MovedRows(rows, each, rows * each), 1e-5)
    split, third, shown = (way.symmetrized().epsilon(1e-5) for way in ways[:3])
    assert shown == pytest.approx(SHOWN[setting], rel=2e-3)
    assert shown < min(split, third)


def test_a_law_on_fewer_points_lies_above_it():
    rng = np.random.default_rng(0)
    shifts, weights = np.sort(rng.random(500)), rng.dirichlet(np.ones(500))
    fewer, mass = accounts._coarser(shifts, weights)
    assert len(fewer) <= 40 and math.fsum(mass) == pytest.approx(1.0)
    for t in rng.random(200):
        assert mass[fewer > t].sum() >= weights[shifts > t].sum() - 1e-12
