"""Images as rows of pixels: an array of them, or each by itself in a list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.tables.readers import BadData


def of_no_subclass(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself: a column of an np.matrix is not a column. What is masked stays so."""
    if isinstance(array, np.ma.MaskedArray):
        return np.ma.MaskedArray(np.asarray(array.data), np.ma.getmaskarray(array))
    return np.asarray(array)


def images_at_once(array: NDArray[Any], image: tuple[int, int, int]) -> NDArray[Any]:
    """Images (n, height, width, channels), or (n, height, width) of one channel, as rows of pixels."""
    if array.shape[1:] not in _shapes(image):
        raise BadData(
            f"expected images of height, width and channels {image}, or rows of {math.prod(image)} pixels; "
            f"got an array of shape {array.shape}"
        )
    return array.reshape(len(array), math.prod(image))


def _shapes(image: tuple[int, int, int]) -> list[tuple[int, ...]]:
    """Those of an image; the channel need not be said where there is one."""
    return [image, image[:2]] if image[2] == 1 else [image]


def images_in_turn(rows: Sequence[Any], image: tuple[int, int, int] | None) -> Sequence[Any]:
    """Rows of a list, of which each image, an array or nested lists, is a row of pixels."""
    return rows if image is None else [_pixels(row, image) for row in rows]


def _pixels(row: Any, image: tuple[int, int, int]) -> Any:
    """One image of a list, an array or nested lists, as a row of pixels; what has another shape, or raises, as it is."""
    try:
        found = (_pixels_of(row, shape) for shape in _shapes(image))
        return next((pixels for pixels in found if pixels is not None), row)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:
        return row


def _pixels_of(row: Any, shape: tuple[int, ...]) -> Sequence[Any] | None:
    """The cells of an array or of nested lists of a shape; None for another shape."""
    if type(row) is not list and type(row) is not tuple:
        if not hasattr(row, "__array__") or tuple(getattr(row, "shape", shape)) != shape:
            return None
        with suppress(Exception):  # a tensor with a gradient, or on a device, is read cell by cell
            array = of_no_subclass(np.asanyarray(row))
            return array.reshape(-1) if array.shape == shape else None  # type: ignore[return-value]
        row = [*row]
    if len(row) != shape[0] or len(shape) == 1:
        return row if len(row) == shape[0] else None
    cells: list[Any] = []
    for line in row:
        found = _pixels_of(line, shape[1:])
        if found is None:
            return None
        cells.extend(found)
    return cells
