"""Planted bugs: what third-party code says of itself."""

from __future__ import annotations

from mutant import Mutant

WORDS = "tests/attacks/test_third_party_words.py"
KIND = "a word that is believed: third-party code"


def words(which: str) -> tuple[str, ...]:
    """The tests of such words whose name holds `which`."""
    return (WORDS, "-k", which)


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a step says less of the very rows",
        KIND,
        "mechanisms/handle.py",
        "if self.stated and math.isfinite(self.plain) and needed",
        "if not self.stated and math.isfinite(self.plain) and needed",
        words("no_step_says"),
    ),
    Mutant(
        "a constant of a parent is no code",
        KIND,
        "_said.py",
        "    return not left and not (",
        "    return left and not (",
        words("constant_of_a_parent"),
    ),
    Mutant(
        "the replay asks no loss",
        KIND,
        "audit/replay_pipeline.py",
        "in (*sorted(run.overspent), *lies)]",
        "in sorted(run.overspent)]",
        words("loss_of_a_target"),
    ),
    Mutant(
        "a transformer holds no row inside",
        KIND,
        "transformer.py",
        "for m in held(p, fitted, plan.domain)]",
        "for m in (fitted,)]",
        words("space_of_its_plan"),
    ),
)
