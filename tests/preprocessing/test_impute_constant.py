"""Imputation by a declared constant: the space holds what comes out, and shifts pass through."""

from __future__ import annotations

import numpy as np
import pytest

from prepriv import preprocessing as pre
from prepriv.domain import Domain
from prepriv.preprocessing.base import RowShift


@pytest.mark.parametrize("value", [-3.0, 0.0, 0.4, 7.5])
def test_every_filled_row_lies_in_the_declared_space(rng, value):
    space = Domain.box(0, 1, features=4, classes=[0, 1], missing="impute").space
    x = rng.random((500, 4))
    x[rng.random(x.shape) < 0.3] = np.nan
    step = pre.ConstantImputer(value)
    after, filled = step.output(space), step.free(space).transform(x)
    assert not after.may_miss.any() and (filled >= after.low).all() and (filled <= after.high).all()
    assert np.linalg.norm(filled, axis=1).max() <= after.radius
    assert (filled[~np.isnan(x)] == x[~np.isnan(x)]).all() and (filled[np.isnan(x)] == value).all()


def test_a_shift_passes_through_unchanged():
    space = Domain.box(0, 1, features=2, classes=[0, 1], missing="impute").space
    shift = RowShift(3, 0.2, 0.5)
    after = pre.ConstantImputer(5.0).propagate(space, shift)
    assert after.rows_moved == 3 and 0.2 <= after.row_shift < 0.2001 and 0.5 <= after.total_shift < 0.5001


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "0", None, 1e40])
def test_a_value_that_is_no_number_is_refused(bad):
    with pytest.raises(ValueError, match="value"):
        pre.ConstantImputer(bad)
