"""`Ledger`: create, charge, record a release, verify."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from prepriv.ledger import currency, hash_chain, sql_rows, sql_schema
from prepriv.ledger.currency import Amount, Number
from prepriv.ledger.errors import BudgetExceeded, LedgerCorrupt, LedgerUnavailable, PlanRefused
from prepriv.ledger.hash_chain import Entry, Header, Tail
from prepriv.ledger.places import locate
from prepriv.ledger.sql_rows import Connection, Store
from prepriv.ledger.verification import Charge, header_problems, inspect, is_far, utc_date, verify

_LOOKS_HASHED = re.compile(r"[0-9a-fA-F]{32,}")


class Ledger:
    """The privacy budget of one declared data set. It is kept in one file or on one server, and rows are only added.

    `Ledger.create` makes one, and `Ledger.open` opens one. Estimators take its path or URL as `ledger=`.

    Attributes
    ----------
    header : Header
        What was declared when it was made: data set, adjacency, unit and cap.

    Notes
    -----
    Everything that is released under charges of this ledger satisfies the cap, even if each plan is chosen after
    seeing what earlier plans released (docs/proofs/ledger.md). The running total is bookkeeping, not a guarantee of
    its own: if you stop at a total that was chosen by looking at outputs, that total is not a valid claim.

    A plan is charged once, in full, before a record is read. An early stop, an abort or an error after that gives
    nothing back. Threads and forked processes can share the object safely.

    Examples
    --------
    >>> import tempfile; folder = tempfile.mkdtemp()
    >>> from prepriv.ledger import Ledger
    >>> ledger = Ledger.create(f"{folder}/census.db", "census-2020", epsilon=1.0, delta=1e-5)
    >>> ledger.charge("run-1", "0" * 64, epsilon=0.3, delta=1e-6, adjacency="replace-one").sequence
    1
    >>> ledger.remaining().epsilon
    0.7
    """

    def __init__(self, store: Store, header: Header, tail: Tail) -> None:
        """Not for direct use: `create` makes a ledger, `open` opens one."""
        self.header = header
        self._store = store
        # The verified past. Assigned whole, so threads may race for it: each value is a true prefix.
        self._tail = tail

    def __repr__(self) -> str:
        """Which ledger it is. What was spent is not read: `remaining` and `entries` do."""
        return f"<Ledger of {self.header.dataset_id!r} in {self.name}, {self.header.unit}, {self.header.adjacency}>"

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        dataset_id: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        mu: Number | None = None,
        rho: Number | None = None,
        unit: str = "basic",
        adjacency: str = "replace-one",
        periods: str = "",
        timeout: float = 10.0,
    ) -> Ledger:
        """Create the ledger of a data set. Its cap, unit and adjacency can never be changed.

        Parameters
        ----------
        path : path or URL
            A file on a local disk that does not exist yet, or a place on a server, as in `open`.
        dataset_id : str
            A declared name, 1 to 200 printable characters. Do not use a hash of the data: it would tell anyone who
            has a candidate data set whether it is this one.
        epsilon, delta : number, optional
            The cap in unit "basic".
        mu : number, optional
            The cap in unit "gdp".
        rho : number, optional
            The cap in unit "zcdp".
        unit : {"basic", "zcdp", "gdp"}, default "basic"
            "basic" adds up epsilon and delta, and both have a cap. "zcdp" adds up rho. "gdp" adds up mu^2, and its
            cap is given as mu. The cap is rounded down to the ledger's quantum (currency.py).
        adjacency : {"replace-one", "add-or-remove-one"}, default "replace-one"
            The neighbours that every charge must refer to.
        periods : str, default ""
            "month of `COLUMN`" or "year of `COLUMN`": each month or year, by this column of dates, has the whole cap,
            and a charge names the periods whose rows it reads. Only under "add-or-remove-one", because a replaced
            record could move to another period. Empty: the data set has one budget.
        timeout : float, default 10.0
            How many seconds to wait for other processes.

        Returns
        -------
        Ledger

        Raises
        ------
        ValueError
            For bad input, or a file that exists.
        LedgerUnavailable
            Where the file cannot be written.

        Warns
        -----
        UserWarning
            If the cap has room for fewer than five fits at their default delta, 1e-5. Delta adds up as epsilon does.
        """
        known_unit = currency.check_currency(unit)
        header = Header(
            _check_dataset_id(dataset_id),
            _check_adjacency(adjacency),
            known_unit,
            currency.cap(known_unit, epsilon=epsilon, delta=delta, mu=mu, rho=rho),
            _check_scheme(periods, adjacency),
        )
        store = locate(path, timeout)
        store.create(header)
        if few := currency.few_fits(known_unit, header.cap):
            warnings.warn(f"{store.name}: {few}", UserWarning, stacklevel=2)
        return cls(store, header, Tail.start(header))

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, timeout: float = 10.0) -> Ledger:
        """Open a ledger after checking all of it (`verify_file`).

        Parameters
        ----------
        path : path or URL
            A file, or "postgresql://user@host/database?ledger=NAME" (needs `prepriv[postgres]`). One database can
            hold many ledgers. NAME consists of a-z, 0-9 and _, and is "ledger" if it is not given.
        timeout : float, default 10.0
            How many seconds to wait for other processes.

        Returns
        -------
        Ledger

        Raises
        ------
        LedgerUnavailable
            If it is missing, out of reach, locked for longer than `timeout`, or of a newer format.
        LedgerCorrupt
            If anything in it is wrong.
        """
        store = locate(path, timeout)
        inspection = inspect(store)
        if inspection.problems or inspection.header is None:
            raise LedgerCorrupt(f"{store.name}: {'; '.join(inspection.problems[:3])}")
        return cls(store, inspection.header, inspection.tail)

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self._store.name

    @property
    def path(self) -> Path:
        """The file. AttributeError for a ledger on a server."""
        if isinstance(path := getattr(self._store, "path", None), Path):
            return path
        raise AttributeError(f"{self.name} has no path: it is not a file")

    @property
    def cap(self) -> Amount:
        """The most that everything released through this ledger may cost together."""
        return currency.amount_of(self.header.unit, self.header.cap)

    @property
    def booked(self) -> currency.Quanta:
        """What was charged, exactly. ValueError in a ledger by periods. Other errors as in `charge`."""
        return self.booked_of("")

    def booked_of(self, period: str) -> currency.Quanta:
        """What was charged to one period, exactly. Errors as in `charge`."""
        self._check_period(period)
        with self._store.transaction(write=False) as db:
            tail = self._catch_up(db)
            return sql_rows.spent_before(db, period, tail.sequence + 1) if period else tail.spent

    def remaining(self, period: str = "") -> Amount:
        """What can still be charged; in a ledger by periods, to this period. Errors as in `charge`."""
        cap, spent = self.header.cap, self.booked_of(period)
        return currency.amount_of(
            self.header.unit, currency.Quanta(cap.main - spent.main, cap.delta - spent.delta)
        )

    def charge(
        self,
        plan_uid: str,
        plan_hash: str,
        *,
        adjacency: str,
        epsilon: Number | None = None,
        delta: Number | None = None,
        mu: Number | None = None,
        rho: Number | None = None,
        note: str = "",
        scheme: str = "",
        periods: Iterable[str] = (),
    ) -> Charge:
        """Book the whole cost of a plan. The charge is on disk when this returns. Read the data only after that.

        Parameters
        ----------
        plan_uid : str
            A name for this run of the plan, 1 to 128 characters of A-Z a-z 0-9 . _ - A retry needs a new uid and is
            charged again.
        plan_hash : str
            SHA-256 of the frozen plan, 64 lower-case hexadecimal digits.
        adjacency : str
            The adjacency under which the amounts hold. It must be that of the ledger.
        epsilon, delta, mu, rho : number, optional
            What the plan costs by its proof, known before any data is read. The amounts of the ledger's unit must be
            given and are booked, rounded up. The others are not counted.
        note : str, default ""
            At most 200 printable characters, written before a record is read, so never about the data. A note that
            begins with "one `COLUMN`: " says that the amounts are for a unit of several rows. Amounts for units and
            for records do not add up, so all charges of a ledger must be of one kind.
        scheme : str, default ""
            Which kind of periods these are. It must be that of the ledger (`Header.periods`).
        periods : iterable of str, default ()
            In a ledger by periods: the periods whose rows the plan reads, and it must read no other row. The whole
            cost is booked on each of them, or on none. Empty otherwise.

        Returns
        -------
        Charge
            The number of its (last) row, and the head of the chain after it.

        Raises
        ------
        ValueError
            For bad input. Nothing was written. The same holds for the next two.
        BudgetExceeded
            If it does not fit.
        PlanRefused
            If the uid was charged before.
        LedgerUnavailable, LedgerCorrupt
            Nothing was granted (see errors.py).
        """
        _check_plan(plan_uid, plan_hash)
        _check_note(note)
        if _check_adjacency(adjacency) != self.header.adjacency:
            raise ValueError(f"adjacency must be the ledger's, {self.header.adjacency!r}; got {adjacency!r}")
        charged = self._check_periods(scheme, periods)
        unit, cap = self.header.unit, self.header.cap
        cost = currency.cost_in_quanta(unit, epsilon=epsilon, delta=delta, mu=mu, rho=rho)
        with self._store.transaction(write=True) as db:
            tail = self._catch_up(db)
            day = _today(tail)
            first = next(sql_rows.read_entries(db, 0), None)
            if first is not None and hash_chain.whose(first.note) != hash_chain.whose(note):
                raise ValueError(
                    f"the ledger's charges are of {hash_chain.whose(first.note)} each, and this one is of {hash_chain.whose(note)}: they do "
                    "not add; use a ledger of its own"
                )
            if sql_rows.find_entries(db, "charged", plan_uid):
                raise PlanRefused(
                    f"plan {plan_uid} was charged before; a retry is a new uid and a new charge"
                )
            for period in charged:
                tail = self._of(db, tail, period)
                if not (tail.spent + cost).fits(cap):  # what was appended for other periods is rolled back
                    left = currency.Quanta(cap.main - tail.spent.main, cap.delta - tail.spent.delta)
                    raise BudgetExceeded(
                        f"the plan costs {currency.short_amount(unit, cost)}, and {currency.short_amount(unit, left, left=True)} is left"
                        f"{period and f' of {period}'}{_smaller_delta(unit, cost, left)}"
                    )
                entry = hash_chain.extend(
                    tail, "charged", plan_uid, plan_hash, day=day, cost=cost, note=note, period=period
                )
                sql_rows.append(db, entry)
                tail = Tail.after(entry)
        self._tail = tail
        return Charge(entry.sequence, entry.head)

    def confirm(self, plan_uid: str, plan_hash: str) -> Charge:
        """Give the committed charge of exactly this plan. Call it right before a record is read.

        Parameters
        ----------
        plan_uid : str
            The uid of the charge.
        plan_hash : str
            The hash of the plan that is about to run.

        Returns
        -------
        Charge

        Raises
        ------
        ValueError
            For a malformed uid or hash.
        PlanRefused
            If there is no charge, if it is for another plan hash, or if the run was released already.
        LedgerUnavailable, LedgerCorrupt
            As in `charge`.
        """
        _check_plan(plan_uid, plan_hash)
        with self._store.transaction(write=False) as db:
            self._catch_up(db)
            rows = _charged(db, plan_uid, plan_hash)
            if sql_rows.find_entries(db, "released", plan_uid):
                raise PlanRefused(
                    f"plan {plan_uid} was released before; a new run is a new uid and a new charge"
                )
        most = currency.Quanta(max(row.spent.main for row in rows), max(row.spent.delta for row in rows))
        return Charge(rows[-1].sequence, rows[-1].head, most)

    def released(self, plan_uid: str, artifact_sha256: str, *, note: str = "") -> None:
        """Record that the artifact of a charged plan is published. Call it after the artifact is safely in place; a second record of
        the same artifact changes nothing.

        Parameters
        ----------
        plan_uid : str
            The uid of the charge.
        artifact_sha256 : str
            The SHA-256 of the artifact's public bytes, 64 lower-case hexadecimal digits.
        note : str, default ""
            At most 200 printable characters, about what was released under this charge and nothing else. `Model.save`
            writes hashes of the counts of a score there.

        Raises
        ------
        ValueError
            For a malformed uid or hash.
        PlanRefused
            If the plan was not charged, or was released before as another artifact.
        LedgerUnavailable, LedgerCorrupt
            As in `charge`.
        """
        _check_plan(plan_uid, artifact_sha256, name="artifact_sha256")
        _check_note(note)
        with self._store.transaction(write=True) as db:
            tail = self._catch_up(db)
            charged = _charged(db, plan_uid)[-1]
            if held := sql_rows.find_entries(db, "released", plan_uid):
                if (held[-1].artifact, held[-1].note) == (artifact_sha256, note):
                    return
                raise PlanRefused(f"plan {plan_uid} was released before, as another file")
            entry = hash_chain.extend(
                self._of(db, tail, charged.period),
                "released",
                plan_uid,
                charged.plan_hash,
                day=tail.day,
                artifact=artifact_sha256,
                note=note,
                period=charged.period,
            )
            sql_rows.append(db, entry)
        self._tail = Tail.after(entry)

    def entries(self) -> tuple[Entry, ...]:
        """All rows, verified, oldest first. Raises LedgerUnavailable or LedgerCorrupt."""
        inspection = inspect(self._store)
        if inspection.problems:
            raise LedgerCorrupt(f"{self.name}: {'; '.join(inspection.problems[:3])}")
        return inspection.entries

    def verify(self, receipts: Iterable[Charge] = ()) -> list[str]:
        """`verify_file` on this ledger. In addition, everything that this object has seen of the ledger before must still be there."""
        seen = self._tail
        return verify(self._store, (*receipts, Charge(seen.sequence, seen.head)))

    def _catch_up(self, db: Connection) -> Tail:
        """Check what was added since the verified tail, and that the tail itself is still there."""
        problems = self._store.problems(db) or header_problems(db, self.header)
        tail = self._tail
        if not problems and tail.sequence:
            row = next(sql_rows.read_entries(db, tail.sequence - 1), None)
            if row is None or row.head != tail.head or row.digest() != tail.head:
                problems = ["rows that were there are gone or changed: the ledger was rolled back or edited"]
        for entry in sql_rows.read_entries(db, tail.sequence) if not problems else ():
            before = (
                replace(tail, spent=sql_rows.spent_before(db, entry.period, entry.sequence))
                if entry.period
                else tail
            )
            problems = problems or hash_chain.check_entry(self.header, before, entry)
            tail = Tail.after(entry)
        if problems:
            raise LedgerCorrupt(f"{self.name}: {problems[0]}; nothing was granted")
        self._tail = tail
        return tail

    def _of(self, db: Connection, tail: Tail, period: str) -> Tail:
        """The tail with the total of a period."""
        return replace(tail, spent=sql_rows.spent_before(db, period, tail.sequence + 1)) if period else tail

    def _check_period(self, period: str) -> None:
        if not isinstance(period, str) or not self.header.has(period):
            kinds = {"month": "months such as 2026-11", "year": "years such as 2026"}
            has = kinds.get(self.header.periods.partition(" ")[0], "no periods")
            raise ValueError(f"the ledger has {has}; got {period!r:.40}")

    def _check_periods(self, scheme: str, periods: Iterable[str]) -> tuple[str, ...]:
        """What a charge is booked on: distinct periods of the ledger's own scheme, or ("",) without periods."""
        own = self.header.periods
        if scheme != own:
            mine = f"has one budget for each {own}" if own else "has one budget for all rows"
            theirs = f"rows of one {scheme}" if scheme else "all rows"
            raise ValueError(f"this ledger {mine}, and the plan reads {theirs}: use a ledger that fits it")
        charged = tuple(dict.fromkeys(periods)) if own else ("",)
        if not charged:
            raise ValueError("periods must name at least one: those whose rows the plan reads")
        for period in charged:
            self._check_period(period)
        return charged


def _charged(db: Connection, plan_uid: str, plan_hash: str | None = None) -> list[Entry]:
    entries = sql_rows.find_entries(db, "charged", plan_uid)
    if not entries:
        raise PlanRefused(f"plan {plan_uid} was never charged; charge it before a record is read")
    if plan_hash is not None and any(entry.plan_hash != plan_hash for entry in entries):
        raise PlanRefused(f"plan {plan_uid} was charged with another plan hash: the plan was edited since")
    return entries


def _today(tail: Tail) -> str:
    today = utc_date()
    if is_far(tail.day, today):
        raise LedgerUnavailable(
            f"the clock says {today}, before the last charge ({tail.day}): set it right; nothing was granted"
        )
    return max(today, tail.day)


def _check_dataset_id(dataset_id: str) -> str:
    if not isinstance(dataset_id, str) or not dataset_id.isprintable() or not 1 <= len(dataset_id) <= 200:
        raise ValueError("dataset_id must be 1 to 200 printable characters")
    if _LOOKS_HASHED.fullmatch(dataset_id):
        raise ValueError(
            "dataset_id must be a declared name; this looks like a hash, which would identify the data"
        )
    return dataset_id


def _check_adjacency(adjacency: str) -> str:
    if adjacency not in sql_schema.ADJACENCIES:
        raise ValueError(f"adjacency must be one of {', '.join(sql_schema.ADJACENCIES)}; got {adjacency!r}")
    return adjacency


def _check_scheme(periods: str, adjacency: str) -> str:
    if periods == "":
        return periods
    if not isinstance(periods, str) or not hash_chain.is_scheme(periods):
        raise ValueError(f"periods must be 'month of `COLUMN`' or 'year of `COLUMN`'; got {periods!r:.60}")
    if adjacency != sql_schema.OF_PERIODS:
        raise ValueError(
            f"a ledger by periods is under {sql_schema.OF_PERIODS}: a record that is replaced could move to another period"
        )
    return periods


def _check_plan(plan_uid: str, sha256: str, name: str = "plan_hash") -> None:
    if not isinstance(plan_uid, str) or sql_schema.malformed({"plan_uid": plan_uid}):
        raise ValueError("plan_uid must be 1 to 128 of A-Z a-z 0-9 . _ -")
    if not isinstance(sha256, str) or sql_schema.malformed({"plan_hash": sha256}):
        raise ValueError(f"{name} must be a SHA-256 in 64 lower-case hexadecimal digits")


def _check_note(note: str) -> None:
    if not isinstance(note, str) or not note.isprintable() or len(note) > 200:
        raise ValueError("note must be at most 200 printable characters")


def _smaller_delta(unit: currency.Currency, cost: currency.Quanta, left: currency.Quanta) -> str:
    """The way out where delta alone does not fit."""
    if left.delta >= cost.delta or cost.main > left.main:
        return ""
    if left.delta == 0:
        return f". Epsilon fits, but delta is used up: no run that has one fits any more. {currency.no_delta_left()}"
    part = currency.amount_of(unit, currency.Quanta(0, max(left.delta // 10, 1))).delta
    return (
        f". Epsilon fits and delta does not: declare a smaller one, such as --delta {part:.2g} (delta={part:.2g} in Python), a tenth of "
        "what is left, so that later runs fit, too"
    )
