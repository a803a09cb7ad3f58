"""Planted bugs: predictions of a target that are not drawn to their centre, or not by the known noise."""

from __future__ import annotations

from mutant import Mutant

TEST = "tests/plans/test_shrink.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a factor of James and Stein that is not cut at zero",
        "our own: noise alone, predicted with the other sign",
        "learners/targets.py",
        "return min(1.0, max(0.0, 1.0 - noise / square))",
        "return min(1.0, 1.0 - noise / square)",
        (TEST, "-k", "pure_noise"),
    ),
    Mutant(
        "slopes shrunk without the score of their centre",
        "our own: every prediction moves",
        "plans/shrink.py",
        "(held * score - kept * float(at @ slopes)) / bias",
        "held * score / bias",
        (TEST, "-k", "centre_is_held"),
    ),
    Mutant(
        "slopes that stopped early are shrunk once more",
        "our own: signal taken for noise",
        "plans/shrink.py",
        "kept = min(1.0, kept / max(pull * curvature, 1e-12))",
        "kept = min(1.0, kept)",
        (TEST, "-k", "signal_stays"),
    ),
    Mutant(
        "the response of descent without its momentum",
        "a noise law of another descent",
        "learners/learner.py",
        "                ahead = weights + self.momentum * velocity\n                new = ahead - self.learning_rate * curvature",
        "                ahead = weights\n                new = ahead - self.learning_rate * curvature",
        (TEST, "-k", "response"),
    ),
    Mutant(
        "a released mean is the centre whatever its noise",
        "our own: rows that noise has moved",
        "plans/shrink.py",
        "noise = noise if error is None else error + (noise if math.isfinite(noise) else 0.0)",
        "noise = noise if error is None else 0.0",
        (TEST, "-k", "mostly_noise"),
    ),
    Mutant(
        "a score beyond the declared bounds is believed",
        "our own: noise that no target can be",
        "plans/shrink.py",
        "shrinkage(max(law, score**2 - 1.0), score**2)",
        "shrinkage(law, score**2)",
        (TEST, "-k", "no_target"),
    ),
    Mutant(
        "weights of classes are shrunk, too",
        "our own: a law of targets on a link of classes",
        "plans/shrink.py",
        " or not isinstance(learner.loss, TargetLoss)",
        "",
        (TEST, "-k", "stay_as_they_are"),
    ),
    Mutant(
        "a run on a private table shrinks by the rows that it holds",
        "a number that no mechanism released",
        "runs/run.py",
        "        weights = shrunk(plan, released, weights)\n",
        "        weights = shrunk(plan, released, weights) * (1.0 + 1e-6 * float(targets.sum() % 7))\n",
        ("tests/audit/test_replay.py", "-k", "nothing_but_mechanism and target"),
    ),
)
