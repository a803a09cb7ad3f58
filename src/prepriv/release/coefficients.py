"""The weights of a model that has one per column, as scikit-learn's `coef_`: in raw units where every map is affine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.columns import Numeric, Text
from prepriv.integrations.linear import raw_units
from prepriv.plans.shrink import features_of, mean_noise, share_kept
from prepriv.preprocessing.base import Identity, ReleasedMap
from prepriv.preprocessing.center import Center, Subtract
from prepriv.preprocessing.class_counts import CountedClasses
from prepriv.preprocessing.compiled import ALWAYS_ZERO, CompiledMap
from prepriv.preprocessing.encode import ClipMap
from prepriv.preprocessing.fitted import Fitted
from prepriv.preprocessing.homogenize import HomogeneousRows, Homogenize
from prepriv.preprocessing.impute_caps import FillReleased
from prepriv.preprocessing.maps import write_map
from prepriv.preprocessing.normalize import Multiply, ScaleRows
from prepriv.preprocessing.pca import Project
from prepriv.preprocessing.random_features import AddRandomFeatures
from prepriv.preprocessing.root_columns import Roots
from prepriv.preprocessing.scale import StandardScaler
from prepriv.preprocessing.scale_map import ScaleReleased
from prepriv.preprocessing.scale_min_max import MinMaxScaler
from prepriv.preprocessing.scattering import Scatter
from prepriv.preprocessing.shrunk_center import ShrunkCenter
from prepriv.release.bin_names import names_of_bins, note_of_codes
from prepriv.release.noise_of_weights import (
    CellsOfCategories,
    known_cells,
    law,
    part_learned,
    score_of_average_rows,
)
from prepriv.release.noisy_fills import NoisyFill, fills_in_words, list_title, noisy_fills
from prepriv.release.sketched_means import most_within_a_cell, range_between_cells, sketched_means
from prepriv.space import Space

if TYPE_CHECKING:
    from prepriv.domain import Domain
    from prepriv.plans.plan import Plan
    from prepriv.release.model import Model

STANDS_OUT = 2.0
"""Standard deviations of its noise from which on a weight is not taken for noise."""
_NOT_CENTRED = "Features are not centred by a released mean, or it was drawn to 0 because it was no larger than its noise. So "
_NOT_WITH_ZERO = {
    (True, False): "the cells of one column share the intercept: compare them with each other, not with 0.",
    (
        False,
        True,
    ): "the weight of a number holds a part of the intercept: one that is far from 0 need not be an effect.",
    (
        True,
        True,
    ): "weights hold a part of the intercept: compare the cells of one column with each other, not with 0, and do not take the weight of a number for an "
    "effect because it is far from 0.",
}
"""What is said where a weight that is far from 0 need not be an effect: by whether features are cells of a column, and whether some are numbers."""
MOST_NOISE = (
    "The noise is that of training for a category that no record has. As a rule it moves a weight of a column that varies less, one of numbers often "
    "far less. So those that may be noise can be effects, too."
)
"""What noise is printed, where columns are not known to vary."""
_LITTLE_NOISE = (
    "The noise is about that of training{}, as if other columns told half of what a column says. "
    'Where no step has released how far a column varies, or its released variance is within three times its noise, `.at_most` is printed, as "noise up to". That is an upper limit '
    "as a rule, and it can rise with ε where the noise itself falls. So those that may be noise can be effects, too."
)
TELL_THE_SAME = (
    "Columns that tell nearly the same share one effect. How it is divided among them can be noise, several times the noise that is given here{}, and such "
    "a weight can stand out with either sign. Training that stops early can turn a sign, too, and a second fit then has the same wrong sign. "
    "Trained without the others, one of such columns has a weight that says what they share."
)
"""What the noise of weights leaves out: it takes other columns to tell half of what a column says."""
EACH_HAS_A_LABEL = (
    "The noise counts on a label in each record. Where many have none, weights differ by more: as a rule up to four times as much with three quarters or more "
    "missing, and some up to nine times, so that a weight can stand out by noise alone. Less is learned, too: a weight can then be several times too small, by many times its noise, also where nothing says so."
)
"""What the noise of weights leaves out, because how many records have a label is not released. Measured: benchmarks/weights_of_tables.py --unlabelled."""
_AND_OF_SCALES = " and of the scales before {}, after which a noisy scale does not drop out"
MORE_NOISE = "Not in the noise: that of what {} learned, in whose units weights are. Weights of two fits can differ by more."
"""What is said where weights are in units that another fit does not have."""
_PRINTED = 20
_NAMED = 5  # numbers that are hardly reached
_ALL = '`print(*coefficients_.in_lines(), sep="\\n")`, or on the command line `prepriv report MODEL --weights`, has all'
_SHARED = (
    "The cells of one column add up to 1, so only their differences are learned. A weight says how far its category is from an average record, "
    "which has each category by its {}."
)
_SHARES = ("share of the records", "released share")
_PEOPLE = "Which people are in the table moves weights, too, and so does the cut of large errors in training. Neither is in the noise."
_NOTHING_MARKED = (
    "Training with noise stops early. No released number says here how far columns vary, so nothing is marked: any weight can be several times too small, by more than its noise, and "
    "columns that go with it take its part."
)
"""What the noise of weights does not say where no law of what is learned is known."""
IN_PART = (
    'Training with noise stops early. "learned in part": at this ε it may learn only a part of that effect, as of what few records have, or what varies little. Such a '
    "weight can be several times too small, by more than its noise, and columns that go with it take its part."
)
"""What the noise of weights does not say about columns of which little is learned."""
UNLABELLED = (
    "Released shares count records without a label, too. Where only they have a category, such as a gap in a row whose label is missing as well, its weight "
    "is noise alone, far more than its printed noise, and moves the other weights of its column."
)
"""What released shares do not say about a category."""
_RARELY_THERE = ("=missing", "=other")  # what the names of these features end in
CONSTANT = "(constant)"
"""The name of the feature that `Homogenize` adds to a row."""
# Maps that keep columns apart: after these alone a weight is that of a column.
APART = frozenset(
    [
        "fill",
        "roots",
        "signed_root",
        "ranks",
        "clip_features",
        "scale",
        "subtract",
        "homogeneous_rows",
        "multiply",
        "scale_rows",
        "identity",
    ]
)
_KEEPS_CENTRE = frozenset(
    ["class_counts", "clip_features", "homogeneous_rows", "identity", "multiply", "project", "scale_rows"]
)
"""Maps after which centred rows are still about centred."""


@dataclass(frozen=True, eq=False)
class Coefficients:
    """weights: (d, K). bias: (K,). classes: (K,), whose score each column of weights adds to; where one score stands for two classes
    the second alone, of a target none. names: (d,), of the weights, "(constant)" of a feature that is the
    same number in every row, which scores have beside the bias; None where the features have none, and `unnamed` says why.

    after: the steps after which rows are meant; (): raw rows, numbers in the units of their columns and between the declared
    bounds, a category as 0 or 1. Steps are named from the first on to the last that is not affine, column by column; of a pipeline of
    scikit-learn, its own outputs are meant. cut: the steps that cut cells or rows at bounds: weights are those of rows that they leave as they are.
    scaled: a step that adds the constant and then multiplies the whole row by one number, so that a score is that number times the sum of cells times
    weights, plus the bias. level: the number that the cell of "(constant)" is in every row. learned: the steps among `after` that learned from private rows, so that another fit has other units.

    noise: (d,), a standard deviation of the noise in each weight, the same for all classes, in the units of the weights; None where
    the learner has no law for it; nan of "(constant)", which takes a part of each column whose law is not known. It is the noise of training and that of the released mean, by which a column or category that is never
    there gets a share of the intercept. Such a one has about that much, and in others the records hold against it. Where what was released says how far they vary, it is
    about what they have then, if other columns tell half of what each says. After a step that is `scaled` the noise of released scales does not drop
    out, and it is in the number. Neither other noise of pre-processing (what `learned` names) nor errors by sampling are in it.

    at_most: (d,), the most noise that a weight has, however columns go together. None where `noise` is that.

    unit: of a target, what turns weights and bias into its units, in a sentence.

    centred: whether steps have subtracted a released mean of every feature. If not, weights hold a part of the intercept, and one
    that is far from 0 need not be an effect.

    shared: whether weights of categories are about an average record, which has each category of a column by its released share: its score was moved to
    the intercept. perhaps_empty: (d,), the categories whose share is within three times its noise: perhaps no record has them. None: not known.

    perhaps_constant: (d,), after a sketch: features of numbers that are perhaps one value in nearly all records, all bins among them. Such a one is a second intercept, whatever its weight
    is. None: not known.

    in_part: (d,), of what training with noise is known to learn less than four fifths of an effect, or not known to learn more, and of the categories that
    fewer than a tenth of the records have by their released shares: such weights can be far too small. None: not known.

    unreached: numbers in units of their bounds beside scaled ones (`hardly_reached`): their weights can be far too small, by more than `noise`.

    kept: of a target, what slopes were multiplied by because a part of them was noise. 0: the model answers one number.

    of_codes: what to know of features that are parts of smooth codes of bins, in a sentence.

    not_with_zero: the sentence that is printed where they are not `centred`.

    fills: the numbers whose gaps are filled by a number that noise was added to: each stands with its column, that number and how far noise moves it. Where that is
    not little, the weight stands in a list of its own (`noisily_filled`): where many cells are gaps it can have either sign.
    """

    weights: Floats
    bias: Floats
    names: tuple[str, ...] | None
    after: tuple[str, ...]
    classes: tuple[Any, ...] = ()
    noise: Floats | None = None
    unnamed: str = ""
    unit: str = ""
    kept: float = 1.0
    centred: bool = True
    cut: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    scaled: tuple[str, ...] = ()
    level: float = 1.0
    shared: bool = False
    at_most: Floats | None = None
    perhaps_empty: NDArray[np.bool_] | None = None
    unreached: tuple[str, ...] = ()
    in_part: NDArray[np.bool_] | None = None
    perhaps_constant: NDArray[np.bool_] | None = None
    of_codes: str = ""
    fills: tuple[NoisyFill, ...] = ()
    not_with_zero: str = _NOT_CENTRED + _NOT_WITH_ZERO[True, True]

    def __str__(self) -> str:
        """The weights that stand out of twice their noise, by how far they do, and the largest of the others; where noise is not
        known, or weights do not compare with 0, all in the order of the columns."""
        return "\n".join(self.in_lines(_PRINTED))

    def to_json(self) -> list[dict[str, Any]]:
        """Each weight of a column, in the order of the columns: name, class (None where one score stands for all), weight, noise and at_most
        (None where it is not known), in_part, perhaps_empty, perhaps_constant, noisily_filled."""
        at_most = self.noise if self.at_most is None else self.at_most
        return [
            {
                "name": one.name,
                "class": one.of_class,
                "weight": one.weight,
                "noise": one.noise if one.noise >= 0 and not one.alone else None,
                "at_most": None if at_most is None else float(at_most[one.at]),
                "in_part": one.in_part,
                "perhaps_empty": one.perhaps_empty,
                "perhaps_constant": one.perhaps_constant,
                "noisily_filled": one.noisily_filled,
            }
            for one in self._each()
        ]

    @property
    def noisily_filled(self) -> tuple[str, ...]:
        """The names of weights of columns whose gaps are filled by a number with much noise."""
        much = [one.column for one in self.fills if not one.small]
        bins = tuple(f"{column}=bin " for column in much)
        return tuple(name for name in self._named() if name in much or name.startswith(bins))

    def _named(self) -> tuple[str, ...]:
        named = self.names or tuple(f"feature {j}" for j in range(len(self.weights)))
        return (*named[:-1], CONSTANT) if self.scaled else named

    def _each(self) -> list[_Weight]:
        """Those of columns, in their order."""
        named, alone, filled = self._named(), self.weights.shape[1] == 1, {*self.noisily_filled}
        noise = [math.nan] * len(named) if self.noise is None else self.noise.tolist()
        limits = (
            None if self.noise is None or self.at_most is None else self.noise >= self.at_most * (1 - 1e-9)
        )
        perhaps_empty, in_part, constant, limit = (
            [False] * len(named) if which is None else which.tolist()
            for which in (self.perhaps_empty, self.in_part, self.perhaps_constant, limits)
        )
        return [
            _Weight(
                j,
                named[j],
                c,
                w,
                noise[j],
                in_part[j],
                perhaps_empty[j],
                constant[j],
                named[j] in self.unreached,
                limit[j],
                named[j] in filled,
            )
            for j, row in enumerate(self.weights.tolist())
            if named[j] != CONSTANT and not named[j].startswith(ALWAYS_ZERO)
            for c, w in zip([None] if alone else self.classes, row)
        ]

    def in_lines(self, most: int | None = None) -> list[str]:
        """The print: at most so many weights of each list; None: all."""
        named, each = self._named(), self._each()
        constant = [one for one in each if one.perhaps_constant]
        every = [one for one in each if not one.perhaps_constant]
        count = len(every)
        if self.noise is not None and not self.noise.any():
            titled = [(every, f"weights in the order of the columns ({count}), without noise:")]
        elif (
            self.noise is None
        ):  # a large one may be of a category that no record has, so size is not an order
            every.sort(key=lambda one: one.name.endswith(_RARELY_THERE))
            titled = [
                (
                    every,
                    f"weights in the order of the columns, missing and other cells last ({count}). How much of each is noise is not known: "
                    "where few records have a category it may be most:",
                )
            ]
        elif not self.centred:
            titled = [(every, f"weights in the order of the columns ({count}). {self.not_with_zero[:-1]}:")]
        else:
            every.sort(key=lambda one: -one.beyond)
            unreached = [one for one in every if one.unreached]
            empty = [one for one in every if one.perhaps_empty and not one.unreached]
            filled = [one for one in every if one.noisily_filled and not one.unreached]
            compared = [one for one in every if not one.apart]
            clear = [one for one in compared if one.beyond > STANDS_OUT]
            rest = compared[len(clear) :]
            titled = [
                (
                    clear,
                    f"weights further from 0 than twice their noise ({len(clear)} of {len(compared)}; {by_chance(len(compared))}). "
                    "Read the notes below before you use them:",
                ),
                (
                    rest,
                    f"may be noise, or an effect that it hides ({len(rest)}). The noise beside a number is often several times too large, so this list does not show that a column does not matter:",
                ),
                *(
                    [(filled, list_title([one for one in self.fills if not one.small], len(filled)))]
                    if filled
                    else []
                ),
                *([(empty, _EMPTY.format(len(empty)))] if empty else []),
                *([(unreached, _UNREACHED.format(len(unreached)))] if unreached else []),
            ]
        two_lists = len(titled) > 1
        titled += [(constant, _CONSTANT.format(len(constant)))] * bool(constant)
        lines = (
            [self.unnamed] * (not self.names)
            + [self.unit] * bool(self.unit)
            + _kept_in_words(self.kept)
            + [
                f"rows: {'raw' if not self.after else 'after ' + ', '.join(self.after)}{_uncut(self.cut)}{_whole(self.scaled)}"
            ]
            + [f'A positive weight speaks for "{c}".' for c in self.classes if self.weights.shape[1] == 1]
            + [self.of_codes] * bool(self.of_codes)
        )
        if self.kept == 0.0:
            return lines
        if CONSTANT in named:
            of_constant = self.weights[named.index(CONSTANT)].tolist()
            ends = [f" -> {c}" for c in self.classes] if len(of_constant) > 1 else [""]
            levels = ", ".join(f"{w:+.3g}{end}" for end, w in zip(ends, of_constant))
            cell = (
                f"a cell of {self.level:g} in every row, whose weight is"
                if self.scaled
                else "the same in every row,"
            )
            lines.append(f"{CONSTANT}, {cell} a part of the intercept: {levels}")
        for some, title in titled:
            lines.append(title)
            shown = some[:most]
            lines += [f"  {one}" for one in shown]
            lines += [f"  ... {len(some) - len(shown)} more: {_ALL}"] * (len(some) > len(shown))
        notes = self._notes(two_lists=two_lists)
        return lines + ["Notes:"] * bool(notes) + [f"- {note}" for note in notes]

    def _notes(self, two_lists: bool) -> list[str]:
        """What the weights and their noise do not say, the gravest first. two_lists: whether those that may be noise are listed apart."""
        by_law = self.at_most is not None
        return (
            [_NO_EFFECT.format(_listed(self.scaled))] * bool(self.scaled)
            + [f"{_SHARED.format(_SHARES[by_law])} {UNLABELLED if by_law else ''}".strip()] * self.shared
            + [fills_in_words(self.fills)] * bool(self.fills)
            + [IN_PART] * bool(self.in_part is not None and self.in_part.any())
            + [TELL_THE_SAME.format(", up to `.at_most` (`prepriv report MODEL --weights --json`)")] * by_law
            + [EACH_HAS_A_LABEL] * (by_law or two_lists)
            + [MORE_NOISE.format(_listed(self.learned))] * bool(self.learned)
            + [_PEOPLE] * (by_law or two_lists)
            + [_NOTHING_MARKED] * (two_lists and not by_law)
            + [self._of_the_noise()] * two_lists
        )

    def _of_the_noise(self) -> str:
        """What noise is printed, and so how to read weights within twice their noise."""
        if self.at_most is None:
            return MOST_NOISE
        return _LITTLE_NOISE.format(_AND_OF_SCALES.format(_listed(self.scaled)) if self.scaled else "")


@dataclass(frozen=True)
class _Weight:
    """One that is printed. at: its place among all. name: of its column; of_class: None where one score stands for all; unreached: a number
    that stays in units of its bounds; limit: whether its noise is `at_most`, because nothing says how far its column varies;
    noisily_filled: a number whose gaps are filled by one with much noise."""

    at: int
    name: str
    of_class: Any
    weight: float
    noise: float
    in_part: bool
    perhaps_empty: bool
    perhaps_constant: bool
    unreached: bool
    limit: bool
    noisily_filled: bool

    @property
    def apart(self) -> bool:
        """Whether it is not compared with its noise."""
        return self.unreached or self.perhaps_empty or self.noisily_filled

    @property
    def alone(self) -> bool:
        """Whether released shares leave no other category of its column to compare it with, so that neither a weight nor its noise is left."""
        return self.weight == 0.0 and self.noise == 0.0

    @property
    def beyond(self) -> float:
        """How many times its noise it is from 0."""
        return abs(self.weight) / self.noise if self.noise > 0 else abs(self.weight)

    def __str__(self) -> str:
        told = [f"noise {'up to ' * self.limit}{self.noise:.2g}"] * (self.noise > 0) + [
            "learned in part"
        ] * self.in_part
        if self.alone:
            told = ["not compared: by its released share all records have it"]
        end = "" if self.of_class is None else f" -> {self.of_class}"
        return f"{self.name}{end}: {self.weight:+.3g}" + (f" ({', '.join(told)})" if told else "")


_NO_EFFECT = (
    "A score is not linear in the columns: {} divides a row by a length that grows with its cells. So a weight is not the effect of one unit, "
    "and for some rows one more unit moves the score the other way. sklearn.inspection.partial_dependence shows effects, on rows that you make up: "
    "docs/scikit-learn.md, Which column matters? Scores are not log odds, so weights can be several times those of a plain logistic regression. "
    "Steps without Homogenize, as docs/weights.md has them, have such weights."
)


_EMPTY = "of categories whose released share is within three times its noise ({}). Perhaps no record has one, perhaps many do. Where none has, a weight says nothing, however far from 0 it is. More records or a larger ε show the common ones, and a column whose categories are numbers can be declared as a number:"
_CONSTANT = (
    "numbers that are perhaps one value in nearly all records, and bins that perhaps nearly all records, or none, are in ({}). What was released with the model does not say it. "
    "The weight of such a one takes a part of the intercept and says nothing, however far from 0 it is; that of a bin which you know to hold some of the records is an effect:"
)
_UNREACHED = "numbers that StandardScaler leaves in units of their bounds ({}). Their weights can be far too small, by more than their noise, and others take their part:"


def hardly_reached(plan: Plan) -> tuple[str, ...]:
    """The numbers that are left in units of their bounds beside others of deviation one.

    Noisy steps go as far along each feature as along the longest ones. A number that varies little between its bounds is hardly reached.
    """
    domain, touched = plan.domain, set[str]()
    if not plan.private or plan.learner.steps == 1 or domain.space.names is None:
        return ()
    for planned in plan.steps:
        step = planned.step
        if isinstance(step, StandardScaler | MinMaxScaler):
            touched |= {*(domain.space.names if step.columns is None else step.columns)}
        elif not isinstance(step, Homogenize):  # columns that a step has mixed, or replaced by bins
            touched |= {*domain.space.names} - {*(planned.after.names or ())}
    scaled = any(isinstance(planned.step, StandardScaler) for planned in plan.steps)
    return tuple(
        str(name)
        for name, column in domain.columns.items()
        if scaled and isinstance(column, Numeric) and name not in touched
    )


def hardly_reached_in_words(plan: Plan) -> str:
    """The same in a sentence or two; "" where there is none."""
    names = hardly_reached(plan)
    if not names:
        return ""
    more = len(names) - _NAMED
    listed = ", ".join(map(repr, names[:_NAMED])) + (f" and {more:,} more" if more > 0 else "")
    return (
        f"StandardScaler leaves {listed} in units of {'its' if len(names) == 1 else 'their'} bounds. Training hardly reaches a number that varies little between its bounds: "
        "its weight can be far too small, by more than its noise, also at a larger ε, and other weights take its part, with the wrong sign perhaps. Scale all numbers, or declare tighter bounds."
    )


_MOST_OF_ITS_RANGE = 0.9  # of a feature, within one fine cell: then nearly all records are in that cell
_WHOLE = 0.8  # of an effect: what training is said to learn as a whole
_MOST_OFF = 0.1  # of a score between -1 and 1: what noise may move that of an average row by
_FEW = 0.1  # of the records, who have a category


def _listed(names: Sequence[str]) -> str:
    names = tuple(dict.fromkeys(names))
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _uncut(cut: Sequence[str]) -> str:
    return f", where {_listed(cut)} {'does' if len(set(cut)) == 1 else 'do'} not cut them" if cut else ""


def _whole(scaled: Sequence[str]) -> str:
    return f"; then {_listed(scaled)} scales each row to one length, all its columns alike" if scaled else ""


def _kept_in_words(kept: float) -> list[str]:
    if kept == 0.0:
        return [
            "All slopes were drawn to 0: the noise of training is as large as they were. The model answers one number for every row, and no "
            "column matters in it."
        ]
    if kept < 0.995:  # 1 in two digits
        return [
            f"All slopes were multiplied by {kept:.2g}, because a part of them, or all, was noise. Their noise below is multiplied, too."
        ]
    return []


def by_chance(count: int) -> str:
    """How many of so many weights of noise alone are expected beyond twice their noise, in words."""
    return f"of {count} weights that are noise alone, up to about {max(1, round(0.0455 * count))} would be"


def weight_noise(plan: Plan) -> float | None:
    """Standard deviation of the noise of training in each weight that leaves, of a feature that says nothing; None: not known.

    It is exact for a feature that is 0 in all rows, and an upper bound as a rule for others (docs/proofs/gradient_descent.md). Of
    descent in two parts no law of one weight is known here.
    """
    if getattr(plan.learner, "lead", 0):
        return None
    return plan.learner.weight_noise(plan.learner_noise, plan.n) if plan.private else 0.0


def most_noise(model: Model) -> Floats | None:
    """Standard deviation of the noise in each weight of a feature that no record has, (d,), as the learner sees features;
    None: not known. Proof: docs/proofs/gradient_descent.md, "A feature that no record has".

    Beside the noise of training: the released mean of such a feature, or that of rows drawn from a sketch, is noise, so that it is one small number in
    all rows and learns a part of what the intercept learns. Where slopes of a target were drawn to 0, this is what is left.
    """
    plan, weights = model.declared, model.weights
    single = weight_noise(plan)
    if single is None:
        return None
    off, taken = _off_centre(plan, model.maps, sketched=plan.private), taken_by_a_constant(model)
    leak = off * np.abs(taken).max() if len(off) == len(weights) - 1 else np.zeros(len(weights) - 1)
    return np.asarray(share_kept(plan, model.maps, weights) * np.hypot(single, leak))


ComparedWeights: TypeAlias = tuple[Floats, Floats | None, NDArray[np.bool_]]
"""What `as_compared` gives."""


def as_compared(model: Model) -> ComparedWeights:
    """(weights (d, K), about the standard deviation of the noise in each (d,), whether perhaps no record has its category (d,)), as they are
    learned, without what the categories of one column share; the noise is None where it is not known."""
    weights, most, d = model.weights[:-1], most_noise(model), model.domain.space.d
    perhaps_empty = np.zeros(len(weights), np.bool_)
    if most is None or not rows_are_centred(model.declared, model.maps) or len(weights) - d not in (0, 1):
        return weights, most, perhaps_empty
    known = known_cells(model.declared, model.maps)
    perhaps_empty[:d] = known.perhaps_empty
    squares = np.square(most[:d])
    # Weights are in units that a scale has learned: its noise is not in theirs.
    share, _ = _by_law(model, np.ones(d))
    own = share * np.sqrt(known.apart_squared(model.domain, squares))
    left = known.apart(model.domain, weights[:d])
    return (
        np.vstack([left, weights[d:]]),
        np.append(np.hypot(own, known.noise_of_average(model.domain, left, squares)), most[d:]),
        perhaps_empty,
    )


def _by_law(model: Model, unit: Floats) -> tuple[Floats, Floats]:
    """(how much of the noise of training that they have at most is in the weights of the cells of the domain, (d,), less what the cells of a
    category share; the standard deviation of what released scales leave in them, (d,)). Where no law is known all of it, and 0. unit: what each was
    multiplied by."""
    plan, maps = model.declared, model.maps
    known = known_cells(plan, maps)
    centred = plan.private and rows_are_centred(plan, maps)
    found = law(plan, maps, model.weights, known) if centred else None
    if found is None or found.along.shape[2] - len(unit) not in (0, 1):
        return np.ones(len(unit)), np.zeros(len(unit))
    return found.share(model.domain, known, unit), found.of_scales(model.domain, known, unit)


def _perhaps_constant(model: Model) -> NDArray[np.bool_] | None:
    """Which features that a sketch has centred are perhaps the same in nearly all records, (d,), as the learner sees them; None where no sketch has centred features,
    or steps mix them later."""
    if any(isinstance(released, Project) for released in model.maps):
        return None
    for planned, released in zip(model.declared.steps, model.maps):
        if planned.sketch is not None and isinstance(released, CompiledMap):
            found = most_within_a_cell(planned.sketch, released) >= _MOST_OF_ITS_RANGE
            found |= range_between_cells(planned.sketch, released) == 0.0
            more = len(model.weights) - 1 - len(found)  # of `Homogenize`
            return np.append(found, np.zeros(more, np.bool_)) if more in (0, 1) else None
    return None


def taken_by_a_constant(model: Model) -> Floats:
    """The weight that a feature which is the same small number in every row takes from the intercept, (K,), for each unit of that number."""
    plan, weights = model.declared, model.weights
    constant = next((m for m in model.maps if isinstance(m, HomogeneousRows)), None)
    if (
        constant is not None
    ):  # the feature it adds is a second intercept, which a constant shares row by row, with what was subtracted from it
        after = model.maps[model.maps.index(constant) + 1 :]
        subtracted = constant.center * math.prod(m.factor for m in after if isinstance(m, Multiply))
        of_bias = subtracted / plan.learner.bias**2 * weights[-1] if subtracted else 0.0
        return np.asarray((weights[-2] + of_bias) / constant.level)
    if plan.learner.bias:
        return np.asarray(weights[-1] / plan.learner.bias**2)
    return np.zeros(weights.shape[1])


def _off_centre(plan: Plan, maps: Sequence[ReleasedMap], sketched: bool = False) -> Floats:
    """How far from 0 a feature that no record has stands in all rows, (d,): the noise of the means that steps have subtracted. sketched: also how far
    one may stand that is centred by rows drawn from a sketch.

    A feature that `Homogenize` adds has none. Its scale of the rows is left out: the constant is scaled alike.
    """
    off = np.zeros(plan.domain.space.d)
    for planned, released in zip(plan.steps, maps):
        if isinstance(released, ScaleReleased) and len(released.affine.factor) == len(off):
            off = off * np.abs(released.affine.factor)
        elif isinstance(released, Multiply) and not any(isinstance(m, HomogeneousRows) for m in maps):
            off = off * abs(released.factor)
        elif isinstance(released, Project) and len(released.components) == len(off):
            off = np.sqrt(np.square(off) @ np.square(released.components))
        elif isinstance(released, HomogeneousRows):
            off = np.append(off, 0.0)
        if sketched and planned.sketch is not None and isinstance(released, CompiledMap):
            off = sketched_means(planned.sketch, released)
        each = mean_noise(planned, plan.n, released)
        if each is not None and len(each) == len(off):
            off = np.hypot(off, each)
            if isinstance(planned.step, ShrunkCenter) and isinstance(released, Subtract):
                off = np.hypot(off, planned.step.mean_left(released, float(np.linalg.norm(each))))
        if len(off) != planned.after.d:
            off = np.zeros(planned.after.d)
    return off


def rows_are_centred(plan: Plan, maps: Sequence[ReleasedMap]) -> bool:
    """Whether steps have subtracted a released mean of every feature that reaches the learner, so that a weight compares with 0.

    One that was drawn to 0 altogether has subtracted nothing.
    """
    return _centre(plan, maps) is not None


def not_with_zero(model: Model) -> str:
    """The sentence on a model whose rows are not centred, by what its features are: cells of a column, numbers, or both."""
    columns = model.domain.columns
    starts = tuple(f"{name}=" for name in columns)
    names = (n for n in mapped_names(model) or () if n != CONSTANT and not n.startswith(ALWAYS_ZERO))
    every = [name.startswith(starts) for name in names]
    every = every or [not isinstance(column, Numeric) for column in columns.values()] or [False]
    return _NOT_CENTRED + _NOT_WITH_ZERO[any(every), not all(every)]


def score_of_average(model: Model) -> float | None:
    """About the score of an average row of the training, of a target. None where rows are not centred, or noise of the released mean could move
    it by more than `_MOST_OFF`: that of features which no record has takes a part of what the intercept learns.

    It is that of rows which are made up of what was released; after a sketch, of the row that steps have made 0. The bias of `coefficients` is that of
    a raw row of zeros.
    """
    plan, maps, weights = model.declared, model.maps, model.weights
    centre, off = _centre(plan, maps), _off_centre(plan, maps)
    if centre is None or len(centre) != len(weights) - 1:
        return None
    if len(off) == len(centre) and np.linalg.norm(off * weights[:-1, 0]) > _MOST_OFF:
        return None
    if (made := score_of_average_rows(plan, maps, weights)) is not None:
        return float(made[0])
    return float(centre @ weights[:-1, 0] + weights[-1, 0])


def _centre(plan: Plan, maps: Sequence[ReleasedMap]) -> Floats | None:
    """The row that was 0 after the released mean was subtracted, as it reaches the learner, (d,); None where rows are not centred."""
    left = set(range(plan.domain.space.d))
    row: Floats | None = None
    for planned, released in zip(plan.steps, maps):
        step = planned.step
        if isinstance(step, Center):
            found = isinstance(released, Subtract) and bool(released.offset.any() or not plan.private)
            row = np.zeros(planned.after.d) if found else None
        elif isinstance(step, StandardScaler) and step.center == "mean":
            left -= features_of(step, planned.before)
            row = row if left else np.zeros(planned.after.d)
        elif isinstance(step, Fitted) and step.way == "sketch":
            row = np.zeros(
                planned.after.d
            )  # its outputs are centred by the mean of rows drawn from the sketch
        elif str(write_map(released)["map"]) not in _KEEPS_CENTRE or (
            row is None and isinstance(released, Project)
        ):  # of which features a mean was subtracted is not known any more
            left, row = set(range(planned.after.d)), None
        elif row is not None:
            row = released.transform(row[None])[0]
    return row


def _folded(maps: Sequence[ReleasedMap], left: int, noise: Floats) -> Floats:
    """That of each weight after the maps from number `left` on are folded into the weights."""
    turned, factor = None, 1.0
    for released in reversed(maps[left:]):
        if isinstance(released, Multiply):
            factor *= released.factor
        elif isinstance(released, Project):
            turned = released.components if turned is None else released.components @ turned
    return np.asarray(
        abs(factor) * (noise if turned is None else np.sqrt(np.square(turned) @ np.square(noise)))
    )


@dataclass(frozen=True, eq=False)
class _ByColumn:
    """weights: (d + 1, K), before maps that treat each column by itself. times: (d,), what each was multiplied by. maps: those that are left.
    cut: those that cut cells or rows, which are taken for rows that they leave as they are. level: the constant of a `Homogenize`, of which each
    row is a multiple afterwards; its weight stands before the bias and takes what a shift of features gives."""

    weights: Floats
    times: Floats
    maps: tuple[ReleasedMap, ...]
    cut: tuple[ReleasedMap, ...]
    level: float | None


def _by_column(maps: Sequence[ReleasedMap], weights: Floats) -> _ByColumn:
    """The weights after the last maps are folded into them that are affine in each column, up to their cuts; of a compiled pipeline
    its last operation, which only bounds what the pipeline makes."""
    left, cut = list(maps), list[ReleasedMap]()
    level: float | None = None
    added = weights[-1:]  # what a shift of features changes: the bias, or the weight of a constant
    body, bias = weights[:-1], weights[-1:]
    if left and isinstance(homogeneous := left[-1], HomogeneousRows):
        left.pop()
        level = homogeneous.level
        body, added = weights[:-2], weights[-2:-1]
        bias = bias - homogeneous.center * added
    times = np.ones(len(body))
    while left:
        last, minus, factor = left[-1], np.zeros_like(times), np.ones_like(times)
        if isinstance(last, ScaleReleased) and len(last.affine.factor) == len(times):
            minus, factor = last.affine.offset, last.affine.factor
        elif isinstance(last, Multiply):
            factor = factor * last.factor
        elif isinstance(last, Subtract):
            minus = last.offset
        elif isinstance(last, CompiledMap) and (bounding := last.last_affine()) is not None:
            minus, factor = bounding
        elif not (isinstance(last, ScaleRows) and last.factor == last.floor) and not isinstance(
            last, ClipMap | Identity
        ):
            break
        body, times = factor[:, None] * body, times * factor
        added = added - minus @ body / (1.0 if level is None else level)
        if not isinstance(last, Multiply | Subtract | Identity):
            cut.insert(0, last)
        if isinstance(last, CompiledMap):
            break
        left.pop()
    if level is None:
        return _ByColumn(np.vstack([body, added]), times, tuple(left), tuple(cut), None)
    return _ByColumn(np.vstack([body, added, bias]), np.append(times, 1.0), tuple(left), tuple(cut), level)


def coefficients(model: Model) -> Coefficients:
    """Those of a model. Raises ValueError where rows get features of their own (random, wavelets, a network): no weight is a column's."""
    from prepriv.preprocessing.encoder import Encoded

    if any(isinstance(m, AddRandomFeatures | Scatter | Encoded) for m in model.maps):
        raise ValueError(
            "the model does not have one weight per column: its rows have random features, wavelets or those of a network. A fit with steps='linear' has one weight per column (in a schema steps: linear)"
        )
    kept = tuple(m for m in model.maps if not isinstance(m, FillReleased | CountedClasses))
    flat = replace(model, maps=kept).flattened()
    single = most_noise(model)
    noise = None if single is None else _folded(kept, len(flat.maps), single)
    folded = _by_column(flat.maps, flat.weights)
    noise = None if noise is None else np.abs(folded.times) * noise
    if noise is not None and noise.any() and folded.level is not None:
        noise[-1] = np.nan  # of the constant: what shifts of columns give it has a noise that is not known
    left, weights = folded.maps, folded.weights
    found = Coefficients(
        weights[:-1],
        weights[-1],
        None,
        (),
        _scored(model),
        noise,
        unit=_unit(model),
        kept=share_kept(model.declared, model.maps, model.weights),
        centred=rows_are_centred(model.declared, model.maps),
        not_with_zero=not_with_zero(model),
        fills=noisy_fills(model.declared, model.maps),
        cut=tuple(
            s.step.name for s, m in zip(model.declared.steps, model.maps) if any(m is c for c in folded.cut)
        ),
    )
    constant = () if folded.level is None else (CONSTANT,)
    if constant:
        found = replace(
            found,
            scaled=tuple(s.step.name for s in model.declared.steps if isinstance(s.step, Homogenize)),
            level=float(folded.level or 1.0),
        )
    if left:
        last = max(i for i, m in enumerate(model.maps) if m is left[-1])
        before = model.declared.steps[: last + 1]
        spaces = [*(s.before for s in model.declared.steps), model.declared.space]
        names = _names(spaces[: last + 2], left)
        names = names and (*names, *constant)
        same_cells = all(isinstance(m, Roots) for m in left)
        return replace(
            _compared(model, found, single) if same_cells else found,
            names=names and names_of_bins(model, names),
            of_codes=note_of_codes(model) if names else "",
            after=tuple(s.step.in_full for s in before),
            unnamed="" if names else _unnamed(left),
            perhaps_constant=_perhaps_constant(model),
            learned=tuple(
                s.step.name
                for s, m in zip(before, model.maps)
                if s.step.way not in ("free", "public")
                and not isinstance(m, FillReleased | CountedClasses | Subtract)
            ),
        )
    weights, bias = raw_units(np.delete(weights, -2, axis=0) if constant else weights, model.domain)
    if noise is not None:
        own = noise[:-1] if constant else noise
        own = raw_units(np.append(own, 0.0)[:, None], model.domain)[0][:, 0]
        noise = np.append(own, noise[-1:]) if constant else own
    if (
        folded.level is not None
    ):  # what the low ends of columns give belongs to the constant, as other shifts do
        shift = (bias - folded.weights[-1]) / folded.level
        weights, bias = np.vstack([weights, folded.weights[-2] + shift]), folded.weights[-1]
    texts = [c for c in model.domain.columns.values() if isinstance(c, Text)]
    return replace(
        _compared(model, replace(found, weights=weights, bias=bias, noise=noise), single),
        unreached=hardly_reached(model.declared),
        names=(*model.domain.space.names, *constant) if model.domain.space.names else None,
        after=tuple(dict.fromkeys(_READ[bool(c.encoder)] for c in texts)),
        unnamed="" if model.domain.space.names else _unnamed(()),
    )


def _compared(model: Model, found: Coefficients, single: Floats | None) -> Coefficients:
    """Of weights of the cells of the domain, the same without what the cells of a category share, and the noise that is left in them.

    single: the noise that each has at most, as it is learned. Where no released mean says which cells are there, nothing changes.
    """
    weights, noise = found.weights, found.noise
    if noise is None or single is None or not found.centred:
        return found
    known, d = known_cells(model.declared, model.maps), model.domain.space.d
    share, scales = _by_law(model, noise[:d] / np.maximum(single[:d], 1e-300))
    most = np.sqrt(known.apart_squared(model.domain, np.square(noise[:d])))
    left = known.apart(model.domain, weights[:d])
    scales = np.hypot(scales, known.noise_of_average(model.domain, left, np.square(noise[:d])))
    moved = _moved(model.domain, weights[:d] - left)
    constant = len(weights) > d  # `Homogenize` adds it, and the intercept of rows is its weight
    none = np.zeros(int(constant), np.bool_)
    return replace(
        found,
        weights=np.vstack([left, weights[d:] + moved / found.level]),
        bias=found.bias if constant else found.bias + moved,
        noise=np.append(np.hypot(share * most, scales), noise[d:]),
        at_most=np.append(np.hypot(most, scales), noise[d:]) if model.private else None,
        perhaps_empty=np.append(known.perhaps_empty, none) if model.private else None,
        shared=bool(moved.any()),
        in_part=np.append(_in_part(model, known), none) if model.private else None,
    )


def _in_part(model: Model, known: CellsOfCategories) -> NDArray[np.bool_]:
    """Of which cells of the domain training perhaps learns a part alone, (d,)."""
    learned = part_learned(model.declared, model.maps, model.weights, known)
    few = (known.share > 0.0) & (known.share < _FEW)
    return few if learned is None else few | (learned < _WHOLE)


def _moved(domain: Domain, taken: Floats) -> Floats:
    """What the intercept gets, (K,), where this was taken from the cells of the domain, (d, K): of each category once."""
    first = np.cumsum([0, *(c.width for c in domain.columns.values())])[:-1]
    return np.asarray(taken[first].sum(axis=0))


def _unit(model: Model) -> str:
    target = model.domain.target
    if target is None:
        return ""
    low, high = target.log_ends if target.log else (target.low, target.high)
    of = "logarithm of the target" if target.log else "target"
    return f"weights move a score from -1 to 1, which stands for the {of} from {low:g} to {high:g}: {(high - low) / 2:g} times a weight is in its units"


def _scored(model: Model) -> tuple[Any, ...]:
    """The class of each score, in the order of the domain."""
    classes = tuple(model.domain.classes)
    return classes[1:] if model.weights.shape[1] == 1 else classes


_READ = ("hashing of texts", "a network of texts")


def _names(spaces: Sequence[Space], maps: Sequence[ReleasedMap]) -> tuple[str, ...] | None:
    """Names of the features after these maps; None where a map mixes columns."""
    names = next((space.names for space in reversed(spaces) if space.names), ())
    if spaces[-1].names:
        return spaces[-1].names
    if isinstance(maps[0], CompiledMap):
        names, maps = maps[0].names() or (), maps[1:]
    if not names or not all(_apart(m) for m in maps):
        return None
    added = tuple(CONSTANT for m in maps if isinstance(m, HomogeneousRows))
    return (*names, *added) if len(names) + len(added) == spaces[-1].d else None


def mapped_names(model: Model) -> tuple[str, ...] | None:
    """Names of the features of rows after all maps of a model; None where a map mixes columns, or two features would have one name."""
    maps = [m for m in model.maps if not isinstance(m, FillReleased | CountedClasses)]
    if not maps:
        return model.domain.space.names
    names = _names([*(s.before for s in model.declared.steps), model.declared.space], maps)
    if not names or not len({*names}) == len(names) == len(model.weights) - 1:
        return None
    return names_of_bins(model, names)


def _apart(released: ReleasedMap) -> bool:
    return str(write_map(released)["map"]) in APART


def _unnamed(maps: Sequence[ReleasedMap]) -> str:
    """Why features after these maps have no names."""
    if maps and isinstance(maps[0], CompiledMap):
        if mixes := maps[0].mixes():
            return f"features have no names: {mixes} makes them of several columns"
        maps = maps[1:]
    mixing = next((m for m in maps if not _apart(m)), None)
    if mixing is None:
        return (
            "features have no names: the domain does not name its columns, or two of them would have the same"
        )
    return f"features have no names: the released map {str(write_map(mixing)['map'])!r} makes several features of one column, or mixes columns"
