"""Seeded configurations of the library, and what each releases: what `make.py` hashes and `test_golden.py` compares.

Every name here stands in all versions that are compared, so that one file runs on each. Data are made of a hash, not of a
generator, and lie on a coarse grid; noise keys are frozen for each configuration.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import multiprocessing  # noqa: F401  asks for a key when it is imported: before any is counted
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import prepriv
from prepriv import Budget, Categorical, Domain, Numeric, Public, Sensitivity, Text, learners
from prepriv import preprocessing as pre
from prepriv.cli import run
from prepriv.description.description_page import to_json as page_json

Parts = dict[str, Any]
CONFIGURATIONS: dict[str, Callable[[], Parts]] = {}
N = 600
DELTA = 1e-5
KEY = 32  # bytes of a noise key


def configuration(made: Callable[[], Parts]) -> Callable[[], Parts]:
    """Enter a function under its name, in words."""
    CONFIGURATIONS[made.__name__.replace("_", " ")] = made
    return made


@contextlib.contextmanager
def frozen(name: str) -> Iterator[None]:
    """Noise keys of this configuration alone, in whatever order and process it runs, whatever is imported meanwhile."""
    keys = itertools.count()

    def urandom(size: int) -> bytes:
        which = (
            next(keys) if size == KEY else f"{size} bytes"
        )  # a library that seeds itself asks for other sizes
        return hashlib.shake_256(f"golden {name} {which}".encode()).digest(size)

    with mock.patch.object(os, "urandom", urandom), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def release(name: str) -> Parts:
    """What a configuration releases: its parts, each plain data; or that it is refused."""
    with frozen(name):
        try:
            return CONFIGURATIONS[name]()
        except ValueError as error:
            return {"refused": type(error).__name__}


# ------------------------------------------------------------------------------------------------------------------ data


def bytes_of(name: str, *shape: int) -> np.ndarray:
    """Whole numbers from 0 to 255, the same everywhere."""
    made = hashlib.shake_256(name.encode()).digest(int(np.prod(shape)))
    return np.frombuffer(made, dtype=np.uint8).reshape(shape).astype(np.int64)


ROWS = bytes_of("rows", N, 3) / 256.0
LABELS = (ROWS[:, 0] + ROWS[:, 1] > 1).astype(np.int64)
AMOUNTS = ROWS[:, 0] + ROWS[:, 1] / 2
JOBS = [("clerk", "smith", "baker")[b % 3] for b in bytes_of("jobs", N)]
TABLE = pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1], "job": JOBS})
GAPS = np.where(bytes_of("gaps", N, 3) < 4, np.nan, ROWS)  # under 2 % of each column
FEW = pa.table({"a": GAPS[:, 0], "b": GAPS[:, 1], "c": GAPS[:, 2]})
SOME = bytes_of("public", 60, 3) / 256.0
TEXTS = [" ".join(f"word{b % 9}" for b in row) + (" good" if y else " bad") for row, y in zip(bytes_of("texts", N, 4), LABELS)]  # fmt: skip
UNITS = np.arange(N) // 3


def table_domain(**more: Any) -> Domain:
    columns = {"a": Numeric(0, 1), "b": Numeric(0, 1), "job": Categorical(["clerk", "smith"])}
    return Domain(columns, classes=[0, 1], label="y", **more)


def gap_domain(**more: Any) -> Domain:
    return Domain({c: Numeric(0, 1, missing="impute") for c in "abc"}, classes=[0, 1], label="y", **more)


def unit_domain() -> Domain:
    columns = {"a": Numeric(0, 1), "b": Numeric(0, 1)}
    return Domain(columns, classes=[0, 1], label="y", n=N // 3, unit="who", rows_per_unit=2)


UNIT_TABLE = pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1], "who": UNITS})
WITH_LABEL = TABLE.append_column("y", pa.array(LABELS))
DESCENT = learners.GradientDescent(learners.Softmax(), steps=20, weight_bound=4.0)
FREE = {"adjacency": "add-or-remove-one", "n": N}


# ----------------------------------------------------------------------------------------------------------- what leaves


def without(data: Mapping[str, Any], *names: str) -> Parts:
    return {name: value for name, value in data.items() if name not in names}


def parts_of(fitted: Any) -> Parts:
    """Plan, model and report of an estimator, each without the others and without the version."""
    parts = {
        "plan": fitted.plan_.to_json(),
        "model": without(fitted.model_.to_json(), "plan", "domain"),
        "report": without(
            fitted.report_.to_json(), "plan", "plan_hash", "version", "measured_in_private", "proofs"
        ),
    }
    measured = getattr(fitted, "evaluation_", None)
    return parts if measured is None else parts | {"measured": without(measured.to_json(), "plan_hash")}


def classifier(domain: Domain, x: Any, y: Any = LABELS, epsilon: float = 2.0, **more: Any) -> Parts:
    return parts_of(prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA, **more).fit(x, y))


def regressor(x: Any, **more: Any) -> Parts:
    domain = Domain.box(0, 1, 3, target=Numeric(0, 2), **more.pop("domain", {}))
    return parts_of(prepriv.PrivateRegressor(domain, epsilon=2.0, delta=DELTA, **more).fit(x, AMOUNTS))


# -------------------------------------------------------------------------------------------------------- configurations


@configuration
def classes_of_a_table() -> Parts:
    return classifier(table_domain(), TABLE)


@configuration
def classes_under_add_or_remove_one() -> Parts:
    return classifier(table_domain(**FREE), TABLE, steps="linear")


@configuration
def four_classes() -> Parts:
    return classifier(Domain.box(0, 1, 3, classes=range(4)), ROWS, bytes_of("four", N) % 4, steps="linear")


@configuration
def additive() -> Parts:
    return classifier(Domain.box(0, 1, 3, classes=[0, 1]), ROWS, steps="additive")


@configuration
def weighed_classes() -> Parts:
    return classifier(Domain.box(0, 1, 3, classes=[0, 1]), ROWS, steps="linear", class_weight="balanced")


@configuration
def no_noise() -> Parts:
    return classifier(Domain.box(0, 1, 3, classes=[0, 1]), ROWS, epsilon=np.inf, steps=[], learner=DESCENT)


@configuration
def regression() -> Parts:
    return regressor(ROWS)


@configuration
def regression_by_sufficient_statistics() -> Parts:
    return regressor(ROWS, steps=[], learner=learners.SufficientStatistics())


@configuration
def images() -> Parts:
    pixels = bytes_of("images", 200, 8, 8).astype(np.uint8)
    pixels[LABELS[:200] == 1, ::2] |= 128
    steps = [pre.Scattering(J=1, L=2), pre.Normalize(1.0), pre.Center(payment=Budget(0.05))]
    return classifier(
        Domain.images(8, 8, 1, classes=[0, 1]), pixels, LABELS[:200], steps=steps, learner=DESCENT
    )


@configuration
def texts() -> Parts:
    domain = Domain({"says": Text(features=64), "a": Numeric(0, 1)}, classes=[0, 1])
    return classifier(domain, pa.table({"says": TEXTS, "a": ROWS[:, 0]}), steps="linear")


@configuration
def units() -> Parts:
    return classifier(unit_domain(), UNIT_TABLE, steps="linear")


@configuration
def units_with_a_holdout() -> Parts:
    return classifier(unit_domain(), UNIT_TABLE, steps="linear", holdout=0.25)


@configuration
def holdout() -> Parts:
    return classifier(table_domain(), TABLE, steps="linear", holdout=0.25)


@configuration
def holdout_under_add_or_remove_one() -> Parts:
    return classifier(table_domain(**FREE), TABLE, steps="linear", holdout=0.25)


@configuration
def holdout_of_a_regression() -> Parts:
    return regressor(ROWS, holdout=0.25, domain=FREE)


@configuration
def holdout_with_a_cap_on_missing_cells() -> Parts:
    steps = [pre.MeanImputer(payment=Sensitivity({"missing": 0.05})), pre.Rescale(2.0)]
    return classifier(gap_domain(), FEW, steps=steps, learner=DESCENT, holdout=0.25)


def chosen(domain: Domain, x: Any, **more: Any) -> Parts:
    made = prepriv.choose(
        ["linear", {"learner": DESCENT, "steps": [[]]}], x, LABELS, domain, epsilon=2.0, **more
    )
    return {
        "plan": made.plan.chosen.to_json(),
        "model": without(made.model_.to_json(), "plan", "domain", "choice"),
        "choice": [made.number, made.guarantee_.to_json(DELTA)],
    }


@configuration
def choose_on_the_same_rows() -> Parts:
    return chosen(table_domain(), TABLE, method="same rows")


@configuration
def choose_on_own_rows() -> Parts:
    return chosen(table_domain(), TABLE, method="own rows")


@configuration
def choose_by_random_trials() -> Parts:
    return chosen(table_domain(), TABLE, method="random trials")


@configuration
def choose_under_add_or_remove_one() -> Parts:
    return chosen(table_domain(**FREE), TABLE)


def _described(found: prepriv.Description) -> Parts:
    """Its page without the version that worded it."""
    return {"page": {key: value for key, value in page_json(found).items() if key != "version"}}


@configuration
def describe() -> Parts:
    return _described(prepriv.describe(WITH_LABEL, table_domain(), epsilon=1.0, correlations=True))


@configuration
def describe_under_add_or_remove_one() -> Parts:
    return _described(prepriv.describe(WITH_LABEL, table_domain(**FREE), epsilon=1.0))


@configuration
def draft() -> Parts:
    domain = Domain.draft(WITH_LABEL, epsilon=3.0, label="y")
    fitted = classifier(domain, TABLE, epsilon=1.0, steps="linear")
    return {"domain": domain.to_json(), **fitted}


@configuration
def evaluate() -> Parts:
    fitted = prepriv.PrivateClassifier(table_domain(), epsilon=2.0, delta=DELTA, steps="linear").fit(
        TABLE, LABELS
    )
    return {"measured": without(fitted.evaluate(TABLE, LABELS, epsilon=0.5).to_json(), "plan_hash")}


@configuration
def streams() -> Parts:
    with tempfile.TemporaryDirectory() as folder:
        parquet, csv = Path(folder) / "t.parquet", Path(folder) / "t.csv"
        pq.write_table(WITH_LABEL, parquet, row_group_size=100)
        csv.write_text(lines_of(WITH_LABEL))
        domain = table_domain(n=N)
        read = {
            file.suffix[1:]: classifier(domain, str(file), None, steps="linear") for file in (parquet, csv)
        }
    return {f"{part} of {kind}": read[kind][part] for kind in read for part in ("plan", "model")}


@configuration
def paid_for_by_public_data() -> Parts:
    by = {"payment": Public(SOME)}
    steps = [pre.MeanImputer(**by), pre.StandardScaler(**by), pre.Center(**by), pre.Rescale(4.0)]
    return classifier(gap_domain(), FEW, steps=steps, learner=DESCENT)


@configuration
def paid_for_by_budget() -> Parts:
    by = {"payment": Budget(0.05)}
    steps = [pre.MeanImputer(**by), pre.StandardScaler(**by), pre.Center(**by), pre.Rescale(4.0)]
    return classifier(gap_domain(), FEW, steps=steps, learner=DESCENT)


@configuration
def other_steps_paid_for_by_budget() -> Parts:
    by = {"payment": Budget(0.05)}
    steps = [
        pre.MedianImputer(**by),
        pre.MinMaxScaler(**by),
        pre.ShrunkCenter(**by),
        pre.ClassCounts(2, **by),
    ]
    return classifier(gap_domain(), FEW, steps=steps, learner=DESCENT, epsilon=4.0)


@configuration
def paid_for_by_sensitivity() -> Parts:
    steps = [pre.MeanImputer(payment=Sensitivity({"missing": 0.05})), pre.Rescale(2.0)]
    return classifier(gap_domain(), FEW, steps=steps, learner=DESCENT)


@configuration
def paid_for_by_sensitivity_and_tested() -> Parts:
    steps = [pre.MeanImputer(payment=Sensitivity({"missing": 0.2}, test=0.1)), pre.Rescale(2.0)]
    return classifier(gap_domain(), FEW, steps=steps, learner=DESCENT, epsilon=8.0)


@configuration
def conditions_of_several_steps() -> Parts:
    steps = [
        pre.MedianImputer(payment=Sensitivity({"missing": 0.05, "gap": 0.2})),
        pre.Deduplicate(0.001, payment=Sensitivity({"max_neighbors": 3})),
    ]
    return classifier(gap_domain(), FEW, steps=steps, learner=DESCENT)


@configuration
def holdout_with_a_premise_on_gaps() -> Parts:
    steps = [pre.MedianImputer(payment=Sensitivity({"missing": 0.05, "gap": 0.2})), pre.Rescale(2.0)]
    return classifier(gap_domain(), FEW, steps=steps, learner=DESCENT, holdout=0.25)


@configuration
def a_premise_after_a_budget_step() -> Parts:
    neighbours = Sensitivity({"max_neighbors": 3})
    steps = [pre.MeanImputer(payment=Budget(0.05)), pre.Deduplicate(0.001, payment=neighbours)]
    return classifier(gap_domain(), FEW, steps=steps, learner=DESCENT)


@configuration
def conditions_of_labels_and_predictors() -> Parts:
    columns = {"a": Numeric(0, 1, missing="impute"), "b": Numeric(0, 1), "c": Numeric(0, 1)}
    steps = [
        pre.RegressionImputer(0.1, payment=Sensitivity({"missing": 0.05, "curvature": 0.05})),
        pre.Deduplicate(0.001, by_label=True, payment=Sensitivity({"max_neighbors": 3})),
    ]
    return classifier(Domain(columns, classes=[0, 1]), FEW, steps=steps, learner=DESCENT)


@configuration
def batches() -> Parts:
    out: Parts = {}
    for learner in (
        learners.PoissonSGD(learners.Softmax(), steps=10, batch_size=60),
        learners.FixedBatchSGD(learners.Softmax(), steps=10, batch_size=60),
        learners.CyclicSGD(
            learners.Softmax(), clip_norm=3.0, steps=20, batch_size=60, learning_rate=0.5, weight_bound=2.0
        ),
        learners.OnePassSGD(
            learners.Softmax(), clip_norm=3.0, steps=10, batch_size=60, learning_rate=0.5, weight_bound=2.0
        ),
        learners.NoisySGD(learners.Softmax(), clip_norm=3.0, steps=3, learning_rate=0.5, weight_bound=2.0),
    ):
        domain = Domain.box(0, 1, 3, classes=[0, 1])
        made = classifier(domain, ROWS[:200], LABELS[:200], steps=[], learner=learner)
        out |= {f"{part} of {type(learner).__name__}": made[part] for part in ("plan", "model")}
    return out


@configuration
def questions() -> Parts:
    def asked(**more: Any) -> list[Any]:
        return [
            asdict(prepriv.count(LABELS == 1, **more)),
            asdict(prepriv.mean(GAPS[:, 0], 0, 1, **more)),
            asdict(prepriv.histogram(ROWS[:, 1], 0, 1, **more)),
            {
                str(q): asdict(at)
                for q, at in prepriv.quantiles(ROWS[:, 2], [0.25, 0.5], 0, 1, **more).items()
            },
        ]

    return {"replace-one": asked(epsilon=0.5), "add-or-remove-one": asked(epsilon=0.5, **FREE)}


@configuration
def transformer() -> Parts:
    by = {"payment": Budget(0.1)}
    steps = [pre.MeanImputer(**by), pre.StandardScaler(**by), pre.Normalize(1.0), pre.Center(**by)]
    made = prepriv.PrivateTransformer(gap_domain(), steps, epsilon=2.0, delta=DELTA).fit(FEW)
    return {"plan": made.plan_.to_json(), "maps": [fitted.to_json() for fitted in made.maps_]}


@configuration
def account() -> Parts:
    made = prepriv.account(
        [pre.SoftPCA(0.05, payment=Sensitivity())],
        learners.GradientDescent(learners.Logistic(), steps=100, weight_bound=2.0),
        domain=Domain.ball(50, [0, 1]),
        n=60_000,
        noise_multiplier=40.0,
    )
    return {
        "epsilons": [made.epsilon(DELTA), made.training_alone.epsilon(DELTA)],
        "rests on": made.conditions,
    }


# ----------------------------------------------------------------------------------------------------------- command line


def lines_of(table: pa.Table) -> str:
    rows = zip(*(table[name].to_pylist() for name in table.column_names))
    return "\n".join([",".join(table.column_names), *(",".join(map(str, row)) for row in rows)]) + "\n"


SCHEMA = """
label: {name: y, classes: ["0", "1"]}
columns:
  a: {type: numeric, low: 0, high: 1}
  b: {type: numeric, low: 0, high: 1}
  job: {type: categorical, categories: [clerk, smith]}
"""
LINES = (
    "plan s.yaml --rows 600 --epsilon 1 --delta 1e-5",
    "train t.csv --schema s.yaml --out run --epsilon 1 --delta 1e-5",
    "train t.csv --schema s.yaml --out held --epsilon 1 --delta 1e-5 --holdout 0.2",
    "train t.csv --schema s.yaml --rows 599 --out other --epsilon 1 --delta 1e-5",
    "train none.csv --schema s.yaml --out other --epsilon 1 --delta 1e-5",
    "train t.csv --schema s.yaml --out other --epsilon -1 --delta 1e-5",
    "predict run/model t.csv --out predicted.csv",
    "report run/model --verify run/report.html",
    "report run/model --verify held/report.html",
    "validate t.csv --schema s.yaml",
    "evaluate run/model t.csv --epsilon 0.5 --out e.json",
    "evaluate run/model t.csv --epsilon 0.5 --out e.json",
    "describe t.csv --schema s.yaml --rows 600 --epsilon 0.5 --out page.html",
    "describe t.csv --schema s.yaml --rows 600 --epsilon 0.5 --out page.html",
    "schema init t.csv --label y --epsilon 3 --rows 600 --out drafted.yaml",
    "schema init t.csv --label y --epsilon 3 --rows 600 --out drafted.yaml",
    "ledger create L.db --dataset people --epsilon 1.5 --delta 1e-4",
    "train t.csv --schema s.yaml --rows 600 --ledger L.db --out charged --epsilon 1 --delta 1e-5",
    "train t.csv --schema s.yaml --rows 600 --ledger L.db --out refused --epsilon 1 --delta 1e-5",
    "ledger verify L.db",
    "ledger verify t.csv",
    "audit replay s.yaml --rows 30 --pairs 2",
    "audit replay run/model --rows 30 --pairs 2",
    "shuffle --epsilon0 4.444 --n 10000 --delta 1e-6",
    "nothing",
)


@configuration
def command_lines() -> Parts:
    codes, before = {}, os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.chdir(folder)
            Path("t.csv").write_text(lines_of(WITH_LABEL))
            Path("s.yaml").write_text(SCHEMA)
            for line in LINES:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    codes[f"{len(codes) + 1}: {line}"] = run(line.split())
        finally:
            os.chdir(before)
    return {"exit codes": codes}
