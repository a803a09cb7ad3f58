"""The charge of a plan in a ledger, made before a private row is read: the same for the command line and Python."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from prepriv._arguments import shown
from prepriv._rounding import UP
from prepriv.drafted import Drafted
from prepriv.plans.priced import Priced


def check_ledger(path: Any) -> None:
    """ValueError unless it is None, the path of a file or the URL of a server, without a password. Nothing is opened."""
    if path is not None and not (isinstance(path, str | os.PathLike) and os.fspath(path)):
        raise ValueError(
            f"ledger must be None or the path of a ledger file, or a postgresql:// URL; got {shown(path)}"
        )


class LedgerSetting:
    """The setting `ledger` of an estimator: a URL that holds a password is refused before the estimator can show it."""

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else owner.__dict__.get("ledger")

    def __set__(self, owner: Any, value: Any) -> None:
        if value is not None:
            from prepriv.ledger.urls import check_no_password

            check_no_password(value)
        owner.__dict__["ledger"] = value


def charge(path: str | os.PathLike[str], plan: Priced, drafts: Sequence[Drafted] = ()) -> dict[str, Any]:
    """Charge the plan, see that the charge is there for this very plan, and return what the artifact carries.

    What `plan.what` says stands in the ledger, a note (`prepriv.ledger.Noted`) in front of it, with the conditions and remarks
    of the claim.
    The receipt: "plan_uid", "sequence" and "head" of the ledger, by which `verify` sees one that was rolled back; and what a reader
    of the artifact asks: "dataset", its declared name, "cap", and "total", all that was charged up to and with this charge.
    drafts: of the domain. Those whose charge this ledger holds have to be as it holds them, so an edited cost ends here.
    Raises ValueError for a plan without privacy, another adjacency or other units, or an edited draft, else a LedgerError (ledger/errors.py):
    then the private rows must not be read.
    """
    from prepriv.ledger import Ledger, LedgerError, Noted, condition_note
    from prepriv.ledger.currency import amount_in_words, cap_in_amounts
    from prepriv.runs.booked import check_drafts_booked

    if plan.guarantee is None:
        raise ValueError("ledger: a run without privacy cannot be charged")
    uid = secrets.token_hex(16)
    mu = plan.guarantee.mu  # None where the claim is no Gaussian curve: only epsilon and delta can be charged
    book = Ledger.open(path)
    if mu is None and book.header.unit != "basic":
        raise ValueError(
            f"ledger: it counts {book.header.unit!r}, and this claim has no single mu: charge it to a ledger of epsilon and delta"
        )
    check_drafts_booked(book, drafts)
    made = book.charge(
        uid,
        plan.hash,
        adjacency=plan.guarantee.adjacency,
        epsilon=plan.guarantee.epsilon(plan.delta),
        delta=plan.delta,
        mu=mu,
        rho=None if mu is None else mu * mu / 2 * UP,
        note=condition_note(
            plan.guarantee.conditions,
            plan.guarantee.weak,
            plan.what,
            plan.guarantee.unit,
            path.note if isinstance(path, Noted) else "",
        ),
        scheme="" if plan.periods is None else plan.periods.scheme,
        periods=() if plan.periods is None else plan.periods.read,
    )
    try:
        booked = book.confirm(uid, plan.hash)
    except LedgerError as error:
        why = str(error).removesuffix("; nothing was granted")
        raise type(error)(f"{why}; no row was read, and charge {made.sequence} stays") from None
    unit = book.header.unit
    return {
        "plan_uid": uid,
        "sequence": booked.sequence,
        "head": booked.head,
        "dataset": book.header.dataset_id,
        "cap": cap_in_amounts(unit, book.header.cap, book.header.periods),
        "total": amount_in_words(unit, booked.total)
        + (" in the period with the most" if book.header.periods else ""),
    }


def check_charged(path: str | os.PathLike[str] | None, receipt: Mapping[str, Any] | None) -> None:
    """ValueError for a ledger that a result has to be noted in, and was not charged to."""
    if path is not None and receipt is None:
        raise ValueError("ledger: this was not charged to a ledger, so none can hold its hash")


def released(
    path: str | os.PathLike[str] | None, receipt: Mapping[str, Any] | None, written: bytes, found: str = ""
) -> None:
    """`note_hash` of an artifact, once it is in place."""
    note_hash(path, receipt, hashlib.sha256(written).hexdigest(), found)


def of_page(text: str) -> str:
    """The note of a release whose page has a hash of its own, beside that of its JSON."""
    return f"page {hashlib.sha256(text.encode()).hexdigest()}"


def note_hash(
    path: str | os.PathLike[str] | None, receipt: Mapping[str, Any] | None, digest: str, found: str = ""
) -> None:
    """Write down a hash of what was released beside its charge, and what else was found (`found_note`). Nothing without path and receipt.

    Raises NotNoted where the ledger cannot be written, does not know the charge, or holds another artifact of it already.
    """
    if path is None or receipt is None:
        return
    from prepriv.ledger import Ledger, LedgerError, NotNoted, PlanRefused

    uid = receipt["plan_uid"]
    try:
        Ledger.open(path).released(uid, digest, note=found)
    except PlanRefused as error:
        why = str(error).removesuffix("; nothing was granted")
        raise NotNoted(
            f"the result is written, and its charge stays; its hash is not in the ledger: {why}. `prepriv ledger verify` will not "
            "accept this file for that charge"
        ) from None
    except LedgerError as error:
        why = str(error).removesuffix("; nothing was granted")
        raise NotNoted(
            f"the result is written, and its charge stays; its hash is not in the ledger: {why}. Once the ledger can be "
            f"written: Ledger.open(...).released({uid!r}, {digest!r}{f', note={found!r}' if found else ''})"
        ) from None
