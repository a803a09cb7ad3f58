"""Whose row it is: asked at every first contact with a table, by the names of its columns and never by what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORDS = frozenset(
    [
        "id",
        "ids",
        "uid",
        "uuid",
        "guid",
        "pid",
        "ssn",
        "mrn",
        "nhs",
        "email",
        "mail",
        "phone",
        "mobile",
        "iban",
        "imei",
        "patient",
        "person",
        "user",
        "customer",
        "client",
        "member",
        "subject",
        "participant",
        "respondent",
        "employee",
        "student",
        "pupil",
        "household",
        "account",
        "device",
        "visitor",
        "passenger",
        "driver",
        "borrower",
        "policyholder",
    ]
)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def may_say_whose(names: Iterable[str]) -> list[str]:
    """The columns whose name suggests that they say whose row it is, in order.

    >>> may_say_whose(["age", "patient_id", "userName", "ID", "width", "paid"])
    ['patient_id', 'userName', 'ID']
    """
    return [name for name in names if _WORDS & {part.lower() for part in _PART.findall(name)}]


def one_row_one_person(names: Iterable[str]) -> str:
    """What a claim without a unit means, and which columns may say otherwise: one sentence."""
    said = (
        "one row, one person: the claim is about single rows, so a person with several rows is protected less"
    )
    if found := may_say_whose(names):
        listed = ", ".join(map(repr, found[:5]))
        return f"{said}; by its name {listed} may say whose row it is: then declare unit and rows_per_unit (docs/units.md)"
    return said
