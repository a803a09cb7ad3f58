"""Planted bugs: what happens before a private cell is read."""

from __future__ import annotations

from mutant import Mutant

ADMIT = ("tests/runs/test_admit.py", "-k")
DRAFTED = ("tests/plans/test_drafted.py", "-k")

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "weak claims that nobody says",
        "our own: δ = 0.3 was announced by five of eleven entry points",
        "runs/admit.py",
        "        say_weak(plan.guarantee)\n",
        "",
        (*ADMIT, "weak_claim"),
    ),
    Mutant(
        "a pure question of any ε is called strong",
        "our own: a count at ε = 50 without a word",
        "description/questions.py",
        "        return self._stated(Guarantee(approximate_dp(self.epsilon, 0.0), self.adjacency))\n",
        "        return Guarantee(approximate_dp(self.epsilon, 0.0), self.adjacency)\n",
        (*ADMIT, "weak_claim and count"),
    ),
    Mutant(
        "the form of the rows is seen after the charge",
        "our own: a transformer was charged for a table of another number of rows",
        "runs/admit.py",
        "    rows.check()\n",
        "",
        (*ADMIT, "another_form"),
    ),
    Mutant(
        "noise of a transformer that cannot be drawn is found in the run",
        "our own: found after the charge",
        "runs/preparation.py",
        "    check_noise(plan.steps if plan.private else ())\n",
        "",
        (*ADMIT, "cannot_be_drawn"),
    ),
    Mutant(
        "classes of a transformer are counted without labels",
        "our own: noisy counts of labels that were all 0",
        "runs/preparation.py",
        "if step.reads_labels or step.counts_classes is not None:",
        "if step.reads_labels:",
        (*ADMIT, "read_labels"),
    ),
    Mutant(
        "a warning made an error after the charge",
        "our own: a charge without a model",
        "runs/admit.py",
        "        say_weak(plan.guarantee)\n        if counted and session.private:\n            odometer.announce(plan, charged=ledger is not None)\n        if ledger is not None:\n            tell(CHARGING)\n            receipt = charge(ledger, plan)\n            tell(CHARGED)\n",
        "        if ledger is not None:\n            tell(CHARGING)\n            receipt = charge(ledger, plan)\n            tell(CHARGED)\n        say_weak(plan.guarantee)\n        if counted and session.private:\n            odometer.announce(plan, charged=ledger is not None)\n",
        (*ADMIT, "made_an_error"),
    ),
    Mutant(
        "a paid-for description is replaced",
        "our own: `evaluate` refused it, `describe` did not",
        "commands/outputs.py",
        '    writable_own(path, mark, f"not a {what} of this library")\n    if path.exists() and path.stat().st_size:\n',
        '    writable_own(path, mark, f"not a {what} of this library")\n    if False:\n',
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
    Mutant(
        "a report of a drafted domain that leaves out its draft",
        "our own: ε = 1 on a page whose bounds had cost 0.2 of the same people",
        "guarantees/drafts.py",
        "    whole = part.compose(*(of_draft(drafted, domain) for drafted in domain.drafts))\n",
        "    whole = part\n",
        (*DRAFTED, "says_both"),
    ),
    Mutant(
        "of two drafts the last one counts",
        "our own",
        "guarantees/drafts.py",
        "for drafted in domain.drafts))\n    kept",
        "for drafted in domain.drafts[-1:]))\n    kept",
        (*DRAFTED, "two_prices"),
    ),
    Mutant(
        "the chance of a lone value is in no total",
        "a threshold chosen at delta, and only epsilon reported",
        "guarantees/drafts.py",
        "    curve, mu = curve_of(drafted.mu, drafted.leak),",
        "    curve, mu = curve_of(drafted.mu, 0.0),",
        (*DRAFTED, "says_both or used_up"),
    ),
    Mutant(
        "a draft of other neighbours adds",
        "two kinds of neighbours in one sum",
        "domain.py",
        "            if (drafted.adjacency, drafted.unit) != (self.adjacency, self.unit):\n",
        "            if False:\n",
        (*DRAFTED, "other_neighbours"),
    ),
    Mutant(
        "a drafted schema without its price",
        "our own: it stood in a comment",
        "description/draft.py",
        '            "drafted": [self.drafted.to_json()],',
        '            "drafted": [],',
        (*DRAFTED, "remembers_its_ledger or speak_of"),
    ),
    Mutant(
        "a forged draft is believed",
        "an artifact that states its own guarantee",
        "guarantees/drafts.py",
        "    if not made.epsilon(drafted.delta) <= drafted.epsilon:\n",
        "    if False:\n",
        (*DRAFTED, "states_less or forged"),
    ),
    Mutant(
        "a second run on the command line is told nothing",
        "our own: ε = 1 each time, and nothing added up",
        "commands/train.py",
        "            say_earlier(out, frozen.domain,",
        "            (lambda *_: None)(out, frozen.domain,",
        (*DRAFTED, "second_run"),
    ),
)
