"""Pipelines of scikit-learn fitted on rows of a private sketch, beside the same ones fitted on the real rows and on uniform ones.

A logistic regression without noise stands behind each, so that the fit of the transformers alone is compared: accuracy on held-out
rows, in points lost. And whole private fits beside the default recipe.

    python benchmarks/sketch.py --data FOLDER [--rows 2000] [--epsilons 0.05,0.1,1] [--seeds 2] [--whole]
    python benchmarks/sketch.py --data FOLDER --wide [--epsilons 0.3,1,4]
    python benchmarks/sketch.py --heavy [--epsilons 0.1,1]
    python benchmarks/sketch.py --transformers
"""

from __future__ import annotations

import argparse
import sys
import warnings
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest, SelectPercentile, VarianceThreshold, chi2
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

import prepriv
from prepriv.guarantees.gaussian import gdp_mu
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.preprocessing.fitted import Fitted
from prepriv.sketches.release import release_sketch
from prepriv.sketches.signal import signal_of
from prepriv.sketches.sketch_plan import SketchPlan
from prepriv.tables.encoding import encode, encode_labels

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import adult

BEHIND, DELTA = 8000, 1e-5


def pipelines(numbers: list[str], words: list[str]) -> dict[str, object]:
    """The six of the design."""

    def both(first: object, second: object) -> object:
        parts = [(p, c) for p, c in ((first, numbers), (second, words)) if c]
        return make_column_transformer(*parts)

    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    hot = OneHotEncoder(handle_unknown="ignore")
    ranks = make_pipeline(SimpleImputer(strategy="median"), QuantileTransformer(n_quantiles=100))
    bins = make_pipeline(
        SimpleImputer(strategy="median"),
        KBinsDiscretizer(10, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
    )
    trees = ExtraTreesClassifier(50, max_depth=8, random_state=0)
    return {
        "standard + one-hot": both(scaled, hot),
        "quantile + target": both(ranks, TargetEncoder() if words else hot),
        "SelectKBest(20)": make_pipeline(both(scaled, hot), SelectKBest(k=20)),
        "PCA(10)": make_pipeline(both(scaled, hot), PCA(10)),
        "KBins + one-hot": both(bins, hot),
        "trees select": make_pipeline(both(scaled, hot), SelectFromModel(trees)),
    }


def tutorials(numbers: list[str], words: list[str]) -> dict[str, object]:
    """Ten `make_pipeline`s as tutorials write them, a linear model last."""
    fill, often = SimpleImputer(strategy="median"), SimpleImputer(strategy="most_frequent")
    hot = OneHotEncoder(handle_unknown="ignore")
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    scaled = make_column_transformer((make_pipeline(fill, StandardScaler()), numbers), (hot, words))
    titanic = make_column_transformer(
        (make_pipeline(fill, StandardScaler()), numbers),
        (make_pipeline(often, hot, SelectPercentile(chi2, percentile=50)), words),
    )

    def alone(*parts: object) -> object:
        return make_column_transformer((make_pipeline(SimpleImputer(), *parts), numbers))

    return {
        "impute, scale": alone(StandardScaler()),
        "impute, min-max": alone(MinMaxScaler()),
        "impute, scale, PCA(3)": alone(StandardScaler(), PCA(3)),
        "impute, scale, polynomials of 2": alone(StandardScaler(), PolynomialFeatures(2)),
        "impute, splines": alone(SplineTransformer()),
        "impute, power": alone(PowerTransformer()),
        "scale numbers, one-hot words": scaled,
        "scale numbers, ordinal words": make_column_transformer(
            (make_pipeline(fill, RobustScaler()), numbers), (codes, words)
        ),
        "of Titanic: scale, one-hot, SelectPercentile(chi2)": titanic,
        "scale, one-hot, VarianceThreshold": make_pipeline(scaled, VarianceThreshold(0.01)),
    }


def score(made: object, train: tuple, test: tuple) -> float:
    """Accuracy of a logistic regression without noise behind a map, in percent."""
    (x, y), (new, truth) = train, test
    model = LogisticRegression(max_iter=300).fit(made.transform(x), y)
    return 100 * model.score(made.transform(new), truth)


def table(folder: Path, rows: int | None):
    """(domain, encoded training rows, labels, encoded test rows, labels) of Adult."""
    train, test = adult.load(folder / "adult.csv.gz")
    train = train[:rows]
    domain = adult.domain(len(train))
    found = [
        (
            np.vstack([*encode(part[list(domain.columns)], domain)]),
            encode_labels(part["label"], domain.classes),
        )
        for part in (train, test)
    ]
    return domain, train, *found


def one(domain, train, known, step, epsilon, needs, seed, real, test, behind):
    """(points lost by the sketch, its b) at one budget."""
    plan = SketchPlan(domain, gdp_mu(epsilon, DELTA), needs)
    rows = encode(train[list(domain.columns)], domain)
    sketch = release_sketch(plan, rows, known, NoisySession(NoiseSource.for_tests(seed)))
    made = step.fit_drawn(*sketch.encoded(step.rows_wanted(sketch.shape.n), seed))
    return real - score(made, behind, test), signal_of(plan), sketch.shape.signal


def alone(arguments) -> None:
    """The sketch alone, with a model without noise behind it."""
    domain, train, (x, y), test = table(arguments.data, arguments.rows)
    numbers = [n for n, c in domain.columns.items() if isinstance(c, prepriv.Numeric)]
    words = [n for n in domain.columns if n not in numbers]
    keep = np.random.default_rng(0).permutation(len(x))[:BEHIND]
    behind = x[keep], y[keep]
    for name, pipeline in pipelines(numbers, words).items():
        step = Fitted.of(pipeline, domain)
        real = score(step.fit_drawn(x, y), behind, test)
        uniform = real - score(step.fit_drawn(*step._uniform(len(domain.classes))), behind, test)
        print(f"{name}: real rows {real:.2f}, uniform rows lose {uniform:.2f}", flush=True)
        for epsilon in arguments.epsilons:
            for needs in ("labels", "pairs"):
                lost = [
                    one(domain, train, y, step, epsilon, needs, seed, real, test, behind)
                    for seed in range(arguments.seeds)
                ]
                points, (_, signal, kept) = np.mean([p for p, _, _ in lost]), lost[0]
                print(
                    f"  epsilon {epsilon:g} {needs}: loses {points:.2f} (worst {max(p for p, _, _ in lost):.2f}), b = {signal.b:.0f}, "
                    f"tau = {signal.tau:.2f}, {signal.verdict}, kept {kept:.2f}",
                    flush=True,
                )


def whole(arguments) -> None:
    """Whole private fits beside the same pipeline without privacy and the default recipe."""
    train, test = adult.load(arguments.data / "adult.csv.gz")
    train = train[: arguments.rows]
    domain = adult.domain(len(train))
    numbers = [n for n, c in domain.columns.items() if isinstance(c, prepriv.Numeric)]
    words = [n for n in domain.columns if n not in numbers]
    columns, truth = list(domain.columns), test["label"]
    for epsilon in arguments.epsilons:
        scores = [
            prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA)
            .fit(train[columns], train["label"])
            .score(test[columns], truth)
            for _ in range(arguments.seeds)
        ]
        print(f"epsilon {epsilon:g}: default recipe {100 * np.mean(scores):.2f}", flush=True)
        made_of = tutorials if arguments.tutorials else pipelines
        for name, pipeline in made_of(numbers, words).items():
            pipe = make_pipeline(pipeline, LogisticRegression(max_iter=300))
            try:
                made = [
                    prepriv.private(pipe, domain, epsilon=epsilon, delta=DELTA, way="sketch").fit(
                        train[columns], train["label"]
                    )
                    for _ in range(arguments.seeds)
                ]
            except ValueError as refused:
                print(f"  {name}: refused: {refused}", flush=True)
                continue
            share = dict(made[0].guarantee_.breakdown)["Fitted"]
            private = 100 * np.mean([m.score(test[columns], truth) for m in made])
            plain = 100 * pipe.fit(as_raw(train, columns, words), train["label"]).score(
                as_raw(test, columns, words), truth
            )
            print(
                f"  {name}: private {private:.2f} (share {share:.3f}), without privacy {plain:.2f}",
                flush=True,
            )


def as_raw(frame: pd.DataFrame, columns: list[str], words: list[str]) -> pd.DataFrame:
    """As scikit-learn takes it."""
    return frame[columns].astype(dict.fromkeys(words, object))


def heavy(arguments) -> None:
    """60 made-up columns of percentages with heavy tails: bins of the sketch beside equal bins and uniform rows."""
    rng, n, d = np.random.default_rng(0), 4600, 60
    y = rng.integers(0, 2, n)
    rates = np.exp(rng.normal(-2.5, 1.0, d))[None, :] * np.exp(rng.normal(0, 1.2, (1, d)) * y[:, None] * 0.6)
    x = np.where(rng.random((n, d)) < 0.25, rng.exponential(rates), 0.0).clip(0, 100)
    domain = prepriv.Domain.box(0, 100, features=d, classes=[0, 1], n=n)
    unit = x / 100
    train, test = (unit[: n * 4 // 5], y[: n * 4 // 5]), (unit[n * 4 // 5 :], y[n * 4 // 5 :])
    domain = domain.with_n(len(train[0]))
    bins = KBinsDiscretizer(5, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
    step = Fitted.of(bins, domain)
    real = score(step.fit_drawn(*train), train, test)
    uniform = score(step.fit_drawn(*step._uniform(len(domain.classes))), train, test)
    print(f"60 heavy-tailed columns, KBins: real rows {real:.2f}, uniform rows (equal bins) {uniform:.2f}")
    for epsilon in arguments.epsilons:
        made = []
        for seed in range(arguments.seeds):
            plan = SketchPlan(domain, gdp_mu(epsilon, DELTA), "labels")
            rows = encode(100 * train[0], domain)
            sketch = release_sketch(plan, rows, train[1], NoisySession(NoiseSource.for_tests(seed)))
            made.append(score(step.fit_drawn(*sketch.encoded(20_000, seed)), train, test))
        print(f"  epsilon {epsilon:g}: {np.mean(made):.2f}, b = {signal_of(plan).b:.0f}", flush=True)


def wide(arguments) -> None:
    """Wide categorical columns: target encoding on a sketch, narrow ones one-hot, beside the default recipe (all one-hot)."""
    for name, (x, y, new, truth, domain) in wide_tables(arguments).items():
        sizes = {
            n: len(c.categories) for n, c in domain.columns.items() if not isinstance(c, prepriv.Numeric)
        }
        numbers = [n for n in domain.columns if n not in sizes]
        many, few = [n for n in sizes if sizes[n] >= 30], [n for n in sizes if sizes[n] < 30]
        parts = [
            (StandardScaler(), numbers),
            (TargetEncoder(), many),
            (OneHotEncoder(handle_unknown="ignore"), few),
        ]
        pipe = make_pipeline(make_column_transformer(*(p for p in parts if p[1])), LogisticRegression())
        print(
            f"{name}: {len(x)} rows, columns of {', '.join(str(sizes[n]) for n in many)} categories",
            flush=True,
        )
        for epsilon in arguments.epsilons:
            scores = []
            models = (
                prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA),
                prepriv.private(pipe, domain, epsilon=epsilon, delta=DELTA, way="sketch"),
            )
            for made in models:
                try:
                    scores.append([100 * made.fit(x, y).score(new, truth) for _ in range(arguments.seeds)])
                except ValueError as refused:
                    scores.append([float("nan")])
                    print(f"  refused: {refused}", flush=True)
            one_hot, target = (np.mean(s) for s in scores)
            print(
                f"  epsilon {epsilon:g}: default recipe {one_hot:.2f}, target encoding {target:.2f}",
                flush=True,
            )


def wide_tables(arguments):
    """Adult as it is, with education crossed by occupation, and made-up tables: rows, labels, test rows, labels, domain."""
    train, test = adult.load(arguments.data / "adult.csv.gz")
    train = train[: arguments.rows]
    domain = adult.domain(len(train))
    columns = list(domain.columns)
    found = {"Adult": (train[columns], train["label"], test[columns], test["label"], domain)}
    both = []
    for part in (train, test):
        crossed = part["education"].astype(str) + " " + part["occupation"].astype(str)
        both.append(part[columns].drop(columns=["education", "occupation"]).assign(crossed=crossed))
    pairs = [
        f"{a} {b}"
        for a in domain.columns["education"].categories
        for b in domain.columns["occupation"].categories
    ]
    kept = {n: c for n, c in domain.columns.items() if n not in ("education", "occupation")}
    other = prepriv.Domain(kept | {"crossed": prepriv.Categorical(pairs)}, domain.classes, domain.n)
    found["Adult, education x occupation"] = (both[0], train["label"], both[1], test["label"], other)
    for size in (100, 1000):
        rng, n = np.random.default_rng(size), 24_000
        p = 1 / np.arange(1, size + 1)
        codes = rng.choice(size, (n, 3), p=p / p.sum())
        x = rng.normal(size=(n, 3)).clip(-4, 4)
        score = rng.normal(size=(3, size))[np.arange(3), codes].sum(axis=1) + 0.5 * x.sum(axis=1)
        y = (score + rng.logistic(size=n) > 0).astype(int)
        frame = pd.DataFrame(x, columns=list("abc")).assign(
            **{f"w{j}": [f"c{c}" for c in codes[:, j]] for j in range(3)}
        )
        names = [f"c{c}" for c in range(size)]
        made = prepriv.Domain(
            {c: prepriv.Numeric(-4, 4) for c in "abc"}
            | {f"w{j}": prepriv.Categorical(names) for j in range(3)},
            [0, 1],
            20_000,
        )
        found[f"made up, 3 x {size}"] = (frame[:20_000], y[:20_000], frame[20_000:], y[20_000:], made)
    return found


def transformers() -> None:
    """Each transformer of scikit-learn with its defaults: taken, or refused with the reason."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.utils import all_estimators

    numbers = prepriv.Domain.box(0, 1, features=6, classes=[0, 1, 2], n=1000)
    gaps = prepriv.Domain.box(0, 1, features=6, classes=[0, 1, 2], n=1000, missing="impute")
    words = prepriv.Domain({"a": prepriv.Categorical(["u", "v"])}, classes=[0, 1, 2], n=1000)
    given = {
        "estimator": LogisticRegression(),
        "n_components": 2,
        "transformers": [("a", StandardScaler(), [0])],
    }
    given |= {"transformer_list": [("a", StandardScaler())], "dictionary": np.eye(6)}
    given["estimators"] = [("a", LogisticRegression())]
    taken, refused = [], []
    for name, kind in all_estimators(type_filter="transformer"):
        asked = [p for p, v in signature(kind).parameters.items() if v.default is v.empty]
        if name.endswith("RandomProjection"):
            asked.append("n_components")
        reasons = []
        for domain in (numbers, gaps, words):
            try:
                Fitted.of(kind(**{p: given[p] for p in asked}), domain)
            except (ValueError, KeyError) as error:
                reasons.append(f"{error}".partition(" (")[0])
        (refused if len(reasons) == 3 else taken).append((name, reasons[0] if reasons else ""))
    print(f"{len(taken)} of {len(taken) + len(refused)} are taken: {', '.join(name for name, _ in taken)}")
    for name, why in refused:
        print(f"  {name}: {why}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--epsilons", type=lambda t: [float(e) for e in t.split(",")], default=[0.05, 0.1])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--whole", action="store_true", help="whole private fits instead")
    parser.add_argument("--tutorials", action="store_true", help="with --whole: ten usual pipelines")
    parser.add_argument("--transformers", action="store_true", help="which transformers are taken instead")
    parser.add_argument(
        "--wide", action="store_true", help="target encoding of wide categorical columns instead"
    )
    parser.add_argument("--heavy", action="store_true", help="made-up heavy tails instead")
    warnings.simplefilter("ignore")
    arguments = parser.parse_args()
    if arguments.transformers:
        transformers()
    else:
        (wide if arguments.wide else heavy if arguments.heavy else whole if arguments.whole else alone)(
            arguments
        )


if __name__ == "__main__":
    main()
