"""Every public function that takes rows, on every container, with one odd cell: the same exit as without it.

The odd cell is a null, a text, a byte that is not UTF-8, an infinity, a giant or a cell of an odd type; the container is made as
users make it, by a library that types a column by all its cells. The same: success or the same exception with the same sentence,
results of the same shape, the same charge, the same warnings. What a library refuses to make is out of reach.
"""

from __future__ import annotations

import inspect
import itertools
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import polars as pl
import pytest
from every_container import (
    ARROW,
    COLUMNS,
    IN_MEMORY,
    ODD,
    PANDAS,
    POLARS,
    SPARSE,
    STREAMS,
    Cells,
    N,
    compare,
    made,
    matrix,
    rows,
)

import prepriv
from prepriv import Budget, Categorical, Domain, Numeric, Public, Text
from prepriv.preprocessing import MeanImputer, StandardScaler
from prepriv.tables.embeddings import embedding_matrix

# ---------------------------------------------------------------------------------------------- one column

ASKED: dict[str, Callable[[Any], Any]] = {
    "count": lambda column: prepriv.count(column, epsilon=1.0),
    "mean": lambda column: prepriv.mean(column, 0, 9, epsilon=1.0),
    "histogram": lambda column: prepriv.histogram(column, 0, 9, bins=3, epsilon=1.0),
    "sum": lambda column: prepriv.sum(column, 0, 9, epsilon=1.0),
    "variance": lambda column: prepriv.variance(column, 0, 9, epsilon=1.0),
    "covariance": lambda column: prepriv.covariance(column, NUMBERS, [(0, 9), (0, 9)], epsilon=1.0),
    "crosstab": lambda column: prepriv.crosstab(column, NAMES, [[0, 1], ["u", "v"]], epsilon=1.0),
    "quantiles": lambda column: prepriv.quantiles(column, [0.5], 0, 9, epsilon=1.0),
}
TRUTHS = [i % 3 == 0 for i in range(N)]
NUMBERS = [float(i % 9) for i in range(N)]
WHOLE = [i % 9 for i in range(N)]
NAMES = ["uvw"[i % 3] for i in range(N)]
LABELS = ["np"[i % 2] for i in range(N)]
ANSWERS = [i % 2 for i in range(N)]
DAYS = [f"2000-01-{i + 1:02d}" for i in range(N)]


def odd_columns(base: list[Any], places: tuple[int, ...] = (0, N - 1)) -> list[tuple[str, list[Any]]]:
    """The column with one odd cell, in each place."""
    return [
        (f"{name} at {at}", [*base[:at], cell, *base[at + 1 :]])
        for (name, cell), at in itertools.product(ODD.items(), places)
    ]


def share(items: list[Any], of: str, most: int) -> list[Any]:
    """Some of the items, others for each name."""
    turn = zlib.crc32(of.encode()) % len(items)
    return [*items[turn:], *items[:turn]][:: -(-len(items) // most)]


MOST = pytest.mark.parametrize(
    "most", [pytest.param(3, id="some"), pytest.param(999, id="all", marks=pytest.mark.slow)]
)


@MOST
@pytest.mark.parametrize("container", [*COLUMNS, "iterator", "frame"])
@pytest.mark.parametrize("question", ASKED)
def test_a_column(question: str, container: str, most: int) -> None:
    makers = COLUMNS | {"iterator": iter, "frame": lambda v: pl.DataFrame({"a": pl.Series(v, strict=False)})}
    bases = [TRUTHS] if question == "count" else [NUMBERS, WHOLE]
    bases += [[*map(str, bases[0])]]
    compared = [
        compare(
            ASKED[question], makers[container], base, share(odd_columns(base), question + container, 2 * most)
        )
        for base in bases
    ]
    assert sum(compared) > 0 or most < 99


@pytest.mark.parametrize("container", COLUMNS)
def test_one_odd_cell_moves_a_count_by_one(container: str) -> None:
    def count(cells: list[Any]) -> float | None:
        column = made(COLUMNS[container], cells)
        return None if column is None else float(prepriv.count(column, epsilon=100.0))

    for base in (TRUTHS, [*map(str, TRUTHS)]):
        if (before := count(base)) is not None:
            answers = {name: count(cells) for name, cells in odd_columns(base)}
            assert {n: a for n, a in answers.items() if a is not None and abs(a - before) > 1} == {}


# ------------------------------------------------------------------------------------------------- tables

Kind = tuple[Domain, Cells]
_A_B = {"a": Numeric(0, 9, missing="impute"), "b": Categorical(["u", "v", "w"])}
_WRITTEN = {"a": Numeric(0, 9, written="comma"), "d": Numeric("2000-01-01", "2000-02-01", written="date")}
KINDS: dict[str, Kind] = {
    "mixed": (Domain(_A_B, ["n", "p"], n=N), {"a": NUMBERS, "b": NAMES}),
    "numbers": (Domain.box(0, 9, features=2, classes=["n", "p"], n=N), {"a": NUMBERS, "b": WHOLE}),
    "ball": (Domain.ball(2, ["n", "p"], radius=9.0, n=N), {"a": NUMBERS, "b": WHOLE}),
    "written": (Domain(_WRITTEN, ["n", "p"], n=N), {"a": [f"{i % 9},5" for i in range(N)], "d": DAYS}),
}


@lru_cache
def fitted(kind: str) -> Any:
    domain, cells = KINDS[kind]
    table = rows(cells)
    return prepriv.PrivateClassifier(domain, steps="linear" if kind == "mixed" else (), threads=1).fit(
        table, LABELS
    )


@lru_cache
def preparer(kind: str) -> Any:
    return prepared(kind, rows(KINDS[kind][1]))


@lru_cache
def fitted_regressor(kind: str) -> Any:
    domain, cells = with_target(KINDS[kind][0]), KINDS[kind][1]
    return prepriv.PrivateRegressor(domain, threads=1).fit(rows(cells), ANSWERS)


@lru_cache
def measured_regressor(kind: str) -> Any:
    return fitted_regressor(kind).evaluate(
        rows(KINDS[kind][1]), ANSWERS, epsilon=1000.0, measures="residuals"
    )


def with_target(domain: Domain) -> Domain:
    return replace(domain, classes=(), target=Numeric(0, 1))


def prepared(kind: str, rows: Any, paid: Any = None) -> Any:
    step = MeanImputer if kind == "mixed" else StandardScaler
    return prepriv.PrivateTransformer(KINDS[kind][0], [step(payment=paid or Budget())], epsilon=0.5).fit(rows)


def asked(X: Any, domain: Domain) -> Any:
    """Every kind of question, of declared groups and of groups that are found."""
    one, *rest = domain.columns or ["a"]
    questions = [
        f"{kind}({one})" for kind in ("sum", "variance", "missing", "median", "maximum", "histogram")
    ]
    if rest == ["b"]:
        questions += ["mean(a) by b", "maximum(a) by b", "count by b", "histogram(b)"]
        prepriv.ask(
            X,
            replace(domain, columns={"a": Numeric(0, 9), "b": Text()}),
            ["mean(a) by b"],
            epsilon=1.0,
            delta=1e-3,
        )
    return prepriv.ask(X, domain, questions, epsilon=1.0).plan.look.hash


def in_groups(kind: str) -> dict[str, Any]:
    """Half of the evaluations are of groups: those of tables that declare some."""
    return {"by": "b"} if kind == "mixed" else {}


def chosen(kind: str, X: Any, y: Any) -> Any:
    return prepriv.choose(["linear", "auto"], X, y, KINDS[kind][0], epsilon=2.0).plan


def held_out(kind: str, X: Any, y: Any) -> Any:
    return prepriv.PrivateClassifier(KINDS[kind][0], steps="linear", holdout=0.3, threads=1).fit(X, y)


def sketched(kind: str, X: Any, y: Any) -> Any:
    return (
        None if kind == "ball" else prepriv.sketch(X, KINDS[kind][0], y, epsilon=90.0, delta=0.01).to_json()
    )


def with_public(kind: str, X: Any, y: Any) -> Any:
    return prepared(kind, matrix(KINDS[kind][1]), Public(X))


CHEAP: dict[str, Callable[[str, Any, Any], Any]] = {
    "validate": lambda kind, X, y: prepriv.validate(KINDS[kind][0], X, y),
    "describe": lambda kind, X, y: prepriv.describe(X, KINDS[kind][0], epsilon=1.0, **in_groups(kind)),
    "ask": lambda kind, X, y: asked(X, KINDS[kind][0]),
    "sketch": lambda kind, X, y: sketched(kind, X, y),
    "PrivateTransformer.fit": lambda kind, X, y: prepared(kind, X),
    "Public": with_public,
    "PrivateTransformer.transform": lambda kind, X, y: preparer(kind).transform(X),
    "embedding_matrix": lambda kind, X, y: embedding_matrix(X),
    "PrivateClassifier.evaluate": lambda kind, X, y: fitted(kind).evaluate(X, y, **in_groups(kind)),
    "PrivateClassifier.predict": lambda kind, X, y: fitted(kind).predict(X),
    "PrivateClassifier.predict_proba": lambda kind, X, y: fitted(kind).predict_proba(X),
    "PrivateClassifier.predict_log_proba": lambda kind, X, y: fitted(kind).predict_log_proba(X),
    "PrivateClassifier.decision_function": lambda kind, X, y: fitted(kind).decision_function(X),
    "PrivateClassifier.score": lambda kind, X, y: fitted(kind).score(X, LABELS),
    "PrivateRegressor.predict": lambda kind, X, y: fitted_regressor(kind).predict(X),
    "PrivateRegressor.score": lambda kind, X, y: fitted_regressor(kind).score(X, ANSWERS),
    "PrivateRegressor.predict_interval": lambda kind, X, y: fitted_regressor(kind).predict_interval(
        X, 0.3, evaluation=measured_regressor(kind)
    ),
    "Model.predict": lambda kind, X, y: fitted(kind).model_.predict(X),
    "Model.predict_proba": lambda kind, X, y: fitted(kind).model_.predict_proba(X),
    "Model.predict_index": lambda kind, X, y: fitted(kind).model_.predict_index(X),
    "Model.scores": lambda kind, X, y: fitted(kind).model_.scores(X),
    "Model.evaluate": lambda kind, X, y: fitted(kind).model_.evaluate(X, y, **in_groups(kind)),
}
DEAR: dict[str, Callable[[str, Any, Any], Any]] = {
    "PrivateClassifier.fit": lambda kind, X, y: prepriv.PrivateClassifier(KINDS[kind][0], threads=1).fit(
        X, y
    ),
    "PrivateRegressor.fit": lambda kind, X, y: prepriv.PrivateRegressor(
        with_target(KINDS[kind][0]), threads=1
    ).fit(X, y),
    "PrivateRegressor.evaluate": lambda kind, X, y: fitted_regressor(kind).evaluate(X, y),
    "holdout": held_out,
    "choose": chosen,
    "Domain.draft": lambda kind, X, y: prepriv.Domain.draft(X, epsilon=50.0, delta=0.01).label,
}
PREDICTING = ("predict", "scores", "decision_function", "score")


def odd_tables(cells: Cells, places: tuple[int, ...] = (0,)) -> list[tuple[str, Cells]]:
    return [
        (f"{odd} in {name}", {**cells, name: column})
        for name, base in cells.items()
        for odd, column in odd_columns(base, places)
    ]


def refused_to_predict(function: str, container: str) -> bool:
    """Rows to predict are their user's own, and what is told of them is exact: a row of another length is refused by its number,
    and a column without any number (polars makes gaps of all numbers beside a dict) by its name."""
    return function.split(".")[-1].startswith(PREDICTING) and container in (
        "rows, one of them a gap",
        "polars",
    )


def warm() -> None:
    for kind in KINDS:
        fitted(kind), measured_regressor(kind), preparer(kind)


@MOST
@pytest.mark.parametrize("container", IN_MEMORY)
@pytest.mark.parametrize("function", CHEAP)
def test_a_table(function: str, container: str, most: int) -> None:
    if refused_to_predict(function, container):
        return
    if (
        most < 99
        and function.startswith(("Model.", "PrivateClassifier.predict_"))
        and zlib.crc32((function + container).encode()) % 3
    ):
        return  # they read rows in one place, as `predict` does
    warm()
    compared = 0
    for kind in share([*KINDS], function + container, most // 3):
        cells = KINDS[kind][1]
        run = partial(lambda kind, X: CHEAP[function](kind, X, LABELS), kind)
        gaps = [neighbour for neighbour in odd_tables(cells) if neighbour[0].startswith("null")]
        of = gaps if container.endswith("a gap") else odd_tables(cells)
        odd = share(of, function + container + kind, most)
        compared += compare(run, IN_MEMORY[container], cells, odd)
    assert compared > 0 or most < 99 or container in ("numpy i4", "numpy f8", "numpy f2")


@MOST
@pytest.mark.parametrize("container", IN_MEMORY)
def test_a_table_for_what_takes_long(container: str, most: int) -> None:
    warm()
    if most < 99 and zlib.crc32(container.encode()) % 3:
        return
    for function in share([*DEAR], container, most // 3):
        for kind in share([*KINDS], container, most // 3):
            cells = KINDS[kind][1]
            run = partial(lambda f, k, X: DEAR[f](k, X, LABELS), function, kind)
            compare(
                run, IN_MEMORY[container], cells, share(odd_tables(cells), container + function, most // 3)
            )


LABELLED = {
    "validate": CHEAP["validate"],
    "PrivateClassifier.evaluate": CHEAP["PrivateClassifier.evaluate"],
    **{
        name: DEAR[name]
        for name in ("PrivateRegressor.evaluate", "PrivateClassifier.fit", "holdout", "choose")
    },
}


@MOST
@pytest.mark.parametrize("container", COLUMNS)
@pytest.mark.parametrize("function", LABELLED)
def test_labels(function: str, container: str, most: int) -> None:
    warm()
    X = matrix(KINDS["numbers"][1]).astype(float)
    few = most if function == "validate" or most > 99 else 1
    if function in DEAR and few == 1 and zlib.crc32((function + container).encode()) % 60:
        return
    for base in (LABELS, ANSWERS)[:few]:
        run = partial(LABELLED[function], "numbers", X)
        compare(run, COLUMNS[container], base, share(odd_columns(base), container + function, few))


UNITS = prepriv.Domain(_A_B, ["n", "p"], n=40, unit="id", rows_per_unit=2)
OF_UNITS: dict[str, Callable[[Any], Any]] = {
    "validate": lambda X: prepriv.validate(UNITS, X, LABELS),
    "describe": lambda X: prepriv.describe(X, UNITS, epsilon=1.0),
    "ask": lambda X: asked(X, UNITS),
    "PrivateClassifier.fit": lambda X: prepriv.PrivateClassifier(UNITS, steps="linear", threads=1).fit(
        X, LABELS
    ),
}


@MOST
@pytest.mark.parametrize("container", [*PANDAS, *POLARS, *ARROW])
@pytest.mark.parametrize("function", OF_UNITS)
def test_ids_of_units(function: str, container: str, most: int) -> None:
    few = 1 if (function.endswith("fit") or function == "ask") and most < 99 else most
    if few == 1 and zlib.crc32(container.encode()) % 9:
        return
    for ids in ([i // 2 for i in range(N)], [f"id {i // 2}" for i in range(N)]):
        base = {"a": NUMBERS, "b": NAMES, "id": ids}
        odd = [(name, {**base, "id": column}) for name, column in odd_columns(ids)]
        compare(OF_UNITS[function], IN_MEMORY[container], base, share(odd, function + container, few))


STREAMED: dict[str, Callable[[Any], Any]] = {
    "PrivateClassifier.fit": lambda X: prepriv.PrivateClassifier(
        KINDS["mixed"][0], steps="linear", threads=1
    ).fit(X, "y"),
    "PrivateClassifier.evaluate": lambda X: fitted("mixed").evaluate(X, "y", n=N, by="b"),
    "PrivateTransformer.fit": lambda X: prepared("mixed", X),
    "PrivateClassifier.predict": lambda X: fitted("mixed").predict(X),
    "validate": lambda X: prepriv.validate(KINDS["mixed"][0], X, "y"),
    "describe": lambda X: prepriv.describe(X, KINDS["mixed"][0], epsilon=1.0),
    "ask": lambda X: asked(X, KINDS["mixed"][0]),
}


@MOST
@pytest.mark.parametrize("container", STREAMS)
@pytest.mark.parametrize("function", STREAMED)
def test_a_stream(function: str, container: str, most: int) -> None:
    warm()
    base = {**KINDS["mixed"][1], "y": LABELS}
    few = 1 if function.endswith("fit") and most < 99 else most
    compare(STREAMED[function], STREAMS[container], base, share(odd_tables(base), function + container, few))


@MOST
@pytest.mark.parametrize("container", SPARSE)
@pytest.mark.parametrize("function", [*CHEAP, "PrivateClassifier.fit"])
def test_sparse_rows(function: str, container: str, most: int) -> None:
    warm()
    for kind in ("ball", "numbers"):
        cells = KINDS[kind][1]
        run = partial(lambda k, X: (CHEAP | DEAR)[function](k, X, LABELS), kind)
        compare(run, SPARSE[container], cells, share(odd_tables(cells), function + container, most))


# ------------------------------------------------------------------------------------- nothing is left out

TAKEN = {*ASKED, *CHEAP, *DEAR}
"""What the tests above run, by the name a user knows it by."""
NOT_ROWS = {
    "self",
    "domain",
    "steps",
    "step",
    "space",
    "incoming",
    "candidates",
    "options",
    "pipeline",
    "event",
    "input_features",
}


def takes_rows(name: str, function: Any) -> list[str]:
    """The names of the parameters of a public function that are of any type."""
    found = inspect.signature(function).parameters
    return [
        p
        for p, of in found.items()
        if of.annotation in ("Any", Any) and p not in NOT_ROWS and of.kind is not of.VAR_KEYWORD
    ]


def public_functions() -> dict[str, Any]:
    found: dict[str, Any] = {"embedding_matrix": embedding_matrix}
    for name in prepriv.__all__:
        thing = getattr(prepriv, name)
        if inspect.isfunction(thing):
            found[name] = thing
        for known in dir(thing) if inspect.isclass(thing) else ():
            method = inspect.unwrap(getattr(thing, known))
            if (
                not known.startswith("_")
                and callable(method)
                and str(getattr(method, "__module__", "")).startswith("prepriv")
            ):
                found[f"{name}.{known}"] = method
    return found


def test_no_public_function_that_takes_rows_is_left_out() -> None:
    rows = {name: given for name, f in public_functions().items() if (given := takes_rows(name, f))}
    left_out = {name: given for name, given in rows.items() if name not in TAKEN}
    assert left_out == {}
    assert {"count", "PrivateClassifier.fit", "Domain.draft", "Model.predict"} <= set(rows)
