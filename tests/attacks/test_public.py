"""Findings 9, 10 and 12: public data that is the private data, a draft that trains, a public map that is not a number."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import prepriv
from prepriv import Budget, Domain, Numeric, PrivateClassifier, Public
from prepriv import preprocessing as pre
from prepriv.cli import run
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.ledger import Ledger
from prepriv.mechanisms.session import NoisySession
from prepriv.plans.plan import make_plan
from prepriv.preprocessing.center import Subtract
from prepriv.recipes.pillar import pillar
from prepriv.runs.apart import check_apart
from prepriv.runs.public import check_public
from prepriv.runs.run import execute
from prepriv.schemas.declared_file import BadSchema
from prepriv.schemas.schema import load_schema
from prepriv.space import Space
from prepriv.tables.encoding import encode, encode_labels

N = 200
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(N, 2))
Y = (X[:, 0] > 0.5).astype(int)
BOX = Domain.box(0, 1, features=2, classes=[0, 1])
LEARNER = GradientDescent(Logistic(), steps=3, weight_bound=5.0)
REFUSED = "public table is the private data, or shares its memory"


def frame(kind):
    columns = {"x0": X[:, 0].tolist(), "x1": X[:, 1].tolist()}
    if kind == "pandas":
        return pd.DataFrame(columns)
    return pl.DataFrame(columns) if kind == "polars" else pa.table(columns)


def lists():
    return [list(map(float, row)) for row in X]


ROWS, PANDAS, POLARS, ARROW = lists(), frame("pandas"), frame("polars"), frame("arrow")
TEXTS = pd.DataFrame({"x0": [f"text {i}" for i in range(N)], "x1": pd.Categorical(["a", "b"] * (N // 2))})
POLARS_TEXTS = pl.DataFrame(
    {"x0": [f"a longer text, number {i}" for i in range(N)], "x1": [True, False] * (N // 2)}
)
SAME = {
    "object": (X, X),
    "view": (X, X[:]),
    "half": (X, X[:100]),
    "backwards": (X, X[::-1]),
    "every other row": (X[1:], X[1::3]),
    "rows of a list": (X, list(X)[5:]),
    "frame over it": (X, pd.DataFrame(X, copy=False)),
    "buffer": (X, np.frombuffer(memoryview(X).cast("B"), dtype=float).reshape(-1, 2)),
    "list": (ROWS, ROWS),
    "rows of it": (ROWS, ROWS[:50]),
    "tuple of its rows": (ROWS, tuple(ROWS[50:60])),
    "pandas": (PANDAS, PANDAS),
    "pandas, part": (PANDAS, PANDAS.iloc[20:40]),
    "pandas, columns turned": (PANDAS, PANDAS[["x1", "x0"]]),
    "pandas, shallow copy": (PANDAS, PANDAS.copy(deep=False)),
    "pandas as a matrix": (PANDAS, np.asarray(PANDAS)),
    "pandas texts": (TEXTS, TEXTS.head(7)),
    "pandas, one column of it": (TEXTS, pd.DataFrame({"x0": ["else"] * N, "x1": TEXTS["x1"]}, copy=False)),
    "narwhals": (PANDAS, nw.from_native(PANDAS)),
    "polars": (POLARS, POLARS.clone()),
    "polars, part": (POLARS, POLARS[30:50]),
    "polars texts": (POLARS_TEXTS, POLARS_TEXTS.head(9)),
    "polars as Arrow": (POLARS, POLARS.to_arrow()),
    "polars in pieces": (pl.concat([POLARS, POLARS], rechunk=False), POLARS[:10]),
    "arrow": (ARROW, ARROW),
    "arrow, part": (ARROW, ARROW.slice(10, 20)),
    "arrow as pandas": (ARROW, ARROW.to_pandas(types_mapper=pd.ArrowDtype)),
    "encoded": (X, encode(X, BOX)),
}


def step(public):
    return pre.Center(payment=Public(public))


@pytest.mark.parametrize("name", SAME)
def test_the_same_memory_is_refused(name):
    private, public = SAME[name]
    with pytest.raises(ValueError, match=f"^Center: the {REFUSED}"):
        check_apart([pre.Rescale(2.0), step(public)], private, Y)
    with pytest.raises(ValueError, match=REFUSED):
        check_apart([step(private)], public)


def halves(table):
    if isinstance(table, pd.DataFrame):
        return table.iloc[:101], table.iloc[101:]
    return table[:101], table[101:]


APART = {
    "halves": halves(X),
    "odd and even rows": (X[::2], X[1::2]),
    "columns of their own": (np.asfortranarray(X)[:100], np.asfortranarray(X)[100:]),
    "copy": (X, X.copy()),
    "equal numbers": (X, frame("pandas")),
    "list halves": halves(ROWS),
    "halves of a list of arrays": (list(X)[:50], list(X)[50:]),
    "equal lists": (ROWS, lists()),
    "pandas halves": halves(PANDAS),
    "pandas copy": (PANDAS, PANDAS.copy()),
    "pandas text halves": halves(TEXTS),
    "polars halves": halves(POLARS),
    "polars text halves": halves(POLARS_TEXTS),
    "arrow halves": (ARROW.slice(0, 101), ARROW.slice(101)),
    "nothing": (X, X[:0]),
}


@pytest.mark.parametrize("name", APART)
def test_other_rows_pass_whatever_they_hold(name):
    """A refusal looks at no cell: an equal table, or the other half of one array, is taken."""
    check_apart([step(APART[name][0])], APART[name][1], Y)


def test_two_memory_maps_of_one_file_are_one_table_whatever_links_lead_to_it(tmp_path):
    np.save(tmp_path / "a.npy", X)
    os.link(tmp_path / "a.npy", tmp_path / "b.npy")
    one, other = (np.load(tmp_path / name, mmap_mode="r") for name in ("a.npy", "b.npy"))
    with pytest.raises(ValueError, match=REFUSED):
        check_apart([step(one)], np.asarray(other)[::2])
    check_apart([step(one[:100])], other[100:])
    shutil.copy(tmp_path / "a.npy", tmp_path / "c.npy")
    check_apart([step(one)], np.load(tmp_path / "c.npy", mmap_mode="r"))


@pytest.mark.parametrize("public", [X, X[:], X[:100], pd.DataFrame(X, columns=["x0", "x1"], copy=False)])
def test_a_fit_on_its_own_public_data_is_refused_and_nothing_is_charged(tmp_path, public):
    """Exact private means were released under epsilon = 1."""
    book = Ledger.create(tmp_path / "l.db", "d", epsilon=2, delta=1e-4)
    before = book.remaining()
    steps = [pre.StandardScaler(payment=Public(public)), pre.Rescale(3)]
    clf = PrivateClassifier(BOX, steps=steps, ledger=tmp_path / "l.db")
    with pytest.raises(ValueError, match=f"StandardScaler: the {REFUSED}"):
        clf.fit(X, Y)
    steps, learner = pillar(BOX, public, epsilon=1.0, delta=1e-5, n=N, k=1)
    with pytest.raises(ValueError, match=REFUSED):
        PrivateClassifier(BOX, steps=steps, learner=learner, ledger=tmp_path / "l.db").fit(X, Y)
    assert book.remaining() == before
    assert not prepriv.spent().fits


def test_a_run_of_the_plan_refuses_it_too():
    plan = make_plan(BOX, [step(X[:50])], LEARNER, epsilon=1.0, delta=1e-5, n=N)
    with pytest.raises(ValueError, match=REFUSED):
        execute(plan, encode(X, BOX), encode_labels(Y, (0, 1)), NoisySession())
    assert not prepriv.spent().fits


# ------------------------------------------------------------------------------------------------ files

SCHEMA = """label: {name: y, classes: [0, 1]}
columns:
  x0: {type: numeric, low: 0, high: 1}
  x1: {type: numeric, low: 0, high: 1}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(X, columns=["x0", "x1"]).assign(y=Y)
    table.to_csv("d.csv", index=False)
    Path("soft.csv").symlink_to("d.csv")
    os.link("d.csv", "hard.csv")
    Path("here").symlink_to(".", target_is_directory=True)
    shutil.copy("d.csv", "copy.csv")
    Path("s.yaml").write_text(SCHEMA)
    return tmp_path


def mistake(capsys, *arguments):
    assert run([str(a) for a in arguments]) == 2
    told = capsys.readouterr().err
    assert len(told.splitlines()) == 1
    return told


@pytest.mark.parametrize("path", ["d.csv", "soft.csv", "hard.csv", "here/d.csv", "here/here/soft.csv"])
@pytest.mark.parametrize("how", ["step", "pillar", "test", "replay"])
def test_a_public_file_that_is_the_private_one_is_refused_before_the_charge(folder, capsys, path, how):
    """`--public-test` on the training file wrote its exact training accuracy into the report."""
    assert run(["ledger", "create", "l.db", "--dataset", "d", "--epsilon", "1", "--delta", "1e-4"]) == 0
    before = Ledger.open("l.db").remaining()
    more = {
        "step": f"steps:\n  - {{step: StandardScaler, pay: public, data: {path}}}\n",
        "pillar": f"pillar: {{public: {path}, k: 1}}\n",
        "test": "",
        "replay": f"steps:\n  - {{step: Center, pay: public, data: {path}}}\n",
    }[how]
    Path("s.yaml").write_text(SCHEMA + more)
    train = ["train", "d.csv", "--schema", "s.yaml", "--rows", N, "--ledger", "l.db"]
    if how == "replay":
        train = ["audit", "replay", "s.yaml", "--data", "d.csv", "--rows", N]
    if how == "test":
        train += ["--public-test", path]
    told = mistake(capsys, *train)
    assert f"{path} is declared public and is the private table itself" in told
    assert not Path("run").exists()
    assert Ledger.open("l.db").remaining() == before


def test_a_copy_is_not_looked_into(folder, capsys):
    Path("s.yaml").write_text(SCHEMA + "steps:\n  - {step: StandardScaler, pay: public, data: copy.csv}\n")
    assert run(["train", "d.csv", "--schema", "s.yaml", "--public-test", "copy.csv"]) == 0


def test_a_draft_says_so_and_only_the_curator_s_counts_take_it(folder, capsys):
    """An unedited draft trained: the private extremes stood in the artifact."""
    assert run(["schema", "init", "d.csv", "--label", "y", "--out", "draft.yaml"]) == 0
    text = Path("draft.yaml").read_text()
    assert text.count("\ndraft: true ") == 1
    Path("p.yaml").write_text(
        "rows: 200\nschema: draft.yaml\nlearner: {kind: dp-gd, noise_multiplier: 4, steps: 3}\n"
    )
    capsys.readouterr()
    for arguments in (
        ["plan", "draft.yaml", "--rows", N],
        ["train", "d.csv", "--schema", "draft.yaml"],
        ["account", "p.yaml"],
        ["audit", "replay", "draft.yaml"],
    ):
        told = mistake(capsys, *arguments)
        assert "draft.yaml is a draft" in told and "remove the line `draft: true`" in told
    with pytest.raises(BadSchema, match="classes read off the data"):
        load_schema("draft.yaml")
    assert run(["validate", "d.csv", "--schema", "draft.yaml"]) == 0
    edited = "".join(line for line in text.splitlines(True) if not line.startswith("draft:"))
    Path("edited.yaml").write_text(edited)
    assert run(["plan", "edited.yaml", "--rows", str(N)]) == 0
    Path("edited.yaml").write_text(edited + "draft: false\n")
    assert run(["plan", "edited.yaml", "--rows", str(N)]) == 0


# ----------------------------------------------------------------------------------- cells that are missing

HOLES = Domain({name: Numeric(0, 1, missing="impute") for name in "abc"}, (0, 1), n=300)


def test_a_public_mean_is_that_of_the_cells_that_are_there():
    """One missing cell made every number of the mean NaN; then every private row was dropped, and epsilon spent."""
    public = RNG.uniform(size=(50, 3))
    public[3, 0] = public[7, 0] = np.nan
    public[:, 2] = np.nan
    fitted = step(public).fit_public(encode(public, HOLES), HOLES.space, 50)
    expected = [np.nanmean(public[:, 0]), public[:, 1].mean(), 0.5]
    np.testing.assert_allclose(fitted.offset, expected, rtol=1e-12)


def public_steps():
    kinds = (getattr(pre, name) for name in pre.__all__)
    return [k for k in kinds if isinstance(k, type) and issubclass(k, pre.Step) and "public" in k.ways]


@pytest.mark.parametrize("kind", public_steps(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("empty", ["some cells", "a column", "all"])
@pytest.mark.parametrize("first", [True, False])
def test_no_public_map_holds_a_nan_whatever_is_missing(kind, empty, first):
    public = RNG.uniform(size=(50, 3))
    public[::7, 1] = np.nan
    if empty != "some cells":
        public[:, 1 if empty == "a column" else slice(None)] = np.nan
    made = kind(1, payment=Public(public)) if kind is pre.PCA else kind(payment=Public(public))
    fill = pre.MeanImputer(payment=Budget(0.1))
    steps = [made, fill] if first else [fill, made]
    if kind is pre.Center and first:
        assert check_public(make_plan(HOLES, steps, LEARNER, epsilon=1.0, delta=1e-5)) is None
    try:
        plan = make_plan(HOLES, steps, LEARNER, epsilon=1.0, delta=1e-5)
        check_public(plan)
    except ValueError:
        return  # before anything is charged
    x = RNG.uniform(size=(300, 3))
    trained = execute(plan, encode(x, HOLES), encode_labels(x[:, 0] > 0.5, (0, 1)), NoisySession())
    row = np.full((1, 3), 0.5)
    for fitted in trained.maps:
        assert "nan" not in str(fitted.to_json()).lower()
        row = fitted.transform(row)
        assert np.isfinite(row).all()


def test_a_public_map_that_is_not_a_number_is_refused_before_the_charge():
    class Broken(pre.Center):
        def fit_public(self, rows, space, n):
            return Subtract(np.full(space.d, np.nan if n > 8 else 0.0))  # the plan rehearses it on 8 rows

    steps = [Broken(payment=Public(X[:, :1].repeat(3, 1))), pre.MeanImputer(payment=Budget(0.1))]
    plan = make_plan(HOLES, steps, LEARNER, epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match="not a number"):
        check_public(plan)


def test_a_public_table_without_a_cell_of_a_column_centres_it_at_its_midpoint():
    space = Space(np.array([2.0]), np.array([4.0]), 5.0, np.array([True]))
    assert pre.Center(payment=Public([[0]])).fit_public([np.full((3, 1), np.nan)], space, 3).offset == [3.0]
