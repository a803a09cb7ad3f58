"""Claims of random plans beside those of dp-accounting: is ours ever below, and how far above? docs/second-account.md.

python benchmarks/second_account.py --plans 1000

A plan is one to three steps, each paid for in a random way, and a learner with random noise, batches and steps, under both
adjacencies. Every claim is computed twice: by this package, and by dp-accounting from the events alone. It exits with 1 if a
claim is below what dp-accounting, rounding down, finds.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from prepriv import Budget, Domain, Numeric, Sensitivity
from prepriv import preprocessing as pre
from prepriv.adjacency import ADJACENCIES
from prepriv.guarantees.second_account import NoEvents
from prepriv.learners import (
    FixedBatchSGD,
    GradientDescent,
    Logistic,
    NoisySGD,
    OnePassSGD,
    PoissonSGD,
    SufficientStatistics,
)
from prepriv.plans.plan import Plan
from prepriv.preprocessing.base import Step
from prepriv.release.both_accounts import second_account
from prepriv.release.report import Report


@dataclass(frozen=True)
class Compared:
    """One plan: our epsilon, theirs between low and high, and the sampler that decides how they compute."""

    plan: str
    ours: float
    low: float
    high: float
    sampling: str


def random_plan(rng: np.random.Generator) -> Plan:
    """Some steps and a learner. ValueError if they cannot stand together."""
    n = int(rng.choice([200, 1000, 5000, 50_000]))
    adjacency = ADJACENCIES[int(rng.integers(2))]
    epsilon, delta = float(np.exp(rng.uniform(np.log(0.05), np.log(20)))), float(10 ** rng.uniform(-8, -4))
    learner, target = _learner(rng, n)
    labels = {"target": Numeric(0, 2)} if target else {"classes": [0, 1]}
    domain = Domain.box(0, 1, features=3, n=n, adjacency=adjacency, missing="impute", **labels)
    steps = _steps(rng, adjacency)
    noise = float(np.exp(rng.uniform(np.log(0.6), np.log(30)))) * learner.steps**0.25
    return Plan(domain, epsilon, delta, tuple(steps), learner, noise, 0.0)


def _learner(rng: np.random.Generator, n: int):
    kind, steps = int(rng.integers(10)), int(np.exp(rng.uniform(0, np.log(400))))
    batch = max(1, int(n * np.exp(rng.uniform(np.log(0.002), np.log(0.5)))))
    bounded = {"steps": steps, "weight_bound": 3.0}
    if kind < 3:
        return GradientDescent(Logistic(), **bounded), False
    if kind == 3:
        return SufficientStatistics(), True
    if kind < 7:
        return PoissonSGD(Logistic(), batch_size=batch, **bounded), False
    if kind == 7:
        return FixedBatchSGD(Logistic(), batch_size=batch, **bounded), False
    if kind == 8:
        return NoisySGD(Logistic(), batch_size=batch, **bounded), False
    return OnePassSGD(Logistic(), batch_size=batch, steps=1, weight_bound=3.0, learning_rate=0.5), False


def _steps(rng: np.random.Generator, adjacency: str) -> Iterator[Step]:
    share = lambda: Budget(float(rng.uniform(0.01, 0.3)))  # noqa: E731
    if adjacency == "replace-one" and rng.random() < 0.2:
        yield pre.MeanImputer(payment=Sensitivity({"missing": float(rng.uniform(0.001, 0.02))}))
    else:
        yield pre.MeanImputer(payment=share()) if rng.random() < 0.5 else pre.ConstantImputer(0.5)
    if rng.random() < 0.5:
        yield pre.Center(payment=share())
    if rng.random() < 0.3:
        yield pre.StandardScaler(payment=share())
    if rng.random() < 0.3:
        yield pre.Normalize()


def compared(plan: Plan) -> Compared:
    """Both accounts of a plan. NoEvents where dp-accounting has none."""
    report = Report(plan, True, (), None, ())
    other = second_account(report)
    sampling = plan.learner.events(plan.learner_noise_multiplier, plan.setting)[0].sampling
    said = f"{plan.what}, {plan.domain.adjacency}, n {plan.n}"
    return Compared(said, plan.guarantee.epsilon(plan.delta), other.low, other.high, sampling)


def attack(plans: int, seed: int = 0) -> tuple[list[Compared], Counter[str], int]:
    """(what was compared, why others were not, how many combinations were no plan), of so many plans."""
    rng, found, unknown, no_plan = np.random.default_rng(seed), [], Counter(), 0
    while len(found) + unknown.total() < plans:
        try:
            plan = random_plan(rng)
            plan.guarantee  # noqa: B018  the steps may not stand together
        except ValueError:
            no_plan += 1
            continue
        try:
            found.append(compared(plan))
        except NoEvents as why:
            unknown[str(why)] += 1
    return found, unknown, no_plan


def main() -> int:
    """Print the table; 1 if a claim was below."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plans", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found, unknown, _ = attack(args.plans, args.seed)
    print(
        "| events | claims | below theirs, rounded down | ours over theirs, rounded up: median | largest | their own error, median |"
    )
    print("|---|---|---|---|---|---|")
    for sampling, said in (
        ("all", "all records"),
        ("poisson", "Poisson samples"),
        ("without replacement", "samples without replacement"),
    ):
        of = [c for c in found if c.sampling == sampling]
        if not of:
            continue
        ratio = [c.ours / c.high for c in of]
        error = [(c.high - c.low) / c.high for c in of]
        below = sum(c.ours < c.low for c in of)
        print(
            f"| {said} | {len(of)} | {below} | {np.median(ratio):.6f} | {max(ratio):.6f} | {100 * np.median(error):.2f} % |"
        )
    for why, count in unknown.most_common():
        print(f"\nnot known, {count}: {why}")
    wrong = [c for c in found if c.ours < c.low]
    for c in wrong:
        print(f"below: {c}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
