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

from prepriv._arguments import LARGEST, integer, number, settle
from prepriv._arrays import Floats
from prepriv._rounding import UP
from prepriv._said import says
from prepriv.exact.ball import row_sum
from prepriv.learners.loss_arrays import as_matrix, class_indices, class_signs, row_max
from prepriv.learners.loss_constants import (
    direction_bound,
    logistic_input_lipschitz,
    softmax_input_lipschitz,
    softmax_residual_norm,
)

# Every constant is the float value of a formula, a handful of operations; this covers their rounding.


BOUNDS = ("gradient_norm", "input_lipschitz", "smoothness")
"""What a learner knows about a loss: words about its residual."""


class Loss(ABC):
    """What a learner and an account need to know about a loss.

    Attributes
    ----------
    convex : bool
        A class attribute: whether `value` is convex in the scores, with `residual` as its gradient. Learners whose
        account needs this refuse a loss that does not say so (`OnePassSGD`).
    trains : bool
        A class attribute: False for a loss that is for accounts alone.
    name : str
        A class attribute: its name in plans.

    Notes
    -----
    A subclass defines `outputs`, `value`, `residual` and the three constants that privacy rests on: `gradient_norm` (L),
    `input_lipschitz` (µ) and `smoothness` (β), all rounded up. Proofs: docs/proofs/losses.md.

    Examples
    --------
    >>> import math
    >>> from prepriv.learners import Softmax
    >>> round(Softmax().gradient_norm(radius=1.0, weight_norm=math.inf), 4)
    1.4142
    """

    name: ClassVar[str]
    trains: ClassVar[bool] = True
    convex: ClassVar[bool] = False
    _words: ClassVar[tuple[str, ...]] = (*BOUNDS, "convex")

    @classmethod
    def says_convex(cls) -> bool:
        """Whether the class itself states `convex` for the code that it has."""
        return cls.convex and says(cls, Loss, "convex", ("residual", "value", "outputs"))

    @abstractmethod
    def outputs(self, n_classes: int) -> int:
        """Number of columns of the weight matrix for ``n_classes`` declared classes. ValueError if the loss is not for so many."""

    @abstractmethod
    def value(self, scores: Floats, targets: NDArray[Any]) -> Floats:
        """Loss of each record.

        scores: (b, K) finite; targets: (b,) class indices (real numbers for least squares). Returns (b,).
        A record whose target is outside the declared range has loss 0.
        """

    @abstractmethod
    def residual(self, scores: Floats, targets: NDArray[Any], out: Floats | None = None) -> Floats:
        """Derivative of the value in the scores, (b, K): the record's gradient is ``residual ⊗ x``.

        Finite for finite scores of any size. ``out``: a float64 (b, K) buffer, fastest in column order; it
        may be ``scores`` itself. A record whose target is outside the declared range contributes 0.
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
    """The logistic loss log(1 + exp(−y·score)), with y = ±1 for class 1 and 0. It is for two classes and has one output.

    Notes
    -----
    It takes no parameters. Constants: docs/proofs/losses.md.

    Examples
    --------
    >>> import math, numpy as np
    >>> from prepriv.learners import Logistic
    >>> loss = Logistic()
    >>> bool(np.isclose(loss.value(np.zeros((1, 1)), np.array([1]))[0], math.log(2)))
    True
    >>> round(loss.gradient_norm(radius=1.0, weight_norm=math.inf), 6)
    1.0
    """

    name: ClassVar[str] = "logistic"
    convex: ClassVar[bool] = True

    def outputs(self, n_classes: int) -> int:
        if n_classes != 2:
            raise ValueError(f"n_classes: logistic loss has 2 classes, got {n_classes}; use Softmax")
        return 1

    def value(self, scores: Floats, targets: NDArray[Any]) -> Floats:
        signs = class_signs(targets, 1)
        margins = as_matrix(scores, 1) * signs
        return (np.logaddexp(0.0, -margins) * np.abs(signs))[:, 0]

    def residual(self, scores: Floats, targets: NDArray[Any], out: Floats | None = None) -> Floats:
        signs = class_signs(targets, 1)
        margins = as_matrix(scores, 1) * signs
        # σ(−m) without overflow or cancellation: e/(1+e) for m > 0, 1/(1+e) otherwise, e = exp(−|m|).
        e = np.exp(-np.abs(margins))
        result = np.where(margins > 0, e, 1.0)
        np.divide(result, 1.0 + e, out=result)
        return np.multiply(result, -signs, out=out)

    def gradient_norm(self, radius: float, weight_norm: float) -> float:
        return radius * _sigmoid(_reach(radius, weight_norm)) * UP

    def input_lipschitz(self, radius: float, weight_norm: float) -> float:
        return logistic_input_lipschitz(_reach(radius, weight_norm)) * UP

    def smoothness(self, radius: float) -> float:
        return 0.25 * radius**2 * UP


@dataclass(frozen=True)
class Softmax(Loss):
    """The cross-entropy of softmax(scores), with one output per class.

    Notes
    -----
    It takes no parameters. Constants: docs/proofs/losses.md.

    Examples
    --------
    >>> import math, numpy as np
    >>> from prepriv.learners import Softmax
    >>> bool(np.isclose(Softmax().value(np.zeros((1, 3)), np.array([2]))[0], math.log(3)))
    True
    """

    name: ClassVar[str] = "softmax"
    convex: ClassVar[bool] = True

    def outputs(self, n_classes: int) -> int:
        if n_classes < 2:
            raise ValueError(f"n_classes: must be at least 2, got {n_classes}")
        return n_classes

    def value(self, scores: Floats, targets: NDArray[Any]) -> Floats:
        scores = as_matrix(scores)
        index, valid = class_indices(targets, scores.shape[1])
        top = row_max(scores)
        with np.errstate(over="ignore", under="ignore"):
            mass = row_sum(np.exp(scores - top[:, None]))
            # The two large terms first: their difference may be small, and it is exact where it is.
            result = (top - scores[np.arange(len(index)), index]) + np.log(mass)
        return result if valid is None else np.where(valid, result, 0.0)

    def residual(self, scores: Floats, targets: NDArray[Any], out: Floats | None = None) -> Floats:
        scores = as_matrix(scores)
        index, valid = class_indices(targets, scores.shape[1])
        # A difference of finite scores may overflow to −inf, never to +inf or NaN: exp gives 0.
        with np.errstate(over="ignore", under="ignore"):
            result = np.subtract(scores, row_max(scores)[:, None], out=out)
            np.exp(result, out=result)
            np.divide(result, row_sum(result)[:, None], out=result)
        result[np.arange(len(index)), index] -= 1.0
        if valid is not None:
            result[~valid] = 0.0
        return result

    def gradient_norm(self, radius: float, weight_norm: float) -> float:
        return radius * softmax_residual_norm(_reach(radius, weight_norm)) * UP

    def input_lipschitz(self, radius: float, weight_norm: float) -> float:
        return softmax_input_lipschitz(_reach(radius, weight_norm)) * UP

    def smoothness(self, radius: float) -> float:
        return 0.5 * radius**2 * UP


@dataclass(frozen=True)
class MarginLoss(Loss):
    """Losses φ(y·score/ζ), convex and decreasing in the margin, summed over the outputs.

    n_classes: With 2 there is one output (class 1 is y = +1). With more, it is one-versus-rest, with one output per
    class. margin: ζ, in units of the score, within [1e-6, 1e6]; How to Make Semi-Private Learning Effective, equation
    (1), scales the hinge by it.
    """

    n_classes: int = 2
    margin: float = 1.0

    def __post_init__(self) -> None:
        settle(
            self,
            n_classes=integer("n_classes", self.n_classes, at_least=2),
            margin=number("margin", self.margin, at_least=1e-6, at_most=1e6),
        )

    @abstractmethod
    def _phi(self, margins: Floats) -> Floats:
        """φ of the margins."""

    @abstractmethod
    def _slope(self, margins: Floats) -> Floats:
        """−φ′ of the margins, not negative."""

    @property
    def _columns(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    def outputs(self, n_classes: int) -> int:
        if n_classes != self.n_classes:
            raise ValueError(f"n_classes: this loss was built for {self.n_classes}, got {n_classes}")
        return self._columns

    def value(self, scores: Floats, targets: NDArray[Any]) -> Floats:
        signs = class_signs(targets, self._columns)
        return row_sum(self._phi(self._margins(scores, signs)) * np.abs(signs))

    def residual(self, scores: Floats, targets: NDArray[Any], out: Floats | None = None) -> Floats:
        signs = class_signs(targets, self._columns)
        slope = self._slope(self._margins(scores, signs))
        return np.multiply(slope, signs / -self.margin, out=out)

    def _margins(self, scores: Floats, signs: Floats) -> Floats:
        # Scores beyond 1e150 stand for 1e150: their squares stay finite.
        return np.clip(as_matrix(scores, self._columns), -1e150, 1e150) * signs / self.margin

    def _scaled_reach(self, radius: float, weight_norm: float) -> float:
        """κ/ζ: the loss with margin ζ is the loss with margin 1 on scores divided by ζ."""
        return _reach(radius, weight_norm) / self.margin


@dataclass(frozen=True)
class Hinge(MarginLoss):
    """The hinge (1 − m)₊, where m is the margin y·score/ζ.

    Parameters
    ----------
    n_classes : int, default 2
        With 2 there is one output (class 1 is y = +1). With more, it is one-versus-rest, with one output per class.
    margin : float, default 1.0
        ζ, in units of the score, within [1e-6, 1e6].

    Raises
    ------
    ValueError
        For a parameter out of range.

    Notes
    -----
    Its gradient jumps, so µ and β are infinite. The cost of moved rows then depends on their number. Constants:
    docs/proofs/losses.md.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv.learners import Hinge
    >>> Hinge().value(np.array([[0.0], [2.0]]), np.array([1, 1])).tolist()
    [1.0, 0.0]
    """

    name: ClassVar[str] = "hinge"
    convex: ClassVar[bool] = True

    def _phi(self, margins: Floats) -> Floats:
        return np.maximum(1.0 - margins, 0.0)

    def _slope(self, margins: Floats) -> Floats:
        return np.where(margins < 1.0, 1.0, 0.0)

    def gradient_norm(self, radius: float, weight_norm: float) -> float:
        _reach(radius, weight_norm)
        return radius * math.sqrt(self._columns) / self.margin * UP

    def input_lipschitz(self, radius: float, weight_norm: float) -> float:
        _reach(radius, weight_norm)
        return math.inf

    def smoothness(self, radius: float) -> float:
        return math.inf


@dataclass(frozen=True)
class SquaredHinge(MarginLoss):
    """The squared hinge ½(1 − m)₊², where m is the margin y·score/ζ.

    Parameters
    ----------
    n_classes : int, default 2
        With 2 there is one output (class 1 is y = +1). With more, it is one-versus-rest, with one output per class.
    margin : float, default 1.0
        ζ, in units of the score, within [1e-6, 1e6].

    Raises
    ------
    ValueError
        For a parameter out of range.

    Notes
    -----
    Constants: docs/proofs/losses.md.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv.learners import SquaredHinge
    >>> SquaredHinge().value(np.array([[0.0], [2.0]]), np.array([1, 1])).tolist()
    [0.5, 0.0]
    """

    name: ClassVar[str] = "squared-hinge"
    convex: ClassVar[bool] = True

    def _phi(self, margins: Floats) -> Floats:
        return np.asarray(0.5 * np.square(np.maximum(1.0 - margins, 0.0)))

    def _slope(self, margins: Floats) -> Floats:
        return np.maximum(1.0 - margins, 0.0)

    def gradient_norm(self, radius: float, weight_norm: float) -> float:
        reach = self._scaled_reach(radius, weight_norm)
        return 0.0 if radius == 0 else radius * (math.sqrt(self._columns) + reach) / self.margin * UP

    def input_lipschitz(self, radius: float, weight_norm: float) -> float:
        reach = self._scaled_reach(radius, weight_norm)
        return (math.sqrt(self._columns) + 2.0 * reach) / self.margin * UP

    def smoothness(self, radius: float) -> float:
        return (radius / self.margin) ** 2 * UP


@dataclass(frozen=True)
class HuberisedHinge(MarginLoss):
    """The hinge with its corner rounded over 1 − h < m < 1: there (1 − m)²/(2h), below it 1 − m − h/2.

    Parameters
    ----------
    n_classes : int, default 2
        With 2 there is one output (class 1 is y = +1). With more, it is one-versus-rest, with one output per class.
    margin : float, default 1.0
        ζ, in units of the score, within [1e-6, 1e6]. The margin is m = y·score/ζ.
    width : float, default 0.5
        h, in [1e-6, 1].

    Raises
    ------
    ValueError
        For a parameter out of range.

    Notes
    -----
    Constants: docs/proofs/losses.md.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv.learners import HuberisedHinge
    >>> HuberisedHinge().value(np.array([[0.0], [2.0]]), np.array([1, 1])).tolist()
    [0.75, 0.0]
    """

    width: float = 0.5

    name: ClassVar[str] = "huberised-hinge"
    convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, width=number("width", self.width, at_least=1e-6, at_most=1.0))

    def _phi(self, margins: Floats) -> Floats:
        below: Floats = np.maximum(1.0 - margins, 0.0)
        rounded = np.minimum(below, self.width)
        return np.asarray(rounded * rounded / (2.0 * self.width) + (below - rounded))

    def _slope(self, margins: Floats) -> Floats:
        return np.clip((1.0 - margins) / self.width, 0.0, 1.0)

    def gradient_norm(self, radius: float, weight_norm: float) -> float:
        _reach(radius, weight_norm)
        return radius * math.sqrt(self._columns) / self.margin * UP

    def input_lipschitz(self, radius: float, weight_norm: float) -> float:
        reach, outputs = self._scaled_reach(radius, weight_norm), self._columns
        result = math.sqrt(outputs)
        if reach > 1.0 - self.width:
            # One output at least is on the rounded part; its r(r + r′s) is at most (2 − 1/h)₊, the others' 1.
            drift = outputs - 1.0 + max(0.0, 2.0 - 1.0 / self.width)
            result = max(result, direction_bound(1.0 / self.width, reach, drift))
        return result / self.margin * UP

    def smoothness(self, radius: float) -> float:
        return (radius / self.margin) ** 2 / self.width * UP


@dataclass(frozen=True)
class LeastSquares(Loss):
    """Half the squared error, ½(score − y)², with one output. y is clamped to a declared bound.

    Parameters
    ----------
    target_bound : float
        |y| is clamped to this. A missing y is 0.

    Raises
    ------
    ValueError
        For a negative bound.

    Notes
    -----
    Targets of a float type are the numbers y. Targets of an integer type are class indices, as for every other loss,
    with y = ±1 for class 1 and 0. Constants: docs/proofs/losses.md.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv.learners import LeastSquares
    >>> LeastSquares(1.0).value(np.array([[0.0]]), np.array([5.0])).tolist()
    [0.5]
    """

    target_bound: float

    name: ClassVar[str] = "least-squares"
    convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle(self, target_bound=number("target_bound", self.target_bound, at_least=0.0, at_most=LARGEST))

    def outputs(self, n_classes: int) -> int:
        """One: for two classes, or for a numeric target (n_classes 1). ValueError for more."""
        if n_classes not in (1, 2):
            other = "Softmax" if n_classes else "SquaredError"
            raise ValueError(f"n_classes: least squares has 2 classes, got {n_classes}; use {other}")
        return 1

    def value(self, scores: Floats, targets: NDArray[Any]) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(0.5 * np.square(self.residual(scores, targets)[:, 0]))

    def residual(self, scores: Floats, targets: NDArray[Any], out: Floats | None = None) -> Floats:
        targets = np.asarray(targets)
        if targets.ndim != 1:
            raise ValueError(f"targets: must have shape (b,), got {targets.shape}")
        signs = class_signs(targets, 1) if targets.dtype.kind in "iub" else None
        y = np.nan_to_num(np.asarray(targets, dtype=np.float64), nan=0.0)[:, None] if signs is None else signs
        bounded = np.clip(y, -self.target_bound, self.target_bound)
        result = np.asarray(np.subtract(as_matrix(scores, 1), bounded, out=out))
        if signs is not None:
            result[signs == 0] = 0.0
        return result

    def gradient_norm(self, radius: float, weight_norm: float) -> float:
        reach = _reach(radius, weight_norm)
        return 0.0 if radius == 0 else radius * (reach + self.target_bound) * UP

    def input_lipschitz(self, radius: float, weight_norm: float) -> float:
        return (2.0 * _reach(radius, weight_norm) + self.target_bound) * UP

    def smoothness(self, radius: float) -> float:
        return radius**2 * UP


def is_likelihood(loss: Loss) -> bool:
    """Whether a loss is a log-likelihood: then scores have a link to probabilities."""
    return isinstance(loss, Logistic | Softmax)


def _reach(radius: float, weight_norm: float) -> float:
    """κ = B·R, the largest score; ValueError unless 0 ≤ R < ∞ and 0 ≤ B ≤ ∞."""
    if not 0.0 <= radius < math.inf:
        raise ValueError(f"radius: must be finite and not negative, got {radius}")
    if not weight_norm >= 0.0:
        raise ValueError(f"weight_norm: must not be negative, got {weight_norm}")
    return 0.0 if radius == 0.0 else radius * weight_norm


def _sigmoid(z: float) -> float:
    """σ(z) for z ≥ 0, infinite allowed."""
    return 1.0 / (1.0 + math.exp(-z))


@dataclass(frozen=True)
class AnyModel(Loss):
    """A model about which only one thing is known: each record's gradient is clipped. It is for accounts, and it cannot train.

    Notes
    -----
    It takes no parameters. If a row moves, its clipped gradient can point the other way: a shift of 2C in a sum,
    whatever the model is (docs/proofs/losses.md). Training with it raises ValueError.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import AnyModel, GradientDescent
    >>> domain = prepriv.Domain.ball(512, classes=[0, 1], n=1000)
    >>> network = GradientDescent(AnyModel(), steps=100)  # any network, full batches
    >>> prepriv.account([], network, domain=domain, noise_multiplier=50.0).epsilon(1e-5) < 2
    True
    """

    name: ClassVar[str] = "any model"
    trains: ClassVar[bool] = False

    def outputs(self, n_classes: int) -> int:
        return 1

    def value(self, scores: Floats, targets: NDArray[Any]) -> Floats:
        raise ValueError("AnyModel is for accounts: it trains nothing")

    def residual(self, scores: Floats, targets: NDArray[Any], out: Floats | None = None) -> Floats:
        raise ValueError("AnyModel is for accounts: it trains nothing")

    def gradient_norm(self, radius: float, weight_norm: float) -> float:
        return math.inf

    def input_lipschitz(self, radius: float, weight_norm: float) -> float:
        return math.inf

    def smoothness(self, radius: float) -> float:
        return math.inf
