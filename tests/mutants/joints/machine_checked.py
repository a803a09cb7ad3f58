"""Planted bugs in functions beside which stand the results that Coq computed."""

from __future__ import annotations

from mutant import Mutant

TEST = "tests/proofs/test_machine_checked.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a window of ranks around the median that is one too narrow",
        "our own: the distance says one record too many",
        "preprocessing/impute_median.py",
        "np.arange(h, h + k + 2)",
        "np.arange(h, h + k + 1)",
        (TEST, "-k", "median_its_premise"),
    ),
    Mutant(
        "trimming that looks one rank too far in",
        "our own: the span of what is left, and not of what is cut at",
        "preprocessing/impute_trimmed_mean.py",
        "cells[np.clip(last - m + k, 0, last)]",
        "cells[np.clip(last - m - 1 + k, 0, last)]",
        (TEST, "-k", "trimmed_span"),
    ),
    Mutant(
        "good clusters that look no further than two eta",
        "Provable Privacy with Non-Private Pre-Processing, Proposition 3: clusters that depend on a record further away",
        "preprocessing/_neighbours.py",
        "squared_steps(grid, eta, 3)",
        "squared_steps(grid, eta, 2)",
        (TEST, "-k", "good_centres"),
    ),
    Mutant(
        "a charge whose delta is not compared",
        "our own: the cap of delta holds nothing back",
        "ledger/currency.py",
        "self.main <= cap.main and self.delta <= cap.delta",
        "self.main <= cap.main",
        (TEST, "-k", "charges_granted"),
    ),
    Mutant(
        "a fade that starts one cell too late",
        "our own: a filling that moves further than its price",
        "preprocessing/impute_caps.py",
        "(self.full + self.fade - missing) / fading",
        "(self.full + self.fade + 1 - missing) / fading",
        (TEST, "-k", "weight_of_a_fade"),
    ),
    Mutant(
        "a score that counts the values above a point alone",
        "our own: a quantile whose best point is beyond equal values",
        "mechanisms/quantile.py",
        "-np.maximum(0, np.maximum(next_ - wanted, wanted - here))",
        "-np.maximum(0, np.maximum(next_ - wanted, wanted - next_))",
        (TEST, "-k", "scores_of_a_private"),
    ),
)
