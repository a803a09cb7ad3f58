"""Planted bugs: what the canaries of a run have to see, and what they themselves could do wrong."""

from __future__ import annotations

from mutant import Mutant

TEST = "tests/runs/test_self_audit.py"
AS_PLANNED = (TEST, "-k", "as_planned_is_not_refuted")

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "half the noise of a sum, as canaries see it",
        "noise that is smaller than planned",
        "mechanisms/gaussian_sum.py",
        "            coarse, grown, self.noise_multiplier, source, exponent",
        "            coarse, grown, self.noise_multiplier / 2, source, exponent",
        AS_PLANNED,
    ),
    Mutant(
        "a clip of twice the norm, as canaries see it",
        "a sensitivity that is not kept",
        "exact/gradient_sum.py",
        "    _clip(residual, norms, grid)\n",
        "    _clip(residual, norms / 2, grid)\n",
        AS_PLANNED,
    ),
    Mutant(
        "a batch that holds its records twice, as canaries see it",
        "a sampler that is not the one accounted for",
        "learners/stochastic.py",
        "        return np.flatnonzero(source.bernoulli_mask(self._rate(n), rows))\n",
        "        return np.repeat(np.flatnonzero(source.bernoulli_mask(self._rate(n), rows)), 2)\n",
        AS_PLANNED,
    ),
    Mutant(
        "batches three times too large, as canaries see it",
        "a sampler that is not the one accounted for",
        "learners/stochastic.py",
        "source.bernoulli_mask(self._rate(n), rows)",
        "source.bernoulli_mask(3 * self._rate(n), rows)",
        AS_PLANNED,
    ),
    Mutant(
        "three times the steps, as canaries see it",
        "more releases than are accounted for",
        "learners/learner.py",
        "ahead - rate * gradient(ahead), self",
        "ahead - rate * (0 * gradient(ahead) + 0 * gradient(ahead) + gradient(ahead)), self",
        AS_PLANNED,
    ),
    Mutant(
        "canaries share a coordinate with the records",
        "an audit that costs what it does not pay for",
        "mechanisms/beside.py",
        "        both = np.concatenate([np.ravel(exact), waiting.ravel()])\n",
        "        both = np.concatenate([np.ravel(exact) + waiting.sum(), waiting.ravel()])\n",
        (TEST, "-k", "same_for_any_data"),
    ),
    Mutant(
        "a refuted run is released",
        "an audit that cannot fail",
        "runs/run.py",
        "    if found is not None and found.refuted:\n",
        "    if found is not None and not found.canaries:\n",
        (TEST, "-k", "refuted_and_releases_nothing"),
    ),
    Mutant(
        "the bound of one run has no confidence",
        "a bound that holds half of the time",
        "guarantees/one_run.py",
        "        return mu_of(self.least_share(1 - CONFIDENCE))\n",
        "        return mu_of(self.least_share(CONFIDENCE))\n",
        (TEST, "-k", "bounds_of_one_run or twenty"),
    ),
)
