"""Planted bugs: what happens before a private cell is read."""

from __future__ import annotations

from mutant import Mutant

ADMIT = ("tests/pipeline/test_admit.py", "-k")

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "weak claims that nobody says",
        "our own: δ = 0.3 was announced by five of eleven entry points",
        "pipeline/admit.py",
        "        say_weak(plan.guarantee)\n",
        "",
        (*ADMIT, "weak_claim"),
    ),
    Mutant(
        "a pure question of any ε is called strong",
        "our own: a count at ε = 50 without a word",
        "description/questions.py",
        "        return Guarantee(approximate_dp(self.epsilon, 0.0), self.adjacency, notes=weak)\n",
        "        return Guarantee(approximate_dp(self.epsilon, 0.0), self.adjacency)\n",
        (*ADMIT, "weak_claim and count"),
    ),
    Mutant(
        "the form of the rows is seen after the charge",
        "our own: a transformer was charged for a table of another number of rows",
        "pipeline/admit.py",
        "    rows.check()\n",
        "",
        (*ADMIT, "another_form"),
    ),
    Mutant(
        "noise of a transformer that cannot be drawn is found in the run",
        "our own: found after the charge",
        "pipeline/preparation.py",
        "    check_noise(plan.steps if plan.private else ())\n",
        "",
        (*ADMIT, "cannot_be_drawn"),
    ),
    Mutant(
        "classes of a transformer are counted without labels",
        "our own: noisy counts of labels that were all 0",
        "pipeline/preparation.py",
        "if step.reads_labels or step.counts_classes is not None:",
        "if step.reads_labels:",
        (*ADMIT, "read_labels"),
    ),
    Mutant(
        "a warning made an error after the charge",
        "our own: a charge without a model",
        "pipeline/admit.py",
        "        say_weak(plan.guarantee)\n        if counted and session.private:\n            odometer.announce(plan, charged=ledger is not None or receipt is not None)\n        if ledger is not None:\n            tell(CHARGING)\n            receipt = charge(ledger, plan)\n            tell(CHARGED)\n",
        "        if ledger is not None:\n            tell(CHARGING)\n            receipt = charge(ledger, plan)\n            tell(CHARGED)\n        say_weak(plan.guarantee)\n        if counted and session.private:\n            odometer.announce(plan, charged=ledger is not None or receipt is not None)\n",
        (*ADMIT, "made_an_error"),
    ),
    Mutant(
        "a paid-for description is replaced",
        "our own: `evaluate` refused it, `describe` did not",
        "commands/common.py",
        '    writable_own(path, mark, f"no {what} of this library")\n    if path.exists() and path.stat().st_size:\n',
        '    writable_own(path, mark, f"no {what} of this library")\n    if False:\n',
        (*ADMIT, "not_replaced"),
    ),
    Mutant(
        "room for a choice is asked for after its charge",
        "our own: a full disk found when everything is paid",
        "evaluation/choose.py",
        "        room=lambda: _room_for_each(plan.chosen.plans),\n",
        "",
        (*ADMIT, "asks_for_room"),
    ),
)
