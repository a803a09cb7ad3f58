"""Models of diffprivlib 0.6.6: what each needs to be told, and what its epsilon is worth for a replaced record. Proof: docs/proofs/account.md.

A model that is not told its bounds reads them from the private rows, with a warning; which ones it needs, its name decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prepriv._arguments import number, shown
from prepriv._rounding import UP
from prepriv.accounts.library_settings import SETTINGS
from prepriv.accounts.ran import PureMechanism
from prepriv.accounts.settings import unread

_EVERY = ("model", "epsilon", "random_state", "accountant")
_MINIMUM = (
    "holds only while each class has two records or more, since {model} reads its classes from the labels, and while it reached "
    "the minimum, which alone its noise is for (max_iter, tol), and n_iter_ stays secret; its noise is for the curvature of rows of "
    "norm 1, so epsilon counts as many times as a row is long, the intercept included"
)
_LEAF = "{model} adds noise for one record more or less: a replaced one leaves a leaf and enters another, and costs epsilon twice"


def _twice(given: Mapping[str, Any]) -> float:
    """Noise for one record more or less, of a replaced one."""
    return 2.0


def _length(given: Mapping[str, Any]) -> float:
    """Of a row and its constant column: `Vector` has R where the curvature has R² (docs/proofs/account.md)."""
    row = given["data_norm"]
    return max(1.0, math.hypot(row, 1.0) if given.get("fit_intercept", True) else row) * UP


@dataclass(frozen=True)
class LibraryModel:
    """needs: settings without which it reads the private rows. takes: the others, beside those of every model. times: how often
    epsilon counts for one replaced record. note: printed with every account. refused: why it has no account; "" where it has one.
    """

    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    times: Callable[[Mapping[str, Any]], float] = lambda _: 1.0
    note: str = ""
    refused: str = ""

    def unmet(self, given: Mapping[str, Any]) -> Iterator[str]:
        """What is needed and not given."""
        needs = set(self.needs) | (
            {"bounds"} if "centered" in self.takes and not given.get("centered") else set()
        )
        yield from sorted(needs - set(given))


MODELS: Mapping[str, LibraryModel] = {
    "LogisticRegression": LibraryModel(
        ("data_norm",), ("tol", "C", "fit_intercept", "max_iter", "verbose", "warm_start", "n_jobs"), times=_length, note=_MINIMUM
    ),
    "PCA": LibraryModel(("data_norm",), ("bounds", "n_components", "centered", "copy", "whiten")),
    "StandardScaler": LibraryModel(("bounds",), ("copy", "with_mean", "with_std")),
    "DecisionTreeClassifier": LibraryModel(("bounds", "classes"), ("max_depth", "criterion"), times=_twice, note=_LEAF),
    "RandomForestClassifier": LibraryModel(
        ("bounds", "classes"),
        ("n_estimators", "max_depth", "n_jobs", "verbose", "warm_start", "shuffle"),
        times=_twice,
        note=_LEAF,
    ),
    "GaussianNB": LibraryModel(
        refused="the noise of a class sum is for a record whose values change, and a changed label takes a whole record out of it"
    ),
    "KMeans": LibraryModel(
        refused="a centre gets noise only if a record is nearest to it, which one record can decide, and labels_ and inertia_ have none"
    ),
    "LinearRegression": LibraryModel(
        refused="the noise of its squares is for the lower of two bounds alone, and is none where that is 0"
    ),
}  # fmt: skip


def pure_model(given: Mapping[str, Any]) -> PureMechanism:
    """What ran. ValueError, one sentence, for a model without an account, and for a setting that it lacks or does not take."""
    name = given.get("model")
    if not isinstance(name, str) or name not in MODELS:
        raise ValueError(
            f"diffprivlib: model must be the name of the class that was fitted, one of {', '.join(m for m in MODELS if not MODELS[m].refused)}; got {shown(name)}"
        )
    model = MODELS[name]
    if model.refused:
        raise ValueError(f"diffprivlib: {name} has no account here: {model.refused}")
    takes = {s: SETTINGS["diffprivlib"][s] for s in (*_EVERY, *model.needs, *model.takes)}
    for _, why in unread(given, takes):
        raise ValueError(f"diffprivlib: {name}: {why}")
    if "epsilon" not in given:
        raise ValueError("diffprivlib: epsilon must be given")
    for setting in model.unmet(given):
        raise ValueError(
            f"diffprivlib: {setting} must be given, as it was given to {name}: without it the library reads it from the private rows"
        )
    epsilon = number("epsilon", given["epsilon"], above=0.0)
    note = (model.note.format(model=name),) if model.note else ()
    return PureMechanism(model.times(given) * epsilon, note, "replace-one")
