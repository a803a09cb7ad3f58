"""What choosing one of k candidates leaves of the signal, by each method: python benchmarks/choose.py [--delta 1e-5]

Signal: mu of a candidate over that of a single fit; in brackets times the chance that a candidate is tried, which is what
`prepriv.choose` compares. "Own rows" has 1 / k of the records.
"""

from __future__ import annotations

import argparse
import math

from prepriv.evaluation.choose import _trial_mu
from prepriv.guarantees import gdp_mu
from prepriv.runs.chosen import trials_stop, tried


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delta", type=float, default=1e-5)
    delta = parser.parse_args().delta
    print(
        "| k | same rows | own rows | " + " | ".join(f"random trials, ε = {e:g}" for e in (0.5, 1, 4)) + " |"
    )
    print("|---|---|---|---|---|---|")
    for k in (2, 3, 4, 5, 8, 16, 50):
        trials = []
        for epsilon in (0.5, 1.0, 4.0):
            whole = gdp_mu(epsilon, delta)
            share = _trial_mu(whole, trials_stop(k), epsilon, delta) / whole
            trials.append(f"{share:.2f} ({share * tried(k):.2f})")
        print(f"| {k} | {1 / math.sqrt(k):.2f} | {1 / k:.2f} | {' | '.join(trials)} |")


if __name__ == "__main__":
    main()
