"""Norms of rows: the same bits for a row wherever it stands."""

import numpy as np
import pytest

from prepriv.exact.ball import plain_norms, row_norms


@pytest.mark.parametrize("d", [1, 3, 64, 785, 8193, 20_000])
@pytest.mark.parametrize("norms", [plain_norms, row_norms])
def test_a_row_has_the_same_norm_alone_and_in_any_block(norms, d, rng):
    """A lone row of more than 8192 cells was added up in another order: the last record of a table of 257."""
    x = rng.standard_normal((40, d)) * 10.0 ** rng.integers(-6, 6, (40, 1))
    whole = norms(x).tolist()
    for size in (1, 2, 3, 39):
        assert [v for i in range(0, 40, size) for v in norms(x[i : i + size]).tolist()] == whole


def test_norms_neither_overflow_nor_underflow(rng):
    x = np.array([[0.0, 0.0], [1e-310, 0.0], [3e300, 4e300], [np.inf, 0.0], [np.nan, 1.0]])
    with np.errstate(all="ignore"):
        found = row_norms(x)[:, 0]
    assert found[0] == 0.0 and found[2] == pytest.approx(5e300)
    assert np.isfinite(found[:3]).all() and not np.isfinite(found[3:]).any()
