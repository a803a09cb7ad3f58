"""Planted bugs: additive models that a larger budget made worse, and columns that nobody took for centred."""

from __future__ import annotations

from mutant import Mutant

ADDITIVE = ("tests/recipes/test_steady.py", "-k", "additive_model")
CENTRED = ("tests/release/test_coefficients.py", "-k", "every_number_that_some_scaler")

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "passes of an additive model are for rows with a quarter in one direction",
        "a larger budget that gives the worse model",
        "recipes/fast.py",
        "_safe(learner, radius, 1.0)",
        "_safe(learner, radius, _SHARE)",
        ADDITIVE,
    ),
    Mutant(
        "the longest steps of an additive model are for some rows alone",
        "a larger budget that gives the worse model",
        "recipes/fast.py",
        "    return steady(learner, radius)\n",
        "    return steady(learner, radius, _SHARE)\n",
        ADDITIVE,
    ),
    Mutant(
        "an additive model has the passes of rows that are centred",
        "a larger budget that gives the worse model",
        "recipes/automatic.py",
        "        if few and n < MANY and not moved and additive:\n",
        "        if False:\n",
        ADDITIVE,
    ),
    Mutant(
        "features of transformers are centred by the names of columns",
        "effects that are not listed as such",
        "plans/shrink.py",
        "            left -= features_of(step, planned.before)\n",
        "            left -= {j for j, c in enumerate(plan.domain.columns) if c in (step.columns or (c,))}\n",
        CENTRED,
    ),
    Mutant(
        "weights of such features do not compare with 0",
        "effects that are not listed as such",
        "release/coefficients.py",
        "            left -= features_of(step, planned.before)\n",
        "            left -= {j for j, c in enumerate(plan.domain.columns) if c in (step.columns or (c,))}\n",
        CENTRED,
    ),
    Mutant(
        "an average row has the lowest cells where transformers came first",
        "a sentence on bounds that is false",
        "release/noise_of_weights.py",
        "    if any(isinstance(m, CompiledMap) for m in maps):\n",
        "    if False:\n",
        CENTRED,
    ),
    Mutant(
        "numbers are said to be cells of one column",
        "a false sentence on the page",
        "release/coefficients.py",
        "_NOT_WITH_ZERO[any(every), not all(every)]",
        "_NOT_WITH_ZERO[True, False]",
        ("tests/release/test_coefficients.py", "-k", "why_weights_do_not_compare"),
    ),
)
