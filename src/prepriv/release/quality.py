"""How good a model is, for readers without statistics: of 100, beside the commonest class; for whom it fails.

Every number is one that was released, or of a table that was declared public.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prepriv.columns import MISSING, OTHER
from prepriv.guarantees.printed import exact, measured, measured_alone, up
from prepriv.release.shares import MOST, GroupError, Share, first_of, in_quotes, lowest
from prepriv.release.takes import Takes

RARELY_SEEN = 0.5  # recall below which a class is said to be missed
_OFTEN_SEEN = 2 / 3  # recall below which some advice is due
SUMS_MATTER = 0.05  # of the mean target: sums that may be off by more are warned of
_AT_BOUND = 0.03  # of the distance of the bounds of a target: a mean so near one of them lies at it
_AT_BOUND_ENDS = 0.1  # the same, of its interval
_WORTH_IT = 0.75  # of an error bound: with so much less, the noise of squared errors is little more than half
RARE_BESIDE = 0.5  # of the records of the commonest class: a class of fewer is rare


def bound_at(mean: tuple[float, float, float], bounds: tuple[float, float]) -> float | None:
    """The declared bound at which a mean with the ends of its interval lies, as cells in another unit make it; None where it lies at neither."""
    low, high = bounds
    for bound in bounds:
        apart, least, most = (abs(x - bound) / (high - low) for x in mean)
        if apart <= _AT_BOUND and min(least, most) <= 1e-9 and max(least, most) <= _AT_BOUND_ENDS:
            return bound
    return None


@dataclass(frozen=True)
class Quality:
    """What was measured of a model, as far as it was paid for or is public.

    Parameters
    ----------
    where : str
        Of which rows, in words.
    right : Share, optional
        Predictions that are right. None: not measured, or a model of a number.
    commonest : Share, optional
        Rows of the commonest class: what always naming it gets right. None: what was released does not say.
    lead : Share, optional
        How much more often it is right than the commonest class, of the same counts. None: not measured.
    recalls : tuple of Share
        Of each class, how many of its rows are recognised.
    groups : tuple of Share
        Of each group, how many are right.
    rare : tuple of str
        The classes that have at most half as many records as the commonest one, as far as this was measured.
    alarms : tuple of Share
        Of each rare class, how many predictions of it are right.
    balanced : Share, optional
        Balanced accuracy, the mean of the recalls. None: not measured.
    group_recalls : tuple of (str, tuple of Share)
        Of each class, the rare ones first, how many of its records are recognised in each group.
    group_balanced : tuple of Share
        Of each group, balanced accuracy.
    group_apart : mapping of str to str
        Of each group where balanced accuracy or AUC lies above chance, the first that does, with its interval.
    group_commonest : mapping of str to Share
        Of each group, the class with the most of its records, and what always naming it gets right there.
    between : tuple of str
        Sentences on how groups differ, each beyond what noise explains.
    by : str, optional
        The column of the groups.
    of_number : bool
        Whether the model predicts a number; then the four above say nothing.
    error, mean_error : float, optional
        Of a model of a number, root mean squared: of its predictions, and of always predicting the mean.
    error_ends, mean_error_ends : (float, float), optional
        The ends of the intervals of both. None: it is exact, on those rows.
    absolute : (float, float, float), optional
        Of a model of a number, the mean absolute error of its predictions and the ends of its interval. None: not measured.
    residual : (float, float, float), optional
        Of a model of a number, the mean of target less prediction and the ends of its interval. None: not measured.
    residual_in_noise : bool
        Whether noise makes more of that interval than the chance of which rows were drawn.
    mean_target : (float, float, float), optional
        The mean target and the ends of its interval. None: not measured.
    r2 : float, optional
        R². None: not measured.
    r2_ends : (float, float), optional
        The ends of the interval of R², which compares both errors. None: it is exact, or was not measured.
    beats_mean : bool
        Whether it is shown that predictions are nearer than the mean.
    quantile : float, optional
        The level of the quantile that predictions are, which are not compared with the mean. None: of other models.
    rows_enough : float, optional
        About how many rows with a number would show that, if R² is what was measured. None: not known.
    least_r2 : float, optional
        About the least R² that so many rows show at any ε.
    error_beside : float, optional
        The error of the mean, where R² was measured: what a smaller error bound is chosen by. It is printed only as `mean_error`.
    absolute_narrows : bool
        Whether the mean absolute error, among the measures, would narrow the interval of R², if errors are normally distributed.
    noise_hides : bool
        Whether less noise alone could show it. Not so where the chance of which rows were drawn hides it, too.
    error_bound : float, optional
        The error that larger ones count as, for the predictions and for the mean. None: none is cut.
    largest_error : float, optional
        The same, also where no error can be larger: noise grows with it.
    target_ends : (float, float), optional
        The declared bounds of the number: one outside counts as the nearest. None: a model of classes, or a table that was declared public.
    drafted : bool
        Whether these bounds may come from a private draft.
    group_errors : tuple of GroupError
        Of a model of a number, of each group: `error`, or `absolute` where that was not measured.
    group_residuals : tuple of GroupError
        Of a model of a number, of each group: `residual`, where no error is cut.
    measures : tuple of str
        What was measured, by the names of `--measure`.
    warning : str, optional
        What makes the numbers doubtful: a sentence.
    set_aside : bool
        Whether the training set these rows aside (`--holdout`).
    apart : str, optional
        Balanced accuracy or AUC with its interval, where that lies above chance. None: nothing shows that it tells classes apart.
    off : str
        How far probabilities are shown to be off on average; "" where they are not.
    several_commonest : bool
        Whether noise or chance may have chosen the commonest class among several.
    loss, loss_of_shares : (float, float, float), optional
        Log loss of its probabilities, and of answering every row with the share of each class, with the ends of their intervals. None: not measured, or refused.
    scores_alone : (str, int), optional
        The rarer of two classes and about how many records it has, where AUC was refused beside the noise of several measures and that of the
        scores alone would most probably give it. None: not so.
    r2_takes, recall_takes : Takes, optional
        What R² and recalls take that were refused. None: not measured, or none was refused.
    perhaps_trained_on : bool
        Whether so many test rows are declared that they may be those of the training.

    Examples
    --------
    >>> from prepriv.release.quality import Quality
    >>> from prepriv.release.shares import Share
    >>> made = Quality("500 rows of a public table", Share("accuracy", 0.956), Share("survived", 0.955))
    >>> made.beats_the_commonest
    True
    """

    where: str
    right: Share | None = None
    commonest: Share | None = None
    recalls: tuple[Share, ...] = ()
    groups: tuple[Share, ...] = ()
    rare: tuple[str, ...] = ()
    alarms: tuple[Share, ...] = ()
    balanced: Share | None = None
    group_recalls: tuple[tuple[str, tuple[Share, ...]], ...] = ()
    group_balanced: tuple[Share, ...] = ()
    group_commonest: Mapping[str, Share] = field(default_factory=dict)
    between: tuple[str, ...] = ()
    by: str | None = None
    of_number: bool = False
    error: float | None = None
    mean_error: float | None = None
    error_ends: tuple[float, float] | None = None
    absolute: tuple[float, float, float] | None = None
    residual: tuple[float, float, float] | None = None
    residual_in_noise: bool = True
    mean_target: tuple[float, float, float] | None = None
    r2: float | None = None
    r2_ends: tuple[float, float] | None = None
    beats_mean: bool = False
    rows_enough: float | None = None
    least_r2: float | None = None
    error_beside: float | None = None
    absolute_narrows: bool = False
    noise_hides: bool = True
    error_bound: float | None = None
    largest_error: float | None = None
    target_ends: tuple[float, float] | None = None
    drafted: bool = False
    group_errors: tuple[GroupError, ...] = ()
    group_residuals: tuple[GroupError, ...] = ()
    measures: tuple[str, ...] = ()
    warning: str | None = None
    set_aside: bool = False
    lead: Share | None = None
    apart: str | None = None
    off: str = ""
    several_commonest: bool = False
    loss: tuple[float, float, float] | None = None
    loss_of_shares: tuple[float, float, float] | None = None
    group_apart: Mapping[str, str] = field(default_factory=dict)
    scores_alone: tuple[str, int] | None = None
    perhaps_trained_on: bool = False
    r2_takes: Takes | None = None
    recall_takes: Takes | None = None
    mean_error_ends: tuple[float, float] | None = None
    quantile: float | None = None

    @property
    def beats_the_commonest(self) -> bool:
        """Whether it is shown to be right more often than always naming the commonest class would be: the intervals lie apart, or the
        whole interval of the difference is above zero."""
        if self.right is None or self.commonest is None or self.commonest.value is None:
            return False
        if self.lead is not None and self.lead.floor > 0.0:
            return True
        most = self.commonest.value if self.commonest.high is None else self.commonest.high
        return self.right.floor > (most or 0.0)

    @property
    def below_the_commonest(self) -> bool:
        """Whether it is shown to be right less often than always naming the commonest class would be."""
        if self.right is None or self.commonest is None or self.commonest.value is None:
            return False
        if self.lead is not None and self.lead.high is not None and self.lead.high < 0.0:
            return True
        most = self.right.value if self.right.high is None else self.right.high
        return most is not None and most < self.commonest.floor

    @property
    def better_than_shares(self) -> bool:
        """Whether its log loss is shown to be below that of the shares of the classes: the intervals lie apart."""
        return (
            self.loss is not None
            and self.loss_of_shares is not None
            and self.loss[2] < self.loss_of_shares[1]
        )

    @property
    def missed_in_groups(self) -> tuple[tuple[str, str], ...]:
        """(class, group) where it is shown that most of its records are not recognised: the whole interval says so."""
        return tuple(
            (name, share.name)
            for name, shares in self.group_recalls
            for share in shares
            if share.value is not None and (share.value if share.high is None else share.high) < RARELY_SEEN
        )

    @property
    def unknown_in_groups(self) -> tuple[tuple[str, str], ...]:
        """(rare class, declared group) where there were too few records beside the noise to say how often it is recognised."""
        return tuple(
            (name, share.name)
            for name, shares in self.group_recalls
            for share in shares
            if name in self.rare and share.value is None and share.name not in (OTHER, MISSING)
        )

    @property
    def guessed_in_groups(self) -> tuple[Share, ...]:
        """Balanced accuracy of the groups in which it is not shown to be above that of guessing, the lowest first."""
        chance = 1 / max(len(self.recalls), 2)
        return tuple(
            sorted(
                (s for s in self.group_balanced if s.value is not None and s.floor <= chance),
                key=lambda s: (s.value or 0.0, s.name),
            )
        )

    @property
    def apart_in_groups(self) -> tuple[str, ...]:
        """Of these, the groups in which its probabilities are shown to tell the classes apart."""
        return tuple(s.name for s in self.guessed_in_groups if s.name in self.group_apart)

    @property
    def unmeasured_groups(self) -> tuple[str, ...]:
        """The declared groups with too few records of a class, beside the noise, for balanced accuracy: one may answer the same for all records."""
        return tuple(
            s.name for s in self.group_balanced if s.value is None and s.name not in (OTHER, MISSING)
        )

    @property
    def unknown(self) -> tuple[str, ...]:
        """Classes whose records were too few beside the noise to say how often they are recognised."""
        return tuple(s.name for s in self.recalls if s.value is None)

    @property
    def missed(self) -> tuple[Share, ...]:
        """Classes whose rows are mostly not recognised."""
        return tuple(s for s in self.recalls if s.value is not None and s.value < RARELY_SEEN)

    @property
    def rarely_found(self) -> tuple[Share, ...]:
        """Classes of which it is shown that most rows are not recognised: the whole interval says so."""
        return tuple(
            s for s in self.missed if (s.high if s.high is not None else s.value or 0.0) < RARELY_SEEN
        )

    @property
    def cut_decides(self) -> bool:
        """Whether a single number, answered for every row, may be as good by cut errors: then those do not show that the model is worth anything."""
        low = 0.0 if self.r2_ends is None else self.r2_ends[0]
        shown = self.beats_mean and self.quantile is None
        return shown and self.error_bound is not None and low <= self._single

    @property
    def _single(self) -> float:
        """R² by cut errors that no single number exceeds; 1 where what it follows from was not measured."""
        if self.error_bound is None or self.mean_target is None or self.target_ends is None:
            return 1.0
        # Cut errors are at most the bound, whatever is known of them.
        error = self.error_bound if self.mean_error_ends is None else self.mean_error_ends[1]
        from prepriv.release.cut_errors import single_number  # which a fit does without

        at, low, high = self.mean_target
        return single_number(error, self.error_bound, (at, max(high - at, at - low)), self.target_ends)

    @property
    def worse_groups(self) -> tuple[GroupError, ...]:
        """The groups for which predictions are shown to be off by more than for all records, the worst first: the intervals lie apart."""
        whole = self._error_of_all
        most = None if whole is None else whole.high
        return tuple(
            one for one in _largest(self.group_errors) if most is not None and (one.low or 0.0) > most
        )

    @property
    def _error_of_all(self) -> GroupError | None:
        """The error that groups are told by, of all records; None where it does not stand out of the noise."""
        if "squared_error" not in self.measures:
            return None if self.absolute is None else GroupError("all", *self.absolute)
        if self.error is None or self.error_ends is None:
            return None
        return GroupError("all", self.error, *self.error_ends)

    @property
    def perhaps_empty_found(self) -> tuple[Share, ...]:
        """The classes that are recognised less often than two times in three, the lowest first."""
        return tuple(s for s in lowest(self.recalls) if (s.value or 0.0) < _OFTEN_SEEN)

    @property
    def asks_for_more(self) -> bool:
        """Whether there is such a class."""
        return bool(self.perhaps_empty_found)

    @property
    def unasked(self) -> bool:
        """Whether something was measured, and nothing that says how good it is."""
        asked = {"absolute_error", "squared_error"} if self.of_number else {"accuracy", "confusion"}
        return bool(self.measures) and not asked & set(self.measures)

    @property
    def known(self) -> bool:
        """Whether anything is said about how good it is."""
        off = self.error is not None or self.absolute is not None
        return off or (self.right is not None and self.right.value is not None)

    @property
    def compared(self) -> bool:
        """Whether errors of a number are compared with those of the mean."""
        return self.mean_error is not None or self.r2_ends is not None or self.beats_mean

    @property
    def _r2(self) -> str:
        """R² with its interval, as the table prints it."""
        if self.r2_ends is None:
            return "R²"
        value, low, high = measured(self.r2 or 0.0, *self.r2_ends)
        return f"R²{'' if self.r2 is None else ' ' + value} ({low} to {high})"

    def _beside_the_mean(self) -> Iterator[str]:
        """How predictions of a number compare with the mean."""
        if self.quantile is not None:
            yield (
                f"Each prediction is a {self.quantile:g} quantile, so how far it is off says little, and it is not compared with the mean. About {100 * self.quantile:g} of 100 targets "
                f"should lie below their prediction: the bars below 0 of {self._option('residuals')} count them."
            )
            return
        if not self.compared:
            why = (
                "the error of the mean does not stand out of the noise"
                if "r2" in self.measures
                else f"that was not measured, {self._option('r2')} does"
            )
            yield f"Whether they are nearer than always predicting the mean is not known: {why}."
        elif self.beats_mean:
            if self.error_bound is not None:
                yield self._by_cut_errors()
            elif self.mean_error is not None:
                known = (
                    ""
                    if self.r2_ends is None
                    else f": {self._r2} compares both, and its interval lies above 0"
                )
                yield f"So predictions are nearer than always predicting the mean{known}."
            else:
                yield (
                    "Always predicting the mean would be off by much more."
                    if self.error is not None
                    else f"They are nearer than always predicting the mean: {self._r2} is above 0."
                )
        elif self.r2_ends is not None and self.r2_ends[1] < 0:
            yield f"The model is worse than always predicting the mean: {self._r2} is below 0."
        elif self.r2_ends is not None:
            uncertain = ": the error of the mean is uncertain, too" if self.mean_error is not None else ""
            yield f"The model is not shown to be better than the mean{uncertain}. {self._r2} compares both, and its interval reaches 0."
        else:
            yield "The model is not shown to be better than the mean."

    def _by_cut_errors(self) -> str:
        """That predictions are nearer than the mean by cut errors, and whether a single number can be so, too."""
        assert self.error_bound is not None
        found = "" if self.r2_ends is None else f": {self._r2} compares both, and its interval lies above 0"
        told = f"By errors cut at {measured_alone(self.error_bound, 4)}, predictions are nearer than always predicting the mean{found}."
        most = float(up(self._single, 2))
        if not self.cut_decides:
            return f"{told} No single number reaches that: its R² by such errors is at most {most:g}."
        by = f": at worst its R² is {most:g}" if most < 1 else ""
        return f"{told} A single number, answered for every record, can be so, too, where large errors lie on one side{by}. Whether the model is better by whole errors was not measured."

    def _off(self) -> Iterator[str]:
        """How far predictions of a number are off."""
        if self.error is not None:
            off, ends = measured_alone(self.error), ""
            if self.error_ends is not None:
                off, low, high = measured(self.error, *self.error_ends)
                ends = f"{low} to {high}; "
                if self.error == self.error_ends[0] == 0.0:
                    off, ends = f"at most {high}", ""
            yield f"Predictions are off by {off} ({ends}root mean squared error{self._cut}), measured on {self.where}."
        if self.mean_error is not None:
            alike = ", with errors cut alike" if self.error_bound is not None else ""
            off, ends = measured_alone(self.mean_error), ""
            if self.mean_error_ends is not None:
                off, low, high = measured(self.mean_error, *self.mean_error_ends)
                ends = f"{low} to {high}; "
            yield f"Always predicting the mean would be off by {off} ({ends}root mean squared error, too{alike})."
        if self.absolute is not None:
            value, low, high = measured(*self.absolute)
            off = f"at most {high} (" if self.absolute[:2] == (0.0, 0.0) else f"{value} ({low} to {high}; "
            where = "" if self.error is not None else f", measured on {self.where}"
            cut = ", cut alike" if self._cut and self.error is not None else self._cut
            alone = "" if self.mean_error is None else ". That of the mean was not measured"
            yield f"On average predictions are off by {off}mean absolute error{cut}){where}{alone}."
        if self.mean_error is None and self.compared and self.error_bound is not None:
            yield "Errors of the mean are cut alike."
        if self.residual is not None:
            yield self._on_average(*self.residual)
        yield from self._sums()
        if self.target_ends is not None:
            low, high = (measured_alone(end, 4) for end in self.target_ends)
            yield f"A target outside {low} to {high} counts as the nearer bound in these numbers."

    def _on_average(self, value: float, low: float, high: float) -> str:
        """Whether predictions are too low or too high in the mean."""
        if low <= 0.0 <= high and self.error_bound is not None and self.target_ends is not None:
            whole = measured_alone(self.target_ends[1] - self.target_ends[0], 4)
            return (
                f"Cut errors do not show predictions to be too low or too high on average{self._cut}. Whole errors can: measure them with an error bound of {whole} "
                "before predictions are added up."
            )
        if low <= 0.0 <= high:
            told, least, most = measured(value, low, high)
            return f"Predictions are not shown to be too low or too high on average: targets less predictions have the mean {told} ({least} to {most})."
        side = "below" if low > 0 else "above"
        off, least, most = measured(abs(value), *sorted((abs(low), abs(high))))
        told = f"On average predictions are {off} ({least} to {most}) {side} the targets{self._cut}."
        if self.error_bound is None:
            return told
        bound = measured_alone(self.error_bound, 4)
        return (
            f"{told} Errors beyond {bound} were cut, which alone can cause this, so it does not say whether sums of predictions are too small or too large: whole errors tell"
            f"{self._whole_bound}."
        )

    @property
    def _whole_bound(self) -> str:
        """The option that cuts no error, in brackets."""
        if self.target_ends is None:
            return ""
        whole = exact(float(f"{self.target_ends[1] - self.target_ends[0]:.6g}"))
        return f" (`--error-bound {whole}`, `{self._python('error_bound')}={whole}` in Python)"

    def _sums(self) -> Iterator[str]:
        """By how much sums of predictions can be off, where whole errors were measured and the mean target is known."""
        if self.mean_target is not None:
            mean, least, most = measured(*self.mean_target)
            yield f"The mean target is {mean} ({least} to {most})."
        if self.residual is None or self.error_bound is not None:
            return
        known = self.mean_target is not None or self.sums_hold  # else the bounds, which say little
        if not known or not self._least_mean:
            if self.residual[1] <= 0.0 <= self.residual[2]:
                return
            why = (
                f"the mean target was not measured, {self._option('r2')} does"
                if "r2" not in self.measures
                else "the mean target is not shown to differ from 0"
            )
            yield f"How much that is of a sum of predictions is not known: {why}."
            return
        _, low, high = (x / self._least_mean for x in self.residual)
        if self.target_ends is not None and self.target_ends[0] >= 0.0:
            high = min(high, 1.0)  # predictions lie within the bounds, so no sum of them is negative
        small, large = (measured_alone(float(up(100 * max(x, 0.0), 2))) for x in (high, -low))
        if low > 0.0:
            off = f"at most {small} % too small"
        elif high < 0.0:
            off = f"at most {large} % too large"
        else:
            off = f"at most {small} % too small and at most {large} % too large"
        of = "" if self.by is None else f": those of all records, not of each group of `{self.by}`"
        yield f"Sums of predictions are {off}{of}."

    @property
    def sums_hold(self) -> bool:
        """Whether it is shown that sums of predictions are off by less than 5 %: no error is cut, and the interval of the mean residual has
        no value that is larger, beside the smallest mean target that what was released, or else the declared bounds, allow."""
        return (
            self.residual is not None
            and self.error_bound is None
            and self._farthest < SUMS_MATTER * self._least_mean
        )

    @property
    def _farthest(self) -> float:
        """How far predictions can be off on average, by the interval of the mean residual."""
        return 0.0 if self.residual is None else max(map(abs, self.residual[1:]))

    @property
    def _least_mean(self) -> float:
        """The mean target nearest to 0 that its interval allows, or else the bounds."""
        low, high = self.target_ends or (0.0, 0.0) if self.mean_target is None else self.mean_target[1:]
        return 0.0 if low <= 0.0 <= high else min(abs(low), abs(high))

    @property
    def at_bound(self) -> str:
        """That the mean target lies at a declared bound, as labels in the wrong unit make it, and what to do: sentences; nothing where it does not.
        The mean of a count that is mostly small lies further from 0 as a rule."""
        if self.mean_target is None or self.target_ends is None:
            return ""
        bound = bound_at(self.mean_target, self.target_ends)
        if bound is None:
            return ""
        at, lowest, highest = (measured_alone(x, 4) for x in (bound, *self.target_ends))
        return (
            f"As far as this measurement can tell, the mean target lies at the declared bound {at}, and a label beyond a bound counts as the nearer one. If most labels should not "
            f"lie there, are they in the unit of the bounds, {lowest} to {highest}? `prepriv validate DATA --schema S.yaml` (`prepriv.validate(domain, X, y)`) counts those "
            "outside, for the curator alone."
        )

    def of_sums(self) -> str:
        """What the mean residual leaves to do before predictions are added up; nothing where it was not measured, of whole errors, or where `sums_hold`."""
        if self.residual is None or self.error_bound is not None or self.sums_hold:
            return ""
        _, low, high = self.residual
        part = f"{100 * SUMS_MATTER:.0f} %"
        if self.mean_target is not None:
            mean, least, most = measured(*self.mean_target)
            beside = f"The mean target is {mean} ({least} to {most}), so sums can be off by more than {part}."
        else:
            enough, known = self._farthest / SUMS_MATTER, max(map(abs, self.target_ends or (0.0, 0.0)))
            beside = (
                f"Sums are off by less than {part} if the mean target is {measured_alone(float(up(enough, 2)))} or more: "
                f"{self._option('r2')} beside it tells the mean target."
                if enough <= known
                else f"Whatever the mean target is, sums can be off by more than {part}."
            )
        if low <= 0.0 <= high:
            _, above, below = measured(*self.residual)
            return (
                f"Before predictions are added up, measure more closely how far they are off on average: as measured, anything between {below} too low and {above.lstrip('-')} too high "
                f"is possible. {beside} {self._closer}."
            )
        _, less, more = measured(abs(self.residual[0]), *sorted((abs(low), abs(high))))
        side = "low" if low > 0 else "high"
        return f"Do not add its predictions up as they are: on average they are {less} to {more} too {side}. {beside}"

    @property
    def _closer(self) -> str:
        """What makes the interval of the mean residual narrower: the end of a sentence."""
        if not self.residual_in_noise:
            return f"{self._more_rows[0].upper()}{self._more_rows[1:]} would tell more, and a larger ε alone may not be enough"
        named = [
            self._more_rows,
            "a larger ε",
            *self._fewer_measures(*(m for m in ("r2", "residuals") if m in self.measures)),
        ]
        if self.by is not None:
            named.append(f"no `--by` (`{self._python('by')}=` in Python)")
        told = _either(named)
        return f"{told[0].upper()}{told[1:]} would tell more"

    @property
    def _cut(self) -> str:
        """Where errors are cut, to stand after the name of an error."""
        if self.error_bound is None:
            return ""
        most = measured_alone(self.error_bound, 4)
        return f", where errors above {most} count as {most}"

    @property
    def unseen(self) -> str:
        """What numbers about a numeric target cannot show: a sentence; nothing of classes."""
        if self.target_ends is None:
            return ""
        most = "" if self.error_bound is None else measured_alone(self.error_bound, 4)
        cut = (
            f", and errors above {most} (`--measure residuals` counts the errors near it and above)"
            if most
            else ""
        )
        drafted = (
            " Where a private draft found the bounds, it says how many records may lie outside: in the comments of the schema, in `domain.drafts[0].told` in Python."
            if self.drafted
            else ""
        )
        return f"These numbers do not see what is cut: targets outside the bounds{cut}.{drafted} If you know that there are such targets, declare wider bounds."

    def good(self) -> Iterator[str]:
        """How good it is, beside what needs no model: sentences."""
        if self.warning is not None:
            yield self.warning
        if self.of_number and not self.known:
            yield (
                f"How far predictions are off was not measured.{self._other()}"  # what measures it stands in `to_do`
                if self.unasked
                else f"How far predictions are off does not stand out of the noise, on {self.where}.{self._other()}"
            )
            if self.r2_ends is not None:
                yield from self._beside_the_mean()
            if self.error_bound is not None and "r2" in self.measures:
                most = measured_alone(self.error_bound, 4)
                yield f"Errors above {most} count as {most}, those of the mean, too."
            if self.residual is not None:
                yield self._on_average(*self.residual)
            yield from self._sums()
            return
        if self.of_number:
            yield from self._off()
            yield from self._beside_the_mean()
            return
        if self.right is None and self.unasked:
            yield f"How often it is right was not measured: {self._option('confusion')} does.{self._other()}"
            return
        if self.right is None or self.right.value is None:
            yield f"Too few rows stood out of the noise to say how often it is right, on {self.where}."
            return
        yield f"Of 100 predictions {self.right} are right, measured on {self.where}."
        if self.commonest is None or self.commonest.value is None:
            why = f"it was not measured; {self._option('confusion')} does"
            if self.commonest is not None:
                why = f"there were too few records beside the noise; {self._more}"
            yield f"It is not known how often the commonest class alone would be right: {why}."
            return
        two = len(self.recalls) == 2 and (self.commonest.low or 0.0) <= 0.5
        several = len(self.recalls) > 2 and self.several_commonest
        named = "perhaps the commonest class" if two or several else "the commonest class"
        yield f"Always predicting {in_quotes(self.commonest)}, {named}, would be right {self.commonest} times in 100."
        if self.below_the_commonest:
            yield f"So the model is right less often than always answering {in_quotes(self.commonest)}{self._by_how_much}."
        elif self.beats_the_commonest:
            yield f"So the model is right more often than always answering {in_quotes(self.commonest)}{self._by_how_much}."
        else:
            yield f"As far as this measurement can tell, the model does not beat always answering {in_quotes(self.commonest)} in accuracy."
        yield from self._of_rare()
        yield from self._of_probabilities()

    def _of_probabilities(self) -> Iterator[str]:
        """Log loss beside that of the shares of the classes."""
        if self.loss is None or self.loss_of_shares is None:
            return
        low, most = self.loss[1], self.loss_of_shares[2]
        told, other = (
            f"{v} ({a} to {b})" for v, a, b in (measured(*self.loss), measured(*self.loss_of_shares))
        )
        if self.better_than_shares:
            known = "Its probabilities are better than"
        elif low > most:
            known = "Its probabilities are worse than"
        else:
            known = "Its probabilities are not shown to be better or worse than"
        yield f"{known} the share of each class, answered for every row: log loss {told} beside {other}, with large losses cut."

    @property
    def _by_how_much(self) -> str:
        """The ends of the difference where it shows which of the two is right more often, in 100 predictions. Its value is that of counts with noise of their own, and need not
        be the difference of the two shares."""
        if self.lead is None or self.lead.low is None or self.lead.high is None:
            return ""
        least, most = sorted((abs(self.lead.low), abs(self.lead.high)))
        if self.lead.low * self.lead.high <= 0.0:
            return ""
        _, low, high = measured(least, least, most, digits=1, shift=2)
        return f", by {'up' if low == '0' else low} to {high} in 100"

    def _of_rare(self) -> Iterator[str]:
        """What accuracy hides where a class is rare."""
        if not self.rare or self.commonest is None:
            return
        if self.balanced is not None and self.balanced.value is not None:
            yield (
                f"Where each class counts alike, it is right {self.balanced} times in 100 (balanced accuracy). "
                f"Always answering {in_quotes(self.commonest)} is right {100 / len(self.recalls):.3g} times in 100 by that measure."
            )
            if self.balanced.floor <= 1 / len(self.recalls):
                yield "So its predictions are not shown to tell the classes apart better than guessing" + (
                    "." if self.apart is None else f", though its probabilities do ({self.apart})."
                )
        for share in lowest(self.alarms):
            yield f"Of 100 alarms (predictions of {in_quotes(share)}), {share} are right."
        yield from _beside(self.alarms, "class", "classes")
        if few := tuple(s.name for s in self.alarms if s.value is None):
            yield f"Too few alarms (predictions of {first_of(few)}) beside the noise to say how many are right."

    @property
    def _more(self) -> str:
        return f"{self.more('confusion')} would tell more"

    def more(self, measure: str) -> str:
        """What has less noise beside the records, of what was not done yet, to measure this."""
        return _either(
            [
                self._more_rows,
                "a larger ε",
                *self._fewer_measures(measure),
                *([f"no `--by` (`{self._python('by')}=` in Python)"] if self.by is not None else []),
                *self._smaller_bound,
            ]
        )

    @property
    def _for_recall(self) -> str:
        """What recalls take that were refused: the end of a sentence."""
        if self.recall_takes is None:
            return self._more
        more = f"{self._more_rows} {'holds' if self.set_aside else 'hold'} more of them"
        return f"{self.recall_takes.of_recall(self._option('confusion'), set_aside=self.set_aside)}; {more}"

    @property
    def for_r2(self) -> str:
        """What R² takes that was refused: the end of a sentence."""
        if self.r2_takes is None:
            return f"{self.more('r2')} would tell more"
        return self.r2_takes.of_r2(self._option("r2"), set_aside=self.set_aside)

    @property
    def more_on_the_mean(self) -> str:
        """What would show that predictions are nearer than the mean, of what can: the end of a sentence."""
        told = f"{self.more('r2')} would tell more"
        if not self.noise_hides:
            told = f"{_either([self._more_rows, *self._smaller_bound, *self._beside_absolute])} would tell more, and a larger ε alone may not be enough"
        if self.rows_enough is None:
            return told
        what = "set aside" if self.set_aside else "to test on"
        return f"{told}; about {float(up(self.rows_enough, 2)):,.0f} records with a declared number {what} would do, if R² and the deviation of the target are as measured"

    @property
    def _more_rows(self) -> str:
        larger = "" if self.rows_enough is not None else " (`--holdout`, `holdout=` in Python)"
        return f"a larger holdout{larger}" if self.set_aside else "more test rows"

    def _python(self, option: str) -> str:
        """What an option of a measurement is called in Python: of a holdout it is one of the training."""
        return f"evaluate_{option}" if self.set_aside else option

    def _option(self, *measures: str) -> str:
        """What measures them, on the command line and in Python."""
        return option_of(*measures, set_aside=self.set_aside)

    @property
    def _groups(self) -> str:
        return f"Whether it serves some groups worse was not measured: `--by COLUMN` (`{self._python('by')}=` in Python) does."

    def _fewer_measures(self, *kept: str) -> list[str]:
        costs = {*self.measures} - ({"squared_error"} if "r2" in kept else set())  # R² is made of it
        return [f"{self._option(*kept)} alone"] if costs > {*kept} else []

    @property
    def _smaller_bound(self) -> list[str]:
        """Half the error bound, or twice the error of the mean where that is more: it cuts few errors."""
        off, largest = self.mean_error or self.error or self.error_beside or 0.0, self.largest_error or 0.0
        least = max(largest / 2, float(up(2 * off, 2)))
        if off <= 0 or least > _WORTH_IT * largest:
            return []
        named, bound = self._python("error_bound"), exact(float(f"{least:.4g}"))
        return [
            f"a smaller error bound (`--error-bound {bound}`, `{named}={bound}` in Python; it cuts the errors above it, and shows less)"
        ]

    @property
    def _beside_absolute(self) -> list[str]:
        """The measure that narrows R² by what is known of the spread of errors."""
        return [self._option("r2", "absolute_error")] * self.absolute_narrows

    def _other(self) -> str:
        """What was measured besides, if anything."""
        return f" What was measured on {self.where}: {', '.join(self.measures)}." if self.measures else ""

    def fails(self) -> Iterator[str]:
        """For whom it fails: sentences, the worst first."""
        for share in lowest(self.recalls):
            yield f"Of 100 records that are truly {in_quotes(share)}, it recognises {share}."
        yield from _beside(self.recalls, "class", "classes")
        if self.unknown:
            yield f"Too few records beside the noise to say how often it recognises {first_of(self.unknown)}: {self._for_recall}."
        if not self.of_number and not self.recalls:
            yield f"How well it recognises each class was not measured: {self._option('confusion')} does."
        if self.of_number:
            yield from self._fails_by_number()
            return
        told: set[str] = set()
        for name, shares in self.group_recalls:
            if name not in self.rare:
                continue
            truly = in_quotes(Share(name))
            for share in lowest(shares):
                yield f"Of 100 records of {in_quotes(share)} (`{self.by}`) that are truly {truly}, it recognises {share}."
            yield from _beside(shares, f"group of `{self.by}`", f"groups of `{self.by}`")
            if few := tuple(s.name for s in shares if s.value is None):
                told |= {*few}
                yield f"Too few records of {first_of(few)} (`{self.by}`) beside the noise to say how often it recognises {truly} there."
        for share in lowest(self.groups):
            most = self.group_commonest.get(share.name)
            beside = (
                ""
                if most is None
                or most.value is None
                or share.floor > (most.value if most.high is None else most.high)
                else f" Always answering {in_quotes(most)} would be right {most} times in 100 there."
            )
            yield f"Of 100 predictions for records of {in_quotes(share)} (`{self.by}`), {share} are right.{beside}"
        yield from _beside(self.groups, f"group of `{self.by}`", f"groups of `{self.by}`")
        yield from self._guessed()
        recalls = {share.name: share for share in self.recalls}
        pairs = [(recalls[name], shares) for name, shares in self.group_recalls if name in recalls]
        if self.right is not None:
            pairs.append((self.right, self.groups))
        if any(_outside(whole.value, [s.value for s in shares]) for whole, shares in pairs):
            yield _NOT_BETWEEN
        yield from self.between
        if few := tuple(s.name for s in self.groups if s.value is None and s.name not in told):
            yield f"Too few records beside the noise to say how often it is right for {first_of(few)} (`{self.by}`)."
        if self.by is None:
            yield self._groups
        elif any(share.name == OTHER for share in self.groups):
            yield self._of_other()

    def _guessed(self) -> Iterator[str]:
        """In which groups it is not shown to do more than guess."""
        guessed, chance = self.guessed_in_groups, 1 / max(len(self.recalls), 2)
        if not guessed:
            return
        named = ", ".join(f"{in_quotes(s)} {s}" for s in guessed[:MOST])
        more = f" and {len(guessed) - MOST} more" if len(guessed) > MOST else ""
        yield (
            f"Among records of these groups of `{self.by}` its predictions are not shown to tell the classes apart better than guessing, which has a balanced accuracy of "
            f"{100 * chance:.3g} in 100: {named}{more}."
        )
        apart = self.apart_in_groups
        if apart:
            named = ", ".join(f"{in_quotes(Share(g))} ({self.group_apart[g]})" for g in apart[:MOST])
            more = f" and in {len(apart) - MOST} more" if len(apart) > MOST else ""
            yield f"Its probabilities do tell them apart in {named}{more}."
        every = len(guessed) == sum(s.value is not None for s in self.group_balanced)
        if every and not apart and self.apart is not None:
            yield (
                f"That is so in every group that could be measured. So what it knows of all records may be their `{self.by}` alone, or noise hides what "
                "it knows within groups."
            )

    def _fails_by_number(self) -> Iterator[str]:
        """For which groups predictions of a number are off, the worst first."""
        if self.by is None:
            yield self._groups
            return
        if not self.group_errors:
            yield "How far predictions for each group are off was not measured."
            yield from self._sums_of_groups()
            yield from self.between
            return
        named = "root mean squared error" if "squared_error" in self.measures else "mean absolute error"
        whole = self._error_of_all
        for place, one in enumerate(_largest(self.group_errors)):
            beside = "" if place or whole is None else f", those for all records by {whole}"
            end = "" if place else f": {named}{self._cut}"
            yield f"Predictions for records of {in_quotes(one)} (`{self.by}`) are off by {one}{beside}{end}."
        if whole is not None and _outside(whole.value, [one.value for one in self.group_errors]):
            yield _NOT_BETWEEN
        if (more := sum(one.value is not None for one in self.group_errors) - MOST) > 0:
            yield f"For {more} more group{'s' if more > 1 else ''} of `{self.by}` they are off by less: all are in the measurement."
        if few := tuple(one.name for one in self.group_errors if one.value is None):
            yield (
                f"Too few records of {first_of(few)} (`{self.by}`) beside the noise to say how far predictions are off there."
            )
        yield from self._sums_of_groups()
        yield from self.between
        if any(one.name == OTHER for one in self.group_errors):
            yield self._of_other()

    def _sums_of_groups(self) -> Iterator[str]:
        """In which groups predictions are shown to be too low or too high on average, by whole errors: the farthest off first."""
        apart = []
        for one in self.group_residuals:
            low, high = one.low or 0.0, one.high or 0.0
            if one.value is not None and (low > 0.0 or high < 0.0):
                apart.append((min(abs(low), abs(high)), max(abs(low), abs(high)), one, low > 0.0))
        apart.sort(key=lambda told: (-told[0], told[2].name))
        for least, most, one, low_side in apart[:MOST]:
            _, less, more = measured(abs(one.value or 0.0), least, most)
            side = "low" if low_side else "high"
            yield (
                f"Predictions for records of {in_quotes(one)} (`{self.by}`) are on average {less} to {more} too {side}: do not add them up there."
            )
        if rest := [told[2].name for told in apart[MOST:]]:
            yield f"Nor add them up in {first_of(rest)}, where they are less far off on average."

    def _of_other(self) -> str:
        return f'"{OTHER}" are the records whose `{self.by}` is a value that the schema does not declare.'

    def _rare_to_json(self) -> dict[str, Any]:
        return {
            "rare": list(self.rare),
            "alarms_right": [_plain(s) for s in self.alarms],
            "balanced_accuracy": _plain(self.balanced),
            "recall_by_group": [
                {"class": name, "groups": [_plain(s) for s in shares]} for name, shares in self.group_recalls
            ],
            "balanced_accuracy_by_group": [_plain(s) for s in self.group_balanced],
            "commonest_class_by_group": {g: _plain(s) for g, s in self.group_commonest.items()},
        }

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "where": self.where,
            "right": _plain(self.right),
            "commonest_class": _plain(self.commonest),
            **({} if self.lead is None else {"more_right_than_the_commonest_class": _plain(self.lead)}),
            "recall": [_plain(s) for s in self.recalls],
            "by": self.by,
            "groups": [_plain(s) for s in self.groups],
            "error": self.error,
            "error_ends": None if self.error_ends is None else list(self.error_ends),
            "error_of_the_mean": self.mean_error,
            **({} if self.absolute is None else {"mean_absolute_error": list(self.absolute)}),
            **({} if self.residual is None else {"mean_residual": list(self.residual)}),
            **({} if self.mean_target is None else {"mean_target": list(self.mean_target)}),
            **({"group_errors": [dict(vars(one)) for one in self.group_errors]} if self.group_errors else {}),
            **(
                {"group_mean_residuals": [dict(vars(one)) for one in self.group_residuals]}
                if self.group_residuals
                else {}
            ),
        } | (
            self._rare_to_json()
            if not self.of_number
            else {"error_bound": self.error_bound}
            if self.error_bound is not None
            else {}
        )


_NOT_BETWEEN = (
    f'What all records say need not lie between what the groups say: it is from the sum of the noisy counts of all groups, "{OTHER}" and '
    f'"{MISSING}" included.'
)


def _outside(whole: float | None, groups: Sequence[float | None]) -> bool:
    """Whether a number of all records lies outside the range of those of the groups that have one."""
    known = [value for value in groups if value is not None]
    return whole is not None and len(known) > 1 and not min(known) <= whole <= max(known)


def option_of(*measures: str, set_aside: bool) -> str:
    """What measures these, on the command line and in Python. set_aside: on rows that a training sets aside."""
    options, names = " ".join(f"--measure {m}" for m in measures), ", ".join(f'"{m}"' for m in measures)
    return f"`{options}` (`{'evaluate_' * set_aside}measures=[{names}]` in Python)"


def _largest(errors: tuple[GroupError, ...]) -> list[GroupError]:
    """Those that are known, the largest first, as many as are named."""
    known = [one for one in errors if one.value is not None]
    return sorted(known, key=lambda one: (-(one.value or 0.0), one.name))[:MOST]


def _either(ways: Sequence[str]) -> str:
    """One of them or another."""
    return f"{', '.join(ways[:-1])} or {ways[-1]}" if len(ways) > 1 else ways[0]


def _beside(shares: tuple[Share, ...], one: str, several: str) -> Iterator[str]:
    """That more are known than `lowest` names, if so."""
    if (more := sum(s.value is not None for s in shares) - MOST) > 0:
        yield f"In {more} more {one if more == 1 else several} it is more: all are in the measurement."


def _plain(share: Share | None) -> dict[str, Any] | None:
    return None if share is None else dict(vars(share))
