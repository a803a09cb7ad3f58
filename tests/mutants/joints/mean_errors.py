"""Planted bugs: the mean error, released once after the steps of a descent (docs/proofs/mean_error.md)."""

from __future__ import annotations

from mutant import Mutant

TEST = "tests/learners/test_mean_error.py"
MOVES = (TEST, "-k", "moves_by_what_its_noise_is_for")
REPLAY = ("tests/audit/test_replay.py", "-k", "nothing_but_mechanism and mean_error")

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the mean error has noise for one error where two differ",
        "wrong adjacency factor",
        "learners/mean_error.py",
        "    return width if rows_changed(adjacency) > 1 else min(LARGEST_ERROR, width - OVERLAP)\n",
        "    return width / 2\n",
        MOVES,
    ),
    Mutant(
        "errors are not cut before they are added up",
        "clipping computed, the unclipped used",
        "learners/mean_error.py",
        "        np.clip(error, self.low, self.high, out=error)\n",
        "",
        MOVES,
    ),
    Mutant(
        "the mean error is drawn with the noise of a step",
        "noise that is smaller than planned",
        "learners/gradient_descent.py",
        "noisy = run.total(self._of_errors, multiplier, total,",
        "noisy = run.total(self._of_errors, run.noise_multiplier, total,",
        (TEST, "-k", "account_is_that_of_what_is_drawn"),
    ),
    Mutant(
        "the intercept moves by the exact mean error",
        "a statistic of the records that no mechanism released",
        "learners/gradient_descent.py",
        "        error = float(noisy[0, 0]) / (setting.n * factor * self.bias)\n",
        "        error = float(total[0, 0]) * 2.0**rows.grid.exponent / (setting.n * factor * self.bias)\n",
        REPLAY,
    ),
    Mutant(
        "the mean error is divided by the rows that are there",
        "n leak: Opacus, Synthcity",
        "learners/gradient_descent.py",
        "        error = float(noisy[0, 0]) / (setting.n * factor * self.bias)\n",
        "        error = float(noisy[0, 0]) / (rows.shape[0] * factor * self.bias)\n",
        REPLAY,
    ),
    Mutant(
        "a unit of several rows counts as one error",
        "wrong unit of privacy",
        "learners/gradient_descent.py",
        "        if not setting.incoming.is_zero or setting.rows > 1:\n",
        "        if not setting.incoming.is_zero:\n",
        (TEST, "-k", "has_no_proof"),
    ),
)
