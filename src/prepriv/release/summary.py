"""What a report says first, for readers who know neither statistics nor privacy: the same on the page, in print, JSON and notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

from prepriv._text import printable
from prepriv.adjacency import n_is_public
from prepriv.columns import Numeric, bounds_in_words
from prepriv.domain import Domain
from prepriv.guarantees.drafts import of_draft, with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.in_words import AMOUNT, guesses_in_words, hardly_limits, promise
from prepriv.guarantees.notes import weak_claims
from prepriv.guarantees.printed import plain
from prepriv.guarantees.training_part import TrainingPart, training_on
from prepriv.plans.decision import decision_in_words
from prepriv.preprocessing.class_counts import ClassCounts, CountedClasses, share_among
from prepriv.recipes.automatic import NOISE_ALONE
from prepriv.release.advice import (
    below_the_mean_in_words,
    bent_in_words,
    codes_in_words,
    noise_in_words,
    one_number_in_words,
    quantile_in_words,
    quantile_of,
    straight_in_words,
    sums_in_words,
    sure_in_words,
    to_do,
    unit_probabilities_in_words,
)
from prepriv.release.quality import Quality
from prepriv.release.shares import Share
from prepriv.tables.written import DATES, span_of

if TYPE_CHECKING:
    from prepriv.guarantees.several_rows import RowsOfOne
    from prepriv.plans.plan import Plan
    from prepriv.release.report import Report  # which imports this

_NAMED = 10  # classes, or columns where they are many, that are named
_ALL_NAMED = 12  # columns at most, of which none is left out
TITLES = (
    "What it predicts",
    "How good it is",
    "For whom it fails",
    "What to do about it",
    "What it promises",
)


@dataclass(frozen=True)
class ReportSummary:
    """The first part of a report.

    Parameters
    ----------
    predicts : tuple of str
        What is predicted, of which data, and who declared them.
    good, fails, to_do : tuple of str
        How often it is right beside the commonest class or the mean; for whom it fails; what to do about it.
    promise : tuple of str
        What nobody can find out.
    quality : Quality, optional
        The numbers of the three. None: nothing was measured.
    several : tuple of RowsOfOne
        What the promise is worth for someone with several rows. None where a unit is declared.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> from prepriv.release.summary import ReportSummary
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=["ill", "well"], n=1000)
    >>> plan = prepriv.make_plan(domain, [], GradientDescent(Logistic()), epsilon=1.0, delta=1e-5)
    >>> print(ReportSummary.of(prepriv.Report.of(plan, private=True)).predicts[0])
    It predicts the label ("ill" or "well") from 2 columns: x0, x1.
    """

    predicts: tuple[str, ...]
    good: tuple[str, ...]
    fails: tuple[str, ...]
    to_do: tuple[str, ...]
    promise: tuple[str, ...]
    quality: Quality | None = None
    several: tuple[RowsOfOne, ...] = ()

    @staticmethod
    def of(report: Report) -> ReportSummary:
        """Say it of a report.

        Parameters
        ----------
        report : Report
            With or without a claim.

        Returns
        -------
        ReportSummary
        """
        from prepriv.guarantees.several_rows import rows_of_one  # which a fit does without
        from prepriv.release.coefficients import hardly_reached_in_words

        plan, found = report.plan, _quality(report)
        several = rows_of_one(_added_up(report.part, plan.domain), plan.delta)
        weighed = bool(plan.class_weight) or any(isinstance(p.step, ClassCounts) for p in plan.steps)
        noise = report.model is not None and report.model.noise_alone
        one = "" if report.model is None else one_number_in_words(report.model)
        alone = noise_in_words(plan.domain.classes, found) if noise else one
        said = decision_in_words(plan.class_weight, plan.domain.classes)
        good = (
            (
                "No score stands here. If the training set rows aside (`--holdout`), the report.html that it wrote holds the score. "
                "What `evaluate` measures later has a page of its own.",
            )
            if found is None
            else tuple(found.good())
        )
        if found is None and (most := _counted(report)) is not None:
            good += (
                f'Always predicting "{printable(most.name)}", the commonest class, would be right about {most} times in 100, '
                "by the noisy counts that weigh its predictions (in brackets the 95 % interval of their noise).",
            )
        if one:
            good = (f"{one.partition(':')[0]}, and so says nothing about the rows.", *good)
        return ReportSummary(
            (*_predicts(plan.domain, quantile_in_words(plan)), *((said,) if said else ()), *_of_what(report)),
            good,
            () if found is None else tuple(found.fails()),
            (
                *to_do(
                    found,
                    weighed=weighed,
                    weak=plan.private and plan.signal < NOISE_ALONE,
                    alone=alone,
                    claim=() if report.guarantee is None else weak_claims(report.guarantee.notes),
                    sums=_of_sums(plan, found),
                    below=_below_the_mean(report),
                ),
                *filter(
                    None,
                    [
                        hardly_reached_in_words(plan),
                        bent_in_words(plan),
                        straight_in_words(plan),
                        sure_in_words(plan),
                        unit_probabilities_in_words(plan),
                        codes_in_words(plan),
                    ],
                ),
            ),
            _promised(report, several),
            found,
            several,
        )

    @property
    def sections(self) -> list[tuple[str, tuple[str, ...]]]:
        """(title, sentences) of each part that has any."""
        parts = (self.predicts, self.good, self.fails, self.to_do, self.promise)
        return [(title, said) for title, said in zip(TITLES, parts) if said]

    def lines(self) -> Iterator[str]:
        """As text: a title, and its sentences indented."""
        for title, said in self.sections:
            yield title
            yield from (f"  {sentence}" for sentence in said)

    def to_html(self) -> str:
        """For a notebook: a paragraph for each part."""
        return "".join(f"<p><b>{title}.</b> {escape(' '.join(said))}</p>" for title, said in self.sections)

    def to_json(self) -> dict[str, Any]:
        """Plain data: the sentences, and the numbers in them."""
        parts = [{"title": title, "sentences": list(said)} for title, said in self.sections]
        told = {"parts": parts, "numbers": None if self.quality is None else self.quality.to_json()}
        if not self.several:
            return told
        each = [{"rows": s.rows, "right": s.right, "epsilon": plain(s.epsilon)} for s in self.several]
        return told | {"several_rows": each}


def _below_the_mean(report: Report) -> str:
    """`below_the_mean_in_words`. The winner of a choice has a part of its ε, and what another ε would leave it is not known from a file."""
    plan = report.plan
    if report.model is None or report.model.choice is None:
        return below_the_mean_in_words(plan)
    with training_on(TrainingPart(plan.n, 0.0, whole=plan.epsilon)):
        return below_the_mean_in_words(plan)


def _of_sums(plan: Plan, found: Quality | None) -> str:
    """Why sums of predictions may be off, unless it was measured that they are not; and how to measure that, where no whole errors were."""
    if found is not None and (
        found.sums_hold or (found.of_sums() and found.residual and found.residual[2] < 0)
    ):
        return ""  # or that they are too large, which nothing in the training makes likely
    return sums_in_words(plan, asked=found is None or not found.of_sums())


def _quality(report: Report) -> Quality | None:
    """Of a public table, where numbers are exact; otherwise what was measured privately."""
    told = report.evaluation or report.measured
    if told is None:
        return None
    found = replace(told.quality, quantile=quantile_of(report.plan))
    return replace(found, commonest=_counted(report)) if found.commonest is None else found


def _counted(report: Report) -> Share | None:
    """The commonest class by the noisy counts that were released with the model; None without them."""
    model = report.model
    counted = [] if model is None else [m.counts for m in model.maps if isinstance(m, CountedClasses)]
    if not counted or model is None:
        return None
    counts, at = counted[0], int(counted[0].argmax())
    (noise,) = (
        (p.noise_multiplier or 0.0) * (p.shift or 0.0)
        for p in report.plan.steps
        if isinstance(p.step, ClassCounts)
    )
    return Share(
        str(model.domain.classes[at]), float(counts[at] / counts.sum()), *share_among(counts, noise, at)
    )


def _listed(names: tuple[str, ...] | list[str], most: int = _NAMED) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(printable, names[:most])) + more


def _of_target(target: Numeric, quantile: str) -> str:
    """What is predicted, and between which bounds: of dates as dates. quantile: the one that a prediction is; "" of other models."""
    what = "a time" if target.written == "time" else "a date" if target.written in DATES else "a number"
    log = ", learned as its logarithm" * target.log
    log += ", so that a prediction is a median" * (target.log and not quantile)
    log += f", of which a prediction is {quantile}" if quantile else ""
    said = f"{what} from {bounds_in_words(target)}{log}"
    unit = span_of(target.written)
    return (
        said
        if unit == "number"
        else f"{said}, as a number of {unit}{' since 1970-01-01' if unit == 'days' else ''}"
    )


def _added_up(part: Guarantee | None, domain: Domain) -> list[Guarantee]:
    """What a claim adds up: the run and each draft of its schema; none without a claim."""
    return [] if part is None else [part, *(of_draft(d, domain) for d in domain.drafts)]


def _promised(report: Report, several: tuple[RowsOfOne, ...]) -> tuple[str, ...]:
    if report.guarantee is None:
        return ("No privacy is promised: this run used no noise, or noise for tests that can be reproduced.",)
    rows = _of_several_rows(several, report.guarantee, report.plan.delta)
    return (
        promise(report.guarantee, seen_with(report)),
        *filter(None, [rows, cap_in_words(report.receipt, report.plan.domain.unit)]),
    )


def _of_several_rows(several: tuple[RowsOfOne, ...], claim: Guarantee, delta: float) -> str:
    """What a claim is worth for someone with several rows; "" where a unit is declared."""
    from prepriv.guarantees.several_rows import rows_in_words

    return rows_in_words(several, delta, conditions=bool(claim.conditions))


def seen_with(report: Report) -> str:
    """What an attacker sees of all that the claim of a report covers."""
    scored = report.measured is not None and report.measured.whole is not None
    more = (["the score of its holdout"] if scored else []) + (
        ["its draft"] if report.plan.domain.drafts else []
    )
    return " and ".join([", ".join(["this model", *more[:-1]]), *more[-1:]])


def promised(
    part: Guarantee,
    domain: Domain,
    receipt: Mapping[str, Any] | None,
    what: str,
    *,
    n: int,
    delta: float,
    as_drafted: bool | None,
) -> list[str]:
    """What the page and the data of a description, of answers or of a sketch say about their claim, in sentences: the promise, what it is worth for
    someone with several rows, what else adds to it, and where columns and bounds come from.

    part: what the run itself claims, without the drafts of its domain. what: what was released, as "this sketch". n: the declared number of records. as_drafted: whether
    the schema, of which `domain` may be a part that is read otherwise, is as it was drafted (`Domain.as_drafted`).
    """
    claim = with_drafts(part, domain, delta, n)
    return [*bounded(claim, part, domain, receipt, what, delta), *origin(domain, as_drafted)]


def bounded(
    claim: Guarantee,
    part: Guarantee,
    domain: Domain,
    receipt: Mapping[str, Any] | None,
    what: str,
    delta: float,
) -> list[str]:
    """The first sentences of `promised`, which follow from the claim, its parts and the cap alone. claim: the whole."""
    from prepriv.guarantees.several_rows import rows_of_one  # which a look does without

    seen = f"{what} and the draft of its schema" if domain.drafts else what
    rows = _of_several_rows(rows_of_one(_added_up(part, domain), delta), claim, delta)
    more = cap_in_words(receipt, domain.unit, what) or "Other releases about the same people add to it."
    return [promise(claim, seen), *filter(None, [rows]), more]


def whose_rows(unit: str | None) -> str:
    """What a guess is about that a claim with this unit bounds."""
    return "one record" if unit is None else f"all rows of one `{printable(unit)}`"


def of_several(amounts: str, unit: str | None) -> str:
    """What amounts of a ledger allow about someone with several rows, and a space after it; "" where units are counted."""
    from prepriv.guarantees.several_rows import amounts_of_several  # which a look does without

    said = "" if unit is not None else amounts_of_several(amounts)
    return f"{said} " if said else ""


def cap_in_words(receipt: Mapping[str, Any] | None, unit: str | None, what: str = "this model") -> str:
    """What all uses of the data set may cost together, from the cap of the ledger: two or three sentences; "" without a ledger. unit: of the run."""
    cap = str((receipt or {}).get("cap", ""))
    said, each = (
        guesses_in_words(cap, whose_rows(unit)),
        ", of each period" if "for each period" in cap else "",
    )
    return said and (
        f"All uses that its ledger grants together, not {what} alone, may cost{each} what the cap of that ledger allows: {said}. "
        f"{of_several(cap, unit)}"
        f"{'That cap hardly limits anything: an attacker who sees all of it can be right nearly always. ' if hardly_limits(cap) else ''}"
        "Another ledger of the same people would add to it."
    )


def charged_earlier(report: Report) -> str:
    """Of what the ledger holds with this charge, how much was there before, and that the claim leaves it out; "" where nothing was, or
    the claim covers a draft."""
    claim, receipt = report.guarantee, report.receipt or {}
    total = dict(AMOUNT.findall(str(receipt.get("total", "")))).get("epsilon")
    if claim is None or total is None or report.plan.domain.drafts or receipt.get("sequence") == 1:
        return ""
    before = float(total) - claim.epsilon(report.plan.delta)
    if before < 1e-6:
        return ""
    return f"About epsilon {before:.4g} of that was charged before this run, to other uses of the data set. The claim of this page leaves them out."


def drafted_or_edited(domain: Domain, as_drafted: bool | None) -> str:
    """Whether a drafted domain is the one that was drafted, as far as its schema says it."""
    what = (
        "Columns, bounds, categories or classes" if domain.target is None else "Columns, bounds or categories"
    )
    if as_drafted is None:
        return f"{what} may have been edited since: the draft holds no hash of them."
    if as_drafted:
        return "They are as drafted, by the hash that the schema holds."
    return f"{what} were edited since the draft, by the hash that the schema holds."


def origin_of(domain: Domain) -> str:
    """Where bounds, categories and classes come from, as far as this is known."""
    return " ".join(origin(domain, domain.as_drafted))


BEGAN_AS_A_DRAFT = "The schema began as a private draft of the table itself, which the claim covers."
"""What is said where a drafted schema was edited, or where nothing shows that it was not."""


def origin(domain: Domain, as_drafted: bool | None) -> Iterator[str]:
    """The last sentences of `promised`: where columns and bounds come from, and who answers for them."""
    named = None if domain.declared_by is None else printable(domain.declared_by)
    if domain.drafts:
        declared = all(drafted.declared_label for drafted in domain.drafts)
        classes = domain.target is None
        what = "Columns and bounds" if declared or not classes else "Columns, bounds and classes"
        yield (
            f"{what} were drafted privately from the table itself, which the claim covers."
            if as_drafted
            else BEGAN_AS_A_DRAFT
        )
        yield f"{drafted_or_edited(domain, as_drafted)} {named or 'Whoever ran it'} answers for that."
        if declared:
            yield f"The {'classes of the label' if classes else 'bounds of the target'} were declared, and the draft spent nothing on them."
    else:
        counted, public = "records" if domain.unit is None else "units", n_is_public(domain.adjacency)
        what = (
            f"Columns{', bounds and classes' if domain.classes else ' and bounds'}"
            if public
            else (f"Columns, bounds{', classes' if domain.classes else ''} and the number of {counted}")
        )
        yield (
            f"{what} were declared by {named or 'whoever ran it'}. This run did not read them off the data. Only they can say whether someone did before."
        )
        if public:
            yield f"The number of {counted} is public under this adjacency, declared or counted off the table."


def set_aside(report: Report) -> int | None:
    """How many records coins set aside to measure on, where that is public."""
    return declared_aside(report) if n_is_public(report.plan.domain.adjacency) else None


def declared_aside(report: Report) -> int | None:
    """How many of the declared records the plan sets aside: those that coins chose, or about so many where that is not public."""
    measured = report.measured
    tested = getattr(getattr(measured, "plan", None), "n", None)
    return tested if measured is not None and measured.whole is not None and isinstance(tested, int) else None


def _predicts(domain: Domain, quantile: str) -> Iterator[str]:
    label = f"`{printable(domain.label)}`" if domain.label else "the label"
    if domain.target is not None:
        what = f"{label}, {_of_target(domain.target, quantile)},"
    elif 0 < len(domain.classes) <= _NAMED:
        *first, last = (f'"{printable(str(c))}"' for c in domain.classes)
        what = f"{label} ({', '.join(first)} or {last})"
    else:
        what = f"{label} ({len(domain.classes)} classes)"
    if domain.is_ball:
        yield f"It predicts {what} from rows of {domain.ball_features} numbers."
        return
    names = [str(name) for name in domain.columns]
    yield f"It predicts {what} from {len(names):,} column{'s' if len(names) > 1 else ''}: {_listed(names, _ALL_NAMED if len(names) <= _ALL_NAMED else _NAMED)}."
    if domain.target is not None:
        yield "A target outside these bounds counts as the nearer bound."


def _of_what(report: Report) -> Iterator[str]:
    domain, receipt = report.plan.domain, report.receipt or {}
    whose = "records" if domain.unit is None else f"units (`{printable(domain.unit)}`)"
    of = (
        f' of the data set "{printable(receipt["dataset"])}", as its ledger calls it'
        if receipt.get("dataset")
        else ""
    )
    tested = set_aside(report)
    if tested is None:
        yield f"It was trained on {report.plan.n:,} declared {whose}{of}."
    else:
        rows = f"{report.plan.n + tested:,} declared {whose}{of}"
        yield f"Of the {rows}, coins chose {report.plan.n:,} to train on and {tested:,} to measure on."
    if domain.unit is not None:
        most = domain.rows_per_unit
        assert most is not None
        yield f"At most {most:,} row{'s' if most > 1 else ''} of each {'are' if most > 1 else 'is'} read."
    if not of:
        yield "The data set has no name here, since no ledger was charged."
    yield from origin(domain, domain.as_drafted)
    if domain.declared_by is None:
        yield "Nobody is named who answers for the schema. Whoever writes it can enter a name, as `declared_by:`."
