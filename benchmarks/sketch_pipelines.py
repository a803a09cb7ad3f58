"""Ten published pipelines (benchmarks/ten_pipelines.py) and ten of tutorials (benchmarks/sketch.py), as they stand, through `prepriv.private`.

Each with LogisticRegression last: the way that pays and the share that it takes, accuracy of the private fit, of the same pipeline of scikit-learn without
privacy, and of the default recipe, on at most --rows records. One run each; a pipeline that is refused is refused before a charge.

    python benchmarks/sketch_pipelines.py FOLDER [--rows 8000] [--epsilons 0.3,1,4] [--way budget] [--seeds 1] [--level 0.6] [--only NAME] [--skip-default]
                                                                   (FOLDER holds adult.csv.gz and mnist.npz)

--way: what pays, "auto" for what `prepriv.private` takes by itself. --level: the constant feature after a sketch.
"""

from __future__ import annotations

import argparse
import functools
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sketch
import ten_pipelines
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import prepriv
from prepriv.recipes import pipeline_ways

DELTA, TEST = 1e-5, 4000


@functools.cache
def rows(data: str, folder: Path, records: int, columns: int) -> Any:
    """(rows, labels, test rows, labels, domain) of what a pipeline is fitted on: frames with the declared columns."""
    if data.startswith("MNIST"):
        x, y, new, truth, _ = ten_pipelines.digits(folder, 0, 0)
        domain = prepriv.Domain.box(0, 255, features=784, classes=[0, 1])
        x, y = x[:records], y[:records]
    else:
        x, y, new, truth, domain = ten_pipelines.DATA[data](folder, records, columns)
    names = list(domain.columns)
    words = [n for n in names if not isinstance(domain.columns[n], prepriv.Numeric)]
    frames = [as_frame(part, names, words) for part in (x, new[:TEST])]
    return frames[0], np.asarray(y), frames[1], np.asarray(truth)[:TEST], replace(domain, n=len(x))


def as_frame(part: Any, names: list[str], words: list[str]) -> pd.DataFrame:
    """A frame as scikit-learn takes it."""
    frame = part[names] if isinstance(part, pd.DataFrame) else pd.DataFrame(np.asarray(part), columns=names)
    return frame.astype(dict.fromkeys(words, object))


def published(found: ten_pipelines.Found, domain: prepriv.Domain) -> Any:
    """Its transformers, numbers and words one each where it has both; dropna, which is not a map of rows, left out."""
    parts = [part for part in found.parts if not isinstance(part, str)]
    numbers = [n for n, c in domain.columns.items() if isinstance(c, prepriv.Numeric)]
    words = [n for n in domain.columns if n not in numbers]
    if not words:
        often = [p for p in parts if getattr(p, "strategy", "") != "most_frequent"]
        return make_pipeline(*(p for p in often if not isinstance(p, OneHotEncoder)))
    of_words = [
        p for p in parts if isinstance(p, OneHotEncoder) or getattr(p, "strategy", "") == "most_frequent"
    ]
    of_words = [
        OneHotEncoder(handle_unknown="ignore") if isinstance(p, OneHotEncoder) else p for p in of_words
    ]
    of_numbers = [
        ten_pipelines.median(),
        *(p for p in parts if p not in of_words and not isinstance(p, OneHotEncoder)),
    ]
    of_numbers = [p for i, p in enumerate(of_numbers) if type(p) not in map(type, of_numbers[:i])]
    return make_column_transformer((make_pipeline(*of_numbers), numbers), (make_pipeline(*of_words), words))


def private(pipeline: Any, table: Any, epsilon: float, way: Any, seeds: int) -> tuple[str, str]:
    """(mean accuracy in percent, or that it was refused; the way that paid, and its share of the budget)."""
    x, y, new, truth, domain = table
    scores, ways = [], ""
    for _ in range(seeds):
        try:
            fitted = prepriv.private(pipeline, domain, epsilon=epsilon, delta=DELTA, way=way).fit(x, y)
        except ValueError as refused:
            known = ("cannot be paid for", "needs a step of prepriv")
            return ("refused" if any(k in str(refused) for k in known) else f"refused: {refused}"), "–"
        paid = [p.step.way for p in fitted.plan_.steps if p.step.way != "free"]
        share = 1 - dict(fitted.guarantee_.breakdown)[fitted.plan_.learner.name]
        ways = f"{paid[0]} {100 * share:.0f} %" if paid else "free"
        scores.append(100 * fitted.score(new, truth))
    return f"{np.mean(scores):.1f}", ways


@functools.cache
def default(key: tuple[Any, ...], epsilon: float) -> str:
    x, y, new, truth, domain = rows(*key)
    fitted = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA).fit(x, y)
    return f"{100 * fitted.score(new, truth):.1f}"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument(
        "--epsilons", type=lambda t: [float(e) for e in t.split(",")], default=[0.3, 1.0, 4.0]
    )
    parser.add_argument("--way", default="auto", choices=pipeline_ways.PAID_WAYS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", default="", help="a part of the name of a pipeline")
    parser.add_argument(
        "--skip-default", action="store_true", help="without the default recipe, which takes most of the time"
    )
    parser.add_argument("--level", type=float, default=pipeline_ways.EVEN_LEVEL)
    args = parser.parse_args()
    pipeline_ways.EVEN_LEVEL = args.level
    warnings.simplefilter("ignore")
    asked = []
    for found in ten_pipelines.FOUND:
        key = (found.data, args.folder, min(found.records, args.rows), found.columns)
        asked.append((found.source.partition("/")[2], key, published(found, rows(*key)[4])))
    key = ("Adult", args.folder, args.rows, 14)
    domain = rows(*key)[4]
    numbers = [n for n, c in domain.columns.items() if isinstance(c, prepriv.Numeric)]
    words = [n for n in domain.columns if n not in numbers]
    asked += [(name, key, made) for name, made in sketch.tutorials(numbers, words).items()]
    shown = " / ".join(f"{e:g}" for e in args.epsilons)
    print(
        f"| pipeline, then LogisticRegression | data, rows | what pays, at {shown} | private, {shown} | without privacy | default recipe, {shown} |"
    )
    print("|---|---|---|---|---|---|")
    for name, key, transformers in asked:
        if args.only not in name:
            continue
        pipeline = make_pipeline(transformers, LogisticRegression(max_iter=300))
        table = rows(*key)
        found = [private(pipeline, table, epsilon, args.way, args.seeds) for epsilon in args.epsilons]
        shares = " / ".join(s for _, s in found)
        try:
            plain = f"{100 * pipeline.fit(table[0], table[1]).score(table[2], table[3]):.1f}"
        except ValueError as error:
            plain = f"fails ({str(error)[:40]})"
        defaults = "" if args.skip_default else " / ".join(default(key, e) for e in args.epsilons)
        print(
            f"| {name} | {key[0]}, {len(table[0])} | {shares} | {' / '.join(a for a, _ in found)} | {plain} | {defaults} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
