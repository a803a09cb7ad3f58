"""What is known of the rows of a matrix between two steps, from declared facts alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import length

__all__ = ["Reading", "Space"]


@dataclass(frozen=True)
class Reading:
    """How raw records become the rows that a sentence is about, in words. Each rule is stated once, and every cell is read by these rules.

    Parameters
    ----------
    rows, labels : str, default ""
        How raw cells and raw labels are encoded, including unusual ones. Empty if it was not declared.
    after : tuple of str, default ()
        The steps that the rows have gone through since then.

    Examples
    --------
    >>> from prepriv.space import Reading
    >>> Reading().then("Normalize").words
    'rows are as encoded and after Normalize'
    """

    rows: str = ""
    labels: str = ""
    after: tuple[str, ...] = ()

    def then(self, step: str) -> Reading:
        """The same rows after one more step."""
        return replace(self, after=(*self.after, step))

    @property
    def words(self) -> str:
        """Which rows are meant: how they are encoded, and after which steps."""
        encoded = "rows are as encoded" + (f" ({self.rows})" if self.rows else "")
        return encoded + (f" and after {', '.join(self.after)}" if self.after else "")

    @property
    def label_words(self) -> str:
        """Which labels are meant."""
        return "labels are as encoded" + (f" ({self.labels})" if self.labels else "")


@dataclass(frozen=True, eq=False)
class Space:
    """What is known about the rows of a matrix at one point of the pipeline, without looking at them.

    Parameters
    ----------
    low, high : array, (d,)
        A box that holds every row.
    radius : float
        Every row has at most this Euclidean norm.
    may_miss : array of bool, (d,)
        The features that can hold NaN, to be imputed. In norms such cells count as filled.
    names : tuple of str, default ()
        Names of the features, where they have any.
    reading : Reading, default Reading()
        How raw records became these rows, for sentences about them.
    image : (int, int, int), optional
        Height, width and channels of rows that are images. None: they are not.

    Raises
    ------
    ValueError
        For a radius beyond 1e-30..1e30 or a box the wrong way round.

    Notes
    -----
    The arrays are read-only copies.

    Examples
    --------
    >>> from prepriv.space import Space
    >>> space = Space.ball(d=3, radius=2.0)
    >>> space.d, space.diameter, space.low.tolist()
    (3, 4.0, [-2.0, -2.0, -2.0])
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    radius: float
    may_miss: NDArray[np.bool_]
    names: tuple[str, ...] = ()
    reading: Reading = Reading()
    image: tuple[int, int, int] | None = None

    def __post_init__(self) -> None:
        length("radius", self.radius)
        for name, dtype in (("low", np.float64), ("high", np.float64), ("may_miss", np.bool_)):
            own: NDArray[Any] = np.array(getattr(self, name), dtype=dtype)
            own.setflags(write=False)  # the spaces of other steps are made of it
            object.__setattr__(self, name, own)
        if not (self.low <= self.high).all():
            raise ValueError("the box of a space must have low <= high in every feature")

    @property
    def d(self) -> int:
        """Number of features."""
        return len(self.low)

    @property
    def widths(self) -> NDArray[np.float64]:
        """Side lengths of the box, (d,)."""
        return self.high - self.low

    @property
    def diameter(self) -> float:
        """The largest distance between two rows: that of the ball or of the box, whichever is smaller."""
        return min(2 * self.radius, float(np.linalg.norm(self.widths)))

    @staticmethod
    def ball(d: int, radius: float) -> Space:
        """The ball of the given radius in d dimensions, no missing cells."""
        side = np.full(d, float(radius))
        return Space(-side, side, float(radius), np.zeros(d, dtype=bool))

    def within(self, radius: float) -> Space:
        """This space after rows were pulled towards the origin into a ball.

        If the box does not contain the origin, rows can leave it on the way, so the box grows to contain the origin.
        """
        r = min(radius, self.radius)
        box = self.with_origin()
        return replace(self, low=np.maximum(box.low, -r), high=np.minimum(box.high, r), radius=r)

    def with_origin(self) -> Space:
        """The smallest box that contains this space and the origin."""
        return replace(self, low=np.minimum(self.low, 0.0), high=np.maximum(self.high, 0.0))
