"""Min-max scaling: refused by sensitivity for a reason, private quantiles by budget."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from neighbouring import Summing, box

from prepriv import payment as pay
from prepriv.mechanisms.mean import gaussian_sum
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.preprocessing._histogram import _CELLS, histogram_shift, noisy_quantiles
from prepriv.preprocessing.base import RowShift
from prepriv.preprocessing.scale_min_max import MinMaxScaler


def exact(rows, *, dim, radius):
    x = np.vstack(list(rows))
    assert x.shape[1] == dim
    assert np.linalg.norm(x, axis=1).max() <= radius * (1 + 1e-12)
    return x.sum(axis=0)


def test_sensitivity_is_refused_with_the_ways_out():
    with pytest.raises(ValueError, match=r"no useful bound .* \(free\), public"):
        MinMaxScaler(payment=pay.Sensitivity())


def test_why_one_record_moves_every_row():
    """Rows at 0.1, the record at 0.1 or 1: the paper's min-max map takes every row from 1 to 0.1."""
    x = np.full(100, 0.1)
    y = x.copy()
    y[0] = 1.0
    scaled = [v / v.max() for v in (x, y)]
    assert np.abs(scaled[0] - scaled[1])[1:].min() == pytest.approx(0.9)


def test_public_range():
    x = np.array([[0.2, 0.5], [0.4, 0.5], [0.3, 0.5]])
    step = MinMaxScaler(0.1, payment=pay.Public())
    fitted = step.fit_public([x[:2], x[2:]], box(2), 3)
    y = fitted.transform(np.array([[0.2, 0.5], [0.3, 0.54], [0.9, 0.0]]))
    assert y == pytest.approx(np.array([[0.0, 0.5], [0.5, 0.9], [1.0, 0.0]]))
    assert step.lipschitz(box(2)) == pytest.approx(10)
    assert json.loads(json.dumps(fitted.to_json()))["map"] == "scale"
    after = step.output(box(2))
    assert (after.low == 0).all() and (after.high == 1).all() and after.radius == pytest.approx(math.sqrt(2))


def test_private_quantiles_without_noise():
    x = np.random.default_rng(0).beta(2, 6, (20_000, 2)) * 4 - 1
    space = box(2, -1, 3)
    least, greatest = noisy_quantiles([x], space, np.arange(2), (0.01, 0.99), Summing(exact))
    assert least == pytest.approx(np.quantile(x, 0.01, axis=0), abs=4 / _CELLS)
    assert greatest == pytest.approx(np.quantile(x, 0.99, axis=0), abs=4 / _CELLS)
    assert (least >= -1).all() and (greatest <= 3).all()


def test_private_quantiles_through_the_mechanism():
    x = np.random.default_rng(1).beta(2, 6, (20_000, 3))
    space, step = box(3), MinMaxScaler(payment=pay.Budget())
    session = NoisySession(NoiseSource.for_tests(1))
    shift = step.l2_sensitivity(space, "replace-one", RowShift())

    def noisy(rows, *, dim, radius):
        return gaussian_sum(
            rows,
            name="m",
            dim=dim,
            radius=radius,
            shift=shift,
            moved=0,
            n=20_000,
            noise_multiplier=5.0,
            session=session,
        )

    fitted = step.fit_budget([x[:9000], x[9000:]], space, 20_000, Summing(noisy))
    y = fitted.transform(x)
    assert 0.95 < np.mean((y > 0) & (y < 1)) < 0.995
    assert len(session.releases) == 1


def test_quantiles_are_within_the_bounds_whatever_the_noise():
    for noise in (-1e9, 0.0, 1e9):
        out = noisy_quantiles(
            [np.zeros((3, 1))],
            box(1),
            np.arange(1),
            (0.01, 0.99),
            Summing(lambda rows, *, dim, radius, v=noise: np.full(dim, v)),
        )
        assert (out >= 0).all() and (out <= 1).all() and out[0] <= out[1]


def test_histogram_moves_by_no_more_than_declared():
    rng = np.random.default_rng(2)
    space, columns = box(3, -2, 2), np.arange(3)
    seen = []

    def look(rows, *, dim, radius):
        seen.append(np.vstack(list(rows)))
        return seen[-1].sum(axis=0)

    x = np.round(rng.random((200, 3)) * 64) / 16 - 2
    x[rng.random((200, 3)) < 0.1] = np.nan
    y = np.clip(x + rng.normal(size=x.shape) * 0.02, -2, 2)
    for v in (x, y):
        noisy_quantiles([v], space, columns, (0.5,), Summing(look))
    far = np.linalg.norm(seen[0][:, None] - seen[0][None], axis=2).max()
    assert far <= histogram_shift(space, columns, "replace-one", RowShift())
    assert np.linalg.norm(seen[0], axis=1).max() <= histogram_shift(
        space, columns, "add-or-remove-one", RowShift()
    )
    gap = np.linalg.norm(np.nan_to_num(x - y), axis=1)
    came = RowShift(200, float(gap.max()), float(gap.sum()))
    extra = histogram_shift(space, columns, "replace-one", came) - histogram_shift(
        space, columns, "replace-one", RowShift()
    )
    assert np.linalg.norm(seen[0] - seen[1], axis=1).sum() <= extra


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"floor": 0.0}, "floor must lie in"),
        ({"lowest": 0.9, "highest": 0.1}, "highest must lie in \\(0.9, 1"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        MinMaxScaler(payment=pay.Public(), **options)
