"""A domain that was drafted in private carries what the draft cost, and whatever is released with it claims both.

Finding A12: the report said that ε = 1 covers "everything that left … this page", and printed drafted bounds that had cost 0.2 of the
same people. Finding D7: without a ledger each run said its own ε, and nothing added up.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import yaml

import prepriv
from prepriv import Budget, Domain, Numeric, PrivateClassifier, PrivateTransformer, account
from prepriv import preprocessing as pre
from prepriv.accounts.other_libraries import ran_elsewhere
from prepriv.accounts.way_out import ways_out
from prepriv.cli import run
from prepriv.commands.charged import charge_problems
from prepriv.commands.earlier import _alike
from prepriv.domain import drafted_content
from prepriv.drafted import Drafted
from prepriv.guarantees.drafts import of_draft
from prepriv.guarantees.families import approximate_dp, gaussian
from prepriv.guarantees.loss_distribution import compose
from prepriv.guarantees.printed import up
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.ledger import Ledger, NotNoted
from prepriv.opacus import calibrate
from prepriv.plans.plan import make_plan
from prepriv.release.model import BadArtifact, Model
from prepriv.release.report import Report
from prepriv.release.summary import origin_of
from prepriv.schemas.schema import BadSchema, load_schema

N = 3000
RNG = np.random.default_rng(4)
X = RNG.random((N, 2))
LABELS = np.where(X[:, 0] > 0.5, "yes", "no")
TABLE = pa.table({"a": X[:, 0], "b": X[:, 1], "y": LABELS})
ROWS = TABLE.select(["a", "b"])
DESCENT = GradientDescent(Logistic(), steps=3, learning_rate=0.5, clip_norm=1.0)
EPSILON, DELTA = 0.8, 1e-5
DRAFT = Drafted(0.5, 1e-6, 0.1222613, 2.5e-7, "replace-one", N, "0" * 64)
DECLARED = Domain({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=["no", "yes"], label="y")


@functools.cache
def domain():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Domain.draft(TABLE, epsilon=0.5, delta=1e-6)


def classifier(where=None, **more):
    return PrivateClassifier(
        where or domain(), epsilon=EPSILON, delta=DELTA, steps=(), learner=DESCENT, **more
    )


@functools.cache
def fitted():
    return classifier().fit(ROWS, LABELS)


def by_hand(part, where):
    """ε of part and drafts together, from their events alone."""
    events = [(part.tradeoff, 1)]
    for drafted in where.drafts:
        events += [(gaussian(drafted.mu), 1), (approximate_dp(0.0, drafted.leak), 1)]
    return compose(events).epsilon(DELTA)


def test_a_draft_is_carried_with_what_it_cost():
    (drafted,) = domain().drafts
    assert (drafted.epsilon, drafted.delta, drafted.rows, drafted.ledger) == (0.5, 1e-6, N, None)
    spent = of_draft(drafted, domain()).epsilon(1e-6)
    assert 0.49 < spent <= 0.5
    assert spent == pytest.approx(prepriv.spent(1e-6).epsilon.get("replace-one", spent), rel=1)
    again = Domain.from_json(json.loads(json.dumps(domain().to_json())))
    assert again == domain() and again.drafts == (drafted,)
    assert dataclasses.replace(domain(), n=7, columns={"a": Numeric(0, 5)}).drafts == (drafted,)  # edited


def test_a_model_claims_training_and_draft_and_says_both(tmp_path):
    clf = fitted()
    part, whole = clf.plan_.guarantee, clf.guarantee_
    assert part.epsilon(DELTA) <= EPSILON < whole.epsilon(DELTA) < EPSILON + 0.5
    assert whole.epsilon(DELTA) == pytest.approx(by_hand(part, domain()), rel=1e-6)
    note = whole.notes[0]
    assert note.startswith("in all: ε = 0.8 at δ = 1e-05 of this run") and "ε = 0.5 at" in note
    assert "so the total counts both" in note and "drafted privately for ε = 0.5" in repr(domain())
    clf.model_.save(tmp_path)
    loaded = Model.load(tmp_path)
    assert loaded.guarantee.epsilon(DELTA) == whole.epsilon(DELTA)
    assert loaded.part.epsilon(DELTA) == part.epsilon(DELTA)
    data = clf.report_.to_json()
    assert data["guarantee"]["epsilon"] == whole.epsilon(DELTA)
    assert data["claims"]["this run"]["epsilon"] == part.epsilon(DELTA)
    (drafted,) = data["claims"]["drafts"]
    assert drafted["guarantee"]["epsilon"] <= 0.5 and drafted["plan"] == domain().drafts[0].plan
    page = clf.report_.to_html()
    headline = page.index("<b>ε = ")
    assert page[headline:].startswith(f"<b>ε = {whole.epsilon(DELTA):.2f}"[:9]) and note in page
    assert "the private draft of its schema" in page
    assert repr(clf.model_).startswith("Model(ε = 0.9") or whole.epsilon(DELTA) >= 1


def test_the_claim_is_never_stored_and_a_forged_draft_is_refused(tmp_path):
    path = fitted().model_.save(tmp_path)
    said = json.loads(path.read_text())
    assert "epsilon" not in json.dumps(said["domain"]["drafts"][0].get("guarantee", {}))

    def forge(change, *places):
        data = json.loads(json.dumps(said))
        for place in places:
            change(place(data)["drafts"])
        path.write_text(json.dumps(data))
        with pytest.raises(BadArtifact):
            Model.load(path)

    both = (lambda d: d["domain"], lambda d: d["plan"]["domain"])
    forge(lambda drafts: drafts.clear(), both[0])
    forge(lambda drafts: drafts[0].update(mu=3.0), *both)  # more than the budget it states
    forge(lambda drafts: drafts[0].update(adjacency="add-or-remove-one"), *both)
    forge(lambda drafts: drafts[0].update(mu=-1.0), *both)
    forge(lambda drafts: drafts[0].pop("leak"), *both)
    forge(lambda drafts: drafts[0].update(more=1), *both)


def test_models_of_a_declared_domain_say_nothing_of_drafts():
    clf = classifier(DECLARED).fit(ROWS, LABELS)
    assert "draft" not in clf.model_.text() and "claims" not in clf.report_.to_json()
    assert clf.guarantee_ is clf.plan_.guarantee


def test_what_is_released_with_the_domain_claims_its_draft_whatever_it_is():
    steps = [pre.Center(payment=Budget())]
    prepared = PrivateTransformer(domain(), steps, epsilon=EPSILON, delta=DELTA).fit(ROWS)
    measured = classifier(holdout=0.3, evaluate_epsilon=1.2).fit(ROWS, LABELS)
    chosen = prepriv.choose(
        [DESCENT, dataclasses.replace(DESCENT, steps=4)], ROWS, LABELS, domain(), epsilon=EPSILON, delta=DELTA
    )
    for part, whole in (
        (prepared.plan_.guarantee, prepared.guarantee_),
        (measured.evaluation_.whole, measured.guarantee_),
        (chosen.plan.guarantee, chosen.guarantee_),
        (chosen.plan.guarantee, chosen.model_.guarantee),
    ):
        assert part.epsilon(DELTA) + 0.02 < whole.epsilon(DELTA)
        assert whole.epsilon(DELTA) == pytest.approx(by_hand(part, domain()), rel=1e-6)
    assert measured.guarantee_.epsilon(DELTA) > 1.2 and "in all" in str(
        measured.report_.to_json()["guarantee"]
    )


def test_descriptions_and_evaluations_claim_the_draft_too():
    """A description said its own ε alone, on a page whose bins stood at drafted bounds."""
    described = prepriv.describe(TABLE, domain(), epsilon=0.4, delta=1e-6)
    look = described.plan.look
    evaluated = fitted().evaluate(ROWS, LABELS, epsilon=0.4, delta=1e-6)
    for alone, whole in (
        (look.guarantee, described.guarantee_),
        (evaluated.plan.guarantee, evaluated.guarantee_),
    ):
        events = [(alone.tradeoff, 1)]
        for drafted in domain().drafts:
            events += [(gaussian(drafted.mu), 1), (approximate_dp(0.0, drafted.leak), 1)]
        assert whole.epsilon(1e-6) == pytest.approx(compose(events).epsilon(1e-6), rel=1e-6)
        assert whole.notes[0].startswith(f"in all: ε = {alone.epsilon(1e-6):.2g}")
    from prepriv.description.description_page import to_html, to_json

    for data, page in (
        (to_json(described), to_html(described)),
        (evaluated.to_json(), evaluated.to_html()),
    ):
        assert data["claims"]["this run"]["epsilon"] < data["guarantee"]["epsilon"] - 0.1
        assert len(data["claims"]["drafts"]) == 1 and "in all: ε = 0." in page
    said_in_the_line = float(evaluated.claim.removeprefix("ε = ").split()[0])
    assert 0 <= said_in_the_line - evaluated.guarantee_.epsilon(1e-6) < 1e-4  # four digits, up
    for refused in (
        lambda: prepriv.describe(TABLE, domain(), epsilon=0.4, delta=1e-8),
        lambda: fitted().evaluate(ROWS, LABELS, epsilon=0.4, delta=1e-8),
    ):
        with pytest.raises(ValueError, match="delta must be above"):
            refused()


def test_two_drafts_are_two_prices():
    twice = dataclasses.replace(domain(), drafts=(*domain().drafts, DRAFT))
    once, both = (classifier(where).plan(N) for where in (domain(), twice))
    assert both.guarantee == once.guarantee  # of training alone
    from prepriv.guarantees.drafts import with_drafts

    one, two = (with_drafts(p.guarantee, p.domain, DELTA, N).epsilon(DELTA) for p in (once, both))
    assert one + 0.02 < two == pytest.approx(by_hand(both.guarantee, twice), rel=1e-6)


def test_a_draft_of_other_neighbours_does_not_add_and_is_refused():
    with pytest.raises(ValueError, match=r"one under add-or-remove-one: .* same"):
        dataclasses.replace(domain(), adjacency="add-or-remove-one", n=N)
    with pytest.raises(ValueError, match="under replace-one of one 'u'"):
        dataclasses.replace(domain(), unit="u", rows_per_unit=2, n=N)


def test_a_delta_that_the_draft_alone_used_up_is_refused_before_a_charge(tmp_path):
    ledger = tmp_path / "L.db"
    Ledger.create(ledger, "people", epsilon=9, delta=0.1)
    with pytest.raises(ValueError, match=r"delta must be above 2\.5"):
        classifier(ledger=ledger).set_params(delta=1e-7).fit(ROWS, LABELS)
    assert not Ledger.open(ledger).entries()


@pytest.mark.parametrize(
    "change",
    [{"mu": 0}, {"mu": math.nan}, {"leak": 1.0}, {"delta": 0}, {"plan": "x"}, {"rows": 0}, {"ledger": {}}],
)
def test_what_is_no_draft_is_refused(change):
    with pytest.raises(ValueError):
        Drafted.from_json(DRAFT.to_json() | change)


def test_a_draft_that_states_less_than_it_spends_is_refused():
    with pytest.raises(ValueError, match="more than the budget"):
        classifier(dataclasses.replace(domain(), drafts=(dataclasses.replace(DRAFT, mu=1.0),))).plan(N)


# ------------------------------------------------------------------------------------------ on the command line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pa.csv.write_csv(TABLE, "t.csv")
    Ledger.create("L.db", "people", epsilon=4.5, delta=1e-4)
    return tmp_path


INIT = ["schema", "init", "t.csv", "--label", "y", "--epsilon", "0.5", "--rows", str(N), "--out", "S.yaml"]
TRAIN = ["train", "t.csv", "--schema", "S.yaml", "--learner", "{kind: GradientDescent, steps: 3}"]


def said(capsys):
    told = capsys.readouterr()
    return " ".join(told.out.split()), " ".join(told.err.split())


def test_a_drafted_schema_carries_its_claim_and_remembers_its_ledger(folder, capsys):
    assert run([*INIT, "--ledger", "L.db"]) == 0
    (drafted,) = load_schema("S.yaml").domain().drafts
    charged, noted = Ledger.open("L.db").entries()
    assert (drafted.ledger["sequence"], drafted.ledger["head"]) == (charged.sequence, charged.head)
    assert (noted.kind, noted.artifact) == ("released", drafted.content)
    capsys.readouterr()
    for command in (
        [*TRAIN, "--out", "a"],
        ["describe", "t.csv", "--schema", "S.yaml"],
        ["evaluate", "a", "t.csv"],
    ):
        assert run(command) == 0
        assert "this schema was drafted with a ledger (charge 1), and this run has none" in said(capsys)[1]
    assert run([*TRAIN, "--out", "b/c", "--rows", str(N), "--ledger", "L.db"]) == 0
    assert "this run has none" not in said(capsys)[1]
    Ledger.create("other.db", "people", epsilon=9, delta=1e-3)
    for command in (
        [*TRAIN, "--out", "d", "--rows", str(N), "--ledger", "other.db"],
        ["describe", "t.csv", "--schema", "S.yaml", "--rows", str(N), "--ledger", "other.db"],
        ["evaluate", "a", "t.csv", "--rows", str(N), "--ledger", "other.db"],
    ):
        assert run(command) == 0
        assert "this ledger does not hold the private draft of its bounds" in said(capsys)[1]
        assert run([*command[:-1], "L.db", *(["--overwrite"] if command[0] == "train" else [])]) == 0
        assert "does not hold" not in said(capsys)[1]
    left = Ledger.open("L.db").remaining().epsilon
    assert left == pytest.approx(4.5 - 0.5 - 2 * 1 - 0.5 - 0.1, abs=1e-3)  # the draft is charged once


def test_a_ledger_pays_for_the_draft_or_it_is_said(folder, capsys):
    """ "charged: ... at least what this model claims" was printed of a ledger that booked the run alone."""
    assert run([*INIT, "--ledger", "L.db"]) == 0
    Ledger.create("other.db", "people", epsilon=9, delta=1e-3)
    here = [*TRAIN, "--rows", str(N)]
    for place, out in (("L.db", "paid"), ("other.db", "half"), ("L.db", "second")):
        assert run([*here, "--out", out, "--ledger", place]) == 0
    schema = yaml.safe_load(Path("S.yaml").read_text())
    Path("S.yaml").write_text(yaml.safe_dump(schema | {"draft": True}))
    assert run(here) == 2 and "is a draft that was made privately and lacks classes" in said(capsys)[1]
    del schema["drafted"]
    Path("S.yaml").write_text(yaml.safe_dump(schema))
    assert run(["validate", "t.csv", "--schema", "S.yaml", "--rows", "77"]) == 1  # of 3,000 records
    assert f"--rows 77 is used in place of rows: {N:,}, which the schema declares" in said(capsys)[1]
    for command in (["plan", "S.yaml"], ["train", "t.csv", "--schema", "S.yaml", "--out", "other"]):
        assert run([*command, "--rows", str(N + 2)]) in (0, 2)
        assert said(capsys)[1].count(f"--rows {N + 2:,} is used in place of rows: {N:,}") == 1
    before = len(Ledger.open("L.db").entries())  # the header line was counted
    counted = ["train", "t.csv", "--schema", "S.yaml", "--out", "other", "--ledger", "L.db"]
    assert run([*counted, "--rows", str(N + 1)]) == 2 and "header line" in said(capsys)[1]
    assert len(Ledger.open("L.db").entries()) == before
    assert run([*here, "--out", "same", "--ledger", "L.db"]) == 0
    schema["columns"]["a"]["high"] = 77
    Path("S.yaml").write_text(yaml.safe_dump(schema))
    assert run([*here, "--out", "silent", "--ledger", "L.db"]) == 0
    capsys.readouterr()
    assert run(["report", "paid", "--ledger", "L.db"]) == 8
    out, _ = said(capsys)
    asked = "ASK BEFORE YOU SIGN: what L.db paid for beside this model: row"
    assert "booked at least what this model claims" in out and f"{asked} 5, a model (" in out
    assert out.count("ASK") == 1  # and nothing of the draft, which the model claims
    assert "1 charge came before: row 1, a schema draft (epsilon" in out and "whether ε and δ" not in out
    assert run(["report", "second", "--ledger", "L.db"]) == 8  # a second model of the same draft
    told = said(capsys)[0].partition(f"{asked} 3, a model (")[2]
    assert "whether ε and δ of this model were chosen before anyone saw the draft" in told
    page = Path("paid/report.html").read_text()
    assert (
        "The ledger adds plainly: 0.5 + 1 = 1.5 of 4.5" in page
        and "sees this model and its draft can" in page
    )
    assert "adds plainly" not in Path("silent/report.html").read_text()
    assert run(["report", "half", "--ledger", "other.db"]) == 1
    out, _ = said(capsys)
    assert "charged: the ledger" not in out and "(ε = 0.5 at δ = 1e-06) is not in this ledger" in out
    # the hash of what was drafted stands beside its charge: the same bounds are no question
    assert run(["report", "same", "--ledger", "L.db"]) == 1
    exactly = "bounds and classes are exactly those of the schema draft of row 1"
    assert f"claims too little: {exactly}" in said(capsys)[0]
    assert run(["ledger", "verify", "L.db", "same"]) == 5
    assert said(capsys)[0].count(exactly) == 3  # the model, and both forms of its page
    assert run(["ledger", "verify", "L.db", "silent"]) == 8  # the same answer as `report --ledger`
    assert "ASK BEFORE YOU SIGN" in said(capsys)[0]
    assert run(["report", "silent", "--ledger", "L.db"]) == 8  # not decided: only people can say it
    last = capsys.readouterr().out.strip().split("\n")[-2]
    assert last.startswith("ASK BEFORE YOU SIGN") and "They are not exactly what was drafted" in last
    assert "schema draft of row 1, which the model does not claim" in last
    assert run(["ledger", "verify", "L.db", "half/model"]) == 5
    assert "its charge 1 is not in this ledger" in said(capsys)[0]
    # a record that goes to a registry holds the question, too, and does not answer it
    assert run(["report", "silent", "--ledger", "L.db", "--record", "d.yaml"]) == 8
    record = Path("d.yaml").read_text()
    assert (
        "QUESTION: the ledger leaves open whether bounds or classes" in record
        and "did not read them off" not in record
    )
    assert run(["report", "silent", "--record", "alone.yaml"]) == 0
    assert "did not read them off" in Path("alone.yaml").read_text()
    # the draft of a model can stand in another ledger of the same people
    assert run(["report", "half", "--ledger", "other.db", "--ledger", "L.db"]) in (0, 8)
    assert "is not in this ledger" not in said(capsys)[0]
    assert run(["report", "silent", "--ledger", "L.db", "--json"]) == 8
    draft, others = json.loads(said(capsys)[0])["ask_before_you_sign"]
    assert draft in last and others.startswith("what L.db paid for beside this model: row 1, a schema draft")


def test_whoever_edits_a_draft_and_its_hash_is_found_out_by_the_ledger(folder, monkeypatch):
    """The page said "as drafted, by the hash that the schema holds", which whoever edits it can compute again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Domain.draft(TABLE, epsilon=0.5, ledger="L.db")
    wider = dict(made.columns) | {"a": Numeric(0, 77)}
    forged = drafted_content(wider, made.classes, None)
    edited = dataclasses.replace(
        made, columns=wider, drafts=(dataclasses.replace(made.drafts[0], content=forged),)
    )
    assert edited.as_drafted
    with pytest.raises(ValueError, match="row 1 drafted other bounds"):
        classifier(edited, ledger="L.db").fit(ROWS, LABELS)
    assert len(Ledger.open("L.db").entries()) == 2  # nothing was charged
    monkeypatch.setattr("prepriv.runs.booked.check_drafts_booked", lambda *_: None)  # of a changed library
    for where, name in ((made, "m"), (edited, "e")):
        path = classifier(where, ledger="L.db").fit(ROWS, LABELS).model_.save(name, ledger="L.db")
        wrong, unchecked = charge_problems("L.db", Model.load(path), path.read_bytes())
        assert unchecked == [] and len(wrong) == (name == "e")
    assert "row 1 drafted other bounds or classes" in wrong[0]


def test_a_schema_that_was_edited_is_not_ok_to_a_ledger(folder, capsys):
    """`ledger verify` compared the receipt alone."""
    assert run([*INIT, "--ledger", "L.db"]) == 0
    line = ["ledger", "verify", "L.db", "S.yaml"]
    assert run(line) == 0
    schema = yaml.safe_load(Path("S.yaml").read_text())
    schema["columns"]["a"]["high"] = 77
    Path("S.yaml").write_text(yaml.safe_dump(schema))
    capsys.readouterr()
    assert run(line) == 8
    assert "ASK BEFORE YOU SIGN: S.yaml: columns, bounds" in capsys.readouterr().out
    domain = load_schema("S.yaml", drafts=True).domain()
    schema["drafted"][0]["content"] = drafted_content(domain.columns, domain.classes, domain.target)
    Path("S.yaml").write_text(yaml.safe_dump(schema))
    assert run(line) == 5
    assert "drafted other bounds or classes" in capsys.readouterr().out


@pytest.mark.parametrize("edited", [False, True])
def test_answers_descriptions_and_sketches_say_whether_the_whole_schema_is_as_drafted(folder, edited):
    """Answers of a schema that nobody touched said that columns were edited since the draft: they read a part of it, its gaps as gaps."""
    assert run(INIT) == 0
    if edited:
        schema = yaml.safe_load(Path("S.yaml").read_text())
        schema["columns"]["a"]["high"] += 0.5
        Path("S.yaml").write_text(yaml.safe_dump(schema))
    where = load_schema("S.yaml", drafts=True).domain()
    asked = prepriv.ask(TABLE, where, ["mean(b)", "mean(a)"], epsilon=1.0, n=N)
    described = prepriv.describe(TABLE, where, epsilon=1.0, n=N)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sketched = prepriv.sketch(ROWS, where, LABELS, epsilon=1.0, n=N)
    for promise in (asked.to_json()["promise"], described.promised, sketched.promised):
        told = " ".join(promise)
        assert ("edited since the draft" in told) == edited == ("as drafted" not in told)


def test_a_draft_that_cannot_be_noted_is_not_lost_and_that_is_said(folder, monkeypatch):
    def fails(*_):
        raise NotNoted("its hash is not in the ledger")

    with monkeypatch.context() as patched:
        patched.setattr("prepriv.description.drafted_schema.note_hash", fails)
        with pytest.warns(UserWarning, match="not in the ledger"):
            made = Domain.draft(TABLE, epsilon=0.5, ledger="L.db")
    path = classifier(made, ledger="L.db").fit(ROWS, LABELS).model_.save("m", ledger="L.db")
    wrong, unchecked = charge_problems("L.db", Model.load(path), path.read_bytes())
    assert wrong == [] and "names no hash of it beside row 1" in unchecked[0]


def test_what_was_drafted_is_known_by_its_hash_and_an_edit_of_it_too(folder, capsys):
    """Whoever changed a bound after a look had a page that said "drafted privately"."""
    assert run(INIT) == 0
    schema = yaml.safe_load(Path("S.yaml").read_text())

    def declared(**changed):
        Path("T.yaml").write_text(yaml.safe_dump(schema | changed))
        return load_schema("T.yaml").domain()

    assert domain().as_drafted and declared().as_drafted
    assert Domain.from_json(json.loads(json.dumps(declared().to_json()))).as_drafted
    assert declared(columns=dict(reversed(schema["columns"].items()))).as_drafted  # the order says nothing
    wider = schema["columns"] | {"a": schema["columns"]["a"] | {"high": 7.5}}
    assert declared(columns=wider).as_drafted is False
    assert declared(label=schema["label"] | {"classes": ["no", "yes", "rare"]}).as_drafted is False
    (draft,) = schema["drafted"]
    earlier = [{key: value for key, value in draft.items() if key != "content"}]
    assert declared(drafted=earlier).as_drafted is None and DECLARED.as_drafted is None
    said_of = [
        Report.of(make_plan(where, [], DESCENT, epsilon=1.0, delta=1e-5), private=True).summary.predicts[-2]
        for where in (declared(), declared(columns=wider), declared(drafted=earlier))
    ]
    assert ["as drafted" in s for s in said_of] == [True, False, False]
    assert ["edited since" in s for s in said_of] == [False, True, True] and "may have been" in said_of[2]
    # what was edited is not said to have been drafted, and a regression has no classes
    pages = [origin_of(where) for where in (declared(), declared(columns=wider), declared(drafted=earlier))]
    assert ["bounds and classes were drafted" in s for s in pages] == [True, False, False]
    number = declared(label={"name": "y", "low": 0.0, "high": 9.0})
    page = origin_of(number)
    assert (
        "began as a private draft" in page
        and "bounds or categories were edited" in page
        and "lasses" not in page
    )
    assert "lasses" not in origin_of(dataclasses.replace(number, drafts=()))
    for content in ("0" * 63, 7):
        with pytest.raises(BadSchema, match="content"):
            declared(drafted=[draft | {"content": content}])


def test_report_and_verification_speak_of_the_whole(folder, capsys):
    assert run(INIT) == 0 and run([*TRAIN, "--out", "run", "--holdout", "0.2"]) == 0
    out, _ = said(capsys)
    whole = json.loads(Path("run/report.json").read_text())["guarantee"]["epsilon"]
    assert whole > 1.05 and f"ε = {whole:.3f}"[:8] in out and "in all: ε = 1 at δ = 1e-05 of this run" in out
    for saved in ("run/report.json", "run/report.html"):
        assert run(["report", "run", "--verify", saved]) == 0
        assert f"ε = {whole:.3f}"[:8] in said(capsys)[0]
    text = Path("run/report.html").read_text()
    assert (
        "no command can check it" in text
        and "the private draft of the domain; the private measurement" in text
    )
    assert "seen. The curator checks them" not in text and "--ledger LEDGER" not in text  # it has no receipt
    Path("forged.html").write_text(text.replace("the private draft of its schema", "its schema"))
    assert run(["report", "run", "--verify", "forged.html"]) == 1


def test_an_edit_by_hand_keeps_the_claim(folder, capsys):
    assert run(INIT) == 0
    schema = yaml.safe_load(Path("S.yaml").read_text())
    schema["columns"]["a"]["high"] = 5.0
    Path("S.yaml").write_text(yaml.safe_dump(schema))
    assert run([*TRAIN, "--out", "run"]) == 0 and Model.load("run").guarantee.epsilon(1e-5) > 1.05
    schema["drafted"][0]["epsilon"] = 0.1
    Path("S.yaml").write_text(yaml.safe_dump(schema))
    capsys.readouterr()
    assert run([*TRAIN, "--out", "run2"]) == 2 and "spends more than the budget it states" in said(capsys)[1]
    schema["drafted"][0]["mu"] = "much"
    Path("S.yaml").write_text(yaml.safe_dump(schema))
    with pytest.raises(BadSchema, match="mu"):
        load_schema("S.yaml").domain()


def test_a_second_run_without_a_ledger_is_told_what_both_cost(folder, capsys):
    """Finding D7: as Python says it at the second fit."""
    assert run(INIT) == 0 and run([*TRAIN, "--out", "runs/a"]) == 0
    assert "earlier private model" not in said(capsys)[1]
    assert run([*TRAIN, "--out", "runs/b"]) == 0
    _, err = said(capsys)
    assert "There is an earlier private model of this table next to runs/b" in err
    part, whole = Model.load("runs/a").part, Model.load("runs/a").guarantee
    both = float(err.split("together they cost ε = ")[1].split()[0])
    assert (
        whole.epsilon(1e-5) + 0.2
        < both
        == pytest.approx(by_hand(part.compose(part), Model.load("runs/a").domain), rel=1e-3)
    )
    assert run([*TRAIN, "--out", "runs/b", "--overwrite"]) == 0
    assert "There are 2 earlier private models" in said(capsys)[1]
    assert run([*TRAIN, "--out", "runs/c", "--rows", str(N), "--ledger", "L.db"]) == 0
    assert "earlier private model" not in said(capsys)[1]


def test_models_of_rows_and_of_units_are_not_added_up(folder, capsys):
    """ "Together they cost the sum of what each claims" was said of a model of rows and one of schools."""
    people = pa.csv.read_csv("t.csv").to_pandas().assign(school=np.arange(N) // 10)
    people.to_csv("t.csv", index=False)
    label = {"name": "y", "classes": sorted(map(str, set(people["y"])))}
    columns = {"a": {"type": "numeric", "low": 0, "high": 10}}
    each = {"rows": N}, {"rows": N // 10, "unit": "school", "rows_per_unit": 10}
    for place, one in zip(("rows", "schools"), each):
        Path(f"{place}.yaml").write_text(yaml.safe_dump(one | {"label": label, "columns": columns}))
        capsys.readouterr()
        assert run(["train", "t.csv", "--schema", f"{place}.yaml", *TRAIN[4:], "--out", f"runs/{place}"]) == 0
    err = said(capsys)[1]
    assert "sum of what each claims" not in err and "no sum of the claims holds" in err


def test_the_model_of_the_largest_delta_is_named(folder, capsys):
    """ "Together they cost ε = 1.856 at δ = 0.001", of a run of δ = 1e-6: one earlier model had that delta."""
    assert run(INIT) == 0 and run([*TRAIN, "--out", "runs/a"]) == 0
    weak = ["train", *TRAIN[1:], "--delta", "0.01", "--out", "runs/b"]
    assert run(weak) == 0
    assert "That δ is the one of" not in said(capsys)[1]  # this run's own
    assert run([*TRAIN, "--out", "runs/c"]) == 0
    err = " ".join(said(capsys)[1].split())
    assert "at δ = 0.01. That δ is the one of runs/b, and should be well below 1/n = " in err
    assert f"1/n = {1 / N:.3g}"[:9] in err and "This run has δ = 1e-05" in err


def test_a_model_of_another_label_or_draft_is_told_too(folder, capsys):
    """Two models of one table with other labels, or of two drafts, were not added up."""
    assert run(INIT) == 0 and run([*TRAIN, "--out", "runs/a"]) == 0
    first, schema = Model.load("runs/a"), yaml.safe_load(Path("S.yaml").read_text())
    other = schema | {"label": {"name": "a", "low": 0.0, "high": 10.0}}
    other["columns"] = {name: kind for name, kind in schema["columns"].items() if name != "a"}
    Path("S2.yaml").write_text(yaml.safe_dump(other))
    capsys.readouterr()
    trained = ["train", "t.csv", "--epsilon", "1", "--delta", "1e-5"]
    assert run([*trained, "--schema", "S2.yaml", "--out", "runs/b"]) == 0
    err = said(capsys)[1]
    assert (
        "There is an earlier private model next to runs/b: it may be of the same people" in err
        and "(runs/a)" in err
    )
    both = float(err.split("together they cost ε = ")[1].split()[0])
    second = Model.load("runs/b")  # of the same draft, which is counted once
    assert both == pytest.approx(by_hand(first.part.compose(second.part), first.domain), rel=1e-3)
    assert run([*INIT[:-1], "S3.yaml"]) == 0
    assert run([*trained, "--schema", "S3.yaml", "--out", "runs/c"]) == 0
    err = said(capsys)[1]
    assert "There are 2 earlier private models next to runs/c" in err and "runs/a, runs/b" in err
    assert float(err.split("together they cost ε = ")[1].split()[0]) > both  # and a draft of its own


def test_what_is_named_as_perhaps_of_the_same_people():
    of = lambda label, n=None, **columns: Domain(columns, classes=["a", "b"], label=label, n=n)  # noqa: E731
    here = of("y", x=Numeric(0, 1), z=Numeric(0, 2), w=Numeric(0, 3))
    for there in (
        of("t", x=Numeric(0, 9), z=Numeric(0, 9), q=Numeric(0, 9), r=Numeric(0, 9)),  # names
        of("t", x=Numeric(0, 1), **{f"q{j}": Numeric(0, 9) for j in range(9)}),  # a column
        of("x", **{f"q{j}": Numeric(0, 9) for j in range(9)}),  # a label
        of("t", y=Numeric(0, 9), **{f"q{j}": Numeric(0, 9) for j in range(9)}),
    ):
        assert _alike(there, here) and _alike(here, there)
    assert not _alike(of("t", **{f"q{j}": Numeric(0, 9) for j in range(9)}), here)


class Loader:
    """What is read of a DataLoader of torch."""

    dataset, batch_size, sampler = range(N), 100, None

    def __len__(self):
        return 30


def test_accounts_of_other_libraries_add_what_the_draft_spent():
    """0.7602 was claimed with and without a draft of ε = 1."""
    plain = dataclasses.replace(DECLARED, n=N)
    drafted = dataclasses.replace(plain, drafts=(DRAFT,))
    opacus = {"noise_multiplier": 1.5, "max_grad_norm": 1.0, "batch_size": 100, "epochs": 1}
    ran, noise = ran_elsewhere("Opacus", opacus, n=N)
    found = {
        "account": [
            account([], ran, domain=d, noise_multiplier=noise, delta=DELTA) for d in (plain, drafted)
        ],
        "calibrate": [
            calibrate([], Loader(), {"epochs": 1}, domain=d, epsilon=EPSILON, delta=DELTA).guarantee
            for d in (plain, drafted)
        ],
    }
    for alone, whole in found.values():
        least = by_hand(alone, drafted) * (
            1 - 1e-12
        )  # both are rounded up on a grid that follows µ, and `whole` rounds µ up first
        assert least <= whole.epsilon(DELTA) <= by_hand(alone, drafted) * (1 + 1e-3)
        assert whole.epsilon(DELTA) > alone.epsilon(DELTA) * 1.01
        assert whole.notes[0].startswith("in all: ") and set(alone.premises) <= set(whole.premises)
        told = "chosen before anyone saw the draft"
        assert told in str(whole) and told not in str(alone) and sum(told in p for p in whole.premises) == 1
    notes = [ways_out([], ran, domain=d, epsilon=EPSILON, delta=DELTA)[0].code for d in (plain, drafted)]
    assert "draft" not in notes[0] and "and the private draft of its bounds" in notes[1]


def test_a_delta_below_the_leak_of_the_draft_is_refused_by_accounts():
    drafted = dataclasses.replace(DECLARED, n=N, drafts=(DRAFT,))
    ran, learner = (
        ran_elsewhere("diffprivlib", {"model": "LogisticRegression", "epsilon": 0.5, "data_norm": 1.0}, n=N)[
            0
        ],
        DESCENT,
    )
    for call in (
        lambda: account([], ran, domain=drafted, delta=1e-8),
        lambda: calibrate([], Loader(), {"epochs": 1}, domain=drafted, epsilon=1.0, delta=1e-8),
        lambda: ways_out([], learner, domain=drafted, epsilon=1.0, delta=1e-8),
    ):
        with pytest.raises(ValueError, match="delta must be above"):
            call()


def test_a_second_run_counts_the_drafts_of_earlier_ones(folder, capsys):
    """The sum left out a draft that this schema does not have."""
    assert run(INIT) == 0 and run([*TRAIN, "--out", "runs/a"]) == 0
    schema = yaml.safe_load(Path("S.yaml").read_text())
    del schema["drafted"]
    Path("declared.yaml").write_text(yaml.safe_dump(schema))
    capsys.readouterr()
    assert run(["train", "t.csv", "--schema", "declared.yaml", *TRAIN[4:], "--out", "runs/b"]) == 0
    said_of_both = said(capsys)[1]
    draft = Model.load("runs/a").domain
    parts = [Model.load(f"runs/{name}").part for name in "ab"]
    both = float(said_of_both.split("together they cost ε = ")[1].split()[0])
    assert both == pytest.approx(by_hand(parts[0].compose(parts[1]), draft), rel=1e-3)


def test_no_ledger_is_said_to_add_a_draft_that_was_charged_to_none():
    """Another charge of the same size stood for it."""
    receipt = {"plan_uid": "u", "sequence": 2, "head": "0" * 64, "dataset": "people"}
    receipt |= {"cap": "epsilon 9, delta 0.001"}
    for ledger, added in ((None, False), ({k: receipt[k] for k in ("plan_uid", "sequence", "head")}, True)):
        drafted = dataclasses.replace(DECLARED, drafts=(dataclasses.replace(DRAFT, ledger=ledger),))
        plan = make_plan(drafted.with_n(N), [], DESCENT, epsilon=1.0, delta=1e-5)
        total = 1 + float(up(of_draft(drafted.drafts[0], drafted).epsilon(1e-6), 4))
        told = receipt | {"total": f"epsilon {total:.4f}, delta 0.000011"}
        page = Report.of(plan, private=True, receipt=told).to_html()
        assert ("The ledger adds plainly: " in page) == added
