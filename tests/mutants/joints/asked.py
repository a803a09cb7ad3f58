"""Planted bugs: lists of questions, groups of them, and single questions of several sums."""

from __future__ import annotations

from mutant import Mutant

ASK = "tests/description/test_ask.py"
APART = (ASK, "-k", "further_apart")
REPLAYED = (ASK, "-k", "replay")
EXACT = (ASK, "-k", "without_noise")
SINGLE = "tests/description/test_questions.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a record that changes its group moves sums as one that stays",
        "disjoint groups under replace-one: two of them move",
        "description/answers.py",
        "        return IN_GROUPS if by is not None else (PRESENT, SQUARE)\n",
        "        return PRESENT, SQUARE\n",
        REPLAYED,
    ),
    Mutant(
        "a pair weighs in groups what it weighs alone",
        "disjoint groups under replace-one: two of them move",
        "description/answers.py",
        "        return PAIR if by is None and self.replaced else PAIR_IN_GROUPS\n",
        "        return PAIR if self.replaced else PAIR_IN_GROUPS\n",
        REPLAYED,
    ),
    Mutant(
        "two pairs are as far apart as two cells",
        "a sensitivity that forgets the product",
        "description/estimates.py",
        "PAIR_SHIFT = math.sqrt(8.0)",
        "PAIR_SHIFT = 2.0",
        (ASK, "-k", "further_apart or replay"),
    ),
    Mutant(
        "a record more moves sums less than it weighs",
        "a sensitivity below the norm of a row",
        "description/estimates.py",
        "ADDED_SHIFT = (0.7, 1.0), math.sqrt(1.74) * UP",
        "ADDED_SHIFT = (0.7, 1.0), 1.0",
        APART,
    ),
    Mutant(
        "choices in all groups cost what one does, although a record can leave one for another",
        "parallel composition under replace-one",
        "description/answers.py",
        "        return 2 if by is not None and self.replaced else 1\n",
        "        return 1\n",
        (ASK, "-k", "claim_is_that"),
    ),
    Mutant(
        "what several choices cost is that of one",
        "a mechanism that states less than it takes",
        "mechanisms/in_groups.py",
        "        return Cost(self.moved * self.mechanism.cost.mu_squared)\n",
        "        return Cost(self.mechanism.cost.mu_squared)\n",
        (ASK, "-k", "claim_is_that"),
    ),
    Mutant(
        "a gap counts in the first bin of its group",
        "gaps that are read as numbers",
        "description/answers.py",
        "        at = np.where(there, groups.at * bins + at, -1)\n",
        "        at = groups.at * bins + at\n",
        EXACT,
    ),
    Mutant(
        "a cross-tabulation is read across",
        "one table for two questions: the axes of the wrong one",
        "description/answers.py",
        "            turned = found.transpose([piece[1].index(name) for name in in_order])\n",
        "            turned = found\n",
        EXACT,
    ),
    Mutant(
        "each way of turning a table is a release of its own",
        "shared parts paid for twice",
        "description/asked.py",
        "tuple(sorted(in_order))",
        "tuple(in_order)",
        (ASK, "-k", "paid_for_once"),
    ),
    Mutant(
        "the plan of questions does not say which",
        "a hash that does not hold what was decided",
        "description/asked.py",
        "declared=[domain.to_json(), [str(q) for q in asked], [q.bins for q in asked]]",
        "declared=[domain.to_json()]",
        (ASK, "-k", "other_questions"),
    ),
    Mutant(
        "sums over described groups have the noise of one of them",
        "a sum over groups with the noise of one of them",
        "description/grouped.py",
        "    grown = math.sqrt(rows.size)\n",
        "    grown = 1.0\n",
        ("tests/description/test_describe_groups.py", "-k", "have_their_noise"),
    ),
    Mutant(
        "a difference of estimates is as uncertain as one of them",
        "an interval that covers less often than it says",
        "description/estimates.py",
        "    low = math.hypot(one.value - one.low, two.high - two.value)\n",
        "    low = one.value - one.low\n",
        ("tests/description/test_describe_groups.py", "-k", "as_wide_as_both"),
    ),
    Mutant(
        "a sum is as far apart as its steps are wide",
        "a sensitivity below the distance of the bounds",
        "description/sums.py",
        "max(largest, bounds.high - bounds.low)",
        "largest / 2",
        (SINGLE, "-k", "replay and sum"),
    ),
    Mutant(
        "a variance counts its sum alone",
        "several sums at the price of one",
        "description/sums.py",
        "of_squares * (u * u - 0.5) * there], 2)",
        "of_squares * (u * u - 0.5) * there], 1)",
        (SINGLE, "-k", "replay and variance"),
    ),
    Mutant(
        "a covariance counts one column alone",
        "several sums at the price of one",
        "description/sums.py",
        "[there * 1.0, u, v, u * v], 4)",
        "[there * 1.0, u, v, u * v], 2)",
        (SINGLE, "-k", "replay and covariance"),
    ),
    Mutant(
        "a replaced record changes one count of a cross-tabulation",
        "add-or-remove-one noise under replace-one",
        "description/sums.py",
        "    moves = rows_changed(adjacency)\n",
        "    moves = 1\n",
        (SINGLE, "-k", "replay and crosstab"),
    ),
)
