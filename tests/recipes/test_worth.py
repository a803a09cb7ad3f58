"""What a budget was worth: the numbers of the package are those of the kept runs, and `plan --epsilons` shows them."""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

import prepriv
from prepriv import Domain
from prepriv.cli import run
from prepriv.guarantees import gdp_mu
from prepriv.learners import GradientDescent, Logistic, SquaredError
from prepriv.recipes.worth import WORTH, per_column, worth_at
from prepriv.release.advice import (
    _BELOW,
    _CODES,
    _CODES_FROM,
    _CODES_TO,
    _SHARES_LOWER,
    _SPREAD_RUNS,
    HELD,
    below_the_mean_in_words,
    codes_in_words,
    sure_in_words,
)

ROOT = Path(__file__).parents[2]
SCHEMA = "label: {name: y, classes: [a, b]}\ncolumns:\n  x: {type: numeric, low: 0, high: 1}\n"


def test_the_numbers_and_the_picture_are_those_of_the_kept_runs(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import worth

    lines = worth.read(ROOT / "docs/worth.jsonl")
    assert len({line["table"] for line in lines}) == 42 and len(lines) == 210
    assert tuple(worth.worth_of(lines)) == WORTH and sum(one.runs for one in WORTH) == 210
    assert (ROOT / "docs/img/worth.svg").read_text("utf-8") == worth.picture(lines) + "\n"
    page = (ROOT / "docs/learn/which-epsilon.md").read_text("utf-8")
    for one in WORTH:
        assert f"| {one.runs} | {one.tables} | {one.half:g} | {one.most:g} | {one.beat} |" in page
    for line in lines:
        assert abs(line["mu"] - gdp_mu(line["epsilon"], 1e-5)) < 1e-4
    sys.modules.pop("worth")


def test_every_signal_has_its_part():
    assert WORTH[0].low == 0 and WORTH[-1].high == math.inf
    assert all(a.high == b.low for a, b in pairwise(WORTH))
    assert worth_at(0.0) == WORTH[0] and worth_at(1e9) == WORTH[-1] and worth_at(3.0).low == 3


def test_equal_numbers_mean_equal_noise_under_either_adjacency():
    one, other = (Domain.box(0, 1, 4, [0, 1], adjacency=a) for a in ("replace-one", "add-or-remove-one"))
    options = {"n": 1000, "epsilon": 1.0, "delta": 1e-5}
    assert per_column(one, **options) == pytest.approx(1000 * gdp_mu(1.0, 1e-5) / 4)
    assert per_column(other, **options) == pytest.approx(2 * per_column(one, **options))


def test_plan_compares_budgets(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "S.yaml").write_text(SCHEMA)
    assert run(["plan", "S.yaml", "--rows", "500", "--epsilons", "0.1,1,4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["epsilons"]
    assert [line["epsilon"] for line in found] == [0.1, 1, 4] and found[0]["noise"] == 1
    assert found[0]["noise"] > found[1]["noise"] > found[2]["noise"]
    assert found[0]["right_guesses"] < found[1]["right_guesses"] < found[2]["right_guesses"]
    assert run(["plan", "S.yaml", "--rows", "500", "--epsilons", "0.1,1"]) == 0
    assert "55.4%" in capsys.readouterr().out
    for wrong in ("0.1,x", "0", "inf", ",".join(["1"] * 21)):
        assert run(["plan", "S.yaml", "--rows", "500", "--epsilons", wrong]) == 2
    assert run(["plan", "S.yaml", "--rows", "500", "--epsilons", "0.1,1", "--plot", "p.svg"]) == 2
    assert "--plot is for one ε" in capsys.readouterr().err
    assert (
        run(["plan", "S.yaml", "--rows", "5000", "--epsilons", "1,4", "--holdout", "0.2"]) == 0
    )  # it was refused
    together = [line for line in capsys.readouterr().out.splitlines() if "--holdout 0.2:" in line]
    for epsilon, line in zip(("1", "4"), together, strict=True):
        assert run(["plan", "S.yaml", "--rows", "5000", "--epsilon", epsilon, "--holdout", "0.2"]) == 0
        assert line.startswith(f"ε = {epsilon}, ") and line.split(", ", 1)[1] in capsys.readouterr().out
    target = SCHEMA.replace("classes: [a, b]", "low: 0, high: 1")
    (tmp_path / "T.yaml").write_text(target)
    assert run(["plan", "T.yaml", "--rows", "500", "--epsilons", "1"]) == 0
    assert "measured for classes alone" in capsys.readouterr().out
    for asked, said in (
        (["--epsilons", "0.5,100"], "s is"),
        (["--epsilon", "0.5"], "such an s"),
        (["--epsilon", "100"], ""),
    ):
        assert run(["plan", "T.yaml", "--rows", "500", *asked]) == 0
        out = capsys.readouterr().out
        assert ("worse than the mean" in out) == bool(said) and "at ε = 100" not in out
    assert run(["plan", "S.yaml", "--rows", "50", "--epsilon", "0.1"]) == 0
    assert "worse than the mean" not in capsys.readouterr().out


def test_the_records_that_a_recall_needs_give_an_interval_of_ten_points():
    """By the intervals of an evaluation: half of them recognised, in the holdout of a fifth."""
    from prepriv import Domain, make_plan
    from prepriv.commands.plan import recall_in_words
    from prepriv.evaluation.evaluation_plan import plan_evaluation
    from prepriv.evaluation.intervals import share

    domain = Domain.box(0, 1, 2, ["a", "b"], n=20_000)
    for epsilon in (0.5, 1.0):
        plan = make_plan(domain, [], GradientDescent(Logistic()), epsilon=epsilon, delta=1e-5)
        said = recall_in_words([plan])
        rows = float(said.split("of it: ")[1].split(" at")[0].replace(",", "")) / 5
        noise = plan_evaluation(domain, n=4000, epsilon=epsilon, delta=1e-5).noise
        found = share("recall", [rows / 2], [rows / 2], noise)
        assert 0.09 < found.high - 0.5 < 0.11 and 0.09 < 0.5 - found.low < 0.11


@pytest.mark.parametrize("adjacency", prepriv.adjacency.ADJACENCIES)
def test_what_a_holdout_will_know_is_in_the_units_of_the_score(adjacency):
    from prepriv.commands.plan import score_in_words
    from prepriv.evaluation.evaluation_plan import plan_evaluation
    from prepriv.evaluation.result import PrivateEvaluation

    def said(n, share=0.2, **told):
        domain = Domain.box(0, 1, 2, n=n, adjacency=adjacency, **told)
        plan = prepriv.make_plan(domain, [], GradientDescent(Logistic()), epsilon=1.0, delta=1e-5)
        words = score_in_words(plan, share)
        assert "if each has a label" in words or "too few" in words
        return words, plan_evaluation(domain.with_n(round(share * n)), n=round(share * n), epsilon=1.0)

    words, made = said(10_000, classes=["a", "b"])
    rows = {name: np.array([1000.0, 1000.0, 0.0]) for name in made.releases}  # right, wrong, without a label
    measured = PrivateEvaluation(made, {"accuracy": rows["accuracy"]}, True).all_rows._accuracy()[0]
    assert "8,000" in words and "1.25 times" in words  # what trains, beside the plan of all
    points = float(words.split("± ")[1].split()[0])
    assert points == pytest.approx(50 * (measured.high - measured.low), rel=0.05)
    assert "too few" in said(30, classes=["a", "b"])[0]
    with pytest.raises(ValueError, match="holdout"):
        said(30, 2.0, classes=["a", "b"])


@pytest.mark.parametrize("of", [{"classes": ["a", "b"]}, {"target": prepriv.Numeric(40.0, 190.0)}])
def test_what_a_holdout_will_know_is_said_to_hold_without_groups(of):
    """Weights at birth: "known to ± 2.5 or better" without --by was ± 3.1 to 3.4 with --by smoke."""
    from prepriv.commands.plan import score_in_words
    from prepriv.evaluation.evaluation_plan import plan_evaluation
    from prepriv.evaluation.result import PrivateEvaluation

    domain = Domain({"x": prepriv.Numeric(0, 1), "g": prepriv.Categorical(["u", "v"])}, n=4000, **of)
    learner = GradientDescent(Logistic() if "classes" in of else SquaredError())
    plan = prepriv.make_plan(domain, [], learner, epsilon=1.0, delta=1e-5)
    words = score_in_words(plan, 0.25)
    assert (
        "or better, in nearly all runs, without --by if each has a label" in words
        and "With --by it is known less closely" in words
    )
    measure, name = ("accuracy", "accuracy") if "classes" in of else ("absolute_error", "mean absolute error")

    def length(by, groups):
        made = plan_evaluation(domain, n=1000, epsilon=0.3, measures=measure, by=by)
        counts = np.array([[500.0 / groups, 500.0 / groups, 0.0]] * groups)
        return PrivateEvaluation(made, {measure: counts if by else counts[0]}, True).figures[name].length

    assert length("g", 4) > 1.2 * length(None, 1)  # u, v, others and gaps


def test_epsilons_on_a_drafted_schema_say_that_the_choice_is_late(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "a,y\n" + "".join(f"{i % 7},{'no' if i % 2 else 'yes'}\n" for i in range(600))
    Path("t.csv").write_text(rows)
    assert run(["schema", "init", "t.csv", "--epsilon", "2", "--rows", "600", "--out", "S.yaml"]) == 0
    capsys.readouterr()
    compare = ["plan", "S.yaml", "--rows", "600", "--epsilons", "0.5,1"]
    assert run([*compare, "--delta", "0.01"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "chosen before anyone saw the draft" in told and "weak: δ = 0.01" in told
    declared = yaml.safe_load(Path("S.yaml").read_text())
    Path("S.yaml").write_text(yaml.safe_dump({key: declared[key] for key in declared if key != "drafted"}))
    assert run(compare) == 0
    told = capsys.readouterr().out
    assert "draft was" not in told and "WARNING" not in told and "weak:" not in told


@pytest.mark.parametrize("adjacency", prepriv.adjacency.ADJACENCIES)
@pytest.mark.parametrize(("rows", "epsilon"), [(198, 0.5), (300, 0.5), (300, 1.0), (2000, 0.1)])
@pytest.mark.parametrize("of", [{"classes": ["a", "b"]}, {"target": prepriv.Numeric(0, 20)}])
def test_hardly_a_run_is_longer_than_the_plan_says(adjacency, rows, epsilon, of):
    """ "± 0.87 or better" came as up to 1.07: the noisy number of rows, by which a sum is divided, was taken for the true one."""
    from prepriv.adjacency import n_is_public
    from prepriv.commands.plan import score_in_words
    from prepriv.evaluation.evaluation_plan import plan_evaluation
    from prepriv.evaluation.figures import Measured

    domain = Domain.box(0, 1, 2, n=5 * rows, adjacency=adjacency, **of)
    learner = GradientDescent(Logistic() if "classes" in of else SquaredError())
    plan = prepriv.make_plan(domain, [], learner, epsilon=epsilon, delta=1e-5)
    words = score_in_words(plan, 0.2)
    if "too few" in words:
        return
    told = float(words.split("± ")[1].split()[0]) / (100 if "classes" in of else 1)
    made = plan_evaluation(domain.with_n(rows), n=rows, epsilon=epsilon, delta=1e-5)
    measure, draw, longer = "accuracy" if "classes" in of else "absolute_error", np.random.default_rng(3), 0
    for _ in range(300):
        counts = np.array([rows / 2, rows / 2, 0.0]) + made.noise * draw.standard_normal(3)
        found = Measured(made, {measure: counts}, made.noise, n_is_public(adjacency))._pair("", measure)
        half = math.inf if found.length is None else found.length * (made.error_bound or 1.0) / 2
        longer += half > 1.01 * told
    assert longer <= 15


def test_a_number_that_may_be_worse_than_its_mean_is_said_unless_it_is_measured(
    tmp_path, monkeypatch, capsys
):
    """A reader followed the ε that `train` named as the least: R² was below 0 in 9 of 10 runs, and nothing said so."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 1, (600, 2)), rng.uniform(0, 9, 600)
    said = r"worse than the mean.* in 75 of 165 runs .* s = 100"
    for epsilon, holdout, warned in ((0.3, None, True), (4, None, False), (4, 0.3, False)):
        domain = Domain.box(0, 1, 2, target=prepriv.Numeric(0, 9))
        reg = prepriv.PrivateRegressor(domain, epsilon=epsilon, holdout=holdout)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            reg.fit(x, y)
        assert warned == any(re.search(said, str(w.message)) for w in caught), epsilon
        assert warned == bool(re.search(said, " ".join(reg.report_.summary.to_do))), epsilon
    (tmp_path / "S.yaml").write_text(SCHEMA.replace("classes: [a, b]", "low: 0, high: 9"))
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(f"{a},{b}" for (a, _), b in zip(x, y, strict=True)))
    for more, found in (([], True), (["--holdout", "0.3"], False)):
        asked = ["train", "t.csv", "--schema", "S.yaml", "--rows", "600", "--epsilon", "0.3", *more]
        assert run([*asked, "--out", f"run{len(more)}"]) == 0
        out = capsys.readouterr().out
        assert found == bool(
            re.search(r"WARNING: .*--holdout.*worse than the mean", out.partition("What")[0])
        )


def test_what_is_said_of_small_s_is_what_docs_say():
    """Runs of a model, by s, with R² below -.01."""
    page = (ROOT / "docs/regression.md").read_text("utf-8")
    for most, below, runs in _BELOW:
        assert re.search(rf"\| (below|[\d]+ to) {most} \| {runs} \|[^|]*\|[^|]*\|[^|]*\| {below} \|", page), (
            most
        )
    assert "2 of 345" in page


def test_a_number_that_varies_little_beside_its_bounds_is_said():
    """A reader followed the ε that is named as enough, s = 100: of days in hospital with wide bounds 10 of 16 models were worse than the mean, and
    the warning was gone."""
    x = np.random.default_rng(0).uniform(0, 1, (1050, 2))
    y = 2.0 + 90.0 * x[:, 0]
    for epsilon, log, warned, told in (
        (0.7, False, True, True),
        (2, False, True, True),
        (0.7, True, True, True),
        (6, False, False, True),
        (20, False, False, False),
    ):
        domain = Domain.box(0, 1, 2, target=prepriv.Numeric(1, 121, log=log))
        reg = prepriv.PrivateRegressor(domain, epsilon=epsilon, delta=1e-5)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            reg.fit(x, y)
        assert warned == any("unless the standard deviation" in str(w.message) for w in caught), epsilon
        page = " ".join(reg.report_.summary.to_do)
        found = re.search(r"unless the standard deviation of (.*?) is (?:([\d.]+) \()?([\d.]+) % of", page)
        assert told == (found is not None), epsilon
        if found is not None:
            share = 20 / reg.model_.declared.signal
            assert float(found[3]) == pytest.approx(100 * share, rel=0.05)
            assert ("logarithm" in found[1]) == log == (found[2] is None)
            assert log or float(found[2]) == pytest.approx(120 * share, rel=0.05)
    table = (ROOT / "docs/regression.md").read_text("utf-8")
    rows = re.findall(r"\| (\d+) (?:to (\d+)|and more) \| (\d+) \| (\d+) \| \d+ \| \d+ \|\n", table)
    low = 0.0
    for high, worse, runs in _SPREAD_RUNS:
        part = [
            (int(w), int(n)) for a, b, n, w in rows if low <= int(a) and (int(b) if b else math.inf) <= high
        ]
        assert (sum(w for w, _ in part), sum(n for _, n in part)) == (worse, runs)
        low = high


def test_an_additive_regression_of_a_hundred_columns_is_trained_without_privacy():
    """It was refused: "the gradient has no finite bound"."""
    x = np.random.default_rng(0).uniform(-1, 1, (800, 100))
    domain = Domain.box(-1, 1, 100, target=prepriv.Numeric(-9, 9))
    y = 3.0 * x[:, 0] ** 2 + x[:, 1]
    reg = prepriv.PrivateRegressor(domain, epsilon=math.inf, steps="additive").fit(x, y)
    assert np.square(reg.predict(x) - y).mean() < 0.4 * y.var()


def test_probabilities_that_may_be_worse_than_shares_are_said(tmp_path, monkeypatch, capsys):
    """A reader: eight classes of 1,500 records had a higher log loss than the shares of the classes, and nothing said so."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for n, classes, said, warned in (
        (1500, 20, "19 of 111", True),
        (1500, 6, "7 of 56", True),
        (1500, 4, "11 of 37", True),
        (1500, 2, None, False),
    ):
        x = rng.uniform(0, 1, (n, 2))
        y = (classes * x[:, 0]).astype(int)
        clf = prepriv.PrivateClassifier(Domain.box(0, 1, 2, classes=tuple(range(classes))), epsilon=1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            clf.fit(x, y)
        assert warned == any("share of each class" in str(w.message) for w in caught), classes
        found = " ".join(clf.report_.summary.to_do)
        assert (said in found) if said else "share of each class" not in found, classes
    number = Domain.box(0, 1, 2, target=prepriv.Numeric(0, 9))
    assert not sure_in_words(prepriv.PrivateRegressor(number, epsilon=0.1).plan(100))
    (tmp_path / "S.yaml").write_text(SCHEMA)
    for rows, found in ((60, True), (6000, False)):
        assert run(["plan", "S.yaml", "--rows", str(rows), "--epsilon", "1"]) == 0
        assert found == ("share of each class" in " ".join(capsys.readouterr().out.split()))


def test_what_is_said_of_shares_is_what_docs_say():
    page = (ROOT / "docs/recipe.md").read_text("utf-8")
    rows = re.findall(
        r"\| (\d+) (?:to (\d+)|and more) \| (.+) of (\d+) \| (.+) of (\d+) \| (.+) of (\d+) \|", page
    )
    assert [row[0] for row in rows] == ["0", "3", "6", "20", "40", "100"]
    for k, (_, _, counts, more) in enumerate(_SHARES_LOWER):
        cells = [(int(row[0]), int(row[2 + 2 * k]), int(row[3 + 2 * k])) for row in rows]
        low = 0
        for most, lower, fits in (*counts, (math.inf, *more)):
            part = [one[1:] for one in cells if low <= one[0] < most]
            assert tuple(map(sum, zip(*part))) == (lower, fits)
            low = most
    two = prepriv.PrivateClassifier(Domain.box(0, 1, 2, classes=(0, 1)), epsilon=1.0).plan(10**4)
    per_record = two.signal / 10**4
    for classes, most in ((2, 40), (3, 100), (4, 100), (5, 40)):
        domain = Domain.box(0, 1, 2, classes=tuple(range(classes)))
        for s, said in ((0.98 * most, True), (1.02 * most, False)):
            n = round(s * classes / per_record)
            assert bool(sure_in_words(prepriv.PrivateClassifier(domain, epsilon=1.0).plan(n))) == said


def test_the_epsilon_that_is_named_for_a_number_is_one_from_which_it_is_said_no_more():
    domain = Domain.box(0, 1, 2, target=prepriv.Numeric(0, 9))

    def planned(n, epsilon):
        return prepriv.PrivateRegressor(domain, epsilon=epsilon, delta=1e-6).plan(n)

    for n, epsilon in ((600, 0.3), (5000, 0.1), (60, 0.1)):
        named = re.search(
            r"about (?:ε = ([\d.]+)|([\d,]+) records)", below_the_mean_in_words(planned(n, epsilon))
        )
        assert named is not None
        cured = planned(n, float(named[1])) if named[1] else planned(int(named[2].replace(",", "")), epsilon)
        assert "At this ε" not in below_the_mean_in_words(cured) and cured.signal < 1.1 * HELD


def test_codes_of_many_categories_are_spoken_of_where_scaling_them_was_better():
    """A reader's: the strongest column of a table, with 194 categories, was learned to a fifth, without a word."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = {"a": prepriv.Numeric(0, 1), "town": prepriv.Categorical([f"t{k}" for k in range(40)])}
    domain = Domain(columns, target=prepriv.Numeric(0, 9))

    def said(n, domain=domain, epsilon=1.0, scaled=False):
        both = make_column_transformer((StandardScaler(), ["a"]), (OneHotEncoder(), ["town"]))
        steps = [both, StandardScaler()] if scaled else [both]
        model = prepriv.private(
            make_pipeline(*steps, Ridge()), domain, epsilon=epsilon, delta=1e-6, way="budget"
        )
        return codes_in_words(model.plan(n))

    each = 6000 * gdp_mu(1.0, 1e-6) / 2 / 40
    fits, better, worse = _CODES
    assert f"which is {float(f'{each:.2g}'):g} here" in said(6000) and _CODES_FROM <= each < _CODES_TO
    assert f"in {better} of {fits} fits" in said(6000) and f"lower in {worse}" in said(6000)
    assert "StandardScaler() after OneHotEncoder()" in said(6000)
    assert said(6000, scaled=True) == said(1000) == said(40_000) == "" == said(6000, epsilon=math.inf)
    few = Domain({"a": columns["a"], "town": prepriv.Categorical(["u", "v"])}, target=prepriv.Numeric(0, 9))
    assert said(1000, few) == ""
    recipe = prepriv.PrivateRegressor(domain, epsilon=1.0, delta=1e-6).plan(6000)
    assert codes_in_words(recipe) == said(6000)
    curves = prepriv.PrivateRegressor(domain, epsilon=1.0, delta=1e-6, steps="additive").plan(6000)
    assert codes_in_words(curves) == ""  # not measured
