"""Planted bugs: third-party code that counts on places, rounds by its block, makes gaps, or notes in its class."""

from __future__ import annotations

from mutant import Mutant

KIND = "our own: what third-party code is told, or keeps"
GAPS = "a premise of one thing, used of another"


def attacked(which: str) -> tuple[str, ...]:
    """The tests of third-party code whose name holds `which`."""
    return ("tests/attacks/test_third_party_code.py", "-k", which)


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "rows of units have public places",
        KIND,
        "preprocessing/said.py",
        'domain.adjacency == "replace-one" and domain.unit is None and not incoming.any_order',
        'domain.adjacency == "replace-one" and not incoming.any_order',
        attacked("by_places_that_are_not_public or order_of_rows or how_many_rows"),
    ),
    Mutant(
        "rows that are matched by content have public places",
        KIND,
        "preprocessing/said.py",
        "domain.unit is None and not incoming.any_order",
        "domain.unit is None",
        attacked("matched_by_content or order_of_rows"),
    ),
    Mutant(
        "a map is rehearsed in no place of a block",
        KIND,
        "pipeline/rehearsal.py",
        "    if not same or any((",
        "    if any((",
        attacked("by_places_that_are_not_public"),
    ),
    Mutant(
        "the last block of a third-party map is shorter",
        KIND,
        "pipeline/handed.py",
        "if len(x) < BLOCK else x\n",
        "if False else x\n",
        attacked("blocks_of_one_length or how_many_rows"),
    ),
    Mutant(
        "a third-party map is told the places of rows that have none",
        KIND,
        "pipeline/handed.py",
        "    known = training if has_places(domain, planned.incoming) else placeless(training)\n",
        "    known = training\n",
        attacked("how_many_rows"),
    ),
    Mutant(
        "a third-party fit reads blocks whatever their length",
        KIND,
        "pipeline/handed.py",
        "    read = one_by_one if singly else rows.__iter__\n",
        "    read = rows.__iter__\n",
        attacked("how_many_rows"),
    ),
    Mutant(
        "a third-party loss is shown the stored labels",
        KIND,
        "exact/gradient_sum.py",
        "    if is_ours(type(loss)):\n        return loss.residual",
        "    if True:\n        return loss.residual",
        attacked("third_party_loss_is_shown_copies"),
    ),
    Mutant(
        "the map for new rows is rehearsed as a whole",
        KIND,
        "pipeline/rehearsal.py",
        "    check_each_row(new, lambda x: array_of(new, prediction.transform(x)), rows.x)\n",
        "",
        attacked("new_rows_is_rehearsed"),
    ),
    Mutant(
        "a premise of gaps after a third-party step",
        GAPS,
        "pipeline/chain.py",
        "    if unknown and any(",
        "    if False and any(",
        attacked("premise_of_missing_cells"),
    ),
    Mutant(
        "a pass over any loss",
        KIND,
        "learners/one_pass.py",
        "        if not self.loss.says_convex():\n",
        "        if False:\n",
        attacked("says_it_is_convex"),
    ),
    Mutant(
        "a loss inherits that it is convex",
        KIND,
        "learners/losses.py",
        'return cls.convex and says(cls, Loss, "convex", ("residual", "value", "outputs"))',
        "return cls.convex",
        attacked("says_it_is_convex"),
    ),
    Mutant(
        "that a loss is convex is believed",
        KIND,
        "pipeline/rehearsal_training.py",
        "    if loss.says_convex():\n",
        "    if False:\n",
        attacked("says_it_is_convex"),
    ),
    Mutant(
        "a fit may count on the order of rows",
        KIND,
        "pipeline/chain.py",
        "    check_places(step, domain, incoming)\n",
        "",
        attacked("counts_on_the_order"),
    ),
    Mutant(
        "a third-party class holds what can change",
        KIND,
        "_copies.py",
        "            if name not in known and not _is_plain(value):\n",
        "            if False:\n",
        attacked("nobody_can_change or notes_outside"),
    ),
    Mutant(
        "what changes in a class is not seen",
        KIND,
        "_copies.py",
        "        if changed:\n",
        "        if False:\n",
        attacked("notes_outside"),
    ),
    Mutant(
        "the map for new rows follows from an earlier fit",
        KIND,
        "pipeline/rehearsal.py",
        "        if not step.paid.leaves:\n",
        "        if False:\n",
        attacked("earlier_one_noted"),
    ),
    Mutant(
        "an evaluation leaves its notes in the model",
        KIND,
        "evaluation/cells.py",
        "[placeless(copied(m)) for m in model.maps]",
        "[placeless(m) for m in model.maps]",
        attacked("rows_that_are_evaluated"),
    ),
    Mutant(
        "each process counts a share anew",
        "budget spent twice",
        "mechanisms/session.py",
        "        if os.getpid() != self._process:\n",
        "        if False:\n",
        attacked("forked_process"),
    ),
    Mutant(
        "a meter can be copied",
        "budget spent twice",
        "mechanisms/session.py",
        "    def __reduce_ex__(self, protocol",
        "    def _reduce_ex(self, protocol",
        attacked("is_not_copied"),
    ),
)
