"""Auditors of other people on our mechanisms, steps and learners. docs/outside-auditors.md.

python benchmarks/outside_auditors.py --recorder FOLDER/src --auditorium FOLDER/python/dp_auditorium

dp-recorder (github.com/ObliviousAI/dp-recorder, the program of the Re:cord-play paper) records and replays the pipelines of
tests/outside; each release goes through its `Auditor.intercept_mechanism`. DP-Auditorium (github.com/google/differential-privacy) draws
from our mechanisms on neighbouring sums and tests their claim with its histogram tester, and the same mechanisms with half their noise. Both
run as they are, from copies of their repositories, and need seaborn, graphviz, tqdm and etils.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np

import prepriv
from prepriv.guarantees import gaussian
from prepriv.learners import GradientDescent, Logistic
from prepriv.mechanisms import GaussianSum, NoiseSource
from prepriv.runs.train import train

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "outside"))
import test_recorded_and_played as ours


def pipelines() -> dict[str, tuple[Any, Any]]:
    """(plan, domain) of every pipeline of the outside auditor of our own."""
    found = {}
    for name, steps in ours.STEPS.items():
        domain = ours.GAPS if any(isinstance(s, ours.IMPUTERS) for s in steps) else ours.box()
        found[name] = (prepriv.make_plan(domain, steps, ours.GD, epsilon=8.0, delta=1e-3), domain)
    for name, (domain, learner) in ours.LEARNERS.items():
        found[name] = (prepriv.Plan(domain, 8.0, 1e-3, (), learner, 2.0, 0.0), domain)
    return found


class Through(ours.Spy):
    """Hands each release to dp-recorder."""

    def __init__(self, auditor: Any, plan: Any, seed: int) -> None:
        super().__init__(ours.Auditor(), seed, False)
        self.outside, self.units = auditor, float(plan.learner.reach(plan.setting))

    def release(self, name: str, mechanism: Any, exact: Any) -> Any:
        self.at += 1
        draw = mechanism.perform
        units = self.units if name == "gradient" else 1.0

        number = len(self.outside.log) if self.outside.mode.value == "record" else self.outside._cursor

        def release(exact: Any, sensitivity: float, mechanism: str) -> Any:
            return draw(exact, NoiseSource.for_tests(self.seed + self.at))

        def apart(_: Any, __: Any) -> float:
            entry = self.outside.log[number]
            before, after = entry.inputs_d["exact"], entry.inputs_dp["exact"]
            if isinstance(before, np.ndarray):
                return float(np.linalg.norm((before - after).astype(float)))
            kept = mechanism.recorded
            return float(np.sqrt(mechanism.moved_squared(kept(before), kept(after))))

        return self.outside.intercept_mechanism(
            f"{name} {type(mechanism).__name__}",
            release,
            "exact",
            "sensitivity",
            apart,
            None,
            exact,
            float(mechanism.reach) * units * (1 + 1e-9),
            repr(mechanism),
        )


def pair(auditors: Any, plan: Any, other: tuple[Any, Any], seed: int) -> tuple[str, int]:
    """(what dp-recorder finds wrong of one pair, how many releases it saw)."""
    auditor = auditors.Auditor()
    labels, _ = ours.labels_for(plan.domain)
    try:
        with auditor:
            spy = Through(auditor, plan, seed)
            one = ours.surface(train(plan, ours.ROWS, labels, session=spy, counted=False))
        auditor.set_replay()
        with auditor:
            two = ours.surface(train(plan, *other, session=Through(auditor, plan, seed), counted=False))
        auditor.validate_records()
    except (AssertionError, RuntimeError) as error:
        return str(error)[:200], len(auditor.log)
    fine = one == two and auditor._cursor == len(auditor.log)
    return "" if fine else "what leaves depends on data", len(auditor.log)


def recorded(auditors: Any) -> int:
    """What dp-recorder says of every pipeline, and of one that declares half of what a record moves."""
    found, pairs, releases = 0, 0, 0
    for name, (plan, domain) in pipelines().items():
        labels, values = ours.labels_for(domain)
        for seed, other in enumerate(ours.neighbours(ours.ROWS, labels, domain.adjacency, values)):
            said, seen = pair(auditors, plan, other, seed)
            pairs, releases, found = pairs + 1, releases + seen, found + bool(said)
            if said:
                print(f"{name}: {said}")
    print(
        f"dp-recorder: {len(pipelines())} pipelines, {pairs} pairs, {releases} releases, {found} violations"
    )
    unit = GradientDescent.unit
    learner = GradientDescent(Logistic(), clip_norm=0.3, **ours.BOUNDED)
    plan = prepriv.Plan(ours.box(), 8.0, 1e-3, (), learner, 2.0, 0.0)
    GradientDescent.unit = lambda self, setting: unit(self, setting) / 2
    other = ours.LABELS.copy()
    other[0] = 1 - other[0]
    said, _ = pair(auditors, plan, (ours.ROWS, other), 0)
    GradientDescent.unit = unit
    print(f"dp-recorder, half of the sensitivity declared: {said or 'not seen'}")
    return found + (not said)


def drawn(multiplier: float, claimed: float) -> tuple[str, Callable[[int], Any], float]:
    """A Gaussian sum of one number, neighbours apart by its sensitivity: (name, draws, claimed µ)."""
    release = GaussianSum(
        sensitivity=1024, noise_multiplier=multiplier, exponent=-10, largest=2**20, coordinates=200_000
    )

    def draw(value: int) -> Any:
        return release.perform(np.full(200_000, value, dtype=np.int64), NoiseSource())

    return "Gaussian sum", draw, claimed


def tested(testers: Any, configs: Any, properties: Any) -> int:
    """What the histogram tester says of a mechanism as it is, and with half its noise; how often it is wrong."""
    wrong = 0
    for mu in (0.5, 1.0, 2.0):
        for half in (False, True):
            name, draw, claim = drawn(1 / mu / (2 if half else 1), mu)
            epsilon = 0.5 * mu
            delta = float(gaussian(claim).delta(epsilon))
            config = configs.HistogramPropertyTesterConfig(
                test_discrete_mechanism=False,
                histogram_size=60,
                min_value=-4 / mu,
                max_value=1 + 4 / mu,
                approximate_dp=properties.ApproximateDp(epsilon=epsilon, delta=delta),
            )
            tester = testers.HistogramTester(config)
            found = tester.estimate_lower_bound(draw(1024), draw(0), 0.05)
            rejected = found > delta
            wrong += rejected != half
            print(
                f"DP-Auditorium, {name}, µ = {mu}{', half the noise' if half else ''}: δ({epsilon}) claimed {delta:.4f}, at least {found:.4f}: "
                f"{'rejected' if rejected else 'not rejected'}"
            )
    return wrong


def main() -> int:
    """Run those that are there; 1 if one finds a violation of ours, or misses a planted one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recorder", type=Path)
    parser.add_argument("--auditorium", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wrong = 0
    if options.recorder is not None:
        sys.path.insert(0, str(options.recorder))
        wrong += recorded(importlib.import_module("dp_recorder.auditing.audit_primitives"))
    if options.auditorium is not None:
        sys.path.insert(0, str(options.auditorium))
        for name in (
            "vizier",
            "vizier.service",
            "vizier.service.clients",
            "vizier.service.pyvizier",
            "tensorflow",
        ):
            sys.modules.setdefault(
                name, MagicMock()
            )  # of its generators and other testers, which are not used
        modules = ("testers.histogram_tester", "configs.property_tester_config", "configs.privacy_property")
        wrong += tested(*(importlib.import_module(f"dp_auditorium.{name}") for name in modules))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
