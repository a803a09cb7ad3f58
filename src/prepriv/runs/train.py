"""From a plan and raw rows to what may leave: the one way, for the estimator, the command line and the demo."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from prepriv.engines.engine import Room
from prepriv.mechanisms.session import Session
from prepriv.placed.rows import PrivateTable
from prepriv.plans.plan import Plan
from prepriv.runs.admit import admit
from prepriv.runs.run import Progress, Trained, execute, room_for
from prepriv.runs.self_audit import check_audit


def train(
    plan: Plan,
    rows: Any,
    labels: Any = None,
    *,
    ledger: str | os.PathLike[str] | None = None,
    session: Session | None = None,
    room: Room | None = None,
    progress: Progress | None = None,
    counted: bool = True,
    reached: Callable[[str], Any] | None = None,
    audit: int | None = None,
) -> Trained:
    """Carry out a plan on private rows (any table or matrix of the declared columns) and their labels, (n,).

    A stream (`prepriv.tables.stream.as_stream`: files, datasets, queries) is read part by part; labels: the name of its
    column (default: the domain's). rows can be a `PrivateTable`, too. room: where integers live (default: `room_for` the
    plan, half of what is free). ledger, session, counted, reached: as in `prepriv.runs.admit.admit`, which
    says what is refused, said and charged, and in which order. audit: how many canaries the run audits itself with (`check_audit`).

    Raises ValueError, with nothing charged, for rows or public tables that are not the plan's; a LedgerError, with no cell
    read, where no charge is granted; `Refused` where a test does not pass.
    """
    if audit is not None:
        check_audit(plan, audit)
    table = rows if isinstance(rows, PrivateTable) else PrivateTable(rows, labels, plan.domain, plan.n)
    paid = admit(
        plan,
        table,
        fits=[plan],
        room=lambda: room or room_for(plan),
        ledger=ledger,
        session=session,
        counted=counted,
        reached=reached,
    )
    return execute(
        plan,
        *paid.rows,
        paid.session,
        room=paid.room,
        progress=progress,
        receipt=paid.receipt,
        audit=audit,
    )
