"""Planted bugs: a target whose logarithm is learned."""

from __future__ import annotations

from mutant import Mutant

LOGARITHM = ("tests/tables/test_logarithm.py",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "errors of logarithms are measured for errors of numbers",
        "a figure in another unit than the one that is named",
        "evaluation/cells.py",
        "        if target.log:\n            off = ",
        "        if False:\n            off = ",
        (*LOGARITHM, "-k", "unit_of_the_number"),
    ),
    Mutant(
        "an exported network gives the logarithm for the number",
        "a model that predicts otherwise where it is brought to",
        "integrations/onnx_model.py",
        "        if target.log:\n            number = ",
        "        if False:\n            number = ",
        (*LOGARITHM, "-k", "every_way_out"),
    ),
    Mutant(
        "a count of 0 has no 1 added when it is predicted",
        "a map that is not undone",
        "columns.py",
        "high - low) * shares) - self.added, self.low",
        "high - low) * shares), self.low",
        (*LOGARITHM, "-k", "logarithm_does or predicts_numbers"),
    ),
    Mutant(
        "logarithms are those of a whole array at once",
        "a row whose bits depend on where it stands",
        "columns.py",
        "    return np.fromiter(map(function, numbers.tolist()), np.float64, len(numbers))\n",
        "    return np.fromiter(map(function, numbers.tolist()), np.float64, len(numbers)) + (len(numbers) > 1) * 1e-6\n",
        (*LOGARITHM, "-k", "same_bits"),
    ),
    Mutant(
        "a stored domain forgets that a logarithm was learned",
        "a file that says less than the run",
        "columns.py",
        'written | ({"log": True} if self.log else {})',
        "written",
        (*LOGARITHM, "-k", "keep_it or every_way_out"),
    ),
)
