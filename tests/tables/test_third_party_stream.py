"""A stream of a user's own code: what it says of cells while it reads stays inside."""

import warnings

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv.tables.readers import BadData
from prepriv.tables.stream import Stream

DOMAIN = prepriv.Domain(
    {"x": prepriv.Numeric(0, 1)}, classes=[0, 1], label="y", n=40, adjacency="add-or-remove-one"
)


class Lines(Stream):
    """Ten rows a part; in the third one something is odd."""

    def __init__(self, odd=None):
        self.odd = odd

    @property
    def names(self):
        return ["x", "y"]

    def parts(self, columns):
        for k in range(4):
            if k == 2 and self.odd is not None:
                self.odd()
            part = pd.DataFrame({"x": np.linspace(0, 1, 10), "y": [0, 1] * 5})
            yield part[list(columns)]


def fitted(stream):
    return prepriv.PrivateClassifier(DOMAIN, epsilon=1.0, delta=1e-5, steps="linear").fit(stream, "y")


def raises(error):
    def odd():
        raise error

    return odd


def test_it_trains():
    assert fitted(Lines()).guarantee_.epsilon(1e-5) <= 1.0


@pytest.mark.parametrize("error", [ValueError("odd zip 99123"), BadData("odd zip 99123"), KeyError("99123")])
def test_no_error_of_it_shows_a_cell(error):
    with pytest.raises(BadData, match="stream Lines could not be") as found:
        fitted(Lines(raises(error)))
    seen, every = found.value, ""
    while seen is not None:
        every, seen = every + repr(seen) + str(seen), seen.__cause__ or seen.__context__
    assert "99123" not in every


def test_no_warning_of_it_is_shown():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fitted(Lines(lambda: warnings.warn("odd zip 99123", stacklevel=1)))
    assert not any("99123" in str(w.message) for w in said)
