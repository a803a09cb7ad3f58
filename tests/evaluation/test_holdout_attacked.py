"""What independent attackers found of holdouts, drafts and their totals, each as a test."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import prepriv
from prepriv import Sensitivity
from prepriv import preprocessing as pre
from prepriv.cli import run
from prepriv.drafted import Drafted
from prepriv.evaluation.holdout import Holdout
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.plans.plan import make_plan


@pytest.fixture(scope="module")
def drafted():
    rng = np.random.default_rng(0)
    import pandas as pd

    frame = pd.DataFrame({"a": rng.uniform(30, 70, 3000)})
    frame["y"] = rng.choice(["no", "yes"], 3000)
    return frame, prepriv.Domain.draft(frame, label="y", epsilon=2.0, delta=1e-6)


def declared(domain, step):
    learner = GradientDescent(Logistic(), steps=2)
    return make_plan(domain, [step], learner, epsilon=1.0, delta=1e-5, n=3000)


@pytest.mark.parametrize(
    "step",
    [
        pre.Deduplicate(1e-4, payment=Sensitivity({"max_neighbors": 4})),
        pre.MeanImputer(payment=Sensitivity({"missing": 0.05})),
    ],
)
def test_a_premise_of_rows_as_a_private_draft_encodes_them_is_refused_unless_it_is_tested(drafted, step):
    """At one drafted bound the sentence was true, at another false, and the claim of the sum was one: 6.19 times as far."""
    missing = "impute" if isinstance(step, pre.MeanImputer) else "midpoint"
    domain = prepriv.Domain({"a": prepriv.Numeric(0, 100, missing=missing)}, ["no", "yes"])
    assert isinstance(drafted[1].drafts[0], Drafted)
    made = dataclasses.replace(domain, drafts=drafted[1].drafts)
    declared(domain, step)
    with pytest.raises(ValueError, match="a private draft encodes them"):
        declared(made, step)
    tested = dataclasses.replace(step, payment=dataclasses.replace(step.payment, test=0.1))
    assert declared(made, tested).guarantee.conditions == ()


def test_a_measurement_beside_a_draft_says_what_all_three_cost(drafted):
    frame, domain = drafted
    clf = prepriv.PrivateClassifier(domain, epsilon=1.0, delta=1e-5, holdout=0.2, steps="linear")
    clf.fit(frame[["a"]], frame["y"])
    whole = clf.guarantee_.epsilon(1e-5)
    said = clf.evaluation_.to_json()["with_training"]["epsilon"]
    assert whole > 1.5 and said >= whole * (1 - 1e-9)
    assert "ε = 1 " not in clf.evaluation_.claim.split("together")[-1]


@pytest.mark.parametrize("setting", [{"evaluate_epsilon": -3.0}, {"evaluate_measures": "nonsense"}])
def test_what_measures_nothing_is_refused(setting):
    domain = prepriv.Domain.box(0, 1, features=1, classes=[0, 1])
    clf = prepriv.PrivateClassifier(domain, **setting)
    with pytest.raises(ValueError, match=f"{next(iter(setting))} .* holdout= measures"):
        clf.fit(np.zeros((50, 1)), np.zeros(50, int))


def test_the_command_refuses_it_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["train", "d.csv", "--schema", "S.yaml", "--evaluate-epsilon", "-7", "--out", "o"]) == 2
    assert "--evaluate-epsilon changes what --holdout" in capsys.readouterr().err


def test_a_number_of_all_records_that_is_not_theirs_is_refused():
    """A claim "at most 12 of the 225 records" was printed of a table of 2000."""
    caps = pre.MeanImputer.Caps(missing=0.05, whole=225)
    with pytest.raises(ValueError, match=r"whole must .* 2000; got 225"):
        caps.of_part(2000)
    assert pre.MeanImputer.Caps(missing=0.05).of_part(2000).whole == 2000


def test_a_share_of_any_kind_of_number_can_be_written_down():
    assert json.dumps(Holdout(np.float32(0.25)).share) == "0.25"
