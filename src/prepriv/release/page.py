"""The report as one page that needs nothing else: no script, nothing loaded. Every word follows from what a Report holds."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from importlib import resources
from itertools import groupby
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._text import printable
from prepriv._version import own_version
from prepriv.columns import Categorical, Column, Numeric, bounds_in_words, middle_in_words
from prepriv.domain import Domain
from prepriv.guarantees.gaussian import gdp_mu
from prepriv.guarantees.in_words import AMOUNT, attacker, delta_in_words, rounded_amounts
from prepriv.guarantees.printed import exact, places, separated, up
from prepriv.plans.plan import Plan
from prepriv.plans.price import Price
from prepriv.preprocessing.maps import write_map
from prepriv.release import pictures
from prepriv.release.audited import audit_fragment
from prepriv.release.both_accounts import said_of
from prepriv.release.coefficients import (
    APART,
    EACH_HAS_A_LABEL,
    STANDS_OUT,
    TELL_THE_SAME,
    UNLABELLED,
    ComparedWeights,
    as_compared,
    by_chance,
    not_with_zero,
    rows_are_centred,
)
from prepriv.release.model import Model
from prepriv.release.noisy_fills import fills_on_page, noisy_fills
from prepriv.release.proofs import proofs_of_report
from prepriv.release.quality import Quality
from prepriv.release.report import TITLES, Report
from prepriv.release.review import asked_of_curator, review, shown_by_verify
from prepriv.release.shape_picture import shape_picture
from prepriv.release.shapes import flat_in_words
from prepriv.release.shares import lowest
from prepriv.release.summary import cap_in_words, charged_earlier, origin_of, seen_with, set_aside

_DATA = re.compile(r'(<pre id="data">)(.*?)(</pre>)', re.S)
_MOST_WEIGHTS, _MOST_SHAPES = 20, 12
_MOST_HIDDEN = 5  # columns of which categories are left out
_MOST_COLUMNS, _MOST_VALUES = 100, 50  # that are listed


def page(report: Report) -> str:
    """The whole page."""
    plan, guarantee = report.plan, report.guarantee
    curves: tuple[str, ...] = ()
    if guarantee is not None:
        f, epsilon = guarantee.tradeoff, guarantee.epsilon(plan.delta)
        curves = (pictures.curve(f), pictures.deltas(f, epsilon, plan.delta))
    shares = [] if guarantee is None or plan.guarantee is None else list(plan.guarantee.breakdown)
    public = getattr(report.evaluation, "by_epsilon", ())
    without = getattr(report.evaluation, "accuracy_without_privacy", None)
    compared = None if report.model is None else as_compared(report.model)
    named = weights_by_name(plan, report.model, compared)
    drawn, of = largest_shapes(report.model)
    return _render(
        "report.html.j2",
        style=Markup(pictures.page_style()),
        claim=Markup(_claim(report)),
        label=report.plan.domain.label,
        promised=guarantee is not None,
        summary=[(title, [pictures.coded(one) for one in said]) for title, said in report.summary.sections],
        hundreds=Markup(pictures.of_hundred(_hundreds(report.summary.quality))),
        plan=plan,
        columns=_columns(plan.domain),
        origin=origin_of(plan.domain),
        more_columns=max(0, len(plan.domain.columns) - _MOST_COLUMNS),
        titles=TITLES,
        paid=report.paid,
        shares=Markup(pictures.shares(shares) if all(0 <= s <= 1 for _, s in shares) and shares else ""),
        prices=in_words(report.prices),
        curves=[Markup(c) for c in curves],
        evaluation=report.evaluation,
        accuracies=Markup(pictures.accuracies(public, without) if public else ""),
        measured=Markup(report.measured.fragment() if report.measured is not None else ""),
        weights=Markup(
            pictures.weights([(name, w) for name, w, _ in named], [band for *_, band in named])
            if named
            else ""
        ),
        noise_of_weights=_noise_of_weights(
            None if compared is None else compared[1],
            0 if report.model is None else report.model.weights[:-1].size,
            _of_categories(plan.domain, None if compared is None else compared[2]),
            ""
            if report.model is None or rows_are_centred(plan, report.model.maps)
            else not_with_zero(report.model),
        )
        + fills_on_page(() if report.model is None else noisy_fills(plan, report.model.maps)),
        shapes=[Markup(one) for one in drawn],
        shapes_of=of,
        flat=flat_in_words(plan) if drawn else "",
        speaks_for=_speaks_for(plan, report.model),
        noise=noise_elsewhere(plan) if guarantee is not None else (),
        left=left(plan, report.model, measured=report.measured is not None),
        died=died(plan),
        artifact=report.artifact,
        shown=shown_by_verify(report),
        asked=[pictures.coded(one) for one in asked_of_curator(report)],
        receipt=report.receipt,
        audited=Markup(audit_fragment(plan, report.audited)) if report.audited is not None else "",
        review=[(question, pictures.coded(answer)) for question, answer in review(report)],
        proofs=proofs_of_report(report) if guarantee is not None else (),
        theorems=_by_file,
        second=said_of(report) if guarantee is not None else None,
        json=report.text(),
        version=own_version(),
    )


def _claim(report: Report) -> str:
    """The part of the page that states the claim."""
    words = attacker(report.guarantee, seen_with(report)) if report.guarantee is not None else ()
    return _render(
        "claim.html.j2",
        guarantee=report.guarantee,
        attacker=words,
        plan=report.plan,
        measured=report.measured,
        choice=report.model.choice if report.model is not None else None,
        claims=_added_up(report),
        plainly=_added_plainly(report),
        receipt=report.receipt,
        tested=set_aside(report),
        left_then=rounded_amounts(left_of(report.receipt), left=True),
        whole=cap_in_words(report.receipt, report.plan.domain.unit),
        delta_words=delta_in_words(
            report.plan.delta, report.plan.n, "record" if report.plan.domain.unit is None else "unit"
        ),
        earlier=charged_earlier(report),
        rounded=rounded_amounts,
        up=up,
        exact=exact,
        separated=separated,
    )


def _columns(domain: Domain) -> list[tuple[str, str, str, str]]:
    """(name, kind, bounds or categories, what an empty cell becomes) of each declared column, and of the label."""
    said = [(str(name), *_declared(column)) for name, column in [*domain.columns.items()][:_MOST_COLUMNS]]
    if not said:
        return []
    label = domain.label or "the label"
    if domain.target is not None:
        return [*said, (label, "to predict: a number", _bounds(domain.target), "")]
    return [*said, (label, "to predict: a class", _listed_values(domain.classes), "")]


def _declared(column: Column) -> tuple[str, str, str]:
    """(kind, bounds or categories, what an empty cell becomes)."""
    if isinstance(column, Numeric):
        empty = "is imputed" if column.missing == "impute" else f"counts as {middle_in_words(column)}"
        return column.written, _bounds(column), empty
    if isinstance(column, Categorical):
        return "category", _listed_values(column.categories), "a category of its own"
    return "text", f"{column.features:,} numbers", "all zeros"


def _bounds(column: Numeric) -> str:
    """With all digits: others read off this line what was declared."""
    return (
        f"{exact(column.low)} to {exact(column.high)}"
        if column.written == "number"
        else bounds_in_words(column)
    )


def _listed_values(values: Sequence[Any]) -> str:
    more = f" and {len(values) - _MOST_VALUES:,} more" if len(values) > _MOST_VALUES else ""
    return ", ".join(map(str, values[:_MOST_VALUES])) + more


def left_of(receipt: Mapping[str, Any] | None) -> str:
    """What was left of the cap after a charge, as the ledger writes amounts; "" where the receipt does not say."""
    cap, total = (AMOUNT.findall((receipt or {}).get(key, "")) for key in ("cap", "total"))
    pairs = list(zip(cap, total))
    if not pairs or any(a[0] != b[0] for a, b in pairs):
        return ""
    return ", ".join(
        f"{name} {max(Decimal(0), Decimal(of) - Decimal(spent)):f}" for (name, of), (_, spent) in pairs
    )


def _added_up(report: Report) -> list[tuple[str, str, str]]:
    """(what, ε, δ) of what the claim adds up where a draft made the domain, and of all; nothing elsewhere."""
    told = report.claims
    if told is None or report.guarantee is None or report.part is None:
        return []
    delta = report.plan.delta
    lines = [("this run", up(report.part.epsilon(delta), 4), exact(delta))]
    for draft in told["drafts"]:
        no_classes = draft.get("declared_label") or report.plan.domain.target is not None
        of = "columns and bounds" if no_classes else "columns, bounds and classes"
        named = f"the private draft of {of}, over {draft['rows']:,} declared {'units' if draft.get('unit') else 'records'}"
        lines.append((named, up(draft["guarantee"]["epsilon"], 4), exact(draft["delta"])))
    return [
        *lines,
        (
            f"all of it, for one {_protected(report.plan.domain)} that is in every one of these tables",
            up(report.guarantee.epsilon(delta), 4),
            exact(delta),
        ),
    ]


def _protected(domain: Domain) -> str:
    return "record" if domain.unit is None else f"`{printable(domain.unit)}`"


def _added_plainly(report: Report) -> str:
    """How the ledger adds what the claim adds up, of ε: "0.2 + 1 = 1.2 of 2"; "" where it holds other charges, too, or counts otherwise, or
    where a draft was charged to none."""
    receipt = report.receipt or {}
    (total, cap) = (
        dict(AMOUNT.findall(str(receipt.get(key, "")))).get("epsilon") for key in ("total", "cap")
    )
    *parts, _ = _added_up(report) or [("", "", "")]
    epsilons = [epsilon for _, epsilon, _ in (*parts[1:], *parts[:1])]
    if total is None or cap is None or not parts or any(d.ledger is None for d in report.plan.domain.drafts):
        return ""
    whole = up(float(total), 4)
    if up(round(sum(map(float, epsilons)), 9), 4) != whole:  # the ledger holds other charges, too
        return ""
    return f"{' + '.join(epsilons)} = {whole} of {up(float(cap), 4)}"


def _by_file(theorems: Sequence[str]) -> list[tuple[str, str]]:
    """(file, its theorems) of "file: theorem", in the order given."""
    named = [one.split(": ", 1) for one in theorems]
    return [
        (file, ", ".join(name for of, name in named if of == file))
        for file in dict.fromkeys(of for of, _ in named)
    ]


def _hundreds(found: Quality | None) -> list[tuple[str, float, float, float]]:
    """(what, of 100, least, most) to draw: predictions that are right, the commonest class, recalls, groups."""
    if found is None:
        return []
    named = [("right", found.right)]
    if found.commonest is not None:
        named.append((f"always {found.commonest.name}", found.commonest))
    if found.rare and found.balanced is not None:
        named.append(("balanced accuracy", found.balanced))
    named += [(f"recall of {s.name}", s) for s in lowest(found.recalls)]
    named += [(f"precision of {s.name}", s) for s in lowest(found.alarms)]
    for of, shares in found.group_recalls:
        named += [(f"{s.name}: recall of {of}", s) for s in lowest(shares) if of in found.rare]
    named += [(f"right for {s.name}", s) for s in lowest(found.groups)]
    return [
        (name, s.value, s.value if s.low is None else s.low, s.value if s.high is None else s.high)
        for name, s in named
        if s is not None and s.value is not None
    ]


def data_of(text: str) -> Any:
    """What a saved page or report.json holds as data. Raises ValueError if it is neither, or holds a NaN, which none of them does."""
    found = _DATA.search(text)
    return json.loads(html.unescape(found[2]) if found else text, parse_constant=_no_number)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def with_data(text: str, data: str) -> str:
    """A page with other data, as text, in place of its own."""
    return with_block(text, escape(data))


def with_block(text: str, block: str) -> str:
    """The same with a block of data as it stands in a page, marks and all."""
    return _DATA.sub(lambda found: f"{found[1]}{block}{found[3]}", text, count=1)


def block_of(text: str) -> tuple[str, int]:
    """The block of data of a page as it stands there, marks and all, and how many lines stand before its first one; of a text without one all of it."""
    found = _DATA.search(text)
    return (text, 0) if found is None else (found[2], text.count("\n", 0, found.start()))


def noise_elsewhere(plan: Plan) -> tuple[tuple[str, str], ...]:
    """(ε, how many times the noise of training) of the same plan at half, twice and four times its ε, where all of it is
    Gaussian; nothing of another plan."""
    if plan.guarantee is None or plan.guarantee.mu is None:
        return ()
    others = [plan.epsilon * times for times in (0.5, 2.0, 4.0)]
    mu = gdp_mu(plan.epsilon, plan.delta)
    return tuple((exact(float(f"{e:.4g}")), places(mu / gdp_mu(e, plan.delta), 2)) for e in others)


def in_words(table: Sequence[Price]) -> list[str]:
    """One sentence a step: how it was paid for, and what each other way would have cost."""
    sentences = []
    for step, group in groupby(table, key=lambda p: p.step):
        ways = list(group)
        said = [f"{step} is paid for by {TITLES[p.way]} ({p.note}): {_cost(p)}." for p in ways if p.chosen]
        said += [
            f"{TITLES[p.way].capitalize()} instead: {_cost(p) if p.open else f'not available, {p.note}'}."
            for p in ways
            if not p.chosen
        ]
        sentences.append(" ".join(said))
    return sentences


def _cost(price: Price) -> str:
    noise = f"training needs {places(price.factor)} times the noise it would need if the step were free"
    if price.factor <= 1:
        noise = "training needs no more noise"
    if price.epsilon is None or not math.isfinite(price.epsilon):
        return noise
    return f"{noise}. If that noise were left out, all that runs would have ε = {up(price.epsilon, 4)}"


def weights_by_name(
    plan: Plan, model: Model | None, compared: ComparedWeights | None
) -> list[tuple[str, float, float]]:
    """The largest weights of a model whose columns stay apart, by column (and class, of several outputs), each with twice its noise;
    none of any other.

    Those of columns and categories that were declared come first, and those of other and missing cells only where they stand out of
    twice their noise. Categories that perhaps no record has, by their released share, are left out, and so are numbers whose gaps are filled by one with much noise.
    """
    if model is None or compared is None:
        return []
    names = next((p.before.names for p in reversed(plan.steps) if p.before.names), plan.space.names)
    extra = len(model.weights) - 1 - len(names)  # besides: a constant, and the bias
    kinds = {str(write_map(m)["map"]) for m in model.maps}
    if not names or extra not in (0, 1) or not kinds <= APART:
        return []
    ends = _outputs(model)
    weights, noise, perhaps_empty = compared
    noisily_filled = {one.column for one in noisy_fills(plan, model.maps) if not one.small}
    known = noise is not None and rows_are_centred(plan, model.maps)
    bands = STANDS_OUT * noise[: len(names)] if noise is not None and known else np.zeros(len(names))
    pairs = [
        (f"{n}{end}", float(w), float(band))
        for n, row, band, away in zip(names, weights, bands, perhaps_empty)
        for end, w in zip(ends, row)
        if not away and n not in noisily_filled
    ]
    gaps = tuple(f"{cell}{end}" for cell in ("=other", "=missing") for end in ends)
    pairs.sort(
        key=lambda pair: (
            abs(pair[1]) <= pair[2],
            abs(pair[1]) <= pair[2] and pair[0].endswith(gaps),
            -abs(pair[1]),
        )
    )
    return pairs[:_MOST_WEIGHTS]


def _of_categories(domain: Domain, perhaps_empty: NDArray[np.bool_] | None) -> str:
    """What the page says about weights of categories, and which columns have some that it leaves out; "" for a domain without a category."""
    if not any(isinstance(column, Categorical) for column in domain.columns.values()):
        return ""
    hidden, start = list[str](), 0
    for name, column in domain.columns.items():
        at = slice(start, start := start + column.width)
        if isinstance(column, Categorical) and perhaps_empty is not None:
            count = int(perhaps_empty[at][: len(column.categories)].sum())
            hidden += [f'{count:,} of "{printable(str(name))}"'] * (count > 0)
    if not hidden:
        return f"Other and missing cells that perhaps no record has, by their released share, are not shown. {UNLABELLED} "
    more = f" and those of {len(hidden) - _MOST_HIDDEN:,} more columns" if len(hidden) > _MOST_HIDDEN else ""
    return (
        f"Categories whose released share is within three times its noise are not shown: {', '.join(hidden[:_MOST_HIDDEN])}{more}. Perhaps no record has one, perhaps "
        f"many do, so such a column can move predictions more than all that is shown. {UNLABELLED} "
    )


def _noise_of_weights(noise: Floats | None, count: int, categories: str, not_centred: str) -> str:
    """What the page says about the noise of so many weights. categories: what it says about theirs; not_centred: why they do not
    compare with 0, "" where they do."""
    if noise is None:
        return "Weights are noisy, and their noise is not known here. Large ones may be noise, too."
    if not_centred:
        return f"{not_centred} Noise of training alone moves a weight by up to about ±{noise.max():.2g} as a rule."
    if not noise.any():
        return ""
    least, most = f"{noise.min():.2g}", f"{noise.max():.2g}"
    return (
        "Noise of training moves a weight by "
        f"{f'about ±{most}' if least == most else f'about ±{least} to ±{most}, the less the further its column is known to vary'}. {categories}{TELL_THE_SAME.format('')} {EACH_HAS_A_LABEL} What scales or a sketch learned has noise of its own, by which weights of two fits can differ by more. "
        "A line shows twice the noise in both directions. Grey weights may be noise, or effects that it hides, "
        f"and {by_chance(count)} further out."
    )


def largest_shapes(model: Model | None) -> tuple[list[str], int]:
    """(pictures of the shape functions that reach farthest, how many there are) of an additive model; none of any other."""
    if model is None:
        return [], 0
    try:
        found = model.shapes()
    except ValueError:
        return [], 0
    named = [
        (float(np.ptp(s.values[:, k])), k, replace(s, column=f"{s.column}{end}"))
        for s in found
        for k, end in enumerate(_outputs(model))
    ]
    named.sort(key=lambda one: -one[0])
    return [shape_picture(shape, k) for _, k, shape in named[:_MOST_SHAPES]], len(named)


def _outputs(model: Model) -> list[str]:
    """What to write after a column for each output: the class it speaks for, where there are several."""
    return [""] if model.weights.shape[1] == 1 else [f" → {c}" for c in model.domain.classes]


def _speaks_for(plan: Plan, model: Model | None) -> str:
    if plan.domain.target is not None:
        return "a larger number"
    return (
        str(plan.domain.classes[-1])
        if model is None or model.weights.shape[1] == 1
        else "the class that is named"
    )


def left(plan: Plan, model: Model | None, *, measured: bool = False) -> str:
    """What may leave, in words."""
    maps = [p.step.name for p in plan.steps if p.step.paid.leaves]
    shape = "" if model is None else " ({} by {})".format(*model.weights.shape)
    kept = [f"the weights of {plan.learner.name}{shape}", "the declared domain and this plan"]
    if maps:
        kept.insert(0, f"the fitted or declared maps of {', '.join(maps)}")
    tests = [p.test_name for p in plan.steps if p.test is not None]
    if tests:
        kept.append(f"one bit, with noise, of {', '.join(tests)}")
    if plan.domain.drafts:
        kept.append("the private draft of the domain")
    if measured:
        kept.append("the private measurement, with noise")
    return "; ".join(kept)


def died(plan: Plan) -> str:
    """What was computed of private records and never left."""
    gone = [p.step.name for p in plan.steps if not p.step.paid.leaves]
    kept = ["the records", "their encoded rows", "every sum before its noise was added"]
    return ", ".join([*kept, *(f"what {name} was fitted to" for name in gone)])


def _render(name: str, **values: Any) -> str:
    around = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, finalize=_as_text)
    return around.from_string(_file(name)).render(**values)


def _file(name: str) -> str:
    return resources.files("prepriv.release").joinpath(name).read_text(encoding="utf-8")


def _as_text(value: Any) -> Any:
    plain = isinstance(value, str) and not isinstance(value, Markup)  # our own pictures are markup
    return printable(value, keep="\n") if plain else value
