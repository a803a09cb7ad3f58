"""Every statement of Provable Privacy with Non-Private Pre-Processing, beside exact integration or enumeration."""

from __future__ import annotations

import math

import numpy as np
from scipy import integrate

from prepriv import guarantees as g
from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv.domain import Domain
from prepriv.guarantees import smooth_mechanisms as mechanisms
from prepriv.guarantees import smooth_renyi as smooth
from prepriv.learners.losses import Logistic
from prepriv.space import Space
from prepriv_papers.provable_privacy.errata_learners import renyi, stops
from prepriv_papers.provable_privacy.items import PAPER_TITLE as PAPER
from prepriv_papers.stated import Numbered, holds, loosely, no_claim, refuted, without_constant

SMOOTH = "src/prepriv/guarantees/smooth_renyi.py"
MECHANISMS = "src/prepriv/guarantees/smooth_mechanisms.py"
STEPS = "src/prepriv/preprocessing"


def _divergences() -> Numbered:
    """Definitions 1 to 3, Lemmas A to F, J, M, N, by integration of Gaussians and sums over random laws."""
    rng = np.random.default_rng(0)
    normal = abs(g.gaussian_renyi(1.5)(4.0) / renyi([(1, 1.5, 1)], [(1, 0, 1)], 4.0) - 1)
    moved = mechanisms.gaussian_mechanism(0.8, lipschitz=2.0, sensitivity=1.0).smooth(3.0, 0.5)
    lap = mechanisms.laplace_mechanism(0.8, lipschitz=1.0, sensitivity=1.0)

    def discrete(p: np.ndarray, q: np.ndarray, a: float) -> float:
        return float(math.log((p**a * q ** (1 - a)).sum()) / (a - 1))

    def laplace(x: float, shift: float) -> float:
        return 0.5 * math.exp(-abs(x - shift))

    ratio = integrate.quad(
        lambda x: laplace(x, 0.4) ** 3 * laplace(x, 0.0) ** -2, -60, 60, points=[0, 0.4], limit=400
    )[0]
    added, convex, after, rising, triangle = [], [], [], [], []
    for _ in range(150):
        p, q, r, s = rng.dirichlet(np.ones(4), 4)
        a, b = float(rng.uniform(1.2, 5)), float(rng.uniform(0, 1))
        both = discrete(np.outer(p, r).ravel(), np.outer(q, s).ravel(), a)
        added.append(abs(both - discrete(p, q, a) - discrete(r, s, a)))
        near = [0.9 * x + 0.025 for x in (p, q, r, s)]
        ones = discrete(near[0], near[1], a), discrete(near[2], near[3], a)
        if max(ones) <= 1 / (a - 1):
            mix = discrete(b * near[0] + (1 - b) * near[2], b * near[1] + (1 - b) * near[3], a)
            convex.append(mix / (2 * (b * ones[0] + (1 - b) * ones[1])))
        channel = rng.dirichlet(np.ones(3), 4)
        after.append(discrete(p @ channel, q @ channel, a) / discrete(p, q, a))
        rising.append(discrete(p, q, a + 0.5) - discrete(p, q, a))
        c = float(rng.uniform(1.2, 3))
        right = (a - 1 / c) / (a - 1) * discrete(p, r, a * c) + discrete(r, q, (a * c - 1) / (c - 1))
        triangle.append(right - discrete(p, q, a))
    delta = 1e-4  # Gaussians: the best order of the conversion, and what δ is at its ε
    epsilon = min(a / 2 + math.log(1 / delta) / (a - 1) for a in np.linspace(1.5, 20, 200))
    converted = float(g.gaussian(1.0).delta(epsilon)) / delta
    return {
        "pp_definition_1": normal,
        "pp_definition_3": abs(moved / renyi([(1, 0.8, 1)], [(1, 0, 1)], 3.0) - 1),
        "pp_theorem_11": math.log(ratio) / 2 / lap.smooth(3.0, 0.5),
        "pp_lemma_a": max(added),
        "pp_lemma_b": max(convex),
        "pp_lemma_d": min(rising),
        "pp_lemma_e": max(after),
        "pp_lemma_j": min(triangle),
        "pp_lemma_m": converted,
    }


def _mechanisms() -> Numbered:
    """Theorems 2 and 10 to 13, Lemmas G and H: what happens over what is said, or ours over it."""
    rng = np.random.default_rng(1)
    epsilon, shares = 0.7, []
    for _ in range(200):  # the exponential mechanism: scores that move by at most 1, four outcomes
        one, move = rng.normal(size=4), rng.uniform(-1, 1, 4)
        p, q = (np.exp(v * epsilon / 2) for v in (one, one + move))
        shares.append(float(np.abs(np.log(p / p.sum()) - np.log(q / q.sum())).max()) / epsilon)
    n, order, sigma = 40, 3.0, 30.0
    last = renyi(stops(n, 1.0, sigma), stops(n, -1.0, sigma), order)
    plain, shift = g.gaussian_renyi(0.6), g.gaussian_renyi(0.4)
    return {
        "pp_theorem_2": smooth.paper_theorem_2(plain, shift)(11.0) / renyi([(1, 1.0, 1)], [(1, 0, 1)], 11.0),
        "pp_theorem_12": max(shares),
        "pp_lemma_h": last / (4 * order * math.log(n) / (n * sigma**2)),
        "pp_lemma_i": renyi([(1, 1.0, math.sqrt(4))], [(1, 0.0, math.sqrt(4))], 3.0)
        / (3 * 4 * (1 / 4) ** 2 / 2),
        "pp_lemma_g": renyi([(0.99, 0, 4), (0.01, 1, 4)], [(1, 0, 4)], 3.0) / (3 * 4 * 0.01**2 / (0.99 * 16)),
    }


def _imputed() -> float:
    """Corollary 4 with p the missing entries of the worse data set: the largest share that a filled cell's row moves."""
    rng, most = np.random.default_rng(3), 0.0
    for _ in range(1200):
        n, d = int(rng.integers(3, 9)), int(rng.integers(1, 4))
        rows = rng.choice([-1.0, 1.0], (n + 1, d)) * rng.dirichlet(np.ones(d), n + 1) ** 0.5
        rows[rng.random((n + 1, d)) < 0.15] = np.nan
        pair = rows[:n], np.vstack([rows[n:], rows[1:n]])
        p = max(int(np.isnan(x).sum()) for x in pair)
        if p >= n or any(np.isnan(x).all(axis=0).any() for x in pair):
            continue
        means = [np.nanmean(x, axis=0) for x in pair]
        filled = [np.where(np.isnan(rows[1:n]), m, rows[1:n]) for m in means]
        moved = float(np.linalg.norm(filled[0] - filled[1], axis=1).max())
        most = max(most, moved * (n - p) / 2)
    return most


def _steps() -> Numbered:
    """Definition 4 on a step; Definitions 5 to 8; the scaling of an output."""
    losses = Logistic()
    rng = np.random.default_rng(2)
    slopes = []
    for _ in range(
        300
    ):  # gradients of the logistic loss over rows: Definition 6 on the unit ball, weights of norm 1
        w, x, y = rng.normal(size=(3, 3))
        w, x, y = (v / max(1.0, float(np.linalg.norm(v))) for v in (w, x, y))

        def gradient(row: np.ndarray, w: np.ndarray = w) -> np.ndarray:
            return -row / (1 + math.exp(float(w @ row)))

        slopes.append(float(np.linalg.norm(gradient(x) - gradient(y)) / np.linalg.norm(x - y)))
    bound = losses.input_lipschitz(1.0, 1.0)
    rows = np.linspace(-1, 1, 50)[:, None]
    other = rows.copy()
    other[0] = 1.0
    step, space = (
        pre.MeanImputer(payment=pay.Sensitivity({"missing": 0.1})),
        Space(-np.ones(1), np.ones(1), 1.0, np.ones(1, dtype=bool)),
    )
    hole = np.full((1, 1), np.nan)
    rows[5] = other[5] = np.nan
    images = [step.fit_confidential([v], space, 50).transform(hole.copy()) for v in (rows, other)]
    moved = float(np.abs(images[0] - images[1]).max())
    spread = pre.StandardScaler(floor=0.25, rule="none", radius=4.0, payment=pay.Sensitivity()).sensitivity(
        Domain.box(-1, 1, 1, [0, 1]).space, 1000
    )
    domain = smooth.inverse_pointwise_distance([1.0, 0.5, 0.5, 0.0])
    return {
        "pp_corollary_4": _imputed(),
        "pp_definition_4": moved / step.sensitivity(space, 50).row_shift,
        "pp_definition_6": max(slopes) / bound,
        "pp_definition_7": domain,
        "pp_definition_8": float(smooth.largest_distance([[1, 0, 0], [0.1, 0.1, 0.1], [1, 1, 0]], 1.0)),
        "pp_rows_scaled": spread.rows_moved,
        "pp_lemma_n": _composed(),
    }


def _composed() -> float:
    """Lemma N: δ of two Gaussian releases at the sum of their ε, over the sum of their δ."""
    one = g.gaussian(0.5)
    e = 1.0
    return float(g.gaussian(0.5 * math.sqrt(2)).delta(2 * e)) / (2 * float(one.delta(e)))


def compute() -> Numbered:
    """Every number that `ITEMS` look at, but for the counter-examples."""
    return _divergences() | _mechanisms() | _steps()


NEAR_1 = (0.0, 1e-6, "two computations of one number")
AT_MOST = (1e-3, 1.0 + 1e-6, "an inequality")
SRDP = "prepriv.guarantees.SmoothRenyiCurve"
ITEMS = (
    no_claim(PAPER, "Figures 1 and 4", "pictures of the hybrid data set", "nothing to compute; both hybrids are in `with_preprocessing`", where=SMOOTH),
    holds(PAPER, "Definition 1, Rényi divergence", "1/(α − 1) log E(P/R)^α", "pp_definition_1", "relative distance from integration", *NEAR_1, why="the notion", call="prepriv.guarantees.RenyiCurve", where="src/prepriv/guarantees/renyi.py"),
    holds(PAPER, "Definition 2, RDP", "D_α ≤ ε(α) between neighbours", "pp_definition_1", "relative distance from integration", *NEAR_1, why="the notion", call="prepriv.guarantees.renyi_curve", where="src/prepriv/guarantees/renyi.py"),
    holds(PAPER, "Definition 3, smooth RDP", "D_α ≤ ε(α, τ) at total shift τ", "pp_definition_3", "relative distance from integration, Gaussian", *NEAR_1, why="the paper's central notion; its curves are public here", call=SRDP, where=SMOOTH),
    holds(PAPER, "Lemma 1 (Lemma 2 of the appendix), composition", "ε_i(α, τ) add", "pp_lemma_a", "largest distance, 150 products", 0.0, 1e-9, "rounding", why="holds, adaptively too (L13: proved for independent ones)", call="prepriv.guarantees.SmoothRenyiCurve.compose", where=SMOOTH),
    holds(PAPER, "Lemma 1, post-processing", "ε(α, τ) stays", "pp_lemma_e", "largest divergence after a map over before", *AT_MOST, call=SRDP, where=SMOOTH),
    holds(PAPER, "Definition 4, sensitivities of a step", "Δ∞, Δ₂", "pp_definition_4", "share of our bound that a pair moves, mean imputation", 0.3, 1.0, "a bound", why="declared facts alone; rows that are dropped are counted apart", call="prepriv.preprocessing.Step.sensitivity", where=f"{STEPS}/base.py"),
    holds(PAPER, "Theorem 2", "the larger of two forms", "pp_theorem_2", "its bound, c = 2, over what Gaussians attain", 1.0, 1.2, "a bound", why="holds; each form alone bounds both directions (L9)", errata=("L9",), call="prepriv.guarantees.with_preprocessing", where=SMOOTH),
    refuted(PAPER, "Proposition 3, deduplication", "Δ∞ ≤ 2 max |B|", ("P1",), "a record un-makes every cluster near it; 2(m − 1), m the most rows within 4η", call="prepriv.preprocessing.Deduplicate", where=f"{STEPS}/deduplicate.py"),
    refuted(PAPER, "Proposition 3, quantization", "Δ₂ = η, product 2 max |B| η", ("P2", "P3"), "2η", call="prepriv.preprocessing.Quantize", where=f"{STEPS}/quantize.py"),
    refuted(PAPER, "Proposition 3, a deleted row", "Δ₂ = 1", ("P4",), "it takes a whole clipped gradient from a sum; counted as `rows_dropped`", call="prepriv.preprocessing.Deduplicate", where=f"{STEPS}/base.py"),
    holds(PAPER, "Corollary 4, mean imputation", "2/(n − p)", "pp_corollary_4", "largest share of it that a row moves, 1200 pairs, p the missing entries", 0.2, 1.0 + 1e-9, "a bound", why="not refuted with p the missing entries in all, as its proof counts them; with p the rows that imputation changes, the L∞ sensitivity in Table 2, a row moves by more (I1)", errata=("I1",), call="prepriv.preprocessing.MeanImputer", where=f"{STEPS}/impute.py"),
    refuted(PAPER, "Proposition 16, proof and ball", "diameter 1; rows stay in the ball", ("I2", "I3"), "diameter 2, and a filled row can have norm √2", call="prepriv.preprocessing.MeanImputer", where=f"{STEPS}/impute.py"),
    refuted(PAPER, "Proposition 5, dimension reduction", "2Δ₂ for ‖A_kᵀx − Ã_kᵀx‖", ("P8",), "coordinates turn though the space does not; holds up to a rotation", call="prepriv.preprocessing.PCA", where=f"{STEPS}/pca.py"),
    loosely(PAPER, "Proposition 5, rank reduction", "12.2/(nδ) a row", ("P7", "P9", "P10"), "holds, loose: 1/gap, and less for a small tail", call="prepriv.preprocessing.RankReduction", where=f"{STEPS}/pca.py"),
    refuted(PAPER, "Proposition 6, standard scaling", "variance 2/n; 2/(σ³n) + 2/(σn)", ("S1", "S2", "S3"), "4/n, 2/(nσ), 4/(σ³n) + 2/(σn)", call="prepriv.preprocessing.StandardScaler", where=f"{STEPS}/scale.py"),
    holds(PAPER, "Proposition 6, Δ∞ of scaling", "the size of the data sets, n", "pp_rows_scaled", "rows that ours counts as moved, n = 1000", 999, 1000, "all common rows", call="prepriv.preprocessing.MinMaxScaler", why="holds; for min-max scaling no Δ₂ is given (S6)", where=f"{STEPS}/scale_min_max.py"),
    refuted(PAPER, "Theorems 7 and 17(i), Gaussian and DP-GD", "1.05αε²(1 + …)", ("P1", "P3", "S4"), "deduplication, quantization and scaling rest on false sensitivities; the others hold for α ≥ 11", call="prepriv.account", where="papers/prepriv_papers/provable_privacy/tables.py"),
    refuted(PAPER, "Theorem 17(ii), Laplace and exponential", "ε(1 + p), ε(1 + ηp), …", ("P1", "P3"), "the same sensitivities; its cell of scaling is that of DP-GD (S5)", call="prepriv.account", where="papers/prepriv_papers/provable_privacy/tables.py"),
    refuted(PAPER, "Theorem 17(iii), sampled SGD", "1.05αε²(2α + 12.2²/δ²)", ("L7",), "γ = 1 does not follow from Δ∞ = n; σ has no constant (L6), and no order is named (L10)", call="prepriv.guarantees.sampled_gradient", where=MECHANISMS),
    refuted(PAPER, "Theorem 17(iv), SGD by iteration", "1.1αε²(1 + …)", ("L2", "L11"), "inherits Lemma 4; its last step fails for n − p ≤ 3", call="prepriv.guarantees.one_pass_gradient", where=MECHANISMS),
    refuted(PAPER, "Theorem 8", "(ε̂ + ε, δ)-DP", ("L15", "L16"), "false for ε > log 4: only one direction of a bad data set is treated; threshold 1 + log(1/(2δ₀))/ε₀ here", call="prepriv.payment.Sensitivity(..., test=...)", where="src/prepriv/mechanisms/propose_test_release.py"),
    no_claim(PAPER, "Several steps, one after another", "not treated", "one step at a time there; a second step sees data that differ by more than a record (C1), and shifts are chained here", call="prepriv.make_plan", where="docs/proofs/chaining.md"),
    refuted(PAPER, "Lemma 3, subsampling", "a batch with replacement shifts by at most τ", ("L8",), "bτ; with that and ε(α, bτ) ≤ 1/(α − 1) it holds", call="prepriv.guarantees.SmoothRenyiCurve.subsampled", where=SMOOTH),
    holds(PAPER, "Definitions 5 and 6", "Lipschitz; µ-smooth in the record", "pp_definition_6", "largest slope found over our constant, logistic loss", 0.2, 1.0, "a bound", why="constants of each loss, with their proof", call="prepriv.learners.Logistic", where="src/prepriv/learners/losses.py"),
    holds(PAPER, "Definition 7, inverse point-wise distance", "γ = n/k", "pp_definition_7", "γ of shifts 1, ½, ½, 0", 2.0, 2.0, "k = 2 of n = 4", call="prepriv.guarantees.inverse_pointwise_distance", where=SMOOTH),
    holds(PAPER, "Definition 8, τ-constrained maximum distance", "κ_τ", "pp_definition_8", "κ₁ of three pairs by hand", 3.0, 3.0, "three rows differ at total 0.3", call="prepriv.guarantees.largest_distance", where=SMOOTH),
    holds(PAPER, "Theorem 10, Gaussian mechanism", "αε²/2 and αL²τ²ε²/(2Δ²)", "pp_definition_3", "relative distance from integration", *NEAR_1, why="holds; under its Frobenius norm it is loose (L12)", errata=("L12",), call="prepriv.guarantees.gaussian_mechanism", where=MECHANISMS),
    holds(PAPER, "Theorem 11, Laplace mechanism", "ε and Lτε/Δ", "pp_theorem_11", "divergence of order 3 by integration over ours", 0.5, 1.0 + 1e-9, "a bound", why="holds, loose at finite orders", call="prepriv.guarantees.laplace_mechanism", where=MECHANISMS),
    holds(PAPER, "Theorem 12, exponential mechanism", "ε and Lτε/Δ_Q", "pp_theorem_12", "largest log ratio over ε, 200 scores", 0.3, 1.0, "pure ε", call="prepriv.guarantees.exponential_mechanism", where=MECHANISMS),
    refuted(PAPER, "Theorem 13, DP-GD", "(α, αε²/2)-RDP", ("L1",), "its proof shows 2αε², and so does Table 1", call="prepriv.guarantees.full_batch_gradient", where=MECHANISMS),
    loosely(PAPER, "Theorem 14, sampled SGD", "α²ε²/2 at σ = Ω(L√T/(εn))", ("L6",), "no constant; read as an equality the worst pair stays below it. Its lemma is about another sampling", call="prepriv.guarantees.sampled_gradient", where=MECHANISMS),
    refuted(PAPER, "Table 1, σ of SGD by iteration", "8ηL√(2 log n)/(ε√n)", ("L4",), "η belongs to noise on the iterate; Theorem 15 adds it to the gradient and has σ without η, which is right. Its RDP for κ near n: L22", call="prepriv.guarantees.one_pass_gradient", where=MECHANISMS),
    loosely(PAPER, "Theorem 15, condition", "max(L, τL)√(2α(α − 1)) < σ", ("L5",), "a condition, met by small ε alone; ours has none", call="prepriv.guarantees.one_pass_gradient", where=MECHANISMS),
    refuted(PAPER, "Lemma 4", "D_α ≤ 2ατ²L/(σ²(n − t + 1))", ("L2",), "25 times that happens: a shift at the end is not spread", call="prepriv.guarantees.one_pass_gradient", where=MECHANISMS),
    holds(PAPER, "Definition 9 and Lemma I (Feldman et al.)", "contractive noisy iteration", "pp_lemma_i", "divergence of a translation over the bound", 0.99, 1.01, "attained", why="holds; the best a is the taut string of the shifts", call="prepriv.guarantees.one_pass_gradient", where="src/prepriv/guarantees/iteration.py"),
    holds(PAPER, "Lemma A, additivity", "divergences of products add", "pp_lemma_a", "largest distance, 150 products", 0.0, 1e-9, "rounding", call="prepriv.guarantees.RenyiCurve.compose", where="src/prepriv/guarantees/renyi.py"),
    holds(PAPER, "Lemma B, weak convexity", "(1 + c)(βD + (1 − β)D)", "pp_lemma_b", "largest share of the bound, c = 1", *AT_MOST, where="docs/proofs/smooth_renyi.md"),
    holds(PAPER, "Lemma C, Gaussians", "α(µ₀ − µ₁)²/(2σ²)", "pp_definition_1", "relative distance from integration", *NEAR_1, call="prepriv.guarantees.gaussian_renyi", where="src/prepriv/guarantees/renyi.py"),
    holds(PAPER, "Lemma D, monotonicity", "D_α ≤ D_β for α < β", "pp_lemma_d", "least growth over half an order", 0.0, 10.0, "an inequality", where="src/prepriv/guarantees/renyi.py"),
    holds(PAPER, "Lemma E, post-processing", "RDP stays", "pp_lemma_e", "largest divergence after a map over before", *AT_MOST, where="src/prepriv/guarantees/renyi.py"),
    holds(PAPER, "Lemma F, composition", "ε₁ + ε₂", "pp_lemma_a", "largest distance, 150 products", 0.0, 1e-9, "rounding", call="prepriv.guarantees.RenyiCurve.compose", where="src/prepriv/guarantees/renyi.py"),
    without_constant(PAPER, "Lemma G (Abadi et al.)", "α(α + 1)L²/(n²(1 − 1/n)σ²) + O(·)", "pp_lemma_g", "divergence over its first term, q = 1/100, σ = 4, order 3", 0.1, 1.0, "the first term is above what happens here", "its rest has no constant; exact pairs stand for it here", where="src/prepriv/guarantees/subsampling.py"),
    holds(PAPER, "Lemma H (Feldman et al.)", "4αL² log n/(nσ²)", "pp_lemma_h", "divergence of order 3 over it, n = 40", 0.05, 1.0, "exact integration, linear losses", call="prepriv.guarantees.one_pass_gradient", where=MECHANISMS),
    holds(PAPER, "Lemma J, triangle", "((α − 1/p)/(α − 1))D_pα + D_q(α−1/p)", "pp_lemma_j", "least slack, 150 laws", 0.0, 1e4, "an inequality", call="prepriv.guarantees.with_preprocessing", where=SMOOTH),
    loosely(PAPER, "Lemma K, Davis–Kahan (Yu et al.)", "2‖Σ − Σ̂‖/gap", ("P9",), "holds; loose by two if both spectra are known", where=f"{STEPS}/_projector.py"),
    loosely(PAPER, "Lemma L (Zwald and Blanchard)", "2‖B‖/gap", ("P9",), "as above; printed without the condition ‖B‖ < gap/4 of its source", where=f"{STEPS}/_projector.py"),
    holds(PAPER, "Lemma M, conversion", "ε + log(1/δ)/(α − 1)", "pp_lemma_m", "δ of a Gaussian at the ε that it gives, over δ", 1e-3, 1.0, "an inequality", why="holds, loose", call="prepriv.guarantees.RenyiCurve.epsilon", where="src/prepriv/guarantees/renyi.py"),
    holds(PAPER, "Lemma N, basic composition", "(ε₁ + ε₂, δ₁ + δ₂)", "pp_lemma_n", "δ of two Gaussian releases over the sum", 1e-3, 1.0, "an inequality", why="holds, loose", call="prepriv.guarantees.compose", where="src/prepriv/guarantees/loss_distribution.py"),
    no_claim(PAPER, "Lemma O (Song et al.)", "excess risk O(L√(1 + 2k log 1/δ)/(εn))", "cited without a constant; no guarantee rests on it", where="papers/prepriv_papers/provable_privacy/calculators.py"),
    loosely(PAPER, "Appendix F, clipping", "C a share of the data's largest norm", ("S7",), "leaks, as the paper itself notes: one record moves every row; the radius is declared here", call="prepriv.preprocessing.Normalize", where=f"{STEPS}/normalize.py"),
)  # fmt: skip
