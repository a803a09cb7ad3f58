"""The automatic recipe: steps and learner from (n, d, classes, epsilon, delta, adjacency) alone. No tuning.

How the constants were chosen: docs/recipe.md.
"""

from __future__ import annotations
