"""Planted bugs: groups of rows and how they differ."""

from __future__ import annotations

from mutant import Mutant

GROUPS = "tests/evaluation/test_groups.py"
FARTHER = (GROUPS, "-k", "further_than_declared")
EXACT = (GROUPS, "-k", "that_of_its_rows")

EXPECTED = "tests/evaluation/test_expected.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "what is called enough forgets that noise makes a denominator smaller",
        "a number before the charge that holds in half of the runs",
        "evaluation/expected.py",
        "        return float(ndtri(1 - _REFUSED / len(self._made(self.best, 0.0).figures)))",
        "        return 0.0",
        (EXPECTED,),
    ),
    Mutant(
        "half of the largest squared error is taken for the target's own",
        "a number before the charge that assumes what is private",
        "evaluation/expected.py",
        "self._pair(condition**2 + of_mean - margin * own, margin)",
        "self._pair(0.5, margin)",
        (EXPECTED,),
    ),
    Mutant(
        "the rest of a share counts in every group",
        "disjoint groups that are not: a row is in several",
        "mechanisms/split.py",
        "    total = np.stack([first, (rows << COUNT_BITS) - first,",
        "    rows = np.full(groups, rows.sum())\n    total = np.stack([first, (rows << COUNT_BITS) - first,",
        FARTHER,
    ),
    Mutant(
        "a row without a label counts as wrong, too",
        "a split whose third count is beside the others",
        "mechanisms/split.py",
        "for who in (has, ~has)",
        "for who in (inside, ~has)",
        FARTHER,
    ),
    Mutant(
        "a row without a label is one that is labelled wrong",
        "figures of rows that have no answer",
        "evaluation/cells.py",
        '"accuracy": np.where(known, right.astype(np.float64), np.nan),',
        '"accuracy": right.astype(np.float64),',
        ("tests/evaluation/test_rows_without_a_label.py",),
    ),
    Mutant(
        "rows that were declared and are not there have no label",
        "a declared number where the true one is private",
        "evaluation/figures.py",
        "        if self.known:\n            return self.plan.n - self.labelled[0]",
        "        if True:\n            return self.plan.n - self.labelled[0]",
        ("tests/evaluation/test_rows_without_a_label.py",),
    ),
    Mutant(
        "a row without a number is off by the largest error",
        "figures of rows that have no answer",
        "evaluation/cells.py",
        '"squared_error": np.where(has, cut * cut, np.nan),',
        '"squared_error": cut * cut,',
        ("tests/evaluation/test_rows_without_a_label.py",),
    ),
    Mutant(
        "a row in no cell of its group is in the last one of the group before",
        "groups as one histogram: cell -1 is somebody else's",
        "evaluation/evaluate.py",
        "np.where(place < 0, -1, of[GROUP_CELLS].astype(np.int64) * cells + place)",
        "of[GROUP_CELLS].astype(np.int64) * cells + place",
        (GROUPS, "-k", "undeclared_label"),
    ),
    Mutant(
        "each group is counted as a release of its own",
        "a row's group named by the release that it moves",
        "evaluation/evaluation_plan.py",
        "        return math.sqrt(len(self.releases)) / budget(",
        "        return math.sqrt(len(self.releases) * max(1, len(self.groups))) / budget(",
        (GROUPS, "-k", "cost_what_one"),
    ),
    Mutant(
        "figures of all rows have the noise of one group",
        "a sum over groups with the noise of one of them",
        "evaluation/result.py",
        "plan.noise * math.sqrt(max(1, groups))",
        "plan.noise",
        (GROUPS, "-k", "sums_over_groups"),
    ),
    Mutant(
        "a difference is as uncertain as one of its figures",
        "an interval that covers less often than it says",
        "evaluation/intervals.py",
        "    low = min(math.hypot(max(a - below, of_one), max(over - b, of_two)), a - below + over - b)\n",
        "    low = a - below\n",
        (GROUPS, "-k", "as_wide_as_both"),
    ),
    Mutant(
        "the public number of all rows is taken for that of a group",
        "a denominator that belongs to others",
        "evaluation/groups.py",
        "Group(plan, own, plan.noise, False, name,",
        "Group(plan, own, plan.noise, True, name,",
        EXACT,
    ),
    Mutant(
        "the plan says nothing of its groups",
        "a hash that does not hold what was decided",
        "evaluation/evaluation_plan.py",
        'groups: dict[str, Any] = {} if self.by is None else {"by": self.by}',
        "groups: dict[str, Any] = {}",
        (GROUPS, "-k", "cost_what_one"),
    ),
)
