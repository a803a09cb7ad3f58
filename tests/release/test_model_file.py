"""The file of a model: what is paid for is not replaced without a word, and what was charged to no ledger is noted in none."""

from __future__ import annotations

import numpy as np
import pytest

import prepriv
from prepriv.ledger import Ledger

X = np.random.default_rng(0).random((200, 2))
Y = (X[:, 0] > 0.5).astype(int)
DOMAIN = prepriv.Domain.box(0, 1, features=2, classes=[0, 1])


def fitted(**more):
    return prepriv.PrivateClassifier(DOMAIN, steps="linear", **more).fit(X, Y)


def test_another_model_that_was_paid_for_is_replaced_only_if_that_is_said(tmp_path):
    first, second = fitted().model_, fitted().model_
    path = first.save(tmp_path)
    assert first.save(tmp_path) == path  # the same one again
    with pytest.raises(ValueError, match=r"another model .* paid for"):
        second.save(tmp_path)
    assert path.read_text() == first.text()
    second.save(tmp_path, overwrite=True)
    assert path.read_text() == second.text()
    path.write_text("{}")  # of another version, perhaps
    with pytest.raises(ValueError, match="overwrite=True"):
        first.save(tmp_path)


def test_a_folder_named_as_the_file_is_refused(tmp_path):
    model = fitted().model_
    with pytest.raises(ValueError, match=r"leave out model\.json"):
        model.save(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_a_model_without_privacy_is_replaced(tmp_path):
    fitted(epsilon=np.inf).model_.save(tmp_path)
    assert fitted().model_.save(tmp_path).is_file()


def test_what_was_charged_to_no_ledger_is_noted_in_none(tmp_path):
    Ledger.create(tmp_path / "L.db", "people", epsilon=9, delta=1e-3)
    made = fitted()
    with pytest.raises(ValueError, match="not charged to a ledger"):
        made.model_.save(tmp_path / "m", ledger=tmp_path / "L.db")
    with pytest.raises(ValueError, match="not charged to a ledger"):
        made.evaluate(X, Y, epsilon=1.0).save(tmp_path / "e.json", ledger=tmp_path / "L.db")
    assert not (tmp_path / "m").exists() and not (tmp_path / "e.json").exists()
