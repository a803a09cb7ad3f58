"""What an evaluation says about a model in plain words: a function of the noisy counts, and free like every figure of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prepriv._text import printable
from prepriv.columns import Categorical
from prepriv.evaluation import intervals
from prepriv.evaluation.evaluation_plan import LOSS_BOUND
from prepriv.evaluation.figures import ACCURACY, Measured, mean_of_all
from prepriv.evaluation.groups import Difference, Group
from prepriv.evaluation.intervals import Figure
from prepriv.evaluation.less_noise_for import for_r2, for_recall
from prepriv.guarantees.printed import measured
from prepriv.release.quality import RARE_BESIDE, Quality
from prepriv.release.shares import GroupError, Share

_MOST_TOLD = 6  # differences between groups that are told in the summary
_NAMED_MORE = 3  # of other columns that could be groups, so many are named
_FEWER, _NAMED = 0.75, 0.995  # of the declared rows
_SURELY = 3.0  # deviations of noise
_LABELS = 4.0  # deviations of noise from which on labels are said to be missing: noise alone says so in fewer than 1 of 30,000 evaluations

if TYPE_CHECKING:
    from prepriv.evaluation.result import PrivateEvaluation  # which imports this


def quality_of(made: PrivateEvaluation) -> Quality:
    """How good the model is, beside the commonest class or the mean, in each class and group that was paid for."""
    plan, rows = made.plan, made.all_rows
    counted = "records" if plan.domain.unit is None else "units"
    apart = " that were set aside" if made.whole is not None else ""
    noise = ", with noise that protects them" if made.private else ""
    declared = "" if rows.known else "declared "  # the true number is private
    where = f"{plan.n:,} {declared}{counted}{apart}{_of_which(rows)}{noise}"
    if plan.domain.target is not None:
        error, r2 = (made.figures.get(name) for name in ("root mean squared error", "R2"))
        off, mean, ends = None if error is None else error.value, None, None
        if error is not None and error.low is not None and error.high is not None:
            ends = error.low, error.high
        if off is not None and r2 is not None and r2.value is not None and -1 < r2.value < 1:
            mean = off / math.sqrt(1 - r2.value)
        compared = None if r2 is None or r2.low is None or r2.high is None else (r2.low, r2.high)
        shown = r2 is not None and (r2.low or 0.0) > 0
        bound = plan.error_bound if plan.error_share < 1 else None
        absolute, residual = (_ends(made.figures.get(f)) for f in ("mean absolute error", "mean residual"))
        residuals = made.figures.get("mean residual")
        own = _error_of_groups(plan.measures)
        return Quality(
            where,
            between=tuple(_between_errors(made, own)),
            group_errors=() if own is None else tuple(_error(g, of[own]) for g, of in made.groups.items()),
            group_residuals=()
            if bound is not None or residuals is None
            else tuple(
                _error(name, group["mean residual"])
                for name, group in made.groups.items()
                if "mean residual" in group.figures
            ),
            of_number=True,
            error=off,
            mean_error=mean,
            mean_error_ends=None if mean is None else _ends_of_mean(rows, mean),
            error_ends=ends,
            absolute=absolute,
            residual=residual,
            residual_in_noise=residuals is None or (residuals.noise or 0.0) > (residuals.sampling or 0.0),
            mean_target=_mean_target(made),
            r2=None if r2 is None else r2.value,
            r2_ends=compared,
            beats_mean=shown,
            rows_enough=None if r2 is None or shown else intervals.rows_that_show(r2, rows.labelled[0]),
            least_r2=None if r2 is None or r2.value is None or shown else rows.least_r2,
            error_beside=_error_of_mean(rows),
            absolute_narrows=rows.narrower_beside_absolute_error,
            r2_takes=for_r2(rows),
            noise_hides=r2 is None or rows.noise_hides_r2,
            by=plan.by,
            error_bound=bound,
            largest_error=plan.error_bound,
            target_ends=(plan.domain.target.low, plan.domain.target.high),
            drafted=bool(plan.domain.drafts),
            measures=plan.measures,
            warning=_fewer(made),
            set_aside=made.whole is not None,
            perhaps_trained_on=made.perhaps_trained_on,
        )
    fewer = _fewer(made)
    recalls = [figure for name, figure in rows.figures.items() if name.startswith("recall of ")]
    groups = [(name, group.right) for name, group in made.groups.items()]
    balanced, scarce = rows.figures.get("balanced accuracy"), _rare(rows)
    return Quality(
        where,
        None if (right := rows.right) is None else _share("right", right),
        commonest(rows),
        tuple(_share(str(c), figure) for c, figure in zip(plan.domain.classes, recalls)),
        tuple(_share(name, figure) for name, figure in groups if figure is not None),
        scarce,
        tuple(_share(name, rows[f"precision of {name}"]) for name in scarce),
        None if balanced is None else _share("balanced accuracy", balanced),
        _recalls_of_groups(made, scarce),
        tuple(
            _share(name, group.figures["balanced accuracy"])
            for name, group in made.groups.items()
            if "balanced accuracy" in group.figures
        ),
        {g: most for g, rows_of in made.groups.items() if (most := commonest(rows_of, rows)) is not None},
        tuple(_between(made)),
        plan.by,
        measures=plan.measures,
        warning=fewer,
        set_aside=made.whole is not None,
        perhaps_trained_on=made.perhaps_trained_on,
        lead=lead_of(rows),
        apart=None if fewer else _apart(rows),
        off="" if fewer else _off(rows),
        several_commonest="confusion" in rows.counts and int(_perhaps_commonest(rows).sum()) > 1,
        loss=None if fewer else _ends(rows.figures.get("log loss")),
        loss_of_shares=None if fewer else _loss_of_shares(rows),
        group_apart={}
        if fewer
        else {g: told for g, rows_of in made.groups.items() if (told := _apart(rows_of)) is not None},
        scores_alone=None if fewer else _scores_alone(rows),
        recall_takes=for_recall(rows),
    )


def _ends(made: Figure | None) -> tuple[float, float, float] | None:
    """A figure and the ends of its interval; None where it was not measured, or refused."""
    if made is None or made.value is None or made.low is None or made.high is None:
        return None
    return made.value, made.low, made.high


def _loss_of_shares(rows: Measured) -> tuple[float, float, float] | None:
    """Log loss of answering every row with the share of each class by the noisy counts, cut as that of the model is, and the ends of its interval.

    None where no confusion matrix was measured, or noise hides the shares: then the interval, which takes their logarithms as known, would be too short.
    """
    if "confusion" not in rows.counts:
        return None
    counts = rows.counts["confusion"]
    sizes, most = np.maximum(counts.sum(axis=1), 0.0), math.log(len(counts))  # of equal shares
    losses = -np.log(np.maximum(sizes / max(sizes.sum(), 1.0), math.exp(-LOSS_BOUND))) / LOSS_BOUND
    each = np.repeat(losses, len(counts))
    made = _ends(
        intervals.scaled(intervals.mean_of("of shares", counts.ravel(), each, rows.noise), LOSS_BOUND)
    )
    if made is None or made[2] - made[1] > most / 2:
        return None
    value, low, high = (min(max(end, 0.0), most) for end in made)
    return value, low, high


def _mean_target(made: PrivateEvaluation) -> tuple[float, float, float] | None:
    """The mean target and the ends of its interval, in its unit; None where it was not released, or is too few rows beside the noise."""
    target = made.plan.domain.target
    if target is None or "target" not in made.counts:
        return None
    found = mean_of_all(made.plan, made.counts["target"])
    if found.value is None or found.low is None or found.high is None:
        return None
    at, low, high = (
        target.low + (target.high - target.low) * x for x in (found.value, found.low, found.high)
    )
    return at, low, high


def _error_of_mean(rows: Measured) -> float | None:
    """The root mean squared error of always predicting the mean, as it was released for R²; None where R² was refused."""
    r2 = rows.figures.get("R2")
    if r2 is None or r2.value is None:
        return None
    return math.sqrt(rows.squared_error_of_mean.value or 0.0) * (rows.plan.error_bound or 0.0)


def _ends_of_mean(rows: Measured, about: float) -> tuple[float, float] | None:
    """The interval of the error of the mean, around its value; None where the squared one has none."""
    squared, bound = rows.squared_error_of_mean, rows.plan.error_bound or 0.0
    if squared.low is None or squared.high is None:
        return None
    low, high = (math.sqrt(max(end, 0.0)) * bound for end in (squared.low, squared.high))
    return min(low, about), max(high, about)


def _apart(rows: Measured) -> str | None:
    """The first figure that does not depend on how common a class is and lies above chance, with its interval; None: none does."""
    chance = {"balanced accuracy": 1 / max(len(rows.plan.domain.classes), 2), "AUC": 0.5}
    for name, least in chance.items():
        figure = rows.figures.get(name)
        if figure is not None and figure.low is not None:
            _, value, interval, *_ = figure.cells
            if float(interval.partition(" to ")[0]) > least:  # as it is printed
                return f"{name} {value}, {interval}"
    return None


def _off(rows: Measured) -> str:
    """How far probabilities are shown to be off on average, wherever in their bins they lie; "" where they are not."""
    gap = rows.figures.get("calibration gap")
    if gap is None or gap.value is None or gap.low is None or gap.high is None:
        return ""
    counts, plan = np.maximum(rows.counts["scores"].sum(axis=1), 0.0), rows.plan
    half = float(np.diff([0.0, *plan.edges, 1.0]) @ counts) / (2 * max(1.0, float(counts.sum())))
    low, high = gap.low - half, gap.high + half
    if low <= 0.0 <= high:
        return ""
    classes = plan.domain.classes
    of = f'"{printable(str(classes[1]))}"' if len(classes) == 2 else "the predicted class"
    least, most = sorted((abs(low), abs(high)))
    return f"that of {of} is {100 * least:.2g} to {100 * most:.2g} points too {'low' if low > 0 else 'high'} on average"


def _scores_alone(rows: Measured) -> tuple[str, int] | None:
    """The rarer of two classes and its number of records by the noisy counts, where AUC was refused and the noise of the scores alone would, in most
    runs, leave so many records enough for it."""
    plan, refused = rows.plan, rows.figures.get("AUC")
    if refused is None or refused.value is not None or "confusion" not in rows.counts:
        return None
    alone = replace(plan, measures=("scores",))
    of_class = rows.counts["confusion"].sum(axis=1)
    rarer = int(np.argmin(of_class))
    noise = rows.noise * alone.noise / plan.noise
    if intervals.scarce_beside(float(of_class[rarer]), noise, len(plan.edges) + 1):
        return None
    return str(plan.domain.classes[rarer]), round(float(of_class[rarer]))


def _of_which(rows: Measured) -> str:
    """How many rows the figures are about, where some have no declared label beyond what noise explains: of what was released alone."""
    gaps, noise = rows.unlabelled
    label = "number" if rows.plan.domain.target is not None else "class"
    if gaps - _LABELS * noise <= (1 - _NAMED) * rows.plan.n:
        return ""
    return f", of which about {max(rows.labelled[0], 0.0):,.0f} have a declared {label} as their label"


def _fewer(made: PrivateEvaluation) -> str | None:
    """The sentence on labels of far fewer rows than were declared: of what was released alone."""
    plan, (labelled, noise) = made.plan, made.all_rows.labelled
    if labelled + _LABELS * noise >= _FEWER * plan.n:
        return None
    unit, kind = plan.domain.unit, "number" if plan.domain.target is not None else "class"
    asked = (
        f"are labels written as the schema declares them{'' if made.all_rows.known else ', and is the declared number right'}?"
        if unit is None
        else f"is --rows the number of `{printable(unit)}`?"
    )
    return (
        f"WARNING: only about {max(labelled, 0.0):,.0f} of the {plan.n:,} declared have a declared {kind} as their label: {asked} "
        "The numbers below are about those alone."
        + (" Where labels are truly missing, nothing has to be corrected." if unit is None else "")
    )


def commonest(rows: Measured, whole: Measured | None = None) -> Share | None:
    """The class with the most rows by the noisy counts, and its share of them; None where no count tells classes apart. whole: all rows,
    of whose commonest class a group is told, unless it is shown to have another."""
    if "confusion" in rows.counts:
        of_class = list(rows.counts["confusion"])
    elif "scores" in rows.counts and len(rows.plan.domain.classes) == 2:
        of_class = list(rows.counts["scores"].T)
    else:
        return None
    sizes = [float(counts.sum()) for counts in of_class]
    most = int(np.argmax(sizes))
    if whole is not None and (of_all := commonest(whole)) is not None:
        usual = [str(c) for c in rows.plan.domain.classes].index(of_all.name)
        if sizes[most] - sizes[usual] < _SURELY * rows.noise * math.sqrt(2 * of_class[0].size):
            most = usual
    rest = np.concatenate([counts for k, counts in enumerate(of_class) if k != most])
    figure = intervals.share("commonest", of_class[most], rest, rows.noise)
    return _share(str(rows.plan.domain.classes[most]), figure)


def lead_of(rows: Measured) -> Share | None:
    """How much more often predictions are right than the commonest class, whichever it is, is: of the same counts, so that records which are
    right either way add neither noise nor chance; and no further from 0 than both shares allow. None where no confusion matrix was measured."""
    if "confusion" not in rows.counts:
        return None
    counts, right = rows.counts["confusion"], np.eye(len(rows.plan.domain.classes))
    over = []
    for k in range(len(counts)):
        more = right.copy()
        more[k] -= 1.0  # of the records of this class, those that are not recognised
        over.append(intervals.mean_of("lead", counts.ravel(), more.ravel(), rows.noise))
    hits, most_of = rows.right, commonest(rows)
    if hits is None or most_of is None or None in (hits.value, most_of.value, *(f.value for f in over)):
        return Share("lead")
    most, perhaps = int(np.argmax(counts.sum(axis=1))), _perhaps_commonest(rows)
    low = min(figure.low or 0.0 for figure in over)
    high = max(figure.high or 0.0 for figure, is_it in zip(over, perhaps) if is_it)
    least, farthest = ((hits.low or 0.0) - (most_of.high or 0.0), (hits.high or 0.0) - (most_of.low or 0.0))
    return Share("lead", over[most].value, max(low, least), min(high, farthest))


def _perhaps_commonest(rows: Measured) -> NDArray[np.bool_]:
    """Which classes may be the commonest of all people, (classes,): noise and chance explain that they have fewer records."""
    sizes = rows.counts["confusion"].sum(axis=1)
    drawn = np.maximum(sizes, 0.0) + rows.noise**2 * len(sizes)
    most = int(np.argmax(sizes))
    return sizes[most] - sizes < _SURELY * np.sqrt(drawn + drawn[most])


def _rare(rows: Measured) -> tuple[str, ...]:
    """The classes with at most RARE_BESIDE times as many rows as the commonest one by the noisy counts, the rarest first; none where
    no confusion matrix tells them apart, or there are too few rows beside the noise to say how often one is recognised."""
    if "confusion" not in rows.counts:
        return ()
    of_class = rows.counts["confusion"].sum(axis=1)
    names = [str(c) for c in rows.plan.domain.classes]
    scarce = [k for k in np.argsort(of_class, kind="stable") if of_class[k] <= RARE_BESIDE * of_class.max()]
    return tuple(names[k] for k in scarce if rows[f"recall of {names[k]}"].value is not None)


def _recalls_of_groups(
    made: PrivateEvaluation, scarce: tuple[str, ...]
) -> tuple[tuple[str, tuple[Share, ...]], ...]:
    """Of each class, the rare ones first, its recall in each group."""
    if not made.groups or "confusion" not in made.all_rows.counts:
        return ()
    classes = [str(c) for c in made.plan.domain.classes]
    return tuple((name, _recalls(made.groups, name)) for name in dict.fromkeys((*scarce, *classes)))


def _recalls(groups: Mapping[str, Group], name: str) -> tuple[Share, ...]:
    """How many rows of this class are recognised in each group."""
    return tuple(_share(group, rows[f"recall of {name}"]) for group, rows in groups.items())


def _between(made: PrivateEvaluation) -> Iterator[str]:
    """How groups differ where the interval of a difference excludes zero: in right predictions, in how often each class is
    recognised, and in how often the last one is the answer. First those of which most is shown."""
    classes, by = [str(c) for c in made.plan.domain.classes], printable(str(made.plan.by))
    told = {"accuracy": "records, it is right for", ACCURACY: "records, it is right for"} | {
        f"recall of {c}": f'records that are truly "{printable(c)}", it recognises' for c in classes
    }
    if len(classes) == 2:
        told[f"share predicted {classes[1]}"] = f'records, it answers "{printable(classes[1])}" for'
    apart = sorted((d for d in made.differences if d.of in told and _stands_out(d)), key=_least, reverse=True)
    for d in apart[:_MOST_TOLD]:
        one, two = _distinct(*(made.groups[name].figures[d.of].value or 0.0 for name in (d.one, d.two)))
        yield (
            f'Of 100 {told[d.of]} {one} in "{printable(d.one)}" and {two} in "{printable(d.two)}" (`{by}`): more apart than noise explains, if nothing else was compared.'
        )
    yield from _rest(made, apart[:_MOST_TOLD])


def _error_of_groups(measures: tuple[str, ...]) -> str | None:
    """The error of a number that groups are told by; None: none was measured."""
    named = {"squared_error": "root mean squared error", "absolute_error": "mean absolute error"}
    return next((figure for measure, figure in named.items() if measure in measures), None)


def _between_errors(made: PrivateEvaluation, of: str | None) -> Iterator[str]:
    """How the errors of groups differ where the interval of a difference excludes zero: first those of which most is shown."""
    by = printable(str(made.plan.by))
    apart = sorted((d for d in made.differences if d.of == of and _stands_out(d)), key=_least, reverse=True)
    for d in apart[:_MOST_TOLD]:
        value, low, high = d.figure.value or 0.0, d.figure.low or 0.0, d.figure.high or 0.0
        more, fewer = (d.one, d.two) if value > 0 else (d.two, d.one)
        less, least, most = measured(*((value, low, high) if value > 0 else (-value, -high, -low)))
        yield (
            f'Predictions for records of "{printable(more)}" are off by {less} ({least} to {most}) more than those for "{printable(fewer)}" (`{by}`): '
            "more apart than noise explains, if nothing else was compared."
        )
    yield from _rest(made, apart[:_MOST_TOLD])


def _distinct(one: float, two: float) -> tuple[str, str]:
    """Two shares as numbers of 100, with a decimal where whole ones would be the same."""
    whole = f"{100 * one:.0f}", f"{100 * two:.0f}"
    return whole if whole[0] != whole[1] else (f"{100 * one:.1f}", f"{100 * two:.1f}")


def _stands_out(difference: Difference) -> bool:
    """Whether its interval excludes zero."""
    low, high = difference.figure.low, difference.figure.high
    return low is not None and high is not None and (low > 0 or high < 0)


def _least(difference: Difference) -> float:
    """How large the difference is at least, by its interval, which excludes zero."""
    return min(abs(difference.figure.low or 0.0), abs(difference.figure.high or 0.0))


def _clear(difference: Difference) -> float:
    """How far a difference stands out of its interval: figures have different units."""
    low, high = difference.figure.low or 0.0, difference.figure.high or 0.0
    return abs(difference.figure.value or 0.0) / max(high - low, 1e-300)


def _rest(made: PrivateEvaluation, told: Sequence[Difference]) -> Iterator[str]:
    """What follows the differences that were told: how many others stand out of the noise, of every figure that was compared."""
    by, compared = printable(str(made.plan.by)), len(made.differences)
    others = [d for d in made.differences if _stands_out(d) and d not in told]
    others.sort(key=_clear, reverse=True)
    if more := len(others):
        named = "; ".join(_plainly(made, d) for d in others[:_MOST_TOLD])
        first = ", the clearest first" if more > 1 else ""
        unnamed = f"; and {more - _MOST_TOLD:,} more" if more > _MOST_TOLD else ""
        yield (
            f"{more:,} {'more ' if told else ''}of the {compared:,} differences between groups of `{by}` stand{'' if more > 1 else 's'} out of the noise, "
            f"where one in twenty may by chance{first}: {named}{unnamed}."
        )
    if compared and not more and not told:
        yield f"No difference between the groups of `{by}` stands out of the noise."
    columns = made.plan.domain.columns
    further = [
        f"`{printable(str(c))}`" for c in columns if isinstance(columns[c], Categorical) and c != made.plan.by
    ]
    if further and made.plan.by is not None:
        many = f" and {len(further) - _NAMED_MORE:,} more" if len(further) > _NAMED_MORE else ""
        yield f"How it serves groups of other columns was not measured: {', '.join(further[:_NAMED_MORE])}{many}."


def _plainly(made: PrivateEvaluation, d: Difference) -> str:
    """A difference in plain words: what is compared, and how much of it each group has."""
    values = [made.groups[name].figures[d.of].value or 0.0 for name in (d.one, d.two)]
    one, two = _distinct(*values)
    where = f'in "{printable(d.one)}" and {{}} in "{printable(d.two)}"'
    if d.of.startswith("precision of "):
        named = printable(d.of.removeprefix("precision of "))
        return f'of 100 predictions of "{named}" {one} are right {where.format(two)}'
    if d.of.startswith("share predicted "):
        named = printable(d.of.removeprefix("share predicted "))
        return f'of 100 records {one} are predicted "{named}" {where.format(two)}'
    figures = [made.groups[name].figures[d.of] for name in (d.one, d.two)]
    first, second = (measured(f.value or 0.0, f.low or 0.0, f.high or 0.0)[0] for f in figures)
    if first == second:  # apart by less than the digits that each has
        first, second = (f"{value:.3g}" for value in values)
    return f"{printable(d.of)} is {first} {where.format(second)}"


def _error(name: str, figure: Figure) -> GroupError:
    return GroupError(name, figure.value, figure.low, figure.high)


def _share(name: str, figure: Figure) -> Share:
    return Share(name, figure.value, figure.low, figure.high)
