"""Counter-examples to Provable Privacy with Non-Private Pre-Processing, by its own definitions: pre-processing.

`python errata_steps.py`, or `python errata_steps.py P1 S3`. NumPy and SciPy alone (P11: scikit-learn, for the paper's data). Each
returns what is compared, what the paper says, what is, and the relation ("<=": what is should be at most what the paper says)
that the paper's statement implies. Where what is stays below, the statement holds and is loose.
"""

from __future__ import annotations

import itertools
import math
import operator
import sys
from collections.abc import Callable

import numpy as np

Erratum = tuple[str, float, float, str]
HOLDS = {
    "<=": operator.le,
    ">=": operator.ge,
    "=": lambda found, said: math.isclose(found, said, rel_tol=1e-6),
}


def refuted(erratum: Erratum) -> bool:
    """Whether what is breaks what is said."""
    _, said, found, relation = erratum
    return not HOLDS[relation](found, said)


Rows = np.ndarray
ETA = 0.05


# ---- deduplication and quantization -----------------------------------------------------------------------
def good_centres(data: Rows, eta: float = ETA) -> list[tuple[int, frozenset[int]]]:
    """Rows x with B(x, η; S) = B(x, 3η; S), and their clusters."""
    far = np.linalg.norm(data[:, None] - data[None], axis=2)
    near = [(frozenset(np.flatnonzero(r <= eta).tolist()), int((r <= 3 * eta).sum())) for r in far]
    return [(i, members) for i, (members, wide) in enumerate(near) if len(members) == wide]


def deduplicated(data: Rows) -> set[int]:
    """Rows that stay: the centre of each good cluster, and the rows in none (the first centre in the order of rows)."""
    gone: set[int] = set()
    for centre, members in good_centres(data):
        if centre not in gone:
            gone |= members - {centre}
    return set(range(len(data))) - gone


def quantized(data: Rows) -> Rows:
    """Rows of a good cluster become its centre."""
    out, done = data.copy(), set()
    for centre, members in good_centres(data):
        if members not in done:
            out[list(members)] = data[centre]
            done.add(members)
    return out


def p1() -> Erratum:
    """Proposition 3: one record un-makes 64 good clusters of ten in ten dimensions: 640 rows for 2 · 10."""
    generator = np.array(
        [[1, 0, 0, 0, 0, 0, 1, 1, 0, 0], [0, 1, 0, 0, 0, 0, 1, 0, 1, 0], [0, 0, 1, 0, 0, 0, 1, 0, 0, 1]]
        + [[0, 0, 0, 1, 0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 1, 0, 0, 1, 0, 1], [0, 0, 0, 0, 0, 1, 0, 0, 1, 1]]
    )  # a code of 64 words, any two of which differ in three places at least
    words = np.array([np.mod(np.array(bits) @ generator, 2) for bits in itertools.product((0, 1), repeat=6)])
    sites = np.repeat((1 - 2 * words) / math.sqrt(10) * 2.99 * ETA, 10, axis=0)
    sites = sites + 1e-7 * np.random.default_rng(0).normal(size=sites.shape)
    in_the_middle, far_away = (np.vstack([sites, [r]]) for r in (np.zeros(10), np.eye(10)[0]))
    largest = max(len(members) for data in (in_the_middle, far_away) for _, members in good_centres(data))
    assert largest == 10
    changed = (deduplicated(in_the_middle) ^ deduplicated(far_away)) - {len(sites)}
    return (
        "rows that stay in one of two neighbours only, largest good cluster 10",
        2 * largest,
        len(changed),
        "<=",
    )


def p2() -> Erratum:
    """Proposition 3, quantization: a row moves by 1.73 η, without ties; η is allowed."""
    half = 1.73 / 2
    tip = math.sqrt(1 - half**2) * 0.9999
    common = np.array([[0, tip], [0, -tip]]) * ETA
    images = [quantized(np.vstack([[[s * half * ETA * 0.9999, 0]], common]))[1:] for s in (-1, 1)]
    return (
        "how far a row moves, over η",
        1.0,
        float(np.linalg.norm(images[0] - images[1], axis=1).max() / ETA),
        "<=",
    )


def p3() -> Erratum:
    """Proposition 3, quantization: the product Δ₂Δ∞ = 2 · 21 η; five clusters of 21 at each of two sites move 199.8 η."""
    angle = 2 * np.pi * np.arange(5) / 5
    out = np.column_stack([np.cos(angle), np.sin(angle)])
    reach = np.concatenate([[2.99], np.full(10, 3.989), np.full(10, 1.991)]) * ETA
    here = (out[:, None, :] * reach[:, None]).reshape(-1, 2)
    common = np.vstack([here, here + [0.7, 0]])
    images = [quantized(np.vstack([[[x, 0.0]], common]))[1:] for x in (0.0, 0.7)]
    total = float(np.linalg.norm(images[0] - images[1], axis=1).sum() / ETA)
    return "total shift over η, largest good cluster 21", 42.0, total, "<="


def p4() -> Erratum:
    """Proposition 3: a deleted row counts as a shift of 1; it takes a gradient of norm up to C from the sum, whatever µ is."""
    smooth, clip = 0.01, 1.0  # a loss of gradient C everywhere is µ-smooth for every µ > 0
    return "change of a gradient sum by one deleted row, µ = 0.01, C = 1", smooth * 1.0, clip, "<="


def p5() -> Erratum:
    """Good clusters "in reverse order of size": no order matters, for two good clusters are equal or disjoint."""
    rng, overlaps = np.random.default_rng(1), 0
    for _ in range(300):
        data = rng.integers(-6, 7, (15, 2)) * 0.4 * ETA + rng.integers(-1, 2, (15, 2)) * 4 * ETA
        found = [members for _, members in good_centres(data)]
        overlaps += sum(bool(a & b) and a != b for a, b in itertools.combinations(found, 2))
    return "pairs of good clusters that overlap and differ, 300 random data sets", 0, overlaps, "="


# ---- PCA --------------------------------------------------------------------------------------------------
def covariance(x: Rows) -> Rows:
    """With 1/(n − 1)."""
    centred = x - x.mean(axis=0)
    return np.asarray(centred.T @ centred / (len(x) - 1))


def p7() -> Erratum:
    """Proposition 5, covariance: 2(3n + 2)/(n(n − 1)), 6.1/n at n = 101; 4/(n − 1) is attained, and no more."""
    n = 101
    x = np.zeros((n, 2))
    x[:, 0] = 1.0
    y = x.copy()
    y[0, 0] = -1.0
    moved = float(np.linalg.norm(covariance(x) - covariance(y)))
    return "Frobenius distance of two covariances, n = 101", 2 * (3 * n + 2) / (n * (n - 1)), moved, "<="


def p8() -> Erratum:
    """Proposition 5, dimension reduction: one record swaps two directions; coordinates of a row jump, its image does not."""
    n, e = 400, np.eye(4)
    others = np.diag([0.5, 0.2045, 0.2005, 0.0]) - np.outer(e[1], e[1]) / n
    moments = [others + np.outer(e[i], e[i]) / n for i in (1, 2)]
    frames = [np.linalg.eigh(m)[1][:, :0:-1] for m in moments]
    frames[1] = frames[1] * np.sign([frames[0][0, 0] * frames[1][0, 0], 1, 1])
    far = float(np.linalg.norm((frames[0] - frames[1]).T @ (0.9 * e[1])))
    gap = min(np.linalg.eigvalsh(m)[1] - np.linalg.eigvalsh(m)[0] for m in moments)
    return "how far the coordinates of a row move", 8 * (3 * n + 2) / (n * (n - 1)) / gap, far, "<="


def p9() -> Erratum:
    """Lemma L: 2‖B‖/gap; with both spectra known ‖B‖/β holds and is reached (Davis and Kahan). Half of it happens."""
    n, beta = 50, 0.1
    x, y = np.array([1, -1]) / math.sqrt(2), np.array([1, 1]) / math.sqrt(2)
    others = np.diag([0.5 + math.sqrt(beta**2 - 1 / n**2), 0.5])
    tops = [np.linalg.eigh(others + np.outer(v, v) / n)[1][:, 1] for v in (x, y)]
    moved = float(np.linalg.norm(np.outer(tops[0], tops[0]) - np.outer(tops[1], tops[1]), 2))
    return "distance of the projectors, n = 50, gaps 0.1", 2 / (n * beta), moved, "<="


def p10() -> Erratum:
    """Proposition 5, rank reduction: total shift 12.2/gap; rows of rank one at gap g move by 1/√g."""
    n, g = 100_000, 0.04
    s = np.zeros((n, 2))
    s[:, 0] = math.sqrt(g)
    images = []
    for second in (1, -1):
        s[0] = math.sqrt(0.5), second * math.sqrt(0.5)
        top = np.linalg.eigh(s.T @ s / n)[1][:, 1]
        images.append(s[1:] @ np.outer(top, top))
    return "total shift, gap 0.04", 12.2 / g, float(np.linalg.norm(images[0] - images[1], axis=1).sum()), "<="


def p11() -> Erratum:
    """Figure 3: the gap of its data, scaled to the unit ball of its theorems, is below what one record moves a covariance by."""
    from sklearn.datasets import make_classification

    n, k = 1000, 50
    x, _ = make_classification(
        n, 6000, n_informative=k, n_redundant=5900, n_clusters_per_class=1, random_state=0
    )
    values = np.linalg.eigvalsh(x @ x.T / n)[::-1] / float(np.linalg.norm(x, axis=1).max()) ** 2
    return "the 50th gap, against 1/n", 1 / n, float(values[k - 1] - values[k]), ">="


def p12() -> Erratum:
    """Theorem 8: the gap moves by 12.2/n; 2/n is reached by uncentred second moments, and no more."""
    n = 101
    s = np.zeros((n, 2))
    s[1:, 0] = 0.5
    gaps = []
    for record in ([1.0, 0.0], [0.0, 1.0]):
        s[0] = record
        gaps.append(float(np.diff(np.linalg.eigvalsh(s.T @ s / n))[0]))
    return "change of the gap, n = 101", 12.2 / n, abs(gaps[0] - gaps[1]), "<="


# ---- imputation -------------------------------------------------------------------------------------------
def i1() -> Erratum:
    """Corollary 4: mean imputation moves a row by more than 2/(n − p), p the rows that imputation changes."""
    d, complete, each = 100, 100, 50
    common = np.full((complete + d * each, d), np.nan)
    common[:complete] = 0.0
    for j in range(d):
        common[complete + j * each : complete + (j + 1) * each, j] = -1.0
    pair = [np.vstack([common, record]) for record in (np.full((1, d), 0.1), np.full((1, d), np.nan))]
    p = max(int(np.isnan(data).any(axis=1).sum()) for data in pair)
    means = [np.array([c[~np.isnan(c)].mean() for c in data.T]) for data in pair]
    filled = [np.where(np.isnan(common), m, common) for m in means]
    moved = float(np.linalg.norm(filled[0] - filled[1], axis=1).max())
    return "how far a row moves", 2 / (len(pair[0]) - p), moved, "<="


def i2() -> Erratum:
    """Proof of Proposition 16: "bounded with diameter 1"; the unit ball has diameter 2, and 4/(n − p)² is of that."""
    return "diameter of the instance space", 1.0, float(np.linalg.norm(np.array([1.0, 0]) - [-1.0, 0])), "<="


def i3() -> Erratum:
    """Model-based imputation: (1, ?) with a mean of 1 becomes (1, 1)."""
    x = np.array([[1.0, np.nan], [0.0, 1.0], [0.0, 1.0]])
    filled = np.where(np.isnan(x), np.nanmean(x, axis=0), x)
    return (
        "norm of a filled row; the instance space is the unit ball",
        1.0,
        float(np.linalg.norm(filled[0])),
        "<=",
    )


def i4() -> Erratum:
    """Table 3, median: a width of the collection; four small sets whose medians move by 0.01."""
    sets = [np.array([c, c + a, c + 0.01]) for c in (0.0, 0.9) for a in (0.0, 0.01)]
    said = max(x[1] for x in sets) - min(x[0] for x in sets)
    return (
        "how far a median moves",
        said,
        max(abs(float(np.median(sets[i]) - np.median(sets[i + 1]))) for i in (0, 2)),
        "<=",
    )


def trimmed(x: Rows, m: int) -> float:
    """Mean without the m smallest and the m largest."""
    return float(np.sort(x)[m : len(x) - m].mean())


def i5() -> Erratum:
    """Table 3, trimmed mean: with order statistics from the smallest up the entry is negative. From the largest down it holds."""
    x = np.linspace(-1, 1, 21)
    y, m = np.append(x[1:], 1.0), 2
    most = -math.inf  # the other reading: never beaten, by enumeration
    for values in itertools.product((-1.0, -0.4, 0.1, 1.0), repeat=5):
        for new in (-1.0, 0.3, 1.0):
            pair = np.array(values), np.array((*values[1:], new))
            down = [np.sort(v)[::-1] for v in pair]
            width = (max(v[0] for v in down) - min(v[3] for v in down)) / 3  # x_(m) − x_(n−m), m = 1, n = 5
            most = max(most, abs(trimmed(pair[0], 1) - trimmed(pair[1], 1)) - width)
    assert most <= 1e-12
    said = (max(np.sort(v)[m - 1] for v in (x, y)) - min(np.sort(v)[20 - m] for v in (x, y))) / (21 - 2 * m)
    return (
        "how far the trimmed mean of 21 even values moves, m = 2",
        said,
        abs(trimmed(x, m) - trimmed(y, m)),
        "<=",
    )


def i6() -> Erratum:
    """Table 3, regression: proved for one added record; 20 000 replaced ones in the unit disc do not beat it."""
    rng, most = np.random.default_rng(2), 0.0
    for _ in range(20_000):
        n = int(rng.integers(2, 6))
        xy = rng.normal(size=(n + 1, 2))
        xy /= np.maximum(1.0, np.linalg.norm(xy, axis=1, keepdims=True))
        one, two = xy[:n], xy[1:]
        squares = [float(s[:, 0] @ s[:, 0]) for s in (one, two)]
        if min(squares) < 1e-3:
            continue
        low, high = min(squares), max(squares)
        moved = abs(one[:, 0] @ one[:, 1] / squares[0] - two[:, 0] @ two[:, 1] / squares[1])
        most = max(most, float(moved / (high**2 / ((high + 1) * low**2) + 1 / low)))
    return "largest change of a prediction over the entry", 1.0, most, "<="


# ---- scaling ----------------------------------------------------------------------------------------------
def s1() -> Erratum:
    """Proposition 6: the variance of n values in [−1, 1] moves by 2/n; 4(n − 1)/n² happens (4/n with 1/(n − 1))."""
    n = 50
    x = np.full(n, -1.0)
    y = np.append(x[1:], 1.0)
    assert np.isclose(
        np.var([-1, 1.0], ddof=1) - np.var([-1, -1.0], ddof=1), 2.0
    )  # n = 2 with 1/(n − 1): 2/n = 1 is said
    return "change of the variance, n = 50, with 1/n", 2 / n, float(abs(y.var() - x.var())), "<="


def s2() -> Erratum:
    """Proposition 6: the standard deviation moves by 1/(nσ)."""
    n = 1001
    x = np.full(n, -1.0)
    x[1:25] = 1.0
    y = x.copy()
    y[0] = 1.0
    least = min(x.std(), y.std())
    return "change of the deviation, n = 1001, σ ≥ 0.3", 1 / (n * least), float(abs(y.std() - x.std())), "<="


def s3() -> Erratum:
    """Proposition 6: standard scaling moves a row by 2/(σ³n) + 2/(σn)."""
    n, s = 4001, 0.2
    x = np.full(n, -1.0)
    x[1 : 1 + math.ceil(n * s**2 / 4 / (1 - s**2 / 4))] = 1.0
    y = x.copy()
    y[0] = 1.0
    least = min(x.std(), y.std())
    images = [(v - v.mean()) / v.std() for v in (x, y)]
    moved = float(np.abs(images[0] - images[1])[1:].max())
    return "how far a row moves, n = 4001, σ ≥ 0.2", 2 / (n * least**3) + 2 / (n * least), moved, "<="


def s4() -> Erratum:
    """Table 2, scaling, Gaussian: 1.05(1 + 4/σ³); a pair of data sets has total shift 169, so (1 + 169)²/2, at σ = 0.1."""
    n, sigma = 4001, 0.1
    half = sigma * math.sqrt(n / (n - 1)) * (1 + 1e-12)
    x = np.full(n, -1.0)
    x[1 : 1 + (n - 1) // 2] += 2 * half
    x[0] = x[1:].mean()
    y = x.copy()
    y[0] = 1.0
    assert min(x.std(), y.std()) >= sigma
    images = [(v - v.mean()) / v.std() for v in (x, y)]
    waves = [
        np.abs((z * (1 - 1e-3) + 2) % 2 - 1)[1:].sum() for z in images
    ]  # a statistic of slope and range 1
    return (
        "divergence over αε², n = 4001",
        1.05 * (1 + 4 / sigma**3),
        (1 + abs(waves[0] - waves[1])) ** 2 / 2,
        "<=",
    )


def s7() -> Erratum:
    """Appendix F clips at the data's largest norm, and says that this may leak: one record moves every row."""
    x = np.full(10, 0.1)
    y = np.append(x[1:], 1.0)
    moved = np.abs(x[:9] / np.abs(x).max() - y[:9] / np.abs(y).max())
    return "least movement of the common rows", 0.0, float(moved.min()), "<="


def c1() -> Erratum:
    """One step at a time: a mean over rows that a step before has moved by 1 each moves by 1, not by 2/n."""
    n = 100
    return "change of a mean after a step that moves every row by 1, n = 100", 2 / n, 1.0, "<="


ERRATA: dict[str, Callable[[], Erratum]] = {
    f.__name__.upper(): f
    for f in (p1, p2, p3, p4, p5, p7, p8, p9, p10, p11, p12, i1, i2, i3, i4, i5, i6, s1, s2, s3, s4, s7, c1)
}

if __name__ == "__main__":
    for name in sys.argv[1:] or ERRATA:
        made = ERRATA[name]()
        print(f"{name}: {str(ERRATA[name].__doc__).splitlines()[0]}")
        print(
            f"    {made[0]}: said {made[1]:.6g}, is {made[2]:.6g}: {'refuted' if refuted(made) else 'holds'}"
        )
