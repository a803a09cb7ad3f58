"""The domain: everything declared, nothing inferred, every mistake a sentence."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from prepriv.columns import Categorical, Numeric
from prepriv.domain import Domain
from prepriv.space import Space


def test_space_of_a_table_counts_one_for_each_column_in_the_squared_norm():
    domain = Domain({"a": Numeric(0, 10, "impute"), "b": Categorical(("x", "y"))}, (0, 1))
    space = domain.space
    assert space.d == 5 and space.radius == pytest.approx(np.sqrt(2))
    assert space.may_miss.tolist() == [True, False, False, False, False]
    assert domain.feature_names == ["a", "b=x", "b=y", "b=other", "b=missing"]


def test_diameter_is_the_smaller_of_ball_and_box():
    assert Space.ball(3, 1.0).diameter == 2.0
    assert Domain.box(0, 1, 2, [0, 1]).space.diameter == pytest.approx(np.sqrt(2))


def test_json_round_trip():
    for domain in (
        Domain({"a": Numeric(0, 1), "b": Categorical(("x",))}, ("no", "yes"), 10, "add-or-remove-one", "l"),
        Domain.ball(4, [0, 1, 2], radius=2.0, n=5),
        Domain.box(-1, 1, 3, [True, False]),
    ):
        again = Domain.from_json(json.loads(json.dumps(domain.to_json())))
        assert again.to_json() == domain.to_json() and again.space.radius == domain.space.radius


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: Numeric(1, 0), "low < high"),
        (lambda: Numeric(0, float("inf")), "finite"),
        (lambda: Numeric(0, 1, "drop"), "missing must be"),
        (lambda: Categorical(()), "at least one"),
        (lambda: Categorical(("a", "a")), "distinct"),
        (lambda: Categorical(("other",)), "always there"),
        (lambda: Domain({"a": Numeric(0, 1)}, (0,)), "two distinct"),
        (lambda: Domain({"a": Numeric(0, 1)}, (0, 0)), "two distinct"),
        (lambda: Domain({}, (0, 1)), "needs columns"),
        (lambda: Domain.box(0, 1, 2, [0, 1], n=0), "n must be"),
        (lambda: Domain.box(0, 1, 2, [0, 1], adjacency="substitute"), "adjacency must be"),
        (lambda: Space.ball(2, -1.0), "radius must be"),
    ],
)
def test_mistakes_are_sentences(make, says):
    with pytest.raises(ValueError, match=says):
        make()


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Domain.box([0, 0], 1, 3, (0, 1)), "low must be a number or a list of 3"),
        (lambda: Domain.box(0, "a", 3, (0, 1)), "high must be a number or a list of 3"),
        (lambda: Domain.box(0, 1, "3", (0, 1)), "features must be a whole number"),
        (lambda: Domain.box(0, 1, 3, 10), "classes must be a list of values; got 10"),
        (lambda: Domain.box(0, 1, 3, "ab"), "classes must be a list of values; got 'ab'"),
        (lambda: Domain.box(0, 1, 3, (0, float("nan"))), "classes must not hold NaN"),
        (lambda: Domain({"a": (0, 1)}, (0, 1)), "column 'a' must be Numeric"),
        (
            lambda: Domain({"job": Categorical(("x", "y")), "job=x": Numeric(0, 1)}, (0, 1)),
            "two encoded features would be named 'job=x'",
        ),
        (lambda: Categorical("abc"), "categories must be a list of values"),
        (lambda: Domain.ball(3, (0, 1), radius=-1.0), "radius must be a finite positive number"),
    ],
)
def test_a_mistake_of_type_is_a_sentence(build, sentence):
    with pytest.raises(ValueError, match=sentence):
        build()


@pytest.mark.parametrize(
    ("classes", "kind"),
    [
        ((0, 1), "i"),
        (("no", "yes"), "U"),
        (("no", "yes", 3), "O"),
        ((3, "x", True), "O"),
        ((2**63 - 1, 0.5), "O"),
    ],
)
def test_labels_are_the_declared_classes_whatever_their_types(classes, kind):
    """As text, the class 3 of "no", "yes", 3 equalled no label of the data."""
    domain = Domain.box(0, 1, 2, classes)
    labels = domain.labels
    assert labels.dtype.kind == kind and {*domain.classes} == {*classes}
    assert labels.shape == (len(classes),)
    assert all(a == b and (kind != "O" or type(a) is type(b)) for a, b in zip(labels, domain.classes))


def test_the_columns_of_a_domain_are_its_own_and_nobody_changes_them():
    given = {"a": Numeric(0, 1)}
    domain = Domain(given, classes=[0, 1])
    before = domain.to_json()
    given["b"] = Numeric(0, 9)
    with pytest.raises(TypeError):
        domain.columns["a"] = Numeric(0, 1000)
    assert domain.to_json() == before and domain.columns == {"a": Numeric(0, 1)}
    for copied in (copy.deepcopy(domain), pickle.loads(pickle.dumps(domain)), domain.with_n(5).with_n(7)):
        assert copied.columns == domain.columns and list(copied.columns) == ["a"]
    assert repr(domain.columns) == repr({"a": Numeric(0, 1)})


def test_who_declared_it_is_declared_with_the_rest():
    """It stands in the domain's data, and changes no domain that names nobody."""
    named = Domain.box(0, 1, 2, [0, 1])
    assert "declared_by" not in named.to_json()
    named = replace(named, declared_by="J. Doe, data office")
    assert Domain.from_json(named.to_json()) == named
    for wrong in ("", " ", "a\nb", "x" * 201, 7):
        with pytest.raises(ValueError, match="declared_by"):
            replace(named, declared_by=wrong)
