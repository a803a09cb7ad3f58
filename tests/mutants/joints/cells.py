"""Planted bugs: odd cells in every container."""

from __future__ import annotations

from mutant import Mutant

QUESTIONS, VECTORS = "tests/description/test_questions.py", "tests/pipeline/test_embeddings.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a condition that is refused by the type that one cell gave it",
        "prepriv 0.2.0: count raised if and only if some age was missing",
        "description/questions.py",
        '    column = column_of(condition, "condition")\n',
        '    column = column_of(condition, "condition")\n    if "bool" not in str(getattr(column, "dtype", "bool")).lower():\n'
        '        raise ValueError("condition must be an array of truth values")\n',
        (QUESTIONS, "-k", "not_met"),
    ),
    Mutant(
        "a gap in a mask is met",
        "NaN is true",
        "tables/containers.py",
        "    return numbers(column) == 1.0\n",
        "    return numbers(column) != 0.0\n",
        (QUESTIONS, "-k", "not_met"),
    ),
    Mutant(
        "one record without a vector stops all",
        "prepriv 0.2.0: embedding_matrix",
        "tables/containers.py",
        '        raise BadData(f"an Arrow column of embeddings must hold lists of numbers; got {kind}")\n',
        '        raise BadData(f"an Arrow column of embeddings must hold lists of numbers; got {kind}")\n'
        "    if cells.null_count:\n"
        '        raise BadData("a vector in every row")\n',
        (VECTORS, "-k", "zeros"),
    ),
    Mutant(
        "the first vector says how long all are",
        "one record decides the shape",
        "tables/containers.py",
        "    return max(tally, key=lambda length: (tally[length], length), default=0)\n",
        "    return next(iter(tally), 0)\n",
        (VECTORS, "-k", "zeros"),
    ),
)
