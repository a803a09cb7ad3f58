"""`prepriv.validate` counts what `encode` will do, cell by cell; `predict` refuses rows of another form."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import prepriv
from prepriv import Categorical, Domain, Numeric, PrivateClassifier
from prepriv.cli import run
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.tables.encoding import encode, encode_labels
from prepriv.tables.readers import BadData

DOMAIN = Domain(
    {"age": Numeric(17, 90), "job": Categorical(["clerk", "smith"])}, classes=["no", "yes"], label="paid"
)
AGES = ["20", " 30", "1e1", "x", "40,5", "", "NA", None, "inf", "-1"]
JOBS = ["clerk", "smith ", "Clerk", "", "n/a", None, "baker", "baker", "😀", "1"]
PAID = ["yes", "no", "Yes", "", None, "maybe", "no", "no", "yes", "maybe"]


def forms():
    frame = pd.DataFrame({"age": AGES, "job": JOBS}, dtype=object)
    rows = [list(row) for row in zip(AGES, JOBS)]
    yield "pandas", frame
    yield "polars", pl.DataFrame({"age": AGES, "job": JOBS})
    yield "Arrow", pa.table({"age": AGES, "job": JOBS})
    yield "lists", rows
    yield "objects", np.array(rows, dtype=object)


@pytest.mark.parametrize("form", dict(forms()))
def test_every_container_is_counted_alike(form):
    found = prepriv.validate(DOMAIN, dict(forms())[form], PAID)
    age, job = found.columns
    assert age.faults == (3, 2, 3, 0) and age.unmatched == (("40,5", 1), ("x", 1))
    assert job.faults == (3, 0, 0, 5) and job.unmatched == (("baker", 2), ("1", 1), ("Clerk", 1), ("😀", 1))
    assert found.labels.faults == (2, 0, 0, 3) and found.labels.unmatched == (("maybe", 2), ("Yes", 1))
    assert found.labels.counts == (("no", 3), ("yes", 2))
    assert (found.rows, found.declared, found.clean) == (10, None, False)


CELLS = st.one_of(
    st.none(), st.floats(), st.integers(-5, 200), st.booleans(), st.text(max_size=4),
    st.sampled_from(["clerk", "NA", "nan", "1_000", "+1", "٣", "smith", "1.0"]),
)  # fmt: skip


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=8))
def test_the_counts_are_those_of_what_encode_makes_of_the_cells(rows):
    x, y = [[a, b] for a, b, _ in rows], [c for *_, c in rows]
    found = prepriv.validate(DOMAIN, x, y)
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoded = np.vstack(
            list(
                encode(
                    x,
                    Domain(
                        {**DOMAIN.columns, "age": Numeric(17, 90, missing="impute")}, classes=["no", "yes"]
                    ),
                )
            )
        )
    age, job = found.columns
    assert age.faults[0] + age.faults[1] == np.isnan(encoded[:, 0]).sum()
    assert job.faults[3] == encoded[:, 3].sum() and job.faults[0] == encoded[:, 4].sum()
    codes = encode_labels(y, DOMAIN.classes)
    assert found.labels.faults[0] + found.labels.faults[3] == (codes < 0).sum()
    assert [count for _, count in found.labels.counts] == [(codes == k).sum() for k in (0, 1)]


def test_it_says_that_it_is_not_private_and_prints_no_value():
    said = str(prepriv.validate(DOMAIN, dict(forms())["lists"], PAID))
    assert said.startswith("for the curator only: these counts are not private")
    assert repr(prepriv.validate(DOMAIN, [["30", "clerk"]])) == str(
        prepriv.validate(DOMAIN, [["30", "clerk"]])
    )
    assert not any(value in said for value in ("40,5", "baker", "maybe", "😀"))
    assert "NOT" not in said and "curator" in prepriv.validate.__doc__.lower()
    clean = prepriv.validate(DOMAIN, [[30, "clerk"]], ["yes"])
    assert clean.clean and clean.columns[0].found == "object"


def test_the_command_prints_the_same_counts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"age": AGES, "job": JOBS, "paid": PAID}).fillna("")
    table.to_csv("t.csv", index=False)
    (tmp_path / "s.yaml").write_text(
        "label: {name: paid, classes: [no, yes]}\ncolumns:\n  age: {type: numeric, low: 17, high: 90}\n"
        "  job: {type: categorical, categories: [clerk, smith]}\n".replace("[no, yes]", '["no", "yes"]')
    )
    assert run(["validate", "t.csv", "--schema", "s.yaml"]) == 0
    out = [line.replace("│", " ").split() for line in capsys.readouterr().out.splitlines()]
    for line in prepriv.validate(DOMAIN, table[["age", "job"]], table["paid"]).lines:
        assert [*line[0].split(), *line[-4:]] in [words[:1] + words[-4:] for words in out], line


def test_the_screen_alone_names_categories_that_are_not_declared(tmp_path, monkeypatch, capsys):
    """A curator read "unknown 246", and had to search the table for how these cells are spelled."""
    monkeypatch.chdir(tmp_path)
    jobs = ["clerk"] * 9 + ["Smith"] * 4 + ["baker"] * 3 + ["cook"] * 2 + ["\x1b[31mdiver"] + ["none"]
    pd.DataFrame({"job": jobs, "home": ["rent"] * 19 + ["own"], "paid": ["no", "yes"] * 10}).to_csv("t.csv")
    (tmp_path / "s.yaml").write_text(
        'label: {name: paid, classes: ["no", "yes"]}\nrows: 20\ncolumns:\n'
        "  job: {type: categorical, categories: [clerk, smith]}\n  home: {type: categorical, categories: [rent]}\n"
    )
    there = sorted(tmp_path.iterdir())
    for more in ([], ["--no-labels"]):
        assert run(["validate", "t.csv", "--schema", "s.yaml", *more]) == 0  # as without such cells
        out = capsys.readouterr().out
        said = "10 cells of 'job' say no declared category and count as other, most often 'Smith' (4), 'baker' (3), 'cook' (2)\n"
        assert (
            said in out
            and "1 cell of 'home' says no declared category and counts as other: 'own' (1)\n" in out
        )
        assert "diver" not in out and out.index("not private") < out.index("baker")
    # what is kept as data, and what a notebook keeps, holds none of it
    assert run(["validate", "t.csv", "--schema", "s.yaml", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    table = pd.read_csv("t.csv", dtype=str, keep_default_na=False)
    domain = Domain(
        {"job": Categorical(["clerk", "smith"]), "home": Categorical(["rent"])}, classes=["no", "yes"]
    )
    found = prepriv.validate(domain, table[["job", "home"]], table["paid"])
    for kept in (json.dumps(told), str(found), repr(found)):
        assert not any(word in kept for word in ("Smith", "baker", "cook", "diver", "'own'"))
    assert "`columns[0].unmatched` holds" in str(found) and found.columns[0].unmatched[0] == ("Smith", 4)
    assert sorted(tmp_path.iterdir()) == there  # nothing is written
    sources = Path(prepriv.__file__).parent
    users = {
        f.relative_to(sources).as_posix()
        for f in sources.rglob("*.py")
        if ".undeclared" in f.read_text("utf-8")
    }
    assert users == {"commands/validate.py"}  # no report, no page and no other command asks for them


def test_it_says_what_cells_without_a_number_become(tmp_path, monkeypatch, capsys):
    """396 empty cells became 5, the middle of the bounds, and `validate` said "missing: 396" alone."""
    columns = {"calls": Numeric(0, 10), "age": Numeric(0, 90, "impute"), "day": Numeric(0, 10)}
    rows = [[None, None, 1], [3, 40, 2], ["x", None, 3]]
    found = prepriv.validate(Domain(columns, [0, 1]), rows)
    assert len(found.filled) == 1 and found.filled[0] in str(found)
    assert "2 cells of 'calls'" in found.filled[0] and " 5, " in found.filled[0]
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("calls,y\n,a\n,b\n3,a\n")
    Path("s.yaml").write_text(
        "label: {name: y, classes: [a, b]}\ncolumns:\n  calls: {type: numeric, low: 0, high: 10}\n"
    )
    assert run(["validate", "t.csv", "--schema", "s.yaml"]) == 0
    assert "2 cells of 'calls'" in capsys.readouterr().out


def test_conditions_of_a_plan_are_checked_on_these_rows():
    from prepriv import preprocessing as pre
    from prepriv.payment import Sensitivity
    from prepriv.plans.plan import make_plan

    domain = Domain({"a": Numeric(0, 1, missing="impute")}, classes=[0, 1])
    steps = (pre.MeanImputer(payment=Sensitivity({"missing": 0.25})),)
    learner = GradientDescent(Logistic(), steps=5, learning_rate=0.5, clip_norm=1.0)
    plan = make_plan(domain, steps, learner, epsilon=1.0, delta=1e-5, n=20)
    few, many = [[None]] * 2 + [[0.5]] * 18, [[None]] * 12 + [[0.5]] * 8
    for rows, holds in ((few, True), (many, False)):
        found = prepriv.validate(domain, rows, [0, 1] * 10, plan=plan)
        assert all(good for _, _, good in found.conditions) == holds and (("FAILS" in str(found)) != holds)
        assert not found.clean
    assert prepriv.validate(domain, few[1:], [0, 1] * 9 + [0], plan=plan).conditions is None


@pytest.mark.parametrize(
    "x,y",
    [
        ([[1]], None),
        (np.ones((2, 3)), None),
        (pd.DataFrame({"age": [1]}), None),
        (7, None),
        ([[1, "a"]], [1, 2]),
    ],
)
def test_a_form_that_fit_refuses_is_refused(x, y):
    if (
        isinstance(x, list) and y is None
    ):  # training reads a short row as missing cells, and so does the count
        assert prepriv.validate(DOMAIN, x).columns[0].faults == (1, 0, 0, 0)
        return
    with pytest.raises(ValueError) as error:
        prepriv.validate(DOMAIN, x, y)
    assert len(str(error.value).splitlines()) == 1


# ------------------------------------------------------------------------------------------- new rows


def fitted(domain, x):
    learner = GradientDescent(Logistic(), steps=5, learning_rate=0.5, clip_norm=1.0)
    return PrivateClassifier(domain, steps=(), learner=learner, threads=1).fit(x, [0, 1] * (len(x) // 2))


BOX = Domain.box(0, 1, 2, [0, 1])
ROWS = np.random.default_rng(0).random((20, 2))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_new_rows_of_another_form_are_refused(method):
    clf = fitted(BOX, ROWS)
    ask = getattr(clf, method)
    assert (
        len(ask(ROWS[:3])) == len(ask(ROWS[:3].tolist())) == 3 and len(ask([[0.1, None], [None, 0.2]])) == 2
    )
    for wrong, says in (
        ([[0.1, 0.2], [0.1]], "row 1 is not a row of 2 cells"),
        ([[0.1, 0.2, 0.3]], "row 0 is not a row of 2 cells"),
        ([0.1, 0.2], "row 0 is not a row of 2 cells"),
        (["ab"], "row 0 is not a row of 2 cells"),
        (np.array([["a", "0.1"], ["b", "0.2"]]), "column 'x0' holds no number in any row"),
        (pd.DataFrame({"u": pd.to_datetime(["2020-01-01"]), "v": [0.1]}), "column 'x0' holds no number"),
        (ROWS[:, :1], "1 features"),
        (ROWS[0], "2-dimensional"),
    ):
        with pytest.raises(ValueError, match=says) as error:
            ask(wrong)
        assert len(str(error.value).splitlines()) == 1


def test_columns_that_are_taken_by_place_must_be_those_of_the_fit():
    """A frame with its columns turned was predicted with the weights of the other column."""
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    clf = fitted(BOX, frame)
    assert (clf.predict(frame) == clf.predict(ROWS)).all()
    for turned in (
        frame[["b", "a"]],
        frame.rename(columns={"a": "c"}),
        pl.DataFrame({"b": [0.1], "a": [0.2]}),
    ):
        with pytest.raises(ValueError, match="feature names should match"):
            clf.predict(turned)
    named = fitted(Domain({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=[0, 1]), frame)
    assert (named.predict(frame[["b", "a"]]) == named.predict(frame)).all(), "declared names: any order"
    plain = frame.set_axis(["x0", "x1"], axis=1).assign(who=1)
    by_name = fitted(BOX, plain)  # a box calls its columns so, and a schema may
    assert (by_name.predict(plain[["x1", "x0"]]) == by_name.predict(plain)).all()
    with pytest.raises(BadData, match="no column 'a'"):
        named.predict(frame.rename(columns={"a": "c"}))


def test_an_odd_cell_among_others_is_still_a_missing_one():
    clf = fitted(BOX, ROWS)
    assert len(clf.predict([["x", 0.1], ["0.3", 0.2]])) == 2 and len(clf.predict([[None, 0.1]])) == 1


def test_a_cell_that_says_other_is_not_a_misspelled_category():
    domain = Domain({"home": Categorical(["rent"])}, classes=["no", "yes"])
    found = prepriv.validate(domain, [["rent"], ["other"], ["othre"]], ["no", "other", "yes"])
    assert found.columns[0].faults == (0, 0, 0, 1) and found.columns[0].unmatched == (("othre", 1),)
    assert found.labels.unmatched == (("other", 1),)


def test_gaps_that_a_pipeline_fills_do_not_become_the_middle():
    domain = Domain({"pay": Numeric(0, 1000)}, classes=["no", "yes"], n=4)
    rows, labels = [[None], [3.0], [5.0], [7.0]], ["no", "yes"] * 2
    pipeline = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), LogisticRegression())
    plan = prepriv.private(pipeline, domain, epsilon=50.0).plan()
    alone, planned = (prepriv.validate(domain, rows, labels, plan=p) for p in (None, plan))
    assert len(alone.filled) == 1 and "500" in alone.filled[0] and planned.filled == ()
    assert alone.columns[0].faults == planned.columns[0].faults == (1, 0, 0, 0)
