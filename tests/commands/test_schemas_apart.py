"""In what a schema and a model differ is said with both values: they are declared, and no record was read for them."""

from __future__ import annotations

import pytest

from prepriv import Categorical, Domain, Numeric
from prepriv.columns import Column
from prepriv.commands.judged import _apart as _all_apart
from prepriv.commands.judged import _columns_apart


def _apart(one: Column | None, other: Column | None) -> str:
    domains = [
        Domain({"same": Numeric(0, 1)} | ({} if column is None else {"x": column}), classes=("a", "b"), n=9)
        for column in (one, other)
    ]
    return _columns_apart(*domains)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (Numeric(0, 150), Numeric(0, 120), "`x`: high 150 in this schema, 120 in the model"),
        (
            Numeric(0, 1, written="date"),
            Numeric(-1, 1, written="date"),
            "`x`: low 1970-01-01 in this schema, 1969-12-31 in the model",
        ),
        (
            Numeric(0, 1),
            Numeric(0, 1, missing="impute", written="comma"),
            "`x`: missing midpoint in this schema, impute in the model, written number in this schema, comma in the model",
        ),
        (Numeric(0, 1), Categorical(("u",)), "`x`: numeric in this schema, categorical in the model"),
        (
            Categorical(("u", "v")),
            Categorical(("u", "w")),
            '`x`: "v" in this schema alone, "w" in the model alone',
        ),
        (Categorical(("u", "v")), Categorical(("v", "u")), "`x`: its categories in another order"),
        (
            Categorical(tuple(f"c{k}" for k in range(9))),
            Categorical(("c0",)),
            '`x`: "c1" in this schema alone, "c2" in this schema alone, "c3" in this schema alone and 5 more',
        ),
        (None, Numeric(0, 1), "`x`: in the model alone"),
    ],
)
def test_both_values_of_what_differs_are_named(one: Column, other: Column, said: str) -> None:
    """`has other columns, bounds or categories (`tserved`)` named neither."""
    assert _apart(one, other) == f" ({said})"


def test_bounds_that_look_alike_as_dates_are_told_as_numbers() -> None:
    said = _apart(Numeric(0, 1 + 1e-9, written="date"), Numeric(0, 1 + 2e-9, written="date"))
    assert said == " (`x`: high 1.000000001 in this schema, 1.000000002 in the model)"


def test_few_columns_are_named() -> None:
    domains = [
        Domain({f"x{k}": Numeric(0, high) for k in range(9)}, classes=("a", "b"), n=9) for high in (1, 2)
    ]
    said = _columns_apart(*domains)
    assert said.count("high 1 in this schema, 2 in the model") == 3 and said.endswith("; and 6 more)")


def test_both_values_of_the_label_and_of_the_units_are_named() -> None:
    """`has other units` and `has other bounds of the target` named neither."""
    columns = {"x": Numeric(0, 1)}
    one = Domain(columns, target=Numeric(5, 46), n=9, unit="state", rows_per_unit=6)
    other = Domain(columns, target=Numeric(5, 45), n=9, unit="state", rows_per_unit=7)
    assert _all_apart(one, other) == [
        "bounds of the target (high 46 in this schema, 45 in the model)",
        "units (state with 6 rows each at most in this schema, state with 7 rows each at most in the model)",
    ]
    assert "(none in this schema" in _all_apart(Domain(columns, target=Numeric(5, 45), n=9), other)[0]
