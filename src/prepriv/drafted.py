"""What a private draft of a domain cost: declared beside the columns that it released, and carried by whatever uses them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prepriv._arguments import integer, number, shown

CHARGE = ("plan_uid", "sequence", "head")
"""What a draft keeps of the receipt of its charge."""
_KEYS = {"epsilon", "delta", "mu", "leak", "adjacency", "rows", "plan"}
_OPTIONAL = {"content", "declared_label", "ledger", "source", "unit"}


@dataclass(frozen=True)
class Drafted:
    """The events of a private draft. Its claim is computed from them (`prepriv.guarantees.drafts.of_draft`), never stored.

    Parameters
    ----------
    epsilon, delta : float
        The budget that was declared for the draft.
    mu : float
        Of its Gaussian releases together.
    leak : float
        The chance that a value of one record alone was released.
    adjacency : str
        What neighbours were.
    rows : int
        The declared number of records of the table that was drafted.
    plan : str
        SHA-256 of the plan of the draft: what a ledger holds of it.
    unit : str, optional
        The column that said whose row it is, where neighbours differed in a unit with all its rows: `rows` counts units.
    source : str, optional
        What gave the rows of that table (`prepriv.domain.Domain.source`).
    ledger : mapping, optional
        The receipt of its charge: "plan_uid", "sequence", "head".
    content : str, optional
        SHA-256 of the columns and the label that it drafted (`content_of`). None: a draft of an earlier version.
    declared_label : bool
        Whether its user declared the classes of the label, so that the draft released nothing about it.
    told : tuple of str
        What the draft left out, guessed and made noisy, as `prepriv schema init` prints it. Each line follows from what was
        released. It is not part of the plain data.
    """

    epsilon: float
    delta: float
    mu: float
    leak: float
    adjacency: str
    rows: int
    plan: str
    ledger: Mapping[str, Any] | None = None
    unit: str | None = None
    source: str | None = None
    content: str | None = None
    declared_label: bool = False
    told: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("epsilon", "mu"):
            object.__setattr__(self, name, number(name, getattr(self, name), above=0.0))
        object.__setattr__(self, "delta", number("delta", self.delta, above=0.0, below=1.0))
        object.__setattr__(self, "leak", number("leak", self.leak, at_least=0.0, below=1.0))
        object.__setattr__(self, "rows", integer("rows", self.rows))
        if not (isinstance(self.plan, str) and re.fullmatch("[0-9a-f]{64}", self.plan)):
            raise ValueError("drafted: plan must be the hash of the plan of a draft, 64 hexadecimal digits")
        if self.unit is not None and not (isinstance(self.unit, str) and 1 <= len(self.unit) <= 60):
            raise ValueError("drafted: unit must be the name of a column, 1 to 60 characters")
        check_source(self.source)
        if self.content is not None and not (
            isinstance(self.content, str) and re.fullmatch("[0-9a-f]{64}", self.content)
        ):
            raise ValueError("drafted: content must be the hash of what was drafted, 64 hexadecimal digits")
        if not isinstance(self.declared_label, bool):
            raise ValueError("drafted: declared_label must be true or false")
        if self.ledger is not None:
            object.__setattr__(self, "ledger", _receipt(self.ledger))

    @property
    def stated(self) -> str:
        """SHA-256 of all that it states but its receipt. A ledger holds it beside the charge, so an edit of any part is found."""
        said = {name: value for name, value in self.to_json().items() if name != "ledger"}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        out = {name: getattr(self, name) for name in sorted(_KEYS)}
        out |= {} if self.unit is None else {"unit": self.unit}
        out |= {} if self.source is None else {"source": self.source}
        out |= {} if self.content is None else {"content": self.content}
        out |= {"declared_label": True} if self.declared_label else {}
        return out | ({} if self.ledger is None else {"ledger": dict(self.ledger)})

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Drafted:
        """Inverse of `to_json`. Raises ValueError on anything malformed."""
        if not isinstance(data, Mapping) or data.keys() - _OPTIONAL != _KEYS:
            raise ValueError(
                f"drafted: a draft is declared by {', '.join(sorted(_KEYS))}, and maybe {', '.join(sorted(_OPTIONAL))}"
            )
        return Drafted(**data)


def content_of(columns: Sequence[Any], learned: Any) -> str:
    """The hash of what a draft declares. columns: as plain data, with names; learned: the classes, or the bounds of a target."""
    ordered = sorted(columns, key=lambda column: str(column["name"]))
    return hashlib.sha256(json.dumps([ordered, learned], sort_keys=True).encode()).hexdigest()


def check_source(source: Any) -> None:
    """ValueError unless it is None or a text that a claim can print."""
    if source is not None and not (isinstance(source, str) and source and source.isprintable()):
        raise ValueError(f"source must be a printable text; got {shown(source)}")


def declared_rows(source: str | None, unit: str | None) -> tuple[str, ...]:
    """What a record is, where a query or a reader gives the rows: a condition of each claim about them."""
    if source is None:
        return ()
    return (f"{'a record' if unit is None else 'each row of a unit'} is a row of {source}",)


def _receipt(data: Any) -> dict[str, Any]:
    if not isinstance(data, Mapping) or {*data} != {*CHARGE}:
        raise ValueError(f"drafted: ledger must hold {', '.join(CHARGE)}")
    uid, sequence, head = (data[key] for key in CHARGE)
    good = isinstance(uid, str) and isinstance(head, str) and type(sequence) is int
    if not (good and re.fullmatch("[!-~]{1,200}", uid) and re.fullmatch("[0-9a-f]{64}", head)):
        raise ValueError("drafted: ledger is not a receipt of a charge")
    return {"plan_uid": uid, "sequence": sequence, "head": head}
