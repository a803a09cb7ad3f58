"""What an evaluation on private rows releases: noisy counts, and every figure that follows from them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from prepriv._text import shown
from prepriv.evaluation import intervals
from prepriv.evaluation.intervals import LEVEL, Figure, Floats
from prepriv.evaluation.plan import LOSS_BOUND, EvaluationPlan
from prepriv.guarantees.drafts import claims, with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.printed import exact, up
from prepriv.release.writing import write_atomically
from prepriv.runs.charge import check_charged, released


@dataclass(frozen=True, eq=False, repr=False)
class PrivateEvaluation:
    """Noisy counts of one evaluation, and all that is computed of them for nothing.

    counts: of each release of the plan: "confusion" (true, predicted), "scores" (bin, hit), "residuals" (bin,), of any other (2,). private: whether the noise protects. receipt: of the charge in a ledger, if there is one. whole: of training and
    this together, where coins set the test rows aside (holdout.py).
    """

    plan: EvaluationPlan
    counts: Mapping[str, Floats]
    private: bool
    receipt: Mapping[str, Any] | None = None
    whole: Guarantee | None = None

    @property
    def guarantee_(self) -> Guarantee | None:
        """What holds for the people of the test rows: of this, and of the private drafts of the domain where there are any."""
        plan = self.plan
        return with_drafts(plan.guarantee, plan.domain, plan.delta, plan.n) if self.private else None

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """The figures by name, each with its interval; each holds by itself, with probability 95 % or more."""
        found = [figure for measure in self.plan.measures for figure in getattr(self, f"_{measure}")()]
        return {figure.name: figure for figure in found}

    def __getitem__(self, name: str) -> Figure:
        return self.figures[name]

    @property
    def confusion(self) -> Floats:
        """Noisy counts (true, predicted) in the declared order of the classes. Raises KeyError if not measured."""
        return self.counts["confusion"]

    @cached_property
    def reliability(self) -> tuple[tuple[float, float, Figure], ...]:
        """(low, high, rate of hits) of each bin of the scores; none if not measured."""
        ends = pairwise((0.0, *self.plan.edges, 1.0))
        rows = self.counts.get("scores", np.zeros((0, 2)))
        return tuple(
            (low, high, intervals.share(f"bin {low:g} to {high:g}", [hit], [miss], self.plan.noise))
            for (low, high), (miss, hit) in zip(ends, rows)
        )

    @cached_property
    def roc(self) -> tuple[tuple[float, Figure, Figure], ...]:
        """(edge, false positive rate, true positive rate) of "score above this edge", for two classes."""
        if len(self.plan.domain.classes) > 2 or "scores" not in self.counts:
            return ()
        miss, hit = self.counts["scores"].T
        return tuple(
            (
                edge,
                intervals.share("false positive rate", miss[k + 1 :], miss[: k + 1], self.plan.noise),
                intervals.share("true positive rate", hit[k + 1 :], hit[: k + 1], self.plan.noise),
            )
            for k, edge in enumerate(self.plan.edges)
        )

    @cached_property
    def residuals(self) -> tuple[tuple[float, float, float], ...]:
        """(low, high, noisy number of rows) of each bin of target less prediction, in the target's unit; none if not measured.

        The first and the last one hold what lies beyond them, too.
        """
        bound = self.plan.error_bound or 0.0
        ends = pairwise(bound * (2 * e - 1) for e in (0.0, *self.plan.edges, 1.0))
        return tuple((low, high, float(c)) for (low, high), c in zip(ends, self.counts.get("residuals", ())))

    def _pair(self, name: str, release: str) -> Figure:
        plan, counts = self.plan, self.counts[release]
        if plan.domain.adjacency == "replace-one":
            return intervals.share_of_n(name, counts, plan.n, plan.noise)
        return intervals.share(name, counts[:1], counts[1:], plan.noise)

    def _accuracy(self) -> list[Figure]:
        return [self._pair("accuracy", "accuracy")]

    def _log_loss(self) -> list[Figure]:
        return [intervals.scaled(self._pair("log loss", "log_loss"), LOSS_BOUND)]

    def _absolute_error(self) -> list[Figure]:
        return [
            intervals.scaled(
                self._pair("mean absolute error", "absolute_error"), self.plan.error_bound or 0.0
            )
        ]

    def _squared_error(self) -> list[Figure]:
        root = intervals.root(self._pair("root mean squared error", "squared_error"))
        return [intervals.scaled(root, self.plan.error_bound or 0.0)]

    def _r2(self) -> list[Figure]:
        names = ("squared_error", "target", "target_square")
        error, target, square = (self._pair(name, name) for name in names)
        # The declared number is not that of the rows where theirs is private.
        public = self.plan.domain.adjacency == "replace-one"
        rows = self.plan.n if public else max(1.0, float(self.counts["squared_error"].sum()))
        return [intervals.determination("R2", error, target, square, 2 * self.plan.error_share, rows)]

    def _residuals(self) -> list[Figure]:
        low, high, counts = np.array(self.residuals).T
        bound = self.plan.error_bound or 0.0
        mean = intervals.mean_of("mean residual", counts, (low + high) / (2 * bound), self.plan.noise)
        return [intervals.scaled(mean, bound)]

    def _confusion(self) -> list[Figure]:
        counts = self.counts["confusion"]
        noise, others = self.plan.noise, ~np.eye(len(counts), dtype=bool)
        names = self.plan.domain.classes
        recall = [
            intervals.share(f"recall of {c}", counts[k, k : k + 1], counts[k, others[k]], noise)
            for k, c in enumerate(names)
        ]
        precision = [
            intervals.share(f"precision of {c}", counts[k, k : k + 1], counts[others[k], k], noise)
            for k, c in enumerate(names)
        ]
        rest = counts[others].reshape(len(counts), -1)
        return [
            intervals.mean_of_shares("balanced accuracy", counts.diagonal(), rest, noise),
            *chain.from_iterable(zip(recall, precision)),
        ]

    def _scores(self) -> list[Figure]:
        counts = self.counts["scores"]
        ends = np.array([0.0, *self.plan.edges, 1.0])
        middles = (ends[:-1] + ends[1:]) / 2
        values = np.stack([-middles, 1 - middles], axis=1).ravel()
        gap = intervals.mean_of("calibration gap", counts.ravel(), values, self.plan.noise)
        if len(self.plan.domain.classes) > 2:
            return [gap]
        return [intervals.area("AUC", counts[:, 1], counts[:, 0], self.plan.noise), gap]

    @property
    def claim(self) -> str:
        """The guarantee in one line."""
        plan, made = self.plan, self.guarantee_
        if made is None:
            return "private: no (reproducible noise): nothing is claimed"
        epsilon = up(made.epsilon(plan.delta))
        rows = "rows" if plan.domain.unit is None else "units, a row each"
        said = f"ε = {epsilon} at δ = {exact(plan.delta)}, {made.neighbours}, n = {plan.n} test {rows}"
        whole = self.in_all
        if whole is None:
            return said
        drafted = ", this and the private draft of the domain" if plan.domain.drafts else " and this"
        return f"{said}; a coin set each row aside, so training{drafted} together have ε = {up(whole.epsilon(plan.delta))}"

    @property
    def in_all(self) -> Guarantee | None:
        """What holds for training, this measurement and the private drafts of the domain together; None without training."""
        return with_drafts(self.whole, self.plan.domain, self.plan.delta, self.plan.n)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of it besides: remarks on the claims, what they rest on, where errors are cut."""
        claims = [made for made in (self.guarantee_, self.private and self.in_all) if made]
        said = [note for made in claims for note in made.notes]
        rests = [
            f"of training and this together: if {' and '.join(c.conditions)}"
            for c in claims[1:]
            if c.conditions
        ]
        return (*dict.fromkeys((*said, *rests)), *self.cut)

    @property
    def cut(self) -> tuple[str, ...]:
        """Where errors of a number are cut, in one sentence; none of classes."""
        most = self.plan.error_bound
        return () if most is None else (f"errors above {most:g} count as {most:g}",)

    def table(self) -> list[tuple[str, str, str, str, str]]:
        """(figure, value, 95 % interval, noise, sampling) as texts, one line a figure."""
        return [
            (f.name, "refused", "too few rows beside the noise", "", "")
            if f.value is None
            else (
                f.name,
                f"{f.value:.4f}",
                f"{f.low:.4f} to {f.high:.4f}",
                f"{f.noise:.4f}",
                f"{f.sampling:.4f}",
            )
            for f in self.figures.values()
        ]

    def __str__(self) -> str:
        lines = [self.claim, *self.notes]
        return "\n".join(shown(line) for line in (*lines, *map(str, self.figures.values())))

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
        if (
            self.private
            and (added := claims(self.plan.guarantee, self.plan.domain, self.plan.delta)) is not None
        ):
            out["claims"] = added
        if self.private and (whole := self.in_all) is not None:
            out["with_training"] = whole.to_json(self.plan.delta)
        return out | ({"ledger": dict(self.receipt)} if self.receipt is not None else {})

    def to_html(self) -> str:
        """One self-contained page."""
        from prepriv.evaluation.pictures import page

        return page(self)

    def fragment(self) -> str:
        """What of the page another one can hold: claim, table, pictures."""
        from prepriv.evaluation.pictures import fragment

        return fragment(self)

    def __repr__(self) -> str:
        return f"PrivateEvaluation({self.claim}; {', '.join(map(str, list(self.figures.values())[:3]))})"

    def _repr_html_(self) -> str:
        return self.fragment()

    def save(self, path: str | Path, *, ledger: str | os.PathLike[str] | None = None) -> Path:
        """Write .html or .json, by the name's ending. ledger: that it was charged to, as in `Model.save`."""
        path = Path(path)
        if path.suffix not in (".html", ".json"):
            raise ValueError(f"an evaluation is saved as .html or .json; got {path.suffix or 'no ending'}")
        check_charged(ledger, self.receipt)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.to_json(), sort_keys=True, indent=1, allow_nan=False) + "\n"
        text = self.to_html() if path.suffix == ".html" else text
        write_atomically(path, text)
        released(ledger, self.receipt, text.encode())
        return path
