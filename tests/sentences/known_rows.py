"""Tables whose every number is known, and these numbers: counted from the raw rows, by nothing of the package."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from prepriv.evaluation.evaluation_plan import EDGES, LOSS_BOUND

N = 1200


@dataclass(frozen=True)
class Case:
    """A table as text (an empty cell is a gap), and what is declared about it. classes: none of a numeric target, whose bounds are `ends`."""

    name: str
    table: pd.DataFrame
    classes: tuple[str, ...] = ()
    ends: tuple[float, float] = (0.0, 1.0)
    log: bool = False
    groups: tuple[str, ...] = ("a", "b", "c", "d")  # "d" is in no table

    @property
    def schema(self) -> str:
        """As a file."""
        of = f"classes: [{', '.join(f'{c!r}' for c in self.classes)}]"
        if not self.classes:
            of = f"low: {self.ends[0]}, high: {self.ends[1]}{', log: true' if self.log else ''}"
        return (
            f"label: {{name: y, {of}}}\nrows: {len(self.table)}\ncolumns:\n"
            "  x: {type: numeric, low: 0, high: 100}\n"
            f"  g: {{type: categorical, categories: [{', '.join(map(repr, self.groups))}]}}\n"
            "  h: {type: categorical, categories: ['1', 'none']}\n"
        )


def cases() -> list[Case]:
    """One for each way in which a printed number was wrong, or could be."""
    rng = np.random.default_rng(7)

    def table(n: int = N) -> pd.DataFrame:
        g = rng.choice(["a", "b", "c"], n, p=[0.72, 0.27, 0.01])
        x = np.round(rng.random(n) * 100, 1)
        return pd.DataFrame({"x": x.astype(str), "g": g, "h": rng.choice(["1", "none"], n, p=[0.2, 0.8])})

    def labelled(t: pd.DataFrame, above: float, flips: float, names: tuple[str, str]) -> pd.DataFrame:
        yes = (t.x.astype(float) > above) ^ (rng.random(len(t)) < flips)
        return t.assign(y=np.where(yes, names[1], names[0]))

    def with_gaps(t: pd.DataFrame) -> pd.DataFrame:
        for name, share, cell in (
            ("y", 0.15, ""),
            ("y", 0.03, "perhaps"),
            ("g", 0.05, ""),
            ("g", 0.05, "zz"),
            ("x", 0.05, ""),
            ("x", 0.05, "130"),
        ):
            t.loc[rng.random(len(t)) < share, name] = cell
        return t

    def number(t: pd.DataFrame, spread: float, low: float) -> pd.DataFrame:
        y = low + spread * t.x.astype(float) / 100 + rng.normal(0, spread / 8, len(t))
        return t.assign(y=np.round(y, 3).astype(str))

    two = ("no", "yes")
    far = table().assign(g=lambda t: np.where(np.arange(len(t)) < 12, "b", "a"))
    half = labelled(table(), 50, 0.03, two)
    worse = (half.g == "b") & (rng.random(len(half)) < 0.35)
    skewed = table().assign(
        y=lambda t: np.round(np.exp(t.x.astype(float) / 40 + rng.normal(0, 0.2, len(t))), 3).astype(str)
    )
    names = table()
    return [
        Case("balanced", labelled(table(), 50, 0.05, two), two),
        Case("rare", labelled(table(), 96, 0.005, two), two),
        Case("gaps", with_gaps(labelled(table(), 60, 0.05, two)), two),
        Case("one tiny group", labelled(far, 70, 0.05, two), two),
        Case("one worse group", half.assign(y=np.where(worse, "no", half.y)), two),
        Case("nobody knows", table().assign(y=lambda t: rng.choice(two, len(t), p=[0.6, 0.4])), two),
        Case("few", labelled(table(200), 50, 0.05, two), two),
        Case("odd names", names.assign(y=np.select([names.x.astype(float) < 30, names.x.astype(float) < 80], ["none", "other"], "1")), ("none", "other", "1")),
        Case("truth values", labelled(table(), 40, 0.02, ("False", "True")), ("False", "True")),
        Case("wide bounds", number(table(), 10.0, 40.0), ends=(0.0, 100.0)),
        Case("numbers with gaps", with_gaps(number(table(), 80.0, 5.0)), ends=(0.0, 60.0)),
        Case("log", with_gaps(skewed), ends=(0.5, 20.0), log=True),
        Case("no slope", table().assign(y=lambda t: np.round(50 + rng.normal(0, 9, len(t)), 2).astype(str)), ends=(0.0, 100.0)),
    ]  # fmt: skip


def numbers(cells: pd.Series) -> np.ndarray:
    """NaN where a cell holds no number."""
    return pd.to_numeric(cells, errors="coerce").to_numpy(float)


def _declared(cells: pd.Series, names: tuple[str, ...], name: str) -> np.ndarray:
    """Whether each cell counts as this name, which may be "other" or "missing"."""
    if name in names:
        return (cells == name).to_numpy()
    return ((cells != "") & ~cells.isin(names)).to_numpy() if name == "other" else (cells == "").to_numpy()


@dataclass(frozen=True)
class Known:
    """Rows, and what a model says about each: `prepriv predict` of the same rows. seen: what was printed of them before."""

    case: Case
    table: pd.DataFrame
    said: Any = None
    chances: Any = None  # of each class, (n, K)
    error_bound: float | None = None
    seen: dict[str, Any] = field(default_factory=dict)

    @property
    def declared(self) -> int:
        """The declared number of rows, which need not be the true one."""
        return int(self.seen.get("rows", len(self.table)))

    def labelled(self) -> np.ndarray:
        """Which rows have a label."""
        return (
            self.table.y.isin(self.case.classes).to_numpy()
            if self.case.classes
            else ~np.isnan(numbers(self.table.y))
        )

    def group(self, name: str | None) -> np.ndarray:
        """Which rows are in it; None: all."""
        return np.ones(len(self.table), bool) if name is None else self.where("g", name)

    def figure(self, name: str, group: str | None = None) -> float | None:
        """Its exact value; None where no row has it."""
        of_group, own = self.group(group), self.group(group) & self.labelled()
        if name.startswith("share of rows"):
            return float(of_group.mean() if name == "share of rows" else own.sum() / self.labelled().sum())
        if not own.any():
            return None
        with np.errstate(all="ignore"):
            found = float((self._of_classes if self.case.classes else self._of_number)(name, own))
        return None if np.isnan(found) else found

    def _of_classes(self, name: str, own: np.ndarray) -> float:
        what, _, of = name.partition(" of ")
        y, said = self.table.y.to_numpy()[own], np.asarray(self.said)[own]
        if name == "accuracy, from the counts of each class":
            own = np.isin(y, self.case.classes)
            return (y == said)[own].mean() if own.any() else np.nan
        if name == "accuracy":
            return (y == said).mean() if own.any() else np.nan
        if what in ("recall", "precision"):
            of_these = y == of if what == "recall" else said == of
            return (y == said)[of_these].mean() if of_these.any() else np.nan
        if name.startswith("share predicted "):
            return (said == name.removeprefix("share predicted ")).mean() if own.any() else np.nan
        if name == "balanced accuracy":
            return np.mean([self._of_classes(f"recall of {c}", own) for c in self.case.classes])
        p, k = self.chances[own], np.searchsorted
        if name == "log loss":
            of_truth = p[np.arange(len(y)), [self.case.classes.index(c) for c in y]]
            return np.minimum(-np.log(of_truth), LOSS_BOUND).mean()
        score, hit = (p[:, 1], y == self.case.classes[1]) if p.shape[1] == 2 else (p.max(axis=1), y == said)
        at, ends = k(EDGES, score, side="right"), np.array([0.0, *EDGES, 1.0])
        if name == "calibration gap":
            return (hit - (ends[at] + ends[at + 1]) / 2).mean()
        assert name == "AUC", f"a figure that is not known: {name}"
        one, two = at[hit][:, None], at[~hit][None, :]
        return ((one > two) + (one == two) / 2).mean() if one.size and two.size else np.nan

    def _of_number(self, name: str, own: np.ndarray) -> float:
        y = np.clip(numbers(self.table.y), *self.case.ends)
        if not own.any():
            return np.nan

        def cut(off: np.ndarray) -> np.ndarray:
            return np.minimum(np.abs(off), self.error_bound)

        off = cut(y - self.said)[own]
        if name == "mean absolute error":
            return off.mean()
        if name == "root mean squared error":
            return np.sqrt((off**2).mean())
        if name == "mean residual":
            return np.clip((y - self.said)[own], -self.error_bound, self.error_bound).mean()
        assert name == "R2", f"a figure that is not known: {name}"
        return max(-1.0, 1 - (off**2).mean() / (cut(y - np.nanmean(y))[own] ** 2).mean())

    def read_as(self, kind: str, column: str) -> tuple[int, int]:
        """How many cells of a column are of this kind, in the words of `prepriv predict`, and of how many."""
        cells, n = self.table[column], len(self.table)
        if kind == "empty cells":
            return (cells == "").sum(), n
        if kind == "cells that are not as declared":
            return ((cells != "") & ~cells.isin(self.case.groups)).sum(), n
        return (numbers(cells) > 100).sum(), (cells != "").sum()  # of the numbers

    @property
    def commonest(self) -> list[str]:
        """The class with the most rows, or those of as many."""
        counts = {c: (self.table.y == c).sum() for c in self.case.classes}
        return [c for c in counts if counts[c] >= max(counts.values()) - 0.5]

    # ------------------------------------------------------------------------------- of a described table

    def names(self, column: str) -> tuple[str, ...]:
        """What is declared of it."""
        return {"g": self.case.groups, "h": ("1", "none"), "y": self.case.classes}[column]

    def cut(self, column: str, own: np.ndarray) -> np.ndarray:
        """Its numbers, between their bounds."""
        found = np.clip(numbers(self.table[column]), *(self.case.ends if column == "y" else (0.0, 100.0)))[
            own
        ]
        return found[~np.isnan(found)]

    def correlation(self, one: str, two: str) -> float:
        """Of two columns, each gap as the middle of the bounds."""
        ends = {"x": (0.0, 100.0), "y": self.case.ends}
        filled = [
            np.nan_to_num(np.clip(numbers(self.table[k]), *ends[k]), nan=np.mean(ends[k])) for k in (one, two)
        ]
        return float(np.corrcoef(*filled)[0, 1])

    def where(self, column: str, name: str) -> np.ndarray:
        """Which cells of a column count as this name."""
        return _declared(self.table[column], self.names(column), name)

    def count(self, own: np.ndarray, **cells: str) -> int:
        """Of these rows, those with these cells."""
        return int(
            (own & np.all([self.where(*cell) for cell in cells.items()], axis=0)).sum()
            if cells
            else own.sum()
        )

    def told(self, what: str, column: str, own: np.ndarray) -> float | None:
        """What a line of a description or an answer is about, exactly; None: nothing can be said."""
        if what == "no declared class":
            return float((own & ~self.labelled()).sum())
        if column != "x" and (column != "y" or self.case.classes):
            return float(self.count(own, **{column: what}))
        if what == "share missing":
            return float(np.isnan(numbers(self.table[column]))[own].mean()) if own.any() else None
        there = self.cut(column, own)
        if not there.size:
            return None
        of = {"mean": np.mean, "deviation": np.std, "sum": np.sum, "median": np.median, "variance": np.var}
        return float(of[what](there))
