"""What has to be said beside a claim that holds and yet says little: one place, whatever prints the claim."""

from __future__ import annotations

from collections.abc import Sequence

from prepriv.guarantees.printed import USELESS, down, exact, up

LARGE_EPSILON = 10.0
FEWEST_SIGNALS = (
    20.0  # n·µ: below, four tables said little more than their largest class (benchmarks/few_records.py)
)


class PrivacyWarning(UserWarning):
    """A claim that holds and says little, or a model that is mostly noise. Never depends on a record."""


_WEAK = "weak: "  # how a note on the claim begins; one on the model begins with "weak model"


def weak_claims(notes: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """(the parameter, why) of what makes a claim weak, of its notes: δ that is not below 1/n, and ε above 10. What makes a model weak is
    not among them."""
    found = (note.removeprefix(_WEAK) for note in notes if note.startswith(_WEAK))
    return tuple(("ε" if "ε" in why else "δ", why) for why in found)


def notes_on(epsilon: float, delta: float, n: int, mu: float) -> tuple[str, ...]:
    """The notes of a claim of (epsilon, delta) over n records with a whole budget of mu-GDP; none if all is well."""
    notes = []
    if delta * n >= 1:
        notes.append(
            f"weak: δ = {exact(delta)} should be well below 1/n = {down(1 / n, 3)} (n = {n:,}); publishing a record whole with "
            "probability δ would satisfy it"
        )
    if epsilon > LARGE_EPSILON:
        large = f"ε = {up(epsilon, 4)} is above 10" if epsilon < USELESS else "no useful bound: ε is above 10"
        notes.append(f"weak: {large} and rules out little of what can be learnt of a record")
    if n * mu < FEWEST_SIGNALS:
        notes.append(
            f"weak model: n·µ = {up(n * mu, 3)} is below {FEWEST_SIGNALS:g}: with so few records or so small a budget "
            "it is mostly noise"
        )
    return tuple(notes)
