"""Planted bugs: what a claim rests on, and of which rows."""

from __future__ import annotations

from mutant import Mutant

PARTS = "tests/evaluation/test_premises_of_parts.py"
WORDS = "tests/attacks/test_premises_in_words.py"
EVENTS = "tests/guarantees/test_dp_events.py"


def read(which: str) -> tuple[str, ...]:
    """The reader of one premise's sentence."""
    return (WORDS, "-k", f"sentence_alone and {which}")


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a premise of the whole table, used of a part that coins chose",
        "a condition of the whole, used of a part",
        "runs/premises.py",
        "    if not premise.inherited:\n",
        "    if False:\n",
        (PARTS, "-k", "gap"),
    ),
    Mutant(
        "a premise on ranks that says every part inherits it",
        "a condition of the whole, used of a part",
        "preprocessing/_columns.py",
        "    column: PremiseColumn\n\n    @abc.abstractmethod\n",
        "    column: PremiseColumn\n    inherited = True\n\n    @abc.abstractmethod\n",
        (PARTS, "-k", "refused and (gap or spread)"),
    ),
    Mutant(
        "a cap on missing cells that is a share of the part",
        "a condition of the whole, used of a part",
        "runs/premises.py",
        "    counted = declared.of_part(whole)\n",
        "    counted = declared\n",
        (PARTS, "-k", "exactly_true or absolute"),
    ),
    Mutant(
        "neighbours after a fit on the part, as if the fit were of all rows",
        "a condition of the whole, used of a part",
        "runs/premises.py",
        "        fitted += [planned.step.name] if planned.step.paid.private else []\n",
        "        fitted += []\n",
        (PARTS, "-k", "after"),
    ),
    Mutant(
        "a choice among candidates that asks nothing of their premises",
        "a condition of the whole, used of a part",
        "evaluation/choose.py",
        "of_part(_planned(k, c, domain, sizes[min(k, len(sizes) - 1)], each, delta)[0], n)",
        "_planned(k, c, domain, sizes[min(k, len(sizes) - 1)], each, delta)[0]",
        (PARTS, "-k", "chosen or choice"),
    ),
    Mutant(
        "an untested premise on rows after a noisy map",
        "a condition nobody can check",
        "placed/chain.py",
        "        _check_fixed(placed, planned, domain)\n",
        "",
        ("tests/attacks/test_chained_tests.py", "-k", "noisy_map"),
    ),
    Mutant(
        "a sentence on missing cells that is silent on the unreadable ones",
        "a sentence weaker than its check",
        "preprocessing/impute_caps.py",
        'return f"a cell {NO_NUMBER} counts as missing"',
        'return "records are those of the table"',
        read("FewMissing"),
    ),
    Mutant(
        "a sentence that does not say that numbers are cut and scaled",
        "a sentence weaker than its check",
        "columns.py",
        '        rules.append("numbers are cut at their declared bounds, which become 0 and 1")\n',
        "        pass\n",
        read("Curved"),
    ),
    Mutant(
        "a sentence that does not say what a gap is filled with",
        "a sentence weaker than its check",
        "columns.py",
        '            rules.append(f"a cell{where} {NO_NUMBER} is {becomes}")\n',
        "            pass\n",
        (WORDS, "-k", "sentence_alone and Spread"),
    ),
    Mutant(
        "labels that are not declared, as if each were a label of its own",
        "a sentence weaker than its check",
        "domain.py",
        'labels = "all labels that are not declared are one label"',
        'labels = "as they are"',
        read("label"),
    ),
    Mutant(
        "a spectrum without units",
        "a sentence weaker than its check",
        "preprocessing/_projector.py",
        '        return f", {radius_units(self.radius)}"\n',
        '        return ""\n',
        read("Tail"),
    ),
    Mutant(
        "an event without the conditions of the guarantee",
        "a guarantee without its premises",
        "guarantees/dp_events.py",
        "    if apart := _apart(guarantee):\n",
        "    if apart := []:\n",
        (EVENTS, "-k", "goes_out_without"),
    ),
    Mutant(
        "a count of 3.9 that composes 3",
        "a setting that is not read",
        "guarantees/dp_events.py",
        'integer("count of a SelfComposedDpEvent", event.count, at_least=0)',
        "int(event.count)",
        (EVENTS, "-k", "no_event_can_hold"),
    ),
    Mutant(
        "dropped rows that the report does not name",
        "a report that says less than is paid",
        "release/report.py",
        "    if shift.rows_dropped > 0:\n        said",
        "    if False:\n        said",
        ("tests/release/test_report.py", "-k", "drops"),
    ),
    Mutant(
        "a declared share that the report does not print",
        "a report that says less than is paid",
        "runs/premises.py",
        "    said = {**paid.caps, **counted}",
        "    said = counted",
        (PARTS, "-k", "share_that_was_declared"),
    ),
    Mutant(
        "another share for the scales of the recipe, which nobody meant",
        "a constant that moves unseen",
        "recipes/automatic.py",
        "SCALE_SHARE, LEAST_DEVIATION = 0.05, 0.02",
        "SCALE_SHARE, LEAST_DEVIATION = 0.050001, 0.02",
        ("tests/golden", "-k", "says and four"),
    ),
    Mutant(
        "a premise that a private draft decides",
        "our own: a condition of rows that noise encoded",
        "placed/chain.py",
        "    if domain.drafts:  # which columns",
        "    if not domain:  # which columns",
        ("tests/evaluation/test_holdout_attacked.py", "-k", "private_draft"),
    ),
    Mutant(
        "a measurement that forgets the draft",
        "our own: a total on one page and another on the next",
        "evaluation/result.py",
        "        return with_drafts(self.whole, self.plan.domain, self.plan.delta, self.plan.n)\n",
        "        return self.whole\n",
        ("tests/evaluation/test_holdout_attacked.py", "-k", "beside_a_draft"),
    ),
    Mutant(
        "a number of all records that is anybody's",
        "our own: a premise of a table that is not there",
        "preprocessing/impute_caps.py",
        "        if self.whole not in (None, whole):\n",
        "        if self.whole == -1:\n",
        ("tests/evaluation/test_holdout_attacked.py", "-k", "not_theirs"),
    ),
)
