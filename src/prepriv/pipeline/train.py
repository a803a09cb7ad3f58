"""From a plan and raw rows to what may leave: the one way, for the estimator, the command line and the demo."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from prepriv.engines.base import Room
from prepriv.mechanisms.session import ExactSession, NoisySession, Session
from prepriv.pipeline.apart import check_apart
from prepriv.pipeline.charge import charge
from prepriv.pipeline.plan import Plan
from prepriv.pipeline.public import check_public
from prepriv.pipeline.rows import private_rows
from prepriv.pipeline.run import Progress, Trained, check_files, execute, room_for
from prepriv.tables.encode import check_stream, label_of
from prepriv.tables.readers import BadData
from prepriv.tables.stream import as_stream
from prepriv.tables.units import check_units


def train(
    plan: Plan,
    rows: Any,
    labels: Any = None,
    *,
    ledger: str | os.PathLike[str] | None = None,
    receipt: Mapping[str, Any] | None = None,
    session: Session | None = None,
    room: Room | None = None,
    progress: Progress | None = None,
    counted: bool = True,
    checked: bool = False,
) -> Trained:
    """Carry out a plan on private rows (any table or matrix of the declared columns) and their labels, (n,).

    A stream (`prepriv.tables.stream.as_stream`: files, datasets, queries) is read part by part; labels: the name of its
    column (default: the domain's). room: where integers live (default: `room_for` the plan, half of what is free).

    ledger: charged before a cell is read; receipt: of a charge made before. session: where noise comes from (default:
    the operating system's, or none for a plan without privacy). counted: False where the rows are public or made up.
    checked: whether the caller has seen that public tables are good (`check_public`).

    Raises ValueError, with nothing charged, for public tables that are no good or not apart from the private rows; a
    LedgerError, with no cell read, where no charge is granted; `Refused` where a test does not pass.
    """
    check_apart(plan.pipeline, rows, labels)
    if plan.domain.unit is not None:
        check_units(rows, plan.domain)
    stream = as_stream(rows)
    if stream is not None and receipt is None:  # a charge that was made is for a table not yet opened
        check_stream(stream, plan.domain, label_of(labels, plan.domain))
    if not checked:
        check_public(plan)
    if session is None:
        session = NoisySession() if plan.private else ExactSession()
    room = room or room_for(plan)
    if receipt is None:
        check_files(room, stream)
    receipt = charge(ledger, plan) if ledger is not None else receipt
    # no cell before
    table, targets = private_rows(
        rows if stream is None else stream, labels, plan.domain, n=plan.n, memory=room.memory
    )
    if stream is not None and plan.domain.adjacency == "replace-one" and table.n != plan.n:
        raise BadData(
            f"the plan is for {plan.n} records, which is not what the table has; a quoted cell may hold line breaks: count "
            "records, not lines"
        )
    return execute(
        plan,
        table,
        targets,
        session,
        room=room,
        progress=progress,
        receipt=receipt,
        counted=counted,
    )
