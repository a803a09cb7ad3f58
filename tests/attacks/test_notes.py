"""What weakens a claim is said wherever the claim is. Finding: a weak δ was noted on the command line only."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from prepriv import Domain, Model, PrivateClassifier
from prepriv.guarantees.notes import PrivacyWarning
from prepriv.ledger import Ledger, condition_note
from prepriv.plans.stored import plan_from_json

X, Y = np.tile([[0.0, 1.0], [1.0, 0.0]], (2, 1)), [0, 1, 0, 1]


def test_a_weak_claim_says_so_in_python_and_points_at_the_line_of_the_user(tmp_path):
    """1/n is right for four records, too."""
    clf = PrivateClassifier(Domain.box(0, 1, 2, [0, 1]), epsilon=20.0, delta=0.25)
    for call in (lambda: clf.plan(4), lambda: clf.fit(X, Y)):
        with pytest.warns(PrivacyWarning) as said:
            call()
        assert {w.filename for w in said} == {__file__}
        text = " ".join(str(w.message) for w in said)
        assert "1/n = 0.25" in text and "above 10" in text
    notes = [note for note in clf.guarantee_.notes if note.startswith("weak")]
    assert len(notes) == 2
    clf.model_.save(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = Model.load(tmp_path)
    page, data = clf.report_.to_html(), clf.report_.to_json()
    for note in notes:
        assert note in page and note in data["guarantee"]["notes"] and note in loaded.guarantee.notes
        assert note in clf.model_.plan["guarantee"]["notes"]
        assert note in repr(clf.guarantee_) and note in str(clf.guarantee_)
    assert plan_from_json(clf.model_.plan).guarantee.notes == clf.guarantee_.notes


def test_the_note_of_a_charge_says_it_too(tmp_path):
    path = tmp_path / "budget.ledger"
    Ledger.create(path, "d", epsilon=100, delta=0.9)
    with pytest.warns(PrivacyWarning):
        PrivateClassifier(Domain.box(0, 1, 2, [0, 1]), epsilon=2.0, delta=0.25, ledger=path).fit(X, Y)
    (charged,) = [entry for entry in Ledger.open(path).entries() if entry.kind == "charged"]
    assert "1/n = 0.25" in charged.note and not charged.note.startswith("holds if")
    for conditions, remarks in ((["x" * 150], ["weak " * 20]), (["y" * 300], ["weak"]), ([], ["w" * 300])):
        note = condition_note(conditions, remarks)
        assert len(note) <= 200 and ("see the report" in note or all(r in note for r in remarks))
        assert note.startswith("holds if ") == bool(conditions)


def test_a_strong_claim_has_no_notes():
    clf = PrivateClassifier(Domain.box(0, 1, 2, [0, 1]), epsilon=2.0, delta=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clf.plan(10_000).guarantee.notes == ()
