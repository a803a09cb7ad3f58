"""Tables from files: CSV, TSV and Parquet as Arrow tables, with one sentence for what is wrong with a file.

No message holds a value of a record.
"""

from __future__ import annotations

import contextlib
import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

from prepriv._arguments import path_of

ONE_COLUMN = (
    "it has one column; is the file separated by ';'? Cells must be separated by commas (in a .tsv, by tabs)"
)
_SEPARATED = (
    "its header line has more ';' or tabs than commas; is the file separated by them? Cells must be separated by "
    "commas (in a .tsv, by tabs)"
)
ENDINGS = (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz")
_ZIP = b"PK\x03\x04"  # so begin workbooks, too
_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # byte-order marks; no UTF-8 text begins so


class BadData(ValueError):
    """The table does not fit the declared schema. The message holds no value of a record."""


def read_table(path: str | Path, columns: Sequence[str] | None = None) -> Any:
    """A CSV (.csv, .tsv, also .gz) or Parquet file as an Arrow table; `columns`: only these, all must exist.

    CSV cells are kept as bytes: one odd record cannot change how a column, or another record, is read
    (csv.py). Raises BadData.
    """
    path = path_of("path", path)
    check_table_file(path)
    with readable(path):
        if is_parquet(path):
            import pyarrow.parquet as parquet  # as heavy as the rest together, and a CSV file needs none of it

            check_columns(columns, parquet.read_schema(path).names, path)
            return parquet.read_table(path, columns=list(columns) if columns else None)
        return _read_csv(path, columns)


def column_names(path: str | Path) -> list[str]:
    """The names of the columns of a table: its header line, and no record. Raises BadData."""
    path = Path(path)
    check_table_file(path)
    with readable(path):
        if is_parquet(path):
            import pyarrow.parquet as parquet

            return list(parquet.read_schema(path).names)
        return _csv(path, lambda opened: _csv_header(opened, delimiter(path)))


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """What is wrong with a file, in one sentence."""
    import pyarrow as pa

    try:
        yield
    except PermissionError:
        raise BadData(f"{path} cannot be read: permission denied") from None
    except (pa.ArrowException, OSError, EOFError, zlib.error):
        raise BadData(f"{path} cannot be read as {'Parquet' if is_parquet(path) else 'CSV'}") from None


def check_table_file(path: Path) -> None:
    """BadData where it is not a file, or its name says that nothing here reads it. It is not opened."""
    if not path.is_file():
        raise BadData(no_file(path))
    if not path.name.lower().endswith(ENDINGS):
        raise BadData(
            f"{path}: the name must end in .csv, .tsv (also .gz) or .parquet; save a workbook as CSV, or give "
            "a reader of another format (reader:MODULE:FUNCTION, docs/large.md)"
        )


def is_parquet(path: Path) -> bool:
    """Whether a table's name says that it is a Parquet file; otherwise it is CSV."""
    return path.suffix.lower() == ".parquet"


def delimiter(path: Path) -> str:
    """What stands between the cells of a CSV file, by its name."""
    return "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","


def opener(path: Path) -> Callable[[], Any]:
    """What opens a CSV file at its beginning, packed or not."""
    packed = path.suffix.lower() == ".gz"
    return lambda: gzip.open(path, "rb") if packed else open(path, "rb")


def no_file(path: Path) -> str:
    """Why `path` is not a file: a sentence for an error."""
    return f"{path} is a folder, not a file" if path.is_dir() else f"no such file: {path}"


def _csv_header(opened: Callable[[], IO[bytes]], delimiter: str) -> list[str]:
    from prepriv.tables.csv import header  # brings pyarrow

    return header(opened, delimiter)


def _csv(path: Path, read: Callable[[Callable[[], IO[bytes]]], Any]) -> Any:
    """What `read` gives for a CSV file. Raises BadData for one that is not text."""
    from prepriv.tables.csv import HeaderLine

    with opener(path)() as file:
        line = file.readline(2**16)  # no record: this is read before a charge
    if line.startswith(_ZIP):
        raise BadData(f"{path} is a workbook or a ZIP file by its content; save it as CSV (UTF-8)")
    if line.startswith(_UTF16) or b"\0" in line.partition(b"\r")[0]:
        raise BadData(f"{path} is not UTF-8 text (UTF-16, perhaps); save it as UTF-8")
    try:
        return read(opener(path))
    except HeaderLine as wrong:
        raise BadData(f"{path}: {wrong}") from None
    except ValueError:
        raise BadData(f"{path} is empty or has no header line") from None


def _read_csv(path: Path, columns: Sequence[str] | None) -> Any:
    from prepriv.tables.csv import read as read_csv  # brings pyarrow

    table = _csv(path, lambda opened: read_csv(opened, delimiter(path)))
    check_columns(columns, table.column_names, path, text=True)
    return table.select(list(columns)) if columns else table


def check_columns(
    wanted: Sequence[str] | None, have: Sequence[str], path: Path, *, text: bool = False
) -> None:
    """BadData where a wanted column is not there, or there twice."""
    for name in wanted or ():
        if list(have).count(name) > 1:  # the name may be a cell, where nobody declared it
            raise BadData(
                f"two columns of {path} have the same name (or its header line is missing): rename one"
            )
        if name not in have:
            if hint := wrong_header(have) if text else "":
                raise BadData(f"{path} has no column {name!r}; {hint}")
            raise BadData(lacks(path, name, wanted or (), have))


def lacks(table: object, name: str, wanted: Sequence[str], have: Sequence[str]) -> str:
    """That a table has no such column, of those that are wanted, in a sentence."""
    return f"{table} has no column {name!r}, which is declared; {there_is(name, wanted, have)}"


def there_is(name: str, wanted: Sequence[str], have: Sequence[str]) -> str:
    """What a table has in place of a missing column: the closest name, or those that are not declared, if they may be told, and otherwise how
    many columns. A number is never told: where a file has no header line, cells of its first record can be among the declared names, if these
    are numbers.
    """
    others = [other for other in have if other not in wanted and not _is_cell(str(other))]
    near = closest(name, others) if _is_header(wanted, have) else spelled_alike(name, others)
    if near is not None:
        return f"the closest name there is {near!r}"
    return not_declared(others) if surely_names(wanted, have) else f"{names_of(have)}; {_FOUND}"


def not_declared(names: Sequence[str]) -> str:
    """The names of a header line that are not declared, in a sentence: where none is close to a missing one."""
    if not names:
        return "all the columns that it has are declared"
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return f"no name there is close (not declared: {', '.join(map(repr, names[:_LISTED]))}{more})"


def no_label(label: str, have: Sequence[str]) -> str:
    """That a table that is drafted has no such label. A draft takes the names as public, so the closest one is named, unless a name is a
    number or empty, as cells are where the header line is missing.
    """
    names = [name for name in have if not _is_cell(name)]
    near = closest(label, names) if len(names) == len(have) else spelled_alike(label, names)
    rest = names_of(have) if near is None else f"the closest name there is {near!r}"
    return f"the table has no column {label!r} to use as label; {rest}"


def _is_cell(name: str) -> bool:
    """Whether a name looks like a cell: a number, or nothing."""
    try:
        float(name.replace(",", ".") or 0)
    except ValueError:
        return False
    return True


def closest(name: str, have: Sequence[str]) -> str | None:
    """The name there that is most like a missing one; None where none is like it, or there are too many to compare."""
    if (alike := spelled_alike(name, have)) is not None or len(have) > _COMPARED:
        return alike
    return next(
        iter(get_close_matches(name, [other for other in have if isinstance(other, str)], 1, _ALIKE)), None
    )


def spelled_alike(name: str, have: Sequence[str]) -> str | None:
    """The name that differs by capitals, spaces and punctuation alone: it says nothing but how a declared name is written."""
    same = re.sub(r"[\W_]", "", name).casefold()
    return next(
        (other for other in have if same and re.sub(r"[\W_]", "", str(other)).casefold() == same), None
    )


def surely_names(wanted: Sequence[str], have: Sequence[str]) -> bool:
    """Whether names that are not declared may be listed: besides what lets the closest one be told, two declared names are there, and nothing
    that looks like a cell. A record has a number almost always.
    """
    return (
        _is_header(wanted, have)
        and len({*wanted} & {*have}) > 1
        and not any(_is_cell(str(name)) for name in have)
    )


def _is_header(wanted: Sequence[str], have: Sequence[str]) -> bool:
    """Whether half of the declared names that are not numbers are there: then the others are names, too. Where a file has no header line,
    they are cells of its first record.
    """
    names = {name for name in wanted if not _is_cell(str(name))}
    return bool(names) and 2 * len(names & {*have}) >= len(names)


_COMPARED = 2000  # names; to compare takes some microseconds each
_ALIKE = 0.7  # of two names, from 0 to 1, as difflib counts
_LISTED = 10  # names, where none is close
_FOUND = "`prepriv validate` tells the curator whether one is close"


def names_of(have: Sequence[str]) -> str:
    """How many columns there are, and how they are named; never a name, which could be a cell."""
    return f"it has {len(have)} columns, named as its header line has them, capitals and spaces too"


def wrong_header(names: Sequence[str]) -> str:
    """What looks wrong with the names that a CSV file's header line has, in one sentence; nothing: ""."""
    if len(names) < 2:
        return ONE_COLUMN
    if sum(name.count(";") + name.count("\t") for name in names) >= len(names):
        return _SEPARATED
    return "its header line is not UTF-8; save it as UTF-8" if any("\ufffd" in n for n in names) else ""
