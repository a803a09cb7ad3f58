"""The model artifact: one JSON file, a function of the frozen plan and of mechanism outputs only.

No host, user, path, time or data-dependent count. The same plan and the same mechanism outputs give the same
bytes. Reading it needs no training code and runs none: hostile files are refused with one sentence.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import path_of, shown
from prepriv._arrays import Floats
from prepriv._kinds import NotImported
from prepriv._text import printable
from prepriv.domain import Domain
from prepriv.drafted import CHARGE
from prepriv.guarantees.drafts import with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.in_words import claim_in_html, short
from prepriv.plans.link import Link, softmax, winners
from prepriv.plans.plan import Plan
from prepriv.plans.stored import OtherClaim, plan_from_json, same
from prepriv.preprocessing.arrays import pack, unpack
from prepriv.preprocessing.base import Identity, ReleasedMap
from prepriv.preprocessing.class_counts import CountedClasses
from prepriv.preprocessing.maps import read_map, write_map
from prepriv.preprocessing.random_features import AddRandomFeatures, enough_signs
from prepriv.release.strict_json import OtherEnds, read_strictly
from prepriv.release.writing import told_of, write_atomically
from prepriv.runs.charge import check_charged, released
from prepriv.runs.chosen import Chosen
from prepriv.runs.run import Trained, predict_scores
from prepriv.tables.encoding import encode
from prepriv.tables.inspect import check_new_rows

if TYPE_CHECKING:
    from prepriv.release.coefficients import Coefficients
    from prepriv.release.shapes import Shape

_FORMAT = "prepriv-model-2"
OF_VERSION_0_1_0 = "prepriv-model-1"
FILE = "model.json"


class BadArtifact(ValueError):
    """The file is not a model of this library."""


class _Older(Exception):
    """A file of version 0.1.0."""


@dataclass(frozen=True, eq=False)
class Model:
    """A released linear model with its claim: the part of a run that may leave.

    `PrivateClassifier.model_` is one, and `Model.load` reads one from its file.

    Parameters
    ----------
    domain : Domain
        What was declared about the rows.
    maps : tuple of ReleasedMap
        The released maps of the steps, in order.
    weights : array, (d + 1, K)
        The weights of the scores, the bias last. K is 1 for a target, 1 or 2 for two classes, and otherwise the
        number of classes.
    private : bool
        Whether noise from the operating system protected the run.
    plan : mapping
        The plan as plain data (`Plan.to_json`).
    receipt : mapping, optional
        The charge under which it was made: "plan_uid", "sequence" and "head" of the ledger, by which `ledger verify`
        notices a ledger that was rolled back, and the ledger's "dataset", "cap" and "total" after the charge. None:
        no ledger was charged.
    link : Link, optional
        How scores become probabilities. None: by softmax (models of version 0.1).
    choice : Chosen, optional
        How it was chosen among others (`prepriv.choose`). The claim is then that of all candidates. None: there were
        no others.
    found : str, default ""
        Hashes of what the run found beside the model, such as the counts of a score. `save` writes them into the ledger.
        Neither the file nor a pickle holds them, because it would then reveal the score.
    noise_alone : bool, default False
        Whether the noisy sums of its training look like noise alone: weak data, or labels of which none is a declared
        class (docs/scikit-learn.md). It follows from those sums and the plan.

    See Also
    --------
    Report : What to publish beside it.

    Notes
    -----
    The file depends only on the frozen plan and on outputs of mechanisms (docs/model-format.md).

    Examples
    --------
    >>> import tempfile, numpy as np, prepriv
    >>> X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 500, axis=0); y = np.repeat(["no", "yes"], 500)
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=["no", "yes"])
    >>> made = prepriv.PrivateClassifier(domain, epsilon=1.0, steps="linear").fit(X, y).model_
    >>> read = prepriv.Model.load(made.save(tempfile.mkdtemp()))
    >>> read.guarantee.epsilon(1e-5) <= 1.0, read.predict([[0.0, 1.0]]).tolist()
    (True, ['no'])
    """

    domain: Domain
    maps: tuple[ReleasedMap, ...]
    weights: Floats
    private: bool
    plan: Mapping[str, Any]
    receipt: Mapping[str, Any] | None = None
    link: Link | None = None
    choice: Chosen | None = None
    found: str = field(default="", compare=False)
    noise_alone: bool = False

    @staticmethod
    def of(trained: Trained) -> Model:
        """Make a model from the parts of a run that may leave.

        Parameters
        ----------
        trained : Trained
            The run.

        Returns
        -------
        Model
        """
        plan = trained.plan
        said = plan.to_json(claimed=trained.private)
        link = Link.of(plan, trained.weights)
        made = (plan.domain, trained.maps, trained.weights, trained.private, said, trained.receipt, link)
        return Model(*made, noise_alone=trained.noise_alone)

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle of it holds: all but the hashes of what else the run found."""
        return self.__dict__ | {"found": ""}

    def __repr__(self) -> str:
        maps = " -> ".join(str(write_map(m)["map"]) for m in self.maps) or "none"
        learned = "a target" if self.domain.target else f"{len(self.domain.classes)} classes"
        said = short(self.guarantee, self.declared.delta)
        return f"Model({said}; {learned}, maps: {maps}, weights {self.weights.shape})"

    def _repr_html_(self) -> str:
        return (
            claim_in_html(self.guarantee, self.declared.delta, "Model")
            + f"<p>{escape(printable(repr(self)))}</p>"
        )

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes in the order of the columns of probabilities, (classes,), which is ascending. Empty for a target.

        A file that an earlier version wrote keeps the order that its domain declared.
        """
        return self.domain.labels

    def scores(self, data: Any) -> Floats:
        """Score raw rows.

        Parameters
        ----------
        data : array or table, (n, columns)
            A matrix, or a pandas, polars or Arrow table with the declared columns.

        Returns
        -------
        array, (n, K)
        """
        return predict_scores(self.maps, self.weights, encode(data, self.domain))[0]

    def predict_proba(self, data: Any) -> Floats:
        """Predict class probabilities of raw rows.

        Parameters
        ----------
        data : array or table, (n, columns)
            As for `scores`.

        Returns
        -------
        array, (n, classes)
            The probabilities, in the order of `classes_`. The predicted class has the largest one, after it is
            multiplied by `class_weight` if there is one.

        Raises
        ------
        ValueError
            For a regression model, and if the rows do not have the declared form.

        Notes
        -----
        They are not the softmax of the scores. Training clipped gradients, and the link corrects for that
        (docs/proofs/calibrated_probabilities.md).
        """
        self._need_classes()
        check_new_rows(data, self.domain)
        scores, norms = predict_scores(self.maps, self.weights, encode(data, self.domain))
        return self._probabilities(scores, norms)

    def _probabilities(self, scores: Floats, norms: Floats) -> Floats:
        return softmax(scores) if self.link is None else self.link.probabilities(scores, norms)

    def predict_index(self, data: Any) -> NDArray[np.intp]:
        """Predict the index of the class of raw rows among the declared classes.

        Parameters
        ----------
        data : array or table, (n, columns)
            As for `scores`.

        Returns
        -------
        array of int, (n,)
        """
        self._need_classes()
        scores, norms = predict_scores(self.maps, self.weights, encode(data, self.domain))
        return (
            winners(scores) if self.class_weight is None else self.decided(self._probabilities(scores, norms))
        )

    def decided(self, p: Floats) -> NDArray[np.intp]:
        """Find the class with the largest weight times probability.

        Parameters
        ----------
        p : array, (n, classes)
            Probabilities.

        Returns
        -------
        array of int, (n,)
            Indices among the declared classes.
        """
        return np.asarray((p if self.class_weight is None else p * self.class_weight).argmax(axis=1))

    @cached_property
    def class_weight(self) -> Floats | None:
        """The weight of each declared class in predictions, (classes,): declared, or 1 divided by its noisy count.

        None: all classes weigh the same.
        """
        if declared := self.plan.get("class_weight"):
            return np.array(declared)
        counted = [m.counts for m in self.maps if isinstance(m, CountedClasses)]
        return counted[0].min() / counted[0] if counted else None

    def predict(self, data: Any) -> NDArray[Any]:
        """Predict the label, or the numeric target, of raw rows.

        Parameters
        ----------
        data : array or table, (n, columns)
            As for `scores`.

        Returns
        -------
        array, (n,)
            One declared class per row, or a number between the declared bounds.

        Raises
        ------
        ValueError
            If the rows do not have the declared form.
        """
        check_new_rows(data, self.domain)
        if self.domain.target is not None:
            shares = (np.clip(self.scores(data)[:, 0], -1.0, 1.0) + 1.0) / 2.0
            return np.asarray(self.domain.target.numbers(shares))
        return self.domain.labels[self.predict_index(data)]

    def evaluate(
        self,
        X: Any,
        y: Any,
        epsilon: float = 0.1,
        *,
        delta: float | None = None,
        ledger: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Any:
        """Measure the model on private rows that it was not trained on. This has a price of its own.

        Parameters
        ----------
        X, y : table and labels
            As for `PrivateClassifier.fit`.
        epsilon : float, default 0.1
            The ε that the measurement costs these rows.
        delta : float, optional
            None: that of training.
        ledger : path or URL, optional
            The ledger that is charged before a row is read. None: no cap holds.
        **options
            As for `PrivateClassifier.evaluate`.

        Returns
        -------
        PrivateEvaluation
            The measures with intervals, and the guarantee of this measurement.

        Raises
        ------
        ValueError
            For what is wrong with the settings or the form of X and y. Nothing is charged.
        LedgerError
            Where the ledger grants no charge. No record is read.

        Notes
        -----
        Proof: docs/proofs/evaluation.md.
        """
        # by its name: the top of the package knows what measures, this layer stands below it
        return import_module("prepriv").measure_model(
            self,
            X,
            y,
            epsilon=epsilon,
            delta=self.declared.delta if delta is None else delta,
            ledger=ledger,
            **options,
        )

    @property
    def score(self) -> Any:
        """Not available. The AttributeError says what there is instead."""
        metric = "accuracy_score" if self.domain.target is None else "r2_score"
        raise AttributeError(
            "a released model has no score, since an exact one of private rows would be a release without noise: pay for it with model.evaluate(X, y, epsilon=0.1), "
            f"or, of public rows, compute sklearn.metrics.{metric}(y, model.predict(X))"
        )

    def _need_classes(self) -> None:
        if self.domain.target is not None:
            raise ValueError("this model predicts a number, no class: use predict")

    def flattened(self) -> Model:
        """The same model with its last linear maps (projection, mean, scale) folded into the weights.

        This is post-processing of what was released, so the claim is the same. Predictions agree up to rounding. If
        every map is linear, no map is left except noisy counts of classes, and the weights are those of the encoded
        features (How to Make Semi-Private Learning Effective, w = A w_A). Probabilities are then those for rows of
        the largest declared norm.
        """
        from prepriv.preprocessing.center import Subtract
        from prepriv.preprocessing.normalize import Multiply
        from prepriv.preprocessing.pca import Project

        maps, weights, counted = list(self.maps), self.weights, list[ReleasedMap]()
        while maps:
            last, body = maps[-1], weights[:-1]
            if isinstance(last, Project):
                # Project cuts its components to their grid: as they are used, so they are folded
                weights = np.vstack([last.components @ body, weights[-1:]])
            elif isinstance(last, Multiply):
                weights = np.vstack([last.factor * body, weights[-1:]])
            elif isinstance(last, Subtract):
                weights = np.vstack([body, weights[-1:] - last.offset @ body])
            elif isinstance(last, CountedClasses):
                counted = [last]
            elif not isinstance(last, Identity):
                break
            maps.pop()
        link = self.link and self.link.for_norm(self.declared.space.radius)
        return replace(self, maps=(*counted, *maps), weights=weights, link=link)

    def to_onnx(self) -> Any:
        """The model as an `onnx.ModelProto` in double precision: raw rows in, labels and probabilities out.

        Columns of probabilities are in the order of `classes_`, which the metadata list as JSON under "classes". Inputs: `prepriv.integrations.onnx_model.onnx_rows`. NotExportable, a ValueError, for what cannot
        be written as ONNX (hashed texts, third-party maps). ImportError without `prepriv[onnx]`.
        """
        from prepriv.integrations.onnx_model import to_onnx

        return to_onnx(self)

    def to_sklearn(self) -> Any:
        """A fitted `LogisticRegression` or `LinearRegression` with the same weights, if all maps are linear.

        A regression stands in a `TransformedTargetRegressor`, which keeps predictions within the declared bounds; its weights are in `regressor_`.

        For any other model, such as one of `steps="linear"` or of a compiled pipeline of scikit-learn, a `Pipeline`
        whose first step holds all the maps. It takes raw tables, and unpickling it needs prepriv. Its features have the
        names of the weights where no map mixes columns, and numbers elsewhere.

        A linear model takes rows of numbers in the units of their columns, between the declared bounds. Each category
        is 0 or 1 in a column of its own, named as in `Domain.feature_names`. It predicts the same labels. Its
        probabilities are the softmax of the scores, without the link. Classes, and with them weights and columns of
        probabilities, are in ascending order, as scorers of scikit-learn expect. ValueError for a model that weighs
        classes.
        """
        from prepriv.integrations.to_sklearn import to_sklearn
        from prepriv.release.coefficients import mapped_names

        return to_sklearn(self, mapped_names(self))

    def shapes(self) -> list[Shape]:
        """What each column adds to the score of an additive model (`steps="additive"`), with bands that cover the noise alone.

        Curves are flatter than without privacy, because training ends early: read where they rise and fall, not by how much (docs/additive.md).

        ValueError for a model that is not a sum of functions of its columns.
        """
        from prepriv.release.shapes import shapes

        return shapes(self)

    @property
    def coefficients_(self) -> Coefficients:
        """The weights by column, with their noise, as those of the estimator that was fitted; of a loaded model, too.

        AttributeError where no weight belongs to one column alone.
        """
        from prepriv.release.coefficients import coefficients

        try:
            return coefficients(self)
        except ValueError as error:
            raise AttributeError(str(error)) from None

    def to_json(self) -> dict[str, Any]:
        """Plain data; arrays as base64."""
        maps = [write_map(m) for m in self.maps]
        more: dict[str, Any] = {} if self.receipt is None else {"ledger": dict(self.receipt)}
        more |= {} if self.link is None else {"link": self.link.to_json()}
        more |= {} if self.choice is None else {"choice": self.choice.to_json()}
        more |= {} if self.class_weight is None else {"class_weight": self.class_weight.tolist()}
        more |= {"noise_alone": True} if self.noise_alone else {}
        return more | {
            "format": _FORMAT,
            "private": self.private,
            "domain": self.domain.to_json(),
            "maps": maps,
            "weights": pack(self.weights),
            "plan": dict(self.plan),
        }

    def save(
        self, folder: str | Path, *, ledger: str | os.PathLike[str] | None = None, overwrite: bool = False
    ) -> Path:
        """Write `folder`/model.json in one atomic step.

        Parameters
        ----------
        folder : path
            The folder, which is made if it does not exist.
        ledger : path or URL, optional
            The ledger to which the model was charged. The hash of the model is then written beside the charge, and
            `ledger show` prints it. None: it is not written.
        overwrite : bool, default False
            Whether another model that privacy was paid for may be replaced.

        Returns
        -------
        Path
            The path of the file.

        Raises
        ------
        ValueError
            For a folder named model.json, if another such model is there, and for a ledger if the model was charged
            to none. Nothing is written.
        OSError
            If the file cannot be written.
        """
        if Path(folder).name == FILE:
            raise ValueError(
                f"folder must be a folder, in which the file is {FILE}; got {shown(str(folder))}: leave out {FILE}"
            )
        target = Path(folder) / FILE
        check_charged(ledger, self.receipt)
        if not overwrite and target.is_file() and self._is_another(target):
            raise ValueError(
                f"{folder} holds another model that privacy was paid for: choose another folder, or give overwrite=True"
            )
        with told_of(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        text = self.text()
        write_atomically(target, text)
        released(ledger, self.receipt, text.encode(), self.found)
        return target

    def _is_another(self, file: Path) -> bool:
        """Whether a file holds a private model that is not this one."""
        try:
            return file.read_text(encoding="utf-8") != self.text() and Model.load(file).private
        except (BadArtifact, ValueError):  # of another version, perhaps
            return True

    def text(self) -> str:
        """The content of its file, in ASCII."""
        return json.dumps(self.to_json(), sort_keys=True, indent=1, allow_nan=False) + "\n"

    @cached_property
    def declared(self) -> Plan:
        """The plan, read back. Its claim is recomputed, and ValueError is raised if the file states another one (`plan_from_json`)."""
        return plan_from_json(self.plan)

    @cached_property
    def guarantee(self) -> Guarantee | None:
        """What is claimed for the plan, with candidates and drafts of the domain if there are any. None without privacy."""
        return with_drafts(self.part, self.domain, self.declared.delta, self.declared.n)

    @property
    def part(self) -> Guarantee | None:
        """What is claimed for the training and the choice alone, without the drafts of the domain."""
        if not self.private:
            return None
        return self.declared.guarantee if self.choice is None else self.choice.guarantee

    @staticmethod
    def load(path: str | Path) -> Model:
        """Read a model from its file, its folder or the folder of its run.

        Parameters
        ----------
        path : path
            The path of one of the three.

        Returns
        -------
        Model

        Raises
        ------
        BadArtifact
            A ValueError, for anything that is not a model, or that states a guarantee which does not follow from its
            plan.

        Notes
        -----
        The guarantee is recomputed from the plan. A file is not signed. You have to trust its maker that the run
        followed the plan.
        """
        path = artifact_file(path_of("path", path))
        if not path.is_file():
            raise BadArtifact(f"no model at {path}")
        try:
            data, length = read_strictly(path)
            if data["format"] == OF_VERSION_0_1_0:
                raise _Older
            return _read(data, length)
        except _Older:
            raise BadArtifact(
                f"{path} was written by prepriv 0.1.0 and states its guarantee, which this version derives: "
                "predict with 0.1.0, or train again"
            ) from None
        except OSError as error:
            raise BadArtifact(f"{path} cannot be read: {error.strerror}") from None
        except OtherEnds:
            raise BadArtifact(
                f"{path} has other line endings (CR or CRLF, and prepriv writes LF): a mail or an editor changed them. Ask for the file as it was"
            ) from None
        except NotImported as error:
            raise BadArtifact(f"{path} is not a model of this library alone: {error}") from None
        except OtherClaim as error:
            raise BadArtifact(f"{path} is forged, damaged or of another version: {error}") from None
        except Exception:
            raise BadArtifact(f"{path} is not a model of this library, or it is damaged") from None


def artifact_file(path: str | Path) -> Path:
    """The file of a model that is named by itself, its folder or the folder of its run. It need not be there."""
    path = Path(path)
    if not path.is_dir():
        return path
    inside = path / "model" / FILE
    return inside if inside.is_file() and not (path / FILE).exists() else path / FILE


def _read(data: dict[str, Any], length: int) -> Model:
    """The model of a file of `length` bytes, which bounds what it can ask for."""
    optional = {"ledger", "link", "choice", "class_weight", "noise_alone"} & data.keys()
    if data.keys() != {"format", "private", "domain", "maps", "weights", "plan"} | optional:
        raise ValueError
    if data["format"] != _FORMAT or not isinstance(data["private"], bool) or len(data["maps"]) > 64:
        raise ValueError
    domain = Domain.from_json(data["domain"])
    maps = tuple(read_map(m) for m in data["maps"])
    if any(isinstance(m, CountedClasses) and len(m.counts) != len(domain.classes) for m in maps):
        raise ValueError
    weights = unpack(data["weights"], "weights")
    outputs = {1, 2} if len(domain.classes) == 2 else {len(domain.classes) or 1}
    if weights.ndim != 2 or weights.shape[1] not in outputs:
        raise ValueError
    from prepriv.preprocessing.encode import OneHotMap

    # Every input and every cell has numbers of its own in the file: it cannot ask for more than its length.
    cells = sum(int(np.abs(m.counts).sum()) + len(m.counts) for m in maps if isinstance(m, OneHotMap))
    if domain.n_inputs > length or cells > length:
        raise ValueError
    row = encode(np.zeros((1, domain.n_inputs)) if domain.is_ball else _blank(domain), domain)
    cheap = [_Wider(m) if isinstance(m, AddRandomFeatures) else m for m in maps]
    predict_scores(cheap, weights, row)  # shapes fit together
    plan = plan_from_json(data["plan"], length)
    private = data["private"]
    if not same(plan.domain.to_json(), data["domain"]) or (private and data["plan"]["guarantee"] is None):
        raise ValueError
    receipt, link = checked_receipt(data.get("ledger")), _link(data.get("link"), plan, weights)
    choice = _choice(data.get("choice"), plan, length)
    alone = data.get("noise_alone", False)
    if alone is not ("noise_alone" in data):
        raise ValueError
    model = Model(
        domain, maps, weights, private, plan.to_json(private), receipt, link, choice, noise_alone=alone
    )
    if not same(
        None if model.class_weight is None else model.class_weight.tolist(), data.get("class_weight")
    ):
        raise ValueError
    vars(model)["declared"] = plan  # `Model.declared`: its guarantee is computed already
    return model


@dataclass(frozen=True)
class _Wider(ReleasedMap):
    """A map to random features without their directions, which can be far larger than the file."""

    inner: AddRandomFeatures

    def transform(self, x: Floats) -> Floats:
        if self.inner.signs not in (1, enough_signs(x.shape[1])):
            raise ValueError
        return np.pad(x, ((0, 0), (0, self.inner.features)))

    def to_json(self) -> dict[str, Any]:
        return self.inner.to_json()


def _choice(data: Any, plan: Plan, length: int) -> Chosen | None:
    """How a model was chosen, its own plan among those of the candidates."""
    if data is None:
        return None
    choice = Chosen.from_json(data, length)
    if plan.hash not in {other.hash for other in choice.plans}:
        raise ValueError
    return choice


def _link(data: Any, plan: Plan, weights: Floats) -> Link | None:
    """The link of a plan and its weights, if the file is of a version that has one; ValueError for any other."""
    return None if data is None else Link.from_json(data, plan, weights)


def checked_receipt(data: Any) -> dict[str, Any] | None:
    """The receipt of a charge, as a ledger writes it, and no more of what stands in its place. Raises for anything else. None: no receipt."""
    if data is None:
        return None
    uid, sequence, head = (data[key] for key in CHARGE)
    if not (
        re.fullmatch("[!-~]{1,200}", uid) and re.fullmatch("[0-9a-f]{64}", head) and type(sequence) is int
    ):
        raise ValueError
    told = {key: data[key] for key in ("dataset", "cap", "total") if key in data}  # not in files before 0.3
    if not all(
        isinstance(text, str) and 1 <= len(text) <= 200 and text.isprintable() for text in told.values()
    ):
        raise ValueError
    return {"plan_uid": uid, "sequence": sequence, "head": head} | told


def _blank(domain: Domain) -> NDArray[Any]:
    return np.full((1, domain.n_inputs), None, dtype=object)
