"""Noisy SGD of Bassily, Smith and Thakurta (2014), How to Make Semi-Private Learning Effective's Algorithm 2. Proof: docs/proofs/noisy_sgd.md.

Single records (or small batches) drawn uniformly, a noisy gradient, a step that shrinks, a projection. The paper
prints the noise with 1/ε in place of 1/ε², and no usable learning rate: here the noise is calibrated to the
account of batches without replacement, and the rate is that of Bassily et al.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.engines.engine import Held
from prepriv.learners.learner import Run, Setting, project
from prepriv.learners.stochastic import FixedBatches
from prepriv.learners.subsets import uniform_subset


@dataclass(frozen=True)
class NoisySGD(FixedBatches):
    """Projected SGD on uniform batches of b records with η(t) = rate·2B/√(t·G²), the algorithm of Bassily et al.

    Parameters
    ----------
    loss : Loss
        One of `prepriv.learners`.
    batch_size : int, default 1
        b. The algorithm of the papers has 1.
    steps : int, default 1000
        T, the number of steps. The papers take n² − 1.
    learning_rate : float, default 1.0
        A factor on the papers' step size, in which G² is a bound on the squared norm of a noisy gradient, C² + d·σ².
    clip_norm : float, default 1.0
        C, the bound on one record's gradient.
    weight_bound : float, default inf
        B, the radius of the ball W of the papers. It must be given, and finite.
    bias : float, default 1.0
        Value of the appended bias feature. It counts in the norm of a row.

    Raises
    ------
    ValueError
        For a setting out of range. When it is priced: under add-or-remove-one.

    Notes
    -----
    Replace-one only. The last iterate is returned. Source: Bassily, Smith and Thakurta (2014); How to Make
    Semi-Private Learning Effective, Algorithm 2. Proof: docs/proofs/noisy_sgd.md.

    Examples
    --------
    >>> from prepriv.learners import Logistic, NoisySGD
    >>> NoisySGD(Logistic(), batch_size=64, steps=500, weight_bound=5.0).weight_bound
    5.0
    """

    takes_units: ClassVar[bool] = True
    batch_size: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.weight_bound):
            raise ValueError("weight_bound must be finite for NoisySGD")

    def step_size(self, step: int, clip: float, noise_multiplier: float, coordinates: int) -> float:
        """η(t) for the mean gradient of a batch, t = 1, 2, … All of it is public."""
        noise = noise_multiplier * clip / self.batch_size
        return (
            self.learning_rate * 2 * self.weight_bound / math.sqrt(step * (clip**2 + coordinates * noise**2))
        )

    def train(self, rows: Held, setting: Setting, run: Run) -> Floats:
        """Train from a start at 0 and return the last iterate."""
        n, source = setting.n, run.batches()
        if rows.shape[0] != n:  # public under replace-one
            raise ValueError(f"n={n:,} records are declared, the table has {rows.shape[0]:,}")
        grid = rows.grid
        clip = grid.clip * 2.0**grid.exponent
        weights = np.zeros((rows.shape[1], setting.outputs))
        with rows.gradient_sum(self.loss) as gradient_sum:
            for step in range(1, self.steps + 1):
                batch: NDArray[np.intp] = uniform_subset(source, n, self.batch_size)
                noisy = run.gradient(gradient_sum(weights, batch), grid.clip, grid, n)
                rate = self.step_size(step, clip, run.noise_multiplier, weights.size)
                weights = project(weights - rate / self.batch_size * noisy, self.weight_bound)
                run.done(step, self.steps)
        return weights
