"""Quantization: the paper's bounds refuted, the corrected ones attacked, the grid free."""

from __future__ import annotations

import math

import numpy as np
import pytest
from neighbouring import apply, blocks, measure
from test_deduplicate import ETA, brute_clusters, crowd_of, lattice_pair, near_duplicates

import prepriv
from prepriv.domain import Domain
from prepriv.payment import Budget, Public, Sensitivity
from prepriv.preprocessing import base
from prepriv.preprocessing._crowd import cluster_grid
from prepriv.preprocessing.quantize import Quantize, QuantizeCells
from prepriv.space import Space


def quantize(m, eta=ETA, representative="centre"):
    return Quantize(eta, representative, payment=Sensitivity({"max_neighbors": m}))


def image(step, x, space):
    return apply(step.fit_confidential(blocks(x), space, len(x)), x)[0]


# ------------------------------------------------------------------------------------------- brute force


@pytest.mark.parametrize("representative", ["centre", "mean"])
@pytest.mark.parametrize("d, eta", [(1, 0.001), (2, 0.01), (50, 0.01)])
def test_two_thousand_rows_agree_with_brute_force(d, eta, representative):
    rng = np.random.default_rng(1)
    x, space = near_duplicates(rng, 2000, d), Space.ball(d, 1.0)
    centre, _ = brute_clusters(x, space, eta)
    on_grid = cluster_grid(1.0).cut(x)
    expected = on_grid.copy()
    for c in set(centre) - {None}:
        rows = [i for i, own in enumerate(centre) if own == c]
        first = np.frombuffer(c, dtype=np.float32).astype(float) * cluster_grid(1.0).step
        expected[rows] = first if representative == "centre" else on_grid[rows].mean(axis=0)
    found = image(quantize(3, eta, representative), x, space)
    assert np.abs(found - expected).max() < 1e-12
    assert np.linalg.norm(found - x, axis=1).max() <= (1 if representative == "centre" else 2) * eta + 1e-6
    assert d == 1 or (found != on_grid).any(axis=1).mean() > 0.05


@pytest.mark.parametrize("representative", ["centre", "mean"])
def test_a_row_has_the_same_bits_in_any_block_and_order(representative):
    rng = np.random.default_rng(2)
    x, space = near_duplicates(rng, 500, 6), Space.ball(6, 1.0)
    step, order = quantize(3, 0.01, representative), rng.permutation(500)
    whole = step.fit_confidential([x], space, 500).transform(x)
    again = step.fit_confidential(blocks(x[order]), space, 500)
    assert (again.transform(x[order]) == whole[order]).all()
    assert (apply(again, x, size=1)[0] == whole).all()


# --------------------------------------------------------------------------------------- the paper's bounds


def tipped_clusters(k):
    """k clusters around the origin: a centre at 2.99 eta with ten points .999 eta outwards and ten inwards."""
    angle = 2 * np.pi * np.arange(k) / k
    out = np.column_stack([np.cos(angle), np.sin(angle)]) if k > 2 else np.array([[1.0], [-1.0]])
    reach = np.concatenate([[2.99], np.full(10, 3.989), np.full(10, 1.991)]) * ETA
    return (out[:, None, :] * reach[:, None]).reshape(-1, out.shape[1])


def moved_between(common):
    """A record goes from the middle of one set of clusters to the middle of its copy."""
    there = common.copy()
    there[:, 0] += 0.7
    both = np.vstack([common, there])
    middle, other = np.zeros((2, common.shape[1]))
    other[0] = 0.7
    return np.vstack([middle[None], both]), np.vstack([other[None], both])


@pytest.mark.parametrize("representative", ["centre", "mean"])
@pytest.mark.parametrize("clusters, shift", [(5, 199.8), (2, 79.92)])
def test_paper_bound_on_quantization_is_beaten(clusters, shift, representative):
    """Proposition 3 allows 2 * 21 rows by eta each, 42 eta in all; ours is 2 (m - 1) eta, and nearly reached."""
    s1, s2 = moved_between(tipped_clusters(clusters))
    space = Space.ball(s1.shape[1], 1.2)
    step = quantize(clusters * 21 + 1, representative=representative)
    found = measure(step, space, s1, s2)
    assert found.total_shift == pytest.approx(shift * ETA, rel=1e-3) and found.total_shift > 42 * ETA
    claim = step.sensitivity(space, len(s1))
    assert found.within(claim) and found.total_shift > 0.94 * claim.total_shift


def test_a_row_moves_by_more_than_eta():
    """Two tips of a lens: every common row goes from one record to the other, 1.73 eta away; paper: eta."""
    half = 1.73 / 2
    tip = math.sqrt(1 - half**2) * 0.9999
    common = np.array([[0, tip], [0, -tip]]) * ETA
    s1 = np.vstack([[[-half * ETA * 0.9999, 0]], common])
    s2 = np.vstack([[[half * ETA * 0.9999, 0]], common])
    space, step = Space.ball(2, 1.0), quantize(3)
    found = measure(step, space, s1, s2)
    assert found.row_shift == pytest.approx(1.73 * ETA, rel=1e-3) and found.rows_moved == 2
    assert found.within(step.sensitivity(space, 3)) and step.sensitivity(space, 3).row_shift >= 2 * ETA


def test_a_tie_moves_a_row_by_twice_eta():
    """One common row between the two records, eta from each: the first centre by content may be the record."""
    rng = np.random.default_rng(9)
    worst = 0.0
    for x in rng.uniform(-0.5, 0.5, (60, 1)):
        s1, s2 = np.array([x - ETA * 0.99999, x]), np.array([x + ETA * 0.99999, x])
        worst = max(worst, measure(quantize(2), Space.ball(1, 1.0), s1, s2).row_shift)
    assert worst == pytest.approx(2 * ETA, rel=1e-4)
    assert worst <= quantize(2).sensitivity(Space.ball(1, 1.0), 2).row_shift


def test_a_mean_moves_a_row_by_nearly_twice_eta():
    """c = 0, one row at eta, 17 at -eta: with the record in the way nothing moves, without it 1.842 eta."""
    common = np.vstack([[[0.0]], [[ETA * 0.9999]], np.full((17, 1), -ETA * 0.9999)])
    s1, s2 = np.vstack([[[0.9]], common]), np.vstack([[[2.5 * ETA]], common])
    space, step = Space.ball(1, 1.0), quantize(20, representative="mean")
    found = measure(step, space, s1, s2)
    assert found.row_shift == pytest.approx(1.842 * ETA, rel=1e-3)
    assert found.within(step.sensitivity(space, 20))


@pytest.mark.parametrize("representative", ["centre", "mean"])
@pytest.mark.parametrize("moved", [False, True])
def test_random_neighbours_never_beat_it(moved, representative):
    rng = np.random.default_rng(3)
    best = np.zeros(3)
    for _ in range(1200):
        d = int(rng.integers(1, 4))
        eta, s1, s2 = lattice_pair(rng, d, moved)
        space = Space.ball(d, 1.0)
        m = max(crowd_of(s, space, eta) for s in (s1, s2))
        far = np.linalg.norm(s1 - s2, axis=1)[1:]
        incoming = base.RowShift(float((far > 0).sum()), far.max(initial=0.0), far.sum())
        step = quantize(m, eta, representative)
        claim, found = step.sensitivity(space, len(s1), incoming), measure(step, space, s1, s2)
        assert found.within(claim)
        if claim.total_shift > 0:
            best = np.maximum(
                best,
                [
                    found.rows_moved / claim.rows_moved,
                    found.row_shift / claim.row_shift,
                    found.total_shift / claim.total_shift,
                ],
            )
    assert best[0] > 0.5 and best[1] > 0.45 and best[2] > 0.25


def test_a_planted_bug_would_be_found(monkeypatch):
    """With the paper's 2 m rows by eta each the five clusters beat the claim."""
    from prepriv.preprocessing import quantize as module

    monkeypatch.setattr(module, "changed_rows", lambda m, incoming: 2.0 * 21)
    s1, s2 = moved_between(tipped_clusters(5))
    assert not measure(quantize(106), Space.ball(2, 1.2), s1, s2).within(
        quantize(106).sensitivity(Space.ball(2, 1.2), len(s1))
    )


def test_the_statistic_is_that_of_deduplication():
    rng = np.random.default_rng(4)
    fastest = 0.0
    for _ in range(300):
        eta, s1, s2 = lattice_pair(rng, 2, False)
        step = quantize(4, eta / 8)
        one, two = (step.distance([s], Space.ball(2, 1.0), len(s)) for s in (s1, s2))
        fastest = max(fastest, abs(one - two))
        assert one <= 0 or crowd_of(s1, Space.ball(2, 1.0), eta / 8) <= 4
    assert fastest == 1.0


# ------------------------------------------------------------------------------------------------------ cells


def test_cells_are_free_and_treat_every_row_alike():
    rng = np.random.default_rng(5)
    space = Domain.box(0, 1, 4, [0, 1]).space
    step = QuantizeCells(0.1, offset=0.03)
    assert step.way == "free"
    fitted, x = step.free(space), rng.uniform(0, 1, (200, 4))
    y = fitted.transform(x)
    assert np.abs(y - x).max() <= 0.05 + 1e-12
    assert ((y >= 0) & (y <= 1)).all() and np.linalg.norm(y, axis=1).max() <= space.radius * (1 + 1e-12)
    assert (np.vstack([fitted.transform(row[None]) for row in x]) == y).all()
    assert np.allclose(fitted.transform(y), y)
    assert fitted.to_json()["map"] == "cells"


def test_cells_pull_their_centres_back_into_the_ball():
    fitted = QuantizeCells(0.5).free(Space.ball(2, 1.0))
    y = fitted.transform(np.array([[0.8, 0.6], [0.76, 0.6]]))
    assert np.linalg.norm(y, axis=1) == pytest.approx([1.0, 1.0])


def test_rows_that_come_in_moved_go_a_diagonal_further():
    rng = np.random.default_rng(6)
    space = Space.ball(3, 1.0)
    step = QuantizeCells(0.2)
    fitted = step.free(space)
    x = rng.uniform(-0.5, 0.5, (2000, 3))
    near = x + rng.normal(size=x.shape) * 0.02
    far, after = (
        np.linalg.norm(x - near, axis=1),
        np.linalg.norm(fitted.transform(x) - fitted.transform(near), axis=1),
    )
    incoming = base.RowShift(2000.0, far.max(), far.sum())
    out = step.propagate(space, incoming)
    assert after.max() <= out.row_shift <= far.max() + 0.2 * math.sqrt(3) * (1 + 1e-6)
    assert after.sum() <= out.total_shift and (after <= far + 0.2 * math.sqrt(3)).all()
    assert step.propagate(space, base.UNTOUCHED) is base.UNTOUCHED
    assert step.lipschitz(space) == math.inf


def test_runs_with_quantization():
    rng = np.random.default_rng(7)
    x = np.clip(near_duplicates(rng, 400, 3) / 2 + 0.5, 0, 1)
    domain = Domain.box(0, 1, 3, [0, 1], n=400)
    for step in (quantize(4, 0.01), QuantizeCells(0.05)):
        model = prepriv.PrivateClassifier(domain, epsilon=5.0, delta=1e-4, steps=[step])
        model.fit(x, (x[:, 0] > 0.5).astype(int))
        assert bool(model.guarantee_.conditions) == isinstance(step, Quantize)
        assert model.predict(x).shape == (400,)


def test_claims_and_refusals():
    space = Space.ball(3, 1.0)
    claim = quantize(4).sensitivity(space, 1000)
    assert claim.rows_moved == 6 and claim.total_shift == pytest.approx(6 * ETA) and claim.rows_dropped == 0
    assert quantize(1).sensitivity(space, 1000).is_zero
    with pytest.raises(ValueError, match="representative"):
        quantize(3, representative="median")
    with pytest.raises(ValueError, match="drops rows"):
        quantize(3).sensitivity(space, 10, base.RowShift(rows_dropped=1))
    with pytest.raises(ValueError, match="side"):
        QuantizeCells(0.0)
    with pytest.raises(ValueError, match="too many cells"):
        QuantizeCells(1e-12).free(space)
    for payment in (Public(), Budget()):
        with pytest.raises(ValueError, match="free"):
            Quantize(ETA, payment=payment)
