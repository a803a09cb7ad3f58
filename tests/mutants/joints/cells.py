"""Planted bugs: odd cells in every container."""

from __future__ import annotations

from mutant import Mutant

QUESTIONS, VECTORS = "tests/description/test_questions.py", "tests/pipeline/test_embeddings.py"

ODD = "tests/attacks/test_cells.py"
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
        "    except BaseException:  # a panic in polars is no Exception\n        pass\n    return [None]",
        "    except AttributeError:\n        pass\n    return [None]",
        (EVERY, "-k", "test_a_table and gap and validate"),
    ),
    Mutant(
        "rows of any class are read at once, and one by one only those that are lists",
        "one gap made missing cells of all other records, whose rows were series",
        "tables/encode.py",
        "            found = row if type(row) is list or type(row) is tuple else [*values_of(column_of(row))]\n",
        "            found = row if isinstance(row, list | tuple | np.ndarray) else []\n",
        (ODD, "-k", "odd_row_of_a_list"),
    ),
    Mutant(
        "a column of an np.matrix is a matrix",
        "one gap made missing cells of all other records",
        "tables/encode.py",
        "    array = _of_no_subclass(array)\n",
        "",
        (ODD, "-k", "np_matrix"),
    ),
    Mutant(
        "a sparse cell outside of the features",
        "it landed in another record's row",
        "tables/sparse.py",
        "    if inside.all():\n",
        "    if inside.any():\n",
        (ODD, "-k", "lands_in_no_other_row and (csr or bsr)"),
    ),
    Mutant(
        "a complex sparse cell is refused",
        "one record decides",
        "tables/encode.py",
        'data.dtype.kind not in "iufbc":',
        'data.dtype.kind not in "iufb":',
        (ODD, "-k", "complex_sparse"),
    ),
    Mutant(
        "the class of a cell is looked up by its hash",
        "one record raised, after the charge",
        "tables/column.py",
        "        known = met[kind] if plain else None\n",
        "        known = met.get(kind)\n",
        (ODD, "-k", "hashed_or_compared"),
    ),
    Mutant(
        "a cell is whatever a class says of itself",
        "a text with a hash of its own",
        "tables/cell.py",
        "    return cell if cell is None or type(cell) is float or type(cell) is str else UNREADABLE\n",
        "    return cell\n",
        (ODD, "-k", "text_of_its_own_class"),
    ),
    Mutant(
        "run-end encoded values are nested ones",
        "500 records were read as none, in silence",
        "tables/column.py",
        " and not t.is_run_end_encoded(array.type):\n",
        ":\n",
        (ODD, "-k", "run_end"),
    ),
    Mutant(
        "run ends are counted from the start of an array",
        "a slice has the values of other records",
        "tables/containers.py",
        "np.arange(part.offset, part.offset + len(part))",
        "np.arange(len(part))",
        (ODD, "-k", "run_end"),
    ),
    Mutant(
        "a masked cell of a list is zero",
        "an array of no dimension is its number",
        "tables/cell.py",
        "        if np.ma.is_masked(value):\n            return None\n",
        "",
        (ODD, "-k", "masked_cell"),
    ),
    Mutant(
        "zero beside a complex number is a text",
        "one complex cell took the zeros of others away",
        "tables/cell.py",
        '"0j": 0.0, "-0j": 0.0}',
        '"-0j": 0.0}',
        (ODD, "-k", "complex_cell"),
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
