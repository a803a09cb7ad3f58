"""Several ledgers beside each other, and all that each paid for: copies, sums, and charges of which no file was given. docs/ledger.md."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from prepriv.commands.charged import caps_together, runs_in_words
from prepriv.guarantees.in_words import guesses_in_words, hardly_limits
from prepriv.guarantees.printed import down
from prepriv.ledger import Entry, Header
from prepriv.ledger.beyond_rows import beyond_rows
from prepriv.ledger.currency import Quanta, amount_in_words, decimals, short_amount
from prepriv.ledger.hash_chain import whose

if TYPE_CHECKING:
    from prepriv.commands.judged import Judged

Book = tuple[Header, Sequence[Entry]]
"""A sound ledger: its header and its rows."""
_NOT_ADDED = (
    "what is booked in these ledgers is not added up: they differ in their unit, their neighbours, their periods or whose rows a charge is about. "
    "If they are of the same people, an assessment names each"
)


def copies(books: Mapping[str, Book]) -> dict[str, str]:
    """Ledgers that are copies of another one given, now or as it was, and of which. Rows have random names, so equal heads prove it; empty ledgers prove nothing."""
    found = dict[str, str]()
    longest_first = sorted(books, key=lambda name: -len(books[name][1]))
    for at, name in enumerate(longest_first):
        header, rows = books[name]
        for other in (one for one in longest_first[:at] if one not in found):
            if rows and books[other][0] == header and alike_until(rows, books[other][1]) == len(rows):
                found[name] = other
                break
    return found


def alike_until(a: Sequence[Entry], b: Sequence[Entry]) -> int:
    """The last row that both hold, by its head, which fixes all before it. 0: none."""
    return max((one.sequence for one, two in zip(a, b) if one.head == two.head), default=0)


def copy_in_words(books: Mapping[str, Book], name: str, other: str) -> str:
    """What a copy shows."""
    rows, all_rows = books[name][1], books[other][1]
    then = "row for row" if len(rows) == len(all_rows) else f"as it was at row {len(rows)} of {len(all_rows)}"
    return f"a copy of {other}, {then}: its cap is not added"


def booked_together(books: Sequence[Book]) -> list[str]:
    """What is booked and left in several ledgers, each rounded to the less private side, as lines; or why it is not added up."""
    if len(books) < 2:
        return []
    if not add_up(books):
        return [_NOT_ADDED]
    zero, unit = Quanta(0), books[0][0].unit
    each = [(header.cap, rows[-1].spent if rows else zero) for header, rows in books]
    twice = _booked_twice(books)
    spent, caps = sum((one for _, one in each), zero), sum((cap for cap, _ in each), zero)
    spent = Quanta(spent.main - twice.main, spent.delta - twice.delta)
    left = sum((Quanta(cap.main - one.main, cap.delta - one.delta) for cap, one in each), zero)
    booked, ever = (guesses_in_words(amount_in_words(unit, one)) for one in (spent, caps))
    which, whole = (
        (" (a row that several of them hold counts once)", ", each cap in full")
        if twice != zero
        else ("", "")
    )
    return [
        f"if these {len(books)} ledgers are of the same people, all that is booked in them together{which}: {booked} (bookkeeping: sign the caps)",
        f"left of their caps together: {short_amount(unit, left, left=True)}. Everything that they may ever hold together{whole}: {ever}",
    ]


def _booked_twice(books: Sequence[Book]) -> Quanta:
    """What ledgers booked in rows that one before them holds, too: a copy that was charged again has all rows from before.

    Equal heads fix all rows before them, so the longest part that is shared holds every row that is. The caps are not less for it: each allows its whole.
    """
    twice = Quanta(0)
    for at, (header, rows) in enumerate(books):
        until = max((alike_until(rows, other) for of, other in books[:at] if of == header), default=0)
        twice += rows[until - 1].spent if until else Quanta(0)
    return twice


def add_up(books: Sequence[Book]) -> bool:
    """Whether what is booked in these ledgers can be added up."""
    about = {whose(one.note) for _, rows in books for one in rows if one.kind == "charged"}
    kinds = {(header.unit, header.adjacency, header.periods) for header, _ in books}
    return not books[0][0].periods and len(kinds) == 1 and len(about) < 2


def hardly_limited(books: Mapping[str, Book]) -> list[str]:
    """What to ask of ledgers, by their place, whose cap lets an attacker be right nearly always; and of several of data sets with other names whose caps do so together, if they are of the same people."""
    found = list[str]()
    for place, (header, _) in books.items():
        cap = amount_in_words(header.unit, header.cap)
        if hardly_limits(cap):
            each = f" of each {header.periods.split()[0]}" if header.periods else ""
            found.append(
                f"why the cap{each} of {place} is so high: it hardly limits anything, and an attacker who sees all that it allows can be right nearly always "
                f"({guesses_in_words(cap)}). Ask the curator, and what else will be charged"
            )
    several = [*books.values()]
    if len({header.dataset for header, _ in several}) < 2 or not add_up(several):
        return found
    caps = amount_in_words(several[0][0].unit, sum((header.cap for header, _ in several), Quanta(0)))
    if hardly_limits(caps):
        found.append(
            f"whether these {len(books)} ledgers are of the same people: if they are, everything that they may ever hold together is {guesses_in_words(caps)}. "
            "Then ask the curator why the caps are so high"
        )
    return found


def loose_deltas(books: Mapping[str, Book], n: int, counted: str) -> list[str]:
    """What to ask of ledgers, by their place, whose cap has a δ that is not below 1/n, of so many declared records (or units: `counted`)."""
    found = list[str]()
    for place, (header, _) in books.items():
        delta = decimals(header.unit, header.cap).get("delta", "0")
        if Fraction(delta) * n >= 1:
            found.append(
                f"why the δ of the cap of {place}, {delta}, is not below 1/n = {down(1 / n, 3)}, of {n:,} declared {counted}: publishing one whole {counted.removesuffix('s')} at random would satisfy "
                "it. Ask the curator before you sign the cap"
            )
    return found


def beside_its_rows(places: Collection[str]) -> dict[str, str]:
    """What to ask of each ledger file that holds more than its rows: nothing here reads or covers it, and it can be private records."""
    return {
        place: f"what else {place} holds: {', and '.join(found)}. No row is there and no hash covers it, so it can be anything, such as private records. Do not pass the file on "
        "before the curator answers: `strings FILE` shows texts, and `sqlite3 FILE VACUUM` takes out such bytes and leaves the rows"
        for place in places
        if (found := beyond_rows(place))
    }


def of_same_columns(books: Mapping[str, Book], judged: Mapping[str, Judged]) -> list[str]:
    """What to ask of ledgers of data sets with other names that paid for models of the same columns and label: they may be of the same people."""
    paid = dict[frozenset[str], dict[str, str]]()  # of each set of columns the ledgers, and a model of each
    for name, one in judged.items():
        if one.columns and one.place in books:
            paid.setdefault(one.columns, {}).setdefault(one.place, name)
    return [
        f"whether {' and '.join(models)} are of the same people: {' and '.join(models.values())}, which they paid for, have the same columns and label. If they are, "
        f"{caps_together([books[place][0] for place in models])}, and no page knows of the other ledger. Ask the curator"
        for models in paid.values()
        if len({books[place][0].dataset for place in models}) > 1
    ]


def not_given(place: str, book: Book, named: Collection[str], models: Mapping[str, str]) -> str:
    """What to ask of a ledger that was given with files: what it paid for that no file given names; "" where each charge is named. models: those given, by the first digits of their hash."""
    header, rows = book
    others = [one for one in rows if one.kind == "charged" and one.plan_uid not in named]
    told = "; ".join(runs_in_words(header, rows, others, models))
    if not told:
        return ""
    return f"what {place} paid for beside these files: {told}. Ask the curator for each file, and what was chosen after seeing it"
