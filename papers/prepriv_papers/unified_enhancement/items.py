"""What decides about the tables and figures of Unified Enhancement of Privacy Bounds (`prepriv reproduce mixture-tables`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from prepriv_papers.verdicts import Case, Fact, Item, entry

EPSILON0, USERS = 4.444, 10_000
TABLE_1 = {0.5: "3e-6", 0.6: "1e-7", 0.7: "4e-9", 0.8: "9e-11", 0.9: "2e-12", 1.0: "2e-14"}
TABLE_1_EARLIER = {0.7: "0.1038", 0.9: "0.0018", 1.0: "8e-5"}  # the other cells are not legible in our copy
TABLE_2 = {
    5e-5: ("0.4", "1.014", "0.369"),
    3e-6: ("0.5", "1.085", "0.470"),
    1e-7: ("0.6", "ε0", "0.575"),
    4e-9: ("0.7", "ε0", "0.664"),
    9e-11: ("0.8", "ε0", "0.758"),
}
FIGURE_3 = {"Lemma 6.3": 1.5e-6, "Lemma 3.1": 0.0020}  # w = 1/3, ε = 0.5; the paper does not say n
NEAR = 94  # the n at which Lemma 6.3 gives the first number of Figure 3
PAPER = "Unified Enhancement of Privacy Bounds for Mixture Mechanisms via f-Differential Privacy"
SETTING = f"ε0 = {EPSILON0}, n = {USERS}"
SHUFFLE = "prepriv.guarantees.shuffle"


def rounds_to(value: float, printed: str) -> bool:
    """Whether a number is within half a unit of the last digit that is printed.

    >>> rounds_to(3.03e-6, "3e-6"), rounds_to(0.1036, "0.1038"), rounds_to(float("nan"), "1")
    (True, False, False)
    """
    digits, _, power = printed.partition("e")
    unit = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return abs(value - float(printed)) <= 0.5 * unit * (1 + 1e-9)


def most(values: Iterable[float]) -> float:
    """The largest; nan if one of them is."""
    return float(np.max(np.asarray(list(values), dtype=np.float64)))


def least(values: Iterable[float]) -> float:
    """The smallest; nan if one of them is."""
    return float(np.min(np.asarray(list(values), dtype=np.float64)))


def _matches(rows: Sequence[Mapping[str, float]], ours: str, key: str, printed: Mapping[float, str]) -> float:
    """Rows whose number rounds to what is printed at its key."""
    return sum(rounds_to(float(r[ours]), printed.get(float(r[key]), "nan")) for r in rows)


def _between(says: str, name: str, low: float, high: float, because: str) -> Fact:
    return Fact(says, entry(name), low, high, because)


def _listed(rows: Sequence[Mapping[str, float]], name: str, form: str) -> str:
    return ", ".join(f"{r[name]:{form}}".replace("e-0", "e-") for r in rows)


ITEMS = (
    Item(
        PAPER,
        "Table 1",
        f"δ at ε = 0.5, ..., 1; {SETTING}",
        ", ".join(TABLE_1.values()),
        (
            Case(
                "same",
                "Theorem 4.2 with the slope −1/t, rounded; Corollary 4.3 as printed gives less (erratum E1), exact is below",
                (
                    Fact(
                        "cells of six that round to the printed digit",
                        lambda n: _matches(n["table_1"], "theorem_4_2", "epsilon", TABLE_1),
                        6,
                        6,
                        "the table has one digit",
                    ),
                    Fact(
                        "largest exact δ over Theorem 4.2's",
                        lambda n: most(r["exact"] / r["theorem_4_2"] for r in n["table_1"]),
                        0.5,
                        1,
                        "a bound is no smaller than what it bounds",
                    ),
                ),
            ),
        ),
        lambda n: (
            f"{_listed(n['table_1'], 'theorem_4_2', '.0e')}; exact {_listed(n['table_1'], 'exact', '.2g')}"
        ),
        call=SHUFFLE,
        where="src/prepriv/guarantees/shuffling/shuffle.py",
    ),
    Item(
        PAPER,
        "Table 1, δ of [23]",
        f"three legible cells, ε = 0.7, 0.9, 1; {SETTING}",
        ", ".join(TABLE_1_EARLIER.values()),
        (
            Case(
                "same",
                "by the closed form of [23] at ε0 = 4.44447, the limit that the paper rounds to 4.444; at 4.444 itself the first cell is 0.1036",
                (
                    Fact(
                        "cells of three that round to the printed digits",
                        lambda n: _matches(n["table_1"], "closed_form_at_limit", "epsilon", TABLE_1_EARLIER),
                        3,
                        3,
                        "rounding",
                    ),
                    Fact(
                        "the first cell at 4.444",
                        lambda n: n["table_1"][2]["closed_form"],
                        0.10355,
                        0.10365,
                        "0.1036 and not 0.1038",
                    ),
                ),
            ),
        ),
        lambda n: ", ".join(f"{n['table_1'][i]['closed_form_at_limit']:.4g}" for i in (2, 4, 5)),
        call='prepriv.guarantees.shuffle(..., method="fmt")',
        where="src/prepriv/guarantees/shuffling/shuffle.py",
    ),
    Item(
        PAPER,
        "Table 2",
        f"ε at δ = 5e-5, ..., 9e-11; {SETTING}",
        ", ".join(row[0] for row in TABLE_2.values()),
        (
            Case(
                "same",
                "Theorem 4.2, rounded",
                (
                    Fact(
                        "cells of five that round to the printed digit",
                        lambda n: _matches(
                            n["table_2"], "theorem_4_2", "delta", {d: r[0] for d, r in TABLE_2.items()}
                        ),
                        5,
                        5,
                        "the table has one digit",
                    ),
                    Fact(
                        "largest exact ε over Theorem 4.2's",
                        lambda n: most(r["exact"] / r["theorem_4_2"] for r in n["table_2"]),
                        0.9,
                        1,
                        "a bound is no smaller than what it bounds",
                    ),
                ),
            ),
        ),
        lambda n: (
            f"{_listed(n['table_2'], 'theorem_4_2', '.3f')}; exact {_listed(n['table_2'], 'exact', '.3f')}"
        ),
        call=SHUFFLE,
        where="src/prepriv/guarantees/shuffling/shuffle.py",
    ),
    Item(
        PAPER,
        "Table 2, numerical bounds of [23]",
        "the same",
        "upper 1.014, 1.085, ε0; lower 0.369, ..., 0.758",
        (
            Case(
                "paper is wrong",
                "erratum E6: the row named numerical is the closed form of [23], Theorem 3.2; the lower row is below exact, as it should",
                (
                    Fact(
                        "printed upper cells of two that are the closed form",
                        lambda n: _matches(
                            n["table_2"], "closed_form", "delta", {5e-5: "1.014", 3e-6: "1.085"}
                        ),
                        2,
                        2,
                        "three decimals are printed",
                    ),
                    Fact(
                        "least exact ε less the printed lower one",
                        lambda n: least(r["exact"] - float(TABLE_2[r["delta"]][2]) for r in n["table_2"]),
                        0,
                        0.04,
                        "a lower bound",
                    ),
                ),
            ),
        ),
        lambda n: (
            "closed form "
            + ", ".join(f"{r['closed_form']:.3f}" for r in n["table_2"][:2])
            + f"; exact {_listed(n['table_2'], 'exact', '.3f')}"
        ),
        where="src/prepriv/guarantees/shuffling/shuffle.py",
    ),
    Item(
        PAPER,
        "Figure 1",
        "n = 10000, δ = n^-1.5, three panels",
        "curves; f-DP above the closed form of [23]",
        (
            Case(
                "setting differs",
                "its text names no ε0 of a panel but the limit 4.444 and 'greater'; ours are 2, 4.444 and 6; the order is the paper's",
                (
                    _between(
                        "least lead of Theorem 4.2 over the closed form, all α and panels",
                        "shown.figure_1_least",
                        -1e-9,
                        1,
                        "the curve of f-DP is never below",
                    ),
                    _between(
                        "its lead at α = 0.1, ε0 = 4.444",
                        "shown.figure_1_lead",
                        0.1,
                        1,
                        "a distance that is seen in a picture",
                    ),
                ),
            ),
        ),
        lambda n: (
            f"β(0.1) at ε0 = {EPSILON0}: {n['shown']['figure_1_f_dp']:.3f}, {n['shown']['figure_1_lead']:.3f} higher"
        ),
        call=SHUFFLE,
        where="papers/prepriv_papers/unified_enhancement/tables.py",
    ),
    Item(
        PAPER,
        "Figure 2",
        "one clipped step, a = 1, several c",
        "curves; a random start above c-GDP, more so for large c",
        (
            Case(
                "same",
                "in order and shape; its c are not in the text, ours are 0.5, 1 and 2",
                (
                    _between(
                        "least lead over c-GDP, all α and c",
                        "shown.figure_2_least",
                        -1e-9,
                        1,
                        "never below",
                    ),
                    Fact(
                        "least growth of the lead at α = 0.1 from c to 2c",
                        lambda n: least(np.diff(n["shown"]["figure_2_leads"])),
                        1e-3,
                        1,
                        "the lead grows with c",
                    ),
                ),
            ),
        ),
        lambda n: (
            "lead at α = 0.1, c = 0.5, 1, 2: " + ", ".join(f"{v:.3f}" for v in n["shown"]["figure_2_leads"])
        ),
        call="prepriv.guarantees.random_initialization",
        where="src/prepriv/guarantees/mixtures/initialization.py",
    ),
    Item(
        PAPER,
        "Figure 3",
        "w = 1/3, ε = 0.5, n not given",
        "δ = 1.5e-6 (Lemma 6.3) and 0.0020 (Lemma 3.1)",
        (
            Case(
                "not reproducible",
                f"erratum E12: no n gives both; drawn for n = {NEAR}, the corner (a) and the whole (b)",
                (
                    _between(
                        "the larger relative distance from both numbers, least over n = 60 … 160, beyond which both are further off",
                        "shown.figure_3_both",
                        0.2,
                        10,
                        "two digits are printed, so 0.05 would do",
                    ),
                    _between(
                        f"Lemma 6.3 at n = {NEAR}",
                        "shown.figure_3_advanced",
                        1.45e-6,
                        1.55e-6,
                        "the first number is met",
                    ),
                    _between(
                        f"Lemma 3.1 at n = {NEAR}",
                        "shown.figure_3_joint",
                        0.0025,
                        0.004,
                        "the second is not",
                    ),
                ),
            ),
        ),
        lambda n: f"n = {NEAR}: {n['shown']['figure_3_advanced']:.2g} and {n['shown']['figure_3_joint']:.2g}",
        call="prepriv.guarantees.advanced_mixture",
        where="src/prepriv/guarantees/mixtures/advanced.py",
    ),
)
