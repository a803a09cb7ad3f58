"""Reading declared caps: every name is known, every share a number in [0, 1]."""

from __future__ import annotations

from prepriv import payment as pay


def known_caps(step: str, payment: pay.Way, *names: str) -> None:
    """ValueError if a payment by sensitivity declares a cap that the step does not have: a typo caps nothing."""
    unknown = sorted(set(payment.caps) - set(names))
    if unknown:
        has = f"it has {', '.join(names)}" if names else "it needs none"
        raise ValueError(f"{step} has no cap {unknown[0]!r}; {has}")


def shares(name: str, declared: object, columns: tuple[str, ...], default: float) -> list[float]:
    """One share for all columns, or a mapping by column name; ValueError for anything else."""
    if isinstance(declared, int | float):
        return [pay.check_fraction(f"{name} cap", declared)] * len(columns)
    if not isinstance(declared, dict):
        raise ValueError(f"{name} cap must be a number or a dict by column; got {type(declared).__name__}")
    unknown = sorted(str(c) for c in set(declared) - set(columns))
    if unknown:
        raise ValueError(f"{name} caps name {unknown[0]!r}, which is no column to impute")
    return [pay.check_fraction(f"{name} cap of {c!r}", declared.get(c, default)) for c in columns]
