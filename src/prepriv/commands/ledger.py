"""`prepriv ledger create | show | verify`: the budget of a data set on the command line.

Exit codes: 0 done, 2 bad input, 3 budget exceeded, 4 ledger unavailable, 5 ledger corrupt, 6 plan refused,
8 something that only people can answer.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from prepriv.adjacency import check_adjacency, n_is_public
from prepriv.commands.exits import NOT_DECIDED, print_json, say
from prepriv.guarantees.gaussian import gdp_epsilon, gdp_mu
from prepriv.guarantees.in_words import hardly_limits, right_at_most
from prepriv.guarantees.printed import down, percent, up
from prepriv.ledger import Charge, Entry, Header, Ledger, LedgerCorrupt, LedgerError, verify_file
from prepriv.ledger.by_period import booked_in_periods, in_words_together
from prepriv.ledger.currency import (
    CURRENCIES,
    Quanta,
    amount_in_words,
    decimals,
    few_fits,
    no_delta_left,
    short_amount,
)
from prepriv.ledger.hash_chain import whose
from prepriv.ledger.urls import is_url

if TYPE_CHECKING:
    from prepriv.commands.judged import Judged
    from prepriv.commands.receipts import Collected
    from prepriv.commands.several import Book

_MANY = 10  # lines of files that were not compared for the same reason
app = typer.Typer(help="Keep the privacy budget of a data set in a durable ledger.", no_args_is_help=True)


def _number(text: str) -> Decimal:
    # not float: a cap is to be rounded from what was typed
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None


def _receipt(text: str) -> Charge:
    sequence, _, head = text.strip().partition(":")
    if not sequence.isdecimal() or not re.fullmatch("[0-9a-fA-F]{64}", head):
        raise ValueError(
            "a receipt is SEQUENCE:HEAD, the whole head of 64 digits with its row number in front, as `prepriv ledger show` and an artifact have it"
        )
    return Charge(int(sequence), head.lower())


_Amount: TypeAlias = Decimal | None
_Epsilon = Annotated[
    _Amount, typer.Option(parser=_number, metavar="NUMBER", help="Cap on epsilon (unit basic).")
]
_Delta = Annotated[_Amount, typer.Option(parser=_number, metavar="NUMBER", help="Cap on delta (unit basic).")]
_Mu = Annotated[_Amount, typer.Option(parser=_number, metavar="NUMBER", help="Cap on mu (unit gdp).")]
_Rho = Annotated[_Amount, typer.Option(parser=_number, metavar="NUMBER", help="Cap on rho (unit zcdp).")]
_Place = Annotated[
    str, typer.Argument(help="The ledger: a file, or postgresql://user@host/database?ledger=NAME.")
]


@app.command()
def create(
    path: _Place,
    dataset: Annotated[
        str, typer.Option(help="A name for the data set, which you declare; never a hash of its content.")
    ],
    epsilon: _Epsilon = None,
    delta: _Delta = None,
    mu: _Mu = None,
    rho: _Rho = None,
    unit: Annotated[str, typer.Option(help=f"How costs add up: {', '.join(CURRENCIES)}.")] = "basic",
    adjacency: Annotated[str, typer.Option(help="replace-one or add-or-remove-one.")] = "replace-one",
    periods: Annotated[
        str,
        typer.Option(
            metavar="KIND:COLUMN",
            help="A cap for each month or year by a column of dates: month:visited, year:visited.",
        ),
    ] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")
    ] = False,
) -> None:
    """Create a ledger. Cap, unit and adjacency cannot be changed later."""
    with _exit_codes(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*a fit takes delta")  # it is printed below
        ledger = Ledger.create(
            path,
            dataset,
            epsilon=epsilon,
            delta=delta,
            mu=mu,
            rho=rho,
            unit=unit,
            adjacency=adjacency,
            periods=_scheme(periods),
        )
        if as_json:
            print_json(_as_json(ledger.header, ()))
            return
        say(f"created {ledger.name}")
        say(_claim(ledger.header))
        if told := _allowed(ledger.header):
            say(told)
        for other in _others_beside(path, ledger.header):
            say(
                f"{other} is a ledger for the same data set, or a name that people may read as the same: two caps add up. Charge one of both, unless the people differ"
            )
        if ledger.header.unit == "basic" and ledger.header.cap.delta == 0:
            say(
                "delta 0 leaves room for plans of pure differential privacy only: every plan of `prepriv train` "
                "has a delta above 0 and will be refused"
            )
        elif ledger.header.unit == "basic" and epsilon is not None and delta is not None:
            if few := few_fits(ledger.header.unit, ledger.header.cap):
                say(few)
            say(_as_mu(float(epsilon), float(delta)))
        elif as_epsilons := _as_epsilons(ledger.header):
            say(as_epsilons)


def _others_beside(place: str, header: Header) -> list[str]:
    """Sound ledgers in the folder of a new one whose data set may be the same by its name."""
    if is_url(place):
        return []
    from prepriv.commands.receipts import ledgers_of

    found = list[str]()
    for other in ledgers_of(place):
        with suppress(LedgerError):
            if _perhaps_the_same([header, book := Ledger.open(other, timeout=1.0).header]) or (
                book.dataset == header.dataset
            ):
                found.append(other)
    return found


def _as_epsilons(header: Header) -> str:
    """What a cap on mu is as one on epsilon, at usual deltas, rounded up; "" for other units."""
    if header.unit != "gdp":
        return ""
    mu = math.sqrt(float(decimals("gdp", header.cap)["mu^2"])) * (1 + 1e-12)
    told = [f"epsilon {up(gdp_epsilon(mu, delta), 4)} at delta {delta:g}" for delta in (1e-5, 1e-6)]
    return f"that is {' and '.join(told)}"


def _as_mu(epsilon: float, delta: float) -> str:
    """What the cap is as one on mu, rounded down."""
    mu = math.floor(1e4 * gdp_mu(epsilon, delta)) / 1e4 if delta < 1 and epsilon < math.inf else 0.0
    cap = f" The cap of epsilon {epsilon:g}, delta {delta:g} is --mu {mu:g} there." if mu > 0 else ""
    return (
        "this ledger adds up epsilons. With --unit gdp more runs fit, because it adds up mu squared, but only claims of one Gaussian "
        f"curve: no private draft of a schema, and no training in random batches.{cap}"
    )


@app.command()
def show(
    path: _Place,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")
    ] = False,
) -> None:
    """Verify a ledger, then show its cap, what is left, and every charge."""
    with _exit_codes():
        ledger = Ledger.open(path)
        entries = ledger.entries()
        header = ledger.header
        if as_json:
            print_json(_as_json(header, entries))
            return
        say(f"data set   {header.dataset_id}")
        say(f"claim      {_claim(header, entries)}")
        if as_epsilons := _as_epsilons(header):
            say(f"           {as_epsilons}")
        if rows := [str(e.sequence) for e in entries if e.conditional]:
            say(f"           for neighbours that satisfy the conditions noted in rows {', '.join(rows)}")
        booked = booked_in_periods(entries) or ({} if header.periods else {"": Quanta(0)})
        for period, spent in booked.items():
            say(
                f"booked     {_on(period)}{short_amount(header.unit, spent)} (bookkeeping; the guarantee is the cap)"
            )
            say(f"left       {_on(period)}{_left_in_words(header, _left(header, spent))}")
        if header.periods:
            say(
                f"left       in any other {header.periods.split()[0]} {short_amount(header.unit, header.cap, left=True)}"
            )
            together = in_words_together(header, entries, short=True)
            say(
                f"together   {together} for a person with rows in all {len(booked)} of them: their {header.periods.split()[0]}s add up"
            )
        say(f"head       {_head(header, entries)}")
        say(
            "           give this head to someone who keeps it: only a kept head shows that these rows were made again. A kept receipt, sequence:head of a charge, "
            "covers the rows up to that charge, and not what was released after it"
        )
        charged = {entry.plan_uid: entry.sequence for entry in entries if entry.kind == "charged"}
        made = {entry.plan_uid: entry.artifact for entry in entries if entry.kind != "charged"}
        for entry in entries:
            say(_line(header, entry, charged[entry.plan_uid], made.get(entry.plan_uid, "")))


@app.command()
def plan(
    path: _Place,
    left: Annotated[bool, typer.Option("--left", help="Divide what is left, not the whole cap.")] = False,
    runs: Annotated[int, typer.Option(min=1, max=10**6, help="How many equal runs have to fit.")] = 1,
    delta: Annotated[float | None, typer.Option(help="The delta that each run will declare.")] = None,
    period: Annotated[str, typer.Option(help="For a ledger by periods: the period, such as 2026-11.")] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")
    ] = False,
) -> None:
    """Print the largest budget that each of RUNS runs can declare, as options for the next one. Charges nothing."""
    from prepriv.placed.checks import LEAST_EPSILON
    from prepriv.runs.left import largest_run

    with _exit_codes():
        ledger = Ledger.open(path)
        header, spent = ledger.header, ledger.booked_of(period)
        room = _left(header, spent if left else Quanta(0))
        epsilon, at = largest_run(header.unit, room, runs, delta)
        epsilon = (
            epsilon if epsilon >= LEAST_EPSILON else 0.0
        )  # what no run can declare is what nothing is left for
        if as_json:
            fits = {"epsilon": epsilon, "delta": at} if epsilon > 0 else None
            print_json({"runs": runs, "adjacency": header.adjacency, "each": fits})
            return
        say(
            f"{'left' if left else 'cap'}: {short_amount(header.unit, room, left=True)} ({header.unit}, {header.adjacency})"
        )
        if epsilon <= 0:
            none = header.unit == "basic" and room.delta // runs == 0
            way = (
                no_delta_left()
                if header.cap.delta
                else "This ledger is for plans of pure differential privacy"
            )
            say(
                f"no run fits: {f'a run needs a delta above 0. {way}' if none else 'nothing is left that a run could spend'}"
            )
            return
        each = f"{runs} runs, each with" if runs > 1 else "one run with"
        of = f" --period {period}" if period else ""
        whole = float(
            down(epsilon)
        )  # six digits: 0.8, where 0.800000001 is left and would be booked as 0.8001
        say(f"{each} --epsilon {whole!r} --delta {at!r} --adjacency {header.adjacency}{of}")


@app.command()
def verify(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="One or more ledgers; and files or folders that were given out, whose receipts they should hold: models, reports, "
            "answers, drafted schemas."
        ),
    ],
    receipt: Annotated[
        list[Charge] | None,
        typer.Option(
            parser=_receipt,
            metavar="SEQUENCE:HEAD",
            help="The receipt in an artifact, or a head that someone kept. Repeat the option for several; of several ledgers each has to be of one.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")
    ] = False,
) -> None:
    """Check ledgers: file, hash chain, totals and cap, receipts of artifacts, and that no data set has two caps.

    A ledger that was restored from an older copy, lacks its last rows, or was made again is consistent by itself. Only receipts can
    show that, so give everything that was released together with the ledger.
    Exit code 8 leaves something to ask: a charge of which no file was given, a cap that hardly limits anything, or whose rows a later score was measured on.
    "ok" stands on files that were compared whole; every other file, named or in a folder, is listed. A page is compared, word for word, with its model, if that is given or lies beside it.
    """
    from prepriv.commands.receipts import LEDGERS, collected, ledgers_among, ledgers_inside

    with _exit_codes():
        ledgers = ledgers_among(paths)
        if not ledgers:
            inside = ledgers_inside(paths)
            lies = (
                f". {', '.join(inside)} lie{'s' if len(inside) == 1 else ''} there: is it the one?"
                if inside
                else ""
            )
            raise ValueError(
                f"name a ledger before the files: nothing else says which charges there are{lies}"
            )
        all_given = collected([path for path in paths if path not in ledgers], ledgers)
        given = all_given.given
        for path in ledgers:
            if not is_url(path) and not os.path.lexists(path) and not path.lower().endswith(LEDGERS):
                raise ValueError(f"{path} does not exist, as a ledger, a file or a folder: check its path")
        places = {path if is_url(path) else os.path.realpath(path): path for path in reversed(ledgers)}
        found = {path: verify_file(path) for path in reversed(places.values())}
        sound = {path: Ledger.open(path) for path in found if not found[path]}
        kept, lost = _heads_of([*found], [*sound], receipt or [])
        all_rows = {name: ledger.entries() for name, ledger in sound.items()}
        books = {name: (ledger.header, all_rows[name]) for name, ledger in sound.items()}
        copied = _copies(books)
        rows = {name: one for name, one in all_rows.items() if name not in copied}
        if lost and len(found) == 1:  # of several nothing says which one it is
            (alone,) = found
            found[alone] += verify_file(alone, lost)[len(found[alone]) :]
        rolled_back = [name for name in sound if found[name]]
        for name in rows:
            if caps := _of_the_same(books, [one for one in rows if one != name], name):
                found[name].append(caps)
        files: dict[str, Judged] = {}
        left = all_given.not_compared
        by_hand = all_given.by_hand
        if (given or by_hand) and len(sound) == len(found):  # a damaged ledger may hold any charge
            from prepriv.commands.judged import judge
            from prepriv.commands.saved_sketches import with_sketches

            files = judge(given, rows, by_hand, all_given.models)
            tables, left = with_sketches(left, files)
            files |= tables
        heads = [_is_here(name, one) for name in sound for one in kept[name]]
        beyond = [line for name in sound for one in kept[name] for line in _not_covered(one, *books[name])]
        bare = [name for name in rows if not kept[name] and name not in rolled_back]
        if receipt:
            beyond += [f"{name}: none of the receipts given is of this ledger" for name in bare]
        if files:
            beyond += [f"{name}: {line}" for name in bare for line in _after_receipts(all_rows[name])]
        perhaps = _perhaps_the_same([sound[name].header for name in rows])
        perhaps += _hardly_limited({name: books[name] for name in rows})
        more_inside = _beside_its_rows([*sound])
        perhaps += more_inside.values()
        if not perhaps and len(rows) > 1:
            perhaps += _of_same_columns({name: books[name] for name in rows}, files)
        others, together = _beside_files(books, [*rows], all_given if len(sound) == len(found) else None)
        perhaps += others.values()
        if as_json:
            told = _verdict(found, files, left, [*by_hand])
            more = {
                "ask_of_ledgers": perhaps,
                "copies": copied,
                "together": together,
                "not_given": others,
                "heads_found": heads,
                "heads_not_found": [f"{one.sequence}:{one.head}" for one in lost],
                "not_covered": beyond,
            }
            print_json(told | {key: part for key, part in more.items() if part})
        for name, problems in (*found.items(), *((name, one.wrong) for name, one in files.items())):
            for problem in problems:
                say(
                    f"{name}: WRONG: {problem}", err=as_json
                )  # a finding is evidence: it goes where "ok" goes
        if lost and len(found) > 1:
            for head in lost:
                say(f"WRONG: {_in_none(head, kept)}", err=as_json)
        if len(files) < len(given) + len(by_hand):
            say("no file was judged: a ledger that is not sound may hold any charge", err=as_json)
        elif lost and files:
            say(
                "the files were judged by the ledgers as they are: `ok` of a file does not say that its ledger is the one of which someone kept the head",
                err=as_json,
            )
        if not as_json:
            for name in (name for name in found if not found[name]):
                said = f"{_copy(books, name, copied[name])}, " if name in copied else ""
                word = "ASK, see below" if name in more_inside else "ok"
                say(f"{name}: {word}, {said}rows {len(all_rows[name])}, head {_head(*books[name])}")
            for line in (*heads, *beyond):
                say(line)
            for name, one in files.items():
                if not one.wrong:
                    say(f"{name}: {_by_hand(one) if name in by_hand else _ok(one)}")
        for line in _not_compared(left):
            say(line, err=as_json)
        if not as_json:
            for line in (*together, *_how_coarse([books[name] for name in rows], files)):
                say(line)
        for asked in perhaps:
            say(f"ASK BEFORE YOU SIGN: {asked}", err=as_json)
        for asked, names in _questions(files).items():
            say(f"ASK BEFORE YOU SIGN: {', '.join(names)}: {asked}", err=as_json)
        open_ = perhaps or left or any(one.asked or one.undecided for one in files.values())
        wrong = lost or any(found.values()) or any(one.wrong for one in files.values())
        code = LedgerCorrupt.exit_code if wrong else NOT_DECIDED if open_ else 0
        if given or by_hand or left or code:
            unkept = "" if receipt or code else _NO_HEAD
            say(f"exit code {code}: {_ENDS[code]}{unkept}", err=as_json)
        if code:
            raise typer.Exit(code)


_NO_HEAD = ". They agree with each other: whether their ledger was made again only a head shows that someone kept (--receipt)"
_ENDS = {
    0: "nothing wrong was found in these files",
    NOT_DECIDED: "not decided, or a question is open",
    LedgerCorrupt.exit_code: "something is wrong",
}


def _ok(one: Judged) -> str:
    """The line of a file with which nothing is wrong. It says ok of one that was compared whole and of which nothing is asked, and of no other."""
    return "; ".join((f"{_word(one)}, {one.charges}", *one.undecided, *one.remarks))


def _word(one: Judged) -> str:
    return "NOT DECIDED" if one.undecided else "ASK, see below" if one.asked else "ok"


def _by_hand(one: Judged) -> str:
    """The same of a schema of which nothing was drafted."""
    said = "a schema declared by hand, for which no ledger is charged"
    return "; ".join((f"{_word(one)}, {said}", *one.undecided, *one.remarks))


def _not_compared(files: Mapping[str, str]) -> list[str]:
    """A line for each file that was not compared, or one for all with the same reason, where they are many."""
    names = dict[str, list[str]]()
    for name, why in files.items():
        names.setdefault(why, []).append(name)
    lines = list[str]()
    for why, alike in names.items():
        told = [", ".join(alike)] if len(alike) > _MANY else alike
        lines += [f"{one}: NOT DECIDED, not compared: {why}" for one in told]
    return lines


def _questions(files: Mapping[str, Judged]) -> dict[str, list[str]]:
    """What has to be asked, and of which files: a model and its pages share most of it."""
    found = dict[str, list[str]]()
    for name, one in files.items():
        for asked in one.asked:
            found.setdefault(asked, []).append(name)
    return found


def _verdict(
    found: Mapping[str, list[str]],
    files: Mapping[str, Judged],
    not_compared: Mapping[str, str],
    by_hand: Sequence[str],
) -> dict[str, object]:
    """As plain data."""
    undecided = {name: one.undecided for name, one in files.items() if one.undecided}
    parts: dict[str, object] = {
        "files": {name: one.wrong for name, one in files.items()},
        "not_decided": undecided | {name: [f"not compared: {why}"] for name, why in not_compared.items()},
        "ask_before_you_sign": {name: one.asked for name, one in files.items() if one.asked},
        "declared_by_hand": list(by_hand),
        "models": {name: one.model for name, one in files.items() if one.model},
    }
    return {"ledgers": dict(found)} | {key: part for key, part in parts.items() if part}


def _perhaps_the_same(headers: Sequence[Header]) -> list[str]:
    if len(headers) < 2:
        return []
    from prepriv.commands.charged import perhaps_the_same

    return perhaps_the_same(headers)


def _of_same_columns(books: Mapping[str, Book], files: Mapping[str, Judged]) -> list[str]:
    from prepriv.commands.several import of_same_columns

    return of_same_columns(books, files)


def _hardly_limited(books: Mapping[str, Book]) -> list[str]:
    from prepriv.commands.several import hardly_limited

    return hardly_limited(books)


def _beside_its_rows(places: Sequence[str]) -> dict[str, str]:
    from prepriv.commands.several import beside_its_rows

    return beside_its_rows(places)


def _how_coarse(books: Sequence[Book], files: Mapping[str, Judged]) -> list[str]:
    """How to read the sums that were printed of ledgers that keep ε and δ alone; nothing where none was."""
    if len(books) < 2 and not any(one.coarse for one in files.values()):
        return []
    from prepriv.commands.charged import COARSER
    from prepriv.commands.several import add_up

    together = len(books) > 1 and books[0][0].unit == "basic" and add_up(books)
    return [COARSER] if together or any(one.coarse for one in files.values()) else []


def _copies(books: Mapping[str, Book]) -> dict[str, str]:
    from prepriv.commands.several import copies

    return copies(books) if len(books) > 1 else {}


def _copy(books: Mapping[str, Book], name: str, other: str) -> str:
    from prepriv.commands.several import copy_in_words

    return copy_in_words(books, name, other)


def _of_the_same(books: Mapping[str, Book], others: Sequence[str], name: str) -> str:
    """What is wrong with a ledger beside others of the same data set; "" where there are none."""
    from prepriv.commands.charged import caps_together
    from prepriv.commands.several import alike_until

    header, rows = books[name]
    alike = [one for one in others if books[one][0].dataset == header.dataset]
    if not alike:
        return ""
    parted = [
        f". {one} has the same rows up to row {row}: one of both is a copy, and both were charged since"
        for one in alike
        if (row := alike_until(rows, books[one][1]))
    ]
    caps = caps_together([header, *(books[one][0] for one in alike)])
    empty = [one for one in (name, *alike) if not books[one][1]]
    unused = (
        f". {' and '.join(empty)} is empty: nothing shows whether it is a copy from before the first charge, or a second budget. Ask, and leave out a copy"
        if empty
        else ""
    )
    return f"another of these ledgers is for the same data set: {caps}{''.join(parted)}{unused}"


def _beside_files(
    books: Mapping[str, Book], names: Sequence[str], given: Collected | None
) -> tuple[dict[str, str], list[str]]:
    """(Of each ledger what to ask of what it paid for and no file names, where files were given; what is booked in all of them)."""
    if not given and len(names) < 2:
        return {}, []
    from prepriv.commands.receipts import runs_named
    from prepriv.commands.several import booked_together, not_given

    named = runs_named([*given.given.values()] if given else [], [books[name][1] for name in names])
    others = {name: not_given(name, books[name], named, given.models) for name in names if given}
    return {name: line for name, line in others.items() if line}, booked_together(
        [books[name] for name in names]
    )


@contextmanager
def _exit_codes() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        say(f"prepriv: {error}", err=True)
        raise typer.Exit(2) from None
    except LedgerError as error:
        say(f"prepriv: {error}", err=True)
        raise typer.Exit(error.exit_code) from None


def _claim(header: Header, entries: Sequence[Entry] = ()) -> str:
    """What the cap says; of whom, as soon as a charge does: all charges of a ledger are of one kind of unit."""
    of = f", of rows of one {header.periods}" if header.periods else ""
    if entries and (unit := whose(entries[0].note)) != whose(""):
        of = f" of all rows of {unit}{of}"
    return (
        "everything released through this ledger costs together at most "
        f"{short_amount(header.unit, header.cap)} ({header.unit}, {header.adjacency}{of})"
    )


def _allowed(header: Header) -> str:
    """What the cap lets an attacker do; "" where it does not determine that."""
    cap = amount_in_words(header.unit, header.cap)
    right = right_at_most(cap)
    if right is None:
        return ""
    each = f" of one {header.periods.split()[0]}" if header.periods else ""
    one = "one record (of one unit, where runs count units)"
    what = (
        f"which of two versions of {one} was used"
        if n_is_public(check_adjacency(header.adjacency))
        else f"whether {one} is there"
    )
    return (
        f"an attacker who sees all of it{each}, and guesses {what}, is right at most {percent(right)[:-1]} times in 100"
        f"{'. This cap hardly limits anything' if hardly_limits(cap) else ''}"
    )


def _scheme(periods: str) -> str:
    """Of --periods month:COLUMN."""
    kind, colon, column = periods.partition(":")
    if periods and not (colon and kind in ("month", "year")):
        raise ValueError(f"--periods must be month:COLUMN or year:COLUMN; got {periods!r:.60}")
    return periods and f"{kind} of `{column}`"


def _on(period: str) -> str:
    return f"{period}  " if period else ""


def _left(header: Header, spent: Quanta) -> Quanta:
    return Quanta(header.cap.main - spent.main, header.cap.delta - spent.delta)


def _left_in_words(header: Header, left: Quanta) -> str:
    """What is left, and that it is nothing where no run can declare as little."""
    from prepriv.placed.checks import LEAST_EPSILON

    said = short_amount(header.unit, left, left=True)
    spent = header.unit == "basic" and float(decimals("basic", left)["epsilon"]) < LEAST_EPSILON
    return f"nothing that a run could declare ({said})" if spent else said


def _head(header: Header, entries: Sequence[Entry]) -> str:
    return f"{entries[-1].sequence}:{entries[-1].head}" if entries else f"0:{header.genesis}"


def _heads_of(
    ledgers: Sequence[str], sound: Sequence[str], heads: Sequence[Charge]
) -> tuple[dict[str, list[Charge]], list[Charge]]:
    """(Which of the heads and receipts given each ledger holds, those that no sound ledger holds)."""
    kept = {
        path: [one for one in heads if path in sound and not verify_file(path, [one])] for path in ledgers
    }
    return kept, [one for one in heads if not any(one in found for found in kept.values())]


def _in_none(lost: Charge, kept: Mapping[str, Sequence[Charge]]) -> str:
    """That none of several ledgers holds a head, and which of them hold another one that was given."""
    holding = [path for path, found in kept.items() if found]
    others = [path for path in kept if path not in holding]
    said = f". Another head that was given is in {' and in '.join(holding)}" if holding else ""
    said += f". No head that was given is in {' or in '.join(others)}" if others else ""
    return (
        f"receipt or head {lost.sequence}:{lost.head[:12]} is in none of these ledgers. Nothing here shows to which of them it belongs: one of them was rolled back or made again "
        f"since it was kept, or its ledger was not given{said}. Ask who kept it of which ledger it is, and verify that ledger with it"
    )


def _is_here(name: str, kept: Charge) -> str:
    """That a sound ledger holds a head that was given, and what this shows."""
    rows = "its row 1" if kept.sequence == 1 else f"its rows 1 to {kept.sequence}"
    what = f"its cap and {rows} are" if kept.sequence else "its cap is"
    return (
        f"{name}: the head given, {kept.sequence}:{kept.head[:12]}, is that of row {kept.sequence}. So {what} what whoever kept the head had then: "
        "nothing of it was replaced, taken off or put in. No hash covers the days of its rows, so nothing here shows whether they were changed"
    )


def _not_covered(kept: Charge, header: Header, rows: Sequence[Entry]) -> list[str]:
    """That rows come after one that was kept, so that nothing compared them; nothing of the last row. A receipt comes before the release that it paid for."""
    later = [one for one in rows if one.sequence > kept.sequence]
    if not later:
        return []
    last = later[-1].sequence
    numbers = f"row {last}" if len(later) == 1 else f"rows {later[0].sequence} to {last}"
    released = [str(one.sequence) for one in later if one.kind == "released"]
    hashes = (
        f". The hash of what was released stands in row{'s' if len(released) > 1 else ''} {', '.join(released)}, so this does not show whether it was replaced"
        if released
        else ""
    )
    return [
        f"{kept.sequence}:{kept.head[:12]} covers the rows up to {kept.sequence}, and not {numbers}{hashes}. Keep the head from now on, or ask for one that "
        f"someone kept after row {last}: {_head(header, rows)} covers all rows"
    ]


def _after_receipts(rows: Sequence[Entry]) -> list[str]:
    """That the last releases of a ledger come after every receipt that it can have given, so that no file shows whether they were written again."""
    last = max((one.sequence for one in rows if one.kind == "charged"), default=0)
    later = [str(one.sequence) for one in rows if one.sequence > last]
    if not later:
        return []
    several = len(later) > 1
    return [
        f"row{'s' if several else ''} {', '.join(later)}, the hash{'es' if several else ''} of what was released last, come{'' if several else 's'} after every receipt. "
        "Whether the file was replaced and released again, only a head shows that someone kept since then: give it as --receipt SEQUENCE:HEAD"
    ]


def _line(header: Header, entry: Entry, charged: int, artifact: str) -> str:
    what = f"artifact {entry.artifact[:12]}, paid for in row {charged}"
    if entry.kind == "charged":
        what = (
            _on(entry.period)
            + short_amount(header.unit, entry.cost)
            + (f"  artifact {artifact[:12]}" if artifact else "")
        )
    note = re.sub(r"\b([0-9a-f]{12})[0-9a-f]{52}\b", r"\1", entry.note)  # hashes of what was found
    line = f"{entry.sequence:5}  {entry.day}  {entry.kind:8}  {entry.plan_uid}  {what}  {note}"
    return line.rstrip()


def _as_json(header: Header, entries: tuple[Entry, ...]) -> dict[str, object]:
    booked = booked_in_periods(entries)
    by_period = {
        "periods": header.periods,
        "each": {
            period: {
                "booked": decimals(header.unit, spent),
                "left": decimals(header.unit, _left(header, spent)),
            }
            for period, spent in booked.items()
        },
        "together": in_words_together(header, entries),
    }
    spent = booked.get("", Quanta(0))
    one = {
        "booked": decimals(header.unit, spent),
        "left": decimals(header.unit, _left(header, spent)),
    }
    return {
        "dataset": header.dataset_id,
        "adjacency": header.adjacency,
        "unit": header.unit,
        **({"amounts_are_of": whose(entries[0].note)} if entries else {}),
        "cap": decimals(header.unit, header.cap),
        **(by_period if header.periods else one),
        "head": _head(header, entries),
        "rows": [
            {
                "sequence": entry.sequence,
                "day": entry.day,
                "kind": entry.kind,
                "plan_uid": entry.plan_uid,
                "plan_hash": entry.plan_hash,
                "cost": decimals(header.unit, entry.cost),
                "artifact": entry.artifact,
                "note": entry.note,
                **({"period": entry.period} if entry.period else {}),
                "conditional": entry.conditional,
                "head": entry.head,
            }
            for entry in entries
        ],
    }
