"""`prepriv ledger plan`: what it names is granted to the next runs, and `show` says what each of them was."""

import inspect
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import prepriv
from prepriv import Domain, PrivateClassifier
from prepriv import preprocessing as pre
from prepriv.commands.ledger import app
from prepriv.evaluation.evaluation_plan import model_hash
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.ledger import BudgetExceeded, Ledger
from prepriv.ledger.currency import DELTA_DIGITS, DELTA_OF_A_FIT, Quanta
from prepriv.payment import Budget
from prepriv.runs.left import largest_run

X = np.random.default_rng(0).random((60, 2))
Y = X[:, 0] > 0.5
CAPS = {
    "basic": {"epsilon": 2.0, "delta": 1e-4},
    "gdp": {"mu": 0.7},
    "zcdp": {"rho": 0.2},
}


def fit(path, **settings):
    descent = GradientDescent(Logistic(), steps=5, learning_rate=0.5, clip_norm=1.0)
    steps = (pre.Center(payment=Budget(0.05)),)
    clf = PrivateClassifier(Domain.box(0, 1, 2, [False, True]), steps=steps, learner=descent, threads=1)
    return clf.set_params(ledger=path, **settings).fit(X, Y)


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def named(*arguments):
    """The epsilon and delta that the command names."""
    done = run("plan", *arguments)
    assert done.exit_code == 0, done.output
    epsilon, delta = re.search(r"--epsilon (\S+) --delta (\S+) --adjacency replace-one", done.output).groups()
    return float(epsilon), float(delta)


@pytest.mark.parametrize("unit", CAPS)
@pytest.mark.parametrize("runs", [1, 3])
def test_as_many_runs_as_were_planned_are_granted_and_little_is_left(tmp_path, unit, runs):
    path = tmp_path / "l.db"
    Ledger.create(path, "people", unit=unit, **CAPS[unit])
    fit(path, epsilon=0.5, delta=1e-5)
    first = Ledger.open(path).booked.main
    epsilon, delta = named(path, "--left", "--runs", runs)
    for _ in range(runs):
        fit(path, epsilon=epsilon, delta=delta)
    ledger = Ledger.open(path)
    assert 0 <= ledger.header.cap.main - ledger.booked.main < 1e-4 * (ledger.header.cap.main - first)
    with pytest.raises(BudgetExceeded):
        fit(path, epsilon=epsilon, delta=delta)


@pytest.mark.parametrize("unit", CAPS)
def test_without_left_it_divides_the_cap(tmp_path, unit):
    Ledger.create(tmp_path / "l.db", "people", unit=unit, **CAPS[unit])
    fresh = named(tmp_path / "l.db", "--runs", 2)
    assert fresh == named(tmp_path / "l.db", "--left", "--runs", 2)
    fit(tmp_path / "l.db", epsilon=0.5, delta=1e-5)
    assert fresh == named(tmp_path / "l.db", "--runs", 2)


def test_where_nothing_fits_it_says_so(tmp_path):
    path = tmp_path / "l.db"
    Ledger.create(path, "people", epsilon=1, delta=1e-5)
    assert "no run fits" in run("plan", path, "--left", "--delta", "1e-4").output
    Ledger.open(path).charge("a", "0" * 64, epsilon=1, delta=1e-5, adjacency="replace-one")
    done = run("plan", path, "--left")
    assert (
        done.exit_code == 0
        and "left: epsilon 0, delta 0 (basic" in done.output
        and "no run fits" in done.output
    )
    for wrong in (["--delta", "2"], ["--delta", "nan"], ["--runs", "0"]):
        assert run("plan", path, "--left", *wrong).exit_code == 2
    assert run("plan", tmp_path / "none.db", "--left").exit_code == 4
    assert largest_run("gdp", Quanta(1), 2) == (0.0, 1e-5)
    Ledger.create(tmp_path / "rest.db", "people", epsilon=3, delta=1e-5)
    Ledger.open(tmp_path / "rest.db").charge(
        "a", "0" * 64, epsilon=3 - 2e-9, delta=5e-6, adjacency="replace-one"
    )
    assert "no run fits: nothing is left" in run("plan", tmp_path / "rest.db", "--left").output  # of ε 2e-9
    with pytest.raises(BudgetExceeded):
        Ledger.open(tmp_path / "rest.db").charge(
            "b", "0" * 64, epsilon=1, delta=1e-5, adjacency="replace-one"
        )
    Ledger.create(tmp_path / "low.db", "people", epsilon=3, delta=9e-6)
    with pytest.raises(BudgetExceeded, match="--delta 9e-07"):  # a tenth of what is left, not all of it
        Ledger.open(tmp_path / "low.db").charge("b", "0" * 64, epsilon=1, delta=1e-5, adjacency="replace-one")
    Ledger.create(tmp_path / "pure.db", "people", epsilon=1, delta=0)
    assert "no run fits: a run needs a delta above 0" in run("plan", tmp_path / "pure.db").output


def test_create_says_for_how_few_fits_the_delta_has_room(tmp_path):
    defaults = [
        PrivateClassifier,
        prepriv.PrivateRegressor,
        prepriv.PrivateTransformer,
        prepriv.private,
        prepriv.choose,
    ]
    assert {inspect.signature(each).parameters["delta"].default for each in defaults} == {
        DELTA_OF_A_FIT / 10**DELTA_DIGITS
    }
    for delta, room in (("1e-6", "none"), ("1e-5", "1"), ("4.99e-5", "4"), ("5e-5", ""), ("0", "")):
        said = f"this cap has room for {room}"
        made = run(
            "create", tmp_path / f"{delta}.db", "--dataset", "people", "--epsilon", 1, "--delta", delta
        )
        assert (said in made.output) == bool(room)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            Ledger.create(tmp_path / f"python {delta}.db", "people", epsilon=1, delta=float(delta))
        assert [said in str(each.message) for each in caught] == [True] * bool(room)
        assert all(each.filename == __file__ for each in caught)


def test_where_delta_is_used_up_the_way_out_is_said(tmp_path):
    path = tmp_path / "l.db"
    Ledger.create(path, "people", epsilon=1, delta=1e-5)
    fit(path, epsilon=0.3)
    with pytest.raises(BudgetExceeded, match=r"delta is used up.*--delta 1e-6.*gdp"):
        fit(path, epsilon=0.3)
    said = run("plan", path, "--left", "--runs", 3).output
    assert "delta above 0" in said and "--delta 1e-6" in said and "second cap" in said
    with pytest.raises(BudgetExceeded) as refused:  # epsilon does not fit either
        fit(path, epsilon=0.8)
    assert "used up" not in str(refused.value)


def test_with_unit_gdp_many_small_fits_and_an_evaluation_are_granted(tmp_path):
    path = tmp_path / "l.db"
    Ledger.create(path, "people", unit="gdp", mu=0.25)
    for _ in range(3):
        clf = fit(path, epsilon=0.3)
    clf.evaluate(X, Y, epsilon=0.1, ledger=path)
    assert len(Ledger.open(path).entries()) == 4


def test_examples_make_ledgers_with_room_for_several_fits():
    """Of the pages, except the tutorial, which says that its cap has room for one."""
    root = Path(__file__).parents[2]
    pages = [p for p in (root / "docs").rglob("*.md") if "proofs" not in p.parts] + [root / "README.md"]
    found = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for call in re.findall(r"Ledger\.create\(([^()]*(?:\([^()]*\))?[^()]*)\)|ledger create (.*)", text):
            caps = re.findall(r"delta[= ](\S+?)(?:[,)]|\s|$)", "".join(call))
            found += len(caps)
            assert all(float(cap) >= 5e-5 for cap in caps) or page.stem == "tutorial", (page.name, call)
    assert found >= 10
    assert "one run at 1e-5" in (root / "docs/learn/tutorial.md").read_text(encoding="utf-8")


def test_show_names_the_steps_of_each_charge(tmp_path):
    path = tmp_path / "l.db"
    Ledger.create(path, "people", epsilon=3, delta=1e-4)
    fit(path)
    Ledger.open(path).charge(
        "own", "0" * 64, epsilon=1, delta=0, adjacency="replace-one", note="a count by hand"
    )
    shown = run("show", path).stdout
    assert re.search(
        r"1  .*charged .*epsilon 1, delta 0\.00001 .*train: Center \(budget\), GradientDescent", shown
    ), shown
    assert re.search(r"2  .*charged   own  epsilon 1, delta 0  a count by hand", shown)


def test_show_names_preparations_evaluations_and_questions(tmp_path):
    path = tmp_path / "l.db"
    Ledger.create(path, "people", epsilon=9, delta=1e-3)
    domain = Domain.box(0, 1, 2, [False, True])
    clf = fit(path)
    clf.evaluate(X, Y, epsilon=0.5, ledger=path)
    prepriv.PrivateTransformer(domain, [pre.Center(payment=Budget(0.5))], ledger=path).fit(X)
    notes = [entry.note for entry in Ledger.open(path).entries()]
    assert [note.split(":")[0] for note in notes] == [
        "train",
        f"evaluate model {model_hash(clf.model_)[:12]}",
        "prepare",
    ], notes
    assert "accuracy" in notes[1] and "Center (budget)" in notes[2]


def test_what_is_named_has_six_digits_and_is_booked_as_it_is_named(tmp_path):
    path = tmp_path / "l.db"
    Ledger.create(path, "people", epsilon=2, delta=1e-4)
    Ledger.open(path).charge("a", "0" * 64, epsilon=1.199999999, delta=1e-6, adjacency="replace-one")
    epsilon, delta = named(path, "--left", "--delta", "1e-6")
    assert epsilon == 0.8
    Ledger.open(path).charge("b", "0" * 64, epsilon=epsilon, delta=delta, adjacency="replace-one")
    assert "epsilon 0.8, delta 0.000001" in run("show", path).output


def test_a_refusal_for_delta_alone_names_a_delta_that_fits(tmp_path):
    path = tmp_path / "l.db"
    Ledger.create(path, "people", epsilon=2, delta=2e-6)
    ledger = Ledger.open(path)
    with pytest.raises(BudgetExceeded, match="--delta 2e-07 ") as refused:
        ledger.charge("a", "0" * 64, epsilon=1, delta=1e-5, adjacency="replace-one")
    assert "smaller one" in str(refused.value)
    with pytest.raises(BudgetExceeded) as refused:
        ledger.charge("a", "0" * 64, epsilon=3, delta=1e-5, adjacency="replace-one")
    assert "smaller one" not in str(refused.value)
    assert ledger.charge("a", "0" * 64, epsilon=1, delta=2e-6, adjacency="replace-one").sequence == 1
