"""Planted bugs: the mean row, released once before the steps of a descent (docs/proofs/gradient_descent.md)."""

from __future__ import annotations

from mutant import Mutant

TEST = "tests/learners/test_row_mean.py"
DRAWN = (TEST, "-k", "account_is_that_of_what_is_drawn")
REPLAY = ("tests/audit/test_replay.py", "-k", "nothing_but_mechanism and flat")

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the sum of rows has noise for half of what it moves by",
        "wrong adjacency factor",
        "learners/learner.py",
        "math.ceil(float(self.reach(setting)) * self.unit(setting) * 2.0**-grid.exponent * FAR_UP)",
        "math.ceil(float(self.reach(setting)) * self.unit(setting) / 2 * 2.0**-grid.exponent * FAR_UP)",
        (TEST, "-k", "moves_by_what_its_noise_is_for"),
    ),
    Mutant(
        "the sum of rows is not in the claim",
        "pre-processing that is not paid for",
        "plans/claim.py",
        "        events += learner.once(multiplier, setting)\n",
        "",
        DRAWN,
    ),
    Mutant(
        "the sum of rows is in no account of batches",
        "pre-processing that is not paid for",
        "learners/stochastic.py",
        "        return (*self._parts(noise_multiplier, setting, delta), *self.once_parts(noise_multiplier, setting))\n",
        "        return self._parts(noise_multiplier, setting, delta)\n",
        (TEST, "-k", "every_account"),
    ),
    Mutant(
        "the sum of rows is drawn with the noise of a step",
        "noise that is smaller than planned",
        "learners/learner.py",
        "noisy = run.total(name, multiplier, total,",
        "noisy = run.total(name, run.noise_multiplier, total,",
        DRAWN,
    ),
    Mutant(
        "gradients are shortened along the mean row without its noise",
        "a statistic of the records that no mechanism released",
        "learners/learner.py",
        "        return flattener(noisy / (setting.n * factor))\n",
        "        return flattener(total * 2.0**grid.exponent / (setting.n * factor))\n",
        REPLAY,
    ),
    Mutant(
        "the sum of rows forgets the rows that moved",
        "pre-processing that is not paid for",
        "learners/learner.py",
        "        return max(mu, self._row_factor(setting)) if self.flatten else mu\n",
        "        return mu\n",
        (TEST, "-k", "rows_that_moved"),
    ),
    Mutant(
        "the mean row is divided by the rows that are there",
        "n leak: Opacus, Synthcity",
        "learners/learner.py",
        "        return flattener(noisy / (setting.n * factor))\n",
        "        return flattener(noisy / (rows.shape[0] * factor))\n",
        REPLAY,
    ),
    Mutant(
        "the noise of a weight is that of a rate that does not rise",
        "noise that is smaller than planned",
        "learners/learner.py",
        "                new[step] -= rate\n",
        "                new[step] -= self.learning_rate\n",
        ("tests/plans/test_shrink.py", "-k", "response_of_descent"),
    ),
)
