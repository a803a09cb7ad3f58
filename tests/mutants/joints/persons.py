"""Planted bugs: drafts of persons with several rows, and what a draft says before it reads."""

from __future__ import annotations

from mutant import Mutant

NEEDS = "tests/description/test_draft_needs.py"
DRAFT = "tests/description/test_private_schema.py"
PERSONS = "tests/description/test_persons.py"
NUMBERS = "tests/description/test_numeric_labels.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "zeros of a label make a range of the smallest power of two beside them",
        "bounds of a target that no number has",
        "description/draft_bounds.py",
        "    others[[ZERO, *used]] = 0.0\n",
        "",
        (NUMBERS, "-k", "leaves_zero_out"),
    ),
    Mutant(
        "the common amounts of a numeric label are its classes, whatever the others are",
        "our own: classes that most records do not have",
        "description/draft.py",
        "mostly = self.named[label] + 2.0 * noise >= _MOSTLY_NAMED * there",
        "mostly = True",
        (NUMBERS, "-k", "every_budget"),
    ),
    Mutant(
        "a class is said to be seen at the threshold itself",
        "a promise that holds every second time",
        "description/draft_needs.py",
        "math.ceil(_threshold(look, name) + _MOSTLY * _deviation(look, name))",
        "math.ceil(_threshold(look, name))",
        (NEEDS, "-k", "95_drafts"),
    ),
    Mutant(
        "a draft that cannot show two classes is charged",
        "too few records, told after the charge",
        "description/draft_plan.py",
        "    if why := hopeless(look, lambda larger: _priced(n, unpriced, larger, delta, adjacency)):\n",
        "    if why := '':\n",
        (NEEDS, "-k", "before_a_charge"),
    ),
    Mutant(
        "an epsilon that is named of a refused draft, and is not enough",
        "a cure that does not cure",
        "description/draft_needs.py",
        "_to_see(with_epsilon(epsilon(times)), name) <= look.n / 2",
        "_to_see(with_epsilon(epsilon(times)), name) <= look.n",
        (NEEDS, "-k", "epsilon_that_a_refusal_names"),
    ),
    Mutant(
        "drafts that may well be seen are refused",
        "a refusal of drafts that mostly show two classes",
        "description/draft_needs.py",
        "    if look.n / 2 >= ",
        "    if look.n / 4 >= ",
        (NEEDS, "-k", "before_a_charge or would_often"),
    ),
    Mutant(
        "a draft of persons reads all of their rows",
        "a person who moves a sum once a row",
        "description/draft.py",
        "    return (codes, distinct) if rows is None else (np.append(codes, -1)[rows], distinct)\n",
        "    return codes, distinct\n",
        (PERSONS, "-k", "replay"),
    ),
    Mutant(
        "which row of a person is read depends on the order of the table",
        "a choice that other people's rows decide",
        "tables/units.py",
        "    order = np.lexsort((_drawn(found, codes, units), of))\n    order = order[: int((of < len(units)).sum())]\n    first = order[",
        "    order = np.lexsort((np.arange(len(of)), of))\n    order = order[: int((of < len(units)).sum())]\n    first = order[",
        (PERSONS, "-k", "its_own_rows"),
    ),
    Mutant(
        "a draft of single rows adds to a claim of persons",
        "two claims of other neighbours added up",
        "domain.py",
        "            if (drafted.adjacency, drafted.unit) != (self.adjacency, self.unit):\n",
        "            if drafted.adjacency != self.adjacency:\n",
        (PERSONS, "-k", "adds_to_persons"),
    ),
    Mutant(
        "the draft of persons is claimed for single rows",
        "a claim without its unit",
        "description/draft_plan.py",
        "        unit=plan.unit,\n        rows=declared_rows(",
        "        rows=declared_rows(",
        (PERSONS, "-k", "adds_to_persons or claims_them"),
    ),
    Mutant(
        "the sizes of numbers that are written otherwise are not paid for",
        "a release beside the plan",
        "description/draft.py",
        "                second = replace(second, mu=second.mu * math.sqrt(1 - FIRST_ROUND) * FAR_DOWN)\n",
        "",
        (DRAFT, "-k", "how_numbers"),
    ),
    Mutant(
        "a label of one class that is a number is a target",
        "a draft of what was not asked for",
        "description/draft.py",
        "        least = 2 if mostly or used.tolist() == [ZERO] else 1\n",
        "        least = 1\n",
        (DRAFT, "-k", "no_classes"),
    ),
    Mutant(
        "a date in either order is a form of its own and of another",
        "a record that counts in two places of a histogram",
        "description/magnitudes.py",
        '    if "dmy" in read and "mdy" in read and "date" not in read:\n',
        '    if "dmy" in read and "mdy" in read:\n',
        (DRAFT, "-k", "one_form"),
    ),
)
