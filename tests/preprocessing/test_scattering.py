"""Scattering: exact sums, the same bits in any block, Lipschitz as declared, images in and features out."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from prepriv import Budget, Domain, PrivateClassifier, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Softmax
from prepriv.preprocessing._wavelets import PIXEL, TAP, Bank, frame_bound, gaussian_filter, modulus, morlet
from prepriv.preprocessing.base import RowShift
from prepriv.preprocessing.scattering import Scatter, Scattering, image_features
from prepriv.release.model import BadArtifact, Model
from prepriv.tables.encoding import encode
from prepriv.tables.readers import BadData

LEARNER = GradientDescent(Softmax(), steps=3, learning_rate=1.0, weight_bound=5.0)


def images(height=12, width=10, channels=2, **kw):
    return Domain.images(height, width, channels, (0, 1, 2), **kw)


def filtered(image, tap, stride):
    """Correlation with zeros outside, cell by cell: the slow way."""
    half = len(tap) // 2
    padded = np.pad(image, half)
    h, w = image.shape
    return np.array(
        [
            [(padded[r : r + len(tap), c : c + len(tap)] * tap).sum() for c in range(0, w, stride)]
            for r in range(0, h, stride)
        ]
    )


@pytest.mark.parametrize("stride", [1, 2, 4])
def test_a_bank_is_the_correlation_exactly(rng, stride):
    taps = morlet(1, 3)
    maps = rng.integers(0, int(PIXEL) + 1, (3, 9, 11)).astype(np.float32)
    maps[2] = PIXEL  # the largest sums
    got = Bank.of(taps, 11, stride).apply(maps)
    for i in range(3):
        for f, tap in enumerate(taps):
            assert (got[i, f] == filtered(maps[i].astype(float), tap.astype(float), stride)).all()


def test_wavelets_sum_to_nearly_zero_and_sums_fit_float32():
    for scale in range(4):
        for angles in (1, 3, 8, 16):
            taps = morlet(scale, angles)
            assert np.abs(taps.sum(axis=(1, 2))).max() < TAP / 50
            assert np.abs(taps).sum(axis=(1, 2)).max() * PIXEL <= 2**24
        assert abs(gaussian_filter(scale).sum() / TAP - 1) < 0.02


@pytest.mark.parametrize(("octaves", "angles"), [(1, 2), (2, 8), (3, 4)])
def test_the_frame_bound_holds_for_images_sought_to_beat_it(rng, octaves, angles):
    """Power iteration on the operator itself, with cells for frequencies: it comes close and never above."""
    size = 48
    banks = [gaussian_filter(octaves - 1), *(morlet(s, angles) for s in range(octaves))]
    taps = [t / TAP for bank in banks for t in bank.astype(float)]
    spectra = [np.fft.fft2(t, (size, size)) for t in taps]
    power = sum(np.abs(s) ** 2 for s in spectra)
    x = rng.standard_normal((size, size))
    for _ in range(200):
        x = np.fft.ifft2(power * np.fft.fft2(x)).real
        x /= np.linalg.norm(x)
    found = sum(np.linalg.norm(np.fft.ifft2(s * np.fft.fft2(x))) ** 2 for s in spectra)
    assert 0.9 * frame_bound(octaves, angles) < found <= frame_bound(octaves, angles)


def direct(image, m):
    """The features of one image by the formula, in doubles, nothing rounded; (channels * maps, cells)."""
    waves = {s: [complex(0, 1) * b + a for a, b in zip(t[: m.L], t[m.L :])] for s, t in (
        (s, morlet(s, m.L).astype(float) / TAP) for s in range(m.J))}  # fmt: skip
    out = []
    for c in range(m.channels):
        x = image[:, :, c]
        low = lambda z, j: filtered(z, gaussian_filter(m.J - j - 1)[0].astype(float) / TAP, 2 ** (m.J - j))  # noqa: E731
        first, second = [], []
        for j in range(m.J):
            inner = [np.abs(filtered(x, w, 2**j)) for w in waves[j]]
            first += [low(u, j) for u in inner]
            for k in range(j + 1, m.J):
                second += [low(np.abs(filtered(u, w, 2 ** (k - j))), k) for u in inner for w in waves[k - j]]
        out.append(np.array([low(x, 0), *first, *second]))
    return out


@pytest.mark.parametrize("J", [1, 2, 3])
def test_features_are_those_of_the_formula(rng, J):
    m = Scatter(11, 9, 2, J, 3, 0.05)
    x = rng.random((2, m.height * m.width * m.channels))
    got = m.transform(x)
    for row, image in zip(got, x.reshape(2, m.height, m.width, m.channels)):
        wanted = []
        for maps in direct(image, m):
            for at in range(0, len(maps), 3):
                v = maps[at : at + 3].ravel()
                wanted.append((v - v.mean()) / np.sqrt(v.var() + m.floor**2))
        ideal = np.concatenate(wanted) / math.sqrt(m.d)
        assert np.linalg.norm(row - ideal) <= m.slop
        np.testing.assert_allclose(row, ideal, atol=0.05 / math.sqrt(m.d))
    assert got.shape == (2, m.d) and m.d == Scattering(J, 3).output(images(11, 9).space).d


def test_a_row_has_the_same_bits_wherever_it_stands(rng):
    m = Scatter(28, 28, 1, 2, 8, 0.003)
    x = rng.random((131, 784)) * rng.integers(0, 2, (131, 784))
    x[3], x[4] = 0.0, 1.0
    whole = m.transform(x)
    for order in (slice(17, 23), slice(130, 131), np.arange(130, -1, -1)):
        assert (m.transform(x[order].copy()) == whole[order]).all()
    assert not whole[3].any() and np.isfinite(whole).all()
    assert np.linalg.norm(whole, axis=1).max() <= 1 + 1e-12


def shifted_pairs(rng, m):
    """Pairs of images: noise, waves of one frequency at the grain of the filters, near a constant image, far apart."""
    y, x = np.mgrid[: m.height, : m.width]
    for amplitude in (1e-4, 1e-3, 1e-2, 0.1, 0.5):
        for base in (0.5, rng.random((m.height, m.width)), 0.5 + 0.3 * np.cos(1.5 * x)):
            for wave in (
                rng.standard_normal((m.height, m.width)),
                np.cos(2.3 * x),
                np.cos(1.2 * (x + y)),
                1.0,
            ):
                one = np.clip(base + 0 * x, 0, 1)
                yield one.ravel(), np.clip(one + amplitude * wave, 0, 1).ravel()


@pytest.mark.parametrize("floor", [0.003, 0.1, 10.0])
@pytest.mark.parametrize("J", [1, 2])
def test_no_pair_of_images_goes_further_apart_than_declared(rng, J, floor):
    m = Scatter(16, 16, 1, J, 4, floor)
    space, step = Domain.images(16, 16, 1, (0, 1)).space, Scattering(J, 4, floor)
    for one, other in shifted_pairs(rng, m):
        apart = float(np.linalg.norm(one - other))
        got = float(np.linalg.norm(np.subtract(*m.transform(np.stack([one, other])))))
        claim = step.propagate(space, RowShift(1, apart, apart))
        assert got <= claim.row_shift and claim.total_shift == claim.row_shift


def test_the_declared_constant_is_of_the_right_size(rng):
    """Near a flat image a wave that the finest wavelets see is stretched by a good part of what is declared."""
    m = Scatter(16, 16, 1, 1, 4, 10.0)
    best = 0.0
    for one, other in shifted_pairs(rng, m):
        apart = np.linalg.norm(one - other)
        if apart > 0.5:
            best = max(best, np.linalg.norm(np.subtract(*m.transform(np.stack([one, other])))) / apart)
    assert best > 0.2 * m.lipschitz


def test_it_follows_a_step_that_moves_rows_and_needs_images(rng):
    domain = images(8, 8, 1, n=30)
    moved = [pre.Deduplicate(0.01, payment=Sensitivity({"max_neighbors": 3})), Scattering(1, 2, 0.5)]
    assert make_plan(domain, moved, LEARNER, epsilon=1.0, delta=1e-5).guarantee.epsilon(1e-5) <= 1.0
    for steps in ([pre.Normalize(1.0), Scattering(1)], [pre.Center(payment=Budget(0.1)), Scattering(1)]):
        with pytest.raises(ValueError, match="Scattering needs images"):
            make_plan(domain, steps, LEARNER, epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match="Scattering needs images"):
        make_plan(Domain.box(0, 1, 64, (0, 1, 2), n=30), [Scattering(1)], LEARNER, epsilon=1.0, delta=1e-5)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"J": 0}, "J must be a whole number"),
        ({"J": 5}, "J must be a whole number of at most 4"),
        ({"L": 17}, "L must be a whole number of at most 16"),
        ({"floor": 0.0}, "floor must lie in"),
        ({"floor": math.nan}, "floor must lie in"),
    ],
)
def test_settings_that_are_none_are_refused(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        Scattering(**settings)


def test_images_too_small_or_too_large_are_refused_when_planned():
    with pytest.raises(ValueError, match=r"J = 3 .* 8 x 8"):
        Scattering(3).output(images(7, 9).space)
    with pytest.raises(ValueError, match="above 131072"):
        Scattering(1).output(images(200, 200).space)


def test_arrays_of_images_and_flat_rows_are_the_same(rng):
    domain = images(6, 5, 1)
    x = rng.integers(0, 256, (9, 6, 5), dtype=np.uint8)
    flat = encode(x.reshape(9, 30), domain).block(0, 9)
    assert (encode(x, domain).block(0, 9) == flat).all()
    assert (encode(x[..., None], domain).block(0, 9) == flat).all()
    assert (flat == x.reshape(9, 30) / 255.0).all()
    colour = images(3, 4, 2)
    z = rng.integers(0, 256, (2, 3, 4, 2))
    assert (encode(z, colour).block(0, 2) == encode(z.reshape(2, 24), colour).block(0, 2)).all()


@pytest.mark.parametrize("shape", [(9, 5, 6), (9, 6, 5, 3), (9, 1, 30), (9, 6, 5, 1, 1), (9, 29), (9,)])
def test_arrays_of_another_shape_are_refused(shape):
    with pytest.raises(BadData):
        encode(np.zeros(shape), images(6, 5, 1))


def test_pixels_that_are_no_intensity_are_clamped_or_the_midpoint():
    x = np.zeros((4, 6, 5))
    x[0, 0, 0], x[1, 0, 0], x[2, 0, 0], x[3, 0, 0] = math.nan, math.inf, -3, 300
    rows = encode(x, images(6, 5, 1)).block(0, 4)
    assert rows[:, 0].tolist() == [0.5, 1.0, 0.0, 1.0] and not rows[:, 1:].any()


@pytest.mark.parametrize(
    "call",
    [
        lambda: Domain.images(0, 5, 1, (0, 1)),
        lambda: Domain.images(5, 5, 1.5, (0, 1)),
        lambda: Domain.images(5, 5, 1, (0, 1), high=-1),
        lambda: Domain.images(5, 5, 1, (0,)),
        lambda: Domain.from_json(images().to_json() | {"image": [3, 3, 3]}),
        lambda: Domain.from_json(images().to_json() | {"image": 5}),
    ],
)
def test_what_could_be_no_image_is_refused(call):
    with pytest.raises(ValueError):
        call()


def test_a_domain_of_images_is_read_back():
    assert Domain.from_json(json.loads(json.dumps(images(n=7).to_json()))) == images(n=7)
    assert "image" not in Domain.box(0, 1, 2, (0, 1)).to_json()


def test_the_recipe_of_images_and_its_model_on_file(tmp_path, rng):
    y = rng.integers(0, 3, 240)
    x = rng.integers(0, 60, (240, 8, 8), dtype=np.uint8)
    for c in range(3):  # three textures
        x[y == c] += (90 * (np.indices((8, 8))[c % 2] // (1 + c // 2) % 2)).astype(np.uint8)
    clf = PrivateClassifier(images(8, 8, 1, n=240), epsilon=20.0, delta=1e-5).fit(x, y)
    assert clf.plan_.steps[0].step.name == "Scattering"
    assert clf.score(x, y) > 0.8
    path = clf.model_.save(tmp_path / "model")
    assert (Model.load(path).scores(x) == clf.model_.scores(x)).all()
    good = path.read_text()
    for key, bad in (
        ("J", 0),
        ("J", 1.5),
        ("L", 99),
        ("height", 4),
        ("floor", 0),
        ("floor", "x"),
        ("width", 2**40),
    ):
        data = json.loads(good)
        data["maps"][0][key] = bad
        path.write_text(json.dumps(data))
        with pytest.raises(BadArtifact):
            Model.load(path)
    linear = PrivateClassifier(images(8, 8, 1, n=240), steps="linear")
    assert "Scattering" not in [s.step.name for s in linear.plan().steps]


def test_octaves_leave_maps_of_about_seven_cells():
    assert [image_features((s, s + 9, 1)).J for s in (2, 8, 14, 28, 32, 56, 112, 256)] == [
        1,
        1,
        1,
        2,
        2,
        3,
        4,
        4,
    ]


def test_modulus_rounds_to_whole_numbers_within_the_grid():
    waves = np.array([3.0, 4.0, 2.0**24, 0.0]).reshape(1, 2, 1, 2).astype(np.float32) * np.float32(TAP)
    assert modulus(waves).tolist() == [[[PIXEL, 4.0]]]
