"""What a budget was worth on the development suite: errors more than without privacy, over n·µ/d.

    python benchmarks/worth.py --data FOLDER [--epsilon 0.1 0.5 1 2 4] [--most 4000] [--out docs/worth.jsonl]
    python benchmarks/worth.py --from docs/worth.jsonl    the table, and the picture docs/img/worth.svg; nothing is run

One line for each table and ε: n records to train on, µ of (ε, 1e-5), d encoded columns, and the share of the test rows that are
wrong: by the automatic recipe, by the same recipe without privacy, and by always saying the commonest class of the training rows.
One split and one run each, so that a table of a hundred test rows is off by several points.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import prepriv
from prepriv.guarantees import gdp_mu
from prepriv.recipes.worth import WORTH, Worth
from prepriv.release.pictures import AMBER, GREY, dot, label, stroke, svg

DELTA = 1e-5
EDGES = (0, 1, 3, 10, 30, 100, math.inf)
IN_WORDS = [one.in_words for one in WORTH]


def wrong(dev: Any, epsilon: float) -> float:
    """Share of the test rows that a model of this ε labels wrong."""
    clf = prepriv.PrivateClassifier(dev.domain(), epsilon=epsilon, delta=DELTA).fit(*dev.train)
    return float((clf.predict(dev.test[0]) != dev.test[1]).mean())


def run(args: argparse.Namespace) -> None:
    from development import NAMES, load

    done = {line["table"] for line in read(args.out)} if args.out.exists() else set()
    for name in (name for name in NAMES if name not in done):
        dev = load(name, args.data, 0, args.most)
        if dev is None:
            print(f"{name}: its package or file is missing")
            continue
        shares = np.bincount(dev.train[1]) / len(dev.train[1])
        facts = {"table": name, "half": dev.half, "n": len(dev.train[1]), "d": dev.domain().space.d}
        facts |= {
            "commonest": float((dev.test[1] != shares.argmax()).mean()),
            "without": wrong(dev, math.inf),
        }
        with args.out.open("a", encoding="utf-8") as file:
            for epsilon in args.epsilon:
                found = {
                    "epsilon": epsilon,
                    "mu": round(gdp_mu(epsilon, DELTA), 5),
                    "wrong": wrong(dev, epsilon),
                }
                line = {k: round(v, 4) if isinstance(v, float) else v for k, v in (facts | found).items()}
                file.write(json.dumps(line) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def worth_of(lines: list[dict[str, Any]]) -> list[Worth]:
    """The lines in parts by n·µ/d: what `prepriv.recipes.worth` holds."""
    found = []
    for (low, high), told in zip(pairwise(EDGES), IN_WORDS):
        part = [line for line in lines if low <= line["n"] * line["mu"] / line["d"] < high]
        more = [100 * (line["wrong"] - line["without"]) for line in part]
        half, most = (round(max(0.0, float(np.quantile(more, q))), 1) for q in (0.5, 0.8))
        beat = sum(line["wrong"] < line["commonest"] for line in part)
        found.append(
            Worth(low, high, len(part), len({line["table"] for line in part}), half, most, beat, told)
        )
    return found


def picture(lines: list[dict[str, Any]]) -> str:
    """A point for each table and ε, errors more in 100 over n·µ/d, and a step for what half of the runs had."""

    def across(x: float) -> float:
        return 60 + 500 * math.log10(x / 0.1) / 4  # from 0.1 to 1000

    def above(errors: float) -> float:
        return 280 - 260 * min(max(errors, -10.0) + 10, 80) / 80

    parts = [
        stroke(60, 280, 560, 280),
        stroke(60, 20, 60, 280),
        stroke(60, above(0), 560, above(0), GREY, dash=True),
    ]
    for line in lines:
        x = min(max(line["n"] * line["mu"] / line["d"], 0.1), 1000.0)
        parts.append(dot(across(x), above(100 * (line["wrong"] - line["without"])), 2, 0.45))
    for one in worth_of(lines):
        low, high = max(one.low, 0.1), min(one.high, 1000.0)
        parts.append(stroke(across(low), above(one.half), across(high), above(one.half), AMBER, width=3))
    parts += [label(across(x), 297, f"{x:g}", "middle") for x in (0.1, 1, 10, 100, 1000)]
    parts += [label(54, above(e) + 4, f"{e}", "end") for e in (0, 20, 40, 60)]
    parts += [
        label(310, 318, "n·µ/d: records times budget, per column", "middle"),
        label(16, 150, "errors more in 100 than without privacy", "middle", turned=True),
        label(552, 34, "a point: one table at one ε; lines: half of the runs", "end"),
    ]
    told = "; ".join(f"n·µ/d from {one.low:g} to {one.high:g}: {one}" for one in worth_of(lines))
    return svg("What a budget was worth on 42 tables", 600, 328, parts, told)


def show(path: Path) -> None:
    """The numbers of `prepriv.recipes.worth`, as a table, and the picture."""
    lines = read(path)
    print(
        "| n·µ/d | runs | tables | half of the runs: errors more in 100, at most | 8 of 10 | better than the commonest class |"
    )
    print("|---|---:|---:|---:|---:|---:|")
    for one in worth_of(lines):
        name = (
            f"below {one.high:g}"
            if not one.low
            else f"from {one.low:g}" + ("" if math.isinf(one.high) else f" to {one.high:g}")
        )
        print(f"| {name} | {one.runs} | {one.tables} | {one.half:g} | {one.most:g} | {one.beat} |")
    target = Path("docs/img/worth.svg")
    target.write_text(picture(lines) + "\n", "utf-8")
    print(f"wrote {target}")
    print([tuple(one) for one in worth_of(lines)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.1, 0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--most", type=int, default=4000, help="training rows that are kept")
    parser.add_argument("--out", type=Path, default=Path("docs/worth.jsonl"))
    parser.add_argument("--from", dest="shown", type=Path)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    if args.shown is None:
        run(args)
    show(args.shown or args.out)


if __name__ == "__main__":
    main()
