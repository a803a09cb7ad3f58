"""Planted bugs: choices among candidates, and what is said about them before the charge."""

from __future__ import annotations

from mutant import Mutant

APART = "tests/evaluation/test_how_far_apart.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "models of a number are compared by whole errors",
        "a choice that is a coin",
        "evaluation/choose.py",
        "_cut(one - least, DIFFERENCE_SHARE)",
        "_cut(one, 1.0)",
        (APART, "-k", "all_candidates_miss or better_of_two"),
    ),
    Mutant(
        "a difference of errors is not cut",
        "sensitivity of another score",
        "evaluation/choose.py",
        "    return np.minimum(errors / largest, 1.0)",
        "    return errors / largest",
        (APART, "-k", "further_than"),
    ),
    Mutant(
        "an error is compared with the least of all rows",
        "a score of one row that knows the others",
        "evaluation/choose.py",
        "        least = np.minimum.reduce(errors)\n",
        "        least = np.full_like(errors[0], np.min(errors))\n",
        (APART, "-k", "all_candidates_miss"),
    ),
    Mutant(
        "the noise of a choice is taken for that of two candidates",
        "a false sentence before the charge",
        "evaluation/how_far_apart.py",
        "math.log(odds * others)",
        "math.log(odds)",
        (APART, "-k", "95_of_100"),
    ),
    Mutant(
        "a replaced record moves one score alone, in words",
        "wrong adjacency factor",
        "evaluation/how_far_apart.py",
        "        return rows_changed(chosen.domain.adjacency) * math.log(",
        "        return math.log(",
        (APART, "-k", "95_of_100"),
    ),
    Mutant(
        "the chance of random trials is 3 % too large in words",
        "a false sentence before the charge",
        "evaluation/how_far_apart.py",
        "    return chance * (1 + stop * (candidates - 1))\n",
        "    return min(chance * (1 + stop * (candidates - 1)) * 1.03, 1.0)\n",
        (APART, "-k", "random_trials"),
    ),
    Mutant(
        "a distance that is large is not warned of",
        "advice after the charge",
        "evaluation/choose.py",
        "    if far := far_apart_in_words(expected, n, holdout):\n",
        "    if far := '':\n",
        (APART, "-k", "before_the_charge"),
    ),
    Mutant(
        "the records that compare are the whole table, in words",
        "a false sentence before the charge",
        "evaluation/how_far_apart.py",
        "    enough = float(up(apart / (_FAR * holdout), 2))",
        "    enough = float(up(apart / _FAR, 2))",
        (APART, "-k", "before_the_charge"),
    ),
    Mutant(
        "the ε of a candidate is named as that of the choice",
        "advice that leads nowhere",
        "release/advice.py",
        "    enough = price_of(larger_epsilon(HELD / plan.signal, plan.epsilon, plan.delta))",
        "    enough = larger_epsilon(HELD / plan.signal, plan.epsilon, plan.delta)",
        (APART, "-k", "whole_choice"),
    ),
    Mutant(
        "a report names an ε of the winner's part",
        "advice that leads nowhere",
        "release/summary.py",
        "    if report.model is None or report.model.choice is None:\n        return below",
        "    if True:\n        return below",
        (APART, "-k", "whole_choice"),
    ),
    Mutant(
        "pipelines that fill no gap are refused beside one that takes none",
        "a refusal of what means the same",
        "evaluation/choose.py",
        "with_gaps_alike(candidates_of(candidates, epsilon=epsilon, delta=delta, ledger=ledger))",
        "candidates_of(candidates, epsilon=epsilon, delta=delta, ledger=ledger)",
        (APART, "-k", "fill_no_gap"),
    ),
    Mutant(
        "an imputer is left out to compare pipelines",
        "a step that is not run",
        "private_pipeline.py",
        "    if unfilled and domain != declared:\n",
        "    if domain != declared:\n",
        (APART, "-k", "fill_no_gap"),
    ),
    Mutant(
        "the clip of the recipe evens the slopes of a quantile",
        "a sentence that misleads",
        "evaluation/candidates.py",
        "clip_norm=max(learner.clip_norm, enough),",
        "clip_norm=learner.clip_norm,",
        ("tests/evaluation/test_how_far_apart.py", "-k", "trained_at_their_level"),
    ),
    Mutant(
        "quantiles are compared by absolute errors",
        "a choice of the worse one",
        "evaluation/choose.py",
        "    if level in (None, 0.5):\n        return target_errors",
        "    if True:\n        return target_errors",
        ("tests/evaluation/test_how_far_apart.py", "-k", "its_own_and_no_larger"),
    ),
)
