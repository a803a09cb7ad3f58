"""Coverage of the intervals of a private evaluation, and their error: python benchmarks/evaluation.py [--repetitions 1000]

A population of made-up people, a model trained on others of them; in each repetition test rows are drawn from the
population with replacement and evaluated with fresh noise. An interval covers where it holds the population's own value.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

import prepriv
from prepriv.evaluation.cells import row_entries
from prepriv.evaluation.evaluate import release
from prepriv.evaluation.evaluation_plan import MEASURES, plan_evaluation
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession
from prepriv.tables.encoding import encode, encode_labels

POPULATION = 100_000


def people(classes, rng, n=POPULATION):
    """Rows and labels; of two classes the second holds a quarter."""
    X = rng.random((n, 6))
    scores = (X - 0.5) @ rng.normal(size=(6, classes)) * 2 + rng.normal(size=(n, classes))
    scores[:, 0] += 1.0 if classes == 2 else 0.0
    return X, scores.argmax(axis=1)


def everybody(classes, adjacency="replace-one"):
    """(a model, its cells over the whole population)."""
    rng = np.random.default_rng(classes)
    X, y = people(classes, rng)
    domain = prepriv.Domain.box(0, 1, 6, list(range(classes)), adjacency=adjacency, n=5000)
    clf = prepriv.PrivateClassifier(domain, epsilon=1.0).fit(X[:5000], y[:5000])
    plan = plan_evaluation(clf.model_, n=len(X))
    return clf.model_, row_entries(plan, clf.model_, encode(X, domain), encode_labels(y, domain.classes))


def taken(of, rows):
    """The cells of some rows."""
    return {name: column[rows] for name, column in of.items()}


def repetitions(model, of, plan, count, seed=0):
    """(true figures, figures of each repetition)."""
    everyone = plan.domain.with_n(len(next(iter(of.values()))))
    exact = release(replace(plan, domain=everyone), of, ExactSession())
    truth = PrivateEvaluation(replace(plan, domain=everyone, epsilon=1e5), exact, False).figures
    rng = np.random.default_rng(seed)
    found = []
    for k in range(count):
        counts = release(plan, taken(of, rng.integers(0, everyone.n, plan.n)), session(k, seed))
        found.append(PrivateEvaluation(plan, counts, False).figures)
    return {name: figure.value for name, figure in truth.items()}, found


def session(k, seed):
    """Noise that a rerun draws again: rows and people are made up."""
    return NoisySession(NoiseSource.for_tests(10_000 * seed + k))


def summary(truth, found):
    """{figure: (covered, refused, median half width, root mean squared error)}: the first two are shares of all
    repetitions, an interval that was refused being as good as [0, 1]; the rest is of those that were given."""
    out = {}
    for name, value in truth.items():
        given = [f[name] for f in found if f[name].value is not None]
        covered = 1 - sum(not f.low <= value <= f.high for f in given) / len(found)
        half = np.median([(f.high - f.low) / 2 for f in given]) if given else np.nan
        error = np.sqrt(np.mean([(f.value - value) ** 2 for f in given])) if given else np.nan
        out[name] = (covered, 1 - len(given) / len(found), half, error)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 5])
    options = parser.parse_args()
    for classes in options.classes:
        for adjacency in prepriv.domain.ADJACENCIES:
            model, of = everybody(classes, adjacency)
            for epsilon in (0.1, 1.0, 10.0):
                for measures in (MEASURES, *((m,) for m in MEASURES if epsilon == 0.1)):
                    plan = plan_evaluation(model, n=options.rows, epsilon=epsilon, measures=measures)
                    truth, found = repetitions(model, of, plan, options.repetitions)
                    print(
                        f"\n{classes} classes, {adjacency}, ε = {epsilon:g}, measures: {', '.join(measures)}"
                    )
                    for name, (covered, refused, half, error) in summary(truth, found).items():
                        print(
                            f"  {name:20} {truth[name]:.4f}  covered {100 * covered:5.1f} %  refused {100 * refused:5.1f} %"
                            f"  half width {half:.4f}  error {error:.4f}"
                        )


if __name__ == "__main__":
    main()
