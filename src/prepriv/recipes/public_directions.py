"""The recipe for rows that a network made, where public rows lie beside them: their directions first (docs/pillar.md).

Public rows say which few directions hold what differs between rows. A row keeps those alone: less of it is then what noise would have
to outweigh. Nothing is paid for that, and the learner is that of the recipe.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from prepriv import payment as pay
from prepriv.domain import Domain
from prepriv.learners.learner import Learner
from prepriv.placed.rows import public_rows
from prepriv.preprocessing.base import Step
from prepriv.preprocessing.center import Center
from prepriv.preprocessing.normalize import Normalize, Rescale
from prepriv.preprocessing.pca import PCA
from prepriv.recipes.automatic import SCALE, WIDE, recipe
from prepriv.recipes.pillar import public_spectrum, recommend_k

MANY_DIRECTIONS = 16  # from which on rows are brought to one norm; in few, how long a row is says something


def in_public_directions(
    domain: Domain,
    first: Sequence[Step],
    public: pay.Public,
    *,
    n: int,
    epsilon: float,
    delta: float,
    learner: str | Learner,
) -> tuple[tuple[Step, ...], Learner]:
    """(steps, learner): `first`, the public mean, the public directions that `recommend_k` names, rows of norm about 5.

    public: rows of the domain's columns, which go through `first`, too. ValueError for too few of them, or other columns.
    """
    if domain.target is not None:
        raise ValueError("public rows before a recipe are for classes: a target is learned without them")
    before: list[Step] = [*first, Normalize(1.0), Center(payment=public), Normalize(1.0)]
    spectrum = public_spectrum(public.data, domain, before)
    k = recommend_k(
        spectrum,
        n=n,
        epsilon=epsilon,
        delta=delta,
        adjacency=domain.adjacency,
        public_rows=public_rows(public.data, domain, []).table.n,
        classes=len(domain.classes),
    ).k
    even: tuple[Step, ...] = (Normalize(1.0), Rescale(SCALE))
    if k < MANY_DIRECTIONS:
        even = (Rescale(SCALE / math.sqrt(spectrum[:k].sum() / spectrum.sum())),)
    # Its learner is that of embeddings in however few directions; it does not read how many columns there are.
    ball = Domain.ball(max(k, WIDE), domain.classes, radius=SCALE, n=domain.n, adjacency=domain.adjacency)
    _, learned = recipe(ball, n=n, epsilon=epsilon, delta=delta, steps=[], learner=learner)
    return (*before, PCA(k, payment=public), *even), learned
