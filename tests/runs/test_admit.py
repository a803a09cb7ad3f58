"""One way to private rows, whichever entry point is used: what is refused, said, charged and counted, and in which order.

Findings D2, D3, D6: the same steps stood in six places. Transformers charged for mistakes that classifiers refuse; single
questions and descriptions said nothing of weak claims; a fit that failed while it read was in no total.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import yaml

import prepriv
from prepriv import Budget, Domain, Numeric, PrivateClassifier, PrivateRegressor, PrivateTransformer
from prepriv import preprocessing as pre
from prepriv.cli import run
from prepriv.description import look
from prepriv.description.ask import Questioned
from prepriv.description.describe import _Described
from prepriv.guarantees.notes import PrivacyWarning
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.learners.targets import SquaredError
from prepriv.ledger import BudgetExceeded, Ledger
from prepriv.placed.rows import PrivateTable
from prepriv.runs import admit as admission
from prepriv.runs import odometer
from prepriv.runs.odometer import Odometer

N = 300
RNG = np.random.default_rng(8)
X = RNG.random((N, 2))
Y = (X[:, 0] > 0.5).astype(int)
TABLE = pa.table({"a": X[:, 0], "b": X[:, 1], "y": Y})
ROWS = TABLE.select(["a", "b"])
COLUMNS = {"a": Numeric(0, 1), "b": Numeric(0, 1)}
DOMAIN = Domain(COLUMNS, classes=[0, 1], label="y")
TARGET = Domain(COLUMNS, target=Numeric(0, 1), label="y")
DESCENT = GradientDescent(Logistic(), steps=3, learning_rate=0.5, clip_norm=1.0)
SQUARES = GradientDescent(SquaredError(), steps=3, learning_rate=0.5, clip_norm=1.0)
CENTER = pre.Center(payment=Budget())


@functools.cache
def fitted():
    return PrivateClassifier(DOMAIN, epsilon=1.0, delta=1e-6, steps=(), learner=DESCENT).fit(ROWS, Y)


def parts(table):
    """Rows and labels."""
    return (table.drop_columns(["y"]), table["y"]) if isinstance(table, pa.Table) else (table, Y)


def estimator(kind=PrivateClassifier, domain=DOMAIN, learner=DESCENT, **more):
    def fit(table, **spend):
        made = kind(domain, steps=(), learner=learner, **more, **spend)
        made.fit(*parts(table))

    return fit


def question(ask):
    def answered(table, epsilon, delta, ledger):
        ask(table["a"].to_numpy(), epsilon=epsilon, ledger=ledger)

    return answered


PYTHON = {
    "classifier": estimator(),
    "regressor": estimator(PrivateRegressor, TARGET, SQUARES),
    "holdout": estimator(holdout=0.3),
    "transformer": lambda table, **o: PrivateTransformer(DOMAIN, [CENTER], **o).fit(table),
    "evaluate": lambda table, **o: fitted().evaluate(*parts(table), **o),
    "choose": lambda table, **o: prepriv.choose(
        [DESCENT, dataclasses.replace(DESCENT, steps=4)], *parts(table), DOMAIN, **o
    ),
    "describe": lambda table, **o: prepriv.describe(table, DOMAIN, **o),
    "sketch": lambda table, **o: prepriv.sketch(*parts(table)[:1], DOMAIN, parts(table)[1], **o),
    "ask": lambda table, **o: prepriv.ask(table, DOMAIN, ["mean(a)", "median(b)"], **o),
    "draft": lambda table, **o: drafted(table, **o),
    "count": question(lambda column, **o: prepriv.count(column > 0.5, **o)),
    "mean": question(lambda column, **o: prepriv.mean(column, 0, 1, **o)),
    "histogram": question(lambda column, **o: prepriv.histogram(column, 0, 1, **o)),
    "sum": question(lambda column, **o: prepriv.sum(column, 0, 1, **o)),
    "variance": question(lambda column, **o: prepriv.variance(column, 0, 1, **o)),
    "covariance": question(lambda column, **o: prepriv.covariance(column, column, [(0, 1)] * 2, **o)),
    "crosstab": question(lambda column, **o: prepriv.crosstab(column, column, [[0, 1]] * 2, **o)),
    "quantiles": question(lambda column, **o: prepriv.quantiles(column, [0.5], 0, 1, **o)),
}


def drafted(table, **options):
    try:
        Domain.draft(table, **options)
    except ValueError as error:  # so little was seen: after the charge, which stays
        if "at this budget" not in str(error):
            raise


def command(*words):
    def called(table, epsilon, delta, ledger):
        Path("S.yaml").write_text(SCHEMA)
        pa.csv.write_csv(table, "t.csv")
        fitted().model_.save("run/model")
        spend = ["--epsilon", str(epsilon), "--delta", str(delta), "--rows", str(N)]
        code = run([*words, *spend, *(["--ledger", str(ledger)] if ledger else [])])
        if code:
            raise Ended(code)

    return called


class Ended(Exception):
    """A command that ended with this code."""


SCHEMA = yaml.safe_dump(
    {
        "label": {"name": "y", "classes": ["0", "1"]},
        "adjacency": "replace-one",
        "columns": {name: {"type": "numeric", "low": 0, "high": 1} for name in "ab"},
        "steps": [],
        "learner": {"kind": "GradientDescent", "steps": 3, "clip_norm": 1.0},
    }
)
COMMANDS = {
    "train": command("train", "t.csv", "--schema", "S.yaml", "--out", "new"),
    "train --holdout": command("train", "t.csv", "--schema", "S.yaml", "--out", "new", "--holdout", "0.3"),
    "prepriv describe": command("describe", "t.csv", "--schema", "S.yaml"),
    "prepriv ask": command("ask", "t.csv", "mean(a)", "median(b)", "--schema", "S.yaml"),
    "prepriv evaluate": command("evaluate", "run/model", "t.csv"),
    "prepriv sketch": command("sketch", "t.csv", "--schema", "S.yaml", "--out", "sketched"),
    "schema init": command("schema", "init", "t.csv", "--label", "y"),
}
ENTRIES = PYTHON | COMMANDS
QUESTIONS = ("count", "mean", "histogram", "sum", "variance", "covariance", "crosstab", "quantiles")
every = pytest.mark.parametrize("name", ENTRIES)
in_python = pytest.mark.parametrize("name", PYTHON)
UNREAD = (PrivateTable, look.PrivateFrame, _Described, Questioned, look._Held)


@pytest.fixture
def fresh(monkeypatch):
    """An odometer as a new process has it, behind the model that is evaluated."""
    fitted()
    monkeypatch.setattr(odometer, "_PROCESS", Odometer())


@pytest.fixture
def ledger(tmp_path, monkeypatch, fresh):
    monkeypatch.chdir(tmp_path)
    Ledger.create("L.db", "people", epsilon=1000, delta=0.9)
    return "L.db"


def charges(path="L.db"):
    return sum(entry.kind == "charged" for entry in Ledger.open(path).entries())


@pytest.fixture
def order(monkeypatch):
    """What was done, in order."""
    seen = []

    def watch(place, name, said):
        honest = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *a, **o: seen.append(said) or honest(*a, **o))

    watch(admission, "say_weak", "weak")
    watch(admission.odometer, "announce", "sum")
    watch(admission, "charge", "charge")
    watch(admission.odometer, "record", "count")
    watch(admission, "check_public_steps", "public")
    for kind in UNREAD:
        if "check" in vars(kind):
            watch(kind, "check", "form")
        if "read" in vars(kind):
            watch(kind, "read", "read")
    return seen


WHOLE = ["form", "public", "weak", "sum", "charge", "count", "read"]


@every
def test_the_order_is_the_same_everywhere(name, ledger, order):
    ENTRIES[name](TABLE, epsilon=1.0, delta=1e-6, ledger=ledger)
    steps = list(dict.fromkeys(order))
    assert steps == [step for step in WHOLE if step in steps]
    assert {*WHOLE} - {"public"} <= {*steps}
    assert [order.count(step) for step in ("sum", "charge", "count")] == [1, 1, 1]
    assert charges() == 1 and len(prepriv.spent().fits) == 1


@in_python
def test_a_weak_claim_is_said_everywhere_where_the_user_stands(name, ledger):
    for spend in ({"epsilon": 50.0, "delta": 1e-6}, {"epsilon": 1.0, "delta": 0.3}):
        if name in QUESTIONS and spend["delta"] == 0.3:
            continue
        with pytest.warns(PrivacyWarning, match="weak") as said:
            PYTHON[name](TABLE, **spend, ledger=None)
        weak = [w for w in said if w.category is PrivacyWarning]
        assert {w.filename for w in weak} == {__file__}
        assert len({str(w.message) for w in weak}) == len(weak)  # each once


@pytest.mark.parametrize("name", COMMANDS)
def test_a_weak_claim_is_printed_by_every_command(name, ledger, capsys):
    COMMANDS[name](TABLE, epsilon=50.0, delta=0.3, ledger=ledger)
    said = " ".join(" ".join(capsys.readouterr()).split())
    assert "is above 10 and rules out little" in said and "publishing a record whole" in said


@in_python
@pytest.mark.parametrize("category", [PrivacyWarning, prepriv.CompositionWarning])
def test_a_warning_that_is_made_an_error_costs_nothing(name, ledger, order, category):
    epsilon = 50.0 if category is PrivacyWarning else 1.0
    prepriv.count(np.array([True, False]), epsilon=0.1)  # the second fit of this process is to come
    order.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", category)
        with pytest.raises(category):
            PYTHON[name](TABLE, epsilon=epsilon, delta=1e-6, ledger=ledger)
    assert charges() == 0 and len(prepriv.spent().fits) == 1 and not {"charge", "count", "read"} & {*order}


@every
def test_without_a_charge_no_cell_is_read_and_nothing_counted(name, ledger, order):
    Ledger.create("small.db", "people", epsilon=0.01, delta=0.9)
    with pytest.raises((BudgetExceeded, Ended)):
        ENTRIES[name](TABLE, epsilon=1.0, delta=1e-6, ledger="small.db")
    assert charges("small.db") == 0 and prepriv.spent().fits == () and not {"count", "read"} & {*order}


WRONG = {
    "another number of rows": TABLE.slice(1),
    "a column is missing": TABLE.rename_columns(["a", "c", "y"]),
    "no table": 7,
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", [name for name in PYTHON if name not in (*QUESTIONS, "draft")])
def test_another_form_is_refused_before_anything_is_charged(name, wrong, ledger, monkeypatch):
    """Finding D2: a transformer was charged for each of these."""
    table = WRONG[wrong]
    monkeypatch.setattr(f"{__name__}.DOMAIN", dataclasses.replace(DOMAIN, n=N))
    fit = estimator(holdout=0.3 if name == "holdout" else None, domain=dataclasses.replace(DOMAIN, n=N))
    fit = fit if name in ("classifier", "holdout") else PYTHON[name]
    if name == "regressor":
        fit = estimator(PrivateRegressor, dataclasses.replace(TARGET, n=N), SQUARES)
    if name == "evaluate":
        fit = lambda table, **o: fitted().evaluate(*parts(table), n=N, **o)  # noqa: E731
    with pytest.raises(ValueError):
        fit(table, epsilon=1.0, delta=1e-6, ledger=ledger)
    assert charges() == 0 and prepriv.spent().fits == ()


@every
def test_what_fails_while_it_reads_is_counted(name, ledger, monkeypatch):
    """Finding D6: a fit that failed after it had opened the rows was in no total."""

    def broken(*_):
        raise MemoryError

    for kind in UNREAD:
        monkeypatch.setattr(kind, "read", broken)
    with pytest.raises((MemoryError, Ended)):
        ENTRIES[name](TABLE, epsilon=1.0, delta=1e-6, ledger=ledger)
    assert charges() == 1 and len(prepriv.spent().fits) == 1


def test_more_units_than_were_declared_are_counted_by_every_fit(fresh):
    """Finding D6, its script: classifier, transformer, description and choice, on a table that is not one of n units."""
    domain = Domain(COLUMNS, classes=[0, 1], label="y", n=50, unit="u", rows_per_unit=2)
    table = TABLE.append_column("u", pa.array(np.arange(N)))
    for fit in (
        lambda: PrivateClassifier(domain, steps=(), learner=DESCENT).fit(table, Y),
        lambda: PrivateTransformer(domain, [CENTER]).fit(table),
        lambda: prepriv.describe(table, domain, epsilon=1.0),
        lambda: prepriv.choose([DESCENT, dataclasses.replace(DESCENT, steps=4)], table, Y, domain),
    ):
        before = len(prepriv.spent().fits)
        with pytest.raises(ValueError, match=r"n=50 units, .* more"):
            fit()
        assert len(prepriv.spent().fits) == before + 1


def test_a_choice_asks_for_room_before_its_charge(ledger, monkeypatch):
    from prepriv.engines.engine import EngineError

    def full(*_, **__):
        raise EngineError("no room")

    monkeypatch.setattr("prepriv.evaluation.choose.room_for", full)
    with pytest.raises(EngineError):
        PYTHON["choose"](TABLE, epsilon=1.0, delta=1e-6, ledger=ledger)
    assert charges() == 0 and prepriv.spent().fits == ()


def test_noise_that_cannot_be_drawn_is_refused_before_a_transformer_is_charged(ledger):
    """Finding D2, transformer_room.py."""
    steps = [pre.Center(payment=Budget(1e-12)), pre.StandardScaler(payment=Budget(0.5))]
    with pytest.raises(ValueError, match="noise of Center could overflow"):
        PrivateTransformer(DOMAIN, steps, epsilon=1e-4, delta=1e-6, ledger=ledger).fit(ROWS)
    assert charges() == 0


@pytest.mark.parametrize("step", [pre.ClassCounts(2, payment=Budget(0.5))])
def test_steps_that_read_labels_are_refused_where_there_are_none(step, ledger):
    """Finding D3: `ClassCounts` counted labels that were all 0, for the whole budget."""
    with pytest.raises(ValueError, match="ClassCounts reads labels"):
        PrivateTransformer(DOMAIN, [step], ledger=ledger).fit(ROWS, Y)
    assert charges() == 0


def test_steps_that_cost_nothing_are_neither_charged_nor_counted(ledger):
    PrivateTransformer(DOMAIN, [pre.ClipFeatures(0.2, 0.8)], ledger=ledger).fit(ROWS)
    assert charges() == 0 and prepriv.spent().fits == ()


def test_a_description_that_was_paid_for_is_not_replaced(ledger, capsys):
    """`evaluate` refused that, `describe` did not."""
    again = command("describe", "t.csv", "--schema", "S.yaml", "--out", "page.html")
    again(TABLE, epsilon=1.0, delta=1e-6, ledger=ledger)
    there = Path("page.html").read_bytes(), Path("page.json").read_bytes()
    for gone in ("page.json", "page.html"):  # either of them is enough
        with pytest.raises(Ended):
            again(TABLE, epsilon=1.0, delta=1e-6, ledger=ledger)
        assert "holds a description that privacy was paid for" in capsys.readouterr().err
        Path(gone).rename("kept")
        if gone == "page.json":
            with pytest.raises(Ended):
                again(TABLE, epsilon=1.0, delta=1e-6, ledger=ledger)
            Path("kept").rename(gone)
    assert (
        charges() == 1
        and there[0] == Path("kept").read_bytes()
        and there[1] == Path("page.json").read_bytes()
    )


# ------------------------------------------------------------------------------------------ in the source

SOURCE = Path(prepriv.__file__).parent
ONCE = {"charge": "runs/admit.py", "record": "runs/admit.py", "announce": "runs/admit.py"}
READERS = {
    "encode", "encode_stream", "encode_targets", "encode_target", "encode_labels", "by_unit", "read_table", "read_whole", "read_columns",
    "execute",
}  # fmt: skip
MAY_READ = {
    "tables/": "the readers themselves",
    "placed/rows.py": "PrivateTable.read, which `admit` calls; public tables",
    "description/look.py": "PrivateFrame.read, which `admit` calls",
    "description/describe.py": "its `read`, which `admit` calls; made-up rows of audits",
    "description/ask.py": "the same, of questions",
    "runs/train.py": "behind `admit`",
    "evaluation/holdout.py": "behind `admit`",
    "evaluation/choose.py": "behind `admit`",
    "runs/validate.py": "for the curator alone",
    "commands/validate.py": "for the curator alone",
    "commands/schema.py": "a draft that says that it leaks",
    "commands/plan.py": "public tables",
    "commands/train.py": "the table declared public, to score",
    "commands/common.py": "`read_columns`, for the two above",
    "commands/released.py": "rows to predict, which leave to nobody but who holds them",
    "release/model.py": "rows to predict",
    "release/exact_score.py": "rows and labels to score, for whoever holds them: not private, which `score` says",
    "integrations/to_sklearn.py": "rows to predict, as `release/model.py`",
    "transformer.py": "rows to transform, which stay with who holds them",
    "audit/": "made-up rows",
    "commands/audit_replay.py": "the curator's attack, which says so",
}


def calls(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            owner = ""
            if isinstance(function, ast.Attribute):
                owner = function.value.id if isinstance(function.value, ast.Name) else "?"
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            yield owner, name


def test_nothing_else_charges_counts_or_reads_private_rows():
    found: dict[str, set[str]] = {}
    readers: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        where = path.relative_to(SOURCE).as_posix()
        if where.startswith("ledger/"):
            continue
        for owner, name in calls(ast.parse(path.read_text(encoding="utf-8"))):
            if (name == "charge" and owner in ("", "charging")) or (owner == "odometer" and name in ONCE):
                found.setdefault(name, set()).add(where)
            if name in READERS and owner == "":
                readers.setdefault(where, set()).add(name)
    assert found == {name: {where} for name, where in ONCE.items()}
    stray = {
        w: names for w, names in readers.items() if not any(w.startswith(allowed) for allowed in MAY_READ)
    }
    assert not stray
    assert not [allowed for allowed in MAY_READ if not any(w.startswith(allowed) for w in readers)]
