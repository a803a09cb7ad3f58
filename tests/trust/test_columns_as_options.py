"""A column that is handed in where a setting belongs is refused by its type: a message goes to logs, and its cells are private."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv._arguments import shown

N = 300
RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.random(N), "g": RNG.choice(["u", "SECRET-g"], N)})
Y = pd.Series(RNG.choice(["no", "SECRET-y"], N))
DOMAIN = prepriv.Domain(
    {"a": prepriv.Numeric(0, 1), "g": prepriv.Categorical(["u"])}, classes=["no", "SECRET-y"]
)
FORMS = {
    "series": Y,
    "array": Y.to_numpy(),
    "list": list(Y),
    "frame": X,
    "numbers": X["a"],
    "tuple": tuple(X["a"]),
}
SECRETS = ("SECRET", *(repr(float(v))[:8] for v in X["a"][:5]))


def options(function, *others):
    return [name for name in inspect.signature(function).parameters if name not in ("self", *others)]


def refused(call):
    """What the refusal says; nothing of a call that is taken."""
    try:
        call()
    except Exception as why:
        return f"{why}{why.__cause__ or ''}"
    return ""


@pytest.fixture(scope="module")
def fitted():
    return prepriv.PrivateClassifier(DOMAIN, threads=1).fit(X, Y)


@pytest.mark.parametrize("form", FORMS)
def test_no_cell_stands_in_a_refusal(fitted, form):
    column = FORMS[form]
    calls = [
        lambda: prepriv.PrivateClassifier(column).fit(X, Y),
        lambda: prepriv.Numeric(0, column),
        lambda: fitted.score(X, Y, column),
    ]
    calls += [
        lambda o=o: fitted.evaluate(X, Y, **{o: column}) for o in options(fitted.evaluate, "X", "y", "by")
    ]
    calls += [
        lambda o=o: prepriv.Domain.draft(X.assign(y=Y), **({"epsilon": 1.0, "label": "y"} | {o: column}))
        for o in options(prepriv.Domain.draft, "X", "data", "table", "rows")
    ]
    said = [refused(call) for call in calls]
    assert sum(map(bool, said)) > len(said) / 2
    assert [one for one in said if any(secret in one for secret in SECRETS)] == []


def test_settings_are_shown_as_they_are():
    assert shown(["r2", "auc"]) == "['r2', 'auc']" and shown(np.float64(0.5)) == "np.float64(0.5)"
    assert (
        shown(np.zeros(3)) == "a value of type ndarray" and shown(list(range(13))) == "a value of type list"
    )
