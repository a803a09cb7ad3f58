"""Planted bugs: accounts that a second accountant contradicts."""

from __future__ import annotations

from mutant import Mutant

ROWS = ("tests/guarantees/test_several_rows.py",)
SECOND = ("tests/release/test_second_account.py",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "what a cap allows about several rows is what it allows about one",
        "an officer's: all uses were said to allow less than one model does",
        "guarantees/several_rows.py",
        "Guarantee(of_several_rows(curve, rows), ",
        "Guarantee(of_several_rows(curve, 1), ",
        ("tests/description/test_promised.py", "-k", "several_rows"),
    ),
    Mutant(
        "Poisson batches are accounted for at half their rate",
        "an account that is checked by its own code alone",
        "learners/stochastic.py",
        "        rate = poisson_rate(self._rate(setting.n))\n        moved = self.moved_rows(setting)\n",
        "        rate = poisson_rate(self._rate(setting.n)) / 2\n        moved = self.moved_rows(setting)\n",
        (*SECOND, "-k", "share_of_the_random"),
    ),
    Mutant(
        "one step less than runs is composed",
        "an account that is checked by its own code alone",
        "learners/accounts.py",
        "        return ((PoissonReplace(shift, rate), steps),)\n",
        "        return ((PoissonReplace(shift, rate), steps - steps // 4),)\n",
        (*SECOND, "-k", "poisson_batches_cost"),
    ),
    Mutant(
        "a claim below the second account passes",
        "a check that cannot fail",
        "guarantees/second_account.py",
        "        return epsilon < self.low\n",
        "        return epsilon < 0.0 * self.low\n",
        (*SECOND, "-k", "below_the_other or share"),
    ),
    Mutant(
        "the second accountant is told that it runs on fewer rows than it does",
        "two accounts that are wrong alike",
        "learners/stochastic.py",
        "        rate = min(1.0, self.batch_size / setting.n)\n        return (\n            Event(",
        "        rate = min(1.0, self.batch_size / setting.n / 2)\n        return (\n            Event(",
        (*SECOND, "-k", "events_are_those or share_of_the_random"),
    ),
    Mutant(
        "what a draft of the schema released is left out of the second account",
        "a claim on a part of what left",
        "release/both_accounts.py",
        "    return tuple((*part, *drafts) for part in parts)\n",
        "    return parts\n",
        (*SECOND, "-k", "draft_of_the_schema"),
    ),
    Mutant(
        "what may go wrong with one row is not multiplied by what the next one allows",
        "a claim about single rows that is copied as one per person",
        "guarantees/several_rows.py",
        "(d + np.exp(t) * c)",
        "(d + c)",
        (*ROWS, "-k", "closed_form"),
    ),
    Mutant(
        "lines of several rows are taken below their envelope",
        "the chances of several rows on another processor",
        "guarantees/several_rows.py",
        "deltas = lines.delta(slopes)",
        "deltas = lines.delta(slopes) * (1.0 - 1e-3)",
        (*ROWS, "-k", "closed_form"),
    ),
    Mutant(
        "a person with several rows pays for one less",
        "a claim about single rows that is copied as one per person",
        "guarantees/several_rows.py",
        "for times in range(2, rows + 1):",
        "for times in range(2, rows):",
        (*ROWS, "-k", "closed_form"),
    ),
)
