"""What decides about the tables and figures of Provable Privacy with Non-Private Pre-Processing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from prepriv_papers.counterexamples import facts
from prepriv_papers.unified_enhancement.items import least, most
from prepriv_papers.verdicts import Case, Fact, Item, Numbers, entry

PAPER_TITLE = "Provable Privacy with Non-Private Pre-Processing"
FOLDER = "papers/prepriv_papers/provable_privacy"
T1, T2 = 0.047765, 114.0245  # geometric means of its own formulas, at the setting of tables.py
BOUND = "a bound of ours that is proved is no larger than one of the paper that holds"


def _cell(numbers: Numbers, mechanism: str, step: str) -> Mapping[str, Any]:
    return next(r for r in numbers["table_2"] if (r["mechanism"], r["preprocessing"]) == (mechanism, step))


def _filled(numbers: Numbers, name: str) -> float:
    """How far a filled row moves over our bound, for one imputation of Table 3."""
    row = next(r for r in numbers["table_3"] if r["imputation"] == name)
    return float(row["happens"] / row["ours"])


def _formulas(rows: Sequence[Mapping[str, Any]]) -> float:
    """Geometric mean of the paper's own formulas."""
    return float(np.exp(np.mean(np.log([r["own_formula"] for r in rows]))))


def _share(rows: Sequence[Mapping[str, Any]]) -> float:
    return most(r["ours"] / r["own_formula"] for r in rows if r["ours"] is not None)


TABLES = (
    Item(
        PAPER_TITLE,
        "Table 1",
        "twelve Rényi bounds of six mechanisms",
        "formulas",
        (
            Case(
                "paper is wrong",
                "of twelve entries that of SGD by iteration, SRDP, has lost ε² and rests on a false lemma (L2, L3), its σ is that of the iterate (L4), its RDP fails for κ near n (L22); DP-GD's theorem says a quarter of the table (L1)",
                (
                    Fact(
                        "ours over what its own proofs give, largest of twelve",
                        lambda n: _share(n["table_1"]),
                        0.5,
                        1 + 1e-9,
                        BOUND,
                    ),
                    Fact(
                        "its own formulas, geometric mean of twelve",
                        lambda n: _formulas(n["table_1"]),
                        T1 * 0.999,
                        T1 * 1.001,
                        "its Table 1 and proofs at this setting",
                    ),
                    *facts("L1", "L2", "L3", "L4", "L6", "L22"),
                ),
            ),
        ),
        lambda n: (
            f"at most {_share(n['table_1']):.2f} of what its own proofs give; sampled SGD "
            f"{next(r['ours'] for r in n['table_1'] if r['mechanism'] == 'SGD, sampled'):.3g} for its 0.151"
        ),
        call="prepriv.guarantees.full_batch_gradient",
        where="src/prepriv/guarantees/smooth_mechanisms.py",
    ),
    Item(
        PAPER_TITLE,
        "Table 2",
        "α ≥ 11; one collection for all columns, see the title",
        "Gaussian, scaling at σ = 0.5: 34.65",
        (
            Case(
                "paper is wrong",
                "deduplication and quantization by P1 to P3, scaling by S1 to S5 (imputation by I1 if p counts rows); the rest holds, and ours is lower",
                (
                    Fact(
                        "its own formula in the Gaussian cell of scaling",
                        lambda n: _cell(n, "Gaussian", "scaling")["own_formula"],
                        421.0,
                        421.1,
                        "1.05 (1 + τ²), τ = 2/σ³ + 2/σ",
                    ),
                    Fact(
                        "what is printed there",
                        lambda n: _cell(n, "Gaussian", "scaling")["printed"],
                        34.6,
                        34.7,
                        "1.05 (1 + 4/σ³)",
                    ),
                    Fact(
                        "ours over its own formula, largest of all cells",
                        lambda n: _share(n["table_2"]),
                        0.3,
                        1 + 1e-9,
                        BOUND,
                    ),
                    Fact(
                        "its own formulas, geometric mean of all cells",
                        lambda n: _formulas(n["table_2"]),
                        T2 * 0.999,
                        T2 * 1.001,
                        "its Theorem 2 on its Table 1 at this setting",
                    ),
                    *facts("P1", "P3", "S4"),
                ),
            ),
        ),
        lambda n: (
            f"its formula {_cell(n, 'Gaussian', 'scaling')['own_formula']:.5g}, ours "
            f"{_cell(n, 'Gaussian', 'scaling')['ours']:.4g}"
        ),
        call="prepriv.account",
        where=f"{FOLDER}/tables.py",
    ),
    Item(
        PAPER_TITLE,
        "Table 3, Proposition 16",
        "sensitivities of four imputations",
        "mean 2/(n − p); the others by order statistics or eigenvalues",
        (
            Case(
                "paper is wrong",
                "I1 for the mean, with p the rows that have a missing point; the median's entry is loose (I4); the trimmed mean's is negative unless order statistics count from "
                "the largest down, and then holds (I5); nothing found against regression (I6)",
                (
                    *(
                        Fact(
                            f"{name}: what happens over ours",
                            partial(_filled, name=name),
                            1e-6,
                            1 + 1e-9,
                            "ours is a bound",
                        )
                        for name in ("mean", "median", "trimmed mean", "regression")
                    ),
                    *facts("I1", "I4", "I5", "I6"),
                ),
            ),
        ),
        lambda n: f"mean: {n['errata']['I1']['is']:.4g} happens where it has {n['errata']['I1']['said']:.4g}",
        call="prepriv.preprocessing.MeanImputer",
        where="src/prepriv/preprocessing/impute.py",
    ),
)


PARAMETERS = {"quantization": "p", "imputation": "missing of 1000", "pca": "n"}


def _group_off(numbers: Numbers) -> float:
    """Largest relative distance from 0.001 of the δ of a Gaussian of 1 + p (of n for PCA) at the ε of group privacy."""
    off = []
    for panel, name in PARAMETERS.items():
        for row in numbers["figure_2"][panel]:
            mu, e = float(row[name]) + (panel != "pca"), float(row["group"])
            delta = ndtr(mu / 2 - e / mu) - math.exp(e + float(log_ndtr(-mu / 2 - e / mu)))
            off.append(abs(delta / 1e-3 - 1))
    return most(off)


def _panel(numbers: Numbers, panel: str, over: str, *, largest: bool = True) -> float:
    """Largest (or least) of ours over another line of a panel of Figure 2."""
    found = []
    for row in numbers["figure_2"][panel]:
        for line, value in row.items():
            if line.startswith("ours"):
                found.append(value / row["group" if over == "group" else line.replace("ours", over)])
    return most(found) if largest else least(found)


def _price(numbers: Numbers) -> float:
    return float(numbers["figure_3"]["facts"]["total_shift"]["reduced to k, paper's 12.2/gap"])


def _losses(numbers: Numbers, learner: str, method: str) -> list[tuple[float, float]]:
    return [
        (p["excess_loss"], p["excess_loss_error"])
        for p in numbers["figure_3"]["points"]
        if (p["learner"], p["method"]) == (learner, method)
    ]


def _compared(numbers: Numbers) -> list[Mapping[str, Any]]:
    """Points with a guarantee whose reduction is confidential, and those without a reduction."""
    return [
        p
        for p in numbers["figure_3"]["points"]
        if p["guarantee"] != "none" and not p["method"].startswith(("DP-PCA", "Analyze-Gauss"))
    ]


def _beats_nothing(numbers: Numbers) -> float:
    """Largest lead of a confidential step with a guarantee over no pre-processing, in standard errors, whatever learner and ε."""
    leads = []
    points = _compared(numbers)
    base = {(p["learner"], p["epsilon"]): p for p in points if p["method"] == "no pre-processing"}
    for p in points:
        if p["method"] == "no pre-processing":
            continue
        plain = base[p["learner"], p["epsilon"]]
        error = math.hypot(plain["excess_loss_error"], p["excess_loss_error"])
        leads.append((plain["excess_loss"] - p["excess_loss"]) / max(error, 1e-12))
    return most(leads)


def _accuracies(numbers: Numbers, name: str) -> np.ndarray:
    """(ε, clip), of Table 4."""
    rows = numbers["table_4"]
    clips = sorted({r["clip"] for r in rows})
    return np.array([r[name] for r in rows], dtype=float).reshape(-1, len(clips))


FIGURES = (
    Item(
        PAPER_TITLE,
        "Figure 2",
        "Gaussian mechanism, ε = 1, δ = 0.001; (a) quantization, (b) imputation, (c) PCA",
        "curves without numbers, below group privacy",
        (
            Case(
                "paper is wrong",
                "panel (a) rests on false sensitivities (P1 to P3); (b), (c) hold in its setting and ours is lower on the same collection",
                (
                    *(
                        Fact(
                            f"ours over the paper's, panel {panel}, largest",
                            partial(_panel, panel=panel, over="paper"),
                            1e-6,
                            1,
                            BOUND,
                        )
                        for panel in ("imputation", "pca")
                    ),
                    *(
                        Fact(
                            f"ours over group privacy, panel {panel}, largest",
                            partial(_panel, panel=panel, over="group"),
                            1e-9,
                            1 + 1e-9,
                            "no worse than group privacy",
                        )
                        for panel in ("quantization", "imputation", "pca")
                    ),
                    *(
                        Fact(
                            f"ours over the paper's, panel {panel}, least",
                            partial(_panel, panel=panel, over="paper", largest=False),
                            1e-3,
                            1,
                            "one and the same setting",
                        )
                        for panel in ("imputation", "pca")
                    ),
                    Fact(
                        "largest relative distance of δ at the ε of group privacy from 0.001",
                        _group_off,
                        0,
                        1e-3,
                        "the curve of a Gaussian, by its formula",
                    ),
                    *facts("P1", "P3"),
                ),
            ),
        ),
        lambda n: (
            f"p = {n['figure_2']['quantization'][-1]['p']}, η = 0.1: ε = "
            f"{n['figure_2']['quantization'][-1]['ours, η = 0.1']:.4g} (group privacy "
            f"{n['figure_2']['quantization'][-1]['group']:.4g})"
        ),
        call="prepriv.account",
        where=f"{FOLDER}/figures.py",
    ),
    Item(
        PAPER_TITLE,
        "Figure 3",
        "logistic regression on 1000 x 6000 rows of approximate rank 50, reduced to 50 dimensions",
        "pre-processed lowest at every ε, DP-PCA highest (curves without numbers)",
        (
            Case(
                "paper is wrong",
                "its price is vacuous on data made by its recipe (P11, L20), and no price that holds leaves a confidential reduction lowest; "
                "reduction helps our learner if nobody pays for it",
                (
                    Fact(
                        "its price 12.2/gap over moving all rows across the ball",
                        lambda n: _price(n) / (2 * (n["figure_3"]["facts"]["n"] - 1)),
                        1,
                        100,
                        "above 1 it says no more than group privacy",
                    ),
                    Fact(
                        "largest lead of a confidential reduction with a guarantee, in standard errors",
                        _beats_nothing,
                        -1e6,
                        2,
                        "two standard errors of the difference, no wins by chance",
                    ),
                    Fact(
                        "largest standard error of an excess loss over it",
                        lambda n: most(abs(p["excess_loss_error"] / p["excess_loss"]) for p in _compared(n)),
                        0,
                        0.6,
                        "five runs a point tell something",
                    ),
                    Fact(
                        "loss of our learner reduced and not priced over that without reduction, least",
                        lambda n: least(
                            a[0] / b[0]
                            for a, b in zip(
                                _losses(n, "our learner", "reduced to k, not priced"),
                                _losses(n, "our learner", "no pre-processing"),
                                strict=True,
                            )
                        ),
                        0,
                        0.9,
                        "reduction itself helps",
                    ),
                ),
            ),
            Case(
                "setting differs",
                "a confidential reduction with a guarantee has a lower loss than none here",
                (
                    Fact(
                        "largest lead of a confidential reduction with a guarantee, in standard errors",
                        _beats_nothing,
                        2,
                        1e4,
                        "two standard errors of the difference",
                    ),
                ),
            ),
        ),
        lambda n: (
            "price 12.2/gap = "
            f"{_price(n):,.0f} "
            f"rows; largest lead of a confidential reduction {_beats_nothing(n):.1f} standard errors"
        ),
        noisy=True,
        call="prepriv.preprocessing.RankReduction",
        where=f"{FOLDER}/figure_3.py",
    ),
    Item(
        PAPER_TITLE,
        "Table 4",
        "the same, rows clipped at 0.1, 0.7, 0.99 of the largest norm and not; ε = 1, 2, 5",
        "0.84 to 0.90, headed excess empirical loss",
        (
            Case(
                "setting differs",
                "read as accuracies, as its text has them (L21); batch size, noise columns and the scale of the gap are not given",
                (
                    Fact(
                        "largest distance of ours, not priced, from the printed entry",
                        lambda n: most(
                            np.abs(_accuracies(n, "not_priced") - _accuracies(n, "paper")).ravel()
                        ),
                        0,
                        0.15,
                        "they are of one kind; losses here lie between 0.4 and 5",
                    ),
                    Fact(
                        "least rise of ours from ε = 1 to 5",
                        lambda n: least(np.ptp(_accuracies(n, "not_priced")[[0, -1]], axis=0)),
                        0.005,
                        0.5,
                        "accuracies rise with ε, and so do the printed entries",
                    ),
                ),
            ),
        ),
        lambda n: (
            f"accuracy {_accuracies(n, 'not_priced').min():.2f} to {_accuracies(n, 'not_priced').max():.2f}, no guarantee"
        ),
        noisy=True,
        where=f"{FOLDER}/figure_3.py",
    ),
)


def _row(numbers: Numbers, method: str) -> Mapping[str, Any]:
    return next(r for r in numbers["rows"] if r["method"] == method)


def _hard(numbers: Numbers) -> float:
    """Accuracy of the best hard PCA after its test, a refusal counted as 0."""
    return most(r["accuracy"] or 0.0 for r in numbers["rows"] if r["method"].startswith("hard"))


SOFT_PCA = (
    Item(
        PAPER_TITLE,
        "Algorithm 1",
        "PCA after a test of its gap, then DP-GD; the paper trains nothing with it",
        "no number",
        (
            Case(
                "setting differs",
                "rank reduction and soft PCA on images, beside no PCA; after the test of a gap PCA loses most of the accuracy",
                (
                    Fact(
                        "accuracy without PCA",
                        lambda n: _row(n, "no PCA")["accuracy"],
                        0.6,
                        1,
                        "it has learnt something",
                    ),
                    Fact(
                        "best accuracy after a tested gap over that without PCA",
                        lambda n: _hard(n) / _row(n, "no PCA")["accuracy"],
                        0,
                        0.8,
                        "the price of the gap is seen",
                    ),
                    Fact(
                        "least price of a PCA, noise over that without",
                        lambda n: least(r["price"] for r in n["rows"] if r["method"] != "no PCA"),
                        1,
                        1e4,
                        "nothing is free",
                    ),
                ),
            ),
        ),
        lambda n: (
            f"best after a test {100 * _hard(n):.1f} %, no PCA {100 * _row(n, 'no PCA')['accuracy']:.1f} %"
        ),
        noisy=True,
        call="prepriv.preprocessing.RankReduction",
        where=f"{FOLDER}/soft_pca.py",
    ),
)
SGD_ITERATION = (
    Item(
        PAPER_TITLE,
        "Theorem 15, RDP",
        "DP-SGD by iteration, stopped at a step of 1 … n − κ + 1",
        "αε²/2",
        (
            Case(
                "paper is wrong",
                "erratum L22: for κ near n the stop hides nothing; below, it holds, and its own Lemma H gives a sixteenth (L4)",
                (
                    Fact(
                        "attained at κ = n over what is printed, by exact integration",
                        lambda n: n["attained_rdp"] / n["printed_rdp"],
                        1.001,
                        1e3,
                        "αε²n/(64 log n) is attained; above αε²/2 if n > 32 log n",
                    ),
                    Fact(
                        "least κ at which linear losses attain more than is printed",
                        entry("refuted_from"),
                        1,
                        1e9,
                        "by exact integration at each κ",
                    ),
                    Fact(
                        "largest κ at which it is proved here",
                        lambda n: n["proved_to"] - n["refuted_from"],
                        -1e9,
                        -1,
                        "nothing that is proved is refuted",
                    ),
                    Fact(
                        "printed over α·ε²/2",
                        lambda n: n["printed_rdp"] / (n["order"] * n["epsilon"] ** 2 / 2),
                        1 - 1e-9,
                        1 + 1e-9,
                        "the formula",
                    ),
                    Fact(
                        "ours at this κ over what is printed",
                        lambda n: n["ours_rdp"] / n["printed_rdp"],
                        0,
                        1e3,
                        "beside it",
                    ),
                ),
            ),
            Case(
                "same",
                "holds for every κ at this n",
                (
                    Fact(
                        "attained at κ = n over what is printed",
                        lambda n: n["attained_rdp"] / n["printed_rdp"],
                        0,
                        1,
                        "by exact integration",
                    ),
                ),
            ),
        ),
        lambda n: (
            f"κ = {n['differing']:.0f}: {n['ours_rdp']:.4g}; κ = n: {n['attained_rdp']:.4g} attained for {n['printed_rdp']:.4g}; "
            f"false from κ = {n['refuted_from']:.0f}, proved up to {n['proved_to']:.0f}"
        ),
        call="prepriv.guarantees.one_pass_gradient",
        where=f"{FOLDER}/calculators.py",
    ),
    Item(
        PAPER_TITLE,
        "Theorem 15, SRDP",
        "the same, rows that differ consecutive",
        "ατ²µ²n log(n−κ+2) / (2(n−κ+1)L² log n)",
        (
            Case(
                "paper is wrong",
                "ε² is missing (L3) and Lemma 4 is false (L2); ours needs no consecutive rows",
                (
                    Fact(
                        "printed over its own derivation, times ε²/16",
                        lambda n: n["printed_srdp"] / n["proof_srdp"] * n["epsilon"] ** 2 / 16,
                        1 - 1e-6,
                        1 + 1e-6,
                        "½ is printed where ε²/32 is derived",
                    ),
                    Fact(
                        "ours over what is printed",
                        lambda n: n["ours_srdp"] / n["printed_srdp"],
                        1e-12,
                        1,
                        BOUND,
                    ),
                    *facts("L2"),
                ),
            ),
        ),
        lambda n: f"{n['ours_srdp']:.4g} for {n['printed_srdp']:.4g}",
        call="prepriv.guarantees.one_pass_gradient",
        where=f"{FOLDER}/calculators.py",
    ),
)
PTR_UTILITY = (
    Item(
        PAPER_TITLE,
        "Proposition 9, refusal",
        "Algorithm 1",
        "(1/2δ) exp(−(gap − β)nε/12.2)",
        (
            Case(
                "same",
                "holds: its proof has log(1/δ)/ε for log(2/δ)/ε, but 12.2 is loose where 2 is right (P12); ours has both",
                (
                    Fact(
                        "largest proved chance over the printed one, wherever that says anything",
                        entry("refusal_share"),
                        0,
                        1,
                        "200 distances from the bad data",
                    ),
                    Fact(
                        "printed chance over its formula",
                        entry("printed_check"),
                        1 - 1e-9,
                        1 + 1e-9,
                        "the formula",
                    ),
                    *facts("P12"),
                ),
            ),
        ),
        lambda n: f"{n['refused']:.4g}" + ("; above 1: it says nothing here" if n["refused"] >= 1 else ""),
        call="prepriv.payment.Sensitivity",
        where=f"{FOLDER}/calculators.py",
    ),
    Item(
        PAPER_TITLE,
        "Proposition 9, excess risk",
        "Algorithm 1, weights in the unit ball",
        "O(L√(1 + k log 1/δ)/(εn)) + 2LΛ",
        (
            Case(
                "paper is wrong",
                "rows are √Λ from their projections in the mean, not Λ (L18); the constant of O(·) is not given, here 1",
                (
                    Fact(
                        "what its argument gives less what is printed",
                        lambda n: n["risk"] - n["printed_risk"],
                        0,
                        2,
                        "√Λ − Λ, Λ below 1",
                    ),
                    *facts("L18"),
                ),
            ),
        ),
        lambda n: f"{n['risk']:.4g} for {n['printed_risk']:.4g}",
        where=f"{FOLDER}/calculators.py",
    ),
)
