"""What is printed is never a smaller claim than what holds."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prepriv import guarantees as g
from prepriv.guarantees.guarantee import GaussianEvent, Guarantee
from prepriv.guarantees.printed import down, exact, measured, percent, places, up

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(FLOATS, st.integers(1, 17))
@example(3.351e-5, 4)
@example(5e-324, 4)
@example(1.7976931348623157e308, 3)
@example(0.1, 17)
@example(9.9999999, 4)
@example(1e15, 6)
@example(123456.7, 4)
def test_a_printed_number_is_on_the_safe_side_and_near(x: float, digits: int) -> None:
    for text, side in ((up(x, digits), 1), (down(x, digits), -1)):
        assert side * float(text) >= side * x
        printed, true = Decimal(text), Decimal(repr(x))
        assert side * printed >= side * true
        assert abs(printed - true) <= abs(true) * Decimal(10) ** (1 - digits)
        assert len(text.lstrip("-").split("e")[0].replace(".", "").strip("0")) <= digits
    assert float(exact(x)) == x


@given(FLOATS, st.integers(1, 15))
def test_the_layout_is_that_of_a_general_number(x: float, digits: int) -> None:
    """Where nothing is to be rounded, what is printed is what %g prints."""
    short = f"{x:.{digits}g}"
    if abs(float(short)) > 1e-300 and math.isfinite(float(short)):
        assert up(float(short), digits) == short == down(float(short), digits)


def test_special_numbers() -> None:
    assert (up(0.0), up(-0.0), up(math.inf), up(math.nan), down(-math.inf)) == (
        "0",
        "0",
        "inf",
        "nan",
        "-inf",
    )
    assert up(np.float64(0.25)) == "0.25"
    assert up(1e6, 6) == "1e+06" and up(999999.5, 6) == "1e+06" and up(1000, 4) == "1000"
    with pytest.raises(ValueError, match=r"digits must .* 1"):
        up(1.0, 0)


@given(st.floats(1e-3, 1e6))
def test_a_guarantee_in_words_is_not_smaller_than_it_is(noise: float) -> None:
    guarantee = Guarantee.of_gaussians([GaussianEvent("train", noise)], "replace-one")
    assert guarantee.mu is not None
    assert float(str(guarantee).split("-GDP")[0]) >= guarantee.mu


def test_a_declared_target_is_printed_as_it_is_used() -> None:
    """|y| <= 1.23457 would claim more data than 1.2345678 covers less."""
    f = g.random_initialization(clip=5.0, target=1.2345674, claim="bounded")
    assert float(f.claim.split("|y| <= ")[1]) == 1.2345674
    f = g.random_initialization(clip=5.0, target=1.2345674)
    assert float(f.claim.split("y = ")[1].split(" x")[0]) == 1.2345674


@given(st.floats(1e-9, 1e6))
@example(0.07)
@example(1.00001)
def test_percentages_and_columns_of_numbers_are_not_below_the_number(x: float) -> None:
    assert Decimal(percent(x)[:-1]) >= Decimal(repr(x)) * 100
    assert Decimal(places(x)) >= Decimal(repr(x)) and len(places(x).split(".")[1]) == 4


def test_percentages_as_people_write_them() -> None:
    assert [percent(s) for s in (0.07, 0.02, 0.004, 1.0, 0.12345)] == ["7%", "2%", "0.4%", "100%", "12.4%"]
    assert [places(s) for s in (1.0, 1.00001, 2.5, math.inf)] == ["1.0000", "1.0001", "2.5000", "inf"]


def test_a_measured_number_is_rounded_to_its_error_and_its_interval_outward():
    rng = np.random.default_rng(34)
    for _ in range(2000):
        value, half = float(rng.normal() * 10.0 ** rng.integers(-6, 9)), float(10.0 ** rng.uniform(-8, 9))
        low, high = (float(value + side * half * rng.uniform(0.3, 1)) for side in (-1, 1))
        texts = measured(value, low, high, half)
        found, least, most, deviation = (Decimal(text.replace(",", "")) for text in texts)
        assert (
            least <= Decimal(repr(low)) and Decimal(repr(high)) <= most and deviation >= Decimal(repr(half))
        )
        width = Decimal(repr(high)) - Decimal(repr(low))
        assert (
            abs(found - Decimal(repr(value))) <= Decimal("0.03") * width
            and most - least <= Decimal("1.11") * width
        )
    assert measured(3.0, 3.0, 3.0) == ("3", "3", "3")


def test_an_end_that_excludes_zero_is_not_printed_as_zero():
    """A difference of recalls, -0.098 [-0.197, -0.00047], ended in 0.000."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        near, far = 10 ** rng.uniform(-7, -2), 10 ** rng.uniform(-2, 1)
        _, low, high = measured((near + far) / 2, near, far)
        assert 0 < float(low) <= near
        _, low, high = measured(-(near + far) / 2, -far, -near)
        assert -near <= float(high) < 0
    assert measured(0.1, 0.0, 0.2)[1] == "0.00" and measured(-0.001, -0.11, 0.11)[0] == "0.00"
