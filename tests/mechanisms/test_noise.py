"""The noise: its law, its exactness, and that no two releases share it. Claims of docs/proofs/noise.md."""

from __future__ import annotations

import copy
import hashlib
import math
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import mpmath
import numpy as np
import pytest
from scipy import special, stats

from prepriv.mechanisms import _inverse_cdf, _laws, noise
from prepriv.mechanisms._inverse_cdf import exact_magnitude, sample
from prepriv.mechanisms._laws import BAND, DiscreteLaplace, RoundedGaussian
from prepriv.mechanisms._normal_tail import ERROR, upper_tail
from prepriv.mechanisms.noise import NoiseSource

ALPHA = 1e-6  # of the whole family of statistical tests on one law; the seeds are fixed, so none can flake
SAMPLES = 4_000_000
LAWS = [RoundedGaussian(s) for s in (0.6, 2.0, 10.0, 300.0, 2.0**10, 2.0**20)] + [
    DiscreteLaplace(s) for s in (0.3, 2.0, 10.0, 300.0, 2.0**20)
]


def draws(law, size, seed=0):
    """Samples of a law at any scale: the public methods refuse scales that no mechanism should use."""
    source = NoiseSource.for_tests(seed)
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, _inverse_cdf.CHUNK):
        part = out[start : start + _inverse_cdf.CHUNK]
        sample(law, source.uint64(len(part)), lambda: int(source.uint64(1)[0]), part)
    return out


def cdf(law, k):
    """P(K <= k), from scipy rather than from the code under test."""
    k = np.asarray(k, dtype=np.float64)
    if isinstance(law, RoundedGaussian):
        return stats.norm.cdf((k + 0.5) / law.scale)
    t = math.exp(-1 / law.scale)
    return np.where(k < 0, t ** (-np.minimum(k, 0)) / (1 + t), 1 - t ** (np.maximum(k, 0) + 1) / (1 + t))


def spread(law):
    """Standard deviation of the law, about."""
    return law.scale if isinstance(law, RoundedGaussian) else law.scale * math.sqrt(2)


# --- the law ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_law_fits_in_a_thousand_cells(law):
    k = draws(law, SAMPLES)
    far = np.ceil(6 * spread(law))
    edges = np.unique(np.linspace(-far, far, 1001 if law.scale > 80 else int(2 * far) + 1).round())
    expected = np.diff(cdf(law, np.concatenate([[-np.inf], edges, [np.inf]]))) * SAMPLES
    seen = np.bincount(np.searchsorted(edges, k), minlength=len(edges) + 1)
    keep = expected >= 10
    expected = np.append(expected[keep], expected[~keep].sum())
    seen = np.append(seen[keep], seen[~keep].sum())
    expected, seen = (expected[:-1], seen[:-1]) if expected[-1] < 5 else (expected, seen)
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, len(expected) - 1) > ALPHA / len(LAWS)


@pytest.mark.parametrize("law", [law for law in LAWS if law.scale > 100], ids=str)
def test_law_passes_kolmogorov_smirnov(law):
    k = np.sort(draws(law, 1_000_000, seed=1))
    # the law is discrete: compare the jumps from both sides; a cell's mass is far below the critical distance
    rank = np.arange(len(k) + 1) / len(k)
    distance = max(np.abs(cdf(law, k) - rank[1:]).max(), np.abs(cdf(law, k) - rank[:-1]).max())
    cell = float(cdf(law, 0) - cdf(law, -1))
    critical = math.sqrt(math.log(2 * len(LAWS) / ALPHA) / (2 * len(k)))
    assert distance < critical + cell
    assert cell < 2 * critical


@pytest.mark.parametrize("scale", [2.0, 3.0, 16.0])
def test_variance_is_that_of_the_gaussian_plus_a_twelfth(scale):
    k = draws(RoundedGaussian(scale), SAMPLES, seed=2).astype(np.float64)
    variance = scale**2 + 1 / 12
    error = variance * math.sqrt(2 / SAMPLES)
    assert abs((k**2).mean() - variance) < 5 * error
    if scale == 2.0:
        assert 15 * error < 1 / 12  # so that a missing twelfth would be seen


@pytest.mark.parametrize("scale", [0.3, 2.0, 300.0])
def test_variance_of_the_discrete_laplace_law(scale):
    k = draws(DiscreteLaplace(scale), SAMPLES, seed=3).astype(np.float64)
    t = math.exp(-1 / scale)
    variance, kurtosis = 2 * t / (1 - t) ** 2, 6 + (1 - t) ** 2 / (2 * t) * 1.01
    assert abs((k**2).mean() - variance) < 5 * variance * math.sqrt((kurtosis - 1) / SAMPLES)


def test_low_ten_bits_are_uniform():
    k = draws(RoundedGaussian(2.0**20), SAMPLES, seed=4)
    assert stats.chisquare(np.bincount(k & 1023, minlength=1024)).pvalue > ALPHA


@pytest.mark.parametrize("scale", [16.0, 2.0**10, 2.0**20])
def test_tails_are_neither_cut_nor_heavy(scale):
    k = np.abs(draws(RoundedGaussian(scale), SAMPLES, seed=5))
    for deviations in (3, 4, 5, 6):
        m = math.ceil(deviations * scale)
        p = special.erfc((m - 0.5) / scale / math.sqrt(2))
        assert stats.binomtest(int((k >= m).sum()), SAMPLES, p).pvalue > ALPHA


def test_sign_magnitude_and_neighbours_are_independent():
    k = draws(RoundedGaussian(2.0**20), SAMPLES, seed=6).astype(np.float64) / 2**20
    for a, b in ((k[1:], k[:-1]), (np.abs(k), np.sign(k)), (k[2:] ** 2 - 1, k[:-2] ** 2 - 1)):
        correlation = (a * b).mean() / math.sqrt((a**2).mean() * (b**2).mean())
        assert abs(correlation) * math.sqrt(len(a)) < 5


def test_every_integer_within_four_deviations_is_hit():
    k = NoiseSource.for_tests(7).rounded_gaussian(16.0, SAMPLES)
    assert set(range(-64, 65)) <= set(np.unique(k).tolist())


# --- exactness -------------------------------------------------------------------------------------------


def is_exact(law, magnitude, prefix, extension):
    """Whether `magnitude` is the answer for p = prefix.extension, in 60 digits and by other formulas."""
    with mpmath.workdps(60):
        p = mpmath.mpf((prefix << 64) + extension) / mpmath.mpf(2) ** 127
        if isinstance(law, RoundedGaussian):
            # 2 Phi(-x) by the normal distribution of mpmath at x = (m - 1/2) / s

            def tail(m):
                return 2 * mpmath.ncdf(-(mpmath.mpf(2 * m - 1) / 2) / mpmath.mpf(law.scale))
        else:
            # the geometric series summed: sum over |k| >= m of t^|k| (1 - t) / (1 + t)
            t = mpmath.exp(-1 / mpmath.mpf(law.scale))

            def tail(m):
                return 2 * t**m / (1 - t) * (1 - t) / (1 + t)

        return (magnitude == 0 or p < tail(magnitude)) and p >= tail(magnitude + 1)


def boundary_prefixes(law, rng, count):
    """Prefixes whose p is within 3 * 2^-63 of a point where the magnitude changes."""
    found = []
    with mpmath.workdps(40):
        for m in rng.integers(1, max(2, int(6 * law.scale)), count):
            centre = int(law.survival(int(m), mpmath.mp) * 2**63)
            found.append(min(max(centre + int(rng.integers(-3, 4)), 0), 2**63 - 1))
    return found


def mismatches(law, prefixes, extension):
    """How many words `sample` gets wrong when the further bits are `extension` again and again."""
    words = np.array([prefix << 1 for prefix in prefixes], dtype=np.uint64)
    out = np.empty(len(words), dtype=np.int64)
    sample(law, words, lambda: extension, out)
    return sum(not is_exact(law, int(k), prefix, extension) for k, prefix in zip(out, prefixes))


def check_exactness(law, random, adjacent, seed):
    rng = np.random.default_rng(seed)
    prefixes = [int(w) for w in rng.integers(0, 2**63, random, dtype=np.uint64)]
    # and smaller and smaller p, down to the one that floats must not touch
    prefixes += [int(w) >> int(shift) for w, shift in zip(prefixes[:63], range(63))] + [1, 0]
    prefixes += boundary_prefixes(law, rng, adjacent)
    for extension in (0, 2**64 - 1, 0x5DEECE66D1234567):
        part = prefixes if extension not in (0, 2**64 - 1) else prefixes[-adjacent // 3 :]
        # p = 0 exactly has no answer: infinitely many zero bits have probability zero
        assert mismatches(law, [w for w in part if w or extension], extension) == 0


@pytest.mark.parametrize(
    "law",
    [RoundedGaussian(0.6), RoundedGaussian(2.0**20), DiscreteLaplace(2.5), DiscreteLaplace(2.0**20)],
    ids=str,
)
def test_every_sample_is_the_exact_one(law):
    check_exactness(law, random=300, adjacent=600, seed=10)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.6, 2.0, 16.0, 300.0, 2.0**10, 2.0**20, 2.0**24 + 0.37, 2.0**30, 2.0**44])
@pytest.mark.parametrize("law", [RoundedGaussian, DiscreteLaplace])
def test_every_sample_is_the_exact_one_at_length(law, scale):
    check_exactness(law(scale), random=4000, adjacent=6000, seed=11)


def test_without_the_band_samples_near_a_boundary_are_wrong(monkeypatch):
    # planted bug: trusting floats; shows that the exactness test can fail
    monkeypatch.setattr(_laws, "BAND", 0.0)
    law = RoundedGaussian(2.0**20)
    prefixes = boundary_prefixes(law, np.random.default_rng(12), 300)
    assert mismatches(law, prefixes, 0x5DEECE66D1234567) > 10


def test_small_prefixes_need_the_exact_path(monkeypatch):
    # planted bug: the width of p's interval forgotten
    monkeypatch.setattr(_inverse_cdf, "SMALL_PREFIX", 0)
    monkeypatch.setattr(_laws, "BAND", 0.0)
    assert mismatches(RoundedGaussian(2.0**20), list(range(1, 50)), 0x5DEECE66D1234567) > 10


def test_an_undecided_prefix_draws_until_it_is_decided():
    law, asked = RoundedGaussian(16.0), []
    with mpmath.workdps(80):
        threshold = int(law.survival(3, mpmath.mp) * 2**63)  # p = threshold.xxx is cut by survival(3)
        fraction = law.survival(3, mpmath.mp) * 2**63 - threshold
        first, second = divmod(int(fraction * 2**128), 2**64)
    for below in (True, False):
        words = [first, second - 2**40 if below else second + 2**40]
        asked.clear()

        def draw(words=words):
            asked.append(words[len(asked)])
            return asked[-1]

        assert exact_magnitude(law, threshold, draw) == (3 if below else 2)
        assert len(asked) == 2  # the first word repeats the threshold's own bits, so a second is needed


@pytest.mark.parametrize("law", [RoundedGaussian(2.0**50), DiscreteLaplace(2.0**50)], ids=str)
def test_the_largest_scale_stays_within_62_bits(law):
    words = iter([0] * 3 + [2**64 - 1] * 50)
    assert 0 < exact_magnitude(law, 0, lambda: next(words)) < 2**62


def test_fixed_point_tail_is_within_its_error():
    rng = np.random.default_rng(16)
    points = [
        int(z * 2**64) << 64 | int(low) for z, low in zip(rng.uniform(0, 5, 400), rng.integers(0, 2**62, 400))
    ]
    points += [(i << 128) // 32 + offset for i in range(160) for offset in (-1, 0, 1) if i or offset >= 0]
    with mpmath.workprec(300):
        worst = max(abs(upper_tail(z) - mpmath.ncdf(-mpmath.mpf(z) / 2**128) * 2**128) for z in points)
    assert worst < 4 < ERROR / 32
    assert upper_tail(6 << 128) is None and upper_tail(-(1 << 128)) is None


def test_a_side_is_claimed_only_where_it_is_certain():
    law, rng, open_ = RoundedGaussian(2.0**28 + 0.3), np.random.default_rng(17), 0
    for m in rng.integers(1, 2**30, 300).tolist():
        with mpmath.workdps(60):
            threshold = law.survival(m, mpmath.mp) * 2**63
        for offset in (-2, -1, 0, 1, 2):
            prefix = int(threshold) + offset
            side = law.side(prefix, m)
            if side is not None:
                assert side == (offset < 0) and offset != 0
            open_ += side is None
    assert open_ == 300  # the prefixes that the threshold cuts, and no other


def test_ndtri_and_log_stay_a_thousandfold_inside_the_band():
    rng = np.random.default_rng(13)
    q = np.concatenate([0.5 * 2.0 ** -rng.uniform(0, 20, 1500), 0.5 - 2.0 ** -rng.uniform(2, 53, 500)])
    q = np.concatenate([q, np.exp(-2.0) + np.linspace(-1e-9, 1e-9, 101)])  # where ndtri changes formula
    worst = 0.0
    with mpmath.workprec(120):
        for p, z, log in zip(q.tolist(), special.ndtri(q).tolist(), np.log(q).tolist()):
            error = (mpmath.ncdf(mpmath.mpf(z)) - mpmath.mpf(p)) / mpmath.npdf(mpmath.mpf(z))
            worst = max(worst, abs(error), abs(mpmath.log(mpmath.mpf(p)) - log))
    assert worst * 1000 < BAND


def test_an_inaccurate_platform_is_refused(monkeypatch):
    _laws.check_platform.cache_clear()
    monkeypatch.setattr(_laws, "ndtri", lambda q, out=None: special.ndtri(q) * (1 + 1e-13))
    with pytest.raises(RuntimeError, match="inaccurate"):
        NoiseSource().rounded_gaussian(16.0, 1)
    _laws.check_platform.cache_clear()


# --- no output proves anything ---------------------------------------------------------------------------


def proved_by_low_bits(y):
    """Share of outputs that are no multiple of 2^-53; 1 + n rounded to a float always is one."""
    return np.mean(np.mod(np.abs(y) * 2.0**53, 1.0) != 0.0)


def proved_by_reach(y, noises):
    """Share of outputs y that 1 + n, rounded, misses for each noise n offered near y - 1."""
    return 1.0 - np.mean(np.logical_or.reduce([1.0 + n == y for n in noises]))


def float_neighbours(y):
    n = y - 1.0
    return n, np.nextafter(n, np.inf), np.nextafter(n, -np.inf)


def test_no_single_output_proves_that_x_is_not_one():
    step = 2.0**-20
    y = NoiseSource.for_tests(14).rounded_gaussian(1 / step, 1_000_000) * step  # x = 0, sigma = 1
    assert proved_by_low_bits(y) == 0.0
    assert (
        proved_by_reach(y, [np.round((y - 1.0) / step) * step]) == 0.0
    )  # an integer is all the noise must be


def test_float_noise_gives_proofs_away():
    floats = np.random.default_rng(14).normal(size=1_000_000)
    assert 0.25 < proved_by_low_bits(floats) < 0.27
    assert 0.42 < proved_by_reach(floats, float_neighbours(floats)) < 0.45  # the sharper attack
    four = np.random.default_rng(15).normal(size=(1_000_000, 4)).sum(axis=1) / 2
    assert 0.15 < proved_by_low_bits(four) < 0.17


# --- the source ------------------------------------------------------------------------------------------


def chacha20_block(key, counter):
    """One block of ChaCha20 (RFC 8439, section 2.3), written out."""

    def quarter(s, a, b, c, d):
        for x, y, z, shift in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[x] = (s[x] + s[y]) & 0xFFFFFFFF
            s[z] ^= s[x]
            s[z] = ((s[z] << shift) | (s[z] >> (32 - shift))) & 0xFFFFFFFF

    start = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key), counter, 0, 0, 0]
    state = list(start)
    for _ in range(10):
        for column in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)):
            quarter(state, *column)
        for diagonal in ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter(state, *diagonal)
    return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(state, start)))


def test_key_stream_is_chacha20():
    key = hashlib.sha256(b"prepriv test seed 5").digest()
    expected = b"".join(chacha20_block(key, i) for i in range(4))
    assert NoiseSource.for_tests(5).uint64(32).tobytes() == expected


def test_a_stream_does_not_depend_on_how_it_is_cut():
    whole = NoiseSource.for_tests(1).uint64(100_000)
    source = NoiseSource.for_tests(1)
    parts = np.concatenate([source.uint64(size) for size in (1, 0, 7, 40_000, 59_992)])
    assert (whole == parts).all()


def test_seeded_sources_say_that_they_are_not_private():
    assert NoiseSource().private is True
    assert NoiseSource.for_tests(1).private is False
    with pytest.raises(AttributeError):
        NoiseSource.for_tests(1).private = True  # type: ignore[misc]
    assert (NoiseSource.for_tests(3).uint64(9) == NoiseSource.for_tests(3).uint64(9)).all()
    assert (NoiseSource.for_tests(3).uint64(9) != NoiseSource.for_tests(4).uint64(9)).all()
    assert (NoiseSource().uint64(9) != NoiseSource().uint64(9)).all()


@pytest.mark.parametrize("seed", [None, 1.0, "1", True])
def test_a_seed_is_an_int(seed):
    with pytest.raises(ValueError, match="seed"):
        NoiseSource.for_tests(seed)


@pytest.mark.parametrize("action", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_source_cannot_be_copied(action):
    with pytest.raises(TypeError, match="same noise"):
        action(NoiseSource())


def words_of_a_child(source, ready=lambda: None):
    """Eight words that a forked child draws, through a pipe."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(20)  # a child that waits for ever fails the test instead of hanging it
            ready()
            os.write(write, source.uint64(8).tobytes())
        finally:
            os._exit(0)
    os.close(write)
    data = os.read(read, 64)
    os.close(read)
    os.waitpid(pid, 0)
    assert len(data) == 64
    return tuple(np.frombuffer(data, dtype=np.uint64).tolist())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
class TestFork:
    @pytest.mark.parametrize("make", [NoiseSource, lambda: NoiseSource.for_tests(1)])
    def test_children_and_parent_draw_different_words(self, make):
        source = make()
        source.uint64(3)
        streams = [words_of_a_child(source) for _ in range(4)]
        streams.append(tuple(source.uint64(8).tolist()))
        assert len({word for stream in streams for word in stream}) == 40

    def test_a_seeded_child_leaves_the_stream_by_its_process_number(self):
        source = NoiseSource.for_tests(1)
        assert words_of_a_child(source) != tuple(source.uint64(8).tolist())

    def test_a_child_with_the_process_number_of_its_parent_draws_other_words(self):
        source, parent, original = NoiseSource(), os.getpid(), os.getpid

        def reuse_the_number():
            import posix

            os.getpid = lambda: parent
            os.urandom = posix.urandom  # the suite's own repeats itself in a process of the same number

        try:
            child = words_of_a_child(source, ready=reuse_the_number)
        finally:
            os.getpid = original
        assert child != tuple(source.uint64(8).tolist())

    def test_a_child_that_no_fork_handler_saw_draws_other_words(self):
        """In a PID namespace of its own such a child had its parent's number, and its noise: found by an audit."""
        code = (
            "import ctypes, os; from prepriv.mechanisms.noise import NoiseSource\n"
            "source, libc, parent = NoiseSource(), ctypes.CDLL(None), os.getpid()\n"
            "os.getpid = lambda: parent\n"
            "source.uint64(3)\n"
            "read, write = os.pipe()\n"
            "if libc.fork() == 0:\n"
            "    os.write(write, source.uint64(8).tobytes()); os._exit(0)\n"
            "child = os.read(read, 64)\n"
            "print(len(child), child == source.uint64(8).tobytes())"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert done.stdout.split() == ["64", "False"]

    def test_a_child_does_not_wait_for_a_lock_of_its_parent(self):
        source = NoiseSource.for_tests(1)
        with source._seeded._lock:
            assert len(words_of_a_child(source)) == 8

    def test_a_child_without_system_randomness_draws_nothing(self, monkeypatch):
        source = NoiseSource()

        def broken():
            def fail(_):
                raise OSError("no randomness")

            os.urandom = fail

        original = os.urandom
        try:
            with pytest.raises(AssertionError):
                words_of_a_child(source, ready=broken)
        finally:
            os.urandom = original


def test_threads_share_a_source_without_sharing_words():
    source = NoiseSource()
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda size: source.uint64(size), [1000, 20_000, 1, 777] * 25))
    words = np.concatenate(parts)
    assert len(np.unique(words)) == len(words)
    # and the law survives: many threads on the exact path, each with its own precision
    law = RoundedGaussian(2.0**40)
    source = NoiseSource.for_tests(8)
    with ThreadPoolExecutor(8) as pool:
        k = np.concatenate(list(pool.map(lambda _: source.rounded_gaussian(law.scale, 50), range(16))))
    assert stats.kstest(k / law.scale, "norm").pvalue > ALPHA


def test_system_without_randomness_is_refused(monkeypatch):
    def fail(_):
        raise NotImplementedError("no randomness")

    monkeypatch.setattr(os, "urandom", fail)
    with pytest.raises(NotImplementedError):
        NoiseSource()
    monkeypatch.setattr(os, "urandom", lambda n: bytes(n - 1))
    with pytest.raises(OSError, match="too few"):
        NoiseSource()


def test_a_key_is_replaced_before_its_counter_could_repeat(monkeypatch):
    monkeypatch.setattr(noise, "_BYTES_PER_KEY", 64)
    for source in (NoiseSource(), NoiseSource.for_tests(1)):
        words = np.concatenate([source.uint64(8) for _ in range(50)])
        assert len(np.unique(words)) == 400
    again = NoiseSource.for_tests(1)
    assert (np.concatenate([again.uint64(8) for _ in range(50)]) == words).all()
    key = hashlib.sha256(b"prepriv test seed 1").digest()
    assert words[:8].tobytes() == chacha20_block(key, 0)
    assert words[8:16].tobytes() == chacha20_block(hashlib.sha256(b"next" + key).digest(), 0)


# --- arguments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0, -1, -16.0, math.nan, math.inf, -math.inf, 15.99, 2.0**51, "16", None])
def test_bad_gaussian_scales_are_refused_before_any_draw(scale):
    source = NoiseSource.for_tests(1)
    with pytest.raises(ValueError, match="scale"):
        source.rounded_gaussian(scale, 3)
    assert source.uint64(1) == NoiseSource.for_tests(1).uint64(1)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**-11, 2.0**51])
def test_bad_laplace_scales_are_refused(scale):
    with pytest.raises(ValueError, match="scale"):
        NoiseSource.for_tests(1).discrete_laplace(scale, 3)


@pytest.mark.parametrize("size", [-1, 1.5, True, None])
def test_bad_sizes_are_refused(size):
    with pytest.raises(ValueError, match="size"):
        NoiseSource.for_tests(1).rounded_gaussian(16.0, size)


def test_shapes_and_dtypes():
    source = NoiseSource()
    for size in (0, 1, 5, np.int64(5), _inverse_cdf.CHUNK + 1):
        for values in (source.rounded_gaussian(20.0, size), source.discrete_laplace(1.0, size)):
            assert values.shape == (size,) and values.dtype == np.int64


# --- exact uniforms and inclusions -----------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_uniform_below_is_uniform(n):
    counts = np.bincount(NoiseSource.for_tests(20).uniform_below(n, 500_000), minlength=n)
    assert len(counts) == n
    assert n == 1 or stats.chisquare(counts).pvalue > ALPHA


def test_uniform_below_has_no_modulo_bias():
    # 2^64 is 4 * n and a remainder of n / 3 * 4: plain "word % n" would hit the lower third too often
    n = 3 * 2**60 + 1
    low = NoiseSource.for_tests(21).uniform_below(n, 200_000) < n // 3
    assert stats.binomtest(int(low.sum()), 200_000, 1 / 3).pvalue > ALPHA
    biased = NoiseSource.for_tests(21).uint64(200_000) % np.uint64(n) < n // 3
    assert stats.binomtest(int(biased.sum()), 200_000, 1 / 3).pvalue < ALPHA


@pytest.mark.parametrize("n", [0, -1, 2**62 + 1, 1.0, None])
def test_uniform_below_refuses(n):
    with pytest.raises(ValueError, match="n:"):
        NoiseSource.for_tests(1).uniform_below(n, 3)


def test_inclusion_is_exactly_the_threshold(monkeypatch):
    words = np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1], dtype=np.uint64)
    monkeypatch.setattr(NoiseSource, "uint64", lambda self, size: words)
    source = NoiseSource()
    assert source.bernoulli_mask(0, 5).sum() == 0
    assert source.bernoulli_mask(1, 5).tolist() == [True, False, False, False, False]
    assert source.bernoulli_mask(2**63, 5).tolist() == [True, True, True, False, False]
    assert source.bernoulli_mask(2**64 - 1, 5).sum() == 4
    assert source.bernoulli_mask(2**64, 5).all()


@pytest.mark.parametrize("q", [0.5, 0.01, 1e-4])
def test_inclusions_have_the_declared_rate_and_are_independent(q):
    mask = NoiseSource.for_tests(22).bernoulli_mask(round(q * 2**64), 1_000_000)
    assert stats.binomtest(int(mask.sum()), len(mask), q).pvalue > ALPHA
    pairs = int((mask[1:] & mask[:-1]).sum())
    assert stats.binomtest(pairs, len(mask) - 1, q * q).pvalue > ALPHA


@pytest.mark.parametrize("threshold", [-1, 2**64 + 1, 0.5, None])
def test_bad_thresholds_are_refused(threshold):
    with pytest.raises(ValueError, match="threshold_k"):
        NoiseSource.for_tests(1).bernoulli_mask(threshold, 3)


def test_locks_are_per_source():
    first, second = NoiseSource.for_tests(1), NoiseSource.for_tests(2)
    with first._seeded._lock:
        done = threading.Event()
        threading.Thread(target=lambda: (second.uint64(1), done.set()), daemon=True).start()
        assert done.wait(10)
