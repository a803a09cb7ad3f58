"""What a report says first: true of what was released, and the same on the page, in print, in JSON and in a notebook."""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from prepriv import (
    Budget,
    Categorical,
    Domain,
    Numeric,
    PrivateClassifier,
    PrivateRegressor,
    Report,
    make_plan,
)
from prepriv import preprocessing as pre
from prepriv.adjacency import ADJACENCIES
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.evaluation.figures import TABLES
from prepriv.evaluation.intervals import Figure
from prepriv.evaluation.measured_quality import _off
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.guarantees import gaussian
from prepriv.guarantees.guarantee import GaussianEvent, Guarantee
from prepriv.guarantees.in_words import delta_in_words, promise, right_guesses
from prepriv.guarantees.printed import percent, up
from prepriv.learners import GradientDescent, Logistic, Quantile, SquaredError, SufficientStatistics
from prepriv.ledger import Ledger
from prepriv.release.advice import (
    bent_in_words,
    drawn_in_words,
    quantile_in_words,
    straight_in_words,
    to_do,
    unit_probabilities_in_words,
)
from prepriv.release.page import _protected
from prepriv.release.quality import Quality
from prepriv.release.report import Errors, Evaluation
from prepriv.release.review import asked_of_curator
from prepriv.release.shares import Share
from prepriv.release.summary import TITLES, charged_earlier, drafted_or_edited

DOMAIN = Domain.box(0, 1, 2, ["died", "survived"], n=4000)


def plan_of(domain=DOMAIN, **options):
    return make_plan(domain, [], GradientDescent(Logistic(), steps=5), epsilon=1.0, delta=1e-5, **options)


def measured(counts, measures=("accuracy", "confusion"), by=None, domain=DOMAIN, **options):
    """A private evaluation whose noisy counts are these."""
    made = plan_evaluation(domain, n=4000, epsilon=1.0, measures=measures, by=by, **options)
    held = {k: np.array(v, dtype=float) for k, v in counts.items()}
    for name in {*held} - {*TABLES}:  # of two counts: all rows have a label
        held[name] = np.insert(held[name], 2, 0.0, axis=-1)
    return PrivateEvaluation(made, held, True)


@pytest.mark.parametrize("count, left", [(12, ""), (13, " and 3 more")])
def test_one_column_is_not_left_out_of_the_first_sentences(count, left):
    """Of 11 columns ten were named."""
    names = [f"c{k}" for k in range(count)]
    plan = plan_of(Domain({name: Numeric(0, 1) for name in names}, classes=["no", "yes"], n=5000))
    assert f"from {count} columns: {', '.join(names[: 10 if left else count])}{left}." in str(
        Report.of(plan, private=True).summary
    )


def test_accuracy_that_is_the_commonest_class_is_said_to_be_worth_nothing():
    """The findings' table: 95.5 % survive, accuracy .956, recall of the dead .045."""
    made = measured({"accuracy": [3824, 176], "confusion": [[8, 172], [4, 3816]]})
    found = Report.of(plan_of(), private=True, measured=made).summary
    good, fails, advice = map(" ".join, (found.good, found.fails, found.to_do))
    assert (
        '"survived"' in good
        and "95.5" in good
        and "95.6" in good
        and "does not beat always answering" in good
    )
    assert fails.index('"died"') < fails.index('"survived"') and "recognises 4" in fails
    assert "--class-weight balanced" in advice and "--by COLUMN" in fails


def test_a_score_above_the_commonest_class_is_not():
    made = measured({"accuracy": [3600, 400], "confusion": [[1800, 200], [200, 1800]]})
    found = made.quality
    assert found.beats_the_commonest and not any("nothing" in said for said in found.good())
    assert not any("class-weight" in said for said in to_do(found, weighed=False, weak=False))


def test_the_noise_of_the_commonest_class_counts_against_the_model():
    """6,000 patients of whom 97.5 % survive: 97 (95 to 99) stood beside 95 (91 to 99), and nothing was said."""
    found = Quality("rows", Share("right", 0.97, 0.95, 0.99), Share("survived", 0.945, 0.91, 0.99))
    assert not found.beats_the_commonest and "does not beat" in " ".join(found.good())


def test_scores_of_two_classes_tell_the_commonest_one_too_and_accuracy_alone_does_not():
    edges = len(plan_evaluation(DOMAIN, n=4000, measures="scores").edges)
    scores = [[0, 0]] * edges + [[1000, 3000]]
    found = measured({"accuracy": [3000, 1000], "scores": scores}, ("accuracy", "scores")).quality
    assert (found.commonest.name, round(found.commonest.value, 3)) == ("survived", 0.75)
    alone = measured({"accuracy": [3000, 1000]}, ("accuracy",)).quality
    assert alone.commonest is None and "--measure confusion" in " ".join(alone.good())


def test_too_few_rows_beside_the_noise_are_said_to_be_too_few():
    made = measured({"accuracy": [3, 1], "confusion": [[1, 0], [1, 2]]})
    found = made.quality
    assert found.commonest.value is None and found.commonest is not None
    assert "was not measured" not in " ".join(found.good())
    few = Quality("4 records", Share("right"))
    assert not few.known and "Too few rows" in " ".join(few.good())


def test_nothing_asks_for_a_change_stands_beside_no_low_recall():
    for recall, calm in ((0.6, False), (0.7, True)):
        found = Quality("rows", Share("r", 0.9), Share("a", 0.7), (Share("a", 0.98), Share("b", recall)))
        for weighed in (True, False):
            said = " ".join(to_do(found, weighed=weighed, weak=False))
            assert ("Nothing in these numbers" in said) == calm and said
    unusable = Errors(50, -0.1, 10.0).quality
    said = " ".join(to_do(unusable, weighed=False, weak=False))
    assert "Do not use" in said and "Nothing in these numbers" not in said


def test_weights_are_advised_where_a_class_is_rare_and_not_where_classes_are_equally_common():
    """Of 52 and 48 in 100: "If a rare class matters"."""
    for dead, advised in ((1920, False), (176, True)):
        rest = 4000 - dead
        counts = [[dead // 2, dead - dead // 2], [rest // 2, rest - rest // 2]]
        right = dead // 2 + rest // 2
        found = measured({"accuracy": [right, 4000 - right], "confusion": counts}).quality
        said = " ".join(to_do(found, weighed=False, weak=False))
        assert ("--class-weight balanced" in said) is advised and "do not use it for decisions" in said
    alone = measured({"accuracy": [2000, 2000]}, ("accuracy",)).quality  # it is not known how rare one is
    assert alone.recalls == ()


def test_a_score_that_is_too_good_asks_for_a_column_that_holds_the_answer():
    """It follows from the score alone: no column is looked at."""
    for wrong, rare, asked in ((4, 1800, True), (200, 1800, False), (4, 100, False)):
        rest = 4000 - rare
        counts = [[rare - wrong // 2, wrong // 2], [wrong // 2, rest - wrong // 2]]
        found = measured({"accuracy": [4000 - wrong, wrong], "confusion": counts}).quality
        said = " ".join(to_do(found, weighed=False, weak=False))
        assert ("restates it" in said) is asked
        assert not (asked and "Nothing in these numbers" in said)
    for low, asked in ((0.995, True), (0.9, False)):
        found = Quality("rows", of_number=True, error=1.0, r2=0.999, r2_ends=(low, 1.0), beats_mean=True)
        assert ("restates it" in " ".join(to_do(found, weighed=False, weak=False))) is asked


def test_the_error_of_the_mean_stands_beside_an_interval_of_the_comparison():
    """It was one number without an interval."""
    told = {"of_number": True, "error": 1.0, "error_ends": (0.9, 1.1), "mean_error": 2.0, "beats_mean": True}
    said = " ".join(Quality("rows", r2=0.75, r2_ends=(0.7, 0.8), **told).good())
    assert "R² 0.750 (0.700 to 0.800)" in said
    assert "R²" not in " ".join(Quality("rows", **told).good())  # of a public table, whose numbers are exact


def test_a_model_that_may_be_guessing_is_not_called_fine():
    """300 records: nothing was known about the commonest class, and nothing asked for a change."""
    right = Share("right", 0.7, 0.5, 0.9)
    for commonest in (None, Share("no"), Share("no", 0.6, 0.4, 0.8)):
        found = Quality("rows", right, commonest, (Share("a", 0.8), Share("b", 0.8)))
        said = " ".join(to_do(found, weighed=False, weak=False))
        assert "Nothing in these numbers" not in said and "do not use it for decisions" in said


def test_what_was_measured_is_named_where_it_does_not_say_how_good_it_is():
    """`--measure scores` gave an AUC, and the summary asked to measure the model."""
    edges = len(plan_evaluation(DOMAIN, n=4000, measures="scores").edges)
    found = measured({"scores": [[0, 0]] * edges + [[1000, 3000]]}, ("scores",)).quality
    said = [*found.good(), *to_do(found, weighed=False, weak=False)]
    assert all("scores" in one and "confusion" in one for one in said) and "--holdout" not in " ".join(said)
    number = Domain.box(0, 1, 2, target=Numeric(0, 2), n=4000)
    of = plan_evaluation(number, n=4000, epsilon=1.0, measures="r2")
    made = PrivateEvaluation(of, {name: np.array([1000.0, 3000.0, 0.0]) for name in of.releases}, True)
    if not made.quality.known:
        assert "r2" in " ".join(made.quality.good())


@pytest.mark.parametrize("unit", [None, "patient"])
def test_counts_that_add_up_to_far_fewer_than_declared_are_doubted(unit):
    """9,000 visits were declared as patients, of whom there are 2,500."""
    domain = replace(DOMAIN, unit=unit, rows_per_unit=None if unit is None else 3)
    few = measured({"confusion": [[500, 100], [100, 300]]}, ("confusion",), domain=domain).quality
    assert "1,000" in few.warning and next(few.good()) == few.warning
    assert ("`patient`" in few.warning) == (unit is not None)
    most = measured({"confusion": [[1800, 200], [200, 1500]]}, ("confusion",), domain=domain).quality
    assert most.warning is None


def test_groups_are_named_the_worst_first():
    domain = Domain({"x": Numeric(0, 1), "sex": Categorical(["f", "m"])}, ["no", "yes"])
    counts = {"accuracy": [[1200, 800], [1900, 100], [0, 0], [0, 0]]}
    found = measured(counts, ("accuracy",), by="sex", domain=domain).quality
    fails = list(found.fails())
    assert (
        '"f"' in fails[1]
        and "60" in fails[1]
        and '"m"' in fails[2]
        and any("Too few" in line for line in fails)
    )
    assert '60 in "f" and 95 in "m"' in fails[3]


def test_groups_are_told_by_the_recall_of_the_rare_class_first():
    """A weighed model was right for 97 of 100 women and 58 of 100 men, and missed nearly every dead woman: only the table said so."""
    domain = Domain({"x": Numeric(0, 1), "sex": Categorical(["f", "m"])}, ["alive", "dead"])
    of = {"f": [[1900, 2], [96, 2]], "m": [[1000, 900], [10, 90]]}
    counts = {"confusion": [of["f"], of["m"], [[0, 0], [0, 0]], [[0, 0], [0, 0]]]}
    made = measured(counts, ("confusion",), by="sex", domain=domain)
    found = made.quality
    assert found.rare == ("dead",) and found.below_the_commonest
    (rarest, recalls), (most, of_most) = found.group_recalls
    assert (rarest, most) == ("dead", "alive") and of_most[0].value == made.groups["f"][
        "recall of alive"
    ].value
    f, m = recalls[:2]
    assert f.value == made.groups["f"]["recall of dead"].value and f.high < m.low
    assert (f.low, f.high) == (
        made.groups["f"]["recall of dead"].low,
        made.groups["f"]["recall of dead"].high,
    )
    assert found.alarms[0].value == made["precision of dead"].value
    assert found.balanced.value == made["balanced accuracy"].value
    fails = list(found.fails())
    rare = [k for k, line in enumerate(fails) if "`sex`" in line and "truly" in line]
    rare = [k for k in rare if "apart" not in fails[k]]
    right = [k for k, line in enumerate(fails) if "`sex`" in line and "are right" in line]
    assert '"f"' in fails[rare[0]] and max(rare) < min(right) and fails[rare[0]].endswith(f"{f}.")
    good = " ".join(found.good())
    assert "less often" in good and "does not beat" not in good and "balanced accuracy" in good
    assert str(found.alarms[0]) in good and str(found.balanced) in good
    said = " ".join(to_do(found, weighed=True, weak=False))
    assert '"f"' in said and "misses" in said and '"m"' not in said
    report = Report.of(plan_of(), private=True, measured=made)
    page, numbers = report.to_html(), report.to_json()["summary"]["numbers"]
    assert numbers["recall_by_group"][0]["groups"][0]["value"] == f.value
    assert numbers["alarms_right"][0]["name"] == "dead" and numbers["balanced_accuracy"]["value"]
    desc = re.search(r"<title>Of 100</title><desc>(.*?)</desc>", page)[1]
    assert desc.index("f: recall of dead") < desc.index("right for f") and "precision of dead" in desc
    assert fails[rare[0]] in str(made)


def test_a_class_is_rare_with_half_the_records_of_the_commonest_and_no_balanced_accuracy_stands_beside_equal_ones():
    equal = measured({"confusion": [[1700, 300], [300, 1700]]}, ("confusion",)).quality
    assert not equal.rare and "balanced" not in " ".join(equal.good())
    third = measured({"confusion": [[900, 100], [300, 2700]]}, ("confusion",)).quality
    assert third.rare == ("died",) and not third.below_the_commonest and third.beats_the_commonest
    silent = measured({"confusion": [[0, 300], [0, 3700]]}, ("confusion",)).quality
    assert silent.alarms[0].value is None and "Too few alarms" in " ".join(silent.good())
    public = Evaluation.of(np.array([0, 1, 1, 1, 1]), np.array([0, 0, 1, 1, 1]), ["a", "b"], "t").quality
    assert public.balanced.value == 0.75 and not public.rare  # two of three are more than half
    public = Evaluation.of(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), ["a", "b"], "t").quality
    assert public.rare == ("a",) and public.alarms[0].value == 0.5


def test_a_class_that_could_not_be_measured_is_named_in_what_to_do():
    """COVID tests: too few "invalid" to say anything, and below it "Nothing in these numbers asks for a change"."""
    found = Quality(
        "rows",
        Share("r", 0.95),
        Share("a", 0.7),
        (Share("a", 0.98), Share("b", 0.9), Share("c")),
        rare=("b",),
    )
    said = " ".join(to_do(found, weighed=False, weak=False))
    assert '"c"' in said and '"b"' not in said and "Nothing in these numbers" not in said


def test_what_was_already_asked_for_is_not_advised():
    few, some = ({"confusion": [[3900, 4], [k, k]]} for k in (1, 15))
    alone = " ".join(measured(few, ("confusion",)).quality.fails())
    both = " ".join(measured({"accuracy": [3900, 6], **some}).quality.fails())
    assert "Too few" in alone and "--measure confusion" not in alone
    assert "--measure confusion" in both


def test_a_number_stands_beside_the_mean():
    told = Errors(50, 0.75, 10.0, "t.csv")
    assert told.quality.mean_error == pytest.approx(20.0) and told.quality.beats_mean
    assert "mean would be off by 20" in " ".join(told.quality.good())
    worse = Errors(50, -0.1, 10.0)
    assert any("instead" in s or "in place" in s for s in to_do(worse.quality, weighed=False, weak=False))
    rng = np.random.default_rng(0)
    x = rng.random((3000, 2))
    domain = Domain.box(0, 1, 2, target=Numeric(0, 2))
    made = PrivateRegressor(domain, epsilon=4.0, steps="linear", holdout=0.3).fit(
        x, x[:, 0] + rng.random(3000)
    )
    found = made.report_.summary.quality
    assert found.of_number and found.error < found.mean_error and "mean" in " ".join(found.good())


def test_a_public_table_is_counted_exactly():
    true = np.array([0, 0, 0, 1, -1])
    made = Evaluation.of(np.array([0, 0, 1, 1, 1]), true, ["a", "b"], "t.csv")
    assert made.accuracy == 0.75 and made.commonest == ("a", 0.75)  # of the four rows with a label
    assert "4 rows of t.csv (1 more have no declared label)" in made.quality.where
    assert made.recalls == (("a", 2 / 3), ("b", 1.0))
    assert "commonest class: 75.00 %" in str(made)
    assert "better than guessing" not in " ".join(made.quality.good()) and made.quality.apart


def test_counts_that_weigh_predictions_tell_the_commonest_class_for_nothing():
    rng = np.random.default_rng(0)
    x, y = rng.random((3000, 2)), rng.choice(["died", "survived"], 3000, p=[0.1, 0.9])
    domain = Domain.box(0, 1, 2, ["died", "survived"])
    made = PrivateClassifier(domain, epsilon=4.0, steps="linear", class_weight="balanced").fit(x, y)
    assert '"survived"' in " ".join(made.report_.summary.good)


@pytest.mark.parametrize("private", [True, False])
def test_page_print_json_and_notebook_say_the_same_in_the_same_order(private):
    report = Report.of(plan_of(), private=private, evaluation=Evaluation(10, 0.8, commonest=("a", 0.9)))
    said = [s for _, sentences in report.summary.sections for s in sentences]
    lines = [line.strip() for line in report.summary.lines()]
    page = html.unescape(re.sub("<[^>]+>", "", report.to_html())).split("Everything, as data")[0]
    notebook = html.unescape(report._repr_html_())
    for text in (page, notebook):
        places = [text.index(s.replace("`", "") if text is page else s) for s in said]
        assert places == sorted(places)
    assert [line for line in lines if line not in TITLES] == said
    keys = list(json.loads(report.text()))
    assert keys[:2] == ["version", "summary"] and keys[-2:] == ["plan", "plan_hash"]
    assert [s for part in report.to_json()["summary"]["parts"] for s in part["sentences"]] == said
    assert ("No privacy" in said[-1]) != private
    assert (
        page.index("What it promises")
        < page.index("For whoever has to check it")
        < page.index("The claim as curves" if private else "The measurement")
    )


def test_names_that_would_act_on_a_page_or_terminal_do_not():
    domain = Domain({"<q>`\x1b[31m": Numeric(0, 1)}, ["<i>", "`"], 100, label="<s>")
    report = Report.of(plan_of(domain), private=True)
    assert not {"<q>", "<i>", "<s>"} & set(
        re.findall(r"<\w>", report.to_html().split("<main>")[1].split("<pre")[0])
    )
    assert "\x1b" not in "".join(report.summary.lines())


def test_the_ledger_gives_the_data_set_its_name_and_the_page_its_total_and_cap(tmp_path):
    Ledger.create(tmp_path / "L.db", "hospital-2026", epsilon=3, delta=1e-4)
    x = np.random.default_rng(0).random((500, 2))
    made = PrivateClassifier(
        Domain.box(0, 1, 2, [0, 1]), epsilon=1.0, steps="linear", ledger=tmp_path / "L.db"
    )
    made.fit(x, x[:, 0] > 0.5).fit(x, x[:, 0] > 0.5)
    page = made.report_.to_html()
    spent = Ledger.open(tmp_path / "L.db").entries()[-1].spent.main * 1e-9
    assert '"hospital-2026"' in " ".join(made.report_.summary.predicts)
    assert f"epsilon {spent:.9f}" in page and "a cap of epsilon 3, delta 0.0001" in page


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("unit", [None, "patient"])
def test_the_promise_is_never_stronger_than_the_claim(adjacency, unit):
    for noise in (0.3, 1.0, 5.0, 50.0):
        made = Guarantee.of_gaussians([GaussianEvent("sum", noise)], adjacency, unit=unit)
        times = float(re.search(r"at most ([\d.]+) times in 100", promise(made))[1])
        assert 100 * right_guesses(made) <= times <= min(100.0, 100 * right_guesses(made) + 0.1)
        assert ("patient" in promise(made)) == (unit is not None)


def test_a_weak_run_is_told_what_to_do():
    weak = make_plan(DOMAIN.with_n(100), [], GradientDescent(Logistic()), epsilon=0.1, delta=1e-5)
    assert "larger ε" in " ".join(Report.of(weak, private=True).summary.to_do)
    strong = " ".join(Report.of(plan_of(), private=True).summary.to_do)
    assert "larger ε" not in strong and "--holdout" in strong
    free = make_plan(
        DOMAIN, [pre.Center(payment=Budget(0.1))], GradientDescent(Logistic()), epsilon=math.inf, delta=1e-5
    )
    assert "No privacy" in Report.of(free, private=False).summary.promise[0]


def test_a_page_names_who_declared_it_and_what_to_ask_before_signing():
    domain = Domain.box(0, 1, 2, ["a", "b"], n=100)
    named = Report.of(plan_of(replace(domain, declared_by="J. <Doe>")), private=True)
    nobody = Report.of(plan_of(domain), private=True)
    assert "J. <Doe>" in " ".join(named.summary.predicts) and "J. &lt;Doe&gt;" in named.to_html()
    assert "declared_by" in " ".join(nobody.summary.predicts)
    page = nobody.to_html()
    assert page.index("Before you sign") < page.index("What was paid for what")
    assert "Before you sign" not in Report.of(plan_of(domain), private=False).to_html()


def test_better_probabilities_are_named_beside_an_accuracy_that_noise_hides():
    """A reader's page: "do not use it for decisions" beside "Its probabilities are better than the share of each class", of seven classes."""
    loss, shares = (1.7, 1.6, 1.8), (1.93, 1.9, 1.97)
    told = Quality(
        "rows", Share("r", 0.38, 0.2, 0.5), Share("a", 0.21, 0.1, 0.4), (), loss=loss, loss_of_shares=shares
    )
    said = " ".join(to_do(told, weighed=False, weak=False))
    assert told.better_than_shares and "do not use it for decisions" not in said
    assert (
        'In accuracy it is not known to be better than always predicting "a": do not use its predictions'
        in said
    )
    assert "Its probabilities are better than the share of each class." in said
    hidden = replace(told, loss=(1.88, 1.8, 1.96))
    assert not hidden.better_than_shares
    assert "do not use it for decisions" in " ".join(to_do(hidden, weighed=False, weak=False))


def test_a_model_that_tells_the_classes_apart_is_not_called_useless():
    """Accuracy beside 'always "no"' was all that counted: balanced accuracy 0.603 (0.544 to 0.662) stood in the same report."""
    made = measured({"confusion": [[400, 400], [480, 2720]]}, ("confusion",))
    said = " ".join(to_do(made.quality, weighed=False, weak=False))
    figure = made.figures["balanced accuracy"]
    assert not made.quality.beats_the_commonest and figure.low > 0.5
    assert f"balanced accuracy {figure.cells[1]}, {figure.cells[2]}" in said and "for decisions" not in said
    guessing = measured({"confusion": [[160, 640], [640, 2560]]}, ("confusion",))
    said = " ".join(to_do(guessing.quality, weighed=False, weak=False))
    assert guessing.quality.apart is None and "do not use it for decisions" in said
    far_fewer = measured({"confusion": [[200, 200], [240, 1360]]}, ("confusion",))
    assert far_fewer.quality.warning and far_fewer.quality.apart is None


@pytest.mark.parametrize(
    "low, high, classes, bins, said",
    [
        (0.079, 0.157, ["no", "yes"], 50, r'"yes" is 6\.9 to 17 points too low on average'),
        (-0.12, -0.06, ["a", "b", "c"], 50, r"predicted class is 5 to 13 points too high on average"),
        (-0.05, 0.01, ["no", "yes"], 50, None),
        (0.079, 0.157, ["no", "yes"], 4, None),  # wide bins: their middles can be off by that
    ],
)
def test_probabilities_that_are_shown_to_be_off_are_not_advised(low, high, classes, bins, said):
    """Beside a calibration gap of .118 (.079 to .157) the page advised to use the probabilities."""
    gap = Figure("calibration gap", (low + high) / 2, low, high, 0.01, 0.01)
    edges = tuple(k / bins for k in range(1, bins))
    plan = SimpleNamespace(domain=Domain.box(0, 1, 2, classes, n=4000), edges=edges)
    counts = {"scores": np.full((bins, 2), 40.0)}
    off = _off(SimpleNamespace(figures={"calibration gap": gap}, plan=plan, counts=counts))
    share = Share("right", 0.75, 0.7, 0.8)
    found = Quality(
        "4,000 records", share, Share("no", 0.76, 0.7, 0.8), apart="AUC 0.78, 0.75 to 0.81", off=off
    )
    told = " ".join(to_do(found, weighed=False, weak=False))
    assert ("Do not take its probabilities as they are" in told) == (said is not None)
    assert said is None or re.search(said, told)
    assert ("use the probabilities" in told) == (said is None)


def test_a_score_that_ranks_and_does_not_decide_is_said_once():
    """ "Not shown to tell the classes apart" stood above "It does tell the classes apart (AUC 0.69)": of predictions, and of probabilities."""
    made = measured({"confusion": [[160, 640], [640, 2560]]}, ("confusion",)).quality
    ranks = replace(made, apart="AUC 0.69, 0.58 to 0.80")
    assert "better than guessing." in " ".join(made.good())
    assert "probabilities do (AUC 0.69, 0.58 to 0.80)" in " ".join(ranks.good())
    assert "Its probabilities do tell" in " ".join(to_do(ranks, weighed=False, weak=False))


def test_more_rows_are_asked_for_where_they_can_be_given():
    """`evaluate` has no --holdout."""
    few = measured({"accuracy": [3, 1], "confusion": [[1, 0], [1, 2]]}).quality
    assert "--holdout" not in " ".join(few.fails()) and "more test rows hold more" in " ".join(few.fails())
    assert "larger holdout (`--holdout`, " in " ".join(replace(few, set_aside=True).fails())


def test_a_model_that_was_measured_for_nothing_is_not_told_to_be_measured_as_before():
    """After a holdout that showed nothing the page advised `--holdout 0.2`."""
    quality = Quality("4 records", Share("right"))
    assert not quality.known
    said = " ".join(to_do(quality, weak=False, weighed=False))
    assert "--holdout 0.2" not in said and re.search(r"larger ε or more records", said)
    assert "--holdout 0.2" in " ".join(to_do(None, weak=False, weighed=False))


def test_a_report_without_a_score_says_where_it_may_be():
    """`prepriv report MODEL` after `train --holdout 0.2` said that it was not measured in this run."""
    said = " ".join(" ".join(part) for _, part in Report.of(plan_of(), private=True).summary.sections)
    assert "report.html that it wrote" in said and "not measured in this run" not in said
    assert "Unless a score stands elsewhere" in said


def test_a_page_says_what_an_empty_cell_becomes():
    columns = {"x": Numeric(0, 10), "y": Numeric(0, 1, "impute"), "sex": Categorical(["f", "m"])}
    steps = [pre.MeanImputer(payment=Budget(0.1))]
    domain = Domain(columns, ["no", "yes"], n=4000)
    made = make_plan(domain, steps, GradientDescent(Logistic(), steps=5), epsilon=1.0, delta=1e-5)
    page = Report.of(made, private=True).to_html()
    assert all(f"<td>{s}</td>" in page for s in ("counts as 5", "is imputed", "a category of its own"))


def test_what_several_rows_of_one_person_cost_is_said_where_the_claim_is_per_row():
    report = Report.of(plan_of(), private=True)
    two, five = report.summary.several
    assert two.epsilon >= gaussian(2 * report.guarantee.mu).epsilon(1e-5) > report.guarantee.epsilon(1e-5)
    said = next(one for one in report.summary.promise if "one person" in one)
    assert up(five.epsilon, 4) in said and percent(two.right)[:-1] in said
    assert html.escape(said) in report.to_html() and said in "\n".join(report.summary.lines())
    assert html.escape(said) in report._repr_html_()
    assert report.to_json()["summary"]["several_rows"][1] == {
        "rows": 5,
        "right": five.right,
        "epsilon": five.epsilon,
    }
    unit = replace(DOMAIN, unit="patient", rows_per_unit=3)
    of_units = Report.of(plan_of(unit), private=True)
    assert not of_units.summary.several and "several_rows" not in of_units.to_json()["summary"]
    assert not any("one person" in one for one in of_units.summary.promise)
    assert not Report.of(plan_of(), private=False).summary.several


def receipt_of(total, sequence):
    return {
        "cap": "epsilon 3, delta 0.00002",
        "total": total,
        "sequence": sequence,
        "head": "0" * 64,
        "dataset": "t",
    }


def test_the_cap_is_that_of_all_uses_and_earlier_charges_are_named():
    """Page two said "epsilon 1.2 charged" beside ε = 1 and never named the 0.2."""
    later = Report.of(plan_of(), private=True, receipt=receipt_of("epsilon 1.2, delta 0.000011", 3))
    first = Report.of(plan_of(), private=True, receipt=receipt_of("epsilon 1, delta 0.00001", 1))
    cap = later.summary.promise[-1]
    assert "epsilon 3" in cap and "not this model" in cap and "Another ledger" in cap
    assert "epsilon 0.2 " in charged_earlier(later) and charged_earlier(later) in later.to_html()
    assert not charged_earlier(first) and not charged_earlier(Report.of(plan_of(), private=True))
    asked = [" ".join(asked_of_curator(one)) for one in (later, first)]
    assert "draft" in asked[0] and "draft" not in asked[1]
    assert all("number of records" in one for one in asked)


def test_delta_stands_in_words_beside_one_in_n():
    page = Report.of(plan_of(), private=True).to_html()
    assert "1 in 100,000" in page and "1 in 4,000" in page
    assert "is smaller" in delta_in_words(1e-5, 4000) and "NOT" in delta_in_words(1e-3, 4000)
    assert delta_in_words(0.0, 4000) == ""


def test_what_was_edited_since_a_draft_is_named():
    said = {known: drafted_or_edited(SimpleNamespace(target=None), known) for known in (True, False, None)}
    for known in (False, None):
        assert all(
            what in said[known].lower() for what in ("columns", "bounds", "categories", "classes", "draft")
        )
    assert len({*said.values()}) == 3 and "hash" in said[True] and "hash" in said[False]


def test_the_rows_of_several_people_stand_in_the_claims_table_as_one_record():
    """A lawyer copied "for a person in every one of these tables" from a claim about single rows."""
    assert _protected(DOMAIN) == "record"
    assert _protected(replace(DOMAIN, unit="patient", rows_per_unit=3)) == "`patient`"


def test_a_group_is_not_condemned_by_noise():
    """A recall of 46 (34 to 57) in 100 does not show that most are missed; one of 30 (20 to 44) does."""
    for high, told in ((0.57, ()), (0.44, (("1", "M"),))):
        shares = (Share("F", 0.58, 0.5, 0.7), Share("M", 0.4, 0.3, high))
        assert Quality("100 rows", by="sex", group_recalls=(("1", shares),)).missed_in_groups == told


def test_a_group_in_which_the_model_only_guesses_is_named_and_beside_it_its_own_commonest_class():
    """Smokers by education: 39 of 100 were right among workers with "hs", where always "no" gives 69, and only "college" was named."""
    domain = Domain({"x": Numeric(0, 1), "school": Categorical(["hs", "college"])}, ["no", "yes"])
    hs, college = [[300, 1700], [120, 780]], [[3000, 100], [300, 60]]
    none = [[0, 0], [0, 0]]
    counts = {"confusion": [hs, college, none, none]}
    made = measured(counts, ("confusion",), by="school", domain=domain)
    found = made.quality
    assert [s.name for s in found.guessed_in_groups] == ["hs"]
    assert ("no", "hs") in found.missed_in_groups and ("yes", "college") in found.missed_in_groups
    said = " ".join(to_do(found, weighed=True, weak=False))
    assert 'Do not use it for records of "hs" (`school`) before' in said
    alike = measured({"confusion": [hs, hs, none, none]}, ("confusion",), by="school", domain=domain).quality
    everywhere = " ".join(to_do(alike, weighed=True, weak=False))
    assert "In no group of `school` that could be measured is it shown to do better" in everywhere
    assert "Do not use it for records" not in everywhere
    assert 'rely on it for records of "college" (`school`): it misses most there that are truly "yes"' in said
    assert 'rely on it for records of "hs" (`school`): it misses most there that are truly "no"' in said
    fails = " ".join(found.fails())
    assert (
        'Always answering "no" would be right 69' in fails
        and 'guessing, which has a balanced accuracy of 50 in 100: "hs"' in fails
    )
    assert "every group" not in fails
    other = measured(
        {"confusion": [[[1900, 100], [95, 5]], [[40, 760], [40, 760]], none, none]},
        ("confusion",), by="school", domain=domain,
    ).quality  # fmt: skip
    assert len(other.guessed_in_groups) == 2 and other.balanced.low > 0.5
    assert any("in every group that could be measured" in line for line in other.fails())


def test_a_group_whose_probabilities_tell_the_classes_apart_is_not_said_to_be_guessed():
    """Rides with a drunk driver by sex: "In no group is it shown to do better than guessing: do not use it" stood beside AUC 0.65 (0.55 to 0.75) in one."""
    domain = Domain({"x": Numeric(0, 1), "female": Categorical(["0", "1"])}, ["no", "yes"])
    always_no, none = [[1400, 0], [600, 0]], [[0, 0], [0, 0]]
    ahead, behind, empty = np.zeros((10, 2)), np.zeros((10, 2)), np.zeros((10, 2))
    ahead[3:5] = [[900, 200], [500, 400]]
    behind[3:5] = [[700, 300], [700, 300]]

    def told(*scores):
        counts = {"confusion": [always_no, always_no, none, none], "scores": [*scores, empty, empty]}
        found = measured(counts, ("confusion", "scores"), by="female", domain=domain).quality
        assert [s.name for s in found.guessed_in_groups] == ["0", "1"]
        return " ".join(found.fails()), " ".join(to_do(found, weighed=False, weak=False))

    fails, advice = told(ahead, ahead)
    assert "In no group of `female`" not in advice and "may be their `female` alone" not in fails
    assert (
        'For records of "0", "1" (`female`) its predictions are not shown to do better than guessing. Its probabilities do tell the classes apart there: '
        "weigh the classes or use the probabilities." in advice
    )
    assert re.search(
        r'Its probabilities do tell them apart in "0" \(AUC 0\.\d+, 0\.[56]\d* to 0\.\d+\), "1"', fails
    )
    fails, advice = told(ahead, behind)  # the other one only guesses
    assert 'Do not use it for records of "1" (`female`) before a measurement shows' in advice
    assert 'For records of "0" (`female`) its predictions are not shown' in advice
    assert "In no group of `female`" not in advice
    fails, advice = told(behind, behind)
    assert "In no group of `female` that could be measured is it shown to do better" in advice
    assert "Its probabilities do" not in fails + advice
    low, high = np.zeros((10, 2)), np.zeros((10, 2))
    low[3], high[5] = [1800, 200], [1000, 1000]
    fails, advice = told(low, high)  # the score is the group alone
    assert (
        "Among all records its probabilities tell the classes apart, but in no group of `female` that"
        in advice
    )
    assert "may be their `female` alone" in fails and "Its probabilities do tell them" not in fails


def test_a_group_whose_rare_class_could_not_be_measured_is_not_passed_over():
    """The advice warned of one group alone, and the other, of which nothing could be said, read as served."""
    shares = (Share("no", 0.3, 0.2, 0.4), Share("yes"), Share("other"), Share("missing"))
    found = Quality(
        "", Share("right", 0.8, 0.7, 0.9), by="afam", rare=("deny",), group_recalls=(("deny", shares),)
    )
    assert found.unknown_in_groups == (("deny", "yes"),)
    said = " ".join(to_do(found, weighed=True, weak=False))
    assert 'records of "yes" (`afam`) before it is known how often it recognises "deny" there' in said
    assert '"other"' not in said and '"missing"' not in said


def test_the_group_of_undeclared_values_is_explained_and_a_row_is_called_a_row():
    """A reader took "other" for a category, and "Charge 3" for the third charge."""
    domain = Domain({"x": Numeric(0, 1), "sex": Categorical(["f", "m"])}, ["no", "yes"], n=4000)
    counts = {"accuracy": [[900, 100], [900, 100], [900, 100], [900, 100]]}
    fails = list(measured(counts, ("accuracy",), by="sex", domain=domain).quality.fails())
    assert fails[-1].startswith('"other"') and "does not declare" in fails[-1] and "`sex`" in fails[-1]
    later = Report.of(plan_of(), private=True, receipt=receipt_of("epsilon 1.2, delta 0.000011", 3)).to_html()
    assert "It was charged in row 3 of the ledger" in later and "harge 3" not in later


def test_whether_sums_of_predictions_can_be_too_small_is_said():
    """Visits to a doctor: predictions summed to two thirds of the visits, and nothing that was printed said so."""
    from prepriv import make_plan
    from prepriv.release.advice import sums_in_words

    def said(target, learner):
        domain = Domain({"x": Numeric(0, 1)}, target=target, n=1000)
        return sums_in_words(make_plan(domain, [], learner, epsilon=1.0, delta=1e-5))

    count, clipped = Numeric(0, 30), GradientDescent(SquaredError(), clip_norm=0.25)
    assert "the measure `residuals`, with an error bound of 30," in said(count, clipped)
    assert "about medians" in said(Numeric(0, 30, log=True), clipped)
    assert said(count, SufficientStatistics()) == ""
    found = Quality("100 rows", of_number=True, residual=(1.0, 0.66, 1.38), error_bound=7.5)
    assert "1.00 (0.66 to 1.38) above the targets" in found._on_average(-1.0, -1.38, -0.66)
    assert "1.00 (0.66 to 1.38) below the targets, where errors above 7.5" in found._on_average(
        1.0, 0.66, 1.38
    )
    assert "not shown" in found._on_average(0.1, -0.2, 0.4)


@pytest.mark.parametrize(
    ("factor", "bounds", "said"),
    [
        (28.35, (40, 190), "190"),  # grams beside ounces
        (1 / 35.27, (40, 190), "40"),  # kilograms
        (1.0, (40, 190), ""),
        (28.35, (0.1, 0.7), "0.7"),  # an end of the interval is the bound up to its last digit
    ],
)
def test_labels_in_another_unit_than_the_bounds_are_asked_about(factor, bounds, said):
    """Weights at birth in grams, bounds in ounces: "The mean target is 189.1 (178.7 to 190.0)", and nothing else."""
    rng = np.random.default_rng(3)
    domain = Domain({"x": Numeric(0, 1)}, target=Numeric(*bounds))
    model = PrivateRegressor(domain, epsilon=4.0).fit(rng.random((3000, 1)), rng.uniform(*bounds, 3000))
    x, y = rng.random((900, 1)), factor * np.clip(rng.normal(120, 18, 900), 41, 189)
    score = model.evaluate(x, y, epsilon=200.0)  # next to no noise
    found = score.quality
    advice = " ".join(to_do(found, weighed=False, weak=False))
    told = f"the mean target lies at the declared bound {said}, and a label beyond a bound counts"
    for text in (advice, str(score), html.unescape(score._repr_html_())):
        assert (told in " ".join(text.split())) == bool(said)
    if said:
        assert f"in the unit of the bounds, {bounds[0]} to {bounds[1]}? `prepriv validate DATA" in advice
        assert "Nothing in these numbers asks for a change" not in advice


def test_a_count_that_is_mostly_small_is_not_asked_for_its_unit():
    told = {"of_number": True, "target_ends": (0.0, 90.0), "measures": ("r2",)}
    asked = {mean: Quality("rows", mean_target=mean, **told).at_bound for mean in (
        (6.0, 5.5, 6.5), (6.0, 0.0, 12.0), (1.0, 0.5, 1.5), (2.0, 0.0, 30.0)
    )}  # fmt: skip
    assert set(asked.values()) == {""}  # the last one is noise
    assert "bound 0," in Quality("rows", mean_target=(0.6, 0.0, 1.5), **told).at_bound


def test_errors_that_are_cut_say_nothing_about_sums():
    """Predictions of earnings were 0.60 above the targets in errors cut at 11.25, "sums are too large", where whole errors have the mean -0.02."""
    told = {"of_number": True, "absolute": (5.0, 4.9, 5.1), "target_ends": (4.0, 49.0)}
    told |= {"mean_target": (18.0, 17.9, 18.1), "measures": ("r2", "residuals")}
    for residual in ((-0.6, -0.74, -0.46), (0.6, 0.46, 0.74)):
        cut = Quality("rows", residual=residual, error_bound=11.25, **told)
        said = " ".join(cut.good())
        assert "Errors beyond 11.25 were cut, which alone can cause this" in said
        assert "too small or too large: whole errors tell (`--error-bound 45`, `error_bound=45`" in said
        assert "Sums of predictions are" not in said and "sums of predictions are too large" not in said
        whole = " ".join(replace(cut, error_bound=None).good())
        assert "were cut" not in whole and "Sums of predictions are at most 4.2 % too" in whole


def test_sums_are_off_by_a_number_and_not_in_a_direction_alone():
    """0.139 (0.054 to 0.224) above the targets was "too large": that is 0.75 % of a mean of 18.4; and nothing was said where no side is shown."""
    told = {"of_number": True, "target_ends": (0.0, 100.0), "measures": ("r2", "residuals")}
    found = Quality("rows", residual=(-0.139, -0.224, -0.054), mean_target=(18.4, 18.1, 18.8), **told)

    def said(**changed):
        return " ".join(replace(found, **changed).good())

    assert (
        "The mean target is 18.4" in said() and "Sums of predictions are at most 1.3 % too large." in said()
    )
    both = said(residual=(0.03, -0.07, 0.131))  # upward, of the least mean target: 0.387 % and 0.724 %
    assert "at most 0.73 % too small and at most 0.39 % too large." in both
    assert "not of each group of `region`" in said(by="region")
    wide = {"mean_target": (18.4, 1.0, 36.0), "residual": (0.5, -2.0, 3.4)}  # 340 % too small was said
    assert "at most 100 % too small and at most 200 % too large" in said(**wide)
    assert "at most 340 % too small" in said(**wide, target_ends=(-5.0, 100.0))
    assert "at most 1.3 % too small" in said(residual=(0.139, 0.054, 0.224))
    assert "at most 1.3 % too large" in said(mean_target=(-18.4, -18.8, -18.1))
    unknown = said(mean_target=None, measures=("residuals",))
    assert "was not measured, `--measure r2`" in unknown and "Sums of predictions are" not in unknown
    assert "not shown to differ from 0" in said(mean_target=(0.1, -0.2, 0.4))
    assert "The mean target is 18.4" in said(residual=None) and "Sums" not in said(residual=None)


def test_groups_whose_sums_are_off_are_named_and_the_differences_that_are_shown():
    """Midwest -1.08 and West +0.47 were in a table alone: "5 of the 18 differences ... all are in the measurement"."""
    domain = Domain(
        {"x": Numeric(0, 1), "region": Categorical(["M", "N", "S", "W"])}, target=Numeric(0.0, 100.0)
    )
    off = np.array([-3.0, 0.0, 0.5, 2.0, 0.0, 0.0])  # of 1,000 records each, and of none
    n, got = np.array([1000.0] * 4 + [0.0] * 2), {}
    for bound in (100.0, 25.0):
        place = (off / bound + 1) / 2
        bins = np.zeros((6, 20))
        bins[np.arange(6), np.where(off < 0, 9, 10)] = n
        counts = {"target": 0.18 * n, "squared_error": (9 / bound**2) * n, "mean_residual": place * n}
        counts["squared_error_of_mean"] = 2 * counts["squared_error"]
        held = {name: np.stack([of, n - of, 0 * n], axis=1) for name, of in counts.items()}
        plan = plan_evaluation(
            domain, n=4000, epsilon=100.0, measures=("r2", "residuals"), by="region", error_bound=bound
        )
        got[bound] = PrivateEvaluation(plan, held | {"residuals": bins}, True).quality
    whole, cut = (list(got[bound].fails()) for bound in (100.0, 25.0))
    named = [line for line in whole if "do not add them up there" in line]
    assert [re.search('"(.)"', line)[1] for line in named] == ["M", "W"]
    assert re.search(r'"M" \(`region`\) are on average 2\.\d+ to 3\.\d+ too high', named[0])
    assert "too low" in named[1] and not any("do not add" in line for line in cut)
    assert sum("How far predictions" in line for line in whole) == 1
    (apart,) = (line for line in whole if "stand out of the noise" in line)
    assert "the clearest first: mean residual is -3" in apart and "in the measurement" not in apart
    assert got[100.0].to_json()["group_mean_residuals"][0]["name"] == "M"


def test_a_smaller_error_bound_is_named_where_few_errors_can_be_that_large():
    """R² 0.33 (-0.47 to 0.78) at a bound of 45: rows, ε and fewer measures were named, and not the bound, which helps most."""
    told = {"of_number": True, "error": 10.0, "mean_error": 12.3, "r2": 0.33, "r2_ends": (-0.47, 0.78)}
    found = Quality("rows", largest_error=45.0, measures=("squared_error", "r2"), **told)
    named = "`--error-bound 25`, `error_bound=25` in Python; it cuts the errors above it, and shows less"
    assert named in found.more_on_the_mean
    assert "`--error-bound 50`" in replace(found, largest_error=100.0).more_on_the_mean
    for few in ({"largest_error": 30.0}, {"mean_error": None, "error": None}):
        assert "--error-bound" not in replace(found, **few).more_on_the_mean


def test_what_was_not_measured_is_said_once_with_what_measures_it():
    """ "How far predictions are off was not measured: `--measure squared_error`" stood twice, with groups three times."""
    for by in (None, "region"):
        found = Quality("rows", of_number=True, by=by, measures=("r2",), r2_ends=(0.1, 0.2), beats_mean=True)
        said = " ".join([*found.good(), *found.fails(), *to_do(found, weighed=False, weak=False)])
        assert said.count("--measure squared_error") == 1 and "far predictions are off was not" in said


def test_a_mean_residual_ends_the_warning_about_sums_only_where_it_shows_that_they_hold():
    """-2 (-20 to 17) beside a mean target of 10: "not shown to be too low or too high", without the interval, and the warning was gone."""
    hidden = Quality(
        "100 rows",
        of_number=True,
        absolute=(9.0, 8.0, 10.0),
        residual=(-2.0, -20.0, 17.0),
        mean_target=(10.0, 9.5, 10.5),
        target_ends=(0.0, 182.0),
        measures=("r2", "residuals"),
    )

    def to(found, sums="WHY"):
        return " ".join(to_do(found, weighed=False, weak=False, sums=sums))

    assert "targets less predictions have the mean -2 (-20 to 17)." in " ".join(hidden.good())
    said = to(hidden)
    assert (
        "anything between 17 too low and 20 too high is possible. The mean target is 10.00 (9.50 to 10.50), so"
        in said
    )
    assert "sums can be off by more than 5 %. More test rows or a larger ε would tell more." in said
    more = to(
        replace(hidden, measures=(*hidden.measures, "absolute_error"))
    )  # the mean target is that of r2, so it stays
    assert (
        "More test rows, a larger ε or `--measure r2 --measure residuals`" in more
        and "alone would tell more" in more
    )
    assert "would tell more. WHY" in said and "Nothing in these numbers" not in said
    chance = replace(hidden, residual_in_noise=False)
    assert "More test rows would tell more, and a larger ε alone may not be enough. WHY" in to(chance)
    for ends, mean, residual, holds in (
        ((0.0, 182.0), (10.0, 9.5, 10.5), (0.1, -0.2, 0.47), True),
        ((0.0, 182.0), (10.0, 9.5, 10.5), (0.1, -0.2, 0.48), False),  # 5 % of 9.5, the least that it may be
        ((0.0, 182.0), (10.0, 9.5, 10.5), (0.2, 0.1, 0.3), True),
        ((0.0, 182.0), (10.0, -1.0, 21.0), (0.0, -0.01, 0.01), False),
        ((0.0, 182.0), None, (0.0, -0.01, 0.01), False),
        ((-30.0, -10.0), None, (0.0, -0.4, 0.4), True),
    ):
        found = replace(hidden, target_ends=ends, mean_target=mean, residual=residual)
        assert found.sums_hold == holds == (found.of_sums() == "")
        assert not replace(found, error_bound=5.0).sums_hold  # whole errors may be off by more
    unknown = replace(hidden, mean_target=None, residual=(0.0, -1.0, 1.0))
    assert "off by less than 5 % if the mean target is 20 or more: `--measure r2`" in to(unknown)
    assert "Whatever the mean target is, sums" in to(replace(hidden, mean_target=None))
    low = to(replace(hidden, residual=(3.0, 2.0, 4.0)), "")
    assert (
        "Do not add its predictions up as they are: on average they are 2.0 to 4.0 too low. The mean" in low
    )
    assert "1.9 to 4.0 too high" in to(replace(hidden, residual=(-3.0, -3.95, -1.95)), "")


def test_the_summary_of_a_report_keeps_the_reason_why_sums_are_off_beside_what_was_measured():
    from prepriv import make_plan
    from prepriv.release.summary import _of_sums

    domain = Domain({"x": Numeric(0, 1)}, target=Numeric(0, 30), n=1000)
    plan = make_plan(domain, [], GradientDescent(SquaredError(), clip_norm=0.25), epsilon=1.0, delta=1e-5)
    found = Quality("", of_number=True, residual=(0.0, -1.0, 1.0), target_ends=(0.0, 30.0))
    assert "measure" not in _of_sums(plan, found) and "as a rule too small" in _of_sums(plan, found)
    assert "too small" in _of_sums(plan, replace(found, residual=(2.0, 1.0, 3.0)))
    assert _of_sums(plan, replace(found, residual=(-2.0, -3.0, -1.0))) == ""
    assert _of_sums(plan, replace(found, mean_target=(25.0, 24.0, 26.0))) == ""
    for other in (None, replace(found, error_bound=7.5)):
        assert "measure how far they are off on average" in _of_sums(plan, other)


def test_a_class_that_is_missed_everywhere_is_not_said_group_by_group_and_groups_are_said_to_add_noise():
    """A page said "do not rely on it for records of female, male", who are all records."""
    low = Share("invalid", 0.1, 0.0, 0.2)
    shares = (Share("F", 0.1, 0.0, 0.3), Share("M", 0.2, 0.0, 0.4), Share("other"))
    common = {
        "by": "sex",
        "recalls": (low, Share("neg", 0.9, 0.8, 1.0)),
        "commonest": Share("neg", 0.9, 0.85, 0.95),
    }
    found = Quality(
        "100 rows", Share("right", 0.9, 0.85, 0.95), group_recalls=(("invalid", shares),), **common
    )
    said = " ".join(to_do(found, weighed=False, weak=False))
    assert 'Do not rely on the model to find "invalid"' in said and "it misses most there" not in said
    assert "Groups add noise to this comparison" in said
    # a reader left `--by` out, as it said, and paid again for the same answer
    said = " ".join(to_do(replace(found, commonest=None), weighed=False, weak=False))
    assert "Groups add noise" not in said and "--measure confusion" in said
    one = replace(found, group_recalls=(("invalid", (shares[0], Share("M", 0.8, 0.7, 0.9))),))
    said = " ".join(to_do(one, weighed=False, weak=False))
    assert 'records of "F" (`sex`): it misses most there' in said and "served no better" not in said
    close = replace(found, group_recalls=(("invalid", (shares[0], Share("M", 0.44, 0.17, 0.78))),))
    said = " ".join(to_do(close, weighed=False, weak=False))  # beside "no difference stands out"
    assert 'that are truly "invalid". The other groups may be served no better: a difference' in said


def test_a_group_that_is_not_shown_to_differ_is_not_named_alone():
    """One sex was named in one run, and the other in the next: the width of an interval decided."""
    shares = (Share("0", 0.37, 0.345, 0.39), Share("1", 0.36, 0.33, 0.39))
    recalls = tuple(Share(c, 0.5, 0.4, 0.6) for c in ("a", "b", "c"))
    found = Quality("", Share("right", 0.8, 0.7, 0.9), recalls=recalls, by="female", group_balanced=shares)
    assert "can be chance" in " ".join(to_do(found, weighed=False, weak=False))
    far = replace(found, group_balanced=(Share("0", 0.8, 0.7, 0.9), shares[1]))
    assert "can be chance" not in " ".join(to_do(far, weighed=False, weak=False))


def test_a_group_whose_balanced_accuracy_was_refused_is_not_counted_among_those_that_are_served():
    """The model answered "dead" for all of "80+", too few of whom lived to measure that, and "the other groups are shown to do better" took it in."""
    guess, known, refused = Share("60-69", 0.51, 0.41, 0.61), Share("70-79", 0.64, 0.56, 0.72), Share("80+")
    other = Share("other")
    found = Quality(
        "", Share("right", 0.8, 0.7, 0.9), by="band", group_balanced=(guess, known, refused, other)
    )
    said = " ".join(to_do(found, weighed=False, weak=False))
    assert 'That "70-79" is shown to do better can be chance' in said and '"other"' not in said
    unmeasured = (
        'Whether it does better than guessing for records of "80+" (`band`) could not be measured: do not'
    )
    assert unmeasured in said
    for left in ((known, refused), (guess, refused), (refused,)):  # whatever is known of other groups
        assert unmeasured in " ".join(to_do(replace(found, group_balanced=left), weighed=False, weak=False))
    more = replace(found, group_balanced=(guess, known, replace(known, name="50-59")))
    said = " ".join(to_do(more, weighed=False, weak=False))
    assert 'That "70-79", "50-59" are shown' in said and "could not be measured" not in said


def test_every_class_and_group_of_many_is_named_or_counted():
    """Lists were cut to five without a word: a reader took the five groups without a number for all of them, and there were 30."""
    names = [f"s{k:02}" for k in range(32)]
    few, low = tuple(map(Share, names)), tuple(Share(name, 0.1, 0.0, 0.2) for name in names)
    high = tuple(Share(name, 0.9, 0.8, 1.0) for name in names)
    common = {"right": Share("right", 0.8, 0.7, 0.9), "by": "state"}
    each = [
        Quality("", recalls=few, **common),
        Quality("", recalls=low, **common),
        Quality("", groups=few, **common),
        Quality("", groups=high, **common),
        Quality("", recalls=high[:2], group_recalls=(("s00", low), ("s01", low)), rare=("s00",), **common),
        Quality("", group_recalls=(("s00", few),), rare=("s00",), **common),
        Quality("", recalls=high[:2], group_balanced=low, **common),
        Quality("", group_recalls=tuple((name, low[:2]) for name in names), **common),
    ]
    told = [" ".join([*found.fails(), *to_do(found, weighed=False, weak=False)]) for found in each]
    assert all("27 more" in said or "22 more" in said for said in told), told


def test_the_page_of_a_model_of_few_columns_says_that_an_effect_can_be_bent():
    """A reader's: of 537 children a monotone effect had two high ends in every fit, and nothing said so."""
    for columns, steps, n, bent in (
        (1, "linear", 300, True),
        (10, "auto", 300, True),
        (11, "linear", 300, False),
        (1, "linear-0.2", 3000, True),
        (1, "linear", 3000, False),  # the constant is centred
    ):
        plan = PrivateClassifier(Domain.box(0, 1, columns, ["no", "yes"]), epsilon=1.0, steps=steps).plan(n)
        assert bool(re.search(r"ten columns and a rare class.* both ends", bent_in_words(plan))) == bent
    plain = [pre.StandardScaler(payment=Budget()), pre.ShrunkCenter(payment=Budget())]
    assert not bent_in_words(
        PrivateClassifier(Domain.box(0, 1, 1, [0, 1]), epsilon=1.0, steps=plain).plan(300)
    )
    fitted = PrivateClassifier(Domain.box(0, 1, 1, ["no", "yes"]), epsilon=1.0, steps="linear").fit(
        np.linspace(0, 1, 300)[:, None], ["no", "yes", "no"] * 100
    )
    assert "both ends of a column" in " ".join(fitted.report_.summary.to_do)


def test_the_page_of_a_straight_line_says_so():
    """A reader's: an effect of the hour that rises and falls was a line in six fits of six, and partial dependence showed a line, too."""
    domain = Domain.box(0, 1, 2, target=Numeric(0, 1))
    said = straight_in_words(PrivateRegressor(domain, epsilon=1.0).plan(3000))
    assert re.search(r"straight line.*steps: curves.* is 220 or more. Here it is 402", said)
    assert straight_in_words(PrivateRegressor(domain, epsilon=1.0, steps="curves").plan(300))  # too few
    for other in (
        PrivateRegressor(domain, epsilon=1.0, steps="curves"),
        PrivateRegressor(domain, epsilon=1.0, steps="additive"),
        PrivateRegressor(Domain({"a": Categorical(["u"])}, target=Numeric(0, 1)), epsilon=1.0),
        PrivateClassifier(Domain.box(0, 1, 2, [0, 1]), epsilon=1.0, steps="linear"),
    ):
        assert not straight_in_words(other.plan(3000))
    rows = np.random.default_rng(0).random((600, 2))
    made = PrivateRegressor(domain, epsilon=2.0, threads=1).fit(rows, rows[:, 0])
    assert "straight line" in " ".join(made.report_.summary.to_do)


def test_the_page_of_units_of_many_rows_says_that_probabilities_are_those_of_no_row():
    """A reader's: of villages of up to 100 persons a class of 16 % had probabilities of .35 in sixteen fits of sixteen."""
    columns = {"a": Numeric(0, 1)}
    for rows, said in ((1, False), (4, False), (10, True), (100, True)):
        domain = Domain(columns, ["no", "yes"], 500, unit="id", rows_per_unit=rows)
        assert bool(unit_probabilities_in_words(PrivateClassifier(domain, epsilon=1.0).plan(500))) == said
    number = Domain(columns, target=Numeric(0, 1), label="y", n=500, unit="id", rows_per_unit=100)
    assert not unit_probabilities_in_words(PrivateRegressor(number, epsilon=1.0).plan(500))
    table = pa.table({"id": np.repeat(np.arange(50), 10), "a": np.random.default_rng(0).random(500)})
    of_ten = Domain(columns, ["no", "yes"], 50, unit="id", rows_per_unit=10)
    with pytest.warns(UserWarning, match="all rows of a unit"):  # who reads only the fit
        made = PrivateClassifier(of_ten, epsilon=5.0, threads=1).fit(table, ["no", "yes"] * 250)
    assert "all rows of a unit" in " ".join(made.report_.summary.to_do)


def test_small_s_is_said_unless_a_number_is_shown_to_beat_its_mean():
    """A page whose R² was refused said nothing of what the plan said."""
    unknown = Quality("", of_number=True, absolute=(3.0, 1.0, 9.0), measures=("absolute_error", "r2"))
    for found, told in ((None, True), (unknown, True), (replace(unknown, beats_mean=True), False)):
        said = list(to_do(found, weighed=False, weak=True, below="worse than the mean"))
        assert ("worse than the mean" in said) == told


@pytest.mark.parametrize(
    ("bound", "mean", "ends", "low", "only_cut"),
    [
        (60.0, 28.3, (-60.0, 180.0), 0.006, True),  # late flights
        (2000.0, 667.0, (0.0, 20_000.0), 0.216, True),  # votes for movies
        (60.0, 28.3, (-60.0, 180.0), 0.55, False),
        (60.0, 6.0, (-60.0, 180.0), 0.2, False),
        (None, 28.3, (-60.0, 180.0), 0.006, False),
    ],
)
def test_a_number_that_beats_the_mean_by_cut_errors_is_said_to_do_so_by_those(
    bound, mean, ends, low, only_cut
):
    """Models that were worse than the mean were "nearer than always predicting the mean": a constant nearer to the median is so by cut errors."""
    found = Quality(
        "rows",
        of_number=True,
        error=0.9 * mean,
        mean_error=mean,
        mean_error_ends=(0.9 * mean, mean),
        mean_target=(7.0, 6.0, 8.0) if ends[1] < 200 else (600.0, 590.0, 610.0),
        target_ends=ends,
        error_bound=bound,
        r2=low + 0.05,
        r2_ends=(low, low + 0.1),
        beats_mean=True,
        measures=("r2",),
    )
    said, asked = " ".join(found.good()), " ".join(to_do(found, weighed=False, weak=False))
    assert found.cut_decides == only_cut == ("A single number, answered for every record, can be so" in said)
    assert only_cut == ("larger error bound" in asked) and only_cut != ("Nothing in these numbers" in asked)
    assert ("No single number reaches that" in said) == (bound is not None and not only_cut)
    assert "So predictions are nearer" in said if bound is None else f"By errors cut at {bound:,.0f}" in said
    unknown = replace(found, mean_error_ends=None)  # of the error of the mean only the bound is known then
    assert unknown.cut_decides == (bound is not None and low < 0.6)


@pytest.mark.parametrize(("level", "side"), [(0.9, "too large"), (0.1, "too small"), (0.5, "off")])
@pytest.mark.parametrize("log", [False, True])
def test_a_quantile_is_called_one_and_not_compared_with_the_mean(rng, level, side, log):
    """A page called a .9 quantile a median, said that sums of it are too small (they were 1.2 to 1.5 times too large), and "worse than the mean"."""
    x = rng.uniform(0, 1, (900, 2))
    y = np.exp(rng.normal(0.5 * x[:, 0], 0.8))
    domain = Domain.box(0, 1, 2, target=Numeric(0.1, 30, log=log))
    learner = GradientDescent(Quantile(level), clip_norm=0.9, learning_rate=0.2)
    reg = PrivateRegressor(domain, epsilon=9.0, learner=learner, holdout=0.3).fit(x, y)
    told = reg.report_.summary
    page = " ".join([*told.predicts, *told.good, *told.to_do])
    assert f"of which a prediction is the {level:g} quantile" in page and "median" not in page
    assert f"{level:g} quantile of such records, and not their mean. So sums are {side}" in page
    assert "worse than always predicting the mean" not in page and "place of the mean" not in page
    assert f"About {100 * level:g} of 100 targets should lie below" in page
    assert "Nothing in these numbers asks for a change" not in page


@pytest.mark.parametrize(("clip", "drawn"), [(0.25, "0.73"), (0.6, "0.86"), (0.9, None), (3.0, None)])
def test_a_quantile_that_its_clip_draws_to_the_median_is_said_to_be(clip, drawn):
    """With a clip of .25, 69 to 76 of 100 targets were below a .9 quantile, and the page called it one."""
    domain = Domain.box(0, 1, 2, target=Numeric(0, 30))
    learner = GradientDescent(Quantile(0.9), clip_norm=clip, learning_rate=0.2, bias=0.5)
    reg = PrivateRegressor(domain, epsilon=4.0, learner=learner)
    plan = reg.plan(900)
    said, warned = quantile_in_words(plan), drawn_in_words(plan)
    assert said.startswith("the 0.9 quantile") and bool(warned) == ("draw" in said) == (drawn is not None)
    if drawn is None:
        return
    assert f"draw to the {drawn} quantile" in said and f"to the {drawn} quantile" in warned
    with pytest.warns(UserWarning, match="clip_norm=.* keeps the level"):
        reg.fit(np.linspace(0, 1, 1800).reshape(900, 2), np.linspace(0, 30, 900))
    enough = float(re.search(r"clip_norm=([\d.]+) keeps", warned)[1])
    other = PrivateRegressor(domain, epsilon=4.0, learner=replace(learner, clip_norm=enough))
    assert not drawn_in_words(other.plan(900))
