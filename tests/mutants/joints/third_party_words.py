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
    Mutant(
        "a distance is rehearsed at no rows that break its caps",
        KIND,
        "rehearsals/tested.py",
        "    for one, two in _ends(planned.before, domain):\n",
        "    for one, two in ():\n",
        words("distance_is_rehearsed"),
    ),
    Mutant(
        "a distance is rehearsed at the ends alone",
        KIND,
        "rehearsals/tested.py",
        "return sorted({0, self.n // 2, self.n - 1, *near})",
        "return [0, self.n - 1]",
        words("distance_is_rehearsed"),
    ),
    Mutant(
        "a map of ours leaves with all that stands beside it",
        KIND,
        "preprocessing/maps.py",
        "    ours = is_ours(type(step)) and is_ours(type(released))\n",
        "    ours = is_ours(type(released))\n",
        words("map_of_ours"),
    ),
    Mutant(
        "any kind of RowShift",
        KIND,
        "preprocessing/said.py",
        "    if type(out) is not RowShift:",
        "    if not isinstance(out, RowShift):",
        words("row_shift"),
    ),
)
