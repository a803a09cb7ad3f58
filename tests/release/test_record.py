"""The deployment record: the registry's fields, what the plan knows filled in, and each thing only the curator knows a question."""

from __future__ import annotations

import dataclasses
import datetime
import os
from pathlib import Path

import numpy as np
import pytest
import yaml

import prepriv
from prepriv import Budget, Categorical, Domain, Numeric, Report, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.cli import run
from prepriv.domain import drafted_content
from prepriv.drafted import Drafted
from prepriv.guarantees.printed import separated
from prepriv.learners import GradientDescent, Logistic, SufficientStatistics
from prepriv.release import record as records
from prepriv.release.record import UNKNOWN_DATE, as_yaml, deployment_record, questions
from prepriv.release.report import TITLES
from prepriv.release.review import CURATOR, review

# Fields of github.com/opendp/deployments-registry-data, schemas/deployments-schema.yaml, 15 July 2026: what each may hold.
TEXT = str
SCHEMA = {
    "basic": {
        "name": TEXT,
        "data_curators": [TEXT],
        "description": TEXT,
        "intended_use": TEXT,
        "data_product_type": {"Summary statistics", "Machine learning model", "Dataset", "Synthetic data"},
        "data_product_region": TEXT,
        "publication_date": datetime.date.fromisoformat,
        "data_product_sector": {"Technology", "Healthcare", "Education", "Government", "Energy", "Finance"},
    },
    "dp_variant": {
        "variant_name": {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"},
        "data_domain": TEXT,
        "unprotected_quantities": TEXT,
    },
    "privacy_loss": {
        "privacy_unit": TEXT,
        "privacy_unit_details": TEXT,
        "privacy_parameters": {"epsilon": float, "delta": float, "rho": float},
        "privacy_parameters_details": TEXT,
    },
    "deployment_model": {
        "model_name": {"Local", "Central", "Shuffle", "Federated", "Varies"},
        "model_name_details": TEXT,
        "actors": TEXT,
        "release_type": {"One release", "Many releases"},
        "release_type_details": TEXT,
        "data_source_type": {"Static", "Dynamic"},
        "data_source_type_details": TEXT,
        "access_type": {"Interactive", "Non-interactive"},
        "access_type_details": TEXT,
    },
    "accounting": {"post_processing": TEXT, "composition": TEXT},
    "implementation": {
        "preprocessing_and_hyperparameter_tuning": TEXT,
        "mechanisms": TEXT,
        "justification": TEXT,
    },
    "administrative": {"sources": TEXT, "notes": TEXT, "registry_authors": [TEXT]},
}
REQUIRED = {*SCHEMA["basic"]} - {"data_product_sector"}
LEARNER = GradientDescent(Logistic(), steps=5, weight_bound=3.0)
DOMAIN = Domain(
    {"age": Numeric(17, 90, "impute"), "job": Categorical(("a", "b"))}, [0, 1], n=5000, label="income"
)
STEPS = (
    pre.MeanImputer(payment=Sensitivity({"missing": 0.01})),
    pre.Center(payment=Budget(0.1)),
    pre.ClipNorm(1.0),
)


def fits(value, allowed):
    if isinstance(allowed, dict):
        return value.keys() <= allowed.keys() and all(fits(value[k], allowed[k]) for k in value)
    if isinstance(allowed, list):
        return len(value) > 0 and all(fits(one, allowed[0]) for one in value)
    if isinstance(allowed, set):
        return value in allowed
    return isinstance(value, allowed) if isinstance(allowed, type) else bool(allowed(value))


def record_of(domain=DOMAIN, steps=STEPS, **more):
    plan = make_plan(domain, steps, LEARNER, epsilon=1.0, delta=1e-5)
    return deployment_record(Report.of(plan, private=True, **more))


def check(record):
    assert record.keys() == {"url_slug", "status", "tier", "deployment"}
    assert record["status"] == "Draft" and record["tier"] == 3
    deployment = record["deployment"]
    assert deployment.keys() == SCHEMA.keys() and deployment["basic"].keys() >= REQUIRED
    for section, fields in deployment.items():
        assert fields.keys() <= SCHEMA[section].keys(), section
        for name, value in fields.items():
            assert fits(value, SCHEMA[section][name]), (section, name, value)


DOMAINS = {
    "table": (DOMAIN, STEPS),
    "ball": (Domain.ball(3, [0, 1], n=500), ()),
    "number": (Domain.box(0, 1, 3, target=Numeric(0, 5), n=500, adjacency="add-or-remove-one"), ()),
    "many columns": (Domain.box(0, 1, 900, [0, 1], n=500), ()),
    "odd names": (Domain({"a: {b\n": Numeric(0, 1), "#c": Numeric(0, 1)}, ["y\t", "\u2028n"], n=500), ()),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_a_record_is_in_the_registrys_schema(name):
    domain, steps = DOMAINS[name]
    if domain.target is not None:
        plan = make_plan(domain, steps, SufficientStatistics(), epsilon=1.0, delta=1e-5)
        record = deployment_record(Report.of(plan, private=True))
    else:
        record = record_of(domain, steps)
    check(record)
    text = as_yaml(record)
    assert yaml.safe_load(text) == record
    styles = {t.style for t in yaml.scan(text) if isinstance(t, yaml.ScalarToken)}
    assert styles <= {None, "|", '"', "'"}  # the registry refuses what folds lines


def test_pre_processing_and_tuning_are_said_step_by_step():
    said = record_of()["deployment"]["implementation"]["preprocessing_and_hyperparameter_tuning"]
    assert "- MeanImputer: fitted without noise, and training pays" in said
    assert "at most 50 of the 5,000 records miss 'age'" in said
    assert "- Center: fitted with noise, in the claim (10% of the budget)" in said
    assert "- ClipNorm: fixed before any data were seen" in said and "fixed in the plan before" in said


def test_every_way_to_pay_has_its_words():
    assert {*records._WAYS} == {*TITLES}


def test_the_claim_of_the_record_is_that_of_the_report():
    plan = make_plan(DOMAIN, STEPS, LEARNER, epsilon=0.7, delta=3e-6)
    report = Report.of(plan, private=True)
    loss = deployment_record(report)["deployment"]["privacy_loss"]
    parameters = loss["privacy_parameters"]
    assert report.guarantee.epsilon(3e-6) <= parameters["epsilon"] <= 0.7 + 1e-6
    assert parameters["delta"] == 3e-6 and all(
        separated(c) in loss["privacy_parameters_details"] for c in report.guarantee.conditions
    )


def test_a_private_draft_is_in_the_record_and_its_bounds_raise_no_question():
    drafted = Drafted(0.5, 1e-5, 0.1395568, 2.5e-6, "replace-one", 500, "0" * 64)
    domain = dataclasses.replace(Domain.box(0, 1, 3, [0, 1], n=500), drafts=(drafted,))
    record = record_of(domain, ())
    said = record["deployment"]["implementation"]["preprocessing_and_hyperparameter_tuning"]
    assert "drafted by a private mechanism" in said and "declared bounds" not in str(questions(record))
    assert record["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] > 1.0  # both


def test_the_record_says_what_the_numbers_of_the_plan_follow_from():
    """Of bounds that a draft read off the rows it said that every number follows from ε, δ and n."""
    drafted = Drafted(0.5, 1e-5, 0.1395568, 2.5e-6, "replace-one", 500, "0" * 64)
    box = Domain.box(0, 1, 3, [0, 1], n=500)
    same = dataclasses.replace(drafted, content=drafted_content(box.columns, box.classes, box.target))
    other = dataclasses.replace(drafted, content="1" * 64)
    draft = "come from a private draft of records, before this run"
    for drafts, said in (
        ((), "ε, δ, n and the columns with their bounds and categories were fixed before this run read"),
        ((drafted,), f"{draft}, and may have been edited since: the draft holds no hash of them. Every"),
        ((same,), f"{draft}. Every"),
        ((other,), f"{draft}, and were edited since, by the hash that the schema holds. Every"),
    ):
        domain = dataclasses.replace(box, drafts=drafts)
        told = record_of(domain, ())["deployment"]["implementation"]["justification"]
        assert (
            said in told and "ε, δ and n were declared before this run read a record, and every" not in told
        )


def test_what_only_the_curator_knows_is_a_question_and_nothing_else_is():
    record = record_of()
    asked = dict(questions(record))
    assert {
        "basic.name",
        "basic.data_curators",
        "basic.intended_use",
        "basic.publication_date",
        "administrative.registry_authors",
    } <= {*asked}
    assert record["deployment"]["basic"]["publication_date"] == UNKNOWN_DATE
    answered = yaml.safe_load(as_yaml(record).replace("QUESTION: what is the data product called?", "Income"))
    answered["deployment"]["basic"]["publication_date"] = "2026-11-23"
    assert {*dict(questions(answered))} == {*asked} - {"basic.name", "basic.publication_date"}


def test_no_claim_has_no_record():
    plan = make_plan(DOMAIN, STEPS, LEARNER, epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match="nothing is claimed"):
        deployment_record(Report.of(plan, private=False))
    assert review(Report.of(plan, private=False)) == []


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("record")
    x = np.random.default_rng(0).random((400, 2))
    domain = Domain.box(0, 1, features=2, classes=[0, 1])
    clf = prepriv.PrivateClassifier(domain, steps="linear", holdout=0.4, evaluate_epsilon=0.5)
    clf.fit(x, (x[:, 0] > 0.5) + 0)
    clf.model_.save(folder / "model")
    clf.report_.save(folder / "r.html")
    return folder, clf


def test_the_command_writes_a_record_once_and_names_the_questions(fitted, tmp_path, capsys):
    folder, _ = fitted
    record = tmp_path / "new" / "deployment.yaml"
    command = [
        "report",
        str(folder / "model"),
        "--verify",
        str(folder / "r.html"),
        "--record",
        str(record),
    ]
    assert run(command) == 0
    out = capsys.readouterr().out
    made = yaml.safe_load(record.read_text("utf-8"))
    check(made)
    assert "basic.name: what is the data product called?" in out
    assert f"{len(questions(made))} questions are left" in out
    assert "A coin set each record aside" in made["deployment"]["accounting"]["composition"]
    assert "SHA-256" in made["deployment"]["administrative"]["sources"]
    record.write_text(record.read_text("utf-8") + "# answered\n", "utf-8")
    assert run(command) == 0 and "it was left as it is" in capsys.readouterr().out  # it ended with 2
    assert record.read_text("utf-8").endswith("# answered\n")
    record.write_text("answers about another model", "utf-8")
    assert run(command) == 2 and "is not a record of this model" in capsys.readouterr().err
    assert record.read_text("utf-8") == "answers about another model"
    assert run([*command[:-1], str(tmp_path / "r.json")]) == 2


def test_a_record_without_the_verified_report_is_of_the_model_alone(fitted, tmp_path):
    folder, clf = fitted
    record = tmp_path / "deployment.yaml"
    assert run(["report", str(folder / "model"), "--record", str(record)]) == 0
    made = yaml.safe_load(record.read_text("utf-8"))["deployment"]
    assert "A coin set" not in made["accounting"]["composition"]
    assert made["privacy_loss"]["privacy_parameters"]["epsilon"] >= clf.model_.guarantee.epsilon(1e-5)


def test_the_page_answers_what_reviewers_ask(fitted):
    _, clf = fitted
    page, said = clf.report_.to_html(), review(clf.report_)
    assert len(said) >= 12 and clf.report_.to_json()["review"][0]["question"] == said[0][0]
    assert "<h2>What reviewers ask</h2>" in page and said[0][0] in page
    text = " ".join(answer for _, answer in said)
    assert "measured privately" in text and "not charged to a ledger" in text and CURATOR in text
    for word in ("unit", "row", "central model", "Time, memory", "rare classes", "trusted"):
        assert word in text + " ".join(q for q, _ in said), word


@pytest.mark.skipif(
    "PREPRIV_REGISTRY" not in os.environ, reason="PREPRIV_REGISTRY names no copy of the registry"
)
def test_a_record_passes_the_registrys_own_schema():
    jsonschema = pytest.importorskip("jsonschema")
    path = Path(os.environ["PREPRIV_REGISTRY"]) / "schemas" / "deployments-schema.yaml"
    validator = jsonschema.Draft7Validator(
        yaml.safe_load(path.read_text("utf-8")), format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER
    )
    for domain, steps in DOMAINS.values():
        if domain.target is None:
            assert not [*validator.iter_errors(yaml.safe_load(as_yaml(record_of(domain, steps))))]
