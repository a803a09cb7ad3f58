"""Whose row it is: asked at every first contact with a table, by the names of its columns and never by what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable

_IDS = frozenset(
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
        "iban",
        "imei",
        "idcode",
        "idno",
        "idnr",
        "idnum",
        "idnumber",
    ]
)
_STEMS = frozenset(
    [
        "acct",
        "case",
        "cust",
        "emp",
        "family",
        "fam",
        "hh",
        "ind",
        "indiv",
        "part",
        "pat",
        "pers",
        "resp",
        "stud",
        "subj",
    ]
)
"""Before `id` in one word: `caseid`, `hhid`, `personid`; `paid` and `covid` are others."""
_WHO = frozenset(
    [
        "patient",
        "person",
        "user",
        "customer",
        "client",
        "member",
        "subject",
        "participant",
        "respondent",
        "worker",
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
        "email",
        "mail",
        "phone",
        "mobile",
    ]
)
_NAMED = frozenset(["no", "nr", "num", "number", "key", "code", "name", "hash", "ref"])
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def may_say_whose(names: Iterable[str]) -> list[str]:
    """The columns whose name suggests that they say whose row it is, in order.

    A kind of person or thing counts only without another noun after it: `customer` and `customer_no`, not `customer_segment`.

    >>> may_say_whose(["age", "patient_id", "userName", "ID", "width", "paid", "patient_class", "idcode", "hhid", "covid"])
    ['patient_id', 'userName', 'ID', 'idcode', 'hhid']
    """
    return [name for name in names if _says_whose([part.lower() for part in _PART.findall(name)])]


def _says_whose(parts: list[str]) -> bool:
    if _IDS & set(parts) or any(part.endswith("id") and part[:-2] in _WHO | _STEMS for part in parts):
        return True
    after = [*parts[1:], "no"]
    return any(a in _WHO and (b in _NAMED or b.isdigit()) for a, b in zip(parts, after, strict=True))


def one_row_one_person(names: Iterable[str]) -> str:
    """What a claim without a unit means, and which columns may say otherwise: one sentence."""
    said = (
        "one row, one person: the claim is about single rows, so a person with several rows is protected less"
    )
    if found := may_say_whose(names):
        listed = ", ".join(map(repr, found[:5]))
        return f"{said}; by its name {listed} may say whose row it is: then declare unit and rows_per_unit (docs/units.md)"
    return said
