"""What reviewers of a differentially private release ask, answered of one run: docs/deployment-record.md.

The questions are those of NIST SP 800-226 (its pyramid: parameters and unit on top, data collection at the bottom) and the
W3C note for reviewers who are not experts (privacy, utility, who has to be trusted). What the plan does not know is left to the
curator, and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prepriv._kinds import is_ours
from prepriv.adjacency import n_is_public
from prepriv.domain import Domain
from prepriv.guarantees.drafts import FIXED
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.in_words import attacker
from prepriv.guarantees.notes import weak_claims
from prepriv.guarantees.printed import epsilon_at, exact, separated, up
from prepriv.plans.plan import Plan
from prepriv.release.summary import charged_earlier, declared_aside, seen_with

if TYPE_CHECKING:
    from prepriv.release.report import Report  # which imports this

CURATOR = "Only the curator knows"
"""How an answer begins that is not this package's to give."""


def review(report: Report) -> list[tuple[str, str]]:
    """Answer what reviewers ask, of one run.

    Parameters
    ----------
    report : Report
        Of the run.

    Returns
    -------
    list of (str, str)
        Question and answer; none of a run that claims nothing.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> from prepriv.release.review import review
    >>> domain = prepriv.Domain.ball(2, classes=[0, 1], n=1000)
    >>> plan = prepriv.make_plan(domain, [], GradientDescent(Logistic()), epsilon=1.0, delta=1e-5)
    >>> review(prepriv.Report.of(plan, private=True))[0][0]
    'Whose data does it protect (the unit), and from which change?'
    """
    claim, plan = report.guarantee, report.plan
    if claim is None:
        return []
    return [
        (
            "Whose data does it protect (the unit), and from which change?",
            " ".join([unit_in_words(claim), *periods_in_words(plan)]),
        ),
        ("How strong is it?", f"{parameters(claim, plan)} {' '.join(attacker(claim, seen_with(report)))}"),
        ("What does it rest on?", _rests(claim)),
        ("What is not protected?", unprotected(report)),
        ("Who has to be trusted, and with what?", trust(claim)),
        (
            "Who holds the raw data, and who has access to them?",
            f"{CURATOR}: prepriv reads them in the process that trains, and stores none.",
        ),
        (
            "Is this all that leaves of these people's data?",
            _elsewhere(report),
        ),
        ("Is the mechanism right, and how is that known?", correct(plan)),
        ("Which side channels are there?", side_channels()),
        ("How useful is it?", _utility(report)),
        ("Whom could it serve worse?", _bias(plan)),
        (
            "How were the data collected?",
            f"{CURATOR}: consent, purpose and how long the raw rows are kept. Differential privacy says nothing about them.",
        ),
    ]


def unit_in_words(claim: Guarantee) -> str:
    """What a neighbour is, for a reader who is not an expert."""
    whose = "one row of the table" if claim.unit is None else f"all rows of one `{claim.unit}`"
    how = "replaced by any other" if n_is_public(claim.adjacency) else "added or removed"
    more = (
        ""
        if claim.unit
        else " A person with several rows is protected less, because each row counts by itself."
    )
    return f"{whose[0].upper()}{whose[1:]}, {how} ({claim.adjacency}).{more}"


def periods_in_words(plan: Plan) -> list[str]:
    """Whose rows alone were read, and what that means for a person with rows in several periods; nothing without periods."""
    read = plan.periods
    if read is None:
        return []
    one = (
        f"one person's rows of one {read.by}"
        if plan.domain.unit is not None
        else "one record, which has one date"
    )
    said = f"Only rows of {', '.join(read.read)} were read, by the column '{read.column}'. The claim is of {one}; "
    if len(read.read) == 1:
        return [f"{said}what other {read.by}s cost a person adds up with it."]
    return [
        f"{said}for a person with rows in m of these {read.by}s it is that of m units (mµ where it is µ-GDP), "
        f"and what other {read.by}s cost adds up with it."
    ]


def shown_by_verify(report: Report) -> list[str]:
    """What `report --verify` (with `--ledger`, of a run that was charged) shows of a page: lines for an officer."""
    whole = "no word of this page was edited: it is the one that this model gives"
    if report.measured is not None or report.audited is not None:
        shown = "are stated by this page alone"
        if report.receipt is not None:
            shown = "are compared, too, where the ledger holds their hash, as it does of a run that was saved with it"
        whole = f"no word of this page was edited: it is the one that this model gives, with the numbers that the run measured. Those {shown}"
    lines = [
        whole,
        "the claim follows from the plan and, where dp-accounting is installed, by a second accountant",
        "the model's file is the one with the hash on this page",
    ]
    if report.receipt is not None:
        lines.append(
            f"row {report.receipt['sequence']} of the ledger paid for this model, and for this very file where the ledger holds its hash. The day, and what is left of the cap, are what that copy of the ledger says"
        )
    return lines


def asked_of_weak(claim: Guarantee | None) -> list[str]:
    """What a weak claim leaves to answer, one line each; nothing of a claim that is not weak, or of none."""
    return [
        f"Who accepts this {parameter}, and why? The claim is weak: {why}."
        for parameter, why in (() if claim is None else weak_claims(claim.notes))
    ]


WHO_EDITED = "who edited columns, bounds, categories or classes since the draft, and after seeing what?"
"""What to ask of a page, or of a file, that says so."""


def asked_of_claim(report: Report) -> list[str]:
    """What a page itself leaves to answer before anyone signs, without a ledger: a weak claim, and a draft that was edited."""
    edited = report.plan.domain.as_drafted is False
    said = [f"{WHO_EDITED} The page says that they were edited"]
    return [*asked_of_weak(report.guarantee), *(said if edited else [])]


def asked_of_curator(report: Report) -> list[str]:
    """What only the curator can answer: lines for an officer."""
    domain, claim = report.plan.domain, report.guarantee
    what = "" if report.measured is None else ", and did it give the noisy counts on this page"
    lines = [
        *asked_of_weak(claim),
        f"Did the run follow this plan, with prepriv as it was published{what}?",
        "Where do the bounds, classes and categories come from? prepriv does not judge the words under `declared_by:`. The claim does not cover what was read off the table.",
    ]
    if domain.drafts:
        lines.append("Was anything in the drafted schema edited after a look at the data?")
    elif charged_earlier(report):
        lines.append(
            "What were the earlier charges of its ledger, and was a private draft of this schema among them? The claim of this page covers none."
        )
    lines.append(
        "Were predictions of the private rows given out? No claim covers them, and such a file has to stay where the rows are."
    )
    lines.append("Where does the number of records come from, and was the table counted before?")
    if claim is not None and claim.conditions:
        lines.append(
            "Do the data satisfy what the claim rests on? `prepriv validate` says so, to the curator alone."
        )
    if FIXED in (claim.premises if claim is not None else ()):
        lines.append("Were ε and δ of the run chosen before anyone saw the draft of the schema?")
    if domain.unit is None:
        lines.append("How many rows can one person have? The claim is about single rows.")
    if report.receipt is None:
        lines.append("What else was released about the same people? No ledger was charged.")
    else:
        lines.append(
            "Is every other use of these people's data in the same ledger? `prepriv ledger verify LEDGER FILES...` looks for the receipts of "
            "all that you were given, such as models, reports and answers. A copy of the ledger can lack its last rows, and rows can be "
            "made again. A receipt that someone else kept covers the rows up to its charge. It does not show whether this model was put in place of another one since: "
            "only a head (`ledger show`) that someone kept after the release does."
        )
    return lines


def parameters(claim: Guarantee, plan: Plan) -> str:
    """ε, δ and the curve."""
    curve = f"; as one curve {up(claim.mu, 4)}-GDP" if claim.mu is not None else ""
    return f"{epsilon_at(claim.epsilon(plan.delta), plan.delta)}{curve}."


def unprotected(report: Report) -> str:
    """What is public by declaration."""
    plan, apart = report.plan, declared_aside(report)
    about = "" if n_is_public(plan.domain.adjacency) else "about "
    n = (
        f"{plan.n:,}"
        if apart is None
        else f"{plan.n + apart:,} (coins chose {about}{plan.n:,} of them to train on)"
    )
    count = f"the declared number of {'records' if plan.domain.unit is None else 'units'}, {n}"
    true = "" if n_is_public(plan.domain.adjacency) else " (the true one is protected)"
    classes = ", classes" if plan.domain.target is None else ""
    what = f"The declared schema (columns, bounds, categories{classes}), {count}{true}, and this plan."
    if plan.domain.drafts:
        what = f"{count[0].upper()}{count[1:]}{true}, and this plan. {_as_drafted(plan.domain)}"
    public = [p.step.name for p in plan.steps if p.step.way == "public"]
    what += " Predictions for the private rows themselves are not covered either: keep such a file where the rows are."
    return what + (f" The public tables of {', '.join(public)} are not protected." if public else "")


def _as_drafted(domain: Domain) -> str:
    edited = "" if domain.as_drafted else ", or edited by whoever ran it"
    return f"Bounds and categories were drafted privately, in the claim{edited}."


def trust(claim: Guarantee) -> str:
    """The trust model."""
    said = (
        "The curator has to be trusted with the raw rows, with the training (the central model) and with what is declared about the data. "
        "So does the machine that trains. Nobody who gets the model or the report has to be trusted: the claim holds against all of them together. "
        "Someone who types a row that they know into the model learns nothing from the prediction but what the model and that row give, even if the row is of "
        "a person in the table. But a prediction that was made from the private rows, and is given to others, says something about its row. No claim covers it."
    )
    return f"{said} It {claim.premises[0]}." if claim.premises else said


def correct(plan: Plan) -> str:
    """Mechanisms and what was done to get them right."""
    parts = (*plan.pipeline, plan.learner, plan.learner.loss)
    others = sorted({type(part).__name__ for part in parts if not is_ours(type(part))})
    own = f" Third-party, and not proved here: {', '.join(others)}." if others else ""
    return (
        "Records are added up as integers, and the sums leave with rounded Gaussian noise on a lattice of integers. No floating-point number of "
        "a record is added up. docs/proof-table.md leads from each step to the proof of its mechanism, its tests and its attacks. dp-accounting "
        f"computes the claim again where it knows the events.{own}"
    )


def side_channels() -> str:
    """What can be seen beside the outputs."""
    return (
        "Time, memory and power of the machine that trains. Nothing is done against them, so do not share the machine with those you protect "
        "against. Messages, exit codes, logs and files hold nothing from a record. Noise is drawn on integers, so floating point leaks nothing."
    )


def _rests(claim: Guarantee) -> str:
    said = [*map(separated, claim.conditions), *claim.premises]
    if not said:
        return "It rests on what was declared (bounds, categories, the number of records). It assumes nothing else about the data."
    facts = [fact for fact in said if fact != FIXED]
    told = [
        f"On these facts of the data or of the run: {'; '.join(facts)}. The curator checks them with `prepriv validate`."
    ]
    if len(facts) < len(said):
        told.append(f"It {FIXED}. Nobody but the curator can know that, and no command can check it.")
    return " ".join(told if facts else told[1:])


def _elsewhere(report: Report) -> str:
    if report.receipt is None:
        return f"{CURATOR}: this run was not charged to a ledger. Every other release about the same people adds to the total."
    return (
        f"It is charged in row {report.receipt['sequence']} of a ledger, which adds up everything charged to it (`prepriv ledger show`). "
        f"{CURATOR} what was released beside it."
    )


def _utility(report: Report) -> str:
    if report.measured is not None:
        return "It was measured privately, on rows set aside: see how good it is, with error bars."
    if report.evaluation is not None:
        return f"It was measured on {report.evaluation.table}, which was declared public: see how good it is."
    return "This report does not measure it. `prepriv evaluate` measures it on private rows, at a separate price."


def _bias(plan: Plan) -> str:
    weighed = plan.class_weight or any(p.step.name == "ClassCounts" for p in plan.steps)
    said = (
        "The noise is the same for all, so it hides small groups first: rare classes, rare categories, few records. Values outside the "
        "declared bounds are cut to them, and gradients of unusual records are clipped."
    )
    return said + (" Classes are weighted." if weighed else " Classes are not weighted here.")


def schema_in_words(domain: Domain, most: int = 40) -> str:
    """The declared columns, one line each."""
    if domain.is_ball:
        return f"Rows of {domain.ball_features} numbers of norm at most {exact(domain.space.radius)}"
    lines = [f"- {name}: {column!r}" for name, column in list(domain.columns.items())[:most]]
    more = len(domain.columns) - most
    return "\n".join([*lines, f"- and {more} more"] if more > 0 else lines)
