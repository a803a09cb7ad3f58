"""An evaluation of groups: at the noise of one, each figure that of its rows, differences with intervals, nothing else leaves."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn import metrics

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv.audit.replay import Recorder, replay
from prepriv.audit.replay_neighbours import neighbours, synthetic
from prepriv.audit.sensitivity_draws import Draws
from prepriv.cli import run
from prepriv.evaluation.cells import GROUP_CELLS, row_entries
from prepriv.evaluation.evaluate import evaluate, release
from prepriv.evaluation.evaluation_plan import MEASURES, TARGET_MEASURES, plan_evaluation
from prepriv.evaluation.intervals import Figure, difference
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.ledger import Ledger
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession
from prepriv.release.advice import to_do
from prepriv.release.quality import Quality
from prepriv.release.shares import GroupError, Share
from prepriv.tables.encoding import encode, encode_labels, encode_targets

BOTH = prepriv.domain.ADJACENCIES
COLUMNS = {"a": Numeric(0, 1), "b": Numeric(0, 1), "sex": Categorical(["f", "m"])}


def people(n, seed=0):
    """Rows and labels; those of "f" are harder to tell, a few cells of "sex" are odd."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m", "x", None], n, p=[0.38, 0.58, 0.02, 0.02])
    X = pd.DataFrame({"a": rng.random(n), "b": rng.random(n), "sex": sex})
    y = np.where(X.a + X.b + (0.4 * (sex == "f") + 0.05) * rng.normal(size=n) > 1, "ill", "well")
    return X, y


@lru_cache
def trained(adjacency="replace-one", n=3000):
    domain = Domain(COLUMNS, classes=["well", "ill"], adjacency=adjacency, n=n)
    return prepriv.PrivateClassifier(domain, epsilon=5.0, steps="linear").fit(*people(n))


@pytest.fixture(scope="module", params=BOTH)
def clf(request):
    return trained(request.param)


def test_groups_cost_what_one_measurement_does(clf):
    """The same noise on each count, and the same claim."""
    options = {"n": 500, "epsilon": 0.3, "delta": 1e-6}
    alone, by = plan_evaluation(clf.model_, **options), plan_evaluation(clf.model_, by="sex", **options)
    assert by.noise == alone.noise and by.guarantee.mu == alone.guarantee.mu
    assert by.groups == ("f", "m", "other", "missing") and by.hash != alone.hash
    recorder = Recorder()
    X, y = people(500, seed=1)
    release(
        by, row_entries(by, clf.model_, encode(X, clf.domain), encode_labels(y, clf.domain.classes)), recorder
    )
    assert [r.name for r in recorder.releases] == list(MEASURES)  # one release of all groups each
    mu = math.sqrt(sum(r.mechanism.cost.mu_squared for r in recorder.releases))
    delta = norm.cdf(mu / 2 - 0.3 / mu) - math.exp(0.3) * norm.cdf(-mu / 2 - 0.3 / mu)
    assert 0.999e-6 < delta <= 1e-6 * (1 + 1e-9)


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("of", ["classes", "target"])
def test_no_row_moves_the_counts_of_all_groups_further_than_declared(adjacency, of):
    """Every pair of kinds of rows in every pair of groups, replaced, added and removed."""
    what = {"classes": [0, 1]} if of == "classes" else {"target": Numeric(0, 1)}
    names = MEASURES if of == "classes" else TARGET_MEASURES
    plan = plan_evaluation(
        Domain(COLUMNS, adjacency=adjacency, **what), n=3, epsilon=1.0, measures=names, by="sex"
    )
    shares = (0.0, 0.3, 1.0, math.nan)  # the last one of a row without a label
    if of == "classes":
        kinds = [
            {"accuracy": float(c in (0, 3)), "confusion": c, "scores": s, "log_loss": v}
            for c, s, v in itertools.product((-1, 0, 1, 3), (-1, 0, 19), shares)
        ]
    else:
        kinds = [
            dict.fromkeys(("absolute_error", "squared_error", "target", "mean_residual"), v)
            | {"residuals": r}
            for v, r in itertools.product(shares, (-1, 0, 19))
        ]
    everyone = [kind | {GROUP_CELLS: g} for kind in kinds for g in range(4)]

    def counted(rows):
        recorder = Recorder()
        release(plan, {name: np.array([row[name] for row in rows]) for name in rows[0]}, recorder)
        return recorder.calls

    alone = counted(everyone[:1])
    each = [counted([everyone[0], row]) for row in everyone]
    pairs = itertools.combinations(each, 2) if adjacency == "replace-one" else ((e, alone) for e in each)
    farthest = dict.fromkeys(plan.releases, 0.0)
    for one, two in pairs:
        for a, b in zip(one, two):
            farthest[a.name] = max(farthest[a.name], math.sqrt(a.moved_squared(b)) / a.sensitivity)
    assert all(1 - 2**-15 < reached <= 1 for reached in farthest.values()), farthest


def test_without_noise_each_figure_is_that_of_its_rows():
    clf = trained()
    X, y = people(2000, seed=2)
    plan = plan_evaluation(clf.model_, n=len(y), epsilon=1e5, by="sex")
    of = row_entries(plan, clf.model_, encode(X, clf.domain), encode_labels(y, clf.domain.classes))
    made = PrivateEvaluation(plan, release(plan, of, ExactSession()), False)
    whole = plan_evaluation(clf.model_, n=len(y), epsilon=1e5)
    plain = PrivateEvaluation(whole, release(whole, of, ExactSession()), False)
    for name, figure in plain.figures.items():
        assert made[name].value == pytest.approx(figure.value, abs=1e-6)
    predicted = clf.predict(X)
    own = {"f": X.sex == "f", "m": X.sex == "m", "other": X.sex == "x", "missing": X.sex.isna()}
    for group, rows in own.items():
        found, t, p = made.groups[group], y[rows], predicted[rows]
        assert found.share.value == pytest.approx(rows.mean(), abs=1e-9)
        assert found["accuracy"].value == pytest.approx(metrics.accuracy_score(t, p), abs=1e-9)
        assert found["recall of ill"].value == pytest.approx(metrics.recall_score(t, p, pos_label="ill"))
        assert found["share predicted ill"].value == pytest.approx((p == "ill").mean())
    apart = {(d.of, d.one, d.two): d.figure for d in made.differences}
    assert apart["accuracy", "f", "m"].value == pytest.approx(
        made.groups["f"]["accuracy"].value - made.groups["m"]["accuracy"].value
    )
    assert len(made.differences) == 6 * (
        len(found.figures) - 2
    )  # all pairs of four groups, and of two classes one of the shares that are predicted


def test_an_undeclared_label_is_in_no_cell_of_any_group():
    clf = trained()
    X, _ = people(400, seed=3)
    plan = plan_evaluation(clf.model_, n=400, epsilon=1.0, by="sex")
    of = row_entries(plan, clf.model_, encode(X, clf.domain), np.full(400, -1, np.int32))
    counts = release(plan, of, ExactSession())
    assert not counts["confusion"].any() and not counts["scores"].any()
    assert counts["accuracy"][:, 2].sum() == 400 and not counts["accuracy"][:, :2].any()


def test_a_difference_is_as_wide_as_both_and_keeps_long_halves():
    one, two = Figure("a", 0.9, 0.8, 0.92, 0.005, 0.02), Figure("a", 0.5, 0.45, 0.6, 0.02, 0.02)
    made = difference("d", one, two)
    assert made.value == pytest.approx(0.4) and made.noise == pytest.approx(math.hypot(0.005, 0.02))
    assert made.low == pytest.approx(0.4 - math.hypot(0.1, 0.1))
    assert made.high == pytest.approx(0.4 + math.hypot(0.02, 0.05))
    assert difference("d", one, Figure("a")).value is None


def test_small_groups_are_refused_by_released_numbers_and_never_compared():
    clf = trained()
    made = clf.evaluate(*people(1500, seed=4), epsilon=0.5, by="sex", measures=("accuracy", "confusion"))
    assert not made.groups["other"].answered and made.groups["f"].answered
    assert {(d.one, d.two) for d in made.differences} == {("f", "m")}
    assert "sex = other" in str(made) and "nothing else about it" in made.to_html()


@pytest.mark.parametrize(
    "by, says",
    [
        ("a", "by must be a declared categorical column, one of 'sex'; got 'a'"),
        ("nobody", "one of 'sex'; got 'nobody'"),
        (["sex"], "one of 'sex'"),
    ],
)
def test_a_column_without_declared_groups_is_refused(by, says, tmp_path):
    clf = trained()
    Ledger.create(tmp_path / "L.db", "people", epsilon=1, delta=1e-3)
    spent = len(prepriv.spent().fits)
    with pytest.raises(ValueError) as caught:
        clf.evaluate(*people(300), by=by, ledger=tmp_path / "L.db")
    assert says in str(caught.value) and "\n" not in str(caught.value)
    assert Ledger.open(tmp_path / "L.db").remaining().epsilon == 1 and len(prepriv.spent().fits) == spent


def test_a_hundred_thousand_groups_are_refused_before_anything_is_read():
    domain = Domain({"who": Categorical([f"p{i}" for i in range(100_000)])}, classes=[0, 1])
    with pytest.raises(ValueError, match="more than 10000 counts"):
        plan_evaluation(domain, n=10**6, epsilon=1.0, by="who")
    with pytest.raises(ValueError, match="this domain has none of"):
        plan_evaluation(Domain.box(0, 1, 2, [0, 1]), n=100, by="x0")


def test_nothing_but_mechanism_outputs_leaves(clf):
    """Replay on hostile neighbours, as for training."""
    plan = plan_evaluation(clf.model_, n=20, epsilon=1.0, delta=1e-3, by="sex")

    def made(table, session):
        found = evaluate(plan, clf.model_, table.rows, list(table.labels), session=session, counted=False)
        return {"json": json.dumps(found.to_json()), "html": found.to_html(), "text": str(found)}

    draws, domain = Draws(6), clf.domain.with_n(20)
    base = synthetic(domain, 20, draws)
    pairs = list(itertools.islice(neighbours(base, domain, draws, 25), 25))
    result = replay(made, base, pairs)
    assert result.pairs == 25 and not result.findings
    assert max(result.reach.values()) > 0.6


def test_a_stream_and_units_fall_into_the_same_groups(tmp_path):
    X, y = people(600, seed=5)
    clf = trained()
    table = X.assign(y=y)
    table.to_parquet(tmp_path / "t.parquet")
    options = {"epsilon": 1e4, "by": "sex", "n": 600, "measures": "accuracy"}
    held = clf.evaluate(X, y, **options)
    streamed = clf.evaluate(tmp_path / "t.parquet", "y", **options)
    assert np.rint(held.counts["accuracy"]).tolist() == np.rint(streamed.counts["accuracy"]).tolist()
    visits = pd.concat([table.assign(who=range(600)), table.assign(who=range(600))[:300]])
    of_units = Domain(COLUMNS, classes=["well", "ill"], n=600, unit="who", rows_per_unit=2)
    twice = prepriv.PrivateClassifier(of_units, epsilon=5.0, steps="linear").fit(visits, visits.y)
    made = twice.evaluate(visits, visits.y, epsilon=1e4, by="sex", n=600, measures="accuracy")
    assert np.rint(made.counts["accuracy"].sum(axis=1)).tolist() == [
        (X.sex == "f").sum(), (X.sex == "m").sum(), (X.sex == "x").sum(), X.sex.isna().sum(),
    ]  # fmt: skip


def test_a_column_that_the_model_does_not_read_has_groups_that_are_declared_beside_it(tmp_path):
    X, y = people(2000, seed=10)
    domain = Domain({name: COLUMNS[name] for name in ("a", "b")}, classes=["well", "ill"])
    clf = prepriv.PrivateClassifier(domain, epsilon=5.0, steps="linear").fit(X, y)
    options = {"epsilon": 1e4, "by": "sex", "groups": ["f", "m"], "measures": "accuracy"}
    made = clf.evaluate(X, y, **options)
    right = clf.predict(X) == y
    for group, rows in {"f": X.sex == "f", "other": X.sex == "x", "missing": X.sex.isna()}.items():
        assert made.groups[group]["accuracy"].value == pytest.approx(right[rows].mean(), abs=1e-3)
    assert json.loads(made.save(tmp_path / "e.json").read_text())["plan"]["groups"] == ["f", "m"]
    X.assign(y=y).to_parquet(tmp_path / "t.parquet")
    streamed = clf.evaluate(tmp_path / "t.parquet", "y", n=2000, **options)
    assert np.rint(made.counts["accuracy"]).tolist() == np.rint(streamed.counts["accuracy"]).tolist()
    for wrong, says in (
        ({"groups": ["f", "f"]}, "distinct"),
        ({"by": None}, "give by"),
        ({"by": "a"}, "declare it in the schema as"),
        ({"by": "a", "groups": None}, "declare it in the schema as"),
        ({"groups": None}, "declare groups"),
    ):
        with pytest.raises(ValueError, match=says):
            clf.evaluate(X, y, **{**options, **wrong})
    with pytest.raises(ValueError, match="no column 'sex'"):
        clf.evaluate(X[["a", "b"]], y, **options)


def test_the_groups_of_a_holdout_stand_in_the_report_and_are_verified(tmp_path):
    X, y = people(3000, seed=7)
    X.assign(ill=y).to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "S.yaml").write_text(
        "label: {name: ill, classes: [well, ill]}\ncolumns:\n  a: {type: numeric, low: 0, high: 1}\n"
        "  b: {type: numeric, low: 0, high: 1}\n  sex: {type: categorical, categories: [f, m]}\n"
    )
    base = ["train", f"{tmp_path}/d.csv", "--schema", f"{tmp_path}/S.yaml", "--rows", "3000"]
    assert run([*base, "--epsilon", "3", "--out", f"{tmp_path}/no", "--by", "sex"]) == 2
    options = ["--epsilon", "3", "--out", f"{tmp_path}/run", "--holdout", "0.4", "--by", "sex"]
    assert run([*base, *options]) == 0
    said = json.loads((tmp_path / "run" / "report.json").read_text())["measured_in_private"]
    assert {g["group"] for g in said["groups"]} == {"f", "m", "other", "missing"}
    page = (tmp_path / "run" / "report.html").read_text()
    assert "accuracy by sex" in page and "Groups" in page
    for name in ("report.html", "report.json"):
        assert run(["report", f"{tmp_path}/run/model", "--verify", f"{tmp_path}/run/{name}"]) == 0


def test_the_command_prints_groups_and_differences(tmp_path, capsys):
    clf = trained()
    clf.model_.save(tmp_path / "model")
    X, y = people(1500, seed=8)
    X.assign(ill=y).to_csv(tmp_path / "t.csv", index=False)
    code = run(
        ["evaluate", f"{tmp_path}/model", f"{tmp_path}/t.csv", "--label", "ill", "--rows", "1500"]
        + ["--epsilon", "1", "--by", "sex", "--out", f"{tmp_path}/e.json"]
    )
    printed = capsys.readouterr().out
    assert code == 0 and "Groups of sex" in printed and "accuracy, f less m" in printed
    made = json.loads((tmp_path / "e.json").read_text())
    assert made["plan"]["by"] == "sex" and np.shape(made["counts"]["confusion"]) == (4, 2, 2)
    assert run(["evaluate", f"{tmp_path}/model", f"{tmp_path}/t.csv", "--label", "ill", "--by", "a"]) == 2


def test_figures_of_sums_over_groups_know_their_noise():
    """Of four groups twice that of one measurement: the interval of all rows is about twice as wide where noise rules."""
    clf, (X, y) = trained(), people(1500, seed=9)
    options = {"epsilon": 0.05, "measures": "accuracy"}
    alone, by = clf.evaluate(X, y, **options), clf.evaluate(X, y, by="sex", **options)
    assert by.all_rows.noise == pytest.approx(2 * alone.all_rows.noise, rel=1e-9)
    assert by["accuracy"].noise > 1.7 * alone["accuracy"].noise


def test_the_plain_part_says_where_groups_differ_and_where_nothing_shows_it():
    clf = trained()
    X, y = people(3000, seed=8)
    made = clf.evaluate(X, y, epsilon=5.0, by="sex", measures="confusion")
    lines = [line for line in made.quality.fails() if "more apart than noise explains" in line]
    beyond = [d for d in made.differences if d.figure.low > 0 or d.figure.high < 0]
    apart = [d for d in beyond if d.of.startswith("recall")]
    told = [d for d in beyond if d.of.startswith(("recall", "accuracy", "share predicted well"))]
    assert apart and len(lines) == min(len(told), 6)
    assert any("it is right for" in line for line in lines)  # by the counts of each class, too
    others = next(line for line in made.quality.fails() if "where one in twenty may by chance" in line)
    assert f"of the {len(made.differences)} differences" in others
    assert len({d.of for d in made.differences if d.of.startswith("share predicted")}) == 1
    recalls = [line for line in lines if "truly" in line]
    assert any(f'in "{d.one}" and' in recalls[0] and f'in "{d.two}" (`sex`)' in recalls[0] for d in apart)
    one = clf.evaluate(X.assign(sex=["f", "m"] * 1500), y, epsilon=0.2, by="sex", measures="accuracy")
    none = not [d for d in one.differences if d.figure.low > 0 or d.figure.high < 0]
    assert any("stands out of the noise" in line for line in one.quality.fails()) == (
        none and bool(one.differences)
    )


def priced(n=4000, seed=0):
    """Rows, numbers and groups of them: those of "c" are off by far more than a model can know, and "d" has hardly any rows."""
    rng = np.random.default_rng(seed)
    of = rng.choice(["a", "b", "c", "d", "x"], n, p=[0.4, 0.25, 0.248, 0.002, 0.1])
    X = pd.DataFrame({"x": rng.random(n), "grade": of})
    return X, 5 + 10 * X.x + np.where(of == "c", 5.0, 1.0) * rng.normal(size=n)


@lru_cache
def priced_regressor():
    columns = {"x": Numeric(0, 1), "grade": Categorical(["a", "b", "c", "d"])}
    domain = Domain(columns, target=Numeric(-10, 30), n=4000)
    return prepriv.PrivateRegressor(domain, epsilon=5.0, steps="linear").fit(*priced())


def counted(reg, X, y, session, **options):
    """An evaluation whose noise is that of the session."""
    plan = plan_evaluation(reg.model_, n=len(y), delta=1e-6, **options)
    of = row_entries(plan, reg.model_, encode(X, reg.domain), encode_targets(y, reg.domain))
    return PrivateEvaluation(plan, release(plan, of, session), False)


@pytest.mark.parametrize(
    ("measures", "named"),
    [
        (("squared_error", "absolute_error", "r2"), "root mean squared error"),
        (("absolute_error",), "mean absolute error"),
    ],
)
def test_the_plain_part_says_for_which_groups_predictions_of_a_number_are_off(measures, named):
    """`--by` of a regression had no "For whom it fails", though one group was off five times as far as another."""
    reg, (X, y) = priced_regressor(), priced(seed=1)
    session = NoisySession(NoiseSource.for_tests(0))
    made = counted(reg, X, y, session, epsilon=1.0, by="grade", measures=measures)
    found, said = made.quality, list(made.quality.fails())
    off = np.minimum(np.abs(y - reg.predict(X)), 10.0)
    shown = off**2 if named.startswith("root") else off
    true = {g: shown[X.grade == g].mean() for g in "abc"} | {"all": shown.mean()}
    true = {g: math.sqrt(v) if named.startswith("root") else v for g, v in true.items()}
    told = {one.name: one for one in found.group_errors}
    assert all(told[g].low <= true[g] <= told[g].high for g in "abc")
    assert f'"c" (`grade`) are off by {told["c"]}, those for all records by ' in said[0]
    assert f": {named}, where errors above 10 count as 10." in said[0]
    few = [line for line in said if line.startswith("Too few records of")]
    assert '"d"' in few[0] and "missing" in few[0]
    lines = [line for line in said if "more apart than noise explains" in line]
    apart = [d for d in made.differences if d.of == named and (d.figure.low > 0 or d.figure.high < 0)]
    assert len(lines) == len(apart) >= 2 and all('records of "c" are off by' in line for line in lines)
    for d in apart:
        least, most = sorted((abs(d.figure.low), abs(d.figure.high)))
        ends = [[float(x) for x in re.findall(r"\(([\d.]+) to ([\d.]+)\)", line)[0]] for line in lines]
        assert any(end == pytest.approx([least, most], abs=0.1) for end in ends), (d, lines)
    near = replace(told["c"], name="b", low=0.0)
    assert [one.name for one in replace(found, group_errors=(near, told["c"])).worse_groups] == ["c"]
    assert said[-1].startswith('"other"') and [one.name for one in found.worse_groups] == ["c"]
    advice = " ".join(to_do(found, weighed=False, weak=False))
    assert 'records of "c" (`grade`) are off by more than for all' in advice and "Nothing in" not in advice
    json_of = found.to_json()["group_errors"]
    assert [one["name"] for one in json_of] == list(made.groups)


def test_the_groups_of_a_number_stand_on_the_page_of_a_training():
    X, y = priced(seed=2)
    domain = priced_regressor().domain
    asked = {"holdout": 0.4, "evaluate_by": "grade"}
    reg = prepriv.PrivateRegressor(domain, epsilon=5.0, steps="linear", **asked).fit(X, y)
    said = dict(reg.report_.summary.sections)["For whom it fails"]
    assert any("records of" in line and "are off by" in line for line in said)
    page = reg.report_.to_html()
    assert "For whom it fails" in page and "those for all records by" in page


def test_groups_of_a_number_that_do_not_differ_or_were_not_measured_are_said_to():
    reg, (X, y) = priced_regressor(), priced(seed=1)
    alike = X.assign(grade=["a", "b"] * 2000)
    made = counted(reg, alike, y, ExactSession(), epsilon=0.3, by="grade", measures="squared_error")
    assert len(made.differences) == 1
    assert any(line.startswith("No difference between") for line in made.quality.fails())
    first, *_ = reg.evaluate(X, y, epsilon=1.0, by="grade", measures="r2").quality.fails()
    assert first == "How far predictions for each group are off was not measured."
    assert "count as 10, those of the mean in R2, too" in str(reg.evaluate(X, y, epsilon=1.0))
    assert "in R2" not in str(reg.evaluate(X, y, epsilon=1.0, measures="absolute_error"))
    (asked,) = reg.evaluate(X, y, epsilon=1.0, measures="r2").quality.fails()
    assert "--by COLUMN" in asked


def test_what_would_tell_more_of_r2_is_what_has_less_noise():
    """It asked for more records or a larger ε where `--by` and four measures were the noise."""
    ends = {"error": 4.2, "error_ends": (3.7, 4.7), "r2": 0.28, "r2_ends": (-0.05, 0.5), "mean_error": 5.0}
    asked = {"measures": ("absolute_error", "squared_error", "r2"), "by": "grade", "largest_error": 26.0}
    found = Quality("rows", of_number=True, **ends, **asked)
    said = " ".join(to_do(found, weighed=False, weak=False))
    for part in ("more test rows", "a larger ε", "`--measure r2`", "no `--by`", "`--error-bound 13`"):
        assert part in said
    often = replace(found, measures=("r2",), by=None, largest_error=6.5, error_bound=6.5, set_aside=True)
    said = " ".join(to_do(often, weighed=False, weak=False))
    assert (
        "--by" not in said
        and "r2" not in said
        and "smaller" not in said
        and "larger holdout (`--holdout`," in said
        and "0.4" not in said
    )
    assert "on rows that were not trained on" not in said and "in a new training" not in said
    cut = replace(often, beats_mean=True, r2_ends=(0.01, 0.4))
    said = " ".join(to_do(cut, weighed=False, weak=False))
    assert "on rows that were not trained on" not in said and "in a new training" in said
    refused = replace(found, r2=None, r2_ends=None, mean_error=None)
    said = " ".join([*refused.good(), *to_do(refused, weighed=False, weak=False)])
    assert said.count("no `--by`") == 1 and "`--error-bound 13`" in said
    worse = replace(found, r2=-0.2, r2_ends=(-0.4, -0.1))
    assert "--measure" not in " ".join(to_do(worse, weighed=False, weak=False))
    reg, (X, y) = priced_regressor(), priced(seed=1)

    def width(**options):
        r2 = counted(reg, X, y, ExactSession(), epsilon=2.0, **options)["R2"]
        return r2.high - r2.low

    most = width(by="grade", error_bound=20)
    assert width(error_bound=20) < 0.8 * most and width(by="grade", error_bound=10) < 0.8 * most
    assert width(by="grade", error_bound=20, measures="r2") < most


def test_a_value_at_the_end_of_its_scale_is_told_by_the_other_end():
    """ "Off by 0.0 (0.0 to 14.3)" was read as a model without errors."""
    assert (
        str(Share("a", 0.0, 0.0, 0.22)) == "at most 22" and str(Share("a", 1.0, 0.78, 1.0)) == "at least 78"
    )
    assert str(Share("a", 0.1, 0.0, 0.22)) == "10 (0 to 22)" and str(Share("a", 1.0)) == "100.0"
    made = Quality(
        "9 rows",
        of_number=True,
        error=0.0,
        error_ends=(0.0, 14.3),
        absolute=(0.0, 0.0, 2.0),
        by="sex",
        group_errors=(GroupError("f", 0.0, 0.0, 9.0),),
        measures=("absolute_error", "squared_error"),
    )
    told = " ".join([*made.good(), *made.fails()])
    assert "off by at most 14.3 (root" in told and "off by at most 2.0 (mean absolute error)" in told
    assert 'of "f" (`sex`) are off by at most 9.0, those for all records by at most 14.3' in told


def test_a_number_of_all_records_beyond_those_of_all_groups_is_explained():
    """An analyst saw a recall of 20 for all, and of 30 and 40 for the two groups."""

    def told(whole):
        groups = (Share("f", 0.3, 0.2, 0.4), Share("m", 0.4, 0.3, 0.5), Share("other"))
        made = Quality(
            "", Share("right", 0.8, 0.7, 0.9), recalls=(Share("ill", whole, 0.1, 0.5),), by="sex",
            groups=(Share("f", 0.7, 0.6, 0.8), Share("m", 0.9, 0.8, 1.0)), group_recalls=(("ill", groups),),
        )  # fmt: skip
        return " ".join(made.fails())

    assert told(0.2).count("need not lie between") == 1 and "need not lie" not in told(0.35)


def test_a_class_that_is_rarely_found_is_named_with_its_recall():
    def advised(*recall, weighed=True):
        made = Quality("", Share("right", 0.9, 0.8, 0.95), recalls=(Share("ill", *recall), Share("well", 1, 1, 1)))  # fmt: skip
        return " ".join(to_do(made, weighed=weighed, weak=False))

    for weighed in (False, True):
        named = 'to find "ill": of 100 records that are truly "ill" it recognises 23 (15 to 34).'
        assert named in advised(0.23, 0.15, 0.34, weighed=weighed)
        assert "to find" not in advised(0.4, 0.2, 0.6, weighed=weighed)


def test_where_errors_are_cut_is_told_where_r2_alone_was_asked():
    made = Quality("", of_number=True, r2=0.3, r2_ends=(0.1, 0.5), error_bound=22.25, measures=("r2",))
    assert "Errors above 22.25 count as 22.25, those of the mean, too." in [*made.good()]


def test_the_tables_hold_the_accuracy_of_the_first_sentence_where_classes_alone_were_measured():
    """ "Of 100 predictions 89 are right" stood above, and "The measurement in full" had no such number."""
    model, rows = trained().model_, people(800, seed=4)
    for measures, added in ((("confusion",), 1), (("accuracy", "confusion"), 0)):
        plan = plan_evaluation(model, n=800, epsilon=2.0, measures=measures, by="sex")
        made = evaluate(plan, model, *rows)
        right, named = made.quality.right, "<td>accuracy, from the counts of each class</td>"
        assert right is not None and made.fragment().count(named) == 2 * added
        if added:
            cells = made.all_rows.right.cells
            assert f"{named}<td>{cells[1]}</td><td>{cells[2]}</td>" in made.fragment()
            assert right.value == made.all_rows.right.value
            assert made.groups["f"].right.interval in made.fragment()
