"""What an evaluation on private rows releases: noisy counts, and every figure that follows from them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from prepriv._arrays import Floats
from prepriv._text import printable
from prepriv._version import own_version
from prepriv.adjacency import n_is_public
from prepriv.evaluation.evaluation_plan import NOT_KNOWN, EvaluationPlan
from prepriv.evaluation.figures import Measured
from prepriv.evaluation.groups import TOO_FEW, Difference, Group, differences_of, groups_of
from prepriv.evaluation.intervals import LEVEL, Figure
from prepriv.evaluation.measured_quality import quality_of
from prepriv.evaluation.thresholds import NO_THRESHOLDS, ThresholdTable, thresholds_of
from prepriv.guarantees.drafts import claims, with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.in_words import promise
from prepriv.guarantees.printed import epsilon_at, measured_alone, up
from prepriv.guarantees.second_account import Event, Events
from prepriv.plans.decision import decision_in_words
from prepriv.release.advice import to_do
from prepriv.release.quality import Quality
from prepriv.release.writing import write_atomically
from prepriv.runs.charge import check_charged, released


@dataclass(frozen=True, eq=False, repr=False)
class PrivateEvaluation:
    """Noisy counts of one evaluation, and all that is computed of them for nothing.

    counts: of each release of the plan: "confusion" (true, predicted), "scores" (bin, hit), "residuals" (bin,), of any other (3,), as `Measured`;
    of a plan with groups those of each of them, (groups, ...). private: whether the noise protects. receipt: of the charge in a ledger, if there is one. whole: of training and
    this together, where coins set the test rows aside (holdout.py). weighed: whether the model weighs classes, which decides what is
    advised where it is printed. which_rows: what is known about whose test rows these are, in sentences; "" of those that coins set aside.
    """

    plan: EvaluationPlan
    counts: Mapping[str, Floats]
    private: bool
    receipt: Mapping[str, Any] | None = None
    whole: Guarantee | None = None
    weighed: bool = False
    which_rows: str = ""

    @property
    def guarantee_(self) -> Guarantee | None:
        """What holds for the people of the test rows: of this, and of the private drafts of the domain where there are any."""
        plan = self.plan
        return with_drafts(plan.guarantee, plan.domain, plan.delta, plan.n) if self.private else None

    @property
    def events(self) -> Events:
        """What was released, in the words of another accountant."""
        return tuple(Event(name, self.plan.noise_multiplier) for name in self.plan.releases)

    @cached_property
    def all_rows(self) -> Measured:
        """The counts of all rows; of g groups their sums, whose noise is the square root of g times as large."""
        plan, groups = self.plan, len(self.plan.groups)
        counts = {name: c.sum(axis=0) for name, c in self.counts.items()} if groups else self.counts
        known = n_is_public(plan.domain.adjacency)
        return Measured(plan, counts, plan.noise * math.sqrt(max(1, groups)), known)

    @cached_property
    def groups(self) -> dict[str, Group]:
        """What was measured of each group by itself, by its name; none without `by`."""
        return groups_of(self.plan, self.counts)

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """Between the groups, of each figure that both have; none without `by`."""
        return differences_of(self.groups)

    @property
    def figures(self) -> dict[str, Figure]:
        """The figures of all rows by name, each with its interval; each holds by itself, with probability 95 % or more."""
        return self.all_rows.figures

    def __getitem__(self, name: str) -> Figure:
        if name not in self.figures:
            raise KeyError(f"{name!r} is not a figure of it: {', '.join(self.figures)}")
        return self.figures[name]

    def __contains__(self, name: object) -> bool:
        return name in self.figures

    @property
    def confusion(self) -> Floats:
        """Noisy counts (true, predicted) in the order of the domain's classes. Raises KeyError if not measured."""
        return self.all_rows.confusion

    @property
    def reliability(self) -> tuple[tuple[float, float, Figure], ...]:
        """(low, high, rate of hits) of each bin of the scores; none if not measured."""
        return self.all_rows.reliability

    @property
    def roc(self) -> tuple[tuple[float, Figure, Figure], ...]:
        """(edge, false positive rate, true positive rate) of "score above this edge", for two classes."""
        return self.all_rows.roc

    @cached_property
    def thresholds(self) -> ThresholdTable:
        """Recall and precision of the rarer of two classes at each edge of the scores, printed as a table with the weight that does the
        same; none if these were not measured."""
        return thresholds_of(self.all_rows)

    @property
    def no_thresholds(self) -> str:
        """Why there are no thresholds, in one sentence, where the scores of two classes were measured; nothing otherwise."""
        of_two = "scores" in self.plan.measures and len(self.plan.domain.classes) == 2
        return NO_THRESHOLDS if of_two and not self.thresholds else ""

    @property
    def residuals(self) -> tuple[tuple[float, float, float], ...]:
        """(low, high, noisy number of rows) of each bin of target less prediction, in the target's unit; none if not measured.

        The first and the last one hold what lies beyond them, too.
        """
        return self.all_rows.residuals

    @property
    def perhaps_trained_on(self) -> bool:
        """Whether so many test rows are declared that they may be those of the training, as `which_rows` warns."""
        return self.which_rows not in ("", NOT_KNOWN)

    @property
    def quality(self) -> Quality:
        """How good the model is, in plain words: beside the commonest class or the mean, and for whom it fails."""
        return quality_of(self)

    @property
    def claim(self) -> str:
        """The guarantee in one line."""
        plan, made = self.plan, self.guarantee_
        if made is None:
            return "not private (reproducible noise): nothing is claimed"
        rows = "rows" if plan.domain.unit is None else "units, a row each"
        said = f"{epsilon_at(made.epsilon(plan.delta), plan.delta)}, {made.neighbours}, n = {plan.n:,} test {rows}"
        whole = self.in_all
        if whole is None:
            return said
        drafted = ", this and the private draft of the domain" if plan.domain.drafts else " and this"
        return f"{said}; a coin set each row aside, so training{drafted} together have ε = {up(whole.epsilon(plan.delta), 4)}"

    @property
    def in_all(self) -> Guarantee | None:
        """What holds for training, this measurement and the private drafts of the domain together; None without training."""
        return with_drafts(self.whole, self.plan.domain, self.plan.delta, self.plan.n)

    @property
    def promised(self) -> list[str]:
        """What its claim promises, what adds to it, and what the cap of its ledger allows: sentences; none where nothing is claimed."""
        from prepriv.release.summary import cap_in_words  # which a score is measured without

        made = self.guarantee_
        if made is None:
            return []
        seen = "this score and the draft of its schema" if self.plan.domain.drafts else "this score"
        more = "The model and other releases about the same people add to it."
        cap = cap_in_words(self.receipt, self.plan.domain.unit, "this score")
        return [promise(made, seen), more, *filter(None, [cap])]

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be known of it besides: remarks on the claims, what they rest on, where errors are cut."""
        claims = [made for made in (self.guarantee_, self.private and self.in_all) if made]
        said = [note for made in claims for note in made.notes]
        rests = [
            f"of training and this together: if {' and '.join(c.conditions)}"
            for c in claims[1:]
            if c.conditions
        ]
        return (*self.decided, *dict.fromkeys((*said, *rests)), *self.cut, *self.of_bins, *self.of_groups)

    @property
    def decided(self) -> tuple[str, ...]:
        """That the predictions were made with other weights than the model's own, in one sentence; none where they were not."""
        said = decision_in_words(self.plan.class_weight, self.plan.domain.classes)
        if said is None:
            return ()
        return (
            f"measured with declared class weights, in place of the model's own: {said[0].lower()}{said[1:]} "
            "Only predictions with the same weights are like these figures",
        )

    @property
    def cut(self) -> tuple[str, ...]:
        """Where errors of a number are cut, in one sentence; none of classes."""
        most = self.plan.error_bound
        if most is None or self.plan.error_share >= 1:
            return ()
        of_mean = ", those of the mean in R2, too" if "r2" in self.plan.measures else ""
        said = measured_alone(most, 6)
        return (f"errors above {said} count as {said}{of_mean}",)

    @property
    def of_bins(self) -> tuple[str, ...]:
        """What AUC is measured of, in one sentence; none where it is not answered."""
        found = self.figures.get("AUC")
        if found is None or found.value is None:
            return ()
        return (
            f"AUC is that of scores in {len(self.plan.edges) + 1} bins: as a rule below that of the scores, by some .01 to .05 where AUC is below .75 (docs/evaluate.md)",
        )

    @property
    def of_groups(self) -> tuple[str, ...]:
        """What R² of a group is beside, in one sentence; none without groups, or without it."""
        if self.plan.by is None or "r2" not in self.plan.measures:
            return ()
        return ("R2 of a group is beside the mean of all records, and not beside the mean of the group",)

    def table(self) -> list[tuple[str, str, str, str, str]]:
        """(figure, value, 95 % interval, noise, sampling) as texts, one line per figure."""
        return [f.cells for f in self.figures.values()]

    def __str__(self) -> str:
        found = self.quality
        said = (
            *found.good(),
            *found.fails(),
            *to_do(found, weighed=self.weighed, weak=False),
        )  # as the command
        lines = [*said, *([self.which_rows] if self.which_rows else []), self.claim, *self.notes]
        lines += [str(figure) for figure in self.figures.values()]
        for group in self.groups.values():
            told = group.figures.values() if group.answered else [group.share, TOO_FEW]
            lines += [f"{self.plan.by} = {group.name}:", *(f"  {line}" for line in told)]
        lines += [f"{d.name}: {d.figure.interval}" for d in self.differences]
        return "\n".join(map(printable, lines))

    def to_json(self) -> dict[str, Any]:
        """Plain data: the plan, the noisy counts, the figures."""
        out: dict[str, Any] = {
            "private": self.private,
            "guarantee": self.guarantee_.to_json(self.plan.delta) if self.guarantee_ else None,
            "plan": self.plan.to_json(),
            "plan_hash": self.plan.hash,
            "level": LEVEL,
            "figures": [vars(f) for f in self.figures.values()],
            "counts": {name: c.tolist() for name, c in self.counts.items()},
        }
        if self.whole is None and self.promised:  # that of a holdout stands on the page of its model
            out["promise"] = self.promised
        if self.which_rows:
            out["which_rows"] = self.which_rows
        if self.thresholds:
            out["thresholds"] = [threshold.to_json() for threshold in self.thresholds]
        if self.plan.by is not None:
            out["groups"] = [group.to_json() for group in self.groups.values()]
            out["differences"] = [difference.to_json() for difference in self.differences]
        if (
            self.private
            and (added := claims(self.plan.guarantee, self.plan.domain, self.plan.delta)) is not None
        ):
            out["claims"] = added
        if self.private and (whole := self.in_all) is not None:
            out["with_training"] = whole.to_json(self.plan.delta)
        return out | ({"ledger": dict(self.receipt)} if self.receipt is not None else {})

    def data(self) -> dict[str, Any]:
        """`to_json` with the version that made it, as it is saved: `prepriv ledger verify` computes all of it again."""
        return self.to_json() | {"version": own_version()}

    def to_html(self) -> str:
        """One self-contained page."""
        from prepriv.evaluation.evaluation_page import page_of

        return page_of(self)

    def fragment(self) -> str:
        """What of the page another one can hold: claim, table, pictures."""
        from prepriv.evaluation.evaluation_page import fragment

        return fragment(self)

    def __repr__(self) -> str:
        figures = ", ".join(map(str, list(self.figures.values())[:3]))
        return f"PrivateEvaluation({'; '.join((self.claim, figures, *self.cut))})"

    def _repr_html_(self) -> str:
        from prepriv.evaluation.evaluation_page import quality_in_html

        return quality_in_html(self) + self.fragment()

    def save(self, path: str | Path, *, ledger: str | os.PathLike[str] | None = None) -> Path:
        """Write .html or .json, by the name's ending. ledger: that it was charged to, as in `Model.save`."""
        path = Path(path)
        if path.suffix not in (".html", ".json"):
            raise ValueError(f"an evaluation is saved as .html or .json; got {path.suffix or 'no ending'}")
        check_charged(ledger, self.receipt)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.data(), sort_keys=True, indent=1, allow_nan=False) + "\n"
        text = self.to_html() if path.suffix == ".html" else text
        write_atomically(path, text)
        released(ledger, self.receipt, text.encode())
        return path
