"""Losses of linear models, each with the constants that privacy rests on.

A linear model scores a record x with W x, one score an output. The gradient of one record's loss in W
is ``residual ⊗ x`` where the residual is the derivative of the loss in the scores: no per-record gradient
is ever stored. What the guarantee needs from a loss is how large that gradient can be (L), how far it can
move when x moves (µ), and how fast it turns with W (β). Proofs: docs/proofs/losses.md.

All constants are rounded up. Residuals are elementwise in the records: permuting, slicing or blocking the
rows gives the same bits.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Every constant is the float value of a formula, a handful of operations; this covers their rounding.
_ROUND_UP = 1.0 + 1e-12
# Below this many outputs adding columns is faster than numpy's row reductions. Both orders depend on the
# number of outputs alone.
_COLUMN_LOOP = 32


class Loss(ABC):
    """What a learner and an account need to know of a loss."""

    name: ClassVar[str]

    @abstractmethod
    def outputs(self, n_classes: int) -> int:
        """Columns of the weight matrix for ``n_classes`` declared classes. Raises ValueError if unsuited."""

    @abstractmethod
    def value(self, scores: FloatArray, targets: NDArray[Any]) -> FloatArray:
        """Loss of each record.

        scores: (b, K) finite; targets: (b,) class indices (real numbers for least squares). Returns (b,).
        A record whose target is outside the declared range has loss 0.
        """

    @abstractmethod
    def residual(
        self, scores: FloatArray, targets: NDArray[Any], out: FloatArray | None = None
    ) -> FloatArray:
        """Derivative of the value in the scores, (b, K): the record's gradient is ``residual ⊗ x``.

        Finite for finite scores of any size. ``out``: a C-contiguous float64 (b, K) buffer; it may be
        ``scores`` itself. A record whose target is outside the declared range contributes 0.
        """

    @abstractmethod
    def gradient_norm(self, radius: float, weight_norm: float) -> float:
        """L: the largest ‖residual‖·‖x‖ over ‖x‖ ≤ radius, ‖W‖_F ≤ weight_norm (may be infinite)."""

    @abstractmethod
    def input_lipschitz(self, radius: float, weight_norm: float) -> float:
        """µ: x ↦ record gradient is µ-Lipschitz (Frobenius norm) on the same set; infinite for hinge."""

    @abstractmethod
    def smoothness(self, radius: float) -> float:
        """β: W ↦ record gradient is β-Lipschitz for ‖x‖ ≤ radius; infinite for the hinge."""


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(−y·score)), y = ±1 for class 1 and 0: two classes, one output."""

    name: ClassVar[str] = "logistic"

    def outputs(self, n_classes: int) -> int:
        if n_classes != 2:
            raise ValueError(f"n_classes: logistic loss has 2 classes, got {n_classes}; use Softmax")
        return 1

    def value(self, scores: FloatArray, targets: NDArray[Any]) -> FloatArray:
        signs = _signs(targets, 1)
        margins = _matrix(scores, 1) * signs
        return (np.logaddexp(0.0, -margins) * np.abs(signs))[:, 0]

    def residual(
        self, scores: FloatArray, targets: NDArray[Any], out: FloatArray | None = None
    ) -> FloatArray:
        signs = _signs(targets, 1)
        margins = _matrix(scores, 1) * signs
        # σ(−m) without overflow or cancellation: e/(1+e) for m > 0, 1/(1+e) otherwise, e = exp(−|m|).
        e = np.exp(-np.abs(margins))
        result = np.where(margins > 0, e, 1.0)
        np.divide(result, 1.0 + e, out=result)
        return np.multiply(result, -signs, out=out)

    def gradient_norm(self, radius: float, weight_norm: float) -> float:
        return radius * _sigmoid(_reach(radius, weight_norm)) * _ROUND_UP

    def input_lipschitz(self, radius: float, weight_norm: float) -> float:
        return _logistic_input_lipschitz(_reach(radius, weight_norm)) * _ROUND_UP

    def smoothness(self, radius: float) -> float:
        return 0.25 * radius**2 * _ROUND_UP


@dataclass(frozen=True)
class Softmax(Loss):
    """Cross-entropy of softmax(scores): one output a class."""

    name: ClassVar[str] = "softmax"

    def outputs(self, n_classes: int) -> int:
        if n_classes < 2:
            raise ValueError(f"n_classes: must be at least 2, got {n_classes}")
        return n_classes

    def value(self, scores: FloatArray, targets: NDArray[Any]) -> FloatArray:
        scores = _matrix(scores)
        index, valid = _class_indices(targets, scores.shape[1])
        top = _row_max(scores)
        with np.errstate(over="ignore", under="ignore"):
            mass = _row_sum(np.exp(scores - top[:, None]))
            # The two large terms first: their difference may be small, and it is exact where it is.
            result = (top - scores[np.arange(len(index)), index]) + np.log(mass)
        return result if valid is None else np.where(valid, result, 0.0)

    def residual(
        self, scores: FloatArray, targets: NDArray[Any], out: FloatArray | None = None
    ) -> FloatArray:
        scores = _matrix(scores)
        index, valid = _class_indices(targets, scores.shape[1])
        # A difference of finite scores may overflow to −inf, never to +inf or NaN: exp gives 0.
        with np.errstate(over="ignore", under="ignore"):
            result = np.subtract(scores, _row_max(scores)[:, None], out=out)
            np.exp(result, out=result)
            np.divide(result, _row_sum(result)[:, None], out=result)
        result[np.arange(len(index)), index] -= 1.0
        if valid is not None:
            result[~valid] = 0.0
        return result

    def gradient_norm(self, radius: float, weight_norm: float) -> float:
        _reach(radius, weight_norm)
        return math.sqrt(2.0) * radius * _ROUND_UP

    def input_lipschitz(self, radius: float, weight_norm: float) -> float:
        return (math.sqrt(2.0) + 0.5 * _reach(radius, weight_norm)) * _ROUND_UP

    def smoothness(self, radius: float) -> float:
        return 0.5 * radius**2 * _ROUND_UP


def _reach(radius: float, weight_norm: float) -> float:
    """κ = B·R, the largest score; ValueError unless 0 ≤ R < ∞ and 0 ≤ B ≤ ∞."""
    if not 0.0 <= radius < math.inf:
        raise ValueError(f"radius: must be finite and not negative, got {radius}")
    if not weight_norm >= 0.0:
        raise ValueError(f"weight_norm: must not be negative, got {weight_norm}")
    return 0.0 if radius == 0.0 else radius * weight_norm


def _sigmoid(z: float) -> float:
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


def _logistic_input_lipschitz(reach: float) -> float:
    if math.isinf(reach):
        return math.inf
    if reach > 1 and (1 + 1 / reach) / 2 <= _sigmoid(reach):
        return (reach + 1) ** 2 / (4 * reach)
    return _sigmoid(reach) * (1 + reach * _sigmoid(-reach))


def _matrix(scores: FloatArray, outputs: int | None = None) -> FloatArray:
    """Scores as a C-contiguous float64 matrix: numpy's elementwise kernels then treat all rows alike."""
    matrix = np.ascontiguousarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or (outputs is not None and matrix.shape[1] != outputs):
        wanted = "K" if outputs is None else outputs
        raise ValueError(f"scores: must have shape (b, {wanted}), got {matrix.shape}")
    return matrix


def _class_indices(
    targets: NDArray[Any], n_classes: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_] | None]:
    """Targets as indices in range, and which were (None: all of them). Never fails on a record's value."""
    targets = np.asarray(targets)
    if targets.ndim != 1 or targets.dtype.kind not in "iub":
        raise ValueError(
            f"targets: must be integers of shape (b,), got {targets.dtype} of shape {targets.shape}"
        )
    index = targets.astype(np.intp, copy=False)
    if index.size == 0 or (index.min() >= 0 and index.max() < n_classes):
        return index, None
    valid = (index >= 0) & (index < n_classes)
    return np.where(valid, index, 0), valid


def _signs(targets: NDArray[Any], outputs: int) -> FloatArray:
    """(b, K): +1 where the output's class is the target, −1 elsewhere; a row of 0 for a target out of range.

    With one output, class 1 is +1 and class 0 is −1.
    """
    index, valid = _class_indices(targets, max(outputs, 2))
    if outputs == 1:
        signs: FloatArray = np.where(index == 1, 1.0, -1.0)[:, None]
    else:
        signs = np.full((len(index), outputs), -1.0)
        signs[np.arange(len(index)), index] = 1.0
    if valid is not None:
        signs[~valid] = 0.0
    return signs


def _row_max(matrix: FloatArray) -> FloatArray:
    if matrix.shape[1] > _COLUMN_LOOP:
        return np.asarray(np.maximum.reduce(matrix, axis=1))
    result: FloatArray = matrix[:, 0].copy()
    for k in range(1, matrix.shape[1]):
        np.maximum(result, matrix[:, k], out=result)
    return result


def _row_sum(matrix: FloatArray) -> FloatArray:
    """Sum over the outputs of each row, in an order that depends on the number of outputs alone."""
    if matrix.shape[1] > _COLUMN_LOOP:
        return np.asarray(np.add.reduce(matrix, axis=1))
    result: FloatArray = matrix[:, 0].copy()
    for k in range(1, matrix.shape[1]):
        np.add(result, matrix[:, k], out=result)
    return result
