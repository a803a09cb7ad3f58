"""A record of the deployment, in the schema of the public registry of differential privacy deployments.

The registry (OpenDP and others, proposed to be hosted by NIST) publishes its schema beside its records,
github.com/opendp/deployments-registry-data; the fields are those of July 2026. What follows from the plan is filled in. What only
the curator knows is a question that begins with QUESTION. docs/deployment-record.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from prepriv._text import printable
from prepriv._version import own_version
from prepriv.domain import Domain
from prepriv.guarantees.drafts import what_was_drafted
from prepriv.guarantees.notes import weak_claims
from prepriv.guarantees.printed import exact, separated, up
from prepriv.plans.plan import Plan
from prepriv.release.report import Report
from prepriv.release.review import (
    asked_of_weak,
    correct,
    parameters,
    periods_in_words,
    review,
    schema_in_words,
    side_channels,
    trust,
    unit_in_words,
    unprotected,
)
from prepriv.release.summary import set_aside

ASKED = "QUESTION: "
UNKNOWN_DATE = "1900-01-01"  # what the registry's own template has in place of a date
_WAYS = {
    "free": "fixed before any data were seen",
    "public": "fitted on public records, which costs nothing",
    "budget": "fitted with noise, in the claim",
    "sketch": "fitted on rows that were drawn from a private sketch of the table, in the claim",
    "sensitivity": "fitted without noise, and training pays with more noise, in the claim",
}


def deployment_record(
    report: Report, asked: Sequence[str] = (), further: Sequence[str] = (), *, many: bool = False
) -> dict[str, Any]:
    """Fill the registry's schema from a report.

    Parameters
    ----------
    report : Report
        Of the run, with its model.
    asked : sequence of str, default ()
        What a ledger shows and only people can explain (`prepriv report --ledger`). Each becomes a question beside the bounds and
        classes, of which the record then does not say that no record decided them.
    further : sequence of str, default ()
        The same of what else ledgers paid for, and of their caps. Each becomes a question beside the type of the release.
    many : bool, default False
        Whether the ledgers paid for other releases, too.

    Returns
    -------
    dict
        Plain data, by the sections and fields of the registry.

    Raises
    ------
    ValueError
        For a run that claims nothing.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> from prepriv.release.record import deployment_record
    >>> domain = prepriv.Domain.ball(2, classes=[0, 1], n=1000)
    >>> plan = prepriv.make_plan(domain, [], GradientDescent(Logistic()), epsilon=1.0, delta=1e-5)
    >>> deployment_record(prepriv.Report.of(plan, private=True))["deployment"]["deployment_model"]["model_name"]
    'Central'
    """
    if report.guarantee is None:
        raise ValueError("nothing is claimed of this run: there is no deployment to record")
    sections = {
        "basic": _basic(report),
        "dp_variant": _variant(report),
        "privacy_loss": _loss(report),
        "deployment_model": _model(report, further, many),
        "accounting": _accounting(report),
        "implementation": _implementation(report, asked),
        "administrative": _administrative(report),
    }
    return {
        "url_slug": f"prepriv-{report.plan.hash[:12]}",
        "status": "Draft",
        "tier": 3,
        "deployment": sections,
    }


def questions(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Find what is left to the curator.

    Parameters
    ----------
    record : mapping
        Of `deployment_record`.

    Returns
    -------
    list of (str, str)
        The field and the question, in the order of the record.

    Examples
    --------
    >>> from prepriv.release.record import questions
    >>> questions({"deployment": {"basic": {"name": "QUESTION: what is it called?"}}})
    [('basic.name', 'what is it called?')]
    """
    found = []
    for path, text in _texts(record.get("deployment", {}), ""):
        found += [(path, q) for q in re.findall(rf"{ASKED}([^\n]+)", text)]
        if path == "basic.publication_date" and text == UNKNOWN_DATE:
            found.append((path, "when was it first published?"))
    return found


def as_yaml(record: Mapping[str, Any]) -> str:
    """Write a record as YAML, texts of several lines as blocks, as the registry asks for.

    Parameters
    ----------
    record : mapping
        Of `deployment_record`.

    Returns
    -------
    str
    """
    asked = questions(record)
    head = f"# Made by prepriv {own_version()}. Left to the curator, {len(asked)} questions:\n"
    listed = "".join(f"# {path}: {question}\n" for path, question in asked)
    text = yaml.dump(dict(record), Dumper=_Blocks, sort_keys=False, allow_unicode=True, width=10**6)
    unknown = f"publication_date: '{UNKNOWN_DATE}'\n"  # the registry demands a date, so the question stands beside it
    return (
        head
        + listed
        + text.replace(unknown, f"{unknown.rstrip()}  # {_ask('when was it first published?')}\n", 1)
    )


class _Blocks(yaml.SafeDumper):
    """Writes texts of several lines with `|`."""


def _text(dumper: _Blocks, value: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Blocks.add_representer(str, _text)


def _texts(node: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, list):
        for one in node:
            yield from _texts(one, path)
    elif isinstance(node, Mapping):
        for key, one in node.items():
            yield from _texts(one, f"{path}.{key}".lstrip("."))


def _ask(question: str) -> str:
    return ASKED + question


def _basic(report: Report) -> dict[str, Any]:
    plan, claim = report.plan, report.guarantee
    assert claim is not None
    learned = plan.domain.label or "a declared label"
    if not plan.domain.label and plan.domain.target is not None:
        learned = "a number"
    whose, tested = "records" if claim.unit is None else "units", set_aside(report)
    rows = f"{plan.n:,} declared {whose}"
    if tested is not None:
        rows = f"{plan.n:,} {whose}, which coins chose of {plan.n + tested:,} declared"
    made = (
        f"It predicts {learned} from {plan.domain.n_inputs} columns, and is linear in the features that its steps make of them "
        f"({plan.learner.name}, {plan.learner.loss.name}). It was trained with prepriv {own_version()} on {rows}. Fitted pre-processing, weights and report are "
        "covered by one claim."
    )
    return {
        "name": _ask("what is the data product called?"),
        "data_curators": [_ask("which entity publishes it?")],
        "description": made,
        "intended_use": _ask("what is it used for, and by whom?"),
        "data_product_type": "Machine learning model",
        "data_product_region": _ask("which region do the data describe, and whose laws apply?"),
        "publication_date": UNKNOWN_DATE,
    }


def _variant(report: Report) -> dict[str, Any]:
    return {
        "variant_name": "Approximate DP",
        "data_domain": f"Tables of these columns, {_how_declared(report.plan.domain)}; what lies outside is mapped into them by a fixed rule, cell by cell:\n{schema_in_words(report.plan.domain)}",
        "unprotected_quantities": unprotected(report),
    }


def _how_declared(domain: Domain) -> str:
    """What is known of where columns come from: a schema without a draft does not show that it was declared before anyone looked."""
    if not domain.drafts:
        return "as they were declared"
    return f"drafted privately from the rows{'' if domain.as_drafted else ', or edited since'}"


def _loss(report: Report) -> dict[str, Any]:
    claim, plan = report.guarantee, report.plan
    assert claim is not None
    rests = [*map(separated, claim.conditions), *claim.premises]
    details = [
        parameters(claim, plan),
        "ε is certified from above; the whole trade-off curve is in the report.",
    ]
    asked = [_ask("how many records can one person have in the data?")] if claim.unit is None else []
    details += [f"It rests on: {'; '.join(rests)}."] if rests else []
    details += [f"It is weak: {why}." for _, why in weak_claims(claim.notes)]
    return {
        "privacy_unit": "record" if claim.unit is None else f"all rows of one {claim.unit}",
        "privacy_unit_details": "\n".join([unit_in_words(claim), *periods_in_words(plan), *asked]),
        "privacy_parameters": {
            "epsilon": float(up(claim.epsilon(plan.delta))),
            "delta": float(exact(plan.delta)),
        },
        "privacy_parameters_details": " ".join(details),
    }


def _model(report: Report, further: Sequence[str], many: bool) -> dict[str, Any]:
    claim = report.guarantee
    assert claim is not None
    once = "One model and its report left this run."
    if report.receipt is not None:
        once += f" The run is charged in row {report.receipt['sequence']} of a ledger, which adds up what is charged to it."
    if many:
        once += " The ledgers that were given paid for other releases, too."
    left = [_ask(f"the ledger leaves open {one}") for one in map(printable, further)]
    left.append(
        _ask("what else was or will be released of the same people, and when does a new budget begin?")
    )
    return {
        "model_name": "Central",
        "model_name_details": trust(claim),
        "actors": f"Whoever gets the model, the report or a prediction is an adversary of the claim.\n{_ask('who holds the raw rows, who can run code on them, and who gets the model?')}",
        "release_type": "Many releases" if many else "One release",
        "release_type_details": "\n".join([once, *left]),
        "data_source_type": "Static",
        "data_source_type_details": _ask("do new data come in, and is the model trained again?"),
        "access_type": "Non-interactive",
        "access_type_details": "The model is a file. Predictions are computed from it alone, and cost nothing more.",
    }


def _accounting(report: Report) -> dict[str, Any]:
    plan, claim = report.plan, report.guarantee
    assert claim is not None
    exactly = "Gaussian releases compose exactly (µ² adds up)"
    how = (
        exactly
        if claim.mu is not None
        else "Privacy loss distributions, rounded up, compose the curves of all releases"
    )
    parts = [f"{how}. In order: {'; '.join(name for name, _ in (plan.guarantee or claim).breakdown)}."]
    if report.measured is not None and report.measured.whole is not None:
        parts.append(
            "A coin set each record aside for training or for measuring: the larger of the two claims counts."
        )
    if report.model is not None and report.model.choice is not None:
        parts.append(
            f"The model was chosen among {len(report.model.choice.plans)} candidates, all of which the claim covers."
        )
    if plan.domain.drafts:
        parts.append(f"The private draft of {what_was_drafted(plan.domain)} is added.")
    return {
        "post_processing": "Momentum, averages of iterates, projections, probabilities, predictions and exports are functions of noisy outputs alone.",
        "composition": " ".join(parts),
    }


def _implementation(report: Report, asked: Sequence[str]) -> dict[str, Any]:
    plan = report.plan
    return {
        "preprocessing_and_hyperparameter_tuning": _preprocessing(report, asked),
        "mechanisms": "\n".join(
            [
                f"- prepriv {own_version()}; model and report are made by one run of it (plan {plan.hash}).",
                f"- {correct(plan)}",
                f"- {side_channels()}",
                f"- {_ask('how are the raw data secured, and who has access?')}",
            ]
        ),
        "justification": f"{_decided(plan.domain)}\n"
        + "\n".join(
            map(
                _ask,
                (
                    "who chose ε, δ and the unit, and why?",
                    *(
                        [
                            "were ε and δ chosen before anyone saw the draft of the schema, and was the draft edited?"
                        ]
                        if plan.domain.drafts
                        else []
                    ),
                    *asked_of_weak(report.guarantee),
                ),
            )
        ),
    }


def _decided(domain: Domain) -> str:
    """What the numbers of a plan follow from, and whether any of it comes from the records."""
    if not domain.drafts:
        return "ε, δ, n and the columns with their bounds and categories were fixed before this run read a record, and every number of the plan follows from them and from what else was declared."
    if domain.as_drafted is None:
        edited = ", and may have been edited since: the draft holds no hash of them"
    else:
        edited = "" if domain.as_drafted else ", and were edited since, by the hash that the schema holds"
    return (
        f"ε, δ and n were declared before this run read a record. The {what_was_drafted(domain)} come from a private draft of records, before this run{edited}. "
        "Every number of the plan follows from all of these and from what else was declared."
    )


def _preprocessing(report: Report, asked: Sequence[str]) -> str:
    plan = report.plan
    lines = ["Pre-processing, each step with what it costs:"]
    for planned, (name, way, cost) in zip(plan.steps, report.paid):
        held = [separated(str(condition)) for condition in planned.conditions]
        more = f"; declared about the data: {'; '.join(held)}" if held else ""
        lines.append(f"- {name}: {_WAYS[way]} ({cost}){more}")
    if not plan.steps:
        lines.append("- none")
    lines += [f"Bounds, categories and classes: {_bounds(plan, asked)}", f"Hyperparameters: {_tuned(report)}"]
    lines += [_ask(f"the ledger leaves open {one}") for one in map(printable, asked)]
    lines.append(
        _ask("was anything tried or looked at on these rows before this run, and is it in the same ledger?")
    )
    return "\n".join(lines)


def _bounds(plan: Plan, asked: Sequence[str]) -> str:
    if plan.domain.drafts:
        edited = "" if plan.domain.as_drafted else ", or edited by whoever ran it"
        declared = all(drafted.declared_label for drafted in plan.domain.drafts)
        what = "Classes" if plan.domain.target is None else "Bounds of the target"
        classes = f" {what} were declared." if declared else ""
        return f"drafted by a private mechanism on private records, in the claim{edited}.{classes}"
    named = plan.domain.declared_by
    by = "" if named is None else f" by {printable(named)}"
    read = "This run did not read them off the data."
    if asked:
        read = "The ledger of these data leaves questions open, which follow. So it is not known here whether private records decided any of them."
    return f"declared{by}. {read}\n{_ask('where do the declared bounds and categories come from?')}"


def _tuned(report: Report) -> str:
    learner = report.plan.learner
    fixed = f"{learner.name} with {learner.steps} {learner.counted}, learning rate {learner.learning_rate:.6g}, clip norm {learner.clip_norm:g}"
    if report.model is not None and report.model.choice is not None:
        method = report.model.choice.method
        return f"{fixed}; chosen among {len(report.model.choice.plans)} candidates by a private mechanism ({method}), in the claim."
    return f"{fixed}; fixed in the plan before a record was read."


def _administrative(report: Report) -> dict[str, Any]:
    sources = f"Plan {report.plan.hash}"
    if report.artifact is not None:
        sources += (
            f"; {report.artifact['file']} with SHA-256 {report.artifact['sha256']}. "
            "`prepriv report MODEL --verify REPORT` rebuilds the report from the model."
        )
    answers = "\n".join(f"- {question} {answer}" for question, answer in review(report))
    return {
        "sources": sources,
        "notes": f"What reviewers ask (after NIST SP 800-226 and the W3C note for reviewers):\n{answers}",
        "registry_authors": [_ask("who filled in this record?")],
    }
