"""Sums on the grid: no norm grows, nothing overflows, order is moot. Claims of docs/proofs/lattice.md."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from prepriv._rounding import round_up
from prepriv.exact.lattice import Lattice
from prepriv.mechanisms import lattice_noise
from prepriv.mechanisms.gaussian_sum import check_room, coarsen
from prepriv.mechanisms.lattice_noise import (
    gaussian_sum_release,
    laplace_scale,
    noise_scale,
    poisson_rate,
    poisson_threshold,
)
from prepriv.mechanisms.noise import NoiseSource

NASTY = [
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    -1e308,
    1e200,
    5e-324,
    -5e-324,
    2.2e-308,
    -0.0,
    float(-(2**63)),
]
ANY_FLOAT = st.one_of(st.floats(width=64), st.floats(-1.5, 1.5), st.sampled_from(NASTY))
NORMS = st.floats(1e-100, 1e100)


def exact_squared_norm(row):
    return sum(int(z) ** 2 for z in row)


class NoNoise:
    """Stands in for a source: draws zeros, and keeps what was asked."""

    def rounded_gaussian(self, scale, size):
        self.scale, self.size = scale, size
        return np.zeros(size, dtype=np.int64)


# --- the grid --------------------------------------------------------------------------------------------


@given(NORMS, st.integers(4, 30))
def test_the_ball_of_the_grid_holds_the_declared_ball_and_hardly_more(norm, bits):
    grid = Lattice.for_norm(norm, bits)
    assert 2 ** (bits - 1) < grid.sensitivity <= 2**bits
    exact = Fraction(2) ** grid.exponent * grid.sensitivity
    assert exact == Fraction(grid.norm)
    assert Fraction(norm) <= exact < Fraction(norm) + Fraction(grid.step)


@pytest.mark.parametrize("norm", [0, -1.0, math.nan, math.inf, "1", None])
def test_bad_norms_are_refused(norm):
    with pytest.raises(ValueError, match="norm"):
        Lattice.for_norm(norm)


@pytest.mark.parametrize(
    "exponent, sensitivity", [(0, 0), (0, -1), (0, 2**31), (0, 1.5), (2000, 1), (0.5, 1)]
)
def test_bad_lattices_are_refused(exponent, sensitivity):
    with pytest.raises(ValueError):
        Lattice(exponent, sensitivity)


# --- P1, P2: a contribution ------------------------------------------------------------------------------


@settings(max_examples=400)
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=ANY_FLOAT),
    st.floats(1e-3, 1e3),
    st.integers(4, 30),
)
def test_every_row_fits_whatever_it_held(rows, norm, bits):
    grid = Lattice.for_norm(norm, bits)
    for row, z in zip(rows, grid.quantize(rows)):
        assert exact_squared_norm(z) <= grid.sensitivity**2
        if z.any():  # truncation: towards zero, by less than a step
            for x, k in zip(row, z):
                exact = Fraction(float(x)) / Fraction(2) ** grid.exponent
                assert abs(int(k)) <= abs(exact) < abs(int(k)) + 1
                assert k == 0 or (k > 0) == (x > 0)


@settings(max_examples=300)
@given(
    hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-10, 10)), st.floats(1e-3, 10), st.data()
)
def test_no_row_inside_the_ball_is_dropped(row, norm, data):
    size = math.sqrt(math.fsum(x * x for x in row.tolist()))
    if size > norm:
        row = row * (norm / size)  # clipped in floats, as learners do; may end a rounding error outside
    grid = Lattice.for_norm(norm)
    z = grid.quantize(row[np.newaxis])[0]
    kept = np.trunc(row / grid.step)
    assert (z == kept).all() or exact_squared_norm(kept) > grid.sensitivity**2
    # a row a rounding error outside is dropped only if the grid cannot round it back in
    assert (z == kept).all() or size >= norm


@pytest.mark.parametrize("bad", NASTY)
def test_one_bad_number_costs_its_own_row_only(bad):
    grid = Lattice.for_norm(1.0)
    rows = np.full((3, 4), 0.25)
    rows[1, 2] = bad
    z = grid.quantize(rows)
    assert (z[[0, 2]] == 2**18).all()
    if not abs(bad) < 1:
        assert (z[1] == 0).all()
    else:
        assert z[1].tolist() == [2**18, 2**18, 0, 2**18]


def test_integers_at_the_edge_of_64_bits_do_not_slip_through():
    grid = Lattice(0, 1000)
    rows = np.array(
        [[np.iinfo(np.int64).min, 0], [np.iinfo(np.int64).max, 1], [2**32, 2**32], [1000, 0], [707, 708]]
    )
    assert grid.certify(rows).tolist() == [[0, 0], [0, 0], [0, 0], [1000, 0], [0, 0]]


def test_a_norm_check_in_wrapping_integers_would_let_a_row_through():
    # planted bug: squares taken without the cap; 2^32 squared is 0 modulo 2^64
    rows = np.array([[2**32, 2**32]])
    assert np.einsum("ij,ij->i", rows, rows)[0] <= 1000**2
    assert not Lattice(0, 1000).certify(rows).any()


def test_rounding_to_nearest_would_grow_norms():
    # planted bug: nearest instead of truncation; d coordinates of 0.6 steps become d coordinates of one step
    grid = Lattice(0, 16)
    row = np.full((1, 600), 0.6)
    assert np.linalg.norm(row) < 16
    assert exact_squared_norm(np.rint(row)[0]) > 16**2
    assert exact_squared_norm(grid.quantize(row)[0]) == 0


def test_what_is_certified_is_read_only_once_per_row():
    grid = Lattice.for_norm(2.5)
    rows = np.random.default_rng(0).normal(size=(500, 7))
    together = grid.quantize(rows)
    alone = np.concatenate([grid.quantize(row[np.newaxis]) for row in rows])
    assert (together == alone).all()


def test_too_many_coordinates_are_refused():
    grid = Lattice(np.int64(0), np.int64(2**30))
    with pytest.raises(ValueError, match="coarser"):
        grid.quantize(np.zeros((1, 8)))
    assert grid.quantize(np.zeros((1, 7))).shape == (1, 7)


@pytest.mark.parametrize("rows", [np.zeros(3), np.zeros((1, 2, 3)), 1.0])
def test_rows_have_two_dimensions(rows):
    with pytest.raises(ValueError, match="dimensions"):
        Lattice.for_norm(1.0).quantize(rows)


def test_certify_takes_integers_only():
    with pytest.raises(ValueError, match="int64"):
        Lattice.for_norm(1.0).certify(np.zeros((2, 2)))


# --- P3: sums --------------------------------------------------------------------------------------------


def test_sums_are_bitwise_equal_under_a_thousand_permutations_and_any_blocks():
    rng = np.random.default_rng(1)
    grid = Lattice.for_norm(1.0)
    rows = rng.normal(size=(2000, 5)) * 10.0 ** rng.integers(-9, 1, (2000, 1))
    reference = grid.quantize(rows).sum(axis=0)
    floats = set()
    for _ in range(1000):
        order = rng.permutation(len(rows))
        blocks = np.split(rows[order], np.sort(rng.integers(0, len(rows), 3)))
        assert (sum(grid.quantize(block).sum(axis=0) for block in blocks) == reference).all()
        floats.add(rows[order].sum(axis=0).tobytes())
    assert len(floats) > 100  # float sums tell the order of the records apart


@pytest.mark.parametrize("threads", [1, 3, 16])
def test_sums_do_not_depend_on_threads(threads):
    grid = Lattice.for_norm(1.0)
    rows = np.random.default_rng(2).normal(size=(4000, 5)) / 4
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(lambda block: grid.quantize(block).sum(axis=0), np.array_split(rows, 37)))
    assert (sum(parts) == grid.quantize(rows).sum(axis=0)).all()


@settings(max_examples=100)
@given(st.data(), st.integers(1, 20), st.integers(1, 6))
def test_one_record_moves_the_sum_by_at_most_the_sensitivity(data, n, d):
    grid = Lattice.for_norm(1.0, 12)
    rows = data.draw(hnp.arrays(np.float64, (n, d), elements=ANY_FLOAT))
    changed = rows.copy()
    changed[data.draw(st.integers(0, n - 1))] = data.draw(hnp.arrays(np.float64, d, elements=ANY_FLOAT))
    without = np.delete(rows, data.draw(st.integers(0, n - 1)), axis=0)
    total = grid.quantize(rows).sum(axis=0)
    assert exact_squared_norm(total - grid.quantize(without).sum(axis=0)) <= grid.sensitivity**2
    assert exact_squared_norm(total - grid.quantize(changed).sum(axis=0)) <= (2 * grid.sensitivity) ** 2


@given(
    st.lists(st.tuples(st.integers(-(2**40), 2**40), st.integers(-(2**27), 2**27)), min_size=1, max_size=9),
    st.integers(1, 2**30),
)
def test_coarsening_grows_the_sensitivity_by_no_more_than_said(pairs, floor):
    one = np.array([total for total, _ in pairs])
    two = one + np.array([move for _, move in pairs])
    moved = max(math.isqrt(exact_squared_norm(one - two) - 1) + 1 if (one != two).any() else 0, floor)
    (coarse, grown, shift), (other, again, same) = coarsen(one, moved), coarsen(two, moved)
    assert (grown, shift) == (again, same)
    assert exact_squared_norm(coarse - other) <= grown**2
    assert np.abs(coarse * 2.0**shift - one).max() <= 2.0**shift / 2


# --- the release -----------------------------------------------------------------------------------------


def test_release_is_the_sum_plus_noise_on_the_grid():
    total = np.array([[5, -7], [0, 2**40]])
    values = gaussian_sum_release(total, 2**20, 2.0, NoiseSource.for_tests(1), exponent=-20)
    noise = NoiseSource.for_tests(1).rounded_gaussian(2.0**21, 4).reshape(2, 2)
    assert (values * 2.0**20 == total + noise).all()
    assert values.dtype == np.float64 and values.shape == (2, 2)


def test_release_has_the_declared_spread():
    grid = Lattice.for_norm(0.3)
    total = np.full(200_000, 12345)
    source = NoiseSource.for_tests(2)
    values = gaussian_sum_release(total, grid.sensitivity, 1.7, source, exponent=grid.exponent)
    assert stats.kstest((values - 12345 * grid.step) / (1.7 * grid.norm), "norm").pvalue > 1e-6
    assert (np.mod(values / grid.step, 1.0) == 0).all()


def test_zero_records_are_released_like_any_other_sum():
    grid = Lattice.for_norm(1.0)
    empty = grid.quantize(np.empty((0, 3))).sum(axis=0)
    assert gaussian_sum_release(empty, grid.sensitivity, 1.0, NoiseSource.for_tests(3)).shape == (3,)


def test_zero_dimensional_and_empty_sums():
    assert gaussian_sum_release(np.int64(3), 100, 1.0, NoiseSource.for_tests(1)).shape == ()
    assert gaussian_sum_release(np.zeros((0, 2), np.int64), 100, 1.0, NoiseSource.for_tests(1)).shape == (
        0,
        2,
    )


def test_wrapping_overflow_is_still_noise_on_the_same_circle():
    # modulo 2^64 the sum plus noise is post-processing; no warning and no error depends on the data
    top = np.array([2**63 - 1])
    low = gaussian_sum_release(top, 2**20, 1.0, NoiseSource.for_tests(4))
    assert np.isfinite(low).all()


@pytest.mark.parametrize("total", [np.zeros(3), np.zeros(3, np.int32), np.zeros(3, np.uint64), [0.5]])
def test_only_int64_sums_are_released(total):
    with pytest.raises(ValueError, match="int64"):
        gaussian_sum_release(total, 100, 1.0, NoiseSource.for_tests(1))


@pytest.mark.parametrize("multiplier", [0, 0.0, -1.0, math.nan, math.inf, None, "1", True, 1e-9, 1e300])
def test_bad_noise_is_refused_before_anything_is_touched(multiplier):
    class Untouchable:
        def __array__(self, *_, **__):
            raise AssertionError("the sum was read")

    class NoSource:
        def __getattr__(self, name):
            raise AssertionError("the source was used")

    with pytest.raises(ValueError, match="noise_multiplier"):
        gaussian_sum_release(Untouchable(), 2**20, multiplier, NoSource())


@pytest.mark.parametrize("sensitivity", [0, -1, 2**31, 1.5, math.nan, None, True])
def test_bad_sensitivities_are_refused(sensitivity):
    with pytest.raises(ValueError, match="sensitivity"):
        gaussian_sum_release(np.zeros(3, np.int64), sensitivity, 1.0, NoiseSource.for_tests(1))


# --- P4: overflow ----------------------------------------------------------------------------------------


def test_capacity_is_decided_by_public_numbers():
    check_room("a sum", 2**20, 1.0, 2**61)
    check_room("a sum", 2**20, 2.0**30, 0)
    for most in (2**62, 2**62 - 39 * 2**20):
        with pytest.raises(ValueError, match=r"sum .* overflow 64 bits"):
            check_room("a sum", 2**20, 1.0, most)
    check_room("a sum", 2**20, 1.0, 2**62 - 41 * 2**20)


@given(st.integers(0, 2**45), st.integers(1, 2**31 - 1), st.floats(1e-6, 1e6))
def test_whatever_is_allowed_stays_below_two_to_the_62(contributions, sensitivity, multiplier):
    try:
        check_room("sum", sensitivity, multiplier, contributions * sensitivity)
        scale = noise_scale(sensitivity, multiplier)
    except ValueError:
        return
    assert contributions * sensitivity + 40 * Fraction(scale) < 2**62 * (1 + Fraction(1, 2**50))


# --- check 19: rounding is towards more noise ------------------------------------------------------------

POSITIVE = st.floats(1e-3, 1e6)


@settings(max_examples=2000, deadline=None)
@given(st.integers(1, 2**31 - 1), POSITIVE, st.fractions(0, 1))
def test_every_scale_is_rounded_up(sensitivity, value, fraction):
    try:
        scale = noise_scale(sensitivity, value)
    except ValueError:
        assert not 16 <= sensitivity * Fraction(value) <= 2**50
    else:
        assert Fraction(scale) >= sensitivity * Fraction(value)
        assert scale <= sensitivity * value * (1 + 1e-15)
    assert Fraction(laplace_scale(sensitivity, value)) >= sensitivity / Fraction(value)
    rounded = round_up(fraction)
    assert Fraction(rounded) >= fraction
    assert rounded == 0 or Fraction(math.nextafter(rounded, -math.inf)) < fraction


@pytest.mark.slow
def test_every_scale_is_rounded_up_at_length():
    rng = np.random.default_rng(3)
    for sensitivity, value in zip(
        rng.integers(2**14, 2**31, 100_000).tolist(), rng.uniform(0.1, 99, 100_000).tolist()
    ):
        assert Fraction(noise_scale(sensitivity, value)) >= sensitivity * Fraction(value)
        assert Fraction(laplace_scale(sensitivity, value)) * Fraction(value) >= sensitivity


def test_a_release_uses_the_scale_rounded_up():
    source = NoNoise()
    gaussian_sum_release(np.zeros(4, np.int64), 3 * 2**20 + 1, 0.1, source)
    assert Fraction(source.scale) >= (3 * 2**20 + 1) * Fraction(0.1)
    assert source.size == 4


@settings(max_examples=500)
@given(st.floats(0, 1))
def test_the_accounted_rate_is_at_least_the_sampled_one_and_the_asked_one(q):
    k = poisson_threshold(q)
    assert 0 <= k <= 2**64
    assert Fraction(k, 2**64) >= Fraction(q)
    assert Fraction(poisson_rate(k)) >= Fraction(k, 2**64)
    assert poisson_rate(k) <= q * (1 + 1e-15) + 2.0**-63


def test_extreme_rates():
    assert poisson_threshold(0.0) == 0 and poisson_threshold(1.0) == 2**64 and poisson_threshold(5e-324) == 1
    assert poisson_rate(0) == 0.0 and poisson_rate(2**64) == 1.0 and poisson_rate(2**64 - 1) == 1.0
    for q in (-0.1, 1.1, math.nan, None):
        with pytest.raises(ValueError, match="sampling_rate"):
            poisson_threshold(q)
    for k in (-1, 2**64 + 1, 0.5):
        with pytest.raises(ValueError, match="threshold_k"):
            poisson_rate(k)
    for epsilon in (0, -1.0, math.nan, math.inf, None):
        with pytest.raises(ValueError, match="epsilon"):
            laplace_scale(1, epsilon)


def test_scales_rounded_to_nearest_would_be_caught(monkeypatch):
    # planted bug
    monkeypatch.setattr(lattice_noise, "round_up", float)
    values = [0.1 + 0.001 * i for i in range(200)]
    assert any(Fraction(noise_scale(2**20 + 3, v)) < (2**20 + 3) * Fraction(v) for v in values)
