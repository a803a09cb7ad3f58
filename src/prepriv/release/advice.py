"""What to do about what was measured of a model: sentences for its report."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from prepriv._callers import callers_level
from prepriv.columns import Categorical, Numeric
from prepriv.guarantees.less_noise import MOST_NAMED, larger_epsilon
from prepriv.guarantees.printed import exact, measured_alone, up
from prepriv.learners.targets import TargetLoss
from prepriv.preprocessing.homogenize import Homogenize
from prepriv.preprocessing.scale import StandardScaler
from prepriv.recipes.automatic import WeakSignal
from prepriv.recipes.regression import curved_from, quantile_clip, typical_norm
from prepriv.release.quality import Quality, option_of
from prepriv.release.shares import MOST, Share, first_of, in_quotes

if TYPE_CHECKING:
    from prepriv.plans.plan import Plan
    from prepriv.release.model import Model

_NEAR = 0.05  # a share of the distance of the bounds of a target: half of what is said, as the score of average rows is known up to noise
_NEARLY_ALL = 0.99  # of the predictions right, or of the variance of a target: with so much, a column may hold the answer


class NoiseAlone(UserWarning):
    """What a training released looks like noise alone: its noisy sums, or all slopes of a target, which are then drawn to 0."""


_ALL_CLEAR = "Nothing in these numbers asks for a change."
_IF_NOT_TRAINED_ON = "These numbers ask for no change only if the model was not trained on the test rows: the curator can say whether it was."
_NO_MORE = "What was released does not show that the model is more than noise"
_SAYS_WHICH = "`prepriv.validate(domain, X, y)` (`prepriv validate DATA --schema S.yaml`) says which, to the curator alone."


def noise_in_words(classes: Sequence[Any], found: Quality | None = None, *, in_python: bool = False) -> str:
    """What noisy sums that look like noise alone may mean. classes: as declared; no label was looked at. found: what was measured of the model, which may
    show more; "" where it is shown to beat the commonest class. in_python: names tools of scikit-learn that number classes, which no command uses."""
    if found is not None and found.beats_the_commonest:
        return ""
    if found is not None and found.apart is not None:
        where = "The measurement shows that" if found.measures else "On the rows that were measured"
        who = "its probabilities tell" if found.apart.startswith("AUC") else "it tells"
        return f"What training released does not stand out of its noise by itself. {where} {who} the classes apart."
    measured = ""
    if found is not None and found.warning is None:  # a warning names what nothing was measured of
        measured = f", nor does what was measured{'' if found.by is None else ' of all records'}"
    if found is not None and _has_declared_labels(found):
        return f"{_NO_MORE}{measured}. The rows may say too little at this ε."
    tools = _tools_in_words(classes) if in_python else ""
    first = (
        f"{_NO_MORE}. It may still be good: measure it before you use it or throw it away. Otherwise the rows"
        if found is None
        else f"{_NO_MORE}{measured}. The rows may"
    )
    return f"{first} say too little at this ε, or no label is a declared class ({first_of([str(name) for name in classes])}). {tools}{_SAYS_WHICH}"


def _has_declared_labels(found: Quality) -> bool:
    """Whether it is shown of the table of the training: predictions for rows that it set aside are right."""
    return found.set_aside and found.right is not None and found.right.floor > 0


def _tools_in_words(classes: Sequence[Any]) -> str:
    """Which tools of scikit-learn number classes; "" where they are numbered."""
    if [str(name) for name in classes] == [str(k) for k in range(len(classes))]:
        return ""
    return (
        "VotingClassifier, StackingClassifier, BaggingClassifier, OneVsRestClassifier and cross_val_predict with predict_proba number the "
        f"classes before they fit: for them declare classes=list(range({len(classes)})) and give such labels. "
    )


def one_number_in_words(model: Model) -> str:
    """That a regression answers one number for every row, which its released weights show: its slopes were drawn to 0 (`plans/shrink.py`).
    Empty of any other model."""
    target = model.domain.target
    if target is None or not model.declared.private or model.weights[:-1].any():
        return ""
    share = (np.clip(model.weights[-1:, 0], -1.0, 1.0) + 1.0) / 2.0
    return (
        f"The model answers one number for every row, {float(target.numbers(share)[0]):.4g}: what it learned of the columns was no larger than the "
        "noise of training, so all slopes were drawn to 0. It is not better than the mean. Use more records, fewer columns or a larger ε."
    )


HELD = 100  # s from which on R² of a number is hardly ever below -.01 (docs/regression.md)
_BELOW = (
    (3, 105, 132),
    (10, 89, 126),
    (30, 75, 165),
    (HELD, 29, 192),
)  # of runs, benchmarks/regression_floor.py --grid


# s times the share that a target's standard deviation is of the distance of its bounds: benchmarks/wide_bounds.py
_SPREAD_HELD = 20  # from which on hardly any run was worse than the mean
_SPREAD_TOLD = 0.02  # share from which on it is said
_SPREAD_WARNED = 0.05  # share from which on a fit warns of it
_SPREAD_RUNS = ((5, 122, 191), (_SPREAD_HELD, 23, 192), (math.inf, 1, 141))  # (up to which, worse, runs)


def below_the_mean_in_words(plan: Plan, *, often: bool = False) -> str:
    """How often a model of a number was worse than its mean at such a budget, and what more it takes. Empty of classes, and where it is hardly ever so.

    often: empty, too, where it is so of targets alone that are nearly all the same.
    """
    target = plan.domain.target
    if target is None or not plan.private:
        return ""
    counted = "records" if plan.domain.unit is None else "units"
    s = float(f"{plan.signal:.2g}")
    if plan.signal >= HELD:
        share = _SPREAD_HELD / plan.signal
        if share < (_SPREAD_WARNED if often else _SPREAD_TOLD):
            return ""
        part = f"{measured_alone(100 * share, 2)} % of the distance of its bounds"
        least = part if target.log else f"{measured_alone(share * (target.high - target.low), 2)} ({part})"
        (few, below, runs), (_, some, more), (_, hardly, rest) = _SPREAD_RUNS
        return (
            f"The model can be worse than the mean, answered for every row, unless the standard deviation of {'the logarithm of ' * target.log}the number is {least} or more. s ({counted} times budget) is {s:g} here, and "
            f"that share of it would be {_SPREAD_HELD}. On tables we measured, the default recipe was worse in {below} of {runs} runs with less than {few}, in {some} of {more} with up to {_SPREAD_HELD}, and in {hardly} of {rest} with more. "
            "Narrower bounds, if you know them without the table, help for nothing; so do a larger ε and fewer columns."
        )
    below, runs = next((below, runs) for most, below, runs in _BELOW if plan.signal < most)
    from prepriv.guarantees.training_part import divided, names_none, price_of, table_of  # of a choice

    enough = price_of(larger_epsilon(HELD / plan.signal, plan.epsilon, plan.delta))
    named = (
        f"which is about ε = {enough:g}{' for the whole choice' * divided()} here"
        if enough <= MOST_NAMED
        else f"which is about {float(up(table_of(math.ceil(plan.n * HELD / plan.signal)), 2)):,.0f} {counted} here"
    )
    if names_none():  # of a candidate whose others are not known here
        named = "of which a larger ε for the whole choice leaves more"
    return (
        f"At this ε a model of a number can be worse than the mean, answered for every row: on tables we measured the default recipe was so in {below} of {runs} runs "
        f"with such an s ({counted} times budget), which is {s:g} here. From s = {HELD} on, {named}, it was so in 2 of 345. "
        "Those are numbers whose standard deviation is 10 to 20 % of the distance of their bounds. One of 5 %, such as a count with a few large values, takes up to four times as much, and many columns take more. One that is mostly 0 can be worse at any ε."
    )


# (classes up to; in words; (s for each class, of how many fits the shares of the classes alone had the lower log loss, fits); (the same with more s)): benchmarks/shares_alone.py
_SHARES_LOWER = (
    (2, "two", ((6, 13, 25), (20, 13, 46), (40, 9, 63)), (3, 85)),
    (4, "three and four", ((3, 19, 19), (6, 16, 18), (20, 27, 52), (40, 8, 21), (100, 11, 37)), (6, 24)),
    (math.inf, "five and more", ((3, 51, 70), (6, 19, 45), (20, 19, 111), (40, 7, 56)), (0, 78)),
)


def sure_in_words(plan: Plan) -> str:
    """How often the probabilities of a model were worse than the shares of the classes at such a budget. Empty of a number, and where it hardly ever is so."""
    classes = len(plan.domain.classes)
    if plan.domain.target is not None or not plan.private:
        return ""
    so_many, counts, (seldom, rest) = next(one[1:] for one in _SHARES_LOWER if classes <= one[0])
    if plan.signal >= counts[-1][0] * classes:
        return ""
    lower, fits = next((lower, fits) for most, lower, fits in counts if plan.signal < most * classes)
    each = float(f"{plan.signal / classes:.2g}")
    counted = "records" if plan.domain.unit is None else "units"
    return (
        f"Probabilities from so little can be too sure: with such an s ({counted} times budget) for each of the {classes} classes, which is {each:g} here, models of {so_many} classes had a higher log loss than the share of each class, "
        f"answered for every row, in {lower} of {fits} fits on tables we measured. From {counts[-1][0]} on it was so in {seldom} of {rest}{', where columns say little about the label' if seldom else ''}. "
        "A page with a measured log loss gives that of the shares, too."
        + " Fewer classes make s for each class larger."
        * (classes > 2)
    )


_FEW_COLUMNS = 10  # up to which one length of all rows was seen to bend what a column says (docs/weights.md)


def bent_in_words(plan: Plan) -> str:
    """That rows of few columns which are brought to one length can show an effect that is not there, where the constant feature is not centred: with little
    signal, and in models of before. It follows from the plan alone, and is empty of any other."""
    few = len(plan.domain.columns) <= _FEW_COLUMNS and not plan.domain.is_ball
    uneven = any(isinstance(p.step, Homogenize) and not p.step.center for p in plan.steps)
    if not (few and plan.private and uneven):
        return ""
    return (
        "With up to ten columns and a rare class, probabilities can be too high at both ends of a column, because rows are brought to one length (Homogenize): on rows that we made up it was so in "
        "most fits. A second fit or partial dependence can show the same. Steps without it do not: docs/weights.md."
    )


_MANY_ROWS = 10  # of a unit, from which on its gradient says little of each row


def unit_probabilities_in_words(plan: Plan) -> str:
    """That probabilities are those of no single row where a unit has many rows. It follows from the plan alone, and is empty of any other."""
    domain = plan.domain
    if domain.target is not None or (domain.rows_per_unit or 1) < _MANY_ROWS:
        return ""
    return (
        f"One noisy gradient stands for all rows of a unit, here up to {domain.rows_per_unit:,}, so the probability of a rare class can be far too high, and with it what a "
        "threshold or class weights make of it. `rows_per_unit: 1` in the schema (`rows_per_unit=1`) has probabilities of single rows (docs/units.md)."
    )


# s for each category between which scaled codes were better as a rule; of so many fits there with a target, better by .02, worse, and by how much at most: benchmarks/codes_scaled.py
_CODES_FROM, _CODES_TO = 8, 60
_CODES, _CODES_BY = (46, 20, 9), (0.27, 0.1)
_FEWEST_CODES, _NEAR_CODES = 15, 0.02


def codes_in_words(plan: Plan) -> str:
    """That codes of many categories are learned in part unless they are scaled, of a target. It follows from the plan alone, and is empty of any other."""
    cells = sum(len(c.categories) for c in plan.domain.columns.values() if isinstance(c, Categorical))
    if plan.domain.target is None or not plan.private or plan.learner.steps == 1 or cells < _FEWEST_CODES:
        return ""
    each = plan.signal / cells
    scalers = [
        p.step for p in plan.steps if isinstance(p.step, StandardScaler)
    ]  # measured beside scaled numbers
    scaled = not scalers or any(step.columns is None for step in scalers)
    if scaled or not _CODES_FROM <= each < _CODES_TO:
        return ""
    fits, better, worse = _CODES
    return (
        f"Columns of categories have {cells:,} categories in all, and training reaches each of them slowly: their effects can come out far too small. With such an s for each of them, which is {float(f'{each:.2g}'):g} here, pipelines with "
        f"another StandardScaler() after OneHotEncoder() had an R² {_NEAR_CODES:g} or more higher in {better} of {fits} fits on tables we measured (by up to {_CODES_BY[0]:g}), and lower in {worse} (by up to {_CODES_BY[1]:g}). `prepriv.choose` compares both, which costs part of the budget and of the rows."
    )


# Steps after which a number says what a straight line says of it.
_LINES = (
    "Center", "ClipFeatures", "ClipNorm", "ConstantImputer", "InstanceOptimalCenter", "MeanImputer", "MedianImputer", "MinMaxScaler", "PCA", "RegressionImputer",
    "Rescale", "ShrunkCenter", "StandardScaler", "TrimmedMeanImputer",
)  # fmt: skip


def straight_in_words(plan: Plan) -> str:
    """That a number is predicted by a straight line in each column, so that what rises and falls again is not seen. It follows from the plan alone; empty of
    any other, and of models without a column of numbers."""
    columns = plan.domain.columns.values()
    numbers = plan.domain.target is not None and any(isinstance(c, Numeric) for c in columns)
    if not numbers or any(p.step.name not in _LINES for p in plan.steps):
        return ""
    counted = "records" if plan.domain.unit is None else "units"
    enough = curved_from(plan.domain)
    here = f". Here it is {float(f'{plan.signal:.3g}'):,g}" if plan.private else ""
    here += ", so that it gives straight lines, too" * (plan.private and plan.signal < enough)
    return (
        "In each column of numbers the model is a straight line: an effect that rises and falls again is not seen, and partial dependence shows a line, too. "
        f'`steps: curves` in a schema (`steps="curves"` in Python; in a pipeline SplineTransformer) learns curves of such columns where s ({counted} times budget) is {enough:,g} or more{here}. '
        "At an end of a column that few rows have, such a curve can be flat where the truth is not."
    )


def wide_bounds_in_words(model: Model) -> str:
    """That a regression says a number next to one of the declared bounds for average rows, which its released weights show. Empty of any other model."""
    from prepriv.release.coefficients import score_of_average

    target = model.domain.target
    if target is None or target.log or not model.declared.private:
        return ""
    score = score_of_average(model)
    if score is None or abs(abs(score) - 1.0) / 2.0 > _NEAR:  # far beyond a bound it is noise
        return ""
    logarithm = (
        " If many targets are a small part of the others, as of prices and counts, learn their logarithm: `log: true` in a schema, `log=True` in Python."
        if score < 0 <= target.low
        else ""
    )
    near, other, lowest = ("lower", "upper", "lowest") if score < 0 else ("upper", "lower", "highest")
    return (
        f"What the model predicts lies mostly in the {lowest} tenth of the range of the target, {target.low:g} to {target.high:g}, next to its {near} bound. "
        f"Targets beyond that bound are cut there: `prepriv validate` (`prepriv.validate`) tells the curator whether there are any. If you know that hardly any target comes near the {other} "
        f"bound, declare one that is nearer, because the noise of training grows with their distance, and with bounds far too wide the model can be worse than the mean, answered for every row.{logarithm} Otherwise leave it: a few large errors can cost more than the noise."
    )


_SKEWED = " Of a number that is mostly one value, such as a count that is mostly 0, the model itself can be worse than the mean at any ε, as training draws it to the median (docs/regression.md)."


def quantile_of(plan: Plan) -> float | None:
    """The level of the quantile that predictions are; None of other models."""
    loss = plan.learner.loss
    return loss.quantile if isinstance(loss, TargetLoss) else None


_DRAWN = 0.03  # of a level: from here on it is said


def quantile_in_words(plan: Plan) -> str:
    """Which quantile predictions are; "" of other models."""
    level = quantile_of(plan)
    if level is None:
        return ""
    met, _ = _met(plan, level)
    if abs(met - level) <= _DRAWN:
        return f"the {level:g} quantile"
    return f"the {level:g} quantile, which training can draw to the {met:.2g} quantile, because it limits what a record says to {plan.learner.clip(plan.space.radius):.3g}"


def drawn_in_words(plan: Plan) -> str:
    """That a clip draws a quantile to the median, and which clip does not. It follows from the plan alone, and is empty of any other."""
    level = quantile_of(plan)
    if level is None or abs((found := _met(plan, level))[0] - level) <= _DRAWN:
        return ""
    met, enough = found
    return (
        f"Predictions can be drawn from the {level:g} to the {met:.2g} quantile: clip_norm={plan.learner.clip(plan.space.radius):.3g} is shorter than what a record says, and evens the two slopes of the loss. "
        f"clip_norm={float(up(enough, 2)):g} keeps the level, with more noise (docs/regression.md, Quantiles)."
    )


def _met(plan: Plan, level: float) -> tuple[float, float]:
    """(the quantile that training can draw to, by its typical rows; the clip that does not)."""
    steps, radius, bias = [p.step for p in plan.steps], plan.space.radius, getattr(plan.learner, "bias", 1.0)
    clip, norm = plan.learner.clip(radius), math.hypot(typical_norm(plan.domain, steps, radius), bias)
    above, below = min(level * norm, clip), min((1 - level) * norm, clip)
    return above / (above + below), quantile_clip(plan.domain, steps, radius, level, bias)


def sums_in_words(plan: Plan, *, asked: bool = True) -> str:
    """Why sums of predictions may be off, where that follows from how a target is learned. Empty of other plans. asked: whether it says to
    measure that, too."""
    if plan.domain.target is None:
        return ""
    level = quantile_of(plan)
    if level is not None:
        side, beyond = ("large", "above") if level > 0.5 else ("small", "below")
        off = (
            f"too {side}, unless the mean lies {beyond} that quantile"
            if level != 0.5
            else "off where the number is skewed"
        )
        return f"Do not add its predictions up: each is the {level:g} quantile of such records, and not their mean. So sums are {off}."
    if plan.domain.target.log:
        return "Do not add its predictions up: they are about medians, because the logarithm of the target is learned, and sums of them are too small."
    if not (plan.private and math.isfinite(getattr(plan.learner, "clip_norm", math.inf))):
        return ""
    whole = plan.domain.target.high - plan.domain.target.low
    released = plan.learner.mean_error_release(plan.learner_noise_multiplier, plan.setting)
    if released:
        noise, width = (whole / 2 * v for v in released)
        moved = (
            f"Predictions were moved by their mean error on the rows of the training, which was released with noise of about {noise:.3g} and with "
            f"errors cut to an interval of length {width:.3g}. That noise, and larger errors, can still put sums off."
        )
    else:
        moved = (
            "Training limits the pull of records far from their prediction. So sums of predictions can be off, and those of a skewed target, "
            "such as a count or an amount of money, are as a rule too small."
        )
    moved += " Over a group they can be off by more, because effects that noise could explain are drawn to 0: ask for the sum of each group (`prepriv ask`)."
    moved += "" if released else _SKEWED
    if not asked:
        return moved
    return (
        "Before predictions are added up, measure how far they are off on average: the measure `residuals`, with an error bound of "
        f"{whole:.6g}, which cuts no error, in a measurement of its own: R² and other errors have more noise with so wide a bound. {moved}"
    )


def warn_of_noise(model: Model, found: Quality | None = None) -> None:
    """Warn about a model that was paid for. found: what was measured of it. A filter that makes the warning an error cannot cost the model: nothing is said then."""
    one = one_number_in_words(model)
    if one:
        with contextlib.suppress(NoiseAlone):
            warnings.warn(one, NoiseAlone, stacklevel=callers_level())
    from prepriv.release.coefficients import hardly_reached_in_words

    plain = (
        wide_bounds_in_words(model),
        hardly_reached_in_words(model.declared),
        unit_probabilities_in_words(model.declared),
        codes_in_words(model.declared),
        drawn_in_words(model.declared),
        "" if model.noise_alone else sure_in_words(model.declared),
    )
    for wide in filter(None, plain):
        with contextlib.suppress(UserWarning):
            warnings.warn(wide, UserWarning, stacklevel=callers_level())
    below = (
        ""
        if one or (found is not None and found.beats_mean)
        else below_the_mean_in_words(model.declared, often=True)
    )
    if below:
        with contextlib.suppress(UserWarning):
            measure = " Measure it before it is used: `holdout=0.2`, or `evaluate` on rows that were not trained on."
            warnings.warn(
                f"{below}{measure if found is None else ''}", WeakSignal, stacklevel=callers_level()
            )
    if model.noise_alone and (said := noise_in_words(model.domain.classes, found, in_python=True)):
        with contextlib.suppress(NoiseAlone):
            warnings.warn(said, NoiseAlone, stacklevel=callers_level())


def to_do(
    found: Quality | None,
    *,
    weighed: bool,
    weak: bool,
    alone: str = "",
    claim: Sequence[tuple[str, str]] = (),
    sums: str = "",
    below: str = "",
) -> Iterator[str]:
    """What to do about it: sentences. weighed: predictions weigh classes; weak: the noise drowns most of what the rows say; alone:
    `noise_in_words` or `one_number_in_words`, where that is so; claim: what makes the claim weak (`weak_claims`); sums: `sums_in_words`, which
    follows what was measured of it; below: `below_the_mean_in_words`."""
    for parameter, why in claim:
        yield f"Do not publish it with this {parameter}: {why}. Training again with a smaller {parameter} costs its whole ε again."
    if alone:
        yield alone
    if found is not None and found.warning is not None:
        yield (
            "Unless labels are truly missing, correct what the warning names before it is measured again: `prepriv.validate(domain, X, y)` (`prepriv validate DATA --schema S.yaml`) "
            "says to the curator alone which labels are not declared."
        )
    labels = found is None or found.warning is None or found.compared  # some have one, whatever is warned of
    if labels and (found is None or not found.known):
        if found is not None and found.unasked:
            what, option = (
                ("how far it is off", "squared_error")
                if found.of_number
                else ("how often it is right", "confusion")
            )
            yield (
                f"{', '.join(found.measures)}: nothing else was measured, and this does not say {what}. Measure that before anyone relies on it: "
                f"{option_of(option, set_aside=found.set_aside)}, {_again(found)}."
            )
        else:
            yield (
                "Unless a score stands elsewhere, measure the model before anyone relies on it: "
                "`--holdout 0.2` (`holdout=0.2` in Python) when it is trained, or "
                "`prepriv evaluate MODEL TEST.csv --epsilon 0.1` (`model.evaluate(X, y, epsilon=0.1)`) on rows that were not trained on."
                if found is None
                else "The model was measured, and the noise hides how good it is. Before anyone relies on it, measure it with a larger ε or more records, "
                f"{_again(found)}."
            )
    if below and not (found is not None and found.beats_mean):
        yield below
    elif weak:
        yield (
            "There are few records for this ε, and noise drowns most of what they say: use more records, fewer columns or a "
            "larger ε. `prepriv plan SCHEMA --epsilons 0.1,0.5,1,2,4` shows what each ε was worth on tables we measured."
        )
    off = "" if found is None else found.of_sums()
    if sums or off:
        yield f"{off} {sums}".strip()
    if found is None:
        return
    if found.at_bound:
        yield found.at_bound
    if not found.known:
        if "r2" in found.measures and labels:
            yield from _beside_the_mean(found)
        return
    worth_nothing = found.commonest is not None and not found.beats_the_commonest
    unproven = found.right is not None and not weighed and not found.beats_the_commonest
    if unproven:
        named = found.commonest is not None and found.commonest.value is not None  # or noise alone chose it
        most = in_quotes(found.commonest) if found.commonest is not None and named else "the commonest class"
        if found.apart is None:
            yield (
                f"In accuracy it is {_compared(found)} always predicting {most}: do not use its predictions for decisions. Its probabilities are better than the share of each class."
                if found.better_than_shares
                else f"It is {_compared(found)} always predicting {most}: do not use it for decisions."
            )
            if found.commonest is None:
                yield (
                    f"The commonest class alone was not measured beside it: {option_of('confusion', set_aside=found.set_aside)} does, "
                    f"{_again(found)}."
                )
            elif found.by is not None and not found.below_the_commonest:
                yield "Groups add noise to this comparison: without `--by` (`evaluate_by=` or `by=` in Python) the same ε shows more."
        else:
            who = "Its probabilities do" if found.apart.startswith("AUC") else "It does"
            yield (
                f"In accuracy it is {_compared(found)} always predicting {most}. {who} tell the classes apart "
                f"({found.apart}): weigh the classes or use the {'order of the ' if found.off else ''}probabilities."
            )
    if found.off:
        yield f"Do not take its probabilities as they are: {found.off}."
    if found.scores_alone is not None and found.apart is None:
        name, records = found.scores_alone
        costs = "whole ε again" if found.set_aside else "ε again"
        yield (
            f"AUC was refused beside the noise of {len(found.measures)} measures. {option_of('scores', set_aside=found.set_aside)} alone has less noise, and about "
            f"{records:,} measured records of {in_quotes(Share(name))} would then be enough for AUC in most runs. It says whether the probabilities tell the classes apart, and not how "
            f"often a prediction is right. Measure it {_again(found)}: that costs its {costs}."
        )
    may_be_rare = bool(found.rare) or not found.recalls  # of measures without classes it is not known
    if not weighed and may_be_rare and (worth_nothing or found.asks_for_more):
        yield (
            'If a rare class matters, weigh it: `--class-weight balanced` (`class_weight="balanced"` in Python) makes all classes '
            "count alike, for 1 % of the budget of a training; training again costs its whole ε again. Weights that you declare are free, for this model, "
            "too: `prepriv predict --class-weight`, and `prepriv evaluate --class-weight` measures them. "
            f"Then judge the model by {_judged(found)}."
        )
    elif weighed and worth_nothing:
        yield f"Classes are weighed, which can cost accuracy: judge the model by {_judged(found)}."
    elif found.asks_for_more:
        few = first_of([share.name for share in found.perhaps_empty_found])
        yield f"As measured, fewer than two in three records of {few} are recognised: do not rely on the model for them."
    too_good = _too_good(found)
    if too_good:
        yield (
            "It is right nearly always, which is rare. If a column is filled in only when the answer is known, or restates it, leave that column out: on rows "
            "to predict it will be missing."
        )
    of_means = found.of_number and found.quantile is None
    incomparable = of_means and not found.compared
    unusable = of_means and found.compared and not found.beats_mean
    if of_means:
        yield from _beside_the_mean(found)
    if found.cut_decides:
        assert found.error_bound is not None
        yield (
            f"Cut errors do not show here that the model is better than one number for every record. Measure it with a larger error bound, such as `--error-bound {exact(float(f'{2 * found.error_bound:.4g}'))}` "
            f"({'`evaluate_error_bound=` or ' if found.set_aside else ''}`error_bound=` in Python), {_again(found)}. That costs its ε again, and the noise grows with the bound."
        )
    if found.unknown:
        yield f"Do not rely on the model to recognise {first_of(found.unknown)} before that is measured: there were too few records beside the noise."
    for share in found.rarely_found[:MOST]:
        seen = f"of 100 records that are truly {in_quotes(share)} it recognises {share}"
        yield f"Do not rely on the model to find {in_quotes(share)}: {seen}."
    if rest := found.rarely_found[MOST:]:
        yield f"Nor to find {first_of([share.name for share in rest])}."
    yield from _by_balanced(found)
    everywhere = {share.name for share in found.rarely_found}
    missed = [
        (
            name,
            f"Do not rely on it for records of {first_of(groups)} (`{found.by}`): it misses most there that are truly {in_quotes(Share(name))}.{_perhaps_alike(found, name, groups)}",
        )
        for name, groups in _by_class(found.missed_in_groups).items()
        if name not in everywhere or len(groups) < _measured_groups(found, name)
    ]  # of all records it is said above
    yield from _first_classes(missed, "It misses most in")
    unknown = [
        (
            name,
            f"Do not rely on it for records of {first_of(groups)} (`{found.by}`) before it is known how often it recognises "
            f"{in_quotes(Share(name))} there: there were too few such records beside the noise.",
        )
        for name, groups in _by_class(found.unknown_in_groups).items()
    ]
    yield from _first_classes(unknown, "The same holds in")
    if found.worse_groups:
        worse = first_of([one.name for one in found.worse_groups])
        yield f"Predictions for records of {worse} (`{found.by}`) are off by more than for all: decide whether they are near enough there."
    if found.by is not None:
        first = (
            ", first how often it recognises the rare class there"
            if found.rare and found.group_recalls
            else ""
        )
        yield f"Before it is used for one of the groups, read that group's lines{first}: noise hides small groups first."
    elif not (
        weak
        or claim
        or worth_nothing
        or unproven
        or unusable
        or incomparable
        or found.warning is not None
        or found.unknown
        or found.asks_for_more
        or found.cut_decides
        or found.quantile is not None
        or too_good
        or off
        or found.at_bound
    ):
        yield f"{_IF_NOT_TRAINED_ON if found.perhaps_trained_on else _ALL_CLEAR} Measure the groups that it will be used for."
        if found.unseen:
            yield found.unseen


def _beside_the_mean(found: Quality) -> Iterator[str]:
    """What to do before predictions of a number are used in place of the mean, where they are not shown to be better."""
    if not found.compared:
        how = (
            found.for_r2
            if "r2" in found.measures
            else f"{option_of('r2', set_aside=found.set_aside)}, {_again(found)}"
        )
        yield f"Compare it with always predicting the mean before anyone relies on it: {how}."
    elif not found.beats_mean:
        if found.r2_ends is not None and found.r2_ends[1] >= 0:
            yield f"Do not use predictions in place of the mean before a measurement shows that they are better: {found.more_on_the_mean}."
            if found.least_r2 is not None:
                yield (
                    f"So many records, with errors cut as they are, show an R² of about {found.least_r2:.2g} or more. No ε shows a smaller one, because the interval "
                    "allows for the most that such errors can vary."
                )
        else:
            yield "Do not use predictions in place of the mean before more records, or a larger ε, show that they are better."


def _too_good(found: Quality) -> bool:
    """Whether so much is right that a column may hold the answer, where always naming one class or the mean would not do so."""
    if found.of_number:
        return found.r2_ends is not None and found.r2_ends[0] >= _NEARLY_ALL
    often = (
        found.commonest is None
        or found.commonest.value is None
        or found.commonest.value > 1 - 5 * (1 - _NEARLY_ALL)
    )
    return (
        found.right is not None
        and found.right.value is not None
        and found.right.floor >= _NEARLY_ALL
        and not often
    )


def _by_balanced(found: Quality) -> Iterator[str]:
    """For which groups it is not to be used, as it is not shown, or not known, to do better than guessing there."""
    guessed, apart = found.guessed_in_groups, found.apart_in_groups
    better = [s for s in found.group_balanced if s.value is not None and s not in guessed]
    if silent := [share.name for share in guessed if share.name not in apart]:
        if better or apart:
            yield f"Do not use it for records of {first_of(silent)} (`{found.by}`) before a measurement shows that it does better than guessing there."
        else:
            first = "In no group"
            if found.apart is not None:
                who = "its probabilities tell" if found.apart.startswith("AUC") else "it tells"
                first = f"Among all records {who} the classes apart, but in no group"
            yield f"{first} of `{found.by}` that could be measured is it shown to do better than guessing: do not use it for decisions before a measurement shows that it does."
    if apart:
        yield (
            f"For records of {first_of(apart)} (`{found.by}`) its predictions are not shown to do better than guessing. Its probabilities do tell the classes apart there: "
            f"weigh the classes or use the {'order of the ' if found.off else ''}probabilities."
        )
    if guessed and better and max(s.high or s.value or 0.0 for s in guessed) >= min(s.floor for s in better):
        yield (
            f"That {first_of([share.name for share in better])} {'is' if len(better) == 1 else 'are'} shown to do better can be chance: a difference between groups is "
            "shown only where its own line says so."
        )
    if unmeasured := found.unmeasured_groups:
        yield (
            f"Whether it does better than guessing for records of {first_of(unmeasured)} (`{found.by}`) could not be measured: do not assume that it serves them, "
            "whatever else their lines say."
        )


def _by_class(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Groups by class, of pairs of a class and a group."""
    found: dict[str, list[str]] = {}
    for name, group in pairs:
        found.setdefault(name, []).append(group)
    return found


def _measured_groups(found: Quality, name: str) -> int:
    """In how many groups it is known how often it recognises a class."""
    return sum(s.value is not None for each, shares in found.group_recalls if each == name for s in shares)


def _perhaps_alike(found: Quality, name: str, missed: Sequence[str]) -> str:
    """That groups which are not named may be served no better, where the intervals leave that open."""
    told = [s for each, shares in found.group_recalls if each == name for s in shares if s.value is not None]
    others = [s.floor for s in told if s.name not in missed]
    if not others or max(s.high or s.value or 0.0 for s in told if s.name in missed) < min(others):
        return ""
    return " The other groups may be served no better: a difference between groups is shown only where its own line says so."


def _first_classes(lines: Sequence[tuple[str, str]], what: str) -> Iterator[str]:
    """A line for each of the first classes, and one that names what there is of others. lines: (class, its line)."""
    yield from (line for _, line in lines[:MOST])
    if rest := [name for name, _ in lines[MOST:]]:
        yield f"{what} some groups for {first_of(rest)}: all are in the measurement."


def _again(found: Quality) -> str:
    """On which rows it can be measured once more."""
    if found.set_aside:
        return "in a new training with a holdout, or by `prepriv evaluate` on other rows than these"
    return "on rows that were not trained on"


def _compared(found: Quality) -> str:
    return "right less often than" if found.below_the_commonest else "not known to be better than"


def _judged(found: Quality) -> str:
    recalls = f"the recall of each class{', also in each group' if found.group_recalls else ''}"
    if found.alarms:
        return f"{recalls}, by balanced accuracy and by how many alarms are right"
    return f"{recalls}{',' if found.group_recalls else ''} and by balanced accuracy"
