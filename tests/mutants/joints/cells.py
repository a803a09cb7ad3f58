"""Planted bugs: odd cells in every container."""

from __future__ import annotations

from mutant import Mutant

QUESTIONS, VECTORS = "tests/description/test_questions.py", "tests/pipeline/test_embeddings.py"

EVERY, STATIC = "tests/attacks/test_every_container.py", "tests/test_cells_are_read_in_tables.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a record batch is one array",
        "prepriv 0.2.0: a text that is not UTF-8 raised, and columns were taken by place",
        "tables/encode.py",
        "nw.from_native(tabled(data), eager_only=True, pass_through=True)",
        "nw.from_native(data, eager_only=True, pass_through=True)",
        ("tests/attacks/test_cells.py", "-k", "record_batch"),
    ),
    Mutant(
        "a batch of private rows is read at once where it is kept apart",
        "one record decides whether a public table is refused",
        "pipeline/apart.py",
        "nw.from_native(tabled(table), eager_only",
        "nw.from_native(table, eager_only",
        ("tests/attacks/test_cells.py", "-k", "record_batch"),
    ),
    Mutant(
        "a column made an array by its type outside of the tables",
        "a dtype decision on a user's cells",
        "description/questions.py",
        "    raw = numbers(column)\n",
        "    raw = np.asarray(column, dtype=np.float64) if len(column) else numbers(column)\n",
        (STATIC, "-k", "nothing_outside"),
    ),
    Mutant(
        "one odd cell stops a column of numbers",
        "a dtype decision on a user's cells",
        "tables/column.py",
        "    return _guarded(_numbers_at_once, column, numbers_one_by_one)\n",
        "    return numbers_one_by_one(column) if isinstance(column, list) else np.asarray(column, np.float64)\n",
        (EVERY, "-k", "test_a_column and mean"),
    ),
    Mutant(
        "a column that Arrow has no type for stops the look for shared memory",
        "a library's exception that names no step",
        "pipeline/apart.py",
        "    with suppress(Exception):\n        return [*_arrow(column())]\n    return []\n",
        "    return [*_arrow(column())]\n",
        (EVERY, "-k", "test_a_table and Public and sparse"),
    ),
    Mutant(
        "a row that is missing stops all",
        "one record decides",
        "tables/encode.py",
        "        if sized and len(row) == width:\n",
        "        if len(row) == width:\n",
        (EVERY, "-k", "test_a_table and gap and validate"),
    ),
    Mutant(
        "an id that cannot be read stops all",
        "one record decides",
        "tables/column.py",
        "            found = name(value)\n        except Exception:\n            found = None\n",
        "            found = name(value)\n        except TypeError:\n            found = None\n",
        (EVERY, "-k", "ids_of_units and validate"),
    ),
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
