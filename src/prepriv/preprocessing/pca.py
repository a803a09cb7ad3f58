"""Principal components. Here: fitted on public rows (paper 002, PILLAR, Algorithm 1), which costs nothing.

Proof: docs/proofs/pca.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from prepriv.domain import Space
from prepriv.preprocessing.base import Floats, ReleasedMap, Rows, Step


@dataclass(frozen=True, eq=False)
class Project(ReleasedMap):
    """x -> components^T x, components (d, k) with orthonormal columns."""

    components: Floats

    def transform(self, x: Floats) -> Floats:
        return np.asarray(x @ self.components)

    def to_json(self) -> dict[str, Any]:
        return {"map": "project", "components": self.components.tolist()}


def second_moment(rows: Rows, d: int, n: int) -> Floats:
    """(1/n) sum of x x^T over n rows, (d, d), in one pass over blocks."""
    total = np.zeros((d, d))
    for block in rows:
        total += block.T @ block
    return total / n


@dataclass(frozen=True)
class PCA(Step):
    """Project on the k leading eigenvectors of the uncentred second moment of public rows.

    A projection on fixed orthonormal directions is non-expansive: shifts pass through unchanged, and the
    ball keeps its radius.
    """

    k: int = 50

    ways: ClassVar[tuple[str, ...]] = ("public",)
    why_not: ClassVar[dict[str, str]] = {
        "budget": "a private covariance is not implemented yet",
        "sensitivity": "the model needs the directions on new rows, so they have to be released",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.k, bool) or int(self.k) != self.k or self.k < 1:
            raise ValueError(f"k must be a whole number >= 1; got {self.k}")

    def output(self, space: Space) -> Space:
        if self.k > space.d:
            raise ValueError(f"k must be at most the number of features, {space.d}; got {self.k}")
        return Space.ball(self.k, space.radius)

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        if n < self.k:
            raise ValueError(f"PCA to k={self.k} dimensions needs at least {self.k} public rows; got {n}")
        _, vectors = np.linalg.eigh(second_moment(rows, space.d, n))
        return Project(np.ascontiguousarray(vectors[:, ::-1][:, : self.k]))
