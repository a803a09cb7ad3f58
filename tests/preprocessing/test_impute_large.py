"""A million rows of a hundred columns: what a fit holds in memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from prepriv import payment as pay
from prepriv.mechanisms.covariance import private_second_moment
from prepriv.mechanisms.session import NoisySession
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.impute_median import MedianImputer
from prepriv.preprocessing.impute_regression import RegressionImputer
from prepriv.preprocessing.impute_trimmed_mean import TrimmedMeanImputer
from prepriv.preprocessing.pca import PCA, RankReduction
from prepriv.preprocessing.scale import StandardScaler
from prepriv.preprocessing.soft_pca import SoftPCA
from prepriv.space import Space

N, D, BLOCK = 10**6, 100, 1024


class Wide:
    """Rows made of one small table read from many places, so that the rows themselves weigh nothing."""

    def __init__(self, share, columns):
        rng = np.random.default_rng(0)
        self.table = rng.random((9 * BLOCK, D))
        gaps = rng.random(self.table.shape) < share
        gaps[:, : D - columns] = False
        self.table[gaps] = np.nan

    def __iter__(self):
        for start in range(0, N, BLOCK):
            at = start * 37 % (8 * BLOCK)
            yield self.table[at : at + min(BLOCK, N - start)]


def space(columns):
    return Space(np.zeros(D), np.ones(D), 10.0, np.arange(D) >= D - columns)


PAID = pay.Sensitivity({"missing": 0.05})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "columns", "megabytes"),
    [
        (MeanImputer(payment=PAID), 100, 20),
        (StandardScaler(payment=pay.Sensitivity()), 0, 20),
        (SoftPCA(0.1, payment=pay.Sensitivity()), 0, 20),
        (RankReduction(10, payment=pay.Sensitivity()), 0, 20),
        (RegressionImputer(payment=PAID), 20, 30),
        (MedianImputer(payment=pay.Sensitivity({"missing": 0.05, "gap": 0.1})), 100, 450),
        (TrimmedMeanImputer(payment=PAID), 100, 450),
    ],
    ids=lambda v: v.name if hasattr(v, "name") else str(v),
)
def test_a_million_rows_fit_in_memory(step, columns, megabytes):
    rows = Wide(0.03, columns)
    tracemalloc.start()
    step.fit_confidential(rows, space(columns), N)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < megabytes * 1e6


@pytest.mark.slow
def test_a_private_second_moment_of_a_million_rows_fits_in_memory():
    class Sum:
        def second_moment(self, rows, *, d, radius):
            return private_second_moment(
                rows,
                name="PCA",
                d=d,
                radius=radius,
                n=N,
                adjacency="replace-one",
                noise_multiplier=2.0,
                session=NoisySession(),
            )

    tracemalloc.start()
    fitted = PCA(10, payment=pay.Budget(0.1)).fit_budget(Wide(0.0, 0), space(0), N, Sum())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6 and fitted.transform(np.zeros((1, D))).shape == (1, 10)
