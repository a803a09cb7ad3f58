"""Planted bugs: what is drawn to its centre by the known noise (predictions of a target, the mean of a scaler), or is not."""

from __future__ import annotations

from mutant import Mutant

TEST = "tests/plans/test_shrink.py"
SCALE, RECIPE = "tests/preprocessing/test_scale.py", "tests/recipes/test_recipes.py"

PARTS = "tests/learners/test_two_parts.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the second part of descent takes as many steps as both",
        "more releases than the plan paid for",
        "learners/gradient_descent.py",
        "count=self.steps - self.first_steps, start=first",
        "start=first",
        (PARTS, "-k", "no_more_sums"),
    ),
    Mutant(
        "all features are learned in the first part",
        "our own: noise of curves in the line",
        "learners/gradient_descent.py",
        "lambda w: alone * mean(w)",
        "mean",
        (PARTS, "-k", "no_more_sums"),
    ),
    Mutant(
        "curves are kept whatever their noise",
        "our own: what the noise made is predicted",
        "plans/shrink.py",
        "bent = kept(slopes - first, about, steps)",
        "bent = 1.0",
        (PARTS, "-k", "leave_the_line"),
    ),
    Mutant(
        "one law of noise for all directions, as if features were independent",
        "our own: signal taken for noise",
        "plans/shrink.py",
        "if any(type(s.step) in _FEATURES for s in plan.steps) else None",
        "if False else None",
        (PARTS, "-k", "each_direction"),
    ),
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
    Mutant(
        "a scaler's mean drawn by the length of the exact mean",
        "diffprivlib StandardScaler and others: a statistic that is looked at beside the noisy one",
        "preprocessing/scale.py",
        "            released = max(float(np.linalg.norm(sums[:k])), 1e-300)\n",
        "            released = max(float(np.linalg.norm(sum(b.sum(axis=0) for b in powers)[:k] / n)), 1e-300)\n",
        (SCALE, "-k", "reads_no_record"),
    ),
    Mutant(
        "a scaler's mean drawn past the midpoint",
        "our own: noise alone, with the other sign",
        "preprocessing/scale.py",
        "mean = centre + one * max(0.0, 1 - (noise / released) ** 2)",
        "mean = centre + one * (1 - (noise / released) ** 2)",
        (SCALE, "-k", "drawn_mean_is_its_formula"),
    ),
    Mutant(
        "a drawn mean that the plan does not tell",
        "our own: two maps, one hash",
        "plans/plan.py",
        'f.metadata.get("omitted") and getattr(part, f.name) == f.default',
        'f.metadata.get("omitted")',
        (SCALE, "-k", "option_is_in_the_plan"),
    ),
    Mutant(
        "version 0.2 by name, with the average of today",
        "our own: a name for what is not that",
        "recipes/automatic.py",
        "return learner if old or wavelets",
        "return learner if wavelets",
        (RECIPE, "-k", "version_0_2"),
    ),
    Mutant(
        "a drawn mean in a recipe of a target",
        "our own: a rule where it was measured to lose",
        "recipes/regression.py",
        "StandardScaler(floor, radius=wide, columns=numeric, payment",
        "StandardScaler(floor, radius=wide, columns=numeric, shrink=True, payment",
        (RECIPE, "-k", "keep_their"),
    ),
)
