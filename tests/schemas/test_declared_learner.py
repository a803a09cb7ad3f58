"""A learner declared in a schema is the learner of that name in Python."""

from __future__ import annotations

import pytest

from prepriv import learners
from prepriv.learners import GradientDescent, HuberisedHinge, Learner, PoissonSGD, Softmax
from prepriv.learners.names import OLD_NAMES
from prepriv.schemas.declared_file import BadSchema
from prepriv.schemas.declared_learner import build_learner, kinds
from prepriv.schemas.schema import build_step, load_schema

SCHEMA = """
columns: {x: {type: numeric, low: 0, high: 1}}
label: {name: y, classes: [0, 1]}
rows: 100
learner: LEARNER
"""


def test_every_old_name_is_a_name_of_today():
    assert set(OLD_NAMES.values()) <= set(learners.__all__)


def test_one_release_for_least_squares_is_declared_by_its_name():
    made = build_learner({"kind": "SufficientStatistics", "ridge": 0.5, "loss": "SquaredError"})
    assert type(made).__name__ == "SufficientStatistics" and made.ridge == 0.5
    with pytest.raises(BadSchema, match="no option 'steps'"):
        build_learner({"kind": "SufficientStatistics", "steps": 7, "loss": "SquaredError"})


@pytest.mark.parametrize("name", sorted(kinds(Learner).keys() - {"SufficientStatistics"}))
def test_every_learner_is_declared_by_its_name(name):
    made = build_learner({"kind": name, "steps": 7, "weight_bound": 2.0})
    assert type(made).__name__ == name and made.steps == 7 and made.loss == Softmax()


def test_a_schema_declares_a_learner_and_its_loss(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(
        SCHEMA.replace("LEARNER", "{kind: PoissonSGD, batch_size: 10, loss: HuberisedHinge, width: 0.25}")
    )
    assert load_schema(path).build_learner() == PoissonSGD(HuberisedHinge(width=0.25), batch_size=10)
    path.write_text(SCHEMA.replace("learner: LEARNER\n", ""))
    assert load_schema(path).build_learner() == "auto"


@pytest.mark.parametrize(
    "declared, says",
    [
        ({}, "kind must be one of"),
        ({"kind": "Learner"}, "kind must be one of"),
        ({"kind": "GradientDescent", "loss": "squares"}, "loss must be one of"),
        ({"kind": "GradientDescent", "loss": {"kind": "Quantile", "level": 0.9}}, "loss: Quantile"),
        ({"kind": "GradientDescent", "batch_size": 3}, "no option 'batch_size'"),
        ({"kind": "GradientDescent", "loss": "LeastSquares"}, "needs target_bound"),
        ({"kind": "GradientDescent", "steps": 0}, "steps"),
        ({"kind": ["GradientDescent"]}, "kind must be one of"),
        ({"kind": "GradientDescent", "loss": {"a": 1}}, "loss is a name"),
        ({"kind": "GradientDescent", "steps": "many"}, "steps"),
    ],
)
def test_a_mistake_is_one_sentence(declared, says):
    with pytest.raises(BadSchema, match=r"^learner: ") as told:
        build_learner(declared)
    assert says in str(told.value) and "\n" not in str(told.value)


def test_python_and_files_mean_the_same():
    assert build_learner({"kind": "dp-gd", "loss": "softmax", "steps": 3}) == GradientDescent(
        Softmax(), steps=3
    )


def test_an_option_that_a_step_does_not_have_is_answered_with_those_it_has():
    """A newcomer's: no page lists them, and only the wrong one was named."""
    with pytest.raises(BadSchema, match=r"'no_such'.*columns"):
        build_step(0, {"step": "StandardScaler", "no_such": 5, "pay": "budget"}, lambda _: None)
