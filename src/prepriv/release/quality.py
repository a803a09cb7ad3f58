"""How good a model is, for readers without statistics: of 100, beside the commonest class; for whom it fails; what to do.

Every number is one that was released, or of a table that was declared public.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prepriv._text import printable
from prepriv.guarantees.printed import measured

_MOST = 5  # classes, or groups, that are named: the lowest
RARELY_SEEN = 0.5  # recall below which a class is said to be missed
_OFTEN_SEEN = 2 / 3  # recall below which some advice is due


@dataclass(frozen=True)
class Share:
    """A share with its interval, None where too few rows stood beside the noise.

    Parameters
    ----------
    name : str
        Of the class or group it is of.
    value, low, high : float, optional
        The share, in [0, 1], and the ends of its interval.

    Examples
    --------
    >>> from prepriv.release.quality import Share
    >>> print(Share("ill", 0.844, 0.80, 0.88))
    84 (80 to 88)
    """

    name: str
    value: float | None = None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.value is None:
            return "unknown"
        if self.low is None or self.high is None or self.low == self.high:
            return f"{100 * self.value:.1f}"
        value, low, high = measured(self.value, self.low, self.high, digits=1, shift=2)
        return f"{value} ({low} to {high})"

    @property
    def floor(self) -> float:
        """The least that is shown."""
        return self.low if self.low is not None else self.value or 0.0


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
    recalls : tuple of Share
        Of each class, how many of its rows are recognised.
    groups : tuple of Share
        Of each group, how many are right.
    by : str, optional
        The column of the groups.
    of_number : bool
        Whether the model predicts a number; then the four above say nothing.
    error, mean_error : float, optional
        Of a model of a number, root mean squared: of its predictions, and of always predicting the mean.
    error_ends : (float, float), optional
        The ends of the interval of `error`. None: it is exact, on those rows.
    r2_ends : (float, float), optional
        The ends of the interval of R², which compares both errors. None: it is exact, or was not measured.
    beats_mean : bool
        Whether it is shown that predictions are nearer than the mean.
    error_bound : float, optional
        The error that larger ones count as, for the predictions and for the mean. None: none is cut.
    measures : tuple of str
        What was measured, by the names of `--measure`.
    warning : str, optional
        What makes the numbers doubtful: a sentence.
    set_aside : bool
        Whether the training set these rows aside (`--holdout`).
    apart : str, optional
        Balanced accuracy or AUC with its interval, where that lies above chance. None: nothing shows that it tells classes apart.

    Examples
    --------
    >>> from prepriv.release.quality import Quality, Share
    >>> made = Quality("500 rows of a public table", Share("accuracy", 0.956), Share("survived", 0.955))
    >>> made.beats_the_commonest
    True
    """

    where: str
    right: Share | None = None
    commonest: Share | None = None
    recalls: tuple[Share, ...] = ()
    groups: tuple[Share, ...] = ()
    by: str | None = None
    of_number: bool = False
    error: float | None = None
    mean_error: float | None = None
    error_ends: tuple[float, float] | None = None
    r2_ends: tuple[float, float] | None = None
    beats_mean: bool = False
    error_bound: float | None = None
    measures: tuple[str, ...] = ()
    warning: str | None = None
    set_aside: bool = False
    apart: str | None = None

    @property
    def beats_the_commonest(self) -> bool:
        """Whether it is shown to be right more often than always naming the commonest class would be: the intervals lie apart."""
        if self.right is None or self.commonest is None or self.commonest.value is None:
            return False
        most = self.commonest.value if self.commonest.high is None else self.commonest.high
        return self.right.floor > (most or 0.0)

    @property
    def missed(self) -> tuple[Share, ...]:
        """Classes whose rows are mostly not recognised."""
        return tuple(s for s in self.recalls if s.value is not None and s.value < RARELY_SEEN)

    @property
    def often_cut(self) -> bool:
        """Whether many errors of the mean may be cut: then a constant that is not the mean can seem better than it, too."""
        return (
            self.error_bound is not None
            and self.mean_error is not None
            and self.mean_error > self.error_bound / 2
        )

    @property
    def asks_for_more(self) -> bool:
        """Whether a class is recognised less often than two times in three."""
        return any(s.value is not None and s.value < _OFTEN_SEEN for s in self.recalls)

    @property
    def unasked(self) -> bool:
        """Whether something was measured, and nothing that says how good it is."""
        asked = {"absolute_error", "squared_error"} if self.of_number else {"accuracy", "confusion"}
        return bool(self.measures) and not asked & set(self.measures)

    @property
    def known(self) -> bool:
        """Whether anything is said about how good it is."""
        return self.error is not None or (self.right is not None and self.right.value is not None)

    @property
    def _compared(self) -> str:
        """Why that is not shown although the intervals of the errors may lie apart."""
        if self.r2_ends is None or self.mean_error is None:
            return ""
        low, high = self.r2_ends
        return f": the error of the mean is uncertain, too. R² compares both, and its interval ({low:.2f} to {high:.2f}) reaches 0"

    def good(self) -> Iterator[str]:
        """How good it is, beside what needs no model: sentences."""
        if self.warning is not None:
            yield self.warning
        if self.of_number and self.error is None:
            why = (
                "was not measured" if self.unasked else "was not measured, or does not stand out of the noise"
            )
            yield f"The error of predictions {why}, on {self.where}.{self._other()}"
            return
        if self.error is not None:
            off = f"{self.error:.3g}"
            if self.error_ends is not None:
                off, low, high = measured(self.error, *self.error_ends)
                off += f" ({low} to {high})"
            yield f"Predictions are off by {off} (root mean squared error), measured on {self.where}."
            if self.mean_error is not None:
                yield f"Always predicting the mean would be off by {self.mean_error:.3g}."
            if self.error_bound is not None:
                yield f"Errors above {self.error_bound:.3g} count as {self.error_bound:.3g}, for the model and for the mean alike."
            if not self.beats_mean:
                yield f"The model is not shown to be better than the mean{self._compared}."
            elif self.mean_error is None:
                yield "Always predicting the mean would be off by much more."
            elif self.often_cut:
                yield "It is not shown to be better than the mean where larger errors count in full."
            return
        if self.right is None and self.unasked:
            yield f"How often it is right was not measured, on {self.where}: `--measure confusion` does.{self._other()}"
            return
        if self.right is None or self.right.value is None:
            yield f"Too few rows stood out of the noise to say how often it is right, on {self.where}."
            return
        yield f"Of 100 predictions {self.right} are right, measured on {self.where}."
        if self.commonest is None or self.commonest.value is None:
            why = "it was not measured; `--measure confusion` does"
            if self.commonest is not None:
                why = "there were too few records beside the noise; fewer measures, or a larger ε, have less of it"
            yield f"It is not known how often the commonest class alone would be right: {why}."
            return
        yield f"Always predicting {_named(self.commonest)}, the commonest class, would be right {self.commonest} times in 100."
        if not self.beats_the_commonest:
            yield f"As far as this measurement can tell, the model does not beat always answering {_named(self.commonest)} in accuracy."

    def _other(self) -> str:
        """What was measured besides, if anything."""
        return f" What was measured: {', '.join(self.measures)}." if self.measures else ""

    def fails(self) -> Iterator[str]:
        """For whom it fails: sentences, the worst first."""
        for share in lowest(self.recalls):
            yield f"Of 100 records that are truly {_named(share)}, it recognises {share}."
        unknown = [_named(s) for s in self.recalls if s.value is None]
        if unknown:
            more = (
                "A larger holdout that measures nothing else knows more: `--holdout 0.4 --measure confusion`."
                if self.set_aside
                else "More test rows, or a larger ε, with nothing else measured know more: `--measure confusion`."
            )
            yield f"Too few records beside the noise to say how often it recognises {', '.join(unknown[:_MOST])}. {more}"
        if not self.of_number and not self.recalls:
            yield "How well it recognises each class was not measured: `--measure confusion` does."
        if self.of_number:
            if self.by is None:
                yield "Whether it serves some groups worse was not measured: `--by COLUMN` does."
            return
        for share in lowest(self.groups):
            yield f"Of 100 predictions for {_named(share)} (`{self.by}`), {share} are right."
        unknown = [_named(s) for s in self.groups if s.value is None]
        if unknown:
            yield f"Too few records beside the noise to say anything about {', '.join(unknown[:_MOST])} (`{self.by}`)."
        if self.by is None:
            yield "Whether it serves some groups worse was not measured: `--by COLUMN` does."

    def to_json(self) -> dict[str, Any]:
        """Plain data."""

        def plain(share: Share | None) -> dict[str, Any] | None:
            return None if share is None else dict(vars(share))

        return {
            "where": self.where,
            "right": plain(self.right),
            "commonest_class": plain(self.commonest),
            "recall": [plain(s) for s in self.recalls],
            "by": self.by,
            "groups": [plain(s) for s in self.groups],
            "error": self.error,
            "error_ends": None if self.error_ends is None else list(self.error_ends),
            "error_of_the_mean": self.mean_error,
        } | ({} if self.error_bound is None else {"error_bound": self.error_bound})


def to_do(found: Quality | None, *, weighed: bool, weak: bool) -> Iterator[str]:
    """What to do about it: sentences. weighed: predictions weigh classes; weak: the noise drowns most of what the rows say."""
    if found is None or not found.known:
        if found is not None and found.unasked:
            what, option = (
                ("how far it is off", "squared_error")
                if found.of_number
                else ("how often it is right", "confusion")
            )
            yield (
                f"{', '.join(found.measures)}: nothing else was measured, and this does not say {what}. Measure that before anyone relies on it: "
                f"`--measure {option}`, on rows that were not trained on."
            )
        else:
            yield (
                f"{'Unless a score stands elsewhere, measure' if found is None else 'Measure'} the model before anyone relies on it: "
                "`--holdout 0.2` when it is trained, or "
                "`prepriv evaluate MODEL TEST.csv --epsilon 0.1` on rows that were not trained on."
            )
    if weak:
        yield (
            "There are few records for this ε, and noise drowns most of what they say: use more records, fewer columns or a "
            "larger ε. `prepriv plan SCHEMA --epsilons 0.1,0.5,1,2,4` shows what each ε was worth on tables we measured."
        )
    if found is None or not found.known:
        return
    worth_nothing = found.commonest is not None and not found.beats_the_commonest
    unproven = found.right is not None and not weighed and not found.beats_the_commonest
    if unproven:
        most = "the commonest class" if found.commonest is None else _named(found.commonest)
        if found.apart is None:
            yield f"It is not known to be better than always predicting {most}: do not use it for decisions."
        else:
            yield (
                f"In accuracy it is not known to be better than always predicting {most}. It does tell the classes apart "
                f"({found.apart}): weigh the classes or use the probabilities."
            )
    if not weighed and (worth_nothing or found.asks_for_more):
        yield (
            'If a rare class matters, weigh it: `--class-weight balanced` (`class_weight="balanced"` in Python) makes all classes '
            "count alike, for 1 % of the budget of a training; training again costs its whole ε again. Weights that you declare are free, for this model, "
            "too: `prepriv predict --class-weight`. Then judge the model by the recall of each class and by balanced accuracy."
        )
    elif weighed and worth_nothing:
        yield "Classes are weighed, which costs accuracy: judge the model by the recall of each class and by balanced accuracy."
    elif found.asks_for_more:
        yield "A class is recognised less often than two times in three: do not rely on the model for its records."
    unusable = found.error is not None and not found.beats_mean
    if unusable:
        yield "Do not use predictions in place of the mean before more records, or a larger ε, show that they are better."
    if found.often_cut:
        yield "Measure it again with a larger `--error-bound` (`error_bound=` in Python) on rows that were not trained on: many errors may be cut."
    if found.by is not None:
        yield "Before it is used for one of the groups, read that group's line: noise hides small groups first."
    elif not (weak or worth_nothing or unproven or unusable or found.asks_for_more or found.often_cut):
        yield "Nothing in these numbers asks for a change. Measure the groups that it will be used for."


def _named(share: Share) -> str:
    return f'"{printable(share.name)}"'


def lowest(shares: tuple[Share, ...]) -> list[Share]:
    """Those that are known, the lowest first, as many as are named."""
    known = [s for s in shares if s.value is not None]
    return sorted(known, key=lambda s: (s.value or 0.0, s.name))[:_MOST]
