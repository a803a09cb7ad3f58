"""What a user has to know before privacy is spent is said before it: too little budget, rows of the training, units for rows."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv.cli import run
from prepriv.description.answers import expected_half, half_in_parts, wide_answers
from prepriv.description.asked import plan_questions
from prepriv.description.describe import plan_description, too_few
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.evaluation.expected import hardly_measured
from prepriv.ledger import Ledger

BOX = prepriv.Domain.box(0, 1, features=2, classes=["no", "yes"])

SCHEMA = "label: {name: y, classes: [no, yes]}\nrows: 40\ncolumns:\n  x: {type: numeric, low: 0, high: 1}\n"


@pytest.fixture
def folder(forty_records):
    (forty_records / "S.yaml").write_text(SCHEMA)
    return forty_records


def said(capsys, *arguments):
    assert run(list(arguments)) == 0
    out, err = capsys.readouterr()
    return " ".join((out + err).split())


def test_an_epsilon_at_which_nothing_can_be_learned(folder, capsys):
    small = said(capsys, "train", "t.csv", "--schema", "S.yaml", "--epsilon", "0.05", "--out", "small")
    assert "WARNING" in small and "--epsilon 2 " in small
    assert "WARNING: a model" not in said(
        capsys, "train", "t.csv", "--schema", "S.yaml", "--epsilon", "5", "--out", "m"
    )
    assert "epsilon = " in said(
        capsys, "describe", "t.csv", "--schema", "S.yaml", "--rows", "40", "--epsilon", "0.05"
    )
    measured = said(capsys, "evaluate", "m", "t.csv", "--rows", "40", "--epsilon", "0.05")
    assert "too few to measure" in measured and "trained on 40 declared records" in measured
    other = said(capsys, "evaluate", "m", "t.csv", "--rows", "40", "--epsilon", "20", "--measure", "accuracy")
    assert "too few" not in other


def test_a_score_that_will_be_wide_or_refused_is_said_with_its_half(folder, capsys):
    """An analyst paid for a score at epsilon 0.03 whose figures were all refused, without a word before."""
    said(capsys, "train", "t.csv", "--schema", "S.yaml", "--epsilon", "5", "--out", "m")
    pd.DataFrame({"x": np.linspace(0, 1, 600), "y": ["no", "yes"] * 300}).to_csv("q.csv", index=False)
    asked = ["evaluate", "m", "q.csv", "--rows", "600", "--delta", "1e-6", "--epsilon"]
    told = said(capsys, *asked, "0.06")
    warned = told[told.index("WARNING: 600 rows are few") :]
    assert warned.index("Nothing is charged before this line") < warned.index("too few rows")
    noise = plan_evaluation(BOX, n=600, epsilon=0.06, delta=1e-6).noise
    half = (
        100 * 1.96 * noise / math.sqrt(2) / 600
    )  # of hits over a public n: half of the noise of a pair cancels
    assert f"accuracy will be known to about ± {half:.2g} in 100 by" in warned
    assert "balanced accuracy, recall, precision, AUC and calibration gap will probably be refused" in warned
    assert "few for this epsilon" in said(capsys, *asked, "0.1")
    some = said(capsys, *asked, "3")
    assert "few for this epsilon" not in some
    assert "WARNING: At this epsilon" in some and "AUC unless each class has about" in some
    assert "may be refused" not in said(capsys, *asked, "3", "--measure", "accuracy")


@pytest.mark.parametrize("measures", [None, "confusion", "accuracy", "scores", "log_loss"])
@pytest.mark.parametrize("n", [600, 5000])
def test_what_is_said_to_be_enough_is_enough(n, measures):
    """The named epsilon, and the named number of rows, are nearly the least (test_expected.py: of the figures)."""
    few = plan_evaluation(BOX, n=n, epsilon=0.05 * 600 / n, measures=measures)
    told = hardly_measured(few)
    assert "few for this epsilon" in told
    epsilon = float(told.split("about epsilon = ")[1].split(",")[0])
    rows = int(told.split("or about ")[1].split(" rows")[0].replace(",", ""))
    for enough in ({"n": n, "epsilon": epsilon}, {"n": rows, "epsilon": few.epsilon}):
        assert "few for" not in hardly_measured(plan_evaluation(BOX, **enough, measures=measures))
        a_third = {**enough, **({"epsilon": epsilon / 3} if enough["n"] == n else {"n": rows // 3})}
        assert "few for" in hardly_measured(plan_evaluation(BOX, **a_third, measures=measures))


def test_errors_of_a_number_are_told_in_parts_of_what_counts():
    domain = prepriv.Domain({"x": prepriv.Numeric(0, 1)}, target=prepriv.Numeric(0, 50))
    few = plan_evaluation(domain, n=600, epsilon=0.05, error_bound=10)
    half = 100 * 1.96 * few.noise / math.sqrt(2) / 600
    assert f"mean absolute error will be known to about ± {half:.2g} in 100 of its scale" in hardly_measured(
        few
    )
    assert not hardly_measured(plan_evaluation(domain, n=10_000, epsilon=0.1, measures="absolute_error"))


def test_a_description_and_answers_that_will_be_wide_are_said(folder, capsys):
    """An analyst described few rows at a small epsilon and asked about them, and read nothing but "too few to say"."""
    (folder / "S.yaml").write_text(SCHEMA.replace("40", "6000"))
    pd.DataFrame({"x": np.linspace(0, 1, 6000), "y": ["no", "yes"] * 3000}).to_csv("q.csv", index=False)
    asked = ["q.csv", "--schema", "S.yaml", "--epsilon"]
    for first in (["describe"], ["ask", "q.csv", "mean(x)", "histogram(x)", "median(x)"]):
        rest = asked if len(first) == 1 else asked[1:]
        told = said(capsys, *first, *rest, "0.004")
        warned = told[told.index("WARNING: 6,000 records are few") :]
        assert warned.index("before this line") < warned.index("95 % interval of its noise")
        assert '"too few to say"' in warned and "± " in warned
        enough = warned.split("needs about epsilon = ")[-1].split(",")[
            0
        ]  # the last is for the quantiles, which need most
        assert "are few for" not in said(capsys, *first, *rest, enough)
        assert "are few for" in said(capsys, *first, *rest, str(float(enough) / 3))


def test_how_numbers_beyond_their_bounds_count_is_said_before_the_charge(folder, capsys):
    """Incomes above a bound were cut, which one line told after the charge, or none."""
    cut = "numbers below 0 count as 0, above 1 as 1: every answer is of these"
    asked = ["ask", "t.csv", "mean(x) by y", "--schema", "S.yaml", "--epsilon", "20"]
    for command in (asked, ["describe", *asked[1:2], *asked[3:]]):
        told = said(capsys, *command)
        first = told[: told.index("Each with the 95 % interval of its noise, of numbers cut to their bounds")]
        assert cut in first and "left out of the means" in first and "ε = 20" not in first[: first.index(cut)]
    assert cut in said(capsys, *asked, "--price")
    assert cut not in said(capsys, "ask", "t.csv", "count by y", "missing(x)", *asked[3:])
    kept = said(capsys, *asked, "--json", "--out", "n.json")
    assert f'"in_words": "{cut}"' in kept and cut in (folder / "n.json").read_text(encoding="utf-8")


def test_the_half_that_is_said_is_that_of_the_answers():
    columns = {"x": prepriv.Numeric(0, 10), "job": prepriv.Categorical(["a", "b"])}
    plan = plan_questions(columns, ["mean(x)", "histogram(job)", "sum(x) by job"], epsilon=0.4, n=600)
    for question in plan.questions[:2]:
        scale = 10 if question.kind == "mean" else 600
        half, _ = expected_half(plan, question)
        assert half_in_parts(plan, question, 600.0) == pytest.approx(half / scale)
    assert "sum(x) by job" in wide_answers(plan)  # of groups, whose number is noisy
    assert not wide_answers(plan_questions(columns, ["mean(x)", "count by job"], epsilon=0.1, n=10_000))


@pytest.mark.parametrize("adjacency", prepriv.adjacency.ADJACENCIES)
def test_groups_are_warned_of_by_their_own_size(adjacency):
    """An analyst asked for shares of ten groups. The warning measured them by all records, and at the ε that it named nothing was told."""
    n, groups = 6000, [f"g{i}" for i in range(6)]
    columns = {
        "x": prepriv.Numeric(0, 1),
        "yes": prepriv.Categorical(["n", "y"]),
        "job": prepriv.Categorical(groups),
    }
    table = pd.DataFrame({"x": np.ones(n), "yes": ["y"] * n, "job": groups * (n // 6)})
    kinds = ["share(yes)", "mean(x)", "missing(x)", "sum(x)", "count"]
    asked = [f"{kind} by job" for kind in kinds]
    told = wide_answers(plan_questions(columns, asked, epsilon=0.02, n=n, adjacency=adjacency))
    assert 'share(yes) by job: "too few to say"' in told and "to be of equal size. Of smaller groups" in told
    enough = float(told.split("in groups of equal size it needs about epsilon = ")[1].split(",")[0])
    plan = plan_questions(columns, asked, epsilon=enough, n=n, adjacency=adjacency)
    assert not wide_answers(plan)
    third = plan_questions(columns, asked, epsilon=enough / 3, n=n, adjacency=adjacency)
    assert "are few for" in wide_answers(third)
    found = prepriv.ask(table, columns, asked, epsilon=enough, n=n, adjacency=adjacency)
    told_halves = [max(half_in_parts(plan, q, float(n)) for q in plan.questions if q.kind == "share")]
    halves = [found["share(yes) by job"][g]["y"].error for g in groups]
    assert np.median(halves) == pytest.approx(told_halves[0], rel=0.2) and max(halves) < 0.06
    for kind, scale in [("mean(x)", 1), ("missing(x)", 1), ("sum(x)", n / 6), ("count", n / 6)]:
        errors = [found[f"{kind} by job"][g].error / scale for g in groups]
        assert max(errors) < 0.06, kind


@pytest.mark.parametrize("adjacency", prepriv.adjacency.ADJACENCIES)
@pytest.mark.parametrize(
    "kind", ["median(x)", "quantile(x, 0.1)", "minimum(x)", "maximum(x)", "median(x) by job"]
)
def test_quantiles_are_warned_of_by_their_ranks(kind, adjacency):
    """An analyst asked for a median. At the ε that was named, and up to four times as much, its interval was the whole of the bounds."""
    columns, n = {"x": prepriv.Numeric(0, 1), "job": prepriv.Categorical(["a", "b"])}, 4000

    def planned(epsilon, records=n):
        return plan_questions(columns, [kind], epsilon=epsilon, n=records, adjacency=adjacency)

    assert '"too few to say"' in wide_answers(planned(0.01))
    told = wide_answers(planned(0.2))
    assert "or the rank of a quantile: " in told and "fewer questions" not in told
    half = half_in_parts(planned(0.2), planned(0.2).questions[0], n)
    assert '"too few to say"' in told if math.isnan(half) else f"about ± {100 * half:.0f} in 100" in told
    enough = float(told.split("it needs about epsilon = ")[1].split(",")[0])
    records = int(told.split("or about ")[1].split(" records")[0].replace(",", ""))
    for epsilon, many in ((enough, n), (0.2, records)):
        assert not wide_answers(planned(epsilon, many))
        assert "are few for" in wide_answers(planned(0.4 * epsilon, many))
        table = pd.DataFrame({"x": (np.arange(many) + 0.5) / many, "job": ["a", "b"] * (many // 2)})
        found = [asked_once(table, columns, kind, epsilon, many, adjacency) for _ in range(5)]
        widths = [e.high - e.low for answer in found for e in answer]
        assert np.median(widths) < 0.25  # ± 5 in 100, and a bin at either end


def asked_once(table, columns, kind, epsilon, n, adjacency):
    answer = prepriv.ask(table, columns, [kind], epsilon=epsilon, n=n, adjacency=adjacency)[kind]
    return [answer["a"], answer["b"]] if isinstance(answer, dict) else [answer]


def test_what_is_said_of_quantiles_that_may_reach_a_bound():
    columns = {"x": prepriv.Numeric(0, 1)}
    plan = plan_questions(columns, ["median(x)", "quantile(x, 0.1)"], epsilon=1.0, n=2000)
    told, median = wide_answers(plan), half_in_parts(plan, plan.questions[0], 2000)
    assert 0.1 < median < 0.5 and f"median(x) will be known to about ± {100 * median:.0f} in 100; " in told
    assert (
        f"quantile(x, 0.1) will be known to about ± {100 * median:.0f} in 100, and an interval may reach a bound"
        in told
    )
    few = plan_questions(columns, ["median(x)"], epsilon=0.3, n=1314)
    assert "in 100, and an interval may be the whole bounds. For ± 5" in wide_answers(few)
    halves = plan_questions(columns, ["histogram(x, 2)", "median(x)"], epsilon=1.0, n=2000)
    assert "median(x): at least half of the bounds, with any noise" in wide_answers(halves)
    assert "For ± 5" not in wide_answers(halves)


def test_groups_of_a_description_are_warned_of():
    columns = {"x": prepriv.Numeric(0, 1), "job": prepriv.Categorical([f"g{i}" for i in range(6)])}
    domain = prepriv.Domain(columns)
    told = too_few(plan_description(domain, epsilon=0.005, n=60_000, by="job"))
    assert 'means: "too few to say"' in told and "fewer columns, or fewer groups" in told
    enough = float(
        told.split("of quantiles in groups of equal size it needs about epsilon = ")[1].split(",")[0]
    )
    assert not too_few(plan_description(domain, epsilon=enough, n=60_000, by="job"))
    assert too_few(plan_description(domain, epsilon=enough / 3, n=60_000, by="job"))


def test_ordinary_descriptions_are_described_without_a_word():
    """Six numbers and eight categorical columns, as in Adult."""
    columns = {f"x{i}": prepriv.Numeric(0, 1) for i in range(6)}
    columns |= {f"c{i}": prepriv.Categorical(["a", "b"]) for i in range(8)}
    domain = prepriv.Domain(columns, ["no", "yes"], label="y")
    assert not too_few(plan_description(domain, epsilon=0.1, n=10_000, quantiles=[]))
    assert not too_few(plan_description(domain, epsilon=1.0, n=100_000))
    assert "means will be known to about" in too_few(
        plan_description(domain, epsilon=0.1, n=5000, quantiles=[])
    )


@pytest.mark.parametrize("adjacency", prepriv.adjacency.ADJACENCIES)
def test_quantiles_of_a_description_are_warned_of(adjacency):
    """An analyst described a table. All quantiles were the whole of the bounds, and nothing had been said."""
    domain, n = (
        prepriv.Domain({"x": prepriv.Numeric(0, 1), "y": prepriv.Numeric(0, 1)}, adjacency=adjacency),
        4000,
    )
    told = too_few(plan_description(domain, epsilon=0.3, n=n))
    assert "or the rank of a quantile: quantiles will be known to about ± " in told
    assert "in 100, and an interval may reach a bound" in told
    enough = float(told.split("needs about epsilon = ")[-1].split(",")[0])
    assert not too_few(plan_description(domain, epsilon=enough, n=n))
    assert "quantiles will be" in too_few(plan_description(domain, epsilon=0.4 * enough, n=n))
    x = (np.arange(n) + 0.5) / n
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = prepriv.describe(pd.DataFrame({"x": x, "y": x}), domain, epsilon=enough, n=n)
    widths = [e.high - e.low for c in found.columns.values() for e in c.quantiles.values()]
    assert np.median(widths) < 0.25


def test_it_is_said_how_far_columns_must_deviate_for_a_correlation():
    """An analyst paid for correlations, all of which were "too few to say", and nothing had been said."""
    columns, n = {f"x{i}": prepriv.Numeric(0, 1) for i in range(5)}, 2000
    domain, rng = prepriv.Domain(columns), np.random.default_rng(0)

    def given(epsilon, deviation):
        told = {name: 0.5 + deviation * rng.choice([-1.0, 1.0], n) for name in columns}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = prepriv.describe(pd.DataFrame(told), domain, epsilon=epsilon, n=n, correlations=True)
        return np.mean([not math.isnan(e.value) for e in found.correlations.values()])

    told = too_few(plan_description(domain, epsilon=1.0, n=n, correlations=True))
    least = float(told.split("both columns deviate by more than about ")[1].split(" in 100")[0]) / 100
    assert 0.05 < least < 0.25 and "deviate by 29 in 100, it" in told
    assert given(1.0, 1.7 * least) > 0.9 and given(1.0, 0.3 * least) < 0.2
    assert "orrelation" not in too_few(plan_description(domain, epsilon=1.0, n=n))
    narrow = too_few(plan_description(domain, epsilon=4.0, n=n, correlations=True))  # another analyst's
    least = float(narrow.split("both columns deviate by more than about ")[1].split(" in 100")[0]) / 100
    assert 0.05 < least < 0.09 and given(4.0, 1.7 * least) > 0.9 and given(4.0, 0.3 * least) < 0.2
    assert "orrelation" not in too_few(plan_description(domain, epsilon=1.0, n=1_000_000, correlations=True))
    few = too_few(plan_description(domain, epsilon=0.2, n=n, correlations=True))
    assert "29 in 100, it is not given. 2,000 records are few" in few and given(0.2, 0.29) < 0.2
    assert given(0.2, 0.5) > 0.8  # as is said: by more than about 32 in 100
    some = too_few(plan_description(domain, epsilon=0.25, n=n, correlations=True))
    assert (
        "29 in 100, it is given only where it is far from 0. 2,000 records" in some
        and given(0.25, 0.29) < 0.7
    )
    assert given(0.1, 0.5) < 0.2
    none = too_few(plan_description(domain, epsilon=0.1, n=n, correlations=True))
    assert none.startswith('Correlations: "too few to say". 2,000 records are few')


def test_python_says_the_same_before_a_charge(folder):
    table, ledger = pd.read_csv("t.csv"), str(folder / "L.db")
    Ledger.create(ledger, "people", epsilon=5, delta=1e-4)
    domain = prepriv.Domain({"x": prepriv.Numeric(0, 1)}, ["no", "yes"], label="y")
    with pytest.warns(UserWarning, match="too few to describe") as told:
        prepriv.describe(table, domain, epsilon=0.05)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*too few")
        prepriv.describe(table, domain, epsilon=20.0)  # nothing to say
        with pytest.raises(UserWarning, match="too few to describe"):
            prepriv.describe(table, domain, epsilon=0.05, ledger=ledger)
        prepriv.ask(table, domain, ["mean(x)"], epsilon=20.0)
        with pytest.raises(UserWarning, match="too few"):
            prepriv.ask(table, domain, ["mean(x)"], epsilon=0.05, ledger=ledger)
        clf = prepriv.PrivateClassifier(
            domain, epsilon=2.0, steps="linear", holdout=0.2, evaluate_epsilon=0.01, ledger=ledger
        )
        with pytest.raises(UserWarning, match=r"the holdout: .* too few to measure"):
            clf.fit(table[["x"]], table["y"])
    assert not Ledger.open(ledger).entries()


def test_units_are_counted_not_rows(folder, capsys):
    (folder / "S.yaml").write_text(SCHEMA + "unit: who\nrows_per_unit: 2\n")
    err = said(capsys, "train", "t.csv", "--schema", "S.yaml", "--epsilon", "5", "--out", "u")
    assert "40 is taken as the number of 'who'" in err and "more, the run stops when it reads them" in err
    Ledger.create(folder / "L.db", "t", epsilon=20, delta=1e-3)
    words = ["train", "t.csv", "--schema", "S.yaml", "--epsilon", "5", "--rows", "7", "--ledger", "L.db"]
    assert run([*words, "--out", "v"]) == 70 and Ledger.open(folder / "L.db").entries()
    err = capsys.readouterr().err
    assert "the charge of a ledger, which stays" in err and "cannot check it" not in err
    assert "the table has more (found only after the charge, which stays)" in err
    any_number = SCHEMA + "unit: who\nrows_per_unit: 2\nadjacency: add-or-remove-one\n"
    (folder / "S.yaml").write_text(any_number)
    words[-1] = "M.db"
    Ledger.create(folder / "M.db", "t", epsilon=20, delta=1e-3, adjacency="add-or-remove-one")
    err = said(capsys, *words, "--out", "w")
    assert "too small is not found" in err and "too large is not found" in err


def test_answers_say_that_they_count_units_one_row_of_each(folder, capsys):
    """An analyst took means over patients for means over visits."""
    (folder / "S.yaml").write_text(SCHEMA + "unit: who\nrows_per_unit: 2\n")
    asked = ["t.csv", "--schema", "S.yaml", "--epsilon", "20"]
    counted = "counts 'who', one row of each (rows_per_unit 2)"
    lines = said(capsys, "ask", asked[0], "mean(x)", *asked[1:])
    assert counted in lines and lines.index(counted) < lines.index("95 % interval")
    assert counted in said(capsys, "describe", *asked)
    said(capsys, "train", *asked, "--out", "u")
    assert counted in said(
        capsys, "evaluate", "u", "t.csv", "--rows", "40", "--epsilon", "20", "--measure", "accuracy"
    )
    (folder / "S.yaml").write_text(SCHEMA)
    assert "one row of each" not in said(capsys, "describe", *asked)


def test_a_wrong_name_in_the_schema_is_found_by_validate_for_nothing(folder, capsys):
    (folder / "S.yaml").write_text(SCHEMA.replace("x:", "xx_measured:").replace("name: y", "name: whoo"))
    assert run(["validate", "t.csv", "--schema", "S.yaml"]) == 2
    err = capsys.readouterr().err
    assert "no column 'whoo'" in err and "'who'" in err
    assert run(["train", "t.csv", "--schema", "S.yaml", "--epsilon", "5", "--out", "t"]) == 2
    err = capsys.readouterr().err  # where the first line may be a record, none of its cells is quoted
    assert "prepriv validate" in err and "'who'" not in err


def test_edits_that_a_record_decides_are_not_free(folder, capsys):
    assert "no record may decide an edit" in said(capsys, "validate", "t.csv", "--schema", "S.yaml")


def test_half_a_unit_names_the_cure(folder, capsys):
    (folder / "S.yaml").write_text(SCHEMA + "unit: who\n")
    assert run(["plan", "S.yaml"]) == 2 and "rows_per_unit: 1" in capsys.readouterr().err
    assert run(["schema", "init", "t.csv", "--unit", "who"]) == 2
    assert "--rows-per-unit 1" in capsys.readouterr().err


def test_a_plan_says_what_a_column_of_texts_costs(folder, capsys):
    text = SCHEMA + "  who: {type: text, features: 64}\n"
    (folder / "S.yaml").write_text(text)
    told = said(capsys, "plan", "S.yaml")
    with_it, without = (float(part.split()[0]) for part in told.split("n·µ/d is ")[1].split(" with it and "))
    assert "64 of the 65 encoded columns" in told and without == pytest.approx(65 * with_it, rel=0.01)
    (folder / "S.yaml").write_text(SCHEMA)
    assert "column of texts" not in said(capsys, "plan", "S.yaml")


def test_weighed_predictions_stand_beside_their_probabilities(folder, capsys):
    asked = ["t.csv", "--schema", "S.yaml", "--epsilon", "20"]
    said(capsys, "train", *asked, "--out", "m")
    assert said(capsys, "predict", "m", "t.csv").split()[0] == "prediction"
    assert "have weights" not in said(capsys, "predict", "m", "t.csv")
    weighed = said(capsys, "predict", "m", "t.csv", "--class-weight", "{yes: 4}")
    assert "prediction,p(no),p(yes)" in weighed
    assert "'yes' is predicted from a probability of about 0.2 on" in weighed  # 1 / (1 + 4)


def test_a_threshold_of_a_trained_model_is_answered_with_its_weights(folder, capsys):
    """`predict` and `evaluate` have no --threshold, and said nothing of what does the same."""
    said(capsys, "train", "t.csv", "--schema", "S.yaml", "--epsilon", "20", "--out", "m")
    for command in ("predict", "evaluate"):
        assert run([command, "m", "t.csv", "--threshold", "0.2"]) == 2
        assert "--class-weight does it: '{no: 0.2, yes: 0.8}'" in capsys.readouterr().err
    assert run(["report", "m", "--threshold", "0.2"]) == 2
    assert "--class-weight" not in capsys.readouterr().err
    said(capsys, "predict", "m", "t.csv", "--class-weight", "{no: 0.2, yes: 0.8}", "--out", "p.csv")
    made = pd.read_csv("p.csv")
    assert ((made["prediction"] == "yes") == (made["p(yes)"] > 0.2)).all()


def test_an_evaluation_says_why_its_claim_is_above_what_it_spends(folder, capsys):
    """The draft of the schema may have read other people than the test rows are: that is said, and no cap for both is asked of them."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.random(2000), "y": ["no", "yes"] * 1000})
    table.to_csv("big.csv", index=False)
    Ledger.create("L.db", "people", epsilon=5, delta=1e-4)
    said(
        capsys,
        *[
            "schema",
            "init",
            "big.csv",
            "--epsilon",
            "1",
            "--rows",
            "2000",
            "--ledger",
            "L.db",
            "--out",
            "D.yaml",
        ],
    )
    said(
        capsys,
        *["train", "big.csv", "--schema", "D.yaml", "--rows", "2000", "--ledger", "L.db", "--out", "d"],
    )
    told = said(
        capsys, *["evaluate", "d", "t.csv", "--rows", "40", "--epsilon", "3", "--measure", "accuracy"]
    )
    before, _, after = told.partition("the claim below is higher")
    assert "to spend: ε = 3 " in before and "ε = 1 at δ = 1e-06 over 2,000 records" in after
    assert "other people has a ledger of its own" in told


def test_a_measurement_beside_the_ledger_of_its_model_is_said(folder, capsys):
    """Nothing was said where the ledger that paid for the model was forgotten at its evaluation."""
    said(capsys, "ledger", "create", "L.db", "--dataset", "d", "--epsilon", "60", "--delta", "1e-3")
    said(capsys, "train", "t.csv", "--schema", "S.yaml", "--epsilon", "5", "--ledger", "L.db", "--out", "m")
    asked = ["evaluate", "m", "t.csv", "--rows", "40", "--epsilon", "20"]
    assert "no ledger adds this measurement up" in said(capsys, *asked)
    assert "no ledger adds" not in said(capsys, *asked, "--ledger", "L.db")


@pytest.mark.parametrize("labels", [["nein", "ja"], [None, None]])
def test_a_public_table_without_a_declared_label_is_refused_before_the_charge(folder, capsys, labels):
    """It ended in "the run failed after private records were read", with a charge."""
    pd.DataFrame({"x": [0.1, 0.9], "y": labels}).to_csv("p.csv", index=False)
    said(capsys, "ledger", "create", "L.db", "--dataset", "d", "--epsilon", "60", "--delta", "1e-3")
    asked = ["train", "t.csv", "--schema", "S.yaml", "--epsilon", "5", "--ledger", "L.db", "--out", "m"]
    assert run([*asked, "--public-test", "p.csv"]) == 2
    assert "no label that is a declared class" in capsys.readouterr().err
    assert not Ledger.open("L.db").entries()


def test_a_weak_claim_is_said_before_the_charge(folder, capsys):
    """A delta above 1/n was charged without a word, and the page then asked not to publish the model."""
    asked = ["train", "t.csv", "--schema", "S.yaml", "--epsilon", "5", "--delta", "0.03"]
    said(capsys, "ledger", "create", "L.db", "--dataset", "d", "--epsilon", "60", "--delta", "0.01")
    assert run([*asked, "--ledger", "L.db", "--out", "refused"]) != 0  # over the cap: nothing was charged
    assert "WARNING: the claim is weak" in "".join(capsys.readouterr())
    assert "WARNING: the claim is weak" not in said(
        capsys, "train", "t.csv", "--schema", "S.yaml", "--epsilon", "5", "--out", "m"
    )


@pytest.mark.parametrize("asked", [["ask", "t.csv", "mean(x)", "mean(x)"], ["describe", "t.csv"]])
def test_a_plan_that_the_ledger_has_charged_before_is_said(folder, capsys, asked):
    """The same question was charged twice without a word. In one run it is answered, and charged, once."""
    said(capsys, "ledger", "create", "L.db", "--dataset", "d", "--epsilon", "60", "--delta", "1e-3")
    asked = [*asked, "--schema", "S.yaml", "--ledger", "L.db", "--epsilon"]
    assert "charged the same plan before" not in said(capsys, *asked, "5")
    assert "charged the same plan before (charge 1)" in said(capsys, *asked, "5")
    assert "charged the same plan before" not in said(capsys, *asked, "6")
    assert len([e for e in Ledger.open("L.db").entries() if e.cost]) >= 3


def test_fewer_rows_than_declared_may_be_rows_that_were_dropped(folder, capsys):
    """After dropna, --rows went through, and no word told that the number of rows with gaps is private."""
    (folder / "S.yaml").write_text(SCHEMA.replace("rows: 40", "rows: 50"))
    asked = ["ask", "t.csv", "mean(x)", "--schema", "S.yaml", "--epsilon", "5", "--rows"]
    assert "private cells decide their number: keep the rows" in said(capsys, *asked, "40")
    (folder / "S.yaml").write_text(SCHEMA.replace("rows: 40", "rows: 35"))
    assert "keep the rows" not in said(capsys, *asked, "40")
