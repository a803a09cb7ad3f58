"""Runs of Opacus, jax-privacy, TensorFlow Privacy and diffprivlib, by their own names."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from prepriv import Domain, Sensitivity, account, make_plan
from prepriv import guarantees as g
from prepriv import preprocessing as pre
from prepriv.accounts.other_libraries import LIBRARIES, ran_elsewhere
from prepriv.cli import run
from prepriv.learners import AnyModel, GradientDescent, Logistic, PoissonSGD

N, DELTA = 2000, 1e-5
BOX = Domain.box(0, 1, features=3, classes=[0, 1], n=N, missing="impute")
OPACUS = {"noise_multiplier": 1.2, "max_grad_norm": 1.0, "sample_rate": 0.05, "epochs": 4}


def epsilon(steps, ran, noise, **options):
    return float(
        account(steps, ran, domain=BOX, noise_multiplier=noise, delta=DELTA, **options).epsilon(DELTA)
    )


def test_opacus_is_poisson_sampling_with_its_noise():
    ran, noise = ran_elsewhere("Opacus", OPACUS, N)
    # One record more than 100: a float32 coin falls below 0.05 a little more often than that.
    assert isinstance(ran, PoissonSGD) and ran.loss == AnyModel() and noise == 1.2
    assert (ran.batch_size, ran.steps, ran.clip_norm) == (101, 80, 1.0)
    poisson = {"noise_multiplier": 1.2, "poisson_sampling": True}
    exact = replace(ran, batch_size=100, rows_public="")
    steps = poisson | {"clipping_norm": 1.0, "expected_batch_size": 100, "num_updates": 80}
    assert ran_elsewhere("jax-privacy", steps, N) == (exact, noise)


def test_a_rate_that_is_no_whole_batch_is_rounded_towards_less_private():
    ran, _ = ran_elsewhere("Opacus", OPACUS | {"sample_rate": 1 / 300}, N)
    assert ran.batch_size == 7 and ran.steps == 4 * 300  # of the rate itself, not of the whole batch
    assert ran.batch_size / N >= 1 / 300


def test_without_steps_before_it_training_costs_what_it_claims():
    ran, noise = ran_elsewhere("Opacus", OPACUS, N)
    found = account([], ran, domain=Domain.box(0, 1, 3, [0, 1], n=N), noise_multiplier=noise, delta=DELTA)
    assert float(found.epsilon(DELTA)) == float(found.training_alone.epsilon(DELTA))


def test_shuffled_batches_cost_one_release_an_epoch():
    ran, noise = ran_elsewhere("Opacus", OPACUS | {"poisson_sampling": False}, N)
    domain = Domain.box(0, 1, 3, [0, 1], n=N)
    found = account([], ran, domain=domain, noise_multiplier=noise, delta=DELTA)
    truth = float(g.gaussian(2 * math.sqrt(4) / 1.2).epsilon(DELTA))
    assert truth <= float(found.epsilon(DELTA)) <= truth * (1 + 1e-6)
    assert any("cuts the 2000 records into batches" in note for note in found.notes)


def test_a_moved_row_costs_two_clips_in_any_model():
    """Two rows moved: the sum moves by 2C for the record and 2C for each of them, and no further."""
    step = pre.MeanImputer(payment=Sensitivity({"missing": 1 / N}))
    ran = GradientDescent(AnyModel(), steps=1)
    found = account([step], ran, domain=BOX, noise_multiplier=10.0, delta=DELTA)
    moved = found.shift.rows_moved
    assert moved == 3  # a cell of each column
    truth = float(g.gaussian((2 + 2 * moved) / 10.0).epsilon(DELTA))
    assert truth <= float(found.epsilon(DELTA)) <= truth * (1 + 1e-6)


def test_a_known_loss_is_never_dearer_than_any_model():
    step = pre.MeanImputer(payment=Sensitivity({"missing": 0.01}))
    unknown = epsilon([step], *ran_elsewhere("Opacus", OPACUS, N))
    known = epsilon([step], *ran_elsewhere("Opacus", OPACUS | {"weight_bound": 1.0}, N, Logistic()))
    assert known < unknown


def test_a_pure_mechanism_counts_every_moved_row():
    ran, noise = ran_elsewhere(
        "diffprivlib", {"model": "PCA", "epsilon": 0.5, "data_norm": 2.0, "centered": True}, N
    )
    step = pre.MeanImputer(payment=Sensitivity({"missing": 1 / N}))
    assert noise is None and epsilon([step], ran, noise) == pytest.approx(0.5 * 4, rel=1e-4)
    assert epsilon([pre.ConstantImputer()], ran, noise) == pytest.approx(0.5, rel=1e-4)


def test_a_loss_for_accounts_trains_nothing():
    with pytest.raises(ValueError, match="for accounts"):
        make_plan(Domain.box(0, 1, 3, [0, 1], n=N), [], GradientDescent(AnyModel()), epsilon=1.0, delta=DELTA)


@pytest.mark.parametrize(
    "library, settings, says",
    [
        ("opacus", OPACUS, "library must be one of"),
        ("Opacus", OPACUS | {"secure": 1}, "unknown setting 'secure'"),
        ("Opacus", {k: v for k, v in OPACUS.items() if k != "max_grad_norm"}, "clip_norm must be given"),
        ("Opacus", OPACUS | {"clip_norm": 2.0}, "mean the same"),
        ("Opacus", OPACUS | {"batch_size": 3}, "sample_rate or batch_size"),
        ("Opacus", OPACUS | {"steps": 3}, "epochs or steps"),
        ("Opacus", OPACUS | {"sample_rate": 1.5}, "sample_rate"),
        ("Opacus", OPACUS | {"poisson_sampling": "yes"}, "poisson_sampling"),
        ("Opacus", OPACUS | {"noise_multiplier": -1}, "noise_multiplier"),
        ("Opacus", OPACUS | {"epochs": float("nan")}, "epochs"),
        ("diffprivlib", {"model": "PCA"}, "epsilon must be given"),
        ("diffprivlib", {"model": "LogisticRegression", "epsilon": 0, "data_norm": 1}, "epsilon"),
    ],
)
def test_bad_settings_are_one_sentence(library, settings, says):
    with pytest.raises(ValueError) as told:
        ran_elsewhere(library, settings, N)
    assert says in str(told.value) and "\n" not in str(told.value)


PIPELINE = """
rows: 5000
domain: {features: 4, low: 0, high: 50, missing: impute}
sklearn: mine.py
learner: {kind: Opacus, noise_multiplier: 1.1, max_grad_norm: 1.0, batch_size: 250, epochs: 5}
"""
MINE = """
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
pipeline = make_pipeline(SimpleImputer(strategy="constant", keep_empty_features=True))
"""


def test_the_command_reads_a_python_file_and_their_names(tmp_path, capsys):
    (tmp_path / "p.yaml").write_text(PIPELINE)
    (tmp_path / "mine.py").write_text(MINE)
    assert run(["account", str(tmp_path / "p.yaml")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "really has" in out and "ConstantImputer" in out and "Poisson sample" in out
    (tmp_path / "mine.py").write_text(MINE.replace('strategy="constant"', 'strategy="median"'))
    assert run(["account", str(tmp_path / "p.yaml")]) == 2
    assert "median" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "defines no"),
        ("1/0", "does not run: ZeroDivisionError"),
        (None, "no such Python file"),
        ("pipeline = 3", "steps"),
    ],
)
def test_a_python_file_that_is_no_pipeline_is_one_sentence(tmp_path, capsys, text, says):
    (tmp_path / "p.yaml").write_text(PIPELINE)
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    assert run(["account", str(tmp_path / "p.yaml")]) == 2
    err = capsys.readouterr().err
    assert says in err and len(err.splitlines()) == 1 and "internal" not in err


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_is_named_in_the_help(library, capsys):
    assert run(["account", "--help"]) == 0
    assert library in "".join(capsys.readouterr().out.split())
