"""Exact budget arithmetic: charges rounded up, caps down, nonsense refused."""

import math
import random
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prepriv.ledger import currency
from prepriv.ledger.currency import MAX_QUANTA, Quanta

NONE = {"epsilon": None, "delta": None, "mu": None, "rho": None}
NONSENSE = [
    1e-300,
    1e300,
    math.nan,
    -1.0,
    -1e-9,
    math.inf,
    -math.inf,
    True,
    False,
    "0.1",
    "inf",
    b"1",
    1j,
    [0.1],
    10**400,
    Decimal("1e-999999"),
    Decimal("1e999999"),
    Decimal("nan"),
    Decimal("snan"),
    Decimal("inf"),
    np.float32(0.1),
    np.bool_(True),
]


def cost(unit, **amounts):
    return currency.cost_in_quanta(unit, **{**NONE, **amounts})


def cap(unit, **amounts):
    return currency.cap(unit, **{**NONE, **amounts})


@pytest.mark.parametrize("value", NONSENSE, ids=repr)
@pytest.mark.parametrize(
    "unit,name", [("basic", "epsilon"), ("basic", "delta"), ("zcdp", "rho"), ("gdp", "mu")]
)
@pytest.mark.parametrize("function", [cap, cost])
def test_nonsense_is_refused_by_name(function, unit, name, value):
    with pytest.raises(ValueError, match=name):
        function(unit, **({"epsilon": 1.0, "delta": 1e-5} if unit == "basic" else {}) | {name: value})


def test_a_tenth_is_a_tenth_and_not_its_nearest_float():
    assert cost("basic", epsilon=0.1, delta=0) == Quanta(10**8)
    assert cost("basic", epsilon=np.float64(0.1), delta=0) == Quanta(10**8)
    assert cost("basic", epsilon=Decimal.from_float(0.1), delta=0) == Quanta(10**8 + 1)


def test_charges_round_up_and_caps_round_down():
    assert cost("basic", epsilon=Decimal("0.1000000000001"), delta=Decimal("1.5e-18")) == Quanta(10**8 + 1, 2)
    assert cap("basic", epsilon=Decimal("0.1999999999999"), delta=Decimal("1.5e-18")) == Quanta(
        199_999_999, 1
    )
    assert cost("gdp", mu=1e-6 * 1.1) == Quanta(2)
    assert cap("gdp", mu=1e-6 * 1.9) == Quanta(3)
    assert cost("zcdp", rho=1.5e-12) == Quanta(2)


def test_delta_of_one_is_no_privacy():
    with pytest.raises(ValueError, match="delta must be below 1"):
        cost("basic", epsilon=0, delta=1.0)
    assert cost("basic", epsilon=0, delta=0.5) == Quanta(0, 5 * 10**17)


def test_a_charge_of_nothing_is_refused():
    for unit, amounts in (
        ("basic", {"epsilon": 0, "delta": 0.0}),
        ("zcdp", {"rho": 0}),
        ("gdp", {"mu": -0.0}),
    ):
        with pytest.raises(ValueError, match="zero"):
            cost(unit, **amounts)
        with pytest.raises(ValueError, match="zero"):
            cap(unit, **amounts)


def test_other_units_are_checked_and_not_counted():
    assert cost("gdp", mu=0.5, epsilon=3.0, delta=1e-40) == Quanta(25 * 10**10)
    for value in (math.nan, -1.0, "1", True):
        with pytest.raises(ValueError, match="epsilon"):
            cost("gdp", mu=0.5, epsilon=value)
    with pytest.raises(ValueError, match="cannot be converted"):
        cost("gdp", epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match="capped by mu"):
        cap("gdp", mu=1.0, epsilon=1.0)
    with pytest.raises(ValueError, match="capped by epsilon and delta"):
        cap("basic", epsilon=1.0)


@pytest.mark.parametrize("unit", ["pld", "PLD", "rdp", "f-dp"])
def test_units_that_are_no_filter_are_refused_with_the_reason(unit):
    with pytest.raises(ValueError, match="not a valid filter"):
        currency.check_currency(unit)
    with pytest.raises(ValueError, match="basic, zcdp, gdp"):
        currency.check_currency("epsilon")


def check_against_decimal_oracle(epsilon: float, delta: float, mu: float) -> None:
    with localcontext() as context:
        context.prec = 80
        up, down = {}, {}
        for rounding, into in ((ROUND_CEILING, up), (ROUND_FLOOR, down)):
            for name, value, digits in (("epsilon", epsilon, 9), ("delta", delta, 18), ("mu", mu, 12)):
                square = Decimal(repr(value)) ** (2 if name == "mu" else 1)
                into[name] = int((square * 10**digits).to_integral_value(rounding))
    assert cost("basic", epsilon=epsilon, delta=delta) == Quanta(up["epsilon"], up["delta"])
    assert cap("basic", epsilon=epsilon, delta=delta) == Quanta(down["epsilon"], down["delta"])
    assert cost("gdp", mu=mu) == Quanta(up["mu"])
    assert cap("gdp", mu=mu) == Quanta(down["mu"])


AMOUNTS = (st.floats(1e-9, 1e6), st.floats(1e-18, 0.999), st.floats(1e-6, 1e3))


@given(*AMOUNTS)
def test_rounding_agrees_with_decimal_arithmetic(epsilon, delta, mu):
    check_against_decimal_oracle(epsilon, delta, mu)


@pytest.mark.slow
def test_rounding_agrees_with_decimal_arithmetic_1e5_times():
    draw = random.Random(7)
    for _ in range(100_000):
        check_against_decimal_oracle(
            *(10 ** draw.uniform(*ends) for ends in ((-9, 6), (-18, -0.01), (-6, 3)))
        )


@given(st.sampled_from(currency.CURRENCIES), st.integers(1, MAX_QUANTA), st.integers(0, 10**18 - 1))
def test_charging_the_float_that_is_left_fits_and_leaves_almost_nothing(unit, main, delta):
    left = Quanta(main, delta if unit == "basic" else 0)
    budget = currency.amount_of(unit, left)
    spent = cost(unit, **{name: getattr(budget, name) for name in NONE})
    assert spent.fits(left)
    assert left.main - spent.main <= 1 + left.main * 2**-50
    assert left.delta - spent.delta <= 1 + left.delta * 2**-50


def test_the_smallest_remainders_can_be_charged():
    for unit in currency.CURRENCIES:
        for main in range(1, 200):
            budget = currency.amount_of(unit, Quanta(main))
            assert cost(unit, **{name: getattr(budget, name) for name in NONE}).fits(Quanta(main))


def test_amounts_are_described_exactly():
    assert currency.amount_in_words("basic", Quanta(300_000_000, 10**12)) == "epsilon 0.3, delta 0.000001"
    assert currency.amount_in_words("basic", Quanta(0, 0)) == "epsilon 0, delta 0"
    assert currency.amount_in_words("gdp", Quanta(10**12 + 1)) == "mu^2 1.000000000001"
    assert currency.amount_in_words("zcdp", Quanta(20 * 10**12)) == "rho 20"
