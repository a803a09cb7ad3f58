"""Deduplication: exact clusters, the paper's bound refuted, the corrected one attacked."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from neighbouring import Labelled, apply, blocks, measure

import prepriv
from prepriv.domain import Domain
from prepriv.learners import GradientDescent, Logistic
from prepriv.payment import Budget, Public, Sensitivity
from prepriv.preprocessing import _neighbours, base
from prepriv.preprocessing._crowd import cluster_grid
from prepriv.preprocessing._neighbours import Distinct, count_within, h_index, squared_steps
from prepriv.preprocessing.center import Center
from prepriv.preprocessing.deduplicate import Deduplicate, DeduplicateCells
from prepriv.preprocessing.encode import ClipFeatures
from prepriv.space import Space

ETA = 0.05


def dedup(m, eta=ETA, **options):
    return Deduplicate(eta, payment=Sensitivity({"max_neighbors": m}), **options)


def kept(step, x, space, rows=None):
    return apply(step.fit_confidential(blocks(x) if rows is None else rows, space, len(x)), x)[1]


# ------------------------------------------------------------------------------------------- brute force


def squares(ints):
    return np.array([((ints - row) ** 2).sum(axis=1) for row in ints])


def brute_clusters(x, space, eta):
    """For each row the first good centre within eta of it, by the bytes of its grid integers, or None."""
    grid = cluster_grid(space.radius)
    ints = grid.ints(x).astype(np.int64)
    far = squares(ints)
    near, around = far <= squared_steps(grid, eta), far <= squared_steps(grid, eta, 3)
    good = (near == around).all(axis=1)
    key = [row.astype(np.float32).tobytes() for row in ints]
    return [min((key[c] for c in np.flatnonzero(near[i] & good)), default=None) for i in range(len(x))], key


def brute_kept(x, space, eta):
    centre, key = brute_clusters(x, space, eta)
    seen, out = set(), []
    for c, k in zip(centre, key):
        out.append(c is None or (c == k and k not in seen))
        if c == k:
            seen.add(k)
    return np.array(out)


def near_duplicates(rng, n, d, copies=5, spread=0.02):
    """Rows in groups of near-duplicates at many distances around eta, some of them equal."""
    centres = rng.normal(size=(n // copies, d))
    x = np.repeat(centres, copies, axis=0)
    x += rng.normal(size=x.shape) * spread * rng.choice([0, 0.1, 1, 2], (len(x), 1)) / math.sqrt(d)
    return x / np.linalg.norm(x, axis=1).max()


@pytest.mark.parametrize("d, eta", [(1, 0.001), (2, 0.01), (50, 0.01), (50, 0.2)])
def test_two_thousand_rows_agree_with_brute_force(d, eta):
    rng = np.random.default_rng(1)
    x = near_duplicates(rng, 2000, d)
    space = Space.ball(d, 1.0)
    found = kept(dedup(3, eta), x, space)
    assert (found == brute_kept(x, space, eta)).all()
    assert d == 1 or (~found).mean() > 0.05


def test_distances_on_the_border_are_decided_exactly():
    """Points of a lattice of side eta: every distance of interest is attained exactly."""
    rng = np.random.default_rng(2)
    eta = 2.0**-6
    for d in (1, 2, 3):
        for _ in range(60):
            x = rng.integers(-6, 7, (int(rng.integers(2, 60)), d)) * eta * rng.choice([1.0, 0.5])
            assert (
                kept(dedup(3, eta), x, Space.ball(d, 1.0)) == brute_kept(x, Space.ball(d, 1.0), eta)
            ).all()


def test_a_planted_bug_in_the_index_would_be_found(monkeypatch):
    whole = _neighbours._inside
    monkeypatch.setattr(_neighbours, "_inside", lambda v, c, reach: whole(v, c, reach // 2))
    rng = np.random.default_rng(1)
    x = near_duplicates(rng, 2000, 2)
    assert (kept(dedup(3, 0.01), x, Space.ball(2, 1.0)) != brute_kept(x, Space.ball(2, 1.0), 0.01)).any()


def test_the_fate_of_a_row_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(3)
    x = near_duplicates(rng, 600, 4)
    space, order = Space.ball(4, 1.0), np.random.default_rng(4).permutation(600)
    one, two = kept(dedup(3, 0.01), x, space), kept(dedup(3, 0.01), x[order], space)
    assert sorted(map(bytes, x[one])) == sorted(map(bytes, x[order][two]))


def test_counts_agree_with_brute_force_whatever_the_shape():
    rng = np.random.default_rng(5)
    for n, d in ((1, 3), (130, 1), (1000, 6), (3000, 2)):
        x = rng.integers(-50, 51, (n, d)).astype(np.float32) * 2.0 ** rng.integers(0, 15)
        rows = Distinct.of(x)
        t = int(np.quantile(squares(x[:200].astype(np.int64)), 0.3))
        expected = [
            (((rows.points - p).astype(np.int64) ** 2).sum(axis=1) <= t) @ rows.count for p in rows.points
        ]
        assert (count_within(rows.points, rows.count, [t])[0] == expected).all()
        assert (rows.points[rows.inverse] == x).all() and rows.count.sum() == n


# --------------------------------------------------------------------------------------- the paper's bound


def star(k, radius, m=20, jitter=1e-9):
    """k clusters of m equal points (up to the jitter) on a circle; the changed record will stand in the middle."""
    rng = np.random.default_rng(6)
    angle = 2 * np.pi * np.arange(k) / k
    centres = radius * (
        np.column_stack([np.cos(angle), np.sin(angle)]) if k > 2 else np.array([[1.0], [-1.0]])
    )
    return np.repeat(centres, m, axis=0) + jitter * rng.normal(size=(k * m, centres.shape[1]))


def two_sites(k, radius, both):
    """Neighbours: a record leaves the middle of one star (or nowhere) for the middle of another."""
    here = star(k, radius)
    there = here.copy()
    there[:, 0] += 0.8
    common = np.vstack([here, there]) if both else here
    middle, other = np.zeros(common.shape[1]), np.zeros(common.shape[1])
    other[0] = 0.8
    return np.vstack([middle[None], common]), np.vstack([other[None], common])


@pytest.mark.parametrize(
    "clusters, radius, both, rows",
    [(5, 2.9, False, 95), (5, 2.99, True, 190), (2, 2.9, False, 38), (2, 2.9, True, 76)],
)
def test_paper_bound_is_beaten_by_clusters_around_one_record(clusters, radius, both, rows):
    """Proposition 3 allows twice the largest good cluster, 40 rows (20 by its footnote for one site)."""
    s1, s2 = two_sites(clusters, radius * ETA, both)
    space = Space.ball(s1.shape[1], 1.0)
    found = measure(dedup(clusters * 20 + 1), space, s1, s2)
    assert found.rows_dropped == rows > (40 if both or clusters > 2 else 20)
    assert found.within(dedup(clusters * 20 + 1).sensitivity(space, len(s1)))


def crowd_of(x, space, eta):
    """f at 4 eta: the most rows within 4 eta of one row."""
    grid = cluster_grid(space.radius)
    far = squares(grid.ints(x).astype(np.int64))
    return int((far <= squared_steps(grid, eta, 4)).sum(axis=1).max())


def lattice_pair(rng, d, moved):
    eta = 2.0**-5
    n = int(rng.integers(2, 30))
    sites = rng.integers(-5, 6, (int(rng.integers(1, 9)), d))
    s1 = (sites[rng.integers(0, len(sites), n)] + (rng.random((n, d)) < 0.1)) * eta * rng.choice([1.0, 0.75])
    s2 = s1.copy()
    s2[0] = rng.integers(-5, 6, d) * eta
    some = np.flatnonzero(rng.random(n) < 0.15) if moved else []
    for i in some:
        s2[i] += rng.integers(-2, 3, d) * eta
    return eta, s1, s2


@pytest.mark.parametrize("moved", [False, True])
def test_random_neighbours_never_drop_more(moved):
    rng = np.random.default_rng(7)
    best = 0.0
    for _ in range(1500):
        d = int(rng.integers(1, 4))
        eta, s1, s2 = lattice_pair(rng, d, moved)
        space = Space.ball(d, 1.0)
        m = max(crowd_of(s, space, eta) for s in (s1, s2))
        far = np.linalg.norm(s1 - s2, axis=1)[1:]
        incoming = base.RowShift(float((far > 0).sum()), far.max(initial=0.0), far.sum())
        claim = dedup(m, eta).sensitivity(space, len(s1), incoming)
        found = measure(dedup(m, eta), space, s1, s2)
        assert found.within(claim)
        best = max(best, found.rows_dropped / max(claim.rows_dropped, 1))
    assert best > 0.45


def test_the_bound_is_nearly_reached():
    """The five clusters at 2.99 eta: 95 of the 100 rows within 4 eta change at each site."""
    s1, s2 = two_sites(5, 2.99 * ETA, True)
    claim = dedup(101).sensitivity(Space.ball(2, 1.0), len(s1))
    assert measure(dedup(101), Space.ball(2, 1.0), s1, s2).rows_dropped / claim.rows_dropped == 0.95


# ---------------------------------------------------------------------------------------------- the statistic


def hub(around=40):
    """A hub with orthonormal points at distance one; the neighbour's hub is far away."""
    s1 = np.vstack([np.zeros(around + 1), np.eye(around, around + 1)])
    s2 = s1.copy()
    s2[0] = -3 * np.eye(around + 1)[around]
    return s1, s2


def ball_counts(x, radius):
    return np.array([(np.linalg.norm(x - row, axis=1) <= radius * (1 + 1e-9)).sum() for row in x])


def test_the_papers_ball_count_is_not_1_lipschitz_and_the_h_index_is():
    s1, s2 = hub()
    assert (ball_counts(s1, 1).max(), ball_counts(s2, 1).max()) == (41, 1)
    one = np.ones(41, dtype=np.int64)
    assert [h_index(ball_counts(s, 1), one) for s in (s1, s2)] == [2, 1]
    space = Space.ball(41, 3.0)
    step = dedup(5, eta=1 / 8)
    assert step.distance([s1], space, 41) == 4.0 and step.distance([s2], space, 41) == 5.0


@pytest.mark.parametrize("by_label", [False, True])
def test_the_statistic_moves_by_at_most_one_and_is_honest(by_label):
    rng = np.random.default_rng(8)
    fastest = 0.0
    for _ in range(800):
        d = int(rng.integers(1, 4))
        eta, s1, s2 = lattice_pair(rng, d, False)
        eta /= 8
        space, n, m = Space.ball(d, 1.0), len(s1), int(rng.integers(1, 8))
        labels = rng.integers(0, 2, n)
        changed = labels.copy()
        changed[0] = rng.integers(0, 2)
        step = dedup(m, eta, by_label=by_label)
        one = step.distance(Labelled(s1, labels) if by_label else [s1], space, n)
        two = step.distance(Labelled(s2, changed) if by_label else [s2], space, n)
        fastest = max(fastest, abs(one - two))
        if one > 0:
            groups = [s1[labels == c] for c in set(labels)] if by_label else [s1]
            assert max(crowd_of(g, space, eta) for g in groups) <= m
    assert fastest == 1.0


def test_h_index_of_weighted_counts():
    assert h_index(np.array([5, 3, 3, 1]), np.ones(4, dtype=np.int64)) == 3
    assert h_index(np.array([7]), np.array([7])) == 7
    assert h_index(np.array([], dtype=np.int64), np.array([], dtype=np.int64)) == 0
    rng = np.random.default_rng(9)
    for _ in range(200):
        counts, weight = rng.integers(1, 9, 6), rng.integers(1, 4, 6)
        rows = np.repeat(counts, weight)
        assert h_index(counts, weight) == max(k for k in range(30) if (rows >= k).sum() >= k)


# ---------------------------------------------------------------------------------------------------- labels


def test_rows_of_unlike_label_are_not_near_when_labels_count():
    x = np.array([[0.1, 0.0], [0.1, 0.0], [0.1, 0.0], [0.5, 0.0]])
    labels = np.array([0, 1, 1, 1])
    space = Space.ball(2, 1.0)
    assert kept(dedup(5), x, space).tolist() == [True, False, False, True]
    by_label = dedup(5, by_label=True)
    assert kept(by_label, x, space, Labelled(x, labels)).tolist() == [True, True, False, True]
    with pytest.raises(ValueError, match="labels"):
        by_label.fit_confidential([x], space, 4)
    with pytest.raises(ValueError, match="labels"):
        by_label.fit_confidential(Labelled(x, labels[:3]), space, 4)


# ----------------------------------------------------------------------------------------------------- cells


def cells(side, centre=True):
    return DeduplicateCells(side, centre=centre, payment=Sensitivity())


def remaining(step, x, labels, space):
    """What stays, as a multiset of (row, label)."""
    y, stay = apply(step.fit_confidential(Labelled(x, labels), space, len(x)), x)
    return sorted((tuple(row), int(c)) for row, c, k in zip(y, labels, stay) if k)


def labelled_pair(rng):
    d = int(rng.integers(1, 3))
    n = int(rng.integers(1, 12))
    s1 = np.round(rng.uniform(-0.6, 0.6, (n, d)), 2)
    s2 = s1.copy()
    s2[0] = np.round(rng.uniform(-0.6, 0.6, d), 2)
    one = rng.integers(0, 2, n)
    two = one.copy()
    two[0] = rng.integers(0, 2)
    return s1, one, s2, two, Space.ball(d, 1.0)


def differences(first, second):
    """Entries of one multiset that the other lacks."""
    rest = list(second)
    return [e for e in first if not (e in rest and rest.remove(e) is None)], rest


@pytest.mark.parametrize("side", [0.0, 0.3])
def test_cells_with_their_centre_cost_nothing(side):
    rng = np.random.default_rng(10)
    for _ in range(600):
        s1, one, s2, two, space = labelled_pair(rng)
        claim = cells(side).sensitivity(space, len(s1))
        assert claim.is_zero and claim.conditions == () and claim.any_order
        gone, new = differences(*(remaining(cells(side), s, y, space) for s, y in ((s1, one), (s2, two))))
        assert len(gone) <= 1 and len(new) <= 1  # one record replaced, added or removed


def matched_but_for_one(gone, new, far):
    """Rows left to move when one entry, on either side or both, is the record; None if some are too far apart."""
    found = []
    for i in range(len(gone) + 1):
        for j in range(len(new) + 1):
            left, right = gone[:i] + gone[i + 1 :], new[:j] + new[j + 1 :]
            near = [
                all(a[1] == b[1] and np.linalg.norm(np.subtract(a[0], b[0])) <= far for a, b in zip(left, p))
                for p in permutations(right)
            ]
            if len(left) == len(right) and any(near):
                found.append(len(left))
    return min(found, default=None)


def test_cells_without_their_centre_move_one_row_by_a_diagonal():
    rng = np.random.default_rng(11)
    step, most, changed = cells(0.3, centre=False), 0, 0
    for _ in range(1500):
        s1, one, s2, two, space = labelled_pair(rng)
        claim = step.sensitivity(space, len(s1) + 5)
        assert claim.rows_moved == 1 and claim.row_shift == pytest.approx(0.3 * math.sqrt(space.d))
        gone, new = differences(*(remaining(step, s, y, space) for s, y in ((s1, one), (s2, two))))
        moved = matched_but_for_one(gone, new, claim.row_shift)
        assert moved is not None and moved <= claim.rows_moved
        most, changed = max(most, moved), max(changed, len(gone) + len(new))
    assert most == 1 and changed == 4  # two cells keep other rows; one of the changes is the record


def test_equal_rows_are_equal_whatever_the_sign_of_zero():
    x = np.array([[0.0, 0.5], [-0.0, 0.5], [0.1, 0.5]])
    stay = kept(cells(0.0), x, Space.ball(2, 1.0), Labelled(x, np.zeros(3, dtype=int)))
    assert stay.tolist() == [True, False, True]


def test_without_centres_the_first_row_by_content_stays():
    rng = np.random.default_rng(13)
    x = rng.uniform(-0.1, 0.1, (20, 2))
    labels = rng.integers(0, 2, 20)
    one = remaining(cells(10.0, centre=False), x, labels, Space.ball(2, 1.0))
    order = rng.permutation(20)
    assert one == remaining(cells(10.0, centre=False), x[order], labels[order], Space.ball(2, 1.0))
    assert len(one) == 2


# ------------------------------------------------------------------------------------------------- in a plan


def test_a_run_with_deduplication_prints_its_condition():
    rng = np.random.default_rng(14)
    x = np.clip(near_duplicates(rng, 400, 3) / 2 + 0.5, 0, 1)
    domain = Domain.box(0, 1, 3, [0, 1], n=400)
    model = prepriv.PrivateClassifier(domain, epsilon=5.0, delta=1e-4, steps=[dedup(4, 0.01)])
    model.fit(x, (x[:, 0] > 0.5).astype(int))
    assert "4 records within 0.04" in " ".join(model.guarantee_.conditions)
    assert model.predict(x).shape == (400,)


def test_a_run_with_cells_costs_nothing_and_needs_no_condition():
    rng = np.random.default_rng(15)
    x = np.clip(near_duplicates(rng, 400, 3) / 2 + 0.5, 0, 1)
    domain = Domain.box(0, 1, 3, [0, 1], n=400)
    y = (x[:, 0] > 0.5).astype(int)
    learner = GradientDescent(
        Logistic()
    )  # its clip cuts: the bound is not that of the rows, which are rounded
    plain, cell = (
        prepriv.PrivateClassifier(domain, epsilon=5.0, delta=1e-4, steps=steps, learner=learner).fit(x, y)
        for steps in ([], [cells(0.01)])
    )
    assert cell.guarantee_.conditions == ()
    assert cell.guarantee_.epsilon(1e-4) == plain.guarantee_.epsilon(1e-4)
    assert cell.model_.plan["learner"]["shift"] == plain.model_.plan["learner"]["shift"]


def test_claims_and_refusals():
    space = Space.ball(3, 1.0)
    claim = dedup(4).sensitivity(space, 1000)
    assert (claim.rows_moved, claim.total_shift, claim.rows_dropped) == (0, 0, 6)
    assert dedup(1).sensitivity(space, 1000).rows_dropped == 0
    assert dedup(900).sensitivity(space, 1000).rows_dropped == 999
    for bad in ({"max_neighbors": 0}, {"max_neighbors": 2.5}, {"max_neighbors": True}, {"size": 3}):
        with pytest.raises(ValueError, match="max_neighbors"):
            Deduplicate(ETA, payment=Sensitivity(bad)).sensitivity(space, 10)
    for eta in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="eta"):
            dedup(3, eta)
    with pytest.raises(ValueError, match="drops rows"):
        dedup(3).sensitivity(space, 10, base.RowShift(rows_dropped=1))
    with pytest.raises(ValueError, match="drops rows"):
        cells(0.1).sensitivity(space, 10, base.RowShift(rows_dropped=1))
    with pytest.raises(ValueError, match="too many cells"):
        cells(1e-12).fit_confidential(Labelled(np.zeros((2, 3)), np.zeros(2)), space, 2)
    for payment in (Public(), Budget()):
        with pytest.raises(ValueError, match="cannot"):
            Deduplicate(ETA, payment=payment)
    for side, offset in ((-1.0, 0.0), (math.inf, 0.0), (0.1, math.nan)):
        with pytest.raises(ValueError, match=r"must (be a finite|lie in)"):
            DeduplicateCells(side, offset, payment=Sensitivity())


@pytest.mark.slow
def test_a_hundred_thousand_near_duplicates():
    rng = np.random.default_rng(15)
    x = near_duplicates(rng, 100_000, 50)
    found = kept(dedup(10, 0.01), x, Space.ball(50, 1.0), [x])
    assert (found.reshape(-1, 5).sum(axis=1) == 1).all()  # groups of five within eta, far from the others


@pytest.mark.parametrize(
    "step",
    [
        DeduplicateCells(0.05, payment=Sensitivity()),
        DeduplicateCells(0.05, centre=False, payment=Sensitivity()),
        Deduplicate(0.01, payment=Sensitivity({"max_neighbors": 6})),
    ],
)
def test_a_record_that_is_dropped_is_a_zero_row_and_the_declared_box_holds_it(step):
    """In a box far from the origin: a mean released afterwards moves by a norm, not by a diameter."""
    before = ClipFeatures(0.9, 1.0).output(Domain.box(0, 1, 3, [0, 1]).space)
    after = step.output(before)
    assert (after.low == 0).all() and (after.high == before.high).all() and after.radius == before.radius
    rows = np.vstack([np.full((1, 3), 1.0), np.full((5, 3), 0.9)])
    other = rows.copy()
    other[0] = 0.9  # a copy of the others: it goes, and they or their one representative stay
    sums = []
    for x in (rows, other):
        fitted = step.fit_confidential(Labelled(x, np.zeros(6, dtype=int)), before, 6)
        sums.append((fitted.transform(x) * fitted.keep(x, 0)[:, None]).sum(axis=0))
    going = step.sensitivity(before, 6)
    assert np.linalg.norm(sums[0] - sums[1]) <= Center(payment=Budget(0.1)).l2_sensitivity(
        after, "replace-one", going
    )
