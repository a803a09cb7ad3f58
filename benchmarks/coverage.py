"""Coverage of every interval that is printed: python benchmarks/coverage.py [--repetitions 1000] [--out docs/coverage.md]

Evaluations: made-up people are drawn again in each repetition and measured with fresh noise; an interval covers where it
holds the figure of all people. Descriptions, single questions, bands: the rows stay, the noise is drawn again; an interval
covers where it holds the number without noise. All noise is that of the library (`NoiseSource`), from seeds.

Exits 1 if an interval of any setting covers in less than 94 % of the repetitions. A true 95 % comes out as 95 +- 0.7 % of
1,000, so a setting in which one comes out below 94 % is drawn five times as often, from another seed, and that counts
(95 +- 0.3 %). The bins of a histogram, and the categories of a column, are counted together: their noise is one law. Where an
interval is printed in most repetitions, only these count; where it mostly is refused, a refusal counts as covered.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv.audit.empirical import Experiment, audit
from prepriv.description.describe import _released, _unread, plan_description
from prepriv.description.estimates import Estimate
from prepriv.domain import ADJACENCIES
from prepriv.evaluation.cells import GROUP_CELLS
from prepriv.evaluation.evaluate import release
from prepriv.evaluation.evaluation_plan import MEASURES, TARGET_MEASURES, plan_evaluation
from prepriv.evaluation.intervals import Figure
from prepriv.evaluation.measured_quality import lead_of
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.guarantees import gaussian
from prepriv.mechanisms.exponential import ExponentialMechanism
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession
from prepriv.release.model import Model
from prepriv.runs.run import execute
from prepriv.tables.encoding import encode, encode_labels

LEAST, AGAIN = 0.94, 5
POPULATION = 50_000
EPSILONS = (0.1, 1.0, 10.0)
PAGE = """# Coverage of every interval

`python benchmarks/coverage.py{part} --out docs/coverage.md`: {settings} settings of {repetitions} repetitions. Each line is one
kind of interval. It shows in how many settings it was asked for, how often it was printed, and in which setting it covered least.

**Rule.** An interval has to cover in at least {least:g} % of the repetitions of every setting. A true 95 % comes out as 95 ± 0.7 % of
1,000. So a setting in which an interval comes out below {least:g} % is drawn {again} times as often, from another seed, and that result
counts. Where an interval is printed in most repetitions, only these count. Where it is mostly refused, a refusal counts as covered.

**Evaluations.** People are drawn again in each repetition, and an interval covers where it holds the figure of all of them.
There are 2, 3, 10 and 100 classes (0: a number), 50 to 100,000 rows, ε from 0.1 to 10 at δ = 1e-5, and both adjacencies. Under
add-or-remove-one a quarter more rows are declared than are there. "Good" has equal classes and recall 95 %, "perfect" recall
100 %, and "skewed" rare classes and recall 98 to 50 %. In "empty" a fifth of the rows have no label. Of a number "skewed" are amounts of which few are large, with most errors in one bin of residuals.

**Descriptions, single questions and bands.** The rows stay, and an interval covers where it holds the number without noise.

{table}
"""
DELTA = 1e-5


@dataclass(frozen=True)
class Setting:
    """What is repeated. part: a function of PARTS; options: its arguments, in words what is printed."""

    part: str
    options: Mapping[str, Any]

    def __str__(self) -> str:
        return ", ".join(
            f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in self.options.items()
        )


@dataclass
class Tally:
    """How often each interval was asked for, printed, and held what it should."""

    repetitions: int
    tried: Counter[str] = field(default_factory=Counter)
    given: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, low: float | None, high: float | None, truth: tuple[float, float]) -> None:
        """truth: any number between these is as true. A refusal or nan states nothing."""
        said = low is not None and high is not None and low == low and high == high
        slack = 1e-9 * (1 + abs(truth[0]))
        self.tried[name] += 1
        self.given[name] += said
        self.held[name] += bool(not said or (low <= truth[1] + slack and high >= truth[0] - slack))

    def covered(self, name: str) -> float:
        """Of all repetitions; of those in which it was printed, where these are most of them, if that is less."""
        missed = self.tried[name] - self.held[name]
        return 1 - missed / (
            self.given[name] if 2 * self.given[name] >= self.tried[name] else self.tried[name]
        )

    def least(self) -> float:
        return min(map(self.covered, self.tried))


class Drawn(NoisySession):
    """Noise of the library, from a seed; choices of the exponential mechanism in floats, which are fast."""

    def __init__(self, seed: int) -> None:
        super().__init__(NoiseSource.for_tests(seed))
        self._rng = np.random.default_rng(seed)

    def _perform(self, name: str, mechanism: Any, exact: Any) -> Any:
        if not isinstance(mechanism, ExponentialMechanism):
            return super()._perform(name, mechanism, exact)
        scores, copies = exact.values, exact.copies
        best = scores[copies > 0].max()
        weights = copies * np.exp(mechanism.epsilon / mechanism.score_range * np.minimum(scores - best, 0))
        running = np.cumsum(weights)
        at = int(np.searchsorted(running, self._rng.random() * running[-1], side="right"))
        return int(copies[:at].sum() + self._rng.integers(copies[at]))


class Exact(Drawn):
    """No noise, for a plan that asks for some."""

    _perform = ExactSession._perform


# --------------------------------------------------------------------------------------------------- evaluations


def voters(classes: int, people: str, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The cells of a population: "good": equal classes, recall 95 %; "skewed": rare classes, recall 98 to 50 %; "perfect";
    "empty": good, a fifth of the rows without a label."""
    weights = np.ones(classes) if people != "skewed" else 1 / np.arange(1, classes + 1)
    recall = {"skewed": np.linspace(0.98, 0.5, classes), "perfect": np.ones(classes)}.get(people)
    y = rng.choice(classes, POPULATION, p=weights / weights.sum())
    right = rng.random(POPULATION) < (np.full(classes, 0.95) if recall is None else recall)[y]
    said = np.where(right, y, (y + rng.integers(1, classes, POPULATION)) % classes)
    hit = y if classes == 2 else right.astype(int)
    place = np.clip(np.rint(4.5 + 3 * (hit - 0.5) + rng.normal(0, 2, POPULATION)), 0, 9).astype(int)
    of = {
        "accuracy": right.astype(float),
        "confusion": y * classes + said,
        "scores": 2 * place + hit,
        "log_loss": np.where(right, 0.05 * rng.random(POPULATION), 0.3 + 0.7 * rng.random(POPULATION)),
    }
    if people == "empty":
        without = rng.random(POPULATION) < 0.2
        for name, blank in (("accuracy", np.nan), ("confusion", -1), ("scores", -1), ("log_loss", np.nan)):
            of[name] = np.where(without, blank, of[name])
    return of


def payers(people: str, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The cells of a population with a target: "good" predictions, "poor" ones, "cut": most errors beyond the bound, "empty": good, a
    fifth of the rows without a number; "skewed": amounts of which few are large, most of the errors in one bin."""
    w = np.clip(rng.normal(-0.6, 0.3, POPULATION), -1, 1)
    spread = {"good": 0.1, "poor": 0.3, "cut": 1.5, "empty": 0.1, "skewed": 0.1}[people]
    off = rng.normal(0.02, spread, POPULATION) / 2 / 0.25
    if people == "skewed":
        off = np.minimum(rng.lognormal(-4.5, 1.3, POPULATION), 1.0) - 0.02
    of = {
        "absolute_error": np.minimum(np.abs(off), 1.0),
        "squared_error": np.minimum(off * off, 1.0),
        "target": (w + 1) / 2,
        "residuals": np.clip(((off + 1) * 10).astype(int), 0, 19),
        "mean_residual": (np.clip(off, -1.0, 1.0) + 1) / 2,
    }
    if people == "empty":
        without = rng.random(POPULATION) < 0.2
        of = {
            name: np.where(without, -1 if name == "residuals" else np.nan, cells)
            for name, cells in of.items()
        }
        of["residuals"] = of["residuals"].astype(int)
    return of


def evaluations(
    tally: Tally,
    seed: int,
    repetitions: int,
    *,
    people: str,
    classes: int,
    n: int,
    epsilon: float,
    adjacency: str,
    measures: str,
) -> None:
    rng = np.random.default_rng(seed)
    of = payers(people, rng) if classes == 0 else voters(classes, people, rng)
    what = {"classes": list(range(classes))} if classes else {"target": Numeric(0, 1)}
    domain = Domain.box(0, 1, features=1, adjacency=adjacency, **what)
    asked = {"all": MEASURES, "targets": TARGET_MEASURES}.get(measures, measures)
    plan = plan_evaluation(domain, n=n, epsilon=epsilon, delta=DELTA, measures=asked)
    everyone = replace(plan, domain=plan.domain.with_n(POPULATION), epsilon=1e6)
    truth = printed(PrivateEvaluation(everyone, release(everyone, of, ExactSession()), False))
    # What is declared is not the true number, where that is private.
    there, session = n if adjacency == "replace-one" else round(0.8 * n), Drawn(seed)
    for _ in range(repetitions):
        rows = rng.integers(0, POPULATION, there)
        counts = release(plan, {name: cells[rows] for name, cells in of.items()}, session)
        session.releases.clear()
        for name, figure in printed(PrivateEvaluation(plan, counts, False)).items():
            true = truth[name].value
            if true is not None:
                tally.add(name, figure.low, figure.high, (true, true))


def printed(made: PrivateEvaluation) -> dict[str, Figure]:
    """All figures, and what the pictures draw."""
    found = dict(made.figures)
    if (lead := lead_of(made.all_rows)) is not None:
        found["lead over the commonest class"] = Figure("lead", lead.value, lead.low, lead.high)
    found |= {rate.name: rate for _, _, rate in made.reliability}
    for edge, false, true in made.roc:
        found |= {f"{f.name} at {edge:g}": f for f in (false, true)}
    return found


def groups(
    tally: Tally,
    seed: int,
    repetitions: int,
    *,
    classes: int,
    n: int,
    share: float,
    epsilon: float,
    adjacency: str,
) -> None:
    """Two groups, of which `share` is the second one's, measured worse; nobody is in "other" or "missing"."""
    rng = np.random.default_rng(seed)
    kinds = ("good", "poor") if classes == 0 else ("good", "skewed")
    of_each = [payers(kind, rng) if classes == 0 else voters(classes, kind, rng) for kind in kinds]
    second = rng.random(POPULATION) < share
    of = {name: np.where(second, of_each[1][name], cell) for name, cell in of_each[0].items()}
    of[GROUP_CELLS] = second.astype(int)
    what = {"classes": list(range(classes))} if classes else {"target": Numeric(0, 1)}
    domain = Domain({"g": Categorical(["a", "b"])}, adjacency=adjacency, **what)
    plan = plan_evaluation(domain, n=n, epsilon=epsilon, delta=DELTA, by="g")
    everyone = replace(plan, domain=plan.domain.with_n(POPULATION), epsilon=1e6)
    truth = of_groups(PrivateEvaluation(everyone, release(everyone, of, ExactSession()), False))
    there, session = n if adjacency == "replace-one" else round(0.8 * n), Drawn(seed)
    for _ in range(repetitions):
        rows = rng.integers(0, POPULATION, there)
        counts = release(plan, {name: of[name][rows] for name in of}, session)
        session.releases.clear()
        made = of_groups(PrivateEvaluation(plan, counts, False))
        for name, true in truth.items():
            if true.value is not None:
                figure = made.get(name, Figure(name))
                tally.add(name, figure.low, figure.high, (true.value, true.value))


def of_groups(made: PrivateEvaluation) -> dict[str, Figure]:
    """All figures of all rows and of groups, and the differences between them, which are left out where one has none."""
    found = dict(made.figures)
    for group in made.groups.values():
        found |= {f"{name} in {group.name}": figure for name, figure in group.figures.items()}
    return found | {f"difference of {d.name}": d.figure for d in made.differences}


# -------------------------------------------------------------------------------------------------- descriptions

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def columns(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """even: with gaps; two: with half of the rows at either end; lone: nearly constant; tail: skewed; near: like even."""
    even = rng.uniform(0, 1, n)
    table = pd.DataFrame(
        {
            "even": np.where(rng.random(n) < 0.05, np.nan, even),
            "two": (np.arange(n) % 2).astype(float),
            "lone": np.where(rng.random(n) < 0.01, 1.0, 0.3),
            "tail": np.minimum(rng.lognormal(-3, 1, n), 1.0),
            "near": np.clip(even + rng.normal(0, 0.1, n), 0, 1),
            "job": rng.choice(["a", "b", "rare"], n, p=[0.7, 0.29, 0.01]),
            "y": rng.choice(["yes", "no"], n, p=[0.9, 0.1]),
        }
    )
    kept = (
        ["even", "y"]
        if n > 50_000
        else ["even", "tail", "near", "job", "y"]
        if n > 500
        else [*table.columns[:3], "job", "y"]
    )
    return table[kept].copy()


def descriptions(
    tally: Tally, seed: int, repetitions: int, *, rows: str, n: int, epsilon: float, adjacency: str
) -> None:
    rng = np.random.default_rng(seed)
    table = columns(n, rng)
    units = {}
    if rows != "records":
        table["who"] = [f"p{i}" for i in range(n)]
        table = pd.concat([table[: round(0.8 * n)], table[: round(0.4 * n)]])
        units = {"unit": "who", "rows_per_unit": 3}
    said = {c: Numeric(0, 1) for c in table.columns if c not in ("job", "y", "who")}
    given = said | ({"job": Categorical(["a", "b"])} if "job" in table else {})
    domain = Domain(given, classes=["yes", "no"], label="y", adjacency=adjacency, n=n, **units)
    plan = plan_description(
        domain,
        epsilon=epsilon,
        delta=DELTA,
        quantiles=LEVELS[1:4] if len(said) > 1 else LEVELS[2:3],
        bins=5,
        correlations=len(said) > 1,
    )
    held, at = _unread(plan, table).read(0)
    truth = true_numbers(plan, held, at)
    session = Drawn(seed)
    for _ in range(repetitions):
        made = _released(plan, held, at, session)
        session.releases.clear()
        for name, e in flat(made):
            tally.add(together(name), e.low, e.high, truth[name])


def flat(made: Any) -> Iterator[tuple[str, Estimate]]:
    """Every estimate of a description, by name."""
    yield "rows", made.rows
    for name, s in made.columns.items():
        if hasattr(s, "mean"):
            yield from ((f"{what} of {name}", getattr(s, what)) for what in ("missing", "mean", "deviation"))
            yield from ((f"quantile {q:g} of {name}", e) for q, e in s.quantiles.items())
            yield from ((f"bin {k} of {name}", e) for k, e in enumerate(s.counts))
        else:
            yield from ((f"count of {name}={value}", e) for value, e in s.counts.items())
    yield from ((f"correlation of {a} and {b}", e) for (a, b), e in made.correlations.items())


def together(name: str) -> str:
    """Bins and categories of a column as one."""
    kind, _, column = name.partition(" of ")
    return f"counts of {column.partition('=')[0]}" if kind.startswith(("bin", "count")) else name


def true_numbers(plan: Any, held: Any, at: np.ndarray) -> dict[str, tuple[float, float]]:
    """The same without noise; between two numbers where every one of them is as true."""
    exact: dict[str, tuple[float, float]] = {}

    def one(name: str, x: float) -> None:
        exact[name] = (float(x), float(x))

    one("rows", held.n)
    cells = dict(zip(plan.domain.columns, held.columns))
    for name, column in plan.domain.columns.items():
        x = cells[name]
        if not isinstance(column, Numeric):
            for k, value in enumerate([*column.categories, "other", "missing"]):
                one(f"count of {name}={value}", (x == k).sum())
            continue
        there = np.sort(x[~np.isnan(x)])
        one(f"missing of {name}", np.isnan(x).mean())
        one(f"mean of {name}", there.mean())
        one(f"deviation of {name}", there.std())
        for q in plan.quantiles:
            exact[f"quantile {q:g} of {name}"] = quantile(there, q)
        counts = np.bincount(np.minimum((there * plan.bins).astype(int), plan.bins - 1), minlength=plan.bins)
        for k, c in enumerate(counts):
            one(f"bin {k} of {name}", c)
    for k, value in enumerate([*plan.domain.classes, "no declared class"]):
        one(f"count of y={value}", (np.where(at < 0, len(plan.domain.classes), at) == k).sum())
    for a, b in itertools.combinations(plan.numeric, 2):
        u, v = (np.where(np.isnan(cells[c]), 0.5, cells[c]) for c in (a, b))
        flat_ = u.std() == 0 or v.std() == 0  # then it is any number
        exact[f"correlation of {a} and {b}"] = (-1.0, 1.0) if flat_ else (np.corrcoef(u, v)[0, 1],) * 2
    return exact


def quantile(ordered: np.ndarray, q: float) -> tuple[float, float]:
    """Any number between these is a q-quantile."""
    n = len(ordered)
    return float(ordered[max(int(np.ceil(q * n)) - 1, 0)]), float(ordered[min(int(np.floor(q * n)), n - 1)])


# ---------------------------------------------------------------------------------------------- single questions


def questions(tally: Tally, seed: int, repetitions: int, *, n: int, epsilon: float, adjacency: str) -> None:
    rng = np.random.default_rng(seed)
    x = np.where(rng.random(n) < 0.05, np.nan, rng.lognormal(-1, 1, n))
    there = np.clip(x[~np.isnan(x)], 0, 1)
    filled = np.sort(np.where(np.isnan(x), 0.5, np.clip(x, 0, 1)))
    how = {"epsilon": epsilon, "adjacency": adjacency, "n": n, "session": Drawn(seed)}
    counts = np.bincount(np.minimum((there * 4).astype(int), 3), minlength=4)
    for _ in range(repetitions):
        count = prepriv.count(x < 0.1, **how)
        tally.add("count", count.low, count.high, ((x < 0.1).sum(),) * 2)
        mean = prepriv.mean(x, 0, 1, **how)
        tally.add("mean", mean.low, mean.high, (there.mean(),) * 2)
        for k, e in enumerate(prepriv.histogram(x, 0, 1, bins=4, **how).counts):
            tally.add("counts", e.low, e.high, (counts[k],) * 2)
        if adjacency != "replace-one":
            continue  # how far a rank is off is not said there
        for q, e in prepriv.quantiles(x, LEVELS[::2], 0, 1, **how).items():
            above = (filled > e.value + 1 / 4096).sum(), (filled >= e.value).sum()
            tally.add(
                f"ranks of quantile {q:g}",
                *(a + e.ranks * s for a, s in zip(above, (-1, 1))),
                ((1 - q) * n,) * 2,
            )


# ----------------------------------------------------------------------------------------------- bands, audits


def bands(tally: Tally, seed: int, repetitions: int, *, n: int, epsilon: float, adjacency: str) -> None:
    """Of shape functions: what the noise of training alone makes of a value. Beside it, the values without noise."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.choice(list("uvw"), n), "b": rng.choice(list("pq"), n)})
    y = ((X.a == "u") | (rng.random(n) < 0.3)).to_numpy().astype(int)
    given = {"a": Categorical(list("uvw")), "b": Categorical(list("pq"))}
    domain = Domain(given, classes=[0, 1], n=n, adjacency=adjacency)
    plan = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA, steps="additive").fit(X, y).plan_
    rows, at = encode(X, domain), encode_labels(y, domain.classes)
    true = shaped(plan, rows, at, Exact(0))
    for k in range(repetitions):
        for name, (value, band) in shaped(plan, rows, at, Drawn(seed * 10**6 + k)).items():
            tally.add(f"shape of {name[0]}", value - band, value + band, (true[name][0],) * 2)


def shaped(plan: Any, rows: Any, at: np.ndarray, session: Any) -> dict[tuple[str, str], tuple[float, float]]:
    """(value, half the width of its band) of each column and name."""
    found = {}
    for shape in Model.of(execute(plan, rows, at, session)).shapes():
        for name, value, band in zip(shape.names, shape.values[:, 0], shape.band):
            found[shape.column, name] = (float(value), float(band))
    return found


def audits(tally: Tally, seed: int, repetitions: int, *, mu: float, runs: int) -> None:
    """The lower bound of an audit, at a doubt of 5 %."""

    def draw(second: bool, count: int, source: NoiseSource) -> np.ndarray:
        return source.rounded_gaussian(1000.0, count) / 1000 + mu * second

    for k in range(repetitions):
        verdict = audit(
            Experiment("shift", gaussian(mu), draw), runs, doubt=0.05, source=NoiseSource.for_tests(seed + k)
        )
        tally.add("lower bound", verdict.mu, np.inf, (mu, mu))


PARTS: dict[str, Callable[..., None]] = {
    "evaluate": evaluations,
    "groups": groups,
    "describe": descriptions,
    "questions": questions,
    "bands": bands,
    "audit": audits,
}


# ------------------------------------------------------------------------------------------------------ the grid


PEOPLE = (("good", "all"), ("perfect", "confusion"), ("skewed", "confusion"), ("empty", "all"))
TARGETS = (
    ("good", "targets"),
    ("poor", "r2"),
    ("cut", "targets"),
    ("empty", "targets"),
    ("skewed", "targets"),
)


def grid() -> list[Setting]:
    """All settings, the long ones first: kinds of people change from one to the next, everything else is crossed."""
    out = []
    for (i, epsilon), adjacency in itertools.product(enumerate(EPSILONS), ADJACENCIES):
        both = {"epsilon": epsilon, "adjacency": adjacency}
        for (j, classes), (k, n) in itertools.product(
            enumerate((100, 10, 3, 2, 0)), enumerate((100_000, 5000, 500, 50))
        ):
            kinds = PEOPLE if classes else TARGETS
            people, measures = kinds[(i + j + k) % len(kinds)]
            options = {"people": people, "classes": classes, "n": n, "measures": measures}
            out.append(Setting("evaluate", options | both))
        for j, (n, share) in enumerate(((100_000, 0.02), (5000, 0.3), (500, 0.5))):
            for classes in (2, (3, 0, 10)[(i + j) % 3]):
                options = {"classes": classes, "n": n, "share": share}
                out.append(Setting("groups", options | both))
        out += [Setting("describe", {"rows": "records", "n": n} | both) for n in (100_000, 1000, 50)]
        out += [Setting("describe", {"rows": "units, a fifth empty", "n": n} | both) for n in (1000, 50)]
        out += [Setting("questions", {"n": n} | both) for n in (100_000, 1000, 50)]
        if adjacency == "replace-one":
            out.append(Setting("bands", {"n": 300} | both))
    out += [Setting("audit", {"mu": mu, "runs": runs}) for mu in (0.3, 1.0, 3.0) for runs in (400, 10_000)]
    return sorted(out, key=lambda s: -s.options.get("n", 0))


def measure(setting: Setting, repetitions: int, seed: int = 1) -> Tally:
    tally = Tally(repetitions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PARTS[setting.part](tally, seed, repetitions, **setting.options)
    return tally


def judged(task: tuple[Setting, int]) -> tuple[Setting, Tally]:
    """Measured, and once more where an interval comes out too low."""
    setting, repetitions = task
    tally = measure(setting, repetitions)
    if tally.least() < LEAST:
        tally = measure(setting, AGAIN * repetitions, seed=2)
    return setting, tally


KINDS = ("recall of", "precision of", "bin", "false positive rate", "true positive rate")


def kind(part: str, name: str) -> str:
    """An interval by what it is, whichever class, column or level."""
    if part == "evaluate":
        found = next((k for k in KINDS if name.startswith(k)), name)
        return {"bin": "reliability of a bin", "recall of": "recall", "precision of": "precision"}.get(
            found, found
        )
    if part == "describe":
        return name.partition(" of ")[0].partition(" ")[0]
    return {"ranks": "ranks of a quantile", "shape": "band of a shape"}.get(name.partition(" ")[0], name)


def lines(found: list[tuple[Setting, Tally]]) -> list[str]:
    """A Markdown table: of each kind of interval the least coverage over all settings, and where that was."""
    worst: dict[tuple[str, str], tuple[float, str]] = {}
    settings: Counter[tuple[str, str]] = Counter()
    said: dict[tuple[str, str], list[float]] = {}
    for setting, tally in found:
        kinds = {kind(setting.part, name) for name in tally.tried}
        settings.update((setting.part, k) for k in kinds)
        for name in tally.tried:
            key = (setting.part, kind(setting.part, name))
            said.setdefault(key, []).append(tally.given[name] / tally.tried[name])
            here = (tally.covered(name), f"{name}: {setting}")
            worst[key] = min(worst.get(key, here), here)
    out = [
        "| where | interval | settings | printed | least covered | in which setting |",
        "|---|---|---|---|---|---|",
    ]
    for key, (share, where) in worst.items():
        printed_ = 100 * float(np.mean(said[key]))
        out.append(
            f"| {key[0]} | {key[1]} | {settings[key]} | {printed_:.0f} % | {100 * share:.1f} % | {where} |"
        )
    return out


def page(table: str, options: argparse.Namespace, settings: int) -> str:
    part = f" --part {options.part}" if options.part else ""
    return PAGE.format(
        table=table,
        part=part,
        settings=settings,
        repetitions=options.repetitions,
        least=100 * LEAST,
        again=AGAIN,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--part", choices=PARTS, help="this one alone")
    parser.add_argument("--out", type=Path, help="write the page there")
    options = parser.parse_args()
    tasks = [(s, options.repetitions) for s in grid() if options.part in (None, s.part)]
    found = []
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for setting, tally in pool.imap_unordered(judged, tasks):
            found.append((setting, tally))
            print(
                f"{len(found)} of {len(tasks)}: {setting.part}: {tally.least():.4f}",
                file=sys.stderr,
                flush=True,
            )
            for name in tally.tried:
                if tally.covered(name) < LEAST:
                    print(f"BELOW: {setting.part}: {name}: {setting}: {tally.covered(name):.4f}", flush=True)
    order = {str(s): i for i, (s, _) in enumerate(tasks)}
    found.sort(key=lambda each: (list(PARTS).index(each[0].part), order[str(each[0])]))
    table = "\n".join(lines(found))
    print(table)
    if options.out:
        options.out.write_text(page(table, options, len(tasks)))
    return int(any(tally.least() < LEAST for _, tally in found))


if __name__ == "__main__":
    sys.exit(main())
