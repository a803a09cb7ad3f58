"""Planted bugs: files that were given out, and what a ledger is said to show about them."""

from __future__ import annotations

from mutant import Mutant

FILES, DRAFTS = "tests/commands/test_report_ledger.py", "tests/plans/test_drafted.py"
CLASS = "a check of a part that is reported as a check of the whole"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a page whose words nothing compared is ok",
        CLASS,
        "commands/judged.py",
        "        found.undecided.append(_WORDS.format(name=page))\n",
        "        pass\n",
        (FILES, "-k", "ok_only_where"),
    ),
    Mutant(
        "what a page says otherwise than its model is not reported",
        CLASS,
        "commands/judged.py",
        '    found.wrong += [f"it is not the page that {file} gives: {line}" for line in wrong]\n',
        "",
        (FILES, "-k", "ok_only_where"),
    ),
    Mutant(
        "a receipt that was copied makes any file ok",
        CLASS,
        "commands/receipts.py",
        "same = recorded == {*given.artifacts}",
        "same = True",
        (FILES, "-k", "copied_receipt"),
    ),
    Mutant(
        "a model whose release is not recorded is ok",
        "our own: a negated model that both commands passed",
        "commands/receipts.py",
        'return "" if recorded or given.own is None else not_recorded(given.own[0]), ""',
        'return "", ""',
        (FILES, "-k", "never_ok_where"),
    ),
    Mutant(
        "a report asks nothing where no release is recorded",
        "our own: a negated model that both commands passed",
        "commands/released.py",
        "                *unrecorded(place, released),\n",
        "",
        (FILES, "-k", "never_ok_where"),
    ),
    Mutant(
        "a file of a folder that prepriv did not write is passed over",
        CLASS,
        "commands/receipts.py",
        "        found.not_compared[name] = _why_not(file)\n",
        "        pass\n",
        (FILES, "-k", "not_compared_is_named"),
    ),
    Mutant(
        "a file without a receipt is passed over",
        CLASS,
        "commands/receipts.py",
        '        found.not_compared[name] = "it holds no receipt"\n',
        "        pass\n",
        (FILES, "-k", "hides_behind"),
    ),
    Mutant(
        "two names that may mean one data set are not asked about",
        CLASS,
        "commands/charged.py",
        '_SEPARATORS.sub("", one.dataset)',
        "one.dataset",
        (FILES, "-k", "may_mean_one"),
    ),
    Mutant(
        "edited answers may be the page of their charge",
        CLASS,
        "commands/receipts.py",
        "not _all_is_booked(given, ledgers)",
        "True",
        (FILES, "-k", "known_by_their_hash"),
    ),
    Mutant(
        "any hash of a score makes the score of a page that of the run",
        "our own: counts edited with all that follows from them",
        "commands/charged.py",
        "if booked.get(name) == digest]",
        "if name in booked]",
        (FILES, "-k", "edited_with_all"),
    ),
    Mutant(
        "a model is saved without the hash of its score",
        "our own: counts edited with all that follows from them",
        "release/model.py",
        "text.encode(), self.found)",
        "text.encode())",
        (FILES, "-k", "edited_with_all"),
    ),
    Mutant(
        "a page of a description is written without its hash",
        CLASS,
        "commands/describe.py",
        "json_text(found).encode(), of_page(to_html(found))",
        "json_text(found).encode()",
        (FILES, "-k", "known_by_their_hash"),
    ),
    Mutant(
        "the bounds of a draft are taken for a question, and not for its use",
        "a draft that was used and not claimed",
        "commands/charged.py",
        "            if content == here and not as_claimed and not later:\n",
        "            if False:\n",
        (DRAFTS, "-k", "pays_for_the_draft"),
    ),
    Mutant(
        "other bounds than those of a draft are taken for its use",
        "an honest model that is accused",
        "commands/charged.py",
        "            if content == here and not as_claimed and not later:\n",
        "            if content is not None and not as_claimed and not later:\n",
        (DRAFTS, "-k", "pays_for_the_draft"),
    ),
)
