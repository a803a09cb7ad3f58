"""Planted bugs: what readers of the nineteenth round met (docs/learn/first-ten-minutes.md)."""

from __future__ import annotations

from mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the log loss of the shares is compared the wrong way round",
        "a false sentence on the page",
        "release/quality.py",
        "        if high < least:\n",
        "        if low > most:\n",
        ("tests/evaluation/test_lead.py", "-k", "shares_of_the_classes"),
    ),
    Mutant(
        "the interval of that log loss takes the logarithm of one class alone",
        "an interval that misses",
        "evaluation/measured_quality.py",
        "    each = np.repeat(losses, len(counts))\n",
        "    each = np.tile(losses, len(counts))\n",
        ("tests/evaluation/test_lead.py", "-k", "shares_of_the_classes"),
    ),
    Mutant(
        "a commonest class that noise chose is stated as a fact",
        "a false sentence on the page",
        "release/quality.py",
        "        several = len(self.recalls) > 2 and self.several_commonest\n",
        "        several = False\n",
        ("tests/evaluation/test_lead.py", "-k", "perhaps_the_commonest"),
    ),
    Mutant(
        "a target that varies little beside its bounds is not spoken of where s is 100",
        "a named cure that does not cure",
        "release/advice.py",
        "        share = _SPREAD_HELD / plan.signal\n",
        "        share = 0.0\n",
        ("tests/recipes/test_worth.py", "-k", "varies_little"),
    ),
    Mutant(
        "the standard deviation that is needed is that of twice the signal",
        "a wrong number",
        "release/advice.py",
        "        share = _SPREAD_HELD / plan.signal\n",
        "        share = _SPREAD_HELD / plan.signal / 2\n",
        ("tests/recipes/test_worth.py", "-k", "varies_little"),
    ),
    Mutant(
        "curves of an additive model are not called too flat",
        "a picture that is read for what it is not",
        "release/page.py",
        'flat=flat_in_words(plan) if drawn else "",',
        'flat="",',
        ("tests/preprocessing/test_bins.py", "-k", "draws_the_shapes"),
    ),
    Mutant(
        "ask does not say where a mean lies at a bound",
        "a wrong number without a word",
        "commands/ask.py",
        "    for line in found.at_bounds:\n",
        "    for line in []:\n",
        ("tests/description/test_ask.py", "-k", "at_a_bound"),
    ),
    Mutant(
        "a fit of units of many rows says nothing of probabilities",
        "a warning on the page alone",
        "release/advice.py",
        "        unit_probabilities_in_words(model.declared),\n",
        "",
        ("tests/release/test_summary.py", "-k", "units_of_many_rows"),
    ),
    Mutant(
        "a re-signed model is asked about by a score that nobody paid for",
        "a question that sends to something that never was",
        "commands/charged.py",
        "        more = False\n",
        "        pass\n",
        ("tests/commands/test_report_ledger.py", "-k", "another_plan_is"),
    ),
    Mutant(
        "a regression by descent without privacy has no bound for its gradient",
        "a model that is refused without a reason",
        "recipes/regression.py",
        "if moved or not math.isfinite(s) else math.inf",
        "if moved else math.inf",
        ("tests/recipes/test_worth.py", "-k", "hundred_columns"),
    ),
)
