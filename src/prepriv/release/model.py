"""The model artifact: one JSON file, a function of the frozen plan and of mechanism outputs only.

No host, user, path, time or data-dependent count. The same plan and the same mechanism outputs give the same
bytes. Reading it needs no training code and runs none: hostile files are refused with one sentence.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.data import encode
from prepriv.domain import Domain
from prepriv.pipeline.dpsgd_f import Augment
from prepriv.pipeline.run import Trained, predict_scores
from prepriv.preprocessing._cells import Cells
from prepriv.preprocessing.base import Floats, Identity, ReleasedMap
from prepriv.preprocessing.center import Subtract
from prepriv.preprocessing.encode import ClipMap, OneHotMap
from prepriv.preprocessing.homogenize import HomogeneousRows
from prepriv.preprocessing.impute import FillReleased
from prepriv.preprocessing.impute_regression import Frame, RegressionReleased
from prepriv.preprocessing.normalize import Multiply, ScaleRows
from prepriv.preprocessing.pca import Project
from prepriv.preprocessing.quantile_transform import Ranks
from prepriv.preprocessing.random_features import LARGEST, AddRandomFeatures
from prepriv.preprocessing.scale_map import Affine, ScaleReleased
from prepriv.preprocessing.square_root import SignedRoot
from prepriv.release.arrays import pack, unpack

FORMAT = "prepriv-model-1"
FILE = "model.json"
LARGEST_FILE = 2**30


def _array(data: Mapping[str, Any], name: str) -> Floats:
    return unpack(data[name], name)


def _whole(data: Mapping[str, Any], name: str) -> NDArray[np.intp]:
    values = _array(data, name)
    if (values != np.trunc(values)).any() or (np.abs(values) > 2**31).any():
        raise ValueError(f"{name} holds a number that is not whole")
    return values.astype(np.intp)


def _affine(m: Mapping[str, Any]) -> Affine:
    return Affine(
        _array(m, "offset"), _array(m, "factor"), _array(m, "low"), _array(m, "high"), _number(m, "radius")
    )


def _regression(m: Mapping[str, Any]) -> RegressionReleased:
    frame = Frame(
        _whole(m, "predictors"),
        _whole(m, "targets"),
        _array(m, "centre"),
        _number(m, "radius"),
        _array(m, "middle"),
        _array(m, "half"),
    )
    return RegressionReleased(frame, _array(m, "weights"))


def _random_features(m: Mapping[str, Any]) -> AddRandomFeatures:
    features = _number(m, "features")
    if features != int(features) or not 1 <= features <= LARGEST:
        raise ValueError("features is out of range")
    signs = _number(m, "signs") if "signs" in m else 1  # models from before sums of signs
    if signs not in (1, 4, 16, 64):
        raise ValueError("signs is out of range")
    return AddRandomFeatures(int(features), _number(m, "weight"), _number(m, "radius"), int(signs))


# How each released map is read back; arrays are packed by name on the way out.
_READERS: dict[str, Callable[[Mapping[str, Any]], ReleasedMap]] = {
    "identity": lambda m: Identity(),
    "signed_root": lambda m: SignedRoot(),
    "augment": lambda m: Augment(_number(m, "tau")),
    "scale_rows": lambda m: ScaleRows(_number(m, "factor"), _number(m, "floor")),
    "homogeneous_rows": lambda m: HomogeneousRows(_number(m, "level"), _number(m, "radius")),
    "multiply": lambda m: Multiply(_number(m, "factor")),
    "random_features": _random_features,
    "subtract": lambda m: Subtract(_array(m, "offset")),
    "fill": lambda m: FillReleased(_array(m, "fill")),
    "fill_regression": _regression,
    "project": lambda m: Project(_array(m, "components")),
    "ranks": lambda m: Ranks(_whole(m, "columns"), _array(m, "knots")),
    "scale": lambda m: ScaleReleased(_affine(m)),
    "clip_features": lambda m: ClipMap(_array(m, "low"), _array(m, "high")),
    "one_hot": lambda m: OneHotMap(
        _whole(m, "columns"), _whole(m, "counts"), _array(m, "low"), _array(m, "width")
    ),
    "cells": lambda m: Cells(
        _number(m, "side"), _number(m, "offset"), _array(m, "low"), _array(m, "high"), _number(m, "radius")
    ),
}


_DAMAGED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError)


class BadArtifact(ValueError):
    """The file is no model of this library."""


def _number(data: Mapping[str, Any], name: str) -> float:
    value = data[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise ValueError(f"{name} is no finite number")
    return float(value)


@dataclass(frozen=True, eq=False)
class Model:
    """A released linear model: domain, released maps, weights (d + 1, K) with the bias last, and its claim.

    private: whether noise from the operating system protected it. plan: the plan as plain data. receipt: the
    charge it was made under ("plan_uid", "sequence", "head" of the ledger), by which `ledger verify` sees a
    ledger that was rolled back.
    """

    domain: Domain
    maps: tuple[ReleasedMap, ...]
    weights: Floats
    private: bool
    plan: Mapping[str, Any]
    receipt: Mapping[str, Any] | None = None

    @staticmethod
    def of(trained: Trained, receipt: Mapping[str, Any] | None = None) -> Model:
        """What of a run may leave, as a model."""
        plan = trained.plan
        return Model(plan.domain, trained.maps, trained.weights, trained.private, plan.to_json(), receipt)

    def __repr__(self) -> str:
        maps = " -> ".join(str(m.to_json()["map"]) for m in self.maps) or "none"
        protected = "private" if self.private else "not private"
        return f"Model({len(self.domain.classes)} classes, maps: {maps}, weights {self.weights.shape}, {protected})"

    def scores(self, data: Any) -> Floats:
        """Scores (n, K) of raw rows: a matrix or a pandas, polars or Arrow table with the declared columns."""
        return predict_scores(self.maps, self.weights, encode(data, self.domain))

    def predict_proba(self, data: Any) -> Floats:
        """Class probabilities (n, classes), in the declared order of the classes."""
        scores = self.scores(data)
        if scores.shape[1] == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores[:, 0]])
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def predict_index(self, data: Any) -> NDArray[np.intp]:
        """Index of the predicted class among the declared ones, (n,)."""
        scores = self.scores(data)
        return np.asarray(scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)

    def predict(self, data: Any) -> NDArray[Any]:
        """The predicted label of each row, one of the declared classes, (n,)."""
        return self.domain.labels[self.predict_index(data)]

    def flattened(self) -> Model:
        """The same model with its last linear maps (projection, mean, scale) folded into the weights.

        Post-processing of what left already: the claim is the same. Predictions agree up to rounding; if every
        map is linear none is left, and the weights are those of the encoded features (paper 002, w = A w_A).
        """
        maps, weights = list(self.maps), self.weights
        while maps:
            last, body = maps[-1], weights[:-1]
            if isinstance(last, Project):
                # Project cuts its components to their grid: as they are used, so they are folded
                weights = np.vstack([last.components @ body, weights[-1:]])
            elif isinstance(last, Multiply):
                weights = np.vstack([last.factor * body, weights[-1:]])
            elif isinstance(last, Subtract):
                weights = np.vstack([body, weights[-1:] - last.offset @ body])
            elif not isinstance(last, Identity):
                break
            maps.pop()
        return replace(self, maps=tuple(maps), weights=weights)

    def to_json(self) -> dict[str, Any]:
        """Plain data; arrays as base64."""
        maps = [_packed(m.to_json()) for m in self.maps]
        charged = {} if self.receipt is None else {"ledger": dict(self.receipt)}
        return charged | {
            "format": FORMAT,
            "private": self.private,
            "domain": self.domain.to_json(),
            "maps": maps,
            "weights": pack(self.weights),
            "plan": dict(self.plan),
        }

    def save(self, folder: str | Path) -> Path:
        """Write `folder`/model.json in one atomic step; returns its path. Raises OSError, of the system's class."""
        target = Path(folder) / FILE
        with _told_of(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, json.dumps(self.to_json(), sort_keys=True, indent=1) + "\n")
        return target

    @staticmethod
    def load(path: str | Path) -> Model:
        """Read a model from its file, its folder or the folder of its run. Raises BadArtifact on anything else."""
        path = artifact_file(path)
        if not path.is_file():
            raise BadArtifact(f"no model at {path}")
        if path.stat().st_size > LARGEST_FILE:
            raise BadArtifact(f"{path} is too large to be a model")
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise BadArtifact(f"{path} cannot be read: {error.strerror}") from None
        except ValueError:
            raise BadArtifact(f"{path} is no model of this library, or it is damaged") from None
        try:
            data = json.loads(text)
            if data["format"] != FORMAT:
                raise ValueError
            return _read(data, len(text))
        except _DAMAGED:
            raise BadArtifact(f"{path} is no model of this library, or it is damaged") from None


def artifact_file(path: str | Path) -> Path:
    """The file of a model that is named by itself, its folder or the folder of its run. It need not be there."""
    path = Path(path)
    if not path.is_dir():
        return path
    inside = path / "model" / FILE
    return inside if inside.is_file() and not (path / FILE).exists() else path / FILE


def _packed(data: dict[str, Any]) -> dict[str, Any]:
    return {k: pack(np.asarray(v, dtype=np.float64)) if isinstance(v, list) else v for k, v in data.items()}


def _read(data: Mapping[str, Any], length: int) -> Model:
    if not isinstance(data["private"], bool) or len(data["maps"]) > 64:
        raise ValueError
    domain = Domain.from_json(data["domain"])
    maps = tuple(_READERS[m["map"]](m) for m in data["maps"])
    weights = unpack(data["weights"], "weights")
    outputs = 1 if len(domain.classes) == 2 and weights.shape[-1] == 1 else len(domain.classes)
    if weights.ndim != 2 or weights.shape[1] != outputs:
        raise ValueError
    # Every input and every cell has numbers of its own in the file: it cannot ask for more than its length.
    cells = sum(int(np.abs(m.counts).sum()) + len(m.counts) for m in maps if isinstance(m, OneHotMap))
    if domain.n_inputs > length or cells > length:
        raise ValueError
    model = Model(domain, maps, weights, data["private"], dict(data["plan"]), _receipt(data.get("ledger")))
    model.scores(np.zeros((1, domain.n_inputs)) if domain.is_ball else _blank(domain))  # shapes fit together
    return model


def _receipt(data: Any) -> dict[str, Any] | None:
    if data is None:
        return None
    uid, sequence, head = data["plan_uid"], data["sequence"], data["head"]
    if not isinstance(uid, str) or type(sequence) is not int or not re.fullmatch("[0-9a-f]{64}", head):
        raise ValueError
    return {"plan_uid": uid, "sequence": sequence, "head": head}


def _blank(domain: Domain) -> NDArray[Any]:
    return np.full((1, domain.n_inputs), None, dtype=object)


def write_atomically(target: Path, text: str) -> None:
    """Write text to a file so that it is either all there or not there, also after a crash. Raises OSError."""
    with _told_of(target):
        _write_atomically(target, text)


@contextlib.contextmanager
def _told_of(target: Path) -> Iterator[None]:
    """An OSError says what could not be written, and keeps its class."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(
            error.errno, f"cannot write the file ({os.strerror(error.errno)})", str(target)
        ) from None


def _write_atomically(target: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".tmp-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable: a release is recorded in the ledger only after it."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
