"""What a ledger file holds beside its rows: bytes after its last page, in free pages and between the rows, and statistics. docs/ledger.md.

The hash chain covers none of them. SQLite does not read such bytes, and `secure_delete` is not on everywhere: a table that was made, filled and dropped
leaves its rows in free pages. Statistics (`sql_schema.OF_ANALYZE`) are those of ANALYZE in another program, or whatever someone has put there. A ledger is
published, so it must not carry them.
"""

from __future__ import annotations

import struct
from pathlib import Path

from prepriv.ledger.places import locate
from prepriv.ledger.sql_schema import OF_ANALYZE
from prepriv.ledger.store import File, foreign_side_files, side_files

_WINDOW = 8  # bytes that are looked for among the rows
# Such windows of a page that stand in no row. Moving rows between pages leaves some: up to 81, and 5 that are text, in a ledger that grew to 2,900 rows
_MOST, _MOST_TEXT = 150, 20
_TEXT = frozenset(range(0x20, 0x7F))
_TREES = (2, 5, 10, 13)  # the first byte of a page that holds rows or an index
_LEFT_ZERO = slice(72, 92)  # of the header of a file: reserved by SQLite


def beyond_rows(place: str) -> list[str]:
    """What stands in a ledger file beside its rows, in words; nothing of a file that a ledger wrote, or of a server. The ledger has to be sound."""
    store = locate(place, 10.0)
    if not isinstance(store, File):
        return []
    log = side_files(store.path)[0]
    if log.is_file() and log.stat().st_size and log not in foreign_side_files(store.path):
        return ["a run uses it, so this was not looked at. Look again later"]
    found = [
        f'the table {name}, which ANALYZE of another program makes and anyone can fill (`sqlite3 FILE "DROP TABLE {name}"` takes it out)'
        for name in _statistics(store)
    ]
    content = Path(store.path).read_bytes()
    size = struct.unpack(">H", content[16:18])[0]
    size = 65536 if size == 1 else size
    pages = struct.unpack(">I", content[28:32])[0]
    after = len(content) - pages * size
    found += [f"{after:,} bytes after its last page"] if after > 0 else []
    if content[20] or any(content[_LEFT_ZERO]):
        found.append("bytes in a place that SQLite reserves")
    hidden = _foreign(content[: pages * size], size)
    if hidden:
        several = len(hidden) > 1
        listed = ", ".join(map(str, hidden[:5])) + (", ..." if len(hidden) > 5 else "")
        found.append(
            f"bytes of no row in page{'s' if several else ''} {listed}, such as those of a table that was dropped"
        )
    return found


def _statistics(store: File) -> list[str]:
    """The tables of statistics that are there, whatever they hold."""
    with store.transaction(write=False) as db:
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    return [name for name, _ in OF_ANALYZE if name in there]


def _foreign(content: bytes, size: int) -> list[int]:
    """The pages whose unused bytes hold more than pieces of rows that stand elsewhere in the file."""
    used, unused = _parts(content, size)
    rows = b"\xff\0".join(used)
    windows: set[bytes] = set()
    found = list[int]()
    for page, left in unused.items():
        if not left.strip(b"\0"):
            continue
        windows = windows or {rows[at : at + _WINDOW] for at in range(len(rows) - _WINDOW + 1)}
        pieces = (left[at : at + _WINDOW] for at in range(len(left) - _WINDOW + 1))
        foreign = [one for one in pieces if 2 * one.count(0) <= _WINDOW and one not in windows]
        if len(foreign) > _MOST or sum(_TEXT.issuperset(one) for one in foreign) > _MOST_TEXT:
            found.append(page)
    return found


def _parts(content: bytes, size: int) -> tuple[list[bytes], dict[int, bytes]]:
    """The bytes that SQLite reads, and of each page those that it does not. https://www.sqlite.org/fileformat2.html"""
    free, used, unused = _free_pages(content, size), list[bytes](), dict[int, bytes]()
    for page in range(1, len(content) // size + 1):
        here = content[(page - 1) * size : page * size]
        head = 100 if page == 1 else 0
        if page in free or here[head] not in _TREES:
            unused[page] = here
            continue
        block, cells, start = struct.unpack(">HHH", here[head + 1 : head + 7])
        end = head + (12 if here[head] in _TREES[:2] else 8) + 2 * cells
        holes = [(end, start or 65536)]
        while block:  # `integrity_check` found the chain to end
            after, length = struct.unpack(">HH", here[block : block + 4])
            holes.append((block + 4, block + length))
            block = after if after > block else 0
        at, left = 0, list[bytes]()
        for low, high in sorted(holes):
            used.append(here[at:low])
            left.append(here[low:high])
            at = high
        used.append(here[at:])
        unused[page] = b"\0".join(left)
    return used, unused


def _free_pages(content: bytes, size: int) -> set[int]:
    """The pages of the free list, those that list others among them."""
    pages, found = len(content) // size, set[int]()
    trunk = struct.unpack(">I", content[32:36])[0]
    while 0 < trunk <= pages and trunk not in found:
        at = (trunk - 1) * size
        found.add(trunk)
        trunk, count = struct.unpack(">II", content[at : at + 8])
        count = min(count, size // 4 - 2)
        found.update(struct.unpack(f">{count}I", content[at + 8 : at + 8 + 4 * count]))
    return found
